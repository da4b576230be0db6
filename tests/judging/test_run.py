"""From items to parsed responses with every kind of judge."""

import json
import math
from types import SimpleNamespace

import pandas as pd
import pytest

from loopback import completion, words
from nlgjudge.data.benchmarks import load
from nlgjudge.judging.baseline import Baseline
from nlgjudge.judging.judge import Judge
from nlgjudge.judging.live import Live
from nlgjudge.judging.prompts import as_prompt, prompt
from nlgjudge.judging.replay import Replay
from nlgjudge.judging.run import get_judge, judge_items
from nlgjudge.judging.scoring import item_scores, reply_counts
from nlgjudge.judging.tasks import Reply

COLUMNS = ["item_id", "aspect", "sample_index", "text", "score", "reason"]
DIALOGUES = load("topical_chat", "sample").items
FLUENCY, COHERENCE = "geval/summarization/fluency", "geval/summarization/coherence"


@pytest.fixture(scope="module")
def items():
    return load("summeval", "sample").items


def test_scores_of_a_text_are_named_by_its_aspect_or_the_judge_alone():
    text = "Rate it: {{hypothesis}}"
    named = judge_items(DIALOGUES, text, lambda item: 4, aspect="fluency")
    alone = judge_items(DIALOGUES, text, lambda item: 4)
    columns = [item_scores({"x": one}).columns[1] for one in (named, alone)]
    assert columns == ["x:fluency", "x"]


def test_judges_by_name(store, tmp_path, monkeypatch):
    live = get_judge("openai:llama3:8b", store=store, price=[1, 4])
    assert isinstance(live, Live) and (live.name, live.store) == ("openai:llama3:8b", store)
    assert live.price == [1, 4]
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.delenv("NLGJUDGE_CACHE", raising=False)
    with get_judge("openai:gpt-x").store as cached:
        assert cached.path == tmp_path / "data" / "cache" / "replies.sqlite"
    assert isinstance(get_judge("surface", price=[1, 4], max_cost=2), Baseline)  # it costs nothing
    monkeypatch.undo()
    frame = pd.DataFrame([("i", "fluency", 0, "3")], columns=COLUMNS[:4])
    monkeypatch.setattr("nlgjudge.judging.run.recording", lambda name, items: frame)
    monkeypatch.setattr("nlgjudge.judging.run.recording_texts", lambda name: {})
    judge = get_judge("replay:closer_look/geval", missing="keep")
    assert isinstance(judge, Replay) and judge.name == "replay:closer_look/geval"
    assert judge.held.model == "gpt-3.5-turbo-0613"


BAD = ["", "gpt-4", "openai", "openai:", "batch:m", "anthropic:x", "replay:x.sqlite"]


@pytest.mark.parametrize(
    "judge, message",
    [
        (5, "judge=5: expected a name, as openai:MODEL"),
        *((spec, f"judge {spec!r}: expected openai:MODEL, .*surface") for spec in BAD),
        ("surfce", "judge 'surfce': expected .*; no kind .*: did you mean 'surface'"),
        ("replay:nobody/x", "no recording 'nobody/x'; there are .*closer_look/geval,"),
        ("replay:closer_lok/geval", "'closer_lok/geval': did you mean 'closer_look/geval'"),
        ("replay:nowhere.sqlite:gpt-x", "no store .*nowhere.sqlite"),
    ],
)
def test_unknown_judges_are_told_the_known(judge, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, KeyError, FileNotFoundError), match=message):
        get_judge(judge)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TypeError, match="judge 'surface': no option 'mising'"):
        get_judge("surface", mising="keep")


@pytest.mark.parametrize("limit, expected", [(None, None), (2, 12), (0, None)])
def test_limit_takes_the_first_documents(items, limit, expected):
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
    judge = fake(
        ("4", "", HALF),
        ("3", "", []),
        ("I'm sorry, I can't.", "", []),
        ("", "content_filter", []),
        ("4", "", [["4", [["4", 0.0]]]]),
        ("hm", "", HALF),
    )
    frame = judge_items(items.head(3), [FLUENCY], judge, samples=2, logprobs=True, temperature=0)
    # (4 * 0.5 + 2 * 0.25) / 0.75; the tokens of the last are not those of its text
    assert frame["score"].tolist() == pytest.approx(
        [2.5 / 0.75, 3, math.nan, math.nan, 4, math.nan], nan_ok=True
    )
    assert frame["reason"].tolist() == ["", "", "refusal", "content_filter", "", "tokens_differ"]
    assert frame["sample_index"].tolist() == [0, 1] * 3
    assert [t.settings for t in judge.tasks] == [{"logprobs": True, "temperature": 0}] * 3
    assert judge.tasks[0].text == prompt(FLUENCY).render(judge.tasks[0].fields)


class Counts(Judge):
    """A judge that counts what it is asked and gives every item a 3."""

    name = "counts"

    def __init__(self):
        self.asked = 0

    def replies(self, tasks):
        for task in tasks:
            self.asked += 1
            yield from (Reply(task.item_id, task.aspect, i, "3") for i in range(task.n))


def test_a_prompt_may_be_a_name_a_text_or_an_object(items):
    text = "Rate the fluency from 1 to 5.\n{{hypothesis}}"
    judge = fake(("4", "", []))
    asked = as_prompt(text, aspect="fluency")
    frame = judge_items(items.head(1), [text, asked], judge)
    assert frame[["aspect", "score"]].values.tolist() == [["", 4], ["fluency", 4]]
    assert [t.text for t in judge.tasks] == [
        f"Rate the fluency from 1 to 5.\n{items['hypothesis'][0]}"
    ] * 2
    one = judge_items(items, FLUENCY, "surface", limit=2)  # a single prompt needs no list
    assert one.equals(judge_items(items, [prompt(FLUENCY)], "surface", limit=2))


def test_sampling_parameters_are_sent_under_their_names(items):
    judge = Counts()
    judge.check = lambda tasks: seen.append(tasks.settings)
    seen = []
    judge_items(
        items, FLUENCY, judge, limit=1, temperature=0, top_p=1, max_tokens=5, sampling={"seed": 7}
    )
    judge_items(items, FLUENCY, judge, limit=1, logprobs=False)  # the same request as without it
    assert seen == [{"seed": 7, "temperature": 0, "top_p": 1, "max_tokens": 5}, {}]


def test_a_jury_is_the_mean_of_its_judges_and_keeps_their_scores(items, serve, store):
    """One judge gives 2 and 4, the other 5; where one cannot be read, the other counts."""
    vague = items["hypothesis"][2]

    def answer(_, __, body):
        model, text = json.loads(body)["model"], words(body)
        return completion(["Hm." if vague in text else "5"] if model == "b" else ["2", "4"])

    serve(answer)
    judges = ["openai:a", "openai:b"]
    frame = judge_items(items.head(3), [FLUENCY, COHERENCE], judges, samples=2, store=store)
    assert frame["judge"].value_counts().to_dict() == dict.fromkeys(judges, 12)
    scores = item_scores(frame)
    assert scores["score"].tolist() == [4, 4, 3] * 2
    assert scores[["parsed", "unparsed"]].values.tolist() == [[4, 0], [4, 0], [2, 2]] * 2
    jury = get_judge("openai:a+openai:b+surface", store=store, price=[1, 1])
    assert jury.name == "openai:a+openai:b+surface" and jury.spent["calls"] == 0
    with pytest.raises(ValueError, match="expected two or more different judges"):
        get_judge(["surface", "surface"])


TEN = "Rate the fluency from 1 to 10: {{hypothesis}}"


def test_a_text_has_a_scale_and_its_range_must_be_that(items):
    judge = fake(("8", "", []))
    assert judge_items(items.head(1), TEN, judge, scale=(1, 10))["score"].tolist() == [8]
    assert judge.tasks[0].reading.scale == (1, 10)
    judge_items(items.head(1), "In 2 to 3 steps: how fluent? {{hypothesis}}", fake(("4", "", [])))
    for text in (TEN, "On a scale of 0-10: {{hypothesis}}", "Score (1-10): {{hypothesis}}"):
        with pytest.raises(ValueError, match=r"a scale from \d to 10, expected scale=\(1, 5\)"):
            judge_items(items, text, judge)


def test_what_was_read_is_counted_in_words():
    frame = pd.DataFrame(
        {
            "score": [4.0] * 7 + [math.nan] * 5,
            "reason": [""] * 7
            + ["no_rating", "no_rating", "content_filter", "refusal", "not asked"],
            "text": ["4"] * 7 + ["It is\ngood.", "Hm", "", "No.", ""],
        }
    )
    said = reply_counts(frame, examples=2).splitlines()
    assert said == [
        "WARNING: 36% of the replies have no rating, and the results leave them out.",
        "  unreadable: 'It is good.'",
        "  unreadable: 'Hm'",
        "replies: 7 parsed, 2 unparsed, 2 refused, 1 missing (no_rating 2, content_filter 1, refusal 1, "
        "not asked 1)",
    ]
    assert "It is" not in reply_counts(frame)
    assert reply_counts(frame.head(7)) == "replies: 7 parsed, 0 unparsed, 0 refused"


OPEN = prompt(FLUENCY)._replace(body=prompt(FLUENCY).body + "{{Reply}}")


OTHER_TASK = "geval/dialogue/coherence"
NO_STEP = prompt(FLUENCY)._replace(scale=(10, 10))
BOTH = {"sampling": {"temperature": 1}, "temperature": 0}


@pytest.mark.parametrize(
    "prompts, options, message",
    [
        ("geval/summarization/fluancy", {}, f"no prompt .*: did you mean '{FLUENCY}'"),
        ([], {}, "expected at least one"),
        (5, {}, "prompt=5: expected a prompt's name, a text with {{hypothesis}} in it, a Prompt"),
        ("Rate {{hypothesis}}: {{Reply}}", {}, "{{Reply}}.*no column 'Reply'"),
        (OPEN, {}, "slot '{{Reply}}'"),
        ("Rate this {hypothesis}", {}, "shows nothing to judge: put {{hypothesis}} where"),
        (NO_STEP, {}, r"scale=\(10, 10\): expected two different ratings"),
        (OTHER_TASK, {}, f"prompt {OTHER_TASK} shows a context, and no item has one"),
        ("coascore/aspect_scores", {}, "coascore/aspect_scores shows .*aspects"),
        (FLUENCY, {"scale": (1, 10)}, "scale is for a prompt's text; prompt geval/.* has its own"),
        (FLUENCY, {"aspect": "x"}, "aspect is for a prompt's text; prompt geval/.* has its own"),
        (FLUENCY, {"samples": 0}, "samples=0: expected a whole number of at least 1"),
        (FLUENCY, {"samples": "2"}, "samples='2': expected a whole number of at least 1"),
        (FLUENCY, {"limit": -1}, "limit=-1: expected a whole number of at least 0"),
        (FLUENCY, {"temperature": "hot"}, "temperature='hot': expected a number"),
        (FLUENCY, {"logprobs": 5}, "logprobs=5: expected True or False"),
        (FLUENCY, {"sampling": "seed=1"}, "sampling='seed=1': expected a dict"),
        (FLUENCY, {"sampling": {"n": 3}}, "which is no sampling parameter: pass samples"),
        (FLUENCY, {"sampling": {"model": "x"}}, "no sampling parameter: name it in the judge"),
        (FLUENCY, BOTH, "temperature is 0 and, in sampling, 1: give it once"),
        (FLUENCY, {"policy": "zero"}, "no policy 'zero'.* nan, leading_or_0"),
        (FLUENCY, {"n": 2}, "no option 'n' of judge"),
        (FLUENCY, {"settings": {"temperature": 0}}, "no option 'settings'"),
        (FLUENCY, {"max_cost": 1}, "no option 'max_cost' of judge"),
    ],
)
def test_a_mistake_is_one_line_before_the_judge_is_asked(items, prompts, options, message):
    judge = Counts()
    with pytest.raises((KeyError, TypeError, ValueError), match=message) as caught:
        judge_items(items, prompts, judge, **options)
    assert judge.asked == 0 and "\n" not in str(caught.value)


def test_a_prompt_of_another_task_is_refused_and_a_text_of_ones_own_is_not():
    """A summary's prompt has no place for a dialogue's fact; who writes a text may leave the fact out."""
    judge = Counts()
    with pytest.raises(
        ValueError, match="geval/summarization/fluency has no place for the context that"
    ):
        judge_items(DIALOGUES, FLUENCY, judge)
    assert judge.asked == 0
    judge_items(DIALOGUES, "Rate the fluency: {{hypothesis}}", judge)
    assert judge.asked == len(DIALOGUES)


def test_every_prompt_is_checked_before_the_first_is_asked(items):
    class Knows(Counts):
        def check(self, tasks):
            if tasks.prompt.name == COHERENCE:
                raise ValueError("never recorded")

    judge = Knows()
    with pytest.raises(ValueError, match="never recorded"):
        judge_items(items, [FLUENCY, COHERENCE], judge)
    assert judge.asked == 0


def test_a_lettered_choice_is_rendered_asked_and_scored():
    """Three options from best to worst: a judge that answers with letters is scored by the options."""
    items = load("summeval", "sample").items.head(3)
    replies = dict(zip(items["item_id"], ["A", "The answer is (C).", "B. Fair"]))

    class Letters:
        name = "letters"

        def replies(self, tasks):
            return [Reply(task.item_id, task.aspect, 0, replies[task.item_id]) for task in tasks]

    asked = as_prompt(
        "How fluent is it? A. Good B. Fair C. Poor\n{{hypothesis}}",
        aspect="fluency",
        form="choice",
        options={"Good": 5, "Fair": 3, "Poor": 1},
    )
    assert judge_items(items, asked, Letters())["score"].tolist() == [5, 1, 3]
    assert set(judge_items(items, asked, "surface")["text"]) <= {"A", "B", "C"}
