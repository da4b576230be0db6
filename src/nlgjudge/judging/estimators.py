"""Estimators: which number a judge's distribution over ratings gives.

A distribution is a row of probabilities, one for each rating of the scale. G-Eval's equation 1 is `expected`; Wang et
al. 2025 (arXiv 2503.03064) compare it with others. Each estimator takes distributions (items by ratings) and the
ratings, which ascend, and gives a score for each item. A row without any rating is NaN throughout, and so is its score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from nlgjudge.data.checks import check_known

# Two ratings are tied where their probabilities differ by no more: above what rounding adds, below what a reply shows.
_TIED = 1e-9
# Decimals of an expected rating: what is equal but for the rounding of its sum is a tie.
DECIMALS = 12


def from_logprobs(logarithms: ArrayLike) -> np.ndarray:
    """Turn log-probabilities of the ratings into distributions.

    Parameters
    ----------
    logarithms
        Items by ratings; NaN or minus infinity where a rating has none. They need not add up to 1.

    Returns
    -------
    numpy.ndarray
        Rows add to 1, however small the probabilities are.

    Examples
    --------
    >>> from_logprobs([[-2000.0, -2000.0, math.nan]]).tolist()
    [[0.5, 0.5, 0.0]]
    """
    logs = np.array(logarithms, dtype=float)
    logs[np.isnan(logs)] = -math.inf
    largest = logs.max(axis=-1, keepdims=True)
    p = np.exp(logs - np.where(np.isfinite(largest), largest, 0.0))
    total = p.sum(axis=-1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), math.nan)


def expected(p: ArrayLike, ratings: ArrayLike) -> np.ndarray:
    """The mean of the distribution (G-Eval, equation 1), to twelve decimals, so that equal means are ties.

    Examples
    --------
    >>> expected([[0.5, 0.25, 0.25]], [1, 2, 3]).tolist()
    [1.75]
    """
    return np.round(np.asarray(p, dtype=float) @ np.asarray(ratings, dtype=float), DECIMALS)


def mode(p: ArrayLike, ratings: ArrayLike) -> np.ndarray:
    """The likeliest rating; of several, their mean, as an ablation's estimator `mode` takes it.

    Examples
    --------
    >>> mode([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]], [1, 2, 3]).tolist()
    [2.0, 2.0]
    """
    p = np.asarray(p, dtype=float)
    is_likeliest = p >= p.max(axis=-1, keepdims=True) - _TIED
    weights = np.where(np.isnan(p), math.nan, is_likeliest)
    return weights @ np.asarray(ratings, dtype=float) / weights.sum(axis=-1)


def median(p: ArrayLike, ratings: ArrayLike) -> np.ndarray:
    """The rating that splits the distribution into halves; between two of them, their mean.

    Examples
    --------
    >>> median([[0.2, 0.5, 0.3], [0.5, 0.1, 0.4]], [1, 2, 3]).tolist()
    [2.0, 1.5]
    """
    p = np.asarray(p, dtype=float)
    ratings = np.asarray(ratings, dtype=float)
    below = np.cumsum(p, axis=-1)
    low = np.argmax(below >= 0.5 - _TIED, axis=-1)
    high = np.argmax(below > 0.5 + _TIED, axis=-1)
    return np.where(np.isnan(below[..., -1]), math.nan, (ratings[low] + ratings[high]) / 2)


def risk_averse(p: ArrayLike, ratings: ArrayLike) -> np.ndarray:
    """The mean, less its lower semi-deviation.

    This is the root of the mean square of what lies below the mean, where a rating above it counts as 0.

    Examples
    --------
    >>> risk_averse([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]], [1, 2, 3]).round(2).tolist()
    [1.29, 2.0]
    """
    p = np.asarray(p, dtype=float)
    centre = expected(p, ratings)
    below = np.maximum(centre[..., None] - np.asarray(ratings, dtype=float), 0.0)
    return centre - np.sqrt((p * below**2).sum(axis=-1))


def spread(p: ArrayLike, ratings: ArrayLike) -> np.ndarray:
    """The standard deviation of the distribution.

    Examples
    --------
    >>> spread([[0.5, 0.0, 0.5]], [1, 2, 3]).tolist()
    [1.0]
    """
    away = np.asarray(ratings, dtype=float) - expected(p, ratings)[..., None]
    return np.sqrt((np.asarray(p, dtype=float) * away**2).sum(axis=-1))


def drawn(p: ArrayLike, ratings: ArrayLike, samples: int, rng: np.random.Generator) -> np.ndarray:
    """The mean of `samples` ratings drawn from the distribution, as of a judge that is asked `samples` times.

    Examples
    --------
    >>> drawn([[0.0, 1.0, 0.0]], [1, 2, 3], 5, np.random.default_rng(0)).tolist()
    [2.0]
    """
    p = np.asarray(p, dtype=float)
    known = np.isfinite(p).all(axis=-1)
    counts = rng.multinomial(samples, np.where(known[..., None], p, 1 / p.shape[-1]))
    return np.where(known, counts @ np.asarray(ratings, dtype=float) / samples, math.nan)


def tempered(p: ArrayLike, temperature: float) -> np.ndarray:
    """Raise or lower the temperature of a distribution afterwards.

    1 changes nothing; near 0 the likeliest rating has all the probability; a high one flattens it. 0 is refused: its
    limit is the `mode`.

    Examples
    --------
    >>> tempered([[0.8, 0.2, 0.0]], 0.5).round(3).tolist()
    [[0.941, 0.059, 0.0]]
    """
    if not temperature > 0:
        raise ValueError(
            f"temperature={temperature!r}: expected a number above 0; at 0 take the mode"
        )
    with np.errstate(divide="ignore"):
        return from_logprobs(np.log(np.asarray(p, dtype=float)) / temperature)


def pooled(distributions: Sequence[ArrayLike]) -> np.ndarray:
    """Average distributions of the same items: an ensemble of prompts, or a panel of judges.

    NaN is left out of an item's average, which is NaN where all are.

    Examples
    --------
    >>> pooled([[[1.0, 0.0]], [[0.5, 0.5]]]).tolist()
    [[0.75, 0.25]]
    """
    stacked = np.stack([np.asarray(p, dtype=float) for p in distributions])
    known = np.isfinite(stacked)
    count = known.sum(axis=0)
    return np.where(
        count > 0, np.where(known, stacked, 0.0).sum(axis=0) / np.maximum(count, 1), math.nan
    )


# Estimators that need a distribution and nothing else, by the names under which a live judge takes them.
ESTIMATORS = {"expected": expected, "mode": mode, "median": median, "risk_averse": risk_averse}


def get_estimator(name: str) -> Callable:
    """An estimator by its name; a ValueError for an unknown one."""
    check_known("estimator", name, ESTIMATORS)
    return ESTIMATORS[name]
