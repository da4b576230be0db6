"""`make sentences`: do the sentences that state results follow their numbers?

Every notebook runs with all its parameters changed together, and on the sample. A sentence is stale if it
states a number that the committed outputs show and the new outputs don't, and is still there; published numbers
don't move. What a cell prints may hold no "nan" and no empty list, and its words must agree with its numbers.
No result is typed into an f-string.
"""

import ast
import os
import re
import sys
from pathlib import Path
from unittest import mock

import nbformat
import papermill

from nlgjudge.data.paths import root
from nlgjudge.ledger.printed import published
from prose_numbers import MARKUP, retold, shown, stated

UP = "rises?|rose|gains?|adds?|higher|above|improves?"
DOWN = "falls?|fell|loses?|lost|lower|below|drops?"
# What no printed sentence may have: a pattern, and what is wrong with it.
SENSELESS = {
    r"(?<![\w`])nan\b": "a value that is not a number",
    r"\(\s*\)|:\s*[.;]|[,;]\s*[,;.]|\w [,.;](?=\s|$)|\b(?:by|with|from) ?[,;]": "an empty list",
    r"\b(?:[Oo]f|of the|[Aa]ll|[Nn]one of) 0(?![.\d])": "a share of nothing",
    rf"\b(?:{UP})\b[^.;:]{{0,20}} by [-−]\d": "a rise by a negative number",
    rf"\b(?:{DOWN})\b[^.;:]{{0,20}} by \+\d": "a fall by a positive number",
}
# Sizes of the papers' data, not results.
SIZES = {"100", "16", "1600", "12", "300", "60", "6"}
RERUNS = re.compile(r'nj\.(rerun|Table)\("coascore"')


def changed(book):
    """All parameters that a run can change, changed together."""
    (cell,) = [c for c in book.cells if "parameters" in c.metadata.get("tags", [])]
    new = {}
    for node in ast.parse(cell.source).body:
        name = node.targets[0].id
        value = ast.literal_eval(node.value)
        if name in ("judge", "judges") and not value:
            new[name] = "surface" if name == "judge" else ["surface"]
        if name == "seed":
            new[name] = value + 1
        if name == "limit":
            new[name] = 12
        if name == "samples" and isinstance(value, int):
            new[name] = 1
    # A rule cannot name aspects: of CoAScore's rows it is asked for the one without a chain.
    if "judge" in new and any(RERUNS.search(cell.source) for cell in book.cells):
        new["judge"] = {"LLMScore": "surface"}
    return new


def outputs(cell):
    """Text of a code cell's outputs: what is printed as Markdown, and everything else."""
    prose = []
    rest = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "text/markdown" in data:
            prose.append(data["text/markdown"])
        else:
            rest += [output.get("text", ""), data.get("text/plain", "")]
    return "\n\n".join(prose), "\n".join(rest)


def numbers(book):
    """Numbers in a notebook's sources and outputs other than Markdown."""
    found = set()
    for cell in book.cells:
        if cell.cell_type == "code":
            found |= shown(cell.source) | shown(outputs(cell)[1])
    return found | retold(found)


def paragraphs(book):
    """Paragraphs that a reader sees: Markdown cells, and Markdown that cells print, from the first cell on.

    A committed answer that is folded below a run's own counts as none.
    """
    for cell in book.cells:
        text = cell.source if cell.cell_type == "markdown" else outputs(cell)[0]
        yield from (one for one in text.split("<details>")[0].split("\n\n") if one.strip())


def contradictions(paragraph):
    """Pairs of what is wrong with a printed paragraph of Markdown, and the text around it."""
    text = MARKUP.sub("x", paragraph)
    return [
        (fault, around(text, match))
        for pattern, fault in SENSELESS.items()
        for match in re.finditer(pattern, text)
    ]


def around(text, match):
    return " ".join(text[max(0, match.start() - 60) : match.end() + 40].split())


def typed(book):
    """Pairs of a number that is typed into an f-string of a notebook, and the text around it.

    Zero, one and the sizes of the papers' data are no results.
    """
    found = []
    for cell in book.cells:
        if cell.cell_type == "code":
            tree = ast.parse(re.sub(r"^\s*[%!].*$", "", cell.source, flags=re.M))
            for node in ast.walk(tree):
                if isinstance(node, ast.JoinedStr):
                    parts = [v.value if isinstance(v, ast.Constant) else "x" for v in node.values]
                    found += [
                        (number, " ".join(text.split()))
                        for number, text in stated("".join(parts))
                        if number not in SIZES | {"0", "1"} and len(text.split()) > 3
                    ]
    return found


def stale(committed, ran, known=frozenset()):
    """Pairs of a number that moved without its sentence, and the text around it.

    `known` numbers don't move: published ones and sizes of the data.
    """
    moved = numbers(committed) - numbers(ran) - known
    before = set(paragraphs(committed))
    return [
        (number, " ".join(around.split()))
        for paragraph in paragraphs(ran)
        if paragraph in before
        for number, around in stated(paragraph)
        if number in moved
    ]


def run(name, parameters, folder):
    """Execute a notebook below `folder` and return it."""
    path = root() / "notebooks" / f"{name}.ipynb"
    target = Path(folder) / f"{name}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    with mock.patch.dict(os.environ, NLGJUDGE_OUT=str(target.parent / "out")):
        papermill.execute_notebook(
            str(path), str(target), parameters, cwd=str(path.parent), progress_bar=False
        )
    return nbformat.read(target, as_version=4)


def check(name, folder):
    """Faults of a notebook's sentences as committed, under changed parameters, and on the sample."""
    book = nbformat.read(root() / "notebooks" / f"{name}.ipynb", as_version=4)
    known = SIZES | shown(" ".join(published()["printed"]))
    runs = {"changed": changed(book)}
    if "source" in "".join(
        c.source for c in book.cells if c.metadata.get("tags") == ["parameters"]
    ):
        runs["sample"] = {"source": "sample"}
    found = [("typed", *one) for one in typed(book)]
    books = {"committed": book}
    for kind, parameters in runs.items():
        if parameters:
            books[kind] = run(name, parameters, Path(folder) / kind)
            found += [(f"{kind}, stays", *one) for one in stale(book, books[kind], known)]
    for kind, ran in books.items():
        printed = [
            one
            for cell in ran.cells
            if cell.cell_type == "code"
            for one in outputs(cell)[0].split("\n\n")
        ]
        found += [(kind, *fault) for one in printed for fault in contradictions(one)]
    return found


if __name__ == "__main__":
    failed = False
    for name in sys.argv[1:] or sorted(p.stem for p in (root() / "notebooks").glob("*.ipynb")):
        for kind, fault, text in check(name, root() / "build" / "sentences"):
            failed = True
            print(f"{name} ({kind}): {fault}: ...{text}...")
    sys.exit(failed)
