"""Recorded replies of judges, as others published them, joined to the benchmarks by key.

A family of recordings is a file `FAMILY.toml` of this folder. Above `[recordings]` it has the fields of
`RecordingSpec` that all its recordings share; below is a line for each recording, with its own fields. Where `{name}`
is in `files` or `prompt`, the recording's name is put. A family's layout is read by the module of the same name, or by
the one that `reader` names.
"""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from nlgjudge.data import benchmarks, fetch
from nlgjudge.data.checks import unknown
from nlgjudge.data.files import MALFORMED
from nlgjudge.data.registry import Entry, entries, prompt_files

COLUMNS = ["item_id", "aspect", "sample_index", "text"]
_NO_ITEMS = pd.DataFrame(columns=["item_id", "source", "context", "system_id"])


class RecordingSpec(NamedTuple):
    """What a recording is a recording of, and how it is read.

    Attributes
    ----------
    benchmark
        Whose texts were judged.
    files
        How the paths of the registered files end, with a star for the part that differs.
    model
        As its publishers call it.
    prompt
        Name of the prompt, with ``{aspect}``; None if its text is not registered.
    sampling
        Sampling parameters that its publishers state; any other is unknown. With `logprobs`, the files hold token
        probabilities.
    samples
        Replies per item and aspect.
    scales
        Lowest and highest rating asked for, by aspect.
    note
        What is unknown, and why.
    form, pattern, options
        How its replies are read, as a `nlgjudge.judging.reading.Reading` has them.
    verdicts
        Whether the files also hold what its publishers read in each reply.
    aspects
        Aspect by the part for which the star stands; files with another part belong to other recordings. Empty where
        the reader knows it.
    identified_by
        What tells which item a row is of: its keys; its texts, so that the benchmark's items are needed; or the
        human ratings that are repeated in it.
    reader
        Module of this package that reads the files.
    """

    benchmark: str = ""
    files: str = ""
    model: str | None = None
    prompt: str | None = None
    sampling: dict = {}
    samples: int | None = None
    scales: dict[str, tuple[float, float]] = {}
    note: str = ""
    form: str = "form"
    pattern: str = ""
    options: dict[str, float] = {}
    verdicts: bool = False
    aspects: dict[str, str] = {}
    identified_by: Literal["keys", "texts", "ratings"] = "keys"
    reader: str = ""


class OrderUnknown(Exception):
    """The order of a file's rows cannot be shown, so that no row belongs to an item."""


def _family(path):
    """Names and specs of a family's recordings."""
    shared = tomllib.loads(path.read_text(encoding="utf-8"))
    recordings = shared.pop("recordings")
    for name, own_fields in recordings.items():
        fields = {"reader": path.stem} | shared | own_fields
        for field in {"files", "prompt"} & set(fields):
            fields[field] = fields[field].replace("{name}", name)
        fields["scales"] = {aspect: tuple(ends) for aspect, ends in fields["scales"].items()}
        fields["pattern"] = "".join(fields.get("pattern", ""))
        yield f"{path.stem}/{name}", RecordingSpec(**fields)


RECORDINGS: dict[str, RecordingSpec] = {}
for _path in sorted(Path(__file__).parent.glob("*.toml")):
    RECORDINGS.update(_family(_path))


def recording(
    name: str, items: pd.DataFrame | None = None, *, files: dict[str, str] | None = None
) -> pd.DataFrame:
    """Read recorded replies.

    Parameters
    ----------
    name
        As ``closer_look/geval``; an unknown name's error lists all.
    items
        The benchmark's items; replies to others are left out. Needed where a recording
        names texts instead of keys (Topical-Chat).
    files
        Filled with the files read and their blob ids.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect, sample_index, text`, in the recording's order; `logprobs` of a recording
        that holds token probabilities, as a `Reply` has them; and `verdict`, the score that its publishers
        read, of one that holds it, NaN for an unread reply. Items that were not recorded are absent.

    Raises
    ------
    KeyError
        For an unknown name.
    ValueError
        If the items are needed and not given, or a file has an unexpected layout.
    nlgjudge.data.fetch.DataUnavailable
        If a file is unavailable.

    Examples
    --------
    The released replies are fetched, which needs a network or a mirror.

    >>> replies = recording("llm_summeval/gpt-4/reason_then_score")  # doctest: +SKIP
    >>> len(replies), replies.columns.tolist()  # doctest: +SKIP
    (4800, ['item_id', 'aspect', 'sample_index', 'text'])
    """
    spec = recording_spec(name)
    if spec.identified_by == "texts" and items is None:
        raise ValueError(f"{name} names texts, not keys: give the benchmark's items")
    rows, notes = _read(name, items, {} if files is None else files)
    print(*notes, sep="\n", end="\n" if notes else "")
    held = {"logprobs": spec.sampling.get("logprobs"), "verdict": spec.verdicts}
    columns = [*COLUMNS, *filter(held.get, held)]
    frame = pd.DataFrame(rows, columns=columns)
    replies = frame.drop_duplicates(COLUMNS[:3])
    if len(replies) < len(frame):
        repeated = len(frame) - len(replies)
        print(f"{name}: {repeated} of {len(frame)} replies are repeated and left out")
    if items is not None:
        replies = replies[replies["item_id"].isin(items["item_id"])]
    return replies.reset_index(drop=True)


def _read(name, items, files):
    """Rows of all files of a recording, and notes about files that are left out."""
    spec = recording_spec(name)
    read = import_module(f"{__name__}.{spec.reader}").read
    if spec.identified_by == "ratings":
        items = benchmarks.load(spec.benchmark, "real").human()
    rows = []
    notes = []
    for entry in recording_files(name):
        content = fetch.read(entry)
        files[entry.path] = entry.blob
        try:
            rows += read(content, _part(spec, entry), spec, items)
        except OrderUnknown as error:
            notes.append(
                f"{entry.path} of {entry.repository} is left out: its order of rows cannot be shown: {error}"
            )
        except MALFORMED as error:
            raise ValueError(
                f"{entry.path} of {entry.repository} is laid out otherwise than expected "
                f"({type(error).__name__}: {error}); {name} cannot be read"
            ) from error
    return rows, notes


def available(*names: str) -> bool:
    """Whether recordings, or upstream prompts, are available and readable; downloads missing files.

    A file with an unexpected layout is named in a printed line.

    Parameters
    ----------
    *names
        As for `recording`, or as ``upstream:geval/*_detailed`` for `nlgjudge.data.registry.prompt_files`.
    """
    try:
        for name in names:
            if name.startswith("upstream:"):
                for entry in prompt_files(name):
                    fetch.read(entry)
            else:
                _read(name, _NO_ITEMS, {})
    except fetch.DataUnavailable:
        return False
    except ValueError as error:
        print(f"left out: {error}")
        return False
    return True


def recording_spec(name: str) -> RecordingSpec:
    """Return what a recording holds; KeyError for an unknown name.

    Examples
    --------
    >>> spec = recording_spec("closer_look/geval")
    >>> spec.model, spec.samples, spec.sampling
    ('gpt-3.5-turbo-0613', 20, {'temperature': 1, 'top_p': 1})
    """
    if name not in RECORDINGS:
        raise KeyError(unknown("recording", name, RECORDINGS, most=len(RECORDINGS)))
    return RECORDINGS[name]


def recording_files(name: str) -> list[Entry]:
    """Return the registered files of a recording, or of a whole family; KeyError for an unknown name.

    Examples
    --------
    >>> [entry.path for entry in recording_files("alttest")]
    ['data/summeval/llm_annotations.json']
    """
    members = [known for known in RECORDINGS if known.startswith(f"{name}/")] or [name]
    specs = [recording_spec(member) for member in members]
    return [
        entry
        for entry in entries(specs[0].benchmark, role="recording")
        if any(_part(spec, entry) is not None for spec in specs)
    ]


def _part(spec, entry):
    """What the star of a recording's `files` stands for in a path; None for another recording's file."""
    start, _, end = map(re.escape, spec.files.partition("*"))
    match = re.search(f"{start}(.*){end}$", entry.path)
    if not match or (spec.aspects and match[1] not in spec.aspects):
        return None
    return match[1]


def recording_texts(name: str) -> dict[str, dict[str, str]]:
    """Return `source, hypothesis, context` by item of the texts that were judged.

    Empty if the benchmark is unavailable.
    """
    try:
        items = benchmarks.load(recording_spec(name).benchmark, "real").items
    except fetch.DataUnavailable:
        return {}
    texts = items.set_index("item_id")[["source", "hypothesis", "context"]]
    return texts.to_dict("index")
