"""The console script `nlgjudge`: every command with its options, its help and an example.

What a command does stands in the module that it names. That module is imported when the command runs, so that
help and errors come at once.
"""

import argparse
import errno
import gc
import sys
import textwrap
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from nlgjudge.repo import exits

# Those of `nlgjudge.judging.parsing`, written down so that every command starts without reading it.
POLICIES = ("nan", "leading_or_0", "store_3", "drop", "first_digit", "first_digit_or_0")
_STORE = "data/cache/replies.sqlite"
_JUDGES = (
    "openai:MODEL, batch:MODEL, replay:RECORDING, replay:STORE.sqlite:MODEL[@ENDPOINT] or surface"
)


def main(arguments=None):
    """Run the command line and return its exit status."""
    options = parser().parse_args(arguments)
    # Replies and rows are many small objects without cycles: to search them for cycles less often saves a tenth.
    gc.set_threshold(100_000, 20, 100)
    try:
        return options.function(options) or exits.DONE
    except BrokenPipeError:
        return exits.FAILED
    except KeyboardInterrupt as interrupt:
        if options.traceback:
            raise
        said = str(interrupt) or (
            "interrupted: what was finished or stored stays; the same command goes on from there"
        )
        print(f"\nnlgjudge: {said}", file=sys.stderr)
        return exits.INTERRUPTED
    except Exception as error:
        if options.traceback:
            raise
        print(f"nlgjudge: {_in_words(error)}", file=sys.stderr)
        return getattr(error, "status", exits.FAILED)


def _in_words(error):
    """An error's message; where a folder cannot be written, with what to do about it."""
    if isinstance(error, KeyError):
        return error.args[0]
    not_writable = (errno.EROFS, errno.EACCES, errno.EPERM)
    if isinstance(error, OSError) and error.filename and error.errno in not_writable:
        return (
            f"{error.filename}: {error.strerror}; where this checkout cannot be written, name folders of "
            "yours: NLGJUDGE_CACHE for downloads and replies, NLGJUDGE_OUT and -o for what a run makes"
        )
    return error


def parser():
    """Make the parser of all commands.

    Returns
    -------
    argparse.ArgumentParser
    """
    made = argparse.ArgumentParser(
        prog="nlgjudge",
        description="Check, cell by cell, what papers printed about language models as judges.",
        epilog="example:\n  nlgjudge judge topical_chat surface --prompts geval/dialogue/\n\n"
        "`nlgjudge COMMAND --help` has an example of each.",
        formatter_class=_Help,
    )
    made.add_argument("--version", action="version", version=f"nlgjudge {version('nlgjudge')}")
    made.add_argument("--traceback", action="store_true", help="show where an error arose")
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    _add_data(commands)
    _add_prompts(commands)
    _add_judge(commands)
    _add_replies(commands)
    _add_rerun(commands)
    _add_ledger(commands)
    _add_new(commands)
    return made


class _Help(argparse.HelpFormatter):
    """Help that shows the defaults which say something, and leaves indented lines as they are written."""

    def _get_help_string(self, action):
        text = action.help or ""
        nothing = action.default is False or action.default in (None, "", [], argparse.SUPPRESS)
        quiet = nothing or not action.option_strings or "default: " in text
        return text if quiet else f"{text} (default: %(default)s)"

    def _fill_text(self, text, width, indent):
        lines = (
            line if line.startswith(" ") else textwrap.fill(line, width)
            for line in text.splitlines()
        )
        return "\n".join(lines)


def _command(commands, name, text, example, *, description="", more="", listed=True):
    """Add a command or a group of them; an unlisted one has help of its own, and is not in its group's."""
    shown = {"help": text} if listed else {}
    description = description or f"{text[0].upper()}{text[1:]}."
    epilog = "\n".join(["example:", *(f"  {line}" for line in example.splitlines())])
    if more:
        epilog += f"\n\n{more}"
    return commands.add_parser(
        name, **shown, description=description, epilog=epilog, formatter_class=_Help
    )


def _does(command, home, name):
    """Let a command call a function, with the command's options as its arguments."""
    command.set_defaults(function=partial(_call, home, name))


def _call(home, name, options):
    function = getattr(import_module(f"nlgjudge.repo.{home}"), name)
    given = vars(options).copy()
    del given["function"], given["traceback"]
    if "pandas" not in sys.modules:
        return function(**given)
    # The tables here are small: Arrow's way of keeping texts, pandas' own, costs more for each of them than it saves.
    with import_module("pandas").option_context("mode.string_storage", "python"):
        return function(**given)


def _add_data(commands):
    data = _command(commands, "data", "upstream files: list, fetch, verify", "nlgjudge data list")
    actions = data.add_subparsers(required=True, metavar="ACTION")
    for name, work, text, example in (
        (
            "list",
            "show",
            "what there is, with licence and citation",
            "nlgjudge data list summeval openmeva",
        ),
        (
            "fetch",
            "fetch",
            "download what is neither cached nor mirrored",
            "nlgjudge data fetch openmeva",
        ),
        (
            "verify",
            "verify",
            "check what is here against its blob id",
            "nlgjudge data verify summeval",
        ),
    ):
        action = _command(actions, name, text, example)
        action.add_argument("benchmarks", nargs="*", help="default: all")
        if name == "fetch":
            action.add_argument(
                "--declared",
                action="store_true",
                help="what the notebooks declare; where no code host is reachable, the sample replaces it",
            )
        _does(action, "data_files", work)


def _add_prompts(commands):
    prompts = _command(
        commands,
        "prompts",
        "list the prompts, or show one",
        "nlgjudge prompts show geval/summarization/coherence",
    )
    prompts.add_argument(
        "action", choices=["list", "show"], help="all names, or one prompt's words"
    )
    prompts.add_argument("name", nargs="?", default="", help="of the prompt to show")
    _does(prompts, "prompts", "show")


def _add_judge(commands):
    judge = _command(
        commands,
        "judge",
        "let a judge rate a benchmark, after saying what it takes",
        "nlgjudge judge summeval openai:gpt-4o-mini --prompts geval/summarization/ \\\n"
        "    --price 0.15 0.60 --max-cost 1 --limit 50 -o replies.csv --plan",
        description="Let a judge rate a benchmark's items under one or more prompts, and compare its ratings "
        "with people's.",
        more="The same line without --plan asks, and writes the replies. A prompt of your own is a text or a "
        "file:\n"
        "  nlgjudge judge summeval openai:gpt-4o-mini --aspect fluency --scale 1 5 \\\n"
        "      --prompts 'Rate the fluency from 1 to 5: {{hypothesis}}' --plan\n\n" + exits.HELP,
    )
    judge.add_argument("benchmark", help="as summeval; `nlgjudge data list` names them")
    judge.add_argument("judge", help=_JUDGES)
    judge.add_argument(
        "--prompts",
        nargs="+",
        required=True,
        metavar="PROMPT",
        help="names; beginnings that several share, as geval/summarization/; a text with "
        "slots, as '{{hypothesis}}'; or the path of a file that holds such a text",
    )
    judge.add_argument("--aspect", help="what a text of your own asks about")
    judge.add_argument(
        "--scale",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="lowest and highest rating of a text of your own; default: 1 5",
    )
    judge.add_argument(
        "--form",
        help="how a reply to a text of your own is read: form, stars, number, "
        "yes_no, json or choice; default: form",
    )
    judge.add_argument(
        "--options",
        nargs="+",
        metavar="TEXT=SCORE",
        help="of the form choice: the options' texts in the order of their letters, as "
        "Good=5 Fair=3 Poor=1",
    )
    judge.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write the replies, a row each, to this CSV file; default: not written",
    )
    _add_source(judge)
    _add_asking(judge, "documents")
    _does(judge, "asking", "rate")


def _add_replies(commands):
    replies = _command(
        commands,
        "replies",
        "the store of replies: export, import, count, batches, adopt, forget",
        "nlgjudge replies totals",
    )
    actions = replies.add_subparsers(required=True, metavar="ACTION")

    def action(name, work, text, example, description=""):
        made = _command(actions, name, text, example, description=description)
        made.add_argument(
            "--store", type=Path, metavar="FILE", help=f"the store (default: {_STORE})"
        )
        _does(made, "replies", work)
        return made

    for name, work, text in (
        ("export", "export", "write all replies as JSON Lines"),
        ("import", "load", "add the replies of an exported file"),
    ):
        made = action(name, work, text, f"nlgjudge replies {name} replies.jsonl.gz")
        made.add_argument("file", type=Path, help="ends in .jsonl or .jsonl.gz")
    batches = action(
        "batches",
        "batches",
        "list the batches that are under way, or give one up",
        "nlgjudge replies batches --give-up batch_abc",
        "List the batches that were submitted and not collected. A batch that is given up is waited for "
        "no longer: its requests are asked, and paid for, anew.",
    )
    batches.add_argument(
        "--give-up", metavar="BATCH", default="", help="wait for this one no longer"
    )
    action(
        "totals",
        "totals",
        "count replies, tokens and cost, and say which model and endpoint they are of",
        "nlgjudge replies totals --store data/cache/replies.sqlite",
    )
    adopt = action(
        "adopt",
        "adopt",
        "say which endpoint gave the replies that are stored without one",
        "nlgjudge replies adopt --model gpt-4o-mini --endpoint https://api.openai.com/v1",
    )
    adopt.add_argument("--model", required=True, help="the model that was asked")
    adopt.add_argument("--endpoint", required=True, metavar="URL", help="as OPENAI_BASE_URL had it")
    forget = action(
        "forget",
        "forget",
        "drop replies, so that they are asked for anew",
        "nlgjudge replies forget --model gpt-4o-mini --reason no_rating",
        "Drop the replies that fit all that is given, so that the next run asks for them anew. Without --yes "
        "it only says how many there are.",
    )
    forget.add_argument("--model", help="the model that was asked")
    forget.add_argument("--endpoint", metavar="URL", help="the one that gave them, or unknown")
    forget.add_argument(
        "--prompt", metavar="NAME", help="its name, the beginning of one, or its digest"
    )
    forget.add_argument(
        "--reason",
        help="why they are of no use: empty, length, content_filter, refusal, "
        "no_rating, ambiguous, out_of_range, not_json or no_score_token",
    )
    forget.add_argument("--yes", action="store_true", help="drop them")


def _add_rerun(commands):
    rerun = _command(
        commands,
        "rerun",
        "the papers' rows of a model, asked of a judge of yours",
        "nlgjudge rerun geval chatgpt/table6 --judge openai:gpt-4o-mini --price 0.15 0.60 --plan",
        description="Ask a judge for every row that a model produced in the papers' tables, under each paper's "
        "protocol, and set its correlations beside the printed ones. Results go to build/reruns/.",
        more="The same line without --plan asks; --limit 20 is a cheap rehearsal. Two models for two rows:\n"
        "  nlgjudge rerun geval --judge G-EVAL-3.5=openai:gpt-4o-mini --judge G-EVAL-4=openai:gpt-4o\n"
        "The rows that need weights (BERTScore, BARTScore, UniEval) in place of those that need a key:\n"
        "  nlgjudge rerun --metrics chatgpt --weights FOLDER --plan\n\n" + exits.HELP,
    )
    rerun.add_argument(
        "targets",
        nargs="*",
        metavar="PAPER[/TABLE]",
        help="as geval, chatgpt/table6 or coascore; default: all tables of all papers",
    )
    rerun.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="[ROW=]JUDGE",
        help=f"{_JUDGES}; with ROW= for that printed row alone, and again for more",
    )
    rerun.add_argument(
        "--samples", type=int, metavar="N", help="replies an item; default: each protocol's own"
    )
    rerun.add_argument(
        "--temperature", type=float, metavar="T", help="default: each protocol's own"
    )
    rerun.add_argument(
        "--without-logprobs",
        action="store_true",
        help="the model gives no token probabilities: estimate them from samples, as G-Eval does",
    )
    rerun.add_argument(
        "--limit",
        type=int,
        default=0,
        metavar="N",
        help="the first N documents of each dataset: a rehearsal, without verdicts; 0 is all",
    )
    rerun.add_argument(
        "--keep", action="store_true", help="copy a whole run to paper_tables/reruns/"
    )
    rerun.add_argument(
        "--without-notebooks", action="store_true", help="leave out the tables' notebooks"
    )
    _add_source(rerun)
    _add_weights(rerun)
    _add_spending(rerun)
    _does(rerun, "metrics_rerunning", "rerun_papers")


def _add_source(command):
    """Add the option that says which data are asked about."""
    command.add_argument(
        "--source",
        choices=("auto", "real", "sample"),
        default="auto",
        help="auto asks a served model about real data only; sample asks, and pays, about the sample",
    )


def _add_weights(command):
    """Add the options of the rows that need weights rather than a key."""
    group = command.add_argument_group("rows that need weights (extra neural)")
    group.add_argument(
        "--metrics",
        action="store_true",
        help="compute BERTScore, BARTScore and UniEval in place of asking a judge",
    )
    group.add_argument(
        "--weights",
        type=Path,
        metavar="FOLDER",
        help="where folders of weights lie, as bart-large-cnn; default: the model hub, unless "
        "HF_HUB_OFFLINE is set",
    )
    group.add_argument("--batch-size", type=int, metavar="N", help="texts at once; default: 16")
    group.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        help="where it is computed; default: auto, the fastest that is there",
    )
    group.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="ROW=NAME_OR_FOLDER",
        help="another model for a printed row, and only such rows; it enters no ledger",
    )


def _add_ledger(commands):
    ledger = _command(
        commands,
        "ledger",
        "merge the notebooks' results, and compare the ledger with the committed one",
        "nlgjudge ledger",
        description="Merge what the notebooks of the last `make reproduce` computed into "
        "build/results/ledger.csv, and report every cell that differs from the committed ledger.",
    )
    ledger.add_argument(
        "--refresh",
        action="store_true",
        help="copy outputs, figures, tables and ledger of that run into the repository instead",
    )
    _does(ledger, "data_files", "ledger")


def _add_new(commands):
    new = _command(
        commands, "new", "a fresh notebook from a template", "nlgjudge new ablation my_idea"
    )
    new.add_argument("kind", choices=["ablation"], help="the template")
    new.add_argument("name", help="as my_idea, for notebooks/ablation_my_idea.ipynb")
    _does(new, "new_notebook", "new")


def _add_asking(command, counted, protocols=False):
    """Add the options that every command has which asks a judge; they are `nlgjudge.repo.asking.Asking`."""
    own = "each protocol's own" if protocols else ""
    asked = command.add_argument_group("how it is asked")
    asked.add_argument(
        "--samples",
        type=int,
        default=None if protocols else 1,
        metavar="N",
        help=f"replies an item; default: {own}" if own else "replies an item",
    )
    asked.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="of the sampling; default: " + (own or "the server's own"),
    )
    asked.add_argument(
        "--max-tokens",
        type=int,
        metavar="N",
        help="highest number of a reply's tokens; default: " + (own or "no bound"),
    )
    asked.add_argument(
        "--logprobs",
        action="store_true",
        help="weigh the ratings by their token probability (G-Eval, equation 1)",
    )
    asked.add_argument(
        "--policy",
        choices=POLICIES,
        default="nan",
        help="what a reply without a rating counts as: nothing, or as in upstream's scripts, "
        "which ask nothing again",
    )
    asked.add_argument(
        "--limit",
        type=int,
        default=0,
        metavar="N",
        help=f"use the first N {counted}; 0 is all",
    )
    _add_spending(command)


def _add_spending(command):
    """Add the options that bound what a command asks and pays."""
    spent = command.add_argument_group("what it may take")
    spent.add_argument(
        "--plan", action="store_true", help="only say what it would take; nothing is asked"
    )
    spent.add_argument(
        "--price",
        type=float,
        nargs=2,
        metavar=("IN", "OUT"),
        help="of a million prompt and a million completion tokens",
    )
    spent.add_argument(
        "--max-cost",
        type=float,
        metavar="COST",
        help="stop at this cost, in the price's currency; each run counts by itself",
    )
    spent.add_argument("--max-calls", type=int, metavar="N", help="stop after so many calls")
    spent.add_argument("--per-minute", type=float, metavar="N", help="calls a minute at most")
    spent.add_argument(
        "--tokens-per-minute", type=float, metavar="N", help="prompt tokens a minute at most"
    )
    spent.add_argument(
        "--concurrency", type=int, default=64, metavar="N", help="calls under way at once"
    )
    spent.add_argument(
        "--timeout",
        type=_seconds,
        default=60,
        metavar="SECONDS",
        help="of silence, after which a call is tried again",
    )
    spent.add_argument(
        "--deadline",
        type=_seconds,
        default=900,
        metavar="SECONDS",
        help="of a call in all, with its further tries and their pauses",
    )
    spent.add_argument(
        "--despite-batches",
        action="store_true",
        help="ask, and pay, also for what waits in a batch on the same store",
    )
    spent.add_argument(
        "--store", type=Path, metavar="FILE", help=f"where replies are kept (default: {_STORE})"
    )


def _seconds(text):
    """A length of time."""
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected seconds, as 60, got {text}")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
