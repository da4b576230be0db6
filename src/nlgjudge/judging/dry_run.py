"""A judge that is asked nothing: it counts what asking would take.

A run is walked through with it as with any judge, also where later requests depend on earlier replies. What is
stored already is answered from the store, as the run itself would be; everything else is answered by a stand-in
of the usual length.
"""

import hashlib
import json

from nlgjudge.judging.planning import assumed_length, prompt_tokens
from nlgjudge.judging.tasks import NOT_ASKED, Reply

COUNTS = ("requests", "samples", "cached", "calls", "prompt_tokens", "completion_tokens")
# As long as an aspect's definition in CoAScore's Table 9, some 170 characters.
_DEFINITION = (
    "Is the text good in this respect, as far as {} goes, and as a careful reader would see and judge it, "
    "with the source at hand and in view of the task and its reader?"
)


class DryRun:
    """Count what a run takes, without asking.

    Parameters
    ----------
    judge : object, optional
        The judge that the run would ask. One with a `plan` says what it has stored; without one, and for judges
        that take no call, every reply is counted as missing.

    Attributes
    ----------
    counts : dict of str to int
        `requests` made, `samples` wanted, `cached` (stored already, or asked for twice in this run), `calls`,
        `prompt_tokens` and `completion_tokens` of what is missing. Tokens are estimates, and a call is one for all
        samples of an item.
    """

    def __init__(self, judge=None):
        self.judge = judge
        self.name = getattr(judge, "name", "no judge")
        self.counts = dict.fromkeys(COUNTS, 0)
        self._seen = set()

    def count(self, tasks):
        """Count tasks whose replies nobody needs.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task
        """
        tasks = list(tasks)
        new = [task for task in tasks if self._is_new(task)]
        repeated = sum(task.n for task in tasks) - sum(task.n for task in new)
        found = self.judge.plan(new) if hasattr(self.judge, "plan") else _all_missing(new)
        self.counts["requests"] += len(tasks)
        self.counts["samples"] += sum(task.n for task in tasks)
        self.counts["cached"] += found["cached"] + repeated
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            self.counts[name] += found[name]

    def replies(self, tasks):
        """Count tasks, and yield a stored reply or a stand-in for each sample.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task

        Yields
        ------
        nlgjudge.judging.tasks.Reply
        """
        tasks = list(tasks)
        self.count(tasks)
        for task in tasks:
            yield from self._answers(task)

    def _is_new(self, task):
        """Whether the same request was not counted before in this run."""
        settings = json.dumps([task.n, task.settings], sort_keys=True)
        digest = hashlib.sha256(f"{settings}{task.text}".encode()).digest()
        if digest in self._seen:
            return False
        self._seen.add(digest)
        return True

    def _answers(self, task):
        stored = {}
        if hasattr(self.judge, "server"):
            replies = self.judge.server.stored(self.judge.store, [task], missing=NOT_ASKED)
            stored = {reply.sample_index: reply for reply in replies if reply.reason != NOT_ASKED}
        stand_in = _stand_in(task)
        for index in range(task.n):
            yield stored.get(index) or Reply(task.item_id, task.aspect, index, stand_in)


def _all_missing(tasks):
    lengths = [assumed_length(task)[0] * task.n for task in tasks]
    return {
        "cached": 0,
        "calls": len(tasks),
        "prompt_tokens": sum(prompt_tokens(task) for task in tasks),
        "completion_tokens": sum(lengths),
    }


def _stand_in(task):
    """A reply of the form that is asked for."""
    if task.form == "text":
        wanted = int(task.fields.get("n", 5))
        definition = _DEFINITION.format(task.aspect)  # the aspects of two targets are not the same
        return "\n".join(f"Quality {number}: {definition}" for number in range(1, wanted + 1))
    if task.form == "json":
        names = [
            line.partition(":")[0].strip() for line in task.fields.get("aspects", "").splitlines()
        ]
        return json.dumps({name: 3 for name in names if name})
    return "3"
