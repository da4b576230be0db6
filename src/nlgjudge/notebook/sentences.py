"""The answer that a table gives, in a few sentences made from its cells."""

from nlgjudge.ledger.comparison import with_interval
from nlgjudge.ledger.ledger import needs_of
from nlgjudge.ledger.verdicts import MISPRINT, OF_OTHERS, OWN, is_constant, titled
from nlgjudge.papers.folders import paper, titles

CHANCE = "within chance"
MOST_NAMED = 3  # rows that a sentence names
KINDS = {
    "higher": "higher than published",
    CHANCE: "within chance of it",
    "lower": "lower than published",
    "": "without an interval",
}
FAR = {"differs": "", "within_ci": " by less than sampling error", "sign_flipped": " by sign"}
# What the values are, of rows for which only others have some.
OTHERS = {
    "other_run": "another run of the metric",
    "rejudged": "another model",
    "substitute_judge": "another model",
    "third_party": "computed by others from its replies",
}


def listed(names):
    """Names as a sentence has them, as "fluency, coherence and style"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def verdict(cells):
    """Say what of a published table reproduces, what does not, and what is missing; `cells` are all of its cells.

    Examples
    --------
    >>> from nlgjudge.notebook.whole_table import paper_table
    >>> from nlgjudge.ledger.ledger import committed
    >>> print(verdict(paper_table(committed(), "geval", "table3").cells).split(". ")[0])
    27 of 93 published cells reproduce, 25 to the last digit: ROUGE-2, ROUGE-L and UniEval, every cell
    """
    cells = cells[(cells["published"] != "") & ~is_constant(cells)]
    own = cells["evidence"].isin(OWN)
    of_others = cells["evidence"].isin(OF_OTHERS) & ~cells["row"].isin(cells.loc[own, "row"])
    parts = [
        *_own(cells, cells[own & (cells["verdict"] != MISPRINT)]),
        *_misprints(cells[cells["verdict"] == MISPRINT]),
        *_of_others(cells[of_others].drop_duplicates("row")),
        *_missing(cells),
    ]
    return ". ".join(parts) + "."


def _rows(names):
    """The first rows as a sentence has them; a name with a comma in quotation marks."""
    named = [f'"{name}"' if "," in name else name for name in names]
    more = len(named) - MOST_NAMED
    return listed([*named[:MOST_NAMED], f"{more} more"] if more > 0 else named)


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
    missed = rows.drop(whole)
    for row in missed[:MOST_NAMED].itertuples():
        yield from _missed(row, own.loc[own["row"] == row.Index, "verdict"])
    if len(missed) > MOST_NAMED:
        yield f"Not in full either: {len(missed) - MOST_NAMED} more"


def _missed(row, verdicts):
    """How a row differs; a cell that has another coefficient's value does reproduce."""
    counts = verdicts.value_counts().drop(["exact", "close"], errors="ignore")
    if counts.empty:
        yield f"No variant explains {row.Index}: the nearest gives {row.exact} of {row.cells} cells exactly"
    if "relabelled" in counts:
        moved = counts.pop("relabelled")
        yield f"{row.Index}: {moved} of {row.cells} cells have another coefficient's value"
    if len(counts):
        kinds = [
            f"{count} {'differs' if count == 1 else 'differ'}{FAR[kind]}"
            for kind, count in counts.items()
        ]
        yield f"{row.Index}: {row.good} of {row.cells} cells reproduce, {listed(kinds)}"


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
        yield f"By others: {_grouped(rows['row'], rows['evidence'].map(OTHERS))}"


def _missing(cells):
    """What is missing for the cells without any value, from the papers' `[[needs]]`."""
    rest = cells[cells["ours"].isna() & (cells["aspect"] != "AVG")].drop_duplicates("row")
    if len(rest):
        judged = cells["ours"].notna() & cells["verdict"].ne("")  # not those of a rehearsal
        partly = rest["row"].isin(cells.loc[judged, "row"])
        names = rest["row"].mask(partly, "parts of " + rest["row"])
        yield f"Not checkable: {_grouped(names, needs_of(rest, 'missing'))}"


def _grouped(rows, kinds):
    """Rows by kind, as "kind (row and row); other kind (row)"."""
    parts = rows.groupby(list(kinds), sort=False).agg(_rows)
    return "; ".join(f"{kind} ({of})" for kind, of in parts.items())


def of_judge(means, counts):
    """Say what a judge gives in one table, beside the published values, from lines of a `Rerun`."""
    first = means.iloc[0]
    judge = listed(list(dict.fromkeys(counts["judge"])))
    datasets = listed([titled(one) for one in dict.fromkeys(means["dataset"])])
    where = f"{titles()[first['paper']]}, {titled(first['artefact'])}, on {datasets}"
    what = f"{titled(first['coefficient'])}, {first['level']} level"
    if means["aspects"].max() > 1:
        what += f", mean of {first['aspects']} aspects"
    several = means["dataset"].nunique() > 1
    names = means["row"] + (" (" + means["dataset"].map(titled) + ")" if several else "")
    without = means["ours"].isna()
    why = _grouped(names[without], means.loc[without, "why"])
    rules = {paper(first["paper"]).rows[row].unread for row in means["row"]} - {"left out"}
    means, names = means[~without], names[~without]
    texts = []
    if len(means):
        rows = means["row"].unique()
        rows = rows[0] if len(rows) == 1 else f"{len(rows)} rows"
        ours = with_interval(means).iloc[0] if len(means) == 1 else _range(means["ours"])
        published = f"where the paper publishes {_range(means['published'])} ({what})"
        texts.append(f"{judge} in the place of {rows} reaches {ours}, {published}")
        texts.append(_readings(means, names))
    if why:
        texts.append(f"{judge} has no value: {why}")
    counted = f", counted as {listed(sorted(rules))} as in the paper" if rules else ""
    return f"{where}: {'. '.join([*texts, _spent(counts, counted)])}."


def _range(values):
    low, high = f"{values.min():.2f}", f"{values.max():.2f}"
    return low if low == high else f"{low} to {high}"


def _readings(means, names):
    """Rows by whether the judge is higher or lower than published."""
    if not means["reading"].any():
        return "No interval is valid here, so the differences are not judged"
    parts = []
    for kind, said in KINDS.items():
        if (of_kind := means["reading"] == kind).any():
            share = f"{of_kind.sum()} of {len(means)}"
            parts.append(f"{said} ({share}): {_rows(names[of_kind])}")
    text = "; ".join(parts)
    return text[0].upper() + text[1:]


def _spent(counts, counted=""):
    """How many replies could be read, what the others count as, and what they took."""
    counts = counts.sum(numeric_only=True)
    answered, unread = counts["replies"] - counts["missing"], counts["unread"]
    text = f"Of {answered:,.0f} replies "
    text += (
        f"{unread:,.0f} hold no rating ({unread / answered:.1%}{counted})"
        if unread
        else "all hold a rating"
    )
    text += f", and {counts['missing']:,.0f} more are missing" if counts["missing"] else ""
    text += f"; {counts['calls']:,.0f} calls" if counts["calls"] else "; no call"
    return text + (f", cost {counts['cost']:.2f}" if counts["cost"] else "")


def of_discernment(lines, counts):
    """Say which of DHP's perturbations one judge notices on one dataset, from lines of `Rerun.discernment`."""
    first = lines.iloc[0]
    shown = f"DHP, discernment, on {titled(first['dataset'])}: {first['judge']}"
    able = lines[lines["largest"] >= 1]
    lowest = lines.sort_values("value").head(1)
    found = (
        f"is surely above D = 1 in {(able['ci_low'] > 1).sum()} of {len(able)} perturbations and surely below in "
        f"{(able['ci_high'] < 1).sum()}. The lowest D is {with_interval(lowest, 'value').iloc[0]} "
        f"({lowest['perturbation'].iloc[0]})"
    )
    if able.empty:
        found = f"has too few texts to reach D = 1: no D can be above {lines['largest'].max():.2f}"
    return f"{shown} {found}. {_spent(counts)}."
