"""Judges in the place of DHP's twelve: their labels, what they are asked, and what a plan says of it."""

import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.judging.errors import Waiting
from nlgjudge.judging.tasks import Reply


class Scripted:
    """Rates an original 5 and a damaged text 3, and remembers what it was asked."""

    name = "scripted"

    def __init__(self):
        self.asked = []

    def replies(self, tasks):
        for task in tasks:
            self.asked.append(task)
            for sample in range(task.n):
                yield Reply(task.item_id, task.aspect, sample, "3" if "xx" in task.text else "5")


class Late(Scripted):
    """A batch whose replies are still to come."""

    def replies(self, tasks):
        self.asked += list(tasks)
        raise Waiting("batch:m", {"batch_0": {"key"}}, "run it again")


class Counting(Scripted):
    """A judge that takes calls, none of whose replies is stored."""

    def plan(self, tasks):
        tasks = list(tasks)
        number = len(tasks)
        return {
            "cached": 0,
            "calls": number,
            "prompt_tokens": 100 * number,
            "completion_tokens": 5 * number,
        }


@pytest.fixture
def versions():
    kinds = [("original", "", "Text"), ("typos", "character", "Txxt")]
    rows = [
        (
            f"t{i}{name}",
            f"t{i}",
            f"s{i}",
            "system",
            "A source.",
            f"{word} {i}.",
            [],
            "",
            name,
            level,
        )
        for i in range(3)
        for name, level, word in kinds
    ]
    columns = [
        "item_id",
        "doc_id",
        "original",
        "system_id",
        "source",
        "hypothesis",
        "references",
        "context",
        "perturbation",
        "level",
    ]
    return {"summeval": pd.DataFrame(rows, columns=columns)}


@pytest.fixture
def prompts():
    return {
        "summeval": [
            nj.prompt(f"dhp/summarization/{aspect}") for aspect in ("fluency", "coherence")
        ]
    }


def test_a_judge_may_take_the_place_of_several_rows():
    found = nj.dhp.judges_of_rows({"GPT4-Turbo": "surface", "Qwen1.5-4B": "surface"})
    assert list(found) == ["GPT4-Turbo: surface", "Qwen1.5-4B: surface"]
    assert found["GPT4-Turbo: surface"] is found["Qwen1.5-4B: surface"]


def test_judges_of_a_list_are_named_for_themselves():
    assert list(nj.dhp.judges_of_rows(["surface", Scripted()])) == ["surface", "scripted"]
    assert nj.dhp.judges_of_rows("") == {}


def test_an_unknown_row_is_refused_with_what_was_meant():
    with pytest.raises(
        ValueError, match="no printed row of a model 'GPT-4-Turbo': did you mean 'GPT4-Turbo'"
    ):
        nj.dhp.judges_of_rows({"GPT-4-Turbo": "surface"})


def test_a_judge_is_asked_as_in_the_paper(versions, prompts):
    judge = Scripted()
    rated = nj.dhp.rate(versions, prompts, {"scripted": judge})["summeval", "scripted"]
    assert {(task.n, task.settings["temperature"]) for task in judge.asked} == {(5, 0)}
    assert rated.groupby("perturbation")["score"].unique().map(list).to_dict() == {
        "original": [5],
        "typos": [3],
    }
    assert rated["parsed"].eq(5).all() and len(rated) == 6 * 2


def test_samples_and_temperature_can_be_changed_and_a_rule_is_asked_once(versions, prompts):
    judge = Scripted()
    nj.dhp.rate(versions, prompts, {"scripted": judge}, samples=2, temperature=1)
    assert {(task.n, task.settings["temperature"]) for task in judge.asked} == {(2, 1)}
    by_rule = nj.dhp.rate(versions, prompts, nj.dhp.judges_of_rows("surface"))[
        "summeval", "surface"
    ]
    assert by_rule["parsed"].eq(1).all()


def test_all_batches_are_submitted_before_anything_is_waited_for(versions, prompts):
    first, second = Late(), Late()
    with pytest.raises(Waiting, match="1 requests are waiting for batch_0; run it again"):
        nj.dhp.rate(versions, prompts, {"one": first, "other": second})
    assert first.asked and second.asked


def test_a_plan_by_hand(versions, prompts):
    """Three texts in two versions on two metrics: 12 calls of five replies; a second label shares them all."""
    judge = Counting()
    found = nj.dhp.rating_plan(versions, prompts, {"one": judge, "other": judge}, price=(1, 2))
    assert found["calls"].tolist() == [12, 0]
    assert found["samples"].tolist() == [60, 60] and found["cached"].tolist() == [0, 60]
    assert found["cost"].tolist() == pytest.approx([(12 * 100 + 2 * 12 * 5) / 1e6, 0])
    assert judge.asked == []


def test_without_a_served_model_the_plan_is_that_of_any(versions, prompts):
    found = nj.dhp.rating_plan(versions, prompts, nj.dhp.judges_of_rows("surface"))
    assert found.index.tolist() == [("any model", "summeval")]
    assert found["samples"].tolist() == [60] and "cost" not in found
