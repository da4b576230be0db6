"""The part of the console script that takes a file of your own: `evaluate`."""

import sys
from pathlib import Path

from nlgjudge.repo import exits
from nlgjudge.repo.asking import (
    Help,
    judge_options,
    open_judge,
    open_store,
    plain_warnings,
    sampling,
    told_interrupt,
)

_EXAMPLE = """example:
  nlgjudge evaluate my.xlsx --columns hypothesis=summary,source=article \\
      --judge openai:gpt-4o-mini --judge surface --prompts style=@style.txt --price 0.15 0.6 --plan
  The same line without --plan asks. -o names the report (default: report.html); --limit counts documents.
  --samples and the sampling parameters take the place of each protocol's own where they are given.
"""


def add_commands(commands):
    """Add the command to the console script's parser."""
    evaluate = commands.add_parser(
        "evaluate", help="which judge agrees with your own raters", epilog=_EXAMPLE,
        description="Compare the papers' ways of asking a judge, prompts of your own and metrics with the "
                    "ratings in your file, and write the report as one page.",
        formatter_class=Help)
    evaluate.add_argument("file", type=Path,
                          help="CSV, Excel, Parquet, JSON Lines (.jsonl), or a folder of `datasets`: source, "
                          "hypothesis, system, human:ASPECT[:RATER] and perhaps references, context, doc_id")
    evaluate.add_argument("--columns", "--column", action="append", default=[], metavar="NAME=COLUMN",
                          help="the column of your file that NAME stands for, as hypothesis=summary; again, "
                          "or parted by commas, for more; default: columns of these names")
    evaluate.add_argument("--task", default="", help="whose prompts are asked, as summarization or dialogue; "
                          "default: dialogue where there is a context, else summarization")
    evaluate.add_argument("--scale", type=float, nargs=2, default=(1, 5), metavar=("LOW", "HIGH"),
                          help="ratings that a prompt given as text asks for; default: 1 5")
    evaluate.add_argument("--scores", type=Path, metavar="FILE",
                          help="every method's score of every output, and the people's means, as CSV; "
                          "default: not written")
    evaluate.add_argument("--judge", action="append",
                          help="openai:MODEL, batch:MODEL, replay:NAME, replay:STORE.sqlite:MODEL or "
                          "surface; again for more; default: surface")
    evaluate.add_argument("--prompts", action="append", nargs="+", metavar="PROMPT",
                          help="ASPECT=NAME, ASPECT=TEXT with slots as {{hypothesis}}, or ASPECT=@FILE; "
                          "default: only the papers' protocols")
    evaluate.add_argument("--seed", type=int, default=0, help="of bootstrap and tests")
    evaluate.add_argument("-o", "--output", "--out", type=Path, help="of the report; default: report.html")
    judge_options(evaluate)
    # Every protocol has its own number of replies and parameters, unless they are given.
    evaluate.set_defaults(function=_evaluate, samples=None)


def _evaluate(options):
    from nlgjudge.data import own_files as own_data
    from nlgjudge.studies import your_own_data as report

    output = options.output or Path("report.html")
    _check_folders(output, options.scores)
    columns = own_data.mapping(options.columns)
    benchmark = own_data.own_data(options.file, columns=columns)
    findings = own_data.check_own_data(options.file, columns=columns)
    notes = own_data.lines(findings[findings["kind"] == "note"])
    for line in notes:
        print(f"note: {line}")
    benchmark = report.limited(benchmark, options.limit)
    scale = tuple(options.scale)
    shared = {"task": options.task, "scale": scale, "samples": options.samples, "price": options.price,
              "prompts": _prompts(_listed(options.prompts), benchmark.aspects, scale),
              "settings": sampling(options)}
    task, _ = report.protocols(benchmark, **{k: v for k, v in shared.items() if k != "price"})
    names = _listed(options.judge) or ["surface"]
    print(f"{len(benchmark.items)} outputs, {benchmark.items['doc_id'].nunique()} documents, aspects "
          f"{', '.join(benchmark.aspects)}; prompts of {task}")
    if not any(name.startswith(("openai:", "batch:")) for name in names):  # nothing is stored
        judges = [open_judge(name, options, items=benchmark.items) for name in names]
        return _compared(benchmark, judges, shared, notes, output, options)
    with open_store(options.store) as store, plain_warnings(), told_interrupt(store):
        judges = [open_judge(name, options, items=benchmark.items, store=store) for name in names]
        return _compared(benchmark, judges, shared, notes, output, options)


def _compared(benchmark, judges, shared, notes, output, options):
    """Plan, ask and write the report; return the exit status."""
    from nlgjudge.judging.live import Live
    from nlgjudge.studies import your_own_data as report

    live = [judge for judge in judges if isinstance(judge, Live)]
    planned = report.plan(benchmark, judge=judges, **shared)
    if options.plan or live:
        _say_plan(planned, report.spent)
    if options.plan:
        return exits.DONE
    found = report.evaluate(benchmark, judge=judges, policy=options.policy, seed=options.seed, **shared)
    for judge in live:
        _say_spent(judge, planned, options.price)
    for aspect, said in report.verdicts(found).items():
        print(f"{aspect}: {said}")
    for line in found.notes:
        print(f"note: {line}")
    if options.scores:
        found.scores.to_csv(options.scores, index=False)
        print(f"scores: {options.scores}")
    print(f"report: {report.page(found, output, notes=notes)}")
    return _status(live)


def _say_spent(judge, planned, price):
    """What a judge took, beside what was planned."""
    spent = f", price {judge.cost:.4f}" if price else ""
    left = planned.loc[planned["judge"] == judge.name, ["calls_left", "cost_left"]].sum()
    reckoned = f", {left['cost_left']:.4f}" if price else ""
    print(f"asked: {judge.name}, {judge.server.calls} calls{spent} (planned: {left['calls_left']:.0f} "
          f"calls{reckoned})")


def _status(live):
    """Exit status, with a line for what failed or was stopped by a limit."""
    status = exits.DONE
    for judge in live:
        if judge.failures:
            most, _ = judge.reasons.most_common(1)[0]
            print(f"nlgjudge: {judge.name}: {judge.failures} items failed, most often with: {most}; the same "
                  "command asks for them again", file=sys.stderr)
            status = exits.FAILED
    for judge in live:
        if judge.stopped:
            print(f"nlgjudge: {judge.name} was stopped: {judge.stopped}; the report holds what was asked "
                  "until then, and the same command goes on", file=sys.stderr)
            return exits.UNFINISHED
    return status


def _say_plan(planned, spent):
    """What each method costs, and what is still to be asked."""
    for row in planned.to_dict("records"):
        print(f"plan: {row['aspect']:15} {row['method']:22} {spent(row)}")
    total = planned[["calls", "prompt_tokens", "completion_tokens", "cost"]].sum(min_count=1)
    print("plan: in all                               "
          + spent({**total, "estimated": planned["estimated"].any()}))
    left = planned.dropna(subset="calls_left")
    for judge, rows in left.groupby("judge", sort=False):
        calls, cost = rows["calls_left"].sum(), rows["cost_left"].sum(min_count=1)
        price = "" if cost != cost else f", price {cost:.4f}"
        print(f"plan: yet to be asked of {judge}: {calls:.0f} calls{price}")


def _check_folders(*files):
    """Refuse to begin where a result could not be written."""
    for file in files:
        if file and not file.absolute().parent.is_dir():
            raise FileNotFoundError(f"{file}: there is no folder {file.parent}; make it first")
        if file and file.is_dir():
            raise IsADirectoryError(f"{file} is a folder: expected the name of a file")


def _prompts(given, aspects, scale):
    """Prompts by aspect, from ``ASPECT=NAME``, ``ASPECT=TEXT`` or ``ASPECT=@FILE``.

    A prompt that names its aspect itself needs none in front.
    """
    from nlgjudge.data.choices import unknown
    from nlgjudge.judging.prompts import as_prompt

    found = {}
    for text in given:
        aspect, equals, rest = text.partition("=")
        aspect = aspect.strip()
        if equals and aspect in aspects:
            text = rest.strip()
        elif equals and "{{" not in aspect and "\n" not in aspect:
            raise ValueError(f"--prompts {text}: {unknown('aspect', aspect, aspects)}")
        else:
            aspect = ""
        if text.startswith("@"):
            path = Path(text[1:])
            if not path.is_file():
                raise FileNotFoundError(f"--prompts: there is no file {path}")
            body = path.read_text(encoding="utf-8")  # a file's last line break shows that it is no name
            text = as_prompt(body.rstrip() + "\n", aspect=aspect, scale=scale)._replace(name=path.name)
        found.setdefault(aspect, []).append(text)
    return found


def _listed(values):
    """Values of an option that may be given again, or several at once."""
    found = []
    for value in values or []:
        found += value if isinstance(value, list) else [value]
    return found
