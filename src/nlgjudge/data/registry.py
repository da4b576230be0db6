"""The registry of upstream files: which file, at which commit, with which content.

A git blob id is ``sha1(b"blob <size>\\0" + content)``; it is published by the code host,
so it verifies a file that nobody here has seen.
"""

from __future__ import annotations

import csv
import hashlib
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

from nlgjudge.data.paths import root, use


class Entry(NamedTuple):
    """One upstream file.

    Attributes
    ----------
    benchmark, role
        What the file serves; `data/README.md` lists the roles.
    repository, commit, path
        Where it is published.
    blob
        Git blob id, 40 hexadecimal digits.
    bytes
        Size where known.
    licence, citation
        Licence as stated upstream; citation key in `data/citations.bib`.
    optional
        Whether the committed outputs were made without it. It is used where it is here, and
        downloaded only by ``nlgjudge data fetch --optional``.
    """

    benchmark: str
    role: str
    repository: str
    commit: str
    path: str
    blob: str
    bytes: int | None
    licence: str
    citation: str
    optional: bool = False

    @property
    def location(self) -> PurePosixPath:
        """Path below a mirror or the cache: owner/repository/commit/path."""
        return PurePosixPath(self.repository, self.commit, self.path)


def entries(
    benchmark: str | None = None, *, role: str | None = None, path: str | None = None
) -> list[Entry]:
    """Read the registry, filtered.

    Parameters
    ----------
    benchmark, role
        Keep the files of this benchmark, or of this role.
    path
        Keep the files whose path ends with this.

    Raises
    ------
    KeyError
        When nothing matches; the message lists the benchmarks that exist.

    Examples
    --------
    >>> [entry.path for entry in entries("openmeva", role="data")]
    ['data/openmeva.json']
    """
    rows = _registered()
    matching = [
        row
        for row in rows
        if benchmark in (None, row.benchmark)
        and role in (None, row.role)
        and row.path.endswith(path or "")
    ]
    if not matching:
        names = ", ".join(sorted({row.benchmark for row in rows}))
        raise KeyError(
            f"no registered file for benchmark={benchmark!r}, role={role!r}, "
            f"path={path!r}; benchmarks with files: {names}"
        )
    return matching


def _registered():
    """All entries of this checkout's registry, which may hold none."""
    file = use(root() / "data" / "registry.csv")
    status = file.stat()
    return _rows(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def _rows(file, changed, size):
    """All entries of a registry, read again when the file has changed."""
    with open(file, newline="", encoding="utf-8") as handle:
        return tuple(_entry(row) for row in csv.DictReader(handle))


def _entry(row):
    size = int(row["bytes"]) if row["bytes"] else None
    return Entry(**row | {"bytes": size, "optional": row.get("optional") == "yes"})


def prompt_files(name: str) -> list[Entry]:
    """Registered files of upstream's prompts.

    Parameters
    ----------
    name
        As ``upstream:geval/coh_detailed``: part of the repository's name, and the file's without
        its ending, perhaps behind its folder's; a star stands for any letters, so that it names a family.

    Raises
    ------
    KeyError
        When nothing matches; the message lists the files.

    Examples
    --------
    >>> [entry.path for entry in prompt_files("upstream:geval/co?_detailed")]
    ['prompts/summeval/coh_detailed.txt', 'prompts/summeval/con_detailed.txt']
    """
    owner, _, stem = name.removeprefix("upstream:").partition("/")
    prompts = entries(role="prompt")
    matching = [
        entry
        for entry in prompts
        if owner.lower() in entry.repository.lower()
        and fnmatchcase(f"/{entry.path}", f"*/{stem}.txt")
    ]
    if not matching:
        names = ", ".join(PurePosixPath(entry.path).stem for entry in prompts)
        raise KeyError(f"no registered prompt {name!r}; files: {names}")
    return matching


def blob_id(content: bytes) -> str:
    """Return the git blob id of a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
