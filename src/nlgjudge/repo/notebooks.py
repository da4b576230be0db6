"""Run notebooks, strictly, and keep their outputs.

papermill only warns about a parameter that the notebook does not have and about a missing
`parameters` tag; here both are errors, and so is a kernel that dies.
"""

import ast
import hashlib
import json
import os
import re
from functools import partial
from pathlib import Path

import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError

from nlgjudge.data import choices
from nlgjudge.data.paths import results, root
from nlgjudge.repo import default_run, forked, workflow
from nlgjudge.repo.lending import lending

# Kinds of parameters, the narrower first: True is a number too.
_KINDS = {
    bool: "true or false",
    (int, float): "a number",
    str: "a text",
    dict: "names and values",
    (list, tuple): "a list",
}
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_SAVED_EVERY = 5  # seconds


class NotebookError(Exception):
    """A notebook could not be run; the message names it, the cell and the cause."""


class _Engine(NBClientEngine):
    """papermill's own, which would check and write the whole copy before and after every cell.

    That costs more than starting the kernel. Here the copy is written every few seconds, and at the end; and what
    a cell prints in a row is one text, in however many parts the kernel sent it.
    """

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, **options):
        save = nb_man.save

        def save_now_and_then(**changes):
            waited = nb_man.now() - nb_man.last_save_time
            if waited.total_seconds() >= _SAVED_EVERY:
                save(**changes)

        nb_man.save = save_now_and_then
        try:
            super().execute_managed_notebook(nb_man, kernel_name, **options)
        finally:
            del nb_man.save
            for cell in nb_man.nb.cells:
                if cell.cell_type == "code":
                    cell.outputs = _joined(cell.outputs)


papermill_engines.register("nlgjudge", _Engine)


def _joined(outputs):
    """Outputs in their order, those of one stream that follow one another as one."""
    joined = []
    for output in outputs:
        before = joined[-1] if joined else None
        if (
            before
            and "stream" == output.output_type == before.output_type
            and output.name == before.name
        ):
            before.text += output.text
        else:
            joined.append(output)
    return joined


def run(path, output, parameters=None, *, timeout=600):
    """Execute a notebook.

    With other settings than the notebook's own, its copy lacks the paragraphs about the default run.

    Parameters
    ----------
    path, output : path-like
        The notebook and where its executed copy goes.
    parameters : dict, optional
        Values for names that the notebook's `parameters` cell assigns.
    timeout : int
        Seconds that a cell may take.

    Raises
    ------
    NotebookError
        For an unknown parameter, a missing `parameters` tag, a cell that fails, a kernel
        that dies, or a notebook that never calls `signature`.
    """
    path = Path(path)
    output = Path(output)
    parameters = parameters or {}
    check(path, parameters)
    output.parent.mkdir(parents=True, exist_ok=True)
    note = output.with_suffix(".deps.json")
    note.unlink(missing_ok=True)
    os.environ["NLGJUDGE_DEPENDENCIES"] = str(note.resolve())
    try:
        papermill.execute_notebook(
            str(path),
            str(output),
            parameters,
            progress_bar=False,
            cwd=str(path.parent),
            engine_name="nlgjudge",
            kernel_name="python3",
            execution_timeout=timeout,
            log_output=False,
        )
    except PapermillExecutionError as error:
        raise NotebookError(
            f"{path.name}, cell {_last_cell(output)}: {error.ename}: "
            f"{_ANSI.sub('', error.evalue)}\n{error.source}"
        ) from error
    except DeadKernelError as error:
        raise NotebookError(
            f"{path.name}, cell {_last_cell(output)}: the kernel died (out of "
            "memory, or killed); run it again with a smaller limit"
        ) from error
    except TimeoutError as error:
        raise NotebookError(
            f"{path.name}, cell {_last_cell(output)}: no end after {timeout} s"
        ) from error
    finally:
        del os.environ["NLGJUDGE_DEPENDENCIES"]
    if not note.exists():
        raise NotebookError(f"{path.name}: its last cell must call nlgjudge.signature(...)")
    other = default_run.changed(path, parameters)
    if other:
        default_run.leave_out(output, other)


def check(path, parameters):
    """Refuse parameters that a notebook does not have, or values of another kind than its own.

    Raises
    ------
    NotebookError
        Also when the notebook is missing, no notebook, or lacks the `parameters` tag.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
    except FileNotFoundError as error:
        raise NotebookError(f"{path}: no such notebook") from error
    except Exception as error:  # nbformat raises many kinds, all meaning the same
        raise NotebookError(f"{path.name} is not a notebook: {error}") from error
    if not any("parameters" in cell.metadata.get("tags", []) for cell in notebook.cells):
        raise NotebookError(
            f"{path.name}: no cell is tagged 'parameters'; tag the one that "
            "assigns the notebook's settings"
        )
    try:
        known = papermill.inspect_notebook(str(path))
    except ValueError as error:
        raise NotebookError(f"{path.name}: {error}") from error
    for name, value in parameters.items():
        if name not in known:
            raise NotebookError(
                f"{path.name}: {choices.unknown('parameter', name, known, most=len(known))}"
            )
        problem = _another_kind(value, known[name]["default"])
        if problem:
            raise NotebookError(f"{path.name}: {name}={value!r}: {problem}")


def _another_kind(value, default):
    """What a parameter expected, where a value is not of its default's kind; None where it may be.

    Without this a text that was meant as a list or a dict, as ``-p aspects coherence``, is read letter by
    letter, or fails far away.
    """
    try:
        default = ast.literal_eval(default)
    except (ValueError, SyntaxError):  # computed in the notebook
        return None
    if value is None or default is None:
        return None
    if default == "" and isinstance(value, (list, tuple, dict)):
        return None  # where nothing is named, several may be
    for kind, word in _KINDS.items():
        if isinstance(default, kind) and not isinstance(value, kind):
            example = json.dumps(default)
            shown = f"'{example}'" if isinstance(default, (dict, list, tuple)) else example
            return f"expected {word}, as {shown}"
        if isinstance(default, kind):
            break
    if isinstance(value, bool) and not isinstance(default, bool):
        return "expected a number, not true or false"
    return None


def keep_outputs(executed, path, data):
    """Write an executed copy's outputs back, without the runner's traces.

    Outputs from the sample, or without a recording, prompt or resource, are not kept, but for
    what the notebook's metadata declares as optional and the outputs in it did without as well.

    Parameters
    ----------
    executed, path : path-like
        The executed copy and the notebook.
    data : dict
        By benchmark, recording or resource, source and digest of what it ran on; kept in the
        metadata, so that outputs are compared only where the same can be had.

    Returns
    -------
    bool
        False when the outputs are not kept.
    """
    original = nbformat.read(path, as_version=4)
    declared = original.metadata["nlgjudge"]
    if workflow.lacking(data, declared.get("optional", []), declared.get("data")):
        return False
    notebook = nbformat.read(executed, as_version=4)
    for cell, ran in zip(original.cells, notebook.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs = ran.outputs
            cell.execution_count = ran.execution_count
            for output in cell.outputs:
                shown = output.get("metadata", {})
                for kind in shown.keys() - {"image/png"}:  # a picture's size stays
                    del shown[kind]
    original.metadata["nlgjudge"]["data"] = data
    nbformat.write(original, path)
    return True


def refresh(say=print):
    """Copy the last run's outputs, figures, settings and ledger into the repository, and say what changed."""
    # Inside the function: pandas and scipy take as long to import as all else of a run.
    from nlgjudge.ledger import ledger
    from nlgjudge.repo import coverage, reach

    for name in workflow.notebooks():
        path = root() / "notebooks" / f"{name}.ipynb"
        before = path.read_bytes()
        kept = keep_outputs(workflow.executed(name), path, workflow.data(name))
        if not kept:
            say(f"{name}: ran without some of its data, left as it is")
        elif path.read_bytes() != before:
            say(f"{name}: outputs changed")
    tables = root() / "paper_tables"
    targets = {
        "figures": root() / "figures",
        "settings": tables / "settings",
        "reruns": tables / "reruns",
        "reproducibility": tables / "reproducibility",
    }
    for folder, target in targets.items():
        for path in sorted((results() / folder).glob("*")):
            _copy(path, target / path.name, say)
    _copy(results() / "ledger.csv", root() / "paper_tables" / "ledger.csv", say)
    rows = ledger.read(root() / "paper_tables" / "ledger.csv")
    reach.refresh()
    for readme in (root() / "README.md", root() / "paper_tables" / "README.md"):
        coverage.update(readme, rows)


def _copy(path, target, say):
    """Copy a result whose content changed."""
    content = path.read_bytes()
    if target.exists() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    say(f"{target.relative_to(root())}: changed")


def place(path, parameters):
    """Folder for what a notebook makes when it is run by hand, one for each set of parameters.

    Parameters
    ----------
    path : path-like
        The notebook.
    parameters : dict
        Those that were given; the endpoint counts as one where a judge is a served model.

    Returns
    -------
    pathlib.Path
        Below `build/runs/`, so that no run touches what another made, or what is committed.
    """
    given = dict(parameters)
    if any(str(value).startswith(("openai:", "batch:")) for value in given.values()):
        given["endpoint"] = os.environ.get("OPENAI_BASE_URL", "")
    folder = root() / "build" / "runs" / Path(path).stem
    if not given:
        return folder / "default"
    words = ",".join(f"{name}={value}" for name, value in sorted(parameters.items()))
    readable = re.sub(r"[^\w=,.-]+", "-", words)[:60]
    digest = hashlib.sha256(json.dumps(given, sort_keys=True, default=str).encode()).hexdigest()[:8]
    return folder / f"{readable}-{digest}"


def validate(with_data=False):
    """Check every notebook: outputs where the committed data is here, else that it runs.

    What `make reproduce` has run and nothing has changed since is not run again: its outputs are compared.
    Results of the others go to `build/validated/`, so that ledger and figures stay as they are.

    Parameters
    ----------
    with_data : bool
        Only the notebooks that declare data: the others are the same everywhere.

    Raises
    ------
    NotebookError
        Naming the notebooks that failed; their reports are printed.
    """
    forked.preload()  # before pandas is imported here
    workflow.resolve()
    os.environ |= {"NLGJUDGE_OFFLINE": "1", "NLGJUDGE_OUT": str(root() / "build" / "validated")}
    names = [n for n in workflow.notebooks() if workflow.data(n) or not with_data]
    same = {n for n in names if workflow.committed(n) == workflow.data(n)}
    rest = [n for n in names if n not in same]
    if same:
        import pytest  # noqa: F401  once here, and not in every process that compares
    if rest:
        print(f"on other data than committed, run without comparing: {', '.join(rest)}", flush=True)
    had = {n for n in names if workflow.is_up_to_date(n)}
    tasks = {}
    for name in names:
        path = str(root() / "notebooks" / f"{name}.ipynb")
        if name in same:
            tasks[name] = _compare_outputs, path, workflow.executed(name) if name in had else None
        elif name not in had:
            tasks[name] = _run_apart, path
    failed = []
    with lending():
        for name, status, printed in forked.each(tasks):
            if status:
                failed.append(name)
                print(printed, flush=True)
            print(
                f"{name}: {'FAILED' if status else 'outputs as committed' if name in same else 'ran'}",
                flush=True,
            )
    if failed:
        raise NotebookError(f"validation failed: {', '.join(sorted(failed))}")
    before = f"; `make reproduce` had run {len(had)} of them" if had else ""
    print(f"{len(same)} notebooks compared, {len(rest)} run{before}")


def _compare_outputs(path, executed=None):
    """Compare what a notebook's cells give with what is kept in it; the status is pytest's.

    The cells are run, but for those of an executed copy, whose outputs are taken.
    """
    import pytest

    plugins = [_Executed(executed)] if executed else []
    return pytest.main(
        [
            "-q",
            "-p",
            "no:cacheprovider",
            "--disable-plugin-autoload",
            "-p",
            "nbval.plugin",
            f"--rootdir={root()}",
            "--nbval",
            "--nbval-current-env",
            "--nbval-cell-timeout=600",
            path,
        ],
        plugins=plugins,
    )


class _Executed:
    """A plugin of pytest's: nbval compares the outputs of an executed copy, and starts no kernel."""

    def __init__(self, path):
        self._cells = [
            cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"
        ]

    def pytest_collection_modifyitems(self, items):
        for item, ran in zip(items, self._cells, strict=True):
            item.parent.setup = item.parent.setup_sanitize_files
            item.runtest = partial(self._compare, item, ran)

    @staticmethod
    def _compare(item, ran):
        from nbval.plugin import coalesce_streams

        if item.cell.outputs and item.cell.execution_count is None:
            item.raise_cell_error("outputs of a cell that was never run")
        now, kept = coalesce_streams(ran.outputs), coalesce_streams(item.cell.outputs)
        if item.options["check"] and not item.compare_outputs(now, kept):
            item.raise_cell_error("Cell outputs differ", "\n".join(item.comparison_traceback))


def _run_apart(path):
    """Run a notebook into the folder of what is validated; the status is 1 where it fails."""
    output = root() / "build" / "validated" / "executed" / Path(path).name
    try:
        run(path, output)
    except NotebookError as error:
        print(error)
        return 1
    return 0


def _last_cell(executed):
    """Position, in the notebook itself, of the last cell that was started."""
    if not executed.exists():
        return "unknown"
    added = {"injected-parameters", "papermill-error-cell-tag"}
    own = [
        cell.metadata
        for cell in nbformat.read(executed, as_version=4).cells
        if not added & set(cell.metadata.get("tags", []))
    ]
    started = [
        place
        for place, metadata in enumerate(own)
        if metadata.get("papermill", {}).get("start_time")
    ]
    return started[-1] if started else "unknown"
