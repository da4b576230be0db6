"""Read the choice of an option that the protocol letters: "B", "B. Fair", "(b)", "The answer is B", "Fair".

A letter counts where the reply gives it as its answer; an option's own text counts where it is all that a
reply, a line or an answer says. Letter and text that contradict each other are `ambiguous`.
"""

import math
import re

from nlgjudge.judging.cleaning import plain

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def scored(options, scale):
    """Options as a dict from normalised text to score.

    Parameters
    ----------
    options : dict of str to float, or list of str
        Texts in the order of their letters; a list spreads the scale evenly, lowest first.
    scale : (float, float)

    Returns
    -------
    dict of str to float

    Raises
    ------
    ValueError
        Without options, with fewer than two or more than 26, with equal texts, with a score that is no
        number.

    Examples
    --------
    >>> scored(["poor", "fair", "good"], (1, 5))
    {'poor': 1.0, 'fair': 3.0, 'good': 5.0}
    """
    hint = 'give options={"text of A": 5, "text of B": 3, …} or a list of texts, lowest first'
    if not options or not 2 <= len(options) <= len(LETTERS):
        raise ValueError(
            f"form='choice' with {len(options or ())} options, expected 2 to 26: {hint}"
        )
    if isinstance(options, dict):
        texts = list(options)
        scores = [float(score) for score in options.values()]
    else:
        texts = list(options)
        step = (scale[1] - scale[0]) / (len(texts) - 1)
        scores = [scale[0] + step * index for index in range(len(texts))]
    texts = [_normalised(text) for text in texts]
    if len(set(texts)) < len(texts) or "" in texts:
        raise ValueError(
            f"form='choice' with empty or equal options, expected different texts: {hint}"
        )
    if not all(map(math.isfinite, scores)):
        raise ValueError(f"form='choice' with a score that is no number: {hint}")
    return dict(zip(texts, map(float, scores)))


def find(text, options):
    """The options that a reply chooses.

    Parameters
    ----------
    text : str
    options : dict of str to float
        From `scored`.

    Returns
    -------
    list of float or str
        Different readings: a score, or `ambiguous`. Empty where none is chosen.

    Examples
    --------
    >>> options = scored({"Good": 5, "Fair": 3, "Poor": 1}, (1, 5))
    >>> [find(reply, options) for reply in ("B", "Answer: (c) poor.", "Good", "B. Good", "Good question!")]
    [[3.0], [1.0], [5.0], ['ambiguous'], []]
    """
    text = plain(text)
    scores = list(options.values())
    texts = tuple(options)
    chosen = _final(text, texts) or _answered(text, texts) | _lines(text, texts)
    if None in chosen:
        return ["ambiguous"]
    return [scores[index] for index in sorted(chosen)]


# ---- Ways to choose -------------------------------------------------------------------------------------
# Each returns the chosen options by number, as a set; None is in it where letter and text differ.

_OPEN_MARKS = r"""["'(\[{]{0,3} [ ]?"""
_CLOSE_MARKS = r"""["')\]}]{0,3}"""
# What may follow a letter that is an answer; "A good summary" is none.
_AFTER_LETTER = r"""
    (?= [ ]? (?: $ | [.,:;!?)\](=-] ) | [ ] (?: because | since | as | for | due | with ) \b )
"""
_ASKED = r"""
    (?: answer | choice | choose | select | selected | selection | pick | verdict | rating | go [ ] with
      | opt [ ] for )
    (?: [ ]
        (?: is | would [ ] be | should [ ] be | the | to [ ] be | for [ ] \w{1,20} | option | choice
          | answer | letter )
    ){0,4}
    [ ]? (?: : | = )? [ ]? (?: option [ ] | choice [ ] )?
"""
# "final answer: B"
_FINAL = re.compile(rf"\b final [ ] {_ASKED} {_OPEN_MARKS}", re.VERBOSE | re.IGNORECASE)
# "the answer is (B)", "I would choose option B", "Option: B"
_ANSWER = re.compile(
    rf"\b (?: {_ASKED} | option : [ ]? ) {_OPEN_MARKS}", re.VERBOSE | re.IGNORECASE
)
_DENIED = re.compile(
    r"(?:\bnot|n't|\bnever|\bneither|\bcannot|\brather than|\binstead of)(?: [\w']{1,20}){0,3} ?\Z",
    re.IGNORECASE,
)
_LETTER = re.compile(
    rf"(?P<letter> [A-Z] | [a-z] (?= [)\]}}.:] | $ ) ) {_CLOSE_MARKS} {_AFTER_LETTER}",
    re.VERBOSE | re.MULTILINE,
)
# "B", "(b)", "B. Fair", "Option B: it repeats itself" on a line of its own
_LINE = re.compile(
    rf"^ (?: • [ ] )? (?: (?: option | choice ) [ ] )? {_OPEN_MARKS}",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_BEFORE_TEXT = re.compile(r"[\s\"'()\[\]{}.:;,=•-]{0,8}")
# What may follow an option's text that is an answer: "Fair.", "Fair - it repeats itself", "Fair because …"
_AFTER_TEXT = re.compile(
    r"""["')\]}]{0,3} ?(?:$|[.:;!(]|-|\b(?:because|since|as|for)\b)""", re.MULTILINE
)


def _final(text, texts):
    return _chosen(_FINAL, text, texts)


def _answered(text, texts):
    return _chosen(_ANSWER, text, texts)


def _chosen(pattern, text, texts):
    found = set()
    for match in pattern.finditer(text):
        if not _DENIED.search(text, max(0, match.start() - 60), match.start()):
            found |= _option_at(text, match.end(), texts)
    return found


def _lines(text, texts):
    """Lines that begin with an option; two and more repeat the list of options."""
    found = set()
    only = set()
    for match in _LINE.finditer(text):
        options = _option_at(text, match.end(), texts)
        found |= options
        end = text.find("\n", match.end())
        line = text[match.end() : end if end >= 0 else len(text)]
        if len(options) == 1 and len(_normalised(line)) == 1:
            only |= options
    if len(found) < 2:
        return found
    return only if len(only) == 1 and None not in found else set()


def _option_at(text, start, texts):
    """The option whose letter or text stands here, as a set; None is in it where the two differ."""
    letter = _LETTER.match(text, start)
    index = LETTERS.find(letter["letter"].upper()) if letter else -1
    if not 0 <= index < len(texts):
        named = _text_at(text, start, texts)
        return set() if named is None else {named}
    named = _text_at(text, _BEFORE_TEXT.match(text, letter.end()).end(), texts)
    return {index} if named in (None, index) else {None}


def _text_at(text, start, texts):
    """Number of the option whose text stands here as a whole, or None."""
    here = text[start : start + max(map(len, texts)) + 10].lower()
    for index in sorted(range(len(texts)), key=lambda index: -len(texts[index])):
        if here.startswith(texts[index]) and _AFTER_TEXT.match(text, start + len(texts[index])):
            return index
    return None


def _normalised(text):
    return plain(text).lower().strip(" \n\"'().:;,!•-")
