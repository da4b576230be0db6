"""CoAScore's relevant aspects: the words that ask about them, their generation and their scores.

Gong and Mao 2023 (arXiv 2312.10355), sections 3.2 and 3.3 and Tables 8 to 11. The printed
prompts are about the overall quality of a dialogue response; for other tasks and aspects
their words are replaced by those of `prompts/tasks.toml` in a single pass.
"""

import math
import re
import tomllib
import warnings
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import pandas as pd

from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.rating_text import load_json, visible
from nlgjudge.judging.reading import Reading, Score
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.scoring import COLUMNS
from nlgjudge.judging.tasks import Task, fields_of
from nlgjudge.papers.coascore.protocols import SAMPLING, SCOPES

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


class NoAspects(ValueError):
    """A reply names no aspect; `reason` says why, as that of a reply."""

    def __init__(self, message, reason):
        super().__init__(message)
        self.reason = reason


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
    return {key: Aspect(*words) for key, words in _task_words(task)["aspects"].items()}


def other_rated_aspects(task, aspect):
    """Aspects that the ablation CoAScore_inter shows instead of generated ones (section 4.6).

    The paper experiments "with five aspects in the TopicalChat dataset", those of Table 5, and takes "other
    aspects already present in the evaluation dataset". Topical-Chat's sixth aspect, the use of knowledge, is
    not in Table 5 and is left out. For a task that is not in Table 5, all its rated aspects count.

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
    printed = _task_words("dialogue")
    wanted = _task_words(task)
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
    """Let a judge list aspects (stage 1, Table 9).

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
    NoAspects
        When the reply names none.
    """
    asked = stage("aspects", task, aspect)
    judge = get_judge(judge)
    fields = {"n": str(n)}
    text = asked.render({"n": _NUMBERS.get(n, n)})
    (reply,) = judge.replies([_task("relevant aspects", asked, text, fields, settings)])
    found = parse_aspects(reply.text)[:n]
    if not found:
        raise NoAspects(
            f"{judge.name} named no aspect of {aspect}, expected {n}, one 'Name: definition' a line; got "
            f"{reply.reason or reply.text[:80]!r}",
            reply.reason or "no_aspects",
        )
    if len(found) < n:
        warnings.warn(f"{judge.name} named {len(found)} of {n} aspects of {aspect}", stacklevel=2)
    return found


def score_aspects(items, judge, task, aspect, aspects, *, scale=(1, 5), settings=None):
    """Score all aspects of an item in one call (stage 2, Table 10).

    Parameters
    ----------
    items, judge, task, aspect, scale, settings
        As for `nlgjudge.papers.coascore.chain.llmscore`.
    aspects : list of nlgjudge.papers.coascore.aspects.Aspect

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect` (of the chain), `sample_index, text, score, reason`, a row for each item and aspect. An
        aspect that was not asked for has a row with the reason `extra_aspect`.
    """
    asked = stage("aspect_scores", task, aspect, scale)
    judge = get_judge(judge)
    names = [one.name for one in aspects]
    definitions = "\n\n".join(f"{one.name}: {one.definition}" for one in aspects)
    shown = {"aspects": dict.fromkeys(items["item_id"], definitions)}
    settings = {"response_format": _schema(names)} | (SAMPLING if settings is None else settings)
    rows, parsed = [], {}  # many replies are alike
    for reply in judge.replies(item_tasks(items, asked, settings, shown)):
        if reply.text not in parsed:
            parsed[reply.text] = parse_scores(reply.text, names, scale)
        scores, extra = parsed[reply.text]
        found = [(name, score, reply.reason or reason) for name, (score, reason) in scores.items()]
        found += [(name, math.nan, "extra_aspect") for name in extra]
        for name, score, reason in found:
            rows.append((reply.item_id, name, reply.sample_index, reply.text, score, reason))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"score": float})


def parse_aspects(text):
    """Read a list of aspects: a JSON object, or one "Name: definition" a line.

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
    for name, definition in _pairs(text) or []:
        if _key(name) and len(definition.split()) > 1:
            found.setdefault(_key(name), Aspect(name, definition))
    return list(found.values())


def parse_scores(text, names, scale=(1, 5)):
    """Read a score for each aspect by its name: a JSON object, or one "Name: 5.0" a line.

    Parameters
    ----------
    text : str
    names : list of str
        A reply's names may differ in case and marks, and in nothing else.
    scale : (float, float)

    Returns
    -------
    scores : dict of str to nlgjudge.judging.reading.Score
        One for each name; reasons are those of `nlgjudge.judging.Reading`, and
        `missing_aspect`, `ambiguous` where a name was given two scores, `not_json` for broken or nested JSON.
    extra : list of str
        Other names that the reply gives a score.

    Examples
    --------
    >>> parse_scores("Clarity: 4/5\\nTone: 9", ["Clarity", "Tone"])[0]
    {'Clarity': Score(score=4.0, reason=''), 'Tone': Score(score=nan, reason='out_of_range')}
    """
    pairs = _pairs(text)
    if pairs is None:
        return dict.fromkeys(names, Score(math.nan, "not_json")), []
    wanted = {_key(name): name for name in names}
    given = {}
    for name, value in pairs:
        score = Reading("number", scale).read(value)
        if score.reason in ("", "ambiguous", "out_of_range", "other_scale"):
            given.setdefault(wanted.get(_key(name), name), set()).add(score)
    reason = "missing_aspect"
    if not given:
        of_whole = Reading("number", scale).read(text).reason
        reason = of_whole if of_whole in ("empty", "refusal") else reason
    scores = {}
    for name in names:
        found = given.get(name, {Score(math.nan, reason)})
        scores[name] = found.pop() if len(found) == 1 else Score(math.nan, "ambiguous")
    return scores, [name for name in given if name not in names]


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
    for item in items.astype(object).itertuples():
        fields = fields_of(item)
        fields |= {field: values[item.item_id] for field, values in (extra or {}).items()}
        tasks.append(_task(item.item_id, asked, asked.render(fields), fields, settings))
    return tasks


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


def _task(key, asked, text, fields, settings):
    return Task(
        key,
        asked.aspect,
        text,
        fields,
        asked.reading,
        settings=SAMPLING if settings is None else settings,
        prompt=asked.name,
        digest=asked.digest,
    )


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
def _tasks():
    """Words of each task."""
    path = files("nlgjudge") / "papers" / "coascore" / "prompts" / "tasks.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _task_words(name):
    tasks = _tasks()
    if name not in tasks:
        raise KeyError(f"no words for task {name!r}; there are {', '.join(tasks)}")
    return tasks[name]


def _words(task, aspect, scale):
    """What a prompt says of the task and the aspect, in one order for all."""
    title, definition = task["aspects"][aspect]
    low, high = scale
    return [
        task["intro"].strip(),
        task["material"].strip(),
        *(task["name"], task["source"], task["hypothesis"]),
        *(title, title.lower(), definition),
        *(f"({low}-{high})", f"from {low} to {high}"),
    ]
