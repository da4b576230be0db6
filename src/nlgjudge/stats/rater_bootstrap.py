"""How much a correlation with people owes to the people who happened to rate.

A document's raters are drawn with replacement, the same for all its systems, and their mean is correlated anew. Beside
it stands the draw of documents, systems and raters together.
"""

import numpy as np

from nlgjudge.stats.bootstrap import Interval
from nlgjudge.stats.correlations import LEVELS, check_options, grouped

RATER_UNITS = ("raters", "all")
_CELLS = 50_000  # ratings held at once: arrays of this size stay near the processor


def rater_interval(
    ratings,
    scores,
    *,
    rng,
    units="raters",
    level="sample",
    coefficient="spearman",
    resamples=1000,
    confidence=0.95,
):
    """Bootstrap interval of a judge's correlation with people, with the raters drawn anew.

    Fewer different raters are drawn than there are, and their mean is noisier: the draws lie below the value, and
    the interval may not hold it. Its width says what the choice of raters does.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Columns `doc_id, system_id, rater, score` of one aspect, as many ratings for every item.
    scores : pandas.DataFrame
        Columns `doc_id, system_id, score` of the judge; an item without one is left out.
    rng : numpy.random.Generator
    units : {"raters", "all"}
        The raters of each document, or documents, systems and raters.
    level : {"sample", "dataset"}
    coefficient : {"pearson", "spearman", "kendall"}
    resamples : int
    confidence : float
        In (0, 1).

    Returns
    -------
    nlgjudge.stats.bootstrap.Interval
        Plain quantiles.

    Raises
    ------
    ValueError
        For unknown options, and where items have no judge's score or different numbers of ratings.

    Examples
    --------
    Two raters who agree leave nothing to chance.

    >>> import numpy as np
    >>> import pandas as pd
    >>> ratings = pd.DataFrame({"doc_id": "d", "system_id": list("xyzxyz"), "rater": list("pppqqq"),
    ...                         "score": [1, 2, 3, 1, 2, 3]})
    >>> scores = pd.DataFrame({"doc_id": "d", "system_id": list("xyz"), "score": [1, 3, 2]})
    >>> found = rater_interval(ratings, scores, rng=np.random.default_rng(0), resamples=20)
    >>> [round(value, 3) for value in found[:3]]
    [0.5, 0.5, 0.5]
    """
    check_options(units=(units, RATER_UNITS), level=(level, LEVELS[:2]))
    if not 0 < confidence < 1 or resamples < 1:
        raise ValueError(f"{confidence=}, {resamples=}: expected a share in (0, 1) and at least 1")
    people, judge = _laid_out(ratings, scores)
    means = people.mean(axis=2)
    value = float(_correlated(judge[None], means[None], level, coefficient)[0])
    step = max(1, _CELLS // people.size)
    draws = np.concatenate(
        [
            _draws(judge, people, units, level, coefficient, rng, min(step, resamples - start))
            for start in range(0, resamples, step)
        ]
    )
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        return Interval(value, np.nan, np.nan, 0)
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(value, float(low), float(high), len(draws))


def _draws(judge, people, units, level, coefficient, rng, resamples):
    """Correlations of some resamples."""
    documents, systems, raters = people.shape
    drawn = []
    for _ in range(resamples):
        rows = np.arange(documents)
        columns = np.arange(systems)
        if units == "all":
            rows = rng.integers(0, documents, documents)
            columns = rng.integers(0, systems, systems)
        drawn.append((rows, columns, rng.integers(0, raters, (documents, 1, raters))))
    rows, columns, chosen = (np.stack(part) for part in zip(*drawn))
    places = rows[:, :, None], columns[:, None, :]
    means = np.take_along_axis(people[places], chosen, axis=3).mean(axis=3)
    return _correlated(judge[places], means, level, coefficient)


def _correlated(judge, means, level, coefficient):
    """Each resample's mean over documents, those without variation left out, or its correlation over all items."""
    resamples, _, systems = judge.shape
    groups = (-1, systems) if level == "sample" else (resamples, -1)
    values = grouped(judge.reshape(groups), means.reshape(groups), coefficient).reshape(
        resamples, -1
    )
    found = np.full(resamples, np.nan)
    defined = ~np.isnan(values).all(axis=1)
    found[defined] = np.nanmean(values[defined], axis=1)
    return found


def _laid_out(ratings, scores):
    """Ratings as documents x systems x raters, and the judge's scores as documents x systems; NaN where none is."""
    keys = ["doc_id", "system_id"]
    kept = ratings.merge(
        scores.rename(columns={"score": "judge"}).dropna(subset=["judge"]), on=keys
    )
    counts = kept.groupby(keys)["rater"].nunique()
    if not len(kept) or counts.nunique() != 1 or len(kept) != counts.sum():
        raise ValueError(
            f"expected as many ratings for every item and a judge's score of some, got {len(kept)} "
            f"ratings of {len(counts)} items; give one aspect, and items that all raters rated"
        )
    kept = kept.sort_values([*keys, "rater"])
    kept["place"] = kept.groupby(keys).cumcount()
    documents, systems = (sorted(kept[key].unique()) for key in keys)
    people = np.full((len(documents), len(systems), int(counts.iloc[0])), np.nan)
    judge = np.full(people.shape[:2], np.nan)
    row, column = kept["doc_id"].map(documents.index), kept["system_id"].map(systems.index)
    people[row, column, kept["place"]] = kept["score"]
    judge[row, column] = kept["judge"]
    return people, judge
