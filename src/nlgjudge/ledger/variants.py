"""Search the documented variants of a metric for the one that a published row used.

A variant explains a row if every cell of it rounds to the published digits. Two things can still
make that wrong. First, chance: one of many variants may come as close without being right; the
probability is bounded from how far the variants differ. Second, equivalent variants: another variant
may round to the same digits, and no table can exclude it. All variants that fit are therefore named
together, as a family, and those that come near are listed as rivals.
"""

import re
from os.path import commonprefix
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.ledger.printed import KEY

CELL = KEY[1:]
# Chosen with results in view: at 1%, OpenMEVA's rows with three variants (0.6% to 3%) would not count.
CHANCE = 0.05
# In units of the last published digit. Half a unit is rounding. The rest is rounding twice, as when a
# table of four digits is copied with three: 0.12345 is 0.1235 and then 0.124, which is 0.00055 away.
FITS = 0.55
TOLERANCE = 0.002  # largest difference of a variant that is listed among the rivals
_HAIR = 1e-6  # so that a value on the edge is not lost to binary floats
_NAMED = 4  # maximum number of rivals named in a note


class Search(NamedTuple):
    """Result of the search for one published row.

    Attributes
    ----------
    variant
        The nearest variant, whether or not it explains the row; its values go into the ledger.
    explained
        Every cell of the nearest variant rounds to the published digits, directly or via one more digit, and, if there
        was a choice, chance is improbable. Other variants may do the same: see `family`.
    worst, runner_up
        Largest absolute difference of the nearest variant from the published row, and that of the next variant with
        other values.
    exact, cells
        Cells of the nearest variant that round directly to the published digits, and published cells compared.
    tried
        Variants tried.
    chance
        Bound on the probability that any of them fits as closely by chance, in [0, 1]; 0 without a choice. It holds
        for rows that none of the variants made, not for equivalent variants.
    family, rivals
        The variants that fit every cell, and those with other values whose every cell is within the tolerance, the
        nearest first.
    values
        `dataset, aspect, level, coefficient, ours, n, n_skipped` of the nearest variant.
    """

    row: str
    variant: str
    explained: bool
    worst: float
    exact: int
    cells: int
    tried: int
    chance: float
    runner_up: float
    family: tuple[str, ...]
    rivals: tuple[str, ...]
    values: pd.DataFrame

    @property
    def ours(self) -> pd.DataFrame:
        """The values with `row`, `metric` (the nearest variant), `variant` (the explanation) and `note`."""
        texts = {"metric": self.variant, "note": self.note, "variant": self.explanation}
        return self.values.assign(row=self.row, **texts)

    @property
    def explanation(self) -> str:
        """What the ledger names: the family that fits, or the nearest variant."""
        return family_name(self.family) if self.explained else f"nearest: {self.variant}"

    @property
    def note(self) -> str:
        """One sentence for the ledger."""
        if self.tried == 1:
            return f"one score, no variant to choose; at most {self.worst:.4f} away"
        near = [name for name in self.rivals if name not in self.family]
        beside = f"; also within the tolerance: {'; '.join(near[:_NAMED])}" if near else ""
        if len(near) > _NAMED:
            beside += f"; and {len(near) - _NAMED} more"
        if not self.explained:
            return (
                f"no variant explains the row: {self.tried} variants tried, the nearest rounds to "
                f"{self.exact} of {self.cells} cells and is at most {self.worst:.4f} away "
                f"(chance fit {self.chance:.1g}){beside}"
            )
        twice = self.cells - self.exact
        text = (
            f"all {self.cells} cells round to the published digits, at most {self.worst:.5f} away"
        )
        text += f", {twice} of them by way of one digit more" if twice else ""
        text += f"; {self.tried} variants tried"
        if len(self.family) > 1:
            text += (
                f", {len(self.family)} of them fit and the published digits cannot distinguish them"
            )
        text += (
            f", the next best is {self.runner_up:.4f} away, chance fit at most {self.chance:.1g}"
        )
        return text + beside


def search(table, rows, values):
    """Find the variants that reproduce each published row; returns a list of `Search`.

    `table` has published cells, of which averages and empty ones are left out; `rows` and `values` are as for
    `Table.search`. A `ValueError` says if a row has no variant or no published cell, or a variant lacks a published
    cell.

    Examples
    --------
    Recall gives both published digits; precision does not.

    >>> cell = {"dataset": "d", "level": "sample", "coefficient": "spearman"}
    >>> table = pd.DataFrame([{"row": "R", "aspect": a, **cell, "printed": p, "value": float(p)}
    ...                       for a, p in (("x", "0.120"), ("y", "0.480"))])
    >>> values = pd.DataFrame([{"metric": m, "aspect": a, **cell, "ours": o, "n": 9, "n_skipped": 0}
    ...                        for m, a, o in (("recall", "x", 0.1203), ("recall", "y", 0.4798),
    ...                                        ("precision", "x", 0.21), ("precision", "y", 0.35))])
    >>> (found,) = search(table, {"R": ["recall", "precision"]}, values)
    >>> found.variant, found.exact, found.cells
    ('recall', 2, 2)
    """
    searches = []
    for row, cells, ours in _by_row(table, rows, values):
        nearest = _search(row, cells["value"], cells["unit"], ours)
        chosen = values[values["metric"] == nearest.variant]
        chosen = chosen.drop(columns=["metric", "reason"], errors="ignore")
        searches.append(nearest._replace(values=chosen))
    return searches


def summary(searches):
    """A line for each search: the fields of `Search` by row, `family` and `rivals` as numbers of variants."""
    frame = pd.DataFrame(searches).drop(columns="values")
    names = [search.explanation.removeprefix("nearest: ") for search in searches]
    frame["variant"] = [re.sub(r"^\w+: ", "", name) for name in names]
    frame["family"] = frame["family"].map(len)
    frame["rivals"] = frame["rivals"].map(len)
    frame["chance"] = frame["chance"].map("{:.1g}".format).mask(frame["tried"] == 1, "-")
    return frame.round({"worst": 5, "runner_up": 4}).set_index("row")


def family_name(names):
    """Name several variants at once: what they share, and where they differ as "A or B".

    Examples
    --------
    >>> family_name(["rouge2: f, mean, porter", "rouge2: f, mean, script"])
    'rouge2: f, mean, (porter or script)'
    """
    names = list(dict.fromkeys(names))
    if len(names) == 1:
        return names[0]
    parts = [re.split(r"(: |, | \| )", name) for name in names]
    before = commonprefix(parts)
    rest = [part[len(before) :] for part in parts]
    after = commonprefix([part[::-1] for part in rest])[::-1]
    middles = ["".join(part[: len(part) - len(after)]) for part in rest]
    before, after = "".join(before), "".join(after)
    some = [middle for middle in middles if middle]
    if len(some) == len(middles):
        return f"{before}({' or '.join(some)}){after}"
    # One variant is the others without a word; that word's comma goes with what follows.
    comma = re.search(r"(: |, | \| )?$", some[0]).group()
    more = " or ".join(middle.strip(" ,|:") for middle in some)
    return f"{before.rstrip(' ,|:')} (or with {more}){comma}{after}"


def chance_fit(ours, distance):
    """Bound the probability that some variant comes as close in every cell by chance.

    Cells move together from variant to variant, so we count along the principal axes of the variants
    and not cell by cell. A row that lies anywhere in their range is hit along an axis with
    probability width / range. Axes multiply, variants add up.

    `ours` has cells by variants, `distance` is the largest difference of the nearest variant; at least half a unit of
    the third digit is used.
    """
    points = ours.T.fillna(ours.mean(axis=1)).to_numpy(float)
    axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
    spread = np.ptp(points @ axes.T, axis=0).clip(1e-12)
    width = 2 * max(distance, 0.0005) * np.abs(axes).sum(axis=1)
    return float(min(1, len(points) * (width / spread).clip(max=1).prod()))


def _by_row(table, rows, values):
    """Yield each published row with its cells and our values of its variants, one column each."""
    cells = table[(table["aspect"] != "AVG") & table["value"].notna()]
    digits = cells["printed"].str.partition(".")[2].str.len()
    cells = cells.assign(unit=10.0**-digits)
    ours = values.pivot(index=CELL, columns="metric", values="ours")
    for row, variants in rows.items():
        computed = [name for name in variants if name in ours]
        yield row, cells[cells["row"] == row].set_index(CELL), ours[computed]


def _search(row, printed, unit, ours):
    """Search one row: its published cells, the unit of each cell's last digit, and ours by variant."""
    covered = ours.index[ours.notna().any(axis=1)]
    absent = printed.index.difference(covered)
    if printed.empty or ours.empty or len(absent):
        raise ValueError(
            f"row {row!r}: expected a value for each of {len(printed)} published cells, got "
            f"{ours.shape[1]} variants and no value for {len(absent)} cells"
        )
    ours = ours.loc[printed.index]
    gaps = ours.sub(printed, axis=0).abs()
    in_units = gaps.div(unit, axis=0)
    worst = gaps.max(skipna=False).fillna(np.inf).sort_values(kind="stable")
    winner = worst.index[0]
    fits = (in_units <= FITS + _HAIR).all()
    fitting = [name for name in worst.index if fits[name]]
    equal = _equal(ours, ours[winner])
    others = worst[[name for name in worst.index if not equal[name]]]
    chance = chance_fit(ours, worst[winner]) if ours.shape[1] > 1 else 0.0
    return Search(
        row=row,
        variant=winner,
        explained=bool(fitting) and chance < CHANCE,
        worst=worst.iloc[0],
        exact=int((in_units[winner] <= 0.5 + _HAIR).sum()),
        cells=len(printed),
        tried=ours.shape[1],
        chance=chance,
        runner_up=others.iloc[0] if len(others) else np.nan,
        family=tuple(fitting),
        rivals=tuple(others.index[others <= TOLERANCE + 1e-9]),
        values=None,
    )


def _equal(ours, variant):
    """Which variants have the same values as one of them in every cell."""
    same = np.isclose(ours.to_numpy(float), variant.to_numpy(float)[:, None])
    return pd.Series(same.all(axis=0), index=ours.columns)
