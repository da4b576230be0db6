"""What a server does not support, as servers word it: found out once a run, served another way, and said."""

import json

import pytest

from loopback import completion, error
from nlgjudge.judging.live import Live
from nlgjudge.judging.tasks import Task, endpoint, key


def tasks(number, n=1, **settings):
    return [
        Task(f"item{i}", "coherence", f"Rate text {i}.", {}, (1, 5), "form", n, settings)
        for i in range(number)
    ]


def right(body):
    return completion(["4"] * json.loads(body).get("n", 1))


def refuse(*refusals):
    """Answer rightly where no refused parameter is in the body: pairs of a parameter and the error for it."""

    def answer(number, path, body):
        for name, said in refusals:
            if name in json.loads(body):
                return said
        return right(body)

    return answer


REASONING = (
    (
        "max_tokens",
        error(
            400,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
    ),
    (
        "temperature",
        error(
            400,
            "Unsupported value: 'temperature' does not support 0 with this model. Only "
            "the default (1) value is supported.",
            param="temperature",
            code="unsupported_value",
        ),
    ),
)


def test_a_reasoning_model_that_refuses_both_is_asked_its_own_way(serve, store):
    """Two refusals in a run of 30 items, both said; nothing else is lost, and nothing is asked twice."""
    server = serve(refuse(*REASONING))
    live = Live("m", store)
    with pytest.warns(UserWarning) as said:
        found = list(live.replies(tasks(30, temperature=0, max_tokens=5)))
    assert all(reply.text == "4" for reply in found)
    assert len(server.requests) == 30 + 2
    assert sorted(live.server.notices) == [
        "the server rejects max_tokens: sent as max_completion_tokens",
        "the server rejects temperature: left out",
    ]
    assert [str(one.message) for one in said] == [f"m: {notice}" for notice in live.server.notices]
    last = json.loads(server.requests[-1])
    assert (
        last["max_completion_tokens"] == 5
        and "temperature" not in last
        and "max_tokens" not in last
    )
    assert store.get(key(last, endpoint(server.url)))[0]["text"] == "4"


@pytest.mark.parametrize(
    "said",
    [
        error(400, "Unsupported parameter: max_tokens"),
        error(400, "`max_tokens` is deprecated; use `max_completion_tokens`"),
        (
            422,
            {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "max_tokens"],
                        "msg": "not permitted",
                    }
                ]
            },
        ),
    ],
)
def test_a_refusal_without_the_field_param_is_understood(serve, store, said):
    server = serve(refuse(("max_tokens", said)))
    with pytest.warns(UserWarning, match="rejects max_tokens: sent as max_completion_tokens"):
        assert all(reply.text for reply in Live("m", store).replies(tasks(3, max_tokens=5)))
    assert len(server.requests) == 4


def test_a_text_that_is_too_long_is_no_refusal_of_a_parameter(serve, store):
    long = error(
        400,
        "This model's maximum context length is 100 tokens",
        param="messages",
        code="context_length_exceeded",
    )
    serve(lambda number, path, body: long if "text 1." in body.decode() else right(body))
    live = Live("m", store)
    with pytest.warns(UserWarning, match="1 of 3 items failed"):
        found = list(live.replies(tasks(3, max_tokens=5, temperature=0)))
    assert [reply.reason for reply in found] == [
        "",
        "not answered",
        "",
    ] and live.server.notices == []


@pytest.mark.parametrize(
    "said",
    [error(400, "Only one completion choice is allowed"), error(400, "n > 1 is not supported")],
)
def test_a_refused_n_in_plain_words(serve, store, said):
    server = serve(refuse(("n", said)))
    with pytest.warns(UserWarning, match="the server rejects n: left out"):
        assert len(list(Live("m", store).replies(tasks(2, n=3, temperature=1)))) == 6
    assert len(server.requests) == 1 + 6


def probable(body, count):
    """A completion with `count` alternatives of its one token."""
    alternatives = [
        {"token": str(rating), "logprob": -1.0 - rating} for rating in range(1, count + 1)
    ]
    return completion(
        ["1"], logprobs={"content": [{"token": "1", "logprob": -2.0, "top_logprobs": alternatives}]}
    )


@pytest.mark.parametrize(
    "said",
    [
        error(
            400,
            "Invalid value for 'top_logprobs': must be less than or equal to 5.",
            param="top_logprobs",
        ),
        error(400, "Requested sample logprobs of 20, which is greater than max allowed: 5"),
        error(400, "top_logprobs must be between 0 and 5"),
    ],
)
def test_a_server_of_fewer_alternatives_is_asked_for_as_many_as_it_gives(serve, store, said):
    def answer(number, path, body):
        asked = json.loads(body)["top_logprobs"]
        return said if asked > 5 else probable(body, asked)

    server = serve(answer)
    live = Live("m", store)
    with pytest.warns(UserWarning, match="names 5 alternatives of a token at most, not 20"):
        found = list(live.replies(tasks(3, logprobs=True, temperature=0)))
    assert [len(reply.logprobs[0][1]) for reply in found] == [5, 5, 5]
    assert len(server.requests) == 4 and len(live.server.notices) == 1


def test_calls_under_way_together_may_all_learn_of_fewer_alternatives(serve, store):
    """The first item asks for no probabilities, so that many find out at once."""
    said = (*error(400, "top_logprobs must be between 0 and 5"), {"delay": 0.1})
    server = serve(
        lambda number, path, body: (
            said if json.loads(body).get("top_logprobs", 0) > 5 else probable(body, 5)
        )
    )
    live = Live("m", store, concurrency=8)
    with pytest.warns(UserWarning, match="names 5 alternatives of a token at most"):
        found = list(live.replies(tasks(1) + tasks(20, logprobs=True)[1:]))
    assert (
        len(found) == 20
        and all(reply.logprobs for reply in found[1:])
        and len(live.server.notices) == 1
    )
    assert 21 <= len(server.requests) <= 20 + 8


def test_a_server_that_refuses_fewer_alternatives_too_is_sampled(serve, store):
    server = serve(
        refuse(("top_logprobs", error(400, "top_logprobs is limited to at most 5, or to none")))
    )
    with pytest.warns(UserWarning, match="rejects logprobs: scores are estimated from 20 samples"):
        assert len(list(Live("m", store).replies(tasks(1, logprobs=True)))) == 20
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [500, 501])
def test_refused_probabilities_called_an_internal_error_are_not_tried_again(serve, store, status):
    """As llama.cpp's servers answer."""
    server = serve(
        refuse(("logprobs", error(status, "logprobs is not supported for models without logits")))
    )
    with pytest.warns(UserWarning, match="rejects logprobs: scores are estimated from 20 samples"):
        assert len(list(Live("m", store).replies(tasks(1, logprobs=True)))) == 20
    assert len(server.requests) == 2


def test_an_internal_error_that_refuses_nothing_is_tried_again(serve, store):
    fault = (*error(500, "lost the logprobs on the way"), {"retry-after": "0.01"})
    server = serve(lambda number, path, body: fault if number == 1 else probable(body, 5))
    live = Live("m", store)
    assert all(reply.logprobs for reply in live.replies(tasks(1, logprobs=True)))
    assert len(server.requests) == 2 and live.server.notices == []


def test_probabilities_in_the_layout_of_completions(serve, store):
    """Older local servers give chat completions the lists of plain completions."""
    old = {
        "tokens": [" 4", "."],
        "token_logprobs": [-0.1, -0.2],
        "text_offset": [0, 2],
        "top_logprobs": [{" 4": -0.1, " 5": -2.5}, None],
    }
    serve(lambda *_: completion([" 4."], logprobs=old))
    live = Live("m", store)
    (reply,) = live.replies(tasks(1, logprobs=True))
    assert reply.logprobs == [[" 4", [[" 4", -0.1], [" 5", -2.5]]]] and live.server.notices == []


def test_one_seed_for_samples_asked_one_by_one_is_left_out(serve, store):
    """A server that ignores n and heeds the seed would give one reply many times over."""
    server = serve(
        lambda number, path, body: completion(["1" if "seed" in json.loads(body) else str(number)])
    )
    with pytest.warns(UserWarning, match="with one seed would all be alike: the seed is left out"):
        found = list(Live("m", store).replies(tasks(2, n=4, temperature=1, seed=7)))
    assert len({reply.text for reply in found}) == 8
    assert ["seed" in json.loads(body) for body in server.requests] == [True] + [False] * 8


def test_a_seed_stays_where_a_call_gives_all_samples(serve, store):
    server = serve(lambda number, path, body: right(body))
    live = Live("m", store)
    assert len(list(live.replies(tasks(2, n=4, temperature=1, seed=7)))) == 8
    assert (
        all(json.loads(body)["seed"] == 7 for body in server.requests) and live.server.notices == []
    )
