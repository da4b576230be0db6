"""`nlgjudge judge` as a user types it, against a server on loopback."""

import csv
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from batch_api import Api
from loopback import Loopback, completion, error, words
from nlgjudge.cli import FAILED, INTERRUPTED, UNFINISHED, main
from nlgjudge.judging.store import Store

FLUENCY = "geval/summarization/fluency"
OWN = "How fluent is this, from 1 to 5? {{hypothesis}}"


@pytest.fixture(autouse=True)
def sample(request, monkeypatch):
    """The sample's 72 summaries, wherever the test runs; unless marked, each is a document of its own."""
    from nlgjudge.data import benchmarks, sample

    read = sample.read

    def apart(name):
        benchmark = read(name)
        items = benchmark.items.assign(doc_id=benchmark.items["item_id"])
        return dataclasses.replace(benchmark, items=items)

    monkeypatch.setattr(benchmarks, "read_real", lambda name: sample.read(name))
    if "whole_documents" not in request.fixturenames:
        monkeypatch.setattr(sample, "read", apart)


@pytest.fixture
def whole_documents():
    """Six summaries of each of twelve articles."""


def rated(_, __, body):
    """A rating that differs from text to text."""
    return completion([f"Score: {1 + len(words(body)) % 3}"] * json.loads(body).get("n", 1))


def judge(tmp_path, *options, name="openai:m", prompts=(FLUENCY,)):
    prompts = [word for one in prompts for word in ("--prompts", one)]
    where = ["--store", str(tmp_path / "s.sqlite"), "--source", "sample"]
    return main(["judge", "summeval", name, *prompts, *where, *options])


def rows(path):
    with path.open(encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def test_a_run_shows_plan_replies_cost_and_agreement(serve, tmp_path, capsys):
    server = serve(rated)
    out = tmp_path / "replies.csv"
    assert judge(tmp_path, "--limit", "12", "--price", "1e6", "1e6", "-o", str(out)) == 0
    said = capsys.readouterr().out
    assert "plan: 12 calls, " in said and "60 completion tokens, 0 of 12 replies stored" in said
    # The server counts ten prompt and two completion tokens a call, each at a price of 1.
    assert "spent: calls 12, prompt_tokens 120, completion_tokens 24, cost 144.0000" in said
    parsed = said.index("replies: 12 parsed, 0 unparsed, 0 refused")
    assert parsed < said.index(f"{FLUENCY} fluency dataset")
    assert len(server.requests) == 12 == len(rows(out))
    assert {row["prompt"] for row in rows(out)} == {FLUENCY}


def test_every_parameter_that_is_given_is_sent_and_no_other(serve, tmp_path, capsys):
    server = serve(rated)
    given = ["--temperature", "0", "--set", "top_p=0.5", "--set", "seed=0", "--set", 'stop=["x"]']
    assert judge(tmp_path, "--limit", "1", *given, "--set", "reasoning_effort=low") == 0
    assert judge(tmp_path, "--limit", "1") == 0
    expected = {"temperature": 0, "top_p": 0.5, "seed": 0, "stop": ["x"], "reasoning_effort": "low"}
    bodies = [json.loads(body) for body in server.requests]
    sent = [{k: v for k, v in body.items() if k not in ("model", "messages")} for body in bodies]
    assert sent == [expected, {}]
    assert judge(tmp_path, "--set", "seed") == 2 and "expected KEY=VALUE" in capsys.readouterr().err
    clash = ["--temperature", "0", "--set", "temperature=1"]
    assert judge(tmp_path, *clash) == FAILED and "give it once" in capsys.readouterr().err


def test_several_judges_are_one(serve, tmp_path, capsys):
    server, out = serve(rated), tmp_path / "replies.csv"
    options = ["--limit", "12", "-o", str(out)]
    assert judge(tmp_path, *options, name="openai:a+openai:b+surface") == 0
    assert {row["judge"] for row in rows(out)} == {"openai:a", "openai:b", "surface"}
    said = capsys.readouterr().out
    assert "plan: 24 calls" in said and "spent: calls 24" in said
    assert "replies: 36 parsed" in said and "spearman" in said and len(server.requests) == 24


def test_unreadable_replies_come_first_with_three_of_them(serve, tmp_path, capsys):
    """Five of twelve replies have no rating."""
    unread = completion(["It is\ngood."])
    serve(lambda number, *call: unread if number < 6 else rated(number, *call))
    assert judge(tmp_path, "--limit", "12") == 0
    said = capsys.readouterr().out
    warning = said.index("WARNING: 42% of the replies have no rating")
    counts = said.index("replies: 7 parsed, 5 unparsed, 0 refused (no_rating 5)")
    assert warning < counts < said.index("spearman")
    assert said.count("unreadable: 'It is good.'") == 3


def test_what_a_content_filter_refused_is_counted_and_not_asked_again(serve, tmp_path, capsys):
    no = error(400, "The response was filtered", code="content_filter")
    server = serve(lambda number, *call: no if number > 2 else rated(number, *call))
    for _ in range(2):
        assert judge(tmp_path, "--limit", "30") == 0
        counts = "replies: 2 parsed, 0 unparsed, 28 refused (content_filter 28)"
        assert counts in capsys.readouterr().out
    assert len(server.requests) == 30


@pytest.mark.usefixtures("whole_documents")
def test_a_limit_counts_documents_and_nought_is_all(serve, tmp_path, capsys):
    """The sample has six summaries of each article."""
    server = serve(rated)
    assert judge(tmp_path, "--limit", "2") == 0
    assert len(server.requests) == 12
    assert judge(tmp_path, "--plan", "--limit", "0") == 0
    assert "12 of 72 replies stored" in capsys.readouterr().out
    assert judge(tmp_path, "--limit", "-1") == FAILED
    assert "limit=-1: expected a whole number of at least 0" in capsys.readouterr().err


def test_on_the_sample_nothing_is_asked_unless_it_is_requested(serve, tmp_path, capsys):
    server = serve(rated)
    assert judge(tmp_path, "--source", "auto") == FAILED
    said = capsys.readouterr()
    assert said.out.startswith("SAMPLE: ") and "Give --source sample" in said.err
    assert judge(tmp_path, "--source", "auto", "--plan") == 0
    assert capsys.readouterr().out.startswith("SAMPLE: ")
    assert not server.requests


def test_a_plan_asks_nothing(serve, tmp_path, capsys):
    server = serve(rated)
    for name in ("openai:m", "batch:m"):
        assert judge(tmp_path, "--plan", "--samples", "20", "--price", "0", "2", name=name) == 0
        said = capsys.readouterr().out
        assert "plan: 72 calls" in said and "7,200 completion tokens, 0 of 1,440 replies" in said
        assert "cost 0.0144" in said
        assert judge(tmp_path, "--plan", "--logprobs", "--price", "0", "2", name=name) == 0
        said = capsys.readouterr().out
        assert "360 completion tokens" in said and "cost 0.0007" in said  # five tokens each
        assert "20 replies an item estimate them: 7,200 completion tokens, cost 0.0144" in said
        assert judge(tmp_path, "--plan", "--logprobs", name=name) == 0
        assert capsys.readouterr().out.count("cost unknown (give --price)") == 2
    assert judge(tmp_path, "--plan", name="surface") == 0
    assert "plan: surface takes no call" in capsys.readouterr().out
    assert server.requests == []


# Runs that fail or stop.


@pytest.mark.parametrize(
    "answer, why",
    [
        (
            error(422, "no such field"),
            "no request was answered: 5 failed, most often with: no such",
        ),
        (completion(["It reads well."]), "no reply could be read"),
        (completion([""], finish="length"), "no reply could be read"),
    ],
)
def test_a_run_without_one_readable_reply_fails_and_says_why(serve, tmp_path, capsys, answer, why):
    serve(lambda *_: answer)
    assert judge(tmp_path, "--limit", "5") == FAILED
    assert f"nlgjudge: {why}" in capsys.readouterr().err


def test_a_run_of_which_some_failed_says_how_many(serve, tmp_path, capsys):
    serve(lambda *call: error(400, "out of order") if call[0] in (2, 3) else rated(*call))
    assert judge(tmp_path, "--limit", "12") == FAILED
    said = capsys.readouterr()
    assert "replies: 10 parsed, 0 unparsed, 0 refused, 2 missing (not answered 2)" in said.out
    assert "2 requests failed, most often with: out of order; the same command asks" in said.err
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
    server, out = serve(rated), tmp_path / "replies.csv"
    options = ("--limit", "12", "--price", "1e6", "1e6", "--concurrency", "1", "-o", str(out))
    assert judge(tmp_path, *options, *limit) == UNFINISHED
    said = capsys.readouterr()
    assert "replies: 5 parsed, 0 unparsed, 0 refused, 7 missing (not asked 7)" in said.out
    assert f"nlgjudge: stopped: {why}" in said.err
    assert "the same command goes on from there" in said.err and "live.py" not in said.err
    assert [row["reason"] for row in rows(out)] == [""] * 5 + ["not asked"] * 7
    assert judge(tmp_path, *options) == 0 and len(server.requests) == 12


def test_a_batch_waits_and_then_is_read(serve, tmp_path, capsys):
    api = Api(lambda *_: "Score: 3")
    serve(api)
    prompts = [FLUENCY, "geval/summarization/coherence"]
    asked = ("--limit", "3", "--price", "1", "1")

    def batch(*options):
        return judge(tmp_path, *asked, *options, name="batch:m", prompts=prompts)

    assert batch("--max-cost", "0.0001") == FAILED
    assert "a batch cannot be stopped half way: nothing was submitted" in capsys.readouterr().err
    assert batch("--max-cost", "1") == UNFINISHED
    assert "6 requests are waiting for batch_0" in capsys.readouterr().err
    for name in api.batches:
        api.finish(name)
    assert batch() == 0
    assert "replies: 6 parsed, 0 unparsed, 0 refused" in capsys.readouterr().out


# Prompts.


def test_a_prompt_is_a_name_a_folder_a_text_or_a_file(serve, tmp_path, capsys):
    server = serve(rated)
    assert judge(tmp_path, "--limit", "2", prompts=("geval/summarization/",)) == 0
    assert len(server.requests) == 2 * 4  # four aspects
    file = tmp_path / "mine.txt"
    file.write_text("Summary: {{hypothesis}}\n{{source}}\nRate it from 1 to 10.", encoding="utf-8")
    out = tmp_path / "replies.csv"
    own = ["--aspect", "fluency", "--scale", "1", "10", "--form", "number"]
    given = ["--limit", "2", *own, "-o", str(out)]
    assert judge(tmp_path, *given, prompts=(OWN.replace("5", "10"), str(file))) == 0
    asked = [words(body) for body in server.requests[8:]]
    assert sum(text.startswith("How fluent is this, from 1 to 10? ") for text in asked) == 2
    assert sum(text.startswith("Summary: ") and "{{" not in text for text in asked) == 2
    assert len(rows(out)) == 4 and {row["aspect"] for row in rows(out)} == {"fluency"}
    said = capsys.readouterr().out
    assert len(re.findall(r"inline:\w{8} fluency dataset", said)) == 2  # never averaged


def test_a_pattern_reads_what_the_default_does_not(serve, tmp_path, capsys):
    serve(lambda *_: completion(["Points=<4>, errors=<2>"]))
    assert judge(tmp_path, "--limit", "3") == FAILED
    out = tmp_path / "replies.csv"
    own = ("--limit", "3", "--pattern", r"Points=<(\d)>", "-o", str(out))
    assert judge(tmp_path, *own, prompts=(FLUENCY, "geval/summarization/coherence")) == 0
    assert [row["score"] for row in rows(out)] == ["4.0"] * 6
    assert judge(tmp_path, "--pattern", "Points", "--limit", "3") == FAILED
    assert "expected a group around the rating" in capsys.readouterr().err


@pytest.mark.parametrize(
    "prompt, options, message",
    [
        ("geval/summarization/coherance", "", "did you mean 'geval/summarization/coherence'"),
        (OWN, "", "a prompt's own text needs --aspect: .*there are .*fluency"),
        (OWN, "--aspect fluancy", "no aspect 'fluancy': did you mean 'fluency'"),
        (OWN, "--aspect fluency --scale 5 1", "expected the lowest rating first"),
        (OWN, "--aspect fluency --form stairs", "no form 'stairs': did you mean 'stars'"),
        (OWN + " {{Reply}}", "--aspect fluency", "no slot '{{Reply}}'"),
        ("Rate {{source}}", "--aspect fluency", "shows nothing to judge"),
        ("From 1 to 10: {{hypothesis}}", "--aspect coherance", "did you mean 'coherence'"),
        ("Rate from 1 to 10: {{hypothesis}}", "--aspect fluency", "states a scale from 1 to 10"),
        (FLUENCY, "--aspect fluency", "--aspect: prompt .*fluency has its own"),
        ("geval/dialogue/naturalness", "", "it is written for another task"),
        ("dhp/perturb/", "", "which items do not have"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_refused_before_a_call(
    serve, tmp_path, capsys, prompt, options, message
):
    server = serve(rated)
    assert judge(tmp_path, *options.split(), prompts=[prompt]) == FAILED
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


def test_an_interrupt_is_one_line_and_loses_no_reply(tmp_path):
    path = tmp_path / "s.sqlite"
    command = ["judge", "summeval", "openai:m", "--prompts", FLUENCY, "--source", "sample"]
    command += ["--concurrency", "2", "--limit", "60", "--store", str(path)]

    def slower(number, *call):
        """Calls behind the twelfth take a minute, so that the run lasts until it is interrupted."""
        return 200, rated(number, *call), {"delay": 0 if number <= 12 else 60}

    with Loopback(slower) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        with subprocess.Popen(
            [sys.executable, "-c", COMMAND, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | environment | {"NO_PROXY": "127.0.0.1"},
        ) as process:
            while len(server.requests) < 14 and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=600)[1]
    assert process.returncode == INTERRUPTED and "Traceback" not in said
    assert said.splitlines()[-1].startswith("nlgjudge: interrupted: ")
    with Store(path) as store:
        assert store.totals()["replies"] == 12
