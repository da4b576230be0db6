"""The command `rerun`: a judge asked for the papers' rows, with one page of what it gives."""

import json

import click
import pandas as pd

import nlgjudge as nj
from nlgjudge import workflow
from nlgjudge.cli import FAILED, STATUS, UNFINISHED, cli, command, echo
from nlgjudge.cli.files import STORE, open_store
from nlgjudge.data.paths import SAMPLE_NOTICE, workplace
from nlgjudge.judging.judge import Budget, check_amounts
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.replies import FALLBACK_SAMPLES
from nlgjudge.ledger import ledger
from nlgjudge.namespaces import optional
from nlgjudge.notebook import rerun_requests, reruns

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


@command(
    cli,
    "rerun",
    "nlgjudge rerun geval chatgpt/table6 --judge openai:gpt-4o-mini --price 0.15 0.60 --plan\n"
    "nlgjudge rerun geval --judge G-EVAL-3.5=openai:gpt-4o-mini --judge G-EVAL-4=openai:gpt-4o",
)
@click.argument("targets", nargs=-1, metavar="[PAPER[/TABLE]]...")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    required=True,
    metavar="[ROW=]JUDGE",
    help="openai:MODEL, replay:RECORDING, replay:STORE.sqlite:MODEL, surface, or several joined by +, for their "
    "mean; with ROW= for that published row alone. Again for more.",
)
@click.option("--samples", type=click.IntRange(1), help="Each protocol's own by default.")
@click.option(
    "--without-logprobs",
    is_flag=True,
    help="The model gives no token probabilities: estimate them from samples, as G-Eval does.",
)
@click.option("--keep", is_flag=True, help="Copy a whole run to paper_tables/reruns/.")
@click.option("--without-notebooks", is_flag=True, help="Don't run the tables' notebooks.")
@click.option("--temperature", type=float, help="Default: the protocol's, or the server's.")
@click.option("--max-tokens", type=int, help="Of a reply.")
@click.option(
    "--set",
    "sampling",
    multiple=True,
    metavar="KEY=VALUE",
    callback=request_parameters,
    help="Any other parameter of the request, as seed=1 or top_p=0.5; the value may be JSON. Again for more.",
)
@click.option(
    "--pattern",
    callback=checked_pattern,
    help="Where replies write a rating in a way of their own: a regular expression with one group around it, "
    "as 'Verdict: (\\d)'.",
)
@click.option("--limit", type=int, default=0, help="Documents; 0, the default, for all.")
@click.option(
    "--source",
    type=click.Choice(["auto", "real", "sample"]),
    default="auto",
    show_default=True,
    help="With auto, a served model is asked about real data only; sample asks about the sample.",
)
@click.option("--plan", is_flag=True, help="Show what it would take; ask nothing.")
@click.option(
    "--price",
    type=(float, float),
    metavar="IN OUT",
    help="Of a million prompt and a million completion tokens.",
)
@click.option("--max-cost", type=float, help="Stop at this cost of all judges together.")
@click.option("--max-calls", type=click.IntRange(0), help="Stop after this many calls of all.")
@click.option("--concurrency", type=click.IntRange(1), default=64, help="Calls at once.  [64]")
@click.option("--timeout", type=POSITIVE, default=60, help="Seconds until a call fails.  [60]")
@STORE
def rerun(targets, judges, limit, source, plan, keep, without_notebooks, store, **options):
    """Ask a judge for every row that a model produced in the papers' tables.

    Each row is asked under its paper's protocol; the correlations are shown next to the published
    ones. All tables of all papers by default. Results go to build/reruns/JUDGE/; runs of the same
    judge add up. --limit 20 is a cheap rehearsal.
    """
    if not plan:
        optional("papermill", "notebooks")  # for the page of results; said before asking
    names = ("samples", "temperature", "max_tokens", "pattern", "sampling")
    request = {name: options.pop(name) for name in names}
    request["logprobs"] = False if options.pop("without_logprobs") else None
    request = {name: value for name, value in request.items() if value not in (None, {}, "")}
    check_amounts(price=options["price"], max_cost=options["max_cost"])
    tables = rerun_requests.tables_of_targets(targets)
    by_run = rerun_requests.judges_by_row(judges, tables)
    tables, is_sample = available(tables, by_run[0], source)
    names = [name for named in by_run for name in named.values()]
    if is_sample and refuse_sample(source, plan, names):
        return FAILED
    budget = Budget(options.pop("max_cost"), options.pop("max_calls"))
    with open_store(store) as opened_store:
        opened = open_judges(names, opened_store, budget, **options)

        def ask(named, paper, plan_only=False):
            rows = rerun_requests.rows_of(paper, tables[paper])
            return nj.rerun(
                paper,
                tables[paper],
                {row: opened[named[row]] for row in rows if row in named},
                source=source,
                limit=limit,
                price=options["price"],
                options=request,
                notebook="rerun",
                plan_only=plan_only,
                report=lambda line: echo(f"{paper}: {line}", err=True),
            )

        def planned():
            runs = [ask(named, paper, plan_only=True) for named in by_run for paper in tables]
            plans = pd.concat(
                [run.plan for run in runs], keys=[*tables] * len(by_run), names=["paper"]
            )
            return plans.reset_index(), dict.fromkeys(run.notice for run in runs if run.notice)

        plans, notices = planned()
        report_plan(plans, opened)
        for notice in notices:
            echo(f"plan: {notice}")
        if plan:
            return 0
        budget.left = lambda: planned()[0].sum(numeric_only=True)
        statuses = []
        for named in by_run:
            runs = {}
            for paper in tables:
                runs[paper] = ask(named, paper)
                if runs[paper].stopped:
                    break
            own = {name: opened[name] for name in named.values()}
            folder = reruns.place([*own], request, limit, is_sample)
            statuses.append(report(runs, own.values(), folder))
            if store and not without_notebooks:
                echo(
                    "the notebooks are left out: they read the usual store, and --store names another"
                )
            elif statuses[-1] == 0 and not without_notebooks:
                settings = {
                    "limit": limit,
                    "options": request,
                    "source": source if is_sample else "",
                }
                settings = {name: value for name, value in settings.items() if value}
                run_notebooks(tables, named, settings, folder)
            if keep and statuses[-1] == 0:
                statuses.append(keep_run(runs, folder))
            if UNFINISHED in statuses:
                break
    return max(statuses)


def report(runs, judges, folder):
    """Save what a run gave, show it, and say why it is not complete; the exit status."""
    reruns.save(runs, folder)
    for paper, run in runs.items():
        echo("\n\n".join([*run.sentences(), f"{paper}: {run.notice}\n"]))
    status = report_end(judges, "; ".join(run.stopped for run in runs.values() if run.stopped))
    workflow.run_page(folder)
    echo(f"all tables on one page: {folder / 'index.html'}")
    return status


def available(tables, named, source):
    """Tables of each paper whose data are here, and whether only the sample is; never both."""
    needed = {}
    for paper, artefacts in tables.items():
        parts = rerun_requests.parts_of(paper, artefacts)
        needed[paper] = [part for part in parts if part.row.row in named]
    benchmarks, absent = rerun_requests.benchmarks_of(sum(needed.values(), []), source)
    if absent:
        echo(f"left out because the data are not here: {', '.join(absent)}")
    here = {
        paper: tables[paper]
        for paper, parts in needed.items()
        if any(part.scope.benchmark in benchmarks for part in parts)
    }
    return here, all(benchmark.is_sample for benchmark in benchmarks.values())


def run_notebooks(tables, named, settings, folder):
    """Run the tables' notebooks with the stored replies, each with the judges of its own rows."""
    results = reruns.read_rerun(folder)
    for paper, artefacts in tables.items():
        for name in workflow.notebooks_of(paper, artefacts):
            own = [table for table in artefacts if table in name.split("_")]
            judge = {row: named[row] for row in rerun_requests.rows_of(paper, own) if row in named}
            sentences = [text for table in own for text in results.sentences(paper, table)]
            sentences += results.notice.splitlines()
            workflow.run_notebook(name, {"judge": judge, **settings}, folder, sentences)
            echo(f"ran {name}")


def keep_run(runs, folder):
    """Copy a run that may be kept; the exit status."""
    refused = {paper: run.notice for paper, run in runs.items() if not run.enters}
    for paper, notice in refused.items():
        echo(f"nlgjudge: {paper} is not kept: {notice}", err=True)
    if refused:
        return FAILED
    cells = pd.concat([run.cells for run in runs.values()], ignore_index=True)
    path = ledger.keep(folder.name, cells)
    echo(f"kept in {path.relative_to(workplace())}")
    return 0


def open_judges(names, store, budget, *, price, **live):
    """Make the judges that a command names, each once, with one budget for all; `live` is for served ones."""
    common = {"store": store, "price": price, "budget": budget}
    judges = {}
    for name in dict.fromkeys(names):
        served = {"progress": True, **live} if "openai:" in name else {}
        judges[name] = nj.get_judge(name, **common, **served)
    return judges


def refuse_sample(source, planned, names):
    """Say that only the sample is here, and whether a served judge may not be asked about it."""
    echo(f"SAMPLE: {SAMPLE_NOTICE}; `nlgjudge data fetch` downloads the real data")
    is_served = any("openai:" in name for name in names)
    refused = source == "auto" and not planned and is_served
    if refused:
        message = "nothing was asked. Give --source sample to ask about the sample"
        echo(f"nlgjudge: {message}", err=True)
    return refused


def report_plan(plan, judges):
    """Print what each row takes, and all together."""
    if not len(plan) or not any(judge.asks for judge in judges.values()):
        echo(f"plan: {', '.join(judges)} takes no call")
        return
    total = plan.select_dtypes("number").sum()
    columns = [name for name in plan if not name.endswith("_logprobs")]
    if len(judges) == 1:
        columns.remove("judge")
    echo(plan[columns].to_string(index=False, formatters={"cost": "{:.4f}".format}))
    echo(
        f"plan: {total['calls']:,.0f} calls, {total['prompt_tokens']:,.0f} prompt tokens, "
        f"{total['completion_tokens']:,.0f} completion tokens, {total['cached']:,.0f} of "
        f"{total['samples']:,.0f} replies stored already or shared, {_cost(total.get('cost'))}"
    )
    if "tokens_without_logprobs" in total:
        echo(
            f"plan: if the server gives no token probabilities, {FALLBACK_SAMPLES} replies an item estimate "
            f"them: {total['tokens_without_logprobs']:,.0f} completion tokens, "
            f"{_cost(total.get('cost_without_logprobs'))}"
        )


def _cost(cost):
    return "cost unknown (give --price)" if cost is None else f"cost {cost:.4f}"


def report_end(judges, unread):
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
        echo(f"nlgjudge: {message}", err=True)
    if stopped:
        return UNFINISHED
    return FAILED if messages else 0


rerun.epilog += f"\n\n{STATUS}"
