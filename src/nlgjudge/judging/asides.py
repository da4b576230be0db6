"""Strike from a reply the numbers that are nobody's verdict on the text: options, deductions, others' ratings.

What is struck becomes "⋯"; the words around it stay, so that a rating beside it is read as before.
"""

import re

from nlgjudge.judging.cleaning import LEFT_OUT
from nlgjudge.judging.numbers import NUMBER, RATING, value_of, verbose

_OF_WHOLE = rf"(?: [ ]? (?: / | out [ ] of | of ) [ ]? {NUMBER} )?"
_UNITS = r"(?: [ -]? (?: stars? | points? | pts ) \b )?"
_AMOUNT = rf"[\"'(\[]{{0,2}} {NUMBER} {_UNITS} {_OF_WHOLE} {_UNITS} [\"')\]]{{0,2}}"
_NOUN = r"(?: ratings? | scores? | reviews? | stars )"
_TO_IT = r"(?: [ ]? (?: : | = | \( | , ) [ ]? | [ ] (?: (?: of | is | was | being | as | at ) [ ] ){0,2} )"
_OTHERS = r"""
    (?: customers? | users? | critics? | audience | guests? | visitors? | diners? | hotel | restaurant
      | google | imdb | yelp | tripadvisor ) (?: 's? )?
"""
_ASIDES = [
    # "the customer rating is 1 out of 5", "a user score of 3", "(customer rating 5 out of 5)"
    rf"\b {_OTHERS} [ ] (?: review [ ] )? {_NOUN} {_TO_IT} (?: an? [ ] )? {_AMOUNT} (?! [\w/] )",
    rf"(?<! \b an [ ] ) \b average [ ] (?: user | customer | review | star )? [ ]? {_NOUN} [ ]"
    rf" (?: of | is | was ) [ ] {_AMOUNT} (?! [\w/] )",
    # "it omits the rating (5 out of 5)"
    rf"""
    \b (?: omits? | omitted | omitting | mention (?: s | ed | ing )? | includ (?: es? | ed | ing )
         | leav(?:es?|ing) [ ] out | left [ ] out
         | drops | dropped | misses | missed | skips | ignores | lacks | forgets | states | lists )
    (?: [ ] (?! (?: and | but | so | i | which | with | an? | \w{{2,17}}ing ) \b ) [\w'-]{{1,20}} ,? ){{0,5}} [ ] the
    [ ] {_NOUN} [ ]? (?: \( | of [ ] ) {_AMOUNT} (?! [\w/] )
    """,
    # "the data says that it has 4 stars"
    r"""
    \b (?: data | input | source | article | table | original | document | record | database )
    [ ] (?: says | states | lists | specifies | reports | claims ) \b
    """
    rf"(?: [ ] (?! (?: and | but | so | i ) \b ) [\w'-]{{1,20}} ){{0,10}}? [ ] {_AMOUNT} (?! [\w/] )",
    # "food, price and rating (3 out of 5)", "the text gives 5 out of 5", "the hotel's 4 stars"
    rf"(?: , | \b and ) [ ] (?: the [ ] )? rating [ ]? \( {_AMOUNT} \)?",
    r"\b (?: text | sentence | output | description | summary | response ) [ ] (?: gives | says | states | mentions )"
    rf" [ ] {_AMOUNT} (?! [\w/] )",
    r"""
    \b (?: hotel | restaurant | pub | place | venue | film | movie | book | album | game ) (?: 's )?
    (?: [ ] (?: own | has | with | its | of | gets | got ) ){0,2} [ ]
    """
    rf"{NUMBER} [ -] stars? \b",
    # "I held back one star", "minus 2 points", "two stars off", "one point deducted"
    rf"""
    (?<! stars, [ ] ) (?<! stars [ ] ) (?<! [0-9] [ ] ) (?<! [0-9] , [ ] )
    \b (?: h[eo]ld(?:ing)? [ ] back | t[ao]k(?:e|es|en|ing) [ ] (?: off | away ) | took [ ] (?: off | away )
         | deduct (?: s | ed | ing )? | subtract (?: s | ed | ing )? | minus | dock (?: s | ed | ing )?
         | knock (?: s | ed | ing )? (?: [ ] off )? | los(?: es? | t | ing ) | withh [eo] ld (?: ing )?
         | shav (?: e | ed | ing ) [ ] off | remov (?: e | es | ed | ing ) | cost s? [ ] (?: it | the [ ] \w{{1,20}} )
         | drop (?: s | ped | ping )? )
    (?: [ ] (?: only | just | off | back | by | another | half | full | a | about | the | it ) ){{0,2}}
    [ ] {NUMBER} (?: [ ] full )? [ -] (?: stars? | points? | marks? ) \b (?: [ ] off )?
    """,
    rf"\b {NUMBER} [ ] (?: stars? | points? | marks? )"
    r" [ ] (?: off | deducted | lost | docked | less | short | away [ ] from ) \b",
    # "the criteria for a score of 2", "a score 3 response would"
    rf"""
    (?<! meets [ ] the [ ] ) (?<! fits [ ] the [ ] ) (?<! matches [ ] the [ ] ) (?<! satisfies [ ] the [ ] )
    \b (?: criteri(?:a|on) | requirements? | standards? | expectations? | descriptions? | descriptors? | definition
         | threshold | level | bar | rubric | conditions? )
    [ ] (?: for | of | to [ ] (?: get | earn | receive ) ) [ ] (?: an? [ ] | the [ ] )?
    (?: (?: score | rating | grade ) s? [ ] )? (?: of [ ] )? {NUMBER} (?! [\w/] )
    """,
    rf"\b (?: score | rating | level ) [ -] (?: of [ ] )? {NUMBER} [ ]"
    r" (?: response | reply | summary | answer | text | story ) s? \b",
    # "confidence: 90%", "I'm 90% sure"
    rf"\b (?: confidence | certainty | probability ) (?: [ ] (?: level | score | rating ) )? {_TO_IT}"
    rf" (?: an? [ ] )? {NUMBER} (?: [ ]? % | [ ]? / [ ]? {NUMBER} | [ ] out [ ] of [ ] {NUMBER} | [ ] percent )?",
    # '"4 stars!" cries the reviewer', 'it says "2 out of 5"'
    r'\b (?: says | said | states | reads | writes | wrote | claims | quotes ) [ ]? [,:]? [ ]? "[^"\n]{1,250}"',
    r'"[^"\n]{1,250}" ,? [ ] (?: cries | cried | says | said | writes | wrote | exclaims | exclaimed | shouts'
    r" | shouted | reads | declares | declared ) [ ] (?: the | an? | one | his | her | its ) \b",
]
_ASIDES = re.compile("|".join(f"(?:{part})" for part in _ASIDES), re.VERBOSE)
# "5 minus 1 for the slip = 4"
_SUM = verbose(
    rf"\b {NUMBER} {_UNITS} ,? [ ] (?: minus | - ) [ ] {NUMBER} {_UNITS} [^=\n.0-9]{{0,60}}",
    rf" = [ ]? (?= {NUMBER} (?! [\w/] ) )",
)


def without(text, scale):
    """An excerpt without the numbers that state no rating of the text.

    Parameters
    ----------
    text : str
        An excerpt (`nlgjudge.judging.cleaning.excerpt`).
    scale : (float, float)

    Returns
    -------
    str

    Examples
    --------
    >>> without("1 - poor\\n2 - fair\\n3 - good\\nrating: 2", (1, 3))
    '⋯\\nrating: 2'
    >>> without("i held back one star, so four.", (1, 5)), without("customer rating: 1. score: 3", (1, 5))
    ('i ⋯, so four.', '⋯. score: 3')
    """
    if " = " in text:
        text = _SUM.sub("; so ", text)
    text = _ASIDES.sub(LEFT_OUT, text)
    text = _without_options(text)
    return _without_other_scales(text, scale)


# ---- The scale's options --------------------------------------------------------------------------------

# "1 - ", "2: ", "3 = ", "(4) ", "5 stars: " where an entry of a list begins
_ENTRY = verbose(
    r"(?: ^ | (?<= [\n.,;:(⋯] ) | (?<= [\n.,;:(⋯] [ ] ) | (?<= \b and [ ] ) | (?<= \b or [ ] ) | (?<= \b is [ ] ) )",
    r"(?: • [ ] )? (?P<opened> [\"'(\[] )? (?: (?: score | rating | level | option ) [ ] )?",
    r"(?P<number> [0-9]{1,3} ) (?: [ ] (?: stars? | points? ) )? [\"')\]]?",
    r"(?P<sign> [ ]? (?: = | : | -> | \( | \. | \) ) [ ]? | [ ] - [ ] | [ ] | [ ]? (?: means | is | for ) [ ] )",
    r"(?= [\"'(]? [a-z⋯] )",
)
_STATED = verbose(
    rf"(?: : | = | \b (?: give | rate | score | an? ) ) [ ]? {NUMBER} (?! [\w] ) | {NUMBER} [ ]? / [ ]? {NUMBER}",
)
_INTEGER = re.compile("[0-9]+")
_LAST_ENDS = re.compile(r"\n|[.;)](?= |\n|\Z)|\Z")


def _without_options(text):
    """Without lists of three consecutive integers and more, each with its words: "1: poor. 2: fair. 3: good."."""
    if len(_INTEGER.findall(text)) < 3:  # as in most replies, and quicker to see
        return text
    entries = [match for match in _ENTRY.finditer(text) if match["sign"].strip() or match["opened"]]
    if len(entries) < 3:
        return text
    pieces = []
    reached = 0
    for run in _runs(entries, text):
        last = run[-1]
        lines = text[run[-2].end() : last.start()].endswith("\n")
        end = text.find("\n", last.end()) if lines else _LAST_ENDS.search(text, last.end()).start()
        if end < 0:
            end = len(text)
        if lines and last["sign"].strip() == "." and _STATED.search(text, last.end(), end):
            continue
        pieces += [text[reached : run[0].start()], LEFT_OUT]
        reached = end
    return "".join(pieces) + text[reached:]


def _runs(entries, text):
    """Longest runs of entries that count up or down by one, at least three."""
    at = 0
    while at < len(entries) - 2:
        step = int(entries[at + 1]["number"]) - int(entries[at]["number"])
        end = at
        while (
            abs(step) == 1
            and end + 1 < len(entries)
            and int(entries[end + 1]["number"]) - int(entries[end]["number"]) == step
            and _continues(text, entries[end], entries[end + 1])
        ):
            end += 1
        if end - at >= 2:
            yield entries[at : end + 1]
        at = max(end, at + 1)


def _continues(text, entry, following):
    """Whether the next entry belongs to the same list: what stands between them is the entry's words."""
    between = text[entry.end() : following.start()]
    if len(between) > 600 or _STATED.search(between):
        return False
    if between.endswith(":") or between.endswith(": "):
        return False  # "coherence: 1 - …\nfluency: 2 - …"
    return between.endswith("\n") or not re.search("[0-9]", between)


# ---- Another scale beside ours --------------------------------------------------------------------------

_WHOLE = verbose(rf"(?: / | \b out [ ] of ) [ ]? (?P<whole> {NUMBER} ) (?! [\w/] )")
_OUT_OF_FIRST = verbose(
    rf"\b out [ ] of [ ] (?P<whole> {NUMBER} ) ,? (?: [ ] [a-z][\w'-]{{0,20}} ){{0,6}}? [ ] {NUMBER} (?! [\w/] )",
)
_STARS = verbose(RATING)


def _without_other_scales(text, scale):
    """Without "out of 10, I would say 6" where a rating on our scale, "3/5", stands in the reply as well."""
    if "out of" not in text:
        return text
    if not any(value_of(match["whole"]) == scale[1] for match in _WHOLE.finditer(text)):
        return text

    def struck(match):
        return match[0] if value_of(match["whole"]) == scale[1] else LEFT_OUT

    return _OUT_OF_FIRST.sub(struck, text)


def without_stars(text):
    """An excerpt without stars: on a scale of a hundred they are "a hotel with 4 stars"."""
    return _STARS.sub(lambda match: LEFT_OUT if "star" in match[0] else match[0], text)
