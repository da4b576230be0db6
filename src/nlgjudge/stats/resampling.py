"""Correlations of resampled documents and systems, for the bootstrap.

Within a document and over all items a resample is a vector of counts, and the correlation is a
weighted one. Systems' means, and Kendall's coefficient over very many items, are drawn out.
"""

import numpy as np

from nlgjudge.stats.correlations import grouped
from nlgjudge.stats.weighted import weighted, weighted_items

_CELLS = 4_000_000  # numbers held at once
_CACHED = 250_000  # numbers of one array over all items, which is read several times
_SQUARE = 2_500  # items at dataset level, up to which Kendall's coefficient holds all their pairs


def resampled(matrices, units, resamples, rng, options):
    """Correlate resamples of documents, systems or both.

    Parameters
    ----------
    matrices : list of numpy.ndarray, shape (n_documents, n_systems)
        Of the metrics and, last, of the human ratings; NaN where a score is missing.
    units : {"documents", "systems", "both"}
    resamples : int
    rng : numpy.random.Generator
    options : dict
        `level, coefficient, constant, kendall` of `nlgjudge.stats.correlations.correlation`.

    Returns
    -------
    numpy.ndarray, shape (n_metrics, resamples)
    """
    shape = matrices[0].shape
    _, systems_vary = _varying(units, shape)
    parts = []
    for rows, columns in _indices(shape, units, resamples, options, rng):
        if options["level"] == "system":
            parts.append(_of_means(matrices, rows, columns, **options))
            continue
        if not _counted(shape, options):
            drawn = [matrix[rows[:, :, None], columns[:, None, :]] for matrix in matrices]
            parts.append(_drawn_out(drawn, options))
            continue
        # Systems that stay as they are have one vector of counts for all resamples.
        counts = _counts(columns, shape[1]) if systems_vary else np.ones((1, shape[1]))
        parts.append(_by_counts(matrices, rows, counts, **options))
    return np.concatenate(parts, axis=1)


def without_each(matrices, units, options):
    """Correlate without each unit in turn that is resampled, for the jackknife.

    Parameters
    ----------
    matrices, units, options
        As for `resampled`.

    Returns
    -------
    numpy.ndarray, shape (n_metrics, n_units)
    """
    documents, systems = matrices[0].shape
    documents_vary, systems_vary = _varying(units, (documents, systems))
    found = []
    if documents_vary:
        for kept in _all_but_one(documents, documents * systems):
            found.append(_of_documents(matrices, kept, options))
    if systems_vary:
        for kept in _all_but_one(systems, documents * systems):
            found.append(_of_systems(matrices, kept, options))
    return np.concatenate(found, axis=1)


def _varying(units, shape):
    """Whether documents, and whether systems are resampled; documents alone where there is one system."""
    one_system = shape[1] == 1
    return units != "systems" or one_system, units != "documents" and not one_system


def _all_but_one(size, cells):
    """Yield masks of `size` units that leave out one each, as many as fit into memory together."""
    parts = max(1, size * cells // _CELLS)
    for left_out in np.array_split(np.arange(size), parts):
        yield np.arange(size) != left_out[:, None]


def _of_documents(matrices, kept, options):
    """Statistic over the documents that each row of a mask keeps, all rows as many."""
    rows = np.nonzero(kept)[1].reshape(len(kept), -1)
    systems = matrices[0].shape[1]
    if options["level"] == "system":
        return _of_means(matrices, rows, np.tile(np.arange(systems), (len(rows), 1)), **options)
    if not _counted(matrices[0].shape, options):
        return _drawn_out(
            [np.where(kept[:, :, None], matrix, np.nan) for matrix in matrices], options
        )
    if options["level"] == "dataset":
        return _by_item_counts(matrices, np.repeat(kept, systems, axis=1).astype(float), **options)
    every_system = np.ones((1, systems))
    return _by_counts(matrices, rows, every_system, **options)


def _of_systems(matrices, kept, options):
    """Statistic over the systems that each row of a mask keeps."""
    if not _counted(matrices[0].shape, options):
        return _drawn_out(
            [np.where(kept[:, None, :], matrix, np.nan) for matrix in matrices], options
        )
    every_document = np.tile(np.arange(len(matrices[0])), (len(kept), 1))
    return _by_counts(matrices, every_document, kept.astype(float), **options)


def _counted(shape, options):
    """Whether resamples are counted instead of drawn out."""
    if options["level"] == "dataset":
        return options["coefficient"] != "kendall" or shape[0] * shape[1] <= _SQUARE
    return options["level"] == "sample"


def _by_counts(matrices, rows, counts, level, **options):
    """Statistic of each resample, from its documents and how often it has each system."""
    *metrics, human = matrices
    if level == "sample":
        return [_within(metric, human, rows, counts, **options) for metric in metrics]
    documents = _counts(rows, len(human))
    items = (documents[:, :, None] * counts[:, None, :]).reshape(len(rows), -1)
    return _by_item_counts(matrices, items, level, **options)


def _by_item_counts(matrices, counts, level, **options):
    """Statistic over all items of each resample, from how often it has each item."""
    *metrics, human = matrices
    return [_over_items(metric.ravel(), human.ravel(), counts, **options) for metric in metrics]


def _drawn_out(matrices, options):
    """Statistic of each resample, from arrays of resamples x documents x systems."""
    *metrics, human = matrices
    return [_across(metric, human, **options) for metric in metrics]


def _counts(drawn, size):
    """How often each number below `size` was drawn, row by row."""
    starts = size * np.arange(len(drawn))[:, None]
    found = np.bincount((drawn + starts).ravel(), minlength=size * len(drawn))
    return found.reshape(len(drawn), size).astype(float)


def _indices(shape, units, resamples, options, rng):
    """Yield row and column numbers of as many resamples as fit into memory together."""
    documents, systems = shape
    documents_vary, systems_vary = _varying(units, shape)
    rows = np.tile(np.arange(documents), (resamples, 1))
    columns = np.tile(np.arange(systems), (resamples, 1))
    if documents_vary:
        rows = rng.integers(documents, size=rows.shape)
    if systems_vary:
        columns = rng.integers(systems, size=columns.shape)
    if options["level"] == "sample":
        chunk = _CELLS // (documents + systems**2)
    elif _counted(shape, options) and options["coefficient"] != "kendall":
        chunk = _CACHED // (documents * systems)
    else:
        chunk = _CELLS // (documents * systems)
    chunk = max(1, chunk)
    for start in range(0, resamples, chunk):
        yield rows[start : start + chunk], columns[start : start + chunk]


def _over_items(x, y, counts, coefficient, constant, kendall):
    """Correlation over all items of each resample."""
    values, present = weighted_items(x, y, counts, coefficient, kendall)
    if constant == "zero":
        return np.where(present, np.nan_to_num(values), np.nan)
    return values


def _within(x, y, rows, counts, coefficient, constant, kendall):
    """Mean correlation within the documents of each resample; one vector of counts may serve all."""
    documents, systems = x.shape
    parts = min(documents, 1 + documents * systems * max(len(counts), systems) // _CELLS)
    found = [
        weighted(some_x, some_y, counts, coefficient, kendall)
        for some_x, some_y in zip(np.array_split(x, parts), np.array_split(y, parts))
    ]
    values = np.concatenate([part for part, _ in found], axis=1)
    counted = np.concatenate([part for _, part in found], axis=1)
    if constant == "skip":
        counted &= ~np.isnan(values)
    elif constant == "zero":
        values = np.nan_to_num(values)
    if len(counts) == 1:
        return _mean(values[0][rows], counted[0][rows])
    resample = np.arange(len(counts))[:, None]
    return _mean(values[resample, rows], counted[resample, rows])


def _of_means(matrices, rows, columns, coefficient, constant, kendall, level):
    """Statistic over systems' means of each resample: the means over its documents first, then its systems."""
    *metrics, human = matrices
    resample = np.arange(len(rows))[:, None]
    drawn = rows.T  # sums over what comes first are the fastest
    values = []
    for metric in metrics:
        missing = np.isnan(metric) | np.isnan(human)
        if missing.any():
            means = [_system_means(scores[drawn], missing[drawn]) for scores in (metric, human)]
        else:
            means = [scores[drawn].mean(axis=0) for scores in (metric, human)]
        x, y = (of_all[resample, columns] for of_all in means)
        found = grouped(x, y, coefficient, kendall=kendall)
        if constant == "zero":
            nothing = missing[rows].all(axis=1)[resample, columns].all(axis=1)
            found = np.where(nothing, np.nan, np.nan_to_num(found))
        values.append(found)
    return values


def _across(x, y, level, coefficient, constant, kendall):
    """Correlation over all items or over systems' means; arrays are resamples x documents x systems."""
    missing = np.isnan(x) | np.isnan(y)
    if level == "dataset":
        x = x.reshape(len(x), -1)
        y = y.reshape(len(y), -1)
    else:
        x, y = (_system_means(scores.swapaxes(0, 1), missing.swapaxes(0, 1)) for scores in (x, y))
    values = grouped(x, y, coefficient, kendall=kendall)
    if constant == "zero":
        values = np.where(missing.all(axis=(1, 2)), np.nan, np.nan_to_num(values))
    return values


def _system_means(scores, missing):
    """Mean score of each system over documents, which come first; NaN where all are missing."""
    counts = np.maximum((~missing).sum(axis=0), 1)
    means = np.where(missing, 0, scores).sum(axis=0) / counts
    return np.where(missing.all(axis=0), np.nan, means)


def _mean(values, counted):
    total = np.where(counted, values, 0).sum(axis=1)
    n = counted.sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)
