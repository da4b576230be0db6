"""The part of the console script that takes a file of your own: `evaluate`."""

from pathlib import Path


def add_commands(commands):
    """Add the command to the console script's parser."""
    evaluate = commands.add_parser("evaluate", help="which judge agrees with your own raters")
    evaluate.add_argument("file", type=Path, help="CSV: source, hypothesis, system, human:ASPECT[:RATER] and "
                          "perhaps references, context, doc_id")
    evaluate.add_argument("--judge", default="surface", help="or openai:MODEL, replay:STORE.sqlite:MODEL")
    evaluate.add_argument("--task", default="", help="of the prompts, as summarization or dialogue")
    evaluate.add_argument("--limit", type=int, help="use the first so many documents")
    evaluate.add_argument("--price", type=float, nargs=2, metavar=("IN", "OUT"),
                          help="of a million prompt and completion tokens")
    evaluate.add_argument("--max-cost", type=float)
    evaluate.add_argument("--store", type=Path, help="replies; default: data/cache/replies.sqlite")
    evaluate.add_argument("--plan", action="store_true", help="check the file, say what it would take")
    evaluate.add_argument("--seed", type=int, default=0)
    evaluate.add_argument("--out", type=Path, default=Path("report.html"), help="default: %(default)s")
    evaluate.set_defaults(function=_evaluate)


def _evaluate(options):
    from nlgjudge.data import own_data
    from nlgjudge.judging.live import Limits
    from nlgjudge.judging.run import get_judge
    from nlgjudge.judging_cli import _store
    from nlgjudge.report import own_data as report

    findings = own_data.check_own_data(options.file)
    notes = own_data.lines(findings[findings["kind"] == "note"])
    for line in notes:
        print(f"note: {line}")
    benchmark = report.limited(own_data.own_data(options.file), options.limit)
    live = options.judge.startswith("openai:")
    with _store(options.store) as store:
        extra = {"store": store, "progress": True, "limits": Limits(
            cost=options.max_cost, price=options.price and tuple(options.price))} if live else {}
        judge = get_judge(options.judge, items=benchmark.items, **extra)
        shared = {"task": options.task, "judge": judge, "price": options.price}
        planned = report.plan(benchmark, **shared)
        print(f"{len(benchmark.items)} outputs, {benchmark.items['doc_id'].nunique()} documents, aspects "
              f"{', '.join(benchmark.aspects)}; prompts of {report.protocols(benchmark, options.task)[0]}")
        for row in planned.to_dict("records") if options.plan or live else []:
            print(f"plan: {row['aspect']:15} {row['method']:22} {report.spent(row)}")
        if options.plan:
            return
        found = report.evaluate(benchmark, seed=options.seed, **shared)
    for aspect, said in report.verdicts(found).items():
        print(f"{aspect}: {said}")
    for line in found.notes:
        print(f"note: {line}")
    print(f"report: {report.page(found, options.out, notes=notes)}")
