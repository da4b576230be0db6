"""Power of a comparison of two judges, and the smallest difference that a design can detect.

Simulated from the data (Card et al. 2020, "With Little Power Comes Great Responsibility"): documents and
systems are drawn with replacement, judge a is the data's, and judge b is a with noise that lowers its
correlation with the human ratings by the effect. A study finds the difference where it exceeds a t
quantile times its standard deviation over the simulated studies. System level is left out: noise that
is independent between items says nothing of biases towards systems.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from nlgjudge.data.checks import check_whole
from nlgjudge.stats.correlations import (
    COEFFICIENTS,
    KEYS,
    LEVELS,
    by_group,
    check_frame,
    check_options,
    check_size,
    column_of,
    matrices,
    mean_of_groups,
    rounded,
)
from nlgjudge.stats.swaps import UNITS

_LARGEST = 30.0  # spread of b's own noise, the scores' deviation being 1
_STEPS = 30  # of a bisection


class Study(NamedTuple):
    """What the simulations start from; matrices are documents x systems, NaN where a score is missing.

    Attributes
    ----------
    base, residual : numpy.ndarray
        Their sum is judge a's score without sampling noise; the residual is what documents, systems
        and the human ratings do not explain.
    ratings : numpy.ndarray
    sampling : float
        Standard deviation of an item's samples, NaN where it is unknown.
    shared : float
        Part of the residual that judge b has too, in [0, 1].
    observed : float
        Difference of the correlations in the data, 0 without judge b.
    alpha : float
    simulations : int
    level, coefficient, units : str
    """

    base: np.ndarray
    residual: np.ndarray
    ratings: np.ndarray
    sampling: float
    shared: float
    observed: float
    alpha: float
    simulations: int
    level: str
    coefficient: str
    units: str


def power(frame, a, b, human, *, documents, systems, seed=0, samples=1, effect=None, **options):
    """Share of simulated studies that find the difference between two judges.

    Parameters
    ----------
    frame : pandas.DataFrame
        `doc_id`, `system_id` and the scores, NaN for a missing one. Several rows per pair of keys are a
        judge's samples of the item.
    a, human : str
        As for `nlgjudge.correlation`.
    b : str or None
        Second judge, from which `effect` and `shared` are estimated.
    documents, systems, samples, effect : number or sequence of numbers
        Designs, all combinations. `effect` is how much lower b's correlation is on average over
        studies of the design; the observed difference by default (a is then the better).
    seed : int
    **options
        `alpha` (0.05, two-sided), `simulations` (200), `level` ("sample" or "dataset"), `coefficient`
        ("spearman"; Kendall's is tau b), `units` ("both"; what is drawn with replacement, the others
        are drawn without), `sampling_sd` (deviation of an item's samples, both judges'; from a's
        repeated rows) and `shared` (in [0, 1], correlation of the judges' deviations from the human
        ratings; that of a and b, or 1 without b: a plus noise, the easiest case).

    Returns
    -------
    pandas.DataFrame
        `documents, systems, samples, effect, power, mc_error` (standard error of the power) and
        `calls` (both judges').

    Raises
    ------
    ValueError
        For unknown options, missing columns or ids, scores smaller than 1e-100 or larger than 1e100, an
        effect out of reach, designs that are too small, or several samples of unknown deviation.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> frame = nj.load("summeval", "sample").human()
    >>> frame["judge"] = (frame["coherence"] + frame["fluency"]) / 2
    >>> found = power(frame, "judge", None, "coherence", documents=[6, 24], systems=4, effect=0.3)
    >>> found["power"].is_monotonic_increasing, found["calls"].tolist()
    (True, [48, 192])
    """
    study = _fitted(frame, a, b, human, **options)
    if effect is None and b is None:
        raise ValueError("without a second judge, give an effect")
    rows = []
    for size, wanted in product(
        _designs(study, documents, systems, samples),
        np.atleast_1d(study.observed if effect is None else effect),
    ):
        differences = _simulated(study, size, seed)
        spread = _spread_of(differences, wanted)
        share = _found(differences(spread), study.alpha, size)
        error = np.sqrt(share * (1 - share) / study.simulations)
        rows.append((*size, float(wanted), share, error))
    return _table(rows, ["power", "mc_error"])


def smallest_detectable(
    frame, a, b, human, *, documents, systems, seed=0, samples=1, power=0.8, **options
):
    """Effect at which a design reaches a given power, by bisection on the same simulated studies.

    Parameters
    ----------
    power : float
        In (alpha, 1).
    frame, a, b, human, documents, systems, seed, samples, **options
        As for `nlgjudge.stats.power`, which raises the same errors.

    Returns
    -------
    pandas.DataFrame
        `documents, systems, samples, effect` (NaN where none reaches the power), `mc_error` (standard
        error of the effect), `reason` (why the effect is NaN, empty otherwise) and `calls`.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> frame = nj.load("summeval", "sample").human()
    >>> frame["judge"] = (frame["coherence"] + frame["fluency"]) / 2
    >>> found = smallest_detectable(frame, "judge", None, "coherence", documents=[24, 60], systems=4, power=0.5)
    >>> found["effect"].is_monotonic_decreasing, found["calls"].tolist()
    (True, [192, 480])
    """
    study = _fitted(frame, a, b, human, **options)
    if not study.alpha < power < 1:
        raise ValueError(f"power={power}: expected a share between alpha={study.alpha} and 1")
    rows = []
    for size in _designs(study, documents, systems, samples):
        differences = _simulated(study, size, seed)

        def reached(spread, differences=differences, size=size):
            drop = np.nanmean(differences(spread))
            return drop >= 0 and _found(differences(spread), study.alpha, size) >= power

        if not reached(_LARGEST):
            rows.append((*size, np.nan, np.nan, f"no effect reaches a power of {power:g}"))
            continue
        effect = float(np.nanmean(differences(_bisected(reached))))
        rows.append((*size, effect, effect / np.sqrt(2 * study.simulations - 2), ""))
    return _table(rows, ["mc_error", "reason"])


def _fitted(
    frame,
    a,
    b,
    human,
    *,
    alpha=0.05,
    simulations=200,
    level="sample",
    coefficient="spearman",
    units="both",
    sampling_sd=None,
    shared=None,
):
    """Split the better judge's scores into the parts of a `Study`."""
    check_options(
        level=(level, LEVELS[:2]), coefficient=(coefficient, COEFFICIENTS), units=(units, UNITS)
    )
    check_whole(2, simulations=simulations)
    if not 0 < alpha < 1 or (sampling_sd or 0) < 0 or not 0 <= (shared or 0) <= 1:
        raise ValueError(
            f"{alpha=}, {sampling_sd=}, {shared=}: expected a share in (0, 1), at least 0, in [0, 1]"
        )
    judges = [column_of(frame, judge, human) for judge in (a, b) if judge is not None]
    numbered = frame.assign(row=range(len(frame)))
    check_frame(numbered, [*KEYS, "row"], [human, *judges])
    check_size(frame, [human, *judges], 1e-100)
    samples = frame.groupby(KEYS)[[human, *judges]]
    means = samples.mean()
    *scores, ratings = matrices(means.apply(rounded).reset_index(), judges, human)
    values = [_value(one, ratings, level, coefficient) for one in scores]
    if np.isnan(values).any():
        raise ValueError(f"the correlation of {judges} with {human!r} is undefined: {values}")
    order = np.argsort(values)[::-1]
    residuals = [_residual(scores[place], ratings) for place in order]
    counts = samples.count()[judges[order[0]]]
    if sampling_sd is None and counts.max() > 1:
        squares = (samples.var()[judges[order[0]]] * (counts - 1)).sum()
        sampling_sd = np.sqrt(squares / (counts - 1).clip(lower=0).sum())
    # Sampling noise is drawn in each study, so what the data hold of it is taken off.
    freedom = np.prod([1 - 1 / n for n in ratings.shape if n > 1])
    noise = (sampling_sd or 0) ** 2 * (1 / counts[counts > 0]).mean() * freedom
    variances = [max(np.nanvar(one) - noise, 0) for one in residuals]
    kept = np.sqrt(variances[0] / np.nanvar(residuals[0])) if variances[0] > 0 else 0
    if shared is None:
        product_of = np.sqrt(np.prod(variances)) if len(variances) == 2 else 0
        shared = np.nanmean(np.prod(residuals, axis=0)) / product_of if product_of > 0 else 1
    return Study(
        base=scores[order[0]] - residuals[0],
        residual=kept * residuals[0],
        ratings=ratings,
        sampling=np.nan if sampling_sd is None else float(sampling_sd),
        shared=float(np.clip(shared, 0, 1)),
        observed=values[order[0]] - values[order[-1]],
        alpha=alpha,
        simulations=simulations,
        level=level,
        coefficient=coefficient,
        units=units,
    )


def _residual(scores, ratings):
    """What documents, systems and, linearly, the human ratings do not explain."""
    deviation, rated = _centred(scores), _centred(ratings)
    spread = np.nansum(rated**2)
    return deviation - (np.nansum(deviation * rated) / spread if spread > 0 else 0) * rated


def _centred(scores):
    """Scores less the means of documents and of systems, where there are several."""
    for axis in (0, 1):
        if scores.shape[axis] > 1:
            scores = scores - np.nanmean(scores, axis=axis, keepdims=True)
    return scores


def _value(scores, ratings, level, coefficient):
    groups = by_group(scores, ratings, level, coefficient)
    return mean_of_groups(groups, ratings, "dataset", "skip")


def _simulated(study, size, seed):
    """A function of the spread of b's own noise that gives a's correlation minus b's in each simulated study."""
    check_whole(0, seed=seed)
    rng = np.random.default_rng([seed, *size])
    documents, systems, samples = size
    rows = _drawn(study.ratings.shape[0], documents, study, study.units != "systems", rng)
    columns = _drawn(study.ratings.shape[1], systems, study, study.units != "documents", rng)
    places = rows[:, :, None], columns[:, None, :]
    base, residual, ratings = (m[places] for m in (study.base, study.residual, study.ratings))
    own, of_a, of_b = rng.standard_normal((3, *base.shape))
    sampling = np.nan_to_num(study.sampling) / np.sqrt(samples)
    deviation = np.nanstd(study.base + study.residual)
    first = _value(base + residual + sampling * of_a, ratings, study.level, study.coefficient)

    def differences(spread):
        noisy = base + study.shared * residual + spread * deviation * own + sampling * of_b
        return first - _value(noisy, ratings, study.level, study.coefficient)

    return differences


def _drawn(available, wanted, study, replace, rng):
    """Numbers below `available`, as many as wanted for each simulated study."""
    if replace:
        return rng.integers(available, size=(study.simulations, wanted))
    numbers = np.tile(np.arange(available), (study.simulations, 1))
    return rng.permuted(numbers, axis=1)[:, :wanted]


def _spread_of(differences, effect):
    """Spread of b's own noise at which its correlation is lower by `effect`."""
    least, most = (np.nanmean(differences(spread)) for spread in (0.0, _LARGEST))
    if not least - 1e-9 <= effect <= most:
        raise ValueError(
            f"effect={effect:.3f}: on these data noise lowers b's correlation by {least:.3f} to "
            f"{most:.3f}; choose one between, and an a that agrees with the ratings"
        )
    return _bisected(lambda spread: np.nanmean(differences(spread)) >= effect)


def _bisected(reached):
    """The smallest spread that reaches what is wanted."""
    low, high = 0.0, _LARGEST
    if reached(low):
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _found(differences, alpha, size):
    """Share of studies whose difference is significant."""
    deviation = np.nanstd(differences)
    quantile = scipy.stats.t.ppf(1 - alpha / 2, size[0] - 1)
    return float((np.abs(differences) > quantile * deviation + 1e-12).mean())


def _designs(study, documents, systems, samples):
    """Every combination as documents, systems and samples, or say why there can be no such study."""
    most = {"systems": study.ratings.shape[0], "documents": study.ratings.shape[1]}
    least_systems = 1 if study.level == "dataset" else 3
    sizes = list(
        product(*(np.atleast_1d(given).tolist() for given in (documents, systems, samples)))
    )
    for size in sizes:
        n_documents, n_systems, n_samples = size
        too_small = n_documents < 2 or n_systems < least_systems or n_samples < 1
        if too_small or (n_systems > 1 and most["documents"] == 1):
            raise ValueError(
                f"documents, systems, samples = {size}: expected at least 2, {least_systems} and 1, "
                f"and one system where the data have one (they have {most['documents']})"
            )
        if n_samples > 1 and np.isnan(study.sampling):
            raise ValueError(
                f"samples={n_samples}: the frame has one sample per item, so give sampling_sd"
            )
        drawn_once = {"documents": n_systems, "systems": n_documents}.get(study.units, 0)
        if drawn_once > most.get(study.units, 0):
            raise ValueError(
                f"units={study.units!r} draws the rest without replacement: expected at most "
                f"{most[study.units]}, got {drawn_once}"
            )
    return sizes


def _table(rows, last):
    names = ["documents", "systems", "samples", "effect"]
    table = pd.DataFrame(rows, columns=[*names, *last])
    return table.assign(calls=2 * table[names[:3]].prod(axis=1))
