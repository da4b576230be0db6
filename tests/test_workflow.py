"""`make reproduce` and `make sweep` in a small copy of the repository; declared data; the merged ledger."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from nlgjudge import workflow
from nlgjudge.data import fetch, paths
from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.ledger import comparison, ledger, verdicts
from nlgjudge.ledger.printed import KEY, all_published, published
from upstream import Upstream

REPOSITORY = Path(__file__).resolve().parents[1]
COPIED = (
    "Makefile",
    "Snakefile",
    "pyproject.toml",
    "data/registry.csv",
    "data/sample",
    "paper_tables",
    "src",
    "tests/environment.py",
)
# Nine published cells of a table: enough to see a number change.
NUMBER = """stories = nj.load("openmeva", source)
longer = stories.items.assign(words=stories.items["hypothesis"].str.split().str.len())
frame = stories.with_scores(longer[["item_id", "words"]])
found = nj.correlation(frame, "words", "overall", level="dataset")
print(stories.source, round(found.value, 4))"""
TABLE = """import pandas as pd
from nlgjudge.data.paths import out
(out() / "ablation").mkdir(parents=True)
pd.DataFrame({"value": [size]}).to_csv(out() / "ablation" / "small.csv", index=False)
assert size < 9, "the size is too large\""""


def tagged(source):
    return new_code_cell(source, metadata={"tags": ["parameters"]})


def small_notebook(path, parameters, *codes, **declared):
    cells = [new_markdown_cell("# Small"), new_code_cell("import nlgjudge as nj")]
    cells += [tagged(parameters), *map(new_code_cell, codes)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "nlgjudge": declared}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=cells, metadata=metadata), path)


class House:
    """A copy of the repository in which make runs."""

    def __init__(self, folder):
        self.folder = folder
        for name in COPIED:
            source, target = REPOSITORY / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, target)

    def make(self, *arguments, **variables):
        others = ("NLGJUDGE_", "MAKE", "MFLAGS")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(others)}
        environment |= {"NLGJUDGE_OFFLINE": "1", "VIRTUAL_ENV": sys.prefix} | variables
        environment["PYTHONPATH"] = str(self.folder / "src")
        return subprocess.run(
            ["make", "--no-print-directory", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def printed(self):
        book = nbformat.read(self.folder / "build" / "executed" / "small.ipynb", as_version=4)
        return book.cells[3].outputs[0]["text"].split()


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The copy after a run on real data, whose ledger is committed; skip where they are not here."""
    mirror = paths.mirror()
    cached = os.environ.get("NLGJUDGE_CACHE", str(REPOSITORY / "data" / "cache"))
    made = House(tmp_path_factory.mktemp("house"))
    made.mirror = mirror or cached
    small_notebook(
        made.folder / "notebooks" / "small.ipynb",
        'source = "auto"',
        NUMBER,
        benchmarks=["openmeva"],
    )
    done = made.make("reproduce", NLGJUDGE_MIRROR=made.mirror)
    assert done.returncode == 0, done.stdout + done.stderr
    if made.printed()[0] == "sample":
        pytest.skip("needs the mirror or a network: OpenMEVA is not here")
    shutil.copy(
        made.folder / "build" / "results" / "ledger.csv",
        made.folder / "paper_tables" / "ledger.csv",
    )
    return made


def test_a_number_that_changes_in_stats_runs_the_notebooks_again(house):
    before = float(house.printed()[1])
    module = house.folder / "src" / "nlgjudge" / "stats" / "correlations.py"
    kept = module.read_text(encoding="utf-8")
    changed = "\n_plain = correlation\n\n\ndef correlation(*given, **options):\n"
    changed += (
        "    found = _plain(*given, **options)\n    return found._replace(value=found.value + 1)\n"
    )
    module.write_text(kept + changed, encoding="utf-8")
    done = house.make("reproduce", NLGJUDGE_MIRROR=house.mirror)
    module.write_text(kept, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert float(house.printed()[1]) == pytest.approx(before + 1)


def test_a_mirror_that_is_switched_off_runs_the_notebooks_again_on_the_sample(house):
    assert house.printed()[0] == "real"
    done = house.make("reproduce", NLGJUDGE_MIRROR="", NLGJUDGE_CACHE=str(house.folder / "empty"))
    assert done.returncode == 0, done.stderr
    assert house.printed()[0] == "sample"
    assert f"The notebooks used {SAMPLE_NOTICE}." in done.stdout
    assert done.stdout.endswith("cells: all as committed\n")


@pytest.fixture
def sweep(tmp_path):
    """Run a notebook over a grid; gives the process and the folder of its results."""
    made = House(tmp_path / "house")
    small_notebook(made.folder / "notebooks" / "small.ipynb", "size = 3\nwords = ['a']", TABLE)

    def run(grid):
        (made.folder / "grid.csv").write_text(grid, encoding="utf-8")
        done = made.make("sweep", "NOTEBOOK=small", "GRID=grid.csv")
        return done, made.folder / "build" / "sweeps" / "small"

    return run


def test_a_sweep_joins_the_tables_of_its_cells_and_goes_on_after_a_failure(sweep):
    done, folder = sweep('size,words\n1,"[a, b]"\n9,[a]\n')
    assert done.returncode != 0 and "the size is too large" in done.stdout + done.stderr
    assert not (folder / "results.csv").exists()
    first = folder / "size~1" / "words~[a, b]" / "executed.ipynb"
    book = nbformat.read(first, as_version=4)
    assert book.metadata.papermill.parameters == {"size": 1, "words": ["a", "b"]}
    before = first.stat().st_mtime_ns
    done, folder = sweep('size,words\n1,"[a, b]"\n8,[a]\n')
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(folder / "results.csv")["value"].tolist() == [1, 8]
    assert first.stat().st_mtime_ns == before


def test_a_sweep_refuses_a_parameter_before_it_runs(sweep):
    done, folder = sweep("sise\n1\n")
    assert done.returncode != 0
    assert "small.ipynb: no parameter 'sise': did you mean 'size'?" in done.stdout + done.stderr
    assert not folder.exists()


@pytest.mark.parametrize(
    "default, value, message",
    [
        ('{"estimator": "mode"}', "samples=1", "expected names and values, as"),
        ('["coherence"]', "coherence", "expected a list, as"),
        ("20", "twenty", "expected a number, as 20"),
        ("20", True, "expected a number, as 20"),
        ('"auto"', 3, 'expected text, as "auto"'),
        ("True", 1, "expected true or false, as true"),
    ],
)
def test_a_value_of_another_kind_is_refused(tmp_path, default, value, message):
    path = tmp_path / "small.ipynb"
    small_notebook(path, f"size = {default}  # a comment")
    with pytest.raises(ValueError, match=f"small.ipynb: size={value!r}: {message}"):
        workflow.check_parameters(path, {"size": value})


@pytest.mark.parametrize(
    "default, value",
    [
        ("1", 0.5),
        ("[1, 2]", []),
        ("None", 3),
        ("0", None),
        ("False", True),
        ("len('abc')", "x"),
        ('""', ["surface"]),
        ('""', {"ROW": "surface"}),
    ],
)
def test_a_value_of_the_same_kind_is_taken(tmp_path, default, value):
    path = tmp_path / "small.ipynb"
    small_notebook(path, f"size = {default}  # a comment")
    workflow.check_parameters(path, {"size": value})


# Declared data: what the notebooks declare is fetched, and nothing else.

STORIES = [
    {
        "doc_id": n,
        "prompt": "p",
        "reference": "r",
        "gen": {system: {"text": "t", "score": {"human": 1, "bleu": 0.5}} for system in "abcde"},
    }
    for n in range(200)
]
REPLIES = [{"doc_id": "d", "system_id": "A", "all_responses": ["4"]}]
PROMPT = b"Rate it.\n\nCoherence (1-5)\n\n{{Document}} {{Summary}}\n"
DECLARED = {
    "benchmarks": ["openmeva"],
    "recordings": ["geval/gpt-4"],
    "prompts": ["upstream:geval/*_detailed"],
}


@pytest.fixture
def host(tree, tmp_path, monkeypatch):
    """A checkout of one notebook with an empty cache, and a code host that has four files of it."""
    monkeypatch.delenv("NLGJUDGE_OFFLINE")
    monkeypatch.setattr(fetch, "_known", fetch._Known())
    shutil.copytree(REPOSITORY / "data" / "sample", tree.root / "data" / "sample")
    tree.mirror = tmp_path / "host"

    def put(benchmark, role, path, content):
        return tree.add(
            path, content, benchmark, role=role, to="mirror", repository="owner/geval", size=False
        )

    tree.wanted = [
        put("openmeva", "data", "data/openmeva.json", json.dumps(STORIES).encode()),
        put(
            "summeval", "recording", "results/gpt4_coh_detailed.json", json.dumps(REPLIES).encode()
        ),
        put("summeval", "prompt", "prompts/coh_detailed.txt", PROMPT),
        put("summeval", "prompt", "prompts/flu_detailed.txt", PROMPT),
    ]
    put("summeval", "extra", "other.txt", b"nobody asks for it")

    def resolve(declared, **options):
        path = tree.root / "notebooks" / "one.ipynb"
        path.parent.mkdir(exist_ok=True)
        nbformat.write(new_notebook(metadata={"nlgjudge": declared}), path)
        said = []
        with Upstream(tree.mirror, **options) as server, monkeypatch.context() as patch:
            for name, value in server.environment(tree.cache).items():
                patch.setenv(name, value)
            workflow.fetch_declared(said.append)
        return server, "\n".join(said)

    tree.resolve = resolve
    return tree


def test_everything_that_is_declared_is_fetched_and_nothing_else(host):
    server, _ = host.resolve(DECLARED)
    assert sorted(server.asked) == sorted(str(entry.location) for entry in host.wanted)
    found = {need: source for need, (source, _) in workflow.data("one").items()}
    assert found == dict.fromkeys(
        ["openmeva", "replay:geval/gpt-4", "upstream:geval/*_detailed"], "real"
    )
    assert host.resolve(DECLARED)[0].asked == []


def test_an_unknown_declaration_is_explained(host):
    with pytest.raises(ValueError, match="no benchmark, .* 'openmevva': did you mean 'openmeva'"):
        host.resolve({"benchmarks": ["openmevva"]})


def test_a_host_that_refuses_stops_the_command_and_what_came_is_kept(host):
    with pytest.raises(fetch.DataUnavailable, match="2 of 4 files are missing: .*answered 403"):
        host.resolve(DECLARED, refuse=2, status=403)
    assert len(host.cached()) == 2
    host.resolve(DECLARED)
    assert {source for source, _ in workflow.data("one").values()} == {"real"}


def test_what_is_optional_stops_nothing_and_the_sample_replaces_a_benchmark(host):
    declared = {"benchmarks": ["openmeva"], "optional": ["replay:geval/gpt-4"]}
    _, said = host.resolve(declared, missing=["*/results/*", "*/openmeva.json"])
    assert [source for source, _ in workflow.data("one").values()] == ["sample", "absent"]
    assert "missing: data/openmeva.json of owner/geval" in said


# The merged ledger.


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A repository with the published tables and two notebooks, whose committed ledger is of no run."""
    shutil.copytree(root() / "paper_tables" / "published", tmp_path / "paper_tables" / "published")
    shutil.copy(root() / "paper_tables" / "needs.csv", tmp_path / "paper_tables")
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "build" / "results"))
    resolved(tmp_path, one="real", two="real")
    ledger.save(ledger.merge([]), tmp_path / "paper_tables" / "ledger.csv")
    return tmp_path


def resolved(small, **sources):
    """Declare a benchmark for each notebook, and record what it resolved to."""
    (small / "notebooks").mkdir(exist_ok=True)
    (small / "build").mkdir(exist_ok=True)
    for name in sources:
        metadata = {"nlgjudge": {"benchmarks": [f"data_{name}"]}}
        nbformat.write(new_notebook(metadata=metadata), small / "notebooks" / f"{name}.ipynb")
    found = {f"data_{name}": [source, "digest"] for name, source in sources.items()}
    (small / "build" / "sources.json").write_text(json.dumps(found), encoding="utf-8")


def part(notebook, row, sample=False):
    """Values of a row in a notebook's part of the ledger: Table 1 has ten cells of it."""
    table = published("geval", "table1")
    ours = table[table["row"].eq(row) & table["aspect"].ne("AVG")][KEY].assign(
        ours=0.25, note="why"
    )
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
    part("one", "ROUGE-1")
    said, _ = built(small, commit=True)
    assert said[-1] == f"{len(all_published()):,} cells: 10 differ from the committed ledger"
    assert said[-2].startswith("  geval table1 ROUGE-1, AVG kendall: verdict")
    committed = (small / "paper_tables" / "ledger.csv").read_bytes()
    said, _ = built(small)
    assert said[-1] == f"{len(all_published()):,} cells: all as committed"
    assert (small / "paper_tables" / "ledger.csv").read_bytes() == committed


def test_the_sample_keeps_the_committed_values(small):
    old = part("one", "ROUGE-1")
    _, before = built(small, commit=True)
    resolved(small, one="sample", two="sample")
    part("one", "ROUGE-1", sample=True)
    os.utime(old, (0, 0))
    said, after = built(small)
    pd.testing.assert_frame_equal(after, before)
    assert "10 cells keep their committed value, because these data are missing: data_one" in said
    assert f"The notebooks used {SAMPLE_NOTICE}." in said


def test_a_cell_that_a_run_with_all_data_lost_is_reported(small):
    old = part("one", "ROUGE-1")
    built(small, commit=True)
    old.unlink()
    said, rows = built(small)
    assert said[-1].endswith("10 differ from the committed ledger")
    assert not verdicts.was_run(rows).any()


def test_the_newest_part_of_a_notebook_counts_and_a_deleted_notebook_does_not(small):
    old = part("one", "ROUGE-1", sample=True)
    os.utime(old, (time.time() - 60,) * 2)
    part("one", "ROUGE-1")
    part("gone", "ROUGE-2")
    _, rows = built(small)
    assert set(rows.loc[verdicts.was_run(rows), "notebook"]) == {"one"}


def test_the_digest_is_of_cells_and_tags_without_outputs(small):
    def digest(*cells):
        nbformat.write(new_notebook(cells=list(cells)), small / "notebooks" / "one.ipynb")
        return workflow.source_digest("one")

    printed = new_output("stream", name="stdout", text="1")
    plain = digest(new_code_cell("x = 1"))
    assert plain == digest(new_code_cell("x = 1", execution_count=3, outputs=[printed]))
    others = {plain, digest(new_code_cell("x = 2")), digest(tagged("x = 1"))}
    others.add(digest(new_code_cell("x = 1"), new_markdown_cell("prose")))
    assert len(others) == 4


def test_refresh_copies_outputs_figures_and_ledger_and_says_what_changed(small):
    """The second notebook ran on the sample: its outputs are not copied."""
    resolved(small, one="real", two="sample")
    for folder in (small / "notebooks", small / "build" / "executed"):
        for name in ("one", "two"):
            small_notebook(
                folder / f"{name}.ipynb", "size = 3", "size", benchmarks=[f"data_{name}"]
            )
    executed = nbformat.read(small / "build" / "executed" / "one.ipynb", as_version=4)
    for text in ("a", "b"):  # a stream in two pieces
        executed.cells[3].outputs.append(new_output("stream", name="stdout", text=text))
    shown = {"image/png": {"width": 300}, "papermill": 1}
    executed.cells[3].outputs.append(
        new_output("display_data", {"text/plain": "x"}, metadata=shown)
    )
    executed.cells[3].metadata["papermill"] = {"status": "completed"}
    nbformat.write(executed, small / "build" / "executed" / "one.ipynb")
    built(small)
    for folder, text in (("build/results/figures", "new"), ("figures", "old")):
        (small / folder).mkdir(parents=True, exist_ok=True)
        (small / folder / "one.txt").write_text(text, encoding="utf-8")
    marks = "<!-- results: generated from the ledger -->\nold\n<!-- end of results -->\n"
    for readme in (small / "README.md", small / "paper_tables" / "README.md"):
        readme.write_text(marks, encoding="utf-8")
    said = []
    workflow.refresh(said.append)
    assert "two: not copied, because data were missing: data_two" in said
    assert {"notebooks/one.ipynb: changed", "figures/one.txt: changed"} <= set(said)
    kept = nbformat.read(small / "notebooks" / "one.ipynb", as_version=4)
    stream, picture = kept.cells[3].outputs
    assert stream["text"] == "ab" and picture["metadata"] == {"image/png": {"width": 300}}
    assert "papermill" not in kept.cells[3].metadata
    assert kept.metadata["nlgjudge"]["data"] == {"data_one": ["real", "digest"]}
    assert "old" not in (small / "README.md").read_text(encoding="utf-8")
    again = []
    workflow.refresh(again.append)
    assert again == ["two: not copied, because data were missing: data_two"]
    assert (small / "figures" / "one.txt").read_text() == "new"
