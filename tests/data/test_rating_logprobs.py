"""Token probabilities that name no item: which row belongs to which summary, and what shows it."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from nlgjudge.data import fetch, rating_logprobs, recordings, registry
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.data.rating_logprobs import (
    FLOOR,
    check_people,
    check_prompts,
    in_order,
    replies,
    table,
)
from nlgjudge.data.recordings import recording

ASPECTS = ("coherence", "consistency", "fluency", "relevance")
ORDERS = {"gpt-4o-mini": "sorted", "qwen2.5-72b": "released", "deepseek-r1-32b": "released"}
FOLDERS = {"gpt-4o-mini": "4omini", "qwen2.5-72b": "qwen", "deepseek-r1-32b": "dsr1"}
REPOSITORY = "BruceSheng1202/Analyzing_Uncertainty_of_LLM-as-a-Judge"


@pytest.fixture
def single(content):
    """A judge's file of one aspect."""

    def read(judge, aspect):
        return table(
            content("summeval", path=f"{FOLDERS[judge]}/Summeval_{aspect}_logits.csv"), aspect
        )

    return read


@pytest.mark.parametrize("judge", ORDERS)
def test_peoples_ratings_agree_in_all_rows_of_one_order_and_of_no_other(single, real, judge):
    people = real("summeval").human()
    right = in_order(people, ORDERS[judge])
    wrong = in_order(people, {"sorted": "released", "released": "sorted"}[ORDERS[judge]])
    assert len(right) == len(wrong) == 1600
    for aspect in ASPECTS:
        _, given = single(judge, aspect)
        check_people(given, right[aspect].to_numpy())  # all 1,600 rows
        assert (
            np.abs(given - wrong[aspect]) > 1e-6
        ).mean() > 0.25  # told apart, and not by a few rows
        with pytest.raises(
            ValueError, match=r"differs in \d+ of 1600 rows, first in row \d+ \(expected "
        ):
            check_people(given, wrong[aspect].to_numpy())


@pytest.mark.parametrize("judge", ["qwen2.5-72b", "deepseek-r1-32b"])
def test_equal_summaries_of_an_article_have_equal_rows_and_no_others_have(single, real, judge):
    """The people's column cannot tell such rows apart that it rates alike; equal texts under equal prompts can.

    Of 1,600 summaries 99 have the words of another of their article, 45 groups in all. These models answer the
    same prompt the same way, so in a right order each group's rows are equal, and no other row repeats.
    """
    groups = (
        in_order(real("summeval").items, ORDERS[judge]).groupby(["doc_id", "hypothesis"]).ngroup()
    )
    assert (groups.nunique(), groups.duplicated(keep=False).sum()) == (1546, 99)
    for aspect in ASPECTS:
        rows = pd.DataFrame(single(judge, aspect)[0]).groupby(list(range(5)), dropna=False).ngroup()
        assert (
            pd.concat([groups, rows], axis=1).drop_duplicates().shape[0]
            == groups.nunique()
            == rows.nunique()
        )


def test_what_the_peoples_column_leaves_open(real):
    """Most summaries share each aspect's mean with another of their article; all four together leave 282 of 1,600."""
    people = real("summeval").human()
    shared = {
        aspect: int(people.duplicated(["doc_id", aspect], keep=False).sum()) for aspect in ASPECTS
    }
    assert shared == {"coherence": 1213, "consistency": 1386, "fluency": 1389, "relevance": 1358}
    assert people.round(4).duplicated(["doc_id", *ASPECTS], keep=False).sum() == 282


def test_the_released_order_is_that_of_another_copy_of_the_annotations(real):
    """CogComp's file has SummEval's annotations as released, each line with its keys."""
    (entry,) = registry.entries(path="fabbri2020/relevance.jsonl")
    try:
        lines = [json.loads(line) for line in fetch.read(entry).splitlines()]
    except DataUnavailable:
        pytest.skip("needs the mirror or a network")
    items = in_order(real("summeval").items, "released")
    assert items["item_id"].tolist() == [
        f"{line['instance_id']}/{line['summarizer_id']}" for line in lines
    ]


@pytest.mark.parametrize("aspect", ASPECTS)
def test_gpt_4o_minis_third_prompt_is_its_single_file(content, aspect):
    """So the five prompts stand in the proven order, item by item; and the single file is of one of the five."""
    several = table(content("summeval", path=f"logits/4omini_{aspect}.csv"))[0].reshape(1600, 5, 5)
    alone = table(content("summeval", path=f"4omini/Summeval_{aspect}_logits.csv"), aspect)[0]
    np.testing.assert_allclose(several[:, 2], alone, rtol=0, atol=1e-12)
    others = [
        np.isclose(several[:, prompt], alone, equal_nan=True).all(axis=1).sum()
        for prompt in (0, 1, 3, 4)
    ]
    assert max(others) < 20  # by accident


def test_of_gpt_4os_prompts_those_that_keep_their_order_are_read(real, capsys):
    real("summeval")
    try:
        found = recording("uncertainty_prompts/gpt-4o")
    except DataUnavailable as error:
        pytest.skip(f"needs the mirror or a network: {str(error).splitlines()[0]}")
    assert found.groupby("aspect").size().to_dict() == {"coherence": 8000, "consistency": 8000}
    said = capsys.readouterr().out.splitlines()
    start = (
        "prompt_sensitivity/logits/4o_{} of "
        + REPOSITORY
        + " is left out: its order of rows cannot be shown"
    )
    assert [
        line.startswith(start.format(f"{aspect}.csv"))
        for line, aspect in zip(said, ("fluency", "relevance"), strict=True)
    ] == [True, True]
    assert all(
        "expected each prompt's ratings to correlate by 0.75 or more" in line for line in said
    )


def within_articles(content, people, path):
    """Expected ratings of a file of five prompts, each article's mean taken off."""
    weights = np.exp(np.nan_to_num(table(content("summeval", path=path))[0], nan=-np.inf)).reshape(
        1600, 5, 5
    )
    with np.errstate(invalid="ignore"):
        expected = pd.DataFrame(weights @ np.arange(1, 6) / weights.sum(axis=-1))
    return expected - expected.groupby(people["doc_id"].to_numpy()).transform("mean")


def test_gpt_4os_relevance_loses_its_order_prompt_by_prompt_and_its_fluency_is_not_shown(
    content, real
):
    people = in_order(real("summeval").human(), "sorted")
    agreement = {}
    for aspect in ASPECTS:
        other = within_articles(content, people, f"logits/4omini_{aspect}.csv").mean(axis=1)
        own = within_articles(content, people, f"logits/4o_{aspect}.csv")
        agreement[aspect] = own.corrwith(other).round(2).tolist()
    # gpt-4o against gpt-4o-mini under its five prompts, within articles: steady where the order holds,
    assert min(agreement["coherence"]) > 0.75 and min(agreement["consistency"]) > 0.75
    # of relevance only the first prompt is in place, and each one after it is less so;
    assert (
        agreement["relevance"][0] > 0.75 > agreement["relevance"][1]
        and max(agreement["relevance"][2:]) < 0.5
    )
    assert agreement["relevance"] == sorted(agreement["relevance"], reverse=True)
    # of fluency no prompt reaches what every prompt of the accepted files does. That may be the judge and not the
    # order, and nothing in the file tells which.
    assert max(agreement["fluency"]) < 0.75


@pytest.mark.parametrize("judge", ORDERS)
def test_a_judge_has_a_rating_of_every_item(real, judge):
    items = real("summeval").items
    try:
        found = recording(f"uncertainty/{judge}")
    except DataUnavailable as error:
        pytest.skip(f"needs the mirror or a network: {str(error).splitlines()[0]}")
    assert list(found) == ["item_id", "aspect", "sample_index", "text", "logprobs"]
    assert len(found) == 6400 and not found.duplicated(["item_id", "aspect"]).any()
    assert set(found["item_id"]) == set(items["item_id"]) and set(found["sample_index"]) == {0}
    unread = (found["text"] == "").groupby(found["aspect"]).sum().to_dict()
    assert unread == dict.fromkeys(ASPECTS, 0) | (
        {"consistency": 4, "relevance": 31} if judge == "gpt-4o-mini" else {}
    )


SMALL = pd.DataFrame(
    {"item_id": ["b/1", "b/2", "a/1"], "doc_id": ["b", "b", "a"], "fluency": [1.0, 2.0, 3.0]}
)
HEAD = b"1,2,3,4,5,fluency\n"


def lines(*means):
    return HEAD + b"".join(f"-0.1,-3,-4,{FLOOR!r},-9,{mean}\n".encode() for mean in means)


@pytest.fixture
def small(tree, monkeypatch):
    """Three items, and a registry with one small file of a judge."""
    monkeypatch.setattr(
        recordings.benchmarks, "load", lambda name, source: SimpleNamespace(human=lambda: SMALL)
    )

    def add(content, path="model_logits/qwen/Summeval_fluency_logits.csv"):
        return tree.add(path, content, "summeval", role="recording")

    return add


def test_rows_in_the_expected_order_are_joined_by_key(small):
    small(lines(1, 2, 3))
    found = recording("uncertainty/qwen2.5-72b")
    assert found["item_id"].tolist() == ["b/1", "b/2", "a/1"] and set(found["text"]) == {"1"}
    assert found["logprobs"][0] == [["1", [["1", -0.1], ["2", -3.0], ["3", -4.0], ["5", -9.0]]]]


def test_sorted_articles_keep_the_order_of_their_summaries(small):
    small(lines(3, 1, 2), "model_logits/4omini/Summeval_fluency_logits.csv")
    assert recording("uncertainty/gpt-4o-mini")["item_id"].tolist() == ["a/1", "b/1", "b/2"]


@pytest.mark.parametrize(
    "content, message",
    [
        (lines(3, 1, 2), r"differs in 3 of 3 rows, first in row 1 \(expected 1, got 3\)"),
        (lines(1, 2, 3.3333), r"differs in 1 of 3 rows, first in row 3 \(expected 3, got 3.333\)"),
        (lines(1, 2), "expected a row for each of 3 items, got 2"),
        (b"1,2,3,4,5,coherence\n", "expected the columns .*'fluency'.*, got .*'coherence'"),
        (b"", "got an empty file"),
        (HEAD + b"0.1,-1,-2,-3,-4,1\n", "got one above 0 or none"),
        (HEAD + b"nan,-1,-2,-3,-4,1\n", "got one above 0 or none"),
        (HEAD + b"high,-1,-2,-3,-4,1\n", "could not convert string"),
        (HEAD + b"-1,-2\n-1,-2,-3\n", "inhomogeneous"),
    ],
)
def test_a_file_in_another_order_is_refused_by_name(small, capsys, content, message):
    entry = small(content)
    said = f"{entry.path} of owner/name is laid out otherwise.*{message}.*cannot be read"
    with pytest.raises(ValueError, match=said):
        recording("uncertainty/qwen2.5-72b")
    assert not recordings.available("uncertainty/qwen2.5-72b")  # absent, with a line, and no error
    assert capsys.readouterr().out.startswith(f"left out: {entry.path} of owner/name")


def planted_prompts(rng, documents=20, systems=8, shuffled=()):
    """Five prompts of one judge who means the same by all of them; some may have lost their order."""
    truth = rng.uniform(1, 5, documents * systems)
    weights = -np.abs(
        truth[:, None, None] + rng.normal(0, 0.2, (len(truth), 5, 1)) - np.arange(1, 6)
    )
    logarithms = weights - np.log(np.exp(weights).sum(axis=-1, keepdims=True))
    for prompt in shuffled:
        logarithms[:, prompt] = logarithms[rng.permutation(len(truth)), prompt]
    return logarithms, np.repeat(np.arange(documents), systems)


def test_prompts_in_one_order_pass_and_shuffled_ones_are_named():
    check_prompts(*planted_prompts(np.random.default_rng(0)))
    logarithms, documents = planted_prompts(np.random.default_rng(0), shuffled=(1, 2, 4))
    with pytest.raises(
        ValueError, match=r"for prompt 1 \(0\.\d\d\), 2 \(-?0\.\d\d\), 3 .*, 4 .*, 5 \(-?0\.\d\d\)$"
    ):
        check_prompts(logarithms, documents)


def test_prompts_of_another_length_are_refused(small):
    entry = small(
        b"1,2,3,4,5\n" + b"-1,-1,-2,-3,-4\n" * 14, "prompt_sensitivity/logits/4o_fluency.csv"
    )
    with pytest.raises(
        ValueError, match=f"{entry.path}.*expected 5 rows for each of 3 items, got 14"
    ):
        recording("uncertainty_prompts/gpt-4o")


def test_a_row_without_a_rating_is_empty_and_equal_likelihoods_give_the_lower_text():
    rows = np.array([[math.nan] * 5, [-1.0, math.nan, -0.5, -0.5, math.nan]])
    assert list(replies(["a", "b"], "fluency", rows, 2)) == [
        ("a", "fluency", 2, "", [["", []]]),
        ("b", "fluency", 2, "3", [["3", [["1", -1.0], ["3", -0.5], ["4", -0.5]]]]),
    ]


def test_the_registered_prompts_ask_for_one_to_five_where_geval_asks_fluency_for_one_to_three(
    content,
):
    geval = content("summeval", path="prompts/summeval/flu_detailed.txt").decode()
    assert "Fluency (1-3)" in geval
    paraphrased = [
        entry
        for entry in registry.entries("summeval", role="extra", path="flu_detailed.txt")
        if entry.repository == REPOSITORY
    ]
    assert len(paraphrased) == 5
    assert all("Fluency (1-5)" in fetch.read(entry).decode() for entry in paraphrased)


def test_the_first_paraphrase_of_relevance_is_gevals_prompt(content):
    def words(text):
        return text.decode().split()

    ours = content("summeval", path="prompts/summeval/rel_detailed.txt")
    path = "evaluations/prompts/cot{}/rel_detailed.txt"
    same = [words(content("summeval", path=path.format(k))) == words(ours) for k in range(1, 6)]
    assert same == [True, False, False, False, False]


def test_the_floor_is_the_logarithm_that_the_files_print():
    assert f"{FLOOR!r}" == "-11.512925464970229"
    assert rating_logprobs.table(lines(1), "fluency")[1].tolist() == [1.0]
