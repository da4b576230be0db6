"""What to cite for cells that contradict their source: an average, a label, another row's values, and nothing."""

import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.ledger.printed import tables


def cells(paper, artefact, row):
    return nj.Table(paper, artefact).corrections().query("row == @row")


def test_an_average_that_contradicts_its_cells_is_replaced_by_their_mean():
    table = nj.published("geval", "table1").query("row == 'G-EVAL-4' and coefficient == 'spearman'")
    (found,) = cells("geval", "table1", "G-EVAL-4").query("coefficient == 'spearman'").itertuples()
    assert found.published == table.query("aspect == 'AVG'")["printed"].iloc[0]
    assert found.cite == pytest.approx(table.query("aspect != 'AVG'")["value"].mean())
    assert found.why == "the mean of its cells"


def test_a_wrong_label_keeps_the_number():
    found = cells("geval", "table2", "UniEval")
    assert (found["cite"] == found["published"].astype(float)).all() and len(found) == 10
    assert set(found["why"]) == {"the same numbers; the columns hold Spearman, Kendall"}


def test_a_row_with_the_values_of_another_row_gets_ours():
    found = cells("closer_look", "table2", "rate-explain")
    assert len(found) and (found["cite"] == found["ours"]).all()
    reason = "our values: the row prints the values of analyze-rate"
    assert found["why"].str.startswith(reason).all()


def test_every_contradicting_cell_of_the_ledger_has_a_line():
    rows = nj.ledger.committed().query("published != ''")
    own = rows["evidence"].isin(["recomputed", "released_scores", "released_responses"])
    differ = own & ~rows["verdict"].isin(["exact", "close"])
    wrong = rows[differ | (rows["verdict"] == "misprint")]
    found = pd.concat([nj.Table(*key).corrections() for key in tables()])
    assert len(found) == len(wrong) and set(found["paper"]) == set(wrong["paper"])
    assert "coascore" not in set(found["paper"])
