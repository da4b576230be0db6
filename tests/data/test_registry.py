"""The registry: what it lists, and that its blob ids are git's."""

import re
from pathlib import PurePosixPath

import pytest

from nlgjudge.data import fetch, registry

# Files per benchmark; Story Cloze and IWSLT14 come from the user.
FILES = {
    "answer_equivalence": 2,
    "bagel": 3,
    "news": 3,
    "newsroom": 4,
    "openmeva": 1,
    "qags_cnn": 7,
    "qags_xsum": 7,
    "realsumm": 5,
    "summeval": 303,
    "sumpubmed": 600,
    "topical_chat": 60,
    "wmt22_de_en": 2,
    "wmt22_zh_en": 2,
    "wordnet": 1,
}


def test_every_benchmark_has_its_files():
    assert {name: len(registry.entries(name)) for name in FILES} == FILES
    assert len(registry.entries()) == sum(FILES.values()) == 1000


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
        (
            b"hello\n",
            "ce013625030ba8dba906f756967f9e9ca394464a",
        ),  # echo hello | git hash-object --stdin
    ],
)
def test_blob_id_is_gits(content, blob):
    assert registry.blob_id(content) == blob


@pytest.mark.parametrize("arguments", [("no_such",), ("bagel", "no_such_role")])
def test_unknown_names_list_the_known(arguments):
    name, role = (*arguments, None)[:2]
    with pytest.raises(
        KeyError, match=f"benchmark={name!r}.*benchmarks with files: .*{', '.join(FILES)}"
    ):
        registry.entries(name, role=role)


def test_files_at_hand_are_the_registered_ones():
    here = [(e, path) for e in registry.entries() if (path := fetch.local(e))]
    if not here:
        pytest.skip("needs the mirror or a network: no registered file is on this machine")
    assert {str(path): fetch.check(e, path.read_bytes()) for e, path in here} == {
        str(path): "" for _, path in here
    }
