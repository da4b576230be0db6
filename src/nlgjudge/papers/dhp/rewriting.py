"""Perturbations written by a language model (DHP, Wang et al. 2024, section 4.1 and appendix B).

The judge is asked for steps first (Auto-CoT), then for each text. Every reply is stored as usual.
"""

import tomllib
from importlib.resources import files

import pandas as pd

from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.rating_text import visible
from nlgjudge.judging.reading import TEXT
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.tasks import Task


def rewrite(items, task, judge):
    """Replace the stand-ins' texts by a model's; item, perturbation and reason of those that it did not change."""
    judge = get_judge(judge)
    texts = items[items["perturbation"] == "original"].set_index("original")["hypothesis"]
    is_stand_in = items["origin"] == "stand-in"
    parts = [items[~is_stand_in]]
    left_out = []
    for label, part in items[is_stand_in].groupby("perturbation", sort=False):
        request, fields = _request(label, task, judge)
        before = texts[part["original"]]
        tasks = [
            _task(key, request, fields | {"hypothesis": text, "reference": text})
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
    return pd.concat(parts, ignore_index=True), left_out


def _request(label, task, judge):
    """The prompt for a perturbation and what fills it beside the text: the printed prompt where there is one."""
    folder = files("nlgjudge") / "papers" / "dhp" / "prompts" / "perturb"
    words = tomllib.loads((folder / "adjustments.toml").read_text(encoding="utf-8"))
    name, _, degree = label.partition(", ")
    noun, occasion = words["nouns"][task]
    fields = {"noun": noun, "occasion": occasion, "adjustment": words[name][degree or "minor"]}
    if (task, label) == ("summarization", "fictional entities, minor"):
        return prompt("dhp/perturb/fictional_entities_minor"), fields | {"steps": ""}
    steps = _task("adjustment steps", prompt("dhp/perturb/auto_cot"), fields)
    (reply,) = judge.replies([steps])
    if not visible(reply.text).strip():
        raise ValueError(f"{judge.name} gave no steps for {label!r}: {reply.reason}")
    return prompt("dhp/perturb/adjust"), fields | {"steps": visible(reply.text).strip()}


def _task(key, request, fields):
    text = request.render(fields)
    return Task(key, "", text, fields, TEXT, prompt=request.name, digest=request.digest)


def _unusable(reply, old):
    """Why a reply cannot be a perturbed text; empty where it can."""
    new = visible(reply.text).strip()
    if not new:
        return reply.reason or "an empty reply"
    return "nothing was changed" if new == old else ""
