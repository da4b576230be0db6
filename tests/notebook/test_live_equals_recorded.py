"""The live path gives the numbers of the recorded one: a server that answers with what was recorded."""

import json

import pytest

import nlgjudge as nj
from loopback import Loopback, completion
from nlgjudge.data.recordings import recording_spec
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Tasks

RECORDING = "closer_look/geval"
ASPECTS = ("naturalness", "coherence", "engagingness", "groundedness")


def test_a_row_asked_of_a_server_of_its_replies_is_the_recorded_row(tmp_path, monkeypatch):
    """`nj.rerun` with A Closer Look's own protocol: its prompt in parts, twenty samples, Pearson and Kendall."""
    if not nj.data.available(RECORDING):
        pytest.skip(f"needs the mirror: {RECORDING}")
    chats = nj.load("topical_chat")
    row = nj.paper("closer_look").rows["auto CoT, score only"]
    items = chats.items[chats.items["doc_id"].isin(chats.items["doc_id"].unique()[:5])]
    held = nj.recording(RECORDING, items)
    by_item = held.sort_values("sample_index").groupby(["item_id", "aspect"])["text"]
    replies = {key: texts.tolist() for key, texts in by_item}
    said = {}
    for aspect in ASPECTS:
        one = nj.prompt(row.prompt.format(task="dialogue", aspect=aspect))
        for task in Tasks(items, one):
            # A response that was not recorded is answered without a rating; of equal texts the first answer counts.
            said.setdefault(
                task.text, replies.get((task.item_id, task.aspect), ["no idea"] * row.samples)
            )

    def answer(number, where, body):
        return completion(said[json.loads(body)["messages"][-1]["content"]], model="m")

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Loopback(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        judge = nj.get_judge("openai:m", store=Store(tmp_path / "replies.sqlite"))
        found = nj.rerun("closer_look", "table4", {row.row: judge}, limit=5)
        sent = [json.loads(body) for body in server.requests]
    assert len(sent) == len(said)
    assert {(one["n"], one["temperature"], one["top_p"]) for one in sent} == {(20, 1, 1)}
    read = nj.judging.responses(held, scale=recording_spec(RECORDING).scales)
    scores = chats.with_scores(nj.item_scores({row.row: read}))
    few = scores[scores["item_id"].isin(items["item_id"])]
    expected = nj.agreement(
        few, [row.row], list(ASPECTS), levels=("sample",), coefficients=("pearson", "kendall")
    )
    keys = ["aspect", "level", "coefficient"]
    assert len(found.cells) == 8 and not found.enters
    # From the released replies.
    assert found.means["difference"].tolist() == pytest.approx([0], abs=1e-12)
    both = found.cells.merge(expected, on=keys, suffixes=("", "_expected"))
    assert both["ours"].tolist() == pytest.approx(both["ours_expected"].tolist(), abs=1e-12)
    assert len(both) == 8
