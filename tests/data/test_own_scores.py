"""Scores, categories and preferences of one's own, from tables, data sets and exports."""

import dataclasses
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest
from datasets import Dataset, DatasetDict

import nlgjudge as nj

TABLE = pd.DataFrame(
    {
        "source": ["A river.", "A river.", "A sea.", "A sea."],
        "hypothesis": ["River.", "A boat.", "Sea.", "Salt."],
        "system": ["one", "two", "one", "two"],
        "human:fluency": [4, 2, 5, 1],
        "judge:gpt": [5, 3, 4, 2],
        "judge:mini:fluency": [1.5, None, 2.5, 3],
        "topic": ["water", "water", "salt", None],
    }
)


def read(table, **options):
    return nj.data.own_data(table, **options)


def as_csv(table, folder):
    table.to_csv(folder / "mine.csv", index=False)
    return folder / "mine.csv"


def as_hub_folder(table, folder):
    """A data set as it is laid out on the Hub."""
    (folder / "set" / "data").mkdir(parents=True)
    table.to_parquet(folder / "set" / "data" / "test-00000-of-00001.parquet")
    return folder / "set"


@pytest.mark.parametrize(
    "kind",
    [lambda table, _: table, lambda table, _: Dataset.from_pandas(table), as_csv, as_hub_folder],
)
def test_every_source_gives_the_same_scores(kind, tmp_path):
    mine = read(kind(TABLE, tmp_path))
    scores = mine.with_scores(mine.released())
    assert scores["fluency"].tolist() == [4, 2, 5, 1]
    assert scores["gpt"].tolist() == [5, 3, 4, 2]
    assert scores["mini:fluency"].fillna(-1).tolist() == [1.5, -1, 2.5, 3]
    table = nj.agreement(scores, ["gpt"], ["fluency"], coefficients=["pearson"])
    assert table["ours"].item() == pytest.approx(TABLE["human:fluency"].corr(TABLE["judge:gpt"]))


def test_further_columns_fill_slots():
    mine = read(TABLE)
    assert "topic: no rating; a prompt can show it, as {{topic}}" in mine.notes
    shown = []

    def judge(item):
        shown.append(item.prompt)
        return 3

    nj.judge_items(mine.items, "{{topic}}: rate {{hypothesis}}", judge)
    assert shown == ["water: rate River.", "water: rate A boat.", "salt: rate Sea.", ": rate Salt."]


@pytest.mark.parametrize(
    "words, scores",
    [
        (["pass", "fail", "Pass", "FAIL"], [1, 0, 1, 0]),
        ([True, False, False, True], [1, 0, 0, 1]),
        (["yes", "", "no", "NA"], [1, None, 0, None]),
        (["correct", "wrong", "incorrect", "correct"], [1, 0, 0, 1]),
    ],
)
def test_words_for_two_categories_are_read_and_named(words, scores):
    table = TABLE.assign(**{"human:ok": words, "judge:gpt": words})
    mine = read(table)
    assert mine.human()["ok"].astype(object).where(lambda s: s.notna(), None).tolist() == scores
    assert mine.scale("ok").names[1].lower() == str(words[0]).lower() and "ok (" in repr(mine)


def test_words_of_two_kinds_are_no_categories():
    with pytest.raises(ValueError, match="'pass' is none of no, yes"):
        read(TABLE.assign(**{"human:ok": ["pass", "no", "yes", "fail"]}))


def test_a_table_of_scores_alone_needs_no_texts():
    table = TABLE[["human:fluency", "judge:gpt"]]
    mine = read(table)
    assert mine.items["doc_id"].nunique() == 4
    assert mine.released()["gpt"].tolist() == [5, 3, 4, 2]


def test_a_single_system_needs_no_name():
    alone = TABLE.drop(columns="system").iloc[[0, 2]]
    assert read(alone).items["system_id"].unique().tolist() == ["one system"]
    with pytest.raises(ValueError, match="missing system"):
        read(TABLE.drop(columns="system"))


def test_where_a_low_rating_is_good_nothing_is_turned_and_word_overlap_counts_the_other_way():
    plain, reversed_ = read(TABLE), read(TABLE, reverse=["fluency"])
    assert reversed_.human().equals(plain.human()) and reversed_.scale("fluency").low_is_good
    values = []
    for mine in (plain, reversed_):
        mine = dataclasses.replace(mine, scores=mine.scores.head(0))
        values.append(nj.report(mine, permutations=9).aspects["fluency"].table["value"].to_dict())
    assert values[0] and values[1] == {name: -value for name, value in values[0].items()}
    with pytest.raises(ValueError, match="no aspect 'fluencey': did you mean 'fluency'"):
        read(TABLE, reverse=["fluencey"])


def test_a_row_for_each_aspect_has_a_judges_score_of_each():
    long = pd.DataFrame(
        [
            ("s", "t", "one", "style", 4, 5),
            ("s", "t", "one", "fluency", 2, 1),
            ("s", "u", "two", "style", 1, 2),
            ("s", "u", "two", "fluency", 5, 4),
        ],
        columns=["source", "hypothesis", "system", "aspect", "human:score", "judge:gpt"],
    )
    mine = read(long)
    assert mine.released()[["gpt:style", "gpt:fluency"]].values.tolist() == [[5, 1], [2, 4]]


def test_a_judge_with_two_scores_of_an_output_is_refused():
    twice = pd.concat(
        [TABLE.assign(rater="a"), TABLE.assign(rater="b", **{"judge:gpt": [1, 2, 3, 4]})]
    )
    with pytest.raises(ValueError, match="judge:gpt: expected one score"):
        read(twice)
    same = read(pd.concat([TABLE.assign(rater="a"), TABLE.assign(rater="b")]))
    assert same.released()["gpt"].tolist() == [5, 3, 4, 2]


PAIRS = pd.DataFrame(
    {
        "source": ["Say hi.", "Say bye.", "Sing."],
        "hypothesis": ["Hi.", "Hello.", "La."],
        "other": ["Bye.", "Bye.", "Lo."],
        "human:better:ann": ["A", "B", "tie"],
        "human:better:bob": ["A", "B", "A"],
        "judge:gpt": ["A", "A", "B"],
    }
)


def test_pairs_are_items_in_both_orders():
    mine = read(PAIRS)
    assert mine.items["item_id"].tolist() == [
        f"index {row}/{order}" for row in range(3) for order in (1, 2)
    ]
    assert mine.items.query("item_id == 'index 1/2'")[["hypothesis", "other"]].values.tolist() == [
        ["Bye.", "Hello."]
    ]
    assert mine.human()["better"].fillna(-1).tolist() == [
        1,
        0,
        0,
        1,
        -1,
        -1,
    ]  # tie and A: no majority
    judged = mine.with_scores(mine.released())  # one order was judged
    assert judged["gpt"].fillna(-1).tolist() == [1, -1, 1, -1, 0, -1]
    always_first = nj.judge_items(
        mine.items, "A: {{hypothesis}} B: {{other}}?", lambda item: "A", aspect="better"
    )
    scores = mine.with_scores(nj.item_scores({"first": always_first}))
    found = nj.stats.pair_agreement(scores, ["first"], ["better"]).set_index("measure")["value"]
    assert found.to_dict() == {"accuracy": 0.5, "agreement": 0, "first": 1, "unread": 0}


@pytest.mark.parametrize(
    "tool, columns",
    [
        ("label-studio", ["id", "data", "annotations", "predictions"]),
        ("label-studio", ["source", "hypothesis", "annotator", "annotation_id", "lead_time"]),
        ("argilla", ["source", "fluency.responses", "fluency.responses.status"]),
        ("amazon-mechanical-turk", ["Input.source", "WorkerId", "AssignmentStatus"]),
        ("prodigy", ["text", "_input_hash", "_task_hash", "accept", "answer"]),
    ],
)
def test_an_export_of_a_tool_is_refused_with_its_place_in_the_guide(tool, columns):
    table = pd.DataFrame([dict.fromkeys(columns, "1")]).assign(**{"human:x": 1})
    with pytest.raises(ValueError, match=rf"site/guide/exports.md#{tool}"):
        read(table)


def test_a_folder_with_several_splits_asks_for_one(tmp_path):
    DatasetDict(
        {"train": Dataset.from_pandas(TABLE), "test": Dataset.from_pandas(TABLE.head(2))}
    ).save_to_disk(tmp_path / "two")
    with pytest.raises(ValueError, match="it has the splits train, test: name one"):
        read(tmp_path / "two")
    assert len(read(tmp_path / "two", split="test").items) == 2


def test_a_benchmark_goes_to_datasets_and_back():
    chats = nj.load("topical_chat", "sample")
    again = read(chats.datasets())
    assert again.items.astype(object).equals(chats.items.astype(object))
    pd.testing.assert_frame_equal(again.human(), chats.human(), check_dtype=False)


def test_texts_in_another_script_are_noted():
    mine = read(TABLE.assign(hypothesis=["河。", "船。", "海。", "盐。"]))
    assert any("write the prompt's text yourself" in note for note in mine.notes)


class Hub(BaseHTTPRequestHandler):
    """One data set, `owner/name`, with one file, as the Hugging Face Hub serves it."""

    content = TABLE.to_csv(index=False).encode()
    revision = "1" * 40

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.partition("?")[0].rstrip("/")
        base = "/api/datasets/owner/name"
        file = {"type": "file", "path": "test.csv", "size": len(self.content), "oid": "2" * 40}
        headers = {"ETag": f'"{file["oid"]}"', "X-Repo-Commit": self.revision}
        if path.startswith(f"{base}/tree"):
            body = json.dumps([file] if path.endswith(("main", self.revision)) else []).encode()
        elif path.startswith(base):
            about = {
                "id": "owner/name",
                "sha": self.revision,
                "siblings": [{"rfilename": "test.csv"}],
                "tags": [],
            }
            body = json.dumps(about).encode()
        elif path.endswith("/test.csv"):
            body = self.content
        else:
            body = b"{}"
            headers = {"X-Error-Code": "EntryNotFound"}
        self.send_response(404 if "X-Error-Code" in headers else 200)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@pytest.fixture
def hub():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


FILE = "hf://datasets/owner/name/test.csv"


@pytest.mark.parametrize("source", [repr("owner/name"), f"pandas.read_csv({FILE!r})"])
def test_a_data_set_of_the_hub_is_read_over_http(hub, source, tmp_path):
    """In a process of its own, because the Hub's address is read at import."""
    with pytest.raises(ValueError, match="pandas.read_csv"):
        read(FILE)
    code = f"print(nj.data.own_data({source}).released()['gpt'].tolist())"
    code = f"import pandas, nlgjudge as nj; {code}"
    apart = {
        "HF_ENDPOINT": hub,
        "HF_HOME": str(tmp_path),
        "HF_HUB_OFFLINE": "0",
        "NO_PROXY": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | apart, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[5.0, 3.0, 4.0, 2.0]", done.stderr
