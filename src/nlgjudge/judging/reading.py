"""How a reply is read: one object that gives a score, or NaN with a reason; never 0, and never a row less.

A prompt or a recording declares its `Reading`. Token probabilities are read at the tokens where the reply's own rating
is read (G-Eval, equation 1). A rating may be one token, part of one (" 4", "4.") or several ("8" and "5", "-" and
"1"); where an alternative's first token does not tell which rating it would become, there is no score.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache, lru_cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.checks import check_known
from nlgjudge.judging.estimators import from_logprobs, get_estimator
from nlgjudge.judging.rating_text import NUMBERS, Rating, find_rating, lettered, marks

FORMS = ("form", "stars", "number", "yes_no", "json", "choice")
POLICIES = ("nan", "leading_or_0", "store_3", "drop", "first_digit", "first_digit_or_0")
# Reasons.
SPLIT = "split_rating"
NO_PROBABILITIES = "no_probabilities"
# The largest share of the ratings' probability on alternatives that may still become several ratings.
_UNDECIDED = 0.001
_ROUNDING = 0.01  # how far probabilities may add up to more than 1
_SEVERAL_DIGITS = re.compile(r"\W*\d\d+\W*")


class Score(NamedTuple):
    """A reply's score, on the protocol's scale; NaN if there is none, and the reason.

    - `empty`: the reply holds nothing but reasoning or markup.
    - `refusal`: the judge says that it cannot rate.
    - `no_rating`: no rating was found.
    - `ambiguous`: different ratings, a range ("2-3"), or what may make the number another one ("4, maybe 5").
    - `out_of_range`: a rating outside the scale.
    - `other_scale`: a rating on another scale ("7/10" on 1 to 5); never converted.
    - `not_json`: the form is JSON and the reply is not.
    """

    score: float
    reason: str = ""


class Likely(NamedTuple):
    """Log-probabilities of the ratings in a reply.

    Attributes
    ----------
    logprobs
        By rating, as the server gave them; they need not add up to 1. Empty where there are none.
    reason
        Why there are none: a reason of a `Score`, `split_rating`, or `no_probabilities` where the numbers are no
        logarithms of probabilities.
    score
        The rating that the reply itself gives.
    """

    logprobs: dict
    reason: str = ""
    score: float = math.nan

    @property
    def mass(self) -> float:
        """Probability on ratings, in [0, 1]."""
        return min(1.0, math.fsum(map(math.exp, self.logprobs.values())))

    def by(self, estimator: str = "expected") -> float:
        """One number, by an estimator of `nlgjudge.judging.estimators`; NaN where there is no rating."""
        if not self.logprobs:
            return math.nan
        ratings = sorted(self.logprobs)
        p = from_logprobs([self.logprobs[rating] for rating in ratings])
        return float(get_estimator(estimator)(p, ratings))


class Reading(NamedTuple):
    r"""How a reply is read.

    Attributes
    ----------
    form
        `form`, `stars` and `number` accept a number that is the whole reply ("4/5", "four", "2 (natural)"), or
        has a label ("Rating: 4", "Coherence: 4", "<score>4</score>"), alone on its line too if all agree. Without
        these, a number alone on its line, at the beginning ("4. The text is fluent.") or in "I would rate it 4",
        if no other number on the scale is in the reply. Any other sentence needs a `pattern`.
        `yes_no` gives 1 and 0: the first word, or behind "answer". `json` reads the value of `key`, else of the
        aspect, "score", "rating", "overall" or "stars": the least deep one, and all that are as deep must agree.
    scale
        Lowest and highest rating; infinite ones take any number as it is.
    pattern
        Regular expression for ratings that the default does not read. Its first group, or the group `rating`,
        is the number; a group `top` is the highest rating that the reply names. It sees the reply without
        reasoning, goes before the default, and all its matches must agree.
    options
        With `choice`, the options in the order of their letters. A dict gives each its score; a list spreads
        them evenly over the scale, lowest first.
    key
        With `json`, the name of the rating.
    aspect
        The aspect that was asked about; its name is a label as "rating" is.
    is_turned
        Whether a high rating is bad; `nlgjudge.judging.responses` then turns scores round on the scale.

    Examples
    --------
    >>> Reading().read("It wanders off.\nRating: 2")
    Score(score=2.0, reason='')
    >>> Reading().read("Score: 7/10")
    Score(score=nan, reason='other_scale')
    >>> Reading("yes_no").read("<think>Yes?</think>No")
    Score(score=0.0, reason='')
    >>> Reading(pattern=r"评分：(\d)分").read("评分：4分")
    Score(score=4.0, reason='')
    >>> Reading().weigh([["4", [["4", -0.5], ["5", -1.5], ["I", -3.0]]]]).logprobs
    {5.0: -1.5, 4.0: -0.5}
    """

    form: str = "form"
    scale: tuple = (1, 5)
    pattern: str = ""
    options: dict | list = {}
    key: str = ""
    aspect: str = ""
    is_turned: bool = False

    def turn(self, scores):
        """Scores of which a high one is good, from ratings; and ratings from such scores."""
        return sum(self.scale) - scores if self.is_turned else scores

    def read(self, text: str) -> Score:
        """Read the rating that a reply gives.

        Raises
        ------
        ValueError
            For an unknown form, `choice` without usable options, or a pattern without a group.
        """
        return Score(*self.find(text)[:2])

    def find(self, text: str) -> Rating:
        """Read a reply, and say where its rating is: `start` and `end` count characters of `text`."""
        return find_rating(text, self)

    def write(self, rating: float | None) -> str:
        """Write a reply that is read as this number.

        NaN and None give an empty reply. A number that no word of a yes/no prompt or a choice stands for is
        written as a number, which is no rating there.
        """
        if rating is None or math.isnan(rating):
            return ""
        number = np.format_float_positional(float(rating), 15, fractional=False, trim="-")
        if self.form == "json":
            return f'{{"{self.key or self.aspect or "rating"}": {number}}}'
        return next((word for word, value in self.words.items() if value == rating), number)

    @property
    def has_true(self) -> bool:
        """Whether True is its highest rating, as of yes and no, a choice, or a scale from 0 to 1."""
        return bool(self.words) or self.scale in ((0, 1), (-math.inf, math.inf))

    def is_open(self, text: str) -> bool:
        """Whether more digits at the end of a text would make its rating another one."""
        score = self.read(text).score
        longer = [self.read(text + digit) for digit in "0123456789"]
        return any(other.score != score for other in longer if not other.reason)

    def read_all(self, texts: Sequence[str], policy: str = "nan") -> pd.DataFrame:
        """Read many replies.

        Parameters
        ----------
        texts
        policy
            What an unread reply counts as. The default is `nan`. The others repeat upstream's scripts: G-Eval's
            (`leading_or_0`) takes a number at the start, else 0, and checks no range; AltTest's (`store_3`) stores 3;
            `drop` leaves the row out; Chiang and Lee's two take the first digit after the last "rating:", else NaN
            (`first_digit`) or 0 (`first_digit_or_0`), and check no range.

        Returns
        -------
        pandas.DataFrame
            `score, reason`, indexed like `texts`.
        """
        check_known("policy", policy, POLICIES)
        series = pd.Series(texts)
        read = cache(_UPSTREAM.get(policy, self.read))
        lines = [read(text or "" if policy in _UPSTREAM else text) for text in series.tolist()]
        frame = pd.DataFrame(lines, columns=["score", "reason"], index=series.index)
        if policy == "store_3":
            frame["score"] = frame["score"].fillna(3.0)
        return frame.dropna(subset=["score"]) if policy == "drop" else frame

    @property
    def spellings(self) -> dict[str, float]:
        """What a rating may be written as, other than as a number: its score by the word or letter."""
        check_known("form", self.form, FORMS)
        return self.words or NUMBERS

    @property
    def words(self) -> dict[str, float]:
        """What stands for a rating in a form that takes no number, with its score; else nothing."""
        if self.form == "yes_no":
            return {"yes": 1.0, "no": 0.0}
        if self.form == "choice":
            texts = lettered(self.options, self.scale)
            return dict(zip(marks(texts), texts.values())) | texts
        return {}

    def weigh(self, tokens: list) -> Likely:
        """Find the log-probabilities of the ratings at the tokens of a reply's rating.

        Parameters
        ----------
        tokens
            ``[token, [[alternative, logprob], ...]]`` for each token, as a `Reply` holds them.
        """
        text = "".join(token for token, _ in tokens)
        rating = self.find(text)
        if rating.reason:
            return Likely({}, rating.reason)
        if not are_probable(tokens):
            return Likely({}, NO_PROBABILITIES, rating.score)
        logprobs = self._weigh(tokens, rating, "." in text[rating.start : rating.end])
        undecided = logprobs.pop(SPLIT, -math.inf)
        if undecided - max(logprobs.values()) > math.log(_UNDECIDED):
            return Likely({}, SPLIT, rating.score)
        return Likely(logprobs, "", rating.score)

    def _weigh(self, tokens, rating, with_decimals):
        """Log-probabilities by rating, and of alternatives that may still become several ratings under `SPLIT`."""
        rules = {"allowed": self._allowed, "scale": tuple(self.scale)}
        begins = partial(_begins, **rules, with_decimals=with_decimals)
        logprobs = {}
        before = ""  # the rating as far as the tokens have spelled it
        path = 0.0  # their log-probability
        end = 0
        for token, pairs in tokens:
            start = end
            end += len(token)
            is_behind = start >= rating.end
            if end <= rating.start:
                continue
            if is_behind and not begins(before)[1]:
                break
            alternatives = _bounded(pairs)
            are_whole = not with_decimals and any(map(_SEVERAL_DIGITS.fullmatch, alternatives))
            for other, logprob in alternatives.items():
                if other != token:
                    value, is_open = begins(before + other)
                    value = SPLIT if is_open and not are_whole else value
                    _add(logprobs, value, path + logprob)
            before += token[max(0, rating.start - start) :]
            path += _logprob(token, alternatives)
            if is_behind:
                break
        value = begins(before)[0]
        _add(logprobs, rating.score if value is None else value, path)
        return logprobs

    @property
    def _allowed(self):
        """The ratings of the form by their spelling, the longest first."""
        spellings = self.words
        if not spellings:
            low, high = self.scale
            spellings = {word: value for word, value in NUMBERS.items() if low <= value <= high}
            whole = range(math.ceil(low), math.floor(high) + 1)
            spellings |= {str(value): float(value) for value in whole}
        return tuple(sorted(spellings.items(), key=lambda pair: -len(pair[0])))


TEXT = Reading("text", ())  # a reply that holds no rating


# ---- Upstream's own rules -----------------------------------------------------------------------------------


def _leading_or_0(text):
    """G-Eval's `meta_eval_summeval.py`: a number at the start, at most a blank before it, else 0."""
    number = re.match(r" ?([\d.]+)", text)
    try:
        return Score(float(number[1]))
    except (TypeError, ValueError):  # no number, or dots alone
        return Score(0.0, "no_rating")


def _first_digit(text):
    """Chiang and Lee's `meta_eval_summeval.py`: the first digit after the last "rating:", without the range."""
    rated = text.lower().replace("\n", " ").replace("1-3", " ").rpartition("rating:")[2]
    digit = re.search("[0-9]", rated)
    return Score(float(digit[0])) if digit else Score(math.nan, "no_rating")


def _first_digit_or_0(text):
    """Chiang and Lee's `all_eval.py`, otherwise the same."""
    score = _first_digit(text)
    return Score(0.0, score.reason) if score.reason else score


_UPSTREAM = {
    "leading_or_0": _leading_or_0,
    "first_digit": _first_digit,
    "first_digit_or_0": _first_digit_or_0,
}


# ---- Token probabilities ------------------------------------------------------------------------------------


def _add(logprobs, value, logprob):
    """Add a probability to that of a rating."""
    if value is None:
        return
    before = logprobs.get(value, -math.inf)
    high, low = max(before, logprob), min(before, logprob)
    logprobs[value] = high + math.log1p(math.exp(low - high)) if low > -math.inf else high


def are_probable(tokens: list) -> bool:
    """Whether the numbers of each token's alternatives are logarithms of probabilities, which add up to 1 at most.

    False for numbers that are probabilities themselves, all 0, or not numbers. `tokens` are as for `Reading.weigh`.

    Examples
    --------
    >>> are_probable([["4", [["4", -0.1], ["5", -3.0]]]]), are_probable([["4", [["4", 0.0], ["5", 0.0]]]])
    (True, False)
    """
    for _, alternatives in tokens:
        logprobs = [logprob for _, logprob in alternatives]
        if not all(isinstance(value, (int, float)) and value <= _ROUNDING for value in logprobs):
            return False
        if math.fsum(map(math.exp, logprobs)) > 1 + _ROUNDING:
            return False
    return True


def _bounded(pairs):
    """Log-probabilities by token; what rounding put above 0 is 0."""
    return {other: min(logprob, 0.0) for other, logprob in pairs if logprob > -math.inf}


def _logprob(token, alternatives):
    """Of the token itself; where it is not among the alternatives, what they leave."""
    rest = max(1 - math.fsum(map(math.exp, alternatives.values())), 1e-300)
    return alternatives.get(token, math.log(rest))


@lru_cache(maxsize=4096)
def _begins(text, allowed, scale, with_decimals):
    """The rating that begins here, or None; and whether further tokens may make it another one."""
    text = re.sub(r"([+-])\s+(?=\w)", r"\1", re.sub(r"\A[^\w+-]+", "", text)).lower()
    may_grow = bool(text) and any(word != text and word.startswith(text) for word, _ in allowed)
    number = re.match(r"[+-]?\d+\.\d+(?!\w)", text)
    if number:
        value = float(number[0])
        return (value if scale[0] <= value <= scale[1] else None), False
    for word, value in allowed:
        if text.startswith(word) and not re.match(r"\w", text[len(word) :]):
            may_grow |= with_decimals and text == word and value < scale[1]
            return value, may_grow
    return None, may_grow


def distributions(replies: pd.DataFrame, scale: tuple[int, int] = (1, 5)) -> pd.DataFrame:
    """Lay out the token probabilities of replies, for `nlgjudge.judging.estimators`.

    Parameters
    ----------
    replies
        `item_id, aspect, sample_index, logprobs`, as of a recording with token probabilities.
    scale
        Lowest and highest rating.

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
    likely = [Reading(scale=scale).weigh(logprobs) for logprobs in replies["logprobs"]]
    lines = [[one.logprobs.get(rating, -math.inf) for rating in ratings] for one in likely]
    logarithms = np.array(lines, dtype=float).reshape(len(likely), len(ratings))
    index = pd.MultiIndex.from_frame(replies[["item_id", "aspect", "sample_index"]])
    frame = pd.DataFrame(from_logprobs(logarithms), index=index, columns=ratings)
    return frame.assign(outside=[1 - one.mass for one in likely])
