"""From a file of your own to the method that agrees best, with planted truth, and to a page."""

import json
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import nltk
import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from loopback import Loopback, completion, error
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.data.schema import build
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Reply
from nlgjudge.metrics import meteor_versions as meteor
from nlgjudge.cli import main
from nlgjudge.studies.your_own_data import TASKS, limited, page, plan, protocols, verdicts

QUICK = {"resamples": 50, "permutations": 99}
LEXICAL = ["ROUGE1", "ROUGE2", "ROUGEL", "BLEU", "METEOR"]


@pytest.fixture(autouse=True)
def without_wordnet(tmp_path, monkeypatch):
    """Without METEOR on any machine, so that the number of methods is the same on each."""
    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setenv("NLGJUDGE_MIRROR", "")
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(meteor, "DEBIAN", tmp_path / "no_wordnet")


@pytest.fixture(scope="module")
def frame():
    """The repository's sample as a user would have it: two aspects, three raters."""
    sample = nj.load("summeval", "sample")
    wide = sample.ratings.assign(
        column="human:" + sample.ratings["aspect"] + ":" + sample.ratings["rater"]
    )
    wide = wide.pivot(index="item_id", columns="column", values="score").filter(
        regex="fluency|relevance"
    )
    made = (
        sample.items.rename(columns={"system_id": "system"})
        .set_index("item_id")
        .drop(columns="doc_id")
    )
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
    return nj.judging.Simulated(truth=truth, noise=noise, rng=np.random.default_rng(5))


def rows(found, aspect):
    return found.table[found.table["aspect"] == aspect].set_index("method")


def test_a_judge_that_knows_the_truth_comes_first(frame, write):
    mine = nj.data.own_data(write(frame))
    found = nj.evaluate(mine, judge=simulated(mine, 0), **QUICK)
    table = rows(found, "relevance")
    assert table.index[0] in (
        "G-Eval",
        "DHP's form",
    )  # in hundredths; stars are halves, DA whole points
    assert table.loc["G-Eval", ["ours", "ci_low", "ci_high"]].tolist() == pytest.approx(
        [1, 1, 1], abs=1e-3
    )
    assert set(table.index) == {
        "G-Eval",
        "DHP's form",
        "DA",
        "DA with reference",
        "stars",
        "stars with reference",
        "surface",
        *LEXICAL,
    }
    assert table["ours"].dropna().is_monotonic_decreasing and pd.isna(table["p"].iloc[0])
    # Twelve documents have 2^11 different swaps, all counted; Holm over ten tests.
    assert table.loc["BLEU", "p"] <= 0.2 and (table["p"].dropna() >= 10 / 2048 - 1e-9).all()
    assert "surface" not in verdicts(found)["relevance"].split(";")[0]


def test_twenty_replies_beat_one_when_replies_are_noisy(frame, write):
    """Their mean has a standard deviation of 1.5 / sqrt(20) = 0.34 instead of 1.5."""
    mine = nj.data.own_data(write(frame))
    found = nj.evaluate(mine, judge=simulated(mine, 1.5), **QUICK)
    for aspect in mine.aspects:
        table = rows(found, aspect)
        assert (
            table.loc["G-Eval", "ours"] > table.loc["DHP's form", "ours"] + 0.1
        )  # the same scale and form
        assert table.loc["G-Eval", "completion_tokens"] == 20 * 5 * len(
            mine.items
        )  # a rating has 5
        assert table.loc["DHP's form", "completion_tokens"] == 5 * len(mine.items)


def test_numbers_are_those_of_the_functions_behind_them(frame, write):
    mine = nj.data.own_data(write(frame))
    found = nj.evaluate(mine, **QUICK)
    table, human = rows(found, "fluency"), mine.human()
    lexical = human.merge(nj.metrics.lexical_baselines(mine.items), on="item_id")
    for column, label in zip(("rouge1-f", "rouge2-f", "rougeL-f", "bleu"), LEXICAL):
        expected = nj.correlation(lexical, column, "fluency")
        assert table.loc[label, ["ours", "n"]].tolist() == pytest.approx(
            [expected.value, expected.n]
        )
    ratings = mine.ratings.query("aspect == 'fluency'").merge(mine.items)
    assert (
        table["ceiling"].iloc[0] == nj.stats.ceiling(ratings).value and table["raters"].iloc[0] == 3
    )
    assert table["alpha"].iloc[0] == nj.stats.alpha(ratings).value
    assert found.settings["level"] == "sample" and found.settings["task"] == "summarization"
    planned = plan(mine, price=(2, 8)).query("aspect == 'fluency'").set_index("method")
    assert planned.loc["DA", "calls"] == len(mine.items) and planned["estimated"].all()
    cost = (2 * planned["prompt_tokens"] + 8 * planned["completion_tokens"]) / 1e6
    assert (
        np.allclose(planned["cost"], cost)
        and planned.loc["G-Eval", "cost"] > planned.loc["DA", "cost"]
    )


def test_a_rule_is_not_called_a_protocol(frame, write):
    methods = nj.evaluate(limited(nj.data.own_data(write(frame)), 3), **QUICK).table["method"]
    assert "G-Eval (by the rule)" in set(methods) and "G-Eval" not in set(methods)


def test_an_aspect_without_a_prompt_is_said_and_compared(frame, write):
    mine = nj.data.own_data(write(frame.rename(columns=lambda c: c.replace("fluency", "bleu"))))
    found = nj.evaluate(mine, **QUICK)
    assert (
        "bleu: no prompt of summarization asks about it, so no judge was asked; give one of your own in "
        "`prompts`" in found.notes
    )
    assert set(rows(found, "bleu").index) == {"surface", *LEXICAL}


def test_a_single_rater_and_system_and_no_reference(frame, write):
    few = (
        frame[frame["system"] == "vague"]
        .drop(columns="references")
        .filter(regex="^(?!human)|plain")
    )
    mine = nj.data.own_data(write(few))
    found = nj.evaluate(mine, **QUICK)
    assert found.settings["level"] == "dataset" and found.table["ceiling"].isna().all()
    methods = set(found.table["method"])
    assert "ROUGE1 (source)" in methods and not [m for m in methods if "with reference" in m]
    bleu = nj.metrics.lexical_baselines(
        mine.items.assign(references=mine.items["source"].map(lambda s: [s]))
    )
    expected = nj.correlation(
        mine.human().merge(bleu, on="item_id"), "bleu", "relevance", level="dataset"
    )
    assert rows(found, "relevance").loc["BLEU (source)", "ours"] == pytest.approx(expected.value)


def test_some_items_without_reference_are_left_out_of_lexical_metrics(frame, write):
    part = frame.copy()
    part.iloc[:6, part.columns.get_loc("references")] = ""  # all outputs of the first document
    table = rows(nj.evaluate(nj.data.own_data(write(part)), **QUICK), "relevance")
    compared = table[table["ours"].notna()]
    assert (compared["n"] == 11).all() and (
        compared["n_skipped"] == 1
    ).all()  # surface too, though it has 12
    few = frame.copy()
    few.iloc[:42, few.columns.get_loc("references")] = ""  # of 7 of the 12 documents
    table = rows(nj.evaluate(nj.data.own_data(write(few)), **QUICK), "relevance")
    assert table.loc["BLEU", "reason"] == "scores for 30 of 72 rated outputs"
    assert table.loc["surface", "n"] == 12


def test_tasks(frame, write):
    mine = nj.data.own_data(
        write(
            frame.assign(context="A fact.").rename(
                columns=lambda c: c.replace("fluency", "coherence")
            )
        )
    )
    assert (
        protocols(mine)[0] == "dialogue" and protocols(mine, "summarization")[0] == "summarization"
    )
    try:
        reasoned = (
            {"reason, then score"} if nj.prompt("upstream:d223302/coh_analyze_rate") else set()
        )
    except DataUnavailable:
        reasoned = set()
    assert {label for _, label in protocols(mine)[1]} == {"G-Eval"} | reasoned
    assert {"dialogue", "story", "summarization", "translation"} <= set(TASKS)
    with pytest.raises(ValueError, match="no task 'sumarization': did you mean 'summarization'"):
        protocols(mine, "sumarization")


def test_documents_are_limited_whole(frame, write):
    by_system = frame.sort_values("system", kind="stable")  # a file sorted the other way
    part = limited(nj.data.own_data(write(by_system)), 2)
    assert part.items.groupby("doc_id").size().tolist() == [6, 6]
    assert set(part.ratings["item_id"]) == set(part.items["item_id"])


def test_a_model_is_asked_once_and_its_tokens_are_counted(
    frame, write, tmp_path, monkeypatch, capsys
):
    def answer(number, line, body):
        return completion(["4"] * json.loads(body).get("n", 1))  # 10 and 2 tokens a reply

    path = write(frame)
    call = [
        "evaluate",
        str(path),
        "--judge",
        "openai:m",
        "--limit",
        "2",
        "--price",
        "1e6",
        "5e5",
        "--store",
        str(tmp_path / "s.sqlite"),
        "--out",
        str(tmp_path / "page.html"),
    ]
    with Loopback(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        assert main([*call, "--plan"]) == 0 and not server.requests
        planned = capsys.readouterr().out
        assert "plan: relevance       G-Eval                 12 calls" in planned
        # 12 outputs, 6 ways, 2 aspects
        assert "plan: yet to be asked of openai:m: 144 calls, price " in planned
        assert not (tmp_path / "page.html").exists()
        assert main(call) == 0
        asked = len(server.requests)
        assert asked == 12 * 6 * 2  # outputs, protocols, aspects
        said = capsys.readouterr().out
        # 24 outputs and aspects, 6 calls of 10 prompt tokens and 20 + 5 replies of 2 tokens: 1440 and 1200.
        assert "asked: openai:m, 144 calls, price 2040.0000 (planned: 144 calls" in said
        assert main([*call, "--plan"]) == 0
        assert "plan: yet to be asked of openai:m: 0 calls, price 0.0000" in capsys.readouterr().out
        with Store(tmp_path / "s.sqlite") as store:
            judge = nj.get_judge("openai:m", store=store)
            found = nj.evaluate(
                limited(nj.data.own_data(path), 2), judge=judge, price=(1e6, 5e5), **QUICK
            )
        assert len(server.requests) == asked  # the second time all replies are stored
    row = rows(found, "fluency").loc["G-Eval"]
    # 12 calls of 10 prompt tokens and 20 replies of 2 tokens: 120 and 480; 1 and a half each: 360.
    assert row[["calls", "prompt_tokens", "completion_tokens", "cost"]].tolist() == [
        12,
        120,
        480,
        360,
    ]
    assert not row["estimated"] and pd.isna(row["ours"])
    assert row["reason"] == "the same score for every output"
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
    found = nj.evaluate(limited(nj.data.own_data(write(named)), 6), **QUICK)
    path = page(found, tmp_path / "page.html", title="Mine & <yours>", notes=["a <note>"])
    shown = Tags(text := path.read_text(encoding="utf-8"))
    assert not re.findall(r"https?:|src=|href=|url\(|@import|<script|<link", text)
    assert {tag for tag, _ in shown.tags} & {"b", "note", "yours"} == set()
    assert "<b>&style" in shown.text and "a <note>" in shown.text and "Mine & <yours>" in shown.text
    drawn = [attributes["aria-label"] for tag, attributes in shown.tags if tag == "svg"]
    assert len(drawn) == len(found.table) and "viewport" in text
    for row in found.table.dropna(subset="ours").itertuples():
        label = f"{row.ours:.2f} [{row.ci_low:.2f}, {row.ci_high:.2f}]"
        assert label + f" on {row.n} of {row.n + row.n_skipped}" * (row.n_skipped > 0) in drawn
    assert " on 5 of 6" in text and set(found.table["n_skipped"]) == {1}
    assert (
        "Sample level, all methods on the same 5 documents: 1 of 6 documents are left out"
        in shown.text
    )
    assert "each on at least" in shown.text and "of 5 documents; Krippendorff" in shown.text
    assert all(said in shown.text for said in verdicts(found).values())


def test_the_command_lists_all_problems_and_writes_nothing(frame, write, tmp_path, capsys):
    bad = frame.astype(object).copy()
    bad.iloc[3, bad.columns.get_loc("hypothesis")] = " "
    bad.iloc[7, bad.columns.get_loc("human:fluency:plain")] = "good"
    assert main(["evaluate", str(write(bad)), "--out", str(tmp_path / "page.html")]) == 1
    said = capsys.readouterr().err
    assert (
        "hypothesis, row 5: an empty text" in said
        and "human:fluency:plain, row 9: 'good' is not" in said
    )
    assert not (tmp_path / "page.html").exists()


# --- data whose truth is planted ---------------------------------------------------------------------------

ASK = {"style": "Rate the style from 1 to 5.\n{{hypothesis}}"}
WORDS = [
    first + last
    for first in ("river", "town", "stone", "winter", "market", "north")
    for last in ("bank", "gate", "field", "house", "light", "path", "mill")
]
PLANTED = {"resamples": 50, "permutations": 999}


def made(ratings, *, references=True, seed=0):
    """A benchmark with one aspect, `style`, from ratings: documents x systems, perhaps x raters."""
    ratings, rng = np.asarray(ratings, float), np.random.default_rng(seed)
    ratings = ratings.reshape(*ratings.shape[:2], -1)
    people = ["mean"] if ratings.shape[2] == 1 else [f"r{i}" for i in range(ratings.shape[2])]
    items, scores = [], []
    for d, s in np.ndindex(ratings.shape[:2]):
        source = list(rng.choice(WORDS, 40))
        start, size = rng.integers(20), rng.integers(4, 15)
        text = " ".join([*source[start : start + size], *rng.choice(WORDS, rng.integers(3, 12))])
        source = " ".join(source)
        items.append(
            (f"d{d:02}/{s}", f"d{d:02}", f"s{s}", source, text, [source] if references else [], "")
        )
        scores += [
            (f"d{d:02}/{s}", "style", name, value) for name, value in zip(people, ratings[d, s])
        ]
    return build("made", items, scores, source="own")


class Says:
    def __init__(self, name, ratings):
        self.name, self.ratings = name, ratings

    def replies(self, tasks):
        for task in tasks:
            rating = self.ratings[task.item_id]
            text = "I cannot say." if np.isnan(rating) else f"Rating: {rating:.2f}"
            yield from (Reply(task.item_id, task.aspect, i, text) for i in range(task.n))


def says(name, ratings, items):
    """A judge that gives planted ratings, in the benchmark's order; it refuses where there is none."""
    return Says(name, dict(zip(items["item_id"], np.ravel(ratings))))


def compare(mine, judges, **options):
    return nj.evaluate(mine, judge=judges, prompts=ASK, **PLANTED, **options)


def noisy(truth, sd, seed):
    return np.clip(
        np.round(truth + np.random.default_rng(seed).normal(0, sd, truth.shape), 2), 1, 5
    )


def test_two_systems_a_document_crown_nobody():
    """The judge orders 6 of 15 pairs, all of them rightly by chance, and ties 9: 1.00 at sample level."""
    rng = np.random.default_rng(1)
    base = rng.uniform(2, 4, (15, 1))
    people = base + np.array([0.5, -0.5])
    judge = np.repeat(rng.uniform(2, 4, (15, 1)), 2, axis=1)
    judge[:6] += [0.3, -0.3]
    mine = made(people)
    alone = mine.human().assign(judge=judge.ravel())
    assert nj.correlation(alone, "judge", "style")[:3] == pytest.approx(
        (1, 6, 9)
    )  # as sample level has it
    found = compare(mine, says("stars", judge, mine.items))
    table = rows(found, "style")
    assert set(table["level"]) == {"dataset"} and (table["n"] == 30).all()
    assert table.loc["your prompt", "ours"] == pytest.approx(
        nj.correlation(alone, "judge", "style", level="dataset").value
    )
    assert table["ours"].max() < 0.6
    assert (
        "no document has 3 shared outputs, and the ranks of two can only agree or "
        in found.notes[-1]
    )
    assert verdicts(found)["style"].startswith("These data cannot name one")


def test_a_planted_better_judge_is_named():
    truth = np.random.default_rng(2).uniform(1, 5, (20, 4))
    mine = made(truth)
    judges = [
        says("noise", noisy(np.full_like(truth, 3), 1, 3), mine.items),
        says("good", noisy(truth, 0.3, 4), mine.items),
    ]
    found = compare(mine, judges)
    assert rows(found, "style").index[0] == "your prompt, good"
    said = verdicts(found)["style"]
    assert re.fullmatch(
        r"your prompt, good comes first, 0\.\d\d \[0\.\d\d, \d\.\d\d\]; the others agree "
        r"less, beyond chance on these systems( and on others)?\.",
        said,
    )
    assert "costs" not in said  # nothing ties, so there is nothing to choose from
    assert rows(found, "style").loc["your prompt, good", "judge"] == "good"
    assert set(found.settings["judge"].split(", ")) == {"noise", "good"}


def test_judges_that_tie_are_listed_and_none_is_named():
    truth = np.random.default_rng(5).uniform(1, 5, (20, 4))
    mine = made(truth)
    found = compare(mine, [says(f"j{i}", noisy(truth, 1, 10 + i), mine.items) for i in range(3)])
    said = verdicts(found)["style"]
    assert (
        said.startswith("These data cannot name one. Not told apart: ")
        and "comes first" not in said
    )
    assert (
        all(f"your prompt, j{i} 0." in said for i in range(3)) and "The others agree less" in said
    )
    assert "costs" not in said  # three models, whose prices nobody has said


@pytest.mark.parametrize("seed", range(4))
def test_noise_is_never_named(seed):
    truth = np.random.default_rng(seed).uniform(1, 5, (15, 3))
    mine = made(truth)
    noise = [noisy(np.full_like(truth, 3), 1, 20 + 3 * seed + i) for i in range(3)]
    found = compare(mine, [says(f"j{i}", rated, mine.items) for i, rated in enumerate(noise)])
    said = verdicts(found)["style"]
    assert said.startswith("These data cannot name one") and "comes first" not in said


def test_the_highest_may_be_no_agreement_at_all():
    truth = np.random.default_rng(6).uniform(1, 5, (15, 4))
    mine = made(truth)
    found = compare(mine, says("reversed", 6 - truth, mine.items))
    last = found.table.dropna(subset="ours").iloc[-1]
    assert last["method"] == "your prompt" and last["ours"] == pytest.approx(-1)
    assert "may be no agreement at all. Not told apart from it: " in verdicts(found)["style"]
    assert "costs" not in verdicts(found)["style"]


def test_too_few_documents_name_nobody():
    """Six methods: 5 times the smallest p, 2 / 2^7, is 0.08, and 5 times 2 / 2^8 is 0.039; of systems as well."""
    truth = np.random.default_rng(7).uniform(1, 5, (8, 8)).round(2)  # as the judge writes it
    mine = made(truth)
    said = verdicts(compare(mine, says("good", truth, mine.items), limit=7))["style"]
    assert said.startswith(
        "These data cannot name one: to tell one of 6 methods from the others takes 8 "
        "documents or more, and 7 are compared. Highest first: your prompt 1.00 [1.00, "
    )
    said = verdicts(compare(mine, says("good", truth, mine.items)))["style"]
    assert said == (
        "your prompt comes first, 1.00 [1.00, 1.00]; the others agree less, beyond chance on these systems "
        "and on others."
    )


def test_too_few_permutations_are_said():
    """Five others: 5 / (99 + 1) = 0.05 is the least that Holm can give; 100 permutations give 0.0495."""
    truth = np.random.default_rng(7).uniform(1, 5, (8, 8))
    mine = made(truth)
    found = nj.evaluate(mine, judge=says("good", truth, mine.items), prompts=ASK, **QUICK)
    assert found.notes[-1] == (
        "style: 99 permutations are too few to tell one of 6 methods from the others; it takes 100"
    )


def test_an_undefined_interval_names_nobody():
    truth = np.random.default_rng(7).uniform(1, 5, (9, 4)).round(2)
    found = compare(mine := made(truth), says("good", truth, mine.items))
    assert "comes first" in verdicts(found)["style"]
    unknown = found._replace(table=found.table.assign(ci_low=np.nan, ci_high=np.nan))
    said = verdicts(unknown)["style"]
    assert (
        said
        == "These data cannot name one: the interval of the highest, your prompt, is undefined."
    )


def test_an_aspect_that_nobody_rated_in_these_documents(tmp_path):
    truth = np.random.default_rng(7).uniform(1, 5, (6, 3))
    truth[:2] = np.nan
    mine = made(truth)
    found = nj.evaluate(mine, limit=2, **QUICK)
    assert verdicts(found)["style"] == "No method can be compared: scores for 0 of 0 rated outputs."
    assert page(found, tmp_path / "page.html").is_file()


def test_one_method_alone_does_not_come_first():
    truth = np.random.default_rng(8).uniform(1, 5, (8, 3))
    table = compare(mine := made(truth), says("good", truth, mine.items))
    alone = table._replace(table=table.table.iloc[:1])
    assert "so that nothing comes first" in verdicts(alone)["style"]


def test_all_methods_are_compared_on_the_same_documents():
    """The judge ties all outputs of 3 of 12 documents: no method is measured there."""
    truth = np.random.default_rng(9).uniform(1, 5, (12, 4))
    judge = noisy(truth, 1, 9)
    judge[:3] = 3
    mine = made(truth)
    found = compare(mine, says("coarse", judge, mine.items))
    table = rows(found, "style")
    kept = mine.human().assign(judge=judge.ravel()).query("doc_id >= 'd03'")
    assert (
        set(table["level"]) == {"sample"}
        and (table["n"] == 9).all()
        and (table["n_skipped"] == 3).all()
    )
    assert table.loc["your prompt", "ours"] == pytest.approx(
        nj.correlation(kept, "judge", "style").value
    )
    bleu = kept.merge(nj.metrics.lexical_baselines(mine.items), on="item_id")
    assert table.loc["ROUGE1", "ours"] == pytest.approx(
        nj.correlation(bleu, "rouge1-f", "style").value
    )
    assert found.notes[-1] == (
        "style: 3 of 12 documents are left out: all outputs get the same score in 3 "
        "from your prompt"
    )


def test_dataset_level_where_sample_level_would_lose_most_documents():
    truth = np.random.default_rng(9).uniform(1, 5, (12, 4))
    judge = np.round(truth.mean(axis=1, keepdims=True)).repeat(4, axis=1)
    judge[:5] = noisy(truth[:5], 1, 9)
    truth[11] = 3
    mine = made(truth)
    found = compare(mine, says("coarse", judge, mine.items))
    assert set(found.table["level"]) == {"dataset"} and found.settings["level"] == "dataset"
    assert found.notes[-1] == (
        "style: dataset level, because sample level would leave 7 of 12 documents "
        "out: in 1 all ratings are equal; all outputs get the same score in 6 from "
        "your prompt"
    )


def test_levels_follow_each_aspect():
    """Ratings of a second aspect tell outputs apart in 2 of 8 documents only."""
    truth = np.random.default_rng(9).uniform(1, 5, (8, 4))
    mine = made(truth)
    flat = truth.copy()
    flat[2:] = 3
    second = mine.ratings.assign(aspect="tone", score=flat.ravel())
    both = replace(mine, ratings=pd.concat([mine.ratings, second], ignore_index=True))
    found = nj.evaluate(both, **QUICK)
    assert found.settings["level"] == "style: sample, tone: dataset"


def test_a_judge_that_rarely_answers_is_not_compared():
    truth = np.random.default_rng(9).uniform(1, 5, (12, 4))
    judge = truth.copy()
    judge[5:] = np.nan
    mine = made(truth)
    found = compare(
        mine, [says("mute", judge, mine.items), says("good", noisy(truth, 0.5, 1), mine.items)]
    )
    table = rows(found, "style")
    assert table.loc["your prompt, mute", "reason"] == "scores for 20 of 48 rated outputs"
    assert (
        table.loc["your prompt, mute", "unparsed"] == 28
        and table.loc["your prompt, good", "n"] == 12
    )
    assert (
        "style: your prompt, mute is not compared: scores for 20 of 48 rated outputs" in found.notes
    )


def test_a_metric_that_ties_most_documents_is_left_out_and_keeps_the_level():
    """But in two documents, no output shares two words in a row with its reference: ROUGE-2 is 0 there."""
    truth = np.random.default_rng(9).uniform(1, 5, (12, 4))
    mine = made(truth)
    apart = mine.items["hypothesis"].str.split().str.join(" and ")
    apart.iloc[:8] = mine.items["hypothesis"].iloc[:8]
    mine = replace(mine, items=mine.items.assign(hypothesis=apart))
    table = rows(compare(mine, says("good", noisy(truth, 0.5, 1), mine.items)), "style")
    assert set(table["level"]) == {"sample"}
    assert table.loc["ROUGE2", "reason"] == "the same score for all outputs in 10 of 12 documents"


def test_the_ceiling_says_on_how_many_documents_it_rests_and_what_it_is_not():
    """Noisy raters agree little with each other; a judge that knows the truth agrees more with their mean."""
    rng = np.random.default_rng(3)
    truth = rng.uniform(1, 5, (14, 4))
    people = truth[:, :, None] + rng.normal(0, 2, (14, 4, 3))
    people[:4, :, 0] = 3  # the first rater tells nothing apart in 4 documents
    mine = made(people)
    found = compare(mine, says("good", truth, mine.items))
    row = rows(found, "style").loc["your prompt"]
    shared = mine.ratings.merge(mine.items)
    assert row["ceiling"] == nj.stats.ceiling(shared).value < row["ours"]
    assert (
        row["ceiling_n"] == nj.stats.ceiling(shared).per_rater["n"].min() == 10 and row["n"] == 14
    )
    said = verdicts(found)["style"]
    assert (
        "your prompt agrees with the raters' mean more than a rater does with the mean of the"
        in said
    )
    assert "does not show that a method is better than a person" in said
    clear = made(np.repeat(truth[:, :, None], 3, axis=2) + rng.normal(0, 0.01, (14, 4, 3)))
    said = verdicts(compare(clear, says("fair", noisy(truth, 1, 1), clear.items)))["style"]
    assert "better than a person" not in said


def test_what_costs_least_is_said_only_where_something_costs():
    truth = np.random.default_rng(12).uniform(1, 5, (20, 5))
    mine = made(truth)
    prompts = {
        "style": [ASK["style"], "A much longer text that asks the same.\n" * 9 + "{{hypothesis}}"]
    }
    found = nj.evaluate(mine, judge=says("good", truth, mine.items), prompts=prompts, **PLANTED)
    said = verdicts(found)["style"]
    assert (
        "Not told apart: your prompt 1.00 [1.00, 1.00]; your prompt (2) 1.00 [1.00, 1.00]." in said
    )
    assert "Of these, your prompt costs least." in said
    free = found.table.assign(calls=np.nan)
    assert "cost" not in verdicts(found._replace(table=free))["style"]
    free.loc[1, "calls"] = 100.0
    assert "Of these, your prompt costs nothing." in verdicts(found._replace(table=free))["style"]


def test_scores_have_a_row_per_output():
    truth = np.random.default_rng(12).uniform(1, 5, (6, 3))
    mine = made(truth)
    scores = compare(mine, says("good", np.round(truth, 2), mine.items)).scores
    assert list(scores)[:3] == ["item", "doc_id", "system"]
    assert list(scores)[3:6] == ["human:style", "style:your prompt", "style:surface"]
    assert set(LEXICAL) <= set(scores) and len(scores) == 18
    assert np.allclose(scores["human:style"], truth.ravel())
    assert np.allclose(scores["style:your prompt"], truth.ravel(), atol=0.006)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"limit": -1}, "limit=-1: expected a whole number"),
        ({"samples": 0}, "samples=0: expected a whole number of at least 1"),
        ({"policy": "dropp"}, "no policy 'dropp': did you mean 'drop'"),
        ({"scale": (10, 1), "prompts": ASK}, "expected the lowest rating, then the highest"),
        ({"prompts": {"stile": ASK["style"]}}, "no aspect 'stile': did you mean 'style'"),
        ({"prompts": [ASK["style"]]}, "which aspect does it ask about"),
        (
            {"prompts": {"style": "Rate.\n{{context}} {{hypothesis}}"}},
            "shows a context, and 18 of 18 outputs have none",
        ),
        (
            {"prompts": {"style": "Rate.\n{{reference}} {{hypothesis}}"}},
            "shows a reference, and 18 of 18 outputs have none",
        ),
        ({"prompts": {"style": "Rate.\n{{Reply}} {{hypothesis}}"}}, "no slot '{{Reply}}'"),
        (
            {"prompts": {"style": "geval/sumarization/fluency"}},
            "did you mean 'geval/summarization/fluency'",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is(options, message):
    mine = made(np.random.default_rng(1).uniform(1, 5, (6, 3)), references=False)

    def asked(tasks):
        raise AssertionError("the judge was asked")

    judge = says("good", np.full(18, 3), mine.items)
    judge.replies = asked
    with pytest.raises((ValueError, KeyError)) as caught:
        nj.evaluate(mine, judge=judge, **options)
    assert message in str(caught.value)


def test_samples_and_settings_take_the_place_of_the_protocols(frame, write):
    mine = nj.data.own_data(write(frame))
    plain = protocols(mine)[1]["fluency", "G-Eval"]
    assert plain[1:] == (20, {"temperature": 1, "top_p": 1, "max_tokens": 16})
    changed = protocols(mine, samples=3, settings={"temperature": 0.5})[1]
    assert changed["fluency", "G-Eval"][1:] == (
        3,
        {"temperature": 0.5, "top_p": 1, "max_tokens": 16},
    )
    assert changed["fluency", "DA"][1:] == (3, {"temperature": 0.5, "max_tokens": 64})
    assert limited(mine, 0).items.equals(mine.items) and limited(mine, None).items.equals(
        mine.items
    )


# --- the command -------------------------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch):
    """Two models: `good` reads a rating out of the text, `bad` always fails."""

    def answer(number, line, body):
        body = json.loads(body)
        if body["model"] == "bad":
            return error(500, "out of order")
        found = re.search(r"quality(\d)", body["messages"][0]["content"])
        rating = int(found[1]) - (body["model"] == "poor")
        return completion([f"Rating: {max(rating, 1)}"] * body.get("n", 1))

    with Loopback(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server


@pytest.fixture
def own_file(tmp_path):
    """JSON Lines with other names, 7 articles and 4 models; the rating stands in the text."""
    path, rng = tmp_path / "mine.jsonl", np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as lines:
        for article in range(7):
            for model, quality in enumerate(rng.permutation(4) + 1):
                text = " ".join(rng.choice(WORDS, 8)) + f" quality{quality}"
                lines.write(
                    json.dumps(
                        {
                            "article": f"Article {article}.",
                            "out": text,
                            "system": f"m{model}",
                            "stylish": str(float(quality)).replace(".", ","),
                        }
                    )
                    + "\n"
                )
    return path


def test_the_command_takes_everything_at_once(server, own_file, tmp_path, capsys):
    prompt, scores, page = (tmp_path / name for name in ("style.txt", "scores.csv", "page.html"))
    prompt.write_text("Rate the style, 1 to 5.\n{{hypothesis}}\n", encoding="utf-8")
    call = [
        "evaluate",
        str(own_file),
        "--columns",
        "source=article,hypothesis=out",
        "--column",
        "human:style=stylish",
        "--judge",
        "openai:good",
        "--judge",
        "surface",
        "--prompts",
        f"style=@{prompt}",
        "--store",
        str(tmp_path / "s.sqlite"),
        "--scores",
        str(scores),
        "-o",
        str(page),
    ]
    assert main(call) == 0
    said = capsys.readouterr().out
    assert "note: human:style (stylish), line 1-28: read with decimal commas" in said
    assert (
        "style: style.txt, openai:good comes first, 1.00 [1.00, 1.00]; the others agree less"
        in said
    )
    assert len(server.requests) == 28
    table = pd.read_csv(scores)
    assert table["item"].tolist()[:2] == ["line 1", "line 2"] and len(table) == 28
    assert table["human:style"].equals(table["style:style.txt, openai:good"])
    assert "style.txt, openai:good" in page.read_text(encoding="utf-8")


def test_a_judge_whose_calls_all_fail_ends_the_run(server, own_file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("nlgjudge.judging.server.RETRIES", 0)
    call = [
        "evaluate",
        str(own_file),
        "--columns",
        "source=article,hypothesis=out,human:style=stylish",
        "--judge",
        "openai:bad",
        "--prompts",
        "style=Rate.\n{{hypothesis}}",
        "--limit",
        "1",
        "--store",
        str(tmp_path / "s.sqlite"),
        "-o",
        str(tmp_path / "page.html"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert main(call) == 1
    assert (
        "nlgjudge: no item was answered: 4 failed, all with: out of order"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "page.html").exists()


def test_a_judge_of_which_nothing_can_be_read_fails_and_the_others_are_reported(
    serve, own_file, tmp_path, capsys
):
    serve(lambda *_: completion(["It is good."]))
    call = [
        "evaluate",
        str(own_file),
        "--columns",
        "source=article,hypothesis=out,human:style=stylish",
        "--judge",
        "openai:vague",
        "--judge",
        "surface",
        "--prompts",
        "style=Rate.\n{{hypothesis}}",
        "--store",
        str(tmp_path / "s.sqlite"),
        "-o",
        str(tmp_path / "page.html"),
    ]
    assert main(call) == 1
    said = capsys.readouterr()
    assert "nlgjudge: openai:vague: no reply could be read, so it is in no comparison" in said.err
    assert "report: " in said.out and (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    "extra, message",
    [
        (["--prompts", "stlye={{hypothesis}}"], "no aspect 'stlye': did you mean 'style'"),
        (["--prompts", "style=@nothing.txt"], "there is no file nothing.txt"),
        (["--columns", "out=hypothesis"], "the name used here comes first, hypothesis=out"),
        (["--task", "sumarization"], "no task 'sumarization': did you mean 'summarization'"),
        (["--limit", "-3"], "limit=-3"),
        (["-o", "nowhere/page.html"], "there is no folder nowhere"),
        (["--scores", "nowhere/scores.csv"], "there is no folder nowhere"),
        (["--judge", "opnai:m"], "no kind of judge 'opnai': did you mean 'openai'"),
        (["--max-cost", "1"], "a limit on cost needs a price"),
    ],
)
def test_a_wrong_option_is_one_line_before_a_call(
    server, own_file, tmp_path, capsys, extra, message
):
    call = [
        "evaluate",
        str(own_file),
        "--columns",
        "source=article,hypothesis=out,human:style=stylish",
        "--judge",
        "openai:good",
        "--store",
        str(tmp_path / "s.sqlite"),
    ]
    assert main([*call, *extra]) == 1 and not server.requests
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_the_help_has_every_default_and_an_example(capsys):
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "example: nlgjudge evaluate my.xlsx" in text
    options = (
        "judge prompts samples temperature max-tokens logprobs policy price max-cost max-calls "
        "per-minute tokens-per-minute concurrency store limit plan seed output columns scores task "
        "scale"
    )
    assert all(f"--{option}" in text for option in options.split())
    for default in (
        "surface",
        "0 is all (default: 0)",
        "report.html",
        "64",
        "nan",
        "replies.sqlite",
    ):
        assert default in text
