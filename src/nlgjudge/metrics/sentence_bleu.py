"""Sentence BLEU in the ways that papers compute it without saying which.

sacrebleu and nltk do the counting, and the COCO caption metrics' BLEU is written out here. They
differ in what becomes of an order of n-grams without a match, which on short texts decides the score.
"""

import math
import warnings
from collections import Counter

import pandas as pd

from nlgjudge.metrics import cached

# Name, library, smoothing, and its constant. The COCO caption metrics, and nlg-eval after them, add
# 1e-15 to the matches of each order: a missing order all but annihilates a score. nltk's epsilon of that
# size does the same to texts of four words and more; in shorter ones COCO also divides by 1e-9 and not 0.
VARIANTS = {
    "COCO": ("COCO", None, None),
    "nltk, tiny epsilon": ("nltk", "method1", 1e-15),
    "nltk, epsilon 0.1": ("nltk", "method1", 0.1),
    "nltk, add one": ("nltk", "method2", None),
    "nltk, NIST": ("nltk", "method3", None),
    "nltk, length": ("nltk", "method4", None),
    "nltk, none": ("nltk", "method0", None),
    "sacrebleu, exp": ("sacrebleu", "exp", None),
    "sacrebleu, floor": ("sacrebleu", "floor", None),
    "sacrebleu, add-k": ("sacrebleu", "add-k", None),
}


def bleu(items, variant="sacrebleu, exp"):
    """Sentence BLEU-4 of each hypothesis against all its references.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, hypothesis, references`.
    variant : str
        One of `VARIANTS`. nltk's and COCO's take the texts cut at blanks, sacrebleu's its own tokens.

    Returns
    -------
    pandas.DataFrame
        `item_id, score` in [0, 1]. Cached by content below `data/cache/lexical/`.

    Raises
    ------
    ValueError
        For an unknown variant, or an item without references.

    Examples
    --------
    >>> import pandas as pd
    >>> toy = pd.DataFrame({"item_id": ["i"], "hypothesis": ["the cat sat on the mat"],
    ...                     "references": [["the cat sat on a mat"]]})
    >>> bleu(toy).round(3)
      item_id  score
    0       i  0.537
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant={variant!r}: expected one of {', '.join(VARIANTS)}")
    bare = int((items["references"].map(len) == 0).sum())
    if bare:
        raise ValueError(f"{bare} items have no reference; leave them out")
    texts = [(hypothesis, list(references))
             for hypothesis, references in zip(items["hypothesis"], items["references"])]
    library, smoothing, constant = VARIANTS[variant]
    libraries = () if library == "COCO" else (library,)
    values = cached.scores(_score, texts, library, smoothing, constant, libraries=libraries)
    return pd.DataFrame({"item_id": items["item_id"].to_numpy(), "score": values})


def bleu_variants(items):
    """Yield ``"bleu4"``, the variant's name and its scores, as `rouge_variants` does.

    Parameters
    ----------
    items : pandas.DataFrame
        As for `bleu`.

    Examples
    --------
    >>> import pandas as pd
    >>> toy = pd.DataFrame({"item_id": ["i"], "hypothesis": ["the cat sat"], "references": [["the cat lay"]]})
    >>> [variant for _, variant, _ in bleu_variants(toy)][:2]
    ['COCO', 'nltk, tiny epsilon']
    """
    for variant in VARIANTS:
        yield "bleu4", variant, bleu(items, variant)


def _score(texts, library, method, constant):
    if library == "COCO":
        score = _coco
    elif library == "nltk":
        score = _nltk(method, constant)
    else:
        score = _sacrebleu(method)
    return [score(hypothesis, references) for hypothesis, references in texts]


def _nltk(method, epsilon):
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    functions = SmoothingFunction() if epsilon is None else SmoothingFunction(epsilon=epsilon)
    smoothing = getattr(functions, method)

    def score(hypothesis, references):
        words = hypothesis.split()
        others = [reference.split() for reference in references]
        with warnings.catch_warnings():  # nltk warns of each order without a match
            warnings.simplefilter("ignore")
            return float(sentence_bleu(others, words, smoothing_function=smoothing))
    return score


def _sacrebleu(method):
    from sacrebleu.metrics import BLEU

    metric = BLEU(smooth_method=method, effective_order=True)  # as it advises for sentences

    def score(hypothesis, references):
        return metric.sentence_score(hypothesis, references).score / 100
    return score


def _coco(hypothesis, references, *, small=1e-9, tiny=1e-15):
    """BLEU-4 of pycocoevalcap's `bleu_scorer.py`, with the length of the closest reference."""
    words = hypothesis.split()
    others = [reference.split() for reference in references]
    product = 1.0
    for order in range(1, 5):
        most = Counter()
        for other in others:
            most |= _ngrams(other, order)
        matches = (_ngrams(words, order) & most).total()
        guesses = max(0, len(words) - order + 1)
        product *= (matches + tiny) / (guesses + small)
    _, closest = min((abs(len(other) - len(words)), len(other)) for other in others)
    ratio = (len(words) + tiny) / (closest + small)
    brevity = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
    return brevity * product ** 0.25


def _ngrams(words, order):
    starts = range(len(words) - order + 1)
    return Counter(tuple(words[start:start + order]) for start in starts)
