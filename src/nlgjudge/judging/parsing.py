"""Turn a judge's reply into a score, or into NaN with a reason; never into 0, never dropped.

A prompt or a recording declares how its replies are read: the form, the scale and, where a model writes its
ratings in another way, a pattern. Reasoning and markup are removed in one place (`visible`) before any form
is read. A wrong score is worse than none, so whatever is doubtful is NaN.
"""

import json
import math
import re
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.choices import unknown

FORMS = ("form", "stars", "number", "yes_no", "json", "choice")
POLICIES = ("nan", "leading_or_0", "store_3", "drop", "first_digit", "first_digit_or_0")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Score(NamedTuple):
    """A parsed reply.

    Attributes
    ----------
    score : float
        On the protocol's scale; NaN if there is none.
    reason : str
        Why it is NaN, else empty.

        - `empty`: the reply holds nothing but reasoning or markup.
        - `refusal`: the judge says that it cannot rate.
        - `no_rating`: no rating was found.
        - `ambiguous`: different ratings, or a range ("2-3").
        - `out_of_range`: a rating outside the scale.
        - `other_scale`: a rating on another scale ("7/10" on 1 to 5); never converted.
        - `not_json`: the form is JSON and the reply is not.
    """

    score: float
    reason: str = ""


class Found(NamedTuple):
    """A `Score` and the place of the rating in the reply, from which token probabilities are read."""

    score: float
    reason: str
    start: int = 0
    end: int = 0


def parse(text, form="form", scale=(1, 5), *, key="", options=None, aspect="", pattern=""):
    r"""Read the rating that a reply gives.

    Parameters
    ----------
    text : str
        The reply.
    form : {"form", "stars", "number", "yes_no", "json", "choice"}
        `form`, `stars` and `number` accept a bare number, or labelled numbers ("Rating: 4") that all agree.
        `yes_no` gives 1 and 0. `json` reads the value of `key`, of the aspect or of "score" or "rating".
    scale : (float, float)
        Lowest and highest rating.
    key : str
        With `json`, the name of the rating.
    options : dict of str to float, or list of str
        With `choice`, the options in the order of their letters. A dict gives each its score; a list spreads
        them evenly over the scale, lowest first.
    aspect : str
        The aspect that was asked about; its name is a label as "rating" is.
    pattern : str
        Regular expression for ratings that the default does not read. Its first group, or the group `rating`,
        is the number; a group `top` is the highest rating that the reply names. It sees the reply without
        reasoning, goes before the default, and all its matches must agree.

    Returns
    -------
    Score

    Raises
    ------
    ValueError
        For an unknown form, `choice` without usable options, or a pattern without a group.

    Examples
    --------
    >>> parse("It wanders off.\nRating: 2")
    Score(score=2.0, reason='')
    >>> parse("Score: 7/10")
    Score(score=nan, reason='other_scale')
    >>> parse("<think>Yes?</think>No", "yes_no")
    Score(score=0.0, reason='')
    >>> parse("评分：4分", pattern=r"评分：(\d)分")
    Score(score=4.0, reason='')
    """
    return Score(*find(text, form, scale, key, options, aspect, pattern)[:2])


def find(text, form="form", scale=(1, 5), key="", options=None, aspect="", pattern=""):
    """Read a reply as `parse` does, and say where its rating is.

    Returns
    -------
    Found
        `start` and `end` count characters of `text`.
    """
    if form not in FORMS:
        raise ValueError(unknown("form", form, FORMS))
    said = spellings(form, scale, options)
    text = visible(text) if isinstance(text, str) else ""
    plain = text.translate(_MARKUP)
    if not re.search(r"[^\W_]", plain):
        return Found(math.nan, "empty")
    if form == "json" and not pattern:
        try:
            load_json(text)
        except ValueError:
            return Found(math.nan, "not_json")
    ways = {
        "yes_no": lambda: _YES_NO,
        "choice": lambda: _choices(tuple(lettered(options, scale))),
        "json": lambda: _json_values(key.lower(), aspect.lower()),
    }.get(form, lambda: _numbers(aspect.lower().replace("_", " ")))()
    if pattern and (matches := list(_own(pattern).finditer(text))):
        return _decided(matches, said, scale)
    for way in ways:
        matches = list(way.finditer(text if form == "json" else plain))
        if matches:
            return _decided(matches, said, scale)
    return Found(math.nan, "refusal" if _REFUSAL.search(text) else "no_rating")


def parse_all(texts, form="form", scale=(1, 5), *, policy="nan", **how):
    """Parse many replies.

    Parameters
    ----------
    texts : sequence of str
    form, scale, **how
        See `parse`.
    policy : {"nan", "leading_or_0", "store_3", "drop", "first_digit", "first_digit_or_0"}
        What an unparsed reply counts as. The default is NaN. The others repeat upstream's scripts: G-Eval's
        takes a number at the start, else 0, and checks no range; AltTest's stores 3; `drop` leaves the row
        out; Chiang and Lee's two take the first digit after the last "rating:", else NaN (`first_digit`) or
        0 (`first_digit_or_0`), and check no range.

    Returns
    -------
    pandas.DataFrame
        `score, reason`, indexed like `texts`.

    Raises
    ------
    ValueError
        For an unknown policy, and as `parse` does.
    """
    if policy not in POLICIES:
        raise ValueError(unknown("policy", policy, POLICIES))
    texts = pd.Series(texts)

    @cache
    def read(text):
        upstream = _UPSTREAM.get(policy)
        return upstream(text or "") if upstream else parse(text, form, scale, **how)

    frame = pd.DataFrame(
        [read(text) for text in texts.tolist()], columns=["score", "reason"], index=texts.index
    )
    if policy == "store_3":
        frame["score"] = frame["score"].fillna(3.0)
    return frame.dropna(subset=["score"]) if policy == "drop" else frame


_NAMES = r"(?:\w+[:_])??(?:think(?:ing)?|thoughts?|reason(?:s|ing)?|reflection|analysis|scratchpad)"
_OPEN = rf"(?:[<\[◁]\|?(?:begin_of_|start_)?{_NAMES}\|?[>\]▷]|<\|channel>thought)"
_CLOSE = rf"(?:[<\[◁]\|?(?:/|end_of_|end_){_NAMES}\|?[>\]▷]|<channel\|>)"
_UNSEEN = [
    re.compile(pattern, re.DOTALL | re.IGNORECASE)
    for pattern in (
        rf"{_OPEN}.*?{_CLOSE}",  # reasoning in tags
        rf"\A.*{_CLOSE}",  # its opening tag was part of the prompt
        rf"{_OPEN}.*",  # cut before its closing tag
        r"<\|channel\|>(?!final).*?(?=<\|channel\|>final|\Z)",  # channels, as gpt-oss writes them
        r"\A\s*analysis.*assistant\s*final",  # the same without special tokens
        r"<\|channel\|>final.*?<\|message\|>",
        r"<\|[^<>|]*start[^<>|]*\|>\w*|<\|[^<>|]*\|>|</?s>|<(?:start|end)_of_turn>",  # special tokens
    )
]
_MARKUP = str.maketrans('*_`#"“”：–−‑\u00a0', "       :--- ")


def visible(text):
    """Blank out reasoning and special tokens, in whichever tags or channels; the length stays the same.

    Examples
    --------
    >>> visible("<think>Or 2?</think>Rating: 4").strip()
    'Rating: 4'
    """
    for pattern in _UNSEEN:
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return text


# ---- How ratings are written --------------------------------------------------------------------------------
# Each way is a pattern with the group `rating`; the first that matches anywhere decides.

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: float(value) for value, word in enumerate(_WORDS)}
_UNIT = r"(?: [\s-]* (?:stars?|points?)\b )?"
NUMBER = rf"""
    (?P<rating> (?<!\w) [-+]?\d+ (?: \.\d+ | ,\d{{1,2}}(?!\d) )? | \b(?:{"|".join(_NUMBERS)})\b )
    {_UNIT} (?: \s* \(? (?:/|out\s+of\b|of\b) \s* (?P<top>\d+|{"|".join(_NUMBERS)}) | \s* (?P<percent>%) )? {_UNIT}
    (?P<range> [ ]* (?:-|\bto\b|\bor\b|\band\b) [ ]* (?:an?[ ])? \d+ {_UNIT} )?
    (?! [\w%/] | [.,]\d )
"""
_BRACKET = r"(?: \( (?: \d+ \s* (?:-|to) \s* (?P<highest>\d+) | [^()]* ) \) \s* )?"
_REFUSAL = re.compile(
    r"\b(?:cannot|can't|unable to|not able to|as an ai|i'm sorry|i am sorry|n/a|not (?:applicable|possible))\b",
    re.IGNORECASE,
)


def _way(pattern):
    return re.compile(pattern, re.VERBOSE | re.IGNORECASE)


@lru_cache
def _numbers(aspect):
    """A bare number, perhaps with a label; labelled numbers anywhere."""
    labels = rf"(?: {re.escape(aspect) or 'rating'} | rating | score | stars | grade ) s?"
    others = r"(?: answer | response | evaluation | result )"
    return (
        _way(
            rf"\A [\W_]*? (?: [^\W\d] [\w ]{{0,40}} {_BRACKET} [:=] )? [\W_]*? {NUMBER} [\W_]* \Z"
        ),
        _way(
            rf"(?<![\w/]) (?: {labels} \s* {_BRACKET} (?: [:=>] | is\b ) | {others} \s* [:=>] ) \s*"
            rf"(?: an? \s+ )? [(\[{{<]* {NUMBER}"
        ),
    )


_YES_NO = (
    _way(
        r"\A \W* (?P<rating>yes|no)\b (?P<range> \W{1,3} (?:and|or)? \W{0,3} (?:yes|no)\b )?"
        r"(?! \s+ (?:idea|rating|answer)\b )"
    ),
    _way(r"\b answer \b \W* (?:is\b)? \W* (?P<rating>yes|no)\b (?P<range> \W{1,3} (?:and|or)\b )?"),
)


@lru_cache
def _choices(texts):
    """A letter, perhaps with its option's text; a letter given as the answer; an option's text alone."""
    any_text = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    any_text = any_text.replace(r"\ ", r"\s+")
    letter = (
        rf"(?P<rating>[A-{LETTERS[len(texts) - 1]}]) (?= [^\S\n]* (?: [.):,;=\]\"-] | \n | \Z ) )"
    )
    letter = rf"{letter} (?: \W* (?P<text>{any_text}) \b )?"
    named = r"\b (?:answer|choice|option) \b \W* (?: is\b | would\s+be\b )? \W* (?: option\b )? \W*"
    return (
        _way(rf"{named} {letter}"),
        _way(rf"\A \W* {letter}"),
        _way(rf"\A \W* (?: {named} )? (?P<rating>{any_text}) \W* \Z"),
    )


@lru_cache
def _json_values(key, aspect):
    """The value of the rating's name; where it is no number, there is no rating."""
    names = [key] if key else [aspect or "rating", "score", "rating", "overall", "stars"]
    value = rf"""(?: "? \s* {NUMBER} \s* "? \s* (?=[,}}]) | (?P<none>\S) )"""
    return tuple(_way(rf'"{re.escape(name)}" \s* : \s* {value}') for name in names)


def load_json(text, **options):
    """The JSON object in a visible reply, despite raw line breaks and trailing commas; ValueError without one."""
    found = re.search(r"\{.*\}", text, re.DOTALL)
    text = re.sub(r",(?=\s*[}\]])", "", found[0]) if found else ""
    try:
        return json.loads(text, strict=False, **options)
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error


@lru_cache
def _own(pattern):
    way = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    if not way.groups:
        raise ValueError(
            rf"pattern={pattern!r}: expected a group around the rating, as in r'Verdict: (\d)'"
        )
    return way


def lettered(options, scale):
    """Texts of a choice's options in lower case, with their scores; see `parse`."""
    hint = 'give options={"text of A": 5, "text of B": 3, …} or a list of texts, lowest first'
    texts = [" ".join(text.lower().split()) for text in options or ()]
    if not 2 <= len(texts) <= len(LETTERS) or len(set(texts)) < len(texts) or "" in texts:
        raise ValueError(
            f"form='choice' with options={options!r}: expected 2 to 26 different texts; {hint}"
        )
    scores = np.linspace(*scale, len(texts)).tolist()
    if isinstance(options, dict):
        scores = [float(score) for score in options.values()]
    if not all(map(math.isfinite, scores)):
        raise ValueError(f"form='choice' with a score that is no number; {hint}")
    return dict(zip(texts, scores))


def spellings(form, scale, options=None):
    """What a rating may be written as, other than as a number: its score by the word or letter."""
    if form == "yes_no":
        return {"yes": 1.0, "no": 0.0}
    if form == "choice":
        texts = lettered(options, scale)
        return dict(zip(LETTERS.lower(), texts.values())) | texts
    return _NUMBERS


def _decided(matches, said, scale):
    """One score from all matches of a way."""
    found = {_value(match, said, scale) for match in matches}
    value, reason = found.pop()
    if found:
        return Found(math.nan, "ambiguous")
    group = "rating" if "rating" in matches[-1].re.groupindex else 1
    return Found(math.nan, reason) if reason else Found(value, "", *matches[-1].span(group))


def _value(match, said, scale):
    """The rating of a match, or why it has none."""
    groups = match.groupdict()
    rating = groups["rating"] if "rating" in groups else match[1]
    if rating is None:
        return None, "no_rating"
    if groups.get("range"):
        return None, "ambiguous"
    value = _number(rating, said)
    if value is None:
        return None, "no_rating"
    if groups.get("text") and _number(groups["text"], said) != value:
        return None, "ambiguous"
    if said is not _NUMBERS:
        return value, ""
    tops = {_number(groups[name]) for name in ("top", "highest") if groups.get(name)}
    tops |= {100.0} if groups.get("percent") else set()
    if tops - {float(scale[1])} or (scale[1] >= 100 and 0 < value < 1):
        return None, "other_scale"
    return (value, "") if scale[0] <= value <= scale[1] else (None, "out_of_range")


def _number(text, said=_NUMBERS):
    """Value of "4", "4,5" or "four"; of "B" or "yes" where `said` has them; None of anything else."""
    text = " ".join(text.lower().split())
    try:
        return said[text] if text in said else float(text.replace(",", "."))
    except ValueError:
        return None


# ---- Upstream's own rules -----------------------------------------------------------------------------------


def _leading_or_0(text):
    """G-Eval's `meta_eval_summeval.py`: a number at the start, at most a blank before it, else 0."""
    found = re.match(r" ?([\d.]+)", text)
    try:
        return Score(float(found[1]))
    except (TypeError, ValueError):  # nothing found, or dots alone
        return Score(0.0, "no_rating")


def _first_digit(text):
    """Chiang and Lee's `meta_eval_summeval.py`: the first digit after the last "rating:", without the range."""
    said = text.lower().replace("\n", " ").replace("1-3", " ").rpartition("rating:")[2]
    found = re.search("[0-9]", said)
    return Score(float(found[0])) if found else Score(math.nan, "no_rating")


def _first_digit_or_0(text):
    """Chiang and Lee's `all_eval.py`, otherwise the same."""
    found = _first_digit(text)
    return Score(0.0, found.reason) if found.reason else found


_UPSTREAM = {
    "leading_or_0": _leading_or_0,
    "first_digit": _first_digit,
    "first_digit_or_0": _first_digit_or_0,
}
