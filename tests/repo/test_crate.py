"""The crate: made of what is committed, without data, and valid by the validator."""

import csv
import json
import re
import shutil
from importlib.util import find_spec

import pytest

from nlgjudge.data import registry
from nlgjudge.data.paths import root
from nlgjudge.ledger import signatures
from nlgjudge.repo import citing, crate, workflow

pytestmark = pytest.mark.skipif(
    not find_spec("rocrate"), reason="rocrate is not installed (extra crate)"
)
SMALL = "chatgpt_table6_openmeva"


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The crate of this checkout, written without validating it and read back."""
    from rocrate.rocrate import ROCrate

    folder = tmp_path_factory.mktemp("crate") / "packed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NLGJUDGE_OFFLINE", "1")
        patch.setenv("NLGJUDGE_MIRROR", "")
        patch.setenv("NLGJUDGE_CACHE", str(folder / "no cache"))
        crate.make().write(folder)
    return ROCrate(folder), folder


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A checkout of one notebook and the files that it declares, because the validator takes long."""
    home = tmp_path / "checkout"
    for name in (
        "data/citations.bib",
        "paper_tables/published/chatgpt_table6.csv",
        "CITATION.cff",
        "LICENSE",
        "requirements.lock",
        f"figures/{SMALL}.svg",
        f"notebooks/{SMALL}.ipynb",
        "paper_tables/ledger.csv",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root() / name, home / name)
    entries = registry.entries("openmeva")
    with open(home / "data" / "registry.csv", "w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([registry.Entry._fields, *entries])
    monkeypatch.setenv("NLGJUDGE_ROOT", str(home))
    return home


def test_every_declared_file_is_named_with_its_commit(packed):
    made, _ = packed
    for name in workflow.notebooks():
        for entry in workflow.declared_files(name):
            named = made.get(
                f"https://raw.githubusercontent.com/{entry.location}".replace(" ", "%20")
            )
            assert named["version"] == entry.commit
            assert named["identifier"][0] == f"swh:1:cnt:{entry.blob}"
            assert f"anchor=swh:1:rev:{entry.commit};path=/" in named["identifier"][1]
            assert named["isPartOf"]["identifier"] == f"swh:1:rev:{entry.commit}"
            assert named["license"] and named["citation"]["identifier"] == entry.citation


def test_a_run_has_its_notebook_its_files_and_its_signature(packed):
    made, folder = packed
    run = made.get(f"#run-of-{SMALL}")
    assert run["instrument"].id == f"notebooks/{SMALL}.ipynb"
    assert [one.id.rpartition("/")[2] for one in run["object"]] == [
        "openmeva.json",
        "chatgpt_table6.csv",
    ]
    results = [one.id for one in run["result"]]
    assert results == [
        f"signatures/{SMALL}.json",
        f"figures/{SMALL}.png",
        f"figures/{SMALL}.svg",
        "paper_tables/ledger.csv",
    ]
    signature = json.loads((folder / "signatures" / f"{SMALL}.json").read_text(encoding="utf-8"))
    assert signature["data"]["openmeva"]["source"] == "real"
    assert [one["identifier"] for one in made.get(run["instrument"].id)["citation"]][:1] == [
        "wang2023chatgpt"
    ]


def test_what_a_run_could_not_have_is_not_said_to_be_read(packed):
    made, _ = packed
    entry, *_ = workflow.files_of(
        "replay:geval/gpt-4"
    )  # optional, and absent when the outputs were made
    book = citing.read(root() / "notebooks" / "geval_dossier.ipynb")
    if book["metadata"]["nlgjudge"]["data"]["replay:geval/gpt-4"][0] != "absent":
        pytest.skip("the committed outputs had G-Eval's replies")
    read = {one.id for one in made.get("#run-of-geval_dossier")["object"]}
    assert read and f"https://raw.githubusercontent.com/{entry.location}" not in read


def test_every_notebook_has_a_run_with_its_signature(packed):
    made, folder = packed
    notebooks = {path.stem for path in (folder / "notebooks").glob("*.ipynb")}
    assert len(notebooks) > 30 and notebooks <= set(workflow.notebooks())
    assert {run.id for run in made.get_by_type("CreateAction")} == {
        f"#run-of-{name}" for name in notebooks
    }
    assert {run.id for run in made.root_dataset["mentions"]} == {
        f"#run-of-{name}" for name in notebooks
    }


def test_nothing_of_upstream_is_in_it(packed):
    _, folder = packed
    upstream = {entry.blob for entry in registry.entries()}
    inside = [path for path in folder.rglob("*") if path.is_file()]
    assert len(inside) > 100
    assert not [path.name for path in inside if registry.blob_id(path.read_bytes()) in upstream]


def test_every_upstream_commit_is_listed_for_an_archive(packed):
    _, folder = packed
    with open(folder / "upstream_commits.csv", newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert {row["commit"] for row in rows} == {entry.commit for entry in registry.entries()}
    assert sum(int(row["files"]) for row in rows) == len(registry.entries())
    assert all(
        re.search(
            r"/swh:1:rev:[0-9a-f]{40};origin=https://github\.com/", row["address_in_the_archive"]
        )
        for row in rows
    )


def test_root_says_what_the_citation_file_says(packed):
    _, folder = packed
    about = (root() / "CITATION.cff").read_text(encoding="utf-8")
    graph = json.loads((folder / crate.METADATA).read_text(encoding="utf-8"))["@graph"]
    (said,) = (entity for entity in graph if entity["@id"] == "./")
    assert f'title: "{said["name"]}"\n' in about
    assert f"version: {said['version']}\n" in about
    assert f"date-released: {said['datePublished']}\n" in about
    assert said["license"] == {"@id": "https://spdx.org/licenses/MIT"}


def test_the_same_checkout_gives_the_same_crate(small, tmp_path):
    for name in ("one", "two"):
        crate.make().write(tmp_path / name)
    first, second = ((tmp_path / name / crate.METADATA).read_bytes() for name in ("one", "two"))
    assert first == second


@pytest.mark.skipif(
    not find_spec("rocrate_validator"), reason="roc-validator is not installed (extra crate)"
)
def test_the_validator_finds_nothing_and_what_is_broken(small, tmp_path, capsys):
    crate.pack(tmp_path / "packed")
    assert "valid as RO-Crate 1.1 and Process Run Crate 0.5" in capsys.readouterr().out
    path = tmp_path / "packed" / crate.METADATA
    broken = json.loads(path.read_text(encoding="utf-8"))
    for entity in broken["@graph"]:
        if entity["@type"] == "CreateAction":
            del entity["instrument"]
    path.write_text(json.dumps(broken), encoding="utf-8")
    assert [problem for problem in crate.problems(tmp_path / "packed") if "instrument" in problem]


def test_a_folder_with_other_files_is_left_alone(small, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("\\begin{document}")
    with pytest.raises(FileExistsError, match="got other files"):
        crate.pack(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "\\begin{document}"


def test_a_book_without_signature_has_none():
    assert (
        signatures.recorded(
            {
                "cells": [
                    {
                        "cell_type": "code",
                        "outputs": [
                            {"data": {"text/plain": "{'data': <object>}"}},
                            {"output_type": "stream", "text": "x"},
                        ],
                    }
                ]
            }
        )
        is None
    )
