"""Correlations of two metrics whose scores are swapped, for thousands of swaps at once.

The resampling of "A Statistical Analysis of Summarization Evaluation Metrics Using Resampling
Methods" (Deutsch, Dror and Roth 2021, section 5): PERM-INPUTS, PERM-SYSTEMS and PERM-BOTH. With
swap bits, metric A holds x where a bit is 0 and y where it is 1, and B the rest; the sums that a
correlation rests on are then linear or quadratic in the bits, so that matrix products give them.
"""

import math
from functools import partial

import numpy as np
import scipy  # which imports `scipy.stats` where it is first used, in half a second

from nlgjudge.stats.correlations import grouped
from nlgjudge.stats.running_sums import running_sums

_CELLS = 1 << 19  # numbers held at once: arrays of this size stay near the processor
_BLOCK = 256  # resamples are held in blocks of this many
_TILE = 128  # columns of a tile of a matrix product, at most
_KEPT = 1 << 24  # numbers of tables that are kept for a next test: 128 MiB
_ALONE = 1 << 18  # OpenBLAS gives a larger product (rows x inner x columns) to several threads
_SORTED = 250  # above this group size Spearman's ranks are counted among sorted scores instead of by pairs
_COLUMNS = (
    64  # resamples of which ranks are counted at once: their arrays stay in the processor's cache
)
_PAIRWISE = 3_000  # above this group size tables of all pairs take too much memory


def standardised(x):
    """Centre and scale a metric over all its items.

    Ten decimals and exact sums keep the ties between metrics that are shuffled or linear copies
    of each other, unless the rounding would tie two scores of one metric.

    Parameters
    ----------
    x : numpy.ndarray, shape (n_documents, n_systems)
        Not constant; NaN where a score is missing.

    Returns
    -------
    numpy.ndarray, shape (n_documents, n_systems)
    """
    there = ~np.isnan(x)
    present = x[there] / np.nanmax(np.abs(x))
    centred = present - math.fsum(present) / len(present)
    scaled = centred / math.sqrt(math.fsum(centred**2) / len(present))
    rounded = scaled.round(10)
    ties_as_before = len(np.unique(rounded)) == len(np.unique(present))
    found = np.full_like(x, np.nan)
    found[there] = rounded if ties_as_before else scaled
    return found


def swaps(shape, units, resamples, rng):
    """Draw swap bits, eight resamples to a byte.

    Parameters
    ----------
    shape : tuple of int
        Documents and systems.
    units : {"documents", "systems", "both"}
        One bit for a whole document, for a whole system, or for each item.
    resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray of uint8, shape (n_documents, n_systems, n_bytes)
        `numpy.unpackbits` along the last axis gives the bits of a few more resamples than asked
        for, in whole blocks; the first swaps nothing and comes on top.
    """
    drawn = _bits_of_one(shape, units)
    blocks = resamples // _BLOCK + 1
    bits = rng.integers(256, size=(*drawn, blocks * _BLOCK // 8), dtype=np.uint8)
    bits[..., 0] &= 127  # the first resample swaps nothing
    return np.broadcast_to(bits, (*shape, bits.shape[-1]))


def number_of_swaps(present, units):
    """Count the different swaps.

    Each of k units is swapped or not. A swap and its mirror, in which exactly the other units are
    swapped, give the same two correlations in exchange: of 2^k swaps, half are different.

    Parameters
    ----------
    present : numpy.ndarray of bool, shape (n_documents, n_systems)
        Which items have all three scores.
    units : {"documents", "systems", "both"}
        As for `swaps`.

    Returns
    -------
    int
        2^(k - 1).

    Examples
    --------
    Twelve systems can be swapped in 2,048 different ways, whatever the number of documents.

    >>> import numpy as np
    >>> number_of_swaps(np.ones((100, 12), bool), "systems")
    2048
    """
    return 2 ** (len(_units_of(present, units)) - 1)


def every_swap(present, units):
    """List the different swaps, once each, instead of drawing some of them.

    Parameters
    ----------
    present : numpy.ndarray of bool, shape (n_documents, n_systems)
        Which items have all three scores.
    units : {"documents", "systems", "both"}
        As for `swaps`.

    Returns
    -------
    numpy.ndarray of uint8, shape (n_documents, n_systems, n_bytes)
        In the layout of `swaps`. The first swaps nothing, and the last unit is never swapped, which
        leaves out the mirrors. What comes after `number_of_swaps` only fills the last block.
    """
    free = _units_of(present, units)
    count = number_of_swaps(present, units)
    numbers = np.arange(math.ceil(count / _BLOCK) * _BLOCK)
    numbers[count:] = 0
    bit_of_unit = (numbers >> np.arange(len(free))[:, None]) & 1
    packed = np.packbits(bit_of_unit.astype(bool), axis=-1)
    drawn = _bits_of_one(present.shape, units)
    bits = np.zeros((math.prod(drawn), packed.shape[-1]), np.uint8)
    bits[free] = packed
    return np.broadcast_to(bits.reshape(*drawn, -1), (*present.shape, packed.shape[-1]))


def _bits_of_one(shape, units):
    """Shape of the bits of one swap, of which each stands for a unit."""
    return {"documents": (shape[0], 1), "systems": (1, shape[1]), "both": shape}[units]


def _units_of(present, units):
    """Indices of the documents, of the systems, or of the items, that have something to swap."""
    if units == "documents":
        return np.flatnonzero(present.any(axis=1))
    if units == "systems":
        return np.flatnonzero(present.any(axis=0))
    return np.flatnonzero(present)


def differences(x, y, human, bits, *, level, coefficient, constant, kendall):
    """Correlation of A with `human` minus that of B with `human`, for every resample.

    Parameters
    ----------
    x, y, human, level, coefficient, constant, kendall
        As for `Swapped`.
    bits : numpy.ndarray
        As from `swaps` or `every_swap`.

    Returns
    -------
    numpy.ndarray, shape (8 * bits.shape[-1],)
        NaN where either correlation is undefined.
    """
    options = {"level": level, "coefficient": coefficient, "constant": constant, "kendall": kendall}
    return Swapped(x, y, human, **options).differences(bits)


class Swapped:
    """Two metrics to be swapped in several ways; what no swap changes is computed once for them all.

    Parameters
    ----------
    x, y, human : numpy.ndarray, shape (n_documents, n_systems)
        Two standardised metrics and the human scores, NaN at the same items.
    level, coefficient, constant, kendall : str
        As for `nlgjudge.stats.correlations.correlation`.
    """

    def __init__(self, x, y, human, *, level, coefficient, constant, kendall):
        self.level = level
        self.coefficient = coefficient
        self.constant = constant
        self.kendall = kendall
        if level == "dataset":  # all items are one group
            x, y, human = (scores.reshape(1, -1) for scores in (x, y, human))
        self.scores = x, y, human
        self.there = ~np.isnan(x)
        self.tables = {}  # coefficients of small groups under each of their swaps

    def differences(self, bits):
        """Correlation of A with `human` minus that of B, for every resample; see the function of this name."""
        if self.level == "system":
            values = _of_systems(*self.scores, bits, self.coefficient, self.kendall)
            if self.constant == "zero":
                values = np.nan_to_num(values)
            first, second = values
            return first - second
        if self.level == "dataset":
            bits = bits.reshape(1, -1, bits.shape[-1])
        size = self.there.shape[1]
        same_in_all_groups = (
            bits.strides[0] == 0 and self.there.all()
        )  # one document's bits, broadcast
        if same_in_all_groups and size > 1 and _is_small(size, bits):
            tables = (table for _, table in self._tables_of(size, np.arange(len(bits))))
            mean = self._mean(tables, 2**size)
            return (mean - mean[::-1])[_numbers(bits[:1])[0]]
        first, second = self._mean(self._of_groups(bits), (2, 8 * bits.shape[-1]))
        return first - second

    def _mean(self, several, shape):
        """Mean over groups, which come first in arrays of some of them, by the policy for constant input."""
        total = np.zeros(shape)
        count = np.zeros(shape)
        for values in several:
            undefined = np.isnan(values) if self.constant != "nan" else np.zeros(1, bool)
            if undefined.any():
                total += np.where(undefined, 0, values).sum(axis=0)
            else:
                total += values.sum(axis=0)
            count += len(values) - (undefined.sum(axis=0) if self.constant == "skip" else 0)
        with np.errstate(invalid="ignore"):
            return total / count

    def _of_groups(self, bits):
        """Yield both correlations of groups of items, shape (n_groups, 2, n_resamples), some groups at a time.

        A group is a document's items, or all of them. Those with as many items are taken together.
        """
        sizes = self.there.sum(axis=1)
        resamples = 8 * bits.shape[-1]
        for size in map(int, np.unique(sizes)):
            groups = np.flatnonzero(sizes == size)
            if size < 2:
                yield np.broadcast_to(np.nan, (len(groups), 2, resamples))
            elif _is_small(size, bits):
                for some, table in self._tables_of(size, groups):
                    yield _looked_up(table, self._chosen(bits, some, size))
            else:
                for some in _together(groups, size, resamples):
                    scores = (self._chosen(part, some, size) for part in self.scores)
                    yield _of_equal_groups(
                        *scores, self._chosen(bits, some, size), self.coefficient, self.kendall
                    )

    def _tables_of(self, size, groups):
        """Yield some groups at a time, and A's coefficients of each under every swap, shape (n_groups, 2^n_items)."""
        if size in self.tables:
            yield from self.tables[size]
            return
        found = []
        for some in _together(groups, size, 2 ** (size - 1)):
            scores = (self._chosen(part, some, size) for part in self.scores)
            table = _under_every_swap(*scores, self.coefficient, self.kendall)
            yield some, table
            if len(groups) * 2**size <= _KEPT:
                found.append((some, table))
        if found:
            self.tables[size] = found

    def _chosen(self, part, some, size):
        """What an array holds of the items of some groups that have as many of them."""
        return part[some][self.there[some]].reshape(len(some), size, *part.shape[2:])


def _is_small(size, bits):
    """Whether a group has no more different swaps than are asked for."""
    return 2 ** (size - 1) <= 8 * bits.shape[-1]


def _together(groups, size, resamples):
    """Split groups of as many items into parts whose numbers are held at once."""
    numbers = 3 * size * resamples  # of one group, roughly
    return np.array_split(groups, math.ceil(len(groups) / max(1, _CELLS // numbers)))


def _of_systems(x, y, human, bits, coefficient, kendall):
    """Both correlations of the systems' means; the means are rounded like the scores."""
    rated = (~np.isnan(x)).sum(axis=0)  # documents of each system
    x = np.nan_to_num(x)
    y = np.nan_to_num(y)
    mean_human = np.nanmean(human, axis=0)
    systems = len(mean_human)
    values = []
    for chunk in _chunks(bits, systems * max(systems // 2, 1)):
        moved = np.zeros((systems, 8 * chunk.shape[-1]))
        for gap, swapped in zip(y - x, chunk):
            moved += gap[:, None] * np.unpackbits(swapped, axis=1)
        moved = moved.T
        mean_a = ((x.sum(axis=0) + moved) / rated).round(10)
        mean_b = ((y.sum(axis=0) - moved) / rated).round(10)
        values.append(
            [
                _with_human(mean_a, mean_human, coefficient, kendall),
                _with_human(mean_b, mean_human, coefficient, kendall),
            ]
        )
    return np.concatenate(values, axis=1)


def _of_equal_groups(x, y, human, bits, coefficient, kendall):
    """Both correlations of groups with as many items each, shape (n_groups, 2, n_resamples)."""
    statistic, dtype = _statistic(x, y, human, coefficient, kendall)
    values = [
        statistic(np.unpackbits(chunk, axis=2).astype(dtype)) for chunk in _chunks(bits, x.shape[1])
    ]
    return np.concatenate(values, axis=2)


def _statistic(x, y, human, coefficient, kendall):
    """A function of swap bits that gives both correlations of groups with as many items each, and the bits' type.

    Bits have the shape (n_groups, n_items, n_resamples) or, for the same in all groups, lack the first.
    """
    size = x.shape[1]
    if coefficient == "pearson":
        return _moments(x, y, human)
    if coefficient == "spearman" and size > _SORTED:
        return _among_sorted(x, y, human), np.uint8
    if size <= _PAIRWISE:
        return _comparisons(x, y, human, coefficient, kendall)
    return partial(_each_by_itself, x, y, human, coefficient=coefficient, kendall=kendall), bool


def _under_every_swap(x, y, human, coefficient, kendall):
    """A's correlation under each swap of a group's items, shape (n_groups, 2^n_items).

    A swap's number has a bit for each item, the first item's lowest. B has what A has under the mirror of the swap,
    whose number counts from the end.
    """
    if coefficient == "spearman" or (coefficient == "kendall" and kendall == "b"):
        return _from_two_halves(x, y, human, coefficient)
    statistic, dtype = _statistic(x, y, human, coefficient, kendall)
    size = x.shape[1]
    last_not_swapped = _every_swap_of(size)[:, : 2 ** (size - 1)]
    values = statistic(last_not_swapped.astype(dtype))
    return np.concatenate([values[:, 0], values[:, 1, ::-1]], axis=1)


def _looked_up(table, bits):
    """Both correlations for swap bits, from A's under every swap."""
    last = table.shape[1] - 1
    numbers = _numbers(bits)
    return np.stack(
        [[of_group[number], of_group[last - number]] for of_group, number in zip(table, numbers)]
    )


def _numbers(bits):
    """The number of each group's swap in each resample, shape (n_groups, n_resamples)."""
    swapped = np.unpackbits(bits, axis=2)
    number = np.zeros((len(bits), swapped.shape[2]), int)
    for first in range(0, swapped.shape[1], 8):
        byte = np.zeros(number.shape, np.uint8)  # several times as fast as shifting long numbers
        for place, of_item in enumerate(swapped[:, first : first + 8].swapaxes(0, 1)):
            byte |= of_item << place
        number += byte.astype(int) << first
    return number


def _chunks(bits, cells):
    """Yield whole blocks of resamples, each of which takes `cells` numbers."""
    step = max(1, _CELLS // (_BLOCK * cells)) * _BLOCK // 8
    for start in range(0, bits.shape[-1], step):
        yield bits[..., start : start + step]


def _product(matrix, swapped):
    """`matrix @ swapped` in tiles that stay on one thread: waiting for a busy one costs far more."""
    rows, inner = matrix.shape[-2:]
    width = min(_TILE, 2 ** int(math.log2(max(_ALONE // max(rows * inner, 1), 1))))
    if width < 8:  # large enough for several threads
        return matrix @ swapped
    shape = np.broadcast_shapes(matrix.shape[:-2], swapped.shape[:-2])
    found = np.empty((*shape, rows, swapped.shape[-1]), matrix.dtype)
    for start in range(0, found.shape[-1], width):
        tile = slice(start, start + width)
        np.matmul(matrix, swapped[..., tile], out=found[..., tile])
    return found


def _one_by_one(x, y, human, swapped, coefficient, kendall):
    """Both correlations by swapping the scores and nothing more clever."""
    of_a = np.where(swapped.T, y, x)
    of_b = np.where(swapped.T, x, y)
    return np.stack([_with_human(scores, human, coefficient, kendall) for scores in (of_a, of_b)])


def _each_by_itself(x, y, human, swapped, coefficient, kendall):
    """`_one_by_one` for several groups."""
    groups = zip(x, y, human, np.broadcast_to(swapped, (len(x), *swapped.shape[-2:])))
    return np.stack([_one_by_one(*one, coefficient, kendall) for one in groups])


def _with_human(scores, human, coefficient, kendall):
    """Correlation of each row of scores with the same human scores."""
    return grouped(scores, np.broadcast_to(human, scores.shape), coefficient, kendall=kendall)


def _moments(x, y, human):
    """Pearson: the sums of h a, a and a a, for ratings h and scores a, are linear in the swap bits."""
    human = human - human.mean(axis=1, keepdims=True)
    constant = np.isnan(grouped(human, human, "pearson"))
    of_human = (human * human).sum(axis=1)[:, None]
    middle = (x.mean(axis=1, keepdims=True) + y.mean(axis=1, keepdims=True)) / 2
    of_x = _summands(x - middle, human)
    of_y = _summands(y - middle, human)
    start_a = of_x.sum(axis=2, keepdims=True)
    start_b = of_y.sum(axis=2, keepdims=True)
    size = (start_a + start_b)[:, 2]

    def statistic(swapped):
        moved = _product(of_y - of_x, swapped)
        values = np.empty((len(x), 2, swapped.shape[-1]))
        each = np.broadcast_to(swapped, (len(x), *swapped.shape[-2:]))
        for row, sums in enumerate((start_a + moved, start_b - moved)):
            product, total, square = sums.swapaxes(0, 1)
            spread = square - total**2 / x.shape[1]
            with np.errstate(invalid="ignore", divide="ignore"):
                values[:, row] = product / np.sqrt(spread * of_human)
            doubtful = spread <= 1e-6 * size  # constant, or too close to it for this formula
            for group in np.flatnonzero(doubtful.any(axis=1) & ~constant):
                some = doubtful[group]
                these = each[group][:, some] > 0
                again = _one_by_one(x[group], y[group], human[group], these, "pearson", "b")
                values[group, row, some] = again[row]
        values[constant] = np.nan
        return values

    return statistic, float


def _summands(scores, human):
    """What each item adds to the three sums of Pearson's coefficient."""
    return np.stack([human * scores, scores, scores * scores], axis=1)


def _comparisons(x, y, human, coefficient, kendall):
    """Spearman and Kendall from the signs of all pairs, which makes them exact integers.

    A rank, doubled and centred, is the sum over j of sign(a_i - a_j). The numerator of either
    coefficient is therefore the sum over i and j of w_ij sign(a_i - a_j), with w_ij = r_i - r_j
    for Spearman (r: ranks of the ratings h) and sign(h_i - h_j) for Kendall. Which of four sign
    tables (x or y against x or y) a pair takes depends on its two bits: a quadratic form in the
    bits. Ties enter through the number of chosen scores of each value, which is linear in the bits.
    """
    n = x.shape[1]
    classes = np.array([len(np.unique(one)) for one in human])[:, None] if kendall == "c" else n
    weight, variation = _weights(human, coefficient)
    largest = 2 * n if coefficient == "spearman" else 1  # weight
    dtype = (
        np.float32 if 4 * largest * n * n < 2**24 else float
    )  # single precision holds these integers
    start, slopes, bends = _quadratic_forms(x, y, weight)
    in_x, in_y = _tied_values(x, y)
    forms = np.concatenate([bends, slopes, in_y - in_x], axis=1).astype(dtype)
    tied = in_x.sum(axis=2)[..., None], in_y.sum(axis=2)[..., None]

    def statistic(swapped):
        products = _product(forms, swapped)
        bits = np.broadcast_to(swapped, (len(forms), *swapped.shape[-2:]))
        bend = np.einsum("gij,gij->gj", products[:, :n], bits)
        values = np.empty((len(forms), 2, swapped.shape[-1]))
        for row, sign in enumerate((1, -1)):
            agreement = (start[:, row, None] + products[:, n + row] + bend).astype(float)
            ties = tied[row].astype(dtype) + sign * products[:, n + 2 :]
            values[:, row] = _ratio(
                agreement, ties, n, variation[:, None], classes, coefficient, kendall
            )
        return values

    return statistic, dtype


def _weights(human, coefficient):
    """The weight w_ij of each pair of items that `_comparisons` speaks of, and the ratings' sum of squares."""
    signs = np.sign(_gaps(human, human))
    if coefficient == "kendall":
        return signs, np.abs(signs).sum(axis=(1, 2))
    rank = signs.sum(axis=2)
    return _gaps(rank, rank), 4 * (rank * rank).sum(axis=1)


def _quadratic_forms(x, y, weight):
    """A's and B's numerators as functions of swap bits s: start + slope s + s bends s, with bends for both."""
    xx = weight * np.sign(_gaps(x, x))
    xy = weight * np.sign(_gaps(x, y))
    yy = weight * np.sign(_gaps(y, y))
    start = np.stack([xx.sum(axis=(1, 2)), yy.sum(axis=(1, 2))], axis=1)
    slope_a = 2 * (xy.sum(axis=1) - xx.sum(axis=2))
    slope_b = 2 * (xy.sum(axis=2) - yy.sum(axis=2))
    bends = xx - xy - xy.swapaxes(1, 2) + yy
    return start, np.stack([slope_a, slope_b], axis=1), bends


def _from_two_halves(x, y, human, coefficient):
    """`_under_every_swap` from the sums of `_comparisons`, which are whole numbers: exact in any order.

    A swap of the first half of the items and one of the others make a swap of them all. A sum over it has a part for
    each half, and a part across both, which is a product of matrices.
    """
    groups, n = x.shape
    weight, variation = _weights(human, coefficient)
    start, slopes, bends = _quadratic_forms(x, y, weight)
    in_x, in_y = _tied_values(x, y)
    step = in_y - in_x
    first, others = slice(n // 2), slice(n // 2, n)
    bits, other_bits = (_every_swap_of(number).astype(float) for number in (n // 2, n - n // 2))
    of_first = _quadratic(slopes[:, 0, first], bends[:, first, first], bits)
    of_others = start[:, :1] + _quadratic(
        slopes[:, 0, others], bends[:, others, others], other_bits
    )
    twice = bends[:, others, first] + bends[:, first, others].swapaxes(1, 2)
    agreement = _product(other_bits.T @ twice, bits) + of_others[:, :, None] + of_first[:, None, :]
    counts = in_x.sum(axis=2)[:, :, None] + step[:, :, others] @ other_bits
    tied = _tied_sum(counts, step[:, :, first] @ bits, coefficient)
    agreement, tied = (sums.reshape(groups, -1) for sums in (agreement, tied))
    return _quotient(agreement, _spread(tied, n, coefficient), variation[:, None])


def _every_swap_of(items):
    """Swap bits of so many items, shape (n_items, 2^n_items); a swap's number has the first item's bit lowest."""
    return np.arange(2**items) >> np.arange(items)[:, None] & 1


def _quadratic(slope, bends, bits):
    """slope s + s bends s for the bits s of every swap, shape (n_groups, n_swaps)."""
    return ((slope[:, :, None] + bends @ bits) * bits).sum(axis=1)


def _tied_sum(counts, more, coefficient):
    """`_ties` of every sum of a number of scores from `counts` and one from `more`, shape (n_groups, n, n_more)."""
    if coefficient == "spearman":  # (a + b)^3 = a^3 + 3 a a b + 3 a b b + b^3
        left = np.concatenate([counts * counts, counts], axis=1)
        right = np.concatenate([more, more * more], axis=1)
        across = 3 * _product(left.swapaxes(1, 2), right)
    else:
        across = 2 * _product(counts.swapaxes(1, 2), more)
    return across + _ties(counts, coefficient)[:, :, None] + _ties(more, coefficient)[:, None, :]


def _among_sorted(x, y, human):
    """Spearman of large groups, one after the other, from ranks that are counted among sorted scores."""
    groups = [_RankCounts(*of_group) for of_group in zip(x, y, human)]

    def statistic(swapped):
        each = np.broadcast_to(swapped, (len(groups), *swapped.shape[-2:]))
        values = np.empty((len(groups), 2, swapped.shape[-1]))
        for group, bits, found in zip(groups, each, values):
            for start in range(0, bits.shape[-1], _COLUMNS):
                columns = slice(start, start + _COLUMNS)
                found[:, columns] = group.coefficients(bits[:, columns])
        return values

    return statistic


class _RankCounts:
    """Ranks of swapped scores, for one group of items.

    The scores of both metrics are sorted together, once. A swap gives one of an item's two scores to A and the
    other to B. The rank of a score of A's, doubled and centred, is the number of A's scores below it, plus the
    number up to it, less the number of items. The numerator is the sum of r_i rank_i, with the ratings' ranks r:
    half of what `_comparisons` sums over all pairs, and whole numbers as well.
    """

    def __init__(self, x, y, human):
        self.size = len(x)
        scores = np.concatenate([x, y])
        self.order = np.argsort(scores, kind="stable")
        inorder = scores[self.order]
        differs = inorder[1:] != inorder[:-1]
        self.value = np.concatenate([[0], np.cumsum(differs)])  # the number of each score's value
        self.last = np.flatnonzero(np.append(differs, True))  # the last score of each value
        up_to = self.last + 1
        below = np.concatenate([[0], up_to[:-1]])
        rank = 2 * scipy.stats.rankdata(human) - self.size - 1
        self.variation = np.array([[4 * (rank * rank).sum()]])
        self.rating = rank[self.order % self.size]
        self.rank_of_both = (up_to + below)[
            self.value
        ]  # of a score, if one metric had all; not centred
        self.tied = np.flatnonzero(up_to - below > 1)
        self.tied_of_both = (up_to - below)[self.tied, None]
        self.whole = np.int16 if 4 * self.size < 2**15 else np.int64  # holds every rank

    def coefficients(self, swapped):
        """Both metrics' coefficients, shape (2, n_resamples), for swap bits of shape (n_items, n_resamples)."""
        of_a = np.concatenate([swapped ^ 1, swapped])[self.order]
        up_to = running_sums(of_a, self.whole)[self.last]
        below = np.zeros_like(up_to)
        below[1:] = up_to[:-1]
        rank = (up_to + below)[self.value]
        taken = self.rating @ of_a
        ranked = self.rating @ (of_a * rank)
        product = ranked - self.size * taken
        # B has what A has not, and of the scores below one of B's those that A has not. The ratings' ranks sum to 0.
        by_both = self.rating * self.rank_of_both
        other_product = (
            (by_both.sum() - by_both @ of_a) - (self.rating @ rank - ranked) + self.size * taken
        )
        ties = (up_to - below)[self.tied]
        return np.stack(
            [self._ratio(product, ties), self._ratio(other_product, self.tied_of_both - ties)]
        )

    def _ratio(self, product, ties):
        agreement = 2 * product[None]
        return _ratio(
            agreement, ties[None].astype(float), self.size, self.variation, None, "spearman", None
        )[0]


def _gaps(x, y):
    """Differences of all pairs of each group, shape (n_groups, n_items, n_items)."""
    return x[:, :, None] - y[:, None, :]


def _tied_values(x, y):
    """Which items have each value that occurs more than once in a group, in x and in y.

    Returns
    -------
    in_x, in_y : numpy.ndarray of int, shape (n_groups, n_values, n_items)
        Rows that a group does not need are 0.
    """
    scores = np.concatenate([x, y], axis=1)
    order = np.argsort(scores, axis=1, kind="stable")
    inorder = np.take_along_axis(scores, order, axis=1)
    as_before = np.zeros(scores.shape, bool)
    as_before[:, 1:] = inorder[:, 1:] == inorder[:, :-1]
    tied = as_before.copy()
    tied[:, :-1] |= as_before[:, 1:]
    value = np.cumsum(tied & ~as_before, axis=1)  # 1 and more, where tied
    member = np.zeros((len(x), int(value.max()) + 1, scores.shape[1]), int)
    group, place = np.nonzero(tied)
    member[group, value[group, place], order[group, place]] = 1
    return member[:, 1:, : x.shape[1]], member[:, 1:, x.shape[1] :]


def _ratio(agreement, ties, n, variation, classes, coefficient, kendall):
    """Coefficients from the quadratic form and the counts of ties; NaN for constant input."""
    spread = _spread(_ties(ties, coefficient).astype(float), n, coefficient)
    if coefficient != "kendall" or kendall != "c":
        return _quotient(agreement, spread, variation)
    classes = np.minimum(classes, n - ties.sum(axis=1) + (ties > 0).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        value = agreement / (n * n * (classes - 1) / classes)
    value[(spread <= 0) | (variation <= 0)] = np.nan
    return value


def _ties(counts, coefficient):
    """What ties take off the sum of squares, from the numbers of scores that have each value."""
    if coefficient == "spearman":
        return (counts * counts * counts - counts).sum(axis=1)
    return (counts * counts - counts).sum(axis=1)


def _spread(tied, n, coefficient):
    """The sum of squares of n scores' ranks, or the number of their pairs that are not tied, twice."""
    if coefficient == "spearman":
        return (n**3 - n - tied) / 3
    return n * n - n - tied


def _quotient(agreement, spread, variation):
    """The coefficient; NaN for constant input."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = agreement / np.sqrt(spread * variation)
    value[(spread <= 0) | (variation <= 0)] = np.nan
    return value
