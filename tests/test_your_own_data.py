"""The notebook `your_own_data`, from a file to the sentences of its page."""

import json
import re
from html import unescape

import nltk
import numpy as np
import pandas as pd
import pytest
from nbconvert.nbconvertapp import NbConvertApp
from papermill.cli import papermill

import nlgjudge as nj
from loopback import Loopback, completion, error
from nlgjudge.data import wordnet
from nlgjudge.data.paths import root
from nlgjudge.judging.judge import JudgeError

NOTEBOOK = root() / "notebooks" / "your_own_data.ipynb"
CASES = root().parent / "shared" / "cases" / "data"
STYLE = "Rate the {aspect} from 1 to 5.\n\n{{hypothesis}}"


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """Without METEOR and real data on any machine, so that each compares the same methods."""
    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setenv("NLGJUDGE_MIRROR", "")
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "no_wordnet")
    monkeypatch.setenv("NLGJUDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "out"))


@pytest.fixture
def run(run_cells):
    """Run the notebook's code cells with other parameters; return its names, and the report as text."""

    def executed(**parameters):
        names = run_cells("your_own_data", **parameters)
        return names, str(names["report"])

    return executed


def test_the_sample_asks_nobody(run):
    names, said = run()
    report = names["report"]
    sample = nj.load("summeval", "sample")
    for aspect in sample.aspects:
        ratings = sample.ratings[sample.ratings["aspect"] == aspect].merge(sample.items)
        assert report.aspects[aspect].ceiling == nj.stats.ceiling(ratings).value
        assert set(report.aspects[aspect].table.index) == {"ROUGE1", "ROUGE2", "ROUGEL", "BLEU"}
    assert "not comparable with the papers" in said


def test_scores_that_you_have_need_no_model(run, tmp_path):
    """The judge finds 16 of the 20 good outputs and 24 of the 30 bad ones."""
    human = ["pass"] * 20 + ["fail"] * 30
    judge = ["pass"] * 16 + ["fail"] * 4 + ["pass"] * 6 + ["fail"] * 24
    table = pd.DataFrame({"question": [f"question {n}" for n in range(50)], "answer": "An answer."})
    table.assign(human=human, gpt=judge).to_csv(tmp_path / "mine.csv", index=False)
    columns = {
        "source": "question",
        "hypothesis": "answer",
        "human:ok": "human",
        "judge:gpt": "gpt",
    }
    names, said = run(file=str(tmp_path / "mine.csv"), columns=columns)
    assert (
        "gpt agrees with people on 50 outputs by accuracy 0.80 [0.66, 0.89] (kappa 0.59 [" in said
    )
    assert names["report"].aspects["ok"].confusion["gpt"].values.tolist() == [[24, 6], [4, 16]]
    assert "ROUGE" not in said  # a graded score is no category
    differ = names["report"].disagreements("gpt", "ok", most=50)["item_id"].tolist()
    assert differ == [f"row {n}" for n in range(18, 28)]


@pytest.mark.parametrize(
    "name, message",
    [
        ("01_nested_annotations.jsonl", "missing source, hypothesis, system, human:ASPECT"),
        ("02_row_per_rater.csv", "map rater=COLUMN"),
        ("36_rating_names.csv", "missing source, hypothesis, system, human:ASPECT"),
        ("25_rater_reversed.csv", "The raters contradict each other."),
    ],
)
def test_files_of_other_people(run, name, message):
    if not (CASES / name).is_file():
        pytest.skip("needs the mirror and the files beside it")
    try:
        said = run(file=str(CASES / name), permutations=99)[1]
    except ValueError as refused:
        said = str(refused)
    assert message in said


@pytest.fixture
def server(monkeypatch):
    """Models: `good` reads a rating out of the text, `vague` gives none, `bad` always fails."""

    def answer(number, line, body):
        body = json.loads(body)
        if body["model"] == "bad":
            return error(500, "out of order")
        found = re.search(r"quality(\d)", body["messages"][0]["content"])
        said = "It is good." if body["model"] == "vague" else f"Rating: {found[1] if found else 4}"
        return completion([said] * body.get("n", 1))  # 10 and 2 tokens a reply

    monkeypatch.setattr("nlgjudge.judging.live.RETRIES", 0)
    with Loopback(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server


@pytest.fixture
def articles(tmp_path, monkeypatch):
    """JSON Lines with other names, 7 articles and 4 models; the user stands in its folder."""
    rng, lines = np.random.default_rng(0), []
    for article in range(7):
        for model, quality in enumerate(rng.permutation(4) + 1):
            words = " ".join(rng.choice(["river", "town", "mill", "gate", "bank"], 8))
            row = {"article": f"Article {article}.", "out": f"{words} quality{quality}"}
            lines.append(json.dumps(row | {"system": f"m{model}", "stylish": f"{quality},0"}))
    (tmp_path / "mine.jsonl").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return {
        "file": "mine.jsonl",
        "columns": "source=article,hypothesis=out,human:style=stylish",
        "prompts": {"mine": STYLE},
    }


def test_a_served_judge_is_planned_asked_once_and_paid(run, server, articles):
    asked = articles | {"judges": ["openai:good"], "price": [1e6, 5e5]}
    names, said = run(**asked, plan_only=True)
    assert not server.requests
    assert names["plan"]["mine, openai:good"]["calls"] == 28
    assert "mine, openai:good" not in names["report"].aspects["style"].table.index
    names, said = run(**asked)
    assert "read with decimal commas" in said and len(server.requests) == 28
    assert names["asked"][0].cost == 28 * 11  # 10 prompt and 2 completion tokens, at 1 and 0.5
    assert "Only mine, openai:good 1.00 can be compared, so nothing comes first." in said
    assert run(**asked)[0]["plan"]["mine, openai:good"]["calls"] == 0
    assert len(server.requests) == 28


def test_a_limit_on_cost_stops_a_judge(run, server, articles):
    asked = articles | {"judges": ["openai:good"], "price": [1e6, 5e5], "max_cost": 55}
    with pytest.warns(UserWarning, match="stopped before the end"):
        run(**asked)
    assert len(server.requests) < 28


def test_nothing_is_paid_for_the_sample_unless_it_is_asked_for(run, server):
    asked = {"judges": ["openai:good"], "limit": 1, "prompts": STYLE}
    with pytest.raises(ValueError, match="SAMPLE: expected a file for a judge that costs"):
        run(**asked)
    assert not server.requests
    run(**asked, source="sample")
    assert server.requests


def test_a_judge_that_fails_ends_the_run_and_one_that_says_nothing_is_left_out(
    run, server, articles
):
    with pytest.raises(JudgeError, match="out of order"):
        run(**articles, judges=["openai:bad"])
    said = run(**articles, judges=["openai:vague"])[1]
    assert "WARNING: 100% of the replies have no rating" in said
    assert "mine, openai:vague is not compared: scores for 0 of 28 rated outputs" in said


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"columns": "hypothesis=outt,source=article"}, "no column 'outt': did you mean 'out'"),
        ({"file": "mine.csv"}, "No such file"),
        ({"prompts": "geval/sumarization/style"}, "no prompt 'geval/sumarization/style'"),
        ({"prompts": "Rate.\n{{Reply}} {{hypothesis}}"}, "no column 'Reply'"),
        ({"prompts": "Rate.\n{{context}} {{hypothesis}}"}, "no item has one"),
        ({"scale": [1, 1]}, "expected two different ratings"),
        ({"limit": -3}, "limit=-3: expected a whole number"),
        ({"judges": ["opnai:m"]}, "no kind of judge 'opnai': did you mean 'openai'"),
    ],
)
def test_what_is_wrong_is_said_before_a_call(run, server, articles, wrong, message):
    with pytest.raises((ValueError, KeyError, OSError)) as caught:
        run(**articles | {"judges": ["openai:good"]} | wrong)
    assert message in str(caught.value) and not server.requests


def test_the_page(articles, tmp_path):
    """Papermill in the user's folder, then nbconvert without code."""
    table = pd.read_json("mine.jsonl", lines=True).assign(**{"judge:gpt": range(28)})
    table.to_csv("mine.csv", index=False)
    call = [str(NOTEBOOK), "mine.ipynb", "-p", "file", "mine.csv"]
    papermill([*call, "-p", "columns", articles["columns"]], standalone_mode=False)
    NbConvertApp.launch_instance(["--to", "html", "--no-input", "mine.ipynb"])
    page = unescape((tmp_path / "mine.html").read_text(encoding="utf-8"))
    assert "import nlgjudge" not in page
    for heading in ("Spearman", "p, documents", "p, systems"):
        assert f"<th>{heading}</th>" in page
    assert "Answer: No single method comes first on style." in page
    assert "quality" not in re.sub(r"<[^>]+>", "", page)  # no text of an output
