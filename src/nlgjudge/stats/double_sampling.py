"""What a judge's scores of N documents and labels for n of them show; `few_labels` words it.

Regression estimates of double sampling (Cochran 1977, chapter 12) with one weight pooled over systems, intervals by
leaving out each labelled document, pairs by Holm's procedure or step-down sign flips (Romano and Wolf 2005). Formulas:
`notebooks/beyond_few_labels_validity.ipynb`. Arrays end in documents x systems; draws may come before.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from nlgjudge.stats.correlations import by_group
from nlgjudge.stats.intervals import large_part

USABLE, DIFFERING, SYSTEMS = 8, 5, 10  # the fewest for which each part was verified
NEAR_ONE = 0.97  # no interval is verified beyond


class Estimates(NamedTuple):
    """The systems' means and each labelled document's part in them, the labels, whom the judge helps, and N."""

    means: np.ndarray
    parts: np.ndarray
    labels: np.ndarray
    helped: np.ndarray
    total: int


def leaving_out(statistic, *arrays):
    """A statistic (..., k) of n documents, and n times it minus n - 1 times it without each (..., n, k)."""
    n, whole = arrays[0].shape[-2], statistic(*arrays)
    left = [statistic(*(np.delete(one, i, axis=-2) for one in arrays)) for i in range(n)]
    return whole, n * whole[..., None, :] - (n - 1) * np.stack(left, axis=-2)


def ratio(a, b):
    """a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 1e-9)


def assisted(labels, scores, mean, sd):
    """Each system's mean with the judge's help; last, the correlation across documents, pooled."""
    of_labels, of_scores = labels.mean(axis=-2), scores.mean(axis=-2)
    products = (labels - of_labels[..., None, :]) * (scores - of_scores[..., None, :])
    covariance = products.sum(axis=-2) / (labels.shape[-2] - 1)
    deviation = labels.std(axis=-2, ddof=1)
    rho = ratio(ratio(covariance, deviation), sd).mean(axis=-1, keepdims=True).clip(0, 1)
    weight = ratio(rho * deviation, sd)
    return np.concatenate([of_labels + weight * (mean - of_scores), rho], axis=-1)


def estimated(labels, scores, mean, sd, total):
    """Estimates from n documents and the mean and deviation of all N scores; rho and each document's part in it."""
    whole, parts = leaving_out(lambda *two: assisted(*two, mean, sd), labels, scores)
    n, frequent = labels.shape[-2], scipy.stats.mode(labels, axis=-2).count
    helped = n - frequent >= max(DIFFERING, np.sqrt(n))
    estimates = Estimates(whole[..., :-1], parts[..., :-1], labels, helped, total)
    return estimates, (whole[..., -1], parts[..., -1])


def variance(parts, labels, total):
    """Of the mean of parts from n documents, where the judge knows all N."""
    share = 1 / labels.shape[-2] - 1 / total
    return share * parts.var(axis=-2, ddof=1) + labels.var(axis=-2, ddof=1) / total


def interval(whole, parts, alpha):
    """Value, low and high end; without a whole value, of the mean of the parts that are defined."""
    n = np.isfinite(parts).sum(axis=-1)
    value = np.where(np.isnan(whole), np.nanmean(parts, axis=-1), whole)
    half = scipy.stats.t.isf(alpha / 2, n - 1) * np.nanstd(parts, axis=-1, ddof=1) / np.sqrt(n)
    return np.array([value, value - half, value + half])


def means_of_systems(estimates, names, scale, alpha, refused):
    means, parts, labels, helped, total = estimates
    half = scipy.stats.t.isf(alpha / 2, len(labels) - 1) * np.sqrt(variance(parts, labels, total))
    columns = {"system_id": names, "value": means, "ci_low": means - half, "ci_high": means + half}
    table = pd.DataFrame(columns | {"labels_alone": labels.mean(axis=0), "judge": helped})
    for i in np.flatnonzero(~helped):
        ends = _betting(labels[:, i], scale, alpha)
        table.loc[i, ["value", "ci_low", "ci_high"]] = [labels[:, i].mean(), *ends]
    if not helped.all():
        refused.append(
            f"{(~helped).sum()} of {len(names)} systems have nearly all labels at one value, so that "
            "a judge cannot help and a t interval would be too short: a betting interval from the "
            "labels alone is given. It is wide, but chosen after a look at the labels: if they are "
            "at one value by chance, it is wrong. Label more documents, or use a finer scale."
        )
    return table


def _betting(values, scale, alpha):
    """Interval for a bounded mean: hedged capital (Waudby-Smith and Ramdas 2024, section 4.4)."""
    x, m = (values - scale[0]) / (scale[1] - scale[0]), np.linspace(0, 1, 1001)
    steps = np.arange(2, len(x) + 2)
    running = (0.5 + np.cumsum(x)) / steps
    variance = (0.25 + np.cumsum((x - running) ** 2)) / steps
    before = np.append(0.25, variance[:-1])
    bets = np.sqrt(2 * np.log(2 / alpha) / len(x) / before)[:, None]
    gain = x[:, None] - m
    up = np.log1p(np.minimum(bets, 0.5 / m.clip(1e-9)) * gain).cumsum(axis=0)
    down = np.log1p(-np.minimum(bets, 0.5 / (1 - m).clip(1e-9)) * gain).cumsum(axis=0)
    held = m[(np.maximum(up, down) < np.log(2 / alpha)).all(axis=0)]
    ends = np.clip([held.min() - m[1], held.max() + m[1]], 0, 1)
    return scale[0] + (scale[1] - scale[0]) * ends


def compared(estimates, signs):
    """Of each pair of systems: the difference, p corrected for all by `signs` (flips, n), whether decidable."""
    means, parts, labels, helped, total = estimates
    n, (s, t) = labels.shape[-2], np.triu_indices(labels.shape[-1], 1)
    both, apart = helped[..., s] & helped[..., t], labels[..., s] - labels[..., t]
    parts = np.where(both[..., None, :], parts[..., s] - parts[..., t], apart)
    difference = np.where(both, means[..., s] - means[..., t], apart.mean(axis=-2))
    square = variance(parts, apart, total)
    usable = ((np.abs(apart) > 1e-9).sum(axis=-2) >= DIFFERING) & (square > 1e-12)
    size = np.where(usable, np.abs(difference) / np.sqrt(square.clip(1e-300)), 0)
    p = holm(size, n - 1) if n < 20 else stepdown(size, parts * usable[..., None, :], signs)
    return difference, np.where(usable, p, 1), usable


def holm(t, freedom):
    """p of each |t|, times the number of those left."""
    order = np.argsort(-t, axis=-1, kind="stable")
    one = 2 * scipy.stats.t.sf(np.take_along_axis(t, order, -1), freedom)
    return _in_steps(one * np.arange(t.shape[-1], 0, -1), order)


def stepdown(t, parts, signs):
    """p of each |t|: the share of sign flips in which the highest of those left is as high."""
    n, order = parts.shape[-2], np.argsort(-t, axis=-1, kind="stable")
    parts = np.take_along_axis(parts, order[..., None, :], -1)
    flipped = signs @ parts / n
    square = ((parts**2).mean(axis=-2, keepdims=True) - flipped**2).clip(1e-12) / (n - 1)
    flipped = np.abs(flipped) / np.sqrt(square)
    highest = np.maximum.accumulate(flipped[..., ::-1], axis=-1)[..., ::-1]
    reached = highest >= np.take_along_axis(t, order, -1)[..., None, :] - 1e-9
    return _in_steps((1 + reached.sum(axis=-2)) / (1 + len(signs)), order)


def _in_steps(p, order):
    """Each p at least that of the step before, in the pairs' own order."""
    p = np.maximum.accumulate(p, axis=-1).clip(0, 1)
    return np.take_along_axis(p, np.argsort(order, axis=-1), -1)


def pairs_of_systems(estimates, mean, names, signs, alpha, refused):
    difference, p, usable = compared(estimates, signs)
    if not usable.all():
        refused.append(
            f"{(~usable).sum()} of {len(p)} pairs of systems differ on fewer than {DIFFERING} "
            "labelled documents and stay undecided. Label more documents."
        )
    names, (first, second) = np.array(names, dtype=object), np.triu_indices(len(names), 1)
    table = pd.DataFrame({"better": np.where(difference >= 0, names[first], names[second])})
    table["worse"] = np.where(difference >= 0, names[second], names[first])
    table["difference"], table["p"], table["decided"] = np.abs(difference), p, p <= alpha
    table["judge_agrees"] = (mean[first] - mean[second]) * np.sign(difference) > 1e-9
    return table.sort_values("p", kind="stable", ignore_index=True)


def cost_of_winner(estimates, mean, span, alpha):
    """Upper bound of what the judge's winner lacks: the best system is one of the others."""
    means, parts, labels, helped, total = estimates
    n, w = labels.shape[-2], mean.argmax(axis=-1, keepdims=True)
    helped = helped & np.take_along_axis(helped, w, -1)
    parts, apart = (one - np.take_along_axis(one, w[..., None, :], -1) for one in (parts, labels))
    ahead = np.where(helped, means - np.take_along_axis(means, w, -1), apart.mean(axis=-2))
    error = np.sqrt(variance(np.where(helped[..., None, :], parts, apart), apart, total))
    better = (apart > 1e-9).sum(axis=-2)
    # Few differences: a document adds the whole scale at most (Clopper and Pearson 1934).
    share = scipy.stats.beta.isf(alpha, better + 1, (n - better).clip(1))
    exact = span * np.where(better < n, share, 1)
    enough = (np.abs(apart) > 1e-9).sum(axis=-2) >= max(DIFFERING, np.sqrt(n))
    bounds = np.where(enough, ahead + scipy.stats.t.isf(alpha, n - 1) * error, exact)
    np.put_along_axis(bounds, w, 0, -1)
    return bounds.max(axis=-1).clip(0, span)


def system_level(labels, mean):
    """Pearson's r of the judge's known means and the labels' means, without the noise of the latter."""
    centred = labels - labels.mean(axis=-1, keepdims=True)
    x, y = mean - mean.mean(axis=-1, keepdims=True), centred.mean(axis=-2)
    noise = centred.var(axis=-2, ddof=1).sum(axis=-1) / labels.shape[-2]
    of_x, of_y = (x**2).sum(axis=-1), ((y**2).sum(axis=-1) - noise).clip(1e-9)
    return (x * y).sum(axis=-1) / np.sqrt(np.where(of_x > 1e-12, of_x, np.nan) * of_y)


def correlated(labels, scores, mean, level, coefficient):
    """A correlation on Fisher's z and each document's part in it; at sample level NaN and the documents' own."""
    if level == "sample":
        return np.nan, by_group(labels, scores, level, coefficient)

    def r(labels, scores):
        if level == "system":
            return system_level(labels, mean)[..., None]
        return by_group(labels, scores, level, coefficient)

    found = leaving_out(lambda *two: np.arctanh(r(*two).clip(-0.9999, 0.9999)), labels, scores)
    whole, parts = (one[..., 0] for one in found)
    undefined = parts.shape[-1] * whole[..., None]  # counts as 0 without such a document
    return whole, np.where(np.isnan(parts), undefined, parts)


def correlation(whole, parts, level, alpha):
    """Value, low and high end, and whether such an interval holds."""
    usable, varied = np.isfinite(parts).sum(axis=-1) >= USABLE, np.nanstd(parts, axis=-1) >= 1e-9
    holds = usable & varied & (level == "sample" or np.abs(whole) < np.arctanh(NEAR_ONE))
    value, low, high = interval(whole, parts, alpha)
    if level != "sample":
        value, low, high = np.tanh([value, low, high])
        low, high = np.where(low <= -NEAR_ONE, -1, low), np.where(high >= NEAR_ONE, 1, high)
    return (value, low.clip(-1, 1), high.clip(-1, 1)), holds


def correlation_with_interval(labels, scores, mean, level, coefficient, alpha, helped):
    """Value with interval, documents that it rests on, a part's deviation, why not, and a notice."""
    nothing = (np.nan,) * 3, 0, np.nan
    if level == "system" and coefficient != "pearson":
        return *nothing, "ranks of systems' means have no valid one. Use coefficient='pearson'.", ""
    if level == "system" and helped.sum() < SYSTEMS:
        why = f"only {helped.sum()} systems have labels that vary enough, and {SYSTEMS} are needed"
        return *nothing, f"{why}. Label more documents, or use level='sample'.", ""
    whole, parts = correlated(labels, scores, mean, level, coefficient)
    usable = np.isfinite(parts).sum()
    if usable < USABLE:
        why = f"only {usable} of {len(parts)} labelled documents have a correlation; elsewhere all"
        why += f" systems have the same label or score. {USABLE} are needed"
        return *nothing, f"{why}. Label more documents, or use level='dataset'.", ""
    found, holds = correlation(whole, parts, level, alpha)
    if not holds:
        return *nothing, "it is too close to 1, or the same on all documents. Report it alone.", ""
    spread = np.nanstd(parts, ddof=1) * (1 if level == "sample" else 1 - found[0] ** 2)
    return tuple(map(float, found)), int(usable), spread, "", large_part(parts[np.isfinite(parts)])


def lead(labels, scores, mean, others, level, coefficient, alpha):
    """Interval of the judge's lead over a second judge, or over each rater with the rest."""
    pairs = [(labels, others[0])]
    if len(others) > 1:
        pairs = [(np.mean(others[:i] + others[i + 1 :], axis=0), o) for i, o in enumerate(others)]
        if level == "system":  # raters' means over all documents are not known
            return np.nan, np.nan
    leads = []
    for truth, other in pairs:
        mine = correlated(truth.round(9), scores, mean, level, coefficient)
        theirs = correlated(truth.round(9), other, other.mean(axis=0), level, coefficient)
        leads.append((mine[0] - theirs[0], mine[1] - theirs[1]))
    whole, parts = (np.mean([lead[i] for lead in leads], axis=0) for i in (0, 1))
    if np.isfinite(parts).sum() < USABLE or np.nanstd(parts) < 1e-9:
        return np.nan, np.nan
    return interval(whole, parts, alpha)[1:]
