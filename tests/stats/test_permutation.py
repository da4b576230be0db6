"""Permutation tests against exact enumeration in a plain loop, with planted truth, and by hand."""

from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import exact
import nlgjudge as nj
from nlgjudge.stats import family, permutation
from nlgjudge.stats.permutation import permutation_test
from pairwise import pairwise

UNITS = ("documents", "systems", "both")


def study(seed=0, documents=9, systems=4, levels=4, gaps=0.0):
    """Ratings and two judges with ties; the second judge's scores are the first's, shuffled, times two plus one."""
    rng = np.random.default_rng(seed)
    human = rng.integers(1, levels + 1, (documents, systems)).astype(float)
    a = human + rng.integers(-1, 2, human.shape)
    b = rng.permutation(a.ravel()).reshape(a.shape) * 2 + 1
    human[rng.random(human.shape) < gaps] = np.nan
    frame = pd.DataFrame({"human": human.ravel(), "a": a.ravel(), "b": b.ravel()})
    frame["doc_id"] = np.repeat(np.arange(documents), systems)
    frame["system_id"] = list(range(systems)) * documents
    return frame.sample(frac=1, random_state=seed)


def standardised(values):
    """Centred and of deviation 1, with 50 digits."""
    values = [Decimal(value) for value in values]
    mean = sum(values) / len(values)
    deviation = (sum((value - mean) ** 2 for value in values) / len(values)).sqrt()
    return [(value - mean) / deviation for value in values]


def one(x, y, coefficient, kendall):
    if coefficient != "pearson" or len(set(x)) < 2 or len(set(y)) < 2:
        return exact.one(x, y, coefficient, kendall)
    return stats.pearsonr([float(v) for v in x], [float(v) for v in y]).statistic


def rows_correlation(rows, level, coefficient, kendall):
    """Correlation of scores with ratings, over (document, system, score, rating); NaN where undefined."""
    groups = {}
    for *keys, score, rating in rows:
        key = {"sample": keys[0], "dataset": "", "system": keys[1]}[level]
        groups.setdefault(key, []).append((score, rating))
    pairs = [list(zip(*group)) for _, group in sorted(groups.items())]
    if level == "system":
        means = [[round(sum(scores) / len(scores), 30) for scores in pair] for pair in pairs]
        pairs = [list(zip(*means))]
    values = [one(*pair, coefficient, kendall) for pair in pairs]
    defined = [value for value in values if value is not None]
    return np.mean(defined) if defined else np.nan


def enumerated(frame, units, level, coefficient, kendall="b"):
    """The exact p: the share of all 2^k swaps whose difference is as extreme as the observed one."""
    full = frame.dropna().sort_values(["doc_id", "system_id"])
    how = (level, coefficient, kendall)
    with localcontext(prec=50):
        a, b = ([round(z, 30) for z in standardised(full[name])] for name in "ab")
        ratings = [Decimal(rating) for rating in full["human"]]
        keys = list(zip(full["doc_id"], full["system_id"]))
        unit_of = {"documents": full["doc_id"], "systems": full["system_id"], "both": keys}[units]
        names = sorted(set(unit_of))
        differences = []
        for bits in product((False, True), repeat=len(names)):
            swapped = dict(zip(names, bits))
            pairs = [(y, x) if swapped[unit] else (x, y) for unit, x, y in zip(unit_of, a, b)]
            values = [
                rows_correlation(
                    [(*k, pair[i], r) for k, pair, r in zip(keys, pairs, ratings)], *how
                )
                for i in range(2)
            ]
            differences.append(float(np.subtract(*values)))
    draws = np.abs(differences)
    return differences[0], (draws[~np.isnan(draws)] >= draws[0] - 1e-10).mean()


@pytest.mark.parametrize(
    "units, level, how, seed",
    pairwise(UNITS, exact.LEVELS, exact.COEFFICIENTS, [0, 1, 2]),
)
def test_equals_exact_enumeration(units, level, how, seed):
    coefficient, kendall = how
    shape = {"documents": (6, 5), "systems": (7, 6), "both": (3, 3)}[units]
    frame = study(seed, *shape, gaps=0.1 * (units != "both"))
    difference, p = enumerated(frame, units, level, *how)
    options = {"units": units, "level": level, "coefficient": coefficient, "kendall": kendall}
    found = permutation_test(frame, "a", "b", "human", **options)
    assert found.exact and found.p == pytest.approx(p, abs=1e-12)
    assert found.difference == pytest.approx(difference, abs=1e-11)


@pytest.mark.parametrize("coefficient", ["pearson", "spearman", "kendall"])
def test_ties_of_system_means_are_counted(coefficient):
    """Six systems whose means over ratings in thirds tie often: rounding of the means decides p."""
    for seed in range(6):
        frame = study(seed, documents=4, systems=6, levels=3)
        frame[["human", "a", "b"]] /= 3
        how = {"level": "system", "coefficient": coefficient}
        _, p = enumerated(frame * [3, 3, 3, 1, 1], "systems", **how)
        found = permutation_test(frame, "a", "b", "human", units="systems", **how)
        assert found.p == pytest.approx(p)


@pytest.mark.parametrize("coefficient", ["spearman", "kendall"])
@pytest.mark.parametrize("documents, systems", [(120, 4), (700, 3)])
def test_large_groups_are_ranked_like_small_ones(documents, systems, coefficient):
    frame = study(5, documents, systems, levels=9, gaps=0.05)
    how = {"level": "dataset", "coefficient": coefficient, "units": "systems"}
    found = permutation_test(frame, "a", "b", "human", **how)
    full = frame.dropna()
    z = full[["a", "b"]].apply(lambda scores: ((scores - scores.mean()) / scores.std()).round(9))
    function = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}[coefficient]
    differences = []
    for bits in product((False, True), repeat=systems):
        swap = full["system_id"].map(dict(enumerate(bits)))
        mixed = z["a"].where(~swap, z["b"]), z["b"].where(~swap, z["a"])
        of_a, of_b = (function(scores, full["human"]).statistic for scores in mixed)
        differences.append(of_a - of_b)
    assert found.p == (np.abs(differences) >= abs(differences[0]) - 1e-10).mean()
    assert found.difference == pytest.approx(differences[0])


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("level", exact.LEVELS)
def test_drawn_swaps_approach_the_exact_p(units, level, monkeypatch):
    frame = study(7, *{"documents": (8, 5), "systems": (7, 8), "both": (4, 3)}[units])
    how = {"level": level, "units": units}
    every = permutation_test(frame, "a", "b", "human", **how)
    monkeypatch.setattr(permutation, "ENUMERATED", 0)
    drawn = permutation_test(frame, "a", "b", "human", resamples=1999, **how)
    assert every.exact and not drawn.exact and drawn.resamples > 1900
    error = (every.p * (1 - every.p) / 1999) ** 0.5
    assert drawn.p == pytest.approx(every.p, abs=4 * error + 0.001)


def test_systems_that_all_speak_for_one_metric_give_the_smallest_p():
    """Twelve systems have 2,048 different swaps."""
    frame = study(2, documents=30, systems=12)
    frame["a"] = frame["human"] + np.arange(len(frame)) % 7 / 100
    frame["b"] = -frame["a"]
    found = permutation_test(frame, "a", "b", "human", units="systems")
    assert (found.p, found.resamples, found.different) == (1 / 2048, 2048, 2048)


@pytest.mark.parametrize("systems, is_exact, resamples", [(15, True, 2**14), (16, False, 49)])
def test_fifteen_systems_are_enumerated_and_sixteen_drawn(systems, is_exact, resamples):
    frame = study(1, documents=2, systems=systems)
    found = permutation_test(frame, "a", "b", "human", units="systems", resamples=49)
    assert (found.exact, found.resamples) == (is_exact, resamples)
    assert found.different == 2 ** (systems - 1)


def test_a_result_prints_however_many_swaps_there_are():
    """16 documents of 1,000 systems: Python refuses to print the integer 2^15999."""
    frame = study(documents=16, systems=1000)
    found = permutation_test(frame, "a", "b", "human", resamples=1)
    assert "log2_different=15999" in repr(found) and found.different == 2**15999
    for systems, swaps in ((63, 2**62), (1000, np.inf)):
        some = frame[frame["system_id"] < systems]
        tests = nj.paired_tests(some, [("a", "b")], ["human"], permutations=1)
        assert tests["swaps_of_systems"].tolist() == [swaps]
        assert f" {swaps:,} different swaps" in family(tests)
        assert tests.to_csv()


def test_the_seed_and_the_scores_decide():
    frame = study(3, documents=12, systems=5, gaps=0.1)

    def p(given, a="a", b="b", **options):
        return permutation_test(given, a, b, "human", resamples=499, **options).p

    first = p(frame)
    assert first == p(frame.sample(frac=1, random_state=1)) == p(frame, "b", "a")
    renamed = frame.rename(columns={"a": "gpt", "b": "rouge"})
    assert first == p(renamed, "gpt", "rouge")
    assert first == p(frame.assign(b=frame["b"] + 1e-13))
    others = [p(frame, seed=seed) for seed in range(1, 6)]
    assert len({first, *others}) > 1


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"a": 1.0}, "a with human: constant input in every document"),
        ({"b": np.nan}, "no item has all three scores"),
        ({"human": 3.0}, "a with human: constant input in every document; b with human"),
    ],
)
@pytest.mark.parametrize("constant", ["skip", "nan", "zero"])
def test_undefined_is_nan_with_a_reason(change, reason, constant):
    """What is undefined without a policy does not become 0 through one."""
    found = permutation_test(study().assign(**change), "a", "b", "human", constant=constant)
    assert np.isnan([found.difference, found.p]).all() and found.reason.startswith(reason)
    assert found.n + found.n_skipped == 9


def test_identical_judges_and_one_unit():
    frame = study().assign(b=lambda frame: frame["a"])
    found = permutation_test(frame, "a", "b", "human")
    assert (found.difference, found.p) == (0, 1)
    lone = study(documents=1)
    assert permutation_test(lone, "a", "b", "human", units="documents")[1:3] == (1, 1)
    skipped = study(gaps=0.2)
    found = permutation_test(skipped, "a", "b", "human", level="dataset")
    assert (found.n, found.n_skipped) == (len(skipped.dropna()), skipped["human"].isna().sum())


@pytest.mark.parametrize(
    "options, message",
    [
        ({"units": "items"}, "units='items': expected one of documents, systems, both"),
        ({"resamples": 0}, "resamples=0: expected a whole number of at least 1"),
        ({"seed": np.random.default_rng()}, "seed=.*: expected a whole number"),
        ({"b": "a"}, "expected three different columns, got 'a', 'a' and 'human'"),
    ],
)
def test_bad_options(options, message):
    columns = {"a": "a", "b": "b", "human": "human"}
    with pytest.raises(ValueError, match=message):
        permutation_test(study(), **columns | options)
