"""Others' runs beside printed rows: which run, its values, and what the notes say; recorded replies for LLMScore."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.data.published_runs import PUBLICATIONS, other_runs
from nlgjudge.data.recordings import available, recording
from nlgjudge.judging.scoring import responses
from nlgjudge.ledger import replayed_rows
from nlgjudge.ledger.metric_runs import metric_parts
from nlgjudge.ledger.model_rows import PAPERS
from nlgjudge.ledger.other_run_cells import beside_other_runs
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.papers.other_run_rows import OTHER_RUN_ROWS
from nlgjudge.stats.correlations import correlation

ORIGINAL = "Original Ground Truth"


@pytest.fixture(scope="module")
def made():
    """What was made of real data, by paper and tables: several tests look at the same, and none changes it."""
    return {}


@pytest.fixture
def beside(real, made):
    """Others' runs on real data; skip where a file cannot be had."""

    def read(paper, artefacts, *benchmarks):
        asked = (paper, *artefacts)
        if asked not in made:
            for name in benchmarks:
                left_out = other_runs(real(name)).left_out
                if left_out:
                    pytest.skip(f"needs the mirror or a network: {next(iter(left_out))}")
            made[asked] = beside_other_runs(paper, artefacts, notebook="test", resamples=0)
        return made[asked]

    return read


def test_every_entry_is_a_printed_row_of_a_metric():
    for entry in OTHER_RUN_ROWS:
        assert entry.column.split(":")[0] in PUBLICATIONS and entry.note and entry.variant
        for paper, row in entry.rows:
            parts = metric_parts(
                paper, [name for scope in PAPERS[paper].SCOPES for name in scope.artefacts]
            )
            metrics = {
                part.row.metric
                for part in parts
                if part.row.row == row and part.scope.benchmark == entry.benchmark
            }
            assert metrics == {entry.column.split(":")[1].split("-")[0]}, (paper, row)


def test_the_part_is_the_one_that_the_rows_protocol_states():
    for entry in OTHER_RUN_ROWS:
        part = entry.column.partition("-")[2]
        for paper, row in entry.rows if part else ():
            stated = {
                one.row.options["part"]
                for one in metric_parts(paper, ["table1", "table2", "table3", "table12"])
                if one.row.row == row and one.scope.benchmark == entry.benchmark
            }
            assert stated == {part}, (paper, row)


def test_values_are_the_runs_own_correlations(beside, real):
    found = beside("chatgpt", ["table1", "table4"], "summeval")
    summaries = real("summeval")
    frame = summaries.with_scores(other_runs(summaries).scores)
    cells = found.cells.set_index(KEY)["ours"]
    for level, coefficient in (("sample", "spearman"), ("dataset", "pearson")):
        for row, column in (
            ("BERTScore", "deutsch2021:bertscore-f"),
            ("MoverScore", "colombo2022:moverscore"),
        ):
            wanted = correlation(
                frame, column, "fluency", level=level, coefficient=coefficient
            ).value
            assert cells[row, "summeval", "fluency", level, coefficient] == pytest.approx(wanted)
    # A printed average is the mean of its four aspects.
    own = found.cells[
        (found.cells["row"] == "MoverScore")
        & (found.cells["artefact"] == "table1")
        & (found.cells["coefficient"] == "kendall")
    ].set_index("aspect")["ours"]
    assert own["AVG"] == pytest.approx(own.drop("AVG").mean())


def test_topical_chats_cells_are_of_the_papers_300_responses(beside, real):
    found = beside("geval", ["table2"], "topical_chat")
    chats = real("topical_chat")
    frame = chats.with_scores(other_runs(chats).scores)
    frame = frame[frame["system_id"] != ORIGINAL]
    wanted = correlation(
        frame, "colombo2022:bertscore", "groundedness", level="dataset", coefficient="pearson"
    )
    cells = found.cells[found.cells["paper"] == "geval"].set_index(KEY)
    cell = cells.loc[("BERTScore", "topical_chat", "groundedness", "dataset", "pearson")]
    assert (cell["ours"], cell["n"]) == (pytest.approx(wanted.value), 300)


@pytest.mark.parametrize(
    "paper, artefacts, benchmark, number",
    [
        ("chatgpt", ["table1", "table4"], "summeval", 60),
        ("chatgpt", ["table3"], "realsumm", 12),
        ("geval", ["table1"], "summeval", 40),
        ("geval", ["table2"], "topical_chat", 20),
        ("coascore", ["table3", "table12"], "summeval", 17),
        ("coascore", ["table4", "table13"], "topical_chat", 17),
        ("coascore", ["table2"], "topical_chat", 3),
    ],
)
def test_cells_say_whose_run_it_is_and_how_far_from_the_print(
    beside, paper, artefacts, benchmark, number
):
    found = beside(paper, artefacts, benchmark)
    cells = found.cells
    assert (
        len(cells) == number
        and set(cells["evidence"]) == {"other_run"}
        and "exact" not in set(cells["verdict"])
    )
    assert not cells["sample"].any() and found.said == ""
    assert (
        cells["variant"]
        .str.startswith(tuple(name.split()[0].rstrip(",") for name in PUBLICATIONS.values()))
        .all()
    )
    for _, part in cells[cells["published"] != ""].groupby(["paper", "artefact", "row", "dataset"]):
        single = part[part["aspect"] != "AVG"]
        away = (single["ours"] - single["published"].astype(float)).abs()
        words = f"{away.mean():.3f} away in the mean of the table's {len(away)} cells, {away.max():.3f} at most"
        assert part["note"].str.endswith(words).all()


def test_candidates_are_all_columns_of_the_metric_and_none_explains_a_row(beside):
    table = beside("chatgpt", ["table1", "table4"], "summeval").candidates
    assert table.loc[("chatgpt", "BERTScore", "summeval")].index.tolist() == [
        "deutsch2021:bertscore-p",
        "deutsch2021:bertscore-r",
        "deutsch2021:bertscore-f",
        "colombo2022:bertscore",
    ]
    assert (table["cells"] == 24).all() and (table["exact"] < table["cells"]).all()
    assert table["in the ledger"].sum() == 2 and (table["mean away"] <= table["largest"]).all()
    chosen = table[table["in the ledger"]].reset_index()["column"].tolist()
    assert chosen == ["deutsch2021:bertscore-f", "colombo2022:moverscore"]


def test_nothing_is_beside_the_sample():
    found = beside_other_runs("chatgpt", ["table1"], source="sample")
    assert len(found.cells) == 0 and len(found.candidates) == 0 and found.files == {}
    assert "nobody ran a metric on the sample" in found.said
    rows = pd.DataFrame({"ours": [1.0]})
    assert found.after(rows) is rows


def test_cells_stand_behind_those_of_the_notebook(beside):
    found = beside("coascore", ["table2"], "topical_chat")
    both = found.after(pd.DataFrame({"ours": [1.0], "row": ["BLEU"]}))
    assert both["row"].tolist() == ["BLEU", *["BERTScore"] * 3]


def test_llmscores_stand_in_is_the_first_reply_on_three_aspects(real):
    """Of twenty; understandability and overall quality were never asked for."""
    chats = real("topical_chat")
    if not available("closer_look/geval_no_auto_cot"):
        pytest.skip("needs the mirror or a network: the recorded replies")
    found = replayed_rows.replayed("gpt-3.5-turbo-0613", paper="coascore", resamples=0)
    cells = found.cells
    assert cells.groupby("artefact").size().to_dict() == {"table4": 3, "table5": 3, "table13": 9}
    assert set(cells["evidence"]) == {"substitute_judge"} and set(cells["row"]) == {"LLMScore"}
    assert set(cells["aspect"]) == {"naturalness", "interest", "context"}
    replies = recording("closer_look/geval_no_auto_cot", chats.items)
    first = replies[(replies["sample_index"] == 0) & (replies["aspect"] == "coherence")]
    scores = responses(first, scale={"coherence": (1, 3)}).set_index("item_id")["score"]
    frame = chats.human().assign(first=lambda people: people["item_id"].map(scores))
    frame = frame[frame["system_id"] != ORIGINAL]
    wanted = correlation(frame, "first", "coherence", level="dataset").value
    ours = cells[(cells["artefact"] == "table4") & (cells["aspect"] == "context")]["ours"].iloc[0]
    assert ours == pytest.approx(wanted) and np.isfinite(wanted)


def test_a_papers_and_a_tables_cells_alone(real):
    real("topical_chat")
    if not available("closer_look/geval_no_auto_cot"):
        pytest.skip("needs the mirror or a network: the recorded replies")
    found = replayed_rows.replayed(
        "gpt-3.5-turbo-0613", paper="coascore", artefacts=["table4"], resamples=0
    ).cells
    assert set(found["paper"]) == {"coascore"} and set(found["artefact"]) == {"table4"}
    printed = (
        published("coascore", "table4").query("row == 'LLMScore'").set_index("aspect")["printed"]
    )
    assert found["published"].tolist() == printed[found["aspect"]].tolist()
