"""Claims in the papers' prose, tested on the papers' own tables and, where there are scores, on data.

`paper_tables/claims.csv` lists them for G-Eval (EMNLP and arXiv v1), the ChatGPT study, DHP and
CoAScore, each with its section and a test: rows `a` against `b`, how they are matched, in which cells,
and the relation that is said to hold. Printed averages count only where a claim is about averages;
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

import pandas as pd

from nlgjudge.data.paths import root, use
from nlgjudge.ledger.printed import all_published
from nlgjudge.stats.testing import holm, permutation_test

CELL = ["artefact", "dataset", "aspect", "level", "coefficient"]
COLUMNS = ["paper", "artefacts", "section", "claim", "compared", "in_print", "counterexample",
           "verdict_in_print", "tested", "verdict", "note"]
VERDICTS = ["holds", "holds only in print", "does not hold", "cannot be tested"]
EPSILON = 1e-9
# How far x is on the claim's side of y; `margin` is what "much" and "close" mean.
RELATIONS = {"higher": lambda x, y, margin: x - y - 2 * EPSILON,
             "lower": lambda x, y, margin: y - x - 2 * EPSILON,
             "much higher": lambda x, y, margin: x - y - margin,
             "as high": lambda x, y, margin: x - y + margin,
             "close": lambda x, y, margin: margin - abs(x - y),
             "equal": lambda x, y, margin: 0.0005 - abs(x - y)}
MATCHES = ["each", "pairs", "best", "range", "gap", "trend", "order"]
# How many of n cells must be for the claim.
QUANTIFIERS = {"every": lambda n: n, "most": lambda n: n // 2 + 1, "some": lambda n: min(n, 2)}
THAN = {"as high": "as high as", "close": "close to", "equal": "equal to"}
ALTERNATIVES = {"higher": "greater", "much higher": "greater", "lower": "less"}


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
    table = pd.read_csv(use(path or root() / "paper_tables" / "claims.csv"), dtype=str, keep_default_na=False)
    known = {"relation": [*RELATIONS, "none"], "match": [*MATCHES, ""], "cells": [*QUANTIFIERS, ""]}
    for column, names in known.items():
        odd = table[~table[column].isin(names)]
        if len(odd):
            raise ValueError(f"claim {odd['claim'].iloc[0]!r}: {column} {odd[column].iloc[0]!r}, "
                             f"expected one of {names}")
    silent = table[(table["relation"] == "none") & (table["note"] == "")]
    if len(silent):
        raise ValueError(f"claim {silent['claim'].iloc[0]!r} has no test and no note why not")
    return table.assign(paper=table["paper"].str.split("|")).explode("paper", ignore_index=True)


def claims(paper=None, artefact=None, scores=None, *, rng=None, margin=0.05, alpha=0.05, table=None,
           cells=None, **options):
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
    """
    if scores and rng is None:
        raise ValueError("scores without rng: pass numpy.random.default_rng(seed)")
    table, cells = listed() if table is None else table, all_published() if cells is None else cells
    wanted = table["artefacts"].map(lambda a: artefact is None or artefact in a.split("|"))
    table = table[wanted & ((table["paper"] == paper) | (paper is None))]
    rows = [_judge(claim, cells[cells["paper"] == claim.paper], scores or {}, margin, alpha,
                   dict(options, rng=rng)) for claim in table.itertuples()]
    return pd.DataFrame(rows, columns=COLUMNS)


def _judge(claim, cells, scores, margin, alpha, options):
    said = [claim.paper, claim.artefacts, claim.section, claim.claim, _compared(claim)]
    found = _cases(claim, cells) if claim.relation != "none" else []
    if not len(found):
        note = claim.note or "the cells that it is about are lost in the text at hand"
        return [*said, "", "", VERDICTS[3], "", VERDICTS[3], note]
    needed, relation = QUANTIFIERS[claim.cells], RELATIONS[claim.relation]
    room = relation(found["x"], found["y"], margin)
    good = (room > -EPSILON).sum()
    printed = good >= needed(len(found))
    tested = _tests(claim, found, scores, options)
    fits = ((relation(tested["difference"], 0, margin) > -EPSILON) & (tested["p"] < alpha)).sum()
    supported = len(tested) > 0 and fits >= needed(len(tested))
    verdict = VERDICTS[2] if not printed else VERDICTS[0] if supported else VERDICTS[1]
    counts = f"{fits} of {len(tested)} tested, {len(found) - len(tested)} untested" if len(tested) else ""
    return [*said, f"{good} of {len(found)}", _worst(found, room) if good < len(found) else "",
            VERDICTS[0] if printed else VERDICTS[2], counts, verdict, claim.note]


def _cases(claim, cells):
    """The claim's cells: `CELL`, `rows_a` (best first) and `row_b`, and their values x and y."""
    cells = cells[cells["artefact"].isin(claim.artefacts.split("|"))]
    selected = [_chosen(cells, patterns, claim) for patterns in (claim.a, claim.b)]
    cells = cells[cells["value"].notna() & ~cells["note"].str.startswith("UNCERTAIN")]
    here, there = _filters(claim.scope), _filters(claim.scope_b)
    cells_a = _within(cells if "aspect" in here else cells[cells["aspect"] != "AVG"], here)
    cells_b = _within(cells, there) if there else cells_a
    on = [c for c in CELL if c not in there]
    if claim.match == "gap":
        return _merge(_gap(cells_a, *selected), _gap(cells_b, *selected), on)
    a, number = _rows(cells_a, selected[0]), claim.b[0].isdigit()
    if claim.match == "order":
        return _orders(a, _rows(cells_b, selected[0]), on, claim.b)
    b = _numbers(a, claim.b) if number else _rows(cells_b, selected[1])
    if claim.match in ("best", "range"):
        return _merge(_best(a), _best(b, lowest=claim.match == "range"), on)
    found = _merge(a, b, [*on, "place"] if number or claim.match in ("pairs", "trend") else on)
    return _trend(found) if claim.match == "trend" else found


def _filters(scope):
    return dict(part.strip().split("=") for part in scope.split(";") if part.strip())


def _within(cells, scope):
    for column, patterns in scope.items():
        keep = _expand(list(dict.fromkeys(cells[column])), patterns)
        cells = cells[cells[column].isin(keep)]
    return cells


def _expand(names, patterns):
    """Names that the patterns select, in the patterns' order; with ``!``, the names they do not."""
    chosen = [n for p in patterns.lstrip("!").split("|") for n in names if fnmatchcase(n, p.strip())]
    return [n for n in names if n not in chosen] if patterns.startswith("!") else chosen


def _chosen(cells, patterns, claim):
    """The rows that the patterns select, numbered; none where they are numbers."""
    names = [] if patterns[0].isdigit() else _expand(list(dict.fromkeys(cells["row"])), patterns)
    if not names and not patterns[0].isdigit():
        raise ValueError(f"claim {claim.claim!r} of {claim.paper} {claim.artefacts}: no row {patterns!r}")
    return pd.DataFrame({"row": pd.Series(names, dtype=cells["row"].dtype), "place": range(len(names))})


def _rows(cells, selected):
    """Cells of the rows selected, with `rows` (a tuple)."""
    found = cells[[*CELL, "row", "value"]].merge(selected, on="row")
    return found.assign(rows=[(row,) for row in found["row"]])


def _numbers(a, numbers):
    """The number that each row of `a` is compared with: one for all, or one for each."""
    numbers = numbers.split("|")
    b = a.assign(rows=[(numbers[place % len(numbers)],) for place in a["place"]])
    return b.assign(value=[float(rows[0]) for rows in b["rows"]])


def _best(rows, lowest=False):
    """Of each cell the highest value (or lowest), and the rows from there on."""
    ordered = rows.sort_values("value", ascending=lowest, kind="stable")
    return ordered.groupby(CELL, sort=False).agg(
        value=("value", "first"), rows=("rows", lambda r: sum(r, ()))).reset_index()


def _merge(a, b, on):
    """Pairs of cells; where `on` lacks a column, the second cell's is kept as ``aspect_b``."""
    found = a.merge(b[[*dict.fromkeys([*on, *CELL]), "rows", "value"]], on=on, suffixes=("", "_b"))
    return found.assign(row_b=[rows[0] for rows in found["rows_b"]]).rename(
        columns={"rows": "rows_a", "value": "x", "value_b": "y"})


def _gap(cells, a, b):
    gap = _merge(_best(_rows(cells, a)), _best(_rows(cells, b)), CELL)
    return gap[CELL].assign(value=gap["x"] - gap["y"], rows=[("gap",)] * len(gap))


def _trend(found):
    found = found.sort_values("place", kind="stable")
    found["gap"] = found["x"] - found["y"]
    before = found.groupby(CELL)["gap"].shift()
    return found.assign(x=found["gap"], y=before).dropna(subset=["y"])


def _orders(a, b, on, least):
    """Spearman's correlation between the rows of two scopes, cell by cell."""
    both = a.merge(b[[*on, "row", "value"]], on=[*on, "row"], suffixes=("", "_b"))
    rows = [(*cell, ("rank correlation",), part["value"].corr(part["value_b"], method="spearman"),
             float(least), least) for cell, part in both.groupby(CELL, sort=False) if len(part) > 3]
    return pd.DataFrame(rows, columns=[*CELL, "rows_a", "x", "y", "row_b"])


def _tests(claim, found, scores, options):
    """Difference and adjusted p of each cell whose rows have scores."""
    tests = []
    related = claim.relation in ALTERNATIVES and claim.match in MATCHES[:3] and not claim.scope_b
    for case in found.itertuples() if related else ():
        frame = scores.get(case.dataset)
        if frame is None or case.aspect not in frame:
            continue
        columns = [next((n for n in (f"{row}:{case.aspect}", row) if n in frame), None)
                   for row in (*case.rows_a, case.row_b)]
        a, b = next((c for c in columns[:-1] if c), None), columns[-1]
        if a and b:
            tests.append(permutation_test(frame, a, b, case.aspect, level=case.level,
                                          coefficient=case.coefficient,
                                          alternative=ALTERNATIVES[claim.relation], **options)[:2])
    tests = pd.DataFrame(tests, columns=["difference", "p"], dtype=float).dropna()
    return tests.assign(p=holm(tests["p"]))


def _compared(claim):
    """The test in words, empty where there is none."""
    a, b = (f"all but {v[1:]}" if v.startswith("!") else v.replace("|", ", ") for v in (claim.a, claim.b))
    relation = THAN.get(claim.relation, f"{claim.relation} than")
    other = "" if claim.b[:1].isdigit() else {"best": "best of ", "range": "worst of "}.get(claim.match, "")
    say = {"": "", **dict.fromkeys(("best", "range"), f"best of {a} {relation} {other}{b}"),
           "gap": f"gap of {a} to {b} {relation} elsewhere", "trend": f"gap of {a} to {b} {relation} before",
           "order": f"rank correlation of {a} {relation} {b}"}.get(claim.match, f"{a} {relation} {b}")
    where = " against ".join(scope for scope in (claim.scope, claim.scope_b) if scope)
    return "; ".join(part for part in (say, where, claim.cells) if part)


def _worst(found, room):
    case = found.loc[room.idxmin()]
    at = [case[c] for c in CELL if found[c].nunique() > 1 or f"{c}_b" in found]
    far = [case[f"{c}_b"] for c in CELL if f"{c}_b" in found and case[f"{c}_b"] != case[c]]
    here, there = (f" ({', '.join(names)})" if names else "" for names in (at, far))
    other = "" if case["row_b"][0].isdigit() else f"{case['row_b']} "
    return f"{case['rows_a'][0]} {case['x']:.3f}{here}, {other}{case['y']:.3f}{there}"
