"""Tests of two metrics against a plain loop over the same swaps, simulated size and power, and R."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgjudge.stats import permutation
from nlgjudge.stats.bootstrap import UNITS
from nlgjudge.stats.correlations import LEVELS, correlation
from nlgjudge.stats.testing import Comparison, holm, permutation_test, williams, williams_test
from pairwise import pairwise

COEFFICIENTS = [("pearson", "b"), ("spearman", "b"), ("kendall", "b"), ("kendall", "c")]
RESAMPLES = 30


def frame_of(**matrices):
    """A frame from matrices of documents x systems."""
    first, *_ = matrices.values()
    return pd.DataFrame(keys(*first.shape) | {name: m.ravel() for name, m in matrices.items()})


@cache
def keys(documents, systems):
    """As the columns of a frame, which takes some time for texts."""
    frame = pd.DataFrame(
        {
            "doc_id": np.repeat([f"d{d:03}" for d in range(documents)], systems),
            "system_id": [f"s{s:03}" for s in range(systems)] * documents,
        }
    )
    return {name: column.array for name, column in frame.items()}


def noisy(seed, documents=20, systems=6, *, a=1.0, b=1.0):
    """Continuous human scores and two metrics that are those plus noise of the sizes a and b."""
    rng = np.random.default_rng(seed)
    h = rng.normal(size=(documents, systems))
    return frame_of(h=h, a=h + a * rng.normal(size=h.shape), b=h + b * rng.normal(size=h.shape))


def gappy(seed, documents=9, systems=4):
    """Tied scores, also between the metrics, constant documents, missing scores and absent rows."""
    rng = np.random.default_rng(seed)
    h = rng.integers(1, 5, (documents, systems)).astype(float)
    a = h + rng.integers(-1, 2, h.shape)
    b = (
        rng.permutation(a.ravel()).reshape(a.shape) * 2 + 1
    )  # ties with a once both are standardised
    a[0], b[0], b[1], h[2] = 2, 5, 3, 1
    for m in (a, b, h):
        m[rng.random(m.shape) < 0.08] = np.nan
    h[3], h[4, 1:] = np.nan, np.nan
    frame = frame_of(h=h, a=a, b=b)
    return frame[rng.random(len(frame)) > 0.1].sample(frac=1, random_state=seed)


def matrices(frame):
    """Standardised metrics and human scores of the complete items, by pandas."""
    complete = frame.dropna()
    for metric in ("a", "b"):
        z = (complete[metric] - complete[metric].mean()) / complete[metric].std(ddof=0)
        complete = complete.assign(**{metric: z.round(10)})
    return [complete.pivot(index="doc_id", columns="system_id", values=c).to_numpy() for c in "abh"]


def one(x, y, coefficient, kendall):
    """One correlation by scipy, asked for once of the same scores: many swaps leave a small document the same."""
    return by_scipy(
        *(np.asarray(scores, float).tobytes() for scores in (x, y)), coefficient, kendall
    )


@cache
def by_scipy(x, y, coefficient, kendall):
    x, y = np.frombuffer(x), np.frombuffer(y)
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    if coefficient == "kendall":
        return stats.kendalltau(x, y, variant=kendall).statistic
    return {"pearson": stats.pearsonr, "spearman": stats.spearmanr}[coefficient](x, y).statistic


def of_matrix(x, h, level, coefficient, kendall, constant):
    keep = ~np.isnan(h)
    if level == "dataset":
        values = [one(x[keep], h[keep], coefficient, kendall)]
    elif level == "system":
        means = [[m[keep[:, s], s].mean() for s in range(h.shape[1])] for m in (x, h)]
        values = [one(np.round(means[0], 10), means[1], coefficient, kendall)]
    else:
        values = [one(x[d, keep[d]], h[d, keep[d]], coefficient, kendall) for d in range(len(h))]
    if constant == "zero":
        values = np.nan_to_num(values)
    elif constant == "skip":
        values = [v for v in values if not np.isnan(v)]
    return np.mean(values) if len(values) else np.nan


def by_loop(frame, units, seed, resamples=RESAMPLES, **options):
    """Swap and correlate, one resample at a time."""
    a, b, h = matrices(frame)
    bits = permutation.swaps(h.shape, units, resamples, np.random.default_rng(seed))
    swapped = np.unpackbits(bits, axis=-1)[..., : resamples + 1].astype(bool)
    return np.array(
        [
            of_matrix(np.where(s, b, a), h, **options) - of_matrix(np.where(s, a, b), h, **options)
            for s in np.moveaxis(swapped, -1, 0)
        ]
    )


def by_products(frame, units, seed, resamples=RESAMPLES, **options):
    x, y, h = (
        frame.dropna().pivot(index="doc_id", columns="system_id", values=c).to_numpy()
        for c in "abh"
    )
    bits = permutation.swaps(h.shape, units, resamples, np.random.default_rng(seed))
    if h.size > 2000:  # whose 256 swaps, the least that are drawn, take long
        bits = bits[..., : resamples // 8 + 1]
    x, y = (permutation.standardised(m) for m in (x, y))
    return permutation.differences(x, y, h, bits, **options)[: resamples + 1]


@pytest.mark.parametrize(
    "units, level, rank, constant, seed",
    pairwise(UNITS, LEVELS, COEFFICIENTS, ["skip", "nan", "zero"], [0, 1]),
)
def test_same_differences_as_a_loop(units, level, rank, constant, seed):
    coefficient, kendall = rank
    options = dict(level=level, coefficient=coefficient, kendall=kendall, constant=constant)
    frame = gappy(seed)
    expected = by_loop(frame, units, seed, **options)
    np.testing.assert_allclose(
        by_products(frame, units, seed, **options), expected, atol=1e-9, rtol=0
    )
    result = permutation_test(
        frame,
        "a",
        "b",
        "h",
        rng=np.random.default_rng(seed),
        units=units,
        resamples=RESAMPLES,
        exact_up_to=0,
        **options,
    )
    assert not result.exact
    if np.isnan(expected[0]):
        assert np.isnan(result.difference) and np.isnan(result.p) and result.reason
        return
    draws = expected[1:][~np.isnan(expected[1:])]
    extreme = (np.abs(draws) >= abs(expected[0]) - 1e-9).sum()
    assert result.p == (extreme + 1) / (len(draws) + 1) and result.resamples == len(draws)


@pytest.mark.parametrize("coefficient, kendall", COEFFICIENTS)
@pytest.mark.parametrize(
    "frame, keeps",
    [
        (noisy(2, 12, 5), True),
        (noisy(2, 12, 5).round(0), True),
        (gappy(2), True),
        (gappy(2), False),
    ],
)
def test_a_comparison_tests_as_if_each_test_were_its_only_one(
    frame, keeps, coefficient, kendall, monkeypatch
):
    if not keeps:  # as where its tables would take too much memory
        monkeypatch.setattr(permutation, "_KEPT", 0)
    options = dict(coefficient=coefficient, kendall=kendall)
    several = Comparison(frame, "a", "b", "h", **options)
    asked = [dict(units=units, exact_up_to=bound) for units in UNITS for bound in (0, 1 << 14)]
    for how in [*asked, *reversed(asked)]:
        alone = permutation_test(
            frame, "a", "b", "h", rng=np.random.default_rng(3), resamples=99, **how, **options
        )
        assert several.test(rng=np.random.default_rng(3), resamples=99, **how) == alone


def by_brute_force(frame, units, **options):
    """The difference under every one of the 2^k swaps of k units, one loop round each.

    What the second metric has after a swap the first has after the swap of all other units, which stands as far from
    the end as this one from the beginning.
    """
    a, b, h = matrices(frame)
    present = ~np.isnan(h)
    if units == "documents":
        masks = [np.arange(len(h))[:, None] == d for d in range(len(h))]
    elif units == "systems":
        masks = [np.arange(h.shape[1])[None] == s for s in range(h.shape[1])]
    else:
        masks = [(np.arange(h.size) == i).reshape(h.shape) for i in np.flatnonzero(present)]
    found = []
    for chosen in product([False, True], repeat=len(masks)):
        swapped = np.zeros(h.shape, bool)
        for mask, taken in zip(masks, chosen):
            if taken:
                swapped = swapped | mask
        found.append(of_matrix(np.where(swapped, b, a), h, **options))
    first = np.array(found)
    return first - first[::-1]


@pytest.mark.parametrize(
    "rank, swapped, level",
    pairwise(COEFFICIENTS, [("systems", 5, 6), ("documents", 6, 3), ("both", 2, 4)], LEVELS),
)
def test_few_swaps_are_all_counted(rank, swapped, level):
    (coefficient, kendall), (units, documents, systems) = rank, swapped
    options = dict(level=level, coefficient=coefficient, kendall=kendall, constant="skip")
    smooth = noisy(5, documents, systems)
    tied = smooth.round({"a": 0, "b": 0, "h": 0})
    tied.loc[1, "a"] = np.nan
    for frame in (smooth, tied):
        everything = by_brute_force(frame, units, **options)
        observed = everything[0]
        if np.isnan(observed):
            continue
        defined = everything[~np.isnan(everything)]
        for alternative, sign in (("two-sided", None), ("greater", 1), ("less", -1)):
            result = permutation_test(
                frame,
                "a",
                "b",
                "h",
                rng=np.random.default_rng(0),
                resamples=3,
                units=units,
                alternative=alternative,
                **options,
            )
            if alternative == "two-sided":
                share = (np.abs(defined) >= abs(observed) - 1e-9).mean()
            else:
                share = (sign * defined >= sign * observed - 1e-9).mean()
            assert result.exact and result.p == pytest.approx(share, abs=1e-12)
            # Half of the 2^k swaps are mirrors of the other half; one-sided they count too.
            assert result.resamples == len(defined) // (2 if alternative == "two-sided" else 1)


def test_exact_p_by_hand():
    """One document, two systems: a agrees, b disagrees; four swaps, of which two make a constant.

    Swapping none gives 1 - (-1) = 2, swapping both -2. Two-sided they are one swap, and it is as extreme
    as the observed: p = 1 / 1. One-sided one of two is: p = 1 / 2 for "greater", 2 / 2 for "less".
    """
    frame = frame_of(h=np.array([[1.0, 2]]), a=np.array([[1.0, 2]]), b=np.array([[2.0, 1]]))
    for alternative, p, swapped in (("two-sided", 1, 1), ("greater", 0.5, 2), ("less", 1, 2)):
        found = permutation_test(
            frame, "a", "b", "h", rng=np.random.default_rng(0), alternative=alternative
        )
        assert found.difference == pytest.approx(2)
        assert (found.p, found.resamples, found.exact) == (p, swapped, True)


def test_systems_that_all_speak_for_one_metric_give_the_smallest_p():
    """With k systems no p is below 1 / 2^(k - 1), however many swaps are asked for: 1/8 for four."""
    h = np.arange(4.0) + np.zeros((3, 1))
    found = permutation_test(
        frame_of(h=h, a=h, b=-h),
        "a",
        "b",
        "h",
        rng=np.random.default_rng(0),
        units="systems",
        resamples=4999,
    )
    assert found.difference == pytest.approx(2)
    assert (found.p, found.resamples, found.exact) == (1 / 8, 8, True)


def test_how_many_swaps_are_enumerated_is_a_choice():
    frame = noisy(1, 4, 9)  # 9 systems: 2^8 = 256 different swaps
    options = dict(units="systems", resamples=99)
    exact = permutation_test(
        frame, "a", "b", "h", rng=np.random.default_rng(0), exact_up_to=256, **options
    )
    drawn = permutation_test(
        frame, "a", "b", "h", rng=np.random.default_rng(0), exact_up_to=255, **options
    )
    assert (exact.exact, exact.resamples, drawn.exact, drawn.resamples) == (True, 256, False, 99)
    assert exact.difference == drawn.difference
    many = permutation_test(
        frame,
        "a",
        "b",
        "h",
        rng=np.random.default_rng(0),
        exact_up_to=0,
        units="systems",
        resamples=20_000,
    )
    assert many.p == pytest.approx(
        exact.p, abs=0.02
    )  # four standard errors of 20,000 draws are 0.014
    state = np.random.default_rng(3)
    permutation_test(frame, "a", "b", "h", rng=state, units="systems")
    assert state.random() == np.random.default_rng(3).random()  # what is counted needs no draws


def test_fifteen_systems_are_enumerated_and_sixteen_drawn():
    for systems, exact, swaps in ((15, True, 2**14), (16, False, 19)):
        found = permutation_test(
            noisy(0, 2, systems),
            "a",
            "b",
            "h",
            rng=np.random.default_rng(0),
            units="systems",
            resamples=19,
        )
        assert (found.exact, found.resamples) == (exact, swaps)


@pytest.mark.parametrize("coefficient, kendall", COEFFICIENTS)
# From 128 and 2,048 items on sums need double precision, for Spearman and for Kendall; in groups of more than
# 250 Spearman's ranks are counted, in small numbers up to 8,191 items.
@pytest.mark.parametrize(
    "documents, systems", [(1, 3), (3, 2), (5, 17), (3, 40), (2, 150), (2, 260), (1, 2100)]
)
def test_same_differences_in_any_size(documents, systems, coefficient, kendall):
    # Every single swap is compared, so that few of a large size will do: scipy takes 10 ms for each.
    resamples = RESAMPLES if documents * systems < 300 else 9
    for frame in (
        noisy(3, documents, systems),
        noisy(3, documents, systems).round({"a": 0, "b": 0, "h": 0}),
    ):
        options = dict(
            level="sample",
            coefficient=coefficient,
            kendall=kendall,
            constant="skip",
            resamples=resamples,
        )
        np.testing.assert_allclose(
            by_products(frame, "both", 5, **options),
            by_loop(frame, "both", 5, **options),
            atol=1e-9,
            rtol=0,
        )


@pytest.mark.parametrize("coefficient, kendall", COEFFICIENTS)
@pytest.mark.parametrize("level", LEVELS)
def test_chunks_and_large_groups_change_nothing(level, coefficient, kendall, monkeypatch):
    options = dict(level=level, coefficient=coefficient, kendall=kendall, constant="skip")
    frame, seed = gappy(5, 15), np.random.default_rng(7)
    x, y, h = matrices(frame)
    bits = permutation.swaps(h.shape, "both", 700, seed)
    expected = permutation.differences(x, y, h, bits, **options)
    monkeypatch.setattr(permutation, "_CELLS", 1)
    np.testing.assert_allclose(
        permutation.differences(x, y, h, bits, **options), expected, atol=1e-12
    )
    for bound in ("_PAIRWISE", "_SORTED"):
        monkeypatch.setattr(permutation, bound, 0)
        np.testing.assert_allclose(
            permutation.differences(x, y, h, bits, **options), expected, atol=1e-12
        )


def test_spearman_of_many_items_equals_small_ones_repeated():
    """Four copies of every item leave Spearman as it is: 9,000 items, whose ranks need larger numbers."""
    frame = noisy(4, 1, 2250).round({"a": 1, "h": 1})
    x, y, h = matrices(frame)
    bits = permutation.swaps(h.shape, "both", 40, np.random.default_rng(0))
    options = dict(level="dataset", coefficient="spearman", constant="skip", kendall="b")
    expected = permutation.differences(x, y, h, bits, **options)
    four = [np.tile(part, (1, 4, *[1] * (part.ndim - 2))) for part in (x, y, h, bits)]
    np.testing.assert_allclose(permutation.differences(*four, **options), expected, atol=1e-12)


def test_pearson_of_nearly_constant_documents():
    """Both metrics hardly vary within a document but differ by one: sums of squares would cancel."""
    rng = np.random.default_rng(0)
    h = rng.normal(size=(6, 4))
    frame = frame_of(h=h, a=1 + 1e-7 * rng.normal(size=h.shape), b=-1e-7 * rng.normal(size=h.shape))
    frame.loc[0, ["a", "b"]] = -9, 30
    options = dict(level="sample", coefficient="pearson", kendall="b", constant="skip")
    for units in UNITS:
        np.testing.assert_allclose(
            by_products(frame, units, 1, **options),
            by_loop(frame, units, 1, **options),
            atol=1e-9,
            rtol=0,
        )


@pytest.mark.parametrize("coefficient, kendall", COEFFICIENTS)
@pytest.mark.parametrize("level", LEVELS)
def test_difference_is_that_of_the_correlations(level, coefficient, kendall):
    frame, options = gappy(2), dict(level=level, coefficient=coefficient, kendall=kendall)
    complete = frame.dropna()
    a, b = (correlation(complete, metric, "h", **options).value for metric in "ab")
    result = permutation_test(
        frame, "a", "b", "h", rng=np.random.default_rng(0), resamples=9, **options
    )
    assert result.difference == pytest.approx(a - b, abs=1e-12)
    assert by_products(frame, "both", 0, **options, constant="skip")[0] == pytest.approx(
        a - b, abs=1e-8
    )
    assert (
        result.n
        == {
            "sample": complete["doc_id"].nunique(),
            "dataset": len(complete),
            "system": complete["system_id"].nunique(),
        }[level]
    )


def test_by_hand():
    """One document, two systems: a agrees and b disagrees, and one swap of two makes a constant."""
    frame = frame_of(h=np.array([[1.0, 2]]), a=np.array([[1.0, 2]]), b=np.array([[2.0, 1]]))
    for coefficient in ("pearson", "spearman", "kendall"):
        draws = by_products(
            frame, "both", 0, level="sample", coefficient=coefficient, kendall="b", constant="skip"
        )
        assert draws[0] == 2 and set(draws[~np.isnan(draws)]) == {2, -2}
        result = permutation_test(
            frame,
            "a",
            "b",
            "h",
            rng=np.random.default_rng(0),
            coefficient=coefficient,
            exact_up_to=0,
        )
        assert result[:2] == pytest.approx((2, 1))
        assert 400 < result.resamples < 600  # half of 999 are constant
        greater = permutation_test(
            frame,
            "a",
            "b",
            "h",
            rng=np.random.default_rng(0),
            coefficient=coefficient,
            alternative="greater",
            exact_up_to=0,
        )
        assert 0.4 < greater.p < 0.6


def test_swaps():
    rng = np.random.default_rng(0)
    for units, same in (("documents", 1), ("systems", 0)):
        bits = np.unpackbits(permutation.swaps((40, 30), units, 999, rng), axis=-1)
        assert (bits == bits.take([0], axis=same)).all() and not bits[..., 0].any()
        assert bits.shape[-1] >= 1000 and bits[..., 1:].mean() == pytest.approx(0.5, abs=0.02)
    bits = np.unpackbits(permutation.swaps((40, 30), "both", 999, rng), axis=-1)
    assert bits[..., 1:].mean() == pytest.approx(0.5, abs=0.002)
    assert abs(np.corrcoef(bits[0, :, 1:])[np.triu_indices(30, 1)]).max() < 0.15


def test_linear_and_shuffled_copies_keep_their_ties():
    rng = np.random.default_rng(0)
    x = rng.integers(1, 6, (30, 7)) * 0.1
    shuffled = rng.permutation(x.ravel()).reshape(x.shape)
    values = [set(permutation.standardised(m).ravel()) for m in (x, shuffled, 3 * x - 7, 1e6 * x)]
    assert len(values[0]) == 5 and all(v == values[0] for v in values)
    outlier = np.append(np.arange(5.0) * 1e-12, 1)[None]
    assert len(set(permutation.standardised(outlier).ravel())) == 6  # rounding would tie them


@pytest.mark.parametrize(
    "level, coefficient, units",
    [
        ("sample", "pearson", "both"),
        ("sample", "spearman", "both"),
        ("sample", "kendall", "both"),
        ("sample", "spearman", "documents"),
        ("system", "spearman", "both"),
        ("dataset", "kendall", "systems"),
    ],
)
def test_size_under_the_null(level, coefficient, units):
    """Of 150 tests of two equally noisy metrics, 5% reject: 3 to 13 by the binomial bounds."""
    systems = 8 if units == "systems" or level == "system" else 5
    documents = 12 if units == "documents" else 6
    options = dict(level=level, coefficient=coefficient, units=units, resamples=199)
    found = [
        permutation_test(
            noisy([seed, 1], documents, systems),
            "a",
            "b",
            "h",
            **options,
            rng=np.random.default_rng([seed, 2]),
        ).p
        for seed in range(150)
    ]
    assert 3 <= (np.array(found) <= 0.05).sum() <= 13


@pytest.mark.parametrize("coefficient", ["pearson", "spearman", "kendall"])
def test_power_on_a_planted_difference(coefficient):
    results = {
        (units, side): permutation_test(
            noisy(1, 40, 10, a=0.5, b=1.5),
            "a",
            "b",
            "h",
            rng=np.random.default_rng(0),
            units=units,
            coefficient=coefficient,
            alternative=side,
        )
        for units, side in product(("documents", "both"), ("two-sided", "greater", "less"))
    }
    for (_, side), result in results.items():
        assert result.difference > 0.2 and result.p == (1 if side == "less" else 1 / 1000)


def test_bounds_order_and_determinism():
    frame = noisy(4, b=1.4)
    for resamples in (1, 7, 255, 256):
        result, again = (
            permutation_test(f, "a", "b", "h", rng=np.random.default_rng(3), resamples=resamples)
            for f in (frame, frame.sample(frac=1, random_state=1))
        )
        assert result.p == again.p and result.difference == pytest.approx(again.difference)
        assert 1 / (resamples + 1) <= result.p <= 1 and result.resamples == resamples
    other = permutation_test(frame, "b", "a", "h", rng=np.random.default_rng(3), resamples=256)
    assert other.p == result.p and other.difference == -result.difference
    rng = np.random.default_rng(3)
    assert len({permutation_test(frame, "a", "b", "h", rng=rng).p for _ in range(5)}) > 1


def test_the_second_metric_may_be_a_copy():
    frame = noisy(0).assign(b=lambda f: 2 * f["a"] + 1)
    for level in LEVELS:
        result = permutation_test(frame, "a", "b", "h", rng=np.random.default_rng(0), level=level)
        assert result.difference == pytest.approx(0) and result.p == 1


@pytest.mark.parametrize(
    "why, level, constant",
    pairwise(
        [
            (dict(a=np.nan), "no item has all three scores"),
            (dict(a=2.0), "a with h: constant input"),
            (dict(b=2.0), "b with h: constant input"),
            (dict(h=2.0), "a with h: constant input.*; b with h: constant input"),
        ],
        LEVELS,
        ["skip", "nan", "zero"],
    ),
)
def test_undefined_is_nan_with_a_reason(why, level, constant):
    change, reason = why
    result = permutation_test(
        noisy(0).assign(**change),
        "a",
        "b",
        "h",
        rng=np.random.default_rng(0),
        level=level,
        constant=constant,
    )
    assert np.isnan(result.difference) and np.isnan(result.p) and result.resamples == 0
    assert pd.Series([result.reason]).str.fullmatch(f"{reason}.*").all()


@pytest.mark.parametrize("constant", ["skip", "nan", "zero"])
def test_one_document_and_one_system(constant):
    options = dict(rng=np.random.default_rng(0), constant=constant)
    one_system = noisy(0, systems=1)
    for level in ("sample", "system"):
        result = permutation_test(one_system, "a", "b", "h", level=level, **options)
        assert np.isnan(result.difference) and np.isnan(result.p) and result.reason
    assert permutation_test(one_system, "a", "b", "h", level="dataset", **options).n == 20
    one_document = noisy(0, documents=1)
    for level in LEVELS:
        result = permutation_test(
            one_document, "a", "b", "h", level=level, units="documents", **options
        )
        assert result.p == 1 and result.n == {"sample": 1, "dataset": 6, "system": 6}[level]
    empty = permutation_test(noisy(0).iloc[:0], "a", "b", "h", **options)
    assert np.isnan(empty.difference) and empty.reason == "no item has all three scores"


def test_nothing_defined_in_the_resamples():
    """Swapping one of the two systems makes both metrics constant."""
    frame = frame_of(h=np.array([[1.0, 2]]), a=np.array([[1.0, 2]]), b=np.array([[2.0, 1]]))
    rng = np.random.default_rng(0)
    found = [
        permutation_test(frame, "a", "b", "h", rng=rng, resamples=1, exact_up_to=0)
        for _ in range(20)
    ]
    undefined = [f for f in found if not f.resamples]
    assert undefined and all(
        np.isnan(f.p) and f.reason == "undefined in every resample" for f in undefined
    )


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(units="pairs"), "units='pairs': expected one of documents"),
        (dict(alternative="more"), "alternative='more': expected one of two-sided"),
        (dict(level="summary"), "level='summary'"),
        (dict(coefficient="tau"), "coefficient='tau'"),
        (dict(constant="drop"), "constant='drop'"),
        (dict(kendall="a"), "kendall='a'"),
        (dict(resamples=0), "resamples=0: expected at least 1"),
        (dict(b="c"), r"lacks \['c'\]"),
        (dict(human="c"), r"lacks \['c'\]"),
        (dict(b="a"), "three different columns"),
        (dict(human="b"), "three different columns"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        permutation_test(
            noisy(0), **dict(a="a", b="b", human="h", rng=np.random.default_rng(0)) | options
        )


@pytest.mark.parametrize(
    "test",
    [
        lambda frame: permutation_test(frame, "a", "b", "h", rng=np.random.default_rng(0)),
        lambda frame: williams_test(frame, "a", "b", "h"),
    ],
)
def test_bad_frames(test):
    frame = noisy(0)
    with pytest.raises(ValueError, match="one row per"):
        test(pd.concat([frame, frame[:1]]))
    with pytest.raises(ValueError, match="infinite scores in 'b'"):
        test(frame.assign(b=np.inf))
    with pytest.raises(ValueError, match="lacks"):
        test(frame.drop(columns="doc_id"))


def test_williams_by_hand():
    """r.test(103, .4, .5, .1) of R's psych prints t2 = -0.89 with probability = 0.37.

    The determinant is 1 - .16 - .25 - .01 + .04 = .62; t = -.1 sqrt(102 * 1.1 /
    (2 * .62 * 102 / 100 + .45^2 * .9^3)) = -.1 sqrt(112.2 / 1.4124225) = -.1 sqrt(79.43799).
    """
    t, p = williams(0.4, 0.5, 0.1, 103)
    assert t == pytest.approx(-0.1 * 79.43799**0.5, abs=1e-7) and round(p, 2) == 0.37
    assert williams(0.5, 0.4, 0.1, 103) == (-t, p)
    assert williams(0.3, 0.3, 0.2, 50) == (0, 1)
    # n = 4 leaves one degree of freedom, a Cauchy distribution: p = 1 - 2 atan(t) / pi.
    t, p = williams(0.8, 0.1, 0.2, 4)
    assert p == pytest.approx(1 - 2 * np.arctan(t) / np.pi)


def test_williams_against_psych():
    """Values of psych::r.test for these draws, as cited by nlpstats' test of its own function.

    nlpstats, like WMT's scripts, compares the correlations' sizes (here .286 and .160) where
    `williams_test` compares them with their signs (here -.286 and .160).
    """
    draw = np.random.RandomState(12).random_sample
    frames = [frame_of(**{name: draw((9, 5)).T for name in "abh"}) for _ in range(2)]
    first = williams_test(frames[0], "a", "b", "h", level="dataset", coefficient="pearson")
    assert first.n == 45 and first.difference == pytest.approx(-0.286 - 0.160, abs=1e-3)
    r = [
        correlation(frames[0], *pair, level="dataset", coefficient="pearson").value
        for pair in (("a", "h"), ("b", "h"), ("a", "b"))
    ]
    assert first[1:3] == williams(*r, 45)
    assert williams(*np.abs(r), 45).p == pytest.approx(0.5433956, abs=1e-6)
    second = williams_test(frames[1], "a", "b", "h", level="system", coefficient="spearman")
    assert second.p == pytest.approx(0.9317423, abs=1e-6) and second.n == 9 and second.t < 0
    swapped = williams_test(frames[1], "b", "a", "h", level="system", coefficient="spearman")
    assert swapped.t == pytest.approx(-second.t) and swapped.p == pytest.approx(second.p)
    assert swapped.difference == pytest.approx(-second.difference)


def test_williams_size():
    found = [
        williams_test(noisy(seed, 10, 4), "a", "b", "h", level="dataset").p for seed in range(300)
    ]
    assert 0.025 <= np.mean(np.array(found) <= 0.05) <= 0.08


def test_williams_undefined_and_bad():
    assert np.isnan(williams(0.5, 0.5, 1, 20)).all() and np.isnan(williams(0.5, -0.5, -1, 20)).all()
    for numbers in ((0.5, 0.4, 0.1, 3), (1.2, 0.4, 0.1, 20), (0.9, -0.9, 0.9, 20)):
        with pytest.raises(ValueError, match="at least 4 observations"):
            williams(*numbers)
    with pytest.raises(ValueError, match="level='sample': expected one of dataset, system"):
        williams_test(noisy(0), "a", "b", "h", level="sample")
    few = williams_test(noisy(0, systems=3), "a", "b", "h")
    assert (
        np.isnan([few.t, few.p]).all()
        and few.reason == "Williams' test needs 4 observations, got 3"
    )
    copy = williams_test(noisy(0).assign(b=lambda f: 2 * f["a"]), "a", "b", "h")
    assert np.isnan([copy.t, copy.p]).all() and copy.reason == "a and b correlate perfectly"
    flat = williams_test(noisy(0).assign(b=1.0), "a", "b", "h")
    assert np.isnan(flat[:3]).all() and flat.reason.startswith("b with h: constant")


def test_holm_by_hand():
    """Sorted .005 .01 .03 .04, times 4 3 2 1: .02 .03 .06 .04, and never falling: .02 .03 .06 .06."""
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.5, 0.6, 0.01]), [1, 1, 0.03])
    np.testing.assert_allclose(holm([0.02, 0.02, 0.9]), [0.06, 0.06, 0.9])
    np.testing.assert_allclose(holm([0.02, np.nan, 0.04]), [0.04, np.nan, 0.04])
    assert holm([]).shape == (0,) and holm([0.3]) == [0.3]
    given = np.array([0.2, 0.1])
    holm(given)
    assert given.tolist() == [0.2, 0.1]


def test_holm_is_step_down_bonferroni():
    rng = np.random.default_rng(0)
    for size in range(1, 12):
        p = rng.random(size) ** 3
        adjusted = holm(p)
        for alpha in (0.01, 0.05, 0.3):
            rejected, order = set(), np.argsort(p)
            for step, test in enumerate(order):
                if p[test] > alpha / (size - step):
                    break
                rejected.add(test)
            assert set(np.flatnonzero(adjusted <= alpha)) == rejected


@pytest.mark.parametrize("bad", [[0.1, 1.5], [-0.1], [[0.1, 0.2]], 0.1])
def test_holm_bad(bad):
    with pytest.raises(ValueError, match="list of p-values"):
        holm(bad)
