"""What `cite` prints, and that every key has one true place."""

import json
import re

import pytest

import nlgjudge as nj
from nlgjudge.data import citations, registry
from nlgjudge.data.benchmarks import READERS
from nlgjudge.data.paths import root
from nlgjudge.data.recordings import RECORDINGS
from nlgjudge.judging import heard
from nlgjudge.ledger import cited
from nlgjudge.ledger.printed import PAPERS
from nlgjudge.repo import citing, cli, workflow

ENTRIES = citations.bibliography()
SUMMEVAL = "geval_table1_summeval"
REQUIRED = {"article": {"journal"}, "inproceedings": {"booktitle"}, "misc": set()}


@pytest.fixture(autouse=True)
def silent(monkeypatch):
    """A process that has heard no model; others' tests may have heard some that said nothing of use."""
    monkeypatch.setattr(heard, "_heard", {})


def printed(capsys, *arguments):
    status = cli.main(["cite", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_every_key_of_the_registry_resolves():
    assert {entry.citation for entry in registry.entries()} <= set(ENTRIES)


def test_every_paper_and_benchmark_has_one_entry():
    for kind, names in (("paper", PAPERS), ("benchmark", READERS)):
        assert {name: len(citations.cited_for(kind, name)) for name in names} == dict.fromkeys(
            names, 1
        )


def test_every_recorded_model_has_an_entry():
    models = {model for name in RECORDINGS for model in cited.recorded_models(name)}
    assert len(models) > 8 and all(citations.cited_for("judge", model) for model in models)


def test_no_entry_is_unused():
    in_registry = {entry.citation for entry in registry.entries()}
    assert not [
        key for key, entry in ENTRIES.items() if key not in in_registry and not entry.cited_for
    ]
    words = [word for entry in ENTRIES.values() for word in entry.cited_for]
    assert all(re.fullmatch(r"(paper|benchmark|judge):[\w.-]+", word) for word in words)
    benchmarks = {
        word.removeprefix("benchmark:") for word in words if word.startswith("benchmark:")
    }
    assert benchmarks == set(READERS)


def test_entries_are_well_formed():
    for key, entry in ENTRIES.items():
        assert {"title", "author", "year"} | REQUIRED[entry.kind] <= set(entry.fields), key
        assert re.fullmatch(r"(19|20)\d\d", entry.fields["year"]) and entry.fields["year"] in key, (
            key
        )
        # Where one can look: a journal's or a conference's pages, or an address.
        assert {"pages", "doi", "url", "eprint"} & set(entry.fields), key
        assert not re.search(r"[^\x00-\x7f]", entry.bibtex), key
        assert citations.parse(entry.bibtex + "\n")[key].fields == entry.fields


@pytest.mark.parametrize(
    "text, message",
    [
        ("@misc{a,\n  year = {2020},\n}\n\nnonsense\n", "got 'nonsense'"),
        ("@misc{a,\n  title = {{A},\n}\n", "a: expected a field in one line"),
        ("@misc{a,\n  title = {A\n  B},\n}\n", "a: expected a field in one line"),
        ("@misc{a,\n}\n@misc{a,\n}\n", "two entries a"),
    ],
)
def test_an_entry_that_cannot_be_read_is_named(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        citations.parse(text)


def test_the_table_of_licences_names_the_same_keys():
    readme = (root() / "data" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| (\w+\d{4}\w+) \|", readme, re.M)) == {
        e.citation for e in registry.entries()
    }


def test_paper_benchmark_recording_other_run_and_judge_are_printed(capsys):
    status, out, _ = printed(capsys, "geval_table2_topical_chat")
    assert status == 0
    assert {
        "liu2023geval",
        "mehri2020usr",
        "chiang2023closer",
        "colombo2022best",
        "openai2022chatgpt",
    } <= set(citations.parse(out))
    assert "keywords" not in out


def test_what_a_notebook_could_not_have_is_not_cited():
    book = citing.read(root() / "notebooks" / f"{SUMMEVAL}.ipynb")
    data = book["metadata"]["nlgjudge"]["data"]
    data["replay:llm_summeval/gpt-4/reason_then_score"][0] = "absent"
    assert "gpt-4-0314" not in citing.judges(book)
    data["replay:llm_summeval/gpt-4/reason_then_score"][0] = "real"
    assert "gpt-4-0314" in citing.judges(book)


@pytest.mark.parametrize("given", [SUMMEVAL, f"{SUMMEVAL}.ipynb", f"notebooks/{SUMMEVAL}.ipynb"])
def test_a_name_may_be_given_as_one_likes(given, tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_ROOT", str(root()))
    monkeypatch.chdir(tmp_path)
    assert citing.find(given) == root() / "notebooks" / f"{SUMMEVAL}.ipynb"


def test_every_notebook_of_a_paper_cites_it():
    for name in workflow.notebooks():
        paper = name.split("_")[0]
        if paper in PAPERS:
            book = citing.read(root() / "notebooks" / f"{name}.ipynb")
            assert citations.cited_for("paper", paper)[0] in citing.keys(name, book)


def test_a_wrong_name_has_near_ones(capsys):
    status, out, err = printed(capsys, "geval_tabel1_summeval")
    assert (status, out) == (1, "") and f"did you mean '{SUMMEVAL}'" in err
    status, out, err = printed(capsys, str(root() / "LICENSE"))
    assert (status, out) == (1, "") and "expected a notebook" in err


def test_an_executed_copy_cites_the_model_that_it_asked(tmp_path, capsys):
    book = citing.read(root() / "notebooks" / "00_tour.ipynb")
    book["metadata"]["papermill"] = {
        "parameters": {"judge": "openai:gpt-4o-mini", "other": "openai:a-model-of-mine"}
    }
    (tmp_path / "mine.ipynb").write_text(json.dumps(book), encoding="utf-8")
    _, out, _ = printed(capsys, str(tmp_path / "mine.ipynb"))
    assert "openai2024gpt4o" in citations.parse(out)
    assert "% judge a-model-of-mine: no entry" in out


def test_the_keys_of_the_signature_are_cited():
    signature = "{'data': {}, 'settings': {}, 'versions': {}, 'cite': 'kreutzer2018reliability'}"
    output = {"data": {"text/plain": [signature]}}
    book = {"metadata": {}, "cells": [{"cell_type": "code", "source": ["x"], "outputs": [output]}]}
    assert citing.keys("mine", book) == ["kreutzer2018reliability"]


def test_the_signature_carries_the_keys(real):
    chats = real("topical_chat")
    said = nj.signature(chats, prompts={"geval/dialogue/coherence": "x"}, judge="openai:gpt-4o")[
        "cite"
    ]
    assert "\n" not in said
    assert {"liu2023geval", "mehri2020usr", "zhong2022unieval", "openai2024gpt4o"} <= set(
        said.split(", ")
    )


def test_the_sample_is_nobodys(monkeypatch):
    monkeypatch.setattr(cited, "used", lambda: [])
    monkeypatch.setattr("nlgjudge.ledger.printed.asked_papers", lambda: [])
    assert nj.signature(nj.load("summeval", "sample"), seed=0)["cite"] == ""
