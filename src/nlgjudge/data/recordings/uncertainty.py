"""Log-probabilities of the ratings 1 to 5 on SummEval under one prompt (Sheng et al. 2025, arXiv 2509.18658).

The files have no item ids, and not the same order for all judges. A row belongs to an item by its position, so each
file is compared with the human ratings that its sixth column repeats, and refused unless all rows agree.
"""

import csv
import io
import math

import numpy as np

RATINGS = ("1", "2", "3", "4", "5")
# What the files hold for a rating that was not among the alternatives that the server returned.
FLOOR = math.log(1e-5)


def read(content, part, spec, items):
    """Rows of a file of one aspect; `items` is SummEval's mean ratings in released order."""
    if spec.model == "gpt-4o-mini":
        items = items.sort_values("doc_id", kind="stable")
    logprobs, ratings = read_logprobs(content, [*RATINGS, part])
    expected = items[part].to_numpy()
    if len(ratings) != len(expected):
        raise ValueError(f"expected a row for each of {len(expected)} items, got {len(ratings)}")
    differ = (~(np.abs(ratings - expected) < 1e-6)).sum()
    if differ:
        raise ValueError(
            f"the order of rows is not the expected one: the mean human rating differs in {differ} of "
            f"{len(ratings)} rows"
        )
    return likeliest(items["item_id"], part, logprobs, 0)


def read_logprobs(content, columns):
    """Log-probabilities of the ratings (NaN: not among the alternatives) and the sixth column."""
    lines = list(csv.reader(io.StringIO(content.decode("utf-8"))))
    if not lines or lines[0] != columns:
        raise ValueError(
            f"expected the columns {columns}, got {lines[0] if lines else 'an empty file'}"
        )
    values = np.array(lines[1:], dtype=float)
    logprobs = values[:, : len(RATINGS)]
    if np.isnan(values).any() or (logprobs > 0).any():
        raise ValueError("expected logarithms of probabilities, got one above 0 or none")
    return np.where(logprobs == FLOOR, math.nan, logprobs), values[:, len(RATINGS) :].ravel()


def likeliest(item_ids, aspect, logprobs, sample_index):
    """Rows with the likeliest rating as text (the lowest of several) and all alternatives."""
    rows = []
    for item_id, line in zip(item_ids.tolist(), logprobs.tolist()):
        alternatives = [
            [rating, value] for rating, value in zip(RATINGS, line) if not math.isnan(value)
        ]
        text = max(alternatives, key=lambda pair: pair[1])[0] if alternatives else ""
        rows.append((item_id, aspect, sample_index, text, [[text, alternatives]]))
    return rows
