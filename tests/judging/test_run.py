"""From items to parsed responses with every kind of judge."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest

from nlgjudge.data.benchmarks import load
from nlgjudge.judging.batch import Batch
from nlgjudge.judging.live import Limits, Live
from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.replay import Replay, ReplayStore
from nlgjudge.judging.run import get_judge, judge_items
from nlgjudge.judging.scoring import item_scores
from nlgjudge.judging.store import Store
from nlgjudge.judging.surface import Surface
from nlgjudge.judging.tasks import Reply

COLUMNS = ["item_id", "aspect", "sample_index", "text", "score", "reason"]
FLUENCY, COHERENCE = "geval/summarization/fluency", "geval/summarization/coherence"


@pytest.fixture(scope="module")
def items():
    return load("summeval", "sample").items


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "replies.sqlite") as made:
        yield made


def test_live_and_batch_judges_by_name(store, tmp_path, monkeypatch):
    limits = Limits(calls=3)
    live = get_judge("openai:llama3:8b", store=store, limits=limits)
    assert isinstance(live, Live) and (live.name, live.store) == ("openai:llama3:8b", store)
    assert live.limits == limits
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    with get_judge("openai:gpt-x").store as cached:
        assert cached.path == tmp_path / "data" / "cache" / "replies.sqlite"
    batch = get_judge("batch:gpt-x", store=store, timeout=5)
    assert isinstance(batch, Batch) and (batch.name, batch.store, batch.timeout) == ("batch:gpt-x", store, 5)


def test_replay_and_surface_by_name(store, monkeypatch):
    assert isinstance(get_judge("surface"), Surface)
    judge = get_judge(f"replay:{store.path}:llama3:8b", missing="keep")  # the model's name holds a colon
    assert isinstance(judge, ReplayStore)
    assert (judge.name, judge.missing) == ("replay:replies.sqlite:llama3:8b", "keep")
    frame = pd.DataFrame([("i", "fluency", 0, "3")], columns=COLUMNS[:4])
    monkeypatch.setattr("nlgjudge.judging.run.recording", lambda name, items: frame)
    judge = get_judge("replay:closer_look/geval", missing="keep")
    assert isinstance(judge, Replay) and judge.name == "replay:closer_look/geval"


@pytest.mark.parametrize("spec", ["", "gpt-4", "openai", "openai:", "batch:", "anthropic:x",
                                  "replay:x.sqlite", "replay:x.sqlite:"])
def test_unknown_judges_list_the_known(spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"judge {spec!r}: expected openai:MODEL, batch:MODEL, .*surface"):
        get_judge(spec)
    assert list(tmp_path.iterdir()) == []


def test_unknown_recordings_and_stores_are_named(tmp_path):
    with pytest.raises(KeyError, match="no recording 'nobody/x'; there are closer_look/geval,"):
        get_judge("replay:nobody/x")
    with pytest.raises(FileNotFoundError, match="no store .*nowhere.sqlite"):
        get_judge(f"replay:{tmp_path}/nowhere.sqlite:gpt-x")
    assert list(tmp_path.iterdir()) == []


def test_surface_on_the_sample(items):
    frame = judge_items(items, [FLUENCY, COHERENCE], "surface", n=2)
    assert list(frame) == COLUMNS
    assert len(frame) == 2 * 2 * len(items) and frame.index.tolist() == list(range(len(frame)))
    assert frame["aspect"].value_counts().to_dict() == dict.fromkeys(("fluency", "coherence"), 2 * len(items))
    for name in (FLUENCY, COHERENCE):
        low, high = prompt(name).scale
        assert frame.loc[frame["aspect"] == prompt(name).aspect, "score"].between(low, high).all()
    assert set(frame["reason"]) == {""}
    assert (item_scores(frame)["parsed"] == 2).all()


@pytest.mark.parametrize("limit, expected", [(None, None), (5, 5), (0, None)])
def test_limit_takes_the_first_items(items, limit, expected):
    frame = judge_items(items, [prompt(FLUENCY)], "surface", limit=limit)
    assert frame["item_id"].tolist() == items["item_id"].tolist()[:expected]
    assert list(frame) == COLUMNS


def fake(*answers):
    """A judge that gives (text, reason, logprobs), one after the other, and notes its tasks."""
    judge = SimpleNamespace(tasks=[])

    def replies(tasks):
        given = iter(answers)
        for task in tasks:
            judge.tasks.append(task)
            yield from (Reply(task.item_id, task.aspect, i, *next(given)) for i in range(task.n))
    judge.replies = replies
    return judge


HALF = [["4", [["4", math.log(0.5)], [" 2", math.log(0.25)], ["no", math.log(0.25)]]]]


def test_probabilities_weigh_the_score_and_refusals_stay(items):
    judge = fake(("4", "", HALF), ("3", "", []), ("I'm sorry, I can't.", "", []), ("", "content_filter", []),
                 ("Four", "", [["Four", [["Four", 0.0], ["4", -9.0]]]]), ("hm", "", HALF))
    frame = judge_items(items.head(3), [FLUENCY], judge, n=2, settings={"logprobs": True, "temperature": 0})
    # (4 * 0.5 + 2 * 0.25) / 0.75; the fifth writes no allowed score, whatever else it might have written
    assert frame["score"].tolist() == pytest.approx([2.5 / 0.75, 3, math.nan, math.nan, math.nan, 2.5 / 0.75],
                                                    nan_ok=True)
    assert frame["reason"].tolist() == ["", "", "refusal", "content_filter", "no_score_token", ""]
    assert frame["sample_index"].tolist() == [0, 1] * 3
    assert [t.settings for t in judge.tasks] == [{"logprobs": True, "temperature": 0}] * 3
    assert judge.tasks[0].text == prompt(FLUENCY).render(judge.tasks[0].fields)


def test_errors_of_a_prompt_or_an_option_surface(items):
    with pytest.raises(KeyError, match="no prompt 'geval/nothing'; there are"):
        judge_items(items, ["geval/nothing"], "surface")
    with pytest.raises(ValueError, match="judge 'gpt-4': expected openai:MODEL"):
        judge_items(items, [FLUENCY], "gpt-4")
    with pytest.raises(ValueError, match="policy='zero': expected one of nan, leading_or_0"):
        judge_items(items, [FLUENCY], "surface", policy="zero")
