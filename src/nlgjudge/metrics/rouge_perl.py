"""ROUGE as the Perl script ROUGE-1.5.5 gives it behind pyrouge (Lin 2004).

BARTScore's repository scores its summaries so, and two of the papers print the values.
rouge-score follows the script; these habits it leaves out: text after a `<` is lost up to the
sentence's end, since pyrouge hands sentences over as HTML; Porter's stemmer lets a word lose
several endings of its fourth step; precision and recall are rounded to five decimals, and F
is formed from the rounded values. The script's list of irregular words is not applied.
"""

import re
from functools import cache

import numpy as np
import pandas as pd
from nltk.stem.porter import PorterStemmer

from nlgjudge.metrics import cached, lcs
from nlgjudge.metrics.lcs import Sentences, Sequence

# Sentences end at a full stop between blanks, as BARTScore's scripts say, or at any token of dots.
ENDS = {"period": r" \. ", "dots": r" \.+ "}
_FOURTH_STEP = (
    "al",
    "ance",
    "ence",
    "er",
    "ic",
    "able",
    "ible",
    "ant",
    "ement",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
)


class _Stemmer(PorterStemmer):
    """Porter's own revision, with the fourth step in three passes instead of one."""

    def __init__(self):
        super().__init__(mode=PorterStemmer.MARTIN_EXTENSIONS)

    def _step4(self, word):
        def long(stem):
            return self._measure(stem) > 1

        def long_before_ion(stem):
            return long(stem) and stem[-1] in "st"

        word = self._apply_rule_list(word, [(ending, "", long) for ending in _FOURTH_STEP])
        word = self._apply_rule_list(word, [("ment", "", long)])
        return self._apply_rule_list(word, [("ent", "", long), ("ion", "", long_before_ion)])


class _Tokenizer:
    """Lower-case alphanumeric runs, stemmed when longer than three characters; each stem is kept."""

    def __init__(self):
        self._stem = cache(_Stemmer().stem)

    def tokenize(self, text):
        words = re.findall(r"[a-z0-9]+", text.lower())
        return [self._stem(word) if len(word) > 3 else word for word in words]


def rouge155(items, *, ends="period"):
    """Score each hypothesis against each of its references as the Perl script does.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, hypothesis, references`.
    ends : {"period", "dots"}
        Where sentences end, for ROUGE-L: at `" . "`, or at any token of dots.

    Returns
    -------
    pandas.DataFrame
        As `nlgjudge.metrics.lexical.rouge`: `item_id, reference` and nine columns in [0, 1],
        with five decimals. Cached by content below `data/cache/lexical/`.

    Raises
    ------
    ValueError
        For an unknown `ends`, or an item without references.

    Examples
    --------
    >>> import pandas as pd
    >>> toy = pd.DataFrame({"item_id": ["i"], "hypothesis": ["the cat sat ."], "references": [["a cat sat down ."]]})
    >>> rouge155(toy)[["rouge1-p", "rouge1-r", "rouge1-f"]].iloc[0].tolist()
    [0.66667, 0.5, 0.57143]
    """
    bare = int((items["references"].map(len) == 0).sum())
    if ends not in ENDS or bare:
        raise ValueError(
            f"ends={ends!r}, {bare} items without reference: expected one of "
            f"{tuple(ENDS)} and a reference for every item"
        )
    keys = []
    pairs = []
    for item in items.itertuples():
        for position, reference in enumerate(item.references):
            keys.append((item.item_id, position))
            pairs.append((item.hypothesis, reference))
    values = cached.scores(_score, pairs, ends, libraries=("rouge-score", "nltk"))
    frame = pd.DataFrame(
        values, columns=[f"rouge{kind}-{part}" for kind in "12L" for part in "prf"]
    )
    frame.insert(0, "reference", [position for _, position in keys])
    frame.insert(0, "item_id", [item_id for item_id, _ in keys])
    return frame


def _score(pairs, ends):
    tokenize = _tokenizer().tokenize

    @cache
    def cut(text):
        """The whole text and its sentences, each without what the script takes for a tag."""
        lines = [sentence.partition("<")[0] for sentence in re.split(ENDS[ends], text)]
        whole = "\n".join(lines)
        sentences = [Sequence(tokenize(line)) for line in whole.split("\n")]
        return Sequence(tokenize(whole)), Sentences(sentences)

    rows = []
    for hypothesis, reference in pairs:
        mine, my_sentences = cut(hypothesis)
        theirs, their_sentences = cut(reference)
        found = (
            lcs.unigrams(mine, theirs),
            lcs.bigrams(mine, theirs),
            lcs.by_sentence(my_sentences, their_sentences),
        )
        rows.append(
            [value for precision, recall, _ in found for value in _rounded(precision, recall)]
        )
    return np.array(rows)


@cache
def _tokenizer():
    """One for all calls, since it keeps the stems."""
    return _Tokenizer()


def _rounded(precision, recall):
    """Precision, recall, and F from the rounded two."""
    precision = round(precision, 5)
    recall = round(recall, 5)
    f = 0.0
    if precision + recall:
        f = round(2 * precision * recall / (precision + recall), 5)
    return precision, recall, f
