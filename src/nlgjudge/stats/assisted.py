"""A system's mean rating or pass rate from a judge's scores of all items and people's labels of some.

The regression estimator of double sampling (Cochran 1977, chapter 12), which is prediction-powered inference with its
best weight (Angelopoulos et al. 2023): mean(Y) + w (mean_all(F) - mean_labelled(F)) for labels Y and scores F, w their
slope on the labelled items. The interval leaves out each document in turn, labelled or not. It holds for labels of
documents that were drawn at random, whatever the judge is worth: in simulations with 20, 50 and 100 labelled documents
of 500, pass or fail and 1 to 5, it held the true mean in 93 to 98% of studies wherever half of them had labels enough
(`tests/stats/test_assisted_mean.py`).
"""

import numpy as np
import pandas as pd
import scipy

from nlgjudge.stats.correlations import check_frame, column_of

LABELLED = 20  # documents; with fewer no interval is given
RARE = 5  # labels other than the commonest one


def assisted_mean(frame: pd.DataFrame, judge: str, human: str) -> pd.DataFrame:
    """Estimate each system's mean of `human`, with its 95% interval, where only some items have a label.

    Parameters
    ----------
    frame
        `doc_id, system_id` and the columns; items without a score of the judge are left out.
    judge, human
        As for `nlgjudge.correlation`; pass or fail are 1 and 0.

    Returns
    -------
    pandas.DataFrame
        By system: `value` with its ends `low` and `high`, `labels_alone` (the mean of the labels), `weight` of the
        judge's scores, `labelled` and `documents`, and the `reason` why there is no interval: fewer than 20 labelled
        documents, or fewer than 5 labels other than the commonest one.

    Examples
    --------
    A judge that is always one point too generous, and labels for half of its items.

    >>> items = [{"doc_id": i, "system_id": "A", "judge": i % 4 + 2} for i in range(80)]
    >>> frame = pd.DataFrame(items).assign(human=lambda f: (f["judge"] - 1).where(f.index < 41))
    >>> found = assisted_mean(frame, "judge", "human").loc["A"]
    >>> [round(float(found[name]), 2) for name in ("value", "labels_alone", "labelled")]
    [2.5, 2.46, 41.0]
    """
    judge = column_of(frame, judge, human)
    check_frame(frame, ["doc_id", "system_id"], [judge, human])
    by_system = frame.dropna(subset=judge).groupby("system_id")
    return pd.DataFrame({name: _of_system(part, judge, human) for name, part in by_system}).T


def _of_system(items, judge, human):
    scores, labels = items[judge].astype(float), items[human].astype(float)
    known = scores.where(labels.notna())
    parts = [labels.notna(), labels, known, labels * known, known**2, scores.notna(), scores]
    sums = pd.concat(parts, axis=1).astype(float).groupby(items["doc_id"]).sum().to_numpy().T
    labelled, documents = int((sums[0] > 0).sum()), sums.shape[1]
    rare = labels.count() - labels.value_counts().max() if labelled else 0
    reason = f"fewer than {RARE} labels other than the commonest one" if rare < RARE else ""
    reason = f"fewer than {LABELLED} labelled documents" if labelled < LABELLED else reason
    if labelled < 2:
        value, weight, half = labels.mean(), np.nan, np.nan
    else:
        value, weight = _estimate(sums.sum(axis=1))
        without, _ = _estimate(sums.sum(axis=1, keepdims=True) - sums)
        error = np.sqrt((documents - 1) * without.var())
        half = np.nan if reason else scipy.stats.t.ppf(0.975, labelled - 1) * error
    names = ["value", "low", "high", "labels_alone", "weight", "labelled", "documents", "reason"]
    ends = [value, value - half, value + half]
    return dict(zip(names, [*ends, labels.mean(), weight, labelled, documents, reason]))


def _estimate(sums):
    """The mean, and the weight of the scores, from sums over items; 0 where the scores are constant."""
    n, y, f, yf, ff, total, all_f = sums
    spread = ff - f * f / n
    weight = np.divide(yf - y * f / n, spread, out=np.zeros_like(spread), where=spread > 1e-9)
    return y / n + weight * (all_f / total - f / n), weight
