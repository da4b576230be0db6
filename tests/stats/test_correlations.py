"""Correlations against scipy in a plain loop, and against arithmetic done by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgjudge.stats.correlations import (
    correlation,
    correlation_table,
    grouped,
    matrices,
    with_numbered_keys,
)

COEFFICIENTS = [("pearson", "b"), ("spearman", "b"), ("kendall", "b"), ("kendall", "c")]


def frame_of(groups):
    """A frame from {document: [(metric, human), ...]}, systems numbered in order."""
    rows = [(d, f"s{i}", *pair) for d, pairs in groups.items() for i, pair in enumerate(pairs)]
    return pd.DataFrame(rows, columns=["doc_id", "system_id", "f", "h"])


def random_frame(seed, documents=15, systems=8):
    """Ties everywhere, a quarter of the rows absent, some scores missing."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"d{d}", f"s{s}", float(rng.integers(4)), float(rng.integers(3)) + (s > 4))
        for d in range(documents)
        for s in range(systems)
        if rng.random() > 0.25
    ]
    frame = pd.DataFrame(rows, columns=["doc_id", "system_id", "f", "h"])
    for column in ("f", "h"):
        frame.loc[rng.random(len(frame)) < 0.1, column] = np.nan
    return frame.sample(frac=1, random_state=seed)


def by_scipy(x, y, coefficient, kendall):
    if len(x) < 2 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    if coefficient == "kendall":
        return stats.kendalltau(x, y, variant=kendall).statistic
    return {"pearson": stats.pearsonr, "spearman": stats.spearmanr}[coefficient](x, y).statistic


def by_loop(frame, level, coefficient, kendall):
    """Value, groups used and groups left out, one group after the other."""
    full = [row for row in frame.itertuples() if row.f == row.f and row.h == row.h]
    if level == "dataset":
        return by_scipy([r.f for r in full], [r.h for r in full], coefficient, kendall), None, None
    if level == "system":
        names = sorted({r.system_id for r in full})
        means = [
            [np.mean([getattr(r, c) for r in full if r.system_id == name]) for name in names]
            for c in "fh"
        ]
        return by_scipy(*means, coefficient, kendall), None, None
    values = []
    for document in set(frame["doc_id"]):
        mine = [r for r in full if r.doc_id == document]
        values.append(by_scipy([r.f for r in mine], [r.h for r in mine], coefficient, kendall))
    kept = [v for v in values if v is not None]
    return np.mean(kept), len(kept), len(values) - len(kept)


@pytest.mark.parametrize("level", ["sample", "dataset", "system"])
@pytest.mark.parametrize("coefficient, kendall", COEFFICIENTS)
def test_agrees_with_scipy_on_ties_and_gaps(level, coefficient, kendall):
    for seed in range(5):
        frame = random_frame(seed)
        ours = correlation(frame, "f", "h", level=level, coefficient=coefficient, kendall=kendall)
        value, n, skipped = by_loop(frame, level, coefficient, kendall)
        assert ours.value == pytest.approx(value, abs=1e-12)
        assert ours.reason == ""
        if level == "sample":
            assert (ours.n, ours.n_skipped) == (n, skipped)


@pytest.mark.parametrize("coefficient, kendall", COEFFICIENTS)
def test_a_large_dataset_agrees_with_scipy(coefficient, kendall):
    frame = random_frame(7, documents=120, systems=8)  # over 600 complete items
    assert len(frame.dropna()) > 500
    ours = correlation(frame, "f", "h", level="dataset", coefficient=coefficient, kendall=kendall)
    full = frame.dropna()
    assert ours.value == pytest.approx(
        by_scipy(list(full["f"]), list(full["h"]), coefficient, kendall), abs=1e-12
    )
    assert (ours.n, ours.n_skipped) == (len(full), len(frame) - len(full))


# Two documents, three systems. Ranks: document a agrees, b swaps its first two.
TINY = frame_of({"a": [(1, 1), (2, 4), (3, 6)], "b": [(10, 3), (20, 2), (30, 5)]})
BY_HAND = {
    # Equation 1. Spearman: a 1, b 1 - 6(1+1+0)/(3*8) = 1/2. Kendall: a 1, b (2-1)/3.
    ("sample", "spearman"): (1 + 1 / 2) / 2,
    ("sample", "kendall"): (1 + 1 / 3) / 2,
    # a: cov 8/3 + 7/3 = 5, norms sqrt(2), sqrt(64+1+49)/3; b: cov 10/3 + 50/3 = 20,
    # norms sqrt(200), sqrt(1+16+25)/3.
    ("sample", "pearson"): (15 / (2 * 114) ** 0.5 + 60 / (200 * 42) ** 0.5) / 2,
    # Equation 2. Ratings in order of f: 1 4 6 3 2 5; squared rank differences 0+4+9+1+9+1 = 24.
    ("dataset", "spearman"): 1 - 6 * 24 / (6 * 35),
    # Concordant pairs 5+2+0+1+1 = 9 of 15, discordant 6.
    ("dataset", "kendall"): (9 - 6) / 15,
    # System means: f 5.5, 11, 16.5; h 2, 3, 5.5, centred -1.5, -0.5, 2: 3.5/sqrt(2*6.5).
    ("system", "pearson"): 3.5 / 13**0.5,
    ("system", "spearman"): 1,
    ("system", "kendall"): 1,
}


@pytest.mark.parametrize("level, coefficient", BY_HAND)
def test_equations_by_hand(level, coefficient):
    ours = correlation(TINY, "f", "h", level=level, coefficient=coefficient)
    assert ours.value == pytest.approx(BY_HAND[level, coefficient], abs=1e-12)
    assert (ours.n, ours.n_skipped) == ({"sample": 2, "dataset": 6, "system": 3}[level], 0)


# Spearman by document: 1; 1 - 6(0+1+1)/(3*8) = 1/2; constant metric; one rated item; none rated.
POLICY = frame_of(
    {
        "full": [(1, 1), (2, 2), (3, 3)],
        "swap": [(1, 1), (2, 3), (3, 2)],
        "flat": [(5, 1), (5, 2), (5, 3)],
        "lone": [(1, 1), (2, np.nan)],
        "none": [(1, np.nan), (np.nan, 2)],
    }
)


@pytest.mark.parametrize(
    "constant, value, n, skipped",
    [
        ("skip", (1 + 0.5) / 2, 2, 3),
        ("zero", (1 + 0.5 + 0 + 0) / 4, 4, 1),  # a document without any pair is still left out
        ("nan", np.nan, 2, 3),
    ],
)
def test_constant_input_policies(constant, value, n, skipped):
    ours = correlation(POLICY, "f", "h", constant=constant)
    assert ours.value == pytest.approx(value, nan_ok=True)
    assert (ours.n, ours.n_skipped) == (n, skipped)
    assert ours.reason == ("constant input in 2 documents" if constant == "nan" else "")


@pytest.mark.parametrize("scale", [1e-15, 1e-3, 1.0, 1e9])
@pytest.mark.parametrize("coefficient", ["pearson", "spearman", "kendall"])
def test_scale_and_offset_change_nothing(scale, coefficient):
    x, y = np.array([[1.0, 2, 2, 5]]), np.array([[1.0, 3, 2, 2]])
    flat = np.full((1, 7), 0.1 * scale * 12345671)
    assert grouped(x * scale, y, coefficient) == pytest.approx(grouped(x, y, coefficient), abs=1e-9)
    assert np.isnan(grouped(flat, np.arange(7.0)[None], coefficient)).all()


def test_rows_do_not_influence_one_another():
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 4, (2, 20, 6)).astype(float)
    x[3, 2:], y[5] = np.nan, np.nan
    for coefficient, kendall in COEFFICIENTS:
        together = grouped(x, y, coefficient, kendall=kendall)
        alone = [grouped(a[None], b[None], coefficient, kendall=kendall)[0] for a, b in zip(x, y)]
        np.testing.assert_allclose(together, alone, atol=1e-12)
        assert np.isnan(together[5])


@pytest.mark.parametrize("members", [2, 5, 16])
@pytest.mark.parametrize("coefficient", ["pearson", "spearman"])
def test_many_rows_are_correlated_as_few_are(members, coefficient):
    """Ranks of many short rows are counted by pairs, and their largest numbers found column by column."""
    rng = np.random.default_rng(members)
    x, y = rng.integers(0, 4, (2, 600, members)).astype(float)
    x[rng.random(x.shape) < 0.1], x[3], y[4] = np.nan, np.nan, 2
    many = grouped(x, y, coefficient)
    few = [
        grouped(x[start : start + 2], y[start : start + 2], coefficient)
        for start in range(0, 600, 2)
    ]
    np.testing.assert_array_equal(many, np.concatenate(few))
    assert 0 < np.isnan(many).sum() < 400


@pytest.mark.parametrize(
    "options, message",
    [
        ({"level": "summary"}, "level='summary': expected one of sample, dataset, system"),
        ({"coefficient": "tau"}, "coefficient='tau': expected one of pearson, spearman, kendall"),
        ({"constant": "drop"}, "constant='drop': expected one of skip, nan, zero"),
        ({"kendall": "a"}, "kendall='a': expected one of b, c"),
    ],
)
def test_unknown_options(options, message):
    with pytest.raises(ValueError, match=message):
        correlation(TINY, "f", "h", **options)


def test_unusable_frames():
    with pytest.raises(ValueError, match=r"the frame lacks \['rouge'\]; it has \['doc_id'"):
        correlation(TINY, "rouge", "h")
    twice = pd.concat([TINY, TINY.iloc[[4]]])
    with pytest.raises(ValueError, match=r"got 1 repeated, first \['b', 's1'\]; aggregate them"):
        correlation(twice, "f", "h")
    with pytest.raises(ValueError, match="infinite scores in 'f' or 'h'; use NaN"):
        correlation(TINY.replace({"f": {1: np.inf}}).astype({"f": float}), "f", "h")


@pytest.mark.parametrize(
    "frame, level, n, skipped, reason",
    [
        (TINY.iloc[:0].astype({"f": float, "h": float}), "sample", 0, 0, "no item has both scores"),
        (TINY.assign(f=np.nan), "dataset", 0, 0, "no item has both scores"),
        (frame_of({"a": [(1, 2)]}), "sample", 0, 1, "constant input in every document"),
        (frame_of({"a": [(1, 2)]}), "dataset", 1, 0, "constant input or fewer than two items"),
        (
            frame_of({"a": [(1, 2), (1, 3)], "b": [(2, 2), (2, 4)]}),
            "sample",
            0,
            2,
            "constant input in every document",
        ),
        (
            frame_of({"a": [(1, 2), (1, 3)]}),
            "system",
            2,
            0,
            "constant input or fewer than two items",
        ),
    ],
)
def test_nothing_to_correlate_is_nan_with_a_reason(frame, level, n, skipped, reason):
    ours = correlation(frame, "f", "h", level=level)
    assert np.isnan(ours.value)
    assert (ours.n, ours.n_skipped, ours.reason) == (n, skipped, reason)


def test_table_has_a_row_for_every_combination():
    frame = TINY.assign(g=-TINY["f"])
    table = correlation_table(frame, ["f", "g"], ["h"], levels=("sample", "system"), dataset="tiny")
    assert list(table.columns) == [
        "metric",
        "dataset",
        "aspect",
        "level",
        "coefficient",
        "ours",
        "n",
        "n_skipped",
        "reason",
    ]
    assert len(table) == 2 * 1 * 2 * 3
    found = table.set_index(["metric", "level", "coefficient"])["ours"]
    for (level, coefficient), value in BY_HAND.items():
        if level != "dataset":
            assert found["f", level, coefficient] == pytest.approx(value)
            assert found["g", level, coefficient] == pytest.approx(-value)
    assert set(table["dataset"]) == {"tiny"} and set(table["aspect"]) == {"h"}


@pytest.mark.parametrize("numbers", [[0, 1, 2], [7, -2, 3], [10**12, 0, -5]])
def test_keys_that_are_numbers_give_what_texts_give(numbers):
    rng = np.random.default_rng(4)
    letters = ["a", "b", "c"]
    by_text = pd.DataFrame(
        [(d, s) for d in "pqrs" for s in letters], columns=["doc_id", "system_id"]
    )
    by_text[["human", "judge"]] = rng.normal(size=(12, 2))
    by_number = by_text.assign(
        system_id=by_text["system_id"].map(dict(zip(letters, numbers))),
        doc_id=by_text["doc_id"].map(dict(zip("pqrs", [5, 3, 40, 4]))),
    )
    for level in ("sample", "system", "dataset"):
        found = correlation(by_number, "judge", "human", level=level)
        assert found.value == pytest.approx(
            correlation(by_text, "judge", "human", level=level).value, abs=1e-12
        )
    laid = matrices(by_number, ["judge"])[0]
    wanted = by_number.pivot(index="doc_id", columns="system_id", values="judge")
    assert (laid == wanted.to_numpy()).all()


def test_keys_are_numbered_in_their_order_and_left_alone_where_one_is_wrong():
    frame = pd.DataFrame(
        {"doc_id": ["b", "a", "b"], "system_id": ["x", "x", "w"], "score": [1.0, 2.0, 3.0]}
    )
    numbered = with_numbered_keys(frame)
    assert numbered["doc_id"].tolist() == [1, 0, 1] and numbered["system_id"].tolist() == [1, 1, 0]
    np.testing.assert_array_equal(matrices(numbered, ["score"]), matrices(frame, ["score"]))
    for wrong in (
        frame.assign(system_id="x"),
        frame.assign(doc_id=["b", None, "b"]),
        frame.drop(columns="doc_id"),
    ):
        assert with_numbered_keys(wrong) is wrong
