"""CoAScore: a chain of relevant aspects before the score that is wanted.

Gong and Mao 2023 (arXiv 2312.10355), section 3: (1) the judge lists n aspects relevant to the
target, (2) scores them all in one call, (3) scores the target with their definitions and
scores before it. `llmscore` is the baseline without a chain. The ablations of section 4.6 are
a parameter each of `coascore`.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.judging.run import get_judge
from nlgjudge.judging.scoring import responses
from nlgjudge.papers.coascore.aspects import (
    item_tasks,
    other_rated_aspects,
    relevant_aspects,
    score_aspects,
    stage,
)

SCORES = ("judged", "none", "random")
FINAL = ("judge", "average")
_TYPICAL = 190  # characters of an aspect with its definition, as Table 9 prints them
_SCORE_LINE = 14  # characters of the score that follows it


class Chain(NamedTuple):
    """What a run of CoAScore gave.

    Attributes
    ----------
    responses : pandas.DataFrame
        `item_id, aspect, sample_index, text, score, reason` of the target, as
        `nlgjudge.judging.run.judge_items` gives them; `used` counts the scored aspects shown.
    aspects : list of nlgjudge.papers.coascore.aspects.Aspect
    aspect_scores : pandas.DataFrame
        As from `nlgjudge.papers.coascore.aspects.score_aspects`; where no scores were wanted they are NaN
        with the reason `not_asked`.
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
    asked = stage("llmscore_cot" if cot else "llmscore", task, aspect, scale)
    return _ask(judge, item_tasks(items, asked, settings), asked)


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

    Returns
    -------
    Chain
        An item without any scored aspect has no score, with the reason `no_aspect_scores`.

    Raises
    ------
    ValueError
        For unknown options, random scores without `rng`, or an average without scores.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> from nlgjudge.judging.surface import Surface
    >>> from nlgjudge.papers.coascore.aspects import dataset_aspects
    >>> from nlgjudge.papers.coascore.chained import Chained
    >>> judge = Chained(Surface(), list(dataset_aspects("dialogue").values()))
    >>> chain = coascore(load("topical_chat", "sample").items.head(2), judge, "dialogue", "coherence", n=3)
    >>> len(chain.aspects), chain.responses["used"].tolist()
    (3, [3, 3])
    """
    if scores not in SCORES or final not in FINAL or (scores == "none" and final == "average"):
        raise ValueError(
            f"scores={scores!r}, final={final!r}: expected one of {SCORES} and one of {FINAL}, "
            "and scores to average"
        )
    judge = get_judge(judge) if isinstance(judge, str) else judge
    if isinstance(aspects, str):
        if aspects != "inter":
            raise ValueError(
                f"aspects={aspects!r}: expected a list of aspects, or 'inter' for the other rated ones"
            )
        aspects = other_rated_aspects(task, aspect)
    aspects = aspects or relevant_aspects(judge, task, aspect, n, settings=settings)
    if scores == "judged":
        found = score_aspects(items, judge, task, aspect, aspects, scale=scale, settings=settings)
    else:
        found = _unjudged(items, aspects, scale, scores, rng)
    table = found[found["reason"] != "extra_aspect"].pivot(
        index="item_id", columns="aspect", values="score"
    )
    table = table.reindex(index=items["item_id"], columns=[one.name for one in aspects])
    if final == "average":
        end = _averaged(table, aspect)
    else:
        shown = _shown(aspects, table, with_scores=scores != "none")
        asked = _final_prompt(task, aspect, scale, with_scores=scores != "none")
        end = _chained(items, judge, asked, shown, settings)
    used = end["item_id"].map(table.notna().sum(axis=1))
    return Chain(end.assign(used=used), aspects, found)


def plan_coascore(items, task, aspect, *, n=5, scores="judged", final="judge", price=None):
    """Say what a run takes before it is made, at four characters a token.

    Parameters
    ----------
    items, task, aspect, n, scores, final
        As for `coascore`; aspects are taken to be as long as Table 9's.
    price : (float, float), optional
        Of a million prompt and a million completion tokens.

    Returns
    -------
    pandas.DataFrame
        By stage, with LLMScore for comparison and the chain's total: `calls,
        calls_per_item, prompt_tokens, completion_tokens, cost` (NaN without a price).

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> found = plan_coascore(load("topical_chat", "sample").items, "dialogue", "coherence")
    >>> bool(found.loc["CoAScore", "calls_per_item"] > 2)  # one for the aspects of all items besides
    True
    """
    definitions = "x" * n * _TYPICAL
    scored = definitions if scores == "none" else definitions + "x" * _SCORE_LINE * n
    fields = {"n": n, "aspects": definitions, "scores": scored}
    none = items.head(0)
    of_aspects = items if scores == "judged" else none
    of_target = items if final == "judge" else none
    stages = [  # label, prompt, items that are asked, characters of a reply
        ("LLMScore", "llmscore", items, 4),
        ("1 aspects", "aspects", items.head(1), n * _TYPICAL),
        ("2 aspect scores", "aspect_scores", of_aspects, 20 * n),
        ("3 target", "chain", of_target, 4),
    ]
    rows = {}
    for label, name, asked, reply in stages:
        extra = {field: dict.fromkeys(asked["item_id"], value) for field, value in fields.items()}
        tasks = item_tasks(asked, stage(name, task, aspect), None, extra)
        rows[label] = {
            "calls": len(tasks),
            "calls_per_item": len(tasks) / len(items),
            "prompt_tokens": sum(len(one.text) for one in tasks) // 4,
            "completion_tokens": len(tasks) * reply // 4,
        }
    frame = pd.DataFrame(rows).T
    frame.loc["CoAScore"] = frame.iloc[1:].sum()
    prices = list(price or (np.nan, np.nan))
    return frame.assign(cost=frame[["prompt_tokens", "completion_tokens"]] @ prices / 1e6)


def _unjudged(items, aspects, scale, scores, rng):
    """Stage 2 without a judge: random scores, or none."""
    if scores == "random" and not isinstance(rng, np.random.Generator):
        raise ValueError("random scores need rng=numpy.random.default_rng(seed)")
    names = [one.name for one in aspects]
    keys = pd.MultiIndex.from_product([items["item_id"], names], names=["item_id", "aspect"])
    rows = keys.to_frame(index=False).assign(sample_index=0, text="")
    if scores == "random":
        low, high = scale
        drawn = rng.integers(low, high + 1, len(keys)).astype(float)
        return rows.assign(score=drawn, reason="", reply_key="")
    return rows.assign(score=np.nan, reason="not_asked", reply_key="")


def _shown(aspects, table, *, with_scores):
    """What each item's last prompt shows: its aspects with their scores, or all definitions alone."""
    definitions = {one.name: f"{one.name}: {one.definition}" for one in aspects}
    if not with_scores:
        return dict.fromkeys(table.index, "\n\n".join(definitions.values()))
    columns = [(definitions[name], table[name].tolist()) for name in definitions]
    shown = {}
    for position, item in enumerate(table.index):
        scored = [(definition, scores[position]) for definition, scores in columns]
        shown[item] = "\n\n".join(
            f"{definition}\n\nScore: {float(score)}"
            for definition, score in scored
            if pd.notna(score)
        )
    return shown


def _final_prompt(task, aspect, scale, *, with_scores):
    """The prompt of stage 3, which does not speak of scores where it shows none."""
    asked = stage("chain", task, aspect, scale)
    if with_scores:
        return asked
    body = asked.body.replace("some scores for different", "some different")
    return asked._replace(
        body=body.replace("the scores for different", "the different"), exact=False
    )


def _chained(items, judge, asked, shown, settings):
    """Stage 3, for the items that have something to show."""
    able = items["item_id"].map(shown) != ""
    found = _ask(judge, item_tasks(items[able], asked, settings, {"scores": shown}), asked)
    if able.all():
        return found
    left = items.loc[~able, "item_id"]
    return pd.concat([found, _without(left, asked.aspect)], ignore_index=True)


def _averaged(table, aspect):
    """The mean of the aspects' scores in the place of stage 3."""
    mean = table.mean(axis=1)
    found = _without(mean.index, aspect).assign(score=mean.to_numpy())
    return found.assign(reason=found["reason"].where(found["score"].isna(), ""))


def _without(ids, aspect):
    """Rows of items that have no scored aspect."""
    return pd.DataFrame(
        {
            "item_id": ids,
            "aspect": aspect,
            "sample_index": 0,
            "text": "",
            "score": np.nan,
            "reason": "no_aspect_scores",
        }
    )


def _ask(judge, tasks, asked):
    """Ask a judge, and parse what it says."""
    judge = get_judge(judge) if isinstance(judge, str) else judge
    return responses(judge.replies(tasks), form=asked.form, scale=asked.scale)
