"""A judge without language goes through CoAScore's stages: for tests, simulations and `surface`.

It is asked one aspect at a time, and weighs the scores that it is shown as an equal of the
judges that gave them. So what a chain is worth can be derived: see `expected_chain`. Never a result.
"""

import json
import math
import re
from functools import lru_cache

import numpy as np

from nlgjudge.judging.parsing import parse
from nlgjudge.judging.surface import answer
from nlgjudge.judging.tasks import Reply
from nlgjudge.papers.coascore.aspects import parse_aspects

_SHOWN = re.compile(r"^Score: (\S+)$", re.MULTILINE)


class Chained:
    """Let a judge that rates one aspect at a time answer all of CoAScore's prompts.

    Parameters
    ----------
    judge : object
        With `replies(tasks)`, as `nlgjudge.judging.surface.Surface` or
        `nlgjudge.judging.simulated.Simulated`; it sees each aspect as a task of its own.
    aspects : list of nlgjudge.papers.coascore.aspects.Aspect
        What it names when asked for relevant aspects, the first n of them.
    own : float
        How many of the scores that it is shown its own view weighs as much as: with k scores
        shown its answer is (own * view + their sum) / (own + k).

    Examples
    --------
    >>> from nlgjudge.judging.surface import Surface
    >>> from nlgjudge.papers.coascore.aspects import dataset_aspects
    >>> Chained(Surface(), list(dataset_aspects("dialogue").values())).name
    'chained:surface'
    """

    def __init__(self, judge, aspects, own=5.0):
        self.judge = judge
        self.aspects = aspects
        self.own = own
        self.name = f"chained:{judge.name}"

    def replies(self, tasks):
        """Yield a reply to each task of any stage.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task

        Yields
        ------
        nlgjudge.judging.tasks.Reply
        """
        for task in tasks:
            yield Reply(task.item_id, task.aspect, 0, self._text(task))

    def _text(self, task):
        if task.form == "text":  # stage 1
            named = self.aspects[: int(task.fields["n"])]
            return "\n".join(f"{one.name}: {one.definition}" for one in named)
        if "aspects" in task.fields:  # stage 2
            names = _names(task.fields["aspects"])
            return json.dumps({name: self._view(task, name) for name in names})
        shown = [float(score) for score in _SHOWN.findall(task.fields.get("scores", ""))]
        view = self._view(task, task.aspect)
        return answer((self.own * view + math.fsum(shown)) / (self.own + len(shown)), task)

    def _view(self, task, aspect):
        (reply,) = self.judge.replies([task._replace(aspect=aspect, form="number")])
        return _number(reply.text, task.scale)


@lru_cache(maxsize=4096)  # the same few numbers, again and again
def _number(text, scale):
    return parse(text, "number", scale).score


@lru_cache(maxsize=64)
def _names(definitions):
    """Names of the aspects that a prompt shows; it shows the same ones for every item."""
    return tuple(one.name for one in parse_aspects(definitions))


def expected_chain(
    n, *, own=5.0, rating=0.6, view=0.8, aspect=0.8, shared=0.0, random=False, scale=(1, 5)
):
    """Correlation that the chain of a `Chained` judge should have with the ratings.

    View and aspect scores are the rating plus errors, those of the aspects in part one error
    that they share with the view (a halo).

    Parameters
    ----------
    n : int or numpy.ndarray
        Aspects; 0 is the judge without a chain.
    own : float
        As for `Chained`; 0 averages the aspects.
    rating, view, aspect, shared : float
        Standard deviations of the ratings, of the view's and each aspect's own error, and of
        the shared error.
    random : bool
        Whether the aspects' scores are whole numbers drawn evenly from the scale.

    Returns
    -------
    numpy.ndarray
        Pearson correlation, without clipping and rounding to the scale.

    Examples
    --------
    >>> [round(float(r), 2) for r in expected_chain([0, 5, 20])]
    [0.6, 0.81, 0.94]
    """
    n = np.asarray(n, float)
    low, high = scale
    levels = high - low + 1
    informative = 0 if random else n
    variance = (
        (levels**2 - 1) / 12 if random else aspect**2
    )  # of an aspect's score, given the rating
    weight = (own + informative) / (own + n)  # of what view and aspects have in common
    noise = (own * view) ** 2 + n * variance
    in_common = weight**2 * (rating**2 + shared**2)
    of_chance = noise / (own + n) ** 2
    return weight * rating / np.sqrt(in_common + of_chance)
