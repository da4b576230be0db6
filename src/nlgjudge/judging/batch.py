"""The same requests through the Batch API: submit, leave, come back, collect.

Half the price and a day's patience. A batch is noted in the store with its endpoint, so another
process can collect it; lines that failed are submitted once more, and what is stored is never
asked for again. That holds for replies that the protocol cannot use, too: `openai:MODEL` at the
same endpoint and store asks again for those, and `nlgjudge replies drop` makes room for others.
Requests are claimed while they are submitted, and batches while they are collected, so that two
processes at once neither pay twice nor submit failed lines twice. A live run on the same store leaves
what waits in a batch to it.
"""

import io
import json
from contextlib import contextmanager

import openai

from nlgjudge.judging import planning
from nlgjudge.judging.claims import Claims
from nlgjudge.judging.errors import JudgeError, Waiting
from nlgjudge.judging.pending import OVER, under_way
from nlgjudge.judging.server import Server, columns, message
from nlgjudge.judging.tasks import UNKNOWN_ENDPOINT

# Of one batch, the API's limits; of bytes, the older and smaller one.
LINES = 50_000
BYTES = 100_000_000
# How long a claim holds at most while a large batch is on its way; a process that ended holds none.
CLAIM_SECONDS = 3600


class Batch:
    """A model behind the Batch API of an OpenAI-compatible endpoint.

    Parameters
    ----------
    model : str
    store : nlgjudge.judging.store.Store
    timeout : float
        Seconds that the server may be silent in one try of a call.
    price : (float, float), optional
        Of a million prompt and a million completion tokens, in a batch, for `plan`.
    """

    def __init__(self, model, store, *, timeout=120, price=None):
        self.name = f"batch:{model}"
        self.store = store
        self.price = price
        self.timeout = timeout
        self.server = Server(model, timeout=timeout)

    def replies(self, tasks):
        """Yield stored replies; submit what is missing and stop.

        Raises
        ------
        Waiting
            While replies are still to come, saying how many and of which batches.
        JudgeError
            When a batch is not accepted or cannot be collected.
        """
        self.collect()
        self.submit(tasks)
        missing = {digest for _, _, digest, _ in self._missing(tasks)}
        waiting = {}
        for batch in under_way(self.store):
            asked = missing & set(batch["keys"])
            if asked:
                waiting[batch["id"]] = asked
        if waiting:
            raise Waiting(
                self.name,
                waiting,
                "run the same call again later to collect (a batch takes up to 24 hours)",
            )
        with self._claims() as claims:
            elsewhere = {digest for digest in missing if claims.is_taken(digest)}
        if elsewhere:
            raise Waiting(
                self.name,
                {f"another run on {self.store.path.name}": elsewhere},
                "run the same call again later",
            )
        yield from self.server.stored(self.store, tasks)

    def plan(self, tasks):
        """Say what a run would take, before anything is submitted.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task

        Returns
        -------
        dict
            As from `nlgjudge.judging.planning.plan`; replies that are not to be used are not asked again.
        """
        self.server.tell_of_unknown(self.store, tasks)
        return planning.plan(self.server, self.store, tasks, self.price, again=False)

    def submit(self, tasks):
        """Submit requests that are neither stored nor under way.

        Returns
        -------
        int
            Requests submitted.
        """
        settled = self._settled()
        self.server.tell_of_unknown(self.store, tasks)
        lines = {}
        first_samples = {}
        for task, request, digest, samples in self._missing(tasks):
            if digest not in settled:
                first_samples[digest] = samples[0]
                lines[digest] = {
                    "custom_id": f"{digest}-{samples[0]}",
                    "method": "POST",
                    "url": "/v1/chat/completions",
                    "body": self.server.body(request, len(samples)),
                }
                self.store.add({digest: self.server.kept(task, request)}, [])
        with self._claims() as claims:
            # Before the claim, another process may have submitted or stored some of it.
            free = claims.take_all(lines) - self._settled()
            mine = {
                digest: line
                for digest, line in lines.items()
                if digest in free and first_samples[digest] not in self.store.get(digest)
            }
            for part in _parts(mine):
                self._send(part, attempt=1)
        return len(mine)

    def _settled(self):
        """Keys of requests that are under way, or failed twice."""
        settled = set()
        for batch in self.store.batches():
            if batch["state"] not in OVER or batch["attempt"] > 1:
                settled |= set(batch["keys"])
        return settled

    def _claims(self):
        return Claims(self.store.path, seconds=CLAIM_SECONDS)

    def collect(self, *, submit_again=True):
        """Fetch finished batches; failed lines are submitted once more.

        Parameters
        ----------
        submit_again : bool
            Whether failed lines are submitted at once; else another call of `submit` does it.

        Returns
        -------
        dict of str to str
            State by batch; one that another process is collecting at this moment is left to it.
        """
        states = {}
        pending = self._pending()
        if not pending:
            return {}
        with self._claims() as claims, self._client("the batches could not be collected") as client:
            for batch in pending:
                if not claims.take(batch["id"]) or batch not in self._pending():
                    continue  # another process collects it, or has
                found = client.batches.retrieve(batch["id"])
                states[batch["id"]] = found.status
                if found.status in OVER:
                    self._keep(client, batch, found, submit_again)
        return states

    def cancel(self):
        """Cancel what is under way; replies that are done can still be collected."""
        with self._client("the batches could not be cancelled") as client:
            for batch in self._pending():
                if client.batches.retrieve(batch["id"]).status not in OVER:
                    client.batches.cancel(batch["id"])

    def _pending(self):
        """Batches that are not collected; those of another endpoint are not known here."""
        here = (self.server.endpoint, UNKNOWN_ENDPOINT)
        return [batch for batch in under_way(self.store) if batch["endpoint"] in here]

    def _missing(self, tasks):
        """Yield task, request, key and sample numbers of what is not stored."""
        for task in tasks:
            request, digest, n = self.server.request(task)
            have = self.store.get(digest)
            samples = [sample for sample in range(n) if sample not in have]
            if samples:
                yield task, request, digest, samples

    def _keep(self, client, batch, found, submit_again):
        """Store what a finished batch brought, and submit its failed lines once more."""
        rows = []
        for line in self._lines(client, found.output_file_id):
            rows += _replies(line)
        self.store.add({}, rows)
        answered = {row["key"] for row in rows}
        failed = [digest for digest in batch["keys"] if digest not in answered]
        self.store.note_batch(
            batch["id"], batch["attempt"], found.status, failed, batch["endpoint"]
        )
        if submit_again and failed and batch["attempt"] == 1 and found.status != "cancelled":
            sent = {}
            for line in self._lines(client, found.input_file_id):
                digest, _ = line["custom_id"].rsplit("-", 1)
                sent[digest] = line
            self._send({digest: sent[digest] for digest in failed}, attempt=2)

    def _lines(self, client, file_id):
        """The lines of a file at the server, decoded."""
        if not file_id:
            return []
        # Bytes: a text would be cut at every line separator that a reply holds.
        return [
            json.loads(line) for line in client.files.content(file_id).content.splitlines() if line
        ]

    def _send(self, lines, attempt):
        content = "\n".join(json.dumps(line) for line in lines.values()).encode()
        with self._client("the batch was not accepted") as client:
            file = client.files.create(
                file=("requests.jsonl", io.BytesIO(content)), purpose="batch"
            )
            made = client.batches.create(
                input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
            )
        # It is over only once it is collected.
        self.store.note_batch(made.id, attempt, "submitted", list(lines), self.server.endpoint)

    @contextmanager
    def _client(self, problem):
        try:
            client = openai.OpenAI(base_url=self.server.base_url, timeout=self.timeout)
        except openai.OpenAIError as error:
            raise JudgeError(
                "no key: set OPENAI_API_KEY, and OPENAI_BASE_URL for a server of your own"
            ) from error
        try:
            with client:
                yield client
        except openai.OpenAIError as error:
            raise JudgeError(f"{self.name}: {problem}: {message(error)}") from None


def _replies(line):
    """The replies that a line of a batch's output holds, as the store keeps them; none of a failed line."""
    response = line.get("response") or {}
    if response.get("status_code") != 200:
        return []
    digest, start = line["custom_id"].rsplit("-", 1)
    try:
        given = columns(response["body"])
    except (ValueError, AttributeError, TypeError, KeyError):
        return []  # a body that is no completion
    return [
        reply | {"key": digest, "sample": int(start) + place} for place, reply in enumerate(given)
    ]


def _parts(lines):
    """Cut lines, by key, into batches that the API accepts."""
    part = {}
    size = 0
    for digest, line in lines.items():
        length = len(json.dumps(line)) + 1  # escaped, so that a character is a byte
        if part and (len(part) == LINES or size + length > BYTES):
            yield part
            part = {}
            size = 0
        part[digest] = line
        size += length
    if part:
        yield part
