"""The same inputs through this package and through peer libraries: largest difference, and seconds of each.

`make bench` runs it, on real data or else on the sample.
"""

import time

import krippendorff
import numpy as np
import pandas as pd
import sacrebleu
from rouge_score import rouge_scorer
from scipy import stats

import nlgjudge as nj


def rouge_score(items):
    """ROUGE-1 F against the first reference, by rouge-score."""
    scorer = rouge_scorer.RougeScorer(["rouge1"], use_stemmer=True)
    pairs = zip(items["references"], items["hypothesis"])
    return [scorer.score(texts[0], text)["rouge1"].fmeasure for texts, text in pairs]


def rouge(items):
    """The same, by this package."""
    found = nj.metrics.rouge(items)
    first = found.drop_duplicates("item_id").set_index("item_id")
    return first.loc[items["item_id"], "rouge1-f"]


def sentence_bleu(items):
    """BLEU against all references, by sacrebleu."""
    pairs = zip(items["hypothesis"], items["references"])
    return [sacrebleu.sentence_bleu(text, list(texts)).score / 100 for text, texts in pairs]


def bleu(items):
    """The same, by this package."""
    return nj.metrics.bleu(items).set_index("item_id").loc[items["item_id"], "score"]


def mean_of_documents(frame):
    """Kendall's tau within documents, averaged, by scipy."""
    found = [
        stats.kendalltau(part["score"], part["human"])[0]
        for _, part in frame.groupby("doc_id")
        if part["score"].nunique() > 1 and part["human"].nunique() > 1
    ]
    return [np.mean(found)]


def sample_level(frame):
    """The same, by this package."""
    return [nj.correlation(frame, "score", "human", coefficient="kendall").value]


def interval_alpha(ratings):
    """Krippendorff's alpha of interval ratings, by krippendorff."""
    wide = ratings.pivot(index="rater", columns="item_id", values="score")
    return [krippendorff.alpha(wide.to_numpy(), level_of_measurement="interval")]


def alpha(ratings):
    """The same, by this package."""
    return [nj.stats.alpha(ratings, metric="interval").value]


def main():
    """Print one line for each pair."""
    summaries = nj.load("summeval")
    items = summaries.items.head(320).assign(
        references=lambda frame: frame["references"].map(lambda texts: list(texts)[:1])
    )
    people = summaries.human().rename(columns={"coherence": "human"})
    frame = people.assign(score=people["fluency"])
    rng = np.random.default_rng(0)
    ratings = pd.DataFrame(
        [(item, rater, int(rng.integers(1, 6))) for item in range(1000) for rater in range(3)],
        columns=["item_id", "rater", "score"],
    )
    print(f"{summaries.name}, {summaries.source} data; {len(items)} items")
    print(f"{'what':28}{'largest difference':>20}{'ours, s':>10}{'theirs, s':>11}")
    for ours, theirs, data in (
        (rouge, rouge_score, items),
        (bleu, sentence_bleu, items),
        (sample_level, mean_of_documents, frame),
        (alpha, interval_alpha, ratings),
    ):
        start = time.perf_counter()
        mine = np.asarray(ours(data), dtype=float)
        middle = time.perf_counter()
        others = np.asarray(theirs(data), dtype=float)
        end = time.perf_counter()
        difference = np.abs(mine - others).max()
        print(
            f"{theirs.__name__:28}{difference:>20.1e}{middle - start:>10.2f}{end - middle:>11.2f}"
        )


if __name__ == "__main__":
    main()
