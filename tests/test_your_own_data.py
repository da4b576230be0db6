"""The notebook `your_own_data`, from a file to the sentences of its page."""

import json
import re
import subprocess
import sys
from html import unescape

import nltk
import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from loopback import Loopback, completion, error
from nlgjudge.data import wordnet
from nlgjudge.data.paths import root
from nlgjudge.judging.judge import JudgeError
from nlgjudge.judging.tasks import Reply

NOTEBOOK = root() / "notebooks" / "your_own_data.ipynb"
CASES = root().parent / "shared" / "cases" / "data"
STYLE = "Rate the {aspect} from 1 to 5.\n\n{{hypothesis}}"
LEXICAL = ["ROUGE1", "ROUGE2", "ROUGEL", "BLEU"]


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
    """Run the notebook's code cells with other parameters; return its names, and what it showed as text."""

    def executed(**parameters):
        names = run_cells("your_own_data", **parameters)
        return names, "\n".join(run_cells.shown)

    return executed


def cells(names, aspect="style"):
    return names["results"][aspect]["cells"].set_index("metric")


@pytest.fixture
def planted(tmp_path):
    """Write a file with one aspect, `style`, from ratings: documents x systems, perhaps x raters."""

    def written(ratings, *, apart_after=None, name="mine.csv"):
        ratings = np.asarray(ratings, float)
        ratings = ratings.reshape(*ratings.shape[:2], -1)
        raters = [f":r{i}" for i in range(ratings.shape[2])] if ratings.shape[2] > 1 else [""]
        rng, rows = np.random.default_rng(0), []
        words = [f"word{i}" for i in range(12)]
        sources = rng.choice(words, (len(ratings), 40))
        for d, s in np.ndindex(ratings.shape[:2]):
            source = list(sources[d])
            start, size = rng.integers(20), rng.integers(4, 15)
            hypothesis = [*source[start : start + size], *rng.choice(words, rng.integers(3, 12))]
            joint = " " if apart_after is None or d < apart_after else " and "
            row = {"source": " ".join(source), "hypothesis": joint.join(hypothesis)}
            row |= {"references": row["source"], "doc_id": f"d{d:02}", "system": f"s{s}"}
            row |= {f"human:style{r}": value for r, value in zip(raters, ratings[d, s])}
            rows.append(row)
        pd.DataFrame(rows).to_csv(tmp_path / name, index=False)
        return str(tmp_path / name)

    return written


class Says:
    """A judge that gives planted ratings, in the file's order; it refuses where there is none."""

    def __init__(self, name, ratings):
        self.name = name
        self.ratings = {f"row {i + 2}": rating for i, rating in enumerate(np.ravel(ratings))}

    def replies(self, tasks):
        for task in tasks:
            rating = self.ratings[task.item_id]
            said = "I cannot say." if np.isnan(rating) else f"Rating: {rating:.2f}"
            yield from (Reply(task.item_id, task.aspect, i, said) for i in range(task.n))


def noisy(truth, sd, seed):
    return np.clip(truth + np.random.default_rng(seed).normal(0, sd, truth.shape), 1, 5).round(2)


def test_the_sample(run):
    """Twenty noisy replies beat one, whose error is sqrt(20) times as large."""
    names, said = run()
    sample, planned = nj.load("summeval", "sample"), names["planned"]
    lexical = sample.human().merge(nj.metrics.lexical_baselines(sample.items), on="item_id")
    for aspect in sample.aspects:
        table = cells(names, aspect)
        assert table.index[0] == "G-Eval, simulated" and len(table) == 6 + 1 + 4
        assert table["ours"].iloc[0] > table.loc["DHP's form, simulated", "ours"] + 0.1
        expected = nj.correlation(lexical, "rougeL-f", aspect)
        assert table.loc["ROUGEL", ["ours", "n"]].tolist() == pytest.approx(expected[:2])
        ratings = sample.ratings[sample.ratings["aspect"] == aspect].merge(sample.items)
        assert names["ceilings"][aspect] == nj.stats.ceiling(ratings).value
        assert f"raters is {nj.stats.alpha(ratings).value:.2f}" in said
        # Twelve documents have 2^11 different swaps, all counted; Holm over ten tests.
        assert (table["p"].dropna() >= 10 / 2048 - 1e-9).all()
        of_geval = planned[(planned["aspect"] == aspect) & planned["method"].str.startswith("G-E")]
        assert of_geval["completion_tokens"].tolist() == [20 * 5 * 72]  # a rating has 5
    assert np.allclose(
        planned["cost"],
        (0.15 * planned["prompt_tokens"] + 0.6 * planned["completion_tokens"]) / 1e6,
    )
    assert said.index("**Plan:** 1,728 calls") < said.index("0 of 7,200 replies have no rating")
    assert "Not significantly different: G-Eval, simulated 0." in said
    assert re.search(r"A difference of 0\.\d\d or more would be detected", said)


def test_a_correlation_by_hand(run, planted):
    """One pair in the wrong order in half of the documents: Spearman's 0.8 and 1, on average 0.9."""
    truth = np.tile([1.0, 2, 3, 4], (8, 1))
    judge = truth.copy()
    judge[::2] = [2, 1, 3, 4]
    names, said = run(file=planted(truth), judges=[Says("good", judge)], prompts=STYLE)
    row = cells(names).loc["your prompt, good"]
    assert row["ours"] == pytest.approx(0.9) and row["n"] == 8 and row["unread"] == 0
    assert "one rating per output, so the raters' agreement is unknown" in said


def test_a_better_judge_comes_first(run, planted):
    """Six methods: 5 times the smallest p, 2 / 2^8, is 0.039, and 2 / 2^7 is too large."""
    truth = np.random.default_rng(7).uniform(1, 5, (8, 8)).round(2)
    judges = [Says("good", truth)]
    asked = {"file": planted(truth), "judges": judges, "prompts": STYLE}
    said = run(**asked)[1]
    assert "**your prompt, good comes first**, 1.00; all others agree" in said
    assert "on these systems and on others." in said and "costs least" not in said
    said = run(**asked, limit=7)[1]
    assert "7 documents and 999 permutations allow no corrected p-value below 0.08" in said
    assert "6 methods take 8 documents or more and 100 permutations" in said
    assert "Highest first: your prompt, good 1.00;" in said
    assert "allow no corrected p-value" in run(**asked, permutations=99)[1]


def test_noise_never_comes_first(run, planted):
    truth = np.random.default_rng(0).uniform(1, 5, (15, 4))
    judges = [Says(f"j{i}", noisy(np.full_like(truth, 3), 1, i)) for i in range(2)]
    judges.append(Says("reversed", 6 - truth))
    names, said = run(file=planted(truth), judges=judges, prompts=STYLE)
    assert cells(names)["ours"].iloc[-1] == pytest.approx(-1)
    assert "cannot name a best method" in said and "comes first" not in said


def test_two_systems_are_compared_at_dataset_level(run, planted):
    """The judge orders 6 of 15 pairs, all of them rightly, and ties 9: 1.00 at sample level."""
    base = np.random.default_rng(1).uniform(2, 4, (15, 1))
    judge = np.repeat(np.random.default_rng(2).uniform(2, 4, (15, 1)), 2, axis=1)
    judge[:6] += [0.3, -0.3]
    names, said = run(file=planted(base + [0.5, -0.5]), judges=[Says("m", judge)], prompts=STYLE)
    assert set(cells(names)["level"]) == {"dataset"} and set(cells(names)["n"]) == {30}
    assert cells(names)["ours"].max() < 0.6 and "15 have fewer than three shared outputs" in said


def test_methods_share_their_documents(run, planted):
    """The judge ties all outputs of 3 of 12 documents: no method is measured there."""
    truth = np.random.default_rng(9).uniform(1, 5, (12, 4))
    judge = noisy(truth, 1, 9)
    judge[:3] = 3
    names, said = run(file=planted(truth), judges=[Says("coarse", judge)], prompts=STYLE)
    assert set(cells(names)["level"]) == {"sample"} and set(cells(names)["n"]) == {9}
    assert "9 of 12 documents can be ranked" in said
    assert "your prompt, coarse ties all outputs of 3" in said
    judge[:] = np.round(truth.mean(axis=1, keepdims=True))  # most documents would be lost
    names, said = run(file=planted(truth), judges=[Says("coarse", judge)], prompts=STYLE)
    assert set(cells(names)["level"]) == {"dataset"} and set(cells(names)["n"]) == {48}


def test_a_method_with_few_scores_or_many_ties_is_left_out(run, planted):
    """In all but two documents no output shares two words in a row with its reference: ROUGE-2 is 0."""
    truth = np.random.default_rng(9).uniform(1, 5, (12, 4))
    mute = truth.copy()
    mute[5:] = np.nan
    judges = [Says("mute", mute), Says("good", noisy(truth, 0.5, 1))]
    names, said = run(file=planted(truth, apart_after=2), judges=judges, prompts=STYLE)
    assert "your prompt, mute is not compared: scores for 20 of 48 rated outputs." in said
    assert "**mute:** 28 of 48 replies have no rating, and 0 are missing." in said
    assert "ROUGE2 is not compared: the same score for all outputs of most documents." in said
    assert cells(names).loc["your prompt, good", ["n", "level"]].tolist() == [12, "sample"]


def test_some_rated_documents_give_a_certificate(run, planted):
    """12 of 40 documents are rated; with 9 of them, everything is refused with advice."""
    truth = np.random.default_rng(6).uniform(1, 5, (40, 4)).round(2)
    rated, judge = truth.copy(), noisy(truth, 0.5, 1)
    rated[np.random.default_rng(2).permutation(40)[12:]] = np.nan
    asked = {"judges": [Says("good", judge)], "prompts": STYLE}
    names, said = run(file=planted(rated), **asked)
    assert "Labels saved ≈ ρ²(1 − n/N)** = " in said and "× (1 − 12/40)" in said
    assert "Experts labelled 12 of 40 documents, drawn at random, of 4 systems." in said
    expected = nj.stats.few_labels(
        pd.DataFrame(
            {"doc_id": np.repeat(range(40), 4), "system_id": np.tile(range(4), 40)}
            | {"judge": judge.ravel(), "human": rated.ravel()}
        ),
        "judge",
        "human",
        scale=(1, 5),
    )
    assert names["few"]["your prompt, good"].correlation == pytest.approx(expected.correlation)
    rated[np.flatnonzero(np.isfinite(rated[:, 0]))[9:]] = np.nan
    assert "Label 1 more documents, drawn at random." in run(file=planted(rated), **asked)[1]
    assert "Experts labelled" not in run(file=planted(truth), **asked)[1]


def test_the_ceiling_of_noisy_raters(run, planted):
    rng = np.random.default_rng(3)
    truth = rng.uniform(1, 5, (14, 4))
    people = truth[:, :, None] + rng.normal(0, 2, (14, 4, 3))
    people[:4, :, 0] = 3  # the first rater does not rank in 4 documents
    names, said = run(file=planted(people), judges=[Says("good", truth)], prompts=STYLE)
    shared = names["mine"].ratings.merge(names["mine"].items)
    assert names["ceilings"]["style"] == nj.stats.ceiling(shared).value
    assert (
        "with the others, on at least 10 documents. Above this ceiling: your prompt, good" in said
    )


def test_one_system_without_references(run, planted):
    path = planted(np.random.default_rng(4).uniform(1, 5, (12, 1)))
    pd.read_csv(path).drop(columns="references").to_csv(path, index=False)
    names, said = run(file=path, prompts={"plain": STYLE, "DA with reference": "chatgpt/da_ref"})
    mine = names["mine"]
    sources = mine.items.assign(references=[[one] for one in mine.items["source"]])
    scored = mine.with_scores(nj.metrics.lexical_baselines(sources))
    expected = nj.correlation(scored, "bleu", "style", level="dataset").value
    assert cells(names).loc["BLEU (source)", "ours"] == pytest.approx(expected)
    assert "12 documents of 1 systems" in said and names["planned"]["method"].tolist() == [
        "plain, a model"
    ]


@pytest.mark.parametrize(
    "name, message",
    [
        ("01_nested_annotations.jsonl", "human=expert_annotations"),
        ("02_row_per_rater.csv", "108 rows are read as 36 outputs, with raters named here"),
        ("18_list_of_ratings.parquet", "a list of ratings is read as 3 raters, by position"),
        ("27_pandas_index.csv", "a column without a name"),
        ("36_rating_names.csv", "missing source, hypothesis, system, human:ASPECT"),
        ("11_missing_codes.csv", "-999"),
        ("25_rater_reversed.csv", "The raters contradict each other."),
        ("26_ids_float_int.csv", "### fluency"),
    ],
)
def test_files_of_other_people(run, name, message):
    if not (CASES / name).is_file():
        pytest.skip("needs the shared files")
    try:
        names, said = run(file=str(CASES / name), permutations=99)
    except ValueError as refused:
        assert "cannot be used" in str(refused) and message in str(refused)
        return
    assert message in said + names["by_rater"].agg(["min", "max"]).to_string()


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
    (tmp_path / "style.txt").write_text(STYLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return {
        "file": "mine.jsonl",
        "columns": "source=article,hypothesis=out,human:style=stylish",
        "prompts": {"mine": "@style.txt"},
    }


def test_a_served_judge_is_planned_asked_once_and_paid(run, server, articles):
    asked = articles | {"judges": "openai:good", "price": [1e6, 5e5]}
    names, said = run(**asked, plan_only=True)
    assert not server.requests and "**Plan:** 28 calls. Asking all of it costs " in said
    assert "mine, openai:good" not in cells(names).index
    names, said = run(**asked, scores_file="scores.csv")
    assert said.index("**Plan:** 28 calls") < said.index("0 of 28 replies have no rating")
    assert "read with decimal commas" in said and len(server.requests) == 28
    # 28 calls of 10 prompt and 2 completion tokens, at 1 and 0.5.
    assert names["took"].loc["openai:good", ["calls", "cost"]].tolist() == [28, 28 * 11]
    assert "**mine, openai:good comes first**, 1.00;" in said
    table = pd.read_csv("scores.csv")
    assert len(table) == 28 and table["style"].equals(table["mine, openai:good: style"])
    names, said = run(**asked | {"price": None})
    assert "**Plan:** 0 calls. Asking all of it has no known cost: set price. 28 of 28" in said
    assert len(server.requests) == 28


def test_a_limit_on_cost_stops_a_judge(run, server, articles):
    asked = articles | {"judges": ["openai:good"], "price": [1e6, 5e5], "max_cost": 55}
    with pytest.warns(UserWarning, match="stopped before the end"):
        names, said = run(**asked)
    assert len(server.requests) < 28
    row = names["took"].loc["openai:good"]
    assert row["missing"] > 0 and "the limit on cost was reached" in row["stopped"]
    with pytest.raises(JudgeError, match="a limit on cost needs a price"):
        run(**asked | {"price": None})


def test_nothing_is_paid_for_the_sample_unless_it_is_asked_for(run, run_cells, server):
    asked = {"judges": ["openai:good"], "limit": 1, "prompts": "geval/{task}/{aspect}"}
    with pytest.raises(ValueError, match="SAMPLE: expected a file for a served judge; got none"):
        run(**asked)
    assert not server.requests and "**Plan:** 24 calls" in "".join(run_cells.shown)
    names, _ = run(**asked, source="sample", options={"temperature": 0.5})
    assert len(server.requests) == 24 and json.loads(server.requests[0])["temperature"] == 0.5


def test_a_judge_that_fails_or_says_nothing_ends_the_run(run, run_cells, server, articles):
    with pytest.raises(JudgeError, match="out of order"):
        run(**articles, judges=["openai:bad"])
    run(**articles, judges=["openai:vague"])
    said = "\n".join(run_cells.shown)  # the page has the other methods
    assert "28 of 28 replies have no rating" in said and "### style" in said
    assert "mine, openai:vague is not compared: scores for 0 of 28 rated outputs" in said


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"columns": "hypothesis=outt,source=article"}, "no column 'outt': did you mean 'out'"),
        ({"columns": {"out": "hypothesis"}}, "a name used here, then your column's, as hypothesis"),
        ({"file": "mine.csv"}, "there is none. Give its full path, or start papermill in the"),
        ({"prompts": {"mine": "@nothing.txt"}}, "No such file"),
        ({"prompts": "geval/sumarization/style"}, "no prompt 'geval/sumarization/style'"),
        ({"prompts": "Rate.\n{{Reply}} {{hypothesis}}"}, "no slot '{{Reply}}'"),
        ({"prompts": "Rate.\n{{context}} {{hypothesis}}"}, "no item has one"),
        ({"prompts": STYLE, "scale": [5, 1]}, "lowest rating"),
        ({"policy": "dropp"}, "no policy 'dropp': did you mean 'drop'"),
        ({"limit": -3}, "limit=-3: expected a whole number"),
        ({"judges": ["opnai:m"]}, "no kind of judge 'opnai': did you mean 'openai'"),
    ],
)
def test_what_is_wrong_is_said_before_a_call(run, server, articles, wrong, message):
    with pytest.raises((ValueError, KeyError, OSError)) as caught:
        run(**articles | {"judges": ["openai:good"]} | wrong)
    assert message in str(caught.value) and not server.requests


def test_an_aspect_without_a_prompt_is_compared_with_metrics(run, planted):
    truth = np.random.default_rng(7).uniform(1, 5, (6, 3))
    names, said = run(file=planted(truth))
    assert set(cells(names).index) == {"surface", *LEXICAL} and not len(names["requests"])
    assert "- G-Eval, style: no prompt 'geval/summarization/style'" in names["not_asked"][0]


def test_the_page(planted, tmp_path, monkeypatch):
    """Papermill in the user's folder, then nbconvert without code."""
    truth = np.random.default_rng(7).uniform(1, 5, (8, 4))
    planted(np.repeat(truth[:, :, None], 2, axis=2) + [0, 0.1], name="my.csv")
    monkeypatch.chdir(tmp_path)
    call = ["papermill", NOTEBOOK, "mine.ipynb", "-p", "file", "my.csv"]
    subprocess.run([sys.executable, "-m", *map(str, call)], check=True, capture_output=True)
    call = ["jupyter", "nbconvert", "--to", "html", "--no-input", "mine.ipynb"]
    subprocess.run([sys.executable, "-m", *call], check=True, capture_output=True)
    page = unescape((tmp_path / "mine.html").read_text(encoding="utf-8"))
    assert "import nlgjudge" not in page and "<caption>my</caption>" in page
    for heading in ("Spearman", "p, documents", "p, systems", "prompt_tokens", "unread", "lowest"):
        assert f"<th>{heading}</th>" in page
    assert "Krippendorff's α of the 2 raters is" in page and '<h3 id="style">' in page
    assert not any(one in page for one in pd.read_csv("my.csv")["hypothesis"])
