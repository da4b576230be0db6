"""From replies to an item's score.

G-Eval (section 2, equation 1) weighs the allowed scores by their probability; with 20
samples the same sum is their mean. What could not be parsed stays visible as a count.
"""

import math
from functools import lru_cache

import numpy as np
import pandas as pd

from nlgjudge.judging.heads import DECIMALS, from_logprobs, get_head
from nlgjudge.judging.parsing import parse_all

COLUMNS = ["item_id", "aspect", "sample_index", "text", "score", "reason"]
# Where nothing was said there is nothing to be read, whatever the policy for replies.
_NO_REPLY = ("not asked", "not answered", "not recorded")


def responses(replies, *, form="form", scale=(1, 5), policy="nan", key="", options=None):
    """Parse replies, row by row.

    Parameters
    ----------
    replies : iterable of nlgjudge.judging.tasks.Reply, or pandas.DataFrame
        With `item_id, aspect, sample_index, text` and perhaps `reason`.
    form, scale, policy, key, options
        As for `nlgjudge.judging.parsing.parse_all`; `scale` may be a dict by aspect. Of a reply that rates
        several aspects, the rating of its row's aspect counts.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect, sample_index, text, score, reason`; a reply that was not given
        keeps its own reason. One that was not asked for, answered or recorded has no score under any
        policy. Rows are numbered anew and grouped by aspect.

    Examples
    --------
    >>> from nlgjudge.judging.tasks import Reply
    >>> replies = [Reply("a", "fluency", 0, "- Fluency: 4"), Reply("b", "fluency", 0, "I cannot say.")]
    >>> responses(replies)["score"].tolist()
    [4.0, nan]
    """
    if isinstance(replies, pd.DataFrame):
        frame = replies
    else:
        names = ["item_id", "aspect", "sample_index", "text", "reason"]
        frame = pd.DataFrame([reply[:5] for reply in replies], columns=names)
    frame = frame.reset_index(drop=True)
    parts = []
    for aspect, part in frame.groupby("aspect", sort=False):
        allowed = scale[aspect] if isinstance(scale, dict) else scale
        parsed = parse_all(
            part["text"], form, allowed, policy=policy, key=key, options=options, aspect=aspect
        )
        given = part.loc[parsed.index, "reason"] if "reason" in part else ""
        given = pd.Series(given, index=parsed.index)
        parsed["reason"] = parsed["reason"].where(given == "", given)
        parsed.loc[given.isin(_NO_REPLY), "score"] = math.nan
        parts.append(part[COLUMNS[:4]].join(parsed, how="right"))
    return pd.concat(parts) if parts else pd.DataFrame(columns=COLUMNS)


def item_scores(parsed, *, samples=None):
    """Average an item's samples.

    Parameters
    ----------
    parsed : pandas.DataFrame
        From `responses`; with a column `judge`, the score is the mean of the judges that rated the item.
    samples : int, optional
        Use the first so many.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect, score` (NaN where no sample has one), `parsed, unparsed`
        (counts).

    Examples
    --------
    >>> from nlgjudge.judging.tasks import Reply
    >>> replies = [Reply("a", "fluency", index, text) for index, text in enumerate(["4", "5", "none"])]
    >>> item_scores(responses(replies))[["score", "parsed", "unparsed"]].values.tolist()
    [[4.5, 2.0, 1.0]]
    """
    if "judge" in parsed:
        judges = [part.drop(columns="judge") for _, part in parsed.groupby("judge", sort=False)]
        each = pd.concat([item_scores(part, samples=samples) for part in judges])
        sums = {"score": "mean", "parsed": "sum", "unparsed": "sum"}
        return each.groupby(["item_id", "aspect"], sort=False).agg(sums).reset_index()
    if samples is not None:
        parsed = parsed[parsed["sample_index"] < samples]
    groups = parsed.groupby(["item_id", "aspect"], sort=False)["score"]
    frame = groups.agg(score="mean", parsed="count", asked="size").reset_index()
    frame["unparsed"] = frame.pop("asked") - frame["parsed"]
    return frame


def wide(scores):
    """One column per aspect, ready for `Benchmark.with_scores`.

    Parameters
    ----------
    scores : dict of str to pandas.DataFrame
        By judge, from `item_scores`.

    Returns
    -------
    pandas.DataFrame
        `item_id` and columns ``judge:aspect``.

    Examples
    --------
    >>> scores = pd.DataFrame({"item_id": ["a", "b"], "aspect": "fluency", "score": [4.0, 5.0]})
    >>> wide({"MODEL": scores}).columns.tolist()
    ['item_id', 'MODEL:fluency']
    """
    columns = [
        frame.assign(column=judge + ":" + frame["aspect"]) for judge, frame in scores.items()
    ]
    return pd.concat(columns).pivot(index="item_id", columns="column", values="score").reset_index()


def rating_logprobs(logprobs, scale=(1, 5), *, form="form"):
    """Find the log-probabilities of the allowed ratings in a reply.

    Parameters
    ----------
    logprobs : list
        Per token ``[token, [[alternative, logprob], ...]]``, as a `Reply` holds them.
    scale : (int, int)
    form : str
        With ``yes_no`` the allowed ratings are the words yes (1) and no (0), and not those of the scale.

    Returns
    -------
    list of (int, float) or None
        Rating and log-probability, over the first token that is an allowed rating; a rating that several
        alternatives spell is there several times. None where no token is one.

    Examples
    --------
    >>> rating_logprobs([["4", [["4", -0.5], [" 4", -2.0], ["5", -1.5], ["I", -3.0]]]])
    [(4, -0.5), (4, -2.0), (5, -1.5)]
    """
    allowed = {"yes": 1, "no": 0} if form == "yes_no" else _as_said(*scale)
    for token, alternatives in logprobs:
        said = token.strip().lower()
        if said not in allowed:
            continue
        # A logarithm that is none (null, a text, NaN, minus infinity) is left out; what rounding put above 0 is 0.
        numbers = [
            (other.strip().lower(), logprob)
            for other, logprob in alternatives
            if isinstance(logprob, (int, float)) and logprob > -math.inf
        ]
        found = [
            (allowed[other], min(logprob, 0.0)) for other, logprob in numbers if other in allowed
        ]
        return found or [
            (allowed[said], 0.0)
        ]  # a server that names no alternatives, or gives none a probability
    return None


@lru_cache(maxsize=64)  # the scale of a thousand replies is one
def _as_said(low, high):
    """The ratings of a scale by their spelling."""
    return {str(rating): rating for rating in range(int(low), int(high) + 1)}


def expected_score(logprobs, scale=(1, 5), *, form="form", head="expected"):
    """Weigh the allowed scores by their token probability (G-Eval, equation 1).

    Parameters
    ----------
    logprobs, scale, form
        As for `rating_logprobs`.
    head : str
        Which number the probabilities give: one of `nlgjudge.judging.heads.HEADS`.

    Returns
    -------
    score : float
        Over the first token that is an allowed score, renormalised over the allowed
        scores among its alternatives; NaN where there is none.
    outside : float
        Probability that lies on none of them, in [0, 1].

    Raises
    ------
    ValueError
        For an unknown head.

    Examples
    --------
    >>> score, outside = expected_score([["4", [["4", math.log(0.6)], ["5", math.log(0.2)]]]])
    >>> round(score, 2), round(outside, 2)
    (4.25, 0.2)
    >>> expected_score([["No", [["No", math.log(0.75)], [" Yes", math.log(0.25)]]]], form="yes_no")
    (0.25, 0.0)
    >>> expected_score([["4", [["4", math.log(0.6)], ["5", math.log(0.2)]]]], head="mode")[0]
    4.0
    """
    take = get_head(head)
    found = rating_logprobs(logprobs, scale, form=form)
    if found is None:
        return math.nan, 1.0
    # Relative to the likeliest, because the exponential of a small logarithm is 0.
    likeliest = max(logprob for _, logprob in found)
    weights = {}
    for rating, logprob in found:
        weights[rating] = weights.get(rating, 0.0) + math.exp(logprob - likeliest)
    total = sum(weights.values())
    outside = max(0.0, 1 - total * math.exp(likeliest))
    if head == "expected":
        return round(
            sum(rating * weight for rating, weight in weights.items()) / total, DECIMALS
        ), outside
    ratings = sorted(weights)
    return float(take(np.array([weights[rating] for rating in ratings]) / total, ratings)), outside


def weighed(parsed, logprobs, *, scale=(1, 5), form="form", head="expected"):
    """Give replies that have token probabilities the score that these give.

    Parameters
    ----------
    parsed : pandas.DataFrame
        From `responses`.
    logprobs : pandas.Series
        By the rows of `parsed`, as a `Reply` holds them; empty where a reply has none.
    scale : (int, int) or dict
        A dict by aspect.
    form, head : str
        As for `expected_score`.

    Returns
    -------
    pandas.DataFrame
        With `score` and `reason` of those replies anew: NaN and `no_score_token` where no token is a rating.

    Examples
    --------
    >>> parsed = pd.DataFrame({"aspect": ["fluency"], "score": [4.0], "reason": [""]})
    >>> likely = pd.Series([[["4", [["4", math.log(0.75)], ["5", math.log(0.25)]]]]])
    >>> weighed(parsed, likely)["score"].tolist()
    [4.25]
    """
    parsed = parsed.copy()
    have = logprobs.map(len) > 0
    if not have.any():
        return parsed
    scores = [
        expected_score(
            found, scale[aspect] if isinstance(scale, dict) else scale, form=form, head=head
        )[0]
        for found, aspect in zip(logprobs[have], parsed.loc[have, "aspect"])
    ]
    scores = pd.Series(scores, index=parsed.index[have], dtype=float)
    parsed.loc[have, "score"] = scores
    parsed.loc[have, "reason"] = scores.isna().map({True: "no_score_token", False: ""})
    return parsed


def distributions(replies, scale=(1, 5)):
    """Lay out the token probabilities of replies, for `nlgjudge.judging.heads`.

    Parameters
    ----------
    replies : pandas.DataFrame
        `item_id, aspect, sample_index, logprobs`, as of a recording with token probabilities.
    scale : (int, int)

    Returns
    -------
    pandas.DataFrame
        By `item_id, aspect, sample_index`: a column of probabilities for each rating, which add to 1, and `outside`,
        what the judge gave to other words. NaN where no rating was among the alternatives.

    Examples
    --------
    >>> likely = [["4", [["4", math.log(0.6)], ["5", math.log(0.2)]]]]
    >>> replies = pd.DataFrame({"item_id": ["a"], "aspect": "fluency", "sample_index": 0, "logprobs": [likely]})
    >>> distributions(replies, (3, 5)).round(2).values.tolist()
    [[0.0, 0.75, 0.25, 0.2]]
    """
    low, high = scale
    ratings = list(range(int(low), int(high) + 1))
    lines = []
    for logprobs in replies["logprobs"]:
        line = dict.fromkeys(ratings, -math.inf)
        for rating, logprob in rating_logprobs(logprobs, scale) or []:
            before = line[rating]
            line[rating] = logprob if before == -math.inf else np.logaddexp(before, logprob)
        lines.append([*line.values()])
    logarithms = np.array(lines, dtype=float).reshape(len(replies), len(ratings))
    index = pd.MultiIndex.from_frame(replies[["item_id", "aspect", "sample_index"]])
    found = pd.DataFrame(from_logprobs(logarithms), index=index, columns=ratings)
    return found.assign(outside=np.maximum(0.0, 1 - np.exp(logarithms).sum(axis=1)))
