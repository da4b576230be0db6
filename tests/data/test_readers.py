"""Readers: counts and agreements of the real files, and own small files where only upstream has them."""

import csv
import json
import pickle

import numpy as np
import pandas as pd
import pytest

from nlgjudge.data import benchmarks
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.data.files import Files
from nlgjudge.data.safe_pickle import unpickle

# Ratings that the papers count: items x aspects x raters (three experts, five crowd workers).
RATINGS = {
    "summeval": 1600 * 4 * 3,
    "summeval_crowd": 1200 * 4 * 5,
    "summeval_crowd_all": 1600 * 4 * 5,
    "topical_chat_raters": 360 * 6 * 3,
    "newsroom": 420 * 4,
    "realsumm": 2400,
    "bagel": 404 * 3,
    "topical_chat": 360 * 6,
    "news": 599 * 2,
}


@pytest.mark.parametrize("name", benchmarks.BENCHMARKS)
def test_a_real_benchmark_has_what_the_paper_counts(real, name):
    benchmark = real(name)
    counts = (benchmark.items["doc_id"].nunique(), len(benchmark.items))
    assert counts == (benchmarks.BENCHMARKS[name].expect or counts)
    assert len(benchmark.ratings) == RATINGS.get(name, len(benchmark.ratings))
    assert benchmark.notice == "" and benchmark.source == "real"
    assert benchmark.files and all(len(blob) == 40 for blob in benchmark.files.values())
    assert not benchmark.ratings["score"].isna().any()
    assert not benchmark.items["hypothesis"].isna().any()
    # Raters of labels may have no majority.
    has_labels = any(scale.kind == "unordered" for scale in benchmark.scales.values())
    assert not benchmark.human().isna().any(axis=None) or name == "news" or has_labels


def test_summeval_experts_average_to_bartscores_means(real, content):
    made = real("summeval")
    if set(made.ratings["rater"]) != {"expert_1", "expert_2", "expert_3"}:
        pytest.skip("needs the mirror or a network: AltTest's human_annotations.json")
    assert (made.items["references"].map(len) == 11).all()
    assert made.items.groupby("doc_id").size().unique().tolist() == [16]
    means = pd.DataFrame(
        [
            {"item_id": f"{doc}/{system}", **output["scores"]}
            for doc, document in unpickle(content("summeval", path="/data.pkl")).items()
            for system, output in document["sys_summs"].items()
        ]
    )
    joined = made.human().merge(means, on="item_id", suffixes=("", "_mean"), validate="1:1")
    assert len(joined) == 1600
    for aspect in made.aspects:
        np.testing.assert_allclose(joined[aspect], joined[f"{aspect}_mean"], atol=1e-9)


def test_news_is_599_comparisons_of_76_articles(real):
    made = real("news")
    assert (made.items["doc_id"].nunique(), len(made.items)) == (76, 188)
    overall = made.ratings[made.ratings["aspect"] == "overall_preference"]
    assert len(overall) == 599 and set(overall["score"]) <= {0, 0.5, 1}
    # The writer's side is rated.
    assert not overall["item_id"].str.endswith("text-davinci-002").any()
    assert (made.items["system_id"] == "text-davinci-002").sum() == 76
    # One evaluator is a writer and judged other writers' summaries in the place of their own.
    by_pair = overall.groupby("item_id")["rater"].agg(["size", "first"])
    assert by_pair["size"].value_counts().to_dict() == {6: 87, 5: 13, 1: 12}
    (lone,) = by_pair.loc[by_pair["size"] == 1, "first"].unique()
    own = overall["item_id"].str.endswith(f"/writer-{lone.replace('-', '')}")
    assert own.any() and lone not in set(overall.loc[own, "rater"])


def test_topical_chat_is_60_by_6_with_the_original_as_reference(real):
    made = real("topical_chat")
    assert made.items.groupby("doc_id").size().tolist() == [6] * 60
    original = made.items.query("system_id == 'Original Ground Truth'")
    assert len(original) == 60 and (original["references"].str[0] == original["hypothesis"]).all()
    assert set(made.scores["metric"]) == {"unieval"}


def test_topical_chats_raters_are_three_of_five_people(real):
    made = real("topical_chat_raters")
    means = real("topical_chat").human().set_index("item_id")
    ratings = made.ratings.merge(made.items[["item_id", "doc_id"]])
    dialogues = ratings.groupby("rater")["doc_id"].nunique()
    assert sorted(dialogues) == [30, 30, 30, 30, 60]  # one person rated all
    assert (made.ratings.groupby(["item_id", "aspect"])["rater"].nunique() == 3).all()
    ours = made.human().set_index("item_id")
    np.testing.assert_allclose(ours[made.aspects], means[made.aspects], atol=1e-9)


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda rows: rows[0]["responses"][0].update(Natural=[1, 1, 1]), "mean is the published"),
        (lambda rows: rows[0]["responses"].pop(), "are missing"),
        (lambda rows: rows[0].update(fact="another"), "another"),
    ],
)
def test_raters_without_the_published_means_are_refused(real, content, monkeypatch, change, why):
    real("topical_chat")
    rows = json.loads(content("topical_chat", path="usr_topical_chat.json"))
    change(rows)

    class Changed(Files):
        def read(self, file):
            if file == "usr_topical_chat.json":
                return json.dumps(rows).encode()
            return super().read(file)

    files = Changed("topical_chat", benchmarks.benchmark_files("topical_chat_raters"))
    with pytest.raises((ValueError, KeyError), match=why):
        benchmarks.BENCHMARKS["topical_chat_raters"].read(files)


def test_summevals_crowd_on_all_systems_is_that_of_twelve_and_more(real):
    every = real("summeval_crowd_all").ratings
    twelve = real("summeval_crowd").ratings
    keys = ["item_id", "aspect", "rater"]
    joined = twelve.merge(every, on=keys, suffixes=("", "_all"))
    assert (len(every), len(joined)) == (1600 * 4 * 5, len(twelve))
    assert (joined["score"] == joined["score_all"]).all()


# Own files in upstream's layouts


ASPECTS = ("coherence", "consistency", "fluency", "relevance")


def packed(extra=lambda doc, system: {}):
    """Two documents by two systems in BARTScore's layout; the mean rating of d1/A is 1.1, of d2/B 2.2."""
    return {
        f"d{d}": {
            "src": f"source {d}",
            "ref_summs": ["one", "two"],
            "sys_summs": {
                s: {
                    "sys_summ": f"text {d}{s}",
                    "scores": {**dict.fromkeys(ASPECTS, d + n / 10), **extra(d, n)},
                }
                for n, s in ((1, "A"), (2, "B"))
            },
        }
        for d in (1, 2)
    }


def expect(monkeypatch, name, counts):
    """Let a benchmark have other numbers of documents and items."""
    spec = benchmarks.BENCHMARKS[name]._replace(expect=counts)
    monkeypatch.setitem(benchmarks.BENCHMARKS, name, spec)


@pytest.fixture
def summeval(tree, monkeypatch):
    """SummEval's five files, registered; `add` puts one into the cache."""
    expect(monkeypatch, "summeval", (2, 4))
    given = {"data": pickle.dumps(packed())}

    def load(**contents):
        given.update(contents)
        for path, role in (
            ("SummEval/data.pkl", "data"),
            ("SummEval/final_p.pkl", "scores"),
            ("data/summeval.json", "scores"),
            ("data/summeval/human_annotations.json", "annotations"),
            ("summeval_result.json", "scores"),
        ):
            content = given.get(path.split("/")[-1].split(".")[0])
            tree.add(path, content or b"", "summeval", role=role, to="cache" if content else None)
        return benchmarks.load("summeval", "real")

    return load


def test_summeval_with_every_released_file(summeval):
    final = packed(lambda d, n: {"bart_score": np.float64(-d - n / 10), "r1": np.float32(0.5)})
    study = packed(lambda d, n: {"chatgpt_fluency": 10 * d + n, "mover_score": d})
    experts = {
        f"annotator_{i}": {f"d{d}__{s}__{a}": i for d in (1, 2) for s in "AB" for a in ASPECTS}
        for i in (2, 3, 4)
    }
    unieval = [
        {"doc_id": f"d{d}", "system_id": s, "predict_scores": {"fluency": 0.1 * d, "overall": 0.5}}
        for s in "BA"
        for d in (2, 1)
    ]  # another order: the join is by key
    given = {"summeval": study, "human_annotations": experts, "summeval_result": unieval}
    files = {name: json.dumps(content).encode() for name, content in given.items()}
    made = summeval(final_p=pickle.dumps(final), **files)
    released = made.released().set_index("item_id")
    assert released.loc["d2/A"].to_dict() == {
        "bartscore:bart_score": -2.1,
        "bartscore:r1": 0.5,
        "chatgpt:chatgpt:fluency": 21,
        "chatgpt:mover_score": 2,
        "unieval:fluency": 0.2,
        "unieval:overall": 0.5,
    }
    assert set(made.ratings["rater"]) == {"expert_1", "expert_2", "expert_3"}
    assert (made.human()[made.aspects] == 3).all(axis=None)  # (2 + 3 + 4) / 3
    assert len(made.files) == 5 and set(made.scores["evidence"]) == {"released_scores"}


def test_scores_of_other_items_are_left_out_wrong_counts_an_error(summeval, monkeypatch, capsys):
    row = {"doc_id": "d9", "system_id": "A", "predict_scores": {"fluency": 1}}
    stray = json.dumps([row]).encode()
    assert len(summeval(summeval_result=stray).scores) == 0
    assert "summeval_result.json of owner/name is left out: " in (said := capsys.readouterr().out)
    assert "no item d9/A" in said
    expect(monkeypatch, "summeval", (100, 1600))
    with pytest.raises(ValueError, match="expected 100 documents and 1600 items .*, got 2 and 4"):
        summeval()


def test_bagel_and_the_chatgpt_studys_scores(tree, monkeypatch):
    expect(monkeypatch, "bagel", (2, 2))
    human = {"informativeness": 5, "naturalness": 4, "quality": 6}
    row = {"src": "inform()", "ref_summs": ["a", "b"], "sys_summ": "text", "scores": human}
    own = {n: row for n in (0, 1)}
    study = {n: row | {"scores": human | {"chatgpt_quality": 90 + n}} for n in own}
    tree.add("D2T/BAGEL/data.pkl", pickle.dumps(own), "bagel")
    tree.add("D2T/BAGEL/final_p.pkl", b"upstream only", "bagel", role="scores", to=None)
    tree.add("data/bagel.json", json.dumps(study).encode(), "bagel", role="scores")
    made = benchmarks.load("bagel", "real")
    assert made.items["item_id"].tolist() == ["0/0", "1/0"]
    assert made.items["references"].tolist() == [["a", "b"]] * 2
    assert made.released()["chatgpt:chatgpt:quality"].tolist() == [90, 91]
    assert made.human()["naturalness"].tolist() == [4, 4]


def test_news_preferences_are_the_writers(tree):
    """Three evaluators of one pair say writer, model, equal: 1, 0, 0.5; the other 596 say writer."""
    says = [True, "False", "Equally Good", *[True] * 596]
    row = {"writer_id": "w", "article_text": "", "writer_summary": "by hand"}
    row |= {"text-davinci-002_summary": "by model", "informative_writer_better": True}
    ids = [{"article_id": f"a{max(n - 2, 0)}", "evaluator_id": f"e{n}"} for n in range(599)]
    rows = [row | of | {"overall_writer_better": say} for of, say in zip(ids, says)]
    path = "pairwise_evaluation_results.json"
    tree.add(path, json.dumps(rows).encode(), "news")
    made = benchmarks.load("news", "real")
    assert len(made.items) == 2 * 597
    row = made.human().set_index("item_id").loc["a0/writer-w"]
    assert row["overall_preference"] == 0.5  # (1 + 0 + 0.5) / 3
    assert row["informative_preference"] == 1
    fewer = Files("news", [tree.add(path, json.dumps(rows[1:]).encode(), "fewer")])
    with pytest.raises(ValueError, match="expected 599 comparisons, got 598"):
        benchmarks.BENCHMARKS["news"].read(fewer)


def test_answer_equivalence_averages_judgements(tree):
    row = {"qid": "q1", "question": "Which?", "context": "a line\u2028another", "reference": "this"}
    rows = [{**row, "candidate": c, "score": s} for c, s in (("it", 1), ("that", 0), ("it", 0))]
    content = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows).encode()
    tree.add("v1/ae_dev.jsonl", content, "answer_equivalence")
    made = benchmarks.load("answer_equivalence", "real")
    found = dict(zip(made.items["hypothesis"], made.human()["equivalence"]))
    assert found == {"it": 0.5, "that": 0} and set(made.items["context"]) == {row["context"]}


def write(path, rows, encoding="utf-8-sig"):
    with open(path, "w", newline="", encoding=encoding) as handle:
        writer = csv.DictWriter(handle, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


CLOZE = {
    "InputStoryid": "s1",
    **{f"InputSentence{i}": f"Sentence {i}." for i in range(1, 5)},
    "RandomFifthSentenceQuiz1": "Bad end.",
    "RandomFifthSentenceQuiz2": "Good end.",
    "AnswerRightEnding": 2,
}


def test_story_cloze_from_the_users_file(tmp_path, monkeypatch):
    rows = [CLOZE, {**CLOZE, "InputStoryid": "s2", "AnswerRightEnding": 1}]
    monkeypatch.setenv("NLGJUDGE_STORY_CLOZE", str(write(tmp_path / "cloze.csv", rows)))
    made = benchmarks.load("story_cloze")
    texts = made.items.set_index("item_id")
    assert made.notice == "" and texts.at["s1/right_ending", "hypothesis"] == "Good end."
    assert list(texts.loc[["s2/right_ending", "s1/wrong_ending"], "hypothesis"]) == ["Bad end."] * 2
    assert (
        texts.at["s1/wrong_ending", "source"] == "Sentence 1. Sentence 2. Sentence 3. Sentence 4."
    )
    assert texts.at["s1/wrong_ending", "references"] == ["Good end."]
    means = made.human().groupby("system_id")["ending"].mean()
    assert means.to_dict() == {"right_ending": 1, "wrong_ending": 0}


def test_iwslt14_from_the_users_folder(tmp_path, monkeypatch):
    text = {"source": "Quelle", "reference": "ref", "translation": "text"}
    given = [{"rater": "r1", "score": 2}, {"rater": "r2", "score": 5}]
    rows = [{"segment": n} | text | rating for n in range(1000) for rating in given]
    path = write(tmp_path / "ratings.csv", rows, "utf-8")
    monkeypatch.setenv("NLGJUDGE_HUMANMT", str(tmp_path))
    made = benchmarks.load("iwslt14", "real")
    assert len(made.items) == 1000 and len(made.ratings) == 2000
    assert (made.human()["overall"] == 3.5).all()  # (2 + 5) / 2
    write(path, rows[:-2], "utf-8")
    with pytest.raises(ValueError, match="1000 items .*, got 999 and 999"):
        benchmarks.load("iwslt14")


@pytest.mark.parametrize(
    "name, variable", [("story_cloze", "NLGJUDGE_STORY_CLOZE"), ("iwslt14", "NLGJUDGE_HUMANMT")]
)
def test_the_users_data_are_asked_for_by_name(tmp_path, monkeypatch, name, variable):
    assert benchmarks.load(name).is_sample
    with pytest.raises(DataUnavailable, match=f"downloaded freely: .* in {variable}"):
        benchmarks.load(name, "real")
    monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=f"{variable}=.*nowhere does not exist; name "):
        benchmarks.load(name)  # a wrong name is an error, no reason to fall back
