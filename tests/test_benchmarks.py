"""`make bench` finds every benchmark, and one that fails does not stop the others."""

import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
GOOD = '"""Good."""\nfrom run import record\nrecord("loop", 2, 8)\nrecord("rate", 30, 60, "1/s")\n'


AS_A_SCRIPT = """import runpy, sys
from pathlib import Path
sys.argv = sys.argv[1:]
sys.path[0] = str(Path(sys.argv[0]).parent)
runpy.run_path(sys.argv[0], run_name="__main__")"""


def run(folder, target, *flags):
    """Run the benchmarks in `folder`; exit status, Markdown, rows."""
    environment = os.environ | {"NLGJUDGE_OUT": str(target), "NLGJUDGE_OFFLINE": "1"}
    status = subprocess.run(
        [sys.executable, folder / "run.py", *flags], env=environment, stdout=subprocess.DEVNULL
    ).returncode
    return (status, *written(target))


def written(target):
    """Markdown and rows that a run of the benchmarks wrote."""
    return (target / "build/bench.md").read_text("utf-8"), pd.read_csv(target / "build/bench.csv")


def test_every_benchmark_hands_over_its_ratios(tmp_path, commands):
    """In a copy of a process that has imported what they do."""
    before = {path: path.stat().st_mtime_ns for path in FOLDER.glob("*.png")}
    done = commands.run(
        "-c",
        AS_A_SCRIPT,
        str(FOLDER / "run.py"),
        "--quick",
        NLGJUDGE_OUT=str(tmp_path),
        NLGJUDGE_OFFLINE="1",
    )
    assert done.returncode == 0, done.stderr
    text, rows = written(tmp_path)
    assert set(rows["benchmark"]) == {path.stem for path in FOLDER.glob("*.py")} - {"run"}
    assert rows["ratio"].map(math.isfinite).all() and (rows["ratio"] > 0).all()
    assert text.count("\n| ") == len(rows) + 2 and all(what in text for what in rows["what"])
    assert "Small sizes" in text and re.search(r"\d+ cores, \d+ GiB", text) and "numpy " in text
    assert not re.search(
        rf"\b{re.escape(os.uname().nodename)}\b|(?:^|\s)/\w", text
    )  # no host, no path
    assert before == {path: path.stat().st_mtime_ns for path in FOLDER.glob("*.png")}


def test_a_failing_benchmark_is_named_and_the_others_run(tmp_path):
    shutil.copy(FOLDER / "run.py", tmp_path)
    bodies = {
        "a": '"""Fails."""\nraise SystemExit(3)',
        "b": GOOD,
        "c": '"""Says nothing."""',
        "d": '"""Zero."""\nfrom run import record\nrecord("nothing", 1, 0)',
    }
    for name, body in bodies.items():
        (tmp_path / f"{name}.py").write_text(body, "utf-8")
    status, text, rows = run(tmp_path, tmp_path)
    assert status == 1
    assert (
        "**a failed**: status 3" in text
        and "**c failed**: no ratio" in text
        and "**d failed**" in text
    )
    assert list(rows["benchmark"]) == ["b", "b"]
    assert list(rows["ratio"]) == [8 / 2, 30 / 60]  # less time is better, and the higher rate
    history = pd.read_csv(tmp_path / "history.csv")
    assert (
        list(history["ours"]) == [2, 30] and history["date"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()
    )
    assert history["machine"].str.contains(" cores, ").all()
    (tmp_path / "b.py").write_text(
        '"""Alone."""\nfrom run import record\nrecord("command", 3)', "utf-8"
    )
    status, text, rows = run(tmp_path, tmp_path)
    assert rows["ratio"].isna().all() and "| b | command | 3 |  | s |  |" in text
    assert list(pd.read_csv(tmp_path / "history.csv")["ours"]) == [2, 30, 3]
    (tmp_path / "b.py").unlink()
    status, text, rows = run(tmp_path, tmp_path)
    assert status == 1 and text.count(" failed**") == 3 and rows.empty
