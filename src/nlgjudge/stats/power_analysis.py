"""Power of a comparison of two judges, and the smallest difference that a design can detect.

Simulated from the data at hand (Card et al. 2020, "With Little Power Comes Great
Responsibility"): documents and systems are resampled, judge a is the data's, judge b is a with
noise that lowers its correlation with the human ratings by the effect. System level is left
out: noise that is independent between items says nothing of biases towards systems.
"""

from itertools import product

import numpy as np
import pandas as pd
import scipy  # which imports `scipy.stats` where it is first used, in half a second

from nlgjudge.stats.simulation import DrawnStudies, calibrated, fitted, rejections

_STEPS = 8  # of the bisection


def power(
    frame,
    a,
    b,
    human,
    *,
    documents,
    systems,
    rng,
    samples=1,
    effect=None,
    calls_per_item=1,
    **options,
):
    """Share of simulated studies that tell two judges apart.

    Parameters
    ----------
    frame : pandas.DataFrame
        `doc_id`, `system_id`, `a`, `human` and `b`, NaN for a missing score. Several rows
        per pair of keys are a judge's samples of the item.
    a, human : str
    b : str or None
        Second judge, of which `effect` and `shared` are estimated.
    documents, systems, samples, effect : number or sequence of numbers
        Designs, all combinations. `effect` is how much lower b's correlation is on average
        over studies of the design; the observed difference by default (a is then the better).
    rng : numpy.random.Generator
    calls_per_item : int
        Judge calls per sample of an item.
    **options
        `alpha` (0.05, two-sided), `simulations` (200), `level` ("sample" or "dataset"), `coefficient`
        ("spearman"; Kendall's is tau b), `units` ("both"; what is resampled and what the
        test takes to vary, the others are drawn without replacement), `sampling_sd`
        (deviation of an item's samples, both judges'; from a's repeated rows) and `shared`
        (in [0, 1], correlation of the judges' deviations from the human ratings; that of a
        and b, or 1 without b: a plus noise, the easiest case, and no rejection without effect).

    Returns
    -------
    pandas.DataFrame
        `documents, systems, samples, effect, power, mc_error` (standard error of the
        power), `difference` (mean over simulations) and `calls` (both judges').

    Raises
    ------
    ValueError
        For unknown options, missing columns, an effect out of reach, designs that are too
        small, or several samples of unknown deviation.

    Examples
    --------
    >>> import numpy as np
    >>> import nlgjudge as nj
    >>> sample = nj.load("summeval", "sample")
    >>> frame = sample.human()
    >>> frame["judge"] = (frame["coherence"] + frame["fluency"]) / 2
    >>> found = power(frame, "judge", None, "coherence", documents=[6, 24], systems=4, effect=0.3,
    ...               simulations=50, rng=np.random.default_rng(0))
    >>> found[["documents", "systems", "effect", "power", "calls"]]
       documents  systems  effect  power  calls
    0          6        4     0.3   0.12     48
    1         24        4     0.3   0.32    192
    """
    study = fitted(frame, a, b, human, compare=effect is None, **options)
    effects = np.atleast_1d(study.observed if effect is None else effect).astype(float)
    rows = []
    for size in _designs(study, documents, systems, samples):
        curve = calibrated(study, size, rng)
        for drop in effects:
            share, difference = rejections(study, size, _spread(curve, drop), rng)
            rows.append((*size, drop, share, _error(share, study.simulations), difference))
    return _table(rows, "difference", calls_per_item)


def smallest_detectable(
    frame,
    a,
    b,
    human,
    *,
    documents,
    systems,
    rng,
    samples=1,
    power=0.8,
    calls_per_item=1,
    **options,
):
    """Effect at which a design reaches a given power, by bisection on common random numbers.

    Parameters
    ----------
    power : float
        In (alpha, 1).
    frame, a, b, human, documents, systems, rng, samples, calls_per_item, **options
        As for `nlgjudge.stats.power_analysis.power`, which raises the same errors.

    Returns
    -------
    pandas.DataFrame
        `documents, systems, samples, effect` (NaN where none reaches the power), `power`
        (the one asked for), `mc_error` (standard error of the effect: that of the power
        over the slope of a probit line through the bisection), `reason` (why the effect is
        NaN, empty otherwise) and `calls`.

    Examples
    --------
    >>> import numpy as np
    >>> import nlgjudge as nj
    >>> sample = nj.load("summeval", "sample")
    >>> frame = sample.human()
    >>> frame["judge"] = (frame["coherence"] + frame["fluency"]) / 2
    >>> found = smallest_detectable(frame, "judge", None, "coherence", documents=[24, 60], systems=4,
    ...                             power=0.5, simulations=50, rng=np.random.default_rng(0))
    >>> found[["documents", "systems", "effect", "power", "calls"]].round(2)
       documents  systems  effect  power  calls
    0         24        4    0.67    0.5    192
    1         60        4    0.38    0.5    480
    """
    study = fitted(frame, a, b, human, **options)
    if not study.alpha < power < 1:
        raise ValueError(f"power={power}: expected a share between alpha={study.alpha} and 1")
    rows = []
    for size in _designs(study, documents, systems, samples):
        curve = calibrated(study, size, rng)
        studies = DrawnStudies(study, size, seed=int(rng.integers(2**62)))

        def at(drop, studies=studies, curve=curve):
            return studies.rejections(_spread(curve, drop))[0]

        drops, _ = curve
        effect, error, reason = _bisected(
            at, max(0.0, drops[0]), drops[-1], power, study.simulations
        )
        rows.append((*size, effect, power, error, reason))
    return _table(rows, "reason", calls_per_item)


def _table(rows, last, calls_per_item):
    names = ["documents", "systems", "samples", "effect", "power", "mc_error", last]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(calls=2 * table[names[:3]].prod(axis=1) * calls_per_item)


def _designs(study, documents, systems, samples):
    """Yield every combination as documents, systems and samples, or say why there can be no such study."""
    most_documents, most_systems = study.human.shape
    least_systems = {"dataset": 1, "sample": 3}[study.test["level"]]
    units = study.test["units"]
    numbers = [np.atleast_1d(given).tolist() for given in (documents, systems, samples)]
    for size in product(*numbers):
        n_documents, n_systems, n_samples = size
        too_small = n_documents < 2 or n_systems < least_systems or n_samples < 1
        if too_small or (n_systems > 1 and most_systems == 1):
            raise ValueError(
                f"documents, systems, samples = {size}: expected at least 2, {least_systems} "
                f"and 1, and one system where the data have one (they have {most_systems})"
            )
        if n_samples > 1 and np.isnan(study.sampling):
            raise ValueError(
                f"samples={n_samples}: the frame has one sample per item, so give sampling_sd"
            )
        if units == "documents" and n_systems > most_systems:
            raise ValueError(_too_many(units, most_systems, n_systems))
        if units == "systems" and n_documents > most_documents:
            raise ValueError(_too_many(units, most_documents, n_documents))
        yield size


def _too_many(units, most, given):
    return (
        f"units={units!r} draws the rest without replacement: expected at most {most}, got {given}"
    )


def _spread(curve, drop):
    """Spread of judge b's own noise at which its correlation is lower by `drop`."""
    drops, spreads = curve
    if not drops[0] <= drop <= drops[-1]:
        raise ValueError(
            f"effect={drop:.3f}: on these data noise lowers b's correlation by {drops[0]:.3f} "
            f"to {drops[-1]:.3f}; choose one between, and an a that agrees with the ratings"
        )
    return np.sqrt(
        np.interp(drop, drops, spreads**2)
    )  # a small loss is linear in the noise's variance


def _error(share, simulations):
    """Standard error of a share, with one more success and failure so that it is never 0."""
    share = (share * simulations + 1) / (simulations + 2)
    return np.sqrt(share * (1 - share) / simulations)


def _bisected(at, low, high, power, simulations):
    """Effect, its standard error, and why it is NaN."""
    effects = [low, high]
    shares = [at(low), at(high)]
    if shares[1] < power or shares[0] >= power:
        reached = f"power {shares[0]:.2f} to {shares[1]:.2f}"
        return np.nan, np.nan, f"{reached} at effects {low:.2f} to {high:.2f}"
    for _ in range(_STEPS):
        middle = (low + high) / 2
        share = at(middle)
        effects.append(middle)
        shares.append(share)
        if share < power:
            low = middle
        else:
            high = middle
    slope = _slope(np.array(effects), np.array(shares), power)
    error = _error(power, simulations) / slope if slope > 0 else np.nan
    return (low + high) / 2, error, ""


def _slope(effects, shares, power):
    """How fast the power rises with the effect, by a probit line through the shares near it; 0 if unknown."""
    near = (np.abs(shares - power) < 0.35) & (shares < 0.99)
    if near.sum() < 2:
        return 0
    slope, _ = np.polyfit(effects[near], scipy.stats.norm.ppf(shares[near].clip(0.01)), 1)
    return slope * scipy.stats.norm.pdf(scipy.stats.norm.ppf(power))
