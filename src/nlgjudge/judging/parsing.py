"""Turn a judge's reply into a score, or into NaN with a reason; never into 0, never dropped.

The papers' forms: a filled form ("- Coherence: 4", G-Eval), one to five stars and 0 to 100
(ChatGPT study, section 3), yes or no (G-Eval's hallucination prompt), JSON (CoAScore), a rationale
before or after the rating, and a lettered choice. A wrong score is worse than none: in doubt a reply
is NaN. What upstream's scripts did instead is a `paper` policy.
"""

import hashlib
import json
import math
import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from nlgjudge.judging import lettered, statements
from nlgjudge.judging.cleaning import without_tokens
from nlgjudge.judging.numbers import is_share_of_one
from nlgjudge.metrics import cached

FORMS = ("form", "stars", "number", "yes_no", "json", "choice")
REASONS = (
    "",
    "empty",
    "refusal",
    "no_rating",
    "ambiguous",
    "out_of_range",
    "other_scale",
    "not_json",
)
POLICIES = ("nan", "leading_or_0", "store_3", "drop", "first_digit", "first_digit_or_0")

# "4", "3.", "- 2": most replies of a judge that was asked for the number alone
_BARE = re.compile(r"(?:- )?([0-9]{1,9}(?:\.[0-9]{1,9})?)\.?")
_REFUSAL = re.compile(
    r"\b(?:cannot|can't|unable to|not able to|as an ai|i'm sorry|i am sorry|n/a|"
    r"not (?:applicable|possible))\b"
)
_IN_WORDS = ("form", "stars", "number")  # forms whose replies pass many patterns
_KEPT_FROM = 500  # different replies; fewer are read in less time than a file of readings


class Score(NamedTuple):
    """A parsed reply.

    Attributes
    ----------
    score : float
        On the protocol's scale, NaN where there is none.
    reason : str
        Why it is NaN, else empty.

        - `empty`: nothing was said.
        - `refusal`: the judge says that it cannot rate.
        - `no_rating`: no rating was found.
        - `ambiguous`: different ratings, a range ("2-3"), or a number that may be something else.
        - `out_of_range`: a rating outside of the scale ("7" and "-1" on 1 to 5).
        - `other_scale`: a rating on a scale that was not asked for ("7/10" on 1 to 5, stars
          or "0.85" on 0 to 100); never converted.
        - `not_json`: the form is JSON and the reply is not.
    """

    score: float
    reason: str = ""


def parse(text, form="form", scale=(1, 5), *, key="", options=None, aspect=""):
    """Read the rating that a reply gives.

    Parameters
    ----------
    text : str
        The reply. Any string is read, in time proportional to its length, and none raises.
    form : {"form", "stars", "number", "yes_no", "json", "choice"}
        How the protocol asks for it. `form`, `stars` and `number` accept each other's ways, with the
        rationale before or after; `yes_no` gives 1 and 0; `choice` needs `options`.
    scale : (float, float)
        Lowest and highest rating allowed.
    key : str
        With `json`, the name of the rating; empty takes the only number there is.
    options : dict of str to float, or list of str
        With `choice`, the options' texts as the protocol letters them, A first. A dict gives each its
        score; a list spreads them evenly over the scale, the first being the lowest.
    aspect : str
        The aspect that was asked. Where a reply to `form`, `stars` or `number` rates several aspects, its
        rating counts; one that does not name it is read as without.

    Returns
    -------
    Score

    Raises
    ------
    ValueError
        For an unknown form, and for `choice` without options or with options that cannot be told apart.

    Examples
    --------
    >>> parse("It wanders off.\\nRating: 2")
    Score(score=2.0, reason='')
    >>> parse("Score: 7/10")
    Score(score=nan, reason='other_scale')
    >>> parse("Coherence: 4\\nFluency: 3", aspect="fluency")
    Score(score=3.0, reason='')
    >>> parse("B. Fair", "choice", options={"Good": 5, "Fair": 3, "Poor": 1})
    Score(score=3.0, reason='')
    """
    if form not in FORMS:
        raise ValueError(f"form={form!r}: expected one of {', '.join(FORMS)}")
    if form == "choice":
        options = lettered.scored(options, scale)
    if not isinstance(text, str) or not text.strip():
        return Score(math.nan, "empty")
    text = without_tokens(text)
    if not text.strip():
        return Score(math.nan, "empty")
    if form == "yes_no":
        return _yes_no(text)
    if form == "json":
        return _json(text, scale, key)
    if form == "choice":
        return _decided(lettered.find(text, options), text)
    bare = _BARE.fullmatch(text.strip(" \n\t*_"))
    if bare:
        return _decided([float(bare[1])], text, scale)
    return _decided(statements.find(text, scale, aspect.replace("_", " ")), text, scale)


def parse_all(texts, form="form", scale=(1, 5), *, key="", options=None, aspect="", policy="nan"):
    """Parse many replies; equal replies are read once.

    Readings of many are kept below `data/cache/readings/`, by the replies' digests and the source of this package's
    readings, so that the next notebook that reads a recording finds them.

    Parameters
    ----------
    texts : sequence of str
    form, scale, key, options, aspect
        As for `parse`.
    policy : {"nan", "leading_or_0", "store_3", "drop", "first_digit", "first_digit_or_0"}
        What an unparsed reply counts as. `nan`, the default, says so. The others repeat
        upstream's scripts: G-Eval's takes a number at the start, after one blank at most, else 0, and checks no range;
        AltTest's stores 3; `drop` leaves the row out; Chiang and Lee's two take the first digit after the last
        "rating:", else NaN (`first_digit`) or 0 (`first_digit_or_0`), and check no range.

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
        raise ValueError(f"policy={policy!r}: expected one of {', '.join(POLICIES)}")
    texts = pd.Series(texts)
    replies = texts.tolist()
    distinct = list(dict.fromkeys(replies))
    if policy in _OWN_READING:
        known = {text: _OWN_READING[policy](text) for text in distinct}
    else:
        known = _readings(distinct, form, scale, key, options, aspect)
    frame = pd.DataFrame(
        [known[text] for text in replies], columns=["score", "reason"], index=texts.index
    )
    if policy == "store_3":
        frame["score"] = frame["score"].fillna(3.0)
    if policy == "drop":
        frame = frame.dropna(subset=["score"])
    return frame


def _readings(texts, form, scale, key, options, aspect):
    """What `parse` says of each text; read back where there are many and an earlier run has kept them."""
    kept = None
    strings = [text for text in texts if isinstance(text, str)]
    if form in _IN_WORDS and len(strings) >= _KEPT_FROM and _source():
        asked = form, *map(float, scale), aspect, _source()
        try:
            kept = cached.scores(_numbered, strings, *asked, folder="readings", parallel=False)
        except OSError:  # there is no folder to keep them in
            kept = None
    if kept is None:
        return {
            text: parse(text, form, scale, key=key, options=options, aspect=aspect)
            for text in texts
        }
    known = {
        text: Score(score, REASONS[int(reason)])
        for text, (score, reason) in zip(strings, kept.tolist())
    }
    return known | {text: parse(text, form, scale) for text in texts if not isinstance(text, str)}


def _numbered(texts, form, low, high, aspect, source):
    """Score and position of the reason of each text."""
    read = [parse(text, form, (low, high), aspect=aspect) for text in texts]
    return [(score, REASONS.index(reason)) for score, reason in read]


@cache
def _source():
    """Digest of all that decides how a reply is read; empty where there are no source files."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    if not files:
        return ""
    content = b"".join(file.name.encode() + file.read_bytes() for file in files)
    return hashlib.sha256(content + sys.version.encode()).hexdigest()


def _leading(text):
    """As G-Eval's script (`meta_eval_summeval.py`): a number at the start, at most a blank before it, else 0."""
    found = re.match(r" ?([\d.]+)", text or "")
    try:
        return Score(float(found[1]))
    except (TypeError, ValueError):  # nothing found, or dots alone
        return Score(0.0, "no_rating")


def _first_digit(text):
    """As Chiang and Lee's `meta_eval_summeval.py`: the first digit after the last "rating:".

    Their pattern allows a number of two digits or with a decimal. A second pattern then puts blanks between its
    characters, so that one digit is left. The range "1-3" of the question is taken out before.
    """
    said = (text or "").lower().replace("\n", " ").replace("1-3", " ").rpartition("rating:")[2]
    found = re.search("[0-9]", said)
    return Score(float(found[0])) if found else Score(math.nan, "no_rating")


def _first_digit_or_0(text):
    """As Chiang and Lee's `all_eval.py`, which is otherwise the same."""
    read = _first_digit(text)
    return Score(0.0, read.reason) if read.reason else read


# Policies that read every reply by a rule of their own.
_OWN_READING = {
    "leading_or_0": _leading,
    "first_digit": _first_digit,
    "first_digit_or_0": _first_digit_or_0,
}


def _decided(readings, text, scale=None):
    """One score from different readings of a reply: ratings, or reasons why there is doubt.

    `text` tells a refusal from a reply without a rating.
    """
    if not readings:
        return Score(math.nan, "refusal" if _REFUSAL.search(text.lower()) else "no_rating")
    if len(readings) > 1:
        return Score(math.nan, "ambiguous")
    reading = readings[0]
    if isinstance(reading, str):
        return Score(math.nan, reading)
    if scale is not None and is_share_of_one(reading, scale):
        return Score(math.nan, "other_scale")
    if scale is not None and not scale[0] <= reading <= scale[1]:
        return Score(math.nan, "out_of_range")
    return Score(reading)


# ---- Yes or no ------------------------------------------------------------------------------------------

# "Yes", "**No**, all is supported", "Answer: yes"; not "no idea", "yes and no"
_YES_NO = re.compile(
    r"""
    (?: \A \W* (?: answer \W{1,20} )? | \b answer \b \W{1,20} (?: is \W{1,20} )? )
    (?P<word> yes | no ) \b
    (?! \W{1,5} (?: idea | way | rating | answer | comment | summary | text ) \b )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_YES_AND_NO = re.compile(r"\b(?:yes|no)(?:\W{0,3}(?:and|or|/)\W{0,3})(?:yes|no)\b", re.IGNORECASE)


def _yes_no(text):
    if _YES_AND_NO.search(text):
        return Score(math.nan, "ambiguous")
    words = {match["word"].lower() for match in _YES_NO.finditer(text)}
    return _decided([float(word == "yes") for word in words], text)


# ---- JSON -----------------------------------------------------------------------------------------------

# Where no key is given and an object holds several numbers, the one of such a name is the rating.
_RATING_NAMES = (
    "score",
    "rating",
    "overall",
    "overall_score",
    "overall score",
    "final_score",
    "final score",
)


class _Pairs(list):
    """The pairs of a JSON object, so that a name given twice is seen twice."""


def _json(text, scale, key):
    start = text.find("{")
    end = text.rfind("}")
    if start < 0 or end < start:
        return Score(math.nan, "not_json")
    try:
        pairs = json.loads(text[start : end + 1], object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        # No JSON; or an integer of more than 4,300 digits, or nested too deeply to be read.
        return Score(math.nan, "not_json")
    numbers = _numbers(pairs)
    if key:
        numbers = [(names, value) for names, value in numbers if key.lower() in names]
    elif len(numbers) > 1:
        named = [(names, value) for names, value in numbers if names[-1] in _RATING_NAMES]
        numbers = named or numbers
    # A NaN differs from itself: as a string it does not.
    values = {str(value): value for _, value in numbers}
    return _decided(list(values.values()), "", scale)


def _numbers(pairs):
    """Numbers of an object and of those within it, each with the names that lead to it, in lower case.

    A number in quotation marks is one, too; an integer too large for a float is infinite.
    """
    found = []
    waiting = [((), pairs)]
    while waiting:
        outer, value = waiting.pop()
        if isinstance(value, _Pairs):
            waiting += [((*outer, name.lower()), inner) for name, inner in reversed(value)]
        elif isinstance(value, str):
            quoted = _BARE.fullmatch(value.strip())
            found += [(outer, float(quoted[1]))] if quoted else []
        elif isinstance(value, int | float) and not isinstance(value, bool):
            try:
                found.append((outer, float(value)))
            except OverflowError:
                found.append((outer, math.inf))
    return found
