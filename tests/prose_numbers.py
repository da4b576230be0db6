"""Numbers that a notebook's prose states and nothing in the notebook shows.

A reader cannot check such a number, and it stays as it was when the data or the code change. What is
not a statement about results is set aside first: quotations, years of citations, numbers of sections, tables,
pages, issues and versions, names of models and metrics, confidence and significance levels.
"""

import re
from decimal import ROUND_HALF_UP, Decimal

NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
WORDS = {name: str(number) for number, name in enumerate(NAMES.split())}
SMALLEST_WORD = 6  # "two forms" or "four aspects" is how a sentence refers, not what it found
DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+"
NUMBER = re.compile(rf"(?<![\w.])[-−+]?(?:{DIGITS})")
WORD = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)
MARKUP = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|<[^>]*>"  # code, formulas, addresses, tags
    r'|"[^"]*"|^#.*?$|^\*\*Source.*?(?=\n\n|\Z)',  # quotations, headings, the sources at the end
    re.DOTALL | re.MULTILINE,
)
LISTED = r"[A-Z]?\d+(?:\.\d+)*(?:(?:, | and | to |–|-)[A-Z]?\d+(?:\.\d+)*)*"
REFERENCES = re.compile(
    rf"\b(?:[Tt]ables?|[Ff]igures?|[Ss]ections?|[Aa]ppendi(?:x|ces)|[Ee]quations?|[Pp]ages?|[Ss]tages?|[Ss]teps?|"
    rf"issues?|pull requests?|commit|arXiv|version|Python|METEOR|ROUGE|seed|snapshot) {LISTED}"
    r"|\b(?:19|20)\d\d\b|\b\d{4}\.\d{5}(?:v\d)?"  # years and arXiv numbers
    r"|\b[A-Za-z]+-[\w.-]*\d[\w.-]*"  # gpt-3.5-turbo-0613, ROUGE-1.5.5, BLEU-4, WMT-22
    r"|(?<![\d.])(?:95|5|1) ?%|\b(?:95|5) times in 100\b"
)  # levels of intervals and tests


def bare(number):
    """A number's digits, as they are compared: no sign, thousands, leading zero or final point."""
    return number.replace(",", "").lstrip("+-−").rstrip(".").lstrip("0") or "0"


def shown(text):
    """Numbers in a cell's source or in what it put out."""
    return {bare(found) for found in re.findall(DIGITS, text)}


def retold(numbers):
    """Shown decimals as prose gives them: to two digits, and in percent."""
    decimals = [Decimal(number) for number in numbers if re.fullmatch(r"\d*\.\d{2,}", number)]
    return {
        bare(str(value.quantize(Decimal(step), ROUND_HALF_UP)))
        for number in decimals
        for value, step in ((number, "0.01"), (100 * number, "0.1"), (100 * number, "1"))
    }


def stated(prose):
    """Pairs of a stated number and its surroundings in the prose of a Markdown cell."""
    text = REFERENCES.sub(" ", MARKUP.sub(" ", prose))
    for match in NUMBER.finditer(text):
        yield bare(match.group()), text[max(0, match.start() - 60) : match.end() + 40]
    for match in WORD.finditer(text):
        number = WORDS[match.group().lower()]
        if int(number) >= SMALLEST_WORD:
            yield number, text[max(0, match.start() - 60) : match.end() + 40]


def unshown(cells, outputs, printed=frozenset()):
    """Pairs of a stated number that no source, output or published table holds, and its surroundings.

    `outputs` gives the visible text of a code cell's outputs, `printed` are the tables' numbers as `bare` gives them.
    """
    known = set(printed)
    for cell in cells:
        if cell.cell_type == "code":
            known |= shown(cell.source) | shown(outputs(cell))
    known |= retold(known)
    return [
        (number, " ".join(around.split()))
        for cell in cells
        if cell.cell_type == "markdown"
        for number, around in stated(cell.source)
        if number not in known
    ]
