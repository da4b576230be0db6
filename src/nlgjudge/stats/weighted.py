"""Correlations when a system or an item counts several times, as in a resample.

A resample of systems is a vector of counts, so that all resamples of all documents come out of
a few products of matrices. Ranks and pairs are counted in whole numbers and are exact.
"""

import numpy as np

_FEW = 64  # systems, up to which it is faster to list the pairs


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
    signs = [np.sign(a[:, :, None] - a[:, None, :], where=both, out=np.zeros(both.shape)) for a in (x, y)]
    untied = [_ordered(np.abs(s), counts) for s in signs] if coefficient != "spearman" else []
    with np.errstate(invalid="ignore", divide="ignore"):
        if coefficient == "kendall":
            values = _ordered(signs[0] * signs[1], counts)
            values /= np.sqrt(untied[0]) * np.sqrt(untied[1]) if kendall == "b" else \
                _pairs_of_table(signs, both, present, counts)
        elif coefficient == "spearman":
            # A midrank less the mean rank is half the sum of the signs against the others.
            ranks, weights = [np.tensordot(counts, s, (1, 2)) for s in signs], counts[:, None, :] * present
            shared, *untied = (np.einsum("bds,bds,bds->bd", weights, *two)
                               for two in (ranks, ranks[:1] * 2, ranks[1:] * 2))
            values = shared / np.sqrt(untied[0]) / np.sqrt(untied[1])
        else:
            values = _pearson(x, y, present, counts)
    values[(untied[0] == 0) | (untied[1] == 0)] = np.nan
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
    there = ~(np.isnan(x) | np.isnan(y))
    x, y, counts = x[there], y[there], counts[:, there]
    present = counts.any(axis=1)
    if coefficient == "kendall":
        return weighted(x[None], y[None], counts, coefficient, kendall)[0][:, 0], present
    with np.errstate(invalid="ignore", divide="ignore"):
        if coefficient == "pearson":
            values = _pearson(x[None], y[None], np.ones((1, len(x)), bool), counts)[:, 0]
        else:
            first, second = (_ranks(scores, counts) for scores in (x, y))
            values = np.einsum("bi,bi,bi->b", counts, first, second)
            for ranks in (first, second):
                values /= np.sqrt(np.einsum("bi,bi,bi->b", counts, ranks, ranks))
    values[_constant(x, counts) | _constant(y, counts)] = np.nan
    return np.clip(values, -1, 1), present


def _constant(scores, counts):
    """Whether all items drawn have one score."""
    drawn = counts > 0
    lowest = np.where(drawn, scores, np.inf).min(axis=1, initial=np.inf)
    highest = np.where(drawn, scores, -np.inf).max(axis=1, initial=-np.inf)
    return lowest >= highest


def _ranks(scores, counts):
    """Twice each item's midrank in each resample, less twice the mean rank: whole numbers, so exact."""
    if not len(scores):
        return counts
    _, group = np.unique(scores, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(group.max() + 1))
    members = np.add.reduceat(counts[:, order], starts, axis=1)  # how often each distinct score was drawn
    below = np.cumsum(members, axis=1) - members
    centred = 2 * below + members - members.sum(axis=1, keepdims=True)
    return centred[:, group]


def _ordered(signs, counts):
    """Sum of `signs` over the pairs of systems drawn."""
    if signs.shape[1] > _FEW:
        return np.einsum("bds,bs->bd", np.tensordot(counts, signs, (1, 1)), counts) / 2
    first, second = np.triu_indices(signs.shape[1], 1)
    return (counts[:, first] * counts[:, second]) @ signs[:, first, second].T


def _pairs_of_table(signs, both, present, counts):
    """Pairs that could be in order, given the smaller number of distinct scores (Stuart 1953)."""
    weights = counts[:, None, :] * present
    classes = [np.nan_to_num(weights / np.tensordot(counts, both & (s == 0), (1, 2))).sum(axis=2)
               for s in signs]
    fewer = np.minimum(*classes)
    return weights.sum(axis=2)**2 * (fewer - 1) / fewer / 2


def _pearson(x, y, present, counts):
    total = counts @ present.T
    # Centred and scaled within a document first, for the precision of the sums of squares.
    x, y = (np.where(present, a - a.mean(axis=1, where=present, keepdims=True), 0) for a in (x, y))
    x, y = (a / np.abs(a).max(axis=1, keepdims=True, initial=1e-300) for a in (x, y))
    means = [counts @ a.T / total for a in (x, y)]
    shared, one, other = (counts @ (a * b).T - total * m * n for a, b, m, n in (
        (x, y, *means), (x, x, *means[:1] * 2), (y, y, *means[1:] * 2)))
    return shared / np.sqrt(one) / np.sqrt(other)
