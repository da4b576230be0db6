"""Sweeps of tiny notebooks: every cell once, whole or not at all, here and by a stand-in for Slurm."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from matplotlib.figure import Figure
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from nlgjudge.ledger import figures
from nlgjudge.repo import cli
from nlgjudge.repo import sweep as sweeps
from nlgjudge.repo.notebooks import NotebookError

# Each run leaves a line in `runs.txt`; `block` and `fail` are files that a test puts there.
WORK = """import os, time
from pathlib import Path
import nlgjudge as nj
here = Path(place)
with open(here / "runs.txt", "a") as log:
    log.write(f"{x}{mode} ")
while (here / f"block{x}").exists():
    time.sleep(0.05)
assert not (here / f"fail{x}").exists(), "told to fail"
out = Path(os.environ["NLGJUDGE_OUT"], *([] if mode == "real" else ["sample"]), "ablation")
out.mkdir(parents=True)
(out / "t.csv").write_text(f"aspect,difference,ci_low,ci_high\\na,{x},-9,9\\nb,{-x},-9,9\\n")"""
GRID = "notebook: tiny.ipynb\nparameters: {place: %s, x: [1, 2], mode: [real, sample]}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A notebook, a grid of two cells and a place for results."""
    parameters = new_code_cell('place = ""  # of the runs\nx = 0  # a number\nmode = "real"  # or sample')
    parameters.metadata["tags"] = ["parameters"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=[
        new_markdown_cell("# Tiny"), parameters, new_code_cell(WORK), new_code_cell("nj.signature()")],
        metadata={"kernelspec": kernel, "nlgjudge": {"benchmarks": []}}), tmp_path / "tiny.ipynb")
    (tmp_path / "grid.yaml").write_text((GRID % tmp_path).replace("[real, sample]", "real"), encoding="utf-8")
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "out"))
    return tmp_path


def runs(folder):
    return sorted((folder / "runs.txt").read_text(encoding="utf-8").split())


def go(folder, *options):
    return cli.main(["sweep", str(folder / "grid.yaml"), "--jobs", "2", *options])


def test_a_grid_becomes_one_tidy_table_and_a_figure(folder, capsys):
    (folder / "grid.yaml").write_text(GRID % folder, encoding="utf-8")
    assert go(folder) == 0
    assert "4 cells, 4 to run (local)" in capsys.readouterr().out
    assert runs(folder) == ["1real", "1sample", "2real", "2sample"]
    results = folder / "out" / "sweeps" / "grid"
    table = pd.read_csv(results / "results.csv")
    assert table.groupby(["x", "mode", "aspect"])["difference"].sum().to_dict() == {
        (x, mode, aspect): x * sign for x in (1, 2) for mode in ("real", "sample")
        for aspect, sign in (("a", 1), ("b", -1))}
    assert table["data"].tolist() == table["mode"].tolist() and set(table["cell"]) == {0, 1, 2, 3}
    drawn = (results / "results.svg").read_text(encoding="utf-8")
    assert "x 1, mode real" in drawn and "sample data, not comparable with the papers" in drawn
    assert (results / "results.png").stat().st_size > 5000
    assert go(folder) == 0 and len(runs(folder)) == 4  # nothing to do


def test_what_failed_runs_again_alone(folder, capsys):
    (folder / "fail2").touch()
    assert go(folder) == 1
    said, results = capsys.readouterr().err, folder / "out" / "sweeps" / "grid"
    assert "cells 1 of 2 failed; their output is in" in said and "runs these again" in said
    log = (results / "log" / "1.txt").read_text(encoding="utf-8")
    assert "tiny.ipynb, cell 2: AssertionError: told to fail" in log
    assert len(pd.read_csv(results / "results.csv")) == 2
    (folder / "fail2").unlink()
    assert go(folder) == 0
    assert runs(folder) == ["1real", "2real", "2real"]
    assert not list((folder / "out").rglob("*.partial"))


def _hears_interrupts():
    """A process that a shell started in the background ignores SIGINT, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_sweep_resumes(folder, kill):
    (folder / "block2").touch()
    command = [sys.executable, "-m", "nlgjudge.repo.cli", "sweep", str(folder / "grid.yaml"), "--jobs", "4"]
    with open(folder / "said.txt", "w", encoding="utf-8") as said:
        process = subprocess.Popen(command, start_new_session=True, stdout=said, stderr=said,
                                   preexec_fn=_hears_interrupts)
        grid = sweeps.read(folder / "grid.yaml")
        until = time.monotonic() + 120
        while grid.missing() != [1] or len(runs(folder)) < 2:
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.1)
        os.killpg(process.pid, kill)
        process.wait(60)
    (folder / "block2").unlink()
    assert grid.missing() == [1]  # what was under way left nothing that looks whole
    assert go(folder) == 0
    assert runs(folder) == ["1real", "2real", "2real"]


def test_a_changed_notebook_or_parameter_runs_again(folder):
    def write(text):
        (folder / "grid.yaml").write_text(text, encoding="utf-8")

    write(f"notebook: tiny.ipynb\nparameters: {{place: {folder}, x: 1}}\n")
    assert go(folder) == 0 and runs(folder) == ["1real"]
    write(f"notebook: tiny.ipynb\nparameters: {{place: {folder}, x: [1, 3]}}\n")
    assert go(folder) == 0 and runs(folder) == ["1real", "3real"]
    notebook = nbformat.read(folder / "tiny.ipynb", as_version=4)
    notebook.cells[0].source = "# Tiny, another"
    nbformat.write(notebook, folder / "tiny.ipynb")
    assert go(folder) == 0 and runs(folder) == ["1real", "1real", "3real", "3real"]
    grid = sweeps.read(folder / "grid.yaml")
    executed = grid.place(0) / "executed.ipynb"
    os.utime(executed, (0, 0))  # older than every file that it read
    assert grid.missing() == [0]


def test_slurm_gets_one_array_of_what_is_missing(folder, monkeypatch):
    (folder / "bin").mkdir()
    fake = folder / "bin" / "sbatch"
    # Runs the tasks one by one, as an array of jobs would, and notes how it was called.
    fake.write_text("""#!/bin/sh
echo "$@" >> "$(dirname "$0")/called"
for option; do case $option in
  --array=*) array=${option#--array=};; --output=*) output=${option#--output=};; esac; script=$option; done
for task in $(echo "${array%%\\%*}" | tr , ' '); do
  SLURM_ARRAY_TASK_ID=$task sh "$script" > "$(echo "$output" | sed "s/%a/$task/")" 2>&1; done
exit 1
""", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    (folder / "fail1").touch()
    assert go(folder, "--executor", "slurm", "--sbatch=--time=30 --mem=4G") == 1
    (folder / "fail1").unlink()
    assert go(folder, "--executor", "slurm") == 0
    assert go(folder, "--executor", "slurm") == 0  # nothing left: sbatch is not asked
    first, second = (fake.parent / "called").read_text(encoding="utf-8").splitlines()
    results = folder / "out" / "sweeps" / "grid"
    assert first == (f"--wait --array=0,1%2 --job-name=grid --output={results}/log/%a.txt --time=30 "
                     f"--mem=4G {results}/cells.sbatch")
    assert second.startswith("--wait --array=0%2 ")
    assert "told to fail" not in (results / "log" / "0.txt").read_text(encoding="utf-8")  # but in the first
    assert len(pd.read_csv(results / "results.csv")) == 4 and runs(folder) == ["1real", "1real", "2real"]


def test_a_machine_without_slurm(folder, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(folder))
    assert go(folder, "--executor", "slurm") == 1
    assert "no sbatch here: log in to the cluster" in capsys.readouterr().err


@pytest.mark.parametrize("text, kind, message", [
    ("- 1\n", ValueError, "expected the keys notebook, parameters, figure and parameters by name, got list"),
    ("notebook: tiny.ipynb\n", ValueError, "got notebook"),
    ("notebook: tiny.ipynb\nparameters: {x: 1}\njobs: 3\n", ValueError, "got notebook, parameters, jobs"),
    ("notebook: tiny.ipynb\nparameters: {y: [1]}\n", NotebookError, "no parameter 'y'; there are place, x"),
    ("notebook: other\nparameters: {x: 1}\n", NotebookError, "other: no such notebook"),
])
def test_what_is_no_grid(folder, text, kind, message):
    (folder / "grid.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(kind, match=message):
        sweeps.read(folder / "grid.yaml")


def test_a_notebook_of_the_repository_is_known_by_name(tmp_path):
    path = tmp_path / "g.yaml"
    path.write_text("notebook: template_ablation\nparameters: {change: [{samples: 1}, {estimator: mode}]}\n",
                    encoding="utf-8")
    grid = sweeps.read(path)
    assert grid.notebook.name == "template_ablation.ipynb"
    assert grid.cells == [{"change": {"samples": 1}}, {"change": {"estimator": "mode"}}]


def test_the_figure_takes_the_columns_that_the_grid_names(folder, monkeypatch, capsys):
    drawn = []
    monkeypatch.setattr(figures, "intervals", lambda frame, **options: drawn.append((frame, options))
                        or Figure())
    text = GRID % folder + "figure: {label: %s, group: mode}\n"
    (folder / "grid.yaml").write_text(text.replace("[1, 2]", "1") % "x", encoding="utf-8")
    assert go(folder) == 0
    (frame, options), = drawn
    assert frame[["label", "value", "group", "column"]].to_numpy().tolist() == [
        ["1", x, mode, aspect] for mode in ("real", "sample") for x, aspect in ((1, "a"), (-1, "b"))]
    assert options["column"] == "column" and options["title"] == "grid: difference by x"
    assert options["lines"] == {"a": 0, "b": 0}
    (folder / "grid.yaml").write_text(text.replace("[1, 2]", "1") % "judge", encoding="utf-8")
    assert go(folder) == 1
    assert "no figure: the results have no column judge; they have aspect" in capsys.readouterr().err


@pytest.fixture
def labels(folder, monkeypatch):
    """Draw a grid of a notebook with the parameters `change`, `samples` and `seed`; give what it drew."""
    parameters = new_code_cell('change = {}  # what differs\nsamples = 1  # replies\nseed = 0  # of chance')
    parameters.metadata["tags"] = ["parameters"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=[new_markdown_cell("# Tiny"), parameters, new_code_cell("1")],
                                metadata={"kernelspec": kernel}), folder / "tiny.ipynb")
    drawn = []
    monkeypatch.setattr(figures, "intervals", lambda frame, **options: drawn.append((frame, options))
                        or Figure())

    def draw(parameters, figure=""):
        (folder / "grid.yaml").write_text(f"notebook: tiny.ipynb\nparameters: {parameters}\n{figure}",
                                          encoding="utf-8")
        grid = sweeps.read(folder / "grid.yaml")
        grid.folder.mkdir(parents=True, exist_ok=True)
        table = pd.DataFrame([{"aspect": "a", "difference": 0.1, "ci_low": 0, "ci_high": 1, "cell": cell,
                               "data": "real", "coefficient": "spearman",
                               **{k: str(v) if isinstance(v, dict) else v for k, v in given.items()}}
                              for cell, given in enumerate(grid.cells)])
        monkeypatch.setattr(sweeps.Grid, "missing", lambda _: [])  # as if every cell had run
        monkeypatch.setattr(sweeps, "collect", lambda _: table)
        sweeps.sweep(folder / "grid.yaml", say=print)
        (frame, options), = drawn
        return frame["label"].tolist(), options["title"]
    return draw


@pytest.mark.parametrize("parameters, figure, expected, title", [
    ("{change: [{samples: 1, estimator: mode}, {scale: [1, 10]}]}", "",
     ["samples 1, estimator mode", "scale 1 10"], "change"),
    ("{change: [{samples: 1}, {words: {carefully: with care}}], seed: [0, 1]}", "",
     ["samples 1, seed 0", "samples 1, seed 1",
      "carefully: with care, seed 0", "carefully: with care, seed 1"], "change, seed"),
    ("{samples: [1, 5], seed: 3}", "figure: {label: samples}", ["1", "5"], "samples"),
    # A label that the grid names still says what else differs.
    ("{samples: [1, 5], seed: [0, 1]}", "figure: {label: samples}",
     ["samples 1, seed 0", "samples 1, seed 1", "samples 5, seed 0", "samples 5, seed 1"], "samples, seed"),
    ("{samples: [1, 5], seed: [0, 1]}", "figure: {label: samples, group: seed}", ["1", "1", "5", "5"],
     "samples"),
    ("{samples: [1, 5]}", "figure: {label: coefficient}", ["spearman, samples 1", "spearman, samples 5"],
     "coefficient, samples"),
    ("{change: [{temperature: 0}, {temperature: 1}]}", "figure: {label: change}",
     ["temperature 0", "temperature 1"], "change"),
])
def test_labels_name_every_parameter_that_differs_in_words(labels, parameters, figure, expected, title):
    assert labels(parameters, figure) == (expected, f"grid: difference by {title}")


def test_a_value_of_another_kind_is_refused_before_a_cell_runs(labels):
    with pytest.raises(NotebookError, match="change='samples=1': expected names and values, as '{}'"):
        labels("{change: [{samples: 1}, samples=1]}")


def test_the_repositorys_grid_can_be_read():
    path = Path(__file__).resolve().parents[2] / "notebooks" / "ablation_samples.yaml"
    assert [cell["samples"] for cell in sweeps.read(path).cells] == [1, 2, 5, 10, 15]
