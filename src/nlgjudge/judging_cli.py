"""The parts of the console script that ask judges: `prompts`, `judge`, `replies`."""

from pathlib import Path

import nlgjudge as nj  # a name is imported when it is used, so that other commands start fast


def add_commands(commands):
    """Add the judging commands to the console script's parser."""
    prompts = commands.add_parser("prompts", help="list the prompts, or show one")
    prompts.add_argument("action", choices=["list", "show"])
    prompts.add_argument("name", nargs="?", default="")
    prompts.set_defaults(function=_prompts)
    judge = commands.add_parser("judge", help="let a judge rate a benchmark, after saying what it takes")
    judge.add_argument("benchmark")
    judge.add_argument("judge", help="openai:MODEL, batch:MODEL, replay:NAME or surface")
    judge.add_argument("--prompts", nargs="+", required=True, metavar="NAME",
                       help="names, or a beginning that several share, as geval/summarization/")
    judge.add_argument("--samples", type=int, default=1)
    judge.add_argument("--limit", type=int, help="judge the first so many items")
    judge.add_argument("--temperature", type=float)
    judge.add_argument("--max-tokens", type=int)
    judge.add_argument("--logprobs", action="store_const", const=True, help="weigh by token probability")
    judge.add_argument("--max-calls", type=int)
    judge.add_argument("--max-cost", type=float)
    judge.add_argument("--price", type=float, nargs=2, metavar=("IN", "OUT"),
                       help="of a million prompt and completion tokens")
    judge.add_argument("--per-minute", type=float, help="calls a minute at most")
    judge.add_argument("--tokens-per-minute", type=float)
    judge.add_argument("--concurrency", type=int, default=64)
    judge.add_argument("--store", type=Path, help="default: data/cache/replies.sqlite")
    judge.add_argument("--plan", action="store_true", help="only say what it would take")
    judge.add_argument("-o", "--output", type=Path, help="responses as CSV")
    judge.set_defaults(function=_judge)
    replies = commands.add_parser("replies", help="export or import a store of replies as JSON Lines")
    replies.add_argument("action", choices=["export", "import", "totals"])
    replies.add_argument("file", type=Path, nargs="?", help="ends in .jsonl or .jsonl.gz")
    replies.add_argument("--store", type=Path)
    replies.set_defaults(function=_replies)


def _prompts(options):
    from nlgjudge.judging.prompts import names

    if options.action == "list":
        print("\n".join(names()))
        return
    found = nj.prompt(options.name)
    words = "the paper's words" if found.exact else "own words, in the paper's form"
    print(f"# {found.name}, {words}\n# {found.source}\n# aspect {found.aspect or 'any'}, "
          f"scale {list(found.scale)}, reply form {found.form}, digest {found.digest}\n")
    print(found.body)


def _store(path):
    from nlgjudge.data.paths import cache
    from nlgjudge.judging.store import Store

    return Store(path or cache() / "replies.sqlite")


def _judge(options):
    from nlgjudge.judging.live import Limits
    from nlgjudge.judging.prompts import names
    from nlgjudge.judging.tasks import Tasks

    wanted = [n for given in options.prompts for n in names() if n == given or n.startswith(given)]
    if not wanted:
        raise ValueError(f"no prompt is called or begins with {' or '.join(options.prompts)}; "
                         "`nlgjudge prompts list` names them")
    benchmark = nj.load(options.benchmark)
    items = benchmark.items.head(options.limit) if options.limit else benchmark.items
    settings = {k: getattr(options, k) for k in ("temperature", "max_tokens", "logprobs")}
    settings = {k: v for k, v in settings.items() if v is not None}
    live = options.judge.startswith("openai:")
    extra = {"limits": Limits(options.max_calls, options.max_cost, options.per_minute,
                              options.tokens_per_minute, options.price and tuple(options.price)),
             "concurrency": options.concurrency, "progress": True} if live else {}
    with _store(options.store) as store:
        judge = nj.get_judge(options.judge, items=items, store=store, **extra)
        if live:
            plans = [judge.plan(Tasks(items, nj.prompt(n), n=options.samples, **settings)) for n in wanted]
            total = {k: sum(p[k] for p in plans) if plans[0][k] is not None else "unknown (give --price)"
                     for k in plans[0]}
            print("plan: " + ", ".join(f"{k} {v}" for k, v in total.items()))
        if options.plan:
            return
        responses = nj.judge_items(items, wanted, judge, samples=options.samples, sampling=settings)
    _report(benchmark, responses, options.output)


def _report(benchmark, responses, output):
    if output:
        responses.to_csv(output, index=False)
    scores = nj.item_scores(responses)
    frame = benchmark.with_scores(nj.wide({"judge": scores}))
    print(f"{responses['score'].notna().sum()} replies parsed, {responses['score'].isna().sum()} not "
          f"{benchmark.notice}")
    for aspect in sorted(set(scores["aspect"]) & set(benchmark.aspects)):
        for level in ("sample", "dataset"):
            found = nj.correlation(frame, f"judge:{aspect}", aspect, level=level)
            print(f"{aspect:20} {level:8} Spearman {found.value:6.3f}  (n {found.n}, left out "
                  f"{found.n_skipped})")


def _replies(options):
    with _store(options.store) as store:
        if options.action == "totals":
            print(", ".join(f"{k} {v}" for k, v in store.totals().items()))
            return
        if options.file is None:
            raise ValueError(f"replies {options.action} needs a file, as replies.jsonl.gz")
        (store.export if options.action == "export" else store.load)(options.file)
        print(f"{store.totals()['replies']} replies in {store.path}")
