"""A published table with our values: every row and column, and what the missing cells need."""

from io import StringIO

import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.ledger.comparison import compare
from nlgjudge.ledger.printed import KEY, tables
from nlgjudge.ledger.verdicts import GROUPS
from nlgjudge.notebook.whole_table import LETTERS, OF_MODELS, SHOWN, paper_table, readings, tints


def rouge(value=0.13, artefact="table1", **options):
    """ROUGE-1's Kendall cells of G-Eval's Table 1 (EMNLP, page 2515), with one value."""
    table = nj.published("geval", artefact)
    cells = table["row"].eq("ROUGE-1") & table["coefficient"].eq("kendall")
    ours = table.loc[cells, KEY].assign(ours=value)
    options = {"evidence": "recomputed", "notebook": "somebody", **options}
    return compare("geval", artefact, table, ours, **options)


@pytest.mark.parametrize("paper, artefact", tables())
def test_every_published_row_and_cell_is_shown(paper, artefact):
    printed = nj.published(paper, artefact)
    ledger = nj.ledger.committed().query("paper == @paper and artefact == @artefact")
    shown = paper_table(ledger, paper, artefact)
    html = shown._repr_html_()
    assert html == paper_table(ledger, paper, artefact)._repr_html_()
    (whole,) = pd.read_html(StringIO(html.replace("<br>", " | ")))
    rows = list(printed["row"].unique())
    if whole.shape[0] > len(rows):  # on its side
        whole = whole[rows].T.reset_index()
        whole = whole.drop(columns=whole.columns[1])
    assert whole.iloc[:, 0].tolist() == rows
    cells = whole.iloc[:, 1:].to_numpy().ravel()
    texts = [text.partition(" | ")[0] for text in cells if pd.notna(text)]
    assert sorted(texts) == sorted(printed["printed"].replace("", "–"))
    counts = shown.cells["verdict"].value_counts().to_dict()
    assert counts == ledger["verdict"].value_counts().to_dict()
    for verdict in readings(shown.cells).unique():
        assert (SHOWN | OF_MODELS)[verdict][2] in repr(shown)
    for name, number in (
        ledger["group"].value_counts()[lambda sizes: sizes.index.isin(GROUPS)].items()
    ):
        assert f"{name} {number}" in repr(shown).partition("Cells: ")[2]


def test_a_cell_by_hand_and_what_the_others_need():
    table = paper_table(rouge(), "geval", "table1")
    assert 'class="data row0 col3 nj-reproduces" >0.130<br>0.130 ✓' in table._repr_html_()
    assert "0.130 | 0.130 ✓" in repr(table)
    assert "GPTScore. Needs: the GPT-3 models" in repr(table)
    qags = paper_table(rouge(artefact="table3"), "geval", "table3")._repr_html_()
    assert ">QAGS-CNN</th>" in qags and ">Spearman</th>" in qags and ">qags" not in qags


def test_cells_of_other_notebooks_come_from_the_ledger_but_not_next_to_the_sample():
    meteor = nj.ledger.committed().query("artefact == 'table2' and row == 'METEOR'")
    meteor = meteor[meteor["paper"] == "geval"].set_index(KEY)["ours"]
    rows = rouge(artefact="table1")
    sample = paper_table(rouge(sample=True), "geval", "table1")
    assert SAMPLE_NOTICE in sample._repr_html_() and SAMPLE_NOTICE in repr(sample)
    assert set(sample.cells["ours"].dropna()) == {0.13}
    cells = paper_table(rows, "geval", "table2").cells
    assert cells[cells["row"] == "METEOR"].set_index(KEY)["ours"].to_dict() == meteor.to_dict()


def test_an_average_that_its_row_contradicts_is_marked_whoever_ran_it():
    """The ChatGPT study, Table 2: four cells of ROUGE-2 whose mean is 0.0395, and 0.092 as average."""
    ledger = nj.ledger.committed()
    cells = paper_table(ledger[ledger["ours"] > 9], "chatgpt", "table2").cells
    average = cells.query("row == 'ROUGE-2' and coefficient == 'kendall' and aspect == 'AVG'")
    assert ("0.092", "misprint") in list(zip(average["published"], average["verdict"]))


def test_every_verdict_has_its_own_mark():
    assert len({mark for mark, _, _ in SHOWN.values()}) == len(SHOWN)


def test_values_of_others_have_no_tint():
    """Nor has a verdict that is neither a reproduction nor a failure; what has no value has the third tint."""
    cells = nj.ledger.committed()
    found = tints(cells)
    others = cells["evidence"].isin(LETTERS) & cells["ours"].notna()
    assert set(found[others]) == {""} and (cells.loc[others, "verdict"] == "close").any()
    own = cells["ours"].notna() & ~others
    by_verdict = found[own].groupby(cells["verdict"]).unique().str[0].to_dict()
    assert by_verdict == {
        **{"exact": "reproduces", "close": "reproduces"},
        **{"relabelled": "", "within_ci": "", "misprint": "", "not_run": "no value"},
    }
    assert set(found[cells["ours"].isna()]) == {"no value"}
    html = paper_table(
        rouge(evidence="other_run"), "geval", "table1", elsewhere=False
    )._repr_html_()
    assert "0.130 ≈ o" in html and "nj-reproduces" not in html.split("<tbody>")[1]
    assert "Green reproduces, red differs, grey is not checkable" in html
