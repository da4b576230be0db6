"""Readers for the benchmarks that BARTScore's repository packs (Yuan et al. 2021).

SummEval, NewsRoom, RealSumm, QAGS and BAGEL, each a pickle of plain dicts, lists, strings
and floats. `final_p.pkl` and the ChatGPT study's `summeval.json` and `bagel.json` share the
layout and add metric scores; they are optional.
"""

import io
import json
import pickle
import struct
from functools import partial

from nlgjudge.data import fetch, torch_scalars
from nlgjudge.data.optional import Optional, numbers
from nlgjudge.data.registry import entries
from nlgjudge.data.schema import build

_ASPECTS = {
    "summeval": ("coherence", "consistency", "fluency", "relevance"),
    "newsroom": ("coherence", "relevance", "informativeness", "fluency"),
    "realsumm": ("pyramid_recall",),
    "qags_cnn": ("consistency",),
    "qags_xsum": ("consistency",),
    "bagel": ("informativeness", "naturalness", "quality"),
}
# The pickles' names where they differ from the papers'.
_NAMES = {"litepyramid_recall": "pyramid_recall", "fact": "consistency"}
# Documents and items that the papers state.
_COUNTS = {
    "summeval": (100, 1600),
    "newsroom": (60, 420),
    "realsumm": (100, 2400),
    "qags_cnn": (235, 235),
    "qags_xsum": (239, 239),
    "bagel": (404, 404),
}
# A score file holds numpy scalars and torch tensors of one element; nothing else that a pickle could
# call is let through, and what stands for torch here is this package's own.
_NUMPY = {
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy", "dtype"),
}


class _Unpickler(pickle.Unpickler):
    def __init__(self, content, allowed, calls):
        super().__init__(io.BytesIO(content))
        self.allowed = allowed
        self.calls = calls

    def find_class(self, module, name):
        if (module, name) in self.calls:
            return self.calls[module, name]
        if (module, name) in self.allowed:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"the pickle names {module}.{name}; expected only dicts, lists, strings and numbers, "
            "so it was not read: loading it could run foreign code"
        )


def unpickle(content, *, scores=False, calls=None):
    """Read a pickle of plain containers.

    Parameters
    ----------
    content : bytes
    scores : bool
        Let numpy scalars and torch tensors of one element through, as score files hold them; the
        tensors come as floats, and torch is not needed.
    calls : dict of (str, str) to callable, optional
        Globals that the file may name, by module and name, and what is called in their place.

    Raises
    ------
    pickle.UnpicklingError
        When it names any other global, or is cut short.
    """
    allowed = _NUMPY if scores else ()
    if calls is None:
        calls = torch_scalars.CALLS if scores else {}
    try:
        return _Unpickler(content, allowed, calls).load()
    except (
        EOFError,
        ValueError,
        IndexError,
        KeyError,
        AttributeError,
        TypeError,
        struct.error,
    ) as error:
        raise pickle.UnpicklingError(f"not a whole pickle: {error}") from error


def read(name, further=None):
    """Read one of the six benchmarks, with released scores where their files can be had.

    `further`, if given, takes the benchmark's `Optional` and its item ids, and returns scores of other files.
    """
    entry = entries(name, role="data")[0]
    documents = unpickle(fetch.read(entry))
    known = {f"{doc_id}/{system_id}" for doc_id, _, system_id, _ in _outputs(documents)}
    optional = Optional(name)
    scores = []
    for extra in entries(name, role="scores"):
        if extra.path.endswith("final_p.pkl"):
            scores += optional.read(extra, partial(_from_pickle, extra, name, known))
        elif extra.path == f"data/{name}.json":
            scores += optional.read(extra, partial(_from_json, extra, name, known))
    ratings = []
    if name == "summeval":  # three experts on all 16 systems, as AltTest publishes them
        for annotations in entries(name, path="data/summeval/human_annotations.json"):
            ratings += optional.read(annotations, partial(_experts, known))
    if further is not None:
        scores += further(optional, known)
    rated_by_experts = {item_id for item_id, *_ in ratings}
    for row in _ratings(documents, _ASPECTS[name]):
        item_id, *_ = row
        if item_id not in rated_by_experts:
            ratings.append(row)
    return build(
        name,
        _items(documents),
        ratings,
        scores,
        files={entry.path: entry.blob} | optional.files,
        left_out=optional.left_out,
        expect=_COUNTS[name],
    )


def _from_pickle(entry, name, known, content):
    return _scores(entry, unpickle(content, scores=True), name, known, "bartscore")


def _from_json(entry, name, known, content):
    return _scores(entry, json.loads(content), name, known, "chatgpt")


def _outputs(documents):
    """Yield document id, document, system id and output; BAGEL has one output a document."""
    for doc_id, document in documents.items():
        systems = document.get("sys_summs") or {"0": document}
        for system_id, output in systems.items():
            yield str(doc_id), document, str(system_id), output


def _items(documents):
    for doc_id, document, system_id, output in _outputs(documents):
        references = document.get("ref_summs") or [document["ref_summ"]]
        key = f"{doc_id}/{system_id}"
        yield (key, doc_id, system_id, document["src"], output["sys_summ"], list(references), "")


def _ratings(documents, aspects):
    for doc_id, _, system_id, output in _outputs(documents):
        found = {_NAMES.get(key, key): value for key, value in output["scores"].items()}
        for aspect in aspects:
            yield f"{doc_id}/{system_id}", aspect, "mean", found[aspect]


def _scores(entry, documents, name, known, origin):
    """Released scores of a file; of a repeated key the last one holds."""
    rows = {}
    for row in _released(documents, _ASPECTS[name], origin):
        item_id, metric, aspect, *_ = row
        rows[item_id, metric, aspect] = row
    strange = sorted({item_id for item_id, _, _ in rows} - known)
    if strange:
        raise ValueError(
            f"expected scores of {name}'s {len(known)} items, got {len(strange)} others, "
            f"as {strange[0]!r}"
        )
    return numbers(entry, rows.values())


def _released(documents, aspects, origin):
    human = {*aspects, *_NAMES}
    for doc_id, _, system_id, output in _outputs(documents):
        for metric, score in output.get("scores", {}).items():
            if metric in human:
                continue
            # ChatGPT's scores have names that end with an aspect.
            name, _, aspect = metric.rpartition("_")
            if name != "chatgpt" or aspect not in aspects:
                name = metric
                aspect = ""
            yield f"{doc_id}/{system_id}", f"{origin}:{name}", aspect, score, "", "released_scores"


def _experts(known, content):
    """Ratings of each expert; all or none, since their mean stands for the published one."""
    rows = []
    for number, annotations in enumerate(json.loads(content).values(), 1):
        for key, score in annotations.items():
            doc_id, system_id, aspect = key.split("__")
            rows.append((f"{doc_id}/{system_id}", aspect, f"expert_{number}", float(score)))
    strange = sorted({item_id for item_id, *_ in rows} - known)
    if strange:
        raise ValueError(
            f"expected ratings of {len(known)} items, got {len(strange)} others, as {strange[0]!r}"
        )
    return rows
