"""The registry: what it lists, and that its blob ids are git's."""

import re
from itertools import product
from pathlib import PurePosixPath

import pytest

from nlgjudge.data import benchmarks, fetch, recordings, registry


@pytest.mark.parametrize("name", benchmarks.BENCHMARKS)
def test_a_benchmark_has_registered_files_or_is_the_users_own(name):
    assert bool(benchmarks.benchmark_files(name)) != bool(benchmarks.BENCHMARKS[name].variable)


def test_a_recording_has_registered_files_of_its_own():
    """Each file is of one recording, but for AltTest's, which holds several judges."""
    files = {name: set(recordings.recording_files(name)) for name in recordings.RECORDINGS}
    assert all(files.values())
    for name, others in product(files, repeat=2):
        if name != others and not name.startswith("alttest/"):
            assert not files[name] & files[others], (name, others)


def test_rows_are_well_formed_and_unique():
    rows = registry.entries()
    assert len({row.location for row in rows}) == len(rows)
    for row in rows:
        assert re.fullmatch(r"[0-9a-f]{40}", row.blob) and re.fullmatch(r"[0-9a-f]{40}", row.commit)
        assert ".." not in row.location.parts and not PurePosixPath(row.path).is_absolute()
        assert row.repository.count("/") == 1 and row.licence and row.citation


@pytest.mark.parametrize(
    "content, blob",
    [
        (b"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),  # git hash-object /dev/null
        # echo hello | git hash-object --stdin
        (b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
    ],
)
def test_blob_id_is_gits(content, blob):
    assert registry.blob_id(content) == blob


@pytest.mark.parametrize("arguments", [("no_such",), ("bagel", "no_such_role")])
def test_unknown_names_list_the_known(arguments):
    name, role = (*arguments, None)[:2]
    names = ", ".join(sorted({entry.benchmark for entry in registry.entries()}))
    with pytest.raises(KeyError, match=f"benchmark={name!r}.*benchmarks with files: {names}"):
        registry.entries(name, role=role)


def test_files_at_hand_are_the_registered_ones():
    here = [(e, path) for e in registry.entries() if (path := fetch.local(e))]
    if not here:
        pytest.skip("needs the mirror or a network: no registered file is on this machine")
    assert [path for entry, path in here if fetch.check(entry, path.read_bytes())] == []
