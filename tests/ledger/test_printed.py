"""Published tables, tables without correlations, and what others published."""

import hashlib

import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data import fetch, registry
from nlgjudge.data.recordings import recording_files
from nlgjudge.ledger.comparison import verdict
from nlgjudge.ledger.printed import KEY, published, tables, third_party

CELL = ["aspect", "coefficient"]
HEADER = "row,dataset,aspect,level,coefficient,printed,note"


@pytest.fixture
def house(tmp_path, monkeypatch):
    """An empty repository; returns a function that writes a table into it."""
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))

    def write(name, *lines, header=HEADER, folder="published"):
        path = tmp_path / "paper_tables" / folder / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")

    return write


def test_values_are_numbers_and_texts_stay_texts(house):
    house("geval_table9", "NA,d,None,sample,spearman,0.100,nan", "A,d,x,sample,kendall,,a dash")
    table = published("geval", "table9")
    assert table["printed"].tolist() == ["0.100", ""] and table["note"].tolist()[0] == "nan"
    assert table["row"].tolist() == ["NA", "A"] and table["aspect"].tolist() == ["None", "x"]
    assert table["value"].fillna(9).tolist() == [0.1, 9]


def test_tables_are_in_reading_order_and_of_correlations_only(house):
    for name in ("coascore_table12", "coascore_table2", "geval_v1_table1", "geval_table3"):
        house(name, "A,d,x,sample,spearman,0.1,")
    house("dhp_table1", "A,b,c,", header="row,column,printed,note")
    names = [f"{paper} {artefact}" for paper, artefact in tables()]
    assert names == ["geval table3", "geval_v1 table1", "coascore table2", "coascore table12"]
    assert list(published().columns) == [*KEY, "printed", "note", "value", "paper", "artefact"]
    assert list(published("dhp", "table1").columns) == ["row", "column", "printed", "note"]


def test_wrong_tables_are_refused(house):
    house("geval_table1", "A,d,x,sample,spearman,0.1,", "A,d,x,sample,spearman,0.2,")
    with pytest.raises(ValueError, match="geval_table1.csv repeats .'A', 'd', 'x', 'sample', 's"):
        published("geval", "table1")
    house("geval_table2", "A,d,x,sample,spearman,0.l,")
    with pytest.raises(ValueError, match="0.l"):
        published("geval", "table2")
    with pytest.raises(FileNotFoundError, match="no table geval_table7 .*; there are geval_table1"):
        published("geval", "table7")
    line = "who,replies,A,d,x,sample,kendall,0.1,,there,"
    header = f"source,what,{','.join(KEY)},value,documents,place,note"
    house("geval_table1", line, line, header=header, folder="third_party")
    with pytest.raises(ValueError, match="geval_table1.csv repeats .'who', 'A', 'd', 'x'"):
        third_party("geval", "table1")


@pytest.fixture
def sizes(tmp_path, monkeypatch):
    """CoAScore's Table 1 (page 3) as published; the benchmark on request is not run."""
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    rows = nj.published("coascore", "table1")
    rows = rows.assign(artefact="table1", ours=rows["printed"], note="")
    rows.loc[rows["row"] == "IWSLT14", ["ours", "verdict", "note"]] = ["", "not_run", "on request"]
    return rows.drop(columns="printed")


def test_settings_are_compared_as_texts(sizes, tmp_path):
    sizes.loc[sizes["row"] == "BAGEL", ["ours", "note"]] = ["405", "one more"]
    found = nj.Table("coascore", "table1", notebook="mine").settings(sizes)
    by_row = found[found["column"] == "Size"].set_index("row")
    verdicts = by_row["verdict"].to_dict()
    same = dict.fromkeys(["SummEval", "TopicalChat", "OpenMEVA"], "same")
    assert verdicts == {**same, "BAGEL": "differs", "IWSLT14": "not_run"}
    assert by_row.loc["BAGEL", ["published", "ours"]].tolist() == ["404", "405"]
    assert pd.read_csv(tmp_path / "settings/mine.csv", keep_default_na=False).equals(found)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda t: t.iloc[1:], "expected one row for each published cell of coascore"),
        (lambda t: pd.concat([t, t.iloc[:1].assign(row="X")]), "got .*'X', 'Size', 'right_only'"),
        (lambda t: t.assign(verdict="fine"), "expected a verdict of same, within_range"),
        (lambda t: t.assign(note=""), "a note unless it is same; got .*'not_run'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(sizes, change, message):
    with pytest.raises(ValueError, match=message):
        nj.Table("coascore", "table1", notebook="mine").settings(change(sizes))


@pytest.fixture
def others():
    """Third-party numbers on G-Eval's Table 1 by source."""
    table = nj.Table("geval", "table1").third_party
    return {source: rows.set_index(CELL)["value"] for source, rows in table.groupby("source")}


def test_a_third_party_average_is_the_mean_of_its_cells(others):
    # (0.571 + 0.501 + 0.506 + 0.564) / 4 = 0.5355 and (0.463 + 0.420 + 0.455 + 0.453) / 4 = 0.44775
    for source in ("benchclaw", "benchclaw, tolerant"):
        values = others[source].unstack()
        assert (values.drop("AVG").mean() - values.loc["AVG"]).abs().max() < 0.001


def test_one_third_party_run_equals_the_first_version(others):
    """Table 1 of arXiv v1: coherence 0.582, consistency 0.507, fluency 0.455, relevance 0.547."""
    table = nj.published("geval_v1", "table1").query("row == 'G-EVAL-4' and aspect != 'AVG'")
    theirs = others["promptflow, original prompts"]
    values = table.set_index(CELL)["value"].loc[theirs.index]
    assert len(theirs) == 4 and (theirs - values).abs().max() == 0


# SHA-256 of the released files as two other projects have them.
RELEASED = {
    "results/gpt4_coh_detailed.json": "bec62a6a8408b7f0c7a55a665d8c9a44b97eecf671bf0b4319284b192d218508",
    "results/gpt4_con_detailed.json": "e09609ab249fc6aa2e4f11b7c16d7531b7036b163c8251e54a04ce4c3efa76ed",
    "results/gpt4_flu_detailed.json": "4f08454a9ac1c3c58f6e4d067a00ed37d83d4de2206b010d8a1ba6ef18ceae7d",
    "results/gpt4_rel_detailed.json": "c222933ff5ba552bb9ec3d2b495022a89b8019cf246710988a4e49804d47585a",
}


def test_released_replies_give_what_others_computed_from_them(others):
    assert {entry.path for entry in recording_files("geval/gpt-4")} == set(RELEASED)
    if not nj.data.available("geval/gpt-4"):
        pytest.skip("G-Eval's released replies are not here: nlgjudge data fetch summeval")
    for path, digest in RELEASED.items():
        (entry,) = (entry for entry in registry.entries("summeval") if entry.path == path)
        assert hashlib.sha256(fetch.read(entry)).hexdigest() == digest
    summaries = nj.load("summeval", "real")
    replies = nj.recording("geval/gpt-4", summaries.items)
    scores = nj.item_scores(nj.judging.responses(replies, scale=(1, 5), policy="leading_or_0"))
    frame = summaries.with_scores(nj.item_scores({"g": scores}))
    table = nj.Table("geval", "table1").third_party.query("source == 'benchclaw'")
    documents = table.set_index(CELL)["documents"]
    for aspect in summaries.aspects:
        for coefficient in ("spearman", "kendall"):
            found = nj.correlation(
                frame, f"g:{aspect}", aspect, level="sample", coefficient=coefficient
            )
            theirs = f"{others['benchclaw'][aspect, coefficient]:.3f}"
            assert verdict(theirs, found.value) == "exact"
            assert found.n == documents[aspect, coefficient]
