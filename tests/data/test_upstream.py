"""A machine with a network and without a mirror: side by side, through rate limits, odd files and all."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nlgjudge as nj
import realistic
from nlgjudge.cli import main
from nlgjudge.data import benchmarks, fetch, paths, registry
from nlgjudge.data.safe_pickle import unpickle
from nlgjudge.ledger import ledger
from upstream import Upstream

TESTS = Path(__file__).resolve().parents[1]
REPOSITORY = TESTS.parent
STORY = {
    "doc_id": 0,
    "prompt": "p",
    "reference": "r",
    "gen": {"a": {"text": "t", "score": {"human": 1, "bleu": 0.5}}},
}


@pytest.fixture
def host(tree, tmp_path, monkeypatch):
    """Start a code host that serves `tmp_path / "host"`; the checkout has an empty cache."""
    started = []

    def start(**options):
        server = Upstream(tmp_path / "host", **options).__enter__()
        started.append(server)
        monkeypatch.delenv("NLGJUDGE_OFFLINE", raising=False)
        for name, value in server.environment(tree.cache).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(fetch, "_known", fetch._Known())
        return server

    yield start
    for server in started:
        server.__exit__()


@pytest.fixture
def publish(tree, tmp_path):
    """Register a file and put it on the code host."""

    def add(path, content, benchmark="toy", **options):
        entry = tree.add(path, content, benchmark, to=None, **options)
        place = tmp_path / "host" / entry.location
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        return entry

    return add


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only while somebody sleeps; returns the pauses."""
    pauses, now = [], [1000.0]

    def sleep(seconds):
        pauses.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(fetch, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: now[0]))
    return pauses


def openmeva(publish, stories=1):
    return publish("data/openmeva.json", json.dumps([STORY] * stories).encode(), "openmeva")


# Side by side


def test_files_are_fetched_side_by_side_and_each_once(host, publish, tree):
    """Eight requests are under way at once; none is answered before."""
    entries = [publish(f"{n}.txt", bytes([n]) * 10) for n in range(16)]
    server = host()
    together, waiting = [], []
    answer = server.answer

    def slow(address):
        waiting.append(address)
        deadline = time.monotonic() + 600
        while len(waiting) < fetch.WORKERS and time.monotonic() < deadline:
            time.sleep(0.01)
        together.append(len(waiting))
        return answer(address)

    server.answer = slow
    outcomes = fetch.read_all([*entries, *entries])
    assert set(outcomes) == set(entries) and not any(outcomes.values())
    assert min(together) >= fetch.WORKERS
    assert sorted(server.asked) == sorted(str(entry.location) for entry in entries)
    assert len(tree.cached()) == 16


def test_a_file_that_cannot_be_had_costs_itself_alone(host, publish):
    entries = [publish(f"{n}.txt", bytes([n]) * 10) for n in range(3)]
    host(missing=["*/1.txt"])
    outcomes = fetch.read_all(entries)
    assert [getattr(outcomes[entry], "kind", None) for entry in entries] == [None, "absent", None]
    assert str(outcomes[entries[1]].cause).endswith("1.txt answered 404")


def test_progress_is_shown_on_a_terminal_and_nowhere_else(host, publish, monkeypatch, capsys):
    entries = [publish(f"{n}.txt", b"x" * 500_000 + bytes([n])) for n in range(4)]
    host()
    fetch.read_all(entries, label="data")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    fetch.read_all(entries, label="data")
    shown = capsys.readouterr().err
    assert "data: 100%" in shown and "4/4" in shown and "2.0 MB" in shown


def test_connections_that_are_cut_are_tried_again(host, publish, clock):
    entries = [publish(f"{n}.txt", bytes([n]) * 1000) for n in range(6)]
    server = host(cut=fetch.RETRIES - 1)  # so that no file gives up, however the cuts fall
    assert not any(fetch.read_all(entries).values())
    assert server.statuses["cut"] == fetch.RETRIES - 1 and server.statuses[200] == 6


def test_a_link_in_the_mirror_is_read(tree, monkeypatch, tmp_path):
    """Mirrors by other tools keep contents elsewhere and link to them; this was refused as an escape."""
    entry = tree.add("toy.txt", b"content", to=None)
    (tmp_path / "store").write_bytes(b"content")
    place = tree.mirror / entry.location
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "store")
    monkeypatch.setenv("NLGJUDGE_MIRROR", str(tree.mirror))
    assert fetch.read(entry) == b"content" and fetch.local(entry) == place


def test_a_link_to_nothing_is_named_as_one(tree, monkeypatch, tmp_path):
    entry = tree.add("toy.txt", b"content", to=None)
    place = tree.mirror / entry.location
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "gone")
    monkeypatch.setenv("NLGJUDGE_MIRROR", str(tree.mirror))
    with pytest.raises(
        fetch.DataUnavailable, match="2. mirror: .*toy.txt is a link to .*gone, where there is noth"
    ):
        fetch.read(entry)


# Too many requests


@pytest.mark.parametrize("given, waited", [("7", 7), (None, 1)], ids=["as_asked", "unasked"])
def test_a_rate_limit_is_waited_for(host, publish, clock, given, waited):
    entry = publish("toy.txt", b"content")
    server = host(refuse=1, retry_after=given)
    assert fetch.read(entry) == b"content"
    assert clock == [waited] and server.statuses == {429: 1, 200: 1}


def test_a_moment_to_wait_for_is_understood(host, publish, clock):
    """HTTP allows a date in the place of seconds; one that has passed means at once."""
    host(refuse=1, retry_after=formatdate(0, usegmt=True))
    assert fetch.read(publish("toy.txt", b"content")) == b"content" and clock == []


def test_everybody_waits_for_one_rate_limit(host, publish, clock):
    entries = [publish(f"{n}.txt", bytes([n]) * 10) for n in range(20)]
    server = host(refuse=30, retry_after="2")
    assert not any(fetch.read_all(entries).values())
    assert server.statuses == {429: 30, 200: 20}
    assert sum(clock) <= fetch.LONGEST_WAIT


def test_a_rate_limit_without_end_is_named_and_asked_no_more(host, publish, clock):
    entries = [publish(f"{n}.txt", bytes([n]) * 10) for n in range(2)]
    server = host(refuse=99, retry_after="3600")
    for entry in entries:
        with pytest.raises(fetch.DataUnavailable) as caught:
            fetch.read(entry)
        assert caught.value.kind == "failed"
        assert (
            "answered 429 (too many requests) and asks to wait 3600 s; run it again later"
            in str(caught.value)
        )
    assert clock == [] and len(server.asked) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_the_sample_does_not_stand_in_for_a_host_that_answers(host, publish, clock, status):
    openmeva(publish, 200)
    host(refuse=999, status=status)
    with pytest.raises(
        fetch.DataUnavailable,
        match=f"(?s)answered {status}.*The code host answered, so the "
        "sample does not stand in: run it again later, or ask for it with source='sample'",
    ):
        benchmarks.load("openmeva")


def test_the_sample_stands_in_aloud_for_a_file_that_is_gone(
    host, publish, tree, copied_sample, capsys
):
    openmeva(publish)
    host(missing=["*"])
    assert benchmarks.load("openmeva").is_sample
    assert (
        "openmeva is the sample: data/openmeva.json of owner/name: http" in capsys.readouterr().out
    )


def test_the_sample_stands_in_where_no_host_is_reached(host, publish, copied_sample, capsys):
    openmeva(publish)
    host().__exit__()  # nobody listens any more
    assert benchmarks.load("openmeva").is_sample and capsys.readouterr().out == ""


@pytest.fixture
def copied_sample(tree, checkout):
    (tree.root / "data" / "sample").symlink_to(checkout / "data" / "sample")


# Tensors in pickles


def tensor(content, **options):
    """A pickle of one tensor whose storage holds the given bytes."""

    class Given:
        def __reduce__(self):
            return sys.modules["torch.storage"]._load_from_bytes, (content,)

    class Tensor:
        def __reduce__(self):
            where = {"offset": 0, "size": ()} | options
            utils = sys.modules["torch._utils"]
            return utils._rebuild_tensor_v2, (
                Given(),
                where["offset"],
                where["size"],
                (),
                False,
                {},
            )

    with realistic.torch_names():
        return pickle.dumps({"score": Tensor()})


def test_a_tensor_with_one_element_is_a_number_without_torch():
    with realistic.torch_names():
        dumped = pickle.dumps({"a": realistic.Tensor(0.25), "b": np.float64(0.5)})
    assert unpickle(dumped, scores=True) == {"a": 0.25, "b": 0.5}
    with pytest.raises(
        pickle.UnpicklingError, match="the pickle names torch._utils._rebuild_tensor_v2"
    ):
        unpickle(dumped)


@pytest.mark.parametrize(
    "change, options, message",
    [
        (lambda c: c, {"size": (2,)}, "has 2 elements; expected one number"),
        (lambda c: c, {"offset": 9}, "lies at 9 of 2 elements"),
        (lambda c: c[:-1], {}, "is cut: expected 2 elements of 4 bytes, got 7 bytes"),
        (lambda c: c[:20], {}, "not a whole pickle"),
        (lambda c: pickle.dumps(1) + c, {}, "another format than torch's old one"),
        (
            lambda c: c.replace(b"FloatStorage", b"Event"),
            {},
            "names torch.Event; expected one of torch.Double",
        ),
        (
            lambda c: c.replace(b"ctorch\nFloatStorage", b"cos\nsystem"),
            {},
            "names os.system; expected one of",
        ),
    ],
)
def test_other_tensors_are_refused(change, options, message):
    with realistic.torch_names():
        content = realistic.saved([0.25, 0.5])
    with pytest.raises(pickle.UnpicklingError, match=message):
        unpickle(tensor(change(content), **options), scores=True)


# What upstream has and the mirror lacks


@pytest.fixture(scope="module")
def mirrored():
    if not paths.mirror():
        pytest.skip("needs the mirror: the made files are about its items")
    return Path(paths.mirror())


@pytest.fixture(scope="module")
def made(mirrored, tmp_path_factory):
    """A folder of realistic files and a registry that knows them."""
    folder = tmp_path_factory.mktemp("made")
    entries = realistic.write(folder / "host")
    realistic.register(folder / "registry.csv", entries)
    return folder


@pytest.fixture
def whole(made, mirrored, checkout, tmp_path, monkeypatch):
    """A checkout whose code host has everything: the mirror's files and the made ones."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sample").symlink_to(checkout / "data" / "sample")
    (tmp_path / "data" / "registry.csv").write_bytes((made / "registry.csv").read_bytes())
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.setattr(fetch, "_known", fetch._Known())
    with Upstream(made / "host", mirrored) as server:
        for name, value in server.environment(tmp_path / "data" / "cache").items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.mark.parametrize(
    "name", ["summeval", "newsroom", "realsumm", "qags_cnn", "qags_xsum", "bagel"]
)
def test_score_files_of_upstream_are_read_but_for_odd_values(whole, name, capsys):
    """Of the five odd values of one metric one is text of a number; one item lacks another metric."""
    found = benchmarks.load(name, "real")
    released = found.released().set_index("item_id")
    assert found.left_out == {}
    assert released["bartscore:bert_score_f"].notna().all()
    assert released["bartscore:mover_score"].isna().sum() == 1
    assert released["bartscore:prism_src_hypo"].isna().sum() == len(realistic.ODD) - 1
    out, err = capsys.readouterr()
    assert f"{realistic.PACKED[name]}/final_p.pkl of neulab/BARTScore: 4 of" in out
    assert (
        "scores are no finite numbers and are left out, as 'n/a' for bartscore:prism_src_hypo"
        in out
    )
    assert err == ""


@pytest.mark.parametrize(
    "name", ["geval/gpt-4", "closer_look_summeval/geval", "closer_look_summeval/geval_no_auto_cot"]
)
def test_replies_of_upstream_are_read_but_for_odd_rows(whole, name, capsys):
    """1,600 items by four aspects and 20 replies, less four odd rows an aspect; one is there twice."""
    items = nj.load("summeval", "real").items
    capsys.readouterr()
    assert nj.data.available(name)
    frame = nj.recording(name, items)
    assert len(frame) == (1600 - 4) * 4 * 20
    assert not frame.duplicated(["item_id", "aspect", "sample_index"]).any()
    assert frame["text"].map(type).eq(str).all() and {"", "5"} < set(frame["text"])
    out, err = capsys.readouterr()
    assert f"{name}: 80 of" in out and "replies repeat an item and sample and are left out" in out
    assert out.count("1 of 1601 rows lack one of doc_id, system_id, all_responses") == 4
    assert err == ""
    parsed = nj.judging.responses(frame, scale=dict.fromkeys(frame["aspect"].unique(), (1, 5)))
    assert parsed["score"].notna().mean() > 0.8


def test_questions_and_answers_of_upstream_are_read_but_for_odd_lines(whole, capsys):
    found = benchmarks.load("answer_equivalence", "real")
    assert len(found.items) == 330 - 2 and found.ratings["score"].isin([0, 1]).all()
    assert "v1/ae_dev.jsonl" in (out := capsys.readouterr().out) and "3 lines cannot be read" in out


QAGS = ("qags_cnn", "qags_xsum")


def test_a_notebook_runs_offline_after_a_fetch_of_everything(
    whole, tmp_path, monkeypatch, capsys, commands
):
    """The table of QAGS, with the scores that the mirror lacks: verified like any other file, they reach the ledger."""
    for name in ("notebooks", "paper_tables"):
        (tmp_path / name).symlink_to(TESTS.parent / name)
    kept = (
        REPOSITORY / "data" / "cache" / "lexical"
    )  # ROUGE of the same texts, where a run of the notebooks kept it
    if kept.is_dir():
        shutil.copytree(kept, tmp_path / "data" / "cache" / "lexical")
    assert main(["data", "fetch", *QAGS]) == 0 and main(["data", "verify", *QAGS]) == 0
    registered = len([entry for name in QAGS for entry in registry.entries(name)])
    assert f"{registered} files verified, 0 bad, 0 not here" in capsys.readouterr().out
    asked = len(whole.asked)
    executed = tmp_path / "executed.ipynb"
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    commands.notebook(
        tmp_path / "notebooks" / "geval_table3_qags.ipynb",
        executed,
        {"resamples": 2, "stemmers": ["porter_original"]},
    )
    assert len(whole.asked) == asked
    assert "sample data" not in executed.read_text()
    made = ledger.read(tmp_path / "out" / "ledger" / "geval_table3_qags.csv")
    evidence = made.groupby("row")["evidence"].unique().map(list).to_dict()
    released = dict.fromkeys(
        ["UniEval", "BERTScore", "MoverScore", "BARTScore"], ["released_scores"]
    )
    assert evidence == {"ROUGE-2": ["recomputed"], "ROUGE-L": ["recomputed"], **released}
    random = made[
        made["row"] == "BERTScore"
    ]  # the made scores are the rating and noise, which no print is
    assert random["variant"].str.startswith("nearest: bartscore:bert_score").all()


def test_made_files_are_refused_under_the_registry_as_it_is(whole, tmp_path, checkout, capsys):
    """Their blob ids are not upstream's: nothing of them is kept, and each is named with both ids."""
    (tmp_path / "data" / "registry.csv").write_bytes(
        (checkout / "data" / "registry.csv").read_bytes()
    )
    assert main(["data", "fetch", *QAGS]) == 1
    out, err = capsys.readouterr()
    assert err.count("final_p.pkl has other content") == len(QAGS) and err.count(
        "expected git blob"
    ) == len(QAGS)
    cached = [path.name for path in (tmp_path / "data" / "cache").rglob("*") if path.is_file()]
    assert cached and "final_p.pkl" not in cached


# Layouts that nobody expects


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"3",
        b"",
        b'{"d1": 4}',
        b'{"d1": {"sys_summs": {"A": {"scores": [1]}}}}',
        b"<!DOCTYPE html>",
        b'{"of another set": {"sys_summs": {"A": {"scores": {"m": 1}}}}}',
        b"\x80\x04.",
    ],
    ids=["list", "number", "empty", "shallow", "no_names", "page", "other_items", "no_text"],
)
def test_an_odd_optional_file_is_named_and_costs_itself_alone(tree, monkeypatch, capsys, content):
    document = {
        "src": "s",
        "ref_summs": ["r"],
        "sys_summs": {
            "A": {
                "sys_summ": "t",
                "scores": dict.fromkeys(("coherence", "consistency", "fluency", "relevance"), 1.0),
            }
        },
    }
    monkeypatch.setattr(nj.data.bartscore, "_COUNTS", {"summeval": (1, 1)})
    tree.add("data.pkl", pickle.dumps({"d1": document}), "summeval")
    predicted = [{"doc_id": "d1", "system_id": "A", "predict_scores": {"fluency": "0.5"}}]
    tree.add("summeval_result.json", json.dumps(predicted).encode(), "summeval", role="scores")
    tree.add("data/summeval/human_annotations.json", b"", "summeval", role="annotations", to=None)
    before = benchmarks.load("summeval", "real")
    odd = {"final_p.pkl": content, "data/summeval.json": content}
    for path, given in odd.items():
        tree.add(path, given, "summeval", role="scores")
    capsys.readouterr()
    found = benchmarks.load("summeval", "real")
    out, err = capsys.readouterr()
    assert set(odd) <= set(found.left_out)
    for path in odd:
        assert f"summeval: {path} of owner/name is left out: it is laid out otherwise" in out
    assert err == "" and found.scores["score"].tolist() == [0.5]
    assert (
        found.digest != before.digest
    )  # so that outputs without the files are not compared with these


def test_a_number_that_is_too_large_costs_itself_alone(tree, monkeypatch, capsys):
    aspects = ("coherence", "consistency", "fluency", "relevance")
    document = {
        "src": "s",
        "ref_summs": ["r"],
        "sys_summs": {"A": {"sys_summ": "t", "scores": dict.fromkeys(aspects, 1.0)}},
    }
    monkeypatch.setattr(nj.data.bartscore, "_COUNTS", {"summeval": (1, 1)})
    tree.add("data.pkl", pickle.dumps({"d1": document}), "summeval")
    tree.add("summeval_result.json", b"", "summeval", role="scores", to=None)
    scores = {"sys_summs": {"A": {"sys_summ": "t", "scores": {"huge": 10**400, "fine": 0.5}}}}
    tree.add("final_p.pkl", pickle.dumps({"d1": document | scores}), "summeval", role="scores")
    ratings = {"expert": {f"d1__A__{aspect}": 10**400 for aspect in aspects}}
    tree.add(
        "data/summeval/human_annotations.json",
        json.dumps(ratings).encode(),
        "summeval",
        role="annotations",
    )
    found = benchmarks.load("summeval", "real")
    said = capsys.readouterr().out
    assert found.scores["score"].tolist() == [0.5] and set(found.ratings["rater"]) == {"mean"}
    assert "final_p.pkl of owner/name: 1 of 2 scores are no finite numbers" in said
    assert "human_annotations.json of owner/name is left out" in said and "OverflowError" in said


def test_an_odd_recording_is_named_and_not_available(tree, capsys):
    for path in ("results/gpt4_coh_detailed.json", "results/gpt4_rel_detailed.json"):
        tree.add(path, b'[{"doc_id": 1}]', "summeval", role="recording")
    assert not nj.data.available("geval/gpt-4")
    assert capsys.readouterr().out == (
        "left out: results/gpt4_coh_detailed.json of owner/name is laid out otherwise than expected "
        "(KeyError: 'no row has all of doc_id, system_id, all_responses'); geval/gpt-4 cannot be read\n"
    )


def test_odd_questions_are_named_and_the_sample_stands_in(tree, copied_sample, capsys):
    plain = benchmarks.load("answer_equivalence", "sample").digest
    tree.add("v1/ae_dev.jsonl", b"question,answer\nWhich?,this\n", "answer_equivalence")
    found = benchmarks.load("answer_equivalence")
    assert found.is_sample and found.digest != plain
    assert (
        "answer_equivalence is the sample: v1/ae_dev.jsonl of owner/name is laid out otherwise"
        in (capsys.readouterr().out)
    )
    with pytest.raises(
        fetch.DataUnavailable, match="no line can be read, as line 1 .JSONDecodeError"
    ):
        benchmarks.load("answer_equivalence", "real")


# The command


def test_the_server_is_a_command(tree, publish, tmp_path):
    publish("toy.txt", b"content")
    code = (
        "import nlgjudge.data.fetch as f, nlgjudge.data.registry as r; print(f.read(*r.entries()))"
    )
    command = [
        sys.executable,
        str(TESTS / "upstream.py"),
        str(tmp_path / "host"),
        "--refuse",
        "1",
        "--retry-after",
        "0",
        "--",
        sys.executable,
        "-c",
    ]
    environment = {k: v for k, v in os.environ.items() if k != "NLGJUDGE_OFFLINE"}

    def run(code):
        return subprocess.run(
            [*command, code], env=environment, capture_output=True, text=True, check=False
        )

    done, failed, idle = run(code), run(code + "; raise SystemExit(3)"), run("pass")
    assert done.returncode == 0, done.stderr
    assert "b'content'" in done.stdout and "(1 x 429, 1 x 200)" in done.stdout
    assert failed.returncode == 3
    assert idle.returncode == 1 and "expected the command to fetch files" in idle.stderr


def test_a_benchmarks_files_are_what_its_reader_reads(monkeypatch):
    """What is fetched beforehand is what is read, optional files included: both come from one list."""
    asked, read = set(), fetch.read

    def noted(entry):
        asked.add(entry)
        return read(entry)

    monkeypatch.setattr(fetch, "read", noted)
    for name in (
        "summeval",
        "summeval_crowd",
        "newsroom",
        "qags_cnn",
        "bagel",
        "openmeva",
        "topical_chat",
        "news",
        "wmt22_de_en",
        "sumpubmed",
    ):
        asked.clear()
        try:
            benchmarks.load(name, "real")
        except fetch.DataUnavailable as error:
            pytest.skip(f"needs the mirror or a network: {str(error).splitlines()[0]}")
        assert asked == set(benchmarks.files(name)), name


def test_prompts_are_declared_one_by_one_or_as_a_family():
    one = registry.prompt_files("upstream:geval/coh_detailed")
    family = registry.prompt_files("upstream:geval/*_detailed")
    assert len(one) == 1 and set(one) < set(family) and len(family) == 4
    with pytest.raises(KeyError, match="no registered prompt 'upstream:geval/nope'; files: "):
        registry.prompt_files("upstream:geval/nope")


def test_benchmarks_of_one_notebook_are_all_real_or_all_the_sample(tree, copied_sample, capsys):
    """OpenMEVA is here and Topical-Chat is not; there is no network."""
    tree.add(
        "data/openmeva.json",
        json.dumps(
            [
                STORY | {"doc_id": n, "gen": {s: STORY["gen"]["a"] for s in "abcde"}}
                for n in range(200)
            ]
        ).encode(),
        "openmeva",
    )
    tree.add("topical_chat.json", b"[]", "topical_chat", to=None)
    assert not benchmarks.load("openmeva").is_sample and benchmarks.load("topical_chat").is_sample
    found = benchmarks.load_together(["openmeva", "topical_chat"])
    assert list(found) == ["openmeva", "topical_chat"] and all(b.is_sample for b in found.values())
    assert capsys.readouterr().out == (
        "topical_chat cannot be had here, so that all of openmeva, topical_chat are sample data, not "
        "comparable with the papers\n"
    )
    assert not benchmarks.load_together(["openmeva"])["openmeva"].is_sample
    with pytest.raises(fetch.DataUnavailable, match="topical_chat.json of owner/name"):
        benchmarks.load_together(["openmeva", "topical_chat"], "real")
