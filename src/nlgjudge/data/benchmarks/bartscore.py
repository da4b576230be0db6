"""Benchmarks that BARTScore's repository packs (Yuan et al. 2021): NewsRoom, RealSumm, QAGS, BAGEL.

SummEval is read with the same functions. Each is a pickle of plain dicts, lists, strings and floats. `final_p.pkl` and
the ChatGPT study's `summeval.json` and `bagel.json` share the layout and add metric scores; they are optional.
"""

import json
from functools import partial

from nlgjudge.data.benchmarks import benchmark
from nlgjudge.data.released_scores import finite_scores, unieval_scores
from nlgjudge.data.safe_pickle import unpickle

ASPECTS = {
    "summeval": ("coherence", "consistency", "fluency", "relevance"),
    "newsroom": ("coherence", "relevance", "informativeness", "fluency"),
    "realsumm": ("pyramid_recall",),
    "qags_cnn": ("consistency",),
    "qags_xsum": ("consistency",),
    "bagel": ("informativeness", "naturalness", "quality"),
}
# The pickles' names where they differ from the papers'.
_NAMES = {"litepyramid_recall": "pyramid_recall", "fact": "consistency"}


@benchmark("newsroom", "summaries of news, mean ratings for four aspects", expect=(60, 420))
@benchmark("realsumm", "summaries of news, pyramid recall", expect=(100, 2400))
@benchmark("bagel", "sentences made from data, mean ratings for three aspects", expect=(404, 404))
def read(files):
    """Read texts and mean ratings, with the released scores that are available."""
    name = files.benchmark
    documents = unpickle(files.read("/data.pkl"))
    items = list(_items(documents))
    scores = []
    for entry in files.entries:
        if entry.path.endswith("/final_p.pkl"):
            layout = ("bartscore", unpickle)
        elif entry.path == f"data/{name}.json":
            layout = ("chatgpt", json.loads)
        else:
            continue
        reader = partial(_scores, entry, name, item_ids(items), *layout)
        scores += files.read_optional(entry, reader)
    return items, list(_ratings(documents, ASPECTS[name])), scores


@benchmark("qags_cnn", "summaries of CNN news, rated for factual consistency", expect=(235, 235))
@benchmark(
    "qags_xsum", "summaries of BBC news (XSum), rated for factual consistency", expect=(239, 239)
)
def read_with_unieval(files):
    """Read the same, and UniEval's released predictions."""
    items, ratings, scores = read(files)
    known_ids = item_ids(items)

    def item_of(line):
        item_id = f"{line['doc_id']}/{line['system_id']}"
        if item_id not in known_ids:
            raise KeyError(f"no item {item_id}")
        return item_id

    return items, ratings, scores + unieval_scores(files, item_of)


def item_ids(items):
    """Ids of rows of items."""
    return {item_id for item_id, *_ in items}


def check_items(scored, item_ids):
    """Raise a ValueError for scores of other items."""
    if strange := sorted(scored - item_ids):
        raise ValueError(
            f"expected {len(item_ids)} items, got {len(strange)} others, as {strange[0]!r}"
        )


def outputs(documents):
    """Yield document id, document, system id and output; BAGEL has one output a document."""
    for doc_id, document in documents.items():
        systems = document.get("sys_summs") or {"0": document}
        for system_id, output in systems.items():
            yield str(doc_id), document, str(system_id), output


def _items(documents):
    for doc_id, document, system_id, output in outputs(documents):
        references = document.get("ref_summs") or [document["ref_summ"]]
        texts = (document["src"], output["sys_summ"], list(references), "")
        yield (f"{doc_id}/{system_id}", doc_id, system_id, *texts)


def _ratings(documents, aspects):
    for doc_id, _, system_id, output in outputs(documents):
        means = {_NAMES.get(key, key): value for key, value in output["scores"].items()}
        for aspect in aspects:
            yield f"{doc_id}/{system_id}", aspect, "mean", means[aspect]


def _scores(entry, name, item_ids, origin, load, content):
    """Released scores of a file; of a repeated key the last one holds."""
    rows = {}
    for row in _released(load(content), ASPECTS[name], origin):
        item_id, metric, aspect, *_ = row
        rows[item_id, metric, aspect] = row
    check_items({item_id for item_id, _, _ in rows}, item_ids)
    return finite_scores(entry, rows.values())


def _released(documents, aspects, origin):
    human = {*aspects, *_NAMES}
    for doc_id, _, system_id, output in outputs(documents):
        for metric, score in output.get("scores", {}).items():
            if metric in human:
                continue
            # ChatGPT's scores have names that end with an aspect.
            name, _, aspect = metric.rpartition("_")
            if name != "chatgpt" or aspect not in aspects:
                name = metric
                aspect = ""
            yield f"{doc_id}/{system_id}", f"{origin}:{name}", aspect, score, "", "released_scores"
