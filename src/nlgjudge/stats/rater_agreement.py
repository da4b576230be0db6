"""Agreement among human raters, and whether a judge may stand in for one of them.

The ceiling is what a rater attains against the others; alpha is Krippendorff's (2004, chapter 11);
the alternative annotator test is that of Calderon, Reichart and Dror (2025, arXiv 2501.10970).
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy

from nlgjudge.data.scale import NUMBERS, Scale
from nlgjudge.namespaces import optional
from nlgjudge.stats.categories import category_agreement, ranking
from nlgjudge.stats.correlations import (
    Coefficient,
    Constant,
    Level,
    check_frame,
    check_options,
    correlation,
    rounded,
    scaled,
)

MINIMUM = 30  # instances of an annotator; a t-test needs about as many
FALSE_DISCOVERY_RATE = 0.05


class Ceiling(NamedTuple):
    """Mean correlation of a rater with the mean of the others.

    Attributes
    ----------
    value
        In [-1, 1], or NaN where no rater has a correlation.
    n, n_skipped
        Raters with a correlation, and without.
    per_rater
        `rater, value, n, n_skipped, reason`, as of `correlation`.
    """

    value: float
    n: int
    n_skipped: int
    per_rater: pd.DataFrame


class Alpha(NamedTuple):
    """Krippendorff's alpha.

    Attributes
    ----------
    value
        At most 1; 0 is chance, NaN undefined (then `reason` says why).
    n, n_skipped
        Items with two or more ratings, and with fewer.
    """

    value: float
    n: int
    n_skipped: int
    reason: str = ""


class AnnotatorTest(NamedTuple):
    """Outcome of the alternative annotator test.

    Attributes
    ----------
    winning_rate, advantage
        Share of annotators whom the judge may replace (passes from 0.5), mean of `rho_judge`.
    per_annotator
        `rater, n, rho_judge, rho_human, p, p_adjusted, rejected`: rho is the probability to be at
        least as close to the others; NaN with too few instances.
    n, n_skipped
        Instances with a judge's score and two or more ratings, and those without.
    wins
        An instance a row, a tested annotator a column: 1 where the judge is at least as close to the others.
    """

    winning_rate: float
    advantage: float
    per_annotator: pd.DataFrame
    n: int
    n_skipped: int
    wins: pd.DataFrame


def ceiling(
    ratings: pd.DataFrame,
    *,
    level: Level = "sample",
    coefficient: Coefficient = "spearman",
    constant: Constant = "skip",
    scale: Scale = NUMBERS,
) -> Ceiling:
    """Correlate each rater with the mean of the others; of categories, how often a rater gives that of most others.

    A judge is compared to a mean of one rater more, and may exceed the ceiling by that alone.

    Parameters
    ----------
    ratings
        Columns `doc_id, system_id, rater, score` of one aspect; NaN marks a missing rating.
    level, coefficient, constant
        As for `nlgjudge.correlation`.
    scale
        What the scores are. Of categories, `value` is accuracy or quadratic kappa (`ranking`), and an item counts where
        the others have a majority.

    Raises
    ------
    ValueError
        As `alpha` and `correlation` do.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> sample = nj.load("summeval", "sample")
    >>> keys = sample.items[["item_id", "doc_id", "system_id"]]
    >>> ratings = sample.ratings.merge(keys, on="item_id")
    >>> found = ceiling(ratings[ratings["aspect"] == "coherence"], level="dataset")
    >>> round(found.value, 3), found.n, found.per_rater["rater"].tolist()
    (0.95, 3, ['lenient', 'plain', 'strict'])
    """
    scores = _by_rater(ratings, ["doc_id", "system_id"])
    rows = []
    for rater in scores.columns:
        others = rounded(scores.drop(columns=rater).mean(axis=1))
        pair = pd.DataFrame({"own": scores[rater], "others": others})
        if scale.names:
            rest = ratings[ratings["rater"] != rater]
            pair["others"] = scale.combine(rest, ["doc_id", "system_id"])
            both = pair.dropna().reset_index()
            rates = category_agreement(both, "own", "others", scale).rates["value"]
            result = (rates[ranking(scale)], len(both), len(pair) - len(both), "")
        else:
            pair = pair.reset_index()
            result = correlation(
                pair, "own", "others", level=level, coefficient=coefficient, constant=constant
            )
        rows.append((rater, *result))
    table = pd.DataFrame(rows, columns=["rater", "value", "n", "n_skipped", "reason"])
    defined = int(table["value"].notna().sum())
    return Ceiling(float(table["value"].mean()), defined, len(table) - defined, table)


def alpha(
    ratings: pd.DataFrame, metric: Literal["ordinal", "interval", "nominal"] = "ordinal"
) -> Alpha:
    """Krippendorff's alpha of the ratings of one aspect.

    Parameters
    ----------
    ratings
        Columns `item_id, rater, score`; NaN marks a missing rating.
    metric
        How differences between scores count.

    Raises
    ------
    ValueError
        For an unknown metric, missing columns, fewer than two raters, repeated or infinite scores.

    Examples
    --------
    >>> import pandas as pd
    >>> ratings = pd.DataFrame({"item_id": ["i", "i", "j", "j", "k", "k"], "rater": ["p", "q"] * 3,
    ...                         "score": [1, 1, 2, 3, 4, 4]})
    >>> round(alpha(ratings).value, 3), alpha(ratings).n
    (0.949, 3)
    """
    check_options(metric=(metric, ("nominal", "ordinal", "interval")))
    scores = _by_rater(ratings, ["item_id"]).to_numpy()
    pairable = scores[(~np.isnan(scores)).sum(axis=1) > 1]
    n = len(pairable)
    skipped = len(scores) - n
    if n == 0:
        return Alpha(np.nan, n, skipped, "no item has two ratings")
    if np.nanmin(pairable) == np.nanmax(pairable):
        return Alpha(np.nan, n, skipped, "all ratings are equal")
    krippendorff = optional("krippendorff", "metrics")
    value = krippendorff.alpha(scaled(pairable).T, level_of_measurement=metric)
    return Alpha(float(value), n, skipped)


def alternative_annotator_test(
    ratings: pd.DataFrame,
    judge: pd.DataFrame,
    *,
    epsilon: float = 0.2,
    similarity: Literal["accuracy", "rmse"] = "accuracy",
    keys: Sequence[str] = ("item_id",),
    minimum: int = MINIMUM,
) -> AnnotatorTest:
    """Test whether a judge represents the annotators as well as each of them does.

    Each annotator with 30 instances is left out in turn: on each instance, whoever is more similar to
    the others, judge or annotator, gets 1, both on a tie. The judge wins where a one-sided paired
    t-test rejects that the annotator's mean exceeds the judge's by `epsilon` or more, at a false
    discovery rate of 5%.

    Parameters
    ----------
    ratings, judge
        The `keys`, `score` and, of the ratings, `rater`; NaN marks a missing score.
    epsilon
        The judge's bonus for its cost in [0, 1], which the paper sets to 0.2 against experts, 0.15
        against skilled annotators and 0.1 against a crowd.
    similarity
        Share of the others with the same score (round a judge's first), or negative RMSE to them.
    keys
        What identifies an instance: ``("item_id", "aspect")`` pools aspects.
    minimum
        Instances that an annotator must have to be tested.

    Raises
    ------
    ValueError
        As `alpha` does, for options out of range, and when no annotator has the minimum of instances.

    Examples
    --------
    A judge that always says what two of three annotators say.

    >>> import pandas as pd
    >>> items = [f"i{number}" for number in range(40)]
    >>> scores = [number % 4 for number in range(40)]
    >>> other = [number % 3 for number in range(40)]
    >>> ratings = pd.concat([pd.DataFrame({"item_id": items, "rater": rater, "score": given})
    ...                      for rater, given in {"p": scores, "q": scores, "r": other}.items()])
    >>> judge = pd.DataFrame({"item_id": items, "score": scores})
    >>> found = alternative_annotator_test(ratings, judge)
    >>> found.winning_rate, found.n
    (1.0, 40)
    """
    check_options(similarity=(similarity, ("accuracy", "rmse")))
    if not 0 <= epsilon <= 1:
        raise ValueError(f"{epsilon=}: expected a share in [0, 1]")
    scores = _by_rater(ratings, list(keys))
    own = _scores(judge, list(keys))
    every = scores.index.union(own.index)
    scores, own = scores.reindex(every), own.reindex(every)
    usable = own.notna() & (scores.notna().sum(axis=1) > 1)
    together = scaled(np.vstack([own[usable], scores[usable].T]))
    own, values = together[0], together[1:].T
    rows = []
    wins = {}
    for column, rater in enumerate(scores.columns):
        *row, wins[rater] = _leave_out(own, values, column, epsilon, similarity, minimum)
        rows.append((rater, *row))
    table = pd.DataFrame(rows, columns=["rater", "n", "rho_judge", "rho_human", "p"])
    p_values = table["p"].to_numpy()
    tested = ~np.isnan(p_values)
    if not tested.any():
        raise ValueError(
            f"expected annotators with {minimum} instances, got at most {table['n'].max()}; check keys"
        )
    adjusted = np.full(len(p_values), np.nan)
    adjusted[tested] = scipy.stats.false_discovery_control(p_values[tested], method="by")
    rejected = adjusted <= FALSE_DISCOVERY_RATE
    table = table.assign(p_adjusted=adjusted, rejected=rejected)
    winning_rate = float(rejected[tested].mean())
    advantage = float(table["rho_judge"][tested].mean())
    won = pd.DataFrame(wins, every[usable]).loc[:, tested]
    return AnnotatorTest(winning_rate, advantage, table, len(values), (~usable).sum(), won)


def _leave_out(own, values, column, epsilon, similarity, minimum):
    """Number of an annotator's instances, advantage of judge and of annotator, p-value, the judge's wins."""
    annotator = values[:, column]
    rated = ~np.isnan(annotator)
    others = np.delete(values, column, axis=1)[rated]  # every instance has one
    n = len(others)
    wins = np.full(len(values), np.nan)
    if n < minimum:
        return n, np.nan, np.nan, np.nan, wins
    of_judge = _similarity(own[rated, None], others, similarity)
    of_annotator = _similarity(annotator[rated, None], others, similarity)
    slack = 1e-9 * max(1, np.nanmax(np.abs(others)))  # rounding of fractional scores breaks no tie
    wins[rated] = judge_wins = (of_judge >= of_annotator - slack).astype(float)
    annotator_wins = (of_annotator >= of_judge - slack).astype(float)
    differences = annotator_wins - judge_wins
    if np.ptp(differences) == 0:  # no variance, and so no t
        p_value = float(differences[0] >= epsilon)
    else:
        p_value = scipy.stats.ttest_1samp(differences, epsilon, alternative="less").pvalue
    return n, judge_wins.mean(), annotator_wins.mean(), p_value, wins


def _similarity(scores, others, similarity):
    """How close each instance's score is to the others' scores of it."""
    if similarity == "rmse":
        return -np.sqrt(np.nanmean((scores - others) ** 2, axis=1))
    return (scores == others).sum(axis=1)  # the number compares like the share


def _by_rater(ratings, keys):
    """Scores as a table of instances by raters."""
    scores = _scores(ratings, [*keys, "rater"]).unstack("rater")
    if scores.shape[1] < 2:
        raise ValueError(f"expected two or more raters, got {list(scores.columns)}; a mean is none")
    return scores


def _scores(frame, keys):
    """The column `score`, indexed by the keys."""
    check_frame(frame, keys, ["score"])
    return frame.set_index(keys)["score"].astype(float)
