"""Readers for OpenMEVA-ROC, Topical-Chat and its raters, the news preferences and SummEval's crowd.

The files come from the ChatGPT study, UniEval (Zhong et al. 2022), Nedelchev et al. 2021, Zhang et al.
2024, Shen et al. 2023 and Deutsch et al. 2021; each is JSON.
"""

import json

from nlgjudge.data import fetch
from nlgjudge.data.optional import finite_scores, read_optional
from nlgjudge.data.registry import entries
from nlgjudge.data.schema import build

_PREFERENCE = {"True": 1.0, "False": 0.0, "Equally Good": 0.5}
# USR's names of the aspects, and UniEval's.
_USR = {
    "Understandable": "understandability",
    "Natural": "naturalness",
    "Maintains Context": "coherence",
    "Engaging": "engagingness",
    "Uses Knowledge": "groundedness",
    "Overall": "overall",
}


def _json(entry, files):
    """Content of a JSON file, which is added to the files read."""
    files[entry.path] = entry.blob
    return json.loads(fetch.read(entry))


def read_openmeva(name):
    """Read 200 story openings with five continuations each, and all released scores."""
    files = {}
    items = []
    ratings = []
    scores = []
    for story in _json(entries(name, role="data")[0], files):
        doc_id = str(story["doc_id"])
        for system_id, output in story["gen"].items():
            key = f"{doc_id}/{system_id}"
            texts = (story["prompt"], output["text"], [story["reference"]], "")
            items.append((key, doc_id, system_id, *texts))
            for metric, score in output["score"].items():
                if metric == "human":
                    ratings.append((key, "overall", "mean", score))
                else:
                    metric = metric.replace("rougel", "rougeL")
                    scores.append((key, metric, "", score, "", "released_scores"))
    return build(name, items, ratings, scores, files=files, expect=(200, 1000))


def read_topical_chat(name):
    """Read 60 dialogues with six responses each; the original response is the reference."""
    files = {}
    dialogues = {}
    for row in _json(entries(name, role="data")[0], files):
        dialogues.setdefault((row["source"], row["context"]), []).append(row)
    items = []
    ratings = []
    keys = {}
    for number, ((source, context), responses) in enumerate(dialogues.items()):
        doc_id = f"dialogue{number:02d}"
        texts = {row["system_id"]: row["system_output"] for row in responses}
        reference = [texts["Original Ground Truth"]]
        for row in responses:
            system_id = row["system_id"]
            key = f"{doc_id}/{system_id}"
            keys[source, context, system_id] = key
            items.append((key, doc_id, system_id, source, row["system_output"], reference, context))
            for aspect in _USR.values():
                ratings.append((key, aspect, "mean", float(row["scores"][aspect])))
    left_out = {}

    def key(row):
        return keys[row["source"], row["context"], row["system_id"]]

    scores = _unieval(name, key, files, left_out)
    return build(name, items, ratings, scores, files=files, left_out=left_out, expect=(60, 360))


def read_topical_chat_raters(name):
    """Read each rater's scores of the 360 responses: three of five people rated a dialogue.

    Dialogues are known by their text, fact and system, and a rater by the name in the file, because the three are
    not the same people everywhere. Their mean is UniEval's, or the file is refused.
    """
    chats = read_topical_chat("topical_chat")
    files = dict(chats.files)
    keys = {
        (item.source, item.context, item.system_id): item.item_id
        for item in chats.items.itertuples()
    }
    ratings = []
    for dialogue in _json(entries("topical_chat", path="usr_topical_chat.json")[0], files):
        raters = [f"rater_{initials}" for initials in dialogue["annotators"]]
        for response in dialogue["responses"]:
            item_id = keys[dialogue["context"], dialogue["fact"], response["model"]]
            for theirs, aspect in _USR.items():
                for rater, score in zip(raters, response[theirs], strict=True):
                    ratings.append((item_id, aspect, rater, float(score)))
    found = build(name, chats.items.itertuples(index=False), ratings, files=files, expect=(60, 360))
    apart = (found.human()[chats.aspects] - chats.human()[chats.aspects]).abs().max(skipna=False)
    if not (apart <= 1e-6).all():
        raise ValueError(
            f"{name}: expected raters whose mean is the published one, got means up to "
            f"{apart.max():.3g} away, or ratings that are missing; check the file"
        )
    return found


def read_with_unieval(name):
    """Read SummEval or QAGS from BARTScore's files and add UniEval's released predictions."""
    from nlgjudge.data import bartscore

    def predictions(known, files, left_out):
        def key(row):
            found = f"{row['doc_id']}/{row['system_id']}"
            if found not in known:
                raise KeyError(f"no item {found}")
            return found

        return _unieval(name, key, files, left_out)

    return bartscore.read(name, predictions)


def _unieval(name, key, files, left_out):
    """UniEval's released predictions (optional); `key` gives the item of a row."""
    entry = entries(name, path="_result.json")[0]

    def rows(content):
        predicted = {}
        for row in json.loads(content):
            item_id = key(row)
            for aspect, score in row["predict_scores"].items():
                values = (item_id, "unieval", aspect, score, "", "released_scores")
                predicted[item_id, aspect] = values
        return finite_scores(entry, predicted.values())

    return read_optional(entry, rows, files, left_out)


def read_news(name):
    """Read 599 comparisons of writers' summaries with text-davinci-002's.

    The rating of a writer's summary is the evaluator's preference for it over the model's
    summary of the same article: 1, 0, or 0.5 for equally good. The file's key says
    text-davinci-002, where G-Eval (section 4) writes text-davinci-003.
    """
    files = {}
    items = {}
    ratings = []
    for row in _json(entries(name, role="data")[0], files):
        doc_id = row["article_id"]
        writer = f"writer-{row['writer_id']}"
        model = "text-davinci-002"
        summaries = {writer: row["writer_summary"], model: row[f"{model}_summary"]}
        for system_id, text in summaries.items():
            item = (None, doc_id, system_id, row["article_text"], text, [], "")
            items.setdefault((doc_id, system_id), item)
        for aspect in ("overall", "informative"):
            preference = _PREFERENCE[str(row[f"{aspect}_writer_better"])]
            ratings.append(
                (f"{doc_id}/{writer}", f"{aspect}_preference", row["evaluator_id"], preference)
            )
    if len(ratings) != 2 * 599:
        raise ValueError(f"{name}: expected 599 comparisons, got {len(ratings) // 2}")
    return build(name, items.values(), ratings, files=files)


def read_summeval_crowd(name):
    """Read SummEval's five crowd workers a summary, on the 12 systems that were published."""
    files = {}
    items = []
    ratings = []
    for entry in entries("summeval", path="_outputs_annotations.jsonl"):
        system_id = entry.path.split("/")[-1].split("_")[0]
        files[entry.path] = entry.blob
        for line in fetch.read(entry).splitlines():
            row = json.loads(line)
            key = f"{row['id']}/{system_id}"
            items.append(
                (key, row["id"], system_id, row["text"], row["decoded"], row["references"], "")
            )
            for number, worker in enumerate(row["turker_annotations"], 1):
                for aspect, score in worker.items():
                    ratings.append((key, aspect, f"crowd_{number}", score))
    return build(name, items, ratings, files=files, expect=(100, 1200))


def read_summeval_crowd_all(name):
    """Read SummEval's five crowd workers a summary, on all 16 systems, as Deutsch et al. 2021 publish them."""
    from nlgjudge.data import bartscore

    summaries = bartscore.read("summeval")
    files = dict(summaries.files)
    entry = entries("summeval", path="fabbri2020/relevance.jsonl")[0]
    files[entry.path] = entry.blob
    ratings = []
    for line in fetch.read(entry).splitlines():
        row = json.loads(line)
        item_id = f"{row['instance_id']}/{row['summarizer_id']}"
        for aspect, scores in row["metrics"]["turker"].items():
            for number, score in enumerate(scores, 1):
                ratings.append((item_id, aspect, f"crowd_{number}", float(score)))
    found = build(
        name, summaries.items.itertuples(index=False), ratings, files=files, expect=(100, 1600)
    )
    if len(found.ratings) != 1600 * 4 * 5:
        raise ValueError(
            f"{name}: expected five ratings of 1600 summaries on four aspects, got "
            f"{len(found.ratings)}; check the file"
        )
    return found
