"""Find the papers' folders and read each `paper.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal, get_args, get_origin

from nlgjudge.data.checks import check_known
from nlgjudge.papers.protocol import Artefact, Need, Paper, Protocol, Scope, Version

FOLDER = files("nlgjudge") / "papers"


def paper(key: str) -> Paper:
    """Return what is known of a paper: versions, tables and figures, and how each row of a model was asked.

    `key` is the paper's, or one of a version, as ``geval_v1``. A ValueError names the papers near an unknown key, and
    a mistake in a `paper.toml`.

    Examples
    --------
    >>> geval = paper("geval")
    >>> geval.title, geval.rows["G-EVAL-4"].samples, geval.artefacts["table3"].notebook
    ('G-Eval', 20, 'geval_table3_qags')
    """
    check_known("published paper", key, titles())
    return next(paper for paper in papers().values() if key in paper.versions)


def titles() -> dict[str, str]:
    """Return the title of each published version of each paper by its key, in the ledger's order.

    Examples
    --------
    >>> list(titles())[:2], titles()["geval_v1"]
    (['geval', 'geval_v1'], 'G-Eval (arXiv v1)')
    """
    return {
        key: version.title for paper in papers().values() for key, version in paper.versions.items()
    }


def averages() -> dict[str, tuple[str, ...]]:
    """Datasets by the name under which some papers print their average.

    Examples
    --------
    >>> averages()["adversarial"]
    ('neighbor', 'gptinst', 'gptout', 'manual')
    """
    return {name: parts for paper in papers().values() for name, parts in paper.averages.items()}


@cache
def papers() -> dict[str, Paper]:
    """Every paper by key, in the order of the ledger."""
    paths = {folder.name: folder / "paper.toml" for folder in FOLDER.iterdir() if folder.is_dir()}
    entries = {key: _toml(key, path) for key, path in paths.items() if path.is_file()}
    listed = [_paper(key, entry) for key, entry in entries.items()]
    listed.sort(key=lambda paper: (paper.order, paper.key))
    return {paper.key: paper for paper in listed}


def _toml(key, path):
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"papers/{key}/paper.toml: {error}") from error


def _paper(key, entry):
    """A paper of the entries of its file."""
    where = f"papers/{key}/paper.toml"
    of_every_row = entry.pop("every_row", {})
    title = {"title": entry.get("title", key)}
    versions = entry.get("versions", {key: {}})
    own = {
        "key": key,
        "versions": _named(Version, versions, f"{where}, versions", title),
        "artefacts": _named(Artefact, entry.get("artefacts", {}), f"{where}, artefacts", {}),
    }
    for section, kind in {"rows": Protocol, "scopes": Scope, "needs": Need}.items():
        numbered = {str(number): part for number, part in enumerate(entry.get(section, ()), 1)}
        common = of_every_row if kind is Protocol else {}
        own[section] = tuple(_named(kind, numbered, f"{where}, {section}", common).values())
    own["rows"] = {protocol.row: protocol for protocol in own["rows"]}
    return _built(Paper, {"title": key} | entry | own, where)


def _named(kind, entries, where, common):
    """Objects of entries by name; `common` is what each has that does not say otherwise."""
    return {name: _built(kind, common | own, f"{where} {name}") for name, own in entries.items()}


def _built(kind, entry, where):
    """An object of an entry; ValueErrors name the file, the entry and the key."""
    entry = {name: _converted(name, value) for name, value in entry.items()}
    if kind is Protocol:
        left_open = dict.fromkeys(entry.get("sent", {}))
        entry["sampling"] = left_open | entry.get("sampling", {})
    for name, value in entry.items():
        check_known(f"key of {where}", name, kind._fields)
        _check(value, kind.__annotations__[name], f"{where}: {name}")
    lacking = [n for n in kind._fields if n not in entry and n not in kind._field_defaults]
    if lacking:
        raise ValueError(f"{where} lacks {', '.join(lacking)}")
    return kind(**entry)


def _check(value, expected, where):
    """Raise a ValueError for a value that is not of the expected type, or not one of the values that there are."""
    if get_origin(expected) is Literal:
        check_known(f"value for {where}", value, get_args(expected))
    elif not isinstance(value, get_origin(expected) or expected):
        shown = str(getattr(expected, "__name__", expected)).replace("tuple", "list")
        raise ValueError(f"{where}: expected {shown}, got {value!r}")


def _converted(name, value):
    """A list as a tuple; aspects that are printed, asked for and rated under one name may be a list."""
    if name == "aspects" and isinstance(value, list):
        value = dict(zip(value, value))
    if name == "aspects" and isinstance(value, dict):
        return {printed: (asked, asked) for printed, asked in value.items()}
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict) and name in ("not_asked", "averages"):
        return {key: tuple(names) for key, names in value.items()}
    return value
