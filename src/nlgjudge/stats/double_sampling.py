"""What a judge's scores of N documents and labels for n of them show; `few_labels` words it.

Regression estimates of double sampling (Cochran 1977, chapter 12) with one weight pooled over
systems, intervals by leaving out each labelled document, pairs by Holm's procedure or step-down sign
flips (Romano and Wolf 2005), a betting interval (Waudby-Smith and Ramdas 2024).
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from nlgjudge.stats.intervals import large_part

USABLE, DIFFERING, SYSTEMS = 8, 5, 10  # the fewest for which each part was verified
NEAR_ONE = 0.97  # no interval is verified beyond
FLIPS = 1999


class Data(NamedTuple):
    """Labels and scores of the labelled documents, scores of all (documents x systems)."""

    labels: np.ndarray
    scores: np.ndarray
    judged: np.ndarray


def _pseudo_values(statistic, n):
    """A statistic of all labelled documents, and n times it minus n - 1 times it without each."""
    whole = np.asarray(statistic(np.ones(n, dtype=bool)))
    return whole, n * whole - (n - 1) * np.array([statistic(np.arange(n) != i) for i in range(n)])


def _assisted(labels, scores, judged):
    """Each system's mean with the judge's help; last, the pooled correlation across documents."""
    of_labels, of_scores = labels.std(axis=0, ddof=1), judged.std(axis=0)
    products = (labels - labels.mean(axis=0)) * (scores - scores.mean(axis=0))
    together, weight = products.sum(axis=0) / (len(labels) - 1), np.zeros(labels.shape[1])
    some = (of_labels > 1e-9) & (of_scores > 1e-9)
    weight[some] = together[some] / (of_labels * of_scores)[some]
    rho = weight.mean().clip(0, 1)
    weight[some] = rho * of_labels[some] / of_scores[some]
    return np.append(
        labels.mean(axis=0) + weight * (judged - scores.mean(axis=0)).mean(axis=0), rho
    )


def estimated(data, alpha):
    """Means, pseudo-values and covariance matrix with the judge's help; the share of labels saved."""
    n, total = len(data.labels), len(data.judged)
    whole, pseudo = _pseudo_values(
        lambda rows: _assisted(data.labels[rows], data.scores[rows], data.judged), n
    )
    with_judge = np.cov(pseudo[:, :-1].T)
    matrix = (1 / n - 1 / total) * with_judge + np.cov(data.labels.T) / total
    spread = pseudo[:, -1].std(ddof=1)
    half = scipy.stats.t.isf(alpha / 2, n - 1) * spread / np.sqrt(n)
    rho = np.clip(whole[-1] + np.array([0, -half, half]), 0, 1)
    return (whole[:-1], pseudo[:, :-1], matrix), tuple(rho**2 * (1 - n / total))


def means_of_systems(data, estimates, names, scale, alpha, refused):
    theta, _, matrix = estimates
    n, alone = len(data.labels), data.labels.mean(axis=0)
    half = scipy.stats.t.isf(alpha / 2, n - 1) * np.sqrt(np.diag(matrix))
    frequent = [np.unique(column, return_counts=True)[1].max() for column in data.labels.T]
    judge = n - np.array(frequent) >= max(DIFFERING, np.sqrt(n))
    columns = {"system_id": names, "value": theta, "ci_low": theta - half, "ci_high": theta + half}
    table = pd.DataFrame(columns | {"labels_alone": alone, "judge": judge})
    for i in np.flatnonzero(~judge):
        ends = _betting(data.labels[:, i], scale, alpha)
        table.loc[i, ["value", "ci_low", "ci_high"]] = [alone[i], *ends]
    if not judge.all():
        refused.append(
            f"{(~judge).sum()} of {len(names)} systems have nearly all labels at one value, so that "
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


def pairs_of_systems(data, estimates, helped, names, alpha, seed, refused):
    n, (first, second) = len(data.labels), np.triu_indices(len(names), 1)
    both = helped[first] & helped[second]

    def of_pairs(theta, pseudo, matrix):
        own = np.diag(matrix)
        variance = own[first] + own[second] - 2 * matrix[first, second]
        return theta[first] - theta[second], variance, pseudo[:, first] - pseudo[:, second]

    alone = (data.labels.mean(axis=0), data.labels, np.cov(data.labels.T) / n)
    pairs = zip(of_pairs(*estimates), of_pairs(*alone))
    difference, variance, parts = (np.where(both, mine, other) for mine, other in pairs)
    differing = (np.abs(data.labels[:, first] - data.labels[:, second]) > 1e-9).sum(axis=0)
    usable = (differing >= DIFFERING) & (variance > 1e-12)
    t = np.where(usable, np.abs(difference) / np.sqrt(variance.clip(1e-300)), 0)
    p = np.where(usable, _holm(t, n) if n < 20 else _stepdown(t, parts * usable, seed), 1)
    if not usable.all():
        refused.append(
            f"{(~usable).sum()} of {len(t)} pairs of systems differ on fewer than {DIFFERING} "
            "labelled documents and stay undecided. Label more documents."
        )
    names, judged = np.array(names, dtype=object), data.judged.mean(axis=0)
    table = pd.DataFrame({"better": np.where(difference >= 0, names[first], names[second])})
    table["worse"] = np.where(difference >= 0, names[second], names[first])
    table["difference"], table["p"], table["decided"] = np.abs(difference), p, p <= alpha
    table["judge_agrees"] = (judged[first] - judged[second]) * np.sign(difference) > 1e-9
    return table.sort_values("p", kind="stable", ignore_index=True)


def _holm(t, n):
    order = np.argsort(-t, kind="stable")
    steps = 2 * scipy.stats.t.sf(t[order], n - 1) * np.arange(len(t), 0, -1)
    return np.maximum.accumulate(steps)[np.argsort(order)].clip(0, 1)


def _stepdown(t, parts, seed):
    """p of each |t|: the share of sign flips in which the highest of those left is as high."""
    n, order = len(parts), np.argsort(-t, kind="stable")
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (FLIPS, n))
    flipped = signs @ parts[:, order] / n
    spread = ((parts[:, order] ** 2).mean(axis=0) - flipped**2).clip(1e-12) / (n - 1)
    flipped = np.abs(flipped) / np.sqrt(spread)
    highest = np.maximum.accumulate(flipped[:, ::-1], axis=1)[:, ::-1]
    steps = (1 + (highest >= t[order] - 1e-9).sum(axis=0)) / (1 + FLIPS)
    return np.maximum.accumulate(steps)[np.argsort(order)]


def cost_of_winner(data, estimates, helped, scale, alpha):
    """Upper bound of what the judge's winner lacks: the best system is one of the others."""
    n, winner, span = len(data.labels), data.judged.mean(axis=0).argmax(), scale[1] - scale[0]

    def bound(theta, matrix):
        variance = np.diag(matrix) + matrix[winner, winner] - 2 * matrix[winner]
        return theta - theta[winner] + scipy.stats.t.isf(alpha, n - 1) * np.sqrt(variance.clip(0))

    alone = bound(data.labels.mean(axis=0), np.cov(data.labels.T) / n)
    bounds = np.where(helped & helped[winner], bound(estimates[0], estimates[2]), alone)
    apart = data.labels - data.labels[:, [winner]]
    better = (apart > 1e-9).sum(axis=0)
    # Few differences: a document adds the whole scale at most (Clopper and Pearson 1934).
    share = scipy.stats.beta.isf(alpha, better + 1, (n - better).clip(1))
    exact = span * np.where(better < n, share, 1)
    enough = (np.abs(apart) > 1e-9).sum(axis=0) >= max(DIFFERING, np.sqrt(n))
    bounds = np.where(enough, bounds, exact)
    bounds[winner] = 0
    return float(bounds.max().clip(0, span))


def _one(a, b, coefficient):
    """A coefficient of two vectors, NaN where one is constant."""
    if np.ptp(a) < 1e-9 or np.ptp(b) < 1e-9:
        return np.nan
    if coefficient == "kendall":
        return scipy.stats.kendalltau(a, b).statistic
    if coefficient == "spearman":
        a, b = scipy.stats.rankdata(a), scipy.stats.rankdata(b)
    return np.corrcoef(a, b)[0, 1]


def _parts(data, level, coefficient):
    """The correlation and each labelled document's part: its own, or a pseudo-value on z."""
    labels, scores, judged = data
    n, systems = labels.shape
    if level == "sample":
        each = np.array([_one(*rows, coefficient) for rows in zip(labels, scores)])
        return np.nan, each

    def z(rows):
        here = labels[rows]
        if level == "dataset":
            found = _one(here.ravel(), scores[rows].ravel(), coefficient)
        else:  # the judge's means are known; the noise of the labels' means comes off their variance
            centred = here - here.mean(axis=1, keepdims=True)
            noise = centred.var(axis=0, ddof=1).sum() / len(here) / (systems - 1)
            covariance = np.cov(judged.mean(axis=0), here.mean(axis=0))
            true = covariance[0, 0] * max(covariance[1, 1] - noise, 1e-9)
            found = covariance[0, 1] / np.sqrt(true) if covariance[0, 0] > 1e-12 else np.nan
        return np.arctanh(np.clip(found, -0.9999, 0.9999))

    return _pseudo_values(z, n)


def _interval(whole, parts, alpha):
    """Value and interval; without a whole value, of the mean of the parts that are defined."""
    parts = parts[np.isfinite(parts)]
    value = parts.mean() if np.isnan(whole) else float(whole)
    half = scipy.stats.t.isf(alpha / 2, len(parts) - 1) * parts.std(ddof=1) / np.sqrt(len(parts))
    return np.array([value, value - half, value + half])


def correlation_with_interval(data, level, coefficient, alpha, helped):
    """Value with interval, documents that it rests on, a part's deviation, why not, and a notice."""
    nothing = (np.nan,) * 3, 0, np.nan
    if level == "system" and coefficient != "pearson":
        return *nothing, "ranks of systems' means have no valid one. Use coefficient='pearson'.", ""
    if level == "system" and helped.sum() < SYSTEMS:
        why = f"only {helped.sum()} systems have labels that vary enough, and {SYSTEMS} are needed"
        return *nothing, f"{why}. Label more documents, or use level='sample'.", ""
    whole, parts = _parts(data, level, coefficient)
    usable = int(np.isfinite(parts).sum())
    if usable < USABLE:
        why = f"only {usable} of {len(parts)} labelled documents have a correlation; elsewhere all"
        why += f" systems have the same label or score. {USABLE} are needed"
        return *nothing, f"{why}. Label more documents, or use level='dataset'.", ""
    near = level != "sample" and abs(whole) >= np.arctanh(NEAR_ONE)
    if near or np.nanstd(parts) < 1e-9:
        return *nothing, "it is too close to 1, or the same on all documents. Report it alone.", ""
    found, spread = _interval(whole, parts, alpha), np.nanstd(parts, ddof=1)
    notice = large_part(parts[np.isfinite(parts)])
    if level == "sample":
        return tuple(found.clip(-1, 1)), usable, spread, "", notice
    value, low, high = np.tanh(found)
    ends = (-1 if low <= -NEAR_ONE else low, 1 if high >= NEAR_ONE else high)
    return (value, *ends), usable, spread * (1 - value**2), "", notice


def lead(data, others, level, coefficient, alpha):
    """Interval of the judge's lead over a second judge, or over each rater with the rest."""
    labels, scores, judged = data
    pairs = [(labels, others[0])]
    if len(others) > 1:
        pairs = [(np.mean(others[:i] + others[i + 1 :], axis=0), o) for i, o in enumerate(others)]
        if level == "system":  # raters' means over all documents are not known
            return np.nan, np.nan
    leads = []
    for truth, other in pairs:
        mine = _parts(Data(truth, scores, judged), level, coefficient)
        theirs = _parts(Data(truth, other, other), level, coefficient)
        leads.append((mine[0] - theirs[0], mine[1] - theirs[1]))
    whole, parts = (
        np.mean([lead[0] for lead in leads]),
        np.mean([lead[1] for lead in leads], axis=0),
    )
    if np.isfinite(parts).sum() < USABLE or np.nanstd(parts) < 1e-9:
        return np.nan, np.nan
    return _interval(whole, parts, alpha)[1:]
