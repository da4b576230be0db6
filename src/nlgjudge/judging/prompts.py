"""Prompts: those that the papers print, exactly, and others in the same form.

One file each in the `prompts/` of its paper, with its source in the first lines. Rendering is a single
pass over the file's own slots, so a text that holds a slot, a brace or "Score: 5" is data.
"""

import hashlib
import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from nlgjudge.data.choices import unknown
from nlgjudge.judging import lettered, prompt_parts
from nlgjudge.judging.parsing import FORMS

_PAPERS = files("nlgjudge") / "papers"  # each holds a folder `prompts`
# The slots of upstream's prompt files, which are used by name and never copied.
_UPSTREAM_SLOTS = {
    "{{Document}}": "source",
    "{{Summary}}": "hypothesis",
    "{{Response}}": "hypothesis",
    "{{Fact}}": "context",
}
# The slots of a prompt that is written by hand; the upstream names serve as well.
_INLINE_SLOTS = {
    "{{source}}": "source",
    "{{hypothesis}}": "hypothesis",
    "{{reference}}": "reference",
    "{{context}}": "context",
    **_UPSTREAM_SLOTS,
}

# What an item can fill; a prompt with another slot is filled by the function that uses it.
FIELDS = ("source", "hypothesis", "reference", "context")
# Parts of a prompt's name that say which task it is written for.
_TASKS = ("summarization", "dialogue", "story", "data_to_text", "question_answering", "translation")


class Prompt(NamedTuple):
    """A prompt and what is needed to use it.

    Attributes
    ----------
    name, paper, source : str
        Where it is printed, or whose form it follows.
    exact : bool
        Whether its words are the paper's.
    aspect : str
    scale : tuple of float
        Lowest and highest rating; empty where it asks for none.
    form : str
        How a reply is parsed.
    slots : dict of str to str
        Literal token to field.
    body : str
    constants : dict of str to str
        Fields that the prompt itself fills.
    options : dict of str to float
        With the form `choice`, the options' texts in the order of their letters, and their scores.
    task : str
        What it is written for, as ``summarization``; empty where nobody says.

    Examples
    --------
    >>> from nlgjudge.judging.prompts import prompt
    >>> body = prompt("geval/summarization/fluency").render({"hypothesis": "A summary.", "source": "A text."})
    >>> "A summary." in body
    True
    """

    name: str
    paper: str
    source: str
    exact: bool
    aspect: str
    scale: tuple
    form: str
    slots: dict
    body: str
    constants: dict
    options: dict = {}
    task: str = ""

    def render(self, fields):
        """Fill the slots in one pass.

        Parameters
        ----------
        fields : dict of str to str
            Values by field; fields without a slot are left aside.

        Raises
        ------
        KeyError
            When a slot's field is missing.
        """
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
    def digest(self):
        """Twelve hexadecimal digits that stand for the prompt's words in signatures."""
        text = repr((self.body, sorted(self.slots.items()), sorted(self.constants.items())))
        if self.options:
            text += repr(self.options)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def prompt(name):
    """Read a prompt by name.

    Parameters
    ----------
    name : str
        A file below its paper's `prompts/`, as ``geval/summarization/coherence``; a template with what fills it, as
        ``chatgpt/stars/summarization/fluency``; or ``upstream:geval/coh_detailed`` for a file of the registry.

    Returns
    -------
    Prompt

    Raises
    ------
    KeyError
        For an unknown name; the message lists the known.

    Examples
    --------
    >>> found = prompt("geval/summarization/coherence")
    >>> found.aspect, found.scale, found.exact
    ('coherence', (1, 5), True)
    """
    if name.startswith("upstream:"):
        return _upstream(name)
    if name not in _names():
        raise KeyError(unknown("prompt", name, names()) + " (`nlgjudge prompts list` names all)")
    paper, _, rest = name.partition("/")
    folder = _PAPERS / paper / "prompts"
    if (folder / f"{rest}.txt").is_file():
        return _read(name, folder / f"{rest}.txt")
    if prompt_parts.read(folder):
        return Prompt(name=name, **prompt_parts.composed(folder, rest))
    template, task, aspect = rest.split("/")
    words = _aspects(folder)[task]
    asked = words["aspects"][aspect]
    constants = {
        "task": words["task"],
        "aspect": asked["name"],
        "antonym": asked["antonym"],
        "instruction": asked["instruction"],
        "source_label": words["source_label"],
        "hypothesis_label": words["hypothesis_label"],
    }
    read = _read(f"{paper}/{template}", folder / f"{template}.txt")
    return read._replace(
        name=name,
        aspect=aspect,
        constants=constants,
        task=words.get("kind", task),
        exact=words["exact"] and asked["exact"],
    )


def as_prompt(given, *, aspect="", scale=(1, 5), form="form", options=None):
    """Take a prompt by its name, as a `Prompt`, or as text written on the spot.

    Parameters
    ----------
    given : str or Prompt
        A string that holds ``{{``, a space or a line break is a prompt's own text; its slots are
        ``{{source}}``, ``{{hypothesis}}``, ``{{reference}}`` and ``{{context}}``. Any other string is a
        name for `prompt`.
    aspect, scale, form
        Of a text: what it asks about, lowest and highest rating, how a reply is read.
    options : dict of str to float, or list of str, optional
        Of a text with the form `choice`, as for `nlgjudge.judging.parsing.parse`.

    Returns
    -------
    Prompt

    Raises
    ------
    KeyError
        For an unknown name.
    ValueError
        For a text with an unknown slot, or without the slot of the text to be judged, a scale whose lowest
        rating does not come first, an unknown form, a choice without options, or something that is neither
        a string nor a `Prompt`.

    Examples
    --------
    >>> as_prompt("Rate this text from 1 to 5: {{hypothesis}}", aspect="fluency").slots
    {'{{hypothesis}}': 'hypothesis'}
    """
    if isinstance(given, Prompt):
        check_slots(given)
        check_scale(given.scale)
        return given
    if not isinstance(given, str):
        raise ValueError(
            f"prompt={given!r}: expected a prompt's name, a text with {{{{hypothesis}}}} in it, "
            "or a Prompt"
        )
    if not re.search(r"\{\{|\s", given):
        return prompt(given)
    check_scale(scale)
    if form not in FORMS:
        raise ValueError(unknown("form", form, FORMS))
    options = lettered.scored(options, scale) if form == "choice" else {}
    slots = {token: field for token, field in _INLINE_SLOTS.items() if token in given}
    digest = hashlib.sha256(given.encode()).hexdigest()[:8]
    made = Prompt(
        name=f"inline:{digest}",
        paper="",
        source="written for this run",
        exact=False,
        aspect=aspect,
        scale=tuple(scale),
        form=form,
        slots=slots,
        body=given,
        constants={},
        options=options,
    )
    check_slots(made)
    if "hypothesis" not in slots.values():
        raise ValueError(
            "the prompt's text shows nothing to judge: put {{hypothesis}} where the judged text "
            "goes"
        )
    return made


def check_slots(asked):
    """Refuse a prompt that would be sent with a slot left open.

    Parameters
    ----------
    asked : Prompt

    Raises
    ------
    ValueError
        Naming the slot and the ones that are filled.
    """
    for token in re.findall(r"\{\{[^{}]*\}\}", asked.body):
        if token not in asked.slots:
            known = list(dict.fromkeys([*asked.slots, *_INLINE_SLOTS]))
            raise ValueError(f"prompt {asked.name}: {unknown('slot', token, known)}")


def check_scale(scale):
    """Refuse a scale that is not a lowest and a highest rating; an empty one asks for no rating.

    Parameters
    ----------
    scale : (float, float) or ()

    Raises
    ------
    ValueError
        Saying what was given and, where the two are reversed, how it should be.
    """
    is_list = isinstance(scale, (list, tuple))
    if is_list and len(scale) == 0:
        return
    if not is_list or len(scale) != 2 or not all(_is_number(end) for end in scale):
        raise ValueError(f"scale={scale!r}: expected the lowest and the highest rating, as [1, 5]")
    low, high = scale
    if low >= high:
        raise ValueError(
            f"scale={list(scale)}: expected the lowest rating first, as {sorted(scale)}"
        )


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_fit(asked, items, task=""):
    """Refuse a prompt that is written for other items than these.

    A prompt of another task is sent without complaint: with an empty place where its task has a text, or
    without a text that this task has. Three things show it. (1) A slot of the prompt is empty for every item,
    as the fact of a dialogue's prompt is for summaries. (2) Every item has a context, as the turns of a
    dialogue do, and a registered prompt has no slot for it; a text that was written for the run may leave out
    what it likes. (3) The prompt's name states another task than the items', where that is known.

    Parameters
    ----------
    asked : Prompt
    items : pandas.DataFrame
        `source, hypothesis, references, context`.
    task : str
        What the items are of, as ``summarization``; empty where it is not known.

    Raises
    ------
    ValueError
        Naming the prompt, what does not fit, and what to do.
    """
    if not asked.body or not len(items):
        return
    shown = set(asked.slots.values())
    odd = sorted(shown - set(FIELDS) - set(asked.constants))
    if odd:
        raise ValueError(
            f"prompt {asked.name} needs {', '.join(odd)}, which items do not have: it is part "
            "of a method of its own, take another prompt"
        )
    filled = {
        "source": items["source"],
        "hypothesis": items["hypothesis"],
        "context": items["context"],
        "reference": items["references"].map(lambda texts: texts[0] if len(texts) else ""),
    }
    for field in FIELDS:
        if field in shown and not filled[field].astype(bool).any():
            raise ValueError(
                f"prompt {asked.name} shows a {field}, and no item has one: it is written for "
                "another task, take one of this task"
            )
    registered = asked.name in _names() or asked.name.startswith("upstream:")
    if registered and "context" not in shown and filled["context"].astype(bool).all():
        raise ValueError(
            f"prompt {asked.name} has no place for the context that every item has: it is "
            "written for another task, take one of this task, or write its text out"
        )
    if task and asked.task and asked.task != task:
        raise ValueError(
            f"prompt {asked.name} is written for {asked.task}, and the items are of {task}: "
            f"take one of {task}, or write its text out"
        )


def names():
    """List the names of all prompts, sorted.

    A paper whose `prompts/` hold an `aspects.toml` prints templates: each is a prompt for every task and aspect
    of that file. One that prints its prompts in parts has a `parts.toml` (`nlgjudge.judging.prompt_parts`).

    Returns
    -------
    list of str
    """
    return sorted(_names())


@lru_cache(maxsize=64)  # a prompt's slots are looked for in every item's request
def _any_of(*tokens):
    """A pattern of literal texts, the longest first."""
    longest_first = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(re.escape(token) for token in longest_first))


@cache
def _names():
    """All names: the package's files stay as they are while a process runs."""
    found = set()
    for paper in _PAPERS.iterdir():
        folder = paper / "prompts"
        if not folder.is_dir():
            continue
        found |= {f"{paper.name}/{name}" for name in prompt_parts.names(folder)}
        filled = []
        for task, words in _aspects(folder).items():
            filled += [f"/{task}/{aspect}" for aspect in words["aspects"]]
        for path in folder.rglob("*.txt"):
            name = f"{paper.name}/{path.relative_to(folder).as_posix().removesuffix('.txt')}"
            found |= {name + rest for rest in filled or [""]}
    return found


@cache
def _aspects(folder):
    """What fills a paper's templates, by task; empty where its prompts are no templates. Nobody changes it."""
    path = folder / "aspects.toml"
    if not path.is_file():
        return {}
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def _parts(path):
    """A prompt's file: its settings, as TOML in the first lines, and its words."""
    _, head, body = path.read_text(encoding="utf-8").split("+++\n", 2)
    return tomllib.loads(head), body


def _read(name, path):
    """A prompt from its file."""
    head, body = _parts(path)
    folders = [part.removesuffix("_no_steps") for part in name.split("/")]
    task_of_folder = next((part for part in folders if part in _TASKS), "")
    return Prompt(
        name=name,
        paper=head["paper"],
        source=head["source"],
        exact=head["exact"],
        aspect=head["aspect"],
        scale=tuple(head["scale"]),
        form=head["form"],
        slots=dict(head["slots"]),
        body=body.removesuffix("\n"),
        constants={},
        task=head.get("task", task_of_folder),
    )


def _upstream(name):
    """A prompt from upstream's own file, which states aspect and scale as "Coherence (1-5)"."""
    from nlgjudge.data import fetch
    from nlgjudge.data.registry import prompt_files

    entry = prompt_files(name)[0]
    owner = name.removeprefix("upstream:").partition("/")[0]
    body = fetch.read(entry).decode("utf-8")
    aspect, low, high = re.search(r"^([A-Z]\w+) \((\d)-(\d)\)", body, re.MULTILINE).groups()
    return Prompt(
        name=name,
        paper=owner,
        source=f"{entry.repository} {entry.path}",
        exact=False,
        aspect=aspect.lower(),
        scale=(int(low), int(high)),
        form="form",
        slots={token: field for token, field in _UPSTREAM_SLOTS.items() if token in body},
        body=body,
        constants={},
    )
