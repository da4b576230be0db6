"""ROUGE against each reference, and all lexical baselines at once.

The counting is rouge-score's (`nlgjudge.metrics.lcs`). Published ROUGE differs in stemmer,
sentence splitting, precision or recall or F, and in the use of several references; the papers
rarely say which, so the parts are separate.
"""

import re
from functools import cache
from itertools import product

import numpy as np
import pandas as pd

from nlgjudge.data.schema import LATIN_ONLY, loses_letters
from nlgjudge.metrics import cached, lcs
from nlgjudge.metrics.lcs import Sentences, Sequence
from nlgjudge.metrics.meteor_versions import meteor, meteor_missing
from nlgjudge.metrics.sentence_bleu import bleu
from nlgjudge.namespaces import optional

STEMMERS = ("none", "porter", "porter_original")
TOKENS = (*STEMMERS, "spaces")  # "spaces": the text split at blanks, as in the COCO caption metrics
# Sentence boundaries for ROUGE-L; "whole" is one sequence for the whole text.
SPLITS = {"whole": None, "period": r" \. ", "punctuation": r"(?<=[.!?]) +"}
AGGREGATIONS = ("first", "mean", "max")
COLUMNS = [f"rouge{kind}-{part}" for kind in "12L" for part in "prf"]


def rouge(items, *, stemmer="porter", split="punctuation", against="references", beta=1.0):
    """Score each hypothesis against each of its references.

    Parameters
    ----------
    items : pandas.DataFrame
        Columns `item_id, hypothesis, references` (and `source` where that is scored).
    stemmer : {"none", "porter", "porter_original", "spaces"}
        The last keeps case and punctuation and cuts at blanks alone.
    split : {"whole", "period", "punctuation"}
        Sentence boundaries for ROUGE-L; with `whole` it is the plain longest common
        subsequence.
    against : {"references", "source"}
    beta : float
        Weight of recall in F; the COCO caption metrics use 1.2.

    Returns
    -------
    pandas.DataFrame
        `item_id, reference` (position) and, in [0, 1], `rouge1-p, rouge1-r, rouge1-f,
        rouge2-…, rougeL-…`. NaN, but for the stemmer `spaces`, for an item with a text most of whose
        letters are not Latin. Cached by content below `data/cache/lexical/`.

    Raises
    ------
    ValueError
        For unknown options, or an item without references.

    Examples
    --------
    >>> import pandas as pd
    >>> import nlgjudge as nj
    >>> items = nj.load("summeval", "sample").items.head(3)
    >>> rouge(items).columns.tolist()[:5]
    ['item_id', 'reference', 'rouge1-p', 'rouge1-r', 'rouge1-f']
    >>> toy = pd.DataFrame({"item_id": ["i"], "hypothesis": ["The cat sat."], "references": [["A cat sat down."]]})
    >>> rouge(toy)[["rouge1-p", "rouge1-r", "rougeL-f"]].round(3).iloc[0].tolist()
    [0.667, 0.5, 0.571]
    """
    if stemmer not in TOKENS or split not in SPLITS or against not in ("references", "source"):
        raise ValueError(
            f"stemmer={stemmer!r}, split={split!r}, against={against!r}: expected "
            f"{TOKENS}, {tuple(SPLITS)}, ('references', 'source')"
        )
    texts = items["references"]
    if against == "source":
        texts = items["source"].map(lambda source: [source])

    def score(pairs):
        kinds = ("ngrams", split)
        return np.hstack(
            [cached.scores(_score, pairs, stemmer, kind, libraries=["nltk"]) for kind in kinds]
        )

    frame = per_reference(items, texts, score, latin_only=stemmer != "spaces")
    if beta != 1:
        for kind in "12L":
            precision = frame[f"rouge{kind}-p"]
            recall = frame[f"rouge{kind}-r"]
            weighted = (1 + beta**2) * precision * recall / (recall + beta**2 * precision)
            frame[f"rouge{kind}-f"] = weighted.fillna(0).where(precision.notna())
    return frame


def rouge_sets(items):
    """Score each hypothesis against each of its references as the package `rouge` counts.

    An n-gram counts once, however often a text has it; so do the words of ROUGE-L's common
    subsequences. Words are split at blanks, case and punctuation stay, sentences end at full stops.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, hypothesis, references`.

    Returns
    -------
    pandas.DataFrame
        As from `rouge`.

    Raises
    ------
    ValueError
        For an item without references.

    Examples
    --------
    >>> import pandas as pd
    >>> toy = pd.DataFrame({"item_id": ["i"], "hypothesis": ["the cat the"], "references": [["the cat"]]})
    >>> float(rouge_sets(toy).iloc[0]["rouge1-p"])
    1.0
    """

    def score(pairs):
        return cached.scores(_sets, pairs, libraries=("rouge",))

    return per_reference(items, items["references"], score, latin_only=False)


def per_reference(items, lists, score, *, latin_only=True):
    """Score each hypothesis against each text of its list.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, hypothesis`.
    lists : pandas.Series of list of str
        Texts of each item.
    score : callable
        Takes pairs of hypothesis and text and returns nine values for each, as in `COLUMNS`.
    latin_only : bool
        Whether it reads Latin letters and digits only.

    Returns
    -------
    pandas.DataFrame
        `item_id, reference` (position) and `COLUMNS`: NaN for an item most of whose letters are not read,
        in the hypothesis or a text of its list.

    Raises
    ------
    ValueError
        For an item without texts.
    """
    items = items[["item_id", "hypothesis"]].assign(references=lists)
    cached.refuse_bare(items)
    rows = items.assign(reference=lists.map(len).map(range))
    rows = rows.explode(["references", "reference"], ignore_index=True)
    pairs = list(zip(rows["hypothesis"], rows["references"]))
    scores = pd.DataFrame(score(pairs), columns=COLUMNS)
    if latin_only:
        scores[rows["item_id"].isin(_lost(items))] = np.nan
    return pd.concat([rows[["item_id", "reference"]].astype({"reference": int}), scores], axis=1)


def _lost(items):
    """Ids of items with a text most of whose letters ROUGE does not read."""
    texts = items["references"].map(list) + items["hypothesis"].map(lambda text: [text])
    return items.loc[texts.map(lambda texts: any(map(loses_letters, texts))), "item_id"]


def over_references(scores, aggregation):
    """Reduce per-reference scores to one row an item.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `rouge`.
    aggregation : {"first", "mean", "max"}

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


def lexical_baselines(items, aggregation="max"):
    """Score each hypothesis with ROUGE, BLEU and METEOR in their default variants.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, hypothesis, references`.
    aggregation : {"first", "mean", "max"}
        Of ROUGE over references; BLEU counts all of them together, METEOR takes the best.

    Returns
    -------
    pandas.DataFrame
        `item_id`, `rouge1-p` to `rougeL-f`, `bleu`, `meteor`, all in [0, 1]. Where METEOR
        cannot run, its column is NaN and `frame.attrs["missing"]["meteor"]` says what it
        needs. Where ROUGE is NaN, `frame.attrs["missing"]["rouge"]` says why.

    Raises
    ------
    ValueError
        For an unknown aggregation, or an item without references.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> items = nj.load("summeval", "sample").items.head(3)
    >>> frame = lexical_baselines(items)
    >>> len(frame), "bleu" in frame, "rougeL-f" in frame
    (3, True, True)
    """
    frame = over_references(rouge(items), aggregation)
    reason = meteor_missing()
    frame["bleu"] = bleu(items)["score"]
    frame["meteor"] = np.nan if reason else meteor(items)["score"]
    frame.attrs["missing"] = {"meteor": reason} if reason else {}
    lost = frame["rouge1-f"].isna().sum()
    if lost:
        why = f"{LATIN_ONLY}: it gives {lost} of {len(frame)} items no score"
        frame.attrs["missing"]["rouge"] = why
    return frame


def rouge_variants(items, *, stemmers=STEMMERS, splits=tuple(SPLITS), against=("references",)):
    """Yield every documented variant of ROUGE-1, 2 and L.

    The stemmer `spaces` comes with the F of beta 1.2 beside the plain one.

    Parameters
    ----------
    items : pandas.DataFrame
        As for `rouge`.
    stemmers, splits, against : sequence of str
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
    for target, stemmer, split in product(against, stemmers, splits):
        scores = rouge(items, stemmer=stemmer, split=split, against=target)
        if stemmer == "spaces":
            coco = rouge(items, stemmer=stemmer, split=split, against=target, beta=1.2)
            scores = scores.assign(
                **{f"rouge{kind}-f1.2": coco[f"rouge{kind}-f"] for kind in "12L"}
            )
        single = target == "source" or (items["references"].map(len) == 1).all()
        for aggregation in ("first",) if single else AGGREGATIONS:
            reduced = over_references(scores, aggregation)
            for column in reduced.columns[1:]:
                metric, part = column.split("-")
                if metric != "rougeL" and split != splits[0]:
                    continue  # n-grams do not see sentence boundaries
                label = [part]
                if target == "source":
                    label.append("source")
                if not single:
                    label.append(aggregation)
                label.append(stemmer)
                if metric == "rougeL":
                    label.append(split)
                found = reduced[["item_id", column]].set_axis(["item_id", "score"], axis=1)
                yield metric, ", ".join(label), found


def _score(pairs, stemmer, kind):
    """Rows of precision, recall and F: of ROUGE-1 and 2 for `ngrams`, else of ROUGE-L in a split."""
    tokenize = _tokenizer(stemmer)
    boundary = SPLITS.get(kind)
    count = lcs.ngrams if kind == "ngrams" else lcs.by_sentence if boundary else lcs.as_one

    @cache
    def prepared(text):
        if not boundary:
            return Sequence(tokenize(text))
        lines = re.sub(boundary, "\n", text).split("\n")
        return Sentences([Sequence(tokenize(line)) for line in lines])

    rows = [count(prepared(hypothesis), prepared(reference)) for hypothesis, reference in pairs]
    return np.array(rows).reshape(-1, 6 if kind == "ngrams" else 3)


def _tokenizer(stemmer):
    """Function from a text to its words.

    `porter_original` is the algorithm as published in 1980, which the Perl script ROUGE-1.5.5
    uses; `porter` is NLTK's extended form, rouge-score's default. Words of at most three characters
    are not stemmed.
    """
    if stemmer == "spaces":
        return str.split
    porter = optional("nltk.stem.porter", "metrics").PorterStemmer
    modes = {"porter": porter.NLTK_EXTENSIONS, "porter_original": porter.ORIGINAL_ALGORITHM}
    stem = cache(porter(modes[stemmer]).stem) if stemmer in modes else str

    def tokenize(text):
        words = re.findall(r"[a-z0-9]+", text.lower())
        return [stem(word) if len(word) > 3 else word for word in words]

    return tokenize


def _sets(pairs):
    """Rows of precision, recall and F of ROUGE-1, 2 and L, by the package `rouge`."""
    if not pairs:
        return np.empty((0, 9))
    found = optional("rouge", "metrics").Rouge().get_scores(*zip(*pairs))
    kinds = ("rouge-1", "rouge-2", "rouge-l")
    return np.array([[row[kind][part] for kind in kinds for part in "prf"] for row in found])
