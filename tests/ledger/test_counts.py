"""Counts of a small ledger by hand; all pages show the same counts of the committed one."""

import re

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.paths import root
from nlgjudge.ledger.ledger import cell_counts, committed, group, measures
from nlgjudge.ledger.verdicts import GROUPS, OF_OTHERS
from nlgjudge.notebook.figures import counts, overview

CSV = root() / "paper_tables" / "ledger.csv"
CELLS = [  # paper, table, published, verdict, evidence, note, group
    ("geval", "table1", "0.1", "exact", "recomputed", "", "reproduces"),
    ("geval", "table1", "0.1", "exact", "released_scores", "", "reproduces"),
    ("geval", "table1", "0.1", "close", "recomputed", "", "reproduces"),
    ("geval", "table1", "0.1", "sign_flipped", "recomputed", "why", "differs"),
    ("geval", "table2", "0.1", "misprint", "none", "why", "contradicts itself"),
    ("geval", "table2", "0.1", "not_run", "none", "a model", "not checkable"),
    ("geval", "table2", "", "not_run", "none", "printed as a dash; level not stated", "dash"),
    # A value of ours beside a number that was lost is no comparison.
    ("dhp", "table4", "", "not_run", "recomputed", "lost in extraction; row recovered", "lost"),
    ("dhp", "table4", "0.1", "relabelled", "recomputed", "why", "differs"),
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
def test_a_value_of_another_model_run_or_author_neither_reproduces_nor_differs(rows, evidence):
    found = group(rows.assign(evidence=evidence))
    expected = rows["expected"].replace(["reproduces", "differs"], "by others")
    assert found.tolist() == expected.tolist()


def test_counts_by_paper_and_table(rows):
    found = cell_counts(rows)
    assert list(found) == ["cells", GROUPS[0], "exact", *GROUPS[1:], "dash", "lost", "constant"]
    assert found.index.tolist() == ["geval", "dhp", "llmbar"]  # the ledger's order
    of_geval, of_dhp, of_llmbar = found.values.tolist()
    assert of_geval == [6, 3, 2, 1, 1, 0, 1, 1, 0, 0]
    assert of_dhp == [1, 0, 0, 1, 0, 0, 0, 0, 1, 0]
    assert of_llmbar == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert cell_counts(rows, ["paper", "artefact"])["cells"].tolist() == [4, 2, 1, 0]


def test_the_committed_column_is_the_group_of_each_cell():
    rows = committed()
    assert rows["group"].tolist() == group(rows).tolist()
    assert set(rows.loc[rows["published"] == "", "group"]) == {"dash", "lost"}


def outputs_of(notebook):
    book = nbformat.read(root() / "notebooks" / f"{notebook}.ipynb", as_version=4)
    data = [output.get("data", {}) for cell in book.cells for output in cell.get("outputs", [])]
    return "".join(part.get("text/markdown", "") + part.get("text/plain", "") for part in data)


def test_every_page_has_the_counts_that_pandas_gives():
    text = (root() / "paper_tables" / "README.md").read_text(encoding="utf-8")
    cells = pd.read_csv(CSV)
    cells["all"] = "all"
    cells["measure"] = "all " + measures(cells)
    published = cells[cells["published"].notna() & (cells["group"] != "constant")]
    papers, index = outputs_of("01_papers"), re.sub(" +", " ", outputs_of("00_index"))
    for by in ("paper", "measure", "all"):
        for key, own in published.groupby(by):
            sizes = own["group"].value_counts().reindex(GROUPS, fill_value=0)
            exact = ((own["group"] == GROUPS[0]) & (own["verdict"] == "exact")).sum()
            numbers = [len(own), sizes.iloc[0], exact, *sizes.iloc[1:]]
            title = nj.papers.titles().get(key, key)
            if by != "all":
                assert f"| {title} | {' | '.join(f'{one:,}' for one in numbers)} |" in text
            if by != "measure":
                line = [len(own), *sizes]
                assert f"| {title} | {' | '.join(f'{one:,}' for one in line)} |" in papers
            if by == "paper":
                assert f"{title} {' '.join(map(str, numbers[:3]))}" in index
    exact = committed().query("group == 'reproduces' and verdict == 'exact'")
    for measure in ("correlations", "accuracies"):
        own = exact[measures(exact) == measure]
        different = own.drop_duplicates(["dataset", "aspect", "level", "coefficient", "ours"])
        single = (different["aspect"] != "AVG").sum()
        said = f"{len(own):,} exact {measure} (are )?{len(different)} (different results )?"
        assert re.search(rf"{said}\({single} without\s+averages\)", text), measure


def test_the_picture_of_the_counts_has_a_bar_a_paper():
    rows = committed()
    figure = counts(rows, title="Papers")
    (axis,) = figure.axes
    sizes = cell_counts(rows).rename(index=nj.papers.titles()).iloc[::-1]
    assert [label.get_text() for label in axis.get_yticklabels()] == sizes.index.tolist()
    widths = [bar.get_width() for bar in axis.patches]
    expected = sizes[GROUPS].div(sizes["cells"], axis=0).to_numpy().T.ravel()
    assert widths == pytest.approx(expected)
    plt.close(figure)


@pytest.mark.parametrize("paper", ["chatgpt", "closer_look"])
def test_the_summary_figure_keeps_others_apart(paper):
    rows = committed().query("paper == @paper")
    figure = overview(rows, title="Paper")
    drawn = [sum(len(c.get_offsets()) for c in axis.collections[1::2]) for axis in figure.axes]
    compared = rows[rows["ours"].notna() & (rows["published"] != "")]
    assert f"{(rows['group'] == GROUPS[0]).sum()} of " in figure.get_suptitle()
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
