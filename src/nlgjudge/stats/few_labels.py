"""A certificate, or a refusal, from a judge's scores of N documents and labels for n of them.

A system's mean is the regression estimator of double sampling (Cochran 1977, chapter 12), which is
prediction-powered inference with its best weight (Angelopoulos et al. 2023); the weight is pooled over
systems. Every interval leaves out each labelled document in turn. Pairs of systems are decided by Holm's
procedure or by step-down sign flips (Romano and Wolf 2005). `beyond_few_labels` measures what holds.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

LEVELS = ("sample", "dataset", "system")
COEFFICIENTS = ("spearman", "pearson", "kendall")
FEWEST, USABLE, DIFFERING, SYSTEMS, HIGHEST = 10, 8, 5, 10, 0.97
_FLIPS = 1999


class FewLabels(NamedTuple):
    """What n labelled documents of N show about a judge; NaN and empty tables where refused.

    Attributes
    ----------
    labelled, documents, systems : int
        n, N and the number of systems.
    saved, saved_low, saved_high : float
        Share of labels saved, rho² (1 - n/N), and the ends of its interval, in [0, 1].
    means : pandas.DataFrame
        `system_id, value, ci_low, ci_high, labels_alone, judge`; `judge` is False where the labels are
        at the scale's end and a betting interval without the judge is given.
    pairs : pandas.DataFrame
        `better, worse, difference, p, decided, judge_agrees`; p is corrected for all pairs.
    value, ci_low, ci_high : float
        The judge's correlation with the labels at the chosen level, in [-1, 1].
    usable : int
        Documents on which that rests.
    verdict : {"yes", "no", "not yet", ""}
        Good enough against the bar; empty without one.
    more : float
        Further documents for which a difference of `margin` would be seen with a power of 80%.
    cost : float
        The judge's highest system is at most this far below the best one, in points.
    refused : list of str
        What is not given, why, and what to do.
    sentences : list of str
        The result; the first is the limit on what a judge can save.
    paper : str
        One paragraph for a paper; empty if everything is refused.
    """

    labelled: int
    documents: int
    systems: int
    saved: float
    saved_low: float
    saved_high: float
    means: pd.DataFrame
    pairs: pd.DataFrame
    value: float
    ci_low: float
    ci_high: float
    usable: int
    verdict: str
    more: float
    cost: float
    refused: list
    sentences: list
    paper: str


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
        `doc_id, system_id`, and the columns `metric` and `human`. A document is labelled if `human` is
        given for all systems, and judged if `metric` is; others are left out.
    metric, human : str
    scale : tuple of float
        Lowest and highest label.
    metric_scale : tuple of float, optional
        The same for the judge; the labels' by default. ``(-inf, inf)`` for a metric without a scale.
    level : {"sample", "dataset", "system"}
    coefficient : {"spearman", "pearson", "kendall"}
        At system level Pearson only.
    bar : float, str or list of str, optional
        What the judge must reach: a correlation, the column of a second judge, or the columns of at
        least two raters, whose agreement with each other is the bar.
    margin : float, optional
        A difference in correlation that you want to see, for `more`.
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
        For an unknown level or coefficient, or a repeated document and system.
    KeyError
        For a missing column.
    """
    if level not in LEVELS or coefficient not in COEFFICIENTS:
        raise ValueError(
            f"expected a level of {', '.join(LEVELS)} and a coefficient of {', '.join(COEFFICIENTS)}; "
            f"got {level!r} and {coefficient!r}"
        )
    others = [bar] if isinstance(bar, str) else list(bar) if isinstance(bar, (list, tuple)) else []
    Y, judged, others, ids, dropped = _arrays(frame, metric, human, others)
    known = np.isfinite(Y).all(axis=1)
    n, total, systems = int(known.sum()), *judged.shape
    labels, scores = Y[known], judged[known]
    data = labels, scores, judged
    why = _refusal(data, known, scale, metric_scale or scale, drawn, look, looks)
    if why:
        return _nothing(n, total, systems, why)
    alpha, refused = 0.05 / looks, list(dropped)
    means, pseudo, covariance, saved = _means(data, ids, scale, alpha, refused)
    pairs = _pairs(data, means, pseudo, covariance, ids, alpha, seed, refused)
    cost = _cost(data, means, covariance, scale, alpha)
    usable_systems = int(means["judge"].sum())
    found = _correlation(data, level, coefficient, alpha, usable_systems, refused)
    verdict, more = _good_enough(
        data,
        [other[known] for other in others],
        found,
        bar,
        margin,
        level,
        coefficient,
        alpha,
        refused,
    )
    value, low, high, usable, _ = found
    result = FewLabels(
        n,
        total,
        systems,
        *saved,
        means,
        pairs,
        value,
        low,
        high,
        usable,
        verdict,
        more,
        cost,
        refused,
        [],
        "",
    )
    sentences, paper = _said(result, metric, level, coefficient, bar, margin, scale, looks)
    return result._replace(sentences=sentences, paper=paper)


def _arrays(frame, metric, human, others):
    """Documents x systems: labels, scores, the columns of the bar; system names; what was left out."""
    keys = ["doc_id", "system_id"]
    lacking = [c for c in [*keys, metric, human, *others] if c not in frame]
    if lacking:
        raise KeyError(f"expected columns {', '.join(lacking)}; got {', '.join(map(str, frame))}")
    if frame.duplicated(keys).any() or frame[keys].isna().any().any():
        raise ValueError("expected one row per document and system; got repeated or missing ids")
    wide = [
        frame.pivot(index="doc_id", columns="system_id", values=c) for c in [human, metric, *others]
    ]
    complete = wide[1].notna().all(axis=1)
    labels, scores, *rest = [np.round(table[complete].to_numpy(float), 9) for table in wide]
    partly = (np.isfinite(labels).any(axis=1) & ~np.isfinite(labels).all(axis=1)).sum()
    dropped = []
    if (~complete).any():
        dropped.append(f"{(~complete).sum()} documents lack a score of the judge and are left out.")
    if partly:
        dropped.append(
            f"{partly} documents are labelled for some systems only and count as unlabelled."
        )
    return labels, scores, rest, list(wide[0].columns), dropped


def _refusal(data, known, scale, metric_scale, drawn, look, looks):
    """Why nothing can be certified; empty if something can."""
    labels, scores, judged = data
    n, (total, systems) = len(labels), judged.shape
    if drawn != "random":
        return (
            f"The labelled documents were chosen ({drawn}), not drawn at random, so they do not stand for the "
            "others. Draw documents at random and label those."
        )
    if look > looks:
        return (
            f"This is look {look} of {looks} planned. Every further look raises the error, so it needs labels of "
            "new documents, or a plan with more looks from the start."
        )
    if n < FEWEST or systems < 2:
        return (
            f"{n} labelled documents and {systems} systems: at least {FEWEST} and 2 are needed. "
            f"Label {max(FEWEST - n, 0)} more documents, each for all systems."
        )
    for name, values, (low, high) in (("label", labels, scale), ("score", judged, metric_scale)):
        outside = ((values < low) | (values > high)).sum()
        if outside:
            return (
                f"{outside} {name}s lie outside the scale from {low:g} to {high:g}. "
                "Correct them, empty codes for missing values, or give the right scale."
            )
    if n < total:
        here, rest = scores.mean(axis=1), judged[~known].mean(axis=1)
        if np.ptp(judged.mean(axis=1)) > 1e-9 and _different(here, rest):
            return (
                f"The judge's mean score is {here.mean():.2f} on the labelled documents and {rest.mean():.2f} on the "
                "others, which a random draw gives less than once in a thousand. Draw documents at random."
            )
    return ""


def _different(here, rest):
    pooled = np.concatenate([here, rest]).std(ddof=1)
    error = pooled * np.sqrt(1 / len(here) + 1 / len(rest))
    return abs(here.mean() - rest.mean()) > scipy.stats.norm.isf(0.0005) * error


def _nothing(n, total, systems, why):
    nan, table = np.nan, pd.DataFrame()
    said = [f"**Refused.** {why}"]
    return FewLabels(
        n,
        total,
        systems,
        nan,
        nan,
        nan,
        table,
        table,
        nan,
        nan,
        nan,
        0,
        "",
        nan,
        nan,
        [why],
        said,
        "",
    )


def _pseudo(statistic, n):
    """The statistic of all labelled documents, and n times it minus n - 1 times it without each."""
    whole = np.asarray(statistic(np.ones(n, dtype=bool)))
    left = np.array([statistic(np.arange(n) != i) for i in range(n)])
    return whole, n * whole - (n - 1) * left


def _ratio(a, b):
    return np.divide(a, b, out=np.zeros(len(a)), where=b > 1e-9)


def _assisted(labels, scores, judged):
    """Each system's mean with the judge's help; last, the pooled correlation across documents."""
    of_labels, of_scores = labels.std(axis=0, ddof=1), judged.std(axis=0)
    together = ((labels - labels.mean(axis=0)) * (scores - scores.mean(axis=0))).sum(axis=0) / (
        len(labels) - 1
    )
    rho = np.clip(_ratio(together, of_labels * of_scores).mean(), 0, 1)
    weight = rho * _ratio(of_labels, of_scores)
    return np.append(
        labels.mean(axis=0) + weight * (judged.mean(axis=0) - scores.mean(axis=0)), rho
    )


def _means(data, ids, scale, alpha, refused):
    """Table of the means, pseudo-values, their covariance matrix, and the share of labels saved."""
    labels, scores, judged = data
    n, total = len(labels), len(judged)
    whole, pseudo = _pseudo(lambda rows: _assisted(labels[rows], scores[rows], judged), n)
    rho, of_rho = whole[-1], pseudo[:, -1]
    theta, pseudo = whole[:-1], pseudo[:, :-1]
    covariance = (1 / n - 1 / total) * np.cov(pseudo.T) + np.cov(labels.T) / total
    quantile = scipy.stats.t.isf(alpha / 2, n - 1)
    half = quantile * np.sqrt(np.diag(covariance))
    modal = [np.unique(column, return_counts=True)[1].max() for column in labels.T]
    judge = n - np.array(modal) >= DIFFERING
    table = pd.DataFrame(
        {"system_id": ids, "value": theta, "ci_low": theta - half, "ci_high": theta + half}
    )
    table["labels_alone"], table["judge"] = labels.mean(axis=0), judge
    for i in np.flatnonzero(~judge):
        bounds = _betting(labels[:, i], scale, alpha)
        table.loc[i, ["value", "ci_low", "ci_high"]] = [labels[:, i].mean(), *bounds]
    if not judge.all():
        refused.append(
            f"{(~judge).sum()} of {len(ids)} systems have fewer than {DIFFERING} labelled documents off their most "
            "frequent label, so a judge cannot help and a t interval would be too short: a betting interval, valid "
            "and wide, is given. Label more documents, or use a finer scale."
        )
    reach = quantile * of_rho.std(ddof=1) / np.sqrt(n)
    ends = np.clip([rho, rho - reach, rho + reach], 0, 1) ** 2 * (1 - n / total)
    return table, pseudo, covariance, ends


def _betting(values, scale, alpha, grid=1001):
    """Interval for a bounded mean (Waudby-Smith and Ramdas 2024, section 4.4, hedged capital)."""
    low, high = scale
    x, n, m = (values - low) / (high - low), len(values), np.linspace(0, 1, grid)
    steps = np.arange(1, n + 1)
    running = (0.5 + np.cumsum(x)) / (steps + 1)
    spread = (0.25 + np.cumsum((x - running) ** 2)) / (steps + 1)
    bets = np.sqrt(2 * np.log(2 / alpha) / (n * np.append(0.25, spread[:-1])))[:, None]
    with np.errstate(divide="ignore"):
        up = np.log1p(np.minimum(bets, 0.5 / m) * (x[:, None] - m)).cumsum(axis=0)
        down = np.log1p(-np.minimum(bets, 0.5 / (1 - m)) * (x[:, None] - m)).cumsum(axis=0)
    inside = np.flatnonzero((np.maximum(up, down) < np.log(2 / alpha)).all(axis=0))
    ends = np.clip(m[inside[[0, -1]]] + [-m[1], m[1]], 0, 1)
    return low + (high - low) * ends


def _pairs(data, means, pseudo, covariance, ids, alpha, seed, refused):
    """Which of each pair of systems is better, and whether that is decided."""
    labels, _, judged = data
    n, theta = len(labels), _assisted(*data)[:-1]
    first, second = np.triu_indices(len(ids), 1)
    difference = theta[first] - theta[second]
    spread = (
        np.diag(covariance)[first] + np.diag(covariance)[second] - 2 * covariance[first, second]
    )
    differing = (np.abs(labels[:, first] - labels[:, second]) > 1e-9).sum(axis=0)
    usable = (differing >= DIFFERING) & (spread > 1e-12)
    t = np.zeros(len(first))
    t[usable] = np.abs(difference[usable]) / np.sqrt(spread[usable])
    p = (
        _holm(t, n)
        if n < 20
        else _stepdown(t, (pseudo[:, first] - pseudo[:, second])[:, usable], usable, seed)
    )
    p = np.where(usable, p, 1)
    if not usable.all():
        refused.append(
            f"{(~usable).sum()} of {len(first)} pairs of systems differ on fewer than {DIFFERING} labelled documents "
            "and stay undecided. Label more documents."
        )
    up = difference >= 0
    names = np.array(ids, dtype=object)
    agrees = np.sign(
        np.round(judged.mean(axis=0)[first] - judged.mean(axis=0)[second], 9)
    ) == np.sign(difference)
    table = pd.DataFrame({"better": np.where(up, names[first], names[second])})
    table["worse"] = np.where(up, names[second], names[first])
    table["difference"], table["p"], table["decided"] = np.abs(difference), p, p <= alpha
    table["judge_agrees"] = agrees
    return table.sort_values("p", kind="stable", ignore_index=True)


def _holm(t, n):
    p, order = 2 * scipy.stats.t.sf(t, n - 1), np.argsort(-t, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(t), 0, -1))
    return np.minimum(steps[np.argsort(order)], 1)


def _stepdown(t, differences, usable, seed):
    """Step-down p-values from the highest of the sign-flipped statistics that are left."""
    n = len(differences)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (_FLIPS, n))
    flipped = signs @ differences / n
    flipped = np.abs(flipped) / np.sqrt(
        ((differences**2).mean(axis=0) - flipped**2).clip(1e-12) / (n - 1)
    )
    order = np.argsort(-t[usable], kind="stable")
    highest = np.maximum.accumulate(flipped[:, order[::-1]], axis=1)[:, ::-1]
    steps = (1 + (highest >= t[usable][order]).sum(axis=0)) / (_FLIPS + 1)
    p = np.ones(len(t))
    p[np.flatnonzero(usable)[order]] = np.maximum.accumulate(steps)
    return p


def _cost(data, means, covariance, scale, alpha):
    """Upper bound of what the judge's highest system lacks, in points.

    The best system is one of the others, so that no correction for their number is needed.
    """
    labels, _, judged = data
    n, winner, theta = len(labels), judged.mean(axis=0).argmax(), _assisted(*data)[:-1]
    spread = np.diag(covariance) + covariance[winner, winner] - 2 * covariance[winner]
    bound = theta - theta[winner] + scipy.stats.t.isf(alpha, n - 1) * np.sqrt(spread.clip(0))
    apart = labels - labels[:, [winner]]
    better = (apart > 1e-9).sum(axis=0)
    # With few differences: a document can add the whole scale at most (Clopper and Pearson 1934).
    exact = np.where(
        better < n, scipy.stats.beta.isf(alpha, better + 1, np.maximum(n - better, 1)), 1
    )
    bound = np.where(
        (np.abs(apart) > 1e-9).sum(axis=0) >= DIFFERING, bound, exact * (scale[1] - scale[0])
    )
    bound[winner] = 0
    return float(np.clip(bound.max(), 0, scale[1] - scale[0]))


def _one(a, b, coefficient):
    """A coefficient of two vectors, or NaN where one is constant."""
    if np.ptp(a) < 1e-9 or np.ptp(b) < 1e-9:
        return np.nan
    if coefficient == "spearman":
        a, b = scipy.stats.rankdata(a), scipy.stats.rankdata(b)
    return (
        scipy.stats.kendalltau(a, b).statistic
        if coefficient == "kendall"
        else np.corrcoef(a, b)[0, 1]
    )


def _contributions(labels, scores, judged, level, coefficient):
    """A value and each labelled document's part of it; on Fisher's scale but at sample level."""
    n, systems = labels.shape
    if level == "sample":
        each = np.array([_one(a, b, coefficient) for a, b in zip(labels, scores)])
        each = each[np.isfinite(each)] if np.isfinite(each).any() else each[:0]
        return (each.mean() if len(each) else np.nan), each

    def of(rows):
        here = labels[rows]
        if level == "dataset":
            found = _one(here.ravel(), scores[rows].ravel(), coefficient)
        else:  # known means of the judge, and labels' means whose noise is taken off their variance
            centred = here - here.mean(axis=1, keepdims=True)
            noise = centred.var(axis=0, ddof=1).sum() / len(here) / (systems - 1)
            x, y = judged.mean(axis=0), here.mean(axis=0)
            spread = np.var(x, ddof=1) * max(np.var(y, ddof=1) - noise, 1e-9)
            found = np.cov(x, y)[0, 1] / np.sqrt(spread) if spread > 1e-12 else np.nan
        return np.arctanh(np.clip(found, -0.9999, 0.9999))

    return _pseudo(of, n)


def _correlation(data, level, coefficient, alpha, usable_systems, refused):
    """Value, interval and number of documents, and the standard deviation of a document's part."""
    why, n = "", len(data[0])
    if level == "system" and coefficient != "pearson":
        why = "There is no valid interval for ranks of systems' means. Use coefficient='pearson'."
    elif level == "system" and usable_systems < SYSTEMS:
        why = f"At system level at least {SYSTEMS} systems with varying labels are needed; here are {usable_systems}."
    else:
        value, parts = _contributions(*data, level, coefficient)
        usable = len(parts)
        if level == "sample" and usable < USABLE:
            why = (
                f"Only {usable} of {n} labelled documents have a correlation, because elsewhere all systems have the "
                f"same label or score; at least {USABLE} are needed. Label more documents, or use level='dataset'."
            )
        elif not np.isfinite(parts).all():
            why = "The labels or the scores are constant, so there is no correlation."
        elif parts.std() < 1e-9 or (level != "sample" and abs(value) >= np.arctanh(HIGHEST)):
            why = "The correlation is so close to 1 that no interval is valid. Report the value alone."
    if why:
        refused.append(f"No interval for the correlation: {why}")
        return np.nan, np.nan, np.nan, 0, np.nan
    if level == "sample" and usable < 20:
        refused.append(
            f"The correlation rests on {usable} documents: with fewer than 20 it may cover 92% only."
        )
    half = scipy.stats.t.isf(alpha / 2, usable - 1) * parts.std(ddof=1) / np.sqrt(usable)
    if level == "sample":
        ends = np.clip([value, value - half, value + half], -1, 1)
        return *map(float, ends), usable, parts.std(ddof=1)
    ends = np.tanh([value, value - half, value + half])
    return *map(float, ends), usable, parts.std(ddof=1) * (1 - ends[0] ** 2)


def _good_enough(data, others, found, bar, margin, level, coefficient, alpha, refused):
    """Verdict against the bar, and how many more documents show a difference of the margin."""
    labels, scores, judged = data
    value, low, high, usable, spread = found
    more = np.nan
    if margin and np.isfinite(spread):
        needed = (
            (scipy.stats.norm.isf(alpha / 2) + scipy.stats.norm.isf(0.2)) * spread / margin
        ) ** 2
        more = max(float(np.ceil(needed * len(labels) / usable)) - len(labels), 0.0)
    if bar is None or not np.isfinite(value):
        return "", more
    if others:
        low, high = _against(data, others, bar, level, coefficient, alpha)
        if not np.isfinite(low):
            refused.append(
                "No comparison with the bar: too few documents have both correlations, or at system level the raters' "
                "means are not known. Label more documents, or use level='sample'."
            )
            return "", more
        bar = 0
    return "yes" if low >= bar else "no" if high <= bar else "not yet", more


def _against(data, others, bar, level, coefficient, alpha):
    """Interval for the judge's lead over a second judge, or over a rater with the other raters."""
    labels, scores, judged = data
    if isinstance(bar, str):
        pairs = [((labels, scores, judged), (labels, others[0], others[0]))]
    elif level == "system" or len(others) < 2:
        return np.nan, np.nan
    else:
        rest = [np.mean(others[:i] + others[i + 1 :], axis=0) for i in range(len(others))]
        pairs = [((r, scores, judged), (r, o, o)) for r, o in zip(rest, others)]
    leads = [_lead(*pair, level, coefficient) for pair in pairs]
    centre = np.mean([value for value, _ in leads])
    parts = np.mean([parts for _, parts in leads], axis=0)
    parts = parts[np.isfinite(parts)]
    if level == "sample":
        centre = parts.mean() if len(parts) else np.nan
    if len(parts) < USABLE or parts.std() < 1e-9:
        return np.nan, np.nan
    half = scipy.stats.t.isf(alpha / 2, len(parts) - 1) * parts.std(ddof=1) / np.sqrt(len(parts))
    return centre - half, centre + half


def _lead(mine, theirs, level, coefficient):
    """Difference of two correlations and each document's part of it, in the documents' order."""
    if level != "sample":
        (a, of_a), (b, of_b) = (_contributions(*one, level, coefficient) for one in (mine, theirs))
        return a - b, of_a - of_b
    each = [
        [_one(y, f, coefficient) for y, f in zip(labels, scores)]
        for labels, scores, _ in (mine, theirs)
    ]
    parts = np.subtract(*map(np.array, each))
    return np.nan, parts


def _said(found, metric, level, coefficient, bar, margin, scale, looks):
    """The result as sentences, and as a paragraph for a paper."""
    n, total, span = found.labelled, found.documents, scale[1] - scale[0]
    rho2 = found.saved / (1 - n / total) if n < total else 0.0
    saves = f"{found.saved:.0%} [{found.saved_low:.0%}, {found.saved_high:.0%}]"
    first = f"**Labels saved = ρ²(1 − n/N)** = {rho2:.2f} × (1 − {n}/{total}) = {saves}."
    if rho2 < 0.02:
        first += (
            " Nothing is saved: the judge does not follow the labels from document to document."
        )
    decided = found.pairs["decided"]
    wrong = int((decided & ~found.pairs["judge_agrees"]).sum())
    ordered = f"{decided.sum()} of {len(decided)} pairs of systems are decided; the judge orders {wrong} of these wrongly."
    cost = f"Taking the judge's highest system costs at most {found.cost:.2f} of {span:g} points."
    half, alone = (
        (found.means["ci_high"] - found.means["ci_low"]) / 2,
        int((~found.means["judge"]).sum()),
    )
    sentences = [first, f"Means: ± {half.median():.2f} points (median of {found.systems} systems)."]
    sentences += [ordered, cost]
    paper = [
        f"Experts labelled {n} of {total} documents, drawn at random, for {found.systems} systems.",
        f"With the scores of {metric}, {ordered[0].lower()}{ordered[1:].split(';')[0]} (family-wise error 5%).",
        cost,
    ]
    if np.isfinite(found.value):
        what = f"{coefficient.title()} correlation at {level} level"
        text = f"{found.value:.2f} [{found.ci_low:.2f}, {found.ci_high:.2f}]"
        sentences.append(f"{what}: {text}, on {found.usable} documents.")
        paper.append(f"Its {what} is {text} (95%, leaving out each document).")
    if bar is not None and found.verdict:
        kind = (
            "the second judge"
            if isinstance(bar, str)
            else "the raters"
            if isinstance(bar, (list, tuple))
            else bar
        )
        sentences.append(f"Good enough against {kind}: **{found.verdict}**.")
    if margin and np.isfinite(found.more):
        sentences.append(
            f"To see a difference of {margin:g}, label about {found.more:.0f} more documents."
        )
    paper.append(f"The judge saved {saves} of the labels.")
    paper.append("This holds for these systems and raters, and for documents like these.")
    if looks > 1:
        paper.append(f"The error is shared by {looks} planned looks.")
    return sentences + found.refused, " ".join(paper)
