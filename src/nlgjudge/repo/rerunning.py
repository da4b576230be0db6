"""What `rerun` does: ask a judge for the papers' rows, and write cells, notebooks and one index page.

All replies are requested first, with a progress bar and limits. The notebooks of the tables run
afterwards and read the stored replies.
"""

import html
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
from tqdm import tqdm

import nlgjudge as nj
from nlgjudge import workflow
from nlgjudge.data import spreadsheets
from nlgjudge.data.choices import unknown
from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.judging.errors import AllWaiting, Waiting
from nlgjudge.ledger import ledger, model_rows, reruns
from nlgjudge.ledger.printed import PAPERS
from nlgjudge.papers.asking import CHAINS
from nlgjudge.repo import exits
from nlgjudge.repo.asking import Asking, open_judge, store_of_run, told_failures

BASELINE = "surface"  # the rule-based judge that every model is compared with
# What identifies a line of `replies.csv` and the cells that a later run replaces.
_LINE = ["paper", "row", "dataset", "tables"]
_ROW = ["paper", "artefact", "row"]
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem }}
div {{ overflow-x: auto }} table.plain {{ border-collapse: collapse; font-size: 14px }}
table.plain th, table.plain td {{ border-bottom: 1px solid #ccc; padding: .2rem .6rem; text-align: right }}
</style></head><body>
<h1>{title}</h1>
{parts}
</body></html>
"""


def rerun(
    targets, judge, samples, temperature, without_logprobs, keep, without_notebooks, source, **asked
):
    """Ask a judge for the papers' rows, write the results, and print them next to the published values.

    Parameters
    ----------
    targets : list of str
        Papers and tables, as ``geval`` or ``chatgpt/table6``; empty for all.
    judge : list of str
        A judge for all rows, or ``ROW=JUDGE`` for single ones.
    samples, temperature : optional
        Override the protocols' values.
    without_logprobs : bool
        Whether the model gives no token probabilities.
    keep : bool
        Copy a whole run into `paper_tables/reruns/`.
    without_notebooks : bool
        Do not run the tables' notebooks.
    source : {"auto", "real", "sample"}
        With ``auto``, nothing is asked of a served model where only the sample is available.
    **asked
        The attributes of `nlgjudge.repo.asking.Asking` that are not named above.

    Returns
    -------
    int
        One of `nlgjudge.repo.exits`.
    """
    tables = wanted(targets)
    asking = Asking(
        samples=samples,
        temperature=temperature,
        logprobs=False,
        policy="nan",
        max_tokens=None,
        **asked,
    )
    changes = {
        "samples": samples,
        "temperature": temperature,
        "logprobs": False if without_logprobs else None,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    named = judges(judge, tables)
    tables, sample = _available(tables, named, source)
    if sample:
        print(f"SAMPLE: {SAMPLE_NOTICE}; `nlgjudge data fetch` downloads the real data")
        if source == "auto" and not asking.plan and any(map(_is_served, named.values())):
            print(
                "nlgjudge: nothing was asked. Give --source sample to ask about the sample",
                file=sys.stderr,
            )
            return exits.FAILED
    with store_of_run(asking.store) as store:
        opened = {
            name: open_judge(name, asking, store=store) for name in dict.fromkeys(named.values())
        }
        by_paper = {
            paper: {
                row: opened[name] for row, name in named.items() if row in rows_of(paper, artefacts)
            }
            for paper, artefacts in tables.items()
        }
        settings = {"limit": asking.limit, "price": asking.price, "source": source, **changes}
        plans = {
            paper: reruns.plan(paper, artefacts, by_paper[paper], **settings)
            for paper, artefacts in tables.items()
            if by_paper[paper]
        }
        tell_plan(plans)
        if asking.plan:
            return exits.DONE
        found = _asked(tables, by_paper, plans, settings)
        folder = place([*opened], changes, asking.limit, sample)
        cells = pd.concat([one.cells for one in found.values()], ignore_index=True)
        counts = pd.concat({paper: one.counts for paper, one in found.items()}, names=["paper"])
        add(cells, counts.reset_index(), folder, baseline(tables, named, asking.limit, source))
        print(summary(cells).to_string(index=False, na_rep=""))
        status = max(told_failures(one, name) for name, one in opened.items())
        if not any(one.counts["read"].any() for one in found.values()):
            print(
                f"nlgjudge: no reply could be read{_most_often(opened.values())}", file=sys.stderr
            )
            status = exits.FAILED
        stopped = [one.stopped for one in opened.values() if getattr(one, "stopped", "")]
    for paper, one in found.items():
        if one.said:
            print(f"{paper}: {one.said}")
    if stopped:
        print(
            f"nlgjudge: stopped: {stopped[0]}; the same command goes on from there", file=sys.stderr
        )
        return exits.UNFINISHED
    if asking.store and not without_notebooks:
        print(
            "the notebooks are left out: they read replies from the usual store, and --store names another"
        )
    elif status == exits.DONE and not without_notebooks:
        given = {"limit": asking.limit or None, "source": source if sample else None, **changes}
        given = {name: value for name, value in given.items() if value is not None}
        run_notebooks(tables, named, given, folder)
    write_index(folder)
    print(f"all tables side by side: {folder / 'index.html'}")
    if keep:
        return _keep(found, folder)
    return status


def wanted(targets):
    """Tables of each paper.

    Parameters
    ----------
    targets : list of str

    Returns
    -------
    dict of str to list of str

    Raises
    ------
    ValueError
        For an unknown paper or table, with the near ones.

    Examples
    --------
    >>> wanted(["geval", "chatgpt/table6"])
    {'geval': ['table1', 'table2', 'table3'], 'chatgpt': ['table6']}
    """
    found = {}
    for target in targets or model_rows.PAPERS:
        paper, _, artefact = target.partition("/")
        if paper == "dhp":
            raise ValueError(
                "dhp publishes no correlations to rerun. Its notebooks take a judge: "
                "papermill notebooks/dhp_figure4_figure5_figure6_discernment.ipynb out.ipynb "
                "--cwd notebooks -p judge openai:MODEL"
            )
        if paper not in model_rows.PAPERS:
            raise ValueError(f"{target}: {unknown('paper', paper, model_rows.PAPERS)}")
        known = model_rows.tables_of(paper)
        if artefact and artefact not in known:
            raise ValueError(f"{target}: {unknown('table', artefact, known)}")
        chosen = found.setdefault(paper, [])
        chosen += [one for one in ([artefact] if artefact else known) if one not in chosen]
    return found


def rows_of(paper, artefacts):
    """Labels of the rows of a model in some tables."""
    return list(dict.fromkeys(part.row.row for part in model_rows.parts_of(paper, artefacts)))


def judges(given, tables):
    """The judge's name for each row.

    Parameters
    ----------
    given : list of str
    tables : dict of str to list of str

    Returns
    -------
    dict of str to str

    Raises
    ------
    ValueError
        For a row that the tables do not print, or no judge.

    Examples
    --------
    >>> judges(["G-EVAL-4=openai:MODEL"], {"geval": ["table2"]})
    {'G-EVAL-4': 'openai:MODEL'}
    """
    known = [row for paper, artefacts in tables.items() for row in rows_of(paper, artefacts)]
    found = {}
    for text in sorted(given, key=lambda one: "=" in one):  # a judge for one row overrides
        row, equals, name = text.rpartition("=")
        if equals and row not in known:
            raise ValueError(
                f"--judge {text}: {unknown('printed row of a model', row, known, most=len(known))}"
            )
        found |= {row: name} if equals else dict.fromkeys(known, text)
    if not found:
        raise ValueError(
            "no judge: give --judge openai:MODEL, or --judge 'G-EVAL-4=openai:MODEL' for single rows"
        )
    return found


def _is_served(name):
    return name.startswith(("openai:", "batch:"))


def _available(tables, named, source):
    """The tables to run, and whether only the sample is available for them."""
    real = {}
    for paper, artefacts in tables.items():
        parts = [part for part in model_rows.parts_of(paper, artefacts) if part.row.row in named]
        found, _ = reruns.benchmarks_of(parts, source)
        if not any(benchmark.is_sample for benchmark in found.values()):
            real[paper] = artefacts
    absent = [paper for paper in tables if paper not in real]
    if not real:
        return tables, True
    if absent:
        print(f"left out because the data are not here: {', '.join(absent)}")
    return real, False


def tell_plan(plans):
    """Print, row by row, what will be asked.

    Parameters
    ----------
    plans : dict of str to pandas.DataFrame
        By paper, from `nlgjudge.ledger.reruns.plan`.
    """
    whole = pd.concat(plans, names=["paper"]).reset_index()
    shown = whole.drop(columns="judge")
    print(shown.to_string(index=False, formatters={"cost": "{:.4f}".format}))
    said = [
        f"{whole['calls'].sum():,} calls",
        f"{whole['prompt_tokens'].sum():,} prompt tokens",
        f"{whole['completion_tokens'].sum():,} completion tokens",
        f"{whole['cached'].sum():,} of {whole['samples'].sum():,} replies stored already or shared by two tables",
    ]
    said.append(
        f"cost {whole['cost'].sum():.4f}" if "cost" in whole else "cost unknown (give --price)"
    )
    print(f"plan: {', '.join(said)}")


def place(names, changes, limit, sample):
    """Folder of the runs of some judges.

    Parameters
    ----------
    names : list of str
        Of the judges.
    changes : dict
        Values that differ from the papers' protocols.
    limit : int
    sample : bool

    Returns
    -------
    pathlib.Path
        Below `build/reruns/`. A rehearsal, a run on the sample and a run with other settings
        have folders of their own.

    Examples
    --------
    >>> place(["openai:gpt-4o"], {"temperature": 0}, 20, False).name
    'gpt-4o-temperature0-limit20'
    """
    words = [re.sub(r"[^\w.]+", "-", name.removeprefix("openai:")) for name in names]
    apart = [f"-{name}{value}" for name, value in changes.items()]
    apart += [f"-limit{limit}"] * bool(limit) + ["-sample"] * sample
    return root() / "build" / "reruns" / "".join(["+".join(words), *apart])


def baseline(tables, named, limit, source):
    """Cells of the rule-based judge under the same protocols; it cannot answer a chain of prompts.

    Parameters
    ----------
    tables : dict of str to list of str
    named : dict of str to str
        A judge for each row; only these rows are computed.
    limit : int
    source : str

    Returns
    -------
    pandas.DataFrame
        The ledger's columns.
    """
    found = [pd.DataFrame(columns=ledger.COLUMNS)]
    for paper, artefacts in tables.items():
        parts = model_rows.parts_of(paper, artefacts)
        asked = [part.row for part in parts if part.row.row in named]
        rows = {row.row: BASELINE for row in asked if row.scoring not in CHAINS}
        if rows:
            asked = nj.rerun(paper, artefacts, rows, limit=limit, source=source, resamples=0)
            found.append(asked.cells)
    return pd.concat(found, ignore_index=True)


def add(cells, counts, folder, rules):
    """Add the results of a run to a judge's folder, and write the index page.

    Parameters
    ----------
    cells : pandas.DataFrame
        The ledger's columns. Rows of the same paper and table replace those of an earlier run.
    counts : pandas.DataFrame
        Columns of `nlgjudge.ledger.reruns.Rerun.counts`, and `paper, row, dataset, tables`. Calls and cost
        are added to those of earlier runs.
    folder : pathlib.Path
    rules : pandas.DataFrame
        From `baseline`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, new in (("cells.csv", cells), (f"{BASELINE}.csv", rules)):
        path = folder / name
        if path.exists():
            new = _added(ledger.read(path), new, _ROW)
        ledger.save(new[ledger.COLUMNS], path)
    path = folder / "replies.csv"
    if path.exists():
        before = pd.read_csv(path, keep_default_na=False)
        paid = before.set_index(_LINE)[["calls", "cost"]].reindex(counts[_LINE]).fillna(0)
        counts = counts.assign(**{name: counts[name] + paid[name].to_numpy() for name in paid})
        counts = _added(before, counts, _LINE)
    spreadsheets.write(counts, path, lineterminator="\n")
    write_index(folder)


def _added(before, new, key):
    """Lines of earlier runs that the new ones do not replace, and the new ones."""
    replaced = pd.MultiIndex.from_frame(before[key]).isin(pd.MultiIndex.from_frame(new[key]))
    return pd.concat([before[~replaced], new], ignore_index=True)


def write_index(folder):
    """Write the page of all tables that a judge was run on so far.

    Parameters
    ----------
    folder : pathlib.Path
        With `cells.csv`, `replies.csv` and perhaps `executed/`.
    """
    cells = ledger.read(folder / "cells.csv")
    counts = pd.read_csv(folder / "replies.csv", keep_default_na=False)
    others = {name: part for name, part in ledger.kept_cells().groupby("judge")}
    others[BASELINE] = ledger.read(folder / f"{BASELINE}.csv")
    parts = [f"<p>{html.escape(text)}</p>" for text in _lead(folder, cells)]
    parts.append("<p><a href='cells.csv'>cells.csv</a> <a href='replies.csv'>replies.csv</a></p>")
    for (paper, artefact), rows in cells.groupby(["paper", "artefact"], sort=False):
        parts += _table(folder, paper, artefact, rows, counts, others)
    page = PAGE.format(
        title=html.escape(f"The papers' rows, asked of {folder.name}"), parts="\n".join(parts)
    )
    (folder / "index.html").write_text(page, encoding="utf-8")


def _lead(folder, cells):
    """Sentences above the tables."""
    if folder.name.endswith("-sample"):
        yield f"SAMPLE: {SAMPLE_NOTICE}."
    if cells["verdict"].eq("").any():
        yield "A rehearsal on the first documents of each dataset: it has no verdicts."
    yield (
        "Each cell shows the published value and this judge's value below it. The second table lists "
        "what was asked; the third compares means over the same cells with recorded judges and with "
        f"{BASELINE}, a rule-based judge."
    )


def _table(folder, paper, artefact, rows, counts, others):
    """One published table: coloured cells, requests, comparison, notebooks."""
    key = next(name for name in model_rows.PAPERS if paper in model_rows.PAPERS[name].VERSIONS)
    asked = counts[
        (counts["paper"] == key)
        & counts["row"].isin(rows["row"])
        & counts["tables"].map(lambda tables: artefact in tables.split("|"))
    ]
    shown = asked.drop(columns=["paper", "tables"]).rename(columns={"unread": "unparsed"})
    pages = [
        f"<a href='executed/{name}.html'>{name}</a>"
        for name in notebooks_of(key, [artefact])
        if (folder / "executed" / f"{name}.html").exists()
    ]
    yield f"<h2>{html.escape(PAPERS[paper])}, Table {artefact.removeprefix('table')}</h2>"
    whole = nj.ledger.paper_table(rows, paper, artefact, elsewhere=False)
    whole.cells = whole.cells[whole.cells["row"].isin(rows["row"])]
    yield whole._repr_html_()
    means = summary(rows, others).drop(columns=["paper", "table"])
    for frame in (shown, means):
        text = frame.to_html(
            index=False, na_rep="", classes="plain", border=0, float_format="{:.4g}".format
        )
        yield f"<div>{text}</div>"
    if pages:
        yield f"<p>Notebook: {', '.join(pages)}</p>"


def summary(cells, others=None):
    """Published and rerun values, row by row.

    Parameters
    ----------
    cells : pandas.DataFrame
        The ledger's columns.
    others : dict of str to pandas.DataFrame, optional
        By name, cells of other judges. A mean is shown where a judge has all cells of the line.

    Returns
    -------
    pandas.DataFrame
        `paper, table, row, level, coefficient, cells, published, this judge` and a column for each
        other judge that has a value: means over the same cells, without averages.
    """
    cells = cells[cells["aspect"] != "AVG"].assign(published=pd.to_numeric(cells["published"]))
    cells = cells.dropna(subset=["published", "ours"])
    wide = cells[[*ledger.CELL, "published"]].assign(**{"this judge": cells["ours"]})
    for name, other in (others or {}).items():
        own = other.loc[other["ours"].notna(), [*ledger.CELL, "ours"]]
        wide = wide.merge(own.rename(columns={"ours": name}), on=ledger.CELL, how="left")
    lines = wide.groupby(["paper", "artefact", "row", "level", "coefficient"], sort=False)
    values = [name for name in wide if name not in ledger.CELL]
    means = lines[values].agg(lambda column: column.mean(skipna=False)).round(3)
    means.insert(0, "cells", lines.size())
    means = means.dropna(axis="columns", how="all").reset_index()
    return means.rename(columns={"artefact": "table"})


def _asked(tables, by_paper, plans, settings):
    """Ask for all rows of all papers, under one bar."""
    total = sum(int(plan["samples"].sum()) for plan in plans.values())
    found = {}
    waiting = []
    with tqdm(total=total, unit="reply", desc="rows", disable=not total, file=sys.stderr) as bar:

        def told(part, judge, replies):
            said = {"row": part.row.row}
            if hasattr(judge, "spent"):
                said |= {
                    "calls": judge.spent["calls"],
                    "errors": judge.failures,
                    "cost": f"{judge.cost:.4f}",
                }
            bar.set_postfix(said, refresh=False)
            bar.update(replies)

        for paper in plans:  # a batch is submitted for each before anything is waited for
            try:
                found[paper] = nj.rerun(
                    paper, tables[paper], by_paper[paper], notebook="rerun", told=told, **settings
                )
            except Waiting as error:
                waiting.append(error)
    if waiting:
        raise AllWaiting(waiting)
    return found


def _most_often(judges):
    """Why replies are unusable, most often, as the end of a sentence."""
    reasons = Counter()
    for judge in judges:
        reasons.update(reason for reason in getattr(judge, "asked_again", {}).values() if reason)
    return f": most often {reasons.most_common(1)[0][0]}" if reasons else ""


def run_notebooks(tables, named, given, folder):
    """Execute the tables' notebooks with the judge, whose replies are stored, and write their pages.

    Parameters
    ----------
    tables : dict of str to list of str
    named : dict of str to str
        A judge for each row.
    given : dict
        Other parameters of the notebooks.
    folder : pathlib.Path
    """
    (folder / "executed").mkdir(exist_ok=True)
    before = os.environ.get("NLGJUDGE_OUT")
    os.environ["NLGJUDGE_OUT"] = str(folder)
    try:
        for paper, artefacts in tables.items():
            for name, judge in judges_of_notebooks(paper, artefacts, named).items():
                _run_notebook(name, {"judge": judge, **given}, folder / "executed")
                print(f"ran {name}")
    finally:
        del os.environ["NLGJUDGE_OUT"]
        if before is not None:
            os.environ["NLGJUDGE_OUT"] = before


def _run_notebook(name, parameters, folder):
    """Execute one notebook and write its page without the paragraphs about the committed run."""
    import nbformat
    import papermill
    from nbconvert import HTMLExporter
    from nbconvert.preprocessors import TagRemovePreprocessor
    from nbformat.v4 import new_code_cell

    path = root() / "notebooks" / f"{name}.ipynb"
    book = nbformat.read(path, as_version=4)
    if "logprobs" not in papermill.inspect_notebook(str(path)):
        parameters = {key: value for key, value in parameters.items() if key != "logprobs"}
    workflow.check_parameters(path, parameters)
    note = (
        f"This run has other settings: {', '.join(parameters)}. "
        "The sentences in this notebook describe the committed run."
    )
    book.cells.insert(0, new_code_cell(f"print({note!r})"))
    executed = folder / path.name
    papermill.execute_notebook(
        book,
        str(executed),
        parameters,
        cwd=str(path.parent),
        kernel_name="python3",
        progress_bar=False,
        request_save_on_cell_execute=False,
        autosave_cell_every=0,
    )
    pages = HTMLExporter()
    pages.register_preprocessor(TagRemovePreprocessor(remove_cell_tags={"default-run"}), True)
    page, _ = pages.from_filename(str(executed))
    executed.with_suffix(".html").write_text(page, encoding="utf-8")


def notebooks_of(paper, artefacts):
    """Notebooks of some tables, by their names.

    Parameters
    ----------
    paper : str
    artefacts : list of str

    Returns
    -------
    list of str
    """
    return [
        name
        for name in workflow.notebooks()
        if name.startswith(f"{paper}_") and {*artefacts} & {*name.split("_")}
    ]


def judges_of_notebooks(paper, artefacts, named):
    """The judge of each row that a notebook can ask about, for the notebooks of some tables.

    Parameters
    ----------
    paper : str
    artefacts : list of str
    named : dict of str to str
        A judge for each row.

    Returns
    -------
    dict of str to dict
        By notebook, a judge for each row of its own tables.

    Examples
    --------
    >>> judges_of_notebooks("geval", ["table2"], {"G-EVAL-4": "surface", "G-EVAL-4 - CoT": "surface"})
    {'geval_table2_topical_chat': {'G-EVAL-4': 'surface'}}
    """
    found = {}
    for name in notebooks_of(paper, artefacts):
        own = [table for table in artefacts if table in name.split("_")]
        found[name] = {row: named[row] for row in rows_of(paper, own) if row in named}
    return found


def _keep(found, folder):
    """Copy a run that may be kept; the exit status."""
    refused = {paper: one.said for paper, one in found.items() if not one.enters}
    if refused:
        for paper, said in refused.items():
            print(f"nlgjudge: {paper} is not kept: {said}", file=sys.stderr)
        return exits.FAILED
    cells = pd.concat([one.cells for one in found.values()], ignore_index=True)
    path = ledger.keep(folder.name, cells)
    print(f"kept in {Path(path).relative_to(root())}")
    return exits.DONE
