"""Every correlation that the analyst's choices allow, and the choice that decides a comparison.

A multiverse (Steegen et al. 2016) crosses parse policy, constant-input policy, level,
coefficient, Kendall variant and subset of systems; a specification curve (Simonsohn et al.
2020) sorts its universes. What holds in some universes only is a finding about the choice.
"""

from itertools import combinations, product

import numpy as np
import pandas as pd

from nlgjudge.stats.correlations import COEFFICIENTS, CONSTANT, LEVELS, correlation

FACTORS = ("policy", "constant", "level", "coefficient", "kendall", "subset")
_COUNTS = [
    "universes",
    "a_beats",
    "b_beats",
    "tied",
    "undefined",
    "share_a",
    "share_b",
    "share_undefined",
    "flips",
]
_FLIPS = ["a", "b", "factor", "option", *_COUNTS, "separation", "switches", "decides"]
_TIE = 1e-12  # values closer than this differ by rounding only


def multiverse(
    frames,
    metrics,
    human,
    *,
    levels=LEVELS,
    coefficients=COEFFICIENTS,
    constants=CONSTANT,
    kendalls=("b", "c"),
    subsets=None,
):
    """Correlate each metric with human ratings under every combination of choices.

    Parameters
    ----------
    frames : dict of str to pandas.DataFrame
        By parse policy; each with `doc_id`, `system_id`, the metrics and `human`, one row
        per pair of keys. NaN marks a missing score: each metric is correlated over its own
        items.
    metrics : list of str
    human : str
    levels, coefficients, constants, kendalls : sequence of str
        Options of `nlgjudge.stats.correlations.correlation`, at least one each.
    subsets : dict of str, optional
        By name the system ids to keep, or a callable that takes the policy's frame and
        returns them; all systems, as ``"all"``, by default.

    Returns
    -------
    pandas.DataFrame
        One row per universe and metric: `policy, constant, level, coefficient, kendall`
        (empty unless the coefficient is kendall), `subset, metric, value` (in [-1, 1] or NaN),
        `n, n_skipped, reason`.

    Raises
    ------
    ValueError
        For nothing or a repetition in any argument, unknown options, systems that no frame
        has, and as `correlation` does.

    Examples
    --------
    >>> from nlgjudge.studies.statistics_validity import planted
    >>> frames = {"nan": planted(np.random.default_rng(0), documents=6, systems=4)}
    >>> found = multiverse(frames, ["a", "b"], "human", constants=["skip"], kendalls=["b"])
    >>> len(found), list(found.columns[:3])
    (18, ['policy', 'constant', 'level'])
    """
    _check(
        frames=frames,
        metrics=metrics,
        levels=levels,
        coefficients=coefficients,
        constants=constants,
        kendalls=kendalls,
        subsets=subsets if subsets is not None else ["all"],
    )
    kinds = []  # a coefficient, and of Kendall's the variant
    for coefficient in coefficients:
        variants = kendalls if coefficient == "kendall" else [""]
        kinds += [(coefficient, variant) for variant in variants]
    rows = []
    for policy, subset in product(frames, subsets or {"all": None}):
        frame = (
            frames[policy] if subsets is None else _kept(frames, policy, subset, subsets[subset])
        )
        for level, kind, metric in product(levels, kinds, metrics):
            found = _by_constant(frame, metric, human, level, *kind, constants)
            rows += [
                (policy, constant, level, *kind, subset, metric, *found[constant])
                for constant in constants
            ]
    return pd.DataFrame(rows, columns=[*FACTORS, "metric", "value", "n", "n_skipped", "reason"])


def flips(universe):
    """Count who wins in which universes, and name the choice that decides.

    Parameters
    ----------
    universe : pandas.DataFrame
        From `multiverse`.

    Returns
    -------
    pandas.DataFrame
        Per pair `a, b`: a row with empty `factor` and `option` for all universes, then one
        for each option of each factor that has several (the Kendall variant: within the
        coefficient kendall). `universes, a_beats, b_beats, tied, undefined` are counts,
        `share_a, share_b, share_undefined` their shares in [0, 1], `flips` whether both
        metrics win somewhere among them. Per factor, `separation` in [0, 1] is the range
        over its options of a's share of the decided universes, `switches` in [0, 1] the
        share of pairs of decided universes differing in this factor alone that name
        different winners, and `decides` marks the largest separation of a pair that flips
        (several where they tie): at 1 the factor reverses the conclusion by itself.

    Raises
    ------
    ValueError
        For missing columns, fewer than two metrics, or a universe given twice.

    Examples
    --------
    >>> from nlgjudge.studies.statistics_validity import planted
    >>> frames = {"nan": planted(np.random.default_rng(0), documents=6, systems=4, correlations=(0.9, 0.1))}
    >>> found = flips(multiverse(frames, ["a", "b"], "human"))
    >>> found.loc[0, ["a", "b"]].tolist(), int(found.loc[0, "b_beats"])
    (['a', 'b'], 0)
    """
    wide = _wide(universe)
    if len(wide.columns) < 2:
        raise ValueError(f"expected at least two metrics to compare, got {list(wide.columns)}")
    rows = []
    for a, b in combinations(wide.columns, 2):
        winner = _winner(wide[a] - wide[b])
        total = _counts(winner)
        factors = {factor: _by_option(winner, factor) for factor in FACTORS}
        separations = {factor: _separation(options) for factor, options in factors.items()}
        largest = np.nanmax([*separations.values(), 0.0])
        rows.append(
            {
                "a": a,
                "b": b,
                "factor": "",
                "option": "",
                **total,
                "separation": np.nan,
                "switches": np.nan,
                "decides": False,
            }
        )
        for factor, options in factors.items():
            separation = separations[factor]
            decides = bool(total["flips"] and largest > 0 and separation >= largest - _TIE)
            switches = _switches(winner, factor)
            for option, part in options.items():
                rows.append(
                    {
                        "a": a,
                        "b": b,
                        "factor": factor,
                        "option": option,
                        **_counts(part),
                        "separation": separation,
                        "switches": switches,
                        "decides": decides,
                    }
                )
    return pd.DataFrame(rows, columns=_FLIPS)


def curve(universe, a, b):
    """Difference between two metrics in every universe, sorted: what a specification curve draws.

    Parameters
    ----------
    universe : pandas.DataFrame
    a, b : str
        Two of its metrics.

    Returns
    -------
    pandas.DataFrame
        One row per universe: the factors, `value_a, value_b` (in [-1, 1]) and `difference`
        (a minus b, in [-2, 2]), ascending, undefined ones last.

    Raises
    ------
    ValueError
        For missing columns, a metric that the universe lacks, or a universe given twice.

    Examples
    --------
    >>> from nlgjudge.studies.statistics_validity import planted
    >>> frames = {"nan": planted(np.random.default_rng(0), documents=6, systems=4)}
    >>> found = curve(multiverse(frames, ["a", "b"], "human"), "a", "b")
    >>> found["difference"].is_monotonic_increasing
    True
    """
    wide = _wide(universe)
    absent = [metric for metric in (a, b) if metric not in wide.columns]
    if absent:
        raise ValueError(f"expected two of the metrics {list(wide.columns)}, got {absent}")
    table = pd.DataFrame({"value_a": wide[a], "value_b": wide[b], "difference": wide[a] - wide[b]})
    return table.reset_index().sort_values("difference", kind="stable", ignore_index=True)


def _check(**choices):
    """Refuse what is empty, given twice or unknown in any of the choices."""
    allowed = {
        "levels": LEVELS,
        "coefficients": COEFFICIENTS,
        "constants": CONSTANT,
        "kendalls": ("b", "c"),
    }
    for name, values in choices.items():
        if isinstance(values, str) or not len(values) or len(set(values)) < len(values):
            raise ValueError(f"{name}={values!r}: expected at least one entry and none twice")
        unknown = [value for value in values if value not in allowed.get(name, values)]
        if unknown:
            raise ValueError(
                f"{name}: unknown {unknown}, expected some of {', '.join(allowed[name])}"
            )


def _kept(frames, policy, name, subset):
    """A policy's frame with the systems of a subset alone."""
    frame = frames[policy]
    ids = list(subset(frame) if callable(subset) else subset)
    known = {system for one in frames.values() for system in one["system_id"]}
    if not ids or not known.issuperset(ids):
        raise ValueError(
            f"subset {name!r}: expected some of the systems {sorted(known)}, got {ids}"
        )
    return frame[frame["system_id"].isin(ids)]


def _by_constant(frame, metric, human, level, coefficient, kendall, constants):
    """One correlation per constant-input policy, computed once where no input is constant."""
    options = {"level": level, "coefficient": coefficient, "kendall": kendall or "b"}
    strict = correlation(frame, metric, human, constant="nan", **options)
    if not np.isnan(strict.value):
        return dict.fromkeys(constants, strict)
    return {
        constant: correlation(frame, metric, human, constant=constant, **options)
        for constant in constants
    }


def _wide(universe):
    """Universes by metrics, in the order in which they come."""
    absent = [name for name in (*FACTORS, "metric", "value") if name not in universe.columns]
    if absent:
        raise ValueError(f"expected the columns of `multiverse`, the frame lacks {absent}")
    if universe.duplicated([*FACTORS, "metric"]).any():
        raise ValueError("expected each universe once per metric; drop the repeated rows")
    keys = universe[list(FACTORS)].drop_duplicates()
    wide = universe.pivot(index=list(FACTORS), columns="metric", values="value")
    return wide.loc[pd.MultiIndex.from_frame(keys), list(universe["metric"].unique())]


def _winner(difference):
    """1 where a beats b, -1 where b beats a, 0 where they tie, NaN where undefined."""
    return np.sign(difference.where(difference.isna() | (difference.abs() > _TIE), 0.0))


def _by_option(winner, factor):
    """The universes of each option of a factor; none where it has one option only."""
    parts = {}
    for option, part in winner.groupby(level=factor, sort=False):
        if option or factor != "kendall":  # the coefficients without a variant are no option
            parts[option] = part
    return parts if len(parts) > 1 else {}


def _counts(winner):
    """How many universes there are, and who wins in how many."""
    size = len(winner)
    a_beats = int((winner == 1).sum())
    b_beats = int((winner == -1).sum())
    undefined = int(winner.isna().sum())
    return {
        "universes": size,
        "a_beats": a_beats,
        "b_beats": b_beats,
        "tied": size - a_beats - b_beats - undefined,
        "undefined": undefined,
        "share_a": a_beats / size,
        "share_b": b_beats / size,
        "share_undefined": undefined / size,
        "flips": a_beats > 0 and b_beats > 0,
    }


def _separation(options):
    """The range, over a factor's options, of a's share of the decided universes."""
    decided = [part[part.isin([1, -1])] for part in options.values()]
    shares = [(part == 1).mean() for part in decided if len(part)]
    return float(np.ptp(shares)) if len(shares) > 1 else np.nan


def _switches(winner, factor):
    """The share of pairs of decided universes, alike but for this factor, that name different winners."""
    a_wins = winner[winner.isin([1, -1])] == 1
    alike = a_wins.groupby(level=[other for other in FACTORS if other != factor])
    size = alike.size()
    wins = alike.sum()
    pairs = (size * (size - 1) // 2).sum()
    return float((wins * (size - wins)).sum() / pairs) if pairs else np.nan
