"""Correlation between a metric and human ratings, at the three levels of meta-evaluation.

Sample and dataset level are equations 1 and 2 of "Is ChatGPT a Good NLG Evaluator?"
(section 4.1); system level correlates the systems' means. Rows of a matrix are groups
(documents), columns its members (systems); NaN marks a score that is missing.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

LEVELS = ("sample", "dataset", "system")
COEFFICIENTS = ("pearson", "spearman", "kendall")
CONSTANT = ("skip", "nan", "zero")
# Above this group size the quadratic pair matrix costs more than scipy's n log n loop.
_PAIRWISE_LIMIT = 400


class Correlation(NamedTuple):
    """A correlation and what it rests on.

    Attributes
    ----------
    value : float
        In [-1, 1], or NaN (then `reason` says why).
    n : int
        Units in the value: documents at sample level, items at dataset level,
        systems at system level.
    n_skipped : int
        Units left out: documents that are constant or have fewer than two rated items,
        items or systems without both scores.
    reason : str
        Why the value is NaN, empty otherwise.
    """

    value: float
    n: int
    n_skipped: int
    reason: str = ""


def correlation(frame, metric, human, *, level="sample", coefficient="spearman",
                constant="skip", kendall="b"):
    """Correlate two score columns of a frame with one row per item.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns `doc_id`, `system_id`, `metric` and `human`; one row per pair of keys.
    metric, human : str
        Names of two numeric columns; NaN marks a missing score, and an item that lacks
        either is left out.
    level : {"sample", "dataset", "system"}
        Mean over documents of the correlation between systems; one correlation over all
        items; correlation between the systems' means.
    coefficient : {"pearson", "spearman", "kendall"}
    constant : {"skip", "nan", "zero"}
        What a group with constant input counts as: left out and counted, NaN for the
        whole result, or a correlation of 0.
    kendall : {"b", "c"}

    Returns
    -------
    Correlation

    Raises
    ------
    ValueError
        For unknown options, missing columns, duplicate keys or infinite scores.
    """
    check_correlation(level, coefficient, constant, kendall)
    check_columns(frame, metric, human)
    return correlation_of_checked(frame, metric, human, level, coefficient, constant, kendall)


def correlation_of_checked(frame, metric, human, level, coefficient, constant, kendall):
    """Correlate as `correlation` does, where options and frame are known to be right.

    Parameters
    ----------
    frame, metric, human, level, coefficient, constant, kendall
        As for `correlation`.

    Returns
    -------
    Correlation
    """
    x, y = (_scores(frame, c) for c in (metric, human))
    complete = ~(np.isnan(x) | np.isnan(y))
    if not complete.any():
        return Correlation(np.nan, 0, 0, "no item has both scores")
    if level == "dataset":
        x, y = x[None, complete], y[None, complete]
        units = len(frame)
    elif level == "system":
        systems = frame["system_id"]
        scores = pd.DataFrame({"x": x[complete], "y": y[complete]})
        means = scores.groupby(systems.values[complete], sort=True).mean()
        x, y = (means[c].to_numpy()[None] for c in "xy")
        units = systems.nunique()
    else:
        keys = (frame[key].values[complete] for key in ("doc_id", "system_id"))
        x, y = _laid_out(*keys, [x[complete], y[complete]])
        units = frame["doc_id"].nunique()
    values = grouped(x, y, coefficient, kendall=kendall)
    return _summary(values, level, constant, units, used=x.shape[1])


def grouped(x, y, coefficient="spearman", *, kendall="b"):
    """Correlate two matrices row by row.

    Parameters
    ----------
    x, y : numpy.ndarray, shape (n_groups, n_members)
        NaN where a score is missing; a member counts where both are present.
    coefficient : {"pearson", "spearman", "kendall"}
    kendall : {"b", "c"}

    Returns
    -------
    numpy.ndarray, shape (n_groups,)
        NaN for a row with constant input or fewer than two members.
    """
    missing = np.isnan(x) | np.isnan(y)
    x, y = np.where(missing, np.nan, x), np.where(missing, np.nan, y)
    if coefficient == "kendall":
        if x.shape[1] > _PAIRWISE_LIMIT:
            return np.array([_scipy_kendall(a, b, kendall) for a, b in zip(x, y)])
        return _kendall(x, y, kendall)
    if coefficient == "spearman":
        x, y = (stats.rankdata(a, axis=1, nan_policy="omit") for a in (x, y))
    return _pearson(x, y)


def correlation_table(frame, metrics, humans, *, levels=("sample",), coefficients=COEFFICIENTS,
                      dataset="", constant="skip", kendall="b"):
    """Correlate every metric column with every human column.

    Parameters
    ----------
    frame : pandas.DataFrame
        As for `correlation`.
    metrics, humans : list of str
        Column names.
    levels, coefficients : sequence of str
    dataset : str
        Written into the column `dataset`.
    constant, kendall : str
        As for `correlation`.

    Returns
    -------
    pandas.DataFrame
        One row per combination: `metric, dataset, aspect, level, coefficient, ours, n,
        n_skipped, reason`.
    """
    rows, checked = [], set()
    for metric, human, level, coefficient in product(metrics, humans, levels, coefficients):
        check_correlation(level, coefficient, constant, kendall)
        if (metric, human) not in checked:
            check_columns(frame, metric, human, keys=not checked)
            checked.add((metric, human))
        rows.append((metric, dataset, human, level, coefficient,
                     *correlation_of_checked(frame, metric, human, level, coefficient, constant, kendall)))
    columns = ["metric", "dataset", "aspect", "level", "coefficient", "ours", "n", "n_skipped", "reason"]
    return pd.DataFrame(rows, columns=columns)


def check_correlation(level, coefficient, constant, kendall):
    check_options(level=(level, LEVELS), coefficient=(coefficient, COEFFICIENTS),
                   constant=(constant, CONSTANT), kendall=(kendall, ("b", "c")))


def check_options(**options):
    for name, (value, allowed) in options.items():
        if value not in allowed:
            raise ValueError(f"{name}={value!r}: expected one of {', '.join(allowed)}")


def checked(frame, metric, human):
    check_columns(frame, metric, human)
    return frame[["doc_id", "system_id", metric, human]]


def check_columns(frame, metric, human, *, keys=True):
    """Refuse a frame that lacks columns, has infinite scores or, where asked to look, two equal keys."""
    needed = ["doc_id", "system_id", metric, human]
    absent = [c for c in needed if c not in frame.columns]
    if absent:
        raise ValueError(f"expected columns {needed}, the frame lacks {absent}; it has "
                         f"{list(frame.columns)}")
    repeated = frame.duplicated(["doc_id", "system_id"]) if keys else np.zeros(0, bool)
    if repeated.any():
        first = frame.loc[repeated, ["doc_id", "system_id"]].iloc[0].tolist()
        raise ValueError(f"expected one row per (doc_id, system_id), got {int(repeated.sum())} "
                         f"repeated, first {first}; aggregate them before correlating")
    if any(np.isinf(frame[c].to_numpy(float)).any() for c in (metric, human)):
        raise ValueError(f"infinite scores in {metric!r} or {human!r}; use NaN for a missing score")


def _scores(frame, column):
    """A column of numbers, the first where several have its name."""
    found = frame[column].to_numpy(float)
    return found if found.ndim == 1 else found[:, 0]


def complete_items(frame, columns):
    """Take the items that have all of some scores, as `dropna` does but without copying what is complete.

    Parameters
    ----------
    frame : pandas.DataFrame
    columns : list of str
        Numeric; NaN marks a missing score.

    Returns
    -------
    pandas.DataFrame
    """
    missing = np.isnan([_scores(frame, column) for column in columns]).any(axis=0)
    return frame[~missing] if missing.any() else frame


def matrices(frame, columns):
    """Lay columns out as documents x systems, both sorted.

    Parameters
    ----------
    frame : pandas.DataFrame
        `doc_id, system_id` and the columns, one row per pair of keys.
    columns : list of str

    Returns
    -------
    numpy.ndarray, shape (n_columns, n_documents, n_systems)
        NaN where the frame has no row.
    """
    return _laid_out(frame["doc_id"], frame["system_id"], [_scores(frame, column) for column in columns])


def _laid_out(documents, systems, columns):
    (row, documents), (place, systems) = (pd.factorize(keys, sort=True) for keys in (documents, systems))
    found = np.full((len(columns), len(documents), len(systems)), np.nan)
    found[:, row, place] = columns
    return found


def _pearson(x, y):
    sizes = [np.nan_to_num(np.abs(a)).max(axis=1, initial=0) for a in (x, y)]
    with np.errstate(invalid="ignore", divide="ignore"):
        count = (~np.isnan(x)).sum(axis=1)
        x, y = (np.nan_to_num(a - (np.nansum(a, axis=1) / count)[:, None]) for a in (x, y))
        # A row that is constant up to rounding has no correlation.
        norms = [np.sqrt((a * a).sum(axis=1)) for a in (x, y)]
        value = (x / norms[0][:, None] * (y / norms[1][:, None])).sum(axis=1)
    value[(count < 2) | _constant(x, sizes[0]) | _constant(y, sizes[1])] = np.nan
    return np.clip(value, -1, 1)


def _constant(centred, size):
    return np.abs(centred).max(axis=1, initial=0) <= 1e-13 * size


def _kendall(x, y, variant):
    upper = np.triu_indices(x.shape[1], 1)
    dx, dy = (np.sign(a[:, upper[0]] - a[:, upper[1]]) for a in (x, y))
    pairs = (~np.isnan(dx)).sum(axis=1)
    agreement = np.nansum(dx * dy, axis=1)
    untied = [pairs - (d == 0).sum(axis=1) for d in (dx, dy)]
    with np.errstate(invalid="ignore", divide="ignore"):
        if variant == "b":
            value = agreement / np.sqrt(untied[0]) / np.sqrt(untied[1])
        else:
            count = (~np.isnan(x)).sum(axis=1)
            classes = np.array([min(len(np.unique(r[~np.isnan(r)])) for r in rows) for rows in zip(x, y)])
            value = 2 * agreement / (count**2 * (classes - 1) / classes)
    value[(untied[0] == 0) | (untied[1] == 0)] = np.nan
    return np.clip(value, -1, 1)


def _scipy_kendall(x, y, variant):
    keep = ~np.isnan(x)
    x, y = x[keep], y[keep]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    return stats.kendalltau(x, y, variant=variant).statistic


def _summary(values, level, constant, units, used):
    undefined = np.isnan(values)
    if level == "sample":
        counted = len(values) if constant == "zero" else int((~undefined).sum())
        skipped = units - counted
        if constant == "zero":
            values = np.nan_to_num(values)
        elif constant == "skip":
            values = values[~undefined]
        reason = "constant input in every document"
    else:
        counted, skipped = used, units - used
        values = np.nan_to_num(values) if constant == "zero" else values
        reason = "constant input or fewer than two items"
    value = float(values.mean()) if len(values) else np.nan
    if np.isnan(value) and constant == "nan" and level == "sample":
        reason = f"constant input in {int(undefined.sum())} documents"
    return Correlation(value, counted, skipped, reason if np.isnan(value) else "")
