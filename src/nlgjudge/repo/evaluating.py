"""What `evaluate` does: compare ways of asking, judges and metrics on a file of your own."""

import sys
from contextlib import nullcontext
from pathlib import Path

import pandas as pd

from nlgjudge.data import own_files, spreadsheets
from nlgjudge.judging.live import Live
from nlgjudge.repo import exits
from nlgjudge.repo.asking import Asking, open_judge, store_of_run, told_failures
from nlgjudge.repo.prompts import by_aspect
from nlgjudge.studies import your_own_data as report


def evaluate(file, columns, task, scale, scores, judge, prompts, seed, output, **asked):
    """Compare the papers' ways of asking, your prompts and metrics with the ratings in a file.

    Parameters
    ----------
    file : pathlib.Path
    columns : list of str
        As for `nlgjudge.data.own_files.mapping`.
    task : str
        Whose prompts are asked; empty to find out.
    scale : (float, float)
        Ratings that a prompt given as text asks for.
    scores, output : pathlib.Path or None
        A CSV file for every method's scores, and the report.
    judge : list of str or None
    prompts : list of list of str or None
        As for `nlgjudge.repo.prompts.by_aspect`.
    seed : int
        Of bootstrap and tests.
    **asked
        The attributes of `nlgjudge.repo.asking.Asking`.

    Returns
    -------
    int
        One of `nlgjudge.repo.exits`.
    """
    asking = Asking(**asked)
    output = output or Path("report.html")
    _check_folders(output, scores)
    columns = own_files.mapping(columns)
    benchmark = own_files.own_data(file, columns=columns)
    findings = own_files.check_own_data(file, columns=columns)
    notes = own_files.lines(findings[findings["kind"] == "note"])
    for line in notes:
        print(f"note: {line}")
    benchmark = report.limited(benchmark, asking.limit)
    scale = tuple(scale)
    named = [one for several in prompts or [] for one in several]
    protocols = {
        "task": task,
        "scale": scale,
        "samples": asking.samples,
        "prompts": by_aspect(named, benchmark.aspects, scale),
        "settings": asking.sampling,
    }
    asked_for, _ = report.protocols(benchmark, **protocols)
    names = judge or ["surface"]
    print(
        f"{len(benchmark.items)} outputs, {benchmark.items['doc_id'].nunique()} documents, aspects "
        f"{', '.join(benchmark.aspects)}; prompts of {asked_for}"
    )

    stored = any(name.startswith(("openai:", "batch:")) for name in names)
    with store_of_run(asking.store) if stored else nullcontext() as store:
        judges = [open_judge(name, asking, items=benchmark.items, store=store) for name in names]
        return _compared(benchmark, judges, protocols, asking, notes, output, scores, seed)


def _compared(benchmark, judges, protocols, asking, notes, output, scores, seed):
    """Plan, ask and write the report; return the exit status."""
    shared = {**protocols, "price": asking.price}
    live = [judge for judge in judges if isinstance(judge, Live)]
    planned = report.plan(benchmark, judge=judges, **shared)
    if asking.plan or live:
        _say_plan(planned)
    if asking.plan:
        return exits.DONE
    found = report.evaluate(benchmark, judge=judges, policy=asking.policy, seed=seed, **shared)
    for judge in live:
        _say_spent(judge, planned, asking.price)
    for aspect, said in report.verdicts(found).items():
        print(f"{aspect}: {said}")
    for line in found.notes:
        print(f"note: {line}")
    if scores:
        spreadsheets.write(found.scores, scores)
        print(f"scores: {scores}")
    print(f"report: {report.page(found, output, notes=notes)}")
    return _told_unread(live, found) or _status(live)


def _told_unread(live, found):
    """Exit status, with a line for each live judge of which not one reply could be read."""
    status = exits.DONE
    for judge in live:
        own = found.table[found.table["judge"] == judge.name]
        columns = [f"{row.aspect}:{row.method}" for row in own.itertuples()]
        if len(own) and not judge.stopped and found.scores[columns].isna().all(axis=None):
            print(
                f"nlgjudge: {judge.name}: no reply could be read, so it is in no comparison; the report has the "
                "other methods alone",
                file=sys.stderr,
            )
            status = exits.FAILED
    return status


def _say_spent(judge, planned, price):
    """What a judge took, beside what was planned."""
    left = planned.loc[planned["judge"] == judge.name, ["calls_left", "cost_left"]].sum()
    taken = f"{judge.server.calls} calls"
    reckoned = f"{left['calls_left']:.0f} calls"
    if price:
        taken += f", price {judge.cost:.4f}"
        reckoned += f", {left['cost_left']:.4f}"
    print(f"asked: {judge.name}, {taken} (planned: {reckoned})")


def _status(live):
    """Exit status, with a line for what failed or was stopped by a limit."""
    status = exits.DONE
    for judge in live:
        status = told_failures(judge, judge.name) or status
    for judge in live:
        if judge.stopped:
            print(
                f"nlgjudge: {judge.name} was stopped: {judge.stopped}; the report holds what was asked "
                "until then, and the same command goes on",
                file=sys.stderr,
            )
            return exits.UNFINISHED
    return status


def _say_plan(planned):
    """What each method costs, and what is still to be asked."""
    for row in planned.to_dict("records"):
        print(f"plan: {row['aspect']:15} {row['method']:22} {report.spent(row)}")
    total = planned[["calls", "prompt_tokens", "completion_tokens", "cost"]].sum(min_count=1)
    in_all = report.spent({**total, "estimated": planned["estimated"].any()})
    print(f"plan: {'in all':38} {in_all}")
    left = planned.dropna(subset="calls_left")
    for judge, rows in left.groupby("judge", sort=False):
        calls = rows["calls_left"].sum()
        cost = rows["cost_left"].sum(min_count=1)
        price = "" if pd.isna(cost) else f", price {cost:.4f}"
        print(f"plan: yet to be asked of {judge}: {calls:.0f} calls{price}")


def _check_folders(*files):
    """Refuse to begin where a result could not be written."""
    for file in files:
        if file and not file.absolute().parent.is_dir():
            raise FileNotFoundError(f"{file}: there is no folder {file.parent}; make it first")
        if file and file.is_dir():
            raise IsADirectoryError(f"{file} is a folder: expected the name of a file")
