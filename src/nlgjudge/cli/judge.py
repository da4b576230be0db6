"""The command `judge`: a judge's ratings of a benchmark, next to people's."""

from pathlib import Path

import click
import pandas as pd

import nlgjudge as nj
from nlgjudge.cli import FAILED, STATUS, cli, command
from nlgjudge.cli.files import FILE, open_store
from nlgjudge.cli.judge_options import (
    UNREAD,
    judge_options,
    open_judges,
    refuse_sample,
    report_end,
    report_plan,
)
from nlgjudge.data.checks import unknown
from nlgjudge.data.sample import task
from nlgjudge.judging import prompts as library
from nlgjudge.judging.scoring import reply_counts


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
    multiple=True,
    required=True,
    metavar="PROMPT",
    help="A name; a folder of prompts, as geval/summarization/; a text with slots, as '{{hypothesis}}'; or a file "
    "with such a text. Again for more.",
)
@click.option("--aspect", help="What a text of your own asks about.")
@click.option("--scale", type=(float, float), metavar="LOW HIGH", help="Its ratings.  [1 5]")
@click.option("--samples", type=click.IntRange(1), default=1, help="Replies an item.  [1]")
@click.option(
    "--logprobs", is_flag=True, help="Weigh ratings by token probability (G-Eval, eq. 1)."
)
@click.option("-o", "--output", type=FILE, help="Write the replies, a row each, to this CSV file.")
@judge_options
def rate(benchmark, judge, prompts, output, limit, source, plan, store, pattern, **options):
    """Let JUDGE rate the items of BENCHMARK, and compare its ratings with people's.

    JUDGE is openai:MODEL, replay:RECORDING, replay:STORE.sqlite:MODEL or surface, or
    several of them joined by +, for their mean. With --plan nothing is asked.
    """
    rated = nj.load(benchmark, source)
    if rated.is_sample and refuse_sample(source, plan, [judge]):
        return FAILED
    items = rated.head(limit).items
    own = {name: value for name in ("aspect", "scale") if (value := options.pop(name)) is not None}
    prompts = [prompt for text in prompts for prompt in read_prompts(text, rated.aspects, own)]
    prompts = {prompt.name: prompt for prompt in prompts}.values()
    prompts = [prompt._replace(pattern=pattern or prompt.pattern) for prompt in prompts]
    for prompt in prompts:
        library.check_fit(prompt, items, task(benchmark))
    names = ("samples", "temperature", "max_tokens", "logprobs", "sampling")
    request = {name: options.pop(name) for name in names}
    with open_store(store) as opened_store:
        judges = open_judges([judge], opened_store, items=items, **options)
        plans = nj.judge_items(items, prompts, judges[judge], **request, plan=True)
        report_plan(plans.reset_index(), judges)
        if plan:
            return 0
        by_prompt = {
            prompt.name: nj.judge_items(items, prompt, judges[judge], **request)
            for prompt in prompts
        }
    responses = pd.concat(by_prompt, names=["prompt"]).reset_index(level="prompt")
    if output:
        responses.to_csv(output, index=False)
    status = report_run(judges[judge], responses, options["price"])
    report_agreement(rated, prompts, by_prompt)
    return status


def read_prompts(text, aspects, own):
    """Prompts of a name, of a folder of names, or of a text or file, which takes its own aspect and scale."""
    if text.endswith("/"):
        names = [name for name in library.names() if name.startswith(text)]
        return [nj.prompt(name) for name in names or [text]]
    is_file = "{{" not in text and Path(text).is_file()
    if is_file:
        text = Path(text).read_text(encoding="utf-8")
    elif "{{" not in text:
        if own:
            raise ValueError(f"--{' and --'.join(own)}: prompt {text} has its own; leave it out")
        return [nj.prompt(text)]
    if own.get("aspect") not in aspects:
        listed = unknown("aspect", own.get("aspect", ""), aspects)
        raise ValueError(f"a prompt's own text needs --aspect: {listed}")
    return [nj.judging.as_prompt(text, **own)]


def report_run(judge, responses, price):
    """Print what came of a run, and what it took; the exit status."""
    click.echo(reply_counts(responses, examples=3))
    if judge.spent:
        amounts = [f"{name} {value:.0f}" for name, value in judge.spent.items()]
        amounts += [f"cost {judge.cost:.4f}"] * bool(price)
        click.echo(f"spent: {', '.join(amounts)}")
    return report_end([judge], "" if responses["score"].notna().any() else UNREAD)


def report_agreement(benchmark, prompts, by_prompt):
    """Print how well each prompt's scores agree with people's, where people rated its aspect."""
    frame = benchmark.with_scores(nj.item_scores(by_prompt))
    frame = frame[frame["item_id"].isin(by_prompt[prompts[0].name]["item_id"])]
    tables = [
        nj.agreement(frame, [prompt.name], [prompt.aspect], levels=("sample", "dataset"))
        for prompt in prompts
        if prompt.aspect in benchmark.aspects
    ]
    if not tables:
        click.echo(f"{benchmark.name} has no ratings of these aspects")
        return
    table = pd.concat(tables).rename(columns={"judge": "prompt"})
    table = table.drop(columns=["metric", "dataset"])
    click.echo(table.to_string(index=False, float_format="{:.3f}".format))


rate.epilog += f"\n\n{STATUS}"
