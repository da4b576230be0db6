"""The repository's own sample: texts with planted defects, rated by counting them.

`data/sample/README.md` holds the rubric: a rating is the top of the scale minus a step per
defect, and three raters apply it plainly, strictly and leniently. `data/sample/rubric.csv` says
which file stands in for which benchmark, and per aspect whose defects count on which scale.
"""

import json

import pandas as pd

from nlgjudge.data.paths import root, use
from nlgjudge.data.schema import build


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
    rubric = pd.read_csv(use(_folder() / "rubric.csv")).groupby("benchmark").get_group(name)
    items, ratings = [], []
    for document in documents(rubric["file"].iloc[0]):
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
            for item, rated in _outputs(name, document, rubric):
                items.append(item)
                ratings += rated
    return build(name, items, ratings, source="sample")


def task(name):
    """What a benchmark's texts are, as ``summarization``, by the file that stands in; empty if unknown."""
    rubric = pd.read_csv(use(_folder() / "rubric.csv"))
    return next(iter(rubric.loc[rubric["benchmark"] == name, "file"]), "")


def documents(file):
    """Yield the documents of one sample file, as written."""
    with open(use(_folder() / f"{file}.jsonl"), encoding="utf-8") as handle:
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


def _folder():
    return root() / "data" / "sample"


def _outputs(name, document, rubric):
    for output in document["outputs"]:
        doc_id, system_id = document["doc_id"], output["system_id"]
        references = document["references"]
        if name.startswith("qags"):  # one output a document, and the source as reference
            doc_id, system_id, references = f"{doc_id}-{system_id}", "0", [document["source"]]
        item = (None, doc_id, system_id, document["source"], output["hypothesis"], references,
                document["context"])
        rated = ((r.aspect, rate(_count(output, r.defects.split()), r.low, r.high, r.steps))
                 for r in rubric.itertuples())
        yield item, [(f"{doc_id}/{system_id}", aspect, rater, score)
                     for aspect, scores in rated for rater, score in scores.items()]


def _count(output, aspects):
    return sum(len(output["defects"][aspect]) for aspect in aspects)


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
            writer, model = (_count(output, parts) for output in pair.values())
            ratings.append((f"{document['doc_id']}/writer-sample", f"{aspect}_preference", "plain",
                            (1 + (model > writer) - (model < writer)) / 2))
    return build("news", items, ratings, source="sample")
