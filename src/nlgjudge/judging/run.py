"""From items and prompts to parsed responses, by any judge."""

from pathlib import Path

import pandas as pd

from nlgjudge.data.choices import first
from nlgjudge.data.paths import cache
from nlgjudge.data.recordings import recording
from nlgjudge.judging.prompts import Prompt, prompt
from nlgjudge.judging.replay import Replay, ReplayStore
from nlgjudge.judging.scoring import COLUMNS, expected_score, responses
from nlgjudge.judging.store import Store
from nlgjudge.judging.surface import Surface
from nlgjudge.judging.tasks import Task, Tasks

KINDS = "openai:MODEL, batch:MODEL, replay:RECORDING, replay:STORE.sqlite:MODEL, surface"


def get_judge(spec, *, items=None, store=None, **options):
    """Make a judge from its name.

    Parameters
    ----------
    spec : str
        ``openai:MODEL`` (any compatible endpoint), ``batch:MODEL``, ``replay:RECORDING``
        (of the registry), ``replay:STORE.sqlite:MODEL`` or ``surface``.
    items : pandas.DataFrame, optional
        For recordings that name texts instead of keys.
    store : nlgjudge.judging.store.Store, optional
        Where live replies are kept; by default `data/cache/replies.sqlite`.
    **options
        For the judge's constructor: `limits`, `progress`, `missing` and so on.

    Raises
    ------
    ValueError
        For an unknown kind.
    FileNotFoundError
        For a store that is not there.
    """
    kind, _, name = spec.partition(":")
    if kind == "surface":
        return Surface(**options)
    path, found, model = name.partition(".sqlite:")  # a model's name may hold a colon
    if kind == "replay" and found and model:
        if not Path(path + ".sqlite").is_file():
            raise FileNotFoundError(f"judge {spec!r}: no store {path}.sqlite")
        return ReplayStore(Store(path + ".sqlite"), model, **options)
    if kind == "replay" and ".sqlite" not in name:
        return Replay(recording(name, items), name, **options)
    if kind in ("openai", "batch") and name:
        store = store or Store(cache() / "replies.sqlite")
        if kind == "batch":
            from nlgjudge.judging.batch import Batch
            return Batch(name, store, **options)
        from nlgjudge.judging.live import Live
        return Live(name, store, **options)
    raise ValueError(f"judge {spec!r}: expected {KINDS}")


def judge_items(items, prompts, judge, *, n=1, limit=None, policy="nan", settings=None, **options):
    """Let a judge rate items under prompts.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, source, hypothesis, references, context`.
    prompts : list of str or Prompt
        One per aspect.
    judge : str or object
        A name for `get_judge`, or anything with a method `replies(tasks)`.
    n : int
        Samples an item.
    limit : int, optional
        Judge the first so many items; None or 0 for all.
    policy : str
        What an unparsed reply counts as; see `nlgjudge.judging.parsing.parse_all`.
    settings : dict, optional
        Sampling parameters; `logprobs` makes the score the expected one (G-Eval,
        equation 1) where the judge gives token probabilities, and NaN with the reason
        `no_score_token` where no token of them is an allowed score.
    **options
        For `get_judge`.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect, sample_index, text, score, reason`.
    """
    items = first(items, limit)
    judge = get_judge(judge, items=items, **options) if isinstance(judge, str) else judge
    asked, settings = [p if isinstance(p, Prompt) else prompt(p) for p in prompts], settings or {}
    if hasattr(judge, "submit"):  # a batch stops while replies are missing, so all prompts go out first
        for p in asked:
            judge.submit(Tasks(items, p, n=n, **settings))
    return pd.concat([_parsed(judge, items, p, n, policy, settings) for p in asked], ignore_index=True)


def evaluation_steps(judge, task, criteria, **settings):
    """Let a judge write the evaluation steps of a prompt (G-Eval, section 2, Auto-CoT).

    Parameters
    ----------
    judge : str or object
        A live judge keeps the reply in its store, so the same request is paid once.
    task, criteria : str
        Task introduction and evaluation criteria.
    **settings
        Sampling parameters.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        When the judge gives none.
    """
    judge = get_judge(judge) if isinstance(judge, str) else judge
    text = prompt("geval/auto_cot").render({"task": task, "criteria": criteria})
    reply, = judge.replies([Task("evaluation steps", "", text, {}, (), "text", 1, settings)])
    if not reply.text.strip():
        raise ValueError(f"{judge.name} gave no evaluation steps: {reply.reason}")
    return reply.text.strip()


def _parsed(judge, items, asked, n, policy, settings):
    replies = pd.DataFrame(judge.replies(Tasks(items, asked, n=n, **settings)),
                           columns=[*COLUMNS[:4], "reason", "logprobs"])
    frame = responses(replies, form=asked.form, scale=asked.scale, policy=policy)
    logprobs = replies.loc[frame.index, "logprobs"]
    weighed = logprobs.map(len) > 0
    scores = pd.Series([expected_score(found, asked.scale)[0] for found in logprobs[weighed]],
                       index=frame.index[weighed], dtype=float)
    frame.loc[weighed, "score"] = scores
    frame.loc[weighed, "reason"] = scores.isna().map({True: "no_score_token", False: ""})
    return frame
