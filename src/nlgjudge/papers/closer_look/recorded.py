"""From A Closer Look's released replies to the scores of its printed rows (section 2.1 and appendix C)."""

import pandas as pd

from nlgjudge.data.recordings import if_available, recorded, recorded_files
from nlgjudge.judging.scoring import item_scores, responses, wide
from nlgjudge.papers.closer_look.protocols import RECORDED


def scored(benchmark, *, policy="nan", rows=None):
    """Average the replies to each item, for every printed row whose replies can be had.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
        ``topical_chat`` or ``summeval``.
    policy : str
        What a reply without a rating counts as, as for `nlgjudge.judging.parsing.parse_all`: ``nan``, this
        package's reading, or one of `UNREAD`, the readings of the released scripts.
    rows : list of str, optional
        Labels of these rows alone.

    Returns
    -------
    frame : pandas.DataFrame
        `item_id, doc_id, system_id`, people's ratings, and a column ``ROW:ASPECT`` for each row and aspect.
    counts : pandas.DataFrame
        By row and aspect: `items` that were recorded, their `replies`, and how many of these have no rating
        (`unread`).

    Raises
    ------
    KeyError
        For a benchmark whose texts the paper does not judge.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> frame, counts = scored(load("topical_chat", "sample"), rows=[])
    >>> len(frame), len(counts)  # no row is asked for: people's ratings alone
    (50, 0)
    """
    wanted = {
        row: name for row, name in RECORDED[benchmark.name].items() if rows is None or row in rows
    }
    read = {}
    for name in dict.fromkeys(wanted.values()):
        replies = if_available(name, benchmark.items) if recorded_files(name) else None
        if replies is not None:
            read[name] = _read(replies, name, policy)
    if not read:
        return benchmark.human(), pd.DataFrame(columns=["items", "replies", "unread"])
    by_row = {row: name for row, name in wanted.items() if name in read}
    scores = {row: read[name][0] for row, name in by_row.items()}
    counts = pd.concat(
        {row: read[name][1] for row, name in by_row.items()}, names=["row", "aspect"]
    )
    return benchmark.with_scores(wide(scores)), counts


def _read(replies, name, policy):
    """Scores of a recording's items, and counts by aspect."""
    parsed = responses(replies, scale=recorded(name).scales, policy=policy)
    scores = item_scores(parsed)
    unread = (parsed["reason"] != "").groupby(parsed["aspect"], sort=False).sum()
    counts = pd.DataFrame(
        {
            "items": scores.groupby("aspect", sort=False).size(),
            "replies": parsed.groupby("aspect", sort=False).size(),
            "unread": unread,
        }
    )
    return scores, counts
