"""Replies on disk: append-only, safe against a killed process, shared by several.

SQLite with a write-ahead log and a commit per group of replies. A reply is found by the
digest of its full request and its sample index, never changes and never expires.
"""

import gzip
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (key TEXT PRIMARY KEY, request TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS replies (
    key TEXT NOT NULL, sample INTEGER NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL,
    logprobs TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL,
    model TEXT, fingerprint TEXT, created REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400),
    PRIMARY KEY (key, sample)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches (id TEXT PRIMARY KEY, attempt INTEGER NOT NULL, state TEXT NOT NULL,
    keys TEXT NOT NULL);
"""
COLUMNS = ["key", "sample", "text", "reason", "logprobs", "prompt_tokens", "completion_tokens", "cost",
           "model", "fingerprint"]


class Store:
    """A file of replies.

    Parameters
    ----------
    path : path-like
        Made when missing.

    Raises
    ------
    ValueError
        When the file is something else.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Two connections: replies are written from a worker thread, and a look-up must not
        # wait for the disk.
        self._db, self._reader = (sqlite3.connect(self.path, timeout=60, check_same_thread=False)
                                  for _ in range(2))
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self.close()
            raise ValueError(f"{path} is not a store of replies ({error}); name another file") from error

    def _prepare(self, tries=200):
        try:
            tables = {name for name, in self._db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
            if tables - {"requests", "replies", "batches"}:
                raise sqlite3.DatabaseError(f"it holds {', '.join(sorted(tables))}")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(_SCHEMA)
        except sqlite3.OperationalError as error:
            # Another process makes the file at this moment; SQLite does not wait here by itself.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or tries == 1:
                raise
            time.sleep(0.05)
            self._prepare(tries - 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Close the file."""
        self._reader.close()
        self._db.close()

    def get(self, key):
        """Replies to a request, by sample index.

        Returns
        -------
        dict of int to dict
            Each with the columns of `COLUMNS` but the first two; `logprobs` decoded.
        """
        rows = self._reader.execute(f"SELECT {', '.join(COLUMNS[1:])} FROM replies WHERE key=?", (key,))
        return {row[0]: dict(zip(COLUMNS[2:], row[1:])) | {"logprobs": json.loads(row[3])} for row in rows}

    def requests(self):
        """Bodies of the requests that have a reply."""
        rows = self._reader.execute("SELECT request FROM requests WHERE key IN (SELECT key FROM replies)")
        for request, in rows:
            yield json.loads(request)

    def add(self, requests, replies):
        """Store replies in one transaction; what is there already stays as it is.

        Parameters
        ----------
        requests : dict of str to dict
            Request bodies by key.
        replies : list of dict
            With the columns of `COLUMNS`; all but `key`, `sample` and `text` may be absent.
        """
        with self._db:
            self._db.executemany("INSERT OR IGNORE INTO requests VALUES (?, ?)", [
                (k, json.dumps(r, sort_keys=True, ensure_ascii=False)) for k, r in requests.items()])
            self._db.executemany(
                f"INSERT OR IGNORE INTO replies ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * 10)})",
                [[r["key"], r["sample"], r["text"], r.get("reason", ""), json.dumps(r.get("logprobs", [])),
                  *(r.get(c) for c in COLUMNS[5:])] for r in replies])

    def totals(self):
        """Number of replies, tokens and cost.

        Returns
        -------
        dict
            `replies, prompt_tokens, completion_tokens, cost` (in the price's currency).
        """
        row = self._db.execute("SELECT count(*), coalesce(sum(prompt_tokens), 0), "
                               "coalesce(sum(completion_tokens), 0), coalesce(sum(cost), 0) FROM replies")
        return dict(zip(("replies", "prompt_tokens", "completion_tokens", "cost"), row.fetchone()))

    def export(self, path):
        """Write all replies with their requests as JSON Lines, compressed if it ends in .gz."""
        query = (f"SELECT request, {', '.join(COLUMNS)} FROM replies JOIN requests USING (key) "
                 "ORDER BY key, sample")
        with _open(path, "wt") as handle, closing(self._db.execute(query)) as rows:
            for request, *values in rows:
                line = dict(zip(COLUMNS, values)) | {"request": json.loads(request)}
                line["logprobs"] = json.loads(line["logprobs"])
                handle.write(json.dumps(line, ensure_ascii=False) + "\n")

    def load(self, path):
        """Add the replies of an exported file; a bad line names itself and adds nothing.

        Raises
        ------
        ValueError
            For a line that is not a reply.
        """
        requests, replies = {}, []
        with _open(path, "rt") as handle:
            for number, line in enumerate(handle, 1):
                try:
                    row = json.loads(line)
                    requests[row["key"]] = row.pop("request")
                    replies.append(row | {"sample": int(row["sample"]), "text": str(row["text"])})
                except (ValueError, KeyError, TypeError) as error:
                    raise ValueError(f"{path}, line {number}: not a stored reply ({error})") from error
        self.add(requests, replies)

    def batches(self):
        """Batches that were submitted: `id, attempt, state` and the keys they ask for."""
        rows = self._db.execute("SELECT id, attempt, state, keys FROM batches ORDER BY rowid")
        return [{"id": i, "attempt": a, "state": s, "keys": json.loads(k)} for i, a, s, k in rows]

    def note_batch(self, batch_id, attempt, state, keys):
        """Keep or update a batch."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?)",
                             (batch_id, attempt, state, json.dumps(keys)))


def _open(path, mode):
    return (gzip.open if str(path).endswith(".gz") else open)(path, mode, encoding="utf-8")
