"""A run that heard nothing of use does not pass for one."""

import pytest

import nlgjudge as nj
from nlgjudge.judging import heard
from nlgjudge.judging.errors import JudgeError
from nlgjudge.judging.tasks import Reply


class Model:
    """A served model that says one thing to every question."""

    def __init__(self, text, name="openai:m"):
        self.text = text
        self.name = name

    def plan(self, tasks):
        """What marks a judge as one that is asked and paid."""

    def replies(self, tasks):
        return [
            Reply(task.item_id, task.aspect, index, self.text)
            for task in tasks
            for index in range(task.n)
        ]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """A process that has heard nothing."""
    monkeypatch.setattr(heard, "_heard", {})


def ask(judge):
    items = nj.load("topical_chat", "sample").items.head(3)
    return nj.judge_items(items, ["geval/dialogue/engagingness"], judge, samples=2)


def test_a_model_of_which_nothing_could_be_read_gets_no_signature():
    found = ask(Model("I cannot do that."))
    assert found["score"].isna().all() and len(found) == 6  # its replies are there to be looked at
    with pytest.raises(
        JudgeError, match="openai:m: of 6 replies none could be read, most often refusal"
    ):
        nj.signature()


@pytest.mark.parametrize("first, second", [("No.", "3"), ("3", "No.")])
def test_one_readable_reply_is_enough(first, second):
    ask(Model(first))
    ask(Model(second))
    assert nj.signature()["versions"]


def test_each_model_counts_by_itself():
    ask(Model("3", "openai:a"))
    ask(Model("No.", "openai:b"))
    with pytest.raises(JudgeError, match="^openai:b: of 6 replies"):
        nj.signature()


def test_a_rule_is_not_counted():
    ask("surface")
    assert nj.signature()["versions"] and heard._heard == {}
