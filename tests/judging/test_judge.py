"""What is a judge: a function of an item, an object with `replies`, a provider with an API of its own."""

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest

import nlgjudge as nj
from loopback import Loopback, completion
from nlgjudge.data.paths import root
from nlgjudge.judging.judge import adapted
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.tasks import Reply

COHERENCE = "geval/dialogue/coherence"


@pytest.fixture
def items():
    return nj.load("topical_chat", "sample").items.head(4)


def test_a_function_gets_the_texts_and_gives_a_number_or_a_reply(items):
    seen = []

    def judge(item):
        seen.append(item)
        return [Fraction(3, 2), np.float64(1.25), "- Coherence: 3", None][len(seen) - 1]

    found = nj.judge_items(items, COHERENCE, judge, system="Be strict.")
    assert found["score"].tolist() == pytest.approx([1.5, 1.25, 3, math.nan], nan_ok=True)
    assert found["reason"].tolist() == ["", "", "", "empty"]
    for item, asked in zip(seen, items.itertuples()):
        assert (item.item_id, item.aspect) == (asked.item_id, "coherence")
        assert (item.source, item.hypothesis) == (asked.source, asked.hypothesis)
        assert asked.hypothesis in item.prompt and "Evaluation Steps" in item.prompt
        sent = [{"role": "system", "content": "Be strict."}]
        assert item.messages == [*sent, {"role": "user", "content": item.prompt}]


def test_a_function_is_called_for_each_sample_and_a_number_off_the_scale_is_no_score(items):
    numbers = iter([1, 2, 3, 4] * 4)
    found = nj.judge_items(items, COHERENCE, lambda item: next(numbers), samples=4)
    assert found["score"].tolist() == pytest.approx([1, 2, 3, math.nan] * 4, nan_ok=True)
    assert set(found["reason"]) == {"", "out_of_range"}
    with pytest.raises(ValueError, match="expected a number or a reply's text for an item, got "):
        nj.judge_items(items, COHERENCE, lambda item: [3])


@pytest.mark.parametrize(
    "reading, rating",
    [
        (Reading(), 4.5),
        (Reading("stars"), 3),
        (Reading("number", (0, 100)), 66.666666667),
        (Reading("number", (-1, 1)), -0.25),
        (Reading("yes_no", (0, 1)), 1),
        (Reading("choice", options={"good": 3, "bad": 1}), 1),
        (Reading("json", aspect="fluency"), 2),
        (Reading("json", key="depth"), 5),
        (Reading(pattern=r"Points=<(\d)>"), 4),
    ],
)
def test_a_number_is_read_back(reading, rating):
    assert reading.read(reading.write(rating)) == (rating, "")


def test_a_function_reruns_a_table_and_enters_no_ledger():
    def shorter(item):
        lowest = 0 if item.aspect == "groundedness" else 1
        return lowest + (len(item.hypothesis) < 60)

    found = nj.rerun("geval", "table2", shorter, source="sample", limit=10)
    assert found.cells["ours"].notna().all() and set(found.cells["variant"].str[:7]) == {"shorter"}
    assert not found.enters and "shorter is not a language model" in found.notice


class Says:
    """An object that has `replies` alone."""

    def replies(self, tasks):
        return (Reply(task.item_id, task.aspect, 0, "3") for task in tasks)


def test_an_object_with_replies_is_a_judge_with_harmless_defaults(items):
    judge = adapted(Says())
    assert (judge.name, judge.is_model, judge.asks, judge.judges) == ("Says", False, False, [judge])
    assert nj.judge_items(items, COHERENCE, Says())["score"].tolist() == [3] * 4
    with pytest.raises(TypeError, match="no option 'price' of judge"):
        nj.get_judge(Says(), price=(1, 2))
    for wrong in (5, None):
        with pytest.raises(ValueError, match="expected a name, as openai:MODEL, a function of an"):
            nj.get_judge(wrong)


@pytest.mark.parametrize(
    "name, is_model, recorded",
    [
        ("surface", False, False),
        ("openai:surface", True, False),
        ("openai:m+surface", False, False),
        ("openai:m+openai:n", True, False),
    ],
)
def test_what_is_a_model_is_not_decided_by_a_name(name, is_model, recorded, store):
    judge = nj.get_judge(name, store=store)
    assert (judge.is_model, judge.recorded) == (is_model, recorded)


def test_a_path_is_a_store_and_a_plan_asks_nothing(items, serve, tmp_path):
    server = serve(lambda *_: completion(["3"]))
    path = tmp_path / "mine" / "replies.sqlite"
    asked = items, [COHERENCE, "geval/dialogue/naturalness"], "openai:m"
    how = {"store": path, "price": (1000, 0)}
    plan = nj.judge_items(*asked, **how, plan=True)
    assert not server.requests and plan["calls"].tolist() == [4, 4]
    assert plan["cost"].tolist() == pytest.approx((plan["prompt_tokens"] / 1000).tolist())
    nj.judge_items(*asked, **how)
    again = nj.judge_items(*asked, **how, plan=True)
    assert len(server.requests) == 8 and again["calls"].tolist() == [0, 0]
    assert again["cached"].tolist() == [4, 4]
    assert nj.judge_items(*asked[:2], "surface", plan=True)["calls"].tolist() == [0, 0]


def test_the_provider_of_the_documents_works(tmp_path, monkeypatch):
    """CONTRIBUTING's class, against an API of its own on the loopback."""
    page = (root() / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = {}
    exec(re.search(r"^```python\n(.*?)^```", page, re.M | re.S)[1], names)  # noqa: S102
    monkeypatch.setenv("PLAIN_API_KEY", "sk-plain")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def answer(number, where, body):
        text = json.loads(body)["prompt"]
        rating = len(text) % 2 if "Groundedness (0-1)" in text else 1 + len(text) % 3
        return {"answer": f"Rating: {rating}"}

    with Loopback(answer) as server:
        judge = names["Plain"]("plain-1", f"{server.url}/generate")
        found = nj.rerun("geval", "table2", judge, source="sample", limit=2, options={"samples": 1})
        asked = [json.loads(body) for body in server.requests]
    assert len(asked) == 2 * 2 * 5 * 4 and {one["model"] for one in asked} == {"plain-1"}
    assert all(headers["authorization"] == "bearer sk-plain" for headers in server.headers)
    assert found.counts["read"].sum() == len(asked)
    assert "not a language model" not in found.notice
