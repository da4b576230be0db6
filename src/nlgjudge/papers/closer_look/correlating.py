"""Appendix C of A Closer Look: recorded replies to scores, and both methods of correlating them with people's ratings."""

import pandas as pd

from nlgjudge.data.recordings import recorded, recording
from nlgjudge.judging.scoring import item_scores, responses, wide
from nlgjudge.stats.correlations import correlation_table

# Level and coefficient of what the paper prints: Pearson by method 1 and by method 2, Kendall by method 2.
METHODS = (("dataset", "pearson"), ("sample", "pearson"), ("sample", "kendall"))


def scored(benchmark, name, *, policy="nan"):
    """Read a recording, and average each item's replies.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
        What was judged.
    name : str
        Of the recording, as for `nlgjudge.recording`.
    policy : str
        What a reply without a rating counts as, as for `nlgjudge.judging.parsing.parse_all`.

    Returns
    -------
    frame : pandas.DataFrame
        `item_id, doc_id, system_id`, people's ratings, and a column ``judge:aspect`` for each aspect.
    counts : pandas.DataFrame
        By aspect, how many `items` were recorded, and how many of their `replies` have no score (`unread`).
    """
    replies = recording(name, benchmark.items)
    parsed = responses(replies, scale=recorded(name).scales, policy=policy)
    scores = item_scores(parsed)
    by_aspect = scores.groupby("aspect", sort=False)
    counts = pd.DataFrame({
        "items": by_aspect.size(),
        "replies": by_aspect["parsed"].sum() + by_aspect["unparsed"].sum(),
        "unread": parsed[parsed["reason"] != ""].groupby("aspect", sort=False).size(),
    }).fillna(0).astype(int)
    return benchmark.with_scores(wide({"judge": scores})), counts


def correlations(frame, aspects, *, dataset=""):
    """Correlate the scores of a recording with people's ratings, by both methods.

    Documents on which all scores or all ratings are equal are left out, as in the released scripts.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `scored`.
    aspects : list of str
    dataset : str
        For the column of that name.

    Returns
    -------
    pandas.DataFrame
        As `nlgjudge.correlation_table`, a line for each aspect and each of `METHODS`.

    Examples
    --------
    >>> frame = pd.DataFrame({"doc_id": list("aaabbb"), "system_id": list("xyzxyz"), "ease": [1, 2, 3, 1, 2, 3],
    ...                       "judge:ease": [1, 2, 3, 3, 2, 1]})
    >>> correlations(frame, ["ease"])[["level", "coefficient", "ours"]].round(3).values.tolist()
    [['dataset', 'pearson', 0.0], ['sample', 'pearson', 0.0], ['sample', 'kendall', 0.0]]
    """
    parts = [correlation_table(frame, [f"judge:{aspect}"], [aspect], levels=(level,), coefficients=(coefficient,),
                               dataset=dataset, constant="skip")
             for aspect in aspects for level, coefficient in METHODS]
    return pd.concat(parts, ignore_index=True)
