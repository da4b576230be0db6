"""Pairwise accuracy with calibrated ties, and its soft version at system level.

The accuracy acc_eq and the calibration of its threshold, one for all groups, are those of "Ties
Matter" (Deutsch, Foster and Freitag 2023, arXiv 2305.14324); SPA compares p-values instead of
signs (Thompson, Mathur, Deutsch and Khayrallah 2024, arXiv 2409.09598). Scores that differ by
rounding alone count as equal.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.checks import check_whole
from nlgjudge.stats.correlations import (
    LEVELS,
    Level,
    check_options,
    matrices,
    number_of_units,
    system_means,
    units_with_scores,
)

# Differences below this share of the largest score are rounding.
_ROUNDING = 1e-10


class PairwiseAccuracy(NamedTuple):
    """Share of pairs that a metric orders, or ties, as humans do.

    Attributes
    ----------
    value
        In [0, 1], or NaN (then `reason` says why).
    n, n_skipped
        Units in the value, and left out: documents with two items that have both scores at sample
        level, items at dataset level, systems at system level. Of a soft accuracy, pairs of systems in
        it, and those that share no document.
    epsilon
        Pairs whose metric scores differ by at most this much are tied.
    human_ties, metric_ties
        Shares of pairs that are tied, weighted as in `value`; the metric's at `epsilon`. A metric that
        ties all pairs has an accuracy of `human_ties`.
    """

    value: float
    n: int
    n_skipped: int
    n_pairs: int
    epsilon: float
    human_ties: float
    metric_ties: float
    reason: str = ""


def pairwise_accuracy(
    frame: pd.DataFrame,
    metric: str,
    human: str,
    *,
    level: Level = "sample",
    epsilon: float | None = None,
    soft: bool = False,
    seed: int = 0,
    resamples: int = 1000,
) -> PairwiseAccuracy:
    """Accuracy of a metric over pairs, ties included (acc_eq), or its soft version (SPA).

    Parameters
    ----------
    frame, metric, human
        As for `nlgjudge.correlation`.
    level
        Mean over documents of the accuracy within each; pairs of all items (memory grows
        with their square); pairs of the systems' means.
    epsilon
        Threshold of the metric's ties; by default calibrated: the smallest observed difference, or 0,
        with the highest accuracy.
    soft
        At system level, one minus the mean difference of the metric's and humans' p-values that a
        system is better, about 0.5 for a metric that ties all systems. The one-sided paired permutation
        test flips the signs of the differences by document, alike for all pairs, metric and humans.
        Both directions of a pair count, so that the order of the systems does not matter where sums
        tie; without ties that is the published mean over unordered pairs.
    seed, resamples
        Of the sign flips; p-values are (c + 1) / (resamples + 1).

    Raises
    ------
    ValueError
        For a negative or infinite epsilon, fewer than one resample, and as `nlgjudge.correlation` does.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "doc_id": ["d1"] * 4 + ["d2"] * 4, "system_id": ["w", "x", "y", "z"] * 2,
    ...     "human": [1, 2, 3, 4, 2, 1, 4, 3], "a": [1, 2, 4, 3, 2, 1, 4, 3], "b": [2, 1, 4, 3, 1, 3, 2, 4]})
    >>> found = pairwise_accuracy(frame, "a", "human")
    >>> round(found.value, 3), found.n_pairs, float(found.epsilon)
    (0.917, 12, 0.0)
    >>> found = pairwise_accuracy(frame, "a", "human", level="system", soft=True, resamples=99)
    >>> round(found.value, 2), found.n
    (0.95, 6)
    """
    check_options(level=(level, ("system",) if soft else LEVELS))
    if soft:
        return _soft_accuracy(frame, metric, human, seed, resamples)
    if epsilon is not None and not 0 <= epsilon < np.inf:
        raise ValueError(f"epsilon={epsilon}: expected None (calibrated) or a number from 0")
    x, y = matrices(frame, [metric], human)
    if level == "system":
        x, y = system_means(x)[None], system_means(y)[None]
    elif level == "dataset":
        x, y = x[~np.isnan(x)][None], y[~np.isnan(y)][None]
    steps, orders, weights, groups = _pairs(x, y)
    n = groups if level == "sample" else int((~np.isnan(x)).sum())
    skipped = number_of_units(frame, level) - n
    if not groups:
        return _undefined(n, skipped, "no pair of items has both scores")
    slack = _ROUNDING * np.nanmax(np.abs(x))
    if epsilon is None:
        epsilon = _calibrated(steps, orders, weights, slack)
    tied = np.abs(steps) <= epsilon + slack
    right = np.where(tied, orders == 0, steps * np.sign(orders) > 0)
    value = _share(weights[right])
    human_ties = _share(weights[orders == 0])
    metric_ties = _share(weights[tied])
    return PairwiseAccuracy(value, n, skipped, len(steps), float(epsilon), human_ties, metric_ties)


def _soft_accuracy(frame, metric, human, seed, resamples):
    """One minus the mean difference of the p-values of metric and humans, over pairs of systems."""
    check_whole(1, resamples=resamples)
    check_whole(0, seed=seed)
    x, y = matrices(frame, [metric], human)
    rated = units_with_scores(y, "sample")
    x, y = x[rated], y[rated]
    first, second = np.triu_indices(x.shape[1], 1)
    shared = ~np.isnan(x[:, first] - x[:, second]).all(axis=0)
    n = int(shared.sum())
    skipped = shared.size - n
    if not n:
        return _undefined(n, skipped, "no two systems share a document with both scores")
    first = first[shared]
    second = second[shared]
    rng = np.random.default_rng(seed)
    signs = 2.0 * rng.integers(2, size=(resamples, len(x))) - 1
    of_metric = np.array(_p_values(x, first, second, signs))
    of_humans = np.array(_p_values(y, first, second, signs))
    value = float(1 - np.abs(of_metric - of_humans).mean())
    return PairwiseAccuracy(value, n, skipped, n, np.nan, np.nan, np.nan)


def _undefined(n, skipped, reason):
    return PairwiseAccuracy(np.nan, n, skipped, 0, np.nan, np.nan, np.nan, reason)


def _share(weights):
    """Sum of weights, without what rounding adds beyond 1."""
    return float(min(1, weights.sum()))


def _pairs(x, y):
    """Differences of metric and humans and the weight of each pair; number of groups with a pair."""
    first, second = np.triu_indices(x.shape[1], 1)
    steps = _differences(x, first, second)
    orders = _differences(y, first, second)
    present = ~np.isnan(steps)
    counts = present.sum(axis=1, keepdims=True)
    groups = int((counts > 0).sum())
    weights = present / np.maximum(counts, 1) / max(groups, 1)
    return steps[present], orders[present], weights[present], groups


def _differences(scores, first, second):
    """Differences of the pairs within each group, rounding set to 0; shape (n_groups, n_pairs)."""
    differences = scores[:, first] - scores[:, second]
    size = np.nanmax(np.abs(scores), initial=0)
    differences[np.abs(differences) <= _ROUNDING * size] = 0
    return differences


def _calibrated(steps, orders, weights, slack):
    """Smallest threshold, 0 or an observed difference, with the highest accuracy.

    Pairs are sorted by the metric's difference: those up to a threshold are right where
    humans tie, those above it where the signs agree.
    """
    order = np.argsort(np.abs(steps))
    sizes = np.abs(steps)[order]
    right_as_tie = orders == 0
    right_as_it_is = steps * np.sign(orders) > 0
    gains = weights * (right_as_tie - 1.0 * right_as_it_is)  # of tying the pair
    accuracies = np.concatenate([[0], np.cumsum(gains[order])])
    # Pairs that only rounding separates stay together; all those of difference 0 come first.
    last_of_size = np.diff(sizes, append=np.inf) > slack
    cuts = np.concatenate([[0], np.flatnonzero(last_of_size) + 1])
    good_enough = accuracies[cuts] >= accuracies[cuts].max() - 1e-9
    best = cuts[np.argmax(good_enough)]  # the first of equals
    return sizes[best - 1] if best else 0.0


def _p_values(scores, first, second, signs):
    """P-values that the first system of each pair is better, and that the second is."""
    steps = np.nan_to_num(scores[:, first] - scores[:, second])
    observed = steps.sum(axis=0)
    flipped = signs @ steps
    slack = _ROUNDING * np.abs(steps).sum(axis=0)
    at_least = (flipped >= observed - slack).sum(axis=0)
    at_most = (-flipped >= -observed - slack).sum(axis=0)
    return (1 + at_least) / (1 + len(signs)), (1 + at_most) / (1 + len(signs))
