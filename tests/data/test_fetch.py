"""Fetching over real HTTP: cache, mirror and network, what goes wrong, and `data list|fetch|verify`."""

import json
import os
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from types import SimpleNamespace

import pytest

from nlgjudge.cli import main
from nlgjudge.data import benchmarks, fetch

CONTENT = b"forty bytes that stand for a data file.\n"  # 40 bytes
LOCATION = "owner/name/c0ffee/toy.txt"
READ = "from nlgjudge.data import fetch, registry; fetch.read(registry.entries()[0])"


@pytest.fixture
def pauses(monkeypatch):
    """Seconds between attempts, noted instead of slept."""
    noted = []
    monkeypatch.setattr(
        "urllib3.util.retry.time", SimpleNamespace(sleep=noted.append, time=time.time)
    )
    return noted


def child(code):
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("place", ["cache", "mirror", "network"])
def test_each_place_gives_the_file(tree, publish, host, monkeypatch, place):
    server = host()
    monkeypatch.setenv("NLGJUDGE_MIRROR", str(tree.mirror))
    entry = publish("toy.txt", CONTENT)
    if place != "network":
        entry = tree.add("toy.txt", CONTENT, to=place)
    assert fetch.read(entry) == CONTENT
    assert server.asked == ([LOCATION] if place == "network" else [])
    assert tree.cached() == ([] if place == "mirror" else [LOCATION])


def test_the_cache_comes_first_and_a_mirror_has_to_be_a_folder(tree, monkeypatch):
    cached, mirrored = tree.add("c.txt", CONTENT), tree.add("m.txt", CONTENT, to="mirror")
    monkeypatch.setenv("NLGJUDGE_MIRROR", str(tree.root / "nowhere"))
    assert fetch.read(cached) == CONTENT
    with pytest.raises(NotADirectoryError, match="NLGJUDGE_MIRROR=.*nowhere is not a folder; name"):
        fetch.read(mirrored)
    assert main(["data", "fetch"]) == 1


@pytest.mark.parametrize(
    "served, message",
    [
        (CONTENT[:10], "is truncated: expected 40 bytes, got 10"),
        (CONTENT.upper(), r"has other content \(40 bytes\); expected git blob [0-9a-f]{40}, got"),
        (b"\n<!DOCTYPE html><title>Sign in</title>", "is an HTML or XML page, not the file"),
        (None, "answered 404$"),
    ],
    ids=["truncated", "other", "page", "absent"],
)
def test_other_content_is_refused_and_not_kept(tree, publish, host, tmp_path, served, message):
    entry = publish("toy.txt", CONTENT)
    place = tmp_path / "host" / entry.location
    place.write_bytes(served) if served else place.unlink()
    host()
    with pytest.raises(fetch.DataUnavailable, match="(?m)" + message) as caught:
        fetch.read(entry)
    found = str(caught.value).splitlines()
    assert found[0] == "toy.txt of owner/name (toy) is unavailable:"
    assert [line.split()[1] for line in found[1:4]] == ["cache:", "mirror:", "network:"]
    assert caught.value.kind == ("failed" if served else "absent") and tree.cached() == []
    place.write_bytes(CONTENT)
    assert fetch.read(entry) == CONTENT


@pytest.mark.parametrize("folder", ["cache", "mirror"])
def test_a_damaged_copy_is_not_used(tree, publish, host, monkeypatch, folder):
    publish("toy.txt", CONTENT)
    entry = tree.add("toy.txt", CONTENT, to=folder)
    copy = getattr(tree, folder) / entry.location
    copy.write_bytes(b"damaged")
    server = host()
    monkeypatch.setenv("NLGJUDGE_MIRROR", str(tree.mirror))
    assert fetch.read(entry) == CONTENT and server.asked == [LOCATION]
    assert copy.read_bytes() == (CONTENT if folder == "cache" else b"damaged")


# Retries


@pytest.mark.parametrize("asked, waited", [("7", [7]), (None, []), (formatdate(0), [])])
def test_too_many_requests_are_waited_for_as_asked(host, publish, pauses, asked, waited):
    """Without `Retry-After`, or with a moment in the past, the first retry follows at once."""
    entry = publish("toy.txt", CONTENT)
    server = host(refuse=1, retry_after=asked)
    assert fetch.read(entry) == CONTENT and pauses == waited
    assert server.statuses == {429: 1, 200: 1}


def test_a_long_wait_fails_at_once_and_is_named(host, publish, pauses, tree):
    entry = publish("toy.txt", CONTENT)
    server = host(refuse=99, retry_after="3600")
    with pytest.raises(fetch.DataUnavailable, match="asks to wait 3600 s") as caught:
        fetch.read(entry)
    assert caught.value.kind == "failed" and pauses == [] and server.statuses == {429: 1}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_retries_end(host, publish, pauses, tree, status):
    """Pauses double: 0, 2, 4, 8 and 16 seconds; none before the first retry."""
    entry = publish("toy.txt", CONTENT)
    server = host(refuse=99, status=status)
    with pytest.raises(fetch.DataUnavailable, match=f"answered {status}") as caught:
        fetch.read(entry)
    assert caught.value.kind == "failed" and pauses == [2, 4, 8, 16]
    assert server.statuses == {status: 6} and tree.cached() == []


@pytest.mark.parametrize("fault", ["cut", "drop"])
def test_dropped_connections_are_tried_again(host, publish, pauses, tree, fault):
    entries = [publish(f"{n}.txt", bytes([n]) * 1000) for n in range(6)]
    server = host(**{fault: 5})  # so that no file gives up, however the faults fall
    assert not any(fetch.read_all(entries).values())
    assert server.statuses == {fault: 5, 200: 6} and len(tree.cached()) == 6
    server.cut = server.drop = 0
    setattr(server, fault, 99)
    (tree.cache / entries[0].location).unlink()
    with pytest.raises(fetch.DataUnavailable, match="0.txt failed") as caught:
        fetch.read(entries[0])
    assert caught.value.kind == "failed" and server.statuses[fault] == 5 + 6


def test_an_unreachable_host_is_left_alone_for_a_while(publish, host, tree):
    entries = [publish(name, CONTENT) for name in ("a.txt", "b.txt")]
    host().__exit__()
    with pytest.raises(fetch.DataUnavailable, match="is unreachable .ConnectionError.") as caught:
        fetch.read(entries[0])
    assert caught.value.kind == "offline"
    with pytest.raises(fetch.DataUnavailable, match="was unreachable less than 60 s ago"):
        fetch.read(entries[1])


def test_offline_asks_nobody(publish, host, monkeypatch):
    server = host()
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    with pytest.raises(fetch.DataUnavailable, match="NLGJUDGE_OFFLINE is set"):
        fetch.read(publish("toy.txt", CONTENT))
    assert server.asked == []


# Several files, and interruptions


def test_files_are_fetched_concurrently_and_each_once(host, publish, tree):
    """No request is answered before eight are open."""
    entries = [publish(f"{n}.txt", bytes([n]) * 10) for n in range(8)]
    server, all_open = host(), threading.Barrier(fetch.WORKERS)
    answer = server.answer

    def together(address):
        all_open.wait(timeout=600)
        return answer(address)

    server.answer = together
    outcomes = fetch.read_all([*entries, *entries])
    assert set(outcomes) == set(entries) and not any(outcomes.values())
    assert sorted(server.asked) == sorted(str(entry.location) for entry in entries)


def test_a_missing_file_costs_itself_alone(host, publish):
    entries = [publish(f"{n}.txt", bytes([n]) * 10) for n in range(3)]
    host(missing=["*/1.txt"])
    outcomes = fetch.read_all(entries)
    assert [getattr(outcomes[entry], "kind", None) for entry in entries] == [None, "absent", None]
    assert outcomes[entries[1]].cause.endswith("1.txt answered 404")


def test_a_killed_download_leaves_nothing_and_two_processes_agree(host, publish, tree):
    entry = publish("toy.txt", CONTENT)
    server, begun, ended = host(), threading.Event(), threading.Event()
    answer = server.answer

    def stall(address):
        begun.set()
        ended.wait(timeout=600)
        return answer(address)

    server.answer = stall
    process = child(READ)
    try:
        assert begun.wait(timeout=600)
    finally:
        process.kill()
        process.communicate()
        ended.set()
    assert tree.cached() == []
    both = threading.Barrier(2)  # neither is answered before both have asked

    def together(address):
        both.wait(timeout=600)
        return answer(address)

    server.answer = together
    for process in [child(READ), child(READ)]:
        _, error = process.communicate(timeout=600)
        assert process.returncode == 0, error
    assert tree.cached() == [LOCATION] and fetch.read(entry) == CONTENT


def test_an_interruption_while_writing_leaves_nothing(host, publish, tree, monkeypatch):
    entry = publish("toy.txt", CONTENT)
    host()

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fetch.read(entry)
    assert tree.cached() == [] and fetch.read(entry) == CONTENT


# When the sample stands in


def openmeva(publish, stories=1):
    generated = {"a": {"text": "t", "score": {"human": 1}}}
    story = {"doc_id": 0, "prompt": "p", "reference": "r", "gen": generated}
    publish("data/openmeva.json", json.dumps([story] * stories).encode(), "openmeva")


def test_the_sample_does_not_replace_what_a_host_refuses(host, publish, pauses):
    openmeva(publish, 200)
    host(refuse=999)
    with pytest.raises(fetch.DataUnavailable, match="(?s)429.*sample does not stand in"):
        benchmarks.load("openmeva")


def test_the_sample_replaces_an_absent_file_aloud(host, publish, copied_sample, capsys):
    openmeva(publish)
    host(missing=["*"])
    assert benchmarks.load("openmeva").is_sample
    assert "openmeva is the sample: data/openmeva.json" in capsys.readouterr().out


def test_the_sample_replaces_everything_offline(host, publish, copied_sample, capsys):
    openmeva(publish)
    host().__exit__()
    assert benchmarks.load("openmeva").is_sample and capsys.readouterr().out == ""


# Commands


def test_list_counts_what_is_here(tree, capsys):
    tree.add("a.txt", CONTENT)
    tree.add("b.txt", CONTENT, to=None)
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if line.startswith("toy"))
    assert row.split() == ["toy", "data", "1/2", "CC0-1.0", "nobody2024toy", "(owner/name)"]
    assert "NLGJUDGE_STORY_CLOZE" in out and "NLGJUDGE_HUMANMT" in out


def test_fetch_downloads_what_is_missing_and_names_what_fails(tree, publish, host, capsys):
    tree.add("a.txt", CONTENT)
    publish("b.txt", CONTENT)
    tree.add("c.txt", CONTENT, "other", to=None)
    server = host()
    assert main(["data", "fetch", "toy"]) == 0
    out, err = capsys.readouterr()
    assert "CC0-1.0; cite nobody2024toy" in out and "2 of 2 files are here" in out
    assert err == "" and server.asked == ["owner/name/c0ffee/b.txt"]
    assert main(["data", "fetch"]) == 1
    out, err = capsys.readouterr()
    assert "2 of 3 files are here" in out
    assert "c.txt of owner/name (other) is unavailable" in err and "answered 404" in err


def test_verify_names_bad_files(tree, capsys):
    entry = tree.add("a.txt", CONTENT)
    tree.add("b.txt", CONTENT, to=None)
    assert main(["data", "verify"]) == 0
    assert capsys.readouterr().out == "1 files verified, 0 bad, 1 not here\n"
    (tree.cache / entry.location).write_bytes(CONTENT.upper())
    assert main(["data", "verify"]) == 1
    out, err = capsys.readouterr()
    assert out == "0 files verified, 1 bad, 1 not here\n"
    assert "a.txt has other content (40 bytes)" in err
    (tree.cache / entry.location).unlink()
    assert main(["data", "verify"]) == 1  # nothing is here at all


@pytest.mark.parametrize("action", ["list", "fetch", "verify"])
def test_commands_explain_an_unknown_benchmark(tree, capsys, action):
    tree.add("a.txt", CONTENT)
    assert main(["data", action, "nope"]) == 1
    said = capsys.readouterr().err
    assert "no registered file for benchmark='nope'" in said and "with files: toy" in said
