"""What every command shares that asks a judge: its options, its judge, its store."""

import warnings
from contextlib import contextmanager
from functools import reduce

import click

import nlgjudge as nj
from nlgjudge.cli import FAILED
from nlgjudge.cli.files import STORE, open_store
from nlgjudge.data.choices import unknown

JUDGES = (
    "openai:MODEL, batch:MODEL, replay:RECORDING, replay:STORE.sqlite:MODEL[@ENDPOINT] or surface"
)
KINDS = ("openai", "batch", "replay", "surface")
_SECONDS = click.FloatRange(0, min_open=True)
# What a command may use and pay; `open_judge` takes all but `plan` and `store`.
SPENDING = (
    click.option("--plan", is_flag=True, help="Show what it would take; ask nothing."),
    click.option(
        "--price",
        type=(float, float),
        metavar="IN OUT",
        help="Of a million prompt and a million completion tokens.",
    ),
    click.option("--max-cost", type=float, help="Stop at this cost, in the price's currency."),
    click.option("--max-calls", type=int, help="Stop after this many calls."),
    click.option("--per-minute", type=float, help="Calls per minute at most."),
    click.option("--tokens-per-minute", type=float, help="Prompt tokens per minute at most."),
    click.option(
        "--concurrency",
        type=click.IntRange(1),
        default=64,
        show_default=True,
        help="Calls in flight at once.",
    ),
    click.option(
        "--timeout",
        type=_SECONDS,
        default=60,
        show_default=True,
        help="Seconds of silence before a call is tried again.",
    ),
    click.option(
        "--deadline",
        type=_SECONDS,
        default=900,
        show_default=True,
        help="Seconds for a call with all its tries.",
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


def open_judge(spec, store, *, price, max_cost, max_calls, items=None, policy="nan", **settings):
    """Make the judge that a command names, with the limits of its options.

    Parameters
    ----------
    spec : str
        As for `nlgjudge.get_judge`.
    store : nlgjudge.judging.store.Store
    price : (float, float) or None
    max_cost, max_calls : float or None, int or None
    items : pandas.DataFrame, optional
        For recordings that name texts instead of keys.
    policy : str
        Any but ``"nan"`` takes the first reply as it came, as upstream's scripts did.
    **settings
        The other options of `SPENDING`.

    Raises
    ------
    ValueError
        For an unknown kind of judge.
    """
    kind = spec.partition(":")[0]
    if kind not in KINDS:
        raise ValueError(f"judge {spec!r}: {unknown('kind of judge', kind, KINDS)}; write {JUDGES}")
    if kind == "batch":
        return nj.get_judge(spec, store=store, price=price)
    if kind != "openai":
        return nj.get_judge(spec, items=items, store=store)
    rates = settings.pop("per_minute"), settings.pop("tokens_per_minute")
    limits = nj.judging.Limits(max_calls, max_cost, *rates, price)
    again = policy == "nan"
    return nj.get_judge(
        spec, store=store, limits=limits, progress=True, ask_again=again, **settings
    )


def refuse_sample(source, planned, judges):
    """Whether a served judge would be asked about the sample without being told to; says so."""
    served = any(name.startswith(("openai:", "batch:")) for name in judges)
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
    if not getattr(judge, "failures", 0):
        return 0
    most, _ = judge.reasons.most_common(1)[0]
    click.echo(
        f"nlgjudge: {judge.name}: {judge.failures} items failed, most often with: {most}; the same "
        "command asks for them again",
        err=True,
    )
    return FAILED
