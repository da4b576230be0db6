"""How well judges choose between two texts: accuracy, agreement of the two orders, preference for the first place."""

from collections.abc import Sequence

import pandas as pd

from nlgjudge.stats.correlations import PAIR, SHARES, column_of
from nlgjudge.stats.intervals import interval


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
                name: interval(frame, column, aspect, level=PAIR, coefficient=name)
                for name in SHARES
            }
            of_unread = interval(unread, "unread", aspect, level=PAIR, coefficient="first")
            rows += [
                (judge, aspect, name, share.value, share.low, share.high, share.n, share.reason)
                for name, share in [*wholes.items(), ("unread", of_unread)]
            ]
    names = ["judge", "aspect", "measure", "value", "low", "high", "n", "reason"]
    return pd.DataFrame(rows, columns=names)
