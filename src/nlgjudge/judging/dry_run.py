"""A judge that is asked nothing: it counts what asking would take.

A run is walked through with it as with any judge, also if later requests depend on earlier replies. What is
stored is answered from the store; everything else by a stand-in of the usual length.
"""

import json

from nlgjudge.judging.planning import assumed_length, prompt_tokens
from nlgjudge.judging.tasks import NOT_ASKED, Reply, key

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
        The judge that the run would ask. Without a judge, or one without `plan`, every reply counts as
        missing.

    Attributes
    ----------
    counts : dict of str to int
        `requests` made, `samples` wanted, `cached` (stored already, or asked for twice in this run), `calls`,
        `prompt_tokens` and `completion_tokens` of what is missing. Tokens are estimates, and a call is one
        for all samples of an item.
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
        new = {}
        for task in tasks:
            digest = key(task.request(""), str(task.n))
            if digest not in self._seen:
                new.setdefault(digest, task)
        self._seen |= set(new)
        new = list(new.values())
        found = self.judge.plan(new) if hasattr(self.judge, "plan") else _all_missing(new)
        repeated = sum(task.n for task in tasks) - sum(task.n for task in new)
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
            stored = {}
            if hasattr(self.judge, "stored"):
                replies = self.judge.stored([task], NOT_ASKED)
                stored = {one.sample_index: one for one in replies if one.reason != NOT_ASKED}
            for index in range(task.n):
                yield stored.get(index) or Reply(task.item_id, task.aspect, index, _stand_in(task))


def _all_missing(tasks):
    return {
        "cached": 0,
        "calls": len(tasks),
        "prompt_tokens": sum(prompt_tokens(task) for task in tasks),
        "completion_tokens": sum(assumed_length(task)[0] * task.n for task in tasks),
    }


def _stand_in(task):
    """A reply of the form that is asked for."""
    if task.form == "text":
        definition = _DEFINITION.format(task.aspect)  # the aspects of two targets are not the same
        wanted = range(1, int(task.fields.get("n", 5)) + 1)
        return "\n".join(f"Quality {number}: {definition}" for number in wanted)
    if task.form == "json":
        lines = task.fields.get("aspects", "").splitlines()
        names = [line.partition(":")[0].strip() for line in lines]
        return json.dumps({name: 3 for name in names if name})
    return "3"
