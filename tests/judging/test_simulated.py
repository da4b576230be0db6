"""What was planted comes back: truth, noise, ties and refusals."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from nlgjudge.judging.reading import Reading
from nlgjudge.judging.simulated import REFUSAL, Simulated
from nlgjudge.judging.tasks import Task

TRUTH = {
    f"d{i}/s{i % 3}": value
    for i, value in enumerate(np.random.default_rng(0).uniform(1.5, 4.5, 400))
}


def tasks(ids=TRUTH, *, form="form", scale=(1, 5), n=1):
    return [Task(item, "coherence", "", {}, Reading(form, scale), n) for item in ids]


def ratings(seed=1, *, truth=TRUTH, asked=None, **settings):
    judge = Simulated(truth=truth, rng=np.random.default_rng(seed), **settings)
    asked = tasks() if asked is None else asked
    reading = asked[0].reading._replace(aspect="coherence")
    return np.array([reading.read(reply.text).score for reply in judge.replies(asked)])


def rho(found):
    return spearmanr(list(TRUTH.values()), found).statistic


def test_truth_comes_back_and_bias_leaves_its_ranks():
    np.testing.assert_allclose(ratings(), list(TRUTH.values()), atol=0.005 + 1e-9)
    np.testing.assert_allclose(ratings(bias=0.4) - ratings(), 0.4, atol=0.011)
    assert rho(ratings(bias=0.4)) > 0.9999


def test_noise_lowers_the_correlation_as_planted():
    found = [rho(ratings(noise=noise)) for noise in (0, 0.5, 1, 2)]
    assert found == sorted(found, reverse=True)
    # truth is uniform over 3 points: variance 9/12 = 0.75, so r = sqrt(0.75 / (0.75 + 0.25)) = 0.866
    assert found[1] == pytest.approx(0.866, abs=0.05)


def test_step_gives_ties_and_the_scale_clips():
    np.testing.assert_array_equal(ratings(step=1), np.round(list(TRUTH.values())))
    assert set(ratings(bias=9)) == {5} and set(ratings(bias=-9)) == {1}


def test_refusals_are_as_frequent_as_asked():
    judge = Simulated(truth=TRUTH, rng=np.random.default_rng(2), refusals=0.2)
    replies = list(judge.replies(tasks(n=5)))
    assert [r.sample_index for r in replies[:6]] == [0, 1, 2, 3, 4, 0]
    assert abs(np.mean([r.text == REFUSAL for r in replies]) - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 2000)
    assert Reading().read(REFUSAL).reason == "refusal"
    answered = ratings(2, refusals=0.2, noise=1)  # the others are the same as without refusals
    is_answered = ~np.isnan(answered)
    np.testing.assert_array_equal(answered[is_answered], ratings(2, noise=1)[is_answered])


def test_samples_differ_by_noise_and_repeat_by_seed():
    found = ratings(noise=0.5, asked=tasks(n=3)).reshape(-1, 3)
    assert (found.std(axis=1) > 0).mean() > 0.9
    np.testing.assert_array_equal(found.ravel(), ratings(noise=0.5, asked=tasks(n=3)))


def test_other_forms():
    numbers = [("stars", (1, 5), 3.5), ("number", (0, 100), 72), ("json", (1, 5), 2.25)]
    for form, scale, value in [*numbers, ("yes_no", (), 0)]:  # "No" is read as 0
        assert ratings(truth={"a": value}, asked=tasks(["a"], form=form, scale=scale)) == [value]


def test_truth_of_an_aspect_goes_first_and_a_missing_one_is_named():
    assert ratings(truth={"a": 1, ("a", "coherence"): 4}, asked=tasks(["a"])) == [4]
    for truth in ({"b": 1}, {"a": float("nan")}, {("a", "fluency"): 2}):
        with pytest.raises(KeyError, match="no true rating for 'a', aspect 'coherence': expected"):
            ratings(truth=truth, asked=tasks(["a"]))


def test_settings_are_checked():
    rng = np.random.default_rng(0)
    for wrong in ({"noise": -1}, {"step": -1}, {"refusals": 1.5}, {"noise": float("nan")}):
        with pytest.raises(ValueError, match="expected noise and step of at least 0"):
            Simulated(truth={}, rng=rng, **wrong)
