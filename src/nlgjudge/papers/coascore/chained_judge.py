"""A judge without language answers CoAScore's stages: for tests, simulations and `surface`. Never a result."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from nlgjudge.judging.baseline import answer
from nlgjudge.judging.judge import Judge
from nlgjudge.judging.tasks import Reply, Task
from nlgjudge.papers.coascore.aspects import Aspect, parse_aspects

_SHOWN = re.compile(r"^Score: (\S+)$", re.MULTILINE)


class Chained(Judge):
    """Let a judge that rates one aspect at a time answer all of CoAScore's prompts.

    Parameters
    ----------
    judge
        With `replies(tasks)`, as `surface` or `nlgjudge.judging.Simulated`; it sees each aspect as a task of its own.
    aspects
        What it names when asked for relevant aspects, the first n of them.
    own
        Weight of its own view, in units of one shown score: with k scores shown its answer is
        (own * view + their sum) / (own + k).
    """

    def __init__(self, judge: Any, aspects: list[Aspect], own: float = 5.0):
        self.judge = judge
        self.aspects = aspects
        self.own = own
        self.name = f"chained:{judge.name}"

    def replies(self, tasks: Iterable[Task]) -> Iterator[Reply]:
        """Yield a reply to each task of any stage."""
        for task in tasks:
            yield Reply(task.item_id, task.aspect, 0, self._text(task))

    def _text(self, task):
        if task.reading.form == "text":  # stage 1
            named = self.aspects[: int(task.fields["n"])]
            return "\n".join(f"{aspect.name}: {aspect.definition}" for aspect in named)
        if "aspects" in task.fields:  # stage 2
            names = [aspect.name for aspect in parse_aspects(task.fields["aspects"])]
            return json.dumps({name: self._view(task, name) for name in names})
        shown = [float(score) for score in _SHOWN.findall(task.fields.get("scores", ""))]
        view = self._view(task, task.aspect)
        return answer((self.own * view + math.fsum(shown)) / (self.own + len(shown)), task)

    def _view(self, task, aspect):
        number = task.reading._replace(form="number")
        (reply,) = self.judge.replies([task._replace(aspect=aspect, reading=number)])
        return number.read(reply.text).score
