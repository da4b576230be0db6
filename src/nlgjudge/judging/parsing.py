"""Turn a judge's reply into a score, or into NaN with a reason; never into 0, never dropped.

The papers' forms: a filled form ("- Coherence: 4", G-Eval), one to five stars and 0 to 100
(ChatGPT study, section 3), yes or no (G-Eval's hallucination prompt), JSON (CoAScore),
and a rationale before or after the rating. What upstream's scripts did instead is a
`paper` policy.
"""

import json
import math
import re
from typing import NamedTuple

import pandas as pd

FORMS = ("form", "stars", "number", "yes_no", "json")
POLICIES = ("nan", "leading_or_0", "store_3", "drop")

_WORDS = {w: float(i) for i, w in enumerate(
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"))}
_N = r"(-?\d+(?:[.,]\d+)?|" + "|".join(_WORDS) + r")(?:[ -]and[ -]a[ -]half)?(?![\w%])(?!\.\d)"
_HALF = "and a half"
_KEYS = r"(?:ratings?|scores?|stars?|grade|answer|evaluation|response|result)"
# From the clearest way of giving a rating to the least clear; the first that finds any
# decides. The strings in front are a quick test: without one of them it cannot match.
_TIERS = [(needles, re.compile(pattern, re.MULTILINE)) for needles, pattern in (
    (("final",), rf"\bfinal {_KEYS}\b[\s:*=_-]*(?:is|of)?[\s:*=_-]*{_N}"),
    ((":", "="), rf"^[\s>#*_-]*(?:the |my |overall )*{_KEYS}\b[ \w]{{0,40}}[*_]*[:=][\s*_-]*{_N}"),
    ((":", "="), rf"\b{_KEYS}[*_]*[:=][\s*_-]*{_N}"),
    ((":",), rf"^[\s>#*_-]*[a-z][\w ]{{2,30}}[*_]*:[\s*_-]*{_N}[ \t.*_]*(?:/|out of|\(|$)"),
    (("/", "out of"), rf"(?<![\w/.]){_N}\s*(?:/|out of)\s*(?:\d+|five|ten|three)\b"),
    (("star",), rf"(?<![\w/.]){_N}[ -]stars?\b"),
    (("",), rf"[a-z][\"')]*[.!?][\"')]*\s+{_N}[\s.*_]*\Z"),
    (("score", "rating"), rf"\b(?:score|rating)s?(?: \w+)?(?: of| is| as| at| be)+(?: an?)?[ :*]+{_N}"),
    (("score", "rating"), rf"\b(?:score|rating) {_N}(?=[*_]*(?:[.,;)]|$))"),
    (("scor", "get", "earn", "receiv", "deserv", "rate", "giv"),
     rf"\b(?:scor(?:es?|ing)|gets?|earn(?:s|ing)|receiv(?:es|ing)|deserv(?:es|ing)|rated?|giv(?:e|ing) it)"
     rf"(?: \w+)? (?:an?|as|at) {_N}(?=[*_]*(?:[.,;)]|$| for | on | in terms))"),
    (("",), rf"^[\s>#*_-]*{_N}[\s.):*_-]*$"),
    (("",), rf"\A[\s>#*_-]*{_N}(?=[\s.):,*_-])(?![.)]?\s*\d)"),
)]
_BARE = re.compile(r"[\s*_-]*(\d+(?:\.\d+)?)[\s.*_]*")
_NUMBER = re.compile(rf"(?<![\w/.]){_N}")
_REFUSAL = re.compile(r"\b(?:cannot|can't|unable to|not able to|as an ai|i'm sorry|i am sorry|"
                      r"n/a|not (?:applicable|possible))\b", re.IGNORECASE)
_YES_NO = re.compile(r"\A\W*(?:answer\W+)?(yes|no)\b|\b(?:answer|final answer)\b\W+(?:is\W+)?(yes|no)\b",
                     re.IGNORECASE)


class Score(NamedTuple):
    """A parsed reply.

    Attributes
    ----------
    score : float
        On the protocol's scale, NaN where there is none.
    reason : str
        Why it is NaN: `empty`, `refusal`, `no_rating`, `ambiguous`, `out_of_range`,
        `not_json`; empty otherwise.
    """

    score: float
    reason: str = ""


def parse(text, form="form", scale=(1, 5), *, key=""):
    """Read the rating that a reply gives.

    Parameters
    ----------
    text : str
        The reply.
    form : {"form", "stars", "number", "yes_no", "json"}
        How the protocol asks for it. `form`, `stars` and `number` accept each other's
        ways, with the rationale before or after; `yes_no` gives 1 and 0.
    scale : (float, float)
        Lowest and highest rating allowed.
    key : str
        With `json`, the name of the rating; empty takes the only number there is.

    Returns
    -------
    Score

    Raises
    ------
    ValueError
        For an unknown form.
    """
    if form not in FORMS:
        raise ValueError(f"form={form!r}: expected one of {', '.join(FORMS)}")
    if not text or not text.strip():
        return Score(math.nan, "empty")
    if form == "yes_no":
        return _yes_no(text)
    if form == "json":
        return _json(text, scale, key)
    bare = _BARE.fullmatch(text)
    if bare:
        return _checked({float(bare[1])}, scale)
    text = text.lower()
    for needles, tier in _TIERS:
        if any(needle in text for needle in needles):
            found = {_value(m) for m in tier.finditer(text)}
            if found:
                return _checked(found, scale)
    found = {_value(m) for m in _NUMBER.finditer(text)} if len(text) < 60 else set()
    if found:
        return _checked(found, scale)
    return Score(math.nan, "refusal" if _REFUSAL.search(text) else "no_rating")


def parse_all(texts, form="form", scale=(1, 5), *, key="", policy="nan"):
    """Parse many replies; equal replies are read once.

    Parameters
    ----------
    texts : sequence of str
    form, scale, key
        As for `parse`.
    policy : {"nan", "leading_or_0", "store_3", "drop"}
        What an unparsed reply counts as. `nan`, the default, says so. The others repeat
        upstream's scripts: G-Eval's takes a leading number, else 0, and checks no range;
        AltTest's stores 3; `drop` leaves the row out.

    Returns
    -------
    pandas.DataFrame
        `score, reason`, indexed like `texts`.
    """
    if policy not in POLICIES:
        raise ValueError(f"policy={policy!r}: expected one of {', '.join(POLICIES)}")
    texts = pd.Series(texts)
    known = {t: _leading(t) if policy == "leading_or_0" else parse(t, form, scale, key=key)
             for t in texts.unique()}
    frame = pd.DataFrame(texts.map(known).tolist(), columns=["score", "reason"], index=texts.index)
    if policy == "store_3":
        frame["score"] = frame["score"].fillna(3.0)
    return frame.dropna(subset=["score"]) if policy == "drop" else frame


def _leading(text):
    found = re.match(r"\s*(\d(?:\.\d+)?)", text or "")
    return Score(float(found[1]), "") if found else Score(0.0, "no_rating")


def _value(match):
    text = match[1]
    value = _WORDS[text] if text in _WORDS else float(text.replace(",", "."))
    return value + 0.5 if _HALF in match[0].replace("-", " ") else value


def _checked(found, scale):
    inside = {v for v in found if scale[0] <= v <= scale[1]}
    if len(found) == 1:
        return Score(found.pop()) if inside else Score(math.nan, "out_of_range")
    return Score(math.nan, "ambiguous")


def _yes_no(text):
    found = {(m[1] or m[2]).lower() for m in _YES_NO.finditer(text)}
    if len(found) == 1:
        return Score(float(found == {"yes"}))
    if found:
        return Score(math.nan, "ambiguous")
    return Score(math.nan, "refusal" if _REFUSAL.search(text) else "no_rating")


def _json(text, scale, key):
    start, end = text.find("{"), text.rfind("}")
    try:
        answer = json.loads(text[start:end + 1])
    except json.JSONDecodeError:
        return Score(math.nan, "not_json")
    numbers = {k.lower(): v for k, v in answer.items()
               if isinstance(v, int | float) and not isinstance(v, bool)}
    if key:
        numbers = {k: v for k, v in numbers.items() if k == key.lower()}
    if not numbers:
        return Score(math.nan, "no_rating")
    return _checked({float(v) for v in numbers.values()}, scale)
