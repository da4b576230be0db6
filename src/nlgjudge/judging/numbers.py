"""Read a number of a reply: its value, the scale it names, and whether its sentence means it as a rating."""

import re

from nlgjudge.judging.cleaning import WORDS, bounds

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
# "4 stars (3/5)"
_BESIDE = re.compile(
    rf"[ ]? [(=] [ ]? (?P<beside> {NUMBER} ) [ ]? (?: / | out [ ] of ) [ ]? (?P<whole> {NUMBER} )", re.VERBOSE,
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
        # "1-5" is the scale itself; "2-3" is undecided.
        return None if (value, value_of(match["upto"])) == (scale[0], scale[1]) else "ambiguous"
    highest = 100.0 if match["percent"] else scale[1]
    named = match["slash"] or match["out_of"] or match["of"]
    if named:
        highest = value_of(named)
    if highest != scale[1] or is_share_of_one(value, scale):
        return "other_scale"
    behind = _SCALE_BEHIND.match(match.string, match.end())
    if behind and value_of(behind["top"]) != scale[1]:
        return "other_scale"
    if _OPEN.match(match.string, match.end()) or (match[0][0] == "<" and match[0][-1] != ">"):
        return "ambiguous"
    beside = _BESIDE.match(match.string, match.end())
    if beside and value_of(beside["whole"]) == scale[1] and value_of(beside["beside"]) != value:
        return "ambiguous"
    if "p" in (match["unit"] or match["late_unit"] or "") and _SHARE.match(match.string, match.end()):
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
                if {value_of(named["low"]), value_of(named["high"])} != {float(scale[0]), float(scale[1])}:
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
    return {value_of(found["low"]), value_of(found["high"])} != {float(scale[0]), float(scale[1])}


# ---- What keeps a sentence from stating a rating --------------------------------------------------------

# "I would not give it a 5": up to six words between, none of which begins a new thought.
_DENIED = re.compile(
    r"""
    (?: n't | \b (?: not | never | cannot | nor | hardly | nothing | nobody | no [ ] one | nowhere
         | (?<! no [ ] ) doubt
                   | far [ ] from ) )
    (?:
        [ ]
        (?! (?: but | so | and | therefore | thus | hence | yet | resulting | earning | which
              | because | making
              | with | in | i ) \b )
        [\w']{1,20}
    ){0,6}
    [ ]? \Z
    """,
    re.VERBOSE,
)
# "It would have been a 5", "had it been shorter"
_IMAGINED = re.compile(
    r"""
    \b (?: would | could | might | should ) [ ] have \b (?! [ ] to\b )
  | \b had [ ] (?: it | this | the | they ) \b
  | \b were [ ] (?: it | the ) \b
  | \b unless \b
    """,
    re.VERBOSE,
)
# "It would have been a 5, but as it stands it's a 3": what is imagined ends here
_BUT = re.compile(r"\b(?:but(?! for\b)|as it (?:stands|is))\b")
# "If it named the year, I would give it a 5"; not "it asks if the man would come"
_CONDITION = re.compile(
    r"""
    (?<! even [ ] ) (?<! as [ ] ) (?<! sure [ ] ) (?<! see [ ] ) (?<! know [ ] ) (?<! unclear [ ] )
    (?<! ask [ ] ) (?<! asks [ ] ) (?<! asking [ ] ) (?<! wonder [ ] ) (?<! wonders [ ] )
    \b if [ ] (?: it | this | that | they | only | you | the [ ] \w{1,20} ) \b
    """,
    re.VERBOSE,
)
_MODAL = re.compile(r"\b(?:would|could|might)\b|'d\b")
# "To get a 5 it would need …"
_AIMED = re.compile(
    r"(?<!me )(?<!us )(?<!have )(?<!ought )\bto (?:get|earn|receive|deserve|achieve|reach|merit|be|score)"
    r"(?: \w{1,20}){0,4} ?\Z"
)
# "I consider it to be a 4"
_HELD_TO_BE = re.compile(
    r"\b(?:consider|find|deem|judge|believe|take|feel) (?:it|this|that|(?:the|this) [a-z]{1,20}) to be"
    r"(?: \w{1,20}){0,3} ?\Z"
)
# "He would give it a 4", "the film gets 4 stars", "the player's rating is 4"
_THEIRS = re.compile(
    r"""
    (?: \b (?: he | she | they | others | some | people | critics? | reviewers? | annotators? | readers?
         | viewers? | users | customers | guests | fans | raters | evaluators | judges
         | (?: the | an? ) [ ] (?: author | writer | critic | student | pupil | player | team | film
         | movie | hotel
             | restaurant | school | teacher | judge | show | book | album | game ) )
    (?: [ ] (?: would | might | could | may | will | also | has | have ) | 'd ){0,2}
    [ ] (?: gives? | gave | gets? | got | has | have | had | earn(?:s|ed)? | rate[sd]? | wants? | score[sd]?
          | receive[sd]? | say | says | said | award(?:s|ed)? | deserve[sd]? | was | were | is ) \b
  | \b (?: his | her | their ) [ ] (?: [a-z]{1,20} [ ] )? (?: score | rating | grade | mark )s?\b
  | \b (?! (?: summary | story | text | response | dialogue | translation | reply | output | answer | it
  | that | this
             | what | here | piece | one | passage | there | let ) 's )
    [a-z]{2,20} 's [ ] (?: [a-z]{1,20} [ ] )? (?: score | rating | grade | mark )s?\b )
    (?: [ ] [\w'-]{1,20} ){0,5} [ ]? \Z
    """,
    re.VERBOSE,
)
# "4 seems too generous", "a 5 can't be justified"
_TOO_MUCH = re.compile(
    r"(?: [a-z']{1,12}){1,4} too (?:high|low|generous|harsh|much|strict|lenient|kind|little|severe)\b"
    r"| is (?:out of reach|unattainable|a stretch|beyond|not)\b"
    r"| (?:can't|cannot|couldn't|could not|isn't|is not|won't|will not|doesn't|does not|wouldn't|would not)\b"
)
# "with a better ending it would be a 4", "fix the ending and it's a 4"; "it would be a 5 but for the ending"
_SUPPOSED = re.compile(
    r"(?:⋯ |• |\W){0,4}"
    r"(?:with (?:one |some |a few |a bit |a little |an? )?(?:better|more|fewer|another|clearer|less)\b"
    r"|on a (?:good|better|bad) day\b|if i were (?!to\b)|if i felt\b"
    r"|(?:fix|add|remove|delete|change|cut) .{0,80} and \b"
    r"|without (?:the|this|that|it|these|those)\b|otherwise\b|next time\b)"
)
_BUT_FOR = re.compile(
    r"[^.,;:]{0,40}\b"
    r"(?:without (?:the|this|that|it|these|those)|but for|with (?:an? )?(?:better|more|fewer|another|clearer|"
    r"some|less)|otherwise|in which case|next time|if (?!i\b|you\b|any|pressed|asked|forced))\b"
)
# "I was tempted to give it a 4"
_TEMPTED = re.compile(
    r"\b(?:tempted|hesitant|hesitate|reluctant|wanted|was going|was about|planned|unfair|wrong|absurd|unwilling|refuse|"
    r"loath|hard|difficult|impossible|too [a-z]{2,12}) to(?: [\w']{1,20}){0,6} ?\Z"
    r"|\b(?:considered|contemplated|debated|thought about|thinking about|thinking of|toyed with) "
    r"(?:giving|rating|awarding|assigning|scoring)(?: [\w']{1,20}){0,6} ?\Z"
    # "keeps it from getting a perfect score of 5", "short of a 5"
    r"|\b(?:from (?:getting|earning|receiving|being|scoring|reaching|achieving|deserving|obtaining|an?)|"
    r"short of|shy of|away from|fall below)(?: (?:an?|the|full|perfect|higher|top|score|rating|mark|of)){0,5} ?\Z"
)
# "more than a 3", "closer to 4"
COMPARED = re.compile(
    r"\b(?:more|less|fewer|lower|higher|greater|above|below|under|least|most|between|almost|nearly|instead|"
    r"rather|than|closer?|beyond|short|except|neither|either)\b|n't\b"
)
# "1 = bad", "a score of 1 means …"
_DEFINED = re.compile(
    r"""
    [ ]?
    (?: = | means?\b | would [ ] (?: mean | imply | suggest | signify | denote )\b
      | indicates?\b | represents?\b | denotes?\b | stands?\b | being\b
      | corresponds?\b | requires?\b | are\b | would [ ] (?: indicate | require | need )\b
      | would [ ] be\b (?! [ ] (?: an? [ ] )? (?: my | what | fair | right | appropriate | reasonable
      | about | just ) )
      | is [ ] (?: for | given | the (?! (?: [ ] [a-z]{3,20} ){0,2} [ ] (?: score | rating | grade
      | number | mark ) \b ) | reserved | awarded | very | poor | bad | good | excellent | lowest
                 | highest | worst | best )\b )
    """,
    re.VERBOSE,
)
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
# "3 errors", "2 of the facts"
_COUNTED = re.compile(
    r"""
    [ ]
    (?: of [ ] (?: the | its | these | those | them | which | my | your )
      | by
      | (?: (?! (?: because | since | as | for | when | where | if | and | but | so | in | on
      | at ) [ ] ) \w{1,20} [ ] )?
        (?: errors? | mistakes? | typos? | facts? | sentences? | words? | issues? | problems? | times
          | paragraphs?
          | deducted | lost | off | years? | goals? | people | items? | days? | hours? | minutes? | questions?
          | reasons? | examples? | steps? | criteria | aspects? )
    ) \b
    """,
    re.VERBOSE,
)


def is_meant(match):
    """Whether the sentence means its number as a rating: neither denied, nor imagined, nor defined."""
    text = match.string
    left, right = bounds(text, match.start(), match.end())
    before = text[left:match.start("value")]
    after = text[match.end():right]
    # Looking for a word is faster than looking for a pattern, and most sentences hold none of these.
    if holds(before, "not", "n't", "never", "no", "hardly", "far", "doubt") and _DENIED.search(before):
        return False
    if _THEIRS.search(before):
        return False
    if "to " in before and _AIMED.search(before) and not _HELD_TO_BE.search(before):
        return False
    if _TEMPTED.search(before):
        return False
    for part in (_BUT.split(before)[-1], _BUT.split(after)[0]):
        if holds(part, "have", "had ", "were ", "unless") and _IMAGINED.search(part):
            return False
        if "if " in part and _CONDITION.search(part) and _MODAL.search(text, left, right):
            return False
    if _TOO_MUCH.match(after) or _SUPPOSED.match(before):
        return False
    if _MODAL.search(before) and _BUT_FOR.match(after):
        return False
    return not _DEFINED.match(text, match.end()) and not counts(match)


def counts(match):
    """Whether the number counts what follows it; behind a closing bracket something else begins."""
    if has_stars(match):
        return False
    return not match[0].endswith((")", "]", '"')) and bool(_COUNTED.match(match.string, match.end()))


def holds(text, *words):
    return any(word in text for word in words)


def sentence_reading(match, scale):
    """As `reading_of`, for a number inside a sentence, which may be about anything."""
    if not is_meant(match):
        return None
    if match["upto"]:
        first, last = value_of(match["value"]), value_of(match["upto"])
        if not scale[0] <= first < last <= scale[1]:
            return None  # "a score of 3-1" is a match's
    return reading_of(match, scale)


def verbose(*parts):
    return re.compile("".join(parts), re.VERBOSE | re.MULTILINE)
