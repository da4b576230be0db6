"""Printed rows of a model, run again with a judge of one's own, cell for cell.

A whole run under a paper's protocol may be kept in `paper_tables/reruns/`, a file for each judge.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.benchmarks import load
from nlgjudge.data.choices import unknown
from nlgjudge.judging.dry_run import COUNTS, DryRun
from nlgjudge.judging.errors import AllWaiting, Waiting
from nlgjudge.judging.run import get_judge
from nlgjudge.ledger.comparison import is_rule, judge_name, side_by_side
from nlgjudge.ledger.model_rows import REPLIES, PartRun, by_part, compared, parts_of, printed_tables
from nlgjudge.ledger.printed import KEY
from nlgjudge.ledger.verdicts import EVIDENCE
from nlgjudge.papers.asking import row_prompt


class Rerun(NamedTuple):
    """What a judge gave for the rows of a model.

    Attributes
    ----------
    cells : pandas.DataFrame
        The ledger's columns, a line for each printed cell that the judge reaches, in every printed version of the
        paper.
    counts : pandas.DataFrame
        By row, dataset and tables: `judge, items, replies` wanted, `read`, `unread` (replies without a rating),
        `missing` (not asked or not answered), `calls` and `cost` of this run, what was `sent`, and what the paper
        `left open`.
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
            amounts = [
                name
                for name in ("requests", "calls", "prompt_tokens", "completion_tokens", "cost")
                if name in self.plan
            ]
            return self.plan.groupby(["row"], sort=False)[amounts].sum()
        first_version = self.cells[self.cells["paper"] == self.cells["paper"].iloc[0]]
        return side_by_side(first_version).T


def rerun(
    paper,
    artefacts,
    judge="",
    *,
    source="auto",
    samples=None,
    temperature=None,
    logprobs=None,
    limit=0,
    price=None,
    max_cost=None,
    notebook="",
    resamples=1000,
    seed=0,
    told=None,
    **options,
):
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
        Judge the first documents of each dataset: a rehearsal, which enters no ledger and gets no verdicts.
        0 is all.
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
    sample = any(benchmark.is_sample for benchmark in benchmarks.values())
    if sample and source == "auto" and any(hasattr(one, "spent") for one in judges.values()):
        raise ValueError(
            "SAMPLE: only the repository's sample is available, so nothing was asked. Fetch the real "
            "data (`nlgjudge data fetch`), or pass source='sample' to ask about the sample."
        )
    if judge:
        _ask_all(runs, told)
    rng = np.random.default_rng(seed)
    asked = [run for run in runs if run.responses is not None]
    for run in asked:
        run.correlate(printed_tables(paper, run.part.artefacts), rng=rng, resamples=resamples)
    cells = compared(paper, asked, notebook=notebook, sample=sample, rng=rng, resamples=resamples)
    if limit:
        cells["verdict"] = ""  # a rehearsal proves nothing
    counts = by_part({run.part.key: run.counts() for run in asked}, REPLIES)
    said = _said(judges, counts, changes, sample=sample, limit=limit, absent=absent)
    enters = bool(len(cells)) and _may_enter(judges, counts, changes, sample, limit)
    frames = {run.part.key: run.frame for run in asked}
    return Rerun(cells, counts, before, enters, said, frames, _digests([run.part for run in runs]))


def plan(
    paper,
    artefacts,
    judge="",
    *,
    source="auto",
    samples=None,
    temperature=None,
    logprobs=None,
    limit=0,
    price=None,
):
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
    benchmarks, absent = benchmarks_of(parts, source)
    runs = [
        PartRun(part, judges[part.row.row], benchmarks[part.scope.benchmark], limit, changes)
        for part in parts
        if part.scope.benchmark in benchmarks
    ]
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

    Examples
    --------
    A rule is no model, so that its cells never take the place of a notebook's.

    >>> asked = rerun("geval", "table2", "surface", source="sample", limit=10, resamples=0)
    >>> rows = asked.cells.head(1)
    >>> with_rerun(rows, asked) is rows
    True
    """
    if not asked.enters:
        return rows
    both = pd.concat([rows, asked.cells], ignore_index=True)
    rank = both["evidence"].map(EVIDENCE.index)
    best = (
        both.assign(rank=rank)
        .sort_values("rank", kind="stable")
        .drop_duplicates(["paper", "artefact", *KEY])
    )
    return best.sort_index().drop(columns="rank")


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
            raise ValueError(
                f"{paper}: {unknown('printed row of a model', row, known, most=len(known))}"
            )
    options = {name: value for name, value in options.items() if value is not None}
    made = {}
    for one in named.values():
        if isinstance(one, str) and one and one not in made:
            made[one] = get_judge(one, **options)
    return {
        row: (made[one] if isinstance(one, str) and one else one or None)
        for row, one in named.items()
    }


def _given(**values):
    return {name: value for name, value in values.items() if value is not None}


def benchmarks_of(parts, source):
    """Load what parts read; the sample never stands beside real data.

    Parameters
    ----------
    parts : iterable of nlgjudge.ledger.model_rows.Part
    source : {"auto", "real", "sample"}
        As for `nlgjudge.load`.

    Returns
    -------
    (dict of str to nlgjudge.data.schema.Benchmark, list of str)
        Benchmarks by name, and names of those that are left out.
    """
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
        run.count(walk)
        lines[run.part.key] = {"judge": walk.name} | {
            name: walk.counts[name] - before[name] for name in COUNTS
        }
    found = by_part(lines, ["judge", *COUNTS])
    if price:
        tokens = found[["prompt_tokens", "completion_tokens"]].astype(float)
        found["cost"] = tokens @ list(price) / 1e6
    return found


def _ask_all(runs, told):
    """Ask for all parts; a batch is submitted for each before anything is waited for."""
    waiting = []
    for run in runs:
        try:
            run.ask(run.judge)
        except Waiting as error:
            waiting.append(error)
            continue
        if told:
            told(run.part, run.judge, len(run.responses))
    if waiting:
        raise AllWaiting(waiting)


def _digests(parts):
    """Digests of the prompts that ask about items, by name."""
    found = {}
    for part in parts:
        for asked, _ in part.scope.aspects_of(part.row.row).values():
            one = row_prompt(part.row, part.scope, asked)
            found[one.name] = one.digest
    return found


def _may_enter(judges, counts, changes, sample, limit):
    own_way = [name for name in changes if name != "logprobs"]
    rules = any(judge is None or is_rule(judge) for judge in judges.values())
    return not (rules or own_way or sample or limit or counts["missing"].any()) and bool(
        counts["read"].any()
    )


def _said(judges, counts, changes, *, sample, limit, absent):
    """Why cells may not be kept, and what is left out, in sentences."""
    names = list(dict.fromkeys(judge_name(judge) for judge in judges.values() if judge is not None))
    said = [] if names else ["no judge is named, so that nothing was asked"]
    rules = dict.fromkeys(
        judge_name(judge) for judge in judges.values() if judge is not None and is_rule(judge)
    )
    said += [f"{name} is a rule and no model: it enters no ledger" for name in rules]
    if names and sample:
        said.append("the items are the sample's, not the papers'")
    if names and limit:
        said.append(
            f"a rehearsal on the first {limit} documents of each dataset: it enters no ledger"
        )
    own_way = {name: value for name, value in changes.items() if name != "logprobs"}
    if names and own_way:
        shown = ", ".join(f"{name}={value}" for name, value in own_way.items())
        said.append(f"not the paper's protocol ({shown}): it enters no ledger")
    if len(counts) and counts["missing"].any():
        said.append(
            f"{counts['missing'].sum():,} of {counts['replies'].sum():,} replies are missing: it enters no "
            "ledger until they are there"
        )
    answered = counts[counts["missing"] < counts["replies"]] if len(counts) else counts
    if len(answered) and not answered["read"].any():
        said.append(
            f"of {answered['unread'].sum():,} replies none could be read: it enters no ledger"
        )
    elif len(answered):
        rows = answered.groupby("row", sort=False)["read"].sum()
        said += [f"no reply to {row} could be read" for row in rows.index[rows == 0]]
    if absent:
        said.append(f"left out because the data are not here: {', '.join(absent)}")
    return "; ".join(said)
