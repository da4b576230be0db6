"""Published averages that contradict their own rows."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.ledger import ledger
from nlgjudge.ledger.average_audit import MISPRINT, printed_averages
from nlgjudge.ledger.comparison import compare
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.ledger.verdicts import OF_OTHERS, was_run

# By paper and table: how many published averages are not the mean of their cells.
WRONG = {
    ("geval", "table1"): 10,
    ("geval", "table3"): 3,
    ("geval_v1", "table1"): 4,
    ("geval_v1", "table3"): 3,
    ("chatgpt", "table2"): 1,
}


def test_every_published_average_is_checked():
    found = printed_averages(published())
    wrong = found[~found["consistent"]]
    assert wrong.groupby(["paper", "artefact"]).size().to_dict() == WRONG


@pytest.mark.parametrize(
    "paper, artefact, row, coefficient, printed, mean",
    [
        # (0.582 + 0.507 + 0.506 + 0.547) / 4, (0.545 + 0.175) / 2
        ("geval", "table1", "G-EVAL-4", "spearman", "0.514", 0.5355),
        ("geval", "table3", "QAGS", "pearson", "0.375", 0.36),
        ("chatgpt", "table2", "ROUGE-2", "kendall", "0.092", 0.0395),
    ],
)
def test_wrong_averages_by_hand(paper, artefact, row, coefficient, printed, mean):
    found = printed_averages(published(paper, artefact)).query("not consistent")
    (one,) = found.query("row == @row and coefficient == @coefficient").itertuples()
    assert one.printed == printed and one.mean == pytest.approx(mean)
    assert one.difference == pytest.approx(float(printed) - mean)


def table(average, *cells):
    """A row A with the average and cells as published texts."""
    found = pd.DataFrame({"aspect": ["AVG", *range(len(cells))], "printed": [average, *cells]})
    found = found.assign(row="A", dataset="bagel", level="sample", coefficient="kendall")
    return found.assign(value=pd.to_numeric(found["printed"]))


@pytest.mark.parametrize(
    "average, cells, consistent",
    [
        ("0.251", ["0.100", "0.400"], True),  # 0.001 from the mean: half a unit for each rounding
        ("0.249", ["0.100", "0.400"], True),
        ("0.252", ["0.100", "0.400"], False),
        ("0.2", ["0.1", "0.1"], True),  # one digit leaves 0.05 + 0.05
        ("0.102", ["0.1", "0.1"], True),
        ("0.2", ["0.100", "0.100"], False),
        ("0.2", ["0.1", ""], pd.NA),  # a cell is missing
    ],
)
def test_rounding_is_allowed_by_the_digits_published(average, cells, consistent):
    assert printed_averages(table(average, *cells))["consistent"].tolist() == [consistent]


def test_the_ledger_marks_each_as_a_misprint_though_nobody_ran_it():
    rows = ledger.merge([])
    found = rows[rows["verdict"] == MISPRINT]
    assert found.groupby(["paper", "artefact"]).size().to_dict() == WRONG
    assert set(found["aspect"]) == {"AVG"} and not was_run(found).any()
    (note,) = found.query("row == 'G-EVAL-4 - CoT' and coefficient == 'kendall'")["note"]
    assert note.startswith("the printed cells of the row average to 0.4313, not 0.407: no rounding")


def rouge_2(ours_minus_published, judge="", **options):
    """The average of our values for ROUGE-2 in the ChatGPT study's Table 2, compared."""
    printed = published("chatgpt", "table2").query("row == 'ROUGE-2' and coefficient == 'kendall'")
    ours = printed.query("aspect != 'AVG'")[[*KEY, "value"]].rename(columns={"value": "ours"})
    ours = ours.assign(ours=ours["ours"] + ours_minus_published, judge=judge)
    options = {"evidence": "recomputed", "notebook": "test"} | options
    rows = compare("chatgpt", "table2", published("chatgpt", "table2"), ours, **options)
    return rows.query("aspect == 'AVG'").iloc[0]


def test_an_average_that_our_values_reproduce_is_no_misprint():
    assert rouge_2(0).verdict == MISPRINT and np.isclose(rouge_2(0).ours, 0.0395)
    assert rouge_2(0.092 - 0.0395).verdict == "exact"
    for evidence in OF_OTHERS:
        average = rouge_2(0.092 - 0.0395, evidence=evidence, judge="gpt-4o")
        assert (average.verdict, average.evidence) == (MISPRINT, evidence)
    assert rouge_2(0, sample=True).verdict == "not_run"
