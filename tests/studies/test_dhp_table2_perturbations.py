"""DHP's settings, and its changes made visible."""

import pandas as pd
import pytest

import nlgjudge as nj


@pytest.fixture
def statistics():
    table = nj.published("dhp", "table2")
    rows = table.loc[table["column"] == "Avg NLTK Statistics", "row"]
    return pd.DataFrame({"ours": "", "verdict": "not_run", "note": "none"}, index=rows)


def test_the_plan_says_what_tables_1_and_2_print(statistics, tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    found = nj.ledger.settings("dhp", nj.studies.dhp_settings(statistics), notebook="test")
    assert found.groupby(["artefact", "verdict"]).size().to_dict() == {
        ("table1", "same"): 21,
        ("table2", "not_run"): 7,
        ("table2", "same"): 12,
        ("table2", "stand_in"): 9,
        ("table3", "not_run"): 24,
    }
    saved = pd.read_csv(tmp_path / "settings" / "test.csv", keep_default_na=False)
    assert saved.equals(found)


def test_another_size_is_seen(statistics, tmp_path, monkeypatch):
    from nlgjudge.papers.dhp import perturbing as perturb

    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    monkeypatch.setitem(
        perturb.DATASETS,
        "sumpubmed",
        ("summarization", {"deletions": (20, 99), "typos": (20, 100)}),
    )
    found = nj.ledger.settings(
        "dhp", nj.studies.dhp_settings(statistics), notebook="test"
    ).set_index("row")
    assert found.loc["Summarization / (C, R) Random Deletions", "verdict"] == "differs"
    assert found.loc["Summarization / (C, R) Random Typos", "verdict"] == "same"


@pytest.mark.parametrize(
    "before, after, marked",
    [
        ("a cat", "a ct", "a c<del style='color:#b2182b'>a</del>t"),
        ("<b>", "<b>x", "&lt;b&gt;<ins style='color:#1b7837'>x</ins>"),
        ("One. Two.", "One. Two.", "One. Two."),
    ],
)
def test_changes_are_marked_and_texts_escaped(before, after, marked):
    assert nj.studies.highlight(before, after) == marked
