"""The store: what is in stays as it is, whoever writes and however a writer ends."""

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import key

REQUEST = {
    "model": "m",
    "messages": [{"role": "user", "content": "Größe?\n{{Document}} \\ '\""}],
    "temperature": 0.5,
}
KEY = key(REQUEST)
OTHER = key({"model": "m"})
FULL = {
    "key": KEY,
    "sample": 0,
    "text": "Fünf 😀\n",
    "reason": "",
    "logprobs": [["5", [["5", -0.25]]]],
    "prompt_tokens": 12,
    "completion_tokens": 1,
    "cost": 0.5,
    "model": "m-1",
    "fingerprint": "fp",
}


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "folder" / "replies.sqlite") as made:
        yield made


def filled(store):
    store.add(
        {KEY: REQUEST, OTHER: {"model": "m"}},
        [
            FULL,
            {"key": KEY, "sample": 3, "text": "", "reason": "content_filter"},
            {"key": OTHER, "sample": 0, "text": "4"},
        ],
    )
    return store


def lines(path):
    opened = (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8")
    with opened as handle:
        return handle.read().splitlines()


def test_a_reply_is_found_by_key_and_sample(store):
    filled(store)
    found = store.get(KEY)
    assert found[0] == {k: v for k, v in FULL.items() if k not in ("key", "sample")}
    assert list(found) == [0, 3] and found[3]["reason"] == "content_filter"
    assert found[3]["logprobs"] == [] and found[3]["cost"] is None
    assert store.get("unknown") == {}


def test_the_key_is_of_the_whole_request_in_any_order():
    assert key(dict(reversed(REQUEST.items()))) == KEY
    changed = [
        REQUEST | {"model": "n"},
        REQUEST | {"temperature": 0.6},
        REQUEST | {"top_p": 1},
        REQUEST | {"messages": [{"role": "user", "content": "Größe?"}]},
    ]
    assert len({KEY, *map(key, changed)}) == 5


def test_a_second_add_changes_nothing(store):
    filled(store)
    before = (store.get(KEY), store.totals())
    store.add({KEY: {"model": "other"}}, [FULL | {"text": "1", "cost": 9}])
    assert (store.get(KEY), store.totals()) == before
    store.add({KEY: REQUEST}, [FULL | {"sample": 1, "text": "new"}])
    assert store.get(KEY)[1]["text"] == "new" and store.get(KEY)[0]["text"] == FULL["text"]


def test_totals(store):
    assert store.totals() == {
        "replies": 0,
        "asked_again": 0,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cost": 0,
    }
    filled(store)
    assert store.totals() == {
        "replies": 3,
        "asked_again": 0,
        "prompt_tokens": 12,
        "completion_tokens": 1,
        "cost": 0.5,
    }
    store.add({}, [FULL | {"attempt": 1}, FULL | {"attempt": 2}])  # what was paid twice more counts
    assert store.totals() == {
        "replies": 3,
        "asked_again": 2,
        "prompt_tokens": 36,
        "completion_tokens": 3,
        "cost": 1.5,
    }


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz"])
def test_export_and_load(store, tmp_path, name):
    filled(store).export(tmp_path / name)
    rows = [json.loads(line) for line in lines(tmp_path / name)]
    known = {
        "endpoint": "unknown",
        "prompt": "",
        "digest": "",
        "form": "",
        "scale": [],
        "attempt": 0,
    }
    assert len(rows) == 3 and FULL | known | {"request": REQUEST} in rows
    assert name.endswith(".gz") == ((tmp_path / name).read_bytes()[:2] == b"\x1f\x8b")
    with Store(tmp_path / "other.sqlite") as other:
        other.add({}, [{"key": KEY, "sample": 0, "text": "was here before"}])
        other.load(tmp_path / name)
        other.load(tmp_path / name)
        assert (
            other.get(KEY)[0]["text"] == "was here before"
            and other.get(KEY)[3] == store.get(KEY)[3]
        )
        assert other.get(OTHER) == store.get(OTHER) and other.totals()["replies"] == 3
    with Store(tmp_path / "third.sqlite") as third:
        third.load(tmp_path / name)
        third.export(tmp_path / "again.jsonl")
    assert lines(tmp_path / "again.jsonl") == lines(tmp_path / name)


@pytest.mark.parametrize(
    "change",
    [
        {"request": REQUEST | {"temperature": 0}},
        {"key": OTHER},
        {"endpoint": "https://elsewhere.example/v1"},
    ],
)
def test_a_reply_whose_key_is_anothers_is_refused_and_adds_nothing(store, tmp_path, change):
    filled(store).export(tmp_path / "all.jsonl")
    text = lines(tmp_path / "all.jsonl")
    place = next(i for i, line in enumerate(text) if json.loads(line)["key"] == KEY)
    text[place] = json.dumps(json.loads(text[place]) | change)
    (tmp_path / "changed.jsonl").write_text("\n".join(text), encoding="utf-8")
    with Store(tmp_path / "other.sqlite") as other:
        with pytest.raises(
            ValueError, match=f"line {place + 1}: expected the key of its request and endpoint"
        ):
            other.load(tmp_path / "changed.jsonl")
        assert other.totals()["replies"] == 0


@pytest.mark.parametrize(
    "bad",
    [
        '{"key": "k"',
        '{"key": "k", "request": {}, "text": "4"}',
        "[1]",
        "",
        '{"key": "k", "request": {}, "sample": "x", "text": "4"}',
    ],
)
def test_a_bad_line_names_itself_and_adds_nothing(store, tmp_path, bad):
    filled(store).export(tmp_path / "all.jsonl")
    text = lines(tmp_path / "all.jsonl")
    (tmp_path / "bad.jsonl").write_text("\n".join([*text[:2], bad, text[2]]), encoding="utf-8")
    with Store(tmp_path / "other.sqlite") as other:
        with pytest.raises(ValueError, match="bad.jsonl, line 3: not a stored reply"):
            other.load(tmp_path / "bad.jsonl")
        assert other.totals()["replies"] == 0


def test_another_file_is_refused_and_left_alone(tmp_path):
    notes, foreign = tmp_path / "notes.txt", tmp_path / "foreign.sqlite"
    notes.write_text("Some notes, longer than the header of a database would be. " * 20)
    with closing(sqlite3.connect(foreign)) as database:
        database.execute("CREATE TABLE birds (name TEXT)")
    for path in (notes, foreign):
        before = path.read_bytes()
        with pytest.raises(
            ValueError, match=rf"{path.name} is not a store of replies \(.*name another"
        ):
            Store(path)
        assert path.read_bytes() == before


def test_a_store_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(
        PermissionError, match=f"store of replies cannot be opened or made .*{tmp_path.name}"
    ):
        Store(tmp_path)


def test_batches_are_kept_and_updated(store):
    store.note_batch("b1", 1, "validating", ["k1", "k2"])
    store.note_batch("b2", 1, "validating", ["k3"])
    store.note_batch("b1", 1, "completed", ["k1", "k2"])
    assert {b["id"]: b["state"] for b in store.batches()} == {"b1": "completed", "b2": "validating"}
    assert store.batches()[-1]["keys"] == ["k1", "k2"] or store.batches()[0]["keys"] == ["k1", "k2"]


def test_the_file_holds_no_pickle(store):
    filled(store)
    store.close()
    content = store.path.read_bytes()
    assert content.startswith(b"SQLite format 3\0") and "Fünf".encode() in content
    with closing(sqlite3.connect(store.path)) as database:
        for table in ("requests", "replies", "batches"):
            kinds = {
                type(value) for row in database.execute(f"SELECT * FROM {table}") for value in row
            }
            assert bytes not in kinds  # no column can hide an object


WRITER = """
import sys
from nlgjudge.judging.store import Store
path, name, first, last, forever = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
print("ready", flush=True)
sys.stdin.readline()
with Store(path) as store:
    for i in range(first, last):
        store.add({f"key{i}": {"model": f"model{i}"}},
                  [{"key": f"key{i}", "sample": s, "text": f"{name} {i} {s}"} for s in range(2)])
        print(i, flush=True) if forever else None
"""


def writer(path, name, first, last, forever=0):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, *map(str, (path, name, first, last, forever))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )


def test_two_processes_write_at_once(tmp_path):
    """250 requests of two replies each, keys 100 to 249 in common; they make the file together."""
    path = tmp_path / "replies.sqlite"
    with writer(path, "a", 0, 250) as one, writer(path, "b", 100, 350) as two:
        for process in (one, two):
            assert process.stdout.readline() == "ready\n"
        for process in (one, two):
            process.stdin.write("\n")
            process.stdin.flush()
    assert (one.returncode, two.returncode) == (0, 0)
    with Store(path) as store:
        assert store.totals()["replies"] == 700
        for i in range(350):
            found = {s: r["text"] for s, r in store.get(f"key{i}").items()}
            allowed = [
                {s: f"{name} {i} {s}" for s in range(2)}
                for name in "ab"
                if (i < 250 if name == "a" else i >= 100)
            ]
            assert found in allowed


def test_several_make_the_file_at_the_same_moment(tmp_path):
    barrier = threading.Barrier(4)

    def opened(path):
        barrier.wait(60)
        with Store(path) as store:
            return store.totals()["replies"]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(opened, [tmp_path / f"{i // 4}.sqlite" for i in range(100)]))
    assert found == [0] * 100


def test_a_killed_writer_loses_nothing_that_it_had_added(tmp_path):
    path = tmp_path / "replies.sqlite"
    with writer(path, "a", 0, 1_000_000, forever=1) as process:
        process.stdout.readline()
        process.stdin.write("\n")
        process.stdin.flush()
        for _ in range(100):
            process.stdout.readline()
        time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        added = 100 + len(
            [line for line in process.stdout.read().splitlines(keepends=True) if "\n" in line]
        )
    with Store(path) as store:
        assert 2 * added <= store.totals()["replies"] <= 2 * (added + 1)
        assert all(list(store.get(f"key{i}")) == [0, 1] for i in range(added))
        store.add({"after": {}}, [{"key": "after", "sample": 0, "text": "goes on"}])
        assert store.get("after")[0]["text"] == "goes on"
