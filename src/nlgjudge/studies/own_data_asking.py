"""What an evaluation on your own data asks: the protocols, prompts of your own, and what they cost."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.choices import first, unknown
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.judging.live import Live
from nlgjudge.judging.planning import assumed_length, prompt_tokens
from nlgjudge.judging.prompts import Prompt, as_prompt, names, prompt
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.tasks import Tasks
from nlgjudge.papers import chatgpt, dhp, geval
from nlgjudge.papers.protocol import rows


class Way(NamedTuple):
    """A paper's way of asking.

    Attributes
    ----------
    prompt : str
        Its name, with places for task and aspect.
    samples : int
        Replies an item.
    sampling : dict
        Sampling parameters. Replies are cut where a rating must have come, and a plan reckons with that
        length.
    """

    prompt: str
    samples: int
    sampling: dict


# Room for a rating alone, for a sentence around it, and for reasons before it, as to a prompt of one's own.
_RATING = {"max_tokens": 16}
_GREEDY = {"temperature": 0, "max_tokens": 64}
_REASONING = {"temperature": 0, "max_tokens": 512}


def _printed(paper, row, room):
    """A paper's own protocol, with replies cut where a rating must have come."""
    found = rows(paper.PROTOCOLS)[row]
    return Way(found.prompt, found.samples, found.parameters | room)


PROTOCOLS = {
    "G-Eval": _printed(geval, "G-EVAL-4", _RATING),
    # The paper's five scores at temperature 0 are one and the same reply of most servers.
    "DHP's form": Way(dhp.PROTOCOLS[0].prompt, 1, _GREEDY),
    "DA": _printed(chatgpt, "ChatGPT (DA w/o ref)", _GREEDY),
    "DA with reference": _printed(chatgpt, "ChatGPT (DA w/ ref)", _GREEDY),
    "stars": _printed(chatgpt, "ChatGPT (Stars w/o ref)", _GREEDY),
    "stars with reference": _printed(chatgpt, "ChatGPT (Stars w/ ref)", _GREEDY),
    "reason, then score": Way("upstream:d223302/{aspect:.3}_analyze_rate", 1, _REASONING),
}
COSTS = ["calls", "prompt_tokens", "completion_tokens", "cost", "estimated"]


def _tasks():
    """Tasks that the papers' prompts ask about."""
    found = set()
    for name in names():
        paper, *_ = name.split("/")
        perturbs = name.startswith("dhp/perturb")
        asks_a_task = name.count("/") > 1 and "_no_steps" not in name
        if paper in ("geval", "chatgpt", "dhp") and asks_a_task and not perturbs:
            found.add(name.split("/")[-2])
    return sorted(found)


TASKS = _tasks()


def protocols(benchmark, task="", *, prompts=None, scale=(1, 5), samples=None, settings=None):
    """Prompts that ask about a benchmark's aspects.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
    task : str
        One of `TASKS`; empty for dialogue where an item has a context, else summarization.
    prompts, scale, samples, settings
        As for `evaluate`.

    Returns
    -------
    task : str
    asked : dict
        By aspect and protocol: prompt, replies an item, sampling parameters. Protocols that show a reference
        are left out unless all items have one, upstream's where they cannot be had.

    Raises
    ------
    KeyError
        For an unknown prompt.
    ValueError
        For an unknown task or aspect, and a prompt that cannot be filled.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> task, asked = protocols(load("summeval", "sample"))
    >>> prompt, samples, sampling = asked["coherence", "G-Eval"]
    >>> task, prompt.name, samples
    ('summarization', 'geval/summarization/coherence', 20)
    """
    if not task:
        has_context = benchmark.items["context"].str.strip().any()
        task = "dialogue" if has_context else "summarization"
    if task not in TASKS:
        raise ValueError(unknown("task", task, TASKS))
    if samples is not None and (
        isinstance(samples, bool) or not isinstance(samples, int) or samples < 1
    ):
        raise ValueError(f"samples={samples!r}: expected a whole number of at least 1")
    settings = settings or {}
    asked = {}
    for aspect in benchmark.aspects:
        for label, protocol in PROTOCOLS.items():
            found = _protocol_prompt(benchmark, task, aspect, protocol.prompt)
            if found is not None:
                asked[aspect, label] = (
                    found,
                    samples or protocol.samples,
                    protocol.sampling | settings,
                )
    for aspect, label, found in _own_prompts(benchmark, prompts, scale):
        asked[aspect, label] = (found, samples or 1, _REASONING | settings)
    return task, asked


def plan(
    benchmark,
    *,
    task="",
    judge=None,
    price=None,
    limit=None,
    prompts=None,
    scale=(1, 5),
    samples=None,
    settings=None,
    **options,
):
    """Say what an evaluation with these arguments of `evaluate` takes.

    Returns
    -------
    pandas.DataFrame
        `aspect, method, judge, calls, prompt_tokens, completion_tokens, cost, estimated`: what the method
        costs, whoever asks; replies that a live judge has in store are counted as they were. `calls_left,
        cost_left`: what a live judge has yet to be asked, NaN for others.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> found = plan(load("summeval", "sample"), limit=1, price=(1.0, 4.0)).set_index(["aspect", "method"])
    >>> int(found.loc[("coherence", "G-Eval"), "calls"])
    6
    """
    benchmark = limited(benchmark, limit)
    _, asked = protocols(
        benchmark, task, prompts=prompts, scale=scale, samples=samples, settings=settings
    )
    judges = {"": None}
    if judge is not None:
        judges = named_judges(judge, benchmark.items, options)
    rows = []
    for name, one in judges.items():
        for (aspect, label), (found, n, sampling) in asked.items():
            tasks = Tasks(benchmark.items, found, n=n, **sampling)
            rows.append(
                {
                    "aspect": aspect,
                    "method": method_name(label, name, judges),
                    "judge": name,
                    **cost_of(tasks, one, price),
                    **_left(tasks, one, price),
                }
            )
    return pd.DataFrame(
        rows, columns=["aspect", "method", "judge", *COSTS, "calls_left", "cost_left"]
    )


def _left(tasks, judge, price):
    """What a live judge has yet to be asked."""
    if not isinstance(judge, Live):
        return {"calls_left": np.nan, "cost_left": np.nan}
    left = judge.plan(tasks)
    cost = _price_of(left["prompt_tokens"], left["completion_tokens"], price)
    return {"calls_left": left["calls"], "cost_left": cost}


def limited(benchmark, documents=None):
    """Keep the first documents of a benchmark.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
    documents : int, optional
        How many; None and 0 are all.

    Returns
    -------
    nlgjudge.data.schema.Benchmark

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> limited(load("summeval", "sample"), 2).items["doc_id"].nunique()
    2
    """
    kept = first(benchmark.items[["doc_id"]].drop_duplicates(), documents)
    items = benchmark.items[benchmark.items["doc_id"].isin(kept["doc_id"])]
    return replace(benchmark, items=items, ratings=benchmark.ratings.merge(items[["item_id"]]))


def _protocol_prompt(benchmark, task, aspect, name):
    """The prompt of a protocol for an aspect; None where there is none, or its slots cannot be filled."""
    if name.startswith("upstream:") and task != "dialogue":  # upstream's words are about a dialogue
        return None
    name = name.format(task=task, aspect=aspect)
    if (
        not name.startswith("upstream:") and name not in names()
    ):  # nobody is told which names come near
        return None
    try:
        found = prompt(name)
    except (KeyError, DataUnavailable):
        return None
    shows_reference = "reference" in found.slots.values()
    if shows_reference and not benchmark.items["references"].map(len).all():
        return None
    # "reason, then score" takes the first letters of an aspect, which may be those of another.
    return found if found.aspect == aspect else None


def _own_prompts(benchmark, prompts, scale):
    """Aspect, label and prompt of each prompt that the user gave."""
    low, high = scale
    if not low < high:
        raise ValueError(f"scale={scale!r}: expected the lowest rating, then the highest")
    if isinstance(prompts, (str, Prompt)):
        prompts = [prompts]
    if not isinstance(prompts, dict):
        prompts = {"": list(prompts or [])}
    found = []
    for aspect, given in prompts.items():
        several = [given] if isinstance(given, (str, Prompt)) else given
        for one in several:
            asked = as_prompt(one, aspect=aspect, scale=scale)
            about = aspect or asked.aspect
            if not about:
                raise ValueError(
                    f"prompt {asked.name}: which aspect does it ask about? Name one of "
                    f"{', '.join(benchmark.aspects)}, as {benchmark.aspects[0]}=..."
                )
            if about not in benchmark.aspects:
                raise ValueError(
                    f"prompt {asked.name}: {unknown('aspect', about, benchmark.aspects)}"
                )
            _check_fields(asked, benchmark.items)
            taken = [label for of, label, _ in found if of == about]
            found.append((about, _own_label(asked, taken), asked._replace(aspect=about)))
    return found


def _own_label(asked, taken):
    """What a prompt of the user's is called in the table; a second of the same name is numbered."""
    label = "your prompt" if asked.name.startswith("inline:") else asked.name
    same = [name for name in taken if name.split(" (")[0] == label]
    return f"{label} ({len(same) + 1})" if same else label


def _check_fields(asked, items):
    """Refuse a prompt that shows what some items lack."""
    for field, column in {"reference": "references", "context": "context"}.items():
        empty = int((items[column].map(len) == 0).sum())
        if empty and field in asked.slots.values():
            raise ValueError(
                f"prompt {asked.name} shows a {field}, and {empty} of {len(items)} outputs have "
                f"none: fill the column {column}, or leave the slot out"
            )


def named_judges(judge, items, options):
    """Make judges, and name each.

    Parameters
    ----------
    judge : str, object or list of them
    items : pandas.DataFrame
    options : dict
        For `nlgjudge.judging.run.get_judge`; where there are several judges, for live ones only.

    Returns
    -------
    dict of str to object
    """
    several = isinstance(judge, (list, tuple))
    found = {}
    for one in judge if several else [judge]:
        if isinstance(one, str):
            takes_options = not several or one.startswith(("openai:", "batch:"))
            one = get_judge(one, items=items, **(options if takes_options else {}))
        name = one.name
        while name in found:  # the same model at two endpoints, say
            name += "'"
        found[name] = one
    if not found:
        raise ValueError("no judge: expected a name, as openai:MODEL, or several")
    return found


def is_rule(name):
    """Tell whether a judge is the rule `surface`."""
    return name == "surface"


def method_name(label, name, judges):
    """Name a protocol in the table, with its judge where there are several.

    Examples
    --------
    >>> method_name("DA", "model", ["model", "other"]), method_name("DA", "surface", ["surface"])
    ('DA, model', 'DA (by the rule)')
    """
    if is_rule(name):
        return f"{label} (by the rule)"
    return label if len(judges) < 2 else f"{label}, {name}"


def submit(judges, asked, items):
    """Send a batch judge everything at once: it stops while replies are missing.

    Parameters
    ----------
    judges : dict
        From `named_judges`.
    asked : dict
        From `protocols`.
    items : pandas.DataFrame
    """
    for judge in judges.values():
        if hasattr(judge, "submit"):
            for found, n, sampling in asked.values():
                judge.submit(Tasks(items, found, n=n, **sampling))


def cost_of(tasks, judge, price):
    """Count what tasks cost.

    Parameters
    ----------
    tasks : nlgjudge.judging.tasks.Tasks
    judge : object
    price : (float, float) or None
        Of a million prompt and a million completion tokens.

    Returns
    -------
    dict
        `calls, prompt_tokens, completion_tokens, cost` (NaN without a price) and `estimated`, whether some
        tokens were counted by no server.
    """
    calls = 0
    prompted = 0
    completed = 0
    estimated = False
    for task in tasks:
        calls += 1
        counted = _counted_tokens(task, judge)
        if counted is None:
            estimated = True
            counted = _estimated_tokens(task, judge)
        prompted += counted[0]
        completed += counted[1]
    return {
        "calls": calls,
        "prompt_tokens": prompted,
        "completion_tokens": completed,
        "cost": _price_of(prompted, completed, price),
        "estimated": estimated,
    }


def _counted_tokens(task, judge):
    """Tokens of a task's prompts and replies as the server counted them; None where some are not known."""
    if not isinstance(judge, Live):
        return None
    _, digest, n = judge.server.request(task)
    replies = [*judge.store.get(digest).values()][:n]
    if len(replies) < n or any(reply["prompt_tokens"] is None for reply in replies):
        return None
    return (
        sum(reply["prompt_tokens"] for reply in replies),
        sum(reply["completion_tokens"] for reply in replies),
    )


def _estimated_tokens(task, judge):
    """Tokens of a task's prompt and of its longest replies."""
    n = task.n
    if isinstance(judge, Live):
        _, _, n = judge.server.request(task)
    length, _ = assumed_length(task)
    return prompt_tokens(task), n * min(length, task.settings.get("max_tokens", length))


def _price_of(prompted, completed, price):
    if not price:
        return np.nan
    return (prompted * price[0] + completed * price[1]) / 1e6
