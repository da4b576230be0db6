"""`make reproduce` and `make sweep` in a small copy of the repository; declared data; the merged ledger."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from nlgjudge import workflow
from nlgjudge.cli import main
from nlgjudge.data import fetch
from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.ledger import comparison, ledger, verdicts
from nlgjudge.ledger.printed import KEY, published
from upstream import Upstream

REPOSITORY = Path(__file__).resolve().parents[1]
COPIED = [
    "Makefile",
    "Snakefile",
    "pyproject.toml",
    "data/registry.csv",
    "src",
    "tests/environment.py",
]
# The tables of two papers are enough here.
PUBLISHED = published().query("paper in ['geval', 'coascore']")
NUMBERS = PUBLISHED.query("printed != '' and ~note.str.startswith('a constant')")
CELLS = f"{len(NUMBERS):,} published and {len(PUBLISHED) - len(NUMBERS)} other cells"
TABLE = """from nlgjudge.data.paths import out
(out() / "ablation").mkdir(parents=True)
(out() / "ablation" / "one.csv").write_text(f"value\\n{size}\\n")
assert size < 9, "the size is too large\""""


def write_notebook(path, *codes, **declared):
    parameters = new_code_cell("size = 3\nwords = ['a']", metadata={"tags": ["parameters"]})
    cells = [new_markdown_cell("# `Small`"), parameters, *map(new_code_cell, codes)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "nlgjudge": declared}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=cells, metadata=metadata), path)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A repository with published tables and two notebooks, whose committed ledger is of no run."""
    tables = tmp_path / "paper_tables"
    (tables / "published").mkdir(parents=True)
    for paper, artefact in {*zip(PUBLISHED["paper"], PUBLISHED["artefact"])}:
        name = f"{paper}_{artefact}.csv"
        shutil.copy(REPOSITORY / "paper_tables" / "published" / name, tables / "published")
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "build" / "results"))
    ledger.save(ledger.merge([]), tables / "ledger.csv")
    (tmp_path / "site").mkdir()
    shutil.copy(REPOSITORY / "site" / "questions.csv", tmp_path / "site")
    resolved(tmp_path, one="real", two="real")
    return tmp_path


def resolved(folder, **sources):
    """Declare a benchmark for each notebook, and record what it resolved to."""
    for name in sources:
        path = folder / "notebooks" / f"{name}.ipynb"
        write_notebook(path, "print(size)", benchmarks=[f"data_{name}"])
    resolved_to = {f"data_{name}": [source, "digest"] for name, source in sources.items()}
    (folder / "build").mkdir(exist_ok=True)
    (folder / "build" / "sources.json").write_text(json.dumps(resolved_to), encoding="utf-8")


@pytest.fixture
def make(small):
    """Run a target of the Makefile in a repository with all code."""
    for name in COPIED:
        target = small / name
        target.parent.mkdir(parents=True, exist_ok=True)
        source = REPOSITORY / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for name in ("one", "two"):
        write_notebook(small / "notebooks" / f"{name}.ipynb", "print(size)")

    def run(*arguments):
        other = ("NLGJUDGE_", "MAKE", "MFLAGS")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(other)}
        environment |= {"NLGJUDGE_OFFLINE": "1", "NLGJUDGE_MIRROR": "", "VIRTUAL_ENV": sys.prefix}
        environment["PYTHONPATH"] = str(small / "src")
        command = ["make", "--no-print-directory", *arguments]
        return subprocess.run(
            command, cwd=small, env=environment, capture_output=True, text=True, check=False
        )

    return run


FINDING = """import nlgjudge as nj
finding = nj.Finding("one", "How large?", "{size}.")
finding.check({"size": size}, kept=1)
finding.write()
print(finding.answer)"""
LISTING = """import nlgjudge as nj
print({name: nj.Finding(name).answer for name in nj.Finding.notebooks() if nj.Finding(name).values})"""


def test_reproduce_runs_what_changed_and_a_second_refresh_changes_nothing(make, small):
    """The first notebook shows what the refresh commits of itself, the second what is committed of all."""
    counts = small / "paper_tables" / "README.md"
    counts.write_text(f"{workflow.BEGIN}\n{workflow.END}\n", encoding="utf-8")
    write_notebook(small / "notebooks" / "one.ipynb", FINDING)
    write_notebook(small / "notebooks" / "two.ipynb", LISTING)

    def printed():
        for name in ("one", "two"):
            book = nbformat.read(small / "notebooks" / f"{name}.ipynb", as_version=4)
            yield book.cells[2].outputs[0]["text"].strip()

    def executed():
        for name in ("one", "two"):
            path = small / "build" / "executed" / f"{name}.ipynb"
            yield path.stat().st_mtime_ns if path.exists() else None

    done = make("refresh")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "paper_tables/findings/one.csv: changed" in done.stdout
    assert list(printed()) == ["3.", "{'one': '3.'}"]
    before = list(executed())
    write_notebook(small / "notebooks" / "one.ipynb", FINDING.replace("size}, k", "size + 1}, k"))
    done = make("reproduce")
    assert "1 differ from paper_tables/findings/one.csv: size is 4, committed 3" in done.stdout
    assert done.returncode != 0
    assert list(executed()) == [None, before[1]]  # what failed leaves nothing
    assert make("refresh").returncode == 0
    assert list(printed()) == ["4.", "{'one': '4.'}"]
    before = list(executed())
    done = make("refresh")
    assert done.returncode == 0 and ": changed" not in done.stdout
    assert done.stdout.endswith(f"{CELLS}: all as committed\n") and list(executed()) == before


def test_a_sweep_goes_on_after_a_failure_and_joins_the_tables_of_its_cells(make, small):
    write_notebook(small / "notebooks" / "one.ipynb", TABLE)
    folder = small / "build" / "sweeps" / "one"

    def sweep(grid):
        (small / "grid.csv").write_text(grid, encoding="utf-8")
        return make("sweep", "NOTEBOOK=one", "GRID=grid.csv")

    done = sweep('size,words\n9,[a]\n1,"[a, b]"\n')
    assert done.returncode != 0 and "the size is too large" in done.stdout + done.stderr
    first = folder / "size~1" / "words~[a, b]" / "executed.ipynb"
    before = first.stat().st_mtime_ns
    done = sweep('size,words\n8,{a: 1}\n1,"[a, b]"\n')
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(folder / "results.csv")["value"].tolist() == [8, 1]
    assert pd.read_csv(folder / "results.csv")["words"].tolist() == ["{a: 1}", "[a, b]"]
    assert first.stat().st_mtime_ns == before


def test_a_parameter_that_a_notebook_lacks_is_refused(small):
    with pytest.raises(ValueError, match="one.ipynb: no parameter 'sise': did you mean 'size'"):
        workflow.check_parameters(small / "notebooks" / "one.ipynb", {"sise": 1})


def test_a_digest_of_cells_changes_with_sources_and_tags_and_not_with_outputs(small):
    path = small / "notebooks" / "one.ipynb"

    def digest(**cell):
        nbformat.write(new_notebook(cells=[new_code_cell(**cell)]), path)
        return workflow.source_digest("one")

    printed = new_output("stream", name="stdout", text="1")
    plain = digest(source="x = 1")
    assert plain == digest(source="x = 1", execution_count=3, outputs=[printed])
    tagged = digest(source="x = 1", metadata={"tags": ["parameters"]})
    assert len({plain, digest(source="x = 2"), tagged}) == 3


@pytest.mark.parametrize(
    "path, runs_again",
    [
        ("src/nlgjudge/module.py", True),
        ("requirements.lock", True),
        ("data/registry.csv", True),
        ("paper_tables/published/geval_table1.csv", True),
        ("src/nlgjudge/__pycache__/module.cpython-311.pyc", False),
        ("paper_tables/README.md", False),
        ("paper_tables/ledger.csv", False),
    ],
)
def test_files_on_which_every_notebook_depends(small, path, runs_again):
    """What `make refresh` writes is not among them."""
    before = workflow.shared_digest()
    (small / path).parent.mkdir(parents=True, exist_ok=True)
    with open(small / path, "a", encoding="utf-8") as file:
        file.write("x = 1\n")
    assert (workflow.shared_digest() != before) == runs_again


def test_a_changed_cell_runs_the_notebooks_of_its_table_and_those_that_read_the_ledger(small):
    names = ("geval_table1_x", "geval_table2_y", "beyond_z", "neural")
    for name in names:
        code = "nj.ledger.committed()" if name == "neural" else "print(size)"
        write_notebook(small / "notebooks" / f"{name}.ipynb", code)

    def run_again(paper, artefact, **values):
        before = [workflow.refreshed_digest(name) for name in names]
        rows = ledger.committed()
        of_table = (rows["paper"] == paper) & (rows["artefact"] == artefact)
        rows.loc[of_table.idxmax(), [*values]] = [*values.values()]
        ledger.save(rows, small / "paper_tables" / "ledger.csv")
        return [n for n, old in zip(names, before) if workflow.refreshed_digest(n) != old]

    assert run_again("geval", "table1", note="new") == ["geval_table1_x", "neural"]
    assert run_again("coascore", "table2", note="new") == ["neural"]
    assert run_again("coascore", "table2", notebook="beyond_z") == ["beyond_z", "neural"]


def test_a_changed_finding_runs_the_notebooks_that_read_it(small):
    codes = {
        "one": 'nj.Finding("one").answer',  # which a refresh knows without a second run
        "reader": 'nj.Finding("one").answer',
        "viewer": 'nj.Finding("two").figure',
        "two": 'nj.Finding("two").figure',
        "list": "nj.Finding.notebooks()",
        "neither": "1",
    }
    for name, code in codes.items():
        write_notebook(small / "notebooks" / f"{name}.ipynb", code)

    def run_again(path):
        before = {name: workflow.refreshed_digest(name) for name in codes}
        (small / path).parent.mkdir(parents=True, exist_ok=True)
        (small / path).write_text("new", encoding="utf-8")
        return [name for name in codes if workflow.refreshed_digest(name) != before[name]]

    assert run_again("paper_tables/findings/one.csv") == ["reader", "list"]
    assert run_again("figures/one.png") == []
    assert run_again("figures/two.png") == ["viewer"]


# Declared data: what the notebooks declare is fetched, and nothing else.

GENERATED = {system: {"text": "t", "score": {"human": 1, "bleu": 0.5}} for system in "abcde"}
STORIES = [{"doc_id": n, "prompt": "p", "reference": "r", "gen": GENERATED} for n in range(200)]
REPLIES = [{"doc_id": "d", "system_id": "A", "all_responses": ["4"]}]
PROMPT = b"Rate it.\n\nCoherence (1-5)\n\n{{Document}} {{Summary}}\n"
DECLARED = {
    "benchmarks": ["openmeva"],
    "recordings": ["geval/gpt-4"],
    "prompts": ["upstream:geval/*_detailed"],
}


@pytest.fixture
def host(tree, tmp_path, monkeypatch):
    """A checkout of one notebook with an empty cache, and a code host that has three files of it."""
    monkeypatch.delenv("NLGJUDGE_OFFLINE")
    monkeypatch.setattr(fetch, "_unreachable", {})
    shutil.copytree(REPOSITORY / "data" / "sample", tree.root / "data" / "sample")
    tree.mirror = tmp_path / "host"
    files = [
        ("openmeva", "data", "data/openmeva.json", json.dumps(STORIES).encode()),
        ("summeval", "recording", "results/gpt4_coh_detailed.json", json.dumps(REPLIES).encode()),
        ("summeval", "prompt", "prompts/coh_detailed.txt", PROMPT),
        ("summeval", "extra", "other.txt", b"nobody asks for it"),
    ]
    options = {"to": "mirror", "repository": "owner/geval", "size": False}
    tree.registered = [
        tree.add(path, content, benchmark, role=role, **options)
        for benchmark, role, path, content in files
    ]

    @contextmanager
    def serving(**answers):
        with Upstream(tree.mirror, **answers) as server, monkeypatch.context() as patch:
            for name, value in server.environment(tree.cache).items():
                patch.setenv(name, value)
            yield server

    def resolve(declared, **answers):
        write_notebook(tree.root / "notebooks" / "one.ipynb", **declared)
        said = []
        with serving(**answers) as server:
            workflow.fetch_declared(said.append)
        sources = [source for source, _ in workflow.data("one").values()]
        return server.asked, sources, "\n".join(said)

    tree.serving = serving
    tree.resolve = resolve
    return tree


def test_everything_that_is_declared_is_fetched_and_nothing_else(host):
    asked, sources, _ = host.resolve(DECLARED)
    assert sorted(asked) == sorted(str(entry.location) for entry in host.registered[:3])
    assert sources == ["real", "real", "real"]
    assert host.resolve(DECLARED)[0] == []
    with pytest.raises(ValueError, match="no benchmark, .* 'openmevva': did you mean 'openmeva'"):
        host.resolve({"benchmarks": ["openmevva"]})


def test_a_host_that_refuses_stops_the_command_and_what_came_is_kept(host):
    with pytest.raises(fetch.DataUnavailable, match="2 of 3 files are missing: .*answered 403"):
        host.resolve(DECLARED, refuse=2, status=403)
    assert len(host.cached()) == 1
    assert host.resolve(DECLARED)[1] == ["real", "real", "real"]


def test_what_is_optional_stops_nothing_and_the_sample_replaces_a_benchmark(host):
    declared = {"benchmarks": ["openmeva"], "optional": ["replay:geval/gpt-4"]}
    _, sources, said = host.resolve(declared, missing=["*/results/*", "*/openmeva.json"])
    assert sources == ["sample", "absent"]
    assert "2 of 2 files are missing: " in said


def test_optional_files_come_by_one_command_and_are_used_then(host, capsys):
    """The committed outputs were made without them, so a run does not fetch them."""
    path, content = "results/gpt4_rel_detailed.json", json.dumps(REPLIES).encode()
    options = {"to": "mirror", "repository": "owner/geval", "optional": True}
    late = host.add(path, content, "summeval", role="recording", **options)
    declared = {"benchmarks": ["openmeva"], "optional": ["replay:geval/gpt-4"]}
    asked, sources, _ = host.resolve(declared)
    assert str(late.location) not in asked and sources == ["real", "absent"]
    with host.serving() as server:
        assert main(["data", "fetch", "summeval"]) == 0
        assert "1 more files are optional" in capsys.readouterr().out
        before = len(server.asked)
        assert main(["data", "fetch", "--optional"]) == 0
        assert server.asked[before:] == [str(late.location)]
    assert host.resolve(declared)[:2] == ([], ["real", "real"])


# The merged ledger.


def part(notebook, row, sample=False):
    """Values of a row in a notebook's part of the ledger: Table 1 has ten cells of it."""
    table = published("geval", "table1")
    ours = table[table["row"].eq(row) & table["aspect"].ne("AVG")][KEY]
    ours = ours.assign(ours=0.25, note="why")
    options = {"evidence": "recomputed", "notebook": notebook, "sample": sample}
    return ledger.write(comparison.compare("geval", "table1", table, ours, **options))


def built(small, commit=False):
    """The report of a run's ledger, and the ledger."""
    said = []
    workflow.build_ledger(said.append)
    path = small / "build" / "results" / "ledger.csv"
    if commit:
        shutil.copy(path, small / "paper_tables" / "ledger.csv")
    return said, ledger.read(path)


def test_the_report_ends_with_the_cells_that_differ(small):
    old = part("one", "ROUGE-1")
    said, _ = built(small, commit=True)
    assert said[-1] == f"{CELLS}: 1 files differ from the committed ones"
    assert said[-3] == "paper_tables/ledger.csv: differs from the committed file"
    assert said[-2].startswith("-geval,table1,ROUGE-1,")
    assert "\n+geval,table1,ROUGE-1," in said[-2]
    assert built(small)[0][-1] == f"{CELLS}: all as committed"
    old.unlink()  # a run with all data that lost a cell
    said, rows = built(small)
    assert said[-1] == f"{CELLS}: 1 files differ from the committed ones"
    assert not verdicts.was_run(rows).any()


def test_the_sample_keeps_the_committed_values(small):
    old = part("one", "ROUGE-1")
    _, before = built(small, commit=True)
    resolved(small, one="sample", two="sample")
    part("one", "ROUGE-1", sample=True)
    os.utime(old, (0, 0))
    said, after = built(small)
    pd.testing.assert_frame_equal(after, before)
    assert said[-3].startswith("2 notebooks keep") and "data are missing: data_one" in said[-3]
    assert f"The notebooks used {SAMPLE_NOTICE}." in said


def test_the_newest_part_of_a_notebook_counts_and_a_deleted_notebook_does_not(small):
    old = part("one", "ROUGE-1", sample=True)
    os.utime(old, (time.time() - 60,) * 2)
    part("one", "ROUGE-1")
    part("gone", "ROUGE-2")
    _, rows = built(small)
    assert set(rows.loc[verdicts.was_run(rows), "notebook"]) == {"one"}


def test_refresh_copies_outputs_figures_and_counts_and_says_what_changed(small):
    """The second notebook ran on the sample: its outputs and figures are neither compared nor copied."""
    resolved(small, one="real", two="sample")
    shutil.copytree(small / "notebooks", small / "build" / "executed")
    path = small / "build" / "executed" / "one.ipynb"
    executed = nbformat.read(path, as_version=4)
    outputs = executed.cells[2].outputs
    outputs.append(new_output("stream", name="stdout", text="a"))
    shown = {"image/png": {"width": 300}, "papermill": 1}
    outputs.append(new_output("display_data", {"text/plain": "x"}, metadata=shown))
    nbformat.write(executed, path)
    readme = small / "paper_tables" / "README.md"
    readme.write_text(f"before\n{workflow.BEGIN}\nold\n{workflow.END}\nafter\n")
    figures = small / "build" / "results" / "figures"
    figures.mkdir(parents=True)
    for name in ("one", "two"):
        (figures / f"{name}.svg").write_text("drawn", encoding="utf-8")
    compared = []
    workflow.build_ledger(compared.append)
    assert "figures/one.svg: differs from the committed file" in compared
    assert not [line for line in compared if "two.svg" in line]
    said = []
    workflow.refresh(said.append)
    left_out = "two: not copied, because data were missing: data_two"
    assert {left_out, "notebooks/one.ipynb: changed", "paper_tables/README.md: changed"} < set(said)
    assert "figures/one.svg: changed" in said
    assert not (small / "figures" / "two.svg").exists()
    book = nbformat.read(small / "notebooks" / "one.ipynb", as_version=4)
    stream, picture = book.cells[2].outputs
    assert stream["text"] == "a" and picture["metadata"] == {"image/png": {"width": 300}}
    assert book.metadata["nlgjudge"]["data"] == {"data_one": ["real", "digest"]}
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| CoAScore | 469 | 0 | 0 | 0 | 0 | 0 | 469 | 0 | 0 | 0 |\n" in text
    again = []
    workflow.refresh(again.append)
    assert again == [left_out]
