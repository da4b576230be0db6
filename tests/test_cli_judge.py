"""`nlgjudge judge` as a user types it, about the sample, against a server on loopback.

An article of the sample has six summaries.
"""

import csv
import json
import re

import pytest

from loopback import completion, error, words
from nlgjudge.cli import FAILED, UNFINISHED, main

FLUENCY = "geval/summarization/fluency"
OWN = "How fluent is this, from 1 to 5? {{hypothesis}}"


def rated(_, __, body):
    """A rating that differs from text to text."""
    return completion([f"Score: {1 + len(words(body)) % 3}"] * json.loads(body).get("n", 1))


@pytest.fixture
def judge(tmp_path, monkeypatch, capsys):
    """Run the command without real data; return its status, and what it printed."""
    monkeypatch.setenv("NLGJUDGE_MIRROR", "")
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    monkeypatch.setenv("NLGJUDGE_CACHE", str(tmp_path / "cache"))

    def run(*options, name="openai:m", prompts=(FLUENCY,), source="sample"):
        prompts = [word for prompt in prompts for word in ("--prompts", prompt)]
        status = main(["judge", "summeval", name, *prompts, "--source", source, *options])
        return status, capsys.readouterr()

    return run


def rows(path):
    with path.open(encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def test_a_run_shows_plan_replies_cost_and_agreement(serve, judge, tmp_path):
    server = serve(rated)
    out = tmp_path / "replies.csv"
    status, printed = judge("--limit", "2", "--price", "1e6", "1e6", "-o", str(out))
    assert status == 0
    assert "plan: 12 calls, " in printed.out
    assert "60 completion tokens, 0 of 12 replies stored" in printed.out
    # The server counts ten prompt and two completion tokens a call, each at a price of 1.
    assert "spent: calls 12, prompt_tokens 120, completion_tokens 24, cost 144.0000" in printed.out
    counts = printed.out.index("replies: 12 parsed, 0 unparsed, 0 refused\n")
    assert counts < printed.out.index(f"{FLUENCY} fluency dataset")
    assert len(server.requests) == 12 == len(rows(out))
    assert {row["prompt"] for row in rows(out)} == {FLUENCY}


def test_every_parameter_that_is_given_is_sent_and_no_other(serve, judge):
    server = serve(rated)
    given = ["--temperature", "0", "--set", "top_p=0.5", "--set", "seed=0", "--set", 'stop=["x"]']
    assert judge("--limit", "1", *given, "--set", "reasoning_effort=low")[0] == 0
    assert judge("--limit", "1")[0] == 0
    expected = {"temperature": 0, "top_p": 0.5, "seed": 0, "stop": ["x"], "reasoning_effort": "low"}
    bodies = [json.loads(body) for body in server.requests]
    sent = [{k: v for k, v in body.items() if k not in ("model", "messages")} for body in bodies]
    assert sent == [expected] * 6 + [{}] * 6
    status, printed = judge("--set", "seed")
    assert status == 2 and "expected KEY=VALUE" in printed.err


def test_several_judges_are_one(serve, judge, tmp_path):
    server = serve(rated)
    out = tmp_path / "replies.csv"
    status, printed = judge("--limit", "2", "-o", str(out), name="openai:a+openai:b+surface")
    assert status == 0
    assert {row["judge"] for row in rows(out)} == {"openai:a", "openai:b", "surface"}
    assert "replies: 36 parsed" in printed.out and "spearman" in printed.out
    assert len(server.requests) == 24


def test_unreadable_replies_come_first_with_three_of_them(serve, judge):
    """Five of twelve replies have no rating."""
    unread = completion(["It is\ngood."])
    serve(lambda number, *call: unread if number < 6 else rated(number, *call))
    status, printed = judge("--limit", "2")
    assert status == 0
    warning = printed.out.index("WARNING: 42% of the replies have no rating")
    counts = printed.out.index("replies: 7 parsed, 5 unparsed, 0 refused (no_rating 5)")
    assert warning < counts < printed.out.index("spearman")
    assert printed.out.count("unreadable: 'It is good.'") == 3


def test_on_the_sample_nothing_is_asked_unless_it_is_requested(serve, judge):
    server = serve(rated)
    status, printed = judge(source="auto")
    assert status == FAILED
    assert printed.out.startswith("SAMPLE: ") and "Give --source sample" in printed.err
    status, printed = judge("--plan", source="auto")
    assert status == 0 and printed.out.startswith("SAMPLE: ")
    assert not server.requests


def test_a_plan_asks_nothing(serve, judge):
    server = serve(rated)
    _, printed = judge("--plan", "--samples", "20", "--price", "0", "2")
    assert "plan: 72 calls" in printed.out
    assert "7,200 completion tokens, 0 of 1,440 replies" in printed.out
    assert "cost 0.0144" in printed.out
    _, printed = judge("--plan", "--logprobs", "--price", "0", "2")
    assert "360 completion tokens" in printed.out and "cost 0.0007" in printed.out  # five each
    assert "20 replies an item estimate them: 7,200 completion tokens, cost 0.0144" in printed.out
    _, printed = judge("--plan")
    assert "cost unknown (give --price)" in printed.out
    assert "plan: surface takes no call" in judge("--plan", name="surface")[1].out
    assert server.requests == []


# Runs that fail or stop.


@pytest.mark.parametrize(
    "answer, why",
    [
        (
            error(422, "no such field"),
            "no request was answered: 6 failed, most often with: no such",
        ),
        (completion(["It reads well."]), "no reply could be read"),
        (completion([""], finish="length"), "no reply could be read"),
    ],
)
def test_a_run_without_one_readable_reply_fails_and_says_why(serve, judge, answer, why):
    serve(lambda *_: answer)
    status, printed = judge("--limit", "1")
    assert status == FAILED and f"nlgjudge: {why}" in printed.err


def test_a_run_of_which_some_failed_says_how_many(serve, judge):
    serve(lambda *call: error(400, "out of order") if call[0] in (2, 3) else rated(*call))
    status, printed = judge("--limit", "2")
    assert status == FAILED
    assert "10 parsed, 0 unparsed, 0 refused, 2 missing (not answered 2)" in printed.out
    assert "2 requests failed, most often with: out of order; the same command asks" in printed.err
    assert judge("--limit", "2")[0] == 0


@pytest.mark.parametrize(
    "limit, why",
    [
        (("--max-calls", "5"), "the limit of 5 calls was reached"),
        (("--max-cost", "60"), "the limit on cost was reached: 60 of 60"),
    ],
)
def test_a_run_that_a_limit_stopped_says_so_and_goes_on(serve, judge, tmp_path, limit, why):
    """A call costs twelve, so that five reach a limit of sixty."""
    server = serve(rated)
    out = tmp_path / "replies.csv"
    options = ("--limit", "2", "--price", "1e6", "1e6", "--concurrency", "1", "-o", str(out))
    status, printed = judge(*options, *limit)
    assert status == UNFINISHED
    assert "5 parsed, 0 unparsed, 0 refused, 7 missing (not asked 7)" in printed.out
    assert f"nlgjudge: stopped: {why}" in printed.err
    assert "the same command goes on from there" in printed.err
    assert [row["reason"] for row in rows(out)] == [""] * 5 + ["not asked"] * 7
    assert judge(*options)[0] == 0 and len(server.requests) == 12


# Prompts.


def test_a_prompt_is_a_name_a_folder_a_text_or_a_file(serve, judge, tmp_path):
    server = serve(rated)
    assert judge("--limit", "1", prompts=("geval/summarization/",))[0] == 0
    assert len(server.requests) == 6 * 4  # four aspects
    file = tmp_path / "mine.txt"
    file.write_text("Summary: {{hypothesis}}\n{{source}}\nRate it from 1 to 10.", encoding="utf-8")
    own = ["--aspect", "fluency", "--scale", "1", "10"]
    status, printed = judge("--limit", "2", *own, prompts=(OWN.replace("5", "10"), str(file)))
    assert status == 0
    asked = [words(body) for body in server.requests[24:]]
    assert sum(text.startswith("How fluent is this, from 1 to 10? ") for text in asked) == 12
    assert sum(text.startswith("Summary: ") and "{{" not in text for text in asked) == 12
    assert len(re.findall(r"inline:\w{8} fluency dataset", printed.out)) == 2  # never averaged


def test_a_pattern_reads_what_the_default_does_not(serve, judge):
    serve(lambda *_: completion(["Points=<4>, errors=<2>"]))
    assert judge("--limit", "1")[0] == FAILED
    prompts = (FLUENCY, "geval/summarization/coherence")
    status, printed = judge("--limit", "1", "--pattern", r"Points=<(\d)>", prompts=prompts)
    assert status == 0 and "replies: 12 parsed" in printed.out
    status, printed = judge("--pattern", "Points", "--limit", "1")
    assert status == FAILED and "expected a group around the rating" in printed.err


@pytest.mark.parametrize(
    "prompt, options, message",
    [
        ("geval/summarization/coherance", "", "did you mean 'geval/summarization/coherence'"),
        (OWN, "", "a prompt's own text needs --aspect: .*there are .*fluency"),
        (OWN, "--aspect fluancy", "no aspect 'fluancy': did you mean 'fluency'"),
        (FLUENCY, "--aspect fluency", "--aspect: prompt .*fluency has its own"),
        ("geval/dialogue/naturalness", "", "it is written for another task"),
        ("dhp/perturb/", "", "which items do not have"),
        (FLUENCY, "--limit -1", "limit=-1: expected a whole number of at least 0"),
    ],
)
def test_what_cannot_be_used_is_refused_before_a_call(serve, judge, prompt, options, message):
    server = serve(rated)
    status, printed = judge(*options.split(), prompts=[prompt])
    assert status == FAILED and re.search(message, printed.err)
    assert server.requests == []
