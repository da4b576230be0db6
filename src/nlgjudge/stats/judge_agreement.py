"""How well each judge agrees with people on each aspect, in one table.

A judge's score of an aspect is in the column ``JUDGE:ASPECT``; people's rating is in the column ``ASPECT``.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgjudge.stats.correlations import (
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
