"""Confidence intervals of correlations: leave out each document in turn, with a t quantile.

An interval for "these" systems says how the value would vary on other documents like these. One
for "other" systems leaves out each system too and adds both variances: it says how the value would
vary for as many other systems as well. Nothing is drawn, so equal scores have equal intervals; of more than 500
documents at dataset level, equal scores of the same `doc_id`.

There, 500 groups of documents are left out (the delete-a-group jackknife; Kott 2001, Journal of Official
Statistics 17, and Wolter 2007, section 4.2): the time would else grow with the square of their number. A
document's group depends on a digest of its id, and not on the order of the frame. With values t of G groups of
nearly equal size, the variance is (G - 1) / G times the sum of (t - mean t)**2, as it is for single documents,
with G - 1 degrees of freedom.

On populations fitted to the benchmarks' ratings, an interval of 95% for these systems holds the true
value in 92 to 97% of studies, and one for other systems in at least 91%. Elsewhere it can be less: 70% where
a few documents lie far from the others. An interval has a notice if one document has a large part of the
variance. Its absence proves nothing: far documents that your study happens to miss give none
(`notebooks/beyond_statistics_validity.ipynb`).
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy

from nlgjudge.stats.correlations import (
    PAIR,
    Coefficient,
    Constant,
    Kendall,
    Level,
    check_correlation,
    check_options,
    correlation_of,
    group_correlations,
    matrices,
    mean_of_groups,
    units_with_scores,
)

Systems = Literal["these", "other"]
SYSTEMS = ("these", "other")
GROUPS = 500  # more documents than that are left out in groups, at dataset level
DOCUMENTS = 10  # with fewer no interval is given
# With fewer systems no interval for other systems is given.
OTHER_SYSTEMS = {"sample": 4, "dataset": 6, "system": 12}
OTHER_SYSTEMS_OF_A_MEAN = 12
# One of n documents may have this part of the variance; in populations like the benchmarks' few have more.
LARGE_PART = (0.8, 3)  # the second over √n
_BLOCK = 1 << 22  # scores that are correlated at once


class Interval(NamedTuple):
    """A correlation with its 95% interval.

    Attributes
    ----------
    value, low, high
        low <= value <= high; both bounds are NaN where no interval is valid.
    n
        Documents with a correlation; items where there is one system, systems at system level.
    reason
        Why there is no interval, empty otherwise.
    notice
        That one of n documents has more than 3 / √n (at most 80%) of the variance, so that the
        interval may be too short; empty otherwise.
    """

    value: float
    low: float
    high: float
    n: int
    reason: str = ""
    notice: str = ""


def interval(
    frame: pd.DataFrame,
    metric: str | Sequence[str],
    human: str | Sequence[str],
    *,
    weights: Sequence[float] | None = None,
    level: Level = "sample",
    coefficient: Coefficient = "spearman",
    systems: Systems = "these",
    constant: Constant = "skip",
    kendall: Kendall = "b",
) -> Interval:
    """Give a correlation's interval, on Fisher's z scale for these systems.

    Parameters
    ----------
    frame, metric, human, level, coefficient, constant, kendall
        As for `nlgjudge.correlation`. With one system, items are left out at dataset level. Lists of
        columns give the mean of the pairs' correlations, as tables print in a column AVG; a document is
        left out of all of them at once. For other systems a mean needs 12 of them.
    weights
        Of the mean, 1 / n each by default. With negative ones the value is a difference, whose interval
        is on the plain scale.
    systems
        For these systems on other documents, or for as many other systems too. System level has an
        interval for other systems only.

    Returns
    -------
    Interval
        Without bounds for fewer than 10 documents with a correlation, a correlation of exactly 1 or
        -1, equal left-out values, and for other systems with fewer than 4 of them (sample level),
        6 (dataset level) or 12 (system level).

    Raises
    ------
    ValueError
        For unknown options, and as `nlgjudge.correlation` does.

    Examples
    --------
    Ten documents, in two of which the judge gets a pair wrong.

    >>> import pandas as pd
    >>> frame = pd.DataFrame([(d, s, s, s if d > 1 else [1, 3, 2, 4][s - 1]) for d in range(10) for s in range(1, 5)],
    ...                      columns=["doc_id", "system_id", "human", "judge"])
    >>> found = interval(frame, "judge", "human")
    >>> [round(number, 3) for number in found[:3]], found.n
    ([0.96, 0.826, 0.991], 10)
    >>> interval(frame.query("doc_id > 0"), "judge", "human").reason
    'fewer than 10 documents with a correlation'
    """
    if isinstance(metric, str) and isinstance(human, str):
        x, y = _matrices(frame, [metric], human, level)
        how = (level, coefficient, constant, kendall)
        return _interval([[(1, x, y)]], how, systems, OTHER_SYSTEMS.get(level))
    return mean_interval(
        [(frame, *pair) for pair in zip(metric, human, strict=True)],
        weights=weights,
        level=level,
        coefficient=coefficient,
        systems=systems,
        constant=constant,
        kendall=kendall,
    )


def mean_interval(
    parts: Sequence[tuple[pd.DataFrame, str, str]],
    *,
    weights: Sequence[float] | None = None,
    level: Level = "sample",
    coefficient: Coefficient = "spearman",
    systems: Systems = "these",
    constant: Constant = "skip",
    kendall: Kendall = "b",
) -> Interval:
    """Give the interval of a weighted mean of correlations of several frames, as `interval` does for one.

    Parts are a frame, a metric and a human column each. Different frames are independent.
    """
    if weights is None:
        weights = [1 / len(parts)] * len(parts)
    frames: dict[int, list] = {}
    for weight, (frame, metric, human) in zip(weights, parts, strict=True):
        part = (weight, *_matrices(frame, [metric], human, level))
        frames.setdefault(id(frame), []).append(part)
    how = (level, coefficient, constant, kendall)
    return _interval(list(frames.values()), how, systems, OTHER_SYSTEMS_OF_A_MEAN)


def difference(
    frame: pd.DataFrame,
    a: str,
    b: str,
    human: str,
    *,
    level: Level = "sample",
    coefficient: Coefficient = "spearman",
    systems: Systems = "these",
    constant: Constant = "skip",
    kendall: Kendall = "b",
) -> Interval:
    """Give the interval of the correlation of metric `a` minus that of `b`, on the plain scale.

    Both are correlated over the items with all three scores. For other systems the larger of the two
    variances is taken. Parameters and errors are those of `interval`.
    """
    x, y, ratings = _matrices(frame, [a, b], human, level)
    how = (level, coefficient, constant, kendall)
    parts = [(1, x, ratings), (-1, y, ratings)]
    return _interval([parts], how, systems, OTHER_SYSTEMS.get(level))


def interval_table(frame: pd.DataFrame, cells: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Add an interval to each line of a table of correlations.

    Parameters
    ----------
    frame
        As for `interval`.
    cells
        `metric, aspect, level, coefficient`, from `nlgjudge.correlation_table`.
    **options
        Of `interval`: `systems, constant, kendall`.

    Returns
    -------
    pandas.DataFrame
        `cells` with `ci_low, ci_high, ci_reason` and `ci_notice`.
    """
    intervals = [
        interval(
            frame,
            cell.metric,
            cell.aspect,
            level=cell.level,
            coefficient=cell.coefficient,
            **options,
        )
        for cell in cells.itertuples()
    ]
    names = ("low", "high", "reason", "notice")
    return cells.assign(**{f"ci_{name}": [getattr(i, name) for i in intervals] for name in names})


def _matrices(frame, metrics, human, level):
    """As `matrices`; where documents are left out in groups, they are in the order of a digest of their ids."""
    scores = matrices(frame, metrics, human)
    if level != "dataset" or scores.shape[1] <= GROUPS:
        return scores
    _, ids = pd.factorize(frame["doc_id"], sort=True)
    digests = [blake2b(str(one).encode(), digest_size=8).hexdigest() for one in ids]
    return scores[:, np.argsort(digests)]


def _interval(frames, how, systems, least):
    """The interval of a weighted sum of correlations: a list of (weight, x, y) for each frame."""
    check_correlation(*how)
    level = how[0]
    check_options(systems=(systems, SYSTEMS[:1] if level == PAIR else SYSTEMS))
    frames = [[(*part, correlation_of(*part[1:], *how)) for part in parts] for parts in frames]
    every = [part for parts in frames for part in parts]
    value = float(sum(weight * whole.value for weight, *_, whole in every))
    is_difference = any(weight < 0 for weight, *_ in every)
    n = min(whole.n for *_, whole in every)
    reason = next((whole.reason for *_, whole in every if whole.reason), "")
    if level == "system" and systems == "these":
        reason = reason or "none is valid at system level for these systems"
    kind, lowest = ("share", 0.0) if level == PAIR else ("correlation", -1.0)
    if not is_difference and not lowest + 1e-12 < value < 1 - 1e-12:
        reason = reason or f"the {kind} is exactly 1 or {lowest:g}"
    if reason:
        return Interval(value, np.nan, np.nan, n, reason)
    documents = []
    others = []
    if level != "system":
        documents = [_left_out(_in_groups(parts, level), 0, how) for parts in frames]
    if systems == "other":
        others = [_left_out(parts, 1, how) for parts in frames]
    n = sum(map(len, documents or others))
    unit = "documents"
    if level == "dataset":
        n = sum(int(_rated(parts).sum()) for parts in frames)
        unit = "documents" if n == sum(map(len, documents)) else "groups of documents"
    reason = _objection(documents, others, least)
    if reason:
        return Interval(value, np.nan, np.nan, n, reason)
    half = half_width(documents, others, larger=is_difference)
    notice = large_part(*documents, unit=unit)
    if is_difference:
        return Interval(value, value - half, value + half, n, notice=notice)
    if documents and others:
        ends = max(value - half, -1.0), min(value + half, 1.0)
        return Interval(value, *ends, n, notice=notice)
    low, high = on_z_scale(value, half, lowest)
    return Interval(value, min(low, value), max(high, value), n, notice=notice)


def _rated(parts):
    """Which documents have scores in one of a frame's parts."""
    return np.any([units_with_scores(y, "sample") for _, _, y, _ in parts], axis=0)


def _in_groups(parts, level):
    """Parts of a frame with a row for each group of documents, where there are too many documents."""
    rated = _rated(parts)
    n = rated.sum()
    if level != "dataset" or n <= GROUPS:
        return parts
    members = np.array_split(np.flatnonzero(rated), GROUPS)

    def joined(scores):
        rows = np.full((GROUPS, len(members[0]) * scores.shape[1]), np.nan)
        for row, group in zip(rows, members):
            row[: len(group) * scores.shape[1]] = scores[group].ravel()
        return rows

    return [(weight, joined(x), joined(y), whole) for weight, x, y, whole in parts]


def _left_out(parts, axis, how):
    """The weighted sum without each document (axis 0) or system (axis 1) that has a part in it; inf if undefined."""
    columns = [_without_each(x, y, axis, *how) for _, x, y, _ in parts]
    used = ~np.isnan(columns).all(axis=0)
    total = 0
    for column, (weight, *_, whole) in zip(columns, parts):
        total = total + weight * np.where(np.isnan(column), whole.value, column)[used]
    return total


def _without_each(x, y, axis, level, coefficient, constant, kendall):
    """The correlation without each document or system, NaN for one that has no part in it, inf if undefined."""
    if level in ("sample", PAIR) and axis == 0:
        groups = group_correlations(x, y, level, coefficient, kendall)
        if constant == "zero":
            groups = np.where(units_with_scores(y, level), np.nan_to_num(groups), np.nan)
        used = (~np.isnan(groups)).sum()
        mean = np.nanmean(groups)
        return mean + (mean - groups) / max(used - 1, 1)
    without = np.full(y.shape[axis], np.nan)
    places = np.flatnonzero((~np.isnan(y)).any(axis=1 - axis))
    if level == "dataset" and coefficient == "spearman":
        values = np.array([*_ranks_without_each(x, y, axis, places)])
        values = np.nan_to_num(values) if constant == "zero" else values
        without[places] = np.where(np.isnan(values), np.inf, values)
        return without
    step = max(1, _BLOCK // y.size)
    for start in range(0, len(places), step):
        block = places[start : start + step]
        some_x = np.array([np.delete(x, place, axis) for place in block])
        some_y = np.array([np.delete(y, place, axis) for place in block])
        groups = group_correlations(some_x, some_y, level, coefficient, kendall)
        values = mean_of_groups(groups, some_y, level, constant)
        without[block] = np.where(np.isnan(values), np.inf, values)
    return without


def _ranks_without_each(x, y, axis, places):
    """Spearman's coefficient over all items without those of each place; no score is sorted again.

    A rank, doubled and centred, is the number of lower scores less that of higher ones, so that without some
    items it lacks what those contributed.
    """
    there = ~np.isnan(y)
    place = np.nonzero(there)[axis]
    ranks = [2 * scipy.stats.rankdata(scores[there]) - there.sum() - 1 for scores in (x, y)]
    numbers = [np.unique(rank, return_inverse=True)[1] for rank in ranks]
    for one in places:
        kept = place != one
        left = []
        for rank, number in zip(ranks, numbers):
            gone = np.bincount(number[~kept], minlength=number.max() + 1)
            lower_less_higher = 2 * np.cumsum(gone) - gone - gone.sum()
            left.append((rank - lower_less_higher[number])[kept])
        of_x, of_y = left
        with np.errstate(invalid="ignore"):
            yield of_x @ of_y / np.sqrt((of_x @ of_x) * (of_y @ of_y))


def _objection(documents, others, least):
    """Why left-out values give no interval, empty where they do."""
    if any(len(values) < DOCUMENTS for values in documents):
        return f"fewer than {DOCUMENTS} documents with a correlation"
    if any(len(values) < least for values in others):
        return f"fewer than {least} systems, which do not show how other systems vary"
    if any(np.isinf(values).any() for values in documents):
        return "undefined without one of the documents"
    if any(np.isinf(values).any() for values in others):
        return "undefined without one of the systems"
    if all(np.ptp(values) < 1e-12 for values in documents + others):
        return "all left-out values are equal"
    return ""


def large_part(*parts: np.ndarray, unit: str = "documents") -> str:
    """A notice where one document has a large part of the variance of each array's values; empty elsewhere."""
    squares = np.concatenate([np.zeros(1), *((values - values.mean()) ** 2 for values in parts)])
    n = len(squares) - 1
    share = squares.max() / (squares.sum() or 1)
    if share <= min(LARGE_PART[0], LARGE_PART[1] / np.sqrt(max(n, 1))):
        return ""
    return (
        f"one of {n} {unit} has {share:.0%} of the variance, so the interval may be too short; "
        "look for a document that is unlike the others"
    )


def on_z_scale(value: float, half: float, least: float = -1.0) -> tuple[float, float]:
    """The ends of value ± half on Fisher's z scale of [least, 1]; from 0 to 1 it is half the logit."""
    unit = 2 / (1 - least)
    scaled = 1 - (1 - value) * unit
    z = np.arctanh(scaled) + np.array([-half, half]) * unit / (1 - scaled**2)
    low, high = 1 - (1 - np.tanh(z)) / unit
    return float(low), float(high)


def half_width(documents, others=(), larger=False):
    """A 97.5% t quantile times the standard error, with Satterthwaite's degrees of freedom.

    The variances of documents and of systems are added; of a difference the larger one is taken.
    """
    of_documents = [_variance(values) for values in documents]
    of_systems = [_variance(values) for values in others]
    variances = np.array(of_documents + of_systems)
    freedom = np.array([len(values) - 1 for values in [*documents, *others]])
    df = variances.sum() ** 2 / (variances**2 / freedom).sum()
    sums = sum(of_documents), sum(of_systems)
    variance = max(sums) if larger else sum(sums)
    return float(scipy.stats.t.ppf(0.975, df) * np.sqrt(variance))


def _variance(values):
    return (len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum()
