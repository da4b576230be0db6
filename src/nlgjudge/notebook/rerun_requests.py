"""Which published rows a rerun asks about, and how: judges, items, prompts, sampling, plan, early stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pandas as pd

from nlgjudge.data.benchmarks import load
from nlgjudge.data.checks import check_known, first, unknown
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.judging.planning import COUNTS, Count
from nlgjudge.judging.prompts import Prompt, prompt
from nlgjudge.judging.replies import FALLBACK, FALLBACK_SAMPLES
from nlgjudge.judging.run import SAMPLING, get_judge, judge_items, sampling_settings
from nlgjudge.judging.scoring import why_unread
from nlgjudge.judging.tasks import NOT_ANSWERED, NOT_ASKED
from nlgjudge.papers.coascore.aspects import stage_prompt
from nlgjudge.papers.coascore.chain import coascore
from nlgjudge.papers.folders import papers
from nlgjudge.papers.llmbar.steps import DEBATE, REASONS, choose_in_steps
from nlgjudge.papers.protocol import Protocol, Scope

if TYPE_CHECKING:
    from nlgjudge.data.schema import Benchmark

# Papers that publish correlations of models, and DHP, by the name of their folder.
PAPERS = {key: paper for key, paper in papers().items() if paper.scopes}
CHAINS = ("chain", "chain of rated aspects", "mean of aspects")
OPTIONS = ("samples", *SAMPLING, "sampling", "pattern")
TRIED = 50  # first replies to a row, of which most have to hold a rating
REPLIES = ["judge", "items", "replies", "read", "unread", "missing", "calls", "cost", "sent"]
REPLIES += ["left open"]
PLACE = ["row", "dataset", "tables"]  # of a part


class Part(NamedTuple):
    """A published row on one dataset, in all tables that publish it there; once loaded, with the items to ask about."""

    paper: str
    row: Protocol
    scope: Scope
    artefacts: tuple[str, ...]
    benchmark: Any = None
    items: Any = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Label of the row, dataset and tables."""
        return self.row.row, self.scope.dataset, "|".join(self.artefacts)

    @property
    def aspects(self) -> dict[str, tuple[str, str]]:
        """By aspect as published, the aspect that is asked for and the one that people rated."""
        return self.scope.aspects_of(self.row.row)

    @property
    def prompts(self) -> dict[str, Prompt]:
        """By aspect as published, the prompt."""
        return {name: self._prompt(aspect) for name, (aspect, _) in self.aspects.items()}

    def asked(self, options):
        """The same with the pattern that a caller gives for ratings."""
        own = {name: options[name] for name in ("pattern",) if name in options}
        return {name: prompt._replace(**own) for name, prompt in self.prompts.items()}

    def _prompt(self, aspect):
        name = self.row.prompt.format(task=self.scope.task, aspect=aspect)
        if name.startswith("coascore/"):  # printed for one task, and put into the words of others
            return stage_prompt(name.split("/")[1], self.scope.task, aspect)
        return prompt(name)

    @property
    def debates(self) -> bool:
        """Whether later requests depend on which choices differ."""
        return any(DEBATE in prompt.slots.values() for prompt in self.prompts.values())

    @property
    def is_readable(self) -> bool:
        """Whether its prompts are here; some are read from upstream's files."""
        try:
            return bool(self.prompts) and (not self.debates or bool(prompt(REASONS[0])))
        except DataUnavailable:
            return False

    def loaded(self, benchmark, limit=0):
        """With the items to ask about, of the first `limit` documents; 0 is all."""
        items = benchmark.items
        if self.paper == "dhp":
            from nlgjudge.papers.dhp.perturbing import perturb  # takes a second; others need none
            from nlgjudge.papers.dhp.source_texts import originals

            items = perturb(originals(benchmark, limit or 100), self.scope.dataset).items
            return self._replace(benchmark=benchmark, items=items)
        items = first(items[~items["system_id"].isin(self.scope.left_out)], limit)
        return self._replace(benchmark=benchmark, items=items)

    def sent(self, options, changes=()):
        """Samples and sampling parameters of a request; `changes` is what a server was sent instead."""
        samples, sampling = self.row.samples, dict(self.row.parameters)
        if options.get("logprobs") is False and self.row.estimate:
            samples, sampling = self.row.estimate[0], dict(self.row.estimate[1])
        sampling |= {name: options[name] for name in SAMPLING if name in options}
        sampling |= options.get("sampling", {})
        samples = options.get("samples", samples)
        sampling = sampling_settings(sampling=sampling)
        if "logprobs" in sampling and "logprobs" in changes:
            samples = max(samples, FALLBACK_SAMPLES)
            sampling |= FALLBACK
        left_out = {name for name in changes if changes[name] is None}
        if "max_completion_tokens" in changes:
            left_out.discard("max_tokens")  # it is sent under this name
        return samples, {name: value for name, value in sampling.items() if name not in left_out}

    def departures(self, judge, options):
        """What was sent, and what the paper left open or the server did not support."""
        samples, sampling = self.sent(options, judge.changes)
        own_words = ["one reply" if samples == 1 else f"{samples} replies"]
        own_words += [f"{name} {value}" for name, value in sampling.items() if name != "logprobs"]
        if sampling.get("logprobs"):
            own_words.append("weighed by probability")
        notes = [text for text in (self.row.note, self.scope.note, *judge.notices) if text]
        return ", ".join(own_words), notes

    def ask(self, judge, options):
        """Replies of a judge; scores are high where people's rating should be high."""
        if len(judge.judges) > 1:
            return judge.each(lambda member: self.ask(member, options))
        if self.row.scoring in CHAINS:
            chains = [
                self._ask_chain(judge, target, options).assign(aspect=aspect)
                for aspect, (target, _) in self.aspects.items()
            ]
            responses = pd.concat(chains, ignore_index=True)
        elif self.row.scoring == "steps":
            responses = self._ask_in_steps(judge, options)
        else:
            responses = self._ask_once(judge, options)
        if self.scope.reversed:
            low, high = next(iter(self.prompts.values())).scale or (0, 1)
            responses["score"] = low + high - responses["score"]
        return responses

    def _ask_once(self, judge, options):
        """Replies to all prompts in one call."""
        samples, sampling = self.sent(options)
        prompts = self.asked(options)
        responses = judge_items(
            self.items, list(prompts.values()), judge, samples=samples, sampling=sampling
        )
        published = {prompt.aspect: name for name, prompt in prompts.items()}
        return responses.assign(aspect=responses["aspect"].map(published))

    def _ask_in_steps(self, judge, options):
        """Replies to the last of several prompts; parameters that a caller sets hold for all."""
        self._check_one_reply(self.sent(options)[0])
        own = {name: options[name] for name in SAMPLING if name in options}
        own = sampling_settings(sampling=own | options.get("sampling", {}))
        ((name, last),) = self.asked(options).items()
        found = choose_in_steps(self.items, judge, last, self.row.parameters, own)
        return found.assign(aspect=name)

    def _check_one_reply(self, samples):
        if samples != 1:
            raise ValueError(
                f"{self.row.row}: samples={samples}: each step of a chain is one reply; leave samples out"
            )

    def _ask_chain(self, judge, aspect, options):
        """A chain of relevant aspects: one reply for each step."""
        samples, sampling = self.sent(options)
        self._check_one_reply(samples)
        chain = coascore(
            self.items,
            judge,
            self.scope.task,
            aspect,
            n=self.row.aspects,
            aspects="inter" if self.row.scoring == "chain of rated aspects" else None,
            final="average" if self.row.scoring == "mean of aspects" else "judge",
            settings=sampling,
            pattern=options.get("pattern", ""),
        )
        if judge.stopped:  # nobody asked for the aspects of what has none
            return chain.responses.replace({"reason": {"no_aspect_scores": NOT_ASKED}})
        return chain.responses


def tables_of(paper: str) -> list[str]:
    """Tables of a paper that publish rows of a model, as ``['table1', 'table2']``; of DHP its procedure."""
    names = {artefact for scope in PAPERS[paper].scopes for artefact in scope.artefacts}
    return sorted(names, key=lambda name: (len(name), name))


def tables_of_targets(targets: Sequence[str]) -> dict[str, list[str]]:
    """Tables of each paper, of targets as ``geval`` or ``chatgpt/table6``; without a target all but DHP's.

    A paper may be named by any of its versions. A `ValueError` for an unknown paper or table names the near ones.
    """
    by_version = {version: key for key, paper in PAPERS.items() for version in paper.versions}
    tables: dict[str, list[str]] = {}
    for target in targets or [key for key in PAPERS if key != "dhp"]:
        version, _, artefact = target.partition("/")
        if version not in by_version:
            raise ValueError(f"{target}: {unknown('paper', version, by_version)}")
        paper = by_version[version]
        if artefact and artefact not in tables_of(paper):
            raise ValueError(f"{target}: {unknown('table', artefact, tables_of(paper))}")
        before = tables.setdefault(paper, [])
        new = [artefact] if artefact else tables_of(paper)
        before += [name for name in new if name not in before]
    return tables


def judges_by_row(judges: Iterable[str], tables: dict[str, list[str]]) -> list[dict[str, str]]:
    """By run, the judge's name for each row: ``JUDGE`` is a run of all rows, in which ``ROW=JUDGE`` has one.

    Raises a `ValueError` for a row that the tables do not publish, and where a row would have two judges or a judge
    none.
    """
    rows = [row for paper, artefacts in tables.items() for row in rows_of(paper, artefacts)]
    of_all = dict.fromkeys(text for text in judges if "=" not in text)
    own: dict[str, str] = {}
    for text in judges:
        row, equals, name = text.rpartition("=")
        if equals:
            check_row(row, rows, f"--judge {text}")
            is_second = own.setdefault(row, name) != name
            if is_second or len(of_all) > 1 or (of_all and own.keys() >= {*rows}):
                raise ValueError(
                    f"--judge {text}: a row has one judge in a run, and each judge a row. Run the command once for each"
                )
    return [dict.fromkeys(rows, name) | own for name in of_all] or [own]


def check_row(row, rows, where):
    """Refuse a row that no table publishes."""
    if row not in rows:
        raise ValueError(f"{where}: {unknown('printed row of a model', row, rows, most=len(rows))}")


def parts_of(paper: str, artefacts: str | Iterable[str]) -> list[Part]:
    """The rows of a model in some tables, by dataset; `ValueError` for an unknown paper or table."""
    check_known("paper", paper, PAPERS)
    artefacts = [artefacts] if isinstance(artefacts, str) else list(artefacts)
    for artefact in artefacts:
        if artefact not in tables_of(paper):
            raise ValueError(f"{paper}: {unknown('table', artefact, tables_of(paper))}")
    parts = []
    for scope in PAPERS[paper].scopes:
        for row in PAPERS[paper].rows.values():
            both = {*scope.artefacts} & {*row.artefacts}
            if tables := tuple(name for name in artefacts if name in both):
                parts.append(Part(paper, row, scope, tables))
    return parts


def rows_of(paper: str, artefacts: str | Iterable[str]) -> list[str]:
    """Labels of the rows of a model in some tables, in the paper's order."""
    return list(dict.fromkeys(part.row.row for part in parts_of(paper, artefacts)))


def benchmarks_of(
    parts: Sequence[Part], source: Literal["auto", "real", "sample"]
) -> tuple[dict[str, Benchmark], list[str]]:
    """Benchmarks by name, and names of those left out; the sample is never mixed with real data."""
    names = dict.fromkeys(part.scope.benchmark for part in parts)
    loaded = {}
    for name in names:
        try:
            loaded[name] = load(name, source)
        except DataUnavailable as error:
            unavailable = error
    if not loaded:
        raise unavailable
    if not all(benchmark.is_sample for benchmark in loaded.values()):
        loaded = {name: benchmark for name, benchmark in loaded.items() if not benchmark.is_sample}
    return loaded, [name for name in names if name not in loaded]


def plan_of(parts, judges, options, price):
    """What is to be asked, part by part, also if the servers give no token probabilities.

    A request that two parts share counts with the first.
    """
    lines, counters = {}, {}
    for part in parts:
        judge = judges[part.row.row]
        if judge is not None and not judge.asks:
            continue  # takes no call
        if id(judge) not in counters:
            counters[id(judge)] = Count(judge)
        counter = counters[id(judge)]
        before, estimated = dict(counter.counts), counter.estimated["completion_tokens"]
        # Each text goes into many prompts.
        part._replace(items=part.items.astype(object)).ask(counter, options)
        line = {"ratings": len(part.items) * len(part.aspects)}
        line |= {name: counter.counts[name] - before[name] for name in COUNTS}
        tokens = counter.estimated["completion_tokens"] - estimated
        lines[part.key] = {"judge": counter.name, **line, "tokens_without_logprobs": tokens}
    plan = by_part(lines, ["judge", "ratings", *COUNTS, "tokens_without_logprobs"])
    if price:
        read, written = (number / 1e6 for number in price)
        for name in ("", "_without_logprobs"):
            tokens = plan["tokens_without_logprobs" if name else "completion_tokens"]
            plan[f"cost{name}"] = plan["prompt_tokens"] * read + tokens * written
    if not any("logprobs" in part.sent(options)[1] for part in parts):
        plan = plan[[name for name in plan if not name.endswith("_logprobs")]]
    return plan


def by_part(lines, columns):
    """A table with a line for each part."""
    index = pd.MultiIndex.from_frame(pd.DataFrame([*lines], columns=PLACE))
    return pd.DataFrame(list(lines.values()), index=index, columns=columns)


def judges_of_rows(paper, artefacts, judge, limits):
    """The judge of each row, made once for each name."""
    rows = rows_of(paper, artefacts)
    specs = judge if isinstance(judge, dict) else dict.fromkeys(rows, judge)
    for row in specs:
        check_row(row, rows, paper)
    limits = {name: value for name, value in limits.items() if value is not None}
    by_name, judges = {}, {}
    for row, spec in specs.items():
        spec = "+".join(spec) if isinstance(spec, (list, tuple)) else spec
        if not isinstance(spec, str):
            judges[row] = get_judge(spec)
        elif spec and spec not in by_name:
            by_name[spec] = get_judge(spec, **limits)
        judges.setdefault(row, by_name.get(spec) if isinstance(spec, str) else None)
    return judges


def ask_all(parts, judges, options, report):
    """Replies and counts by part, and why the run stopped early."""
    stopped, replies, counts = "", {}, {}
    for part in parts:
        judge = judges[part.row.row]
        calls, cost = judge.spent["calls"], judge.cost
        if stopped := _try_out(part, judge, options):
            break
        responses = part.ask(judge, options)
        spent = judge.spent["calls"] - calls, judge.cost - cost
        replies[part.key] = responses
        counts[part.key] = _count_replies(part, responses, judge, spent, options)
        if report:
            read = counts[part.key]["read"]
            report(
                f"{part.row.row}, {part.scope.dataset}: {read:,} of {len(responses):,} replies read"
            )
    return replies, by_part(counts, REPLIES), stopped


def _try_out(part, judge, options):
    """Try a row out, and say why the run stops if most of its first replies hold no rating."""

    def ask(few):
        return part._replace(items=few).ask(judge, options)

    readings = [prompt.reading for prompt in part.asked(options).values()]
    why = trial(ask, part.items, judge, part.sent(options)[0] * len(part.aspects), readings)
    return why and f"stopped: of the first replies to {part.row.row}, {why}"


def trial(ask, items, judge, replies, readings):
    """Ask about items of some documents, and say why most replies hold no rating; empty if most hold one.

    `replies` are wanted of each item. They are stored, so that the whole run takes no call more for them.
    """
    if not judge.asks:
        return ""
    unit = "doc_id" if "other" in items else "item_id"  # both orders of a pair
    units = items.drop_duplicates(unit).sample(frac=1, random_state=0)
    few = max(3, TRIED * len(units) // (replies * len(items)))  # one text may be refused
    of_each = units.groupby("doc_id").cumcount().sort_values(kind="stable")
    tried = items[unit].isin(units.loc[of_each.index[:few], unit])
    return why_unread(ask(items[tried]), readings)


def _count_replies(part, responses, judge, spent, options):
    """A part's line of the counts."""
    read = responses["score"].notna().sum()
    missing = responses["reason"].isin([NOT_ASKED, NOT_ANSWERED]).sum()
    sent, left_open = part.departures(judge, options)
    line = [
        judge.name,
        len(part.items),
        len(responses),
        read,
        len(responses) - read - missing,
        missing,
    ]
    return dict(zip(REPLIES, [*line, *spent, sent, "; ".join(left_open)]))
