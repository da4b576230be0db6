"""The strict runner, on tiny notebooks: every way to fail names notebook, cell and cause."""

import json

import nbformat
import nltk
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from nlgjudge.data import meteor
from nlgjudge.report.notebooks import NotebookError, check, keep_outputs, run, validate

SIGNATURE = "import nlgjudge as nj\nnj.signature()"
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
READS = """from nlgjudge.data.sample import documents
print(len(list(documents("story"))), "stories", size)"""


@pytest.fixture
def write(tmp_path):
    """Write a notebook: prose, a parameters cell, then the given cells."""
    def notebook(*cells, name="tiny", tag="parameters", last=SIGNATURE, kernel=KERNEL):
        codes = [new_code_cell(c) for c in (*cells, last) if c]
        first = new_code_cell("size = 3", metadata={"tags": [tag]})
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(new_notebook(cells=[new_markdown_cell("# Tiny"), first, *codes], metadata={
            "nlgjudge": {"benchmarks": ["openmeva"]}, **kernel}), path)
        return path
    return notebook


def failure(path, tmp_path, parameters=None, **options):
    with pytest.raises(NotebookError) as caught:
        run(path, tmp_path / "out" / "tiny.ipynb", parameters, **options)
    return str(caught.value)


def test_success_writes_outputs_and_what_was_used(write, tmp_path):
    path, output = write(READS), tmp_path / "out" / "tiny.ipynb"
    before = path.read_bytes()
    run(path, output, {"size": 5})
    executed = nbformat.read(output, as_version=4)
    printed = [o["text"] for c in executed.cells if c.cell_type == "code" for o in c.outputs if "text" in o]
    assert printed == ["12 stories 5\n"]  # the injected value, not the notebook's 3
    assert path.read_bytes() == before
    used = json.loads(output.with_suffix(".deps.json").read_text(encoding="utf-8"))
    assert "data/sample/story.jsonl" in used and "data/sample/dialogue.jsonl" not in used
    assert any(f.endswith("nlgjudge/data/sample.py") for f in used)
    assert not any(f.endswith("nlgjudge/metaeval/correlation.py") for f in used)


def test_an_unknown_parameter_names_the_known(write, tmp_path):
    message = failure(write(), tmp_path, {"size": 1, "sise": 2})
    assert message == "tiny.ipynb: no parameter 'sise': did you mean 'size'? There are size"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("default, value, message", [
    ('{"estimator": "mode"}', "samples=1", "expected names and values, as '{\"estimator\": \"mode\"}'"),
    ('["coherence"]', "coherence", "expected a list, as '[\"coherence\"]'"),
    ("20", "twenty", "expected a number, as 20"), ("20", True, "expected a number, not true or false"),
    ('"auto"', 3, 'expected a text, as "auto"'), ("True", 1, "expected true or false, as true"),
])
def test_a_value_of_another_kind_says_what_was_expected(write, tmp_path, default, value, message):
    path = write()
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].source = f"size = {default}  # a comment"
    nbformat.write(notebook, path)
    said = failure(path, tmp_path, {"size": value})
    assert said == f"tiny.ipynb: size={value!r}: {message}" and not (tmp_path / "out").exists()


def test_values_of_the_same_kind_none_and_what_a_notebook_computes_are_taken(write):
    path = write()
    for default, value in (("1", 0.5), ("[1, 2]", []), ("{}", {"a": 1}), ("None", 3), ("0", None),
                           ("False", True), ("len('abc')", "x"), ('""', "surface")):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells[1].source = f"size = {default}  # a comment"
        nbformat.write(notebook, path)
        check(path, {"size": value})


def test_a_missing_parameters_tag(write, tmp_path):
    message = failure(write(tag="settings"), tmp_path)
    assert message.startswith("tiny.ipynb: no cell is tagged 'parameters'; tag the one that assigns")


def test_a_notebook_without_a_kernel_name(write, tmp_path):
    assert failure(write(kernel={}), tmp_path, {"size": 1}).startswith("tiny.ipynb: ")


@pytest.mark.parametrize("parameters", [{}, {"size": 2}])
def test_a_failing_cell_is_named_as_in_the_notebook(write, tmp_path, parameters):
    # Prose is cell 0, parameters cell 1, then 2 and 3; an injected cell must not shift them.
    message = failure(write("ready = True", "assert size > 5, 'size is too small'"), tmp_path, parameters)
    assert message.startswith("tiny.ipynb, cell 3: AssertionError: size is too small")
    assert "\x1b" not in message
    assert not (tmp_path / "out" / "tiny.deps.json").exists()


@pytest.mark.parametrize("death", ["os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_a_kernel_that_dies(write, tmp_path, death):
    message = failure(write(f"import os\n{death}"), tmp_path)
    assert message.startswith("tiny.ipynb, cell 2: the kernel died")
    assert "run it again with a smaller limit" in message


def test_a_cell_without_end(write, tmp_path):
    message = failure(write("import time\ntime.sleep(600)"), tmp_path, timeout=1)
    assert message == "tiny.ipynb, cell 2: no end after 1 s"


def test_a_notebook_without_signature(write, tmp_path):
    stale = tmp_path / "out" / "tiny.deps.json"
    stale.parent.mkdir()
    stale.write_text("[]", encoding="utf-8")  # of an earlier run
    message = failure(write(last="1 + 1"), tmp_path)
    assert message == "tiny.ipynb: its last cell must call nlgjudge.signature(...)"


def test_what_is_no_notebook(tmp_path):
    with pytest.raises(NotebookError, match="missing.ipynb: no such notebook"):
        check(tmp_path / "missing.ipynb", {})
    for content in ("", "no json", "{}", '{"cells": 3, "nbformat": 4}'):
        broken = tmp_path / "broken.ipynb"
        broken.write_text(content, encoding="utf-8")
        with pytest.raises(NotebookError, match="^broken.ipynb(:| is not a notebook)"):
            run(broken, tmp_path / "out.ipynb")


def executed_copy(path, text="0.5"):
    """A copy with outputs and the traces that a runner leaves."""
    notebook = nbformat.read(path, as_version=4)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            cell.metadata["papermill"] = {"status": "completed"}
            cell.execution_count = number
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/plain": text},
                                                   metadata={"transient": 1})]
    nbformat.write(notebook, path.with_name("executed.ipynb"))
    return path.with_name("executed.ipynb")


def test_outputs_are_kept_without_the_runners_traces(write):
    path = write("size")
    data = {"openmeva": ["real", "abc"]}
    sources = [c.source for c in nbformat.read(path, as_version=4).cells]
    assert keep_outputs(executed_copy(path), path, data) is True
    kept = nbformat.read(path, as_version=4)
    assert [c.source for c in kept.cells] == sources
    codes = [c for c in kept.cells if c.cell_type == "code"]
    assert all(c.outputs[0]["data"] == {"text/plain": "0.5"} for c in codes)
    assert all(c.outputs[0]["metadata"] == {} and "papermill" not in c.metadata for c in codes)
    assert kept.metadata["nlgjudge"]["data"] == data
    first = path.read_bytes()
    assert keep_outputs(executed_copy(path), path, data) and path.read_bytes() == first


@pytest.mark.parametrize("lacking", [{"openmeva": ["sample", "abc"]}, {"wordnet": ["absent", ""]}])
def test_outputs_of_a_run_that_lacked_something_are_refused(write, lacking):
    path = write("size")
    before = path.read_bytes()
    assert keep_outputs(executed_copy(path), path, {"bagel": ["real", "d"]} | lacking) is False
    assert path.read_bytes() == before


def test_outputs_of_another_notebook_are_refused(write):
    path, other = write("size", "size + 1"), write("size", name="other")
    before = path.read_bytes()
    with pytest.raises(ValueError):
        keep_outputs(executed_copy(other), path, {"openmeva": ["real", "abc"]})
    assert path.read_bytes() == before


def test_outputs_are_compared_only_where_a_notebooks_resources_are(write, tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")  # both set anew by validate, and undone after the test
    monkeypatch.setenv("NLGJUDGE_OUT", "")
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(meteor, "DEBIAN", tmp_path / "wordnet")
    (tmp_path / "notebooks").mkdir()
    path = write("print(size)", name="notebooks/tiny")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", name="stdout", text="4\n")]  # it prints 3
    notebook.metadata["nlgjudge"] = {"resources": ["wordnet"], "data": {"wordnet": ["real", ""]}}
    nbformat.write(notebook, path)
    validate()
    assert (tmp_path / "build" / "validated" / "executed" / "tiny.ipynb").exists()
    (tmp_path / "wordnet").mkdir()
    (tmp_path / "wordnet" / "data.noun").touch()
    with pytest.raises(NotebookError, match="compared outputs"):
        validate()
    notebook.metadata["nlgjudge"] = {"data": {}}  # wrong as well, but the same everywhere
    nbformat.write(notebook, path)
    validate(with_data=True)
    with pytest.raises(NotebookError, match="compared outputs"):
        validate()
