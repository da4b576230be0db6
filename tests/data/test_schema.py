"""The tidy schema: keys, counts, joins and typed tables."""

import inspect
import re

import pandas as pd
import pytest

from nlgjudge.data import benchmarks
from nlgjudge.data.registry import entries
from nlgjudge.data.schema import build

ITEM_ROWS = [(None, "d1", s, "source", f"text {s}", ["ref"], "") for s in ("A", "B")]
RATING_ROWS = [
    ("d1/A", "fluency", "r1", 2),
    ("d1/A", "fluency", "r2", 5),
    ("d1/B", "fluency", "r1", 3),
]
SCORE_ROWS = [
    ("d1/A", "rouge", "", 0.5, "f", "recomputed"),
    ("d1/B", "chat", "fluency", 4, "", "rejudged"),
]


@pytest.fixture
def toy():
    return build("toy", ITEM_ROWS, RATING_ROWS, SCORE_ROWS, files={"f": "0" * 40}, expect=(1, 2))


def test_human_averages_raters(toy):
    human = toy.human()
    assert list(human) == ["item_id", "doc_id", "system_id", "fluency"]
    assert list(human["fluency"]) == [3.5, 3.0]  # (2 + 5) / 2, and one rater's 3


def test_released_scores_are_columns(toy):
    released = toy.released().set_index("item_id")
    assert list(released) == ["rouge", "chat:fluency"]
    assert released.loc["d1/A", "rouge"] == 0.5 and released.loc["d1/B", "chat:fluency"] == 4


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((ITEM_ROWS * 2, []), r"toy: items repeat \['d1/A'\]"),
        ((ITEM_ROWS, RATING_ROWS[:1] * 2), r"toy: ratings repeat \['d1/A', 'fluency', 'r1'\]"),
        ((ITEM_ROWS, [], SCORE_ROWS[:1] * 2), r"toy: scores repeat \['d1/A', 'rouge', ''\]"),
        ((ITEM_ROWS, [("d9/Z", "f", "r1", 1)]), "toy: ratings name 1 unknown items, as 'd9/Z'"),
    ],
)
def test_bad_keys_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        build("toy", *arguments)


def test_wrong_counts_are_refused():
    with pytest.raises(ValueError, match="expected 100 documents and 1600 items .*, got 1 and 2"):
        build("toy", ITEM_ROWS, [], expect=(100, 1600))


def test_with_scores_joins_by_key_whatever_the_order(toy):
    joined = toy.with_scores(pd.DataFrame({"item_id": ["d1/B", "d1/A"], "mine": [0.2, 0.1]}))
    assert list(joined["mine"]) == [0.1, 0.2] and list(joined["fluency"]) == [3.5, 3.0]
    partial = toy.with_scores(pd.DataFrame({"item_id": ["d1/B"], "mine": [0.2]}))
    assert len(partial) == 2 and partial["mine"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"item_id": ["d1/A", "d1/A"], "m": [1, 2]}, "got 1 repeated and 0 unknown items"),
        ({"item_id": ["d9/Z"], "m": [1]}, "got 0 repeated and 1 unknown items"),
        ({"item_id": ["d1/A"], "fluency": [1]}, r"got 0 .* and 0 .* columns \['fluency'\]"),
    ],
)
def test_with_scores_refuses(toy, columns, message):
    with pytest.raises(ValueError, match=message):
        toy.with_scores(pd.DataFrame(columns))


@pytest.mark.parametrize("name", [None, "summeval", "wmt22_de_en"])
def test_typed_datasets_round_trip(toy, name):
    made = benchmarks.load(name, "sample") if name else toy  # WMT has neither ratings nor scores
    typed = made.datasets()
    assert typed["ratings"].features["score"].dtype == "float64"
    assert typed["items"].features["references"].feature.dtype == "string"
    for table in ("items", "ratings", "scores"):
        back, ours = typed[table].to_pandas(), getattr(made, table)
        if table == "items":
            back["references"] = back["references"].map(list)
        assert list(back) == list(ours) and back.to_dict("list") == ours.to_dict("list")


def test_a_benchmark_prints_itself_as_a_short_table(toy):
    title, *lines = repr(toy).splitlines()
    assert title == "toy" and len(lines) == 6
    assert lines[1:5] == [
        "  documents  1",
        "  systems    2",
        "  items      2",
        "  aspects    fluency (2 to 5)",
    ]
    assert toy._repr_html_().count("<tr>") == 6


def test_its_licence_is_that_of_the_files_that_were_read():
    (entry,) = entries("openmeva", role="data")
    read = build("a<b", ITEM_ROWS, [], files={entry.path: entry.blob})
    assert f"  licence    {entry.licence}" in repr(read).splitlines()
    assert "  aspects    none, the texts are not rated" in repr(read).splitlines()
    assert "a&lt;b" in read._repr_html_()
    mine = build("mine", ITEM_ROWS, [], source="own")
    assert repr(mine).splitlines()[-1] == "  licence    that of your file"


def test_the_help_of_load_lists_what_can_be_loaded():
    listed = re.findall(r"^ *- ``(\w+)``: .+$", inspect.getdoc(benchmarks.load), re.M)
    assert listed == list(benchmarks.BENCHMARKS) and "summeval" in listed
