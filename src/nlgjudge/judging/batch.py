"""The same requests through the Batch API: submit, leave, come back, collect.

Half the price and a day's patience. An open batch is noted in the store, so that another process can collect
it. Requests that are stored or in an open batch are never submitted again.
"""

import io
import json
import warnings
from contextlib import contextmanager

from nlgjudge.judging.judge import JudgeError, Waiting
from nlgjudge.judging.served import Served
from nlgjudge.judging.server import (
    REJECTING,
    Malformed,
    client,
    filtered,
    is_filtered,
    replies_in,
    short_text,
    without_key,
)

# The API's limits for one batch; of the limits in bytes, the smallest it has had.
LINES = 50_000
BYTES = 100_000_000
OVER = ("completed", "failed", "expired", "cancelled")


class Batch(Served):
    """A model that is asked through the Batch API of an OpenAI-compatible endpoint.

    Parameters
    ----------
    model, store
        As for `nlgjudge.judging.served.Served`.
    price
        Of a million prompt and a million completion tokens, in a batch, for a plan.
    timeout
        Seconds without an answer after which the client tries again.
    """

    def __init__(self, model, store, *, price=None, timeout=120):
        super().__init__(model, store, price)
        self.name = f"batch:{model}"
        self.timeout = timeout
        self._failed = set()

    def replies(self, tasks):
        """Collect what is over, submit what is missing, and yield stored replies when all are there.

        Raises
        ------
        Waiting
            While replies are still to come.
        JudgeError
            If a batch is not accepted or cannot be collected.
        """
        tasks = list(tasks)
        if self._lacking(tasks):
            self.collect()
            self.submit(tasks)
        lacking = self._lacking(tasks)
        waiting = {
            name: lacking & set(batch["lines"]) for name, batch in self.store.batches().items()
        }
        waiting = {name: keys for name, keys in waiting.items() if keys}
        if waiting:
            advice = "run the same call again later to collect (a batch takes up to 24 hours)"
            raise Waiting(self.name, waiting, advice)
        yield from self.stored(tasks)

    def submit(self, tasks):
        """Submit requests that are neither stored nor in an open batch.

        A line that failed in a batch which this judge collected is left for another run.
        """
        with self.store.asking():
            settled = {key for batch in self.store.batches().values() for key in batch["lines"]}
            settled |= self._failed
            lines = {}
            for task in tasks:
                digest = self.key(task)
                missing = self.missing(task, self.store.get(digest))
                if missing and digest not in settled:
                    body, changes = self.body(task, len(missing))
                    lines[digest] = (missing[0], self.asked(task), changes, body)
            for part in _parts(lines):
                self._send(part)

    def collect(self):
        """Store the replies of batches of this endpoint that are over; lines that failed are reported."""
        with self.store.asking():
            batches = self.store.batches().items()
            here = {name: b["lines"] for name, b in batches if b["endpoint"] == self.endpoint}
            if not here:
                return
            with self._client("the batches could not be collected") as connected:
                for name, lines in here.items():
                    batch = connected.batches.retrieve(name)
                    if batch.status in OVER:
                        self._keep(name, lines, _reason(batch), _answers(connected, batch))

    def _lacking(self, tasks):
        """Keys of the requests that lack samples."""
        keys = {self.key(task): task for task in tasks}
        return {key for key, task in keys.items() if self.missing(task, self.store.get(key))}

    def _keep(self, name, lines, reason, answers):
        """Store what a batch brought, then forget it; what a rejected parameter failed is submitted without it."""
        failed = dict.fromkeys(lines, reason)
        again = set()
        for digest, answer in answers:
            if digest not in lines:
                continue
            try:
                is_stored = self._store_line(digest, lines[digest], answer)
            except Malformed as error:
                failed[digest] = str(error)
                continue
            failed.pop(digest, None)
            if not is_stored:
                again.add(digest)
        self.store.close_batch(name)
        self._failed |= set(failed)
        self._failed -= again
        if failed:
            *_, last = failed.values()
            warnings.warn(
                f"{self.name}: {len(failed)} of {len(lines)} requests of {name} failed, the last with: "
                f"{last}; another run submits them again",
                stacklevel=4,
            )

    def _store_line(self, digest, line, answer):
        """Store the replies to a line; False if another submission leaves out a parameter."""
        start, asked, *differs = line
        changes, body = differs or ({}, asked["request"])  # none in an older store
        replies = self._replies(answer, body)
        if replies is None:
            return False
        changed = [reply | {"changes": changes} for reply in replies]
        self.store.add(digest, asked, dict(enumerate(changed, start)))
        return True

    def _replies(self, line, body):
        """The replies in a line of a batch's output; None if another submission leaves out a parameter."""
        response = line.get("response") or {}
        answer = response.get("body") or {}
        error = line.get("error") or (answer.get("error") if isinstance(answer, dict) else None)
        if error and is_filtered(error):
            return [filtered()]
        if error and response.get("status_code") in REJECTING and self.adapt(error, body):
            return None
        if error:
            raise Malformed(short_text(error))
        replies = replies_in(answer)
        return replies if self.compare(body, replies) else None

    def _send(self, lines):
        content = "\n".join(_line(digest, body) for digest, (*_, body) in lines.items())
        with self._client("the batch was not accepted") as connected:
            file = connected.files.create(
                file=("requests.jsonl", io.BytesIO(content.encode())), purpose="batch"
            )
            made = connected.batches.create(
                input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
            )
        self.store.open_batch(made.id, self.endpoint, {name: _kept(*lines[name]) for name in lines})

    @contextmanager
    def _client(self, problem):
        import openai

        with client("", self.base_url, timeout=self.timeout) as connected:
            try:
                yield connected
            except openai.OpenAIError as error:
                raise JudgeError(f"{self.name}: {problem}: {short_text(error)}") from None


def _reason(batch):
    """Why a batch that is over has not answered a request, in the server's words."""
    errors = (batch.errors and batch.errors.data) or []
    words = [without_key(error.message) for error in errors[:1]]
    return ": ".join([f"the batch {batch.status}", *words])


def _answers(connected, batch):
    """Keys and answers of a batch's lines, without the API key."""
    for file_id in (batch.output_file_id, batch.error_file_id):
        content = connected.files.content(file_id).content if file_id else b""
        for line in filter(None, content.split(b"\n")):  # a reply may hold other line separators
            answer = without_key(json.loads(line))
            yield answer["custom_id"], answer


def _kept(start, asked, changes, body):
    """What the store keeps of a line, in which the texts are once."""
    return start, asked, changes, {name: body[name] for name in body if name != "messages"}


def _line(digest, body):
    return json.dumps(
        {"custom_id": digest, "method": "POST", "url": "/v1/chat/completions", "body": body}
    )


def _parts(lines):
    """Cut lines, by key, into batches that the API accepts."""
    part = {}
    size = 0
    for digest, line in lines.items():
        length = len(_line(digest, line[-1])) + 1
        if part and (len(part) == LINES or size + length > BYTES):
            yield part
            part = {}
            size = 0
        part[digest] = line
        size += length
    if part:
        yield part
