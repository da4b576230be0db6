"""What notebooks declare is what they read, and all of it is fetched before they run."""

import csv
import json

import nbformat
import pytest
from nbformat.v4 import new_notebook

from nlgjudge.data import benchmarks, fetch, published_runs, registry
from nlgjudge.data.paths import root
from nlgjudge.repo import workflow
from nlgjudge.repo.notebooks import keep_outputs
from upstream import Upstream

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


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A checkout of one notebook with an empty cache, and a code host; `put` registers and publishes."""
    checkout, host = tmp_path / "checkout", tmp_path / "host"
    (checkout / "notebooks").mkdir(parents=True)
    (checkout / "data").mkdir()
    (checkout / "data" / "sample").symlink_to(root() / "data" / "sample")
    with open(checkout / "data" / "registry.csv", "w", newline="") as handle:
        csv.writer(handle).writerow(registry.Entry._fields)
    host.mkdir()
    monkeypatch.setenv("NLGJUDGE_ROOT", str(checkout))
    monkeypatch.delenv("NLGJUDGE_OFFLINE", raising=False)
    monkeypatch.setattr(fetch, "_known", fetch._Known())

    class Small:
        cache = checkout / "data" / "cache"

        def put(self, benchmark, role, path, content):
            entry = registry.Entry(
                benchmark,
                role,
                "owner/geval",
                "c0ffee",
                path,
                registry.blob_id(content),
                "",
                "CC0-1.0",
                "nobody2024",
            )
            with open(checkout / "data" / "registry.csv", "a", newline="") as handle:
                csv.writer(handle).writerow(entry)
            place = host / entry.location
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            return entry

        def declare(self, **metadata):
            path = checkout / "notebooks" / "one.ipynb"
            nbformat.write(new_notebook(metadata={"nlgjudge": metadata}), path)

        def resolve(self, **options):
            said = []
            with Upstream(host, **options) as server, monkeypatch.context() as patch:
                for name, value in server.environment(self.cache).items():
                    patch.setenv(name, value)
                workflow.resolve(said.append)
            return server, "\n".join(said)

    made = Small()
    made.story = made.put("openmeva", "data", "data/openmeva.json", json.dumps(STORIES).encode())
    made.reply = made.put(
        "summeval", "recording", "results/gpt4_coh_detailed.json", json.dumps(REPLIES).encode()
    )
    made.prompts = [
        made.put("summeval", "prompt", f"prompts/{name}_detailed.txt", PROMPT)
        for name in ("coh", "flu")
    ]
    made.other = made.put("summeval", "extra", "other.txt", b"nobody asks for it")
    made.all = {
        "benchmarks": ["openmeva"],
        "recordings": ["geval/gpt-4"],
        "prompts": ["upstream:geval/*_detailed"],
    }
    return made


def test_everything_that_is_declared_is_fetched_and_nothing_else(small):
    small.declare(**small.all)
    server, said = small.resolve()
    wanted = [small.story, small.reply, *small.prompts]
    assert sorted(server.asked) == sorted(str(entry.location) for entry in wanted)
    assert all((small.cache / entry.location).is_file() for entry in wanted)
    assert {need: source for need, (source, _) in workflow.data("one").items()} == dict.fromkeys(
        ["openmeva", "replay:geval/gpt-4", "upstream:geval/*_detailed"], "real"
    )
    assert "openmeva           real    1000 items" in said and "sample" not in said
    assert small.resolve()[0].asked == []  # all is here


def test_what_is_read_and_not_declared_is_named(small):
    """Paths as a run notes them: below the cache, or a mirror anywhere; modules are no data."""
    small.declare(benchmarks=["openmeva"], prompts=["upstream:geval/coh_detailed"])
    used = [
        f"data/cache/{small.story.location}",
        f"elsewhere/mirror/{small.reply.location}",
        f"data/cache/{small.prompts[0].location}",
        f"data/cache/{small.prompts[1].location}",
        "src/nlgjudge/data/fetch.py",
        "data/registry.csv",
    ]
    assert workflow.undeclared("one", used) == sorted(
        str(entry.location) for entry in (small.reply, small.prompts[1])
    )
    small.declare(
        benchmarks=["openmeva"], optional=["replay:geval/gpt-4", "upstream:geval/*_detailed"]
    )
    assert workflow.undeclared("one", used) == []


def test_notebooks_declare_what_their_last_run_read():
    notes = sorted((root() / "build" / "executed").glob("*.deps.json"))
    if not notes:
        pytest.skip("no notebook ran here: `make reproduce` notes what each one read")
    names = {note.name.removesuffix(".deps.json"): note for note in notes}
    read = {
        name: workflow.undeclared(name, json.loads(note.read_text(encoding="utf-8")))
        for name, note in names.items()
        if name in workflow.notebooks()
    }
    assert not {name: files for name, files in read.items() if files}


def test_an_unknown_name_is_explained(small):
    small.declare(benchmarks=["openmevva"])
    with pytest.raises(ValueError, match="no benchmark, .* 'openmevva': did you mean 'openmeva'"):
        small.resolve()


def test_a_host_that_refuses_stops_the_command_and_what_came_is_kept(small):
    small.declare(**small.all)
    entries = [small.story, small.reply, *small.prompts]
    with pytest.raises(
        fetch.DataUnavailable,
        match="of 4 files could not be had, as .*answered 403\n.*"
        "What was fetched is kept: run the same command again later",
    ):
        small.resolve(refuse=2, status=403)
    assert sum((small.cache / entry.location).is_file() for entry in entries) == 2
    assert not (small.cache.parents[1] / "build" / "sources.json").exists()
    small.resolve()
    assert {source for source, _ in workflow.data("one").values()} == {"real"}


def test_what_is_optional_stops_nothing(small):
    small.declare(
        benchmarks=["openmeva"], optional=["replay:geval/gpt-4", "upstream:geval/coh_detailed"]
    )
    _, said = small.resolve(missing=["*/results/*", "*/prompts/*"])
    assert "the code host does not have 2 of 3 files" in said
    data = workflow.data("one")
    assert [data[need][0] for need in data] == ["real", "absent", "absent"]


def test_sample_and_real_are_told_apart(small):
    """OpenMEVA's file is gone from the host; everything else is real."""
    small.declare(**small.all)
    _, said = small.resolve(missing=["*/openmeva.json"])
    assert "MISSING data/openmeva.json of owner/geval: http" in said
    assert "The sample stands in for openmeva; all else is real." in said


def test_a_file_that_comes_makes_the_data_other(small):
    """An odd file is here and not used; outputs without it must not be compared with a run that names it."""
    small.declare(benchmarks=[], optional=["replay:geval/gpt-4"])
    small.resolve(missing=["*"])
    absent = workflow.data("one")
    small.resolve()
    gained = workflow.data("one")
    (small.cache / small.reply.location).unlink()
    small.put("summeval", "recording", "results/gpt4_rel_detailed.json", b"[3]")
    small.resolve()
    odd = workflow.data("one")
    sources = [data["replay:geval/gpt-4"][0] for data in (absent, gained, odd)]
    assert sources == ["absent", "real", "unreadable"]


def test_data_are_read_again_only_after_a_change(small, monkeypatch):
    """All is fetched; then whatever reads a benchmark fails."""
    small.declare(**small.all)
    small.resolve()
    monkeypatch.setenv("NLGJUDGE_CACHE", str(small.cache))
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    said = []
    found = workflow.resolve(said.append)

    def read(name):
        raise AssertionError(f"{name} was read")

    monkeypatch.setattr(benchmarks, "load", read)

    def as_before():
        again = []
        return workflow.resolve(again.append) == found and again == said

    def reads_anew():
        with pytest.raises(AssertionError, match="openmeva was read"):
            workflow.resolve()
        return True

    assert as_before()
    story = small.cache / small.story.location
    aside = story.rename(story.with_suffix(".aside"))
    assert reads_anew()
    aside.rename(story)
    assert as_before()
    monkeypatch.setenv("NLGJUDGE_STORY_CLOZE", "stories.csv")
    assert reads_anew()
    monkeypatch.delenv("NLGJUDGE_STORY_CLOZE")
    assert as_before()
    small.put("summeval", "extra", "another.txt", b"a line of the registry more")
    assert reads_anew()


@pytest.mark.parametrize(
    "found, committed, kept",
    [
        (
            {"a": ["real", "1"], "b": ["absent", "2"]},
            {"a": ["real", "1"], "b": ["absent", "2"]},
            True,
        ),
        (
            {"a": ["real", "1"], "b": ["real", "2"]},
            {"a": ["real", "1"], "b": ["absent", "2"]},
            True,
        ),
        (
            {"a": ["real", "1"], "b": ["absent", "2"]},
            {"a": ["real", "1"], "b": ["real", "2"]},
            False,
        ),
        (
            {"a": ["sample", "1"], "b": ["real", "2"]},
            {"a": ["real", "1"], "b": ["real", "2"]},
            False,
        ),
    ],
    ids=["without_it_as_before", "gained", "lost", "no_data"],
)
def test_outputs_without_an_optional_file_do_not_replace_outputs_with_it(
    tmp_path, found, committed, kept
):
    """`a` is needed, `b` optional."""
    path = tmp_path / "one.ipynb"
    nbformat.write(
        new_notebook(metadata={"nlgjudge": {"optional": ["b"], "data": committed}}), path
    )
    assert keep_outputs(path, path, found) is kept


RUNS = "\n".join(
    json.dumps({"instance_id": f"d{number}", "summarizer_id": "A", "metrics": {"METEOR": 0.5}})
    for number in range(200)
).encode()


def test_others_runs_are_fetched_and_found(small, monkeypatch):
    """A run that fits is real; one of another layout is here and cannot be read."""
    run = small.put("openmeva", "other_run", "fabbri2020/meteor.jsonl", RUNS)
    small.declare(benchmarks=["openmeva"], other_runs=["openmeva"])
    server, said = small.resolve()
    assert str(run.location) in server.asked and (small.cache / run.location).is_file()
    assert workflow.data("one")["run:openmeva"][0] == "unreadable" and "meteor.jsonl" not in str(
        workflow.needs("one")
    )
    assert [e.location for e in workflow.declared_files("one")] == [
        small.story.location,
        run.location,
    ]
    fits = small.put(
        "openmeva",
        "other_run",
        "fabbri2020/fits.jsonl",
        RUNS.replace(b'"d', b'"').replace(b'"A"', b'"a"'),
    )
    monkeypatch.setattr(published_runs, "COUNTS", {"fits": 200})
    monkeypatch.setattr(published_runs, "other_run_files", lambda name: [fits])
    small.resolve()
    assert workflow.data("one")["run:openmeva"][0] == "real"


def test_others_runs_that_cannot_be_had_are_absent(small, monkeypatch):
    run = small.put("openmeva", "other_run", "fabbri2020/meteor.jsonl", RUNS)
    small.declare(benchmarks=["openmeva"], other_runs=["openmeva"], optional=["run:openmeva"])
    small.resolve(missing=[str(run.location)])
    assert workflow.data("one")["run:openmeva"][0] == "absent"
