"""The ledger's columns, and the words for what a cell is and what it rests on."""

import pandas as pd

from nlgjudge.ledger.printed import KEY

COLUMNS = [
    "paper",
    "artefact",
    *KEY,
    "published",
    "ours",
    "ci_low",
    "ci_high",
    "n",
    "n_skipped",
    "difference",
    "verdict",
    "evidence",
    "variant",
    "notebook",
    "note",
]
# What a notebook's part of the ledger has beside: whether a row's value comes from the sample.
PART_COLUMNS = [*COLUMNS, "sample"]
MISPRINT = "misprint"  # seen in the print alone
VERDICTS = [
    "exact",
    "close",
    "within_ci",
    "differs",
    "sign_flipped",
    "relabelled",
    MISPRINT,
    "not_run",
]
EVIDENCE = [
    "recomputed",
    "released_scores",
    "released_responses",
    "other_run",
    "rejudged",
    "substitute_judge",
    "third_party",
    "none",
]
# Evidence from another model than the paper's.
ANOTHER_MODEL = ["substitute_judge", "rejudged"]
# The same metric, run by somebody else.
ANOTHER_RUN = "other_run"
# What somebody else computed from the paper's own scores or replies, and published.
THIRD_PARTY = "third_party"
# A cell with one of these is no reproduction, and none that failed.
OF_OTHERS = [ANOTHER_RUN, *ANOTHER_MODEL, THIRD_PARTY]


def of_others(rows):
    """Tell which rows of a ledger rest on another model than the paper's, or on another run of the metric.

    Parameters
    ----------
    rows : pandas.DataFrame
        Of the ledger, or with its column `verdict` alone.

    Returns
    -------
    pandas.Series of bool

    Examples
    --------
    >>> of_others(pd.DataFrame({"evidence": ["recomputed", "rejudged", "other_run"]})).tolist()
    [False, True, True]
    """
    if "evidence" not in rows:
        return pd.Series(False, rows.index)
    return rows["evidence"].isin(OF_OTHERS)


def was_run(rows):
    """Tell which rows of a ledger have a value beside the printed one.

    Parameters
    ----------
    rows : pandas.DataFrame
        Of the ledger. A `misprint` is seen in the print alone, so that its cell need not have been run.

    Returns
    -------
    pandas.Series of bool

    Examples
    --------
    >>> rows = pd.DataFrame({"verdict": ["close", "not_run", "misprint"], "evidence": ["recomputed", "none", "none"]})
    >>> was_run(rows).tolist()
    [True, False, False]
    """
    unseen = rows["verdict"].eq(MISPRINT) & rows["evidence"].eq("none")
    return rows["verdict"].ne("not_run") & ~unseen
