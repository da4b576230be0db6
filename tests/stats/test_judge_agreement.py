"""One call gives the correlations of several judges with several aspects."""

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj


@pytest.fixture
def frame():
    scores = np.random.default_rng(3).normal(size=(40, 3))
    frame = pd.DataFrame(scores, columns=["fluency", "relevance", "words"])
    frame = frame.assign(doc_id=np.repeat(np.arange(10), 4), system_id=[*"wxyz"] * 10)
    return frame.assign(**{"good:fluency": frame["fluency"], "good:relevance": -frame["relevance"]})


def test_each_judge_meets_its_own_aspect(frame):
    levels, aspects = ("sample", "dataset"), ["fluency", "relevance"]
    found = nj.agreement(frame, ["good", "words"], aspects, levels=levels)
    ours = found.set_index(["judge", "aspect", "level"])["ours"]
    assert ours["good", "fluency"].tolist() == [1, 1]
    assert ours["good", "relevance"].tolist() == [-1, -1]
    by_hand = frame["words"].rank().corr(frame["fluency"].rank())
    assert ours["words", "fluency", "dataset"] == pytest.approx(by_hand)


@pytest.mark.parametrize("systems", ["these", "other"])
def test_intervals_are_those_of_a_table(frame, systems):
    aspects, how = ["fluency", "relevance"], {"coefficients": ["spearman"], "levels": ["dataset"]}
    cells = nj.correlation_table(frame, ["words"], aspects, **how)
    found = nj.agreement(frame, ["words"], aspects, interval=True, systems=systems)
    table = nj.stats.interval_table(frame, cells, systems=systems)
    pd.testing.assert_frame_equal(found.drop(columns="judge"), table)
