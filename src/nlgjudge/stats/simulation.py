"""Simulated studies that compare two judges of which one is worse by a known amount.

A judge's score of an item is what documents, systems and the human rating say (base), a
deviation of its own, and sampling noise, whose variance shrinks with the samples averaged. The
second judge shares part of the deviation and has noise of its own, independent between items: a
bias towards single systems would lower the power further.
"""

from itertools import chain
from typing import NamedTuple

import numpy as np

from nlgjudge.stats.bootstrap import UNITS
from nlgjudge.stats.correlations import COEFFICIENTS, check_options, grouped_together
from nlgjudge.stats.influence import PairedZ

LEVELS = ("sample", "dataset")
_CELLS = 2_000_000  # numbers held at once
_KEPT = 4_000_000  # items of simulated studies whose draws are kept, some six numbers for each
_SPREADS = np.concatenate(
    [[0], np.geomspace(0.03, 30, 32)]
)  # of b's own noise, a's deviation being 1


class Study(NamedTuple):
    """What the simulations start from; matrices are documents x systems, NaN where a score is missing.

    Attributes
    ----------
    base, residual : numpy.ndarray
        Their sum is judge a's score without sampling noise.
    human : numpy.ndarray
        Ratings.
    sampling : float
        Standard deviation of an item's samples, NaN where it is unknown.
    shared : float
        Part of the residual that judge b has too, in [0, 1].
    observed : float
        Difference of the correlations in the data, 0 without judge b.
    alpha : float
        Level of the test.
    simulations : int
        Studies of a design.
    test : dict
        `level`, `coefficient` and `units` of `nlgjudge.stats.influence.PairedZ`.
    """

    base: np.ndarray
    residual: np.ndarray
    human: np.ndarray
    sampling: float
    shared: float
    observed: float
    alpha: float
    simulations: int
    test: dict


def fitted(
    frame,
    a,
    b,
    human,
    *,
    compare=False,
    alpha=0.05,
    simulations=200,
    level="sample",
    coefficient="spearman",
    units="both",
    sampling_sd=None,
    shared=None,
):
    """Split a judge's scores into the parts of a `Study`.

    Parameters
    ----------
    compare : bool
        Whether the observed difference is wanted: the better judge then becomes a.
    frame, a, b, human, alpha, simulations, level, coefficient, units, sampling_sd, shared
        As for `nlgjudge.stats.power_analysis.power`.

    Returns
    -------
    Study

    Raises
    ------
    ValueError
        For unknown options, missing columns, infinite scores, undefined correlations.
    """
    check_options(
        level=(level, LEVELS), coefficient=(coefficient, COEFFICIENTS), units=(units, UNITS)
    )
    if not (
        0 < alpha < 1 and simulations >= 1 and (sampling_sd or 0) >= 0 and 0 <= (shared or 0) <= 1
    ):
        raise ValueError(
            f"alpha={alpha}, simulations={simulations}, sampling_sd={sampling_sd}, "
            f"shared={shared}: expected a share in (0, 1), at least 1, at least 0, in [0, 1]"
        )
    judges = [a] if b is None else [a, b]
    absent = [
        column for column in ("doc_id", "system_id", human, *judges) if column not in frame.columns
    ]
    if absent:
        raise ValueError(f"the frame lacks {absent}")
    if compare and b is None:
        raise ValueError("without a second judge, give an effect")
    rated = _matrix(frame, human)
    parts = [_parts(frame, judge, rated, sampling_sd) for judge in judges]
    values = _values([part.base + part.residual for part in parts], rated, level, coefficient)
    if np.isnan(values).any():
        raise ValueError(f"the correlation of {judges} with {human!r} is undefined: {values}")
    if compare and values[1] > values[0]:
        parts.reverse()
        values.reverse()
    best = parts[0]
    if shared is None:
        shared = 1.0 if b is None else _shared(*parts)
    # Sampling noise is drawn anew in each study, so what the data hold of it is taken off.
    kept = np.sqrt(best.variance / np.nanvar(best.residual)) if best.variance > 0 else 0.0
    test = {"level": level, "coefficient": coefficient, "units": units}
    return Study(
        base=best.base,
        residual=kept * best.residual,
        human=rated,
        sampling=best.sampling,
        shared=shared,
        observed=values[0] - values[-1],
        alpha=alpha,
        simulations=simulations,
        test=test,
    )


def calibrated(study, size, rng):
    """Find how much correlation judge b loses on average, by spread of its noise.

    Parameters
    ----------
    study, size, rng
        As for `rejections`.

    Returns
    -------
    drops, spreads : numpy.ndarray
        Both ascending; negative drops are gains.
    """
    documents, systems, _ = size
    replicates = max(100, 40_000 // (documents * systems))
    base, residual, human, own, error, _ = _resampled(study, size, replicates, rng)
    level = study.test["level"]
    coefficient = study.test["coefficient"]
    first = [base + residual + error]
    second = (_second(study, base, residual, spread, own) + error for spread in _SPREADS)
    value, *others = _values(chain(first, second), human, level, coefficient)
    drops = [value - other for other in others]
    return np.maximum.accumulate(drops), _SPREADS


def rejections(study, size, spread, rng):
    """Simulate studies of one design and test each.

    Parameters
    ----------
    study : Study
    size : (int, int, int)
        Documents, systems, samples per item.
    spread : float
        Of judge b's own noise, from `calibrated`.
    rng : numpy.random.Generator

    Returns
    -------
    share : float
        Studies with p at most alpha (undefined ones are not), in [0, 1].
    difference : float
        Mean difference of the correlations, a minus b.
    """
    return _tested(study, _studies(study, size, rng), spread)


class DrawnStudies:
    """Studies of one design, in which judge b's own noise has one spread after another.

    Parameters
    ----------
    study, size
        As for `rejections`.
    seed : int
        Of the draws, which are the same for every spread. They are kept where that takes little memory, and
        made anew elsewhere.
    """

    def __init__(self, study, size, seed):
        self.study = study
        self.size = size
        self.seed = seed
        documents, systems, _ = size
        self._kept = None
        if documents * systems * study.simulations <= _KEPT:
            self._kept = list(self._parts())

    def rejections(self, spread):
        """Test each study; returns what the function of this name does."""
        return _tested(self.study, self._kept or self._parts(), spread)

    def _parts(self):
        return _studies(self.study, self.size, np.random.default_rng(self.seed))


def _studies(study, size, rng):
    """Yield some studies at a time: judge a's test against others, and of what judge b's scores are made."""
    documents, systems, _ = size
    cells = documents * systems
    if study.test["coefficient"] != "pearson":  # ranks take a table of all pairs of a group
        cells *= documents * systems if study.test["level"] == "dataset" else systems
    chunk = max(1, _CELLS // cells)
    for start in range(0, study.simulations, chunk):
        replicates = min(chunk, study.simulations - start)
        base, residual, human, own, error_a, error_b = _resampled(study, size, replicates, rng)
        yield PairedZ(base + residual + error_a, human, **study.test), base, residual, own, error_b


def _tested(study, parts, spread):
    """Share of significant studies and mean difference, with this spread of judge b's own noise."""
    found = [
        against.test(_second(study, base, residual, spread, own) + error_b)
        for against, base, residual, own, error_b in parts
    ]
    difference, p_value = np.concatenate(found, axis=1)
    share = float((p_value <= study.alpha).mean())
    defined = difference[~np.isnan(difference)]
    return share, float(defined.mean()) if len(defined) else np.nan


def _resampled(study, size, replicates, rng):
    """Base, residual, ratings, b's own noise and each judge's sampling noise; all replicates x size."""
    documents, systems, samples = size
    units = study.test["units"]
    rows = _drawn(study.human.shape[0], documents, replicates, units != "systems", rng)[:, :, None]
    columns = _drawn(study.human.shape[1], systems, replicates, units != "documents", rng)[
        :, None, :
    ]
    base = study.base[rows, columns]
    residual = study.residual[rows, columns]
    human = study.human[rows, columns]
    own, error_a, error_b = rng.standard_normal((3, *base.shape))
    sampling = np.nan_to_num(study.sampling) / np.sqrt(samples)
    return base, residual, human, own, sampling * error_a, sampling * error_b


def _drawn(available, wanted, replicates, replace, rng):
    """Numbers below `available`, as many as wanted for each replicate."""
    if replace:
        return rng.integers(available, size=(replicates, wanted))
    numbers = np.tile(np.arange(available), (replicates, 1))
    return rng.permuted(numbers, axis=1)[:, :wanted]


def _second(study, base, residual, spread, own):
    """Judge b's score without sampling noise."""
    deviation = np.nanstd(study.base + study.residual)
    return base + study.shared * residual + spread * deviation * own


def _matrix(frame, column):
    """Mean score of each item, as documents x systems."""
    if np.isinf(frame[column].to_numpy(float)).any():
        raise ValueError(f"infinite scores in {column!r}; use NaN for a missing score")
    return (
        frame.groupby(["doc_id", "system_id"])[column].mean().unstack("system_id").to_numpy(float)
    )


class _Parts(NamedTuple):
    """A judge's item means as base and residual.

    The residual is what documents, systems and the human ratings (linearly) do not explain, `variance`
    is its variance without sampling noise, `sampling` that noise's deviation (NaN where unknown).
    """

    base: np.ndarray
    residual: np.ndarray
    variance: float
    sampling: float


def _parts(frame, judge, human, sampling_sd):
    """Split a judge's scores; without a given deviation that of repeated rows is taken."""
    x = _matrix(frame, judge)
    samples = frame.groupby(["doc_id", "system_id"])[judge]
    counts = samples.count()
    if sampling_sd is None and counts.max() > 1:
        squares = (samples.var() * (counts - 1)).sum()
        sampling_sd = np.sqrt(squares / (counts - 1).clip(lower=0).sum())
    missing = np.isnan(x + human)
    deviation = _centred(np.where(missing, np.nan, x))
    rated = _centred(np.where(missing, np.nan, human))
    spread = np.nansum(rated**2)
    slope = np.nansum(deviation * rated) / spread if spread > 0 else 0
    residual = deviation - slope * rated
    freedom = np.prod([1 - 1 / n for n in x.shape if n > 1])
    noise = (sampling_sd or 0) ** 2 * (1 / counts[counts > 0]).mean() * freedom
    variance = max(float(np.nanvar(residual)) - noise, 0.0)
    sampling = np.nan if sampling_sd is None else float(sampling_sd)
    return _Parts(x - residual, residual, variance, sampling)


def _shared(first, second):
    """Correlation of two judges' residuals without their sampling noise, within [0, 1]."""
    product = first.variance * second.variance
    if product <= 0:
        return 1.0
    covariance = np.nanmean(first.residual * second.residual)
    return float(np.clip(covariance / np.sqrt(product), 0, 1))


def _centred(x):
    """Scores less the means of documents and of systems, where there are several."""
    for axis in (0, 1):
        if x.shape[axis] > 1:
            x = x - np.nanmean(x, axis=axis, keepdims=True)
    return x


def _values(several, y, level, coefficient):
    """Mean correlation of each with y over all but the last two axes, which are documents x systems."""
    documents, systems = y.shape[-2:]
    width = documents * systems if level == "dataset" else systems
    rows = (x.reshape(-1, width) for x in several)
    found = grouped_together(rows, y.reshape(-1, width), coefficient)
    return [float(np.nanmean(one)) if (~np.isnan(one)).any() else np.nan for one in found]
