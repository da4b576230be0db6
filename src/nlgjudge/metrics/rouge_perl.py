"""ROUGE as the Perl script ROUGE-1.5.5 gives it behind pyrouge (Lin 2004).

BARTScore's repository scores its summaries so, and two of the papers publish the values.
rouge-score follows the script except for these habits: text after a `<` is lost up to the
sentence's end, since pyrouge passes sentences as HTML; Porter's stemmer lets a word lose
several endings of its fourth step; precision and recall are rounded to five decimals, and F
is formed from the rounded values. The script's list of irregular words is not applied.
"""

import re
from typing import Literal

import numpy as np
import pandas as pd

from nlgjudge.metrics import cached
from nlgjudge.metrics.lexical import per_reference, scorer, stemmed
from nlgjudge.namespaces import optional

# Sentences end at a full stop between blanks, as BARTScore's scripts say, or at any token of dots.
ENDS = {"period": r" \. ", "dots": r" \.+ "}
_FOURTH_STEP = "al ance ence er ic able ible ant ement ou ism ate iti ous ive ize".split()  # noqa: SIM905


def rouge155(items: pd.DataFrame, *, ends: Literal["period", "dots"] = "period") -> pd.DataFrame:
    """Score each hypothesis against each of its references as the Perl script does.

    Parameters
    ----------
    items
        `item_id, hypothesis, references`.
    ends
        Where sentences end, for ROUGE-L: at `" . "`, or at any token of dots.

    Returns
    -------
    pandas.DataFrame
        As from `nlgjudge.metrics.rouge`, with five decimals.

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
    if ends not in ENDS:
        raise ValueError(f"ends={ends!r}: expected one of {tuple(ENDS)}")

    def score(pairs):
        return cached.scores(_score, pairs, ends, libraries=("nltk", "rouge-score"))

    return per_reference(items, score)


def _score(pairs, ends):
    names = ("rouge1", "rouge2", "rougeLsum")
    score = scorer(list(names), stemmed(_stemmer().stem))
    rows = []
    for pair in pairs:
        hypothesis, reference = (_as_seen(text, ENDS[ends]) for text in pair)
        scores = score(reference, hypothesis)
        rows.append([value for name in names for value in _rounded(*scores[name][:2])])
    return np.array(rows).reshape(-1, 9)


def _as_seen(text, boundary):
    """The text with a sentence on each line, up to a `<`, where the script sees a tag."""
    return "\n".join(sentence.partition("<")[0] for sentence in re.split(boundary, text))


def _stemmer():
    """Porter's own revision, with the fourth step in three passes instead of one."""
    porter = optional("nltk.stem.porter", "metrics").PorterStemmer

    class Stemmer(porter):
        def _step4(self, word):
            def long(stem):
                return self._measure(stem) > 1

            def long_before_ion(stem):
                return long(stem) and stem[-1] in "st"

            word = self._apply_rule_list(word, [(ending, "", long) for ending in _FOURTH_STEP])
            word = self._apply_rule_list(word, [("ment", "", long)])
            return self._apply_rule_list(word, [("ent", "", long), ("ion", "", long_before_ion)])

    return Stemmer(mode=porter.MARTIN_EXTENSIONS)


def _rounded(precision, recall):
    """Precision, recall, and F from the rounded two."""
    precision = round(precision, 5)
    recall = round(recall, 5)
    f = 0.0
    if precision + recall:
        f = round(2 * precision * recall / (precision + recall), 5)
    return precision, recall, f
