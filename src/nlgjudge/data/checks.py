"""Checks of what users give: a name out of several, a whole number, how many documents."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


# What takes the place of names that left, by kind.
LEFT: dict[tuple[str, object], str] = {
    ("kind of judge", "batch"): "take openai:MODEL, which answers now and has no half price",
    ("option", "despite_batches"): "leave it out, as there are no batches",
    ("option", "max_calls"): "pass budget=nlgjudge.judging.judge.Budget(max_calls=...)",
    ("option", "per_minute"): "pass concurrency; a server's Retry-After is followed",
    ("command", "judge"): "take `nlgjudge rerun`, or nlgjudge.judge_items in Python",
    ("command", "export"): "run `python site/every_eval_ever.py FOLDER` in a checkout",
    ("command", "totals"): "call nlgjudge.judging.store.Store(FILE).totals()",
    ("command", "drop"): "call nlgjudge.judging.store.Store(FILE).drop(...)",
    ("name", "few_labels"): "take assisted_mean, or nlgjudge.report for how well a judge agrees",
    ("name", "verdict"): "take answer",
    ("name", "rerun_verdict"): "take rerun_answer",
    ("name", "sentence"): "take answer",
}


def unknown(kind: str, name: object, known: Iterable[object], *, most: int = 12) -> str:
    """Say that there is no such name, which ones come near, and which there are, at most `most` of them.

    Examples
    --------
    >>> unknown("aspect", "coherance", ["coherence", "fluency"])
    "no aspect 'coherance': did you mean 'coherence'? There are coherence, fluency"
    """
    names = [str(one) for one in known]
    near = get_close_matches(str(name), names, n=3, cutoff=0.5)
    text = f"no {kind} {str(name)!r}"
    if (kind, name) in LEFT:
        return f"{text} any more: {LEFT[kind, name]}"
    listed = ", ".join(names) or "none"
    if near:
        text += ": did you mean " + " or ".join(map(repr, near)) + "?"
        if len(names) <= most:
            text += f" There are {listed}"
    elif len(names) <= most:
        text += f"; there are {listed}"
    else:
        text += f"; there are {len(names)}, as {', '.join(names[:most])}"
    return text


def check_known(kind: str, name: object, known: Iterable[object], *, most: int = 12) -> None:
    """Raise a ValueError, in the words of `unknown`, for a name that is not known."""
    if name not in known:
        raise ValueError(unknown(kind, name, known, most=most))


def check_whole(least: int, **numbers: Any) -> None:
    """Raise a ValueError for a number that is no whole number from `least`."""
    for name, number in numbers.items():
        is_whole = isinstance(number, Integral) and not isinstance(number, bool)
        if not is_whole or number < least:
            raise ValueError(f"{name}={number!r}: expected a whole number of at least {least}")


def first(items: pd.DataFrame, limit: int | None) -> pd.DataFrame:
    """Take the items of the first documents.

    Parameters
    ----------
    items
        Without a column `doc_id`, every row is a document.
    limit
        Documents to keep; None or 0 keeps all.

    Raises
    ------
    ValueError
        For a limit that is no whole number of at least 0.

    Examples
    --------
    >>> import pandas as pd
    >>> items = pd.DataFrame({"item_id": ["a", "b", "c"], "doc_id": ["x", "x", "y"]})
    >>> len(first(items, 1)), len(first(items, 0))
    (2, 3)
    """
    check_whole(0, limit=limit or 0)
    if not limit:
        return items
    if "doc_id" not in items:
        return items.head(limit)
    return items[items["doc_id"].isin(items["doc_id"].unique()[:limit])]
