"""The part of the console script that takes a file of your own: `evaluate`."""

import argparse
from contextlib import nullcontext
from pathlib import Path

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
        formatter_class=argparse.RawDescriptionHelpFormatter)
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
    _judge_options(evaluate)
    # Every prompt has its own number of replies and parameters here, unless they are given.
    evaluate.set_defaults(function=_evaluate, samples=None, temperature=None, max_tokens=None, logprobs=None)


def _judge_options(parser):
    """Options that every command has which asks a judge."""
    parser.add_argument("--judge", action="append", help="openai:MODEL, batch:MODEL, replay:NAME, "
                        "replay:STORE.sqlite:MODEL or surface; again for more; default: surface")
    parser.add_argument("--prompts", action="append", nargs="+", metavar="PROMPT",
                        help="ASPECT=NAME, ASPECT=TEXT with slots as {{hypothesis}}, or ASPECT=@FILE; "
                        "default: only the papers' protocols")
    parser.add_argument("--samples", type=int, help="replies an item; default: the protocol's own")
    parser.add_argument("--temperature", type=float, help="default: the protocol's own")
    parser.add_argument("--max-tokens", type=int, help="of a reply; default: the protocol's own")
    parser.add_argument("--logprobs", action="store_const", const=True,
                        help="weigh ratings by token probability; default: no")
    parser.add_argument("--policy", default="nan",
                        help="what an unparsed reply counts as: nan, leading_or_0, store_3 or drop; default: "
                        "%(default)s")
    parser.add_argument("--price", type=float, nargs=2, metavar=("IN", "OUT"),
                        help="of a million prompt and completion tokens; default: unknown")
    parser.add_argument("--max-cost", type=float, help="of each judge; needs a price; default: no limit")
    parser.add_argument("--max-calls", type=int, help="of each judge; default: no limit")
    parser.add_argument("--per-minute", type=float, help="calls a minute at most; default: no limit")
    parser.add_argument("--tokens-per-minute", type=float, help="prompt tokens a minute at most; default: no "
                        "limit")
    parser.add_argument("--concurrency", type=int, default=64, help="calls at once; default: %(default)s")
    parser.add_argument("--store", type=Path, help="of replies; default: data/cache/replies.sqlite")
    parser.add_argument("--limit", type=int, help="use the first so many; default: 0, all")
    parser.add_argument("--plan", action="store_true", help="check everything, say what it would take, and "
                        "stop; default: no")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("-o", "--output", "--out", type=Path, help="file of the result")


def _evaluate(options):
    from nlgjudge.data import own_data
    from nlgjudge.judging.live import Live
    from nlgjudge.judging_cli import _store
    from nlgjudge.report import own_data as report

    output = options.output or Path("report.html")
    _check_folders(output, options.scores)
    columns = own_data.mapping(options.columns)
    benchmark = own_data.own_data(options.file, columns=columns)
    findings = own_data.check_own_data(options.file, columns=columns)
    notes = own_data.lines(findings[findings["kind"] == "note"])
    for line in notes:
        print(f"note: {line}")
    benchmark = report.limited(benchmark, options.limit)
    settings = {name: getattr(options, name) for name in ("temperature", "max_tokens", "logprobs")}
    scale = tuple(options.scale)
    shared = {"task": options.task, "scale": scale, "samples": options.samples, "price": options.price,
              "prompts": _prompts(_listed(options.prompts), benchmark.aspects, scale),
              "settings": {name: value for name, value in settings.items() if value is not None}}
    task, _ = report.protocols(benchmark, **{k: v for k, v in shared.items() if k != "price"})
    names = _listed(options.judge) or ["surface"]
    stored = any(name.startswith(("openai:", "batch:")) for name in names)
    with _store(options.store) if stored else nullcontext() as store:
        judges = [_judge(name, benchmark, store, options) for name in names]
        live = [judge for judge in judges if isinstance(judge, Live)]
        print(f"{len(benchmark.items)} outputs, {benchmark.items['doc_id'].nunique()} documents, aspects "
              f"{', '.join(benchmark.aspects)}; prompts of {task}")
        planned = report.plan(benchmark, judge=judges, **shared)
        if options.plan or live:
            _say_plan(planned, report.spent)
        if options.plan:
            return
        found = report.evaluate(benchmark, judge=judges, policy=options.policy, seed=options.seed, **shared)
    for judge in live:
        price = f", price {judge.cost:.4f}" if options.price else ""
        left = planned.loc[planned["judge"] == judge.name, ["calls_left", "cost_left"]].sum()
        reckoned = f", {left['cost_left']:.4f}" if options.price else ""
        print(f"asked: {judge.name}, {judge.server.calls} calls{price} (planned: {left['calls_left']:.0f} "
              f"calls{reckoned})")
    for aspect, said in report.verdicts(found).items():
        print(f"{aspect}: {said}")
    for line in found.notes:
        print(f"note: {line}")
    if options.scores:
        found.scores.to_csv(options.scores, index=False)
        print(f"scores: {options.scores}")
    print(f"report: {report.page(found, output, notes=notes)}")


def _judge(name, benchmark, store, options):
    from nlgjudge.judging.live import Limits
    from nlgjudge.judging.run import get_judge

    extra = {}
    if name.startswith("openai:"):
        price = tuple(options.price) if options.price else None
        limits = Limits(calls=options.max_calls, cost=options.max_cost, per_minute=options.per_minute,
                        tokens_per_minute=options.tokens_per_minute, price=price)
        extra = {"limits": limits, "concurrency": options.concurrency, "progress": True}
    return get_judge(name, items=benchmark.items, store=store, **extra)


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
