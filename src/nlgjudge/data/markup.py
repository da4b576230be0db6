"""Text as a terminal or a page shows it: what comes from a server, a file or a name is never markup."""

import re

# What moves a terminal's cursor or turns the direction of writing, and halves of characters.
_LOST = r"(?P<lost>[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff])"
_FORMS = {
    "text": _LOST,
    "table": rf"{_LOST}|[$\\]",
    "html": rf"{_LOST}|[<>&$\\]",
    "value": rf"{_LOST}|[<>&$\\]|\](?=[(\[:])",
    "markdown": rf"{_LOST}|[<>&$\\`*~|@\n]|(?<!\w)_|_(?!\w)|\](?=[(\[:])|:(?=//)|(?<=www)\.",
}
# An element of its own keeps $ and \ from MathJax, which reads a page after its entities are resolved.
_WRITTEN = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " "}
_WRITTEN |= {"$": "<span>&#36;</span>", "\\": "<span>&#92;</span>"}


def shown(text: object, form: str = "text") -> str:
    """Write a text for a terminal (``text``), ``html`` or ``markdown``, where it is shown as it is.

    The form ``table`` is HTML whose texts are escaped already, but for mathematics; ``value`` is Markdown of ours that
    may hold names, in which tables and emphasis stay.

    Examples
    --------
    >>> shown("a\\x1b[2J"), shown("<b>$x$", "html"), shown("[a](b) *c*", "markdown")
    ('a[2J', '&lt;b&gt;<span>&#36;</span>x<span>&#36;</span>', '[a&#93;(b) &#42;c&#42;')
    """
    return re.sub(_FORMS[form], _written, str(text))


def _written(found):
    return "" if found["lost"] else _WRITTEN.get(found[0], f"&#{ord(found[0])};")
