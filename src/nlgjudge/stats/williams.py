"""Williams' test of two dependent correlations: equation 7 of Steiger (1980), with n - 3 degrees of freedom."""

import math
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy

from nlgjudge.stats.correlations import (
    Coefficient,
    check_correlation,
    check_options,
    correlation_of,
)
from nlgjudge.stats.permutation import compared


class WilliamsTest(NamedTuple):
    """Williams' test of two metrics' correlations with human ratings.

    Attributes
    ----------
    difference
        In [-2, 2]: correlation of `a` minus that of `b`, over the items with all three scores; NaN
        where either is undefined.
    t
        With n - 3 degrees of freedom.
    p
        Two-sided.
    n, n_skipped
        Items at dataset level, systems at system level, with all three scores and without.
    reason
        Why `t` and `p` are NaN, empty otherwise.
    """

    difference: float
    t: float
    p: float
    n: int
    n_skipped: int
    reason: str = ""


def williams_test(
    frame: pd.DataFrame,
    a: str,
    b: str,
    human: str,
    *,
    level: Literal["dataset", "system"] = "system",
    coefficient: Coefficient = "pearson",
) -> WilliamsTest:
    """Williams' test of two metrics' correlations with human ratings.

    Parameters
    ----------
    frame, a, b, human
        As for `permutation_test`, with the same errors.
    level
        A mean over documents has no number of observations, so not sample level.
    coefficient
        The test's t distribution is derived for "pearson"; for the others it is an approximation.

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
    how = (level, coefficient, "skip", "b")
    check_correlation(*how)
    x, y, ratings, difference, n, n_skipped, reason = compared(frame, a, b, human, how)
    if not reason and n < 4:
        reason = f"Williams' test needs 4 observations, got {n}"
    if reason:
        return WilliamsTest(difference, np.nan, np.nan, n, n_skipped, reason)
    r_a = correlation_of(x, ratings, *how).value
    r_b = correlation_of(y, ratings, *how).value
    r_ab = correlation_of(x, y, *how).value
    t, p = williams(r_a, r_b, r_ab, n)
    reason = f"{a} and {b} correlate perfectly" if math.isnan(t) else ""
    return WilliamsTest(difference, t, p, n, n_skipped, reason)


def williams(r_a, r_b, r_ab, n):
    """t and two-sided p of the correlations of a and b with a third variable and with each other; NaN for 0 / 0."""
    determinant = max(1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab, 0)
    mean = (r_a + r_b) / 2
    numerator = (n - 1) * (1 + r_ab)
    denominator = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - r_ab) ** 3
    if not denominator > 1e-15 * numerator:
        return math.nan, math.nan
    t = (r_a - r_b) * math.sqrt(numerator / denominator)
    return t, float(2 * scipy.stats.t.sf(abs(t), n - 3))
