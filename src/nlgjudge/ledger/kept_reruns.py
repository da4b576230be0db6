"""Reruns that are kept: `paper_tables/reruns/<judge>.csv`, in the ledger's columns.

Judges stand side by side there, and none overwrites another.
"""

import pandas as pd

from nlgjudge.data.paths import out, root, use
from nlgjudge.ledger.ledger import CELL, read, save

# Printed rows of a judge whose own predictions were released, and no language model that was prompted.
PRINTED_JUDGES = ["UniEval"]


def folder():
    """Where kept reruns are.

    Returns
    -------
    pathlib.Path
    """
    return root() / "paper_tables" / "reruns"


def keep(name, cells):
    """Keep a judge's cells; those of other tables that were kept before stay.

    Parameters
    ----------
    name : str
        The file's, without its ending.
    cells : pandas.DataFrame
        The ledger's columns.

    Returns
    -------
    pathlib.Path
    """
    path = folder() / f"{name}.csv"
    parts = [cells]
    if path.is_file():
        before = read(path)
        tables = pd.MultiIndex.from_frame(cells[["paper", "artefact"]])
        parts.insert(
            0, before[~pd.MultiIndex.from_frame(before[["paper", "artefact"]]).isin(tables)]
        )
    save(pd.concat(parts, ignore_index=True), path)
    return path


def write_rerun(name, cells):
    """Save a judge's cells with the results of a run, from where `make refresh` copies them.

    Parameters
    ----------
    name : str
        The file's, without its ending.
    cells : pandas.DataFrame
        The ledger's columns.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> import os
    >>> from tempfile import TemporaryDirectory
    >>> from unittest import mock
    >>> cells = read(root() / "paper_tables" / "ledger.csv").head(1)
    >>> with TemporaryDirectory() as made, mock.patch.dict(os.environ, NLGJUDGE_OUT=made):
    ...     write_rerun("my-model", cells).relative_to(made).as_posix()
    'reruns/my-model.csv'
    """
    path = out() / "reruns" / f"{name}.csv"
    save(cells, path)
    return path


def printed_judges(rows):
    """Cells of judges that have a printed row of their own, so that they stand beside the others.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger.

    Returns
    -------
    dict of str to pandas.DataFrame
        By the file's name, in the ledger's columns; the cells that have a value.
    """
    found = {}
    for row in PRINTED_JUDGES:
        cells = rows[rows["row"].eq(row) & rows["ours"].notna()]
        if len(cells):
            found[row.lower()] = cells
    return found


def kept_cells():
    """All kept cells.

    Returns
    -------
    pandas.DataFrame
        The ledger's columns and `judge`, the file's name; of a judge each cell once.

    Raises
    ------
    ValueError
        For a cell that a file has twice.

    Examples
    --------
    >>> cells = kept_cells()
    >>> cells.duplicated([*CELL, "judge"]).any().item()
    False
    """
    parts = []
    for path in sorted(folder().glob("*.csv")):
        rows = read(use(path))
        twice = int(rows.duplicated(CELL).sum())
        if twice:
            raise ValueError(f"{path.name}: {twice} cells are there twice; keep the run anew")
        parts.append(rows.assign(judge=path.stem))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*CELL, "judge"])


def by_rank(rows):
    """Cells that the ledger may take: asked of a live model, of several models that which reaches the most cells.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `kept_cells`.

    Returns
    -------
    pandas.DataFrame
        The ledger's columns; recorded replies enter by the rule of a table's notebook, and not from here.
    """
    live = rows[rows["evidence"] == "rejudged"] if len(rows) else rows
    if not len(live):
        return live.drop(columns="judge")
    reached = live.groupby("judge")["ours"].transform("count")
    order = live.assign(reached=-reached).sort_values(["reached", "judge"], kind="stable")
    return order.drop_duplicates(CELL).sort_index().drop(columns=["judge", "reached"])
