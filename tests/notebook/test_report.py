"""A report on own data: graded ratings, categories, and what it refuses to say."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.scale import scale_of
from nlgjudge.data.schema import build


def benchmark(ratings, aspect="style"):
    """Outputs of documents x systems with people's ratings."""
    ratings = np.asarray(ratings, float)
    items, rows = [], []
    for document, system in np.ndindex(ratings.shape):
        key = f"d{document:02}/s{system}"
        words = [f"d{document:02}", f"s{system}", f"{key}"]
        items.append((key, f"d{document:02}", f"s{system}", words[0], " ".join(words), [], ""))
        rows.append((key, aspect, "mean", ratings[document, system]))
    return build("mine", items, rows, source="own")


def method(data, scores):
    return data.items[["item_id"]].assign(judge=np.ravel(scores))


def test_a_correlation_by_hand():
    """One pair in the wrong order in half of the documents: Spearman's 0.8 and 1, on average 0.9."""
    truth = np.tile([1.0, 2, 3, 4], (8, 1))
    judge = truth.copy()
    judge[::2] = [2, 1, 3, 4]
    data = benchmark(truth)
    found = nj.report(data, method(data, judge), lexical=False)
    assert found.aspects["style"].table.loc["judge", ["value", "n"]].tolist() == pytest.approx(
        [0.9, 8]
    )
    assert "one rating per output, so the raters' agreement is unknown" in str(found)


def test_a_better_judge_comes_first_where_the_data_can_show_it():
    rng = np.random.default_rng(7)
    truth = rng.uniform(1, 5, (8, 8)).round(2)
    data = benchmark(truth)
    scores = method(data, truth).assign(noise=rng.random(64))
    assert nj.report(data, scores, lexical=False).aspects["style"].answer == (
        "judge comes first, 1.00; all others agree significantly less, on these systems and on others."
    )
    few = dataclasses.replace(data, items=data.items.head(16), ratings=data.ratings.head(16))
    said = nj.report(few, scores.head(16), lexical=False).aspects["style"].answer
    assert said.startswith("These data cannot name a best method")


def test_pass_and_fail_by_hand():
    """People pass 20 of 50; the judge passes 16 of these and 6 of the others."""
    human = np.repeat([1.0, 0.0], [20, 30])
    judge = np.concatenate([np.repeat([1.0, 0.0], [16, 4]), np.repeat([1.0, 0.0], [6, 24])])
    data = benchmark(human[:, None], "ok")
    found = nj.report(data, method(data, judge).assign(length=range(50)), lexical=False)
    one = found.aspects["ok"]
    assert one.level == "categories"
    chance = (20 * 22 + 30 * 28) / 50**2
    assert one.table.loc["judge", "value"] == pytest.approx(0.8)
    assert f"kappa {(0.8 - chance) / (1 - chance):.2f} [" in one.answer
    assert "TPR 0.80 [" in one.answer and "people call 40% of them 1" in one.answer
    assert one.confusion["judge"].values.tolist() == [[24, 6], [4, 16]]
    assert "judge, ok" in str(found) and "For a paper: Only judge" in str(found)
    assert "length is not compared: its scores are numbers, and people give labels." in one.notes
    apart = found.disagreements("judge", "ok", most=50)["apart"]
    assert sorted(apart.value_counts().to_dict().items()) == [(-1.0, 4), (1.0, 6)]


def test_a_judge_of_pairs_is_described_in_both_orders():
    """It always chooses the text shown first."""
    pairs = pd.DataFrame({"source": map(str, range(12)), "hypothesis": "a", "other": "b"})
    pairs["human:better"] = ["A", "B"] * 6
    data = nj.data.own_data(pairs)
    replies = nj.judge_items(
        data.items, "A: {{hypothesis}} B: {{other}}", lambda item: "A", aspect="better"
    )
    text = str(nj.report(data, {"first": replies}, lexical=False))
    assert "first chooses the text shown first in 1.00 [" in text and "(people 0.50)" in text
    assert "Asked in both orders: accuracy 0.50, the orders agree in 0.00, unread are 0.00." in text
    assert "people prefer A in 50% of 12 pairs" in text


def test_disagreements_come_largest_first_and_without_texts():
    truth = np.arange(40.0).reshape(10, 4)
    judge = truth.copy()
    judge[0, 0] = 100
    data = benchmark(truth)
    found = nj.report(data, method(data, judge), lexical=False).disagreements(
        "judge", "style", most=1
    )
    assert found.to_dict("records") == [
        {"item_id": "d00/s0", "people": 0, "method": 100, "apart": pytest.approx(39 / 40)}
    ]


@pytest.mark.parametrize(
    "labelled, part", [(12, " (fewer than 20 labelled documents)"), (30, " [")]
)
def test_half_labelled_data_give_the_systems_means(labelled, part):
    rng = np.random.default_rng(6)
    truth = rng.uniform(1, 5, (40, 4)).round(2)
    rated = truth.copy()
    rated[rng.permutation(40)[labelled:]] = np.nan
    data = benchmark(rated)
    scores = method(data, truth + rng.normal(0, 0.5, truth.shape))
    text = str(nj.report(data, scores, lexical=False))
    (line,) = [line for line in text.split("\n") if line.startswith("Mean rating of all 40 doc")]
    assert f"from labels of {labelled}, if drawn" in line and line.count(part) == 4


def test_half_labelled_data_give_the_systems_pass_rates():
    """Judge and people agree on all 40, of which 10 pass; 5 of the 30 labelled do."""
    truth = np.repeat([1.0, 0.0], [10, 30])
    rated = np.where(np.arange(40) % 2 + (np.arange(40) >= 20), truth, np.nan)
    data = benchmark(rated[:, None], "ok")
    notes = nj.report(data, method(data, truth), lexical=False).aspects["ok"].notes
    assert any("Share of 1 of all 40 documents, from labels of 30" in one for one in notes)
    assert "s0 0.25 [" in notes[-1]


def test_replies_of_a_judge_are_counted():
    stories = nj.load("openmeva", "sample")
    replies = nj.judge_items(stories.items, "chatgpt/stars/story/overall", "surface")
    found = nj.report(stories, {"stars": replies}, lexical=False)
    assert f"stars: replies: {len(stories.items)} parsed" in str(found)
    assert found.aspects["overall"].table.index.tolist() == ["stars"]
    assert "not comparable with the papers" in str(found)
    assert "<td>" in found._repr_html_()
    assert found.figure().axes


def test_nothing_to_compare_is_said():
    data = benchmark(np.tile([1.0, 2, 3], (4, 1)))
    scores = pd.DataFrame({"item_id": data.items["item_id"], "judge": 1.0})
    assert (
        nj.report(data, scores, lexical=False).aspects["style"].answer
        == "No method can be compared."
    )


@pytest.mark.parametrize("labels", [False, True])
def test_a_judge_that_knows_what_raters_guess_may_replace_one(labels):
    rng = np.random.default_rng(0)
    truth = rng.integers(5, size=90)
    noisy = (truth + rng.choice([0, 1, 2], size=(4, 90), p=[0.7, 0.15, 0.15])) % 5
    keys = [f"i{number}" for number in range(90)]
    items = [(key, key, "s", "", "", [], "") for key in keys]
    rows = [
        (key, "style", f"r{who}", given[n])
        for who, given in enumerate(noisy)
        for n, key in enumerate(keys)
    ]
    scales = {"style": scale_of({*"abcde"})} if labels else None
    data = build("mine", items, rows, source="own", scales=scales)
    judges = pd.DataFrame({"good": truth, "bad": rng.integers(5, size=90)})
    judges = judges.replace(dict(enumerate("abcde"))) if labels else judges.assign(far=20 * truth)

    def said(data):
        return "\n".join(
            nj.report(data, judges.assign(item_id=keys), lexical=False).aspects["style"].notes
        )

    notes = said(data)
    assert "good may replace a rater if the raters are a crowd" in notes and "of 4 raters" in notes
    assert "bad may replace no rater" in notes
    assert ("rare labels" in notes) == labels and ("far is not tested" in notes) != labels
    few = dataclasses.replace(data, ratings=data.ratings[data.ratings["rater"] < "r2"])
    assert "three raters with 30 outputs" in said(few)
