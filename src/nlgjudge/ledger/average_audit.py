"""Check the published averages against the published cells of their rows.

The check needs the papers' tables alone: a contradiction found here is in the paper.
"""

import pandas as pd

from nlgjudge.ledger.verdicts import MISPRINT
from nlgjudge.papers.folders import averages

LINE = ["paper", "artefact", "row", "dataset", "level", "coefficient"]
SLACK = 1e-9  # a value on the rounding edge must not be lost to binary floats
# Verdicts of averages that our values reproduce: the average is right, and one of its cells is not.
GIVEN_BY_DATA = ["exact", "relabelled"]


def printed_averages(cells: pd.DataFrame) -> pd.DataFrame:
    """Check every published average against the mean of the published cells of its row.

    The mean of cells that were each rounded, and an average that was rounded itself, differ by at most half a
    unit of the last digit of the average plus the mean half unit of the cells. A larger difference is an error
    in the row, and the average is inconsistent. An average with a name of its own in the column `dataset` is that of
    the datasets that its paper lists (`nlgjudge.papers.folders.averages`). The columns are those of `Table.averages`,
    where `cells` have them.

    Examples
    --------
    >>> from nlgjudge.ledger.printed import published
    >>> found = printed_averages(published("geval", "table1"))
    >>> found.loc[found["row"] == "ROUGE-1", ["coefficient", "printed", "consistent"]].values.tolist()
    [['spearman', '0.192', True], ['kendall', '0.150', True]]
    """
    line = [column for column in LINE if column in cells]
    decimals = cells["printed"].str.partition(".")[2].str.len()
    cells = cells.assign(half_unit=0.5 * 10.0**-decimals)
    is_average = cells["aspect"] == "AVG"
    names = averages()
    entered = {
        dataset: [name for name, parts in names.items() if dataset in parts] or [""]
        for dataset in cells["dataset"].unique()
    }
    cells["average"] = cells["dataset"].where(is_average & cells["dataset"].isin(names), "")
    of_row = [column for column in line if column != "dataset"] + ["average"]
    means = (
        cells[~is_average]
        .assign(average=cells["dataset"].map(entered))
        .explode("average")
        .groupby(of_row, sort=False, as_index=False)
        .agg(
            mean=("value", lambda values: values.mean(skipna=False)),
            rounding=("half_unit", "mean"),
            cells=("value", "size"),
        )
    )
    printed = cells[is_average & cells["value"].notna()]
    audited = printed.merge(means, on=of_row, how="left")
    audited["difference"] = audited["value"] - audited["mean"]
    allowed = audited["half_unit"] + audited["rounding"] + SLACK
    consistent = (audited["difference"].abs() <= allowed).astype("boolean")
    audited["consistent"] = consistent.mask(audited["mean"].isna())
    return audited[[*line, "printed", "value", "mean", "difference", "cells", "consistent"]]


def with_misprints(rows: pd.DataFrame, cells: pd.DataFrame, of_others: pd.Series) -> pd.DataFrame:
    """Give published averages that contradict their own row the verdict `misprint`, and a note.

    This needs no value of ours, so it applies to averages that nobody ran as well. If our own values reproduce
    the average to the published digits, it keeps its verdict: then one of the row's published cells is wrong.
    `of_others` says which of the rows hold no value of ours.
    """
    line = [column for column in LINE if column in cells]
    audited = printed_averages(cells)
    wrong = audited[~audited["consistent"].fillna(True)].set_index(line)
    keys = rows.set_index(line).index
    reproduced = rows["verdict"].isin(GIVEN_BY_DATA) & ~of_others
    chosen = keys.isin(wrong.index) & (rows["aspect"] == "AVG") & ~reproduced
    chosen &= rows["verdict"] != MISPRINT
    rows = rows.copy()
    for label, key in zip(rows.index[chosen], keys[chosen]):
        average = wrong.loc[key]
        averages_to = f"average to {average['mean']:.4f}, not {average['printed']}"
        what = f"the printed cells of the row {averages_to}: no rounding gives that"
        note = rows.loc[label, "note"]
        rows.loc[label, "note"] = f"{what}; {note}" if note else what
    rows.loc[chosen, "verdict"] = MISPRINT
    return rows
