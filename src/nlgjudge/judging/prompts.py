"""Prompts: those that the papers print, exactly, and others in the same form.

Each paper's `prompts/` has one file for each prompt with its source in the first lines; templates for every task and
aspect of an `aspects.toml`; or a `parts.toml` with the parts that make up each prompt. Rendering is a single pass over
a prompt's own slots, so a text that holds a slot, a brace or "Score: 5" is data.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from nlgjudge.data import fetch
from nlgjudge.data.checks import unknown
from nlgjudge.data.registry import prompt_files
from nlgjudge.judging.rating_text import lettered
from nlgjudge.judging.reading import Reading

if TYPE_CHECKING:
    import pandas as pd

# The slots of upstream's prompt files, which are used by name and never copied.
_UPSTREAM_SLOTS = {
    "{{Document}}": "source",
    "{{Summary}}": "hypothesis",
    "{{Response}}": "hypothesis",
    "{{Fact}}": "context",
}
# What an item can fill; other slots are filled by the function that uses the prompt.
FIELDS = ("source", "hypothesis", "reference", "context")
_INLINE_SLOTS = {f"{{{{{field}}}}}": field for field in FIELDS} | _UPSTREAM_SLOTS
_TASKS = ("summarization", "dialogue", "story", "data_to_text", "question_answering", "translation")
# "from 1 to 10", "(1-5)", "a scale of 0 to 100": the scale that a text states; not "in 2-3 sentences".
_STATED = re.compile(
    r"(?:\b(?:rat|scor|scal|grad)\w*\b[^.\n\d]{0,60}?|\()(-?\d+)\s*(?:to|and|-|–)\s*(-?\d+)"
    r"(?=\s*(?:[:.,;)\n]|\Z|(?:scale|stars|points|where|with|for|how)\b))",
    re.IGNORECASE,
)


class Prompt(NamedTuple):
    """A prompt and what is needed to use it.

    Attributes
    ----------
    paper, source
        Where it is printed, or whose form it follows.
    exact
        Whether its words are the paper's.
    scale
        Lowest and highest rating; empty where it asks for none.
    slots
        Literal token to field.
    constants
        Fields that the prompt itself fills.
    options
        With the form `choice`, the options' texts in the order of their letters, and their scores.
    task
        What it is written for, as ``summarization``; empty where nobody says.
    form, pattern
        How a reply is read; see `nlgjudge.judging.Reading`.
    system
        A system message that is sent before the prompt, as it is, without slots; empty for none.
    """

    name: str
    paper: str = ""
    source: str = ""
    exact: bool = False
    aspect: str = ""
    scale: tuple = (1, 5)
    form: str = "form"
    slots: dict = {}
    body: str = ""
    constants: dict = {}
    options: dict = {}
    task: str = ""
    pattern: str = ""
    system: str = ""

    def render(self, fields: dict[str, str]) -> str:
        """Fill the slots in one pass; a KeyError where a slot's field is missing."""
        fields = {**fields, **self.constants}
        absent = sorted(set(self.slots.values()) - set(fields))
        if absent:
            raise KeyError(
                f"prompt {self.name} needs {', '.join(absent)}; got {', '.join(sorted(fields))}"
            )
        if "source_label" in self.constants:  # both texts go behind a label of their own
            for field in ("source", "hypothesis"):
                fields[field] = f"{self.constants[f'{field}_label']} {fields[field]}"
        if not self.slots:
            return self.body
        return _any_of(*self.slots).sub(lambda match: str(fields[self.slots[match[0]]]), self.body)

    @property
    def reading(self) -> Reading:
        """How replies are read."""
        return Reading(self.form, tuple(self.scale), self.pattern, self.options, aspect=self.aspect)

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that stand for the prompt's words in signatures."""
        text = repr((self.body, sorted(self.slots.items()), sorted(self.constants.items())))
        if self.options:
            text += repr(self.options)
        if self.system:
            text += repr({"system": self.system})
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def prompt(name: str) -> Prompt:
    """Read a prompt by name.

    Parameters
    ----------
    name
        A file below its paper's `prompts/`, as ``geval/summarization/coherence``; a template with what fills it, as
        ``chatgpt/stars/summarization/fluency``; or ``upstream:geval/coh_detailed`` for a file of the registry.

    Raises
    ------
    KeyError
        For an unknown name; the message lists the known.

    Examples
    --------
    >>> coherence = prompt("geval/summarization/coherence")
    >>> coherence.aspect, coherence.scale, coherence.exact
    ('coherence', (1, 5), True)
    """
    if name.startswith("upstream:"):
        return _upstream(name)
    if name not in _registered():
        raise KeyError(unknown("prompt", name, names()) + " (`nlgjudge prompts list` names all)")
    return _registered()[name]


def names() -> list[str]:
    """List the names of all prompts."""
    return sorted(_registered())


def as_prompt(
    given: str | Prompt,
    *,
    aspect: str = "",
    scale: tuple[float, float] = (1, 5),
    form: str = "form",
    options: dict[str, float] | list[str] | None = None,
    pattern: str = "",
) -> Prompt:
    """Take a prompt by its name, as a `Prompt`, or as text.

    Parameters
    ----------
    given
        A string that holds ``{{``, a space or a line break is a prompt's own text; its slots are
        ``{{source}}``, ``{{hypothesis}}``, ``{{reference}}`` and ``{{context}}``. Any other string is a
        name for `prompt`.
    aspect, scale, form, options, pattern
        Of a text: what it asks about, lowest and highest rating, and how a reply is read; see
        `nlgjudge.judging.Reading`.

    Raises
    ------
    KeyError
        For an unknown name.
    ValueError
        For a text with an unknown slot, without the slot of the judged text, or that states another scale
        than `scale`; for a reversed scale, an unknown form, a choice without options or a pattern without a
        group; and for something that is neither a string nor a `Prompt`.
    """
    if isinstance(given, str) and not re.search(r"\{\{|\s", given):
        return prompt(given)
    if isinstance(given, Prompt):
        _check_slots(given)
        _check_scale(given.scale)
        return given
    if not isinstance(given, str):
        raise ValueError(
            f"prompt={given!r}: expected a prompt's name, a text with {{{{hypothesis}}}} in it, "
            "or a Prompt"
        )
    _check_scale(scale)
    Reading(form, scale, pattern, options or {}).find("")  # refuses what cannot be read
    made = Prompt(
        name=f"inline:{hashlib.sha256(given.encode()).hexdigest()[:8]}",
        source="written for this run",
        aspect=aspect,
        scale=tuple(scale),
        form=form,
        slots={token: field for token, field in _INLINE_SLOTS.items() if token in given},
        body=given,
        options=lettered(options, scale) if form == "choice" else {},
        pattern=pattern,
    )
    _check_slots(made)
    if "hypothesis" not in made.slots.values():
        raise ValueError(
            "the prompt's text shows nothing to judge: put {{hypothesis}} where the judged text goes"
        )
    stated = {(float(low), float(high)) for low, high in _STATED.findall(given)}
    if form in ("form", "stars", "number", "json") and stated and tuple(scale) not in stated:
        low, high = min(stated)
        raise ValueError(
            f"the prompt's text states a scale from {low:g} to {high:g}, expected scale={tuple(scale)}: "
            f"pass scale=({low:g}, {high:g}), or change the text"
        )
    return made


def _check_slots(asked):
    """Refuse a prompt that would be sent with a slot left open."""
    for token in re.findall(r"\{\{[^{}]*\}\}", asked.body):
        if token not in asked.slots:
            known = list(dict.fromkeys([*asked.slots, *_INLINE_SLOTS]))
            raise ValueError(f"prompt {asked.name}: {unknown('slot', token, known)}")


def _check_scale(scale):
    """Refuse a scale that is not a lowest and a highest rating; an empty one asks for no rating."""
    ends = list(scale) if isinstance(scale, (list, tuple)) else [None]
    if not ends:
        return
    if len(ends) != 2 or any(
        isinstance(end, bool) or not isinstance(end, (int, float)) for end in ends
    ):
        raise ValueError(f"scale={scale!r}: expected the lowest and the highest rating, as [1, 5]")
    if ends[0] >= ends[1]:
        raise ValueError(f"scale={ends}: expected the lowest rating first, as {sorted(ends)}")


def check_fit(prompt: Prompt, items: pd.DataFrame, task: str = "") -> None:
    """Refuse a prompt that is written for other items than these.

    Raises
    ------
    ValueError
        Where a slot of the prompt is empty for every item; where every item has a context and a registered
        prompt has no slot for it; and where the prompt is written for another task than `task`, as ``summarization``.
    """
    if not prompt.body or not len(items):
        return
    shown = set(prompt.slots.values())
    odd = sorted(shown - set(FIELDS) - set(prompt.constants))
    if odd:
        raise ValueError(
            f"prompt {prompt.name} needs {', '.join(odd)}, which items do not have: it is part of a "
            "method of its own, take another prompt"
        )
    filled = items.assign(
        reference=items["references"].map(lambda texts: texts[0] if len(texts) else "")
    )
    filled = filled[[*FIELDS]].astype(bool)
    for field in FIELDS:
        if field in shown and not filled[field].any():
            raise ValueError(
                f"prompt {prompt.name} shows a {field}, and no item has one: it is written for "
                "another task, take one of this task"
            )
    is_registered = prompt.name in _registered() or prompt.name.startswith("upstream:")
    if is_registered and "context" not in shown and filled["context"].all():
        raise ValueError(
            f"prompt {prompt.name} has no place for the context that every item has: it is "
            "written for another task, take one of this task, or write its text out"
        )
    if task and prompt.task and prompt.task != task:
        raise ValueError(
            f"prompt {prompt.name} is written for {prompt.task}, and the items are of {task}: "
            f"take one of {task}, or write its text out"
        )


@cache
def _registered():
    """All prompts of all papers, by name."""
    registered = {}
    for paper in (files("nlgjudge") / "papers").iterdir():
        folder = paper / "prompts"
        if not folder.is_dir():
            continue
        prompts = [
            _from_file(path, path.relative_to(folder).as_posix().removesuffix(".txt"))
            for path in folder.rglob("*.txt")
        ]
        if (folder / "aspects.toml").is_file():
            words = _toml(folder / "aspects.toml")
            prompts = [prompt for template in prompts for prompt in _filled(template, words)]
        if (folder / "parts.toml").is_file():
            prompts += _composed(_toml(folder / "parts.toml"))
        for prompt in prompts:
            name = f"{paper.name}/{prompt.name}"
            registered[name] = prompt._replace(name=name)
    return registered


def _toml(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _from_file(path, name):
    """A prompt's file: its settings, as TOML in the first lines, and its words."""
    _, head, body = path.read_text(encoding="utf-8").split("+++\n", 2)
    head = tomllib.loads(head)
    folders = [part.removesuffix("_no_steps") for part in name.split("/")]
    return Prompt(
        name=name,
        scale=tuple(head["scale"]),
        **{name: head[name] for name in ("paper", "source", "exact", "aspect", "form", "slots")},
        body=body.removesuffix("\n"),
        task=head.get("task", next((part for part in folders if part in _TASKS), "")),
    )


def _filled(template, words):
    """A template for every task and aspect of a paper."""
    for task, of_task in words.items():
        for aspect, asked in of_task["aspects"].items():
            yield template._replace(
                name=f"{template.name}/{task}/{aspect}",
                aspect=aspect,
                constants={
                    "task": of_task["task"],
                    "aspect": asked["name"],
                    "antonym": asked["antonym"],
                    "instruction": asked["instruction"],
                    "source_label": of_task["source_label"],
                    "hypothesis_label": of_task["hypothesis_label"],
                },
                task=of_task.get("kind", task),
                exact=of_task["exact"] and asked["exact"],
            )


def _composed(paper):
    """Prompts that a paper prints in parts; an aspect's words go before its task's, and these before the paper's."""
    tasks = {name: words for name, words in paper.items() if name in _TASKS}
    for form, parts in paper["forms"].items():
        for task, of_task in tasks.items():
            for aspect, asked in of_task["aspects"].items():
                words = paper["parts"] | of_task["parts"] | asked
                body = "\n\n".join(words[part].removeprefix("\n") for part in parts)
                body = body.replace("[Attribute]", aspect.capitalize())
                yield Prompt(
                    name=f"{form}/{task}/{aspect}",
                    aspect=aspect,
                    scale=tuple(asked["scale"]),
                    **{name: paper[name] for name in ("paper", "source", "exact", "form")},
                    slots={
                        token: field for token, field in paper["slots"].items() if token in body
                    },
                    body=body,
                    task=task,
                )


def _upstream(name):
    """A prompt from upstream's own file, which states aspect and scale as "Coherence (1-5)"."""
    entry = prompt_files(name)[0]
    body = fetch.read(entry).decode("utf-8")
    aspect, low, high = re.search(r"^([A-Z]\w+) \((\d)-(\d)\)", body, re.MULTILINE).groups()
    return Prompt(
        name=name,
        paper=name.removeprefix("upstream:").partition("/")[0],
        source=f"{entry.repository} {entry.path}",
        aspect=aspect.lower(),
        scale=(int(low), int(high)),
        slots={token: field for token, field in _UPSTREAM_SLOTS.items() if token in body},
        body=body,
    )


@lru_cache(maxsize=64)
def _any_of(*tokens):
    """A pattern of literal texts, the longest first."""
    longest_first = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(re.escape(token) for token in longest_first))
