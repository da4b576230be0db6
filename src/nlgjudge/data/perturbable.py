"""Readers for the texts that DHP perturbs, and for the ratings that users must bring.

DHP (section 5) takes reference texts and asks judges to distinguish them from perturbed copies, so
these benchmarks have items and mostly no ratings: the hypothesis is the text to perturb.
"""

import json
import os
import re
from pathlib import Path

import pandas as pd

from nlgjudge.data import fetch
from nlgjudge.data.optional import MALFORMED
from nlgjudge.data.paths import use
from nlgjudge.data.registry import blob_id, entries
from nlgjudge.data.schema import build

_SEGMENTS = {"wmt22_de_en": 1984, "wmt22_zh_en": 1875}


def read_wmt22(name):
    """Read WMT-22 general test segments; the human reference is the hypothesis."""
    language = name.split("_")[1]
    (source,) = entries(name, path=f"src.{language}")
    (reference,) = entries(name, path="ref.A.en")
    pairs = zip(_lines(source), _lines(reference), strict=True)
    items = [
        (None, f"{number:04d}", "reference", original, translation, [translation], "")
        for number, (original, translation) in enumerate(pairs)
    ]
    return build(
        name,
        items,
        [],
        files={source.path: source.blob, reference.path: reference.blob},
        expect=(_SEGMENTS[name], _SEGMENTS[name]),
    )


def _lines(entry):
    return fetch.read(entry).decode("utf-8").removesuffix("\n").split("\n")


def read_sumpubmed(name):
    """Read scientific articles and abstracts; ids 1 to 300 are registered."""
    files = {}
    texts = {}
    for entry in entries(name, role="data"):
        kind, number = re.fullmatch(r"(text|abstract)/\w+_(\d+)\.txt", entry.path).groups()
        texts.setdefault(int(number), {})[kind] = fetch.read(entry).decode("utf-8")
        files[entry.path] = entry.blob
    items = []
    for number, article in sorted(texts.items()):
        abstract = article["abstract"]
        texts = (article["text"], abstract, [abstract], "")
        items.append((None, f"{number:03d}", "reference", *texts))
    return build(name, items, [], files=files, expect=(300, 300))


def read_answer_equivalence(name):
    """Read the development split of Answer Equivalence (Bulian et al. 2022).

    Rating `equivalence` is the mean over raters of the released judgement, 1 for equivalent.
    """
    (entry,) = entries(name, path="ae_dev.jsonl")
    try:
        items, judged = _answers(fetch.read(entry))
    except MALFORMED as error:
        cause = (
            f"{entry.path} of {entry.repository} is laid out otherwise than expected ({error!r})"
        )
        raise fetch.DataUnavailable(cause, kind="unreadable") from error
    ratings = [
        (key, "equivalence", "mean", sum(scores) / len(scores)) for key, scores in judged.items()
    ]
    return build(name, items.values(), ratings, files={entry.path: entry.blob})


def _answers(content):
    """Items by question, answer and reference, and the judgements of each item."""
    items = {}
    judged = {}
    for line in filter(bytes.strip, content.splitlines()):  # bytes: a text may hold U+2028
        row = json.loads(line)
        key = (row["qid"], row["candidate"], row["reference"])
        place = str(len(items))
        item_id = f"{row['qid']}/{place}"
        item = (item_id, row["qid"], place, row["question"], row["candidate"])
        item_id, *_ = items.setdefault(key, (*item, [row["reference"]], row["context"]))
        judged.setdefault(item_id, []).append(float(row["score"]))
    return items, judged


def read_story_cloze(name):
    """Read the Story Cloze CSV that `NLGJUDGE_STORY_CLOZE` names (licence on request)."""
    path = _named("NLGJUDGE_STORY_CLOZE", name, "the validation CSV of the Story Cloze Test")
    sentences = ["InputSentence1", "InputSentence2", "InputSentence3", "InputSentence4"]
    endings = ["RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2"]
    items = []
    ratings = []
    for row in _rows(path, ["InputStoryid", *sentences, *endings, "AnswerRightEnding"]):
        doc_id = row["InputStoryid"]
        opening = " ".join(row[sentence] for sentence in sentences)
        right = f"RandomFifthSentenceQuiz{int(row['AnswerRightEnding'])}"
        for ending in endings:
            system_id = "right_ending" if ending == right else "wrong_ending"
            key = f"{doc_id}/{system_id}"
            items.append((key, doc_id, system_id, opening, row[ending], [row[right]], ""))
            ratings.append((key, "ending", "mean", float(ending == right)))
    return build(name, items, ratings, files={path.name: blob_id(path.read_bytes())})


def read_iwslt14(name):
    """Read HumanMT's 1,000 rated translations from the folder in `NLGJUDGE_HUMANMT`.

    The archive's texts and ratings go into one file, `ratings.csv`: `segment, source,
    reference, translation, rater, score` (1 to 5), a line per judgement.
    """
    path = _named("NLGJUDGE_HUMANMT", name, "a folder with HumanMT's ratings.csv") / "ratings.csv"
    items = {}
    ratings = []
    for row in _rows(path, ["segment", "source", "reference", "translation", "rater", "score"]):
        key = f"{row['segment']}/translation"
        texts = (row["source"], row["translation"], [row["reference"]], "")
        items[key] = (key, row["segment"], "translation", *texts)
        ratings.append((key, "overall", row["rater"], float(row["score"])))
    return build(
        name,
        items.values(),
        ratings,
        files={path.name: blob_id(path.read_bytes())},
        expect=(1000, 1000),
    )


def _named(variable, name, what):
    """The file or folder that an environment variable names."""
    path = os.environ.get(variable, "")
    if not path:
        raise fetch.DataUnavailable(
            f"{name} cannot be downloaded freely: ask its authors for it "
            f"and name {what} in {variable}",
            cause=f"{variable} names no file",
        )
    if not Path(path).exists():
        raise FileNotFoundError(f"{variable}={path} does not exist; name {what}")
    return Path(path)


def _rows(path, columns):
    table = pd.read_csv(use(path), dtype=str, keep_default_na=False, encoding="utf-8-sig")
    absent = [column for column in columns if column not in table]
    if absent:
        raise ValueError(f"{path}: expected columns {columns}, lacks {absent}")
    return table.to_dict("records")
