"""Counting a system several times is the same as having it several times."""

import numpy as np
import pytest

from nlgjudge.stats.correlations import grouped
from nlgjudge.stats.weighted import weighted


@pytest.mark.parametrize("systems", [6, 90])  # pairs listed, and summed as a product of matrices
@pytest.mark.parametrize(
    "coefficient, kendall",
    [("pearson", "b"), ("spearman", "b"), ("kendall", "b"), ("kendall", "c")],
)
def test_counts_are_repetitions(systems, coefficient, kendall):
    rng = np.random.default_rng(systems)
    x, y = rng.integers(0, 4, (2, 5, systems)).astype(float)
    x[0, ::3] = np.nan
    y[1] = 2.0
    drawn = rng.integers(systems, size=(7, systems))
    counts = (drawn[:, :, None] == np.arange(systems)).sum(axis=1, dtype=float)
    values, present = weighted(x, y, counts, coefficient, kendall)
    expected = np.array(
        [grouped(x[:, columns], y[:, columns], coefficient, kendall=kendall) for columns in drawn]
    )
    np.testing.assert_allclose(values, expected, atol=1e-12)
    assert np.isnan(values[:, 1]).all() and present.all()


def test_by_hand():
    """Scores 1 2 3 against 1 3 2, the first left out, the last twice: both pairs are discordant."""
    counts = np.array([[0.0, 1, 2], [3, 0, 0]])
    values, present = weighted(np.array([[1.0, 2, 3]]), np.array([[1.0, 3, 2]]), counts, "kendall")
    assert values[0, 0] == pytest.approx(-1) and np.isnan(values[1, 0]) and present.all()
    values, present = weighted(
        np.array([[np.nan, 2]]), np.array([[1.0, 2]]), np.array([[1.0, 0]]), "pearson"
    )
    assert np.isnan(values).all() and not present.any()
