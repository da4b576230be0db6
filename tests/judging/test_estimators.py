"""Estimators: which number a distribution over ratings gives, by hand and where the truth is known."""

import math

import numpy as np
import pandas as pd
import pytest

from nlgjudge.data.benchmarks import load
from nlgjudge.judging import estimators
from nlgjudge.judging.reading import Reading, distributions
from nlgjudge.judging.run import judge_items
from nlgjudge.judging.tasks import Reply

RATINGS = [1, 2, 3, 4, 5]
# Two humps, a tie of the likeliest, halves that meet between 2 and 4, one rating alone, nothing known.
P = np.array(
    [
        [0.4, 0.0, 0.1, 0.0, 0.5],
        [0.3, 0.1, 0.3, 0.2, 0.1],
        [0.2, 0.3, 0.0, 0.4, 0.1],
        [0.0, 0.0, 0.0, 1.0, 0.0],
        [math.nan] * 5,
    ]
)
BY_HAND = {
    "expected": [3.2, 2.7, 2.9, 4.0, math.nan],
    "mode": [5.0, 2.0, 4.0, 4.0, math.nan],
    "median": [3.5, 3.0, 3.0, 4.0, math.nan],
    # 3.2 - sqrt(.4 * 2.2^2 + .1 * .2^2); 2.7 - sqrt(.3 * 1.7^2 + .1 * .7^2); 2.9 - sqrt(.2 * 1.9^2 + .3 * .9^2)
    "risk_averse": [3.2 - 1.94**0.5, 2.7 - 0.916**0.5, 2.9 - 0.965**0.5, 4.0, math.nan],
}


@pytest.mark.parametrize("name", estimators.ESTIMATORS)
def test_estimators_by_hand(name):
    distribution = P.copy()
    if name == "median":
        distribution[0] = [0.4, 0.0, 0.1, 0.1, 0.4]  # a half is reached at 3 and passed at 4
    found = estimators.get_estimator(name)(distribution, RATINGS)
    np.testing.assert_allclose(found, BY_HAND[name], rtol=1e-12)


def test_estimators_of_frequencies_are_those_of_the_replies():
    """A tie of modes is their mean, as `nj.ablation` takes it for replies."""
    rng = np.random.default_rng(5)
    scores = rng.integers(1, 6, (200, 6)).astype(float)
    frequencies = np.stack([(scores == rating).mean(axis=1) for rating in RATINGS], axis=1)
    of_replies = {
        "mode": [pd.Series(row).mode().mean() for row in scores],
        "median": np.median(scores, axis=1),
        "expected": scores.mean(axis=1),
    }
    for name, expected in of_replies.items():
        found = estimators.get_estimator(name)(frequencies, RATINGS)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_small_probabilities_do_not_vanish():
    found = estimators.from_logprobs(
        [[-5000.0, -5001.0, math.nan, -math.inf, math.nan], [math.nan] * 5]
    )
    share = 1 / (1 + math.exp(-1))
    np.testing.assert_allclose(found[0], [share, 1 - share, 0, 0, 0], rtol=1e-12)
    assert np.isnan(found[1]).all()
    cold = estimators.tempered([[0.6, 0.4, 0.0]], 1e-6)  # 0.6 ** 1e6 is 0 in floating point
    assert cold.tolist() == [[1.0, 0.0, 0.0]]


def test_what_is_equal_but_for_rounding_is_a_tie():
    """Symmetric around 3, so all have the mean 3; added up as they stand, some are not."""
    outer = np.random.default_rng(0).uniform(0.01, 0.2, (500, 2))
    p = np.column_stack(
        [outer[:, 0], outer[:, 1], 1 - 2 * outer.sum(axis=1), outer[:, 1], outer[:, 0]]
    )
    assert len(set((p * np.array(RATINGS)).sum(axis=1))) > 1
    assert set(estimators.expected(p, RATINGS)) == {3.0}
    said = [[str(rating), math.log(share)] for rating, share in zip(RATINGS, p[0])]
    assert Reading().weigh([["3", said]]).by("expected") == 3.0


def test_temperature_lies_between_the_mode_and_the_flat():
    p = np.array([[0.5, 0.3, 0.2, 0.0, 0.0]])
    squares = [[25 / 38, 9 / 38, 4 / 38, 0, 0]]
    np.testing.assert_allclose(estimators.tempered(p, 1), p, rtol=1e-12)
    np.testing.assert_allclose(estimators.tempered(p, 0.5), squares, rtol=1e-12)
    flat = [[1 / 3] * 3 + [0] * 2]
    np.testing.assert_allclose(estimators.tempered(p, 1e9), flat, atol=1e-6)
    cold = estimators.tempered(p, 1e-6)
    np.testing.assert_allclose(estimators.expected(cold, RATINGS), estimators.mode(p, RATINGS))
    for wrong in (0, -1, math.nan):
        with pytest.raises(ValueError, match="expected a number above 0; at 0 take the mode"):
            estimators.tempered(p, wrong)


def test_draws_estimate_the_expectation_with_the_right_noise():
    p = np.tile(P[1], (20000, 1))
    for samples in (1, 5, 20):
        found = estimators.drawn(p, RATINGS, samples, np.random.default_rng(samples))
        assert found.mean() == pytest.approx(2.7, abs=0.03)
        noise = estimators.spread(P[1:2], RATINGS)[0] / math.sqrt(samples)
        assert found.std() == pytest.approx(noise, rel=0.05)
    assert set(estimators.drawn(p, RATINGS, 1, np.random.default_rng(0))) == {*RATINGS}
    found = estimators.drawn(P, RATINGS, 3, np.random.default_rng(0))
    assert np.isnan(found).tolist() == [False] * 4 + [True]


def test_a_pool_leaves_out_what_is_not_known():
    other = np.array([[1.0, 0, 0, 0, 0]] * 5)
    found = estimators.pooled([P, other])
    np.testing.assert_allclose(found[0], [0.7, 0, 0.05, 0, 0.25])
    np.testing.assert_allclose(found[4], other[4])
    assert np.isnan(estimators.pooled([P, P])[4]).all()


SHARES = {"4": 0.5, "2": 0.25, " 2": 0.125, "no": 0.125}
LIKELY = [["4", [[token, math.log(share)] for token, share in SHARES.items()]]]


class Likely:
    """A live judge that gives token probabilities."""

    name = "likely"

    def replies(self, tasks):
        for task in tasks:
            yield Reply(task.item_id, task.aspect, 0, "4", "", LIKELY)


def test_a_live_judge_takes_the_same_estimators():
    items = load("summeval", "sample").items.head(2)
    asked = items, "geval/summarization/coherence", Likely()
    replies = {"item_id": ["a"], "aspect": "coherence", "sample_index": 0, "logprobs": [LIKELY]}
    layout = distributions(pd.DataFrame(replies))
    assert layout["outside"].tolist() == [pytest.approx(0.125)]
    mean = (4 * 0.5 + 2 * 0.375) / 0.875
    for name, expected in {"expected": mean, "mode": 4.0, "median": 4.0}.items():
        found = judge_items(*asked, logprobs=True, estimator=name)
        assert found["score"].tolist() == [pytest.approx(expected)] * 2
        by_layout = estimators.get_estimator(name)(layout[RATINGS].to_numpy(), RATINGS)
        assert by_layout == pytest.approx(expected)
    with pytest.raises(ValueError, match="no estimator 'average'.*expected, mode"):
        judge_items(*asked, logprobs=True, estimator="average")
