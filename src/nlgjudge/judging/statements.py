"""Find the rating that a reply states in words: by a label, in a sentence, in stars, as a bare number.

A reply is cleaned, then read in tiers, from the clearest way of stating a rating to the least clear; the
first tier that states one decides. Statements that contradict each other are never weighed: the reply is
`ambiguous`. Every repetition in a pattern is bounded, so that the time to read a reply grows with its length
and no faster.
"""

import math
import re

# ---- Cleaning ------------------------------------------------------------------------------------------

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LEFT_OUT = "⋯"

# Full-width signs, dashes and quotation marks become the plain ones: "４／５" is "4/5".
_PLAIN = {chr(0xFF10 + digit): str(digit) for digit in range(10)}
_PLAIN.update(dict.fromkeys("：﹕", ":"))
_PLAIN.update(dict.fromkeys("−–‐‑‒", "-"))
_PLAIN.update(dict.fromkeys("‘’ʼ", "'"))
_PLAIN.update(dict.fromkeys("“”„«»", '"'))
_PLAIN.update({"／": "/", "—": " - ", "½": " and a half", "→": " -> ", _LEFT_OUT: "..."})
_PLAIN.update({"\u200b": "", "\ufeff": ""})  # signs without width
_PLAIN = str.maketrans(_PLAIN)
# What marks emphasis becomes a blank: "**4**", "__4__", "`4`", "$4$".
_EMPHASIS = str.maketrans(dict.fromkeys("*_`$", " "))

# A list mark, a quotation mark, a heading: "* ", "- ", "> ", "### ". A minus sign has no blank after it.
_LIST_MARK = re.compile(
    r"""
    ^ [ \t]{0,20}
    (?: [>#]{1,6} [ \t]{0,4} )?
    (?P<mark> [-+*•·] [ \t]{1,8} | [-+•·] (?= [A-Za-z*_] ) )?
    """,
    re.VERBOSE | re.MULTILINE,
)
_BLANKS = re.compile(r"[^\S\n]+")
_LINE_END = re.compile(r" ?\n[ \n]*")
_MONEY = re.compile(r"[$€£] ?(?=\d)")
_BOXED = re.compile(r"\\boxed ?\{ ?(?:\\text ?\{ ?)?([^{}\n]{1,20})\}{1,2}")
_TAG = re.compile(r"<(/?)([a-z]{2,20})>", re.IGNORECASE)
_TABLE_ROW = re.compile(
    r"^[ \t]{0,9}\|([^|\n]{1,60})\|([^|\n]{1,60})(?:\|([^|\n]{0,300}))?\|?[ \t]{0,9}$",
    re.MULTILINE,
)
# "★★★☆☆", "⭐⭐⭐½", and the sign in the word's place: "4 ⭐", "4/5 ⭐"
_STARS = re.compile(r"[★⭐🌟][★⭐🌟☆✩\ufe0f]*(?:½[☆✩]*|[ ]?1/2)?")
_STAR_SIGN = re.compile(r"(?<=[0-9½])[ ]?[★⭐🌟]\ufe0f?(?![★⭐🌟☆✩½])")
# Small pictures that only decorate: "88 👍", "5/5 ✅"
_PICTURES = re.compile(r"[ ]?[\U0001F300-\U0001F31E\U0001F320-\U0001FAFF\u2600-\u2604\u2607-\u27BF]\ufe0f?")


def plain(text):
    r"""Plain signs, single blanks, no empty lines, one sign for list marks, no emphasis.

    What a model thought aloud between ``<think>`` and ``</think>`` is left out.

    Examples
    --------
    >>> plain("### **Rating:**  4\n\n\n* It is fluent.")
    'Rating: 4\n• It is fluent.'
    """
    return _tidy(_signs(text))


def _signs(text):
    """Plain signs for what has more than one spelling, and no thoughts."""
    if "think>" in text:
        text = text.rpartition("</think>")[2].partition("<think>")[0]
    if "</" in text:
        text = _TAG.sub(_labelled_tag, text)
    if not text.isascii():
        text = _STAR_SIGN.sub(" stars", text)
        text = _STARS.sub(_counted_stars, text)
        text = _PICTURES.sub("", text)
        text = text.translate(_PLAIN)
    if "|" in text:
        text = _TABLE_ROW.sub(r"\1: \2. \3", text)  # "| Coherence | 4 |" is "Coherence: 4"
    if "$" in text or "€" in text or "£" in text:
        text = _MONEY.sub("money", text)  # an amount of money is no rating
    if "\\boxed" in text:
        text = _BOXED.sub(r" \1 ", text)
    return text


def _tidy(text):
    """One sign for list marks, no emphasis, single blanks, no empty lines."""
    text = _LIST_MARK.sub(_plain_list_mark, text)
    text = text.translate(_EMPHASIS)
    text = _BLANKS.sub(" ", text)
    text = _LINE_END.sub("\n", text)
    return text.strip()


def _counted_stars(match):
    """★★★☆☆ is "3/5 stars", ★★★ is "3 stars", ★★★½ is "3.5 stars"."""
    filled = sum(match[0].count(star) for star in "★⭐🌟")
    if "½" in match[0] or "1/2" in match[0]:
        filled += 0.5
    empty = sum(match[0].count(star) for star in "☆✩")
    return f" {filled}/{math.ceil(filled) + empty} stars " if empty else f" {filled} stars "


def _labelled_tag(match):
    """<score>4</score> is "score: 4" on a line of its own."""
    return "\n" if match[1] else f"\n{match[2]}: "


def _plain_list_mark(match):
    return "• " if match["mark"] else ""


# ---- The sentences that matter --------------------------------------------------------------------------

# A digit, or a sign and a number word behind it; a text is given a blank in front, so that it has the sign.
_ANY_NUMBER = re.compile(
    rf"""
    [0-9\s"'(\[*_/>:-]
    (?: (?<= [0-9] ) [0-9]{{0,20}} | (?: {'|'.join(_WORDS)} ) (?! [a-z] ) )
    """,
    re.VERBOSE,
)
_SENTENCE_ENDS = (". ", "! ", "? ", "; ", "\n")
_FAR = 300  # a sentence is followed so far to either side of its number
_TO_LINE_END = re.compile(r"[^\S\n]{0,9}(?:\n|\Z)")


def excerpt(text):
    r"""A reply in lower case, cleaned, reduced to the sentences that hold a number; "⋯" is what is left out.

    The line before a number that begins a line is kept as well, for it may be the number's label.

    Examples
    --------
    >>> excerpt("Rating:\n**4**\nIt is fluent. It has 2 slips. It ends well.")
    'rating:\n4\n⋯ it has 2 slips. ⋯'
    """
    text = " " + _signs(text).lower()
    pieces = []
    reached = 0
    for left, right in _numbered_sentences(text):
        if text[reached:left].strip():
            pieces.append(f" {_LEFT_OUT}\n" if text[left - 1] == "\n" else f" {_LEFT_OUT} ")
        pieces.append(text[left:right])
        reached = right
    if text[reached:].strip():
        pieces.append(f" {_LEFT_OUT}")
    return _tidy("".join(pieces))


def _numbered_sentences(text):
    """Bounds of the sentences that hold a number, in order; none overlap."""
    reached = 0
    for number in _ANY_NUMBER.finditer(text):
        at = number.start()
        if at < reached:
            continue
        at = at if text[at].isdigit() else at + 1
        left, right = _bounds(text, at, number.end())
        if at - left < 8 and left > 0 and text[left - 1] == "\n":
            label = text.rfind("\n", max(0, left - 80), left - 1)
            left = label + 1 if label >= 0 or left < 80 else left
        blank = _TO_LINE_END.match(text, right)
        right = blank.end() if blank else right
        yield max(left, reached), right
        reached = right


def _bounds(text, start, end):
    """Bounds of the sentence around a place in a text."""
    lowest = max(0, start - _FAR)
    highest = min(len(text), end + _FAR)
    left = max(text.rfind(mark, lowest, start) for mark in _SENTENCE_ENDS) + 1
    ends = [text.find(mark, end, highest) for mark in _SENTENCE_ENDS]
    right = min((at for at in ends if at >= 0), default=highest - 1)
    return max(left, lowest), right + 1


# ---- One number and what belongs to it -----------------------------------------------------------------

_WORD_VALUES = {word: float(value) for value, word in enumerate(_WORDS)}
_NUMBER = rf"(?: [-+]?[0-9]{{1,9}}(?:[.,][0-9]{{1,9}})? | (?:{'|'.join(_WORDS)})\b )"

_UNIT = r"(?: [ -] (?: stars? | points? | pts ) \b )"
# "4/5", "4 out of a possible 5", "4 of 5.", "85%"
_HIGHEST = rf"""
    (?:
        [ ]? / [ ]? (?P<slash> {_NUMBER} )
      | [ ]? \(? out [ ] of [ ]
        (?: an? [ ] | the [ ] )? (?: total [ ] of [ ] | possible [ ] | maximum [ ] (?: of [ ] )? )?
        (?P<out_of> {_NUMBER} )
      | [ ] of [ ]
        (?: a [ ] (?: possible | maximum | total [ ] of ) [ ] )?
        (?P<of> {_NUMBER} )
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
        (?P<upto> {_NUMBER} )
        (?: [ ]? / [ ]? {_NUMBER} )?
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
    (?! [ ] of [ ] {_NUMBER} )
    (?! [ ]? - [ ]? [0-9] )
    (?! [ ] (?: to | or ) [ ] (?: an? [ ] )? {_NUMBER} )
"""
# "4", "-1", "4.5", "[[4]]", "four and a half", "3 stars", and with what `_HIGHEST` and `_SECOND` add
_RATING = rf"""
    ["'(\[{{<]{{0,3}} [ ]?
    (?P<value> {_NUMBER} )
    (?P<half> [ -]and[ -]a[ -]half | [ ]1/2 (?! [0-9/] ) )?
    ["'\]]{{0,2}}
    (?P<unit> {_UNIT} )?
    {_HIGHEST}?
    (?P<late_unit> {_UNIT} )?
    ["'\])}}>]{{0,3}}
    {_SECOND}?
    {_NOTHING_ELSE}
"""
# The number is complete, and does not count something ("3 sentences", "2 of the facts").
_ENDED = r"""
    (?=
        [ ]? (?: $ | [.,;:!?)\]}>"'(-] )
      | [ ] (?: because | since | as | for | on | due | in [ ] terms | based | given | considering
              | overall | with
              | indicating | meaning | reflecting | but | so | which | while | although | though | or [ ] so
              | and | here | i | it | this | the | from [ ] me ) \b
    )
"""


def _value(text):
    """Value of "4", "2,5" (a decimal comma), "1,200" (thousands), "four"."""
    if text in _WORD_VALUES:
        return _WORD_VALUES[text]
    whole, _, decimals = text.partition(",")
    if len(decimals) == 3:
        return float(whole + decimals)
    return float(text.replace(",", "."))


# Behind a rating: "(max. 5)", "(of 5)", "(1-5)"
_SCALE_BEHIND = re.compile(
    rf"""
    [ ]? [(|,;] [ ]?
    (?: max\.? | maximum | out [ ] of | of | / | {_NUMBER} [ ]? (?: - | to ) )
    :? [ ]? (?: of [ ] )? (?P<top> {_NUMBER} )
    [ ]? (?: \) | $ )
    """,
    re.VERBOSE | re.MULTILINE,
)
# Behind a rating: "(at best)", "or higher", "+", "?", ", grammar a 4".
_OPEN = re.compile(
    rf"""
    [ ]? \(? [ ]?
    (?: at [ ] (?: best | most | least )\b
      | or [ ] (?: higher | lower | more | less | above | below | better | worse | fewer )\b
      | \+
      | \?
      | [,;] [ ] (?: (?: and | but ) [ ] )? (?: [a-z]{{2,20}} [ ] ){{1,3}}
        (?: an? [ ] {_NUMBER} | {_NUMBER} / {_NUMBER} ) (?= [.,;] | $ )
    )
    """,
    re.VERBOSE | re.MULTILINE,
)
# Behind points: "1 point for grammar, 2 points off".
_SHARE = re.compile(r" (?:for|each|per|off|deducted|lost)\b")


def _reading(match, scale):
    """What a match of `_RATING` says.

    Returns
    -------
    float, str or None
        The rating; why there is none, where there is doubt; None where it is no rating at all.
    """
    value = _value(match["value"]) + (0.5 if match["half"] else 0.0)
    if match["upto"]:
        # "1-5" is the scale itself; "2-3" is undecided.
        return None if (value, _value(match["upto"])) == (scale[0], scale[1]) else "ambiguous"
    highest = 100.0 if match["percent"] else scale[1]
    named = match["slash"] or match["out_of"] or match["of"]
    if named:
        highest = _value(named)
    if highest != scale[1]:
        return "other_scale"
    behind = _SCALE_BEHIND.match(match.string, match.end())
    if behind and _value(behind["top"]) != scale[1]:
        return "other_scale"
    if _OPEN.match(match.string, match.end()):
        return "ambiguous"
    if "p" in (match["unit"] or match["late_unit"] or "") and _SHARE.match(match.string, match.end()):
        return "ambiguous"
    return value


def _has_highest(match):
    return bool(match["slash"] or match["out_of"] or match["of"] or match["percent"])


def _has_stars(match):
    return "star" in (match["unit"] or "") + (match["late_unit"] or "")


# ---- Scales that a reply names --------------------------------------------------------------------------

_SPAN = rf"(?P<low> {_NUMBER} ) [ ]? (?: - | to | and | through ) [ ]? (?P<high> {_NUMBER} )"
_NAMED_SCALES = [
    # "on a scale of 1 to 10", "scale: 0-100"
    rf"\b scale (?: [ ] (?: of | from | between | is | ranges [ ] from ) | : )? [ ]? \(? {_SPAN} \b",
    # "a 1-10 scale"
    rf"\b {_SPAN} (?: [ ] (?: point | star | rating | likert ) )? [ ] scale \b",
    # "on a scale of 10"
    rf"\b (?: on | using | with | in | to ) [ ] (?: an? | the ) [ ] scale [ ] of [ ] (?P<high> {_NUMBER} )"
    r" (?! [ ]? (?: - | to | and | through ) )",
    # "a 7-point scale"
    rf"\b (?P<levels> {_NUMBER} ) [ -]? (?: point | pt | star )s?"
    r" (?: [ ] (?: likert | rating ) )? [ ] scale\b",
]
_NAMED_SCALES = [re.compile(pattern, re.VERBOSE) for pattern in _NAMED_SCALES]
# "(1-10)", "(out of 10)", "(/10)", "(max 10)" behind a label
_BRACKETED_SCALE = re.compile(
    rf"{_SPAN} | (?: out [ ] of | / | max\.? | maximum ) [ ]? (?P<top> {_NUMBER} )",
    re.VERBOSE,
)


def names_another_scale(text, scale):
    """Whether a cleaned reply says that it rates on a scale which is not ours: "on a scale of 1 to 10"."""
    if "scale" not in text:
        return False
    for pattern in _NAMED_SCALES:
        for match in pattern.finditer(text):
            named = match.groupdict()
            if named.get("levels"):
                if _value(named["levels"]) not in (scale[1], scale[1] - scale[0] + 1):
                    return True
            elif named.get("low"):
                if {_value(named["low"]), _value(named["high"])} != {float(scale[0]), float(scale[1])}:
                    return True
            elif _value(named["high"]) != scale[1]:
                return True
    return False


def _label_names_another_scale(match, scale):
    found = _BRACKETED_SCALE.search(match["bracket"] or "")
    if not found:
        return False
    if found["top"]:
        return _value(found["top"]) != scale[1]
    return {_value(found["low"]), _value(found["high"])} != {float(scale[0]), float(scale[1])}


# ---- What keeps a sentence from stating a rating --------------------------------------------------------

# "I would not give it a 5": up to six words between, none of which begins a new thought.
_DENIED = re.compile(
    r"""
    (?: n't | \b (?: not | never | cannot | nor | hardly | nothing | nobody | no [ ] one | nowhere
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
    \b (?: would | could | might | should ) [ ] have \b
  | \b had [ ] (?: it | this | the | they ) \b
  | \b were [ ] (?: it | the ) \b
  | \b unless \b
    """,
    re.VERBOSE,
)
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
_AIMED = re.compile(r"\bto (?:get|earn|receive|deserve|achieve|reach|merit|be|score)(?: \w{1,20}){0,4} ?\Z")
# "more than a 3", "closer to 4"
_COMPARED = re.compile(
    r"\b(?:more|less|fewer|lower|higher|greater|above|below|under|least|most|between|almost|nearly|instead|"
    r"rather|than|closer?|beyond|short|except|neither|either)\b|n't\b"
)
# "1 = bad", "a score of 1 means …"
_DEFINED = re.compile(
    r"""
    [ ]?
    (?: = | means?\b | would [ ] mean\b | indicates?\b | represents?\b | denotes?\b | stands?\b | being\b
      | corresponds?\b | requires?\b | would [ ] (?: be | indicate | require | need )\b
      | is [ ] (?: for | given | the | reserved | awarded | very | poor | bad | good | excellent | lowest
                 | highest | worst | best )\b )
    """,
    re.VERBOSE,
)
# "(bad), 2 (fair)", "= bad; 2 = fair": the scale's options one after the other
_OPTIONS = re.compile(
    rf"""
    (?: [ ] (?: points? | stars? ) )?
    [ ]? (?: = | : | - | \( | \. | means\b | is\b )
    [^0-9\n]{{1,60}} [,;\n] [ ]?
    (?: (?: and | or ) [ ] )?
    (?: • [ ] )?
    {_NUMBER} (?: [ ] (?: points? | stars? ) )? [ ]? (?: = | : | - | \( | \. | means\b | is\b )
    """,
    re.VERBOSE,
)
# "3 errors", "2 of the facts"
_COUNTED = re.compile(
    r"""
    [ ]
    (?: of [ ] (?: the | its | these | those | them | which | my | your )
      | by
      | (?: \w{1,20} [ ] )?
        (?: errors? | mistakes? | typos? | facts? | sentences? | words? | issues? | problems? | times
          | paragraphs?
          | deducted | lost | off | years? | goals? | people | items? | days? | hours? | minutes? | questions?
          | reasons? | examples? | steps? | criteria | aspects? )
    ) \b
    """,
    re.VERBOSE,
)


def _is_meant(match):
    """Whether the sentence means its number as a rating: neither denied, nor imagined, nor defined."""
    text = match.string
    left, right = _bounds(text, match.start(), match.end())
    before = text[left:match.start("value")]
    after = text[match.end():right]
    # Looking for a word is faster than looking for a pattern, and most sentences hold none of these.
    if _holds(before, "not", "n't", "never", "no", "hardly", "far") and _DENIED.search(before):
        return False
    if "to " in before and _AIMED.search(before):
        return False
    for part in (before, after):
        if _holds(part, "have", "had ", "were ", "unless") and _IMAGINED.search(part):
            return False
        if "if " in part and _CONDITION.search(part) and _MODAL.search(text, left, right):
            return False
    return not _DEFINED.match(text, match.end()) and not _counts(match)


def _counts(match):
    """Whether the number counts what follows it; behind a closing bracket something else begins."""
    return not match[0].endswith((")", "]", '"')) and bool(_COUNTED.match(match.string, match.end()))


def _holds(text, *words):
    return any(word in text for word in words)


# ---- The tiers ------------------------------------------------------------------------------------------
# A tier takes the cleaned reply and the scale and returns what `_reading` says of each statement.

_KEY = r"(?: ratings? | scores? | grade | marks? | stars )"
_WEAK_KEY = r"(?: answer | evaluation | verdict | assessment | result | judge?ment | conclusion | response )"
_BRACKET = r"(?: [ ]? \( (?P<bracket> [^()\n]{0,60} ) \) )?"
_COLON = r"""(?: ["'\]]{0,2} [ ]? (?: : | := | = | -> ) [ ]? )"""
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


def _pattern(*parts):
    return re.compile("".join(parts), re.VERBOSE | re.MULTILINE)


_FINAL = _pattern(
    r"""
    \b (?: final | overall )
    (?:
        (?: [ ] [\w'-]{1,20} ){0,2} [ ] """, _KEY, r"""
      | [ ] (?: quality | impression | evaluation | assessment | verdict | judge?ment | answer
              | result | value )
    )?
    """,
    _BRACKET,
    r"(?: ", _COLON, r" | [ ] - [ ] | (?P<spoken> [ ] ", _IS, r" [ ] ) )",
    _HEDGE,
    _RATING,
)


def _final(text, scale):
    """Called final or overall: "Final score: 3", "my overall rating is a 4", "Overall: 4/5"."""
    if "final" not in text and "overall" not in text:
        return []
    found = _stated(_FINAL, text, scale)
    if found and all(match["spoken"] for match in _FINAL.finditer(text)):
        # "The final score is 4" may be a match's: a labelled rating has to agree.
        found += _labelled(text, scale)
    return found


_LABELLED = _pattern(
    r"\b", _KEY, r"\b",
    r"(?: [ ] (?! (?: is | of | as | was ) \b ) [a-z][\w'/-]{0,20} ){0,5} ",
    _BRACKET,
    _COLON,
    _HEDGE,
    _RATING,
)
# Words that label other things as well, so that the number has to be complete: "Answer: 4."
_WEAKLY_LABELLED = _pattern(
    r"(?: ^ | (?<= [.;!?⋯] [ ] ) ) (?: • [ ] )? (?: (?: the | my | your ) [ ] )?", _WEAK_KEY,
    _BRACKET,
    "(?: ", _COLON, " | [ ] is [ ] )",
    _RATING,
    _ENDED,
)


def _labelled(text, scale):
    """After its label: "Rating: 4", "the score for coherence (1-5): 3", "… ends abruptly. Score: 2"."""
    found = _stated(_LABELLED, text, scale) if _holds(text, ":", "=", "->") else []
    return found + _stated(_WEAKLY_LABELLED, text, scale)


_NEXT_LINE = _pattern(
    r"^ (?: • [ ] )? (?: [\w'/&-]{1,20} [ ] ){0,4}? ", _KEY, r" (?: [ ] [\w'-]{1,20} ){0,3} ",
    _BRACKET,
    r" [ ]? :? \n (?: • [ ] )? ",
    _RATING,
    r" [ ]? [.]? $ (?! \n (?: • [ ] )? [-+0-9.,]{1,9} $ )",  # and no list of numbers
)


def _next_line(text, scale):
    r"""On the line after its label, alone: "Rating:\n4"."""
    return _stated(_NEXT_LINE, text, scale)


_IN_SENTENCE = _pattern(
    r"\b (?: mine | ", _KEY, ")",
    # "for the coherence of this text"
    r"(?: [ ] (?: for | of | on )",
    r"    (?: [ ] (?! (?: is | as | at | of |", "|".join(_WORDS), r") \b ) [a-z][a-z'-]{0,20} ){1,6}",
    r")? [ ]",
    _IS, r" :? [ ] ",
    _HEDGE,
    _RATING,
)
_ADJOINED = _pattern(
    r"\b (?: score | rating ) [ ] (?: - [ ] )? ", _RATING, r" (?= [ ]? (?: $ | [.,;)] | - [ ] ) )",
)


def _in_sentence(text, scale):
    """In a sentence with its name: "earning a score of 3", "the rating is 4", "disfluency, score 2."."""
    found = _stated(_IN_SENTENCE, text, scale, sentence=True)
    return found + _stated(_ADJOINED, text, scale, sentence=True)


_GIVEN = _pattern(
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
      | (?P<earned> (?: get | receive | deserve | earn | merit | warrant | score )s?
                  | getting | receiving | deserving | earning | scoring
                  | (?: it's | it [ ] is | this [ ] is | that's | that [ ] is )
                    (?= [ ] (?: about [ ] | clearly [ ] | probably [ ] )? an? [ ] ) )
    )
    (?P<gap> (?: [ ] (?! [0-9.]+ \b ) [\w'-]{1,20} ){0,8}? )
    :? [ ]
    """,
    _RATING,
    _ENDED,
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
_ARTICLE = re.compile(r"(?:^| )(?:an?|as|of|at|solid|strong|perfect|full)\Z")


def _given(text, scale):
    """With a verb: "I would rate this summary a 4", "it deserves a 2.", "give it three out of five"."""
    found = []
    for match in _GIVEN.finditer(text):
        reading = _sentence_reading(match, scale)
        if reading is None:
            continue
        gap = match["gap"]
        whole = _has_highest(match) or _has_stars(match)
        if _COMPARED.search(gap):
            reading = "ambiguous"
        elif not whole:
            if gap and not _JOINS.search(gap):
                continue
            if match["earned"] and not _ARTICLE.search(gap):
                continue  # "Kane scores 4"
            if match["value"] in _WORD_VALUES and not _ARTICLE.search(gap):
                continue  # "rate this one"
        found.append(reading)
    return found


_ASPECT = _pattern(
    r"""
    (?: ^ | (?<= [.:;,⋯] [ ] ) )
    (?: • [ ] )?
    (?: \(? (?: [0-9]{1,2} | [a-h] ) [.)] [ ] )?
    ["'\[{(]{0,2}
    (?P<label> [a-z][a-z'/&-]{1,24} (?: [ ] [a-z'/&-]{1,24} ){0,4} )
    """,
    _BRACKET,
    "(?: ", _COLON, r" | [ ] - [ ] )",
    _RATING,
    _ENDED,
)
_ASPECT_WORD = re.compile(
    r"""
    [a-z]{3} (?: ness | ility | ivity | arity | icity | uracy | acy | ence | ance | ency | ancy | ality ) \b
  | \b (?: quality | overall | grammar | style | tone | depth | flow | structure | coverage | focus | interest
         | appeal | logic | humou?r | detail | understanding | organi[sz]ation | spelling | novelty | utility
         | safety | brevity | originality | plot | truth | engagement | mechanics | formatting | clarity
         | factual | natural | coherent | relevant | fluent | consistent ) \b
    """,
    re.VERBOSE,
)
# Labels whose number counts, dates or orders something.
_NO_ASPECT_LABEL = re.compile(
    r"""
    \b
    (?: absences? | ages? | articles? | attendance | audience | balance | chapters? | claims?
      | confidence | cost
      | counts? | criteria | criterion | currency | dates? | days? | distance | document | errors? | evidence
      | examples? | facts? | figures? | frequency | goals? | guide | highest | hours? | id | inaccuracy
      | inaccuracies | inconsistency | inconsistencies | instances? | issues? | items? | length
      | level | lines?
      | losses | lowest | max | maximum | mentions? | min | minimum | minutes? | mistakes? | months? | note
      | numbers? | occurrences? | omissions? | options? | pages? | paragraphs? | parts? | people
      | phone | points?
      | population | possible | previous | price | problems? | quantity | questions? | ranges? | rank
      | redundancies | references? | repetitions? | room | rubric | samples? | scales? | seasons? | sections?
      | sentences? | steps? | system | tables? | temperature | threshold | times? | tokens? | total | turns?
      | typos? | versions? | violations? | weeks? | weights? | wins? | words? | years? )
    \b
    """,
    re.VERBOSE,
)


def _aspects(text, scale):
    """After an aspect's name: "- Coherence: 4", "Coherence (1-5): 3", "1. Fluency: 2".

    Any label does where it and its number are the whole reply.
    """
    found = []
    one_line = "\n" not in text and _LEFT_OUT not in text
    for match in _ASPECT.finditer(text):
        label = match["label"]
        if _NO_ASPECT_LABEL.search(label):
            continue
        if _OPTIONS.match(text, match.end()):
            continue
        whole = one_line and match.start() == 0 and match.end() >= len(text) - 1
        if not whole and not _ASPECT_WORD.search(label):
            continue
        reading = "other_scale" if _label_names_another_scale(match, scale) else _reading(match, scale)
        if reading is not None:
            found.append(reading)
    return found


_MENTIONED = _pattern(r"(?<! [\w/.,:-] ) (?<! [0-9] [ ] )", _RATING)
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
    r"and|to|it|this|the|i|on)\b"
)
# "covers 3 out of 5.": what comes before a count
_COUNTING = re.compile(
    r"\b(?:covers?|mentions?|names?|includes?|contains?|has|have|misses|omits?|gets|answers?|first|last|all|than|"
    r"won|wins?|by|beat|lost|drew|leads?|led|were|was|page|figure|facts?|chapter|section)(?: \w{1,20})? ?\Z"
)


def _mentioned(text, scale):
    """A fraction of the highest rating or stars: "… on the whole 3/5.", "Three and a half stars"."""
    if "/" not in text and "out of" not in text and "star" not in text:
        return []
    found = []
    for match in _MENTIONED.finditer(text):
        fraction = _has_highest(match)
        stars = _has_stars(match)
        if not fraction and not stars:
            continue
        closed = match[0].endswith(")") or _CLOSED.match(text, match.end())
        if not closed and not (stars and _STARRED_NOUN.match(text, match.end())):
            continue
        if _COUNTING.search(text[max(0, match.start() - 40):match.start("value")]):
            continue
        reading = _sentence_reading(match, scale)
        if reading is not None:
            found.append(reading)
    return found


_ALONE = _pattern(r"^ (?P<mark> • [ ] )? ", _RATING, r" [ ]? [.!]? $")


def _alone(text, scale):
    """On a line of its own: "4", "**3/5**", "- 2"."""
    found = []
    for match in _ALONE.finditer(text):
        reading = _reading(match, scale)
        if match["mark"] and "p" in (match["unit"] or ""):
            reading = "ambiguous"  # "* 1 point": an entry of the scale's list
        if reading is not None:
            found.append(reading)
    return found


_AT_THE_END = re.compile(
    rf"""
    (?: {_LEFT_OUT} | (?: [a-z)] ["')\]]{{0,3}} [ ]? | [0-9]{{2}} ) [.!?] ["')\]]{{0,3}} )
    [ \n] (?: - [ ] )?
    {_RATING} [.]? \Z
    """,
    re.VERBOSE,
)
_AT_THE_START = re.compile(
    rf"""
    (?: • [ ] )? {_RATING}
    (?: [ ]? (?P<sign> [.:),;(!] | - [ ] | \n )
      | (?P<because> (?= [ ] (?: because | since | as | or [ ] so | for | due ) \b ) )
    )
    (?P<second> [ ]? [-+]?[0-9] )?
    """,
    re.VERBOSE,
)
_NUMBERED_LINE = re.compile(r"^(?:• )?\(?[0-9]{1,2}[.)] ", re.MULTILINE)


def _at_the_end(text, scale):
    """After the last sentence: "… on the sentence level. 5"."""
    match = _AT_THE_END.search(text, max(0, len(text) - 60))
    return _known([_reading(match, scale)]) if match else []


def _at_the_start(text, scale):
    """Before the first sentence: "3. The response …", "2 - it repeats itself"; "1. …" may begin a list."""
    match = _AT_THE_START.match(text)
    if not match:
        return []
    sign = match["sign"] or ""
    if match["value"] in _WORD_VALUES and sign in (",", "(") and not _has_stars(match):
        return []  # "One, two and three …"
    doubts = (
        match["second"],  # "1. 2"
        sign in (".", ")") and match["value"] == "1",  # "1. It …"
        text.startswith("•") and "p" in (match["unit"] or ""),  # "* 1 point: …"
        match["because"] is not None and _ANY_NUMBER.search(text, match.end()),  # "1 for style, 3 for …"
        _NUMBERED_LINE.search(text, match.end()),
        _OPTIONS.match(text, match.end("value")),
    )
    return ["ambiguous"] if any(doubts) else _known([_reading(match, scale)])


_SHORT = 60
_NUMERALS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
# Words of a short sentence about something else: "The judges gave her a 4."
_ABOUT_OTHERS = re.compile(
    r"\b(?:gave|was|were|had|scored|rated|won|lost|judges?|critics?|reviewers?|users?|pupils?|readers|"
    r"he|she|his|her|their)\b"
)
_IN_SHORT = re.compile(
    rf"""
    (?: \b (?: is | be | it's | an? | say | about | around | maybe | probably | perhaps | think | solid | this
             | it | rate | give | as | at )
      | [:=(-] )
    [ ]?
    {_RATING}
    (?: ,? [ ] (?: for [ ] me | from [ ] me | to [ ] me | overall | i [ ] think | i [ ] guess ) )?
    [.!]? \Z
    """,
    re.VERBOSE,
)


def _in_short(text, scale):
    """At the end of a short reply: "I'd say 3", "This is a 4.", "Good (3)"."""
    if len(text) >= _SHORT or _LEFT_OUT in text or len(_NUMERALS.findall(text)) > 1:
        return []
    if any(about.search(text) for about in (_NO_RATING_LABEL, _NO_ASPECT_LABEL, _ABOUT_OTHERS, _COMPARED)):
        return []
    match = _IN_SHORT.search(text)
    return _known([_sentence_reading(match, scale)]) if match else []


# ---- Readings of a tier ---------------------------------------------------------------------------------


def _known(readings):
    return [reading for reading in readings if reading is not None]


def _sentence_reading(match, scale):
    """As `_reading`, for a number inside a sentence, which may be about anything."""
    if not _is_meant(match):
        return None
    if match["upto"]:
        first, last = _value(match["value"]), _value(match["upto"])
        if not scale[0] <= first < last <= scale[1]:
            return None  # "a score of 3-1" is a match's
    return _reading(match, scale)


def _stated(pattern, text, scale, *, sentence=False):
    """Readings of a tier's pattern, without those whose label names the scale."""
    found = []
    for match in pattern.finditer(text):
        groups = match.re.groupindex
        if "bracket" in groups and _label_names_another_scale(match, scale):
            found.append("other_scale")
            continue
        left, _ = _bounds(text, match.start(), match.end())
        clause = text.rfind(",", left, match.start()) + 1
        if _NO_RATING_LABEL.search(text, max(left, clause, match.start() - 30), match.start("value")):
            continue
        if _counts(match) or _OPTIONS.match(text, match.end()):
            continue
        reading = _sentence_reading(match, scale) if sentence else _reading(match, scale)
        if reading is not None:
            found.append(reading)
    return found


def find(text, scale):
    """Read the rating that a reply states.

    Parameters
    ----------
    text : str
    scale : (float, float)

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
    numbered = excerpt(text)
    found = _find(numbered, scale)
    if found and names_another_scale(numbered, scale):
        return ["other_scale"]
    if found and _declined(text):
        return ["refusal"]
    return sorted(set(found), key=str)


def _find(text, scale):
    """Readings of the tier that decides, of an excerpt."""
    final = _final(text, scale)
    if final:
        if "final" in text:
            return final
        # "Coherence: 2. Overall: 4" has one part and a whole, and nobody said which was asked for.
        parts = set(_aspects(text, scale))
        return [*final, *parts] if len(parts) == 1 else final
    single = len(_ANY_NUMBER.findall(f" {text}")) == 1
    named = []
    for tier in (_labelled, _next_line, _in_sentence, _given):
        named += tier(text, scale)
        if named and single:
            return named  # nothing is left that could contradict it
    if named:
        # A list of parts is a breakdown; a single one, or a single bare number, is a second statement.
        for second in (set(_aspects(text, scale)), set(_alone(text, scale))):
            named += second if len(second) == 1 else ()
        return named
    for tier in (_aspects, _mentioned, _alone, _at_the_end, _at_the_start, _in_short):
        found = tier(text, scale)
        if found:
            return found
    return []


_DECLINED = _pattern(r"\b", _KEY, _BRACKET, _COLON, r"(?: n/a | not [ ] applicable | none | unknown ) \b")


def _declined(text):
    """Whether the rating is withheld where it belongs, as in "Rating: N/A"."""
    text = text.lower()
    return _holds(text, "n/a", "not applicable", "none", "unknown") and bool(_DECLINED.search(_tidy(text)))


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
    for rest in (text[:start], text[label.end():]):
        if _ANY_NUMBER.search(" " + rest.lower()):
            return None
    return float(label[1])
