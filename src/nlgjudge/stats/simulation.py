"""Simulated studies that compare two judges of which one is worse by a known amount.

A judge's score of an item is what documents, systems and the human rating say (base), a
deviation of its own, and sampling noise, whose variance shrinks with the samples averaged. The
second judge shares part of the deviation and has noise of its own, independent between items: a
bias towards single systems would lower the power further.
"""

from typing import NamedTuple

import numpy as np

from nlgjudge.stats.bootstrap import UNITS
from nlgjudge.stats.correlations import COEFFICIENTS, check_options, grouped
from nlgjudge.stats.influence import paired_z

LEVELS = ("sample", "dataset")
_CELLS = 2_000_000  # numbers held at once
_SPREADS = np.concatenate([[0], np.geomspace(0.03, 30, 32)])  # of b's own noise, a's deviation being 1


class Study(NamedTuple):
    """What the simulations start from; matrices are documents x systems, NaN where a score is missing.

    `base` and `residual` make up judge a's score without sampling noise, `sampling` is the standard
    deviation of an item's samples (NaN where unknown), `shared` the part of the residual that b has
    too (in [0, 1]), `observed` the data's difference (0 without b), `test` level, coefficient, units.
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


def fitted(frame, a, b, human, *, compare=False, alpha=0.05, simulations=200, level="sample",
           coefficient="spearman", units="both", sampling_sd=None, shared=None):
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
    check_options(level=(level, LEVELS), coefficient=(coefficient, COEFFICIENTS), units=(units, UNITS))
    if not (0 < alpha < 1 and simulations >= 1 and (sampling_sd or 0) >= 0 and 0 <= (shared or 0) <= 1):
        raise ValueError(f"alpha={alpha}, simulations={simulations}, sampling_sd={sampling_sd}, "
                         f"shared={shared}: expected a share in (0, 1), at least 1, at least 0, in [0, 1]")
    judges = [a] if b is None else [a, b]
    absent = [c for c in ("doc_id", "system_id", human, *judges) if c not in frame.columns]
    if absent or (compare and b is None):
        raise ValueError(f"the frame lacks {absent}" if absent else "without a second judge, give an effect")
    rated = _matrix(frame, human)
    found = [_parts(frame, judge, rated, sampling_sd) for judge in judges]
    values = [_value(f[0] + f[1], rated, level, coefficient) for f in found]
    if np.isnan(values).any():
        raise ValueError(f"the correlation of {judges} with {human!r} is undefined: {values}")
    if compare and values[1] > values[0]:
        found, values = found[::-1], values[::-1]
    base, residual, true, sampling = found[0]
    if shared is None:
        shared = _shared(*found) if b is not None else 1.0
    kept = np.sqrt(true / np.nanvar(residual)) if true > 0 else 0.0
    return Study(base, kept * residual, rated, sampling, shared, values[0] - values[-1], alpha, simulations,
                 {"level": level, "coefficient": coefficient, "units": units})


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
    replicates = max(100, 40_000 // (size[0] * size[1]))
    base, residual, human, own, error, _ = _resampled(study, size, replicates, rng)
    options = [study.test[k] for k in ("level", "coefficient")]
    value = _value(base + residual + error, human, *options)
    seconds = (_second(study, base, residual, spread, own) + error for spread in _SPREADS)
    return np.maximum.accumulate([value - _value(b, human, *options) for b in seconds]), _SPREADS


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
    items, found = size[0] * size[1], []
    group = items if study.test["level"] == "dataset" else size[1]
    chunk = max(1, _CELLS // (items * (1 if study.test["coefficient"] == "pearson" else group)))
    for start in range(0, study.simulations, chunk):
        replicates = min(chunk, study.simulations - start)
        base, residual, human, own, *errors = _resampled(study, size, replicates, rng)
        judges = base + residual, _second(study, base, residual, spread, own)
        found.append(paired_z(*(j + e for j, e in zip(judges, errors)), human, **study.test))
    difference, p = np.concatenate(found, axis=1)
    defined = difference[~np.isnan(difference)]
    return float((p <= study.alpha).mean()), float(defined.mean()) if len(defined) else np.nan


def _resampled(study, size, replicates, rng):
    """Base, residual, ratings, b's own noise and each judge's sampling noise; all replicates x size."""
    indices = [_drawn(available, wanted, replicates, study.test["units"] != fixed, rng) for
               available, wanted, fixed in zip(study.human.shape, size, ("systems", "documents"))]
    base, residual, human = (m[indices[0][:, :, None], indices[1][:, None, :]] for m in study[:3])
    own, *errors = rng.standard_normal((3, *base.shape))
    sampling = np.nan_to_num(study.sampling) / np.sqrt(size[2])
    return base, residual, human, own, *(sampling * e for e in errors)


def _drawn(available, size, n, replace, rng):
    if replace:
        return rng.integers(available, size=(n, size))
    return rng.permuted(np.tile(np.arange(available), (n, 1)), axis=1)[:, :size]


def _second(study, base, residual, spread, own):
    return base + study.shared * residual + spread * np.nanstd(study.base + study.residual) * own


def _matrix(frame, column):
    if np.isinf(frame[column].to_numpy(float)).any():
        raise ValueError(f"infinite scores in {column!r}; use NaN for a missing score")
    return frame.groupby(["doc_id", "system_id"])[column].mean().unstack("system_id").to_numpy(float)


def _parts(frame, judge, human, sampling_sd):
    """Item means as base and residual, the residual's variance without sampling noise, and that noise.

    The residual is what documents, systems and the human ratings (linearly) do not explain.
    """
    x, groups = _matrix(frame, judge), frame.groupby(["doc_id", "system_id"])[judge]
    counts = groups.count()
    if sampling_sd is None and counts.max() > 1:
        sampling_sd = np.sqrt((groups.var() * (counts - 1)).sum() / (counts - 1).clip(lower=0).sum())
    deviation, rated = (_centred(np.where(np.isnan(x + human), np.nan, m)) for m in (x, human))
    spread = np.nansum(rated**2)
    residual = deviation - (np.nansum(deviation * rated) / spread if spread > 0 else 0) * rated
    freedom = np.prod([1 - 1 / n for n in x.shape if n > 1])
    noise = (sampling_sd or 0) ** 2 * (1 / counts[counts > 0]).mean() * freedom
    return x - residual, residual, max(float(np.nanvar(residual)) - noise, 0.0), \
        np.nan if sampling_sd is None else float(sampling_sd)


def _shared(first, second):
    true = first[2] * second[2]
    return float(np.clip(np.nanmean(first[1] * second[1]) / np.sqrt(true), 0, 1)) if true > 0 else 1.0


def _centred(x):
    for axis in (0, 1):
        if x.shape[axis] > 1:
            x = x - np.nanmean(x, axis=axis, keepdims=True)
    return x


def _value(x, y, level, coefficient):
    """Mean correlation over all but the last two axes, which are documents x systems."""
    width = x.shape[-1] * (x.shape[-2] if level == "dataset" else 1)
    found = grouped(x.reshape(-1, width), y.reshape(-1, width), coefficient)
    return float(np.nanmean(found)) if (~np.isnan(found)).any() else np.nan
