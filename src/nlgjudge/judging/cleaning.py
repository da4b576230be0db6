"""Clean a reply: plain signs, no emphasis, and of a long text the sentences that hold a number."""

import math
import re

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
LEFT_OUT = "⋯"
MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"

# Full-width signs, dashes and quotation marks become the plain ones: "４／５" is "4/5".
_PLAIN = {chr(0xFF10 + digit): str(digit) for digit in range(10)}
_PLAIN.update(dict.fromkeys("：﹕", ":"))
_PLAIN["≈"] = " "
_PLAIN.update(dict.fromkeys("−–‐‑‒", "-"))
_PLAIN.update(dict.fromkeys("‘’ʼ", "'"))
_PLAIN.update(dict.fromkeys("“”„«»", '"'))
_PLAIN.update({"／": "/", "—": " - ", "½": " and a half", "→": " -> ", LEFT_OUT: "..."})
_PLAIN.update({"\u200b": "", "\ufeff": ""})  # signs without width
_PLAIN = str.maketrans(_PLAIN)
# What marks emphasis becomes a blank: "**4**", "__4__", "`4`", "$4$".
_EMPHASIS = str.maketrans(dict.fromkeys("*_`$", " "))

# A list mark, a quotation mark, a heading: "* ", "- ", "> ", "### ". A minus sign has no blank after it.
_LIST_MARK = re.compile(
    r"""
    ^ [ \t]{0,20}
    (?: (?: > (?! [0-9] ) | \# ){1,6} [ \t]{0,4} )?
    (?P<mark> [-+*•·] [ \t]{1,8} | [-+•·] (?= [A-Za-z*_] ) )?
    """,
    re.VERBOSE | re.MULTILINE,
)
_BLANKS = re.compile(r"[^\S\n]+")
_LINE_END = re.compile(r" ?\n[ \n]*")
_MONEY = re.compile(r"[$€£] ?(?=\d)")
_BOXED = re.compile(r"\\boxed ?\{ ?(?:\\text ?\{ ?)?([^{}\n]{1,20})\}{1,2}")
_TAG = re.compile(r"<(/?)([a-z]{2,20})>", re.IGNORECASE)
# "<b>4</b>", "<p>"
_INLINE_TAG = re.compile(r"</?(?:b|i|u|em|strong|span|code)>", re.IGNORECASE)
_BLOCK_TAG = re.compile(r"</?(?:p|br|div|li|ul|ol|h[1-6]) ?/?>", re.IGNORECASE)
_TABLE_ROW = re.compile(
    r"^[ \t]{0,9}\|([^|\n]{1,60})\|([^|\n]{1,60})(?:\|([^|\n]{0,300}))?\|?[ \t]{0,9}$",
    re.MULTILINE,
)
# "★★★☆☆", "⭐⭐⭐½", and the sign in the word's place: "4 ⭐", "4/5 ⭐"
_STARS = re.compile(r"[★⭐🌟][★⭐🌟☆✩\ufe0f]*(?:½[☆✩]*|[ ]?1/2)?")
_STAR_SIGN = re.compile(r"(?<=[0-9½])[ ]?[★⭐🌟]\ufe0f?(?![★⭐🌟☆✩½])")
# A row of stars at the start of a line is a statement by itself: "★★★★★ Loved it!".
_ROW = re.compile(
    r"""
    ^ (?P<row> [ \t>\#*_"•-]{0,9} [★⭐🌟][★⭐🌟☆✩\ufe0f]{1,9} (?:½[☆✩]*)? [*_]{0,3} )
    [ \t]+ (?: [-–—:] [ ] )? (?= [*_"]{0,3} (?! (?: out | of | stars? | for | on | in | to | or ) \b ) [A-Za-z] )
    """,
    re.VERBOSE | re.MULTILINE,
)
# One star sign decorates: "To the point. 🌟", "⭐ Rating: 4", "🌟 Lovely 🌟"
_ONE = r"(?<![★⭐🌟☆✩½\d]) [★⭐🌟]\ufe0f? (?![★⭐🌟☆✩½])"
_DECORATION = re.compile(
    rf"""
    (?<= [.!?)*_"'] ) [ ]? {_ONE} [ ]* $
  | (?<= [.!?] [ ] ) {_ONE} [ ]* $
  | ^ [ ]* {_ONE} (?= [ ]? [*_]{{0,2}} [A-Za-z0-9] [^\n]{{0,200}} (?: [0-9★⭐🌟] | $ ) )
    """,
    re.VERBOSE | re.MULTILINE,
)
# "Rating: ****"
_ASTERISKS = re.compile(
    r"(?<=(?:ating|score|stars): )[*]{3,5}(?=[ \t]*$)", re.MULTILINE | re.IGNORECASE
)
_ONE_STAR = re.compile(r"\b(a|just) (?:single|lone) star\b", re.IGNORECASE)
# What a model's template leaves at the ends of a reply
_TOKEN = (
    r"(?: </?s> | <\|[a-z_]{2,20}\|> | \[/?INST\] | <</?SYS>> | <(?:start|end)_of_turn> | </?(?:eos|bos|pad|unk)>"
    r" | \#{2,4}[ ]?End\b [.]? | \[END\] )"
)
_FIRST_TOKENS = re.compile(
    rf"\s{{0,9}} (?: {_TOKEN} \s{{0,9}} (?: (?: assistant | model ) (?= \s | <\| ) \s{{0,9}} )? ){{1,9}}",
    re.VERBOSE | re.IGNORECASE,
)
_TURN_ENDS = re.compile(
    r"</s>|<\|(?:im_end|im_start|endoftext|eot_id|end_of_text|end|user)\|>|<end_of_turn>|<eos>",
    re.IGNORECASE,
)
_TOKENS = re.compile(_TOKEN, re.VERBOSE | re.IGNORECASE)
# "~~3~~ 4"
_STRUCK = re.compile(r"~~[^~\n]{1,80}~~")
# "★ ★ ★" is "★★★", "4 x ⭐" and "⭐ x 4" are "4 stars", "3 ★★★" is "★★★"
_GAP_IN_ROW = re.compile(r"(?<=[★⭐🌟☆✩])[ ](?=[★⭐🌟☆✩])")
_TIMES = re.compile(
    r"(?<![\d.])(?P<first>\d) ?[x×] ?[★⭐🌟](?![★⭐🌟])|(?<![★⭐🌟])[★⭐🌟] ?[x×] ?(?P<last>\d)(?!\d)"
)
_NUMBER_AND_ROW = re.compile(
    r"(?<![\d./] )(?<![\d./])(?P<number>[2-9]) (?P<row>[★⭐🌟]{2,9})(?![★⭐🌟☆✩½])"
)
# Small pictures that only decorate: "88 👍", "5/5 ✅"
_PICTURES = re.compile(
    r"[ ]?[\U0001F300-\U0001F31E\U0001F320-\U0001FAFF\u2600-\u2604\u2607-\u27BF]\ufe0f?"
)


def without_tokens(text):
    """A reply without the signs of a model's template, "4</s>" and "### End", nor what it says as another speaker.

    Examples
    --------
    >>> without_tokens("<|im_start|>assistant\\n4<|im_end|>")
    '4'
    """
    if not any(sign in text for sign in ("<", "[", "##")):
        return text
    first = _FIRST_TOKENS.match(text)
    text = text[first.end() :] if first else text
    return _TOKENS.sub(" ", _TURN_ENDS.split(text, maxsplit=1)[0])


def plain(text):
    r"""Plain signs, single blanks, no empty lines, one sign for list marks, no emphasis.

    What a model thought aloud between ``<think>`` and ``</think>`` is left out.

    Examples
    --------
    >>> plain("### **Rating:**  4\n\n\n* It is fluent.")
    'Rating: 4\n• It is fluent.'
    """
    return tidy(_signs(text))


def _signs(text):
    """Plain signs for what has more than one spelling, and no thoughts."""
    if "think>" in text:
        text = text.rpartition("</think>")[2].partition("<think>")[0]
    if "<" in text and ">" in text:
        text = _BLOCK_TAG.sub("\n", _INLINE_TAG.sub("", text))
    if "</" in text:
        text = _TAG.sub(_labelled_tag, text)
    if "~" in text:
        text = _STRUCK.sub("", text).replace("~", " ")
    if "***" in text:
        text = _ASTERISKS.sub(lambda match: f"{len(match[0])} stars", text)
    if "star" in text:
        text = _ONE_STAR.sub("1 star", text)
    if not text.isascii():
        text = _GAP_IN_ROW.sub("", text)
        text = _TIMES.sub(lambda match: f"{match['first'] or match['last']} stars", text)
        text = _NUMBER_AND_ROW.sub(_said_twice, text)
        text = _DECORATION.sub("", text)
        text = _ROW.sub(r"\g<row>\n", text)
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


def tidy(text):
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


def drawn_stars(text):
    """How many stars each row of two and more signs shows.

    Examples
    --------
    >>> drawn_stars("Rating: ★★★☆☆. Lovely! 🌟")
    [3.0]
    """
    if text.isascii():
        return []
    rows = [
        _counted_stars(row)
        for row in _STARS.finditer(text)
        if len(row[0].replace("\ufe0f", "")) > 1
    ]
    return [float(re.match(r"[0-9.]+", row.strip())[0]) for row in rows]


def _said_twice(match):
    return match["row"] if len(match["row"]) == int(match["number"]) else match[0]


def _labelled_tag(match):
    """<score>4</score> is "score: 4" on a line of its own."""
    return "\n" if match[1] else f"\n{match[2]}: "


def _plain_list_mark(match):
    return "• " if match["mark"] else ""


# "seventy-five", "fifteen", "one hundred": number words above ten, which no rating on a short scale needs
_TEENS = ("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen")
_TEENS += ("nineteen",)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_LARGE = re.compile(
    rf"""
    \b
    (?: (?P<tens> {"|".join(_TENS)} ) (?: [ -] (?P<ones> {"|".join(WORDS[1:10])} ) )?
      | (?P<teens> {"|".join(_TEENS)} )
      | (?P<hundred> (?P<article> an? [ ] )? (?: full [ ] | perfect [ ] )? (?: one [ ] )? hundred )
        (?! [ ] and\b ) )
    (?! [\w-] )
    """,
    re.VERBOSE,
)


def _in_digits(match):
    """ "seventy-five" is 75."""
    if match["tens"]:
        ones = WORDS.index(match["ones"]) if match["ones"] else 0
        return str(20 + 10 * _TENS.index(match["tens"]) + ones)
    if match["teens"]:
        return str(11 + _TEENS.index(match["teens"]))
    return (match["article"] or "") + "100"


# ---- The sentences that matter --------------------------------------------------------------------------

# A digit, or a sign and a number word behind it; a text is given a blank in front, so that it has the sign.
ANY_NUMBER = re.compile(
    rf"""
    [0-9\s"'(\[*_/>:-]
    (?: (?<= [0-9] ) [0-9]{{0,20}} | (?: {"|".join(WORDS)} ) (?! [a-z] ) )
    """,
    re.VERBOSE,
)
_SENTENCE_ENDS = (". ", "! ", "? ", "; ", "\n")
_FAR = 300  # a sentence is followed so far to either side of its number
# A quotation within a sentence, of three words and more; 'I rate it "4 out of 5"' quotes nothing.
_QUOTED = re.compile(
    r"""(?<=[a-z,] )"(?!\W{0,3}[0-9]{1,3}(?:[./ ]|$))(?=[^" \n]{1,60} [^" \n]{1,60} )[^"\n]{6,250}"(?!:)"""
)
_TO_LINE_END = re.compile(r"[^\S\n]{0,9}(?:\n|\Z)")


def excerpt(text):
    r"""A reply in lower case, cleaned, reduced to the sentences that hold a number; "⋯" is what is left out.

    The line before a number that begins a line is kept as well, for it may be the number's label. What a
    sentence quotes is left out, too.

    Examples
    --------
    >>> excerpt("Rating:\n**4**\nIt is fluent. It has 2 slips. It ends well.")
    'rating:\n4\n⋯ it has 2 slips. ⋯'
    """
    text = " " + _signs(text).lower()
    if "ty" in text or "teen" in text or "hundred" in text or "eleven" in text or "twelve" in text:
        text = _LARGE.sub(_in_digits, text)
    pieces = []
    reached = 0
    for left, right in _numbered_sentences(text):
        if text[reached:left].strip():
            pieces.append(f" {LEFT_OUT}\n" if text[left - 1] == "\n" else f" {LEFT_OUT} ")
        pieces.append(text[left:right])
        reached = right
    if text[reached:].strip():
        pieces.append(f" {LEFT_OUT}")
    excerpted = tidy("".join(pieces))
    return _QUOTED.sub(f'"{LEFT_OUT}"', excerpted) if '"' in excerpted else excerpted


def _numbered_sentences(text):
    """Bounds of the sentences that hold a number, in order; none overlap."""
    reached = 0
    for number in ANY_NUMBER.finditer(text):
        at = number.start()
        if not text[at].isdigit():
            at += 1
        if at < reached:
            continue
        left, right = bounds(text, at, number.end())
        if at - left < 8 and left > 0 and text[left - 1] == "\n":
            label = text.rfind("\n", max(0, left - 80), left - 1)
            if label >= 0 or left < 80:
                left = label + 1
        blank = _TO_LINE_END.match(text, right)
        if blank:
            right = blank.end()
        yield max(left, reached), right
        reached = right


def bounds(text, start, end):
    """Bounds of the sentence around a place in a text."""
    left = max(0, start - _FAR)
    right = min(len(text), end + _FAR)
    for (
        mark
    ) in _SENTENCE_ENDS:  # each is looked for nearer to the place than those before it were found
        before = text.rfind(mark, left, start)
        if before >= 0:
            left = before + 1
        behind = text.find(mark, end, right)
        if behind >= 0:
            right = behind + 1
    return left, right
