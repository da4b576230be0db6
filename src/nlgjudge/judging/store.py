"""Replies on disk: append-only, safe against a killed process, shared by several.

SQLite with a write-ahead log and a commit per group of replies. A reply is found by the
digest of its full request with the endpoint that it went to, and by its sample index. It
never changes and never expires; a reply that was asked for again has further tries beside it.
Only `drop` takes replies out, when a user says so. Beside the replies stands who is asking what
at this moment (`nlgjudge.judging.claims`), so that two runs share a store and pay once.
"""

import errno
import gzip
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from nlgjudge.judging.tasks import UNKNOWN_ENDPOINT, key

_REPLY = """
    text TEXT NOT NULL, reason TEXT NOT NULL, logprobs TEXT NOT NULL, prompt_tokens INTEGER,
    completion_tokens INTEGER, cost REAL, model TEXT, fingerprint TEXT,
    created REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400)
"""
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS requests (key TEXT PRIMARY KEY, request TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS replies (
    key TEXT NOT NULL, sample INTEGER NOT NULL, {_REPLY}, PRIMARY KEY (key, sample)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tries (
    key TEXT NOT NULL, sample INTEGER NOT NULL, attempt INTEGER NOT NULL, {_REPLY},
    PRIMARY KEY (key, sample, attempt)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches (
    id TEXT PRIMARY KEY, attempt INTEGER NOT NULL, state TEXT NOT NULL, keys TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS claims (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL) WITHOUT ROWID;
"""
# What later versions added: stores of earlier ones get it when they are opened.
_ADDED = [
    ("requests", "endpoint", f"TEXT NOT NULL DEFAULT '{UNKNOWN_ENDPOINT}'"),
    ("requests", "model", "TEXT NOT NULL DEFAULT ''"),
    ("requests", "prompt", "TEXT NOT NULL DEFAULT ''"),
    ("requests", "digest", "TEXT NOT NULL DEFAULT ''"),
    ("requests", "form", "TEXT NOT NULL DEFAULT ''"),
    ("requests", "scale", "TEXT NOT NULL DEFAULT '[]'"),
    ("batches", "endpoint", f"TEXT NOT NULL DEFAULT '{UNKNOWN_ENDPOINT}'"),
]
_INDEX = "CREATE INDEX IF NOT EXISTS requests_by_source ON requests (endpoint, model, prompt)"
_TABLES = {"requests", "replies", "tries", "batches", "claims"}
_GIVEN = [
    "text",
    "reason",
    "logprobs",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "model",
    "fingerprint",
]
COLUMNS = ["key", "sample", *_GIVEN]
# All tries of all replies, the first of each with attempt 0.
_ALL = (
    f"(SELECT key, sample, 0 AS attempt, {', '.join(_GIVEN)} FROM replies UNION ALL "
    f"SELECT key, sample, attempt, {', '.join(_GIVEN)} FROM tries)"
)
_REQUEST = ["request", "endpoint", "prompt", "digest", "form", "scale"]


class Request(NamedTuple):
    """What was asked, of whom, and under which prompt.

    Attributes
    ----------
    body : dict
        The request's body without the number of samples.
    endpoint : str
        As `nlgjudge.judging.tasks.endpoint` gives it: no secret is in it.
    prompt, digest : str
        Of the prompt, as its `name` and `digest` are.
    form : str
        How a rating is read in a reply; empty where a reply holds no single one.
    scale : list of float
    """

    body: dict
    endpoint: str = UNKNOWN_ENDPOINT
    prompt: str = ""
    digest: str = ""
    form: str = ""
    scale: list = []


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
        try:
            self._db = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
            self._reader = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
        except sqlite3.OperationalError as error:
            raise PermissionError(
                errno.EACCES,
                f"the store of replies cannot be opened or made ({error})",
                str(self.path),
            ) from error
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self.close()
            raise ValueError(
                f"{path} is not a store of replies ({error}); name another file"
            ) from error

    def _prepare(self, tries=200):
        """Make the tables, or what a store of an earlier version lacks of them."""
        try:
            tables = {
                name
                for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type='table'")
            }
            if tables - _TABLES:
                raise sqlite3.DatabaseError(f"it holds {', '.join(sorted(tables))}")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(_SCHEMA)
            self._add_columns()
        except sqlite3.OperationalError as error:
            # Another process makes the file at this moment; SQLite does not wait here by itself.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or tries == 1:
                raise
            time.sleep(0.05)
            self._prepare(tries - 1)

    def _add_columns(self):
        if all(column in self._columns(table) for table, column, _ in _ADDED):
            return
        self._db.execute("BEGIN IMMEDIATE")  # one process at a time, the others find it done
        with self._db:
            for table, column, kind in _ADDED:
                if column not in self._columns(table):
                    self._db.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
            self._db.execute(
                "UPDATE requests SET model = coalesce(json_extract(request, '$.model'), '') "
                "WHERE model = ''"
            )
            self._db.execute(_INDEX)

    def _columns(self, table):
        return [row[1] for row in self._db.execute(f"PRAGMA table_info({table})")]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Close the file."""
        self._reader.close()
        self._db.close()

    def get(self, key):
        """First replies to a request, by sample index.

        Returns
        -------
        dict of int to dict
            Each with the columns of `COLUMNS` but the first two; `logprobs` decoded.
        """
        return {sample: tries[0] for sample, tries in self.tries(key).items()}

    def tries(self, key):
        """All tries of the replies to a request, by sample index, in the order in which they were made.

        Returns
        -------
        dict of int to list of dict
            Each with the columns of `COLUMNS` but the first two; `logprobs` decoded.
        """
        columns = ", ".join(_GIVEN)
        rows = self._reader.execute(
            f"SELECT sample, 0 AS attempt, {columns} FROM replies WHERE key=:key UNION ALL "
            f"SELECT sample, attempt, {columns} FROM tries WHERE key=:key ORDER BY sample, attempt",
            {"key": key},
        )
        found = {}
        for sample, _, *values in rows:
            found.setdefault(sample, []).append(_decoded(values))
        return found

    def requests(self):
        """Bodies of the requests that have a reply."""
        rows = self._reader.execute(
            "SELECT request FROM requests WHERE key IN (SELECT key FROM replies)"
        )
        for (request,) in rows:
            yield json.loads(request)

    def add(self, requests, replies):
        """Store replies in one transaction; what is there already stays as it is.

        Parameters
        ----------
        requests : dict of str to Request or dict
            By key; a dict is the body of a request whose endpoint is unknown.
        replies : list of dict
            With the columns of `COLUMNS`; all but `key`, `sample` and `text` may be absent. `attempt` is
            0, or absent, for a first reply and counts the further tries of it.
        """
        asked = []
        for digest, request in requests.items():
            if isinstance(request, dict):
                request = Request(request)
            asked.append(
                (
                    digest,
                    _model(request.body),
                    _json(request.body),
                    request.endpoint,
                    request.prompt,
                    request.digest,
                    request.form,
                    _json(request.scale),
                )
            )
        first = [_encoded(reply) for reply in replies if not reply.get("attempt")]
        further = [
            [*_encoded(reply), reply["attempt"]] for reply in replies if reply.get("attempt")
        ]
        columns = ", ".join(COLUMNS)
        marks = ", ".join("?" * len(COLUMNS))
        with self._db:
            self._db.executemany(
                f"INSERT OR IGNORE INTO requests (key, model, {', '.join(_REQUEST)}) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                asked,
            )
            self._db.executemany(
                f"INSERT OR IGNORE INTO replies ({columns}) VALUES ({marks})", first
            )
            self._db.executemany(
                f"INSERT OR IGNORE INTO tries ({columns}, attempt) VALUES ({marks}, ?)", further
            )

    def totals(self):
        """Number of replies, tokens and cost.

        Returns
        -------
        dict
            `replies, asked_again` (further tries of them), `prompt_tokens, completion_tokens, cost` (in the
            price's currency) of all tries.
        """
        counts = "SELECT (SELECT count(*) FROM replies), (SELECT count(*) FROM tries)"
        replies, again = self._db.execute(counts).fetchone()
        names = ("prompt_tokens", "completion_tokens", "cost")
        summed = ", ".join(f"coalesce(sum({name}), 0)" for name in names)
        both = " UNION ALL ".join(
            f"SELECT {', '.join(names)} FROM {table}" for table in ("replies", "tries")
        )
        sums = self._db.execute(f"SELECT {summed} FROM ({both})").fetchone()
        return {"replies": replies, "asked_again": again, **dict(zip(names, sums))}

    def endpoints(self, model=None):
        """Count replies by the model that was asked and the endpoint that was asked for it.

        Parameters
        ----------
        model : str, optional
            Only this one.

        Returns
        -------
        dict of (str, str) to int
            By model and endpoint, which is ``"unknown"`` for replies of before the endpoint was kept.
        """
        rows = self._db.execute(
            "SELECT requests.model, endpoint, count(*) FROM replies JOIN requests USING (key) "
            "WHERE :model IS NULL OR requests.model = :model GROUP BY 1, 2 ORDER BY 1, 2",
            {"model": model},
        )
        return {(asked, where): number for asked, where, number in rows}

    def has_unknown(self):
        """Whether the endpoint of some request is unknown."""
        query = "SELECT 1 FROM requests WHERE endpoint = ? LIMIT 1"
        return self._reader.execute(query, (UNKNOWN_ENDPOINT,)).fetchone() is not None

    def reply_length(self, model, endpoint, prompt, digest):
        """Mean completion tokens of the replies to a prompt, and of how many.

        Parameters
        ----------
        model, endpoint, prompt, digest : str

        Returns
        -------
        (float or None, int)
            None and 0 where there are none.
        """
        lengths = " UNION ALL ".join(
            f"SELECT completion_tokens AS tokens FROM requests JOIN {table} USING (key) "
            "WHERE endpoint = :endpoint AND requests.model = :model AND prompt = :prompt AND digest = :digest"
            for table in ("replies", "tries")
        )
        wanted = {"endpoint": endpoint, "model": model, "prompt": prompt, "digest": digest}
        row = self._reader.execute(f"SELECT avg(tokens), count(tokens) FROM ({lengths})", wanted)
        return row.fetchone()

    def rows(self, *, model=None, endpoint=None):
        """Read all replies with their requests.

        Parameters
        ----------
        model, endpoint : str, optional
            Only those that were asked of them.

        Yields
        ------
        key : str
        sample : int
        request : Request
        tries : list of dict
        """
        request_columns = ", ".join(f"requests.{column}" for column in _REQUEST)
        reply_columns = ", ".join(f"replies.{column}" for column in _GIVEN)
        query = (
            f"SELECT replies.key, sample, {request_columns}, {reply_columns} FROM {_ALL} AS replies "
            "JOIN requests ON replies.key = requests.key "
            "WHERE (:model IS NULL OR requests.model = :model) "
            "AND (:endpoint IS NULL OR endpoint = :endpoint) ORDER BY replies.key, sample, attempt"
        )
        last = None  # key and sample of the reply whose tries are read
        request = None
        tries = []
        with closing(self._db.execute(query, {"model": model, "endpoint": endpoint})) as found:
            for digest, sample, *values in found:
                if (digest, sample) != last:
                    if tries:
                        yield *last, request, tries
                    request = _request(values[: len(_REQUEST)])
                    last = (digest, sample)
                    tries = []
                tries.append(_decoded(values[len(_REQUEST) :]))
        if tries:
            yield *last, request, tries

    def drop(self, chosen):
        """Take replies out, with all their tries, so that they are asked for anew.

        Parameters
        ----------
        chosen : iterable of (str, int)
            Keys and samples.
        """
        chosen = list(chosen)
        with self._db:
            for table in ("replies", "tries"):
                self._db.executemany(f"DELETE FROM {table} WHERE key=? AND sample=?", chosen)

    def adopt(self, model, endpoint):
        """Say which endpoint gave the replies whose endpoint is unknown.

        Where this endpoint has a reply to the same request already, that one stays in use and the other
        stays where it is.

        Parameters
        ----------
        model, endpoint : str
            As `nlgjudge.judging.tasks.endpoint` gives it.

        Returns
        -------
        int
            Replies taken over.
        """
        columns = ", ".join(_REQUEST)
        old = self._db.execute(
            f"SELECT key, {columns} FROM requests WHERE endpoint = ? AND model = ?",
            (UNKNOWN_ENDPOINT, model),
        ).fetchall()
        taken = 0
        with self._db:
            for before, body, _, *rest in old:
                after = key(json.loads(body), endpoint)
                self._db.execute(
                    f"INSERT OR IGNORE INTO requests (key, model, {columns}) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (after, model, body, endpoint, *rest),
                )
                samples = self._samples(before) - self._samples(after)
                for table in ("replies", "tries"):
                    self._db.executemany(
                        f"UPDATE {table} SET key=? WHERE key=? AND sample=?",
                        [(after, before, sample) for sample in samples],
                    )
                taken += len(samples)
                self._db.execute(
                    "DELETE FROM requests WHERE key=:key AND NOT EXISTS "
                    "(SELECT 1 FROM replies WHERE key=:key)",
                    {"key": before},
                )
        return taken

    def _samples(self, key):
        """Which samples of a request are stored."""
        return {
            sample
            for (sample,) in self._db.execute("SELECT sample FROM replies WHERE key=?", (key,))
        }

    def export(self, path):
        """Write all tries of all replies with their requests as JSON Lines, compressed if it ends in .gz."""
        with _open(path, "wt") as handle:
            for digest, sample, request, tries in self.rows():
                for attempt, reply in enumerate(tries):
                    asked = request._asdict()
                    body = asked.pop("body")
                    line = {
                        "key": digest,
                        "sample": sample,
                        **reply,
                        "attempt": attempt,
                        **asked,
                        "request": body,
                    }
                    handle.write(json.dumps(line, ensure_ascii=False) + "\n")

    def load(self, path):
        """Add the replies of an exported file; a bad line names itself and adds nothing.

        Lines without an endpoint, as earlier versions wrote them, are kept under an unknown one.

        Raises
        ------
        ValueError
            For a line that is not a reply, or whose key is another request's.
        """
        requests = {}
        replies = []
        with _open(path, "rt") as handle:
            for number, line in enumerate(handle, 1):
                try:
                    row = json.loads(line)
                    known = {name: row.pop(name) for name in Request._fields[1:] if name in row}
                    requests[row["key"]] = Request(row.pop("request"), **known)
                    row["sample"] = int(row["sample"])
                    row["text"] = str(row["text"])
                    row["attempt"] = int(row.get("attempt", 0))
                    replies.append(row)
                except (ValueError, KeyError, TypeError) as error:
                    raise ValueError(
                        f"{path}, line {number}: not a stored reply ({error})"
                    ) from error
                self._check_key(row["key"], requests[row["key"]], f"{path}, line {number}")
        self.add(requests, replies)

    @staticmethod
    def _check_key(given, request, place):
        """Refuse a reply that would be served as the answer to another request."""
        expected = key(request.body, request.endpoint)
        if given != expected:
            raise ValueError(
                f"{place}: expected the key of its request and endpoint, {expected[:12]}…, got "
                f"{str(given)[:12]!r}; the line was changed after the export, so nothing was added: "
                "export anew"
            )

    def batches(self):
        """Batches that were submitted: `id, attempt, state, endpoint` and the keys they ask for."""
        names = ["id", "attempt", "state", "endpoint", "keys"]
        rows = self._db.execute(f"SELECT {', '.join(names)} FROM batches ORDER BY rowid")
        batches = [dict(zip(names, row)) for row in rows]
        return [batch | {"keys": json.loads(batch["keys"])} for batch in batches]

    def batch_states(self):
        """Of each batch its id, its state and which attempt it is, without the keys, which may be thousands."""
        return self._reader.execute(
            "SELECT id, state, attempt FROM batches ORDER BY rowid"
        ).fetchall()

    def note_batch(self, batch_id, attempt, state, keys, endpoint=UNKNOWN_ENDPOINT):
        """Keep or update a batch."""
        with self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO batches (id, attempt, state, keys, endpoint) VALUES (?, ?, ?, ?, ?)",
                (batch_id, attempt, state, json.dumps(keys), endpoint),
            )


def _model(body):
    return str(body.get("model", "")) if isinstance(body, dict) else ""


def _request(values):
    body, *rest, scale = values
    return Request(json.loads(body), *rest, json.loads(scale))


def _decoded(values):
    reply = dict(zip(_GIVEN, values))
    reply["logprobs"] = json.loads(reply["logprobs"])
    return reply


def _encoded(reply):
    row = [reply.get(column) for column in COLUMNS]
    row[COLUMNS.index("reason")] = reply.get("reason", "")
    row[COLUMNS.index("logprobs")] = json.dumps(reply.get("logprobs", []))
    return row


def _json(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _open(path, mode):
    """Open a text file, compressed if its name ends in .gz."""
    opener = gzip.open if str(path).endswith(".gz") else open
    return opener(path, mode, encoding="utf-8")
