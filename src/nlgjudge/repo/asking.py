"""Asking a judge from the command line: what `judge` and `evaluate` share, and what `judge` does."""

import sys
import warnings
from collections import Counter
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import pandas as pd

import nlgjudge as nj
from nlgjudge.data import spreadsheets
from nlgjudge.data.benchmarks import READERS
from nlgjudge.data.choices import first, unknown
from nlgjudge.data.sample import task
from nlgjudge.judging.live import Limits, told_again
from nlgjudge.judging.planning import assumption
from nlgjudge.judging.prompts import check_fit
from nlgjudge.judging.run import all_or_waiting
from nlgjudge.judging.tasks import NOT_ASKED, Tasks
from nlgjudge.repo import exits
from nlgjudge.repo import prompts as named_prompts
from nlgjudge.repo.replies import open_store

KINDS = ("openai", "batch", "replay", "surface")


class Asking(NamedTuple):
    """How a judge is asked and what it may take: the options that `judge` and `evaluate` share.

    Attributes
    ----------
    samples : int or None
        Replies an item; None leaves it to each protocol.
    temperature, max_tokens : float or None, int or None
        Of the sampling.
    logprobs : bool
        Weigh the ratings by their token probability.
    policy : str
        What a reply without a rating counts as, as for `nlgjudge.judging.run.judge_items`.
    limit : int
        Use the first so many items or documents; 0 is all.
    plan : bool
        Only say what it would take.
    price : (float, float) or None
        Of a million prompt and a million completion tokens.
    max_cost, max_calls, per_minute, tokens_per_minute : float or None
        As for `nlgjudge.judging.live.Limits`.
    concurrency : int
        Calls under way at once.
    timeout, deadline : float
        Seconds of silence in one try of a call, and of a call in all.
    despite_batches : bool
        Ask also for what waits in a batch on the same store.
    store : path-like or None
        Where replies are kept.
    """

    samples: int | None
    temperature: float | None
    max_tokens: int | None
    logprobs: bool
    policy: str
    limit: int
    plan: bool
    price: tuple | None
    max_cost: float | None
    max_calls: int | None
    per_minute: float | None
    tokens_per_minute: float | None
    concurrency: int
    timeout: float
    deadline: float
    despite_batches: bool
    store: object

    @property
    def sampling(self):
        """Sampling parameters that are given, by name."""
        named = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "logprobs": self.logprobs,
        }
        return {name: value for name, value in named.items() if value not in (None, False)}


def open_judge(spec, asking, *, items=None, store=None):
    """Make the judge that a command names, with the limits of its options.

    Parameters
    ----------
    spec : str
        As for `nlgjudge.judging.run.get_judge`.
    asking : Asking
    items : pandas.DataFrame, optional
    store : nlgjudge.judging.store.Store, optional

    Raises
    ------
    ValueError
        For an unknown kind of judge, with the near ones.
    """
    kind = spec.partition(":")[0]
    if kind not in KINDS:
        raise ValueError(
            f"judge {spec!r}: {unknown('kind of judge', kind, KINDS)}; write openai:MODEL, "
            "batch:MODEL, replay:RECORDING, replay:STORE.sqlite:MODEL or surface"
        )
    price = asking.price and tuple(asking.price)
    extra = {}
    if kind == "openai":
        limits = Limits(
            asking.max_calls, asking.max_cost, asking.per_minute, asking.tokens_per_minute, price
        )
        # Upstream's scripts, which a policy repeats, took the first reply as it came.
        extra = {
            "limits": limits,
            "concurrency": asking.concurrency,
            "progress": True,
            "timeout": asking.timeout,
            "deadline": asking.deadline,
            "ask_again": asking.policy == "nan",
            "despite_batches": asking.despite_batches,
        }
    if kind == "batch":
        extra = {"price": price}
    return nj.get_judge(spec, items=items, store=store, **extra)


@contextmanager
def store_of_run(path=None):
    """Open the store for a run: a warning is one line, and Ctrl-C says what is stored.

    Parameters
    ----------
    path : path-like, optional

    Yields
    ------
    nlgjudge.judging.store.Store
    """
    with open_store(path) as store, _plain_warnings(), _told_interrupt(store):
        yield store


@contextmanager
def _plain_warnings():
    """Print each warning once, as a line of its own."""
    seen = set()

    def show(message, *_, **__):
        if str(message) not in seen:
            seen.add(str(message))
            print(f"note: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


@contextmanager
def _told_interrupt(store):
    """On Ctrl-C, say what is stored."""
    before = store.totals()["replies"]
    try:
        yield
    except KeyboardInterrupt:
        now = store.totals()["replies"]
        raise KeyboardInterrupt(
            f"interrupted: {now - before} replies of this run are stored, {now} in all, "
            f"in {store.path}; the same command goes on from there"
        ) from None


def told_failures(judge, name=""):
    """Print how many items a judge left unanswered, and return the exit status.

    Parameters
    ----------
    judge : object
    name : str
        Of the judge, where there are several.

    Returns
    -------
    int
        One of `nlgjudge.repo.exits`.
    """
    if not getattr(judge, "failures", 0):
        return exits.DONE
    most, _ = judge.reasons.most_common(1)[0]
    whose = f"{name}: " if name else ""
    print(
        f"nlgjudge: {whose}{judge.failures} items failed, most often with: {most}; the same command asks "
        "for them again",
        file=sys.stderr,
    )
    return exits.FAILED


def rate(benchmark, judge, prompts, aspect, scale, form, options, output, source, **asked):
    """Let a judge rate a benchmark, and print how well its ratings agree with people's.

    Parameters
    ----------
    benchmark, judge : str
    prompts : list of str
        As for `nlgjudge.repo.prompts.chosen`; so are `aspect`, `scale`, `form` and `options`.
    output : path-like or None
        A CSV file for the replies; a text that a spreadsheet would compute has an apostrophe in front.
    source : {"auto", "real", "sample"}
        With ``auto``, nothing is asked of a served model where only the sample is available.
    **asked
        The attributes of `Asking`.

    Returns
    -------
    int
        One of `nlgjudge.repo.exits`.
    """
    asking = Asking(**asked)
    if benchmark not in READERS:
        raise ValueError(unknown("benchmark", benchmark, READERS, most=len(READERS)))
    if asking.samples < 1:
        raise ValueError(f"--samples {asking.samples}: expected a whole number of at least 1")
    rated = nj.load(benchmark, source)
    if rated.is_sample:
        print(f"SAMPLE: {rated.notice}; `nlgjudge data fetch {benchmark}` downloads the real data")
        if source == "auto" and not asking.plan and judge.startswith(("openai:", "batch:")):
            print(
                "nlgjudge: nothing was asked. Give --source sample to ask about the sample",
                file=sys.stderr,
            )
            return exits.FAILED
    chosen = named_prompts.chosen(
        prompts, rated.aspects, aspect=aspect, scale=scale, form=form, options=options
    )
    items = first(rated.items, asking.limit)
    for one in chosen:
        check_fit(one, items, task(benchmark))
    with store_of_run(asking.store) as store:
        opened = open_judge(judge, asking, items=items, store=store)
        parts = [Tasks(items, one, n=asking.samples, **asking.sampling) for one in chosen]
        planned = _told_plan(opened, parts, asking)
        if asking.plan:
            return exits.DONE
        if hasattr(
            opened, "submit"
        ):  # a batch stops while replies are missing, so all prompts go out first
            for part in parts:
                opened.submit(part)
        found = _asked(opened, items, chosen, asking)
        responses = pd.concat(found, ignore_index=True)
        if output:
            spreadsheets.write(responses, output)
        status = _told_end(opened, responses, planned, rated.notice)
        _told_agreement(rated, chosen, found)
        return status


def _told_plan(judge, tasks, asking):
    """Print what a run would take; the total, empty for a judge that takes nothing."""
    if not hasattr(judge, "plan"):
        print(f"plan: {judge.name} takes no call")
        return {}
    plans = [judge.plan(part) for part in tasks]
    total = {name: sum(plan[name] for plan in plans) for name in plans[0] if name != "cost"}
    total["cost"] = sum(plan["cost"] for plan in plans) if asking.price else None
    said = {
        name: "unknown (give --price)" if value is None else value for name, value in total.items()
    }
    if total["cost"] is not None:
        said["cost"] = f"{total['cost']:.4f}"
    print("plan: " + ", ".join(f"{name} {value}" for name, value in said.items()))
    lengths = Counter(
        assumption(judge.server, judge.store, next(iter(part))) for part in tasks if len(part)
    )
    for length, number in lengths.items():
        which = "" if len(lengths) == 1 else f" ({number} of {len(tasks)} prompts)"
        print(f"plan: counted with {length}{which}, and four characters a token of a prompt")
    if asking.samples > 1:
        print(
            "plan: counted as one call an item; where the server gives one sample a call, a prompt is paid "
            f"{asking.samples} times"
        )
    if hasattr(judge, "submit"):
        _check_batch(total, asking)
    return total


def _check_batch(total, asking):
    """Refuse a batch, which cannot be stopped half way, that would go over a limit."""
    for name, limit in (("cost", asking.max_cost), ("calls", asking.max_calls)):
        if limit is None:
            continue
        if total[name] is None:
            raise ValueError(f"a limit on {name} needs a price: give --price IN OUT")
        if total[name] > limit:
            raise ValueError(
                f"the plan takes {name} of {total[name]:g}, the limit is {limit:g}, and a "
                "batch cannot be stopped half way: nothing was submitted"
            )


def _asked(judge, items, prompts, asking):
    """Responses of each prompt, asked one prompt after another."""

    def ask(one):
        found = nj.judge_items(
            items,
            [one],
            judge,
            samples=asking.samples,
            policy=asking.policy,
            sampling=asking.sampling,
        )
        return found.assign(prompt=one.name)

    return all_or_waiting(partial(ask, one) for one in prompts)


def _told_end(judge, responses, planned, notice):
    """Print what came of a run, and what it took; the exit status."""
    reasons = Counter(responses.loc[responses["reason"] != "", "reason"])
    unasked = reasons.pop(NOT_ASKED, 0)
    read = len(responses) - unasked - reasons.total()
    without = f" ({_counted(reasons)})" if reasons else ""
    print(f"{read} replies read, {reasons.total()} without a rating{without} {notice}".rstrip())
    if getattr(judge, "asked_again", None):
        print(told_again(judge.asked_again))
    if planned and hasattr(judge, "spent"):
        said = [f"{name} {value} ({planned[name]} planned)" for name, value in judge.spent.items()]
        if planned["cost"] is not None:
            said.append(f"cost {judge.cost:.4f} ({planned['cost']:.4f} planned)")
        print("spent: " + ", ".join(said))
    status = told_failures(judge)
    if unasked:
        print(
            f"nlgjudge: stopped after {len(responses) - unasked} of {len(responses)} replies: "
            f"{judge.stopped}; the same command goes on from there, with a limit of its own",
            file=sys.stderr,
        )
        return exits.UNFINISHED
    if not read:
        why = f"most often {reasons.most_common(1)[0][0]}" if reasons else "there is no item"
        print(f"nlgjudge: no reply could be read: {why}{_example(responses)}", file=sys.stderr)
        return exits.FAILED
    return status


def _example(responses):
    texts = responses.loc[responses["text"] != "", "text"]
    return f", as {texts.iloc[0][:80]!r}" if len(texts) else ""


def _counted(counts):
    return ", ".join(f"{name} {number}" for name, number in counts.most_common())


def _told_agreement(benchmark, prompts, parts):
    """Print how well each prompt's scores agree with people's, where people rated its aspect."""
    aspects = Counter(one.aspect for one in prompts)
    for one, found in zip(prompts, parts):
        if one.aspect not in benchmark.aspects:
            print(f"{one.name}: {benchmark.name} has no ratings of {one.aspect or 'its aspect'}")
        elif found["score"].notna().any():
            label = one.aspect if aspects[one.aspect] == 1 else f"{one.aspect}, {one.name}"
            _agreement(benchmark, found, one.aspect, label)


def _agreement(benchmark, responses, aspect, label):
    """Print how well one prompt's scores agree with people's."""
    frame = benchmark.with_scores(nj.judging.wide({"judge": nj.item_scores(responses)}))
    frame = frame[frame["item_id"].isin(responses["item_id"])]
    for level in ("sample", "dataset"):
        found = nj.correlation(frame, f"judge:{aspect}", aspect, level=level)
        rests_on = f"n {found.n}, left out {found.n_skipped}"
        print(f"{label:20} {level:8} Spearman {found.value:6.3f}  ({rests_on})")
