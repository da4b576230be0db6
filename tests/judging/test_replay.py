"""Recorded replies: the same answers without a network, and a loud miss."""

import socket

import pandas as pd
import pytest

from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.replay import Replay, ReplayStore
from nlgjudge.judging.run import judge_items
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task, Tasks, key

ITEMS = pd.DataFrame({"item_id": ["d/a", "d/b"], "source": "A dog barks.", "hypothesis": ["Dog.", "Cat."],
                      "references": [[], []], "context": ""})
RECORDING = pd.DataFrame([("d/a", "fluency", 0, "4"), ("d/a", "fluency", 1, "5"),
                          ("d/a", "relevance", 0, "2"), ("d/b", "fluency", 0, "")],
                         columns=["item_id", "aspect", "sample_index", "text"])
LOGPROBS = [["4", [["4", -0.25], ["5", -1.5]]]]


def task(item_id, aspect="fluency", n=1):
    return Task(item_id, aspect, "rate", {}, (1, 5), "form", n)


@pytest.fixture
def offline(monkeypatch):
    """No key, no endpoint, no socket."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def refuse(*_, **__):
        raise AssertionError("a replay opened a socket")
    monkeypatch.setattr(socket, "socket", refuse)


def test_a_recording_answers_by_item_aspect_and_sample(offline):
    judge = Replay(RECORDING.sample(frac=1, random_state=0), "mine")
    assert judge.name == "replay:mine"
    found = list(judge.replies([task("d/b"), task("d/a", n=2), task("d/a", "relevance")]))
    assert [r[:5] for r in found] == [
        ("d/b", "fluency", 0, "", ""),  # recorded, though empty
        ("d/a", "fluency", 0, "4", ""), ("d/a", "fluency", 1, "5", ""), ("d/a", "relevance", 0, "2", "")]


@pytest.mark.parametrize("missed, message", [
    (task("d/c"), "replay:mine has no sample 0 of fluency for d/c; ask for fewer items or samples, or set"),
    (task("d/b", "relevance"), "has no sample 0 of relevance for d/b"),
    (task("d/a", n=3), "has no sample 2 of fluency for d/a"),
])
def test_a_miss_is_loud_unless_it_is_to_be_kept(missed, message):
    with pytest.raises(LookupError, match=message):
        list(Replay(RECORDING, "mine").replies([missed]))
    kept = list(Replay(RECORDING, "mine", missing="keep").replies([missed]))
    assert len(kept) == missed.n
    assert (kept[-1].text, kept[-1].reason) == ("", "not recorded")
    assert [r.reason for r in kept[:-1]] == [""] * (missed.n - 1)


def test_unknown_policy():
    with pytest.raises(ValueError, match="missing='drop': expected error or keep"):
        Replay(RECORDING, "mine", missing="drop")


@pytest.fixture
def reloaded(tmp_path):
    """A store filled as a run with a model leaves it, exported and loaded into another."""
    asked = Tasks(ITEMS, prompt("geval/summarization/fluency"), n=2, temperature=1, logprobs=True)
    first, second = asked
    with Store(tmp_path / "first.sqlite") as store:
        store.add({key(t.request("gpt-x")): t.request("gpt-x") for t in asked}, [
            {"key": key(first.request("gpt-x")), "sample": 0, "text": "4", "logprobs": LOGPROBS},
            {"key": key(first.request("gpt-x")), "sample": 1, "text": "3"},
            {"key": key(second.request("gpt-x")), "sample": 0, "text": "", "reason": "content_filter"},
            {"key": key(second.request("gpt-x")), "sample": 1, "text": "2"}])
        store.export(tmp_path / "replies.jsonl.gz")
    with Store(tmp_path / "second.sqlite") as store:
        store.load(tmp_path / "replies.jsonl.gz")
        yield store, asked


def test_a_reloaded_store_answers_the_same_requests(reloaded, offline):
    store, asked = reloaded
    judge = ReplayStore(store, "gpt-x")
    assert judge.name == "replay:second.sqlite:gpt-x"
    assert [tuple(r) for r in judge.replies(asked)] == [
        ("d/a", "fluency", 0, "4", "", LOGPROBS), ("d/a", "fluency", 1, "3", "", []),
        ("d/b", "fluency", 0, "", "content_filter", []), ("d/b", "fluency", 1, "2", "", [])]


@pytest.mark.parametrize("model, changes", [
    ("gpt-y", {}), ("gpt-x", {"settings": {"temperature": 0}}), ("gpt-x", {"n": 3}),
    ("gpt-x", {"prompt": prompt("geval/summarization/fluency")._replace(body="{{Summary}} Fluent?")}),
])
def test_another_model_prompt_or_setting_is_a_miss(reloaded, offline, model, changes):
    store, asked = reloaded
    for name, value in changes.items():
        setattr(asked, name, value)
    with pytest.raises(LookupError, match=f"replay:second.sqlite:{model} has no sample .* for d/a"):
        list(ReplayStore(store, model).replies(asked))
    kept = list(ReplayStore(store, model, missing="keep").replies(asked))
    assert {r.reason for r in kept if r.sample_index == asked.n - 1} == {"not recorded"}


def test_a_store_by_name_gives_the_scores_that_the_run_gave(reloaded, offline):
    store, asked = reloaded
    frame = judge_items(ITEMS, [asked.prompt], f"replay:{store.path}:gpt-x", n=2, settings=asked.settings)
    # The first has probabilities: (4 e^-0.25 + 5 e^-1.5) / (e^-0.25 + e^-1.5) = 4 + 1 / (1 + e^1.25)
    assert frame["score"].tolist() == pytest.approx([4.222700, 3, float("nan"), 2], nan_ok=True, abs=1e-6)
    assert frame["reason"].tolist() == ["", "", "content_filter", ""]
