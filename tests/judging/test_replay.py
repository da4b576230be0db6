"""Recorded replies: the same answers without a network, and a loud miss."""

import socket

import pandas as pd
import pytest

from nlgjudge.data.recordings import RecordingSpec
from nlgjudge.judging.prompts import as_prompt, prompt
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.replay import Replay
from nlgjudge.judging.run import judge_items
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task, Tasks, endpoint, key

ITEMS = pd.DataFrame(
    {
        "item_id": ["d/a", "d/b"],
        "source": "A dog barks.",
        "hypothesis": ["Dog.", "Cat."],
        "references": [[], []],
        "context": "",
    }
)
RECORDING = pd.DataFrame(
    [
        ("d/a", "fluency", 0, "4"),
        ("d/a", "fluency", 1, "5"),
        ("d/a", "relevance", 0, "2"),
        ("d/b", "fluency", 0, ""),
    ],
    columns=["item_id", "aspect", "sample_index", "text"],
)
LOGPROBS = [["4", [["4", -0.25], ["5", -1.5]]]]


def task(item_id, aspect="fluency", n=1):
    return Task(item_id, aspect, "", {}, Reading(), n)  # of a recording without a known prompt


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
        ("d/a", "fluency", 0, "4", ""),
        ("d/a", "fluency", 1, "5", ""),
        ("d/a", "relevance", 0, "2", ""),
    ]


@pytest.mark.parametrize(
    "missed, message",
    [
        (task("d/c"), "replay:mine has no sample 0 of fluency for d/c; ask for fewer items or"),
        (task("d/a", n=3), "has no sample 2 of fluency for d/a"),
    ],
)
def test_a_miss_is_loud_unless_it_is_to_be_kept(missed, message):
    asked = [task("d/a"), missed]
    with pytest.raises(LookupError, match=message):
        list(Replay(RECORDING, "mine").replies(asked))
    kept = list(Replay(RECORDING, "mine", missing="keep").replies(asked))[1:]
    assert len(kept) == missed.n
    assert (kept[-1].text, kept[-1].reason) == ("", "not recorded")
    assert [r.reason for r in kept[:-1]] == [""] * (missed.n - 1)


@pytest.mark.parametrize("missing", ["error", "keep"])
def test_where_not_one_item_is_recorded_nothing_is_answered(missing):
    judge = Replay(RECORDING, "mine", missing=missing)
    message = "replay:mine holds .*; none of the items asked for is recorded .* as 'd/x'"
    with pytest.raises(LookupError, match=message):
        list(judge.replies([task("d/x"), task("d/y")]))


FLUENCY = prompt("geval/summarization/fluency")
HELD = RecordingSpec(
    "a benchmark",
    "",
    "gpt-x",
    "geval/summarization/{aspect}",
    {"temperature": 1, "top_p": 1},
    2,
    {"fluency": (1, 5), "relevance": (1, 5)},
    "the rest is not known",
)
TEXTS = {
    row.item_id: {"source": row.source, "hypothesis": row.hypothesis, "context": row.context}
    for row in ITEMS.itertuples()
}


def known(**options):
    return Replay(RECORDING, "mine", held=HELD, texts=TEXTS, missing="keep", **options)


def test_what_was_recorded_is_answered():
    for settings in ({}, {"temperature": 1}, {"temperature": 1.0, "top_p": 1}):
        found = list(known().replies(Tasks(ITEMS, FLUENCY, n=2, **settings)))
        assert [r.text for r in found] == ["4", "5", "", ""]
    assert known().prompt("fluency") == FLUENCY


OTHER_WORDS = FLUENCY._replace(body=FLUENCY.body.replace("one", "a single"))
OTHER_PROMPT = "asked was prompt geval/summarization{}/fluency .*: ask geval/summarization/fluency"


@pytest.mark.parametrize(
    "asked, changes, options, message",
    [
        ("geval/summarization_no_steps/fluency", {}, {}, OTHER_PROMPT.format("_no_steps")),
        (OTHER_WORDS, {}, {}, OTHER_PROMPT.format("")),
        (FLUENCY._replace(body=""), {}, {}, "asked was no prompt: ask geval/summarization/fluency"),
        (FLUENCY._replace(scale=(1, 10)), {}, {}, r"a scale of \[1, 10\] for fluency: take \[1, 5"),
        (FLUENCY, {}, {"temperature": 0}, "asked was temperature=0: leave temperature out"),
        (FLUENCY, {}, {"max_tokens": 5}, "asked was max_tokens=5"),  # not known
        (FLUENCY, {}, {"logprobs": True}, "asked was logprobs=True"),
        (FLUENCY, {}, {"n": 3}, "asked was 3 replies: ask for at most 2"),
        (FLUENCY, {"hypothesis": "Dgo."}, {}, "asked was another hypothesis of d/a than"),
        ("geval/summarization/coherence", {}, {}, "'coherence': did you mean 'relevance'"),
    ],
)
def test_a_recording_refuses_what_it_was_not_asked(asked, changes, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        list(known().replies(Tasks(ITEMS.assign(**changes), as_prompt(asked), **options)))
    said = str(caught.value)
    assert "\n" not in said and said.startswith("replay:mine")
    holds = (
        "2 replies an item of gpt-x to geval/summarization/{aspect} at temperature=1, top_p=1 (the"
    )
    assert (holds in said) == ("did you mean" not in message)


def test_a_recording_whose_prompt_is_not_registered_takes_a_placeholder_alone():
    judge = Replay(RECORDING, "mine", held=HELD._replace(prompt=None, sampling={}), texts=TEXTS)
    asked = judge.prompt("fluency")
    assert (asked.name, asked.body, asked.scale) == ("not registered", "", (1, 5))
    assert [r.text for r in judge.replies(Tasks(ITEMS, asked))] == ["4", ""]
    for wrong, settings, message in (
        (FLUENCY, {}, "leave the prompt empty, take another recording"),
        (asked, {"temperature": 1}, "asked was temperature=1"),
    ):
        with pytest.raises(ValueError, match=message):
            list(judge.replies(Tasks(ITEMS, wrong, **settings)))


def test_tasks_without_a_prompt_object_are_held_to_the_same_text():
    fields = {"source": "A dog barks.", "hypothesis": "Dog.", "context": "", "reference": ""}
    right = Task("d/a", "fluency", FLUENCY.render(fields), fields, Reading())
    assert [r.text for r in known().replies(iter([right]))] == ["4"]
    for wrong in (right._replace(text="rate"), right._replace(fields={})):
        with pytest.raises(ValueError, match="asked was prompt a text of its own"):
            list(known().replies([wrong]))


@pytest.fixture
def reloaded(tmp_path):
    """A store filled as a run with a model leaves it, exported and loaded into another."""
    asked = Tasks(ITEMS, FLUENCY, n=2, temperature=1, logprobs=True)
    replies = [
        {0: {"text": "4", "logprobs": LOGPROBS}, 1: {"text": "3"}},
        {0: {"reason": "content_filter"}, 1: {"text": "2"}},
    ]
    with Store(tmp_path / "first.sqlite") as store:
        for task, given in zip(asked, replies):
            request = task.request("gpt-x")
            known = {"endpoint": endpoint(), "prompt": task.prompt, "digest": task.digest}
            store.add(key(request, endpoint()), {"request": request, **known, "reading": {}}, given)
        store.export(tmp_path / "replies.jsonl.gz")
    with Store(tmp_path / "second.sqlite") as store:
        store.load(tmp_path / "replies.jsonl.gz")
        yield store, asked


def test_a_reloaded_store_answers_the_same_requests(reloaded, offline):
    store, asked = reloaded
    judge = Replay.from_store(store, "gpt-x")
    assert judge.name == "replay:second.sqlite:gpt-x"
    assert [tuple(r) for r in judge.replies(asked)] == [
        ("d/a", "fluency", 0, "4", "", LOGPROBS),
        ("d/a", "fluency", 1, "3", "", []),
        ("d/b", "fluency", 0, "", "content_filter", []),
        ("d/b", "fluency", 1, "2", "", []),
    ]


@pytest.mark.parametrize(
    "changes",
    [{"settings": {"temperature": 0}}, {"prompt": FLUENCY._replace(body="{{Summary}} Fluent?")}],
)
@pytest.mark.parametrize("missing", ["error", "keep"])
def test_another_question_is_told_what_the_store_holds(reloaded, offline, changes, missing):
    store, asked = reloaded
    for name, value in changes.items():
        setattr(asked, name, value)
    holds = (
        rf"holds 4 of geval/summarization/fluency \({FLUENCY.digest}\) with .'logprobs': True, 't"
    )
    with pytest.raises(LookupError, match=f"replay:second.sqlite:gpt-x {holds}"):
        list(Replay.from_store(store, "gpt-x", missing=missing).replies(asked))
    with pytest.raises(ValueError, match="no model in this store 'gpt-xy': did you mean 'gpt-x'"):
        Replay.from_store(store, "gpt-xy")


def test_a_store_by_name_gives_the_scores_that_the_run_gave(reloaded, offline):
    store, asked = reloaded
    frame = judge_items(
        ITEMS, asked.prompt, f"replay:{store.path}:gpt-x", samples=2, temperature=1, logprobs=True
    )
    # The first has probabilities: (4 e^-0.25 + 5 e^-1.5) / (e^-0.25 + e^-1.5) = 4 + 1 / (1 + e^1.25)
    assert frame["score"].tolist() == pytest.approx(
        [4.222700, 3, float("nan"), 2], nan_ok=True, abs=1e-6
    )
    assert frame["reason"].tolist() == ["", "", "content_filter", ""]
