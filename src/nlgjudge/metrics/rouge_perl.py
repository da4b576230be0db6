"""ROUGE as the Perl script ROUGE-1.5.5 gives it behind pyrouge (Lin 2004).

BARTScore's repository scores its summaries so, and two of the four papers print the values.
rouge-score follows the script; these habits it leaves out: text after a `<` is lost up to the
sentence's end, since pyrouge hands sentences over as HTML; Porter's stemmer lets a word lose
several endings of its fourth step; precision and recall are rounded to five decimals, and F
is formed from the rounded values. The script's list of irregular words is not applied.
"""

import re

import numpy as np
import pandas as pd
from nltk.stem.porter import PorterStemmer

from nlgjudge.metrics import cached
from nlgjudge.metrics.lcs import rouge_scorer

# Sentences end at a full stop between blanks, as BARTScore's scripts say, or at any token of dots.
ENDS = {"period": r" \. ", "dots": r" \.+ "}
_KINDS = ("rouge1", "rouge2", "rougeLsum")
_FOURTH_STEP = ("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ou", "ism", "ate", "iti",
                "ous", "ive", "ize")


class _Stemmer(PorterStemmer):
    """Porter's own revision, with the fourth step in three passes instead of one."""

    def __init__(self):
        super().__init__(mode=PorterStemmer.MARTIN_EXTENSIONS)

    def _step4(self, word):
        def long(stem):
            return self._measure(stem) > 1

        for rules in ([(ending, "", long) for ending in _FOURTH_STEP], [("ment", "", long)],
                      [("ent", "", long), ("ion", "", lambda s: long(s) and s[-1] in "st")]):
            word = self._apply_rule_list(word, rules)
        return word


class _Tokenizer:
    def __init__(self):
        self._stem, self._known = _Stemmer().stem, {}

    def tokenize(self, text):
        return [self._word(w) for w in re.findall(r"[a-z0-9]+", text.lower())]

    def _word(self, word):
        if len(word) > 3 and word not in self._known:
            self._known[word] = self._stem(word)
        return self._known.get(word, word)


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
    """
    bare = int((items["references"].map(len) == 0).sum())
    if ends not in ENDS or bare:
        raise ValueError(f"ends={ends!r}, {bare} items without reference: expected one of "
                         f"{tuple(ENDS)} and a reference for every item")
    rows = [(item.item_id, n, [item.hypothesis, text]) for item in items.itertuples()
            for n, text in enumerate(item.references)]
    values = cached.scores(_score, [pair for *_, pair in rows], ends, libraries=("rouge-score", "nltk"))
    frame = pd.DataFrame(values, columns=[f"rouge{kind}-{part}" for kind in "12L" for part in "prf"])
    frame.insert(0, "reference", [n for _, n, _ in rows])
    frame.insert(0, "item_id", [item_id for item_id, *_ in rows])
    return frame


def _score(pairs, ends):
    scorer = rouge_scorer.RougeScorer(_KINDS, tokenizer=_Tokenizer())
    return np.array([_row(scorer, *(_as_html(text, ENDS[ends]) for text in pair)) for pair in pairs])


def _as_html(text, end):
    return "\n".join(sentence.partition("<")[0] for sentence in re.split(end, text))


def _row(scorer, hypothesis, reference):
    found = scorer.score(reference, hypothesis)
    row = []
    for kind in _KINDS:
        p, r = round(found[kind].precision, 5), round(found[kind].recall, 5)
        row += [p, r, round(2 * p * r / (p + r), 5) if p + r else 0.0]
    return row
