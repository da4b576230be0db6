"""WordNet 3.0, verified: the registered archive, or its files unpacked in a folder of NLTK's data."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from nlgjudge.data import fetch
from nlgjudge.data.paths import mirror
from nlgjudge.data.registry import entries

# SHA-256 of names and contents of the files that look-ups read, in this order.
FILES = tuple(
    f"{name}.{part}" for part in ("adj", "adv", "noun", "verb") for name in ("data", "index")
) + ("adj.exc", "adv.exc", "noun.exc", "verb.exc")
UNPACKED = "67be0a987122bedf41021c39d55c134655d2b49ead7dd0e7ca926500de3b9ece"
DEBIAN = Path("/usr/share/wordnet")


def find() -> Path | None:
    """Find WordNet 3.0 on this machine; nothing is downloaded.

    Returns `wordnet.zip`, or a folder with `data.noun` and so on: the first with the registered content among the
    cache, the mirror, the folders in `NLTK_DATA`, `nltk_data` beside the mirror and in the home folder, and
    Debian's package.
    """
    folders = [Path(name) for name in os.environ.get("NLTK_DATA", "").split(os.pathsep) if name]
    folders += [Path(mirror()).parent / "nltk_data"] if mirror() else []
    folders.append(Path.home() / "nltk_data")
    places = [
        folder / "corpora" / name for folder in folders for name in ("wordnet.zip", "wordnet")
    ]
    for place in (_registered(), *places, DEBIAN):
        if place and place.exists() and _is_wordnet(place, place.stat().st_mtime_ns):
            return place
    return None


def _registered():
    """Where the registered archive is on this machine, or None."""
    return next(filter(None, map(fetch.local, _entry())), None)


def _entry():
    """The registry's row in a list; empty where a registry has none."""
    try:
        return entries("wordnet")
    except KeyError:
        return []


@lru_cache
def _is_wordnet(place, changed):
    """Whether an archive or a folder has the registered content."""
    if place.is_file():
        return any(not fetch.check(entry, place.read_bytes()) for entry in _entry())
    return digest(place) == UNPACKED


def digest(folder):
    """SHA-256 of WordNet's files in a folder; empty where one is missing."""
    sha256 = hashlib.sha256()
    for name in FILES:
        if not (folder / name).is_file():
            return ""
        sha256.update(name.encode() + b"\0" + (folder / name).read_bytes())
    return sha256.hexdigest()
