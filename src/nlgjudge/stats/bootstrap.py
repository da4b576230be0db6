"""Bootstrap intervals for correlations at any level.

Documents, systems or both are resampled with replacement (Deutsch et al. 2021 call the
last "boot-both"): a metric that is to be trusted on other texts by other systems has to be
uncertain about both.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from nlgjudge.stats.correlations import LEVELS, checked, complete_items, correlation, matrices
from nlgjudge.stats.resampling import resampled, without_each

UNITS = ("documents", "systems", "both")
METHODS = ("percentile", "bca")


class Interval(NamedTuple):
    """A correlation with its interval.

    Attributes
    ----------
    value, low, high : float
        In [-1, 1]; NaN where undefined.
    resamples : int
        Resamples in which the correlation was defined.
    """

    value: float
    low: float
    high: float
    resamples: int


def interval(frame, metric, human, *, rng, level="sample", coefficient="spearman", units="both",
             resamples=1000, confidence=0.95, method="percentile", constant="skip", kendall="b"):
    """Bootstrap interval of a correlation.

    Parameters
    ----------
    frame, metric, human, level, coefficient, constant, kendall
        As for `nlgjudge.stats.correlations.correlation`.
    rng : numpy.random.Generator
    units : {"documents", "systems", "both"}
        What is resampled; documents alone where there is one system.
    resamples : int
    confidence : float
        In (0, 1).
    method : {"percentile", "bca"}
        Plain quantiles, or bias-corrected and accelerated ones (Efron 1987), with the
        acceleration from leaving out each resampled unit in turn.

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        For unknown options, and as `correlation` does.
    """
    _check(units, level, confidence, resamples, method)
    options = {"level": level, "coefficient": coefficient, "constant": constant, "kendall": kendall}
    value = correlation(frame, metric, human, **options).value
    arrays = _matrices(frame, [metric, human])
    if arrays is None:
        return Interval(value, np.nan, np.nan, 0)
    draws = resampled(arrays, units, resamples, rng, options)[0]
    left_out = without_each(arrays, units, options)[0] if method == "bca" else None
    return _quantiles(value, draws, confidence, left_out)


def difference(frame, a, b, human, *, rng, level="sample", coefficient="spearman", units="both",
               resamples=1000, confidence=0.95, method="percentile", constant="skip", kendall="b"):
    """Bootstrap interval of the difference between two metrics' correlations.

    Both are computed on the same items, those with all three scores, and on the same
    resamples.

    Parameters
    ----------
    a, b : str
        Columns of the two metrics; the rest as for `interval`.

    Returns
    -------
    Interval
        Of the correlation of `a` minus that of `b`.
    """
    _check(units, level, confidence, resamples, method)
    options = {"level": level, "coefficient": coefficient, "constant": constant, "kendall": kendall}
    shared = frame.dropna(subset=[a, b, human])
    value = np.subtract(*(correlation(shared, metric, human, **options).value for metric in (a, b)))
    arrays = _matrices(shared, [a, b, human])
    if arrays is None:
        return Interval(value, np.nan, np.nan, 0)
    first, second = resampled(arrays, units, resamples, rng, options)
    left_out = None
    if method == "bca":
        left_out = np.subtract(*without_each(arrays, units, options))
    return _quantiles(value, first - second, confidence, left_out)


def interval_table(frame, cells, *, rng, **options):
    """Add an interval to each line of a table of correlations.

    Parameters
    ----------
    frame : pandas.DataFrame
        As for `interval`.
    cells : pandas.DataFrame
        `metric, aspect, level, coefficient`, from
        `nlgjudge.stats.correlations.correlation_table`.
    rng : numpy.random.Generator
    **options
        As for `interval`.

    Returns
    -------
    pandas.DataFrame
        `cells` with `ci_low` and `ci_high`.
    """
    found = [interval(frame, c.metric, c.aspect, rng=rng, level=c.level, coefficient=c.coefficient,
                      **options) for c in cells.itertuples()]
    return cells.assign(ci_low=[f.low for f in found], ci_high=[f.high for f in found])


def mean_interval(parts, *, rng, units="both", resamples=1000, confidence=0.95, method="percentile",
                  **options):
    """Bootstrap interval of the mean of several correlations, as tables print in a column AVG.

    Parameters
    ----------
    parts : list of (pandas.DataFrame, str, str)
        Frame, metric and human column of each. Parts of one frame are resampled together, over
        the items that have all their scores; other frames by themselves.
    rng, units, resamples, confidence, method, **options
        As for `interval`; `level`, `coefficient`, `constant` and `kendall` hold for all parts.

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        As `interval` does, and for no parts.
    """
    options = {"level": "sample", "coefficient": "spearman", "constant": "skip", "kendall": "b"} | options
    _check(units, options["level"], confidence, resamples, method)
    if not parts:
        raise ValueError("no parts: expected a list of (frame, metric, human)")
    value = np.mean([correlation(*part, **options).value for part in parts])
    draws, left_out = [], []
    for frame in {id(part[0]): part[0] for part in parts}.values():
        columns = [part[1:] for part in parts if part[0] is frame]
        complete, seed = frame.dropna(subset=[c for pair in columns for c in pair]), rng.integers(2**62)
        if complete.empty:
            return Interval(value, np.nan, np.nan, 0)
        arrays = [_matrices(complete, pair) for pair in columns]
        draws += [resampled(m, units, resamples, np.random.default_rng(seed), options)[0] for m in arrays]
        if method == "bca":
            without = sum(without_each(m, units, options)[0] for m in arrays)
            left_out.append(value + (without - np.nanmean(without)) / len(parts))
    return _quantiles(value, np.mean(draws, axis=0), confidence,
                      np.concatenate(left_out) if left_out else None)


def column_mean(frame, column, *, rng, units="both", resamples=1000, confidence=0.95):
    """Percentile bootstrap interval of a column's mean, as of the shift between two judges' scores.

    Parameters
    ----------
    frame : pandas.DataFrame
        `doc_id`, `system_id` and the column; rows without a value are left out.
    column : str
    rng, units, resamples, confidence
        As for `interval`.

    Returns
    -------
    Interval
        In the column's unit.

    Raises
    ------
    ValueError
        For unknown options, missing columns, duplicate keys or infinite values.
    """
    _check(units, "dataset", confidence, resamples, "percentile")
    checked(frame, column, column)
    arrays = _matrices(frame, [column])
    if arrays is None:
        return Interval(np.nan, np.nan, np.nan, 0)
    values, counts = arrays[0], []
    for size, others in zip(values.shape, ("systems", "documents")):
        fixed = size == 1 or units == others and values.shape[1] > 1
        counts.append(np.ones((resamples, size)) if fixed else
                      rng.multinomial(size, np.full(size, 1 / size), resamples))
    total, n = (np.einsum("rd,ds,rs->r", counts[0], part, counts[1], optimize=True)
                for part in (np.nan_to_num(values), ~np.isnan(values)))
    means = np.divide(total, n, out=np.full(resamples, np.nan), where=n > 0)
    return _quantiles(np.nanmean(values), means, confidence, None)


def _check(units, level, confidence, resamples, method):
    if (units not in UNITS or level not in LEVELS or method not in METHODS or not 0 < confidence < 1
            or resamples < 1):
        raise ValueError(f"units={units!r}, level={level!r}, method={method!r}, confidence={confidence}, "
                         f"resamples={resamples}: expected one of {UNITS}, one of {LEVELS}, "
                         f"one of {METHODS}, a share in (0, 1) and at least 1")


def _matrices(frame, columns):
    """Documents x systems for each column, over items that have all; None where none has."""
    complete = complete_items(frame, columns)
    return None if complete.empty else matrices(complete, list(columns))


def _quantiles(value, draws, confidence, left_out):
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        return Interval(value, np.nan, np.nan, 0)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if left_out is not None:
        equal = np.isclose(draws, value, rtol=0, atol=1e-12)  # all units drawn once, up to rounding
        below = ((draws < value) & ~equal).mean() + equal.mean() / 2
        bias = stats.norm.ppf(np.clip(below, 1 / (2 * len(draws)), 1 - 1 / (2 * len(draws))))
        gaps = np.nanmean(left_out) - left_out[~np.isnan(left_out)]
        gaps = gaps / max(np.abs(gaps).max(initial=0), 1e-300)  # the ratio below has no scale
        acceleration = (gaps**3).sum() / (6 * max((gaps**2).sum(), 1)**1.5)
        shifted = bias + stats.norm.ppf(tails)
        tails = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
    low, high = np.quantile(draws, tails)
    return Interval(value, float(low), float(high), len(draws))
