"""The texts that DHP perturbs (Wang et al. 2024, appendix A)."""

from __future__ import annotations

import random
import re

import pandas as pd

from nlgjudge.data.checks import first
from nlgjudge.data.schema import Benchmark
from nlgjudge.papers.dhp.perturbing import sentences

_LONGER_THAN = {"answer_equivalence": 150, "wmt22_de_en": 300, "wmt22_zh_en": 300}  # characters


def originals(benchmark: Benchmark, n: int | None = 100, *, seed: int = 0) -> pd.DataFrame:
    """Choose the texts that DHP perturbs (appendix A).

    Of SummEval the first reference with most sentences, of SumPubMed the BACKGROUND sections, of Story Cloze the right
    endings, of Answer Equivalence the references above 150 characters, of WMT-22 the translations above 300. WMT-22
    de-en has 16 segments of that length, so blocks of four neighbours are joined there. In a sample any length will do.

    Parameters
    ----------
    benchmark
        A dataset of the paper, from `nlgjudge.load`.
    n
        Number of texts drawn at random, or all where there are no more; None or 0 for all.

    Returns
    -------
    pandas.DataFrame
        The items' columns with the text in `hypothesis`, `references` the document's other ones, and
        `wrong`, a story's wrong ending.
    """
    items = benchmark.items.drop_duplicates("doc_id").assign(wrong="")
    if benchmark.name == "summeval":
        longest = items["references"].map(_most_sentences)
        items["references"] = [
            [text for text in texts if text != chosen]
            for texts, chosen in zip(items["references"], longest)
        ]
        items["hypothesis"] = longest
    elif benchmark.name == "story_cloze":
        endings = benchmark.items.pivot(index="doc_id", columns="system_id", values="hypothesis")
        items = items.assign(
            hypothesis=items["doc_id"].map(endings["right_ending"]),
            wrong=items["doc_id"].map(endings["wrong_ending"]),
        )
    elif benchmark.name == "answer_equivalence":
        items = items.assign(hypothesis=items["references"].str[0])
    elif benchmark.name == "sumpubmed" and not benchmark.is_sample:
        items = items.assign(
            hypothesis=items["hypothesis"].map(_background), source=items["source"].map(_background)
        )
    elif benchmark.name == "wmt22_de_en" and not benchmark.is_sample:
        items = _joined(items, 4)
    items = items.assign(item_id=items["doc_id"])
    if benchmark.name != "summeval":  # the text itself is the only one
        items["references"] = [[] for _ in range(len(items))]
    limit = 0 if benchmark.is_sample else _LONGER_THAN.get(benchmark.name, 0)
    items = items[items["hypothesis"].str.len() > limit]
    wanted = len(first(items, n))
    drawn = random.Random(seed).sample(range(len(items)), wanted)
    return items.iloc[sorted(drawn)].reset_index(drop=True)


def _most_sentences(texts):
    return max(texts, key=lambda text: len(sentences(text)))


def _background(text):
    """The section BACKGROUND of an article or abstract; empty without one."""
    section = re.match(r"BACKGROUND\n(.*?)(?=\n(RESULTS|CONCLUSIONS)\n|\Z)", text, re.DOTALL)
    return section[1].strip() if section else ""


def _joined(items, size):
    """Join each `size` neighbours to one text, under the first one's keys."""
    blocks = items.groupby(pd.RangeIndex(len(items)) // size)
    return blocks.first().assign(
        source=blocks["source"].agg(" ".join), hypothesis=blocks["hypothesis"].agg(" ".join)
    )
