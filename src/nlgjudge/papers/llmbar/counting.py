"""What LLMBar's authors count an unread reply as (their evaluate.py)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd


def unread_as_wrong(
    scores: pd.DataFrame, names: Sequence[str], aspect: str = "instruction_following"
) -> pd.DataFrame:
    """Count unread replies as LLMBar does: wrong in the accuracy, and in the agreement equal to each other alone.

    Where both of a pair's choices are unread, its orders agree; where one is, they do not. Where one of a
    pair's ratings is unread, the outputs tie. By default, this project leaves such pairs out and counts them.

    Parameters
    ----------
    scores
        Of a benchmark of pairs: `item_id, doc_id, system_id`, people's preferences and the judges' columns; NaN is
        an unread reply. A column whose scores are 0 and 1 alone holds choices, any other ratings.
    names
        The judges' columns.

    Returns
    -------
    pandas.DataFrame
        `item_id`, and by judge ``NAME:accuracy`` and ``NAME:agreement`` for choices, ``NAME:accuracy``,
        ``NAME:different`` and ``NAME:hedging`` for ratings, as `nlgjudge.Table.fill` takes them for these coefficients.

    Examples
    --------
    >>> rows = [("1", "1", 1, 1.0), ("1", "2", 0, None), ("2", "1", 1, None), ("2", "2", 0, None)]
    >>> scores = pd.DataFrame(rows, columns=["doc_id", "system_id", "instruction_following", "judge"])
    >>> counted = unread_as_wrong(scores.assign(item_id=range(4)), ["judge"])
    >>> counted["judge:accuracy"].tolist(), counted["judge:agreement"].tolist()
    ([1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0])
    """
    scores = scores.sort_values(["doc_id", "system_id"], kind="stable")
    wrong = 1.0 - scores[aspect]
    columns = {}
    for name in names:
        own = scores[name]
        by_pair = own.groupby(scores["doc_id"])
        if own.dropna().isin([0, 1]).all():
            columns[f"{name}:accuracy"] = own.fillna(wrong)
            of_other_order = by_pair.transform("max")  # of what was read
            columns[f"{name}:agreement"] = own.fillna(of_other_order).fillna(wrong)
        else:
            tied = own.where(by_pair.transform("count") == 2, 0.0)
            measures = ("accuracy", "different", "hedging")
            columns |= {f"{name}:{measure}": tied for measure in measures}
    return pd.concat([scores[["item_id"]], pd.DataFrame(columns, scores.index)], axis=1)
