"""Fetching: three routes, what goes wrong on each, and the commands `data list|fetch|verify`."""

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from nlgjudge.cli import main
from nlgjudge.data import fetch

CONTENT = b"forty bytes that stand for a data file.\n"  # 40 bytes
READ = (
    "from nlgjudge.data import fetch, registry; "
    "content = fetch.read(registry.entries(path={!r})[0]); print(registry.blob_id(content))"
)


@pytest.fixture
def waits(monkeypatch):
    """Pauses between attempts, noted instead of slept."""
    noted = []
    monkeypatch.setattr(
        fetch, "time", SimpleNamespace(sleep=noted.append, monotonic=time.monotonic)
    )
    return noted


def child(path, **keywords):
    """A process of its own that reads the registered file."""
    return subprocess.Popen(
        [sys.executable, "-c", READ.format(path)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **keywords,
    )


def good(handler):
    handler.reply(200, CONTENT)


def cut(handler):
    handler.reply(200, CONTENT[:20], length=40)
    handler.close_connection = True


def broken(handler):
    handler.reply(500, b"oops")


@pytest.mark.parametrize("place", ["cache", "mirror", "upstream"])
def test_each_route_gives_the_file(tree, upstream, monkeypatch, place):
    monkeypatch.setenv("NLGJUDGE_MIRROR", str(tree.mirror))
    entry = tree.add("toy.txt", CONTENT, to=None if place == "upstream" else place)
    upstream.answers = {"toy.txt": CONTENT}
    assert fetch.read(entry) == CONTENT
    assert upstream.asked == (["/owner/name/c0ffee/toy.txt"] if place == "upstream" else [])
    assert tree.cached() == ([] if place == "mirror" else ["owner/name/c0ffee/toy.txt"])


def test_order_of_the_routes(tree, upstream, monkeypatch):
    """The cache answers before a mirror that does not exist, and a mirror before the network."""
    cached, mirrored = tree.add("c.txt", CONTENT), tree.add("m.txt", CONTENT, to="mirror")
    upstream.answers = {"c.txt": CONTENT, "m.txt": CONTENT}
    monkeypatch.setenv("NLGJUDGE_MIRROR", str(tree.root / "nowhere"))
    assert fetch.read(cached) == CONTENT
    with pytest.raises(
        NotADirectoryError,
        match="NLGJUDGE_MIRROR=.*nowhere is not a folder; name one "
        "laid out owner/repository/commit/path, or set it to nothing",
    ):
        fetch.read(mirrored)
    monkeypatch.setenv("NLGJUDGE_MIRROR", str(tree.mirror))
    assert fetch.read(mirrored) == CONTENT and upstream.asked == []


@pytest.mark.parametrize(
    "answer, message, requests",
    [
        (
            CONTENT[:10],
            "is truncated: expected 40 bytes, got 10; expected git blob [0-9a-f]{40}, got",
            1,
        ),
        (
            CONTENT.upper(),
            r"has other content \(40 bytes\); expected git blob [0-9a-f]{40}, got",
            1,
        ),
        (
            b"\n<!DOCTYPE html><title>Sign in</title>",
            "is an HTML or XML page, not the file; expected",
            1,
        ),
        (None, "answered 404$", 1),
        (broken, "answered 500, 3 times", 3),
        (cut, r"failed \(ChunkedEncodingError\), 3 times", 3),
    ],
    ids=["truncated", "wrong_blob", "html", "404", "500", "cut"],
)
def test_bad_answers_name_the_routes_and_leave_nothing(
    tree, upstream, waits, answer, message, requests
):
    entry = tree.add("toy.json", CONTENT, to=None)
    upstream.answers = {"toy.json": answer}
    with pytest.raises(fetch.DataUnavailable, match="(?m)" + message) as caught:
        fetch.read(entry)
    lines = str(caught.value).splitlines()
    assert lines[0] == "toy.json of owner/name (toy) could not be had:"
    assert [line[:14].strip() for line in lines[1:4]] == [
        "1. cache: no",
        "2. mirror: N",
        "3. network:",
    ]
    assert lines[4].startswith("Give a network, or a mirror folder in NLGJUDGE_MIRROR")
    assert len(upstream.asked) == requests and waits == [1, 2][: requests - 1]
    assert tree.cached() == []
    upstream.answers = {"toy.json": CONTENT}
    assert fetch.read(entry) == CONTENT and tree.cached() == ["owner/name/c0ffee/toy.json"]


@pytest.mark.parametrize(
    "first", [[broken, broken], [cut], [broken, cut]], ids=["500_500", "cut", "500_cut"]
)
def test_retries_until_it_works(tree, upstream, waits, first):
    entry = tree.add("toy.json", CONTENT, to=None)
    answers = iter([*first, good])
    upstream.answers = {"toy.json": lambda handler: next(answers)(handler)}
    assert fetch.read(entry) == CONTENT
    assert (
        len(upstream.asked) == len(first) + 1 and waits == [1, 2][: len(first)]
    )  # 2**0, 2**1 seconds


def test_an_unreachable_host_is_tried_once_a_process(tree, upstream):
    entries = [tree.add(name, CONTENT, to=None) for name in ("a.txt", "b.txt")]
    upstream.shutdown()
    upstream.server_close()
    with pytest.raises(fetch.DataUnavailable, match="cannot be reached .ConnectionError., 3 times"):
        fetch.read(entries[0])
    with pytest.raises(fetch.DataUnavailable, match="did not answer earlier .ConnectionError."):
        fetch.read(entries[1])
    assert tree.cached() == []


def test_offline_asks_nobody(tree, upstream, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    with pytest.raises(
        fetch.DataUnavailable, match="network: .* not tried, NLGJUDGE_OFFLINE is set"
    ):
        fetch.read(tree.add("toy.txt", CONTENT, to=None))
    assert upstream.asked == []


def test_a_corrupt_mirror_file_is_passed_over_and_kept(tree, upstream, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_MIRROR", str(tree.mirror))
    entry = tree.add("toy.txt", CONTENT, to="mirror")
    (tree.mirror / entry.location).write_bytes(b"damaged")
    with pytest.raises(
        fetch.DataUnavailable, match="2. mirror: .*is truncated: expected 40 bytes, got 7"
    ):
        fetch.read(entry)
    upstream.answers = {"toy.txt": CONTENT}
    assert fetch.read(entry) == CONTENT
    assert (
        tree.mirror / entry.location
    ).read_bytes() == b"damaged"  # the mirror is not ours to mend


def test_a_corrupt_cache_file_is_replaced(tree, upstream):
    entry = tree.add("toy.txt", CONTENT)
    (tree.cache / entry.location).write_bytes(b"")
    with pytest.raises(fetch.DataUnavailable, match="1. cache: removed .*toy.txt, is truncated"):
        fetch.read(entry)
    assert tree.cached() == []
    (tree.cache / entry.location).write_bytes(CONTENT.upper())
    upstream.answers = {"toy.txt": CONTENT}
    assert fetch.read(entry) == CONTENT
    assert (tree.cache / entry.location).read_bytes() == CONTENT


@pytest.mark.parametrize(
    "repository, path",
    [
        ("owner/name", "../../../../../secret.txt"),
        ("../../..", "secret.txt"),
        ("owner/name", "x/../toy.txt"),
        ("owner/name", "{outside}/secret.txt"),
        ("{outside}", "secret.txt"),
    ],
)
@pytest.mark.parametrize("route", ["cache", "mirror", "upstream"])
def test_paths_that_leave_the_cache_are_refused(
    tree, upstream, monkeypatch, route, repository, path
):
    outside = tree.root.parent
    (outside / "secret.txt").write_bytes(CONTENT)
    if route == "mirror":
        monkeypatch.setenv("NLGJUDGE_MIRROR", str(tree.mirror))
    upstream.answers = {"secret.txt": CONTENT} if route == "upstream" else {}
    entry = tree.add(
        path.format(outside=outside),
        CONTENT,
        to=None,
        repository=repository.format(outside=outside),
    )
    before = sorted(outside.rglob("*"))
    with pytest.raises(ValueError, match="would leave .*; correct that row of data/registry.csv"):
        fetch.read(entry)
    assert sorted(outside.rglob("*")) == before and upstream.asked == []


def test_two_processes_fetch_the_same_file_at_once(tree, upstream):
    entry = tree.add("toy.txt", CONTENT, to=None)
    both = threading.Barrier(2)  # neither is answered before both have asked

    def together(handler):
        both.wait(timeout=600)
        handler.reply(200, CONTENT)

    upstream.answers = {"toy.txt": together}
    for process in [child("toy.txt"), child("toy.txt")]:
        out, err = process.communicate(timeout=600)
        assert (process.returncode, out.strip()) == (0, entry.blob), err
    assert len(upstream.asked) == 2
    assert tree.cached() == ["owner/name/c0ffee/toy.txt"]


def test_a_killed_process_leaves_no_file_under_the_name(tree, upstream):
    entry = tree.add("toy.txt", CONTENT, to=None)
    begun, ended = threading.Event(), threading.Event()

    def stall(handler):
        handler.reply(200, CONTENT[:20], length=40)
        begun.set()
        ended.wait(timeout=600)

    upstream.answers = {"toy.txt": stall}
    process = child("toy.txt")
    try:
        assert begun.wait(timeout=600)
    finally:
        process.kill()
        process.communicate(timeout=600)
        ended.set()
    assert "owner/name/c0ffee/toy.txt" not in tree.cached()
    upstream.answers = {"toy.txt": CONTENT}
    assert fetch.read(entry) == CONTENT


FULL = """
set -e
mount -t tmpfs -o size=64k tmpfs "$NLGJUDGE_ROOT/data/cache"
"$1" -c "$2" && exit 9
find "$NLGJUDGE_ROOT/data/cache" -type f
"$1" -c "$3"
"""


def test_a_full_disk_is_named_and_leaves_nothing(tree, upstream):
    """A file of 300 kB into a file system of 64 kB, mounted where only the child sees it."""
    unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    probe = [*unshare, "sh", "-c", f"mount -t tmpfs -o size=64k tmpfs {tree.mirror}"]
    if not shutil.which("unshare") or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip(
            "needs a small tmpfs: neither root nor a user and mount namespace may mount one here"
        )
    large = bytes(300_000)
    small = tree.add(
        "small.txt", CONTENT * 1000, to=None
    )  # 40 kB: fits once, so it is moved, not copied
    tree.add("large.bin", large, to=None)
    upstream.answers = {"large.bin": large, "small.txt": CONTENT * 1000}
    run = subprocess.run(
        [
            *unshare,
            "sh",
            "-c",
            FULL,
            "sh",
            sys.executable,
            READ.format("large.bin"),
            READ.format("small.txt"),
        ],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [small.blob]  # `find` saw no file, and the cache still works
    assert "no space left to store large.bin (300000 bytes) in " in run.stderr
    assert "free some space or move data/cache; nothing partial was kept" in run.stderr


def test_a_cache_that_cannot_be_written_is_named_with_what_to_do(tree, upstream, monkeypatch):
    entry = tree.add("toy.txt", CONTENT, to=None)

    def refuse(**options):
        raise OSError(errno.EROFS, "Read-only file system", options["dir"])

    monkeypatch.setattr(fetch.tempfile, "TemporaryDirectory", refuse)
    with pytest.raises(OSError, match=r"toy.txt cannot be stored in .*Read-only.*NLGJUDGE_CACHE"):
        fetch.read(entry)


def test_list_counts_what_is_here(tree, capsys):
    tree.add("a.txt", CONTENT)
    tree.add("b.txt", CONTENT, to=None)
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if line.startswith("toy"))
    assert row.split() == ["toy", "data", "1/2", "CC0-1.0", "nobody2024toy", "(owner/name)"]
    assert "NLGJUDGE_STORY_CLOZE" in out and "NLGJUDGE_HUMANMT" in out


def test_fetch_downloads_and_is_quiet_but_on_a_terminal(tree, upstream, capsys):
    tree.add("a.txt", CONTENT)
    tree.add("b.txt", CONTENT, to=None)
    tree.add("c.txt", CONTENT, "other", to=None)
    upstream.answers = {"b.txt": CONTENT}
    assert main(["data", "fetch", "toy"]) == 0
    out, err = capsys.readouterr()
    assert out == (
        "owner/name: licence CC0-1.0; cite nobody2024toy (data/README.md)\n2 of 2 files are here\n"
    )
    assert err == ""
    assert upstream.asked == ["/owner/name/c0ffee/b.txt"]
    assert main(["data", "fetch"]) == 1  # upstream has no c.txt
    out, err = capsys.readouterr()
    assert "2 of 3 files are here" in out
    assert all(
        word in err for word in ("c.txt of owner/name (other)", "1. c", "2. m", "answered 404")
    )


def test_verify_names_bad_files(tree, capsys):
    entry = tree.add("a.txt", CONTENT)
    tree.add("b.txt", CONTENT, to=None)
    assert main(["data", "verify"]) == 0
    assert capsys.readouterr().out == "1 files verified, 0 bad, 1 not here\n"
    (tree.cache / entry.location).write_bytes(CONTENT.upper())
    assert main(["data", "verify"]) == 1
    out, err = capsys.readouterr()
    assert (
        out == "0 files verified, 1 bad, 1 not here\n"
        and "a.txt has other content (40 bytes)" in err
    )
    (tree.cache / entry.location).unlink()
    assert main(["data", "verify"]) == 1  # nothing here at all
    assert capsys.readouterr().out == "0 files verified, 0 bad, 2 not here\n"


@pytest.mark.parametrize("action", ["list", "fetch", "verify"])
def test_commands_explain_an_unknown_benchmark(tree, capsys, action):
    tree.add("a.txt", CONTENT)
    assert main(["data", action, "nope"]) == 1
    out, err = capsys.readouterr()
    assert "toy" not in out
    assert err == (
        "nlgjudge: no registered file for benchmark='nope', role=None, path=None; "
        "benchmarks with files: toy\n"
    )
    with pytest.raises(KeyError, match="benchmark='nope'"):
        main(["--traceback", "data", action, "nope"])


def test_commands_explain_a_missing_mirror(tree, monkeypatch, capsys):
    tree.add("a.txt", CONTENT, to=None)
    monkeypatch.setenv("NLGJUDGE_MIRROR", str(tree.root / "nowhere"))
    assert main(["data", "fetch"]) == 1
    assert "nlgjudge: NLGJUDGE_MIRROR=" in capsys.readouterr().err
