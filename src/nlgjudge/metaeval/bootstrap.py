"""Bootstrap intervals for correlations at any level.

Documents, systems or both are resampled with replacement (Deutsch et al. 2021 call the
last "boot-both"): a metric that is to be trusted on other texts by other systems has to be
uncertain about both.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from nlgjudge.metaeval.correlation import LEVELS, correlation, grouped
from nlgjudge.metaeval.weighted import weighted

UNITS = ("documents", "systems", "both")
METHODS = ("percentile", "bca")
_CELLS = 4_000_000  # numbers held at once


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
        As for `nlgjudge.metaeval.correlation.correlation`.
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
    matrices = _matrices(frame, [metric, human])
    if matrices is None:
        return Interval(value, np.nan, np.nan, 0)
    draws = _draws(matrices, units, resamples, rng, options)[0]
    left_out = _left_out(matrices, units, options)[0] if method == "bca" else None
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
    matrices = _matrices(shared, [a, b, human])
    if matrices is None:
        return Interval(value, np.nan, np.nan, 0)
    first, second = _draws(matrices, units, resamples, rng, options)
    left_out = None
    if method == "bca":
        left_out = np.subtract(*_left_out(matrices, units, options))
    return _quantiles(value, first - second, confidence, left_out)


def interval_table(frame, cells, *, rng, **options):
    """Add an interval to each line of a table of correlations.

    Parameters
    ----------
    frame : pandas.DataFrame
        As for `interval`.
    cells : pandas.DataFrame
        `metric, aspect, level, coefficient`, from
        `nlgjudge.metaeval.correlation.correlation_table`.
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


def _check(units, level, confidence, resamples, method):
    if (units not in UNITS or level not in LEVELS or method not in METHODS or not 0 < confidence < 1
            or resamples < 1):
        raise ValueError(f"units={units!r}, level={level!r}, method={method!r}, confidence={confidence}, "
                         f"resamples={resamples}: expected one of {UNITS}, one of {LEVELS}, "
                         f"one of {METHODS}, a share in (0, 1) and at least 1")


def _matrices(frame, columns):
    """Documents x systems for each column, over items that have all; None where none has."""
    complete = frame.dropna(subset=columns)
    if complete.empty:
        return None
    return [complete.pivot(index="doc_id", columns="system_id", values=c).to_numpy(float) for c in columns]


def _draws(matrices, units, resamples, rng, options):
    """Statistic of each resample, a row for each metric; the last matrix is the humans'."""
    *metrics, human = matrices
    parts = []
    for rows, columns in _indices(human.shape, units, resamples, options["level"], rng):
        if options["level"] == "sample":
            counts = np.ones((1, human.shape[1]))  # of systems that stay as they are
            if units != "documents" and human.shape[1] > 1:
                counts = (columns[:, :, None] == np.arange(human.shape[1])).sum(axis=1, dtype=float)
            parts.append([_within(m, human, rows, counts, **options) for m in metrics])
        else:
            taken = [m[rows[:, :, None], columns[:, None, :]] for m in matrices]
            parts.append([_across(m, taken[-1], **options) for m in taken[:-1]])
    return np.concatenate(parts, axis=1)


def _left_out(matrices, units, options):
    """Statistic without each unit that is resampled, a row for each metric."""
    *metrics, human = matrices
    documents, systems = human.shape
    found = []
    for size, axis in ((documents, 0), (systems, 1)):
        if (units, axis) == ("systems", 0) and systems > 1 or axis and (units == "documents" or systems == 1):
            continue
        for left in np.array_split(np.arange(size), max(1, size * documents * systems // _CELLS)):
            kept = np.arange(size) != left[:, None]
            if options["level"] == "sample":
                rows = np.nonzero(kept)[1].reshape(len(left), -1) if axis == 0 else \
                    np.tile(np.arange(documents), (len(left), 1))
                counts = np.ones((1, systems)) if axis == 0 else kept.astype(float)
                found.append([_within(m, human, rows, counts, **options) for m in metrics])
            else:
                kept = np.expand_dims(kept, 2 - axis)
                taken = [np.where(kept, m, np.nan) for m in matrices]
                found.append([_across(m, taken[-1], **options) for m in taken[:-1]])
    return np.concatenate(found, axis=1)


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


def _indices(shape, units, resamples, level, rng):
    """Yield row and column numbers of as many resamples as fit into memory together."""
    documents, systems = shape
    rows, columns = (np.tile(np.arange(size), (resamples, 1)) for size in shape)
    if units != "systems" or systems == 1:
        rows = rng.integers(documents, size=rows.shape)
    if units != "documents" and systems > 1:
        columns = rng.integers(systems, size=columns.shape)
    items, members = documents * systems, documents * systems if level == "dataset" else systems
    chunk = max(1, _CELLS // (documents + systems**2 if level == "sample" else items * max(members // 2, 1)))
    for start in range(0, resamples, chunk):
        yield rows[start:start + chunk], columns[start:start + chunk]


def _within(x, y, rows, counts, level, coefficient, constant, kendall):
    """Mean correlation within the documents of each resample; one vector of counts may serve all."""
    documents, systems = x.shape
    parts = max(1, documents * systems * max(len(counts), systems) // _CELLS)
    values, counted = (np.concatenate(found, axis=1) for found in zip(*(
        weighted(a, b, counts, coefficient, kendall)
        for a, b in zip(np.array_split(x, parts), np.array_split(y, parts)))))
    if constant == "skip":
        counted &= ~np.isnan(values)
    elif constant == "zero":
        values = np.nan_to_num(values)
    drawn = np.arange(len(counts))[:, None]
    return _mean(values[drawn, rows], counted[drawn, rows])


def _across(x, y, level, coefficient, constant, kendall):
    """Correlation over all items or over systems' means; arrays are resamples x documents x systems."""
    missing = np.isnan(x) | np.isnan(y)
    if level == "dataset":
        x, y = x.reshape(len(x), -1), y.reshape(len(y), -1)
    else:
        counts = np.maximum((~missing).sum(axis=1), 1)
        x, y = (np.where(missing.all(axis=1), np.nan, np.where(missing, 0, m).sum(axis=1) / counts)
                for m in (x, y))
    values = grouped(x, y, coefficient, kendall=kendall)
    if constant == "zero":
        values = np.where(missing.all(axis=(1, 2)), np.nan, np.nan_to_num(values))
    return values


def _mean(values, counted):
    total, n = np.where(counted, values, 0).sum(axis=1), counted.sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)
