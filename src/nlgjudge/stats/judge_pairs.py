"""Compare judges in pairs: is one ahead on other items, and on other systems?

Each comparison asks two questions. With single items swapped between the two judges: would other items
of these systems show the difference? With whole systems swapped: would other systems show it? Where a
judge's errors stick to systems, the first test rejects a true null too often for the second question
(Deutsch, Dror and Roth 2021; `beyond_statistics_validity` measures it), so both are always given.

The tests of one table are a family, and Holm's correction covers it, once for each question. The p of a
single comparison depends on nothing else in its family: its generator is seeded from the scores
themselves. The corrected p does depend on the family, and `family` says what that is.
"""

from itertools import product
from zlib import crc32

import numpy as np
import pandas as pd

from nlgjudge.data.choices import unknown
from nlgjudge.stats.bootstrap import difference
from nlgjudge.stats.correlations import (
    check_correlation,
    check_options,
    complete_items,
    matrices,
    with_numbered_keys,
)
from nlgjudge.stats.permutation import number_of_swaps
from nlgjudge.stats.testing import Comparison, holm

QUESTIONS = ("items", "systems")  # what is swapped
COLUMNS = (
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
)
KEYS = ("item_id", "doc_id", "system_id")
_DECIMALS = 6  # scores that differ by less are the same scores, whatever machine computed them


def paired_tests(
    frame,
    pairs,
    aspects,
    *,
    level="sample",
    coefficient="spearman",
    permutations=4999,
    seed=0,
    constant="skip",
    kendall="b",
    interval=False,
    resamples=999,
    items="both",
    has_systems=True,
):
    """Test whether judges differ in their correlation with human ratings, with items and with systems swapped.

    Parameters
    ----------
    frame : pandas.DataFrame
        As for `nlgjudge.correlation`: `doc_id`, `system_id`, the human ratings of each aspect in a column
        of its name, and the judges' scores. A judge's scores of an aspect are the column `JUDGE:ASPECT`
        or, where there is none, the column `JUDGE`, as of a metric that has one score for all aspects.
    pairs : list of (str, str), or dict of str to (str, str)
        Judges `a` and `b`; `difference` is the correlation of `a` minus that of `b`. A dict's keys name
        the pairs; otherwise a pair is called ``a − b``.
    aspects : list of str
    level, coefficient : str or sequence of str
        As for `nlgjudge.correlation`; of several, each is tested, in one family.
    permutations : int
        Swaps that are drawn. Where there are at most 16,384 different swaps, all are counted instead.
    seed : int
        At least 0. With the scores it seeds the generator of each test. The same comparison of the same
        scores gives the same p in every call, under whatever names and beside whatever other pairs.
    constant, kendall
        As for `nlgjudge.correlation`.
    interval : bool
        Whether to add the 95% interval of the difference, bias-corrected, over documents and systems.
    resamples : int
        Of the interval.
    items : {"both", "documents"}
        What the first question swaps: each item on its own, or all items of a document together, where they
        depend on each other.
    has_systems : bool
        Whether `system_id` names systems, and not places as the first and second item of a document. If not, there
        is no `p_systems`, and the interval is over documents.

    Returns
    -------
    pandas.DataFrame
        A row for each test: `pair, a, b, aspect, level, coefficient`, `n` (units with all three scores, as
        documents at sample level), `difference`, `p_items` and `p_systems`, `holm_items` and `holm_systems`
        (corrected over all rows), `swaps_of_systems` (different swaps of systems), `smallest_p_systems`
        (below which no `p_systems` can be), `family` (the number of tests that were corrected together) and
        `reason` (why a p is NaN; empty otherwise). With `interval`, `ci_low` and `ci_high`. A single system
        has nothing to swap: `p_systems` is NaN, and `reason` says so.

    Raises
    ------
    ValueError
        For a judge or an aspect without a column, a pair of a judge with itself or given twice, and as
        `nlgjudge.permutation_test` does.

    See Also
    --------
    nlgjudge.stats.paired_table : Lays the tests out as text.
    nlgjudge.stats.family : Says what Holm's correction covers.
    nlgjudge.stats.one_family : Corrects the tests of several calls together.

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
    levels = _several(level)
    coefficients = _several(coefficient)
    check_options(items=(items, ("both", "documents")))
    for one_level, one_coefficient in product(levels, coefficients):
        check_correlation(one_level, one_coefficient, constant, kendall)
    _check_numbers(permutations=permutations, resamples=resamples)
    aspects = _checked_aspects(frame, aspects)
    frame = with_numbered_keys(frame)
    rows = []
    for (name, (a, b)), one_level, one_coefficient, aspect in product(
        _named(pairs).items(), levels, coefficients, aspects
    ):
        columns = (_column(frame, a, aspect, aspects), _column(frame, b, aspect, aspects), aspect)
        options = {
            "level": one_level,
            "coefficient": one_coefficient,
            "constant": constant,
            "kendall": kendall,
        }
        row = {
            "pair": name,
            "a": a,
            "b": b,
            "aspect": aspect,
            "level": one_level,
            "coefficient": one_coefficient,
        }
        row |= _tested(frame, columns, permutations, seed, options, items, has_systems)
        if interval:
            bounds = _bounds(
                frame, columns, resamples, seed, options, "both" if has_systems else "documents"
            )
            row |= {"ci_low": bounds.low, "ci_high": bounds.high}
        rows.append(row)
    extra = ["ci_low", "ci_high"] if interval else []
    tests = pd.DataFrame(rows, columns=[name for name in COLUMNS if name not in _OF_FAMILY] + extra)
    return one_family(tests)


_OF_FAMILY = ("holm_items", "holm_systems", "family")


def one_family(tests):
    """Correct tests as one family after Holm, once with items and once with systems swapped.

    Parameters
    ----------
    tests : pandas.DataFrame
        Rows of `paired_tests`, also of several calls, joined by `pandas.concat`.

    Returns
    -------
    pandas.DataFrame
        The same rows, numbered anew, with `holm_items, holm_systems` and `family` of them all.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"doc_id": list("xxxxyyyy"), "system_id": list("1234") * 2,
    ...                       "coherence": [1, 2, 3, 4] * 2, "a": [1, 2, 3, 4] * 2, "b": [2, 1, 4, 3] * 2})
    >>> alone = paired_tests(frame, [("a", "b")], ["coherence"])
    >>> both = one_family(pd.concat([alone, alone.assign(aspect="again")]))
    >>> both[["aspect", "p_systems", "holm_systems", "family"]]
          aspect  p_systems  holm_systems  family
    0  coherence      0.125          0.25       2
    1      again      0.125          0.25       2
    """
    tests = tests.reset_index(drop=True)
    corrected = {f"holm_{swapped}": holm(tests[f"p_{swapped}"]) for swapped in QUESTIONS}
    tests = tests.assign(**corrected, family=len(tests))
    return tests[[*COLUMNS, *(name for name in tests if name not in COLUMNS)]]


def paired_table(tests, *, rows=None, columns="aspect", corrected=True, digits=2):
    """Lay tests out as text, a cell for each, as ``+0.12 (items 0.004, systems 0.062)``.

    Parameters
    ----------
    tests : pandas.DataFrame
        From `paired_tests`.
    rows : str or list of str, optional
        What stands in the rows; by default the pair, and level and coefficient where there are several.
    columns : str
        What stands in the columns.
    corrected : bool
        Whether the p values are Holm's.
    digits : int
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
        several = [
            name
            for name in ("level", "coefficient")
            if name != columns and tests[name].nunique() > 1
        ]
        rows = ["pair", *several] if columns != "pair" else ["aspect", *several]
    rows = _several(rows)
    kind = "holm" if corrected else "p"
    cells = [_cell(test, kind, digits) for test in tests.to_dict("records")]
    table = tests.assign(cell=cells).pivot(index=rows, columns=columns, values="cell")
    in_order = tests.drop_duplicates(rows)[rows]
    in_order = pd.Index(in_order[rows[0]]) if len(rows) == 1 else pd.MultiIndex.from_frame(in_order)
    if len(rows) == 1:
        table = table.set_axis(table.index.get_level_values(0))
    return table.reindex(index=in_order, columns=list(dict.fromkeys(tests[columns]))).fillna("")


def family(tests):
    """Say what was swapped, which tests Holm's correction covers, and how small p can be.

    Parameters
    ----------
    tests : pandas.DataFrame
        From `paired_tests`.

    Returns
    -------
    str

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"doc_id": list("xxxxyyyy"), "system_id": list("1234") * 2,
    ...                       "coherence": [1, 2, 3, 4] * 2, "a": [1, 2, 3, 4] * 2, "b": [2, 1, 4, 3] * 2})
    >>> print(family(paired_tests(frame, [("a", "b")], ["coherence"])))
    One comparison, which needs no correction, asked twice:
    with items swapped (other items of these systems) and with systems swapped (other systems).
    There are 8 different swaps of systems: no p is below 0.125.
    """
    if tests.empty:
        return "There are no two judges to compare."
    covered = f"Holm's correction covers these {len(tests)} comparisons, once for each question:"
    if len(tests) == 1:
        covered = "One comparison, which needs no correction, asked twice:"
    swapped = "with items swapped (other items of these systems) and with systems swapped (other systems)."
    return "\n".join([covered, swapped, _limit(tests)])


def comparison_rng(frame, a, b, human, *, seed, level, coefficient, units):
    """Make the generator of one comparison, from its scores and not from its names or its place in a family.

    Parameters
    ----------
    frame, a, b, human, level, coefficient, units
        As for `nlgjudge.permutation_test`. Exchanging `a` and `b` changes nothing.
    seed : int

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"doc_id": "x", "system_id": list("12"), "h": [1, 2], "a": [1, 2], "b": [2, 1]})
    >>> kind = {"seed": 0, "level": "sample", "coefficient": "spearman", "units": "both"}
    >>> one = comparison_rng(frame, "a", "b", "h", **kind)
    >>> same = comparison_rng(frame.rename(columns={"a": "b", "b": "a"}), "a", "b", "h", **kind)
    >>> int(one.integers(1000)) == int(same.integers(1000))
    True
    """
    complete = complete_items(frame, [a, b, human])
    scores = () if complete.empty else matrices(complete, [a, b, human])
    return _rng(scores, seed, level, coefficient, units)


def _rng(scores, seed, level, coefficient, units):
    """The generator of one comparison, from both judges' scores and the ratings of the items that have all of them."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed={seed!r}: expected a whole number of at least 0")
    kind = crc32(f"{level} {coefficient} {units}".encode())
    if not np.size(scores):
        return np.random.default_rng([seed, kind])
    x, y, ratings = (_fingerprint(matrix) for matrix in scores)
    return np.random.default_rng([seed, kind, *sorted([x, y]), ratings])


def _fingerprint(scores):
    """A number that stands for a matrix of scores, rounded."""
    rounded = np.round(scores, _DECIMALS) + 0.0  # -0.0 and 0.0 are one number
    rounded[np.isnan(rounded)] = np.nan
    return crc32(rounded.astype("<f8").tobytes())


def _tested(frame, columns, permutations, seed, options, units, has_systems):
    """Both tests of one comparison."""
    comparison = Comparison(frame, *columns, **options)
    items = _test(comparison, permutations, seed, units)
    swaps = (
        number_of_swaps(~np.isnan(comparison.scores[2]), "systems")
        if has_systems and comparison.scores.size
        else 0
    )
    row = {
        "n": items.n,
        "difference": items.difference,
        "p_items": items.p,
        "p_systems": np.nan,
        "swaps_of_systems": swaps,
        "smallest_p_systems": np.nan,
        "reason": items.reason,
    }
    if swaps <= 1:
        alone = "one system: nothing to swap" if has_systems else "no systems to swap"
        return row | {"reason": items.reason or alone}
    systems = _test(comparison, permutations, seed, "systems")
    if not systems.reason:
        row["smallest_p_systems"] = 1 / (systems.resamples + (not systems.exact))
    return row | {"p_systems": systems.p, "reason": items.reason or systems.reason}


def _test(comparison, permutations, seed, units):
    """One test of one comparison, with a generator of its own."""
    rng = _rng(
        comparison.scores,
        seed,
        comparison.options["level"],
        comparison.options["coefficient"],
        units,
    )
    return comparison.test(rng=rng, units=units, resamples=permutations)


def _bounds(frame, columns, resamples, seed, options, units):
    """The bias-corrected interval of a difference."""
    kind = {name: options[name] for name in ("level", "coefficient")}
    rng = comparison_rng(frame, *columns, seed=seed, units="interval", **kind)
    return difference(
        frame, *columns, rng=rng, resamples=resamples, method="bca", units=units, **options
    )


def _several(value):
    """A list of one or several names."""
    return [value] if isinstance(value, str) else list(value)


def _check_numbers(**numbers):
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
            raise ValueError(f"{name}={number!r}: expected a whole number of at least 1")


def _checked_aspects(frame, aspects):
    """The aspects, each of which has a column of ratings."""
    if isinstance(aspects, str):
        raise ValueError(f"aspects={aspects!r}: expected a list of names, as [{aspects!r}]")
    for aspect in aspects:
        if aspect not in frame:
            raise ValueError(unknown("aspect", aspect, _score_columns(frame)))
    return list(aspects)


def _named(pairs):
    """Pairs by name, each of two different judges, and none twice."""
    if not isinstance(pairs, dict):
        pairs = [_two(pair) for pair in pairs]
        names = [f"{a} − {b}" for a, b in pairs]
        if len(set(names)) < len(names):
            again = next(name for name in names if names.count(name) > 1)
            raise ValueError(
                f"the pair {again!r} is given {names.count(again)} times; name each once"
            )
        pairs = dict(zip(names, pairs))
    seen = {}
    for name, pair in pairs.items():
        a, b = _two(pair)
        if a == b:
            raise ValueError(f"the pair {name!r} has {a!r} on both sides; name two judges")
        before = seen.setdefault(frozenset([a, b]), name)
        if before != name:
            raise ValueError(
                f"the pairs {before!r} and {name!r} have the same two judges; name them once"
            )
    return pairs


def _two(pair):
    """A pair of names, or an error."""
    if isinstance(pair, str) or len(pair) != 2:
        raise ValueError(f"expected a pair of judges, as ('a', 'b'), got {pair!r}")
    return tuple(pair)


def _column(frame, judge, aspect, aspects):
    """The column that has a judge's scores of an aspect."""
    for name in (f"{judge}:{aspect}", judge):
        if name in frame:
            return name
    judges = []
    for column in _score_columns(frame):
        if column not in aspects:
            judges.append(column.removesuffix(f":{aspect}"))
    raise ValueError(f"aspect {aspect!r}: {unknown('judge', judge, dict.fromkeys(judges))}")


def _score_columns(frame):
    """Columns with numbers, without the keys."""
    return [str(name) for name in frame.select_dtypes("number") if name not in KEYS]


def _cell(test, kind, digits):
    """A test as text."""
    if np.isnan(test["difference"]):
        return "not defined"
    text = f"{test['difference']:+.{digits}f}"
    if "ci_low" in test and not np.isnan(test["ci_low"]):
        text += f" [{test['ci_low']:.2f}, {test['ci_high']:.2f}]"
    said = ", ".join(f"{swapped} {_p(test[f'{kind}_{swapped}'])}" for swapped in QUESTIONS)
    return f"{text} ({said})"


def _p(value):
    """A p value, with three decimals where it is small."""
    if np.isnan(value):
        return "–"
    if value < 0.0005:
        return "<0.001"
    return f"{value:.3f}" if value < 0.1 else f"{value:.2g}"


def _limit(tests):
    """How small p with systems swapped can be in this family, or why there is none."""
    known = tests[tests["p_systems"].notna()]
    if known.empty:
        reasons = dict.fromkeys(reason for reason in tests["reason"] if reason)
        return f"There is no p with systems swapped ({'; '.join(reasons)})."
    swaps = sorted(set(known["swaps_of_systems"]))
    number = f"{swaps[0]:,}"
    if len(swaps) > 1:
        number += f" to {swaps[-1]:,}"
    smallest = known["smallest_p_systems"].min()
    corrected = min(1, smallest * len(known))
    said = f"There are {number} different swaps of systems: no p is below {smallest:.3g}"
    if len(known) > 1:
        said += f", or {corrected:.3g} after the correction"
    return f"{said}."
