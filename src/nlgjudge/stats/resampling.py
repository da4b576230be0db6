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
    parts, shape = [], matrices[0].shape
    for rows, columns in _indices(shape, units, resamples, options, rng):
        if _counted(shape, options):
            # Systems that stay as they are have one vector of counts for all resamples.
            fixed = units == "documents" or shape[1] == 1
            counts = np.ones((1, shape[1])) if fixed else _counts(columns, shape[1])
            parts.append(_by_counts(matrices, rows, counts, **options))
        else:
            *metrics, human = (m[rows[:, :, None], columns[:, None, :]] for m in matrices)
            parts.append([_across(m, human, **options) for m in metrics])
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
    found = []
    for size, axis in ((documents, 0), (systems, 1)):
        if (units, axis) == ("systems", 0) and systems > 1 or axis and (units == "documents" or systems == 1):
            continue
        for left in np.array_split(np.arange(size), max(1, size * documents * systems // _CELLS)):
            kept = np.arange(size) != left[:, None]
            if _counted((documents, systems), options):
                rows = np.tile(np.arange(documents), (len(left), 1)) if axis else \
                    np.nonzero(kept)[1].reshape(len(left), -1)
                counts = kept.astype(float) if axis else np.ones((1, systems))
                found.append(_by_counts(matrices, rows, counts, **options))
            else:
                kept = np.expand_dims(kept, 2 - axis)
                *metrics, human = (np.where(kept, m, np.nan) for m in matrices)
                found.append([_across(m, human, **options) for m in metrics])
    return np.concatenate(found, axis=1)


def _counted(shape, options):
    """Whether resamples are counted instead of drawn out."""
    if options["level"] == "dataset":
        return options["coefficient"] != "kendall" or shape[0] * shape[1] <= _SQUARE
    return options["level"] == "sample"


def _by_counts(matrices, rows, counts, level, **options):
    """Statistic of each resample, from its documents and how often it has each system."""
    *metrics, human = matrices
    if level == "sample":
        return [_within(m, human, rows, counts, **options) for m in metrics]
    documents = _counts(rows, len(human))
    items = (documents[:, :, None] * counts[:, None, :]).reshape(len(rows), -1)
    return [_over_items(m.ravel(), human.ravel(), items, **options) for m in metrics]


def _counts(drawn, size):
    """How often each number below `size` was drawn, row by row."""
    starts = size * np.arange(len(drawn))[:, None]
    found = np.bincount((drawn + starts).ravel(), minlength=size * len(drawn))
    return found.reshape(len(drawn), size).astype(float)


def _indices(shape, units, resamples, options, rng):
    """Yield row and column numbers of as many resamples as fit into memory together."""
    documents, systems = shape
    rows, columns = (np.tile(np.arange(size), (resamples, 1)) for size in shape)
    if units != "systems" or systems == 1:
        rows = rng.integers(documents, size=rows.shape)
    if units != "documents" and systems > 1:
        columns = rng.integers(systems, size=columns.shape)
    chunk = _CELLS // (documents * systems)
    if options["level"] == "sample":
        chunk = _CELLS // (documents + systems**2)
    elif _counted(shape, options) and options["coefficient"] != "kendall":
        chunk = _CACHED // (documents * systems)
    chunk = max(1, chunk)
    for start in range(0, resamples, chunk):
        yield rows[start:start + chunk], columns[start:start + chunk]


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
