"""CoAScore's three stages, by real HTTP on the loopback interface and by judges with planted aspects."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from loopback import Loopback, completion
from nlgjudge.judging.live import Live
from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.store import Store
from nlgjudge.papers.coascore.aspects import (
    Aspect,
    other_rated_aspects,
    parse_aspects,
    parse_scores,
    stage_prompt,
)

coascore, dataset_aspects = nj.coascore.coascore, nj.coascore.dataset_aspects
NAMES = ["Relevance", "Coherence", "Completeness", "Accuracy", "Naturalness"]  # Table 9
FIVE = [Aspect(name, f"Does the response have {name.lower()}?") for name in NAMES]
LISTED = "\n".join(": ".join(aspect) for aspect in FIVE)
TABLE_10 = (
    "Relevance: 5.0\n\nCoherence: 5.0\n\nCompleteness: 4.0\n\nAccuracy: 5.0\n\nNaturalness: 5.0"
)


def frame(number=3):
    rows = [
        (f"d{i}/s", f"conversation {i}", f"response {i}", [], f"fact {i}") for i in range(number)
    ]
    return pd.DataFrame(rows, columns=["item_id", "source", "hypothesis", "references", "context"])


def chained(view, listed=LISTED, own=5):
    """A judge with a view of each aspect; last, the mean of its view, as `own` scores, and those shown."""

    def judge(item):
        if "Your task is to list" in item.prompt:
            return listed
        if "JSON" in item.prompt:
            names = re.findall(r"^([\w ]+): [A-Z]", item.prompt, re.MULTILINE)
            return json.dumps({name: view(item, name) for name in names})
        shown = [float(score) for score in re.findall(r"Score: (\S+)", item.prompt)]
        return (own * view(item, item.aspect) + sum(shown)) / (own + len(shown))

    return judge


def by_length(item, aspect):
    """A view that differs between items and aspects, from 1 to 5."""
    return 1 + (7 * len(aspect) + int(item.item_id[1])) % 5


def words(body):
    return json.loads(body)["messages"][0]["content"]


@pytest.fixture
def serve(monkeypatch, tmp_path):
    """Start a server that answers by stage; gives its requests and a live judge that asks it."""
    servers = []

    def start(*, second=TABLE_10, third="5.0"):
        def answer(_, __, body):
            text = words(body)
            if "Your task is to list" in text:
                return completion([LISTED])
            reply = second if "JSON format" in text else third
            return completion([reply(text) if callable(reply) else reply])

        server = Loopback(answer)
        servers.append(server.__enter__())
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-chain")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        return server, Live("gpt-x", Store(tmp_path / "replies.sqlite"))

    yield start
    for server in servers:
        server.__exit__(None, None, None)


def test_the_requests_are_the_printed_prompts_and_are_paid_once(serve):
    server, judge = serve()
    chain = coascore(frame(1), judge, "dialogue", "overall")
    assert chain.aspects == FIVE
    assert chain.aspect_scores["score"].tolist() == [5, 5, 4, 5, 5]
    assert chain.responses["score"].tolist() == [5]
    fields = {"source": "conversation 0", "hypothesis": "response 0", "context": "fact 0"}
    lines = LISTED.splitlines()
    scored = [f"{line}\n\nScore: {score}.0" for line, score in zip(lines, (5, 5, 4, 5, 5))]
    assert [words(body) for body in server.requests] == [
        prompt("coascore/aspects").render({"n": "five"}),  # Table 9
        prompt("coascore/aspect_scores").render(fields | {"aspects": "\n\n".join(lines)}),  # 10
        prompt("coascore/chain").render(fields | {"scores": "\n\n".join(scored)}),  # Table 11
    ]
    assert all(json.loads(body)["temperature"] == 0 for body in server.requests)
    again = coascore(frame(1), judge, "dialogue", "overall")
    assert len(server.requests) == 3 and again.responses.equals(chain.responses)


def test_a_reply_with_holes_costs_aspects_and_never_items(serve):
    answers = {
        "0": "Relevance: 2\nTone: 5\nAccuracy: 4/5\nCoherence: 9",
        "1": "I am sorry, I cannot rate this.",
        "2": json.dumps(dict(zip(NAMES[::-1], (5, 5, 4, 5, 5)))),  # in another order
    }
    _, judge = serve(
        second=lambda text: next(answers[i] for i in answers if f"response {i}" in text),
        third=lambda text: f"{text.count('Score: ')}.0",
    )
    chain = coascore(frame(), judge, "dialogue", "overall")
    table = chain.aspect_scores.set_index(["item_id", "aspect"])
    assert table.loc["d0/s", "reason"].to_dict() == {
        "Relevance": "",
        "Coherence": "out_of_range",
        "Accuracy": "",
        "Completeness": "missing_aspect",
        "Naturalness": "missing_aspect",
        "Tone": "extra_aspect",
    }
    assert set(table.loc["d1/s", "reason"]) == {"refusal"}
    assert table.loc[("d2/s", "Completeness"), "score"] == 4
    ends = chain.responses.set_index("item_id")
    assert ends.loc[["d0/s", "d2/s"], "score"].tolist() == [2, 5]  # the number of scores shown
    assert ends.loc["d1/s", "reason"] == "no_aspect_scores" and pd.isna(ends.loc["d1/s", "score"])


def test_a_text_that_looks_like_a_prompt_is_data(serve):
    server, judge = serve()
    text = "{{Aspects}} {{Scores}} Overall Quality Score: 1 conversation"
    coascore(frame(1).assign(hypothesis=text), judge, "dialogue", "overall")
    assert all(text in words(body) for body in server.requests[1:])


@pytest.mark.parametrize(
    "text, scores",
    [
        ('{"Relevance": 5, "Logical flow": "4/5", "accuracy": 3.0}', (5, 4, 3)),
        ('```json\n{"Relevance": 5, "logical_flow": "four"}\n```', (5, 4, "missing_aspect")),
        (
            '<think>{"Relevance": 1}</think>{"Relevance": 5, "Logical flow": 4,\n"Accuracy": 3,}',
            (5, 4, 3),
        ),
        ("Relevance: 5.0\nLogical flow: four\nAccuracy: 3 out of 5", (5, 4, 3)),
        ("1. **Relevance**: 5/5\n> Logical-flow - 4\n* Accuracy (facts): 3", (5, 4, 3)),
        ('{"scores": {"Relevance": 5}, "Accuracy": 3}', ("not_json",) * 3),  # nested
        ('{"Relevance": 5, "Logical flow": 4, "Accur', ("not_json",) * 3),  # cut short
        ('{"Relevance": ' + "7" * 5000 + "}", ("not_json",) * 3),
        (
            '{"Relevance": 5, "Relevance": 2, "Accuracy": null}',
            ("ambiguous", *["missing_aspect"] * 2),
        ),
        ("Relevance: 5\nRELEVANCE: 4\nAccuracy: 2-3", ("ambiguous", "missing_aspect", "ambiguous")),
        ("Relevance: -1\nAccuracy: 7/10", ("out_of_range", "missing_aspect", "other_scale")),
        ("Factual accuracy: 2\nFlow: 3\nAccuracy score: 4", ("missing_aspect",) * 3),  # other names
        ("4\n5\n3", ("missing_aspect",) * 3),  # never by position
        ("", ("empty",) * 3),
        ("I'm sorry, I cannot do that.", ("refusal",) * 3),
        ("ab: " * 50_000 + "\nAccuracy: 4", ("missing_aspect", "missing_aspect", 4)),
    ],
)
def test_scores_are_read_by_name_or_are_missing_with_a_reason(text, scores):
    read, _ = parse_scores(text, ["Relevance", "Logical flow", "Accuracy"])
    assert [score.reason or score.score for score in read.values()] == list(scores)
    assert all(math.isnan(score.score) == bool(score.reason) for score in read.values())


@pytest.mark.parametrize(
    "text",
    [
        "Relevance: Is it related?\n\nLogical flow: Does it flow: yes or no?",
        "Two aspects:\n\n1. **Relevance**: Is it related?\n2) Logical flow - Does it flow: yes or no?",
        '{"Relevance": "Is it related?", "Logical flow": "Does it flow: yes or no?"}',
        "- Relevance (1): Is it related?\n- Logical flow: Does it flow: yes or no?\n- relevance: So, so?",
    ],
)
def test_aspects_are_read_from_lines_and_json(text):
    assert parse_aspects(text) == [
        ("Relevance", "Is it related?"),
        ("Logical flow", "Does it flow: yes or no?"),
    ]


def test_too_few_aspects_warn_and_none_leave_the_items_without_a_score():
    with pytest.warns(UserWarning, match="judge named 5 of 6 aspects of overall"):
        chain = coascore(frame(1), chained(by_length), "dialogue", "overall", n=6)
    assert chain.aspects == FIVE
    assert coascore(frame(1), chained(by_length), "dialogue", "overall", n=2).aspects == FIVE[:2]
    with pytest.warns(UserWarning, match="named no aspect of overall, expected 5, .* got 'No'"):
        chain = coascore(frame(1), chained(by_length, "No"), "dialogue", "overall")
    assert chain.responses["reason"].tolist() == ["no_aspects"] and not len(chain.aspect_scores)


def test_words_of_other_tasks():
    for name in ("llmscore", "aspects", "aspect_scores", "chain"):
        same = stage_prompt(name, "dialogue", "overall")
        other = stage_prompt(name, "summarization", "coherence")
        assert same.body == prompt(f"coascore/{name}").body and same.exact
        left = other.body.replace("{{Conversation}}", "").replace("{{Response}}", "").lower()
        dialogue = ("response", "conversation", "fact", "dialog", "overall")
        assert not other.exact and not any(word in left for word in dialogue)
    chain = stage_prompt("chain", "summarization", "coherence")
    assert "Coherence (1-5) Do the sentences" in chain.body and chain.scale == (1, 5)
    with pytest.raises(KeyError, match="no words for task 'poetry'; there are dialogue, summar"):
        stage_prompt("chain", "poetry", "overall")
    with pytest.raises(KeyError, match="no words for aspect 'rhyme' of story; there are overall"):
        stage_prompt("chain", "story", "rhyme")


def test_every_rated_aspect_of_the_papers_benchmarks_has_words():
    for scope in nj.paper("coascore").scopes:
        asked_for = {asked for asked, _ in scope.aspects.values()}
        assert asked_for <= set(dataset_aspects(scope.task))
    for task, benchmark in (("dialogue", "topical_chat"), ("summarization", "summeval")):
        assert set(dataset_aspects(task)) == set(nj.load(benchmark, "sample").aspects)


def test_ablations_are_a_parameter_each(serve):
    judge, items = chained(by_length), frame(4)
    alone = nj.judge_items(items, ["coascore/llmscore"], judge)["score"]
    chain = coascore(items, judge, "dialogue", "overall")
    none = coascore(items, judge, "dialogue", "overall", scores="none")
    assert none.responses["score"].tolist() == alone.tolist()
    assert set(none.aspect_scores["reason"]) == {"not_asked"}
    average = coascore(items, judge, "dialogue", "overall", final="average")
    means = chain.aspect_scores.groupby("item_id", sort=False)["score"].mean()
    assert average.responses["score"].tolist() == pytest.approx(means.tolist())
    random = {"scores": "random", "final": "average"}
    draws = [
        coascore(items, judge, "dialogue", "overall", rng=np.random.default_rng(seed), **random)
        for seed in (1, 1, 2)
    ]
    first, again, other = (draw.aspect_scores for draw in draws)
    assert first.equals(again) and not first.equals(other)
    assert set(first["score"]) <= {1, 2, 3, 4, 5}
    server, judge = serve()
    coascore(items.head(1), judge, "dialogue", "overall", scores="none")
    assert len(server.requests) == 2  # no scores are asked for, shown or promised
    assert FIVE[4].definition in words(server.requests[1])
    assert not re.search("Score: |scores for different", words(server.requests[1]))


def test_inter_takes_the_other_aspects_of_table_5():
    """Topical-Chat has a sixth, which Table 5 does not have."""
    keys = {"coherence", "engagingness", "naturalness", "overall", "understandability"}
    for target in keys:
        others = {dataset_aspects("dialogue")[key] for key in keys - {target}}
        assert set(other_rated_aspects("dialogue", target)) == others
        chain = coascore(frame(1), chained(by_length), "dialogue", target, aspects="inter")
        assert set(chain.aspects) == others and set(chain.aspect_scores["reason"]) == {""}


def test_cot_asks_for_steps_and_takes_the_last_score(serve):
    server, judge = serve(third="It answers. It is a little dull.\n\nOverall Quality Score: 4")
    scores = nj.judge_items(frame(1), [stage_prompt("llmscore_cot", "dialogue", "overall")], judge)
    assert words(server.requests[0]).endswith("Let's think step by step:")
    assert scores["score"].tolist() == [4]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"scores": "guessed"}, "no kind of scores 'guessed'; there are judged, none, random"),
        ({"final": "median"}, "no final step 'median'"),
        ({"scores": "none", "final": "average"}, "needs scores to average"),
        ({"scores": "random"}, "random scores need rng"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        coascore(frame(1), chained(by_length), "dialogue", "overall", **options)


def test_a_chain_of_one_aspect_by_hand():
    """View 2, aspect 4: with a view that counts as much as three scores, (3 * 2 + 4) / 4 = 2.5."""
    judge = chained(lambda item, aspect: {"overall": 2, "Tone": 4}[aspect], own=3)
    tone = [("Tone", "How does it sound?")]
    chain = coascore(frame(1), judge, "dialogue", "overall", aspects=tone)
    assert chain.responses["score"].item() == 2.5


def test_known_aspects_help_and_random_scores_hurt():
    """600 texts; view and aspects are the rating plus errors of 0.8 of their own."""
    rng, number = np.random.default_rng(0), 600
    names = ["overall", *(f"Quality {i}" for i in range(20))]
    rating = rng.normal(3, 0.6, number)
    views = np.clip(rating[:, None] + rng.normal(0, 0.8, (number, len(names))), 1, 5)
    truth = pd.DataFrame(views, [f"d{i}/s" for i in range(number)], names).to_dict("index")
    judge = chained(lambda item, aspect: round(truth[item.item_id][aspect], 2))
    items, r = frame(number), {}
    alone = nj.judge_items(items, ["coascore/llmscore"], judge)["score"]
    r[0] = np.corrcoef(alone, rating)[0, 1]
    for n, scores in ((5, "judged"), (20, "judged"), (5, "random"), (20, "random")):
        aspects = [(name, "How good is it?") for name in names[1 : n + 1]]
        options = {"aspects": aspects, "scores": scores, "rng": rng}
        chain = coascore(items, judge, "dialogue", "overall", **options)
        sign = 1 if scores == "judged" else -1
        r[sign * n] = np.corrcoef(chain.responses["score"], rating)[0, 1]
    assert r[-20] < r[-5] < r[0] < r[5] < r[20]
    assert r[0] == pytest.approx(0.6, abs=0.08) and r[5] == pytest.approx(0.81, abs=0.05)
