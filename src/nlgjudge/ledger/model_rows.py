"""Rows of a model in the printed tables, dataset by dataset: asked, correlated, and set beside the print.

The protocols say how a row is asked for (`nlgjudge.papers`), the printed tables which cells it has.
"""

from typing import NamedTuple

import pandas as pd

from nlgjudge.data.choices import first, unknown
from nlgjudge.judging.replay import Replay
from nlgjudge.judging.scoring import item_scores
from nlgjudge.judging.tasks import NOT_ANSWERED, NOT_ASKED
from nlgjudge.ledger.comparison import averages, compare
from nlgjudge.ledger.entering import is_rule, judge_name
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.ledger.verdicts import COLUMNS
from nlgjudge.papers import modules
from nlgjudge.papers.asking import ask, count, kept, request
from nlgjudge.papers.protocol import Protocol, Scope
from nlgjudge.stats.bootstrap import interval_table
from nlgjudge.stats.correlations import correlation_table

# Papers that print correlations of models, by the name of their module.
PAPERS = {name: module for name, module in modules().items() if getattr(module, "SCOPES", ())}
REPLIES = [
    "judge",
    "items",
    "replies",
    "read",
    "unread",
    "missing",
    "calls",
    "cost",
    "sent",
    "left open",
]
# Replies without a rating that a later run may still bring.
_MISSING = (NOT_ASKED, NOT_ANSWERED)


class Part(NamedTuple):
    """A printed row on one dataset, in all tables that print it there.

    Attributes
    ----------
    row : nlgjudge.papers.protocol.Protocol
    scope : nlgjudge.papers.protocol.Scope
    artefacts : tuple of str
    """

    row: Protocol
    scope: Scope
    artefacts: tuple

    @property
    def key(self):
        """The row's label, the dataset and the tables, which tell one part from another."""
        return self.row.row, self.scope.dataset, "|".join(self.artefacts)


def parts_of(paper, artefacts):
    """The printed rows of a model in some tables, by dataset.

    Parameters
    ----------
    paper : str
        One of `PAPERS`.
    artefacts : str or list of str

    Returns
    -------
    list of Part

    Raises
    ------
    ValueError
        For an unknown paper, or a table in which no model's row is printed.

    Examples
    --------
    >>> [part.key for part in parts_of("geval", "table2")]
    [('G-EVAL-3.5', 'topical_chat', 'table2'), ('G-EVAL-4', 'topical_chat', 'table2')]
    """
    if paper not in PAPERS:
        raise ValueError(unknown("paper", paper, PAPERS))
    wanted = [artefacts] if isinstance(artefacts, str) else list(artefacts)
    known = tables_of(paper)
    for artefact in wanted:
        if artefact not in known:
            raise ValueError(f"{paper}: {unknown('table', artefact, known)}")
    found = []
    for scope in PAPERS[paper].SCOPES:
        for row in PAPERS[paper].PROTOCOLS:
            tables = [name for name in wanted if name in scope.artefacts and name in row.artefacts]
            if tables:
                found.append(Part(row, scope, tuple(tables)))
    return found


def tables_of(paper):
    """Tables of a paper in which rows of a model are printed.

    Parameters
    ----------
    paper : str

    Returns
    -------
    list of str

    Examples
    --------
    >>> tables_of("geval")
    ['table1', 'table2', 'table3']
    """
    names = {artefact for scope in PAPERS[paper].SCOPES for artefact in scope.artefacts}
    return sorted(names, key=lambda name: int(name.removeprefix("table")))


def printed_tables(paper, artefacts):
    """Tables in all printed versions of a paper.

    Parameters
    ----------
    paper : str
    artefacts : iterable of str

    Returns
    -------
    list of (str, str)

    Examples
    --------
    >>> printed_tables("geval", ["table2"])
    [('geval', 'table2'), ('geval_v1', 'table2')]
    """
    return [(version, artefact) for version in PAPERS[paper].VERSIONS for artefact in artefacts]


class PartRun:
    """One part, as it is asked and correlated.

    Parameters
    ----------
    part : Part
    judge : object
    benchmark : nlgjudge.data.schema.Benchmark
    limit : int
        Take the first documents; 0 is all.
    changes : dict
        Of the protocol, as for `nlgjudge.papers.asking.ask`.

    Attributes
    ----------
    items : pandas.DataFrame
        What is judged.
    aspects : dict of str to (str, str)
        As of `nlgjudge.papers.protocol.Scope`.
    responses, frame, cells : pandas.DataFrame
        The replies; ratings and scores of each item; the correlations. None until they are there.
    """

    def __init__(self, part, judge, benchmark, limit, changes):
        self.part = part
        self.judge = judge
        self.benchmark = benchmark
        self.items = first(kept(benchmark.items, part.scope), limit)
        self.changes = changes
        self.aspects = part.scope.aspects_of(part.row.row)
        self.responses = None
        self.calls = 0
        self.cost = 0.0
        self.frame = None
        self.cells = None

    def ask(self, judge):
        """Ask a judge, and count its calls and cost."""
        calls, cost = _spent(judge)
        self.responses = ask(self.part.row, self.part.scope, self.items, judge, **self.changes)
        after = _spent(judge)
        self.calls, self.cost = after[0] - calls, after[1] - cost

    def count(self, dry_run):
        """Count what asking takes."""
        count(self.part.row, self.part.scope, self.items, dry_run, **self.changes)

    def counts(self):
        """How many replies there are, by what came of them."""
        missing = self.responses["reason"].isin(_MISSING).sum()
        read = self.responses["score"].notna().sum()
        replies = len(self.responses)
        sent, left_open = self._departures()
        return {
            "judge": judge_name(self.judge),
            "items": len(self.items),
            "replies": replies,
            "read": read,
            "unread": replies - read - missing,
            "missing": missing,
            "calls": self.calls,
            "cost": self.cost,
            "sent": ", ".join(sent),
            "left open": "; ".join(left_open),
        }

    def correlate(self, tables, *, rng, resamples):
        """Set the judge's scores beside people's ratings, and compute every cell that the tables print."""
        self.frame = self._joined()
        scope = self.part.scope
        printed = pd.concat([published(paper, artefact) for paper, artefact in tables])
        own = (printed["row"] == self.part.row.row) & (printed["dataset"] == scope.dataset)
        single = printed[own & printed["aspect"].isin(self.aspects)]
        cells = single.drop_duplicates(["aspect", "level", "coefficient"])
        found = [
            self._cell(cell.aspect, cell.level, cell.coefficient, rng, resamples)
            for cell in cells.itertuples()
        ]
        self.cells = pd.concat(found, ignore_index=True).assign(**self._labels())

    def _cell(self, aspect, level, coefficient, rng, resamples):
        """One correlation, with its interval."""
        constant = self.part.scope.constant
        cell = correlation_table(
            self.frame,
            [f"judge:{aspect}"],
            [aspect],
            levels=(level,),
            coefficients=(coefficient,),
            dataset=self.part.scope.dataset,
            constant=constant,
        )
        if not resamples:
            return cell
        return interval_table(
            self.frame, cell, rng=rng, resamples=resamples, method="bca", constant=constant
        )

    def _joined(self):
        """People's ratings under the aspects' printed names, and beside them the judge's."""
        people = self.benchmark.human()
        people = people[people["item_id"].isin(self.items["item_id"])]
        frame = people[["item_id", "doc_id", "system_id"]]
        frame = frame.assign(
            **{printed: people[rated] for printed, (_, rated) in self.aspects.items()}
        )
        scores = item_scores(self.responses).pivot(
            index="item_id", columns="aspect", values="score"
        )
        return frame.join(scores.add_prefix("judge:"), on="item_id")

    def _labels(self):
        """Row, evidence, variant and note of the cells."""
        sent, left_open = self._departures()
        return {
            "row": self.part.row.row,
            "judge": judge_name(self.judge),
            "evidence": _evidence(self.judge),
            "variant": ", ".join([judge_name(self.judge), *sent]),
            "note": "; ".join([f"in the place of {self.part.row.model}", *left_open]),
        }

    def _departures(self):
        """What was sent, and what the paper left open or the server did not support."""
        row = self.part.row
        samples, sampling = request(row, **self.changes)
        sent = ["one reply" if samples == 1 else f"{samples} replies"]
        sent += [f"{name} {value}" for name, value in sampling.items() if name != "logprobs"]
        if sampling.get("logprobs"):
            sent.append("weighed by probability")
        adapted = getattr(getattr(self.judge, "server", None), "notices", [])
        return sent, [text for text in (row.note, self.part.scope.note, *adapted) if text]


def _spent(judge):
    """Calls and cost of a served judge so far."""
    return getattr(judge, "spent", {}).get("calls", 0), getattr(judge, "cost", 0.0)


def compared(paper, runs, *, notebook, sample, rng, resamples):
    """Our cells beside each printed table, averages with intervals of their own.

    Parameters
    ----------
    paper : str
    runs : list of PartRun
        Correlated ones.
    notebook : str
    sample : bool
    rng : numpy.random.Generator
    resamples : int
        Of the bootstrap; 0 for no intervals.

    Returns
    -------
    pandas.DataFrame
        The ledger's columns.
    """
    found = []
    artefacts = list(dict.fromkeys(name for run in runs for name in run.part.artefacts))
    for version, artefact in printed_tables(paper, artefacts):
        table = published(version, artefact)
        printed = set(table[KEY].itertuples(index=False, name=None))
        cells = []
        for row, same_row in _by_row(runs, artefact).items():
            own = pd.concat([run.cells for run in same_row], ignore_index=True)
            own = own[[cell in printed for cell in own[KEY].itertuples(index=False, name=None)]]
            frames = {run.part.scope.dataset: run.frame for run in same_row} if resamples else None
            cells += [
                own,
                averages(table[table["row"] == row], own, frames, rng=rng, resamples=resamples),
            ]
        ours = pd.concat(cells, ignore_index=True).drop(
            columns=["metric", "reason"], errors="ignore"
        )
        if len(ours):
            found.append(
                compare(
                    version,
                    artefact,
                    table,
                    ours,
                    evidence="none",
                    notebook=notebook,
                    sample=sample,
                )
            )
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=COLUMNS)


def _by_row(runs, artefact):
    found = {}
    for run in runs:
        if artefact in run.part.artefacts:
            found.setdefault(run.part.row.row, []).append(run)
    return found


def by_part(lines, columns):
    """A table with a line for each part.

    Parameters
    ----------
    lines : dict of tuple to dict
        By `Part.key`.
    columns : list of str

    Returns
    -------
    pandas.DataFrame
        Indexed by `row, dataset, tables`.
    """
    index = pd.MultiIndex.from_tuples(lines, names=["row", "dataset", "tables"]) if lines else None
    return pd.DataFrame(list(lines.values()), index=index, columns=columns)


def _evidence(judge):
    if is_rule(judge):
        return "none"
    return "substitute_judge" if is_recording(judge) else "rejudged"


def is_recording(judge):
    """Whether a judge answers with replies that others recorded.

    Parameters
    ----------
    judge : object

    Returns
    -------
    bool
    """
    return isinstance(judge, Replay)
