"""A certificate, or a refusal, from a judge's scores of N documents and labels for n of them.

A system's mean is the regression estimator of double sampling (Cochran 1977, chapter 12), which is
prediction-powered inference with its best weight (Angelopoulos et al. 2023), pooled over systems.
Intervals leave out each labelled document. Pairs are decided by Holm's procedure or by step-down
sign flips (Romano and Wolf 2005). The notebook `beyond_few_labels_validity` measures what holds.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from nlgjudge.stats import double_sampling
from nlgjudge.stats.correlations import (
    COEFFICIENTS,
    LEVELS,
    Coefficient,
    Level,
    check_frame,
    check_options,
    check_size,
    column_of,
)
from nlgjudge.stats.double_sampling import (
    DIFFERING,
    USABLE,
    betting_interval,
    compare_pairs,
    correlation_estimate,
    correlation_interval,
    cost_of_winner,
    regression_estimates,
    t_interval,
    variance_of_mean,
)
from nlgjudge.stats.intervals import large_part

LABELLED = 10  # the fewest for which the intervals were verified
SYSTEMS = 10  # the same, for a correlation at system level
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
    labelled, documents, systems
        n, N and the number of systems.
    saved
        Share of labels saved, rho² (1 - n/N) in [0, 1], and the ends of its interval.
    means
        `system_id, value, ci_low, ci_high, labels_alone, judge`; where `judge` is False, the interval
        is a betting interval from the labels alone. It is given after a look at the labels, so its
        95% are not guaranteed.
    pairs
        `better, worse, difference, p, decided, judge_agrees`; p is corrected for all pairs.
    correlation
        The judge's correlation with the labels in [-1, 1], and the ends of its interval.
    usable
        Documents on which the correlation rests.
    verdict
        Good enough against the bar: "yes", "no" or "not yet"; empty without a bar.
    more
        Further documents after which a difference of `margin` is seen with a power of 80%.
    cost
        The judge's highest system is at most this far below the best one, in points.
    refused
        What is not given, why, and what to do.
    sentences
        The result; the first is the limit on what a judge can save.
    paper
        A paragraph for a paper; empty if everything is refused.
    """

    labelled: int
    documents: int
    systems: int
    saved: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    means: pd.DataFrame | None = None
    pairs: pd.DataFrame | None = None
    correlation: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    usable: int = 0
    verdict: str = ""
    more: float = np.nan
    cost: float = np.nan
    refused: list[str] = []
    sentences: list[str] = []
    paper: str = ""

    @property
    def method(self) -> ModuleType:
        """The functions behind a certificate, for arrays of many draws at once (`nlgjudge.stats.double_sampling`)."""
        return double_sampling


class _Correlation(NamedTuple):
    """Value and ends, documents it rests on, a document's deviation, why there is no interval, and a notice."""

    ends: tuple = (np.nan, np.nan, np.nan)
    usable: int = 0
    spread: float = np.nan
    reason: str = ""
    notice: str = ""


def few_labels(
    frame: pd.DataFrame,
    metric: str,
    human: str,
    *,
    scale: tuple[float, float],
    metric_scale: tuple[float, float] | None = None,
    level: Level = "sample",
    coefficient: Coefficient = "spearman",
    bar: float | str | Sequence[str] | None = None,
    margin: float | None = None,
    drawn: str = "random",
    look: int = 1,
    looks: int = 1,
    seed: int = 0,
) -> FewLabels:
    """Certify what a judge and a few labelled documents show, or refuse.

    Parameters
    ----------
    frame
        `doc_id, system_id` and the columns below. A document is labelled if `human` is given for all
        systems; documents without all scores of `metric` are left out.
    metric, human
        As for `nlgjudge.correlation`.
    scale
        Lowest and highest label.
    metric_scale
        The same for the judge; the labels' by default. ``(-inf, inf)`` for a metric without a scale.
    level, coefficient
        At system level Pearson only.
    bar
        What the judge must reach: a correlation, the column of a second judge, or the columns of two
        or more raters, whose agreement with each other is the bar.
    margin
        A difference in correlation that matters to you.
    drawn
        How the labelled documents were chosen; anything but ``"random"`` is refused.
    look, looks
        Which of how many planned looks at the growing labels this is; each has 5% / looks.
    seed
        Of the sign flips.

    Raises
    ------
    ValueError
        For an unknown level or coefficient, scores smaller than 1e-6 or larger than 1e100, and as
        `nlgjudge.correlation` does.
    """
    check_options(level=(level, LEVELS), coefficient=(coefficient, COEFFICIENTS))
    rivals = [bar] if isinstance(bar, str) else list(bar) if isinstance(bar, Sequence) else []
    (labels, scores, *rival_scores), names, refused = _arrays(frame, human, metric, rivals)
    labelled = np.isfinite(labels).all(axis=1)
    n = int(labelled.sum())
    total = len(scores)
    alpha = 0.05 / looks
    certificate = FewLabels(n, *scores.shape)
    reason = _refusal(
        labels[labelled], scores, labelled, scale, metric_scale or scale, drawn, look, looks
    )
    if reason:
        return certificate._replace(refused=[reason], sentences=[f"**Refused.** {reason}"])
    score_means = scores.mean(axis=0)
    rated = labels[labelled], scores[labelled], score_means
    estimates, rho = regression_estimates(*rated, scores.std(axis=0), total)
    means = _means_of_systems(estimates, names, scale, alpha, refused)
    correlation = _correlation(rated, level, coefficient, alpha, estimates.helped.sum())
    verdict = ""
    if correlation.reason:
        refused.append(f"No interval for the correlation: {correlation.reason}")
    elif rivals:
        others = [values[labelled] for values in rival_scores]
        low, high = _lead(*rated, others, level, coefficient, alpha)
        verdict = _verdict(low, high, 0, refused)
    elif bar is not None:
        _, low, high = correlation.ends
        verdict = _verdict(low, high, bar, refused)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (FLIPS, n))
    certificate = certificate._replace(
        saved=tuple(t_interval(*rho, alpha).clip(0, 1) ** 2 * (1 - n / total)),
        means=means,
        pairs=_pairs_of_systems(estimates, score_means, names, signs, alpha, refused),
        correlation=correlation.ends,
        usable=correlation.usable,
        verdict=verdict,
        more=_further_documents(correlation, margin, alpha, n),
        cost=float(cost_of_winner(estimates, score_means, scale[1] - scale[0], alpha)),
        refused=refused,
    )
    return _worded(certificate, metric, level, coefficient, correlation.notice, bar, margin)


def _arrays(frame, human, metric, rivals):
    """Labels, scores and rivals' scores as documents x systems, the systems' names, and what was left out."""
    keys = ["doc_id", "system_id"]
    columns = [human, *(column_of(frame, name, human) for name in [metric, *rivals])]
    check_frame(frame, keys, columns)
    check_size(frame, columns, 1e-6)  # nine decimals are kept
    wide = [frame.pivot(index="doc_id", columns="system_id", values=c) for c in columns]
    complete = wide[1].notna().all(axis=1)
    labelled = wide[0][complete].notna()
    partly = (labelled.any(axis=1) & ~labelled.all(axis=1)).sum()
    left_out = []
    if not complete.all():
        left_out.append(
            f"{(~complete).sum()} documents lack a score of the judge and are left out."
        )
    if partly:
        left_out.append(
            f"{partly} documents have labels of some systems only and count as unlabelled."
        )
    arrays = [table[complete].to_numpy(float).round(9) for table in wide]
    return arrays, list(wide[0]), left_out


def _means_of_systems(estimates, names, scale, alpha, refused):
    """A table of the systems' means and intervals; what is not given is added to `refused`."""
    means, pseudo_values, labels, helped, total = estimates
    error = np.sqrt(variance_of_mean(pseudo_values, labels, total))
    half = scipy.stats.t.isf(alpha / 2, len(labels) - 1) * error
    table = pd.DataFrame(
        {
            "system_id": names,
            "value": means,
            "ci_low": means - half,
            "ci_high": means + half,
            "labels_alone": labels.mean(axis=0),
            "judge": helped,
        }
    )
    for i in np.flatnonzero(~helped):
        ends = betting_interval(labels[:, i], scale, alpha)
        table.loc[i, ["value", "ci_low", "ci_high"]] = [labels[:, i].mean(), *ends]
    if not helped.all():
        refused.append(
            f"{(~helped).sum()} of {len(names)} systems have nearly all labels at one value, so that "
            "a judge cannot help and a t interval would be too short: a betting interval from the "
            "labels alone is given. It is wide, but chosen after a look at the labels: if they are "
            "at one value by chance, it is wrong. Label more documents, or use a finer scale."
        )
    return table


def _pairs_of_systems(estimates, score_means, names, signs, alpha, refused):
    """A table of the pairs of systems; what cannot be decided is added to `refused`."""
    difference, p, decidable = compare_pairs(estimates, signs)
    if not decidable.all():
        refused.append(
            f"{(~decidable).sum()} of {len(p)} pairs of systems differ on fewer than {DIFFERING} "
            "labelled documents and stay undecided. Label more documents."
        )
    names = np.array(names, dtype=object)
    first, second = np.triu_indices(len(names), 1)
    judge_difference = score_means[first] - score_means[second]
    table = pd.DataFrame(
        {
            "better": np.where(difference >= 0, names[first], names[second]),
            "worse": np.where(difference >= 0, names[second], names[first]),
            "difference": np.abs(difference),
            "p": p,
            "decided": p <= alpha,
            "judge_agrees": judge_difference * np.sign(difference) > 1e-9,
        }
    )
    return table.sort_values("p", kind="stable", ignore_index=True)


def _correlation(rated, level, coefficient, alpha, varied_systems):
    """The correlation with its interval, or why there is none."""
    if level == "system" and coefficient != "pearson":
        return _Correlation(
            reason="ranks of systems' means have no valid one. Use coefficient='pearson'."
        )
    if level == "system" and varied_systems < SYSTEMS:
        return _Correlation(
            reason=f"only {varied_systems} systems have labels that vary enough, and {SYSTEMS} are "
            "needed. Label more documents, or use level='sample'."
        )
    value, pseudo_values = correlation_estimate(*rated, level, coefficient)
    defined = pseudo_values[np.isfinite(pseudo_values)]
    if len(defined) < USABLE:
        return _Correlation(
            reason=f"only {len(defined)} of {len(pseudo_values)} labelled documents have a correlation; "
            f"elsewhere all systems have the same label or score. {USABLE} are needed. Label more "
            "documents, or use level='dataset'."
        )
    ends, holds = correlation_interval(value, pseudo_values, level, alpha)
    if not holds:
        return _Correlation(
            reason="it is too close to 1, or the same on all documents. Report it alone."
        )
    to_r = 1 if level == "sample" else 1 - ends[0] ** 2  # from Fisher's z
    spread = np.nanstd(pseudo_values, ddof=1) * to_r
    ends = tuple(float(end) for end in ends)
    return _Correlation(ends, len(defined), spread, "", large_part(defined))


def _further_documents(correlation, margin, alpha, n):
    """Further documents after which a difference of `margin` is seen with a power of 80%."""
    if not margin or correlation.reason:
        return np.nan
    power = scipy.stats.norm.isf([alpha / 2, 0.2]).sum()
    needed = (power * correlation.spread / margin) ** 2 * n / correlation.usable
    return max(float(np.ceil(needed)) - n, 0.0)


def _verdict(low, high, threshold, refused):
    """Whether an interval reaches a threshold; what is not given is added to `refused`."""
    if not np.isfinite(low):
        refused.append(
            "No comparison with the bar, because too few documents have both correlations, or "
            "raters are compared at system level. Label more documents, or use level='sample'."
        )
        return ""
    if low >= threshold:
        return "yes"
    return "no" if high <= threshold else "not yet"


def _lead(labels, scores, score_means, others, level, coefficient, alpha):
    """Interval of the judge's lead over a second judge, or over each rater with the rest; NaN if undefined."""
    truths = [labels]
    if len(others) > 1:
        if level == "system":  # raters' means over all documents are not known
            return np.nan, np.nan
        truths = [np.mean(others[:i] + others[i + 1 :], axis=0) for i in range(len(others))]
    values = []
    pseudo_values = []
    for truth, other in zip(truths, others):
        truth = truth.round(9)
        judge_z, judge_parts = correlation_estimate(truth, scores, score_means, level, coefficient)
        other_z, other_parts = correlation_estimate(
            truth, other, other.mean(axis=0), level, coefficient
        )
        values.append(judge_z - other_z)
        pseudo_values.append(judge_parts - other_parts)
    leads = np.mean(pseudo_values, axis=0)
    if np.isfinite(leads).sum() < USABLE or np.nanstd(leads) < 1e-9:
        return np.nan, np.nan
    return t_interval(np.mean(values, axis=0), leads, alpha)[1:]


def _refusal(labels, scores, labelled, scale, metric_scale, drawn, look, looks):
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
        ("scores", scores, metric_scale),
    ):
        outside = ((values < low) | (values > high)).sum()
        if outside:
            return (
                f"Number of {name} outside the scale from {low:g} to {high:g}: {outside}. Empty the codes "
                "for missing values, correct the others, or give the right scale."
            )
    here = scores[labelled].mean(axis=1)
    rest = scores[~labelled].mean(axis=1)
    if len(rest) and np.ptp(np.append(here, rest)) > 1e-9:
        error = np.append(here, rest).std(ddof=1) * np.sqrt(1 / len(here) + 1 / len(rest))
        if abs(here.mean() - rest.mean()) > scipy.stats.norm.isf(0.0005) * error:
            return (
                f"The judge's mean score is {here.mean():.2f} on the labelled documents and "
                f"{rest.mean():.2f} on the others, which a random draw gives less than once in a "
                "thousand. Draw documents at random and label those."
            )
    return ""


def _worded(certificate, metric, level, coefficient, notice, bar, margin):
    """The certificate with its sentences, and a paragraph for a paper."""
    n = certificate.labelled
    total = certificate.documents
    low_high = "{:.0%} [{:.0%}, {:.0%}]".format(*certificate.saved)
    decided = certificate.pairs["decided"]
    wrong = (decided & ~certificate.pairs["judge_agrees"]).sum()
    pairs = f"{decided.sum()} of {len(decided)} pairs of systems are decided"
    half = ((certificate.means["ci_high"] - certificate.means["ci_low"]) / 2).median()
    cost = f"aking {metric}'s highest system costs at most {certificate.cost:.2f} points"
    sentences = [
        _saved(certificate, low_high),
        f"Means: ± {half:.2f} points, the median of {certificate.systems} systems.",
        f"{pairs}, {wrong} of them against {metric}'s order.",
        f"T{cost}.",
    ]
    correlation = ""
    if np.isfinite(certificate.correlation[0]):
        ends = "{:.2f} [{:.2f}, {:.2f}]".format(*certificate.correlation)
        correlation = f"{coefficient.title()} correlation at {level} level is {ends}"
        sentences.append(f"{correlation}, from {certificate.usable} documents.")
        sentences.append(_coverage(certificate.usable, level))
        if notice:
            sentences.append(f"Notice: {notice}.")
    if certificate.verdict:
        kind = "the raters" if isinstance(bar, Sequence) else f"{bar:g}"
        kind = "the second judge" if isinstance(bar, str) else kind
        sentences.append(f"Good enough against {kind}: **{certificate.verdict}**.")
    if np.isfinite(certificate.more):
        more = f"label {certificate.more:.0f} more documents"
        sentences.append(f"To see a difference of {margin:g}, {more}.")
    paper = (
        f"Experts labelled {n} of {total} documents, drawn at random, of {certificate.systems} systems. "
        f"With the scores of {metric}, {pairs} (family-wise error 5%), and t{cost} (95%). "
        + (f"Its {correlation} (95%, leaving out each document). " if correlation else "")
        + f"The scores saved {low_high} of the labels. "
        "This holds for these systems and raters, and for documents like these."
    )
    return certificate._replace(sentences=sentences + certificate.refused, paper=paper)


def _saved(certificate, low_high):
    """The sentence on the share of labels that the judge saves."""
    n = certificate.labelled
    total = certificate.documents
    square = certificate.saved[0] / (1 - n / total) if n < total else 0
    sentence = f"**Labels saved ≈ ρ²(1 − n/N)** = {square:.2f} × (1 − {n}/{total}) = {low_high}."
    if n == total:
        return sentence + " All documents are labelled, so nothing can be saved."
    if square < 0.02:
        sentence += (
            " Nothing is saved: the judge does not follow the labels from document to document."
        )
    return sentence


def _coverage(usable, level):
    """The sentence on how often such intervals held where it was measured."""
    many = usable >= 20
    low, high = COVERED[level][many]
    return (
        f"With {'20 or more' if many else 'fewer than 20'} documents, such intervals of 95% covered "
        f"in {low} to {high}% of draws, by judge and aspect, where we measured it."
    )
