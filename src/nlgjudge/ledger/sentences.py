"""The answer that a table gives, in a few sentences made from its cells."""

import pandas as pd

from nlgjudge.ledger.comparison import with_interval
from nlgjudge.ledger.ledger import needs_of
from nlgjudge.ledger.verdicts import EVIDENCE, MISPRINT, OF_OTHERS
from nlgjudge.ledger.words import listed, titled

OWN = EVIDENCE[:3]  # from the paper's own material
# What the values are, of rows for which only others have some.
OTHERS = {
    "other_run": "another run of the metric",
    "rejudged": "another model",
    "substitute_judge": "another model",
    "third_party": "computed by others from its replies",
}


def verdict(cells):
    """Say what of a published table reproduces, what does not, and what is missing.

    Parameters
    ----------
    cells : pandas.DataFrame
        All cells of a table, as from `nlgjudge.ledger.paper_table`.

    Returns
    -------
    str

    Examples
    --------
    >>> from nlgjudge.ledger.whole_table import paper_table
    >>> from nlgjudge.ledger.ledger import committed
    >>> print(verdict(paper_table(committed(), "geval", "table3").cells).split(". ")[0])
    27 of 93 published cells reproduce, 25 to the last digit: ROUGE-2, ROUGE-L and UniEval, every cell
    """
    cells = cells[cells["published"] != ""]
    own = cells["evidence"].isin(OWN)
    of_others = cells["evidence"].isin(OF_OTHERS) & ~cells["row"].isin(cells.loc[own, "row"])
    found = [
        *_own(cells, cells[own & (cells["verdict"] != MISPRINT)]),
        *_misprints(cells[cells["verdict"] == MISPRINT]),
        *_of_others(cells[of_others].drop_duplicates("row")),
        *_missing(cells),
    ]
    return ". ".join(found) + "."


def _rows(names):
    """Rows as a sentence has them; a name with a comma in quotation marks."""
    return listed([f'"{name}"' if "," in name else name for name in names])


def _own(cells, own):
    """What the paper's own material gives, then the rows that do not reproduce."""
    published = len(cells)
    if own.empty:
        yield f"None of {published} published cells is computed here from the paper's own material"
        return
    good = own["verdict"].isin(["exact", "close"])
    exact = own["verdict"] == "exact"
    digits = "all" if exact.sum() == good.sum() else f"{exact.sum()}"
    text = f"{good.sum()} of {published} published cells reproduce, {digits} to the last digit"
    rows = own.assign(good=good, exact=exact, near=own["variant"].str.startswith("nearest: "))
    rows = rows.groupby("row", sort=False).agg(
        cells=("good", "size"), good=("good", "sum"), exact=("exact", "sum"), near=("near", "any")
    )
    whole = rows.index[(rows["good"] == rows["cells"]) & ~rows["near"]]
    if len(whole):
        lacks = cells["verdict"].eq("not_run") & cells["row"].isin(whole)
        text += f": {_rows(whole)}, every cell" + " that was computed" * bool(lacks.any())
    yield text
    for row in rows.drop(whole).itertuples():
        yield from _missed(row, own.loc[own["row"] == row.Index, "verdict"])


def _missed(row, verdicts):
    """How a row differs; a cell that has another coefficient's value does reproduce."""
    counts = verdicts.value_counts().drop(["exact", "close"], errors="ignore")
    if counts.empty:
        yield f"No variant explains {row.Index}: the nearest gives {row.exact} of {row.cells} cells exactly"
    if "relabelled" in counts:
        moved = counts.pop("relabelled")
        yield f"{row.Index} reproduces under another label in {moved} of {row.cells} cells"
    if len(counts):
        kinds = ", ".join(f"{count} {titled(kind)}" for kind, count in counts.items())
        yield f"{row.Index} does not reproduce in {counts.sum()} of {row.cells} cells ({kinds})"


def _misprints(wrong):
    """Which published averages are no averages of their row."""
    if len(wrong) == 1:
        yield f"A published average contradicts the cells beside it ({wrong['row'].iloc[0]})"
    if len(wrong) > 1:
        rows = _rows(wrong["row"].unique())
        yield f"{len(wrong)} published averages contradict the cells beside them ({rows})"


def _of_others(rows):
    """Rows for which only others have values."""
    if len(rows):
        yield f"Values that confirm nothing: {_grouped(rows['row'], rows['evidence'].map(OTHERS))}"


def _missing(cells):
    """What is missing for the cells without any value, from `paper_tables/needs.csv`."""
    rest = cells[cells["ours"].isna() & (cells["aspect"] != "AVG")].drop_duplicates("row")
    if len(rest):
        partly = rest["row"].isin(cells.loc[cells["ours"].notna(), "row"])
        names = rest["row"].mask(partly, "parts of " + rest["row"])
        yield f"Missing: {_grouped(names, needs_of(rest, 'missing'))}"


def _grouped(rows, kinds):
    """Rows by kind, as "kind (row and row); other kind (row)"."""
    parts = rows.groupby(list(kinds), sort=False).agg(_rows)
    return "; ".join(f"{kind} ({of})" for kind, of in parts.items())


def rerun_verdict(cells, reran):
    """Say what a judge gives in the place of each row of a model.

    Parameters
    ----------
    cells : pandas.DataFrame
        The judge's cells of one table, of a rerun.
    reran : nlgjudge.ledger.reruns.Rerun

    Returns
    -------
    str
        Empty without cells.
    """
    if cells.empty:
        return ""
    shown = cells[cells["coefficient"] == _first(cells["coefficient"], "spearman")]
    shown = shown[shown["aspect"] == _first(shown["aspect"], "AVG")]
    parts = [
        _of_row(cell, reran.counts.loc[cell["row"]])
        for _, cell in shown.drop_duplicates("row").iterrows()
    ]
    return ". ".join(["; ".join(parts), *reran.notice.splitlines()]) + "."


def _first(values, wanted):
    """The wanted value if it is among others, else the first of them."""
    return wanted if wanted in set(values) else values.iloc[0]


def _of_row(cell, counts):
    judge = counts["judge"].iloc[0]
    counts = counts.sum(numeric_only=True)
    value = with_interval(pd.DataFrame([cell]), digits=3).iloc[0]
    where = "on average" if cell["aspect"] == "AVG" else f"on {titled(cell['aspect'])}"
    printed = cell["published"] or "nothing"
    unread = counts["unread"] / max(counts["replies"], 1)
    return (
        f"{judge} as {cell['row']}: {titled(cell['coefficient'])} {value} {where}, where the paper publishes {printed} "
        f"({counts['items']:,.0f} items, {unread:.0%} of the replies without a rating)"
    )
