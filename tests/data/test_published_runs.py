"""Others' runs of metrics: counts of the real files, joins by key, and odd files refused."""

import csv
import json
import pickle
from difflib import SequenceMatcher
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from nlgjudge.data import benchmarks, published_runs
from nlgjudge.data.registry import entries
from nlgjudge.data.schema import build
from nlgjudge.metrics.rouge_perl import rouge155

# Lines and metrics: Deutsch's 23, Colombo's 13 and Fan's 3; Bhandari's 14 on 24 systems; Colombo's 13 on 300
# responses; Fan's 3 on each half of QAGS; Liu's 2.
SHAPES = {"summeval": (1600, 23 + 13 + 3), "realsumm": (2400, 14), "topical_chat": (300, 13)}
SHAPES |= {"qags_cnn": (235, 3), "qags_xsum": (239, 3), "newsroom": (420, 2)}


@pytest.fixture(scope="module")
def read_before():
    """Others' runs by benchmark."""
    return {}


@pytest.fixture
def runs(real, read_before):
    """Others' runs on a real benchmark; skip where a file cannot be had."""

    def read(name):
        benchmark = real(name)
        if name not in read_before:
            read_before[name] = published_runs.other_runs(benchmark)
        found = read_before[name]
        if found.left_out:
            pytest.skip(f"needs the mirror or a network: {next(iter(found.left_out))}")
        return benchmark, found

    return read


@pytest.mark.parametrize("name", SHAPES)
def test_every_item_of_a_real_run_has_every_score(runs, name):
    benchmark, found = runs(name)
    assert (len(found.scores), found.scores.shape[1] - 1) == SHAPES[name]
    assert not found.scores.isna().any(axis=None) and not found.scores["item_id"].duplicated().any()
    assert set(found.scores["item_id"]) <= set(benchmark.items["item_id"])
    assert len(found.files) == len(entries(name, role="other_run"))
    assert list(benchmark.with_scores(found.scores)["item_id"]) == list(benchmark.items["item_id"])


def test_deutschs_rouge_is_the_perl_scripts_with_the_first_reference(runs):
    """The two were computed apart, so a join that is off by one line shows."""
    benchmark, found = runs("summeval")
    items = benchmark.items.iloc[::16]
    items = items.assign(references=items["references"].str[:1])
    ours = rouge155(items).set_index("item_id")
    theirs = found.scores.set_index("item_id").loc[items["item_id"]]
    for kind in "12":
        apart = (ours[f"rouge{kind}-f"] - theirs[f"deutsch2021:rouge{kind}-f"] / 100).abs()
        # Most summaries are the same in all five decimals; some texts were cut into words otherwise.
        assert len(apart) == 100 and (apart <= 0.02).mean() > 0.9
        assert (apart <= 0.00001).mean() > 0.6


def test_fans_scores_are_in_the_order_of_summevals_items(runs, content):
    """Their texts, normalised: 1,528 are ours, and each of the rest is most like the one in its place."""
    benchmark, _ = runs("summeval")
    theirs = content("summeval", path="summary-summeval.txt").decode().splitlines()
    items = benchmark.items.assign(theirs=theirs)
    for column in ("theirs", "hypothesis"):
        items[column] = items[column].str.lower().str.replace("[^a-z0-9]", "", regex=True)
    other = items[items["theirs"] != items["hypothesis"]]
    assert (len(items), len(other)) == (1600, 72)
    for item in other.itertuples():
        systems = items[items["doc_id"] == item.doc_id]
        alike = systems["hypothesis"].map(
            lambda ours, text=item.theirs: SequenceMatcher(None, ours, text, autojunk=False).ratio()
        )
        assert alike[item.Index] == alike.max() >= 0.974


def test_lius_rouge_of_newsroom_is_ours_to_the_last_decimal(runs):
    """Scores by BARTScore's authors, computed apart from ours: the Perl script's F, and its order of the items."""
    benchmark, found = runs("newsroom")
    ours = rouge155(benchmark.items).set_index("item_id").loc[found.scores["item_id"], "rouge1-f"]
    theirs = found.scores["liu2021:rouge1-f"]
    assert len(theirs) == 420 and (ours.round(5).to_numpy() == theirs.to_numpy()).all()


def test_colombos_table_of_realsumm_is_a_copy(runs, content):
    """All of its 2,500 lines are Bhandari's, BART's a second time, which makes the paper's 25 systems of 24."""
    _, found = runs("realsumm")
    lines = pd.DataFrame(csv.DictReader(content("realsumm", role="copy").decode().splitlines()))
    pairs = {
        "bert_recall_score": "bertscore-r",
        "mover_score": "moverscore",
        "rouge_1_recall": "rouge1-r",
    }
    ours = set(
        found.scores[[f"bhandari2020:{name}" for name in pairs.values()]]
        .round(5)
        .itertuples(index=False, name=None)
    )
    theirs = list(lines[list(pairs)].astype(float).round(5).itertuples(index=False, name=None))
    assert len(theirs) == 2500 and set(theirs) <= ours and lines["Utterance"].nunique() == 25


PEOPLE = {
    ("d1", "A"): (1.0, 2.0),
    ("d1", "B"): (2.0, 2.0),
    ("d2", "A"): (3.0, 1 / 3),
    ("d2", "B"): (1.0, 4.0),
}


@pytest.mark.parametrize(
    "consistency, scores, why",
    [
        ([5, 1, 3], [0.1, 0.2, 0.3], ""),
        ([5, 3, 1], [0.1, 0.2, 0.3], "the human ratings of consistency differ"),
        ([5, 1], [0.1, 0.2], "the human ratings of consistency differ"),
        ([5, 1, 3], [0.1, 0.2], "expected scores of 3 items, got 2"),
    ],
)
def test_scores_without_names_are_taken_by_ratings(tree, monkeypatch, consistency, scores, why):
    items = [(None, doc, "A", "s", doc, ["r"], "") for doc in ("d1", "d2", "d3")]
    ratings = [
        (f"{doc}/A", "consistency", "mean", score)
        for doc, score in zip(("d1", "d2", "d3"), (5, 1, 3))
    ]
    monkeypatch.setattr(published_runs, "SCORED_ITEMS", {"": 3})
    # Fan's layout: no names, and the human ratings of consistency beside the scores.
    content = json.dumps({"human_annotated_scores": consistency, "metric_scores": scores})
    tree.add("t_bartscore_cnn.json", content.encode(), "small", role="other_run")
    found = published_runs.other_runs(build("small", items, ratings))
    if why:
        assert why in found.left_out["t_bartscore_cnn.json"] and not len(found.scores)
    else:
        assert found.scores["item_id"].tolist() == ["d1/A", "d2/A", "d3/A"]
        assert found.scores["fan2023:bartscore-cnn"].tolist() == scores


@pytest.fixture
def small(tree, monkeypatch):
    """A benchmark of two documents and two systems, whose runs are the files that a test gives."""
    items = [(None, doc, system, "s", f"{doc} {system}", ["r"], "") for doc, system in PEOPLE]
    ratings = [
        (f"{doc}/{system}", aspect, "mean", score)
        for (doc, system), scores in PEOPLE.items()
        for aspect, score in zip(("coherence", "fluency"), scores)
    ]
    benchmark = build("small", items, ratings)
    monkeypatch.setattr(published_runs, "SCORED_ITEMS", {"": 4})

    def read(**contents):
        for path, text in contents.items():
            path = path.replace("_", ".")
            content = text if isinstance(text, bytes) else text.encode()
            tree.add(path, content, "small", role="other_run")
        return published_runs.other_runs(benchmark)

    return SimpleNamespace(read=read, benchmark=benchmark)


def lines(scores):
    rows = []
    for (doc, system), score in scores.items():
        bertscore = {"precision": score, "recall": score + 1, "f1": score + 2}
        row = {"instance_id": doc, "summarizer_id": system, "summarizer_type": "peer"}
        rows.append(row | {"metrics": {"bertscore": bertscore, "MoverScore": score}})
    return "\n".join(map(json.dumps, rows))


def table(order=("d1", "d2"), changed=None, without=()):
    """Colombo's layout: documents and systems by numbers of its own, people's ratings, one metric."""
    rows = [
        [f"{number}", f"M{place}", *(changed or PEOPLE)[doc, system], f"0.{number}{place}"]
        for number, doc in enumerate(order)
        for place, system in enumerate("BA")
        if (doc, system) not in without
    ]
    heads = ["", "System", "Utterance", "H:coherence", "H:fluency", "BERTScore"]
    return "\n".join(
        ",".join(map(str, line))
        for line in [heads, *([index, *row] for index, row in enumerate(rows))]
    )


SCORES = {key: number / 4 for number, key in enumerate(PEOPLE)}


def test_lines_are_joined_by_key_in_whatever_order(small):
    found = small.read(a_jsonl=lines(dict(reversed(SCORES.items()))))
    assert found.left_out == {} and list(found.files) == ["a.jsonl"]
    assert found.scores["item_id"].tolist() == ["d1/A", "d1/B", "d2/A", "d2/B"]
    assert found.scores["deutsch2021:moverscore"].tolist() == [0, 0.25, 0.5, 0.75]
    assert found.scores["deutsch2021:bertscore-r"].tolist() == [1, 1.25, 1.5, 1.75]
    assert found.scores["deutsch2021:bertscore-f"].tolist() == [2, 2.25, 2.5, 2.75]


@pytest.mark.parametrize(
    "order, expected",
    [
        # systems are B and A there, so A's score ends with the 1 of its place
        (("d1", "d2"), [0.01, 0.0, 0.11, 0.1]),
        (("d2", "d1"), [0.11, 0.1, 0.01, 0.0]),
    ],
)
def test_numbered_items_are_known_by_peoples_ratings(small, order, expected):
    found = small.read(t_csv=table(order))
    assert found.left_out == {}
    assert found.scores["item_id"].tolist() == ["d1/A", "d1/B", "d2/A", "d2/B"]
    assert found.scores["colombo2022:bertscore"].tolist() == expected


SWAPPED = PEOPLE | {("d1", "A"): PEOPLE["d2", "A"], ("d2", "A"): PEOPLE["d1", "A"]}
OFF = PEOPLE | {("d2", "B"): (1.0, 4.5)}


@pytest.mark.parametrize(
    "name, text, why",
    [
        ("t_csv", table(changed=SWAPPED), "expected one document with the ratings of their 0"),
        ("t_csv", table(changed=OFF), "expected one system with the ratings of their M0, got 0"),
        ("t_csv", table(without=[("d2", "A")]), "expected one system with the ratings of their M1"),
        ("t_csv", table().replace("H:", "P:"), "no column of human ratings"),
        ("t_csv", table() + "\n" + table().splitlines()[-1], "1 lines repeat a document and"),
        ("a_jsonl", lines({("d1", "A"): 1}), "expected scores of 4 items, got 1"),
        ("a_jsonl", lines(SCORES | {("d9", "A"): 1}), "small's items, got 1 others, as 'd9/A'"),
        ("a_jsonl", lines(SCORES) + "\n" + lines(SCORES).splitlines()[0], "two lines for d1/A"),
        ("a_jsonl", lines(SCORES).replace("instance_id", "id"), "KeyError: 'instance_id'"),
    ],
)
def test_a_file_of_another_layout_is_named_and_left_out(small, capsys, name, text, why):
    found = small.read(**{name: text})
    assert len(found.scores) == 0 and found.scores["item_id"].tolist() == []
    assert why in found.left_out[name.replace("_", ".")]
    assert f"{name.replace('_', '.')} of owner/name is left out" in capsys.readouterr().out


def test_no_run_is_of_the_samples_texts():
    found = published_runs.other_runs(benchmarks.load("summeval", "sample"))
    assert found.files == {} and found.left_out == {} and list(found.scores) == ["item_id"]


def dictionary(scores, kind=float):
    documents = {}
    for (doc, system), score in scores.items():
        document = documents.setdefault(doc, {"ref_summ": "r", "system_summaries": {}})
        scored = {"bert_f_score": kind(score), "mover_score": score, "litepyramid_recall": 0.5}
        document["system_summaries"][system] = {"system_summary": "t", "scores": scored}
    return pickle.dumps(documents, protocol=3).replace(b"numpy._core", b"numpy.core")


@pytest.mark.parametrize("kind", [float, np.float32, np.float64])
def test_realsumms_layout_with_numbers_of_numpys(small, kind):
    found = small.read(a_pkl=dictionary(SCORES, kind))
    metrics = ["bhandari2020:bertscore-f", "bhandari2020:moverscore"]
    assert found.left_out == {} and list(found.scores) == ["item_id", *metrics]
    assert found.scores["bhandari2020:bertscore-f"].tolist() == [0, 0.25, 0.5, 0.75]
