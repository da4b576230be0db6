"""What others published about a table, and the released replies themselves where a machine has them."""

import hashlib

import pytest

import nlgjudge as nj
from nlgjudge.data import fetch, registry
from nlgjudge.data.recordings import recorded_files
from nlgjudge.ledger.comparison import verdict
from nlgjudge.ledger.verdicts import of_others

CELL = ["aspect", "coefficient"]


@pytest.fixture
def published():
    """Published numbers by source."""
    table = nj.ledger.third_party("geval", "table1")
    return {source: rows.set_index(CELL)["value"] for source, rows in table.groupby("source")}


def test_a_published_average_is_the_mean_of_its_cells(published):
    # (0.571 + 0.501 + 0.506 + 0.564) / 4 = 0.5355 and (0.463 + 0.420 + 0.455 + 0.453) / 4 = 0.44775
    for source in ("benchclaw", "benchclaw, tolerant"):
        values = published[source].unstack()
        assert (values.drop("AVG").mean() - values.loc["AVG"]).abs().max() < 0.001


def test_two_recomputations_agree_where_they_read_replies_alike(published):
    one, other = published["benchclaw"], published["K010TE"]
    for aspect in ("coherence", "relevance", "fluency"):
        for coefficient in ("spearman", "kendall"):
            assert verdict(f"{one[aspect, coefficient]:.3f}", other[aspect, coefficient]) == "exact"
    assert (
        verdict(f"{one['consistency', 'spearman']:.3f}", other["consistency", "spearman"])
        == "close"
    )


def test_one_published_run_is_the_print_of_the_first_version(published):
    """Table 1 of arXiv v1: coherence 0.582, consistency 0.507, fluency 0.455, relevance 0.547."""
    table = (
        nj.published("geval_v1", "table1")
        .query("row == 'G-EVAL-4' and aspect != 'AVG'")
        .set_index(CELL)["value"]
    )
    said = published["promptflow, original prompts"]
    assert len(said) == 4 and (said - table.loc[said.index]).abs().max() == 0


def test_a_value_of_others_is_no_reproduction_even_with_the_printed_digits():
    table = nj.published("geval", "table1")
    fluency = table.query("row == 'G-EVAL-4' and aspect == 'fluency'")
    ours = fluency[["row", "dataset", "aspect", "level", "coefficient", "value"]].rename(
        columns={"value": "ours"}
    )
    rows = nj.compare(
        "geval", "table1", table, ours, evidence="third_party", notebook="geval_dossier"
    )
    assert rows["verdict"].tolist() == ["close", "close"] and of_others(rows).all()


def test_a_cell_that_a_source_gives_twice_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "paper_tables" / "third_party"
    folder.mkdir(parents=True)
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    line = "who,replies,A,d,x,sample,kendall,0.1,,there,\n"
    (folder / "geval_table1.csv").write_text(
        "source,what,row,dataset,aspect,level,coefficient,value,documents,place,note\n" + 2 * line
    )
    with pytest.raises(
        ValueError, match="geval_table1.csv repeats .'who', 'A', 'd', 'x', 'sample', 'kendall'."
    ):
        nj.ledger.third_party("geval", "table1")
    with pytest.raises(
        FileNotFoundError,
        match="nothing published by others on geval_table2; there is geval_table1",
    ):
        nj.ledger.third_party("geval", "table2")


# SHA-256 of the released files as two people had them; the registry's git blob ids verify the same files.
RELEASED = {
    "results/gpt4_coh_detailed.json": "bec62a6a8408b7f0c7a55a665d8c9a44b97eecf671bf0b4319284b192d218508",
    "results/gpt4_con_detailed.json": "e09609ab249fc6aa2e4f11b7c16d7531b7036b163c8251e54a04ce4c3efa76ed",
    "results/gpt4_flu_detailed.json": "4f08454a9ac1c3c58f6e4d067a00ed37d83d4de2206b010d8a1ba6ef18ceae7d",
    "results/gpt4_rel_detailed.json": "c222933ff5ba552bb9ec3d2b495022a89b8019cf246710988a4e49804d47585a",
}


@pytest.fixture
def released():
    """Wait for a machine that has the files."""
    if not nj.data.available("geval/gpt-4"):
        pytest.skip("G-Eval's released replies are not here: nlgjudge data fetch summeval")


def test_the_registry_names_the_released_files():
    assert {entry.path for entry in recorded_files("geval/gpt-4")} == set(RELEASED)


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("path", RELEASED)
def test_released_files_are_those_that_others_read(path):
    (entry,) = (entry for entry in registry.entries("summeval") if entry.path == path)
    assert hashlib.sha256(fetch.read(entry)).hexdigest() == RELEASED[path]


@pytest.mark.usefixtures("released")
def test_released_replies_give_what_others_computed_from_them(published):
    summaries = nj.load("summeval", "real")
    replies = nj.recording("geval/gpt-4", summaries.items)
    scores = nj.item_scores(nj.judging.responses(replies, scale=(1, 5), policy="leading_or_0"))
    frame = summaries.with_scores(nj.judging.wide({"g": scores}))
    documents = (
        nj.ledger.third_party("geval", "table1")
        .query("source == 'benchclaw'")
        .set_index(CELL)["documents"]
    )
    for aspect in summaries.aspects:
        for coefficient in ("spearman", "kendall"):
            found = nj.correlation(
                frame, f"g:{aspect}", aspect, level="sample", coefficient=coefficient
            )
            assert (
                verdict(f"{published['benchclaw'][aspect, coefficient]:.3f}", found.value)
                == "exact"
            )
            assert found.n == documents[aspect, coefficient]
