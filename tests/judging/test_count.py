"""What a run would take, against what a server then counts."""

import json

import pandas as pd
import pytest

from loopback import error
from nlgjudge.judging.live import Live
from nlgjudge.judging.planning import Count, plan
from nlgjudge.judging.prompts import as_prompt, prompt
from nlgjudge.judging.reading import Reading
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
FLUENCY = prompt("geval/summarization/fluency")


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


@pytest.mark.parametrize("n", [1, 20])
def test_a_plan_is_within_a_factor_of_two_of_what_is_spent(serve, store, n):
    serve(counted("- Fluency: 3", 6))
    live = Live("m", store, price=PRICE)
    tasks = Tasks(ITEMS, FLUENCY, n=n)
    planned = plan(live, tasks)
    list(live.replies(tasks))
    assert planned["calls"] == live.spent["calls"] == 12
    for name in ("prompt_tokens", "completion_tokens"):
        assert live.spent[name] / 2 <= planned[name] <= 2 * live.spent[name]
    assert live.cost / 2 <= planned["cost"] <= 2 * live.cost
    again = plan(live, tasks)
    assert (again["cached"], again["calls"], again["cost"]) == (12 * n, 0, 0)


def test_a_plan_by_hand(serve, store):
    """Missing: one sample of the second, two of the third; 40 // 4 + 1 = 11 prompt tokens a call."""
    serve(counted("4", 1))
    wanted = [Task(f"i{i}", "a", "x" * 39 + str(i), {}, Reading(), 2) for i in range(3)]
    live = Live("m", store, price=(2, 8))
    list(live.replies([wanted[0], wanted[1]._replace(n=1)]))
    twice = [*wanted, wanted[2]._replace(item_id="a copy")]  # an equal request is asked once
    assert plan(live, twice) == {
        "requests": 4,
        "samples": 8,
        "cached": 5,
        "calls": 2,
        "prompt_tokens": 22,
        "completion_tokens": 15,  # five for each of three ratings
        "cost": pytest.approx((22 * 2 + 15 * 8) / 1e6),
    }
    assert plan(Live("m", store), twice)["cost"] is None


def test_what_is_stored_says_how_long_a_reply_is(serve, store):
    serve(counted("A long thought about it. Score: 3", 80))
    live = Live("m", store)
    assert plan(live, Tasks(ITEMS, FLUENCY))["completion_tokens"] == 12 * 5  # nothing is known yet
    list(live.replies(Tasks(ITEMS.head(3), FLUENCY)))
    assert plan(live, Tasks(ITEMS, FLUENCY))["completion_tokens"] == 9 * 80
    assert plan(live, Tasks(ITEMS, FLUENCY, max_tokens=10))["completion_tokens"] == 12 * 10
    other = Tasks(ITEMS, prompt("geval/summarization/coherence"))
    assert plan(live, other)["completion_tokens"] == 60
    assert plan(Live("n", store), Tasks(ITEMS, FLUENCY))["completion_tokens"] == 60


def test_where_the_server_takes_no_n_a_prompt_is_paid_for_each_sample(serve, store):
    plain = counted("3", 1)
    no = error(400, "n must be 1", param="n")
    serve(lambda *call: no if "n" in json.loads(call[2]) else plain(*call))
    live = Live("m", store)
    assert plan(live, Tasks(ITEMS, FLUENCY, n=4))["calls"] == 12
    with pytest.warns(UserWarning, match="one sample a call"):
        list(live.replies(Tasks(ITEMS.head(1), FLUENCY, n=4)))
    assert plan(live, Tasks(ITEMS, FLUENCY, n=4))["calls"] == 11 * 4


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("Rate the text from 1 to 5: {{hypothesis}}", 5),
        ("{{hypothesis}}\n\nExplain your rating in two sentences, then give it.", 150),
        ("{{hypothesis}}\n\nLet's think step by step:", 150),
    ],
)
def test_reasons_are_longer_than_a_rating(store, text, tokens):
    # The item's own words ask for nothing.
    items = ITEMS.assign(hypothesis=ITEMS["hypothesis"] + " They explain the reasons step by step.")
    tasks = Tasks(items, as_prompt(text, aspect="fluency"))
    assert plan(Live("m", store), tasks)["completion_tokens"] == 12 * tokens


def test_a_run_is_counted_and_answered_from_the_store(serve, store):
    server = serve(counted("2", 1))
    live = Live("m", store)
    list(live.replies(Tasks(ITEMS.head(3), FLUENCY)))
    walk = Count(live)
    found = list(walk.replies(Tasks(ITEMS, FLUENCY)))
    assert [reply.text for reply in found] == ["2"] * 3 + ["3"] * 9 and len(server.requests) == 3
    walk.count(Tasks(ITEMS, FLUENCY))  # the same requests once more
    assert (walk.counts["requests"], walk.counts["cached"], walk.counts["calls"]) == (24, 15, 9)
    nobody = Count()
    nobody.count(Tasks(ITEMS, FLUENCY, n=2))
    assert (nobody.counts["calls"], nobody.counts["completion_tokens"]) == (12, 12 * 2 * 5)
