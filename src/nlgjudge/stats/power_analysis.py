"""The smallest difference between two judges that a study of a given size would show.

Simulated from the data (Card et al. 2020, "With Little Power Comes Great Responsibility"): documents are
drawn with replacement, judge a is the data's, and judge b is a with noise that lowers its correlation
with the human ratings by the effect. A study finds the difference where it exceeds a t quantile times
its standard deviation over the simulated studies. System level is left out: noise that is independent
between items says nothing of biases towards systems.
"""

from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy
from scipy.stats import rankdata

from nlgjudge.data.checks import check_whole
from nlgjudge.stats.correlations import (
    COEFFICIENTS,
    LEVELS,
    Coefficient,
    check_options,
    check_size,
    column_of,
    group_correlations,
    matrices,
    mean_of_groups,
    rounded,
    unit,
)

ALPHA = 0.05  # two-sided
POWER = 0.8
SIMULATIONS = 200
_LARGEST = 30.0  # spread of b's own noise, the scores' deviation being 1


class Detectable(NamedTuple):
    """The effect that a study finds with a power of 80%, or why there is none.

    Attributes
    ----------
    effect
        How much lower b's correlation is, on average over studies of the design; NaN with a reason.
    reason
        Empty where there is an effect.
    """

    effect: float
    reason: str = ""


def smallest_detectable(
    frame: pd.DataFrame,
    a: str,
    b: str | None,
    human: str,
    *,
    documents: int,
    systems: int,
    level: Literal["sample", "dataset"] = "sample",
    coefficient: Coefficient = "spearman",
    seed: int = 0,
) -> Detectable:
    """Effect at which four of five studies find that two judges differ, at a level of 5%.

    Parameters
    ----------
    frame
        As for `nlgjudge.correlation`.
    a, b, human
        Two judges and the ratings, as for `nlgjudge.correlation`. The deviations of the simulated judges
        from the ratings correlate like those of `a` and `b`; without `b` the second is the first with
        noise, the easiest case to detect.
    documents, systems
        Of a study; at most as many systems as the data have.

    Raises
    ------
    ValueError
        For unknown options, scores smaller than 1e-100 or larger than 1e100, an undefined correlation,
        designs that are too small or have too many systems, and as `nlgjudge.correlation` does.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> frame = nj.load("summeval", "sample").human()
    >>> frame["judge"] = (frame["coherence"] + frame["fluency"]) / 2
    >>> few, many = (smallest_detectable(frame, "judge", None, "coherence", documents=n, systems=4) for n in (24, 60))
    >>> few.effect > many.effect
    True
    """
    check_options(level=(level, LEVELS[:2]), coefficient=(coefficient, COEFFICIENTS))
    check_whole(0, seed=seed)
    judges = [column_of(frame, judge, human) for judge in (a, b) if judge is not None]
    *scores, ratings = (rounded(values) for values in matrices(frame, judges, human))
    check_size(frame, [human, *judges], 1e-100)
    values = [_correlation(judge, ratings, level, coefficient) for judge in scores]
    if np.isnan(values).any():
        raise ValueError(f"the correlation of {judges} with {human!r} is undefined: {values}")
    _check_design(ratings, documents, systems, level)
    best = int(np.argsort(values)[-1])
    residuals = [_residual(judge, ratings) for judge in scores]
    parts = scores[best] - residuals[best], residuals[best], ratings
    rng = np.random.default_rng([seed, documents, systems, 1])
    differences = _simulated(parts, _shared(residuals), documents, systems, level, coefficient, rng)

    def excess(place):
        """Power above the wanted one; the lowest where b is not behind."""
        found = differences(_spread(place))
        # Half a study more, so that no share is 0 here and the search goes on to the smallest spread.
        power = _share_found(found, documents) + 0.5 / SIMULATIONS
        return power - POWER if np.nanmean(found) >= 0 else -POWER

    if excess(1) < 0:
        return Detectable(np.nan, f"no effect reaches a power of {POWER:g}")
    place = scipy.optimize.brentq(excess, 0, 1, xtol=1e-4) if excess(0) < 0 else 0
    return Detectable(float(np.nanmean(differences(_spread(place)))))


def _spread(place):
    """Spread of b's own noise at a place of the search, in [0, 1]; most of it is near the small ones."""
    return _LARGEST * place**5


def _check_design(ratings, documents, systems, level):
    """Raise a `ValueError` where there can be no such study."""
    least = 1 if level == "dataset" else 3
    available = ratings.shape[1]
    if documents < 2 or not least <= systems <= available:
        raise ValueError(
            f"documents={documents}, systems={systems}: expected at least 2 documents, and "
            f"{least} to {available} systems"
        )


def _shared(residuals):
    """Correlation of the judges' deviations from the ratings, in [0, 1]; 1 for one judge alone."""
    if len(residuals) < 2:
        return 1.0
    product = np.sqrt(np.prod([np.nanvar(residual) for residual in residuals]))
    covariance = np.nanmean(np.prod(residuals, axis=0))
    return float(np.clip(covariance / product, 0, 1)) if product > 0 else 1.0


def _residual(scores, ratings):
    """What documents, systems and, linearly, the human ratings do not explain."""
    deviation = _centred(scores)
    rated = _centred(ratings)
    spread = np.nansum(rated**2)
    return deviation - (np.nansum(deviation * rated) / spread if spread > 0 else 0) * rated


def _centred(scores):
    """Scores less the means of documents and of systems, where there are several."""
    for axis in (0, 1):
        if scores.shape[axis] > 1:
            scores = scores - np.nanmean(scores, axis=axis, keepdims=True)
    return scores


def _correlation(scores, ratings, level, coefficient):
    groups = group_correlations(scores, ratings, level, coefficient)
    return mean_of_groups(groups, ratings, "dataset", "skip")


def _simulated(parts, shared, documents, systems, level, coefficient, rng):
    """A function of the spread of b's own noise that gives a's correlation minus b's in each simulated study.

    `parts` are judge a's scores but for the residual, the residual, and the ratings; b has the share
    `shared` of the residual.
    """
    rows = rng.integers(parts[0].shape[0], size=(SIMULATIONS, documents))
    numbers = np.tile(np.arange(parts[0].shape[1]), (SIMULATIONS, 1))
    columns = rng.permuted(numbers, axis=1)[:, :systems]
    base, residual, ratings = (part[rows[:, :, None], columns[:, None, :]] for part in parts)
    noise = np.nanstd(parts[0] + parts[1]) * rng.standard_normal(base.shape)
    of_a = _correlation(base + residual, ratings, level, coefficient)
    of_b = base + shared * residual
    correlations = _without_ties(ratings, level) if coefficient == "spearman" else _correlation

    def differences(spread):
        return of_a - correlations(of_b + spread * noise, ratings, level, coefficient)

    return differences


def _without_ties(ratings, level):
    """`_correlation` for scores that noise leaves without ties: then their order gives Spearman's coefficient."""
    groups = (len(ratings), 1, -1) if level == "dataset" else ratings.shape
    ratings = ratings.reshape(groups)
    people, constant = unit(rankdata(ratings, axis=-1, nan_policy="omit"))
    n = (~np.isnan(ratings)).sum(axis=-1)
    length = np.sqrt(np.where(constant, np.nan, (n**3 - n) / 12))
    places = np.arange(people.shape[-1])

    def correlation(scores, *_):
        order = scores.reshape(groups).argsort(axis=-1)  # what is missing comes last
        found = np.take_along_axis(people, order, axis=-1) @ places / length
        return mean_of_groups(found, ratings, "dataset", "skip")

    return correlation


def _share_found(differences, documents):
    """Share of studies whose difference is significant."""
    deviation = np.nanstd(differences)
    quantile = scipy.stats.t.ppf(1 - ALPHA / 2, documents - 1)
    return float((np.abs(differences) > quantile * deviation + 1e-12).mean())
