"""Run every benchmark here, each in a process of its own, and put their ratios into one table.

With ``--quick``, whose figures say nothing, these processes are copies of one that has imported what most of them do.

Writes ``build/bench.md``, with the machine's description, and ``build/bench.csv``; a failure is named,
the other benchmarks still run, the exit status is 1. Each full run is added to ``benchmarks/history.csv``.
What the commands of the README cost is measured by a run of them (``commands.py --record``); the last figure
of each is shown below the table, with its date and commit.
``python benchmarks/run.py [--quick] [--long]``
"""

import argparse
import csv
import math
import multiprocessing
import os
import platform
import re
import runpy
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from nlgjudge.data.paths import root

COLUMNS = ["benchmark", "what", "ours", "theirs", "unit", "ratio"]
COMMON = ("pandas", "scipy.stats", "nlgjudge.judging.parsing")
NUMBERS = ("ours", "theirs", "ratio")
HISTORY = Path(__file__).with_name("history.csv")
LIBRARIES = ("nlgjudge", "numpy", "scipy", "pandas", "rouge-score", "sacrebleu", "nltk", "openai")


def options(doc):
    """A benchmark's parser, with the flags that all have."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="sizes that show that it runs, not how fast")
    parser.add_argument("--long", action="store_true", help="also what takes many minutes")
    return parser


def record(what, ours, theirs=None, unit="s"):
    """Hand a figure to the run that asked for it, if one did.

    With another's figure beside it, its ratio is above 1 where ours is better.
    """
    figures = [ours] if theirs is None else [ours, theirs]
    if not all(math.isfinite(figure) and figure > 0 for figure in figures):
        raise ValueError(f"expected positive numbers for {what!r}, got {ours} and {theirs}")
    ratio = None
    if theirs is not None:
        ratio = theirs / ours if unit == "s" else ours / theirs
    if path := os.environ.get("BENCHMARK_RATIOS"):
        row = dict(zip(COLUMNS, [Path(sys.argv[0]).stem, what, ours, theirs, unit, ratio]))
        add(path, [written(row)])


def written(row, form=""):
    """A row's fields in the order of the columns, its figures in that format; what is absent is empty."""
    fields = row.copy()
    for name in NUMBERS:
        fields[name] = "" if row[name] is None else format(float(row[name]), form)
    return [fields[column] for column in COLUMNS]


def add(path, rows):
    """Add rows to a CSV file."""
    with open(path, "a", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def read(path):
    """Rows of figures in a CSV file that has a header, each a dict; what is empty there is None."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row | {name: float(row[name]) if row[name] else None for name in NUMBERS} for row in rows]


def commit():
    """Short name of the last commit, marked where files but the history differ from it; empty outside a repository."""
    name = _git("describe", "--always")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ":/", f":(exclude){HISTORY.name}")
    return f"{name}-dirty" if changed else name


def _git(*arguments):
    said = subprocess.run(["git", *arguments], cwd=HISTORY.parent, text=True, capture_output=True)
    return said.stdout.strip()


def remember(rows, described, of_commit):
    """Add a run's figures to the history; machine and commit are those that it started with."""
    where = described.partition(" of memory")[0].removeprefix("- ")
    run = [datetime.now(UTC).date().isoformat(), of_commit, where]
    if not HISTORY.exists():
        add(HISTORY, [["date", "commit", "machine", *COLUMNS]])
    add(HISTORY, [[*run, *written(row, ".4g")] for row in rows])


def last_recorded():
    """The newest figure of each command in the history, as lines of Markdown; none where it has none."""
    newest = {}
    for row in read(HISTORY) if HISTORY.exists() else []:
        if row["benchmark"] == "commands" and row["theirs"] is None:
            newest.pop(row["what"], None)
            newest[row["what"]] = row
    if not newest:
        return []
    rows = [f"| {what} | {shown(row['ours'], 3)} | {row['date']} | {row['commit']} | {row['machine']} |"
            for what, row in newest.items()]
    return ["## Commands, as last recorded", "\n".join(["| what | s | date | commit | machine |",
                                                       "| -- | -: | -- | -- | -- |", *rows])]


def machine():
    """What the ratios depend on; names neither the host nor a user."""
    cpu, info = platform.machine(), Path("/proc/cpuinfo")
    if sys.platform == "darwin":
        cpu = subprocess.check_output(["sysctl", "-n", "machdep.cpu.brand_string"], text=True).strip()
    elif info.is_file() and (found := re.search(r"model name\s*: (.+)", info.read_text("utf-8"))):
        cpu = found[1]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return (f"- {platform.system()}, {cpu}, {os.cpu_count()} cores, {memory:.0f} GiB of memory; load "
            f"{os.getloadavg()[0]:.1f} at the start\n- Python {platform.python_version()}, "
            + ", ".join(f"{name} {version(name)}" for name in LIBRARIES))


def run(script, flags):
    """Run a benchmark in a process of its own; its exit status."""
    return subprocess.run([sys.executable, script, *flags]).returncode


def run_copy(script, flags):
    """The same in a copy of this process, on a system where copies are safe."""
    if sys.platform != "linux":
        return run(script, flags)
    for name in COMMON:
        import_module(name)
    copy = multiprocessing.get_context("fork").Process(target=become, args=(script, flags))
    copy.start()
    copy.join()
    return copy.exitcode


def become(script, flags):
    """Be a benchmark."""
    sys.argv = [str(script), *flags]
    runpy.run_path(str(script), run_name="__main__")


def shown(figure, digits):
    """A figure as text, empty where there is none."""
    return "" if figure is None else f"{figure:,.{digits}g}"


def main():
    chosen = options(__doc__).parse_args()
    quick = chosen.quick
    flags = ["--quick"] * quick + ["--long"] * chosen.long
    described = machine()
    of_commit = commit()
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        add(rows := Path(folder, "ratios.csv"), [COLUMNS])
        for script in sorted(set(Path(__file__).parent.glob("*.py")) - {Path(__file__)}):
            print(f"== {script.stem}", flush=True)
            size = rows.stat().st_size
            os.environ["BENCHMARK_RATIOS"] = str(rows)
            status = run_copy(script, flags) if quick else run(script, flags)
            if status or rows.stat().st_size == size:
                failed += [f"**{script.stem} failed**: " + (f"status {status}" if status else "no ratio")]
        table = read(rows)
    cells = [[row["benchmark"], row["what"], shown(row["ours"], 4), shown(row["theirs"], 4), row["unit"],
              shown(row["ratio"], 3)] for row in table]
    lines = ["| " + " | ".join(c) + " |" for c in (COLUMNS, ["--", "--", "-:", "-:", "--", "-:"], *cells)]
    if not quick:
        remember(table, described, of_commit)
    recorded = [] if quick else last_recorded()
    note = ("Above 1: ours is better. Measured side by side, save ideals; loops for a few resamples or items,"
            " scaled up." + " Small sizes: they show that it runs, not how fast." * bool(quick))
    (build := Path(os.environ.get("NLGJUDGE_OUT") or root()) / "build").mkdir(parents=True, exist_ok=True)
    (build / "bench.csv").unlink(missing_ok=True)
    add(build / "bench.csv", [COLUMNS, *(written(row, ".6g") for row in table)])
    text = "\n\n".join(["# Benchmarks", described, note, *failed, "\n".join(lines), *recorded]) + "\n"
    (build / "bench.md").write_text(text, encoding="utf-8")
    print("\n".join([*failed, "written: build/bench.md, build/bench.csv"]))
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main())
