"""CoAScore: a chain of relevant aspects before the score that is wanted.

Gong and Mao 2023 (arXiv 2312.10355), section 3: (1) the judge lists n aspects relevant to the
target, (2) scores them all in one call, (3) scores the target with their definitions and
scores before it. The ablations of section 4.6 are a parameter each.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.checks import check_known
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.scoring import responses
from nlgjudge.judging.tasks import Tasks
from nlgjudge.papers.coascore.aspects import (
    SAMPLING,
    SCALE,
    Aspect,
    NoAspects,
    other_rated_aspects,
    relevant_aspects,
    score_aspects,
    stage_prompt,
)


class Chain(NamedTuple):
    """What a run of CoAScore gave."""

    responses: pd.DataFrame  # of the target, as from nlgjudge.judge_items
    aspects: list[Aspect]  # those before the target
    aspect_scores: pd.DataFrame  # as responses, for each item and aspect of the chain


def coascore(
    items: pd.DataFrame,
    judge: Any,
    task: str,
    aspect: str,
    *,
    n: int = 5,
    aspects: Sequence[tuple[str, str]] | Literal["inter"] | None = None,
    scores: Literal["judged", "none", "random"] = "judged",
    final: Literal["judge", "average"] = "judge",
    settings: dict[str, Any] | None = None,
    rng: np.random.Generator | None = None,
    pattern: str = "",
) -> Chain:
    """Score items from 1 to 5 by the chain of aspects (Table 11).

    Parameters
    ----------
    items, judge
        As for `nlgjudge.judge_items`.
    task, aspect
        A task and one of its aspects, as in `nlgjudge.coascore.dataset_aspects`.
    n
        Aspects to generate; section 4.6 goes from 5 to 20.
    aspects
        Names and definitions instead of generated ones; ``"inter"`` takes the other rated aspects of Table 5.
    scores
        The judge's own, definitions alone, or whole numbers drawn evenly from the scale.
    final
        Let the judge score the target, or take the mean of the aspects' scores.
    settings
        Sampling parameters; temperature 0 by default.
    pattern
        How the target's score is written where the default does not read it; see `nlgjudge.judging.Reading`.

    Returns
    -------
    Chain
        An item without any scored aspect has no score, with the reason `no_aspect_scores`. If the judge names
        no aspect, no item has a score, with the reason `no_aspects` or that of the missing reply.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> def judge(item):
    ...     return '{"Tone": 4, "Clarity": 2}' if "JSON" in item.prompt else "3"
    >>> items = nj.load("topical_chat", "sample").items.head(2)
    >>> aspects = [("Tone", "how it sounds"), ("Clarity", "how clear it is")]
    >>> chain = coascore(items, judge, "dialogue", "overall", aspects=aspects)
    >>> chain.aspect_scores["score"].tolist(), chain.responses["score"].tolist()
    ([4.0, 2.0, 4.0, 2.0], [3.0, 3.0])
    """
    check_known("kind of scores", scores, ("judged", "none", "random"))
    check_known("final step", final, ("judge", "average"))
    if scores == "none" and final == "average":
        raise ValueError("final='average' needs scores to average; got scores='none'")
    judge = get_judge(judge)
    reading = Reading("number", SCALE, pattern)
    reading.find("")  # refuses what cannot be read
    try:
        chosen = _chosen(aspects, judge, task, aspect, n, settings)
    except NoAspects as error:
        warnings.warn(str(error), stacklevel=2)
        end = _without_scores(items["item_id"], aspect, error.reason)
        return Chain(end, [], _unjudged(items, [], "none", rng))
    if scores == "judged":
        aspect_scores = score_aspects(items, judge, task, aspect, chosen, settings=settings)
    else:
        aspect_scores = _unjudged(items, chosen, scores, rng)
    requested = aspect_scores[aspect_scores["reason"] != "extra_aspect"]
    table = requested.pivot(index="item_id", columns="aspect", values="score")
    table = table.reindex(index=items["item_id"], columns=[each.name for each in chosen])
    if final == "average":
        return Chain(_averages(table, aspect), chosen, aspect_scores)
    rows = [*map(tuple, table.to_numpy().tolist())]
    shown = {row: _shown(chosen, row, scores) for row in set(rows)}  # many rows are alike
    texts = pd.Series([shown[row] for row in rows], items.index, dtype=object)
    items = items.assign(scores=texts)
    has_scores = items["scores"] != ""
    stage = _last_stage(task, aspect, scores)
    tasks = Tasks(items[has_scores], stage, **(SAMPLING if settings is None else settings))
    end = responses(judge.scored(tasks), reading)
    if not has_scores.all():
        without = _without_scores(items.loc[~has_scores, "item_id"], aspect)
        end = pd.concat([end, without], ignore_index=True)
    return Chain(end, chosen, aspect_scores)


def _last_stage(task, aspect, scores):
    """The prompt of stage 3, which does not mention scores where it shows none."""
    stage = stage_prompt("chain", task, aspect)
    if scores != "none":
        return stage
    body = stage.body.replace("some scores for different", "some different")
    body = body.replace("the scores for different", "the different")
    return stage._replace(body=body, exact=False)


def _chosen(aspects, judge, task, aspect, n, settings):
    """The aspects of the chain: those that were given, the other rated ones, or the judge's."""
    if aspects == "inter":
        return other_rated_aspects(task, aspect)
    if aspects:
        return [Aspect(*pair) for pair in aspects]
    return relevant_aspects(judge, task, aspect, n, settings=settings)


def _unjudged(items, aspects, scores, rng):
    """Stage 2 without a judge: random scores, or none."""
    names = [aspect.name for aspect in aspects]
    keys = pd.MultiIndex.from_product([items["item_id"], names], names=["item_id", "aspect"])
    rows = keys.to_frame(index=False).assign(sample_index=0, text="")
    if scores == "none":
        return rows.assign(score=np.nan, reason="not_asked")
    if rng is None:
        raise ValueError("random scores need rng=numpy.random.default_rng(seed)")
    low, high = SCALE
    return rows.assign(score=rng.integers(low, high + 1, len(keys)).astype(float), reason="")


def _averages(table, aspect):
    """In place of stage 3, the mean of the aspects' scores."""
    mean = table.mean(axis=1)
    end = _without_scores(mean.index, aspect).assign(score=mean.to_numpy())
    end["reason"] = end["reason"].where(end["score"].isna(), "")
    return end


def _shown(aspects, row, scores):
    """Aspects that have a score, with it; without scores all definitions."""
    definitions = [f"{aspect.name}: {aspect.definition}" for aspect in aspects]
    if scores != "none":
        pairs = zip(definitions, row)
        definitions = [f"{text}\n\nScore: {score}" for text, score in pairs if pd.notna(score)]
    return "\n\n".join(definitions)


def _without_scores(ids, aspect, reason="no_aspect_scores"):
    """Rows of items that have no score."""
    rows = pd.DataFrame({"item_id": ids, "aspect": aspect, "sample_index": 0, "text": ""})
    return rows.assign(score=np.nan, reason=reason)
