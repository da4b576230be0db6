"""The papers' own contradictions, and planted ones in synthetic tables."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.ledger import ledger
from nlgjudge.ledger.average_audit import (
    MISPRINT,
    besides_misprint,
    printed_averages,
    with_misprints,
)
from nlgjudge.ledger.comparison import compare
from nlgjudge.ledger.printed import KEY, all_published, published
from nlgjudge.ledger.verdicts import EVIDENCE, OF_OTHERS, of_others, was_run
from nlgjudge.studies.printed_averages import captions, shared_baselines, versions

ASPECTS = ["coherence", "consistency", "fluency", "relevance"]
SPEARMAN = {
    "A": [0.112, 0.237, 0.318, 0.441],
    "B": [0.203, 0.355, 0.127, 0.571],
    "C": [0.614, 0.382, 0.505, 0.249],
    "D": [0.366, 0.149, 0.428, 0.297],
}
# Far enough from proportional to Spearman that a fit of both coefficients means something.
KENDALL = {
    "A": [0.071, 0.205, 0.211, 0.382],
    "B": [0.181, 0.251, 0.116, 0.409],
    "C": [0.451, 0.342, 0.366, 0.214],
    "D": [0.321, 0.098, 0.371, 0.203],
}


def grid():
    """Cells by row and coefficient, the caller's to change."""
    return {
        row: {"spearman": list(SPEARMAN[row]), "kendall": list(KENDALL[row])} for row in SPEARMAN
    }


def frame(cells, printed=None, paper="chatgpt", dataset="summeval", level="sample"):
    """A table in the shape of `all_published`; averages are right unless `printed` names them."""
    rows = []
    for row, by in cells.items():
        for coefficient, values in by.items():
            average = (printed or {}).get((row, coefficient), np.mean(values))
            for aspect, value in zip([*ASPECTS, "AVG"], [*values, average], strict=True):
                rows.append(
                    (paper, "table1", row, dataset, aspect, level, coefficient, f"{value:.3f}")
                )
    table = pd.DataFrame(
        rows,
        columns=[
            "paper",
            "artefact",
            "row",
            "dataset",
            "aspect",
            "level",
            "coefficient",
            "printed",
        ],
    )
    return table.assign(value=table["printed"].astype(float), note="")


def both(row, values):
    return dict(zip([(row, "spearman"), (row, "kendall")], values, strict=True))


def cause(table, row, paper="chatgpt"):
    found = printed_averages(table).query("row == @row and paper == @paper")
    assert not found["consistent"].any() and found["cause"].nunique() == 1
    return found["cause"].iloc[0]


@pytest.fixture(scope="module")
def printed():
    return printed_averages()


@pytest.fixture(scope="module")
def shared():
    return shared_baselines()


def cell(frame, **where):
    (found,) = frame[np.logical_and.reduce([frame[c] == v for c, v in where.items()])].itertuples()
    return found


def test_every_printed_average_is_there(printed):
    assert len(printed) == 353  # 365 AVG cells, 12 of them dashes or empty
    wrong = printed[~printed["consistent"]]
    assert wrong.groupby(["paper", "artefact"]).size().to_dict() == {
        ("geval", "table1"): 10,
        ("geval", "table3"): 3,
        ("geval_v1", "table1"): 4,
        ("geval_v1", "table3"): 3,
        ("chatgpt", "table2"): 1,
    }
    assert (printed.loc[printed["consistent"], "cause"] == "").all()
    assert (wrong["cause"] != "").all() and (wrong["tried"] > 0).all()


def test_g_eval_4_average_is_lower_than_its_cells(printed):
    # EMNLP, Table 1: (0.582 + 0.507 + 0.506 + 0.547) / 4 = 0.5355
    found = cell(printed, paper="geval", artefact="table1", row="G-EVAL-4", coefficient="spearman")
    assert found.printed == "0.514" and found.mean == pytest.approx(0.5355)
    assert found.cause.startswith("none found") and "same print in geval_v1" in found.candidates


@pytest.mark.parametrize("row", ["G-EVAL-4 - Probs", "G-EVAL-4 - CoT"])
def test_ablation_averages_were_not_updated(printed, row):
    found = printed.query("paper == 'geval' and row == @row")
    assert set(found["cause"]) == {"not updated: mean of the cells in geval_v1"}


def test_chatgpt_table_2_repeats_the_average_above(printed):
    found = cell(printed, paper="chatgpt", artefact="table2", row="ROUGE-2", coefficient="kendall")
    assert found.printed == "0.092" and found.mean == pytest.approx(0.0395)
    assert found.cause == "copied line: printed for ROUGE-1"


def test_qags_averages_over_its_parts(printed):
    # Table 3, QAGS: (0.545 + 0.175) / 2 = 0.360, printed 0.375
    found = cell(printed, paper="geval", artefact="table3", row="QAGS", coefficient="pearson")
    assert (found.cells, found.printed) == (2, "0.375") and found.mean == pytest.approx(0.36)
    assert found.cause.startswith("none found")


# By paper and table: row, level and coefficient of the averages that no mean of the printed cells can be.
MISPRINTS = {
    ("geval", "table1"): [
        (row, "sample", coefficient)
        for row in (
            "G-EVAL-3.5",
            "G-EVAL-4",
            "G-EVAL-4 - Probs",
            "G-EVAL-4 - CoT",
            "G-EVAL-4 - Description",
        )
        for coefficient in ("spearman", "kendall")
    ],
    ("geval_v1", "table1"): [
        (row, "sample", coefficient)
        for row in ("G-EVAL-3.5", "G-EVAL-4")
        for coefficient in ("spearman", "kendall")
    ],
    ("geval", "table3"): [
        ("QAGS", "dataset", "pearson"),
        ("G-EVAL-4", "dataset", "pearson"),
        ("G-EVAL-4", "dataset", "kendall"),
    ],
    ("geval_v1", "table3"): [
        ("QAGS", "dataset", "pearson"),
        ("G-EVAL-4", "dataset", "pearson"),
        ("G-EVAL-4", "dataset", "kendall"),
    ],
    ("chatgpt", "table2"): [("ROUGE-2", "sample", "kendall")],
}


def test_the_ledger_calls_every_contradicted_average_a_misprint_though_nobody_ran_it():
    rows = ledger.merge([])
    found = rows[rows["verdict"] == MISPRINT]
    named = {(*table, *line) for table, lines in MISPRINTS.items() for line in lines}
    assert len(named) == len(found) == 21
    assert (
        set(
            found[["paper", "artefact", "row", "level", "coefficient"]].itertuples(
                index=False, name=None
            )
        )
        == named
    )
    assert (
        set(found["aspect"]) == {"AVG"}
        and set(found["evidence"]) == {"none"}
        and not was_run(found).any()
    )
    assert set(rows.loc[rows["verdict"] != MISPRINT, "verdict"]) == {"not_run"}
    average = cell(
        found, paper="geval", artefact="table1", row="G-EVAL-4 - CoT", coefficient="kendall"
    )
    assert average.note.startswith(
        "the printed cells of the row average to 0.4313, not 0.407: no rounding gives that;"
    )
    assert besides_misprint(average.note).startswith("GPT-4 with prompts without evaluation steps")


def rouge_2(**values):
    """Our values beside ROUGE-2's row of the ChatGPT study's Table 2, whose Kendall average repeats the row above."""
    table = published("chatgpt", "table2")
    ours = table[
        table["row"].eq("ROUGE-2") & table["coefficient"].eq("kendall") & table["aspect"].ne("AVG")
    ]
    ours = ours[[*KEY, "value"]].rename(columns={"value": "ours"})
    ours["ours"] += values.pop("shift", 0)
    given = {"evidence": "recomputed", "notebook": "test"} | values
    rows = compare("chatgpt", "table2", table, ours, **given)
    return cell(rows, aspect="AVG"), rows


def test_the_chatgpt_study_s_table_2_prints_0_092_where_its_cells_average_to_0_040():
    average, rows = rouge_2()
    assert (average.published, average.verdict) == (
        "0.092",
        MISPRINT,
    ) and average.ours == pytest.approx(0.0395)
    assert (
        average.note
        == "the printed cells of the row average to 0.0395, not 0.092: no rounding gives that"
    )
    assert set(rows.loc[rows["aspect"] != "AVG", "verdict"]) == {"exact"}


def test_an_average_that_ours_reproduces_stays_exact():
    average, rows = rouge_2(shift=0.092 - 0.0395)
    assert (average.verdict, average.note) == ("exact", "")
    assert (rows["aspect"] == "AVG").sum() == 1 and not rows["verdict"].eq(MISPRINT).any()


@pytest.mark.parametrize("evidence", OF_OTHERS)
def test_another_models_value_that_happens_to_equal_a_misprint_does_not_save_it(evidence):
    average, _ = rouge_2(shift=0.092 - 0.0395, evidence=evidence, judge="gpt-4o")
    assert average.verdict == MISPRINT and average.evidence == evidence


def test_the_sample_judges_nothing():
    average, _ = rouge_2(sample=True)
    assert average.verdict == "not_run"


def test_a_cell_is_judged_once():
    rows = ledger.merge([])
    pd.testing.assert_frame_equal(with_misprints(rows, all_published(), of_others(rows)), rows)


def test_rounding_is_no_misprint_and_counts_by_the_digits_printed():
    """Four cells 0.1 and an average 0.2 may all be rounded by 0.05, and three digits leave 0.001 together."""
    table = frame(
        {"A": {"spearman": [0.1004, 0.1004, 0.1004, 0.1004]}}, printed={("A", "spearman"): 0.101}
    )
    coarse = table.assign(printed=np.where(table["aspect"] == "AVG", "0.2", "0.1"))
    further = frame({"A": {"spearman": [0.1, 0.1, 0.1, 0.1]}}, printed={("A", "spearman"): 0.102})
    found = []
    for cells in (table, coarse, further):
        cells = cells.assign(value=cells["printed"].astype(float))
        rows = cells.assign(verdict="not_run", evidence=EVIDENCE[-1], note="")
        found.append(with_misprints(rows, cells, of_others(rows))["verdict"].eq(MISPRINT).sum())
    assert found == [0, 0, 1]


def test_versions_differ_in_six_fluency_cells():
    found = versions()
    values = found[found["change"] == "value"]
    assert len(values) == 6 and set(values["aspect"]) == {"fluency"}
    assert set(values["row"]) == {"G-EVAL-4", "G-EVAL-4 - Probs", "G-EVAL-4 - CoT"}
    only = found[found["change"] == "only in geval"]
    assert len(found) == 16 and set(only["row"]) == {"G-EVAL-4 - Description"}
    one = cell(found, row="G-EVAL-4", coefficient="spearman", aspect="fluency")
    assert (one.old, one.new) == ("0.455", "0.506") and one.difference == pytest.approx(0.051)


def test_versions_the_other_way_round():
    found = versions("geval", "geval_v1")
    assert set(found["change"]) == {"value", "only in geval"}


def test_g_eval_bartscore_is_relabelled(shared):
    found = shared.query("paper == 'geval' and row == 'BARTScore' and paper_other == 'chatgpt'")
    assert len(found) == 8
    assert set(found["cause"]) == {
        "relabelled: BARTScore of geval equals BARTScore+CNN of chatgpt in 8 cells"
    }
    assert not shared.query("row == 'ROUGE-1'")["cause"].str.contains("relabelled").any()


def test_coascore_table_3_against_12(shared):
    found = shared.query(
        "paper == 'coascore' and artefact == 'table3' and artefact_other == 'table12'"
    )
    assert len(found) == 36
    assert set(found["row"][found["cause"] != ""]) == {"BERTScore"}
    assert set(found["cause"]) == {"", "last printed digit"}


def test_coascore_baselines_of_openmeva_and_bagel(shared):
    found = shared.query("paper == 'chatgpt' and artefact_other == 'table2' and row == 'BARTScore'")
    assert set(found["dataset"]) == {"openmeva", "bagel"} and set(found["aspect"]) == {
        "overall",
        "quality",
    }
    assert set(found["cause"]) == {"other variant or subset; coascore states bart-base"}
    rouge = shared.query("dataset == 'openmeva' and row_other == 'ROUGE'")
    assert set(rouge["metric"]) == {"ROUGE-1 ~ ROUGE", "ROUGE-2 ~ ROUGE", "ROUGE-L ~ ROUGE"}


def test_shared_cells_are_of_one_level_and_largest_bounds_them(shared):
    assert (shared["difference"].abs() <= shared["largest"] + 1e-12).all()
    assert (
        not shared.query("artefact == 'table1' and paper == 'geval'")["paper_other"]
        .eq("coascore")
        .any()
    )
    assert (shared["aspect"] != "AVG").all()
    mover = shared.query("metric == 'MoverScore' and paper == 'geval' and paper_other == 'chatgpt'")
    assert len(mover) == 8 and (mover["largest"] == 0).all()


def test_captions_count_the_affected_cells():
    found = captions()
    found = found[found["paper"].isin(["geval", "geval_v1", "chatgpt", "coascore"])]
    wrong = found[found["kind"] == "contradiction"]
    assert wrong[["paper", "artefact", "cells", "of"]].values.tolist() == [
        ["geval", "table2", 80, 80],
        ["geval_v1", "table2", 80, 80],
    ]
    assert "other" not in set(found["kind"]) and (found["cells"] <= found["of"]).all()


def test_captions_keep_unknown_notes():
    table = frame(grid()).assign(note="")
    table.loc[:2, "note"] = "smudged"
    (found,) = captions(table).itertuples(index=False)
    assert (found.kind, found.statement, found.cells, found.of) == ("other", "smudged", 3, 40)


def test_planted_copied_line():
    right = grid()
    table = frame(right, both("B", [np.mean(right["C"][c]) for c in ("spearman", "kendall")]))
    assert cause(table, "B") == "copied line: printed for C"


def test_planted_copy_from_further_away():
    right = grid()
    table = frame(right, both("A", [np.mean(right["D"][c]) for c in ("spearman", "kendall")]))
    assert cause(table, "A") == "copied from further away: printed for D"


def test_planted_subset():
    right = grid()
    table = frame(right, both("C", [np.mean(right["C"][c][:3]) for c in ("spearman", "kendall")]))
    assert cause(table, "C") == (
        "fewer aspects: summeval coherence + summeval consistency + summeval fluency"
    )


def test_planted_substitution():
    right = grid()
    mixed = [np.mean([*right["B"][c][:3], right["C"][c][3]]) for c in ("spearman", "kendall")]
    table = frame(right, both("B", mixed))
    assert cause(table, "B") == "cell of a neighbour: summeval relevance of C"


def test_planted_stale_average():
    old, new = grid(), grid()
    new["B"]["spearman"][2], new["B"]["kendall"][2] = 0.402, 0.331
    kept = both("B", [np.mean(old["B"][c]) for c in ("spearman", "kendall")])
    table = pd.concat([frame(new, kept, "geval"), frame(old, paper="geval_v1")], ignore_index=True)
    assert cause(table, "B", "geval") == "not updated: mean of the cells in geval_v1"
    assert printed_averages(table).query("paper == 'geval_v1'")["consistent"].all()


def test_planted_swapped_digits_are_a_candidate_only():
    # D's mean is 0.310; 0.301 has its last digits swapped, but so many misprints pass for luck.
    found = printed_averages(frame(grid(), {("D", "spearman"): 0.301})).query("not consistent")
    (one,) = found.itertuples()
    assert one.cause.startswith("none found") and "digit of the mean" in one.candidates


def test_a_fit_of_one_coefficient_is_a_candidate_only():
    right = grid()
    table = frame(right, both("B", [np.mean(right["C"]["spearman"]), 0.199]))
    found = printed_averages(table).query("row == 'B'").set_index("coefficient")
    assert found["cause"].str.startswith("none found").all()
    assert "copied line: printed for C" in found.loc["spearman", "candidates"]
    assert "copied line" not in found.loc["kendall", "candidates"]


def test_random_errors_seldom_find_a_cause():
    rng, explained = np.random.default_rng(0), 0
    for _ in range(25):
        row = rng.choice(list(SPEARMAN))
        shift = rng.uniform(0.004, 0.05) * rng.choice([-1, 1])
        means = np.array([np.mean(grid()[row][c]) for c in ("spearman", "kendall")])
        table = frame(grid(), both(row, means + shift * means / means.max()))
        explained += not cause(table, row).startswith("none found")
    assert explained <= 2


def test_rounding_is_never_flagged():
    rng = np.random.default_rng(1)
    for _ in range(20):
        true = {
            row: {c: list(rng.uniform(-0.2, 0.7, 4)) for c in ("spearman", "kendall")}
            for row in SPEARMAN
        }
        assert printed_averages(frame(true))["consistent"].all()


@pytest.mark.parametrize(
    "average, consistent", [(0.251, True), (0.249, True), (0.252, False), (0.248, False)]
)
def test_rounding_edge(average, consistent):
    # Cells of 0.2505 may print as 0.250 and their average as 0.251: 0.001 apart, no error.
    table = frame({"A": {"spearman": [0.1, 0.2, 0.3, 0.4]}}, {("A", "spearman"): average})
    assert printed_averages(table)["consistent"].tolist() == [consistent]


def test_a_lost_cell_leaves_the_average_undecided():
    table = frame({"A": {"spearman": [0.1, 0.2, 0.3, 0.4]}})
    table.loc[0, ["printed", "value"]] = ["", np.nan]
    (found,) = printed_averages(table).itertuples()
    assert found.consistent is pd.NA and np.isnan(found.mean) and found.cause == ""


def test_shared_rows_at_another_level_are_named():
    true, other = grid(), {"A": {c: [x + 0.1 for x in v] for c, v in grid()["A"].items()}}
    table = pd.concat(
        [
            frame({"A": true["A"]}, paper="coascore", level="dataset"),
            frame({"A": true["A"]}, paper="chatgpt", level="sample"),
            frame(other, paper="chatgpt", level="dataset").assign(artefact="table4"),
        ]
    )
    found = shared_baselines(table.reset_index(drop=True))
    assert set(found["cause"]) == {
        "level dataset as sample: A of coascore equals A of chatgpt in 8 cells"
    }
