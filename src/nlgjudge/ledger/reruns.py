"""Published rows of a model, asked of another judge under the paper's protocol: plan, run, what it says, its folder.

The protocols say how a row was asked (`nlgjudge.papers`), the published tables which cells it has.
"""

import hashlib
import re
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.benchmarks import load
from nlgjudge.data.checks import check_known, first, unknown
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.data.paths import SAMPLE_NOTICE, workplace
from nlgjudge.data.recordings import available
from nlgjudge.judging.judge import Budget, all_or_waiting
from nlgjudge.judging.planning import COUNTS, Count
from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.run import SAMPLING, get_judge, judge_items, requests, sampling_settings
from nlgjudge.judging.scoring import item_scores, reply_counts, responses
from nlgjudge.judging.served import FALLBACK, FALLBACK_SAMPLES
from nlgjudge.judging.tasks import NOT_ANSWERED, NOT_ASKED
from nlgjudge.ledger import ledger, sentences
from nlgjudge.ledger.comparison import averages, compare, side_by_side
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.ledger.verdicts import COLUMNS
from nlgjudge.ledger.whole_table import paper_table
from nlgjudge.papers.coascore.aspects import stage_prompt
from nlgjudge.papers.coascore.chain import coascore
from nlgjudge.papers.folders import papers
from nlgjudge.papers.protocol import Protocol, Scope
from nlgjudge.stats.correlations import correlation_table
from nlgjudge.stats.intervals import interval_table, mean_interval

# Papers that publish correlations of models, by the name of their folder.
PAPERS = {key: paper for key, paper in papers().items() if paper.scopes}
CHAINS = ("chain", "chain of rated aspects", "mean of aspects")
OPTIONS = ("samples", *SAMPLING, "sampling", "pattern")
TRIED = 50  # first replies to a row, of which most have to hold a rating
PLACE = ["row", "dataset", "tables"]  # of a part
MEANS = ["paper", "artefact", "row", "dataset", "level", "coefficient", "aspects", "ours"]
MEANS += ["ci_low", "ci_high", "published", "model"]
MEANS += ["difference", "difference_low", "difference_high", "reading", "rule", "ceiling"]
ASKED = ["judge", "items", "replies", "read", "unread", "missing", "calls", "cost", "sent"]
ASKED += ["left open"]


class Part(NamedTuple):
    """A published row on one dataset, in all tables that publish it there."""

    row: Protocol
    scope: Scope
    artefacts: tuple

    @property
    def key(self):
        """Label of the row, dataset and tables."""
        return self.row.row, self.scope.dataset, "|".join(self.artefacts)

    @property
    def aspects(self):
        """By aspect as published, the aspect that is asked for and the one that people rated."""
        return self.scope.aspects_of(self.row.row)


def tables_of(paper):
    """Tables of a paper that publish rows of a model, as ``['table1', 'table2']``."""
    names = {artefact for scope in PAPERS[paper].scopes for artefact in scope.artefacts}
    return sorted(names, key=lambda name: int(name.removeprefix("table")))


def wanted(targets):
    """Tables of each paper; all without a target.

    Parameters
    ----------
    targets : sequence of str
        As ``geval`` or ``chatgpt/table6``, of any version of a paper.

    Returns
    -------
    dict of str to list of str

    Raises
    ------
    ValueError
        For an unknown paper or table, with the near ones.

    Examples
    --------
    >>> wanted(["geval_v1", "chatgpt/table6"])
    {'geval': ['table1', 'table2', 'table3'], 'chatgpt': ['table6']}
    """
    by_version = {version: paper for paper, one in PAPERS.items() for version in one.versions}
    found = {}
    for target in targets or PAPERS:
        named, _, artefact = target.partition("/")
        if named not in by_version:
            raise ValueError(f"{target}: {unknown('paper', named, [*by_version, 'dhp'])}")
        paper = by_version[named]
        known = tables_of(paper)
        if artefact and artefact not in known:
            raise ValueError(f"{target}: {unknown('table', artefact, known)}")
        chosen = found.setdefault(paper, [])
        chosen += [one for one in ([artefact] if artefact else known) if one not in chosen]
    return found


def judges_by_row(given, tables):
    """The judge's name for each row, from ``JUDGE`` for all rows and ``ROW=JUDGE`` for one.

    Raises a `ValueError` for a row that the tables do not publish.

    Examples
    --------
    >>> judges_by_row(["G-EVAL-4=openai:MODEL"], {"geval": ["table2"]})
    {'G-EVAL-4': 'openai:MODEL'}
    """
    known = [row for paper, artefacts in tables.items() for row in rows_of(paper, artefacts)]
    found = {}
    for text in sorted(given, key=lambda one: "=" in one):  # a judge for one row overrides
        row, equals, name = text.rpartition("=")
        if equals and row not in known:
            raise ValueError(
                f"--judge {text}: {unknown('printed row of a model', row, known, most=len(known))}"
            )
        found |= {row: name} if equals else dict.fromkeys(known, text)
    return found


def parts_of(paper, artefacts):
    """The rows of a model in some tables, by dataset; ValueError for an unknown paper or table."""
    check_known("paper", paper, PAPERS)
    wanted = [artefacts] if isinstance(artefacts, str) else list(artefacts)
    known = tables_of(paper)
    for artefact in wanted:
        if artefact not in known:
            raise ValueError(f"{paper}: {unknown('table', artefact, known)}")
    found = []
    for scope in PAPERS[paper].scopes:
        for row in PAPERS[paper].rows.values():
            tables = [name for name in wanted if name in scope.artefacts and name in row.artefacts]
            if tables:
                found.append(Part(row, scope, tuple(tables)))
    return found


def rows_of(paper, artefacts):
    """Labels of the rows of a model in some tables, in the paper's order."""
    return list(dict.fromkeys(part.row.row for part in parts_of(paper, artefacts)))


def versions(paper, artefacts):
    """Tables in all published versions of a paper, as pairs of paper key and table."""
    return [(version, artefact) for version in PAPERS[paper].versions for artefact in artefacts]


def sent(row, options, changes=()):
    """Samples and sampling parameters of a row's requests; `changes` is what a server was sent instead."""
    samples, sampling = row.samples, dict(row.parameters)
    if options.get("logprobs") is False and row.estimate:
        samples, sampling = row.estimate[0], dict(row.estimate[1])
    sampling |= {name: options[name] for name in SAMPLING if name in options}
    sampling |= options.get("sampling", {})
    samples, sampling = options.get("samples", samples), sampling_settings(sampling=sampling)
    if "logprobs" in sampling and "logprobs" in changes:
        samples = max(samples, FALLBACK_SAMPLES)
        sampling |= FALLBACK
    left_out = {name for name in changes if changes[name] is None}
    if "max_completion_tokens" in changes:
        left_out.discard("max_tokens")  # it is sent under this name
    return samples, {name: value for name, value in sampling.items() if name not in left_out}


def row_prompt(row, scope, aspect):
    """The prompt by which a row asks for an aspect, as its scope names it."""
    name = row.prompt.format(task=scope.task, aspect=aspect)
    if name.startswith("coascore/"):  # printed for one task, and put into the words of others
        return stage_prompt(name.split("/")[1], scope.task, aspect)
    return prompt(name)


def benchmarks_of(parts, source):
    """Benchmarks by name, and names of those left out; the sample is never mixed with real data."""
    names = dict.fromkeys(part.scope.benchmark for part in parts)
    found = {}
    for name in names:
        try:
            found[name] = load(name, source)
        except DataUnavailable as error:
            unavailable = error
    if not found:
        raise unavailable
    if all(one.is_sample for one in found.values()):
        return found, [name for name in names if name not in found]
    real = {name: one for name, one in found.items() if not one.is_sample}
    return real, [name for name in names if name not in real]


def items_of(part, benchmark, limit=0):
    """The items that a part asks about, of the first `limit` documents; 0 is all."""
    items = benchmark.items
    return first(items[~items["system_id"].isin(part.scope.left_out)], limit)


def count(part, items, walk, options):
    """Count with a `Count` what `ask` would ask for."""
    if part.row.scoring in CHAINS:  # its later requests show earlier replies
        ask(part, items, walk, options)
        return
    samples, sampling = sent(part.row, options)
    prompts = [row_prompt(part.row, part.scope, asked) for asked, _ in part.aspects.values()]
    for tasks in requests(items, prompts, samples=samples, settings=sampling):
        walk.count(tasks)


def ask(part, items, judge, options):
    """Ask a judge for a published row on one dataset; scores are high where people's rating should be high."""
    samples, sampling = sent(part.row, options)
    if len(judge.judges) > 1:
        return judge.each(lambda one: ask(part, items, one, options))
    if part.row.scoring in CHAINS:
        chains = [
            _chained(part, items, judge, asked, options).assign(aspect=printed)
            for printed, (asked, _) in part.aspects.items()
        ]
        responses = pd.concat(chains, ignore_index=True)
    else:
        prompts = {
            printed: row_prompt(part.row, part.scope, asked)
            for printed, (asked, _) in part.aspects.items()
        }
        if "pattern" in options:
            own = options["pattern"]
            prompts = {printed: one._replace(pattern=own) for printed, one in prompts.items()}
        # All prompts in one call, so that a batch of each is submitted before one is waited for.
        responses = judge_items(
            items, list(prompts.values()), judge, samples=samples, sampling=sampling
        )
        printed = {one.aspect: printed for printed, one in prompts.items()}
        responses["aspect"] = responses["aspect"].map(printed)
    if part.scope.reversed:
        (asked, _), *_ = part.aspects.values()
        low, high = row_prompt(part.row, part.scope, asked).scale or (0, 1)
        responses["score"] = low + high - responses["score"]
    return responses


def _chained(part, items, judge, aspect, options):
    """A chain of relevant aspects: one reply for each step."""
    row = part.row
    samples, sampling = sent(row, options)
    if samples != 1:
        raise ValueError(
            f"{row.row}: samples={samples}: each step of a chain is one reply; leave samples out"
        )
    found = coascore(
        items,
        judge,
        part.scope.task,
        aspect,
        n=row.aspects,
        aspects="inter" if row.scoring == "chain of rated aspects" else None,
        final="average" if row.scoring == "mean of aspects" else "judge",
        settings=sampling,
        pattern=options.get("pattern", ""),
    )
    return found.responses


class Rerun(NamedTuple):
    """What a judge gave for the rows of a model; a notebook displays its sentences.

    Attributes
    ----------
    cells : pandas.DataFrame
        The ledger's columns; a line for each published cell that the judge reaches, in every
        version of the paper.
    means : pandas.DataFrame
        By table, row and dataset, the mean over the aspects in one coefficient: `paper, artefact, row, dataset, level,
        coefficient, aspects`, `ours` with `ci_low, ci_high`, and `published` by the paper's `model`. `difference` with
        `difference_low, difference_high` is from the scores that the published row rests on, where these are released.
        `reading` is `higher`, `lower` or `within chance` (empty without an interval), by the difference or else by
        where the published mean lies. `rule` is what the rule-based judge `surface` reaches, `ceiling` a single rater
        with the mean of the others.
    counts : pandas.DataFrame
        By row, dataset and tables: `judge, items, replies` wanted, `read`, `unread` (without a
        rating), `missing` (not asked or not answered), `calls` and `cost` of this run, what was
        `sent`, and what the paper `left open`.
    plan : pandas.DataFrame
        By row, dataset and tables, what had to be asked when the run began: `judge`, the columns of
        `nlgjudge.judging.planning.COUNTS`, and `cost` where a price is given. If a row weighs ratings by token
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
    stopped : str
        Why the run stopped early: most replies could not be read.
    discernment : pandas.DataFrame
        Of DHP, `judge, dataset, perturbation` and D as `value` with `ci_low, ci_high`.
    """

    cells: pd.DataFrame
    means: pd.DataFrame
    counts: pd.DataFrame
    plan: pd.DataFrame
    enters: bool = False
    notice: str = ""
    scores: dict = {}
    prompts: dict = {}
    responses: pd.DataFrame = pd.DataFrame()
    stopped: str = ""
    discernment: pd.DataFrame = pd.DataFrame(columns=["judge", "dataset"])

    def table(self):
        """Our cells beside the published ones of the first version; without cells, the plan by row."""
        if not len(self.cells):
            amounts = [name for name in (*COUNTS, "cost") if name in self.plan]
            amounts = [name for name in amounts if name not in ("samples", "cached")]
            return self.plan.groupby(["row"], sort=False)[amounts].sum()
        version = self.cells["paper"].iloc[0]
        return side_by_side(self.cells[self.cells["paper"] == version]).T

    def sentences(self, paper="", artefact=""):
        """Say what the judge gives in each table, beside the published value.

        Parameters
        ----------
        paper, artefact : str
            Of one table; all by default.

        Returns
        -------
        list of str
        """
        asked = self.means
        if paper:
            asked = asked[(asked["paper"] == paper) & (asked["artefact"] == artefact)]
        tables = asked.groupby(["paper", "artefact"], sort=False)
        said = [sentences.of_judge(part, self._counts_of(part)) for _, part in tables]
        if not paper:
            sets = self.discernment.groupby(["judge", "dataset"], sort=False)
            said += [sentences.of_discernment(part) for _, part in sets]
        return said

    def _counts_of(self, means):
        """Lines of `counts` for some rows of `means`."""
        counts = self.counts.reset_index()
        if "paper" in counts:  # of several papers in one folder
            counts = counts[
                counts["paper"].map(lambda key: means["paper"].iloc[0] in PAPERS[key].versions)
            ]
        of_table = counts["tables"].map(lambda names: means["artefact"].iloc[0] in names.split("|"))
        return counts[of_table & counts["row"].isin(means["row"])]

    def figure(self):
        """Draw the means by table and row beside the published ones, recorded judges, a rule and a single rater.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from nlgjudge.ledger import figures  # a plan draws nothing

        figure = figures.judged(self.means, _recorded_means(self.means))
        figures.check_drawn(figure)
        return figure

    def tables(self):
        """Yield each published table with the judge's cells below the published ones, of its rows alone."""
        for paper, artefact in (
            self.cells[["paper", "artefact"]].drop_duplicates().itertuples(index=False)
        ):
            own = self.cells[(self.cells["paper"] == paper) & (self.cells["artefact"] == artefact)]
            if artefact not in set(self.means.loc[self.means["paper"] == paper, "artefact"]):
                continue  # a later version with the same values
            whole = paper_table(own, paper, artefact, elsewhere=False)
            whole.cells = whole.cells[whole.cells["row"].isin(own["row"])].reset_index(drop=True)
            yield whole

    def __repr__(self):
        return "\n".join([*self.sentences(), *self.notice.splitlines()])

    def _repr_markdown_(self):
        parts = [said.partition(": ") for said in self.sentences()]
        lines = [f"**{table}:** {rest}" for table, _, rest in parts]
        return "\n\n".join([*lines, *self.notice.splitlines()])


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
        One of `nlgjudge.ledger.reruns.PAPERS`; both versions of G-Eval are one paper.
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
        nothing = pd.DataFrame(columns=COLUMNS), pd.DataFrame(columns=MEANS), _by_part({}, ASKED)
        return Rerun(*nothing, plan, notice=notice, prompts=prompts)
    sample = any(benchmark.is_sample for benchmark in benchmarks.values())
    if sample and source == "auto" and any(one.asks for one in judges.values()):
        raise ValueError(
            "SAMPLE: only the repository's sample is available, so nothing was asked. Fetch the real "
            "data (`nlgjudge data fetch`), or pass source='sample' to ask about the sample."
        )
    stopped = []

    def step(part):
        if stopped:
            return None
        try:
            return _asked(part, items[part.key], judges[part.row.row], options, report)
        except Unreadable as error:
            stopped.append(str(error))

    # Every batch is submitted before one is waited for.
    asked = list(filter(None, all_or_waiting(partial(step, part) for part in parts)))
    parts = parts[: len(asked)]
    responses = {part.key: found for part, (found, _) in zip(parts, asked)}
    counts = _by_part({part.key: line for part, (_, line) in zip(parts, asked)}, ASKED)
    scores = {}
    for part in parts:
        benchmark = benchmarks[part.scope.benchmark]
        scores[part.key] = _scores(part, responses[part.key], items[part.key], benchmark)
    few = _rarely_rated(scores)
    cells = _cells(paper, parts, scores, judges, options, notebook, sample)
    if limit:
        cells["verdict"] = ""  # a rehearsal proves nothing
    means = _means(paper, parts, scores, items, benchmarks)
    objections = stopped + list(_objections(judges, counts, options, sample, limit))
    replies = pd.concat([pd.DataFrame(), *responses.values()], ignore_index=True)
    said = "; ".join([*objections, *_gaps(counts, absent), *few])
    notice = "\n".join([reply_counts(replies), said]).strip() if len(replies) else said
    given = not objections, notice, scores, prompts, replies, "".join(stopped)
    return Rerun(cells, means, counts, plan, *given)


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
    """What is to be asked, part by part, also if the servers give no token probabilities.

    A request that two parts share counts with the first.
    """
    lines = {}
    walks = {}
    for part in parts:
        judge = judges[part.row.row]
        if judge is not None and not judge.asks:
            continue  # takes no call
        walk = walks.setdefault(id(judge), Count(judge))
        before, estimated = dict(walk.counts), walk.estimated["completion_tokens"]
        count(part, items[part.key], walk, options)
        line = {name: walk.counts[name] - before[name] for name in COUNTS}
        tokens = walk.estimated["completion_tokens"] - estimated
        lines[part.key] = {"judge": walk.name, **line, "tokens_without_logprobs": tokens}
    plan = _by_part(lines, ["judge", *COUNTS, "tokens_without_logprobs"])
    if price:
        read, written = (number / 1e6 for number in price)
        plan["cost"] = plan["prompt_tokens"] * read + plan["completion_tokens"] * written
        plan["cost_without_logprobs"] = (
            plan["prompt_tokens"] * read + plan["tokens_without_logprobs"] * written
        )
    if not any("logprobs" in sent(part.row, options)[1] for part in parts):
        plan = plan[[name for name in plan if not name.endswith("_logprobs")]]
    return plan


class Unreadable(ValueError):
    """Most of the first replies to a row hold no rating, so nothing more is asked."""


def _try_out(part, items, judge, options):
    """Ask about the first items; they are stored, so that the whole run takes no call more for them."""
    samples, _ = sent(part.row, options)
    few = items.head(max(3, TRIED // (samples * len(part.aspects))))  # one text may be refused
    if not judge.asks or "batch:" in judge.name or len(few) == len(items):
        return
    responses = ask(part, few, judge, options)
    given = responses[~responses["reason"].isin([NOT_ASKED, NOT_ANSWERED])]
    unread = given[given["score"].isna()]
    if 2 * len(unread) <= len(given):
        return
    commonest = unread["text"].map(lambda text: " ".join(text.split())[:100]).value_counts()
    shown = "; ".join(f"{number} × {text!r}" for text, number in commonest.head(3).items())
    raise Unreadable(
        f"stopped: {len(unread):,} of the first {len(given):,} replies to {part.row.row} hold no rating: {shown}. "
        "Where they do hold one, say with --pattern (options={'pattern': ...}) how it is written; where they are "
        "cut off, raise --max-tokens; else take another model"
    )


def _asked(part, items, judge, options, report):
    """Replies of a part, and its line in the counts."""
    calls, cost = _spent(judge)
    _try_out(part, items, judge, options)
    responses = ask(part, items, judge, options)
    after = _spent(judge)
    read = responses["score"].notna().sum()
    missing = responses["reason"].isin([NOT_ASKED, NOT_ANSWERED]).sum()
    own_words, left_open = _departures(part.row, part.scope, judge, options)
    line = [judge.name, len(items), len(responses), read, len(responses) - read - missing, missing]
    line += [after[0] - calls, after[1] - cost, ", ".join(own_words), "; ".join(left_open)]
    if report:
        report(f"{part.row.row}, {part.scope.dataset}: {read:,} of {len(responses):,} replies read")
    return responses, dict(zip(ASKED, line))


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


def _rarely_rated(scores):
    """Empty the scores of aspects of which fewer than half of the items are rated, and name them."""
    found = []
    for (row, dataset, _), frame in scores.items():
        for name in [name for name in frame if name.startswith("judge:")]:
            rated = frame[name].notna().sum()
            if 0 < rated < len(frame) / 2:
                frame[name] = np.nan
                aspect = name.removeprefix("judge:")
                found.append(
                    f"left out because fewer than half of the items are rated: {row}, {dataset}, {aspect} ({rated:,} "
                    f"of {len(frame):,})"
                )
    return found


def _means(paper, parts, scores, items, benchmarks):
    """The mean over aspects of each row and dataset, by table; a later version only where it publishes other values."""
    lines, before, ceilings = [], {}, {}
    for version, artefact in versions(paper, dict.fromkeys(sum((p.artefacts for p in parts), ()))):
        table = published(version, artefact).query("aspect != 'AVG'")
        for part in parts:
            own = (table["row"] == part.row.row) & (table["dataset"] == part.scope.dataset)
            cells = table[own & table["aspect"].isin(part.aspects)]
            if artefact not in part.artefacts:
                continue
            values = cells["printed"].tolist()
            if values == before.get((artefact, part.key)):
                continue
            before[artefact, part.key] = values
            benchmark, frame = benchmarks[part.scope.benchmark], scores[part.key]
            cells = _compared(cells, frame)
            if cells.empty:
                continue
            line = _mean(paper, part, cells, frame, items[part.key], benchmark)
            place = part.scope.dataset, *cells["aspect"], line["level"], line["coefficient"]
            if place not in ceilings:
                ceilings[place] = _ceiling(part, cells, benchmark, items[part.key])
            lines.append(
                {"paper": version, "artefact": artefact, **line, "ceiling": ceilings[place]}
            )
    return pd.DataFrame(lines, columns=MEANS)


def _compared(cells, frame):
    """Cells of a row in one coefficient, Spearman's where it is published, and one level; of aspects with scores."""
    cells = cells.dropna(subset="value")
    rated = [one for one in cells["aspect"] if frame[f"judge:{one}"].notna().any()]
    cells = cells[cells["aspect"].isin(rated)]
    first = cells.sort_values("coefficient", key=lambda one: one != "spearman", kind="stable")
    how = first[["level", "coefficient"]].head(1)
    return cells.merge(how, on=["level", "coefficient"])


def _mean(paper, part, cells, frame, items, benchmark):
    """One line of `Rerun.means`, without the ceiling."""
    aspects = cells["aspect"].tolist()
    how = cells.loc[0, ["level", "coefficient"]].to_dict()
    policy = {"constant": part.scope.constant}

    def mean_of(frame, *signs):
        parts = [(frame, f"{name}:{one}", one) for name, _ in signs for one in aspects]
        weights = [sign / len(aspects) for _, sign in signs for _ in aspects]
        return mean_interval(parts, weights=weights, **how, **policy)

    ours = mean_of(frame, ("judge", 1))
    line = {"row": part.row.row, "dataset": part.scope.dataset, **how, "aspects": len(aspects)}
    line |= {"ours": ours.value, "ci_low": ours.low, "ci_high": ours.high}
    line |= {"published": cells["value"].mean(), "model": part.row.model}
    released = None if benchmark.is_sample else _released(paper, part, frame, items)
    if released is not None:
        both = mean_of(released, ("judge", 1), ("released", -1))
        line |= {"difference": both.value, "difference_low": both.low, "difference_high": both.high}
    line["reading"] = _reading(line)
    if part.row.scoring not in CHAINS:  # rules cannot answer a chain
        by_rule = ask(part, items, get_judge("surface"), {"samples": 1})
        line["rule"] = mean_of(_joined(frame, by_rule, "rule"), ("rule", 1)).value
    return line


def _reading(line):
    """Whether the judge is higher or lower than what is published, or within chance; empty without an interval."""
    if not np.isnan(line.get("difference_low", np.nan)):
        low, high, zero = line["difference_low"], line["difference_high"], 0
    else:
        low, high, zero = line["ci_low"], line["ci_high"], line["published"]
    if np.isnan(low):
        return ""
    return "higher" if zero < low else "lower" if zero > high else sentences.CHANCE


def _joined(frame, responses, name):
    scores = item_scores(responses).pivot(index="item_id", columns="aspect", values="score")
    return frame.join(scores.add_prefix(f"{name}:"), on="item_id")


def _released(paper, part, frame, items):
    """The frame with the scores of the replies that the row rests on; None where they are not released or not here."""
    name = PAPERS[paper].recorded.get(part.scope.dataset, {}).get(part.row.row)
    if not name or not available(name):
        return None
    found = _joined(frame, responses(name, items=items), "released")
    judged = [f"{who}:{one}" for who in ("judge", "released") for one in part.aspects]
    return found.dropna(subset=[one for one in judged if found[one].notna().any()])


def _ceiling(part, cells, benchmark, items):
    """Mean over aspects of a single rater's agreement with the others; NaN without single raters."""
    from nlgjudge.stats.rater_agreement import ceiling  # a plan needs no statistics

    ratings = benchmark.ratings.merge(items[["item_id", "doc_id", "system_id"]], on="item_id")
    rated = [part.aspects[one][1] for one in cells["aspect"]]
    each = [ratings[ratings["aspect"] == one] for one in rated]
    if any(one["rater"].nunique() < 2 for one in each):
        return np.nan
    how = cells.loc[0, ["level", "coefficient"]].to_dict() | {"constant": part.scope.constant}
    return float(np.mean([ceiling(one, **how).value for one in each]))


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


def _by_part(lines, columns):
    """A table with a line for each part."""
    index = pd.MultiIndex.from_frame(pd.DataFrame([*lines], columns=PLACE))
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


def place(names, changes, limit, sample):
    """Folder of the runs of some judges; runs on the sample, rehearsals and other settings have their own."""
    words = [re.sub(r"[^\w.]+", "-", name.removeprefix("openai:")) for name in names]
    changes = changes | changes.get("sampling", {})
    if "pattern" in changes:
        changes["pattern"] = hashlib.sha256(changes["pattern"].encode()).hexdigest()[:6]
    apart = [f"-{name}{value}" for name, value in changes.items() if name != "sampling"]
    apart = [re.sub(r"[^\w.-]+", "", text) for text in apart]
    apart += [f"-limit{limit}"] * bool(limit) + ["-sample"] * sample
    return workplace() / "build" / "reruns" / "".join(["+".join(words), *apart])


def _recorded_means(means):
    """Means of recorded and kept judges over the same cells, by line of `means`."""
    kept = ledger.kept_cells().query("aspect != 'AVG'").dropna(subset="ours")
    line = ["paper", "artefact", "row", "dataset", "level", "coefficient"]
    found = kept.groupby([*line, "judge"])["ours"].agg(["mean", "size"]).reset_index()
    found = means[[*line, "aspects"]].merge(found, on=line)
    return found[found["size"] == found["aspects"]].drop(columns=["size", "aspects"])


def save(found, folder):
    """Add runs to a judge's folder; rows of a table that was run before are replaced, calls and cost added up.

    Parameters
    ----------
    found : dict of str to Rerun
        By paper.
    folder : pathlib.Path
        As from `place`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cells = pd.concat([one.cells for one in found.values()], ignore_index=True)
    means = pd.concat([one.means for one in found.values()], ignore_index=True)
    counts = pd.concat({name: one.counts for name, one in found.items()}, names=["paper"])
    counts = counts.reset_index()
    if (folder / "cells.csv").exists():
        before = read_rerun(folder)
        cells = _added(before.cells, cells, ["paper", "artefact", "row"])
        means = _added(before.means, means, ["paper", "artefact", "row", "dataset"])
        line = ["paper", *PLACE]
        paid = before.counts.set_index(line)[["calls", "cost"]].reindex(counts[line]).fillna(0)
        counts = counts.assign(**{name: counts[name] + paid[name].to_numpy() for name in paid})
        counts = _added(before.counts, counts, line)
    ledger.save(cells[ledger.COLUMNS], folder / "cells.csv")
    for name, table in (("means", means), ("replies", counts)):
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")


def read_rerun(folder):
    """Read what a judge gave so far, from its folder below `build/reruns/`.

    Parameters
    ----------
    folder : path-like

    Returns
    -------
    Rerun
        Without plan, scores and replies.

    Raises
    ------
    FileNotFoundError
        For a folder without results.
    """
    folder = Path(folder)
    tables = [pd.DataFrame(columns=names) for names in (COLUMNS, MEANS, PLACE + ASKED)]
    if (folder / "cells.csv").exists():
        tables[0] = ledger.read(folder / "cells.csv")
        tables[1] = pd.read_csv(folder / "means.csv", converters={"reading": str})
        tables[2] = pd.read_csv(folder / "replies.csv", keep_default_na=False)
    notice = [f"SAMPLE: {SAMPLE_NOTICE}."] * folder.name.endswith("-sample")
    if tables[0]["verdict"].eq("").any():
        notice.append("A rehearsal on the first documents of each dataset: it has no verdicts.")
    found = Rerun(*tables, plan=pd.DataFrame(), notice="\n".join(notice))
    if (folder / "discernment.csv").exists():
        return found._replace(discernment=pd.read_csv(folder / "discernment.csv"))
    if not (folder / "cells.csv").exists():
        raise FileNotFoundError(f"{folder}: expected cells.csv or discernment.csv of a rerun")
    return found


def _added(before, new, key):
    """Lines of earlier runs that the new ones do not replace, and the new ones."""
    replaced = pd.MultiIndex.from_frame(before[key]).isin(pd.MultiIndex.from_frame(new[key]))
    return pd.concat([before[~replaced], new], ignore_index=True)
