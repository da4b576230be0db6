"""What every judge has, what ends its run, and what a command may spend."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from numbers import Real
from types import SimpleNamespace
from typing import Any

import pandas as pd

from nlgjudge.judging.prompts import FIELDS
from nlgjudge.judging.tasks import NOT_ASKED, Reply, Task


class JudgeError(Exception):
    """A judge cannot go on; the message says why and what to do. `status` is a command's exit status."""

    status = 1


class Budget:
    """Limits on the cost and the calls of all judges of a command, and what they spent so far.

    Examples
    --------
    >>> budget = Budget(max_calls=10)
    >>> budget.calls += 10
    >>> budget.reached()
    'the limit of 10 calls was reached'
    """

    def __init__(self, max_cost: float | None = None, max_calls: int | None = None):
        check_amounts(max_cost=max_cost, max_calls=max_calls)
        self.max_cost = max_cost
        self.max_calls = max_calls
        self.cost = 0.0
        self.calls = 0
        self.left: Callable[[], pd.Series | dict] | None = None

    def reached(self, in_flight: int = 0, each: float = 0.0) -> str:
        """Say which limit is reached if the calls in flight cost so much each; empty if none is."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            return f"the limit of {self.max_calls} calls was reached"
        if self.max_cost is not None and self.cost + in_flight * each >= self.max_cost:
            return (
                f"the limit on cost was reached: {self.cost:.4g} of {self.max_cost:.4g}, "
                f"{in_flight} calls in flight"
            )
        return ""


def check_amounts(**amounts: Any) -> None:
    """Raise a ValueError for an amount, or one of several, that is no finite number from 0; None is no amount."""
    for name, amount in amounts.items():
        numbers = amount if isinstance(amount, (list, tuple)) else [amount or 0]
        if not all(
            isinstance(number, (int, float)) and 0 <= number < math.inf for number in numbers
        ):
            raise ValueError(f"{name}={amount!r}: expected finite numbers of at least 0")


class Judge:
    """Anything that answers tasks. A judge of your own overrides `replies`; the rest may stay as it is.

    Attributes
    ----------
    is_model
        Whether it is a language model, so that its cells may enter the ledger.
    recorded
        Whether its replies were recorded by others.
    asks
        Whether it asks a server, so that a plan, a cost and stored replies mean something.
    judges
        Itself; of a jury, its members.
    spent
        `calls, prompt_tokens, completion_tokens` so far, of a judge that counts them; otherwise empty.
    cost, failures, reasons, stopped
        What was spent so far, how many requests failed and why, and which limit ended the last run.
    notices
        What came or was sent in place of what was asked.
    changes
        The same by parameter; None for what was left out.
    """

    name = "judge"
    is_model = False
    recorded = False
    asks = False
    cost = 0.0
    failures = 0
    stopped = ""
    spent: dict = Counter()
    reasons: Counter = Counter()
    notices: Iterable[str] = ()
    changes: dict = {}

    @property
    def judges(self):
        return [self]

    def replies(self, tasks: Iterable[Task]) -> Iterator[Reply]:
        """Yield `task.n` replies to each task, in order."""
        raise NotImplementedError(f"{type(self).__name__} has no replies(tasks)")

    def scored(self, tasks: Iterable[Task]) -> Iterator[Reply]:
        """Yield replies on which nothing but scores depends; a plan has no stand-ins for these."""
        return self.replies(tasks)

    def check(self, tasks: Iterable[Task]) -> None:
        """Refuse what it knows it cannot answer, before anything is asked."""

    def stored(self, tasks: Iterable[Task], missing: str = NOT_ASKED) -> Iterator[Reply]:
        """Yield the replies that it has already; `missing` is the reason of a sample that it lacks."""
        return iter(())

    def say(self, notice: str) -> None:
        """Give a notice once."""
        if notice not in self.notices:
            self.notices = [*self.notices, notice]
            warnings.warn(f"{self.name}: {notice}", stacklevel=3)


class Jury(Judge):
    """The mean of two or more judges with different names, with each judge's own scores kept.

    Examples
    --------
    >>> from nlgjudge.judging.run import get_judge
    >>> get_judge(["surface", "openai:MODEL"]).name
    'surface+openai:MODEL'
    """

    judges = ()

    def __init__(self, judges):
        names = [judge.name for judge in judges]
        if len(set(names)) < max(len(names), 2):
            raise ValueError(f"judge={names}: expected two or more different judges")
        self.judges = list(judges)
        self.name = "+".join(names)

    def each(self, ask):
        """What `ask` gives for each judge, in one frame with a column `judge`."""
        named = [ask(judge).assign(judge=judge.name) for judge in self.judges]
        return pd.concat(named, ignore_index=True)

    def check(self, tasks):
        for judge in self.judges:
            judge.check(tasks)

    @property
    def spent(self):
        """Of those that count it; a sum of counters would leave out what is 0."""
        total = Counter()
        for judge in self.judges:
            total.update(judge.spent)
        return total

    is_model = property(lambda self: all(judge.is_model for judge in self.judges))
    recorded = property(lambda self: any(judge.recorded for judge in self.judges))
    asks = property(lambda self: any(judge.asks for judge in self.judges))
    cost = property(lambda self: sum(judge.cost for judge in self.judges))
    failures = property(lambda self: sum(judge.failures for judge in self.judges))
    reasons = property(lambda self: sum((judge.reasons for judge in self.judges), Counter()))
    stopped = property(
        lambda self: "; ".join(f"{j.name}: {j.stopped}" for j in self.judges if j.stopped)
    )
    changes = property(lambda self: {k: v for j in self.judges for k, v in j.changes.items()})
    notices = property(
        lambda self: [
            f"{judge.name}: {notice}" for judge in self.judges for notice in judge.notices
        ]
    )


class Function(Judge):
    """A function of an item that gives a number or a reply's text, called once for each sample.

    The item has `item_id`, `aspect`, `prompt` (as rendered), `messages` (all that a server would be sent: a system
    message, examples, the prompt), `source`, `hypothesis`, `reference` and `context`; a text that it lacks is empty.
    """

    def __init__(self, function):
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def replies(self, tasks):
        for task in tasks:
            about = {"item_id": task.item_id, "aspect": task.aspect, "prompt": task.text}
            about["messages"] = task.request(self.name)["messages"]
            item = SimpleNamespace(**dict.fromkeys(FIELDS, "") | task.fields | about)
            for index in range(task.n):
                answer = self.function(item)
                is_no_rating = isinstance(answer, bool) and not task.reading.has_true
                if is_no_rating or not isinstance(answer, (str, Real, type(None))):
                    raise ValueError(
                        f"judge {self.name}: expected a number or a reply's text for an item, got {answer!r}"
                    )
                text = answer if isinstance(answer, str) else task.reading.write(answer)
                yield Reply(task.item_id, task.aspect, index, text)


class _Adapted(Judge):
    """An object that has `replies(tasks)`, and perhaps a name and `is_model`."""

    def __init__(self, provider):
        self.name = str(getattr(provider, "name", type(provider).__name__))
        self.is_model = getattr(provider, "is_model", False)
        self.replies = provider.replies


def adapted(judge) -> Judge:
    """Take a judge as a `Judge`, as an object with `replies(tasks)`, or as a function of an item."""
    if isinstance(judge, Judge):
        return judge
    if hasattr(judge, "replies"):
        return _Adapted(judge)
    if callable(judge):
        return Function(judge)
    raise ValueError(
        f"judge={judge!r}: expected a name, as openai:MODEL, a function of an item, or an object with replies(tasks)"
    )
