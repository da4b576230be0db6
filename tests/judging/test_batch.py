"""The Batch API on a loopback server: leave, come back in another process, ask for nothing twice."""

import json

import pytest

from batch_api import Api
from conftest import KEY
from loopback import completion, words
from nlgjudge.cli import main
from nlgjudge.data.benchmarks import load
from nlgjudge.judging import batch
from nlgjudge.judging.batch import Batch
from nlgjudge.judging.judge import JudgeError, Waiting
from nlgjudge.judging.live import Live
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.run import judge_items
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task

COLLECT = """
import json, sys
from nlgjudge.judging.batch import Batch
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task
with Store(sys.argv[1]) as store:
    print(json.dumps(list(Batch("m", store).replies([Task(**t) for t in json.loads(sys.argv[2])]))))
"""


def tasks(*prompts, n=1, **settings):
    return [Task(f"item-{p}", "fluency", p, {}, Reading(), n, settings) for p in prompts]


def texts(judge, asked):
    return [(r.item_id, r.sample_index, r.text, r.reason) for r in judge.replies(asked)]


def reply(prompt, i=0):
    return (f"item-{prompt}", i, f"{prompt}\u2028 reply {i}", "")


@pytest.fixture
def api(serve):
    made = Api()
    made.server = serve(made)
    return made


@pytest.fixture
def judge(store):
    return Batch("m", store)


def waits(judge, asked, message):
    with pytest.raises(Waiting, match=message):
        next(judge.replies(asked))


def test_another_process_collects(api, commands, tmp_path):
    path, asked = tmp_path / "replies.sqlite", tasks("a", "b", n=3, temperature=0)
    with Store(path) as store:
        waits(Batch("m", store), asked, "batch:m: 2 requests are waiting for batch_0; run the same")
    program = ["-c", COLLECT, str(path), json.dumps([t._asdict() for t in asked])]
    early = commands.run(*program)
    assert early.returncode == 1 and "2 requests are waiting for batch_0" in early.stderr
    api.finish("batch_0")
    late = commands.run(*program)
    assert late.returncode == 0, late.stderr
    expected = [reply(p, i) for p in "ab" for i in range(3)]
    assert [(r[0], *r[2:5]) for r in json.loads(late.stdout)] == expected
    body = api.batches["batch_0"]["lines"][0]["body"]
    message = {"role": "user", "content": "a"}
    assert body == {"model": "m", "messages": [message], "temperature": 0, "n": 3}
    assert list(api.batches) == ["batch_0"]


def test_all_prompts_of_a_run_go_out_before_it_waits(api, store):
    items = load("topical_chat", "sample").items.head(1)
    prompts = ["geval/dialogue/naturalness", "geval/dialogue/coherence"]
    with pytest.raises(Waiting, match="2 requests are waiting for batch_0, batch_1; run the same"):
        judge_items(items, prompts, "batch:m", store=store)
    for name in list(api.batches):
        api.finish(name)
    assert len(judge_items(items, prompts, "batch:m", store=store)) == 2 == len(api.batches)


def test_nothing_stored_or_open_is_submitted_again(api, judge, store, monkeypatch):
    judge.submit(tasks("a", n=2))
    judge.submit(tasks("a", n=2))
    assert len(api.batches) == 1
    api.finish("batch_0")
    judge.collect()
    assert store.batches() == {}
    monkeypatch.delenv("OPENAI_API_KEY")  # what is stored needs neither key nor server
    assert texts(judge, tasks("a", n=2)) == [reply("a", 0), reply("a", 1)]
    with pytest.raises(JudgeError, match="no key: set OPENAI_API_KEY"):
        judge.submit(tasks("b"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    waits(judge, tasks("a", "b", n=3), "2 requests are waiting for batch_1")
    assert api.asked("batch_1") == [("a", 1), ("b", 3)]  # the third sample of a alone


@pytest.mark.parametrize("status", ["completed", "expired", "failed", "cancelled"])
def test_what_failed_is_reported_and_another_run_submits_it_again(api, store, status):
    """Of three lines one is answered, one refused by the filter, and one fails or was never reached."""
    api.answers["b"] = 400, {"error": {"code": "content_filter", "message": "no"}}
    api.answers["c"] = 500, {"error": {"message": "overloaded"}}
    first = Batch("m", store)
    waits(first, tasks("a", "b", "c"), "3 requests are waiting for batch_0")
    api.finish("batch_0", status, only=3 if status == "completed" else 2)
    why = "overloaded" if status == "completed" else f"the batch {status}"
    with pytest.warns(
        UserWarning, match=f"1 of 3 requests of batch_0 failed, the last with: {why}"
    ):
        found = texts(first, tasks("a", "b", "c"))
    assert found[0] == reply("a")
    assert [reason for *_, reason in found] == ["", "content_filter", "not answered"]
    waits(Batch("m", store), tasks("a", "b", "c"), "1 requests are waiting for batch_1")
    assert api.asked("batch_1") == [("c", 1)]


NO_TEMPERATURE = {"message": "Only the default (1) is supported.", "param": "temperature"}


def test_a_rejected_parameter_is_left_out_of_the_next_submission(api, store):
    api.answers |= {prompt: (400, {"error": NO_TEMPERATURE}) for prompt in "ab"}
    wanted = tasks("a", "b", temperature=0, max_tokens=5)
    waits(Batch("m", store), wanted, "batch_0")
    api.finish("batch_0")
    api.answers.clear()
    with pytest.warns(UserWarning, match="batch:m: the server rejects temperature: left out"):
        waits(Batch("m", store), wanted, "batch_1")
    bodies = [line["body"] for line in api.batches["batch_1"]["lines"]]
    assert [set(body) for body in bodies] == [{"model", "messages", "max_tokens"}] * 2
    api.finish("batch_1")
    judge = Batch("m", store)  # another process
    with pytest.warns(UserWarning, match="the server rejects temperature: left out"):
        assert texts(judge, wanted) == [reply("a"), reply("b")]


def test_a_batch_that_an_older_version_left_open_is_collected(api, judge, store):
    judge.submit(tasks("a"))
    ((name, batch),) = store.batches().items()
    store.close_batch(name)
    store.open_batch(
        name, batch["endpoint"], {key: line[:2] for key, line in batch["lines"].items()}
    )
    api.finish(name)
    assert texts(judge, tasks("a")) == [reply("a")]


def test_a_batch_without_token_probabilities_is_followed_by_samples(api, store):
    wanted = tasks("a", logprobs=True, temperature=0)
    waits(Batch("m", store), wanted, "batch_0")
    api.finish("batch_0")
    with pytest.warns(UserWarning, match="gives no token probabilities"):
        waits(Batch("m", store), wanted, "batch_1")
    assert api.asked("batch_1") == [("a", 20)]
    api.finish("batch_1")
    assert len(texts(Batch("m", store), wanted)) == 20


@pytest.mark.parametrize(
    "status, found, why",
    [
        ("failed", {"errors": {"data": [{"message": "no model m"}]}}, "the batch failed: no mod"),
        ("failed", {}, "the batch failed"),
        ("expired", {"error_file_id": "late"}, "could not be executed before the window expired"),
    ],
)
def test_a_batch_that_comes_to_nothing_says_why(api, store, status, found, why):
    waits(Batch("m", store), tasks("a"), "batch_0")
    key = api.batches["batch_0"]["lines"][0]["custom_id"]
    late = {"message": "It could not be executed before the window expired."}
    api.files["late"] = json.dumps({"custom_id": key, "response": None, "error": late}).encode()
    api.finish("batch_0", status, only=0)
    api.batches["batch_0"] |= found
    with pytest.warns(UserWarning, match=f"1 of 1 .* the last with: .*{why}.*another run submits"):
        assert texts(Batch("m", store), tasks("a"))[0][-1] == "not answered"


def test_a_batch_has_a_largest_number_of_lines_and_bytes(api, judge, monkeypatch):
    monkeypatch.setattr(batch, "LINES", 2)
    waits(judge, tasks(*"abcde"), "5 requests are waiting for batch_0, batch_1, batch_2;")
    assert [len(b["lines"]) for b in api.batches.values()] == [2, 2, 1]
    monkeypatch.setattr(batch, "BYTES", 2500)
    judge.submit(tasks("f" * 1500, "g" * 1500))
    assert len(api.batches) == 5


def test_batches_of_another_model_or_endpoint_hold_nothing_up(api, judge, store):
    Batch("other", store).submit(tasks("z"))
    store.open_batch("elsewhere", "https://elsewhere.example/v1", {})
    judge.submit(tasks("a"))
    api.finish("batch_1")
    assert texts(judge, tasks("a")) == [reply("a")] and len(store.batches()) == 2


@pytest.mark.parametrize(
    "path, doing",
    [("files", "the batch was not accepted"), ("batches/batch_0", "the batches could not be coll")],
)
def test_errors_are_clear_and_hide_the_key(api, judge, store, path, doing):
    if "batch_0" in path:
        judge.submit(tasks("a"))
    api.refuse[path] = 401, {"error": {"message": f"Incorrect API key provided: {KEY}."}}
    with pytest.raises(JudgeError, match=rf"batch:m: {doing}.*: Incorrect .*: \[key\]"):
        next(judge.replies(tasks("a")))
    assert len(store.batches()) == ("batch_0" in path)


@pytest.fixture
def live(api):
    """Let the server answer live calls, too; what they ask for."""
    asked = []

    def answer(number, request, body):
        if not request[1].endswith("/chat/completions"):
            return api(number, request, body)
        asked.append(words(body))
        return completion(["2"])

    api.server.answer = answer
    return asked


def test_a_live_run_leaves_an_open_batch_alone_unless_it_is_told_not_to(live, judge, store):
    judge.submit(tasks("a", "b"))
    message = "openai:m: 2 requests are waiting for batch_0; all else is asked. Run batch:m"
    waits(Live("m", store), tasks("a", "b", "c"), message)
    assert live == ["c"]
    found = texts(Live("m", store, despite_batches=True), tasks("a", "b", "c"))
    assert [text for _, _, text, _ in found] == ["2"] * 3
    assert sorted(live) == ["a", "b", "c"]


def test_the_judge_command_names_the_batch(live, tmp_path, capsys):
    prompts = ["--prompts", "geval/dialogue/naturalness", "--prompts", "geval/dialogue/coherence"]
    common = ["--limit", "1", "--source", "sample", "--store", str(tmp_path / "s.sqlite")]
    assert main(["judge", "topical_chat", "batch:m", *prompts[:2], *common]) == Waiting.status
    command = ["judge", "topical_chat", "openai:m", *prompts, *common]
    assert main(command) == Waiting.status
    assert "5 requests are waiting for batch_0; all else is asked" in capsys.readouterr().err
    assert len(set(live)) == 5  # the other prompt was asked
    assert main([*command, "--despite-batches"]) == 0 and len(set(live)) == 10
