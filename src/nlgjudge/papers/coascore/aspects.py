"""CoAScore's relevant aspects: the words that ask about them, their generation and their scores.

Gong and Mao 2023 (arXiv 2312.10355), sections 3.2 and 3.3 and Tables 8 to 11. The printed
prompts are about the overall quality of a dialogue response; for other tasks and aspects
their words are replaced by those of `prompts/tasks.toml` in a single pass.
"""

from __future__ import annotations

import math
import re
import tomllib
import warnings
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import pandas as pd

from nlgjudge.judging.prompts import Prompt, prompt
from nlgjudge.judging.rating_text import load_json, visible
from nlgjudge.judging.reading import Reading, Score
from nlgjudge.judging.scoring import COLUMNS
from nlgjudge.judging.tasks import Task, Tasks
from nlgjudge.papers.folders import paper

SAMPLING = {"temperature": 0}  # section 4.3
_STEP_BY_STEP = (
    "Give your reasons first, and the score in a last line.\n\nLet's think step by step:"
)
_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
_NUMBERS = dict(enumerate(_WORDS.split(), 1))
_MARKS = " \t#>*_\"'`•–-"  # around a line of a list
_LONGEST_NAME = 60  # characters
SCALE = (1, 5)


class Aspect(NamedTuple):
    """An aspect and what is meant by it."""

    name: str
    definition: str


class NoAspects(ValueError):
    """A reply names no aspect; `reason` says why, as that of a reply."""

    def __init__(self, message, reason):
        super().__init__(message)
        self.reason = reason


def dataset_aspects(task: str) -> dict[str, Aspect]:
    """Rated aspects of a task with the words that ask about them, by the benchmarks' name of the aspect.

    A `KeyError` for an unknown task names those that there are.

    Examples
    --------
    >>> list(dataset_aspects("summarization"))
    ['coherence', 'consistency', 'fluency', 'relevance']
    """
    return {key: Aspect(*words) for key, words in _task_words(task)["aspects"].items()}


def other_rated_aspects(task, aspect):
    """Aspects that the ablation CoAScore_inter shows instead of generated ones (section 4.6).

    The paper experiments "with five aspects in the TopicalChat dataset", those of Table 5. Topical-Chat's sixth, the
    use of knowledge, is not there and is left out. For a task that is not in Table 5, all its rated aspects count.
    """
    rated = dataset_aspects(task)
    scopes = paper("coascore").scopes
    of_table = [scope for scope in scopes if "table5" in scope.artefacts and scope.task == task]
    keys = [asked for scope in of_table for asked, _ in scope.aspects.values()]
    return [rated[key] for key in keys or rated if key != aspect]


def stage_prompt(
    name: Literal["llmscore", "llmscore_cot", "aspects", "aspect_scores", "chain"],
    task: str,
    aspect: str,
) -> Prompt:
    """One of the prompts of Tables 8 to 11 in the words of a task and an aspect of `prompts/tasks.toml`.

    It is `exact` for dialogue and overall quality. Of LLMScore_CoT, which gives reasons first, the paper prints "Let's
    think step by step:" only. A `KeyError` for an unknown task or aspect names those that there are.
    """
    if name == "llmscore_cot":
        plain = stage_prompt("llmscore", task, aspect)
        body = plain.body.rpartition("\n\n")[0] + "\n\n" + _STEP_BY_STEP
        return plain._replace(name=f"coascore/{name}/{task}/{aspect}", body=body, exact=False)
    printed = prompt(f"coascore/{name}")
    words = _task_words(task)
    if aspect not in words["aspects"]:
        raise KeyError(
            f"no words for aspect {aspect!r} of {task}; there are {', '.join(words['aspects'])}"
        )
    exchange = dict(zip(_words(_task_words("dialogue"), "overall"), _words(words, aspect)))
    longest_first = sorted(exchange, key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first))
    body = re.sub(pattern, lambda match: exchange[match[0]], printed.body)
    return printed._replace(
        name=f"coascore/{name}/{task}/{aspect}",
        aspect=aspect,
        body=body,
        slots={token: field for token, field in printed.slots.items() if token in body},
        exact=printed.exact and body == printed.body,
    )


def relevant_aspects(judge, task, aspect, n=5, *, settings=None):
    """Let a judge list at most n aspects (stage 1, Table 9); fewer come with a warning, none is `NoAspects`."""
    stage = stage_prompt("aspects", task, aspect)
    text = stage.render({"n": _NUMBERS.get(n, n)})
    settings = SAMPLING if settings is None else settings
    fields, of_prompt = {"n": str(n)}, (stage.name, stage.digest)
    task = Task("relevant aspects", aspect, text, fields, stage.reading, 1, settings, *of_prompt)
    (reply,) = judge.replies([task])
    aspects = parse_aspects(reply.text)[:n]
    if not aspects:
        raise NoAspects(
            f"{judge.name} named no aspect of {aspect}, expected {n}, one 'Name: definition' a line; got "
            f"{reply.reason or reply.text[:80]!r}",
            reply.reason or "no_aspects",
        )
    if len(aspects) < n:
        warnings.warn(f"{judge.name} named {len(aspects)} of {n} aspects of {aspect}", stacklevel=2)
    return aspects


def score_aspects(items, judge, task, aspect, aspects, *, settings=None):
    """Score all aspects of an item in one call (stage 2, Table 10).

    Returns the columns of responses, `aspect` being those of the chain, a row for each item and aspect. An aspect that
    was not asked for has a row with the reason `extra_aspect`.
    """
    stage = stage_prompt("aspect_scores", task, aspect)
    names = [aspect.name for aspect in aspects]
    definitions = "\n\n".join(f"{aspect.name}: {aspect.definition}" for aspect in aspects)
    settings = {"response_format": _schema(names)} | (SAMPLING if settings is None else settings)
    rows = []
    parsed = {}  # many replies are alike
    items = items.assign(aspects=pd.Series(definitions, items.index, dtype=object))
    for reply in judge.replies(Tasks(items, stage, **settings)):
        if reply.text not in parsed:
            parsed[reply.text] = parse_scores(reply.text, names)
        scores, extra = parsed[reply.text]
        scores = scores | dict.fromkeys(extra, Score(math.nan, "extra_aspect"))
        for name, score in scores.items():
            reason = score.reason if name in extra else reply.reason or score.reason
            rows.append((reply.item_id, name, reply.sample_index, reply.text, score.score, reason))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"score": float})


def parse_aspects(text):
    """Read a list of aspects: a JSON object, or one "Name: definition" a line.

    Of names that differ only in case or marks the first counts.
    """
    aspects: dict[str, Aspect] = {}
    for name, definition in _pairs(text) or []:
        if _key(name) and len(definition.split()) > 1:
            aspects.setdefault(_key(name), Aspect(name, definition))
    return list(aspects.values())


def parse_scores(text, names):
    """Read a score from 1 to 5 for each aspect by its name: a JSON object, or one "Name: 5.0" a line.

    Names may differ in case and marks, and in nothing else. Returns a `Score` for each name, and other names that the
    reply rates. Reasons are those of `nlgjudge.judging.Reading`, and `missing_aspect`, `ambiguous` where a name was
    given two scores, `not_json` for broken or nested JSON.
    """
    pairs = _pairs(text)
    if pairs is None:
        return dict.fromkeys(names, Score(math.nan, "not_json")), []
    reading = Reading("number", SCALE)
    by_key = {_key(name): name for name in names}
    rated: dict[str, set[Score]] = {}
    for name, value in pairs:
        score = reading.read(value)
        if score.reason in ("", "ambiguous", "out_of_range", "other_scale"):
            rated.setdefault(by_key.get(_key(name), name), set()).add(score)
    of_whole = "" if rated else reading.read(text).reason
    missing = Score(math.nan, of_whole if of_whole in ("empty", "refusal") else "missing_aspect")
    scores = {}
    for name in names:
        different = rated.get(name, {missing})
        scores[name] = different.pop() if len(different) == 1 else Score(math.nan, "ambiguous")
    return scores, [name for name in rated if name not in names]


def _schema(names):
    """The JSON that a server is asked for: a number for each aspect. The prompt's words stay as printed."""
    schema = {
        "type": "object",
        "properties": {name: {"type": "number"} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "scores", "strict": True, "schema": schema},
    }


def _key(name):
    """A name without case and marks."""
    return re.sub(r"[\W_]", "", name.lower())


def _pairs(text):
    """Names and values of a reply: of its JSON object, else line by line; None for JSON that is broken or nested."""
    text = visible(text)
    if "{" not in text:
        return _lines(text)
    try:
        # An object is read as its pairs, because a reply may name one aspect twice.
        pairs = load_json(text, object_pairs_hook=list)
    except ValueError:
        return None
    if any(isinstance(value, list) for _, value in pairs):
        return None
    return [(name.strip(), str(value)) for name, value in pairs]


def _lines(text):
    """Names and values of lines "Name: value" or "Name - value", perhaps with a bullet, a number or a remark."""
    pairs = []
    for line in text.splitlines():
        line = re.sub(r"^\d+[.)]", "", line.strip(_MARKS)).strip(_MARKS)
        name, *value = re.split(r":|\s[–-]\s", line, maxsplit=1)
        if value and len(name) <= _LONGEST_NAME:
            name = re.sub(r"\(.*", "", name).strip(_MARKS)
            if name[:1].isalpha():
                pairs.append((name, value[0].strip(" \t*_\"',")))
    return pairs


@cache
def _task_words(name):
    """What `tasks.toml` has on a task."""
    path = files("nlgjudge") / "papers" / "coascore" / "prompts" / "tasks.toml"
    tasks = tomllib.loads(path.read_text(encoding="utf-8"))
    if name not in tasks:
        raise KeyError(f"no words for task {name!r}; there are {', '.join(tasks)}")
    return tasks[name]


def _words(task, aspect):
    """What a prompt says of the task and the aspect, in one order for all."""
    title, definition = task["aspects"][aspect]
    return [
        task["intro"].strip(),
        task["material"].strip(),
        *(task["name"], task["source"], task["hypothesis"]),
        *(title, title.lower(), definition),
    ]
