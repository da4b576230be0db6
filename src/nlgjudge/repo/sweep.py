"""A notebook over a grid of its parameters: in parallel, resumed where it stopped, into one table.

Every cell of the grid is a process of its own, `nlgjudge sweep GRID --cell I`: here, several at once,
or as a task of a Slurm job array. It writes to a folder that is renamed when it is complete, so that
what is found there is whole.
"""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from papermill.iorw import read_yaml_file

from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.ledger.words import in_words, named
from nlgjudge.repo import notebooks, workflow

KEYS = ("notebook", "parameters", "figure")
_LABEL = "settings in words"


class Grid(NamedTuple):
    """A grid of runs.

    Attributes
    ----------
    notebook : pathlib.Path
    cells : list of dict
        A value for each parameter.
    figure : dict
        Columns of the table by role, as `nlgjudge.ledger.figures.intervals` has them: `label` (by
        default the parameters that vary), `value` (`difference`, or a ledger's `ours`), `group`
        (`data`) and `column` (`aspect`), a panel each.
    folder : pathlib.Path
        `build/sweeps/<name of the file>`.
    """

    notebook: Path
    cells: list
    figure: dict
    folder: Path

    def place(self, cell):
        """Folder of a cell, by the notebook's own cells and the parameters."""
        what = [workflow.source_digest(str(self.notebook.with_suffix(""))), self.cells[cell]]
        digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:8]
        return self.folder / "cells" / f"{cell:03d}-{digest}"

    def missing(self):
        """Cells that have not run, or have since lost a file that they read to a newer one."""
        return [cell for cell in range(len(self.cells)) if not _fresh(self.place(cell))]


def read(path):
    """Read a grid from YAML.

    Parameters
    ----------
    path : path-like
        `notebook` (relative to the file, or a name in `notebooks/`), `parameters` (by name a value,
        or a list of values to combine with all others) and perhaps `figure`.

    Returns
    -------
    Grid

    Raises
    ------
    ValueError
        For a file that is no grid.
    nlgjudge.repo.notebooks.NotebookError
        For a notebook that is not there or lacks a parameter.
    """
    path = Path(path)
    given = read_yaml_file(str(path))
    if not isinstance(given, dict) or set(given) - set(KEYS) or not isinstance(given.get("parameters"), dict):
        raise ValueError(f"{path}: expected the keys {', '.join(KEYS)} and parameters by name, got "
                         f"{', '.join(map(str, given)) if isinstance(given, dict) else type(given).__name__}")
    named = root() / "notebooks" / f"{given.get('notebook')}.ipynb"
    notebook = named if named.exists() else (path.parent / str(given.get("notebook"))).resolve()
    notebooks.check(notebook, dict.fromkeys(given["parameters"]))  # the names; values follow, cell by cell
    values = [v if isinstance(v, list) else [v] for v in given["parameters"].values()]
    cells = [dict(zip(given["parameters"], chosen)) for chosen in product(*values)]
    for cell in cells:
        notebooks.check(notebook, cell)
    return Grid(notebook, cells, given.get("figure") or {}, _folder() / path.stem)


def _folder():
    named = os.environ.get("NLGJUDGE_OUT")
    return (Path(named) if named else root() / "build") / "sweeps"


def run_cell(grid, cell):
    """Run one cell of a grid, in a process of its own, and put what it made in place."""
    place = grid.place(cell)
    # By process: the children of a sweep that was killed may still be at work on the same cell.
    partial = place.with_name(f"{place.name}.{os.getpid()}.partial")
    os.environ["NLGJUDGE_OUT"] = str(partial)
    notebooks.run(grid.notebook, partial / "executed.ipynb", grid.cells[cell])
    shutil.rmtree(place, ignore_errors=True)
    partial.rename(place)


def sweep(path, *, jobs=None, executor="local", options="", say=print):
    """Run what is missing of a grid, then collect the results.

    Parameters
    ----------
    path : path-like
        The grid, see `read`.
    jobs : int, optional
        Cells at once; by default as many as there are processors, or as Slurm allows.
    executor : {"local", "slurm"}
    options : str
        For `sbatch`, as ``--partition=short --time=30``.
    say : callable

    Returns
    -------
    pandas.DataFrame
        The rows that every cell wrote, of its ablation or its ledger, with its parameters; the grid's
        folder has them as `results.csv`, and drawn as `results.svg` and `results.png`.

    Raises
    ------
    RuntimeError
        When cells failed; the others are kept, and the next call runs the failed ones alone.
    FileNotFoundError
        When there is no `sbatch`.
    """
    grid = read(path)
    todo = grid.missing()
    say(f"{len(grid.cells)} cells, {len(todo)} to run ({executor})")
    command = [sys.executable, "-m", "nlgjudge.repo.cli", "sweep", str(Path(path).resolve()), "--cell"]
    grid.folder.mkdir(parents=True, exist_ok=True)
    if todo:
        (_slurm if executor == "slurm" else _local)(grid, todo, command, jobs, shlex.split(options))
    table = collect(grid)
    table.to_csv(grid.folder / "results.csv", index=False)
    failed = grid.missing()
    if len(table):
        _draw(grid, table)
    if failed:
        raise RuntimeError(f"cells {', '.join(map(str, failed))} of {len(grid.cells)} failed; their output "
                           f"is in {grid.folder}/log, the others' results in results.csv; the same command "
                           "runs these again")
    for rest in (grid.folder / "cells").glob("*.partial"):
        shutil.rmtree(rest)
    return table


def collect(grid):
    """Join the results of the cells that ran, with their parameters and, for a sample, `data`."""
    parts = [pd.read_csv(path).assign(**{k: str(v) if isinstance(v, (list, dict)) else v
                                         for k, v in parameters.items()}, cell=cell,
                                      data="sample" if "sample" in path.relative_to(place).parts else "real")
             for cell, parameters in enumerate(grid.cells) for place in [grid.place(cell)]
             for kind in ("ablation", "ledger") for path in sorted(place.rglob(f"{kind}/*.csv"))]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _fresh(place):
    note = place / "executed.deps.json"
    if not note.exists():
        return False
    made = (place / "executed.ipynb").stat().st_mtime
    used = [root() / path for path in json.loads(note.read_text(encoding="utf-8"))]
    return all(path.exists() and path.stat().st_mtime <= made for path in used)


def _local(grid, todo, command, jobs, _):
    (grid.folder / "log").mkdir(exist_ok=True)
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        list(pool.map(lambda cell: _logged([*command, str(cell)], grid.folder / "log" / f"{cell}.txt"), todo))


def _logged(command, path):
    with path.open("w", encoding="utf-8") as log:
        subprocess.run(command, stdout=log, stderr=log, check=False)


def _slurm(grid, todo, command, jobs, options):
    """One job array, a task for each missing cell, waited for."""
    (grid.folder / "log").mkdir(exist_ok=True)
    script = grid.folder / "cells.sbatch"
    script.write_text(f"#!/bin/sh\nexec {shlex.join(command)} $SLURM_ARRAY_TASK_ID\n", encoding="utf-8")
    array = ",".join(map(str, todo)) + (f"%{jobs}" if jobs else "")
    try:
        subprocess.run(["sbatch", "--wait", f"--array={array}", f"--job-name={grid.folder.name}",
                        f"--output={grid.folder}/log/%a.txt", *options, str(script)], check=False)
    except FileNotFoundError as error:
        raise FileNotFoundError("no sbatch here: log in to the cluster, or leave out --executor") from error


def _draw(grid, table):
    from nlgjudge.ledger import figures  # seconds, which a cell need not spend

    roles = {"label": _LABEL, "value": "difference" if "difference" in table else "ours", "group": "data",
             "column": "aspect"} | grid.figure
    by = _named_by(grid, roles)
    table = table.assign(**{_LABEL: ""})
    absent = sorted({*roles.values(), "ci_low", "ci_high"} - set(table))
    if absent:
        raise ValueError(f"no figure: the results have no column {', '.join(absent)}; they have "
                         f"{', '.join(table)}; name others under figure in the grid")
    drawn = pd.DataFrame({role: _texts(grid, table, name) for role, name in roles.items() if role != "value"})
    drawn["label"] = _labels(grid, table, roles["label"], by)
    drawn = drawn.join(table[[roles["value"], "ci_low", "ci_high"]].rename(columns={roles["value"]: "value"}))
    zero = dict.fromkeys(drawn["column"] if roles["value"] == "difference" else (), 0)
    title = f"{grid.folder.name}: {roles['value']} by {', '.join(by) or 'aspect'}"
    figure = figures.intervals(drawn, column="column", lines=zero, title=title,
                               notice=SAMPLE_NOTICE if "sample" in set(table["data"]) else "")
    for kind in ("svg", "png"):
        figure.savefig(grid.folder / f"results.{kind}", bbox_inches="tight")  # a title wider than few panels


def _named_by(grid, roles):
    """What the labels name: the column that the grid asks for, and every parameter that differs and has no
    other place in the figure."""
    differing = [name for name in grid.cells[0] if len({str(cell[name]) for cell in grid.cells}) > 1]
    asked = [] if roles["label"] == _LABEL else [roles["label"]]
    return asked + [name for name in differing if name not in {*roles.values()}]


def _texts(grid, table, name):
    """A column of the results as words: of a parameter, its value in each cell."""
    if name not in grid.cells[0]:
        return table[name].astype(str)
    return table["cell"].map({cell: in_words(parameters[name]) for cell, parameters in enumerate(grid.cells)})


def _labels(grid, table, label, by):
    """What stands beside each point: one value alone, or each with its name."""
    if by == [label]:
        return _texts(grid, table, label)
    parameters = [name for name in by if name in grid.cells[0]]
    named_cells = {cell: named({name: given[name] for name in parameters})
                   for cell, given in enumerate(grid.cells)}
    words = table["cell"].map(named_cells)
    if label == _LABEL or label in parameters:
        return words
    return table[label].astype(str) + ", " + words
