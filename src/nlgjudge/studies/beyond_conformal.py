"""Split-conformal intervals around a judge's rating (Sheng et al. 2025, arXiv 2509.18658; Vovk et al. 2005).

Of some items people's ratings are known: how far a judge was off there says how far off it may be on the next item.
If that item is like those (exchangeable), the interval holds people's rating with the promised probability, whatever
the judge is.
"""

import math
from typing import NamedTuple

import numpy as np

from nlgjudge.judging import heads

# A judge that is sure of its rating has a distribution without width; no interval is scaled by less.
_NARROWEST = 0.1
# `own` is the judge's own interval, not calibrated; `no judge` knows people's mean alone.
METHODS = ("own", "constant", "scaled", "quantiles", "fitted", "no judge")


def radius(scores, alpha):
    """The score that all but a share `alpha` of exchangeable items stay below.

    Parameters
    ----------
    scores : array_like
        How far the judge was off on each calibration item.
    alpha : float
        Share of items that may be missed.

    Returns
    -------
    float
        The ``ceil((n + 1) (1 - alpha))``-th smallest; infinite where there are too few items for that.

    Examples
    --------
    >>> radius([1, 2, 3, 4, 5, 6, 7, 8, 9], 0.1), radius([1, 2, 3], 0.1)
    (9.0, inf)
    """
    scores = np.sort(np.asarray(scores, dtype=float))
    rank = math.ceil(round((len(scores) + 1) * (1 - alpha), 9))
    return float(scores[rank - 1]) if rank <= len(scores) else math.inf


class Prediction(NamedTuple):
    """What a judge says of each item, before calibration.

    Attributes
    ----------
    low, high : numpy.ndarray
        An interval, or twice the expected rating.
    unit : numpy.ndarray
        By what an item's interval is widened: 1, or the judge's own standard deviation.
    """

    low: np.ndarray
    high: np.ndarray
    unit: np.ndarray


def predictions(p, ratings, alpha):
    """Lay out what the methods start from.

    Parameters
    ----------
    p : array_like
        Items by ratings.
    ratings : array_like
    alpha : float

    Returns
    -------
    dict of str to Prediction
        `constant`: the expected rating; `scaled`: the same, widened by the judge's standard deviation; `quantiles`: the
        judge's own interval, between the quantiles that leave out `alpha` of its distribution.

    Examples
    --------
    >>> found = predictions([[0.0, 0.5, 0.5]], [1, 2, 3], 0.1)
    >>> {name: (one.low.tolist(), one.high.tolist(), one.unit.tolist()) for name, one in found.items()}
    {'constant': ([2.5], [2.5], [1.0]), 'scaled': ([2.5], [2.5], [0.5]), 'quantiles': ([2.0], [3.0], [1.0])}
    """
    p = np.asarray(p, dtype=float)
    ratings = np.asarray(ratings, dtype=float)
    centre = heads.expected(p, ratings)
    one = np.ones(len(p))
    below = np.cumsum(p, axis=1)
    low = ratings[np.argmax(below >= alpha / 2 - 1e-9, axis=1)]
    high = ratings[np.argmax(below >= 1 - alpha / 2 - 1e-9, axis=1)]
    return {
        "constant": Prediction(centre, centre, one),
        "scaled": Prediction(centre, centre, np.maximum(heads.spread(p, ratings), _NARROWEST)),
        "quantiles": Prediction(low, high, one),
    }


def fitted(p, ratings, people, known, *, flat=False):
    """Predict people's rating from the expected one by a straight line.

    Parameters
    ----------
    p, ratings : array_like
        As for `predictions`.
    people : array_like
        People's rating of each item.
    known : array_like of bool
        Items by which the line is fitted. Calibrate with others.
    flat : bool
        Predict people's mean for every item, without the judge: what a judge has to beat.

    Returns
    -------
    Prediction

    Examples
    --------
    >>> p = np.eye(3)
    >>> fitted(p, [1, 2, 3], [2.0, 3.0, 4.0], np.array([True, True, True])).low.round(2).tolist()
    [2.0, 3.0, 4.0]
    >>> fitted(p, [1, 2, 3], [2.0, 3.0, 4.0], np.array([True, True, True]), flat=True).low.tolist()
    [3.0, 3.0, 3.0]
    """
    people = np.asarray(people, dtype=float)
    centre = heads.expected(p, ratings)
    if flat:
        line = np.full(len(centre), people[known].mean())
    else:
        slope, start = np.polyfit(centre[known], people[known], 1)
        line = start + slope * centre
    return Prediction(line, line, np.ones(len(centre)))


def off(prediction, people):
    """How far people's rating lies outside a prediction, in its units; negative inside.

    Parameters
    ----------
    prediction : Prediction
    people : array_like

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> off(Prediction(np.array([2.0]), np.array([4.0]), np.array([0.5])), [5.0]).tolist()
    [2.0]
    """
    people = np.asarray(people, dtype=float)
    return np.maximum(prediction.low - people, people - prediction.high) / prediction.unit


def interval(prediction, size, *, lowest=1.0, highest=5.0, grid=None):
    """Widen predictions, and cut them to the scale.

    Parameters
    ----------
    prediction : Prediction
    size : float
        From `radius`; 0 for the judge's own interval.
    lowest, highest : float
        Of the scale.
    grid : float, optional
        Step between the ratings that are possible. The ends are moved inwards to possible ratings, which loses
        none: 1/3 for the mean of three people.

    Returns
    -------
    low, high : numpy.ndarray
        An interval that holds no possible rating has its low end above its high end.

    Examples
    --------
    >>> low, high = interval(Prediction(np.array([4.5]), np.array([4.5]), np.array([1.0])), 0.9, grid=1 / 3)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([3.67], [5.0])
    """
    low = np.maximum(prediction.low - size * prediction.unit, lowest)
    high = np.minimum(prediction.high + size * prediction.unit, highest)
    if grid:
        low = lowest + np.ceil((low - lowest) / grid - 1e-9) * grid
        high = lowest + np.floor((high - lowest) / grid + 1e-9) * grid
    return low, high


def calibrated(p, ratings, people, units, calibrate, alpha, method, rng, *, grid=1 / 3):
    """Intervals of all items, from the ratings of those that calibrate.

    Parameters
    ----------
    p : array_like
        Items by ratings, none of them unknown.
    ratings, people : array_like
    units : array_like
        The article of each item.
    calibrate : array_like of bool
        Items whose rating by people may be used.
    alpha : float
        Share of items that may be missed.
    method : str
        One of `METHODS`.
    rng : numpy.random.Generator
        Halves the articles of calibration where a method needs one half for its line.
    grid : float
        As for `interval`.

    Returns
    -------
    low, high : numpy.ndarray

    Examples
    --------
    >>> p = np.tile([0.0, 0.0, 1.0, 0.0, 0.0], (8, 1))
    >>> people = np.array([2.0, 3.0, 4.0, 3.0, 2.0, 3.0, 4.0, 3.0])
    >>> low, high = calibrated(p, [1, 2, 3, 4, 5], people, np.arange(8), np.arange(8) < 4, 0.2, "constant", None)
    >>> float(low[7]), float(high[7])
    (2.0, 4.0)
    """
    scale = {"lowest": min(ratings), "highest": max(ratings), "grid": grid}
    if method == "own":
        return interval(predictions(p, ratings, alpha)["quantiles"], 0.0, **scale)
    calibrate = np.asarray(calibrate, dtype=bool)
    if method in ("fitted", "no judge"):
        first = np.zeros(len(calibrate), dtype=bool)
        first[np.flatnonzero(calibrate)] = halves(np.asarray(units)[calibrate], rng)
        prediction = fitted(p, ratings, people, first, flat=method == "no judge")
        calibrate = calibrate & ~first
    else:
        prediction = predictions(p, ratings, alpha)[method]
    return interval(prediction, radius(off(prediction, people)[calibrate], alpha), **scale)


def covered(low, high, people):
    """Whether each interval holds people's rating.

    Parameters
    ----------
    low, high, people : array_like

    Returns
    -------
    numpy.ndarray of bool

    Examples
    --------
    >>> covered([1, 1], [2, 2], [2, 3]).tolist()
    [True, False]
    """
    people = np.asarray(people, dtype=float)
    return (np.asarray(low) <= people + 1e-9) & (people <= np.asarray(high) + 1e-9)


def halves(units, rng, share=0.5):
    """Choose the units of calibration: whole articles, since summaries of one article are not independent.

    Parameters
    ----------
    units : array_like
        The article of each item.
    rng : numpy.random.Generator
    share : float
        Of the articles.

    Returns
    -------
    numpy.ndarray of bool
        By item, whether it calibrates.

    Examples
    --------
    >>> chosen = halves(["a", "a", "b", "b"], np.random.default_rng(0))
    >>> bool(chosen[0] == chosen[1]), bool(chosen[2] == chosen[3]), int(chosen.sum())
    (True, True, 2)
    """
    names, codes = np.unique(np.asarray(units), return_inverse=True)
    chosen = np.zeros(len(names), dtype=bool)
    chosen[rng.permutation(len(names))[: round(share * len(names))]] = True
    return chosen[codes]


def apart(low, high, units):
    """The share of pairs of one unit whose intervals do not meet, so that one may be called better.

    Parameters
    ----------
    low, high : array_like
    units : array_like
        The article of each item; only its own summaries are compared.

    Returns
    -------
    float

    Examples
    --------
    >>> apart([1, 3, 2], [2, 4, 5], ["a", "a", "a"])
    0.3333333333333333
    """
    low, high, units = np.asarray(low), np.asarray(high), np.asarray(units)
    _, unit_of, sizes = np.unique(units, return_inverse=True, return_counts=True)
    in_order = np.argsort(unit_of, kind="stable")
    sizes_in_order = np.repeat(sizes, sizes)
    pairs = separate = 0
    for size in np.unique(sizes):  # units of one size are compared at once
        own = in_order[sizes_in_order == size].reshape(-1, size)
        beyond = low[own][:, :, None] > high[own][:, None, :] + 1e-9
        pairs += len(own) * int(size * (size - 1) // 2)
        separate += int(np.count_nonzero(beyond))
    return float(separate / pairs) if pairs else math.nan
