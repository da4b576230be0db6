"""Compare judges in pairs: is one ahead on other items, and on other systems?

Each comparison asks two questions. With single items swapped between the two judges: would other items
of these systems show the difference? With whole systems swapped: would other systems show it? Where a
judge's errors stick to systems, the first test rejects a true null too often for the second question
(Deutsch, Dror and Roth 2021; `beyond_statistics_validity` measures it), so both are always given.

The tests of one table are a family, and Holm's correction covers it, once for each question.
"""

import warnings
from collections.abc import Sequence
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd

from nlgjudge.data.checks import check_whole, unknown
from nlgjudge.stats.correlations import (
    PAIR,
    Coefficient,
    Constant,
    Kendall,
    Level,
    check_options,
    column_of,
)
from nlgjudge.stats.intervals import Systems, difference
from nlgjudge.stats.permutation import permutation_test

QUESTIONS = ("items", "systems")  # what is swapped
COLUMNS = [
    "pair",
    "a",
    "b",
    "aspect",
    "level",
    "coefficient",
    "n",
    "difference",
    "p_items",
    "p_systems",
    "holm_items",
    "holm_systems",
    "swaps_of_systems",
    "smallest_p_systems",
    "family",
    "reason",
]
BOUNDS = ["ci_low", "ci_high", "ci_reason", "ci_notice"]


def paired_tests(
    frame: pd.DataFrame,
    pairs: Sequence[tuple[str, str]] | dict[str, tuple[str, str]],
    aspects: Sequence[str],
    *,
    level: Level | Sequence[Level] = "sample",
    coefficient: Coefficient | Sequence[Coefficient] = "spearman",
    permutations: int = 4999,
    seed: int = 0,
    constant: Constant = "skip",
    kendall: Kendall = "b",
    interval: bool = False,
    systems: Systems = "these",
    units: Literal["both", "documents"] = "both",
    has_systems: bool = True,
) -> pd.DataFrame:
    """Test whether judges differ in their correlation with human ratings, with items and with systems swapped.

    Parameters
    ----------
    frame
        As for `nlgjudge.correlation`: `doc_id`, `system_id`, the human ratings of each aspect in a column
        of its name, and the judges' scores. A judge's scores of an aspect are the column `JUDGE:ASPECT`
        or, where there is none, the column `JUDGE`, as of a metric that has one score for all aspects.
    pairs
        Judges `a` and `b`; `difference` is the correlation of `a` minus that of `b`. A dict's keys name
        the pairs; otherwise a pair is called ``a − b``.
    aspects, level, coefficient
        Of several, each combination is tested, in one family.
    permutations
        Swaps that are drawn. Where there are at most 16,384 different swaps, all are counted instead.
    seed
        As for `permutation_test`: a p does not depend on the other tests of its family.
    constant, kendall
        As for `nlgjudge.correlation`.
    interval
        Whether to add the 95% interval of the difference, for `systems` as in `nlgjudge.interval`.
    units
        What the first question swaps: each item on its own, or all items of a document together, where they
        depend on each other.
    has_systems
        Whether `system_id` names systems, and not places as the first and second item of a document. If
        not, there is no `p_systems`.

    Returns
    -------
    pandas.DataFrame
        A row for each test: `pair, a, b, aspect, level, coefficient`, `n` (units with all three scores, as
        documents at sample level), `difference`, `p_items` and `p_systems`, `holm_items` and `holm_systems`
        (corrected over all rows), `swaps_of_systems` (different swaps of systems, inf from 2^63), `smallest_p_systems`
        (below which no `p_systems` can be), `family` (the number of tests that were corrected together) and
        `reason` (why a p is NaN; empty otherwise). With `interval`, `ci_low, ci_high,
        ci_reason, ci_notice`. A single system has nothing to swap: `p_systems` is NaN, and `reason` says so.

    Raises
    ------
    ValueError
        For a judge or an aspect without a column, a pair of a judge with itself or given twice, and as
        `permutation_test` does.

    Examples
    --------
    `a` ranks four systems as people do in each of two documents, and `b` gets two pairs of them wrong. Four
    systems have eight different swaps, so that no p is below 1/8.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"doc_id": list("xxxxyyyy"), "system_id": list("1234") * 2,
    ...                       "coherence": [1, 2, 3, 4] * 2, "a": [1, 2, 3, 4] * 2, "b": [2, 1, 4, 3] * 2})
    >>> tests = paired_tests(frame, [("a", "b")], ["coherence"])
    >>> tests[["pair", "difference", "p_items", "p_systems", "swaps_of_systems"]].round(3)
        pair  difference  p_items  p_systems  swaps_of_systems
    0  a − b         0.4    0.008      0.125                 8
    """
    check_options(units=(units, ("both", "documents")))
    check_whole(1, permutations=permutations)
    if isinstance(aspects, str):
        raise ValueError(f"aspects={aspects!r}: expected a list of names, as [{aspects!r}]")
    for aspect in aspects:
        if aspect not in frame:
            raise ValueError(unknown("aspect", aspect, frame.select_dtypes("number").columns))
    rows = []
    for (name, (a, b)), each_level, each_coefficient, aspect in product(
        _named(pairs).items(), _listed(level), _listed(coefficient), aspects
    ):
        columns = (column_of(frame, a, aspect), column_of(frame, b, aspect), aspect)
        how = {"level": each_level, "coefficient": each_coefficient}
        how |= {"constant": constant, "kendall": kendall}
        swapping = {"seed": seed, "resamples": permutations}
        row = dict(zip(COLUMNS, (name, a, b, aspect, each_level, each_coefficient)))
        row |= _tested(frame, columns, units, has_systems, how | swapping)
        if interval:
            bounds = difference(frame, *columns, systems=systems, **how)
            row |= dict(zip(BOUNDS, (bounds.low, bounds.high, bounds.reason, bounds.notice)))
        rows.append(row)
    names = [*COLUMNS, *BOUNDS] if interval else COLUMNS
    tests = pd.DataFrame(rows, columns=names)
    items = holm(tests["p_items"], min((row["smallest_p_items"] for row in rows), default=0))
    return tests.assign(holm_items=items, holm_systems=holm(tests["p_systems"]), family=len(tests))


def _tested(frame, columns, units, has_systems, how):
    """Both tests of one comparison."""
    test = permutation_test(frame, *columns, units=units, **how)
    row = {
        "n": test.n,
        "difference": test.difference,
        "p_items": test.p,
        "smallest_p_items": 1 / max(test.resamples + (not test.exact), 1),
        "p_systems": np.nan,
        "swaps_of_systems": 0,
        "smallest_p_systems": np.nan,
        "reason": test.reason,
    }
    if not has_systems or how["level"] == PAIR:
        return row | {"reason": test.reason or "no systems to swap"}
    systems = permutation_test(frame, *columns, units="systems", **how)
    few = systems.log2_different < 63
    row["swaps_of_systems"] = systems.different if few else np.inf
    if systems.different == 1:
        return row | {"reason": test.reason or "one system: nothing to swap"}
    if not systems.reason:
        row["smallest_p_systems"] = 1 / (systems.resamples + (not systems.exact))
    return row | {"p_systems": systems.p, "reason": test.reason or systems.reason}


def holm(p_values: Sequence[float] | np.ndarray | pd.Series, smallest: float = 0.0) -> np.ndarray:
    """Adjust the p-values of a family of tests after Holm (1979).

    A NaN is a test that gave no p: it stays NaN and does not count in the family. `smallest` is what no single p can be
    below, as 1 / (permutations + 1): a UserWarning says if for that reason no corrected p can be below 0.05.

    Raises
    ------
    ValueError
        For more than one dimension or values outside [0, 1].

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    adjusted = np.array(p_values, float)
    if adjusted.ndim != 1 or (adjusted < 0).any() or (adjusted > 1).any():
        raise ValueError(f"expected a list of p-values in [0, 1], got {p_values!r}")
    size = (~np.isnan(adjusted)).sum()
    if smallest * size >= 0.05:
        warnings.warn(
            f"no test can be significant at 5%: {size} corrected together give no p below "
            f"{min(1, smallest * size):.2g}, so take more permutations, more data or fewer tests",
            stacklevel=2,
        )
    order = np.argsort(adjusted)[:size]  # NaN sorts last
    multiplied = adjusted[order] * np.arange(size, 0, -1)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(multiplied))
    return adjusted


def paired_table(
    tests: pd.DataFrame,
    *,
    rows: str | Sequence[str] | None = None,
    columns: str = "aspect",
    digits: int = 2,
) -> pd.DataFrame:
    """Lay tests out as text, a cell for each, as ``+0.12 (items 0.004, systems 0.062)``.

    The p values are Holm's.

    Parameters
    ----------
    tests
        From `paired_tests`.
    rows, columns
        What stands in the rows and columns; by default the pair, and level and coefficient where there
        are several, in the rows.
    digits
        Of the differences; the bounds of their intervals, where the tests have them, have two.

    Returns
    -------
    pandas.DataFrame
        Rows and columns in the order of the tests. A cell without a test is empty.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"doc_id": list("xxxxyyyy"), "system_id": list("1234") * 2,
    ...                       "coherence": [1, 2, 3, 4] * 2, "a": [1, 2, 3, 4] * 2, "b": [2, 1, 4, 3] * 2})
    >>> paired_table(paired_tests(frame, [("a", "b")], ["coherence"])).loc["a − b", "coherence"]
    '+0.40 (items 0.008, systems 0.12)'
    """
    if rows is None:
        vary = [name for name in ("level", "coefficient") if tests[name].nunique() > 1]
        rows = ["aspect" if columns == "pair" else "pair", *(n for n in vary if n != columns)]
    rows = _listed(rows)
    cells = [_cell(test, digits) for test in tests.to_dict("records")]
    table = tests.assign(cell=cells).pivot(index=rows, columns=columns, values="cell")
    table = table.reindex(columns=tests[columns].drop_duplicates()).fillna("")
    in_order = tests.drop_duplicates(rows).set_index(rows).index
    return table.reindex(in_order)


def family(tests: pd.DataFrame) -> str:
    """Say what `paired_tests` swapped, which tests Holm's correction covers, and how small p can be."""
    if tests.empty:
        return "There are no two judges to compare."
    covered = f"Holm's correction covers these {len(tests)} comparisons, once for each question:"
    if len(tests) == 1:
        covered = "One comparison, which needs no correction, asked twice:"
    swapped = "with items swapped (other items of these systems) and with systems swapped (other systems)."
    return "\n".join([covered, swapped, _limit(tests)])


def _limit(tests):
    """How small p with systems swapped can be in this family, or why there is none."""
    tested = tests[tests["p_systems"].notna()]
    if tested.empty:
        reasons = "; ".join(dict.fromkeys(reason for reason in tests["reason"] if reason))
        return f"There is no p with systems swapped ({reasons})."
    swaps = tested["swaps_of_systems"]
    number = " to ".join(f"{bound:,.19g}" for bound in sorted({swaps.min(), swaps.max()}))
    smallest = tested["smallest_p_systems"].min()
    text = f"There are {number} different swaps of systems: no p is below {smallest:.3g}"
    if len(tested) > 1:
        text += f", or {min(1, smallest * len(tested)):.3g} after the correction"
    return f"{text}."


def _listed(value):
    """A list of one or several names."""
    return [value] if isinstance(value, str) else list(value)


def _named(pairs):
    """Pairs by name, each of two different judges, and none twice."""
    named = list(pairs.items() if isinstance(pairs, dict) else ((None, pair) for pair in pairs))
    distinct = {}
    for name, pair in named:
        if isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"expected a pair of judges, as ('a', 'b'), got {pair!r}")
        a, b = pair
        if a == b:
            raise ValueError(f"expected two judges, got the pair ({a!r}, {b!r})")
        if {a, b} in [set(other) for other in distinct.values()]:
            raise ValueError(f"expected each pair once, got {a!r} and {b!r} twice")
        distinct[name or f"{a} − {b}"] = (a, b)
    return distinct


def _cell(test, digits):
    """A test as text."""
    if np.isnan(test["difference"]):
        return "not defined"
    text = f"{test['difference']:+.{digits}f}"
    if not np.isnan(test.get("ci_low", np.nan)):
        text += f" [{test['ci_low']:.2f}, {test['ci_high']:.2f}]"
    p_values = ", ".join(f"{swapped} {_p(test[f'holm_{swapped}'])}" for swapped in QUESTIONS)
    return f"{text} ({p_values})"


def _p(value):
    """A p value, with three decimals where it is small."""
    if np.isnan(value):
        return "–"
    if value < 0.0005:
        return "<0.001"
    return f"{value:.3f}" if value < 0.1 else f"{value:.2g}"
