"""Correlations against scipy in a plain loop, and against arithmetic done by hand."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.stats.correlations import correlation, correlation_table, group_correlations


def frame_of(groups):
    """A frame from {document: [(metric, human), ...]}, systems numbered in order."""
    rows = [(d, f"s{i}", *pair) for d, pairs in groups.items() for i, pair in enumerate(pairs)]
    return pd.DataFrame(rows, columns=["doc_id", "system_id", "f", "h"])


# Two documents, three systems. Ranks: document a agrees, b swaps its first two.
TINY = frame_of({"a": [(1, 1), (2, 4), (3, 6)], "b": [(10, 3), (20, 2), (30, 5)]})
BY_HAND = {
    # Equation 1. Spearman: a 1, b 1 - 6(1+1+0)/(3*8) = 1/2. Kendall: a 1, b (2-1)/3.
    ("sample", "spearman"): (1 + 1 / 2) / 2,
    ("sample", "kendall"): (1 + 1 / 3) / 2,
    # a: cov 8/3 + 7/3 = 5, norms sqrt(2), sqrt(64+1+49)/3; b: cov 10/3 + 50/3 = 20,
    # norms sqrt(200), sqrt(1+16+25)/3.
    ("sample", "pearson"): (15 / (2 * 114) ** 0.5 + 60 / (200 * 42) ** 0.5) / 2,
    # Equation 2. Ratings in order of f: 1 4 6 3 2 5; squared rank differences 0+4+9+1+9+1 = 24.
    ("dataset", "spearman"): 1 - 6 * 24 / (6 * 35),
    # Concordant pairs 5+2+0+1+1 = 9 of 15, discordant 6.
    ("dataset", "kendall"): (9 - 6) / 15,
    # System means: f 5.5, 11, 16.5; h 2, 3, 5.5, centred -1.5, -0.5, 2: 3.5/sqrt(2*6.5).
    ("system", "pearson"): 3.5 / 13**0.5,
    ("system", "spearman"): 1,
    ("system", "kendall"): 1,
}


@pytest.mark.parametrize("level, coefficient", BY_HAND)
def test_equations_by_hand(level, coefficient):
    ours = correlation(TINY, "f", "h", level=level, coefficient=coefficient)
    assert ours.value == pytest.approx(BY_HAND[level, coefficient], abs=1e-12)
    assert (ours.n, ours.n_skipped) == ({"sample": 2, "dataset": 6, "system": 3}[level], 0)


# Spearman by document: 1; 1 - 6(0+1+1)/(3*8) = 1/2; constant metric; one rated item; none rated.
POLICY = frame_of(
    {
        "full": [(1, 1), (2, 2), (3, 3)],
        "swap": [(1, 1), (2, 3), (3, 2)],
        "flat": [(5, 1), (5, 2), (5, 3)],
        "lone": [(1, 1), (2, np.nan)],
        "none": [(1, np.nan), (np.nan, 2)],
    }
)


@pytest.mark.parametrize(
    "constant, value, n, skipped",
    [
        ("skip", (1 + 0.5) / 2, 2, 3),
        ("zero", (1 + 0.5 + 0 + 0) / 4, 4, 1),  # a document without any pair is still left out
        ("nan", np.nan, 2, 3),
    ],
)
def test_constant_input_policies(constant, value, n, skipped):
    ours = correlation(POLICY, "f", "h", constant=constant)
    assert ours.value == pytest.approx(value, nan_ok=True)
    assert (ours.n, ours.n_skipped) == (n, skipped)
    assert ours.reason == ("constant input in 2 documents" if constant == "nan" else "")


@pytest.mark.parametrize("scale", [1e-15, 1e-3, 1.0, 1e9])
@pytest.mark.parametrize("coefficient", ["pearson", "spearman", "kendall"])
def test_scale_and_offset_change_nothing(scale, coefficient):
    x, y = np.array([[1.0, 2, 2, 5]]), np.array([[1.0, 3, 2, 2]])
    flat = np.full((1, 7), 0.1 * scale * 12345671)
    value, sized = (group_correlations(one, y, "sample", coefficient) for one in (x, x * scale))
    assert sized == pytest.approx(value, abs=1e-9)
    assert np.isnan(group_correlations(flat, np.arange(7.0)[None], "sample", coefficient)).all()


def test_ratings_in_thirds_tie():
    """Means over ten documents of ratings in thirds: sums 26, 27, 23 and 23 thirds; 23 in two orders of summing.

    Ranks of the means 3, 4, 1.5, 1.5, centred 0.5, 1.5, -1, -1; of the judge -1.5, 0.5, 1.5, -0.5:
    (-0.75 + 0.75 - 1.5 + 0.5) / sqrt(4.5 * 5) = -0.211. Untied, it would be 0 or -0.4.
    """
    thirds = [
        [2, 2, 3, 3, 2, 3, 3, 2, 3, 3],
        [3, 2, 3, 3, 2, 3, 3, 2, 3, 3],
        [3, 2, 2, 3, 2, 2, 2, 1, 3, 3],
        [2, 3, 1, 3, 2, 3, 3, 2, 2, 2],
    ]
    frame = frame_of({d: [(j, r[d] / 3) for j, r in zip([1, 3, 4, 2], thirds)] for d in range(10)})
    found = correlation(frame, "f", "h", level="system").value
    assert found == pytest.approx(-1 / 22.5**0.5, abs=1e-12)


FLAT = frame_of({"a": [(1, 2), (1, 3)], "b": [(1, 2), (1, 4)]})


@pytest.mark.parametrize(
    "frame, level, n, skipped, reason",
    [
        (TINY.iloc[:0].astype({"f": float, "h": float}), "sample", 0, 0, "no item has both scores"),
        (TINY.assign(f=np.nan), "dataset", 0, 6, "no item has both scores"),
        (frame_of({"a": [(1, 2)]}), "sample", 0, 1, "constant input in every document"),
        (frame_of({"a": [(1, 2)]}), "dataset", 1, 0, "constant input or fewer than two items"),
        (FLAT, "sample", 0, 2, "constant input in every document"),
        (FLAT, "system", 2, 0, "constant input or fewer than two items"),
    ],
)
def test_nothing_to_correlate_is_nan_with_a_reason(frame, level, n, skipped, reason):
    ours = correlation(frame, "f", "h", level=level)
    assert np.isnan(ours.value)
    assert (ours.n, ours.n_skipped, ours.reason) == (n, skipped, reason)


def test_table_has_a_row_for_every_combination():
    frame = TINY.assign(g=-TINY["f"])
    table = correlation_table(frame, ["f", "g"], ["h"], levels=("sample", "system"), dataset="tiny")
    names = "metric dataset aspect level coefficient ours n n_skipped reason"
    assert list(table.columns) == names.split()
    assert len(table) == 2 * 1 * 2 * 3
    found = table.set_index(["metric", "level", "coefficient"])["ours"]
    for (level, coefficient), value in BY_HAND.items():
        if level != "dataset":
            assert found["f", level, coefficient] == pytest.approx(value)
            assert found["g", level, coefficient] == pytest.approx(-value)
    assert set(table["dataset"]) == {"tiny"} and set(table["aspect"]) == {"h"}
