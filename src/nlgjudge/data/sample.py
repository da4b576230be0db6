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
    rubric = pd.read_csv(use(_folder() / "rubric.csv"))
    rules = list(rubric[rubric["benchmark"] == name].itertuples())
    if not rules:
        raise KeyError(name)
    items = []
    ratings = []
    for document in documents(rules[0].file):
        doc_id = document["doc_id"]
        source = document["source"]
        if name in ("sumpubmed", "wmt22_de_en", "wmt22_zh_en"):
            references = document["references"]
            items.append((None, doc_id, "reference", source, references[0], references, ""))
        elif name == "story_cloze":
            right = document["right_ending"]
            for system_id in ("right_ending", "wrong_ending"):
                items.append((None, doc_id, system_id, source, document[system_id], [right], ""))
                rating = float(system_id == "right_ending")
                ratings.append((f"{doc_id}/{system_id}", "ending", "mean", rating))
        else:
            for item, rated in _outputs(name, document, rules):
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
    strict = defects + (0.5 if defects else 0)
    counted = {"plain": defects, "strict": strict, "lenient": max(defects - 1, 0)}
    return {
        rater: max(low, high - (high - low) * min(number / steps, 1))
        for rater, number in counted.items()
    }


def _folder():
    return root() / "data" / "sample"


def _outputs(name, document, rules):
    """Yield the item of each of a document's outputs, and its ratings."""
    for output in document["outputs"]:
        doc_id = document["doc_id"]
        system_id = output["system_id"]
        references = document["references"]
        if name.startswith("qags"):  # one output a document, and the source as reference
            doc_id = f"{doc_id}-{system_id}"
            system_id = "0"
            references = [document["source"]]
        texts = (document["source"], output["hypothesis"], references, document["context"])
        item = (None, doc_id, system_id, *texts)
        ratings = []
        for rule in rules:
            defects = _count(output, rule.defects.split())
            for rater, score in rate(defects, rule.low, rule.high, rule.steps).items():
                ratings.append((f"{doc_id}/{system_id}", rule.aspect, rater, score))
        yield item, ratings


def _count(output, aspects):
    """Number of an output's planted defects of these aspects."""
    return sum(len(output["defects"][aspect]) for aspect in aspects)


def _preference(writer, model):
    """Preference for the writer by numbers of defects: 1, 0, or 0.5 where they are equal."""
    if writer == model:
        return 0.5
    return 1.0 if writer < model else 0.0


def _news():
    """Two of the sample's summarisers in the place of writer and model."""
    items = []
    ratings = []
    for document in documents("summarization"):
        doc_id = document["doc_id"]
        outputs = {output["system_id"]: output for output in document["outputs"]}
        writer = outputs["lead"]
        model = outputs["embellished"]
        for system_id, output in (("writer-sample", writer), ("text-davinci-002", model)):
            texts = (document["source"], output["hypothesis"], [], "")
            items.append((None, doc_id, system_id, *texts))
        counted = {"overall": tuple(writer["defects"]), "informative": ("relevance", "consistency")}
        for aspect, kinds in counted.items():
            preference = _preference(_count(writer, kinds), _count(model, kinds))
            ratings.append((f"{doc_id}/writer-sample", f"{aspect}_preference", "plain", preference))
    return build("news", items, ratings, source="sample")
