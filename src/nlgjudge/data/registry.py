"""The registry of upstream files: which file, at which commit, with which content.

A git blob id is ``sha1(b"blob <size>\\0" + content)``; it is published by the code host,
so it verifies a file that nobody here has seen.
"""

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
    benchmark, role : str
        What the file serves: `data`, `scores`, `other_run` (a metric that somebody else ran),
        `annotations`, `recording`, `prompt`, `copy` (the same data in another layout), `resource`
        (what a metric needs) or `extra`.
    repository, commit, path : str
        Where it is published.
    blob : str
        Git blob id, 40 hexadecimal digits.
    bytes : int or None
        Size where known.
    licence, citation : str
        Licence as stated upstream; citation key in `data/citations.bib`.
    optional : bool
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
    def location(self):
        """Path below a mirror or the cache: owner/repository/commit/path."""
        return PurePosixPath(self.repository, self.commit, self.path)


def entries(benchmark=None, *, role=None, path=None):
    """Read the registry, filtered.

    Parameters
    ----------
    benchmark, role : str, optional
    path : str, optional
        Keep the files whose path ends with this.

    Returns
    -------
    list of Entry

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
    found = list(rows)
    if benchmark is not None:
        found = [row for row in found if row.benchmark == benchmark]
    if role is not None:
        found = [row for row in found if row.role == role]
    if path is not None:
        found = [row for row in found if row.path.endswith(path)]
    if not found:
        known = ", ".join(sorted({row.benchmark for row in rows}))
        raise KeyError(
            f"no registered file for benchmark={benchmark!r}, role={role!r}, "
            f"path={path!r}; benchmarks with files: {known}"
        )
    return found


def _registered():
    """All entries of this checkout's registry, which may hold none."""
    file = use(root() / "data" / "registry.csv")
    known = file.stat()
    return _rows(file, known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=4)
def _rows(file, changed, size):
    """All entries of a registry, read again when the file has changed."""
    with open(file, newline="", encoding="utf-8") as handle:
        return tuple(_entry(row) for row in csv.DictReader(handle))


def _entry(row):
    size = int(row["bytes"]) if row["bytes"] else None
    return Entry(**row | {"bytes": size, "optional": row.get("optional") == "yes"})


def prompt_files(name):
    """Registered files of upstream's prompts.

    Parameters
    ----------
    name : str
        As ``upstream:geval/coh_detailed``: part of the repository's name, and the file's without
        its ending; a star stands for any letters, so that it names a family.

    Returns
    -------
    list of Entry
        In the registry's order.

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
    found = [
        entry
        for entry in prompts
        if owner.lower() in entry.repository.lower()
        and fnmatchcase(PurePosixPath(entry.path).name, f"{stem}.txt")
    ]
    if not found:
        known = ", ".join(PurePosixPath(entry.path).stem for entry in prompts)
        raise KeyError(f"no registered prompt {name!r}; files: {known}")
    return found


def blob_id(content):
    """Return the git blob id of `content` (bytes)."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
