"""The live judge against a server on the loopback interface."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from loopback import Loopback, completion, error, right, words
from nlgjudge.judging.judge import Budget, JudgeError
from nlgjudge.judging.live import Live
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task

SOON = {"retry-after": "0.05"}


def tasks(number, n=1, **settings):
    return [
        Task(f"item{i}", "coherence", f"Rate text {i}.", {}, Reading(), n, settings)
        for i in range(number)
    ]


def after(*faults):
    """Give the faults, one a call, then right answers."""
    return lambda number, path, body: (
        faults[number - 1] if number <= len(faults) else right(number, path, body)
    )


def texts(found):
    return [reply.text for reply in found]


GOOD = ["Rate text 0. Score: 4", "Rate text 1. Score: 4"]
PASSING = {
    "429 with Retry-After": [(*error(429, "slow down"), SOON)] * 2,
    "502": [(502, b"<html>bad gateway</html>", SOON)],
    "cut before the answer": [None],
    "cut in mid-answer": [(200, completion(["lost"]), {"cut": 40})],
    "an HTML page": [(200, b"<html>hello</html>", {"content-type": "text/html"})],
    "choices are null": [completion([]) | {"choices": None}],
    "an error as JSON with status 200": [{"error": {"message": "overloaded"}}],
}


@pytest.mark.parametrize("faults", PASSING.values(), ids=PASSING)
def test_what_passes_is_tried_again(serve, store, faults):
    server = serve(after(*faults))
    live = Live("m", store)
    assert texts(live.replies(tasks(2))) == GOOD
    assert len(server.requests) == 2 + len(faults)
    assert live.failures == 0 and live.notices == []


def test_replies_come_in_order_with_their_samples_and_are_asked_once(serve, store):
    server = serve(right)
    wanted = tasks(30, n=3, temperature=0)
    found = list(Live("m", store).replies(wanted))
    assert [(r.item_id, r.sample_index, r.text) for r in found] == [
        (t.item_id, i, f"{t.text} Score: 4") for t in wanted for i in range(3)
    ]
    bodies = [json.loads(body) for body in server.requests]
    assert {(body["n"], body["temperature"]) for body in bodies} == {(3, 0)} and len(bodies) == 30
    assert list(Live("m", store).replies(wanted)) == found
    assert len(server.requests) == 30
    more = list(Live("m", store).replies([t._replace(n=5) for t in wanted[:1]]))
    assert len(more) == 5 and json.loads(server.requests[30])["n"] == 2  # the missing ones alone


@pytest.mark.parametrize("given, asked", [(1, [20] + [None] * 19), (10, [20, 10])])
def test_fewer_samples_than_asked_for_are_completed(serve, store, given, asked):
    """A server that gives one of twenty ignores `n`; the rest is asked for one by one."""
    server = serve(lambda number, *_: completion([f"{number}.{i}" for i in range(given)]))
    live = Live("m", store)
    found = texts(live.replies(tasks(1, n=20)))
    assert found == [f"{call + 1}.{i}" for call in range(len(asked)) for i in range(given)]
    assert [json.loads(b).get("n") for b in server.requests] == asked
    assert len(live.notices) == (given == 1)


def test_items_with_the_same_texts_are_asked_once(serve, store):
    server = serve(right)
    same = [task._replace(text="Rate it.") for task in tasks(5)]
    assert texts(Live("m", store).replies(same)) == ["Rate it. Score: 4"] * 5
    assert len(server.requests) == 1


# Errors.

RESPONSES_ONLY = "This model is only supported in v1/responses and not in v1/chat/completions."
QUOTA = error(429, "You exceeded it", code="insufficient_quota")


@pytest.mark.parametrize(
    "answer, message",
    [
        (error(404, "no such thing"), r"no model 'gpt-0' at http://127.* \(404\): no such thing"),
        (error(401, "Incorrect key"), r"the key in OPENAI_API_KEY was refused \(401\): Incorrect"),
        (error(403, "not for you"), r"may not use this model \(403\): not for you"),
        ((*QUOTA, {"x-should-retry": "false"}), "no quota left: You exceeded it"),
        (error(400, RESPONSES_ONLY), "^gpt-0 has no chat completions endpoint"),
        (error(404, RESPONSES_ONLY), "^gpt-0 has no chat completions endpoint"),
    ],
)
def test_what_fails_for_every_item_ends_at_the_first_call(serve, store, answer, message):
    server = serve(lambda *_: answer)
    with pytest.raises(JudgeError, match=message):
        list(Live("gpt-0", store).replies(tasks(50)))
    assert len(server.requests) == 1


def test_a_server_that_is_not_there_and_an_environment_without_a_key(store, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with pytest.raises(JudgeError, match="no connection to http://127.0.0.1:1/v1 .*check the net"):
        list(Live("m", store).replies(tasks(5)))
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(JudgeError, match="no key: set OPENAI_API_KEY"):
        list(Live("m", store).replies(tasks(1)))
    monkeypatch.setenv("OPENAI_BASE_URL", "nowhere")
    with pytest.raises(JudgeError, match="expected one as https://HOST/v1"):
        Live("m", store)


def test_an_error_of_one_item_does_not_stop_the_others(serve, store):
    def answer(number, path, body):
        return error(400, "cursed") if "7." in words(body) else right(number, path, body)

    server = serve(answer)
    live = Live("m", store)
    with pytest.warns(UserWarning, match="3 of 30 requests failed, most often with: cursed"):
        found = list(live.replies(tasks(30)))
    missed = [i for i, reply in enumerate(found) if reply.reason == "not answered"]
    assert missed == [7, 17, 27] and live.failures == 3 and len(server.requests) == 30
    server.answer = right
    assert all(texts(Live("m", store).replies(tasks(30)))) and len(server.requests) == 33


def test_twenty_failures_in_a_row_end_the_run(serve, store):
    server = serve(lambda *call: right(*call) if call[0] == 1 else error(400, "out of order"))
    with pytest.raises(JudgeError, match="20 requests failed in a row, .* with: out of order"):
        list(Live("m", store, concurrency=8).replies(tasks(200)))
    assert 21 <= len(server.requests) <= 21 + 8 and store.totals()["replies"] == 1


# Limits and progress.


def test_a_limit_on_calls_is_exact_and_the_next_run_goes_on(serve, store):
    server = serve(right, delay=0.01)
    live = Live("m", store, budget=Budget(max_calls=25), concurrency=16)
    with pytest.warns(UserWarning, match="stopped before the end: the limit of 25 calls was reach"):
        found = list(live.replies(tasks(60)))
    assert len(server.requests) == 25 == sum(r.text != "" for r in found)
    assert [r.reason for r in found].count("not asked") == 35
    assert all(texts(Live("m", store).replies(tasks(60)))) and len(server.requests) == 60


def test_a_limit_on_cost_stops_at_the_call_that_reaches_it(serve, store):
    server = serve(right, delay=0.01)
    # 10 prompt and 2 completion tokens a call: 10 * 1 + 2 * 3 = 16 millionths
    live = Live("m", store, price=(1, 3), budget=Budget(9.5 * 16e-6), concurrency=16)
    with pytest.warns(UserWarning, match="the limit on cost was reached: .* of 0.000152,"):
        list(live.replies(tasks(40)))
    assert len(server.requests) == 10
    assert live.cost == pytest.approx(160e-6) == store.totals()["cost"]
    with pytest.raises(JudgeError, match="a limit on cost needs a price"):
        Live("m", store, budget=Budget(1))


def test_the_bar_shows_calls_cost_and_errors(serve, store, capsys):
    serve(lambda *call: error(400, "no") if "text 3" in words(call[2]) else right(*call))
    with pytest.warns(UserWarning, match="1 of 5 requests failed"):
        list(Live("m", store, progress=True, price=(1e6, 0)).replies(tasks(5)))
    shown = capsys.readouterr()
    assert "5/5" in shown.err and "calls=5, cost=40.0000, errors=1" in shown.err and not shown.out


# Trouble on this side.


class FullDisk(Store):
    """Takes a hundred replies."""

    def add(self, digest, asked, replies):
        if self.totals()["replies"] >= 100:
            raise OSError("disk is full")
        super().add(digest, asked, replies)


def test_a_full_disk_reaches_the_caller(serve, tmp_path):
    server = serve(right)
    with FullDisk(tmp_path / "replies.sqlite") as store:
        with pytest.raises(OSError, match="disk is full"):
            list(Live("m", store, concurrency=16).replies(tasks(400)))
        assert store.totals()["replies"] == 100
    assert len(server.requests) < 400


def test_it_runs_where_a_loop_is_running(serve, store):
    """As in a notebook's cell."""
    serve(right)

    async def cell():
        return texts(Live("m", store).replies(tasks(2)))

    assert asyncio.run(cell()) == GOOD


RUN = """
import asyncio, signal, sys
from nlgjudge.judging.live import Live
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
tasks = [Task(str(i), "a", f"Rate text {i}.", {}) for i in range(100)]
async def cell():
    list(Live("m", Store(sys.argv[1]), concurrency=8).replies(tasks))
try:
    if sys.argv[2] == "loop":
        asyncio.new_event_loop().run_until_complete(cell())
    else:
        list(Live("m", Store(sys.argv[1]), concurrency=8).replies(tasks))
except KeyboardInterrupt:
    print("interrupted")
"""


def start(server, *arguments):
    """A run in a process of its own."""
    environment = os.environ | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        env=environment | {"NO_PROXY": "127.0.0.1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(process, condition):
    while not condition() and process.poll() is None:
        time.sleep(0.01)


@pytest.mark.parametrize("where, number", [("loop", 2), ("plain", 2), ("plain", 9)])
def test_ctrl_c_and_kill_lose_nothing_and_only_calls_in_flight_are_paid_twice(
    serve, tmp_path, where, number
):
    path = tmp_path / "replies.sqlite"
    slow = {"delay": 0.01}

    def answer(called, *call):
        """Calls behind the sixtieth take a minute until the run is interrupted."""
        return 200, right(called, *call), {"delay": 60} if called > 60 and slow else {}

    server = serve(answer)
    with start(server, path, where) as process:
        until(process, lambda: len(server.requests) >= 60)
        process.send_signal(number)
        said, _ = process.communicate(timeout=600)
    assert said == "interrupted\n" if number == signal.SIGINT else process.returncode == -9
    slow.clear()
    with Store(path) as store:
        stored = {asked["request"]["messages"][0]["content"] for _, _, asked, _ in store.rows()}
        first = len(server.requests)
        assert first - 8 <= len(stored) <= first < 100
        assert len(texts(Live("m", store).replies(tasks(100)))) == 100
        asked = [words(body) for body in server.requests]
        assert not stored & set(asked[first:])  # nothing stored is asked for again
        assert store.totals()["replies"] == 100 and len(asked) <= 108


def test_a_second_run_waits_and_names_the_process_and_another_store(tmp_path):
    """It asks nothing while the first has calls in flight, and pays for nothing the first has stored."""
    path = tmp_path / "replies.sqlite"
    held = []

    def answer(called, *call):
        return 200, right(called, *call), {"delay": 60} if called > 20 and not held else {}

    with Loopback(answer) as server, start(server, path, "plain") as first:
        until(first, lambda: len(server.requests) >= 28)
        with start(server, path, "plain") as second:
            said = second.stderr.readline()
            assert f"process {first.pid} is asking with {path}" in said and "--store" in said
            assert len(server.requests) <= 28
            with Store(path) as store:  # reading doesn't wait
                assert len(store.get(next(store.rows())[0])) == 1
            held.append(True)
            first.kill()
            assert second.wait(600) == 0
            second.communicate()
        assert len(server.requests) <= 108
