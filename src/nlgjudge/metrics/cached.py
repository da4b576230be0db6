"""Scores kept by content: what was scored once, with the same options, is read back.

Values lie below `data/cache/`, a file for each function, its options and library versions. In it a text, or
a pair of texts, is known by its digest, so that a part of a benchmark, or its first references alone, find
what the whole has left there. What is missing, or in a file that was cut short, is computed anew, in several
processes where there is much of it.
"""

import hashlib
import json
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
from filelock import FileLock

from nlgjudge.data.paths import cache

_FORMAT = 5  # of the files and of what stands in their names
_CHUNK = 64
_PARALLEL_FROM = 20_000_000  # characters; below that, starting processes costs more than it saves
_DIGEST = 16  # bytes
_version = lru_cache(version)


def scores(function, texts, *options, libraries=(), folder="lexical", parallel=True):
    """Score texts with a function, or read what it gave for the same texts before.

    Parameters
    ----------
    function : callable
        Takes a list of texts and the options and gives a number, or a row of numbers, for
        each text, whatever other texts are in the list. At module level, so that other
        processes find it.
    texts : list
        Of lists, nested as the function wants them, of strings.
    *options
        Strings or numbers.
    libraries : sequence of str
        Distributions whose versions decide whether earlier values still hold.
    folder : str
        Below `data/cache/`.
    parallel : bool
        Whether the function may be given parts of the texts in several processes.

    Returns
    -------
    numpy.ndarray
        One entry or row per text.
    """
    if not len(texts):
        return np.asarray(function(texts, *options), dtype=float)
    key = json.dumps(
        [
            function.__module__,
            function.__qualname__,
            options,
            [_version(name) for name in libraries],
            _FORMAT,
        ]
    )
    path = cache() / folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"
    digests = [_digest(text) for text in texts]
    places, values = _kept(path)
    if not places.keys() >= set(digests):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Notebooks that run side by side ask for the same scores: the second waits for the first.
        with FileLock(_lock(path)):
            places, values = _kept(path)
            places = dict(places)  # what is added is known to other calls once it is in the file
            missing = {
                digest: place for place, digest in enumerate(digests) if digest not in places
            }
            if missing:
                new = [texts[place] for place in missing.values()]
                rows = _compute(
                    function, new, options, parallel and len(json.dumps(new)) >= _PARALLEL_FROM
                )
                values = np.concatenate([values, rows]) if places else rows
                places.update(zip(missing, range(len(places), len(values))))
                _keep(path, places, values)
    return values[[places[digest] for digest in digests]]


def _digest(text):
    """What a text, or a list of texts, is known by."""
    try:
        return _of_hashable(text)
    except TypeError:  # a list, or a tuple with one
        return _of_parts(text)


@lru_cache(maxsize=200_000)  # a pair of texts is scored in several ways, one after the other
def _of_hashable(text):
    if isinstance(text, str):
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
    return _of_parts(text)


def _of_parts(texts):
    return hashlib.blake2b(b"".join(map(_digest, texts)), digest_size=_DIGEST).digest()


def _lock(path):
    """One of 256 lock files of this user on this machine."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir(), f"nlgjudge-{user}-{path.stem[:2]}.lock")


def _kept(path):
    """Values of earlier runs, and by digest the place of each; none where there is no file, or it was cut short."""
    try:
        state = path.stat()
    except OSError:
        return {}, np.empty(0)
    return _read(path, state.st_ino, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=16)
def _read(path, *state):
    """What a file holds, read once while it stays in the same state; not to be changed."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            digests = stored["digests"]
            values = stored["values"]
    except Exception:  # numpy, zipfile and zlib raise many kinds, all meaning the same
        return {}, np.empty(0)
    names = digests.tobytes()
    starts = range(0, len(names), _DIGEST)
    return {names[start : start + _DIGEST]: place for place, start in enumerate(starts)}, values


def _keep(path, places, values):
    """Write the values so that a reader finds all of them or none."""
    temporary = path.with_name(f".{path.stem}-{os.getpid()}.npz")
    digests = np.frombuffer(b"".join(places), dtype=np.uint8).reshape(-1, _DIGEST)
    try:
        np.savez(temporary, digests=digests, values=values)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _compute(function, texts, options, parallel):
    workers = min(os.cpu_count() or 1, 8)
    # Neighbours share texts, which a process cuts into words once: few large parts, not many small ones.
    size = max(_CHUNK, -(-len(texts) // workers))
    if not parallel or len(texts) <= size:
        return np.asarray(function(texts, *options), dtype=float)
    parts = [texts[i : i + size] for i in range(0, len(texts), size)]
    with ProcessPoolExecutor(workers) as pool:
        running = [pool.submit(function, part, *options) for part in parts]
        return np.concatenate([np.asarray(future.result(), dtype=float) for future in running])
