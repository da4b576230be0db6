"""The key is in no file and in no output, whatever the server says and however it spells the key."""

import json
import subprocess
import tempfile
import traceback
from urllib.parse import quote

import pytest

from loopback import Loopback, completion, error
from nlgjudge.cli import main

KEY = "sk-leak/7Qx81+mZpR4=do'not'show"
PART = 12
PARTS = {
    one[at : at + PART]
    for one in (KEY, quote(KEY, safe=""), repr(KEY))
    for at in range(len(one) - PART + 1)
}

# What a user does, and what goes wrong: each error is printed as a traceback, as Python would.
WORK = """
import sys, traceback, warnings
from nlgjudge.judging import live
from nlgjudge.judging.judge import JudgeError
from nlgjudge.judging.live import Live
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task

warnings.simplefilter("always")
live.PAUSE = 0
store = Store("out/replies.sqlite")
def run(word, number=3, **settings):
    tasks = [Task(f"{word}{i}", "coherence", f"{word} {i}", {}, Reading(), 2, settings)
             for i in range(number)]
    try:
        for reply in Live("m", store, progress=True).replies(tasks):
            print(reply)
    except JudgeError as error:
        print(error)
        traceback.print_exc()
for word in sys.argv[1:]:
    run(word, 40 if word == "refused" else 3)
run("plain", temperature=0)
store.export("out/replies.jsonl")
store.export("out/replies.jsonl.gz")
print("done")
"""
SPELLINGS = {
    "whole": KEY,
    "quoted": quote(KEY, safe=""),
    "repr": repr(f"Bearer {KEY}\n"),
    "beginning": KEY[:9],
    "masked": f"{KEY[:5]}{'*' * 20}{KEY[-4:]}",
    "shortened": f"{KEY[:6]}...{KEY[-4:]}",
    "middle": KEY[4:20],
    "shouted": KEY.upper(),
}


def answer(_, request, body):
    if request[1].startswith("/moved"):
        return 307, b"", {"location": f"/v1/{quote(KEY, safe='')}/chat/completions"}
    body = json.loads(body)
    word = body["messages"][-1]["content"].rsplit(" ", 1)[0]
    if "temperature" in body:
        return error(400, f"'temperature' is not for {KEY}", param="temperature")
    faults = {
        "wrong": error(401, f"Incorrect API key provided: {KEY}"),
        "forbidden": error(403, f"Not for {SPELLINGS['masked']}"),
        "no quota": (
            *error(429, f"{KEY} has no quota", code="insufficient_quota"),
            {"x-should-retry": "false"},
        ),
        "refused": error(400, f"Bearer {KEY} refused"),
        "page": (400, f"Bearer {KEY} refused".encode(), {"content-type": "text/plain"}),
        "broken": (200, f"<html>{KEY}".encode(), {"content-type": "text/html"}),
        "malformed": {"choices": KEY},
        **{name: error(422, f"the key {said} is bad") for name, said in SPELLINGS.items()},
    }
    made = completion([f"Score: 2, says {KEY}"] * body.get("n", 1), model=f"m/{KEY}")
    return faults.get(word) or made | {"system_fingerprint": KEY}


@pytest.fixture
def server():
    with Loopback(answer) as made:
        yield made


def environment(server, folder, key=KEY):
    (folder / "tmp").mkdir(exist_ok=True)
    return {
        "OPENAI_API_KEY": key,
        "OPENAI_BASE_URL": server.url,
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "TMPDIR": str(folder / "tmp"),
        "IPYTHONDIR": str(folder / "ipython"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "NLGJUDGE_OFFLINE": "1",
        "NLGJUDGE_MIRROR": "",
        "NLGJUDGE_CACHE": str(folder / "data"),
    }


def leaks(text):
    return sorted(part for part in PARTS if part in text)


def files(folder):
    """What is in all files below a folder, symbolic links left aside."""
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert paths
    return {path: path.read_bytes().decode("latin-1") for path in paths}


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run the command, which writes as in a process of its own."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))

    def command(*arguments, **environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        capfd.readouterr()
        try:
            status = main(arguments)
        except Exception:
            status = traceback.print_exc()
        return subprocess.CompletedProcess(arguments, status, *capfd.readouterr())

    return command


def test_the_key_is_in_no_file_and_no_output(server, commands, run, house, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = environment(server, tmp_path)
    root = {"NLGJUDGE_ROOT": str(house)}
    faults = ["wrong", "forbidden", "no quota", "refused", "page", "broken", "malformed"]
    said = {"script": commands.run("-c", WORK, *faults, *SPELLINGS, **here)}
    rate = ["--traceback", "rerun", "geval/table2", "--judge", "openai:m", "--without-notebooks"]
    rate += ["--source", "sample", "--limit", "1"]
    odd = {"break": f"{KEY}\n{KEY}", "accent": f"{KEY}é", "blanks": f"\n {KEY} \r\n"}
    for name, key in odd.items():
        own = ["--store", f"{name}.sqlite"]
        said[name] = run(*rate, *own, **environment(server, tmp_path, key), **root)
    moved = here | {"OPENAI_BASE_URL": server.url.replace("/v1", "/moved"), "OPENAI_API_KEY": KEY}
    said["moved"] = run(*rate, "--store", "moved.sqlite", **moved, **root)
    rerun = ["rerun", "geval/table2", "--judge", "openai:m", "--limit", "2", "--source", "sample"]
    said["rerun"] = run(*rerun, **here, **root)
    for command in ("--help", "rerun"):
        said[f"help {command}"] = run(*{command: None, "--help": None}, **here)
    for name, done in said.items():
        assert leaks(done.stdout + done.stderr) == [], name
    assert {path: found for path, text in files(tmp_path).items() if (found := leaks(text))} == {}

    script = said["script"].stdout
    assert script.endswith("done\n"), said["script"].stderr
    assert (
        "the key in OPENAI_API_KEY was refused (401): Incorrect API key provided: [key]" in script
    )
    assert "the account has no quota left: [key] has no quota" in script
    assert "20 requests failed in a row, the last with: Bearer [key] refused" in script
    bad = [line for line in script.splitlines() if line.endswith("is bad")]
    assert len(bad) == len(SPELLINGS) and all(line.count("[key]") == 1 for line in bad)
    assert bad.count(bad[0]) == len(bad) - 1  # all of the key is gone, but for what surrounds one
    assert "Score: 2, says [key]" in script and "Traceback" in said["script"].stderr
    assert all("is not ASCII" in said[name].stderr for name in ("break", "accent"))
    assert said["blanks"].returncode == 0 == said["rerun"].returncode
    assert "redirects to /v1/[key]/chat/completions (307)" in said["moved"].stderr
    assert {h["authorization"] for h in server.headers} == {f"bearer {KEY}".lower()}
    assert list((house / "build").rglob("*.ipynb"))
