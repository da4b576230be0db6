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
from importlib.metadata import version
from pathlib import Path

import numpy as np
from filelock import FileLock

from nlgjudge.data.paths import cache

_FORMAT = 4  # of the files and of what stands in their names
_CHUNK = 64
_PARALLEL_FROM = 20_000_000  # characters; below that, starting processes costs more than it saves
_DIGEST = 16  # bytes


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
    key = json.dumps([function.__module__, function.__qualname__, options,
                      [version(name) for name in libraries], _FORMAT])
    path = cache() / folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"
    named = [json.dumps(text).encode() for text in texts]
    digests = [hashlib.blake2b(name, digest_size=_DIGEST).digest() for name in named]
    known = _kept(path)
    if not known.keys() >= set(digests):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Notebooks that run side by side ask for the same scores: the second waits for the first.
        with FileLock(_lock(path)):
            known = _kept(path)
            missing = {digest: place for place, digest in enumerate(digests) if digest not in known}
            if missing:
                size = sum(len(named[place]) for place in missing.values())
                rows = _compute(function, [texts[place] for place in missing.values()], options,
                                parallel and size >= _PARALLEL_FROM)
                known.update(zip(missing, rows))
                _keep(path, known)
    return np.array([known[digest] for digest in digests])


def _lock(path):
    """One of 256 lock files of this user on this machine."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir(), f"nlgjudge-{user}-{path.stem[:2]}.lock")


def _kept(path):
    """Values of earlier runs by digest; none where there is no file, or it was cut short."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            digests = stored["digests"]
            values = stored["values"]
    except Exception:  # numpy, zipfile and zlib raise many kinds, all meaning the same
        return {}
    return {digest.tobytes(): row for digest, row in zip(digests, values, strict=True)}


def _keep(path, known):
    """Write the values so that a reader finds all of them or none."""
    temporary = path.with_name(f".{path.stem}-{os.getpid()}.npz")
    digests = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(-1, _DIGEST)
    try:
        np.savez(temporary, digests=digests, values=np.array(list(known.values())))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _compute(function, texts, options, parallel):
    workers = min(os.cpu_count() or 1, 8)
    # Neighbours share texts, which a process cuts into words once: few large parts, not many small ones.
    size = max(_CHUNK, -(-len(texts) // workers))
    if not parallel or len(texts) <= size:
        return np.asarray(function(texts, *options), dtype=float)
    parts = [texts[i:i + size] for i in range(0, len(texts), size)]
    with ProcessPoolExecutor(workers) as pool:
        running = [pool.submit(function, part, *options) for part in parts]
        return np.concatenate([np.asarray(future.result(), dtype=float) for future in running])
