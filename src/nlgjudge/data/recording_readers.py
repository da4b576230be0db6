"""Readers of recorded replies: one function for each published layout.

Sheng et al. 2025 (arXiv 2509.18658) publish log-probabilities of the ratings 1 to 5 on SummEval without
item ids, and not in the same order for all judges. A row belongs to an item by its position, so each
file is compared with the human ratings that its sixth column repeats, and refused unless all rows agree.
A file of several prompts has no such column: its prompts must agree with each other.
"""

import csv
import io
import json
import math

import numpy as np
import pandas as pd

ASPECTS = {
    "coh": "coherence",
    "con": "consistency",
    "flu": "fluency",
    "rel": "relevance",
    "eng": "engagingness",
    "gro": "groundedness",
    "nat": "naturalness",
}
PROMPTS = 5  # of Sheng et al.'s files of several prompts
RATINGS = ("1", "2", "3", "4", "5")
# What the files hold for a rating that was not among the alternatives that the server returned.
FLOOR = math.log(1e-5)
# The order is refused if a prompt's mean correlation with the other prompts, within articles, is lower.
AGREEMENT = 0.75


def read_closer_look(entry, content, items, model, notes):
    """Chiang and Lee 2023 on Topical-Chat, whose rows name texts instead of keys."""
    shown = zip(*(items[field].tolist() for field in ("source", "context", "system_id")))
    keys = dict(zip(shown, items["item_id"].tolist()))
    aspect = ASPECTS[entry.path.split("gpt3.5_")[1].split("_")[0]]
    rows = []
    for row in json.loads(content):
        key = keys.get((row["source"], row["context"], row["system_id"]))
        if key:
            rows += _samples(key, aspect, row["all_responses"])
    return rows


def read_geval(entry, content, items, model, notes):
    """G-Eval's GPT-4, and Chiang and Lee 2023 on SummEval."""
    aspect = ASPECTS[entry.path.split("/")[-1].split("_")[1]]
    rows = []
    for row in json.loads(content):
        rows += _samples(f"{row['doc_id']}/{row['system_id']}", aspect, row["all_responses"])
    return rows


def read_llm_summeval(entry, content, items, model, notes):
    """Shen et al. 2023: a file for each system and aspect."""
    folder, file = entry.path.split("/")[-2:]
    system_id = folder.split("_")[1]
    aspect = file.split("_")[0]
    rows = []
    for line in content.decode("utf-8").splitlines():
        row = json.loads(line)
        rows += _samples(f"{row['id']}/{system_id}", aspect, [row["resp"]])
    return rows


def read_alttest(entry, content, items, model, notes):
    """Calderon et al. 2025: scores of several judges."""
    rows = []
    for key, score in json.loads(content)[model].items():
        doc_id, system_id, aspect = key.split("__")
        rows.append((f"{doc_id}/{system_id}", aspect, 0, str(score)))
    return rows


def read_uncertainty(entry, content, human, model, notes):
    """Sheng et al. 2025, one prompt; `human` is SummEval's mean ratings in released order."""
    aspect = entry.path.split("Summeval_")[1].removesuffix("_logits.csv")
    if model == "gpt-4o-mini":
        human = human.sort_values("doc_id", kind="stable")
    logprobs, given = _logprobs(content, [*RATINGS, aspect])
    expected = human[aspect].to_numpy()
    if len(given) != len(expected):
        raise ValueError(f"expected a row for each of {len(expected)} items, got {len(given)}")
    differ = (~(np.abs(given - expected) < 1e-6)).sum()
    if differ:
        raise ValueError(
            f"the order of rows is not the expected one: the mean human rating differs in {differ} of "
            f"{len(given)} rows"
        )
    return _likeliest(human["item_id"], aspect, logprobs, 0)


def read_uncertainty_prompts(entry, content, human, model, notes):
    """Sheng et al. 2025, five prompts, item by item; without rows if their order is not shown."""
    aspect = entry.path.split("_")[-1].removesuffix(".csv")
    human = human.sort_values("doc_id", kind="stable")
    logprobs, _ = _logprobs(content, [*RATINGS])
    if len(logprobs) != len(human) * PROMPTS:
        raise ValueError(
            f"expected {PROMPTS} rows for each of {len(human)} items, got {len(logprobs)}"
        )
    by_prompt = logprobs.reshape(len(human), PROMPTS, len(RATINGS))
    agreement = _agreement(by_prompt, human["doc_id"])
    numbered = enumerate(agreement, 1)
    low = [f"{number} ({value:.2f})" for number, value in numbered if not value >= AGREEMENT]
    if low:
        notes.append(
            f"{entry.path} of {entry.repository} is left out: its order of rows cannot be shown: "
            f"expected each prompt's ratings to correlate by {AGREEMENT} or more with those under the "
            f"other prompts, within articles, got less for prompt {', '.join(low)}"
        )
        return []
    rows = []
    for prompt in range(PROMPTS):
        rows += _likeliest(human["item_id"], aspect, by_prompt[:, prompt], prompt)
    return rows


READERS = {
    "closer_look": read_closer_look,
    "closer_look_summeval": read_geval,
    "llm_summeval": read_llm_summeval,
    "alttest": read_alttest,
    "geval": read_geval,
    "uncertainty": read_uncertainty,
    "uncertainty_prompts": read_uncertainty_prompts,
}


def _samples(item_id, aspect, replies):
    return [(item_id, aspect, number, str(reply)) for number, reply in enumerate(replies)]


def _logprobs(content, columns):
    """Log-probabilities of the ratings (NaN: not among the alternatives) and the sixth column."""
    lines = list(csv.reader(io.StringIO(content.decode("utf-8"))))
    if not lines or lines[0] != columns:
        raise ValueError(
            f"expected the columns {columns}, got {lines[0] if lines else 'an empty file'}"
        )
    values = np.array(lines[1:], dtype=float)
    logprobs = values[:, : len(RATINGS)]
    if np.isnan(values).any() or (logprobs > 0).any():
        raise ValueError("expected logarithms of probabilities, got one above 0 or none")
    return np.where(logprobs == FLOOR, math.nan, logprobs), values[:, len(RATINGS) :].ravel()


def _likeliest(item_ids, aspect, logprobs, sample_index):
    """Rows with the likeliest rating as text (the lowest of several) and all alternatives."""
    rows = []
    for item_id, line in zip(item_ids.tolist(), logprobs.tolist()):
        found = [[rating, value] for rating, value in zip(RATINGS, line) if not math.isnan(value)]
        text = max(found, key=lambda pair: pair[1])[0] if found else ""
        rows.append((item_id, aspect, sample_index, text, [[text, found]]))
    return rows


def _agreement(by_prompt, documents):
    """Mean correlation of each prompt's expected rating with the others', within articles."""
    weights = np.exp(np.where(np.isnan(by_prompt), -math.inf, by_prompt))
    with np.errstate(invalid="ignore"):
        expected = weights @ np.arange(1.0, 1 + len(RATINGS)) / weights.sum(axis=-1)
    frame = pd.DataFrame(expected)
    centred = frame - frame.groupby(documents.to_numpy()).transform("mean")
    among = centred.corr().to_numpy(copy=True)
    np.fill_diagonal(among, math.nan)
    return np.nanmean(among, axis=1)
