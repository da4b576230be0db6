"""Compare our values with a published table: a verdict per cell, averages, and layout."""

import numpy as np
import pandas as pd

from nlgjudge.data.checks import unknown
from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.ledger.average_audit import with_misprints
from nlgjudge.ledger.printed import KEY
from nlgjudge.ledger.verdicts import (
    ANOTHER_MODEL,
    ANOTHER_RUN,
    EVIDENCE,
    PART_COLUMNS,
    THIRD_PARTY,
    of_others,
)
from nlgjudge.stats.intervals import mean_interval

CLOSE = 0.01
SLACK = 1e-9  # so that a value on the rounding edge is not lost to binary floats
# What an average inherits where all of its cells agree.
_SHARED = ("variant", "evidence", "note", "judge", "relabelled")


def verdict(printed, ours, ci=(np.nan, np.nan)):
    """Judge one cell.

    Parameters
    ----------
    printed : str
        As published; empty for a dash or an unreadable cell.
    ours : float
    ci : (float, float)
        95% interval of ours, NaN if there is none.

    Returns
    -------
    str
        `exact`: ours rounds to the published digits. `close`: at most 0.01 away.
        `sign_flipped`: close after a change of sign. `within_ci`: the published value is in our
        interval. `differs` otherwise; `not_run` if either value is missing.

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
    """Compare our values with a published table.

    A cell from another run of the metric, or computed by others, is at best `close`, because we did
    not reproduce it. A published average that contradicts its own row is a `misprint`
    (`with_misprints`) unless ours is `exact`.

    Parameters
    ----------
    paper, artefact : str
    table : pandas.DataFrame
        From `nlgjudge.ledger.printed.published`.
    ours : pandas.DataFrame
        `row, dataset, aspect, level, coefficient, ours`; optionally `ci_low, ci_high, ci_reason, n,
        n_skipped, variant, evidence, note, judge`, and `relabelled`, true where `ours` is another coefficient
        than the column's label says. Averages are added if it has none. A cell that differs and has a
        `ci_reason` says in its note that no interval is valid there.
    evidence : str
        One of `EVIDENCE`, for rows without their own.
    notebook : str
        Name of the calling notebook.
    sample : bool
        Whether the values come from the sample; they then stay out of the ledger.
    judge : str or nlgjudge.judging.judge.Judge, optional
        Judge whose replies replace the paper's, for rows without their own. Required if the
        evidence is one of `ANOTHER_MODEL`; it is the `variant` of rows that have none.

    Returns
    -------
    pandas.DataFrame
        The ledger's columns and `sample`, one row per published cell that has a value of ours.

    Raises
    ------
    ValueError
        If cells repeat, the table does not publish a row or cell, the evidence is unknown, or the
        judge of another model's cells is missing or no model.

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
    ours = _with_judges(ours, evidence, judge)
    _check(paper, artefact, table, ours)
    if "AVG" not in set(ours["aspect"]):
        ours = pd.concat([ours, averages(table, ours)], ignore_index=True)
    rows = table.rename(columns={"note": "note_printed"}).merge(ours, on=KEY, validate="1:1")
    rows = rows.assign(paper=paper, artefact=artefact, notebook=notebook, published=rows["printed"])
    for column in ("ci_low", "ci_high", "n", "n_skipped"):
        rows[column] = rows.get(column, np.nan)
    for column, default in {"variant": "", "note": "", "evidence": evidence}.items():
        rows[column] = _filled(rows, column, default)
    rows["difference"] = rows["ours"] - rows["value"]
    rows["verdict"] = _verdicts(rows)
    rows = with_misprints(rows, table, of_others(rows))
    rows["note"] = _without_interval(rows)
    rows["note"] = _without_published(rows)
    if sample:
        rows[["verdict", "evidence", "note"]] = ["not_run", "none", SAMPLE_NOTICE]
    return rows.assign(sample=bool(sample))[PART_COLUMNS]


def _without_interval(rows):
    """The notes; of a cell that differs and has no valid interval, also why there is none."""
    reasons = _filled(rows, "ci_reason", "")
    silent = rows["verdict"].eq("differs") & rows["ci_low"].isna() & reasons.ne("")
    said = rows["note"].where(rows["note"].eq(""), rows["note"] + "; ")
    return rows["note"].mask(silent, said + "no interval is valid here: " + reasons)


def _without_published(rows):
    """The notes; of a cell without a published value, why there is none, and whose value a judge's is."""
    judged = rows["evidence"].isin([*ANOTHER_MODEL, "none"]) & rows["note"].ne("")
    why = rows["note_printed"].mask(judged, rows["note_printed"] + "; " + rows["note"])
    return rows["note"].where(rows["published"].ne(""), why)


def _filled(frame, name, default):
    """A column with its gaps filled; the default in every row if there is no such column."""
    if name not in frame:
        return pd.Series(default, frame.index, dtype=object)
    return frame[name].astype(object).fillna(default)


def _with_judges(ours, evidence, judge):
    """Check evidence and judges; a judge's name becomes the variant of its rows that have none."""
    evidences = _filled(ours, "evidence", evidence)
    strange = set(evidences) - set(EVIDENCE)
    if strange:
        raise ValueError(f"evidence {sorted(map(str, strange))}: expected one of {EVIDENCE}")
    another = evidences.isin(ANOTHER_MODEL)
    if another.any() and not isinstance(judge, str) and not judge.is_model:
        raise ValueError(
            f"judge {judge.name!r} is not a model, so it cannot replace the paper's. Show its numbers next to the table"
        )
    names = _filled(ours, "judge", judge if isinstance(judge, str) else judge.name)
    if (another & (names == "")).any():
        raise ValueError(
            f"evidence {evidences[another].iloc[0]}: name the judge that gave the replies, by "
            "compare(..., judge=NAME) or in a column `judge`"
        )
    variants = _filled(ours, "variant", "")
    ours = ours.assign(variant=variants.mask(another & (variants == ""), names))
    return ours.drop(columns="judge", errors="ignore")


def _check(paper, artefact, table, ours):
    """Check that each of our cells occurs once, and in the published table."""
    repeated = ours.duplicated(KEY)
    if repeated.any():
        raise ValueError(f"two values for {ours.loc[repeated, KEY].iloc[0].tolist()}")
    known = list(table["row"].unique())
    for row in ours["row"].unique():
        if row not in known:
            raise ValueError(f"{paper}, {artefact}: {unknown('published row', row, known)}")
    joined = ours[KEY].merge(table[KEY], how="left", indicator=True)
    extra = joined[joined["_merge"] == "left_only"]
    if len(extra):
        raise ValueError(
            f"{len(extra)} cells that the table does not publish, "
            f"first {extra[KEY].iloc[0].tolist()}"
        )


def _verdicts(rows):
    """The verdict of each cell, also from its evidence and its column's label."""
    cells = zip(rows["published"], rows["ours"], rows["ci_low"], rows["ci_high"])
    found = pd.Series(
        [verdict(printed, ours, (low, high)) for printed, ours, low, high in cells],
        index=rows.index,
        dtype=object,
    )
    if "relabelled" in rows:
        agrees = found.isin(["exact", "close"])
        found = found.mask(rows["relabelled"].eq(True) & agrees, "relabelled")
    not_ours = rows["evidence"].isin([ANOTHER_RUN, THIRD_PARTY])
    return found.mask(not_ours & (found == "exact"), "close")


def averages(table, ours, frames=None, **options):
    """Average our cells the way the published table averages its own.

    A published average is the mean of the row's cells at its level and coefficient. QAGS averages
    over its two parts.

    Parameters
    ----------
    table, ours : pandas.DataFrame
        As for `compare`; with `frames`, `ours` needs the column `metric` too.
    frames : dict of str to pandas.DataFrame, optional
        Scores by dataset, for intervals.
    **options
        Of `nlgjudge.stats.mean_interval`: `systems, constant, kendall`.

    Returns
    -------
    pandas.DataFrame
        `row, dataset, aspect, level, coefficient, ours` of the averages whose cells are complete;
        with `frames` also `ci_low, ci_high, ci_reason`.

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
    line = ["row", "level", "coefficient"]
    shared = [name for name in _SHARED if name in ours]
    cells = table.loc[table["aspect"] != "AVG", KEY].merge(ours, on=KEY, how="left")
    by_line = dict(list(cells.groupby(line, sort=False)))
    found = []
    for average in table[table["aspect"] == "AVG"].drop_duplicates(KEY)[KEY].to_dict("records"):
        part = by_line.get(tuple(average[name] for name in line))
        if part is None or part["ours"].isna().any():
            continue
        mean = {**average, "ours": part["ours"].mean()}
        for name in shared:
            alike = part[name].nunique(dropna=False) == 1
            mean[name] = part[name].iloc[0] if alike else None
        if frames is not None:
            scores = [
                (frames[cell.dataset], cell.metric, cell.aspect) for cell in part.itertuples()
            ]
            of_line = {"level": average["level"], "coefficient": average["coefficient"]}
            interval = mean_interval(scores, **of_line, **options)
            mean |= {"ci_low": interval.low, "ci_high": interval.high, "ci_reason": interval.reason}
        found.append(mean)
    columns = found[0] if found else [*KEY, "ours"]
    return pd.DataFrame(found, columns=list(columns)).astype({"ours": float})


def with_interval(rows, value="ours", *, digits=2):
    """Format values with their intervals.

    Parameters
    ----------
    rows : pandas.DataFrame
        The value's column and its bounds: `<value>_low` and `<value>_high`, or else `ci_low` and
        `ci_high`; NaN if there is no interval.
    value : str
    digits : int
        Decimals of the value; bounds have two.

    Returns
    -------
    pandas.Series of str
        Such as ``0.23 [0.06, 0.39]``.

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
    """Lay a comparison out like the paper's table, our value before the published one.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `compare`.

    Returns
    -------
    pandas.DataFrame
        Indexed by `row`, with the columns that differ among table, dataset, aspect, level and
        coefficient. A cell reads ``0.014 (0.014)``, with our interval if there is one.

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
    published = rows["published"].replace("", "-")
    rows = rows.assign(cell=with_interval(rows, digits=3) + " (" + published + ")")
    several_tables = rows.duplicated(KEY).any()
    return laid_out(rows, "cell", ["artefact", *KEY[1:]] if several_tables else KEY[1:])


def laid_out(cells, values, heads):
    """One line per published row, one column per combination of heads that vary, in their order."""
    heads = [name for name in heads if cells[name].nunique() > 1] or heads[-1:]
    wide = cells.pivot(index="row", columns=heads, values=values)
    columns = pd.MultiIndex.from_frame(cells[heads].drop_duplicates())
    if len(heads) == 1:
        columns = columns.get_level_values(0)
    return wide.reindex(index=cells["row"].unique(), columns=columns).fillna("")
