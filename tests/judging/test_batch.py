"""The Batch API on a loopback server: leave, come back in another process, ask for nothing twice."""

import json
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from batch_api import Api
from loopback import Loopback, completion
from nlgjudge.cli import main
from nlgjudge.judging import batch, pending
from nlgjudge.judging.batch import Batch
from nlgjudge.judging.claims import Claims
from nlgjudge.judging.errors import JudgeError, Waiting
from nlgjudge.judging.live import Live
from nlgjudge.judging.run import judge_items
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task

KEY = "sk-loopback-1234567890"
COLLECT = """
import json, sys
from nlgjudge.judging.batch import Batch
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task
from nlgjudge.cli import main
with Store(sys.argv[1]) as store:
    print(json.dumps(list(Batch("m", store).replies([Task(**t) for t in json.loads(sys.argv[2])]))))
"""


def tasks(*prompts, n=1, **settings):
    return [Task(f"item-{p}", "fluency", p, {}, (1, 5), "form", n, settings) for p in prompts]


def texts(judge, asked):
    return [(r.item_id, r.sample_index, r.text, r.reason) for r in judge.replies(asked)]


def reply(prompt, i=0):
    return (f"item-{prompt}", i, f"{prompt}\u2028 reply {i}", "")


def unanswered(prompt, i=0):
    return (f"item-{prompt}", i, "", "not answered")


@pytest.fixture
def api(monkeypatch):
    made = Api()
    with Loopback(made) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "127.0.0.1")
        made.server = server
        yield made


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "replies.sqlite") as made:
        yield made


@pytest.fixture
def judge(store):
    return Batch("m", store)


def waits(judge, asked, message):
    with pytest.raises(JudgeError, match=message):
        next(judge.replies(asked))


def test_another_process_collects(api, commands, tmp_path):
    path, asked = tmp_path / "replies.sqlite", tasks("a", "b", n=3, temperature=1)
    with Store(path) as store:
        waits(
            Batch("m", store),
            asked,
            "batch:m: 2 requests are waiting for batch_0; run the same call",
        )
    program = ["-c", COLLECT, str(path), json.dumps([t._asdict() for t in asked])]
    early = commands.run(*program)
    assert early.returncode == 1 and "2 requests are waiting for batch_0" in early.stderr
    api.finish("batch_0")
    late = commands.run(*program)
    assert late.returncode == 0, late.stderr
    assert [(r[0], r[2], r[3], r[4]) for r in json.loads(late.stdout)] == [
        reply(p, i) for p in "ab" for i in range(3)
    ]
    body = api.batches["batch_0"]["lines"][0]["body"]
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "a"}],
        "temperature": 1,
        "n": 3,
    }
    assert list(api.batches) == ["batch_0"]
    assert (api.batches["batch_0"]["endpoint"], api.batches["batch_0"]["completion_window"]) == (
        "/v1/chat/completions",
        "24h",
    )


def test_all_prompts_of_a_run_go_out_before_it_waits(api, store):
    items = pd.DataFrame(
        {"item_id": ["i/s"], "source": "s", "hypothesis": "h", "references": [[]], "context": "c"}
    )
    prompts = [f"geval/dialogue/{a}" for a in ("naturalness", "coherence")]
    with pytest.raises(
        JudgeError, match="2 requests are waiting for batch_0, batch_1; run the same call"
    ):
        judge_items(items, prompts, "batch:m", store=store)
    assert sum(len(b["lines"]) for b in api.batches.values()) == 2
    for name in list(api.batches):
        api.finish(name)
    assert len(judge_items(items, prompts, "batch:m", store=store)) == 2 == len(api.batches)


def live_too(api):
    """Let the server answer live calls beside its batches; what they asked for."""
    asked = []
    batches = api.server.answer

    def answer(number, request, body):
        if not request[1].endswith("/chat/completions"):
            return batches(number, request, body)
        asked.append(json.loads(body)["messages"][0]["content"])
        return completion([f"live {asked[-1][-9:]}: 2"] * json.loads(body).get("n", 1))

    api.server.answer = answer
    return asked


def test_a_live_run_leaves_to_a_batch_what_waits_in_it(api, judge, store):
    asked = live_too(api)
    judge.submit(tasks("a", "b"))
    live = Live("m", store, ask_again=False)
    with pytest.raises(
        Waiting, match="openai:m: 2 requests are waiting for batch_0; batch:m submitted them"
    ):
        list(live.replies(tasks("a", "b", "c")))
    assert asked == ["c"]
    with pytest.warns(
        UserWarning, match="2 of the planned requests wait in batch_0: a run leaves them to it"
    ):
        live.plan(tasks("a", "b", "c"))
    api.finish("batch_0")
    found = texts(live, tasks("a", "b", "c"))
    assert found == [reply("a"), reply("b"), ("item-c", 0, "live c: 2", "")]
    assert asked == ["c"] and len(api.batches) == 1


def test_lines_that_failed_in_a_batch_are_asked_live(api, judge, store):
    asked = live_too(api)
    judge.submit(tasks("a", "b"))
    api.fails = {"b"}
    api.finish("batch_0")
    assert texts(Live("m", store, ask_again=False), tasks("a", "b")) == [
        reply("a"),
        ("item-b", 0, "live b: 2", ""),
    ]
    assert asked == ["b"] and len(api.batches) == 1
    assert texts(judge, tasks("a", "b")) == [reply("a"), ("item-b", 0, "live b: 2", "")]


@pytest.mark.parametrize("way", ["despite", "given up"])
def test_a_live_run_goes_on_without_a_batch_where_it_is_told_to(api, judge, store, way):
    asked = live_too(api)
    judge.submit(tasks("a"))
    if way == "despite":
        live = Live("m", store, ask_again=False, despite_batches=True)
    else:
        assert pending.give_up(store, "batch_0") == 1
        live = Live("m", store, ask_again=False)
        with pytest.raises(ValueError, match="waits for no batch batch_0; none is under way"):
            pending.give_up(store, "batch_0")
    assert texts(live, tasks("a")) == [("item-a", 0, "live a: 2", "")] and asked == ["a"]


def test_a_batch_that_is_given_up_can_be_submitted_anew(api, judge, store):
    judge.submit(tasks("a"))
    pending.give_up(store, "batch_0")
    assert judge.submit(tasks("a")) == 1 and len(api.batches) == 2


def test_a_batch_that_cannot_be_looked_up_is_named_and_left(api, judge, store):
    asked = live_too(api)
    judge.submit(tasks("a"))
    api.refuse = {"batches/batch_0": (404, {"error": {"message": "No batch found"}})}
    with (
        pytest.warns(UserWarning, match="could not be collected: .*No batch found"),
        pytest.raises(
            Waiting, match="waiting for batch_0; .*`nlgjudge replies batches` gives a batch up"
        ),
    ):
        list(Live("m", store, ask_again=False).replies(tasks("a", "b")))
    assert asked == ["b"]


def test_a_batch_that_is_submitted_while_a_live_run_asks_is_left_alone(api, judge, store):
    """The live run looks once more after its claim, as the batch was not there when it began."""
    asked = live_too(api)
    answer = api.server.answer

    def submitting(number, request, body):
        found = answer(number, request, body)
        if asked == ["a"]:
            store.note_batch("batch_x", 1, "submitted", [judge.server.request(tasks("c")[0])[1]])
        return found

    api.server.answer = submitting
    with pytest.raises(Waiting, match="1 requests are waiting for batch_x"):
        list(Live("m", store, ask_again=False, concurrency=1).replies(tasks("a", "b", "c")))
    assert asked == ["a", "b"]


def test_the_command_lists_batches_and_gives_one_up(api, judge, store, capsys):
    judge.submit(tasks("a", "b"))
    path = str(store.path)
    assert main(["replies", "batches", "--store", path]) == 0
    said = capsys.readouterr().out
    assert (
        f"batch_0 at {judge.server.endpoint}: 2 requests, attempt 1" in said
        and "1 batches under way" in said
    )
    assert main(["replies", "batches", "--store", path, "--give-up", "batch_9"]) != 0
    assert "waits for no batch batch_9; under way are batch_0" in capsys.readouterr().err
    assert main(["replies", "batches", "--store", path, "--give-up", "batch_0"]) == 0
    capsys.readouterr()
    assert main(["replies", "batches", "--store", path]) == 0
    assert "0 batches under way" in capsys.readouterr().out


def test_the_judge_command_names_the_batch_and_goes_on_where_it_is_told_to(api, tmp_path, capsys):
    asked = live_too(api)
    prompts = ["--prompts", "geval/dialogue/naturalness", "--prompts", "geval/dialogue/coherence"]
    common = ["--limit", "1", "--source", "sample", "--store", str(tmp_path / "s.sqlite")]
    batched = ["judge", "topical_chat", "batch:m", *prompts[:2], *common]
    assert main(batched) == Waiting.status
    live = ["judge", "topical_chat", "openai:m", *prompts, *common]
    assert main(live) == Waiting.status
    assert "5 requests are waiting for batch_0; batch:m submitted them" in capsys.readouterr().err
    assert len(set(asked)) == 5  # the other prompt was asked
    main([*live, "--despite-batches"])
    assert len(set(asked)) == 10


def test_nothing_stored_is_asked_for_again(api, judge, store, monkeypatch):
    assert judge.submit(tasks("a", n=2)) == 1
    assert judge.submit(tasks("a", n=2)) == 0  # under way
    api.finish("batch_0")
    assert judge.collect() == {"batch_0": "completed"}
    seen = len(api.server.requests)
    monkeypatch.delenv("OPENAI_API_KEY")  # what is stored needs neither key nor server
    assert texts(judge, tasks("a", n=2)) == [reply("a", 0), reply("a", 1)]
    assert texts(judge, tasks("a")) == [reply("a", 0)]  # fewer samples than there are
    assert len(api.server.requests) == seen
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    waits(judge, tasks("a", "b", n=3), "2 requests are waiting for batch_1")
    assert api.asked("batch_1") == [("a", 1), ("b", 3)]  # the third sample of a alone
    api.finish("batch_1")
    assert texts(judge, tasks("a", "b", n=3)) == [reply(p, i) for p in "ab" for i in range(3)]
    assert store.totals()["replies"] == 6


def test_failed_lines_are_submitted_once_more(api, judge):
    api.fails = {"b", "c"}
    waits(judge, tasks("a", "b", "c"), "3 requests are waiting for batch_0")
    api.finish("batch_0")
    waits(judge, tasks("a", "b", "c"), "2 requests are waiting for batch_1")
    assert api.asked("batch_1") == [("b", 1), ("c", 1)]
    api.fails = {"c"}
    api.finish("batch_1")
    expected = [reply("a"), reply("b"), unanswered("c")]
    assert texts(judge, tasks("a", "b", "c")) == expected == texts(judge, tasks("a", "b", "c"))
    assert list(api.batches) == ["batch_0", "batch_1"]
    waits(
        judge, tasks("b", n=2), "1 requests are waiting for batch_2"
    )  # more of what a retry answered


def test_lines_that_hold_no_completion_count_as_failed(api, judge, store):
    judge.submit(tasks("a", "b"))
    lines = api.batches["batch_0"]["lines"]
    odd = [
        {"custom_id": line["custom_id"], "response": response, "error": None}
        for line, response in zip(lines, ({"status_code": 200, "body": {"detail": "busy"}}, None))
    ]
    api.finish("batch_0", only=0, odd=odd)
    judge.collect()
    assert api.asked("batch_1") == [("a", 1), ("b", 1)]
    assert store.totals()["replies"] == 0


@pytest.mark.parametrize("status", ["expired", "failed"])
def test_expired_and_failed_batches_keep_what_they_answered(api, judge, status):
    judge.submit(tasks("a", "b"))
    done = 1 if status == "expired" else 0
    api.finish("batch_0", status, only=done)
    assert judge.collect() == {"batch_0": status}
    assert api.asked("batch_1") == [("a", 1), ("b", 1)][done:]
    api.finish("batch_1", status, only=0)
    expected = [reply("a") if done else unanswered("a"), unanswered("b")]
    assert texts(judge, tasks("a", "b")) == expected


def test_cancel_keeps_what_is_done_and_asks_for_nothing(api, judge, monkeypatch):
    monkeypatch.setattr(batch, "LINES", 2)
    judge.submit(tasks("a", "b", "c"))
    api.finish("batch_1")  # over, but not collected: it can no longer be cancelled
    judge.cancel()
    assert [b["status"] for b in api.batches.values()] == ["cancelling", "completed"]
    api.finish("batch_0", "cancelled", only=1)
    assert judge.collect() == {"batch_0": "cancelled", "batch_1": "completed"}
    assert list(api.batches) == ["batch_0", "batch_1"]
    assert texts(judge, tasks("a", "c")) == [reply("a"), reply("c")]
    waits(judge, tasks("a", "b", "c"), "1 requests are waiting for batch_2")
    assert api.asked("batch_2") == [("b", 1)]


def test_a_batch_has_so_many_lines_at_most(api, judge, monkeypatch):
    monkeypatch.setattr(batch, "LINES", 2)
    waits(judge, tasks(*"abcde"), "5 requests are waiting for batch_0, batch_1, batch_2;")
    waits(judge, tasks("b", "c"), "2 requests are waiting for batch_0, batch_1;")
    assert [len(b["lines"]) for b in api.batches.values()] == [2, 2, 1]
    for name in list(api.batches):
        api.finish(name)
    assert texts(judge, tasks(*"abcde")) == [reply(p) for p in "abcde"]


def test_a_batch_has_so_many_bytes_at_most(api, judge, monkeypatch):
    monkeypatch.setattr(batch, "BYTES", 2500)
    judge.submit(tasks("a" * 900, "ü" * 150, *"cde", "f" * 4000))  # a ü escaped has six bytes
    sizes = [[len(json.dumps(line)) + 1 for line in b["lines"]] for b in api.batches.values()]
    assert sum(map(len, sizes)) == 6 and len(sizes[-1]) == 1
    assert all(sum(part) <= 2500 < sum(part) + after[0] for part, after in zip(sizes, sizes[1:]))


def test_batches_of_others_in_the_store_hold_nothing_up(api, judge, store):
    Batch("other", store).submit(tasks("z"))
    judge.submit(tasks("a"))
    api.finish("batch_1")
    assert texts(judge, tasks("a")) == [reply("a")]


def test_a_batch_that_is_over_at_once_is_collected(api, judge):
    api.at_once = True
    judge.submit(tasks("a"))
    assert texts(judge, tasks("a")) == [reply("a")]


@pytest.mark.parametrize(
    "path, doing",
    [
        ("files", "the batch was not accepted"),
        ("batches", "the batch was not accepted"),
        ("batches/batch_0", "the batches could not be collected"),
        ("batches/batch_0/cancel", "the batches could not be cancelled"),
    ],
)
def test_errors_are_clear_and_hide_the_key(api, judge, store, path, doing):
    if "batch_0" in path:
        judge.submit(tasks("a"))
    api.refuse[path] = 401, {"error": {"message": f"Incorrect API key provided: {KEY}."}}
    with pytest.raises(
        JudgeError, match=f"batch:m: {doing}: Incorrect API .*: \\[key\\]"
    ) as caught:
        judge.cancel() if "cancel" in path else next(judge.replies(tasks("a")))
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert len(store.batches()) == ("batch_0" in path)


def test_without_a_key(api, judge, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(JudgeError, match="no key: set OPENAI_API_KEY, and OPENAI_BASE_URL"):
        judge.submit(tasks("a"))
    assert api.server.requests == []


# Two processes at once.


def together(number, function):
    """Let so many threads do the same with a store of their own."""
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(lambda _: function(), range(number)))


def test_two_that_submit_at_once_submit_once(api, store):
    barrier = threading.Barrier(2)
    upload = api.upload

    def slow(body):
        time.sleep(0.3)
        return upload(body)

    api.upload = slow

    def submit():
        with Store(store.path) as own:
            barrier.wait(600)
            return Batch("m", own).submit(tasks("a", "b"))

    assert sorted(together(2, submit)) == [0, 2]
    assert len(api.batches) == 1
    assert Batch("m", store).submit(tasks("a", "b", "c")) == 1  # nobody is kept out by what is over


def test_what_another_run_is_asking_is_waited_for(api, store):
    batch_judge = Batch("m", store)
    with Claims(store.path) as live_run:
        assert live_run.take(batch_judge.server.request(tasks("a")[0])[1])
        with pytest.raises(
            Waiting, match="1 requests are waiting for another run on replies.sqlite"
        ):
            list(batch_judge.replies(tasks("a")))
    assert api.batches == {}


def test_two_that_collect_at_once_submit_failed_lines_once(api, store):
    Batch("m", store).submit(tasks("a", "b"))
    api.fails = {"b"}
    api.finish("batch_0")
    barrier = threading.Barrier(2)

    def collect():
        with Store(store.path) as own:
            barrier.wait(600)
            return Batch("m", own).collect()

    together(2, collect)
    assert list(api.batches) == ["batch_0", "batch_1"] and api.asked("batch_1") == [("b", 1)]
