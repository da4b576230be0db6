"""Outputs at a notebook's top that follow the run: the committed result first, then the run's own in its place.

A place is a display id. A front end, papermill's saved copy and nbconvert write what `replace` gives to every output
with that id. Outside of a kernel nothing is replaced.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable
from typing import Any

from nlgjudge.data.paths import root

_waiting: dict[str, Callable[[str], Any]] = {}  # by place, what it shows before the run's result
_defaults: dict[str, dict] = {}  # by notebook, its committed parameters
_changed: dict[str, dict] = {}  # by notebook, (this run's, the committed) by parameter


def kernel() -> Any:
    """The shell of the running notebook; None elsewhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell if hasattr(shell, "kernel") else None


def show(place: str, content: Any, waiting: Callable[[str], Any] | None = None) -> bool:
    """Display a committed result at a place, named NOTEBOOK/WHAT; False outside of a kernel.

    As soon as a cell sets the notebook's parameters to other values, the place shows `waiting` of what was changed.
    """
    if not (shell := kernel()):
        return False
    notebook = place.split("/")[0]
    if notebook not in _defaults:
        _defaults[notebook] = _committed(notebook)
        shell.events.register("post_run_cell", lambda result: _watch(notebook, result))
        _note(notebook)  # of parameters above
    _waiting[place] = waiting or (lambda changes: content)
    send(_waiting[place](changes(notebook)) if changes(notebook) else content, place)
    return True


def replace(place: str, content: Any) -> bool:
    """Write this run's result to a place; False if it was not shown in this kernel."""
    if place not in _waiting:
        return False
    send(content, place, update=True)
    return True


def changes(notebook: str) -> str:
    """What this run changed, as Markdown: ``judge = 'surface'`` (committed ``''``); empty for nothing."""
    pairs = _changed.get(notebook, {}).items()
    said = (f"`{name} = {now}` (committed `{before}`)" for name, (now, before) in pairs)
    return ", ".join(said)


def send(content: Any, place: str | None = None, *, update: bool = False) -> None:
    """Display an object, or what a mime bundle holds."""
    from IPython.display import display, update_display

    how = update_display if update else display
    how(content, raw=isinstance(content, dict), display_id=place)


def until_drawn(figure: Any) -> Callable[[str], Any]:
    """What the place of a committed figure shows: where something was changed, that one will be drawn."""
    later = {"text/markdown": "*The figure of this run takes this place when it is drawn.*"}
    return lambda changes: later if changes else figure


def _watch(notebook, result):
    """After a cell that does nothing but set parameters, note which are not the committed ones."""
    before = _changed[notebook]
    names = _names(result.info.raw_cell or "")
    if not names or not names <= _defaults[notebook].keys():
        return
    _note(notebook)
    if _changed[notebook] != before:
        for place, waiting in _waiting.items():
            if place.startswith(f"{notebook}/"):
                send(waiting(changes(notebook)), place, update=True)


def _note(notebook):
    """Note which parameters of the kernel are not the committed ones."""
    now = kernel().user_ns
    pairs = {n: (repr(now[n]), own) for n, own in _defaults[notebook].items() if n in now}
    _changed[notebook] = {name: both for name, both in pairs.items() if both[0] != both[1]}


def _names(source):
    """Names that a cell sets, if it does nothing else."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a magic
        return set()
    if not all(isinstance(node, ast.Assign) for node in body):
        return set()
    return {ast.unparse(node.targets[0]) for node in body}


def _committed(notebook):
    """The parameters that a notebook's committed outputs were made with, as Python writes them."""
    path = root() / "paper_tables" / "parameters.json"
    return json.loads(path.read_text(encoding="utf-8")).get(notebook, {}) if path.exists() else {}
