"""The same requests through the Batch API: submit, leave, come back, collect.

Half the price and a day's patience. A batch is noted in the store with its endpoint, so another
process can collect it; lines that failed are submitted once more, and what is stored is never
asked for again. That holds for replies that the protocol cannot use, too: `openai:MODEL` at the
same endpoint and store asks again for those, and `nlgjudge replies forget` makes room for others.
"""

import io
import json
from contextlib import contextmanager

import openai

from nlgjudge.judging import planning
from nlgjudge.judging.server import JudgeError, Server, Waiting, columns, message
from nlgjudge.judging.tasks import UNKNOWN_ENDPOINT

LINES, BYTES = 50_000, 100_000_000  # of one batch, the API's limits (of bytes, the older and smaller one)
_OVER = {"completed", "failed", "expired", "cancelled"}


class Batch:
    """A model behind the Batch API of an OpenAI-compatible endpoint.

    Parameters
    ----------
    model : str
    store : nlgjudge.judging.store.Store
    timeout : float
        Seconds that one call may take.
    price : (float, float), optional
        Of a million prompt and a million completion tokens, in a batch, for `plan`.
    """

    def __init__(self, model, store, *, timeout=120, price=None):
        self.name, self.store, self.price = f"batch:{model}", store, price
        self.server, self.timeout = Server(model, timeout=timeout), timeout

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
        waiting = {b["id"]: missing & set(b["keys"]) for b in self.store.batches()
                   if b["state"] not in _OVER and missing & set(b["keys"])}
        if waiting:
            raise Waiting(f"{self.name}: {len(set().union(*waiting.values()))} requests are waiting for "
                          f"{', '.join(waiting)}; run the same call again later to collect (a batch takes "
                          "up to 24 hours)")
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
        under_way = {k for b in self.store.batches() if b["state"] not in _OVER or b["attempt"] > 1
                     for k in b["keys"]}
        self.server.tell_of_unknown(self.store, tasks)
        lines = {}
        for task, request, digest, samples in self._missing(tasks):
            if digest not in under_way:
                lines[digest] = {"custom_id": f"{digest}-{samples[0]}", "method": "POST",
                                 "url": "/v1/chat/completions",
                                 "body": self.server.body(request, len(samples))}
                self.store.add({digest: self.server.kept(task, request)}, [])
        for part in _parts(lines):
            self._send(part, attempt=1)
        return len(lines)

    def collect(self):
        """Fetch finished batches; failed lines are submitted once more.

        Returns
        -------
        dict of str to str
            State by batch.
        """
        states = {}
        pending = self._pending()
        if not pending:
            return {}
        with self._client("the batches could not be collected") as client:
            for batch in pending:
                found = client.batches.retrieve(batch["id"])
                states[batch["id"]] = found.status
                if found.status in _OVER:
                    self._keep(client, batch, found)
        return states

    def cancel(self):
        """Cancel what is under way; replies that are done can still be collected."""
        with self._client("the batches could not be cancelled") as client:
            for batch in self._pending():
                if client.batches.retrieve(batch["id"]).status not in _OVER:
                    client.batches.cancel(batch["id"])

    def _pending(self):
        """Batches that are not collected; those of another endpoint are not known here."""
        here = (self.server.endpoint, UNKNOWN_ENDPOINT)
        return [b for b in self.store.batches() if b["state"] not in _OVER and b["endpoint"] in here]

    def _missing(self, tasks):
        """Yield task, request, key and sample numbers of what is not stored."""
        for task in tasks:
            request, digest, n = self.server.request(task)
            have = self.store.get(digest)
            if samples := [i for i in range(n) if i not in have]:
                yield task, request, digest, samples

    def _keep(self, client, batch, found):
        rows = []
        for line in self._lines(client, found.output_file_id):
            if (line.get("response") or {}).get("status_code") != 200:
                continue
            digest, start = line["custom_id"].rsplit("-", 1)
            try:
                given = columns(line["response"]["body"])
            except (ValueError, AttributeError, TypeError, KeyError):
                continue  # a body that is no completion is a failed line
            rows += [c | {"key": digest, "sample": int(start) + i} for i, c in enumerate(given)]
        self.store.add({}, rows)
        answered = {row["key"] for row in rows}
        failed = [k for k in batch["keys"] if k not in answered]
        self.store.note_batch(batch["id"], batch["attempt"], found.status, failed, batch["endpoint"])
        if failed and batch["attempt"] == 1 and found.status != "cancelled":
            sent = {line["custom_id"].rsplit("-", 1)[0]: line
                    for line in self._lines(client, found.input_file_id)}
            self._send({k: sent[k] for k in failed}, attempt=2)

    def _lines(self, client, file_id):
        if not file_id:
            return []
        # Bytes: a text would be cut at every line separator that a reply holds.
        return [json.loads(line) for line in client.files.content(file_id).content.splitlines() if line]

    def _send(self, lines, attempt):
        content = "\n".join(json.dumps(line) for line in lines.values()).encode()
        with self._client("the batch was not accepted") as client:
            file = client.files.create(file=("requests.jsonl", io.BytesIO(content)), purpose="batch")
            made = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions",
                                         completion_window="24h")
        # It is over only once it is collected.
        self.store.note_batch(made.id, attempt, "submitted", list(lines), self.server.endpoint)

    @contextmanager
    def _client(self, problem):
        try:
            client = openai.OpenAI(base_url=self.server.base_url, timeout=self.timeout)
        except openai.OpenAIError as error:
            raise JudgeError("no key: set OPENAI_API_KEY, and OPENAI_BASE_URL for a server of your "
                             "own") from error
        try:
            with client:
                yield client
        except openai.OpenAIError as error:
            raise JudgeError(f"{self.name}: {problem}: {message(error)}") from None


def _parts(lines):
    """Cut lines, by key, into batches that the API accepts."""
    part, size = {}, 0
    for digest, line in lines.items():
        length = len(json.dumps(line)) + 1  # escaped, so that a character is a byte
        if part and (len(part) == LINES or size + length > BYTES):
            yield part
            part, size = {}, 0
        part[digest] = line
        size += length
    if part:
        yield part
