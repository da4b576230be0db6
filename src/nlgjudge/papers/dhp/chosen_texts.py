"""The texts that DHP perturbs (Wang et al. 2024, appendix A), and the statistics that its Table 2 averages."""

import random
import re
from functools import lru_cache

import pandas as pd
from nltk.tokenize import NLTKWordTokenizer

from nlgjudge.data.choices import first
from nlgjudge.papers.dhp.perturbing import sentences

_TOKENIZER = NLTKWordTokenizer()
_LONGER_THAN = {"answer_equivalence": 150, "wmt22_de_en": 300, "wmt22_zh_en": 300}  # characters


def originals(benchmark, n=100, *, seed=0):
    """Choose the texts that DHP perturbs (appendix A).

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
        One of `nlgjudge.papers.dhp.perturbing.DATASETS`: of SummEval the first reference with most sentences,
        of SumPubMed the sections BACKGROUND, of Story Cloze the right endings, of Answer Equivalence
        the references above 150 characters, of WMT-22 the translations above 300.
    n : int or None
        So many at random, or all where there are no more; None or 0 for all.
    seed : int

    Returns
    -------
    pandas.DataFrame
        The items' columns with the text in `hypothesis`, `references` the document's other ones, and
        `wrong`, a story's wrong ending. WMT-22 de-en has 16 segments above 300 characters, so that
        blocks of four neighbours are joined there. The limits of length do not apply to a sample.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> chosen = originals(nj.load("summeval", "sample"), 2)
    >>> len(chosen), chosen["item_id"].tolist() == chosen["doc_id"].tolist()
    (2, True)
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


def text_statistics(texts):
    """Count what Table 2 averages.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    pandas.DataFrame
        By text: `characters`, `words` (cut at blanks), `tokens` (NLTK's), `spoken` (tokens with a letter
        or digit) and `sentences`.

    Examples
    --------
    >>> text_statistics(["A river rose. Nobody was hurt."]).iloc[0].to_dict()
    {'characters': 30, 'words': 6, 'tokens': 8, 'spoken': 6, 'sentences': 2}
    """
    rows = []
    for text in texts:
        spans = sentences(text)
        counts = [_tokens(text[start:end]) for start, end in spans]
        tokens = sum(tokens for tokens, _ in counts)
        spoken = sum(spoken for _, spoken in counts)
        rows.append((len(text), len(text.split()), tokens, spoken, len(spans)))
    return pd.DataFrame(rows, columns=["characters", "words", "tokens", "spoken", "sentences"])


@lru_cache(maxsize=32768)  # most sentences of a perturbed text stand in the original too
def _tokens(sentence):
    """How many tokens a sentence has, and how many of them with a letter or digit."""
    tokens = _TOKENIZER.tokenize(sentence)
    spoken = [token for token in tokens if any(map(str.isalnum, token))]
    return len(tokens), len(spoken)


def _most_sentences(texts):
    return max(texts, key=lambda text: len(sentences(text)))


def _background(text):
    """The section BACKGROUND of an article or abstract; empty without one."""
    found = re.match(r"BACKGROUND\n(.*?)(?=\n(RESULTS|CONCLUSIONS)\n|\Z)", text, re.DOTALL)
    return found[1].strip() if found else ""


def _joined(items, size):
    """Join so many neighbours to one text each, under the first one's keys."""
    blocks = items.groupby(pd.RangeIndex(len(items)) // size)
    return blocks.first().assign(
        source=blocks["source"].agg(" ".join), hypothesis=blocks["hypothesis"].agg(" ".join)
    )
