"""The command `rerun`: a judge asked for the papers' rows, with one page of what it gives."""

import click
import pandas as pd

import nlgjudge as nj
from nlgjudge import workflow
from nlgjudge.cli import FAILED, STATUS, cli, command
from nlgjudge.cli.files import open_store
from nlgjudge.cli.judge_options import (
    UNREAD,
    judge_options,
    open_judges,
    refuse_sample,
    report_end,
    report_plan,
)
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.data.paths import workplace
from nlgjudge.ledger import ledger, rerun_requests, reruns


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
    help="As for the command judge; with ROW= for that published row alone. Again for more.",
)
@click.option("--samples", type=click.IntRange(1), help="Each protocol's own by default.")
@click.option(
    "--without-logprobs",
    is_flag=True,
    help="The model gives no token probabilities: estimate them from samples, as G-Eval does.",
)
@click.option("--keep", is_flag=True, help="Copy a whole run to paper_tables/reruns/.")
@click.option("--without-notebooks", is_flag=True, help="Don't run the tables' notebooks.")
@judge_options
def rerun(targets, judges, limit, source, plan, keep, without_notebooks, store, **options):
    """Ask a judge for every row that a model produced in the papers' tables.

    Each row is asked under its paper's protocol; the correlations are shown next to the published
    ones. All tables of all papers by default. Results go to build/reruns/JUDGE/; runs of the same
    judge add up. --limit 20 is a cheap rehearsal.
    """
    names = ("samples", "temperature", "max_tokens", "pattern", "sampling")
    request = {name: options.pop(name) for name in names}
    request["logprobs"] = False if options.pop("without_logprobs") else None
    request = {name: value for name, value in request.items() if value not in (None, {}, "")}
    if "dhp" in targets:
        options |= {"limit": limit, "source": source, "plan": plan, "store": store, "keep": keep}
        return rerun_dhp(targets, judges, request, **options)
    tables = rerun_requests.tables_of_targets(targets)
    named = rerun_requests.judges_by_row(judges, tables)
    tables, is_sample = available(tables, named, source)
    if is_sample and refuse_sample(source, plan, named.values()):
        return FAILED
    with open_store(store) as opened_store:
        opened = open_judges(named.values(), opened_store, **options)

        def ask(paper, plan_only=False):
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
                report=lambda line: click.echo(f"{paper}: {line}", err=True),
            )

        planned = {paper: ask(paper, plan_only=True) for paper in tables}
        plans = {paper: run.plan for paper, run in planned.items()}
        report_plan(pd.concat(plans, names=["paper"]).reset_index(), opened)
        for notice in filter(None, (run.notice for run in planned.values())):
            click.echo(f"plan: {notice}")
        if plan:
            return 0
        runs = {}
        for paper in tables:
            runs[paper] = ask(paper)
            if runs[paper].stopped:
                break
    folder = reruns.place([*opened], request, limit, is_sample)
    reruns.save(runs, folder)
    for paper, run in runs.items():
        click.echo("\n\n".join([*run.sentences(), f"{paper}: {run.notice}\n"]))
    unread = "; ".join(run.stopped for run in runs.values() if run.stopped)
    if not any(run.counts["read"].any() for run in runs.values()):
        unread = unread or UNREAD
    status = report_end(opened.values(), unread)
    show_page(folder)
    if store and not without_notebooks:
        click.echo(
            "the notebooks are left out: they read the usual store, and --store names another"
        )
    elif status == 0 and not without_notebooks:
        settings = {"limit": limit, "options": request, "source": source if is_sample else ""}
        settings = {name: value for name, value in settings.items() if value}
        run_notebooks(tables, named, settings, folder)
    return keep_run(runs, folder) if keep and status == 0 else status


def rerun_dhp(targets, judges, request, *, limit, source, price, max_cost, **options):
    """Run DHP's discernment with judges, on the page of their other results too."""
    if len(targets) > 1 or any("=" in judge for judge in judges):
        raise ValueError(
            "dhp has no table of correlations: rerun it alone, and give the judge without a row"
        )
    if options["plan"]:
        raise ValueError(
            "dhp has no --plan: its notebook perturbs the texts first. Start with --limit 5"
        )
    for name in ("store", "keep", "max_calls"):
        if options[name]:
            raise ValueError(f"--{name.replace('_', '-')}: dhp's notebook does not have it")
    datasets = nj.paper("dhp").method["tasks"]
    is_sample = source != "real" and all(nj.load(name, source).is_sample for name in datasets)
    if is_sample and refuse_sample(source, False, judges):
        return FAILED
    settings = {"judge": [*judges], "options": request, "source": source, "limit": limit}
    settings |= {"price": [*(price or ())], "max_cost": max_cost}
    settings = {name: value for name, value in settings.items() if value}
    folder = reruns.place(judges, request, limit, is_sample)
    workflow.run_notebook("dhp_discernment", settings, folder)
    click.echo("\n\n".join([*reruns.read_rerun(folder).sentences(), ""]))
    show_page(folder)
    return 0


def show_page(folder):
    """Write the page of a judge's results, and say where it is."""
    workflow.run_page(folder)
    click.echo(f"all tables on one page: {folder / 'index.html'}")


def available(tables, named, source):
    """Tables of each paper whose data are here, and whether only the sample is; never both."""
    samples = {}
    absent = []
    for paper, artefacts in tables.items():
        parts = rerun_requests.parts_of(paper, artefacts)
        parts = [part for part in parts if part.row.row in named]
        if not parts:
            continue
        try:
            benchmarks, left_out = rerun_requests.benchmarks_of(parts, source)
            samples[paper] = all(benchmark.is_sample for benchmark in benchmarks.values())
            absent += left_out
        except DataUnavailable as error:
            absent.append(paper)
            unavailable = error
    if not samples:
        raise unavailable
    real = [paper for paper, is_sample in samples.items() if not is_sample]
    if real:
        absent += [paper for paper in samples if paper not in real]
    if absent:
        click.echo(f"left out because the data are not here: {', '.join(dict.fromkeys(absent))}")
    return {paper: tables[paper] for paper in real or samples}, not real


def run_notebooks(tables, named, settings, folder):
    """Run the tables' notebooks with the stored replies, each with the judges of its own rows."""
    results = reruns.read_rerun(folder)
    for paper, artefacts in tables.items():
        for name in workflow.notebooks_of(paper, artefacts):
            own = [table for table in artefacts if table in name.split("_")]
            judge = {row: named[row] for row in rerun_requests.rows_of(paper, own) if row in named}
            sentences = [text for table in own for text in results.sentences(paper, table)]
            workflow.run_notebook(name, {"judge": judge, **settings}, folder, sentences)
            click.echo(f"ran {name}")


def keep_run(runs, folder):
    """Copy a run that may be kept; the exit status."""
    refused = {paper: run.notice for paper, run in runs.items() if not run.enters}
    for paper, notice in refused.items():
        click.echo(f"nlgjudge: {paper} is not kept: {notice}", err=True)
    if refused:
        return FAILED
    cells = pd.concat([run.cells for run in runs.values()], ignore_index=True)
    path = ledger.keep(folder.name, cells)
    click.echo(f"kept in {path.relative_to(workplace())}")
    return 0


rerun.epilog += f"\n\n{STATUS}"
