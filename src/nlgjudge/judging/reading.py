"""How a reply is read: one object that gives a score, or NaN with a reason; never 0, and never a row less.

A prompt or a recording declares its `Reading`. Reasoning and markup are removed in one place (`visible`) before any
form is read. A wrong score is worse than none, so whatever is doubtful is NaN. Token probabilities are read at the
tokens where the reply's own rating is read (G-Eval, equation 1). A rating may be one token, part of one (" 4", "4.")
or several ("8" and "5", "-" and "1"); where an alternative's first token does not tell which rating it would become,
there is no score.
"""

import json
import math
import re
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.choices import check_known
from nlgjudge.judging.estimators import from_logprobs, get_estimator

FORMS = ("form", "stars", "number", "yes_no", "json", "choice")
POLICIES = ("nan", "leading_or_0", "store_3", "drop", "first_digit", "first_digit_or_0")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# Reasons.
SPLIT = "split_rating"
NO_PROBABILITIES = "no_probabilities"
# The largest share of the ratings' probability on alternatives that may still become several ratings.
_UNDECIDED = 0.001
_ROUNDING = 0.01  # how far probabilities may add up to more than 1
_SEVERAL_DIGITS = re.compile(r"\W*\d\d+\W*")


class Score(NamedTuple):
    """A parsed reply.

    Attributes
    ----------
    score : float
        On the protocol's scale; NaN if there is none.
    reason : str
        Why it is NaN, else empty.

        - `empty`: the reply holds nothing but reasoning or markup.
        - `refusal`: the judge says that it cannot rate.
        - `no_rating`: no rating was found.
        - `ambiguous`: different ratings, a range ("2-3"), or what may make the number another one ("4, maybe 5").
        - `out_of_range`: a rating outside the scale.
        - `other_scale`: a rating on another scale ("7/10" on 1 to 5); never converted.
        - `not_json`: the form is JSON and the reply is not.
    """

    score: float
    reason: str = ""


class Found(NamedTuple):
    """A `Score` and the place of the rating in the reply, from which token probabilities are read."""

    score: float
    reason: str
    start: int = 0
    end: int = 0


class Likely(NamedTuple):
    """Log-probabilities of the ratings in a reply.

    Attributes
    ----------
    logprobs : dict of float to float
        By rating, as the server gave them; they need not add up to 1. Empty where there are none.
    reason : str
        Why there are none: a reason of `nlgjudge.judging.reading.Score`, `split_rating`, or
        `no_probabilities` where the numbers are no logarithms of probabilities.
    score : float
        The rating that the reply itself gives.
    """

    logprobs: dict
    reason: str = ""
    score: float = math.nan

    @property
    def mass(self):
        """Probability on ratings, in [0, 1]."""
        return min(1.0, math.fsum(map(math.exp, self.logprobs.values())))

    def by(self, estimator="expected"):
        """One number, by an estimator of `nlgjudge.judging.estimators`; NaN where there is no rating."""
        if not self.logprobs:
            return math.nan
        ratings = sorted(self.logprobs)
        p = from_logprobs([self.logprobs[rating] for rating in ratings])
        return float(get_estimator(estimator)(p, ratings))


class Reading(NamedTuple):
    r"""How a reply is read.

    Attributes
    ----------
    form : {"form", "stars", "number", "yes_no", "json", "choice"}
        `form`, `stars` and `number` accept a number that is the whole reply ("4/5", "four", "2 (natural)"), or
        has a label ("Rating: 4", "Coherence: 4", "<score>4</score>"), alone on its line too if all agree. Without
        these, a number alone on its line, at the beginning ("4. The text is fluent.") or in "I would rate it 4",
        if no other number on the scale is in the reply. Any other sentence needs a `pattern`.
        `yes_no` gives 1 and 0: the first word, or behind "answer". `json` reads the value of `key`, else of the
        aspect, "score", "rating", "overall" or "stars": the least deep one, and all that are as deep must agree.
    scale : (float, float)
        Lowest and highest rating; infinite ones take any number as it is.
    pattern : str
        Regular expression for ratings that the default does not read. Its first group, or the group `rating`,
        is the number; a group `top` is the highest rating that the reply names. It sees the reply without
        reasoning, goes before the default, and all its matches must agree.
    options : dict of str to float, or list of str
        With `choice`, the options in the order of their letters. A dict gives each its score; a list spreads
        them evenly over the scale, lowest first.
    key : str
        With `json`, the name of the rating.
    aspect : str
        The aspect that was asked about; its name is a label as "rating" is.

    Examples
    --------
    >>> Reading().read("It wanders off.\nRating: 2")
    Score(score=2.0, reason='')
    >>> Reading().read("Score: 7/10")
    Score(score=nan, reason='other_scale')
    >>> Reading("yes_no").read("<think>Yes?</think>No")
    Score(score=0.0, reason='')
    >>> Reading(pattern=r"评分：(\d)分").read("评分：4分")
    Score(score=4.0, reason='')
    >>> Reading().weigh([["4", [["4", -0.5], ["5", -1.5], ["I", -3.0]]]]).logprobs
    {5.0: -1.5, 4.0: -0.5}
    """

    form: str = "form"
    scale: tuple = (1, 5)
    pattern: str = ""
    options: dict = {}
    key: str = ""
    aspect: str = ""

    def read(self, text):
        """Read the rating that a reply gives.

        Parameters
        ----------
        text : str

        Returns
        -------
        Score

        Raises
        ------
        ValueError
            For an unknown form, `choice` without usable options, or a pattern without a group.
        """
        return Score(*self.find(text)[:2])

    def write(self, rating):
        """Write a reply that is read as this number.

        Parameters
        ----------
        rating : float or None
            NaN and None give an empty reply. A number that no word of a yes/no prompt or a choice stands for is
            written as a number, which is no rating there.

        Returns
        -------
        str
        """
        if rating is None or math.isnan(rating):
            return ""
        number = f"{rating:.9f}".rstrip("0").rstrip(".")
        if self.form == "json":
            return f'{{"{self.key or self.aspect or "rating"}": {number}}}'
        words = self.spellings if self.form in ("yes_no", "choice") else {}
        return next((word for word, value in words.items() if value == rating), number)

    def find(self, text):
        """Read a reply, and say where its rating is: `start` and `end` count characters of `text`."""
        said = self.spellings
        text = visible(text) if isinstance(text, str) else ""
        plain = text.translate(_MARKUP)
        if not re.search(r"[^\W_]|[★⭐🌟]", plain):
            return Found(math.nan, "empty")
        aspect = self.aspect.lower().replace("_", " ")
        matches = _matches(text, _own(self.pattern)) if self.pattern else []
        if matches:
            return _decided(matches, said, self.scale)
        if self.form == "json":
            key = self.key.lower().replace("_", " ")
            return _find_in_json(text, key or aspect, not key, self.scale)
        if self.form == "yes_no":
            found = _decided(_matches(plain, *_YES_NO), said, self.scale)
        elif self.form == "choice":
            ways = _choices(tuple(lettered(self.options, self.scale)))
            matches = next(filter(None, (_matches(plain, way) for way in ways)), [])
            found = _decided(matches, said, self.scale)
        else:
            found = _find_anywhere(text, plain, aspect, self.scale)
        if found.reason == "no_rating" and _REFUSAL.search(text):
            return Found(math.nan, "refusal")
        return found

    def is_open(self, text):
        """Whether more digits at the end of a text would make its rating another one."""
        score = self.read(text).score
        longer = [self.read(text + digit) for digit in "0123456789"]
        return any(other.score != score for other in longer if not other.reason)

    def read_all(self, texts, policy="nan"):
        """Read many replies.

        Parameters
        ----------
        texts : sequence of str
        policy : {"nan", "leading_or_0", "store_3", "drop", "first_digit", "first_digit_or_0"}
            What an unread reply counts as. The default is NaN. The others repeat upstream's scripts: G-Eval's takes a
            number at the start, else 0, and checks no range; AltTest's stores 3; `drop` leaves the row out; Chiang and
            Lee's two take the first digit after the last "rating:", else NaN (`first_digit`) or 0
            (`first_digit_or_0`), and check no range.

        Returns
        -------
        pandas.DataFrame
            `score, reason`, indexed like `texts`.

        Raises
        ------
        ValueError
            For an unknown policy, and as `read` does.
        """
        check_known("policy", policy, POLICIES)
        texts = pd.Series(texts)
        read = cache(_UPSTREAM.get(policy, self.read))
        lines = [read(text or "" if policy in _UPSTREAM else text) for text in texts.tolist()]
        frame = pd.DataFrame(lines, columns=["score", "reason"], index=texts.index)
        if policy == "store_3":
            frame["score"] = frame["score"].fillna(3.0)
        return frame.dropna(subset=["score"]) if policy == "drop" else frame

    @property
    def spellings(self):
        """What a rating may be written as, other than as a number: its score by the word or letter."""
        check_known("form", self.form, FORMS)
        if self.form == "yes_no":
            return {"yes": 1.0, "no": 0.0}
        if self.form == "choice":
            texts = lettered(self.options, self.scale)
            return dict(zip(LETTERS.lower(), texts.values())) | texts
        return _NUMBERS

    def weigh(self, tokens):
        """Find the log-probabilities of the ratings at the tokens of a reply's rating.

        Parameters
        ----------
        tokens : list
            ``[token, [[alternative, logprob], ...]]`` for each token, as a `Reply` holds them.

        Returns
        -------
        Likely
        """
        text = "".join(token for token, _ in tokens)
        rating = self.find(text)
        if rating.reason:
            return Likely({}, rating.reason)
        if not are_probable(tokens):
            return Likely({}, NO_PROBABILITIES, rating.score)
        with_decimals = "." in text[rating.start : rating.end]
        allowed, scale = self._allowed, tuple(self.scale)
        found = {}
        before = ""  # the rating as far as the tokens have spelled it
        path = 0.0  # their log-probability
        place = 0
        for token, alternatives in tokens:
            start, place = place, place + len(token)
            is_behind = start >= rating.end
            if place <= rating.start:
                continue
            if is_behind and not _begins(before, allowed, scale, with_decimals)[1]:
                break
            given = _given(alternatives)
            whole = any(_SEVERAL_DIGITS.fullmatch(other) for other in given)
            for other, logprob in given.items():
                if other != token:
                    value, is_open = _begins(before + other, allowed, scale, with_decimals)
                    value = SPLIT if is_open and not (whole and not with_decimals) else value
                    _add(found, value, path + logprob)
            before += token[max(0, rating.start - start) :]
            path += given.get(
                token, math.log(max(1 - math.fsum(map(math.exp, given.values())), 1e-300))
            )
            if is_behind:
                break
        value = _begins(before, allowed, scale, with_decimals)[0]
        _add(found, rating.score if value is None else value, path)
        undecided = found.pop(SPLIT, -math.inf)
        if undecided - max(found.values()) > math.log(_UNDECIDED):
            return Likely({}, SPLIT, rating.score)
        return Likely(found, "", rating.score)

    @property
    def _allowed(self):
        """The ratings of the form by their spelling, the longest first."""
        said = self.spellings
        if self.form not in ("yes_no", "choice"):
            low, high = self.scale
            said = {word: value for word, value in said.items() if low <= value <= high}
            whole = range(math.ceil(low), math.floor(high) + 1)
            said |= {str(value): float(value) for value in whole}
        return tuple(sorted(said.items(), key=lambda pair: -len(pair[0])))


TEXT = Reading("text", ())  # a reply that holds no rating


_NAMES = r"(?:\w+[:_])??(?:think(?:ing)?|thoughts?|reason(?:s|ing)?|reflection|analysis|scratchpad)"
_OPEN = rf"(?:[<\[◁]\|?(?:begin_of_|start_)?{_NAMES}\|?[>\]▷]|<\|channel>thought)"
_CLOSE = rf"(?:[<\[◁]\|?(?:/|end_of_|end_){_NAMES}\|?[>\]▷]|<channel\|>)"
_UNSEEN = [
    re.compile(pattern, re.DOTALL | re.IGNORECASE)
    for pattern in (
        rf"{_OPEN}.*?{_CLOSE}",  # reasoning in tags
        rf"\A.*{_CLOSE}",  # its opening tag was part of the prompt
        rf"{_OPEN}.*",  # cut before its closing tag
        r"<\|channel\|>(?!final).*?(?=<\|channel\|>final|\Z)",  # channels, as gpt-oss writes them
        r"\A\s*analysis.*assistant\s*final",  # the same without special tokens
        r"<\|channel\|>final.*?<\|message\|>",
        r"<\|[^<>|]*start[^<>|]*\|>\w*|<\|[^<>|]*\|>|</?s>|<(?:start|end)_of_turn>",  # special tokens
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


# ---- How ratings are written --------------------------------------------------------------------------------
# A number takes what belongs to it: sign, decimals, unit, highest rating. Its parts give nothing back, so that no
# shorter number is left, and what else may belong to it is the group `more`, with which there is no rating.


def _way(pattern):
    return re.compile(pattern, re.VERBOSE | re.IGNORECASE | re.MULTILINE)


def _matches(text, *ways):
    return [match for way in ways for match in way.finditer(text)]


def _blanked(match):
    return " " * len(match[0])


_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: float(value) for value, word in enumerate(_WORDS)}
_WORD = rf"\b(?:{'|'.join(_NUMBERS)})(?:\b|(?=[½⅓⅔¼¾]))"
# Numbers that are not read.
_UNREAD = r"""(?: \b(?: eleven | twelve | (?:thir|four|fif|six|seven|eigh|nine)teen
    | (?:twen|thir|for|fif|six|seven|eigh|nine)ty | hundred | thousand | half )\b | [①-⓿] )"""
_BLANK = r"[^\S\n]*+"
_SIGN = rf"(?: [-+] {_BLANK} | (?: minus | negative | plus ) \s+ )?+"
_DIGITS = r"(?: \d++ (?: \.\d++ | ,\d{1,2}+(?!\d) )?+ | \.\d++ )"
_STARS = r"(?: [★⭐🌟]\ufe0f? )++"
_UNIT = rf"(?: {_BLANK} -?+ {_BLANK} (?:stars?|points?|pts)\b (?! \s+ {_WORD} ) )?+"
_SECOND = rf"""[(\[{{$"]*+ {_BLANK} (?:
    {_SIGN} \.?\d | [½⅓⅔¼¾] | {_STARS} | {_SIGN} (?: {_UNREAD}
    | {_WORD} (?! [^\S\n]+ (?! (?:stars?|points?|out|of|and|hundred|thousand|quarters?|thirds?|fifths?)\b ) \w ) ) )"""
_HEDGE = r"""(?: (?: or | and | but | to | maybe | perhaps | possibly | probably | almost | nearly | even | about
    | around | approximately | could | might | may | be | an? | up | down | now | rather | closer | actually | no | not
    | sorry | wait | hmm | correction | corrected | rounded | revised | i | mean | make | that | it | leaning | towards?
    | upgraded | downgraded | raised | lowered | changed | adjusted )\b
    (?: [^\S\n] | [,.!:…-] )*+ )"""
_MORE = rf"""(?: {_BLANK} \( [^()\n]*+ \) )? {_BLANK} (?:
        (?: [-~/,;|&=×÷x:+<>\\→⇒➜…] | \.\.
            | \b(?: through | thru | till | until | vs | versus | minus | plus | times | less | point | over | ou | oder
                | bis | und | et )\b )++
        \.?+ {_BLANK} {_HEDGE}{{0,4}}+ {_SECOND}
        | [(,.;!\[]?+ {_BLANK} {_HEDGE}{{1,5}}+ {_SECOND}
        | [^\n]{{0,40}}? \b (?: at\s+first | initially | on\s+second\s+thoughts? | on\s+reflection | misread | mistake
            | let\s+me\s+(?:change|revise|correct) | changed | correction )\b [^\n]{{0,40}}? {_SECOND}
        | for \s+ [^\W\d]++ [,;]? (?:\s+and)? \s+ {_SECOND}
        | points? \s+ {_WORD}
        | (?: [a-z]+ [ ] )? (?:errors|mistakes|words|facts|sentences|times|issues|problems|slips|typos
            | years|months|days|hours|minutes|seconds|kg|km)\b
        | \.?\d | [½⅓⅔¼¾?^~+→⇒➜≤≥] | [-=]>
        | and \s+ (?: an?\s+ )? (?:half|bit|quarter)\b
        | or \s+ (?: high | more | above | below | less | low | better | worse | under | over | so )
        | (?: hundred | thousand | [mb]illion | dozen | hal(?:f|ves) | quarter | third | fourth | fifth | tenth )s?\b
        | (?:out\s+)? of \s+ (?: the | these | all )\b
        | (?: is | means | indicates | would | if | unless | when | stands | denotes | represents )\b )
    | [\w%‰\\^☆★✩] | [.,:·'’]\d | -[^\W\d]"""
_END = r"[-+]?\d+(?:\.\d+)?"
_TO = rf"{_BLANK} (?: - | to | and | \.\.+ ) {_BLANK}"
_NUMBER = rf"""
    (?P<rating> {_SIGN} (?: {_DIGITS} | {_WORD} | {_UNREAD} (?: [- ] \w++ )?+ ) | {_STARS} ) [\ufe0f\u20e3]*+
    (?P<empty> [☆✩]*+ ) [\])}}>$]*+ {_UNIT}
    (?: {_BLANK} [(,]?+ {_BLANK} (?:
        (?: / | (?:out\s+)?+ of\b (?: \s+ (?:an?|possible|maximum|total|of)\b )*+ ) {_BLANK}
            (?P<top> {_DIGITS} | {_WORD} )
        | (?P<percent> \\?% | (?:per\s?cent|pct)\b ) ) {_UNIT} \)?+ )?+ {_UNIT}
    (?: {_BLANK} \( {_BLANK} {_END} {_TO} (?P<highest> {_END} ) {_BLANK} \) )?+
    (?= {_BLANK} \( {_BLANK} (?P<again> {_DIGITS} | {_WORD} ) {_BLANK} (?: / {_BLANK} \d++ {_BLANK} )?+ \) )?
    (?P<more> (?= {_MORE} ) )?"""
# Before a number, nothing that may belong to it.
_LEAD = r"(?: [^\w.,+\-~<>≈±∓√≤≥≠¬/\\^★⭐🌟☆✩$€£¥] | ^>(?=\s) | <(?=[^<>\n]*>) | \\\( | \$(?=[^$\n]*\$) )*+"
_LEAD_OF_LINE = _LEAD.replace(r"[^\w", r"[^\w\n").replace(r"(?=\s)", r"(?=[^\S\n])")
_BULLET = r"(?P<bullet> [-+] (?=[^\S\n]) )?+ [^\S\n]*+"
_GOES_ON = re.compile(r"(?<=\d)(?:\d|[.,]\d)")
_LISTED = _way(rf"^ {_BLANK} \d++ [.)] (?= {_BLANK} \S )")
_ANY_NUMBER = _way(rf"(?<![\w.,]) {_SIGN} {_DIGITS}")
# A scale that the reply states, and its top.
_STATED = _way(
    rf"""(?: \b on \s+ (?:an?|the) \s+ )?+ \b scale \b (?: \s+ (?: is | of | from | between | ranges? ) | : )*+ {_BLANK}
        {_END} {_TO} ({_END})
    | (?<![\w.]) {_END} {_TO} ({_END}) (?: \s+ [^\W\d]+ )? \s+ scale \b
    | (?: \b on \s+ (?:an?|the) \s+ )?+ (?<![\w.]) ({_END}) [ -]? (?:point|star)s? [ -] (?: likert \s+ )? scale \b
    | [(\[] [^()\[\]\n]*? (?<![\w.]) {_END} {_TO} ({_END}) [^()\[\]\n]* [)\]] (?= {_BLANK} [:=] )
    | (?: out \s+ of | / ) {_BLANK} ({_END}) {_BLANK} [)\]]? (?= {_BLANK} [:=] )
    | \b max(?:imum)?\b [.:]? (?: \s+ (?:score|rating|of|is|points?)\b )*+ [:=]? {_BLANK} ({_END}) (?!\w)"""
)
# What a label names that is no rating of the text, and what may stand before a label.
_OTHER = frozenset(
    re.findall(
        r"\w+",
        """confidence certainty probability likelihood scale range bleu rouge meteor chrf comet bertscore bartscore
        perplexity number count length words sentences errors mistakes issues facts reasons step item example sample id
        threshold weight previous initial human expected average mean baseline reference highest lowest maximum minimum
        max min top full perfect possible passing best worst other temperature version year page line paragraph
        question option f1 z target seed deviation variance far if when unless whether not than until""",
    )
)
_BEFORE = frozenset(
    re.findall(
        r"\w+",
        """the my a an this its your our final overall total single numerical numeric so thus therefore hence then and
        as is with of for quality evaluation assigned given response text summary story""",
    )
)
_REFUSAL = re.compile(
    r"\b(?:cannot|can't|unable to|not able to|as an ai|i'm sorry|i am sorry|n/a|not (?:applicable|possible))\b",
    re.IGNORECASE,
)


@lru_cache
def _numbers(aspect):
    """Patterns of the whole reply; of numbers with a label; of one alone on its line; of other places for one."""
    aspect = re.escape(aspect) or "(?!)"
    noun = r"(?: rating | score | grade | stars | answer )s?+"
    other = r"(?: response | evaluation | result | verdict | judge?ment | assessment | edit | correction )s?+"
    before = r"(?P<before> (?: \w[\w-]*+ [^\S\n]++ ){0,2}? )"
    bracket = r"(?: [(\[] [^()\[\]\n]* [)\]] \s*+ )?+"
    whole = rf"""\A \s*+ {_LEAD} {_BULLET}
        (?: (?P<before> [^\W\d] [\w -]{{0,40}}? (?= [\s']*+ {bracket} [:=] ) | [^\W\d_]++ (?= [ ]\( ) )
            [\s']*+ (?: {bracket} [:=] )?+ )?+
        {_LEAD} {_NUMBER} {_BLANK} (?: \( [^()\n]*+ \) )?+ [^\w]*+ \Z"""
    labelled = rf"""(?<![\w/-]) (?<! e\.g\.[ ] ) {before} (?:
            (?: {noun} (?: \s+ (?:for|of|on) \s+ (?: (?:the|its) \s+ )? {aspect} )?+ | {aspect} )
            \s*+ {bracket} (?: [:=] | \|(?!\s*\n) | is\b (?: \s*+ : )?+ )
            | {other} \s*+ {bracket} [:=] )
        (?: [^\S\n]*+ (?!\n) | \s*+ (?! \d++ [.)] [^\S\n] ) ) (?: an?\s+ )?+ {_LEAD} {_NUMBER}"""
    tagged = rf"< {_BLANK} {before} (?: {noun} | {other} | {aspect} ) {_BLANK} > {_LEAD} {_NUMBER}"
    boxed = rf"(?P<before>) \\boxed {_BLANK} \{{ {_BLANK} (?: \\\w++ \{{ )?+ {_NUMBER}"
    line = rf"""^ {_LEAD_OF_LINE} {_BULLET} {_NUMBER}
        (?: [^\w\n] | (?(more) (?: \d | {_WORD} | (?:and|or|to|half|quarters?|hundred|thousand)\b ) | (?!) ) )*+ $"""
    first = (
        rf"\A {_LEAD} {_BULLET} (?! 1[.)](?!\d) ) {_NUMBER} (?(more) | (?= {_BLANK} [-:.,;(=] ) )"
    )
    said = rf"""\b (?<! if[ ] ) I (?: \s+ (?:would|will|can|must) | ['’](?:d|ll) )? \s+ (?:rate|give|score|assign|grade)
        (?: [ ]+ (?! (?: {_WORD} | no | not | never | than | least | most | over | under | between | about | around
            | if | almost | nearly | approximately | roughly | maybe | point | page | line | number | step | version )\b
            | {_UNREAD} )
            [a-z'’-]++ ){{0,8}}? [ ]+
        {_NUMBER} (?(more) | (?= {_BLANK} (?: [-.,;:!)\n] | \Z | (?:because|since|as|for|on|due|in)\b ) ) )"""
    return (
        _way(whole),
        (_way(labelled), _way(tagged), _way(boxed)),
        _way(line),
        (_way(first), _way(said)),
    )


def _find_number(text, aspect, scale):
    """A number that is the whole reply or has a label; else one that stands apart, if no other competes with it."""
    tops = {float(top) for stated in _STATED.finditer(text) for top in stated.groups() if top}
    if tops - {float(scale[1])}:
        return Found(math.nan, "other_scale")
    text = _STATED.sub(_blanked, text)
    whole, labels, line, apart = _numbers(aspect)
    found = [match for match in _matches(text, whole) if _names_rating(match, "")]
    if not found:
        labelled = [match for match in _matches(text, *labels) if _names_rating(match, aspect)]
        lines = _matches(text, line)
        found = labelled + lines or _matches(text, *apart)
        if found and not labelled:
            return _without_rival(found, _LISTED.sub(_blanked, text) if lines else text, scale)
    return _decided(found, _NUMBERS, scale)


def _without_rival(matches, text, scale):
    """One score from matches without a label, if no other number in the text is on the scale."""
    found = _decided(matches, _NUMBERS, scale)
    for match in matches:
        text = text[: match.start()] + _blanked(match) + text[match.end() :]
    rivals = {_number(other[0]) for other in _ANY_NUMBER.finditer(text)} - {found.score}
    if not found.reason and any(scale[0] <= rival <= scale[1] for rival in rivals):
        return Found(math.nan, "ambiguous")
    return found


def _names_rating(match, aspect):
    """Whether the words before a number are no name of another one."""
    words = re.findall(r"\w+", (match["before"] or "").lower())
    is_ours = not aspect or not words or words[-1] in _BEFORE | {*aspect.split()}
    return is_ours and not _OTHER & {*words}


_BOTH = r"""(?P<more> (?= \W{1,3} (?: (?:and|or)\b \W{1,3} )?+ (?:yes|no)\b (?! \s+\w )
    | \W{0,2} (?: [/|,] | and\b | or\b ) \W{0,2} (?:yes|no)\b ) )?"""
_YES_NO = (
    _way(
        rf"""\A \W*+ (?P<rating>yes|no)\b {_BOTH} (?(more) | (?= \W*+ \Z | {_BLANK} [^\w\s] | \s*\n
        | \s+ (?:it|this|that|the|they|he|she|there|because|since|as|i|in|all|both)\b ) )"""
    ),
    _way(
        rf"""(?<! if[ ]the[ ] ) \b answer \b (?: \s* \( [^()\n]* \) )? \W* (?:is\b)? \W* (?P<rating>yes|no)\b {_BOTH}"""
    ),
)


@lru_cache
def _choices(texts):
    """A letter, perhaps with its option's text; a letter given as the answer; an option's text alone."""
    any_text = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    any_text = any_text.replace(r"\ ", r"\s+")
    letter = (
        rf"(?P<rating>[A-{LETTERS[len(texts) - 1]}]) (?= [^\S\n]* (?: [.):,;=\]'-] | \n | \Z ) )"
    )
    letter = rf"{letter} (?: \W* (?P<text>{any_text}) \b )?"
    named = r"\b (?:answer|choice|option) \b \W* (?: is\b | would\s+be\b )? \W* (?: option\b )? \W*"
    return (
        _way(rf"{named} {letter}"),
        _way(rf"\A \W* {letter}"),
        _way(rf"\A \W* (?: {named} )? (?P<rating>{any_text}) \W* \Z"),
    )


def _find_anywhere(text, plain, aspect, scale):
    """A rating in a reply's text, or in a JSON object in it; both must agree."""
    in_json = _find_in_json(text, aspect, True, scale)
    if in_json.reason in ("not_json", "no_rating"):
        return _find_number(plain, aspect, scale)
    beside = _find_number(re.sub(r"\{.*\}", _blanked, plain, flags=re.DOTALL), aspect, scale)
    if beside.reason != "no_rating" and beside[:2] != in_json[:2]:
        return Found(math.nan, "ambiguous")
    return in_json


_RATED = {"rating", "score", "overall", "stars"}


def _find_in_json(text, name, or_another, scale):
    """The value of the rating's name, or of another rating's; the least deep one and the name's own must agree."""
    try:
        load_json(text)
    except ValueError:
        return Found(math.nan, "not_json")
    members = sorted(
        (len(names), not name or name not in names, start, end)
        for names, start, end in _members(text)
        if names[-1] in _RATED | {name} - {""} and (or_another or name in names)
    )
    ours = [member[:2] for member in members if not member[1]]
    found = {}
    for *rank, start, end in members:
        if (*rank,) in (members[0][:2], *ours[:1]):
            one = _find_number(text[start:end].translate(_MARKUP), "", scale)
            one = one._replace(start=start + one.start, end=start + one.end)
            found[one.reason or one.score] = one
    if len(found) > 1:
        return Found(math.nan, "ambiguous")
    return next(iter(found.values()), Found(math.nan, "no_rating"))


_JSON = re.compile(
    r'"(?P<name>(?:[^"\\]|\\.)*+)"\s*:|(?P<open>[{\[])|(?P<close>[}\]])'
    r'|"(?P<text>(?:[^"\\]|\\.)*+)"|(?P<value>[^\s,{}\[\]:"]++)'
)


def _members(text):
    """Names from the outermost to a value's own, in lower case, and the place of the value, of each value."""
    outer = []
    name = ""
    for found in _JSON.finditer(text, text.index("{"), text.rindex("}") + 1):
        if found["open"]:
            outer.append(name)
        elif found["close"]:
            outer.pop()
        elif found["name"] is None:
            yield [*outer, name], *found.span("value" if found["value"] else "text")
        name = (found["name"] or "").lower().replace("_", " ")


def load_json(text, **options):
    """The JSON object in a visible reply, despite raw line breaks and trailing commas; ValueError without one."""
    found = re.search(r"\{.*\}", text, re.DOTALL)
    text = re.sub(r",(?=\s*[}\]])", "", found[0]) if found else ""
    try:
        return json.loads(text, strict=False, **options)
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error


@lru_cache
def _own(pattern):
    way = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    if not way.groups:
        raise ValueError(
            rf"pattern={pattern!r}: expected a group around the rating, as in r'Verdict: (\d)'"
        )
    return way


def lettered(options, scale):
    """Texts of a choice's options in lower case, with their scores; see `parse`."""
    hint = 'give options={"text of A": 5, "text of B": 3, …} or a list of texts, lowest first'
    texts = [" ".join(text.lower().split()) for text in options or ()]
    if not 2 <= len(texts) <= len(LETTERS) or len(set(texts)) < len(texts) or "" in texts:
        raise ValueError(
            f"form='choice' with options={options!r}: expected 2 to 26 different texts; {hint}"
        )
    scores = np.linspace(*scale, len(texts)).tolist()
    if isinstance(options, dict):
        scores = [float(score) for score in options.values()]
    if not all(map(math.isfinite, scores)):
        raise ValueError(f"form='choice' with a score that is no number; {hint}")
    return dict(zip(texts, scores))


def _decided(matches, said, scale):
    """One score from all matches of a way."""
    found = {_value(match, said, scale) for match in matches}
    if len(found) > 1:
        return Found(math.nan, "ambiguous")
    value, reason = next(iter(found), (None, "no_rating"))
    if reason:
        return Found(math.nan, reason)
    return Found(value, "", *matches[-1].span(_group(matches[-1])))


def _group(match):
    return "rating" if "rating" in match.re.groupindex else 1


def _value(match, said, scale):
    """The rating of a match, or why it has none."""
    groups = match.groupdict()
    rating = match[_group(match)]
    if rating is None:
        return None, "no_rating"
    value = _number(rating, said)
    if value is None:
        return None, "no_rating"
    may_be_more = (
        groups.get("more") is not None
        or (groups.get("bullet") and not groups.get("before") and scale[0] < 0)
        or _GOES_ON.match(match.string, match.end(_group(match)))
    )
    again = [_number(groups[name], said) for name in ("text", "again") if groups.get(name)]
    if may_be_more or any(other != value for other in again):
        return None, "ambiguous"
    if said is not _NUMBERS:
        return value, ""
    tops = {_number(groups[name]) for name in ("top", "highest") if groups.get(name)}
    tops |= {100.0} if groups.get("percent") else set()
    tops |= {value + len(groups["empty"])} if groups.get("empty") else set()
    if tops - {float(scale[1])} or (100 <= scale[1] < math.inf and 0 < value < 1):
        return None, "other_scale"
    return (value, "") if scale[0] <= value <= scale[1] else (None, "out_of_range")


def _number(text, said=_NUMBERS):
    """Value of "4", "4,5", "- four" or stars; of "B" or "yes" where `said` has them; None of anything else."""
    text = " ".join(text.lower().split())
    if text in said:
        return said[text]
    negative, text = re.fullmatch(r"(?:(-|minus |negative )|\+|plus )? ?(.*)", text).groups()
    if re.fullmatch(_STARS, text, re.VERBOSE):
        return float(len(text.replace("\ufe0f", "")))
    try:
        value = said[text] if text in said else float(text.replace(",", "."))
    except ValueError:
        return None
    return -value if negative else value


# ---- Upstream's own rules -----------------------------------------------------------------------------------


def _leading_or_0(text):
    """G-Eval's `meta_eval_summeval.py`: a number at the start, at most a blank before it, else 0."""
    found = re.match(r" ?([\d.]+)", text)
    try:
        return Score(float(found[1]))
    except (TypeError, ValueError):  # nothing found, or dots alone
        return Score(0.0, "no_rating")


def _first_digit(text):
    """Chiang and Lee's `meta_eval_summeval.py`: the first digit after the last "rating:", without the range."""
    said = text.lower().replace("\n", " ").replace("1-3", " ").rpartition("rating:")[2]
    found = re.search("[0-9]", said)
    return Score(float(found[0])) if found else Score(math.nan, "no_rating")


def _first_digit_or_0(text):
    """Chiang and Lee's `all_eval.py`, otherwise the same."""
    found = _first_digit(text)
    return Score(0.0, found.reason) if found.reason else found


_UPSTREAM = {
    "leading_or_0": _leading_or_0,
    "first_digit": _first_digit,
    "first_digit_or_0": _first_digit_or_0,
}


# ---- Token probabilities ------------------------------------------------------------------------------------


def _add(found, value, logprob):
    if value is None:
        return
    before = found.get(value, -math.inf)
    high, low = max(before, logprob), min(before, logprob)
    found[value] = high + math.log1p(math.exp(low - high)) if low > -math.inf else high


def are_probable(tokens):
    """Whether the numbers of each token's alternatives are logarithms of probabilities, which add up to 1 at most.

    Parameters
    ----------
    tokens : list
        As for `Reading.weigh`.

    Returns
    -------
    bool
        False for numbers that are probabilities themselves, all 0, or not numbers.

    Examples
    --------
    >>> are_probable([["4", [["4", -0.1], ["5", -3.0]]]]), are_probable([["4", [["4", 0.0], ["5", 0.0]]]])
    (True, False)
    """
    for _, alternatives in tokens:
        logprobs = [logprob for _, logprob in alternatives]
        if not all(isinstance(one, (int, float)) and one <= _ROUNDING for one in logprobs):
            return False
        if math.fsum(map(math.exp, logprobs)) > 1 + _ROUNDING:
            return False
    return True


def _given(alternatives):
    """Log-probabilities by token; what rounding put above 0 is 0."""
    return {other: min(logprob, 0.0) for other, logprob in alternatives if logprob > -math.inf}


@lru_cache(maxsize=4096)
def _begins(text, allowed, scale, with_decimals):
    """The rating that begins here, or None; and whether further tokens may make it another one."""
    text = re.sub(r"([+-])\s+(?=\w)", r"\1", re.sub(r"\A[^\w+-]+", "", text)).lower()
    may_grow = bool(text) and any(said != text and said.startswith(text) for said, _ in allowed)
    number = re.match(r"[+-]?\d+\.\d+(?!\w)", text)
    if number:
        value = float(number[0])
        return (value if scale[0] <= value <= scale[1] else None), False
    for said, value in allowed:
        if text.startswith(said) and not re.match(r"\w", text[len(said) :]):
            may_grow |= with_decimals and text == said and value < scale[1]
            return value, may_grow
    return None, may_grow


def distributions(replies, scale=(1, 5)):
    """Lay out the token probabilities of replies, for `nlgjudge.judging.estimators`.

    Parameters
    ----------
    replies : pandas.DataFrame
        `item_id, aspect, sample_index, logprobs`, as of a recording with token probabilities.
    scale : (int, int)

    Returns
    -------
    pandas.DataFrame
        By `item_id, aspect, sample_index`: a column of probabilities for each rating, which add up to 1, and
        `outside`, the probability on other words. NaN where the ratings' probabilities are unknown.

    Examples
    --------
    >>> likely = [["4", [["4", math.log(0.6)], ["5", math.log(0.2)]]]]
    >>> replies = pd.DataFrame({"item_id": ["a"], "aspect": "fluency", "sample_index": 0, "logprobs": [likely]})
    >>> distributions(replies, (3, 5)).round(2).values.tolist()
    [[0.0, 0.75, 0.25, 0.2]]
    """
    ratings = list(range(int(scale[0]), int(scale[1]) + 1))
    found = [Reading(scale=scale).weigh(logprobs) for logprobs in replies["logprobs"]]
    lines = [[one.logprobs.get(rating, -math.inf) for rating in ratings] for one in found]
    logarithms = np.array(lines, dtype=float).reshape(len(found), len(ratings))
    index = pd.MultiIndex.from_frame(replies[["item_id", "aspect", "sample_index"]])
    frame = pd.DataFrame(from_logprobs(logarithms), index=index, columns=ratings)
    return frame.assign(outside=[1 - one.mass for one in found])
