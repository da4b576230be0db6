"""CoAScore's relevant aspects: the words that ask about them, their generation and their scores.

Gong and Mao 2023 (arXiv 2312.10355), sections 3.2 and 3.3 and Tables 8 to 11. The printed
prompts are about the overall quality of a dialogue response; for other tasks and aspects
their words are exchanged for those of `prompts/coascore/tasks.toml` in a single pass.
"""

import json
import math
import re
import tomllib
import warnings
from functools import partial
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.judging.parsing import Score, parse
from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.scoring import COLUMNS
from nlgjudge.judging.tasks import Task

SETTINGS = {"temperature": 0}  # section 4.3
NUMBERS = dict(enumerate(re.findall(
    "[a-z]+", "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"), 1))
_LINE = re.compile(r"^[ \t>#*•–-]*(?:\d+[.)])?[ \t*_\"'-]*([^\W\d][^:\n*_\"?!]{1,60}?)[ \t*_\"']*"
                   r"(?:\([^)\n]*\))?[ \t*_]*(?::|[ \t][–-])[ \t*_\"']*(\S.*?)[ \t*_\"',]*$", re.MULTILINE)
_NAME_KEYS, _SCORE_KEYS, _TEXT_KEYS = ("aspect", "name"), ("score", "rating", "value"), (
    "definition", "description")


class Aspect(NamedTuple):
    """An aspect and what is meant by it."""

    name: str
    definition: str


def dataset_aspects(task):
    """Rated aspects of a task, as the ablation CoAScore_inter uses them (section 4.6).

    Parameters
    ----------
    task : str
        As ``dialogue`` or ``summarization``.

    Returns
    -------
    dict of str to Aspect
        By the benchmarks' name of the aspect.

    Raises
    ------
    KeyError
        For an unknown task; the message lists the known.
    """
    return {key: Aspect(*words) for key, words in _task(task)["aspects"].items()}


def stage(name, task, aspect, scale=(1, 5)):
    """One of the printed prompts, in the words of a task and an aspect.

    Parameters
    ----------
    name : {"llmscore", "aspects", "aspect_scores", "chain"}
        Tables 8 to 11.
    task, aspect : str
        A task of `prompts/coascore/tasks.toml` and one of its aspects.
    scale : (int, int)

    Returns
    -------
    nlgjudge.judging.prompts.Prompt
        `exact` for the words that the paper prints: dialogue, overall quality, 1 to 5.

    Raises
    ------
    KeyError
        For an unknown task or aspect.
    """
    asked, printed, wanted = prompt(f"coascore/{name}"), _task("dialogue"), _task(task)
    if aspect not in wanted["aspects"]:
        raise KeyError(f"no words for aspect {aspect!r} of {task}; there are {', '.join(wanted['aspects'])}")
    pairs = [_words(printed, "overall", (1, 5)), _words(wanted, aspect, scale)]
    exchange = dict(zip(*pairs))
    pattern = "|".join(re.escape(w) for w in sorted(exchange, key=len, reverse=True))
    body = re.sub(pattern, lambda m: exchange[m[0]], asked.body)
    slots = {token: field for token, field in asked.slots.items() if token in body}
    return asked._replace(name=f"coascore/{name}/{task}/{aspect}", aspect=aspect, body=body, slots=slots,
                          exact=asked.exact and body == asked.body, scale=tuple(scale) if asked.scale else ())


def relevant_aspects(judge, task, aspect, n=5, *, settings=None):
    """Stage 1: let a judge list aspects (Table 9).

    A live judge keeps the reply in its store under the full request, so the same task,
    aspect, n and judge are asked once.

    Parameters
    ----------
    judge, task, aspect, settings
        As for `nlgjudge.papers.coascore.chain.llmscore`.
    n : int

    Returns
    -------
    list of nlgjudge.papers.coascore.aspects.Aspect
        At most n; fewer come with a warning.

    Raises
    ------
    ValueError
        When the reply names none.
    """
    asked = stage("aspects", task, aspect)
    text = asked.render({"n": NUMBERS.get(n, n)})
    judge = get_judge(judge) if isinstance(judge, str) else judge
    asking = Task("relevant aspects", aspect, text, {"n": str(n)}, (), "text", 1, settings or SETTINGS,
                  prompt=asked.name, digest=asked.digest, check=_names_none)
    reply, = judge.replies([asking])
    found = parse_aspects(reply.text)[:n]
    if not found:
        raise ValueError(f"{judge.name} named no aspect, expected {n}, one 'Name: definition' a line; got "
                         f"{reply.reason or reply.text[:80]!r}")
    if len(found) < n:
        warnings.warn(f"{judge.name} named {len(found)} of {n} aspects of {aspect}", stacklevel=2)
    return found


def score_aspects(items, judge, task, aspect, aspects, *, scale=(1, 5), settings=None):
    """Stage 2: score all aspects of an item in one call (Table 10).

    Parameters
    ----------
    items, judge, task, aspect, scale, settings
        As for `nlgjudge.papers.coascore.chain.llmscore`.
    aspects : list of nlgjudge.papers.coascore.aspects.Aspect

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect` (of the chain), `sample_index, text, score, reason, reply_key`, a
        row for each item and aspect; `reply_key` is how the reply called it. An aspect that
        was not asked for has a row with the reason `extra_aspect`.
    """
    asked = stage("aspect_scores", task, aspect, scale)
    defined = dict.fromkeys(items["item_id"], "\n\n".join(f"{a.name}: {a.definition}" for a in aspects))
    rows = []
    judge = get_judge(judge) if isinstance(judge, str) else judge
    check = partial(_lacks_scores, names=[a.name for a in aspects], scale=scale)
    tasks = [one._replace(check=check) for one in item_tasks(items, asked, settings, {"aspects": defined})]
    for reply in judge.replies(tasks):
        scores, keys, extra = parse_scores(reply.text, [a.name for a in aspects], scale)
        head = (reply.item_id, reply.sample_index, reply.text)
        rows += [(*head, name, score, reply.reason or reason, keys.get(name, ""))
                 for name, (score, reason) in scores.items()]
        rows += [(*head, name, np.nan, "extra_aspect", name) for name in extra]
    columns = ["item_id", "sample_index", "text", "aspect", "score", "reason", "reply_key"]
    return pd.DataFrame(rows, columns=columns).astype({"score": float})[[*COLUMNS, "reply_key"]]


def _names_none(text):
    """Why a reply to stage 1 is of no use to stage 2."""
    return "" if parse_aspects(text) else "no_aspects"


def _lacks_scores(text, names, scale):
    """Why a reply to stage 2 is of no use to stage 3: the reason of the first aspect without a score."""
    scores, _, _ = parse_scores(text, names, scale)
    return next((score.reason for score in scores.values() if score.reason), "")


def parse_aspects(text):
    """Read a list of aspects: JSON, or one "Name: definition" a line, numbered or marked as it may be.

    Returns
    -------
    list of Aspect
        In the reply's order, the first of those whose names differ only in case or marks.
    """
    found = {}
    for name, value in [p for p in _pairs(text, _TEXT_KEYS) if isinstance(p[1], str)]:
        if _key(name) and len(value.split()) > 1:
            found.setdefault(_key(name), Aspect(name.strip(), value.strip()))
    return list(found.values())


def parse_scores(text, names, scale=(1, 5)):
    """Read a score for each aspect by its name: JSON, or one "Name: 5.0" a line.

    A name may differ in case and marks, or hold the wanted name or be held by it, where that
    leaves one choice.

    Parameters
    ----------
    text : str
    names : list of str
    scale : (float, float)

    Returns
    -------
    scores : dict of str to nlgjudge.judging.parsing.Score
        One for each name; reasons are those of `nlgjudge.judging.parsing.parse`, and
        `missing_aspect`, `ambiguous` where a name was given two scores.
    keys : dict of str to str
        How the reply called each aspect that it scored.
    extra : list of str
        Names in the reply that are none of ours.
    """
    given = {}
    for name, value in _pairs(text, _SCORE_KEYS):
        score = parse(str(value), "number", scale)
        if not math.isnan(score.score) or score.reason in ("out_of_range", "other_scale"):
            given.setdefault(name.strip(), []).append(score)
    whole = parse(text, "number", scale).reason if not given else ""
    reason = whole if whole in ("empty", "refusal") else "missing_aspect"
    matched = _matched(list(given), names)
    found = {n: set(given[matched[n]]) if n in matched else {Score(math.nan, reason)} for n in names}
    scores = {n: s.pop() if len(s) == 1 else Score(math.nan, "ambiguous") for n, s in found.items()}
    return scores, matched, [name for name in given if name not in matched.values()]


def _matched(given, names):
    """Aspect to the reply's key; first equal keys, then those that hold one another, if unique."""
    matched = {}
    for close in (lambda a, b: a == b, lambda a, b: a in b or b in a):
        free = [g for g in given if g not in matched.values() and _key(g)]
        open_ = [n for n in names if n not in matched]
        pairs = [(n, g) for n in open_ for g in free if close(_key(n), _key(g))]
        matched |= {n: g for n, g in pairs
                    if sum(n == p[0] for p in pairs) == 1 == sum(g == p[1] for p in pairs)}
    return matched


def item_tasks(items, asked, settings, extra=None):
    """Render a prompt for every item, with fields of its own from `extra` (by field, then item)."""
    tasks = []
    for item in items.itertuples():
        fields = {"source": item.source, "hypothesis": item.hypothesis, "context": item.context,
                  "reference": item.references[0] if len(item.references) else ""}
        fields |= {field: values[item.item_id] for field, values in (extra or {}).items()}
        tasks.append(Task(item.item_id, asked.aspect, asked.render(fields), fields, asked.scale, asked.form,
                          1, settings or SETTINGS, prompt=asked.name, digest=asked.digest))
    return tasks


def _key(name):
    return re.sub(r"[\W_]", "", name.lower())


def _pairs(text, value_keys):
    """Names and values of a reply, from its JSON where there is any, else line by line."""
    start = min((i for i in map(text.find, "{[") if i >= 0), default=-1)
    end = max(text.rfind("}"), text.rfind("]"))
    try:
        return list(_flat(json.loads(text[start:end + 1], object_pairs_hook=list), value_keys))
    except (json.JSONDecodeError, RecursionError):
        return _LINE.findall(re.sub(r'[{}]|,\s*(?=")', "\n", text) if "{" in text else text)


def _flat(node, value_keys):
    """Names and values from objects nested as judges nest them; an object comes as its pairs."""
    pairs = [p for p in node if isinstance(p, tuple)]
    fields = {k.lower(): v for k, v in pairs}
    name = next((fields[k] for k in _NAME_KEYS if isinstance(fields.get(k), str)), None)
    value = next((fields[k] for k in value_keys if k in fields), None)
    if name is not None and value is not None:
        yield name, value
        return
    for key, inner in pairs:
        nested = dict(inner) if isinstance(inner, list) and all(isinstance(i, tuple) for i in inner) else {}
        value = next((v for k, v in nested.items() if k.lower() in value_keys), None)
        if value is not None:
            yield key, value
        elif isinstance(inner, list):
            yield from _flat(inner, value_keys)
        else:
            yield key, inner
    for inner in node:
        if isinstance(inner, list):
            yield from _flat(inner, value_keys)


def _task(name):
    path = files("nlgjudge") / "papers" / "coascore" / "prompts" / "tasks.toml"
    tasks = tomllib.loads(path.read_text(encoding="utf-8"))
    if name not in tasks:
        raise KeyError(f"no words for task {name!r}; there are {', '.join(tasks)}")
    return tasks[name]


def _words(task, aspect, scale):
    """What stands in a prompt for the task and the aspect, in one order for all."""
    title, definition = task["aspects"][aspect]
    low, high = scale
    return [task["intro"].strip(), task["material"].strip(), task["name"], task["source"], task["hypothesis"],
            title, title.lower(), definition, f"({low}-{high})", f"from {low} to {high}"]
