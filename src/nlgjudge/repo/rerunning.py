"""What `rerun` does: the rows of a model in the papers' tables, asked of a judge of one's own.

All replies are asked for first, with bars and limits. The notebooks of the tables run when the replies are there,
so that no cell of a notebook waits for a server.
"""

import hashlib
import html
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
from tqdm import tqdm

import nlgjudge as nj
from nlgjudge.data import spreadsheets
from nlgjudge.data.choices import unknown
from nlgjudge.data.paths import root
from nlgjudge.judging.errors import AllWaiting, Waiting
from nlgjudge.judging.tasks import DEFAULT_ENDPOINT, endpoint
from nlgjudge.ledger import kept_reruns, ledger, model_rows, reruns
from nlgjudge.ledger.printed import PAPERS
from nlgjudge.repo import exits, notebooks, workflow
from nlgjudge.repo.asking import Asking, open_judge, store_of_run, told_failures

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem }}
div {{ overflow-x: auto }} table {{ border-collapse: collapse }}
th, td {{ border-bottom: 1px solid #ccc; padding: .2rem .6rem; text-align: right }}
</style>
<h1>{title}</h1><p>{said}</p>
{tables}
</html>
"""


def rerun(targets, judge, samples, temperature, without_logprobs, keep, without_notebooks, **asked):
    """Ask a judge for the papers' rows, write what came of it, and print it beside the printed values.

    Parameters
    ----------
    targets : list of str
        Papers and tables, as ``geval`` or ``chatgpt/table6``; empty for all.
    judge : list of str
        A judge for all rows, or ``ROW=JUDGE`` for single ones.
    samples, temperature : optional
        In the place of the protocols'.
    without_logprobs : bool
        Whether the model gives no token probabilities.
    keep : bool
        Copy a whole run into `paper_tables/reruns/`.
    without_notebooks : bool
        Leave the notebooks out.
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
        plans = {
            paper: reruns.plan(
                paper, artefacts, by_paper[paper], limit=asking.limit, price=asking.price, **changes
            )
            for paper, artefacts in tables.items()
            if by_paper[paper]
        }
        tell_plan(plans)
        if asking.plan:
            return exits.DONE
        found = _asked(tables, by_paper, plans, asking, changes)
        folder = place([*opened], changes, asking.limit)
        write(found, folder, ", ".join(opened))
        print(summary(_cells(found)).to_string(index=False, na_rep=""))
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
        _run_notebooks(tables, named, changes, asking, folder)
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
    for text in sorted(
        given, key=lambda one: "=" in one
    ):  # single rows go before what is said of all
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


def tell_plan(plans):
    """Print, row by row, what is to be asked.

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


def place(names, changes, limit):
    """Folder of a run: one for each judge, endpoint and set of changes, so that no run touches another's.

    Parameters
    ----------
    names : list of str
        Of the judges.
    changes : dict
    limit : int

    Returns
    -------
    pathlib.Path
        Below `build/reruns/`.
    """
    return root() / "build" / "reruns" / slug(names, changes, limit)


def slug(names, changes=None, limit=0):
    """A file's name for the run of some judges.

    Parameters
    ----------
    names : list of str
    changes : dict, optional
    limit : int

    Returns
    -------
    str
        Of the judges' names; another endpoint than the usual one, and changes, add a digest.

    Examples
    --------
    >>> slug(["replay:closer_look/geval"])
    'replay-closer_look-geval'
    """
    words = "+".join(re.sub(r"[^\w.]+", "-", name.removeprefix("openai:")) for name in names)
    apart = dict(changes or {})
    if limit:
        apart["limit"] = limit
    server = endpoint(os.environ.get("OPENAI_BASE_URL", ""))
    if any(name.startswith(("openai:", "batch:")) for name in names) and server != DEFAULT_ENDPOINT:
        apart["endpoint"] = server
    if not apart:
        return words
    digest = hashlib.sha256(json.dumps(apart, sort_keys=True).encode()).hexdigest()[:8]
    return f"{words}-{digest}"


def write(found, folder, name):
    """Write what came of a run: cells, counts of replies, and one page with all tables.

    Parameters
    ----------
    found : dict of str to nlgjudge.ledger.reruns.Rerun
        By paper.
    folder : pathlib.Path
    name : str
        Of the judges.
    """
    said = "; ".join(dict.fromkeys(one.said for one in found.values() if one.said))
    lead = "Each cell: this judge, its 95% interval, and the printed value in brackets."
    write_cells(
        _cells(found), folder, f"The papers' rows, asked of {name}", f"{lead} {said}".strip()
    )
    counts = pd.concat({paper: one.counts for paper, one in found.items()}, names=["paper"])
    spreadsheets.write(counts.reset_index(), folder / "replies.csv", lineterminator="\n")


def write_cells(cells, folder, title, said):
    """Write cells as a table, and as one page with all printed tables.

    Parameters
    ----------
    cells : pandas.DataFrame
        The ledger's columns.
    folder : pathlib.Path
    title, said : str
        Of the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ledger.save(cells, folder / "cells.csv")
    parts = []
    for (paper, artefact), rows in cells.groupby(["paper", "artefact"], sort=False):
        number = artefact.removeprefix("table")
        parts.append(
            f"<h2>{html.escape(PAPERS[paper])}, Table {number}</h2>\n"
            f"<div>{nj.ledger.side_by_side(rows).T.to_html()}</div>"
        )
    page = _PAGE.format(title=html.escape(title), said=html.escape(said), tables="\n".join(parts))
    (folder / "index.html").write_text(page, encoding="utf-8")


def _cells(found):
    return pd.concat([one.cells for one in found.values()], ignore_index=True)


def summary(cells):
    """Printed and rerun values, row by row.

    Parameters
    ----------
    cells : pandas.DataFrame
        The ledger's columns.

    Returns
    -------
    pandas.DataFrame
        `paper, table, row, coefficient, cells, printed, this judge`: means over the same cells, without averages.
    """
    cells = cells[cells["aspect"] != "AVG"].assign(printed=pd.to_numeric(cells["published"]))
    cells = cells.dropna(subset=["printed", "ours"])
    lines = cells.groupby(["paper", "artefact", "row", "level", "coefficient"], sort=False)
    means = lines.agg(cells=("ours", "size"), printed=("printed", "mean"), ours=("ours", "mean"))
    return means.round(3).reset_index().rename(columns={"artefact": "table", "ours": "this judge"})


def _asked(tables, by_paper, plans, asking, changes):
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
                    paper,
                    tables[paper],
                    by_paper[paper],
                    limit=asking.limit,
                    price=asking.price,
                    notebook="rerun",
                    told=told,
                    **changes,
                )
            except Waiting as error:
                waiting.append(error)
    if waiting:
        raise AllWaiting(waiting)
    return found


def _most_often(judges):
    """Why replies are of no use, most often, as the end of a sentence."""
    reasons = Counter()
    for judge in judges:
        reasons.update(reason for reason in getattr(judge, "asked_again", {}).values() if reason)
    return f": most often {reasons.most_common(1)[0][0]}" if reasons else ""


def _run_notebooks(tables, named, changes, asking, folder):
    """Execute the notebooks of the tables with the judge, whose replies are all stored."""
    before = os.environ.get("NLGJUDGE_OUT")
    os.environ["NLGJUDGE_OUT"] = str(folder)
    try:
        for paper, artefacts in tables.items():
            rows = rows_of(paper, artefacts)
            judge = {row: name for row, name in named.items() if row in rows}
            for name in notebooks_of(paper, artefacts):
                parameters = {"judge": judge, "limit": asking.limit, **changes}
                notebooks.run(
                    root() / "notebooks" / f"{name}.ipynb",
                    folder / "executed" / f"{name}.ipynb",
                    parameters,
                    timeout=None,
                )
                print(f"ran {name}")
    finally:
        if before is None:
            del os.environ["NLGJUDGE_OUT"]
        else:
            os.environ["NLGJUDGE_OUT"] = before


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


def _keep(found, folder):
    """Copy a run that may be kept; the exit status."""
    refused = {paper: one.said for paper, one in found.items() if not one.enters}
    if refused:
        for paper, said in refused.items():
            print(f"nlgjudge: {paper} is not kept: {said}", file=sys.stderr)
        return exits.FAILED
    path = kept_reruns.keep(folder.name, _cells(found))
    print(f"kept in {Path(path).relative_to(root())}")
    return exits.DONE
