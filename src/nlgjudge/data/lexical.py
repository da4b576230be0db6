"""ROUGE against each reference, kept per reference so that every variant can be derived.

rouge-score does the counting. Published ROUGE differs in stemmer, sentence splitting,
precision or recall or F, and in what is done with several references; the papers rarely
say which, so the parts are kept apart.
"""

import hashlib
import json
import os
import re
from concurrent.futures import ProcessPoolExecutor
from functools import cache as cache_forever
from importlib.metadata import version

import numpy as np
import pandas as pd

from nlgjudge.data.paths import cache

STEMMERS = ("none", "porter", "porter_original")
TOKENS = (*STEMMERS, "spaces")  # "spaces": the text cut at blanks, as the COCO caption metrics take it
# How a text is cut into sentences for ROUGE-L; "whole" is one sequence for the whole text.
SPLITS = {"whole": None, "period": r" \. ", "punctuation": r"(?<=[.!?]) +"}
AGGREGATIONS = ("first", "mean", "max")
_PARALLEL_FROM = 4000


class _Tokenizer:
    """Lower-case alphanumeric runs, stemmed when longer than three characters.

    `porter_original` is the algorithm as published in 1980, which the Perl script
    ROUGE-1.5.5 uses; `porter` is NLTK's extended form, rouge-score's default.
    """

    def __init__(self, stemmer):
        from nltk.stem.porter import PorterStemmer

        modes = {"porter": PorterStemmer.NLTK_EXTENSIONS,
                 "porter_original": PorterStemmer.ORIGINAL_ALGORITHM}
        self._stem = PorterStemmer(modes[stemmer]).stem if stemmer in modes else None
        self._known = {}
        self._spaces = stemmer == "spaces"

    def tokenize(self, text):
        if self._spaces:
            return text.split()
        return [self._word(w) for w in re.findall(r"[a-z0-9]+", text.lower())]

    def _word(self, word):
        if self._stem is None or len(word) <= 3:
            return word
        if word not in self._known:
            self._known[word] = self._stem(word)
        return self._known[word]


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
        rouge2-…, rougeL-…`. Cached by content below `data/cache/lexical/`.

    Raises
    ------
    ValueError
        For unknown options, or an item without references.
    """
    if stemmer not in TOKENS or split not in SPLITS or against not in ("references", "source"):
        raise ValueError(f"stemmer={stemmer!r}, split={split!r}, against={against!r}: expected "
                         f"{TOKENS}, {tuple(SPLITS)}, ('references', 'source')")
    lists = items["references"] if against == "references" else items["source"].map(lambda s: [s])
    if (lists.map(len) == 0).any():
        raise ValueError(f"{int((lists.map(len) == 0).sum())} items have no reference; "
                         "score them against='source' or leave them out")
    keys = [(item_id, position) for item_id, texts in zip(items["item_id"], lists)
            for position in range(len(texts))]
    pairs = [(h, text) for h, texts in zip(items["hypothesis"], lists) for text in texts]
    names = [f"rouge{kind}-{part}" for kind in "12L" for part in "prf"]
    values = np.hstack([_cached(pairs, stemmer, kind) for kind in ("ngrams", split)])
    frame = pd.DataFrame(values, columns=names)
    if beta != 1:
        for kind in "12L":
            p, r = frame[f"rouge{kind}-p"], frame[f"rouge{kind}-r"]
            frame[f"rouge{kind}-f"] = ((1 + beta**2) * p * r / (r + beta**2 * p)).fillna(0)
    frame.insert(0, "reference", [k[1] for k in keys])
    frame.insert(0, "item_id", [k[0] for k in keys])
    return frame


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
    """
    if aggregation not in AGGREGATIONS:
        raise ValueError(f"aggregation={aggregation!r}: expected one of {AGGREGATIONS}")
    groups = scores.drop(columns="reference").groupby("item_id", sort=False)
    return getattr(groups, aggregation)().reset_index()


def rouge_variants(items, *, stemmers=STEMMERS, splits=tuple(SPLITS), against=("references",)):
    """Yield every documented variant of ROUGE-1, 2 and L.

    The stemmer `spaces` comes with the F of beta 1.2 beside the plain one.

    Yields
    ------
    metric : {"rouge1", "rouge2", "rougeL"}
    variant : str
        As ``f, mean, porter_original, period``: part, aggregation over references (where
        there are several), stemmer, and, for ROUGE-L, where sentences end.
    scores : pandas.DataFrame
        `item_id, score`.
    """
    for target in against:
        single = target == "source" or (items["references"].map(len) == 1).all()
        for stemmer in stemmers:
            for split in splits:
                scores = rouge(items, stemmer=stemmer, split=split, against=target)
                if stemmer == "spaces":
                    coco = rouge(items, stemmer=stemmer, split=split, against=target, beta=1.2)
                    scores = scores.assign(**{f"rouge{k}-f1.2": coco[f"rouge{k}-f"] for k in "12L"})
                for aggregation in ("first",) if single else AGGREGATIONS:
                    reduced = over_references(scores, aggregation)
                    for column in reduced.columns[1:]:
                        metric, part = column.split("-")
                        if metric != "rougeL" and split != splits[0]:
                            continue  # n-grams do not see sentence boundaries
                        label = [part, *["source"] * (target == "source"),
                                 *[aggregation] * (not single), stemmer,
                                 *[split] * (metric == "rougeL")]
                        yield metric, ", ".join(label), reduced[["item_id", column]].set_axis(
                            ["item_id", "score"], axis=1)


def _cached(pairs, stemmer, kind):
    key = json.dumps([pairs, stemmer, kind, version("rouge-score"), version("nltk"), 2])
    path = cache() / "lexical" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npy"
    try:
        values = np.load(path, allow_pickle=False)
        if len(values) == len(pairs):
            return values
    except (OSError, ValueError, EOFError):
        pass  # not there yet, or cut short: computed anew below
    values = _score_all(pairs, stemmer, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}-{os.getpid()}.npy")
    try:
        np.save(temporary, values)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return values


def _score_all(pairs, stemmer, kind):
    jobs = [(stemmer, kind, pairs[i:i + 250]) for i in range(0, len(pairs), 250)]
    if len(pairs) < _PARALLEL_FROM:
        return np.concatenate([_score_chunk(job) for job in jobs or [(stemmer, kind, [])]])
    with ProcessPoolExecutor(max_workers=min(os.cpu_count() or 1, 8)) as pool:
        return np.concatenate(list(pool.map(_score_chunk, jobs)))


def _score_chunk(job):
    stemmer, kind, pairs = job
    boundary = SPLITS.get(kind)
    metrics = ["rouge1", "rouge2"] if kind == "ngrams" else ["rougeLsum" if boundary else "rougeL"]
    scorer = _scorer(stemmer, *metrics)
    rows = []
    for hypothesis, reference in pairs:
        if boundary:
            hypothesis, reference = (re.sub(boundary, "\n", t) for t in (hypothesis, reference))
        found = scorer.score(reference, hypothesis)
        rows.append([value for metric in metrics for value in found[metric]])
    return np.array(rows).reshape(-1, 3 * len(metrics))


@cache_forever
def _scorer(stemmer, *metrics):
    from rouge_score import rouge_scorer

    return rouge_scorer.RougeScorer(list(metrics), tokenizer=_Tokenizer(stemmer))
