"""Sentence BLEU in the ways that papers compute it without saying which.

All count the same matches, sacrebleu in its own tokens and the others in words split at blanks, so that
the counting is done once here. How an order of n-grams without a match is smoothed decides the score of
short texts; that is sacrebleu's and nltk's own code, and the COCO caption metrics' is written out.
"""

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd

from nlgjudge.metrics import cached
from nlgjudge.namespaces import optional

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


def bleu(items: pd.DataFrame, variant: str = "sacrebleu, exp") -> pd.DataFrame:
    """Sentence BLEU-4 of each hypothesis against all its references.

    Parameters
    ----------
    items
        `item_id, hypothesis, references`.
    variant
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
    return _smoothed(items, _all_counts(items, VARIANTS[variant][0]), *VARIANTS[variant])


def bleu_variants(items: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield ``"bleu4"``, the variant's name and its scores, as `rouge_variants` does."""
    for variant in VARIANTS:
        yield "bleu4", variant, bleu(items, variant)


def _all_counts(items, library):
    """Counts of every item, in a library's tokens."""
    cached.refuse_bare(items)
    texts = list(zip(items["hypothesis"], items["references"].map(tuple)))
    libraries, split = [], "blanks"
    if library == "sacrebleu":
        libraries, split = ["sacrebleu"], "sacrebleu"
    return cached.scores(_counts, texts, split, libraries=libraries).astype(int).tolist()


def _smoothed(items, counts, library, smoothing, constant):
    """Scores of every item in a variant."""
    smooth = {"COCO": _coco, "nltk": _nltk, "sacrebleu": _sacrebleu}[library](smoothing, constant)
    values = [smooth(row[:4], row[4:8], row[8], row[9]) for row in counts]
    return pd.DataFrame({"item_id": items["item_id"].to_numpy(), "score": values})


def _counts(texts, split):
    """What all variants are formed from: matches and n-grams of each order, and both lengths.

    The reference's length is the one closest to the hypothesis's, of two the shorter.
    """
    tokenize = _sacrebleu_tokenizer() if split == "sacrebleu" else str.split

    @cache
    def counted(text):
        words = tokenize(text)
        starts = [words[order:] for order in range(4)]
        return len(words), [Counter(zip(*starts[: order + 1])) for order in range(4)]

    @cache
    def together(references):
        """Their lengths, and for each n-gram its count in the reference that has it most often."""
        most = [Counter() for _ in range(4)]
        for reference in references:
            most = [counts | grams for counts, grams in zip(most, counted(reference)[1])]
        return [counted(reference)[0] for reference in references], most

    rows = []
    for hypothesis, references in texts:
        size, own = counted(hypothesis)
        lengths, most = together(references)
        matches = [(grams & counts).total() for grams, counts in zip(own, most)]
        guesses = [max(0, size - order) for order in range(4)]
        _, closest = min((abs(length - size), length) for length in lengths)
        rows.append([*matches, *guesses, size, closest])
    return np.array(rows).reshape(-1, 10)


def _sacrebleu_tokenizer():
    tokenizer = optional("sacrebleu.metrics", "metrics").BLEU(effective_order=True).tokenizer
    return lambda text: tokenizer(text.rstrip()).split()


def _nltk(method, epsilon):
    nltk = optional("nltk.translate.bleu_score", "metrics")
    options = {} if epsilon is None else {"epsilon": epsilon}
    smoothing = getattr(nltk.SmoothingFunction(**options), method)

    def score(matches, guesses, size, closest):
        """What `sentence_bleu` does behind its counting."""
        if not matches[0]:
            return 0.0
        precisions = [
            nltk.Fraction(count, max(1, total), _normalize=False)
            for count, total in zip(matches, guesses)
        ]
        with warnings.catch_warnings():  # nltk warns of each order without a match
            warnings.simplefilter("ignore")
            smoothed = smoothing(precisions, references=[], hypothesis=[], hyp_len=size)
        logs = [0.25 * math.log(precision) for precision in smoothed if precision > 0]
        return float(nltk.brevity_penalty(closest, size) * math.exp(math.fsum(logs)))

    return score


def _sacrebleu(method, _):
    compute = optional("sacrebleu.metrics", "metrics").BLEU.compute_bleu

    def sentence_score(matches, guesses, size, closest):
        """Its score, with the logarithms added one after the other.

        From Python 3.12 on, the built-in sum that sacrebleu uses rounds differently. The last bit decides which
        items tie, and with it the fifth digit of a rank correlation.
        """
        if not any(matches):
            return 0.0
        # With an effective order, as it advises for sentences.
        score = compute(matches, guesses, size, closest, smooth_method=method, effective_order=True)
        logarithms = [
            math.log(precision) for precision, total in zip(score.precisions, score.totals) if total
        ]
        added = 0.0
        for logarithm in logarithms:
            added += logarithm
        return score.bp * math.exp(added / len(logarithms)) / 100

    return sentence_score


def _coco(*_):
    def score(matches, guesses, size, closest):
        """BLEU-4 of pycocoevalcap's `bleu_scorer.py`, with the length of the closest reference."""
        product = 1.0
        for count, total in zip(matches, guesses):
            product *= (count + 1e-15) / (total + 1e-9)
        ratio = (size + 1e-15) / (closest + 1e-9)
        brevity = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
        return brevity * product**0.25

    return score
