"""Printed rows of a metric beside somebody else's run of it, cell for cell.

`nlgjudge.papers.other_run_rows` says which run stands beside which row; items, ratings and cells are those of
`nlgjudge.ledger.model_rows`. None of these cells reproduces a print.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.published_runs import EVIDENCE, other_runs
from nlgjudge.ledger.metric_runs import metric_parts
from nlgjudge.ledger.model_rows import PartRun, compared, printed_tables
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.ledger.reruns import benchmarks_of
from nlgjudge.papers.other_run_rows import OTHER_RUN_ROWS

CANDIDATES = ["cells", "exact", "mean away", "largest", "in the ledger"]
_EXACT = 0.0005 + 1e-9


class BesideOtherRuns(NamedTuple):
    """What others' runs say beside printed rows.

    Attributes
    ----------
    cells : pandas.DataFrame
        The ledger's columns and `sample`, a line for each printed cell that a run reaches.
    candidates : pandas.DataFrame
        By paper, row and column of a run, `CANDIDATES`: all columns of the row's metric, how far they are from the
        print in single aspects, and whether the column is the one in the ledger.
    files : dict of str to str
        Each file that was read, with its git blob id.
    said : str
        What is not here.
    """

    cells: pd.DataFrame
    candidates: pd.DataFrame
    files: dict
    said: str

    def after(self, rows):
        """Put the cells behind those of a comparison.

        Parameters
        ----------
        rows : pandas.DataFrame
            From `nlgjudge.compare`.

        Returns
        -------
        pandas.DataFrame
        """
        return pd.concat([rows, self.cells], ignore_index=True) if len(self.cells) else rows


def beside_other_runs(paper, artefacts, *, source="auto", notebook="", resamples=1000, seed=0):
    """Set others' runs of a metric beside the printed rows of that metric.

    Parameters
    ----------
    paper : str
        One of `nlgjudge.ledger.model_rows.PAPERS`.
    artefacts : list of str
        Tables, as ``["table1"]``.
    source : {"auto", "real", "sample"}
        As for `nlgjudge.load`.
    notebook : str
        Written into the cells.
    resamples, seed : int
        Of the bootstrap; with no resamples there are no intervals.

    Returns
    -------
    BesideOtherRuns
        Without cells where the data are the sample's, or no run is here.

    Examples
    --------
    >>> found = beside_other_runs("geval", ["table2"], source="sample")
    >>> len(found.cells), found.said
    (0, 'nobody ran a metric on the sample: no other run of BERTScore on topical_chat')
    """
    parts = [
        (part, entry)
        for part in metric_parts(paper, artefacts)
        for entry in OTHER_RUN_ROWS
        if (paper, part.row.row) in entry.rows and part.scope.benchmark == entry.benchmark
    ]
    benchmarks, absent = benchmarks_of([part for part, _ in parts], source)
    held = {name: other_runs(benchmark) for name, benchmark in benchmarks.items()}
    rng = np.random.default_rng(seed)
    runs = []
    lines = []
    said = []
    if absent:
        said.append(f"left out because the data are not here: {', '.join(absent)}")
    for part, entry in parts:
        benchmark = benchmarks.get(entry.benchmark)
        if benchmark is None:
            continue
        scores = held[entry.benchmark].scores
        if entry.column not in scores:
            why = (
                "nobody ran a metric on the sample"
                if benchmark.is_sample
                else "not on this machine"
            )
            said.append(f"{why}: no other run of {part.row.row} on {part.scope.dataset}")
            continue
        run = _OtherRun(part, entry, benchmark, scores)
        run.correlate(printed_tables(paper, part.artefacts), rng=rng, resamples=resamples)
        runs.append(run)
        lines += run.candidates(paper)
    cells = compared(paper, runs, notebook=notebook, sample=False, rng=rng, resamples=resamples)
    cells["note"] = _with_distances(cells)
    files = {path: blob for found in held.values() for path, blob in found.files.items()}
    return BesideOtherRuns(cells, _table(lines), files, "; ".join(dict.fromkeys(said)))


class _OtherRun(PartRun):
    """One part, as another run has it."""

    def __init__(self, part, entry, benchmark, scores):
        super().__init__(part, entry.variant, benchmark, 0, {})
        self.entry = entry
        self.scores = scores.set_index("item_id")
        self.items = self.items[
            self.items["item_id"].isin(self.scores[entry.column].dropna().index)
        ]
        self.column = entry.column

    def candidates(self, paper):
        """How far each column of the row's metric lies from the print, in the row's single aspects."""
        chosen = self.cells
        own = self.frame
        lines = []
        tables = printed_tables(paper, self.part.artefacts)
        for column in self.scores:
            if _metric(column) != _metric(self.entry.column):
                continue
            self.column = column
            self.correlate(tables, rng=None, resamples=0)
            ours = self.cells[[*KEY, "ours"]]
            beside = [
                published(version, artefact).assign(paper=version).merge(ours, on=KEY)
                for version, artefact in tables
            ]
            for version, cells in pd.concat(beside).groupby("paper", sort=False):
                away = (cells["ours"] - cells["value"]).abs().dropna()
                exact = int((away <= _EXACT).sum())
                in_ledger = column == self.entry.column
                lines.append(
                    (
                        version,
                        self.part.row.row,
                        self.part.scope.dataset,
                        column,
                        len(away),
                        exact,
                        away.mean(),
                        away.max(),
                        in_ledger,
                    )
                )
        self.cells = chosen
        self.frame = own
        self.column = self.entry.column
        return lines

    def _joined(self):
        people = self.benchmark.human()
        people = people[people["item_id"].isin(self.items["item_id"])]
        frame = people[["item_id", "doc_id", "system_id"]]
        frame = frame.assign(
            **{printed: people[rated] for printed, (_, rated) in self.aspects.items()}
        )
        found = frame["item_id"].map(self.scores[self.column])
        return frame.assign(**{f"judge:{printed}": found for printed in self.aspects})

    def _labels(self):
        return {
            "row": self.part.row.row,
            "judge": "",
            "evidence": EVIDENCE,
            "variant": self.entry.variant,
            "note": f"another run of the metric, not the paper's: {self.entry.note}",
        }


def _metric(column):
    """A column's metric, without whose run it is and without the part: ``bertscore`` of ``deutsch2021:bertscore-f``."""
    _, _, name = column.partition(":")
    return name.partition("-")[0]


def _with_distances(cells):
    """Notes that say how far the run lies from the print, over the row's single aspects in that table."""
    singles = cells[cells["aspect"] != "AVG"].assign(away=cells["difference"].abs())
    away = singles.groupby(["paper", "artefact", "row", "dataset"])["away"].agg(
        ["mean", "max", "count"]
    )
    notes = []
    for cell in cells.itertuples():
        key = (cell.paper, cell.artefact, cell.row, cell.dataset)
        if not cell.published or key not in away.index:
            notes.append(cell.note)
            continue
        mean, largest, count = away.loc[key]
        notes.append(
            f"{cell.note}; {mean:.3f} away in the mean of the table's {count:.0f} cells, {largest:.3f} "
            "at most"
        )
    return notes


def _table(lines):
    names = ["paper", "row", "dataset", "column", *CANDIDATES]
    table = pd.DataFrame(lines, columns=names).drop_duplicates(names[:4])
    return table.set_index(names[:4])
