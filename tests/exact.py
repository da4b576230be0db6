"""Correlations in exact arithmetic: whole numbers and fractions, one pair after the other."""

import math
import random
from fractions import Fraction
from itertools import combinations

import pandas as pd

LEVELS = ("sample", "dataset", "system")
COEFFICIENTS = (("pearson", "b"), ("spearman", "b"), ("kendall", "b"), ("kendall", "c"))


def design(seed):
    """Ratings in thirds and a judge's scores in twentieths, with ties, gaps and constant documents.

    Returns {(document, system): (score, rating)}; None is a missing one.
    """
    draw = random.Random(seed)
    documents, systems = draw.randint(1, 9), draw.randint(1, 20)
    if seed % 10 == 0:
        documents, systems = draw.randint(12, 15), draw.randint(17, 20)
    steps, parts = draw.choice([1, 2, 5]), (draw.choice([1, 20]), draw.choice([1, 3]))
    gaps, constants = draw.choice([0, 0.1, 0.4]), draw.choice([0, 0.2])
    items = {}
    for document in range(documents):
        fixed = [draw.random() < constants for _ in parts]
        values = [draw.randint(0, steps * part) for part in parts]
        for system in range(systems):
            if draw.random() < gaps / 4:
                continue
            items[document, system] = tuple(
                None
                if draw.random() < gaps
                else Fraction(value if same else draw.randint(0, steps * part), part)
                for same, value, part in zip(fixed, values, parts)
            )
    return items


def frame_of(items):
    """A frame with the columns `judge` and `human`, in no order."""
    rows = [
        (f"d{d}", f"s{s}", *(math.nan if v is None else float(v) for v in pair))
        for (d, s), pair in items.items()
    ]
    frame = pd.DataFrame(rows, columns=["doc_id", "system_id", "judge", "human"])
    return frame.astype({"judge": float, "human": float}).sample(frac=1, random_state=len(rows))


def ranks(values):
    """Twice the midranks."""
    return [sum((other < v) * 2 + (other == v) for other in values) + 1 for v in values]


def signs(x):
    return [(a > b) - (a < b) for a, b in combinations(x, 2)]


def one(x, y, coefficient, kendall):
    """One correlation, None where it is undefined."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    if coefficient == "kendall":
        x_signs, y_signs = signs(x), signs(y)
        agreement = sum(a * b for a, b in zip(x_signs, y_signs))
        if kendall == "c":
            classes = min(len(set(x)), len(set(y)))
            return float(Fraction(2 * agreement * classes, len(x) ** 2 * (classes - 1)))
        return agreement / math.sqrt(sum(map(abs, x_signs)) * sum(map(abs, y_signs)))
    if coefficient == "spearman":
        x, y = ranks(x), ranks(y)
    n = len(x)
    xy, xx, yy = (
        n * sum(a * b for a, b in zip(*p)) - sum(p[0]) * sum(p[1]) for p in ((x, y), (x, x), (y, y))
    )
    return float(xy) / math.sqrt(xx * yy)


def groups(items, level, coefficient, kendall):
    """The correlation of each group, and how many units there are and have both scores."""
    full = {
        key: tuple(int(60 * score) for score in pair)  # whole numbers compare faster
        for key, pair in items.items()
        if None not in pair
    }
    if level == "dataset":
        found = [one(*zip(*full.values()), coefficient, kendall)] if full else []
        return found, len(items), len(full)
    place = 0 if level == "sample" else 1
    every = {key[place] for key in items}
    rated = sorted({key[place] for key in full})
    of_unit = [[pair for key, pair in full.items() if key[place] == unit] for unit in rated]
    if level == "sample":
        found = [one(*zip(*pairs), coefficient, kendall) for pairs in of_unit]
    else:
        means = [[Fraction(sum(v), len(v)) for v in zip(*pairs)] for pairs in of_unit]
        found = [one(*zip(*means), coefficient, kendall)] if means else []
    return found, len(every), len(rated)


def correlation(found, units, rated, level, constant):
    """Value (None where undefined), n and n_skipped, from `groups`."""
    defined = [value for value in found if value is not None]
    n = rated if level != "sample" or constant == "zero" else len(defined)
    if constant == "zero":
        defined += [0] * (len(found) - len(defined))
    undefined = not defined or (constant == "nan" and len(defined) < len(found))
    return (None if undefined else math.fsum(defined) / len(defined)), n, units - n
