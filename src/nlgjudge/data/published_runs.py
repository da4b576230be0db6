"""Metrics that somebody else ran on a benchmark's texts, joined to its items by key.

Deutsch, Dror and Roth (2021) and Colombo et al. (2022) on SummEval, the latter on Topical-Chat too, and
Bhandari et al. (2020) on RealSumm. Two runs name no item and list their scores in the benchmark's order: BARTScore
of SummEval and QAGS by Fan, Aumiller and Gertz (2023), refused unless the human ratings beside the scores agree
item by item, and two metrics of NewsRoom by Liu et al. (2021), whose ROUGE-1 is compared with ours in the tests.
None is a run of one of the papers, so none reproduces a published row.
"""

import io
import json
from functools import partial
from typing import NamedTuple

import pandas as pd

from nlgjudge.data.optional import finite_scores, read_optional
from nlgjudge.data.registry import entries
from nlgjudge.data.safe_pickle import unpickle
from nlgjudge.data.schema import SCORES

EVIDENCE = "other_run"
# Items of each file that has scores: all of SummEval; RealSumm's systems with BART among both the abstractive and
# the extractive ones, which makes the paper's 25; Topical-Chat without the original responses.
COUNTS = {
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
_IN_ORDER = {
    "_bartscore.json": "bartscore",
    "_bartscore_cnn.json": "bartscore-cnn",
    "_bartscore_para.json": "bartscore-cnn-para",
    "rouge1_f_predictions.json": "rouge1-f",
    "bart_score_cnn_ref_hypo_predictions.json": "bartscore-cnn-ref-hypo",
}
# Aspects of Colombo's columns of human ratings, where the names differ.
_RATED = {"engaging": "engagingness", "context": "coherence", "natural": "naturalness"}
_RATED |= {"understandable": "understandability", "useknowledge": "groundedness"}
_PARTS = {"precision": "p", "recall": "r", "f1": "f", "f": "f"}
_NAMES = {"mover": "moverscore", "bert": "bertscore"}
_NAMES |= {name: name.lower() for name in ("METEOR", "MoverScore", "BERTScore")}


class OtherRuns(NamedTuple):
    """What others' runs hold for a benchmark.

    Attributes
    ----------
    scores : pandas.DataFrame
        `item_id` and a column for each metric, as ``deutsch2021:bertscore-f``; no line where nothing is here.
    files : dict of str to str
        Each file that was had, with its git blob id.
    left_out : dict of str to str
        Each file that was not used, and why.
    """

    scores: pd.DataFrame
    files: dict
    left_out: dict


def other_run_files(name):
    """Registered files of others' runs on a benchmark.

    Parameters
    ----------
    name : str
        The benchmark.

    Returns
    -------
    list of nlgjudge.data.registry.Entry

    Examples
    --------
    >>> [entry.path for entry in other_run_files("topical_chat")]
    ['final_df/DIALOG_tc.csv']
    """
    return entries(name, role="other_run")


def other_runs(benchmark):
    """Read the scores of metrics that others ran on a benchmark's texts.

    A file that is unavailable, or laid out otherwise than expected, is left out, the latter with a line that names
    it.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
        The real one: no run is of the sample's texts.

    Returns
    -------
    OtherRuns

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> len(other_runs(load("summeval", "sample")).scores)
    0
    """
    rows = []
    files = {}
    left_out = {}
    if not benchmark.is_sample:
        for entry in other_run_files(benchmark.name):
            before = {row[:2] for row in rows}
            rows += read_optional(entry, partial(_rows, entry, benchmark, before), files, left_out)
    table = pd.DataFrame(rows, columns=SCORES)
    columns = list(dict.fromkeys(table["metric"]))
    wide = table.pivot(index="item_id", columns="metric", values="score")[columns]
    here = set(wide.index.tolist())
    in_order = [item_id for item_id in benchmark.items["item_id"].tolist() if item_id in here]
    return OtherRuns(wide.loc[in_order].rename_axis(columns=None).reset_index(), files, left_out)


def _rows(entry, benchmark, before, content):
    """A file's scores in the schema's order, without those that another file had; all of its items or none."""
    ending = entry.path.split("/")[-1]
    if ending.endswith(".jsonl"):
        run, found = "deutsch2021", _of_lines(content)
    elif ending.endswith(".pkl"):
        run, found = "bhandari2020", _of_pickle(content)
    elif ending.endswith(".json"):
        run, found = _in_order(ending, content, benchmark)
    else:
        run, found = "colombo2022", _of_table(content, benchmark)
    _check(entry, found, benchmark)
    rows = []
    for item_id, scores in found.items():
        for metric, score in scores.items():
            rows.append((item_id, f"{run}:{metric}", "", score, "", EVIDENCE))
    # BART is in both files of RealSumm, with the same scores.
    return [row for row in finite_scores(entry, rows) if row[:2] not in before]


def _check(entry, found, benchmark):
    """Refuse items that the benchmark has not, another number of them, and scores that some of them lack."""
    strange = sorted(set(found) - set(benchmark.items["item_id"]))
    if strange:
        raise ValueError(
            f"expected scores of {benchmark.name}'s items, got {len(strange)} others, "
            f"as {strange[0]!r}"
        )
    expected = next(count for part, count in COUNTS.items() if part in entry.path)
    if len(found) != expected:
        raise ValueError(f"expected scores of {expected} items, got {len(found)}")


def _of_lines(content):
    """A line for each item, with document and system named."""
    found = {}
    for line in content.decode("utf-8").splitlines():
        row = json.loads(line)
        scores = {}
        for metric, values in row["metrics"].items():
            name = _NAMES.get(
                metric,
                metric.replace("rouge-", "rouge").replace("rougel", "rougeL").replace("su", "SU"),
            )
            if isinstance(values, dict):
                scores |= {f"{name}-{_PARTS[part]}": score for part, score in values.items()}
            else:
                scores[name] = values
        _add(found, f"{row['instance_id']}/{row['summarizer_id']}", scores)
    return found


def _of_pickle(content):
    """REALSumm's dictionaries of documents and systems; the human recall is no metric."""
    found = {}
    for doc_id, document in unpickle(content).items():
        for system_id, output in document["system_summaries"].items():
            scores = {
                _of_realsumm(name): score
                for name, score in output["scores"].items()
                if name != "litepyramid_recall"
            }
            _add(found, f"{doc_id}/{system_id}", scores)
    return found


def _in_order(ending, content, benchmark):
    """Run, and the scores of files that list them in the order of the benchmark's items."""
    metric = next(metric for end, metric in _IN_ORDER.items() if ending.endswith(end))
    item_ids = benchmark.items["item_id"].tolist()
    table = json.loads(content)
    if isinstance(table, list):
        run, scores = "liu2021", [score for row in table for score in row["auto_scores"]]
    else:
        run, scores = "fan2023", table["metric_scores"]
        ours = benchmark.human().set_index("item_id")["consistency"].loc[item_ids]
        theirs = table["human_annotated_scores"]
        if len(theirs) != len(ours) or not (ours - theirs).abs().lt(1e-6).all():
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
    return "-".join([_NAMES.get(metric, metric), *parts])


def _add(found, item_id, scores):
    if item_id in found:
        raise ValueError(f"two lines for {item_id}")
    found[item_id] = scores


def _of_table(content, benchmark):
    """A table with its own numbers of documents (System) and systems (Utterance), next to human ratings."""
    keys = {"System": str, "Utterance": str}
    table = pd.read_csv(io.BytesIO(content), dtype=keys, float_precision="round_trip")
    named = [column[2:] for column in table if column.startswith("H:")]
    rated = {f"H:{name}": _RATED.get(name, name) for name in named}
    if not rated:
        raise KeyError("no column of human ratings, by which the items are identified")
    repeated = table.duplicated([*keys]).sum()
    if repeated:
        raise ValueError(f"{repeated} lines repeat a document and system")
    human = benchmark.human()
    ours = _rounded(human["doc_id"], human["system_id"], human[[*rated.values()]])
    theirs = _rounded(table["System"], table["Utterance"], table[[*rated]])
    documents, systems = _identified(theirs, ours)
    metrics = [name for name in table.columns[1:] if name not in (*keys, *rated)]
    found = {}
    for document, system, *scores in table[[*keys, *metrics]].itertuples(index=False):
        names = (_NAMES.get(name, name.replace("ROUGE_", "rouge")) for name in metrics)
        _add(found, f"{documents[document]}/{systems[system]}", dict(zip(names, scores)))
    return found


def _rounded(documents, systems, ratings):
    """Ratings by document and system."""
    rows = map(tuple, ratings.astype(float).round(5).to_numpy().tolist())
    return dict(zip(zip(documents, systems), rows))


def _identified(theirs, ours):
    """Names of their documents and systems, by the human ratings of all items.

    A system is the one with the same ratings over all documents; then a document is the one with the same
    ratings system by system. Both must be unique.
    """
    systems = _matched("system", _by(1, theirs), _by(1, ours))
    named = {(document, systems[system]): row for (document, system), row in theirs.items()}
    same = {key: row for key, row in ours.items() if key[1] in systems.values()}
    return _matched("document", _by(0, named), _by(0, same)), systems


def _by(place, ratings):
    """Sorted ratings of each system (place 1), or of each document with their systems (place 0)."""
    found = {}
    for key, row in ratings.items():
        found.setdefault(key[place], []).append(row if place else (key[1], row))
    return {name: tuple(sorted(rows)) for name, rows in found.items()}


def _matched(what, theirs, ours):
    found = {}
    for label, rows in theirs.items():
        alike = [name for name, their_rows in ours.items() if their_rows == rows]
        if len(alike) != 1:
            raise ValueError(
                f"expected one {what} with the ratings of their {label}, got {len(alike)}; the items "
                "cannot be told apart"
            )
        (found[label],) = alike
    return found
