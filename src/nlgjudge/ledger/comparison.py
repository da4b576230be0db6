"""A printed table beside ours: a verdict for each cell, averages, and how both are laid out."""

import numpy as np
import pandas as pd

from nlgjudge.data.choices import unknown
from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.ledger.average_audit import with_misprints
from nlgjudge.ledger.entering import judge_name, refuse_rules
from nlgjudge.ledger.printed import KEY
from nlgjudge.ledger.verdicts import (
    ANOTHER_MODEL,
    ANOTHER_RUN,
    EVIDENCE,
    PART_COLUMNS,
    THIRD_PARTY,
    of_others,
)
from nlgjudge.ledger.whole_table import Comparison
from nlgjudge.stats.bootstrap import mean_interval

CLOSE = 0.01
# What an average says of itself where all of its cells say the same.
_SHARED = ("variant", "evidence", "note", "judge", "relabelled")
SLACK = 1e-9  # so that a value on the rounding edge is not lost to binary floats


def verdict(printed, ours, ci=(np.nan, np.nan)):
    """Judge one cell.

    Parameters
    ----------
    printed : str
        As printed; empty for a dash or a lost cell.
    ours : float
    ci : (float, float)
        Interval of ours, NaN where there is none.

    Returns
    -------
    str
        `exact`: ours rounds to the printed digits. `close`: at most 0.01 away.
        `sign_flipped`: exact or close after a change of sign. `within_ci`: printed lies in
        our interval. `differs` otherwise, `not_run` where either value is missing.

    Examples
    --------
    >>> verdict("0.167", 0.1665), verdict("0.167", 0.16), verdict("0.167", -0.167), verdict("", 0.2)
    ('exact', 'close', 'sign_flipped', 'not_run')
    """
    if not printed or np.isnan(ours):
        return "not_run"
    value = float(printed)
    digits = len(printed.partition(".")[2])
    low, high = ci
    if abs(ours - value) <= 0.5 * 10**-digits + SLACK:
        return "exact"
    if abs(ours - value) <= CLOSE + SLACK:
        return "close"
    if abs(ours + value) <= CLOSE + SLACK:
        return "sign_flipped"
    if low <= value <= high:
        return "within_ci"
    return "differs"


def compare(paper, artefact, table, ours, *, evidence, notebook, sample=False, judge=""):
    """Set our values against a printed table.

    A cell of another run of the metric, or computed by others, is at best `close`: it is no reproduction of ours.
    A printed average that its own row contradicts is a `misprint`, whatever ours is (`with_misprints`), unless ours
    is `exact`.

    Parameters
    ----------
    paper, artefact : str
    table : pandas.DataFrame
        From `nlgjudge.ledger.printed.published`.
    ours : pandas.DataFrame
        `row, dataset, aspect, level, coefficient, ours`; optionally `ci_low, ci_high, n,
        n_skipped, variant, evidence, note, judge`, and `relabelled`, true where `ours` is another
        coefficient than the column's head says. Printed averages are added if it has none.
    evidence : str
        For rows without their own, one of `EVIDENCE`.
    notebook : str
        Name of the notebook that calls.
    sample : bool
        Whether the values come from the sample; they are then kept out of the ledger.
    judge : str or object, optional
        For rows without their own, the judge whose replies stand for the paper's: its name, or
        the judge. Needed where the evidence is one of `ANOTHER_MODEL`; it is the variant where
        none is given.

    Returns
    -------
    Comparison
        A data frame with the ledger's columns and `sample`, a row per printed cell that we have a value for.
        In a notebook it shows the paper's table whole, as `nlgjudge.ledger.paper_table.paper_table` does.

    Raises
    ------
    ValueError
        For repeated cells, rows or cells that the table does not print, unknown evidence, and
        another model's cells without its name or with that of a rule.

    Examples
    --------
    >>> from nlgjudge.ledger.printed import published
    >>> table = published("geval", "table1")
    >>> cells = table["row"].eq("ROUGE-1") & table["coefficient"].eq("kendall")
    >>> ours = table.loc[cells, KEY].assign(ours=0.13)
    >>> rows = compare("geval", "table1", table, ours, evidence="recomputed", notebook="geval_table1")
    >>> rows[["aspect", "published", "ours", "verdict"]].head(2).values.tolist()
    [['coherence', '0.126', 0.13, 'close'], ['consistency', '0.130', 0.13, 'exact']]
    """
    _check(paper, artefact, table, ours, evidence)
    ours = _with_judges(ours, evidence, judge)
    if "AVG" not in set(ours["aspect"]):
        ours = pd.concat([ours, averages(table, ours)], ignore_index=True)
    rows = table.rename(columns={"note": "note_printed"}).merge(ours, on=KEY, validate="1:1")
    rows = rows.assign(paper=paper, artefact=artefact, notebook=notebook, published=rows["printed"])
    rows = _with_optional_columns(rows, evidence)
    rows["difference"] = rows["ours"] - rows["value"]
    rows["verdict"] = _verdicts(rows)
    # Somebody else's run has the printed digits by chance, and a value of others was not computed here.
    not_ours = rows["evidence"].isin([ANOTHER_RUN, THIRD_PARTY])
    rows["verdict"] = rows["verdict"].mask(not_ours & (rows["verdict"] == "exact"), "close")
    rows = with_misprints(rows, table, of_others(rows))
    not_printed = rows["published"] == ""
    rows.loc[not_printed, "note"] = rows.loc[not_printed, "note_printed"]
    if sample:
        rows[["verdict", "evidence", "note"]] = ["not_run", "none", SAMPLE_NOTICE]
    return Comparison(rows.assign(sample=bool(sample))[PART_COLUMNS])


def _with_optional_columns(rows, evidence):
    """Add what a caller may leave out: bounds and counts as NaN, texts as their defaults."""
    rows = rows.copy()
    for column in ("ci_low", "ci_high", "n", "n_skipped"):
        if column not in rows:
            rows[column] = np.nan
    for column, default in {"variant": "", "note": "", "evidence": evidence}.items():
        if column in rows:
            rows[column] = rows[column].fillna(default)
        else:
            rows[column] = default
    return rows


def _verdicts(rows):
    """A verdict for each cell; one that agrees under another coefficient's name is `relabelled`."""
    cells = zip(rows["published"], rows["ours"], rows["ci_low"], rows["ci_high"])
    found = pd.Series(
        [verdict(printed, ours, (low, high)) for printed, ours, low, high in cells],
        index=rows.index,
    )
    if "relabelled" not in rows:
        return found
    agrees = found.isin(["exact", "close"])
    return found.mask(rows["relabelled"].eq(True) & agrees, "relabelled")


def _check(paper, artefact, table, ours, evidence):
    _check_evidence(evidence, ours)
    repeated = ours.duplicated(KEY)
    if repeated.any():
        raise ValueError(f"two values for {ours.loc[repeated, KEY].iloc[0].tolist()}")
    printed = list(dict.fromkeys(table["row"]))
    for row in dict.fromkeys(ours["row"]):
        if row not in printed:
            raise ValueError(f"{paper}, {artefact}: {unknown('printed row', row, printed)}")
    known = set(table[KEY].itertuples(index=False, name=None))
    extra = [cell for cell in ours[KEY].itertuples(index=False, name=None) if cell not in known]
    if extra:
        raise ValueError(
            f"{len(extra)} cells that the table does not print, first {list(extra[0])}"
        )


def _check_evidence(evidence, ours):
    named = {evidence}
    if "evidence" in ours:
        named |= set(ours["evidence"].dropna())
    strange = named - set(EVIDENCE)
    if strange:
        raise ValueError(f"evidence {sorted(map(str, strange))}: expected one of {EVIDENCE}")


def _with_judges(ours, evidence, judge):
    """Name the judge of each row that rests on another model, as its variant where it has none."""
    evidences = _column(ours, "evidence", evidence)
    names = _column(ours, "judge", judge).map(judge_name)
    variants = _column(ours, "variant", "")
    ours = ours.drop(columns="judge", errors="ignore")
    another = evidences.isin(ANOTHER_MODEL)
    if not another.any():
        return ours
    nameless = another & (names == "")
    if nameless.any():
        raise ValueError(
            f"evidence {evidences[nameless].iloc[0]}: name the judge that gave the replies, by "
            "compare(..., judge=NAME) or in a column `judge`"
        )
    refuse_rules(names[another].unique())
    return ours.assign(variant=variants.mask(another & (variants == ""), names))


def _column(frame, name, default):
    """A column with its gaps filled, or one of the default alone."""
    if name not in frame:
        return pd.Series([default] * len(frame), frame.index)
    filled = [default if pd.isna(value) else value for value in frame[name]]
    return pd.Series(filled, frame.index)


def averages(table, ours, frames=None, **options):
    """Average our cells as the table averages its own.

    A printed average is the mean of the row's cells at its level and coefficient; QAGS
    averages over its two parts.

    Parameters
    ----------
    table, ours : pandas.DataFrame
        As for `compare`; with `frames`, `ours` has the column `metric` too.
    frames : dict of str to pandas.DataFrame, optional
        Scores by dataset, for intervals.
    **options
        Of `nlgjudge.stats.bootstrap.mean_interval`: `rng` and others.

    Returns
    -------
    pandas.DataFrame
        `row, dataset, aspect, level, coefficient, ours` of the averages that can be formed, and
        with `frames` `ci_low, ci_high`.

    Examples
    --------
    >>> from nlgjudge.ledger.printed import published
    >>> table = published("geval", "table1")
    >>> cells = table["row"].eq("ROUGE-1") & table["aspect"].ne("AVG")
    >>> ours = table.loc[cells, [*KEY, "value"]].rename(columns={"value": "ours"})
    >>> found = averages(table, ours)
    >>> dict(zip(found["coefficient"], found["ours"].round(3)))
    {'spearman': 0.192, 'kendall': 0.15}
    """
    shared = [name for name in _SHARED if name in ours]
    needed = ["ours", *shared] if frames is None else ["ours", *shared, "metric"]
    known = ours[[*KEY, *needed]].itertuples(index=False, name=None)
    values = {cell[: len(KEY)]: dict(zip(needed, cell[len(KEY) :])) for cell in known}
    lines = {}  # by row, level and coefficient: the printed cells, each with what we have of it, or None
    for cell in table.loc[table["aspect"] != "AVG", KEY].itertuples(index=False, name=None):
        row, _, _, level, coefficient = cell
        lines.setdefault((row, level, coefficient), []).append((cell, values.get(cell)))
    printed_averages = table[table["aspect"] == "AVG"].drop_duplicates(KEY)
    formed = []
    means = []
    for row, _, _, level, coefficient in printed_averages[KEY].itertuples(index=False, name=None):
        line = lines.get((row, level, coefficient), [])
        whole = line and all(own is not None and not np.isnan(own["ours"]) for _, own in line)
        formed.append(bool(whole))
        if whole:
            means.append((line, np.mean([own["ours"] for _, own in line])))
    found = printed_averages.loc[formed, KEY].reset_index(drop=True)
    found = found.assign(ours=np.array([mean for _, mean in means], dtype=float))
    if not means:
        return found
    for name in shared:
        found[name] = [_common([own[name] for _, own in line]) for line, _ in means]
    if frames is None:
        return found
    low = []
    high = []
    for line, _ in means:
        (_, _, _, level, coefficient), _ = line[0]
        parts = [
            (frames[dataset], own["metric"], aspect) for (_, dataset, aspect, _, _), own in line
        ]
        interval = mean_interval(parts, level=level, coefficient=coefficient, **options)
        low.append(interval.low)
        high.append(interval.high)
    return found.assign(ci_low=low, ci_high=high)


def _common(values):
    """The value that all cells share, or None."""
    return values[0] if len({None if pd.isna(value) else value for value in values}) == 1 else None


def with_interval(rows, value="ours", *, digits=2):
    """Write values with their intervals.

    Parameters
    ----------
    rows : pandas.DataFrame
        The value's column and its bounds, `<value>_low` and `<value>_high` or else `ci_low` and
        `ci_high`; NaN where there is no interval.
    value : str
    digits : int
        Of the value; bounds have two.

    Returns
    -------
    pandas.Series of str
        As ``0.23 [0.06, 0.39]``.

    Examples
    --------
    >>> rows = pd.DataFrame({"ours": [0.234, 0.5], "ci_low": [0.06, None], "ci_high": [0.39, None]})
    >>> with_interval(rows).tolist()
    ['0.23 [0.06, 0.39]', '0.50']
    """
    bounds = value if f"{value}_low" in rows else "ci"
    texts = []
    for ours, low, high in zip(rows[value], rows[f"{bounds}_low"], rows[f"{bounds}_high"]):
        text = f"{ours:.{digits}f}"
        if not pd.isna(low):
            text += f" [{low:.2f}, {high:.2f}]"
        texts.append(text)
    return pd.Series(texts, index=rows.index, dtype=object)


def side_by_side(rows):
    """Lay a comparison out as the paper's table, ours before the printed value.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `compare`.

    Returns
    -------
    pandas.DataFrame
        Indexed by `row`, columns by table (where two share a cell), dataset (where there are several), aspect,
        level and coefficient; cells as ``0.014 (0.014)``, with ``-`` where the paper prints none, and
        with our interval between the two where there is one.

    Examples
    --------
    >>> from nlgjudge.ledger.printed import published
    >>> table = published("geval", "table1")
    >>> cells = table["row"].eq("ROUGE-1") & table["coefficient"].eq("kendall")
    >>> ours = table.loc[cells, KEY].assign(ours=0.13)
    >>> rows = compare("geval", "table1", table, ours, evidence="recomputed", notebook="geval_table1")
    >>> side_by_side(rows).loc["ROUGE-1", "coherence"]
    '0.130 (0.126)'
    """
    printed = rows["published"].map(lambda text: f" ({text or '-'})")
    rows = rows.assign(cell=with_interval(rows, digits=3) + printed)
    tables = ["artefact"] if rows.duplicated(KEY).any() else []  # two tables publish the same cell
    heads = tables + [name for name in KEY[1:] if rows[name].nunique() > 1]
    wide = rows.pivot(index="row", columns=heads, values="cell")
    in_order = list(rows[heads].drop_duplicates().itertuples(index=False, name=None))
    if len(heads) == 1:
        in_order = [name for (name,) in in_order]
    return wide[in_order].reindex(dict.fromkeys(rows["row"])).fillna("")
