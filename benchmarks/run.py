"""Run every benchmark here, each in a process of its own, and put their ratios into one table.

Writes ``build/bench.md``, with the machine's description, and ``build/bench.csv``; a failure is named,
the other benchmarks still run, the exit status is 1. ``python benchmarks/run.py [--quick]``
"""

import argparse
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from nlgjudge.data.paths import root

COLUMNS = ["benchmark", "what", "ours", "theirs", "unit", "ratio"]
LIBRARIES = ("nlgjudge", "numpy", "scipy", "pandas", "rouge-score", "sacrebleu", "nltk", "openai")


def options(doc):
    """A benchmark's parser, with the flag that all have."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="sizes that show that it runs, not how fast")
    return parser


def record(what, ours, theirs, unit="s"):
    """Hand a ratio, above 1 where ours is better, to the run that asked for it, if one did."""
    ratio = theirs / ours if unit == "s" else ours / theirs
    if not (math.isfinite(ratio) and ratio > 0):
        raise ValueError(f"expected two positive numbers for {what!r}, got {ours} and {theirs}")
    if path := os.environ.get("BENCHMARK_RATIOS"):
        row = pd.DataFrame([[Path(sys.argv[0]).stem, what, ours, theirs, unit, ratio]])
        row.to_csv(path, mode="a", header=False, index=False)


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


def main():
    quick, described, failed = ["--quick"] * options(__doc__).parse_args().quick, machine(), []
    with tempfile.TemporaryDirectory() as folder:
        (rows := Path(folder, "ratios.csv")).write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
        for script in sorted(set(Path(__file__).parent.glob("*.py")) - {Path(__file__)}):
            print(f"== {script.stem}", flush=True)
            size, environment = rows.stat().st_size, os.environ | {"BENCHMARK_RATIOS": str(rows)}
            status = subprocess.run([sys.executable, script, *quick], env=environment).returncode
            if status or rows.stat().st_size == size:
                failed += [f"**{script.stem} failed**: " + (f"status {status}" if status else "no ratio")]
        table = pd.read_csv(rows)
    cells = [[*row[:2], *(f"{x:,.4g}" for x in row[2:4]), row[4], f"{row[5]:,.3g}"] for row in table.values]
    lines = ["| " + " | ".join(c) + " |" for c in (COLUMNS, ["--", "--", "-:", "-:", "--", "-:"], *cells)]
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
