"""Where a rating is in a reply's text: reasoning and markup, numbers with what belongs to them, letters, words, JSON.

Reasoning and markup are removed in one place (`visible`) before any form is read. A wrong score is worse than none, so
whatever is doubtful has a reason and no score.
"""

import json
import math
import re
from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import numpy as np

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Rating(NamedTuple):
    """A rating, or why there is none, and its place in the reply, at which token probabilities are read."""

    score: float
    reason: str = ""
    start: int = 0
    end: int = 0


_NO_RATING = Rating(math.nan, "no_rating")
_AMBIGUOUS = Rating(math.nan, "ambiguous")
_OTHER_SCALE = Rating(math.nan, "other_scale")

_NAMES = r"(?:\w+[:_])??(?:think(?:ing)?|thoughts?|reason(?:s|ing)?|reflection|analysis|scratchpad)"
_OPEN = rf"(?:[<\[◁]\|?(?:begin_of_|start_)?{_NAMES}\|?[>\]▷]|<\|channel>thought)"
_CLOSE = rf"(?:[<\[◁]\|?(?:/|end_of_|end_){_NAMES}\|?[>\]▷]|<channel\|>)"
_UNSEEN = [
    re.compile(pattern, re.DOTALL | re.IGNORECASE)
    for pattern in (
        rf"{_OPEN}.*?(?:{_CLOSE}|\Z)",  # reasoning in tags, perhaps cut before its closing tag
        rf"\A.*{_CLOSE}",  # its opening tag was part of the prompt
        r"<\|channel\|>(?!final).*?(?=<\|channel\|>final|\Z)",  # channels, as gpt-oss writes them
        r"\A\s*analysis.*assistant\s*final",  # the same without special tokens
        r"<\|channel\|>final.*?<\|message\|>",
        r"<\|[^<>|]*start[^<>|]*\|>\w*|<\|[^<>|]*\|>|</?s>|&nbsp;|<(?:start|end)_of_turn>",  # special tokens
    )
]
_MARKUP = str.maketrans(
    '*_`#\u00a0"“”' + "–−‑—―－﹣" + "：／⁄％٪．٫，٬～〜＋＝（）",
    "     '''" + "-" * 7 + "://%%..,,~~+=()",
)


def visible(text):
    """Blank out reasoning and special tokens, in whichever tags or channels; the length stays the same.

    Examples
    --------
    >>> visible("<think>Or 2?</think>Rating: 4").strip()
    'Rating: 4'
    """
    for pattern in _UNSEEN:
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return text


def find_rating(text, reading):
    """Read a reply as a `Reading` says; the place of its rating counts characters of the text."""
    spellings = reading.spellings
    scale = reading.scale if spellings is NUMBERS else (-math.inf, math.inf)
    own = _own(reading.pattern or "((?!))")
    text = visible(text) if isinstance(text, str) else ""
    plain = text.translate(_MARKUP)
    if not re.search(r"[^\W_]|[★⭐🌟]", plain):
        return Rating(math.nan, "empty")
    if matches := _matches(text, own):
        return _agreed(_read(match, spellings, scale) for match in matches)
    aspect = _folded(reading.aspect)
    if reading.form == "json":
        return _find_in_json(text, _folded(reading.key) or aspect, not reading.key, scale)
    if spellings is NUMBERS:
        rating = _find_anywhere(text, plain, aspect, scale)
    else:
        rating = _find_option(plain, spellings, scale)
    if rating == _NO_RATING and _REFUSAL.search(text):
        return Rating(math.nan, "refusal")
    return rating


def _folded(text):
    return " ".join(text.lower().replace("_", " ").split())


# ---- How ratings are written --------------------------------------------------------------------------------
# A number takes what belongs to it: sign, decimals, unit, highest rating. Its parts give nothing back, so that no
# shorter number is left, and what else may belong to it is the group `more`, with which there is no rating.


def _pattern(pattern):
    return re.compile(pattern, re.VERBOSE | re.IGNORECASE | re.MULTILINE)


def _matches(text, *patterns):
    return [match for pattern in patterns for match in pattern.finditer(text)]


def _blanked(match):
    return " " * len(match[0])


_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {word: float(value) for value, word in enumerate(_WORDS)}
_WORD = rf"\b(?:{'|'.join(NUMBERS)})(?:\b|(?=[½⅓⅔¼¾]))"
# Numbers that are not read.
_UNREAD = r"""(?: \b(?: eleven | twelve | (?:thir|four|fif|six|seven|eigh|nine)teen
    | (?:twen|thir|for|fif|six|seven|eigh|nine)ty | hundred | thousand | half )\b | [①-⓿] )"""
_BLANK = r"[^\S\n]*+"
_SIGN = rf"(?: [-+] {_BLANK} | (?: minus | negative | plus ) \s+ )?+"
_DIGITS = r"(?: \d++ (?: \.\d++ | ,\d{1,2}+(?!\d) )?+ | \.\d++ )"
_STARS = r"(?: [★⭐🌟]\ufe0f? )++"
_UNIT = rf"(?: {_BLANK} -?+ {_BLANK} (?:stars?|points?|pts)\b (?! \s+ {_WORD} ) )?+"
# A second number, and what may lead to it.
_SECOND = rf"""[(\[{{$"]*+ {_BLANK} (?: {_SIGN} \.?\d | [½⅓⅔¼¾] | {_STARS} | {_SIGN} (?: {_UNREAD}
    | {_WORD} (?! [^\S\n]+
        (?! (?: stars? | points? | out | of | and | hundred | thousand | quarters? | thirds? | fifths? )\b ) \w ) ) )"""
_HEDGE = r"""(?: (?: or | and | but | to | maybe | perhaps | possibly | probably | almost | nearly | even | about
    | around | approximately | could | might | may | be | an? | up | down | now | rather | closer | no | not | rounded
    | i | mean | make | that | it | leaning | towards? | upgraded | downgraded | raised | lowered | adjusted )\b
    (?: [^\S\n] | [,.!:…-] )*+ )"""
_JOIN = r"""(?: [-~/,;|&=×÷x:+<>\\→⇒➜⟶…] | \.\.
    | \b(?: through | thru | till | until | vs | versus | minus | plus | times | less | point | over | becomes
        | ou | oder | bis | und | et )\b )++"""
_COUNTED = r"""(?: [a-z]+ [ ] )? (?: error | mistake | word | fact | sentence | time | issue | problem | slip | typo
    | year | month | day | hour | minute | second | kg | km | hundred | thousand | [mb]illion | dozen | half | halve
    | quarter | third | fourth | fifth | tenth )s?\b"""
_MORE = rf"""(?: {_BLANK} \( [^()\n]*+ \) )? {_BLANK} (?:
        {_JOIN} \.?+ {_BLANK} {_HEDGE}{{0,4}}+ {_SECOND}
        | [(,.;!\[]?+ {_BLANK} {_HEDGE}{{1,5}}+ {_SECOND}
        | for \s+ [^\W\d]++ [,;]? (?:\s+and)? \s+ {_SECOND}
        | points? \s+ {_WORD}
        | {_COUNTED}
        | \.?\d | [½⅓⅔¼¾?^~+→⇒➜≤≥] | [-=]>
        | and \s+ (?: an?\s+ )? (?:half|bit|quarter)\b
        | or \s+ (?: high | more | above | below | less | low | better | worse | under | over | so )
        | (?:out\s+)? of \s+ (?: the | these | all )\b | at \s+ (?: most | least )\b
        | (?: is | means | indicates | would | if | unless | when | stands | denotes | represents )\b )
    | [\w%‰€°\\^☆★✩] | [.,:·'’]\d | -[^\W\d]"""
_END = r"[-+]?\d+(?:\.\d+)?"
_TO = rf"{_BLANK} (?: - | to | and | \.\.+ ) {_BLANK}"
_TOP = rf"""(?: (?: / | (?: von | sur | de | из )\b (?= \s* \d )
        | (?:out\s+)?+ of\b (?: \s+ (?: an? | possible | maximum | total | of )\b )*+ )
    {_BLANK} (?P<top> {_DIGITS} | {_WORD} ) | (?P<percent> \\?% | (?:per\s?cent|pct)\b ) )"""
_NUMBER = rf"""
    (?P<rating> {_SIGN} (?: {_DIGITS} | {_WORD} | {_UNREAD} (?: [- ] \w++ )?+ ) | {_STARS} )
    [\ufe0f\u20e3]*+ (?P<empty> [☆✩]*+ ) [\])}}>$]*+ {_UNIT}
    (?: {_BLANK} [(,]?+ {_BLANK} {_TOP} {_UNIT} \)?+ )?+ {_UNIT}
    (?: {_BLANK} [(\[] {_BLANK} {_END} {_TO} (?P<highest> {_END} ) {_BLANK} [)\]] )?+
    (?= {_BLANK} \( {_BLANK} (?P<again> {_DIGITS} | {_WORD} ) {_BLANK} (?: / {_BLANK} \d++ {_BLANK} )?+ \) )?
    (?= (?P<more> {_MORE} )? )"""
# Before a number, nothing that may belong to it.
_LEAD = r"(?: [^\w.,+\-~<>≈±∓√≤≥≠¬/\\^★⭐🌟☆✩$€£¥] | ^>(?=\s) | <(?=[^<>\n]*>) | \\\( | \$(?=[^$\n]*\$) )*+"
_BULLET = r"(?P<bullet> [-+] (?=[^\S\n]) )?+ [^\S\n]*+"
_LISTED = _pattern(rf"^ {_BLANK} \d++ [.)] (?= {_BLANK} \S )")
_ANY_NUMBER = _pattern(rf"(?<![\w.,]) {_SIGN} {_DIGITS}")
# A scale that the reply states, and its top.
_RANGE = rf"{_END} {_TO} ({_END})"
_STATED = _pattern(
    rf"""(?: \b on \s+ (?:an?|the) \s+ )?+
        (?: \b scale \b (?: \s+ (?: is | of | from | between | ranges? ) | : )*+ {_BLANK} {_RANGE}
        | (?<![\w.]) ({_END} | {_WORD}) [ -]? (?:point|star)s? [ -] (?: likert \s+ )? scale \b )
    | (?<![\w.]) {_RANGE} (?: \s+ [^\W\d]+ )? \s+ scale \b
    | [(\[] [^()\[\]\n]*? (?<![\w.]) {_RANGE} [^()\[\]\n]* [)\]] (?= {_BLANK} [:=] )
    | (?: out \s+ of | / ) {_BLANK} ({_END}) {_BLANK} [)\]]? (?= {_BLANK} [:=] )
    | (?<![\w.]) ({_END}) \s* (?: = | is \s+ the\b ) \s* (?: best | perfect | highest )\b
    | \b max(?:imum)?\b [.:]? (?: \s+ (?:score|rating|of|is|points?)\b )*+ [:=]? {_BLANK} ({_END}) (?!\w)"""
)
# What a label names that is no rating of the text, and what may stand before a label.
_OTHER = _pattern(
    r"""confidence|certainty|probability|likelihood|scale|range|bleu|rouge|meteor|chrf|comet|bertscore|bartscore
    |perplexity|number|count|length|words|sentences|errors|mistakes|issues|facts|reasons|step|item|example|sample|id
    |threshold|weight|previous|initial|human|expected|average|mean|baseline|reference|highest|lowest|maximum|minimum
    |max|min|top|full|perfect|possible|passing|best|worst|other|temperature|version|year|page|line|paragraph
    |question|option|f1|z|target|seed|deviation|variance|far|if|when|unless|whether|not|than|until|lack|absence|non
    |opposite|inverse"""
)
_BEFORE = _pattern(
    r"""the|my|a|an|this|its|your|our|final|overall|total|single|numerical|numeric|so|thus|therefore|hence|then|and|as
    |is|with|of|for|quality|evaluation|assigned|given|response|text|summary|story
    |result|verdict|judgment|judgement|assessment|excellent|great|good|fair|moderate|neutral
    |acceptable|poor|bad|perfect|yes|no|somewhat|slightly|related|bewertung|note|nota|puntuación|calificación|voto
    |punteggio|valutazione|оценка|puan|评分|得分|分数|スコア|評価|점수|평점"""
)
# A word of change, and how near to it the other verdict stands that takes a first one back.
_CHANGE = _pattern(
    r"""\b (?: actually | wait | hmm | sorry | misread | mistaken? | reconsider\w* | scratch \s+ that | at\s+first
    | initially | on\s+(?:reflection|second\s+thoughts?) | correct(?:ion|ed|ing) | revis(?:ed|ing|ion) | chang(?:ed|ing)
    | updated? | edit(?:ed)? | let\s+me\s+(?:change|revise|correct|lower|raise|adjust) )\b"""
)
_NEAR = 60  # characters
_VALUE = _pattern(
    rf"""(?<![\w.,/-]) (?! (?:1[5-9]|20)\d\d\b )  # no year
    (?! (?<=\w[ ]) (?<!\b(?:to|is|it)[ ]) (?<!\bsay[ ]) one\b )  # no "the other one"
    (?P<rating> {_SIGN} (?: {_DIGITS} | {_WORD} | {_UNREAD} (?: [- ] \w++ )?+ ) )
    (?! [\w%] | {_BLANK} {_COUNTED} | [ ] (?! points | stars | th[iu]s ) [a-z]{{3,}}s\b )"""
)
_REFUSAL = re.compile(
    r"(?i)\b(?:cannot|can't|unable to|not (?:able to|applicable|possible)|as an ai|i(?:'m| am) sorry|n/a)\b"
)


@lru_cache
def _numbers(aspect):
    """Patterns of numbers that are the whole reply or have a label; of one alone on its line; of other places."""
    aspect = re.escape(aspect) or "(?!)"
    noun = r"(?: rating | score | grade | stars | answer )s?+"
    other = r"(?: response | evaluation | result | verdict | judge?ment | assessment | edit | correction )s?+"
    before = r"(?P<before> (?: \w[\w-]*+ [^\S\n]++ ){0,2}? )"
    bracket = r"(?: [(\[] [^()\[\]\n]* [)\]] \s*+ )?+"
    whole = rf"""\A \s*+ {_LEAD} {_BULLET}
        (?: (?P<before> [^\W\d] [\w -]{{0,40}}? (?= [\s']*+ {bracket} [:=] ) | [^\W\d_]++ (?= [ ]\( ) )
            [\s']*+ (?: {bracket} [:=] )?+ )?+
        {_LEAD} {_NUMBER} {_BLANK} (?: \( [^()\n]*+ \) )?+ [^\w]*+ \Z"""
    labelled = rf"""(?<![\w/-]) (?<! e\.g\.[ ] ) (?P<tag> < {_BLANK} )? {before} (?:
            (?: {noun} (?: \s+ (?:for|of|on) \s+ (?: (?:the|its) \s+ )? {aspect} )?+ | {aspect} )
            \s*+ {bracket} (?(tag) > | (?: [:=] | \|(?!\s*\n) | is\b (?: \s*+ : )?+ ) )
            | {other} \s*+ {bracket} (?(tag) > | [:=] ) )
        (?: [^\S\n]*+ (?!\n) | \s*+ (?(tag) | (?! \d++ [.)] [^\S\n] ) ) ) (?: an?\s+ )?+ {_LEAD} {_NUMBER}"""
    boxed = rf"(?P<before>) \\boxed {_BLANK} \{{ {_BLANK} (?: \\(?:text|math)\w*+ \{{ )?+ {_NUMBER}"
    line = rf"""^ {_LEAD} {_BULLET} {_NUMBER}
        (?: [^\w\n] | (?(more) (?: e?\d | {_WORD} | (?:and|or|to|half|quarters?|hundred|thousand)\b ) | (?!) ) )*+ $"""
    first = rf"""\A {_LEAD} {_BULLET} (?! 1[.)](?!\d) ) {_NUMBER}
        (?(more) | (?= {_BLANK} [-:.,;(=] ) )"""
    sentence = rf"""\b (?<! if[ ] ) I (?: \s+ (?:would|will|can|must) | ['’](?:d|ll) )?
        \s+ (?: rate | give | score | assign | grade )
        (?: [ ]+ (?! (?: {_WORD} | no | not | never | than | least | most | over | under | between | about | around
            | if | almost | nearly | approximately | roughly | maybe | point | page | line | number | step | version )\b
            | {_UNREAD} )
            [a-z'’-]++ ){{0,8}}? [ ]+
        {_NUMBER} (?(more) | (?= {_BLANK} (?: [-.,;:!)\n] | \Z | (?:because|since|as|for|on|due|in)\b ) ) )"""
    return (
        (_pattern(whole), _pattern(labelled), _pattern(boxed)),
        _pattern(line),
        (_pattern(first), _pattern(sentence)),
    )


def _find_number(text, aspect, scale):
    """A number that is the whole reply or has a label; else one that stands apart, if no other competes with it."""
    tops = {_number(top) for stated in _STATED.findall(text) for top in stated if top}
    if tops - {float(scale[1])}:
        return _OTHER_SCALE
    text = _STATED.sub(_blanked, text)
    labels, line, apart = _numbers(aspect)
    labelled = [match for match in _matches(text, *labels) if _names_rating(match, aspect)]
    matches = labelled + _matches(text, line)
    rest = _LISTED.sub(_blanked, text) if matches else text
    matches = matches or _matches(text, *apart)
    rating = _agreed(_read(match, NUMBERS, scale) for match in matches)
    rivals = ()
    if not labelled:
        for match in matches:
            rest = rest[: match.start()] + _blanked(match) + rest[match.end() :]
        rivals = map(_number, _ANY_NUMBER.findall(rest))
    return _unless_contradicted(rating, rest, _VALUE, NUMBERS, scale, rivals)


def _unless_contradicted(rating, text, values, spellings, scale, rivals=()):
    """The rating, if it has no rival on the scale and no other one follows soon on a word of change behind it."""
    others = {number for number in rivals if scale[0] <= number <= scale[1]}
    for change in _CHANGE.finditer(text, rating.end):
        near = values.finditer(text, change.end(), change.end() + _NEAR)
        others |= {_number(value["rating"], spellings) for value in near}
    return _AMBIGUOUS if others - {rating.score} and not rating.reason else rating


def _names_rating(match, aspect):
    """Whether the words before a number are no name of another one."""
    nouns = r"(?:rating|score|grade|star|answer)s?\b"
    words = re.findall(rf"\b(?!{nouns})\w+", (match["before"] or "").lower())
    stems = {word[:5] for word in aspect.split()}
    is_ours = not aspect or not words or _BEFORE.fullmatch(words[-1]) or words[-1][:5] in stems
    return is_ours and not any(map(_OTHER.fullmatch, words))


# An option that may begin a reply: a letter, yes or no, and a text that ends in a letter or number of its own. A
# number alone may begin a list.
_HEAD = re.compile(r"(?!\d\Z)(?:.*\W)?(?:[^\W_]|yes|no)\W*")
_OPTION_ENDS = r"""(?= \W*+ \Z | [^\S\n]* (?: [-.):,;!=\]}'(] | \n )
    | \s+ (?:it|this|that|the|they|he|she|there|because|since|as|i|in|all|both)\b )"""


def _any_of(texts):
    longest_first = sorted(map(re.escape, texts), key=len, reverse=True)
    return "|".join(longest_first).replace(r"\ ", r"\s+")


@lru_cache
def _options(spellings):
    """Patterns of an option given as the answer or at the start; of one alone; of one anywhere."""
    heads = [text for text in spellings if _HEAD.fullmatch(text)] or [*spellings]
    head = _any_of(heads)
    others = _any_of({*spellings} - {*heads})
    both = rf"""(?= (?P<more> \W{{1,3}} (?: (?:and|or)\b \W{{1,3}} )?+ (?:{head}) (?!\w|\s+\w)
        | \W{{0,2}} (?: [/|,] | and\b | or\b ) \W{{0,2}} (?:{head}) (?!\w) )? )"""
    option = rf"""(?P<rating>{head}) (?!\w) {both} (?(more) | {_OPTION_ENDS} )
        (?: \W* (?P<text>{others}) (?!\w) )?"""
    named = r"""(?: (?<! if[ ]the[ ] ) \b (?:answer|choice|option)\b (?: \s* \( [^()\n]* \) )? [^\w.!?;]*
        (?: (?: is | would\s+be )\b )? (?: [^\w.!?;]* option\b )?
        | (?<! \bis[ ] ) \b (?:better|best|winner|verdict|preferred|preference|decision)
            (?: [^\S\n]+ \w+ )? \s*+ (?: [:=] | is\b )
        | \[ (?=\[) ) [^\w.!?;]*"""
    stands = rf"(?!\w) (?: {_OPTION_ENDS} | (?= \s+ (?:is|was|has|does|for|on|after|now|instead|overall)\b ) )"
    # At the start, if no other one heads a later line or sentence.
    first = rf"""\A \W* (?! \w+ \W+ \w \W* : ) {option}
        (?! (?s:.*) (?: ^ | [.!?;][')\]]* \s ) [^\w\n]* (?! (?P=rating)(?!\w) ) (?:{head}) {stands} )"""
    return (
        (_pattern(rf"{named} {option}"), _pattern(first)),
        _pattern(rf"\A \W* (?: {named} )? (?P<rating>{_any_of(spellings)}) \W* \Z"),
        _pattern(rf"(?<!\w) (?P<rating>{head}) {stands}"),
    )


def _find_option(text, spellings, scale):
    """An option given as the answer, or at the start if no other one heads a line or sentence; else one alone."""
    answers, alone, anywhere = _options(tuple(spellings))
    matches = _matches(text, *answers) or _matches(text, alone)
    rating = _agreed(_read(match, spellings, scale) for match in matches)
    return _unless_contradicted(rating, text, anywhere, spellings, scale)


def _find_anywhere(text, plain, aspect, scale):
    """A rating in a reply's text, or in a JSON object in it; both must agree."""
    in_json = _find_in_json(text, aspect, True, scale)
    if in_json.reason in ("not_json", "no_rating"):
        return _find_number(plain, aspect, scale)
    without_json = re.sub(r"\{.*\}", _blanked, plain, flags=re.DOTALL)
    beside = _find_number(without_json, aspect, scale)
    return in_json if beside == _NO_RATING else _agreed((beside, in_json))


_RATED = {"rating", "score", "overall", "stars"}
# Members of JSON that state a scale: its last number is the top.
_TOPS = re.compile(
    "max(imum)?( score| rating| points)?|out of|(rating )?scale( max)?|total possible"
)


def _find_in_json(text, name, or_another, scale):
    """The value of the rating's name, or of another rating's; the least deep one and the name's own must agree."""
    try:
        load_json(text)
    except ValueError:
        return Rating(math.nan, "not_json")
    places = []
    for names, start, end in _members(text):
        tops = re.findall(r"\d+(?:\.\d+)?", text[start:end])
        if _TOPS.fullmatch(names[-1]) and tops and float(tops[-1]) != scale[1]:
            return _OTHER_SCALE
        if names[-1] in _RATED | {name} and (or_another or name in names):
            places.append((len(names), name not in names, start, end))
    own = [place for place in places if not place[1]]
    chosen = [min(some, default=())[:2] for some in (places, own)]
    return _agreed(
        _find_number(" " * start + text[start:end].translate(_MARKUP), "", scale)
        for *rank, start, end in places
        if tuple(rank) in chosen
    )


_JSON = re.compile(
    r'"(?P<name>(?:[^"\\]|\\.)*+)"\s*:|(?P<open>[{\[])|(?P<close>[}\]])'
    r'|"(?P<text>(?:[^"\\]|\\.)*+)"|(?P<value>[^\s,{}\[\]:"]++)'
)


def _members(text):
    """Names from the outermost to a value's own, in lower case, and its place, of each value with a name."""
    outer = []
    name = ""
    for part in _JSON.finditer(text, text.index("{"), text.rindex("}") + 1):
        if part["open"]:
            outer.append(name)
        elif part["close"]:
            outer.pop()
        elif part["name"] is None and name:
            yield [*outer, name], *part.span("value" if part["value"] else "text")
        name = _folded(part["name"] or "")


def load_json(text, **options):
    """The JSON object in a visible reply, despite raw line breaks and trailing commas; ValueError without one."""
    braces = re.search(r"\{.*\}", text, re.DOTALL)
    text = re.sub(r",(?=\s*[}\]])", "", braces[0]) if braces else ""
    try:
        return json.loads(text, strict=False, **options)
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error


@lru_cache
def _own(pattern):
    compiled = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    if not compiled.groups:
        raise ValueError(rf"{pattern=}: expected a group around the rating, as in 'Verdict: (\d)'")
    return compiled


def marks(texts):
    """What stands for each option: the letter or number in which each text ends, else A, B, C in their order.

    Examples
    --------
    >>> marks(["Output (a)", "Output (b)"]), marks(["good", "bad"])
    (['a', 'b'], ['a', 'b'])
    >>> marks(["response 2", "response 1"])
    ['2', '1']
    """
    found = re.findall(r"(?m)(?<!\w)[^\W_](?=[^\w\n]*$)", "\n".join(texts).lower())
    return found if len({*found}) == len(texts) else [*LETTERS.lower()[: len(texts)]]


def lettered(options, scale):
    """Texts of a choice's options, in lower case and without underscores, with their scores."""
    hint = """form='choice' needs options={"text of A": 5, "text of B": 3, …} or a list of texts, lowest first"""
    texts = [*map(_folded, options or ())]
    if not 2 <= len({*texts} - {""}) == len(texts) <= len(LETTERS):
        raise ValueError(f"options={options!r}: expected 2 to 26 different texts; {hint}")
    scores = options.values() if isinstance(options, dict) else np.linspace(*scale, len(texts))
    scores = [*map(float, scores)]
    if not all(map(math.isfinite, scores)):
        raise ValueError(f"options={options!r}: a score that is no number; {hint}")
    return dict(zip(texts, scores))


def _agreed(ratings):
    """The rating that all of them give, at its last place."""
    verdicts = {rating.reason or rating.score: rating for rating in ratings}
    if len(verdicts) > 1:
        return _AMBIGUOUS
    return next(iter(verdicts.values()), _NO_RATING)


def _read(match, spellings, scale):
    """The rating of a match, or why it has none."""
    group = "rating" if "rating" in match.re.groupindex else 1
    parts = defaultdict(str, match.groupdict(""))
    value = _number(match[group] or "", spellings)
    if value is None:
        return _NO_RATING
    is_listed = parts["bullet"] and not parts["before"] and scale[0] < 0
    goes_on = parts["more"] or re.match(r"[.,]?\d", match.string[match.end(group) :])
    again = {_number(parts[name], spellings) for name in ("text", "again") if parts[name]}
    if is_listed or goes_on or again - {value}:
        return _AMBIGUOUS
    tops = {_number(parts[name]) for name in ("top", "highest") if parts[name]}
    tops |= {100.0} if parts["percent"] else set()
    tops |= {value + len(parts["empty"])} if parts["empty"] else set()
    if tops - {float(scale[1])} or (100 <= scale[1] < math.inf and 0 < value < 1):
        return _OTHER_SCALE
    if not scale[0] <= value <= scale[1]:
        return Rating(math.nan, "out_of_range")
    return Rating(value, "", *match.span(group))


def _number(text, spellings=NUMBERS):
    """Value of "4", "4,5", "- four" or stars; of "B" or "yes" where `spellings` has them; None of anything else."""
    text = _folded(text)
    if spellings is not NUMBERS:
        return spellings.get(text)
    negative, text = re.fullmatch(r"(?:(-|minus |negative )|\+|plus )? ?(.*)", text).groups()
    if stars := re.findall("[★⭐🌟]", text):
        return float(len(stars))
    try:
        value = NUMBERS[text] if text in NUMBERS else float(text.replace(",", "."))
    except ValueError:
        return None
    return -value if negative else value
