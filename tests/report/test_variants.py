"""Variant search on planted truth: found when it is there, not found by luck when it is not."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.report.published import KEY
from nlgjudge.report.variants import CHANCE, best, luck, search, summary

SEEDS = 200


def cells(aspects, coefficients=("spearman",)):
    return [("d", f"aspect{a}", "sample", c) for a in range(aspects) for c in coefficients]


def table_of(printed, index, row="METRIC"):
    """A printed table of one row, with an average and a dash that a search must leave out."""
    lines = [(row, *cell, f"{v:.3f}", round(v, 3)) for cell, v in zip(index, printed)]
    lines += [(row, "d", "AVG", "sample", "spearman", "0.999", 0.999),
              (row, "d", "lost", "sample", "spearman", "", np.nan)]
    return pd.DataFrame(lines, columns=[*KEY, "printed", "value"])


def values_of(matrix, index):
    matrix = np.asarray(matrix)
    frame = pd.DataFrame(index * len(matrix), columns=KEY[1:])
    return frame.assign(metric=np.repeat([f"v{i}" for i in range(len(matrix))], len(index)),
                        ours=matrix.ravel(), n=100, n_skipped=3)


def find(printed, matrix, index, **options):
    names = [f"v{i}" for i in range(len(matrix))]
    result, = search(table_of(printed, index), {"METRIC": names}, values_of(matrix, index), **options)
    return result


def test_the_planted_variant_is_found_and_explained():
    index = cells(4, ("spearman", "pearson", "kendall"))
    for seed in range(12):
        matrix = np.random.default_rng(seed).uniform(-0.1, 0.6, (12, len(index)))
        found = find(matrix[seed % 12], matrix, index)
        assert (found.variant, found.explained) == (f"v{seed % 12}", True)
        assert (found.exact, found.cells, found.tried) == (12, 12, 12)
        assert found.worst <= 0.0005 + 1e-12 < found.runner_up
        assert found.chance < CHANCE
        assert found.values["ours"].tolist() == matrix[seed % 12].tolist()


def test_a_row_a_little_off_is_found_within_the_tolerance_only():
    index = cells(6)
    matrix = np.random.default_rng(1).uniform(0, 0.6, (8, 6))
    near = matrix[2].round(3) + 0.001
    assert find(near, matrix, index).explained
    off = find(near, matrix, index, tolerance=0.0005)
    assert (off.variant, off.explained, off.exact) == ("v2", False, 0)


def test_the_difference_by_hand():
    # v0 is 0.001, 0.003 and 0.0004 off: at worst 0.003, and one cell rounds to the print.
    index = cells(3)
    matrix = [[0.101, 0.203, 0.3004], [0.5, 0.6, 0.7]]
    found = find([0.1, 0.2, 0.3], matrix, index)
    assert found.worst == pytest.approx(0.003)
    assert found.exact == 1 and not found.explained
    assert found.runner_up == pytest.approx(0.4)
    assert "no variant explains the row: of 2 tried the nearest is 0.003 away" in found.note


def rate(draw, accept=lambda found: found.explained):
    """Share of seeds on which a search accepts a variant; `draw` gives print and variants."""
    hits = 0
    for seed in range(SEEDS):
        printed, matrix, index = draw(np.random.default_rng(seed))
        hits += accept(find(printed, matrix, index))
    return hits / SEEDS


@pytest.mark.parametrize("variants, aspects", [(2, 1), (40, 2), (60, 3)])
def test_many_random_variants_do_not_explain_a_foreign_row(variants, aspects):
    def draw(rng):
        return rng.uniform(0, 0.4, aspects), rng.uniform(0, 0.4, (variants, aspects)), cells(aspects)
    assert rate(draw) <= CHANCE


def test_near_identical_variants_explain_nothing():
    def draw(rng):
        truth = rng.uniform(0.1, 0.5, 4)
        return truth, truth + rng.normal(0, 0.0004, (10, 4)), cells(4)
    assert rate(draw) <= CHANCE


@pytest.mark.parametrize("noise", [0.0001, 0.001])
def test_variants_whose_cells_move_together_do_not_explain_a_foreign_row(noise):
    """All aspects follow one quality, as they do for metrics: four cells are then one chance."""
    def draw(rng):
        matrix = (rng.uniform(0, 0.3, 4) + 0.3 * rng.uniform(0, 1, (31, 1))
                  + rng.normal(0, noise, (31, 4)))
        return matrix[0], matrix[1:], cells(4)
    assert rate(draw) <= CHANCE


def test_coefficients_of_one_aspect_are_no_independent_evidence():
    def draw(rng):
        matrix = rng.uniform(0, 0.4, (31, 1)) * [1, 1.05, 0.75]
        return matrix[0], matrix[1:], cells(1, ("spearman", "pearson", "kendall"))
    assert rate(draw) <= CHANCE


def test_a_row_mixed_from_two_variants_is_not_explained():
    for seed in range(20):
        matrix = np.random.default_rng(seed).uniform(0, 0.5, (6, 8))
        mixed = np.where(np.arange(8) < 4, matrix[0], matrix[1])
        assert not find(mixed, matrix, cells(8)).explained


def test_one_variant_is_no_choice():
    found = find([0.1, 0.2], [[0.1001, 0.2002]], cells(2))
    assert (found.explained, found.chance, found.tried) == (True, 0, 1)
    assert np.isnan(found.runner_up)
    assert found.note == "one score, no variant to choose; 0.0002 away at worst"


def test_equal_variants_prefer_the_first():
    matrix = np.random.default_rng(0).uniform(0, 0.5, (4, 8))
    found = find(matrix[3], np.vstack([matrix, matrix[3]]), cells(8))
    assert (found.variant, found.explained) == ("v3", True)
    assert found.runner_up > 0.01  # the copy is no runner-up


def test_luck_shrinks_with_cells_and_grows_with_variants():
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_tuples(cells(6), names=KEY[1:])
    wide = pd.DataFrame(rng.uniform(0, 0.5, (6, 40)), index=index)
    assert 0 <= luck(wide, 0.0005) < luck(wide.iloc[:2], 0.0005) < luck(wide.iloc[:1], 0.0005) <= 1
    assert luck(wide.iloc[:2, :5], 0.0005) < luck(wide.iloc[:2], 0.0005)
    assert luck(wide, 0.0005) <= luck(wide, 0.01) <= 1


def test_best_and_summary():
    index = cells(6)
    matrix = np.random.default_rng(4).uniform(0, 0.5, (5, 6))
    tables = pd.concat([table_of(matrix[1], index, "A"), table_of(matrix[2] + 0.05, index, "B")])
    rows = {"A": ["v0", "v1", "v3", "v4"], "B": ["v2", "v3", "v4"]}
    searches = search(tables, rows, values_of(matrix, index))
    ours = best(searches)
    assert set(ours.loc[ours["row"] == "A", "variant"]) == {"v1"}
    assert set(ours.loc[ours["row"] == "B", "variant"]) == {"nearest: v2"}
    assert ours.loc[ours["row"] == "A", "ours"].tolist() == matrix[1].tolist()
    assert (ours["note"] != "").all() and (ours["n_skipped"] == 3).all()
    shown = summary(searches)
    assert shown.index.tolist() == ["A", "B"]
    assert shown["explained"].tolist() == [True, False] and shown["tried"].tolist() == [4, 3]
    assert shown.loc["B", "worst"] == pytest.approx(0.05, abs=0.001)


@pytest.mark.parametrize("rows, message", [
    ({"OTHER": ["v0"]}, "row 'OTHER': 0 printed cells, 1 variants with values"),
    ({"METRIC": []}, "row 'METRIC': 3 printed cells, 0 variants with values"),
    ({"METRIC": ["unknown"]}, "0 variants with values, .*there must be a value for each"),
])
def test_rows_without_print_or_variant(rows, message):
    index = cells(3)
    with pytest.raises(ValueError, match=message):
        search(table_of([0.1, 0.2, 0.3], index), rows, values_of([[0.1, 0.2, 0.3]], index))


def test_a_printed_cell_without_a_value():
    index = cells(3)
    values = values_of([[0.1, 0.2, 0.3]], index)
    with pytest.raises(ValueError, match="3 printed cells, 1 variants with values, 1 cells without"):
        search(table_of([0.1, 0.2, 0.3], index), {"METRIC": ["v0"]}, values[values["ours"] < 0.25])
