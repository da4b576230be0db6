"""The rows that stand for a cross product hold every pair of values, and are fewer."""

from itertools import combinations, product

import pytest

from pairwise import pairwise


@pytest.mark.parametrize(
    "sizes, most",
    [
        ((3, 4, 3, 3, 2), 18),
        ((3, 3, 4), 13),
        ((2, 2, 2), 4),
        ((4, 2), 8),
        ((2, 1, 3), 6),
        ((3,), 0),
    ],
)
def test_every_pair_of_values_occurs(sizes, most):
    values = [[f"{name}{i}" for i in range(size)] for name, size in zip("abcde", sizes)]
    rows = pairwise(*values)
    for (i, first), (j, second) in combinations(enumerate(values), 2):
        assert {(row[i], row[j]) for row in rows} == set(product(first, second))
    assert len(rows) <= most and len(set(rows)) == len(rows) and rows == pairwise(*values)
    assert set(rows) <= set(product(*values))


def test_rows_that_are_asked_for_are_among_them():
    values = ([0, 1], "ab", [("x", 1), ("y", 2)])
    for asked in product(*values):
        rows = pairwise(*values, also=[asked])
        assert rows[0] == asked and len(rows) == len(set(rows)) <= 5
        assert {row[1:] for row in rows} == set(product(*values[1:]))
