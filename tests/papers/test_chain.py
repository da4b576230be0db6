"""CoAScore's three stages, by real HTTP on the loopback interface and by judges with planted aspects."""

import contextlib
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from loopback import Loopback, completion
from nlgjudge.judging.live import Live
from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.scoring import COLUMNS
from nlgjudge.judging.simulated import REFUSAL, Simulated
from nlgjudge.judging.store import Store
from nlgjudge.judging.surface import Surface
from nlgjudge.papers.coascore.aspects import (
    Aspect,
    dataset_aspects,
    parse_aspects,
    parse_scores,
    relevant_aspects,
    score_aspects,
    stage,
)
from nlgjudge.papers.coascore.chain import coascore, llmscore, plan_coascore
from nlgjudge.papers.coascore.chained import Chained, expected_chain

# Table 9 of the paper.
FIVE = [
    Aspect(*line.split(": ", 1))
    for line in (
        "Relevance: Is the response directly related to the conversation and addresses the query or topic at "
        "hand? A high-quality response should be relevant and provide useful information or address the user's "
        "concerns.",
        "Coherence: Does the response make sense and flow logically within the context of the conversation? A "
        "well-structured and coherent response is easier to understand and indicates a higher quality.",
        "Completeness: Does the response fully answer the user's question or provide a comprehensive solution? A "
        "high-quality response should not leave any important aspects unaddressed and should provide all the "
        "necessary information.",
        "Accuracy: Is the response factually correct and free from errors or misleading information? A reliable "
        "response should be accurate and provide trustworthy information to the user.",
        "Naturalness: Does the response sound natural and human-like? A high-quality response should be fluent, "
        "grammatically correct, and use appropriate language and tone within the conversational context.",
    )
]
NAMES = [a.name for a in FIVE]
TABLE_10 = (
    "Relevance: 5.0\n\nCoherence: 5.0\n\nCompleteness: 4.0\n\nAccuracy: 5.0\n\nNaturalness: 5.0"
)


def frame(number=3):
    rows = [
        (f"d{i}/s", f"conversation {i}", f"response {i}", [], f"fact {i}") for i in range(number)
    ]
    return pd.DataFrame(rows, columns=["item_id", "source", "hypothesis", "references", "context"])


def words(body):
    return json.loads(body)["messages"][0]["content"]


@pytest.fixture
def live(monkeypatch, tmp_path):
    """A live judge at a server that answers by stage; its requests, and another judge on the same store."""
    with contextlib.ExitStack() as stack:

        def start(*, second=TABLE_10, third="5.0"):
            def answer(_, __, body):
                text = words(body)
                if "Your task is to list" in text:
                    return completion(["\n".join(f"{a.name}: {a.definition}" for a in FIVE)])
                given = second if "JSON format" in text else third
                return completion([given(text) if callable(given) else given])

            server = stack.enter_context(Loopback(answer))
            for name, value in (
                ("OPENAI_BASE_URL", server.url),
                ("OPENAI_API_KEY", "sk-chain"),
                ("NO_PROXY", "127.0.0.1"),
                ("no_proxy", "127.0.0.1"),
            ):
                monkeypatch.setenv(name, value)
            store = stack.enter_context(Store(tmp_path / "replies.sqlite"))
            return server, lambda: Live("gpt-x", store)

        yield start


def test_three_stages_over_http_are_paid_once(live):
    server, judge = live()
    found = coascore(frame(), judge(), "dialogue", "overall")
    texts = [words(b) for b in server.requests]
    assert len(texts) == 1 + 3 + 3
    assert found.aspects == FIVE
    assert found.responses["score"].tolist() == [5, 5, 5] and found.responses["used"].tolist() == [
        5,
        5,
        5,
    ]
    assert list(found.responses)[:6] == COLUMNS
    means = found.aspect_scores.groupby("aspect")["score"].mean()
    assert means.to_dict() == dict(zip(NAMES, [5, 5, 4, 5, 5]))
    assert all(json.loads(b)["temperature"] == 0 for b in server.requests)
    again = coascore(frame(), judge(), "dialogue", "overall")
    assert len(server.requests) == 7 and again.responses.equals(found.responses)
    coascore(frame(1), judge(), "dialogue", "overall", n=4)  # another n: asked anew
    assert len(server.requests) == 10


def test_the_requests_are_the_printed_prompts(live):
    server, judge = live()
    coascore(frame(1), judge(), "dialogue", "overall")
    first, second, third = (words(b) for b in server.requests)
    fields = {"source": "conversation 0", "hypothesis": "response 0", "context": "fact 0"}
    defined = "\n\n".join(f"{a.name}: {a.definition}" for a in FIVE)
    shown = "\n\n".join(
        f"{a.name}: {a.definition}\n\nScore: {s}.0" for a, s in zip(FIVE, (5, 5, 4, 5, 5))
    )
    assert first == prompt("coascore/aspects").render({"n": "five"})  # Table 9
    assert second == prompt("coascore/aspect_scores").render(
        fields | {"aspects": defined}
    )  # Table 10
    assert third == prompt("coascore/chain").render(fields | {"scores": shown})  # Table 11


def test_a_reply_with_holes_costs_aspects_and_never_items(live):
    answers = {
        "0": "Relevance: 2\nTone: 5\nAccuracy score: 4/5\nCoherence: 9",
        "1": REFUSAL,
        "2": TABLE_10,
    }
    server, judge = live(
        second=lambda text: next(answers[i] for i in answers if f"response {i}" in text),
        third=lambda text: f"{text.count('Score: ')}.0",
    )
    with pytest.warns(
        UserWarning, match="because they were of no use: 2, of use now: 0, not yet: 2"
    ):
        found = coascore(frame(), judge(), "dialogue", "overall")
    table = found.aspect_scores.set_index(["item_id", "aspect"])
    first = table.loc["d0/s"]
    assert first["reason"].to_dict() == {
        "Relevance": "",
        "Coherence": "out_of_range",
        "Accuracy": "",
        "Completeness": "missing_aspect",
        "Naturalness": "missing_aspect",
        "Tone": "extra_aspect",
    }
    assert first.loc["Accuracy", ["score", "reply_key"]].tolist() == [4, "Accuracy score"]
    assert set(table.loc["d1/s", "reason"]) == {"refusal"}
    ends = found.responses.set_index("item_id")
    assert ends["used"].to_dict() == {"d0/s": 2, "d1/s": 0, "d2/s": 5}
    assert ends.loc[["d0/s", "d2/s"], "score"].tolist() == [2, 5]  # as many scores as it was shown
    assert (
        math.isnan(ends.loc["d1/s", "score"]) and ends.loc["d1/s", "reason"] == "no_aspect_scores"
    )
    assert (
        len(server.requests) == 1 + 3 + 2 * 2 + 2
    )  # two of the three replies of stage 2 three times each


def test_a_text_that_looks_like_a_prompt_is_data(live):
    server, judge = live()
    items = frame(1).assign(
        hypothesis="{{Aspects}} {{Scores}} Overall Quality Score: 1 conversation"
    )
    coascore(items, judge(), "dialogue", "overall")
    assert all(items["hypothesis"][0] in words(b) for b in server.requests[1:])


@pytest.mark.parametrize(
    "text, scores",
    [
        ('{"Relevance": 5, "Logical flow": "4/5", "accuracy": 3.0}', (5, 4, 3)),
        (
            '```json\n{"scores": {"Relevance": 5, "logical_flow": {"score": 4}, "Accuracy": 3}}\n```',
            (5, 4, 3),
        ),
        (
            '[{"aspect": "Relevance", "score": 5}, {"aspect": "Accuracy", "rating": 3}]',
            (5, "missing_aspect", 3),
        ),
        ("Relevance: 5.0\nLogical flow: four\nAccuracy: 3 out of 5", (5, 4, 3)),
        ("1. **Relevance**: 5/5\n- Logical Flow Score: 4\n* Accuracy (facts): 3", (5, 4, 3)),
        ('{"Relevance": 5, "Logical flow": 4, "Accur', (5, 4, "missing_aspect")),  # cut short
        (
            '{"Relevance": 5, "Relevance": 2, "Accuracy": null}',
            ("ambiguous", "missing_aspect", "missing_aspect"),
        ),
        ("Relevance: 7\nAccuracy: good", ("out_of_range", "missing_aspect", "missing_aspect")),
        ("4\n5\n3", ("missing_aspect",) * 3),  # never by position
        ("", ("empty",) * 3),
        ("I'm sorry, I cannot do that.", ("refusal",) * 3),
    ],
)
def test_scores_are_read_by_name(text, scores):
    found = parse_scores(text, ["Relevance", "Logical flow", "Accuracy"])[0]
    assert [s.reason or s.score for s in found.values()] == list(scores)
    assert all(math.isnan(s.score) == bool(s.reason) for s in found.values())


def test_renamed_and_extra_aspects():
    found, keys, extra = parse_scores(
        "Factual accuracy: 2\nFlow: 3\nStyle: 4", ["Accuracy", "Logical flow"]
    )
    assert [s.score for s in found.values()] == [2, 3]
    assert keys == {"Accuracy": "Factual accuracy", "Logical flow": "Flow"} and extra == ["Style"]
    # Two names that hold the wanted one, or one that two hold: no guess.
    found, keys, _ = parse_scores("Text quality: 2\nTotal quality: 4", ["Quality"])
    assert found["Quality"].reason == "missing_aspect" and keys == {}
    found, keys, _ = parse_scores("Quality: 2", ["Text quality", "Total quality"])
    assert {s.reason for s in found.values()} == {"missing_aspect"} and keys == {}


@pytest.mark.parametrize(
    "text",
    [
        "Relevance: Is it related?\n\nLogical flow: Does it flow: yes or no?",
        "Here are two aspects:\n\n1. **Relevance**: Is it related?\n2) Logical flow - Does it flow: yes or no?",
        '{"Relevance": "Is it related?", "Logical flow": {"definition": "Does it flow: yes or no?"}}',
        '```json\n[{"name": "Relevance", "description": "Is it related?"},\n{"aspect": "Logical flow", '
        '"definition": "Does it flow: yes or no?"}]\n```',
        "- Relevance (1): Is it related?\n- Logical flow: Does it flow: yes or no?\n- relevance: Once more, so?",
    ],
)
def test_aspects_are_read_from_lines_and_json(text):
    assert parse_aspects(text) == [
        ("Relevance", "Is it related?"),
        ("Logical flow", "Does it flow: yes or no?"),
    ]


@pytest.mark.parametrize("piece", [" ", "\t", "- ", "*", "a ", "ab: ", "ab ( ", ", ", "\n ", "1."])
def test_a_long_reply_is_read_in_one_go(piece):
    """By the square of its length, as it once was, each of these would take half an hour."""
    text = piece * (300_000 // len(piece))
    assert parse_scores(f"{text}\nClear: 4", ["Clear"])[0]["Clear"].score == 4
    assert parse_aspects(f"{text}\nClear: how clear")[-1] == Aspect("Clear", "how clear")


def test_a_number_of_thousands_of_digits_is_no_error():
    text = '{"Clear": ' + "7" * 5000 + "}"
    assert math.isnan(parse_scores(text, ["Clear"])[0]["Clear"].score) and parse_aspects(text) == []


def test_too_few_aspects_warn_and_none_stop():
    with pytest.warns(UserWarning, match="chained:surface named 5 of 6 aspects of overall"):
        assert relevant_aspects(Chained(Surface(), FIVE), "dialogue", "overall", 6) == FIVE
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert relevant_aspects(Chained(Surface(), FIVE), "dialogue", "overall", 2) == FIVE[:2]
    with pytest.raises(ValueError, match="chained:surface named no aspect, expected 5, .* got ''"):
        relevant_aspects(Chained(Surface(), []), "dialogue", "overall")


def test_words_of_other_tasks_and_scales():
    for name in ("llmscore", "aspects", "aspect_scores", "chain"):
        same, other = (
            stage(name, "dialogue", "overall"),
            stage(name, "summarization", "coherence", (1, 100)),
        )
        assert same.body == prompt(f"coascore/{name}").body and same.exact
        left = other.body.replace("{{Conversation}}", "").replace("{{Response}}", "").lower()
        dialogue = ("response", "conversation", "fact", "dialog", "overall", "1-5")
        assert not other.exact and not any(word in left for word in dialogue)
    assert (
        "Coherence (1-100) Do the sentences"
        in stage("chain", "summarization", "coherence", (1, 100)).body
    )
    assert stage("chain", "story", "overall").scale == (1, 5)
    assert "range from 0 to 10" in stage("aspect_scores", "story", "overall", (0, 10)).body
    with pytest.raises(
        KeyError, match="no words for task 'poetry'; there are dialogue, summarization"
    ):
        stage("chain", "poetry", "overall")
    with pytest.raises(KeyError, match="no words for aspect 'rhyme' of story; there are overall"):
        stage("chain", "story", "rhyme")


@pytest.mark.parametrize(
    "task, benchmark",
    [
        ("dialogue", "topical_chat"),
        ("summarization", "summeval"),
        ("story", "openmeva"),
        ("data_to_text", "bagel"),
        ("translation", "iwslt14"),
    ],
)
def test_every_rated_aspect_of_the_papers_benchmarks_has_words(task, benchmark):
    rated = set(nj.load(benchmark, "sample").aspects)
    assert set(dataset_aspects(task)) & rated
    if task in ("dialogue", "summarization"):
        assert set(dataset_aspects(task)) == rated


def test_ablations_are_a_parameter_each():
    judge, items = Chained(Surface(), FIVE), frame(4)
    inter = coascore(items, judge, "dialogue", "overall", aspects="inter")
    assert [one.name for one in inter.aspects] == [
        "Naturalness",
        "Understandability",
        "Interest",
        "Maintains Context",
    ]
    none = coascore(items, judge, "dialogue", "overall", scores="none")
    assert (
        none.responses["score"].tolist()
        == llmscore(items, judge, "dialogue", "overall")["score"].tolist()
    )
    assert (
        set(none.aspect_scores["reason"]) == {"not_asked"}
        and none.aspect_scores["score"].isna().all()
    )
    average = coascore(items, judge, "dialogue", "overall", final="average")
    judged = coascore(items, judge, "dialogue", "overall").aspect_scores
    assert average.responses["score"].tolist() == pytest.approx(
        judged.groupby("item_id", sort=False)["score"].mean().tolist()
    )
    draws = [
        coascore(
            items, judge, "dialogue", "overall", scores="random", rng=np.random.default_rng(seed)
        )
        for seed in (1, 1, 2)
    ]
    assert draws[0].aspect_scores.equals(draws[1].aspect_scores)
    assert not draws[0].aspect_scores.equals(draws[2].aspect_scores)
    assert set(draws[0].aspect_scores["score"]) <= {1, 2, 3, 4, 5}
    assert len(coascore(items, judge, "dialogue", "overall", n=2).aspects) == 2


def test_inter_takes_the_other_aspects_of_table_5():
    """Topical-Chat has a sixth, which Table 5 does not have."""
    path = Path(__file__).parents[2] / "paper_tables" / "published" / "coascore_table5.csv"
    printed = set(pd.read_csv(path)["aspect"])
    names = {"interest": "engagingness", "context": "coherence"}
    keys = {names.get(aspect, aspect) for aspect in printed}
    assert len(keys) == 5
    known = dataset_aspects("dialogue")
    for target in keys:
        assert set(nj.coascore.other_rated_aspects("dialogue", target)) == {
            known[key] for key in keys - {target}
        }
    summaries = dataset_aspects("summarization")
    assert nj.coascore.other_rated_aspects("summarization", "fluency") == [
        summaries[key] for key in ("coherence", "consistency", "relevance")
    ]
    with pytest.raises(
        ValueError, match="aspects='others': expected a list of aspects, or 'inter'"
    ):
        coascore(frame(1), Surface(), "dialogue", "overall", aspects="others")


def test_without_scores_no_score_is_shown_or_promised(live):
    server, judge = live()
    coascore(frame(1), judge(), "dialogue", "overall", scores="none")
    assert len(server.requests) == 2
    text = words(server.requests[1])
    assert (
        "Score: " not in text and "scores for different" not in text and FIVE[4].definition in text
    )


def test_cot_asks_for_steps_and_takes_the_last_score(live):
    server, judge = live(
        third="It answers the question. It is a little dull.\n\nOverall Quality Score: 4"
    )
    found = llmscore(frame(1), judge(), "dialogue", "overall", cot=True)
    assert words(server.requests[0]).endswith("Let's think step by step:") and found[
        "score"
    ].tolist() == [4]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"scores": "guessed"}, "scores='guessed', final='judge': expected one of"),
        ({"final": "median"}, "final='median'"),
        ({"scores": "none", "final": "average"}, "and scores to average"),
        ({"scores": "random"}, "random scores need rng"),
        ({"scores": "random", "rng": 1}, "random scores need rng"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        coascore(frame(1), Chained(Surface(), FIVE), "dialogue", "overall", **options)


def test_the_plan_counts_calls_and_cost_beforehand(live):
    items = frame(3)
    found = plan_coascore(items, "dialogue", "overall", price=(1e6, 0))
    assert found["calls"].to_dict() == {
        "LLMScore": 3,
        "1 aspects": 1,
        "2 aspect scores": 3,
        "3 target": 3,
        "CoAScore": 7,
    }
    server, judge = live()
    coascore(items, judge(), "dialogue", "overall")
    assert len(server.requests) == found.loc["CoAScore", "calls"]
    sent = sum(len(words(b)) for b in server.requests) / 4
    assert found.loc["CoAScore", "prompt_tokens"] == pytest.approx(sent, rel=0.05)
    assert found.loc["CoAScore", "cost"] == found.loc["CoAScore", "prompt_tokens"]
    assert (
        plan_coascore(items, "dialogue", "overall", scores="random").loc["CoAScore", "calls"] == 4
    )
    assert (
        plan_coascore(items, "dialogue", "overall", final="average").loc["CoAScore", "calls"] == 4
    )
    assert plan_coascore(items, "dialogue", "overall")["cost"].isna().all()


def planted(number=600, aspects=20, *, rating=0.6, view=0.8, aspect=0.8, shared=0.0, seed=0):
    rng = np.random.default_rng(seed)
    items = frame(number)
    names = [f"Quality {i}" for i in range(aspects)]
    truth = rng.normal(3, rating, number)
    base = truth + rng.normal(0, shared, number)
    views = {
        (item, "overall"): x
        for item, x in zip(items["item_id"], base + rng.normal(0, view, number))
    }
    for name in names:
        views |= {
            (item, name): x
            for item, x in zip(items["item_id"], base + rng.normal(0, aspect, number))
        }
    judge = Chained(
        Simulated(truth=views, rng=rng), [Aspect(n, "How good is it?") for n in names], own=5
    )
    return items, truth, judge


@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_planted_aspects_help_and_random_scores_hurt_as_derived(shared):
    items, truth, judge = planted(shared=shared)
    rng = np.random.default_rng(1)
    found = {"alone": llmscore(items, judge, "dialogue", "overall")["score"]}
    for n in (5, 20):
        for label, options in (
            (n, {}),
            (f"{n} random", {"scores": "random", "rng": rng}),
            (f"{n} average", {"final": "average"}),
        ):
            found[label] = coascore(items, judge, "dialogue", "overall", n=n, **options).responses[
                "score"
            ]
    r = {label: np.corrcoef(scores, truth)[0, 1] for label, scores in found.items()}
    theory = {"alone": expected_chain(0, shared=shared)} | {
        label: expected_chain(n, shared=shared, **options)
        for n in (5, 20)
        for label, options in (
            (n, {}),
            (f"{n} random", {"random": True}),
            (f"{n} average", {"own": 0}),
        )
    }
    # Four standard errors of a correlation of 600 items, and a hundredth for clipping to the scale.
    assert r == pytest.approx(
        {k: float(v) for k, v in theory.items()}, abs=4 / np.sqrt(600) * 0.6 + 0.01
    )
    assert r["20 random"] < r["5 random"] < r["alone"] < r[5] < r[20]


def test_theory_by_hand():
    # own 1, one aspect, no shared error: mean of two readings, errors 0.8 each, so 0.6 / sqrt(0.36 + 0.32)
    assert expected_chain(1, own=1) == pytest.approx(0.6 / math.sqrt(0.68))
    # alone: 0.6 / sqrt(0.36 + 0.64)
    assert expected_chain(0) == pytest.approx(0.6)
    # random, own 1: (x + r) / 2 has 0.3 of the rating; variance of r is 2, so 0.3 / sqrt(0.09 + 0.16 + 0.5)
    assert expected_chain(1, own=1, random=True) == pytest.approx(0.3 / math.sqrt(0.75))
    # a halo of 0.6 bounds what aspects can do: 0.6 / sqrt(0.36 + 0.36)
    assert expected_chain(10**9, shared=0.6) == pytest.approx(math.sqrt(0.5), abs=1e-6)


def test_aspects_are_scored_by_name_whatever_the_order(live):
    server, judge = live(second=json.dumps(dict(zip(NAMES[::-1], (1, 2, 3, 4, 5)))))
    found = score_aspects(frame(2), judge(), "dialogue", "overall", FIVE)
    second = found[found["item_id"] == "d1/s"].set_index("aspect")["score"]
    assert second.to_dict() == dict(zip(NAMES, (5, 4, 3, 2, 1)))
    assert len(server.requests) == 2
