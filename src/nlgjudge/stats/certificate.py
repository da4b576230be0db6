"""A certificate, or a refusal, from a judge's scores of N documents and labels for n of them.

A system's mean is the regression estimator of double sampling (Cochran 1977, chapter 12), which is
prediction-powered inference with its best weight (Angelopoulos et al. 2023), pooled over systems.
Intervals leave out each labelled document. Pairs are decided by Holm's procedure or by step-down
sign flips (Romano and Wolf 2005). The notebook `beyond_few_labels_validity` measures what holds.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from nlgjudge.stats.correlations import check_frame, check_size, column_of
from nlgjudge.stats.double_sampling import (
    correlation_with_interval,
    cost_of_winner,
    estimated,
    interval,
    lead,
    means_of_systems,
    pairs_of_systems,
)

LEVELS = ("sample", "dataset", "system")
COEFFICIENTS = ("spearman", "pearson", "kendall")
LABELLED = 10  # the fewest for which the intervals were verified
FLIPS = 1999
# In percent of draws, lowest and highest of a judge and aspect, with fewer than 20 documents and with more
# (paper_tables/settings/beyond_few_labels.csv).
COVERED = {
    "sample": ((84, 100), (89, 97)),
    "dataset": ((71, 98), (84, 97)),
    "system": ((93, 99), (89, 100)),
}


class FewLabels(NamedTuple):
    """What n labelled documents of N show about a judge; NaN, empty or None where refused.

    Attributes
    ----------
    labelled, documents, systems : int
        n, N and the number of systems.
    saved : tuple of float
        Share of labels saved, rho² (1 - n/N) in [0, 1], and the ends of its interval.
    means : pandas.DataFrame or None
        `system_id, value, ci_low, ci_high, labels_alone, judge`; where `judge` is False, the interval
        is a betting interval from the labels alone. It is given after a look at the labels, so its
        95% are not guaranteed.
    pairs : pandas.DataFrame or None
        `better, worse, difference, p, decided, judge_agrees`; p is corrected for all pairs.
    correlation : tuple of float
        The judge's correlation with the labels in [-1, 1], and the ends of its interval.
    usable : int
        Documents on which the correlation rests.
    verdict : {"yes", "no", "not yet", ""}
        Good enough against the bar; empty without one.
    more : float
        Further documents after which a difference of `margin` is seen with a power of 80%.
    cost : float
        The judge's highest system is at most this far below the best one, in points.
    refused : list of str
        What is not given, why, and what to do.
    sentences : list of str
        The result; the first is the limit on what a judge can save.
    paper : str
        A paragraph for a paper; empty if everything is refused.
    """

    labelled: int
    documents: int
    systems: int
    saved: tuple = (np.nan,) * 3
    means: pd.DataFrame | None = None
    pairs: pd.DataFrame | None = None
    correlation: tuple = (np.nan,) * 3
    usable: int = 0
    verdict: str = ""
    more: float = np.nan
    cost: float = np.nan
    refused: list = []
    sentences: list = []
    paper: str = ""


def few_labels(
    frame,
    metric,
    human,
    *,
    scale,
    metric_scale=None,
    level="sample",
    coefficient="spearman",
    bar=None,
    margin=None,
    drawn="random",
    look=1,
    looks=1,
    seed=0,
):
    """Certify what a judge and a few labelled documents show, or refuse.

    Parameters
    ----------
    frame : pandas.DataFrame
        `doc_id, system_id` and the columns below. A document is labelled if `human` is given for all
        systems; documents without all scores of `metric` are left out.
    metric, human : str
        As for `nlgjudge.correlation`.
    scale : tuple of float
        Lowest and highest label.
    metric_scale : tuple of float, optional
        The same for the judge; the labels' by default. ``(-inf, inf)`` for a metric without a scale.
    level : {"sample", "dataset", "system"}
    coefficient : {"spearman", "pearson", "kendall"}
        At system level Pearson only.
    bar : float, str or list of str, optional
        What the judge must reach: a correlation, the column of a second judge, or the columns of two
        or more raters, whose agreement with each other is the bar.
    margin : float, optional
        A difference in correlation that matters to you.
    drawn : str
        How the labelled documents were chosen; anything but ``"random"`` is refused.
    look, looks : int
        Which of how many planned looks at the growing labels this is; each has 5% / looks.
    seed : int
        Of the sign flips.

    Returns
    -------
    FewLabels

    Raises
    ------
    ValueError
        For an unknown level or coefficient, scores smaller than 1e-6 or larger than 1e100, and as
        `nlgjudge.correlation` does.
    """
    if level not in LEVELS or coefficient not in COEFFICIENTS:
        raise ValueError(
            f"expected a level of {', '.join(LEVELS)} and a coefficient of "
            f"{', '.join(COEFFICIENTS)}; got {level!r} and {coefficient!r}"
        )
    raters = [bar] if isinstance(bar, str) else list(bar) if isinstance(bar, (list, tuple)) else []
    labels, judged, *others, names, refused = _arrays(frame, human, metric, raters)
    known = np.isfinite(labels).all(axis=1)
    n, total, alpha = int(known.sum()), len(judged), 0.05 / looks
    found = FewLabels(n, *judged.shape)
    why = _refusal(labels[known], judged, known, scale, metric_scale or scale, drawn, look, looks)
    if why:
        return found._replace(refused=[why], sentences=[f"**Refused.** {why}"])
    rated = labels[known], judged[known], judged.mean(axis=0)
    estimates, rho = estimated(*rated, judged.std(axis=0), total)
    means = means_of_systems(estimates, names, scale, alpha, refused)
    correlation, usable, spread, why, notice = correlation_with_interval(
        *rated, level, coefficient, alpha, estimates.helped
    )
    more = np.nan
    if margin and not why:
        power = scipy.stats.norm.isf([alpha / 2, 0.2]).sum()
        needed = (power * spread / margin) ** 2 * n / usable
        more = max(float(np.ceil(needed)) - n, 0.0)
    verdict = ""
    if bar is not None and not why:
        low, high, threshold = *correlation[1:], bar
        if raters:
            low, high = lead(*rated, [one[known] for one in others], level, coefficient, alpha)
            threshold = 0
        if np.isfinite(low):
            verdict = "yes" if low >= threshold else "no" if high <= threshold else "not yet"
        else:
            refused.append(
                "No comparison with the bar, because too few documents have both correlations, or "
                "raters are compared at system level. Label more documents, or use level='sample'."
            )
    if why:
        refused.append(f"No interval for the correlation: {why}")
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (FLIPS, n))
    found = found._replace(
        saved=tuple(interval(*rho, alpha).clip(0, 1) ** 2 * (1 - n / total)),
        means=means,
        pairs=pairs_of_systems(estimates, rated[2], names, signs, alpha, refused),
        correlation=correlation,
        usable=usable,
        verdict=verdict,
        more=more,
        cost=float(cost_of_winner(estimates, rated[2], scale[1] - scale[0], alpha)),
        refused=refused,
    )
    return _said(found, metric, level, coefficient, notice, bar, margin)


def _arrays(frame, human, metric, raters):
    """Documents x systems of each column, the systems' names, and what was left out."""
    keys = ["doc_id", "system_id"]
    columns = [human, *(column_of(frame, name, human) for name in [metric, *raters])]
    check_frame(frame, keys, columns)
    check_size(frame, columns, 1e-6)  # nine decimals are kept
    wide = [frame.pivot(index="doc_id", columns="system_id", values=c) for c in columns]
    complete, said = wide[1].notna().all(axis=1), []
    labelled = wide[0][complete].notna()
    partly = (labelled.any(axis=1) & ~labelled.all(axis=1)).sum()
    if not complete.all():
        said.append(f"{(~complete).sum()} documents lack a score of the judge and are left out.")
    if partly:
        said.append(f"{partly} documents have labels of some systems only and count as unlabelled.")
    return *[table[complete].to_numpy(float).round(9) for table in wide], list(wide[0]), said


def _refusal(labels, judged, known, scale, metric_scale, drawn, look, looks):
    """Why nothing can be certified; empty if something can."""
    n, systems = labels.shape
    if drawn != "random":
        return (
            f"The labelled documents were chosen ({drawn}), not drawn at random, so they do not "
            "stand for the others. Draw documents at random and label those."
        )
    if look > looks:
        return (
            f"This is look {look} of {looks} planned, and each unplanned look raises the error. "
            "Plan the looks from the start, or label new documents."
        )
    if n < LABELLED or systems < 2:
        return (
            f"{n} documents are labelled for all of {systems} systems; at least {LABELLED} documents "
            f"and 2 systems are needed. Label {max(LABELLED - n, 0)} more documents, drawn at random."
        )
    for name, values, (low, high) in (
        ("labels", labels, scale),
        ("scores", judged, metric_scale),
    ):
        outside = ((values < low) | (values > high)).sum()
        if outside:
            return (
                f"Number of {name} outside the scale from {low:g} to {high:g}: {outside}. Empty the codes "
                "for missing values, correct the others, or give the right scale."
            )
    here, rest = judged[known].mean(axis=1), judged[~known].mean(axis=1)
    if len(rest) and np.ptp(np.append(here, rest)) > 1e-9:
        error = np.append(here, rest).std(ddof=1) * np.sqrt(1 / len(here) + 1 / len(rest))
        if abs(here.mean() - rest.mean()) > scipy.stats.norm.isf(0.0005) * error:
            return (
                f"The judge's mean score is {here.mean():.2f} on the labelled documents and "
                f"{rest.mean():.2f} on the others, which a random draw gives less than once in a "
                "thousand. Draw documents at random and label those."
            )
    return ""


def _said(found, metric, level, coefficient, notice, bar, margin):
    """The certificate with its sentences, and a paragraph for a paper."""
    n, total = found.labelled, found.documents
    saved = "{:.0%} [{:.0%}, {:.0%}]".format(*found.saved)
    square = found.saved[0] / (1 - n / total) if n < total else 0
    first = f"**Labels saved ≈ ρ²(1 − n/N)** = {square:.2f} × (1 − {n}/{total}) = {saved}."
    if n == total:
        first += " All documents are labelled, so nothing can be saved."
    elif square < 0.02:
        first += (
            " Nothing is saved: the judge does not follow the labels from document to document."
        )
    decided = found.pairs["decided"]
    wrong = (decided & ~found.pairs["judge_agrees"]).sum()
    pairs = f"{decided.sum()} of {len(decided)} pairs of systems are decided"
    half = ((found.means["ci_high"] - found.means["ci_low"]) / 2).median()
    cost = f"aking {metric}'s highest system costs at most {found.cost:.2f} points"
    said = [first, f"Means: ± {half:.2f} points, the median of {found.systems} systems."]
    said += [f"{pairs}, {wrong} of them against {metric}'s order.", f"T{cost}."]
    text = ""
    if np.isfinite(found.correlation[0]):
        text = f"{coefficient.title()} correlation at {level} level is {{:.2f}} [{{:.2f}}, {{:.2f}}]".format(
            *found.correlation
        )
        said.append(f"{text}, from {found.usable} documents.")
        many = found.usable >= 20
        low, high = COVERED[level][many]
        said.append(
            f"With {'20 or more' if many else 'fewer than 20'} documents, such intervals of 95% covered "
            f"in {low} to {high}% of draws, by judge and aspect, where we measured it."
        )
        said += [f"Notice: {notice}."] * bool(notice)
    if found.verdict:
        kind = "the second judge" if isinstance(bar, str) else "the raters"
        kind = kind if isinstance(bar, (str, list, tuple)) else f"{bar:g}"
        said.append(f"Good enough against {kind}: **{found.verdict}**.")
    if np.isfinite(found.more):
        said.append(f"To see a difference of {margin:g}, label {found.more:.0f} more documents.")
    paper = (
        f"Experts labelled {n} of {total} documents, drawn at random, of {found.systems} systems. "
        f"With the scores of {metric}, {pairs} (family-wise error 5%), and t{cost} (95%). "
        + (f"Its {text} (95%, leaving out each document). " if text else "")
        + f"The scores saved {saved} of the labels. "
        "This holds for these systems and raters, and for documents like these."
    )
    return found._replace(sentences=said + found.refused, paper=paper)
