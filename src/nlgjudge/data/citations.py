"""What to cite: the entries of `data/citations.bib`, and which of them stand for what.

The file is written for this reader: an entry opens a line with ``@``, each of its fields takes one line, and a lone
brace ends it. Its field `keywords` says what an entry is cited for, as ``paper:geval``.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from nlgjudge.data.paths import root

_ENTRY = re.compile(r"^@(\w+)\{(\S+),\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$")


class Citation(NamedTuple):
    """An entry of the bibliography.

    Attributes
    ----------
    kind, key : str
        As ``article`` and ``miller1995wordnet``.
    fields : dict of str to str
        By name, without `keywords`; values are BibTeX.
    cited_for : tuple of str
        As ``("paper:geval",)``.
    """

    kind: str
    key: str
    fields: dict
    cited_for: tuple = ()

    @property
    def bibtex(self):
        """The entry as BibTeX."""
        lines = [f"  {name} = {{{value}}}," for name, value in self.fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


def path():
    """Where the bibliography lies.

    Returns
    -------
    pathlib.Path
    """
    # Not noted as read: which keys a result has does not change with an entry's pages.
    return root() / "data" / "citations.bib"


def bibliography():
    """Read all entries.

    Returns
    -------
    dict of str to Citation
        By key, in the file's order; empty where a checkout has no such file.

    Raises
    ------
    ValueError
        For a line that is part of no entry, a field that does not take one line, or a key that repeats.

    Examples
    --------
    >>> entry = bibliography()["miller1995wordnet"]
    >>> entry.kind, entry.fields["year"]
    ('article', '1995')
    """
    file = path()
    if not file.is_file():
        return {}
    known = file.stat()
    return _read(file, known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=4)
def _read(file, changed, size):
    """All entries, read again when the file has changed."""
    return parse(file.read_text(encoding="utf-8"), name=file.name)


def parse(text, name="citations.bib"):
    """Read entries from BibTeX in the form that `data/citations.bib` has.

    Parameters
    ----------
    text : str
    name : str
        Of the file, for errors.

    Returns
    -------
    dict of str to Citation

    Raises
    ------
    ValueError
        As for `bibliography`.

    Examples
    --------
    >>> found = parse("@misc{a2020b,\\n  title = {A {B}},\\n  keywords = {paper:x, judge:y},\\n}\\n")
    >>> found["a2020b"].fields, found["a2020b"].cited_for
    ({'title': 'A {B}'}, ('paper:x', 'judge:y'))
    """
    rest = [
        line
        for line in _ENTRY.sub("", text).splitlines()
        if line.strip() and not line.startswith("%")
    ]
    if rest:
        raise ValueError(
            f"{name}: expected entries and lines that begin with %, got {rest[0]!r}; an entry ends with "
            "a brace alone in its line"
        )
    found = {}
    for kind, key, body in _ENTRY.findall(text):
        if key in found:
            raise ValueError(f"{name}: two entries {key}; remove one")
        fields = {}
        for line in body.splitlines():
            field = _FIELD.match(line)
            if not field or not _balanced(field[2]):
                raise ValueError(
                    f"{name}: {key}: expected a field in one line, as '  year = {{2023}},', got {line!r}"
                )
            fields[field[1]] = field[2]
        words = fields.pop("keywords", "")
        cited_for = tuple(word.strip() for word in words.split(",") if word.strip())
        found[key] = Citation(kind, key, fields, cited_for)
    return found


def _balanced(value):
    """Whether every brace of a value is closed."""
    depth = 0
    for sign in re.sub(r"\\[{}]", "", value):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    return depth == 0


def cited_for(what, name):
    """Keys of the entries that stand for a paper, a benchmark or a judge.

    Parameters
    ----------
    what : {"paper", "benchmark", "judge"}
    name : str
        A paper's key, a benchmark's name, or a model's. An entry for a series stands for its models too: `gpt-4` for
        `gpt-4-0314`, but not for `gpt-4.1`.

    Returns
    -------
    list of str
        Empty where no entry stands for it.

    Examples
    --------
    >>> cited_for("benchmark", "bagel"), cited_for("judge", "gpt-4o-mini"), cited_for("judge", "gpt-4.1")
    (['mairesse2010phrase'], ['openai2024gpt4o'], [])
    >>> cited_for("judge", "Qwen/Qwen2.5-7B-Instruct")
    ['qwen2024qwen25']
    """
    named = {}
    for key, entry in bibliography().items():
        for word in entry.cited_for:
            kind, _, value = word.partition(":")
            if kind == what:
                named.setdefault(value.lower(), []).append(key)
    name = name.lower()
    if what != "judge":
        return named.get(name, [])
    model = name.rpartition("/")[2]  # without the owner, as a hub has it
    series = [value for value in named if f"{model}-".startswith(f"{value}-")]
    return named[max(series, key=len)] if series else []
