"""How well a judge's categories agree with people's: accuracy, Cohen's kappa, and the recall of each category.

Intervals leave out each document in turn, as those of correlations do (`nlgjudge.stats.intervals`): shares on the
logit scale, kappa on Fisher's z scale. A share of exactly 0 or 1, or of fewer than ten items, has Wilson's interval
(1927), in which a document counts once.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from nlgjudge.stats.correlations import matrices
from nlgjudge.stats.intervals import DOCUMENTS, half_width, on_z_scale

MOST = 3  # categories: pass and fail, or A, B and a tie


class CategoryAgreement(NamedTuple):
    """How well a judge's categories agree with people's.

    Attributes
    ----------
    rates
        By measure, `value, low, high, n, reason`: accuracy, kappa, and the recall of each category, which is `TPR` for
        the higher of two and `TNR` for the lower. `low` and `high` are the ends of the 95% interval, `n` counts the
        items concerned, `reason` says why there is no interval.
    confusion
        Numbers of items, a row for each category of people's and a column for each of the judge's.
    """

    rates: pd.DataFrame
    confusion: pd.DataFrame


def category_agreement(frame: pd.DataFrame, judge: str, human: str) -> CategoryAgreement:
    """Compare a judge's categories with people's.

    Parameters
    ----------
    frame
        `doc_id, system_id` and both columns, as for `nlgjudge.correlation`. Categories are numbers, NaN is a missing
        one.
    judge, human
        Column names.

    Raises
    ------
    ValueError
        For more than three categories, and as `nlgjudge.correlation` does.

    Examples
    --------
    People pass every second item, and the judge passes three of four.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"doc_id": range(40), "system_id": 0, "human": [1, 0] * 20, "judge": [1, 0, 1, 1] * 10})
    >>> found = category_agreement(frame, "judge", "human")
    >>> found.rates["value"].to_dict()
    {'accuracy': 0.75, 'kappa': 0.5, 'TNR': 0.5, 'TPR': 1.0}
    >>> found.confusion.values.tolist()
    [[10, 10], [0, 20]]
    """
    x, y = matrices(frame, [judge], human)
    categories = np.unique([x[~np.isnan(x)], y[~np.isnan(y)]])
    if len(categories) > MOST:
        raise ValueError(
            f"{judge} and {human} have {len(categories)} different values, expected at most {MOST} categories; "
            "correlate graded scores instead, with nlgjudge.correlation"
        )
    counts = [[((y == a) & (x == b)).sum(axis=1) for b in categories] for a in categories]
    tables = np.moveaxis(np.array(counts), -1, 0)
    tables = tables[tables.any(axis=(1, 2))]
    names = ["TNR", "TPR"]
    if len(categories) != 2:
        names = [f"recall of {category:g}" for category in categories]
    rates = {"accuracy": _share(tables.trace(axis1=1, axis2=2), tables.sum(axis=(1, 2)))}
    rates["kappa"] = _kappa_line(tables)
    for place, name in enumerate(names):
        rates[name] = _share(tables[:, place, place], tables[:, place].sum(axis=-1))
    confusion = pd.DataFrame(tables.sum(axis=0), categories, categories)
    return CategoryAgreement(
        pd.DataFrame.from_dict(
            rates, orient="index", columns=["value", "low", "high", "n", "reason"]
        ),
        confusion.rename_axis(index="people", columns="judge"),
    )


def _share(right, of):
    """A share with its interval, from the numbers of each document."""
    n = int(of.sum())
    documents = int((of > 0).sum())
    if not n:
        return np.nan, np.nan, np.nan, 0, "people give this category to no item"
    value = float(right.sum() / n)
    if value in (0, 1) or n == documents < DOCUMENTS:
        test = scipy.stats.binomtest(round(value * documents), documents)
        ends = test.proportion_ci(method="wilson")
        return value, float(ends.low), float(ends.high), n, ""
    if documents < DOCUMENTS:
        return value, np.nan, np.nan, n, f"fewer than {DOCUMENTS} documents"
    without = ((right.sum() - right) / (n - of))[of > 0]
    if np.ptp(without) < 1e-12:
        return value, np.nan, np.nan, n, "all left-out values are equal"
    return value, *on_z_scale(value, half_width([without]), least=0.0), n, ""


def _kappa_line(tables):
    """Cohen's kappa with its interval."""
    whole = tables.sum(axis=0)
    n = int(whole.sum())
    value = float(_kappa(whole))
    without = _kappa(whole - tables)
    reason = ""
    if np.isnan(value):
        reason = "people and the judge give one category alone"
    elif len(tables) < DOCUMENTS:
        reason = f"fewer than {DOCUMENTS} documents"
    elif np.isnan(without).any():
        reason = "undefined without one of the documents"
    elif np.ptp(without) < 1e-12:
        reason = "all left-out values are equal"
    if reason:
        return value, np.nan, np.nan, n, reason
    return value, *on_z_scale(value, half_width([without])), n, ""


def _kappa(table):
    """Cohen's kappa of tables (..., category, category)."""
    n = table.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(table, axis1=-2, axis2=-1) / n
        by_chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / n**2
        return (observed - by_chance) / (1 - by_chance)
