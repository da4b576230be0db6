"""Claims in the papers' prose, tested on the papers' own tables and, where there are scores, on data.

`paper_tables/claims.csv` lists them for G-Eval (EMNLP and arXiv v1), the ChatGPT study, DHP, CoAScore
and A Closer Look, each with its section and a test: rows `a` against `b`, how they are matched, in which
cells, and the relation that is said to hold. Printed averages count only where a claim is about averages;
dashes and values that are lost or uncertain in the text at hand do not count.

A claim is about cells (coefficient, aspect, level, dataset), and in each about two values x
and y. By `match` these are each row of `a` and `each` of `b`; `pairs` in the order listed; the `best`
of `a` and the best of `b`; the `range` from the best of `a` to the worst of `b`; the `gap` between
the best of both in `scope` and the same in `scope_b`; a `trend`, the gap of the k-th pair and of the
one before; the `order`, Spearman's correlation of the rows' values between `scope` and `scope_b`.
A cell is for the claim when x is `higher` or `lower` than y, `much higher` (by `margin` or more),
`as high` (at most `margin` below), `close` (at most `margin` apart) or `equal` (to three digits).

What words mean, for all papers: no quantifier, every cell; "generally", most; "several", some;
"substantially", "large margin", "significantly", much higher; "competitive", as high; "similar",
close; "can", nothing. A method with several rows is represented by its best, unless the claim names a
row or says "all" or "regardless". "Good" and "well" mean above 0.5, "weak", "low" and "poor" below
0.5, "high" and "very strong" above 0.7, in Pearson's and Spearman's coefficients (the bounds are
Mukaka's, 2012, whom two of the papers cite).
"""

from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.paths import root, use
from nlgjudge.ledger.printed import all_published
from nlgjudge.stats.testing import holm, permutation_test

CELL = ["artefact", "dataset", "aspect", "level", "coefficient"]
COLUMNS = [
    "paper",
    "artefacts",
    "section",
    "claim",
    "compared",
    "in_print",
    "counterexample",
    "verdict_in_print",
    "tested",
    "verdict",
    "note",
]
HOLDS = "holds"
ONLY_IN_PRINT = "holds only in print"
DOES_NOT_HOLD = "does not hold"
UNTESTED = "cannot be tested"
VERDICTS = [HOLDS, ONLY_IN_PRINT, DOES_NOT_HOLD, UNTESTED]
EPSILON = 1e-9
# How far x is on the claim's side of y; `margin` is what "much" and "close" mean.
RELATIONS = {
    "higher": lambda x, y, margin: x - y - 2 * EPSILON,
    "lower": lambda x, y, margin: y - x - 2 * EPSILON,
    "much higher": lambda x, y, margin: x - y - margin,
    "as high": lambda x, y, margin: x - y + margin,
    "close": lambda x, y, margin: margin - abs(x - y),
    "equal": lambda x, y, margin: 0.0005 - abs(x - y),
}
MATCHES = ["each", "pairs", "best", "range", "gap", "trend", "order"]
# Matches whose cells are of two rows, so that the rows' scores can be tested against each other.
TESTABLE = ["each", "pairs", "best"]
# How many of n cells must be for the claim.
QUANTIFIERS = {
    "every": lambda n: n,
    "most": lambda n: n // 2 + 1,
    "some": lambda n: min(n, 2),
}
THAN = {"as high": "as high as", "close": "close to", "equal": "equal to"}
ALTERNATIVES = {"higher": "greater", "much higher": "greater", "lower": "less"}


class Cell(NamedTuple):
    """A printed cell.

    Attributes
    ----------
    artefact, dataset, aspect, level, coefficient, row : str
    value : float
        NaN where it is lost.
    note : str
    number : int
        Its position among the cells.
    """

    artefact: str
    dataset: str
    aspect: str
    level: str
    coefficient: str
    row: str
    value: float
    note: str
    number: int

    @property
    def where(self):
        """What `CELL` names."""
        return self[: len(CELL)]


class _Side(NamedTuple):
    """One of the values that a claim compares in a cell.

    Attributes
    ----------
    where : tuple of str
        What `CELL` names.
    rows : tuple of str
        The row that has the value, and behind it those that could stand for it.
    value : float
    place : int
        Of the row, in the order in which the claim lists them.
    """

    where: tuple
    rows: tuple
    value: float
    place: int = 0


class _Case(NamedTuple):
    """Two values that a claim compares.

    Attributes
    ----------
    where, where_b : tuple of str
        The cells of both, as `CELL` names them.
    rows_a : tuple of str
        Rows of the first value, best first.
    row_b : str
        Row of the second value.
    x, y : float
    place : int
        As of a `_Side`.
    """

    where: tuple
    where_b: tuple
    rows_a: tuple
    row_b: str
    x: float
    y: float
    place: int


def listed(path=None):
    """Read the list of claims.

    Parameters
    ----------
    path : path-like, optional
        The default is `paper_tables/claims.csv`.

    Returns
    -------
    pandas.DataFrame
        A row per claim: `paper, artefacts` (several with ``|``), `section`, `claim` (quoted, at most
        25 words), `a, b` (row labels with ``|`` and ``*``, ``!`` for all others; `b` may be numbers),
        `match` (see `claims`), `scope, scope_b` (``aspect=AVG; level=sample``), `relation` (of
        `RELATIONS`, or ``none``), `cells` (``every``, ``most`` or ``some``), `note`.

    Raises
    ------
    ValueError
        For an unknown relation, match or quantifier, and for no test without a note that says why.
    """
    path = path or root() / "paper_tables" / "claims.csv"
    table = pd.read_csv(use(path), dtype=str, keep_default_na=False)
    known = {"relation": [*RELATIONS, "none"], "match": [*MATCHES, ""], "cells": [*QUANTIFIERS, ""]}
    for column, names in known.items():
        odd = table[~table[column].isin(names)]
        if len(odd):
            first = odd.iloc[0]
            raise ValueError(
                f"claim {first['claim']!r}: {column} {first[column]!r}, expected one of {names}"
            )
    silent = table[(table["relation"] == "none") & (table["note"] == "")]
    if len(silent):
        raise ValueError(f"claim {silent['claim'].iloc[0]!r} has no test and no note why not")
    return table.assign(paper=table["paper"].str.split("|")).explode("paper", ignore_index=True)


def claims(
    paper=None,
    artefact=None,
    scores=None,
    *,
    rng=None,
    margin=0.05,
    alpha=0.05,
    table=None,
    cells=None,
    **options,
):
    """Test what a paper says about its tables, in print and, where there are scores, on data.

    On data, a cell that says of two rows (`each`, `pairs`, `best`) that one is higher or lower is tested
    where both have scores: a one-sided paired permutation test, adjusted after Holm over the claim's
    tested cells. The best row of `a` that has scores stands for the best. The cell is for the claim when
    our difference satisfies the relation and p is below `alpha`.

    Verdicts: `cannot be tested`, no test or no cell with both values; `does not hold`, in print fewer
    cells are for it than it says (`every`, `most`: more than half, `some`: two), so that one is enough
    against a claim about all; `holds`, as many are in print and as many of the tested cells, at least one
    (of the untested nothing is known); `holds only in print`, otherwise.

    Parameters
    ----------
    paper, artefact : str, optional
        All papers and tables by default.
    scores : dict of str to pandas.DataFrame, optional
        By dataset, as from `Benchmark.with_scores`, metrics named as their row, or ``ROW:ASPECT``.
    rng : numpy.random.Generator, optional
        Needed with `scores`.
    margin, alpha : float
        In correlation, above 0; in (0, 1).
    table, cells : pandas.DataFrame, optional
        Other claims and printed cells, as from `listed` and `all_published`.
    **options
        Of `permutation_test`: `units, resamples, constant, kendall`.

    Returns
    -------
    pandas.DataFrame
        A row per claim: `paper, artefacts, section, claim, compared, in_print` (as ``7 of 8``),
        `counterexample` (the worst cell), `verdict_in_print`, `tested`, `verdict`, `note`.

    Raises
    ------
    ValueError
        For scores without `rng`, or a claim about rows that no table has.

    Examples
    --------
    >>> found = claims("geval", "table1")
    >>> found.loc[1, ["claim", "in_print", "verdict_in_print"]].tolist()
    ['outperforming all previous methods by a large margin', '0 of 1', 'does not hold']
    """
    if scores and rng is None:
        raise ValueError("scores without rng: pass numpy.random.default_rng(seed)")
    if table is None:
        table = listed()
    if cells is None:
        cells = all_published()
    if paper is not None:
        table = table[table["paper"] == paper]
    if artefact is not None:
        table = table[[artefact in artefacts.split("|") for artefacts in table["artefacts"]]]
    of_paper = {name: as_cells(cells[cells["paper"] == name]) for name in table["paper"].unique()}
    options = dict(options, rng=rng)
    rows = []
    for claim in table.itertuples():
        found = [] if claim.relation == "none" else _cases(claim, of_paper[claim.paper])
        rows.append(_judge(claim, found, scores or {}, margin, alpha, options))
    return pd.DataFrame(rows, columns=COLUMNS)


def as_cells(cells):
    """Printed cells one by one, which claims select from many times.

    Parameters
    ----------
    cells : pandas.DataFrame
        Of one paper, as from `all_published`.

    Returns
    -------
    list of Cell
    """
    columns = [cells[name].tolist() for name in [*CELL, "row", "value", "note"]]
    return [Cell(*cell) for cell in zip(*columns, range(len(cells)))]


def _judge(claim, found, scores, margin, alpha, options):
    """One row of `claims`, from the claim's cases."""
    said = {
        "paper": claim.paper,
        "artefacts": claim.artefacts,
        "section": claim.section,
        "claim": claim.claim,
        "compared": _compared(claim),
        "note": claim.note,
    }
    if not len(found):
        note = claim.note or "the cells that it is about are lost in the text at hand"
        nothing = {"in_print": "", "counterexample": "", "tested": ""}
        return said | nothing | {"verdict_in_print": UNTESTED, "verdict": UNTESTED, "note": note}
    needed = QUANTIFIERS[claim.cells]
    relation = RELATIONS[claim.relation]
    room = [relation(case.x, case.y, margin) for case in found]
    good = sum(distance > -EPSILON for distance in room)
    in_print = good >= needed(len(found))
    tests = _tests(claim, found, scores, options)
    supporting = sum(
        relation(difference, 0, margin) > -EPSILON and p < alpha for difference, p in tests
    )
    on_data = len(tests) > 0 and supporting >= needed(len(tests))
    if not in_print:
        verdict = DOES_NOT_HOLD
    elif on_data:
        verdict = HOLDS
    else:
        verdict = ONLY_IN_PRINT
    tested = ""
    if len(tests):
        tested = f"{supporting} of {len(tests)} tested, {len(found) - len(tests)} untested"
    return said | {
        "in_print": f"{good} of {len(found)}",
        "counterexample": _worst(claim, found, room) if good < len(found) else "",
        "verdict_in_print": HOLDS if in_print else DOES_NOT_HOLD,
        "tested": tested,
        "verdict": verdict,
    }


def needed_cells(claim, cells):
    """The printed cells that a claim is about, on both of its sides.

    Parameters
    ----------
    claim : object
        A row of `listed`, with its columns as attributes, as from `itertuples`.
    cells : list of Cell
        Of the claim's paper, from `as_cells`.

    Returns
    -------
    list of Cell
        In their order, each once; none for a claim that has no test.

    Examples
    --------
    >>> said = listed()
    >>> claim = next(said[(said["paper"] == "geval") & (said["relation"] == "equal")].itertuples())
    >>> cells = all_published()
    >>> found = needed_cells(claim, as_cells(cells[cells["paper"] == "geval"]))
    >>> [(cell.row, cell.aspect, cell.coefficient) for cell in found]
    [('G-EVAL-4', 'AVG', 'spearman')]
    """
    if claim.relation == "none":
        return []
    cells = _of_artefacts(claim, cells)
    chosen_a = set(_chosen(cells, claim.a, claim))
    chosen_b = set(_chosen(cells, claim.b, claim))
    cells_a, cells_b = _both_scopes(claim, cells)
    if claim.match == "gap":
        chosen_a = chosen_b = chosen_a | chosen_b
    elif claim.match == "order":
        chosen_b = chosen_a
    needed = {cell.number for cell in cells_a if cell.row in chosen_a}
    needed |= {cell.number for cell in cells_b if cell.row in chosen_b}
    return [cell for cell in cells if cell.number in needed]


def _of_artefacts(claim, cells):
    """The cells of the tables that a claim names."""
    artefacts = claim.artefacts.split("|")
    return [cell for cell in cells if cell.artefact in artefacts]


def _both_scopes(claim, cells):
    """The cells with a certain value in the scope of `a` and in that of `b`."""
    cells = [
        cell for cell in cells if not np.isnan(cell.value) and not cell.note.startswith("UNCERTAIN")
    ]
    scope = _filters(claim.scope)
    scope_b = _filters(claim.scope_b)
    cells_a = cells if "aspect" in scope else [cell for cell in cells if cell.aspect != "AVG"]
    cells_a = _within(cells_a, scope)
    return cells_a, _within(cells, scope_b) if scope_b else cells_a


def _cases(claim, cells):
    """The claim's cases."""
    cells = _of_artefacts(claim, cells)
    selected_a = _chosen(cells, claim.a, claim)
    selected_b = _chosen(cells, claim.b, claim)
    cells_a, cells_b = _both_scopes(claim, cells)
    shared = [column for column in CELL if column not in _filters(claim.scope_b)]
    if claim.match == "gap":
        return _merge(
            _gap(cells_a, selected_a, selected_b), _gap(cells_b, selected_a, selected_b), shared
        )
    rows_a = _rows(cells_a, selected_a)
    if claim.match == "order":
        return _orders(rows_a, _rows(cells_b, selected_a), shared, claim.b)
    against_numbers = _is_number(claim.b)
    rows_b = _numbers(rows_a, claim.b) if against_numbers else _rows(cells_b, selected_b)
    if claim.match in ("best", "range"):
        return _merge(_best(rows_a), _best(rows_b, lowest=claim.match == "range"), shared)
    found = _merge(
        rows_a, rows_b, shared, one_to_one=against_numbers or claim.match in ("pairs", "trend")
    )
    return _trend(found) if claim.match == "trend" else found


def _is_number(text):
    """Whether a row label stands for a number that the rows are compared with."""
    return text[:1].isdigit()


def _filters(scope):
    """Patterns by column, from a text as ``aspect=AVG; level=sample``."""
    parts = [part.strip() for part in scope.split(";")]
    return dict(part.split("=") for part in parts if part)


def _within(cells, scope):
    """The cells that every pattern of a scope selects."""
    for column, patterns in scope.items():
        position = CELL.index(column)
        keep = _expand(list(dict.fromkeys(cell[position] for cell in cells)), patterns)
        cells = [cell for cell in cells if cell[position] in keep]
    return cells


def _expand(names, patterns):
    """Names that the patterns select, in the patterns' order; with ``!``, the names they do not."""
    chosen = []
    for pattern in patterns.lstrip("!").split("|"):
        chosen += [name for name in names if fnmatchcase(name, pattern.strip())]
    if patterns.startswith("!"):
        return [name for name in names if name not in chosen]
    return chosen


def _chosen(cells, patterns, claim):
    """The rows that the patterns select, in the patterns' order; none where they are numbers."""
    if _is_number(patterns):
        return []
    names = _expand(list(dict.fromkeys(cell.row for cell in cells)), patterns)
    if not names:
        raise ValueError(
            f"claim {claim.claim!r} of {claim.paper} {claim.artefacts}: no row {patterns!r}"
        )
    return names


def _rows(cells, selected):
    """Values of the rows selected."""
    return [
        _Side(cell.where, (cell.row,), cell.value, place)
        for cell in cells
        for place, row in enumerate(selected)
        if row == cell.row
    ]


def _numbers(rows, numbers):
    """The number that each row selected is compared with: one for all, or one for each."""
    numbers = numbers.split("|")
    compared = [numbers[side.place % len(numbers)] for side in rows]
    return [
        side._replace(rows=(number,), value=float(number)) for side, number in zip(rows, compared)
    ]


def _best(rows, lowest=False):
    """Of each cell the highest value (or lowest), and the rows from there on."""
    by_cell = {}
    for side in sorted(rows, key=lambda side: side.value, reverse=not lowest):
        by_cell.setdefault(side.where, []).append(side)
    found = []
    for where, sides in by_cell.items():
        names = tuple(name for side in sides for name in side.rows)
        found.append(_Side(where, names, sides[0].value))
    return found


def _merge(first, second, on, *, one_to_one=False):
    """Pairs of values whose cells agree in the columns `on`, and one to one in the place of their rows."""
    positions = [CELL.index(column) for column in on]

    def key(side):
        return *[side.where[position] for position in positions], side.place if one_to_one else 0

    by_key = {}
    for other in second:
        by_key.setdefault(key(other), []).append(other)
    return [
        _Case(
            side.where, other.where, side.rows, other.rows[0], side.value, other.value, side.place
        )
        for side in first
        for other in by_key.get(key(side), [])
    ]


def _gap(cells, selected_a, selected_b):
    """Of each cell the best of `a` minus the best of `b`."""
    both = _merge(_best(_rows(cells, selected_a)), _best(_rows(cells, selected_b)), CELL)
    return [_Side(case.where, ("gap",), case.x - case.y) for case in both]


def _trend(found):
    """Each pair's gap as x, and that of the pair before it as y."""
    before = {}
    trends = []
    for case in sorted(found, key=lambda case: case.place):
        gap = case.x - case.y
        if case.where in before:
            trends.append(case._replace(x=gap, y=before[case.where]))
        before[case.where] = gap
    return trends


def _orders(here, there, on, least):
    """Spearman's correlation between the rows of two scopes, in each cell that has more than three."""
    by_cell = {}
    for case in _merge(here, there, on, one_to_one=True):  # the same rows, so the same places
        by_cell.setdefault(case.where, []).append((case.x, case.y))
    found = []
    for where, pairs in by_cell.items():
        if len(pairs) > 3:
            both = pd.DataFrame(pairs, columns=["x", "y"])
            rho = both["x"].corr(both["y"], method="spearman")
            found.append(_Case(where, where, ("rank correlation",), least, rho, float(least), 0))
    return found


def _tests(claim, found, scores, options):
    """Difference and adjusted p of each cell whose rows have scores."""
    tests = []
    if claim.relation in ALTERNATIVES and claim.match in TESTABLE and not claim.scope_b:
        for case in found:
            test = _test(case, scores, ALTERNATIVES[claim.relation], options)
            if test is not None and not np.isnan([test.difference, test.p]).any():
                tests.append(test)
    adjusted = holm([test.p for test in tests])
    return [(test.difference, p) for test, p in zip(tests, adjusted)]


def _test(case, scores, alternative, options):
    """Test one cell; None where one of its rows has no scores."""
    _, dataset, aspect, level, coefficient = case.where
    frame = scores.get(dataset)
    if frame is None or aspect not in frame:
        return None
    columns_a = [_score_column(frame, row, aspect) for row in case.rows_a]
    column_a = next((column for column in columns_a if column), None)
    column_b = _score_column(frame, case.row_b, aspect)
    if column_a is None or column_b is None:
        return None
    return permutation_test(
        frame,
        column_a,
        column_b,
        aspect,
        level=level,
        coefficient=coefficient,
        alternative=alternative,
        **options,
    )


def _score_column(frame, row, aspect):
    """The column with a row's scores for an aspect, or None."""
    for name in (f"{row}:{aspect}", row):
        if name in frame:
            return name
    return None


def _compared(claim):
    """The test in words, empty where there is none."""
    rows_a = _in_words(claim.a)
    rows_b = _in_words(claim.b)
    relation = THAN.get(claim.relation, f"{claim.relation} than")
    side_b = {"best": "best of ", "range": "worst of "}.get(claim.match, "")
    if _is_number(claim.b):
        side_b = ""
    said = {
        "": "",
        "each": f"{rows_a} {relation} {rows_b}",
        "pairs": f"{rows_a} {relation} {rows_b}",
        "best": f"best of {rows_a} {relation} {side_b}{rows_b}",
        "range": f"best of {rows_a} {relation} {side_b}{rows_b}",
        "gap": f"gap of {rows_a} to {rows_b} {relation} elsewhere",
        "trend": f"gap of {rows_a} to {rows_b} {relation} before",
        "order": f"rank correlation of {rows_a} {relation} {rows_b}",
    }[claim.match]
    where = " against ".join(scope for scope in (claim.scope, claim.scope_b) if scope)
    return "; ".join(part for part in (said, where, claim.cells) if part)


def _in_words(patterns):
    """Row patterns as a reader would say them."""
    if patterns.startswith("!"):
        return f"all but {patterns[1:]}"
    return patterns.replace("|", ", ")


def _worst(claim, found, room):
    """The case that is furthest from the claim, with both values."""
    case = found[np.nanargmin(room)]
    elsewhere = (
        _filters(claim.scope_b) if claim.match != "order" else {}
    )  # what the second cell has otherwise
    here, there = [], []
    for position, column in enumerate(CELL):
        several = len({other.where[position] for other in found}) > 1
        if column in elsewhere or several:
            here.append(case.where[position])
        if case.where_b[position] != case.where[position]:
            there.append(case.where_b[position])
    said = f"{case.rows_a[0]} {case.x:.3f}{_bracketed(here)}"
    row_b = "" if _is_number(case.row_b) else f"{case.row_b} "
    return f"{said}, {row_b}{case.y:.3f}{_bracketed(there)}"


def _bracketed(names):
    return f" ({', '.join(names)})" if names else ""
