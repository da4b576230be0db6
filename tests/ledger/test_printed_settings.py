"""Ledgers of what is no correlation."""

import pandas as pd
import pytest

import nlgjudge as nj


@pytest.fixture
def sizes(tmp_path, monkeypatch):
    """CoAScore's Table 1 (page 3) with what the print says, and the benchmark on request left out."""
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    lines = nj.published("coascore", "table1").assign(
        artefact="table1", ours=lambda t: t["printed"], note=""
    )
    away = lines["row"] == "IWSLT14"
    lines.loc[away, ["ours", "verdict", "note"]] = ["", "not_run", "on request"]
    return lines.drop(columns="printed")


def test_equal_strings_are_the_same_and_what_is_given_stays(sizes, tmp_path):
    sizes.loc[sizes["row"] == "BAGEL", ["ours", "note"]] = ["405", "one more"]
    found = nj.ledger.settings("coascore", sizes, notebook="mine")
    by_row = found[found["column"] == "Size"].set_index("row")
    assert by_row["verdict"].to_dict() == {
        "SummEval": "same",
        "TopicalChat": "same",
        "OpenMEVA": "same",
        "BAGEL": "differs",
        "IWSLT14": "not_run",
    }
    assert by_row.loc["BAGEL", ["published", "ours"]].tolist() == ["404", "405"]
    saved = pd.read_csv(tmp_path / "settings/mine.csv", keep_default_na=False)
    assert saved.equals(found)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda t: t.iloc[1:], "expected a line for each one that coascore prints and no others"),
        (
            lambda t: pd.concat([t, t.iloc[:1].assign(row="X")]),
            "no others, got .*'X', 'Size', 'right_only'",
        ),
        (lambda t: t.assign(verdict="fine"), "expected a verdict of same, within_range"),
        (lambda t: t.assign(note=""), "a note with each but the first, got .*'not_run'"),
    ],
)
def test_what_cannot_be_set_beside_the_print(sizes, change, message):
    with pytest.raises(ValueError, match=message):
        nj.ledger.settings("coascore", change(sizes), notebook="mine")
