"""How much of each paper reproduces and what explains it, from the ledger."""

import re
import textwrap
from typing import NamedTuple

import pandas as pd

from nlgjudge.ledger.printed import PAPERS

GROUPS = {"exact": "exact", "close": "close", "not_run": "not run"}
AGREES = ["exact", "close", "sign_flipped", "relabelled"]
NEAREST = "nearest: "  # before the name of a variant that comes near a row and does not explain it
# Exact cells are one result, printed more than once, where all of these are the same.
RESULT = ["dataset", "aspect", "level", "coefficient", "ours"]
# What the names of variants mean, for a reader.
WORDS = {"f": "F", "f1.2": "F with recall weighed 1.2", "p": "precision", "r": "recall",
         "mean": "mean over references", "max": "best reference", "first": "first reference",
         "none": "no stemmer", "porter": "NLTK's stemmer", "porter_original": "Porter's own stemmer",
         "spaces": "words cut at blanks", "period": "sentences cut at periods",
         "punctuation": "sentences cut at . ! ?", "whole": "no sentences", "cut": "text after < lost",
         "script": "as ROUGE-1.5.5 gives it", "dots": "sentences end at any dots",
         "COCO": "as the COCO caption metrics give it"}


def coverage(rows):
    """Count the ledger's cells.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger.

    Returns
    -------
    pandas.DataFrame
        A row per paper and one for all: `cells, exact, close, other, not run`.
    """
    group = rows["verdict"].map(GROUPS).fillna("other")
    table = pd.crosstab(rows["paper"], group).reindex(
        index=[p for p in PAPERS if p in set(rows["paper"])],
        columns=["exact", "close", "other", "not run"], fill_value=0)
    table.loc["all"] = table.sum()
    table.insert(0, "cells", table.sum(axis=1))
    return table.rename(index=PAPERS).rename_axis(None, axis=1)


def by_table(rows):
    """Count the ledger's cells by printed table.

    Returns
    -------
    pandas.DataFrame
        Indexed by `paper, artefact`: `cells, exact, close, other, not run, notebook`.
    """
    rows = rows.assign(group=rows["verdict"].map(GROUPS).fillna("other"))
    table = rows.pivot_table(index=["paper", "artefact"], columns="group", values="row",
                             aggfunc="size", fill_value=0, sort=False)
    table = table.reindex(columns=["exact", "close", "other", "not run"], fill_value=0)
    table.insert(0, "cells", table.sum(axis=1))
    table["notebook"] = rows.groupby(["paper", "artefact"])["notebook"].agg(
        lambda names: ", ".join(sorted(set(names) - {""})))
    return table


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
    exact = rows[rows["verdict"] == "exact"]
    once = exact.drop_duplicates(RESULT)
    return Different(len(exact), len(once), int((once["aspect"] != "AVG").sum()))


def different_sentence(rows):
    """What `different` counts, as one sentence for where the exact cells are counted."""
    found = different(rows)
    return (f"The {found.cells:,} exact cells are {found.results:,} different results "
            f"({found.without_averages:,} without averages): a value that several tables print for the "
            "same data, aspect, level and coefficient counts once.")


def by_paper_markdown(rows):
    """Counts by paper, as Markdown, and how many results the exact cells are."""
    table = coverage(rows)
    lines = [f"| paper | {' | '.join(table)} |", "|---" + "|---:" * len(table.columns) + "|"]
    for name, *counts in table.itertuples():
        numbers = " | ".join(f"{count:,}" for count in counts)
        lines.append(f"| {name} | {numbers} |")
    return "\n".join([*lines, "", different_sentence(rows)])


def markdown(rows):
    """Counts by table with their notebooks, as Markdown of a file in `paper_tables/`."""
    counts = by_table(rows)
    lines = ["| paper | table | cells | exact | close | other | not run | notebook |",
             "|---|---|---:|---:|---:|---:|---:|---|"]
    for (paper, artefact), row in counts.iterrows():
        links = ", ".join(f"[{n}](../notebooks/{n}.ipynb)" for n in row["notebook"].split(", ") if n)
        numbers = " | ".join(str(row[c]) for c in ("cells", "exact", "close", "other", "not run"))
        lines.append(f"| {PAPERS[paper]} | {artefact.removeprefix('table')} | {numbers} | {links} |")
    total = coverage(rows).loc["all"]
    lines.append("| **all** | | " + " | ".join(f"**{v}**" for v in total) + " | |")
    return "\n".join(lines)


def findings(rows, most=40):
    """What was found, in sentences made from the ledger's variants and notes.

    A sentence is about the rows of a paper (both versions of G-Eval) that share a variant and the
    cause of what resists: its tables, the variant or the family of variants that explains them (every
    cell that was searched rounds to the print) or the nearest one, how many cells agree (exact or close,
    also after a change of sign or under another coefficient's name), how many variants were tried, and
    the cause.

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
    ran = rows[rows["verdict"] != "not_run"]
    lines = [_line(part) for _, part in ran.groupby(["paper", "artefact", "row"], sort=False)]
    if not lines:
        return "Nothing has been compared yet."
    table = pd.DataFrame(lines)
    groups = [part for _, part in table.groupby(["family", "variant", "near", "cause"], sort=False)]
    kept = sorted(groups, key=lambda part: -part["cells"].sum())[:most]
    text = [_sentence(part) for part in groups if any(part is other for other in kept)]
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
        "family": first["paper"].removesuffix("_v1"), **first[["paper", "artefact", "row"]],
        "variant": words, "near": near, "cells": len(part), "resist": len(resist),
        "cause": "; ".join(dict.fromkeys(resist["note"])),
        "relabelled": part["verdict"].eq("relabelled").any(), "tried": int(tried[1]) if tried else 0,
        "substitute": part["evidence"].isin(["substitute_judge", "rejudged"]).all(),
    }


def _in_words(variant):
    """A variant's or a family's name for a reader, without the metric's own name in front."""
    name = re.sub(r"^\w+(: |-(?=[fpr]$))", "", variant.removeprefix(NEAREST))
    options = re.split(r"(, | \| | \(or with | or |[()])", name)
    return "".join(WORDS.get(option, option) for option in options)


def _sentence(part):
    papers, tables, names = (list(dict.fromkeys(part[c])) for c in ("paper", "artefact", "row"))
    paper = PAPERS[papers[0]]
    if len(papers) > 1:  # versions of one paper, as "G-Eval (EMNLP 2023)" and "G-Eval (arXiv v1)"
        paper = f"{paper[:-1]} and {PAPERS[papers[1]].split('(')[1]}"
    numbers = [re.sub(r"\D", "", name) for name in tables]
    kind = tables[0].rstrip("0123456789").capitalize() + "s" * (len(numbers) > 1)
    cells, resist, tried = part["cells"].sum(), part["resist"].sum(), sorted({*part["tried"]} - {0})
    variant = f"*{part['variant'].iloc[0] or 'what was run'}*"
    if part["substitute"].all():
        by = f"another judge, {variant}"
    elif part["near"].all():
        by = f"not explained, nearest is {variant}"
    else:
        by = f"explained by {variant}"
    text = f"- **{paper}** · {kind} {_and(numbers)} · {_and(names)}: {by}"
    text += f"; {cells - resist} of {cells} cells agree"
    text += " under other coefficients' names" if part["relabelled"].any() else ""
    text += f"; {'–'.join(map(str, dict.fromkeys((tried[0], tried[-1]))))} variants tried" if tried else ""
    cause = textwrap.shorten(part["cause"].iloc[0], 240, placeholder=" …")
    return f"{text}; {resist} resist: {cause.rstrip('.')}." if resist else f"{text}."


def _and(names):
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def update(path, rows):
    """Rewrite a Markdown file between its pairs of marks: `results`, `tables` and `findings`.

    Raises
    ------
    ValueError
        When no pair is there, or half of one.
    """
    text = path.read_text(encoding="utf-8")
    if not any(MARKS[0].format(name) in text for name in BLOCKS):
        raise ValueError(f"{path}: expected marks as {MARKS[0].format('results')}, got none")
    for name, make in BLOCKS.items():
        begin, end = (mark.format(name) for mark in MARKS)
        if (begin in text) != (end in text):
            raise ValueError(f"{path}: expected both {begin} and {end}, got one")
        if begin in text:
            text = f"{text.split(begin)[0]}{begin}\n{make(rows)}\n{end}{text.split(end)[1]}"
    path.write_text(text, encoding="utf-8")


BLOCKS = {"results": by_paper_markdown, "tables": markdown, "findings": findings}
MARKS = "<!-- {}: generated from the ledger -->", "<!-- end of {} -->"
