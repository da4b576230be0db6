"""What `cite` does: BibTeX for the papers, benchmarks and judges behind a notebook."""

import json
import re
import sys
from pathlib import Path

from nlgjudge.data.choices import unknown
from nlgjudge.data.citations import bibliography, cited_for
from nlgjudge.data.paths import root
from nlgjudge.repo import workflow

# What a need was when the outputs were made, where nothing of it is in them.
_WITHOUT = ("absent", "unreadable", "sample")


def cite(notebook):
    """Print BibTeX for what a notebook rests on.

    Parameters
    ----------
    notebook : str
        Name of one of the repository's, or the path of any, also of an executed copy.

    Raises
    ------
    FileNotFoundError
        For a notebook that is not there; the message has the names that come near.
    ValueError
        For a file that is no notebook.
    """
    path = find(notebook)
    book = read(path)
    entries = bibliography()
    print(f"% What {path.stem} rests on. nlgjudge itself: CITATION.cff")
    for model in judges(book):
        if not cited_for("judge", model):
            print(f"% judge {model}: no entry in data/citations.bib; cite what its makers name")
    for key in keys(path.stem, book):
        if key in entries:
            print(f"\n{entries[key].bibtex}")
        else:
            print(f"{key}: no entry in data/citations.bib; add one", file=sys.stderr)


def find(notebook):
    """Where a notebook lies.

    Parameters
    ----------
    notebook : str or pathlib.Path
        As for `cite`.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    FileNotFoundError
        As for `cite`.
    """
    given = Path(notebook)
    if given.is_file():
        return given
    name = given.name.removesuffix(".ipynb")
    known = workflow.notebooks()
    if name in known and given.parent in (Path(), Path("notebooks")):
        return root() / "notebooks" / f"{name}.ipynb"
    if name in known:
        raise FileNotFoundError(f"{given}: no such file; {name} alone names the repository's own")
    raise FileNotFoundError(
        f"{unknown('notebook', name, known)}\nA copy elsewhere is named by its path."
    )


def read(path):
    """Read a notebook as its file has it.

    Raises
    ------
    ValueError
        For a file that is no notebook.
    """
    try:
        book = json.loads(path.read_text(encoding="utf-8"))
        if "metadata" in book and "cells" in book:
            return book
    except (ValueError, TypeError):
        pass
    raise ValueError(f"{path}: expected a notebook (.ipynb), got another file")


def keys(name, book):
    """Citation keys of what a notebook rests on.

    Parameters
    ----------
    name : str
    book : dict
        As its file has it; what its last run could not have does not count.

    Returns
    -------
    list of str
        Papers first, then benchmarks, publications of files, judges.
    """
    from nlgjudge.data.benchmarks import READERS
    from nlgjudge.ledger import cited

    signed = _signature(book)
    needs = had(book)
    without = {path for entry in signed["data"].values() for path in entry.get("without", ())}
    files = [
        entry for need in needs for entry in workflow.files_of(need) if entry.path not in without
    ]
    found = cited.keys(
        papers=papers(name, book),
        benchmarks=[need for need in needs if need in READERS],
        files=files,
        models=judges(book),
    )
    said = [key.strip() for key in signed["cite"].split(",") if key.strip()]
    return list(dict.fromkeys([*found, *said]))


def papers(name, book):
    """Papers that a notebook is about, or names.

    Parameters
    ----------
    name : str
        Its first word may be a paper's key.
    book : dict

    Returns
    -------
    list of str
        Keys, in the order of `PAPERS`.
    """
    from nlgjudge.ledger.printed import PAPERS

    prose = _text(book, "markdown")
    code = _text(book, "code")
    found = []
    for paper, title in PAPERS.items():
        version = re.search(r"_(v\d+)$", paper)
        # A further version of a paper is named by its number, and the paper itself by its title.
        named = rf"\b{version[1]}\b" if version else re.escape(title.split(" (")[0])
        in_code = rf"\bnj\.{paper}\b|[\"']{paper}[\"'/]"
        if name.startswith(f"{paper}_") or re.search(named, prose) or re.search(in_code, code):
            found.append(paper)
    return found


def judges(book):
    """Models behind a notebook: those of its recordings, and those that its run was given.

    Parameters
    ----------
    book : dict

    Returns
    -------
    list of str
    """
    from nlgjudge.ledger import cited

    recorded = [need.removeprefix("replay:") for need in had(book) if need.startswith("replay:")]
    found = [model for recording in recorded for model in cited.recorded_models(recording)]
    given = book["metadata"].get("papermill", {}).get("parameters", {})
    return list(dict.fromkeys([*found, *cited.named_models([given, _signature(book)["settings"]])]))


def had(book):
    """What a notebook declares, without what its last run could not have.

    Parameters
    ----------
    book : dict

    Returns
    -------
    list of str
        As `nlgjudge.repo.workflow.needs_of`.
    """
    found = book["metadata"].get("nlgjudge", {}).get("data", {})
    return [
        need for need in workflow.needs_of(book) if (found.get(need) or ["real"])[0] not in _WITHOUT
    ]


def _signature(book):
    from nlgjudge.ledger import signatures

    return {"data": {}, "settings": {}, "cite": ""} | (signatures.recorded(book) or {})


def _text(book, kind):
    return "\n".join("".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == kind)
