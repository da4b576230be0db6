"""The live judge against a server that computes: llama.cpp behind its Python package, with a tiny model built here.

The scripted server of the other tests answers what we think that servers answer. This one answers as it does. Its
model has random weights, so that its words mean nothing and its probabilities are real.
"""

import json
import math
import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

import nlgjudge as nj
from nlgjudge.judging.live import Live
from nlgjudge.judging.prompts import as_prompt
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task

HOW = "pip install 'nlgjudge[served]' for this test"
pytest.importorskip("gguf", reason=f"no gguf, which writes the model: {HOW}")
pytest.importorskip("llama_cpp", reason=f"no llama_cpp, which serves it: {HOW}")
pytest.importorskip("llama_cpp.server.app", reason=f"no server in this llama_cpp: {HOW}")

PROMPTS = ["geval/summarization/coherence", "geval/summarization/fluency"]
START_SECONDS = 120


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of random weights."""
    from tiny_model import build

    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    build(path)
    return path


def start(model, folder, *, logits_all):
    """Serve a model in a process of its own; its address and the process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "llama_cpp.server",
        "--model",
        str(model),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--n_ctx",
        "8192",
        "--n_threads",
        "1",
        "--logits_all",
        str(logits_all),
        "--verbose",
        "false",
    ]
    said = folder / f"server{port}.log"
    with said.open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}/v1"
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=5):
                return url, process
        except OSError:
            time.sleep(0.2)
    process.kill()
    pytest.fail(f"the server did not start: {said.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def with_probabilities(model, tmp_path_factory):
    url, process = start(model, tmp_path_factory.mktemp("server"), logits_all=True)
    yield url
    process.terminate()
    process.wait(600)


@pytest.fixture(scope="module")
def without_probabilities(model, tmp_path_factory):
    """As it starts by default: it refuses token probabilities, as an internal error."""
    url, process = start(model, tmp_path_factory.mktemp("server"), logits_all=False)
    yield url
    process.terminate()
    process.wait(600)


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def at(monkeypatch, tmp_path):
    """Let the judge ask a server, and keep its replies in a store of the test's own."""

    def ask_at(url):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        return Store(tmp_path / "replies.sqlite")

    return ask_at


@pytest.fixture(scope="module")
def items():
    return nj.load("summeval", "sample").items.head(4)


def ask_directly(url, text, **parameters):
    """One completion, without any of our code."""
    body = {"model": "tiny", "messages": [{"role": "user", "content": text}]} | parameters
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        (choice,) = json.load(answer)["choices"]
    return choice


def by_hand(choice, ratings):
    """Equation 1: the ratings weighed by the probability of their tokens where the first rating stands."""
    for token in choice["logprobs"]["content"]:
        if token["token"].strip() in ratings:
            weights = dict.fromkeys(ratings, 0.0)
            for other in token["top_logprobs"]:
                if other["token"].strip() in ratings:
                    weights[other["token"].strip()] += math.exp(other["logprob"])
            return sum(int(rating) * weight for rating, weight in weights.items()) / sum(
                weights.values()
            )
    return math.nan


def test_equation_1_from_real_probabilities(with_probabilities, at, items):
    store = at(with_probabilities)
    found = nj.judge_items(
        items, PROMPTS, "openai:tiny", temperature=0, max_tokens=1, logprobs=True, store=store
    )
    expected = []
    for name in PROMPTS:
        prompt = nj.prompt(name)
        ratings = [str(rating) for rating in range(int(prompt.scale[0]), int(prompt.scale[1]) + 1)]
        for item in items.itertuples():
            text = prompt.render({"source": item.source, "hypothesis": item.hypothesis})
            choice = ask_directly(
                with_probabilities,
                text,
                temperature=0,
                max_tokens=1,
                logprobs=True,
                top_logprobs=20,
            )
            expected.append(by_hand(choice, ratings))
    assert found["score"].tolist() == pytest.approx(expected, abs=1e-4, nan_ok=True)
    read = found["score"].dropna()
    assert len(read) >= 4 and (read % 1 != 0).all() and read.nunique() == len(read)
    assert found.loc[found["score"].isna(), "reason"].eq("no_rating").all()


def test_yes_and_no_from_real_probabilities(with_probabilities, at, items):
    """QAGS's form: the probability of Yes against that of No."""
    store = at(with_probabilities)
    prompt = as_prompt("{{hypothesis}} True?", form="yes_no", aspect="consistency")
    found = nj.judge_items(
        items, prompt, "openai:tiny", temperature=0, max_tokens=60, logprobs=True, store=store
    )
    expected = []
    for item in items.itertuples():
        choice = ask_directly(
            with_probabilities,
            prompt.render({"hypothesis": item.hypothesis}),
            temperature=0,
            max_tokens=60,
            logprobs=True,
            top_logprobs=20,
        )
        content = choice["logprobs"]["content"]
        first = next((token for token in content if token["token"].strip() in ("Yes", "No")), None)
        if first is None:
            expected.append(math.nan)
            continue
        given = {
            other["token"].strip(): math.exp(other["logprob"]) for other in first["top_logprobs"]
        }
        expected.append(given.get("Yes", 0) / (given.get("Yes", 0) + given.get("No", 0)))
    assert found["score"].tolist() == pytest.approx(expected, abs=1e-4, nan_ok=True)
    assert found["score"].notna().any()


def test_samples_of_a_server_that_ignores_n(with_probabilities, at, items):
    store = at(with_probabilities)
    with pytest.warns(UserWarning, match="one of 6 samples: the rest is asked for one by one"):
        found = nj.judge_items(
            items, PROMPTS[0], "openai:tiny", samples=6, temperature=1, max_tokens=4, store=store
        )
    by_item = found.groupby("item_id")["text"].agg(["size", "nunique"])
    assert (by_item["size"] == 6).all() and (by_item["nunique"] > 1).all()


def test_one_seed_does_not_make_all_samples_alike(with_probabilities, at, items):
    seeded = {"temperature": 1, "max_tokens": 8, "seed": 3}
    alike = {
        ask_directly(with_probabilities, "Rate this.", **seeded)["message"]["content"]
        for _ in range(3)
    }
    assert len(alike) == 1
    store = at(with_probabilities)
    with pytest.warns(UserWarning, match="with one seed would all be alike: the seed is left out"):
        found = nj.judge_items(
            items, PROMPTS[0], "openai:tiny", samples=4, sampling=seeded, store=store
        )
    assert (found.groupby("item_id")["text"].nunique() > 1).all()


def test_temperature_0_repeats_itself(with_probabilities, at, items):
    store = at(with_probabilities)
    settings = {"temperature": 0, "max_tokens": 6}
    found = nj.judge_items(items, PROMPTS[0], "openai:tiny", store=store, **settings)
    prompt = nj.prompt(PROMPTS[0])
    for text, item in zip(found["text"], items.itertuples()):
        asked = prompt.render({"source": item.source, "hypothesis": item.hypothesis})
        assert text == ask_directly(with_probabilities, asked, **settings)["message"]["content"]


def test_a_reply_that_is_cut_at_max_tokens_keeps_its_text(with_probabilities, at):
    text = "Rate this text."
    choice = ask_directly(with_probabilities, text, temperature=0, max_tokens=1)
    assert choice["finish_reason"] == "length"
    live = Live("tiny", at(with_probabilities))
    settings = {"temperature": 0, "max_tokens": 1}
    (reply,) = live.replies([Task("item", "fluency", text, {}, (1, 5), "text", settings=settings)])
    assert reply.text == choice["message"]["content"] and reply.text and reply.reason == ""
    assert live.spent["calls"] == 1 and live.spent["completion_tokens"] == 1


def test_an_unknown_parameter_is_no_trouble(with_probabilities, at, items):
    store = at(with_probabilities)
    found = nj.judge_items(
        items,
        PROMPTS[0],
        "openai:tiny",
        temperature=0,
        max_tokens=4,
        store=store,
        sampling={"reasoning_effort": "low"},
    )
    assert (found["text"] != "").all()


def test_a_text_beyond_the_context_fails_alone(with_probabilities, at):
    texts = ["Rate this.", "x " * 20_000, "Rate that."]
    wanted = [
        Task(
            f"item{place}",
            "fluency",
            text,
            {},
            (1, 5),
            "text",
            settings={"max_tokens": 4, "temperature": 0},
        )
        for place, text in enumerate(texts)
    ]
    with pytest.warns(
        UserWarning, match="1 of 3 items failed, with: This model's maximum context length is 8192"
    ):
        found = list(Live("tiny", at(with_probabilities)).replies(wanted))
    assert [reply.reason for reply in found] == ["", "not answered", ""]


def test_refused_probabilities_become_samples_at_the_first_answer(without_probabilities, at, items):
    """The server calls it an internal error; it is not asked six times for what it cannot do."""
    store = at(without_probabilities)
    live = Live("tiny", store)
    with pytest.warns(
        UserWarning, match="rejects logprobs: scores are estimated from 20 samples at temperature 1"
    ):
        found = nj.judge_items(items, PROMPTS[0], live, temperature=0, max_tokens=4, logprobs=True)
    assert (found.groupby("item_id").size() == 20).all()
    assert live.spent["calls"] == 1 + 20 * len(items)
    assert os.environ["OPENAI_BASE_URL"] == without_probabilities
