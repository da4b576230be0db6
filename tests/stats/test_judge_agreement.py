"""One call gives the correlations of several judges with several aspects."""

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    ratings = rng.normal(size=(40, 2))
    frame = pd.DataFrame(
        {
            "doc_id": np.repeat(np.arange(10), 4),
            "system_id": np.tile(list("wxyz"), 10),
            "fluency": ratings[:, 0],
            "relevance": ratings[:, 1],
            "words": rng.normal(size=40),
        }
    )
    return frame.assign(**{"good:fluency": ratings[:, 0], "good:relevance": -ratings[:, 1]})


def test_each_judge_meets_its_own_aspect(frame):
    found = nj.agreement(
        frame, ["good", "words"], ["fluency", "relevance"], levels=("sample", "dataset")
    )
    ours = found.set_index(["judge", "aspect", "level"])["ours"]
    assert ours["good", "fluency"].tolist() == [1, 1] and ours["good", "relevance"].tolist() == [
        -1,
        -1,
    ]
    by_hand = frame["words"].rank().corr(frame["fluency"].rank())
    assert ours["words", "fluency", "dataset"] == pytest.approx(by_hand)


def test_intervals_are_those_of_a_table(frame):
    cells = nj.correlation_table(
        frame, ["words"], ["fluency", "relevance"], levels=("dataset",), coefficients=("spearman",)
    )
    for systems in ("these", "other"):
        found = nj.agreement(
            frame, ["words"], ["fluency", "relevance"], interval=True, systems=systems
        )
        table = nj.stats.interval_table(frame, cells, systems=systems)
        pd.testing.assert_frame_equal(found.drop(columns="judge"), table)
    assert (
        found["ci_reason"] == "fewer than 6 systems, which do not show how other systems vary"
    ).all()


def test_an_unknown_judge_is_named_with_near_ones(frame):
    with pytest.raises(ValueError, match="no column 'god': did you mean 'good'"):
        nj.agreement(frame, ["god"], ["fluency"])
