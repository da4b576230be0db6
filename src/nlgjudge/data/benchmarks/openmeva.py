"""OpenMEVA-ROC (Guan et al. 2021), as the ChatGPT study publishes it with metric scores."""

import json

from nlgjudge.data.benchmarks import benchmark


@benchmark(
    "openmeva", "endings of stories (OpenMEVA-ROC), mean overall ratings", expect=(200, 1000)
)
def read(files):
    """Read story openings with five continuations each, and all released scores."""
    items = []
    ratings = []
    scores = []
    for story in json.loads(files.read("openmeva.json")):
        doc_id = str(story["doc_id"])
        for system_id, output in story["gen"].items():
            item_id = f"{doc_id}/{system_id}"
            texts = (story["prompt"], output["text"], [story["reference"]], "")
            items.append((item_id, doc_id, system_id, *texts))
            for metric, score in output["score"].items():
                if metric == "human":
                    ratings.append((item_id, "overall", "mean", score))
                else:
                    metric = metric.replace("rougel", "rougeL")
                    scores.append((item_id, metric, "", score, "", "released_scores"))
    return items, ratings, scores
