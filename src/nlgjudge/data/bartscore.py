"""Readers for the benchmarks that BARTScore's repository packs (Yuan et al. 2021).

SummEval, NewsRoom, RealSumm, QAGS and BAGEL, each a pickle of plain dicts, lists, strings
and floats. `final_p.pkl` and the ChatGPT study's `summeval.json` and `bagel.json` share the
layout and add metric scores.
"""

import io
import json
import pickle
import warnings

from nlgjudge.data import fetch
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
_COUNTS = {"summeval": (100, 1600), "newsroom": (60, 420), "realsumm": (100, 2400),
           "qags_cnn": (235, 235), "qags_xsum": (239, 239), "bagel": (404, 404)}
# A score file holds numpy scalars; nothing else that a pickle could call is let through.
_NUMPY = {("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar"), ("numpy", "dtype")}


class _Unpickler(pickle.Unpickler):
    def __init__(self, content, allowed):
        super().__init__(io.BytesIO(content))
        self.allowed = allowed

    def find_class(self, module, name):
        if (module, name) in self.allowed:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"the pickle names {module}.{name}; expected only dicts, lists, strings and numbers, "
            "so it was not read: loading it could run foreign code")


def unpickle(content, *, scores=False):
    """Read a pickle of plain containers.

    Parameters
    ----------
    content : bytes
    scores : bool
        Let numpy scalars through, as score files hold them.

    Raises
    ------
    pickle.UnpicklingError
        When it names any other global, or is cut short.
    """
    try:
        return _Unpickler(content, _NUMPY if scores else ()).load()
    except (EOFError, ValueError, IndexError, KeyError, AttributeError) as error:
        raise pickle.UnpicklingError(f"not a whole pickle: {error}") from error


def read(name):
    """Read one of the six benchmarks, with released scores where their files can be had."""
    entry = entries(name, path="data.pkl")[0]
    documents = unpickle(fetch.read(entry))
    files, scores = {entry.path: entry.blob}, []
    released = entries(name, path="final_p.pkl")
    if name in ("summeval", "bagel"):
        released += entries(name, role="scores", path=f"data/{name}.json")
    for extra in released:
        origin = "chatgpt" if extra.path.endswith("json") else "bartscore"
        try:
            content = fetch.read(extra)
            layout = json.loads(content) if origin == "chatgpt" else unpickle(content, scores=True)
        except fetch.DataUnavailable:
            continue
        except pickle.UnpicklingError as error:
            warnings.warn(f"{extra.path}: released scores left out, {error}", stacklevel=3)
            continue
        scores += _scores(layout, _ASPECTS[name], origin)
        files[extra.path] = extra.blob
    ratings = list(_experts(files)) if name == "summeval" else []
    rated = {row[0] for row in ratings}
    ratings += [row for row in _ratings(documents, _ASPECTS[name]) if row[0] not in rated]
    return build(name, _items(documents), ratings, scores, files=files, expect=_COUNTS[name])


def _outputs(documents):
    """Yield document id, document, system id and output; BAGEL has one output a document."""
    for doc_id, document in documents.items():
        systems = document.get("sys_summs") or {"0": document}
        for system_id, output in systems.items():
            yield str(doc_id), document, str(system_id), output


def _items(documents):
    for doc_id, document, system_id, output in _outputs(documents):
        references = document.get("ref_summs") or [document["ref_summ"]]
        yield (None, doc_id, system_id, document["src"], output["sys_summ"], list(references), "")


def _ratings(documents, aspects):
    for doc_id, _, system_id, output in _outputs(documents):
        found = {_NAMES.get(key, key): value for key, value in output["scores"].items()}
        for aspect in aspects:
            yield f"{doc_id}/{system_id}", aspect, "mean", found[aspect]


def _scores(documents, aspects, origin):
    human = {*aspects, *_NAMES}
    for doc_id, _, system_id, output in _outputs(documents):
        for metric, score in output["scores"].items():
            if metric in human:
                continue
            name, _, aspect = metric.rpartition("_")
            aspect = aspect if name == "chatgpt" and aspect in aspects else ""
            yield (f"{doc_id}/{system_id}", f"{origin}:{name if aspect else metric}", aspect,
                   float(score), "", "released_scores")


def _experts(files):
    """SummEval's three experts on all 16 systems, as AltTest publishes them."""
    entry = entries("summeval", path="data/summeval/human_annotations.json")[0]
    try:
        experts = json.loads(fetch.read(entry))
    except fetch.DataUnavailable:
        return
    files[entry.path] = entry.blob
    for number, annotations in enumerate(experts.values(), 1):
        for key, score in annotations.items():
            doc_id, system_id, aspect = key.split("__")
            yield f"{doc_id}/{system_id}", aspect, f"expert_{number}", score
