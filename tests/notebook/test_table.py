"""A published table as one object: what is committed, what a run computes, and what a judge gives."""

import re
from functools import cache

import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.ledger.ledger import CELL, read
from nlgjudge.ledger.printed import KEY, tables
from planted_judges import People

load = cache(nj.load)


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    return tmp_path


def real(name):
    benchmark = load(name)
    if benchmark.is_sample:
        pytest.skip(f"needs the mirror: {name}")
    return benchmark


def qags(table, parts=("qags_cnn", "qags_xsum"), **how):
    """G-Eval's row of UniEval, whose predictions were released."""
    for part in map(real, parts):
        released = part.released().rename(columns={"unieval:consistency": "unieval"})
        table.fill(part, released, {"UniEval": "unieval"}, **how)
    return table


def committed(*artefacts, paper="geval"):
    return nj.ledger.committed().query("paper == @paper and artefact in @artefacts")


def test_a_table_answers_before_anything_is_computed():
    """G-Eval, Table 3 (EMNLP, page 2517): 0.611 for G-EVAL-4 and 0.575 for UniEval, Spearman, on average."""
    claim = "{G-EVAL-4, AVG, spearman} against {UniEval, AVG, spearman}"
    table = nj.Table("geval", "table3", claim=claim)
    assert table.claim == "0.611 against 0.575"
    text, html = repr(table), table._repr_html_()
    assert text.startswith("Claim: 0.611 against 0.575\n\nVerdict: 27 of 93 published cells")
    assert html.index("0.611 against") < html.index("Verdict") < html.index("<table")
    assert "which were not released (G-EVAL-3.5 and G-EVAL-4)" in table.answer
    assert "(QAGS and G-EVAL-4)" in table.answer  # averages that contradict their cells
    pd.testing.assert_frame_equal(
        table.rows[CELL + ["ours"]].query("paper == 'geval'").reset_index(drop=True),
        committed("table3")[CELL + ["ours"]].reset_index(drop=True),
    )


ASKING = ("nlgjudge.judging", "nlgjudge.notebook.reruns", "openai", "httpx", "requests", "sqlite3")
DRAWING = ("matplotlib", "nlgjudge.notebook.figures", "scipy.stats")


def test_a_committed_table_imports_nothing_that_asks_or_draws(commands):
    shown = "nj.Table('geval', 'table1')._repr_html_()"
    code = f"import sys, nlgjudge as nj; {shown}; print(*sys.modules)"
    loaded = commands.run("-c", code).stdout.split()
    assert "nlgjudge.notebook.table" in loaded
    assert not [name for name in loaded if name.startswith(ASKING + DRAWING)]


@pytest.mark.parametrize("paper, artefact", tables())
def test_every_verdict_counts_what_the_ledger_has(paper, artefact):
    cells = committed(artefact, paper=paper).query("published != '' and group != 'constant'")
    own = cells["evidence"].isin(["recomputed", "released_scores", "released_responses"])
    good = (own & cells["verdict"].isin(["exact", "close"])).sum()
    verdict = nj.Table(paper, artefact).answer
    if own.any():
        assert verdict.startswith(f"{good} of {len(cells)} published cells reproduce")
    else:
        assert verdict.startswith(f"None of {len(cells)} published cells")
    lacking = cells.loc[cells["ours"].isna() & (cells["aspect"] != "AVG"), "row"].unique()
    said = verdict.partition("Not checkable: ")[2]
    more = sum(map(int, re.findall(r"and (\d+) more", said)))
    assert sum(row in said for row in lacking) + more >= len(lacking)


def test_an_unknown_paper_table_or_cell_is_refused():
    with pytest.raises(ValueError, match="expected parts of the key .* of one published cell"):
        nj.Table("geval", "table3", claim="It has {G-EVAL-4, spearman}.")
    with pytest.raises(ValueError, match="did you mean 'geval'"):
        nj.Table("gevall", "table3")
    with pytest.raises(FileNotFoundError, match="no table geval_table9"):
        nj.Table("geval", "table9")


def test_a_run_gives_what_is_committed_in_both_versions(scratch):
    table = qags(nj.Table("geval", "table3", notebook="geval_table3_qags"))
    rows = table.rows
    assert rows["paper"].value_counts().to_dict() == {"geval": 9, "geval_v1": 9}
    assert set(rows["verdict"]) == {"exact", "close"} and table.differences.empty
    assert table.check == "18 cells computed; all equal the committed ledger"
    table.figure()
    assert table.write() == table.check
    part = read(scratch / "ledger" / "geval_table3_qags.csv")
    both = part.merge(nj.ledger.committed(), on=list(part))
    assert len(both) == len(part) == 18  # every column is the committed one
    assert (scratch / "figures" / "geval_table3_qags.png").is_file()


def test_one_candidate_has_to_fit_a_row_on_all_datasets():
    """Of two columns each fits one half of UniEval's row. Neither explains it."""
    table = nj.Table("geval", "table3")
    for fits, part in (("first", real("qags_cnn")), ("second", real("qags_xsum"))):
        scores = part.released()[["item_id", "unieval:consistency"]]
        scores = scores.set_axis(["item_id", fits], axis=1)
        scores[{"first": "second", "second": "first"}[fits]] = range(len(scores))
        table.fill(part, scores, {"UniEval": ["first", "second"]})
    (search,) = table.variants().to_dict("records")
    assert not search["explained"] and search["exact"] == 3 and search["cells"] == 6
    assert table.rows["note"].str.startswith("no variant explains the row").all()


@pytest.mark.parametrize("better_first", [True, False])
def test_a_row_that_is_filled_twice_keeps_the_better_evidence(better_first):
    part, table = real("qags_cnn"), nj.Table("geval", "table3")
    wrong = part.items[["item_id"]].assign(other=range(len(part.items)))
    if better_first:
        qags(table, ["qags_cnn"])
    table.fill(part, wrong, {"UniEval": "other"}, "other_run", variant="other")
    qags(table, ["qags_cnn"])
    assert set(table.rows["evidence"]) == {"released_scores"}
    assert set(table.rows["verdict"]) == {"exact"}


def test_the_note_of_another_run_says_how_far_it_is():
    part = real("qags_cnn")
    scores = part.released().rename(columns={"unieval:consistency": "run"})
    table = nj.Table("geval", "table3")
    note = "of somebody, {mean} away in {cells} cells, {largest} at most"
    table.fill(part, scores, {"CTC": "run"}, "other_run", variant="theirs", note=note)
    cells = table.rows.query("paper == 'geval'")
    away = cells["difference"].abs()
    expected = f"of somebody, {away.mean():.3f} away in 3 cells, {away.max():.3f} at most"
    assert set(cells["note"]) == {expected} and set(cells["variant"]) == {"theirs"}
    assert "exact" not in set(cells["verdict"])  # another run confirms nothing


def test_tables_that_share_cells_are_filled_together():
    """CoAScore's Table 3 has the Spearman cells of Table 12, and their averages."""
    summaries = real("summeval")
    first = summaries.items.assign(references=summaries.items["references"].str[:1])
    rouge = nj.metrics.rouge(first, stemmer="none", split="whole")[["item_id", "rougeL-f"]]
    table = nj.Table("coascore", ["table3", "table12"], notebook="coascore_table3_table12_summeval")
    table.fill(summaries, rouge, {"ROUGE": "rougeL-f"}, "recomputed")
    cells = {name: rows.set_index(KEY) for name, rows in table.rows.groupby("artefact")}
    assert {name: len(rows) for name, rows in cells.items()} == {"table12": 12, "table3": 5}
    shared = cells["table3"].index.intersection(cells["table12"].index)
    assert len(shared) == 4
    assert cells["table3"]["ours"][shared].equals(cells["table12"]["ours"][shared])
    average = cells["table3"].query("aspect == 'AVG'").iloc[0]
    assert average["ours"] == pytest.approx(cells["table3"]["ours"][shared].mean())
    assert average["ci_low"] < average["ours"] < average["ci_high"]
    assert table.differences.empty
    assert table["table12"].cells["ours"].notna().sum() > table.cells["ours"].notna().sum()


def test_the_sample_is_never_compared(scratch):
    part = nj.load("qags_cnn", "sample")
    table = nj.Table("geval", "table3", notebook="geval_table3_qags")
    rouge = nj.metrics.over_references(nj.metrics.rouge(part.items), "first")
    table.fill(part, rouge, {"ROUGE-2": ["rouge2-f", "rouge2-r"]}, "recomputed")
    assert table.answer == f"none, {SAMPLE_NOTICE}."
    assert SAMPLE_NOTICE in table._repr_html_() and table.check.startswith("sample data")
    table.write()
    part = read(scratch / "sample" / "ledger" / "geval_table3_qags.csv")
    assert part["ours"].isna().all() and set(part["verdict"]) == {"not_run"}


def test_cells_by_rules_of_their_own_and_notes():
    table = nj.Table("closer_look", ["table2", "table3"], notebook="somebody")
    rows = nj.published("closer_look", "table2").query("row == 'free text'")
    cells = rows[KEY].assign(ours=rows["value"], variant="as printed")
    other = cells.assign(row="no such row")
    table.put("table2", pd.concat([cells, other]), "released_responses")
    table.add_note("seen twice", aspect="coherence")
    assert set(table.rows["row"]) == {"free text"} and set(table.rows["verdict"]) == {"exact"}
    notes = table.rows.set_index("aspect")["note"]
    assert set(notes[["coherence"]]) == {"seen twice"} and set(notes.drop("coherence")) == {""}
    with pytest.raises(ValueError, match="no table of this notebook 'table4'"):
        table.put("table4", cells, "released_responses")


def test_a_judges_rehearsal_is_shown_and_not_drawn_or_written(scratch):
    """A judge that knows people's ratings agrees with them fully; its value is at the place of its row."""
    judge = People([real("qags_cnn"), real("qags_xsum")])
    table = nj.Table("geval", "table3", notebook="geval_table3_qags")
    assert table.rerun("", source="real")["calls"].tolist() == [474, 474]
    assert table.rerun_answer == "" and table.cells.equals(nj.Table("geval", "table3").cells)
    shown = table.rerun({"G-EVAL-4": judge}, limit=40)
    assert shown is table
    html = table._repr_html_()
    assert "QAGS-CNN and QAGS-XSum: people in the place of G-EVAL-4 reaches" in html
    assert html.index("Your judge") < html.index("<table")
    cells = table.cells.set_index(["row", "dataset", "coefficient"])["ours"]
    assert cells["G-EVAL-4", "qags_xsum", "spearman"] == pytest.approx(1)  # yes or no, as people
    assert cells["UniEval", "qags_cnn", "spearman"] == pytest.approx(0.662, abs=5e-4)  # Table 3
    assert "a rehearsal on the first 40 documents" in table.rerun_answer
    assert table.rows.equals(nj.Table("geval", "table3").rows)  # a rehearsal enters nothing
    drawn = len(nj.Table("geval", "table3").figure().axes[0].collections)
    assert len(qags(table).figure().axes[0].collections) == drawn
    assert table.write() == "18 cells computed; all equal the committed ledger"
    assert set(read(scratch / "ledger" / "geval_table3_qags.csv")["row"]) == {"UniEval"}


def test_nothing_is_written_where_nothing_was_computed(scratch):
    table = nj.Table("coascore", ["table5", "table6"], notebook="coascore_table5_table6_ablations")
    assert table.write() == "no cell computed here: the table is the committed one"
    assert not (scratch / "ledger").exists()
    table.rerun({"LLMScore": People([real("topical_chat")])})
    assert table.reran.enters and set(table.rows["evidence"]) == {"rejudged"}
