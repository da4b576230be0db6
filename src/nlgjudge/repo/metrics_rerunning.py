"""What `rerun --metrics` does: the rows of the papers' tables that need weights, computed and set beside the print."""

import html
import sys

import pandas as pd
from tqdm import tqdm

import nlgjudge as nj
from nlgjudge.data import spreadsheets
from nlgjudge.data.choices import unknown
from nlgjudge.data.paths import root
from nlgjudge.ledger import ledger
from nlgjudge.ledger.metric_runs import metric_parts, rows_of, run_metrics
from nlgjudge.metrics import neural
from nlgjudge.repo import exits
from nlgjudge.repo.rerunning import PAGE, place, rerun, summary, wanted

_PLAN = [
    "paper",
    "row",
    "dataset",
    "tables",
    "model",
    "stated",
    "weights",
    "size",
    "items",
    "texts",
]

# Options of calls that have a value where none is given, so that nobody need have given it.
_WITH_DEFAULTS = ("concurrency", "timeout", "deadline", "source")


def rerun_papers(targets, metrics, limit, plan, weights, batch_size, device, model, **asked):
    """Ask a judge for the papers' rows, or compute those that need weights.

    Parameters
    ----------
    metrics : bool
        Compute, in the place of asking.
    targets, limit, plan, weights, batch_size, device, model
        As for `rerun_metrics`; None for a default.
    **asked
        What `nlgjudge.repo.rerunning.rerun` takes beside.

    Returns
    -------
    int
        One of `nlgjudge.repo.exits`.

    Raises
    ------
    ValueError
        For an option of the half that is not run.
    """
    of_weights = {"weights": weights, "batch_size": batch_size, "device": device, "model": model}
    if metrics:
        _refuse(
            {name: value for name, value in asked.items() if name not in _WITH_DEFAULTS},
            "is for a judge, and --metrics asks none",
        )
        return rerun_metrics(
            targets,
            weights,
            neural.BATCH if batch_size is None else batch_size,
            device or "auto",
            model,
            limit,
            plan,
        )
    _refuse(of_weights, "is for weights: give --metrics with it")
    return rerun(targets, limit=limit, plan=plan, **asked)


def _refuse(options, why):
    """Refuse options that are given."""
    for name, value in options.items():
        if value is not None and value is not False and value != []:  # a 0 is given
            raise ValueError(f"--{name.replace('_', '-')} {why}")


def rerun_metrics(targets, weights, batch_size, device, model, limit, plan):
    """Compute the rows that need weights, write what came of it, and print it beside the printed values.

    Parameters
    ----------
    targets : list of str
        Papers and tables, as ``geval`` or ``chatgpt/table6``; empty for all.
    weights : path-like or None
        Folder of folders of weights; None for the hub.
    batch_size : int
    device : {"auto", "cpu", "cuda"}
    model : list of str
        ``ROW=NAME_OR_FOLDER``, another model for a row; only these rows are computed.
    limit : int
        The first so many items of each dataset; 0 is all.
    plan : bool
        Only say what there is to compute, and what of it can be had.

    Returns
    -------
    int
        One of `nlgjudge.repo.exits`.
    """
    tables = wanted(targets)
    chosen = models(model, tables)
    options = {"models": chosen, "folder": str(weights or ""), "limit": limit}
    planned = {
        paper: run_metrics(paper, artefacts, only_plan=True, **options)
        for paper, artefacts in tables.items()
    }
    whole = pd.concat(
        {paper: one.plan for paper, one in planned.items()}, names=["paper"]
    ).reset_index()
    if plan:
        tell_plan(whole)
        for paper, one in planned.items():
            if one.said:
                print(f"{paper}: {one.said}")
        return exits.DONE
    with neural.running(device, batch_size):
        neural.need_libraries()
    found = _computed(tables, whole, options, device, batch_size)
    _tell_left_out(whole)
    missing = list(dict.fromkeys(line for one in found.values() for line in one.missing))
    for line in missing:
        print(f"nlgjudge: {line}", file=sys.stderr)
    found = {paper: one for paper, one in found.items() if len(one.cells)}
    if not found:
        return exits.FAILED if missing else exits.DONE
    models_named = [one.rpartition("/")[2] for one in dict.fromkeys(chosen.values())]
    name = place(models_named or ["papers-models"], {}, limit, False).name
    folder = root() / "build" / "reruns" / "metrics" / name
    cells = pd.concat([one.cells for one in found.values()], ignore_index=True)
    said = {
        paper: one.said or "the papers' models, on all items; this command writes to no ledger"
        for paper, one in found.items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    ledger.save(cells, folder / "cells.csv")
    tables = [
        nj.ledger.paper_table(rows, *table, elsewhere=False)._repr_html_()
        for table, rows in cells.groupby(["paper", "artefact"], sort=False)
    ]
    notes = [f"<p>{html.escape(text)}</p>" for text in dict.fromkeys(said.values())]
    page = PAGE.format(title="The papers' rows that need weights", parts="\n".join(notes + tables))
    (folder / "index.html").write_text(page, encoding="utf-8")
    spreadsheets.write(whole, folder / "plan.csv", lineterminator="\n")
    print(
        summary(cells).rename(columns={"this judge": "this run"}).to_string(index=False, na_rep="")
    )
    for paper, text in said.items():
        print(f"{paper}: {text}")
    print(f"all tables side by side: {folder / 'index.html'}")
    return exits.FAILED if missing else exits.DONE


def models(given, tables):
    """Models of one's own, by row.

    Parameters
    ----------
    given : list of str
        ``ROW=NAME_OR_FOLDER``.
    tables : dict of str to list of str

    Returns
    -------
    dict of str to str

    Raises
    ------
    ValueError
        For a row that the tables do not print or that is not computed, and for no model.

    Examples
    --------
    >>> models(["BERTScore=bert-base-uncased"], {"chatgpt": ["table6"]})
    {'BERTScore': 'bert-base-uncased'}
    """
    parts = [part for paper, artefacts in tables.items() for part in metric_parts(paper, artefacts)]
    known = rows_of(parts)
    reasons = {part.row.row: neural.NOT_HERE.get(part.row.metric, "") for part in parts}
    found = {}
    for text in given or []:
        row, equals, name = text.partition("=")
        if not (row and equals and name):
            raise ValueError(
                f"--model {text}: expected ROW=NAME_OR_FOLDER, as BERTScore=bert-base-uncased"
            )
        if row not in known:
            if reasons.get(row):
                raise ValueError(f"--model {text}: {row} is not computed: {reasons[row]}")
            raise ValueError(f"--model {text}: {unknown('row that needs weights', row, known)}")
        found[row] = name
    return found


def tell_plan(whole):
    """Print, row by row, what there is to compute, and what is missing.

    Parameters
    ----------
    whole : pandas.DataFrame
        Plans of all papers, `nlgjudge.ledger.metric_runs.MetricRun.plan`, with a column `paper`.
    """
    shown = whole[whole["note"] == ""]
    print(shown[_PLAN].to_string(index=False))
    needed = shown.drop_duplicates("model")
    sizes = ", ".join(f"{line.model} ({line.size}, {line.weights})" for line in needed.itertuples())
    print(f"plan: {shown['texts'].sum():,} texts or pairs with {len(needed)} models: {sizes}")
    strangers = shown[shown["stated"].isin(["nobody", "you"])]
    if len(strangers):
        rows = ", ".join(
            dict.fromkeys(f"{line.row} on {line.dataset}" for line in strangers.itertuples())
        )
        print(f"no paper's model, so that the cells enter no ledger: {rows}")
    _tell_left_out(whole)


def _tell_left_out(whole):
    """One line for each metric that is not computed."""
    for (row, note), part in whole[whole["note"] != ""].groupby(["row", "note"], sort=False):
        tables = [
            f"{line.paper}/{name}" for line in part.itertuples() for name in line.tables.split("|")
        ]
        print(f"left out: {row} ({', '.join(dict.fromkeys(tables))}): {note}")


def _computed(tables, whole, options, device, batch_size):
    """Compute all rows of all papers, under one bar."""
    total = int(whole["texts"].sum())
    found = {}
    with tqdm(total=total, unit="text", desc="rows", disable=not total, file=sys.stderr) as bar:

        def told(part):
            bar.set_postfix({"row": part.row.row, "dataset": part.scope.dataset}, refresh=False)

        with neural.running(device, batch_size, bar.update):
            for paper, artefacts in tables.items():
                found[paper] = run_metrics(paper, artefacts, told=told, **options)
    return found
