"""What a notebook displays: an answer first, then tables and notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nlgjudge.data.checks import unknown
from nlgjudge.data.markup import shown


class Shown:
    """A result that displays its parts: tables, and paragraphs as pairs of a strong beginning and the rest."""

    _between = "\n\n"  # parts as plain text

    def __getattr__(self, name):
        known = [one for one in dir(self) if not one.startswith("_")]
        raise AttributeError(f"{type(self).__name__}: {unknown('name', name, known, most=20)}")

    def _parts(self) -> Iterator[Any]:
        raise NotImplementedError

    def __repr__(self):
        return shown(
            self._between.join(
                "".join(part) if isinstance(part, tuple) else _text(part) for part in self._parts()
            )
        )

    def _repr_html_(self):
        return "".join(
            _paragraph(*part) if isinstance(part, tuple) else _html(part) for part in self._parts()
        )


def _paragraph(first, rest):
    first, rest = (shown(text, "html") for text in (first, rest))
    strong = f"<strong>{first}</strong>" if first else ""
    return f"<p>{strong}{rest}</p>".replace("\n", "<br>")


def _text(table):
    return table.to_string() if hasattr(table, "to_string") else repr(table)


def _html(table):
    html = table.to_html() if hasattr(table, "to_html") else table._repr_html_()
    return shown(html, "table")
