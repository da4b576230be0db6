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
    """
    judge = get_judge(judge) if isinstance(judge, str) else judge
    items = versions.items
    texts = items[items["perturbation"] == "original"].set_index("original")["hypothesis"]
    wanted = items[items["origin"] == "stand-in"]
    parts, left_out = [items[items["origin"] != "stand-in"]], []
    for label, part in wanted.groupby("perturbation", sort=False):
        before = texts[part["original"]]
        asked = _tasks(part["item_id"], before, label, task, judge, settings)
        after = [(r.text.strip(), r.reason) for r in judge.replies(asked)]
        reasons = [reason or "an empty reply" if not new else "nothing was changed" if new == old else ""
                   for (new, reason), old in zip(after, before, strict=True)]
        made = part.assign(hypothesis=[new for new, _ in after], origin=f"llm:{judge.name}")
        parts.append(made[[not reason for reason in reasons]])
        left_out += [(key, label, reason) for key, reason in zip(part["original"], reasons) if reason]
    more = [versions.left_out, pd.DataFrame(left_out, columns=versions.left_out.columns)]
    return Versions(pd.concat(parts, ignore_index=True), pd.concat(more, ignore_index=True))


def _tasks(keys, texts, label, task, judge, settings):
    """One task for each text, under the printed prompt where it applies, else under its form."""
    folder = files("nlgjudge") / "papers" / "dhp" / "prompts" / "perturb"
    words = tomllib.loads((folder / "adjustments.toml").read_text(encoding="utf-8"))
    name, _, degree = label.partition(", ")
    noun, occasion = words["nouns"][task]
    fields = {"noun": noun, "occasion": occasion, "adjustment": words[name][degree or "minor"]}
    if (task, label) == ("summarization", "fictional entities, minor"):
        asked, steps = prompt("dhp/perturb/fictional_entities_minor"), ""
    else:
        asked = prompt("dhp/perturb/adjust")
        request = prompt("dhp/perturb/auto_cot").render(fields)
        reply, = judge.replies([Task("adjustment steps", "", request, {}, (), "text", 1, settings,
                                     prompt="dhp/perturb/auto_cot")])
        steps = reply.text.strip()
        if not steps:
            raise ValueError(f"{judge.name} gave no steps for {label!r}: {reply.reason}")
    shown = [fields | {"steps": steps, "hypothesis": text, "reference": text} for text in texts]
    return [Task(key, "", asked.render(f), f, (), "text", 1, settings, prompt=asked.name, digest=asked.digest)
            for key, f in zip(keys, shown)]
