"""What a notebook's first cells show follows the run, in a kernel."""

import os
from contextlib import suppress
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

CELLS = [
    'import nlgjudge as nj\nfinding = nj.Finding("mine")\nfinding',
    "finding.figure",
    "size = 2  # of it",
    "value = size**2",
    """finding = nj.Finding("mine", "How large?", "It is {value:.1f}.")
finding.check({"value": value} | {"other": (value, value - 1, value + 1)}, size=size)""",
    """import matplotlib.pyplot as plt
figure, axis = plt.subplots(figsize=(value, 1)); axis.plot([0, 1])
finding.write(figure)""",
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the notebook with its own parameters, or those in an injected cell; what is at its top after each cell."""
    for name in ("data", "notebooks", "paper_tables/findings", "figures"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "data/registry.csv").touch()
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "out"))

    def run(*injected, until=None):
        """Cells of a run, which ends before the cell `until`."""
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in CELLS])
        book.cells[2].metadata["tags"] = ["parameters"]
        nbformat.write(book, tmp_path / "notebooks/mine.ipynb")
        (tmp_path / "paper_tables/parameters.json").write_text('{"mine": {"size": "2"}}')
        book.cells[3:3] = [nbformat.v4.new_code_cell(one) for one in injected]
        book.cells = book.cells[:until]
        with suppress(CellExecutionError):
            NotebookClient(book, timeout=60).execute(cwd=str(tmp_path))
        return book.cells

    run(until=0)
    exec("\n".join([CELLS[0], *CELLS[2:]]), {})  # noqa: S102
    for kind in ("findings/mine.csv", "figures/mine.png"):
        target = tmp_path / ("paper_tables" if "csv" in kind else "") / kind
        target.write_bytes((tmp_path / "out" / kind).read_bytes())
    return run


def top(cells):
    return cells[0].outputs[0]["data"]["text/markdown"]


def test_the_committed_run_leaves_the_top_as_it_is(run):
    cells = run()
    assert "**Answer:** It is 4.0." in top(cells)
    assert "image/png" in cells[1].outputs[0]["data"]
    assert cells[1].outputs[0]["data"] == run(until=2)[1].outputs[0]["data"]
    assert top(cells) == top(run(until=2))
    assert not cells[5].outputs  # the figure is at the top


def test_a_changed_run_is_at_the_top_beside_the_committed_one(run):
    cells = run("size = 3")
    text, folded = top(cells).split("<details>")
    assert text.startswith("**This run:** `size = 3` (committed `2`).") and "It is 9.0." in text
    assert "| other | 9 [8, 10] | 4 [3, 5] |" in text and "It is 4.0." in folded
    assert cells[1].outputs[0]["data"]["image/png"] != run()[1].outputs[0]["data"]["image/png"]
    assert "now stands at the top" in cells[5].outputs[0]["data"]["text/markdown"]
    assert not cells[6].outputs


def test_a_run_that_stops_says_that_the_top_is_another_one(run):
    cells = run("size = 3", "1 / 0")
    assert top(cells).startswith("**This run:** `size = 3` (committed `2`). Its answer takes this")
    assert "takes this place" in cells[1].outputs[0]["data"]["text/markdown"]


def test_a_run_that_goes_back_to_the_committed_parameters_shows_the_committed_answer(run):
    assert top(run("size = 3", CELLS[3], CELLS[4], "size = 2")) == top(run())


def test_a_run_that_differs_says_so_at_the_top(run):
    committed = Path(os.environ["NLGJUDGE_ROOT"], "paper_tables/findings/mine.csv")
    committed.write_text(committed.read_text().replace("value,,4,", "value,,7,"))
    said = top(run())
    assert said.startswith("Other than committed: value is 4, committed 7.") and "It is 4.0" in said


def test_a_refresh_shows_what_it_will_commit(run, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_REFRESH", "1")
    committed = Path(os.environ["NLGJUDGE_ROOT"], "paper_tables/findings/mine.csv")
    before = committed.read_text()
    committed.write_text(before.replace("value,,4,", "value,,7,"))
    refreshed = top(run())
    committed.write_text(before)
    assert refreshed == top(run())
