"""A notebook over a grid of its parameters: the grid as `sweep.smk` needs it, the table and the picture.

Snakemake runs the cells, each a job of its own, here or on a cluster, and knows which ones are complete. It reads
this on every start: pandas is imported where there is a table.
"""

import hashlib
import json
import os
import re
import shlex
from itertools import product
from pathlib import Path
from typing import NamedTuple

import yaml

from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.ledger.words import in_words, named

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

    @property
    def names(self):
        """A name for each cell: its values as far as they are letters and digits, and a digest of them.

        It stays when other cells come or go, and is safe in a path and in Snakemake's wildcards.
        """
        found = []
        for cell in self.cells:
            readable = re.sub("[^A-Za-z0-9.]+", "-", named(cell))[:60]
            found.append(f"{readable}-{_digest(cell)}")
        return found

    def executed(self, name):
        """The executed copy of a cell's notebook; what the cell made lies beside it."""
        return self.folder / "cell" / name / "executed.ipynb"

    def log(self, name):
        """What a cell said."""
        return self.folder / "log" / f"{name}.txt"

    def check(self):
        """Refuse what the notebook cannot be given.

        Raises
        ------
        nlgjudge.repo.notebooks.NotebookError
            For a notebook that is not there or lacks a parameter, or a value of another kind than its own.
        ValueError
            For a value that a command line cannot carry.
        """
        from nlgjudge.repo import notebooks  # seconds, which the jobs need not spend

        for cell in self.cells:
            notebooks.check(self.notebook, cell)
            if repr(json.loads(json.dumps(cell, default=str))) != repr(cell):
                raise ValueError(f"{cell}: expected texts, numbers, lists, and mappings by texts")


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
    """
    path = Path(path)
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is not YAML: {error}") from error
    expected = f"expected the keys {', '.join(KEYS)} and parameters by name"
    if not isinstance(given, dict):
        raise ValueError(f"{path}: {expected}, got {type(given).__name__}")
    if set(given) - set(KEYS) or not isinstance(given.get("parameters"), dict):
        raise ValueError(f"{path}: {expected}, got {', '.join(map(str, given))}")
    named = root() / "notebooks" / f"{given.get('notebook')}.ipynb"
    notebook = named if named.exists() else (path.parent / str(given.get("notebook"))).resolve()
    parameters = given["parameters"]
    values = [value if isinstance(value, list) else [value] for value in parameters.values()]
    cells = [dict(zip(parameters, chosen)) for chosen in product(*values)]
    return Grid(notebook, cells, given.get("figure") or {}, _folder() / path.stem)


def _digest(cell):
    return hashlib.sha256(json.dumps(cell, default=str).encode()).hexdigest()[:8]


def _folder():
    named = os.environ.get("NLGJUDGE_OUT")
    return (Path(named).resolve() if named else root() / "build") / "sweeps"


def command_line(parameters):
    """Parameters of a cell as `nlgjudge run` takes them, for a shell."""
    # A space before each value, or argparse takes -1e-05 for an option.
    words = []
    for name, value in parameters.items():
        words += ["-p", name, f" {json.dumps(value)}"]
    return shlex.join(words)


def used(executed):
    """Files that a cell used when it last ran; for one that is gone the folder that lost it."""
    note = executed.with_suffix(".deps.json")
    paths = json.loads(note.read_text(encoding="utf-8")) if note.exists() else []
    found = []
    for name in paths:
        path = root() / name
        found.append(str(next(place for place in (path, *path.parents) if place.exists())))
    return found


def collect(grid):
    """Join the results of the cells that ran.

    Returns
    -------
    pandas.DataFrame
        The rows that every cell wrote, of its ablation or its ledger, with its parameters, its number
        and, for a sample, `data`.
    """
    import pandas as pd

    parts = []
    for cell, (name, parameters) in enumerate(zip(grid.names, grid.cells)):
        if not grid.executed(name).exists():
            continue
        values = {parameter: _in_one_field(value) for parameter, value in parameters.items()}
        place = grid.executed(name).parent
        for path in [*sorted(place.rglob("ablation/*.csv")), *sorted(place.rglob("ledger/*.csv"))]:
            data = "sample" if "sample" in path.relative_to(place).parts else "real"
            parts.append(pd.read_csv(path).assign(**values, cell=cell, data=data))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _in_one_field(value):
    """A parameter's value as a table holds it: what has parts as its text."""
    return str(value) if isinstance(value, (list, dict)) else value


def finish(grid):
    """Write the table of all cells, `results.csv`, and draw it, `results.svg` and `results.png`.

    Raises
    ------
    ValueError
        When there is nothing to draw, or the results lack a column that the figure needs.
    """
    from nlgjudge.data import spreadsheets

    table = collect(grid)
    if not len(table):
        raise ValueError(
            f"{grid.notebook.name} left no table: expected ablation/*.csv or ledger/*.csv, as "
            "nj.ablate and nj.ledger.write leave them"
        )
    spreadsheets.write(table, grid.folder / "results.csv")
    draw(grid, table)


def finish_without(grid):
    """Write the table of the cells that ran, without a picture, so that it does not look complete.

    Returns
    -------
    str
        What is lacking, with a line for each cell that failed; empty where every cell ran.
    """
    from nlgjudge.data import spreadsheets

    for kind in ("svg", "png"):
        (grid.folder / f"results.{kind}").unlink(missing_ok=True)
    grid.folder.mkdir(parents=True, exist_ok=True)
    spreadsheets.write(collect(grid), grid.folder / "results.csv")
    lacking = {
        name: cell for name, cell in zip(grid.names, grid.cells) if not grid.executed(name).exists()
    }
    if not lacking:
        return ""
    differing = _differing(grid) or [*grid.cells[0]]
    lines = [
        f"failed {named({key: cell[key] for key in differing})}: {_error(grid.log(name))}"
        for name, cell in lacking.items()
    ]
    last = (
        f"sweep of {len(grid.cells)} cells: {len(lacking)} failed, and run again by the same command; "
        f"the others' results are in {grid.folder / 'results.csv'}"
    )
    return "\n".join([*lines, last])


def _error(log):
    """The error that a cell ended with, and where the rest of what it said is."""
    said = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    errors = [line.removeprefix("nlgjudge: ") for line in said if line.startswith("nlgjudge: ")]
    return f"{errors[-1]}; see {log}" if errors else "killed, or not started"


def draw(grid, table):
    """Draw a grid's table, as `results.svg` and `results.png`.

    Raises
    ------
    ValueError
        When the results lack a column that the figure needs.
    """
    import pandas as pd

    from nlgjudge.ledger import figures

    value = "difference" if "difference" in table else "ours"
    roles = {"label": _LABEL, "value": value, "group": "data", "column": "aspect"} | grid.figure
    by = _named_by(grid, roles)
    table = table.assign(**{_LABEL: ""})
    absent = sorted({*roles.values(), "ci_low", "ci_high"} - set(table))
    if absent:
        raise ValueError(
            f"no figure: the results have no column {', '.join(absent)}; they have "
            f"{', '.join(table)}; name others under figure in the grid"
        )
    drawn = pd.DataFrame(
        {role: _texts(grid, table, name) for role, name in roles.items() if role != "value"}
    )
    drawn["label"] = _labels(grid, table, roles["label"], by)
    drawn = drawn.join(
        table[[roles["value"], "ci_low", "ci_high"]].rename(columns={roles["value"]: "value"})
    )
    zero = dict.fromkeys(drawn["column"] if roles["value"] == "difference" else (), 0)
    title = f"{grid.folder.name}: {roles['value']} by {', '.join(by) or 'aspect'}"
    notice = SAMPLE_NOTICE if "sample" in set(table["data"]) else ""
    figure = figures.intervals(drawn, column="column", lines=zero, title=title, notice=notice)
    for kind in ("svg", "png"):
        figure.savefig(
            grid.folder / f"results.{kind}", bbox_inches="tight"
        )  # a title wider than few panels


def _named_by(grid, roles):
    """What the labels name: the column that the grid asks for, and every parameter that differs and has no
    other place in the figure."""
    asked = [] if roles["label"] == _LABEL else [roles["label"]]
    return asked + [name for name in _differing(grid) if name not in {*roles.values()}]


def _differing(grid):
    return [name for name in grid.cells[0] if len({str(cell[name]) for cell in grid.cells}) > 1]


def _texts(grid, table, name):
    """A column of the results as words: of a parameter, its value in each cell."""
    if name not in grid.cells[0]:
        return table[name].astype(str)
    return table["cell"].map(
        {cell: in_words(parameters[name]) for cell, parameters in enumerate(grid.cells)}
    )


def _labels(grid, table, label, by):
    """What stands beside each point: one value alone, or each with its name."""
    if by == [label]:
        return _texts(grid, table, label)
    parameters = [name for name in by if name in grid.cells[0]]
    named_cells = {
        cell: named({name: given[name] for name in parameters})
        for cell, given in enumerate(grid.cells)
    }
    words = table["cell"].map(named_cells)
    if label == _LABEL or label in parameters:
        return words
    return table[label].astype(str) + ", " + words
