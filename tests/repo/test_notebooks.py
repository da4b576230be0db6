"""The strict runner, on tiny notebooks: every way to fail names notebook, cell and cause."""

import json
import os
import shutil
from pathlib import Path

import nbformat
import nltk
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from nlgjudge.ledger import ledger
from nlgjudge.ledger.verdicts import COLUMNS
from nlgjudge.metrics import meteor_versions as meteor
from nlgjudge.repo import cli, workflow
from nlgjudge.repo.notebooks import (
    NotebookError,
    check,
    keep_outputs,
    place,
    refresh,
    run,
    validate,
)

REPOSITORY = Path(__file__).resolve().parents[2]

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
        nbformat.write(
            new_notebook(
                cells=[new_markdown_cell("# Tiny"), first, *codes],
                metadata={"nlgjudge": {"benchmarks": ["openmeva"]}, **kernel},
            ),
            path,
        )
        return path

    return notebook


def failure(path, tmp_path, parameters=None, **options):
    with pytest.raises(NotebookError) as caught:
        run(path, tmp_path / "out" / "tiny.ipynb", parameters, **options)
    return str(caught.value)


def failure_served(served, path, tmp_path, parameters):
    """The same in a copy of a process."""
    with pytest.raises(NotebookError) as caught:
        served.notebook(path, tmp_path / "out" / "tiny.ipynb", parameters)
    return str(caught.value).rstrip("\n")


def test_success_writes_outputs_and_what_was_used(write, tmp_path):
    path, output = write(READS), tmp_path / "out" / "tiny.ipynb"
    before = path.read_bytes()
    run(path, output, {"size": 5})
    executed = nbformat.read(output, as_version=4)
    printed = [
        o["text"] for c in executed.cells if c.cell_type == "code" for o in c.outputs if "text" in o
    ]
    assert printed == ["12 stories 5\n"]  # the injected value, not the notebook's 3
    assert path.read_bytes() == before
    used = json.loads(output.with_suffix(".deps.json").read_text(encoding="utf-8"))
    assert "data/sample/story.jsonl" in used and "data/sample/dialogue.jsonl" not in used
    assert any(f.endswith("nlgjudge/data/sample.py") for f in used)
    assert not any(f.endswith("nlgjudge/stats/correlations.py") for f in used)


def test_what_is_printed_stays_beside_what_is_shown(write, tmp_path, served):
    """One text of what is printed in a row, in however many parts the kernel sent it, and in the cell's order."""
    prints = """import time
for word in ("one", "two"):
    for part in range(3):
        print(word, part, flush=True)
        time.sleep(0.01)  # so that the kernel sends each part by itself
    display(word)"""
    path, output = write(prints), tmp_path / "out" / "tiny.ipynb"
    served.notebook(path, output, {})
    outputs = nbformat.read(output, as_version=4).cells[2].outputs
    assert [one.get("text") or one.data["text/plain"] for one in outputs] == [
        "one 0\none 1\none 2\n",
        "'one'",
        "two 0\ntwo 1\ntwo 2\n",
        "'two'",
    ]


def test_an_unknown_parameter_names_the_known(write, tmp_path):
    message = failure(write(), tmp_path, {"size": 1, "sise": 2})
    assert message == "tiny.ipynb: no parameter 'sise': did you mean 'size'? There are size"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "default, value, message",
    [
        (
            '{"estimator": "mode"}',
            "samples=1",
            'expected names and values, as \'{"estimator": "mode"}\'',
        ),
        ('["coherence"]', "coherence", "expected a list, as '[\"coherence\"]'"),
        ("20", "twenty", "expected a number, as 20"),
        ("20", True, "expected a number, not true or false"),
        ('"auto"', 3, 'expected a text, as "auto"'),
        ("True", 1, "expected true or false, as true"),
    ],
)
def test_a_value_of_another_kind_says_what_was_expected(write, tmp_path, default, value, message):
    path = write()
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].source = f"size = {default}  # a comment"
    nbformat.write(notebook, path)
    said = failure(path, tmp_path, {"size": value})
    assert said == f"tiny.ipynb: size={value!r}: {message}" and not (tmp_path / "out").exists()


def test_values_of_the_same_kind_none_and_what_a_notebook_computes_are_taken(write):
    path = write()
    for default, value in (
        ("1", 0.5),
        ("[1, 2]", []),
        ("{}", {"a": 1}),
        ("None", 3),
        ("0", None),
        ("False", True),
        ("len('abc')", "x"),
        ('""', "surface"),
    ):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells[1].source = f"size = {default}  # a comment"
        nbformat.write(notebook, path)
        check(path, {"size": value})


def test_a_missing_parameters_tag(write, tmp_path):
    message = failure(write(tag="settings"), tmp_path)
    assert message.startswith(
        "tiny.ipynb: no cell is tagged 'parameters'; tag the one that assigns"
    )


def test_a_notebook_without_a_kernel_name(write, tmp_path):
    assert failure(write(kernel={}), tmp_path, {"size": 1}).startswith("tiny.ipynb: ")


@pytest.mark.parametrize("parameters", [{}, {"size": 2}])
def test_a_failing_cell_is_named_as_in_the_notebook(write, tmp_path, served, parameters):
    # Prose is cell 0, parameters cell 1, then 2 and 3; an injected cell must not shift them.
    path = write("ready = True", "assert size > 5, 'size is too small'")
    message = failure_served(served, path, tmp_path, parameters)
    assert message.startswith("tiny.ipynb, cell 3: AssertionError: size is too small")
    assert "\x1b" not in message
    assert not (tmp_path / "out" / "tiny.deps.json").exists()


@pytest.mark.parametrize("death", ["os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_a_kernel_that_dies(write, tmp_path, death):
    message = failure(write(f"import os\n{death}"), tmp_path)
    assert message.startswith("tiny.ipynb, cell 2: the kernel died")
    assert "run it again with a smaller limit" in message


def test_a_cell_without_end(write, tmp_path):
    # Four seconds are enough for the cell before it on a busy machine too.
    message = failure(write("import time\ntime.sleep(600)"), tmp_path, timeout=4)
    assert message == "tiny.ipynb, cell 2: no end after 4 s"


def test_a_notebook_without_signature(write, tmp_path, served):
    stale = tmp_path / "out" / "tiny.deps.json"
    stale.parent.mkdir()
    stale.write_text("[]", encoding="utf-8")  # of an earlier run
    message = failure_served(served, write(last="1 + 1"), tmp_path, {})
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
            cell.outputs = [
                nbformat.v4.new_output(
                    "display_data",
                    {"text/plain": text},
                    metadata={"transient": 1, "image/png": {"width": 300}},
                )
            ]
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
    assert all(c.outputs[0]["metadata"] == {"image/png": {"width": 300}} for c in codes)
    assert all("papermill" not in c.metadata for c in codes)
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


def test_outputs_are_compared_only_where_a_notebooks_resources_are(
    write, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.setenv(
        "NLGJUDGE_OFFLINE", "1"
    )  # both set anew by validate, and undone after the test
    monkeypatch.setenv("NLGJUDGE_OUT", "")
    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(meteor, "DEBIAN", tmp_path / "wordnet")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "data").mkdir()
    shutil.copy(REPOSITORY / "data" / "registry.csv", tmp_path / "data")
    path = write("print(size)", name="notebooks/tiny", last=SIGNATURE.replace("nj.s", "_ = nj.s"))
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[2].outputs = [
        nbformat.v4.new_output("stream", name="stdout", text="4\n")
    ]  # it prints 3
    notebook.metadata["nlgjudge"] = {"resources": ["wordnet"], "data": {"wordnet": ["real", ""]}}
    nbformat.write(notebook, path)
    validate()
    assert (tmp_path / "build" / "validated" / "executed" / "tiny.ipynb").exists()
    (tmp_path / "wordnet").mkdir()
    (tmp_path / "wordnet" / "data.noun").touch()
    with pytest.raises(NotebookError, match="validation failed: tiny"):
        validate()
    said = capsys.readouterr().out
    assert (
        "tiny.ipynb::Cell 1" in said and "\n1 failed, 2 passed" in said
    )  # pytest adds the cause where CI is set
    assert said.endswith("tiny: FAILED\n")
    notebook.metadata["nlgjudge"] = {"data": {}}  # wrong as well, but the same everywhere
    nbformat.write(notebook, path)
    validate(with_data=True)
    assert capsys.readouterr().out == "0 notebooks compared, 0 run\n"
    notebook.cells[2].outputs[0].text = "3\n"
    for count, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            cell.execution_count = count
    nbformat.write(notebook, path)
    validate()
    assert capsys.readouterr().out == "tiny: outputs as committed\n1 notebooks compared, 0 run\n"


LEAVES_A_RESULT = """from nlgjudge.data.paths import out
out().mkdir(parents=True, exist_ok=True)
_ = (out() / "result.txt").write_text(str(size))"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout without data; `nlgjudge run` names its own folder there."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "registry.csv").touch()
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.setenv("NLGJUDGE_OUT", "")  # undone after the test, whatever the command sets
    monkeypatch.delenv("NLGJUDGE_OUT")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return tmp_path


def results(folder):
    return sorted(path.read_text() for path in folder.rglob("result.txt"))


def test_a_run_by_hand_touches_neither_the_repository_nor_another_run(write, checkout, served):
    """A whole run, then the same notebook with another parameter, then under another name."""
    path = str(write(LEAVES_A_RESULT))
    before = sorted(p.name for p in checkout.iterdir())
    for more in (
        [],
        ["-p", "size", "50"],
        ["-o", str(checkout / "mine.ipynb")],
        ["-p", "size", "50"],
    ):
        done = served.run("run", path, *more)
        assert done.returncode == 0, done.stderr
    assert results(checkout / "build" / "runs") == ["3", "50"]
    after = sorted(p.name for p in checkout.iterdir())
    assert after == sorted([*before, "build", "mine.ipynb", "mine.deps.json"])
    assert "its results are in" in done.stdout


def test_the_reason_of_a_failure_lies_beside_the_output(write, checkout, capsys):
    folder = checkout / "there"
    assert cli.main(["run", str(write("assert size > 5")), "-o", str(folder / "mine.ipynb")]) == 1
    assert "AssertionError" in (folder / "mine.failed.txt").read_text(encoding="utf-8")
    assert not (checkout / "failed").exists() and "AssertionError" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, value",
    [
        ("3", 3),
        ("null", None),
        ("None", None),
        ("True", True),
        ("[1, 2]", [1, 2]),
        ("('a', 'b')", ("a", "b")),
        ("spearman", "spearman"),
        ("openai:gpt-4o", "openai:gpt-4o"),
        ('{"samples": 1}', {"samples": 1}),
    ],
)
def test_a_parameter_is_json_a_literal_or_text(write, checkout, monkeypatch, text, value):
    given = {}
    monkeypatch.setattr(
        "nlgjudge.repo.notebooks.run", lambda *arguments: given.update(arguments[-1])
    )
    assert cli.main(["run", str(write()), "-p", "size", text]) == 0
    assert given == {"size": value}


def test_each_judge_limit_and_endpoint_has_a_place_of_its_own(checkout, monkeypatch):
    def where(**parameters):
        return place("notebooks/table.ipynb", parameters)

    assert where() == checkout / "build" / "runs" / "table" / "default"
    assert where(judge="openai:a") == where(judge="openai:a")
    places = {
        where(),
        where(judge="openai:a"),
        where(judge="openai:b"),
        where(judge="openai:a", limit=50),
    }
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert len(places | {where(judge="openai:a")}) == 5
    assert where(limit=50).name.startswith("limit=50-")


def test_refresh_copies_what_changed_and_says_so(checkout, write):
    (checkout / "notebooks").mkdir()
    write(name="notebooks/tiny")
    made = checkout / "build" / "results"
    for folder, text in (("figures", "new"), ("settings", "same")):
        (made / folder).mkdir(parents=True)
        (made / folder / "one.txt").write_text(text)
    (checkout / "figures").mkdir()
    (checkout / "figures" / "one.txt").write_text("old")
    (checkout / "paper_tables" / "settings").mkdir(parents=True)
    (checkout / "paper_tables" / "settings" / "one.txt").write_text("same")
    ledger.save(pd.DataFrame(columns=COLUMNS), made / "ledger.csv")
    marks = "<!-- results: generated from the ledger -->\nold\n<!-- end of results -->\n"
    for readme in (checkout / "README.md", checkout / "paper_tables" / "README.md"):
        readme.write_text(marks)
    said = []
    refresh(said.append)
    assert said == [
        "tiny: ran without some of its data, left as it is",
        "figures/one.txt: changed",
        "paper_tables/ledger.csv: changed",
    ]
    assert (checkout / "figures" / "one.txt").read_text() == "new"
    assert "old" not in (checkout / "README.md").read_text()


def test_what_make_reproduce_ran_is_compared_and_runs_again_only_after_a_change(
    write, checkout, monkeypatch, served
):
    """The cell leaves a result, so that a second run shows."""
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")  # set anew by validate, and undone after the test
    (checkout / "notebooks").mkdir()
    path = write(
        "print(size)",
        LEAVES_A_RESULT,
        name="notebooks/tiny",
        last=SIGNATURE.replace("nj.s", "_ = nj.s"),
    )
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata["nlgjudge"] = {"data": {}}
    nbformat.write(notebook, path)
    workflow.resolve()
    executed = workflow.executed("tiny")
    served.notebook(path, executed, {})
    assert keep_outputs(executed, path, workflow.data("tiny"))
    ran_again = checkout / "build" / "validated" / "result.txt"

    validated = served.run("validate")
    assert validated.returncode == 0 and "tiny: outputs as committed\n" in validated.stdout
    assert validated.stdout.endswith(
        "1 notebooks compared, 0 run; `make reproduce` had run 1 of them\n"
    )
    assert not ran_again.exists()

    kept = path.read_text("utf-8")
    path.write_text(
        kept.replace('"3\\n"', '"4\\n"'), "utf-8"
    )  # what is committed is not what was computed
    validated = served.run("validate")
    assert validated.returncode == 1 and "validation failed: tiny" in validated.stderr
    assert "tiny.ipynb::Cell 1" in validated.stdout and not ran_again.exists()
    path.write_text(kept, "utf-8")

    (checkout / "requirements.lock").touch()
    later = executed.stat().st_mtime + 10
    os.utime(checkout / "requirements.lock", (later, later))
    assert not workflow.is_up_to_date("tiny")
    (checkout / "requirements.lock").unlink()
    assert workflow.is_up_to_date("tiny")
    path.write_text(kept.replace("print(size)", "print(size + 0)"), "utf-8")
    validated = served.run("validate")
    assert validated.stdout.endswith("1 notebooks compared, 0 run\n") and ran_again.exists()
