"""ROUGE against each reference, and all lexical baselines at once.

The counting is that of the package rouge-score. Published ROUGE differs in stemmer, sentence
splitting, precision or recall or F, and in the use of several references; the papers rarely say
which, so the parts are separate.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib.util import module_from_spec
from itertools import product
from types import SimpleNamespace
from typing import Literal

import numpy as np
import pandas as pd

from nlgjudge.data.schema import LATIN_ONLY, loses_letters
from nlgjudge.metrics import cached
from nlgjudge.metrics.meteor_versions import meteor, meteor_missing
from nlgjudge.metrics.sentence_bleu import bleu
from nlgjudge.namespaces import optional

STEMMERS = ("none", "porter", "porter_original")
TOKENS = (*STEMMERS, "spaces")  # "spaces": the text split at blanks, as in the COCO caption metrics
# Sentence boundaries for ROUGE-L; "whole" is one sequence for the whole text.
SPLITS = {"whole": None, "period": r" \. ", "punctuation": r"(?<=[.!?]) +"}
Aggregation = Literal["first", "mean", "max"]
AGGREGATIONS: tuple[Aggregation, ...] = ("first", "mean", "max")
COLUMNS = [f"rouge{kind}-{part}" for kind in "12L" for part in "prf"]


def rouge(
    items: pd.DataFrame,
    *,
    stemmer: str = "porter",
    split: str = "punctuation",
    beta: float = 1.0,
) -> pd.DataFrame:
    """Score each hypothesis against each of its references.

    Parameters
    ----------
    items
        Columns `item_id, hypothesis, references`.
    stemmer : {"none", "porter", "porter_original", "spaces"}
        The last keeps case and punctuation and cuts at blanks alone.
    split : {"whole", "period", "punctuation", "sets"}
        Sentence boundaries for ROUGE-L; `whole` is the plain longest common subsequence. `sets` counts as the
        package `rouge` does, whatever the stemmer: an n-gram counts once, however often a text has it, and so do the
        words of the common subsequences; words are cut at blanks, case and punctuation stay.
    beta
        Weight of recall in F; the COCO caption metrics use 1.2.

    Returns
    -------
    pandas.DataFrame
        `item_id, reference` (position) and, in [0, 1], `rouge1-p, rouge1-r, rouge1-f, rouge2-…,
        rougeL-…`. NaN, but for the stemmer `spaces`, for an item with a text most of whose letters
        are not Latin, and for `sets`. Cached by content below `data/cache/lexical/`.

    Raises
    ------
    ValueError
        For unknown options, or an item without references.

    Examples
    --------
    >>> import pandas as pd
    >>> toy = pd.DataFrame({"item_id": ["i"], "hypothesis": ["The cat sat."], "references": [["A cat sat down."]]})
    >>> rouge(toy)[["rouge1-p", "rouge1-r", "rougeL-f"]].round(3).iloc[0].tolist()
    [0.667, 0.5, 0.571]
    """
    if stemmer not in TOKENS or split not in (*SPLITS, "sets"):
        raise ValueError(
            f"stemmer={stemmer!r}, split={split!r}: expected {TOKENS} and {(*SPLITS, 'sets')}"
        )
    if split == "sets":
        count = partial(cached.scores, _sets, libraries=("rouge",))
        return per_reference(items, count, latin_only=False)

    def score(pairs):
        parts = [
            cached.scores(_score, pairs, stemmer, kind, libraries=("nltk", "rouge-score"))
            for kind in ("ngrams", split)
        ]
        return np.hstack(parts)

    frame = per_reference(items, score, latin_only=stemmer != "spaces")
    if beta != 1:
        for kind in "12L":
            precision = frame[f"rouge{kind}-p"]
            recall = frame[f"rouge{kind}-r"]
            weighted = (1 + beta**2) * precision * recall / (recall + beta**2 * precision)
            frame[f"rouge{kind}-f"] = weighted.fillna(0).where(precision.notna())
    return frame


def per_reference(items: pd.DataFrame, score: Callable, *, latin_only: bool = True) -> pd.DataFrame:
    """Score each hypothesis against each of its references.

    `score` takes pairs of hypothesis and reference and returns nine values for each, as in `COLUMNS`.
    With `latin_only`, an item with a text most of whose letters are not Latin gets NaN.
    """
    items = items[["item_id", "hypothesis", "references"]]
    cached.refuse_bare(items)
    rows = items.assign(reference=items["references"].map(len).map(range))
    rows = rows.explode(["references", "reference"], ignore_index=True)
    pairs = list(zip(rows["hypothesis"], rows["references"]))
    scores = pd.DataFrame(score(pairs), columns=COLUMNS)
    if latin_only:
        scores[rows["item_id"].isin(_not_latin(items))] = np.nan
    return pd.concat([rows[["item_id", "reference"]].astype({"reference": int}), scores], axis=1)


def _not_latin(items):
    """Ids of items with a text most of whose letters ROUGE does not read."""
    texts = items["references"].map(list) + items["hypothesis"].map(lambda text: [text])
    return items.loc[texts.map(lambda texts: any(map(loses_letters, texts))), "item_id"]


def over_references(scores: pd.DataFrame, aggregation: Aggregation) -> pd.DataFrame:
    """Reduce the scores of each reference, from `rouge`, to one row an item.

    Returns
    -------
    pandas.DataFrame
        `item_id` and the metric columns.

    Examples
    --------
    >>> import pandas as pd
    >>> toy = pd.DataFrame({"item_id": ["i"], "hypothesis": ["The cat sat."],
    ...                     "references": [["A dog ran.", "The cat sat."]]})
    >>> over_references(rouge(toy), "max")["rouge1-f"].tolist()
    [1.0]
    """
    if aggregation not in AGGREGATIONS:
        raise ValueError(f"aggregation={aggregation!r}: expected one of {AGGREGATIONS}")
    groups = scores.drop(columns="reference").groupby("item_id", sort=False)
    return getattr(groups, aggregation)().reset_index()


def lexical_baselines(items: pd.DataFrame) -> pd.DataFrame:
    """Score each hypothesis with ROUGE, BLEU and METEOR in their default variants.

    ROUGE and METEOR take the best reference; BLEU counts all of them together.

    Parameters
    ----------
    items
        `item_id, hypothesis, references`.

    Returns
    -------
    pandas.DataFrame
        `item_id`, `rouge1-p` to `rougeL-f`, `bleu`, `meteor`, all in [0, 1]. `attrs["missing"]` says
        why ROUGE is NaN for some items (`rouge`), or what METEOR needs (`meteor`).

    Raises
    ------
    ValueError
        For an item without references.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> frame = lexical_baselines(nj.load("summeval", "sample").items.head(3))
    >>> len(frame), "bleu" in frame, "rougeL-f" in frame
    (3, True, True)
    """
    frame = over_references(rouge(items), "max")
    reason = meteor_missing()
    frame["bleu"] = bleu(items)["score"]
    frame["meteor"] = np.nan if reason else meteor(items)["score"]
    frame.attrs["missing"] = {"meteor": reason} if reason else {}
    without_score = frame["rouge1-f"].isna().sum()
    if without_score:
        why = f"{LATIN_ONLY}: it gives {without_score} of {len(frame)} items no score"
        frame.attrs["missing"]["rouge"] = why
    return frame


def rouge_variants(
    items: pd.DataFrame,
    *,
    stemmers: Sequence[str] = STEMMERS,
    splits: Sequence[str] = tuple(SPLITS),
) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield every documented variant of ROUGE-1, 2 and L.

    The stemmer `spaces` comes with the F of beta 1.2 beside the plain one.

    Parameters
    ----------
    items
        As for `rouge`.
    stemmers, splits
        Which values of these options of `rouge` are tried.

    Yields
    ------
    metric : {"rouge1", "rouge2", "rougeL"}
    variant : str
        As ``f, mean, porter_original, period``: part, aggregation over references (where
        there are several), stemmer, and, for ROUGE-L, where sentences end.
    scores : pandas.DataFrame
        `item_id, score`.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> items = nj.load("summeval", "sample").items.head(3)
    >>> metric, variant, scores = next(rouge_variants(items, stemmers=["none"], splits=["whole"]))
    >>> metric, variant
    ('rouge1', 'p, first, none')
    """
    single = (items["references"].map(len) == 1).all()
    for stemmer, split in product(stemmers, splits):
        scores = rouge(items, stemmer=stemmer, split=split)
        if stemmer == "spaces":
            weighted = rouge(items, stemmer=stemmer, split=split, beta=1.2)
            for kind in "12L":
                scores[f"rouge{kind}-f1.2"] = weighted[f"rouge{kind}-f"]
        for aggregation in AGGREGATIONS[:1] if single else AGGREGATIONS:
            reduced = over_references(scores, aggregation)
            for column in reduced.columns[1:]:
                metric, part = column.split("-")
                if metric != "rougeL" and split != splits[0]:
                    continue  # n-grams do not see sentence boundaries
                label = [part] if single else [part, aggregation]
                label += [stemmer, split] if metric == "rougeL" else [stemmer]
                named = reduced[["item_id", column]].set_axis(["item_id", "score"], axis=1)
                yield metric, ", ".join(label), named


def _score(pairs, stemmer, kind):
    """Rows of precision, recall and F: of ROUGE-1 and 2 for `ngrams`, else of ROUGE-L in a split."""
    names = ["rouge1", "rouge2"]
    if kind != "ngrams":
        names = ["rougeL"]
    if SPLITS.get(kind):
        names = ["rougeLsum"]  # its sentences are lines
        pairs = [[re.sub(SPLITS[kind], "\n", text) for text in pair] for pair in pairs]
    score = scorer(names, _tokenizer(stemmer))
    rows = [score(reference, hypothesis) for hypothesis, reference in pairs]
    values = [[value for name in names for value in row[name]] for row in rows]
    return np.array(values).reshape(-1, 3 * len(names))


def scorer(names: list[str], tokenize: Callable) -> Callable:
    """Return rouge-score's function of a reference and a hypothesis; each text is tokenized once."""
    tokenizer = SimpleNamespace(tokenize=cache(tokenize))
    return _rouge_scorer().RougeScorer(names, tokenizer=tokenizer).score


@cache
def _rouge_scorer():
    """A copy of rouge-score's module with another table of common subsequences; other callers have the original."""
    spec = optional("rouge_score.rouge_scorer", "metrics").__spec__
    copied = module_from_spec(spec)
    spec.loader.exec_module(copied)
    copied._lcs_table = _lcs_table
    return copied


class _Row:
    """Lengths of the longest common subsequences of a text's first tokens and those of another one.

    `still` has a bit for each token of the other text at which the length does not grow.
    """

    def __init__(self, still, width):
        self.still = still
        self.width = width

    def __getitem__(self, end):
        end = end if end >= 0 else self.width
        return end - (self.still & (1 << end) - 1).bit_count()


def _lcs_table(reference, hypothesis):
    """Rows as rouge-score's table has them, a row in a few operations on integers (Hyyrö 2004)."""
    places = {}
    for place, token in enumerate(hypothesis):
        places[token] = places.get(token, 0) | 1 << place
    every = (1 << len(hypothesis)) - 1
    rows = [_Row(every, len(hypothesis))]
    for token in reference:
        still = rows[-1].still
        match = still & places.get(token, 0)
        rows.append(_Row((still + match | still - match) & every, len(hypothesis)))
    return rows


def stemmed(stem: Callable | None) -> Callable:
    """Return rouge-score's function from a text to its words; those of four letters on are stemmed."""
    words = optional("rouge_score.tokenize", "metrics").tokenize
    return partial(words, stemmer=stem and SimpleNamespace(stem=cache(stem)))


def _tokenizer(stemmer):
    """Function from a text to its words.

    `porter_original` is the algorithm as published in 1980, which the Perl script ROUGE-1.5.5
    uses; `porter` is NLTK's extended form, rouge-score's default.
    """
    if stemmer == "spaces":
        return str.split
    if stemmer == "none":
        return stemmed(None)
    porter = optional("nltk.stem.porter", "metrics").PorterStemmer
    modes = {"porter": porter.NLTK_EXTENSIONS, "porter_original": porter.ORIGINAL_ALGORITHM}
    return stemmed(porter(modes[stemmer]).stem)


def _sets(pairs):
    """Rows of precision, recall and F of ROUGE-1, 2 and L, by the package `rouge`."""
    if not pairs:
        return np.empty((0, 9))
    scores = optional("rouge", "metrics").Rouge().get_scores(*zip(*pairs))
    kinds = ("rouge-1", "rouge-2", "rouge-l")
    return np.array([[row[kind][part] for kind in kinds for part in "prf"] for row in scores])
