"""Find what a reply says about the aspect that was asked, where it rates several."""

import re

from nlgjudge.judging.cleaning import plain
from nlgjudge.judging.numbers import NUMBER, verbose

ASPECT_WORD = re.compile(
    r"""
    [a-z]{3} (?: ness | ility | ivity | arity | icity | uracy | acy | ence | ance | ency | ancy | ality ) \b
  | \b (?: quality | overall | grammar | style | tone | depth | flow | structure | coverage | focus | interest
         | appeal | logic | humou?r | detail | understanding | organi[sz]ation | spelling | novelty | utility
         | safety | brevity | originality | plot | truth | engagement | mechanics | formatting | clarity
         | factual | natural | coherent | relevant | fluent | consistent ) \b
    """,
    re.VERBOSE,
)
_LABEL = r"(?P<label> [a-z][a-z'/&-]{2,24} (?: [ ] [a-z'/&-]{1,24} ){0,3} )"
# "Coherence: …", "2. Fluency (1-5): …", "Relevance" on a line of its own, ", fluency 3/5"
_HEADING = verbose(
    r"(?: ^ | (?<= [,;.|/] [ ] ) ) (?: • [ ] )? (?: and [ ] )? (?: \(? [0-9a-h]{1,2} [.)] [ ] )?",
    r" [\"'\[{(]{0,2} ",
    _LABEL,
    r"[\"'\])}]{0,2} (?: [ ]? \( [^()\n]{0,60} \) )? (?= [ ]? (?: : | = | -> | $ ) | [ ] - [ ] | [ ] [0-9] )",
)
# "coherence a 4", "fluency is a 3"; "4 for coherence", "3/5 on fluency"
_WORD = r"(?: its [ ] | the [ ] )? (?P<label> [a-z]{4,20} )"
_PAIRS = [
    verbose(
        rf"\b {_WORD} [ ] (?: (?: rating | score | grade ) [ ] )?",
        r" (?: (?: i | we ) (?: [ ] would | 'd )? [ ] (?: put | rate | place | give | score ) [ ] (?: it [ ] )? )?",
        r" (?: (?: is | at | as | of | gets | would [ ] be ) [ ] )? (?: an? [ ] )?",
        rf" {NUMBER} (?: / {NUMBER} )? (?! [\w/] )",
    ),
    verbose(rf"(?<! [\w/.,-] ) {NUMBER} (?: / {NUMBER} )? [ ] (?: for | on | in ) [ ] {_WORD} \b"),
]
_FILLERS = (
    "score",
    "rating",
    "the",
    "evaluation",
    "level",
    "for",
    "grade",
    "assessment",
    "overall",
)
# Ends of words that leave their stem: "coherence" and "coherent", "engagingness" and "engaging"
_SUFFIX = re.compile(
    r"(?<=[a-z]{3})(?:ingness|iveness|fulness|edness|ness|ability|able|icality|ality|ivity|arity|icity|ity|ency|ence|"
    r"ent|ancy|ance|ant|acy|ate|ement|ment|ing|ive|al|ed|y|e)$"
)


def parts(text, aspect):
    r"""What a reply says about the aspect that was asked.

    Parameters
    ----------
    text : str
        A reply.
    aspect : str

    Returns
    -------
    list of str
        In lower case; empty where the reply names fewer than two aspects, or not this one.

    Examples
    --------
    >>> parts("Coherence: 4\nFluency: 3\nOverall: 4", "fluency")
    ['fluency: 3']
    >>> parts("A 4 for style, a 3 for flow.", "style")
    ['4 for style']
    >>> parts("Coherence: 4", "coherence")
    []
    """
    stem = _stems(aspect)
    if not stem or not any(part in text.lower() for part in stem):
        return []
    text = plain(text).lower()
    headings = [match for match in _HEADING.finditer(text) if ASPECT_WORD.search(match["label"])]
    ends = [match.start() for match in headings[1:]] + [len(text)]
    headed = []
    for match, end in zip(headings, ends):
        headed.append((match["label"], text[match.start() : end].strip(" \n,;")))
    ways = [headed]
    for pattern in _PAIRS:
        ways.append([(match["label"], match[0]) for match in pattern.finditer(text)])
    for named in ways:
        named = [(label, part) for label, part in named if ASPECT_WORD.search(label)]
        own = [part for label, part in named if _same(label, stem)]
        if own and len(own) < len(named):
            return own
    return []


def _same(label, stem):
    """Whether a label names the aspect of these stems."""
    words = _stems(label)
    if not words:
        return False
    return all(_meets(word, stem) for word in words) or all(_meets(word, words) for word in stem)


def _meets(word, others):
    return any(word.startswith(other) or other.startswith(word) for other in others)


def _stems(name):
    words = re.findall(r"[a-z]{3,}", name.lower())
    words = [word for word in words if word not in _FILLERS] or words
    return [_SUFFIX.sub("", word) for word in words]
