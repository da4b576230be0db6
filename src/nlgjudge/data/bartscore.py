"""Readers for the benchmarks that BARTScore's repository packs (Yuan et al. 2021).

SummEval, NewsRoom, RealSumm, QAGS and BAGEL, each a pickle of plain dicts, lists, strings
and floats. `final_p.pkl` and the ChatGPT study's `summeval.json` and `bagel.json` share the
layout and add metric scores; they are optional.
"""

import json
from functools import partial

from nlgjudge.data import fetch
from nlgjudge.data.optional import finite_scores, read_optional
from nlgjudge.data.registry import entries
from nlgjudge.data.safe_pickle import unpickle
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


def read(name, more_scores=None):
    """Read one of the six benchmarks, with the available released scores.

    Parameters
    ----------
    name : str
    more_scores : callable, optional
        Takes the item ids and the dicts of files read and left out; returns scores of other files.
    """
    entry = entries(name, role="data")[0]
    documents = unpickle(fetch.read(entry))
    known = {f"{doc_id}/{system_id}" for doc_id, _, system_id, _ in _outputs(documents)}
    files = {entry.path: entry.blob}
    left_out = {}
    scores = []
    for extra in entries(name, role="scores"):
        reader = _from_pickle if extra.path.endswith("final_p.pkl") else _from_json
        if reader is _from_pickle or extra.path == f"data/{name}.json":
            scores += read_optional(extra, partial(reader, extra, name, known), files, left_out)
    ratings = []
    if name == "summeval":  # three experts on all 16 systems, as AltTest publishes them
        experts = entries(name, path="data/summeval/human_annotations.json")[0]
        ratings = read_optional(experts, partial(_experts, known), files, left_out)
    if more_scores is not None:
        scores += more_scores(known, files, left_out)
    rated_by_experts = {item_id for item_id, *_ in ratings}
    ratings += [
        row for row in _ratings(documents, _ASPECTS[name]) if row[0] not in rated_by_experts
    ]
    return build(
        name,
        _items(documents),
        ratings,
        scores,
        files=files,
        left_out=left_out,
        expect=_COUNTS[name],
    )


def _from_pickle(entry, name, known, content):
    return _scores(entry, unpickle(content), name, known, "bartscore")


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
    _check_known({item_id for item_id, _, _ in rows}, known)
    return finite_scores(entry, rows.values())


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
    _check_known({item_id for item_id, *_ in rows}, known)
    return rows


def _check_known(found, known):
    if strange := sorted(found - known):
        raise ValueError(
            f"expected {len(known)} items, got {len(strange)} others, as {strange[0]!r}"
        )
