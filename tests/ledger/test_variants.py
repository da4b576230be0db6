"""Variant search on planted truth: found when it is there, and not found by chance when it is not."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.ledger.printed import KEY
from nlgjudge.ledger.variants import CHANCE, family_name, search, summary

SEEDS = 60


def cells(aspects, coefficients=("spearman",)):
    return [("d", f"aspect{a}", "sample", c) for a in range(aspects) for c in coefficients]


def table_of(printed, index, row="METRIC"):
    """A published row, with an average and a dash that a search must leave out."""
    lines = [(row, *cell, f"{v:.3f}", round(v, 3)) for cell, v in zip(index, printed)]
    lines += [(row, "d", "AVG", "sample", "spearman", "0.999", 0.999)]
    lines += [(row, "d", "lost", "sample", "spearman", "", np.nan)]
    return pd.DataFrame(lines, columns=[*KEY, "printed", "value"])


def values_of(matrix, index, names=None):
    matrix = np.asarray(matrix)
    names = names or [f"v{i}" for i in range(len(matrix))]
    frame = pd.DataFrame(index * len(matrix), columns=KEY[1:])
    return frame.assign(
        metric=np.repeat(names, len(index)), ours=matrix.ravel(), n=100, n_skipped=3
    )


def find(printed, matrix, index, names=None):
    values = values_of(matrix, index, names)
    rows = {"METRIC": list(values["metric"].unique())}
    (result,) = search(table_of(printed, index), rows, values)
    return result


def test_the_planted_variant_is_found_and_explained():
    index = cells(4, ("spearman", "pearson", "kendall"))
    for seed in range(6):
        matrix = np.random.default_rng(seed).uniform(-0.1, 0.6, (12, len(index)))
        found = find(matrix[seed], matrix, index)
        assert (found.variant, found.explained) == (f"v{seed}", True)
        assert (found.exact, found.cells, found.tried) == (12, 12, 12)
        assert found.worst <= 0.0005 + 1e-12 < found.runner_up and found.chance < CHANCE
        assert found.values["ours"].tolist() == matrix[seed].tolist()


def test_the_difference_by_hand():
    # v0 is 0.001, 0.003 and 0.0004 off: at worst 0.003, and one cell rounds to the published digits.
    found = find([0.1, 0.2, 0.3], [[0.101, 0.203, 0.3004], [0.5, 0.6, 0.7]], cells(3))
    assert found.worst == pytest.approx(0.003) and found.runner_up == pytest.approx(0.4)
    assert (found.exact, found.explained, found.family) == (1, False, ())
    assert found.explanation == "nearest: v0"
    assert found.note.startswith("no variant explains the row: 2 variants tried, the nearest")
    assert "1 of 3 cells and is at most 0.0030 away (chance fit " in found.note


@pytest.mark.parametrize(
    "ours, exact, explained",
    [
        (0.1236, 8, True),  # values from 0.1235 to 0.1245 round to 0.124
        (0.12346, 7, True),  # 0.1235 with four digits, and that is 0.124 with three
        (0.12344, 7, False),  # 0.1234 with four digits, and that is 0.123
        (0.1229, 7, False),  # a unit of the last digit off
    ],
)
def test_every_cell_has_to_round_to_the_published_digits(ours, exact, explained):
    matrix = np.random.default_rng(2).uniform(0, 0.6, (5, 8)).round(3)
    matrix[1, 0] = 0.124
    printed = matrix[1].copy()
    matrix[1, 0] = ours
    found = find(printed, matrix, cells(8))
    assert (found.variant, found.exact, found.explained) == ("v1", exact, explained)
    assert ("1 of them by way of one digit more" in found.note) == (explained and exact == 7)


def test_equivalent_variants_are_named_together():
    """v1 and v3 round to the same digits in every cell: 0.0003 and 0.0004 away."""
    matrix = np.random.default_rng(5).uniform(0, 0.6, (5, 8)).round(3)
    printed = matrix[1].copy()
    matrix[1] = printed + 0.0003
    matrix[3] = printed - 0.0004
    matrix[4] = printed + 0.0015
    names = ["m: f, x", "m: f, mean, porter", "m: f, y", "m: f, mean, script", "m: f, z"]
    found = find(printed, matrix, cells(8), names)
    assert found.explained and found.family == ("m: f, mean, porter", "m: f, mean, script")
    assert found.rivals == ("m: f, mean, script", "m: f, z")  # within 0.002, the nearest first
    assert "2 of them fit and the published digits cannot distinguish them" in found.note
    assert found.note.endswith("also within the tolerance: m: f, z")
    cell = found.ours
    assert set(cell["variant"]) == {"m: f, mean, (porter or script)"}
    assert set(cell["metric"]) == {"m: f, mean, porter"}
    assert cell["ours"].tolist() == matrix[1].tolist()
    shown = summary([found]).loc["METRIC", ["variant", "family", "rivals"]].tolist()
    assert shown == ["f, mean, (porter or script)", 2, 2]


@pytest.mark.parametrize(
    "names, name",
    [
        (["rouge1: r", "rouge1: r"], "rouge1: r"),
        (["p, max, porter", "p, porter"], "p (or with max), porter"),
        (["m: f, x | all | P", "m: f, y | all | P"], "m: f, (x or y) | all | P"),
        (["m: x | all | P", "m: y | all | S"], "m: (x | all | P or y | all | S)"),
    ],
)
def test_a_family_is_named_by_what_it_shares(names, name):
    assert family_name(names) == name


DRAWS = {
    "few cells, many variants": lambda rng: (rng.uniform(0, 0.4, 2), rng.uniform(0, 0.4, (40, 2))),
    "near-identical variants": lambda rng: (
        truth := rng.uniform(0.1, 0.5, 4),
        truth + rng.normal(0, 0.0004, (10, 4)),
    ),
    # All aspects follow one quality, as they do for metrics: four cells are then one chance.
    "cells that move together": lambda rng: np.split(
        rng.uniform(0, 0.3, 4) + 0.3 * rng.uniform(0, 1, (31, 1)) + rng.normal(0, 1e-3, (31, 4)),
        [1],
    ),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_foreign_row_is_hardly_ever_explained(draw):
    explained = 0
    for seed in range(SEEDS):
        printed, matrix = draw(np.random.default_rng(seed))
        explained += find(np.ravel(printed), matrix, cells(matrix.shape[1])).explained
    assert explained / SEEDS <= CHANCE


def test_one_variant_is_no_choice():
    found = find([0.1, 0.2], [[0.1001, 0.2002]], cells(2))
    assert (found.explained, found.chance, found.tried) == (True, 0, 1)
    assert np.isnan(found.runner_up)
    assert found.note == "one score, no variant to choose; at most 0.0002 away"


@pytest.mark.parametrize(
    "rows", [{"OTHER": ["v0"]}, {"METRIC": []}, {"METRIC": ["unknown"]}, {"METRIC": ["v0"]}]
)
def test_a_published_cell_without_a_value(rows):
    values = values_of([[0.1, 0.2, 0.3]], cells(3))
    with pytest.raises(ValueError, match=f"row '{list(rows)[0]}': expected a value for each of"):
        search(table_of([0.1, 0.2, 0.3], cells(3)), rows, values[values["ours"] < 0.25])
