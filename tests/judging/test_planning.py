"""What a run would take, against what a server then counts."""

import json

import pandas as pd
import pytest

from loopback import error
from nlgjudge.judging.batch import Batch
from nlgjudge.judging.live import Limits, Live
from nlgjudge.judging.prompts import as_prompt, prompt
from nlgjudge.judging.tasks import Task, Tasks

PRICE = (0.15, 0.60)  # of a million tokens, as small models cost
ITEMS = pd.DataFrame(
    {
        "item_id": [f"i{i}" for i in range(12)],
        "source": "The council met on Tuesday and voted for the bridge. " * 40,
        "hypothesis": [f"The council voted {i} times for the bridge." for i in range(12)],
        "references": [[]] * 12,
        "context": "",
    }
)


def counted(text, tokens):
    """A server that counts tokens: of a prompt 1.3 a word, as tokenizers of English do."""

    def answer(_, __, body):
        body = json.loads(body)
        n = body.get("n", 1)
        read = round(1.3 * len(body["messages"][0]["content"].split()))
        return {
            "model": "m",
            "choices": [{"message": {"content": text}, "finish_reason": "stop"}] * n,
            "usage": {"prompt_tokens": read, "completion_tokens": tokens * n},
        }

    return answer


def fluency(n=1, **settings):
    return Tasks(ITEMS, prompt("geval/summarization/fluency"), n=n, **settings)


@pytest.mark.parametrize("text, tokens", [("- Fluency: 3", 6), ("3", 3)])
@pytest.mark.parametrize("n", [1, 20])
def test_a_plan_of_ratings_is_within_a_factor_of_two_of_what_is_spent(
    serve, store, n, text, tokens
):
    serve(counted(text, tokens))
    live = Live("m", store, limits=Limits(price=PRICE))
    planned = live.plan(fluency(n))
    list(live.replies(fluency(n)))
    assert planned["calls"] == live.spent["calls"] == 12
    for name in ("prompt_tokens", "completion_tokens"):
        assert live.spent[name] / 2 <= planned[name] <= 2 * live.spent[name]
    assert live.cost / 2 <= planned["cost"] <= 2 * live.cost


def test_what_is_stored_says_how_long_a_reply_is(serve, store):
    serve(counted("A long thought about it. Score: 3", 80))
    live = Live("m", store)
    assert live.plan(fluency())["completion_tokens"] == 12 * 5  # nothing is known yet
    list(live.replies(Tasks(ITEMS.head(3), prompt("geval/summarization/fluency"))))
    assert live.plan(fluency())["completion_tokens"] == 9 * 80
    assert (
        live.plan(fluency(max_tokens=10))["completion_tokens"] == 12 * 10
    )  # bounded, and another request
    # Another prompt, model or wording is counted by its form.
    other = Tasks(ITEMS, prompt("geval/summarization/coherence"))
    assert live.plan(other)["completion_tokens"] == 60
    assert Live("n", store).plan(fluency())["completion_tokens"] == 60
    changed = prompt("geval/summarization/fluency")._replace(body="How fluent, 1 to 3? {{Summary}}")
    assert live.plan(Tasks(ITEMS, changed))["completion_tokens"] == 60


def test_more_stored_than_asked_for_is_nothing_to_pay(serve, store):
    serve(counted("3", 1))
    live = Live("m", store, limits=Limits(price=PRICE))
    list(live.replies(fluency(5)))
    assert live.plan(fluency(2)) == {
        "tasks": 12,
        "samples": 24,
        "cached": 24,
        "calls": 0,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cost": 0,
    }


def test_items_with_the_same_texts_are_planned_and_paid_once(serve, store):
    server = serve(counted("3", 1), delay=0.01)
    same = Tasks(ITEMS.assign(hypothesis="The same."), prompt("geval/summarization/fluency"), n=2)
    live = Live("m", store)
    assert live.plan(same)["calls"] == 1 and live.plan(same)["completion_tokens"] == 10
    assert [reply.text for reply in live.replies(same)] == ["3"] * 24
    assert len(server.requests) == 1


def test_where_the_server_takes_no_n_a_prompt_is_paid_for_each_sample(serve, store):
    plain = counted("3", 1)
    serve(
        lambda number, path, body: (
            error(400, "n must be 1", param="n")
            if "n" in json.loads(body)
            else plain(number, path, body)
        )
    )
    live = Live("m", store)
    first = live.plan(fluency(4))
    with pytest.warns(UserWarning, match="rejects n"):
        list(live.replies(Tasks(ITEMS.head(1), prompt("geval/summarization/fluency"), n=4)))
    now = live.plan(fluency(4))
    assert (first["calls"], now["calls"]) == (12, 11 * 4)
    assert now["prompt_tokens"] == pytest.approx(4 * first["prompt_tokens"] * 11 / 12, rel=0.01)


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("Rate the text from 1 to 5: {{hypothesis}}", 5),
        ("{{hypothesis}}\n\nExplain your rating in two sentences, then give it.", 150),
        ("{{hypothesis}}\n\nLet's think step by step:", 150),
    ],
)
def test_reasons_are_longer_than_a_rating(serve, store, text, tokens):
    serve(counted("3", 1))
    asked = as_prompt(text, aspect="fluency")
    # The item's own words ask for nothing.
    items = ITEMS.assign(hypothesis=ITEMS["hypothesis"] + " They explain the reasons step by step.")
    assert Live("m", store).plan(Tasks(items, asked))["completion_tokens"] == 12 * tokens


def test_texts_and_lists_of_scores(serve, store):
    serve(counted("3", 1))
    task = Task("i", "", "List them.", {}, (), "text")
    assert Live("m", store).plan([task])["completion_tokens"] == 256
    assert Live("m", store).plan([task._replace(form="json")])["completion_tokens"] == 40


def test_a_batch_is_planned_as_well(serve, store):
    server = serve(counted("3", 1))
    batch = Batch("m", store, price=(1, 2))
    live = Live("m", store, limits=Limits(price=(1, 2)))
    assert batch.plan(fluency(3)) == live.plan(fluency(3))
    list(live.replies(fluency(3)))
    assert batch.plan(fluency(3))["calls"] == 0 and len(server.requests) == 12
