"""Sweeps of tiny notebooks by the user's own command: every cell once, whole or not at all."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml
from matplotlib.figure import Figure
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from loopback import completion
from nlgjudge.data.paths import root
from nlgjudge.judging.store import Store
from nlgjudge.ledger import figures
from nlgjudge.repo import sweep as sweeps
from nlgjudge.repo.notebooks import NotebookError
from snakemake_copies import SnakemakeCopies

# Each run leaves a line in `runs.txt`; `block` and `fail` are files that a test puts there.
WORK = """import os, time
from pathlib import Path
import nlgjudge as nj
from nlgjudge.data.paths import use
here = Path(place)
with open(here / "runs.txt", "a") as log:
    log.write(f"{x} ")
Path(here / f"pid{x}").write_text(str(os.getppid()))
while (here / f"block{x}").exists():
    time.sleep(0.05)
assert not (here / f"fail{x}").exists(), "told to fail"
use(here / f"input{x}").touch()
(here / "odd").write_text(repr(odd))
out = Path(os.environ["NLGJUDGE_OUT"], *(["sample"] if x == 3 else []), "ablation")
out.mkdir(parents=True)
(out / "t.csv").write_text(f"aspect,difference,ci_low,ci_high\\na,{x},-9,9\\nb,{-x},-9,9\\n")"""
ODD = {"a b/c,d=e": ["it's {x}", '"$HOME" ~ *', -1e-05, None, True, "5", "", "ä"]}
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def write_notebook(folder, settings, *code):
    parameters = new_code_cell(settings, metadata={"tags": ["parameters"]})
    cells = [new_markdown_cell("# Tiny"), parameters, *map(new_code_cell, code)]
    nbformat.write(
        new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "nlgjudge": {"benchmarks": []}}),
        folder / "tiny.ipynb",
    )


def write_grid(folder, parameters):
    text = yaml.safe_dump({"notebook": "tiny.ipynb", "parameters": parameters}, allow_unicode=True)
    (folder / "grid.yaml").write_text(text, encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A notebook and a place for results, in a folder whose name has a space."""
    folder = tmp_path / "a sweep"
    folder.mkdir()
    write_notebook(
        folder,
        'place = ""  # of the runs\nx = 0  # a number\nodd = {}  # values',
        WORK,
        "nj.signature()",
    )
    monkeypatch.setenv("NLGJUDGE_OUT", str(folder / "out"))
    return folder


def make_sweep(folder, *variables, options=""):
    """`make sweep`, without the environment that make would set up; Snakemake's notes stay in the folder."""
    return [
        "make",
        "--old-file=.venv/stamp",
        "sweep",
        f"GRID={folder / 'grid.yaml'}",
        "JOBS=2",
        *variables,
        f"SWEEP_OPTIONS=--directory '{folder}' {options}",
    ]


def start(folder, *variables, options="", **environment):
    """The command on its way."""
    environment = (
        os.environ
        | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        | environment
    )
    return subprocess.Popen(
        make_sweep(folder, *variables, options=options),
        cwd=root(),
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def options_of_make(folder):
    """What `make sweep` gives Snakemake."""
    recipe = subprocess.check_output([*make_sweep(folder), "--just-print"], cwd=root(), text=True)
    words = shlex.split(recipe.replace("\\\n", " "))
    return words[words.index("snakemake") + 1 : words.index("2>&1")]


def ran(folder):
    """The cells that ran since this was asked last."""
    path = folder / "runs.txt"
    found = sorted(map(int, path.read_text(encoding="utf-8").split())) if path.exists() else []
    path.unlink(missing_ok=True)
    return found


@pytest.fixture(scope="module")
def copies():
    """Snakemake in copies of one process."""
    with SnakemakeCopies(os.environ) as made:
        yield made


@pytest.fixture
def go(copies, served):
    """The command to its end, where Snakemake and notebooks need not start from nothing: exit status and words."""

    def go(folder, *variables, options=""):
        process = start(
            folder, f"PATH={copies.path}", *variables, options=options, **served.environment
        )
        said, errors = process.communicate(timeout=300)
        return process.returncode, said + errors

    return go


def planned(folder, copies):
    """The values of x whose cells Snakemake would run, before it collected the table."""
    said = copies.planned(root(), options_of_make(folder), folder / "plan.txt", os.environ)
    assert "rule results:" in said
    grid = sweeps.read(folder / "grid.yaml")
    numbers = {name: cell["x"] for name, cell in zip(grid.names, grid.cells)}
    return sorted(numbers[name] for name in re.findall(r"^ +wildcards: cell=(.*)$", said, re.M))


def test_a_sweep_runs_what_it_must_and_nothing_else(folder, go, copies):
    results = folder / "out" / "sweeps" / "grid"

    def wanted(*values):
        write_grid(folder, {"place": str(folder), "x": list(values), "odd": ODD})

    def table():
        return pd.read_csv(results / "results.csv")

    # One cell fails, one is killed, the third is kept.
    wanted(1, 2, 3)
    (folder / "fail1").touch()
    (folder / "block2").touch()
    process = start(folder)
    until = time.monotonic() + 600
    while not (folder / "pid2").exists() or not (folder / "pid2").read_text():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.1)
    os.kill(int((folder / "pid2").read_text()), signal.SIGKILL)
    said, errors = process.communicate(timeout=300)
    assert process.returncode != 0 and "how the jobs went: build/sweep.log" in errors
    assert "failed x 1: tiny.ipynb, cell 2: AssertionError: told to fail; see " in said
    assert "failed x 2: killed, or not started\n" in said
    assert "sweep of 3 cells: 2 failed, and run again by the same command" in said
    assert ran(folder) == [1, 2, 3] and set(table()["x"]) == {3}
    assert not (results / "results.svg").exists()

    # The same command runs these two again; the table and the figure are complete.
    (folder / "fail1").unlink()
    (folder / "block2").unlink()
    status, said = go(folder)
    assert status == 0 and "sweep of 3 cells: " in said, said
    assert ran(folder) == [1, 2]
    assert table()[["aspect", "difference", "x", "cell", "data"]].to_numpy().tolist() == [
        [aspect, sign * x, x, x - 1, "sample" if x == 3 else "real"]
        for x in (1, 2, 3)
        for aspect, sign in (("a", 1), ("b", -1))
    ]
    assert set(table()["odd"]) == {str(ODD)} and (folder / "odd").read_text() == repr(ODD)
    drawn = (results / "results.svg").read_text(encoding="utf-8")
    assert "<!-- x 3 -->" in drawn and "grid: difference by x" in drawn
    assert "sample data, not comparable with the papers" in drawn
    assert (results / "results.png").stat().st_size > 5000

    # Nothing is left to do, nor under the profile; outputs written into the notebook are no change.
    notebook = nbformat.read(folder / "tiny.ipynb", as_version=4)
    notebook.cells[2].outputs = [new_output("stream", text="said")]
    nbformat.write(notebook, folder / "tiny.ipynb")
    status, said = go(folder, "PROFILE=profiles/slurm", options="--executor local")
    assert status == 0 and "Nothing to be done" in said, said

    # A cell that is gone leaves the table; one that is new runs, and one whose input is newer, and no other.
    wanted(1, 3)
    assert planned(folder, copies) == []
    wanted(0, 1, 3)
    (folder / "input3").touch()
    assert planned(folder, copies) == [0, 3]
    notebook.cells[0].source = "# Tiny, another"
    nbformat.write(notebook, folder / "tiny.ipynb")
    assert planned(folder, copies) == [0, 1, 3]
    assert ran(folder) == []


ASK = """import os
from pathlib import Path
import nlgjudge as nj
items = nj.load("topical_chat", "sample").items
found = nj.judge_items(items, "geval/dialogue/coherence", "openai:m", samples=x, limit=40)
assert found["score"].notna().all() and len(found) == 40 * x
out = Path(os.environ["NLGJUDGE_OUT"], "ablation")
out.mkdir(parents=True)
(out / "t.csv").write_text(f"aspect,difference,ci_low,ci_high\\na,{found['score'].mean()},-9,9\\n")"""


def test_four_jobs_on_one_store_pay_for_no_sample_twice(folder, go, serve, monkeypatch):
    """The largest cell's samples are all that is paid for, whoever asks for them first."""
    write_notebook(folder, "x = 0  # samples", ASK, "nj.signature()")
    write_grid(folder, {"x": [1, 3, 6, 8]})
    monkeypatch.setenv("NLGJUDGE_CACHE", str(folder / "cache"))
    server = serve(
        lambda number, path, body: completion(["2"] * json.loads(body).get("n", 1)), delay=0.1
    )
    status, said = go(folder, "JOBS=4")
    assert status == 0 and "sweep of 4 cells: " in said, said
    paid = Counter()
    for body in server.requests:
        asked = json.loads(body)
        paid[asked["messages"][0]["content"]] += asked.get("n", 1)
    assert set(paid.values()) == {8} and len(paid) == 40
    with Store(folder / "cache" / "replies.sqlite") as store:
        assert store.totals()["replies"] == 40 * 8
    assert (
        pd.read_csv(folder / "out" / "sweeps" / "grid" / "results.csv")["difference"].tolist()
        == [2] * 4
    )


def test_a_value_of_another_kind_is_refused_before_a_cell_runs(folder, go):
    write_grid(folder, {"place": str(folder), "x": [1, "one"]})
    status, said = go(folder)
    assert status != 0 and "x='one': expected a number, as 0" in said
    assert ran(folder) == []


@pytest.mark.parametrize(
    "text, kind, message",
    [
        (
            "- 1\n",
            ValueError,
            "expected the keys notebook, parameters, figure and parameters by name, got list",
        ),
        ("a: `\n", ValueError, "grid.yaml is not YAML"),
        ("notebook: tiny.ipynb\n", ValueError, "got notebook"),
        (
            "notebook: tiny.ipynb\nparameters: {x: 1}\njobs: 3\n",
            ValueError,
            "got notebook, parameters, jobs",
        ),
        (
            "notebook: tiny.ipynb\nparameters: {y: [1]}\n",
            NotebookError,
            "no parameter 'y'; there are place, x",
        ),
        (
            "notebook: tiny.ipynb\nparameters: {odd: {1: a}}\n",
            ValueError,
            "expected texts, numbers, lists",
        ),
        ("notebook: other\nparameters: {x: 1}\n", NotebookError, "other: no such notebook"),
    ],
)
def test_what_is_no_grid(folder, text, kind, message):
    (folder / "grid.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(kind, match=message):
        sweeps.read(folder / "grid.yaml").check()


def test_a_cells_name_is_its_own_and_safe_in_paths_and_wildcards(folder):
    values = [1, 1.0, True, "1", -1, "a/b", "a b", "a,b=c", {"a": [1]}, "x" * 300, "ä", None]
    write_grid(folder, {"odd": values})
    names = sweeps.read(folder / "grid.yaml").names
    assert len(set(names)) == len(values)
    assert all(re.fullmatch(r"[A-Za-z0-9.-]{9,70}", name) for name in names)
    write_grid(folder, {"odd": values[::-1]})
    assert sweeps.read(folder / "grid.yaml").names == names[::-1]


def test_a_file_that_is_gone_is_newer_than_what_used_it(tmp_path):
    (tmp_path / "here").touch()
    note = [str(tmp_path / "here"), str(tmp_path / "gone" / "file")]
    (tmp_path / "executed.deps.json").write_text(json.dumps(note), encoding="utf-8")
    assert sweeps.used(tmp_path / "executed.ipynb") == [str(tmp_path / "here"), str(tmp_path)]
    assert sweeps.used(tmp_path / "never.ipynb") == []


def test_no_text_in_the_table_is_a_formula(folder):
    write_grid(folder, {"x": 1, "odd": "=1+1"})
    grid = sweeps.read(folder / "grid.yaml")
    executed = grid.executed(*grid.names)
    (executed.parent / "ablation").mkdir(parents=True)
    executed.touch()
    (executed.parent / "ablation" / "t.csv").write_text(
        "aspect,difference\n=HYPERLINK(1),-1\n", encoding="utf-8"
    )
    assert sweeps.finish_without(grid) == ""
    assert (grid.folder / "results.csv").read_text(encoding="utf-8") == (
        "aspect,difference,odd,x,cell,data\n'=HYPERLINK(1),-1,'=1+1,1,0,real\n"
    )


def test_a_notebook_that_leaves_no_table_is_told_so(folder):
    write_grid(folder, {"x": 1})
    with pytest.raises(ValueError, match="tiny.ipynb left no table: expected ablation/"):
        sweeps.finish(sweeps.read(folder / "grid.yaml"))


def test_a_notebook_of_the_repository_is_known_by_name(tmp_path):
    path = tmp_path / "g.yaml"
    path.write_text(
        "notebook: template_ablation\nparameters: {change: [{samples: 1}, {estimator: mode}]}\n",
        encoding="utf-8",
    )
    grid = sweeps.read(path)
    grid.check()
    assert grid.notebook.name == "template_ablation.ipynb"
    assert grid.cells == [{"change": {"samples": 1}}, {"change": {"estimator": "mode"}}]


@pytest.fixture
def draw(folder, monkeypatch):
    """Draw a grid of a notebook with the parameters `change`, `samples` and `seed`; give what it drew."""
    write_notebook(
        folder, "change = {}  # what differs\nsamples = 1  # replies\nseed = 0  # of chance", "1"
    )
    drawn = []
    monkeypatch.setattr(
        figures, "intervals", lambda frame, **options: drawn.append((frame, options)) or Figure()
    )

    def draw(parameters, figure=""):
        (folder / "grid.yaml").write_text(
            f"notebook: tiny.ipynb\nparameters: {parameters}\n{figure}", encoding="utf-8"
        )
        grid = sweeps.read(folder / "grid.yaml")
        grid.check()
        grid.folder.mkdir(parents=True, exist_ok=True)
        table = pd.DataFrame(
            [
                {
                    "aspect": "a",
                    "difference": 0.1,
                    "ci_low": 0,
                    "ci_high": 1,
                    "cell": cell,
                    "data": "real",
                    "coefficient": "spearman",
                    **{k: str(v) if isinstance(v, dict) else v for k, v in given.items()},
                }
                for cell, given in enumerate(grid.cells)
            ]
        )
        sweeps.draw(grid, table)
        return drawn[0]

    return draw


@pytest.mark.parametrize(
    "parameters, figure, expected, title",
    [
        (
            "{change: [{samples: 1, estimator: mode}, {scale: [1, 10]}]}",
            "",
            ["samples 1, estimator mode", "scale 1 10"],
            "change",
        ),
        (
            "{change: [{samples: 1}, {words: {carefully: with care}}], seed: [0, 1]}",
            "",
            [
                "samples 1, seed 0",
                "samples 1, seed 1",
                "carefully: with care, seed 0",
                "carefully: with care, seed 1",
            ],
            "change, seed",
        ),
        ("{samples: [1, 5], seed: 3}", "figure: {label: samples}", ["1", "5"], "samples"),
        # A label that the grid names still says what else differs.
        (
            "{samples: [1, 5], seed: [0, 1]}",
            "figure: {label: samples}",
            ["samples 1, seed 0", "samples 1, seed 1", "samples 5, seed 0", "samples 5, seed 1"],
            "samples, seed",
        ),
        (
            "{samples: [1, 5], seed: [0, 1]}",
            "figure: {label: samples, group: seed}",
            ["1", "1", "5", "5"],
            "samples",
        ),
        (
            "{samples: [1, 5]}",
            "figure: {label: coefficient}",
            ["spearman, samples 1", "spearman, samples 5"],
            "coefficient, samples",
        ),
        (
            "{change: [{temperature: 0}, {temperature: 1}]}",
            "figure: {label: change}",
            ["temperature 0", "temperature 1"],
            "change",
        ),
    ],
)
def test_labels_name_every_parameter_that_differs_in_words(
    draw, parameters, figure, expected, title
):
    frame, options = draw(parameters, figure)
    assert (frame["label"].tolist(), options["title"]) == (expected, f"grid: difference by {title}")


def test_the_figure_takes_the_columns_that_the_grid_names(draw):
    frame, options = draw(
        "{samples: [1, 5], seed: [0, 1]}",
        "figure: {label: samples, group: seed, column: coefficient}",
    )
    assert frame[["label", "value", "group", "column"]].to_numpy().tolist() == [
        [samples, 0.1, seed, "spearman"] for samples in ("1", "5") for seed in ("0", "1")
    ]
    assert (
        options["column"] == "column"
        and options["lines"] == {"spearman": 0}
        and not options["notice"]
    )
    with pytest.raises(
        ValueError, match="no figure: the results have no column judge; they have aspect"
    ):
        draw("{samples: [1, 5]}", "figure: {label: judge}")


def test_the_repositorys_grid_can_be_read():
    grid = sweeps.read(root() / "notebooks" / "ablation_samples.yaml")
    grid.check()
    assert [cell["samples"] for cell in grid.cells] == [1, 2, 5, 10, 15]
