"""Preferences between summaries by writers and by a model (Zhang et al. 2024)."""

import json

from nlgjudge.data.benchmarks import benchmark

COMPARISONS = 599
_PREFERENCE = {"True": 1.0, "False": 0.0, "Equally Good": 0.5}


@benchmark("news", "summaries by writers and by models, preferences between two")
def read(files):
    """Read comparisons of writers' summaries with text-davinci-002's.

    The rating of a writer's summary is the evaluator's preference for it over the model's
    summary of the same article: 1, 0, or 0.5 for equally good. The file's key says
    text-davinci-002, where G-Eval (section 4) writes text-davinci-003.
    """
    model = "text-davinci-002"
    items = {}
    ratings = []
    comparisons = json.loads(files.read("pairwise_evaluation_results.json"))
    if len(comparisons) != COMPARISONS:
        raise ValueError(f"news: expected {COMPARISONS} comparisons, got {len(comparisons)}")
    for row in comparisons:
        doc_id = row["article_id"]
        writer = f"writer-{row['writer_id']}"
        summaries = {writer: row["writer_summary"], model: row[f"{model}_summary"]}
        for system_id, text in summaries.items():
            item = (None, doc_id, system_id, row["article_text"], text, [], "")
            items.setdefault((doc_id, system_id), item)
        for aspect in ("overall", "informative"):
            preference = _PREFERENCE[str(row[f"{aspect}_writer_better"])]
            rating = (f"{aspect}_preference", row["evaluator_id"], preference)
            ratings.append((f"{doc_id}/{writer}", *rating))
    return items.values(), ratings, ()
