"""The planted world: its correlations are what they are said to be."""

import numpy as np
import pytest

from nlgjudge.stats.correlations import correlation
from nlgjudge.studies.statistics_validity import planted


@pytest.mark.parametrize("r", [0.0, 0.5, -0.8, 1.0])
def test_correlations_are_the_planted_ones(r):
    """Kendall's tau of normal pairs is 2/pi asin(r) (Greiner 1909); 2/pi asin(0.5) = 1/3."""
    frame = planted(
        np.random.default_rng(0), documents=3000, systems=10, correlations=(r,), of_systems=0
    )
    assert correlation(frame, "a", "human", coefficient="kendall").value == pytest.approx(
        2 / np.pi * np.arcsin(r), abs=0.01
    )
    assert correlation(
        frame, "a", "human", level="dataset", coefficient="pearson"
    ).value == pytest.approx(r, abs=0.02)


def test_variance_of_systems_documents_and_items():
    frame = planted(
        np.random.default_rng(1), documents=400, systems=400, of_systems=0.3, of_documents=0.2
    )
    scores = frame.pivot(index="doc_id", columns="system_id", values="b")
    assert scores.stack().var() == pytest.approx(1, abs=0.1)
    assert scores.mean(axis=0).var() == pytest.approx(0.3, abs=0.06)
    assert scores.mean(axis=1).var() == pytest.approx(0.2, abs=0.06)


def test_judges_share_what_is_asked():
    """Beyond the human rating: b - 0.5 h and a - 0.5 h correlate by `shared`."""
    for shared in (0.0, 0.7):
        frame = planted(
            np.random.default_rng(2), documents=2000, shared=shared, of_systems=0, of_documents=0
        )
        rest = frame[["a", "b"]].sub(0.5 * frame["human"], axis=0)
        assert rest.corr().iloc[0, 1] == pytest.approx(shared, abs=0.03)


def test_steps_make_ties():
    frame = planted(np.random.default_rng(3), step=0.5, correlations=(0.2, 0.4, 0.6))
    assert list(frame) == ["doc_id", "system_id", "human", "a", "b", "c"]
    assert np.array_equal(frame["c"] * 2, np.round(frame["c"] * 2)) and frame["c"].nunique() < 20


@pytest.mark.parametrize(
    "options",
    [
        {"of_systems": 0.7, "of_documents": 0.4},
        {"shared": 1.1},
        {"step": -1},
        {"correlations": (0.5, 1.2)},
    ],
)
def test_impossible_worlds(options):
    with pytest.raises(ValueError, match="expected shares in"):
        planted(np.random.default_rng(0), **options)
