"""How well each judge agrees with people on each aspect, in one table.

A judge's score of an aspect is in the column ``JUDGE:ASPECT``; people's rating is in the column ``ASPECT``.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgjudge.stats import intervals
from nlgjudge.stats.categories import RATE, share
from nlgjudge.stats.correlations import (
    PAIR,
    SHARES,
    Coefficient,
    Constant,
    Kendall,
    Level,
    column_of,
    table_of_pairs,
)
from nlgjudge.stats.intervals import Systems, interval_table


def agreement(
    frame: pd.DataFrame,
    judges: Sequence[str],
    aspects: Sequence[str],
    *,
    levels: Sequence[Level] = ("dataset",),
    coefficients: Sequence[Coefficient] = ("spearman",),
    dataset: str = "",
    constant: Constant = "skip",
    kendall: Kendall = "b",
    interval: bool = False,
    systems: Systems = "these",
) -> pd.DataFrame:
    """Correlate each judge's score of an aspect with people's rating of the same aspect.

    Parameters
    ----------
    frame
        A row for each item: `doc_id`, `system_id`, people's rating in a column for each aspect, and a
        judge's scores in the columns ``JUDGE:ASPECT``. A judge that gives one score whatever the aspect,
        as ROUGE does, has a single column of its own name. NaN marks a missing score.
    levels, coefficients, dataset, constant, kendall
        As for `nlgjudge.correlation_table`.
    interval
        Whether to add 95% intervals, for `systems` as in `nlgjudge.interval`.

    Returns
    -------
    pandas.DataFrame
        One row for each judge, aspect, level and coefficient: `judge, metric` (the column), `dataset,
        aspect, level, coefficient, ours` (in [-1, 1]), `n, n_skipped, reason`, and with `interval`
        `ci_low, ci_high, ci_reason, ci_notice`.

    Raises
    ------
    ValueError
        For a judge that has no column, with the names that are near, and as `nlgjudge.correlation` does.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "doc_id": ["d1"] * 4 + ["d2"] * 4, "system_id": ["w", "x", "y", "z"] * 2,
    ...     "fluency": [1, 2, 3, 4, 2, 1, 4, 3], "judge:fluency": [1, 2, 4, 3, 2, 1, 4, 3],
    ...     "words": [9, 7, 8, 5, 6, 4, 3, 2]})
    >>> table = agreement(frame, ["judge", "words"], ["fluency"])
    >>> table[["judge", "aspect", "coefficient", "ours"]].round(2)
       judge   aspect coefficient  ours
    0  judge  fluency    spearman  0.90
    1  words  fluency    spearman -0.44
    """
    named = [
        (judge, column_of(frame, judge, aspect), aspect) for judge in judges for aspect in aspects
    ]
    pairs = [(column, aspect) for _, column, aspect in named]
    cells = table_of_pairs(
        frame,
        pairs,
        levels=levels,
        coefficients=coefficients,
        dataset=dataset,
        constant=constant,
        kendall=kendall,
    )
    if interval:
        cells = interval_table(frame, cells, systems=systems, constant=constant, kendall=kendall)
    each = len(levels) * len(coefficients)
    cells.insert(0, "judge", np.repeat([judge for judge, *_ in named], each))
    return cells


def pair_agreement(
    frame: pd.DataFrame, judges: Sequence[str], aspects: Sequence[str]
) -> pd.DataFrame:
    """Measure judges that were asked in both orders which of two texts is better.

    Parameters
    ----------
    frame
        Of a benchmark of pairs (`nlgjudge.data.pairs`) with the judges' scores, as for `nlgjudge.agreement`: 1 where
        the text shown first was chosen, 0 where the other was, NaN for an unread reply.

    Returns
    -------
    pandas.DataFrame
        A row for each judge, aspect and measure: `judge, aspect, measure, value` (a share), `low, high` (of the 95%
        interval, each document left out), `n` (documents) and `reason` (why there is no interval). The measures are
        `accuracy` (two choices that contradict each other count half; ties of people's are left out), `agreement` (the
        same text is chosen in both orders), `first` (the text shown first is chosen) and `unread`. A pair with an
        unread reply counts for `unread` alone.

    Examples
    --------
    A judge that always chooses the text shown first is right half of the time.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"doc_id": ["p", "p", "q", "q"], "system_id": ["1", "2"] * 2, "better": [1, 0, 0, 1],
    ...                       "judge": [1, 1, 1, 1]})
    >>> pair_agreement(frame, ["judge"], ["better"]).set_index("measure")["value"].to_dict()
    {'accuracy': 0.5, 'agreement': 0.0, 'first': 1.0, 'unread': 0.0}
    """
    rows = []
    for judge in judges:
        for aspect in aspects:
            column = column_of(frame, judge, aspect)
            unread = frame.assign(unread=frame[column].isna().astype(float))
            wholes = {
                name: intervals.interval(frame, column, aspect, level=PAIR, coefficient=name)
                for name in SHARES
            }
            of_unread = intervals.interval(
                unread, "unread", aspect, level=PAIR, coefficient="first"
            )
            rows += [
                (judge, aspect, name, share.value, share.low, share.high, share.n, share.reason)
                for name, share in [*wholes.items(), ("unread", of_unread)]
            ]
    return pd.DataFrame(rows, columns=["judge", "aspect", "measure", *RATE])


def pair_bias(frame: pd.DataFrame, judge: str, human: str) -> pd.DataFrame:
    """Measure how a judge chooses between two texts by their place and length, beside people on the same pairs.

    Parameters
    ----------
    frame
        A row for each pair and order: `doc_id`, the texts `hypothesis` (shown first) and `other`, and the choices of
        the judge and of people: 1 for the text shown first, 0 for the other, 0.5 for a tie, NaN for none.

    Returns
    -------
    pandas.DataFrame
        By choice, `first` (the text shown first), `longer` (in characters; texts of equal length do not count) and
        `tie`: the judge's share with its interval, `value, low, high, n`, and people's, `people, people_low,
        people_high`. Ties are neither first nor longer, and count for `tie` alone.

    Examples
    --------
    >>> frame = pd.DataFrame({"doc_id": ["p", "p"], "hypothesis": ["Hi.", "Hello."], "other": ["Hello.", "Hi."],
    ...                       "judge": [1, 1], "people": [0, 1]})
    >>> pair_bias(frame, "judge", "people")[["value", "people"]]
            value  people
    first     1.0     0.5
    longer    0.5     1.0
    tie       0.0     0.0
    """
    asked = frame[frame[judge].notna()]
    longer = np.sign(asked["hypothesis"].str.len() - asked["other"].str.len())
    sides = []
    for choices in (asked[judge], asked[human]):
        side = np.sign(choices - 0.5)
        by_choice = {"first": side, "longer": side * longer, "tie": 0.5 - side.abs()}
        signs = pd.DataFrame(by_choice).replace(0, np.nan)
        shares = [share(asked, signs[name].gt(0).where(signs[name].notna())) for name in by_choice]
        sides.append(pd.DataFrame(shares, by_choice, RATE))
    own, people = sides
    people = people[["value", "low", "high"]]
    return own.join(people.set_axis(["people", "people_low", "people_high"], axis=1))
