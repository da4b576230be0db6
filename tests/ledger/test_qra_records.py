"""The committed records of reproducibility: what the ledger gives, as the schema says, with their badges."""

import json
from xml.etree import ElementTree

import jsonschema
import pandas as pd
import pytest

from nlgjudge.data.paths import root
from nlgjudge.ledger import qra_records
from nlgjudge.ledger.ledger import committed
from nlgjudge.ledger.printed import KEY, PAPERS, all_published
from nlgjudge.ledger.qra_defaults import (
    keep_library_defaults,
    library_defaults,
    with_library_default,
)
from nlgjudge.ledger.qra_records import badge, badge_words, reproducibility_record, write_records

FOLDER = root() / "paper_tables" / "reproducibility"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def schema():
    return json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Made once from the committed ledger; it takes some seconds, mostly for the papers' sentences."""
    folder = tmp_path_factory.mktemp("records")
    write_records(committed(), folder)
    return folder


def test_committed_records_and_badges_are_what_the_committed_ledger_gives(made):
    records = {path.name: path.read_text("utf-8") for path in (made / "reproducibility").iterdir()}
    assert set(records) == {f"{paper}.json" for paper in PAPERS}
    for name, text in records.items():
        assert (FOLDER / name).read_text("utf-8") == text, f"{name}: run `make refresh`"
    assert {path.name for path in FOLDER.iterdir()} == {
        *records,
        "schema.json",
        "library_default.csv",
    }
    for path in (made / "figures").iterdir():
        assert (root() / "figures" / path.name).read_text("utf-8") == path.read_text("utf-8"), (
            path.name
        )


def test_records_are_as_the_schema_says(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    for paper in PAPERS:
        jsonschema.validate(json.loads((FOLDER / f"{paper}.json").read_text("utf-8")), schema)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("coverage"),
        lambda record: record["coverage"].update(compared=-1),
        lambda record: record["evidence"][0].update(evidence="all together"),
        lambda record: record["evidence"][0]["type_i"]["cv_star"].update(value="0.02"),
        lambda record: record.update(score=1),
    ],
)
def test_the_schema_refuses_other_records(schema, change):
    record = json.loads((FOLDER / "geval.json").read_text("utf-8"))
    change(record)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, schema)


def test_coverage_adds_up_by_table_and_over_tables():
    printed = all_published()
    single = (
        printed[(printed["aspect"] != "AVG") & printed["value"].notna()].groupby("paper").size()
    )
    for paper in PAPERS:
        record = json.loads((FOLDER / f"{paper}.json").read_text("utf-8"))
        assert record["coverage"]["printed"] == single.get(paper, 0)
        for count in ("printed", "compared", "not_run"):
            assert (
                sum(table["coverage"][count] for table in record["tables"])
                == record["coverage"][count]
            )
        for part in [record, *record["tables"]]:
            compared = sum(line["cells"] + line["relabelled"] for line in part["evidence"])
            assert compared == part["coverage"]["compared"]


def test_an_unknown_paper_is_named():
    with pytest.raises(ValueError, match="paper 'nope': expected one of geval"):
        reproducibility_record("nope")


# ---- a library's default beside the variant that was found


ROUGE_1 = {"row": "ROUGE-1", "dataset": "summeval", "level": "sample", "coefficient": "spearman"}
LEDGER = pd.DataFrame(
    [
        {
            **ROUGE_1,
            "aspect": "fluency",
            "published": "0.10",
            "ours": 0.10,
            "evidence": "recomputed",
            "verdict": "exact",
        },
        {
            **ROUGE_1,
            "aspect": "AVG",
            "published": "0.20",
            "ours": 0.20,
            "evidence": "recomputed",
            "verdict": "exact",
        },
        {
            **ROUGE_1,
            "aspect": "coherence",
            "published": "0.30",
            "ours": 0.3,
            "evidence": "other_run",
            "verdict": "close",
        },
    ]
).assign(paper="geval", artefact="table1", difference=0.0, note="")


@pytest.fixture
def without_sentences(monkeypatch):
    """The papers' sentences take most of a record's time, and some tests are not about them."""
    monkeypatch.setattr(qra_records, "listed", lambda: pd.DataFrame(columns=["paper"]))


def test_the_default_stands_beside_recomputed_cells_and_no_others(without_sentences):
    defaults = LEDGER[KEY].assign(ours=[0.15, 0.9, 0.9])
    fitted, default = with_library_default(LEDGER, defaults)
    assert fitted["aspect"].tolist() == ["fluency"] and fitted["ours"].tolist() == [0.10]
    assert default["ours"].tolist() == [0.15] and default["difference"].tolist() == pytest.approx(
        [0.05]
    )
    beside = reproducibility_record("geval", LEDGER, defaults)["library_default"]
    assert beside["cells"] == 1 and beside["with_found_variant"]["type_i"]["cv_star"]["value"] == 0
    by_hand = 112.5 * 3.14159265**0.5 * 0.05 / (1.10 + 1.15)
    assert beside["with_default"]["type_i"]["cv_star"]["value"] == pytest.approx(by_hand, abs=1e-4)


def test_without_a_default_there_is_nothing_beside(tmp_path, without_sentences):
    none = library_defaults(tmp_path / "absent.csv")
    assert none.empty and reproducibility_record("geval", LEDGER, none)["library_default"] is None


def test_defaults_of_a_run_are_kept_rounded_and_read_again(tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    kept = keep_library_defaults(LEDGER[KEY].assign(ours=[0.123456789, -1e-9, 0.5]))
    path = tmp_path / "reproducibility" / "library_default.csv"
    read = library_defaults(path)
    assert read["ours"].tolist() == [0.0, 0.5, 0.123457]  # in the order of the aspects
    # A notebook draws the same points where the texts are here and where it reads what was kept.
    assert kept["ours"].tolist() == read["ours"].tolist()
    assert "-0.0" not in path.read_text("utf-8")


def test_a_runs_own_defaults_are_taken_before_the_committed_ones(
    tmp_path, monkeypatch, without_sentences
):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    monkeypatch.setattr(qra_records, "PAPERS", {"geval": "G"})
    keep_library_defaults(LEDGER[KEY].assign(ours=0.9))
    (path,) = write_records(LEDGER, tmp_path)
    cv_star = json.loads(path.read_text("utf-8"))["library_default"]["with_default"]["type_i"][
        "cv_star"
    ]["value"]
    assert cv_star == pytest.approx(112.5 * 3.14159265**0.5 * 0.8 / (1.1 + 1.9), abs=1e-3)


# ---- badges


def record(cells, printed, value, title="A & B <paper>"):
    lines = (
        [{"evidence": "recomputed", "cells": cells, "type_i": {"cv_star": {"value": value}}}]
        if cells
        else []
    )
    return {"title": title, "coverage": {"printed": printed}, "evidence": lines}


@pytest.mark.parametrize(
    "made_of, words",
    [
        (record(60, 234, 0.0178), "60 of 234 cells · CV* 0.02, variants fitted"),
        (record(5, 9, None), "5 of 9 cells"),
        (record(0, 9, None), "0 of 9 cells"),
        (record(0, 0, None), "no printed correlations"),
    ],
)
def test_a_badge_says_what_was_recomputed(made_of, words):
    assert badge_words(made_of) == words
    drawn = ElementTree.fromstring(badge(made_of))
    title = drawn.findtext(f"{SVG}title")
    assert drawn.get("role") == "img" and drawn.get("aria-label") == title
    assert (
        title.startswith(f"A & B <paper>: recomputed {words}.")
        and "so that it fits the print" in title
    )
    shown = [text.text for text in drawn.iter(f"{SVG}text")]
    assert shown == ["recomputed", words]


def test_texts_of_a_badge_stay_in_their_boxes():
    """Verdana is the widest of its fonts: 7 pixels for most letters at this size, 3.6 for a blank, a dot or a comma."""
    drawn = ElementTree.fromstring(badge(record(1060, 2234, 17.178)))
    boxes = [float(box.get("width")) for box in drawn.iter(f"{SVG}rect")]
    texts = [text.text for text in drawn.iter(f"{SVG}text")]
    for box, text in zip(boxes, texts):
        narrow = sum(letter in " .,·ifltr*" for letter in text)
        assert 4.6 * narrow + 7 * (len(text) - narrow) < box
    assert float(drawn.get("width")) == pytest.approx(sum(boxes), abs=0.1)


def test_badges_have_no_other_evidence():
    substitutes = pd.DataFrame({"evidence": ["substitute_judge"], "cells": [9]}).to_dict("records")
    assert (
        badge_words({"title": "", "coverage": {"printed": 9}, "evidence": substitutes})
        == "0 of 9 cells"
    )
