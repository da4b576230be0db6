"""The ledger as a file: parts written by notebooks, kept reruns, and both merged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from nlgjudge.data.paths import SAMPLE_NOTICE, out, root, use, workplace
from nlgjudge.data.preferences import PAIR
from nlgjudge.ledger.average_audit import with_misprints
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.ledger.verdicts import COLUMNS, EVIDENCE, GROUPS, MISPRINT, is_constant, of_others
from nlgjudge.papers.folders import paper

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

CELL = ["paper", "artefact", *KEY]  # what identifies a cell
VALUES = ["ours", "ci_low", "ci_high", "difference"]
COUNTS = ["n", "n_skipped"]
ADDED = ["group", "address"]  # to the columns of a part, in the ledger
DIGITS = 6  # of our values in the ledger
# Groups of cells for which the paper publishes no number of a judge.
UNPUBLISHED = ["dash", "lost", "constant"]
# What a cell publishes, by its coefficient; others are correlations.
MEASURES = {
    "accuracy": "accuracies",
    "winning_rate": "winning rates",
    "advantage": "advantages",
    "similarity": "similarities",
}


def write(rows: pd.DataFrame) -> Path:
    """Save a notebook's part of the ledger, from `compare`, of one or several tables.

    A `ValueError` for a cell that is neither exact nor close and has no note.
    """
    agrees = rows["verdict"].isin(["exact", "close"])
    silent = rows[~agrees & (rows["note"].str.strip() == "")]
    if len(silent):
        raise ValueError(
            f"{len(silent)} cells are neither exact nor close and have no note, "
            f"first {silent[KEY].iloc[0].tolist()}. Give a note for their row."
        )
    (notebook,) = rows["notebook"].unique()
    # One value of the sample makes the whole part one of the sample, because an average may hold both.
    sample = bool(rows["sample"].any())
    if sample:
        rows = rows.assign(sample=True, verdict="not_run", evidence="none", note=SAMPLE_NOTICE)
    path = out(sample) / "ledger" / f"{notebook}.csv"
    save(rows, path)
    return path


def read(path: Path) -> pd.DataFrame:
    """Read the ledger (whose last columns are `ADDED`), a notebook's part of it, or a kept rerun."""
    numbers = [*VALUES, *COUNTS]
    # A row or an aspect may be called "NA", so that only numbers can be missing.
    frame = pd.read_csv(
        path,
        dtype={column: str for column in [*COLUMNS, *ADDED] if column not in numbers},
        keep_default_na=False,
        na_values={column: [""] for column in numbers},
    )
    return frame[[column for column in [*COLUMNS, *ADDED] if column in frame]]


def committed(what: Literal["ledger", "reruns"] = "ledger") -> pd.DataFrame:
    """Read the committed ledger, or the kept reruns, `paper_tables/reruns/<judge>.csv`.

    Returns
    -------
    pandas.DataFrame
        The ledger's columns, and of the ledger `group` and `address` (its row on the site), of reruns `judge` (the
        name of a rerun's file).

    Raises
    ------
    ValueError
        If a rerun has a cell twice.

    Examples
    --------
    >>> committed().groupby(["paper", "group"]).size()["geval"].to_dict()
    {'by others': 93, 'contradicts itself': 13, 'dash': 11, 'differs': 10, 'not checkable': 105, 'reproduces': 87}
    >>> sorted(committed("reruns")["judge"].unique())[-1]
    'unieval'
    """
    return _kept_cells() if what == "reruns" else read(use(root() / "paper_tables" / "ledger.csv"))


def save(rows: pd.DataFrame, path: Path) -> None:
    """Write the ledger, a part of it (with the column `sample`), or a rerun, without values of the sample."""
    rows = rows.copy()
    for column in VALUES:
        rounded = pd.to_numeric(rows[column]).round(DIGITS)
        rows[column] = rounded + 0.0  # writes -0.0 as 0.0
    for column in COUNTS:
        rows[column] = pd.to_numeric(rows[column]).astype("Int64")
    if "sample" in rows:
        from_sample = rows["sample"].astype(bool)
        rows.loc[from_sample, VALUES] = np.nan
        rows.loc[from_sample, COUNTS] = pd.NA
    path.parent.mkdir(parents=True, exist_ok=True)
    rows.to_csv(path, index=False, lineterminator="\n")


def keep(judge: str, cells: pd.DataFrame) -> Path:
    """Save a judge's cells in `paper_tables/reruns/`; its cells of other tables stay."""
    path = workplace() / "paper_tables" / "reruns" / f"{judge}.csv"
    if path.is_file():
        cells = added(read(path), cells, ["paper", "artefact"])
    save(cells, path)
    return path


def added(before: pd.DataFrame, new: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """Lines of earlier runs that the new ones do not replace, and the new ones."""
    replaced = pd.MultiIndex.from_frame(before[key]).isin(pd.MultiIndex.from_frame(new[key]))
    return pd.concat([before[~replaced], new], ignore_index=True)


def _kept_cells():
    """The cells of all kept reruns, with their judge."""
    parts = []
    for path in sorted((root() / "paper_tables" / "reruns").glob("*.csv")):
        rows = read(use(path))
        if rows.duplicated(CELL).any():
            raise ValueError(f"{path.name} has {rows.duplicated(CELL).sum()} cells twice.")
        parts.append(rows.assign(judge=path.stem))
    if not parts:
        return pd.DataFrame(columns=[*COLUMNS, "judge"])
    return pd.concat(parts, ignore_index=True)


def by_rank(kept: pd.DataFrame) -> pd.DataFrame:
    """Choose the cells of kept reruns that may enter the ledger.

    Cells asked of a live model (evidence `rejudged`), each from the judge that reaches the most cells. Recorded replies
    enter through the notebook of their table.
    """
    live = kept[kept["evidence"] == "rejudged"]
    reached = live.groupby("judge")["ours"].transform("count")
    order = live.assign(reached=-reached).sort_values(["reached", "judge"], kind="stable")
    return order.drop_duplicates(CELL)[COLUMNS]


def merge(parts: list[Path], kept: pd.DataFrame | None = None) -> pd.DataFrame:
    """Join the notebooks' parts and kept reruns (from `by_rank`) with the cells that nobody ran.

    If two ran a cell, it keeps the better evidence, in the order of `EVIDENCE`, and of equal ones that of the first
    notebook by name. A published average that the cells of its row contradict is a `misprint`, also if nobody ran it.

    Returns
    -------
    pandas.DataFrame
        A row for each cell of the published tables, in the papers' order, with its `group` and `address`.
    """
    ran = [read(path) for path in parts]
    if kept is not None and len(kept):
        ran.append(kept)
    ran = pd.concat(ran, ignore_index=True) if ran else pd.DataFrame(columns=COLUMNS)
    # Which parts are here decides no tie.
    ran = ran.sort_values("notebook", kind="stable", ignore_index=True)
    rows = beside(published(), best(ran))[COLUMNS]
    return rows.assign(group=group(rows), address=addresses(rows))


def best(rows: pd.DataFrame, rank: pd.Series | None = None) -> pd.DataFrame:
    """Of each cell the row with the best evidence, in the order of `EVIDENCE` or of `rank`; of equal ones the first."""
    rank = rows["evidence"].map(EVIDENCE.index) if rank is None else rank
    return rows.loc[rank.sort_values(kind="stable").index].drop_duplicates(CELL)


def beside(table: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Every published cell of a table with its row of `found`, or what it needs; an average may be a misprint."""
    table = table.rename(columns={"note": "note_printed"})
    rows = table.merge(found.drop(columns="published"), on=CELL, how="left")
    absent = rows["verdict"].isna()
    rows.loc[absent, ["verdict", "evidence", "variant", "notebook"]] = ["not_run", "none", "", ""]
    rows.loc[absent, "note"] = needs_of(rows[absent])
    rest = with_misprints(rows[absent], table, of_others(rows[absent]))
    rows.loc[absent, ["verdict", "note"]] = rest[["verdict", "note"]]
    return rows.assign(published=rows["printed"])


def needs_of(cells: pd.DataFrame, what: Literal["needs", "missing"] = "needs") -> list[str]:
    """Say what each cell that nobody ran needs: the first of its paper's `[[needs]]` that covers it.

    `cells` have `paper, artefact, row, dataset, printed`, and `note_printed`, which says why nothing is printed.
    ``missing`` is short and names no file.
    """
    return [_need(cell, what) for cell in cells.itertuples()]


def _need(cell, what):
    if not cell.printed:
        return cell.note_printed
    of = paper(cell.paper)
    for need in of.needs:
        if need.covers(cell.artefact, cell.row, cell.dataset):
            return getattr(need, what)
    raise ValueError(
        f"papers/{of.key}/paper.toml: no entry of [[needs]] covers {cell.artefact} {cell.row}"
    )


def still_valid(names: Collection[str]) -> pd.DataFrame:
    """The committed cells of some notebooks, without those whose published value was corrected since."""
    before = committed()
    now = published()[[*CELL, "printed"]].rename(columns={"printed": "published"})
    return before[before["notebook"].isin([*names])].merge(now, on=[*CELL, "published"])[COLUMNS]


def addresses(rows: pd.DataFrame) -> pd.Series:
    """Where the site has each cell: the page of its table, and its row there."""
    page = "tables/" + rows["paper"] + "_" + rows["artefact"] + ".html#"
    return page + rows["row"].map(anchor)


def anchor(row: str) -> str:
    """What a row is called in an address.

    Examples
    --------
    >>> anchor("GPT-4, Metrics+Reference*")
    'gpt-4-metrics-plus-reference-star'
    """
    words = row.lower().replace("*", " star").replace("+", " plus ")
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")


def group(rows):
    """The group in which each cell counts, of `GROUPS` or `UNPUBLISHED`.

    A cell reproduces or differs by the paper's own material; a value of another model, another run of the metric or a
    third party is ``by others``. Without a published number, the paper has a ``dash``, or the number was ``lost`` in
    extracting its text. A ``constant``, as 0.5 for a random guess, is printed and no result.
    """
    reproduces, differs, contradicts, others, unchecked = GROUPS
    known = {"exact": reproduces, "close": reproduces, MISPRINT: contradicts}
    groups = rows["verdict"].map(known | dict.fromkeys(("not_run", ""), unchecked)).fillna(differs)
    groups = groups.mask(of_others(rows) & groups.isin([reproduces, differs]), others)
    empty = pd.to_numeric(rows["published"]).isna()
    lost = empty & rows["note"].str.startswith("lost in extraction")
    return groups.mask(empty, "dash").mask(lost, "lost").mask(is_constant(rows), "constant")


def measures(rows: pd.DataFrame) -> pd.Series:
    """What each cell publishes: `accuracies` for shares of pairs, else by its coefficient, as `correlations`."""
    of_outputs = rows["coefficient"].map(MEASURES).fillna("correlations")
    return of_outputs.mask(rows["level"] == PAIR, "accuracies")


def cell_counts(rows: pd.DataFrame, by: str | list[str] = "paper") -> pd.DataFrame:
    """Count the ledger's cells by group, a line for each value of some columns.

    `cells` are the published cells, the sum of `GROUPS`; `exact` is a part of `reproduces`. `dash, lost, constant` are
    not in it.
    """
    table = rows.pivot_table(
        index=by, columns="group", values="row", aggfunc="size", fill_value=0, sort=False
    )
    table = table.reindex(columns=[*GROUPS, *UNPUBLISHED], fill_value=0)
    exact = rows[(rows["group"] == GROUPS[0]) & (rows["verdict"] == "exact")].groupby(by).size()
    table.insert(1, "exact", exact.reindex(table.index, fill_value=0))
    table.insert(0, "cells", table[GROUPS].sum(axis=1))
    return table.rename_axis(columns=None)
