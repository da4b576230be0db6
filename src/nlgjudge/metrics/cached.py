"""Scores cached by content: texts that were scored before, by the same code and options, are read back.

Values are below `data/cache/`, in a file for each function, its options, library versions and source code.
A text, or a tuple of texts, is identified by its digest, so that a part of a benchmark finds what the whole
has left there. A file whose checksum is wrong is computed again.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pandas as pd
from filelock import FileLock

from nlgjudge.data.paths import cache
from nlgjudge.namespaces import missing

_DIGEST = 16  # bytes


def scores(
    function: Callable, texts: list, *options: str | float, libraries: Sequence[str] = ()
) -> np.ndarray:
    """Score texts with a function, or read its earlier scores of the same texts.

    Parameters
    ----------
    function
        At module level. Takes a list of texts and the options, and returns a number or a row of numbers
        for each text that depends on no other text.
    texts
        Strings, or nested tuples of strings.
    libraries
        Distributions on whose versions the scores depend.

    Returns
    -------
    numpy.ndarray
        One entry or row per text.
    """
    source = _source(function.__module__)
    if not texts or source is None:
        return np.asarray(function(texts, *options), dtype=float)
    used = [function.__module__, function.__qualname__, options, source]
    key = json.dumps([*used, [_version(name) for name in libraries]])
    path = cache() / "lexical" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"
    digests = [_digest(text) for text in texts]
    places, values = _read(path)
    if not places.keys() >= set(digests):
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):  # notebooks run side by side
            places, values = _read(path)
            new = {digest: text for digest, text in zip(digests, texts) if digest not in places}
            if new:
                rows = np.asarray(function(list(new.values()), *options), dtype=float)
                values = np.concatenate([values, rows]) if places else rows
                places.update(zip(new, range(len(places), len(values))))
                _write(path, b"".join(places), values)
    return values[[places[digest] for digest in digests]]


def refuse_bare(items: pd.DataFrame) -> None:
    """Raise a `ValueError` for items without references."""
    bare = int((items["references"].map(len) == 0).sum())
    if bare:
        raise ValueError(
            f"{bare} items have no reference; leave them out, or put the source in `references`"
        )


def _version(library):
    try:
        return version(library)
    except PackageNotFoundError as error:
        raise missing(library, "metrics") from error


def _of_file(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


# As the metrics are when this process loads them.
_loaded = {
    f"{__package__}.{path.stem}": _of_file(path) for path in Path(__file__).parent.glob("*.py")
}


def _source(module):
    """Digests of a module and the metrics that it uses; None if one was edited since it was loaded."""
    digests = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in digests:
            digests[name] = _of_file(sys.modules[name].__file__)
            for value in vars(sys.modules[name]).values():
                used = getattr(value, "__module__", None) or getattr(value, "__name__", None)
                if str(used).startswith(f"{__package__}."):
                    waiting.append(used)
    if any(_loaded.get(name, digest) != digest for name, digest in digests.items()):
        return None
    return sorted(digests.items())


@lru_cache(maxsize=200_000)  # a pair of texts is scored in several ways, one after the other
def _digest(text):
    """What identifies a text, or a tuple of texts."""
    if isinstance(text, str):
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
    return hashlib.blake2b(b"".join(map(_digest, text)), digest_size=_DIGEST).digest()


def _read(path):
    """Rows of earlier runs by digest of their text, and their values; none if the file is absent or damaged."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            names, values = stored["digests"].tobytes(), stored["values"]
            whole = stored["checksum"].tobytes() == _checksum(names, values)
    except Exception:  # numpy, zipfile and zlib raise many kinds
        whole = False
    if not whole:
        return {}, np.empty(0)
    starts = range(0, len(names), _DIGEST)
    return {names[start : start + _DIGEST]: row for row, start in enumerate(starts)}, values


def _write(path, names, values):
    """Write the values under another name first, so that a reader finds all of them or none."""
    temporary = path.with_name(f".{path.stem}-{os.getpid()}.npz")
    parts = {"digests": names, "checksum": _checksum(names, values)}
    parts = {name: np.frombuffer(part, dtype=np.uint8) for name, part in parts.items()}
    np.savez(temporary, values=values, **parts)
    os.replace(temporary, path)


def _checksum(names, values):
    return hashlib.sha256(names + values.tobytes()).digest()
