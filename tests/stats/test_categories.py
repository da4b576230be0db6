"""Judges that pass or fail an output, or say which of two is better."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.stats.categories import category_agreement


def frame_of(counts):
    """Items with people's and the judge's category, so many of each combination."""
    rows = [pair for pair, count in counts.items() for _ in range(count)]
    frame = pd.DataFrame(rows, columns=["human", "judge"], dtype=float)
    return frame.assign(doc_id=range(len(rows)), system_id="one")


def test_two_categories_by_hand():
    # Cohen's kappa of 20, 5, 10, 15: observed 35/50, by chance (25 * 30 + 25 * 20) / 50**2 = 0.5.
    found = category_agreement(
        frame_of({(1, 1): 20, (1, 0): 5, (0, 1): 10, (0, 0): 15}), "judge", "human"
    )
    expected = {"accuracy": 0.7, "kappa": 0.4, "TNR": 15 / 25, "TPR": 20 / 25}
    assert found.rates["value"].to_dict() == pytest.approx(expected)
    assert found.confusion.values.tolist() == [[15, 10], [5, 20]]
    assert found.rates.loc["TPR", "n"] == 25
    # The jackknife variance of a mean of n shares is p (1 - p) / (n - 1); ends lie on the logit scale.
    logit = np.log(0.7 / 0.3)
    half = 2.009575 * np.sqrt(0.7 * 0.3 / 49) / (0.7 * 0.3)
    ends = [1 / (1 + np.exp(-logit - sign * half)) for sign in (-1, 1)]
    assert found.rates.loc["accuracy", ["low", "high"]].tolist() == pytest.approx(ends, abs=1e-6)


def test_a_share_of_one_has_wilsons_interval():
    found = category_agreement(frame_of({(1, 1): 20, (0, 0): 5, (0, 1): 15}), "judge", "human")
    z2 = 1.959964**2
    ends = found.rates.loc["TPR", ["low", "high"]].tolist()
    assert ends == pytest.approx([20 / (20 + z2), 1], abs=1e-6)


def test_three_categories_have_a_recall_each():
    found = category_agreement(
        frame_of({(1, 1): 12, (1, 0): 4, (0, 0): 9, (0.5, 1): 2, (0.5, 0.5): 3}), "judge", "human"
    )
    recalls = found.rates["value"].filter(like="recall")
    expected = {"recall of 0": 1, "recall of 0.5": 0.6, "recall of 1": 0.75}
    assert recalls.to_dict() == pytest.approx(expected)
    assert found.confusion.sum().sum() == 30


def test_a_judge_that_passes_everything_has_no_kappa_interval():
    found = category_agreement(frame_of({(1, 1): 30, (0, 1): 20}), "judge", "human")
    assert found.rates.loc["kappa", "value"] == 0
    assert found.rates.loc["kappa", "reason"].startswith("people and the judge agree on 0")
    assert found.rates.loc["TNR", "value"] == 0


def test_graded_scores_are_refused():
    with pytest.raises(ValueError, match="4 different values, expected at most 3 categories"):
        category_agreement(frame_of({(1, 2): 3, (3, 4): 3}), "judge", "human")
