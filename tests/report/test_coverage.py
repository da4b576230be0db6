"""Counts of a small ledger by hand, and the README's generated part."""

import pandas as pd
import pytest

from nlgjudge.report.coverage import by_table, coverage, markdown, update_readme

BEGIN, END = "<!-- results: generated from the ledger -->", "<!-- end of results -->"
ROWS = pd.DataFrame([
    ("dhp", "table4", "exact", "dhp_nb"), ("geval", "table1", "exact", "b"),
    ("geval", "table1", "exact", "a"),
    ("geval", "table1", "close", "a"), ("geval", "table1", "differs", "a"),
    ("geval", "table1", "not_run", ""),
    ("geval", "table2", "not_run", ""), ("geval", "table2", "sign_flipped", "c"),
], columns=["paper", "artefact", "verdict", "notebook"]).assign(row="A")


def test_coverage_by_hand():
    found = coverage(ROWS)
    assert found.index.tolist() == ["G-Eval (EMNLP 2023)", "DHP", "all"]  # the papers' order
    assert list(found.columns) == ["cells", "exact", "close", "other", "not run"]
    assert found.values.tolist() == [[7, 2, 1, 2, 2], [1, 1, 0, 0, 0], [8, 3, 1, 2, 2]]


def test_by_table_by_hand():
    found = by_table(ROWS)
    assert found.loc[("geval", "table1")].tolist() == [5, 2, 1, 1, 1, "a, b"]
    assert found.loc[("geval", "table2")].tolist() == [2, 0, 0, 1, 1, "c"]


def test_markdown_links_the_notebooks():
    lines = markdown(ROWS).splitlines()
    assert ("| G-Eval (EMNLP 2023) | 1 | 5 | 2 | 1 | 1 | 1 | [a](notebooks/a.ipynb), "
            "[b](notebooks/b.ipynb) |") in lines
    assert lines[-1] == "| **all** | | **8** | **3** | **1** | **2** | **2** | |"


def test_update_readme_replaces_only_what_it_generated(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    for _ in range(2):
        update_readme(readme, ROWS)
        text = readme.read_text(encoding="utf-8")
        assert text == f"before\n{BEGIN}\n{markdown(ROWS)}\n{END}\nafter\n"
    readme.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="lacks the marks <!-- results"):
        update_readme(readme, ROWS)
    assert readme.read_text(encoding="utf-8") == "no marks"
