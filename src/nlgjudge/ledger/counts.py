"""Count the ledger's cells: the group of each cell, and the counts of all groups.

A published cell is one for which the paper prints a number. The others are counted apart: the paper prints a dash
there, or the number was lost when the text was extracted.
"""

import pandas as pd

from nlgjudge.ledger.verdicts import of_others

PUBLISHED = ["exact", "close", "other", "misprint", "not run"]
UNPUBLISHED = ["dash", "lost"]


def group(rows):
    """Name the group in which each cell of the ledger counts.

    Parameters
    ----------
    rows : pandas.DataFrame
        Cells with the columns `published, verdict, evidence, note`.

    Returns
    -------
    pandas.Series of str
        One of `PUBLISHED` for a published cell: ``exact``, ``close``, ``misprint`` and ``not run`` by its verdict,
        and ``other`` for the remaining verdicts. A cell that rests on another model, on another run of the metric or
        on a third party is never ``exact`` or ``close``. One of `UNPUBLISHED` for a cell without a number.

    Examples
    --------
    >>> rows = pd.DataFrame({
    ...     "published": ["0.167", "0.167", "0.5", "", ""],
    ...     "verdict": ["exact", "exact", "within_ci", "not_run", "not_run"],
    ...     "evidence": ["recomputed", "other_run", "recomputed", "none", "recomputed"],
    ...     "note": ["", "", "why", "printed as a dash", "lost in extraction"],
    ... })
    >>> group(rows).tolist()
    ['exact', 'other', 'other', 'dash', 'lost']
    """
    groups = rows["verdict"].str.replace("_", " ")
    groups = groups.where(groups.isin(PUBLISHED), "other")
    groups = groups.mask(of_others(rows) & groups.isin(["exact", "close"]), "other")
    empty = pd.to_numeric(rows["published"]).isna()
    lost = empty & rows["note"].str.startswith("lost in extraction")
    return groups.mask(empty, "dash").mask(lost, "lost")


def counts(rows, by="paper"):
    """Count the cells of each group.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger, with its column `group`.
    by : str or list of str
        A row of the table for each value of these columns, in the order of the ledger.

    Returns
    -------
    pandas.DataFrame
        `cells`, the published cells; `exact, close, other, misprint, not run`, which sum to `cells`; and `dash, lost`,
        which are not in `cells`.

    Examples
    --------
    >>> rows = pd.DataFrame({"paper": ["a", "a", "b"], "row": "x", "group": ["exact", "dash", "not run"]})
    >>> counts(rows)["cells"].to_dict()
    {'a': 1, 'b': 1}
    """
    table = rows.pivot_table(
        index=by, columns="group", values="row", aggfunc="size", fill_value=0, sort=False
    )
    table = table.reindex(columns=[*PUBLISHED, *UNPUBLISHED], fill_value=0)
    table.insert(0, "cells", table[PUBLISHED].sum(axis=1))
    return table.rename_axis(columns=None)
