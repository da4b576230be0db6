"""Scores cached by content: texts that were scored before, by the same code and options, are read back.

Values are below `data/cache/`, in a file for each function, its options, library versions and the code of this package.
A text, or a tuple of texts, is identified by its digest, so that a part of a benchmark finds what the whole
has left there. A damaged file is computed again.
"""

import hashlib
import json
import os
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
_CODE = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()


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
    if not texts:
        return np.asarray(function(texts, *options), dtype=float)
    used = [function.__module__, function.__qualname__, options, _CODE]
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
    except Exception:  # numpy, zipfile and zlib raise many kinds
        return {}, np.empty(0)
    starts = range(0, len(names), _DIGEST)
    return {names[start : start + _DIGEST]: row for row, start in enumerate(starts)}, values


def _write(path, names, values):
    """Write the values under another name first, so that a reader finds all of them or none."""
    temporary = path.with_name(f".{path.stem}-{os.getpid()}.npz")
    np.savez(temporary, values=values, digests=np.frombuffer(names, dtype=np.uint8))
    os.replace(temporary, path)
