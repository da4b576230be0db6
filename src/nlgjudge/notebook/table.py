"""A published table and our values for it: shown, filled, rerun, drawn and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.checks import check_known
from nlgjudge.data.paths import SAMPLE_NOTICE, out
from nlgjudge.ledger.average_audit import printed_averages
from nlgjudge.ledger.citations import corrections
from nlgjudge.ledger.comparison import averages, compare, correlations_of, with_interval
from nlgjudge.ledger.ledger import CELL, best, committed, save, write
from nlgjudge.ledger.printed import KEY, published, settings, third_party
from nlgjudge.ledger.prose_claims import claims
from nlgjudge.ledger.variants import Search, search, summary
from nlgjudge.ledger.verdicts import EVIDENCE, titled
from nlgjudge.notebook import live, sentences
from nlgjudge.notebook.shown import Shown
from nlgjudge.notebook.whole_table import PaperTable, paper_table
from nlgjudge.papers.folders import paper as paper_of
from nlgjudge.papers.folders import titles
from nlgjudge.stats.intervals import interval_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nlgjudge.data.schema import Benchmark
    from nlgjudge.notebook.reruns import Rerun


class Fill(NamedTuple):
    """Candidates of a row on one dataset, and what the caller says of them."""

    columns: list
    values: pd.DataFrame
    scores: pd.DataFrame
    evidence: str
    constant: str
    variant: str
    note: str
    judge: str


class Table(Shown):
    """A published table with our values; a notebook displays it.

    It shows what the paper claims, the verdict, and the published numbers with ours below them: first those of the
    committed ledger; after `fill` or `put`, those of this run.

    Parameters
    ----------
    paper
        All published versions of it are compared; the one named here is shown.
    artefacts
        As ``"table3"``. Of several, the first is shown, and ``table["table12"]`` shows another one. Tables that share
        cells, as CoAScore's Tables 3 and 12, are filled together.
    claim
        What the paper says about the table, with published numbers as in `text`.
    notebook
        Name of the calling notebook, written into the ledger.

    Attributes
    ----------
    reran
        What the judge of `rerun` gave; None without one.

    Raises
    ------
    ValueError
        For an unknown paper, and for a claim whose numbers are not published.
    FileNotFoundError
        For an unknown table.

    Examples
    --------
    >>> table = Table("geval", "table3", claim="{G-EVAL-4, AVG, spearman} against {UniEval, AVG, spearman}")
    >>> table.claim
    '0.611 against 0.575'
    >>> table.cells.loc[0, ["row", "published", "verdict"]].tolist()
    ['ROUGE-2', '0.459', 'exact']
    """

    def __init__(
        self, paper: str, artefacts: str | Sequence[str], *, claim: str = "", notebook: str = ""
    ):
        self.paper = paper
        self.artefacts = [artefacts] if isinstance(artefacts, str) else list(artefacts)
        self.notebook = notebook
        of = paper_of(paper)
        self._package = of.key
        both = [(version, artefact) for version in of.versions for artefact in self.artefacts]
        self.published = {key: published(*key) for key in both}
        self.claim = self.text(" ".join(claim.split()))
        self.reran: Rerun | None = None
        self._fills: dict[tuple[str, str], Fill] = {}
        self._placed: dict[str, pd.DataFrame] = {}
        self._notes: list[tuple[str, dict[str, str]]] = []
        self._searches: dict[str, Search] = {}
        self._sample = False
        self._notes_above: dict[str, Callable[[], Any]] = {}
        self._followed = ""  # what the run changed whose values are shown above
        self._forget()

    def _forget(self):
        """Drop what was computed of the fills."""
        self._by_row, self._rows = {}, None

    def text(self, template: str) -> str:
        """Write published numbers into a text.

        ``{ROW, ASPECT, COEFFICIENT}`` becomes the number of the one cell of the first table whose key has these parts;
        ``|`` separates them where a name has a comma.
        """
        table = self.published[self.paper, self.artefacts[0]]

        def number(place):
            parts = {part.strip() for part in re.split(r"\|" if "|" in place[1] else ",", place[1])}
            fits = table[KEY].apply(lambda key: parts <= set(key), axis=1)
            if fits.sum() != 1:
                raise ValueError(
                    f"{place[0]}: expected parts of the key ({', '.join(KEY)}) of one published cell of {self.paper} "
                    f"{self.artefacts[0]}; they fit {fits.sum()}. Name more parts, or as the table writes them."
                )
            return table.loc[fits, "printed"].iloc[0]

        return re.sub(r"\{([^{}]+)\}", number, template)

    def fill(
        self,
        benchmark: Benchmark,
        scores: pd.DataFrame,
        rows: dict[str, str | Sequence[str]],
        evidence: str = "released_scores",
        *,
        variant: str = "",
        note: str = "",
        judge: str = "",
        constant: Literal["skip", "zero", "nan"] = "skip",
        explained_only: bool = False,
    ) -> None:
        """Compute rows from columns of scores.

        Parameters
        ----------
        benchmark
            Its name is the published dataset's, or that of the dataset's benchmark in the paper's scopes.
        scores
            `item_id` and the columns, or these and people's ratings, as from `Benchmark.with_scores`. Columns of a
            judge may be named ``NAME:ASPECT``, or ``NAME:COEFFICIENT`` where each coefficient has scores of its own.
        rows
            By published row, its column or all candidates, of which the one is taken that fits all of the row's
            published cells, on all datasets (`search`). Columns and rows that are not there are left out.
        evidence
            What the values rest on ([evidence](../glossary.md)); ``none`` for values that are only shown. A row that
            is filled twice keeps the better evidence.
        variant, judge
            Of rows whose one column is what we declare it to be, without a search: another run of the metric, or the
            judge in a model's place.
        note
            Added to the rows' notes. ``{mean}``, ``{largest}`` and ``{cells}`` become the distances from the row's
            published cells and their number, ``{all}`` the mean distance with averages.
        constant
            As for `nlgjudge.correlation`.
        explained_only
            Leave out the rows that no column explains, where it is not known which row the scores belong to.
        """
        cells = self._cells(self.paper)
        datasets = {scope.benchmark: scope.dataset for scope in paper_of(self.paper).scopes}
        dataset = datasets.get(benchmark.name, benchmark.name)
        check_known(f"dataset of {self.paper}'s tables", dataset, set(cells["dataset"]))
        cells = cells[(cells["dataset"] == dataset) & (cells["aspect"] != "AVG")]
        rated = not {*cells["aspect"]}.isdisjoint(scores)
        frame = scores if rated else benchmark.with_scores(scores)
        lists = {row: [names] if isinstance(names, str) else names for row, names in rows.items()}
        every = list(dict.fromkeys(sum(map(list, lists.values()), [])))
        values = correlations_of(frame, every, cells, constant)
        computed = set(values["metric"])
        for row, names in lists.items():
            own = [name for name in names if name in computed]
            before = self._fills.get((row, dataset))
            if own and not (before and _better(before.evidence, evidence)):
                fill = Fill(own, values, frame, evidence, constant, variant, note, judge)
                if explained_only and not self._explains(row, fill):
                    continue
                self._fills[row, dataset] = fill
        self._sample |= benchmark.is_sample
        self._forget()

    def search(
        self,
        rows: dict[str, Sequence[str]],
        values: pd.DataFrame,
        cells: pd.DataFrame | None = None,
    ) -> dict[str, Search]:
        """Find the variant of each row among correlations that were computed already; returns a `Search` by row.

        `fill` takes its `explanation` as `variant` and its `note`.

        Parameters
        ----------
        rows
            By published row, the variants to try, in order of preference among equals.
        values
            `metric` (the variant), `dataset, aspect, level, coefficient, ours, n, n_skipped`.
        cells
            In the place of the table's cells, to try the search out; `variants` does not show it.
        """
        if cells is not None:
            return {result.row: result for result in search(cells, rows, values)}
        cells = self._cells(self.paper)
        cells = cells[cells["dataset"].isin(values["dataset"])]
        searches = {result.row: result for result in search(cells, rows, values)}
        self._searches |= searches
        return searches

    def put(
        self, artefact: str, cells: pd.DataFrame, evidence: str, *, sample: bool = False
    ) -> None:
        """Take cells as they are, where the rows of a table need rules of their own.

        Parameters
        ----------
        artefact
        cells
            `row, dataset, aspect, level, coefficient, ours`; optionally `ci_low, ci_high, ci_reason, n, n_skipped,
            variant, evidence, note, judge`, and `relabelled`, true where `ours` is another coefficient than the label
            says. Cells that the table does not publish are left out; averages are added if there are none.
        evidence
            Of rows without their own.
        sample
            Whether the values come from the sample.
        """
        check_known("table of this notebook", artefact, self.artefacts)
        cells = cells if "evidence" in cells else cells.assign(evidence=evidence)
        before = self._placed.get(artefact, cells.head(0))
        self._placed[artefact] = pd.concat([before, cells], ignore_index=True)
        self._sample |= sample
        self._forget()

    def add_note(self, text: str, **where: str) -> None:
        """Add to the notes of the cells of this run that have all these values, as ``verdict="misprint"``."""
        self._notes.append((text, where))
        self._forget()

    def _cells(self, version):
        """Published cells of a version's tables, those of the largest table first."""
        own = [table for (of, _), table in self.published.items() if of == version]
        return pd.concat(sorted(own, key=len, reverse=True)).drop_duplicates(KEY)

    def _explains(self, row, fill):
        """Whether the candidates of a fill give every published cell of a row."""
        cells = self._cells(self.paper)
        return search(cells, {row: fill.columns}, fill.values)[0].explained

    def _row(self, version, row):
        """Our cells of a row, the one candidate for all of its published cells, its averages, and its search."""
        if (version, row) not in self._by_row:
            fills = {dataset: fill for (of, dataset), fill in self._fills.items() if of == row}
            self._by_row[version, row] = self._row_of(version, row, fills)
        return self._by_row[version, row]

    def _row_of(self, version, row, fills):
        cells = self._cells(version).query("row == @row and dataset in @fills")
        first = next(iter(fills.values()))
        names = [
            name for name in first.columns if all(name in fill.columns for fill in fills.values())
        ]
        values = pd.concat([fill.values for fill in fills.values()], ignore_index=True)
        searched = None
        if first.variant or first.judge:
            texts = {"variant": first.variant, "note": first.note, "judge": first.judge}
            texts = {name: text for name, text in texts.items() if text}
            ours = values[values["metric"] == names[0]].assign(row=row, **texts)
        else:
            (searched,) = search(cells, {row: names}, values)
            ours = searched.ours
            ours["note"] += first.note
        ours = ours.drop(columns="reason", errors="ignore").merge(cells[KEY], on=KEY)
        ours = ours.assign(metric=ours["column"], evidence=first.evidence).drop(columns="column")
        with_bounds = [
            interval_table(fills[dataset].scores, part, constant=first.constant)
            for dataset, part in ours.groupby("dataset", sort=False)
        ]
        frames = {dataset: fill.scores for dataset, fill in fills.items()}
        return pd.concat(with_bounds), frames, first.constant, searched

    @property
    def rows(self) -> pd.DataFrame:
        """Cells of this run in every table and version, in the ledger's columns; before `fill`, the committed ones."""
        if self._rows is None:
            self._rows = self._compared() if self._has_own else self._committed()
        return self._rows

    @property
    def _has_own(self):
        """Whether this run gives any cell."""
        of_judge = self.reran is not None and self.reran.enters
        return bool(self._fills or self._placed or of_judge)

    def _committed(self):
        rows = committed().drop(columns="group").assign(sample=False)
        own = pd.MultiIndex.from_frame(rows[["paper", "artefact"]]).isin(self.published)
        return rows[own]

    def _compared(self):
        """Our cells beside the published ones, the best of several; a value without evidence has no verdict."""
        tables = [self._committed().head(0)]
        for (version, artefact), table in self.published.items():
            ours = self._of_table(version, artefact, table)
            if len(ours):
                how = {"notebook": self.notebook, "sample": self._sample}
                rows = compare(version, artefact, table, ours, evidence="recomputed", **how)
                tables.append(_with_distances(rows))
        rows = pd.concat(tables[1:] or tables, ignore_index=True)
        shown_only = rows["evidence"].eq("none") & rows["ours"].notna()
        rows["verdict"] = rows["verdict"].mask(shown_only, "not_run")
        for text, where in self._notes:
            at = np.logical_and.reduce([rows[name] == value for name, value in where.items()])
            rows.loc[at, "note"] += text
        if self.reran is not None and self.reran.enters:
            rows = pd.concat([rows, self.reran.cells], ignore_index=True)
        return best(rows).sort_index()

    def _of_table(self, version, artefact, table):
        """All our cells of one table, with their averages."""
        lines = []
        if artefact in self._placed:
            lines.append(self._placed[artefact].merge(table[KEY], on=KEY))
        filled = {row for row, _ in self._fills}
        for row in [row for row in table["row"].unique() if row in filled]:
            ours, frames, constant, _ = self._row(version, row)
            ours = ours.merge(table[KEY], on=KEY)
            own = table[table["row"] == row]
            lines += [ours, averages(own, ours, frames, constant=constant)]
        return pd.concat(lines, ignore_index=True) if lines else pd.DataFrame()

    def __getitem__(self, artefact: str) -> PaperTable:
        """One of the tables, with the rows of a judge that was asked."""
        check_known("table of this notebook", artefact, self.artefacts)
        ran = self.reran.cells if self.reran is not None else None
        return paper_table(self.rows, self.paper, artefact, judge=ran)

    @property
    def cells(self) -> pd.DataFrame:
        """Every published cell of the first table, with the ledger's columns."""
        return self[self.artefacts[0]].cells

    @property
    def answer(self) -> str:
        """What reproduces, what does not, and what is missing, in a few sentences."""
        shown = self[self.artefacts[0]]
        return f"none, {shown.notice}." if shown.notice else sentences.verdict(shown.cells)

    @property
    def rerun_answer(self) -> str:
        """What the judge of `rerun` gives beside the published rows of a model; empty without one."""
        if self.reran is None or self.reran.cells.empty:
            return ""
        texts = self.reran.sentences(self.paper, self.artefacts[0])
        return " ".join([*texts, self.reran.notice.replace("\n", ". ") + "."])

    @property
    def differences(self) -> pd.DataFrame:
        """Cells of this run that differ from the committed ledger, with both values; NaN for what it lacks."""
        both = self.rows.merge(committed(), on=CELL, how="left", suffixes=("", "_committed"))
        equal = np.isclose(both["ours"], both["ours_committed"], rtol=0, atol=1e-6, equal_nan=True)
        equal &= both["verdict"] == both["verdict_committed"]
        shown = ["published", "ours", "ours_committed", "verdict", "verdict_committed"]
        return both.loc[~equal, [*CELL, *shown]]

    @property
    def check(self) -> str:
        """Whether this run gives what is committed, in a sentence."""
        if self._sample:
            return "sample data: there is nothing to compare with the committed ledger"
        if not self._has_own:
            return "no cell computed here: the table is the committed one"
        away, cells = len(self.differences), len(self.rows)
        if not away:
            return f"{cells} cells computed; all equal the committed ledger"
        return f"{away} of {cells} cells differ from the committed ledger (table.differences)"

    def rerun(
        self,
        judge: object = "",
        *,
        artefacts: Sequence[str] | None = None,
        **how: Any,
    ) -> Table | pd.DataFrame | None:
        """Ask a judge for the rows of a model; its cells join the table.

        Parameters
        ----------
        judge, **how
            As for `nlgjudge.rerun`.
        artefacts
            Of this notebook's tables, those whose rows are asked; all by default.

        Returns
        -------
        Table, pandas.DataFrame or None
            Itself, with the judge's rows; without a judge, the plan by row. None where the top of a notebook shows it
            already.
        """
        from nlgjudge.notebook.reruns import rerun  # a committed table asks no judge

        artefacts = artefacts or self.artefacts
        self.reran = rerun(self._package, artefacts, judge, notebook=self.notebook, **how)
        self._forget()
        above = self._follow()
        if self.reran.cells.empty:
            print(self.reran.notice)
            amounts = self.reran.plan.groupby("row", sort=False).sum(numeric_only=True)
            return amounts.filter(
                ["requests", "calls", "prompt_tokens", "completion_tokens", "cost"]
            )
        if above:
            print(self.rerun_answer)
        return None if above else self

    def variants(self) -> pd.DataFrame:
        """The search for the variant of each row, a line each; `family` and `rivals` are numbers of variants."""
        searches = dict(self._searches)
        for row in dict.fromkeys(row for row, _ in self._fills):
            if (searched := self._row(self.paper, row)[-1]) is not None:
                searches[row] = searched
        return summary(list(searches.values()))

    def intervals(
        self,
        coefficient: str = "spearman",
        columns: str | list[str] = "aspect",
        artefact: str | None = None,
    ) -> pd.DataFrame:
        """Our values of a table (the first by default) with their 95% intervals, for one coefficient, as text.

        `columns` are of the parts of a cell's key.
        """
        cells = self[artefact or self.artefacts[0]].cells
        cells = cells[cells["ours"].notna() & (cells["coefficient"] == coefficient)]
        wide = cells.assign(text=with_interval(cells)).pivot(
            index="row", columns=columns, values="text"
        )
        order = cells[columns].drop_duplicates()
        order = order.tolist() if isinstance(columns, str) else pd.MultiIndex.from_frame(order)
        return wide.reindex(index=cells["row"].unique(), columns=order).fillna("")

    def averages(self) -> pd.DataFrame:
        """Published averages of the first table beside the mean of their own cells.

        Cells that were each rounded to three digits, and a rounded average of them, may differ by 0.001. A larger
        difference is an error in the row.

        Returns
        -------
        pandas.DataFrame
            A row per average: `paper, artefact, row, level, coefficient, printed` (as published), `value` (the same as
            a number), `mean` (NaN if a cell is missing), `difference` (value - mean), `cells` (their number) and
            `consistent` (missing without a mean).
        """
        artefact = self.artefacts[0]
        cells = self.published[self.paper, artefact]
        return printed_averages(cells.assign(paper=self.paper, artefact=artefact))

    def corrections(self) -> pd.DataFrame:
        """The published cells of these tables that contradict their source, and what to cite instead.

        For an average that is not the mean of its cells it is this mean; for a cell with a wrong label, the same number
        under the label that fits; for any other cell to which the paper's own texts, scores or replies give another
        value, this value.

        Returns
        -------
        pandas.DataFrame
            Of the committed ledger: `paper, artefact, row, dataset, aspect, level, coefficient, published, ours,
            verdict`, `cite` (a number, the published one where only its label is wrong) and `why`.

        Examples
        --------
        >>> found = Table("geval", "table1").corrections().query("row == 'G-EVAL-4'")
        >>> found[["coefficient", "published", "cite", "why"]].round(4).values.tolist()[0]
        ['spearman', '0.514', 0.5355, 'the mean of its cells']
        """
        return corrections(self.paper, self.artefacts)

    @property
    def third_party(self) -> pd.DataFrame:
        """What others published about the first table: recomputations, and runs of their own.

        Columns are `source`, `what` (what the numbers are computed from), the cell's key, `value`, `printed` (as they
        give it), `documents` (number used at the sample level, NaN if not given), `place` and `note`. Raises
        `FileNotFoundError` if nothing is known.
        """
        return third_party(self.paper, self.artefacts[0])

    def settings(self, ours: pd.DataFrame, *, sample: bool = False) -> pd.DataFrame:
        """Compare our values with tables of the paper that hold no correlations, and save the result.

        Such tables list sizes, settings or scores of example cases. The result is `settings/<notebook>.csv` of this
        run's results, in the published order; that of the sample is stored separately.

        Parameters
        ----------
        ours
            `artefact, row, column, ours, note`, one row per published cell. An optional `verdict` overrides `same`
            (equal strings) and `differs`: `within_range` of samples, `stand_in` for a rule in place of a model,
            `not_run` (the note says what it needs).
        sample

        Raises
        ------
        ValueError
            If cells are missing, repeated or not published, or a verdict other than `same` is unknown or has no note.
        """
        return settings(self.paper, ours, notebook=self.notebook, sample=sample)

    def claims(self) -> pd.DataFrame:
        """What the paper's prose says about these tables alone, by section, as from `nlgjudge.ledger.claims`."""
        tested = claims(self.paper)
        own = tested["artefacts"].map(lambda names: set(names.split("|")) <= {*self.artefacts})
        return tested[own].set_index("section")

    def _figure(self, title, artefacts):
        from nlgjudge.notebook import figures  # a table without a figure draws nothing

        names = artefacts or self.artefacts[:1]
        title = title or f"{titles()[self.paper]}, {', '.join(map(titled, names))}"
        self._drawn = title, names
        # A rehearsal has no verdict to draw.
        judged = None if self.reran is None else self.reran.cells.query("verdict != ''")
        shown = [paper_table(self.rows, self.paper, name, judge=judged) for name in names]
        cells = pd.concat([table.cells for table in shown], ignore_index=True)
        here = cells[cells["ours"].notna() & (cells["verdict"] != "")]  # a rehearsal has no verdict
        notice = max(table.notice for table in shown)
        return figures.comparison(here, title=title, notice=notice)

    def figure(self, title: str = "", artefacts: Sequence[str] | None = None) -> Figure:
        """Draw published values and ours, and the differences; a notebook displays it, and `write` saves one like it.

        By default it shows the first table, with paper and table as `title`.
        """
        from nlgjudge.notebook import figures

        figure = self._above = self._figure(title, artefacts)
        if live.kernel():
            live.show(self._place("figure"), live.until_drawn(figure))
            figures.plt.close(figure)  # displayed already
        return figure

    def write(self, *others: Table, judge: str = "") -> str:
        """Save this run's part of the ledger, and the figure if `figure` drew one before.

        Values without evidence are left out.

        Parameters
        ----------
        *others
            Tables of other papers, whose cells join the part.
        judge
            In place of the part, save the cells as a rerun of this judge; `make refresh` keeps it in
            `paper_tables/reruns/`.

        Returns
        -------
        str
            As `check`.
        """
        if judge:
            cells = pd.concat([table.rows for table in (self, *others)], ignore_index=True)
            save(cells, out() / "reruns" / f"{judge}.csv")
            return self.check
        self._follow()
        if hasattr(self, "_drawn"):
            from nlgjudge.notebook import figures

            drawn = self._figure(*self._drawn)
            figures.save(drawn, self.notebook, sample=self._sample)
            another = live.changes(self.notebook) or self.rerun_answer or len(self.differences)
            live.replace(self._place("figure"), drawn if another else self._above)
            figures.plt.close(drawn)
        parts = [table.rows for table in (self, *others) if table._has_own]
        if parts:
            rows = pd.concat(parts, ignore_index=True)
            shown_only = rows["evidence"].eq("none") & rows["ours"].notna() & ~rows["sample"]
            if not shown_only.all():
                write(rows[~shown_only])
        return self.check

    def shown(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """Display what a function says of the papers' data, as a decorator; `write` calls it again."""
        self._notes_above[function.__name__] = function
        content = function()
        live.show(self._place(function.__name__), lambda _: content)
        return function

    def _place(self, what):
        return f"{self.notebook or self.paper}/{what}"

    def _follow(self):
        """Show this run's table, and texts about it, in the place of the committed ones; False if none are shown."""
        self._followed = live.changes(self.notebook)
        on_sample = {"text/markdown": f"*{SAMPLE_NOTICE.capitalize()}.*"}
        for name, function in self._notes_above.items():
            live.replace(self._place(name), on_sample if self._sample else function())
        return live.replace(self._place("table"), self._bundle())

    def _ipython_display_(self):
        live.show(self._place("table"), lambda _: self._bundle())

    def _bundle(self):
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}

    def _this_run(self):
        """What this run changed, and whether the table is of it; empty for the committed run."""
        changes = live.changes(self.notebook)
        if changes != self._followed:
            return f"{changes}; until the cells below have run, all above the parameters is of another run."
        if changes or self._has_own and not self._sample and len(self.differences):
            return ": ".join([changes] * bool(changes) + [f"{self.check}."])
        return ""

    def _parts(self):
        """Claim, verdict and what the judge gave, by their names, and the first table; what a run changed is first."""
        parts = {"Claim": self.claim, "Verdict": self.answer, "Your judge": self.rerun_answer}
        if run := self._this_run():
            parts = {"This run": run.replace("`", ""), "Your judge": self.rerun_answer, **parts}
        yield from ((f"{name}:", f" {text}") for name, text in parts.items() if text)
        yield self[self.artefacts[0]]


def _better(evidence, than):
    return EVIDENCE.index(evidence) < EVIDENCE.index(than)


def _with_distances(rows):
    """Fill in how far a row is from the published one, where its note asks for it."""
    asks = rows["note"].str.contains("{", regex=False)
    for _, part in rows[asks].groupby("row"):
        away = part["difference"].abs()
        single = away[part["aspect"] != "AVG"].dropna()
        distances = {
            "mean": f"{single.mean():.3f}",
            "largest": f"{single.max():.3f}",
            "cells": len(single),
            "all": f"{away.mean():.3f}",
        }
        rows.loc[part.index, "note"] = [note.format(**distances) for note in part["note"]]
    return rows
