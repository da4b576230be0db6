"""Published rows of a model, rerun with another judge under the paper's protocol.

The protocols say how a row was asked (`nlgjudge.papers`), the published tables which cells it has.
"""

from functools import partial
from typing import NamedTuple

import pandas as pd

from nlgjudge.data.choices import check_known, unknown
from nlgjudge.judging.budget import Budget
from nlgjudge.judging.count import COUNTS, Count
from nlgjudge.judging.counts import reply_counts
from nlgjudge.judging.errors import all_or_waiting
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.scoring import item_scores
from nlgjudge.judging.tasks import NOT_ANSWERED, NOT_ASKED
from nlgjudge.ledger.comparison import averages, compare, side_by_side
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.ledger.verdicts import COLUMNS
from nlgjudge.papers.asking import (
    OPTIONS,
    ask,
    benchmarks_of,
    count,
    items_of,
    parts_of,
    row_prompt,
    rows_of,
    sent,
    versions,
)
from nlgjudge.stats.correlations import correlation_table
from nlgjudge.stats.intervals import interval_table


class Rerun(NamedTuple):
    """What a judge gave for the rows of a model.

    Attributes
    ----------
    cells : pandas.DataFrame
        The ledger's columns; a line for each published cell that the judge reaches, in every
        version of the paper.
    counts : pandas.DataFrame
        By row, dataset and tables: `judge, items, replies` wanted, `read`, `unread` (without a
        rating), `missing` (not asked or not answered), `calls` and `cost` of this run, what was
        `sent`, and what the paper `left open`.
    plan : pandas.DataFrame
        By row, dataset and tables, what had to be asked when the run began: `judge`, the columns of
        `nlgjudge.judging.count.COUNTS`, and `cost` where a price is given. If a row weighs ratings by token
        probability, also `tokens_without_logprobs` and `cost_without_logprobs`: completion tokens and cost
        if the server gives no probabilities.
    enters : bool
        Whether the cells may enter the ledger.
    notice : str
        How many replies were parsed, why the cells may not enter, and what is left out.
    scores : dict of tuple to pandas.DataFrame
        By row, dataset and tables: `item_id, doc_id, system_id`, people's ratings in a column for
        each aspect as published, and the judge's in a column ``judge:aspect``.
    prompts : dict of str to str
        Digests of the prompts, by name.
    responses : pandas.DataFrame
        All replies with their scores, as from `nlgjudge.judge_items`.
    """

    cells: pd.DataFrame
    counts: pd.DataFrame
    plan: pd.DataFrame
    enters: bool
    notice: str
    scores: dict
    prompts: dict
    responses: pd.DataFrame

    def table(self):
        """Our cells beside the published ones; without cells, the plan by row.

        Returns
        -------
        pandas.DataFrame
            Of the first published version.
        """
        if not len(self.cells):
            amounts = [name for name in (*COUNTS, "cost") if name in self.plan]
            amounts = [name for name in amounts if name not in ("samples", "cached")]
            return self.plan.groupby(["row"], sort=False)[amounts].sum()
        version = self.cells["paper"].iloc[0]
        return side_by_side(self.cells[self.cells["paper"] == version]).T


def rerun(
    paper,
    artefacts,
    judge="",
    *,
    source="auto",
    limit=0,
    price=None,
    max_cost=None,
    options=None,
    notebook="",
    plan_only=False,
    report=None,
    store=None,
):
    """Rerun the rows of a model in published tables with another judge.

    Parameters
    ----------
    paper : str
        One of `nlgjudge.papers.asking.PAPERS`; both versions of G-Eval are one paper.
    artefacts : str or list of str
        As ``"table1"``. Tables that share replies are asked once.
    judge : str, list of str, object, or dict of str to one of these
        A judge for all rows, or one for each row by its published label; each as for
        `nlgjudge.judge_items`, a list for the mean of several. Empty asks nobody and gives the plan.
    source : {"auto", "real", "sample"}
        As for `nlgjudge.load`. With ``auto`` a served judge is not asked about the sample.
    limit : int
        Documents of each dataset, for a rehearsal without verdicts; 0 is all.
    price : (float, float), optional
        Of a million prompt and a million completion tokens.
    max_cost : float, optional
        What all judges may spend together, in the price's currency; of a batch, by its plan.
    options : dict, optional
        In place of the protocols': `samples`, `temperature`, `top_p`, `max_tokens`, `logprobs`, and any other
        parameters of the request in a dict `sampling`; and `pattern`, a regular expression for ratings that are
        not read otherwise (`nlgjudge.judging.Reading`).
        ``{"logprobs": False}`` is for a model without token probabilities; G-Eval then estimates
        them from twenty samples (section 2).
    notebook : str
        Written into the cells.
    plan_only : bool
        Ask nothing.
    report : callable, optional
        Called with a line after each row on each dataset.
    store : nlgjudge.judging.store.Store, optional
        Where replies of a judge that is given by its name are kept.

    Returns
    -------
    Rerun

    Raises
    ------
    ValueError
        For an unknown paper, table, row, judge or option, and on the sample with ``source="auto"``;
        before anything is asked.

    Examples
    --------
    >>> found = rerun("geval", "table2", "surface", source="sample")
    >>> found.enters, found.cells["row"].unique().tolist()
    (False, ['G-EVAL-3.5', 'G-EVAL-4'])
    >>> rerun("geval", "table2", source="sample").plan["calls"].tolist()
    [200, 200]
    """
    options = _checked(options)
    budget = Budget(max_cost)
    limits = {"price": price, "budget": budget, "store": store}
    judges = _judges_of_rows(paper, artefacts, judge, limits)
    parts = [part for part in parts_of(paper, artefacts) if part.row.row in judges]
    benchmarks, absent = benchmarks_of(parts, source)
    parts = [part for part in parts if part.scope.benchmark in benchmarks]
    items = {part.key: items_of(part, benchmarks[part.scope.benchmark], limit) for part in parts}
    plan = _plan(parts, items, judges, options, price)
    prompts = _digests(parts)
    if any("batch:" in name for name in plan["judge"]):
        budget.refuse(plan["calls"].sum(), plan["cost"].sum() if price else None)
    if plan_only or not judge:
        notice = "" if judge else "no judge is named, so no request was sent"
        empty = pd.DataFrame(columns=COLUMNS)
        return Rerun(empty, _by_part({}), plan, False, notice, {}, prompts, pd.DataFrame())
    sample = any(benchmark.is_sample for benchmark in benchmarks.values())
    if sample and source == "auto" and any(one.asks for one in judges.values()):
        raise ValueError(
            "SAMPLE: only the repository's sample is available, so nothing was asked. Fetch the real "
            "data (`nlgjudge data fetch`), or pass source='sample' to ask about the sample."
        )
    steps = [
        partial(_asked, part, items[part.key], judges[part.row.row], options, report)
        for part in parts
    ]
    asked = all_or_waiting(steps)  # every batch is submitted before one is waited for
    responses = {part.key: found for part, (found, _) in zip(parts, asked)}
    counts = _by_part({part.key: line for part, (_, line) in zip(parts, asked)})
    scores = {
        part.key: _scores(
            part, responses[part.key], items[part.key], benchmarks[part.scope.benchmark]
        )
        for part in parts
    }
    cells = _cells(paper, parts, scores, judges, options, notebook, sample)
    if limit:
        cells["verdict"] = ""  # a rehearsal proves nothing
    objections = list(_objections(judges, counts, options, sample, limit))
    replies = pd.concat(responses.values(), ignore_index=True)
    notice = "\n".join(
        [reply_counts(replies), "; ".join([*objections, *_gaps(counts, absent)])]
    ).strip()
    return Rerun(cells, counts, plan, not objections, notice, scores, prompts, replies)


def _judges_of_rows(paper, artefacts, judge, limits):
    """The judge of each row, made once for each name."""
    known = rows_of(paper, artefacts)
    named = judge if isinstance(judge, dict) else dict.fromkeys(known, judge)
    for row in named:
        if row not in known:
            raise ValueError(
                f"{paper}: {unknown('printed row of a model', row, known, most=len(known))}"
            )
    given = {name: value for name, value in limits.items() if value is not None}
    made = {}
    named = {
        row: "+".join(one) if isinstance(one, (list, tuple)) else one for row, one in named.items()
    }
    for one in named.values():
        if isinstance(one, str) and one and one not in made:
            made[one] = get_judge(one, **given)
    return {
        row: made.get(one) if isinstance(one, str) else get_judge(one) for row, one in named.items()
    }


def _checked(options):
    """Options that are given, of known names."""
    for name in options or {}:
        check_known("option", name, OPTIONS)
    return {name: value for name, value in (options or {}).items() if value is not None}


def _plan(parts, items, judges, options, price):
    """What is to be asked, part by part, also if the servers give no token probabilities."""
    plan = _counted(parts, items, judges, options, price)
    if any("logprobs" in sent(part.row, options)[1] for part in parts):
        without = _counted(parts, items, judges, options, price, estimated=True)
        plan["tokens_without_logprobs"] = without["completion_tokens"]
        if price:
            plan["cost_without_logprobs"] = without["cost"]
    return plan


def _counted(parts, items, judges, options, price, estimated=False):
    """What is to be asked, part by part; a request that two parts share counts with the first."""
    lines = {}
    walks = {}
    for part in parts:
        judge = judges[part.row.row]
        if judge is not None and not judge.asks:
            continue  # takes no call
        walk = walks.setdefault(id(judge), Count(judge, estimated))
        before = dict(walk.counts)
        count(part, items[part.key], walk, options)
        counted = {name: walk.counts[name] - before[name] for name in COUNTS}
        lines[part.key] = {"judge": walk.name} | counted
    plan = _by_part(lines, ["judge", *COUNTS])
    if price:
        tokens = plan[["prompt_tokens", "completion_tokens"]].astype(float)
        plan["cost"] = tokens @ list(price) / 1e6
    return plan


def _asked(part, items, judge, options, report):
    """Replies of a part, and its line in the counts."""
    calls, cost = _spent(judge)
    responses = ask(part, items, judge, options)
    after = _spent(judge)
    read = responses["score"].notna().sum()
    missing = responses["reason"].isin([NOT_ASKED, NOT_ANSWERED]).sum()
    own_words, left_open = _departures(part.row, part.scope, judge, options)
    line = {
        "judge": judge.name,
        "items": len(items),
        "replies": len(responses),
        "read": read,
        "unread": len(responses) - read - missing,
        "missing": missing,
        "calls": after[0] - calls,
        "cost": after[1] - cost,
        "sent": ", ".join(own_words),
        "left open": "; ".join(left_open),
    }
    if report:
        report(f"{part.row.row}, {part.scope.dataset}: {read:,} of {len(responses):,} replies read")
    return responses, line


def _spent(judge):
    """Calls and cost of a served judge so far."""
    return judge.spent["calls"], judge.cost


def _departures(row, scope, judge, options):
    """What was sent, and what the paper left open or the server did not support."""
    samples, sampling = sent(row, options, judge.changes)
    own_words = ["one reply" if samples == 1 else f"{samples} replies"]
    own_words += [f"{name} {value}" for name, value in sampling.items() if name != "logprobs"]
    if sampling.get("logprobs"):
        own_words.append("weighed by probability")
    return own_words, [text for text in (row.note, scope.note, *judge.notices) if text]


def _scores(part, responses, items, benchmark):
    """People's ratings under the aspects' published names, and next to them the judge's."""
    people = benchmark.human()
    people = people[people["item_id"].isin(items["item_id"])]
    frame = people[["item_id", "doc_id", "system_id"]]
    frame = frame.assign(**{printed: people[rated] for printed, (_, rated) in part.aspects.items()})
    scores = item_scores(responses).pivot(index="item_id", columns="aspect", values="score")
    return frame.join(scores.add_prefix("judge:"), on="item_id")


def _cells(paper, parts, scores, judges, options, notebook, sample):
    """Our cells next to each published table, with averages."""
    found = []
    single = {part.key: _correlations(paper, part, scores[part.key]) for part in parts}
    artefacts = dict.fromkeys(name for part in parts for name in part.artefacts)
    for version, artefact in versions(paper, artefacts):
        table = published(version, artefact)
        here = [part for part in parts if artefact in part.artefacts]
        ours = []
        for row in dict.fromkeys(part.row.row for part in here):
            own = [part for part in here if part.row.row == row]
            cells = pd.concat([_labelled(part, single, judges, options) for part in own])
            cells = cells.merge(table[KEY], on=KEY)
            frames = {part.scope.dataset: scores[part.key] for part in own}
            policy = {"constant": own[0].scope.constant}
            means = averages(table[table["row"] == row], cells, frames, **policy)
            ours += [cells, means]
        ours = pd.concat(ours, ignore_index=True)
        ours = ours.drop(columns=["metric", "reason"], errors="ignore")
        if len(ours):
            given = {"evidence": "none", "notebook": notebook, "sample": sample}
            found.append(compare(version, artefact, table, ours, **given))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=COLUMNS)


def _correlations(paper, part, frame):
    """Every published correlation of a part, with its interval."""
    printed = pd.concat([published(*table) for table in versions(paper, part.artefacts)])
    own = (printed["row"] == part.row.row) & (printed["dataset"] == part.scope.dataset)
    own &= printed["aspect"].isin(part.aspects)
    wanted = printed[own].drop_duplicates(["aspect", "level", "coefficient"])
    found = []
    for cell in wanted.itertuples():
        ours = correlation_table(
            frame,
            [f"judge:{cell.aspect}"],
            [cell.aspect],
            levels=(cell.level,),
            coefficients=(cell.coefficient,),
            dataset=part.scope.dataset,
            constant=part.scope.constant,
        )
        found.append(interval_table(frame, ours, constant=part.scope.constant))
    return pd.concat(found, ignore_index=True)


def _labelled(part, single, judges, options):
    """A part's cells with row, judge, evidence, variant and note."""
    judge = judges[part.row.row]
    own_words, left_open = _departures(part.row, part.scope, judge, options)
    evidence = "substitute_judge" if judge.recorded else "rejudged"
    return single[part.key].assign(
        row=part.row.row,
        judge=judge.name,
        evidence=evidence if judge.is_model else "none",
        variant=", ".join([judge.name, *own_words]),
        note="; ".join([f"in the place of {part.row.model}", *left_open]),
    )


def _by_part(lines, columns=None):
    """A table with a line for each part."""
    names = ["row", "dataset", "tables"]
    index = pd.MultiIndex.from_tuples(lines, names=names) if lines else None
    return pd.DataFrame(list(lines.values()), index=index, columns=columns)


def _digests(parts):
    """Digests of the prompts that ask about items, by name."""
    prompts = [
        row_prompt(part.row, part.scope, asked)
        for part in parts
        for asked, _ in part.aspects.values()
    ]
    return {one.name: one.digest for one in prompts}


def _objections(judges, counts, options, sample, limit):
    """Why cells may not enter the ledger."""
    for name in dict.fromkeys(one.name for one in judges.values() if not one.is_model):
        yield f"{name} is not a language model: it enters no ledger"
    if sample:
        yield "the items are the sample's, not the papers'"
    if limit:
        yield f"a rehearsal on the first {limit} documents of each dataset: it enters no ledger"
    # Estimating probabilities from samples is G-Eval's own way.
    departures = {name: value for name, value in options.items() if name != "logprobs"}
    if departures:
        shown = ", ".join(f"{name}={value}" for name, value in departures.items())
        yield f"not the paper's protocol ({shown}): it enters no ledger"
    replies = counts[["replies", "read", "unread", "missing"]].sum()
    if replies["missing"]:
        yield (
            f"{replies['missing']:,} of {replies['replies']:,} replies are missing: it enters no "
            "ledger until they are there"
        )
    if replies["unread"] and not replies["read"]:
        yield f"of {replies['unread']:,} replies none could be read: it enters no ledger"


def _gaps(counts, absent):
    """What is left out."""
    rows = counts.groupby("row", sort=False)[["read", "unread"]].sum()
    if rows["read"].any():
        for row in rows.index[(rows["read"] == 0) & (rows["unread"] > 0)]:
            yield f"no reply to {row} could be read"
    if absent:
        yield f"left out because the data are not here: {', '.join(absent)}"
