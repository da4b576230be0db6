"""ROUGE as the Perl script ROUGE-1.5.5 gives it behind pyrouge (Lin 2004).

BARTScore's repository scores its summaries so, and two of the papers publish the values.
rouge-score follows the script except for these habits: text after a `<` is lost up to the
sentence's end, since pyrouge passes sentences as HTML; Porter's stemmer lets a word lose
several endings of its fourth step; precision and recall are rounded to five decimals, and F
is formed from the rounded values. The script's list of irregular words is not applied.
"""

import re
from functools import cache

import numpy as np

from nlgjudge.metrics import cached, lcs
from nlgjudge.metrics.lcs import Sentences, Sequence
from nlgjudge.metrics.lexical import per_reference
from nlgjudge.namespaces import optional

# Sentences end at a full stop between blanks, as BARTScore's scripts say, or at any token of dots.
ENDS = {"period": r" \. ", "dots": r" \.+ "}
_FOURTH_STEP = "al ance ence er ic able ible ant ement ou ism ate iti ous ive ize".split()  # noqa: SIM905


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
    if ends not in ENDS:
        raise ValueError(f"ends={ends!r}: expected one of {tuple(ENDS)}")

    def score(pairs):
        return cached.scores(_score, pairs, ends, libraries=("nltk",))

    return per_reference(items, items["references"], score)


def _score(pairs, ends):
    stem = cache(_stemmer().stem)

    def words(text):
        found = re.findall(r"[a-z0-9]+", text.lower())
        return Sequence([stem(word) if len(word) > 3 else word for word in found])

    @cache
    def prepared(text):
        """The whole text and its sentences, each without what the script takes for a tag."""
        lines = [sentence.partition("<")[0] for sentence in re.split(ENDS[ends], text)]
        whole = "\n".join(lines)
        return words(whole), Sentences([words(line) for line in whole.split("\n")])

    rows = []
    for hypothesis, reference in pairs:
        mine, my_sentences = prepared(hypothesis)
        theirs, their_sentences = prepared(reference)
        found = [*lcs.ngrams(mine, theirs), *lcs.by_sentence(my_sentences, their_sentences)]
        rows.append([value for place in (0, 3, 6) for value in _rounded(*found[place : place + 2])])
    return np.array(rows).reshape(-1, 9)


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
