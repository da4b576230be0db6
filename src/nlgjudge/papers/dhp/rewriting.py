"""Damage done by a language model (DHP, Wang et al. 2024, section 4.1 and appendix B).

Any judge can be asked: steps by Auto-CoT first, then each text, every reply stored as usual.
"""

import tomllib
from importlib.resources import files

import pandas as pd

from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.tasks import Task
from nlgjudge.papers.dhp.perturbing import Versions


def rewrite(versions, task, judge, **settings):
    """Put a language model's rewritings in the place of the stand-ins.

    Parameters
    ----------
    versions : nlgjudge.papers.dhp.perturbing.Versions
        From `nlgjudge.papers.dhp.perturbing.perturb`.
    task : str
        What the texts are: summarization, story, question_answering or translation.
    judge : str or object
        A name for `nlgjudge.judging.run.get_judge`, or anything with a method `replies(tasks)`.
    **settings
        Sampling parameters.

    Returns
    -------
    nlgjudge.papers.dhp.perturbing.Versions
        `origin` of the rewritten is ``"llm:"`` and the judge's name. A text without a reply, or with
        one that changes nothing, is left out and says why.

    Raises
    ------
    KeyError
        For an unknown task.
    ValueError
        When the judge gives no steps.

    Examples
    --------
    A judge is anything with a name and replies. This one gives steps, and then writes in capitals.

    >>> from types import SimpleNamespace
    >>> import nlgjudge as nj
    >>> class Shouting:
    ...     name = "shouting"
    ...     def replies(self, tasks):
    ...         return [SimpleNamespace(text=task.fields.get("hypothesis", "1. Write in capitals.").upper(),
    ...                                 reason="") for task in tasks]
    >>> items = nj.dhp.originals(nj.load("summeval", "sample"), 1)
    >>> versions = nj.dhp.perturb(items, nj.dhp.perturbations("summeval"))
    >>> rewrite(versions, "summarization", Shouting()).items["origin"].value_counts().to_dict()
    {'rule': 6, 'llm:shouting': 6, 'original': 1}
    """
    judge = get_judge(judge) if isinstance(judge, str) else judge
    items = versions.items
    texts = items[items["perturbation"] == "original"].set_index("original")["hypothesis"]
    stand_in = items["origin"] == "stand-in"
    parts = [items[~stand_in]]
    left_out = []
    for label, part in items[stand_in].groupby("perturbation", sort=False):
        before = texts[part["original"]]
        asked = _tasks(part["item_id"], before, label, task, judge, settings)
        replies = list(judge.replies(asked))
        reasons = [_refused(reply, old) for reply, old in zip(replies, before, strict=True)]
        made = part.assign(
            hypothesis=[reply.text.strip() for reply in replies], origin=f"llm:{judge.name}"
        )
        parts.append(made[[reason == "" for reason in reasons]])
        left_out += [
            (key, label, reason) for key, reason in zip(part["original"], reasons) if reason
        ]
    more = pd.DataFrame(left_out, columns=versions.left_out.columns)
    return Versions(
        pd.concat(parts, ignore_index=True), pd.concat([versions.left_out, more], ignore_index=True)
    )


def _refused(reply, old):
    """Why a reply cannot stand for a damaged text; empty where it can."""
    new = reply.text.strip()
    if not new:
        return reply.reason or "an empty reply"
    if new == old:
        return "nothing was changed"
    return ""


def _tasks(keys, texts, label, task, judge, settings):
    """One task for each text, under the printed prompt where it applies, else under its form."""
    fields = _fields(label, task)
    if (task, label) == ("summarization", "fictional entities, minor"):
        asked = prompt("dhp/perturb/fictional_entities_minor")
        steps = ""
    else:
        asked = prompt("dhp/perturb/adjust")
        steps = _steps(fields, label, judge, settings)
    tasks = []
    for key, text in zip(keys, texts):
        shown = fields | {"steps": steps, "hypothesis": text, "reference": text}
        tasks.append(
            Task(
                key,
                "",
                asked.render(shown),
                shown,
                (),
                "text",
                1,
                settings,
                prompt=asked.name,
                digest=asked.digest,
            )
        )
    return tasks


def _fields(label, task):
    """What the prompts say of a kind of text and of a perturbation."""
    folder = files("nlgjudge") / "papers" / "dhp" / "prompts" / "perturb"
    words = tomllib.loads((folder / "adjustments.toml").read_text(encoding="utf-8"))
    name, _, degree = label.partition(", ")
    noun, occasion = words["nouns"][task]
    return {"noun": noun, "occasion": occasion, "adjustment": words[name][degree or "minor"]}


def _steps(fields, label, judge, settings):
    """Ask the judge for the steps of an adjustment (Auto-CoT)."""
    request = prompt("dhp/perturb/auto_cot").render(fields)
    (reply,) = judge.replies(
        [
            Task(
                "adjustment steps",
                "",
                request,
                {},
                (),
                "text",
                1,
                settings,
                prompt="dhp/perturb/auto_cot",
            )
        ]
    )
    steps = reply.text.strip()
    if not steps:
        raise ValueError(f"{judge.name} gave no steps for {label!r}: {reply.reason}")
    return steps
