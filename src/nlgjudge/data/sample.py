"""The repository's own sample: texts with planted defects, rated by counting them.

`data/sample/README.md` holds the rubric: a rating is the top of the scale minus a step per
defect, and three raters apply it plainly, strictly and leniently. `data/sample/rubric.csv` says
which file replaces which benchmark, what its items are, and per aspect whose defects count on which scale.
"""

import json

import pandas as pd

from nlgjudge.data.checks import check_known
from nlgjudge.data.paths import root, use
from nlgjudge.data.schema import ITEMS, build

_PAIR = {"writer-sample": "lead", "text-davinci-002": "embellished"}  # news, by our summarisers


def read(name):
    """Read the sample that replaces a benchmark; KeyError where `rubric.csv` has no row for it."""
    rules = _rules(name)
    if not rules:
        raise KeyError(f"data/sample/rubric.csv has no row for {name}")
    check_known("kind of items", rules[0].items, _KINDS)
    items = []
    ratings = []
    for document in documents(rules[0].file):
        for item, rated in _KINDS[rules[0].items](document, rules):
            items.append(item)
            doc_id, system_id = item[1:3]
            ratings += [(f"{doc_id}/{system_id}", *rating) for rating in rated]
    columns = [*ITEMS, "other"][: len(items[0])]
    return build(name, pd.DataFrame(items, columns=columns), ratings, source="sample")


def task(name):
    """What a benchmark's texts are, as ``summarization``, by the file that replaces it; empty if unknown."""
    return next((rule.file for rule in _rules(name)), "")


def documents(file):
    """Yield the documents of one sample file, as written."""
    with open(use(_folder() / f"{file}.jsonl"), encoding="utf-8") as handle:
        for line in handle:
            yield json.loads(line)


def rate(defects, low=1, high=5, steps=4):
    """Apply the rubric to a number of defects.

    Parameters
    ----------
    defects
    low, high
        Ends of the scale.
    steps
        Number of defects that reach its lower end.

    Returns
    -------
    dict
        Rating by rater: plain takes a step off for each defect; strict the same and half a step
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


def _rules(name):
    """Rows of the rubric for a benchmark."""
    rubric = pd.read_csv(use(_folder() / "rubric.csv"))
    return list(rubric[rubric["benchmark"] == name].itertuples())


def _outputs(document, rules):
    """Each output, rated by its defects."""
    for output in document["outputs"]:
        texts = (document["source"], output["hypothesis"])
        further = (document["references"], document["context"])
        item = (None, document["doc_id"], output["system_id"], *texts, *further)
        yield item, list(_ratings(output, rules))


def _source_as_reference(document, rules):
    """Each output as a document of its own, whose reference is the source."""
    for item, ratings in _outputs(document, rules):
        _, doc_id, system_id, source, hypothesis, _, context = item
        texts = (source, hypothesis, [source], context)
        yield (None, f"{doc_id}-{system_id}", "0", *texts), ratings


def _reference(document, rules):
    """The first reference as the only text, not rated."""
    references = document["references"]
    texts = (document["source"], references[0], references, "")
    yield (None, document["doc_id"], "reference", *texts), []


def _endings(document, rules):
    """A right and a wrong ending."""
    right = document["right_ending"]
    for system_id in ("right_ending", "wrong_ending"):
        texts = (document["source"], document[system_id], [right], "")
        rating = ("ending", "mean", float(system_id == "right_ending"))
        yield (None, document["doc_id"], system_id, *texts), [rating]


def _pairs(document, rules):
    """Two outputs, the first one rated by the preference for it: 1, 0, or 0.5 for equally many defects."""
    outputs = {output["system_id"]: output for output in document["outputs"]}
    first, second = (outputs[system_id] for system_id in _PAIR.values())
    preferences = []
    for rule in rules:
        lead = _count(second, rule) - _count(first, rule)
        preferences.append((rule.aspect, "plain", 0.5 + 0.5 * ((lead > 0) - (lead < 0))))
    for system_id, output, ratings in zip(_PAIR, (first, second), (preferences, [])):
        texts = (document["source"], output["hypothesis"], [], "")
        yield (None, document["doc_id"], system_id, *texts), ratings


def _both_orders(document, rules):
    """Two outputs in both orders; the one with fewer defects is preferred."""
    (rule,) = rules
    first, second = document["outputs"]
    for order, (shown, other) in enumerate([(first, second), (second, first)], 1):
        texts = (document["source"], shown["hypothesis"], [], "", other["hypothesis"])
        better = float(_count(shown, rule) < _count(other, rule))
        yield (
            (None, document["doc_id"], f"order/{order}", *texts),
            [(rule.aspect, "plain", better)],
        )


_KINDS = {
    "outputs": _outputs,
    "source as reference": _source_as_reference,
    "reference": _reference,
    "endings": _endings,
    "pairs": _pairs,
    "both orders": _both_orders,
}


def _ratings(output, rules):
    """Ratings of an output: aspect, rater, score."""
    for rule in rules:
        if pd.isna(rule.aspect):
            continue
        scores = rate(_count(output, rule), rule.low, rule.high, rule.steps)
        for rater, score in scores.items():
            yield rule.aspect, rater, score


def _count(output, rule):
    """Number of an output's planted defects that a rule counts."""
    for kind in rule.defects.split():
        check_known(f"kind of defect in {rule.file}.jsonl", kind, output["defects"])
    return sum(len(output["defects"][kind]) for kind in rule.defects.split())
