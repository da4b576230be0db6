"""Recorded judges beside the printed rows for which their replies may stand."""

import numpy as np
import pandas as pd

from nlgjudge.data.benchmarks import load
from nlgjudge.data.choices import unknown
from nlgjudge.data.recordings import if_available, recorded
from nlgjudge.judging.dry_run import COUNTS
from nlgjudge.judging.scoring import responses, weighed
from nlgjudge.ledger.model_rows import (
    REPLIES,
    PartRun,
    by_part,
    compared,
    parts_of,
    printed_tables,
    tables_of,
)
from nlgjudge.ledger.reruns import Rerun
from nlgjudge.ledger.verdicts import COLUMNS
from nlgjudge.papers.recorded_rows import RECORDED_ROWS, recorded_judges


def replayed(
    judge,
    *,
    paper="",
    artefacts=(),
    source="auto",
    notebook="",
    resamples=1000,
    seed=0,
    loaded=None,
):
    """Set a recorded judge beside the printed rows for which its replies may stand.

    Parameters
    ----------
    judge : str
        One of `nlgjudge.papers.recorded_rows.recorded_judges`.
    paper : str
        Of this paper alone; empty for all.
    artefacts : sequence of str
        Of these tables alone; empty for all.
    source, notebook, resamples, seed
        As for `rerun`.
    loaded : dict of str to nlgjudge.data.schema.Benchmark, optional
        Benchmarks by name, for several judges one after the other: those that are not in it are loaded and put there.

    Returns
    -------
    Rerun
        No plan, and no cells where the recording cannot be had.

    Raises
    ------
    ValueError
        For an unknown judge.

    Examples
    --------
    With the sample there is nothing to set beside a printed row, and the recording is named instead.

    >>> found = replayed("gpt-4o-mini", paper="geval", source="sample")
    >>> len(found.cells), found.enters
    (0, False)
    """
    entries = [one for one in RECORDED_ROWS if one.judge == judge]
    if not entries:
        raise ValueError(
            unknown("recorded judge", judge, recorded_judges(), most=len(recorded_judges()))
        )
    rng = np.random.default_rng(seed)
    loaded = {} if loaded is None else loaded
    runs, cells, absent = [], [], []
    for entry in entries:
        papers = [
            name for name in dict.fromkeys(name for name, _ in entry.rows) if paper in ("", name)
        ]
        if not papers:
            continue
        if entry.benchmark not in loaded:
            loaded[entry.benchmark] = load(entry.benchmark, source)
        benchmark = loaded[entry.benchmark]
        given = None
        if not benchmark.is_sample:
            given = if_available(
                entry.recording, benchmark.items, load=lambda name, _: loaded[name]
            )
        if given is None:
            absent.append(entry.recording)
            continue
        replies = _scored(entry, given)
        known = {}
        for name in papers:
            own = [
                _Replayed(part, entry, benchmark, replies, known)
                for part in parts_of(name, artefacts or tables_of(name))
                if (name, part.row.row) in entry.rows and part.scope.benchmark == entry.benchmark
            ]
            own = [run for run in own if run.aspects]
            for run in own:
                run.correlate(
                    printed_tables(name, run.part.artefacts), rng=rng, resamples=resamples
                )
            cells.append(
                compared(name, own, notebook=notebook, sample=False, rng=rng, resamples=resamples)
            )
            runs += own
    cells = (
        _with_distance(pd.concat(cells, ignore_index=True))
        if cells
        else pd.DataFrame(columns=COLUMNS)
    )
    counts = by_part({run.part.key: run.counts() for run in runs}, REPLIES)
    said = f"cannot be had here: {', '.join(absent)}" if absent else ""
    frames = {run.part.key: run.frame for run in runs}
    return Rerun(cells, counts, by_part({}, ["judge", *COUNTS]), bool(len(cells)), said, frames, {})


def _with_distance(cells):
    """Say in the notes how far a row lies from the print of its table, on average."""
    away = (
        cells["difference"]
        .abs()
        .groupby([cells["paper"], cells["artefact"], cells["row"]])
        .transform("mean")
    )
    said = away.map("; {:.3f} from the print on average".format).where(away.notna(), "")
    return cells.assign(note=cells["note"] + said)


def _scored(entry, given):
    """A recording's replies with their scores: the first of each item where the entry says how many, by token
    probabilities where it has them.
    """
    if entry.replies:
        given = given[given["sample_index"] < entry.replies]
    scales = recorded(entry.recording).scales
    parsed = responses(given, scale=scales)
    return (
        weighed(parsed, given.loc[parsed.index, "logprobs"], scale=scales)
        if "logprobs" in given
        else parsed
    )


class _Replayed(PartRun):
    """One part, as a recorded judge answers it."""

    def __init__(self, part, entry, benchmark, replies, known):
        super().__init__(part, entry.judge, benchmark, 0, {})
        self.entry = entry
        self.known = known  # cells of these replies, which several rows share
        answered = set(replies["aspect"].unique())
        self.aspects = {name: pair for name, pair in self.aspects.items() if pair[0] in answered}
        printed = {asked: name for name, (asked, _) in self.aspects.items()}
        own = replies[
            replies["aspect"].isin(printed) & replies["item_id"].isin(self.items["item_id"])
        ]
        self.responses = own.assign(aspect=own["aspect"].map(printed))
        self.items = self.items[self.items["item_id"].isin(own["item_id"].unique())]

    def _cell(self, aspect, level, coefficient, rng, resamples):
        scope = self.part.scope
        key = (scope.dataset, scope.left_out, scope.constant, aspect, level, coefficient)
        if key not in self.known:
            self.known[key] = super()._cell(aspect, level, coefficient, rng, resamples)
        return self.known[key]

    def _labels(self):
        row = self.part.row
        note = f"in the place of {row.model}: {self.entry.note}"
        return {
            "row": row.row,
            "judge": self.entry.judge,
            "evidence": "substitute_judge",
            "variant": f"{self.entry.judge}, {self.entry.recording}",
            "note": note,
        }
