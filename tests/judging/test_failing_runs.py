"""A run whose calls failed says so and why, whatever the number of its items; each fault by real HTTP."""

import json
import shutil
import socket
import ssl
import subprocess

import pytest

from loopback import completion, error
from nlgjudge.judging.errors import JudgeError
from nlgjudge.judging.live import Limits, Live
from nlgjudge.judging.server import CONNECT_TRIES
from nlgjudge.judging.tasks import Task

SOON = {"retry-after": "0.05"}


def tasks(number, **settings):
    return [
        Task(f"item{i}", "coherence", f"Rate text {i}.", {}, (1, 5), "form", 1, settings)
        for i in range(number)
    ]


def right(*_):
    return completion(["Score: 4"])


@pytest.mark.parametrize("number", [1, 5, 19])
@pytest.mark.parametrize(
    "answer, why",
    [
        (
            lambda *_: (422, {"detail": [{"loc": ["body", "seed"], "msg": "field required"}]}),
            "field required",
        ),
        (lambda *_: error(400, "context too long"), "context too long"),
        (lambda *_: (*error(500, "out of memory"), SOON), "out of memory"),
        (lambda *_: b"<html>", r"no completion in the answer \(JSONDecodeError\), 3 times"),
    ],
)
def test_a_run_without_one_answer_fails_and_says_why(
    serve, store, monkeypatch, number, answer, why
):
    monkeypatch.setattr("nlgjudge.judging.server.RETRIES", 1)
    serve(answer)
    with pytest.raises(
        JudgeError, match=f"no item was answered: {number} failed, (all )?with: .*{why}"
    ):
        list(Live("m", store).replies(tasks(number)))


def test_a_port_where_nobody_listens_ends_at_the_first_item(serve, store, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and never listening
        serve(right)
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        live = Live("m", store)
        with pytest.raises(
            JudgeError, match=r"no server answers at http://127.0.0.1:\d+/v1 \(.*\): check"
        ):
            list(live.replies(tasks(5)))
    assert live.server.calls == 1


def test_a_host_that_there_is_not(serve, store, monkeypatch):
    serve(right)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://no-such-host.invalid/v1")
    live = Live("m", store)
    with pytest.raises(JudgeError, match="no server answers at http://no-such-host.invalid/v1"):
        list(live.replies(tasks(3)))
    assert live.server.calls == 1


@pytest.mark.skipif(not shutil.which("openssl"), reason="makes a certificate with openssl")
def test_a_certificate_that_nobody_vouches_for(serve, store, tmp_path):
    paths = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "certificate.pem"]
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "1",
            "-subj",
            "/CN=127.0.0.1",
            *paths,
        ],
        check=True,
        capture_output=True,
    )
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "certificate.pem", tmp_path / "key.pem")
    server = serve(right, tls=tls)
    with pytest.raises(
        JudgeError, match="no server answers at https://.*certificate verify failed"
    ):
        list(Live("m", store).replies(tasks(3)))
    assert server.requests == []


def test_connections_that_are_cut_are_few_until_the_server_has_answered_once(serve, store):
    server = serve(lambda *_: None)
    with pytest.raises(JudgeError, match="no server answers at"):
        list(Live("m", store).replies(tasks(5)))
    assert len(server.requests) == CONNECT_TRIES
    # Once it has answered, each call is tried as often as ever.
    patient = serve(lambda number, *_: right() if number == 1 or number > 5 else None)
    assert [reply.text for reply in Live("m", store).replies(tasks(2))] == ["Score: 4"] * 2
    assert len(patient.requests) == 1 + 5


def test_a_run_in_which_some_failed_says_how_many_and_the_commonest_reason(serve, store):
    def answer(number, path, body):
        asked = json.loads(body)["messages"][0]["content"]
        if asked.endswith(("1.", "2.")):
            return error(400, "context too long")
        return error(400, "no such language") if asked.endswith("3.") else right()

    server = serve(answer)
    live = Live("m", store)
    with pytest.warns(
        UserWarning, match="openai:m: 3 of 10 items failed, most often with: context too long"
    ):
        found = list(live.replies(tasks(10)))
    assert [reply.reason for reply in found].count("not answered") == 3 == live.failures
    assert live.reasons == {"context too long": 2, "no such language": 1}
    server.answer = right
    assert all(reply.text for reply in Live("m", store).replies(tasks(10)))
    assert len(server.requests) == 10 + 3


def test_what_was_not_asked_differs_from_what_was_not_answered(serve, store):
    serve(lambda number, *_: error(400, "no") if number == 2 else right())
    live = Live("m", store, limits=Limits(calls=3), concurrency=1)
    with pytest.warns(
        UserWarning, match="stopped before the end: the limit of 3 calls was reached"
    ):
        found = list(live.replies(tasks(6)))
    assert [reply.reason for reply in found].count("") == 2
    assert {reply.reason for reply in found} == {"", "not asked"}


# What servers refuse.


@pytest.mark.parametrize(
    "answer",
    [
        (422, {"detail": [{"loc": ["body", "temperature"], "msg": "extra fields not permitted"}]}),
        (422, {"error": {"message": "not supported", "param": "temperature"}}),
    ],
)
def test_a_422_about_a_parameter_is_adapted_to_as_a_400_is(serve, store, answer):
    server = serve(lambda _, __, body: answer if "temperature" in json.loads(body) else right())
    with pytest.warns(UserWarning, match="m: the server rejects temperature: left out"):
        found = list(Live("m", store).replies(tasks(3, temperature=0)))
    assert [reply.text for reply in found] == ["Score: 4"] * 3 and len(server.requests) == 4


@pytest.mark.parametrize(
    "words",
    [
        "You are not allowed to request logprobs from this model",
        "Log-probabilities are not available for your tier",
        "No log probs here",
    ],
)
def test_a_403_about_token_probabilities_is_no_trouble_with_the_key(serve, store, words):
    server = serve(
        lambda _, __, body: (
            error(403, words)
            if "logprobs" in json.loads(body)
            else completion(["4"] * json.loads(body)["n"])
        )
    )
    with pytest.warns(
        UserWarning, match="rejects logprobs: scores are estimated from 20 samples at temper"
    ):
        found = list(Live("m", store).replies(tasks(2, logprobs=True)))
    assert len(found) == 40 and len(server.requests) == 3


def test_another_403_still_ends_the_run(serve, store):
    serve(lambda *_: error(403, "no 'temperature' for you, whoever you are"))
    with pytest.raises(JudgeError, match=r"may not use this model \(403\)"):
        list(Live("m", store).replies(tasks(2, temperature=0)))
