"""The contents name every notebook and every printed table, with the ledger's counts."""

import re

import pytest

from nlgjudge.data.paths import root
from nlgjudge.ledger.printed import all_published
from nlgjudge.studies import notebook_index as contents

NAMES = {path.stem for path in (root() / "notebooks").glob("*.ipynb")}


def linked(text):
    return set(re.findall(r"\]\((\w+)\.ipynb\)", text))


def test_every_notebook_is_reached():
    shown = [contents.markdown(contents.contents(paper)).data for paper in contents.papers()]
    others = contents.beyond("00", "ablation", "beyond", "judges", "reproducibility", "template")
    shown.append(contents.markdown(others, index=False).data)
    found = linked("".join(shown))
    assert found <= NAMES
    about_a_paper = {name for name in NAMES if name.split("_")[0] in contents.papers()}
    assert NAMES - found - {"index"} <= about_a_paper - {name for name in NAMES if "_table" in name}


def test_every_printed_table_has_a_line_with_a_notebook_and_counts():
    published = all_published()
    published["family"] = published["paper"].str.removesuffix("_v1")
    tables = {paper: contents.contents(paper) for paper in published["family"].unique()}
    for (paper, artefact), cells in published.groupby(["family", "artefact"]):
        line = tables[paper].loc[artefact.replace("table", "Table ")]
        assert linked(line["notebook"]) <= NAMES and linked(line["notebook"])
        assert sum(map(int, re.findall(r"\d+", line["cells"]))) == (cells["printed"] != "").sum()
        assert line["verdict"].endswith((".", "?"))


def test_a_table_of_which_nothing_ran_says_what_it_needs():
    table = contents.contents("closer_look")
    assert (
        "not run" in table.loc["Table 6", "cells"] and "exact" not in table.loc["Table 6", "cells"]
    )
    assert table.loc["Table 6", "verdict"].startswith(
        "None of its cells was run; most need gpt-3.5-turbo-0613"
    )
    assert table.loc["Table 6", "verdict"] != table.loc["Table 2", "verdict"]


def test_counts_add_up():
    table = contents.counts(contents.papers())
    assert (table[contents.COUNTS].sum(axis=1) == table["printed"]).all()
    assert table["printed"].sum() == (all_published()["printed"] != "").sum()


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("the rows of 2.1 agree. Others do not.", "The rows of 2.1 agree."),
        ("One\nline. Two.", "One line."),
        ("Is it so? Yes.", "Is it so?"),
    ],
)
def test_first_sentences(text, sentence):
    assert contents.first_sentence(text) == sentence
