"""The parts of the console script that ask judges: `prompts`, `judge`, `replies`.

What other commands share with `judge` is here too: its options, how a judge is made from them,
and what is said when it has ended.
"""

import argparse
import sys
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import nlgjudge as nj  # a name is imported when it is used, so that other commands start fast
from nlgjudge.repo import exits

KINDS = ("openai", "batch", "replay", "surface")
# Those of `nlgjudge.judging.parsing`, written down so that every command starts without reading it.
POLICIES = ("nan", "leading_or_0", "store_3", "drop")
_FIELDS = {"source", "hypothesis", "reference", "context"}  # what an item fills in
_DEFAULT_STORE = "data/cache/replies.sqlite"


class Help(argparse.RawDescriptionHelpFormatter):
    """Help that shows the defaults which say something, and leaves an example as it is written."""

    def _get_help_string(self, action):
        text = action.help or ""
        nothing = action.default is False or action.default in (None, "", [], argparse.SUPPRESS)
        quiet = nothing or not action.option_strings or "default: " in text
        return text if quiet else f"{text} (default: %(default)s)"


def add_commands(commands):
    """Add the judging commands to the console script's parser."""
    prompts = commands.add_parser(
        "prompts", help="list the prompts, or show one", formatter_class=Help,
        epilog="example:\n  nlgjudge prompts show geval/summarization/coherence")
    prompts.add_argument("action", choices=["list", "show"], help="all names, or one prompt's words")
    prompts.add_argument("name", nargs="?", default="", help="of the prompt to show")
    prompts.set_defaults(function=_prompts)
    _add_judge(commands)
    _add_replies(commands)


def _add_judge(commands):
    judge = commands.add_parser(
        "judge", help="let a judge rate a benchmark, after saying what it takes", formatter_class=Help,
        description="Let a judge rate a benchmark's items under one or more prompts, and compare its ratings "
                    "with people's.",
        epilog="example:\n  nlgjudge judge summeval openai:gpt-4o-mini --prompts geval/summarization/ \\\n"
               "      --price 0.15 0.60 --max-cost 1 --limit 50 -o replies.csv\n\n"
               "A prompt of your own, as text or in a file:\n"
               "  nlgjudge judge summeval openai:gpt-4o-mini --aspect fluency --scale 1 5 \\\n"
               "      --prompts 'Rate the fluency from 1 to 5: {{hypothesis}}'\n\n" + exits.HELP)
    judge.add_argument("benchmark", help="as summeval; `nlgjudge data list` names them")
    judge.add_argument("judge", help="openai:MODEL, batch:MODEL, replay:RECORDING, "
                                     "replay:STORE.sqlite:MODEL[@ENDPOINT] or surface")
    judge.add_argument("--prompts", nargs="+", required=True, metavar="PROMPT",
                       help="names; beginnings that several share, as geval/summarization/; a text with "
                            "slots, as '{{hypothesis}}'; or the path of a file that holds such a text")
    judge.add_argument("--aspect", help="what a text of your own asks about")
    judge.add_argument("--scale", type=float, nargs=2, metavar=("LOW", "HIGH"),
                       help="lowest and highest rating of a text of your own; without it 1 5")
    judge.add_argument("--form", help="how a reply to a text of your own is read: form, stars, number, "
                                      "yes_no, json or choice; without it form")
    judge.add_argument("--options", nargs="+", metavar="TEXT=SCORE",
                       help="of the form choice: the options' texts in the order of their letters, as "
                            "Good=5 Fair=3 Poor=1")
    judge_options(judge)
    judge.add_argument("-o", "--output", type=Path, help="write the replies, a row each, to this CSV file")
    judge.set_defaults(function=_judge)


def judge_options(parser):
    """Add the options that every command has that asks a judge.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    asked = parser.add_argument_group("how it is asked")
    asked.add_argument("--samples", type=int, default=1, metavar="N", help="replies an item")
    asked.add_argument("--temperature", type=float, metavar="T",
                       help="of the sampling; without it the server's own")
    asked.add_argument("--max-tokens", type=int, metavar="N", help="of a reply at most; without it no bound")
    asked.add_argument("--logprobs", action="store_true",
                       help="weigh the ratings by their token probability (G-Eval, equation 1)")
    asked.add_argument("--policy", choices=POLICIES, default="nan",
                       help="what a reply without a rating counts as: nothing, or as in upstream's scripts, "
                            "which ask nothing again")
    asked.add_argument("--limit", type=int, default=0, metavar="N",
                       help="use the first so many items; 0 is all")
    spent = parser.add_argument_group("what it may take")
    spent.add_argument("--plan", action="store_true", help="only say what it would take; nothing is asked")
    spent.add_argument("--price", type=float, nargs=2, metavar=("IN", "OUT"),
                       help="of a million prompt and a million completion tokens")
    spent.add_argument("--max-cost", type=float, metavar="COST",
                       help="stop at this cost, in the price's currency; each run counts by itself")
    spent.add_argument("--max-calls", type=int, metavar="N", help="stop after so many calls")
    spent.add_argument("--per-minute", type=float, metavar="N", help="calls a minute at most")
    spent.add_argument("--tokens-per-minute", type=float, metavar="N", help="prompt tokens a minute at most")
    spent.add_argument("--concurrency", type=int, default=64, metavar="N", help="calls under way at once")
    spent.add_argument("--store", type=Path, metavar="FILE",
                       help=f"where replies are kept (default: {_DEFAULT_STORE})")


def open_store(path=None):
    """Open the store of replies that a command names, or the usual one.

    Parameters
    ----------
    path : path-like, optional

    Returns
    -------
    nlgjudge.judging.store.Store
    """
    from nlgjudge.data.paths import cache
    from nlgjudge.judging.store import Store

    return Store(path or cache() / "replies.sqlite")


_store = open_store


def sampling(options):
    """Sampling parameters that the options name.

    Returns
    -------
    dict
    """
    found = {name: getattr(options, name) for name in ("temperature", "max_tokens", "logprobs")}
    return {name: value for name, value in found.items() if value not in (None, False)}


def open_judge(spec, options, *, items=None, store=None):
    """Make the judge that a command names, with the limits of its options.

    Parameters
    ----------
    spec : str
        As for `nlgjudge.judging.run.get_judge`.
    options : argparse.Namespace
        With the options of `judge_options`.
    items : pandas.DataFrame, optional
    store : nlgjudge.judging.store.Store, optional

    Raises
    ------
    ValueError
        For an unknown kind of judge, with the near ones.
    """
    from nlgjudge.data.choices import unknown
    from nlgjudge.judging.live import Limits

    kind = spec.partition(":")[0]
    if kind not in KINDS:
        raise ValueError(f"judge {spec!r}: {unknown('kind of judge', kind, KINDS)}; write openai:MODEL, "
                         "batch:MODEL, replay:RECORDING, replay:STORE.sqlite:MODEL or surface")
    price = options.price and tuple(options.price)
    extra = {}
    if kind == "openai":
        limits = Limits(options.max_calls, options.max_cost, options.per_minute, options.tokens_per_minute,
                        price)
        # Upstream's scripts, which a policy repeats, took the first reply as it came.
        extra = {"limits": limits, "concurrency": options.concurrency, "progress": True,
                 "ask_again": options.policy == "nan"}
    if kind == "batch":
        extra = {"price": price}
    return nj.get_judge(spec, items=items, store=store, **extra)


def told_plan(judge, tasks, options):
    """Print what a run would take, and refuse a batch that its limits do not allow.

    Parameters
    ----------
    judge : object
    tasks : list of nlgjudge.judging.tasks.Tasks
        One for each prompt.
    options : argparse.Namespace

    Returns
    -------
    dict
        The total, empty for a judge that takes nothing.

    Raises
    ------
    ValueError
        When a batch, which cannot be stopped half way, would go over a limit.
    """
    from nlgjudge.judging.planning import assumption

    if not hasattr(judge, "plan"):
        print(f"plan: {judge.name} takes no call")
        return {}
    plans = [judge.plan(part) for part in tasks]
    total = {name: sum(plan[name] for plan in plans) for name in plans[0] if name != "cost"}
    total["cost"] = sum(plan["cost"] for plan in plans) if options.price else None
    said = {name: "unknown (give --price)" if value is None else value for name, value in total.items()}
    if total["cost"] is not None:
        said["cost"] = f"{total['cost']:.4f}"
    print("plan: " + ", ".join(f"{name} {value}" for name, value in said.items()))
    lengths = Counter(assumption(judge.server, judge.store, next(iter(part))) for part in tasks if len(part))
    for length, number in lengths.items():
        which = "" if len(lengths) == 1 else f" ({number} of {len(tasks)} prompts)"
        print(f"plan: counted with {length}{which}, and four characters a token of a prompt")
    if options.samples > 1:
        print("plan: counted as one call an item; where the server gives one sample a call, a prompt is paid "
              f"{options.samples} times")
    if hasattr(judge, "submit"):
        for name, limit in (("cost", options.max_cost), ("calls", options.max_calls)):
            if limit is not None and total[name] is None:
                raise ValueError(f"a limit on {name} needs a price: give --price IN OUT")
            if limit is not None and total[name] > limit:
                raise ValueError(f"the plan takes {name} of {total[name]:g}, the limit is {limit:g}, and a "
                                 "batch cannot be stopped half way: nothing was submitted")
    return total


def told_end(judge, responses, planned=None, notice=""):
    """Print how a run ended, and return the exit status.

    Parameters
    ----------
    judge : object
    responses : pandas.DataFrame
        All rows of the run, as from `nlgjudge.judging.run.judge_items`.
    planned : dict, optional
        From `told_plan`.
    notice : str
        The benchmark's.

    Returns
    -------
    int
        One of `nlgjudge.repo.exits`.
    """
    from nlgjudge.judging.live import NOT_ASKED, told_again

    reasons = Counter(responses.loc[responses["reason"] != "", "reason"])
    unasked = reasons.pop(NOT_ASKED, 0)
    read = len(responses) - unasked - reasons.total()
    without = f" ({_counted(reasons)})" if reasons else ""
    print(f"{read} replies read, {reasons.total()} without a rating{without} {notice}".rstrip())
    if getattr(judge, "asked_again", None):
        print(told_again(judge.asked_again))
    if planned and hasattr(judge, "spent"):
        said = [f"{name} {value} ({planned[name]} planned)" for name, value in judge.spent.items()]
        if planned["cost"] is not None:
            said.append(f"cost {judge.cost:.4f} ({planned['cost']:.4f} planned)")
        print("spent: " + ", ".join(said))
    status = exits.DONE
    if getattr(judge, "failures", 0):
        most, _ = judge.reasons.most_common(1)[0]
        print(f"nlgjudge: {judge.failures} items failed, most often with: {most}; the same command asks for "
              "them again", file=sys.stderr)
        status = exits.FAILED
    if unasked:
        print(f"nlgjudge: stopped after {len(responses) - unasked} of {len(responses)} replies: "
              f"{judge.stopped}; the same command goes on from there, with a limit of its own",
              file=sys.stderr)
        return exits.UNFINISHED
    if not read:
        why = f"most often {reasons.most_common(1)[0][0]}" if reasons else "there is no item"
        print(f"nlgjudge: no reply could be read: {why}{_example(responses)}", file=sys.stderr)
        return exits.FAILED
    return status


def _example(responses):
    texts = responses.loc[responses["text"] != "", "text"]
    return f", as {texts.iloc[0][:80]!r}" if len(texts) else ""


def _counted(counts):
    return ", ".join(f"{name} {number}" for name, number in counts.most_common())


@contextmanager
def plain_warnings():
    """Print each warning once, as a line of its own."""
    seen = set()

    def show(message, *_, **__):
        if str(message) not in seen:
            seen.add(str(message))
            print(f"note: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


@contextmanager
def told_interrupt(store):
    """On Ctrl-C, say what is stored."""
    before = store.totals()["replies"]
    try:
        yield
    except KeyboardInterrupt:
        now = store.totals()["replies"]
        raise KeyboardInterrupt(f"interrupted: {now - before} replies of this run are stored, {now} in all, "
                                f"in {store.path}; the same command goes on from there") from None


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


def chosen_prompts(given, aspects, *, aspect=None, scale=None, form=None, options=None):
    """Find the prompts that a command names.

    Parameters
    ----------
    given : list of str
        Names, beginnings that several names share, texts with slots, or paths of files with such a text.
    aspects : list of str
        That people rated.
    aspect, scale, form, options : optional
        Of a text.

    Returns
    -------
    list of nlgjudge.judging.prompts.Prompt

    Raises
    ------
    ValueError
        For what is none of these, a text without an aspect, or options of a text without a text.
    """
    from nlgjudge.data.choices import unknown
    from nlgjudge.judging.prompts import names

    found, texts = [], 0
    for one in given:
        text = _text(one)
        if text is None:
            found += _named(one, names())
            continue
        texts += 1
        if not aspect:
            raise ValueError("a prompt's own text needs --aspect: say which of "
                             f"{', '.join(aspects)} it asks about")
        if aspect not in aspects:
            raise ValueError(unknown("aspect", aspect, aspects))
        low, high = scale or (1, 5)
        if low >= high:
            raise ValueError(f"scale {low:g} {high:g}: expected the lowest rating first, then the highest")
        found.append(nj.judging.as_prompt(text, aspect=aspect, scale=(low, high), form=form or "form",
                                  options=_scored(options)))
    if not texts and (aspect or scale or form or options):
        raise ValueError("--aspect, --scale, --form and --options are for a prompt's own text; a prompt by "
                         "name has its own")
    return list({(one.name, one.digest): one for one in found}.values())


def _scored(options):
    """Scores by option, from ``TEXT=SCORE``."""
    found = {}
    for option in options or []:
        text, equals, score = option.rpartition("=")
        try:
            found[text] = float(score)
        except ValueError:
            equals = ""
        if not equals:
            raise ValueError(f"--options {option}: expected TEXT=SCORE, as Good=5")
    return found


def _text(given):
    """A prompt's own text, written on the command line or in a file; None for a name."""
    if "{{" in given or "\n" in given:
        return given
    path = Path(given)
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _named(given, known):
    from nlgjudge.data.choices import unknown

    if given in known or given.startswith("upstream:"):
        return [nj.prompt(given)]
    begin = [nj.prompt(name) for name in known if name.startswith(given)]
    rate = [one for one in begin if _rates(one)]
    if rate:
        return rate
    if begin:
        raise ValueError(f"none of the prompts that begin with {given!r} asks for a rating of an item")
    raise ValueError(f"{unknown('prompt', given, known)} (`nlgjudge prompts list` names all; there is no "
                     "file of this name either)")


def _rates(one):
    """Whether a prompt asks for a rating, and shows nothing but an item."""
    return bool(one.scale) and set(one.slots.values()) <= _FIELDS | set(one.constants)


def _judge(options):
    from nlgjudge.data.benchmarks import READERS
    from nlgjudge.data.choices import first, unknown
    from nlgjudge.data.sample import task
    from nlgjudge.judging.prompts import check_fit
    from nlgjudge.judging.tasks import Tasks

    if options.benchmark not in READERS:
        raise ValueError(unknown("benchmark", options.benchmark, READERS, most=len(READERS)))
    if options.samples < 1:
        raise ValueError(f"--samples {options.samples}: expected a whole number of at least 1")
    benchmark = nj.load(options.benchmark)
    prompts = chosen_prompts(options.prompts, benchmark.aspects, aspect=options.aspect, scale=options.scale,
                             form=options.form, options=options.options)
    items, settings = first(benchmark.items, options.limit), sampling(options)
    for one in prompts:
        check_fit(one, items, task(options.benchmark))
    with open_store(options.store) as store, plain_warnings(), told_interrupt(store):
        judge = open_judge(options.judge, options, items=items, store=store)
        tasks = [Tasks(items, one, n=options.samples, **settings) for one in prompts]
        planned = told_plan(judge, tasks, options)
        if options.plan:
            return exits.DONE
        if hasattr(judge, "submit"):  # a batch stops while replies are missing, so all prompts go out first
            for part in tasks:
                judge.submit(part)
        return _rated(benchmark, items, prompts, judge, planned, settings, options)


def _rated(benchmark, items, prompts, judge, planned, settings, options):
    """Ask, prompt by prompt, and print what came of it."""
    import pandas as pd

    parts = []
    for one in prompts:
        found = nj.judge_items(items, [one], judge, samples=options.samples,
                               policy=options.policy, sampling=settings)
        parts.append(found.assign(prompt=one.name))
    responses = pd.concat(parts, ignore_index=True)
    if options.output:
        responses.to_csv(options.output, index=False)
    status = told_end(judge, responses, planned, benchmark.notice)
    aspects = Counter(one.aspect for one in prompts)
    for one, found in zip(prompts, parts):
        if one.aspect not in benchmark.aspects:
            print(f"{one.name}: {benchmark.name} has no ratings of {one.aspect or 'its aspect'}")
        elif found["score"].notna().any():
            label = one.aspect if aspects[one.aspect] == 1 else f"{one.aspect}, {one.name}"
            _agreement(benchmark, found, one.aspect, label)
    return status


def _agreement(benchmark, responses, aspect, label):
    """Print how well one prompt's scores agree with people's."""
    frame = benchmark.with_scores(nj.judging.wide({"judge": nj.item_scores(responses)}))
    frame = frame[frame["item_id"].isin(responses["item_id"])]
    for level in ("sample", "dataset"):
        found = nj.correlation(frame, f"judge:{aspect}", aspect, level=level)
        print(f"{label:20} {level:8} Spearman {found.value:6.3f}  (n {found.n}, left out {found.n_skipped})")


def _add_replies(commands):
    replies = commands.add_parser(
        "replies", help="the store of replies: export, import, count, adopt, forget", formatter_class=Help,
        epilog="example:\n  nlgjudge replies forget --model gpt-4o-mini --reason no_rating")
    actions = replies.add_subparsers(required=True, metavar="ACTION")

    def action(name, function, text, description=None):
        made = actions.add_parser(name, help=text, description=description or text, formatter_class=Help)
        made.add_argument("--store", type=Path, metavar="FILE",
                          help=f"the store (default: {_DEFAULT_STORE})")
        made.set_defaults(function=function)
        return made

    for name, function, text in (("export", _export, "write all replies as JSON Lines"),
                                 ("import", _import, "add the replies of an exported file")):
        made = action(name, function, text)
        made.add_argument("file", type=Path, help="ends in .jsonl or .jsonl.gz")
    action("totals", _totals, "count replies, tokens and cost, and say which model and endpoint they are of")
    adopt = action("adopt", _adopt, "say which endpoint gave the replies that are stored without one")
    adopt.add_argument("--model", required=True, help="that was asked")
    adopt.add_argument("--endpoint", required=True, metavar="URL", help="as OPENAI_BASE_URL had it")
    forget = action(
        "forget", _forget, "drop replies, so that they are asked for anew",
        "Drop the replies that fit all that is given, so that the next run asks for them anew. Without --yes "
        "it only says how many there are.")
    forget.add_argument("--model", help="that was asked")
    forget.add_argument("--endpoint", metavar="URL", help="that gave them, or unknown")
    forget.add_argument("--prompt", metavar="NAME", help="its name, the beginning of one, or its digest")
    forget.add_argument("--reason", help="why they are of no use: empty, length, content_filter, refusal, "
                                         "no_rating, ambiguous, out_of_range, not_json or no_score_token")
    forget.add_argument("--yes", action="store_true", help="do it")


def _export(options):
    with open_store(options.store) as store:
        store.export(options.file)
        print(f"{store.totals()['replies']} replies in {options.file}")


def _import(options):
    with open_store(options.store) as store:
        store.load(options.file)
        print(f"{store.totals()['replies']} replies in {store.path}")


def _totals(options):
    with open_store(options.store) as store:
        print(", ".join(f"{name} {value}" for name, value in store.totals().items()))
        for (model, endpoint), number in store.endpoints().items():
            print(f"{model}@{endpoint}: {number} replies")


def _adopt(options):
    from nlgjudge.data.choices import unknown
    from nlgjudge.judging.tasks import UNKNOWN_ENDPOINT, endpoint

    where = endpoint(options.endpoint)
    with open_store(options.store) as store:
        models = [model for model, held in store.endpoints() if held == UNKNOWN_ENDPOINT]
        if options.model not in models:
            raise ValueError(f"{store.path} holds no replies without an endpoint of this model: "
                             f"{unknown('model', options.model, models)}")
        number = store.adopt(options.model, where)
    print(f"{number} replies of {options.model} are now those of {where}")


def _forget(options):
    from nlgjudge.data.choices import unknown
    from nlgjudge.judging.forget import matching
    from nlgjudge.judging.tasks import UNKNOWN_ENDPOINT, endpoint
    from nlgjudge.judging.usable import REASONS

    wanted = {name: getattr(options, name) for name in ("model", "endpoint", "prompt", "reason")}
    if not any(wanted.values()):
        raise ValueError("say which replies: give --model, --endpoint, --prompt or --reason")
    if options.reason and options.reason not in REASONS:
        raise ValueError(unknown("reason", options.reason, REASONS))
    if options.endpoint and options.endpoint != UNKNOWN_ENDPOINT:
        wanted["endpoint"] = endpoint(options.endpoint)
    with open_store(options.store) as store:
        chosen, counts = matching(store, **wanted)
        for (model, where, prompt, reason), number in counts.most_common():
            print(f"{number} of {model}@{where}, prompt {prompt or 'not noted'}"
                  + (f", {reason}" if reason else ""))
        if options.yes:
            store.drop(chosen)
    done = "are dropped" if options.yes else "would be dropped; add --yes to do it"
    print(f"{len(chosen)} replies {done}")
