"""Correlation between a metric and human ratings, at the three levels of meta-evaluation.

Sample and dataset level are equations 1 and 2 of "Is ChatGPT a Good NLG Evaluator?"
(section 4.1); system level correlates the systems' means. Rows of a matrix are groups
(documents), columns its members (systems); NaN marks a score that is missing.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy  # which imports `scipy.stats` where it is first used, in half a second

LEVELS = ("sample", "dataset", "system")
COEFFICIENTS = ("pearson", "spearman", "kendall")
CONSTANT = ("skip", "nan", "zero")
# Above this group size the quadratic pair matrix costs more than scipy's n log n loop.
_PAIRWISE_LIMIT = 400
# So many keys are put into their order in less time than pandas takes for any.
_SHORT = 500
# Rows of so few members are ranked by comparing them, where there are many rows.
_FEW = 16
# So many scores are correlated at once: their arrays stay near the processor.
_CACHED = 20_000


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


def correlation(
    frame, metric, human, *, level="sample", coefficient="spearman", constant="skip", kendall="b"
):
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

    Examples
    --------
    The mean of a document with one pair in the wrong order and one with none, then one correlation over all
    eight items.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "doc_id": ["d1"] * 4 + ["d2"] * 4, "system_id": ["w", "x", "y", "z"] * 2,
    ...     "human": [1, 2, 3, 4, 2, 1, 4, 3], "a": [1, 2, 4, 3, 2, 1, 4, 3], "b": [2, 1, 4, 3, 1, 3, 2, 4]})
    >>> correlation(frame, "a", "human")
    Correlation(value=0.9, n=2, n_skipped=0, reason='')
    >>> correlation(frame, "a", "human", level="dataset").n
    8
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
    x = _scores(frame, metric)
    y = _scores(frame, human)
    complete = ~(np.isnan(x) | np.isnan(y))
    if not complete.any():
        return Correlation(np.nan, 0, 0, "no item has both scores")
    if level == "dataset":
        x = x[None, complete]
        y = y[None, complete]
    elif level == "system":
        means = _system_means(
            frame["system_id"].values[complete], {"x": x[complete], "y": y[complete]}
        )
        x = means["x"].to_numpy()[None]
        y = means["y"].to_numpy()[None]
    else:
        keys = (frame[key].values[complete] for key in ("doc_id", "system_id"))
        x, y = _laid_out(*keys, [x[complete], y[complete]])
    values = grouped(x, y, coefficient, kendall=kendall)
    return summary(values, level, constant, number_of_units(frame, level), used=x.shape[1])


class Items(NamedTuple):
    """Items that have all of some scores.

    Attributes
    ----------
    systems : array_like, shape (n_items,)
    columns : numpy.ndarray, shape (n_columns, n_items)
        The scores in the frame's order.
    scores : numpy.ndarray, shape (n_columns, n_documents, n_systems)
        The same as `matrices`; of no document and no system where there is no item.
    """

    systems: np.ndarray
    columns: np.ndarray
    scores: np.ndarray


def checked_items(frame, metrics, human):
    """Look through a frame as `check_columns` does, and lay out the items that have all scores.

    Parameters
    ----------
    frame, human
        As for `correlation`.
    metrics : list of str

    Returns
    -------
    Items
        Its columns are `metrics` and, last, `human`.

    Raises
    ------
    ValueError
        As `correlation` does.
    """
    names = [*metrics, human]
    if any(name not in frame.columns for name in ("doc_id", "system_id", *names)):
        _refuse(frame, metrics, human)
    columns = np.stack([_scores(frame, name) for name in names])
    documents = frame["doc_id"]
    systems = frame["system_id"]
    missing = np.isnan(columns).any(axis=0)
    wrong = np.isinf(columns).any() or (missing.any() and _has_repeated_keys(frame))
    if missing.any():
        columns = columns[:, ~missing]
        documents = documents[~missing]
        systems = systems[~missing]
    scores = (
        _laid_out(documents, systems, columns) if columns.size else np.empty((len(names), 0, 0))
    )
    two_in_one_place = np.count_nonzero(~np.isnan(scores[0])) < columns.shape[1]
    if wrong or two_in_one_place:
        _refuse(frame, metrics, human)
    return Items(systems.values, columns, scores)


def _refuse(frame, metrics, human):
    """Raise what `check_columns` finds wrong, if it does."""
    for metric in metrics:
        check_columns(frame, metric, human)


def values_of_items(items, *, level, coefficient, kendall):
    """Correlate metrics with human ratings within each group.

    Parameters
    ----------
    items : Items
        One at least.
    level, coefficient, kendall : str
        As for `correlation`.

    Returns
    -------
    several : list of numpy.ndarray, shape (n_groups,)
        For each column but the last, which has the human ratings.
    units : int
        Documents at sample level, items at dataset level, systems at system level.
    """
    if level == "sample":
        columns = items.scores
    elif level == "dataset":
        columns = items.columns[:, None]
    else:
        means = _system_means(items.systems, dict(enumerate(items.columns)))
        columns = [means[place].to_numpy()[None] for place in range(len(items.columns))]
    *several, ratings = columns
    units = ratings.shape[0 if level == "sample" else 1]
    return grouped_together(several, ratings, coefficient, kendall=kendall), units


def _system_means(systems, columns):
    """Mean of each column over the items of each system, in the order of the systems."""
    # By a column's name: an array of keys would first be written out, for an error that pandas drops.
    return pd.DataFrame({"system": systems, **columns}).groupby("system", sort=True).mean()


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

    Examples
    --------
    >>> import numpy as np
    >>> human = np.array([[1, 2, 3], [1, 2, 3]])
    >>> metric = np.array([[1, 2, 3], [5, 5, 5]])
    >>> grouped(metric, human, "pearson")
    array([ 1., nan])
    """
    rows, members = x.shape
    together = max(1, _CACHED // max(members, 1))
    parts = [slice(start, start + together) for start in range(0, max(rows, 1), together)]
    return np.concatenate(
        [grouped_together([x[part]], y[part], coefficient, kendall=kendall)[0] for part in parts]
    )


def grouped_together(several, y, coefficient="spearman", *, kendall="b"):
    """Correlate each of several matrices with one, row by row.

    Parameters
    ----------
    several : iterable of numpy.ndarray
        Each as `x` of `grouped`. What is the same for all of them is computed once.
    y, coefficient, kendall
        As for `grouped`.

    Returns
    -------
    list of numpy.ndarray
        What `grouped` gives for each.

    Examples
    --------
    >>> import numpy as np
    >>> human = np.array([[1, 2, 3]])
    >>> grouped_together([human, -human], human, "pearson")
    [array([1.]), array([-1.])]
    """
    found = []
    missing_before = None
    for x in several:
        missing = np.isnan(x) | np.isnan(y)
        x = np.where(missing, np.nan, x)
        if coefficient == "kendall":
            kept = np.where(missing, np.nan, y)
            if x.shape[1] > _PAIRWISE_LIMIT:
                found.append(
                    np.array(
                        [_scipy_kendall(row_x, row_y, kendall) for row_x, row_y in zip(x, kept)]
                    )
                )
            else:
                found.append(_kendall(x, kept, kendall))
            continue
        if missing_before is None or not np.array_equal(missing, missing_before):
            missing_before = missing
            count = (~missing).sum(axis=1)
            complete = not missing.any()
            second = _centred_unit(np.where(missing, np.nan, y), coefficient, count, complete)
        first = _centred_unit(x, coefficient, count, complete)
        found.append(_product(first, second, count))
    return found


def correlation_table(
    frame,
    metrics,
    humans,
    *,
    levels=("sample",),
    coefficients=COEFFICIENTS,
    dataset="",
    constant="skip",
    kendall="b",
):
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
    return table_of_pairs(
        frame,
        list(product(metrics, humans)),
        levels=levels,
        coefficients=coefficients,
        dataset=dataset,
        constant=constant,
        kendall=kendall,
    )


def table_of_pairs(frame, pairs, *, levels, coefficients, dataset, constant, kendall):
    """Make `correlation_table` of pairs of a metric column and a human column.

    Parameters
    ----------
    frame, levels, coefficients, dataset, constant, kendall
        As for `correlation_table`.
    pairs : list of (str, str)

    Returns
    -------
    pandas.DataFrame
    """
    if set(levels) != {"dataset"}:  # which does not look at the keys
        frame = with_numbered_keys(frame)
    rows = []
    seen = set()
    for (metric, human), level, coefficient in product(pairs, levels, coefficients):
        check_correlation(level, coefficient, constant, kendall)
        if (metric, human) not in seen:
            check_columns(frame, metric, human, keys=not seen)
            seen.add((metric, human))
        found = correlation_of_checked(frame, metric, human, level, coefficient, constant, kendall)
        rows.append((metric, dataset, human, level, coefficient, *found))
    columns = [
        "metric",
        "dataset",
        "aspect",
        "level",
        "coefficient",
        "ours",
        "n",
        "n_skipped",
        "reason",
    ]
    return pd.DataFrame(rows, columns=columns)


def number_of_units(frame, level):
    """Count what a correlation at some level rests on: documents, items or systems.

    Parameters
    ----------
    frame : pandas.DataFrame
        With `doc_id` and `system_id`, a row for each item.
    level : {"sample", "dataset", "system"}

    Returns
    -------
    int
    """
    if level == "sample":
        return frame["doc_id"].nunique()
    if level == "dataset":
        return len(frame)
    return frame["system_id"].nunique()


def check_correlation(level, coefficient, constant, kendall):
    """Raise a `ValueError` for an option of `correlation` that is not one of its values."""
    check_options(
        level=(level, LEVELS),
        coefficient=(coefficient, COEFFICIENTS),
        constant=(constant, CONSTANT),
        kendall=(kendall, ("b", "c")),
    )


def check_options(**options):
    """Raise a `ValueError` for an option, given as its value and the values allowed, that is none of them."""
    for name, (value, allowed) in options.items():
        if value not in allowed:
            raise ValueError(f"{name}={value!r}: expected one of {', '.join(allowed)}")


def checked(frame, metric, human):
    """The keys and both scores of a frame in which `check_columns` finds nothing wrong."""
    check_columns(frame, metric, human)
    return frame[["doc_id", "system_id", metric, human]]


def check_columns(frame, metric, human, *, keys=True):
    """Refuse a frame that lacks columns, has infinite scores or, where asked to look, two equal keys."""
    needed = ["doc_id", "system_id", metric, human]
    absent = [column for column in needed if column not in frame.columns]
    if absent:
        raise ValueError(
            f"expected columns {needed}, the frame lacks {absent}; it has {list(frame.columns)}"
        )
    if keys and _has_repeated_keys(frame):
        repeated = frame.duplicated(["doc_id", "system_id"])
        first = frame.loc[repeated, ["doc_id", "system_id"]].iloc[0].tolist()
        raise ValueError(
            f"expected one row per (doc_id, system_id), got {int(repeated.sum())} "
            f"repeated, first {first}; aggregate them before correlating"
        )
    if any(np.isinf(frame[column].to_numpy(float)).any() for column in (metric, human)):
        raise ValueError(f"infinite scores in {metric!r} or {human!r}; use NaN for a missing score")


def with_numbered_keys(frame):
    """Number documents and systems in their order, which every further look at a frame's keys is quicker for.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
        The frame itself where it lacks keys, or where `check_columns` has to name a key that occurs twice.
    """
    keys = ["doc_id", "system_id"]
    if (
        any(key not in frame for key in keys)
        or frame[keys].isna().any(axis=None)
        or _has_repeated_keys(frame)
    ):
        return frame
    return frame.assign(**{key: _sorted_places(frame[key])[0] for key in keys})


def _has_repeated_keys(frame):
    """Whether two rows have the same document and system; a few times as fast as `duplicated`, which says where."""
    document, _ = _numbers(frame["doc_id"])
    system, systems = _numbers(frame["system_id"])
    place = document * systems + system
    return len(place) and np.bincount(place).max() > 1


def _numbers(keys):
    """A number for each key, and how many numbers there are at most."""
    own = _from_lowest(keys)
    if own is not None:
        return own, int(own.max()) + 1
    numbers, distinct = pd.factorize(keys, use_na_sentinel=False)
    return numbers, len(distinct)


def _from_lowest(keys):
    """Whole numbers less the lowest of them; None for other keys, and where they lie too far apart."""
    if keys.dtype != np.int64 or not len(keys):
        return None
    own = np.asarray(keys)
    lowest = own.min()
    if int(own.max()) - int(lowest) >= len(own):
        return None
    return own - lowest


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
    return _laid_out(
        frame["doc_id"], frame["system_id"], [_scores(frame, column) for column in columns]
    )


def _laid_out(documents, systems, columns):
    """Columns of scores as a matrix each, documents x systems."""
    row, documents = _sorted_places(documents)
    place, systems = _sorted_places(systems)
    found = np.full((len(columns), documents, systems), np.nan)
    found[:, row, place] = columns
    return found


def _sorted_places(keys):
    """Where each key is among the different ones in order, and how many these are."""
    own = _from_lowest(keys)
    if own is not None:
        occurs = np.zeros(own.max() + 1, dtype=bool)
        occurs[own] = True
        places = occurs.cumsum() - 1
        return places[own], places[-1] + 1
    if len(keys) <= _SHORT:
        texts = keys.tolist()
        if set(map(type, texts)) == {str}:
            distinct = sorted(set(texts))
            place = dict(zip(distinct, range(len(distinct))))
            return np.array([place[text] for text in texts]), len(distinct)
    places, distinct = pd.factorize(keys, sort=True)
    return places, len(distinct)


def _ranks(scores):
    """Each row's midranks, NaN where a score is missing; for small rows a few times as fast as scipy's."""
    rows, members = scores.shape
    if not scores.size:
        return np.zeros(scores.shape)
    if members <= _FEW and rows >= 32 * members:
        return _ranks_by_pairs(scores)
    order = scores.argsort(axis=1)  # what is missing comes last
    order += members * np.arange(rows)[:, None]
    ascending = scores.ravel()[order]
    place = np.arange(1, members + 1)
    another = ascending[:, 1:] != ascending[:, :-1]
    first = np.ones(scores.shape, int)
    first[:, 1:] = np.where(another, place[1:], 1)
    last = np.full(scores.shape, members)
    last[:, :-1] = np.where(another, place[:-1], members)
    first = np.maximum.accumulate(first, axis=1)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    found = np.empty(scores.shape)
    found.ravel()[order] = np.where(np.isnan(ascending), np.nan, (first + last) / 2)
    return found


def _ranks_by_pairs(scores):
    """What `_ranks` gives, from each member's comparisons with the others: less time where rows are many and short."""
    columns = np.ascontiguousarray(scores.T)
    lead = np.zeros(
        columns.shape, np.int16
    )  # how many more members a member surpasses than surpass it
    for place, column in enumerate(columns[:-1]):
        later = columns[place + 1 :]
        surpassed_by = (later > column).view(np.int8) - (later < column).view(np.int8)
        lead[place + 1 :] += surpassed_by
        lead[place] -= surpassed_by.sum(axis=0, dtype=np.int16)
    missing = np.isnan(columns)
    present = len(columns) - missing.sum(axis=0)
    found = (lead + (present + 1)) / 2
    found[missing] = np.nan
    return np.ascontiguousarray(found.T)


def _centred_unit(scores, coefficient, count, complete):
    """What `_unit` gives for scores, or for their ranks."""
    if coefficient == "spearman":
        scores = _ranks(scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        return _unit(scores, count, complete)


def _product(first, second, count):
    """Correlation of rows of length 1, NaN where one is constant or has fewer than two members."""
    unit_x, constant_x = first
    unit_y, constant_y = second
    with np.errstate(invalid="ignore", divide="ignore"):
        value = (unit_x * unit_y).sum(axis=1)
    value[(count < 2) | constant_x | constant_y] = np.nan
    return np.clip(value, -1, 1)


def _unit(scores, count, complete):
    """Each row centred and of length 1, 0 where a score is missing; and whether a row is constant."""
    total = scores.sum(axis=1) if complete else np.nansum(scores, axis=1)
    means = total / count
    centred = scores - means[:, None]
    size = np.abs(scores)
    if not (complete and np.isfinite(means).all()):
        centred = np.nan_to_num(centred)
        size = np.nan_to_num(size)
    length = np.sqrt((centred * centred).sum(axis=1))
    # A row that is constant up to rounding has no correlation.
    constant = _largest(np.abs(centred)) <= 1e-13 * _largest(size)
    return centred / length[:, None], constant


def _largest(scores):
    """The largest number of each row, at least 0; of many short rows found column by column, which takes less time."""
    rows, members = scores.shape
    if rows > members:
        return np.ascontiguousarray(scores.T).max(axis=0, initial=0)
    return scores.max(axis=1, initial=0)


def _kendall(x, y, variant):
    first, second = np.triu_indices(x.shape[1], 1)
    signs_x = np.sign(x[:, first] - x[:, second])
    signs_y = np.sign(y[:, first] - y[:, second])
    pairs = (~np.isnan(signs_x)).sum(axis=1)
    agreement = np.nansum(signs_x * signs_y, axis=1)
    untied_x = pairs - (signs_x == 0).sum(axis=1)
    untied_y = pairs - (signs_y == 0).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if variant == "b":
            value = agreement / np.sqrt(untied_x) / np.sqrt(untied_y)
        else:
            count = (~np.isnan(x)).sum(axis=1)
            classes = np.minimum(_distinct(x), _distinct(y))
            value = 2 * agreement / (count**2 * (classes - 1) / classes)
    value[(untied_x == 0) | (untied_y == 0)] = np.nan
    return np.clip(value, -1, 1)


def _distinct(scores):
    """Number of distinct scores in each row."""
    return np.array([len(np.unique(row[~np.isnan(row)])) for row in scores])


def _scipy_kendall(x, y, variant):
    """Kendall's coefficient of one long row."""
    keep = ~np.isnan(x)
    x = x[keep]
    y = y[keep]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    return scipy.stats.kendalltau(x, y, variant=variant).statistic


def summary(values, level, constant, units, used):
    """One result of the groups' correlations, by the policy for constant input.

    Parameters
    ----------
    values : numpy.ndarray, shape (n_groups,)
    level, constant : str
        As for `correlation`.
    units : int
        Documents, items or systems in the frame.
    used : int
        Those with both scores; not looked at where a document's own correlation says whether it counts.

    Returns
    -------
    Correlation
    """
    undefined = np.isnan(values)
    if constant == "zero":
        values = np.nan_to_num(values)
    elif constant == "skip" and level == "sample":
        values = values[~undefined]
    value = float(values.mean()) if len(values) else np.nan
    if level != "sample":
        counted = used
        reason = "constant input or fewer than two items"
    else:
        counted = len(values) if constant == "zero" else int((~undefined).sum())
        reason = "constant input in every document"
        if constant == "nan":
            reason = f"constant input in {int(undefined.sum())} documents"
    if not np.isnan(value):
        reason = ""
    return Correlation(value, counted, units - counted, reason)
