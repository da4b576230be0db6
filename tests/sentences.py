"""`make sentences`: do the sentences that state results move with their numbers?

Every notebook runs with all its parameters changed together, and on the sample. A sentence is stale if it
states a number that the committed outputs show and the new outputs don't, and is still there. Paragraphs
that begin with "In the committed run" describe the committed outputs, and published numbers don't move.
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
from nlgjudge.ledger.printed import all_published
from prose_numbers import retold, shown, stated

COMMITTED = "In the committed run"
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
    """Paragraphs that a reader sees: Markdown cells, and Markdown that cells print."""
    for cell in book.cells:
        text = cell.source if cell.cell_type == "markdown" else outputs(cell)[0]
        yield from (one for one in text.split("\n\n") if one.strip())


def stale(committed, ran, known=frozenset()):
    """Find sentences whose numbers moved without them.

    Parameters
    ----------
    committed, ran : nbformat.NotebookNode
    known : set of str
        Numbers that don't move: published ones and sizes of the data.

    Returns
    -------
    list of (str, str)
        Number, and the text around it.
    """
    moved = numbers(committed) - numbers(ran) - known
    before = set(paragraphs(committed))
    return [
        (number, " ".join(around.split()))
        for paragraph in paragraphs(ran)
        if paragraph in before and not paragraph.lstrip("*> ").startswith(COMMITTED)
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
    """Stale sentences of a notebook under changed parameters, and on the sample."""
    book = nbformat.read(root() / "notebooks" / f"{name}.ipynb", as_version=4)
    known = SIZES | shown(" ".join(all_published()["printed"]))
    runs = {"changed": changed(book)}
    if "source" in "".join(
        c.source for c in book.cells if c.metadata.get("tags") == ["parameters"]
    ):
        runs["sample"] = {"source": "sample"}
    found = []
    for kind, parameters in runs.items():
        if parameters:
            ran = run(name, parameters, Path(folder) / kind)
            found += [(kind, *one) for one in stale(book, ran, known)]
    return found


if __name__ == "__main__":
    failed = False
    for name in sys.argv[1:] or sorted(p.stem for p in (root() / "notebooks").glob("*.ipynb")):
        for kind, number, around in check(name, root() / "build" / "sentences"):
            failed = True
            print(f"{name} ({kind}): {number} moved, and this did not: ...{around}...")
    sys.exit(failed)
