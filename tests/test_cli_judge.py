"""`nlgjudge judge` and `nlgjudge replies` as a user types them, against a server on loopback."""

import csv
import dataclasses
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from loopback import Loopback, completion, error
from nlgjudge.cli import FAILED, INTERRUPTED, UNFINISHED, main

FLUENCY = "geval/summarization/fluency"
OWN = "How fluent is this, from 1 to 5? {{hypothesis}}"


@pytest.fixture(autouse=True)
def sample(request, monkeypatch):
    """The sample's 72 summaries, wherever the test runs; unless marked, each is a document of its own."""
    from nlgjudge.data import benchmarks, sample

    read = sample.read

    def apart(name):
        found = read(name)
        return dataclasses.replace(found, items=found.items.assign(doc_id=found.items["item_id"]))

    monkeypatch.setitem(benchmarks.READERS, "summeval", "sample:read")
    if "whole_documents" not in request.fixturenames:
        monkeypatch.setattr(sample, "read", apart)
    assert len(sample.read("summeval").items) == 72


@pytest.fixture
def whole_documents():
    """Six summaries of each of twelve articles."""


def words(body):
    return json.loads(body)["messages"][0]["content"]


def right(_, __, body):
    """A rating that differs from text to text."""
    return completion([f"Score: {1 + len(words(body)) % 3}"] * json.loads(body).get("n", 1))


def judge(tmp_path, *options, name="openai:m", prompts=(FLUENCY,)):
    return main(
        [
            "judge",
            "summeval",
            name,
            *(word for one in prompts for word in ("--prompts", one)),
            "--store",
            str(tmp_path / "s.sqlite"),
            "--source",
            "sample",
            *options,
        ]
    )


def rows(path):
    with path.open(encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def test_a_run_says_what_was_planned_and_what_was_spent(serve, tmp_path, capsys):
    server = serve(right)
    out = tmp_path / "replies.csv"
    assert judge(tmp_path, "--limit", "12", "--price", "1e6", "1e6", "-o", str(out)) == 0
    said = capsys.readouterr().out
    assert "plan: tasks 12, samples 12, cached 0, calls 12, prompt_tokens " in said
    assert "completion_tokens 60, cost " in said
    assert "5 tokens a reply, assumed for a rating" in said
    # The server counts ten prompt and two completion tokens a call, each at a price of 1.
    spent = "spent: calls 12, prompt_tokens 120, completion_tokens 24, cost 144.0000"
    assert spent in said
    assert (
        "12 replies read, 0 without a rating" in said
        and "fluency              dataset  Spearman" in said
    )
    assert len(server.requests) == 12 == len(rows(out)) and {
        row["prompt"] for row in rows(out)
    } == {FLUENCY}


def test_a_limit_of_none_or_nought_is_all(serve, tmp_path, capsys):
    serve(right)
    for options in ((), ("--limit", "0")):
        assert judge(tmp_path, "--plan", *options) == 0
        assert "plan: tasks 72" in capsys.readouterr().out
    assert judge(tmp_path, "--limit", "-1") == FAILED
    assert "limit=-1: expected a whole number of at least 0" in capsys.readouterr().err


@pytest.mark.usefixtures("whole_documents")
def test_a_limit_counts_documents(serve, tmp_path, capsys):
    """The sample has six summaries of each article."""
    server = serve(right)
    assert judge(tmp_path, "--limit", "2") == 0
    assert len(server.requests) == 12


def test_on_the_sample_nothing_is_asked_unless_it_is_requested(serve, tmp_path, capsys):
    server = serve(right)
    assert judge(tmp_path, "--source", "auto") == FAILED
    said = capsys.readouterr()
    assert said.out.startswith("SAMPLE: ") and "Give --source sample" in said.err
    assert judge(tmp_path, "--source", "auto", "--plan") == 0
    assert capsys.readouterr().out.startswith("SAMPLE: ")
    assert not server.requests


def test_a_plan_asks_nothing(serve, tmp_path, capsys):
    server = serve(right)
    for name in ("openai:m", "batch:m"):
        assert judge(tmp_path, "--plan", "--samples", "20", "--price", "1", "2", name=name) == 0
        said = capsys.readouterr().out
        assert (
            "samples 1440, cached 0, calls 72" in said
            and "completion_tokens 7200, cost 0.0" in said
        )
        assert "a prompt is paid 20 times" in said
    assert judge(tmp_path, "--plan", name="surface") == 0
    assert "plan: surface takes no call" in capsys.readouterr().out
    assert server.requests == []


# Runs that fail or stop.


@pytest.mark.parametrize(
    "answer, why",
    [
        (
            lambda *_: error(422, "no such field"),
            "no item was answered: 5 failed, all with: no such field",
        ),
        (lambda *_: None, "no server answers at http://127.0.0.1"),
        (
            lambda *_: completion(["It reads well."]),
            "no reply could be read: most often no_rating, as 'It reads",
        ),
        (lambda *_: completion([""], finish="length"), "no reply could be read: most often length"),
    ],
)
def test_a_run_without_one_readable_reply_fails_and_says_why(serve, tmp_path, capsys, answer, why):
    serve(answer)
    assert judge(tmp_path, "--limit", "5") == FAILED
    assert f"nlgjudge: {why}" in capsys.readouterr().err


def test_a_run_of_which_some_failed_says_how_many(serve, tmp_path, capsys):
    serve(
        lambda number, path, body: (
            error(400, "too long") if number in (2, 3) else right(number, path, body)
        )
    )
    assert judge(tmp_path, "--limit", "12") == FAILED
    said = capsys.readouterr()
    assert "10 replies read, 2 without a rating (not answered 2)" in said.out
    assert (
        "nlgjudge: openai:m: 2 items failed, most often with: too long; the same command asks for them"
        in said.err
    )
    assert judge(tmp_path, "--limit", "12") == 0


@pytest.mark.parametrize(
    "limit, why",
    [
        (("--max-calls", "5"), "the limit of 5 calls was reached"),
        (("--max-cost", "60"), "the limit on cost was reached: 60 of 60"),
    ],
)
def test_a_run_that_a_limit_stopped_says_so_and_goes_on(serve, tmp_path, capsys, limit, why):
    """A call costs twelve, so that five reach a limit of sixty."""
    server, out = serve(right), tmp_path / "replies.csv"
    options = ("--limit", "12", "--price", "1e6", "1e6", "--concurrency", "1", "-o", str(out))
    assert judge(tmp_path, *options, *limit) == UNFINISHED
    said = capsys.readouterr()
    assert "5 replies read, 0 without a rating" in said.out
    assert f"nlgjudge: stopped after 5 of 12 replies: {why}" in said.err
    assert "the same command goes on from there" in said.err and "live.py" not in said.err
    assert [row["reason"] for row in rows(out)] == [""] * 5 + ["not asked"] * 7
    assert judge(tmp_path, *options) == 0 and len(server.requests) == 12


def test_a_reply_is_written_as_it_is(serve, tmp_path):
    """The reply begins with a dash, as G-Eval's form does."""
    serve(lambda *_: completion(["- Fluency: 4"]))
    out = tmp_path / "replies.csv"
    assert judge(tmp_path, "--limit", "2", "-o", str(out)) == 0
    assert {row["text"] for row in rows(out)} == {"- Fluency: 4"}


def test_a_call_ends_at_the_deadline_that_is_named(serve, tmp_path, capsys):
    slow = (429, {"error": {"message": "slow down"}}, {"retry-after": "2"})
    server = serve(lambda number, path, body: right(number, path, body) if number == 1 else slow)
    assert judge(tmp_path, "--limit", "2", "--deadline", "0.5") == FAILED
    assert (
        "1 items failed, most often with: no answer within 0.5 s in all" in capsys.readouterr().err
    )
    assert len(server.requests) == 2
    assert judge(tmp_path, "--deadline", "0") == 2
    assert "Invalid value for '--deadline'" in capsys.readouterr().err


def test_what_was_not_asked_has_no_score_under_any_policy(serve, tmp_path):
    serve(right)
    out = tmp_path / "replies.csv"
    for policy in ("store_3", "leading_or_0"):
        judge(
            tmp_path,
            "--limit",
            "9",
            "--max-calls",
            "2",
            "--policy",
            policy,
            "-o",
            str(out),
            prompts=(
                f"geval/summarization_no_steps/{'fluency' if policy == 'store_3' else 'coherence'}",
            ),
        )
        assert [row["score"] for row in rows(out) if row["reason"] == "not asked"] == [""] * 7


def test_a_batch_waits_and_then_is_read(serve, tmp_path, capsys):
    sent = {"over": False}

    def answer(number, request, body):
        path = request[1].removeprefix("/v1/")
        if path == "files":
            sent["lines"] = [
                json.loads(line) for line in body.splitlines() if line.startswith(b"{")
            ]
            return {"id": "f", "object": "file", "purpose": "batch", "bytes": 1}
        if path == "files/answers/content":
            return "\n".join(
                json.dumps(
                    {
                        "custom_id": line["custom_id"],
                        "error": None,
                        "response": {"status_code": 200, "body": completion(["Score: 3"])},
                    }
                )
                for line in sent["lines"]
            ).encode()
        done = path == "batches/b" and sent["over"]
        return {
            "id": "b",
            "object": "batch",
            "status": "completed" if done else "validating",
            "output_file_id": "answers" if done else None,
            "input_file_id": "f",
            "endpoint": "x",
            "completion_window": "24h",
            "created_at": 0,
            "error_file_id": None,
        }

    serve(answer)
    assert (
        judge(tmp_path, "--limit", "3", "--max-cost", "0.0001", "--price", "1", "1", name="batch:m")
        == 1
    )
    assert "a batch cannot be stopped half way: nothing was submitted" in capsys.readouterr().err
    assert "lines" not in sent
    assert judge(tmp_path, "--limit", "3", name="batch:m") == UNFINISHED
    assert "3 requests are waiting for b; run the same call again later" in capsys.readouterr().err
    sent["over"] = True
    assert judge(tmp_path, "--limit", "3", name="batch:m") == 0
    assert "3 replies read, 0 without a rating" in capsys.readouterr().out


def test_replies_that_were_asked_again_are_counted_beside_the_results(serve, tmp_path, capsys):
    serve(
        lambda number, path, body: completion(["Hm."]) if number == 1 else right(number, path, body)
    )
    assert judge(tmp_path, "--limit", "3") == 0
    assert "because they were of no use: 1, of use now: 1\n" in capsys.readouterr().out
    # As upstream's scripts took it: the first reply, which counts as 0.
    out = tmp_path / "replies.csv"
    assert judge(tmp_path, "--limit", "3", "--policy", "leading_or_0", "-o", str(out)) == FAILED
    assert rows(out)[0]["text"] == "Hm." and float(rows(out)[0]["score"]) == 0


# Prompts.


def test_a_prompt_is_a_name_a_beginning_a_text_or_a_file(serve, tmp_path, capsys):
    server = serve(right)
    assert judge(tmp_path, "--limit", "2", prompts=("geval/summarization/",)) == 0
    assert len(server.requests) == 2 * 4  # four aspects
    file = tmp_path / "mine.txt"
    file.write_text(
        "Summary: {{hypothesis}}\nSource: {{source}}\nRate it from 1 to 10.", encoding="utf-8"
    )
    out = tmp_path / "replies.csv"
    assert (
        judge(
            tmp_path,
            "--limit",
            "2",
            "--aspect",
            "fluency",
            "--scale",
            "1",
            "10",
            "--form",
            "number",
            "-o",
            str(out),
            prompts=(OWN, str(file)),
        )
        == 0
    )
    asked = [words(body) for body in server.requests[8:]]
    assert sum(text.startswith("How fluent is this, from 1 to 5? ") for text in asked) == 2
    assert sum(text.startswith("Summary: ") and "{{" not in text for text in asked) == 2
    assert len(rows(out)) == 4 and {row["aspect"] for row in rows(out)} == {"fluency"}
    said = capsys.readouterr().out
    assert (
        len(re.findall(r"^fluency, inline:\w{8} +dataset", said, re.MULTILINE)) == 2
    )  # never averaged


@pytest.mark.parametrize(
    "prompts, options, message",
    [
        (
            ["geval/summarization/coherance"],
            [],
            "no prompt .*: did you mean 'geval/summarization/coherence'",
        ),
        ([OWN], [], "a prompt's own text needs --aspect: .*there are .*fluency"),
        ([OWN], ["--aspect", "fluancy"], "no aspect 'fluancy': did you mean 'fluency'"),
        (
            [OWN],
            ["--aspect", "fluency", "--scale", "5", "1"],
            "scale 5 1: expected the lowest rating first",
        ),
        (
            [OWN],
            ["--aspect", "fluency", "--form", "stairs"],
            "no form 'stairs': did you mean 'stars'",
        ),
        ([OWN + " {{Reply}}"], ["--aspect", "fluency"], "no slot '{{Reply}}'"),
        (["Rate {{source}}"], ["--aspect", "fluency"], "shows nothing to judge"),
        ([FLUENCY], ["--aspect", "fluency"], "--scale and --form are for a prompt's own text"),
        (
            ["dhp/perturb/"],
            [],
            "none of the prompts that begin with 'dhp/perturb/' asks for a rating of an item",
        ),
    ],
)
def test_a_prompt_that_is_none_is_refused_before_a_call(
    serve, tmp_path, capsys, prompts, options, message
):
    server = serve(right)
    assert judge(tmp_path, *options, prompts=prompts) == FAILED
    assert re.search(message, capsys.readouterr().err) and server.requests == []


def test_near_matches_for_a_benchmark_and_a_judge(tmp_path, capsys):
    assert main(["judge", "sumeval", "surface", "--prompts", FLUENCY]) == FAILED
    assert "no benchmark 'sumeval': did you mean 'summeval'" in capsys.readouterr().err
    assert judge(tmp_path, name="opnai:m") == FAILED
    assert "no kind of judge 'opnai': did you mean 'openai'" in capsys.readouterr().err


# Ctrl-C.

COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
from nlgjudge.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_an_interrupt_is_one_line_that_says_what_is_stored_and_how_to_go_on(tmp_path, commands):
    arguments = [
        "judge",
        "summeval",
        "openai:m",
        "--prompts",
        FLUENCY,
        "--source",
        "sample",
        "--concurrency",
        "2",
        "--limit",
        "60",
        "--store",
        str(tmp_path / "s.sqlite"),
    ]

    def slower(number, *call):
        """Calls behind the twelfth take a second, so that the run lasts until it is interrupted."""
        return 200, right(number, *call), {"delay": 0.05 if number <= 12 else 1}

    with Loopback(slower) as server:
        environment = {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "none",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }
        with subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        ) as process:
            while len(server.requests) < 10 and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            try:
                said = process.communicate(timeout=600)[1]
            finally:
                process.kill()
        assert process.returncode == INTERRUPTED and "Traceback" not in said
        with closing(sqlite3.connect(tmp_path / "s.sqlite")) as database:
            (stored,) = database.execute("SELECT count(*) FROM replies").fetchone()
        last = said.splitlines()[-1]
        assert last == (
            f"nlgjudge: interrupted: {stored} replies of this run are stored, {stored} in all, "
            f"in {tmp_path / 's.sqlite'}; the same command goes on from there"
        )
        assert stored >= 8
        before, server.answer = len(server.requests), right
        done = commands.run(*arguments, **environment)
        assert done.returncode == 0
        assert (
            len(server.requests) - before == len(set(server.requests)) - stored
        )  # nothing is paid twice
