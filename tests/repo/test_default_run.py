"""A copy run with other settings has no paragraph about the default run."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from nlgjudge.repo import default_run

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
PARAMETERS = 'judge = "surface"  # a judge\nsizes = (1, 2)  # some sizes\nlimit = None  # 0 for all'
ABOUT = "The rule rates all texts alike."


@pytest.fixture
def path(tmp_path):
    """A notebook with one paragraph about its default judge."""
    cells = [
        new_markdown_cell("# Tiny"),
        new_markdown_cell("## Settings"),
        new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
        new_markdown_cell("Any judge."),
        new_markdown_cell(ABOUT, metadata={"tags": [default_run.TAG]}),
        new_code_cell("import nlgjudge as nj\nnj.signature(judge=judge)"),
    ]
    made = tmp_path / "tiny.ipynb"
    nbformat.write(new_notebook(cells=cells, metadata=KERNEL), made)
    return made


def prose(path):
    return [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown"]


@pytest.mark.parametrize("parameters", [{}, {"judge": "surface", "sizes": [1, 2]}])
def test_the_default_run_keeps_every_paragraph(path, tmp_path, served, parameters):
    served.notebook(path, tmp_path / "out" / "tiny.ipynb", parameters)
    assert prose(tmp_path / "out" / "tiny.ipynb") == ["# Tiny", "## Settings", "Any judge.", ABOUT]


def test_another_run_leaves_them_out_and_says_so(path, tmp_path, served):
    before = path.read_bytes()
    served.notebook(path, tmp_path / "out" / "tiny.ipynb", {"judge": "openai:m", "sizes": [1, 2]})
    said = prose(tmp_path / "out" / "tiny.ipynb")
    note = (
        "*Run with `judge='openai:m'`. Paragraphs about the run with the default settings are "
        "left out.*"
    )
    assert said == ["# Tiny", note, "## Settings", "Any judge."]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "parameters, expected",
    [
        ({"limit": None}, {}),
        ({"limit": 0}, {"limit": 0}),
        ({"sizes": [1, 2]}, {}),
        ({"sizes": [1]}, {"sizes": [1]}),
        ({"judge": "surface", "limit": 3}, {"limit": 3}),
    ],
)
def test_what_counts_as_changed(path, parameters, expected):
    assert default_run.changed(path, parameters) == expected


def test_a_long_value_is_cut_in_the_note():
    assert len(default_run.note({"names": ["x" * 500]})) < 200
