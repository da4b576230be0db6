"""Made-up files in the layouts that upstream has and the mirror lacks, with what a reader must survive.

The items are those of the mirror's files, the scores and replies are drawn from a seed. Among them are
numpy scalars, missing keys, NaN, infinite and missing numbers, numbers
written as text, empty replies and replies with reasons. `register` makes a registry that knows them.
"""

import csv
import json
import pickle
import random
from pathlib import Path

import numpy as np

import nlgjudge as nj
from nlgjudge.data import fetch
from nlgjudge.data.benchmarks import bartscore
from nlgjudge.data.registry import Entry, blob_id, entries
from nlgjudge.data.safe_pickle import unpickle

# Benchmarks that BARTScore packs.
PACKED = ("summeval", "realsumm", "bagel", "newsroom", "qags_cnn", "qags_xsum")
METRICS = ("bert_score_f", "mover_score", "prism_src_hypo", "bart_score_cnn_src_hypo")
ODD = ("n/a", None, float("nan"), float("inf"), "0.25")  # the last one can be read as a number
REPLIES = (
    "4",
    "Coherence: 3",
    "",
    "5",
    5,
    "4\n\nThe summary follows the order of the article.",
    "I cannot rate this text.",
    "- Fluency (1-3): 2",
)
ASPECTS = {"coh": "coherence", "con": "consistency", "flu": "fluency", "rel": "relevance"}


def write(folder, seed=0):
    """Fill a folder, laid out owner/repository/commit/path; returns the registry's rows with their new blob ids."""
    rng = random.Random(seed)
    made = {}
    for name in PACKED:
        made[_entry(name, "/final_p.pkl")] = pickle.dumps(_scored(name, rng, np.float64), 3)
    for name in ("summeval", "bagel"):
        stars = [f"chatgpt_{aspect}" for aspect in bartscore.ASPECTS[name]]
        scored = _scored(name, rng, float, stars)
        made[_entry(name, f"data/{name}.json", role="scores")] = json.dumps(scored).encode()
    items = list(nj.load("summeval", "real").items.itertuples())
    made[_entry("summeval", "_result.json")] = _predictions(items, rng)
    for entry in entries("summeval", role="recording"):
        if "A-Closer-Look" in entry.repository or "gpt4_" in entry.path:
            short = Path(entry.path).name.split("_")[1]
            few = entry.path.count("/") > 2  # other temperatures and personas
            made[entry] = _replies(items, rng, ASPECTS[short], 5 if few else 20)
    made[_entry("answer_equivalence", "ae_dev.jsonl")] = _equivalence(rng)
    return [_place(folder, entry, content) for entry, content in made.items()]


def _entry(name, ending, **filters):
    return entries(name, path=ending, **filters)[0]


def _scored(name, rng, number, more=()):
    """BARTScore's layout with metric scores; the last items have odd ones, the first lacks one."""
    documents = unpickle(fetch.read(_entry(name, "/data.pkl")))
    outputs = [output for *_, output in bartscore.outputs(documents)]
    for output in outputs:
        mean = sum(output["scores"].values()) / len(output["scores"])
        output["scores"] |= {metric: number(mean + rng.gauss(0, 1)) for metric in METRICS}
        output["scores"] |= {metric: float(rng.randint(1, 5)) for metric in more}
    del outputs[0]["scores"]["mover_score"]
    for output, odd in zip(outputs[-len(ODD) :], ODD):
        output["scores"]["prism_src_hypo"] = odd
    return documents


def _predictions(items, rng):
    """UniEval's."""
    rows = []
    for item in items:
        scores = {aspect: rng.random() for aspect in ASPECTS.values()}
        scores["overall"] = rng.choice(ODD[2:])
        key = {"doc_id": item.doc_id, "system_id": item.system_id}
        rows.append(key | {"predict_scores": scores})
    return json.dumps(rows).encode()


def _replies(items, rng, aspect, k):
    rows = [
        {
            "doc_id": item.doc_id,
            "system_id": item.system_id,
            "source": "made up",
            "scores": {aspect: 1.0},
            "prompt": "made up",
            "all_responses": rng.choices(REPLIES, (30, 5, 1, 1, 1, 3, 1, 1), k=k),
        }
        for item in items
    ]
    return json.dumps(rows).encode()


def _equivalence(rng):
    rows = [
        {
            "qid": f"q{n // 3}",
            "question": "Which river?",
            "context": "A line\u2028and another.",
            "reference": "the river that runs past the old mill " * 5,
            "candidate": f"the river {n}",
            "score": rng.choice([0, 1, "1"]),
        }
        for n in range(330)
    ]
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()


def _place(folder, entry, content):
    """Write a file where its registered row says, and return the row with its new blob id."""
    place = Path(folder) / entry.location
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return entry._replace(blob=blob_id(content), bytes=len(content))


def register(path, made):
    """Write a copy of the registry in which the made files have their own blob ids, and none is optional."""
    replaced = {entry.location: entry for entry in made}
    rows = [replaced.get(entry.location, entry)._replace(optional="") for entry in entries()]
    with open(path, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(Entry._fields)
        writer.writerows(["" if value is None else value for value in row] for row in rows)
