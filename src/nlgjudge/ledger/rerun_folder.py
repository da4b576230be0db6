"""A judge's folder of reruns: cells, replies, and one page with all tables run so far."""

import hashlib
import html
import re

import pandas as pd

from nlgjudge.data.paths import SAMPLE_NOTICE, workplace
from nlgjudge.ledger import ledger
from nlgjudge.ledger.printed import PAPERS as TITLES
from nlgjudge.ledger.reruns import rerun
from nlgjudge.ledger.whole_table import paper_table
from nlgjudge.papers.asking import CHAINS, PAPERS, parts_of

BASELINE = "surface"  # the rule-based judge that every model is compared with
# What identifies a line of `replies.csv` and the cells that a later run replaces.
_LINE = ["paper", "row", "dataset", "tables"]
_ROW = ["paper", "artefact", "row"]
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem }}
div {{ overflow-x: auto }} table.plain {{ border-collapse: collapse; font-size: 14px }}
table.plain th, table.plain td {{ border-bottom: 1px solid #ccc; padding: .2rem .6rem; text-align: right }}
</style></head><body>
<h1>{title}</h1>
{parts}
</body></html>
"""


def place(names, changes, limit, sample):
    """Folder of the runs of some judges.

    Parameters
    ----------
    names : list of str
        Of the judges.
    changes : dict
        Values that differ from the papers' protocols.
    limit : int
    sample : bool

    Returns
    -------
    pathlib.Path
        Below `build/reruns/`. A rehearsal, a run on the sample and a run with other settings
        have folders of their own.

    Examples
    --------
    >>> place(["openai:gpt-4o"], {"temperature": 0}, 20, False).name
    'gpt-4o-temperature0-limit20'
    """
    words = [re.sub(r"[^\w.]+", "-", name.removeprefix("openai:")) for name in names]
    changes = changes | changes.get("sampling", {})
    if "pattern" in changes:
        changes["pattern"] = hashlib.sha256(changes["pattern"].encode()).hexdigest()[:6]
    apart = [f"-{name}{value}" for name, value in changes.items() if name != "sampling"]
    apart = [re.sub(r"[^\w.-]+", "", text) for text in apart]
    apart += [f"-limit{limit}"] * bool(limit) + ["-sample"] * sample
    return workplace() / "build" / "reruns" / "".join(["+".join(words), *apart])


def baseline(tables, named, limit, source):
    """Cells of the rule-based judge under the same protocols; it cannot answer a chain of prompts.

    Parameters
    ----------
    tables : dict of str to list of str
    named : dict of str to str
        A judge for each row; only these rows are computed.
    limit : int
    source : str

    Returns
    -------
    pandas.DataFrame
        The ledger's columns.
    """
    found = [pd.DataFrame(columns=ledger.COLUMNS)]
    for paper, artefacts in tables.items():
        parts = parts_of(paper, artefacts)
        asked = [part.row for part in parts if part.row.row in named]
        rows = {row.row: BASELINE for row in asked if row.scoring not in CHAINS}
        if rows:
            asked = rerun(paper, artefacts, rows, limit=limit, source=source)
            found.append(asked.cells)
    return pd.concat(found, ignore_index=True)


def add(cells, counts, folder, rules):
    """Add the results of a run to a judge's folder, and write the index page.

    Parameters
    ----------
    cells : pandas.DataFrame
        The ledger's columns. Rows of the same paper and table replace those of an earlier run.
    counts : pandas.DataFrame
        Columns of `nlgjudge.ledger.reruns.Rerun.counts`, and `paper, row, dataset, tables`. Calls and cost
        are added to those of earlier runs.
    folder : pathlib.Path
    rules : pandas.DataFrame
        From `baseline`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, new in (("cells.csv", cells), (f"{BASELINE}.csv", rules)):
        path = folder / name
        if path.exists():
            new = _added(ledger.read(path), new, _ROW)
        ledger.save(new[ledger.COLUMNS], path)
    path = folder / "replies.csv"
    if path.exists():
        before = pd.read_csv(path, keep_default_na=False)
        paid = before.set_index(_LINE)[["calls", "cost"]].reindex(counts[_LINE]).fillna(0)
        counts = counts.assign(**{name: counts[name] + paid[name].to_numpy() for name in paid})
        counts = _added(before, counts, _LINE)
    counts.to_csv(path, index=False, lineterminator="\n")
    write_index(folder)


def _added(before, new, key):
    """Lines of earlier runs that the new ones do not replace, and the new ones."""
    replaced = pd.MultiIndex.from_frame(before[key]).isin(pd.MultiIndex.from_frame(new[key]))
    return pd.concat([before[~replaced], new], ignore_index=True)


def write_index(folder):
    """Write the page of all tables that a judge was run on so far.

    Parameters
    ----------
    folder : pathlib.Path
        With `cells.csv`, `replies.csv` and perhaps `executed/`.
    """
    cells = ledger.read(folder / "cells.csv")
    counts = pd.read_csv(folder / "replies.csv", keep_default_na=False)
    others = {name: part for name, part in ledger.kept_cells().groupby("judge")}
    others[BASELINE] = ledger.read(folder / f"{BASELINE}.csv")
    parts = [f"<p>{html.escape(text)}</p>" for text in _lead(folder, cells)]
    parts.append("<p><a href='cells.csv'>cells.csv</a> <a href='replies.csv'>replies.csv</a></p>")
    for (paper, artefact), rows in cells.groupby(["paper", "artefact"], sort=False):
        parts += _table(folder, paper, artefact, rows, counts, others)
    page = PAGE.format(
        title=html.escape(f"The papers' rows, asked of {folder.name}"), parts="\n".join(parts)
    )
    (folder / "index.html").write_text(page, encoding="utf-8")


def _lead(folder, cells):
    """Sentences above the tables."""
    if folder.name.endswith("-sample"):
        yield f"SAMPLE: {SAMPLE_NOTICE}."
    if cells["verdict"].eq("").any():
        yield "A rehearsal on the first documents of each dataset: it has no verdicts."
    yield (
        "Each cell shows the published value and this judge's value below it. The second table lists "
        "what was asked; the third compares means over the same cells with recorded judges and with "
        f"{BASELINE}, a rule-based judge."
    )


def _table(folder, paper, artefact, rows, counts, others):
    """One published table: coloured cells, requests, comparison, notebooks."""
    key = next(name for name in PAPERS if paper in PAPERS[name].VERSIONS)
    asked = counts[
        (counts["paper"] == key)
        & counts["row"].isin(rows["row"])
        & counts["tables"].map(lambda tables: artefact in tables.split("|"))
    ]
    shown = asked.drop(columns=["paper", "tables"]).rename(columns={"unread": "unparsed"})
    pages = [
        f"<a href='executed/{path.name}'>{path.stem}</a>"
        for path in sorted((folder / "executed").glob(f"{key}_*.html"))
        if artefact in path.stem.split("_")
    ]
    yield f"<h2>{html.escape(TITLES[paper])}, Table {artefact.removeprefix('table')}</h2>"
    whole = paper_table(rows, paper, artefact, elsewhere=False)
    whole.cells = whole.cells[whole.cells["row"].isin(rows["row"])].reset_index(drop=True)
    yield whole._repr_html_()
    means = summary(rows, others).drop(columns=["paper", "table"])
    for frame in (shown, means):
        text = frame.to_html(
            index=False, na_rep="", classes="plain", border=0, float_format="{:.4g}".format
        )
        yield f"<div>{text}</div>"
    if pages:
        yield f"<p>Notebook: {', '.join(pages)}</p>"


def summary(cells, others=None):
    """Published and rerun values, row by row.

    Parameters
    ----------
    cells : pandas.DataFrame
        The ledger's columns.
    others : dict of str to pandas.DataFrame, optional
        By name, cells of other judges. A mean is shown where a judge has all cells of the line.

    Returns
    -------
    pandas.DataFrame
        `paper, table, row, level, coefficient, cells, published, this judge` and a column for each
        other judge that has a value: means over the same cells, without averages.
    """
    cells = cells[cells["aspect"] != "AVG"].assign(published=pd.to_numeric(cells["published"]))
    cells = cells.dropna(subset=["published", "ours"])
    wide = cells[[*ledger.CELL, "published"]].assign(**{"this judge": cells["ours"]})
    for name, other in (others or {}).items():
        own = other.loc[other["ours"].notna(), [*ledger.CELL, "ours"]]
        wide = wide.merge(own.rename(columns={"ours": name}), on=ledger.CELL, how="left")
    lines = wide.groupby(["paper", "artefact", "row", "level", "coefficient"], sort=False)
    values = [name for name in wide if name not in ledger.CELL]
    means = lines[values].agg(lambda column: column.mean(skipna=False)).round(3)
    means.insert(0, "cells", lines.size())
    means = means.dropna(axis="columns", how="all").reset_index()
    return means.rename(columns={"artefact": "table"})
