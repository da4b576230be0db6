"""Files that upstream has and the mirror lacks, made up in their layouts; and malformed optional files."""

import json
import pickle
from pathlib import Path

import pytest

import nlgjudge as nj
import realistic
from nlgjudge.cli import main
from nlgjudge.data import benchmarks, fetch, paths, registry
from nlgjudge.ledger import ledger
from upstream import Upstream

TESTS = Path(__file__).resolve().parents[1]
ASPECTS = ("coherence", "consistency", "fluency", "relevance")
QAGS = ("qags_cnn", "qags_xsum")


@pytest.fixture(scope="module")
def mirrored():
    """The mirror; without one, what was downloaded, in the same layout."""
    folder = Path(paths.mirror() or paths.cache())
    if not (folder / "neulab").is_dir():
        pytest.skip("needs the mirror or a network: the made files are about real items")
    if not paths.mirror():
        main(["data", "fetch", *QAGS])
    return folder


@pytest.fixture(scope="module")
def made(mirrored, tmp_path_factory):
    """A folder of realistic files and a registry that knows them."""
    folder = tmp_path_factory.mktemp("made")
    realistic.register(folder / "registry.csv", realistic.write(folder / "host"))
    return folder


@pytest.fixture
def whole(made, mirrored, checkout, tmp_path, monkeypatch):
    """A checkout whose code host has everything: the mirror's files and the made ones."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sample").symlink_to(checkout / "data" / "sample")
    (tmp_path / "data" / "registry.csv").write_bytes((made / "registry.csv").read_bytes())
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.delenv("NLGJUDGE_OFFLINE", raising=False)
    monkeypatch.setattr(fetch, "_unreachable", {})
    with Upstream(made / "host", mirrored) as server:
        for name, value in server.environment(tmp_path / "data" / "cache").items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.mark.parametrize("name", realistic.PACKED)
def test_score_files_of_upstream_are_read_but_for_odd_values(whole, name, capsys):
    """Of the five odd values of one metric one is text of a number; one item lacks another metric."""
    found = benchmarks.load(name, "real")
    released = found.released().set_index("item_id")
    assert found.left_out == {}
    assert released["bartscore:bert_score_f"].notna().all()
    assert released["bartscore:mover_score"].isna().sum() == 1
    assert released["bartscore:prism_src_hypo"].isna().sum() == len(realistic.ODD) - 1
    out = capsys.readouterr().out
    assert "/final_p.pkl of neulab/BARTScore: 4 of" in out
    assert "scores are no finite numbers and are left out" in out


@pytest.mark.parametrize(
    "name",
    [
        "geval/gpt-4",
        "closer_look_summeval/geval",
        "closer_look_summeval/free_text_no_auto_cot",
        "closer_look_summeval/rate_explain",
        "closer_look_summeval/analyze_rate_0.3",
        "closer_look_summeval/geval_no_auto_cot_0.7",
        "closer_look_summeval/rate_explain_human",
        "closer_look_summeval/geval_no_auto_cot_hhh",
    ],
)
def test_replies_of_upstream_are_read(whole, name):
    """1,600 items by four aspects and 20 replies, or 5 at other temperatures and with a persona."""
    samples = 5 if name.endswith(("0.3", "0.7", "human", "hhh")) else 20
    items = nj.load("summeval", "real").items
    assert nj.data.available(name)
    frame = nj.recording(name, items)
    assert len(frame) == 1600 * 4 * samples
    assert not frame.duplicated(["item_id", "aspect", "sample_index"]).any()
    assert frame["text"].map(type).eq(str).all() and {"", "5"} < set(frame["text"])


def test_questions_and_answers_of_upstream_are_read(whole):
    found = benchmarks.load("answer_equivalence", "real")
    assert len(found.items) == 330 and found.ratings["score"].isin([0, 1]).all()


def test_a_notebook_runs_offline_after_a_fetch(whole, tmp_path, monkeypatch, capsys, run_cells):
    """The table of QAGS, with the scores that the mirror lacks: verified like any other file, they reach the ledger."""
    for name in ("notebooks", "paper_tables"):
        (tmp_path / name).symlink_to(TESTS.parent / name)
    assert main(["data", "fetch", *QAGS]) == 0 and main(["data", "verify", *QAGS]) == 0
    registered = len([entry for name in QAGS for entry in registry.entries(name)])
    assert f"{registered} files verified, 0 bad, 0 not here" in capsys.readouterr().out
    asked = len(whole.asked)
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    parts = run_cells("geval_table3_qags", stemmers=[])["parts"]
    assert len(whole.asked) == asked and not any(part.is_sample for part in parts.values())
    found = ledger.read(tmp_path / "out" / "ledger" / "geval_table3_qags.csv")
    evidence = found.groupby("row")["evidence"].unique().map(list).to_dict()
    released = ["UniEval", "BERTScore", "MoverScore", "BARTScore"]
    recomputed = dict.fromkeys(["ROUGE-2", "ROUGE-L"], ["recomputed"])
    assert evidence == recomputed | dict.fromkeys(released, ["released_scores"])


# Malformed files


@pytest.fixture
def one_summary(tree, monkeypatch):
    """SummEval with one summary; `add` gives it a file of released scores or experts' ratings."""
    scores = dict.fromkeys(ASPECTS, 1.0)
    document = {
        "src": "s",
        "ref_summs": ["r"],
        "sys_summs": {"A": {"sys_summ": "t", "scores": scores}},
    }
    spec = benchmarks.BENCHMARKS["summeval"]._replace(expect=(1, 1))
    monkeypatch.setitem(benchmarks.BENCHMARKS, "summeval", spec)
    tree.add("SummEval/data.pkl", pickle.dumps({"d1": document}), "summeval")
    given = {}

    def load():
        for path, role in (
            ("SummEval/final_p.pkl", "scores"),
            ("data/summeval.json", "scores"),
            ("summeval_result.json", "scores"),
            ("data/summeval/human_annotations.json", "annotations"),
        ):
            to = "cache" if path in given else None
            tree.add(path, given.get(path, b""), "summeval", role=role, to=to)
        return benchmarks.load("summeval", "real")

    return given, load


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"",
        b'{"d1": {"sys_summs": {"A": {"scores": [1]}}}}',
        b"<!DOCTYPE html>",
        b'{"of another set": {"sys_summs": {"A": {"scores": {"m": 1}}}}}',
    ],
    ids=["list", "empty", "no_names", "page", "other_items"],
)
def test_a_malformed_optional_file_is_named_and_costs_itself_alone(one_summary, capsys, content):
    given, load = one_summary
    given["data/summeval.json"] = content
    found = load()
    assert len(found.items) == 1 and len(found.scores) == 0
    assert found.left_out["SummEval/final_p.pkl"] == "not on this machine"
    assert "data/summeval.json" in found.left_out and "data/summeval.json" in found.files
    said = "summeval: data/summeval.json of owner/name is left out: it is laid out otherwise"
    assert said in capsys.readouterr().out


def test_a_malformed_recording_is_named_and_not_available(tree, capsys):
    for path in ("results/gpt4_coh_detailed.json", "results/gpt4_rel_detailed.json"):
        tree.add(path, b'[{"doc_id": 1}]', "summeval", role="recording")
    assert not nj.data.available("geval/gpt-4")
    said = capsys.readouterr().out
    assert "gpt4_coh_detailed.json of" in said and "(KeyError: 'system_id')" in said


def test_malformed_questions_are_named_and_the_sample_stands_in(tree, copied_sample, capsys):
    plain = benchmarks.load("answer_equivalence", "sample").digest
    tree.add("v1/ae_dev.jsonl", b"question,answer\nWhich?,this\n", "answer_equivalence")
    found = benchmarks.load("answer_equivalence")
    assert found.is_sample and found.digest != plain
    said = "answer_equivalence is the sample: v1/ae_dev.jsonl of owner/name is laid out otherwise"
    assert said in capsys.readouterr().out
    with pytest.raises(fetch.DataUnavailable, match="JSONDecodeError"):
        benchmarks.load("answer_equivalence", "real")


# What is declared, and benchmarks together


def test_prompts_are_declared_one_by_one_or_as_a_family():
    one = registry.prompt_files("upstream:geval/coh_detailed")
    family = registry.prompt_files("upstream:geval/*_detailed")
    assert len(one) == 1 and set(one) < set(family) and len(family) == 4
    with pytest.raises(KeyError, match="no registered prompt 'upstream:geval/nope'; files: "):
        registry.prompt_files("upstream:geval/nope")


def test_benchmarks_of_one_notebook_are_all_real_or_all_the_sample(tree, copied_sample, capsys):
    """OpenMEVA is here and Topical-Chat is not; there is no network."""
    output = {"text": "t", "score": {"human": 1, "bleu": 0.5}}
    story = {"prompt": "p", "reference": "r", "gen": dict.fromkeys("abcde", output)}
    stories = [story | {"doc_id": number} for number in range(200)]
    tree.add("data/openmeva.json", json.dumps(stories).encode(), "openmeva")
    tree.add("dialogue/topical_chat.json", b"[]", "topical_chat", to=None)
    assert not benchmarks.load("openmeva").is_sample and benchmarks.load("topical_chat").is_sample
    found = benchmarks.load_together(["openmeva", "topical_chat"])
    assert list(found) == ["openmeva", "topical_chat"] and all(b.is_sample for b in found.values())
    assert capsys.readouterr().out.startswith("topical_chat is unavailable here, so all of open")
    assert not benchmarks.load_together(["openmeva"])["openmeva"].is_sample
    with pytest.raises(fetch.DataUnavailable, match="dialogue/topical_chat.json of owner/name"):
        benchmarks.load_together(["openmeva", "topical_chat"], "real")
