"""Metrics that somebody else ran on a benchmark's texts, joined to its items by key.

Deutsch, Dror and Roth (2021) and Colombo et al. (2022) on SummEval, the latter on Topical-Chat too, and
Bhandari et al. (2020) on RealSumm. Two runs name no item and list their scores in the benchmark's order: BARTScore
of SummEval and QAGS by Fan, Aumiller and Gertz (2023), refused unless the human ratings beside the scores agree
item by item, and two metrics of NewsRoom by Liu et al. (2021), whose ROUGE-1 is compared with ours in the tests.
None is a run of one of the papers, so none reproduces a published row.
"""

from __future__ import annotations

import io
import json
from functools import partial
from typing import NamedTuple

import pandas as pd

from nlgjudge.data.files import Files
from nlgjudge.data.registry import entries
from nlgjudge.data.released_scores import finite_scores
from nlgjudge.data.safe_pickle import unpickle
from nlgjudge.data.schema import Benchmark

# Items of each file that has scores: all of SummEval; RealSumm's systems with BART among both the abstractive and
# the extractive ones, which makes the paper's 25; Topical-Chat without the original responses.
SCORED_ITEMS = {
    "fabbri2020": 1600,
    "abs.pkl": 1400,
    "ext.pkl": 1100,
    "SUM_EVAL.csv": 1600,
    "DIALOG_tc.csv": 300,
    "summeval_bartscore": 1600,
    "cnndm_bartscore": 235,
    "xsum_bartscore": 239,
    "_predictions.json": 420,
}
# Metrics of the files that name none, by how their names end. BARTScore is from source to summary in the first three:
# BART as it is, tuned on CNN/DailyMail, and tuned on ParaBank 2 as well.
_METRIC_OF_FILE = {
    "_bartscore.json": "bartscore",
    "_bartscore_cnn.json": "bartscore-cnn",
    "_bartscore_para.json": "bartscore-cnn-para",
    "rouge1_f_predictions.json": "rouge1-f",
    "bart_score_cnn_ref_hypo_predictions.json": "bartscore-cnn-ref-hypo",
}
# Aspects of Colombo's columns of human ratings, where the names differ.
_ASPECTS = {
    "engaging": "engagingness",
    "context": "coherence",
    "natural": "naturalness",
    "understandable": "understandability",
    "useknowledge": "groundedness",
}
_PARTS = {"precision": "p", "recall": "r", "f1": "f", "f": "f"}
_METRICS = {
    "mover": "moverscore",
    "bert": "bertscore",
    "METEOR": "meteor",
    "MoverScore": "moverscore",
    "BERTScore": "bertscore",
}


class OtherRuns(NamedTuple):
    """What others' runs hold for a benchmark.

    Attributes
    ----------
    scores
        `item_id` and a column for each metric, as ``deutsch2021:bertscore-f``; no line where nothing is here.
    files
        Each file that was read, with its git blob id.
    left_out
        Each file that was not used, and why.
    """

    scores: pd.DataFrame
    files: dict[str, str]
    left_out: dict[str, str]


def other_runs(benchmark: Benchmark) -> OtherRuns:
    """Read the scores of metrics that others ran on a benchmark's texts; none for the sample.

    A file that is unavailable, or laid out otherwise than expected, is left out, the latter with a line that names
    it.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> len(other_runs(nj.load("summeval", "sample")).scores)
    0
    """
    registered = [] if benchmark.is_sample else entries(benchmark.name, role="other_run")
    files = Files(benchmark.name, registered)
    rows = []
    for entry in registered:
        rows += files.read_optional(entry, partial(_rows, entry, benchmark))
    table = pd.DataFrame(rows, columns=["item_id", "metric", "aspect", "score"])
    table = table.drop_duplicates(["item_id", "metric"])  # BART is in both files of RealSumm
    metrics = table["metric"].unique()
    wide = table.pivot(index="item_id", columns="metric", values="score")[metrics]
    scored = benchmark.items["item_id"][benchmark.items["item_id"].isin(wide.index)]
    scores = wide.loc[scored].rename_axis(columns=None).reset_index()
    return OtherRuns(scores, files.used, files.left_out)


def _rows(entry, benchmark, content):
    """A file's scores, as `item_id, metric, aspect, score`; all of its items or none."""
    name = entry.path.split("/")[-1]
    if name.endswith(".jsonl"):
        run = "deutsch2021"
        scored = _of_lines(content)
    elif name.endswith(".pkl"):
        run = "bhandari2020"
        scored = _of_pickle(content)
    elif name.endswith(".json"):
        run, scored = _in_order(name, content, benchmark)
    else:
        run = "colombo2022"
        scored = _of_table(content, benchmark)
    _check(entry, scored, benchmark)
    rows = [
        (item_id, f"{run}:{metric}", "", score)
        for item_id, scores in scored.items()
        for metric, score in scores.items()
    ]
    return finite_scores(entry, rows)


def _check(entry, scored, benchmark):
    """Refuse items that the benchmark has not, and another number of them."""
    strange = sorted(set(scored) - set(benchmark.items["item_id"]))
    if strange:
        raise ValueError(
            f"expected scores of {benchmark.name}'s items, got {len(strange)} others, "
            f"as {strange[0]!r}"
        )
    expected = next(count for part, count in SCORED_ITEMS.items() if part in entry.path)
    if len(scored) != expected:
        raise ValueError(f"expected scores of {expected} items, got {len(scored)}")


def _of_lines(content):
    """A line for each item, with document and system named."""
    scored = {}
    for line in content.decode("utf-8").splitlines():
        row = json.loads(line)
        scores = {}
        for metric, values in row["metrics"].items():
            spelled = metric.replace("rouge-", "rouge").replace("rougel", "rougeL")
            name = _METRICS.get(metric, spelled.replace("su", "SU"))
            if isinstance(values, dict):
                scores |= {f"{name}-{_PARTS[part]}": score for part, score in values.items()}
            else:
                scores[name] = values
        _add(scored, f"{row['instance_id']}/{row['summarizer_id']}", scores)
    return scored


def _of_pickle(content):
    """REALSumm's dictionaries of documents and systems; the human recall is no metric."""
    scored = {}
    for doc_id, document in unpickle(content).items():
        for system_id, output in document["system_summaries"].items():
            scores = {
                _of_realsumm(name): score
                for name, score in output["scores"].items()
                if name != "litepyramid_recall"
            }
            _add(scored, f"{doc_id}/{system_id}", scores)
    return scored


def _in_order(name, content, benchmark):
    """Run, and the scores of files that list them in the order of the benchmark's items."""
    metric = next(metric for ending, metric in _METRIC_OF_FILE.items() if name.endswith(ending))
    item_ids = benchmark.items["item_id"].tolist()
    table = json.loads(content)
    if isinstance(table, list):
        run = "liu2021"
        scores = [score for row in table for score in row["auto_scores"]]
    else:
        run = "fan2023"
        scores = table["metric_scores"]
        ours = benchmark.human().set_index("item_id")["consistency"].loc[item_ids]
        repeated = table["human_annotated_scores"]
        if len(repeated) != len(ours) or not (ours - repeated).abs().lt(1e-6).all():
            raise ValueError(
                "the order is not the expected one: the human ratings of consistency differ"
            )
    if len(scores) != len(item_ids):
        raise ValueError(f"expected scores of {len(item_ids)} items, got {len(scores)}")
    return run, {item_id: {metric: score} for item_id, score in zip(item_ids, scores)}


def _of_realsumm(name):
    """As ``bertscore-r`` for ``bert_recall_score``."""
    words = [word for word in name.split("_") if word != "score"]
    parts = [_PARTS[word] for word in words if word in _PARTS]
    metric = "".join(word for word in words if word not in _PARTS).replace("rougel", "rougeL")
    return "-".join([_METRICS.get(metric, metric), *parts])


def _add(scored, item_id, scores):
    if item_id in scored:
        raise ValueError(f"two lines for {item_id}")
    scored[item_id] = scores


def _of_table(content, benchmark):
    """A table with its own numbers of documents (System) and systems (Utterance), next to human ratings."""
    keys = ["System", "Utterance"]
    table = pd.read_csv(
        io.BytesIO(content), dtype=dict.fromkeys(keys, str), float_precision="round_trip"
    )
    rated = [column for column in table if column.startswith("H:")]
    if not rated:
        raise KeyError("no column of human ratings, by which the items are identified")
    repeated = table.duplicated(keys).sum()
    if repeated:
        raise ValueError(f"{repeated} lines repeat a document and system")
    aspects = [_ASPECTS.get(column[2:], column[2:]) for column in rated]
    metrics = [name for name in table.columns[1:] if name not in (*keys, *rated)]
    names = [_METRICS.get(name, name.replace("ROUGE_", "rouge")) for name in metrics]
    table = _identified(table.rename(columns=dict(zip(rated, aspects))), benchmark.human(), aspects)
    scored = {}
    for document, system, *scores in table[["doc_id", "system_id", *metrics]].itertuples(
        index=False
    ):
        _add(scored, f"{document}/{system}", dict(zip(names, scores)))
    return scored


def _identified(table, human, aspects):
    """The table with our ids of its documents and systems, by the human ratings of all items.

    A system is the one with the same ratings over all documents; then a document is the one with the same
    ratings system by system. Both must be unique.
    """
    ours = human.round(dict.fromkeys(aspects, 5))
    theirs = table.round(dict.fromkeys(aspects, 5))
    table["system_id"] = theirs["system_id"] = _ids("system", theirs, "Utterance", ours, aspects)
    ours = ours[ours["system_id"].isin(theirs["system_id"])]
    table["doc_id"] = _ids("document", theirs, "System", ours, ["system_id", *aspects])
    return table


def _ids(kind, theirs, label, ours, columns):
    """Our id of each line's document or system: the only one with the same values in these columns."""
    key = {"system": "system_id", "document": "doc_id"}[kind]
    by_id = _values(ours, key, columns)
    ids = {}
    for name, values in _values(theirs, label, columns).items():
        alike = [our_id for our_id, our_values in by_id.items() if our_values == values]
        if len(alike) != 1:
            raise ValueError(
                f"expected one {kind} with the ratings of their {name}, got {len(alike)}; the items "
                "cannot be told apart"
            )
        ids[name] = alike[0]
    return theirs[label].map(ids)


def _values(table, key, columns):
    """Sorted values of each document or system."""
    groups = table.groupby(key, sort=False)[columns]
    return {name: sorted(rows.itertuples(index=False, name=None)) for name, rows in groups}
