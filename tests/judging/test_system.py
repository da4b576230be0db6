"""A system message: it reaches the server first, is part of the key, and nothing changes without one."""

import json

import pandas as pd
import pytest

from loopback import completion
from nlgjudge.judging.judge import Judge
from nlgjudge.judging.live import Live
from nlgjudge.judging.planning import plan
from nlgjudge.judging.prompts import as_prompt
from nlgjudge.judging.replay import Replay
from nlgjudge.judging.run import judge_items
from nlgjudge.judging.tasks import Task, Tasks, endpoint, key

STRICT = "You are a strict critic."
BEFORE = (("system", STRICT),)
TEXT = "Rate the fluency from 1 to 5: {{hypothesis}}"
ITEMS = pd.DataFrame(
    {"item_id": ["d/a"], "source": "s", "hypothesis": "A dog.", "references": [[]], "context": "c"}
)
SENT = [
    {"role": "system", "content": STRICT},
    {"role": "user", "content": "Rate the fluency from 1 to 5: A dog."},
]


def strict(_, __, body):
    """A server that gives 1 where a system message comes first, else 4."""
    body = json.loads(body)
    roles = [message["role"] for message in body["messages"]]
    return completion(["1" if roles == ["system", "user"] else "4"] * body.get("n", 1))


def test_a_request_without_one_keeps_key_and_digest():
    """As they were before there were system messages, so that no reply is paid for again."""
    settings = {"temperature": 1, "top_p": 0.5}
    task = Task("item", "fluency", "Rate this text from 1 to 5: A café.", {}, settings=settings)
    known = "5eb49007c891646f51f94cbda27bc690fb86dd7916e75013e3aba5f76fb3344f"
    assert key(task.request("test-model"), endpoint()) == known
    assert key(task._replace(before=SENT[:1]).request("test-model"), endpoint()) != known
    plain = as_prompt(TEXT, aspect="fluency")
    assert plain.digest == "0504477be275"
    others = [plain._replace(before=BEFORE), plain._replace(body=STRICT + TEXT)]
    assert len({one.digest for one in [plain, *others]}) == 3


def test_it_arrives_first_and_is_stored_apart(serve, store):
    server = serve(strict)
    how = {"judge": Live("m", store), "samples": 2}
    for _ in range(2):
        with_message = judge_items(ITEMS, TEXT, system=STRICT, **how)
        assert with_message["score"].tolist() == [1, 1]
        assert judge_items(ITEMS, TEXT, **how)["score"].tolist() == [4, 4]
    sent = [json.loads(body)["messages"] for body in server.requests]
    assert sent == [SENT, SENT[1:]]
    replayed = judge_items(ITEMS, TEXT, Replay.from_store(store, "m"), system=STRICT)
    assert replayed["score"].tolist() == [1]


def test_a_plan_counts_its_tokens(store):
    """36 and 24 characters: 36 // 4 + 1 tokens without it, 60 // 4 + 1 with it."""
    plain = as_prompt(TEXT, aspect="fluency")
    live = Live("m", store)
    prompts = plain, plain._replace(before=BEFORE)
    assert [plan(live, Tasks(ITEMS, asked))["prompt_tokens"] for asked in prompts] == [10, 16]


def test_a_recording_and_a_wrong_type_are_refused_before_anything_is_asked():
    columns = ["item_id", "aspect", "sample_index", "text"]
    replay = Replay(pd.DataFrame([("d/a", "fluency", 0, "4")], columns=columns), "mine")
    asked = replay.prompt("fluency")
    assert judge_items(ITEMS, asked, replay)["score"].tolist() == [4]
    with pytest.raises(ValueError, match="asked was a system message: leave it out"):
        judge_items(ITEMS, asked, replay, system=STRICT)
    with pytest.raises(ValueError, match="system=3: expected the text of a system message"):
        judge_items(ITEMS, TEXT, Judge(), system=3)
