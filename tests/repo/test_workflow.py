"""Real Snakemake runs in a copy of the repository: what changed runs again, the rest does not."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import nltk
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.ledger import comparison, ledger, verdicts
from nlgjudge.ledger.printed import KEY, all_published, published
from nlgjudge.metrics import meteor_versions as meteor
from nlgjudge.repo import workflow
from served import Served
from snakemake_copies import SnakemakeCopies

REPOSITORY = Path(__file__).resolve().parents[2]
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
# Each notebook says that it ran; they use different modules and different sample files.
STORIES = """import nlgjudge.data.schema
from nlgjudge.data.sample import documents
print(len(list(documents("story"))), "stories")"""
DIALOGUES = """import nlgjudge.stats.correlations
from nlgjudge.data.sample import documents
print(len(list(documents("dialogue"))), "dialogues")"""


class House:
    """A copy of the repository's skeleton that Snakemake runs in."""

    def __init__(self, folder):
        self.folder, home = folder, root()
        for name in ("Snakefile", "data/registry.csv", "paper_tables/needs.csv"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(home / name, folder / name)
        for name in ("src/nlgjudge", "data/sample", "paper_tables/published"):
            shutil.copytree(
                home / name, folder / name
            )  # compiled modules too: their times are copied
        (folder / "notebooks").mkdir()
        # The options are the Makefile's own, or the test would not say anything about it.
        line = re.search(
            r"^SNAKEMAKE := snakemake (.*)$", (home / "Makefile").read_text("utf-8"), re.M
        )
        self.options = line.group(1).split()

    def path(self, name):
        return self.folder / "notebooks" / f"{name}.ipynb"

    def notebook(self, name, code, **declared):
        start = f"open('../ran.txt', 'a').write('{name} ')"
        cells = [
            new_markdown_cell(f"# {name}"),
            new_code_cell("size = 3", metadata={"tags": ["parameters"]}),
            new_code_cell(start),
            new_code_cell(code),
            new_code_cell("import nlgjudge as nj\nnj.signature()"),
        ]
        nbformat.write(
            new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "nlgjudge": declared}),
            self.path(name),
        )

    def edit(self, name, change):
        notebook = nbformat.read(self.path(name), as_version=4)
        change(notebook)
        nbformat.write(notebook, self.path(name))

    def sources(self, **found):
        """Say where data and resources came from, as `nlgjudge resolve` does."""
        path = self.folder / "build" / "sources.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found), encoding="utf-8")

    @property
    def environment(self):
        """Of the processes that run here."""
        return {k: v for k, v in os.environ.items() if not k.startswith("NLGJUDGE_")} | {
            "NLGJUDGE_ROOT": str(self.folder),
            "PYTHONPATH": str(self.folder / "src"),
            "NLGJUDGE_OFFLINE": "1",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }

    def make(self):
        """Run Snakemake; return its status, what was said, and the names of the notebooks that started."""
        log = self.folder / "ran.txt"
        log.write_text("", encoding="utf-8")
        served = [sys.executable, "-m", "nlgjudge.repo.cli", "serve"]  # as the Makefile does
        command = [*served, sys.executable, "-m", "snakemake", *self.options]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment | self.served.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return (
            done.returncode,
            done.stdout + done.stderr,
            sorted(log.read_text(encoding="utf-8").split()),
        )

    def make_again(self):
        """The same where neither Snakemake nor the server starts from nothing."""
        log = self.folder / "ran.txt"
        log.write_text("", encoding="utf-8")
        status, said = self.copies.run(
            self.folder,
            self.options,
            self.folder / "make.txt",
            self.environment | self.served.environment,
        )
        return status, said, sorted(log.read_text(encoding="utf-8").split())

    def planned(self):
        """Names of the notebooks that Snakemake would run; none of them runs."""
        log = self.folder / "ran.txt"
        log.write_text("", encoding="utf-8")
        spoken = [option for option in self.options if option != "--quiet"]
        said = self.copies.planned(self.folder, spoken, self.folder / "plan.txt", self.environment)
        assert not log.read_text(encoding="utf-8"), said
        names = sorted(re.findall(r"^ +wildcards: name=(.*)$", said, re.M))
        assert names or "Nothing to be done" in said, said
        return names


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A house, and what its first run returned, in which the only notebook fails."""
    house = House(tmp_path_factory.mktemp("house"))
    house.sources(openmeva=["sample", "a"], wordnet=["real", ""])
    house.notebook("broken", "assert size > 5, 'size is too small'")
    with (
        Served(house.environment, more=()) as house.served,
        SnakemakeCopies(house.environment) as house.copies,
    ):
        made = house.make()
        failed = house.folder / "build" / "executed" / "broken.failed.txt"
        yield (
            house,
            *made,
            failed.read_text("utf-8"),
            sorted(p.name for p in failed.parent.iterdir()),
        )


@pytest.fixture(scope="module")
def complete(first_run):
    """The same house when that notebook is mended and two others are there, all up to date."""
    house = first_run[0]
    house.notebook("broken", "size")
    house.notebook("stories", STORIES, benchmarks=["openmeva"])
    house.notebook("dialogues", DIALOGUES, resources=["wordnet"])
    status, said, ran = house.make_again()
    assert status == 0, said
    assert ran == ["broken", "dialogues", "stories"]
    return house


@pytest.fixture
def house(complete):
    """The complete house; what a test changes there is undone, times of the files included."""
    kept = {
        path: (path.read_bytes(), path.stat())
        for folder in ("notebooks", "data", "src", "build")
        for path in (complete.folder / folder).rglob("*")
        if path.suffix in (".ipynb", ".jsonl", ".py", ".json")
    }
    yield complete
    for path, (content, known) in kept.items():
        if path.stat().st_mtime_ns != known.st_mtime_ns:
            path.write_bytes(content)
            os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))


def append(path, text):
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def test_a_failing_notebook_fails_the_command_by_name(first_run, complete):
    _, status, said, ran, failed, left = first_run
    assert status != 0 and ran == ["broken"]
    cause = "broken.ipynb, cell 3: AssertionError: size is too small"
    assert cause in failed and cause in said
    assert "broken.ipynb" not in left
    assert not (complete.folder / "build" / "executed" / "broken.failed.txt").exists()  # mended


def test_a_run_leaves_notebooks_coverage_and_ledger(house):
    executed = nbformat.read(house.folder / "build" / "executed" / "stories.ipynb", as_version=4)
    assert executed.cells[3].outputs[0]["text"] == "12 stories\n"
    assert "cells" in (house.folder / "build" / "coverage.txt").read_text(encoding="utf-8")
    assert len(ledger.read(house.folder / "build" / "results" / "ledger.csv")) == len(
        all_published()
    )
    assert not (house.folder / "paper_tables" / "ledger.csv").exists()


def test_what_is_only_touched_or_got_outputs_runs_nothing(house):
    for path in (house.path("stories"), house.folder / "build" / "executed" / "stories.ipynb"):
        path.touch()
    output = new_output("stream", name="stdout", text="12 dialogues\n")
    house.edit(
        "dialogues", lambda notebook: notebook.cells[3].update(outputs=[output], execution_count=4)
    )
    assert house.planned() == []


def test_what_was_deleted_is_made_again(house, tmp_path):
    executed = house.folder / "build" / "executed" / "stories.ipynb"
    coverage = house.folder / "build" / "coverage.txt"
    for path in (executed, coverage):
        shutil.move(path, tmp_path)
    try:
        assert house.planned() == ["stories"]
        status, said, ran = house.make_again()
        assert (status, ran) == (0, ["stories"]), said
        assert "cells" in coverage.read_text(encoding="utf-8")
    finally:
        for path in (executed, coverage):
            shutil.move(tmp_path / path.name, path)


def test_a_cell_a_data_file_and_a_declaration_run_their_own_notebook(house):
    """Three changes at once, each of them of another notebook: Snakemake's start costs more than they do."""
    house.edit("stories", lambda notebook: notebook.cells[3].update(source=STORIES + "\nsize"))
    append(house.folder / "data" / "sample" / "dialogue.jsonl", "{}\n")
    house.edit(
        "broken", lambda notebook: notebook.metadata.update(nlgjudge={"benchmarks": ["bagel"]})
    )
    assert house.planned() == ["broken", "dialogues", "stories"]


def test_a_changed_module_runs_what_imported_it(house):
    append(house.folder / "src" / "nlgjudge" / "stats" / "correlations.py", "# changed\n")
    append(house.folder / "src" / "nlgjudge" / "repo" / "coverage.py", "# no notebook's\n")
    assert house.planned() == ["dialogues"]


def test_a_changed_source_of_the_data_or_a_resource_runs_the_notebook_that_declares_it(house):
    """Data that a notebook could not have before, and a resource that it has no more."""
    house.sources(openmeva=["real", "b"], bagel=["real", "c"], wordnet=["real", ""])
    assert house.planned() == ["stories"]
    house.sources(openmeva=["sample", "a"], wordnet=["absent", ""])
    assert house.planned() == ["dialogues"]


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A repository with the printed tables and one empty notebook, without Snakemake."""
    shutil.copytree(root() / "paper_tables" / "published", tmp_path / "paper_tables" / "published")
    shutil.copy(root() / "paper_tables" / "needs.csv", tmp_path / "paper_tables")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "build" / "results"))
    for name in ("one", "two"):
        nbformat.write(new_notebook(), tmp_path / "notebooks" / f"{name}.ipynb")
    return tmp_path


def part(notebook, row, sample):
    table = published("geval", "table1")
    ours = table[table["row"].eq(row) & table["aspect"].ne("AVG")][KEY].assign(
        ours=0.25, note="why"
    )
    return ledger.write(
        comparison.compare(
            "geval", "table1", table, ours, evidence="recomputed", notebook=notebook, sample=sample
        )
    )


def commit(small):
    """Keep the ledger of the last run, as `make refresh` does; return its bytes."""
    path = small / "paper_tables" / "ledger.csv"
    shutil.copy(small / "build" / "results" / "ledger.csv", path)
    return path.read_bytes()


def resolved(small, **sources):
    """Declare a benchmark for each notebook, and say where it came from."""
    for name in sources:
        notebook = new_notebook(metadata={"nlgjudge": {"benchmarks": [f"data_{name}"]}})
        nbformat.write(notebook, small / "notebooks" / f"{name}.ipynb")
    (small / "build").mkdir(exist_ok=True)
    found = {f"data_{name}": [source, ""] for name, source in sources.items()}
    found["meteor-1.5"] = ["real", ""]  # a resource is no data
    (small / "build" / "sources.json").write_text(json.dumps(found), encoding="utf-8")


def test_a_run_says_that_all_cells_are_as_committed_and_touches_none(small):
    resolved(small, one="real", two="real")
    part("one", "ROUGE-1", sample=False)
    path, _ = workflow.merge_ledger()
    assert path == small / "build" / "results" / "ledger.csv"
    assert not (small / "paper_tables" / "ledger.csv").exists()
    before = commit(small)
    assert workflow.merge_ledger() == (path, [f"{len(all_published()):,} cells: all as committed"])
    assert (small / "paper_tables" / "ledger.csv").read_bytes() == before


def test_a_run_says_which_cells_differ(small):
    resolved(small, one="real", two="real")
    part("one", "ROUGE-1", sample=False)
    workflow.merge_ledger()
    commit(small)
    part("two", "ROUGE-2", sample=False)
    text = " ".join(workflow.merge_ledger()[1])
    # Table 1 prints ROUGE-2 for four aspects and their average, in two coefficients.
    assert f"{len(all_published()) - 10:,} as committed, 10 differ in value or verdict" in text
    table = pd.read_csv(small / "build" / "results" / "differences.csv")
    assert set(table["row"]) == {"ROUGE-2"} and set(table["what"]) == {"verdict"}


def test_the_sample_keeps_the_committed_values(small):
    """Without data all cells would be `not_run`; what is committed stays, here and in the run's ledger."""
    resolved(small, one="real", two="real")
    old = part("one", "ROUGE-1", sample=False)
    workflow.merge_ledger()
    before = commit(small)
    resolved(small, one="sample", two="sample")
    part("one", "ROUGE-1", sample=True)
    os.utime(old, (0, 0))
    path, lines = workflow.merge_ledger()
    assert path.read_bytes() == before == (small / "paper_tables" / "ledger.csv").read_bytes()
    assert lines[1:] == [
        "10 of them were not recomputed here and keep their committed value: missing data_one",
        f"No real data could be had: the notebooks ran on {SAMPLE_NOTICE}.",
    ]


def test_a_notebook_with_all_its_data_keeps_nothing(small):
    """A cell that a run with all data no longer reaches is reported, not hidden behind the committed one."""
    resolved(small, one="real", two="real")
    old = part("one", "ROUGE-1", sample=False)
    workflow.merge_ledger()
    commit(small)
    old.unlink()
    path, lines = workflow.merge_ledger()
    assert set(ledger.read(path)["verdict"]) == {
        "not_run",
        "misprint",
    }  # the second is seen in the print alone
    assert "10 differ in value or verdict" in " ".join(lines)


def test_the_ledger_forgets_notebooks_that_are_gone_and_older_parts(small):
    old = part("one", "ROUGE-1", sample=True)
    os.utime(old, (time.time() - 60,) * 2)
    part("one", "ROUGE-1", sample=False)
    part("gone", "ROUGE-2", sample=False)
    rows = ledger.read(workflow.merge_ledger()[0])
    ran = rows[verdicts.was_run(rows)]
    assert set(ran["notebook"]) == {"one"} and not pd.isna(ran["ours"]).any()


def test_the_digest_is_of_cells_and_tags_without_outputs(small):
    path = small / "notebooks" / "one.ipynb"

    def digest(*cells):
        nbformat.write(new_notebook(cells=list(cells)), path)
        return workflow.source_digest("one")

    plain = digest(new_code_cell("x = 1"))
    assert plain == digest(
        new_code_cell(
            "x = 1", execution_count=3, outputs=[new_output("stream", name="stdout", text="1")]
        )
    )
    others = {
        digest(new_code_cell("x = 2")),
        digest(new_code_cell("x = 1"), new_markdown_cell("prose")),
        digest(new_code_cell("x = 1", metadata={"tags": ["parameters"]})),
        plain,
    }
    assert len(others) == 4


def test_dependencies_that_vanished_are_left_out(small):
    assert workflow.dependencies("one") == []
    note = small / "build" / "executed" / "one.deps.json"
    note.parent.mkdir(parents=True)
    note.write_text(json.dumps(["notebooks/one.ipynb", "gone.py"]), encoding="utf-8")
    assert workflow.dependencies("one") == ["notebooks/one.ipynb"]


def test_of_all_that_a_notebook_used_the_newest_decides(small):
    assert workflow.last_changed("one") == []
    note = small / "build" / "executed" / "one.deps.json"
    note.parent.mkdir(parents=True)
    note.write_text(json.dumps(["a.csv", "b.py", "gone.py"]), encoding="utf-8")
    for name, seconds in (("a.csv", 200), ("b.py", 100)):
        (small / name).touch()
        os.utime(small / name, (seconds, seconds))
    assert workflow.last_changed("one") == ["a.csv"]
    os.utime(small / "b.py", (300, 300))
    assert workflow.last_changed("one") == ["b.py"]


def test_a_resource_is_part_of_what_a_notebook_ran_on(small, monkeypatch):
    def declare(*names):
        notebook = new_notebook(metadata={"nlgjudge": {"resources": names}})
        nbformat.write(notebook, small / "notebooks" / "one.ipynb")

    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(meteor, "DEBIAN", small / "wordnet")
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    (small / "data").mkdir(exist_ok=True)
    shutil.copy(REPOSITORY / "data" / "registry.csv", small / "data")
    declare("wordnet")
    said = []
    workflow.resolve(said.append)
    assert workflow.data("one") == {"wordnet": ["absent", ""]} and workflow.data("two") == {}
    assert said[-1].split() == ["wordnet", "absent"]
    (small / "wordnet").mkdir()
    (small / "wordnet" / "data.noun").touch()
    workflow.resolve(said.append)
    assert workflow.data("one") == {"wordnet": ["real", ""]}
    declare("meteor-1.4")
    with pytest.raises(ValueError, match="resource 'meteor-1.4': did you mean 'meteor-1.5'"):
        workflow.resolve(said.append)


def test_importing_the_workflow_is_light():
    code = (
        "import sys, nlgjudge.repo.workflow; print(sorted({'pandas', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
