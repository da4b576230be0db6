"""The console script `nlgjudge`."""

import argparse
import ast
import json
import os
import sys
import time
from collections import Counter
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import nlgjudge as nj
from nlgjudge.repo import evaluating as own_cli
from nlgjudge.repo import exits
from nlgjudge.repo import new_notebook as extend_cli
from nlgjudge.repo.asking import add_commands


def main(arguments=None):
    """Run the command line and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        return options.function(options) or exits.DONE
    except BrokenPipeError:
        return exits.FAILED
    except KeyboardInterrupt as interrupt:
        if options.traceback:
            raise
        said = str(interrupt) or ("interrupted: what was finished or stored stays; the same command goes on "
                                  "from there")
        print(f"\nnlgjudge: {said}", file=sys.stderr)
        return exits.INTERRUPTED
    except Exception as error:
        if options.traceback:
            raise
        print(f"nlgjudge: {error.args[0] if isinstance(error, KeyError) else error}", file=sys.stderr)
        return getattr(error, "status", exits.FAILED)


def _parser():
    parser = argparse.ArgumentParser(
        prog="nlgjudge",
        description="Check, cell by cell, what papers printed about language models as judges.",
        epilog="make calls resolve, finish, refresh and validate; you need not.")
    parser.add_argument("--version", action="version", version=f"nlgjudge {version('nlgjudge')}")
    parser.add_argument("--traceback", action="store_true", help="show where an error arose")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    data = commands.add_parser("data", help="upstream files: list, fetch, verify").add_subparsers(
        required=True, metavar="ACTION")
    for name, function, text in (("list", _list, "what there is, with licence and citation"),
                                 ("fetch", _fetch, "download what is neither cached nor mirrored"),
                                 ("verify", _verify, "check what is here against its blob id")):
        action = data.add_parser(name, help=text)
        action.add_argument("benchmarks", nargs="*", help="default: all")
        action.set_defaults(function=function)
    add_commands(commands)
    extend_cli.add_commands(commands)
    own_cli.add_commands(commands)
    run = commands.add_parser(
        "run", help="execute one notebook, strictly, with parameters of yours",
        description="Execute a notebook. What it makes goes to a folder of its own below build/runs/, one "
        "for each set of parameters; nothing that is committed changes.",
        epilog="example: nlgjudge run notebooks/geval_table2_topical_chat.ipynb -p samples 5")
    run.add_argument("notebook", type=Path)
    run.add_argument("-o", "--output", type=Path, help="the executed copy; default: in the run's folder")
    run.add_argument("-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"),
                     help="a value for a name in the notebook's parameters cell; may be given several times")
    run.set_defaults(function=_run)
    # Steps of the Makefile: without a help text they are not listed among the commands.
    for name, home in (("resolve", "workflow"), ("validate", "notebooks"), ("finish", "workflow"),
                       ("refresh", "notebooks")):
        commands.add_parser(name).set_defaults(function=partial(_step, home, name))
    commands.choices["validate"].add_argument("--with-data", action="store_true",
                                              help="only the notebooks that declare data")
    return parser


def _chosen(options):
    return [e for name in dict.fromkeys(options.benchmarks) or [None] for e in nj.data.entries(name)]


def _list(options):
    from nlgjudge.data.fetch import local

    found = [((*e[:3], e.licence, e.citation), local(e) is not None) for e in _chosen(options)]
    files, here = Counter(kind for kind, _ in found), Counter(kind for kind, is_here in found if is_here)
    print(f"{'benchmark':19}{'role':12}{'here':>9}  licence             citation")
    for kind in sorted(files):
        benchmark, role, repository, licence, citation = kind
        share = f"{here[kind]}/{files[kind]}"
        print(f"{benchmark:19}{role:12}{share:>9}  {licence:18}  {citation} ({repository})")
    print("\nstory_cloze and iwslt14 have no registered file: name yours in NLGJUDGE_STORY_CLOZE and "
          "NLGJUDGE_HUMANMT.")


def _fetch(options):
    from nlgjudge.data.fetch import read_all

    chosen = _chosen(options)
    for licence, citation, repository in sorted({(e.licence, e.citation, e.repository) for e in chosen}):
        print(f"{repository}: licence {licence}; cite {citation} (data/README.md)")
    missing = [error for error in read_all(chosen).values() if error]
    for error in missing:
        print(str(error).rsplit("\n", 1)[0], file=sys.stderr)
    print(f"{len(chosen) - len(missing)} of {len(chosen)} files are here")
    return 1 if missing else 0


def _verify(options):
    from nlgjudge.data.fetch import check, local

    chosen = _chosen(options)
    here = [(path, check(entry, path.read_bytes())) for entry in chosen if (path := local(entry))]
    bad = [f"{path} {problem}" for path, problem in here if problem]
    print(*bad, sep="\n", end="\n" if bad else "", file=sys.stderr)
    print(f"{len(here) - len(bad)} files verified, {len(bad)} bad, {len(chosen) - len(here)} not here")
    return 1 if bad or not here else 0


def _run(options):
    from nlgjudge.repo.notebooks import NotebookError, place, run

    parameters = {name: _value(text) for name, text in options.parameter}
    folder = place(options.notebook, parameters)
    os.environ.setdefault("NLGJUDGE_OUT", str(folder))  # the workflow has set its own
    output = options.output or folder / options.notebook.name
    failed = output.with_suffix(".failed.txt")
    failed.unlink(missing_ok=True)
    start = time.monotonic()
    try:
        run(options.notebook, output, parameters)
    except NotebookError as error:
        failed.parent.mkdir(parents=True, exist_ok=True)
        failed.write_text(f"{error}\n", encoding="utf-8")
        raise
    print(f"ran {options.notebook.stem} in {time.monotonic() - start:.1f} s")
    if os.environ["NLGJUDGE_OUT"] == str(folder):
        print(f"the executed notebook is {output}, its results are in {folder}")


def _value(text):
    """A parameter's value: JSON, a Python literal such as None or ('a', 'b'), or else the text itself."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return text


def _step(home, name, options):
    if name == "resolve":
        print("data:")
    wanted = {"with_data": True} if getattr(options, "with_data", False) else {}
    getattr(import_module(f"nlgjudge.repo.{home}"), name)(**wanted)


if __name__ == "__main__":
    sys.exit(main())
