"""CoAScore: a chain of relevant aspects before the score that is wanted.

Gong and Mao 2023 (arXiv 2312.10355), section 3: (1) the judge lists n aspects relevant to the
target, (2) scores them all in one call, (3) scores the target with their definitions and
scores before it. `llmscore` is the baseline without a chain. The ablations of section 4.6 are
a parameter each of `coascore`.
"""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.judging.reading import Reading
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.scoring import responses
from nlgjudge.papers.coascore.aspects import (
    NoAspects,
    item_tasks,
    other_rated_aspects,
    relevant_aspects,
    score_aspects,
    stage,
)

SCORES = ("judged", "none", "random")
FINAL = ("judge", "average")


class Chain(NamedTuple):
    """What a run of CoAScore gave.

    Attributes
    ----------
    responses : pandas.DataFrame
        `item_id, aspect, sample_index, text, score, reason` of the target, as
        `nlgjudge.judging.run.judge_items` gives them; `used` counts the scored aspects shown.
    aspects : list of nlgjudge.papers.coascore.aspects.Aspect
    aspect_scores : pandas.DataFrame
        As from `nlgjudge.papers.coascore.aspects.score_aspects`; NaN with the reason `not_asked` where no scores
        were wanted.
    """

    responses: pd.DataFrame
    aspects: list
    aspect_scores: pd.DataFrame


def llmscore(items, judge, task, aspect, *, cot=False, scale=(1, 5), settings=None):
    """Score items without a chain (Table 8).

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, source, hypothesis, references, context`.
    judge : str or object
        A name for `nlgjudge.judging.run.get_judge`, or anything with `replies(tasks)`.
    task, aspect : str
        As for `nlgjudge.papers.coascore.aspects.stage`.
    cot : bool
        LLMScore_CoT: reasons first. Of its words the paper prints "Let's think step by step:".
    scale : (int, int)
    settings : dict, optional
        Sampling parameters; temperature 0 by default.

    Returns
    -------
    pandas.DataFrame
        As from `nlgjudge.judging.run.judge_items`.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> found = llmscore(load("topical_chat", "sample").items.head(2), "surface", "dialogue", "coherence")
    >>> found["score"].notna().tolist()
    [True, True]
    """
    judge = get_judge(judge)
    asked = stage("llmscore_cot" if cot else "llmscore", task, aspect, scale)
    replies = judge.replies(item_tasks(items, asked, settings))
    return responses(replies, Reading(asked.form, asked.scale))


def coascore(
    items,
    judge,
    task,
    aspect,
    *,
    n=5,
    aspects=None,
    scores="judged",
    final="judge",
    scale=(1, 5),
    settings=None,
    rng=None,
    pattern="",
):
    """Score items by the chain of aspects (Table 11).

    Parameters
    ----------
    items, judge, task, aspect, scale, settings
        As for `llmscore`.
    n : int
        Aspects to generate; section 4.6 goes from 5 to 20.
    aspects : list of Aspect or "inter", optional
        Instead of generated ones; ``"inter"`` takes the other rated aspects of Table 5, as
        `nlgjudge.papers.coascore.aspects.other_rated_aspects` gives them.
    scores : {"judged", "none", "random"}
        The judge's own, definitions alone, or whole numbers drawn evenly from the scale.
    final : {"judge", "average"}
        Let the judge score the target, or take the mean of the aspects' scores.
    rng : numpy.random.Generator
        For random scores.
    pattern : str
        How the target's score is written where the default does not read it; see `nlgjudge.judging.Reading`.

    Returns
    -------
    Chain
        An item without any scored aspect has no score, with the reason `no_aspect_scores`. If the judge names
        no aspect, no item has a score, with the reason `no_aspects` or that of the missing reply.

    Raises
    ------
    ValueError
        For unknown options, random scores without `rng`, or an average without scores.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> from nlgjudge.judging.baseline import Baseline
    >>> from nlgjudge.papers.coascore.aspects import dataset_aspects
    >>> from nlgjudge.papers.coascore.chained import Chained
    >>> judge = Chained(Baseline(), list(dataset_aspects("dialogue").values()))
    >>> chain = coascore(load("topical_chat", "sample").items.head(2), judge, "dialogue", "coherence", n=3)
    >>> len(chain.aspects), chain.responses["used"].tolist()
    (3, [3, 3])
    """
    if scores not in SCORES or final not in FINAL or (scores == "none" and final == "average"):
        raise ValueError(
            f"scores={scores!r}, final={final!r}: expected one of {SCORES} and one of {FINAL}, "
            "and scores to average"
        )
    judge = get_judge(judge)
    if aspects == "inter":
        aspects = other_rated_aspects(task, aspect)
    try:
        aspects = aspects or relevant_aspects(judge, task, aspect, n, settings=settings)
    except NoAspects as error:
        warnings.warn(str(error), stacklevel=2)
        end = _without_scores(items["item_id"], aspect, error.reason)
        return Chain(end.assign(used=0), [], _unjudged(items, [], scale, "none", rng))
    if scores == "judged":
        found = score_aspects(items, judge, task, aspect, aspects, scale=scale, settings=settings)
    else:
        found = _unjudged(items, aspects, scale, scores, rng)
    table = found[found["reason"] != "extra_aspect"].pivot(
        index="item_id", columns="aspect", values="score"
    )
    table = table.reindex(index=items["item_id"], columns=[one.name for one in aspects])
    if final == "average":
        mean = table.mean(axis=1)
        end = _without_scores(mean.index, aspect).assign(score=mean.to_numpy())
        end["reason"] = end["reason"].where(end["score"].isna(), "")
    else:
        reading = Reading("number", scale, pattern)
        end = _final_stage(items, judge, task, aspect, aspects, table, scores, settings, reading)
    used = end["item_id"].map(table.notna().sum(axis=1))
    return Chain(end.assign(used=used), aspects, found)


def _unjudged(items, aspects, scale, scores, rng):
    """Stage 2 without a judge: random scores, or none."""
    names = [one.name for one in aspects]
    keys = pd.MultiIndex.from_product([items["item_id"], names], names=["item_id", "aspect"])
    rows = keys.to_frame(index=False).assign(sample_index=0, text="")
    if scores == "none":
        return rows.assign(score=np.nan, reason="not_asked")
    if not isinstance(rng, np.random.Generator):
        raise ValueError("random scores need rng=numpy.random.default_rng(seed)")
    low, high = scale
    return rows.assign(score=rng.integers(low, high + 1, len(keys)).astype(float), reason="")


def _final_stage(items, judge, task, aspect, aspects, table, scores, settings, reading):
    """Stage 3, for the items that have something to show."""
    asked = stage("chain", task, aspect, reading.scale)
    if scores == "none":  # the prompt does not mention scores where it shows none
        body = asked.body.replace("some scores for different", "some different")
        body = body.replace("the scores for different", "the different")
        asked = asked._replace(body=body, exact=False)
    shown = {item: _shown(aspects, row, scores) for item, row in zip(table.index, table.to_numpy())}
    able = items["item_id"].map(shown) != ""
    tasks = item_tasks(items[able], asked, settings, {"scores": shown})
    found = responses(judge.replies(tasks), reading)
    left = _without_scores(items.loc[~able, "item_id"], aspect)
    return pd.concat([found, left], ignore_index=True) if len(left) else found


def _shown(aspects, row, scores):
    """Aspects that have a score, with it; without scores all definitions."""
    definitions = [f"{one.name}: {one.definition}" for one in aspects]
    if scores != "none":
        pairs = zip(definitions, row)
        definitions = [f"{text}\n\nScore: {score}" for text, score in pairs if pd.notna(score)]
    return "\n\n".join(definitions)


def _without_scores(ids, aspect, reason="no_aspect_scores"):
    """Rows of items that have no score."""
    return pd.DataFrame(
        {
            "item_id": ids,
            "aspect": aspect,
            "sample_index": 0,
            "text": "",
            "score": np.nan,
            "reason": reason,
        }
    )
