"""The command `judge`, and what every command shares that asks a judge."""

from collections import Counter
from functools import partial
from pathlib import Path

import click
import pandas as pd

import nlgjudge as nj
from nlgjudge.cli import FAILED, STATUS, UNFINISHED, cli, command
from nlgjudge.cli.files import FILE
from nlgjudge.cli.opening import (
    LIMIT,
    PATTERN,
    SET,
    SOURCE,
    SPENDING,
    UNREAD,
    cost_in_words,
    open_judges,
    options,
    refuse_sample,
    report_estimate,
    report_failures,
    store_of_run,
)
from nlgjudge.data.benchmarks import BENCHMARKS
from nlgjudge.data.choices import check_known, first, unknown
from nlgjudge.data.sample import task
from nlgjudge.judging import prompts as library
from nlgjudge.judging.count import COUNTS, assumption, plan
from nlgjudge.judging.errors import all_or_waiting
from nlgjudge.judging.reading import POLICIES
from nlgjudge.judging.run import SAMPLING, requests, sampling_settings
from nlgjudge.judging.tasks import NOT_ASKED

_FIELDS = {"source", "hypothesis", "reference", "context"}  # what an item fills in


@command(
    cli,
    "judge",
    "nlgjudge judge summeval openai:gpt-4o-mini --prompts geval/summarization/ \\\n"
    "    --price 0.15 0.60 --max-cost 1 --limit 50 -o replies.csv --plan\n"
    "nlgjudge judge summeval surface --aspect fluency --scale 1 5 \\\n"
    "    --prompts 'Rate the fluency from 1 to 5: {{hypothesis}}'",
)
@click.argument("benchmark")
@click.argument("judge")
@click.option(
    "--prompts",
    "given",
    multiple=True,
    required=True,
    metavar="PROMPT",
    help="A name; a beginning that several share, as geval/summarization/; a text with slots, as "
    "'{{hypothesis}}'; or a file with such a text. Again for more.",
)
@click.option("--aspect", help="What a text of your own asks about.")
@click.option(
    "--scale", type=(float, float), metavar="LOW HIGH", help="Its ratings.  [default: 1 5]"
)
@click.option("--form", help="How replies to it are read: form, stars, number, yes_no or json.")
@PATTERN
@click.option(
    "--samples", type=click.IntRange(1), default=1, show_default=True, help="Replies an item."
)
@click.option("--temperature", type=float, help="The server's own by default.")
@click.option("--top-p", type=float, help="The server's own by default.")
@click.option("--max-tokens", type=int, help="Of a reply.")
@click.option(
    "--logprobs",
    is_flag=True,
    default=None,
    help="Weigh ratings by token probability (G-Eval, eq. 1).",
)
@SET
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    default="nan",
    show_default=True,
    help="What a reply without a rating counts as: nothing, or as in upstream's scripts.",
)
@click.option("-o", "--output", type=FILE, help="Write the replies, a row each, to this CSV file.")
@LIMIT
@SOURCE
@options(SPENDING)
def rate(
    benchmark, judge, given, aspect, scale, form, pattern, output, limit, source, store, **asked
):
    """Let JUDGE rate the items of BENCHMARK, and compare its ratings with people's.

    JUDGE is openai:MODEL, batch:MODEL, replay:RECORDING, replay:STORE.sqlite:MODEL or surface, or
    several of them joined by +, for their mean. With --plan nothing is asked.
    """
    planned = asked.pop("plan")
    settings = sampling_settings(**{name: asked.pop(name) for name in (*SAMPLING, "sampling")})
    samples, policy = asked.pop("samples"), asked.pop("policy")
    check_known("benchmark", benchmark, BENCHMARKS, most=len(BENCHMARKS))
    rated = nj.load(benchmark, source)
    if rated.is_sample:
        click.echo(
            f"SAMPLE: {rated.notice}; `nlgjudge data fetch {benchmark}` downloads the real data"
        )
        if refuse_sample(source, planned, [judge]):
            return FAILED
    chosen = chosen_prompts(given, rated.aspects, aspect, scale, form)
    if pattern:
        chosen = [one._replace(pattern=pattern) for one in chosen]
    items = first(rated.items, limit)
    for one in chosen:
        library.check_fit(one, items, task(benchmark))
    with store_of_run(store) as opened_store:
        judges, budget = open_judges([judge], opened_store, items=items, **asked)
        opened = judges[judge]
        tasks = requests(items, chosen, samples=samples, settings=settings)
        report_plan(opened, tasks, budget)
        if planned:
            return 0
        for part in tasks:  # so that all prompts go out before one is waited for
            opened.submit(part)
        how = {"samples": samples, "policy": policy, "sampling": settings}
        found = all_or_waiting(
            partial(nj.judge_items, items, [one], opened, **how) for one in chosen
        )
        parts = [part.assign(prompt=one.name) for part, one in zip(found, chosen)]
        responses = pd.concat(parts, ignore_index=True)
        if output:
            responses.to_csv(output, index=False)
        status = report_run(opened, responses, asked["price"], rated.notice)
    report_agreement(rated, chosen, parts)
    return status


def chosen_prompts(given, aspects, aspect, scale, form):
    """Prompts by name, by beginning, or made of a text or a file.

    Parameters
    ----------
    given : sequence of str
    aspects : list of str
        That people rated.
    aspect, scale, form : optional
        Of a text.

    Returns
    -------
    list of nlgjudge.judging.prompts.Prompt

    Raises
    ------
    ValueError
        For what is none of these, or a text without an aspect.
    """
    found = []
    texts = 0
    for one in given:
        is_text = "{{" in one or "\n" in one
        if not is_text and not Path(one).is_file():
            found += _named(one)
            continue
        texts += 1
        if aspect not in aspects:
            raise ValueError(
                f"a prompt's own text needs --aspect: {unknown('aspect', aspect or '', aspects)}"
            )
        low, high = (1, 5) if scale is None else scale
        if low >= high:
            raise ValueError(
                f"scale {low:g} {high:g}: expected the lowest rating first, then the highest"
            )
        text = one if is_text else Path(one).read_text(encoding="utf-8")
        found.append(library.as_prompt(text, aspect=aspect, scale=(low, high), form=form or "form"))
    if not texts and (aspect or scale or form):
        raise ValueError(
            "--aspect, --scale and --form are for a prompt's own text; a prompt by name has its own"
        )
    return list({(one.name, one.digest): one for one in found}.values())


def _named(given):
    """The prompt of a name, or those that rate an item among the ones whose names begin so."""
    known = library.names()
    if given in known or given.startswith("upstream:"):
        return [library.prompt(given)]
    begin = [library.prompt(name) for name in known if name.startswith(given)]
    rating = [
        one for one in begin if one.scale and {*one.slots.values()} <= _FIELDS | {*one.constants}
    ]
    if begin and not rating:
        raise ValueError(
            f"none of the prompts that begin with {given!r} asks for a rating of an item"
        )
    if not begin:
        raise ValueError(
            f"{unknown('prompt', given, known)} (`nlgjudge prompts list` names all; there is no "
            "file of this name either)"
        )
    return rating


def report_plan(judge, tasks, budget):
    """Print what a run would take; refuse a batch that would go over the budget."""
    if not judge.asks:
        click.echo(f"plan: {judge.name} takes no call")
        return
    plans = pd.DataFrame([plan(judge, part) for part in tasks])
    total = plans[[*COUNTS]].sum()
    said = [f"{name} {value}" for name, value in total.items()]
    click.echo(f"plan: {', '.join([*said, cost_in_words(plans)])}")
    report_estimate(plans)
    asking = [one for one in judge.judges if one.asks]
    lengths = [assumption(one, next(iter(part))) for part in tasks if len(part) for one in asking]
    for length in dict.fromkeys(lengths):
        click.echo(f"plan: counted with {length}, and four characters a token of a prompt")
    samples = max(part.n for part in tasks)
    if samples > 1:
        click.echo(
            "plan: counted as one call an item; where the server gives one sample a call, a prompt "
            f"is paid {samples} times"
        )
    if "batch:" in judge.name:
        budget.refuse(total["calls"], None if plans["cost"].isna().all() else plans["cost"].sum())


def report_run(judge, responses, price, notice):
    """Print what came of a run, and what it took; the exit status."""
    click.echo(f"{nj.judging.reply_counts(responses, examples=3)} {notice}".strip())
    if judge.spent:
        said = [f"{name} {value:.0f}" for name, value in judge.spent.items()]
        if price is not None:
            said.append(f"cost {judge.cost:.4f}")
        click.echo("spent: " + ", ".join(said))
    status = report_failures(judge)
    unasked = (responses["reason"] == NOT_ASKED).sum()
    if unasked:
        click.echo(
            f"nlgjudge: stopped after {len(responses) - unasked} of {len(responses)} replies: "
            f"{judge.stopped}; the same command goes on from there, with a limit of its own",
            err=True,
        )
        return UNFINISHED
    if not responses["score"].notna().any():
        click.echo(f"nlgjudge: {UNREAD}", err=True)
        return FAILED
    return status


def report_agreement(benchmark, prompts, parts):
    """Print how well each prompt's scores agree with people's, where people rated its aspect."""
    aspects = Counter(one.aspect for one in prompts)
    for one, responses in zip(prompts, parts):
        if one.aspect not in benchmark.aspects:
            click.echo(
                f"{one.name}: {benchmark.name} has no ratings of {one.aspect or 'its aspect'}"
            )
            continue
        if not responses["score"].notna().any():
            continue
        label = one.aspect if aspects[one.aspect] == 1 else f"{one.aspect}, {one.name}"
        frame = benchmark.with_scores(nj.judging.wide({"judge": nj.item_scores(responses)}))
        frame = frame[frame["item_id"].isin(responses["item_id"])]
        for level in ("sample", "dataset"):
            found = nj.correlation(frame, f"judge:{one.aspect}", one.aspect, level=level)
            click.echo(
                f"{label:20} {level:8} Spearman {found.value:6.3f}  "
                f"(n {found.n}, left out {found.n_skipped}, replies parsed "
                f"{responses['score'].notna().sum()} of {len(responses)})"
            )


rate.epilog += f"\n\n{STATUS}"
