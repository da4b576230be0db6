"""The template of an ablation: each change that it offers runs, and what changed is what it reports."""

import ast
import json
import re
import warnings

import nbformat
import numpy as np
import pytest

import nlgjudge as nj
from loopback import Loopback, completion
from nlgjudge.data.paths import root
from nlgjudge.judging.tasks import Reply

TEMPLATE = nbformat.read(root() / "notebooks" / "template_ablation.ipynb", as_version=4)
QUICK = {"source": "sample", "judge": "surface", "samples": 1, "permutations": 99}
TABLE = "\n".join(cell.source for cell in TEMPLATE.cells if cell.cell_type == "markdown")
CHANGES = [ast.literal_eval(text) for text in re.findall(r"^\|[^|]+\| `(\{.*\})` \|$", TABLE, re.M)]


@pytest.fixture
def run(run_cells, tmp_path, monkeypatch):
    """Run the template's cells with other parameters; gives its variables."""
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("NLGJUDGE_CACHE", str(tmp_path / "cache"))
    return lambda **parameters: run_cells("template_ablation", **QUICK | parameters)


@pytest.fixture
def served(monkeypatch):
    """A served model that rates by the length of what it is asked; it counts its requests."""

    def answer(_, __, body):
        asked = json.loads(body)
        text = asked["messages"][0]["content"]
        rating = len(text) % 2 if "Groundedness (0-1)" in text else 1 + len(text) % 3
        return completion([str(rating)] * asked.get("n", 1), model=asked["model"])

    with Loopback(answer) as server:
        for name, value in {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "sk-none",
            "NO_PROXY": "127.0.0.1",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


class Refuses:
    """A judge that must not be asked."""

    name = "refuses"

    def replies(self, tasks):
        raise AssertionError("it was asked")


class Says:
    """A judge that gives these replies to every response."""

    name = "says"

    def __init__(self, *texts):
        self.texts = texts

    def replies(self, tasks):
        for task in tasks:
            for index in range(task.n):
                yield Reply(task.item_id, task.aspect, index, self.texts[index])


def simulated(noise):
    human = nj.load("topical_chat", "sample").ratings.groupby(["item_id", "aspect"])["score"].mean()
    rng = np.random.default_rng(0)
    return nj.judging.Simulated(truth=human.to_dict(), noise=noise, rng=rng)


def test_the_template_offers_fourteen_changes():
    assert len(CHANGES) == 14
    assert {entry for change in CHANGES for entry in change} == {
        *("judge", "prompt", "words", "scale", "average", "perturb"),
        *("samples", "options", "policy", "estimator"),
    }


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_every_change_runs_and_is_what_the_description_names(change, run, served, tmp_path):
    samples = {"samples": 2} if "samples" in change else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run(change=change, **samples)
    described = re.findall(r"(?:^|; )(\w+): ", found["description"])
    assert sorted(described) == sorted(change)
    for entry, value in change.items():
        assert f"{entry}: {value} against" in found["description"]
    table = found["table"].set_index("aspect")
    assert list(table.index) == found["aspects"]
    assert table[["baseline", "difference", "p_items", "p_systems"]].notna().all(axis=None)
    assert (table["holm_items"] >= table["p_items"]).all()
    assert bool(served.requests) == ("judge" in change)
    assert (tmp_path / "out" / "sample" / "ablation" / "template_ablation.csv").is_file()


def test_planted_noise_is_found_and_its_sign_follows_the_roles(run):
    clear, noisy = simulated(0), simulated(2)
    lost = run(judge=clear, change={"judge": noisy}, aspects=["coherence"])["table"].iloc[0]
    assert lost["baseline"] > 0.95 and lost["difference"] < -0.2 and lost["p_items"] < 0.02
    assert lost["difference"] == pytest.approx(lost["variant"] - lost["baseline"])
    won = run(judge=simulated(2), change={"judge": clear}, aspects=["coherence"])["table"].iloc[0]
    assert won["difference"] == pytest.approx(-lost["difference"])


@pytest.mark.parametrize("estimator, expected", [("mean", 5 / 3), ("median", 1), ("mode", 1)])
def test_estimators_by_hand(estimator, expected, run):
    found = run(judge=Says("1", "1", "3"), samples=3, change={"estimator": "mode"})
    scores = found["scores_of"](
        found["baseline"] | {"estimator": estimator}, found["replies"]["baseline"]
    )
    assert scores["coherence"].tolist() == pytest.approx([expected] * 50)


def test_a_new_scale_warns_while_the_prompt_describes_the_old_one(run):
    one = {"aspects": ["coherence"]}
    with pytest.warns(UserWarning, match=r"geval/dialogue/coherence describes another scale than"):
        run(change={"scale": [1, 10]}, **one)
    half = {"words": {"1-3": "1-10"}, "scale": [1, 10]}  # the text still says what a score of 3 is
    with pytest.warns(UserWarning, match="change its wording too"):
        run(change=half, **one)
    whole = half | {
        "words": half["words"] | {"score of 3": "score of 10", "score of 2": "score of 5"}
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(change=whole, **one)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"judge": "surfce"}, "did you mean 'surface'"),
        ({"prompt": "geval/dialoge/{aspect}"}, "no prompt .* did you mean 'geval/dialogue/"),
        ({"prompt": "Rate this: {{Reply}}"}, "no slot '{{Reply}}'"),
        ({"words": {"four stars": "five"}}, "has no 'four stars' to replace"),
        ({"scale": [10, 1]}, "expected the lowest rating first"),
        ({"policy": "drp"}, "no policy 'drp': did you mean 'drop'"),
        ({"options": {"temperature": "0"}}, "temperature='0': expected a number"),
        ({"estimator": "men"}, "estimator='men': expected one of mean, median, mode"),
        ({"sample": 2}, "expected other values for some of judge, prompt"),
        ({"samples": 1}, "expected other values for some of judge, prompt"),
    ],
)
def test_a_mistake_is_refused_before_anything_is_asked(change, message, run):
    with pytest.raises((ValueError, KeyError), match=message), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(judge=Refuses(), change=change)


def test_a_served_judge_is_planned_first_and_not_asked_about_an_unwanted_sample(
    run, served, monkeypatch
):
    live = {"judge": "openai:test-model", "limit": 3, "price": [2.0, 10.0]}
    found = run(change={"samples": 2}, **live)
    # Three dialogues, five responses, four aspects; the variant asks for two replies a call.
    assert found["plan"]["calls"].tolist() == [60, 60]
    assert found["plan"]["samples"].tolist() == [60, 120] and found["plan"]["cost"].gt(0).all()
    assert len(served.requests) == 120
    monkeypatch.setenv("NLGJUDGE_MIRROR", "")
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    with pytest.raises(ValueError, match="^SAMPLE: .* nothing was asked"):
        run(change={"samples": 3}, source="auto", **live)
    assert len(served.requests) == 120
