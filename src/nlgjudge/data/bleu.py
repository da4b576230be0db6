"""Sentence BLEU in the ways that papers compute it without saying which.

sacrebleu and nltk do the counting. They differ in what becomes of an order of n-grams
without a match, which on short texts decides the score.
"""

import warnings

import pandas as pd

from nlgjudge.data import cached

# Name, library, smoothing, and its constant. An epsilon of 1e-15 is what the COCO caption
# metrics, and nlg-eval after them, add to counts: a missing order all but annihilates a score.
VARIANTS = {
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
        One of `VARIANTS`. nltk's take the texts cut at blanks, sacrebleu's its own tokens.

    Returns
    -------
    pandas.DataFrame
        `item_id, score` in [0, 1]. Cached by content below `data/cache/lexical/`.

    Raises
    ------
    ValueError
        For an unknown variant, or an item without references.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant={variant!r}: expected one of {', '.join(VARIANTS)}")
    if (items["references"].map(len) == 0).any():
        raise ValueError(f"{int((items['references'].map(len) == 0).sum())} items have no reference; leave "
                         "them out")
    texts = [(h, list(r)) for h, r in zip(items["hypothesis"], items["references"])]
    values = cached.scores(_score, texts, *VARIANTS[variant], libraries=VARIANTS[variant][:1])
    return pd.DataFrame({"item_id": items["item_id"].to_numpy(), "score": values})


def bleu_variants(items):
    """Yield ``"bleu4"``, the variant's name and its scores, as `rouge_variants` does."""
    for variant in VARIANTS:
        yield "bleu4", variant, bleu(items, variant)


def _score(texts, library, method, constant):
    score = _nltk(method, constant) if library == "nltk" else _sacrebleu(method)
    return [score(hypothesis, references) for hypothesis, references in texts]


def _nltk(method, epsilon):
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    smoothing = getattr(SmoothingFunction(**({"epsilon": epsilon} if epsilon else {})), method)

    def score(hypothesis, references):
        with warnings.catch_warnings():  # nltk warns of each order without a match
            warnings.simplefilter("ignore")
            return float(sentence_bleu([r.split() for r in references], hypothesis.split(),
                                       smoothing_function=smoothing))
    return score


def _sacrebleu(method):
    from sacrebleu.metrics import BLEU

    metric = BLEU(smooth_method=method, effective_order=True)  # as it advises for sentences
    return lambda hypothesis, references: metric.sentence_score(hypothesis, references).score / 100
