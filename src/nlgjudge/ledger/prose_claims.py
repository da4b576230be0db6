"""Test the sentences of the papers on the papers' own tables."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
import pandas as pd

from nlgjudge.data.paths import root, use
from nlgjudge.ledger.printed import published

CELL = ["artefact", "dataset", "aspect", "level", "coefficient"]
HOLDS = "holds"
DOES_NOT_HOLD = "does not hold"
UNTESTED = "cannot be tested"
MINUS = " minus "  # in a side that names the difference of two rows
EPSILON = 1e-9
# How far x is on the claim's side of y; `margin` is what "much" and "close" mean.
RELATIONS = {
    "higher": lambda x, y, margin: x - y - 2 * EPSILON,
    "lower": lambda x, y, margin: y - x - 2 * EPSILON,
    "much higher": lambda x, y, margin: x - y - margin,
    "as high": lambda x, y, margin: x - y + margin,
    "close": lambda x, y, margin: margin - np.abs(x - y),
    "equal": lambda x, y, margin: 0.0005 - np.abs(x - y),
}
# How many of n cells must support the claim.
QUANTIFIERS = {
    "every": lambda n: n,
    "most": lambda n: n // 2 + 1,
    "some": lambda n: min(n, 2),
}
KNOWN = {
    "relation": [*RELATIONS, "none"],
    "match": ["each", "pairs", "best", ""],
    "cells": [*QUANTIFIERS, ""],
}


def claims(paper: str | None = None, *, margin: float = 0.05) -> pd.DataFrame:
    """Test what a paper says about its tables on the published numbers.

    `paper_tables/claims.csv` lists the claims, each with its section and a test: rows `a` against rows `b`, in
    which cells, and the relation that should hold between both values. Averages count only in claims about averages;
    dashes do not, nor do values that are missing or uncertain in our copy of the text.

    A claim compares two values x and y in each cell. `match` pairs them: `each` row of `a` with each row of `b`;
    `pairs` of rows in the order listed; the `best` of `a` with the best of `b`. A cell supports the claim if x is
    `higher` or `lower` than y, `much higher` (by at least `margin`), `as high` (at most `margin` below), `close` (at
    most `margin` apart) or `equal` (to three digits).

    The wording decides, for all papers: no quantifier, every cell; "generally", most cells; "several", some;
    "substantially", "large margin", "significantly", much higher; "competitive", as high; "similar", close. A method
    with several rows is represented by its best row, unless the claim names a row or says "all" or "regardless".
    "Good" and "well" mean above 0.5, "weak", "low" and "poor" below 0.5, "high" and "very strong" above 0.7 (the
    bounds are Mukaka's, 2012, cited by two of the papers).

    Parameters
    ----------
    paper
        A published version; all papers by default.
    margin
        In correlation, above 0.

    Returns
    -------
    pandas.DataFrame
        A row per claim: `paper, artefacts` (several with ``|``), `section, claim, in_print` (as ``7 of 8``),
        `counterexample` (the worst cell), `verdict_in_print` (`holds`, `does not hold` or `cannot be tested`), `note`,
        and the claim's test as listed.

    Raises
    ------
    ValueError
        For a mistake in the list: an unknown relation, match or quantifier, a claim about rows that no table has, or
        one without a test or a note that says why.

    Examples
    --------
    >>> claims("geval").loc[1, ["claim", "in_print", "verdict_in_print"]].tolist()
    ['outperforming all previous methods by a large margin', '0 of 1', 'does not hold']
    """
    listed = _listed()
    if paper is not None:
        listed = listed[listed["paper"] == paper]
    cells = published()
    results = [_judged(claim, cells, margin) for claim in listed.itertuples()]
    columns = ["in_print", "counterexample", "verdict_in_print", "note"]
    results = pd.DataFrame(results, index=listed.index, columns=columns)
    what = listed[["paper", "artefacts", "section", "claim"]]
    test = listed[["a", "b", "match", "scope", "scope_b", "relation", "cells"]]
    return pd.concat([what, results, test], axis=1).reset_index(drop=True)


def _listed():
    """The list of claims, a row per paper and claim."""
    path = use(root() / "paper_tables" / "claims.csv")
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    for column, names in KNOWN.items():
        for value in table.loc[~table[column].isin(names), column]:
            raise ValueError(f"claims.csv: {column} {value!r}, expected one of {names}")
    silent = table[(table["relation"] == "none") & (table["note"] == "")]
    if len(silent):
        raise ValueError(f"claim {silent['claim'].iloc[0]!r} has no test and no note why not")
    return table.assign(paper=table["paper"].str.split("|")).explode("paper", ignore_index=True)


def _judged(claim, cells, margin):
    """How many cells support a claim, the worst counterexample, the verdict and the note."""
    if claim.relation == "none":
        return "", "", UNTESTED, claim.note
    cases = _cases(claim, *_sides(claim, cells))
    if not len(cases):
        lost = "the cells that it is about are lost in the text at hand"
        return "", "", UNTESTED, claim.note or lost
    room = RELATIONS[claim.relation](cases["value"], cases["value_b"], margin)
    good = (room > -EPSILON).sum()
    worst = _worst(cases.loc[room.idxmin()], cases) if good < len(cases) else ""
    verdict = HOLDS if good >= QUANTIFIERS[claim.cells](len(cases)) else DOES_NOT_HOLD
    return f"{good} of {len(cases)}", worst, verdict, claim.note


def _sides(claim, cells):
    """The values of both sides, a row each; None for a side of numbers."""
    in_tables = cells["artefact"].isin(claim.artefacts.split("|"))
    cells = cells[(cells["paper"] == claim.paper) & in_tables]
    names = cells["row"].unique()
    certain = cells["value"].notna() & ~cells["note"].str.startswith("UNCERTAIN")
    cells = cells.loc[certain, [*CELL, "row", "value"]]
    single = cells if "aspect" in claim.scope else cells[cells["aspect"] != "AVG"]
    scope_a = _within(single, claim.scope)
    scope_b = _within(cells, claim.scope_b) if claim.scope_b else scope_a
    sides = []
    for patterns, scope in ((claim.a, scope_a), (claim.b, scope_b)):
        if patterns[:1].isdigit():
            sides.append(None)
            continue
        if not all(_expand(names, part) for part in patterns.split(MINUS)):
            where = f"claim {claim.claim!r} of {claim.paper} {claim.artefacts}"
            raise ValueError(f"{where}: no row {patterns!r}")
        sides.append(_selected(scope, patterns, names))
    return sides


def _expand(names, patterns):
    """Names that the patterns select, in the patterns' order; with ``!``, the names they do not."""
    chosen = []
    for pattern in patterns.lstrip("!").split("|"):
        chosen += [name for name in names if fnmatchcase(name, pattern.strip())]
    if patterns.startswith("!"):
        return [name for name in names if name not in chosen]
    return chosen


def _within(cells, scope):
    """The cells that every pattern of a scope selects."""
    for part in filter(None, scope.split(";")):
        column, patterns = part.strip().split("=")
        cells = cells[cells[column].isin(_expand(cells[column].unique(), patterns))]
    return cells


def _selected(cells, patterns, names):
    """Cells of the rows that the patterns select, with the `place` of each row in the list."""
    if MINUS in patterns:
        sides = [_difference(cells, text, names) for text in patterns.split("|")]
        return pd.concat([side.assign(place=place) for place, side in enumerate(sides)])
    rows = pd.DataFrame({"row": _expand(names, patterns)})
    return cells.merge(rows.assign(place=rows.index), on="row")


def _difference(cells, text, names):
    """In each cell the best of one pattern minus the best of another."""
    first, second = [_best(_selected(cells, part, names)) for part in text.split(MINUS)]
    both = first.merge(second, on=CELL, suffixes=("", "_b"))
    return both[CELL].assign(row=text, value=both["value"] - both["value_b"])


def _best(side):
    """The highest value of each cell."""
    return side.sort_values("value", ascending=False, kind="stable").drop_duplicates(CELL)


def _cases(claim, side_a, side_b):
    """The pairs of values that a claim compares: `row, value` against `row_b, value_b`."""
    if claim.match == "best":
        side_a = _best(side_a)
    if side_b is None:
        numbers = [float(number) for number in claim.b.split("|")]
        compared = [numbers[place % len(numbers)] for place in side_a["place"]]
        return side_a.assign(row_b="", value_b=compared)
    if claim.match == "best":
        side_b = _best(side_b)
    shared = [column for column in CELL if f"{column}=" not in claim.scope_b]
    if claim.match == "pairs":
        shared.append("place")
    return side_a.merge(side_b, on=shared, suffixes=("", "_b"))


def _worst(case, cases):
    """A case in words, with what tells its cell from those of the other cases."""
    here = [case[c] for c in CELL if f"{c}_b" in case or cases[c].nunique() > 1]
    there = [case[f"{c}_b"] for c in CELL if case.get(f"{c}_b", case[c]) != case[c]]
    value = f"{case['row']} {case['value']:.3f}{_bracketed(here)}"
    value_b = f"{case['row_b']} {case['value_b']:.3f}{_bracketed(there)}"
    return f"{value}, {value_b.strip()}"


def _bracketed(names):
    return f" ({', '.join(names)})" if names else ""
