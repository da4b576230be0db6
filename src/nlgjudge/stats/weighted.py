"""Correlations when a system or an item counts several times, as in a resample.

A resample of systems is a vector of counts, so that all resamples of all documents come out of
a few products of matrices. Ranks and pairs are counted in whole numbers and are exact.
"""

import math

import numpy as np

from nlgjudge.stats.running_sums import running_sums

_FEW = 64  # systems, up to which it is faster to list the pairs
_CACHED = 200_000  # numbers of one array, which is read several times


def weighted(x, y, counts, coefficient, kendall="b"):
    """Correlate each document's systems under each vector of counts.

    Parameters
    ----------
    x, y : numpy.ndarray, shape (n_documents, n_systems)
        NaN where a score is missing; a system counts where both are present.
    counts : numpy.ndarray, shape (n_resamples, n_systems)
        How often each system was drawn.
    coefficient : {"pearson", "spearman", "kendall"}
    kendall : {"b", "c"}

    Returns
    -------
    values : numpy.ndarray, shape (n_resamples, n_documents)
        NaN where the systems drawn do not vary, or are fewer than two.
    present : numpy.ndarray of bool, the same shape
        Whether any system drawn has both scores.
    """
    present = ~(np.isnan(x) | np.isnan(y))
    both = present[:, :, None] & present[:, None, :]
    signs_x = _signs(x, both)
    signs_y = _signs(y, both)
    if coefficient == "spearman":
        values = _spearman(signs_x, signs_y, present, counts)
    else:
        ordered = _Ordered(counts)
        untied_x = ordered.sum(np.abs(signs_x))
        untied_y = ordered.sum(np.abs(signs_y))
        with np.errstate(invalid="ignore", divide="ignore"):
            if coefficient == "pearson":
                values = _pearson(x, y, present, counts)
            elif kendall == "b":
                values = ordered.sum(signs_x * signs_y) / (np.sqrt(untied_x) * np.sqrt(untied_y))
            else:
                possible = _pairs_of_table(signs_x, signs_y, both, present, counts)
                values = ordered.sum(signs_x * signs_y) / possible
        values[(untied_x == 0) | (untied_y == 0)] = np.nan
    return np.clip(values, -1, 1), counts @ present.T > 0


def weighted_items(x, y, counts, coefficient, kendall="b"):
    """Correlate all items under each vector of counts, without a table of all pairs where ranks will do.

    Parameters
    ----------
    x, y : numpy.ndarray, shape (n_items,)
        NaN where a score is missing; an item counts where both are present.
    counts : numpy.ndarray, shape (n_resamples, n_items)
        How often each item was drawn.
    coefficient, kendall
        As for `weighted`.

    Returns
    -------
    values : numpy.ndarray, shape (n_resamples,)
        NaN where the items drawn do not vary, or are fewer than two.
    present : numpy.ndarray of bool, the same shape
        Whether any item drawn has both scores.
    """
    complete = ~(np.isnan(x) | np.isnan(y))
    if not complete.all():
        x = x[complete]
        y = y[complete]
        counts = counts[:, complete]
    present = counts @ np.ones(len(x)) > 0
    if coefficient == "kendall":
        return _kendall_of_items(x, y, counts, kendall), present
    with np.errstate(invalid="ignore", divide="ignore"):
        if coefficient == "pearson":
            everywhere = np.ones((1, len(x)), bool)
            values = _pearson(x[None], y[None], everywhere, counts)[:, 0]
        else:
            values = _spearman_of_items(x, y, counts)
    values[_constant(x, counts) | _constant(y, counts)] = np.nan
    return np.clip(values, -1, 1), present


def _spearman_of_items(x, y, counts):
    """Spearman's coefficient over all items, from whole numbers; resamples are columns, which are added at once."""
    counts = np.ascontiguousarray(counts.T)
    ranks_x = _ranks(x, counts)
    ranks_y = _ranks(y, counts)
    drawn_x = counts * ranks_x
    drawn_y = counts * ranks_y
    values = _products(drawn_x, ranks_y)
    values /= np.sqrt(_products(drawn_x, ranks_x))
    values /= np.sqrt(_products(drawn_y, ranks_y))
    return values


def _products(x, y):
    """Sum of the products in each column."""
    return np.einsum("ib,ib->b", x, y)


def _kendall_of_items(x, y, counts, kendall):
    """Kendall's coefficient over all items; those with the same two scores are one with their counts together."""
    first, group = _same_scores(x, y)
    if len(first) < len(group):
        x = x[first]
        y = y[first]
        counts = _together(counts, group)
    if kendall == "c":
        values, _ = weighted(x[None], y[None], counts, "kendall", kendall)
        return values[:, 0]
    agreement = _agreement(x, y, counts)
    untied_x = _untied(x, counts)
    untied_y = _untied(y, counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = agreement / (np.sqrt(untied_x) * np.sqrt(untied_y))
    values[(untied_x == 0) | (untied_y == 0)] = np.nan
    return np.clip(values, -1, 1)


def _agreement(x, y, counts):
    """Pairs of items drawn in the same order by both scores, less those in opposite order."""
    small = (
        np.float32
    )  # sums of counts are whole numbers below 2^24: exact in half the memory and time
    signs = (_order(x) * _order(y)).astype(small)
    return np.einsum("bi,bi->b", counts.astype(small) @ signs, counts, dtype=float) / 2


def _order(scores):
    """1, 0 or -1 for every pair of items, as the first has the higher, the same or the lower score."""
    first = scores[:, None]
    return (first > scores).view(np.int8) - (first < scores).view(np.int8)


def _same_scores(x, y):
    """The first item of each pair of scores, and for each item the number of its pair."""
    _, of_x = np.unique(x, return_inverse=True)
    distinct, of_y = np.unique(y, return_inverse=True)
    _, first, group = np.unique(of_x * len(distinct) + of_y, return_index=True, return_inverse=True)
    return first, group


def _together(counts, group):
    """Counts of each group of items: whole numbers, so exact. Groups are numbered from 0, without a gap."""
    if not len(group):
        return counts
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(group.max() + 1))
    return np.add.reduceat(counts[:, order], starts, axis=1)


def _untied(scores, counts):
    """Number of pairs of items drawn that have different scores."""
    distinct, group = np.unique(scores, return_inverse=True)
    members = _together(counts, group) if len(distinct) < len(group) else counts
    return (counts.sum(axis=1) ** 2 - (members * members).sum(axis=1)) / 2


def _signs(scores, both):
    """Sign of the difference of every pair of systems, 0 where not both count."""
    differences = scores[:, :, None] - scores[:, None, :]
    return np.sign(differences, where=both, out=np.zeros(both.shape))


def _spearman(signs_x, signs_y, present, counts):
    """Spearman's coefficient; NaN where the systems drawn do not vary."""
    # Whole numbers, and the largest sum is less than the third power of how many systems were drawn.
    exact = np.float32 if counts.sum(axis=1).max() ** 3 < 2**24 else float
    counts = counts.T.astype(exact)
    parts = math.ceil(present.size * counts.shape[1] / _CACHED)
    documents = np.array_split(np.arange(len(present)), max(1, min(parts, len(present))))
    values = [
        _spearman_of_documents(
            signs_x[some].astype(exact), signs_y[some].astype(exact), present[some], counts
        )
        for some in documents
    ]
    return np.concatenate(values).T


def _spearman_of_documents(signs_x, signs_y, present, counts):
    """Spearman's coefficient of some documents, shape (n_documents, n_resamples); resamples are columns."""
    # A midrank less the mean rank is half the sum of the signs against the others.
    ranks_x = np.tensordot(signs_x, counts, (2, 0))
    ranks_y = np.tensordot(signs_y, counts, (2, 0))
    drawn = present[:, :, None] * counts
    drawn_x = drawn * ranks_x
    drawn_y = drawn * ranks_y
    shared = _products_of_systems(drawn_x, ranks_y)
    variation_x = _products_of_systems(drawn_x, ranks_x)
    variation_y = _products_of_systems(drawn_y, ranks_y)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = shared / np.sqrt(variation_x) / np.sqrt(variation_y)
    values[(variation_x == 0) | (variation_y == 0)] = np.nan
    return values


def _products_of_systems(x, y):
    """Sum of the products over each document's systems in each resample."""
    return np.einsum("dsb,dsb->db", x, y).astype(float)


def _pearson(x, y, present, counts):
    total = counts @ present.T
    # Centred and scaled within a document first, for the precision of the sums of squares.
    x = _standardised(x, present)
    y = _standardised(y, present)
    mean_x = counts @ x.T / total
    mean_y = counts @ y.T / total
    shared = counts @ (x * y).T - total * mean_x * mean_y
    variation_x = counts @ (x * x).T - total * mean_x * mean_x
    variation_y = counts @ (y * y).T - total * mean_y * mean_y
    return shared / np.sqrt(variation_x) / np.sqrt(variation_y)


def _standardised(scores, present):
    """Scores less their document's mean, within [-1, 1], and 0 where a score is missing."""
    means = scores.mean(axis=1, where=present, keepdims=True)
    centred = np.where(present, scores - means, 0)
    return centred / np.abs(centred).max(axis=1, keepdims=True, initial=1e-300)


def _constant(scores, counts):
    """Whether all items drawn have one score."""
    distinct = np.unique(scores)
    if not len(distinct):
        return np.ones(len(counts), bool)
    # Most resamples have items of the upper and of the lower half of the scores.
    upper = counts @ (scores >= distinct[len(distinct) // 2]).astype(float)
    unknown = (upper == 0) | (upper == counts.sum(axis=1))
    found = np.zeros(len(counts), bool)
    found[unknown] = _same_score(scores, counts[unknown])
    return found


def _same_score(scores, counts):
    drawn = counts > 0
    lowest = np.where(drawn, scores, np.inf).min(axis=1, initial=np.inf)
    highest = np.where(drawn, scores, -np.inf).max(axis=1, initial=-np.inf)
    return lowest >= highest


def _ranks(scores, counts):
    """Twice each item's midrank in each resample, less twice the mean rank: whole numbers, so exact.

    Items are rows and resamples columns.
    """
    if not len(scores):
        return counts
    small = (
        2 * counts.sum(axis=0).max() < 2**15
    )  # a doubled rank fits into two bytes, which take a third of the time
    _, group = np.unique(scores, return_inverse=True)
    order = np.argsort(group, kind="stable")
    last = np.searchsorted(group[order], np.arange(group.max() + 1), side="right") - 1
    up_to = running_sums(counts[order], np.int16 if small else np.int64)[last]
    centred = up_to - up_to[-1]
    centred[1:] += up_to[:-1]  # those below and those up to a score, less all
    return centred[group].astype(float)


class _Ordered:
    """Pairs of systems drawn, by which tables of all pairs' signs are summed."""

    def __init__(self, counts):
        self.counts = counts
        self.few = counts.shape[1] <= _FEW
        if self.few:
            self.first, self.second = np.triu_indices(counts.shape[1], 1)
            self.pairs = counts[:, self.first] * counts[:, self.second]

    def sum(self, signs):
        """Sum of `signs` over the pairs drawn, shape (n_resamples, n_documents)."""
        if self.few:
            return self.pairs @ signs[:, self.first, self.second].T
        return np.einsum("bds,bs->bd", np.tensordot(self.counts, signs, (1, 1)), self.counts) / 2


def _pairs_of_table(signs_x, signs_y, both, present, counts):
    """Pairs that could be in order, given the smaller number of distinct scores (Stuart 1953)."""
    weights = counts[:, None, :] * present
    classes_x = _distinct(signs_x, both, weights, counts)
    classes_y = _distinct(signs_y, both, weights, counts)
    fewer = np.minimum(classes_x, classes_y)
    return weights.sum(axis=2) ** 2 * (fewer - 1) / fewer / 2


def _distinct(signs, both, weights, counts):
    """Number of distinct scores drawn: each system counts as its share of those with its score."""
    equals = np.tensordot(counts, both & (signs == 0), (1, 2))
    return np.nan_to_num(weights / equals).sum(axis=2)
