"""From a file of your own to the method that agrees best, with planted truth, and to a page."""

import json
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.cli import main
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.judging.store import Store
from nlgjudge.report.own_data import TASKS, limited, protocols

_helpers = runpy.run_path(str(Path(__file__).parents[1] / "judging" / "loopback.py"))
QUICK = {"resamples": 50, "permutations": 99}
LEXICAL = ["ROUGE1", "ROUGE2", "ROUGEL", "BLEU", "METEOR"]


@pytest.fixture(scope="module")
def frame():
    """The repository's sample as a user would have it: two aspects, three raters."""
    sample = nj.load("summeval", "sample")
    wide = sample.ratings.assign(column="human:" + sample.ratings["aspect"] + ":" + sample.ratings["rater"])
    wide = wide.pivot(index="item_id", columns="column", values="score").filter(regex="fluency|relevance")
    made = sample.items.rename(columns={"system_id": "system"}).set_index("item_id").drop(columns="doc_id")
    return made.assign(references=made["references"].str.join("|||")).join(wide)


@pytest.fixture
def write(tmp_path):
    def written(table):
        table.to_csv(tmp_path / "mine.csv", index=False)
        return tmp_path / "mine.csv"
    return written


def simulated(benchmark, noise):
    """A judge that knows the mean ratings, by item and aspect."""
    truth = benchmark.ratings.groupby(["item_id", "aspect"])["score"].mean().to_dict()
    return nj.Simulated(truth=truth, noise=noise, rng=np.random.default_rng(5))


def rows(found, aspect):
    return found.table[found.table["aspect"] == aspect].set_index("method")


def test_a_judge_that_knows_the_truth_comes_first(frame, write):
    mine = nj.own_data(write(frame))
    found = nj.evaluate(mine, judge=simulated(mine, 0), **QUICK)
    table = rows(found, "relevance")
    assert table.index[0] in ("G-Eval", "DHP's form")  # in hundredths; stars are halves, DA whole points
    assert table.loc["G-Eval", ["ours", "ci_low", "ci_high"]].tolist() == pytest.approx([1, 1, 1], abs=1e-3)
    assert set(table.index) == {"G-Eval", "DHP's form", "DA", "DA with reference", "stars",
                                "stars with reference", "surface", *LEXICAL}
    assert table["ours"].dropna().is_monotonic_decreasing and pd.isna(table["p"].iloc[0])
    assert table.loc["BLEU", "p"] <= 0.2 and (table["p"].dropna() >= 0.01).all()  # Holm on 1 / (99 + 1)
    assert "surface" not in nj.verdicts(found)["relevance"].split(";")[0]


def test_twenty_replies_beat_one_when_replies_are_noisy(frame, write):
    """Their mean has a standard deviation of 1.5 / sqrt(20) = 0.34 instead of 1.5."""
    mine = nj.own_data(write(frame))
    found = nj.evaluate(mine, judge=simulated(mine, 1.5), **QUICK)
    for aspect in mine.aspects:
        table = rows(found, aspect)
        assert table.loc["G-Eval", "ours"] > table.loc["DHP's form", "ours"] + 0.1  # the same scale and form
        assert table.loc["G-Eval", "completion_tokens"] == 20 * 16 * len(mine.items)
        assert table.loc["DHP's form", "completion_tokens"] == 64 * len(mine.items)


def test_numbers_are_those_of_the_functions_behind_them(frame, write):
    mine = nj.own_data(write(frame))
    found = nj.evaluate(mine, **QUICK)
    table, human = rows(found, "fluency"), mine.human()
    lexical = human.merge(nj.lexical_baselines(mine.items), on="item_id")
    for column, label in zip(("rouge1-f", "rouge2-f", "rougeL-f", "bleu"), LEXICAL):
        expected = nj.correlation(lexical, column, "fluency")
        assert table.loc[label, ["ours", "n"]].tolist() == pytest.approx([expected.value, expected.n])
    ratings = mine.ratings.query("aspect == 'fluency'").merge(mine.items)
    assert table["ceiling"].iloc[0] == nj.ceiling(ratings).value and table["raters"].iloc[0] == 3
    assert table["alpha"].iloc[0] == nj.alpha(ratings).value
    assert found.settings["level"] == "sample" and found.settings["task"] == "summarization"
    planned = nj.evaluation_plan(mine, price=(2, 8)).query("aspect == 'fluency'").set_index("method")
    assert planned.loc["DA", "calls"] == len(mine.items) and planned["estimated"].all()
    cost = (2 * planned["prompt_tokens"] + 8 * planned["completion_tokens"]) / 1e6
    assert np.allclose(planned["cost"], cost) and planned.loc["G-Eval", "cost"] > planned.loc["DA", "cost"]


def test_a_rule_is_not_called_a_protocol(frame, write):
    methods = nj.evaluate(limited(nj.own_data(write(frame)), 3), **QUICK).table["method"]
    assert "G-Eval (by the rule)" in set(methods) and "G-Eval" not in set(methods)


def test_an_aspect_without_a_prompt_is_said_and_compared(frame, write):
    mine = nj.own_data(write(frame.rename(columns=lambda c: c.replace("fluency", "bleu"))))
    found = nj.evaluate(mine, **QUICK)
    assert "bleu: no prompt of summarization asks about it, so no judge was asked" in found.notes
    assert set(rows(found, "bleu").index) == {"surface", *LEXICAL}


def test_a_single_rater_and_system_and_no_reference(frame, write):
    few = frame[frame["system"] == "vague"].drop(columns="references").filter(regex="^(?!human)|plain")
    mine = nj.own_data(write(few))
    found = nj.evaluate(mine, **QUICK)
    assert found.settings["level"] == "dataset" and found.table["ceiling"].isna().all()
    methods = set(found.table["method"])
    assert "ROUGE1 (source)" in methods and not [m for m in methods if "with reference" in m]
    bleu = nj.lexical_baselines(mine.items.assign(references=mine.items["source"].map(lambda s: [s])))
    expected = nj.correlation(mine.human().merge(bleu, on="item_id"), "bleu", "relevance", level="dataset")
    assert rows(found, "relevance").loc["BLEU (source)", "ours"] == pytest.approx(expected.value)


def test_some_items_without_reference_are_left_out_of_lexical_metrics(frame, write):
    part = frame.copy()
    part.iloc[:6, part.columns.get_loc("references")] = ""  # all outputs of the first document
    table = rows(nj.evaluate(nj.own_data(write(part)), **QUICK), "relevance")
    assert table.loc["BLEU", ["n", "n_skipped"]].tolist() == [11, 1] and table.loc["surface", "n"] == 12


def test_tasks(frame, write):
    mine = nj.own_data(write(frame.assign(context="A fact.").rename(
        columns=lambda c: c.replace("fluency", "coherence"))))
    assert protocols(mine)[0] == "dialogue" and protocols(mine, "summarization")[0] == "summarization"
    try:
        reasoned = {"reason, then score"} if nj.prompt("upstream:d223302/coh_analyze_rate") else set()
    except DataUnavailable:
        reasoned = set()
    assert {label for _, label in protocols(mine)[1]} == {"G-Eval"} | reasoned
    assert {"dialogue", "story", "summarization", "translation"} <= set(TASKS)
    with pytest.raises(ValueError, match="task 'poem': expected one of data_to_text, dialogue"):
        protocols(mine, "poem")


def test_documents_are_limited_whole(frame, write):
    by_system = frame.sort_values("system", kind="stable")  # a file sorted the other way
    part = limited(nj.own_data(write(by_system)), 2)
    assert part.items.groupby("doc_id").size().tolist() == [6, 6]
    assert set(part.ratings["item_id"]) == set(part.items["item_id"])


def test_a_model_is_asked_once_and_its_tokens_are_counted(frame, write, tmp_path, monkeypatch, capsys):
    def answer(number, line, body):
        return _helpers["completion"](["4"] * json.loads(body).get("n", 1))  # 10 and 2 tokens a reply

    path = write(frame)
    call = ["evaluate", str(path), "--judge", "openai:m", "--limit", "2", "--price", "1e6", "5e5",
            "--store", str(tmp_path / "s.sqlite"), "--out", str(tmp_path / "page.html")]
    with _helpers["Loopback"](answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        assert main([*call, "--plan"]) == 0 and not server.requests
        assert "plan: relevance       G-Eval                 12 calls" in capsys.readouterr().out
        assert not (tmp_path / "page.html").exists()
        assert main(call) == 0
        asked = len(server.requests)
        assert asked == 12 * 6 * 2  # outputs, protocols, aspects
        assert "No judge" not in capsys.readouterr().out
        with Store(tmp_path / "s.sqlite") as store:
            judge = nj.get_judge("openai:m", store=store)
            found = nj.evaluate(limited(nj.own_data(path), 2), judge=judge, price=(1e6, 5e5), **QUICK)
        assert len(server.requests) == asked  # the second time all replies are stored
    row = rows(found, "fluency").loc["G-Eval"]
    # 12 calls of 10 prompt tokens and 20 replies of 2 tokens: 120 and 480; 1 and a half each: 360.
    assert row[["calls", "prompt_tokens", "completion_tokens", "cost"]].tolist() == [12, 120, 480, 360]
    assert not row["estimated"] and pd.isna(row["ours"]) and "constant" in row["reason"]
    assert "12 calls, 0.6 k tokens, price 360.0000<" in (tmp_path / "page.html").read_text()


class Tags(HTMLParser):
    """All tags with their attributes, and the text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_the_page_loads_nothing_and_shows_what_was_found(frame, write, tmp_path):
    named = frame.rename(columns=lambda c: c.replace("fluency", "<b>&style"))
    named.iloc[:6, named.columns.get_loc("references")] = ""  # lexical metrics leave a document out
    found = nj.evaluate(limited(nj.own_data(write(named)), 6), **QUICK)
    path = nj.evaluation_page(found, tmp_path / "page.html", title="Mine & <yours>", notes=["a <note>"])
    page = Tags(text := path.read_text(encoding="utf-8"))
    assert not re.findall(r"https?:|src=|href=|url\(|@import|<script|<link", text)
    assert {tag for tag, _ in page.tags} & {"b", "note", "yours"} == set()
    assert "<b>&style" in page.text and "a <note>" in page.text and "Mine & <yours>" in page.text
    drawn = [attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"]
    assert len(drawn) == len(found.table) and "viewport" in text
    for row in found.table.dropna(subset="ours").itertuples():
        label = f"{row.ours:.2f} [{row.ci_low:.2f}, {row.ci_high:.2f}]"
        assert label + f" on {row.n} of {row.n + row.n_skipped}" * (row.n_skipped > 0) in drawn
    assert " on 5 of 6" in text and found.table["n_skipped"].max() == 1
    assert all(said in page.text for said in nj.verdicts(found).values())


def test_the_command_lists_all_problems_and_writes_nothing(frame, write, tmp_path, capsys):
    bad = frame.astype(object).copy()
    bad.iloc[3, bad.columns.get_loc("hypothesis")] = " "
    bad.iloc[7, bad.columns.get_loc("human:fluency:plain")] = "good"
    assert main(["evaluate", str(write(bad)), "--out", str(tmp_path / "page.html")]) == 1
    said = capsys.readouterr().err
    assert "hypothesis, row 5: an empty text" in said and "human:fluency:plain, row 9: 'good' is not" in said
    assert not (tmp_path / "page.html").exists()
