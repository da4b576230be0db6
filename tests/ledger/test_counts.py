"""Counts of a small ledger by hand; README, summary figure and index show the counts of the committed one."""

import re

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge import workflow
from nlgjudge.data.paths import root
from nlgjudge.ledger.figures import overview
from nlgjudge.ledger.ledger import cell_counts, committed, group, measures
from nlgjudge.ledger.verdicts import OF_OTHERS

CSV = root() / "paper_tables" / "ledger.csv"
CELLS = [  # paper, table, published, verdict, evidence, note, group
    ("geval", "table1", "0.1", "exact", "recomputed", "", "exact"),
    ("geval", "table1", "0.1", "exact", "released_scores", "", "exact"),
    ("geval", "table1", "0.1", "close", "recomputed", "", "close"),
    ("geval", "table1", "0.1", "sign_flipped", "recomputed", "why", "other"),
    ("geval", "table2", "0.1", "misprint", "none", "why", "misprint"),
    ("geval", "table2", "0.1", "not_run", "none", "a model", "not run"),
    ("geval", "table2", "", "not_run", "none", "printed as a dash; level not stated", "dash"),
    # A value of ours beside a number that was lost is no comparison.
    ("dhp", "table4", "", "not_run", "recomputed", "lost in extraction; row recovered", "lost"),
    ("dhp", "table4", "0.1", "relabelled", "recomputed", "why", "other"),
    ("llmbar", "table6", "0.5", "not_run", "none", "a constant of the table", "constant"),
]


@pytest.fixture
def rows():
    names = ["paper", "artefact", "published", "verdict", "evidence", "note", "expected"]
    frame = pd.DataFrame(CELLS, columns=names).assign(row="A")
    return frame.assign(group=group(frame))


def test_each_cell_has_one_group(rows):
    assert rows["group"].tolist() == rows["expected"].tolist()


@pytest.mark.parametrize("evidence", OF_OTHERS)
def test_a_cell_of_another_model_run_or_author_is_neither_exact_nor_close(rows, evidence):
    found = group(rows.assign(evidence=evidence))
    assert found.tolist() == rows["expected"].replace(["exact", "close"], "other").tolist()


def test_counts_by_paper_and_table(rows):
    found = cell_counts(rows)
    columns = [
        "cells",
        "exact",
        "close",
        "other",
        "misprint",
        "not run",
        "dash",
        "lost",
        "constant",
    ]
    assert list(found) == columns
    assert found.index.tolist() == ["geval", "dhp", "llmbar"]  # the ledger's order
    of_geval, of_dhp, of_llmbar = found.values.tolist()
    assert of_geval == [6, 2, 1, 1, 1, 1, 1, 0, 0]
    assert of_dhp == [1, 0, 0, 1, 0, 0, 0, 1, 0]
    assert of_llmbar == [0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert cell_counts(rows, ["paper", "artefact"])["cells"].tolist() == [4, 2, 1, 0]


def test_the_committed_column_is_the_group_of_each_cell():
    rows = committed()
    assert rows["group"].tolist() == group(rows).tolist()
    assert set(rows.loc[rows["published"] == "", "group"]) == {"dash", "lost"}


def test_the_readme_has_the_counts_that_pandas_gives():
    text = (root() / "README.md").read_text(encoding="utf-8")
    table = text.split(workflow.BEGIN)[1].split(workflow.END)[0].strip().splitlines()
    shown = [[part.strip() for part in line.strip("|").split("|")] for line in table]
    shown = pd.DataFrame(shown[2:], columns=shown[0]).set_index("paper")
    shown = shown.replace(",", "", regex=True).astype(int)
    cells = pd.read_csv(CSV)
    for measure, own in cells.groupby(measures(cells)):
        line = shown.loc[f"all {measure}"]
        sizes = own.groupby("group").size().reindex(line.index.drop("cells"), fill_value=0)
        assert line.drop("cells").to_dict() == sizes.to_dict()
        printed = own["published"].notna() & (own["group"] != "constant")
        assert line["cells"] == printed.sum()
    sizes = cells.groupby(["paper", "group"]).size().unstack(fill_value=0)
    sizes = sizes.rename(index=nj.papers.titles())
    assert shown.loc[sizes.index, sizes.columns].equals(sizes.rename_axis(None, axis=1))
    exact = committed().query("group == 'exact'")
    for measure in ("correlations", "accuracies"):
        own = exact[measures(exact) == measure]
        different = own.drop_duplicates(["dataset", "aspect", "level", "coefficient", "ours"])
        single = (different["aspect"] != "AVG").sum()
        said = f"{len(own):,} exact {measure} (are )?{len(different)} (different results )?"
        assert re.search(rf"{said}\({single} without\s+averages\)", text), measure


@pytest.mark.parametrize("paper", ["chatgpt", "closer_look"])
def test_the_summary_figure_has_a_bar_for_each_group_and_keeps_others_apart(paper):
    rows = committed().query("paper == @paper")
    figure = overview(rows, title="Paper")
    *panels, bars = figure.axes
    assert [bar.get_width() for bar in bars.patches] == cell_counts(rows).iloc[0, 1:6].tolist()
    drawn = [sum(len(c.get_offsets()) for c in axis.collections[1::2]) for axis in panels]
    compared = rows[rows["ours"].notna() & (rows["published"] != "")]
    of_others = compared["evidence"].isin(OF_OTHERS).sum()
    assert drawn == [len(compared) - of_others, *([of_others] if of_others else [])]
    plt.close(figure)


def test_the_index_links_every_notebook_and_names_every_published_table():
    book = nbformat.read(root() / "notebooks" / "00_index.ipynb", as_version=4)
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("data", {}).get("text/markdown", "") for output in outputs)
    linked = set(re.findall(r"\]\((\w+)\.ipynb\)", text))
    assert linked | {"00_index"} == set(nj.Finding.notebooks())
    papers = [nj.paper(key) for key in nj.papers.titles()]
    listed = {(one.key, name): shown for one in papers for name, shown in one.artefacts.items()}
    rows = committed()
    assert set(zip(rows["paper"].str.removesuffix("_v1"), rows["artefact"])) <= set(listed)
    assert {shown.notebook for shown in listed.values()} <= set(nj.Finding.notebooks())
