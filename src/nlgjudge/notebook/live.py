"""Outputs at a notebook's top that follow the run: the committed result first, then the run's own in its place.

A place is a display id. A front end, papermill's saved copy and nbconvert write what `replace` gives to every output
with that id. Outside of a kernel nothing is replaced.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from nlgjudge.data.paths import root

_contents: dict[str, Callable[[str], Any]] = {}  # by place, what it shows before the run's result
_defaults: dict[str, dict] = {}  # by notebook, its committed parameters
_changed: dict[str, dict] = {}  # by notebook, (this run's, the committed) by parameter


def kernel() -> Any:
    """The shell of the running notebook; None elsewhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell if hasattr(shell, "kernel") else None


def show(place: str, content: Callable[[str], Any]) -> None:
    """Display a committed result at a place, named NOTEBOOK/WHAT.

    `content` takes what was changed and gives what to show: without changes the result, else what says that the run's
    own is still to come.
    """
    if not (shell := kernel()):
        send(content(""))
        return
    notebook = place.split("/")[0]
    if notebook not in _defaults:
        _defaults[notebook] = _committed(notebook)
        _changed[notebook] = {}
        shell.events.register("post_run_cell", lambda _: _watch(notebook))
    _contents[place] = content
    send(content(changes(notebook)), place)


def replace(place: str, content: Any) -> bool:
    """Write this run's result to a place; False if it was not shown in this kernel."""
    if place not in _contents:
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
    """The content of a figure's place: the committed one, or that this run's is still to come."""
    later = {"text/markdown": "*The figure of this run takes this place when it is drawn.*"}
    return lambda changes: later if changes else figure


def _watch(notebook):
    """After a cell, note which parameters are not the committed ones; if these are others than before, say so."""
    now = kernel().user_ns
    pairs = {n: (repr(now[n]), own) for n, own in _defaults[notebook].items() if n in now}
    changed = {name: both for name, both in pairs.items() if both[0] != both[1]}
    if changed != _changed[notebook]:
        _changed[notebook] = changed
        for place, content in _contents.items():
            if place.startswith(f"{notebook}/"):
                send(content(changes(notebook)), place, update=True)


def _committed(notebook):
    """The parameters that a notebook's committed outputs were made with, as Python writes them."""
    path = root() / "paper_tables" / "parameters.json"
    return json.loads(path.read_text(encoding="utf-8")).get(notebook, {}) if path.exists() else {}
