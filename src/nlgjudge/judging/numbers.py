"""Read a number of a reply: its value and the scale it names."""

import re

from nlgjudge.judging.cleaning import WORDS

# What names a rating, and what follows a label
KEY = r"(?: ratings? | scores? | grade | marks? | stars )"
COLON = r"""(?: ["'\]]{0,2} [ ]? (?: : | := | = | -> ) [ ]? )"""

# ---- One number and what belongs to it -----------------------------------------------------------------

WORD_VALUES = {word: float(value) for value, word in enumerate(WORDS)}
NUMBER = rf"(?: [-+]?[0-9]{{1,9}}(?:[.,][0-9]{{1,9}})? | (?:{'|'.join(WORDS)})\b )"

_UNIT = r"(?: [ -] (?: stars? | points? | pts ) \b )"
# "4/5", "4 out of a possible 5", "4 of 5.", "85%"
_HIGHEST = rf"""
    (?:
        [ ]? / [ ]? (?P<slash> {NUMBER} )
      | [ ]? \(? out [ ] of [ ]
        (?: an? [ ] | the [ ] )? (?: total [ ] of [ ] | possible [ ] | maximum [ ] (?: of [ ] )? )?
        (?P<out_of> {NUMBER} )
      | [ ] of [ ]
        (?: a [ ] (?: possible | maximum | total [ ] of ) [ ]
          | the [ ] (?= [a-z0-9]{{1,5}} [ ] (?: stars | points ) \b ) )?
        (?P<of> {NUMBER} )
        (?= [ ]? (?: $ | [.,;:!?)\]}}] (?! [0-9] ) ) | [ ] (?: stars? | points? ) \b )
      | (?P<percent> [ ]? % | [ ] percent\b )
    )
"""
# "-3", " to 3", " or maybe a 3", ", 3": a second number that makes the first one a range or a list
_SECOND = rf"""
    (?:
        (?:
            [ ]? (?: - | -> | \.{{2,3}} | & ) [ ]?
          | [ ] (?: to | or | through | and | vs\.? ) [ ]
          | , [ ] (?: or [ ] )?
        )
        (?: maybe [ ] | perhaps [ ] | even [ ] | possibly [ ] | an? [ ] )?
        (?P<upto> {NUMBER} )
        (?: [ ]? / [ ]? {NUMBER} )?
        {_UNIT}?
        (?= [ ]? (?: $ | [.,;:!?)\]}}"'] (?! [0-9] ) )
          | [ ] (?: out | stars? | points? | for | because | as | on | in ) \b
        )
    )
"""
# What must not follow, for it would make the number another thing: "3rd", "3:30", "3/5/2023", "3-2",
# "two-part", "60's", "2 of 7 facts", "3 to 5 facts".
_NOTHING_ELSE = rf"""
    (?! [\w%] )
    (?! [.,:] [0-9] )
    (?! [ ]? / )
    (?! - [0-9a-z] )
    (?! ' [a-z] )
    (?! [ ] of [ ] {NUMBER} )
    (?! [ ]? - [ ]? [0-9] )
    (?! [ ] (?: to | or ) [ ] (?: an? [ ] )? {NUMBER} )
"""
# "4", "-1", "4.5", "[[4]]", "four and a half", "3 stars", and with what `_HIGHEST` and `_SECOND` add
RATING = rf"""
    ["'(\[{{<]{{0,3}} [ ]?
    (?P<value> {NUMBER} )
    (?P<half> [ -]and[ -]a[ -]half | [ ]1/2 (?! [0-9/] ) )?
    ["'\]]{{0,2}}
    (?P<unit> {_UNIT} )?
    {_HIGHEST}?
    (?: [ ] possible (?= [ ] [ps] ) )? (?P<late_unit> {_UNIT} )?
    ["'\])}}>]{{0,3}}
    {_SECOND}?
    {_NOTHING_ELSE}
"""
# The number is complete, and does not count something ("3 sentences", "2 of the facts").
ENDED = r"""
    (?=
        [ ]? (?: $ | [.,;:!?)\]}>"'(-] )
      | [ ] (?: because | since | as | for | on | due | in [ ] terms | based | given | considering
              | overall | with
              | indicating | meaning | reflecting | but | so | which | while | although | though | or [ ] so
              | and | here | i | it | this | the | from [ ] me ) \b
    )
"""


def value_of(text):
    """Value of "4", "2,5" (a decimal comma), "1,200" (thousands), "four"."""
    if text in WORD_VALUES:
        return WORD_VALUES[text]
    whole, _, decimals = text.partition(",")
    if len(decimals) == 3:
        return float(whole + decimals)
    return float(text.replace(",", "."))


# Behind a rating: "(max. 5)", "(of 5)", "(1-5)"
_SCALE_BEHIND = re.compile(
    rf"""
    [ ]? [(|,;] [ ]?
    (?: max\.? | maximum | out [ ] of | of | / | {NUMBER} [ ]? (?: - | to ) )
    :? [ ]? (?: of [ ] )? (?P<top> {NUMBER} )
    [ ]? (?: \) | $ )
    """,
    re.VERBOSE | re.MULTILINE,
)
# Behind a rating: "(at best)", "or higher", "+", "?", ", grammar a 4".
_OPEN = re.compile(
    rf"""
    [ ]? \(? [ ]?
    (?: (?: [a-z]{{2,15}} [ ] )?? at [ ] (?: best | most | least )\b
      | , [ ] (?: (?: maybe | perhaps ) [ ] )?
        (?: bordering | verging | leaning | close | approaching | nearly | almost )
        (?: [ ] (?: on | to | towards? ) )? [ ] (?: an? [ ] )? [0-9]
      | (?: could | might | may ) [ ] (?: also [ ] )? be [ ] (?: an? [ ] )? {NUMBER}
      | for [ ] [a-z ]{{1,25}} , [ ] (?: and [ ] )? (?: none | another | one ) [ ] for \b
      | ,? [ ]? (?: minus | less | plus ) [ ] (?: an? | half | one | two | [0-9] )
      | or [ ] (?: higher | lower | more | less | above | below | better | worse | fewer )\b
      | \+
      | \?
      | [,;] [ ] (?: (?: and | but ) [ ] )? (?: [a-z]{{2,20}} [ ] ){{1,3}}
        (?: an? [ ] {NUMBER} | {NUMBER} / {NUMBER} ) (?= [.,;] | $ )
    )
    """,
    re.VERBOSE | re.MULTILINE,
)
# "> 3", "<= 4"; not "-> 3", "<b>3"
_BOUND = re.compile(r"(?:(?<![-=a-z\"'/])>|[<≤≥]) ?=? ?\Z")
# "4 stars (3/5)"
_BESIDE = re.compile(
    rf"[ ]? [(=] [ ]? (?P<beside> {NUMBER} ) [ ]? (?: / | out [ ] of ) [ ]? (?P<whole> {NUMBER} )",
    re.VERBOSE,
)
# Behind points: "1 point for grammar, 2 points off".
_SHARE = re.compile(r" (?:for|each|per|off|deducted|lost)\b")


def reading_of(match, scale):
    """What a match of `RATING` says.

    Returns
    -------
    float, str or None
        The rating; why there is none, where there is doubt; None where it is no rating at all.
    """
    value = value_of(match["value"]) + (0.5 if match["half"] else 0.0)
    if match["upto"]:
        # "1-5" is the scale itself, "3-1" a match's score; "2-3" is undecided.
        upto = value_of(match["upto"])
        played = (
            value > upto and match.string[match.end("value") : match.start("upto")].strip() == "-"
        )
        return None if played or (value, upto) == (scale[0], scale[1]) else "ambiguous"
    highest = 100.0 if match["percent"] else scale[1]
    named = match["slash"] or match["out_of"] or match["of"]
    if named:
        highest = value_of(named)
    if highest != scale[1] or is_share_of_one(value, scale):
        return "other_scale"
    behind = _SCALE_BEHIND.match(match.string, match.end())
    if behind and value_of(behind["top"]) != scale[1]:
        return "other_scale"
    start = match.start("value")
    bound = _BOUND.search(match.string, max(0, start - 4), start)
    in_angles = match.string.startswith(">", match.end("value"))
    if _OPEN.match(match.string, match.end()) or (bound and not in_angles):
        return "ambiguous"
    beside = _BESIDE.match(match.string, match.end())
    if beside and value_of(beside["whole"]) == scale[1] and value_of(beside["beside"]) != value:
        return "ambiguous"
    if "p" in (match["unit"] or match["late_unit"] or "") and _SHARE.match(
        match.string, match.end()
    ):
        return "ambiguous"
    return value


def is_share_of_one(value, scale):
    """Whether a number is one of 0 to 1 where 0 to 100 was asked: "0.85"."""
    return scale[1] >= 100 and scale[0] == 0 and 0 < value < 1


def has_highest(match):
    return bool(match["slash"] or match["out_of"] or match["of"] or match["percent"])


def has_stars(match):
    return "star" in (match["unit"] or "") + (match["late_unit"] or "")


# ---- Scales that a reply names --------------------------------------------------------------------------

_SPAN = rf"(?P<low> {NUMBER} ) [ ]? (?: - | to | and | through ) [ ]? (?P<high> {NUMBER} )"
_NAMED_SCALES = [
    # "on a scale of 1 to 10", "scale: 0-100"
    rf"\b scale (?: [ ] (?: of | from | between | is | ranges [ ] from ) | : )? [ ]? \(? {_SPAN} \b",
    # "a 1-10 scale"
    rf"\b {_SPAN} (?: [ ] (?: point | star | rating | likert ) )? [ ] scale \b",
    # "on a scale of 10"
    rf"\b (?: on | using | with | in | to ) [ ] (?: an? | the ) [ ] scale [ ] of [ ] (?P<high> {NUMBER} )"
    r" (?! [ ]? (?: - | to | and | through ) )",
    # "a 7-point scale"
    rf"\b (?P<levels> {NUMBER} ) [ -]? (?: point | pt | star )s?"
    r" (?: [ ] (?: likert | rating ) )? [ ] scale\b",
    # "out of 10, i would say 6"
    rf"\b out [ ] of [ ] (?P<high> {NUMBER} ) ,? [ ] (?: i | i'd | we | my | this | it )"
    rf" (?: [ ] [a-z][\w'-]{{0,20}} ){{0,6}}? [ ] {NUMBER} (?! [\w/] )",
]
_NAMED_SCALES = [re.compile(pattern, re.VERBOSE) for pattern in _NAMED_SCALES]
# "(1-10)", "(out of 10)", "(/10)", "(max 10)" behind a label
_BRACKETED_SCALE = re.compile(
    rf"{_SPAN} | (?: out [ ] of | / | max\.? | maximum ) [ ]? (?P<top> {NUMBER} )",
    re.VERBOSE,
)


def names_another_scale(text, scale):
    """Whether a cleaned reply says that it rates on a scale which is not ours: "on a scale of 1 to 10"."""
    if "scale" not in text and "out of" not in text:
        return False
    for pattern in _NAMED_SCALES:
        for match in pattern.finditer(text):
            named = match.groupdict()
            if named.get("levels"):
                if value_of(named["levels"]) not in (scale[1], scale[1] - scale[0] + 1):
                    return True
            elif named.get("low"):
                if _ends_differ(named["low"], named["high"], scale):
                    return True
            elif value_of(named["high"]) != scale[1]:
                return True
    return False


def label_names_another_scale(match, scale):
    found = _BRACKETED_SCALE.search(match["bracket"] or "")
    if not found:
        return False
    if found["top"]:
        return value_of(found["top"]) != scale[1]
    return _ends_differ(found["low"], found["high"], scale)


def _ends_differ(low, high, scale):
    """Whether the two ends that a reply names, in either order, are not those of our scale."""
    return {value_of(low), value_of(high)} != {float(scale[0]), float(scale[1])}


# "(bad), 2 (fair)", "= bad; 2 = fair": the scale's options one after the other
OPTIONS = re.compile(
    rf"""
    (?: [ ] (?: points? | stars? ) )?
    [ ]? (?: = | : | - | \( | \. | means\b | is\b )
    [^0-9\n]{{1,60}} [,;\n] [ ]?
    (?: (?: and | or ) [ ] )?
    (?: • [ ] )?
    {NUMBER} (?: [ ] (?: points? | stars? ) )? [ ]? (?: = | : | - | \( | \. | means\b | is\b )
    """,
    re.VERBOSE,
)


def holds(text, *words):
    return any(word in text for word in words)


def verbose(*parts):
    return re.compile("".join(parts), re.VERBOSE | re.MULTILINE)
