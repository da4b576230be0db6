"""How much of each paper reproduces and what explains it, from the ledger."""

import re
import textwrap

import pandas as pd

from nlgjudge.report.published import PAPERS

GROUPS = {"exact": "exact", "close": "close", "not_run": "not run"}
EXPLAINED = ["exact", "close", "sign_flipped", "relabelled"]
# What the names of variants mean, for a reader.
WORDS = {"f": "F", "f1.2": "F with recall weighed 1.2", "p": "precision", "r": "recall",
         "mean": "mean over references", "max": "best reference", "first": "first reference",
         "none": "no stemmer", "porter": "NLTK's stemmer", "porter_original": "Porter's own stemmer",
         "spaces": "words cut at blanks", "period": "sentences cut at periods",
         "punctuation": "sentences cut at . ! ?", "whole": "no sentences", "cut": "text after < lost",
         "script": "as ROUGE-1.5.5 gives it", "dots": "sentences end at any dots"}


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


def by_paper_markdown(rows):
    """Counts by paper, as Markdown."""
    table = coverage(rows)
    lines = [f"| paper | {' | '.join(table)} |", "|---" + "|---:" * len(table.columns) + "|"]
    lines += [f"| {name} | {' | '.join(f'{v:,}' for v in counts)} |" for name, *counts in table.itertuples()]
    return "\n".join(lines)


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
    cause of what resists: its tables, how many cells the variant explains (exact or close, also after
    a change of sign or under another coefficient's name), how many variants were tried, and the cause.

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
    groups = [part for _, part in table.groupby(["family", "variant", "cause"], sort=False)]
    kept = sorted(groups, key=lambda part: -part["cells"].sum())[:most]
    text = [_sentence(part) for part in groups if any(part is other for other in kept)]
    if len(groups) > most:
        text.append(f"- {len(groups) - most} smaller groups of rows are in the ledger alone.")
    return "\n".join(text)


def _line(part):
    """One row of a table: its variant in words, and what resists."""
    first, resist = part.iloc[0], part[~part["verdict"].isin(EXPLAINED)]
    tried = re.search(r"(\d+) variants tried", " ".join(part["note"]))
    alone = part["note"].str.startswith("one score, no variant").all()
    # The metric's own name in front says nothing that the row does not say.
    names = (re.sub(r"^\w+(: |-(?=[fpr]$))", "", v) for v in dict.fromkeys(part["variant"]) if v)
    words = "; ".join(" | ".join(", ".join(WORDS.get(word, word) for word in option.split(", "))
                                 for option in name.split(" | ")) for name in names)
    return {"family": first["paper"].removesuffix("_v1"), **first[["paper", "artefact", "row"]],
            "variant": "the one score released" if alone else words, "cells": len(part),
            "cause": "; ".join(dict.fromkeys(resist["note"])), "resist": len(resist),
            "relabelled": part["verdict"].eq("relabelled").any(), "tried": int(tried[1]) if tried else 0,
            "substitute": part["evidence"].isin(["substitute_judge", "rejudged"]).all()}


def _sentence(part):
    papers, tables, names = (list(dict.fromkeys(part[c])) for c in ("paper", "artefact", "row"))
    paper = PAPERS[papers[0]]
    if len(papers) > 1:  # versions of one paper, as "G-Eval (EMNLP 2023)" and "G-Eval (arXiv v1)"
        paper = f"{paper[:-1]} and {PAPERS[papers[1]].split('(')[1]}"
    numbers = [re.sub(r"\D", "", name) for name in tables]
    kind = tables[0].rstrip("0123456789").capitalize() + "s" * (len(numbers) > 1)
    cells, resist, tried = part["cells"].sum(), part["resist"].sum(), sorted({*part["tried"]} - {0})
    by = "met by another judge," if part["substitute"].all() else "explained by"
    text = f"- **{paper}** · {kind} {_and(numbers)} · {_and(names)}: {cells - resist} of {cells} cells {by} "
    text += f"*{part['variant'].iloc[0] or 'what was run'}*"
    text += ", under other coefficients' names" if part["relabelled"].any() else ""
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
