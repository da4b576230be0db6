"""Correlations of random designs against the same in exact arithmetic."""

import math
from itertools import product

import pytest

import exact
import nlgjudge as nj


def differing(seed):
    """Cells in which a design gives another value or other counts than exact arithmetic."""
    items = exact.design(seed)
    frame = exact.frame_of(items)
    groups = {
        (level, *how): exact.groups(items, level, *how)
        for level, how in product(exact.LEVELS, exact.COEFFICIENTS)
    }
    for constant, kendall in product(("skip", "nan", "zero"), "bc"):
        how = {"constant": constant, "kendall": kendall, "levels": exact.LEVELS}
        for ours in nj.correlation_table(frame, ["judge"], ["human"], **how).itertuples():
            kind = kendall if ours.coefficient == "kendall" else "b"
            found = groups[ours.level, ours.coefficient, kind]
            value, n, skipped = exact.correlation(*found, ours.level, constant)
            same = math.isnan(ours.ours) if value is None else abs(ours.ours - value) < 1e-11
            counts = ours.n == n and ours.n_skipped == skipped
            if not (same and counts and bool(ours.reason) == (value is None)):
                yield constant, kendall, ours, (value, n, skipped)


@pytest.mark.parametrize("seed", range(60))
def test_no_design_differs(seed):
    assert list(differing(seed)) == []
