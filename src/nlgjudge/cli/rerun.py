"""The command `rerun`: a judge asked for the papers' rows, with one page of what it gives."""

import click
import pandas as pd

import nlgjudge as nj
from nlgjudge import workflow
from nlgjudge.cli import FAILED, STATUS, UNFINISHED, cli, command
from nlgjudge.cli.opening import (
    JUDGES,
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
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.data.paths import SAMPLE_NOTICE, workplace
from nlgjudge.judging.errors import all_or_waiting
from nlgjudge.ledger import ledger, rerun_requests, reruns

FEW_CALLS = 1000  # below, the tables' notebooks take longer than the calls


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
    help=f"{JUDGES}; with ROW= for that published row alone. Again for more.",
)
@click.option("--samples", type=click.IntRange(1), help="Each protocol's own by default.")
@click.option("--temperature", type=float, help="Each protocol's own by default.")
@click.option("--top-p", type=float, help="Each protocol's own by default.")
@click.option("--max-tokens", type=int, help="Each protocol's own by default.")
@SET
@click.option(
    "--without-logprobs",
    is_flag=True,
    help="The model gives no token probabilities: estimate them from samples, as G-Eval does.",
)
@PATTERN
@click.option("--keep", is_flag=True, help="Copy a whole run to paper_tables/reruns/.")
@click.option("--without-notebooks", is_flag=True, help="Don't run the tables' notebooks.")
@LIMIT
@SOURCE
@options(SPENDING)
def rerun(targets, judges, limit, source, keep, without_notebooks, store, **asked):
    """Ask a judge for every row that a model produced in the papers' tables.

    Each row is asked under its paper's protocol; the correlations are shown next to the published
    ones. All tables of all papers by default. Results go to build/reruns/JUDGE/; runs of the same
    judge add up. --limit 20 is a cheap rehearsal.
    """
    planned = asked.pop("plan")
    names = ("samples", "temperature", "top_p", "max_tokens", "pattern")
    given = {name: asked.pop(name) for name in names}
    given["logprobs"] = False if asked.pop("without_logprobs") else None
    given = {name: value for name, value in given.items() if value is not None}
    if sampling := asked.pop("sampling"):
        given["sampling"] = sampling
    if "dhp" in targets:
        if len(targets) > 1:
            raise ValueError(
                "dhp has no table of correlations: rerun it alone, and the others after it"
            )
        ignored = {"--max-calls": asked["max_calls"], "--per-minute": asked["per_minute"]}
        for option, value in (ignored | {"--store": store, "--keep": keep}).items():
            if value:
                raise ValueError(f"{option}: dhp's notebook does not have it; leave it out")
        return rerun_dhp(judges, given, planned, limit, source, asked["price"], asked["max_cost"])
    tables = rerun_requests.tables_of_targets(targets)
    named = rerun_requests.judges_by_row(judges, tables)
    tables, sample = available(tables, named, source)
    if sample:
        click.echo(f"SAMPLE: {SAMPLE_NOTICE}; `nlgjudge data fetch` downloads the real data")
        if refuse_sample(source, planned, named.values()):
            return FAILED
    with store_of_run(store) as opened_store:
        opened, budget = open_judges(named.values(), opened_store, **asked)

        def ask(paper, plan_only=False):
            rows = [row for row in rerun_requests.rows_of(paper, tables[paper]) if row in named]
            return nj.rerun(
                paper,
                tables[paper],
                {row: opened[named[row]] for row in rows},
                source=source,
                limit=limit,
                price=asked["price"],
                options=given,
                notebook="rerun",
                plan_only=plan_only,
                report=lambda line: click.echo(f"{paper}: {line}", err=True),
            )

        plans = pd.concat({paper: ask(paper, plan_only=True).plan for paper in tables})
        report_plan(plans)
        if any("batch:" in name for name in opened):
            budget.refuse(plans["calls"].sum(), plans["cost"].sum() if "cost" in plans else None)
        if planned:
            return 0
        found = {}

        def step(paper):
            if not any(one.stopped for one in found.values()):
                found[paper] = ask(paper)

        all_or_waiting((lambda paper=paper: step(paper)) for paper in tables)
    folder = reruns.place([*opened], given, limit, sample)
    reruns.save(found, folder)
    for paper, one in found.items():
        for said in [*one.sentences(), f"{paper}: {one.notice}"]:
            click.echo(f"{said}\n")
    status = max(report_failures(one) for one in opened.values())
    unread = [one.stopped for one in found.values() if one.stopped]
    if not unread and not any(one.counts["read"].any() for one in found.values()):
        unread = [UNREAD]
    for said in unread:
        click.echo(f"nlgjudge: {said}", err=True)
        status = FAILED
    stopped = [one.stopped for one in opened.values() if one.stopped]
    workflow.run_page(folder)
    click.echo(f"all tables on one page: {folder / 'index.html'}")
    if stopped:
        click.echo(
            f"nlgjudge: stopped: {stopped[0]}; the same command goes on from there", err=True
        )
        return UNFINISHED
    if store and not without_notebooks:
        click.echo(
            "the notebooks are left out: they read the usual store, and --store names another"
        )
    elif status == 0 and not without_notebooks:
        if plans["calls"].sum() < FEW_CALLS:
            click.echo(
                "now the tables' notebooks, which take longer than the calls did; "
                "--without-notebooks leaves them out"
            )
        settings = {"limit": limit, "options": given, "source": source if sample else ""}
        settings = {name: value for name, value in settings.items() if value}
        run_notebooks(tables, named, settings, folder)
    return keep_run(found, folder) if keep else status


def rerun_dhp(judges, given, planned, limit, source, price, max_cost):
    """Run DHP's discernment with judges, on the page of their other results too."""
    from nlgjudge.papers.dhp.perturbing import DATASETS  # no other rerun needs it

    if any("=" in one for one in judges):
        raise ValueError("--judge ROW=JUDGE: dhp has no rows of a table; give the judge alone")
    if planned:
        raise ValueError(
            "dhp has no --plan: its notebook perturbs the texts first, and shows the plan for any model without a "
            "judge (papermill notebooks/dhp_discernment.ipynb out.ipynb --cwd notebooks). Start with --limit 5"
        )
    sample = source != "real" and all(nj.load(name, source).is_sample for name in DATASETS)
    if sample:
        click.echo(f"SAMPLE: {SAMPLE_NOTICE}; `nlgjudge data fetch` downloads the real data")
        if refuse_sample(source, planned, judges):
            return FAILED
    settings = {"judge": [*judges], "options": given, "source": source, "price": price and [*price]}
    settings |= {"max_cost": max_cost, "limit": limit}
    settings = {name: value for name, value in settings.items() if value}
    folder = reruns.place(judges, given, limit, sample)
    workflow.run_notebook("dhp_discernment", settings, folder)
    for said in reruns.read_rerun(folder).sentences():
        click.echo(f"{said}\n")
    workflow.run_page(folder)
    click.echo(f"all tables on one page: {folder / 'index.html'}")
    return 0


def available(tables, named, source):
    """Tables with a named row whose data are here, and whether only the sample is available.

    Parameters
    ----------
    tables : dict of str to list of str
    named : dict of str to str
        A judge for each row.
    source : {"auto", "real", "sample"}

    Returns
    -------
    (dict of str to list of str, bool)
    """
    sample = {}
    left_out = []
    for paper, artefacts in tables.items():
        parts = [
            part for part in rerun_requests.parts_of(paper, artefacts) if part.row.row in named
        ]
        if parts:
            try:
                found, absent = rerun_requests.benchmarks_of(parts, source)
            except DataUnavailable as error:
                found, absent, unavailable = {}, [], error
            left_out += absent
            sample[paper] = all(benchmark.is_sample for benchmark in found.values())
    if source == "real" and all(sample.values()):
        raise unavailable
    if all(sample.values()):
        return {paper: tables[paper] for paper in sample}, True
    absent = [paper for paper, only_sample in sample.items() if only_sample]
    if absent or left_out:
        named = ", ".join(dict.fromkeys([*absent, *left_out]))
        click.echo(f"left out because the data are not here: {named}")
    return {paper: tables[paper] for paper in sample if paper not in absent}, False


def report_plan(plans):
    """Print, row by row, what will be asked, and what it takes if the server gives no token probabilities."""
    whole = plans.rename_axis(["paper", *plans.index.names[1:]]).reset_index()
    if not len(whole):
        click.echo("plan: no call")
        return
    shown = whole[[name for name in whole if name != "judge" and not name.endswith("_logprobs")]]
    click.echo(shown.to_string(index=False, formatters={"cost": "{:.4f}".format}))
    stored = f"{whole['cached'].sum():,} of {whole['samples'].sum():,}"
    click.echo(
        f"plan: {whole['calls'].sum():,} calls, {whole['prompt_tokens'].sum():,} prompt tokens, "
        f"{whole['completion_tokens'].sum():,} completion tokens, {stored} replies stored already "
        f"or shared by two tables, {cost_in_words(whole)}"
    )
    report_estimate(whole)


def run_notebooks(tables, named, settings, folder):
    """Run the tables' notebooks with the stored replies, each with the judges of its own rows."""
    for paper, artefacts in tables.items():
        for name in workflow.notebooks_of(paper, artefacts):
            own = [table for table in artefacts if table in name.split("_")]
            judge = {row: named[row] for row in rerun_requests.rows_of(paper, own) if row in named}
            said = [
                one for table in own for one in reruns.read_rerun(folder).sentences(paper, table)
            ]
            workflow.run_notebook(name, {"judge": judge, **settings}, folder, said)
            click.echo(f"ran {name}")


def keep_run(found, folder):
    """Copy a run that may be kept; the exit status."""
    refused = {paper: one.notice for paper, one in found.items() if not one.enters}
    for paper, said in refused.items():
        click.echo(f"nlgjudge: {paper} is not kept: {said}", err=True)
    if refused:
        return FAILED
    cells = pd.concat([one.cells for one in found.values()], ignore_index=True)
    path = ledger.keep(folder.name, cells)
    click.echo(f"kept in {path.relative_to(workplace())}")
    return 0


rerun.epilog += f"\n\n{STATUS}"
