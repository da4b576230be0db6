"""Texts that a spreadsheet would compute are written as texts, and numbers as numbers."""

from pathlib import Path

import pandas as pd
import pytest

from nlgjudge.data import spreadsheets

# These write tables that code finds cells in by their words, which are this project's own.
OF_OWN_WORDS = {
    "ledger/ledger.py",
    "ledger/printed.py",
    "workflow.py",
}


@pytest.mark.parametrize(
    "text", ["=1+1", "+1 is my rating", "-- none", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\n=1"]
)
def test_a_formula_gets_an_apostrophe(text):
    assert spreadsheets.as_text(text) == f"'{text}"


@pytest.mark.parametrize("value", ["=1", "-x", "'tis", "''", "'", "", "-4", "it's", None, -4])
def test_what_was_written_comes_back(value):
    assert spreadsheets.plain(spreadsheets.as_text(value)) == value


def test_every_table_with_words_of_others_is_written_here():
    package = Path(spreadsheets.__file__).parents[1]
    writers = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if ".to_csv(" in path.read_text(encoding="utf-8")
    }
    assert writers == OF_OWN_WORDS | {"data/spreadsheets.py"}


@pytest.mark.parametrize(
    "value", ["", "4", "-4", "+0.5", "-1e-3", "a = b", "4 - good", -4, -0.5, None, True]
)
def test_anything_else_stays(value):
    assert spreadsheets.as_text(value) is value


def test_cells_and_heads_of_a_table(tmp_path):
    frame = pd.DataFrame(
        {"=head": ["=1+1", "fine", None], "n": [-1.5, 2.0, 3.0], "mixed": ["-x", -2, "-2"]}
    )
    before = frame.copy()
    spreadsheets.write(frame, tmp_path / "t.csv")
    assert (
        tmp_path / "t.csv"
    ).read_text() == "'=head,n,mixed\n'=1+1,-1.5,'-x\nfine,2.0,-2\n,3.0,-2\n"
    pd.testing.assert_frame_equal(frame, before)
