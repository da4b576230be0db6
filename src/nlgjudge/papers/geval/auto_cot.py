"""Auto-CoT: a judge writes the evaluation steps of its own prompt (G-Eval, Liu et al. 2023, section 2)."""

from typing import Any

from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.rating_text import visible
from nlgjudge.judging.reading import TEXT
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.tasks import Task


def evaluation_steps(judge: Any, task: str, criteria: str, **settings: Any) -> str:
    """Let a judge write the evaluation steps of a prompt (G-Eval, section 2, Auto-CoT).

    Parameters
    ----------
    judge
        As for `nlgjudge.get_judge`. A live judge keeps the reply in its store, so the same request is paid once.
    task, criteria
        Task introduction and evaluation criteria.
    **settings
        Sampling parameters.

    Examples
    --------
    >>> evaluation_steps("surface", "You will be given a summary.", "Fluency: how well it reads.")[:8]
    'By rule,'
    """
    judge = get_judge(judge)
    text = prompt("geval/auto_cot").render({"task": task, "criteria": criteria})
    (reply,) = judge.replies([Task("evaluation steps", "", text, {}, TEXT, 1, settings)])
    steps = visible(reply.text).strip()
    if not steps:
        raise ValueError(f"{judge.name} gave no evaluation steps: {reply.reason}")
    return steps
