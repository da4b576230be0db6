"""Means from few labels: by the formula on plain numbers, and how often an interval holds the mean."""

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj


def frame(labels, scores, labelled):
    """One system; labels of the first documents alone."""
    numbers = np.arange(len(labels))
    known = np.where(numbers < labelled, labels, np.nan)
    return pd.DataFrame({"doc_id": numbers, "system_id": "s", "judge": scores, "human": known})


def estimate(*arguments):
    return nj.stats.assisted_mean(frame(*arguments), "judge", "human").loc["s"]


def drawn(rng, kind, rho, documents=500):
    """True values and a judge's scores, whose normal parts correlate by rho; and the mean of the population."""
    true = rng.normal(size=documents)
    judge = rho * true + np.sqrt(1 - rho**2) * rng.normal(size=documents)
    cuts, mean = {"pass": ([0.5244], 0.3), "1-5": ([-1.2816, -0.5244, 0.2533, 1.0364], 3.15)}[kind]
    lowest = 1 if kind == "1-5" else 0
    return *(lowest + np.searchsorted(cuts, one).astype(float) for one in (true, judge)), mean


def test_the_estimate_is_the_regression_of_labels_on_scores():
    rng = np.random.default_rng(0)
    labels, scores, _ = drawn(rng, "1-5", 0.7)
    slope, _ = np.polyfit(scores[:30], labels[:30], 1)
    found = estimate(labels, scores, 30)
    expected = labels[:30].mean() + slope * (scores.mean() - scores[:30].mean())
    assert found["value"] == pytest.approx(expected) and found["weight"] == pytest.approx(slope)
    assert found["labels_alone"] == labels[:30].mean() and found["low"] < expected < found["high"]


@pytest.mark.parametrize("rho", [0, 0.3, 0.7])
@pytest.mark.parametrize("labelled", [20, 50, 100])
@pytest.mark.parametrize("kind", ["pass", "1-5"])
def test_intervals_hold_the_mean_as_often_as_they_say(kind, labelled, rho):
    """With a 95% interval, 60 studies hold it in 51 or more but for one time in a thousand."""
    rng, held = np.random.default_rng(labelled), []
    for _ in range(60):
        labels, scores, mean = drawn(rng, kind, rho)
        found = estimate(labels, scores, labelled)
        held.append(not found["reason"] and found["low"] <= mean <= found["high"])
        assert found["reason"] == "" or labelled == 20
    assert sum(held) >= (51 if labelled > 20 else 40)


def test_too_few_labels_are_refused():
    labels = np.tile([1.0, 0], 50)
    assert estimate(labels, labels, 19)["reason"] == "fewer than 20 labelled documents"
    found = estimate(np.arange(100) == 5, labels, 50)
    assert found["reason"] == "fewer than 5 labels other than the commonest one"
    assert np.isnan(found["low"]) and found["labels_alone"] == pytest.approx(0.02)
    assert np.isnan(estimate(labels, labels, 0)["value"])


def test_a_judge_without_a_signal_is_labels_alone():
    labels = np.tile([1.0, 0, 0], 40)
    found = estimate(labels, np.ones(120), 60)
    assert found["weight"] == 0 and found["value"] == pytest.approx(1 / 3)
