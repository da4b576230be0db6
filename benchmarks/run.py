"""Run every benchmark here, each in a process of its own, and put their ratios into one table.

With ``--quick``, whose figures say nothing, these processes are copies of one that has imported what most of them do.

Writes ``build/bench.md``, with the machine's description, and ``build/bench.csv``; a failure is named,
the other benchmarks still run, the exit status is 1. Each full run is added to ``benchmarks/history.csv``.
``python benchmarks/run.py [--quick]``
"""

import argparse
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

import pandas as pd

from nlgjudge.data.paths import root

COLUMNS = ["benchmark", "what", "ours", "theirs", "unit", "ratio"]
COMMON = ("pandas", "scipy.stats", "nlgjudge.judging.parsing")
HISTORY = Path(__file__).with_name("history.csv")
LIBRARIES = ("nlgjudge", "numpy", "scipy", "pandas", "rouge-score", "sacrebleu", "nltk", "openai")


def options(doc):
    """A benchmark's parser, with the flags that all have."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="sizes that show that it runs, not how fast")
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
        row = pd.DataFrame([[Path(sys.argv[0]).stem, what, ours, theirs, unit, ratio]])
        row.to_csv(path, mode="a", header=False, index=False)


def commit():
    """Short name of the last commit, marked where files but the history differ from it; empty outside a repository."""
    name = _git("describe", "--always")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ":/", f":(exclude){HISTORY.name}")
    return f"{name}-dirty" if changed else name


def _git(*arguments):
    said = subprocess.run(["git", *arguments], cwd=HISTORY.parent, text=True, capture_output=True)
    return said.stdout.strip()


def remember(table, described, of_commit):
    """Add a run's figures to the history; machine and commit are those that it started with."""
    where = described.partition(" of memory")[0].removeprefix("- ")
    rows = table.assign(date=datetime.now(UTC).date().isoformat(), commit=of_commit, machine=where)
    rows = rows[["date", "commit", "machine", *COLUMNS]]
    rows.to_csv(HISTORY, mode="a", header=not HISTORY.exists(), index=False, float_format="%.4g")


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
    return "" if math.isnan(figure) else f"{figure:,.{digits}g}"


def main():
    chosen = options(__doc__).parse_args()
    quick = chosen.quick
    flags = ["--quick"] * quick
    described = machine()
    of_commit = commit()
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        (rows := Path(folder, "ratios.csv")).write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
        for script in sorted(set(Path(__file__).parent.glob("*.py")) - {Path(__file__)}):
            print(f"== {script.stem}", flush=True)
            size = rows.stat().st_size
            os.environ["BENCHMARK_RATIOS"] = str(rows)
            status = run_copy(script, flags) if quick else run(script, flags)
            if status or rows.stat().st_size == size:
                failed += [f"**{script.stem} failed**: " + (f"status {status}" if status else "no ratio")]
        table = pd.read_csv(rows)
    cells = [[*row[:2], *(shown(x, 4) for x in row[2:4]), row[4], shown(row[5], 3)] for row in table.values]
    lines = ["| " + " | ".join(c) + " |" for c in (COLUMNS, ["--", "--", "-:", "-:", "--", "-:"], *cells)]
    if not quick:
        remember(table, described, of_commit)
    note = ("Above 1: ours is better. Measured side by side, save ideals; loops for a few resamples or items,"
            " scaled up." + " Small sizes: they show that it runs, not how fast." * bool(quick))
    (build := Path(os.environ.get("NLGJUDGE_OUT") or root()) / "build").mkdir(parents=True, exist_ok=True)
    table.to_csv(build / "bench.csv", index=False, float_format="%.6g")
    text = "\n\n".join(["# Benchmarks", described, note, *failed, "\n".join(lines)]) + "\n"
    (build / "bench.md").write_text(text, encoding="utf-8")
    print("\n".join([*failed, "written: build/bench.md, build/bench.csv"]))
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main())
