"""The console script `nlgjudge`."""

import argparse
import sys
import time
from pathlib import Path

from nlgjudge.judging_cli import add_commands


def main(arguments=None):
    """Run the command line and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        return options.function(options) or 0
    except BrokenPipeError:
        return 1
    except Exception as error:
        if options.traceback:
            raise
        print(f"nlgjudge: {error.args[0] if isinstance(error, KeyError) else error}", file=sys.stderr)
        return 1


def _parser():
    parser = argparse.ArgumentParser(prog="nlgjudge", description=__doc__)
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
    run = commands.add_parser("run", help="execute one notebook, strictly")
    run.add_argument("notebook", type=Path)
    run.add_argument("-o", "--output", type=Path, required=True)
    run.add_argument("-p", "--parameter", nargs=2, action="append", default=[],
                     metavar=("NAME", "VALUE"))
    run.set_defaults(function=_run)
    for name, function, text in (("resolve", _resolve, "find the data that the notebooks need"),
                                 ("validate", _validate, "compare the notebooks' outputs, or run them "
                                                         "where their data is not here"),
                                 ("finish", _finish, "merge the ledger and print the coverage"),
                                 ("refresh", _refresh, "keep executed outputs and the README's "
                                                       "results in the repository")):
        commands.add_parser(name, help=text).set_defaults(function=function)
    return parser


def _chosen(options):
    from nlgjudge.data.registry import entries

    for name in options.benchmarks:
        entries(name)  # an unknown name is an error that lists the known
    return [e for e in entries() if not options.benchmarks or e.benchmark in options.benchmarks]


def _list(options):
    from itertools import groupby

    from nlgjudge.data.fetch import local

    chosen = _chosen(options)
    key = lambda e: (e.benchmark, e.role, e.repository, e.licence, e.citation)  # noqa: E731
    print(f"{'benchmark':19}{'role':12}{'here':>9}  licence             citation")
    for (benchmark, role, repository, licence, citation), group in groupby(
            sorted(chosen, key=key), key):
        group = list(group)
        here = sum(local(e) is not None for e in group)
        print(f"{benchmark:19}{role:12}{f'{here}/{len(group)}':>9}  {licence:18}  {citation} ({repository})")
    print("\nstory_cloze and iwslt14 have no registered file: name yours in NLGJUDGE_STORY_CLOZE and "
          "NLGJUDGE_HUMANMT.")


def _fetch(options):
    from tqdm import tqdm

    from nlgjudge.data import fetch

    missing, chosen = [], _chosen(options)
    for licence, citation, repository in sorted({(e.licence, e.citation, e.repository) for e in chosen}):
        print(f"{repository}: licence {licence}; cite {citation} (data/README.md)")
    for entry in tqdm(chosen, unit="file", desc="fetch"):
        try:
            fetch.read(entry, progress=True)
        except fetch.DataUnavailable as error:
            missing.append(entry)
            tqdm.write(str(error).rsplit("\n", 1)[0], file=sys.stderr)
    print(f"{len(chosen) - len(missing)} of {len(chosen)} files are here")
    return 1 if missing else 0


def _verify(options):
    from nlgjudge.data.fetch import check, local

    absent = bad = 0
    chosen = _chosen(options)
    for entry in chosen:
        path = local(entry)
        problem = check(entry, path.read_bytes()) if path else ""
        absent += path is None
        if problem:
            bad += 1
            print(f"{path} {problem}", file=sys.stderr)
    print(f"{len(chosen) - absent - bad} files verified, {bad} bad, {absent} not here")
    return 1 if bad or absent == len(chosen) else 0


def _run(options):
    from nlgjudge.report.notebooks import NotebookError, run

    failed = options.output.parent.parent / "failed" / f"{options.notebook.stem}.txt"
    failed.unlink(missing_ok=True)
    start = time.monotonic()
    try:
        run(options.notebook, options.output, {k: _value(v) for k, v in options.parameter})
    except NotebookError as error:
        failed.parent.mkdir(parents=True, exist_ok=True)
        failed.write_text(f"{error}\n", encoding="utf-8")
        raise
    print(f"ran {options.notebook.stem} in {time.monotonic() - start:.1f} s")


def _value(text):
    import json

    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _resolve(_):
    from nlgjudge.report.workflow import resolve

    print("data:")
    resolve()


def _validate(_):
    from nlgjudge.report.notebooks import validate

    validate()


def _finish(_):
    from nlgjudge.report.workflow import finish

    finish()


def _refresh(_):
    from nlgjudge.report.notebooks import refresh

    refresh()


if __name__ == "__main__":
    sys.exit(main())
