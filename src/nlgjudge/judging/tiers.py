"""The ways in which a reply states a rating: by a label, in a sentence, in stars, as a bare number.

Each function reads one way. It takes an excerpt (`nlgjudge.judging.cleaning.excerpt`) and the scale, and
returns what `nlgjudge.judging.numbers.reading_of` says of each statement that it finds. Every repetition in a
pattern is bounded, so that the time to read a reply grows with its length and no faster.
"""

import re

from nlgjudge.judging.asked import ASPECT_WORD
from nlgjudge.judging.cleaning import ANY_NUMBER, LEFT_OUT, WORDS, bounds
from nlgjudge.judging.meant import COMPARED, counts, sentence_reading
from nlgjudge.judging.numbers import (
    COLON,
    ENDED,
    KEY,
    OPTIONS,
    RATING,
    WORD_VALUES,
    has_highest,
    has_stars,
    holds,
    label_names_another_scale,
    reading_of,
    verbose,
)

_WEAK_KEY = (
    r"(?: answer | evaluation | verdict | assessment | result | judge?ment | conclusion | response"
    r" | choice | selection | selected | pick | as [ ] (?: is | it [ ] (?: is | stands ) ) )"
)
_BRACKET = r"(?: [ ]? \( (?P<bracket> [^()\n]{0,60} ) \) )?"
_HEDGE = r"""
    (?:
        (?: an? | only | just | about | around | approximately | roughly | probably | likely | thus
          | therefore ) [ ]
    ){0,2}
"""
_IS = r"(?: of | is | as | at | (?: (?: to | would | should | will ) [ ] )? be )"
# Labels that hold these words name the scale or another number: "Maximum score: 5".
_NO_RATING_LABEL = re.compile(
    r"\b(?:scales?|ranges?|options?|possible|criteria|criterion|max(?:imum)?|min(?:imum)?|highest|lowest|"
    r"guide(?:lines?)?|rubric|previous|threshold|weight|passing|example|steps?|legend|definitions?|number|count|"
    r"half-?time|full-?time|match|game|goals?|reference|human|other|initial|test|allowed|valid|from)\b"
)


MOST_STARS = 10  # the longest scale that is rated in stars

_RESULT = verbose(
    r"\[ [ ]? result [ ]? (?: \] [ ]? :? | : ) \s? (?: (?: score | rating ) [ ]? :? [ ]? )?", RATING
)


def result(text, scale):
    """As Prometheus gives it, behind its feedback: "[RESULT] 4"."""
    return _known([reading_of(match, scale) for match in _RESULT.finditer(text)])


_FINAL = verbose(
    r"""
    \b (?: final | overall )
    (?:
        (?: [ ] [\w'-]{1,20} ){0,2} [ ] """,
    KEY,
    r"""
      | [ ] (?: quality | impression | evaluation | assessment | verdict | judge?ment | answer
              | result | value )
    )?
    """,
    _BRACKET,
    r"(?: ",
    COLON,
    r" | [ ] - [ ] | [ ] (?= [0-9.]{1,5} [ ]? / ) | (?P<spoken> [ ] ",
    _IS,
    r" [ ] ) )",
    _HEDGE,
    RATING,
)


def final(text, scale):
    """Called final or overall: "Final score: 3", "my overall rating is a 4", "Overall: 4/5"."""
    if "final" not in text and "overall" not in text:
        return []
    found = _stated(_FINAL, text, scale)
    if found and all(match["spoken"] for match in _FINAL.finditer(text)):
        # "The final score is 4" may be a match's: a labelled rating has to agree.
        found += labelled(text, scale)
    return found


_LABELLED = verbose(
    r"\b",
    KEY,
    r"\b",
    r"(?: [ ] (?! (?: is | of | as | was ) \b ) [a-z][\w'/-]{0,20} ){0,5} ",
    _BRACKET,
    COLON,
    _HEDGE,
    RATING,
)
# Words that label other things as well, so that the number has to be complete: "Answer: 4."
_WEAKLY_LABELLED = verbose(
    r"(?: ^ | (?<= [.;!?⋯] [ ] ) ) (?: • [ ] )? (?: (?: the | my | your ) [ ] )?",
    _WEAK_KEY,
    _BRACKET,
    "(?: ",
    COLON,
    " | [ ] is [ ] )",
    RATING,
    ENDED,
)


def labelled(text, scale):
    """After its label: "Rating: 4", "the score for coherence (1-5): 3", "… ends abruptly. Score: 2"."""
    found = _stated(_LABELLED, text, scale) if holds(text, ":", "=", "->") else []
    return found + _stated(_WEAKLY_LABELLED, text, scale)


_UNNAMED = verbose(
    r"(?: ^ | (?<= [.;!?⋯] [ ] ) ) (?: • [ ] )? (?: (?: the | my | your ) [ ] )? (?: rating | score | grade )",
    _BRACKET,
    COLON,
    _HEDGE,
    RATING,
)


def unnamed(text, scale):
    """After a label that names nothing, at the start of a line or sentence: "Rating: 4"."""
    return _stated(_UNNAMED, text, scale)


_NEXT_LINE = verbose(
    r"^ (?: • [ ] )? (?: [\w'/&-]{1,20} [ ] ){0,4}? ",
    KEY,
    r" (?: [ ] [\w'-]{1,20} ){0,3} ",
    _BRACKET,
    r" [ ]? :? \n (?: • [ ] )? ",
    RATING,
    r" [ ]? [.]? $ (?! \n (?: • [ ] )? [-+0-9.,]{1,9} $ )",  # and no list of numbers
)


def next_line(text, scale):
    r"""On the line after its label, alone: "Rating:\n4"."""
    return _stated(_NEXT_LINE, text, scale)


_IN_SENTENCE = verbose(
    r"\b (?: mine | ",
    KEY,
    ")",
    # "for the coherence of this text"
    r"(?: [ ] (?: for | of | on )",
    r"    (?: [ ] (?! (?: is | as | at | of |",
    "|".join(WORDS),
    r") \b ) [a-z][a-z'-]{0,20} ){1,6}",
    r")? [ ]",
    _IS,
    r" :? [ ] ",
    _HEDGE,
    RATING,
)
_ADJOINED = verbose(
    r"\b (?: score | rating ) [ ] (?: - [ ] )? ",
    RATING,
    r" (?= [ ]? (?: $ | [.,;)] | - [ ] ) )",
)


def in_sentence(text, scale):
    """In a sentence with its name: "earning a score of 3", "the rating is 4", "disfluency, score 2."."""
    found = _stated(_IN_SENTENCE, text, scale, sentence=True)
    return found + _stated(_ADJOINED, text, scale, sentence=True)


_GIVEN = verbose(
    r"""
    \b
    (?P<verb>
        (?: i | we | i'd | we'd | would | i'll | will | let [ ] me | can | to )
        (?: [ ] (?: would | will | have | had | to | must | can | therefore | thus | also | then
                  | only | just )
        ){0,2}
        [ ] (?: rated? | scored? | graded? | give | gave | given | assign | assigned | award | awarded | say
              | evaluate | choose | chose | select | selected | pick | picked | go [ ] with
              | went [ ] with | put )
      | (?: is | be | being ) [ ] (?: rated | scored | graded | given | awarded | assigned )
      | (?: giving | rating | assigning | awarding ) (?= [ ] [a-z] ) | making [ ] it
      | (?P<earned> (?: get | receive | deserve | earn | merit | warrant )s? | scores
                  | getting | receiving | deserving | earning | scoring
                  | (?: it's | it [ ] is | this [ ] is | that's | that [ ] is )
                    (?= [ ] (?: about [ ] | clearly [ ] | probably [ ] )? an? [ ] ) )
    )
    (?P<gap> (?: [ ] (?! [0-9.]+ \b ) [\w'-]{1,20} ){0,8}? )
    :? [ ]
    """,
    RATING,
    ENDED,
)
# What stands right before the number: "rate it 4", "a 4", "rate its coherence 4".
_JOINS = re.compile(
    r"""
    (?: ^ | [ ] )
    (?: an? | as | at | of | with | it | this | that | them | only | just | about | around | solid
      | strong | full
      | perfect | summary | response | text | story | ending | answer | reply | output | translation
      | dialogue
      | quality | [a-z]{3,20} (?: ness | ity | ence | ance | ency | acy ) )
    \Z
    """,
    re.VERBOSE,
)
# "The reference deserves a 5", "the other summary gets a 4"
_OTHERS = re.compile(
    r"\b(?:other|another|reference|previous|critics?|reviewers?|annotators?)(?: [a-z]{1,20})? (?:would )?\Z"
)
_ARTICLE = re.compile(r"(?:^| )(?:an?|as|of|at|solid|strong|perfect|full)\Z")


def given(text, scale):
    """With a verb: "I would rate this summary a 4", "it deserves a 2.", "give it three out of five"."""
    found = []
    for match in _GIVEN.finditer(text):
        reading = sentence_reading(match, scale)
        if reading is None:
            continue
        if match["earned"] and _OTHERS.search(text, max(0, match.start() - 40), match.start()):
            continue
        gap = match["gap"]
        whole = has_highest(match) or has_stars(match)
        if COMPARED.search(gap):
            reading = "ambiguous"
        elif not whole:
            if gap and not _JOINS.search(gap):
                continue
            if match["earned"] and not _ARTICLE.search(gap):
                continue  # "Kane scores 4"
            if match["value"] in WORD_VALUES and not _ARTICLE.search(gap):
                continue  # "rate this one"
        found.append(reading)
    return found


_ASPECT = verbose(
    r"""
    (?: ^ | (?<= [.:;,⋯] [ ] ) | (?<= [ ] \( ) )
    (?: • [ ] )?
    (?: \(? (?: [0-9]{1,2} | [a-h] ) [.)] [ ] )?
    ["'\[{(]{0,2}
    (?P<label> [a-z][a-z'/&-]{1,24} (?: [ ] [a-z'/&-]{1,24} ){0,4} )
    """,
    _BRACKET,
    "(?: ",
    COLON,
    r" | [ ] - [ ] )",
    RATING,
    ENDED,
)
# Labels whose number counts, dates or orders something.
_NO_ASPECT_LABEL = re.compile(
    r"""
    \b
    (?: absences? | attendance | audience | balance | claims? | confidence | counts? | criteria | criterion
      | currency | distance | errors? | evidence | examples? | facts? | figures? | frequency | guide | highest
      | inaccuracy | inaccuracies | inconsistency | inconsistencies | instances? | issues? | items? | length
      | level | lines? | lowest | max | maximum | mentions? | min | minimum | minutes? | mistakes? | note
      | numbers? | occurrences? | omissions? | options? | paragraphs? | parts? | points?
      | possible | previous | problems? | quantity | questions? | ranges? | rank
      | redundancies | references? | repetitions? | rubric | samples? | scales? | sections?
      | sentences? | steps? | system | threshold | tokens? | total | turns?
      | typos? | violations? | weights? | words? )
    \b
    """,
    re.VERBOSE,
)


# Labels of a rating which is the whole reply, beside the names of aspects
_RATING_LABEL = re.compile(
    r"\b(?:rat|scor|grad|mark|evaluat|answer|judg|assess|verdict|output|response|stars?|value|result|conclu|number of)"
    r"|\b(?:very|slightly|somewhat|mostly|partially|partly|fully|highly|moderately|good|fair|poor|bad|excellent)\b"
)


def aspects(text, scale, aspect=""):
    """After an aspect's name: "- Coherence: 4", "Coherence (1-5): 3", "1. Fluency: 2".

    The asked aspect is one, whatever its name; so is a word of rating where label and number are the whole reply.
    """
    found = []
    one_line = "\n" not in text and LEFT_OUT not in text
    for match in _ASPECT.finditer(text):
        label = match["label"]
        if _NO_ASPECT_LABEL.search(label):
            continue
        if OPTIONS.match(text, match.end()):
            continue
        whole = one_line and match.start() == 0 and match.end() >= len(text) - 1
        known = ASPECT_WORD.search(label) or (aspect and aspect.lower() in label)
        if not known and not (whole and _RATING_LABEL.search(label)):
            continue
        reading = (
            "other_scale" if label_names_another_scale(match, scale) else reading_of(match, scale)
        )
        if reading is not None:
            found.append(reading)
    return found


_MENTIONED = verbose(r"(?<! [\w/.,:-] ) (?<! [0-9] [ ] )", RATING)
# A fraction or stars end a thought, or a reason follows: "4/5 because", "3 stars for its".
_CLOSED = re.compile(
    r"""
    [ ]?
    (?: \Z
      | [\n.,;:!?)\]"'(-]
      | \b (?: because | since | as | for | due | in [ ] terms | based | given | overall | but | so | here
              | is [ ] (?: fair | appropriate | apt | right | reasonable | justified | suitable
                         | warranted ) ) \b
    )
    """,
    re.VERBOSE,
)
# "a 4-star summary", "5-star work"
_STARRED_NOUN = re.compile(
    r" (?:work|summary|response|text|story|ending|answer|reply|rating|review|score|evaluation|quality|level|"
    r"sentence|effort|attempt|job|description|translation|dialog(?:ue)?|utterance|piece|passage|paragraph|output|"
    r"affair|read|write-up|writing|verdict|material|performance|opening|plot|conclusion|overall|"
    r"and|to|it|this|the|i|on)\b"
)
# "covers 3 out of 5.": what comes before a count
_COUNTING = re.compile(
    r"\b(?:covers?|mentions?|names?|includes?|contains?|has|have|misses|omits?|gets|answers?|first|last|all|than|"
    r"won|wins?|by|beat|lost|drew|leads?|led|were|was|page|figure|facts?|chapter|section)(?: \w{1,20})? ?\Z"
)


def mentioned(text, scale):
    """A fraction of the highest rating or stars: "… on the whole 3/5.", "Three and a half stars"."""
    if "/" not in text and "out of" not in text and "star" not in text:
        return []
    found = []
    for match in _MENTIONED.finditer(text):
        fraction = has_highest(match)
        stars = has_stars(match)
        if not fraction and not stars:
            continue
        closed = match[0].endswith(")") or _CLOSED.match(text, match.end())
        if not closed and not (stars and _STARRED_NOUN.match(text, match.end())):
            continue
        if _COUNTING.search(text[max(0, match.start() - 40) : match.start("value")]):
            continue
        reading = sentence_reading(match, scale)
        if reading is not None:
            found.append(reading)
    return found


_ALONE = verbose(r"^ (?P<mark> • [ ] )? ", RATING, r" [ ]? [.!]? $")


def alone(text, scale):
    """On a line of its own: "4", "**3/5**", "- 2"."""
    found = []
    for match in _ALONE.finditer(text):
        reading = reading_of(match, scale)
        if match["mark"] and "p" in (match["unit"] or ""):
            reading = "ambiguous"  # "* 1 point": an entry of the scale's list
        if reading is not None:
            found.append(reading)
    return found


_AT_THE_END = re.compile(
    rf"""
    (?: {LEFT_OUT} | (?: [a-z)] ["')\]]{{0,3}} [ ]? | [0-9]{{2}} ) [.!?] ["')\]]{{0,3}} )
    [ \n] (?: - [ ] )?
    {RATING} [.]? \Z
    """,
    re.VERBOSE,
)
_AT_THE_START = re.compile(
    rf"""
    (?: • [ ] )? (?: (?: option | choice | category | level ) [ ] )? {RATING}
    (?: [ ]? (?P<sign> [.:),;(!] | - [ ] | \n )
      | (?P<because> (?= [ ] (?: because | since | as | or [ ] so | for | due ) \b ) )
    )
    (?P<second> [ ]? [-+]?[0-9] )?
    """,
    re.VERBOSE,
)
_NUMBERED_LINE = re.compile(r"^(?:• )?\(?[0-9]{1,2}[.)] ", re.MULTILINE)


def at_the_end(text, scale):
    """After the last sentence: "… on the sentence level. 5"."""
    match = _AT_THE_END.search(text, max(0, len(text) - 60))
    return _known([reading_of(match, scale)]) if match else []


def at_the_start(text, scale):
    """Before the first sentence: "3. The response …", "2 - it repeats itself"; "1. …" may begin a list."""
    match = _AT_THE_START.match(text)
    if not match:
        return []
    sign = match["sign"] or ""
    if match["value"] in WORD_VALUES and sign in (",", "(") and not has_stars(match):
        return []  # "One, two and three …"
    doubts = (
        match["second"],  # "1. 2"
        sign in (".", ")") and match["value"] == "1",  # "1. It …"
        text.startswith("•") and "p" in (match["unit"] or ""),  # "* 1 point: …"
        match["because"] is not None
        and ANY_NUMBER.search(text, match.end()),  # "1 for style, 3 for …"
        _NUMBERED_LINE.search(text, match.end()),
        OPTIONS.match(text, match.end("value")),
    )
    return ["ambiguous"] if any(doubts) else _known([reading_of(match, scale)])


# ---- Readings of a tier ---------------------------------------------------------------------------------


def _known(readings):
    return [reading for reading in readings if reading is not None]


def _stated(pattern, text, scale, *, sentence=False):
    """Readings of a tier's pattern, without those whose label names the scale."""
    found = []
    for match in pattern.finditer(text):
        groups = match.re.groupindex
        if "bracket" in groups and label_names_another_scale(match, scale):
            found.append("other_scale")
            continue
        left, _ = bounds(text, match.start(), match.end())
        clause = text.rfind(",", left, match.start()) + 1
        if _NO_RATING_LABEL.search(
            text, max(left, clause, match.start() - 30), match.start("value")
        ):
            continue
        if counts(match) or OPTIONS.match(text, match.end()):
            continue
        reading = sentence_reading(match, scale) if sentence else reading_of(match, scale)
        if reading is not None:
            found.append(reading)
    return found
