"""What ties do to a coefficient: the helpers of `beyond_ties` and `beyond_ties_and_chance`."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge import stats
from nlgjudge.studies import ties

FRAME = pd.DataFrame(
    {
        "doc_id": ["d1"] * 4 + ["d2"] * 4,
        "system_id": list("wxyz") * 2,
        "judge": [1, 2, 2, 3, 2, 2, 2, 2],
        "people": [1, 1, 2, 3, 1, 2, 3, 4],
    }
)


def test_a_document_by_hand():
    """d1: of six pairs the judge ties one and people tie another; the other four are in order."""
    found = ties.by_document(FRAME, "judge", "people")
    assert found["tau-a"][0] == pytest.approx(4 / 6)
    assert found["tau-b, skip"][0] == pytest.approx(4 / 5)  # five pairs untied on either side
    assert (found["judge"][0], found["people"][0]) == pytest.approx((1 / 6, 1 / 6))
    assert found["accuracy, plain"][0] == pytest.approx(4 / 6)


def test_constant_scores_are_skipped_or_zero():
    found = ties.by_document(FRAME, "judge", "people")
    assert np.isnan(found["tau-b, skip"][1]) and np.isnan(found["Spearman, skip"][1])
    assert found["tau-b, zero"][1] == found["Spearman, zero"][1] == found["tau-a"][1] == 0


def test_means_are_those_of_the_package():
    rng = np.random.default_rng(0)
    frame = FRAME.assign(judge=rng.integers(1, 4, 8), people=rng.integers(1, 6, 8))
    found = ties.by_document(frame, "judge", "people")
    plain = stats.pairwise_accuracy(frame, "judge", "people", epsilon=0).value
    turned = stats.pairwise_accuracy(
        frame.assign(judge=-frame["judge"]), "judge", "people", epsilon=0
    ).value
    assert found["tau-a"].mean() == pytest.approx(plain - turned)
    assert found["accuracy, plain"].mean() == pytest.approx(plain)
    calibrated = stats.pairwise_accuracy(frame, "judge", "people").value
    assert found["accuracy, calibrated"].mean() == pytest.approx(calibrated)


def test_an_item_without_a_score_leaves_its_pairs_out():
    frame = FRAME.assign(judge=[1, 2, np.nan, 3, 2, 2, 2, 2])
    found = ties.by_document(frame, "judge", "people")
    assert found["tau-a"][0] == pytest.approx(
        2 / 3
    )  # w and x are tied by people, the two others in order
