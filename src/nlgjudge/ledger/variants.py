"""Search the documented variants of a metric for the one that a printed row used.

A variant explains a row when every cell of it rounds to the print. Two things can still make that
wrong. Luck: some variant of many comes as close by chance; its probability is bounded from how far
apart the variants lie. Siblings: another variant, near in values, rounds to the same digits; no table
can exclude that, so all the variants that round to the print are named together, as a family, and those
that come near are listed as rivals.
"""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.ledger.printed import KEY

CELL = KEY[1:]
# Chosen with results in view: at 1% OpenMEVA's rows with three variants (0.6% to 3%) would not count.
CHANCE = 0.05
# Of a unit of the last printed digit. Half a unit is rounding; the rest is rounding twice, as when a table
# of four digits is copied with three: 0.12345 is 0.1235 and then 0.124, which is 0.00055 away.
FITS = 0.55
TOLERANCE = 0.002  # within which a variant is listed among the rivals
_HAIR = 1e-6  # so that a value on the edge is not lost to binary floats
_NAMED = 4  # rivals are named up to this number


class Search(NamedTuple):
    """Outcome of a search for one printed row.

    Attributes
    ----------
    row : str
    variant : str
        The best variant, whether or not it explains the row; its values go into the ledger.
    explained : bool
        Every cell of the best variant rounds to the print, at once or by way of one digit more, and,
        where there was a choice, luck is improbable. It does not say that no other variant does the
        same: see `family`.
    worst : float
        Largest absolute difference of the best variant from the print.
    exact : int
        Cells of it that round to the printed digits at once.
    cells : int
        Printed cells that were compared.
    tried : int
        Variants tried.
    chance : float
        Bound on the probability that any of them fits as closely by luck; 0 without choice. It is about
        rows that none of the variants made; a sibling of the true variant is no luck.
    runner_up : float
        Largest absolute difference of the next best variant that is not equal to the best.
    family : tuple of str
        The variants that fit the row in every cell, the best first, those of equal values with it; the
        print cannot tell them apart. Empty when none fits.
    rivals : tuple of str
        Variants with other values than the best whose every cell is within the tolerance, nearest first.
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
    family: tuple
    rivals: tuple
    values: pd.DataFrame

    @property
    def explanation(self):
        """What the ledger names: the family that fits, or the nearest variant."""
        if self.explained:
            return family_name(self.family)
        return f"nearest: {self.variant}"

    @property
    def note(self):
        """One sentence for the ledger."""
        near = [name for name in self.rivals if name not in self.family]
        beside = f"; also within the tolerance: {_first_few(near)}" if near else ""
        if self.tried == 1:
            return f"one score, no variant to choose; {self.worst:.4f} away at worst"
        if not self.explained:
            return (
                f"no variant explains the row: {self.tried} variants tried, the nearest rounds to "
                f"{self.exact} of {self.cells} cells and is {self.worst:.4f} away at worst "
                f"(luck {self.chance:.1g}){beside}"
            )
        twice = self.cells - self.exact
        text = f"all {self.cells} cells round to the print, {self.worst:.5f} away at worst"
        if twice:
            text += f", {twice} of them by way of one digit more"
        text += f"; {self.tried} variants tried"
        if len(self.family) > 1:
            text += f", {len(self.family)} of them fit and the print cannot tell them apart"
        text += f", the next best is {self.runner_up:.4f} away, luck at most {self.chance:.1g}"
        return text + beside


def search(table, rows, values, *, tolerance=TOLERANCE):
    """Find, for each printed row, the variants that reproduce it.

    Parameters
    ----------
    table : pandas.DataFrame
        Printed cells, from `published`; averages and empty cells are left out.
    rows : dict of str to list of str
        By row label, the variants to try, in order of preference among equals.
    values : pandas.DataFrame
        `metric` (the variant), `dataset, aspect, level, coefficient, ours, n, n_skipped`.
    tolerance : float
        Largest difference in any cell at which a variant is listed among the rivals. What explains a
        row does not depend on it.

    Returns
    -------
    list of Search

    Raises
    ------
    ValueError
        When a row has no variant or nothing printed, or a variant lacks a printed cell.

    Examples
    --------
    Recall gives both printed digits; precision is far away.

    >>> cell = {"dataset": "d", "level": "sample", "coefficient": "spearman"}
    >>> table = pd.DataFrame([{"row": "R", "aspect": a, **cell, "printed": p, "value": float(p)}
    ...                       for a, p in (("x", "0.120"), ("y", "0.480"))])
    >>> values = pd.DataFrame([{"metric": m, "aspect": a, **cell, "ours": o, "n": 9, "n_skipped": 0}
    ...                        for m, a, o in (("recall", "x", 0.1203), ("recall", "y", 0.4798),
    ...                                        ("precision", "x", 0.21), ("precision", "y", 0.35))])
    >>> found, = search(table, {"R": ["precision", "recall"]}, values)
    >>> found.variant, found.explained, found.exact, found.rivals
    ('recall', True, 2, ())
    """
    found = []
    for row, cells, ours in _by_row(table, rows, values):
        best_of_row = _search(row, cells["value"], cells["unit"], ours, tolerance)
        chosen = values[values["metric"] == best_of_row.variant]
        chosen = chosen.drop(columns=["metric", "reason"], errors="ignore")
        found.append(best_of_row._replace(values=chosen))
    return found


def best(searches):
    """Values of the best variants, ready for `nlgjudge.ledger.comparison.compare`.

    The values are those of one variant, the best, so that each cell has one verdict. The explanation
    names all that fit: where a family does, `variant` is the family's name.

    Parameters
    ----------
    searches : list of Search

    Returns
    -------
    pandas.DataFrame
        `row, metric, dataset, aspect, level, coefficient, ours, n, n_skipped, variant,
        note`; `metric` is the best variant's name among the values.

    Examples
    --------
    >>> cell = {"dataset": "d", "aspect": "x", "level": "sample", "coefficient": "spearman"}
    >>> table = pd.DataFrame([{"row": "R", **cell, "printed": "0.120", "value": 0.12}])
    >>> values = pd.DataFrame([{"metric": "recall", **cell, "ours": 0.1203, "n": 9, "n_skipped": 0}])
    >>> found = best(search(table, {"R": ["recall"]}, values))
    >>> found[["row", "metric", "ours", "note"]].values.tolist()
    [['R', 'recall', 0.1203, 'one score, no variant to choose; 0.0003 away at worst']]
    """
    parts = []
    for found in searches:
        parts.append(
            found.values.assign(
                row=found.row, metric=found.variant, note=found.note, variant=found.explanation
            )
        )
    return pd.concat(parts, ignore_index=True)


def summary(searches):
    """Summarise searches for display, a line each.

    Parameters
    ----------
    searches : list of Search

    Returns
    -------
    pandas.DataFrame
        By row, the fields of `Search`; `family` and `rivals` are numbers of variants.

    Examples
    --------
    >>> cell = {"dataset": "d", "aspect": "x", "level": "sample", "coefficient": "spearman"}
    >>> table = pd.DataFrame([{"row": "R", **cell, "printed": "0.120", "value": 0.12}])
    >>> values = pd.DataFrame([{"metric": "recall", **cell, "ours": 0.1203, "n": 9, "n_skipped": 0}])
    >>> found = summary(search(table, {"R": ["recall"]}, values))
    >>> found.loc["R", "variant"], int(found.loc["R", "exact"]), int(found.loc["R", "cells"])
    ('recall', 1, 1)
    """
    frame = pd.DataFrame(searches).drop(columns="values")
    names = [found.explanation if found.explained else found.variant for found in searches]
    frame["variant"] = [re.sub(r"^\w+: ", "", name) for name in names]
    frame["family"] = frame["family"].map(len)
    frame["rivals"] = frame["rivals"].map(len)
    chances = zip(frame["chance"], frame["tried"])
    frame["chance"] = [f"{chance:.1g}" if tried > 1 else "-" for chance, tried in chances]
    return frame.round({"worst": 5, "runner_up": 4}).set_index("row")


def family_name(names):
    """Name several variants at once: what they share, and where they differ as "A or B".

    Parameters
    ----------
    names : sequence of str
        Variants as ``"rouge2: f, mean, porter"``; at least one.

    Returns
    -------
    str

    Examples
    --------
    >>> family_name(["rouge2: f, mean, porter", "rouge2: f, mean, script"])
    'rouge2: f, mean, (porter or script)'
    >>> family_name(["rougeL: f, script", "rougeL: f, script, five decimals"])
    'rougeL: f, script (or with five decimals)'
    >>> family_name(["rouge1: r"])
    'rouge1: r'
    """
    names = list(dict.fromkeys(names))
    if len(names) == 1:
        return names[0]
    parts = [re.split(r"(: |, | \| )", name) for name in names]
    head = _shared(parts)
    rest = [part[head:] for part in parts]
    tail = _shared([part[::-1] for part in rest])
    before = "".join(parts[0][:head])
    after = "".join(rest[0][len(rest[0]) - tail :])
    middles = ["".join(part[: len(part) - tail]) for part in rest]
    some = [middle for middle in middles if middle]
    if len(some) == len(middles):
        return f"{before}({' or '.join(some)}){after}"
    # One of them is the others without a word; that word's comma goes with what follows.
    comma = re.search(r"(: |, | \| )?$", some[0]).group()
    more = " or ".join(middle.strip(" ,|:") for middle in some)
    return f"{before.rstrip(' ,|:')} (or with {more}){comma}{after}"


def left_out(table, rows, values):
    """Ask how often a wrong sibling explains a row, when the true variant was not tried.

    Each variant in turn is taken for the truth: its values, rounded to the printed digits of the row's
    cells, are the print, and it is left out of the search with all that equal it in values.

    Parameters
    ----------
    table, rows, values
        As for `search`; of the table only the cells and their digits count.

    Returns
    -------
    pandas.DataFrame
        A row for each printed row and variant that can be left out: `row, left_out`, `passes`, whether
        another one then explains the row, `within`, whether that one is within 0.002 in every cell
        (which was once the rule), and `variant`, the best of the others.

    Examples
    --------
    >>> cell = {"dataset": "d", "aspect": "x", "level": "sample", "coefficient": "spearman"}
    >>> table = pd.DataFrame([{"row": "R", **cell, "printed": "0.120", "value": 0.12}])
    >>> tried = {"f": 0.1203, "p": 0.21, "r": 0.35}
    >>> values = pd.DataFrame([{"metric": name, **cell, "ours": ours, "n": 9, "n_skipped": 0}
    ...                        for name, ours in tried.items()])
    >>> left_out(table, {"R": list(tried)}, values)[["left_out", "passes"]].values.tolist()
    [['f', False], ['p', False], ['r', False]]
    """
    found = []
    for row, cells, ours in _by_row(table, rows, values):
        grid = ours.loc[cells.index].dropna(axis=1)
        for truth in grid:
            others = grid.loc[:, ~_equal(grid, grid[truth])]
            if others.shape[1] < 2:
                continue
            print_of_truth = (grid[truth] / cells["unit"]).round() * cells["unit"]
            other = _search(row, print_of_truth, cells["unit"], others, TOLERANCE)
            within = other.worst <= TOLERANCE and other.chance < CHANCE
            found.append((row, truth, other.explained, within, other.variant))
    return pd.DataFrame(found, columns=["row", "left_out", "passes", "within", "variant"])


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
    points = ours.to_numpy(float).T
    if np.isnan(points).any():
        points = ours.T.fillna(ours.mean(axis=1)).to_numpy()
    axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
    spread = np.ptp(points @ axes.T, axis=0).clip(1e-12)
    width = 2 * max(distance, 0.0005) * np.abs(axes).sum(axis=1)
    return float(min(1, len(points) * (width / spread).clip(max=1).prod()))


def _by_row(table, rows, values):
    """Yield each printed row with its cells and our values of its variants, a column each."""
    printed = _printed(table)
    ours = values.pivot(index=CELL, columns="metric", values="ours")
    for row, variants in rows.items():
        cells = printed[printed["row"] == row].set_index(CELL)
        known = [name for name in variants if name in ours]
        yield row, cells, ours[known]


def _printed(table):
    """The cells that a search compares, with the unit of their last printed digit."""
    kept = table[(table["aspect"] != "AVG") & table["value"].notna()]
    digits = kept["printed"].str.partition(".")[2].str.len()
    return kept.assign(unit=10.0**-digits)


def _search(row, printed, unit, ours, tolerance):
    """Search one row: its printed cells, the unit of each cell's last digit, and ours by variant."""
    held = ours.index[ours.notna().any(axis=1)]
    absent = printed.index[~printed.index.isin(held)].unique()
    if printed.empty or ours.empty or len(absent):
        raise ValueError(
            f"row {row!r}: {len(printed)} printed cells, {ours.shape[1]} variants with "
            f"values, {len(absent)} cells without; there must be a value for each"
        )
    ours = ours.loc[printed.index]
    # In plain arrays, cells by variants: `left_out` searches once for each variant.
    gaps = np.abs(ours.to_numpy(float) - printed.to_numpy(float)[:, None])
    in_units = gaps / unit.to_numpy(float)[:, None]
    largest = gaps.max(axis=0)
    largest[np.isnan(largest)] = np.inf
    order = largest.argsort(kind="stable")
    names = ours.columns[order].tolist()
    worst = dict(zip(names, largest[order].tolist()))
    winner = names[0]
    fits = (in_units <= FITS + _HAIR).all(axis=0)[order]
    fitting = [name for name, fit in zip(names, fits) if fit]
    equal = _equal(ours, ours[winner]).to_numpy()[order]
    others = [name for name, same in zip(names, equal) if not same]
    rivals = [name for name in others if worst[name] <= tolerance + 1e-9]
    chance = luck(ours, worst[winner]) if ours.shape[1] > 1 else 0.0
    return Search(
        row=row,
        variant=winner,
        explained=bool(fitting) and chance < CHANCE,
        worst=worst[winner],
        exact=int((in_units[:, order[0]] <= 0.5 + _HAIR).sum()),
        cells=len(printed),
        tried=ours.shape[1],
        chance=chance,
        runner_up=worst[others[0]] if others else np.nan,
        family=tuple(fitting),
        rivals=tuple(rivals),
        values=None,
    )


def _equal(ours, variant):
    """Which variants have the same values as one of them, in every cell."""
    same = np.isclose(ours.to_numpy(float), variant.to_numpy(float)[:, None])
    return pd.Series(same.all(axis=0), index=ours.columns)


def _shared(parts):
    """How many leading words all lists share, never all of one."""
    count = 0
    for words in zip(*parts):
        if len(set(words)) > 1:
            break
        count += 1
    return count


def _first_few(names):
    """The first names, and how many there are besides."""
    text = "; ".join(names[:_NAMED])
    if len(names) > _NAMED:
        text += f"; and {len(names) - _NAMED} more"
    return text
