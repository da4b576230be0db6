"""A paper's table with our values below the published ones.

Each verdict has a mark, because code hosts remove the colours; three tints say what matters most.
"""

import pandas as pd

from nlgjudge.data.markup import shown
from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.ledger.comparison import laid_out
from nlgjudge.ledger.ledger import DIGITS, beside, best, committed, group
from nlgjudge.ledger.printed import published
from nlgjudge.ledger.verdicts import (
    ANOTHER_MODEL,
    ANOTHER_RUN,
    EVIDENCE,
    GROUPS,
    OF_OTHERS,
    THIRD_PARTY,
    of_others,
    titled,
)

HEADS = ["dataset", "level", "aspect", "coefficient"]
# Background and text. Far apart in lightness, so that colour-blind readers and grey printers can tell them apart; the
# last one lets a dark page through.
TINTS = {
    "reproduces": ("#74bd88", "#000000"),
    "differs": ("#c0392b", "#ffffff"),
    "no value": ("#80808029", "inherit"),
}
# By verdict: mark, tint and meaning.
SHOWN = {
    "exact": ("✓", "reproduces", "reproduces: same digits"),
    "close": ("≈", "reproduces", "reproduces: at most 0.01 away"),
    "relabelled": ("⇄", "", "differs: has another coefficient's value"),
    "within_ci": ("~", "", "differs within our 95% interval"),
    "differs": ("✗", "differs", "differs"),
    "sign_flipped": ("±", "differs", "differs by its sign"),
    "misprint": ("!", "", "contradicts itself: an average that its row does not give"),
    "not_run": ("", "no value", "not checkable"),
    "": ("·", "", "rehearsal without a verdict"),
}
SIDES = {"higher": ("#bfdff0", "#000000"), "lower": ("#c98a1b", "#000000")}  # of `OF_MODELS`
# Of another model than the paper's, which cannot fail to reproduce: it is higher or lower.
OF_MODELS = {
    "higher": ("▲", "higher", "higher than published"),
    "lower": ("▼", "lower", "lower than published"),
}
# A letter after the mark: the value is not computed from the paper's own material.
LETTERS = {
    ANOTHER_RUN: ("o", "by others: another run of the metric"),
    "rejudged": ("r", "by others: another model, asked as in the paper"),
    "substitute_judge": ("s", "by others: another model's recorded replies"),
    THIRD_PARTY: ("t", "by others: computed and published"),
}
STYLES = [
    {
        "selector": f".nj-{tint.replace(' ', '-')}",
        "props": f"background-color: {background}; color: {text}",
    }
    for tint, (background, text) in (TINTS | SIDES).items()
] + [
    {"selector": "th, td", "props": "text-align: center; padding: 2px; white-space: nowrap"},
    {"selector": "caption", "props": "caption-side: bottom; text-align: left"},
]
MOST_COLUMNS = 15  # of a page
LEGEND = (
    "Published value first, ours second. Green reproduces, red differs, grey is not checkable; a cell without tint has "
    "a mark, and a letter if its value is by others"
)


def tints(cells):
    """Tints of cells with the ledger's columns, keys of `TINTS`.

    Empty for a verdict that is only a mark, and for a value of another model, run or author.
    """
    chosen = cells["verdict"].map(lambda verdict: SHOWN[verdict][1]).mask(of_others(cells), "")
    away = readings(cells)
    chosen = chosen.mask(cells["evidence"].isin(["rejudged", "none"]) & away.isin(OF_MODELS), away)
    return chosen.mask(cells["ours"].isna(), "no value")


def readings(cells):
    """The verdicts; where a value of another model differs, whether it is `higher` or `lower`."""
    away = cells["verdict"].isin(["differs", "sign_flipped"])
    away &= cells["evidence"].isin([*ANOTHER_MODEL, "none"])
    higher = cells["difference"] > 0
    return cells["verdict"].mask(away & higher, "higher").mask(away & ~higher, "lower")


class PaperTable:
    """A published table with our values; a notebook displays it.

    Attributes
    ----------
    cells
        One row per published cell, in the paper's order, with the ledger's columns.
    notice
        Says that the values come from the sample, else empty.
    """

    def __init__(self, cells: pd.DataFrame, notice: str = ""):
        self.cells = cells
        self.notice = notice

    def _wide(self, between):
        """The table as text: published value and ours in each cell."""
        letters = {kind: f" {LETTERS[kind][0]}" for kind in OF_OTHERS}
        marks = readings(self.cells).map(lambda one: (SHOWN | OF_MODELS)[one][0])
        marks += self.cells["evidence"].map(letters).fillna("")
        ours = [
            # As the ledger has it, so that a half is shown alike before and after a run.
            (mark or "–") if pd.isna(value) else f"{round(value, DIGITS):.3f} {mark}"
            for value, mark in zip(self.cells["ours"], marks)
        ]
        texts = self.cells["published"].replace("", "–") + between + pd.Series(ours)
        return self._laid_out(texts)

    def _laid_out(self, values):
        """Rows and columns as published; exchanged where few rows have many columns."""
        wide = laid_out(self.cells.assign(values=values), "values", HEADS).rename_axis(index=None)
        return wide.T if wide.shape[1] > max(MOST_COLUMNS, 2 * len(wide)) else wide

    def _legend(self):
        """What the marks mean, how many cells are what, and what the others need."""
        verdicts = set(readings(self.cells))
        marks = [
            f"{mark or '–'} {meaning}"
            for verdict, (mark, _, meaning) in (SHOWN | OF_MODELS).items()
            if verdict in verdicts
        ]
        groups = group(self.cells).value_counts()
        sums = ", ".join(f"{name} {groups[name]}" for name in GROUPS if name in groups)
        kinds = set(self.cells["evidence"])
        marks += [f"{mark} {meaning}" for kind, (mark, meaning) in LETTERS.items() if kind in kinds]
        lines = [f"{LEGEND}. Cells: {sums}. {'; '.join(marks)}."]
        lacking = self.cells[self.cells["ours"].isna() & (self.cells["published"] != "")]
        lacking = lacking[lacking["verdict"].isin(["not_run", ""])]
        some = set(self.cells.loc[self.cells["ours"].notna(), "row"])
        for (need, variant), part in lacking.groupby(["note", "variant"], sort=False):
            labels = [f"parts of {row}" if row in some else row for row in part["row"].unique()]
            why = "No value" if variant else "Needs"  # of a judge that was asked
            lines.append(f"Not computed: {', '.join(labels)}. {why}: {need.rstrip('.')}.")
        return [self.notice, *lines] if self.notice else lines

    def __repr__(self):
        return shown("\n".join([self._wide(" | ").to_string(), *self._legend()]))

    def _repr_html_(self):
        css = "nj-" + tints(self.cells).str.replace(" ", "-")
        table = self._wide("<br>").style.set_td_classes(self._laid_out(css))
        legend = [shown(line, "html") for line in self._legend()]
        table = table.set_table_styles(STYLES).set_caption("<br>".join(legend))
        heads, rows = ("columns", "index") if table.columns.names[-1] else ("index", "columns")
        table = table.format_index(escape="html", axis=rows)
        table = table.format_index(titled, axis=heads)
        # Without a fixed identifier, the HTML would differ between runs.
        return table.set_uuid("_".join(self.cells.loc[0, ["paper", "artefact"]])).to_html()


def paper_table(rows, paper, artefact, *, elsewhere=True, judge=None):
    """Show a paper's table with our values, and what the missing ones need; returns a `PaperTable`.

    If a cell has two values, the better evidence is shown; for equal evidence the first. A cell that these rows lack is
    taken from the committed ledger if another notebook computed it, but never next to values of the sample; without
    `elsewhere` not at all. `judge` has cells of a judge that was asked just now. They are shown before values of
    others, and never in the place of a value from the paper's own material.
    """
    asked = judge is not None and len(judge) > 0
    rows = pd.concat([judge.assign(asked=True), rows]) if asked else rows
    rows = rows[(rows["paper"] == paper) & (rows["artefact"] == artefact)]
    sample = bool(rows["sample"].any()) if "sample" in rows else False
    if elsewhere and not sample and (root() / "paper_tables" / "ledger.csv").is_file():
        ledger = committed()
        of_table = (ledger["paper"] == paper) & (ledger["artefact"] == artefact)
        others = of_table & ledger["ours"].notna() & ~ledger["notebook"].isin(rows["notebook"])
        rows = pd.concat([rows, ledger[others]])
    here = rows["ours"].notna() | (rows["verdict"] != "not_run") | (rows["variant"] != "")
    rows = rows[here].reset_index(drop=True)
    rank = rows["evidence"].map(EVIDENCE.index)
    if asked:
        rank = rank.mask(rows["asked"].eq(True), EVIDENCE.index(ANOTHER_RUN) - 0.5)
    table = published(paper, artefact).assign(paper=paper, artefact=artefact)
    cells = beside(table, best(rows, rank)).fillna({"note": ""})
    return PaperTable(cells, SAMPLE_NOTICE if sample else "")
