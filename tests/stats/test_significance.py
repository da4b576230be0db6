"""Comparisons of judges in pairs: against the permutation test, with planted truth, and by hand."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.stats import family, holm, paired_table
from nlgjudge.stats.intervals import difference
from nlgjudge.stats.permutation import permutation_test
from nlgjudge.stats.significance import paired_tests

FEW = {"permutations": 199}


def planted(seed=0, documents=8, systems=5):
    """Two judges of equal merit on two aspects, and a metric that has one score for both."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [(f"d{d:02}", f"s{s:02}") for d in range(documents) for s in range(systems)],
        columns=["doc_id", "system_id"],
    )
    for aspect in ("fluency", "relevance"):
        frame[aspect] = rng.normal(size=len(frame))
        for judge in ("a", "b"):
            frame[f"{judge}:{aspect}"] = frame[aspect] + rng.normal(size=len(frame))
    return frame.assign(words=rng.integers(5, 50, len(frame)))


def test_is_the_permutation_test_of_both_questions():
    frame = planted()
    frame.loc[3, "a:fluency"] = np.nan
    how = {"level": "dataset", "coefficient": "kendall", "constant": "nan", "kendall": "c"}
    (row,) = paired_tests(frame, [("a", "b")], ["fluency"], seed=5, **how, **FEW).to_dict("records")
    for swapped, units in (("items", "both"), ("systems", "systems")):
        alone = permutation_test(
            frame, "a:fluency", "b:fluency", "fluency", seed=5, units=units, resamples=199, **how
        )
        assert row[f"p_{swapped}"] == alone.p
        assert row["difference"] == alone.difference and row["n"] == alone.n == 39
    assert row["swaps_of_systems"] == 16 and row["smallest_p_systems"] == 1 / 16


def test_neither_names_nor_order_nor_family_change_a_comparison():
    frame = planted(3)
    pairs = [("a", "b"), ("a", "words"), ("words", "b")]
    tests = paired_tests(frame, pairs, ["fluency", "relevance"], **FEW)
    same = tests.set_index(["pair", "aspect"]).loc[("a − b", "relevance")]
    shuffled = frame.sample(frac=1, random_state=0)
    alone = paired_tests(shuffled, [("b", "a")], ["relevance"], **FEW).iloc[0]
    names = {"a:relevance": "gpt-4", "b:relevance": "ROUGE", "relevance": "quality"}
    named = {"model": ("gpt-4", "ROUGE")}
    renamed = paired_tests(frame.rename(columns=names), named, ["quality"], **FEW).iloc[0]
    assert 0.01 < same["p_items"] < 1
    assert same["p_items"] == alone["p_items"] == renamed["p_items"]
    assert same["p_systems"] == alone["p_systems"] == renamed["p_systems"]
    assert same["difference"] == -alone["difference"] == renamed["difference"]
    assert same["family"] == 6 and alone["family"] == 1 and renamed["pair"] == "model"


def test_levels_and_coefficients_are_one_family_and_holm_covers_it_by_question():
    several = {"level": ("sample", "dataset"), "coefficient": ["spearman", "pearson"]}
    tests = paired_tests(planted(4), [("a", "b")], ["fluency", "relevance"], **several, **FEW)
    assert len(tests) == 8 and set(tests["family"]) == {8}
    for swapped in ("items", "systems"):
        np.testing.assert_array_equal(tests[f"holm_{swapped}"], holm(tests[f"p_{swapped}"]))


def test_the_interval_is_that_of_the_difference():
    frame = planted(5, documents=12)
    for systems in ("these", "other"):
        options = {"interval": True, "systems": systems, **FEW}
        (row,) = paired_tests(frame, [("a", "b")], ["fluency"], **options).to_dict("records")
        alone = difference(frame, "a:fluency", "b:fluency", "fluency", systems=systems)
        assert (row["ci_low"], row["ci_high"], row["ci_reason"]) == (alone.low, alone.high, "")
        cell = paired_table(pd.DataFrame([row])).iloc[0, 0]
        bounds = f"[{row['ci_low']:.2f}, {row['ci_high']:.2f}]"
        assert cell.startswith(f"{row['difference']:+.2f} {bounds} (items ")
    few = paired_tests(planted(5), [("a", "b")], ["fluency"], interval=True, **FEW)
    assert few["ci_reason"].item() == "fewer than 10 documents with a correlation"
    assert "[" not in paired_table(few).iloc[0, 0]


def test_one_system_has_no_p_of_systems_and_says_why():
    frame = planted(6, documents=30, systems=1)
    tests = paired_tests(frame, [("a", "b")], ["fluency"], level="dataset", **FEW)
    (row,) = tests.to_dict("records")
    assert 0 < row["p_items"] < 1
    assert np.isnan(row["p_systems"]) and np.isnan(row["holm_systems"])
    assert row["reason"] == "one system: nothing to swap" and row["swaps_of_systems"] == 1
    assert "no p with systems swapped (one system: nothing to swap)" in family(tests)
    assert paired_table(tests).iloc[0, 0].endswith(", systems –)")


def test_places_in_a_document_are_no_systems_and_its_items_stay_together():
    frame = planted(6, documents=30, systems=2)
    how = {"units": "documents", "level": "dataset"}
    options = {"has_systems": False, "interval": True, **how, **FEW}
    (row,) = paired_tests(frame, [("a", "b")], ["fluency"], **options).to_dict("records")
    columns = ("a:fluency", "b:fluency", "fluency")
    assert row["p_items"] == permutation_test(frame, *columns, resamples=199, **how).p
    assert np.isnan(row["p_systems"]) and row["reason"] == "no systems to swap"
    assert row["ci_low"] < row["difference"] < row["ci_high"]
    single = paired_tests(frame, [("a", "b")], ["fluency"], level="dataset", **FEW).iloc[0]
    assert single["p_items"] != row["p_items"] and single["p_systems"] in (0.5, 1)


def test_an_undefined_correlation_is_no_test_and_does_not_count_for_holm():
    frame = planted(6).assign(same=1.0)
    tests = paired_tests(frame, [("a", "same"), ("a", "b")], ["fluency"], **FEW)
    undefined, defined = tests.to_dict("records")
    assert np.isnan(undefined["difference"]) and "same with fluency" in undefined["reason"]
    assert np.isnan(undefined["p_items"]) and np.isnan(undefined["p_systems"])
    assert defined["holm_items"] == defined["p_items"]
    assert paired_table(tests).iloc[0, 0] == "not defined"


def test_the_table_keeps_the_order_of_the_tests_and_leaves_empty_what_was_not_tested():
    frame = planted(7)
    several = paired_tests(frame, [("b", "words"), ("a", "words")], ["relevance", "fluency"], **FEW)
    tests = pd.concat([several, paired_tests(frame, [("a", "b")], ["fluency"], **FEW)])
    table = paired_table(tests)
    assert list(table.index) == ["b − words", "a − words", "a − b"]
    assert list(table.columns) == ["relevance", "fluency"]
    assert table.loc["a − b", "relevance"] == ""
    cell = "{difference:+.2f} (items {holm_items:.2g}, systems {holm_systems:.2g})"
    assert table.iloc[0, 0] == cell.format(**tests.iloc[0])
    by_level = paired_tests(frame, [("a", "b")], ["fluency"], level=["system", "sample"], **FEW)
    assert list(paired_table(by_level).index) == [("a − b", "system"), ("a − b", "sample")]
    turned = paired_table(by_level, rows="aspect", columns="level")
    assert list(turned.columns) == ["system", "sample"]


def test_small_p_values_are_not_written_as_zero():
    tests = paired_tests(planted(), [("a", "b")], ["fluency"], **FEW)
    cells = {
        (0.0002, 0.0005): "(items <0.001, systems 0.001)",
        (0.0468, 0.1): "(items 0.047, systems 0.1)",
        (0.4321, 1.0): "(items 0.43, systems 1)",
    }
    for (items, systems), said in cells.items():
        shown = paired_table(tests.assign(holm_items=items, holm_systems=systems))
        assert shown.iloc[0, 0].endswith(said)


def test_the_family_is_said():
    tests = paired_tests(planted(8), [("a", "b"), ("a", "words")], ["fluency", "relevance"], **FEW)
    covered, swapped, limit = family(tests).split("\n")
    assert covered == "Holm's correction covers these 4 comparisons, once for each question:"
    assert "other items of these systems" in swapped and "other systems" in swapped
    assert "16 different swaps of systems: no p is below 0.0625, or 0.25 after" in limit
    fewer = paired_tests(planted(8, systems=4), [("a", "b")], ["fluency"], **FEW)
    assert "There are 8 to 16 different swaps" in family(pd.concat([tests, fewer]))
    none = paired_tests(planted(), [], ["fluency"])
    assert paired_table(none).empty and family(none) == "There are no two judges to compare."


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"pairs": [("a", "wrods")]}, "did you mean 'words'"),
        ({"aspects": ["fluancy"]}, "no aspect 'fluancy': did you mean 'fluency'"),
        ({"aspects": "fluency"}, "expected a list of names, as \\['fluency'\\]"),
        ({"pairs": [("a", "a")]}, r"expected two judges, got the pair \('a', 'a'\)"),
        ({"pairs": {"x": ("a", "b"), "y": ("b", "a")}}, "expected each pair once, got 'b' and 'a'"),
        ({"pairs": ["ab"]}, "expected a pair of judges"),
        ({"permutations": 0}, "permutations=0: expected a whole number"),
        ({"units": "systems"}, "units='systems': expected one of both, documents"),
        ({"coefficient": ["spearman", "rho"]}, "coefficient='rho'"),
    ],
)
def test_bad_input_is_refused(changed, message):
    given = {"pairs": [("a", "b")], "aspects": ["fluency"]} | FEW | changed
    with pytest.raises(ValueError, match=message):
        paired_tests(planted(), **given)


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
