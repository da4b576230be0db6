"""Is one metric's correlation with human ratings higher than another's? Paired permutation tests.

After Deutsch, Dror and Roth, "A Statistical Analysis of Summarization Evaluation Metrics Using
Resampling Methods" (TACL 2021), section 5: PERM-INPUTS, PERM-SYSTEMS and PERM-BOTH, with
(c + 1) / (n + 1). Where there are few different swaps, as with a dozen systems, all of them are
counted and the p-value is exact.
"""

import math
from typing import Literal, NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, vstack
from scipy.stats import rankdata

from nlgjudge.data.checks import check_whole
from nlgjudge.stats.correlations import (
    PAIR,
    Coefficient,
    Constant,
    Kendall,
    Level,
    check_correlation,
    check_options,
    correlation_of,
    group_correlations,
    matrices,
    mean_of_groups,
    number_of_units,
    units_with_scores,
)

Units = Literal["documents", "systems", "both"]
UNITS = ("documents", "systems", "both")
ENUMERATED = 1 << 14  # so many different swaps are all counted: those of 15 documents or systems
_ROUNDING = 1e-10  # differences closer than this are ties
_CELLS = 1 << 16  # numbers held at once
# Larger groups are ranked by counting, and their Kendall's coefficient is computed one swap at a time.
_PAIRS = {"spearman": 24, "kendall": 2_000}
_DECIMALS = 6  # scores that differ by less have the same seed, whatever machine computed them


class PermutationTest(NamedTuple):
    """The difference between two correlations and how often chance gives as much.

    Attributes
    ----------
    difference
        In [-2, 2]: correlation of `a` minus that of `b`, over the items with all three scores; NaN
        where either is undefined (then `reason` says why).
    p
        Where `exact`, c / resamples, with the c swaps whose difference is as extreme as the observed
        one, itself counted; otherwise (c + 1) / (resamples + 1). Or NaN.
    resamples
        Swaps in which both correlations were defined.
    n, n_skipped
        Units with all three scores, and without: documents at sample level, items at dataset level,
        systems at system level.
    reason
        Why `p` is NaN, empty otherwise.
    exact
        Whether all different swaps were counted, and none drawn at random.
    log2_different
        Logarithm to base 2 of the number of different swaps, k - 1 for k units; of 16,000 items, the number
        itself has 4,817 digits, more than Python prints.
    """

    difference: float
    p: float
    resamples: int
    n: int
    n_skipped: int
    reason: str = ""
    exact: bool = False
    log2_different: int = 0

    @property
    def different(self) -> int:
        """Number of different swaps."""
        return 2**self.log2_different


def permutation_test(
    frame: pd.DataFrame,
    a: str,
    b: str,
    human: str,
    *,
    seed: int = 0,
    level: Level = "sample",
    coefficient: Coefficient = "spearman",
    units: Units = "both",
    resamples: int = 999,
    constant: Constant = "skip",
    kendall: Kendall = "b",
) -> PermutationTest:
    """Test the difference between two metrics' correlations with human ratings.

    Only items with all three scores count. Each metric is standardised over them, since swapped
    scores have to be on one scale. Each resample then swaps the two metrics' scores, each with
    probability one half. Where there are at most 16,384 different swaps, each of them is taken once
    instead: k units have 2^(k - 1), each with a mirror that turns the difference's sign.

    Parameters
    ----------
    frame, level, coefficient, constant, kendall
        As for `nlgjudge.correlation`.
    a, b, human
        Three different numeric columns, named as for `nlgjudge.correlation`; NaN marks a missing score.
    seed
        At least 0. With the scores, it seeds the generator: the same scores give the same p under
        whatever names, and `a` against `b` gives that of `b` against `a`.
    units
        What is swapped as a whole: all scores of a document (the claim is about other documents),
        all scores of a system (about other systems), or each item on its own (about both, if items
        are independent). Where a judge's errors stick to systems, the first and the last hold for
        these systems only, and reject a true null several times too often beyond them.
    resamples
        Swaps that are drawn, at least 1; p cannot fall below 1 / (resamples + 1).

    Raises
    ------
    ValueError
        For unknown options, fewer than one resample, columns that are not three, and as
        `nlgjudge.correlation` does.

    Examples
    --------
    `a` ranks four systems as people do and `b` gets two pairs of them wrong. Of the eight different
    swaps only the one that swaps nothing gives as large a difference.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"doc_id": "d", "system_id": list("wxyz"), "human": [1, 2, 3, 4],
    ...                       "a": [1, 2, 3, 4], "b": [2, 1, 4, 3]})
    >>> found = permutation_test(frame, "a", "b", "human", units="systems")
    >>> round(found.difference, 6), found.p, found.resamples, found.exact
    (0.4, 0.125, 8, True)
    """
    check_correlation(level, coefficient, constant, kendall)
    check_options(units=(units, UNITS))
    check_whole(1, resamples=resamples)
    check_whole(0, seed=seed)
    how = (level, coefficient, constant, kendall)
    x, y, ratings, difference, n, n_skipped, reason = compared(frame, a, b, human, how)
    if reason:
        return PermutationTest(difference, np.nan, 0, n, n_skipped, reason)
    swappable = _swappable(ratings, "documents" if level == PAIR else units)
    log2_different = int(swappable.sum()) - 1
    exact = 2**log2_different <= ENUMERATED
    if exact:
        swaps = _every_swap(swappable)
    else:
        rng = _generator(x, y, ratings, seed, (level, coefficient, units))
        swaps = rng.integers(2, size=(resamples, *swappable.shape), dtype=bool)
    nothing = np.zeros((1, *swappable.shape), bool)
    if level != PAIR:  # whose shares need scores as they are
        x, y = _standardised(x), _standardised(y)
    observed, *draws = _differences(x, y, ratings, np.concatenate([nothing, swaps]), how)
    draws = np.array(draws)
    p, defined = _share(abs(observed), np.abs(draws[~np.isnan(draws)]), exact)
    reason = "" if defined else "undefined in every resample"
    return PermutationTest(difference, p, defined, n, n_skipped, reason, exact, log2_different)


def compared(frame, a, b, human, how):
    """Two metrics on the items with all three scores: matrices, difference, n, n_skipped and reason.

    The reason says why either correlation is NaN; what is undefined without a policy does not become 0
    through one.
    """
    if len({a, b, human}) < 3:
        raise ValueError(f"expected three different columns, got {a!r}, {b!r} and {human!r}")
    x, y, ratings = matrices(frame, [a, b], human)
    level, coefficient, constant, kendall = how
    n = int(units_with_scores(ratings, level).sum())
    n_skipped = number_of_units(frame, level) - n
    difference = np.nan
    reasons = [] if n else ["no item has all three scores"]
    for policy in dict.fromkeys(("skip", constant)):
        if not reasons:
            of_a, of_b = (
                correlation_of(scores, ratings, level, coefficient, policy, kendall)
                for scores in (x, y)
            )
            difference = of_a.value - of_b.value
            reasons = [
                f"{name} with {human}: {result.reason}"
                for name, result in ((a, of_a), (b, of_b))
                if result.reason
            ]
    return x, y, ratings, difference, n, n_skipped, "; ".join(reasons)


def _generator(x, y, ratings, seed, what):
    """A generator seeded from the scores, whatever their names and the metrics' order."""
    x, y, ratings = (
        crc32((np.round(scores, _DECIMALS) + 0.0).astype("<f8").tobytes())
        for scores in (x, y, ratings)
    )
    return np.random.default_rng([seed, crc32(" ".join(what).encode()), *sorted([x, y]), ratings])


def _standardised(scores):
    """Centre and scale over all items; exact sums keep the ties between shuffled copies of one metric."""
    there = ~np.isnan(scores)
    values = scores[there] / np.nanmax(np.abs(scores))
    centred = values - math.fsum(values) / len(values)
    standardised = np.full_like(scores, np.nan)
    standardised[there] = centred / math.sqrt(math.fsum(centred**2) / len(centred))
    return standardised


def _swappable(ratings, units):
    """Which documents (shape (d, 1)), systems (1, s) or items (d, s) have something to swap."""
    there = ~np.isnan(ratings)
    if units == "both":
        return there
    return there.any(axis=1 if units == "documents" else 0, keepdims=True)


def _every_swap(swappable):
    """All different swaps; the last unit is never swapped, which leaves out the mirrors."""
    units = int(swappable.sum())
    swaps = np.zeros((2 ** (units - 1), *swappable.shape), bool)
    swaps[:, swappable] = np.arange(len(swaps))[:, None] >> np.arange(units) & 1
    return swaps


def _differences(x, y, ratings, swaps, how):
    """Correlation of A minus that of B, where A has `y` in the place of `x` for what is swapped; shape (n_swaps,)."""
    level, coefficient, constant, kendall = how
    coefficients = _coefficients(x, y, ratings, how)
    step = max(1, _CELLS // x.size)
    differences = []
    for start in range(0, len(swaps), step):
        some = swaps[start : start + step]
        swap = np.broadcast_to(some, (len(some), *x.shape))
        if coefficients:
            groups = coefficients(swap)
        else:
            mixed = np.where(swap, y, x), np.where(swap, x, y)
            groups = [
                group_correlations(scores, ratings, level, coefficient, kendall) for scores in mixed
            ]
        first, second = (mean_of_groups(values, ratings, level, constant) for values in groups)
        differences.append(first - second)
    return np.concatenate(differences)


def _coefficients(x, y, ratings, how):
    """A function of swaps that gives A's and B's coefficient in each group from whole numbers, or None."""
    level, coefficient, _, kendall = how
    if level == "system":
        return None
    if level == "dataset":
        x, y, ratings = (scores.reshape(1, -1) for scores in (x, y, ratings))
    x, y = x.round(10), y.round(10)  # what is equal up to rounding ties
    if kendall == "b" and x.shape[1] <= _PAIRS.get(coefficient, 0):
        return _of_pairs(x, y, ratings, coefficient)
    return _of_values(x, y, ratings) if coefficient == "spearman" else None


def _of_values(x, y, ratings):
    """Spearman's, from the number of A's items at each value of a group and the sum of their ratings' ranks.

    A rank, doubled and centred, is the number of lower scores less that of higher ones. A swap moves an item
    from its value in `x` to that in `y`, and B has at each value what A has not.
    """
    there = ~np.isnan(ratings)
    n = there.sum(axis=1)
    rank = (2 * rankdata(ratings, axis=1, nan_policy="omit") - n[:, None] - 1)[there]
    group = np.repeat(np.arange(len(n)), n)
    scores = np.stack([np.tile(group, 2), np.concatenate([x[there], y[there]])])
    values, place = np.unique(scores, axis=1, return_inverse=True)
    group_of_value = values[0].astype(int)
    groups, starts = np.unique(group_of_value, return_index=True)
    below = (2 * np.cumsum(n) - n)[group_of_value, None]
    variation = np.bincount(group, rank**2)[groups]
    in_x, in_y = place.reshape(2, -1)
    signs = np.repeat([-1.0, 1.0], len(rank))
    moves = csr_array((signs, (place.ravel(), np.tile(np.arange(len(rank)), 2))))
    moves = vstack([moves, moves.multiply(rank)], format="csr")
    of_x, of_y = (
        np.concatenate([np.bincount(some, weights, len(below)) for weights in (None, rank)])
        for some in (in_x, in_y)
    )

    def coefficients(swap):
        of_a = of_x[:, None] + moves @ swap[:, *np.nonzero(there)].T.astype(float)
        for counts_and_ranks in (of_a, (of_x + of_y)[:, None] - of_a):
            counts, ranks = np.split(counts_and_ranks, 2)
            own = 2 * np.cumsum(counts, axis=0) - counts - below
            product = np.add.reduceat(ranks * own, starts).T
            spread = np.add.reduceat(counts * own**2, starts).T
            found = np.full((len(swap), len(n)), np.nan)
            with np.errstate(invalid="ignore"):
                found[:, groups] = product / np.sqrt(spread * variation)
            yield found

    return lambda swap: coefficients(swap.reshape(len(swap), *there.shape))


def _of_pairs(x, y, ratings, coefficient):
    """A function of swaps that gives A's and B's coefficient in each group, from the signs of all pairs.

    A rank, doubled and centred, is the sum over j of sign(a_i - a_j); Kendall's numerator is the sum
    over i and j of sign(h_i - h_j) sign(a_i - a_j). Which of four sign tables (x or y against x or
    y) a pair takes depends on its two swaps, and ties come out as whole numbers.
    """
    tables = [_signs(first, second) for first in (x, y) for second in (x, y)]
    of_ratings = _signs(ratings, ratings)
    if coefficient == "kendall":
        agreement = [of_ratings * table for table in tables]
        untied = [np.abs(table) for table in tables]
        variation = np.abs(of_ratings).sum(axis=(1, 2))
    else:
        rank = of_ratings.sum(axis=2)
        variation = (rank**2).sum(axis=1)

    def coefficients(swap):
        swap = swap.reshape(len(swap), *x.shape).transpose(1, 2, 0).astype(float)
        if coefficient == "kendall":
            products = [sums.sum(axis=1) for sums in _mixed(agreement, swap)]
            spreads = [sums.sum(axis=1) for sums in _mixed(untied, swap)]
        else:
            ranks = _mixed(tables, swap)
            products = [np.einsum("gi,gir->gr", rank, swapped) for swapped in ranks]
            spreads = [np.einsum("gir,gir->gr", swapped, swapped) for swapped in ranks]
        with np.errstate(invalid="ignore", divide="ignore"):
            for product, spread in zip(products, spreads):
                both = spread * variation[:, None]
                yield np.where(both > 0, product / np.sqrt(both), np.nan).T

    return coefficients


def _signs(x, y):
    """Signs of all differences within each group, 0 where a score is missing; shape (n_groups, n, n)."""
    return np.nan_to_num(np.sign(x[:, :, None] - y[:, None, :]))


def _mixed(tables, swap):
    """For each item, the sum of a table over the other items, for A's scores and for B's.

    `tables` are x against x, x against y, y against x and y against y. B has what A has not.
    """
    xx, xy, yx, yy = tables
    as_x = xx.sum(axis=2)[..., None] + (xy - xx) @ swap
    as_y = yx.sum(axis=2)[..., None] + (yy - yx) @ swap
    swapped = swap > 0
    first = np.where(swapped, as_y, as_x)
    both_x = (xx + xy).sum(axis=2)[..., None]
    both_y = (yx + yy).sum(axis=2)[..., None]
    return first, np.where(swapped, both_x - as_x, both_y - as_y)


def _share(observed, draws, exact):
    """P-value, and the number of draws."""
    if not len(draws):
        return np.nan, 0
    extreme = int((draws >= observed - _ROUNDING).sum())
    if exact:
        return extreme / len(draws), len(draws)
    return (extreme + 1) / (len(draws) + 1), len(draws)
