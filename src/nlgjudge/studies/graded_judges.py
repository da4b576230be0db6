"""Judges that give a distribution over ratings, recorded or planted: for `ablation_heads` and `beyond_conformal`.

Recorded are the token probabilities of Sheng et al. 2025 on SummEval. Where they cannot be had, judges with known
error stand in, so that the notebooks run everywhere; what comes of these is marked.
"""

import numpy as np
import pandas as pd

from nlgjudge.data.recordings import if_available
from nlgjudge.judging.heads import from_logprobs
from nlgjudge.judging.scoring import distributions

RATINGS = (1, 2, 3, 4, 5)
RECORDED = {
    "gpt-4o-mini": "uncertainty/gpt-4o-mini",
    "qwen2.5-72b": "uncertainty/qwen2.5-72b",
    "deepseek-r1-32b": "uncertainty/deepseek-r1-32b",
}
PROMPTS = {"gpt-4o-mini": "uncertainty_prompts/gpt-4o-mini", "gpt-4o": "uncertainty_prompts/gpt-4o"}
# Of the planted judges in the place of the three, and of a prompt: how far they err.
ERRORS = (0.5, 0.8, 1.1)


def planted(truth, rng, *, error=0.8, width=0.7, bias=0.0):
    """Make a judge's distributions around a known truth.

    Parameters
    ----------
    truth : array_like
        People's rating of each item.
    rng : numpy.random.Generator
    error : float
        Standard deviation of the distribution's centre around the truth.
    width : float
        Standard deviation that the distribution has where the scale does not cut it.
    bias : float
        Added to every centre.

    Returns
    -------
    numpy.ndarray
        Items by `RATINGS`; NaN where the truth is.

    Examples
    --------
    >>> planted([3.0], np.random.default_rng(0), error=0, width=0.5).round(2).tolist()
    [[0.0, 0.11, 0.79, 0.11, 0.0]]
    """
    truth = np.asarray(truth, dtype=float)
    centre = truth + bias + rng.normal(0, 1, truth.shape) * error
    return from_logprobs(-((centre[..., None] - np.array(RATINGS)) ** 2) / (2 * width**2))


def judges(benchmark, rng):
    """Distributions of three judges over the ratings of SummEval's items.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
        SummEval, or the sample in its place.
    rng : numpy.random.Generator
        Of the planted judges.

    Returns
    -------
    judges : dict of str to dict of str to numpy.ndarray
        By judge and aspect: an array of items, in the order of `Benchmark.human`, by `RATINGS`.
    outside : pandas.DataFrame
        By judge: `median` and `largest` share of probability that lies on no rating, and how many ratings were `unread`
        because none was among the alternatives. Empty for planted judges.
    """
    recorded = _recorded(benchmark, RECORDED)
    if not recorded:
        human = benchmark.human()
        return {
            f"planted, error {error}": {
                aspect: planted(human[aspect], rng, error=error) for aspect in benchmark.aspects
            }
            for error in ERRORS
        }, pd.DataFrame()
    found_judges = {}
    outside = {}
    for judge, replies in recorded.items():
        found = distributions(replies)
        found_judges[judge] = {
            aspect: one for (aspect, _), one in _laid_out(found, benchmark).items()
        }
        outside[judge] = {
            "median": found["outside"].median(),
            "largest": found["outside"].max(),
            "unread": int(found[1].isna().sum()),
        }
    return found_judges, pd.DataFrame(outside).T


def prompts(benchmark, rng):
    """Distributions of a judge under five prompts of one meaning.

    Parameters
    ----------
    benchmark, rng
        As for `judges`.

    Returns
    -------
    dict of str to dict of str to list of numpy.ndarray
        By judge and aspect, an array for each prompt. A judge lacks the aspects whose order could not be shown.
    """
    recorded = _recorded(benchmark, PROMPTS)
    if not recorded:
        human = benchmark.human()
        name = f"planted, error {ERRORS[0]}"
        return {
            name: {
                aspect: [planted(human[aspect], rng, error=ERRORS[0]) for _ in RATINGS]
                for aspect in benchmark.aspects
            }
        }
    found_prompts = {}
    for judge, replies in recorded.items():
        found = _laid_out(distributions(replies), benchmark)
        found_prompts[judge] = {}
        for (aspect, _), one in found.items():
            found_prompts[judge].setdefault(aspect, []).append(one)
    return found_prompts


def _recorded(benchmark, names):
    """Recorded replies by judge; empty where the benchmark is the sample or one of the recordings cannot be had."""
    found = {}
    for judge, name in names.items() if not benchmark.is_sample else ():
        replies = if_available(name, benchmark.items, load=lambda *_: benchmark)
        if replies is None:
            return {}
        found[judge] = replies
    return found


def _laid_out(found, benchmark):
    """An array for each aspect and prompt, in the order of the benchmark's items."""
    order = benchmark.human()["item_id"]
    parts = found[list(RATINGS)].groupby(level=["aspect", "sample_index"], sort=False)
    return {
        key: part.droplevel(["aspect", "sample_index"]).reindex(order).to_numpy()
        for key, part in parts
    }
