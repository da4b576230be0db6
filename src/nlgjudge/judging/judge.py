"""What every judge has: one class with harmless defaults, of which a judge overrides what is different."""

import warnings
from collections import Counter
from functools import partial
from numbers import Real
from types import SimpleNamespace

import pandas as pd

from nlgjudge.judging.errors import all_or_waiting
from nlgjudge.judging.prompts import FIELDS
from nlgjudge.judging.tasks import NOT_ASKED, Reply


class Judge:
    """Anything that answers tasks. A judge of your own overrides `replies`; the rest may stay as it is.

    Attributes
    ----------
    name : str
    is_model : bool
        Whether it is a language model, so that its cells may enter the ledger.
    recorded : bool
        Whether its replies were recorded by others.
    asks : bool
        Whether it asks a server, so that a plan, a cost and stored replies mean something.
    judges : list of Judge
        Itself; of a jury, its members.
    spent : dict of str to int
        `calls, prompt_tokens, completion_tokens` so far, of a judge that counts them; otherwise empty.
    cost, failures, reasons, stopped
        What was spent so far, how many requests failed and why, and which limit ended the last run.
    notices : list of str
        What came or was sent in place of what was asked.
    changes : dict
        What was sent in place of what was asked, by parameter; None for what was left out.
    """

    name = "judge"
    is_model = False
    recorded = False
    asks = False
    cost = 0.0
    failures = 0
    stopped = ""
    spent = Counter()
    reasons = Counter()
    notices = ()
    changes = {}

    @property
    def judges(self):
        return [self]

    def replies(self, tasks):
        """Answer tasks.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task
            `text` is the rendered prompt, `fields` the item's texts, `n` the samples wanted.

        Yields
        ------
        nlgjudge.judging.tasks.Reply
            `task.n` for each task, in order.
        """
        raise NotImplementedError(f"{type(self).__name__} has no replies(tasks)")

    def check(self, tasks):
        """Refuse what it knows it cannot answer, before anything is asked.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task
        """

    def submit(self, tasks):
        """Hand in what is answered later, as a batch does.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task
        """

    def say(self, notice):
        """Give a notice once."""
        if notice not in self.notices:
            self.notices = [*self.notices, notice]
            warnings.warn(f"{self.name}: {notice}", stacklevel=3)

    def stored(self, tasks, missing=NOT_ASKED):
        """Yield the replies that it has already.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task
        missing : str
            Reason of a sample that it does not have.

        Yields
        ------
        nlgjudge.judging.tasks.Reply
        """
        return iter(())


class Jury(Judge):
    """The mean of several judges, with each judge's own scores kept.

    Parameters
    ----------
    judges : list of Judge
        Two or more, each with a name of its own.

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
        parts = all_or_waiting(partial(ask, judge) for judge in self.judges)
        named = [part.assign(judge=judge.name) for part, judge in zip(parts, self.judges)]
        return pd.concat(named, ignore_index=True)

    def check(self, tasks):
        for judge in self.judges:
            judge.check(tasks)

    def submit(self, tasks):
        for judge in self.judges:
            judge.submit(tasks)

    @property
    def spent(self):
        """Of those that count it; a sum of counters would leave out what is 0."""
        found = Counter()
        for judge in self.judges:
            found.update(judge.spent)
        return found

    is_model = property(lambda self: all(one.is_model for one in self.judges))
    recorded = property(lambda self: any(one.recorded for one in self.judges))
    asks = property(lambda self: any(one.asks for one in self.judges))
    cost = property(lambda self: sum(one.cost for one in self.judges))
    failures = property(lambda self: sum(one.failures for one in self.judges))
    reasons = property(lambda self: sum((one.reasons for one in self.judges), Counter()))
    stopped = property(
        lambda self: "; ".join(f"{one.name}: {one.stopped}" for one in self.judges if one.stopped)
    )
    changes = property(lambda self: {k: v for one in self.judges for k, v in one.changes.items()})
    notices = property(
        lambda self: [f"{one.name}: {said}" for one in self.judges for said in one.notices]
    )


class Function(Judge):
    """A function of an item that gives a number or a reply's text, called once for each sample.

    The item has `item_id`, `aspect`, `prompt` (as rendered), `source`, `hypothesis`, `reference` and `context`; a text
    that it lacks is empty.
    """

    def __init__(self, function):
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def replies(self, tasks):
        for task in tasks:
            about = {"item_id": task.item_id, "aspect": task.aspect, "prompt": task.text}
            item = SimpleNamespace(**dict.fromkeys(FIELDS, "") | task.fields | about)
            for index in range(task.n):
                found = self.function(item)
                if not isinstance(found, (str, Real, type(None))):
                    raise ValueError(
                        f"judge {self.name}: expected a number or a reply's text for an item, got {found!r}"
                    )
                text = found if isinstance(found, str) else task.reading.write(found)
                yield Reply(task.item_id, task.aspect, index, text)


class _Adapted(Judge):
    """An object that has `replies(tasks)`, and perhaps a name and `is_model`."""

    def __init__(self, given):
        self.name = str(getattr(given, "name", type(given).__name__))
        self.is_model = getattr(given, "is_model", False)
        self.replies = given.replies


def adapted(given):
    """Take a judge as a `Judge`, as an object with `replies(tasks)`, or as a function of an item.

    Raises
    ------
    ValueError
        For anything else.
    """
    if isinstance(given, Judge):
        return given
    if hasattr(given, "replies"):
        return _Adapted(given)
    if callable(given):
        return Function(given)
    raise ValueError(
        f"judge={given!r}: expected a name, as openai:MODEL, a function of an item, or an object with replies(tasks)"
    )
