"""A paper's table, whole: every printed row and column, ours below the print, and what nobody ran.

The verdict of a cell is shown twice, as a colour and as a mark, because code hosts drop the colours.
"""

from html import escape

import numpy as np
import pandas as pd

from nlgjudge.data.choices import unknown
from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.ledger.average_audit import with_misprints
from nlgjudge.ledger.ledger import committed, needs_of
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.ledger.printed import tables as printed_tables
from nlgjudge.ledger.verdicts import ANOTHER_RUN, EVIDENCE, OF_OTHERS, THIRD_PARTY, of_others

HEADS = ["dataset", "level", "aspect", "coefficient"]
# By verdict: the mark, the colour behind the cell, and what both say.
SHOWN = {
    "exact": ("✓", "rgba(46,160,67,.32)", "the printed digits"),
    "close": ("≈", "rgba(46,160,67,.16)", "at most 0.01 away"),
    "relabelled": ("⇄", "rgba(31,119,180,.25)", "agrees as another coefficient than the head says"),
    "within_ci": ("~", "rgba(227,179,65,.28)", "the print lies in our 95% interval"),
    "differs": ("✗", "rgba(218,54,51,.28)", "differs"),
    "sign_flipped": ("±", "rgba(218,54,51,.28)", "agrees with the other sign"),
    "misprint": ("!", "rgba(163,113,247,.30)", "the print contradicts its own row"),
    "not_run": ("", "rgba(128,128,128,.10)", "not computed"),
    "": ("", "none", "a rehearsal, no verdict"),
}
# A letter behind the mark says that a value is not ours from the paper's own material.
LETTERS = {
    ANOTHER_RUN: ("o", "another run of the metric"),
    "rejudged": ("r", "the paper's protocol, asked of another model"),
    "substitute_judge": ("s", "another model's recorded replies"),
    THIRD_PARTY: ("t", "computed and published by others"),
}
# Each class has the project's prefix: a page around the notebook has classes of its own, such as `row` and `close`.
STYLE = """<style>
.nj-paper-table {overflow-x: auto; max-width: 100%;}
.nj-paper-table table {border-collapse: collapse; font-size: 12px; line-height: 1.25;}
.nj-paper-table th, .nj-paper-table td {padding: 2px 3px !important; text-align: center !important;
  white-space: nowrap; border: 1px solid rgba(128,128,128,.3);}
.nj-paper-table th {font-size: 11px;}
.nj-paper-table th:first-child {text-align: left !important; position: sticky; left: 0; color: inherit;
  background: var(--jp-layout-color0, var(--pst-color-background, Canvas));}
.nj-paper-table td small {display: block; opacity: .75; font-size: 11px;}
.nj-paper-table p {font-size: 12px; margin: 4px 0;}
COLOURS</style>"""


class PaperTable:
    """A printed table with ours beside it; in a notebook it shows itself.

    Attributes
    ----------
    cells : pandas.DataFrame
        A row for each printed cell, in the paper's order, with the ledger's columns.
    paper, artefact : str
    notice : str
        That the values are of the sample, or empty.
    """

    def __init__(self, cells, paper, artefact, notice=""):
        self.cells = cells
        self.paper = paper
        self.artefact = artefact
        self.notice = notice

    def counts(self):
        """Count the printed cells by verdict, those with a value first."""
        found = self.cells["verdict"].value_counts()
        return {verdict: int(found[verdict]) for verdict in SHOWN if verdict in found}

    def wide(self):
        """Lay the cells out as text.

        Returns
        -------
        pandas.DataFrame
            Indexed by the paper's rows, with its columns; a cell reads ``0.167 | 0.166 ✓``, the print
            first, and a dash where there is none.
        """
        return self._laid_out([_as_text(cell) for cell in self.cells.itertuples()])

    def _laid_out(self, texts):
        heads = self._heads()
        wide = self.cells.assign(text=texts).pivot(index="row", columns=heads, values="text")
        columns = list(self.cells[heads].drop_duplicates().itertuples(index=False, name=None))
        if len(heads) == 1:
            columns = [name for (name,) in columns]
        return wide[columns].reindex(dict.fromkeys(self.cells["row"])).fillna("")

    def _heads(self):
        return [name for name in HEADS if self.cells[name].nunique() > 1] or HEADS[-1:]

    def __repr__(self):
        lines = [self.wide().to_string(), self._legend()]
        lines += [
            f"not computed: {', '.join(rows)}: {need}" for need, rows in self._needed().items()
        ]
        return "\n".join(line for line in [self.notice, *lines] if line)

    def _repr_html_(self):
        used = [verdict for verdict in SHOWN if verdict in set(self.cells["verdict"])]
        colours = "\n".join(
            f".nj-paper-table .nj-{verdict} {{background: {SHOWN[verdict][1]};}}"
            for verdict in used
        )
        parts = [STYLE.replace("COLOURS", colours + "\n"), "<div class='nj-paper-table'>"]
        if self.notice:
            parts.append(f"<p><b>{escape(self.notice)}</b></p>")
        parts += [
            "<table>",
            *self._head_lines(),
            *self._body_lines(),
            "</table>",
            f"<p>{escape(self._legend())}</p>",
        ]
        for need, rows in self._needed().items():
            parts.append(
                f"<p>Not computed: <b>{escape(', '.join(rows))}</b>. Needs {escape(need)}.</p>"
            )
        return "\n".join([*parts, "</div>"])

    def _head_lines(self):
        heads = self._heads()
        columns = list(self.cells[heads].drop_duplicates().itertuples(index=False, name=None))
        for depth in range(len(heads)):
            line = ["<tr><th></th>"]
            for label, width in _runs([column[: depth + 1] for column in columns]):
                line.append(f"<th colspan='{width}'>{escape(_words(label))}</th>")
            yield "".join([*line, "</tr>"])

    def _body_lines(self):
        wide = self._laid_out([_as_cell(cell) for cell in self.cells.itertuples()])
        for row, cells in wide.iterrows():
            filled = (cell or "<td></td>" for cell in cells)
            yield f"<tr><th>{escape(str(row))}</th>{''.join(filled)}</tr>"

    def _legend(self):
        said = []
        for verdict, number in self.counts().items():
            mark, _, meaning = SHOWN[verdict]
            said.append(f"{mark or ('grey' if verdict else 'plain')} {meaning} ({number})")
        found = set(self.cells["evidence"])
        said += [
            f"{letter} {meaning}"
            for evidence, (letter, meaning) in LETTERS.items()
            if evidence in found
        ]
        return f"Above the print, below it ours. {'; '.join(said)}."

    def _needed(self):
        """What the cells without a value need, with their rows; of a row that has some values, where it lacks them."""
        lacking = (
            (self.cells["verdict"] == "not_run")
            & self.cells["ours"].isna()
            & (self.cells["published"] != "")
        )
        some = set(self.cells.loc[self.cells["ours"].notna(), "row"])
        head = self._heads()[0]
        rows = {}
        for (note, row), part in self.cells[lacking].groupby(["note", "row"], sort=False):
            label = row
            if row in some:
                label = f"{row} ({', '.join(map(_words, part[head].unique()))})"
            rows.setdefault(note.rstrip("."), []).append(label)
        return rows


class Comparison(pd.DataFrame):
    """Our values beside a printed table; as a cell's result it shows the paper's table, whole.

    What is selected or computed from it is a plain data frame.
    """

    @property
    def _constructor(self):
        return pd.DataFrame

    def _repr_html_(self):
        return self._whole()._repr_html_()

    def __repr__(self):
        return repr(self._whole())

    def _whole(self):
        return paper_table(self)


def paper_table(rows, paper=None, artefact=None, *, elsewhere=True):
    """Show a paper's table whole, with all that these rows and the ledger have for it.

    Parameters
    ----------
    rows : pandas.DataFrame or list of pandas.DataFrame
        From `nlgjudge.ledger.comparison.compare`, `nlgjudge.ledger.reruns.with_rerun` and their like. Of two
        values of a cell the better evidence is shown, and of equal evidence the first.
    paper, artefact : str, optional
        Which table; needed where the rows are of several, or hold nothing of it.
    elsewhere : bool
        Whether a cell that these rows lack is taken from the committed ledger, if another notebook
        computed it. The sample's values are never mixed with it.

    Returns
    -------
    PaperTable
        Shows itself in a notebook; `wide()` has it as text, `cells` as rows of the ledger.

    Raises
    ------
    ValueError
        Where it is not said which of several tables is meant, or no such table was typed.

    Examples
    --------
    >>> from nlgjudge.ledger.comparison import compare
    >>> table = published("geval", "table1")
    >>> cells = table["row"].eq("ROUGE-1") & table["coefficient"].eq("kendall")
    >>> rows = compare("geval", "table1", table, table.loc[cells, KEY].assign(ours=0.13),
    ...                evidence="recomputed", notebook="geval_table1")
    >>> whole = paper_table(rows, elsewhere=False)
    >>> whole.wide().loc[["ROUGE-1", "BERTScore"], ("consistency", "kendall")].tolist()
    ['0.130 | 0.130 ✓', '0.090 | –']
    """
    given = pd.concat(rows) if isinstance(rows, list) else pd.DataFrame(rows)
    paper, artefact = _which(given, paper, artefact)
    given = given[(given["paper"] == paper) & (given["artefact"] == artefact)]
    sample = bool(given["sample"].any()) if "sample" in given else False
    if elsewhere and not sample:
        given = pd.concat([given, _from_elsewhere(paper, artefact, set(given["notebook"]))])
    best = given[given["ours"].notna() | (given["verdict"] != "not_run")]
    best = best.assign(rank=best["evidence"].map(EVIDENCE.index)).sort_values("rank", kind="stable")
    best = best.drop_duplicates(KEY).drop(columns=["published", "paper", "artefact"])
    table = published(paper, artefact).rename(
        columns={"printed": "published", "note": "note_printed"}
    )
    cells = table.merge(best, on=KEY, how="left").assign(paper=paper, artefact=artefact)
    absent = cells["verdict"].isna()
    cells.loc[absent, ["verdict", "evidence", "notebook"]] = ["not_run", "none", ""]
    cells.loc[absent, "note"] = needs_of(cells[absent].rename(columns={"published": "printed"}))
    cells["note"] = cells["note"].fillna("")
    rest = with_misprints(cells[absent], published(paper, artefact), of_others(cells[absent]))
    cells.loc[absent, ["verdict", "note"]] = rest[["verdict", "note"]]
    return PaperTable(cells, paper, artefact, SAMPLE_NOTICE if sample else "")


def _which(given, paper, artefact):
    """The table that is meant: the one that is named, or else the one that the rows are of."""
    if (paper, artefact) in printed_tables():
        return paper, artefact
    tables = list(given[["paper", "artefact"]].drop_duplicates().itertuples(index=False, name=None))
    names = [f"{one} {table}" for one, table in tables]
    fitting = [
        table for table in tables if paper in (None, table[0]) and artefact in (None, table[1])
    ]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise ValueError(f"these rows hold {unknown('table', f'{paper} {artefact}', names)}")
    raise ValueError(
        f"these rows are of several tables, {', '.join(names)}: name the paper and the artefact"
    )


def _from_elsewhere(paper, artefact, own):
    """Cells of the committed ledger that other notebooks computed."""
    if not (root() / "paper_tables" / "ledger.csv").is_file():
        return None
    ledger = committed()
    of_table = (ledger["paper"] == paper) & (ledger["artefact"] == artefact)
    return ledger[of_table & ledger["ours"].notna() & ~ledger["notebook"].isin(own)]


def _as_text(cell):
    printed = cell.published or "–"
    if np.isnan(cell.ours):
        return f"{printed} | –"
    return f"{printed} | {_ours(cell)}"


def _ours(cell):
    """Our value with its mark, and a letter where it is of others."""
    mark = SHOWN[cell.verdict][0]
    letter = LETTERS[cell.evidence][0] if cell.evidence in OF_OTHERS else ""
    return " ".join(part for part in (f"{cell.ours:.3f}", mark, letter) if part)


def _as_cell(cell):
    printed = escape(cell.published) or "–"
    below = "–" if np.isnan(cell.ours) else escape(_ours(cell))
    return f"<td class='nj-{cell.verdict}' title=\"{escape(_hover(cell))}\">{printed}<small>{below}</small></td>"


def _hover(cell):
    """What a reader sees with the pointer on a cell."""
    if np.isnan(cell.ours):
        return cell.note
    said = [SHOWN[cell.verdict][2]]
    if not np.isnan(cell.ci_low):
        said.append(f"95% interval {cell.ci_low:.2f} to {cell.ci_high:.2f}")
    said += [text for text in (cell.evidence.replace("_", " "), cell.variant, cell.note) if text]
    return "; ".join(said)


def _runs(labels):
    """Equal neighbours as the last part of their label and how many they are."""
    found = []
    before = None
    for label in labels:
        if label == before:
            found[-1][1] += 1
        else:
            found.append([label[-1], 1])
        before = label
    return found


def _words(label):
    return label.replace("_", " ")
