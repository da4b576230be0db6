"""How well each judge agrees with people on each aspect, in one table.

A judge's score of an aspect is in the column ``JUDGE:ASPECT``; people's rating is in the column ``ASPECT``.
"""

import numpy as np

from nlgjudge.data.choices import unknown
from nlgjudge.stats.bootstrap import interval_table
from nlgjudge.stats.correlations import table_of_pairs


def agreement(
    frame,
    judges,
    aspects,
    *,
    levels=("dataset",),
    coefficients=("spearman",),
    dataset="",
    constant="skip",
    kendall="b",
    interval=False,
    rng=None,
    **options,
):
    """Correlate each judge's score of an aspect with people's rating of the same aspect.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row for each item: `doc_id`, `system_id`, people's rating in a column for each aspect, and a
        judge's scores in the columns ``JUDGE:ASPECT``. A judge that gives one score whatever the aspect,
        as ROUGE does, has a single column of its own name. NaN marks a missing score.
    judges, aspects : list of str
    levels, coefficients : sequence of str
        As for `nlgjudge.stats.correlations.correlation_table`.
    dataset : str
        Written into the column `dataset`.
    constant, kendall : str
        As for `nlgjudge.stats.correlations.correlation`.
    interval : bool
        Whether to add 95% bootstrap intervals.
    rng : numpy.random.Generator, optional
        Of the intervals; by default one with the seed 0.
    **options
        Of `nlgjudge.stats.bootstrap.interval`: `resamples`, `units`, `method`.

    Returns
    -------
    pandas.DataFrame
        One row for each judge, aspect, level and coefficient: `judge, metric` (the column), `dataset,
        aspect, level, coefficient, ours` (in [-1, 1]), `n, n_skipped, reason`, and with `interval`
        `ci_low, ci_high`.

    Raises
    ------
    ValueError
        For a judge that has no column, with the names that are near, and for options of intervals that
        are not computed.

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
    if not interval and (options or rng is not None):
        extra = ", ".join([*options, *["rng"] * (rng is not None)])
        raise ValueError(
            f"{extra} is an option of intervals, which are not asked for: give interval=True"
        )
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
        rng = rng or np.random.default_rng(0)
        cells = interval_table(frame, cells, rng=rng, constant=constant, kendall=kendall, **options)
    each = len(levels) * len(coefficients)
    cells.insert(0, "judge", np.repeat([judge for judge, *_ in named], each))
    return cells


def column_of(frame, judge, aspect):
    """Find the column with a judge's scores of an aspect.

    Parameters
    ----------
    frame : pandas.DataFrame
    judge, aspect : str

    Returns
    -------
    str
        ``JUDGE:ASPECT`` where the frame has it, else the judge's name.

    Raises
    ------
    ValueError
        Where it has neither.

    Examples
    --------
    >>> import pandas as pd
    >>> column_of(pd.DataFrame(columns=["gpt:fluency", "words"]), "gpt", "fluency")
    'gpt:fluency'
    """
    own = f"{judge}:{aspect}"
    if own in frame:
        return own
    if judge in frame:
        return judge
    known = sorted({str(column).rpartition(":")[0] or str(column) for column in frame.columns})
    raise ValueError(f"no column {own} and none {judge}: {unknown('judge', judge, known)}")
