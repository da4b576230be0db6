"""Intervals with the raters drawn anew: by hand, against plain correlations, and on planted raters."""

import itertools

import numpy as np
import pandas as pd
import pytest

from nlgjudge.stats.correlations import correlation
from nlgjudge.stats.rater_bootstrap import rater_interval

SYSTEMS = list("wxyz")


def ratings(**by_rater):
    """One document's ratings, a list over the systems for each rater."""
    return pd.DataFrame(
        [
            ("d", system, rater, score)
            for rater, scores in by_rater.items()
            for system, score in zip(SYSTEMS, scores)
        ],
        columns=["doc_id", "system_id", "rater", "score"],
    )


def scores(*values, doc="d"):
    return pd.DataFrame({"doc_id": doc, "system_id": SYSTEMS, "score": values})


def test_the_bounds_are_the_draws_that_two_raters_have_by_hand():
    """Drawn twice from p and q: p alone, both, q alone. Against 1 2 3 4 that is 1, and by hand the other two."""
    p, q = [1, 2, 3, 4], [2, 1, 4, 3]
    judge = scores(1, 2, 3, 4)
    # q: differences of ranks 1, 1, 1, 1, so 1 - 6 * 4 / (4 * 15) = 0.6; p and q: 1.5 1.5 3.5 3.5 against 1 2 3 4.
    both = np.corrcoef([1, 2, 3, 4], [1.5, 1.5, 3.5, 3.5])[0, 1]
    found = rater_interval(
        ratings(p=p, q=q), judge, rng=np.random.default_rng(0), resamples=400, confidence=0.999
    )
    assert found.value == pytest.approx(both) and found.resamples == 400
    assert (found.low, found.high) == (pytest.approx(0.6, abs=1e-6), pytest.approx(1))


@pytest.mark.parametrize(
    "level, coefficient",
    [*itertools.product(("sample", "dataset"), ("pearson", "spearman", "kendall"))],
)
def test_the_value_is_the_correlation_with_the_mean(level, coefficient):
    rng = np.random.default_rng(3)
    keys = [(f"d{doc}", system) for doc in range(6) for system in SYSTEMS]
    given = pd.DataFrame(
        [(*key, rater, rng.integers(1, 6)) for key in keys for rater in "pqr"],
        columns=["doc_id", "system_id", "rater", "score"],
    )
    judge = pd.DataFrame(keys, columns=["doc_id", "system_id"]).assign(
        score=rng.normal(size=len(keys))
    )
    means = given.groupby(["doc_id", "system_id"], as_index=False)["score"].mean()
    frame = means.merge(judge, on=["doc_id", "system_id"], suffixes=("_people", "_judge"))
    plain = correlation(
        frame, "score_judge", "score_people", level=level, coefficient=coefficient
    ).value
    found = rater_interval(
        given, judge, rng=rng, level=level, coefficient=coefficient, resamples=20
    )
    assert found.value == pytest.approx(plain)
    assert rater_interval(
        given.sample(frac=1, random_state=1),
        judge,
        rng=rng,
        level=level,
        coefficient=coefficient,
        resamples=20,
    ).value == pytest.approx(plain)


def planted(noise, seed=0):
    """Forty documents; three raters see the truth with some noise, the judge with its own."""
    rng = np.random.default_rng(seed)
    keys = [(f"d{doc}", system) for doc in range(40) for system in SYSTEMS]
    truth = rng.normal(size=len(keys))
    given = pd.DataFrame(
        [
            (*key, rater, true + noise * rng.normal())
            for key, true in zip(keys, truth)
            for rater in "pqr"
        ],
        columns=["doc_id", "system_id", "rater", "score"],
    )
    judge = pd.DataFrame(keys, columns=["doc_id", "system_id"]).assign(
        score=truth + 0.5 * rng.normal(size=len(keys))
    )
    return given, judge


def width(found):
    return found.high - found.low


def test_raters_who_agree_leave_no_room_and_noisier_ones_more():
    widths = [
        width(
            rater_interval(
                *planted(noise), rng=np.random.default_rng(1), resamples=200, level="dataset"
            )
        )
        for noise in (0, 0.5, 2)
    ]
    assert widths[0] == pytest.approx(0, abs=1e-12) and widths[0] < widths[1] < widths[2]


def test_documents_and_systems_add_to_the_raters_share():
    alone, every = (
        rater_interval(
            *planted(0.5), rng=np.random.default_rng(1), resamples=200, level="dataset", units=units
        )
        for units in ("raters", "all")
    )
    assert width(every) > width(alone) > 0 and every.value == alone.value


def test_an_item_without_the_judges_score_is_left_out():
    judge = scores(1, np.nan, 3, 4)
    found = rater_interval(
        ratings(p=[1, 9, 3, 4], q=[1, 9, 3, 4]), judge, rng=np.random.default_rng(0), resamples=20
    )
    assert found[:3] == (pytest.approx(1), pytest.approx(1), pytest.approx(1))


def test_a_judge_without_variation_has_no_interval():
    found = rater_interval(
        ratings(p=[1, 2, 3, 4], q=[1, 2, 3, 4]),
        scores(2, 2, 2, 2),
        rng=np.random.default_rng(0),
        resamples=20,
    )
    assert np.isnan(found.value) and np.isnan(found.low) and found.resamples == 0


@pytest.mark.parametrize(
    "change, options, why",
    [
        (lambda given: given.iloc[1:], {}, "as many ratings for every item"),
        (lambda given: pd.concat([given, given.iloc[:1]]), {}, "as many ratings for every item"),
        (lambda given: given.iloc[:0], {}, "got 0 ratings of 0 items"),
        (lambda given: given, {"units": "systems"}, "units='systems': expected one of raters, all"),
        (
            lambda given: given,
            {"level": "system"},
            "level='system': expected one of sample, dataset",
        ),
        (lambda given: given, {"confidence": 1}, "expected a share in"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change, options, why):
    with pytest.raises(ValueError, match=why):
        rater_interval(
            change(ratings(p=[1, 2, 3, 4], q=[2, 1, 4, 3])),
            scores(1, 2, 3, 4),
            rng=np.random.default_rng(0),
            **options,
        )
