"""Discernment scores against scipy, enumeration, hand arithmetic and planted truth."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import nlgjudge as nj
from nlgjudge.papers.dhp.discernment_score import harmonic_mean_p, log_p

LN20 = math.log(20)


def frame(differences, aspects=("a",), level="word"):
    """Rows of originals rated 3 and one damaged version, from texts x aspects of differences."""
    rows = [
        (i, name, "" if name == "original" else level, aspect, 3 - (name != "original") * d)
        for i, row in enumerate(np.reshape(differences, (-1, len(aspects))))
        for aspect, d in zip(aspects, row)
        for name in ("original", "typos, minor")
    ]
    return pd.DataFrame(rows, columns=["original", "perturbation", "level", "aspect", "score"])


@pytest.mark.parametrize("n, step", [(60, 1), (100, 0.2), (100, 0), (300, 0.5)])
def test_the_normal_approximation_is_scipy_s(n, step):
    """scipy 1.17, `wilcoxon(..., alternative="greater", correction=False, method="asymptotic")`."""
    differences = np.random.default_rng(n).normal(0.2, 1, n)
    differences = np.round(differences / step) * step if step else differences
    theirs = stats.wilcoxon(
        np.round(differences, 9),
        alternative="greater",
        correction=False,
        method="asymptotic",
    ).pvalue
    assert (np.round(differences, 9) != 0).sum() > 25
    assert math.exp(log_p(differences)) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(
    "differences", [[1, 2, 2, 0, -1, 3], [0.2, 0.2, -0.2, 0, 0], [5], [-1, -2], [1, 1, 1]]
)
def test_the_exact_distribution_by_enumeration(differences):
    values = np.array(differences, float)
    unequal = values[values != 0]
    ranks = stats.rankdata(np.abs(unequal))
    sums = [np.dot(ranks, signs) for signs in itertools.product((0, 1), repeat=len(unequal))]
    expected = np.mean(np.array(sums) >= ranks[unequal > 0].sum() - 1e-9)
    assert math.exp(log_p(values)) == pytest.approx(expected, rel=1e-12)


def test_up_to_25_unequal_pairs_the_distribution_is_exact():
    values = np.random.default_rng(2).normal(0.3, 1, 26)
    for n, method in ((25, "exact"), (26, "asymptotic")):
        theirs = stats.wilcoxon(values[:n], alternative="greater", method=method).pvalue
        assert math.exp(log_p(values[:n])) == pytest.approx(theirs)
    padded = np.append(values[:25], np.zeros(50))
    assert log_p(padded) == log_p(values[:25])


def test_no_difference_is_p_1_and_no_pair_is_nan():
    logs = log_p([[0, 0, np.nan], [np.nan, np.nan, np.nan]])
    assert logs[0] == 0 and math.isnan(logs[1])


def test_decimals_that_are_equal_on_paper_tie():
    """0.3 - 0.1 and 0.2 - 0.0 differ in the last bit: two equal ranks, of opposite sign, p = 3/4."""
    assert math.exp(log_p([0.3 - 0.1, 0.0 - 0.2])) == pytest.approx(0.75)


def test_a_p_value_far_below_the_smallest_float_stays_finite():
    logs = log_p(np.arange(5000) + 5.0)
    assert np.isfinite(logs) and logs < math.log(1e-300)
    assert harmonic_mean_p([-800.0, -2000.0], form="as_printed") == pytest.approx(-2000)


def test_harmonic_mean_by_hand():
    """p = 0.01 and 0.04: printed 1 / (100 + 25) = 0.008, mean 2 / 125 = 0.016; weights 1/4 and 3/4 give
    1 / (25 + 18.75)."""
    logs = np.log([0.01, 0.04])
    assert math.exp(harmonic_mean_p(logs, form="as_printed")) == pytest.approx(0.008)
    assert math.exp(harmonic_mean_p(logs)) == pytest.approx(0.016)
    assert math.exp(harmonic_mean_p(logs, [0.25, 0.75])) == pytest.approx(1 / 43.75)
    assert harmonic_mean_p(logs, [0.5, 0.5]) == pytest.approx(harmonic_mean_p(logs))
    assert harmonic_mean_p([-5.0, np.nan], [1, 0]) == pytest.approx(-5)
    assert math.isnan(harmonic_mean_p([-5.0, np.nan]))


def test_as_printed_is_larger_by_log_20_of_m_and_never_below_any_weights():
    rng = np.random.default_rng(3)
    logs = np.log(rng.random((200, 4)))
    weights = rng.dirichlet(np.ones(4), 200)
    printed, mean = (
        harmonic_mean_p(logs, form="as_printed"),
        harmonic_mean_p(logs),
    )
    np.testing.assert_allclose(mean - printed, math.log(4))
    assert (harmonic_mean_p(logs, weights) >= printed).all()
    assert 0 < (harmonic_mean_p(logs, weights) < mean).mean() < 1


def test_discernment_by_hand():
    """Five falls of a: p = 2**-5; b never changes: p = 1. D = ln(2 / (32 + 1)) / -ln 20."""
    scores = frame(np.column_stack([[1, 2, 3, 4, 5], np.zeros(5)]), ("a", "b"))
    weights = pd.DataFrame({"a": [0.9], "b": [0.1]}, index=["typos"])
    row = nj.dhp.discernment(scores).perturbations.loc["typos, minor"]
    assert row["D"] == pytest.approx(math.log(16.5) / LN20) == row["D_EW"] and row["n"] == 5
    assert row["largest"] == pytest.approx(5 * math.log(2) / LN20)
    printed = nj.dhp.discernment(scores, weights, form="as_printed").perturbations.iloc[0]
    assert printed["D"] == pytest.approx(math.log(33) / LN20)
    assert printed["D_EW"] == pytest.approx(math.log(0.9 * 32 + 0.1) / LN20)


def test_levels_count_once_in_the_average():
    """Unequal pairs of one sign, N of them, give D = N ln 2 / ln 20: two on characters, one on words."""
    parts = [
        frame(np.repeat([1.0, 0.0], [n, 9 - n])).assign(
            perturbation=lambda rows, n=n: rows["perturbation"].replace("typos, minor", f"k{n}"),
            level=level,
        )
        for n, level in ((1, "character"), (3, "character"), (5, "word"))
    ]
    scores = pd.concat(parts).drop_duplicates(["original", "perturbation"])
    overall = nj.dhp.discernment(scores).overall["value"] * LN20 / math.log(2)
    expected = {"D_avg": (2 + 5) / 2, "D_min": 1, "D_avg_EW": (2 + 5) / 2, "D_min_EW": 1}
    assert overall.to_dict() == pytest.approx(expected)


def test_missing_ratings_leave_their_pair_out():
    scores = frame(np.ones((10, 1)))
    scores.loc[scores["original"] == 0, "score"] = np.nan
    row = nj.dhp.discernment(scores).perturbations.loc["typos, minor"]
    assert row["n"] == 9 and row["D"] == pytest.approx(9 * math.log(2) / LN20)


def test_the_interval_holds_the_score():
    differences = np.random.default_rng(4).normal(0.3, 1, (60, 2))
    result = nj.dhp.discernment(frame(differences, ("a", "b")), resamples=300)
    for table, column in ((result.perturbations, "D"), (result.overall, "value")):
        assert (table["ci_low"] < table[column]).all() and (table[column] < table["ci_high"]).all()


@pytest.mark.parametrize(
    "form, low, high", [("normalised", 0.03, 0.09), ("as_printed", 0.20, 0.40)]
)
def test_d_above_one_under_no_discernment(form, low, high):
    """Four independent metrics, 100 texts without any difference: the printed sum passes far more often
    than one time in twenty, the mean nearly that."""
    logs = log_p(np.random.default_rng(5).normal(size=(2000, 4, 100)))
    assert low < (harmonic_mean_p(logs, form=form) < math.log(0.05)).mean() < high


def test_weights_must_sum_to_1():
    with pytest.raises(ValueError, match=r"sum to 1, got \[0.5, 0.6\]"):
        harmonic_mean_p([0.0, 0.0], [0.5, 0.6])


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="no form 'printed': did you mean 'as_printed'"):
        nj.dhp.discernment(frame([1, 2]), form="printed")
