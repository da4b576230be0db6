"""Read token probabilities at the tokens where the reply's own rating is read (G-Eval, equation 1).

A rating may be one token, part of one (" 4", "4.") or several ("8" and "5", "1" and "0", "-" and "1"). Where an
alternative's first token does not tell which rating it would become, there is no score.
"""

import math
import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.judging.heads import from_logprobs, get_head
from nlgjudge.judging.parsing import find, spellings

SPLIT = "split_rating"  # the reason
# The largest share of the ratings' probability on alternatives that may still become several ratings.
_UNDECIDED = 0.001
_SEVERAL_DIGITS = re.compile(r"\W*\d\d+\W*")


class Likely(NamedTuple):
    """Log-probabilities of the ratings in a reply.

    Attributes
    ----------
    logprobs : dict of float to float
        By rating, as the server gave them; they need not add up to 1. Empty where there are none.
    reason : str
        Why there are none: a reason of `nlgjudge.judging.parsing.Score`, or `split_rating`.
    score : float
        The rating that the reply itself gives.
    """

    logprobs: dict
    reason: str = ""
    score: float = math.nan

    @property
    def mass(self):
        """Probability on ratings, in [0, 1]."""
        return min(1.0, math.fsum(map(math.exp, self.logprobs.values())))


def likely_ratings(logprobs, form="form", scale=(1, 5), options=None, **how):
    """Find the log-probabilities of the ratings at the tokens of a reply's rating.

    Parameters
    ----------
    logprobs : list
        Per token ``[token, [[alternative, logprob], ...]]``, as a `Reply` holds them.
    form, scale, options, **how
        See `nlgjudge.judging.parsing.parse`.

    Returns
    -------
    Likely

    Examples
    --------
    >>> likely_ratings([["4", [["4", -0.5], ["5", -1.5], ["I", -3.0]]]]).logprobs
    {5.0: -1.5, 4.0: -0.5}
    """
    text = "".join(token for token, _ in logprobs)
    rating = find(text, form, scale, options=options, **how)
    if rating.reason:
        return Likely({}, rating.reason)
    with_decimals = "." in text[rating.start : rating.end]
    allowed = _allowed(form, tuple(scale), tuple((options or {}).items()))
    found = {}
    before = ""  # the rating as far as the tokens have spelled it
    path = 0.0  # their log-probability
    place = 0
    for token, alternatives in logprobs:
        start, place = place, place + len(token)
        is_behind = start >= rating.end
        if place <= rating.start:
            continue
        if is_behind and not _read(before, allowed, scale, with_decimals)[1]:
            break
        given = _given(alternatives)
        whole = any(_SEVERAL_DIGITS.fullmatch(other) for other in given)
        for other, logprob in given.items():
            if other != token:
                value, is_open = _read(before + other, allowed, scale, with_decimals)
                value = SPLIT if is_open and not (whole and not with_decimals) else value
                _add(found, value, path + logprob)
        before += token[max(0, rating.start - start) :]
        path += given.get(
            token, math.log(max(1 - math.fsum(map(math.exp, given.values())), 1e-300))
        )
        if is_behind:
            break
    value = _read(before, allowed, scale, with_decimals)[0]
    _add(found, rating.score if value is None else value, path)
    undecided = found.pop(SPLIT, -math.inf)
    if undecided - max(found.values()) > math.log(_UNDECIDED):
        return Likely({}, SPLIT, rating.score)
    return Likely(found, "", rating.score)


def _add(found, value, logprob):
    if value is None:
        return
    before = found.get(value, -math.inf)
    high, low = max(before, logprob), min(before, logprob)
    found[value] = high + math.log1p(math.exp(low - high)) if low > -math.inf else high


def _given(alternatives):
    """Log-probabilities by token; what is no logarithm is left out, and what rounding put above 0 is 0."""
    return {
        other: min(logprob, 0.0)
        for other, logprob in alternatives
        if isinstance(logprob, (int, float)) and logprob > -math.inf
    }


@lru_cache(maxsize=64)
def _allowed(form, scale, options):
    """The ratings of a form by their spelling, the longest first."""
    said = spellings(form, scale, dict(options))
    if form not in ("yes_no", "choice"):
        low, high = scale
        said = {word: value for word, value in said.items() if low <= value <= high}
        said |= {str(value): float(value) for value in range(math.ceil(low), math.floor(high) + 1)}
    return tuple(sorted(said.items(), key=lambda pair: -len(pair[0])))


@lru_cache(maxsize=4096)
def _read(text, allowed, scale, with_decimals):
    """The rating that begins here, or None; and whether further tokens may make it another one."""
    text = re.sub(r"\A[^\w+-]+", "", text).lower()
    may_grow = bool(text) and any(said != text and said.startswith(text) for said, _ in allowed)
    number = re.match(r"[+-]?\d+\.\d+(?!\w)", text)
    if number:
        value = float(number[0])
        return (value if scale[0] <= value <= scale[1] else None), False
    for said, value in allowed:
        if text.startswith(said) and not re.match(r"\w", text[len(said) :]):
            may_grow |= with_decimals and text == said and value < scale[1]
            return value, may_grow
    return None, may_grow


def expected_score(logprobs, scale=(1, 5), *, form="form", head="expected", **how):
    """Weigh the allowed ratings by their token probability (G-Eval, equation 1).

    Parameters
    ----------
    logprobs : list
        Per token ``[token, [[alternative, logprob], ...]]``, as a `Reply` holds them.
    scale, form, **how
        See `nlgjudge.judging.parsing.parse`.
    head : str
        Which number the probabilities give: one of `nlgjudge.judging.heads.HEADS`.

    Returns
    -------
    score : float
        Renormalised over the ratings; NaN where there are none.
    outside : float
        Probability that lies on no rating, in [0, 1].

    Raises
    ------
    ValueError
        For an unknown head.

    Examples
    --------
    >>> score, outside = expected_score([["4", [["4", math.log(0.6)], ["5", math.log(0.2)]]]])
    >>> round(score, 2), round(outside, 2)
    (4.25, 0.2)
    """
    take = get_head(head)
    found = likely_ratings(logprobs, form, scale, **how)
    return weighed(found, take), 1 - found.mass


def weighed(found, take):
    """One number from `Likely` ratings by a head; NaN where there are none."""
    if not found.logprobs:
        return math.nan
    ratings = sorted(found.logprobs)
    return float(take(from_logprobs([found.logprobs[rating] for rating in ratings]), ratings))


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
        By `item_id, aspect, sample_index`: a column of probabilities for each rating, which add up to 1, and
        `outside`, the probability on other words. NaN where the ratings' probabilities are unknown.

    Examples
    --------
    >>> likely = [["4", [["4", math.log(0.6)], ["5", math.log(0.2)]]]]
    >>> replies = pd.DataFrame({"item_id": ["a"], "aspect": "fluency", "sample_index": 0, "logprobs": [likely]})
    >>> distributions(replies, (3, 5)).round(2).values.tolist()
    [[0.0, 0.75, 0.25, 0.2]]
    """
    ratings = list(range(int(scale[0]), int(scale[1]) + 1))
    found = [likely_ratings(logprobs, scale=scale) for logprobs in replies["logprobs"]]
    lines = [[one.logprobs.get(rating, -math.inf) for rating in ratings] for one in found]
    logarithms = np.array(lines, dtype=float).reshape(len(found), len(ratings))
    index = pd.MultiIndex.from_frame(replies[["item_id", "aspect", "sample_index"]])
    frame = pd.DataFrame(from_logprobs(logarithms), index=index, columns=ratings)
    return frame.assign(outside=[1 - one.mass for one in found])
