"""Sentence BLEU in the ways that papers compute it without saying which.

All count the same matches, sacrebleu in tokens of its own and the others in words cut at blanks, so that
the counting is done once here. What they make of an order of n-grams without a match, which on short texts
decides the score, is sacrebleu's and nltk's own code; the COCO caption metrics' is written out.
"""

import math
import warnings
from collections import Counter
from functools import cache

import pandas as pd

from nlgjudge.metrics import cached
from nlgjudge.metrics.lcs import overlap

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
    library, smoothing, constant = VARIANTS[variant]
    return _smoothed(items, _all_counts(items, library), library, smoothing, constant)


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
    counts = {}
    for variant, (library, smoothing, constant) in VARIANTS.items():
        cut = _cut(library)
        if cut not in counts:
            counts[cut] = _all_counts(items, library)
        yield "bleu4", variant, _smoothed(items, counts[cut], library, smoothing, constant)


def _cut(library):
    """How a library's variants take a text apart."""
    return "sacrebleu" if library == "sacrebleu" else "blanks"


def _all_counts(items, library):
    """Counts of every item, as a library's variants take them."""
    bare = int((items["references"].map(len) == 0).sum())
    if bare:
        raise ValueError(f"{bare} items have no reference; leave them out")
    texts = [
        (hypothesis, list(references))
        for hypothesis, references in zip(items["hypothesis"], items["references"])
    ]
    libraries = ["sacrebleu"] if library == "sacrebleu" else []
    return cached.scores(_counts, texts, _cut(library), libraries=libraries).astype(int).tolist()


def _smoothed(items, counts, library, smoothing, constant):
    """Scores of every item in a variant."""
    smooth = {"COCO": _coco, "nltk": _nltk, "sacrebleu": _sacrebleu}[library](smoothing, constant)
    values = [smooth(row[:4], row[4:8], row[8], row[9]) for row in counts]
    return pd.DataFrame({"item_id": items["item_id"].to_numpy(), "score": values})


def _counts(texts, tokens):
    """What all variants are formed from: matches and n-grams of each order, and both lengths.

    The reference's length is the one closest to the hypothesis's, of two the shorter.
    """
    tokenize = _sacrebleu_tokenizer() if tokens == "sacrebleu" else str.split

    @cache
    def cut(text):
        words = tokenize(text)
        return len(words), [_ngrams(words, order) for order in range(1, 5)]

    @cache
    def together(references):
        """Their lengths, and how often each n-gram stands in the one that has it most often."""
        lengths = []
        most = [{}, {}, {}, {}]
        for reference in references:
            length, counts = cut(reference)
            lengths.append(length)
            for known, grams in zip(most, counts):
                for gram, count in grams.items():
                    if count > known.get(gram, 0):
                        known[gram] = count
        return lengths, most

    rows = []
    for hypothesis, references in texts:
        size, own = cut(hypothesis)
        lengths, most = together(tuple(references))
        matches = [overlap(grams, known) for grams, known in zip(own, most)]
        guesses = [max(0, size - order) for order in range(4)]
        _, closest = min((abs(length - size), length) for length in lengths)
        rows.append([*matches, *guesses, size, closest])
    return rows


def _sacrebleu_tokenizer():
    from sacrebleu.metrics import BLEU

    tokenizer = BLEU(effective_order=True).tokenizer
    return lambda text: tokenizer(text.rstrip()).split()


def _nltk(method, epsilon):
    from nltk.translate.bleu_score import Fraction, SmoothingFunction, brevity_penalty

    functions = SmoothingFunction() if epsilon is None else SmoothingFunction(epsilon=epsilon)
    smoothing = getattr(functions, method)

    def score(matches, guesses, size, closest):
        """What `sentence_bleu` does behind its counting."""
        if not matches[0]:
            return 0.0
        precisions = [
            Fraction(found, max(1, total), _normalize=False)
            for found, total in zip(matches, guesses)
        ]
        with warnings.catch_warnings():  # nltk warns of each order without a match
            warnings.simplefilter("ignore")
            smoothed = smoothing(precisions, references=[], hypothesis=[], hyp_len=size)
        logs = [0.25 * math.log(precision) for precision in smoothed if precision > 0]
        return float(brevity_penalty(closest, size) * math.exp(math.fsum(logs)))

    return score


def _sacrebleu(method, _):
    from sacrebleu.metrics import BLEU

    def score(matches, guesses, size, closest):
        """Its score, but with the logarithms added one after the other on each version of Python.

        From 3.12 on, the built-in sum that sacrebleu uses rounds otherwise. A difference in the last bit decides
        which items tie, and with it the fifth digit of a rank correlation.
        """
        if not any(matches):
            return 0.0
        found = BLEU.compute_bleu(
            matches, guesses, size, closest, smooth_method=method, effective_order=True
        )  # as it advises for sentences
        logarithms = [
            math.log(precision) for precision, total in zip(found.precisions, found.totals) if total
        ]
        added = 0.0
        for logarithm in logarithms:
            added += logarithm
        return found.bp * math.exp(added / len(logarithms)) / 100

    return score


def _coco(*_, small=1e-9, tiny=1e-15):
    def score(matches, guesses, size, closest):
        """BLEU-4 of pycocoevalcap's `bleu_scorer.py`, with the length of the closest reference."""
        product = 1.0
        for found, total in zip(matches, guesses):
            product *= (found + tiny) / (total + small)
        ratio = (size + tiny) / (closest + small)
        brevity = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
        return brevity * product**0.25

    return score


def _ngrams(words, order):
    starts = range(len(words) - order + 1)
    return Counter(tuple(words[start : start + order]) for start in starts)
