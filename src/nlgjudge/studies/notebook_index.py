"""The table of contents of the notebooks, from the notebooks themselves, the printed tables and the ledger."""

import json
import re
from typing import NamedTuple

import pandas as pd

from nlgjudge.data.paths import root, use
from nlgjudge.ledger.ledger import committed
from nlgjudge.ledger.printed import PAPERS
from nlgjudge.ledger.verdicts import of_others

COUNTS = ["exact", "close", "other", "not run"]


class Markdown(NamedTuple):
    """A text that a notebook shows as Markdown."""

    data: str

    def _repr_markdown_(self):
        return self.data


class Page(NamedTuple):
    """What the contents say of a notebook.

    Attributes
    ----------
    name : str
        Of its file, without the ending.
    title : str
        Its heading.
    fails, holds : str
        The first sentences of the two paragraphs of its verdict, its second cell, without the words in bold:
        what does not match, and what does.
    """

    name: str
    title: str
    fails: str
    holds: str

    @property
    def link(self):
        """The title as a link, in Markdown."""
        return f"[{self.title}]({self.name}.ipynb)"


def pages():
    """Read heading and verdict of every notebook.

    Returns
    -------
    dict of str to Page
        By name, sorted.
    """
    return {path.stem: _page(path) for path in sorted((root() / "notebooks").glob("*.ipynb"))}


def _page(path):
    cells = json.loads(use(path).read_text(encoding="utf-8"))["cells"]
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    title = prose[0].split("\n")[0].lstrip("# ").replace("`", "")
    verdict = prose[1].split("\n\n") if len(prose) > 1 and prose[1].startswith("**") else []
    said = [first_sentence(re.sub(r"^\*\*.*?\*\*\s*", "", paragraph)) for paragraph in verdict]
    fails, holds, *_ = [*said, "", ""]
    return Page(path.stem, title, fails, holds)


def first_sentence(text):
    """The first sentence of a paragraph, with a capital at its start.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> first_sentence("all rows of ROUGE-1.5.5 agree. The others do not.")
    'All rows of ROUGE-1.5.5 agree.'
    """
    sentence = re.split(r"(?<=\w\w[.?])\s+(?=[A-Z*])", text.split("\n\n")[0])[0].replace("\n", " ")
    return sentence[:1].upper() + sentence[1:]


def papers():
    """Name the papers that have notebooks.

    Returns
    -------
    dict of str to str
        By key; the two printed versions of G-Eval are one paper.
    """
    return {key: name.split(" (")[0] for key, name in PAPERS.items() if not key.endswith("_v1")}


def contents(paper):
    """List the tables and figures of a paper in its order, with the verdict of each.

    Parameters
    ----------
    paper : str
        A key of `papers`.

    Returns
    -------
    pandas.DataFrame
        Indexed by `Table or figure`: `what it shows`, `notebook` (a link in Markdown), `cells` (how many of
        the printed correlations are exact, close, otherwise compared, and not run; empty for others) and
        `verdict` (a sentence).
    """
    listed = pd.read_csv(use(root() / "site" / "artefacts.csv"), keep_default_na=False, dtype=str)
    ledger = committed()
    ledger = ledger[ledger["paper"].str.removesuffix("_v1") == paper]
    books = pages()
    lines = []
    for item in listed[listed["paper"] == paper].to_dict("records"):
        book = _covering(paper, item["artefact"], books) or books.get(item["notebook"])
        printed = ledger[(ledger["artefact"] == item["artefact"]) & (ledger["published"] != "")]
        verdict = item["needs"] or item["status"]
        if len(printed) and (printed["verdict"] == "not_run").all():
            # The notebook's verdict is about the tables that it computes, and this one is not among them.
            verdict = f"None of its cells was run; most need {printed['note'].mode()[0]}."
        elif len(printed) and book:
            verdict = book.fails
        lines.append(
            {
                "Table or figure": re.sub(r"(\d+)", r" \1", item["artefact"]).title(),
                "what it shows": item["what"],
                "notebook": book.link if book else "",
                "cells": _counts(printed),
                "verdict": first_sentence(verdict),
            }
        )
    return pd.DataFrame(lines).set_index("Table or figure")


def counts(names):
    """Count the printed correlations of each paper.

    Parameters
    ----------
    names : dict of str to str
        From `papers`.

    Returns
    -------
    pandas.DataFrame
        Indexed by the paper's name, without papers that print none: `printed, exact, close, other, not run`.
    """
    ledger = committed()
    ledger = ledger[ledger["published"] != ""]
    groups = _groups(ledger)
    of_paper = ledger["paper"].str.removesuffix("_v1")
    lines = {
        name: groups[of_paper == key].value_counts()
        for key, name in names.items()
        if key in set(of_paper)
    }
    table = (
        pd.DataFrame(lines)
        .T.reindex(columns=COUNTS)
        .fillna(0)
        .astype(int)
        .rename_axis(columns=None)
    )
    table.insert(0, "printed", table.sum(axis=1))
    return table


def _covering(paper, artefact, books):
    """The first notebook whose name holds a printed table or figure."""
    for name, book in books.items():
        if name.startswith(f"{paper}_") and artefact in name.split("_"):
            return book
    return None


def _counts(printed):
    """How many printed cells are exact, close, otherwise compared, and not run, in words."""
    found = _groups(printed).value_counts()
    return ", ".join(f"{found[name]} {name}" for name in COUNTS if name in found)


def _groups(cells):
    """Under which of `COUNTS` each cell falls."""
    verdicts = cells["verdict"].str.replace("_", " ")
    groups = verdicts.where(verdicts.isin(COUNTS), "other")
    return groups.mask(of_others(cells) & (groups != "not run"), "other")


def beyond(*prefixes):
    """List the notebooks whose names begin with one of these words.

    Parameters
    ----------
    *prefixes : str
        As ``"beyond"`` or ``"ablation"``.

    Returns
    -------
    pandas.DataFrame
        `notebook` (a link in Markdown) and `answer` (the sentence that says what holds).
    """
    found = [page for name, page in pages().items() if name.split("_")[0] in prefixes]
    return pd.DataFrame([(page.link, page.holds) for page in found], columns=["notebook", "answer"])


def heading(text):
    """A heading above a table, in Markdown."""
    return Markdown(f"### {text}")


def markdown(table, *, index=True):
    """Lay a table out in Markdown, so that its links can be followed.

    Parameters
    ----------
    table : pandas.DataFrame
        Of strings.
    index : bool
        Whether its index is the first column.

    Returns
    -------
    Markdown
    """
    shown = table.reset_index() if index else table
    lines = ["| " + " | ".join(shown.columns) + " |", "|" + "---|" * len(shown.columns)]
    for row in shown.itertuples(index=False):
        lines.append("| " + " | ".join(str(value).replace("|", "\\|") for value in row) + " |")
    return Markdown("\n".join(lines))
