"""CPU seconds of what people wait for; then the same inputs through this package and through peer libraries.

`make bench` runs it, on real data or else on the sample.
"""

import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd

import nlgjudge as nj


def sentence_bleu(items):
    """BLEU against all references, by sacrebleu."""
    import sacrebleu  # here, so that it is in no other figure

    pairs = zip(items["hypothesis"], items["references"])
    return [sacrebleu.sentence_bleu(text, list(texts)).score / 100 for text, texts in pairs]


def bleu(items):
    """The same, by this package."""
    return nj.metrics.bleu(items).set_index("item_id").loc[items["item_id"], "score"]


def mean_of_documents(frame):
    """Kendall's tau within documents, averaged, by scipy."""
    from scipy import stats

    coefficients = [
        stats.kendalltau(part["score"], part["human"])[0]
        for _, part in frame.groupby("doc_id")
        if part["score"].nunique() > 1 and part["human"].nunique() > 1
    ]
    return [np.mean(coefficients)]


def sample_level(frame):
    """The same, by this package."""
    return [nj.correlation(frame, "score", "human", coefficient="kendall").value]


def table():
    """The verdict of a committed table."""
    print(nj.Table("geval", "table1").answer)


def report():
    """Which of two judges agrees better with 10,000 made ratings."""
    print(nj.report(nj.data.own_data(ratings(10_000, 10)), lexical=False))


def ablation():
    """Two recorded judges on SummEval, four aspects, 9,999 swaps."""
    other = {"judge": "replay:alttest/gpt-4o-mini"}
    print(nj.ablation(nj.load("summeval"), {"judge": "replay:alttest/gpt-4o"}, other))


def interval(n="32000"):
    """An interval at dataset level, of n made ratings."""
    names = {
        "human:quality": "human",
        "judge:a": "judge",
        "system": "system_id",
        "source": "doc_id",
    }
    frame = ratings(int(n), 16).rename(columns=names)
    print(nj.interval(frame, "judge", "human", level="dataset"))


def ratings(n, systems):
    """Made ratings of n outputs, and scores of two judges, from 1 to 5."""
    quality, *errors = np.random.default_rng(0).standard_normal((3, n))
    scores = [quality, *(0.6 * quality + 0.8 * error for error in errors)]
    columns = dict(zip(("human:quality", "judge:a", "judge:b"), np.round(3 + np.array(scores))))
    places = [divmod(place, systems) for place in range(n)]
    return (
        pd.DataFrame(columns)
        .clip(1, 5)
        .assign(
            source=[f"text {document}" for document, _ in places],
            hypothesis="a text",
            system=[f"system {system}" for _, system in places],
        )
    )


def waits():
    """Print the CPU seconds of each in a process of its own, with its imports; DHP has no plan."""
    commands = {
        name: [sys.executable, __file__, *name.split()]
        for name in ("table", "report", "ablation", "interval 1600", "interval 32000")
    }
    for paper in ("geval", "chatgpt", "coascore", "closer_look", "llmbar"):
        command = ["nlgjudge", "rerun", paper, "--judge", "openai:gpt-4o-mini", "--plan"]
        commands[f"plan {paper}"] = command
    for name, command in commands.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        status = subprocess.run(command, capture_output=True).returncode
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{name:28}{seconds:>10.2f} s" + f" (exit status {status})" * bool(status))


def peers():
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
    if len(sys.argv) > 1:
        name, *arguments = sys.argv[1:]
        {"table": table, "report": report, "ablation": ablation, "interval": interval}[name](
            *arguments
        )
    else:
        waits()
        peers()
