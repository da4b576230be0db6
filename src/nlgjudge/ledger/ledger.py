"""The ledger as a file: the notebooks' parts, all of them merged, and what changed."""

import csv

import numpy as np
import pandas as pd

from nlgjudge.data.paths import SAMPLE_NOTICE, out, root, use
from nlgjudge.ledger.average_audit import with_misprints
from nlgjudge.ledger.printed import KEY, all_published
from nlgjudge.ledger.verdicts import COLUMNS, EVIDENCE, of_others, was_run

CELL = ["paper", "artefact", *KEY]  # what identifies a cell
VALUES = ["ours", "ci_low", "ci_high", "difference"]
COUNTS = ["n", "n_skipped"]
DIGITS = 6  # of our values in the ledger


def write(rows):
    """Save a notebook's part of the ledger.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `compare`, of one or several tables, by one notebook.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ValueError
        When a cell that is neither exact nor close has no note, or the rows do not say whether they are
        of the sample.

    Examples
    --------
    >>> from nlgjudge.ledger.comparison import compare
    >>> from nlgjudge.ledger.printed import published
    >>> table = published("geval", "table1")
    >>> cells = table["row"].eq("ROUGE-1") & table["coefficient"].eq("kendall")
    >>> ours = table.loc[cells, KEY].assign(ours=0.3)
    >>> rows = compare("geval", "table1", table, ours, evidence="recomputed", notebook="geval_table1")
    >>> write(rows)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: 5 cells are neither exact nor close and name no cause, ... give a note for their row
    """
    if "sample" not in rows:
        raise ValueError(
            "the rows have no column `sample`, so nobody knows whether they may enter the ledger: "
            "give all columns that nj.compare returned"
        )
    agrees = rows["verdict"].isin(["exact", "close"])
    silent = rows[~agrees & (rows["note"].str.strip() == "")]
    if len(silent):
        raise ValueError(
            f"{len(silent)} cells are neither exact nor close and name no cause, "
            f"first {silent[KEY].iloc[0].tolist()}: give a note for their row"
        )
    (notebook,) = rows["notebook"].unique()
    # All or nothing, because an average may hold values of both; and whatever a note says.
    sample = bool(rows["sample"].any())
    if sample:
        rows = rows.assign(sample=True, verdict="not_run", evidence="none", note=SAMPLE_NOTICE)
    path = out(sample) / "ledger" / f"{notebook}.csv"
    save(rows, path)
    return path


def read(path):
    """Read a ledger or a part of one.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    pandas.DataFrame
        `published` and the notes as strings, an absent note as the empty one.
    """
    texts = ["published", "variant", "notebook", "note", "evidence", "verdict"]
    numbers = [column for column in COLUMNS if column not in (*texts, *KEY)]
    # A row or an aspect may be called "NA", so only numbers can be missing.
    frame = pd.read_csv(
        path,
        dtype=dict.fromkeys(texts, str),
        keep_default_na=False,
        na_values={column: [""] for column in numbers},
    )
    return frame[COLUMNS]


def committed():
    """Read the ledger that is committed, `paper_tables/ledger.csv`.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> committed().columns[:3].tolist()
    ['paper', 'artefact', 'row']
    """
    return read(use(root() / "paper_tables" / "ledger.csv"))


def save(rows, path):
    """Write a ledger or a part of one, without the values of the sample.

    Parameters
    ----------
    rows : pandas.DataFrame
        With the column `sample` where it is a part; the ledger itself has none and holds nothing of the sample.
    path : pathlib.Path
    """
    rows = rows.copy()
    for column in VALUES:
        rounded = pd.to_numeric(rows[column]).round(DIGITS)
        rows[column] = rounded + 0.0  # 0.0 in the place of -0.0
    for column in COUNTS:
        rows[column] = pd.to_numeric(rows[column]).astype("Int64")
    if "sample" in rows:
        from_sample = rows["sample"].astype(bool)
        rows.loc[from_sample, VALUES] = np.nan
        rows.loc[from_sample, COUNTS] = pd.NA
    path.parent.mkdir(parents=True, exist_ok=True)
    rows.to_csv(path, index=False, lineterminator="\n")


def merge(parts, kept=None):
    """Join the notebooks' parts, and reruns that are kept, with the cells that nobody ran.

    Parameters
    ----------
    parts : list of pathlib.Path
        From `write`. A cell that two notebooks ran keeps the better evidence, in the
        order of `EVIDENCE`.
    kept : pandas.DataFrame, optional
        From `nlgjudge.ledger.kept_reruns.by_rank`.

    Returns
    -------
    pandas.DataFrame
        One row per printed cell of all papers, in the papers' order. A printed average that its row contradicts is a
        `misprint`, also where nobody ran it.
    """
    ran = [read(path) for path in parts]
    if kept is not None and len(kept):
        ran.append(kept[COLUMNS])
    ran = pd.concat(ran) if ran else pd.DataFrame(columns=COLUMNS)
    ran = ran.assign(rank=ran["evidence"].map(EVIDENCE.index)).sort_values("rank", kind="stable")
    ran = ran.drop_duplicates(CELL).drop(columns="published")
    cells = all_published()
    printed = cells[[*CELL, "printed", "note"]]
    rows = printed.merge(ran, on=CELL, how="left", suffixes=("_printed", ""))
    absent = rows["verdict"].isna()
    rows.loc[absent, ["verdict", "evidence", "variant", "notebook"]] = ["not_run", "none", "", ""]
    rows.loc[absent, "note"] = needs_of(rows[absent])
    rest = with_misprints(rows[absent], cells, of_others(rows[absent]))
    rows.loc[absent, ["verdict", "note"]] = rest[["verdict", "note"]]
    return rows.rename(columns={"printed": "published"})[COLUMNS]


def needs_of(cells):
    """Say what each cell that nobody ran needs, from `paper_tables/needs.csv`.

    Parameters
    ----------
    cells : pandas.DataFrame
        `paper, artefact, row, printed` and `note_printed`, which says why nothing is printed.

    Returns
    -------
    list of str
    """
    with open(use(root() / "paper_tables" / "needs.csv"), newline="", encoding="utf-8") as handle:
        rules = list(csv.DictReader(handle))
    return [_need(cell, rules) for cell in cells.itertuples()]


def _need(cell, rules):
    """What one cell needs: of a printed one, what the first rule says that covers it."""
    if not cell.printed:
        return cell.note_printed
    for rule in rules:
        of_table = rule["paper"] in ("*", cell.paper) and rule["artefact"] in ("*", cell.artefact)
        if of_table and cell.row.startswith(rule["row"].rstrip("*")):
            return rule["needs"]
    raise ValueError(
        f"paper_tables/needs.csv has no rule for {cell.paper} {cell.artefact} {cell.row}"
    )


def keep_committed(rows, committed, names):
    """Keep the committed value of cells that their notebook could not compute here.

    Parameters
    ----------
    rows, committed : pandas.DataFrame
        The ledger of this run, and the one in `paper_tables/`.
    names : collection of str
        Notebooks that lacked some of their data.

    Returns
    -------
    rows : pandas.DataFrame
    kept : dict of str to int
        By notebook, how many cells were kept.
    """
    before = committed.set_index(CELL)
    index = pd.MultiIndex.from_frame(rows[CELL])
    notebook = before["notebook"].reindex(index)
    not_run = ~was_run(rows).to_numpy()
    absent = not_run & notebook.isin([*names]).to_numpy()
    old = before.reindex(index)[absent].reset_index()
    # A cell whose printed value was typed anew has no committed value to keep.
    same = (old["published"] == rows.loc[absent, "published"].to_numpy()).to_numpy()
    kept = old[same]
    chosen = rows.index[absent][same]
    rows = rows.astype(object)
    rows.loc[chosen, COLUMNS] = kept[COLUMNS].astype(object).to_numpy()
    return rows.infer_objects(), kept["notebook"].value_counts().to_dict()


def changes(before, after):
    """Cells in which two ledgers differ.

    Parameters
    ----------
    before, after : pandas.DataFrame
        From `read`.

    Returns
    -------
    pandas.DataFrame
        `paper, artefact` and the cell's key; `what` differs (the first of `COLUMNS`, a note last),
        `committed` and `here`.
    """
    old = before.set_index(CELL)
    new = after.set_index(CELL)
    found = []
    for cell in old.index.union(new.index, sort=False):
        in_old = "there" if cell in old.index else "absent"
        in_new = "there" if cell in new.index else "absent"
        if in_old != in_new:
            found.append((*cell, "cell", in_old, in_new))
    shared = old.index.intersection(new.index, sort=False)
    old = _texts(old.loc[shared])
    new = _texts(new.loc[shared])
    differ = old.ne(new)
    first = ["verdict", "ours"]
    last = ["note"]
    order = first + [column for column in differ if column not in first + last] + last
    for cell, row in differ[differ.any(axis=1)].iterrows():
        what = next(column for column in order if row[column])
        found.append((*cell, what, old.loc[cell, what], new.loc[cell, what]))
    return pd.DataFrame(found, columns=[*CELL, "what", "committed", "here"])


def _texts(rows):
    """Every value as text, a missing one as nothing, so that two missing ones are equal."""
    return rows.astype(object).where(rows.notna(), "").astype(str)
