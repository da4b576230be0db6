"""Judges that choose between two texts, shown in both orders."""

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj


def study(better, chosen):
    """A frame of pairs: the better text (1 or 2, 0 for a tie) and the texts chosen in the two orders."""
    rows = []
    for place, (label, choices) in enumerate(zip(better, chosen)):
        for order, choice in zip((1, 2), choices):
            human = 0.5 if label == 0 else float(label == order)
            score = np.nan if choice is None else float(choice == order)
            rows.append((f"pair {place:03}", str(order), human, score))
    return pd.DataFrame(rows, columns=["doc_id", "system_id", "better", "judge"])


def test_each_kind_of_pair_counts_as_defined():
    # Right twice, wrong twice, the first place twice, a tie of people's, and an unread reply.
    frame = study([1, 1, 2, 0, 1], [(1, 1), (2, 2), (1, 2), (1, 1), (None, 1)])
    found = nj.stats.pair_agreement(frame, ["judge"], ["better"]).set_index("measure")["value"]
    assert found["accuracy"] == pytest.approx((1 + 0 + 0.5) / 3)
    assert found["agreement"] == pytest.approx(3 / 4)
    assert found["first"] == pytest.approx((0.5 + 0.5 + 1 + 0.5) / 4)
    assert found["unread"] == pytest.approx(1 / 10)


def test_accuracy_is_kendall_within_pairs_on_another_scale():
    rng = np.random.default_rng(0)
    better = rng.integers(1, 3, 60)
    chosen = [(label, label if rng.random() < 0.6 else 3 - label) for label in better]
    frame = study(better, chosen)
    accuracy = nj.interval(frame, "judge", "better", level="pair", coefficient="accuracy")
    kendall = nj.interval(frame, "judge", "better", coefficient="kendall", constant="zero")
    assert accuracy[:3] == pytest.approx([(1 + value) / 2 for value in kendall[:3]])


def test_a_planted_judge_lies_in_its_intervals():
    """It knows 70% of the pairs and takes the first place in the others."""
    rng = np.random.default_rng(1)
    better = rng.integers(1, 3, 400)
    chosen = [(label, label) if rng.random() < 0.7 else (1, 2) for label in better]
    frame = study(better, chosen)
    found = nj.stats.pair_agreement(frame, ["judge"], ["better"]).set_index("measure")
    for measure, truth in {"accuracy": 0.85, "agreement": 0.7, "first": 0.65}.items():
        assert found.loc[measure, "low"] < truth < found.loc[measure, "high"]
    assert found.loc["unread", "reason"] == "the share is exactly 1 or 0"


def test_two_judges_are_compared_by_swapping_whole_pairs():
    rng = np.random.default_rng(2)
    better = rng.integers(1, 3, 200)
    frame = study(better, [(label, label) for label in better])
    worse = study(better, [(label, label) if rng.random() < 0.8 else (1, 2) for label in better])
    frame["worse"] = worse["judge"]
    (test,) = nj.paired_tests(
        frame, [("judge", "worse")], ["better"], level="pair", coefficient="accuracy", interval=True
    ).to_dict("records")
    share = (worse.groupby("doc_id")["judge"].sum() != 1).mean()
    assert test["difference"] == pytest.approx(share / 2)
    assert test["p_items"] < 0.001
    assert test["ci_low"] < test["difference"] < test["ci_high"]
    assert np.isnan(test["p_systems"])


def test_pairs_need_their_two_orders_and_have_no_systems():
    frame = study([1, 2], [(1, 1), (2, 2)])
    with pytest.raises(ValueError, match="expected two orders of each pair, got 1"):
        nj.correlation(frame.iloc[[0, 2]], "judge", "better", level="pair", coefficient="accuracy")
    with pytest.raises(ValueError, match="expected one of accuracy, agreement, first"):
        nj.correlation(frame, "judge", "better", level="pair")
    with pytest.raises(ValueError, match="expected one of these"):
        nj.interval(frame, "judge", "better", level="pair", coefficient="accuracy", systems="other")
