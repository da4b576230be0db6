"""SummEval (Fabbri et al. 2021): its three experts, and its five crowd workers a summary."""

import json

from nlgjudge.data.benchmarks import bartscore, benchmark
from nlgjudge.data.files import Files

EXPERTS = "data/summeval/human_annotations.json"  # as AltTest publishes them
CROWD = "fabbri2020/relevance.jsonl"  # as Deutsch et al. 2021 publish it
CROWD_OF_TWELVE = "_outputs_annotations.jsonl"  # as Shen et al. 2023 publish it


@benchmark(
    "summeval",
    "summaries of news, rated by three experts for four aspects",
    expect=(100, 1600),
    paths=(EXPERTS,),
)
def read(files):
    """Read the summaries, each expert's ratings, and the released scores."""
    items, means, scores = bartscore.read_with_unieval(files)
    item_ids = bartscore.item_ids(items)
    experts = files.read_optional(
        files.find(EXPERTS), lambda content: _expert_ratings(content, item_ids)
    )
    rated_by_experts = {item_id for item_id, *_ in experts}
    means = [row for row in means if row[0] not in rated_by_experts]
    return items, experts + means, scores


def _expert_ratings(content, item_ids):
    """Ratings of each expert; all or none, since their mean stands for the published one."""
    rows = []
    for number, annotations in enumerate(json.loads(content).values(), 1):
        for key, score in annotations.items():
            doc_id, system_id, aspect = key.split("__")
            rows.append((f"{doc_id}/{system_id}", aspect, f"expert_{number}", float(score)))
    bartscore.check_items({item_id for item_id, *_ in rows}, item_ids)
    return rows


@benchmark(
    "summeval_crowd",
    "the same, rated by five crowd workers, for 12 of its 16 systems",
    expect=(100, 1200),
    registered_as="summeval",
    roles=(),
    paths=(CROWD_OF_TWELVE,),
)
def read_crowd(files):
    """Read the systems whose texts were published with the crowd's ratings."""
    items = []
    ratings = []
    for entry in files.entries:
        system_id = entry.path.split("/")[-1].split("_")[0]
        for line in files.read(entry).splitlines():
            row = json.loads(line)
            doc_id = row["id"]
            item_id = f"{doc_id}/{system_id}"
            texts = (row["text"], row["decoded"], row["references"], "")
            items.append((item_id, doc_id, system_id, *texts))
            for number, worker in enumerate(row["turker_annotations"], 1):
                for aspect, score in worker.items():
                    ratings.append((item_id, aspect, f"crowd_{number}", score))
    return items, ratings, ()


@benchmark(
    "summeval_crowd_all",
    "the same, rated by five crowd workers, for all systems",
    expect=(100, 1600),
    registered_as="summeval",
    paths=(EXPERTS, CROWD),
)
def read_crowd_all(files):
    """Read the crowd's ratings of all systems."""
    summaries = Files(
        files.benchmark, files.entries
    )  # which scores are missing does not matter here
    items, _, _ = read(summaries)
    files.used |= summaries.used
    ratings = []
    for line in files.read(CROWD).splitlines():
        row = json.loads(line)
        item_id = f"{row['instance_id']}/{row['summarizer_id']}"
        for aspect, scores in row["metrics"]["turker"].items():
            for number, score in enumerate(scores, 1):
                ratings.append((item_id, aspect, f"crowd_{number}", float(score)))
    expected = len(items) * 4 * 5
    if len(ratings) != expected:
        raise ValueError(
            f"summeval_crowd_all: expected five ratings of {len(items)} summaries on four aspects, got "
            f"{len(ratings)}; check the file"
        )
    return items, ratings, ()
