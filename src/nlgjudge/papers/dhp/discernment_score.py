"""Discernment: whether a judge rates perturbed texts lower (DHP, Wang et al. 2024, section 4.3).

A signed-rank test of original against perturbed texts for each metric gives p-values. Their harmonic mean is
one p-value of the perturbation, D = log_0.05 p, and D is averaged over levels. Everything is kept in logarithms.

The paper's two formulas differ at equal weights: its unweighted sum lacks the factor M of a mean, so that D is
larger by log_20 M for every judge and never below D with expert weights. The default is the normalised form, the
harmonic mean of Wilson 2019; `form="as_printed"` gives the paper's.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy
from scipy.special import logsumexp

from nlgjudge.data.checks import check_known

Form = Literal["normalised", "as_printed"]
MOST_EXACT = 25  # unequal pairs that get the exact distribution
STATISTICS = ["D_avg", "D_min", "D_avg_EW", "D_min_EW"]


class Discernment(NamedTuple):
    """What `discernment` gives.

    `perturbations` has `level, D` (1 at p = 0.05), `D_EW, n` (pairs, the fewest over metrics) and `largest`, D if every
    text fell alike. `overall` has the `value` of `D_avg`, where each level's mean counts once, of the minimum `D_min`,
    and with weights `D_avg_EW` and `D_min_EW`.
    """

    perturbations: pd.DataFrame
    overall: pd.DataFrame


def discernment(
    scores: pd.DataFrame,
    weights: pd.DataFrame | None = None,
    *,
    form: Form = "normalised",
    resamples: int = 0,
    seed: int = 0,
) -> Discernment:
    """Discernment of a judge, for each perturbation and overall (section 4.3.3).

    Parameters
    ----------
    scores
        `original` (id of the text), `perturbation` (``"original"`` for the text itself), `level`, `aspect`, `score`.
    weights
        Expert weights: perturbations by name (without degree) x aspects, rows summing to 1; uniform by default,
        which makes D_EW equal to the normalised D.
    form
        Without weights, M over the sum of 1/p, or 1 over that sum as the paper prints it.
    resamples
        Of a percentile bootstrap over texts, which adds `ci_low` and `ci_high` (95%) of D and of the overall values.
        Where every text falls, repeated texts tie and raise D of all resamples a little; the interval is widened to
        hold its estimate.
    seed
        Of the bootstrap.

    Examples
    --------
    >>> import pandas as pd
    >>> versions = [("original", ""), ("typos, minor", "character"), ("reordering", "sentence")]
    >>> scores = pd.DataFrame([(text, name, level, "fluency", 5 - damage * (text % 3))
    ...                        for text in range(12) for damage, (name, level) in enumerate(versions)],
    ...                       columns=["original", "perturbation", "level", "aspect", "score"])
    >>> discernment(scores, resamples=100).overall.round(3).loc["D_avg"].tolist()
    [1.851, 1.157, 2.435]
    """
    differences, levels, aspects = _differences(scores)
    of_metrics = _weights(weights, levels.index, aspects)
    d, weighted = _d(differences, of_metrics, form)
    pairs = np.isfinite(differences).sum(axis=-1).min(axis=1)
    largest, _ = _d(np.where(np.isnan(differences), np.nan, 1), of_metrics, form)
    each = pd.DataFrame({"level": levels, "D": d, "D_EW": weighted, "n": pairs, "largest": largest})
    overall = pd.DataFrame({"value": _overall(d, weighted, levels)}, STATISTICS)
    if resamples:
        texts = differences.shape[-1]
        drawn = np.random.default_rng(seed).integers(texts, size=(resamples, texts))
        resampled = np.moveaxis(differences[..., drawn], -2, 0)
        d, weighted = _d(resampled, of_metrics, form)  # resample x perturbation
        each = _with_interval(each, "D", d.T)
        overall = _with_interval(overall, "value", _overall(d, weighted, levels))
    return Discernment(each, overall)


def _with_interval(table, column, draws):
    """Add 95% bounds of a column, from the draws of each row."""
    low, high = np.nanquantile(draws, [0.025, 0.975], axis=1)
    value = table[column]
    return table.assign(ci_low=np.fmin(low, value), ci_high=np.fmax(high, value))


def log_p(differences):
    """Natural logarithms of one-sided signed-rank p-values along the last axis; NaN where there is no pair.

    Zeros are dropped. Up to `MOST_EXACT` unequal pairs get the distribution given the ranks, ties included; more the
    normal approximation without correction for continuity, as `scipy.stats.wilcoxon` takes it where there are ties.
    """
    # Sums and differences of decimals that are equal on paper must tie.
    differences = np.round(np.asarray(differences, float), 9)
    rows = differences.reshape(-1, differences.shape[-1])
    unequal = (np.nan_to_num(rows) != 0).sum(axis=1)
    exact = unequal <= MOST_EXACT
    logs = np.empty(len(rows))
    logs[exact] = [_exact(row) for row in rows[exact]]
    if not exact.all():
        normal = scipy.stats.wilcoxon(
            np.nan_to_num(rows[~exact]), alternative="greater", method="asymptotic", axis=-1
        )
        # Not the logarithm of its p-value, which is 0 from about 1,900 differences of one sign on.
        logs[~exact] = scipy.stats.norm.logsf(normal.zstatistic)
    logs[unequal == 0] = 0
    logs[np.isnan(rows).all(axis=1)] = np.nan
    return logs.reshape(differences.shape[:-1])


def _exact(row):
    """Logarithm of the share of sign patterns whose sum of positive ranks is at least the one seen.

    scipy's exact distribution is that of ranks without ties.
    """
    unequal = row[np.nan_to_num(row) != 0]
    midranks = scipy.stats.rankdata(np.abs(unequal))
    doubled = np.rint(2 * midranks).astype(int)  # whole numbers
    share = np.ones(1)  # share[s]: of all patterns of the ranks so far, those with a doubled sum s
    for rank in doubled:
        negative = np.append(share, np.zeros(rank))
        positive = np.append(np.zeros(rank), share)
        share = (negative + positive) / 2
    seen = doubled[unequal > 0].sum()
    return np.log(min(share[seen:].sum(), 1))


def harmonic_mean_p(log_p, weights=None, *, form="normalised"):
    """Natural logarithm of the harmonic mean of p-values along the last axis (section 4.3.2; Wilson 2019).

    With weights, which are at least 0 and sum to 1, it is the paper's form with expert weights, and a metric of weight
    0 may be NaN.
    """
    log_p = np.asarray(log_p, float)
    check_known("form", form, ("normalised", "as_printed"))
    if weights is None:
        share = 1.0 if form == "as_printed" else 1 / log_p.shape[-1]
        return -logsumexp(-log_p, b=share, axis=-1)
    weights = np.asarray(weights, float)
    if (weights < 0).any() or not np.allclose(weights.sum(axis=-1), 1):
        raise ValueError(f"expected weights of at least 0 that sum to 1, got {weights.tolist()}")
    return -logsumexp(np.where(weights > 0, -log_p, 0), b=weights, axis=-1)


def _differences(scores):
    """Array of perturbation x metric x text, the perturbations' levels, and the metrics."""
    wide = scores.pivot(index="original", columns=["perturbation", "aspect"], values="score")
    levels = scores.drop_duplicates("perturbation").set_index("perturbation")["level"]
    levels = levels.drop("original")
    aspects = list(dict.fromkeys(scores["aspect"]))
    originals = wide["original"].reindex(columns=aspects).to_numpy(float)
    values = [
        (originals - wide[name].reindex(columns=aspects).to_numpy(float)).T for name in levels.index
    ]
    return np.array(values), levels, aspects


def _weights(weights, perturbations, aspects):
    """Array of perturbation x metric; uniform without expert weights."""
    if weights is None:
        return np.full((len(perturbations), len(aspects)), 1 / len(aspects))
    names = [label.split(",")[0] for label in perturbations]
    return weights.loc[names, aspects].to_numpy(float)


def _d(differences, weights, form):
    """D of each perturbation, without and with weights."""
    logs = log_p(differences)
    combined = (harmonic_mean_p(logs, form=form), harmonic_mean_p(logs, weights))
    return [-log / np.log(20) + 0.0 for log in combined]  # no -0.0


def _overall(d, weighted, levels):
    """The four `STATISTICS` of D and of D with weights; perturbations are the last axis."""
    levels = np.asarray(levels)
    statistics = []
    for values in (d, weighted):
        means = [values[..., levels == level].mean(axis=-1) for level in dict.fromkeys(levels)]
        statistics += [np.mean(means, axis=0), values.min(axis=-1)]
    return np.stack(statistics)
