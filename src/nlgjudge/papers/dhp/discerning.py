"""Discernment: whether a judge rates damaged texts lower (DHP, Wang et al. 2024, section 4.3).

A signed-rank test of original against damaged for each metric, the metrics' p-values combined by their
harmonic mean, D = log_0.05 p, and its average over levels and minimum. Everything is kept in logarithms.

The paper's two formulas are not the same at equal weights: its unweighted sum lacks the factor M of a
mean, so that D is larger by log_20 M for every judge and never below D with expert weights. The default
is the normalised form, the harmonic mean of Wilson 2019; `form="as_printed"` has the paper's.
"""

import math
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy  # which imports `scipy.stats` where it is first used, in half a second
from scipy.special import logsumexp

FORMS = ("normalised", "as_printed")
ZEROS = ("wilcox", "pratt")
METHODS = ("auto", "exact", "normal")
EXACT = 25  # differences up to which "auto" enumerates
_MOST_EXACT = 1000  # with 1075 differences the share of one pattern, 2**-1075, is no longer a float
_CELLS = 4_000_000  # numbers held at once
_LOG20 = np.log(20)
STATISTICS = ["D_avg", "D_min", "D_avg_EW", "D_min_EW"]


def forms(first="normalised"):
    """The two forms of the formula, the chosen one first.

    Parameters
    ----------
    first : str
        One of `FORMS`.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        For an unknown form.

    Examples
    --------
    >>> forms("as_printed")
    ['as_printed', 'normalised']
    """
    if first not in FORMS:
        raise ValueError(f"form={first!r}: expected one of {FORMS}")
    return sorted(FORMS, key=lambda form: form != first)


class SignedRank(NamedTuple):
    """One-sided test that originals are rated higher.

    Attributes
    ----------
    log_p : float
        Natural logarithm; 0 where all differences are zero.
    n, zeros : int
        Pairs with both ratings, and those of them that are equal.
    note : str
        ``"all differences are zero: p = 1"``, ``"no pairs"`` or empty.
    """

    log_p: float
    n: int
    zeros: int
    note: str


def signed_rank(original, damaged, *, zeros="wilcox", method="auto"):
    """Wilcoxon's signed-rank test that originals are rated higher than their damaged copies.

    Parameters
    ----------
    original, damaged : array of float
        Paired ratings; pairs with a NaN are left out.
    zeros : {"wilcox", "pratt"}
        Drop equal pairs before ranking (scipy's default, and so the paper's) or after.
    method : {"auto", "exact", "normal"}
        Distribution given the ranks, ties included, or the normal approximation without correction for
        continuity, which is what `scipy.stats.wilcoxon` takes where there are ties; "auto" is exact up
        to 25 unequal pairs, exact up to 1000.

    Returns
    -------
    SignedRank

    Raises
    ------
    ValueError
        For lengths that differ or unknown options.

    Examples
    --------
    Of the 32 patterns of signs one gives as large a sum: p is 1 / 32.

    >>> import numpy as np
    >>> found = signed_rank([5, 4, 5, 3, 5], [1, 3, 3, 2, 4])
    >>> round(float(np.exp(found.log_p)), 5), found.n
    (0.03125, 5)
    """
    original = np.asarray(original, float)
    damaged = np.asarray(damaged, float)
    if original.shape != damaged.shape or original.ndim != 1:
        raise ValueError(
            f"expected two lists of one length, got shapes {original.shape} and {damaged.shape}"
        )
    differences = original - damaged
    n = int(np.isfinite(differences).sum())
    equal = int((differences == 0).sum())
    note = ""
    if n == 0:
        note = "no pairs"
    elif n == equal:
        note = "all differences are zero: p = 1"
    return SignedRank(float(log_p(differences, zeros=zeros, method=method)), n, equal, note)


def log_p(differences, *, zeros="wilcox", method="auto"):
    """Natural logarithms of one-sided p-values along the last axis; NaN where there is no pair.

    Parameters
    ----------
    differences : numpy.ndarray
        Original minus damaged, NaN for a missing rating.
    zeros, method
        As for `signed_rank`.

    Returns
    -------
    numpy.ndarray
        Without the last axis.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_p([[4, 1, 2, 1, 1], [0, 0, 0, 0, 0]])).round(5)
    array([0.03125, 1.     ])
    """
    if zeros not in ZEROS or method not in METHODS:
        raise ValueError(
            f"zeros={zeros!r}, method={method!r}: expected one of {ZEROS} and one of {METHODS}"
        )
    # Sums and differences of decimals that are equal on paper must tie.
    differences = np.round(np.asarray(differences, float), 9)
    counted = ((differences != 0) & ~np.isnan(differences)).sum(axis=-1)
    exact = counted <= {"auto": EXACT, "exact": _MOST_EXACT, "normal": -1}[method]
    if exact.any():
        found = np.empty(counted.shape)
        found[exact] = _exact(differences[exact], zeros)
        if not exact.all():
            found[~exact] = _normal(differences[~exact], zeros)
    else:
        found = _normal(differences, zeros)
    found = np.where(counted == 0, 0.0, found)
    return np.where(np.isfinite(differences).any(axis=-1), found, np.nan)


def _normal(differences, zeros):
    """Logarithm of the normal approximation of p, row by row."""
    if zeros == "wilcox":
        # Missing and equal pairs are both dropped. scipy leaves out missing ones row by row, which is slow.
        differences = np.where(np.isnan(differences), 0, differences)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # rows without an unequal pair
        test = scipy.stats.wilcoxon(
            differences,
            zero_method=zeros,
            alternative="greater",
            method="asymptotic",
            axis=-1,
            nan_policy="omit",
        )
    # Not the logarithm of its p, which is 0 from about 1,900 differences of one sign on.
    return scipy.stats.norm.logsf(test.zstatistic)


def _exact(differences, zeros):
    """Logarithm of the share of sign patterns whose sum is at least the one seen, row by row.

    scipy's exact distribution is that of ranks without ties.
    """
    ranks = scipy.stats.rankdata(np.abs(differences), axis=-1, nan_policy="omit")
    if zeros == "wilcox":
        ranks = ranks - (differences == 0).sum(axis=-1, keepdims=True)
    ranks = np.where(np.nan_to_num(differences) == 0, 0, ranks)
    signed = np.where(ranks > 0, np.sign(differences) * ranks, 0).sum(axis=-1)
    longest = (ranks > 0).sum(axis=-1).max()
    doubled = np.rint(2 * ranks).astype(int)  # midranks become whole numbers
    doubled = np.sort(doubled, axis=-1)[:, -max(longest, 1) :]
    total = doubled.sum(axis=-1)
    least = np.rint(total / 2 + signed).astype(int)  # twice the sum of positive ranks
    parts = max(1, len(doubled) * (total.max() + 1) // _CELLS)
    found = []
    for rows in np.array_split(np.arange(len(doubled)), parts):
        # share[row, s]: of all patterns of signs so far, those with a doubled sum s of positive ranks
        sums = np.arange(total[rows].max() + 1)
        share = np.zeros((len(rows), len(sums)))
        share[:, 0] = 1
        largest = 1 + np.cumsum(doubled[rows], axis=1).max(axis=0)  # no sum so far is as large
        for rank, end in zip(doubled[rows].T, largest):
            before = sums[:end] - rank[:, None]
            moved = np.take_along_axis(share, np.maximum(before, 0), axis=1)
            with_rank = np.where(before >= 0, moved, 0)
            share[:, :end] = (share[:, :end] + with_rank) / 2
        found.append(np.where(sums >= least[rows, None], share, 0).sum(axis=1))
    with np.errstate(divide="ignore"):
        return np.log(np.minimum(np.concatenate(found), 1))


def harmonic_mean_p(log_p, weights=None, *, form="normalised"):
    """Harmonic mean of p-values along the last axis, in logarithms (section 4.3.2; Wilson 2019).

    Parameters
    ----------
    log_p : array of float
        Natural logarithms, a metric each.
    weights : array of float, optional
        At least 0 with sum 1 along the last axis: the paper's form with expert weights.
    form : {"normalised", "as_printed"}
        Without weights, M over the sum of 1/p, or 1 over that sum.

    Returns
    -------
    numpy.ndarray
        Natural logarithm of the combined p; NaN where a metric that counts has none.

    Raises
    ------
    ValueError
        For an unknown form or weights that are none.

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
    forms(form)  # refuses an unknown one
    if weights is None:
        share = 1.0 if form == "as_printed" else 1 / log_p.shape[-1]
        return -logsumexp(-log_p, b=share, axis=-1)
    weights = np.asarray(weights, float)
    if (weights < 0).any() or not np.allclose(weights.sum(axis=-1), 1):
        raise ValueError(f"expected weights of at least 0 that sum to 1, got {weights.tolist()}")
    return -logsumexp(np.where(weights > 0, -log_p, 0), b=weights, axis=-1)


def discernment(scores, weights=None, *, form="normalised", zeros="wilcox", method="auto"):
    """Discernment of a judge for each perturbation (section 4.3.3).

    Parameters
    ----------
    scores : pandas.DataFrame
        `original` (id of the text), `perturbation` (``"original"`` for the text itself), `level`,
        `aspect`, `score` (NaN where missing), a row per version and metric.
    weights : pandas.DataFrame, optional
        Expert weights: perturbations by name (without degree) x aspects, rows summing to 1; uniform
        by default, which makes D_EW equal to the normalised D.
    form, zeros, method
        As for `harmonic_mean_p` and `signed_rank`.

    Returns
    -------
    pandas.DataFrame
        By perturbation: `level, D, D_EW`, `n` (pairs, the fewest over metrics), `zeros` (share of
        equal pairs), `note`, and each aspect's own D as `D:aspect`. D is 0 at p = 1 and 1 at 0.05.

    Raises
    ------
    ValueError
        Without originals or for weights that lack a perturbation or aspect.

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
    logs = log_p(differences, zeros=zeros, method=method)
    shares = _weights(weights, levels.index, aspects)
    equal = (differences == 0).sum(axis=-1)
    pairs = np.isfinite(differences).sum(axis=-1)
    table = pd.DataFrame(
        {
            "level": levels,
            "D": _d(harmonic_mean_p(logs, form=form)),
            "D_EW": _d(harmonic_mean_p(logs, shares)),
            "n": pairs.min(axis=1),
            "zeros": equal.sum(axis=1) / np.maximum(pairs.sum(axis=1), 1),
            "note": [_note(aspects, all_equal) for all_equal in equal == pairs],
        }
    )
    own = pd.DataFrame(_d(logs), levels.index, [f"D:{aspect}" for aspect in aspects])
    return table.join(own)


def _note(aspects, all_equal):
    """Name the aspects in which no copy is rated otherwise than its original."""
    named = ", ".join(aspect for aspect, same in zip(aspects, all_equal) if same)
    return f"no differences, p = 1: {named}" if named else ""


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
    found = _overall(table["D"].to_numpy(), table["D_EW"].to_numpy(), table["level"])
    return pd.Series(found, STATISTICS)


def discernment_interval(
    scores,
    weights=None,
    *,
    rng,
    resamples=1000,
    confidence=0.95,
    form="normalised",
    zeros="wilcox",
    method="auto",
    each=False,
):
    """Percentile bootstrap over texts of the four overall scores, or of each perturbation's D.

    A resample repeats texts, and D follows the sample's size and not only the judge, so an interval is
    about as many other texts, not about more of them. Where every text falls, repeated texts tie and
    move D of all resamples up a little; the interval is stretched to hold its estimate.

    Parameters
    ----------
    scores, weights, form, zeros, method
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
    if resamples < 1 or not 0 < confidence < 1:
        raise ValueError(
            f"resamples={resamples}, confidence={confidence}: expected at least 1 and a share "
            "in (0, 1)"
        )
    differences, levels, aspects = _differences(scores)
    shares = _weights(weights, levels.index, aspects)
    texts = differences.shape[-1]
    parts = math.ceil(resamples * differences.size / _CELLS)
    draws = []
    for count in np.diff(np.linspace(0, resamples, parts + 1, dtype=int)):
        drawn = rng.integers(texts, size=(count, texts))
        resampled = np.moveaxis(
            differences[..., drawn], -2, 0
        )  # resample, perturbation, metric, text
        logs = log_p(resampled, zeros=zeros, method=method)
        plain = _d(harmonic_mean_p(logs, form=form))
        if each:
            draws.append(plain.T)
        else:
            weighted = _d(harmonic_mean_p(logs, shares))
            draws.append(_overall(plain, weighted, levels))
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.nanquantile(np.concatenate(draws, axis=1), tails, axis=1)
    table = discernment(scores, weights, form=form, zeros=zeros, method=method)
    value = table["D"] if each else overall_discernment(table)
    return pd.DataFrame(
        {"value": value, "ci_low": np.fmin(low, value), "ci_high": np.fmax(high, value)}
    )


def _differences(scores):
    """Array of perturbation x metric x text, the perturbations' levels, and the metrics."""
    wide = scores.pivot(index="original", columns=["perturbation", "aspect"], values="score")
    if "original" not in wide.columns.get_level_values(0):
        raise ValueError(
            "expected rows with perturbation 'original' to compare with, got "
            f"{sorted(scores['perturbation'].unique())}"
        )
    levels = (
        scores.drop_duplicates("perturbation").set_index("perturbation")["level"].drop("original")
    )
    aspects = list(dict.fromkeys(scores["aspect"]))
    rated = dict(zip(wide.columns, wide.to_numpy(float).T))
    values = np.empty((len(levels), len(aspects), len(wide)))
    for row, perturbation in enumerate(levels.index):
        for column, aspect in enumerate(aspects):
            values[row, column] = rated["original", aspect] - rated.get(
                (perturbation, aspect), np.nan
            )
    return values, levels, aspects


def _weights(weights, perturbations, aspects):
    """Array of perturbation x metric; uniform without expert weights."""
    if weights is None:
        return np.full((len(perturbations), len(aspects)), 1 / len(aspects))
    names = [label.split(",")[0] for label in perturbations]
    absent = sorted(set(names) - set(weights.index))
    absent += [aspect for aspect in aspects if aspect not in weights]
    if absent:
        raise ValueError(
            f"expected weights for every perturbation and aspect; {', '.join(absent)} have none"
        )
    return weights.loc[names, aspects].to_numpy(float)


def _d(logs):
    """D from the logarithm of p."""
    return -logs / _LOG20 + 0.0  # no -0.0


def _overall(plain, weighted, levels):
    """The four `STATISTICS` of D and of D with weights; perturbations are the last axis."""
    levels = np.asarray(levels)
    return np.stack(
        [
            _level_average(plain, levels),
            plain.min(axis=-1),
            _level_average(weighted, levels),
            weighted.min(axis=-1),
        ]
    )


def _level_average(values, levels):
    """Mean over levels of each level's mean."""
    means = [values[..., levels == level].mean(axis=-1) for level in dict.fromkeys(levels)]
    return np.mean(means, axis=0)
