"""What a run takes before it is made: calls, tokens, cost.

A run is walked through with a `Count` in the place of its judge, also where later requests depend on earlier replies.
The length of a reply is the mean of those stored for the same prompt, model and endpoint; without any it is assumed by
the form that the prompt asks for. `max_tokens` bounds it either way.
"""

import json
import re
from typing import NamedTuple

from nlgjudge.judging.judge import Judge, adapted
from nlgjudge.judging.served import estimate
from nlgjudge.judging.tasks import NOT_ASKED, Reply, Task, key

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
    judge : nlgjudge.judging.judge.Judge, optional
        The judge that the run would ask. Without one, or with one that asks no server, nothing is stored.

    Attributes
    ----------
    counts : dict of str to int
        `requests` made, `samples` wanted, `cached` (stored already, or asked for twice in this run), `calls`,
        `prompt_tokens` and `completion_tokens` of what is missing. Tokens are estimates, and a call is one
        for all samples of an item, where the server takes `n`. With prices, also `cost`.
    estimated : dict of str to int
        The same if the server gives no token probabilities, so that more replies estimate them.
    """

    def __init__(self, judge=None):
        self.judge = adapted(judge) if judge else Judge()
        self.name = self.judge.name if judge else "no judge"
        self._asked = [one for one in self.judge.judges if one.asks] or [None]
        names = [*COUNTS]
        if all(one is not None and one.price is not None for one in self._asked):
            names.append("cost")
        self.counts = self.estimated = dict.fromkeys(names, 0)
        self._samples = self._estimated_samples = {}  # counted so far, by judge and request
        self._lengths = {}  # of replies, by judge and prompt

    def count(self, tasks):
        """Count tasks whose replies nobody needs.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task
        """
        for task in tasks:
            self._count(task)

    def _count(self, task):
        """Count a task for each judge, or for nobody; whether any has a stored reply."""
        if (
            "logprobs" in task.settings and self.estimated is self.counts
        ):  # from here on they differ
            self.estimated, self._estimated_samples = dict(self.counts), dict(self._samples)
        apart = self.estimated is not self.counts
        self.counts["requests"] += 1
        if apart:
            self.estimated["requests"] += 1
        stored = False
        for judge in self._asked:
            request = _request(task, judge)
            stored |= request.stored
            self._add(self.counts, self._samples, request)
            if apart:
                if request.missing and "logprobs" in task.settings:
                    request = _request(estimate(task), judge)
                self._add(self.estimated, self._estimated_samples, request)
        return stored

    def _add(self, counts, before, request):
        """Add a request to counts; of what was counted before, a sample is not asked twice."""
        task, judge = request.task, request.judge
        place = judge, request.digest
        first = before.get(place, 0)
        samples = max(task.n, len(request.missing))
        missing = sum(sample >= first for sample in request.missing)
        before[place] = max(first, samples)
        calls = missing if judge and "n" in judge.dropped else bool(missing)
        taken = {"samples": samples, "cached": samples - missing, "calls": calls}
        taken["prompt_tokens"] = calls * prompt_tokens(task)
        taken["completion_tokens"] = round(missing * self._length(task, judge)) if calls else 0
        for name, number in taken.items():
            counts[name] += number
        if "cost" in counts:
            read, written = judge.price
            cost = taken["prompt_tokens"] * read + taken["completion_tokens"] * written
            counts["cost"] += cost / 1e6

    def _length(self, task, judge):
        """Tokens of one reply; of the replies to a prompt one number."""
        place = judge, task.digest or task.text
        if place not in self._lengths:
            self._lengths[place] = _stored_length(task, judge)[0] or assumed_length(task)[0]
        tokens = self._lengths[place]
        return min(tokens, _bound(task) or tokens)

    def replies(self, tasks):
        """Count tasks, and yield a stored reply or a stand-in for each sample."""
        for task in list(tasks):
            found = self.judge.stored([task], NOT_ASKED) if self._count(task) else []
            stored = {one.sample_index: one for one in found if one.reason != NOT_ASKED}
            for index in range(task.n):
                yield stored.get(index) or Reply(task.item_id, task.aspect, index, _stand_in(task))


class Request(NamedTuple):
    """A task as a judge is asked: its key, the samples that are not stored, and whether any is."""

    task: Task
    judge: object
    digest: str
    missing: list
    stored: bool


def _request(task, judge):
    if judge is None:
        return Request(task, None, key(task.request(""), ""), list(range(task.n)), False)
    digest = judge.key(task)
    have = judge.store.get(digest)
    return Request(task, judge, digest, judge.missing(task, have), bool(have))


def plan(judge, tasks):
    """Say what asking a judge would take.

    Parameters
    ----------
    judge : nlgjudge.judging.judge.Judge
    tasks : iterable of nlgjudge.judging.tasks.Task

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
    found = {"cost": None} | walk.counts
    asked = next(iter(tasks), None)
    if asked and "logprobs" in asked.settings:
        found["tokens_without_logprobs"] = walk.estimated["completion_tokens"]
        found["cost_without_logprobs"] = walk.estimated.get("cost")
    return found


def prompt_tokens(task):
    """Tokens of a prompt with its system message, estimated."""
    return len(task.system + task.text) // CHARACTERS + 1


def assumed_length(task):
    """Tokens of a reply by the form that the prompt asks for, and that form in words.

    Examples
    --------
    >>> from nlgjudge.judging.tasks import Task
    >>> assumed_length(Task("item", "fluency", "Rate this text from 1 to 5: ...", {}))
    (5, 'a rating')
    """
    if task.reading.form == "text":
        return TEXT, "a text"
    if task.reading.form == "json":
        return LIST, "a list of scores"
    words = task.text
    for value in filter(None, task.fields.values()):  # an item's own words ask for nothing
        words = words.replace(value, " ")
    if _REASONS.search(words[-_LAST:]):
        return REASONED, "a rating with reasons"
    return RATING, "a rating"


def assumption(judge, task):
    """Say how long a plan takes a reply of a served judge to be, and why.

    Parameters
    ----------
    judge : nlgjudge.judging.served.Served
    task : nlgjudge.judging.tasks.Task

    Returns
    -------
    str
    """
    mean, number = _stored_length(task, judge)
    said = "{} tokens a reply, assumed for {}".format(*assumed_length(task))
    if number:
        said = (
            f"{mean:.1f} tokens a reply, the mean of the {number} that are stored for this prompt"
        )
    bound = _bound(task)
    return said if bound is None else f"{said}, at most {bound} (max_tokens)"


def _stored_length(task, judge):
    """Mean tokens of the stored replies to a prompt, None without any, and their number."""
    if not judge or not task.digest:
        return None, 0
    return judge.store.reply_length(judge.model, judge.endpoint, task.digest)


def _bound(task):
    return task.settings.get("max_tokens", task.settings.get("max_completion_tokens"))


def _stand_in(task):
    """A reply of the form that is asked for."""
    if task.reading.form == "text":
        definition = _DEFINITION.format(task.aspect)  # the aspects of two targets are not the same
        wanted = range(1, int(task.fields.get("n", 5)) + 1)
        return "\n".join(f"Quality {number}: {definition}" for number in wanted)
    if task.reading.form == "json":
        lines = task.fields.get("aspects", "").splitlines()
        names = [line.partition(":")[0].strip() for line in lines]
        return json.dumps({name: 3 for name in names if name})
    return "3"
