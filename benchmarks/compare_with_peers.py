"""The same inputs through this package and through peer libraries: largest difference, and seconds of each.

`make bench` runs it, on real data or else on the sample.
"""

import time

import numpy as np
import sacrebleu
from scipy import stats

import nlgjudge as nj


def sentence_bleu(items):
    """BLEU against all references, by sacrebleu."""
    pairs = zip(items["hypothesis"], items["references"])
    return [sacrebleu.sentence_bleu(text, list(texts)).score / 100 for text, texts in pairs]


def bleu(items):
    """The same, by this package."""
    return nj.metrics.bleu(items).set_index("item_id").loc[items["item_id"], "score"]


def mean_of_documents(frame):
    """Kendall's tau within documents, averaged, by scipy."""
    coefficients = [
        stats.kendalltau(part["score"], part["human"])[0]
        for _, part in frame.groupby("doc_id")
        if part["score"].nunique() > 1 and part["human"].nunique() > 1
    ]
    return [np.mean(coefficients)]


def sample_level(frame):
    """The same, by this package."""
    return [nj.correlation(frame, "score", "human", coefficient="kendall").value]


def main():
    """Print one line for each pair."""
    summaries = nj.load("summeval")
    items = summaries.items.head(320).assign(
        references=lambda frame: frame["references"].map(lambda texts: list(texts)[:1])
    )
    people = summaries.human().rename(columns={"coherence": "human"})
    frame = people.assign(score=people["fluency"])
    print(f"{summaries.name}, {summaries.source} data; {len(items)} items")
    print(f"{'what':28}{'largest difference':>20}{'ours, s':>10}{'theirs, s':>11}")
    for ours, theirs, data in (
        (bleu, sentence_bleu, items),
        (sample_level, mean_of_documents, frame),
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
