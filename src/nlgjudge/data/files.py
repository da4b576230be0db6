"""The files that a benchmark is read from, and what became of each of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from pickle import UnpicklingError

import pandas as pd

from nlgjudge.data import fetch
from nlgjudge.data.paths import use
from nlgjudge.data.registry import Entry, blob_id

# What a reader raises for a file in an unexpected layout.
MALFORMED = (ValueError, TypeError, LookupError, AttributeError, UnpicklingError)


class Files:
    """Registered files of a benchmark.

    Attributes
    ----------
    benchmark
        Name in the registry.
    entries
        The registry's rows.
    used
        Each file that was read, with its git blob id.
    left_out
        Each optional file that was not used, and why.
    """

    def __init__(self, benchmark: str, entries: Iterable[Entry]):
        self.benchmark = benchmark
        self.entries = list(entries)
        self.used: dict[str, str] = {}
        self.left_out: dict[str, str] = {}

    def find(self, ending: str) -> Entry:
        """Return the file whose path ends so; KeyError where there is none."""
        matching = [entry for entry in self.entries if entry.path.endswith(ending)]
        if not matching:
            raise KeyError(f"{self.benchmark}: no registered file ends with {ending!r}")
        return matching[0]

    def read(self, file: str | Entry) -> bytes:
        """Return the verified content of a file, named by the end of its path."""
        entry = self.find(file) if isinstance(file, str) else file
        content = fetch.read(entry)
        self.used[entry.path] = entry.blob
        return content

    def read_optional(self, entry: Entry, reader: Callable) -> list[tuple]:
        """Return the rows that `reader` makes of a file's content.

        No rows if the file is unavailable. If it was delivered badly or is malformed, a line is printed too.
        """
        try:
            return list(reader(self.read(entry)))
        except fetch.DataUnavailable as error:
            if error.kind != "failed":
                self.left_out[entry.path] = "not on this machine"
                return []
            reason = error.cause
        except MALFORMED as error:
            reason = f"it is laid out otherwise than expected ({type(error).__name__}: {error})"
        reason = " ".join(reason.split())
        self.left_out[entry.path] = reason
        print(f"{entry.benchmark}: {entry.path} of {entry.repository} is left out: {reason}")
        return []

    def read_own_copy(self, variable: str, what: str, columns: list[str], file: str = ""):
        """Return the lines of a CSV that an environment variable names, or `file` in the folder it names."""
        named = os.environ.get(variable, "")
        if not named:
            raise fetch.DataUnavailable(
                f"{self.benchmark} cannot be downloaded freely: ask its authors for it "
                f"and name {what} in {variable}",
                cause=f"{variable} names no file",
            )
        if not Path(named).exists():
            raise FileNotFoundError(f"{variable}={named} does not exist; name {what}")
        path = Path(named, file)
        self.used[path.name] = blob_id(path.read_bytes())
        table = pd.read_csv(use(path), dtype=str, keep_default_na=False, encoding="utf-8-sig")
        absent = [column for column in columns if column not in table]
        if absent:
            raise ValueError(f"{path}: expected columns {columns}, lacks {absent}")
        return table.to_dict("records")
