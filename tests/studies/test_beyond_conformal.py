"""Split-conformal intervals: by hand, and that they hold what they promise where the truth is planted."""

import math

import numpy as np
import pytest

from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.studies import beyond_conformal as conformal
from nlgjudge.studies.graded_judges import ERRORS, RATINGS, judges, planted, prompts


@pytest.mark.parametrize(
    "scores, alpha, expected",
    [
        (range(1, 10), 0.1, 9),  # ceil(10 * 0.9) = 9 of nine
        (range(1, 20), 0.1, 18),  # ceil(20 * 0.9) = 18 of nineteen
        (range(1, 9), 0.1, math.inf),  # ceil(9 * 0.9) = 9 of eight: too few
        ([3, 1, 2], 0.5, 2),  # ceil(4 * 0.5) = 2, in order of size
    ],
)
def test_the_radius_by_hand(scores, alpha, expected):
    assert conformal.radius(list(scores), alpha) == expected


def test_intervals_by_hand():
    p = np.array([[0.0, 0.5, 0.0, 0.5, 0.0], [1.0, 0, 0, 0, 0]])
    found = conformal.predictions(p, RATINGS, 0.2)
    assert found["constant"].low.tolist() == [3, 1] and found["quantiles"].low.tolist() == [2, 1]
    assert found["quantiles"].high.tolist() == [4, 1] and found["scaled"].unit.tolist() == [1, 0.1]
    # Half a point around 3 holds 2.67, 3 and 3.33; around 1 the scale ends.
    low, high = conformal.interval(found["constant"], 0.5, grid=1 / 3)
    np.testing.assert_allclose([low, high], [[8 / 3, 1], [10 / 3, 4 / 3]])
    # Outside by one point above and below, and inside by one: in the units of each.
    assert conformal.off(found["quantiles"], [5, 0]).tolist() == [1, 1]
    assert conformal.off(found["quantiles"], [3, 1]).tolist() == [-1, 0]
    assert conformal.off(found["scaled"], [5, 1.5]).tolist() == [2, 5]


def test_moving_the_ends_to_possible_ratings_loses_none():
    rng = np.random.default_rng(4)
    people = rng.integers(0, 13, 500) / 3 + 1
    centre = rng.uniform(1, 5, 500)
    prediction = conformal.Prediction(centre, centre, np.ones(500))
    for size in (0.1, 0.5, 1 / 3, 2.0):
        wide, narrow = (
            conformal.covered(*conformal.interval(prediction, size, grid=grid), people)
            for grid in (None, 1 / 3)
        )
        assert (wide == narrow).all()


def test_halves_take_whole_articles():
    units = np.repeat([f"d{number}" for number in range(10)], 4)
    chosen = conformal.halves(units, np.random.default_rng(0))
    assert chosen.sum() == 20 and all(len(set(chosen[units == unit])) == 1 for unit in set(units))


@pytest.mark.parametrize("alpha", [0.1, 0.3])
@pytest.mark.parametrize("method", [method for method in conformal.METHODS if method != "own"])
def test_coverage_is_what_was_promised(method, alpha):
    """People's ratings are drawn anew each time; the judge is noisy, strict by a point, and too sure of itself."""
    rng = np.random.default_rng(11)
    held = []
    for _ in range(60):
        truth = np.clip(rng.normal(3.4, 0.9, 240), 1, 5).round(2)
        p = planted(truth, rng, error=0.7, width=0.3, bias=-1.0)
        units = np.arange(240)
        calibrate = conformal.halves(units, rng)
        bounds = conformal.calibrated(
            p, RATINGS, truth, units, calibrate, alpha, method, rng, grid=None
        )
        held.append(conformal.covered(*bounds, truth)[~calibrate].mean())
    promised = 1 - alpha
    assert np.mean(held) > promised - 0.015
    # Not much more than promised either, but where a judge's quantiles are whole ratings.
    assert np.mean(held) < promised + (0.12 if method == "quantiles" else 0.03)


def test_the_judges_own_interval_keeps_no_promise_and_a_line_takes_its_strictness_off():
    rng = np.random.default_rng(2)
    truth = np.clip(rng.normal(3.6, 0.8, 2000), 1, 5)
    p = planted(truth, rng, error=0.5, width=0.3, bias=-1.0)
    units, calibrate = np.arange(2000), np.arange(2000) < 1000
    width, held = {}, {}
    for method in conformal.METHODS:
        low, high = conformal.calibrated(
            p, RATINGS, truth, units, calibrate, 0.1, method, rng, grid=None
        )
        width[method] = (high - low)[~calibrate].mean()
        held[method] = conformal.covered(low, high, truth)[~calibrate].mean()
    assert held["own"] < 0.6
    assert width["fitted"] < 0.75 * width["constant"] and width["fitted"] < width["no judge"]


def test_an_error_that_sticks_to_a_system_breaks_the_promise_for_it_alone():
    rng = np.random.default_rng(3)
    systems = np.tile(np.arange(8), 100)
    truth = np.clip(rng.normal(3.5, 0.8, 800), 1, 5)
    p = planted(truth, rng, error=0.5, bias=-2.0 * (systems == 0))
    held = {}
    for left_out in range(8):
        bounds = conformal.calibrated(
            p, RATINGS, truth, np.arange(800), systems != left_out, 0.1, "constant", rng, grid=None
        )
        held[left_out] = conformal.covered(*bounds, truth)[systems == left_out].mean()
    assert held.pop(0) < 0.4 and min(held.values()) > 0.85


def test_pairs_that_intervals_tell_apart():
    # In a: 1-2 below 3-4, both meet 2-3. In b: none. Of four pairs one is apart.
    assert conformal.apart([1, 3, 2, 1, 1], [2, 4, 3, 5, 5], ["a", "a", "a", "b", "b"]) == 0.25
    assert math.isnan(conformal.apart([1], [2], ["a"]))


def test_a_planted_judge_is_as_good_as_it_was_made():
    truth = np.tile(np.linspace(1.5, 4.5, 50), 40)
    right = [
        np.corrcoef(
            planted(truth, np.random.default_rng(0), error=error) @ np.array(RATINGS), truth
        )[0, 1]
        for error in (0.1, *ERRORS)
    ]
    assert right == sorted(right, reverse=True) and right[0] > 0.98
    assert np.isnan(planted([math.nan, 3.0], np.random.default_rng(0))).all(axis=1).tolist() == [
        True,
        False,
    ]


def test_judges_stand_in_on_the_sample():
    import nlgjudge as nj

    sample = nj.load("summeval", "sample")
    found, outside = judges(sample, np.random.default_rng(0))
    assert list(found) == [f"planted, error {error}" for error in ERRORS] and outside.empty
    assert all(p.shape == (72, 5) for by_aspect in found.values() for p in by_aspect.values())
    several = prompts(sample, np.random.default_rng(0))
    assert {len(one) for by_aspect in several.values() for one in by_aspect.values()} == {5}


@pytest.fixture(scope="module")
def recorded():
    """SummEval and what `judges` gives for it, read once; the tests skip where either cannot be had."""
    import nlgjudge as nj

    try:
        summaries = nj.load("summeval", "real")
    except DataUnavailable as error:
        pytest.skip(f"needs the mirror or a network: {str(error).splitlines()[0]}")
    if not nj.data.available("uncertainty/qwen2.5-72b"):
        pytest.skip("needs the token probabilities of Sheng et al.")
    return summaries, *judges(summaries, np.random.default_rng(0))


def test_recorded_judges_are_laid_out_by_item(recorded):
    import nlgjudge as nj

    summaries, found, outside = recorded
    assert outside["unread"].tolist() == [35, 0, 0]
    # Recordings are in an order of their own; item by item the layout is theirs.
    given = nj.recording("uncertainty/gpt-4o-mini").set_index(["item_id", "aspect"])
    people = summaries.human()
    for row in (0, 777, 1599):
        likely = given.loc[(people["item_id"][row], "coherence"), "text"]
        assert RATINGS[int(np.argmax(found["gpt-4o-mini"]["coherence"][row]))] == int(likely)


def test_what_the_notebooks_say_of_mode_and_mean(recorded):
    """Ten of twelve pairs of judge and aspect one way by Spearman, ten the other way by Kendall; at both levels."""
    import nlgjudge as nj
    from nlgjudge.judging import heads

    summaries, found, _ = recorded
    people = summaries.human()
    ahead = {}
    for by_aspect in found.values():
        for aspect, p in by_aspect.items():
            scores = people.assign(mean=heads.expected(p, RATINGS), mode=heads.mode(p, RATINGS))
            for level in ("sample", "dataset"):
                for coefficient in ("spearman", "kendall"):
                    values = [
                        nj.correlation(
                            scores, head, aspect, level=level, coefficient=coefficient
                        ).value
                        for head in ("mean", "mode")
                    ]
                    ahead[level, coefficient] = ahead.get((level, coefficient), 0) + (
                        values[0] > values[1]
                    )
    assert ahead == {
        ("sample", "spearman"): 10,
        ("sample", "kendall"): 2,
        ("dataset", "spearman"): 10,
        ("dataset", "kendall"): 2,
    }
