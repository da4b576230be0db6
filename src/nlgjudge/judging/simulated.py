"""A judge whose truth is known: ratings planted, then spoiled in ways that are known too.

For tests, and for seeing what noise, ties, refusals and the biases of the field (length: Dubois
et al. 2024; a model's own texts: G-Eval, section 4) do to a correlation. Never a result.
"""

import math

import numpy as np

from nlgjudge.judging.judge import Judge
from nlgjudge.judging.surface import answer
from nlgjudge.judging.tasks import Reply

REFUSAL = "I am sorry, I cannot rate this."


class Simulated(Judge):
    """A judge that knows the right rating of every item.

    A sample's rating is truth + bias + length and self preference + noise, rounded to `step` and
    clipped to the task's scale; the form that the task asks for may round it further.

    Parameters
    ----------
    truth : dict
        Rating by ``item_id``, or by ``(item_id, aspect)``, which goes first.
    noise : float
        Standard deviation in units of the scale, at least 0; drawn anew for every sample.
    bias : float
        Added to every rating.
    step : float
        Ratings are rounded to its multiples, so that 1 gives ties; 0 leaves them as they are.
    refusals : float
        Probability in [0, 1] that a sample is the sentence `REFUSAL` instead of a rating.
    length_preference : float
        Added per 100 words of the hypothesis.
    self_preference : dict
        What is added for the judge's own systems. A key is how the part of the item id after
        its last "/" begins, or a frozenset of item ids; what matches adds up.
    rng : numpy.random.Generator
        Two draws for every sample whatever the settings, so that judges from equal seeds can be
        compared sample by sample.

    Raises
    ------
    ValueError
        For a negative `noise` or `step`, or `refusals` outside [0, 1].
    TypeError
        When `rng` is no generator.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> made = nj.load("summeval", "sample")
    >>> truth = made.ratings.groupby(["item_id", "aspect"])["score"].mean().to_dict()
    >>> judge = Simulated(truth=truth, rng=np.random.default_rng(0))
    >>> found = nj.judge_items(made.items, "geval/summarization/fluency", judge, limit=2)
    >>> bool((found["score"] - [truth[item, "fluency"] for item in found["item_id"]]).abs().max() < 0.01)
    True
    """

    name = "simulated"

    def __init__(
        self,
        *,
        truth,
        rng,
        noise=0.0,
        bias=0.0,
        step=0.0,
        refusals=0.0,
        length_preference=0.0,
        self_preference=None,
    ):
        if not (noise >= 0 and step >= 0 and 0 <= refusals <= 1):
            raise ValueError(
                f"noise={noise}, step={step}, refusals={refusals}: expected noise and step "
                "of at least 0 and refusals between 0 and 1"
            )
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng is {type(rng).__name__}: give a numpy.random.default_rng(seed)")
        self.truth = truth
        self.rng = rng
        self.noise = noise
        self.bias = bias
        self.step = step
        self.refusals = refusals
        self.length_preference = length_preference
        self.self_preference = self_preference or {}

    def replies(self, tasks):
        """Yield n samples of each of `tasks`.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task

        Yields
        ------
        nlgjudge.judging.tasks.Reply
            Its text in the task's form, or `REFUSAL`.

        Raises
        ------
        KeyError
            For an item without a true rating.
        """
        for task in tasks:
            centre = self._centre(task)
            for index in range(task.n):
                refused = self.rng.random() < self.refusals
                error = self.noise * self.rng.standard_normal()
                text = REFUSAL if refused else answer(self._rounded(centre + error, task), task)
                yield Reply(task.item_id, task.aspect, index, text)

    def _centre(self, task):
        truth = self.truth.get((task.item_id, task.aspect), self.truth.get(task.item_id))
        if truth is None or math.isnan(truth):
            raise KeyError(
                f"no true rating for {task.item_id!r}, aspect {task.aspect!r}: expected a number "
                f"in truth under it or under {(task.item_id, task.aspect)!r}, got {truth}"
            )
        for_length = 0.0
        if self.length_preference:
            words = len((task.fields.get("hypothesis") or "").split())
            for_length = self.length_preference * words / 100
        bonuses = [
            bonus for own, bonus in self.self_preference.items() if _is_own(task.item_id, own)
        ]
        return truth + self.bias + for_length + math.fsum(bonuses)

    def _rounded(self, rating, task):
        low, high = task.reading.scale or (0, 1)
        if self.step:
            rating = self.step * round(rating / self.step)
        return min(max(rating, low), high)


def _is_own(item_id, own):
    """Whether an item is one of the judge's own, by its end or in a set."""
    if isinstance(own, str):
        return item_id.rpartition("/")[2].startswith(own)
    return item_id in own
