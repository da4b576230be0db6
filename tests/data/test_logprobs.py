"""Token probabilities that name no item: which row belongs to which summary, and what shows it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from nlgjudge.data import fetch, recordings, registry
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.data.recordings import recording

ASPECTS = ("coherence", "consistency", "fluency", "relevance")
JUDGES = ("gpt-4o-mini", "qwen2.5-72b", "deepseek-r1-32b")
FLOOR = -11.512925464970229  # log(1e-5), as the files print it: not among the alternatives
REPOSITORY = "BruceSheng1202/Analyzing_Uncertainty_of_LLM-as-a-Judge"


@pytest.fixture
def read():
    """Read a recording; skip where its files are unavailable."""

    def recorded(name):
        try:
            return recording(name)
        except DataUnavailable as error:
            pytest.skip(f"needs the mirror or a network: {str(error).splitlines()[0]}")

    return recorded


@pytest.mark.parametrize("judge", JUDGES)
def test_a_judge_has_a_rating_of_every_item(read, real, judge):
    """The mean human ratings of all 1,600 rows agree with the expected order, or reading fails."""
    found = read(f"uncertainty/{judge}")
    assert list(found) == ["item_id", "aspect", "sample_index", "text", "logprobs"]
    assert len(found) == 6400 and not found.duplicated(["item_id", "aspect"]).any()
    assert set(found["item_id"]) == set(real("summeval").items["item_id"])
    unread = (found["text"] == "").groupby(found["aspect"]).sum().to_dict()
    some = {"consistency": 4, "relevance": 31} if judge == "gpt-4o-mini" else {}
    assert unread == dict.fromkeys(ASPECTS, 0) | some


@pytest.mark.parametrize("judge", ["qwen2.5-72b", "deepseek-r1-32b"])
def test_equal_summaries_of_an_article_have_equal_rows_and_no_others_have(read, real, judge):
    """Human ratings cannot distinguish summaries that are rated alike; equal texts can.

    Of 1,600 summaries 99 have the words of another of their article, 45 groups in all. These models answer the
    same prompt the same way, so in a right order each group's rows are equal, and no other row repeats.
    """
    items = real("summeval").items[["item_id", "doc_id", "hypothesis"]]
    found = read(f"uncertainty/{judge}").merge(items, on="item_id")
    for _, rows in found.groupby("aspect"):
        texts = rows.groupby(["doc_id", "hypothesis"]).ngroup()
        answers = pd.factorize(rows["logprobs"].map(str))[0]
        assert texts.nunique() == len(set(answers)) == 1546
        assert len(set(zip(texts, answers))) == 1546


def test_gpt_4o_minis_third_prompt_is_its_single_file(read):
    """So the five prompts stand in the proven order, item by item; and the single file is of one of the five."""
    key = ["item_id", "aspect"]
    several = read("uncertainty_prompts/gpt-4o-mini")
    alone = read("uncertainty/gpt-4o-mini").set_index(key)["logprobs"]
    third = several[several["sample_index"] == 2].set_index(key)["logprobs"][alone.index]
    for ours, theirs in zip(third, alone):
        assert [rating for rating, _ in ours[0][1]] == [rating for rating, _ in theirs[0][1]]
        assert [p for _, p in ours[0][1]] == pytest.approx([p for _, p in theirs[0][1]], abs=1e-12)


def test_of_gpt_4os_prompts_those_that_keep_their_order_are_read(read, capsys):
    found = read("uncertainty_prompts/gpt-4o")
    assert found.groupby("aspect").size().to_dict() == {"coherence": 8000, "consistency": 8000}
    said = capsys.readouterr().out.splitlines()
    for line, aspect in zip(said, ("fluency", "relevance"), strict=True):
        assert f"4o_{aspect}.csv of {REPOSITORY} is left out" in line and "by 0.75 or more" in line


SMALL = pd.DataFrame(
    {"item_id": ["b/1", "b/2", "a/1"], "doc_id": ["b", "b", "a"], "fluency": [1.0, 2.0, 3.0]}
)
HEAD = b"1,2,3,4,5,fluency\n"


def rows(*means):
    return HEAD + b"".join(f"-0.1,-3,-0.1,{FLOOR!r},-9,{mean}\n".encode() for mean in means)


@pytest.fixture
def small(tree, monkeypatch):
    """A registry with one small file of a judge, and three items unless a test gives others."""

    def add(content, path="model_logits/qwen/Summeval_fluency_logits.csv", items=SMALL):
        def load(name, source):
            return SimpleNamespace(human=lambda: items)

        monkeypatch.setattr(recordings.benchmarks, "load", load)
        return tree.add(path, content, "summeval", role="recording")

    return add


def test_rows_in_the_expected_order_are_joined_by_key(small):
    """Of two equally likely ratings the lower one is the text."""
    small(rows(1, 2, 3))
    found = recording("uncertainty/qwen2.5-72b")
    assert found["item_id"].tolist() == ["b/1", "b/2", "a/1"] and set(found["text"]) == {"1"}
    assert found["logprobs"][0] == [["1", [["1", -0.1], ["2", -3.0], ["3", -0.1], ["5", -9.0]]]]


def test_sorted_articles_keep_the_order_of_their_summaries(small):
    small(rows(3, 1, 2), "model_logits/4omini/Summeval_fluency_logits.csv")
    assert recording("uncertainty/gpt-4o-mini")["item_id"].tolist() == ["a/1", "b/1", "b/2"]


@pytest.mark.parametrize(
    "content, message",
    [
        (rows(3, 1, 2), "the mean human rating differs in 3 of 3 rows"),
        (rows(1, 2), "expected a row for each of 3 items, got 2"),
        (b"1,2,3,4,5,coherence\n", "expected the columns .*'fluency'.*, got .*'coherence'"),
        (b"", "got an empty file"),
        (HEAD + b"0.1,-1,-2,-3,-4,1\n", "got one above 0 or none"),
        (HEAD + b"high,-1,-2,-3,-4,1\n", "could not convert string"),
    ],
)
def test_a_file_in_another_order_is_refused_by_name(small, capsys, content, message):
    entry = small(content)
    said = f"{entry.path} of owner/name is laid out otherwise.*{message}.*cannot be read"
    with pytest.raises(ValueError, match=said):
        recording("uncertainty/qwen2.5-72b")
    assert not recordings.available("uncertainty/qwen2.5-72b")
    assert capsys.readouterr().out.startswith(f"left out: {entry.path} of owner/name")


@pytest.mark.parametrize("shuffled", [(), (1, 2, 4)])
def test_prompts_that_lost_their_order_are_named(small, capsys, shuffled):
    """Five prompts of one judge; a shuffled one disagrees with the others within articles."""
    rng = np.random.default_rng(0)
    documents = np.repeat(np.arange(20), 8)
    truth = rng.uniform(1, 5, len(documents))
    meant = truth[:, None, None] + rng.normal(0, 0.2, (len(truth), 5, 1))
    logprobs = -np.abs(meant - np.arange(1, 6))
    logprobs -= np.log(np.exp(logprobs).sum(axis=-1, keepdims=True))
    for prompt in shuffled:
        logprobs[:, prompt] = logprobs[rng.permutation(len(truth)), prompt]
    lines = [",".join(map(str, line)) for line in logprobs.reshape(-1, 5)]
    items = pd.DataFrame({"item_id": [str(n) for n in range(160)], "doc_id": documents})
    path = "prompt_sensitivity/logits/4o_fluency.csv"
    small("\n".join(["1,2,3,4,5", *lines]).encode(), path, items)
    found = recording("uncertainty_prompts/gpt-4o")
    said = capsys.readouterr().out
    assert len(found) == (0 if shuffled else 800)
    assert ("less for prompt 1 (0." in said and said.count("(") == 5) == bool(shuffled)


def test_prompts_of_another_length_are_refused(small):
    content = b"1,2,3,4,5\n" + b"-1,-1,-2,-3,-4\n" * 14
    small(content, "prompt_sensitivity/logits/4o_fluency.csv")
    with pytest.raises(ValueError, match="expected 5 rows for each of 3 items, got 14"):
        recording("uncertainty_prompts/gpt-4o")


def test_the_registered_prompts_ask_for_one_to_five_where_geval_asks_for_one_to_three(content):
    geval = content("summeval", path="prompts/summeval/flu_detailed.txt").decode()
    assert "Fluency (1-3)" in geval
    found = registry.entries("summeval", role="extra", path="flu_detailed.txt")
    texts = [fetch.read(entry).decode() for entry in found if entry.repository == REPOSITORY]
    assert len(texts) == 5 and all("Fluency (1-5)" in text for text in texts)
