"""What a user chooses by hand: a name out of several, and how many documents."""

from difflib import get_close_matches
from functools import lru_cache
from numbers import Integral


def unknown(kind, name, known, *, most=12):
    """Say that a name is not known, and which ones come near.

    Parameters
    ----------
    kind : str
        What the name is of, as ``"prompt"``.
    name : str
        As it was given.
    known : iterable of str
    most : int
        So many known names are listed at most; of more, the near ones alone.

    Returns
    -------
    str
        One line for an error's message.

    Examples
    --------
    >>> unknown("aspect", "coherance", ["coherence", "fluency"])
    "no aspect 'coherance': did you mean 'coherence'? There are coherence, fluency"
    """
    known = [str(one) for one in known]
    near = _near(str(name), tuple(known))
    text = f"no {kind} {str(name)!r}"
    listed = ", ".join(known) or "none"
    if near:
        text += ": did you mean " + " or ".join(repr(one) for one in near) + "?"
        if len(known) <= most:
            text += f" There are {listed}"
    elif len(known) <= most:
        text += f"; there are {listed}"
    else:
        text += f"; there are {len(known)}, as {', '.join(known[:most])}"
    return text


def check_known(kind, name, known, *, most=12):
    """Raise a ValueError, in the words of `unknown`, for a name that is not known."""
    if name not in known:
        raise ValueError(unknown(kind, name, known, most=most))


def check_whole(least, **numbers):
    """Raise a `ValueError` for a number that is no whole number from `least`."""
    for name, number in numbers.items():
        whole = isinstance(number, Integral) and not isinstance(number, bool)
        if not whole or number < least:
            raise ValueError(f"{name}={number!r}: expected a whole number of at least {least}")


@lru_cache(maxsize=256)
def _near(name, known):
    """The names that come near; some callers ask for what may not be there, again and again."""
    return get_close_matches(name, known, n=3, cutoff=0.5)


def first(items, limit):
    """Take the items of the first documents; a limit means the same wherever one is given.

    Parameters
    ----------
    items : pandas.DataFrame
        Without a column `doc_id`, every row is a document.
    limit : int or None
        Documents to keep; None or 0 keeps all.

    Returns
    -------
    pandas.DataFrame

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
    if limit is None or limit == 0:
        return items
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise ValueError(
            f"limit={limit!r}: expected a whole number of at least 0; 0 or None takes all"
        )
    if "doc_id" not in items:
        return items.head(limit)
    return items[items["doc_id"].isin(items["doc_id"].unique()[:limit])]
