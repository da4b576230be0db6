"""A printed table is shown whole: every row and column, ours below the print, what nobody ran with its need."""

import re

import pytest

import nlgjudge as nj
from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.ledger.ledger import read
from nlgjudge.ledger.printed import KEY, tables
from nlgjudge.ledger.verdicts import VERDICTS
from nlgjudge.ledger.whole_table import SHOWN


@pytest.fixture(scope="module")
def ledger():
    return read(root() / "paper_tables" / "ledger.csv")


def rouge(sample=False):
    """ROUGE-1's Kendall cells of G-Eval's Table 1 (EMNLP, page 2515), with a value that fits one of them."""
    table = nj.published("geval", "table1")
    cells = table["row"].eq("ROUGE-1") & table["coefficient"].eq("kendall")
    return nj.compare(
        "geval",
        "table1",
        table,
        table.loc[cells, KEY].assign(ours=0.13),
        evidence="recomputed",
        notebook="somebody",
        sample=sample,
    )


def body(html):
    """Cells of the table's body by row: (class, hover, print, ours)."""
    found = {}
    for line in re.findall(r"<tr>(<th>.+?)</tr>", html):
        label = re.match(r"<th>(.*?)</th>", line).group(1)
        cells = re.findall(
            r"<td class='nj-(\w+)' title=\"(.*?)\">(.*?)<small>(.*?)</small></td>", line
        )
        if cells:
            found[label] = cells
    return found


@pytest.mark.parametrize("paper, artefact", tables())
def test_every_printed_row_and_column_is_shown(ledger, paper, artefact):
    printed = nj.published(paper, artefact)
    shown = nj.ledger.paper_table(ledger, paper, artefact, elsewhere=False)
    rows = body(shown._repr_html_())
    assert list(rows) == list(dict.fromkeys(printed["row"].str.replace("&", "&amp;")))
    texts = [text for cells in rows.values() for _, _, text, _ in cells]
    assert sorted(texts) == sorted(printed["printed"].replace("", "–"))
    of_table = ledger[(ledger["paper"] == paper) & (ledger["artefact"] == artefact)]
    assert shown.counts() == of_table["verdict"].value_counts().to_dict()


def test_a_comparison_shows_the_whole_table_and_selects_as_a_plain_frame():
    rows = rouge()
    cells = body(rows._repr_html_())
    assert len(cells) == nj.published("geval", "table1")["row"].nunique()
    consistency = cells["ROUGE-1"][3]
    assert consistency[0] == "exact" and consistency[2:] == ("0.130", "0.130 ✓")
    assert type(rows[rows["verdict"] == "exact"]).__name__ == "DataFrame"


def test_what_nobody_ran_names_its_need_on_hover_and_below():
    shown = nj.ledger.paper_table(rouge(), elsewhere=False)
    cell = body(shown._repr_html_())["GPTScore"][0]
    assert cell[0] == "not_run" and cell[3] == "–" and "GPT-3" in cell[1]
    below = shown._repr_html_().partition("</table>")[2]
    assert re.search(r"Not computed: <b>[^<]*GPTScore[^<]*</b>. Needs the GPT-3 models", below)


def test_cells_of_other_notebooks_come_from_the_ledger_and_not_beside_the_sample(ledger):
    table2 = nj.published("geval", "table2")
    cells = table2["row"].eq("ROUGE-L") & table2["aspect"].eq("coherence")
    options = {"evidence": "recomputed", "notebook": "somebody"}
    ours = table2.loc[cells, KEY].assign(ours=table2["value"])
    meteor = ledger.query(
        "paper == 'geval' and artefact == 'table2' and row == 'METEOR'"
    ).set_index(KEY)["ours"]
    assert meteor.notna().all()
    whole = nj.ledger.paper_table(nj.compare("geval", "table2", table2, ours, **options)).cells
    assert whole[whole["row"] == "METEOR"].set_index(KEY)["ours"].to_dict() == meteor.to_dict()
    sample = nj.ledger.paper_table(
        nj.compare("geval", "table2", table2, ours, sample=True, **options)
    )
    assert sample.cells.loc[sample.cells["row"] == "METEOR", "ours"].isna().all()
    assert SAMPLE_NOTICE in sample._repr_html_() and SAMPLE_NOTICE in repr(sample)


def test_the_better_evidence_of_a_cell_is_shown():
    rows = rouge()
    weaker = rows.assign(evidence="other_run", ours=0.2, verdict="differs")
    for parts in ([rows, weaker], [weaker, rows]):
        shown = nj.ledger.paper_table(parts, elsewhere=False).cells
        assert set(shown.loc[shown["row"] == "ROUGE-1", "ours"].dropna()) == {0.13}


def test_an_average_that_its_row_contradicts_is_marked_whoever_ran_it():
    """The ChatGPT study, Table 2: four cells of ROUGE-2 whose mean is 0.0395, and 0.092 as their average."""
    table = nj.published("chatgpt", "table2")
    cells = table["row"].eq("ROUGE-1") & table["aspect"].eq("coherence")
    rows = nj.compare(
        "chatgpt",
        "table2",
        table,
        table.loc[cells, KEY].assign(ours=table["value"]),
        evidence="recomputed",
        notebook="somebody",
    )
    found = nj.ledger.paper_table(rows, elsewhere=False).cells.query("verdict == 'misprint'")
    assert ("ROUGE-2", "kendall", "0.092") in set(
        found[["row", "coefficient", "published"]].itertuples(index=False, name=None)
    )
    assert (found["aspect"] == "AVG").all() and found["ours"].isna().all()


def test_every_verdict_has_a_mark_of_its_own():
    assert set(VERDICTS) <= set(SHOWN)
    marks = [SHOWN[verdict][0] for verdict in VERDICTS]
    assert len(set(marks)) == len(marks)


def test_a_table_that_nobody_ran_is_shown_with_what_it_needs():
    """CoAScore's Table 6: its rows are a model's."""
    shown = nj.ledger.paper_table(rouge(), "coascore", "table6", elsewhere=False)
    printed = nj.published("coascore", "table6")
    assert set(shown.counts()) == {"not_run"} and list(body(shown._repr_html_())) == list(
        printed["row"].unique()
    )
    assert "Needs" in shown._repr_html_().partition("</table>")[2]


def test_rows_of_several_tables_want_a_name(ledger):
    with pytest.raises(
        ValueError, match="rows are of several tables, geval table1.*name the paper"
    ):
        nj.ledger.paper_table(ledger)
    with pytest.raises(ValueError, match="no table 'geval table9'"):
        nj.ledger.paper_table(ledger, "geval", "table9")
