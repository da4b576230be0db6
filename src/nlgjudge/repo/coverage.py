"""How much of each paper reproduces and what explains it, from the ledger."""

import re
from typing import NamedTuple

import pandas as pd

from nlgjudge.ledger.printed import PAPERS
from nlgjudge.ledger.verdicts import ANOTHER_MODEL, ANOTHER_RUN, THIRD_PARTY, of_others, was_run
from nlgjudge.ledger.words import listed
from nlgjudge.repo import reach

GROUPS = {"exact": "exact", "close": "close", "misprint": "misprint", "not_run": "not run"}
COUNTS = ["exact", "close", "other", "misprint", "not run"]
AGREES = ["exact", "close", "sign_flipped", "relabelled"]
NEAREST = "nearest: "  # before the name of a variant that comes near a row and does not explain it
# Exact cells are one result, printed more than once, where all of these are the same.
RESULT = ["dataset", "aspect", "level", "coefficient", "ours"]
# What the names of variants mean, for a reader.
WORDS = {
    "f": "F",
    "f1.2": "F with recall weighed 1.2",
    "p": "precision",
    "r": "recall",
    "mean": "mean over references",
    "max": "best reference",
    "first": "first reference",
    "none": "no stemmer",
    "porter": "NLTK's stemmer",
    "porter_original": "Porter's own stemmer",
    "spaces": "words cut at blanks",
    "period": "sentences cut at periods",
    "punctuation": "sentences cut at . ! ?",
    "whole": "no sentences",
    "cut": "text after < lost",
    "script": "as ROUGE-1.5.5 gives it",
    "dots": "sentences end at any dots",
    "COCO": "as the COCO caption metrics give it",
}


def coverage(rows):
    """Count the ledger's cells.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger.

    Returns
    -------
    pandas.DataFrame
        A row per paper and one for all: `cells, exact, close, other, misprint, not run`.
    """
    papers = [paper for paper in PAPERS if paper in set(rows["paper"])]
    table = pd.crosstab(rows["paper"], _groups(rows)).reindex(
        index=papers, columns=COUNTS, fill_value=0
    )
    table.loc["all"] = table.sum()
    table.insert(0, "cells", table.sum(axis=1))
    return table.rename(index=PAPERS).rename_axis(None, axis=1)


def by_table(rows):
    """Count the ledger's cells by printed table.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger.

    Returns
    -------
    pandas.DataFrame
        Indexed by `paper, artefact`: `cells, exact, close, other, misprint, not run, notebook`.
    """
    key = ["paper", "artefact"]
    rows = rows.assign(group=_groups(rows))
    table = rows.pivot_table(
        index=key, columns="group", values="row", aggfunc="size", fill_value=0, sort=False
    )
    table = table.reindex(columns=COUNTS, fill_value=0)
    table.insert(0, "cells", table.sum(axis=1))
    table["notebook"] = rows.groupby(key)["notebook"].agg(_listed_once)
    return table


def _groups(rows):
    """Under which head each cell counts; another model's or run's is `other`, however near it comes.

    A misprint is one whoever ran the cell, or nobody.
    """
    groups = rows["verdict"].map(GROUPS).fillna("other")
    return groups.mask(of_others(rows) & ~groups.isin(["misprint", "not run"]), "other")


def _listed_once(names):
    return ", ".join(sorted(set(names) - {""}))


class Different(NamedTuple):
    """How many different results the exact cells are.

    Attributes
    ----------
    cells : int
        Exact cells, as the ledger has them.
    results : int
        The same, with each result once, in however many tables it is printed.
    without_averages : int
        Of these results, those that are no average over aspects or parts.
    """

    cells: int
    results: int
    without_averages: int


def different(rows):
    """Count the exact cells as different results.

    Papers print each other's rows, and one row stands in two versions or two tables. Exact cells of the
    same dataset, aspect, level and coefficient with the same value of ours count once.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger.

    Returns
    -------
    Different
    """
    exact = rows[_groups(rows) == "exact"]
    once = exact.drop_duplicates(RESULT)
    return Different(len(exact), len(once), int((once["aspect"] != "AVG").sum()))


def different_sentence(rows):
    """Say what `different` counts, in a sentence that stands where the exact cells are counted."""
    found = different(rows)
    return (
        f"The {found.cells:,} exact cells are {found.results:,} different results "
        f"({found.without_averages:,} without averages): a value that several tables print for the "
        "same data, aspect, level and coefficient counts once."
    )


def by_paper_markdown(rows):
    """Write the counts by paper as Markdown, and how many results the exact cells are."""
    table = coverage(rows)
    lines = [f"| paper | {' | '.join(table)} |", "|---" + "|---:" * len(table.columns) + "|"]
    for name, *counts in table.itertuples():
        numbers = " | ".join(f"{count:,}" for count in counts)
        lines.append(f"| {name} | {numbers} |")
    return "\n".join([*lines, "", different_sentence(rows)])


def markdown(rows):
    """Write the counts by table with their notebooks, as Markdown of a file in `paper_tables/`."""
    counts = by_table(rows)
    lines = [
        "| paper | table | cells | exact | close | other | misprint | not run | notebook |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for (paper, artefact), row in counts.iterrows():
        names = [name for name in row["notebook"].split(", ") if name]
        links = ", ".join(f"[{name}](../notebooks/{name}.ipynb)" for name in names)
        numbers = " | ".join(str(row[count]) for count in ("cells", *COUNTS))
        lines.append(
            f"| {PAPERS[paper]} | {artefact.removeprefix('table')} | {numbers} | {links} |"
        )
    totals = " | ".join(f"**{count}**" for count in coverage(rows).loc["all"])
    lines.append(f"| **all** | | {totals} | |")
    return "\n".join(lines)


def findings(rows, most=40):
    """What was found, in sentences made from the ledger's variants and notes.

    A sentence is about the rows of a paper (both versions of G-Eval) that share a variant and the
    cause of what resists: its tables, the variant or the family of variants that explains them (every
    cell that was searched rounds to the print) or the nearest one, how many cells agree (exact or close,
    also after a change of sign or under another coefficient's name), how many variants were tried, and
    the cause. What others ran or computed explains no row and has no sentence.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger.
    most : int
        Sentences at most; those of the fewest cells are left to the ledger.

    Returns
    -------
    str
        Markdown, a line for each sentence.
    """
    ran = rows[was_run(rows) & ~rows["evidence"].isin([ANOTHER_RUN, THIRD_PARTY])]
    lines = [_line(part) for _, part in ran.groupby(["paper", "artefact", "row"], sort=False)]
    if not lines:
        return "Nothing has been compared yet."
    table = pd.DataFrame(lines)
    groups = [part for _, part in table.groupby(["family", "variant", "near", "cause"], sort=False)]
    kept = sorted(groups, key=lambda part: -part["cells"].sum())[:most]
    text = [_sentence(part) for part in groups if any(part is one for one in kept)]
    if len(groups) > most:
        text.append(f"- {len(groups) - most} smaller groups of rows are in the ledger alone.")
    return "\n".join(text)


def _line(part):
    """One row of a table: its variant in words, and what resists."""
    first = part.iloc[0]
    resist = part[~part["verdict"].isin(AGREES)]
    tried = re.search(r"(\d+) variants tried", " ".join(part["note"]))
    alone = part["note"].str.startswith("one score, no variant").all()
    near = part["variant"].str.startswith(NEAREST).any()
    if alone and not near:
        words = "the one score released"
    else:
        words = "; ".join(_in_words(name) for name in dict.fromkeys(part["variant"]) if name)
    return {
        "family": first["paper"].removesuffix("_v1"),
        "paper": first["paper"],
        "artefact": first["artefact"],
        "row": first["row"],
        "variant": words,
        "near": near,
        "cells": len(part),
        "resist": len(resist),
        "cause": "; ".join(
            dict.fromkeys(said for note in resist["note"] for said in note.split("; "))
        ),
        "relabelled": part["verdict"].eq("relabelled").any(),
        "tried": int(tried[1]) if tried else 0,
        "substitute": part["evidence"].isin(ANOTHER_MODEL).all(),
    }


def _in_words(variant):
    """A variant's or a family's name for a reader, without the metric's own name in front."""
    name = re.sub(r"^\w+(: |-(?=[fpr]$))", "", variant.removeprefix(NEAREST))
    options = re.split(r"(, | \| | \(or with | or |[()])", name)
    return "".join(WORDS.get(option, option) for option in options)


def _sentence(part):
    """What was found about rows that share a variant and a cause."""
    tables = list(dict.fromkeys(part["artefact"]))
    names = list(dict.fromkeys(part["row"]))
    cells = part["cells"].sum()
    resist = part["resist"].sum()
    text = f"- **{_papers(part)}** · {_tables(tables)} · {listed(names)}: {_explained(part)}"
    text += f"; {cells - resist} of {cells} cells agree"
    if part["relabelled"].any():
        text += " under other coefficients' names"
    tried = set(part["tried"]) - {0}
    if tried:
        numbers = "–".join(map(str, dict.fromkeys((min(tried), max(tried)))))
        text += f"; {numbers} variants tried"
    if resist:
        text += f"; {resist} resist: {part['cause'].iloc[0].rstrip('.')}"
    return f"{text}."


def _papers(part):
    """A paper's name; of two versions as "G-Eval (EMNLP 2023 and arXiv v1)"."""
    first, *others = dict.fromkeys(part["paper"])
    name = PAPERS[first]
    if others:
        version = PAPERS[others[0]].split("(")[1]
        name = f"{name.removesuffix(')')} and {version}"
    return name


def _tables(tables):
    """As "Tables 1 and 4"."""
    kind = tables[0].rstrip("0123456789").capitalize()
    if len(tables) > 1:
        kind += "s"
    numbers = [re.sub(r"[^0-9]", "", table) for table in tables]
    return f"{kind} {listed(numbers)}"


def _explained(part):
    """By which variant the rows are explained, or how near one comes."""
    variant = f"*{part['variant'].iloc[0] or 'what was run'}*"
    if part["substitute"].all():
        return f"another judge, {variant}"
    if part["near"].all():
        return f"not explained, nearest is {variant}"
    return f"explained by {variant}"


def update(path, rows):
    """Rewrite a Markdown file between its pairs of marks: `results`, `tables`, `findings` and `reach`.

    Parameters
    ----------
    path : pathlib.Path
    rows : pandas.DataFrame
        The ledger.

    Raises
    ------
    ValueError
        When no pair is there, or half of one.
    """
    text = path.read_text(encoding="utf-8")
    if not any(BEGIN.format(name) in text for name in BLOCKS):
        raise ValueError(f"{path}: expected marks as {BEGIN.format('results')}, got none")
    for name, make in BLOCKS.items():
        begin = BEGIN.format(name)
        end = END.format(name)
        if (begin in text) != (end in text):
            raise ValueError(f"{path}: expected both {begin} and {end}, got one")
        if begin in text:
            before = text.split(begin)[0]
            after = text.split(end)[1]
            text = f"{before}{begin}\n{make(rows)}\n{end}{after}"
    path.write_text(text, encoding="utf-8")


BLOCKS = {
    "results": by_paper_markdown,
    "tables": markdown,
    "findings": findings,
    "reach": reach.markdown,
}
BEGIN = "<!-- {}: generated from the ledger -->"
END = "<!-- end of {} -->"
