"""A fast paired z test of two correlations with the same human ratings, for simulations.

The infinitesimal jackknife stands in for the paired bootstrap: a member's influence is the
derivative of the correlation in the member's weight, Spearman's and Kendall's ranks included.
Variances over documents and over systems are added and the items', which both hold, taken off
(two-way clustering, Cameron, Gelbach and Miller 2011), but never below the larger of the two.
"""

import numpy as np
import scipy  # which imports `scipy.stats` where it is first used, in half a second


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
    return PairedZ(a, human, level=level, coefficient=coefficient, units=units).test(b)


class PairedZ:
    """The test of `paired_z` of one judge against others, one after the other.

    Parameters
    ----------
    a, human, level, coefficient, units
        As for `paired_z`.
    """

    def __init__(self, a, human, *, level="sample", coefficient="spearman", units="both"):
        self.shape = a.shape
        self.level = level
        self.coefficient = coefficient
        self.units = units
        _, documents, systems = a.shape
        self.groups = (-1, documents * systems if level == "dataset" else systems)
        self.human = human.reshape(self.groups)
        self.value, self.effect = influence(a.reshape(self.groups), self.human, coefficient)

    def test(self, b):
        """Test the difference to another judge's scores; returns what `paired_z` does."""
        studies, documents, systems = self.shape
        value_b, effect_b = influence(b.reshape(self.groups), self.human, self.coefficient)
        gaps = (self.value - value_b).reshape(
            studies, -1
        )  # one for each document, or one over all items
        difference = _mean(gaps)
        defined = np.maximum((~np.isnan(gaps)).sum(axis=1), 1)
        by_item = (self.effect - effect_b).reshape(studies, -1, systems)
        by_item = _filled(by_item / defined[:, None, None])
        by_system = by_item.sum(axis=1)
        if self.level == "sample":
            by_document = np.nan_to_num(gaps - difference[:, None]) / defined[:, None]
        else:
            by_document = by_item.sum(axis=2)
        parts = []
        freedom = []
        if self.units != "systems" or systems == 1:
            parts.append(_between(by_document, documents))
            freedom.append(documents - 1)
        if self.units != "documents" and systems > 1:
            parts.append(_between(by_system, systems))
            freedom.append(systems - 1)
        parts = np.array(parts)
        freedom = np.array(freedom)
        variance = parts.sum(axis=0)
        if len(parts) > 1:  # both hold what single items vary
            variance = variance - (by_item * by_item).sum(axis=(1, 2))
        variance = np.maximum(variance, parts.max(axis=0))
        with np.errstate(invalid="ignore", divide="ignore"):
            degrees = parts.sum(axis=0) ** 2 / (parts**2 / freedom[:, None]).sum(axis=0)
            p_value = 2 * scipy.stats.t.sf(np.abs(difference) / np.sqrt(variance), degrees)
        return difference, np.where(np.isnan(p_value) | (difference == 0), 1.0, p_value)


def _between(effects, size):
    """Variance over `size` clusters of each study, from the clusters' effects."""
    return (effects * effects).sum(axis=1) * size / max(size - 1, 1)


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
    x = np.where(missing, np.nan, x)
    y = np.where(missing, np.nan, y)
    # A coefficient is xy / sqrt(xx yy), with three sums that are polynomials in the members' weights. Each
    # member's share of a sum, times the polynomial's degree, is the sum's derivative in its weight.
    if coefficient == "pearson":
        x = _centred(x)
        y = _centred(y)
        shares = _products
        degree = 1
    elif coefficient == "kendall":
        x = _order(x)
        y = _order(y)
        shares = _agreements
        degree = 2
    else:
        x = _order(x)
        y = _order(y)
        shares = _rank_products
        degree = 3
    xy = shares(x, y).astype(float)
    xx = shares(x, x).astype(float)
    yy = shares(y, y).astype(float)
    total_x = xx.sum(axis=1, keepdims=True)
    total_y = yy.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt(total_x) * np.sqrt(total_y)
        value = np.where(scale > 0, xy.sum(axis=1, keepdims=True) / scale, np.nan)
        effect = degree * (xy / scale - value / 2 * (xx / total_x + yy / total_y))
    return value[:, 0], effect


def _products(x, y):
    """Each member's share of Pearson's sum of products; `x` and `y` are centred."""
    return x * y


def _agreements(x, y):
    """Each member's share of Kendall's sum over pairs; `x` and `y` are tables of signs."""
    return np.einsum("gij,gij->gi", x, y)


def _rank_products(x, y):
    """Each member's share of the sum of products of ranks; `x` and `y` are tables of signs."""
    rank_x = x.sum(axis=2, keepdims=True)
    rank_y = y.sum(axis=2, keepdims=True)
    return (rank_x * rank_y - x @ rank_y - y @ rank_x)[..., 0]


def _centred(x):
    """Scores less their row's mean, 0 where missing; all 0 in a row that is constant up to rounding."""
    centred = _filled(x - _mean(x)[:, None])
    rounding = 1e-13 * np.abs(_filled(x)).max(axis=1, keepdims=True)
    return np.where(np.abs(centred).max(axis=1, keepdims=True) <= rounding, 0.0, centred)


def _order(x):
    """Sign of the difference of every pair, 0 where either is missing."""
    above = x[:, :, None] > x[:, None, :]
    return above.astype(np.float32) - above.transpose(0, 2, 1)


def _filled(x):
    """0 where a number is missing; a few times as fast as `nan_to_num`, which also looks for infinite ones."""
    return np.where(np.isnan(x), 0.0, x)


def _mean(x):
    """Mean of each row over what is not NaN; NaN, without a warning, where nothing is."""
    with np.errstate(invalid="ignore"):
        return np.nansum(x, axis=1) / (~np.isnan(x)).sum(axis=1)
