"""Replies on disk: a killed run goes on where it was, and nothing stored is paid for again.

One SQLite table holds the replies. A reply is found by the digest of its
request as it was asked, with the endpoint, and by its sample index. It never changes; only `drop` removes it.
What was asked is in the row of the first sample only, because texts are long and samples are many.
"""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock, Timeout

from nlgjudge.judging.tasks import key, one_spelling

_TABLES = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT, sample INTEGER, asked TEXT NOT NULL, reply TEXT,
    created REAL DEFAULT ((julianday('now') - 2440587.5) * 86400), PRIMARY KEY (key, sample));
"""
# What a stored reply has; `asked` has the rest: the request, its endpoint and its prompt.
_REPLY: dict = {
    "text": "",
    "reason": "",
    "logprobs": [],
    "prompt_tokens": None,
    "completion_tokens": None,
    "cost": None,
    "model": None,
    "fingerprint": None,
    "changes": {},
}
_ALL = """(SELECT one.key, one.sample, first.asked, one.reply FROM replies AS first
    JOIN replies AS one ON one.key = first.key WHERE first.asked != '' AND one.reply IS NOT NULL)"""


_WHERE = "(:model IS NULL OR asked ->> '$.request.model' = :model)"
_READ_ONLY = "{} must not be written: its replies can be read; to ask, name another store (--store FILE, or store=)"


class Store:
    """A file of replies, created if it doesn't exist.

    A file that is something else, or damaged, is a ValueError; one that cannot be opened or must not be written a
    PermissionError; a full disk an OSError. Each names the file and what to do.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(f"{self.path}.lock")
        self._is_read_only = False
        try:
            has_tables = self._open(self.path)
        except sqlite3.OperationalError as error:
            self._is_read_only = True  # nothing can be written, not even beside the file
            try:
                has_tables = self._open(f"file:{quote(str(self.path))}?immutable=1", uri=True)
            except sqlite3.OperationalError:
                raise PermissionError(f"{path}: the store cannot be opened ({error})") from error
        except sqlite3.DatabaseError as error:
            if "malformed" in str(error):
                raise self._damaged(error) from error
            message = f"{path} is not a store of replies ({error}). Name another file"
            raise ValueError(message) from error
        if not has_tables:
            with self._lock, self._named():  # several processes may create the file at once
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.executescript(_TABLES)

    def _open(self, where, **options):
        """Open the file, and say whether it has the tables of a store."""
        self._db = sqlite3.connect(
            where, timeout=60, isolation_level=None, check_same_thread=False, **options
        )
        named = "SELECT name FROM sqlite_master WHERE type = 'table'"
        try:
            tables = {name for (name,) in self._db.execute(named)}
            if tables - {"replies", "batches"}:
                raise sqlite3.DatabaseError(f"it has the tables {', '.join(sorted(tables))}")
        except sqlite3.DatabaseError:
            self.close()
            raise
        return "replies" in tables

    @contextmanager
    def _named(self):
        """Name the file in errors of the database, and what to do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "readonly" in str(error):
                raise PermissionError(_READ_ONLY.format(self.path)) from error
            raise OSError(
                f"{self.path}: {error}. Is the disk full? What was stored before stays"
            ) from error
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    def _damaged(self, error):
        return ValueError(
            f"{self.path} is damaged ({error}). Restore a copy, or save what can be read: "
            f"sqlite3 {self.path} .recover | sqlite3 NEW"
        )

    def _fetch(self, query, values=()):
        with self._named():
            return self._db.execute(query, values).fetchall()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Close the file."""
        self._db.close()

    @contextmanager
    def asking(self):
        """Hold the store's lock while calls are in flight; a second run waits. Reading never waits."""
        if self._is_read_only:
            raise PermissionError(_READ_ONLY.format(self.path))
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            ((process,),) = self._fetch("PRAGMA user_version")
            warnings.warn(
                f"process {process} is asking with {self.path}: waiting until it is done. To ask now, "
                "name another store (--store FILE, or store=)",
                stacklevel=4,
            )
            self._lock.acquire()
        try:
            self._fetch(f"PRAGMA user_version = {os.getpid()}")
            yield
        finally:
            self._lock.release()

    def get(self, key: str) -> dict[int, dict]:
        """Replies to a request by sample index.

        Each is a dict of `text, reason, logprobs, prompt_tokens, completion_tokens, cost, model` (that answered),
        `fingerprint` and `changes`, what was sent in place of what was asked.
        """
        rows = self._fetch(
            "SELECT sample, reply FROM replies WHERE key = ? AND reply IS NOT NULL ORDER BY sample",
            (key,),
        )
        return {sample: json.loads(reply) for sample, reply in rows}

    def key(self, request: dict, endpoint: str) -> str:
        """Key of a request; if replies are stored under it, the one that tells 0.0 from 0."""
        now, earlier = _keys(request, endpoint)
        return earlier if earlier != now and self.get(earlier) else now

    def is_empty(self) -> bool:
        """Whether it holds no reply."""
        return not self._fetch("SELECT 1 FROM replies LIMIT 1")

    def add(self, digest: str, asked: dict, replies: dict[int, dict]) -> None:
        """Store replies to a request; a sample that is stored already stays as it is.

        Parameters
        ----------
        digest
            As `nlgjudge.judging.tasks.key` gives it.
        asked
            `request` (its body), `endpoint`, `prompt` and `digest` of the prompt, and `reading`: what
            of `nlgjudge.judging.Reading` the replies need.
        replies
            By sample index, as from `get`; what is absent has its default.
        """
        self._insert([(digest, sample, asked, reply) for sample, reply in replies.items()])

    def _insert(self, rows):
        """Insert rows in one transaction, which is rolled back if one fails."""
        with self._named():
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:
                for row in rows:
                    self._insert_one(*row)

    def _insert_one(self, digest, sample, asked, reply):
        """Insert a reply; one that is stored stays as it is."""
        described = "SELECT 1 FROM replies WHERE key = ? AND asked != ''"
        is_described = self._db.execute(described, (digest,)).fetchone()
        self._db.execute(
            "INSERT INTO replies (key, sample, asked, reply) VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET reply = excluded.reply WHERE replies.reply IS NULL",
            (digest, sample, "" if is_described else _json(asked), _json(_REPLY | reply)),
        )

    def rows(self, *, model: str | None = None) -> Iterator[tuple[str, int, dict, dict]]:
        """Yield key, sample, what was asked and reply, as for `add`, of all replies, or of a model as it was asked."""
        query = f"SELECT * FROM {_ALL} WHERE {_WHERE} ORDER BY key, sample"
        with self._named():
            for digest, sample, asked, reply in self._db.execute(query, {"model": model}):
                yield digest, sample, json.loads(asked), json.loads(reply)

    def drop(self, chosen: Iterable[tuple[str, int]]) -> None:
        """Remove replies by key and sample, so that the next run asks for them again."""
        with self._lock, self._named():
            self._db.executemany(
                "UPDATE replies SET reply = NULL WHERE key = ? AND sample = ?", chosen
            )

    def totals(self) -> dict[str, float]:
        """Number of `replies`, `prompt_tokens`, `completion_tokens`, and `cost` in the price's currency."""
        names = ("prompt_tokens", "completion_tokens", "cost")
        sums = ", ".join(f"coalesce(sum(reply ->> '$.{name}'), 0)" for name in names)
        (row,) = self._fetch(f"SELECT count(*), {sums} FROM {_ALL}")
        return dict(zip(("replies", *names), row))

    def endpoints(self, model: str | None = None) -> dict[tuple[str, str], int]:
        """Number of replies by the model and the endpoint that were asked, as ``{(model, endpoint): n}``."""
        rows = self._fetch(
            "SELECT asked ->> '$.request.model', asked ->> '$.endpoint', count(*) "
            f"FROM {_ALL} WHERE {_WHERE} GROUP BY 1, 2 ORDER BY 1, 2",
            {"model": model},
        )
        return {(name, endpoint): number for name, endpoint, number in rows}

    def reply_length(self, model: str, endpoint: str, digest: str) -> float | None:
        """Mean completion tokens of the stored replies to a prompt; None without any."""
        ((mean,),) = self._fetch(
            f"SELECT avg(reply ->> '$.completion_tokens') FROM {_ALL} WHERE {_WHERE} "
            "AND asked ->> '$.endpoint' = :endpoint AND asked ->> '$.digest' = :digest",
            {"model": model, "endpoint": endpoint, "digest": digest},
        )
        return mean

    def export(self, path: str | os.PathLike) -> None:
        """Write all replies as JSON Lines, compressed if the name ends in .gz."""
        with _open(path, "wt") as handle:
            for digest, sample, asked, reply in self.rows():
                handle.write(
                    _json({"key": digest, "sample": sample, **asked, "reply": reply}) + "\n"
                )

    def load(self, path: str | os.PathLike) -> None:
        """Add the replies of an exported file, or none where a line is no reply: a ValueError."""
        with _open(path, "rt") as handle:
            rows = [_exported(line, f"{path}, line {at}") for at, line in enumerate(handle, 1)]
        self._insert(rows)


def _keys(request, endpoint):
    return [key(request, endpoint, spelled) for spelled in (one_spelling, dict)]


def _json(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def _exported(line, place):
    """A row of an exported line, whose key must be that of its request."""
    try:
        asked = json.loads(line)
        digest, sample, reply = (asked.pop(name) for name in ("key", "sample", "reply"))
        expected = _keys(asked["request"], asked["endpoint"])
        row = digest, int(sample), asked, _REPLY | reply
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{place}: not a stored reply ({error!r})") from error
    if digest not in expected:
        raise ValueError(
            f"{place}: expected the key of its request, {expected[0][:12]}…, got "
            f"{str(digest)[:12]}. The line was changed after the export; export again"
        )
    return row


def _open(path, mode):
    opener = gzip.open if str(path).endswith(".gz") else open
    return opener(path, mode, encoding="utf-8")
