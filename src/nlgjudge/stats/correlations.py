"""Correlation between a metric and human ratings, at the three levels of meta-evaluation.

Sample and dataset level are equations 1 and 2 of "Is ChatGPT a Good NLG Evaluator?" (section 4.1);
system level correlates the systems' means. Matrices are documents x systems; NaN marks an item
that lacks a score.
"""

from collections.abc import Sequence
from itertools import chain, product
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy

from nlgjudge.data.checks import unknown
from nlgjudge.data.preferences import PAIR

Level = Literal["sample", "dataset", "system", "pair"]
Coefficient = Literal[
    "pearson",
    "spearman",
    "kendall",
    "accuracy",
    "agreement",
    "first",
    "different",
    "hedging",
]
Constant = Literal["skip", "nan", "zero"]
Kendall = Literal["b", "c"]
LEVELS: tuple[Level, ...] = ("sample", "dataset", "system")
COEFFICIENTS: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall")
# Of pairs: a document is a pair of texts, and its systems are the two orders in which it is shown.
SHARES: tuple[Coefficient, ...] = ("accuracy", "agreement", "first")
# Of two ratings: they are different, or equal.
RATED_SHARES: tuple[Coefficient, ...] = ("different", "hedging")
CONSTANT = ("skip", "nan", "zero")
KEYS = ["doc_id", "system_id"]
_PAIRS = 200  # above this many members, a table of all pairs takes too much memory


class Correlation(NamedTuple):
    """A correlation and what it rests on.

    Attributes
    ----------
    value
        In [-1, 1], or NaN (then `reason` says why).
    n
        Units in the value: documents at sample level, items at dataset level, systems at system level.
    n_skipped
        Units left out: documents that are constant or have fewer than two items with both scores,
        items or systems without both scores.
    reason
        Why the value is NaN, empty otherwise.
    """

    value: float
    n: int
    n_skipped: int
    reason: str = ""


def correlation(
    frame: pd.DataFrame,
    metric: str,
    human: str,
    *,
    level: Level = "sample",
    coefficient: Coefficient = "spearman",
    constant: Constant = "skip",
    kendall: Kendall = "b",
) -> Correlation:
    """Correlate two score columns of a frame with one row per item.

    Parameters
    ----------
    frame
        Columns `doc_id`, `system_id` and those of the scores; one row per pair of keys.
    metric, human
        Names of two numeric columns; NaN marks a missing score, and an item that lacks either is
        left out. A judge's name is short for its column ``JUDGE:HUMAN``, as ``"a"`` for ``"a:coherence"``
        with the ratings ``"coherence"``; where there is both, the short name is that column too.
    level
        Mean over documents of the correlation between systems (also called segment or input level);
        one correlation over all items (global); correlation between the systems' means. Means are
        rounded to 12 digits, so that equal means tie.
    constant
        What a group with constant input counts as: left out and counted, NaN for the whole result,
        or a correlation of 0.
    kendall
        Tau b or tau c.

    Raises
    ------
    ValueError
        For unknown options, missing columns, rows without an id, duplicate ids or infinite scores.

    Examples
    --------
    The mean of a document with one pair in the wrong order and one with none, then one correlation
    over all eight items.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "doc_id": ["d1"] * 4 + ["d2"] * 4, "system_id": ["w", "x", "y", "z"] * 2,
    ...     "human": [1, 2, 3, 4, 2, 1, 4, 3], "a": [1, 2, 4, 3, 2, 1, 4, 3]})
    >>> correlation(frame, "a", "human")
    Correlation(value=0.9, n=2, n_skipped=0, reason='')
    >>> correlation(frame, "a", "human", level="dataset").n
    8
    """
    check_correlation(level, coefficient, constant, kendall)
    x, y = matrices(frame, [metric], human)
    result = correlation_of(x, y, level, coefficient, constant, kendall)
    return result._replace(n_skipped=number_of_units(frame, level) - result.n)


def number_of_units(frame: pd.DataFrame, level: Level) -> int:
    """Number of documents at sample level, of items at dataset level, of systems at system level."""
    if level == "dataset":
        return len(frame)
    return frame["system_id" if level == "system" else "doc_id"].nunique()


def correlation_of(x, y, level, coefficient, constant, kendall):
    """Correlate two matrices of documents x systems, NaN at the same items; returns a `Correlation`."""
    units = units_with_scores(y, level)
    if not units.any():
        return Correlation(np.nan, 0, units.size, "no item has both scores")
    groups = group_correlations(x, y, level, coefficient, kendall)
    value = float(mean_of_groups(groups, y, level, constant))
    n = int(units.sum())
    reason = "constant input or fewer than two items"
    if level in ("sample", PAIR):
        defined = ~np.isnan(groups)
        reason = "constant input in every document"
        if constant == "nan":
            reason = f"constant input in {int((units & ~defined).sum())} documents"
        if constant != "zero":
            n = int(defined.sum())
    return Correlation(value, n, units.size - n, "" if np.isfinite(value) else reason)


def units_with_scores(y, level):
    """Which documents, items or systems have scores; shape (..., n_units)."""
    there = ~np.isnan(y)
    if level == "dataset":
        return there.reshape(*y.shape[:-2], -1)
    return there.any(axis=-2 if level == "system" else -1)


def group_correlations(
    x: np.ndarray,
    y: np.ndarray,
    level: Level,
    coefficient: Coefficient,
    kendall: Kendall = "b",
) -> np.ndarray:
    """Correlate matrices within each group: documents at sample level, otherwise one group.

    Parameters
    ----------
    x, y
        Shape (..., n_documents, n_systems), NaN at the same items.

    Returns
    -------
    numpy.ndarray
        Shape (..., n_groups). NaN for a group with constant input or fewer than two items.

    Examples
    --------
    >>> import numpy as np
    >>> human = np.array([[1.0, 2, 3], [1, 2, 3]])
    >>> group_correlations(np.array([[1.0, 2, 3], [5, 5, 5]]), human, "sample", "pearson")
    array([ 1., nan])
    """
    if level == PAIR:
        return _shares(x, y, coefficient)
    if level == "system":
        x, y = np.broadcast_arrays(x, y)  # a mean over documents is of those that both have
        x, y = (system_means(scores)[..., None, :] for scores in (x, y))
    elif level == "dataset":
        x, y = (scores.reshape(*scores.shape[:-2], 1, -1) for scores in (x, y))
    if coefficient != "kendall":
        return _row_correlations(x, y, coefficient)
    x, y = np.broadcast_arrays(x, y)
    *groups, members = x.shape
    n_groups = np.prod(groups, dtype=int)
    x, y = (scores.reshape(n_groups, members) for scores in (x, y))
    return _row_correlations(x, y, coefficient, kendall).reshape(groups)


def _shares(x, y, coefficient):
    """By document, the mean over its pairs; the columns are two orders of a pair, then those of the next."""
    first, second = x[..., 0::2], x[..., 1::2]
    if first.shape != second.shape:
        raise ValueError(
            f"level='pair': expected two orders of each pair, got {x.shape[-1]} in all"
        )
    chosen = np.sign(first - second)
    values = np.abs(chosen)
    if coefficient == "hedging":
        values = 1 - values
    if coefficient == "first":
        values = (first + second) / 2
    if coefficient == "accuracy":
        wanted = np.sign(y[..., 0::2] - y[..., 1::2])
        values = np.where(wanted == 0, np.nan, (1 + chosen * wanted) / 2)
    with np.errstate(invalid="ignore"):
        return np.nansum(values, axis=-1) / (~np.isnan(values)).sum(axis=-1)


def mean_of_groups(groups, y, level, constant):
    """Average the last axis by the policy for constant input; a document without scores never counts."""
    there = units_with_scores(y, level) if level in ("sample", PAIR) else np.ones(1, bool)
    defined = ~np.isnan(groups)
    counted = defined if constant == "skip" else np.broadcast_to(there, groups.shape)
    values = np.where(there if constant == "nan" else defined, groups, 0)
    with np.errstate(invalid="ignore"):
        return values.sum(axis=-1) / counted.sum(axis=-1)


def system_means(scores):
    """Mean over documents, rounded, NaN where a system has no score; shape (..., n_systems)."""
    there = ~np.isnan(scores)
    with np.errstate(invalid="ignore"):
        return rounded(np.where(there, scores, 0).sum(axis=-2) / there.sum(axis=-2))


def rounded(means):
    """Round to 12 digits of the largest mean, so that equal means tie in whatever order they were summed."""
    largest = np.nanmax(np.abs(means), initial=0)
    unit = 10.0 ** np.floor(np.log10(largest)) if largest > 0 else 1.0
    return (means / unit).round(12) * unit


def _row_correlations(x, y, coefficient, kendall="b"):
    """Correlate matrices (n_groups, n_members) row by row; a member counts where both have a score."""
    missing = np.isnan(x) | np.isnan(y)
    if missing.any():  # else ratings that many metrics share are ranked once
        x, y = (np.where(missing, np.nan, scores) for scores in (x, y))
    if not missing.size:
        return np.full(missing.shape[:-1], np.nan)
    if coefficient == "kendall" and x.shape[1] > _PAIRS:
        return np.array([_long_kendall(*row, kendall) for row in zip(x, y)])
    if coefficient == "kendall":
        return _kendall(x, y, kendall)
    if coefficient == "spearman":
        x, y = (scipy.stats.rankdata(scores, axis=-1, nan_policy="omit") for scores in (x, y))
    (x, constant_x), (y, constant_y) = unit(x), unit(y)
    value = np.clip((x * y).sum(axis=-1), -1, 1)
    return np.where(constant_x | constant_y, np.nan, value)


def scaled(scores, axis=None):
    """Scores divided by a power of two, which rounds nothing, so that their squares neither overflow nor vanish."""
    _, exponents = np.frexp(np.nanmax(np.abs(scores), axis=axis, keepdims=True))
    return np.ldexp(scores, -exponents)


def unit(scores):
    """Each row centred and of length 1, 0 where a score is missing; and whether a row is constant."""
    there = ~np.isnan(scores)
    scores = scaled(np.where(there, scores, 0), axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = scores.sum(axis=-1, keepdims=True) / there.sum(axis=-1, keepdims=True)
        centred = np.where(there, scores - means, 0)
        constant = np.abs(centred).max(axis=-1) <= 1e-13 * np.abs(scores).max(axis=-1)
        return centred / np.sqrt((centred**2).sum(axis=-1, keepdims=True)), constant


def _kendall(x, y, variant):
    first, second = np.triu_indices(x.shape[1], 1)
    signs_x, signs_y = (np.sign(scores[:, first] - scores[:, second]) for scores in (x, y))
    agreement = np.nansum(signs_x * signs_y, axis=1)
    untied_x, untied_y = (np.nansum(np.abs(signs), axis=1) for signs in (signs_x, signs_y))
    with np.errstate(invalid="ignore", divide="ignore"):
        if variant == "b":
            value = agreement / np.sqrt(untied_x) / np.sqrt(untied_y)
        else:
            count = (~np.isnan(x)).sum(axis=1)
            classes = np.minimum(_distinct(x), _distinct(y))
            value = 2 * agreement / (count**2 * (classes - 1) / classes)
    return np.where((untied_x == 0) | (untied_y == 0), np.nan, np.clip(value, -1, 1))


def _distinct(scores):
    return np.array([len(np.unique(row[~np.isnan(row)])) for row in scores])


def _long_kendall(x, y, variant):
    x, y = x[~np.isnan(x)], y[~np.isnan(y)]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    return scipy.stats.kendalltau(x, y, variant=variant).statistic


def correlation_table(
    frame: pd.DataFrame,
    metrics: Sequence[str],
    humans: Sequence[str],
    *,
    levels: Sequence[Level] = ("sample",),
    coefficients: Sequence[Coefficient] = COEFFICIENTS,
    dataset: str = "",
    constant: Constant = "skip",
    kendall: Kendall = "b",
) -> pd.DataFrame:
    """Correlate every metric column with every human column.

    Parameters
    ----------
    frame, constant, kendall
        As for `correlation`.
    metrics, humans
        Column names; a metric's as for `correlation`.
    dataset
        Written into the column `dataset`.

    Returns
    -------
    pandas.DataFrame
        One row per combination: `metric, dataset, aspect, level, coefficient, ours, n, n_skipped,
        reason`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "doc_id": ["d1"] * 4 + ["d2"] * 4, "system_id": ["w", "x", "y", "z"] * 2,
    ...     "human": [1, 2, 3, 4, 2, 1, 4, 3], "a": [1, 2, 4, 3, 2, 1, 4, 3], "b": [2, 1, 4, 3, 1, 3, 2, 4]})
    >>> table = correlation_table(frame, ["a", "b"], ["human"], coefficients=["kendall"])
    >>> table[["metric", "aspect", "level", "ours", "n"]].round(3)
      metric aspect   level   ours  n
    0      a  human  sample  0.833  2
    1      b  human  sample  0.167  2
    """
    pairs = list(product(metrics, humans))
    how = {"dataset": dataset, "constant": constant, "kendall": kendall}
    return table_of_pairs(frame, pairs, levels=levels, coefficients=coefficients, **how)


def table_of_pairs(frame, pairs, *, levels, coefficients, dataset, constant, kendall):
    """`correlation_table` of a list of (metric column, human column)."""
    for level, coefficient in product(levels, coefficients):
        check_correlation(level, coefficient, constant, kendall)
    named = [(column_of(frame, metric, human), human) for metric, human in pairs]
    columns = list(dict.fromkeys(chain.from_iterable(named)))
    laid_out = dict(zip(columns, _laid_out(frame, columns)))
    units = {level: number_of_units(frame, level) for level in levels}
    rows = []
    for (metric, human), columns in zip(pairs, named):
        x, y = _complete(np.array([laid_out[column] for column in columns]))
        for level, coefficient in product(levels, coefficients):
            result = correlation_of(x, y, level, coefficient, constant, kendall)
            result = result._replace(n_skipped=units[level] - result.n)
            rows.append((metric, dataset, human, level, coefficient, *result))
    names = ["metric", "dataset", "aspect", "level", "coefficient", "ours"]
    return pd.DataFrame(rows, columns=[*names, "n", "n_skipped", "reason"])


def column_of(frame: pd.DataFrame, judge: str, aspect: str) -> str:
    """The column with a judge's scores of an aspect: ``JUDGE:ASPECT`` or else ``JUDGE``."""
    own = f"{judge}:{aspect}"
    return own if own in frame else judge


def matrices(frame: pd.DataFrame, metrics: Sequence[str], human: str) -> np.ndarray:
    """Check a frame and lay columns out, shape (n_metrics + 1, n_documents, n_systems), both sorted.

    NaN where the frame has no row, and in all columns where a row lacks one of the scores. Columns
    and errors are those of `correlation`.
    """
    columns = [column_of(frame, metric, human) for metric in metrics]
    return _complete(_laid_out(frame, [*columns, human]))


def _complete(scores):
    """Scores with NaN in all columns where one of them lacks a score."""
    return np.where(np.isnan(scores).any(axis=0), np.nan, scores)


def _laid_out(frame, columns):
    """Columns as documents x systems, after a check of the frame."""
    check_frame(frame, KEYS, columns)
    scores = np.array([frame[column].to_numpy(float) for column in columns])
    document, documents = pd.factorize(frame["doc_id"], sort=True)
    system, systems = pd.factorize(frame["system_id"], sort=True)
    laid_out = np.full((len(columns), len(documents), len(systems)), np.nan)
    laid_out[:, document, system] = scores
    return laid_out


def check_frame(frame, keys, columns):
    """Raise a `ValueError` for missing columns, rows without an id, duplicate ids or infinite scores."""
    keys = list(keys)
    absent = [name for name in [*keys, *columns] if name not in frame]
    if absent:
        lacking = "; ".join(_unknown_column(frame, name) for name in absent)
        raise ValueError(f"expected columns {', '.join([*keys, *columns])}: {lacking}")
    nameless = frame[keys].isna().any(axis=1)
    if nameless.any():
        lacking = [key for key in keys if frame[key].isna().any()]
        raise ValueError(
            f"expected {', '.join(keys)} in every row, got {int(nameless.sum())} rows without "
            f"{' or '.join(lacking)}, first at index {frame.index[nameless][0]!r}; "
            "give them an id or drop them"
        )
    repeated = frame.duplicated(keys)
    if repeated.any():
        raise ValueError(
            f"expected one row per ({', '.join(keys)}), got {int(repeated.sum())} repeated, first "
            f"{frame.loc[repeated, keys].iloc[0].tolist()}; aggregate them or choose one aspect"
        )
    for column in columns:
        if np.isinf(frame[column].to_numpy(float)).any():
            raise ValueError(
                f"expected finite scores, got infinite ones in {column!r}; use NaN for a missing score"
            )


def check_size(frame, columns, least):
    """Raise a `ValueError` for scores that are too small or too large for sums of their squares."""
    for column in columns:
        largest = frame[column].abs().max()
        if 0 < largest < least or largest > 1e100:
            raise ValueError(
                f"expected scores of a size from {least:g} to 1e+100, got at most {largest:.3g} in "
                f"{column!r}; multiply them by a constant"
            )


def _unknown_column(frame, name):
    """Say that there is no such column, and which ones are of that judge or come near."""
    columns = [str(column) for column in frame]
    of_judge = [column for column in columns if column.startswith(f"{name}:")]
    judges = {column.rpartition(":")[0] for column in columns if ":" in column}
    return unknown("column", name, of_judge or [*columns, *sorted(judges - {*columns})])


def check_correlation(level, coefficient, constant, kendall):
    """Raise a `ValueError` for an option of `correlation` that is not one of its values."""
    check_options(
        level=(level, (*LEVELS, PAIR)),
        coefficient=(coefficient, (*SHARES, *RATED_SHARES) if level == PAIR else COEFFICIENTS),
        constant=(constant, CONSTANT),
        kendall=(kendall, ("b", "c")),
    )


def check_options(**options):
    """Raise a `ValueError` for an option, given as its value and the values allowed, that is none of them."""
    for name, (value, allowed) in options.items():
        if value not in allowed:
            raise ValueError(f"{name}={value!r}: expected one of {', '.join(allowed)}")
