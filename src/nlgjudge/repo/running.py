"""What `run` does: execute one notebook with parameters of one's own, and say where its results are.

It and the last steps of the workflows are done by a server where one serves (`nlgjudge.repo.serving`): it has
imported what they need.
"""

import ast
import json
import os
import time

from nlgjudge.repo import serving


def run(notebook, output, parameters):
    """Execute a notebook into a folder of its own; where it fails, the reason lies beside the output.

    Parameters
    ----------
    notebook : pathlib.Path
    output : pathlib.Path or None
        Where the executed copy goes; by default into the run's folder.
    parameters : list of (str, str)
        Names and values as they were typed; a value is read as `value` does.

    Returns
    -------
    int or None
        The exit status, where a server did the work (`nlgjudge.repo.serving`) and said what there was to say.

    Raises
    ------
    nlgjudge.repo.notebooks.NotebookError
        As for `nlgjudge.repo.notebooks.run`.
    """
    status = serving.ask(_arguments(notebook, output, parameters))
    if status is not None:
        return status
    # Inside the function: who only asks a server has no need of it.
    from nlgjudge.repo import notebooks

    given = {name: value(text) for name, text in parameters}
    folder = notebooks.place(notebook, given)
    os.environ.setdefault("NLGJUDGE_OUT", str(folder))  # the workflow has set its own
    output = output or folder / notebook.name
    failed = output.with_suffix(".failed.txt")
    failed.unlink(missing_ok=True)
    start = time.monotonic()
    try:
        notebooks.run(notebook, output, given)
    except notebooks.NotebookError as error:
        failed.parent.mkdir(parents=True, exist_ok=True)
        failed.write_text(f"{error}\n", encoding="utf-8")
        raise
    print(f"ran {notebook.stem} in {time.monotonic() - start:.1f} s")
    if os.environ["NLGJUDGE_OUT"] == str(folder):
        print(f"the executed notebook is {output}, its results are in {folder}")
    return None


def finish():
    """Do what `nlgjudge.repo.workflow.finish` does.

    Returns
    -------
    int or None
        As for `run`.
    """
    status = serving.ask(["finish"])
    if status is not None:
        return status
    from nlgjudge.repo import workflow

    return workflow.finish()


def draw(grid):
    """Do what `nlgjudge.repo.sweep.finish` does.

    Parameters
    ----------
    grid : pathlib.Path
        The file of the grid.

    Returns
    -------
    int or None
        As for `run`.
    """
    status = serving.ask(["draw", str(grid)])
    if status is not None:
        return status
    from nlgjudge.repo import sweep

    return sweep.finish(sweep.read(grid))


def _arguments(notebook, output, parameters):
    """The command line that says the same."""
    given = ["run", str(notebook)]
    if output:
        given += ["--output", str(output)]
    for name, text in parameters:
        given += ["--parameter", name, text]
    return given


def value(text):
    """Read a parameter's value.

    Parameters
    ----------
    text : str

    Returns
    -------
    object
        Of JSON, of a Python literal such as ``None`` or ``('a', 'b')``, or else the text itself.

    Examples
    --------
    >>> value("5"), value("null"), value("('a', 'b')"), value("spearman")
    (5, None, ('a', 'b'), 'spearman')
    """
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return text
