"""What `judge` and `rerun` share: options of a request and of its cost, the judges, the plan and the end of a run."""

import json

import click

import nlgjudge as nj
from nlgjudge.cli import FAILED, UNFINISHED
from nlgjudge.cli.files import STORE
from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.judging.judge import Budget
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.served import FALLBACK_SAMPLES

UNREAD = "no reply could be read; where they hold ratings, say with --pattern how these are written"
POSITIVE = click.FloatRange(0, min_open=True)


def request_parameters(context, option, texts):
    """Parameters of a request from ``KEY=VALUE``; a value that is JSON is read as such."""
    parameters = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"expected KEY=VALUE, as seed=1; got {text!r}")
        try:
            parameters[name] = json.loads(value)
        except ValueError:
            parameters[name] = value
    return parameters


def checked_pattern(context, option, pattern):
    """A regular expression for ratings; ValueError for one without a group, or none at all."""
    Reading(pattern=pattern or "").read("")
    return pattern


OPTIONS = (
    click.option("--temperature", type=float, help="Default: the protocol's, or the server's."),
    click.option("--max-tokens", type=int, help="Of a reply."),
    click.option(
        "--set",
        "sampling",
        multiple=True,
        metavar="KEY=VALUE",
        callback=request_parameters,
        help="Any other parameter of the request, as seed=1 or top_p=0.5; the value may be JSON. Again for more.",
    ),
    click.option(
        "--pattern",
        callback=checked_pattern,
        help="Where replies write a rating in a way of their own: a regular expression with one group around it, "
        "as 'Verdict: (\\d)'.",
    ),
    click.option("--limit", type=int, default=0, help="Documents; 0, the default, for all."),
    click.option(
        "--source",
        type=click.Choice(["auto", "real", "sample"]),
        default="auto",
        show_default=True,
        help="With auto, a served model is asked about real data only; sample asks about the sample.",
    ),
    click.option("--plan", is_flag=True, help="Show what it would take; ask nothing."),
    click.option(
        "--price",
        type=(float, float),
        metavar="IN OUT",
        help="Of a million prompt and a million completion tokens.",
    ),
    click.option("--max-cost", type=float, help="Stop at this cost of all judges together."),
    click.option("--max-calls", type=click.IntRange(0), help="Stop after this many calls of all."),
    click.option("--concurrency", type=click.IntRange(1), default=64, help="Calls at once.  [64]"),
    click.option("--timeout", type=POSITIVE, default=60, help="Seconds until a call fails.  [60]"),
    STORE,
)


def judge_options(function):
    """Add the options of a command that asks a judge."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def open_judges(names, store, *, max_cost, max_calls, price, items=None, **live):
    """Make the judges that a command names, each once, with one budget for all; `live` is for served ones."""
    budget = Budget(max_cost, max_calls)
    common = {"items": items, "store": store, "price": price, "budget": budget}
    judges = {}
    for name in dict.fromkeys(names):
        served = {"progress": True, **live} if "openai:" in name else {}
        judges[name] = nj.get_judge(name, **common, **served)
    return judges


def refuse_sample(source, planned, names):
    """Say that only the sample is here, and whether a served judge may not be asked about it."""
    click.echo(f"SAMPLE: {SAMPLE_NOTICE}; `nlgjudge data fetch` downloads the real data")
    is_served = any("openai:" in name for name in names)
    refused = source == "auto" and not planned and is_served
    if refused:
        message = "nothing was asked. Give --source sample to ask about the sample"
        click.echo(f"nlgjudge: {message}", err=True)
    return refused


def report_plan(plan, judges):
    """Print what each prompt or row takes, and all together."""
    if not len(plan) or not any(judge.asks for judge in judges.values()):
        click.echo(f"plan: {', '.join(judges)} takes no call")
        return
    total = plan.select_dtypes("number").sum()
    columns = [name for name in plan if name != "judge" and not name.endswith("_logprobs")]
    click.echo(plan[columns].to_string(index=False, formatters={"cost": "{:.4f}".format}))
    click.echo(
        f"plan: {total['calls']:,.0f} calls, {total['prompt_tokens']:,.0f} prompt tokens, "
        f"{total['completion_tokens']:,.0f} completion tokens, {total['cached']:,.0f} of "
        f"{total['samples']:,.0f} replies stored already or shared, {_cost(total.get('cost'))}"
    )
    if "tokens_without_logprobs" in total:
        click.echo(
            f"plan: if the server gives no token probabilities, {FALLBACK_SAMPLES} replies an item estimate "
            f"them: {total['tokens_without_logprobs']:,.0f} completion tokens, "
            f"{_cost(total.get('cost_without_logprobs'))}"
        )


def _cost(cost):
    return "cost unknown (give --price)" if cost is None else f"cost {cost:.4f}"


def report_end(judges, unread=""):
    """Print why a run is not complete; the exit status."""
    messages = [unread] if unread else []
    for judge in judges:
        if judge.failures:
            ((most, _),) = judge.reasons.most_common(1)
            messages.append(
                f"{judge.name}: {judge.failures} requests failed, most often with: {most}; the same command "
                "asks for them again"
            )
    stopped = [judge.stopped for judge in judges if judge.stopped]
    messages += [f"stopped: {why}; the same command goes on from there" for why in stopped[:1]]
    for message in messages:
        click.echo(f"nlgjudge: {message}", err=True)
    if stopped:
        return UNFINISHED
    return FAILED if messages else 0
