"""Several judges as one: the mean of their scores, with each judge's own kept."""

from collections import Counter
from functools import partial

import pandas as pd

from nlgjudge.judging.errors import all_or_waiting
from nlgjudge.judging.planning import COUNTS


class Jury:
    """The mean of several judges.

    Parameters
    ----------
    judges : list of object
        As from `nlgjudge.get_judge`, each with a name of its own.

    Raises
    ------
    ValueError
        For fewer than two judges, or the same one twice.

    Examples
    --------
    >>> from nlgjudge.judging.run import get_judge
    >>> get_judge(["surface", "openai:MODEL"]).name
    'surface+openai:MODEL'
    """

    def __init__(self, judges):
        names = [judge.name for judge in judges]
        if len(set(names)) < max(len(names), 2):
            raise ValueError(f"judge={names}: expected two or more different judges")
        self.judges = judges
        self.name = "+".join(names)

    def each(self, ask):
        """Let each judge answer.

        Parameters
        ----------
        ask : callable
            Takes a judge and returns its responses.

        Returns
        -------
        pandas.DataFrame
            The responses of all, with a column `judge`. `nlgjudge.item_scores` takes the mean of each
            judge's samples, then the mean of the judges that rated the item.
        """
        parts = all_or_waiting(partial(ask, judge) for judge in self.judges)
        named = [part.assign(judge=judge.name) for part, judge in zip(parts, self.judges)]
        return pd.concat(named, ignore_index=True)

    def check(self, tasks):
        """Let each judge that knows beforehand what it can answer refuse tasks."""
        for judge in self._with("check"):
            judge.check(tasks)

    def submit(self, tasks):
        """Submit tasks to the judges that are batches."""
        for judge in self._with("submit"):
            judge.submit(tasks)

    def plan(self, tasks):
        """The sum of the judges' plans; `cost` is None if one of them has no price."""
        tasks = list(tasks)
        plans = [judge.plan(tasks) for judge in self._with("plan")]
        found = {name: sum(plan[name] for plan in plans) for name in COUNTS}
        costs = [plan["cost"] for plan in plans]
        return found | {"cost": None if None in costs else sum(costs)}

    @property
    def spent(self):
        """Calls and tokens of all judges so far."""
        if not self._with("spent"):
            raise AttributeError(f"{self.name} asks no server")
        found = Counter(calls=0, prompt_tokens=0, completion_tokens=0)
        for judge in self._with("spent"):
            found.update(judge.spent)
        return dict(found)

    @property
    def cost(self):
        """Spent by all judges so far."""
        return sum(judge.cost for judge in self._with("cost"))

    @property
    def failures(self):
        """Requests that failed for good, of all judges."""
        return sum(judge.failures for judge in self._with("failures"))

    @property
    def reasons(self):
        """Why they failed."""
        return sum((judge.reasons for judge in self._with("reasons")), Counter())

    @property
    def stopped(self):
        """Which limits ended the judges' last runs."""
        stopped = {judge.name: judge.stopped for judge in self._with("stopped")}
        return "; ".join(f"{name}: {why}" for name, why in stopped.items() if why)

    @property
    def notices(self):
        """What was sent in place of what was asked, by all judges."""
        return [f"{one.name}: {notice}" for one in self._with("notices") for notice in one.notices]

    def _with(self, name):
        return [judge for judge in self.judges if hasattr(judge, name)]
