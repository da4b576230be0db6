"""Topical-Chat's responses (Mehri and Eskenazi 2020, USR), their mean ratings and each of the raters."""

import json

from nlgjudge.data.benchmarks import benchmark
from nlgjudge.data.files import Files
from nlgjudge.data.released_scores import unieval_scores

MEANS = "/topical_chat.json"  # as UniEval publishes them
RATERS = "usr_topical_chat.json"  # as Nedelchev et al. 2021 publish them
# USR's names of the aspects, and UniEval's.
_ASPECTS = {
    "Understandable": "understandability",
    "Natural": "naturalness",
    "Maintains Context": "coherence",
    "Engaging": "engagingness",
    "Uses Knowledge": "groundedness",
    "Overall": "overall",
}


@benchmark(
    "topical_chat",
    "dialogue responses, mean ratings for six aspects (USR)",
    expect=(60, 360),
)
def read(files):
    """Read dialogues with six responses each; the original response is the reference."""
    dialogues = {}
    for row in json.loads(files.read(MEANS)):
        dialogues.setdefault((row["source"], row["context"]), []).append(row)
    items = []
    ratings = []
    item_ids = {}
    for number, ((source, context), responses) in enumerate(dialogues.items()):
        doc_id = f"dialogue{number:02d}"
        texts = {row["system_id"]: row["system_output"] for row in responses}
        reference = [texts["Original Ground Truth"]]
        for row in responses:
            system_id = row["system_id"]
            item_id = f"{doc_id}/{system_id}"
            item_ids[source, context, system_id] = item_id
            response = row["system_output"]
            items.append((item_id, doc_id, system_id, source, response, reference, context))
            for aspect in _ASPECTS.values():
                ratings.append((item_id, aspect, "mean", float(row["scores"][aspect])))

    def item_of(line):
        return item_ids[line["source"], line["context"], line["system_id"]]

    return items, ratings, unieval_scores(files, item_of)


@benchmark(
    "topical_chat_raters",
    "the same, with each of three raters",
    expect=(60, 360),
    registered_as="topical_chat",
    paths=(RATERS,),
)
def read_raters(files):
    """Read each rater's scores of the responses: three of five people rated a dialogue.

    Dialogues are known by their text, fact and system, and a rater by the name in the file, because the three are
    not the same people everywhere. Their mean is the published one, or the file is refused.
    """
    dialogues = Files(
        files.benchmark, files.entries
    )  # which scores are missing does not matter here
    items, means, _ = read(dialogues)
    files.used |= dialogues.used
    item_ids = {
        (source, context, system_id): item_id
        for item_id, _, system_id, source, _, _, context in items
    }
    ratings = []
    for dialogue in json.loads(files.read(RATERS)):
        raters = [f"rater_{initials}" for initials in dialogue["annotators"]]
        for response in dialogue["responses"]:
            item_id = item_ids[dialogue["context"], dialogue["fact"], response["model"]]
            for upstream_name, aspect in _ASPECTS.items():
                for rater, score in zip(raters, response[upstream_name], strict=True):
                    ratings.append((item_id, aspect, rater, float(score)))
    _check_means(ratings, means)
    return items, ratings, ()


def _check_means(ratings, means):
    """Refuse raters whose mean is not the published one."""
    scores = {}
    for item_id, aspect, _, score in ratings:
        scores.setdefault((item_id, aspect), []).append(score)
    for item_id, aspect, _, mean in means:
        if (item_id, aspect) not in scores:
            raise ValueError(f"topical_chat_raters: ratings of {item_id}, {aspect} are missing")
        ours = sum(scores[item_id, aspect]) / len(scores[item_id, aspect])
        if not abs(ours - mean) <= 1e-6:
            raise ValueError(
                f"topical_chat_raters: expected raters whose mean is the published one, got {ours:.3g} for "
                f"{mean:.3g} ({item_id}, {aspect}); check the file"
            )
