"""The key is in no file and in no output, whatever the server says."""

import json

import pytest

from loopback import Loopback, completion, error

KEY = "sk-leak-7Qx81mZpR4-do-not-show"

# What a user does, and what goes wrong: each error is printed as a traceback, as Python would.
WORK = """
import sys, traceback, warnings
from pathlib import Path
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.live import Live
from nlgjudge.judging.errors import JudgeError
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task

warnings.simplefilter("always")
store = Store("out/replies.sqlite")
def run(word, number=3, **settings):
    tasks = [Task(f"{word}{i}", "coherence", f"{word} {i}", {}, Reading(), 2, settings)
             for i in range(number)]
    try:
        for reply in Live("m", store, progress=True, concurrency=4).replies(tasks):
            print(reply)
    except JudgeError as error:
        print(error)
        traceback.print_exc()
run("plain", temperature=0)
run("wrong key")
run("no quota")
run("no model")
run("refused", 40)
run("page")
run("broken")
store.export("out/replies.jsonl")
store.export("out/replies.jsonl.gz")
print("done")
"""


def answer(_, __, body):
    body = json.loads(body)
    word = body["messages"][0]["content"].rsplit(" ", 1)[0]
    if "temperature" in body:
        return error(400, f"'temperature' is not for {KEY}", param="temperature")
    faults = {
        "wrong key": error(401, f"Incorrect API key provided: {KEY}"),
        "no quota": (
            *error(429, f"{KEY} has no quota", code="insufficient_quota"),
            {"x-should-retry": "false"},
        ),
        "no model": error(404, f"no such model for {KEY}"),
        "refused": error(400, f"Bearer {KEY} refused"),
        "page": (400, f"Bearer {KEY} refused".encode(), {"content-type": "text/plain"}),
        "broken": (200, f"<html>{KEY}".encode(), {"content-type": "text/html"}),
    }
    return faults.get(word) or completion(["Score: 4"] * body.get("n", 1))


@pytest.fixture
def server():
    with Loopback(answer) as made:
        yield made


def environment(server, folder):
    (folder / "tmp").mkdir(exist_ok=True)
    return {
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": server.url,
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "TMPDIR": str(folder / "tmp"),
        "IPYTHONDIR": str(folder / "ipython"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def leaks(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_script_leaves_the_key_nowhere(server, commands, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = commands.run("-c", WORK, **environment(server, tmp_path))
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stderr
    for expected in (
        "the key in OPENAI_API_KEY was refused (401): Incorrect API key provided: [key]",
        "the account has no quota left: [key] has no quota",
        "no model 'm'",
        "20 requests failed in a row, the last with: Bearer [key] refused",
    ):
        assert expected in done.stdout
    assert "Traceback" in done.stderr and "rejects temperature" in done.stderr
    assert KEY not in done.stdout + done.stderr
    assert {p.name for p in (tmp_path / "out").iterdir()} >= {"replies.sqlite", "replies.jsonl"}
    assert f"bearer {KEY}".lower() in {h["authorization"] for h in server.headers}
    assert leaks(tmp_path) == []
