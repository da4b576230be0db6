"""Prompts: those that the four papers print, exactly, and others in the same form.

One file each below `prompts/`, with its source in the first lines. Rendering is a single
pass over the file's own slots, so a text that holds a slot, a brace or "Score: 5" is data.
"""

import hashlib
import re
import tomllib
from importlib.resources import files
from typing import NamedTuple

from nlgjudge.data.choices import unknown

_FOLDER = files("nlgjudge") / "judging" / "prompts"
# The slots of upstream's prompt files, which are used by name and never copied.
_UPSTREAM_SLOTS = {"{{Document}}": "source", "{{Summary}}": "hypothesis", "{{Response}}": "hypothesis",
                   "{{Fact}}": "context"}
# The slots of a prompt that is written by hand; the upstream names serve as well.
_INLINE_SLOTS = {"{{source}}": "source", "{{hypothesis}}": "hypothesis", "{{reference}}": "reference",
                 "{{context}}": "context"} | _UPSTREAM_SLOTS


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
            raise KeyError(f"prompt {self.name} needs {', '.join(absent)}; got {', '.join(sorted(fields))}")
        if "source_label" in self.constants:  # the ChatGPT study labels its two texts
            fields |= {f: f"{self.constants[f'{f}_label']} {fields[f]}" for f in ("source", "hypothesis")}
        tokens = "|".join(re.escape(t) for t in sorted(self.slots, key=len, reverse=True))
        return re.sub(tokens, lambda m: str(fields[self.slots[m[0]]]), self.body) if tokens else self.body

    @property
    def digest(self):
        """Twelve hexadecimal digits that stand for the prompt's words in signatures."""
        text = repr((self.body, sorted(self.slots.items()), sorted(self.constants.items())))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def prompt(name):
    """Read a prompt by name.

    Parameters
    ----------
    name : str
        As ``geval/summarization/coherence``, ``chatgpt/stars/summarization/fluency``,
        ``coascore/chain``, or ``upstream:geval/coh_detailed`` for a file of the registry.

    Returns
    -------
    Prompt

    Raises
    ------
    KeyError
        For an unknown name; the message lists the known.
    """
    if name.startswith("upstream:"):
        return _upstream(name)
    if name not in names():
        raise KeyError(unknown("prompt", name, names()) + " (`nlgjudge prompts list` names all)")
    parts = name.split("/")
    if parts[0] != "chatgpt":
        return _read(name, name)
    template = _read(name, "/".join(parts[:2]))
    task = _aspects()[parts[2]]
    aspect = task["aspects"][parts[3]]
    constants = {"task": task["task"], "aspect": aspect["name"], "antonym": aspect["antonym"],
                 "instruction": aspect["instruction"], "source_label": task["source_label"],
                 "hypothesis_label": task["hypothesis_label"]}
    return template._replace(aspect=parts[3], constants=constants, exact=task["exact"] and aspect["exact"])


def as_prompt(given, *, aspect="", scale=(1, 5), form="form"):
    """Take a prompt by its name, as a `Prompt`, or as text written on the spot.

    Parameters
    ----------
    given : str or Prompt
        A string that holds ``{{`` or a line break is a prompt's own text; its slots are ``{{source}}``,
        ``{{hypothesis}}``, ``{{reference}}`` and ``{{context}}``. Any other string is a name for `prompt`.
    aspect, scale, form
        Of a text: what it asks about, lowest and highest rating, how a reply is read.

    Returns
    -------
    Prompt

    Raises
    ------
    KeyError
        For an unknown name.
    ValueError
        For a text with an unknown slot, or without the slot of the text to be judged.

    Examples
    --------
    >>> as_prompt("Rate this text from 1 to 5: {{hypothesis}}", aspect="fluency").slots
    {'{{hypothesis}}': 'hypothesis'}
    """
    if isinstance(given, Prompt):
        check_slots(given)
        return given
    if "{{" not in given and "\n" not in given:
        return prompt(given)
    slots = {token: field for token, field in _INLINE_SLOTS.items() if token in given}
    digest = hashlib.sha256(given.encode()).hexdigest()[:8]
    made = Prompt(f"inline:{digest}", "", "written for this run", False, aspect, tuple(scale), form, slots,
                  given, {})
    check_slots(made)
    if "hypothesis" not in slots.values():
        raise ValueError("the prompt's text shows nothing to judge: put {{hypothesis}} where the judged text "
                         "goes")
    return made


def check_slots(asked):
    """Refuse a prompt that would be sent with a slot left open.

    Raises
    ------
    ValueError
        Naming the slot and the ones that are filled.
    """
    for token in re.findall(r"\{\{[^{}]*\}\}", asked.body):
        if token not in asked.slots:
            known = [*asked.slots, *(t for t in _INLINE_SLOTS if t not in asked.slots)]
            raise ValueError(f"prompt {asked.name}: {unknown('slot', token, known)}")


def names():
    """Names of all prompts, sorted."""
    found = []
    for path in sorted(_FOLDER.rglob("*.txt")):
        name = path.relative_to(_FOLDER).as_posix().removesuffix(".txt")
        if name.startswith("chatgpt/"):
            found += [f"{name}/{task}/{aspect}" for task, table in _aspects().items()
                      for aspect in table["aspects"]]
        else:
            found.append(name)
    return sorted(found)


def _aspects():
    return tomllib.loads((_FOLDER / "chatgpt" / "aspects.toml").read_text(encoding="utf-8"))


def _read(name, path):
    text = (_FOLDER / f"{path}.txt").read_text(encoding="utf-8")
    _, head, body = text.split("+++\n", 2)
    head = tomllib.loads(head)
    return Prompt(name, head["paper"], head["source"], head["exact"], head["aspect"], tuple(head["scale"]),
                  head["form"], head["slots"], body.removesuffix("\n"), {})


def _upstream(name):
    from nlgjudge.data import fetch
    from nlgjudge.data.registry import prompt_files

    entry = prompt_files(name)[0]
    owner = name.removeprefix("upstream:").partition("/")[0]
    body = fetch.read(entry).decode("utf-8")
    aspect, low, high = re.search(r"^([A-Z]\w+) \((\d)-(\d)\)", body, re.MULTILINE).groups()
    return Prompt(name, owner, f"{entry.repository} {entry.path}", False, aspect.lower(),
                  (int(low), int(high)), "form", {t: f for t, f in _UPSTREAM_SLOTS.items() if t in body},
                  body, {})
