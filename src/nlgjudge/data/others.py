"""Readers for OpenMEVA-ROC, Topical-Chat, the news preferences and SummEval's crowd.

The files come from the ChatGPT study, UniEval (Zhong et al. 2022), Zhang et al. 2024 and
Shen et al. 2023; each is JSON.
"""

import json

from nlgjudge.data import fetch
from nlgjudge.data.optional import Optional, numbers
from nlgjudge.data.registry import entries
from nlgjudge.data.schema import build

_PREFERENCE = {"True": 1.0, "False": 0.0, "Equally Good": 0.5}
_TOPICAL_CHAT = ("understandability", "naturalness", "coherence", "engagingness", "groundedness", "overall")


def _json(entry, files):
    files[entry.path] = entry.blob
    return json.loads(fetch.read(entry))


def read_openmeva(name):
    """Read 200 story openings with five continuations each, and all released scores."""
    files, items, ratings, scores = {}, [], [], []
    for story in _json(entries(name, role="data")[0], files):
        doc_id = str(story["doc_id"])
        for system_id, output in story["gen"].items():
            key = f"{doc_id}/{system_id}"
            items.append((key, doc_id, system_id, story["prompt"], output["text"], [story["reference"]], ""))
            for metric, score in output["score"].items():
                if metric == "human":
                    ratings.append((key, "overall", "mean", score))
                else:
                    scores.append((key, metric.replace("rougel", "rougeL"), "", score, "", "released_scores"))
    return build(name, items, ratings, scores, files=files, expect=(200, 1000))


def read_topical_chat(name):
    """Read 60 dialogues with six responses each; the original response is the reference."""
    files = {}
    rows = _json(entries(name, role="data")[0], files)
    dialogues = {}
    for row in rows:
        dialogues.setdefault((row["source"], row["context"]), []).append(row)
    items, ratings, keys = [], [], {}
    for number, ((source, context), responses) in enumerate(dialogues.items()):
        doc_id = f"dialogue{number:02d}"
        reference = [r["system_output"] for r in responses if r["system_id"] == "Original Ground Truth"]
        for row in responses:
            key = keys[source, context, row["system_id"]] = f"{doc_id}/{row['system_id']}"
            items.append((key, doc_id, row["system_id"], source, row["system_output"], reference, context))
            ratings += [(key, a, "mean", float(row["scores"][a])) for a in _TOPICAL_CHAT]
    optional = Optional(name)
    scores = _unieval(optional, lambda row: keys[row["source"], row["context"], row["system_id"]])
    return build(name, items, ratings, scores, files=files | optional.files, left_out=optional.left_out,
                 expect=(60, 360))


def read_with_unieval(name):
    """Read SummEval or QAGS from BARTScore's files and add UniEval's released predictions."""
    from nlgjudge.data import bartscore

    found = bartscore.read(name)
    known = set(found.items["item_id"])
    optional = Optional(name)
    added = _unieval(optional, lambda row: _known_key(f"{row['doc_id']}/{row['system_id']}", known))
    return build(name, found.items.itertuples(index=False), found.ratings.itertuples(index=False),
                 [*found.scores.itertuples(index=False), *added], files=found.files | optional.files,
                 left_out=found.left_out | optional.left_out)


def _known_key(key, known):
    if key not in known:
        raise KeyError(f"no item {key}")
    return key


def _unieval(optional, key):
    """UniEval's released predictions, which a benchmark can do without."""
    def rows(content):
        predicted = {}
        for row in json.loads(content):
            for aspect, score in row["predict_scores"].items():
                predicted[key(row), aspect] = (key(row), "unieval", aspect, score, "", "released_scores")
        return numbers(entry, predicted.values())

    entry = entries(optional.name, path="_result.json")[0]
    return optional.read(entry, rows)


def read_news(name):
    """Read 599 comparisons of writers' summaries with text-davinci-002's.

    The rating of a writer's summary is the evaluator's preference for it over the model's
    summary of the same article: 1, 0, or 0.5 for equally good. The file's key says
    text-davinci-002, where G-Eval (section 4) writes text-davinci-003.
    """
    files, items, ratings = {}, {}, []
    for row in _json(entries(name, role="data")[0], files):
        doc_id = row["article_id"]
        for system_id, text in ((f"writer-{row['writer_id']}", row["writer_summary"]),
                                ("text-davinci-002", row["text-davinci-002_summary"])):
            item = (None, doc_id, system_id, row["article_text"], text, [], "")
            if items.setdefault((doc_id, system_id), item) != item:
                raise ValueError(f"{name}: expected one article and one text per item, got two for "
                                 f"{doc_id}/{system_id}; check the file")
        key = f"{doc_id}/writer-{row['writer_id']}"
        for aspect in ("overall", "informative"):
            ratings.append((key, f"{aspect}_preference", row["evaluator_id"],
                            _PREFERENCE[str(row[f"{aspect}_writer_better"])]))
    if len(ratings) != 2 * 599:
        raise ValueError(f"{name}: expected 599 comparisons, got {len(ratings) // 2}")
    return build(name, items.values(), ratings, files=files)


def read_summeval_crowd(name):
    """Read SummEval's five crowd workers a summary, on the 12 systems that were published."""
    files, items, ratings = {}, [], []
    for entry in entries("summeval", path="_outputs_annotations.jsonl"):
        system_id = entry.path.split("/")[-1].split("_")[0]
        files[entry.path] = entry.blob
        for line in fetch.read(entry).splitlines():
            row = json.loads(line)
            key = f"{row['id']}/{system_id}"
            items.append((key, row["id"], system_id, row["text"], row["decoded"], row["references"], ""))
            ratings += [(key, aspect, f"crowd_{number}", score)
                        for number, worker in enumerate(row["turker_annotations"], 1)
                        for aspect, score in worker.items()]
    return build(name, items, ratings, files=files, expect=(100, 1200))
