"""`make sentences`: does everything that a notebook says follow each of its parameters?

Every notebook runs on the sample, as committed and with one parameter changed to its second value. What a reader sees
is read: Markdown, printed lines and tables, from the first cell on. Packages are imported once, each run is a fork.
A sentence is stale if it states a number that the unchanged run shows and the changed one does not, and is still
there. No sentence may hold "nan", an empty list, or words that contradict its numbers, and no result is typed into an
f-string.

`python tests/sentences.py [--real] [NOTEBOOK ...]`; with --real on the real data, where they are here.
"""

import ast
import contextlib
import io
import json
import os
import pickle
import re
import resource
import sys
from pathlib import Path

from nlgjudge.data.paths import root
from nlgjudge.ledger.printed import published
from nlgjudge.notebook.finding import notebooks, read_notebook
from prose_numbers import MARKUP, retold, shown, stated

UP = "rises?|rose|gains?|adds?|higher|above|improves?"
DOWN = "falls?|fell|loses?|lost|lower|below|drops?"
# What no sentence may have: a pattern, and what is wrong with it.
SENSELESS = {
    r"(?i)(?<![\w`'-])nan\b(?!')": "a value that is not a number",
    r"(?<![\w.])inf\b": "an infinite value",
    r"\(\s*\)|:\s*[.;]|[,;]\s*[,;.]|\w [,.;](?=\s|$)|\b(?:by|with|from) ?[,;]": "an empty list",
    r"(?<!are )\b(?:[Oo]f|of the|[Aa]ll|[Nn]one of) 0\b(?![.,%]\d| to )": "a share of nothing",
    r"(?<![\d.\]])([-−+]?\d+(?:\.\d+)?%?)\s+to\s+\1(?![\d.%])": "a range of one number",
    r"\b(?:[Mm]ostly|[Mm]any|[Mm]ost)\b[^.;:]{0,25}\b0 of": "a word against its number",
    rf"\b(?:{UP})\b[^.;:]{{0,20}} by [-−]\d": "a rise by a negative number",
    rf"\b(?:{DOWN})\b[^.;:]{{0,20}} by \+\d": "a fall by a positive number",
}
OF_TABLES = list(SENSELESS)[:2]
# Sizes of the papers' data, not results.
SIZES = {"100", "16", "1600", "12", "300", "60", "6"}
# By a parameter's name, or NOTEBOOK.NAME where one notebook needs another; null for what no run can change here. By a
# notebook's name, what makes all its runs shorter.
SECOND = json.loads((Path(__file__).parent / "second_values.json").read_text(encoding="utf-8"))
LIMIT = 120  # CPU seconds of a run


def parameters(book):
    """Names and values of a notebook's parameters."""
    cells = [cell for cell in book["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    body = ast.parse("".join(line for cell in cells for line in cell["source"])).body
    return {node.targets[0].id: ast.literal_eval(node.value) for node in body}


def second(name, parameter):
    """Another value of a notebook's parameter."""
    return SECOND[f"{name}.{parameter}" if f"{name}.{parameter}" in SECOND else parameter]


def committed(book):
    """What a reader sees of each cell of a committed notebook, as mime bundles."""
    return [
        [{"text/markdown": "".join(cell["source"])}]
        if cell["cell_type"] == "markdown"
        else [
            {kind: "".join(text) for kind, text in output.get("data", {}).items()}
            or {"text/plain": "".join(output.get("text", ""))}
            for output in cell["outputs"]
        ]
        for cell in book["cells"]
    ]


def execute(book, given):
    """What a reader sees of each cell of a run, with later updates in place, and the error that ended it."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell = InteractiveShell.instance()
    shell.kernel = None  # what the package asks for
    shell.enable_gui = lambda gui=None: None
    cells, places = [], {}
    for cell in book["cells"]:
        source = "".join(cell["source"])
        cells.append([{"text/markdown": source}] if cell["cell_type"] == "markdown" else [])
        if cell["cell_type"] == "markdown":
            continue
        if "parameters" in cell["metadata"].get("tags", []):
            source += "\n" + "\n".join(f"{name} = {value!r}" for name, value in given.items())
        with capture_output() as caught:
            result = shell.run_cell(source)
        cells[-1].append({"text/plain": caught.stdout})
        for output in caught.outputs:
            place = (output.transient or {}).get("display_id")
            if output.update:
                for old in places.get(place, []):
                    old.clear()
                    old.update(output.data)
            else:
                cells[-1].append(dict(output.data))
                places.setdefault(place, []).append(cells[-1][-1])
        if raised := result.error_before_exec or result.error_in_exec:
            return cells, f"{type(raised).__name__}: {raised}"
    return cells, ""


def forked(book, given):
    """`execute` in a fork that ends after some CPU seconds."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 5))
        with os.fdopen(write, "wb") as pipe, contextlib.redirect_stderr(io.StringIO()):
            cells, error = execute(book, given)
            texts = [
                [{kind: text for kind, text in one.items() if "text/" in kind} for one in cell]
                for cell in cells
            ]
            pipe.write(pickle.dumps((texts, error)))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else ([], f"stopped after {LIMIT} CPU seconds")


def text_of(one):
    """What a reader sees of an output other than Markdown."""
    html = re.sub(r"<style.*?</style>|<[^>]*>", " ", one.get("text/html", ""), flags=re.DOTALL)
    return "" if "text/markdown" in one else html or one.get("text/plain", "")


def paragraphs(cells):
    """Paragraphs of Markdown; a committed answer that is folded below a run's own counts as none."""
    for cell in cells:
        for one in cell:
            text = one.get("text/markdown", "").split("<details>")[0]
            yield from (part for part in text.split("\n\n") if part.strip())


def numbers(cells):
    """Numbers that outputs other than Markdown show, and as prose retells them."""
    found = {number for cell in cells for one in cell for number in shown(text_of(one))}
    return found | retold(found)


def around(text, match):
    return " ".join(text[max(0, match.start() - 60) : match.end() + 40].split())


def contradictions(text, patterns=SENSELESS):
    """Pairs of what is wrong with a text, and what stands around it."""
    text = MARKUP.sub("x", text)
    return [
        (SENSELESS[pattern], around(text, match))
        for pattern in patterns
        for match in re.finditer(pattern, text)
    ]


def typed(book):
    """Pairs of a number that is typed into an f-string of a notebook, and the text around it.

    Zero, one and the sizes of the papers' data are no results.
    """
    found = []
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            tree = ast.parse(re.sub(r"^\s*[%!].*$", "", source, flags=re.MULTILINE))
            for node in ast.walk(tree):
                if isinstance(node, ast.JoinedStr):
                    parts = [v.value if isinstance(v, ast.Constant) else "x" for v in node.values]
                    found += [
                        (number, " ".join(text.split()))
                        for number, text in stated("".join(parts))
                        if number not in SIZES | {"0", "1"} and len(text.split()) > 3
                    ]
    return found


def stale(before, after, known=frozenset()):
    """Pairs of a number of three digits or more that moved without its sentence, and the text around it.

    `known` numbers don't move: published ones and sizes of the data.
    """
    moved = {number for number in numbers(before) - numbers(after) - known}
    moved = {number for number in moved if len(re.sub(r"\D", "", number).lstrip("0")) > 2}
    stays = set(paragraphs(before))
    return [
        (number, " ".join(near.split()))
        for paragraph in paragraphs(after)
        if paragraph in stays
        for number, near in stated(paragraph)
        if number in moved
    ]


def faults(cells):
    """By cell and kind, what is wrong with the texts and tables of a run."""
    found = {}
    for number, cell in enumerate(cells):
        here = [fault for paragraph in paragraphs([cell]) for fault in contradictions(paragraph)]
        here += [fault for one in cell for fault in contradictions(text_of(one), OF_TABLES)]
        for fault, text in here:
            found.setdefault((number, fault), []).append(text)
    return found


def check(name, real=False):
    """Faults of a notebook: of its source, and of each run; of a table only what the unchanged run does not have."""
    book = read_notebook(name)
    own = parameters(book)
    source = {"source": "sample"} if "source" in own and not real else {}
    source |= SECOND.get(name, {})
    known = SIZES | shown(" ".join(published()["printed"]))
    found = [("typed", *one) for one in typed(book)]
    found += [
        ("committed", *fault)
        for paragraph in paragraphs(committed(book))
        for fault in contradictions(paragraph)
    ]
    os.chdir(root() / "notebooks")
    base, error = forked(book, source)
    found += [("unchanged", "error", error)] * bool(error)
    before = {place: len(texts) for place, texts in faults(base).items()}
    for parameter in own:
        value = second(name, parameter)
        if value is None:
            continue
        run = f"{parameter} = {value!r}"
        cells, error = forked(book, source | {parameter: value})
        if error and not re.search(rf"\b{parameter}\b", error):
            found.append((run, "the error does not name the parameter", error[:200]))
        for (cell, fault), texts in faults(cells).items():
            if len(texts) > before.get((cell, fault), 0):
                found.append((run, f"[{cell}] {fault}", texts[0]))
        if not error:
            found += [
                (run, f"{number} moved, its sentence stays", text)
                for number, text in stale(base, cells, known)
            ]
    return list(dict.fromkeys(found))


def main(names, real):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot

    import nlgjudge as nj

    _ = nj.Table, nj.Finding, matplotlib.pyplot
    failed = False
    for name in names or notebooks():
        for run, fault, text in check(name, real):
            failed = True
            print(f"{name} ({run}): {fault}: ...{text}...", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main([name for name in sys.argv[1:] if name != "--real"], "--real" in sys.argv))
