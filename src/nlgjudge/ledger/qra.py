"""Quantified reproducibility assessment of the ledger (QRA++: Belz 2025, arXiv 2505.17043).

QRA++ knows four types of results, each with measures of its own. Type I are single values: the
coefficient of variation for small samples, CV* (Belz, Popović and Mille 2022). Type II are sets of values:
Pearson and Spearman between them. Type III are labels of items: agreement, which the ledger cannot give,
because it holds no labels. Type IV are findings: the share P that is upheld, of the order of every two rows in
a column and of the sentences of the paper. Here the measurements of an object are two, the printed correlation
and ours.

CV* needs a scale that starts at zero. Correlations lie in [-1, 1], so that 1 is added to both values.
For two values x and y the formula comes to ``112.5 √π |x - y| / (x + y)`` of the shifted values. Two correlations
around 0.2 that are 0.01 apart have a CV* of 0.8, and rounding to three digits alone makes up to 0.04.
"""

from zlib import crc32

import numpy as np
import pandas as pd
from scipy.special import gammaln

from nlgjudge.ledger.ledger import CELL, committed
from nlgjudge.ledger.printed import KEY, PAPERS, all_published
from nlgjudge.ledger.prose_claims import HOLDS, UNTESTED, as_cells, claims, listed, needed_cells
from nlgjudge.ledger.verdicts import EVIDENCE

SHIFT = 1.0  # what makes the scale of correlations start at zero
NONE = "none"  # in the place of a kind of evidence, where a group has no cell of any
PRINT = "print"  # in the place of a kind of evidence, for conclusions tested on the printed cells
FEWEST_ROWS = 3  # of which an interval is given
FEWEST_CELLS = 3  # of which a correlation is given
MEASURES = ["cv_star", "pearson", "spearman", "order"]
COUNTS = [
    "cells",
    "rows",
    "pairs",
    "printed",
    "not_run",
    "agree",
    "relabelled",
    "averages",
    "variants_tried",
]
COLUMN = ["paper", "artefact", *KEY[1:]]  # of a printed table, in which rows can be compared
AGREES = ["exact", "close"]
CONCLUSIONS = ["paper", "evidence", "listed", "tested", "hold", "share", "as_in_print", "mixed"]
_HAIR = 1e-12  # a spread of less is none


def cv_star(values, *, shift=0.0, over_correction=True):
    """Coefficient of variation for small samples, in percent (Belz, Popović and Mille 2022).

    Parameters
    ----------
    values : array_like
        Measurements of one object along the last axis, at least two.
    shift : float
        Added to every value, so that the scale starts at zero: 1 for correlations, -1 for ratings from 1.
    over_correction : bool
        Whether the factor ``1 + 1/(4n)`` of the paper of 2022 and its code is applied. Two published uses of
        the QRA++ tool left it out; for two measurements that makes CV* smaller by a ninth.

    Returns
    -------
    float or numpy.ndarray
        ``(1 + 1/(4n)) 100 s*/mean``, where s* is the standard deviation divided by c4(n), which makes it
        unbiased. NaN where a value is missing or the mean is not above zero.

    Raises
    ------
    ValueError
        For fewer than two measurements.

    Examples
    --------
    BLEU of one system in seven reproductions (Belz, Popović and Mille 2022, Table 4, which has 1.562), and a
    printed correlation with ours.

    >>> round(cv_star([84.51, 84.50, 87.46, 85.60, 84.20, 86.61, 86.20]), 3)
    1.562
    >>> round(cv_star([0.20, 0.19], shift=1), 2)
    0.83
    """
    values = np.asarray(values, float) + shift
    n = values.shape[-1] if values.ndim else 0
    if n < 2:
        raise ValueError(
            f"expected at least two measurements of an object, got {n}: CV* is about their spread"
        )
    means = values.mean(axis=-1)
    degrees = n - 1
    log_c4 = 0.5 * np.log(2 / degrees) + gammaln(n / 2) - gammaln(degrees / 2)
    deviations = values.std(axis=-1, ddof=1) / np.exp(log_c4)
    factor = 1 + 1 / (4 * n) if over_correction else 1
    found = 100 * factor * deviations / np.where(means > 0, means, np.nan)
    return found if values.ndim > 1 else float(found)


def reproducibility(
    rows=None, by=("paper",), *, rng, shift=SHIFT, resamples=1000, confidence=0.95, relabelled=False
):
    """Degree of reproducibility by group and kind of evidence: Types I, II and IV of QRA++.

    A kind of evidence is never pooled with another. A cell that the ledger has under several kinds is counted
    once, under the best. Printed averages are no further measurements and do not enter; they are counted. Cells
    with the verdict `relabelled` equal another coefficient than the header names; they are not measurements of
    what is printed, and are counted apart unless asked for.

    Parameters
    ----------
    rows : pandas.DataFrame, optional
        As from `nlgjudge.ledger.ledger.read`; the committed ledger by default.
    by : sequence of str
        Columns that make the groups, as ``("paper", "artefact")``; at least one.
    rng : numpy.random.Generator
        Of the intervals. A group's interval does not depend on the other groups.
    shift : float
        Added to printed values and ours before CV*.
    resamples : int
        Of the bootstrap over printed rows: a row of a table is drawn with all its cells.
    confidence : float
        In (0, 1).
    relabelled : bool
        Whether relabelled cells enter, with the coefficient that fits.

    Returns
    -------
    pandas.DataFrame
        A line for each group and kind of evidence, or one with the evidence `none`. `cells` and `rows`
        that entered, and `pairs` of rows with different values in one column of a printed table; of the whole
        group the cells `printed` (averages not counted) and `not_run`; `agree` (exact or close), `relabelled`
        (left out), `averages` (left out); `variants_tried`, the most for a row (NaN where nothing was
        searched); `cv_star` (mean over cells), `pearson`, `spearman` and `order` (share of the pairs that
        have the printed order in ours too), each with `_low` and `_high`. Correlations need three cells,
        intervals three rows. `cv_star` is NaN where a cell's shifted mean is not above zero.

    Raises
    ------
    ValueError
        For no group, an unknown column, or a confidence outside (0, 1).

    Notes
    -----
    Pearson and Spearman are taken over all cells of a group, whatever their coefficient: Kendall's values are
    smaller than Spearman's in print and in ours, which raises both. Add ``"coefficient"`` to `by` to see each
    alone. Percentile intervals over few rows are too short.

    Examples
    --------
    >>> found = reproducibility(rng=np.random.default_rng(0), resamples=200).set_index(["paper", "evidence"])
    >>> line = found.loc[("geval", "recomputed")]
    >>> int(line["cells"]), bool(line["cv_star"] < 0.1), bool(line["pearson"] > 0.999)
    (60, True, True)
    """
    by = list(by)
    if rows is None:
        rows = committed()
    absent = [column for column in by if column not in rows or column == "evidence"]
    if absent or not by:
        raise ValueError(
            f"groups by {by}: expected columns of the ledger but evidence, which always makes groups"
        )
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}: expected a number between 0 and 1")
    seed = int(rng.integers(2**32))
    lines = []
    for key, group in _prepared(rows).groupby(by, sort=False):
        for evidence, part, counts in _parts(group, relabelled):
            name = "|".join([*map(str, key), evidence])
            own_rng = np.random.default_rng([seed, crc32(name.encode())])
            measured = _measures(part, own_rng, shift, resamples, confidence)
            lines.append({**dict(zip(by, key)), "evidence": evidence, **counts, **measured})
    columns = [*by, "evidence", *COUNTS]
    for measure in MEASURES:
        columns += [measure, f"{measure}_low", f"{measure}_high"]
    return pd.DataFrame(lines, columns=columns)


def _prepared(rows):
    """Rows with the printed value as a number, and what counts as printed, compared and an average."""
    value = pd.to_numeric(rows["published"], errors="coerce")
    return rows.assign(
        value=value,
        compared=value.notna() & rows["ours"].notna() & (rows["evidence"] != NONE),
        average=rows["aspect"] == "AVG",
        tried=pd.to_numeric(rows["note"].str.extract(r"(\d+) variants tried")[0]),
    )


def _parts(group, relabelled):
    """Of a group each kind of evidence with the cells that enter and the counts; one of none without any."""
    single = group[~group["average"]]
    printed = int(single["value"].notna().sum())
    shared = {"printed": printed, "not_run": printed - int(single["compared"].sum())}
    compared = group[group["compared"]]
    found = []
    kinds = [evidence for evidence in EVIDENCE if evidence in set(compared["evidence"])]
    for evidence in kinds or [NONE]:
        part = compared[compared["evidence"] == evidence]
        is_relabelled = (part["verdict"] == "relabelled") & ~part["average"]
        enters = ~part["average"] & (relabelled | ~is_relabelled)
        entering = part[enters]
        counts = {
            **shared,
            "cells": len(entering),
            "rows": len(entering.drop_duplicates(["paper", "artefact", "row"])),
            "agree": int(entering["verdict"].isin(AGREES).sum()),
            "relabelled": 0 if relabelled else int(is_relabelled.sum()),
            "averages": int(part["average"].sum()),
            "variants_tried": part["tried"].max(),
        }
        found.append((evidence, entering, counts))
    return found


def _measures(part, rng, shift, resamples, confidence):
    """The measures of one group with their intervals, and how many pairs of rows have an order."""
    x = part["value"].to_numpy(float)
    y = part["ours"].to_numpy(float)
    spread = cv_star(np.stack([x, y], axis=-1), shift=shift)
    first, second, upheld = _pairs(part)
    measures = {
        "cv_star": lambda weights: _mean(spread, weights),
        "pearson": lambda weights: _pearson(x, y, weights),
        "spearman": lambda weights: _spearman(x, y, weights),
        "order": lambda weights: _mean(upheld, weights[:, first] * weights[:, second]),
    }
    draws = _draws(part, rng, resamples)
    found = {"pairs": len(upheld)}
    for measure, compute in measures.items():
        found[measure] = compute(np.ones((1, len(x))))[0]
        found[f"{measure}_low"], found[f"{measure}_high"] = _interval(compute, draws, confidence)
    return found


def _draws(part, rng, resamples):
    """How often each cell is drawn in each resample of the printed rows; None for too few rows."""
    cells, rows = pd.factorize(pd.MultiIndex.from_frame(part[["paper", "artefact", "row"]]))
    if len(rows) < FEWEST_ROWS or not resamples:
        return None
    often = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=resamples)
    return often[:, cells].astype(float)


def _interval(compute, draws, confidence):
    """Percentiles of a measure over the resamples in which it is defined."""
    if draws is None:
        return np.nan, np.nan
    values = compute(draws)
    values = values[~np.isnan(values)]
    if not len(values):
        return np.nan, np.nan
    return np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])


def _pairs(part):
    """Positions of the two cells of each pair of rows that differ in print, and whether ours have that order.

    A pair that is equal in ours is not upheld, as in the QRA++ tool's published tables.
    """
    columns, _ = pd.factorize(pd.MultiIndex.from_frame(part[COLUMN]))
    printed = part["value"].to_numpy(float)
    ours = part["ours"].to_numpy(float)
    has_order = (columns[:, None] == columns) & (printed[:, None] != printed)
    first, second = np.nonzero(np.triu(has_order))
    upheld = np.sign(printed[first] - printed[second]) == np.sign(ours[first] - ours[second])
    return first, second, upheld.astype(float)


def _mean(values, weights):
    """Mean of values, one for each line of weights; NaN where nothing has a weight."""
    total = weights.sum(axis=1)
    return weights @ values / np.where(total > 0, total, np.nan)


def _pearson(x, y, weights):
    """Pearson's coefficient for each line of weights; NaN for too few cells or no spread."""
    if len(x) < FEWEST_CELLS:
        return np.full(len(weights), np.nan)
    return _weighted_pearson(
        np.broadcast_to(x, weights.shape), np.broadcast_to(y, weights.shape), weights
    )


def _spearman(x, y, weights):
    """Spearman's coefficient for each line of weights, where a weight is how often a cell was drawn."""
    if len(x) < FEWEST_CELLS:
        return np.full(len(weights), np.nan)
    return _weighted_pearson(_midranks(x, weights), _midranks(y, weights), weights)


def _weighted_pearson(x, y, weights):
    total = weights.sum(axis=1, keepdims=True)
    from_x = x - (weights * x).sum(axis=1, keepdims=True) / total
    from_y = y - (weights * y).sum(axis=1, keepdims=True) / total
    spread_x = (weights * from_x**2).sum(axis=1)
    spread_y = (weights * from_y**2).sum(axis=1)
    together = (weights * from_x * from_y).sum(axis=1)
    no_spread = (spread_x < _HAIR) | (spread_y < _HAIR)
    return together / np.sqrt(np.where(no_spread, np.nan, spread_x * spread_y))


def _midranks(values, weights):
    """Rank of each value among all, each as often as its weight; equal values share their mean rank."""
    different, place = np.unique(values, return_inverse=True)
    often = np.zeros((len(weights), len(different)))
    for cell, at in enumerate(place):
        often[:, at] += weights[:, cell]
    below = often.cumsum(axis=1) - often
    return (below + (often + 1) / 2)[:, place]


def conclusions(rows=None, *, table=None):
    """Share of the papers' sentences about their tables that hold, in print and in ours: Type IV of QRA++.

    A conclusion is a sentence of a paper about its tables, as listed in `paper_tables/claims.csv` with a test
    (`nlgjudge.ledger.prose_claims`). In ours it is tested where every printed cell that it is about has a
    value of ours of one and the same kind of evidence; relabelled cells have none.

    Parameters
    ----------
    rows : pandas.DataFrame, optional
        The ledger; the committed one by default.
    table : pandas.DataFrame, optional
        Other conclusions, as from `nlgjudge.ledger.prose_claims.listed`.

    Returns
    -------
    pandas.DataFrame
        For each paper a line `print`, and one for each kind of evidence that any conclusion is tested on:
        `paper, evidence, listed, tested, hold, share, as_in_print, mixed`. `share` is `hold` of `tested`, NaN
        where nothing is tested; `as_in_print` have the same verdict as on the printed cells; `mixed` are
        conclusions whose cells all have a value of ours, but of several kinds of evidence, so that they are
        not tested.

    Examples
    --------
    >>> said = listed()
    >>> two = said[(said["paper"] == "geval") & (said["section"] == "abstract")].head(2)
    >>> conclusions(table=two)[["paper", "evidence", "listed", "tested", "hold"]].values.tolist()
    [['geval', 'print', 2, 2, 1], ['geval', 'third_party', 2, 1, 0]]
    """
    if rows is None:
        rows = committed()
    if table is None:
        table = listed()
    printed = all_published()
    usable = _prepared(rows)
    usable = usable[usable["compared"] & (usable["verdict"] != "relabelled")]
    lines = []
    for paper in [paper for paper in PAPERS if paper in set(table["paper"])]:
        said = table[table["paper"] == paper]
        lines += _conclusions_of(
            paper, said, printed[printed["paper"] == paper], usable[usable["paper"] == paper]
        )
    return pd.DataFrame(lines, columns=CONCLUSIONS)


def _conclusions_of(paper, said, printed, usable):
    """Lines of `conclusions` for one paper."""
    said = said.reset_index(drop=True)
    tests = {PRINT: claims(table=said, cells=printed)["verdict_in_print"]}
    found = (
        printed[CELL]
        .merge(usable[[*CELL, "ours", "evidence"]], how="left", on=CELL)
        .set_axis(printed.index)
    )
    ours = printed.assign(value=found["ours"], evidence=found["evidence"])
    cells = as_cells(printed)
    needed = [[cell.number for cell in needed_cells(claim, cells)] for claim in said.itertuples()]
    kinds = [found["evidence"].iloc[numbers] for numbers in needed]
    whole = [len(kind) > 0 and kind.notna().all() for kind in kinds]
    mixed = sum(complete and kind.nunique() > 1 for complete, kind in zip(whole, kinds))
    for evidence in EVIDENCE:
        covered = [complete and (kind == evidence).all() for complete, kind in zip(whole, kinds)]
        if any(covered):
            verdicts = claims(table=said[covered], cells=ours[ours["evidence"] == evidence])[
                "verdict_in_print"
            ]
            tests[evidence] = verdicts.set_axis(said.index[covered])
    lines = []
    for evidence, verdicts in tests.items():
        tested = int((verdicts != UNTESTED).sum())
        hold = int((verdicts == HOLDS).sum())
        same = int((verdicts == tests[PRINT][verdicts.index]).sum()) - int(
            (verdicts == UNTESTED).sum()
        )
        share = hold / tested if tested else np.nan
        lines.append((paper, evidence, len(said), tested, hold, share, same, mixed))
    return lines
