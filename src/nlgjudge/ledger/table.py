"""A published table and our values for it: shown, filled, rerun, drawn and written."""

import html
import re
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nlgjudge.data.checks import check_known
from nlgjudge.ledger import figures, sentences
from nlgjudge.ledger.average_audit import printed_averages
from nlgjudge.ledger.comparison import averages, compare, with_interval
from nlgjudge.ledger.ledger import CELL, committed, write
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.ledger.prose_claims import claims
from nlgjudge.ledger.reruns import rerun
from nlgjudge.ledger.variants import best, search, summary
from nlgjudge.ledger.verdicts import EVIDENCE
from nlgjudge.ledger.whole_table import paper_table
from nlgjudge.papers.folders import paper as paper_of
from nlgjudge.papers.folders import titles
from nlgjudge.stats.correlations import correlation_table
from nlgjudge.stats.intervals import interval_table


class Fill(NamedTuple):
    """Candidates of a row on one dataset: their columns, correlations and scores, and what the caller says of them."""

    columns: list
    values: pd.DataFrame
    scores: pd.DataFrame
    evidence: str
    constant: str
    variant: str
    note: str
    judge: str


class Table:
    """A published table with our values; a notebook displays it.

    It shows what the paper claims, the verdict, and the published numbers with ours below them: first those of the
    committed ledger; after `fill` or `put`, those of this run.

    Parameters
    ----------
    paper : str
        All published versions of it are compared; the one named here is shown.
    artefacts : str or list of str
        As ``"table3"``. Of several, the first is shown, and ``table["table12"]`` shows another one. Tables that share
        cells, as CoAScore's Tables 3 and 12, are filled together.
    claim : str
        What the paper says about the table, with published numbers as in `text`.
    notebook : str
        Name of the calling notebook, written into the ledger.

    Attributes
    ----------
    claim : str
    reran : nlgjudge.ledger.reruns.Rerun or None

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

    def __init__(self, paper, artefacts, *, claim="", notebook=""):
        self.paper = paper
        self.artefacts = [artefacts] if isinstance(artefacts, str) else list(artefacts)
        self.notebook = notebook
        of = paper_of(paper)
        self._of = of.key
        both = [(version, artefact) for version in of.versions for artefact in self.artefacts]
        self.published = {key: published(*key) for key in both}
        self.claim = self.text(" ".join(claim.split()))
        self.reran = None
        self._fills, self._placed, self._notes = {}, {}, []
        self._sample = False
        self._forget()

    def _forget(self):
        """Drop what was computed of the fills."""
        self._found, self._rows = {}, None

    def text(self, template):
        """Write published numbers into a text.

        Parameters
        ----------
        template : str
            ``{ROW, ASPECT, COEFFICIENT}`` becomes the number of the one cell of the first table whose key has these
            parts; ``|`` separates them where a name has a comma.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If the parts name no cell, or several.
        """
        table = self.published[self.paper, self.artefacts[0]]

        def number(found):
            parts = {part.strip() for part in re.split(r"\|" if "|" in found[1] else ",", found[1])}
            fits = table[KEY].apply(lambda key: parts <= set(key), axis=1)
            if fits.sum() != 1:
                raise ValueError(
                    f"{found[0]}: expected parts of the key ({', '.join(KEY)}) of one published cell of {self.paper} "
                    f"{self.artefacts[0]}; they fit {fits.sum()}. Name more parts, or as the table writes them."
                )
            return table.loc[fits, "printed"].iloc[0]

        return re.sub(r"\{([^{}]+)\}", number, template)

    def fill(
        self,
        benchmark,
        scores,
        rows,
        evidence="released_scores",
        *,
        variant="",
        note="",
        judge="",
        constant="skip",
        explained_only=False,
    ):
        """Compute rows from columns of scores.

        Parameters
        ----------
        benchmark : nlgjudge.data.schema.Benchmark
            Its name is the published dataset's.
        scores : pandas.DataFrame
            `item_id` and the columns, or these and people's ratings, as from `Benchmark.with_scores`, of the items to
            correlate. Columns of a judge may be named ``NAME:ASPECT``.
        rows : dict of str to str or list of str
            By published row, its column or all candidates. The one is taken that fits the row in all of its
            published cells, on all datasets (`nlgjudge.ledger.search`). Columns that are not there are left out, and
            so are rows without a column.
        evidence : str
            As for `nlgjudge.compare`. A row that is filled twice keeps the better evidence.
        variant, judge : str
            Of rows whose one column is what we declare it to be, without a search: another run of the metric, or the
            judge in a model's place.
        note : str
            Added to the rows' notes. ``{mean}``, ``{largest}`` and ``{cells}`` become the distances from the row's
            published cells and their number, ``{all}`` the mean distance with averages.
        constant : {"skip", "zero", "nan"}
            As for `nlgjudge.correlation`.
        explained_only : bool
            Leave out the rows that no column explains, where it is not known which of several rows scores belong to.
        """
        aspects = list(self._cells(self.paper).query("aspect != 'AVG'")["aspect"].unique())
        frame = scores if aspects[0] in scores else benchmark.with_scores(scores)
        lists = {row: [names] if isinstance(names, str) else names for row, names in rows.items()}
        every = list(dict.fromkeys(sum(map(list, lists.values()), [])))
        values = self._correlations(frame, every, aspects, benchmark.name, constant)
        there = set(values["metric"])
        for row, names in lists.items():
            own = [name for name in names if name in there]
            before = self._fills.get((row, benchmark.name))
            if own and (before is None or _rank(evidence) <= _rank(before.evidence)):
                fill = Fill(own, values, frame, evidence, constant, variant, note, judge)
                if explained_only and not self._explains(row, fill):
                    continue
                self._fills[row, benchmark.name] = fill
        self._sample |= benchmark.is_sample
        self._forget()

    def put(self, artefact, cells, evidence, *, sample=False):
        """Take cells as they are, where the rows of a table need rules of their own.

        Parameters
        ----------
        artefact : str
        cells : pandas.DataFrame
            As `ours` of `nlgjudge.compare`; cells that the table does not publish are left out.
        evidence : str
            Of rows without their own.
        sample : bool
            Whether the values come from the sample.
        """
        check_known("table of this notebook", artefact, self.artefacts)
        given = cells if "evidence" in cells else cells.assign(evidence=evidence)
        before = self._placed.get(artefact, given.head(0))
        self._placed[artefact] = pd.concat([before, given], ignore_index=True)
        self._sample |= sample
        self._forget()

    def add_note(self, text, **where):
        """Add to the notes of some cells of this run.

        Parameters
        ----------
        text : str
        **where
            Values of the ledger's columns, as ``verdict="misprint"``; a cell has to have all of them.
        """
        self._notes.append((text, where))
        self._forget()

    def _cells(self, version):
        """Published cells of a version's tables, those of the largest table first."""
        own = [table for (of, _), table in self.published.items() if of == version]
        return pd.concat(sorted(own, key=len, reverse=True)).drop_duplicates(KEY)

    def _correlations(self, frame, names, aspects, dataset, constant):
        """Every candidate with the published aspects; a judge's column of an aspect with this one only."""
        cells = self._cells(self.paper).query("aspect != 'AVG'")
        how = {name: tuple(cells[name].unique()) for name in ("level", "coefficient")}
        found = [pd.DataFrame(columns=[*KEY[1:], "metric", "column", "ours"])]
        for name in names:
            own = {f"{name}:{one}": [one] for one in aspects if f"{name}:{one}" in frame}
            for column, of in (own or ({name: aspects} if name in frame else {})).items():
                part = correlation_table(
                    frame,
                    [column],
                    of,
                    levels=how["level"],
                    coefficients=how["coefficient"],
                    dataset=dataset,
                    constant=constant,
                )
                found.append(part.assign(metric=name, column=column))
        return pd.concat([part for part in found if len(part)] or found, ignore_index=True)

    def _explains(self, row, fill):
        """Whether the candidates of a fill give every published cell of a row."""
        cells = self._cells(self.paper)
        return search(cells, {row: fill.columns}, fill.values)[0].explained

    def _row(self, version, row):
        """Our cells of a row, the one candidate for all of its published cells, and its search."""
        if (version, row) not in self._found:
            fills = {dataset: fill for (of, dataset), fill in self._fills.items() if of == row}
            self._found[version, row] = self._row_of(version, row, fills)
        return self._found[version, row]

    def _row_of(self, version, row, fills):
        cells = self._cells(version).query("row == @row and dataset in @fills")
        first = next(iter(fills.values()))
        names = [
            one for one in first.columns if all(one in fill.columns for fill in fills.values())
        ]
        values = pd.concat([fill.values for fill in fills.values()], ignore_index=True)
        searched = None
        if first.variant or first.judge:
            given = {"variant": first.variant, "note": first.note, "judge": first.judge}
            given = {name: text for name, text in given.items() if text}
            ours = values[values["metric"] == names[0]].assign(row=row, **given)
        else:
            (searched,) = search(cells, {row: names}, values)
            ours = best([searched])
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
    def rows(self):
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
        found = []
        for (version, artefact), table in self.published.items():
            ours = self._of_table(version, artefact, table)
            if len(ours):
                given = {"notebook": self.notebook, "sample": self._sample}
                rows = compare(version, artefact, table, ours, evidence="recomputed", **given)
                found.append(_with_distances(rows))
        rows = pd.concat(found or [self._committed().head(0)], ignore_index=True)
        for text, where in self._notes:
            at = np.logical_and.reduce([rows[name] == value for name, value in where.items()])
            rows.loc[at, "note"] += text
        if self.reran is not None and self.reran.enters:
            rows = pd.concat([rows, self.reran.cells], ignore_index=True)
        order = rows.assign(rank=rows["evidence"].map(_rank)).sort_values("rank", kind="stable")
        return order.drop_duplicates(CELL).drop(columns="rank").sort_index()

    def _of_table(self, version, artefact, table):
        """All our cells of one table, with their averages."""
        lines = []
        if artefact in self._placed:
            lines.append(self._placed[artefact].merge(table[KEY], on=KEY))
        here = {(row, dataset) for row, dataset in self._fills}
        for row in table["row"].unique():
            if any(of == row for of, _ in here):
                ours, frames, constant, _ = self._row(version, row)
                ours = ours.merge(table[KEY], on=KEY)
                own = table[table["row"] == row]
                lines += [ours, averages(own, ours, frames, constant=constant)]
        return pd.concat(lines, ignore_index=True) if lines else pd.DataFrame()

    def __getitem__(self, artefact):
        """One of the tables as `nlgjudge.ledger.paper_table` shows it, with the rows of a judge that was asked."""
        check_known("table of this notebook", artefact, self.artefacts)
        ran = self.reran.cells if self.reran is not None else None
        return paper_table(self.rows, self.paper, artefact, judge=ran)

    @property
    def cells(self):
        """Every published cell of the first table, with the ledger's columns."""
        return self[self.artefacts[0]].cells

    @property
    def verdict(self):
        """What reproduces, what does not, and what is missing, in a few sentences."""
        shown = self[self.artefacts[0]]
        return f"none, {shown.notice}." if shown.notice else sentences.verdict(shown.cells)

    @property
    def rerun_verdict(self):
        """What the judge of `rerun` gives beside the published rows of a model; empty without one."""
        if self.reran is None or self.reran.cells.empty:
            return ""
        said = self.reran.sentences(self.paper, self.artefacts[0])
        return " ".join([*said, self.reran.notice.replace("\n", ". ") + "."])

    @property
    def differences(self):
        """Cells of this run that differ from the committed ledger, with both values."""
        both = self.rows.merge(committed(), on=CELL, suffixes=("", "_committed"))
        equal = np.isclose(both["ours"], both["ours_committed"], rtol=0, atol=1e-6, equal_nan=True)
        equal &= both["verdict"] == both["verdict_committed"]
        shown = ["published", "ours", "ours_committed", "verdict", "verdict_committed"]
        return both.loc[~equal, [*CELL, *shown]]

    @property
    def check(self):
        """Whether this run gives what is committed, in a sentence."""
        if self._sample:
            return "sample data: there is nothing to compare with the committed ledger"
        if not self._has_own:
            return "no cell computed here: the table is the committed one"
        away, cells = len(self.differences), len(self.rows)
        if not away:
            return f"{cells} cells computed; all equal the committed ledger"
        return f"{away} of {cells} cells differ from the committed ledger (table.differences)"

    def rerun(self, judge="", *, artefacts=None, **how):
        """Ask a judge for the rows of a model; its cells join the table.

        Parameters
        ----------
        judge : str, list of str, object or dict
            As for `nlgjudge.rerun`.
        artefacts : list of str, optional
            Of this notebook's tables, those whose rows are asked; all by default.
        **how
            Of `nlgjudge.rerun`: `source, limit, price, max_cost, options`.

        Returns
        -------
        Table or pandas.DataFrame
            Itself, so that a notebook shows the table with the judge's rows; without a judge, the plan by row.
        """
        asked = artefacts or self.artefacts
        self.reran = rerun(self._of, asked, judge, notebook=self.notebook, **how)
        self._forget()
        if self.reran.cells.empty:
            print(self.reran.notice)
            return self.reran.table()
        return self

    def variants(self, version=None):
        """The search for the variant of each row, as `nlgjudge.ledger.summary` shows it."""
        rows = dict.fromkeys(row for row, _ in self._fills)
        found = [self._row(version or self.paper, row)[-1] for row in rows]
        return summary([one for one in found if one is not None])

    def intervals(self, coefficient="spearman", columns="aspect", artefact=None):
        """Our values with their 95% intervals, for one coefficient.

        Parameters
        ----------
        coefficient : str
        columns : str or list of str
            What the columns are, of the parts of a cell's key.
        artefact : str, optional
            The first table by default.

        Returns
        -------
        pandas.DataFrame of str
        """
        cells = self[artefact or self.artefacts[0]].cells
        cells = cells[cells["ours"].notna() & (cells["coefficient"] == coefficient)]
        wide = cells.assign(text=with_interval(cells)).pivot(
            index="row", columns=columns, values="text"
        )
        order = cells[columns].drop_duplicates()
        order = order.tolist() if isinstance(columns, str) else pd.MultiIndex.from_frame(order)
        return wide.reindex(index=cells["row"].unique(), columns=order).fillna("")

    def averages(self):
        """Published averages beside the mean of their own cells (`nlgjudge.ledger.printed_averages`)."""
        return printed_averages(self.published[self.paper, self.artefacts[0]])

    def claims(self, scores=None, **how):
        """What the paper's prose says about these tables alone, tested (`nlgjudge.ledger.claims`).

        Parameters
        ----------
        scores : dict of str to pandas.DataFrame, optional
        **how
            Of `nlgjudge.ledger.claims`.

        Returns
        -------
        pandas.DataFrame
            By section.
        """
        found = claims(self.paper, scores, **how)
        own = found["artefacts"].map(lambda names: set(names.split("|")) <= {*self.artefacts})
        return found[own].set_index("section")

    def figure(self, title="", artefacts=None):
        """Draw published values and ours, and the differences.

        Parameters
        ----------
        title : str
            Paper and table by default.
        artefacts : list of str, optional
            The first table by default.

        Returns
        -------
        matplotlib.figure.Figure
            `write` saves one like it, with the values of this run.
        """
        names = artefacts or self.artefacts[:1]
        numbered = ", ".join(re.sub(r"(\d+)", r" \1", name).capitalize() for name in names)
        self._drawn = {"title": title or f"{titles()[self.paper]}, {numbered}", "artefacts": names}
        # A rehearsal has no verdict to draw.
        judged = None if self.reran is None else self.reran.cells.query("verdict != ''")
        shown = [paper_table(self.rows, self.paper, name, judge=judged) for name in names]
        cells = pd.concat([one.cells for one in shown], ignore_index=True)
        here = cells[cells["ours"].notna() & (cells["verdict"] != "")]  # a rehearsal has no verdict
        notice = max(one.notice for one in shown)
        figure = figures.comparison(here, title=self._drawn["title"], notice=notice)
        figures.check_drawn(figure)
        return figure

    def write(self):
        """Save this run's part of the ledger, and its figure if `figure` drew one before.

        Returns
        -------
        str
            As `check`.
        """
        if hasattr(self, "_drawn"):
            drawn = self.figure(**self._drawn)
            figures.save(drawn, self.notebook, sample=self._sample)
            plt.close(drawn)
        if self._has_own:
            write(self.rows)
        return self.check

    def _paragraphs(self):
        """Claim, verdict and what the judge gave, by their names."""
        parts = {"Claim": self.claim, "Verdict": self.verdict, "Your judge": self.rerun_verdict}
        return {name: text for name, text in parts.items() if text}

    def __repr__(self):
        lines = [f"{name}: {text}" for name, text in self._paragraphs().items()]
        return "\n\n".join([*lines, repr(self[self.artefacts[0]])])

    def _repr_html_(self):
        lines = [
            f"<p><strong>{name}:</strong> {html.escape(text, quote=False)}</p>"
            for name, text in self._paragraphs().items()
        ]
        return "".join([*lines, self[self.artefacts[0]]._repr_html_()])


def _rank(evidence):
    return EVIDENCE.index(evidence)


def _with_distances(rows):
    """Fill in how far a row is from the print, where its note asks for it."""
    asks = rows["note"].str.contains("{", regex=False)
    for _, part in rows[asks].groupby("row"):
        away = part["difference"].abs()
        single = away[part["aspect"] != "AVG"].dropna()
        known = {
            "mean": f"{single.mean():.3f}",
            "largest": f"{single.max():.3f}",
            "cells": len(single),
            "all": f"{away.mean():.3f}",
        }
        rows.loc[part.index, "note"] = [note.format(**known) for note in part["note"]]
    return rows
