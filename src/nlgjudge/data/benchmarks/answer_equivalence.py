"""Answer Equivalence (Bulian et al. 2022)."""

import json

from nlgjudge.data.benchmarks import benchmark
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.data.files import MALFORMED


@benchmark(
    "answer_equivalence",
    "answers to questions, judged equivalent to a reference or not",
    roles=(),
    paths=("ae_dev.jsonl",),
)
def read(files):
    """Read the development split; `equivalence` is the mean over raters, 1 for equivalent."""
    (entry,) = files.entries
    content = files.read(entry)
    try:
        items, judgements = _answers(content)
    except MALFORMED as error:
        cause = (
            f"{entry.path} of {entry.repository} is laid out otherwise than expected ({error!r})"
        )
        raise DataUnavailable(cause, kind="unreadable") from error
    ratings = [
        (item_id, "equivalence", "mean", sum(scores) / len(scores))
        for item_id, scores in judgements.items()
    ]
    return items, ratings, ()


def _answers(content):
    """Items by question, answer and reference, and the judgements of each item."""
    items = {}
    judgements = {}
    for line in filter(bytes.strip, content.splitlines()):  # bytes: a text may hold U+2028
        row = json.loads(line)
        key = (row["qid"], row["candidate"], row["reference"])
        number = str(len(items))
        item_id = f"{row['qid']}/{number}"
        texts = (row["question"], row["candidate"], [row["reference"]], row["context"])
        item_id, *_ = items.setdefault(key, (item_id, row["qid"], number, *texts))
        judgements.setdefault(item_id, []).append(float(row["score"]))
    return items.values(), judgements
