"""What every command shares that asks a judge: its options, its judge, its store."""

import json
import warnings
from contextlib import contextmanager
from functools import reduce

import click

import nlgjudge as nj
from nlgjudge.cli import FAILED
from nlgjudge.cli.files import STORE, open_store
from nlgjudge.judging.judge import Budget
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.served import FALLBACK_SAMPLES

JUDGES = (
    "openai:MODEL, batch:MODEL, replay:RECORDING, replay:STORE.sqlite:MODEL[@ENDPOINT] or surface; "
    "JUDGE+JUDGE is their mean"
)
# What a command may use and pay; `open_judges` takes all but `plan` and `store`.
SPENDING = (
    click.option("--plan", is_flag=True, help="Show what it would take; ask nothing."),
    click.option(
        "--price",
        type=(float, float),
        metavar="IN OUT",
        help="Of a million prompt and a million completion tokens.",
    ),
    click.option(
        "--max-cost", type=float, help="Stop at this cost of all judges, in the price's currency."
    ),
    click.option(
        "--max-calls", type=click.IntRange(0), help="Stop after this many calls of all judges."
    ),
    click.option(
        "--per-minute", type=click.FloatRange(0, min_open=True), help="Calls per minute at most."
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(1),
        default=64,
        show_default=True,
        help="Calls in flight at once.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        default=60,
        show_default=True,
        help="Seconds of silence before a call is tried again.",
    ),
    click.option(
        "--despite-batches",
        is_flag=True,
        help="Ask, and pay, also for requests in an open batch of the same store.",
    ),
    STORE,
)
SOURCE = click.option(
    "--source",
    type=click.Choice(["auto", "real", "sample"]),
    default="auto",
    show_default=True,
    help="With auto, a served model is asked about real data only; sample asks about the sample.",
)
SET = click.option(
    "--set",
    "sampling",
    multiple=True,
    metavar="KEY=VALUE",
    callback=lambda _, __, given: request_parameters(given),
    help="Any other parameter of the request, as seed=1 or reasoning_effort=low; the value may be JSON. "
    "Again for more.",
)
UNREAD = "no reply could be read; where they hold ratings, say with --pattern how these are written"
PATTERN = click.option(
    "--pattern",
    callback=lambda _, __, given: checked_pattern(given),
    help="Where replies write a rating in a way of their own: a regular expression with one group around it, as "
    "'Verdict: (\\d)'.",
)
LIMIT = click.option(
    "--limit", type=int, default=0, show_default=True, help="Documents; 0 for all."
)


def options(listed):
    """Several options as one decorator.

    Parameters
    ----------
    listed : sequence of callable

    Returns
    -------
    callable
    """
    return lambda function: reduce(lambda made, option: option(made), reversed(listed), function)


def checked_pattern(given):
    """A regular expression for ratings; ValueError for one without a group, or none at all."""
    Reading(pattern=given or "").read("")
    return given


def request_parameters(given):
    """Parameters of a request from ``KEY=VALUE``; a value that is JSON is read as such.

    Parameters
    ----------
    given : sequence of str

    Returns
    -------
    dict

    Raises
    ------
    click.BadParameter
        For something else.

    Examples
    --------
    >>> request_parameters(["seed=1", "reasoning_effort=low"])
    {'seed': 1, 'reasoning_effort': 'low'}
    """
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"expected KEY=VALUE, as seed=1; got {one!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def open_judges(names, store, *, items=None, **asked):
    """Make the judges that a command names, with the options of `SPENDING` and one budget for all.

    Parameters
    ----------
    names : iterable of str
        As for `nlgjudge.get_judge`.
    store : nlgjudge.judging.store.Store
    items : pandas.DataFrame, optional
        For recordings that name texts instead of keys.
    **asked
        `price, max_cost, max_calls, per_minute, concurrency, timeout, despite_batches`.

    Returns
    -------
    (dict of str to nlgjudge.judging.judge.Judge, nlgjudge.judging.judge.Budget)
        By name, each once.

    Raises
    ------
    ValueError
        For an unknown kind of judge.
    """
    budget = Budget(asked.pop("max_cost"), asked.pop("max_calls"))
    live = {name: asked.pop(name) for name in ("concurrency", "timeout", "despite_batches")}
    live["progress"] = True
    asked |= {"items": items, "store": store, "budget": budget}
    judges = {
        name: nj.get_judge(name, **asked, **(live if "openai:" in name else {}))
        for name in dict.fromkeys(names)
    }
    return judges, budget


def cost_in_words(plan, name="cost"):
    """What the parts of a plan cost together.

    Parameters
    ----------
    plan : pandas.DataFrame
        `cost`, and the column `name`, which is missing where it is the same.
    name : str

    Returns
    -------
    str
    """
    if "cost" not in plan or plan["cost"].isna().all():
        return "cost unknown (give --price)"
    return f"cost {plan[name].fillna(plan['cost']).sum():.4f}"


def report_estimate(plan):
    """Print what a plan takes if the server gives no token probabilities.

    Parameters
    ----------
    plan : pandas.DataFrame
        As from `nlgjudge.judge_items`; without `tokens_without_logprobs` nothing is printed.
    """
    if "tokens_without_logprobs" not in plan:
        return
    tokens = plan["tokens_without_logprobs"].fillna(plan["completion_tokens"]).sum()
    click.echo(
        f"plan: if the server gives no token probabilities, {FALLBACK_SAMPLES} replies an item estimate "
        f"them: {tokens:,.0f} completion tokens, {cost_in_words(plan, 'cost_without_logprobs')}"
    )


def refuse_sample(source, planned, judges):
    """Whether a served judge would be asked about the sample without being told to; says so."""
    served = any("openai:" in name or "batch:" in name for name in judges)
    if source != "auto" or planned or not served:
        return False
    click.echo(
        "nlgjudge: nothing was asked. Give --source sample to ask about the sample", err=True
    )
    return True


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
    with open_store(path) as store, warnings.catch_warnings():
        warnings.simplefilter("once", UserWarning)
        warnings.showwarning = lambda message, *_, **__: click.echo(f"note: {message}", err=True)
        before = store.totals()["replies"]
        try:
            yield store
        except KeyboardInterrupt:
            now = store.totals()["replies"]
            raise KeyboardInterrupt(
                f"interrupted: {now - before} replies of this run are stored, {now} in all, "
                f"in {store.path}; the same command goes on from there"
            ) from None


def report_failures(judge):
    """Print how many items a judge left unanswered, and return the exit status."""
    if not judge.failures:
        return 0
    most, _ = judge.reasons.most_common(1)[0]
    click.echo(
        f"nlgjudge: {judge.name}: {judge.failures} requests failed, most often with: {most}; the same "
        "command asks for them again",
        err=True,
    )
    return FAILED
