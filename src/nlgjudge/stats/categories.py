"""How well a judge's categories agree with people's: accuracy, Cohen's kappa, and the recall of each category.

Kappa of ordered categories is also weighted by the square of their distance (Cohen 1968). Two judges are compared by
swapping them in each document, exactly; with one item a document this is McNemar's exact test.

Intervals leave out each document in turn, as those of correlations do (`nlgjudge.stats.intervals`): shares on the
logit scale, kappa on Fisher's z scale. A share of exactly 0 or 1, or of fewer than ten items, has Wilson's interval
(1927), in which a document counts once.

Kappa has no interval where people and the judge agree on no item outside the commonest category (quadratic kappa: on
fewer than two). In studies of 20 to 500 items with two categories, the rarer one in 2 to 50% of items, and a kappa of 0
to 0.9, an interval of 95% holds the truth in 97% of studies where they agree on one or more (in 92% or more at every
setting), and in 39% where they agree on none.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from nlgjudge.data.scale import NUMBERS, Scale
from nlgjudge.stats.correlations import matrices
from nlgjudge.stats.intervals import DOCUMENTS, half_width, on_z_scale

MOST = 3  # categories of numbers that no scale names
QUADRATIC = "quadratic kappa"
RATE = ["value", "low", "high", "n", "reason"]


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


def category_agreement(
    frame: pd.DataFrame, judge: str, human: str, scale: Scale = NUMBERS
) -> CategoryAgreement:
    """Compare a judge's categories with people's.

    Parameters
    ----------
    frame
        `doc_id, system_id` and both columns, as for `nlgjudge.correlation`. Categories are numbers, NaN is a missing
        one.
    judge, human
        Column names.
    scale
        What the categories are called, and whether they have an order.

    Raises
    ------
    ValueError
        Without a scale for more than three categories, and as `nlgjudge.correlation` does.

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
    categories = np.array(scale.values)
    if not scale.names:
        categories = np.unique([x[~np.isnan(x)], y[~np.isnan(y)]])
        if len(categories) > MOST:
            raise ValueError(
                f"{judge} and {human} have {len(categories)} different values, expected at most {MOST} categories; "
                "correlate graded scores instead, with nlgjudge.correlation"
            )
    counts = [[((y == a) & (x == b)).sum(axis=1) for b in categories] for a in categories]
    tables = np.moveaxis(np.array(counts), -1, 0)
    tables = tables[tables.any(axis=(1, 2))]
    called = [scale.name(category) for category in categories]
    names = ["TNR", "TPR"]
    if len(categories) != 2 or scale.kind == "unordered":
        names = [f"recall of {name}" for name in called]
    rates = {"accuracy": _share(tables.trace(axis1=1, axis2=2), tables.sum(axis=(1, 2)))}
    rates["kappa"] = _kappa_line(tables)
    if ranking(scale) == QUADRATIC:
        places = np.arange(len(categories))
        rates[QUADRATIC] = _kappa_line(tables, np.subtract.outer(places, places) ** 2)
    for place, name in enumerate(names):
        if tables[:, place].any() or not scale.names:  # a name of the scale that people use
            rates[name] = _share(tables[:, place, place], tables[:, place].sum(axis=-1))
    confusion = pd.DataFrame(tables.sum(axis=0), called, called)
    return CategoryAgreement(
        pd.DataFrame(rates.values(), rates, RATE),
        confusion.rename_axis(index="people", columns="judge"),
    )


def ranking(scale: Scale) -> str:
    """The measure that ranks judges: quadratic kappa for three or more ordered categories, and else accuracy."""
    return QUADRATIC if scale.kind == "ordered" and len(scale.names) > 2 else "accuracy"


def share(
    frame: pd.DataFrame, is_right: pd.Series | pd.DataFrame
) -> tuple[float, float, float, int, str]:
    """Give a share of items with its 95% interval, for other documents.

    Parameters
    ----------
    frame
        `doc_id`, with the index of `is_right`.
    is_right
        From 0 to 1; where it is NaN, an item does not count. Columns (of raters) give the mean of their shares.

    Returns
    -------
    tuple
        `value, low, high, n, reason`: NaN for bounds without an interval, and `reason` says why. `n` counts items.

    Examples
    --------
    >>> items = pd.DataFrame({"doc_id": range(40)})
    >>> [round(number, 3) for number in share(items, pd.Series([1, 1, 1, 0] * 10))[:3]]
    [0.75, 0.587, 0.864]
    """
    each = pd.DataFrame(is_right).astype(float).groupby(frame["doc_id"])
    return _share(each.sum().to_numpy(), each.count().to_numpy())


def swapped(differences: np.ndarray) -> float:
    """The exact two-sided p of a sum of whole differences, each of which might as well have the other sign.

    Examples
    --------
    >>> swapped([1, 1, 1, 1, 1, 0, -1])
    0.21875
    """
    chances = np.ones(1)  # of each sum, from the lowest to the highest in steps of 1
    for size in np.abs(np.asarray(differences, int)):
        between = np.zeros(2 * size)
        chances = (np.append(chances, between) + np.append(between, chances)) / 2
    sums = np.arange(len(chances)) - len(chances) // 2
    return float(chances[np.abs(sums) >= abs(np.sum(differences))].sum().clip(0, 1))


def swapped_kappas(
    frame: pd.DataFrame, a: str, b: str, human: str, *, permutations: int = 999, seed: int = 0
) -> float:
    """Test whether two judges differ in quadratic kappa, by swapping them in documents that are drawn.

    Parameters
    ----------
    frame
        `doc_id`, and whole numbers for the categories in the columns of the judges and of people.

    Examples
    --------
    >>> frame = pd.DataFrame({"doc_id": range(12), "human": [0, 1, 2] * 4, "a": [0, 1, 2] * 4, "b": [2, 1, 0] * 4})
    >>> round(swapped_kappas(frame, "a", "b", "human", permutations=4999), 2)
    0.01
    """
    people = frame[human]
    x = np.stack([frame[a], frame[b]])
    each = pd.DataFrame(np.concatenate([x, x**2, (x - people.to_numpy()) ** 2]).T)
    sums = each.groupby(frame["doc_id"].to_numpy()).sum().to_numpy()
    first, second = sums[:, ::2], sums[:, 1::2]
    draws = np.random.default_rng(seed).integers(0, 2, (permutations, len(sums)))
    # The first line are the judges as they are.
    is_swapped = np.vstack([np.zeros(len(sums)), draws])

    def kappas(totals):
        linear, squares, apart = totals.T
        by_chance = squares + (people**2).sum() - 2 * linear * people.mean()
        with np.errstate(invalid="ignore", divide="ignore"):
            return 1 - apart / by_chance

    change = is_swapped @ (second - first)
    differences = np.abs(kappas(first.sum(axis=0) + change) - kappas(second.sum(axis=0) - change))
    return float((differences >= differences[0] - 1e-12).mean())


def _share(right, of):
    """A share with its interval, from the numbers of each document; the mean of shares, of several columns."""
    right, of = (part.reshape(len(part), -1) for part in (right, of))
    n = int(of.sum())
    documents = int(of.any(axis=1).sum())
    if not n:
        return np.nan, np.nan, np.nan, 0, "people give this category to no item"
    value = float((right.sum(axis=0) / of.sum(axis=0)).mean())
    if value in (0, 1) or n == documents < DOCUMENTS:
        test = scipy.stats.binomtest(round(value * documents), documents)
        ends = test.proportion_ci(method="wilson")
        return value, float(ends.low), float(ends.high), n, ""
    if documents < DOCUMENTS:
        return value, np.nan, np.nan, n, f"fewer than {DOCUMENTS} documents"
    without = (right.sum(axis=0) - right) / (of.sum(axis=0) - of)
    return _line(value, without.mean(axis=1)[of.any(axis=1)], n, least=0.0)


def _kappa_line(tables, costs=None):
    """Cohen's kappa with its interval."""
    least = 1 if costs is None else 2
    costs = 1 - np.eye(tables.shape[-1]) if costs is None else costs
    whole = tables.sum(axis=0)
    n = int(whole.sum())
    common = (whole.sum(axis=0) + whole.sum(axis=1)).argmax()
    agreed = whole.trace() - whole[common, common]
    value = float(_kappa(whole, costs))
    without = _kappa(whole - tables, costs)
    reason = ""
    if np.isnan(value):
        reason = "people and the judge give one category alone"
    elif len(tables) < DOCUMENTS:
        reason = f"fewer than {DOCUMENTS} documents"
    elif agreed < least:
        reason = f"people and the judge agree on {agreed} outputs outside the commonest label, fewer than {least}"
    elif np.isnan(without).any():
        reason = "undefined without one of the documents"
    return _line(value, without, n, reason)


def _line(value, without, n, reason="", **how):
    """A measure with its interval, from its values without each document, unless there is a reason for none."""
    if not reason and np.ptp(without) < 1e-12:
        reason = "all left-out values are equal"
    ends = [np.nan] * 2 if reason else on_z_scale(value, half_width([without]), **how)
    return value, *ends, n, reason


def _kappa(table, costs):
    """Cohen's kappa of tables (..., category, category), each confusion at its cost."""
    n = table.sum(axis=(-2, -1))
    by_chance = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1 - n * (table * costs).sum(axis=(-2, -1)) / (by_chance * costs).sum(axis=(-2, -1))
