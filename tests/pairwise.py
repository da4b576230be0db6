"""Rows of parameters in which every pair of values occurs, in place of their full cross product."""

from itertools import combinations, product


def pairwise(*values, also=()):
    """Choose rows of the cross product, greedily, so that every two parameters meet in every way.

    Parameters
    ----------
    *values : sequences
        The values of each parameter.
    also : sequence of tuple
        Rows that are to be among them, whatever pairs they add.

    Returns
    -------
    list of tuple
        Rows with a value of each parameter, the same on every run.
    """
    pairs = {
        row: set(combinations(enumerate(row), 2))
        for row in product(*(range(len(v)) for v in values))
    }
    chosen = [tuple(v.index(value) for v, value in zip(values, row)) for row in also]
    left = set().union(*pairs.values()).difference(*map(pairs.get, chosen))
    while left:
        chosen.append(max(pairs, key=lambda row: len(left & pairs[row])))
        left -= pairs[chosen[-1]]
    return [tuple(v[i] for v, i in zip(values, row)) for row in chosen]
