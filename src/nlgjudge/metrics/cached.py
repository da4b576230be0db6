"""Scores kept by content: texts that were scored once, with the same options, are read back.

Values lie below `data/cache/`, a file for each set of texts, options and library versions.
What is missing, cut short or of another set is computed anew, in several processes where
there is much of it.
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

_FORMAT = 3  # of the files and of what stands in their names
_CHUNK = 64
_PARALLEL_FROM = 300_000  # characters; below that, starting processes costs more than it saves


def scores(function, texts, *options, libraries=(), folder="lexical", parallel=True):
    """Score texts with a function, or read what it gave for the same texts before.

    Parameters
    ----------
    function : callable
        Takes a list of texts and the options and gives a number, or a row of numbers, for
        each text. At module level, so that other processes find it.
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
    key = json.dumps([texts, function.__module__, function.__qualname__, options,
                      [version(name) for name in libraries], _FORMAT])
    path = cache() / folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npy"
    values = _kept(path, len(texts))
    if values is not None:
        return values
    path.parent.mkdir(parents=True, exist_ok=True)
    # Notebooks that run side by side ask for the same scores: the second waits for the first.
    with FileLock(_lock(path)):
        values = _kept(path, len(texts))
        if values is None:
            values = _compute(function, texts, options, parallel and len(key) >= _PARALLEL_FROM)
            _keep(path, values)
    return values


def _lock(path):
    """One of 256 lock files of this user on this machine."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir(), f"nlgjudge-{user}-{path.stem[:2]}.lock")


def _kept(path, count):
    """Values of an earlier run; None where there are none, or the file was cut short."""
    try:
        values = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return values if len(values) == count else None


def _keep(path, values):
    """Write the values so that a reader finds all of them or none."""
    temporary = path.with_name(f".{path.stem}-{os.getpid()}.npy")
    try:
        np.save(temporary, values)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _compute(function, texts, options, parallel):
    if not parallel or len(texts) <= _CHUNK:
        return np.asarray(function(texts, *options), dtype=float)
    parts = [texts[i:i + _CHUNK] for i in range(0, len(texts), _CHUNK)]
    workers = min(os.cpu_count() or 1, 8)
    with ProcessPoolExecutor(workers) as pool:
        running = [pool.submit(function, part, *options) for part in parts]
        return np.concatenate([np.asarray(future.result(), dtype=float) for future in running])
