"""The printed averages against the printed cells of their rows.

Source: every table of correlations in the papers, as typed in `paper_tables/published/`. Nothing here is
computed from data: a contradiction found here lies in the papers.
"""

from itertools import combinations

import numpy as np

from nlgjudge.ledger.printed import all_published

TABLE = ["paper", "artefact"]
LINE = [*TABLE, "row", "level"]
VERSIONS = {"geval": "geval_v1", "geval_v1": "geval"}
SLACK = 1e-9  # so that a value on the rounding edge is not lost to binary floats
WITHIN = 2 * 0.0005 + SLACK  # a rounded average against the mean of rounded cells, three digits each
CHANCE = 0.05
OFFSETS = np.r_[-60:-1, 2:61] / 1000  # wrong averages of known origin, to measure chance


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
    """
    cells = all_published() if cells is None else cells
    by = [*LINE, "coefficient"]
    means = cells[cells["aspect"] != "AVG"].groupby(by, sort=False)["value"].agg(
        mean=lambda v: v.mean(skipna=False), cells="size").reset_index()
    found = cells[(cells["aspect"] == "AVG") & cells["value"].notna()].merge(means, on=by, how="left")
    found["difference"] = found["value"] - found["mean"]
    found["consistent"] = (found["difference"].abs() <= WITHIN).astype("boolean").mask(found["mean"].isna())
    found = found.assign(cause="", candidates="", tried=0, chance=np.nan)
    lines, columns = _lines(cells), ["cause", "candidates", "tried", "chance"]
    for line, group in found[~found["consistent"].fillna(True)].groupby(LINE, sort=False):
        found.loc[group.index, columns] = _explain(line, group, lines)
    return found[[*by, "printed", "mean", "difference", "cells", "consistent", *columns]]


def _lines(cells):
    """For each row of a table and level: cells by dataset and aspect, and printed averages."""
    cells = cells.assign(part=cells["dataset"] + " " + cells["aspect"])
    return {line: (group[group["aspect"] != "AVG"].pivot(index="part", columns="coefficient", values="value"),
                   group[group["aspect"] == "AVG"].set_index("coefficient")["value"])
            for line, group in cells.groupby(LINE, sort=False)}


def _explain(line, group, lines):
    """Search a cause for the inconsistent averages of one row, in one order for every row."""
    names, values, means = list(group["coefficient"]), group["value"].to_numpy(), group["mean"].to_numpy()
    scale = means / np.abs(means).max() if means.any() else np.ones(len(means))
    wrong = np.round(means + np.outer(OFFSETS, scale), 3)
    families, kept = _families(line, names, lines)
    total = sum(max(map(np.size, options)) for *_, members in families for _, options in members)
    luck, candidates = np.zeros(len(wrong), bool), [[k] if k else [] for k in kept]
    for family, tolerance, members in families:
        fits = {label: _fits(options, np.vstack([values, wrong]), tolerance) for label, options in members}
        luck |= np.any([fit[1:].all(axis=1) for fit in fits.values()], axis=0)
        for label, (fit, *_) in fits.items():
            if fit.all() and luck.mean() <= CHANCE:
                return [[f"{family}: {label}", "", total, luck.mean()]] * len(names)
            for i in np.flatnonzero(fit):
                candidates[i].append(f"{family}: {label}")
    return [[f"none found, {total} explanations tried", "; ".join(c), total, np.nan] for c in candidates]


def _fits(options, values, tolerance):
    """Which values (displacements by coefficients) come within the tolerance of an option."""
    near = [np.abs(np.atleast_1d(o)[:, None] - v) <= tolerance for o, v in zip(options, values.T)]
    return np.stack([n.any(axis=0) for n in near], axis=1)


def _families(line, names, lines):
    """List families `(name, tolerance, members)` and, for each average, whether versions share it.

    A member is a label and, for each of the inconsistent averages, what it would be.
    """
    *table, row, level = line
    own = lines[line][0][names]
    rows = [other[2] for other in lines if [*other[:2], other[3]] == [*table, level]]
    at = rows.index(row)
    near = rows[max(at - 1, 0):at] + rows[at + 1:at + 2]
    kin = [r for r in rows if r != row and r.split(" - ")[0] == row.split(" - ")[0]]
    copied = {r: list(lines[*table, r, level][1].reindex(names)) for r in rows if r != row}
    others = {r: lines[*table, r, level][0] for r in dict.fromkeys([*near, *kin])}
    stale, kept, twin = [], [""] * len(names), (VERSIONS.get(line[0]), *line[1:])
    if twin in lines and not lines[twin][0].equals(lines[line][0]):
        cells, prints = lines[twin]
        others[twin[0]] = cells
        kept = [f"same print in {twin[0]}, where cells differ" if prints.get(n) == lines[line][1][n]
                and not cells[n].equals(own[n]) else "" for n in names]
        stale = [(f"mean of the cells in {twin[0]}", list(cells[names].mean(skipna=False)))] * all(kept)
    return [
        ("copied line", SLACK, [(f"printed for {r}", copied[r]) for r in near]),
        ("not updated", WITHIN, stale),
        ("copied from further away", SLACK,
         [(f"printed for {r}", copied[r]) for r in copied if r not in near]),
        ("cell of a neighbour", WITHIN, _substituted(own, others)),
        ("fewer aspects", WITHIN, [
            (" + ".join(some), list(own.loc[list(some)].mean()))
            for size in range(1, len(own)) for some in combinations(own.index, size)]),
        ("digit of the mean", SLACK, [
            ("mistyped, swapped or sign", [_edits(own[n].mean()) for n in names])])], kept


def _substituted(own, others):
    """Means with one cell taken from another row, where that has another cell."""
    others = {name: cells.reindex(index=own.index, columns=own.columns) for name, cells in others.items()}
    return [(f"{part} of {name}", list(own.mean() + (cells.loc[part] - own.loc[part]) / len(own)))
            for name, cells in others.items() for part in own.index
            if not cells.loc[part].equals(own.loc[part])]


def _edits(mean):
    """All misprints of the three digits: one wrong, two neighbours swapped, or the sign."""
    near = {k / 1000 for k in round(mean * 1000) + np.arange(-1, 2) if abs(k / 1000 - mean) <= WITHIN}
    edited = {-value for value in near}
    for value in near:
        digits = f"{abs(value):.3f}".partition(".")[2]
        texts = {digits[:i] + d + digits[i + 1:] for i in range(3) for d in "0123456789"}
        texts |= {digits[1] + digits[0] + digits[2], digits[0] + digits[2] + digits[1]}
        edited |= {(-1 if value < 0 else 1) * int(t) / 1000 for t in texts}
    return np.array(sorted(edited - near))
