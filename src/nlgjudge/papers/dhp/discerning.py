"""Discernment: whether a judge rates perturbed texts lower (DHP, Wang et al. 2024, section 4.3).

A signed-rank test of original against perturbed texts for each metric gives p-values. Their harmonic mean is
one p-value of the perturbation, D = log_0.05 p, and D is averaged over levels. Everything is kept in logarithms.

The paper's two formulas differ at equal weights: its unweighted sum lacks the factor M of a mean, so that D is
larger by log_20 M for every judge and never below D with expert weights. The default is the normalised form, the
harmonic mean of Wilson 2019; `form="as_printed"` gives the paper's.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from scipy.special import logsumexp

FORMS = ("normalised", "as_printed")
# Most unequal pairs that get the exact distribution. With 1,075 the share of one pattern, 2**-1075, is no float.
METHODS = {"auto": 25, "exact": 1000, "normal": -1}
STATISTICS = ["D_avg", "D_min", "D_avg_EW", "D_min_EW"]
_LOG20 = np.log(20)


class SignedRank(NamedTuple):
    """One-sided test that originals are rated higher.

    Attributes
    ----------
    log_p : float
        Natural logarithm; 0 where all differences are zero, NaN without pairs.
    n, zeros : int
        Pairs with both ratings, and those of them that are equal.
    """

    log_p: float
    n: int
    zeros: int


def signed_rank(original, perturbed, *, method="auto"):
    """Test whether originals are rated higher than their perturbed copies (Wilcoxon's signed-rank test).

    Parameters
    ----------
    original, perturbed : array of float, shape (n,)
        Paired ratings; pairs with a NaN are left out.
    method
        As for `log_p`.

    Returns
    -------
    SignedRank

    Examples
    --------
    Of the 32 patterns of signs one gives as large a sum: p is 1 / 32.

    >>> import numpy as np
    >>> found = signed_rank([5, 4, 5, 3, 5], [1, 3, 3, 2, 4])
    >>> round(float(np.exp(found.log_p)), 5), found.n
    (0.03125, 5)
    """
    differences = np.subtract(original, perturbed, dtype=float)
    pairs = int(np.isfinite(differences).sum())
    equal = int((differences == 0).sum())
    return SignedRank(float(log_p(differences, method=method)), pairs, equal)


def log_p(differences, *, method="auto"):
    """Natural logarithms of one-sided signed-rank p-values along the last axis; NaN where there is no pair.

    Parameters
    ----------
    differences : array of float, shape (..., n)
        Original minus perturbed, NaN for a missing rating. Zeros are dropped, as scipy does by default.
    method : {"auto", "exact", "normal"}
        Distribution given the ranks, ties included, or the normal approximation without correction for
        continuity, which is what `scipy.stats.wilcoxon` takes where there are ties; "auto" is exact up
        to 25 unequal pairs, "exact" up to 1,000.

    Returns
    -------
    numpy.ndarray, shape (...)

    Raises
    ------
    ValueError
        For an unknown method.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_p([[4, 1, 2, 1, 1], [0, 0, 0, 0, 0]])).round(5)
    array([0.03125, 1.     ])
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r}: expected one of {', '.join(METHODS)}")
    # Sums and differences of decimals that are equal on paper must tie.
    differences = np.round(np.asarray(differences, float), 9)
    rows = differences.reshape(-1, differences.shape[-1])
    unequal = (np.nan_to_num(rows) != 0).sum(axis=1)
    exact = unequal <= METHODS[method]
    found = np.empty(len(rows))
    found[exact] = [_exact(row) for row in rows[exact]]
    if not exact.all():
        found[~exact] = _normal(rows[~exact])
    found[unequal == 0] = 0
    found[np.isnan(rows).all(axis=1)] = np.nan
    return found.reshape(differences.shape[:-1])


def _normal(rows):
    """Logarithm of the normal approximation of p, row by row."""
    with np.errstate(invalid="ignore", divide="ignore"):  # rows without an unequal pair
        test = scipy.stats.wilcoxon(
            np.nan_to_num(rows), alternative="greater", method="asymptotic", axis=-1
        )
    # Not the logarithm of its p-value, which is 0 from about 1,900 differences of one sign on.
    return scipy.stats.norm.logsf(test.zstatistic)


def _exact(row):
    """Logarithm of the share of sign patterns whose sum of positive ranks is at least the one seen.

    scipy's exact distribution is that of ranks without ties.
    """
    unequal = row[np.nan_to_num(row) != 0]
    doubled = np.rint(2 * scipy.stats.rankdata(np.abs(unequal))).astype(
        int
    )  # midranks become whole
    share = np.ones(1)  # share[s]: of all patterns of the ranks so far, those with a doubled sum s
    for rank in doubled:
        negative = np.append(share, np.zeros(rank))
        positive = np.append(np.zeros(rank), share)
        share = (negative + positive) / 2
    seen = doubled[unequal > 0].sum()
    return np.log(min(share[seen:].sum(), 1))


def harmonic_mean_p(log_p, weights=None, *, form="normalised"):
    """Harmonic mean of p-values along the last axis, in logarithms (section 4.3.2; Wilson 2019).

    Parameters
    ----------
    log_p : array of float, shape (..., metrics)
        Natural logarithms.
    weights : array of float, optional
        At least 0 with sum 1 along the last axis: the paper's form with expert weights.
    form : {"normalised", "as_printed"}
        Without weights, M over the sum of 1/p, or 1 over that sum.

    Returns
    -------
    numpy.ndarray, shape (...)
        Natural logarithm of the combined p; NaN where a metric that counts has none.

    Raises
    ------
    ValueError
        For an unknown form, or weights that do not sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> logs = np.log([0.01, 0.04])
    >>> for form in FORMS:
    ...     print(form, np.exp(harmonic_mean_p(logs, form=form)).round(5))
    normalised 0.016
    as_printed 0.008
    """
    log_p = np.asarray(log_p, float)
    if form not in FORMS:
        raise ValueError(f"form={form!r}: expected one of {', '.join(FORMS)}")
    if weights is None:
        share = 1.0 if form == "as_printed" else 1 / log_p.shape[-1]
        return -logsumexp(-log_p, b=share, axis=-1)
    weights = np.asarray(weights, float)
    if (weights < 0).any() or not np.allclose(weights.sum(axis=-1), 1):
        raise ValueError(f"expected weights of at least 0 that sum to 1, got {weights.tolist()}")
    return -logsumexp(np.where(weights > 0, -log_p, 0), b=weights, axis=-1)


def discernment(scores, weights=None, *, form="normalised"):
    """Discernment of a judge for each perturbation (section 4.3.3).

    Parameters
    ----------
    scores : pandas.DataFrame
        `original` (id of the text), `perturbation` (``"original"`` for the text itself), `level`,
        `aspect`, `score` (NaN where missing), a row per version and metric.
    weights : pandas.DataFrame, optional
        Expert weights: perturbations by name (without degree) x aspects, rows summing to 1; uniform
        by default, which makes D_EW equal to the normalised D.
    form : {"normalised", "as_printed"}
        As for `harmonic_mean_p`.

    Returns
    -------
    pandas.DataFrame
        By perturbation: `level, D, D_EW`, `n` (pairs, the fewest over metrics), `zeros` (share of
        equal pairs), and each aspect's own D as `D:aspect`. D is 0 at p = 1 and 1 at 0.05.

    Raises
    ------
    KeyError
        Without originals, or for weights that lack a perturbation or aspect.

    Examples
    --------
    >>> import pandas as pd
    >>> versions = [("original", ""), ("typos, minor", "character"), ("reordering", "sentence")]
    >>> scores = pd.DataFrame([(text, name, level, "fluency", 5 - damage * (text % 3))
    ...                        for text in range(12) for damage, (name, level) in enumerate(versions)],
    ...                       columns=["original", "perturbation", "level", "aspect", "score"])
    >>> discernment(scores)[["level", "D", "n"]].round(3).to_dict("index")["typos, minor"]
    {'level': 'character', 'D': 1.851, 'n': 12}
    """
    differences, levels, aspects = _differences(scores)
    logs = log_p(differences)
    pairs = np.isfinite(differences).sum(axis=-1)
    equal = (differences == 0).sum(axis=-1)
    table = pd.DataFrame(
        {
            "level": levels,
            "D": _d(harmonic_mean_p(logs, form=form)),
            "D_EW": _d(harmonic_mean_p(logs, _weights(weights, levels.index, aspects))),
            "n": pairs.min(axis=1),
            "zeros": equal.sum(axis=1) / np.maximum(pairs.sum(axis=1), 1),
        }
    )
    return table.join(pd.DataFrame(_d(logs), levels.index, [f"D:{aspect}" for aspect in aspects]))


def overall_discernment(table):
    """Average of D over levels, each level's mean counting once, and minimum (section 4.3.3).

    Parameters
    ----------
    table : pandas.DataFrame
        From `discernment`.

    Returns
    -------
    pandas.Series
        `D_avg, D_min, D_avg_EW, D_min_EW`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"level": ["word", "word", "sentence"], "D": [1, 2, 4], "D_EW": [1, 3, 2]})
    >>> overall_discernment(table).to_dict()
    {'D_avg': 2.75, 'D_min': 1.0, 'D_avg_EW': 2.0, 'D_min_EW': 1.0}
    """
    d = table[["D", "D_EW"]].to_numpy().T
    return pd.Series(_overall(*d, table["level"]), STATISTICS)


def discernment_interval(
    scores,
    weights=None,
    *,
    rng,
    resamples=1000,
    confidence=0.95,
    form="normalised",
    each=False,
):
    """Percentile bootstrap over texts of the four overall scores, or of each perturbation's D.

    A resample repeats texts, and D depends on the sample's size as well as on the judge, so an interval is
    about other texts, not about more of them. Where every text falls, repeated texts tie and raise D of all
    resamples a little; the interval is widened to hold its estimate.

    Parameters
    ----------
    scores, weights, form
        As for `discernment`.
    rng : numpy.random.Generator
    resamples : int
    confidence : float
        In (0, 1).
    each : bool
        Whether each perturbation's D is wanted instead of the overall scores.

    Returns
    -------
    pandas.DataFrame
        By statistic, or by perturbation: `value, ci_low, ci_high`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> scores = pd.DataFrame([(text, name, level, "fluency", 5 - (name == "typos") * (text % 3))
    ...                        for text in range(12) for name, level in [("original", ""), ("typos", "character")]],
    ...                       columns=["original", "perturbation", "level", "aspect", "score"])
    >>> discernment_interval(scores, rng=np.random.default_rng(0), resamples=100).round(3)
              value  ci_low  ci_high
    D_avg     1.851   1.157    2.435
    D_min     1.851   1.157    2.435
    D_avg_EW  1.851   1.157    2.435
    D_min_EW  1.851   1.157    2.435
    """
    differences, levels, aspects = _differences(scores)
    texts = differences.shape[-1]
    drawn = rng.integers(texts, size=(resamples, texts))
    resampled = np.moveaxis(differences[..., drawn], -2, 0)  # resample, perturbation, metric, text
    logs = log_p(resampled)
    plain = _d(harmonic_mean_p(logs, form=form))
    weighted = _d(harmonic_mean_p(logs, _weights(weights, levels.index, aspects)))
    draws = plain.T if each else _overall(plain, weighted, levels)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.nanquantile(draws, tails, axis=1)
    table = discernment(scores, weights, form=form)
    value = table["D"] if each else overall_discernment(table)
    return pd.DataFrame(
        {"value": value, "ci_low": np.fmin(low, value), "ci_high": np.fmax(high, value)}
    )


def _differences(scores):
    """Array of perturbation x metric x text, the perturbations' levels, and the metrics."""
    wide = scores.pivot(index="original", columns=["perturbation", "aspect"], values="score")
    levels = (
        scores.drop_duplicates("perturbation").set_index("perturbation")["level"].drop("original")
    )
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


def _d(logs):
    """D from the logarithm of p."""
    return -logs / _LOG20 + 0.0  # no -0.0


def _overall(plain, weighted, levels):
    """The four `STATISTICS` of D and of D with weights; perturbations are the last axis."""
    levels = np.asarray(levels)
    found = []
    for values in (plain, weighted):
        means = [values[..., levels == level].mean(axis=-1) for level in dict.fromkeys(levels)]
        found += [np.mean(means, axis=0), values.min(axis=-1)]
    return np.stack(found)
