"""What ties do to a coefficient: scores with and without ties, and each document's coefficients.

For `beyond_ties` and `beyond_ties_and_chance`, which look at the same scores. Kendall's tau in its forms a, b and c;
pairwise accuracy after Deutsch, Foster and Freitag 2023.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data import available, load_together, recording
from nlgjudge.judging import item_scores, judge_items, responses, wide
from nlgjudge.stats import grouped, pairwise_accuracy
from nlgjudge.stats.correlations import with_numbered_keys

ASPECTS = ["naturalness", "coherence", "engagingness", "groundedness"]
SCALES = {aspect: (0, 1) if aspect == "groundedness" else (1, 3) for aspect in ASPECTS}
FORMS = {"with steps": "closer_look/geval", "rating, reasons": "closer_look/rate_explain"}
PANEL = [
    f"alttest/{model}"
    for model in ("gpt-4o", "gpt-4o-mini", "gemini_pro", "gemini_flash", "llama-31", "mistral-v03")
]
KINDS = ("one", "mean", "rounded")
COEFFICIENTS = (
    "tau-a",
    "tau-b, skip",
    "tau-b, zero",
    "tau-c, skip",
    "Spearman, skip",
    "Spearman, zero",
    "accuracy, plain",
    "accuracy, calibrated",
)


class Scores(NamedTuple):
    """Three scores of each item, beside people's ratings.

    Attributes
    ----------
    frames : dict of str to pandas.DataFrame
        By data set: `item_id, doc_id, system_id` (the last two as numbers), people's rating in a column for each
        aspect, and the judge's scores in the columns ``one:ASPECT``, ``mean:ASPECT`` and ``rounded:ASPECT``.
    aspects : dict of str to list of str
        By data set, the aspects that were judged.
    replies : dict of str to pandas.DataFrame
        By data set, the ratings read out of each reply.
    people : dict of str to pandas.DataFrame
        By data set, people's mean ratings.
    benchmarks : tuple of nlgjudge.data.schema.Benchmark
        Topical-Chat and SummEval.
    width : float
        To which means are rounded.
    recorded : bool
        Whether the replies are recorded ones.
    notice : str
        Says so where the scores come from the sample.
    """

    frames: dict
    aspects: dict
    replies: dict
    people: dict
    benchmarks: tuple
    width: float
    recorded: bool
    notice: str


def scores(source="auto", grade=1):
    """Three scores of each item of Topical-Chat and SummEval: of one reply, the mean of all, and the mean rounded.

    Parameters
    ----------
    source : {"auto", "real", "sample"}
        On the sample a simple rule-based judge answers, on a small part of the scale; its scores are rounded to a
        twentieth of `grade`.
    grade : float
        Width to which means are rounded, in points of the scale.

    Returns
    -------
    Scores

    Examples
    --------
    >>> found = scores("sample")
    >>> sorted(found.frames)
    ['SummEval, surface', 'Topical-Chat, surface']
    """
    chats, summaries = load_together(["topical_chat", "summeval"], source).values()
    recorded = not (chats.is_sample or summaries.is_sample) and available(*FORMS.values(), *PANEL)
    replies = _recorded(chats) if recorded else _of_the_rule(chats, summaries)
    width = grade if recorded else grade / 20
    humans = {
        "Topical-Chat": chats.human()[lambda f: f["system_id"] != "Original Ground Truth"],
        "SummEval": summaries.human(),
    }
    humans = {name: with_numbered_keys(rated) for name, rated in humans.items()}
    people = {name: humans[name.split(",")[0]] for name in replies}
    aspects = {
        name: [a for a in people[name] if a in found["aspect"].unique()]
        for name, found in replies.items()
    }
    frames = {
        name: people[name].merge(three(found, width), on="item_id")
        for name, found in replies.items()
    }
    for frame in frames.values():
        columns = [column for column in frame if ":" in column]
        frame[columns] = frame[columns].where(frame[columns].notna().all(axis=1))
    notice = "" if recorded else chats.notice or summaries.notice
    return Scores(frames, aspects, replies, people, (chats, summaries), width, recorded, notice)


def _recorded(chats):
    """Replies of gpt-3.5-turbo to two prompts; six models' scores of SummEval, as six replies of a panel."""
    replies = {
        f"Topical-Chat, {form}": responses(recording(name, chats.items), scale=SCALES)
        for form, name in FORMS.items()
    }
    votes = [recording(name).assign(sample_index=i) for i, name in enumerate(PANEL)]
    replies["SummEval, six judges"] = responses(pd.concat(votes))
    return replies


def _of_the_rule(chats, summaries):
    dialogue = [f"geval/dialogue/{aspect}" for aspect in ASPECTS]
    news = [f"geval/summarization/{aspect}" for aspect in summaries.aspects]
    return {
        "Topical-Chat, surface": judge_items(chats.items, dialogue, "surface"),
        "SummEval, surface": judge_items(summaries.items, news, "surface"),
    }


def three(replies, width, samples=None):
    """A score from the first reply, from the mean of the replies, and from that mean rounded.

    Parameters
    ----------
    replies : pandas.DataFrame
        `item_id, aspect, sample_index, score`, a row per reply.
    width : float
        To which the mean is rounded.
    samples : int, optional
        Replies in the mean; all where it is not given.

    Returns
    -------
    pandas.DataFrame
        `item_id` and the columns ``one:ASPECT``, ``mean:ASPECT``, ``rounded:ASPECT``.

    Examples
    --------
    >>> replies = pd.DataFrame({"item_id": ["i", "i", "j", "j"], "aspect": "fluency", "sample_index": [0, 1, 0, 1],
    ...                         "score": [1.0, 2.0, 3.0, 3.0]})
    >>> found = three(replies, 1).set_index("item_id")
    >>> [found.loc["i", f"{kind}:fluency"].item() for kind in ("one", "mean", "rounded")]
    [1.0, 1.5, 2.0]
    """
    mean = item_scores(replies, samples=samples) if samples else item_scores(replies)
    rounded = mean.assign(score=(mean["score"] / width).round() * width)
    return wide({"one": item_scores(replies, samples=1), "mean": mean, "rounded": rounded})


def by_document(frame, metric, aspect):
    """Each document's coefficients between a judge's scores and people's ratings, and its shares of ties.

    Parameters
    ----------
    frame : pandas.DataFrame
        `doc_id, system_id` and the two columns. NaN marks a missing score.
    metric, aspect : str
        Columns of the judge's scores and of people's ratings.

    Returns
    -------
    dict of str to numpy.ndarray
        A value for each document, sorted by `doc_id`: the names of `COEFFICIENTS`, and ``judge`` and ``people``,
        the shares of pairs that each of them ties. Under ``skip`` a document with constant scores is NaN, under
        ``zero`` it is 0.

    Examples
    --------
    >>> frame = pd.DataFrame({"doc_id": "d", "system_id": ["x", "y", "z"], "judge": [1, 1, 2], "people": [1, 2, 3]})
    >>> found = by_document(frame, "judge", "people")
    >>> {name: float(found[name][0].round(2)) for name in ("tau-a", "tau-b, skip", "judge")}
    {'tau-a': 0.67, 'tau-b, skip': 0.82, 'judge': 0.33}
    """
    x, y = (
        frame.pivot(index="doc_id", columns="system_id", values=column).to_numpy()
        for column in (metric, aspect)
    )
    first, second = np.triu_indices(x.shape[1], 1)
    dx, dy = ((matrix[:, first] - matrix[:, second]).round(9) for matrix in (x, y))
    near = abs(dx) <= pairwise_accuracy(frame, metric, aspect).epsilon + 1e-9
    shares = {
        "tau-a": np.sign(dx * dy),
        "accuracy, calibrated": np.where(near, dy == 0, dx * dy > 0),
        "accuracy, plain": np.where(dx == 0, dy == 0, dx * dy > 0),
        "judge": dx == 0,
        "people": dy == 0,
    }
    found = {
        name: np.nanmean(np.where(np.isnan(dx), np.nan, share), axis=1)
        for name, share in shares.items()
    }
    found["tau-b, skip"] = grouped(x, y, "kendall")
    found["tau-c, skip"] = grouped(x, y, "kendall", kendall="c")
    found["Spearman, skip"] = grouped(x, y)
    for name in ("tau-b", "Spearman"):
        found[f"{name}, zero"] = np.nan_to_num(found[f"{name}, skip"])
    return found
