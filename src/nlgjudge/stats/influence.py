"""A fast paired z test of two correlations with the same human ratings, for simulations.

The infinitesimal jackknife stands in for the paired bootstrap: a member's influence is the
derivative of the correlation in the member's weight, Spearman's and Kendall's ranks included.
Variances over documents and over systems are added and the items', which both hold, taken off
(two-way clustering, Cameron, Gelbach and Miller 2011), but never below the larger of the two.
"""

import numpy as np
from scipy import stats


def paired_z(a, b, human, *, level="sample", coefficient="spearman", units="both"):
    """Test the difference between two judges' correlations, study by study.

    Parameters
    ----------
    a, b, human : numpy.ndarray, shape (n_studies, n_documents, n_systems)
        NaN marks a missing score.
    level : {"sample", "dataset"}
    coefficient : {"pearson", "spearman", "kendall"}
        Kendall's is tau b. A document where either judge has no correlation is left out.
    units : {"documents", "systems", "both"}
        What the test takes to vary; documents where there is one system. At a nominal 0.1
        with 60 documents and 8 systems, 0.08-0.12 of equal judges are told apart over
        documents, 0.07-0.08 over both and 0.13-0.15 over systems (too few for the normal theory).

    Returns
    -------
    difference : numpy.ndarray, shape (n_studies,)
        a minus b; NaN where undefined.
    p : numpy.ndarray, shape (n_studies,)
        Two-sided, from a t distribution with Satterthwaite's degrees of freedom; 1 where
        undefined or where the judges do not differ at all.
    """
    size, documents, systems = a.shape
    shape = (-1, systems * (documents if level == "dataset" else 1))
    (ra, ia), (rb, ib) = (influence(m.reshape(shape), human.reshape(shape), coefficient) for m in (a, b))
    delta, items = (ra - rb).reshape(size, -1), (ia - ib).reshape(size, -1, systems)
    difference, defined = _mean(delta, 1), np.maximum((~np.isnan(delta)).sum(axis=1), 1)
    items = np.nan_to_num(items / defined[:, None, None])
    by_document = items.sum(axis=2)
    if level == "sample":
        by_document = np.nan_to_num(delta - difference[:, None]) / defined[:, None]
    free = np.array([documents - 1, systems - 1])
    clusters = by_document, items.sum(axis=1)
    parts = [(c * c).sum(axis=1) * (f + 1) / max(f, 1) for c, f in zip(clusters, free)]
    keep = [units != "systems" or systems == 1, units != "documents" and systems > 1]
    parts, free = np.array(parts)[keep], free[keep]
    variance = parts.sum(axis=0) - ((items * items).sum(axis=(1, 2)) if len(parts) > 1 else 0)
    variance = np.maximum(variance, parts.max(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = parts.sum(axis=0) ** 2 / (parts**2 / free[:, None]).sum(axis=0)
        p = 2 * stats.t.sf(np.abs(difference) / np.sqrt(variance), degrees)
    return difference, np.where(np.isnan(p) | (difference == 0), 1.0, p)


def influence(x, y, coefficient="spearman"):
    """Correlation of two matrices, row by row, and each member's influence on it.

    Parameters
    ----------
    x, y : numpy.ndarray, shape (n_groups, n_members)
        NaN marks a missing score.
    coefficient : {"pearson", "spearman", "kendall"}
        Tau b; ranks cost memory quadratic in the members.

    Returns
    -------
    value : numpy.ndarray, shape (n_groups,)
        In [-1, 1]; NaN for constant input or fewer than two members.
    effect : numpy.ndarray, shape (n_groups, n_members)
        Derivative of the value in a member's weight (1 by default); a row sums to 0. It is
        0 for a missing member and NaN where the value is.
    """
    missing = np.isnan(x) | np.isnan(y)
    x, y = np.where(missing, np.nan, x), np.where(missing, np.nan, y)
    # Derivatives of numerator and squared denominators, each of a degree in the weights.
    if coefficient == "pearson":
        x, y = (_centred(m) for m in (x, y))
        degree, (xy, xx, yy) = 1, (x * y, x * x, y * y)
    else:
        sx, sy = (_order(m) for m in (x, y))
        if coefficient == "kendall":
            pairs, degree = ((sx, sy), (sx, sx), (sy, sy)), 2
            xy, xx, yy = (np.einsum("gij,gij->gi", s, t) for s, t in pairs)
        else:
            (u, v), degree = (s.sum(axis=2, keepdims=True) for s in (sx, sy)), 3
            terms = (u, v, sx, sy), (u, u, sx, sx), (v, v, sy, sy)
            xy, xx, yy = ((p * q - s @ q - t @ p)[..., 0] for p, q, s, t in terms)
    xy, xx, yy = (m.astype(float) for m in (xy, xx, yy))
    tx, ty = (m.sum(axis=1, keepdims=True) for m in (xx, yy))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt(tx) * np.sqrt(ty)
        value = np.where(scale > 0, xy.sum(axis=1, keepdims=True) / scale, np.nan)
        return value[:, 0], degree * (xy / scale - value / 2 * (xx / tx + yy / ty))


def _centred(x):
    centred = np.nan_to_num(x - _mean(x, 1)[:, None])
    rounding = 1e-13 * np.nan_to_num(np.abs(x)).max(axis=1, keepdims=True)
    return np.where(np.abs(centred).max(axis=1, keepdims=True) <= rounding, 0.0, centred)


def _order(x):
    """Sign of the difference of every pair, 0 where either is missing."""
    above = x[:, :, None] > x[:, None, :]
    return above.astype(np.float32) - above.transpose(0, 2, 1)


def _mean(x, axis):
    with np.errstate(invalid="ignore"):
        return np.nansum(x, axis=axis) / (~np.isnan(x)).sum(axis=axis)
