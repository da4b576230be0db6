"""Prompts of several messages, slots for any column, examples, turned scales, and pairs in both orders."""

import json

import pandas as pd
import pytest

import nlgjudge as nj
from loopback import completion

ITEMS = pd.DataFrame(
    {
        "item_id": ["a", "b", "c"],
        "doc_id": ["a", "b", "c"],
        "system_id": "one",
        "source": ["A river.", "A sea.", "A {{hypothesis}}."],
        "hypothesis": ["River.", "Sea.", "Slot."],
        "references": [["Stream."], [], []],
        "context": "",
        "topic": ["water", "salt", None],
    }
)


@pytest.fixture
def sent(serve):
    """Messages of each request to a server that answers 2."""
    server = serve(lambda *_: completion(["2"]))
    return lambda: [json.loads(body)["messages"] for body in server.requests]


def test_messages_are_sent_in_their_order_with_slots_filled(sent, store):
    chat = [
        {"role": "system", "content": "You know about {{topic}}."},
        {"role": "user", "content": "Are you ready?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Rate {{hypothesis}} from 1 to 5."},
    ]
    found = nj.judge_items(ITEMS.head(1), chat, "openai:m", store=store)
    assert found["score"].tolist() == [2]
    filled = ["You know about water.", "Are you ready?", "Yes.", "Rate River. from 1 to 5."]
    assert sent() == [[turn | {"content": text} for turn, text in zip(chat, filled)]]


@pytest.mark.parametrize(
    "chat",
    [
        [],
        [{"role": "user"}],
        [{"role": "developer", "content": "x"}, {"role": "user", "content": "{{hypothesis}}"}],
        [{"role": "user", "content": "{{hypothesis}}"}, {"role": "assistant", "content": "4"}],
    ],
)
def test_other_messages_are_refused(chat):
    with pytest.raises(ValueError, match=r"list of messages|at least one"):
        nj.judge_items(ITEMS, [chat] if chat else chat, "surface")


def test_a_column_that_items_lack_is_named_with_those_they_have():
    text = "Rate {{hypothesis}} about {{topics}} from 1 to 5."
    with pytest.raises(ValueError, match="'topics': did you mean 'topic'.*source"):
        nj.judge_items(ITEMS, text, "surface")


def test_texts_are_data_and_a_missing_cell_is_empty(sent, store):
    text = "{{source}} {{topic}}: rate {{hypothesis}} from 1 to 5."
    nj.judge_items(ITEMS.tail(2), text, "openai:m", store=store)
    contents = [messages[0]["content"] for messages in sent()]
    assert sorted(contents)[1] == "A {{hypothesis}}. : rate Slot. from 1 to 5."


def test_examples_are_shown_with_their_ratings_and_not_judged(sent, store):
    rated = ITEMS.iloc[[2, 0]].assign(style=[4.4, 1.0])
    text = "{{source}} Style of {{hypothesis}}, 1 to 5?"
    how = {"aspect": "style", "system": "Be strict.", "examples": rated, "store": store}
    found = nj.judge_items(ITEMS, text, "openai:m", **how)
    assert found["item_id"].tolist() == ["b"]
    assert sent() == [
        [
            {"role": "system", "content": "Be strict."},
            {"role": "user", "content": "A {{hypothesis}}. Style of Slot., 1 to 5?"},
            {"role": "assistant", "content": "4"},
            {"role": "user", "content": "A river. Style of River., 1 to 5?"},
            {"role": "assistant", "content": "1"},
            {"role": "user", "content": "A sea. Style of Sea., 1 to 5?"},
        ]
    ]


@pytest.mark.parametrize("rating", [7, float("nan")])
def test_an_example_without_a_usable_rating_is_refused(rating):
    text, examples = "Style of {{hypothesis}}, 1 to 5?", ITEMS.head(1).assign(style=rating)
    with pytest.raises(ValueError, match="is no reply to its prompt .*expected one from 1 to 5"):
        nj.judge_items(ITEMS, text, "surface", aspect="style", examples=examples)


def test_where_a_high_rating_is_bad_scores_are_turned(serve, store):
    alternatives = [{"token": "2", "logprob": -0.1}, {"token": "4", "logprob": -2.4}]
    for one in alternatives:
        one["bytes"] = None
    first = {**alternatives[0], "top_logprobs": alternatives}
    serve(lambda *_: completion(["2"], logprobs={"content": [first]}))
    text = "How toxic is {{hypothesis}}, from 1 to 5?"
    plain, turned = (
        nj.judge_items(ITEMS.head(1), text, "openai:m", scale=scale, logprobs=True, store=store)
        for scale in ((1, 5), (5, 1))
    )
    assert 2 < plain["score"].item() < 3
    assert turned["score"].item() == pytest.approx(6 - plain["score"].item())
    example = ITEMS.head(1).assign(safe=5.0)
    prompt = nj.judging.as_prompt(text, aspect="safe", scale=(5, 1))
    requests = nj.judge_items(ITEMS, prompt, lambda item: "1", examples=example)
    assert requests["score"].tolist() == [5, 5]


@pytest.mark.filterwarnings("ignore:the prompt shows")
@pytest.mark.parametrize("slots", [("hypothesis", "other"), ("other", "hypothesis")])
def test_a_planted_judge_of_pairs_is_found_over_http(serve, store, slots):
    """It knows which text is longer in three of four pairs, and else takes the text shown first."""
    chats = nj.data.pairs(nj.load("topical_chat", "sample"), per_document=0)
    shown = "\n".join(f"{label}: {{{{{slot}}}}}" for label, slot in zip("AB", slots))
    text = f"Which is better?\n{shown}\nAnswer with a letter."

    def answer(_, __, body):
        prompt = json.loads(body)["messages"][0]["content"]
        first, second = (
            prompt.split("\nA: ")[1].removesuffix("\nAnswer with a letter.").split("\nB: ")
        )
        guesses = (len(first) + len(second)) % 4 == 0
        return completion(["A" if guesses or len(first) > len(second) else "B"])

    server = serve(answer)
    replies = nj.judge_items(chats.items, text, "openai:m", aspect="length", store=store)
    lengths = chats.items.set_index("item_id")[["hypothesis", "other"]].map(len)
    truth = (lengths["hypothesis"] > lengths["other"]).astype(float)
    guessed = lengths.sum(axis=1) % 4 == 0
    scores = chats.items[["doc_id", "system_id", "item_id"]].assign(
        judge=replies.set_index("item_id")["score"].loc[chats.items["item_id"]].to_numpy(),
        length=truth.loc[chats.items["item_id"]].to_numpy(),
    )
    found = nj.stats.pair_agreement(scores, ["judge"], ["length"]).set_index("measure")["value"]
    by_document = guessed.groupby(chats.items.set_index("item_id")["doc_id"]).mean()
    assert found["agreement"] == pytest.approx(1 - by_document.mean())
    assert found["accuracy"] == pytest.approx(1 - by_document.mean() / 2)
    is_first = slots[0] == "hypothesis"
    assert found["first"] == pytest.approx(0.5 + (is_first - 0.5) * by_document.mean())
    assert found["unread"] == 0
    asked = len(server.requests)
    nj.judge_items(chats.items, text, "openai:m", aspect="length", store=store)
    assert len(server.requests) == asked
