"""Log-probabilities of the ratings 1 to 5 on SummEval, as Sheng et al. 2025 published them (arXiv 2509.18658).

The files name no item: a row belongs to an item by its place alone, and the judges' files are not in one order.
So each file is laid beside the people's ratings, which its sixth column repeats, and is refused unless all of its
rows agree. What that does not tell apart, two summaries of one article with equal ratings, the tests look at
otherwise (`tests/data/test_rating_logprobs.py`).
"""

import csv
import io
import math

import numpy as np

RATINGS = ("1", "2", "3", "4", "5")
# What the files hold for a rating that was not among the alternatives that the server named.
FLOOR = math.log(1e-5)
PROMPTS = 5
# Mean correlation of a prompt with the file's other prompts, within articles, below which an order counts as lost.
AGREEMENT = 0.75
_TOLERANCE = 1e-6


def in_order(items, order):
    """Put items into the order of a judge's files.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, doc_id`, in the order of SummEval's released annotations.
    order : {"released", "sorted"}
        As released; or articles sorted by id, and each article's summaries as released.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> items = pd.DataFrame({"item_id": ["b/2", "b/1", "a/2"], "doc_id": ["b", "b", "a"]})
    >>> in_order(items, "sorted")["item_id"].tolist()
    ['a/2', 'b/2', 'b/1']
    """
    if order == "released":
        return items.reset_index(drop=True)
    return items.sort_values("doc_id", kind="stable").reset_index(drop=True)


def table(content, aspect=""):
    """Read a file's columns.

    Parameters
    ----------
    content : bytes
    aspect : str, optional
        The sixth column, people's mean rating; empty for a file without one.

    Returns
    -------
    logarithms : numpy.ndarray
        A row for each rated item and prompt, a column for each of `RATINGS`; NaN for a rating that was not
        among the alternatives.
    people : numpy.ndarray
        The sixth column, or nothing.

    Raises
    ------
    ValueError
        For other columns, or what is no logarithm of a probability.

    Examples
    --------
    >>> table(b"1,2,3,4,5\\n-0.5,-1,-11.512925464970229,-2,-3\\n")[0].tolist()
    [[-0.5, -1.0, nan, -2.0, -3.0]]
    """
    lines = list(csv.reader(io.StringIO(content.decode("utf-8"))))
    expected = [*RATINGS, aspect] if aspect else list(RATINGS)
    if not lines or lines[0] != expected:
        raise ValueError(
            f"expected the columns {expected}, got {lines[0] if lines else 'an empty file'}"
        )
    values = np.array(lines[1:], dtype=float)
    logarithms = values[:, : len(RATINGS)]
    if np.isnan(values).any() or (logarithms > 0).any():
        raise ValueError("expected logarithms of probabilities, got one above 0 or none")
    return np.where(logarithms == FLOOR, math.nan, logarithms), values[:, len(RATINGS) :].ravel()


def check_people(given, people):
    """Refuse an order that the people's column does not bear out on every row.

    Parameters
    ----------
    given : numpy.ndarray
        The file's column.
    people : numpy.ndarray
        Mean rating of each item, in the order that is expected of the file.

    Raises
    ------
    ValueError
        Naming how many rows differ, and the first.
    """
    if len(given) != len(people):
        raise ValueError(f"expected a row for each of {len(people)} items, got {len(given)}")
    differ = np.flatnonzero(~(np.abs(given - people) < _TOLERANCE))
    if len(differ):
        first = differ[0]
        raise ValueError(
            f"its order of rows is not the expected one: people's mean rating differs in {len(differ)} of "
            f"{len(people)} rows, first in row {first + 1} (expected {people[first]:.4g}, got {given[first]:.4g})"
        )


def check_prompts(logarithms, documents):
    """Refuse prompts of which some rate in another order than the others.

    A file of several prompts has no people's column. If its rows are in one order, a judge's ratings under one
    prompt agree, within an article, with its ratings of the same summaries under the others.

    Parameters
    ----------
    logarithms : numpy.ndarray
        Items by prompts by ratings.
    documents : sequence of str
        The article of each item, in the order that is expected of the file.

    Raises
    ------
    ValueError
        Naming the prompts that agree too little.
    """
    expected = _expected(logarithms)
    agreement = _within(expected, documents)
    low = [
        f"{number + 1} ({value:.2f})"
        for number, value in enumerate(agreement)
        if not value >= AGREEMENT
    ]
    if low:
        raise ValueError(
            f"its order of rows cannot be shown: expected each prompt's ratings to correlate by {AGREEMENT} or more "
            f"with those under the other prompts, within articles, got less for prompt {', '.join(low)}"
        )


def replies(item_ids, aspect, logarithms, sample_index):
    """Rows of a recording; the text is the likeliest rating, the lowest of several.

    Parameters
    ----------
    item_ids : sequence of str
    aspect : str
    logarithms : numpy.ndarray
        Items by ratings.
    sample_index : int

    Yields
    ------
    tuple
        `item_id, aspect, sample_index, text, logprobs`, the last as a `Reply` holds them. Where no rating was
        among the alternatives, text and alternatives are empty.

    Examples
    --------
    >>> list(replies(["a"], "fluency", np.array([[math.nan, -1.0, -0.5, math.nan, math.nan]]), 0))
    [('a', 'fluency', 0, '3', [['3', [['2', -1.0], ['3', -0.5]]]])]
    """
    for item_id, line in zip(np.asarray(item_ids, dtype=object), logarithms.tolist()):
        found = [[rating, value] for rating, value in zip(RATINGS, line) if not math.isnan(value)]
        text = max(found, key=lambda pair: pair[1])[0] if found else ""
        yield item_id, aspect, sample_index, text, [[text, found]]


def _expected(logarithms):
    """Expected rating of each item under each prompt; NaN where no rating was among the alternatives."""
    weights = np.exp(np.where(np.isnan(logarithms), -math.inf, logarithms))
    with np.errstate(invalid="ignore"):
        return weights @ np.arange(1.0, 1 + len(RATINGS)) / weights.sum(axis=-1)


def _within(expected, documents):
    """Mean correlation of each column with the others, each article's mean taken off."""
    import pandas as pd

    frame = pd.DataFrame(expected)
    centred = frame - frame.groupby(np.asarray(documents)).transform("mean")
    among = centred.corr().to_numpy(copy=True)
    np.fill_diagonal(among, math.nan)
    return np.nanmean(among, axis=1)
