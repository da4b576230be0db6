"""Find the rating that a reply states in words: by a label, in a sentence, in stars, as a bare number.

A reply is cleaned and rid of asides, then read in tiers, from the clearest way of stating a rating to the
least clear; the first tier that states one decides. Statements that contradict each other are never weighed,
nor is a second thought: the reply is `ambiguous`. Every repetition in a pattern is bounded, so that the time
to read a reply grows with its length and no faster.
"""

import re

from nlgjudge.judging import asides, remaining, tiers
from nlgjudge.judging.asked import parts
from nlgjudge.judging.cleaning import ANY_NUMBER, drawn_stars, excerpt, plain, tidy
from nlgjudge.judging.numbers import (
    COLON,
    KEY,
    RATING,
    holds,
    names_another_scale,
    value_of,
    verbose,
)


def find(text, scale, aspect=""):
    """Read the rating that a reply states.

    Parameters
    ----------
    text : str
    scale : (float, float)
    aspect : str
        The one that was asked; of a reply that rates several its rating counts.

    Returns
    -------
    list of float or str
        Different readings, several where they contradict each other: a rating, which may lie outside of the
        scale, or why there is doubt (`ambiguous`, `other_scale`, `refusal`). Empty where none is stated.

    Examples
    --------
    >>> find("Rating: 4", (1, 5)), find("A score of 2. Rating: 4", (1, 5)), find("It has 2 errors", (1, 5))
    ([4.0], [2.0, 4.0], [])
    """
    plainly = _plainly(text)
    if plainly is not None:
        return [plainly]
    numbered = _excerpt(text, scale)
    found = tiers.result(numbered, scale) if "[result" in numbered else []
    if found:
        found += _concluded(numbered, scale)
    elif aspect:
        found = _of_aspect(text, scale, aspect)
    found = found or _find(numbered, scale, aspect)
    if found and names_another_scale(numbered, scale):
        return ["other_scale"]
    if found and _declined(text):
        return ["refusal"]
    found = _reconsidered(text, found, scale, aspect)
    if found and scale[1] <= tiers.MOST_STARS and not (aspect and parts(text, aspect)):
        found += _single(drawn_stars(text))
    return sorted(set(found), key=str)


def _excerpt(text, scale):
    return asides.without(excerpt(text), scale)


def _of_aspect(text, scale, aspect):
    """Readings of what a reply says about the aspect that was asked; empty where it names no other."""
    found = set()
    own = parts(text, aspect)
    for part in own:
        found |= set(_find(_excerpt(part, scale), scale, aspect))
    if found and "\n" in text:
        # "Coherence: 4\nFluency: 3\nRating: 2": whose the last one is, nobody said.
        found |= set(_single(tiers.unnamed(_excerpt(text, scale), scale)))
    return list(found)


def _find(text, scale, aspect=""):
    """Readings of the tier that decides, of an excerpt without asides."""
    if scale[1] > tiers.MOST_STARS and "star" in text:
        # Nobody rates with a hundred stars: "a hotel with 4 stars".
        found = _read(asides.without_stars(text), scale, aspect)
        return found or ["other_scale" for _ in _read(text, scale, aspect)[:1]]
    return _read(text, scale, aspect)


def _single(readings):
    """The readings, where they are all the same: different ones are a breakdown."""
    return readings if len(set(readings)) == 1 else []


def _read(text, scale, aspect):
    """As `_find`, where stars may be a rating."""
    final = tiers.final(text, scale)
    if final:
        final += _single(tiers.unnamed(text, scale)) + _single(tiers.alone(text, scale))
        if "final" in text:
            return final
        # "Coherence: 2. Overall: 4" has one part and a whole, and nobody said which was asked for.
        return final + _single(tiers.aspects(text, scale, aspect))
    single = len(ANY_NUMBER.findall(f" {text}")) == 1
    named = []
    for tier in (tiers.labelled, tiers.next_line, tiers.in_sentence, tiers.given):
        named += tier(text, scale)
        if named and single:
            return named  # nothing is left that could contradict it
    if named:
        # A list of parts is a breakdown; a single one, or a single bare number, is a second statement.
        return (
            named + _single(tiers.aspects(text, scale, aspect)) + _single(tiers.alone(text, scale))
        )
    found = tiers.aspects(text, scale, aspect)
    if found:
        return found + [reading for reading in _single(tiers.alone(text, scale)) if "star" in text]
    for tier in (tiers.mentioned, tiers.alone, tiers.at_the_end, tiers.at_the_start):
        found = tier(text, scale)
        if found:
            return found
    return remaining.find(text, scale)


# ---- Contradictions -------------------------------------------------------------------------------------

_CONCLUSION = re.compile(
    r"(?:\A|[.;:!?⋯\n] ?)(?:so|therefore|thus|hence|overall|in conclusion|consequently|accordingly|based on|"
    r"i would|i'd|i give|i rate|my|for (?:this|these|that)|as (?:such|a result)|given)\b[^\n]{0,300}"
)


def _concluded(text, scale):
    """What the feedback before "[RESULT] 4" concludes: its other numbers are the rubric's."""
    feedback = text[: text.index("[result")]
    found = tiers.final(feedback, scale) + tiers.labelled(feedback, scale)
    for conclusion in _CONCLUSION.finditer(feedback):
        found += tiers.in_sentence(conclusion[0], scale) + tiers.given(conclusion[0], scale)
    return found


_SECOND_THOUGHT = re.compile(
    r"\b(?:wait\b(?! for| until| to\b)|on (?:second thoughts?|reflection)|upon (?:reflection|re-?reading)|"
    r"hm{1,4}\b|scratch that|correction\b ?[:,-]|let me (?:reconsider|re-?read|re-?think|re-?evaluate|revise|correct)|"
    r"i (?:need|have|want) to (?:reconsider|re-?read|re-?think|revise)|i take (?:that|it) back|"
    r"chang(?:ed|ing) my mind|not (?:so |quite |entirely |completely )?(?:certain|sure)|then again|"
    r"i (?:will |'ll )?(?:revise|reconsider)|or (?:maybe|perhaps|rather)\b|(?<=[.!?;\n] )actually,|(?<=\n)actually,|"
    r"actually,? (?:i\b|i'd|it's|make|that's|an?\b|maybe|more like|no\b|let))"
)
_ANOTHER = verbose(
    r"(?: \A | [.?!:;,⋯\n(] | \b (?: maybe | perhaps | so | an? | to | it | be | is | of | at | say | than | now | as"
    r" | rather | like | deserves ) ) [ ]? (?<! [\d] [.,] ) (?= [^\n] )",
    RATING,
    r"(?= [ ]? (?: $ | [.?!,;:)] | - [ ] ) | [ ] (?: because | since | as | for | instead | is | would | seems | given"
    r" | or | after | here ) \b )",
)


def _reconsidered(text, found, scale, aspect):
    """The readings after a second thought: in "Rating: 4. Wait, it says 34. Maybe 3." there is doubt."""
    if not found:
        return found
    text = plain(text).lower()
    thought = _SECOND_THOUGHT.search(text)
    if not thought or not ANY_NUMBER.search(text, thought.end()):
        return found
    later = _excerpt(text[thought.end() :], scale)
    if "final" in later:
        final = tiers.final(later, scale)
        if final:
            return final
    before = _find(_excerpt(text[: thought.start()], scale), scale, aspect)
    values = {value_of(match["value"]) for match in _ANOTHER.finditer(later) if not match["upto"]}
    values = {value for value in values if scale[0] <= value <= scale[1]}
    return ["ambiguous"] if before and values - set(before) else found


_DECLINED = verbose(
    r"\b",
    KEY,
    r"(?: [ ]? \( [^()\n]{0,60} \) )?",
    COLON,
    r"(?: n/a | not [ ] applicable | none | unknown ) \b",
)


def _declined(text):
    """Whether the rating is withheld where it belongs, as in "Rating: N/A"."""
    text = text.lower()
    return holds(text, "n/a", "not applicable", "none", "unknown") and bool(
        _DECLINED.search(tidy(text))
    )


_ONE_LABEL = re.compile(r"(?:Rating|Score): ?([0-9]{1,9}(?:\.[0-9]{1,9})?)[ .]*")


def _plainly(text):
    """The rating of a reply with one number, on a line "Rating: 4": as the tiers say, in less time."""
    if not text.isascii() or ">" in text:
        return None
    start = text.find("Rating: ")
    if start < 0:
        start = text.find("Score: ")
    if start < 0 or (start > 0 and text[start - 1] != "\n"):
        return None
    end = text.find("\n", start)
    label = _ONE_LABEL.fullmatch(text, start, end if end >= 0 else len(text))
    if not label:
        return None
    for rest in (text[:start], text[label.end() :]):
        if ANY_NUMBER.search(" " + rest.lower()):
            return None
    return float(label[1])
