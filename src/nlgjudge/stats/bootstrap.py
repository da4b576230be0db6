"""Bootstrap intervals for correlations at any level.

Documents, systems or both are resampled with replacement (Deutsch et al. 2021 call the
last "boot-both"): a metric that is to be trusted on other texts by other systems has to be
uncertain about both.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from nlgjudge.stats.correlations import (
    LEVELS,
    check_correlation,
    check_options,
    checked_items,
    correlation,
    matrices,
    summary,
    values_of_items,
    with_numbered_keys,
)
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


def interval(
    frame,
    metric,
    human,
    *,
    rng,
    level="sample",
    coefficient="spearman",
    units="both",
    resamples=1000,
    confidence=0.95,
    method="percentile",
    constant="skip",
    kendall="b",
):
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

    Notes
    -----
    How often a 95% interval holds the true value of a judge that is planted at a correlation of 0.5
    (`tests/planted_coverage.py`, bias-corrected intervals, worlds like the benchmarks' ratings):

    - Over documents, with the systems as they are: 93 to 98%, and on BAGEL 90 to 93%.
    - Over both, with one system: 93 to 96% (QAGS, BAGEL). With sixteen: 94 to 97% (SummEval).
    - Over both, with seven systems or five, the interval is too short, because so few systems do not show how
      much systems differ: 85 to 96% (NewsRoom), 73 to 92% (OpenMEVA), 78 to 83% (Topical-Chat), the lower ones at
      dataset level.
    - Over both, with 24 systems that differ little, it is too long: 97 to 100% (RealSumm), because an item's own
      chance is counted with its document and with its system.
    - At system level 92 to 95% (SummEval, NewsRoom, RealSumm), by intervals that are 0.6 to 1.4 wide.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "doc_id": ["d1"] * 4 + ["d2"] * 4, "system_id": ["w", "x", "y", "z"] * 2,
    ...     "human": [1, 2, 3, 4, 2, 1, 4, 3], "a": [1, 2, 4, 3, 2, 1, 4, 3], "b": [2, 1, 4, 3, 1, 3, 2, 4]})
    >>> found = interval(frame, "a", "human", rng=np.random.default_rng(0), resamples=200)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3), found.resamples
    (0.9, 0.0, 1.0, 198)
    """
    _check(units, level, confidence, resamples, method)
    options = {"level": level, "coefficient": coefficient, "constant": constant, "kendall": kendall}
    check_correlation(**options)
    items = checked_items(frame, [metric], human)
    (value,) = _values(items, options)
    if not items.scores.size:
        return Interval(value, np.nan, np.nan, 0)
    (draws,) = resampled(items.scores, units, resamples, rng, options)
    left_out = None
    if method == "bca":
        (left_out,) = without_each(items.scores, units, options)
    return _quantiles(value, draws, confidence, left_out)


def difference(
    frame,
    a,
    b,
    human,
    *,
    rng,
    level="sample",
    coefficient="spearman",
    units="both",
    resamples=1000,
    confidence=0.95,
    method="percentile",
    constant="skip",
    kendall="b",
):
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

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "doc_id": ["d1"] * 4 + ["d2"] * 4, "system_id": ["w", "x", "y", "z"] * 2,
    ...     "human": [1, 2, 3, 4, 2, 1, 4, 3], "a": [1, 2, 4, 3, 2, 1, 4, 3], "b": [2, 1, 4, 3, 1, 3, 2, 4]})
    >>> found = difference(frame, "a", "b", "human", rng=np.random.default_rng(0), resamples=200)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.6, 0.0, 2.0)
    """
    _check(units, level, confidence, resamples, method)
    options = {"level": level, "coefficient": coefficient, "constant": constant, "kendall": kendall}
    check_correlation(**options)
    shared = frame.dropna(subset=[a, b, human])
    items = checked_items(shared, [a, b], human)
    value_a, value_b = _values(items, options)
    value = value_a - value_b
    if not items.scores.size:
        return Interval(value, np.nan, np.nan, 0)
    draws_a, draws_b = resampled(items.scores, units, resamples, rng, options)
    left_out = None
    if method == "bca":
        left_out_a, left_out_b = without_each(items.scores, units, options)
        left_out = left_out_a - left_out_b
    return _quantiles(value, draws_a - draws_b, confidence, left_out)


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

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "doc_id": ["d1"] * 4 + ["d2"] * 4, "system_id": ["w", "x", "y", "z"] * 2,
    ...     "human": [1, 2, 3, 4, 2, 1, 4, 3], "a": [1, 2, 4, 3, 2, 1, 4, 3], "b": [2, 1, 4, 3, 1, 3, 2, 4]})
    >>> from nlgjudge.stats.correlations import correlation_table
    >>> cells = correlation_table(frame, ["a", "b"], ["human"], coefficients=["kendall"])
    >>> table = interval_table(frame, cells, rng=np.random.default_rng(0), resamples=200)
    >>> table[["metric", "ours", "ci_low", "ci_high"]].round(3)
      metric   ours  ci_low  ci_high
    0      a  0.833     0.0      1.0
    1      b  0.167    -1.0      1.0
    """
    frame = with_numbered_keys(frame)
    found = [
        interval(
            frame,
            cell.metric,
            cell.aspect,
            rng=rng,
            level=cell.level,
            coefficient=cell.coefficient,
            **options,
        )
        for cell in cells.itertuples()
    ]
    return cells.assign(ci_low=[one.low for one in found], ci_high=[one.high for one in found])


def mean_interval(
    parts, *, rng, units="both", resamples=1000, confidence=0.95, method="percentile", **options
):
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

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "doc_id": ["d1"] * 4 + ["d2"] * 4, "system_id": ["w", "x", "y", "z"] * 2,
    ...     "human": [1, 2, 3, 4, 2, 1, 4, 3], "a": [1, 2, 4, 3, 2, 1, 4, 3], "b": [2, 1, 4, 3, 1, 3, 2, 4]})
    >>> parts = [(frame, "a", "human"), (frame, "b", "human")]
    >>> found = mean_interval(parts, rng=np.random.default_rng(0), resamples=200)
    >>> round(float(found.value), 3), round(found.low, 3), round(found.high, 3)
    (0.6, -0.5, 1.0)
    """
    options = {
        "level": "sample",
        "coefficient": "spearman",
        "constant": "skip",
        "kendall": "b",
    } | options
    _check(units, options["level"], confidence, resamples, method)
    if not parts:
        raise ValueError("no parts: expected a list of (frame, metric, human)")
    value = np.mean([correlation(*part, **options).value for part in parts])
    draws = []
    left_out = []
    frames = {id(frame): frame for frame, _, _ in parts}.values()
    for frame in frames:
        pairs = [[metric, human] for other, metric, human in parts if other is frame]
        complete = frame.dropna(subset=[column for pair in pairs for column in pair])
        seed = rng.integers(2**62)
        if complete.empty:
            return Interval(value, np.nan, np.nan, 0)
        columns = matrices(complete, [column for pair in pairs for column in pair])
        arrays = columns.reshape(len(pairs), 2, *columns.shape[1:])
        for pair in arrays:
            again = np.random.default_rng(seed)  # the same resamples for each part
            draws.append(resampled(pair, units, resamples, again, options)[0])
        if method == "bca":
            without = sum(without_each(pair, units, options)[0] for pair in arrays)
            left_out.append(value + (without - np.nanmean(without)) / len(parts))
    all_left_out = np.concatenate(left_out) if method == "bca" else None
    return _quantiles(value, np.mean(draws, axis=0), confidence, all_left_out)


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

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "doc_id": ["d1"] * 4 + ["d2"] * 4, "system_id": ["w", "x", "y", "z"] * 2,
    ...     "human": [1, 2, 3, 4, 2, 1, 4, 3], "a": [1, 2, 4, 3, 2, 1, 4, 3], "b": [2, 1, 4, 3, 1, 3, 2, 4]})
    >>> found = column_mean(frame, "a", rng=np.random.default_rng(0), resamples=200)
    >>> round(float(found.value), 3), round(found.low, 3), round(found.high, 3)
    (2.5, 1.5, 3.5)
    """
    _check(units, "dataset", confidence, resamples, "percentile")
    items = checked_items(frame, [column], column)
    if not items.scores.size:
        return Interval(np.nan, np.nan, np.nan, 0)
    values, _ = items.scores
    documents, systems = values.shape
    by_document = np.ones((resamples, documents))
    by_system = np.ones((resamples, systems))
    if documents > 1 and (units != "systems" or systems == 1):
        by_document = _drawn_counts(documents, resamples, rng)
    if systems > 1 and units != "documents":
        by_system = _drawn_counts(systems, resamples, rng)
    total = _weighted_sum(np.nan_to_num(values), by_document, by_system)
    n = _weighted_sum(~np.isnan(values), by_document, by_system)
    means = np.divide(total, n, out=np.full(resamples, np.nan), where=n > 0)
    return _quantiles(np.nanmean(values), means, confidence, None)


def _drawn_counts(size, resamples, rng):
    """How often each of `size` units is in each resample."""
    return rng.multinomial(size, np.full(size, 1 / size), resamples)


def _weighted_sum(values, by_document, by_system):
    """Sum over documents and systems, as often as each resample has them."""
    return np.einsum("rd,ds,rs->r", by_document, values, by_system, optimize=True)


def _check(units, level, confidence, resamples, method):
    check_options(units=(units, UNITS), level=(level, LEVELS), method=(method, METHODS))
    if not 0 < confidence < 1 or resamples < 1:
        raise ValueError(
            f"confidence={confidence}, resamples={resamples}: expected a share in (0, 1) and "
            "at least 1"
        )


def _values(items, options):
    """Each metric's correlation, NaN where there is no item."""
    if not items.scores.size:
        return [np.nan] * (len(items.scores) - 1)
    kind = {name: options[name] for name in ("level", "coefficient", "kendall")}
    several, units = values_of_items(items, **kind)
    return [
        summary(values, options["level"], options["constant"], units, used=units).value
        for values in several
    ]


def _quantiles(value, draws, confidence, left_out):
    """Interval from the quantiles of the draws; bias-corrected and accelerated with `left_out`."""
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        return Interval(value, np.nan, np.nan, 0)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if left_out is not None:
        tails = _bca_tails(tails, value, draws, left_out)
    low, high = np.quantile(draws, tails)
    return Interval(value, float(low), float(high), len(draws))


def _bca_tails(tails, value, draws, left_out):
    """Which quantiles of the draws to take instead of the plain ones (Efron 1987)."""
    equal = np.isclose(draws, value, rtol=0, atol=1e-12)  # all units drawn once, up to rounding
    below = ((draws < value) & ~equal).mean() + equal.mean() / 2
    smallest = 1 / (2 * len(draws))
    bias = special.ndtri(np.clip(below, smallest, 1 - smallest))
    gaps = np.nanmean(left_out) - left_out[~np.isnan(left_out)]
    gaps = gaps / max(np.abs(gaps).max(initial=0), 1e-300)  # the ratio below has no scale
    acceleration = (gaps**3).sum() / (6 * max((gaps**2).sum(), 1) ** 1.5)
    shifted = bias + special.ndtri(tails)
    return special.ndtr(bias + shifted / (1 - acceleration * shifted))
