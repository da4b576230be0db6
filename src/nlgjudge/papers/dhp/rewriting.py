"""Perturbations written by a language model (DHP, Wang et al. 2024, section 4.1 and appendix B).

The judge is asked for steps first (Auto-CoT), then for each text. Every reply is stored as usual.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

import pandas as pd

from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.rating_text import visible
from nlgjudge.judging.reading import TEXT
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.tasks import Task
from nlgjudge.papers.dhp.perturbing import Versions


def rewrite(versions: Versions, task: str, judge: Any, **settings: Any) -> Versions:
    """Replace the stand-ins' texts by a language model's.

    Parameters
    ----------
    versions
        From `nlgjudge.dhp.perturb`.
    task
        What the texts are: summarization, story, question_answering or translation.
    judge
        A name for `nlgjudge.get_judge`, or anything with a method `replies(tasks)`.
    **settings
        Sampling parameters.

    Returns
    -------
    nlgjudge.papers.dhp.perturbing.Versions
        `origin` of the rewritten is ``"llm:"`` and the judge's name. A text without a reply, or with
        one that changes nothing, is left out with the reason.

    Raises
    ------
    KeyError
        For an unknown task.
    ValueError
        When the judge gives no steps.
    """
    judge = get_judge(judge)
    items = versions.items
    texts = items[items["perturbation"] == "original"].set_index("original")["hypothesis"]
    is_stand_in = items["origin"] == "stand-in"
    parts = [items[~is_stand_in]]
    left_out = []
    for label, part in items[is_stand_in].groupby("perturbation", sort=False):
        rewriting, fields = _request(label, task, judge, settings)
        before = texts[part["original"]]
        tasks = [
            _task(key, rewriting, fields | {"hypothesis": text, "reference": text}, settings)
            for key, text in zip(part["item_id"], before)
        ]
        replies = list(judge.replies(tasks))
        reasons = [_unusable(reply, old) for reply, old in zip(replies, before, strict=True)]
        made = part.assign(
            hypothesis=[visible(reply.text).strip() for reply in replies],
            origin=f"llm:{judge.name}",
        )
        parts.append(made[[not reason for reason in reasons]])
        left_out += [
            (key, label, reason) for key, reason in zip(part["original"], reasons) if reason
        ]
    more = pd.DataFrame(left_out, columns=versions.left_out.columns)
    return Versions(
        pd.concat(parts, ignore_index=True), pd.concat([versions.left_out, more], ignore_index=True)
    )


def _request(label, task, judge, settings):
    """The prompt for a perturbation and what fills it beside the text: the printed prompt where there is one."""
    folder = files("nlgjudge") / "papers" / "dhp" / "prompts" / "perturb"
    words = tomllib.loads((folder / "adjustments.toml").read_text(encoding="utf-8"))
    name, _, degree = label.partition(", ")
    noun, occasion = words["nouns"][task]
    fields = {"noun": noun, "occasion": occasion, "adjustment": words[name][degree or "minor"]}
    if (task, label) == ("summarization", "fictional entities, minor"):
        return prompt("dhp/perturb/fictional_entities_minor"), fields | {"steps": ""}
    steps = _task("adjustment steps", prompt("dhp/perturb/auto_cot"), fields, settings)
    (reply,) = judge.replies([steps])
    if not visible(reply.text).strip():
        raise ValueError(f"{judge.name} gave no steps for {label!r}: {reply.reason}")
    return prompt("dhp/perturb/adjust"), fields | {"steps": visible(reply.text).strip()}


def _task(key, request, fields, settings):
    text = request.render(fields)
    return Task(key, "", text, fields, TEXT, 1, settings, request.name, request.digest)


def _unusable(reply, old):
    """Why a reply cannot be a perturbed text; empty where it can."""
    new = visible(reply.text).strip()
    if not new:
        return reply.reason or "an empty reply"
    return "nothing was changed" if new == old else ""
