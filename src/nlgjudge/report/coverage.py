"""How much of each paper reproduces, from the ledger."""

import pandas as pd

from nlgjudge.report.published import PAPERS

GROUPS = {"exact": "exact", "close": "close", "not_run": "not run"}


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


def markdown(rows):
    """The README's results table, as Markdown."""
    counts = by_table(rows)
    lines = ["| paper | table | cells | exact | close | other | not run | notebook |",
             "|---|---|---:|---:|---:|---:|---:|---|"]
    for (paper, artefact), row in counts.iterrows():
        links = ", ".join(f"[{n}](notebooks/{n}.ipynb)" for n in row["notebook"].split(", ") if n)
        numbers = " | ".join(str(row[c]) for c in ("cells", "exact", "close", "other", "not run"))
        lines.append(f"| {PAPERS[paper]} | {artefact.removeprefix('table')} | {numbers} | {links} |")
    total = coverage(rows).loc["all"]
    lines.append("| **all** | | " + " | ".join(f"**{v}**" for v in total) + " | |")
    return "\n".join(lines)


def update_readme(path, rows):
    """Rewrite the README between its two `results` marks.

    Raises
    ------
    ValueError
        When the marks are missing.
    """
    begin, end = "<!-- results: generated from the ledger -->", "<!-- end of results -->"
    text = path.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise ValueError(f"{path} lacks the marks {begin} and {end}")
    head, tail = text.split(begin)[0], text.split(end)[1]
    path.write_text(f"{head}{begin}\n{markdown(rows)}\n{end}{tail}", encoding="utf-8")
