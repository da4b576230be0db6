"""What a run takes before it is made: calls, tokens, cost.

A run is walked through with a `Count` in the place of its judge, also where later requests depend on earlier replies.
The length of a reply is the mean of those stored for the same prompt, model and endpoint; without any it is assumed by
the form that the prompt asks for. `max_tokens` bounds it either way.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nlgjudge.judging.judge import Judge, adapted
from nlgjudge.judging.replies import estimate
from nlgjudge.judging.tasks import NOT_ASKED, Reply, Task, one_spelling

COUNTS = ("requests", "samples", "cached", "calls", "prompt_tokens", "completion_tokens")
CHARACTERS = 4  # of a token, on average over English text
RATING = 5  # tokens of a rating: "4" has one, "- Coherence: 4" five
LIST = 40  # of a list of scores, as CoAScore's second step gives it
REASONED = 150  # of a rating with reasons
TEXT = 256  # of a text, as a list of steps or a rewritten summary
# How a prompt asks for reasons in its last words.
_REASONS = re.compile(r"\b(?:reasons?|expla\w+|rationale|step by step|analy[sz]e|justify)\b", re.I)
_LAST = 200  # characters
# As long as an aspect's definition in CoAScore's Table 9, some 170 characters.
_DEFINITION = (
    "Is the text good in this respect, as far as {} goes, and as a careful reader would see and judge it, "
    "with the source at hand and in view of the task and its reader?"
)


class Count(Judge):
    """Count what a run takes, without asking.

    Parameters
    ----------
    judge
        The judge that the run would ask. Without one, or with one that asks no server, nothing is stored.

    Attributes
    ----------
    counts
        `requests` made, `samples` wanted, `cached` (stored already, or asked for twice in this run), `calls`,
        `prompt_tokens` and `completion_tokens` of what is missing. Tokens are estimates, and a call is one
        for all samples of an item, where the server takes `n`. With prices, also `cost`.
    estimated
        The same if the server gives no token probabilities, so that more replies estimate them.
    """

    def __init__(self, judge=None):
        self.judge = adapted(judge) if judge else Judge()
        self.name = self.judge.name if judge else "no judge"
        self._servers = [member for member in self.judge.judges if member.asks] or [None]
        has_prices = all(server and server.price is not None for server in self._servers)
        self.counts = dict.fromkeys([*COUNTS, "cost"] if has_prices else COUNTS, 0)
        self.estimated = dict(self.counts)
        self._samples = {}  # of `counts` so far, by judge and request
        self._estimated_samples = {}
        self._lengths = {}  # of replies, by judge and prompt
        # Judges that have no reply to find by a key.
        self._new = [one for one in self._servers if not one or one.store.is_empty()]
        self._settings = ({}, "")  # those of the last task, and as JSON

    def count(self, tasks: Iterable[Task]) -> None:
        """Count tasks whose replies nobody needs."""
        for task in tasks:
            self._count(task)

    def replies(self, tasks):
        """Count tasks, and yield a stored reply or a stand-in for each sample."""
        texts = {}  # of stand-ins, by what they depend on
        for task in tasks:
            stored = {reply.sample_index: reply for reply in self.scored([task])}
            asked = task.reading.form, task.aspect, *map(task.fields.get, ("n", "aspects"))
            if asked not in texts:
                texts[asked] = _stand_in(*asked)
            for index in range(task.n):
                yield stored.get(index) or Reply(task.item_id, task.aspect, index, texts[asked])

    def scored(self, tasks):
        """Count tasks, and yield stored replies."""
        for task in tasks:
            if self._count(task):
                replies = self.judge.stored([task], NOT_ASKED)
                yield from (reply for reply in replies if reply.reason != NOT_ASKED)

    def _count(self, task):
        """Count a task for each judge, or for nobody; whether any has a stored reply."""
        self.counts["requests"] += 1
        self.estimated["requests"] += 1
        is_stored = False
        for server in self._servers:
            request = self._request(task, server)
            is_stored |= request.is_stored
            self._add(self.counts, self._samples, request)
            if request.missing and "logprobs" in task.settings:
                request = self._request(estimate(task), server)
            self._add(self.estimated, self._estimated_samples, request)
        return is_stored

    def _add(self, counts, counted, request):
        """Add a request to counts; of what was counted before, a sample is not asked twice."""
        task, server = request.task, request.server
        place = server, request.digest
        first = counted.get(place, 0)
        samples = max(task.n, len(request.missing))
        missing = len([sample for sample in request.missing if sample >= first])
        counted[place] = max(first, samples)
        calls = missing if server and "n" in server.dropped else bool(missing)
        read = calls * prompt_tokens(task) if calls else 0
        written = round(missing * self._length(task, server)) if calls else 0
        counts["samples"] += samples
        counts["cached"] += samples - missing
        counts["calls"] += calls
        counts["prompt_tokens"] += read
        counts["completion_tokens"] += written
        if "cost" in counts:
            counts["cost"] += (read * server.price[0] + written * server.price[1]) / 1e6

    def _request(self, task, server):
        """A task as a server is asked; by its key where there may be a reply to it."""
        if server in self._new:
            digest, have = self._digest(task), {}
        else:
            digest = server.key(task)
            have = server.store.get(digest)
        missing = server.missing(task, have) if server else range(task.n)
        return _Request(task, server, digest, missing, bool(have))

    def _digest(self, task):
        """What tells a request from others; tasks of a prompt share their settings."""
        if task.settings is not self._settings[0]:
            self._settings = task.settings, json.dumps(one_spelling(task.settings), sort_keys=True)
        return hashlib.sha256(f"{self._settings[1]}{[*task.before]}{task.text}".encode()).digest()

    def _length(self, task, server):
        """Tokens of one reply; of the replies to a prompt one number."""
        place = server, task.digest or task.text
        if place not in self._lengths:
            self._lengths[place] = _stored_length(task, server) or assumed_length(task)
        tokens = self._lengths[place]
        return min(tokens, _bound(task) or tokens)


class _Request(NamedTuple):
    """A task as a server is asked: its digest, the samples that are not stored, and whether any is."""

    task: Task
    server: Judge | None
    digest: str | bytes
    missing: Sequence[int]
    is_stored: bool


def plan(judge: Judge, tasks: Iterable[Task]) -> dict:
    """Say what asking a judge would take.

    Returns
    -------
    dict
        The counts of a `Count`, and `cost` (None without a price). All are 0 for a judge that asks no server. If
        tasks ask for token probabilities, also `tokens_without_logprobs` and `cost_without_logprobs`: completion
        tokens and cost if the server gives none.
    """
    walk = Count(judge)
    if not judge.asks:
        return walk.counts | {"cost": 0.0}
    walk.count(tasks)
    planned = {"cost": None} | walk.counts
    first = next(iter(tasks), None)
    if first and "logprobs" in first.settings:
        planned["tokens_without_logprobs"] = walk.estimated["completion_tokens"]
        planned["cost_without_logprobs"] = walk.estimated.get("cost")
    return planned


def prompt_tokens(task: Task) -> int:
    """Tokens of a prompt with the messages before it, estimated."""
    before = sum(len(message["content"]) for message in task.before)
    return (before + len(task.text)) // CHARACTERS + 1


def assumed_length(task: Task) -> int:
    """Tokens of a reply by the form that the prompt asks for.

    Examples
    --------
    >>> assumed_length(Task("item", "fluency", "Rate this text from 1 to 5: ...", {}))
    5
    """
    if task.reading.form == "text":
        return TEXT
    if task.reading.form == "json":
        return LIST
    words = task.text
    for value in filter(None, task.fields.values()):  # an item's own words ask for nothing
        words = words.replace(value, " ")
    return REASONED if _REASONS.search(words[-_LAST:]) else RATING


def _stored_length(task, server):
    """Mean tokens of the stored replies to a prompt, None without any."""
    if not server or not task.digest:
        return None
    return server.store.reply_length(server.model, server.endpoint, task.digest)


def _bound(task):
    return task.settings.get("max_tokens", task.settings.get("max_completion_tokens"))


def _stand_in(form, aspect, n, aspects):
    """A reply of the form that is asked for."""
    if form == "text":
        definition = _DEFINITION.format(aspect)  # the aspects of two targets are not the same
        wanted = range(1, int(n or 5) + 1)
        return "\n".join(f"Quality {number}: {definition}" for number in wanted)
    if form == "json":
        names = [line.partition(":")[0].strip() for line in (aspects or "").splitlines()]
        return json.dumps({name: 3 for name in names if name})
    return "3"
