"""Compare our values with a published table: a verdict per cell, averages, and layout."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgjudge.data.checks import check_known
from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.ledger.average_audit import with_misprints
from nlgjudge.ledger.printed import KEY
from nlgjudge.ledger.verdicts import (
    ANOTHER_MODEL,
    ANOTHER_RUN,
    COLUMNS,
    EVIDENCE,
    THIRD_PARTY,
    of_others,
)
from nlgjudge.papers.folders import averages as datasets_of_averages
from nlgjudge.stats.correlations import correlation_table
from nlgjudge.stats.intervals import mean_interval

CLOSE = 0.01
SLACK = 1e-9  # so that a value on the rounding edge is not lost to binary floats
# What an average inherits where all of its cells agree.
_SHARED = ("variant", "evidence", "note", "judge", "relabelled")


def verdict(printed: str, ours: float, ci: tuple[float, float] = (np.nan, np.nan)) -> str:
    """Judge one cell by the published digits, our value and its 95% interval.

    `exact`: ours rounds to the published digits. `close`: at most 0.01 away. `sign_flipped`: close after a change of
    sign. `within_ci`: the published value is in our interval. `differs` otherwise; `not_run` if either value is
    missing.

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
    return "within_ci" if low <= value <= high else "differs"


def compare(
    paper: str,
    artefact: str,
    table: pd.DataFrame,
    ours: pd.DataFrame,
    *,
    evidence: str,
    notebook: str,
    sample: bool = False,
) -> pd.DataFrame:
    """Compare our values with a published table.

    The result has the ledger's columns and `sample`, and a row for each cell with a value of ours.

    `ours` is as for `Table.put`, and `evidence` that of rows without their own; averages are added if it has none.
    A cell from another run of the metric, or computed by others, is at best `close`, because we did not reproduce it.
    A published average that contradicts its own row is a `misprint` (`with_misprints`) unless ours is `exact`. Values
    of the `sample` stay out of the ledger. A `ValueError` if cells repeat, or another model's judge has no name.

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
    ours = ours.assign(evidence=_filled(ours, "evidence", evidence))
    _check(ours)
    another = ours["evidence"].isin(ANOTHER_MODEL)
    variants = _filled(ours, "variant", "")
    unnamed = another & (variants == "")
    ours = ours.assign(variant=variants.mask(unnamed, _filled(ours, "judge", "")))
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
        rows[["verdict", "evidence"]] = ["not_run", "none"]
        rows["note"] = rows["note"].mask(rows["ours"].notna(), SAMPLE_NOTICE)
    return rows.assign(sample=bool(sample))[[*COLUMNS, "sample"]]


def _check(ours):
    """Refuse unknown evidence, and cells of another model without the name of the judge."""
    for evidence in ours["evidence"].unique():
        check_known("evidence", evidence, EVIDENCE)
    nameless = ours["evidence"].isin(ANOTHER_MODEL) & (_filled(ours, "judge", "") == "")
    if nameless.any():
        evidence = ours.loc[nameless, "evidence"].iloc[0]
        raise ValueError(f"evidence {evidence}: name the judge that gave the replies (`judge`)")


def _without_interval(rows):
    """The notes; of a cell that differs and has no valid interval, also why there is none."""
    reasons = _filled(rows, "ci_reason", "")
    silent = rows["verdict"].eq("differs") & rows["ci_low"].isna() & reasons.ne("")
    notes = rows["note"].where(rows["note"].eq(""), rows["note"] + "; ")
    return rows["note"].mask(silent, notes + "no interval is valid here: " + reasons)


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


def _verdicts(rows):
    """The verdict of each cell, also from its evidence and its column's label."""
    cells = zip(rows["published"], rows["ours"], rows["ci_low"], rows["ci_high"])
    verdicts = [verdict(printed, ours, (low, high)) for printed, ours, low, high in cells]
    verdicts = pd.Series(verdicts, index=rows.index, dtype=object)
    if "relabelled" in rows:
        agrees = verdicts.isin(["exact", "close"])
        verdicts = verdicts.mask(rows["relabelled"].eq(True) & agrees, "relabelled")
    not_ours = rows["evidence"].isin([ANOTHER_RUN, THIRD_PARTY])
    return verdicts.mask(not_ours & (verdicts == "exact"), "close")


def averages(table, ours, frames=None, **options):
    """Average our cells the way the published table averages its own, where all cells of an average are there.

    A published average is the mean of the row's cells at its level and coefficient, or of those on the datasets that
    the paper lists under its name. QAGS averages over its two parts.
    With `frames`, scores by dataset, each has an interval of `nlgjudge.interval`, which takes the options;
    `ours` then needs the column `metric` too.
    """
    line = ["row", "level", "coefficient"]
    cells = table.loc[table["aspect"] != "AVG", KEY].merge(ours, on=KEY, how="left")
    by_line = dict(list(cells.groupby(line, sort=False)))
    groups = datasets_of_averages()
    means = []
    for average in table[table["aspect"] == "AVG"].drop_duplicates(KEY)[KEY].to_dict("records"):
        part = by_line.get(tuple(average[name] for name in line))
        if part is not None and average["dataset"] in groups:
            part = part[part["dataset"].isin(groups[average["dataset"]])]
        if part is None or part["ours"].isna().any():
            continue
        mean = {**average, "ours": part["ours"].mean()}
        for name in [name for name in _SHARED if name in ours]:
            alike = part[name].nunique(dropna=False) == 1
            mean[name] = part[name].iloc[0] if alike else None
        if frames is not None:
            triples = [
                (frames[cell.dataset], cell.metric, cell.aspect) for cell in part.itertuples()
            ]
            how = {"level": average["level"], "coefficient": average["coefficient"]}
            interval = mean_interval(triples, **how, **options)
            mean |= {"ci_low": interval.low, "ci_high": interval.high, "ci_reason": interval.reason}
        means.append(mean)
    columns = means[0] if means else [*KEY, "ours"]
    return pd.DataFrame(means, columns=list(columns)).astype({"ours": float})


def correlations_of(frame, names, cells, constant):
    """Every candidate with the aspects of published cells; a column of one aspect or coefficient with it alone."""
    aspects = list(cells["aspect"].unique())
    how = {f"{name}s": tuple(cells[name].unique()) for name in ("level", "coefficient")}
    how |= {"dataset": cells["dataset"].iloc[0], "constant": constant}
    tables = [pd.DataFrame(columns=[*KEY[1:], "metric", "column", "ours"])]
    for name in names:
        columns = {f"{name}:{aspect}": ([aspect], how) for aspect in aspects}
        columns |= {
            f"{name}:{one}": (aspects, how | {"coefficients": (one,)})
            for one in how["coefficients"]
        }
        columns = {column: of for column, of in columns.items() if column in frame}
        if not columns and name in frame:
            columns = {name: (aspects, how)}
        for column, (of, asked) in columns.items():
            table = correlation_table(frame, [column], of, **asked)
            tables.append(table.assign(metric=name, column=column))
    return pd.concat([part for part in tables if len(part)] or tables, ignore_index=True)


def with_interval(rows: pd.DataFrame, value: str = "ours", *, digits: int = 2) -> pd.Series:
    """Format values with their intervals, as ``0.23 [0.06, 0.39]``.

    Parameters
    ----------
    rows
        The value's column and its bounds: `<value>_low` and `<value>_high`, or else `ci_low` and `ci_high`; NaN if
        there is no interval. A value that is NaN is a dash.
    value
    digits
        Decimals of the value; bounds have two.

    Examples
    --------
    >>> rows = pd.DataFrame({"ours": [0.234, 0.5], "ci_low": [0.06, None], "ci_high": [0.39, None]})
    >>> with_interval(rows).tolist()
    ['0.23 [0.06, 0.39]', '0.50']
    >>> {*with_interval(pd.DataFrame({"ours": [0.305, 0.3050000001], "ci_low": None, "ci_high": None}))}
    {'0.30'}
    """
    bounds = value if f"{value}_low" in rows else "ci"
    # Rounded as committed, so that a half looks the same before and after a run.
    texts = rows[value].round(6).map(lambda one: "–" if pd.isna(one) else f"{one:.{digits}f}")
    ends = zip(rows[f"{bounds}_low"], rows[f"{bounds}_high"])
    bounds_text = ["" if pd.isna(low) else f" [{low:.2f}, {high:.2f}]" for low, high in ends]
    return texts.astype(object) + pd.Series(bounds_text, index=rows.index, dtype=object)


def laid_out(cells, values, heads):
    """One line per published row, one column per combination of heads that vary, in their order."""
    heads = [name for name in heads if cells[name].nunique() > 1] or heads[-1:]
    wide = cells.pivot(index="row", columns=heads, values=values)
    columns = pd.MultiIndex.from_frame(cells[heads].drop_duplicates())
    if len(heads) == 1:
        columns = columns.get_level_values(0)
    return wide.reindex(index=cells["row"].unique(), columns=columns).fillna("")
