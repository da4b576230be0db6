"""Bootstrap intervals for correlations at any level.

Documents, systems or both are resampled with replacement (Deutsch et al. 2021 call the
last "boot-both"): a metric that is to be trusted on other texts by other systems has to be
uncertain about both.
"""

from typing import NamedTuple

import numpy as np

from nlgjudge.metaeval.correlation import LEVELS, correlation, grouped

UNITS = ("documents", "systems", "both")
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
             resamples=1000, confidence=0.95, constant="skip", kendall="b"):
    """Percentile bootstrap interval of a correlation.

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

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        For unknown options, and as `correlation` does.
    """
    if units not in UNITS or level not in LEVELS or not 0 < confidence < 1 or resamples < 1:
        raise ValueError(f"units={units!r}, level={level!r}, confidence={confidence}, resamples={resamples}: "
                         f"expected one of {UNITS}, one of {LEVELS}, a share in (0, 1) and at least 1")
    value = correlation(frame, metric, human, level=level, coefficient=coefficient, constant=constant,
                        kendall=kendall).value
    complete = frame.dropna(subset=[metric, human])
    if complete.empty:
        return Interval(value, np.nan, np.nan, 0)
    x, y = (complete.pivot(index="doc_id", columns="system_id", values=c).to_numpy(float)
            for c in (metric, human))
    draws = np.concatenate([
        _statistic(*(_taken(m, rows, columns) for m in (x, y)), level, coefficient, constant, kendall)
        for rows, columns in _indices(x.shape, units, resamples, level, rng)])
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        return Interval(value, np.nan, np.nan, 0)
    tail = (1 - confidence) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(value, float(low), float(high), len(draws))


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


def _indices(shape, units, resamples, level, rng):
    """Yield row and column numbers of as many resamples as fit into memory together."""
    documents, systems = shape
    rows, columns = (np.tile(np.arange(size), (resamples, 1)) for size in shape)
    if units != "systems" or systems == 1:
        rows = rng.integers(documents, size=rows.shape)
    if units != "documents" and systems > 1:
        columns = rng.integers(systems, size=columns.shape)
    members = documents * systems if level == "dataset" else systems
    chunk = max(1, _CELLS // (documents * systems * max(members // 2, 1)))
    for start in range(0, resamples, chunk):
        yield rows[start:start + chunk], columns[start:start + chunk]


def _taken(matrix, rows, columns):
    return matrix[rows[:, :, None], columns[:, None, :]]


def _statistic(x, y, level, coefficient, constant, kendall):
    """Correlation of each resample; arrays are resamples x documents x systems."""
    size, documents, systems = x.shape
    missing = np.isnan(x) | np.isnan(y)
    if level == "sample":
        values = grouped(x.reshape(-1, systems), y.reshape(-1, systems), coefficient,
                         kendall=kendall).reshape(size, documents)
        counted = ~missing.all(axis=2)  # a document without any pair is left out under every policy
        if constant == "skip":
            counted &= ~np.isnan(values)
        elif constant == "zero":
            values = np.nan_to_num(values)
        total, n = np.where(counted, values, 0).sum(axis=1), counted.sum(axis=1)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)
    if level == "dataset":
        x, y = x.reshape(size, -1), y.reshape(size, -1)
    else:
        counts = np.maximum((~missing).sum(axis=1), 1)
        x, y = (np.where(missing.all(axis=1), np.nan, np.where(missing, 0, m).sum(axis=1) / counts)
                for m in (x, y))
    values = grouped(x, y, coefficient, kendall=kendall)
    if constant == "zero":
        values = np.where(missing.all(axis=(1, 2)), np.nan, np.nan_to_num(values))
    return values
