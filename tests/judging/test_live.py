"""The live judge against a server on the loopback interface that fails in every way servers do."""

import asyncio
import gzip
import json
import os
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from loopback import completion, error
from nlgjudge.judging.errors import JudgeError
from nlgjudge.judging.live import Limits, Live
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task, endpoint, key

SOON = {"retry-after": "0.05"}
KEY = "sk-loopback-9f2c71d40b"


def tasks(number, n=1, **settings):
    return [
        Task(f"item{i}", "coherence", f"Rate text {i}.", {}, (1, 5), "form", n, settings)
        for i in range(number)
    ]


def words(body):
    return json.loads(body)["messages"][0]["content"]


def right(_, __, body):
    """As many samples as asked for, each naming its prompt."""
    return completion([f"{words(body)} Score: 4"] * json.loads(body).get("n", 1))


def after(*faults):
    """Give the faults, one a call, then right answers."""
    return lambda number, path, body: (
        faults[number - 1] if number <= len(faults) else right(number, path, body)
    )


def texts(found):
    return [reply.text for reply in found]


GOOD = ["Rate text 0. Score: 4", "Rate text 1. Score: 4"]
PASSING = {
    "429 with Retry-After": [(*error(429, "slow down"), SOON)],
    "429 twice": [(*error(429, "slow down"), SOON)] * 2,
    "429 without Retry-After": [error(429, "slow down")],
    "500 and 502": [(*error(500, "oops"), SOON), (502, b"<html>bad gateway</html>", SOON)],
    "cut before the answer": [None],
    "cut in mid-answer": [(200, completion(["lost"]), {"cut": 40})],
    "invalid JSON": [b'{"choices": [{"mess'],
    "an HTML page": [(200, b"<html>hello</html>", {"content-type": "text/html"})],
    "not UTF-8": [b'{"choices": "\xff\xfe"}'],
    "no choices": [completion([])],
    "choices are null": [completion([]) | {"choices": None}],
    "no message": [completion([]) | {"choices": [{"index": 0}]}],
    "an error as JSON with status 200": [{"error": {"message": "overloaded"}}],
}


@pytest.mark.parametrize("faults", PASSING.values(), ids=PASSING)
def test_what_passes_is_tried_again(serve, store, faults):
    server = serve(after(*faults))
    live = Live("m", store)
    assert texts(live.replies(tasks(2))) == GOOD
    assert len(server.requests) == 2 + len(faults)
    assert live.failures == 0 and live.server.notices == []


def test_a_slow_answer_is_tried_again(serve, store):
    server = serve(after((200, completion(["late"]), {"delay": 30})))
    assert texts(Live("m", store, timeout=1).replies(tasks(2))) == GOOD
    assert len(server.requests) >= 3  # on a busy machine a prompt answer may come late too


def test_an_answer_that_comes_drop_by_drop_has_an_end(serve, store, monkeypatch):
    monkeypatch.setattr("nlgjudge.judging.server.CONNECT_SECONDS", 0.5)
    server = serve(after((200, completion(["late"]), {"drip": 0.1})))
    assert texts(Live("m", store, timeout=0.3).replies(tasks(2))) == GOOD
    assert len(server.requests) >= 3  # on a busy machine a prompt answer may come late too
    server = serve(lambda *_: (200, completion(["late"]), {"drip": 0.1}))
    with pytest.raises(JudgeError, match="no whole answer within 0.8 s, 3 times"):
        list(Live("m", store, timeout=0.3).replies(tasks(1, top_p=0.5)))


@pytest.mark.parametrize(
    "kind, answer",
    [
        ("drips", (200, completion(["late"]), {"drip": 0.1})),
        ("asks", (429, {"error": {"message": "slow down"}}, {"retry-after": "1"})),
        ("is_malformed", (200, b"{", {"delay": 0.3})),
    ],
)
def test_a_call_has_an_end_with_all_its_tries(serve, store, monkeypatch, kind, answer):
    """The patience of single tries would last for seven of them."""
    monkeypatch.setattr("nlgjudge.judging.server.CONNECT_SECONDS", 0.5)
    server = serve(
        lambda number, path, body: answer if "text 1" in words(body) else right(number, path, body)
    )
    live = Live("m", store, timeout=0.5, deadline=1.5 if answer[1] != b"{" else 0.5)
    problem = {"drips": "no whole answer within 1 s", "asks": "429 Too Many Requests"}.get(kind)
    said = (
        f"in all, with further tries; the last that failed: {problem}"
        if problem
        else "in all, with further tries"
    )
    with pytest.warns(
        UserWarning, match=f"1 of 2 items failed, with: no answer within .* s {said}"
    ):
        found = [reply.reason for reply in live.replies(tasks(2))]
    assert found == ["", "not answered"]
    assert len(server.requests) < 5


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_an_answer_has_a_largest_size(serve, store, monkeypatch, pack):
    monkeypatch.setattr("nlgjudge.judging.server.LARGEST", 50_000)
    headers = {"content-encoding": "gzip"} if pack is gzip.compress else {}

    def answer(_, __, body):
        length = 60_000 if "text 1" in words(body) else 40_000
        return 200, pack(json.dumps(completion(["Score: 4" + " " * length])).encode()), headers

    server = serve(answer)
    live = Live("m", store)
    with pytest.warns(
        UserWarning, match="1 of 3 items failed, with: the answer is larger than 0.05 MB, 3 times"
    ):
        found = list(live.replies(tasks(3)))
    assert [reply.reason for reply in found] == ["", "not answered", ""] and len(
        server.requests
    ) == 5


def test_malformed_answers_end_after_three(serve, store):
    server = serve(
        lambda number, path, body: b"{" if "text 1" in words(body) else right(number, path, body)
    )
    live = Live("m", store)
    found = list(live.replies(tasks(3)))
    assert [reply.reason for reply in found] == ["", "not answered", ""]
    assert len(server.requests) == 2 + 3 == live.server.calls and live.failures == 1


def test_replies_come_in_order_with_their_samples_and_are_asked_once(serve, store):
    server = serve(right)
    wanted = tasks(30, n=3, temperature=1)
    found = list(Live("m", store).replies(wanted))
    assert [(r.item_id, r.sample_index, r.text) for r in found] == [
        (t.item_id, i, f"{t.text} Score: 4") for t in wanted for i in range(3)
    ]
    assert {json.loads(b)["n"] for b in server.requests} == {3} and len(server.requests) == 30
    assert list(Live("m", store).replies(wanted)) == found
    assert len(server.requests) == 30


def test_more_samples_ask_only_for_the_missing(serve, store):
    server = serve(right)
    list(Live("m", store).replies(tasks(1, n=2)))
    assert len(list(Live("m", store).replies(tasks(1, n=5)))) == 5
    assert [json.loads(b)["n"] for b in server.requests] == [2, 3]


def test_one_of_twenty_samples_is_asked_one_by_one(serve, store):
    server = serve(lambda number, *_: completion([f"sample {number}"]))
    live = Live("m", store)
    with pytest.warns(UserWarning, match="one of 20 samples: the rest is asked for one by one"):
        found = list(live.replies(tasks(1, n=20)))
    assert texts(found) == [f"sample {i}" for i in range(1, 21)]
    assert [json.loads(b).get("n") for b in server.requests] == [20] + [None] * 19
    assert len(live.server.notices) == 1


def test_ten_of_twenty_samples_the_missing_are_asked_for(serve, store):
    server = serve(lambda number, *_: completion([f"{number}.{i}" for i in range(10)]))
    assert texts(Live("m", store).replies(tasks(1, n=20))) == [
        f"{c}.{i}" for c in (1, 2) for i in range(10)
    ]
    assert [json.loads(b)["n"] for b in server.requests] == [20, 10]


def test_more_choices_than_asked_for_are_left(serve, store):
    serve(lambda *_: completion(["a", "b", "c"]))
    assert texts(Live("m", store).replies(tasks(1, n=2))) == ["a", "b"]


def test_a_filtered_reply_keeps_its_reason(serve, store):
    server = serve(lambda *_: completion([None], finish="content_filter"))
    found = list(Live("m", store).replies(tasks(1)))
    assert [(r.text, r.reason) for r in found] == [("", "content_filter")]
    assert list(Live("m", store).replies(tasks(1))) == found and len(server.requests) == 1


def test_an_empty_reply_says_so(serve, store):
    serve(lambda *_: completion([""]))
    assert [(r.text, r.reason) for r in Live("m", store).replies(tasks(1))] == [("", "empty")]


def test_half_a_character_can_be_stored_and_exported(serve, store, tmp_path):
    serve(lambda *_: json.dumps(completion(["Score: 4 \ud83d", "Straße 😀 \0"])).encode())
    expected = ["Score: 4 \ufffd", "Straße 😀 \0"]
    assert texts(Live("m", store).replies(tasks(1, n=2))) == expected
    store.export(tmp_path / "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["text"] for line in lines] == expected


# Errors that end a run.


def test_an_unknown_model_ends_at_the_first_call(serve, store):
    server = serve(lambda *_: error(404, "The model does not exist", code="model_not_found"))
    with pytest.raises(
        JudgeError, match=r"no model 'gpt-0' at this endpoint \(404\): The model does not"
    ):
        list(Live("gpt-0", store).replies(tasks(50)))
    assert len(server.requests) == 1


def test_a_wrong_key_ends_at_the_first_call_and_is_not_shown(serve, store):
    server = serve(
        lambda *_: error(401, f"Incorrect API key provided: {KEY}.", code="invalid_api_key")
    )
    with pytest.raises(
        JudgeError, match=r"the key in OPENAI_API_KEY was refused \(401\)"
    ) as caught:
        list(Live("m", store).replies(tasks(50)))
    assert len(server.requests) == 1 and server.headers[0]["authorization"] == f"bearer {KEY}"
    assert KEY not in str(caught.value) and "Incorrect API key provided: [key]." in str(
        caught.value
    )


def test_a_key_without_the_right_to_a_model(serve, store):
    serve(lambda *_: error(403, "not for you"))
    with pytest.raises(JudgeError, match=r"may not use this model \(403\): not for you"):
        list(Live("m", store).replies(tasks(1)))


def test_an_empty_account(serve, store, monkeypatch):
    monkeypatch.setattr("nlgjudge.judging.server.RETRIES", 1)
    server = serve(
        lambda *_: (
            *error(
                429, "You exceeded your quota", type="insufficient_quota", code="insufficient_quota"
            ),
            SOON,
        )
    )
    with pytest.raises(JudgeError, match="no quota left: You exceeded your quota"):
        list(Live("m", store).replies(tasks(50)))
    assert len(server.requests) == 2


def test_no_key(store, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(JudgeError, match="no key: set OPENAI_API_KEY .* OPENAI_BASE_URL"):
        list(Live("m", store).replies(tasks(1)))


def test_an_error_of_one_item_does_not_stop_the_others(serve, store, monkeypatch):
    monkeypatch.setattr("nlgjudge.judging.server.RETRIES", 1)
    server = serve(
        lambda number, path, body: (
            (*error(500, "cursed"), SOON)
            if words(body).endswith("7.")
            else right(number, path, body)
        )
    )
    live = Live("m", store)
    found = list(live.replies(tasks(30)))
    missed = [i for i in range(30) if i % 10 == 7]
    assert [i for i, r in enumerate(found) if r.reason == "not answered" and not r.text] == missed
    assert sum(r.text != "" for r in found) == 27 and live.failures == 3
    assert len(server.requests) == 27 + 2 * 3


def test_twenty_failures_in_a_row_end_the_run(serve, store):
    server = serve(
        lambda number, path, body: (
            right(number, path, body) if number == 1 else error(400, "context too long")
        )
    )
    with pytest.raises(
        JudgeError, match="20 items failed in a row, the last with: context too long; "
    ):
        list(Live("m", store, concurrency=8).replies(tasks(200)))
    assert 21 <= len(server.requests) <= 21 + 8
    assert store.totals()["replies"] == 1


# What servers do not support.


@pytest.mark.parametrize(
    "wording",
    [
        {"param": "temperature", "message": "Only the default (1) value is supported."},
        {"message": "Unsupported value: 'temperature' does not support 0 with this model."},
    ],
)
def test_a_rejected_temperature_is_left_out(serve, store, wording):
    def answer(number, path, body):
        return (
            error(400, **wording)
            if "temperature" in json.loads(body)
            else right(number, path, body)
        )

    server, wanted = serve(answer), tasks(20, temperature=0, max_tokens=5)
    with pytest.warns(UserWarning, match="m: the server rejects temperature: left out"):
        found = list(Live("m", store).replies(wanted))
    assert len(server.requests) == 21 and all(r.text for r in found)
    with pytest.warns(UserWarning, match="rejects temperature"):
        assert list(Live("m", store).replies(wanted)) == found
    assert len(server.requests) == 22  # the stored replies are found after one rejection
    bare = {
        "model": "m",
        "messages": [{"role": "user", "content": "Rate text 0."}],
        "max_tokens": 5,
    }
    assert store.get(key(bare, endpoint(server.url)))[0]["text"] == GOOD[0]


def test_a_rejected_max_tokens_is_renamed(serve, store):
    def answer(number, path, body):
        return (
            error(400, "use 'max_completion_tokens'", param="max_tokens")
            if "max_tokens" in json.loads(body)
            else right(number, path, body)
        )

    server, wanted = serve(answer), tasks(3, max_tokens=5)
    with pytest.warns(UserWarning, match="rejects max_tokens: sent as max_completion_tokens"):
        found = list(Live("m", store).replies(wanted))
    assert [json.loads(b).get("max_completion_tokens") for b in server.requests] == [None, 5, 5, 5]
    with pytest.warns(UserWarning, match="rejects max_tokens"):
        assert list(Live("m", store).replies(wanted)) == found
    assert len(server.requests) == 5


def test_a_rejected_n_is_asked_one_by_one(serve, store):
    server = serve(
        lambda number, path, body: (
            error(400, "n must be 1", param="n")
            if "n" in json.loads(body)
            else right(number, path, body)
        )
    )
    with pytest.warns(UserWarning, match="the server rejects n: left out"):
        assert len(texts(Live("m", store).replies(tasks(1, n=3)))) == 3
    assert len(server.requests) == 4


def test_calls_under_way_together_may_all_be_rejected(serve, store):
    """The first item sends no temperature, so that many find out at once."""
    server = serve(
        lambda number, path, body: (
            (*error(400, "no", param="temperature"), {"delay": 0.1})
            if "temperature" in json.loads(body)
            else right(number, path, body)
        )
    )
    wanted = tasks(1) + tasks(30, temperature=0)[1:]
    live = Live("m", store, concurrency=16)
    with pytest.warns(UserWarning, match="rejects temperature"):
        found = list(live.replies(wanted))
    assert all(r.text for r in found) and live.failures == 0 and len(live.server.notices) == 1
    assert 31 <= len(server.requests) <= 30 + 16


def test_a_rejection_in_the_middle_asks_all_items_alike(serve, store):
    def answer(number, path, body):
        return (
            error(400, "no longer", param="temperature")
            if number > 10 and "temperature" in json.loads(body)
            else right(number, path, body)
        )

    server = serve(answer)
    wanted = tasks(20, temperature=0)
    with pytest.warns(UserWarning, match="rejects temperature"):
        found = list(Live("m", store, concurrency=1).replies(wanted))
    assert all(r.text for r in found)
    bare = [{k: v for k, v in t.request("m").items() if k != "temperature"} for t in wanted]
    assert all(0 in store.get(key(request, endpoint(server.url))) for request in bare)


PROBABILITIES = {
    "content": [
        {
            "token": "4",
            "logprob": -0.1,
            "top_logprobs": [{"token": "4", "logprob": -0.1}, {"token": "5", "logprob": -2.5}],
        }
    ]
}


def test_token_probabilities_are_stored(serve, store):
    server = serve(lambda *_: completion(["4"], logprobs=PROBABILITIES))
    wanted = tasks(2, logprobs=True, max_tokens=1)
    expected = [[["4", [["4", -0.1], ["5", -2.5]]]]] * 2
    assert [r.logprobs for r in Live("m", store).replies(wanted)] == expected
    assert {
        (b["logprobs"], b["top_logprobs"], "n" in b) for b in map(json.loads, server.requests)
    } == {(True, 20, False)}
    assert [r.logprobs for r in Live("m", store).replies(wanted)] == expected and len(
        server.requests
    ) == 2


@pytest.mark.parametrize(
    "given",
    [None, {"content": None}, {"content": [{"token": "4", "logprob": -0.1, "top_logprobs": None}]}],
)
@pytest.mark.parametrize("number", [1, 5])
def test_ignored_logprobs_become_twenty_samples(serve, store, given, number):
    server = serve(
        lambda _, __, body: completion(["4"] * json.loads(body).get("n", 1), logprobs=given)
    )
    wanted = tasks(number, logprobs=True, temperature=0)
    with pytest.warns(
        UserWarning, match="gives no token probabilities: scores are estimated from 20 sa"
    ):
        found = list(Live("m", store).replies(wanted))
    assert len(found) == 20 * number and {r.text for r in found} == {"4"}
    bodies = [json.loads(b) for b in server.requests]
    assert [(b.get("n"), b["temperature"], "logprobs" in b) for b in bodies] == [
        (None, 0, True)
    ] + [(20, 1, False)] * number
    with pytest.warns(UserWarning, match="gives no token probabilities"):
        assert list(Live("m", store).replies(wanted)) == found
    assert len(server.requests) == number + 2


def test_rejected_logprobs_become_twenty_samples(serve, store):
    serve(
        lambda number, path, body: (
            error(400, "no", param="top_logprobs")
            if "logprobs" in json.loads(body)
            else right(number, path, body)
        )
    )
    with pytest.warns(
        UserWarning, match="rejects logprobs: scores are estimated from 20 samples at temper"
    ):
        assert len(list(Live("m", store).replies(tasks(2, logprobs=True)))) == 40


def test_a_filtered_reply_does_not_stand_for_missing_logprobs(serve, store):
    serve(
        lambda number, *_: (
            completion([None], finish="content_filter")
            if number == 1
            else completion(["4"], logprobs=PROBABILITIES)
        )
    )
    live = Live("m", store)
    assert [r.reason for r in live.replies(tasks(3, logprobs=True))] == ["content_filter", "", ""]
    assert live.server.notices == []


# Limits, plan, progress.


def test_a_limit_on_calls_is_exact_and_the_next_run_goes_on(serve, store):
    server = serve(right, delay=0.01)
    with pytest.warns(
        UserWarning, match="stopped before the end: the limit of 25 calls was reached; what"
    ):
        found = list(Live("m", store, limits=Limits(calls=25), concurrency=16).replies(tasks(60)))
    assert len(server.requests) == 25 == sum(r.text != "" for r in found) and len(found) == 60
    assert all(r.text for r in Live("m", store).replies(tasks(60)))
    assert len(server.requests) == 60


def test_a_limit_on_calls_counts_malformed_answers(serve, store):
    server = serve(lambda *_: completion([]))
    with pytest.warns(UserWarning, match="the limit of 2 calls was reached"):
        list(Live("m", store, limits=Limits(calls=2)).replies(tasks(5)))
    assert len(server.requests) == 2


def test_a_limit_on_cost_stops_at_the_call_that_reaches_it(serve, store):
    server = serve(
        right, delay=0.01
    )  # 10 prompt and 2 completion tokens: 10 * 1 + 2 * 3 = 16 millionths
    live = Live("m", store, limits=Limits(cost=9.5 * 16e-6, price=(1, 3)), concurrency=16)
    with pytest.warns(
        UserWarning, match="before the end: the limit on cost was reached: .* of 0.000152,"
    ):
        list(live.replies(tasks(40)))
    assert len(server.requests) == 10
    assert live.cost == pytest.approx(160e-6) == store.totals()["cost"]
    assert all(r.text for r in Live("m", store).replies(tasks(40)))
    assert len(server.requests) == 40


def test_a_limit_on_cost_needs_a_price(store):
    with pytest.raises(JudgeError, match="a limit on cost needs a price"):
        Live("m", store, limits=Limits(cost=1))


@pytest.mark.parametrize("limits", [Limits(per_minute=1200), Limits(tokens_per_minute=4 * 1200)])
def test_calls_are_paced(serve, store, limits):
    """50 ms apart, by calls or by tokens (12 characters are 4 tokens): none comes before its time."""
    arrivals = []

    def answer(*call):
        arrivals.append(time.monotonic())
        return right(*call)

    serve(answer)
    wanted = [
        t._replace(text=t.text[:12].ljust(12, "!") + t.item_id[4:].rjust(3)) for t in tasks(20)
    ]
    began = time.monotonic()
    assert all(r.text for r in Live("m", store, limits=limits).replies(wanted))
    assert len(arrivals) == 20
    # Calls may be held up on the way, and then come close together, but they do not come early.
    early = [
        number for number, at in enumerate(sorted(arrivals)) if at < began + 0.05 * number - 0.01
    ]
    assert early == []


def test_a_plan_by_hand(serve, store):
    server = serve(right)
    wanted = [
        t._replace(text="x" * 39 + str(i)) for i, t in enumerate(tasks(3, n=2, max_tokens=10))
    ]
    live = Live("m", store, limits=Limits(price=(2, 8)))
    list(live.replies([wanted[0], wanted[1]._replace(n=1)]))
    # Missing: one sample of the second, two of the third; 40 // 4 + 1 = 11 prompt tokens a call, and five
    # tokens for each of three ratings.
    assert live.plan(wanted) == {
        "tasks": 3,
        "samples": 6,
        "cached": 3,
        "calls": 2,
        "prompt_tokens": 22,
        "completion_tokens": 15,
        "cost": pytest.approx((22 * 2 + 15 * 8) / 1e6),
    }
    assert Live("m", store).plan(wanted)["cost"] is None
    assert (
        Live("m", store).plan([t._replace(form="text") for t in tasks(1)])["completion_tokens"]
        == 256
    )
    assert len(server.requests) == 2


def test_the_bar_shows_calls_errors_and_cost(serve, store, capsys):
    serve(
        lambda number, path, body: (
            error(400, "no") if "text 3" in words(body) else right(number, path, body)
        )
    )
    list(Live("m", store, progress=True, limits=Limits(price=(1e6, 0))).replies(tasks(5)))
    shown = capsys.readouterr()
    assert "judging: 100%" in shown.err and "5/5" in shown.err
    assert "calls=5, cost=40.0000, errors=1" in shown.err and shown.out == ""
    list(Live("m", store).replies(tasks(3)))
    assert capsys.readouterr().err == ""


# Trouble on this side.


class FullDisk(Store):
    """Takes a hundred replies."""

    def add(self, requests, replies):
        if self.totals()["replies"] + len(replies) > 100:
            raise sqlite3.OperationalError("database or disk is full")
        super().add(requests, replies)


def test_a_full_disk_reaches_the_caller(serve, tmp_path):
    server = serve(right)
    with FullDisk(tmp_path / "replies.sqlite") as store:
        with pytest.raises(sqlite3.OperationalError, match="disk is full"):
            list(Live("m", store, concurrency=16).replies(tasks(400)))
        assert 100 - 16 <= store.totals()["replies"] <= 100
    assert len(server.requests) < 400


def test_an_error_while_tasks_are_made_reaches_the_caller(serve, store):
    def broken():
        yield from tasks(3)
        raise LookupError("no such field")

    serve(right)
    with pytest.raises(LookupError, match="no such field"):
        list(Live("m", store).replies(broken()))


def test_it_runs_where_a_loop_is_running(serve, store):
    """As in a notebook's cell."""
    serve(right)

    async def cell():
        return texts(Live("m", store).replies(tasks(2)))

    assert asyncio.run(cell()) == GOOD


def test_an_interrupt_before_the_first_call_is_no_call(serve, store, monkeypatch):
    """As in a cell that is interrupted at once: the run in another thread has not begun."""
    server = serve(right)
    run, shutdown = asyncio.run, ThreadPoolExecutor.shutdown
    seen, ended = threading.Event(), threading.Event()

    def late(coroutine):
        os.kill(os.getpid(), signal.SIGINT)
        seen.wait(600)
        try:
            return run(coroutine)
        finally:
            ended.set()

    def leave(pool, **options):
        seen.set()
        shutdown(pool, **options)

    async def cell():
        monkeypatch.setattr(asyncio, "run", late)
        monkeypatch.setattr(ThreadPoolExecutor, "shutdown", leave)
        list(Live("m", store).replies(tasks(2)))

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            asyncio.new_event_loop().run_until_complete(cell())
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.wait(600) and not server.requests


INTERRUPTED = """
import asyncio, os, signal, sys
from pathlib import Path
from nlgjudge.judging.live import Live
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
Path(sys.argv[3]).write_text(str(os.getpid()))
tasks = [Task(str(i), "a", f"Rate text {i}.", {}, (1, 5), "form") for i in range(400)]
async def cell():
    list(Live("m", Store(sys.argv[1]), concurrency=4).replies(tasks))
try:
    if sys.argv[2] == "loop":
        asyncio.new_event_loop().run_until_complete(cell())
    else:
        list(Live("m", Store(sys.argv[1]), concurrency=4).replies(tasks))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("where", ["loop", "plain"])
def test_an_interrupt_ends_a_run_and_keeps_what_is_stored(serve, commands, tmp_path, where):
    def slower(called, *call):
        """Calls behind the sixtieth take a minute, so that the run lasts until it is interrupted."""
        return 200, right(called, *call), {"delay": 0.01 if called <= 60 else 60}

    server = serve(slower)
    path = tmp_path / "replies.sqlite"
    number = tmp_path / "pid"
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(commands.run, "-c", INTERRUPTED, str(path), where, str(number))
        while len(server.requests) < 40 and not ended.done():
            time.sleep(0.01)
        os.kill(int(number.read_text()), signal.SIGINT)
        try:
            assert ended.result(600).stdout == "interrupted\n"
        finally:
            if not ended.done():
                os.kill(int(number.read_text()), signal.SIGKILL)
    with Store(path) as store:
        assert len(server.requests) - 8 <= store.totals()["replies"] <= len(server.requests) < 400
