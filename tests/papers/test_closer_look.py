"""A Closer Look (Chiang and Lee 2023): the printed cells from the released replies, and small files in their layout."""

import json

import numpy as np
import pytest
from scipy import stats

import nlgjudge as nj
from nlgjudge.data.recordings import available
from nlgjudge.ledger.printed import published

DIALOGUE = ["naturalness", "coherence", "engagingness", "groundedness"]
SCRIPT = nj.closer_look.UNREAD["meta_eval_summeval.py"]


@pytest.fixture(scope="module")
def chats():
    if not available(*nj.closer_look.RECORDED["topical_chat"].values()):
        pytest.skip("needs the replies of A Closer Look on Topical-Chat: the mirror or a network")
    loaded = nj.load("topical_chat")
    if loaded.is_sample:
        pytest.skip("needs Topical-Chat: the mirror or a network")
    return loaded


@pytest.fixture
def own_checkout():
    """The printed tables are read from the repository itself."""


def values(scores, rows):
    """Every coefficient at every level, by row."""
    found = nj.agreement(
        scores, rows, DIALOGUE, levels=("dataset", "sample"), coefficients=("pearson", "kendall")
    )
    return found.set_index(["judge", "aspect", "level", "coefficient"])["ours"]


def exact(ours, artefact, row, printed_row, levels):
    """Cells of a printed row that a row's replies give to the last digit; Pearson and Kendall at their levels."""
    table = published("closer_look", artefact)
    cells = table[table["row"] == printed_row]
    values = [
        ours[row, cell.aspect, levels[cell.coefficient], cell.coefficient]
        for cell in cells.itertuples()
    ]
    return int((np.abs(np.array(values) - cells["value"].to_numpy()) <= 0.0005 + 1e-9).sum())


def test_printed_rows_from_the_released_replies(chats):
    """Tables 2 and 4, as labelled; and which replies three rows of Tables 2 and 3 really print."""
    scores, counts = nj.closer_look.scored(chats, policy=SCRIPT)
    scores = values(
        scores, ["auto CoT, score only", "score only (3.1)", "rate-explain", "analyze-rate"]
    )
    over_all = {"pearson": "dataset", "kendall": "sample"}
    within = {"pearson": "sample", "kendall": "sample"}
    for row in ("auto CoT, score only", "score only (3.1)"):
        assert (
            exact(scores, "table2", row, row, over_all)
            == exact(scores, "table4", row, row, within)
            == 8
        )
    for row in ("rate-explain", "analyze-rate"):
        assert exact(scores, "table4", row, row, within) == 8
    assert exact(scores, "table2", "rate-explain", "rate-explain", over_all) == 0
    for artefact, printed, row, levels in [
        ("table2", "rate-explain", "analyze-rate", over_all),
        ("table2", "analyze-rate", "analyze-rate", within),
        ("table3", "rate-explain", "analyze-rate", over_all),
        ("table3", "score only", "auto CoT, score only", over_all),
    ]:
        assert exact(scores, artefact, row, printed, levels) == 8, (artefact, printed)
    assert (
        counts.loc["analyze-rate", "unread"].sum() == 88 and counts["items"].between(353, 360).all()
    )


def test_the_other_script_misses_what_unread_replies_decide(chats):
    scores, _ = nj.closer_look.scored(
        chats, policy=nj.closer_look.UNREAD["all_eval.py"], rows=["score only (3.1)"]
    )
    assert (
        exact(
            values(scores, ["score only (3.1)"]),
            "table4",
            "score only (3.1)",
            "score only (3.1)",
            {"pearson": "sample", "kendall": "sample"},
        )
        == 6
    )


@pytest.fixture(scope="module")
def summaries():
    return nj.load("summeval", "sample")


def test_summeval_in_upstreams_layout(summaries, tree, monkeypatch):
    """Files as results/summeval/gpt3.5_*_geval.json has them, on made summaries: means and counts by hand."""
    monkeypatch.delenv("NLGJUDGE_CACHE", raising=False)
    rows = [
        {
            "doc_id": item.doc_id,
            "system_id": item.system_id,
            "source": "made",
            "scores": {},
            "all_responses": [f"- Coherence: {1 + number % 5}", "4.9", "no idea"]
            if number
            else ["none", "", "no"],
        }
        for number, item in enumerate(summaries.items.itertuples())
    ]
    tree.add(
        "results/summeval/gpt3.5_coh_geval.json",
        json.dumps(rows).encode(),
        "summeval",
        role="recording",
    )
    scores, counts = nj.closer_look.scored(summaries, policy=SCRIPT)
    column = scores["auto CoT, score only:coherence"]
    assert column[1:].tolist() == [(1 + number % 5 + 4) / 2 for number in range(1, len(rows))]
    assert np.isnan(column[0])  # no reply was read
    assert counts.loc[("auto CoT, score only", "coherence")].tolist() == [
        len(rows),
        3 * len(rows),
        len(rows) + 2,
    ]
    zero, _ = nj.closer_look.scored(summaries, policy=nj.closer_look.UNREAD["all_eval.py"])
    assert zero["auto CoT, score only:coherence"][:2].tolist() == [0, (2 + 4 + 0) / 3]
    found = nj.agreement(scores, ["auto CoT, score only"], ["coherence"], coefficients=("pearson",))
    assert found["ours"][0] == pytest.approx(stats.pearsonr(column[1:], scores["coherence"][1:])[0])
    assert not any(name.startswith("score only") for name in scores)  # that file is not there


def test_without_replies_there_are_ratings_alone(summaries, tree):
    tree.add("results/another.json", b"[]", "summeval", role="recording")
    scores, counts = nj.closer_look.scored(summaries)
    assert len(scores) == len(summaries.items) and counts.empty
    assert not any(":" in name for name in scores)
