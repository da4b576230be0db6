"""Servers that answer, refuse and fail in their own ways, through `judge_items` and the live judge."""

import json
import math
import warnings
from hashlib import sha256

import pytest

import nlgjudge as nj
from loopback import completion, error, right, words
from nlgjudge.judging.judge import Budget, JudgeError
from nlgjudge.judging.live import Live
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.replay import Replay
from nlgjudge.judging.scoring import responses
from nlgjudge.judging.tasks import Task

ITEMS = nj.load("summeval", "sample").items.head(6)
FLUENCY = "geval/summarization/fluency"


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch):
    monkeypatch.setattr("nlgjudge.judging.live.PAUSE", 0)


def tasks(number, n=1, **settings):
    return [
        Task(f"item{i}", "coherence", f"Rate text {i}.", {}, Reading(), n, settings)
        for i in range(number)
    ]


def message(**fields):
    """A completion with one message of these fields."""
    made = completion([None])
    made["choices"][0]["message"] = {"role": "assistant", "content": None} | fields
    return made


def broken(said):
    """A completion whose only choice has an error."""
    made = completion(["8"])
    made["choices"][0]["error"] = {"code": 502, "message": said}
    return made


def judged(store, **options):
    return nj.judge_items(ITEMS, FLUENCY, "openai:m", store=store, **options)


# What a message holds.

PARTS = [
    {"type": "thinking", "thinking": "A 2?"},
    {"type": "text", "text": "Rating"},
    {"type": "text", "text": ": 4"},
]


@pytest.mark.parametrize(
    "answer, score, reason",
    [
        (message(content=PARTS), 4, ""),
        (message(refusal="I can't rate this."), None, "refusal"),
        (message(content="", reasoning_content="It has slips. Rating: 4"), None, "reasoning_only"),
        (message(content=""), None, "empty"),
        (message(tool_calls=[{"function": {"arguments": "4"}}]), None, "tool_calls"),
        (completion(["Rating: 4, bec"], finish="length"), 4, ""),
        (completion(["Let us look"], finish="length"), None, "length"),
        (completion(["Let us look"], finish="max_tokens"), None, "length"),
        (completion([None], finish="content_filter"), None, "content_filter"),
        (completion(["Rating: 4"], finish="STOP"), 4, ""),
        (completion(["Rating: 4"], finish=None), 4, ""),
        (completion(["Rating: 4, bec"], finish="MAX_TOKENS"), 4, ""),
        (completion([None], finish="SAFETY"), None, "content_filter"),
        (error(400, "filtered", code="content_filter"), None, "content_filter"),
        (error(400, "triggering Azure OpenAI's content management policy"), None, "content_filter"),
    ],
)
def test_a_reply_is_read_or_named_and_asked_once(serve, store, answer, score, reason):
    server = serve(lambda *_: answer)
    for _ in range(2):
        found = judged(store)
        assert set(found["reason"]) == {reason}
        assert found["score"].tolist() == [score] * 6 if score else found["score"].isna().all()
    assert len(server.requests) == 6


def test_half_a_character_can_be_stored_and_exported(serve, store, tmp_path):
    half = {"model": "m\ud83d", "system_fingerprint": "fp\ud83d"}
    serve(lambda *_: json.dumps(completion(["4 \ud83d", "Straße 😀 \0"]) | half).encode())
    expected = ["4 \ufffd", "Straße 😀 \0"]
    assert [reply.text for reply in Live("m", store).replies(tasks(1, n=2))] == expected
    store.export(tmp_path / "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["reply"]["text"] for line in lines] == expected


# What a server says of an error.


@pytest.mark.parametrize(
    "answer, said, calls",
    [
        ({"error": {"message": "overloaded"}}, r"overloaded \(3 times\)", 3),
        ({"error": "out of memory"}, r"out of memory \(3 times\)", 3),
        (
            completion(["8"], finish="error"),
            r"the reply was broken off, finish_reason 'error' \(3 times\)",
            3,
        ),
        (
            completion(["8"], finish="network_error"),
            "the reply was broken off, finish_reason 'network_error'",
            3,
        ),
        (broken("Provider disconnected"), r"Provider disconnected \(3 times\)", 3),
        ((422, {"error": "too long", "error_type": "validation"}), "too long", 1),
        ((422, {"detail": "no such field"}), "no such field", 1),
        ((400, b"plain words", {"content-type": "text/plain"}), "plain words", 1),
    ],
)
def test_a_failure_is_told_in_the_servers_words(serve, store, answer, said, calls):
    server = serve(lambda *call: answer if "text 1." in words(call[2]) else right(*call))
    live = Live("m", store)
    with pytest.warns(UserWarning, match=f"1 of 3 requests failed, most often with: {said}"):
        found = list(live.replies(tasks(3)))
    assert [reply.reason for reply in found] == ["", "not answered", ""]
    assert len(server.requests) == 2 + calls == live.spent["calls"]


PAGE = "<html>" + "Please log in. " * 4000


@pytest.mark.parametrize(
    "answer, got",
    [
        ((200, b'data: {"choices": []}\n\n', {"content-type": "text/event-stream"}), "'data: {"),
        ((200, b"busy", {"content-type": "text/plain"}), "'busy'"),
        ((200, PAGE.encode(), {"content-type": "text/html"}), "'<html>Please log in."),
        ((200, b"\x89PNG\r\n\x1a\n\xff\xfe", {"content-type": "image/png"}), "'�PNG"),
        (b'{"choices": []}', "'{\"choices\": \\[\\]}'"),
        (b'{"choices": {"message": "4"}}', '\'{"choices"'),
        (b"[" * 100_000 + b"]" * 100_000, r"'\[\[\["),
    ],
)
def test_an_answer_that_is_no_completion_is_shown_in_one_short_sentence(serve, store, answer, got):
    serve(lambda *_: answer)
    said = f"expected a chat completion, JSON with choices; got {got}"
    with pytest.raises(JudgeError, match=said) as error:
        list(Live("m", store).replies(tasks(1)))
    assert len(str(error.value)) < 400


MODERATED = [
    error(403, "Your input was flagged", metadata={"reasons": ["violence"]}),
    error(403, "m requires moderation on OpenInference", code=403),
    error(400, "Invalid prompt: it was flagged as violating our usage policy"),
]


@pytest.mark.parametrize("answer", MODERATED)
@pytest.mark.parametrize("item", [0, 1])
def test_an_item_that_a_moderator_refuses_is_refused_once_and_the_run_goes_on(
    serve, store, answer, item
):
    server = serve(lambda *call: answer if f"text {item}." in words(call[2]) else right(*call))
    for _ in range(2):
        found = list(Live("m", store).replies(tasks(3)))
        assert [reply.reason for reply in found].count("content_filter") == 1
        assert found[item].reason == "content_filter" and len(server.requests) == 3


@pytest.mark.parametrize("status, said", [(404, "No endpoints found"), (403, "not for this text")])
def test_what_a_server_denies_for_one_item_is_that_items_failure(serve, store, status, said):
    denied = error(status, said)
    server = serve(lambda *call: denied if "text 1." in words(call[2]) else right(*call))
    for calls in (3, 4):  # another process knows from the store that the model answers
        with pytest.warns(UserWarning, match=f"1 of . requests failed, most often with: {said}"):
            live = Live("m", store)
            found = list(live.replies(tasks(3)))
            assert len(server.requests) == calls
    assert [reply.reason for reply in found] == ["", "not answered", ""]


LOADING = error(503, "Loading model", type="unavailable_error")


def test_a_server_that_loads_its_model_is_waited_for(serve, store, monkeypatch):
    soon = (*LOADING, {"retry-after-ms": "1"})
    server = serve(lambda *call: soon if call[0] < 12 else right(*call))
    live = Live("m", store, budget=Budget(max_calls=2))
    with pytest.warns(UserWarning, match="the server is loading its model: waiting, 5 minutes"):
        assert all(reply.text for reply in live.replies(tasks(2)))
    assert len(server.requests) == 13 and live.spent["calls"] == 2 and live.failures == 0
    monkeypatch.setattr("nlgjudge.judging.live.LOADING", 0)
    serve(lambda *_: soon)
    with pytest.raises(JudgeError, match="the server is still loading its model: Loading model"):
        list(Live("n", store).replies(tasks(2)))


def test_of_several_samples_only_those_that_the_server_broke_off_are_asked_again(serve, store):
    def answer(number, path, body):
        made = right(number, path, body)
        made["choices"][-1] |= {"finish_reason": "error"} if number == 1 else {}
        return made

    server = serve(answer)
    assert [reply.reason for reply in Live("m", store).replies(tasks(1, n=4))] == [""] * 4
    assert [body.get("n") for body in sent(server)] == [4, None]


# What a server counts.

ODD = [math.nan, math.inf, -1, True, 10**400, "12", [12], {"a": 1}, 1.5, None]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens", "usage"])
def test_a_budget_holds_whatever_the_server_counts(serve, store, odd, name, capsys):
    """Four characters are a token: "Rate text 0." is 12 // 4 + 1 = 4, its reply 21 / 4 + 1 = 6.25."""

    def answer(*call):
        usage = {"prompt_tokens": 10, "completion_tokens": 2} | {name: odd}
        return right(*call) | {"usage": odd if name == "usage" else usage}

    server = serve(answer)
    live = Live("m", store, price=(1e6, 1e6), budget=Budget(3 * 10.25), concurrency=1)
    with pytest.warns(UserWarning, match="the server reports no token usage"):
        list(live.replies(tasks(10)))
    assert len(server.requests) == 3 and live.cost == pytest.approx(30.75)
    (reply,) = store.get(live.key(tasks(1)[0])).values()
    assert reply["prompt_tokens"] is None is reply["completion_tokens"]
    assert store.totals()["replies"] == 3 and store.totals()["prompt_tokens"] == 0


@pytest.mark.parametrize(
    "answer",
    [
        completion([]),
        completion(["8"], finish="error"),
        completion(["8"]) | {"choices": None},
        completion(["8"]) | {"error": "overloaded"},
    ],
)
def test_an_answer_without_a_reply_is_paid_as_well(serve, store, answer):
    """10 prompt and 2 completion tokens, of which an answer without choices has none."""
    server = serve(lambda *call: right(*call) if call[0] == 1 else answer)
    each = 10 + answer["usage"]["completion_tokens"]
    live = Live("m", store, price=(1e6, 1e6), budget=Budget(12 + 4 * each), concurrency=1)
    with pytest.warns(UserWarning, match="the limit on cost was reached"):
        list(live.replies(tasks(90)))
    assert len(server.requests) == 5 and live.cost == 12 + 4 * each


def test_a_failed_answer_without_usage_is_paid_as_planned(serve, store):
    """12 // 4 + 1 = 4 prompt tokens, and 5 for a rating."""
    serve(lambda *_: (200, b"<html>", {"content-type": "text/html"}))
    live = Live("m", store, price=(1e6, 1e6))
    with pytest.raises(JudgeError, match="expected a chat completion"):
        list(live.replies(tasks(1)))
    assert live.cost == 3 * (4 + 5)


@pytest.mark.parametrize("amount", [math.nan, math.inf, -1])
def test_a_limit_or_a_price_is_a_finite_amount(store, amount):
    for name, given in (("max_cost", amount), ("price", (1, amount))):
        with pytest.raises(ValueError, match=f"{name}=.*: expected finite"):
            judged(store, **{"price": (1, 1), "max_cost": 1} | {name: given})


def test_one_budget_is_for_all_judges_of_a_call(serve, store):
    server = serve(right)
    judges = ["openai:a", "openai:b"]
    with pytest.warns(UserWarning, match="stopped before the end"):
        found = nj.judge_items(ITEMS, FLUENCY, judges, store=store, budget=Budget(max_calls=8))
    assert len(server.requests) == 8 and (found["reason"] == "not asked").sum() == 4


# The model that answers.


@pytest.mark.parametrize(
    "asked, answered, is_told",
    [
        ("fake", "other/cheap-8b:free", True),
        ("fake", "fake-mini", True),
        ("fake-2026-01-01", "fake-2026-02-02", True),
        ("fake", "fake-2026-01-01", False),
        ("fake-latest", "fake-20260101", False),
        ("maker/fake:free", "maker/fake", False),
        ("fake", "maker/fake", False),
        ("fake", None, False),
    ],
)
def test_another_model_than_was_asked_is_told_once_in_every_run(
    serve, store, asked, answered, is_told
):
    body = completion(["4"]) | {"model": answered, "object": ""}
    serve(lambda *_: body)
    for _ in range(2):
        judge = nj.get_judge(f"openai:{asked}", store=store)
        with warnings.catch_warnings(record=True) as said:
            nj.judge_items(ITEMS, FLUENCY, judge)
        told = f"asked {asked}, answered by {answered}: the scores are that model's"
        assert judge.notices == ([told] if is_told else []) and len(said) == is_told
    replayed = nj.get_judge(f"replay:{store.path}:{asked}")
    with warnings.catch_warnings(record=True):
        nj.judge_items(ITEMS, FLUENCY, replayed)
    assert replayed.notices == judge.notices


# Parameters that a server rejects.


def rejecting(answer, *names):
    """Answer so to requests with all of these parameters."""
    return lambda *call: answer if {*names} <= {*json.loads(call[2])} else right(*call)


def sent(server):
    """The requests without model and messages."""
    bodies = [json.loads(body) for body in server.requests]
    return [{k: v for k, v in body.items() if k not in ("model", "messages")} for body in bodies]


@pytest.mark.parametrize(
    "said",
    [
        error(400, "Only the default (1) value is supported.", param="temperature"),
        (422, {"error": "`temperature` must be strictly positive"}),
    ],
)
def test_a_rejected_parameter_is_left_out_and_said_in_every_run(serve, store, said):
    server = serve(rejecting(said, "temperature"))
    wanted = tasks(20, temperature=0, max_tokens=5)
    live = Live("m", store)
    with pytest.warns(UserWarning, match="openai:m: the server rejects temperature: left out"):
        found = list(live.replies(wanted))
    assert all(r.text for r in found) and len(server.requests) == 21 and len(live.notices) == 1
    assert sent(server)[1:] == [{"max_tokens": 5}] * 20
    # The replies are those of the request as it was asked, and know what was sent.
    assert store.get(live.key(wanted[0]))[0]["changes"] == {"temperature": None}
    with pytest.warns(UserWarning, match="rejects temperature"):
        assert list(Live("m", store).replies(wanted)) == found
    assert len(server.requests) == 21


def test_calls_in_flight_together_may_all_be_rejected(serve, store):
    said = (*error(400, "no", param="temperature"), {"delay": 0.1})
    server = serve(rejecting(said, "temperature"))
    live = Live("m", store, concurrency=16)
    with pytest.warns(UserWarning, match="rejects temperature"):
        found = list(live.replies(tasks(1) + tasks(30, temperature=0)[1:]))
    assert all(r.text for r in found) and live.failures == 0 and len(live.notices) == 1
    assert 31 <= len(server.requests) <= 30 + 16


def test_the_servers_default_is_left_out_before_a_value_that_was_asked_for(serve, store):
    """As Claude's servers take one of the two."""
    said = error(400, "`temperature` and `top_p` cannot both be specified", param="temperature")
    server = serve(rejecting(said, "temperature", "top_p"))
    with pytest.warns(UserWarning, match="rejects top_p: left out"):
        list(Live("m", store).replies(tasks(3, temperature=0, top_p=1)))
    assert sent(server)[1:] == [{"temperature": 0}] * 3


def test_a_rejected_n_is_asked_one_by_one_without_the_seed(serve, store):
    server = serve(rejecting(error(400, "n must be 1", param="n"), "n"))
    with pytest.warns(UserWarning, match="samples are asked for one by one"):
        assert len(list(Live("m", store).replies(tasks(1, n=3, seed=7)))) == 3
    assert sent(server) == [{"n": 3, "seed": 7}, {}, {}, {}]


ONE_SAMPLE = {
    "refused": rejecting(error(400, "n must be 1", param="n"), "n"),
    "ignored": lambda *_: completion(["4"]),
}


@pytest.mark.parametrize("answer", ONE_SAMPLE.values(), ids=ONE_SAMPLE)
@pytest.mark.parametrize("limit", [{"max_calls": 100}, {"max_cost": 0.0015}])
def test_a_server_of_one_sample_a_call_is_planned_again_and_held_to_the_limit(
    serve, store, answer, limit
):
    """20 calls become 400, of 4 prompt tokens and 5 of a rating."""
    server = serve(answer)
    live = Live("m", store, price=(1, 1), budget=Budget(**limit))
    first = 399 if answer is ONE_SAMPLE["ignored"] else 400
    with pytest.raises(
        JudgeError, match=f"takes {first} more calls, cost 0.0036, beyond the limit"
    ):
        list(live.replies(tasks(20, n=20)))
    assert len(server.requests) == 1
    free = Live("m", store, price=(1, 1))
    with pytest.warns(UserWarning, match="more calls") as said:
        list(free.replies(tasks(20, n=20)))
    assert sum("more calls" in str(one.message) for one in said) == 1
    assert store.totals()["replies"] == 400


def test_a_text_that_is_too_long_rejects_no_parameter(serve, store):
    long = error(400, "maximum context length is 100 tokens, max_tokens is 5", param="max_tokens")
    serve(lambda *call: long if "text 1." in words(call[2]) else right(*call))
    live = Live("m", store)
    with pytest.warns(UserWarning, match="1 of 3 requests failed"):
        list(live.replies(tasks(3, max_tokens=5)))
    assert live.notices == []


# Token probabilities.


def weighed(four, five):
    """A completion of "4" with these numbers as logarithms of the probabilities of two ratings."""
    both = [{"token": "4", "logprob": four}, {"token": "5", "logprob": five}]
    return completion(["4"], logprobs={"content": [both[0] | {"top_logprobs": both}]})


def test_token_probabilities_are_stored(serve, store):
    server = serve(lambda *_: weighed(-0.1, -2.5))
    expected = [[["4", [["4", -0.1], ["5", -2.5]]]]] * 2
    for _ in range(2):
        assert [r.logprobs for r in Live("m", store).replies(tasks(2, logprobs=True))] == expected
    assert sent(server) == [{"logprobs": True, "top_logprobs": 20}] * 2


@pytest.mark.parametrize(
    "said, allowed",
    [
        ("top_logprobs must be less than or equal to 5", 5),
        ("'top_logprobs': expected a value between 0 and 8", 8),
    ],
)
def test_a_server_of_fewer_alternatives_is_asked_for_as_many_as_it_allows(
    serve, store, said, allowed
):
    def answer(_, __, body):
        many = json.loads(body)["top_logprobs"] > allowed
        return error(400, said) if many else weighed(-0.1, -2.5)

    server = serve(answer)
    with pytest.warns(UserWarning, match=f"the server allows {allowed} alternatives of a token"):
        found = list(Live("m", store).replies(tasks(3, logprobs=True)))
    assert all(reply.logprobs for reply in found)
    assert [body["top_logprobs"] for body in sent(server)] == [20] + [allowed] * 3


def giving(four, five):
    """Answer a request for token probabilities with these numbers, else give samples."""
    both = weighed(four, five)
    return lambda *call: both if json.loads(call[2]).get("logprobs") else right(*call)


@pytest.mark.parametrize(
    "answer",
    [
        rejecting(error(400, "no", param="top_logprobs"), "logprobs"),
        *(
            rejecting(error(status, said), "logprobs")
            for status, said in (
                (403, "You are not allowed to request logprobs from this model"),
                (400, "Logprobs is not enabled for models/gemini-2.5-pro"),
                (400, "Logprobs is not supported for the current model."),
                (422, "this model has no Log Probabilities"),
                (404, "token probabilities are not allowed for gpt-5"),
                (400, "top-logprobs are not implemented"),
            )
        ),
        right,  # ignores the parameter
        giving(0.0, 0.0),
        giving(0.7, 0.3),
        giving(-0.1, -0.2),  # 0.90 and 0.82
        giving(None, None),
        giving(-0.1, None),
    ],
)
def test_without_probabilities_twenty_samples_estimate_them(serve, store, answer):
    """G-Eval, section 3.1; the reply whose probabilities were ignored is not one of them."""
    server = serve(answer)
    wanted = tasks(2, logprobs=True, temperature=0)
    with pytest.warns(
        UserWarning, match="no token probabilities: scores are estimated from 20 sam"
    ):
        found = list(Live("m", store).replies(wanted))
    assert [reply.sample_index for reply in found] == [*range(20)] * 2
    assert sent(server)[1:] == [{"temperature": 1, "top_p": 1, "n": 20}] * 2
    with pytest.warns(UserWarning, match="no token probabilities"):
        assert list(Live("m", store).replies(wanted)) == found
    assert len(server.requests) == 3
    # Another row that asks for these samples has them already.
    samples = [task._replace(n=20, settings={"temperature": 1, "top_p": 1}) for task in wanted]
    assert [r.text for r in Live("m", store).replies(samples)] == [r.text for r in found]
    assert len(server.requests) == 3 and store.totals()["prompt_tokens"] == 20
    replayed = Replay.from_store(store, "m").replies(wanted)
    assert [reply.text for reply in replayed] == [reply.text for reply in found]


def test_a_reply_among_others_without_probabilities_is_named_and_keeps_its_rating(serve, store):
    both = weighed(-0.1, -2.5)
    serve(lambda *call: completion(["4"]) if "text 2." in words(call[2]) else both)
    live = Live("m", store, concurrency=1)
    with pytest.warns(UserWarning, match="some replies came without token probabilities"):
        found = responses(live.replies(tasks(3, logprobs=True)))
    assert found["score"].round(2).tolist() == [4.08, 4.08, 4]


# Requests.


def test_azures_older_address_is_refused_with_the_one_to_set(store, monkeypatch):
    address = "https://name.openai.azure.com/openai/deployments/D?api-version=2024-06-01"
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(JudgeError, match="https://RESOURCE.openai.azure.com/openai/v1"):
        Live("m", store)


def test_a_prompt_of_ones_own_asks_for_json_where_the_server_supports_it(serve, store):
    own = nj.judging.as_prompt('{{hypothesis}} Answer {"score": N}.', aspect="fluency", form="json")
    asked = {"response_format": {"type": "json_object"}}
    server = serve(lambda *_: completion(['{"score": 4}']))
    assert set(nj.judge_items(ITEMS, own, "openai:m", store=store)["score"]) == {4}
    assert sent(server) == [asked] * 6
    no = error(400, "response_format is not supported")
    server = serve(rejecting(no, "response_format"))
    with pytest.warns(UserWarning, match="rejects response_format: left out"):
        nj.judge_items(ITEMS, own, "openai:m", store=store)
    assert sent(server)[1:] == [{}] * 6


def test_aspects_are_asked_for_by_a_schema(serve, store):
    aspects = [("Clarity", "how clear it is"), ("Tone", "its tone")]
    chats = nj.load("topical_chat", "sample").items.head(1)
    server = serve(lambda *_: completion(['{"Clarity": 4, "Tone": 2}']))
    judge = nj.get_judge("openai:m", store=store)
    chain = nj.coascore.coascore(
        chats, judge, "dialogue", "overall", aspects=aspects, final="average"
    )
    assert chain.aspect_scores["score"].tolist() == [4, 2]
    schema = sent(server)[0]["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["Clarity", "Tone"] == list(schema["properties"])


def test_equal_numbers_are_one_request_and_replies_of_an_earlier_version_are_found(
    serve, store, tmp_path
):
    server = serve(right)
    for number in (0, 0.0, False):
        list(Live("m", store).replies(tasks(1, temperature=0, extra={"a": [number, 0.5]})))
        list(Live("m", store).replies(tasks(1, temperature=0.0, extra={"a": [number, 0.5]})))
    assert len(server.requests) == 2  # False is no number
    (old,) = tasks(1, temperature=0.0)
    request = old.request("m")
    whole = json.dumps({"endpoint": server.url, "request": request}, sort_keys=True)
    asked = {"request": request, "endpoint": server.url, "prompt": "", "digest": "", "reading": {}}
    store.add(sha256(whole.encode()).hexdigest(), asked, {0: {"text": "5"}})
    assert [reply.text for reply in Live("m", store).replies([old])] == ["5"]
    store.export(tmp_path / "all.jsonl")
    store.load(tmp_path / "all.jsonl")
    assert len(server.requests) == 2


def test_one_model_name_at_two_servers_is_two_judges(serve, store):
    first, second = serve(right), serve(right)
    with pytest.MonkeyPatch.context() as patch:
        for server in (first, second, first):
            patch.setenv("OPENAI_BASE_URL", server.url)
            list(Live("m", store).replies(tasks(2)))
    assert len(first.requests) == len(second.requests) == 2
    with pytest.raises(ValueError, match="has replies of m from 2 endpoints. Name one of m@http"):
        Replay.from_store(store, "m")
    assert len(list(Replay.from_store(store, f"m@{first.url}").replies(tasks(2)))) == 2


def test_a_password_in_the_address_is_used_and_not_kept(serve, store, monkeypatch):
    server = serve(right)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url.replace("//", "//me:secret@"))
    live = Live("m", store)
    list(live.replies(tasks(1)))
    assert live.endpoint == server.url
    assert b"secret" not in store.path.read_bytes()
