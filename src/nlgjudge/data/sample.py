"""The repository's own sample: texts with planted defects, rated by counting them.

`data/sample/README.md` holds the rubric: a rating is the top of the scale minus a step per
defect, and three raters apply it plainly, strictly and leniently.
"""

import json

from nlgjudge.data.paths import root, use
from nlgjudge.data.schema import build

# An aspect's scale and the number of defects that reach its lower end, where it is not
# 1 to 5 in four steps; by file, or by benchmark where that has a scale of its own.
_DEFAULT = (1, 5, 4)
_SCALES = {
    "dialogue": {"naturalness": (1, 3, 2), "coherence": (1, 3, 2), "engagingness": (1, 3, 2),
                 "groundedness": (0, 1, 2), "understandability": (0, 1, 2)},
    "data_to_text": dict.fromkeys(("informativeness", "naturalness", "quality"), (1, 6, 5)),
    "question_answering": {"equivalence": (0, 1, 1)},
    "realsumm": {"pyramid_recall": (0, 1, 4)},
    "qags_cnn": {"consistency": (0, 1, 4)},
    "qags_xsum": {"consistency": (0, 1, 4)},
}
# Which file stands in for which benchmark, and aspects that count other aspects' defects.
_STANDS_FOR = {
    "summeval": ("summarization", {}),
    "summeval_crowd": ("summarization", {}),
    "newsroom": ("summarization", {"informativeness": ("relevance", "consistency")}),
    "realsumm": ("summarization", {"pyramid_recall": ("relevance",)}),
    "qags_cnn": ("summarization", {"consistency": ("consistency",)}),
    "qags_xsum": ("summarization", {"consistency": ("consistency",)}),
    "sumpubmed": ("summarization", {}),
    "bagel": ("data_to_text", {}),
    "openmeva": ("story", {}),
    "story_cloze": ("story", {}),
    "topical_chat": ("dialogue", {"overall": tuple(_SCALES["dialogue"])}),
    "answer_equivalence": ("question_answering", {}),
    "wmt22_de_en": ("translation", {}),
    "wmt22_zh_en": ("translation", {}),
    "iwslt14": ("translation", {}),
}
_KEEP = {"newsroom": ("coherence", "relevance", "informativeness", "fluency"),
         "realsumm": ("pyramid_recall",), "qags_cnn": ("consistency",),
         "qags_xsum": ("consistency",)}


def read(name):
    """Read the sample that stands in for a benchmark.

    Parameters
    ----------
    name : str
        A benchmark's name.

    Returns
    -------
    nlgjudge.data.schema.Benchmark
        With `source="sample"` and the benchmark's aspects.

    Raises
    ------
    KeyError
        When the sample has nothing in that benchmark's form.
    """
    if name == "news":
        return _news()
    file, derived = _STANDS_FOR[name]
    items, ratings = [], []
    for document in documents(file):
        if name in ("sumpubmed", "wmt22_de_en", "wmt22_zh_en"):
            items.append((None, document["doc_id"], "reference", document["source"],
                          document["references"][0], document["references"], ""))
        elif name == "story_cloze":
            for system_id in ("right_ending", "wrong_ending"):
                items.append((None, document["doc_id"], system_id, document["source"],
                              document[system_id], [document["right_ending"]], ""))
                ratings.append((f"{document['doc_id']}/{system_id}", "ending", "mean",
                                float(system_id == "right_ending")))
        else:
            for item, rated in _outputs(name, file, document, derived):
                items.append(item)
                ratings += rated
    return build(name, items, ratings, source="sample")


def documents(file):
    """Yield the documents of one sample file, as written."""
    with open(use(root() / "data" / "sample" / f"{file}.jsonl"), encoding="utf-8") as handle:
        for line in handle:
            yield json.loads(line)


def rate(defects, low=1, high=5, steps=4):
    """Apply the rubric to a number of defects.

    Parameters
    ----------
    defects : int
    low, high : float
        Ends of the scale.
    steps : int
        Number of defects that reach its lower end.

    Returns
    -------
    dict of str to float
        By rater: plain takes a step off for each defect; strict the same and half a step
        more if there is any; lenient overlooks the first.
    """
    counted = {"plain": defects, "strict": defects + (defects > 0) / 2, "lenient": max(defects - 1, 0)}
    return {rater: max(low, high - (high - low) * min(n / steps, 1)) for rater, n in counted.items()}


def _outputs(name, file, document, derived):
    for output in document["outputs"]:
        doc_id, system_id = document["doc_id"], output["system_id"]
        references = document["references"]
        if name.startswith("qags"):  # one output a document, and the source as reference
            doc_id, system_id, references = f"{doc_id}-{system_id}", "0", [document["source"]]
        item = (None, doc_id, system_id, document["source"], output["hypothesis"], references,
                document["context"])
        defects = {aspect: len(found) for aspect, found in output["defects"].items()}
        counts = defects | {aspect: sum(defects[a] for a in parts) for aspect, parts in derived.items()}
        rated = []
        for aspect in _KEEP.get(name, counts):
            scale = _SCALES.get(name, _SCALES.get(file, {})).get(aspect, _DEFAULT)
            rated += [(f"{doc_id}/{system_id}", aspect, rater, score)
                      for rater, score in rate(counts[aspect], *scale).items()]
        yield item, rated


def _news():
    """Two of the sample's summarisers in the place of writer and model."""
    items, ratings = [], []
    for document in documents("summarization"):
        outputs = {o["system_id"]: o for o in document["outputs"]}
        pair = {"writer-sample": outputs["lead"], "text-davinci-002": outputs["embellished"]}
        for system_id, output in pair.items():
            items.append((None, document["doc_id"], system_id, document["source"],
                          output["hypothesis"], [], ""))
        for aspect, parts in (("overall", tuple(outputs["lead"]["defects"])),
                              ("informative", ("relevance", "consistency"))):
            writer, model = (sum(len(o["defects"][p]) for p in parts) for o in pair.values())
            ratings.append((f"{document['doc_id']}/writer-sample", f"{aspect}_preference", "plain",
                            (1 + (model > writer) - (model < writer)) / 2))
    return build("news", items, ratings, source="sample")
