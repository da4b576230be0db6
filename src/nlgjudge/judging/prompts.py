"""Prompts: those that the papers print, exactly, and others in the same form.

Each paper's `prompts/` has one file for each prompt with its source in the first lines; templates for every task and
aspect of an `aspects.toml`; or a `parts.toml` with the parts that make up each prompt. Rendering is a single pass over
a prompt's own slots, so a text that holds a slot, a brace or "Score: 5" is data.
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
import warnings
from collections.abc import Sequence
from functools import cache
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
# What every item can fill, beside its other columns; a method's own slots are filled by its function.
FIELDS = ("source", "hypothesis", "reference", "context")
_SLOT = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_ROLES = ("system", "user", "assistant")
_TURN = re.compile(r"<\|im_start\|>(\w+)\n(.*?)\s*<\|im_end\|>", re.DOTALL)
# "from 1 to 10", "(1-5)", "a scale of 0 to 100": the scale that a text states; not "in 2-3 sentences".
_STATED = re.compile(
    r"(?:\b(?:rat|scor|scal|grad)\w*\b[^.\n\d]{0,60}?|\()(-?\d+)\s*(?:to|and|-|–)\s*(-?\d+)"
    r"(?=\s*(?:[:.,;)\n]|\Z|(?:scale|stars|points|where|with|for|how)\b))",
    re.IGNORECASE,
)

# A letter or number that labels a text, with the word before it, and the text: "B", "Output (b)", "Response 2's".
_MARK = r"(?<![\w'’])\w(?!\w)"
_LABELLED = re.compile(
    rf"(\w+ [(\[]?{_MARK}[)\]]?|{_MARK})(?:(?!{_MARK})[^\n{{}}])*\s*{{{{\s*(hypothesis|other)\s*}}}}"
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
        Worst and best rating, as (5, 1) where a high one is bad; empty where it asks for none.
    slots
        Literal token to field.
    constants
        Fields that the prompt itself fills.
    options
        With the form `choice`, the options' texts in the order of their letters, and their scores.
    form, pattern
        How a reply is read; see `nlgjudge.judging.Reading`.
    before
        Messages that are sent before the prompt: role (`system`, `user` or `assistant`) and text, with the same slots.
    examples
        Rated items that are shown before the prompt: the prompt of each, and the reply to it.
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
    pattern: str = ""
    before: tuple[tuple[str, str], ...] = ()
    examples: tuple[tuple[str, str], ...] = ()

    def messages(self, fields: dict[str, str]) -> list[dict[str, str]]:
        """All messages with their slots filled; the prompt's own text is the last. Errors are those of `render`."""
        filling = self._filling(fields)
        turns = [
            (role, _filled_in(text, filling)) for role, text in (*self.before, ("user", self.body))
        ]
        place = sum(role == "system" for role, _ in turns)  # instructions come before examples
        turns[place:place] = [
            turn for example in self.examples for turn in zip(("user", "assistant"), example)
        ]
        return [{"role": role, "content": text} for role, text in turns]

    def render(self, fields: dict[str, str]) -> str:
        """Fill the slots in one pass; a KeyError where a slot's field is missing."""
        return _filled_in(self.body, self._filling(fields))

    def _filling(self, fields):
        """What fills the slots, by token."""
        fields = {**fields, **self.constants}
        if absent := sorted({*self.slots.values()} - fields.keys()):
            raise KeyError(
                f"prompt {self.name} needs {', '.join(absent)}; got {', '.join(sorted(fields))}"
            )
        if "source_label" in self.constants:  # both texts go behind a label of their own
            for field in ("source", "hypothesis"):
                fields[field] = f"{self.constants[f'{field}_label']} {fields[field]}"
        return {token: str(fields[field]) for token, field in self.slots.items()}

    @property
    def reading(self) -> Reading:
        """How replies are read."""
        scale = tuple(sorted(self.scale))
        is_turned = scale != tuple(self.scale)
        how = self.form, scale, self.pattern, self.options
        return Reading(*how, aspect=self.aspect, is_turned=is_turned)

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that stand for the prompt's words in signatures."""
        text = repr((self.body, sorted(self.slots.items()), sorted(self.constants.items())))
        if self.options:
            text += repr(self.options)
        text += "".join(repr({role: words}) for role, words in self.before)
        if self.examples:
            text += repr(self.examples)
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
    found = _registered().get(name)
    if not found:
        raise KeyError(unknown("prompt", name, names()) + " (`nlgjudge prompts list` names all)")
    if not found.body.startswith("upstream:"):
        return found
    return _in_turns(found, fetch.read(prompt_files(found.body)[0]).decode("utf-8"))


def names() -> list[str]:
    """List the names of all prompts."""
    return sorted(_registered())


def as_prompt(
    given: str | Prompt | Sequence[dict[str, str]],
    *,
    aspect: str = "",
    scale: tuple[float, float] = (1, 5),
    form: str = "",
    options: dict[str, float] | list[str] | None = None,
    pattern: str = "",
) -> Prompt:
    """Take a prompt by its name, as a `Prompt`, as text, or as messages.

    Parameters
    ----------
    given
        A string that holds ``{{``, a space or a line break is a prompt's own text; any other is a name for
        `prompt`. A list of messages, as ``[{"role": "system", "content": "Be strict."}, …]``, ends with the
        user's. Slots are ``{{source}}``, ``{{hypothesis}}``, ``{{reference}}`` (the first), ``{{context}}``
        and any other column of the items, as ``{{other}}`` of a benchmark of pairs.
    aspect, scale
        Of a text or messages: what they ask about, and the worst and the best rating. Where 5 is bad, the
        scale is (5, 1), and scores are turned round, so that a high one is good.
    form, options, pattern
        How a reply is read; see `nlgjudge.judging.Reading`. By default `form`; with ``{{other}}`` a `choice`
        between the labels that stand before both texts, as ``A: {{hypothesis}}`` and ``B: {{other}}``: the
        hypothesis has a score of 1.

    Raises
    ------
    KeyError
        For an unknown name.
    ValueError
        For a text without the slot of the judged text, that compares texts without a label before each, or that
        states another scale than `scale`; for an unknown form, a choice without options or a pattern without a
        group; for messages with another role or that end with another than the user's; and for something that is
        none of all this.
    """
    if isinstance(given, str) and not re.search(r"\{\{|\s", given):
        return prompt(given)
    if isinstance(given, Prompt):
        _check_scale(given.scale)
        for slot in _SLOT.finditer(given.body):
            if slot[0] not in given.slots:  # it would be sent as it is
                raise ValueError(f"prompt {given.name}: {unknown('slot', slot[0], given.slots)}")
        return given
    before, body = _messages(given)
    _check_scale(scale)
    text = "\n".join([*(words for _, words in before), body])
    slots = {match[0]: _UPSTREAM_SLOTS.get(match[0], match[1]) for match in _SLOT.finditer(text)}
    form = form or ("choice" if "other" in slots.values() else "form")
    if form == "choice" and "other" in slots.values():
        options = options or _labels(text)
    ends = (min(scale), max(scale)) if scale else ()
    Reading(form, ends, pattern, options or {}).find("")  # refuses what cannot be read
    if "hypothesis" not in slots.values():
        raise ValueError(
            "the prompt's text shows nothing to judge: put {{hypothesis}} where the judged text goes"
        )
    stated = {(float(low), float(high)) for low, high in _STATED.findall(text)}
    if form in ("form", "stars", "number", "json") and stated and ends not in stated:
        low, high = min(stated)
        raise ValueError(
            f"the prompt's text states a scale from {low:g} to {high:g}, expected scale={tuple(scale)}: "
            f"pass scale=({low:g}, {high:g}), or change the text"
        )
    return Prompt(
        name=f"inline:{hashlib.sha256(text.encode()).hexdigest()[:8]}",
        source="written for this run",
        aspect=aspect,
        scale=tuple(scale),
        form=form,
        slots=slots,
        body=body,
        options=lettered(options, ends) if form == "choice" else {},
        pattern=pattern,
        before=before,
    )


def _labels(text):
    """Options of a comparison: the labels in front of both texts, which differ in one letter or number alone."""
    options = {label: name == "hypothesis" for label, name in _LABELLED.findall(text)}
    names = {re.sub(r"\b\w\b", "", label) for label in options}
    if len(options) != 2 or len({*options.values()}) != 2 or len(names) != 1:
        raise ValueError(
            "the prompt's text compares {{hypothesis}} with {{other}}, and it is not known which reply means which: "
            "put a label before each, as 'A: {{hypothesis}}' and 'B: {{other}}', and ask for it"
        )
    if not next(iter(options.values())):
        warnings.warn(
            "the prompt shows {{other}} first: what is called the text shown first is its second, {{hypothesis}}",
            stacklevel=3,
        )
    return options


def _messages(given):
    """Messages before the last one, as role and text, and the text of the last."""
    if isinstance(given, str):
        return (), given
    try:
        turns = [(message["role"], message["content"]) for message in given]
    except (TypeError, KeyError):
        turns = []
    roles = [role for role, _ in turns]
    if roles[-1:] != ["user"] or not set(roles) <= {*_ROLES}:
        raise ValueError(
            f"prompt={given!r}: expected a prompt's name, a text with {{{{hypothesis}}}} in it, a Prompt, or a "
            'list of messages, as [{"role": "system", "content": TEXT}, {"role": "user", "content": TEXT}]; '
            f"roles are {', '.join(_ROLES)}, and the last message is the user's"
        )
    return tuple(turns[:-1]), turns[-1][1]


def _check_scale(scale):
    """Refuse a scale that is not a lowest and a highest rating; an empty one asks for no rating."""
    ends = list(scale) if isinstance(scale, (list, tuple)) else [None]
    are_numbers = {*map(type, ends)} <= {int, float}
    if ends and (not are_numbers or len(ends) != 2 or ends[0] == ends[1]):
        raise ValueError(
            f"scale={scale!r}: expected two different ratings, the worst one first, as [1, 5]"
        )


def check_fit(prompt: Prompt, items: pd.DataFrame) -> None:
    """Refuse a prompt that is written for other items than these.

    Raises
    ------
    ValueError
        Where a slot of the prompt is empty for every item, and where every item has a context and a registered
        prompt has no slot for it.
    """
    if not prompt.body or not len(items):
        return
    known = ["reference" if name == "references" else name for name in items]
    shown = {field: token for token, field in prompt.slots.items() if field not in prompt.constants}
    if odd := sorted(set(shown) - set(known)):
        hint = unknown("column", odd[0], known, most=len(known))
        raise ValueError(
            f"prompt {prompt.name} shows {shown[odd[0]]}, which these items do not have: {hint}"
        )
    for field in shown:
        if not any(texts(items, field)):
            raise ValueError(
                f"prompt {prompt.name} shows a {field}, and no item has one: it is written for "
                "another task, take one of this task"
            )
    is_registered = prompt.name in _registered() or prompt.name.startswith("upstream:")
    if is_registered and "context" not in shown and all(items["context"]):
        raise ValueError(
            f"prompt {prompt.name} has no place for the context that every item has: it is "
            "written for another task, take one of this task, or write its text out"
        )


def with_examples(prompt: Prompt, rated: pd.DataFrame) -> Prompt:
    """Show rated items before the prompt, each with the reply that its rating would be.

    Raises
    ------
    ValueError
        Where the ratings have no column of the prompt's aspect, or one is missing or cannot be written as a reply.
    """
    aspect = prompt.aspect
    if aspect not in rated:
        raise ValueError(unknown("column of ratings in examples", aspect or "(no aspect)", rated))
    fields = sorted(set(prompt.slots.values()) - set(prompt.constants))
    columns = [texts(rated, field) for field in fields]
    shown = [
        (prompt.render(dict(zip(fields, values))), _reply(prompt.reading, rating))
        for rating, *values in zip(rated[aspect], *columns)
    ]
    return prompt._replace(examples=tuple(shown))


def _reply(reading, rating):
    """What a judge would have answered; the nearest word or, unless the scale is short, whole number."""
    wanted = reading.turn(rating)
    if reading.words and not math.isnan(wanted):
        wanted = min(reading.words.values(), key=lambda score: abs(score - wanted))
    elif not math.isnan(wanted):
        wanted = round(wanted, 2 if reading.scale[1] - reading.scale[0] <= 1 else None)
    reply = reading.write(wanted)
    if reason := reading.read(reply).reason:
        raise ValueError(
            f"an example of {reading.aspect} has the rating {rating}, which is no reply to its prompt "
            f"({reason}): expected one from {reading.scale[0]:g} to {reading.scale[1]:g}"
        )
    return reply


def texts(items: pd.DataFrame, field: str) -> list[str]:
    """What fills a slot, by item: a column as text, empty where it is missing; of several references the first."""
    if field == "reference":
        return [references[0] if len(references) else "" for references in items["references"]]
    column = items[field].astype(object)
    return [str(value) for value in column.where(column.notna(), "")]


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
    made = Prompt(
        name=name,
        scale=tuple(head["scale"]),
        **{name: head[name] for name in ("paper", "source", "exact", "aspect", "form", "slots")},
        options=head.get("options", {}),
        pattern=head.get("pattern", ""),
    )
    return _in_turns(made, body.removesuffix("\n"))


def _in_turns(made, words):
    """A prompt with its words; where they are marked as messages, all but the last one go before it."""
    turns = _TURN.findall(words) or [("user", words)]
    return made._replace(before=tuple(turns[:-1]), body=turns[-1][1])


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
                exact=of_task["exact"] and asked["exact"],
            )


def _composed(paper):
    """Prompts that a paper prints in parts; an aspect's words go before its task's, and these before the paper's."""
    tasks = {
        name: part for name, part in paper.items() if isinstance(part, dict) and "aspects" in part
    }
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


def _filled_in(text, filling):
    """A text with other texts in the place of its tokens; of two at one place the longer."""
    pattern = "|".join(map(re.escape, sorted(filling, key=len, reverse=True))) or "(?!)"
    return re.sub(pattern, lambda token: filling[token[0]], text)
