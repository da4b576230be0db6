"""The printed averages against the printed cells of their rows.

Source: every table of correlations in the papers, as typed in `paper_tables/published/`. Nothing here is
computed from data: a contradiction found here lies in the papers. `with_misprints` brings it into the ledger.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.ledger.printed import all_published
from nlgjudge.ledger.verdicts import MISPRINT

TABLE = ["paper", "artefact"]
LINE = [*TABLE, "row", "level"]
VERSIONS = {"geval": "geval_v1", "geval_v1": "geval"}
SLACK = 1e-9  # so that a value on the rounding edge is not lost to binary floats
WITHIN = (
    2 * 0.0005 + SLACK
)  # a rounded average against the mean of rounded cells, three digits each
# Verdicts of an average that the data give: it is right then, and a cell of its row is wrong.
GIVEN_BY_DATA = ["exact", "relabelled"]
SAYS = "no rounding gives that; "  # ends the words on a misprint in a cell's note
CHANCE = 0.05
OFFSETS = np.r_[-60:-1, 2:61] / 1000  # wrong averages of known origin, to measure chance


class _Line(NamedTuple):
    """A row of a printed table at one level.

    Attributes
    ----------
    cells : pandas.DataFrame
        By dataset and aspect, a column for each coefficient.
    averages : pandas.Series
        By coefficient.
    """

    cells: pd.DataFrame
    averages: pd.Series


class _Family(NamedTuple):
    """Explanations of one kind.

    Attributes
    ----------
    name : str
    tolerance : float
        How near an explanation has to come.
    members : list of (str, list)
        Label, and for each inconsistent average what it would be, a number or several.
    """

    name: str
    tolerance: float
    members: list


def printed_averages(cells=None):
    """Check every printed average against the mean of its row's printed cells.

    The inconsistent averages of a row are explained together, by families of explanations
    from the smallest to the largest: the print of the row above or below; the mean in the
    other version of the paper, where that prints the same average over other cells; the
    print of any other row; the mean with one cell of a neighbour (the row above or below,
    a row with the same stem such as an ablation, or the row in the other version); the mean
    over fewer aspects; the true mean with a digit mistyped, two swapped or the sign changed.
    A member counts as the cause when it fits all of the row's inconsistent averages and luck
    is at most 5%: the share of 118 averages displaced by 0.002 to 0.060 that its family, or
    an earlier one, would explain too. They are displaced in proportion to the means, because
    the coefficients of a row move together. Any other member that fits is a candidate only,
    and so is a print that both versions share over different cells.

    Parameters
    ----------
    cells : pandas.DataFrame, optional
        As from `nlgjudge.ledger.printed.all_published`, which is the default.

    Returns
    -------
    pandas.DataFrame
        A row per average: `paper, artefact, row, level, coefficient, printed` (as printed),
        `mean` (NaN where a cell is lost), `difference` (printed - mean), `cells`,
        `consistent` (missing without a mean), `cause` (empty for consistent ones),
        `candidates` (where there is no cause), `tried` (explanations), `chance` (of the cause).

    Examples
    --------
    >>> found = printed_averages(all_published().query("paper == 'geval' and artefact == 'table1'"))
    >>> found.loc[found["row"] == "ROUGE-1", ["coefficient", "printed", "consistent"]].values.tolist()
    [['spearman', '0.192', True], ['kendall', '0.150', True]]
    """
    if cells is None:
        cells = all_published()
    key = [*LINE, "coefficient"]
    parts = cells[cells["aspect"] != "AVG"].groupby(key, sort=False)["value"]
    means = parts.agg(mean=lambda values: values.mean(skipna=False), cells="size").reset_index()
    averages = cells[(cells["aspect"] == "AVG") & cells["value"].notna()]
    found = averages.merge(means, on=key, how="left")
    found["difference"] = found["value"] - found["mean"]
    consistent = (found["difference"].abs() <= WITHIN).astype("boolean")
    found["consistent"] = consistent.mask(found["mean"].isna())
    found = found.assign(cause="", candidates="", tried=0, chance=np.nan)
    explained = ["cause", "candidates", "tried", "chance"]
    lines = _Lines(cells)
    inconsistent = found[~found["consistent"].fillna(True)]
    for line, group in inconsistent.groupby(LINE, sort=False):
        found.loc[group.index, explained] = _explain(line, group, lines)
    return found[[*key, "printed", "mean", "difference", "cells", "consistent", *explained]]


def with_misprints(rows, cells, of_others):
    """Give printed averages that their own row contradicts the verdict `misprint`, and say so in their notes.

    That is judged by the print alone: the average is no mean of the row's printed cells, however each of them was
    rounded. So it holds of an average that nobody ran, too, whose evidence stays `none`, and of one beside which
    stands another model's value. An average that our own values reproduce to the printed digits is no misprint: the
    average is right then, and one of the row's printed cells is not. It keeps its verdict.

    Parameters
    ----------
    rows : pandas.DataFrame
        Of the ledger: `row, aspect, level, coefficient, verdict, evidence, note`, and `paper` and `artefact` where
        `cells` have them. Rows that were judged before do not change.
    cells : pandas.DataFrame
        The printed cells, from `nlgjudge.ledger.printed.published` or `all_published`.
    of_others : pandas.Series of bool
        Which rows hold no value of ours, from `nlgjudge.ledger.verdicts.of_others`.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    The ChatGPT study prints 0.092 as the average (Table 2) of four cells whose mean is 0.0395.

    >>> from nlgjudge.ledger.printed import published
    >>> table = published("chatgpt", "table2")
    >>> rows = table[table["row"].eq("ROUGE-2") & table["coefficient"].eq("kendall") & table["level"].eq("sample")]
    >>> rows = rows.assign(verdict="not_run", evidence="none", note="needs texts")
    >>> found = with_misprints(rows, table, of_others=rows["row"].eq(""))
    >>> found.loc[found["aspect"] == "AVG", ["verdict", "note"]].values.tolist()
    [['misprint', 'the printed cells of the row average to 0.0395, not 0.092: no rounding gives that; needs texts']]
    """
    key, said = _contradictions(cells)
    texts = pd.Series(
        [said.get(line, "") for line in rows[key].itertuples(index=False, name=None)],
        rows.index,
        dtype=object,
    )
    given = rows["verdict"].isin(GIVEN_BY_DATA) & ~of_others
    chosen = (rows["aspect"] == "AVG") & (texts != "") & ~given & (rows["verdict"] != MISPRINT)
    verdicts = rows["verdict"].mask(chosen, MISPRINT)
    notes = rows["note"].mask(chosen, texts + SAYS + rows["note"].fillna(""))
    return rows.assign(
        verdict=verdicts, note=notes.str.removesuffix("; ").mask(~chosen, rows["note"])
    )


def besides_misprint(note):
    """What a note says beside that the cell is misprinted, as what it needs.

    Parameters
    ----------
    note : str

    Returns
    -------
    str

    Examples
    --------
    >>> besides_misprint("the printed cells of the row average to 0.0395, not 0.092: no rounding gives that; a key")
    'a key'
    >>> besides_misprint("a key")
    'a key'
    """
    return note.partition(SAYS)[2] if SAYS in note else note


def _contradictions(cells):
    """Printed averages that no printed cells of their row can give: their key's columns, and what to say by key."""
    key = [name for name in [*LINE, "coefficient"] if name in cells]
    lines = {}  # by row, level and coefficient: the values and how far each may be rounded
    averages = {}
    for *line, aspect, printed, value in cells[[*key, "aspect", "printed", "value"]].itertuples(
        index=False, name=None
    ):
        line = tuple(line)
        half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
        if aspect != "AVG":
            lines.setdefault(line, []).append((value, half))
        elif not np.isnan(value):
            averages.setdefault(line, (printed, value, half))
    said = {}
    for line, (printed, value, half) in averages.items():
        values, halves = zip(*lines.get(line, [(np.nan, np.nan)]))
        mean = np.mean(values)
        if abs(value - mean) > half + np.mean(halves) + SLACK:  # not where a cell is lost
            said[line] = f"the printed cells of the row average to {mean:.4f}, not {printed}: "
    return key, said


class _Lines(Mapping):
    """Every row of every table, by the columns `LINE`; laid out when it is asked for, which few are."""

    def __init__(self, cells):
        cells = cells.assign(part=cells["dataset"] + " " + cells["aspect"])
        self._groups = dict(iter(cells.groupby(LINE, sort=False)))
        self._laid_out = {}

    def __getitem__(self, line):
        if line not in self._laid_out:
            group = self._groups[line]
            is_average = group["aspect"] == "AVG"
            self._laid_out[line] = _Line(
                cells=group[~is_average].pivot(index="part", columns="coefficient", values="value"),
                averages=group[is_average].set_index("coefficient")["value"],
            )
        return self._laid_out[line]

    def __iter__(self):
        return iter(self._groups)

    def __len__(self):
        return len(self._groups)


def _explain(line, group, lines):
    """Search a cause for the inconsistent averages of one row, in one order for every row.

    Returns cause, candidates, number of explanations and chance, for each of the averages.
    """
    names = list(group["coefficient"])
    printed = group["value"].to_numpy()
    means = group["mean"].to_numpy()
    scale = means / np.abs(means).max() if means.any() else np.ones(len(means))
    wrong = np.round(means + np.outer(OFFSETS, scale), 3)
    families = _families(line, names, lines)
    tried = 0
    for family in families:
        for _, options in family.members:
            tried += max(np.size(option) for option in options)
    lucky = np.zeros(
        len(wrong), bool
    )  # wrong averages that this family, or an earlier one, explains too
    candidates = [
        [note] if note else [] for note in _kept_from_the_other_version(line, names, lines)
    ]
    for family in families:
        # The first line of a fit is about the printed averages, the others are about the wrong ones.
        fits = {
            label: _fits(options, np.vstack([printed, wrong]), family.tolerance)
            for label, options in family.members
        }
        for fit in fits.values():
            lucky |= fit[1:].all(axis=1)
        chance = lucky.mean()
        for label, fit in fits.items():
            explanation = f"{family.name}: {label}"
            if fit[0].all() and chance <= CHANCE:
                return [[explanation, "", tried, chance]] * len(names)
            for place in np.flatnonzero(fit[0]):
                candidates[place].append(explanation)
    cause = f"none found, {tried} explanations tried"
    return [[cause, "; ".join(some), tried, np.nan] for some in candidates]


def _fits(options, values, tolerance):
    """Which values (displacements by coefficients) come within the tolerance of an option."""
    columns = []
    for option, column in zip(options, values.T):
        near = np.abs(np.atleast_1d(option)[:, None] - column) <= tolerance
        columns.append(near.any(axis=0))
    return np.stack(columns, axis=1)


def _families(line, names, lines):
    """The families of explanations of some averages of a row, from the smallest to the largest."""
    paper, artefact, row, level = line
    own = lines[line].cells[names]
    rows = [other[2] for other in lines if other == (paper, artefact, other[2], level)]
    at = rows.index(row)
    neighbours = rows[max(at - 1, 0) : at] + rows[at + 1 : at + 2]
    same_stem = [
        other for other in rows if other != row and other.split(" - ")[0] == row.split(" - ")[0]
    ]
    near = []
    far = []
    for other in rows:
        if other == row:
            continue
        averages = list(lines[paper, artefact, other, level].averages.reindex(names))
        kind = near if other in neighbours else far
        kind.append((f"printed for {other}", averages))
    others = {
        other: lines[paper, artefact, other, level].cells for other in [*neighbours, *same_stem]
    }
    twin = _changed_twin(line, lines)
    not_updated = []
    if twin is not None:
        version = VERSIONS[paper]
        others[version] = twin.cells
        if all(_kept_from_the_other_version(line, names, lines)):
            means = list(twin.cells[names].mean(skipna=False))
            not_updated.append((f"mean of the cells in {version}", means))
    return [
        _Family("copied line", SLACK, near),
        _Family("not updated", WITHIN, not_updated),
        _Family("copied from further away", SLACK, far),
        _Family("cell of a neighbour", WITHIN, _substituted(own, others)),
        _Family("fewer aspects", WITHIN, _means_of_fewer(own)),
        _Family(
            "digit of the mean",
            SLACK,
            [("mistyped, swapped or sign", [_edits(own[name].mean()) for name in names])],
        ),
    ]


def _changed_twin(line, lines):
    """The same row in the other version of the paper, where its cells differ; else None."""
    paper, *rest = line
    twin = lines.get((VERSIONS.get(paper), *rest))
    if twin is None or twin.cells.equals(lines[line].cells):
        return None
    return twin


def _kept_from_the_other_version(line, names, lines):
    """For each average a note where the other version prints the same over other cells, else nothing."""
    twin = _changed_twin(line, lines)
    if twin is None:
        return [""] * len(names)
    own = lines[line]
    notes = []
    for name in names:
        same_print = twin.averages.get(name) == own.averages[name]
        if same_print and not twin.cells[name].equals(own.cells[name]):
            notes.append(f"same print in {VERSIONS[line[0]]}, where cells differ")
        else:
            notes.append("")
    return notes


def _substituted(own, others):
    """Means with one cell taken from another row, where that has another cell."""
    found = []
    for name, cells in others.items():
        cells = cells.reindex(index=own.index, columns=own.columns)
        for part in own.index:
            if not cells.loc[part].equals(own.loc[part]):
                means = own.mean() + (cells.loc[part] - own.loc[part]) / len(own)
                found.append((f"{part} of {name}", list(means)))
    return found


def _means_of_fewer(own):
    """Means over every selection of the row's cells but the whole."""
    found = []
    for size in range(1, len(own)):
        for some in combinations(own.index, size):
            found.append((" + ".join(some), list(own.loc[list(some)].mean())))
    return found


def _edits(mean):
    """All misprints of the three digits: one wrong, two neighbours swapped, or the sign."""
    thousandths = round(mean * 1000) + np.arange(-1, 2)
    near = {number / 1000 for number in thousandths if abs(number / 1000 - mean) <= WITHIN}
    edited = {-value for value in near}
    for value in near:
        first, second, third = f"{abs(value):.3f}".partition(".")[2]
        texts = {second + first + third, first + third + second}
        for digit in "0123456789":
            texts |= {digit + second + third, first + digit + third, first + second + digit}
        sign = -1 if value < 0 else 1
        edited |= {sign * int(text) / 1000 for text in texts}
    return np.array(sorted(edited - near))
