"""Paragraphs that speak of a notebook's run with its default settings, and of no other.

A notebook's prose is written beside the outputs that are kept in it. Where a sentence says what the default
judge did, its cell is tagged `default-run`. A run with other settings leaves such cells out and says so, so
that no copy describes a judge that was not asked.
"""

import ast

import nbformat
import papermill
from nbformat.v4 import new_markdown_cell

TAG = "default-run"
LONGEST = 60  # characters of a value that the note shows


def changed(path, parameters):
    """Find the parameters whose values are not the notebook's own.

    Parameters
    ----------
    path : path-like
        The notebook.
    parameters : dict
        Values for names that its `parameters` cell assigns.

    Returns
    -------
    dict
        Those of `parameters` that differ; a list equals a tuple of the same values.
    """
    known = papermill.inspect_notebook(str(path))
    own = {name: _plain(entry["default"]) for name, entry in known.items()}
    return {name: value for name, value in parameters.items() if own[name] != _same(value)}


def leave_out(executed, settings):
    """Remove the paragraphs about the default run from an executed copy, and say so below its title.

    Parameters
    ----------
    executed : path-like
        The executed copy; it is rewritten.
    settings : dict
        The changed parameters, named in the note.
    """
    notebook = nbformat.read(executed, as_version=4)
    kept = [cell for cell in notebook.cells if not _is_about_default(cell)]
    if len(kept) == len(notebook.cells):
        return
    kept.insert(1, new_markdown_cell(note(settings), metadata={"tags": ["settings-note"]}))
    notebook.cells = kept
    nbformat.write(notebook, executed)


def note(settings):
    """Say in one line which settings a copy was run with.

    Parameters
    ----------
    settings : dict

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> note({"judge": "openai:MODEL", "limit": 60}).partition(". ")[0]
    "*Run with `judge='openai:MODEL'`, `limit=60`"
    """
    shown = ", ".join(f"`{name}={_short(value)}`" for name, value in settings.items())
    return f"*Run with {shown}. Paragraphs about the run with the default settings are left out.*"


def _is_about_default(cell):
    return cell.cell_type == "markdown" and TAG in cell.metadata.get("tags", [])


def _short(value):
    text = repr(value).replace("`", "'")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _plain(text):
    """A default as papermill gives it, its Python source; what is no literal stays text."""
    try:
        return _same(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return text


def _same(value):
    return list(value) if isinstance(value, tuple) else value
