"""A judge whose truth is known: ratings planted, then spoiled in ways that are known too. Never a result."""

from __future__ import annotations

import math

import numpy as np

from nlgjudge.judging.baseline import answer
from nlgjudge.judging.judge import Judge
from nlgjudge.judging.tasks import Reply

REFUSAL = "I am sorry, I cannot rate this."


class Simulated(Judge):
    """A judge that knows the right rating of every item.

    A sample's rating is truth + bias + noise, rounded to `step` and clipped to the task's scale; the form that the task
    asks for may round it further.

    Parameters
    ----------
    truth
        Rating by ``item_id``, or by ``(item_id, aspect)``, which goes first.
    rng
        Two draws for every sample whatever the settings, so that judges from equal seeds can be
        compared sample by sample.
    noise
        Standard deviation in units of the scale, at least 0; drawn for every sample.
    bias
        Added to every rating.
    step
        Ratings are rounded to its multiples, so that 1 gives ties; 0 leaves them as they are.
    refusals
        Probability in [0, 1] that a sample is a sentence of refusal instead of a rating.

    Raises
    ------
    ValueError
        For a negative `noise` or `step`, or `refusals` outside [0, 1].
    KeyError
        When it is asked about an item without a true rating.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> chats = nj.load("topical_chat", "sample")
    >>> judge = Simulated(truth=dict.fromkeys(chats.items["item_id"], 2), rng=np.random.default_rng(0))
    >>> nj.judge_items(chats.items, "geval/dialogue/coherence", judge, limit=1)["score"].unique()
    array([2.])
    """

    name = "simulated"

    def __init__(
        self,
        *,
        truth: dict,
        rng: np.random.Generator,
        noise: float = 0.0,
        bias: float = 0.0,
        step: float = 0.0,
        refusals: float = 0.0,
    ):
        if not (noise >= 0 and step >= 0 and 0 <= refusals <= 1):
            raise ValueError(
                f"noise={noise}, step={step}, refusals={refusals}: expected noise and step "
                "of at least 0 and refusals between 0 and 1"
            )
        self.truth = truth
        self.rng = rng
        self.noise = noise
        self.bias = bias
        self.step = step
        self.refusals = refusals

    def replies(self, tasks):
        for task in tasks:
            centre = self._truth(task) + self.bias
            for index in range(task.n):
                refused = self.rng.random() < self.refusals
                error = self.noise * self.rng.standard_normal()
                text = REFUSAL if refused else answer(self._rounded(centre + error, task), task)
                yield Reply(task.item_id, task.aspect, index, text)

    def _truth(self, task):
        truth = self.truth.get((task.item_id, task.aspect), self.truth.get(task.item_id))
        if truth is None or math.isnan(truth):
            raise KeyError(
                f"no true rating for {task.item_id!r}, aspect {task.aspect!r}: expected a number "
                f"in truth under it or under {(task.item_id, task.aspect)!r}, got {truth}"
            )
        return truth

    def _rounded(self, rating, task):
        low, high = task.reading.scale or (0, 1)
        if self.step:
            rating = self.step * round(rating / self.step)
        return min(max(rating, low), high)
