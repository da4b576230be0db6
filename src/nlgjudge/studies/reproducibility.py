"""ROUGE as a library gives it by default, for the notebook `reproducibility`.

The default is rouge-score's: F, no stemmer, no sentence boundaries; of several references the one with the
highest F (`RougeScorer(types).score_multi`).
"""

import pandas as pd

from nlgjudge.metrics.lexical import over_references, rouge
from nlgjudge.stats.correlations import correlation_table

ROWS = {"rouge1-f": "ROUGE-1", "rouge2-f": "ROUGE-2", "rougeL-f": "ROUGE-L"}
DATASETS = [
    "summeval",
    "newsroom",
    "realsumm",
    "bagel",
    "openmeva",
    "topical_chat",
    "qags_cnn",
    "qags_xsum",
]


def default_rouge(benchmark):
    """Correlate ROUGE by rouge-score's default with a benchmark's ratings.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark

    Returns
    -------
    pandas.DataFrame
        `row, dataset, aspect, level, coefficient, ours`, at both levels, or at dataset level alone where there is
        one system; over all items, with constant groups skipped.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> found = default_rouge(nj.load("summeval", "sample"))
    >>> found["row"].unique().tolist(), found["level"].unique().tolist()
    (['ROUGE-1', 'ROUGE-2', 'ROUGE-L'], ['sample', 'dataset'])
    """
    by_reference = rouge(benchmark.items, stemmer="none", split="whole")
    scores = over_references(by_reference, "max")[["item_id", *ROWS]].rename(columns=ROWS)
    levels = ("sample", "dataset") if benchmark.items["system_id"].nunique() > 1 else ("dataset",)
    found = correlation_table(
        benchmark.with_scores(scores),
        list(ROWS.values()),
        benchmark.aspects,
        levels=levels,
        dataset=benchmark.name,
    )
    found = found.rename(columns={"metric": "row"})
    return pd.DataFrame(found[["row", "dataset", "aspect", "level", "coefficient", "ours"]])
