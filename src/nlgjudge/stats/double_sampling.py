"""Estimates from a judge's scores of N documents and labels for n of them; `few_labels` words them.

Systems' means are regression estimates of double sampling (Cochran 1977, chapter 12), with one correlation
pooled over systems in the weight. Standard errors are of the jackknife: each labelled document is left out.
Pairs of systems are decided by Holm's procedure or by step-down sign flips (Romano and Wolf 2005). Formulas:
`notebooks/beyond_few_labels_validity.ipynb`.

Arrays of labels and scores have the shape (..., documents, systems), where draws may come first.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from nlgjudge.stats.correlations import Coefficient, Level, group_correlations

# The fewest for which each part was verified.
USABLE = 8  # documents with a correlation
DIFFERING = 5  # labelled documents on which two systems differ
FLIPS_FROM = 20  # labelled documents; with fewer, Holm's procedure decides pairs
NEAR_ONE = 0.97  # no interval of a correlation is verified beyond


class Estimates(NamedTuple):
    """Regression estimates of the systems' means.

    Attributes
    ----------
    means
        Shape (..., systems).
    pseudo_values
        Of the means, shape (..., n, systems).
    labels
        Shape (..., n, systems).
    helped
        Systems whose labels vary enough for the judge to help, shape (..., systems).
    total
        N, the documents with scores.
    """

    means: np.ndarray
    pseudo_values: np.ndarray
    labels: np.ndarray
    helped: np.ndarray
    total: int


def jackknife(statistic: Callable, *arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A statistic (..., k) of n documents, and its pseudo-values n t - (n - 1) t_i, with shape (..., n, k).

    t_i is the statistic without document i (Tukey 1958).
    """
    n = arrays[0].shape[-2]
    whole = statistic(*arrays)
    left_out = [statistic(*(np.delete(array, i, axis=-2) for array in arrays)) for i in range(n)]
    return whole, n * whole[..., None, :] - (n - 1) * np.stack(left_out, axis=-2)


def ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, and 0 where b is 0."""
    zeros = np.zeros(np.broadcast_shapes(a.shape, b.shape))
    return np.divide(a, b, out=zeros, where=b > 1e-9)


def regression_estimate(labels, scores, score_means, score_deviations):
    """The systems' means with the judge's help; last, rho, their correlation pooled over systems.

    mean(Y) + lambda (mean_N(F) - mean_n(F)), with lambda = rho sd_n(Y) / sd_N(F) for labels Y and scores F.
    """
    n = labels.shape[-2]
    label_means = labels.mean(axis=-2)
    means_here = scores.mean(axis=-2)
    products = (labels - label_means[..., None, :]) * (scores - means_here[..., None, :])
    covariances = products.sum(axis=-2) / (n - 1)
    label_deviations = labels.std(axis=-2, ddof=1)
    correlations = ratio(ratio(covariances, label_deviations), score_deviations)
    rho = correlations.mean(axis=-1, keepdims=True).clip(0, 1)
    weights = ratio(rho * label_deviations, score_deviations)
    return np.concatenate([label_means + weights * (score_means - means_here), rho], axis=-1)


def regression_estimates(
    labels: np.ndarray,
    scores: np.ndarray,
    score_means: np.ndarray,
    score_deviations: np.ndarray,
    total: int,
) -> tuple[Estimates, tuple[np.ndarray, np.ndarray]]:
    """Estimate the systems' means from n documents and the mean and deviation of all N scores.

    Returns
    -------
    Estimates
    tuple
        Rho and its pseudo-values.
    """

    def statistic(labels, scores):
        return regression_estimate(labels, scores, score_means, score_deviations)

    whole, pseudo_values = jackknife(statistic, labels, scores)
    n = labels.shape[-2]
    at_one_value = scipy.stats.mode(labels, axis=-2).count
    helped = n - at_one_value >= max(DIFFERING, np.sqrt(n))
    estimates = Estimates(whole[..., :-1], pseudo_values[..., :-1], labels, helped, total)
    return estimates, (whole[..., -1], pseudo_values[..., -1])


def variance_of_mean(pseudo_values: np.ndarray, labels: np.ndarray, total: int) -> np.ndarray:
    """Variance of an estimate from n of N documents: (1/n - 1/N) var(pseudo-values) + var(Y) / N."""
    share = 1 / labels.shape[-2] - 1 / total
    return share * pseudo_values.var(axis=-2, ddof=1) + labels.var(axis=-2, ddof=1) / total


def t_interval(value, pseudo_values: np.ndarray, alpha: float) -> np.ndarray:
    """Value, low and high end; where the value is NaN, of the mean of the defined pseudo-values."""
    n = np.isfinite(pseudo_values).sum(axis=-1)
    middle = np.where(np.isnan(value), np.nanmean(pseudo_values, axis=-1), value)
    error = np.nanstd(pseudo_values, axis=-1, ddof=1) / np.sqrt(n)
    half = scipy.stats.t.isf(alpha / 2, n - 1) * error
    return np.array([middle, middle - half, middle + half])


def betting_interval(values: np.ndarray, scale: tuple[float, float], alpha: float) -> np.ndarray:
    """Ends of an interval for a bounded mean: hedged capital (Waudby-Smith and Ramdas 2024, section 4.4)."""
    x = (values - scale[0]) / (scale[1] - scale[0])
    means = np.linspace(0, 1, 1001)
    steps = np.arange(2, len(x) + 2)
    running_mean = (0.5 + np.cumsum(x)) / steps
    running_variance = (0.25 + np.cumsum((x - running_mean) ** 2)) / steps
    before = np.append(0.25, running_variance[:-1])
    bets = np.sqrt(2 * np.log(2 / alpha) / len(x) / before)[:, None]
    gain = x[:, None] - means
    # The capital of bets that the mean is higher, and that it is lower, on a log scale.
    higher = np.log1p(np.minimum(bets, 0.5 / means.clip(1e-9)) * gain).cumsum(axis=0)
    lower = np.log1p(-np.minimum(bets, 0.5 / (1 - means).clip(1e-9)) * gain).cumsum(axis=0)
    never_won = (np.maximum(higher, lower) < np.log(2 / alpha)).all(axis=0)
    plausible = means[never_won]
    ends = np.clip([plausible.min() - means[1], plausible.max() + means[1]], 0, 1)
    return scale[0] + (scale[1] - scale[0]) * ends


def compare_pairs(
    estimates: Estimates, signs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compare each pair of systems, by their estimates where the judge helps both, else by the labels.

    Parameters
    ----------
    signs
        1 or -1, shape (flips, n): documents whose differences change sign. Used from 20 documents on.

    Returns
    -------
    difference, p, decidable : numpy.ndarray
        Shape (..., pairs). p is corrected for all pairs, and 1 where a pair cannot be decided.
    """
    means, pseudo_values, labels, helped, total = estimates
    n = labels.shape[-2]
    first, second = np.triu_indices(labels.shape[-1], 1)
    both_helped = helped[..., first] & helped[..., second]
    of_labels = labels[..., first] - labels[..., second]
    of_estimates = pseudo_values[..., first] - pseudo_values[..., second]
    pseudo_values = np.where(both_helped[..., None, :], of_estimates, of_labels)
    of_means = means[..., first] - means[..., second]
    difference = np.where(both_helped, of_means, of_labels.mean(axis=-2))
    variances = variance_of_mean(pseudo_values, of_labels, total)
    differing = (np.abs(of_labels) > 1e-9).sum(axis=-2)
    decidable = (differing >= DIFFERING) & (variances > 1e-12)
    t = np.where(decidable, np.abs(difference) / np.sqrt(variances.clip(1e-300)), 0)
    undecided_at_0 = pseudo_values * decidable[..., None, :]
    p = holm_of_t(t, n - 1) if n < FLIPS_FROM else step_down(t, undecided_at_0, signs)
    return difference, np.where(decidable, p, 1), decidable


def holm_of_t(t: np.ndarray, freedom: float) -> np.ndarray:
    """Two-sided p of each |t|, times the number of those that are not larger (Holm 1979)."""
    order = np.argsort(-t, axis=-1, kind="stable")
    p = 2 * scipy.stats.t.sf(np.take_along_axis(t, order, -1), freedom)
    return _in_steps(p * np.arange(t.shape[-1], 0, -1), order)


def step_down(t: np.ndarray, pseudo_values: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """p of each |t|: the share of sign flips in which the highest of those left is as high."""
    n = pseudo_values.shape[-2]
    order = np.argsort(-t, axis=-1, kind="stable")
    pseudo_values = np.take_along_axis(pseudo_values, order[..., None, :], -1)
    means = signs @ pseudo_values / n
    squares = (pseudo_values**2).mean(axis=-2, keepdims=True)
    variances = (squares - means**2).clip(1e-12) / (n - 1)
    flipped = np.abs(means) / np.sqrt(variances)
    highest = np.maximum.accumulate(flipped[..., ::-1], axis=-1)[..., ::-1]
    reached = highest >= np.take_along_axis(t, order, -1)[..., None, :] - 1e-9
    return _in_steps((1 + reached.sum(axis=-2)) / (1 + len(signs)), order)


def _in_steps(p, order):
    """Each p at least that of the step before, in the pairs' own order."""
    p = np.maximum.accumulate(p, axis=-1).clip(0, 1)
    return np.take_along_axis(p, np.argsort(order, axis=-1), -1)


def cost_of_winner(
    estimates: Estimates, score_means: np.ndarray, span: float, alpha: float
) -> np.ndarray:
    """Upper bound of what the judge's winner lacks, as the best system is one of the others.

    The highest of the other systems' one-sided bounds, which needs no correction for their number.
    `span` is the length of the labels' scale.
    """
    means, pseudo_values, labels, helped, total = estimates
    n = labels.shape[-2]
    winner = score_means.argmax(axis=-1, keepdims=True)
    both_helped = helped & np.take_along_axis(helped, winner, -1)
    of_estimates = pseudo_values - np.take_along_axis(pseudo_values, winner[..., None, :], -1)
    of_labels = labels - np.take_along_axis(labels, winner[..., None, :], -1)
    of_means = means - np.take_along_axis(means, winner, -1)
    lead = np.where(both_helped, of_means, of_labels.mean(axis=-2))
    leads = np.where(both_helped[..., None, :], of_estimates, of_labels)
    error = np.sqrt(variance_of_mean(leads, of_labels, total))
    differing = (np.abs(of_labels) > 1e-9).sum(axis=-2)
    t_bound = lead + scipy.stats.t.isf(alpha, n - 1) * error
    few_differ = differing < max(DIFFERING, np.sqrt(n))
    bounds = np.where(few_differ, _exact_bound(of_labels, span, alpha), t_bound)
    np.put_along_axis(bounds, winner, 0, -1)
    return bounds.max(axis=-1).clip(0, span)


def _exact_bound(differences, span, alpha):
    """Upper bound of a mean difference: on the documents that have one it is the whole scale at most.

    The share of those documents is bounded by Clopper and Pearson (1934).
    """
    n = differences.shape[-2]
    better = (differences > 1e-9).sum(axis=-2)
    share = scipy.stats.beta.isf(alpha, better + 1, (n - better).clip(1))
    return span * np.where(better < n, share, 1)


def system_correlation(labels: np.ndarray, score_means: np.ndarray) -> np.ndarray:
    """Pearson's r of the judge's means, which are known, and the labels' means, less the noise of these.

    sum(x y) / sqrt(sum(x^2) (sum(y^2) - sum(var(Y)) / n)), with all means centred.
    """
    centred = labels - labels.mean(axis=-1, keepdims=True)
    x = score_means - score_means.mean(axis=-1, keepdims=True)
    y = centred.mean(axis=-2)
    noise = centred.var(axis=-2, ddof=1).sum(axis=-1) / labels.shape[-2]
    sum_x = (x**2).sum(axis=-1)
    sum_y = ((y**2).sum(axis=-1) - noise).clip(1e-9)
    return (x * y).sum(axis=-1) / np.sqrt(np.where(sum_x > 1e-12, sum_x, np.nan) * sum_y)


def correlation_estimate(
    labels: np.ndarray,
    scores: np.ndarray,
    score_means: np.ndarray,
    level: Level,
    coefficient: Coefficient,
) -> tuple[np.ndarray | float, np.ndarray]:
    """A correlation on Fisher's z scale and its pseudo-values; at sample level NaN and the documents' own."""
    if level == "sample":
        return np.nan, group_correlations(labels, scores, level, coefficient)

    def fisher_z(labels, scores):
        if level == "system":
            r = system_correlation(labels, score_means)[..., None]
        else:
            r = group_correlations(labels, scores, level, coefficient)
        return np.arctanh(r.clip(-0.9999, 0.9999))

    whole, pseudo_values = jackknife(fisher_z, labels, scores)
    z = whole[..., 0]
    pseudo_values = pseudo_values[..., 0]
    undefined = pseudo_values.shape[-1] * z[..., None]  # without such a document, z counts as 0
    return z, np.where(np.isnan(pseudo_values), undefined, pseudo_values)


def correlation_interval(
    value, pseudo_values: np.ndarray, level: Level, alpha: float
) -> tuple[tuple, np.ndarray]:
    """Value, low and high end of `correlation_estimate`'s result; and whether such an interval holds."""
    usable = np.isfinite(pseudo_values).sum(axis=-1) >= USABLE
    varied = np.nanstd(pseudo_values, axis=-1) >= 1e-9
    holds = usable & varied
    if level != "sample":
        holds = holds & (np.abs(value) < np.arctanh(NEAR_ONE))
    middle, low, high = t_interval(value, pseudo_values, alpha)
    if level != "sample":
        middle, low, high = np.tanh([middle, low, high])
        low = np.where(low <= -NEAR_ONE, -1, low)
        high = np.where(high >= NEAR_ONE, 1, high)
    return (middle, low.clip(-1, 1), high.clip(-1, 1)), holds
