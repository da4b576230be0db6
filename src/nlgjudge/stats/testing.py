"""Is one metric's correlation with human ratings higher than another's?

Paired permutation tests after Deutsch, Dror and Roth, "A Statistical Analysis of Summarization
Evaluation Metrics Using Resampling Methods" (TACL 2021), section 5: PERM-INPUTS, PERM-SYSTEMS
and PERM-BOTH, with (c + 1) / (n + 1). Where there are few different swaps, as with a dozen systems,
all of them are counted and the p-value is exact. Williams' test is equation 7 of Steiger (1980),
with n - 3 degrees of freedom; Holm's adjustment is for families of such tests.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy  # which imports `scipy.stats` where it is first used, in half a second

from nlgjudge.stats.bootstrap import UNITS
from nlgjudge.stats.correlations import (
    Items,
    check_correlation,
    check_options,
    checked_items,
    summary,
    values_of_items,
)
from nlgjudge.stats.permutation import Swapped, every_swap, number_of_swaps, standardised, swaps

ALTERNATIVES = ("two-sided", "greater", "less")
ENUMERATED = 1 << 14  # so many different swaps are all counted: those of 15 documents or systems
_ROUNDING = 1e-10  # differences closer than this are ties


class PermutationTest(NamedTuple):
    """The difference between two correlations and how often chance gives as much.

    Attributes
    ----------
    difference : float
        In [-2, 2]: correlation of `a` minus that of `b`, over the items with all three scores;
        NaN where either is undefined (then `reason` says why).
    p : float
        Where `exact`, c / resamples, with the c swaps whose difference is as extreme as the
        observed one, itself counted; otherwise (c + 1) / (resamples + 1). Or NaN.
    resamples : int
        Swaps in which both correlations were defined.
    n : int
        Units with all three scores: documents at sample level, items at dataset level,
        systems at system level.
    reason : str
        Why `p` is NaN, empty otherwise.
    exact : bool
        Whether all different swaps were counted, and none drawn at random.
    """

    difference: float
    p: float
    resamples: int
    n: int
    reason: str = ""
    exact: bool = False


class Williams(NamedTuple):
    """Williams' test of two correlations.

    Attributes
    ----------
    t : float
        With n - 3 degrees of freedom; NaN where it is 0 / 0.
    p : float
        Two-sided; NaN where `t` is.
    """

    t: float
    p: float


class WilliamsTest(NamedTuple):
    """Williams' test of two metrics' correlations with human ratings.

    Attributes
    ----------
    difference : float
        In [-2, 2]: correlation of `a` minus that of `b`, over the items with all three scores;
        NaN where either is undefined.
    t : float
        With n - 3 degrees of freedom.
    p : float
        Two-sided.
    n : int
        Units with all three scores: items at dataset level, systems at system level.
    reason : str
        Why `t` and `p` are NaN, empty otherwise.
    """

    difference: float
    t: float
    p: float
    n: int
    reason: str = ""


def permutation_test(
    frame,
    a,
    b,
    human,
    *,
    rng,
    level="sample",
    coefficient="spearman",
    units="both",
    resamples=999,
    constant="skip",
    kendall="b",
    alternative="two-sided",
    exact_up_to=ENUMERATED,
):
    """Test the difference between two metrics' correlations with human ratings.

    Only items with all three scores count. Each metric is standardised over them, since swapped
    scores have to be on one scale. Each resample then swaps the two metrics' scores, each with
    probability one half, and both correlations are taken anew. Where there are few different swaps,
    each of them is taken once instead.

    Parameters
    ----------
    frame, level, coefficient, constant, kendall
        As for `nlgjudge.stats.correlations.correlation`.
    a, b, human : str
        Three different numeric columns; NaN marks a missing score.
    rng : numpy.random.Generator
    units : {"documents", "systems", "both"}
        What is swapped as a whole: all scores of a document (the claim is about other documents),
        all scores of a system (about other systems), or each item on its own (about both, if
        items are independent). Where a judge's errors stick to systems, the first and the last
        speak of these systems only, and reject a true null several times too often beyond them.
    resamples : int
        Swaps that are drawn, at least 1; p cannot fall below 1 / (resamples + 1).
    alternative : {"two-sided", "greater", "less"}
        Resamples as extreme as the observed difference count as more extreme; "greater": `a`
        correlates better.
    exact_up_to : int
        With at most so many different swaps all of them are counted, and `resamples` and `rng` are not
        used; 0 always draws. k units have 2^(k - 1) different swaps, each with a mirror that turns the
        difference's sign: a one-sided test counts the mirrors too.

    Returns
    -------
    PermutationTest

    Raises
    ------
    ValueError
        For unknown options, fewer than one resample, columns that are not three, and as
        `correlation` does.

    Examples
    --------
    `a` ranks four systems as people do and `b` gets two pairs of them wrong. Of the eight different
    swaps only the one that swaps nothing gives as large a difference.

    >>> import numpy as np
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"doc_id": "d", "system_id": list("wxyz"), "human": [1, 2, 3, 4],
    ...                       "a": [1, 2, 3, 4], "b": [2, 1, 4, 3]})
    >>> found = permutation_test(frame, "a", "b", "human", rng=np.random.default_rng(0), units="systems")
    >>> round(found.difference, 6), found.p, found.resamples, found.exact
    (0.4, 0.125, 8, True)
    """
    options = {"level": level, "coefficient": coefficient, "constant": constant, "kendall": kendall}
    return Comparison(frame, a, b, human, **options).test(
        rng=rng, units=units, resamples=resamples, alternative=alternative, exact_up_to=exact_up_to
    )


class Comparison:
    """Two metrics' correlations with human ratings, to be tested once or in several ways.

    Parameters
    ----------
    frame, a, b, human, level, coefficient, constant, kendall
        As for `permutation_test`.

    Attributes
    ----------
    difference : float
        Correlation of `a` minus that of `b`, over the items with all three scores.
    n : int
        Units with all three scores.
    reason : str
        Why `difference` is NaN, empty otherwise.
    scores : numpy.ndarray, shape (3, n_documents, n_systems)
        Of `a`, of `b` and the ratings, of those items; of no document and no system where there is no item.

    Raises
    ------
    ValueError
        As `permutation_test` does.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"doc_id": "d", "system_id": list("wxyz"), "human": [1, 2, 3, 4],
    ...                       "a": [1, 2, 3, 4], "b": [2, 1, 4, 3]})
    >>> both = Comparison(frame, "a", "b", "human")
    >>> rng = np.random.default_rng(0)
    >>> [both.test(rng=rng, units=units).p for units in ("systems", "both")]  # one document: an item is a system's
    [0.125, 0.125]
    """

    def __init__(
        self,
        frame,
        a,
        b,
        human,
        *,
        level="sample",
        coefficient="spearman",
        constant="skip",
        kendall="b",
    ):
        self.options = {
            "level": level,
            "coefficient": coefficient,
            "constant": constant,
            "kendall": kendall,
        }
        seen = _observed(frame, a, b, human, **self.options)
        self.difference = seen.value_a - seen.value_b
        self.n = seen.n
        self.reason = seen.reason
        self.scores = seen.items.scores
        self._swapped = None

    def test(
        self, *, rng, units="both", resamples=999, alternative="two-sided", exact_up_to=ENUMERATED
    ):
        """Swap the two metrics' scores as `permutation_test` does, which says what the parameters are.

        Returns
        -------
        PermutationTest
        """
        check_options(units=(units, UNITS), alternative=(alternative, ALTERNATIVES))
        if resamples < 1:
            raise ValueError(f"resamples={resamples}: expected at least 1")
        if self.reason:
            return PermutationTest(self.difference, np.nan, 0, self.n, self.reason)
        x, y, ratings = self.scores
        if self._swapped is None:
            self._swapped = Swapped(standardised(x), standardised(y), ratings, **self.options)
        present = ~np.isnan(ratings)
        different = number_of_swaps(present, units)
        exact = different <= exact_up_to
        bits = every_swap(present, units) if exact else swaps(x.shape, units, resamples, rng)
        found = self._swapped.differences(bits)
        if exact:
            draws = found[:different]
            if alternative != "two-sided":
                draws = np.concatenate([draws, -draws])
        else:
            draws = found[1 : resamples + 1]
        p_value, defined = _share(found[0], draws, alternative, exact)
        reason = "" if defined else "undefined in every resample"
        return PermutationTest(self.difference, p_value, defined, self.n, reason, exact)


def williams(r_a, r_b, r_ab, n):
    """Williams' test of two correlations that share a variable.

    Parameters
    ----------
    r_a, r_b : float
        Correlations of a and of b with the shared variable, in [-1, 1].
    r_ab : float
        Correlation of a with b.
    n : int
        Observations, at least 4.

    Returns
    -------
    Williams

    Raises
    ------
    ValueError
        For fewer than 4 observations, and for numbers that cannot be three variables' correlations.

    Examples
    --------
    >>> found = williams(0.9, 0.6, 0.5, 12)
    >>> round(found.t, 3), round(found.p, 3)
    (2.021, 0.074)
    """
    determinant = 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab
    if n < 4 or max(abs(r_a), abs(r_b), abs(r_ab)) > 1 or determinant < -1e-9:
        raise ValueError(
            f"r_a={r_a}, r_b={r_b}, r_ab={r_ab}, n={n}: expected the correlations of three "
            "variables and at least 4 observations"
        )
    denominator = (n - 1) * (1 + r_ab)
    if denominator == 0:
        return Williams(np.nan, np.nan)
    of_determinant = 2 * max(determinant, 0) * (n - 1) / (n - 3)
    of_mean = ((r_a + r_b) / 2) ** 2 * (1 - r_ab) ** 3
    variance = (of_determinant + of_mean) / denominator
    if not variance > 1e-15:
        return Williams(np.nan, np.nan)
    t = (r_a - r_b) / math.sqrt(variance)
    return Williams(float(t), float(2 * scipy.stats.t.sf(abs(t), n - 3)))


def williams_test(frame, a, b, human, *, level="system", coefficient="pearson"):
    """Williams' test of two metrics' correlations with human ratings.

    Parameters
    ----------
    frame, a, b, human
        As for `permutation_test`.
    level : {"dataset", "system"}
        A mean over documents has no number of observations, so not sample level.
    coefficient : {"pearson", "spearman", "kendall"}
        The test's t distribution is derived for "pearson"; for the others it is an approximation.

    Returns
    -------
    WilliamsTest

    Raises
    ------
    ValueError
        As `permutation_test` does.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"doc_id": "d", "system_id": list("uvwxyz"), "human": [1, 2, 3, 4, 5, 6],
    ...                       "a": [1, 2, 3, 4, 6, 5], "b": [2, 1, 6, 3, 4, 5]})
    >>> found = williams_test(frame, "a", "b", "human")
    >>> round(found.difference, 3), round(found.t, 3), round(found.p, 3), found.n
    (0.343, 1.762, 0.176, 6)
    """
    check_options(level=(level, ("dataset", "system")))
    options = {"level": level, "coefficient": coefficient, "kendall": "b"}
    items, r_a, r_b, n, reason = _observed(frame, a, b, human, constant="skip", **options)
    if not reason and n < 4:
        reason = f"Williams' test needs 4 observations, got {n}"
    if reason:
        return WilliamsTest(r_a - r_b, np.nan, np.nan, n, reason)
    both = Items(items.systems, items.columns[:2], items.scores[:2])
    (of_both,), _ = values_of_items(both, **options)
    r_ab = summary(of_both, level, "skip", n, used=n).value
    test = williams(r_a, r_b, r_ab, n)
    if math.isnan(test.t):
        reason = f"{a} and {b} correlate perfectly"
    return WilliamsTest(r_a - r_b, test.t, test.p, n, reason)


def holm(p_values):
    """Adjust the p-values of a family of tests after Holm (1979).

    Parameters
    ----------
    p_values : array_like, shape (n_tests,)
        In [0, 1]; NaN is a test that gave no p, stays NaN and does not count in the family.

    Returns
    -------
    numpy.ndarray, shape (n_tests,)
        In the input's order.

    Raises
    ------
    ValueError
        For more than one dimension or values outside [0, 1].

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    adjusted = np.array(p_values, float)
    if adjusted.ndim != 1 or (adjusted < 0).any() or (adjusted > 1).any():
        raise ValueError(f"expected a list of p-values in [0, 1], got {p_values!r}")
    family = (~np.isnan(adjusted)).sum()
    order = np.argsort(adjusted)[:family]  # NaN sorts last
    multiplied = adjusted[order] * np.arange(family, 0, -1)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(multiplied))
    return adjusted


class _Observed(NamedTuple):
    """Two metrics on the items with all three scores."""

    items: Items
    value_a: float
    value_b: float
    n: int
    reason: str


def _observed(frame, a, b, human, *, level, coefficient, constant, kendall):
    """Complete items, both correlations, number of units, and the reason where either correlation is NaN."""
    if len({a, b, human}) < 3:
        raise ValueError(f"expected three different columns, got {a!r}, {b!r} and {human!r}")
    check_correlation(level, coefficient, constant, kendall)
    items = checked_items(frame, [a, b], human)
    if not items.scores.size:
        return _Observed(items, np.nan, np.nan, 0, "no item has all three scores")
    several, n = values_of_items(items, level=level, coefficient=coefficient, kendall=kendall)
    # What is undefined without a policy must not become 0 through one, so "skip" is asked first.
    for policy in dict.fromkeys(("skip", constant)):
        found = [summary(values, level, policy, n, used=n) for values in several]
        reasons = [
            f"{metric} with {human}: {one.reason}"
            for metric, one in zip((a, b), found)
            if one.reason
        ]
        if reasons:
            return _Observed(items, np.nan, np.nan, n, "; ".join(reasons))
    return _Observed(items, found[0].value, found[1].value, n, "")


def _share(observed, draws, alternative, exact):
    """The p-value, and the number of swaps in which the difference is defined."""
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        return np.nan, 0
    if alternative == "two-sided":
        observed = abs(observed)
        draws = np.abs(draws)
    elif alternative == "less":
        observed = -observed
        draws = -draws
    extreme = int((draws >= observed - _ROUNDING).sum())
    if exact:  # the swap that swaps nothing is among them
        return extreme / len(draws), len(draws)
    return (extreme + 1) / (len(draws) + 1), len(draws)
