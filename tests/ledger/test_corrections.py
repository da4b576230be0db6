"""What to cite for cells that contradict their source: an average, a label, another row's values, and nothing."""

import pytest

import nlgjudge as nj


def cells(paper, **where):
    found = nj.ledger.corrections(paper)
    for name, value in where.items():
        found = found[found[name] == value]
    return found


def test_an_average_that_contradicts_its_cells_is_replaced_by_their_mean():
    table = nj.published("geval", "table1").query("row == 'G-EVAL-4' and coefficient == 'spearman'")
    mean = table.query("aspect != 'AVG'")["value"].mean()
    (found,) = cells(
        "geval", artefact="table1", row="G-EVAL-4", coefficient="spearman"
    ).itertuples()
    assert found.published == table.query("aspect == 'AVG'")["printed"].iloc[0]
    assert found.cite == pytest.approx(mean)
    assert found.why == "the mean of its cells"


def test_a_wrong_label_keeps_the_number():
    found = cells("geval", row="UniEval")
    assert (found["cite"] == found["published"].astype(float)).all() and len(found) == 10
    assert set(found["why"]) == {"the same numbers; the columns hold Spearman, Kendall"}


def test_a_row_with_the_values_of_another_row_gets_ours():
    found = cells("closer_look", artefact="table2", row="rate-explain")
    assert (found["cite"] == found["ours"]).all()
    assert (
        found["why"].str.startswith("our values: the row prints the values of analyze-rate").all()
    )


def test_a_paper_without_contradictions_and_one_without_cells_have_no_line():
    assert nj.ledger.corrections("coascore").empty
    assert nj.ledger.corrections("dhp").empty


def test_every_contradicting_cell_of_the_ledger_has_a_line():
    rows = nj.ledger.committed().query("published != ''")
    own = rows["evidence"].isin(["recomputed", "released_scores", "released_responses"])
    wrong = rows[
        (own & ~rows["verdict"].isin(["exact", "close"])) | (rows["verdict"] == "misprint")
    ]
    found = [len(nj.ledger.corrections(paper)) for paper in wrong["paper"].unique()]
    assert sum(found) == len(wrong)


def test_an_unknown_paper_is_named():
    with pytest.raises(ValueError, match="published paper"):
        nj.ledger.corrections("gevall")
