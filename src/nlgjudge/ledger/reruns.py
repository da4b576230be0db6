"""Printed rows of a model, run again with a judge of one's own, cell for cell.

The protocols say how a row is asked for (`nlgjudge.papers`), the printed tables which cells it has. A whole run under
a paper's protocol may be kept in `paper_tables/reruns/`, a file for each judge.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.benchmarks import load
from nlgjudge.data.choices import first, unknown
from nlgjudge.judging.dry_run import COUNTS, DryRun
from nlgjudge.judging.errors import Waiting
from nlgjudge.judging.replay import Replay
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.scoring import item_scores
from nlgjudge.judging.tasks import NOT_ANSWERED, NOT_ASKED
from nlgjudge.ledger.comparison import COLUMNS, EVIDENCE, averages, compare, side_by_side
from nlgjudge.ledger.entering import is_rule, judge_name
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.papers import chatgpt, coascore, geval
from nlgjudge.papers.asking import ask, kept, request, row_prompt
from nlgjudge.papers.protocol import Protocol, Scope
from nlgjudge.stats.bootstrap import interval_table
from nlgjudge.stats.correlations import correlation_table

# Papers that print correlations of models, by the name of their module.
PAPERS = {"geval": geval, "chatgpt": chatgpt, "coascore": coascore}
REPLIES = ["judge", "items", "replies", "read", "unread", "missing"]
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


class Rerun(NamedTuple):
    """What a judge gave for the rows of a model.

    Attributes
    ----------
    cells : pandas.DataFrame
        The ledger's columns, a line for each printed cell that the judge reaches, in every printed version of the
        paper.
    counts : pandas.DataFrame
        By row, dataset and tables: `judge, items, replies` wanted, `read`, `unread` (replies without a rating) and
        `missing` (not asked or not answered).
    plan : pandas.DataFrame
        By row, dataset and tables, what is to be asked when the run begins: `judge`, the columns of
        `nlgjudge.judging.dry_run.COUNTS`, and `cost` where a price is given. Empty for a judge that takes no calls.
    enters : bool
        Whether the cells may be kept in a ledger.
    said : str
        Why they may not, and what is left out.
    scores : dict of tuple to pandas.DataFrame
        By row, dataset and tables: `item_id, doc_id, system_id`, people's ratings, a column for each aspect as
        printed, and the judge's, a column ``judge:aspect``.
    prompts : dict of str to str
        Digests of the prompts, by name.
    """

    cells: pd.DataFrame
    counts: pd.DataFrame
    plan: pd.DataFrame
    enters: bool
    said: str
    scores: dict
    prompts: dict

    def table(self):
        """What a reader wants to see: our cells beside the printed ones, or else what asking would take.

        Returns
        -------
        pandas.DataFrame
            Of the first printed version; a column for each row of the paper, or a line for each with the judge,
            and the calls and tokens of all its datasets and tables.
        """
        if not len(self.cells):
            amounts = [name for name in ("requests", "calls", "prompt_tokens", "completion_tokens", "cost")
                       if name in self.plan]
            return self.plan.groupby(["row"], sort=False)[amounts].sum()
        first_version = self.cells[self.cells["paper"] == self.cells["paper"].iloc[0]]
        return side_by_side(first_version).T


def rerun(paper, artefacts, judge="", *, source="auto", samples=None, temperature=None, logprobs=None, limit=0,
          price=None, max_cost=None, notebook="", resamples=1000, seed=0, told=None, **options):
    """Run the rows of a model in printed tables with another judge.

    Parameters
    ----------
    paper : str
        One of `PAPERS`; both printed versions of G-Eval are one paper.
    artefacts : str or list of str
        As ``"table1"``. Tables that share their replies are asked for once.
    judge : str, object, or dict of str to one of these
        A judge for all rows, or one for each row that is to be run, by the row's label as printed; each as for
        `nlgjudge.judge_items`. Empty to ask nobody, and to see the plan.
    source : {"auto", "real", "sample"}
        As for `nlgjudge.load`.
    samples, temperature, logprobs : optional
        In the place of the protocol's, for all rows. ``logprobs=False`` is for a model that gives no token
        probabilities; G-Eval then estimates them from twenty samples, as the paper does.
    limit : int
        Judge the first so many items of each dataset: a rehearsal, which enters no ledger. 0 is all.
    price : (float, float), optional
        Of a million prompt and a million completion tokens.
    max_cost : float, optional
        What each judge may spend on all of its rows together, in the price's currency.
    notebook : str
        Written into the cells.
    resamples, seed : int
        Of the bootstrap; with no resamples there are no intervals.
    told : callable, optional
        Called after each row on each dataset with the `Part`, its judge, and the number of replies.
    **options
        For `nlgjudge.get_judge`, as `store`.

    Returns
    -------
    Rerun

    Raises
    ------
    KeyError, ValueError
        For an unknown paper, table, row or judge, before anything is asked.

    Examples
    --------
    >>> found = rerun("geval", "table2", "surface", source="sample", resamples=20)
    >>> found.enters, found.cells["row"].unique().tolist()
    (False, ['G-EVAL-3.5', 'G-EVAL-4'])
    >>> rerun("geval", "table2", source="sample").plan["calls"].tolist()
    [200, 200]
    """
    changes = _given(samples=samples, temperature=temperature, logprobs=logprobs)
    judges = judges_of_rows(paper, artefacts, judge, price=price, max_cost=max_cost, **options)
    runs, benchmarks, absent = _runs(paper, artefacts, judges, source, limit, changes)
    before = _plan([run for run in runs if run.judge is None or hasattr(run.judge, "plan")], price)
    if judge:
        _ask_all(runs, told)
    sample = any(benchmark.is_sample for benchmark in benchmarks.values())
    rng = np.random.default_rng(seed)
    asked = [run for run in runs if run.responses is not None]
    for run in asked:
        run.correlate(_printed_tables(paper, run.part.artefacts), rng=rng, resamples=resamples)
    cells = _compared(paper, asked, notebook=notebook, sample=sample, rng=rng, resamples=resamples)
    counts = _by_part({run.part.key: run.counts() for run in asked}, REPLIES)
    said = _said(judges, counts, changes, sample=sample, limit=limit, absent=absent)
    enters = bool(len(cells)) and _may_enter(judges, counts, changes, sample, limit)
    frames = {run.part.key: run.frame for run in asked}
    return Rerun(cells, counts, before, enters, said, frames, _digests([run.part for run in runs]))


def plan(paper, artefacts, judge="", *, source="auto", samples=None, temperature=None, logprobs=None, limit=0,
         price=None):
    """Say what a rerun would ask for, and ask nothing.

    Parameters
    ----------
    paper, artefacts, judge, source, samples, temperature, logprobs, limit, price
        As for `rerun`.

    Returns
    -------
    pandas.DataFrame
        As `Rerun.plan`.

    Examples
    --------
    >>> plan("chatgpt", "table6", source="sample")["calls"].tolist()
    [48, 48, 48, 48]
    """
    changes = _given(samples=samples, temperature=temperature, logprobs=logprobs)
    judges = judges_of_rows(paper, artefacts, judge)
    runs, _, _ = _runs(paper, artefacts, judges, source, limit, changes)
    return _plan(runs, price)


def _runs(paper, artefacts, judges, source, limit, changes):
    """The parts that are to be run, the benchmarks that they read, and those that are left out."""
    parts = [part for part in parts_of(paper, artefacts) if part.row.row in judges]
    benchmarks, absent = _benchmarks(parts, source)
    runs = [_Run(part, judges[part.row.row], benchmarks[part.scope.benchmark], limit, changes) for part in parts
            if part.scope.benchmark in benchmarks]
    return runs, benchmarks, absent


def with_rerun(rows, asked):
    """A notebook's cells, with those of the judge that was asked wherever their evidence is the better.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `nlgjudge.compare`.
    asked : Rerun

    Returns
    -------
    pandas.DataFrame
        `rows` alone where the judge's cells may not be kept.
    """
    if not asked.enters:
        return rows
    both = pd.concat([rows, asked.cells], ignore_index=True)
    rank = both["evidence"].map(EVIDENCE.index)
    best = both.assign(rank=rank).sort_values("rank", kind="stable").drop_duplicates(["paper", "artefact", *KEY])
    return best.sort_index().drop(columns="rank")


class _Run:
    """One part, as it is asked and correlated."""

    def __init__(self, part, judge, benchmark, limit, changes):
        self.part = part
        self.judge = judge
        self.benchmark = benchmark
        self.items = first(kept(benchmark.items, part.scope), limit)
        self.changes = changes
        self.aspects = part.scope.aspects_of(part.row.row)
        self.responses = None
        self.frame = None
        self.cells = None

    def ask(self, judge):
        """Ask a judge, the run's own or one that only counts."""
        return ask(self.part.row, self.part.scope, self.items, judge, **self.changes)

    def counts(self):
        """How many replies there are, by what came of them."""
        missing = self.responses["reason"].isin(_MISSING).sum()
        read = self.responses["score"].notna().sum()
        replies = len(self.responses)
        return {"judge": judge_name(self.judge), "items": len(self.items), "replies": replies, "read": read,
                "unread": replies - read - missing, "missing": missing}

    def correlate(self, tables, *, rng, resamples):
        """Set the judge's scores beside people's ratings, and compute every cell that the tables print."""
        self.frame = self._joined()
        scope = self.part.scope
        printed = pd.concat([published(paper, artefact) for paper, artefact in tables])
        own = (printed["row"] == self.part.row.row) & (printed["dataset"] == scope.dataset)
        single = printed[own & printed["aspect"].isin(self.aspects)]
        found = []
        for (aspect, level), cells in single.groupby(["aspect", "level"], sort=False):
            coefficients = tuple(cells["coefficient"].unique())
            found.append(correlation_table(self.frame, [f"judge:{aspect}"], [aspect], levels=(level,),
                                           coefficients=coefficients, dataset=scope.dataset, constant=scope.constant))
        cells = pd.concat(found, ignore_index=True)
        if resamples:
            cells = interval_table(self.frame, cells, rng=rng, resamples=resamples, method="bca",
                                   constant=scope.constant)
        self.cells = cells.assign(**self._labels())

    def _joined(self):
        """People's ratings under the aspects' printed names, and beside them the judge's."""
        people = self.benchmark.human()
        people = people[people["item_id"].isin(self.items["item_id"])]
        frame = people[["item_id", "doc_id", "system_id"]]
        frame = frame.assign(**{printed: people[rated] for printed, (_, rated) in self.aspects.items()})
        scores = item_scores(self.responses).pivot(index="item_id", columns="aspect", values="score")
        return frame.join(scores.add_prefix("judge:"), on="item_id")

    def _labels(self):
        """Row, evidence, variant and note of the cells."""
        row = self.part.row
        samples, sampling = request(row, **self.changes)
        how = [judge_name(self.judge), "one reply" if samples == 1 else f"{samples} replies"]
        how += [f"{name} {value}" for name, value in sampling.items() if name != "logprobs"]
        if sampling.get("logprobs"):
            how.append("weighed by probability")
        # What the server turned out not to support, and how it was asked instead.
        adapted = getattr(getattr(self.judge, "server", None), "notices", [])
        departures = [text for text in (row.note, self.part.scope.note, *adapted) if text]
        return {"row": row.row, "judge": judge_name(self.judge), "evidence": _evidence(self.judge),
                "variant": ", ".join(how), "note": "; ".join([f"in the place of {row.model}", *departures])}


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


def judges_of_rows(paper, artefacts, judge, **options):
    """The judge of each row, made once for each name, so that limits hold for all of its rows.

    Parameters
    ----------
    paper, artefacts, judge
        As for `rerun`.
    **options
        For `nlgjudge.judging.run.get_judge`.

    Returns
    -------
    dict of str to object
        By the row's label. Without a judge None for every row.

    Raises
    ------
    ValueError
        For a row that the tables do not print.
    """
    known = list(dict.fromkeys(part.row.row for part in parts_of(paper, artefacts)))
    named = judge if isinstance(judge, dict) else dict.fromkeys(known, judge)
    for row in named:
        if row not in known:
            raise ValueError(f"{paper}: {unknown('printed row of a model', row, known, most=len(known))}")
    options = {name: value for name, value in options.items() if value is not None}
    made = {}
    for one in named.values():
        if isinstance(one, str) and one and one not in made:
            made[one] = get_judge(one, **options)
    return {row: (made[one] if isinstance(one, str) and one else one or None) for row, one in named.items()}


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


def _given(**values):
    return {name: value for name, value in values.items() if value is not None}


def _benchmarks(parts, source):
    """Benchmarks by name, and those that are left out: the sample never stands beside real data."""
    names = dict.fromkeys(part.scope.benchmark for part in parts)
    found = {name: load(name, source) for name in names}
    if all(one.is_sample for one in found.values()):
        return found, []
    real = {name: one for name, one in found.items() if not one.is_sample}
    return real, [name for name in found if name not in real]


def _plan(runs, price):
    """What is to be asked, part by part; a request that two parts share is counted with the first."""
    lines = {}
    walks = {}
    for run in runs:
        walk = walks.setdefault(id(run.judge), DryRun(run.judge))
        before = dict(walk.counts)
        run.ask(walk)
        lines[run.part.key] = {"judge": walk.name} | {name: walk.counts[name] - before[name] for name in COUNTS}
    found = _by_part(lines, ["judge", *COUNTS])
    if price:
        tokens = found[["prompt_tokens", "completion_tokens"]].astype(float)
        found["cost"] = tokens @ list(price) / 1e6
    return found


def _ask_all(runs, told):
    """Ask for all parts; a batch is submitted for each before anything is waited for."""
    waiting = []
    for run in runs:
        try:
            run.responses = run.ask(run.judge)
        except Waiting as error:
            waiting.append(str(error))
            continue
        if told:
            told(run.part, run.judge, len(run.responses))
    if waiting:
        raise Waiting("; ".join(dict.fromkeys(waiting)))


def _digests(parts):
    """Digests of the prompts that ask about items, by name."""
    found = {}
    for part in parts:
        for asked, _ in part.scope.aspects_of(part.row.row).values():
            one = row_prompt(part.row, part.scope, asked)
            found[one.name] = one.digest
    return found


def _by_part(lines, columns):
    index = pd.MultiIndex.from_tuples(lines, names=["row", "dataset", "tables"]) if lines else None
    return pd.DataFrame(list(lines.values()), index=index, columns=columns)


def _printed_tables(paper, artefacts):
    return [(version, artefact) for version in PAPERS[paper].VERSIONS for artefact in artefacts]


def _evidence(judge):
    if is_rule(judge):
        return "none"
    return "substitute_judge" if is_recording(judge) else "rejudged"


def _compared(paper, runs, *, notebook, sample, rng, resamples):
    """Our cells beside each printed table, averages with intervals of their own."""
    found = []
    artefacts = list(dict.fromkeys(name for run in runs for name in run.part.artefacts))
    for version, artefact in _printed_tables(paper, artefacts):
        table = published(version, artefact)
        cells = []
        for row, same_row in _by_row(runs, artefact).items():
            own = pd.concat([run.cells for run in same_row], ignore_index=True).merge(table[KEY])
            frames = {run.part.scope.dataset: run.frame for run in same_row} if resamples else None
            cells += [own, averages(table[table["row"] == row], own, frames, rng=rng, resamples=resamples)]
        ours = pd.concat(cells, ignore_index=True).drop(columns=["metric", "reason"], errors="ignore")
        if len(ours):
            found.append(compare(version, artefact, table, ours, evidence="none", notebook=notebook, sample=sample))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=COLUMNS)


def _by_row(runs, artefact):
    found = {}
    for run in runs:
        if artefact in run.part.artefacts:
            found.setdefault(run.part.row.row, []).append(run)
    return found


def _may_enter(judges, counts, changes, sample, limit):
    own_way = [name for name in changes if name != "logprobs"]
    rules = any(is_rule(judge) for judge in judges.values())
    return not (rules or own_way or sample or limit or counts["missing"].any())


def _said(judges, counts, changes, *, sample, limit, absent):
    """Why cells may not be kept, and what is left out, in sentences."""
    names = list(dict.fromkeys(judge_name(judge) for judge in judges.values() if judge is not None))
    if not names:
        return "no judge is named, so that nothing was asked"
    said = []
    for judge in {id(judge): judge for judge in judges.values()}.values():
        if is_rule(judge):
            said.append(f"{judge_name(judge)} is a rule and no model: it enters no ledger")
    if sample:
        said.append("the items are the sample's, not the papers'")
    if limit:
        said.append(f"a rehearsal on the first {limit} items of each dataset: it enters no ledger")
    own_way = {name: value for name, value in changes.items() if name != "logprobs"}
    if own_way:
        shown = ", ".join(f"{name}={value}" for name, value in own_way.items())
        said.append(f"not the paper's protocol ({shown}): it enters no ledger")
    if len(counts) and counts["missing"].any():
        said.append(f"{counts['missing'].sum():,} of {counts['replies'].sum():,} replies are missing: it enters no "
                    "ledger until they are there")
    if absent:
        said.append(f"left out because the data are not here: {', '.join(absent)}")
    return "; ".join(said)
