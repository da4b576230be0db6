"""The store: a reply that is in stays as it is."""

import gzip
import json
import os
import resource
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from nlgjudge.cli import main
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import endpoint, key

ENDPOINT = "https://api.example.com/v1"
REQUEST = {
    "model": "m",
    "messages": [{"role": "user", "content": "Größe?\n{{Document}} \\ '\""}],
    "temperature": 0.5,
}
KEY = key(REQUEST, ENDPOINT)
OTHER = key({"model": "n"}, ENDPOINT)
FULL = {
    "text": "Rating: 5\n",
    "reason": "",
    "logprobs": [["5", [["5", -0.25]]]],
    "prompt_tokens": 12,
    "completion_tokens": 1,
    "cost": 0.5,
    "model": "m-1",
    "fingerprint": "fp",
    "changes": {"temperature": None},
}


def asked(request=REQUEST, prompt="geval/summarization/fluency"):
    reading = {"form": "form", "scale": [1, 5], "options": {}, "pattern": ""}
    known = {"endpoint": ENDPOINT, "prompt": prompt, "digest": "abc"}
    return {"request": request, **known, "reading": reading}


def filled(store):
    store.add(KEY, asked(), {0: FULL, 3: {"reason": "content_filter"}, 4: {"text": "It is good."}})
    store.add(OTHER, asked({"model": "n"}, prompt=""), {0: {"text": "4"}})
    return store


def lines(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as handle:
        return handle.read().splitlines()


def test_a_reply_is_found_by_key_and_sample_and_never_changes(store):
    found = filled(store).get(KEY)
    assert list(found) == [0, 3, 4] and found[0] == FULL
    assert (found[3]["text"], found[3]["logprobs"], found[3]["cost"]) == ("", [], None)
    assert store.get("unknown") == {}
    store.add(KEY, asked(), {0: FULL | {"text": "1", "cost": 9}, 1: {"text": "new"}})
    assert store.get(KEY)[0] == FULL and store.get(KEY)[1]["text"] == "new"
    totals = {"replies": 5, "prompt_tokens": 12, "completion_tokens": 1, "cost": 0.5}
    assert store.totals() == totals
    assert store.endpoints() == {("m", ENDPOINT): 4, ("n", ENDPOINT): 1}
    assert store.endpoints("n") == {("n", ENDPOINT): 1}
    assert store.reply_length("m", ENDPOINT, "abc") == 1


def test_the_key_is_of_the_whole_request_and_the_endpoint_in_any_order():
    assert key(dict(reversed(REQUEST.items())), ENDPOINT) == KEY
    changed = [REQUEST | {"model": "n"}, REQUEST | {"temperature": 0}, REQUEST | {"top_p": 1}]
    keys = {key(request, ENDPOINT) for request in changed} | {KEY, key(REQUEST, ENDPOINT + "/v2")}
    assert len(keys) == 5


@pytest.mark.parametrize(
    "written, meant",
    [
        ("HTTPS://me:secret@API.example.com:443/v1/?key=secret#x", "https://api.example.com/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("http://localhost/sk-0123456789/v1", "http://localhost/[key]/v1"),
        ("", "https://api.openai.com/v1"),
    ],
)
def test_one_address_has_one_spelling_without_secrets(written, meant, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    assert endpoint(written) == meant


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz"])
def test_export_and_import(store, tmp_path, name, capsys):
    path = tmp_path / name
    filled(store)
    assert main(["replies", "export", str(path), "--store", str(store.path)]) == 0
    rows = [json.loads(line) for line in lines(path)]
    assert len(rows) == 4 and {"key": KEY, "sample": 0, **asked(), "reply": FULL} in rows
    with Store(tmp_path / "other.sqlite") as other:
        other.add(KEY, asked(), {0: {"text": "was here before"}})
        for _ in range(2):
            assert main(["replies", "import", str(path), "--store", str(other.path)]) == 0
        assert other.get(KEY)[0]["text"] == "was here before"
        assert other.get(KEY)[3] == store.get(KEY)[3] and other.get(OTHER) == store.get(OTHER)
    assert "4 replies in" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change, message",
    [
        ({"endpoint": "https://elsewhere.example/v1"}, "expected the key of its request"),
        ({"sample": "x"}, "not a stored reply"),
        ({"reply": None}, "not a stored reply"),
        ("[1]", "not a stored reply"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_added(store, tmp_path, change, message):
    filled(store).export(tmp_path / "all.jsonl")
    text = lines(tmp_path / "all.jsonl")
    place = next(i for i, line in enumerate(text) if json.loads(line)["key"] == KEY)
    good = json.loads(text[place])
    text[place] = change if isinstance(change, str) else json.dumps(good | change)
    (tmp_path / "bad.jsonl").write_text("\n".join(text), encoding="utf-8")
    with Store(tmp_path / "other.sqlite") as other:
        with pytest.raises(ValueError, match=f"bad.jsonl, line {place + 1}: {message}"):
            other.load(tmp_path / "bad.jsonl")
        assert other.totals()["replies"] == 0


def test_another_file_is_refused_and_left_alone(tmp_path):
    notes, foreign = tmp_path / "notes.txt", tmp_path / "foreign.sqlite"
    notes.write_text("Some notes, longer than the header of a database would be. " * 20)
    with closing(sqlite3.connect(foreign)) as database:
        database.execute("CREATE TABLE birds (name TEXT)")
    for path in (notes, foreign):
        before = path.read_bytes()
        with pytest.raises(ValueError, match=rf"{path.name} is not a store of replies \(.*Name"):
            Store(path)
        assert path.read_bytes() == before
    with pytest.raises(PermissionError, match="the store cannot be opened"):
        Store(tmp_path)


def test_a_full_disk_is_named_and_what_was_stored_stays(tmp_path):
    path = tmp_path / "replies.sqlite"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with filled(Store(path)) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**18, hard))
        try:
            with pytest.raises(OSError, match=r"replies.sqlite: .* Is the disk full\?"):
                store.add(KEY, asked(), {9: {"text": "x" * 2**20}})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert store.totals()["replies"] == 4


def test_a_store_that_must_not_be_written_is_read():
    """As nobody, for whom root's files are read-only."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "replies.sqlite"
        filled(Store(path)).close()
        path.chmod(0o444)
        Path(name).chmod(0o555)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        try:
            with Store(path) as store:
                assert store.get(KEY)[0] == FULL and store.totals()["replies"] == 4
                with pytest.raises(PermissionError, match="must not be written.*name another"):
                    store.add("x", asked(), {0: FULL})
                with pytest.raises(PermissionError, match="must not be written.*name another"):
                    store.asking().__enter__()
        finally:
            if is_root:
                os.seteuid(0)
            Path(name).chmod(0o755)


def test_replies_are_dropped_to_be_asked_again(store):
    filled(store)
    store.drop([(KEY, 4)])
    assert list(store.get(KEY)) == [0, 3]
    filled(store)  # what was dropped is stored again, and what was asked is still known
    assert list(store.get(KEY)) == [0, 3, 4]
    assert [row[2] for row in store.rows(model="m")] == [asked()] * 3
