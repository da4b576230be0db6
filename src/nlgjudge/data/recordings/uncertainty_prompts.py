"""Log-probabilities under several prompts of one meaning, item by item (Sheng et al. 2025).

These files repeat no human rating, so the prompts must agree with each other within articles.
"""

import math

import numpy as np
import pandas as pd

from nlgjudge.data.recordings import OrderUnknown
from nlgjudge.data.recordings.uncertainty import RATINGS, likeliest, read_logprobs

# The order is refused if a prompt's mean correlation with the other prompts, within articles, is lower.
AGREEMENT = 0.75


def read(content, part, spec, items):
    """Rows of a file of one aspect; a sample is a prompt."""
    prompts = spec.samples
    items = items.sort_values("doc_id", kind="stable")
    logprobs, _ = read_logprobs(content, [*RATINGS])
    if len(logprobs) != len(items) * prompts:
        raise ValueError(
            f"expected {prompts} rows for each of {len(items)} items, got {len(logprobs)}"
        )
    by_prompt = logprobs.reshape(len(items), prompts, len(RATINGS))
    numbered = enumerate(_agreement(by_prompt, items["doc_id"]), 1)
    low = [f"{number} ({value:.2f})" for number, value in numbered if not value >= AGREEMENT]
    if low:
        raise OrderUnknown(
            f"expected each prompt's ratings to correlate by {AGREEMENT} or more with those under the "
            f"other prompts, within articles, got less for prompt {', '.join(low)}"
        )
    rows = []
    for prompt in range(prompts):
        rows += likeliest(items["item_id"], part, by_prompt[:, prompt], prompt)
    return rows


def _agreement(by_prompt, documents):
    """Mean correlation of each prompt's expected rating with the others', within articles."""
    weights = np.exp(np.where(np.isnan(by_prompt), -math.inf, by_prompt))
    with np.errstate(invalid="ignore"):
        expected = weights @ np.arange(1.0, 1 + len(RATINGS)) / weights.sum(axis=-1)
    frame = pd.DataFrame(expected)
    centred = frame - frame.groupby(documents.to_numpy()).transform("mean")
    correlations = centred.corr().to_numpy(copy=True)
    np.fill_diagonal(correlations, math.nan)
    return np.nanmean(correlations, axis=1)
