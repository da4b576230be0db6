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
from collections import Counter
from functools import cache, lru_cache, partial
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.judging.parsing import Score, parse
from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.scoring import COLUMNS
from nlgjudge.judging.tasks import Task, fields_of
from nlgjudge.papers.coascore.protocols import SAMPLING, SCOPES

_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
_STEP_BY_STEP = (
    "Give your reasons first, and the score in a last line.\n\nLet's think step by step:"
)
NUMBERS = dict(enumerate(_WORDS.split(), 1))
# A line of a list: perhaps a mark or a number, a name of up to 62 characters, perhaps a remark in brackets, a
# colon or a dash, and what is said of it. No part is tried twice (*+), so that a long reply takes no longer by the
# square; what stands at the end of a line is taken off afterwards for the same reason.
_LINE = re.compile(
    r"^[ \t>#*•–-]*+(?:\d+[.)])?+[ \t*_\"'-]*+([^\W\d][^:\n*_\"?!]{1,60}?)[ \t*_\"']*+"
    r"(?:\([^)\n]*\)[ \t*_]*+)?+(?::|(?<=[ \t])[–-])[ \t*_\"']*+(\S.*)$",
    re.MULTILINE,
)
_END = " \t*_\"',"
# How judges call the parts of an aspect in JSON.
_NAME_KEYS = ("aspect", "name")
_SCORE_KEYS = ("score", "rating", "value")
_TEXT_KEYS = ("definition", "description")


class Aspect(NamedTuple):
    """An aspect and what is meant by it.

    Attributes
    ----------
    name : str
    definition : str

    Examples
    --------
    >>> Aspect("Clarity", "how clear it is").name
    'Clarity'
    """

    name: str
    definition: str


def dataset_aspects(task):
    """Rated aspects of a task with the words that ask about them.

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

    Examples
    --------
    >>> list(dataset_aspects("summarization"))
    ['coherence', 'consistency', 'fluency', 'relevance']
    """
    return {key: Aspect(*words) for key, words in _task(task)["aspects"].items()}


def other_rated_aspects(task, aspect):
    """What the ablation CoAScore_inter shows in the place of generated aspects (section 4.6).

    The paper experiments "with five aspects in the TopicalChat dataset", those of Table 5, and takes "other
    aspects already present in the evaluation dataset". Topical-Chat has a sixth, the use of knowledge, which
    Table 5 does not have: it is not among them. For a task that Table 5 does not print all its rated aspects
    count.

    Parameters
    ----------
    task, aspect : str
        As for `stage`.

    Returns
    -------
    list of Aspect
        Without the target itself, in the table's order.

    Examples
    --------
    >>> [one.name for one in other_rated_aspects("dialogue", "overall")]
    ['Naturalness', 'Understandability', 'Interest', 'Maintains Context']
    """
    known = dataset_aspects(task)
    printed = [scope for scope in SCOPES if "table5" in scope.artefacts and scope.task == task]
    keys = [asked for scope in printed for asked, _ in scope.aspects.values()]
    return [known[key] for key in keys or known if key != aspect]


def stage(name, task, aspect, scale=(1, 5)):
    """One of the printed prompts, in the words of a task and an aspect.

    Parameters
    ----------
    name : {"llmscore", "llmscore_cot", "aspects", "aspect_scores", "chain"}
        Tables 8 to 11. Of LLMScore_CoT, which gives reasons first, the paper prints "Let's think step by step:".
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
    if name == "llmscore_cot":
        alone = stage("llmscore", task, aspect, scale)
        body = alone.body.rpartition("\n\n")[0]
        return alone._replace(
            name=f"coascore/{name}/{task}/{aspect}", body=f"{body}\n\n{_STEP_BY_STEP}", exact=False
        )
    asked = prompt(f"coascore/{name}")
    printed = _task("dialogue")
    wanted = _task(task)
    if aspect not in wanted["aspects"]:
        raise KeyError(
            f"no words for aspect {aspect!r} of {task}; there are {', '.join(wanted['aspects'])}"
        )
    exchange = dict(zip(_words(printed, "overall", (1, 5)), _words(wanted, aspect, scale)))
    longest_first = sorted(exchange, key=len, reverse=True)
    pattern = "|".join(re.escape(words) for words in longest_first)
    body = re.sub(pattern, lambda match: exchange[match[0]], asked.body)
    return asked._replace(
        name=f"coascore/{name}/{task}/{aspect}",
        aspect=aspect,
        body=body,
        slots={token: field for token, field in asked.slots.items() if token in body},
        exact=asked.exact and body == asked.body,
        scale=tuple(scale) if asked.scale else (),
    )


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
    asking = Task(
        "relevant aspects",
        aspect,
        text,
        {"n": str(n)},
        (),
        "text",
        1,
        settings or SAMPLING,
        prompt=asked.name,
        digest=asked.digest,
        check=_names_none,
    )
    (reply,) = judge.replies([asking])
    found = parse_aspects(reply.text)[:n]
    if not found:
        raise ValueError(
            f"{judge.name} named no aspect, expected {n}, one 'Name: definition' a line; got "
            f"{reply.reason or reply.text[:80]!r}"
        )
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
    judge = get_judge(judge) if isinstance(judge, str) else judge
    names = [one.name for one in aspects]
    definitions = "\n\n".join(f"{one.name}: {one.definition}" for one in aspects)
    shown = {"aspects": dict.fromkeys(items["item_id"], definitions)}
    check = partial(_lacks_scores, names=names, scale=scale)
    tasks = [one._replace(check=check) for one in item_tasks(items, asked, settings, shown)]
    read = cache(partial(parse_scores, names=names, scale=scale))  # many replies are the same
    rows = []
    for reply in judge.replies(tasks):
        scores, keys, extra = read(reply.text)
        for name, (score, reason) in scores.items():
            rows.append(
                (
                    reply.item_id,
                    name,
                    reply.sample_index,
                    reply.text,
                    score,
                    reply.reason or reason,
                    keys.get(name, ""),
                )
            )
        for name in extra:
            rows.append(
                (reply.item_id, name, reply.sample_index, reply.text, np.nan, "extra_aspect", name)
            )
    return pd.DataFrame(rows, columns=[*COLUMNS, "reply_key"]).astype({"score": float})


def _names_none(text):
    """Why a reply to stage 1 is of no use to stage 2."""
    return "" if parse_aspects(text) else "no_aspects"


def _lacks_scores(text, names, scale):
    """Why a reply to stage 2 is of no use to stage 3: the reason of the first aspect without a score."""
    scores, _, _ = parse_scores(text, names, scale)
    return next((score.reason for score in scores.values() if score.reason), "")


def parse_aspects(text):
    """Read a list of aspects: JSON, or one "Name: definition" a line, numbered or marked as it may be.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of Aspect
        In the reply's order, the first of those whose names differ only in case or marks.

    Examples
    --------
    >>> parse_aspects("1. Clarity: how clear it is\\n2. Tone: how it sounds")[0]
    Aspect(name='Clarity', definition='how clear it is')
    """
    found = {}
    for name, definition in _pairs(text, _TEXT_KEYS):
        is_definition = isinstance(definition, str) and len(definition.split()) > 1
        if is_definition and _key(name):
            found.setdefault(_key(name), Aspect(name.strip(), definition.strip()))
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
        score = _number(str(value), tuple(scale))
        if not math.isnan(score.score) or score.reason in ("out_of_range", "other_scale"):
            given.setdefault(name.strip(), []).append(score)
    matched = _matched(list(given), names)
    missing = Score(math.nan, "missing_aspect")
    if not given:
        of_whole = parse(text, "number", scale).reason
        if of_whole in ("empty", "refusal"):
            missing = Score(math.nan, of_whole)
    scores = {}
    for name in names:
        found = set(given[matched[name]]) if name in matched else {missing}
        scores[name] = found.pop() if len(found) == 1 else Score(math.nan, "ambiguous")
    extra = [name for name in given if name not in matched.values()]
    return scores, matched, extra


@lru_cache(maxsize=4096)  # the same few numbers, again and again
def _number(text, scale):
    return parse(text, "number", scale)


def _matched(given, names):
    """Aspect to the reply's key; first equal keys, then those that hold one another, if unique."""
    matched = {}
    if len({*map(_key, names)}) == len(names) and list(given) == list(names):  # as it was asked for
        return dict(zip(names, names))
    for close in (_are_equal, _hold_one_another):
        taken = set(matched.values())
        free = [key for key in given if key not in taken and _key(key)]
        without = [name for name in names if name not in matched]
        if not without:
            break
        pairs = [(name, key) for name in without for key in free if close(_key(name), _key(key))]
        choices_of_name = Counter(name for name, _ in pairs)
        choices_of_key = Counter(key for _, key in pairs)
        for name, key in pairs:
            if choices_of_name[name] == 1 and choices_of_key[key] == 1:
                matched[name] = key
    return matched


def _are_equal(one, other):
    return one == other


def _hold_one_another(one, other):
    return one in other or other in one


def item_tasks(items, asked, settings, extra=None):
    """Render a prompt for every item.

    Parameters
    ----------
    items : pandas.DataFrame
    asked : nlgjudge.judging.prompts.Prompt
    settings : dict or None
        Sampling parameters; `protocols.SAMPLING` without any.
    extra : dict of str to dict, optional
        Further fields, by field and item.

    Returns
    -------
    list of nlgjudge.judging.tasks.Task
    """
    tasks = []
    digest = asked.digest
    for item in items.itertuples():
        fields = fields_of(item)
        for field, values in (extra or {}).items():
            fields[field] = values[item.item_id]
        tasks.append(
            Task(
                item.item_id,
                asked.aspect,
                asked.render(fields),
                fields,
                asked.scale,
                asked.form,
                1,
                settings or SAMPLING,
                prompt=asked.name,
                digest=digest,
            )
        )
    return tasks


@lru_cache(maxsize=4096)  # the same few names for every item
def _key(name):
    """A name without case and marks."""
    return re.sub(r"[\W_]", "", name.lower())


def _pairs(text, value_keys):
    """Names and values of a reply, from its JSON where there is any, else line by line."""
    starts = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    start = min(starts, default=-1)
    end = max(text.rfind("}"), text.rfind("]"))
    try:
        # An object is read as its pairs, because a reply may name one aspect twice.
        return list(_flat(json.loads(text[start : end + 1], object_pairs_hook=list), value_keys))
    except (ValueError, RecursionError):  # a ValueError also for a number of thousands of digits
        if "{" in text:  # broken JSON: each of its parts is a line
            text = re.sub(r'[{}]|,\s*(?=")', "\n", text)
        return [(name, said.rstrip(_END)) for name, said in _LINE.findall(text)]


def _flat(node, value_keys):
    """Names and values from objects nested as judges nest them; an object comes as its pairs."""
    pairs = [part for part in node if isinstance(part, tuple)]
    fields = {key.lower(): value for key, value in pairs}
    name = next((fields[key] for key in _NAME_KEYS if isinstance(fields.get(key), str)), None)
    value = next((fields[key] for key in value_keys if key in fields), None)
    if name is not None and value is not None:  # {"aspect": NAME, "score": VALUE}
        yield name, value
        return
    for key, inner in pairs:
        value = _value_within(inner, value_keys)
        if value is not None:  # {NAME: {"score": VALUE}}
            yield key, value
        elif isinstance(inner, list):
            yield from _flat(inner, value_keys)
        else:  # {NAME: VALUE}
            yield key, inner
    for inner in node:
        if isinstance(inner, list):
            yield from _flat(inner, value_keys)


def _value_within(node, value_keys):
    """The value that an object gives under one of the keys, or None."""
    if isinstance(node, list) and all(isinstance(part, tuple) for part in node):
        for key, value in dict(node).items():
            if key.lower() in value_keys:
                return value
    return None


@cache
def _tasks():
    """Words of each task, which nobody changes."""
    path = files("nlgjudge") / "papers" / "coascore" / "prompts" / "tasks.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _task(name):
    tasks = _tasks()
    if name not in tasks:
        raise KeyError(f"no words for task {name!r}; there are {', '.join(tasks)}")
    return tasks[name]


def _words(task, aspect, scale):
    """What stands in a prompt for the task and the aspect, in one order for all."""
    title, definition = task["aspects"][aspect]
    low, high = scale
    return [
        task["intro"].strip(),
        task["material"].strip(),
        task["name"],
        task["source"],
        task["hypothesis"],
        title,
        title.lower(),
        definition,
        f"({low}-{high})",
        f"from {low} to {high}",
    ]
