"""Replies that a protocol cannot use: asked for again so many times, kept, counted, and dropped on demand."""

import json

import pandas as pd
import pytest

from loopback import Loopback, completion
from nlgjudge.cli import main
from nlgjudge.judging.batch import Batch
from nlgjudge.judging.live import Limits, Live
from nlgjudge.judging.replay import ReplayStore
from nlgjudge.judging.scoring import responses
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task
from nlgjudge.judging.usable import IN_VAIN, MOST_TRIES, TRIES
from nlgjudge.papers.coascore.aspects import Aspect, relevant_aspects, score_aspects

BAD = "It reads well."


def tasks(number=1, n=1, **settings):
    return [
        Task(
            f"item{i}",
            "coherence",
            f"Rate text {i}.",
            {},
            (1, 5),
            "form",
            n,
            settings,
            prompt="mine/coherence",
            digest="abc123",
        )
        for i in range(number)
    ]


def words(body):
    return json.loads(body)["messages"][0]["content"]


def in_turn(*answers):
    """Give these replies to each prompt in turn, and the last one ever after."""
    asked = {}

    def answer(_, __, body):
        number = asked[words(body)] = asked.get(words(body), 0) + 1
        given = answers[min(number, len(answers)) - 1]
        return (
            given
            if isinstance(given, tuple)
            else completion([given] * json.loads(body).get("n", 1))
        )

    return answer


def outcomes(judge, wanted):
    return [(reply.text, reply.reason) for reply in judge.replies(wanted)]


def test_a_reply_without_a_rating_is_asked_again_and_both_tries_are_kept(serve, store):
    server = serve(in_turn(BAD, "Score: 4"))
    live = Live("m", store, limits=Limits(price=(1e6, 1e6)))
    with pytest.warns(UserWarning, match="because they were of no use: 3, of use now: 3$"):
        assert outcomes(live, tasks(3)) == [("Score: 4", "")] * 3
    assert len(server.requests) == 6
    tries = store.tries(live.server.request(tasks()[0])[1])[0]
    assert [reply["text"] for reply in tries] == [BAD, "Score: 4"]
    # Ten prompt and two completion tokens a call, all of them paid.
    assert store.totals() == {
        "replies": 3,
        "asked_again": 3,
        "prompt_tokens": 60,
        "completion_tokens": 12,
        "cost": 72,
    }
    assert live.cost == 72
    assert outcomes(Live("m", store), tasks(3)) == [("Score: 4", "")] * 3
    assert outcomes(ReplayStore(store, "m"), tasks(3)) == [("Score: 4", "")] * 3
    assert len(server.requests) == 6
    again = Live("m", store)
    list(again.replies(tasks(3)))
    assert list(again.asked_again.values()) == [
        "",
        "",
        "",
    ]  # said beside the results of later runs too


def test_it_ends_after_so_many_tries_and_a_later_run_adds_one(serve, store, recwarn):
    server = serve(in_turn(BAD))
    for run in range(MOST_TRIES):
        live = Live("m", store)
        assert outcomes(live, tasks()) == [(BAD, "")]
        assert len(server.requests) == min(TRIES + run, MOST_TRIES)
        assert list(live.asked_again.values()) == ["no_rating"]
    assert "of no use: 1, of use now: 0, not yet: 1 (no_rating 1)" in str(recwarn.list[0].message)


def test_a_server_that_was_mended_is_asked_by_a_later_run(serve, store, recwarn):
    server = serve(in_turn(BAD, BAD, BAD, "Score: 2"))
    assert outcomes(Live("m", store), tasks()) == [(BAD, "")]
    assert outcomes(Live("m", store), tasks()) == [("Score: 2", "")]
    assert len(server.requests) == 4


def test_the_first_reply_stands_where_none_can_be_used(serve, store, recwarn):
    serve(in_turn("I'm sorry, I cannot.", BAD, "Score: 9"))
    assert outcomes(Live("m", store), tasks()) == [("I'm sorry, I cannot.", "")]


def test_a_sample_among_several_is_not_drawn_again_for_what_it_says(serve, store):
    server = serve(lambda *_: completion(["Score: 4", BAD, "Score: 2"]))
    wanted = tasks(2, n=3, temperature=1)
    assert [text for text, _ in outcomes(Live("m", store), wanted)] == [
        "Score: 4",
        BAD,
        "Score: 2",
    ] * 2
    assert len(server.requests) == 2 and store.totals()["asked_again"] == 0


def test_a_sample_among_several_without_any_text_is_asked_again(serve, store, recwarn):
    server = serve(
        lambda number, *_: completion(["Score: 4", "", ""] if number == 1 else ["a", "b"])
    )
    found = outcomes(Live("m", store), tasks(n=3, temperature=1))
    assert found == [("Score: 4", ""), ("a", ""), ("b", "")]
    assert [json.loads(body)["n"] for body in server.requests] == [3, 2]


def test_a_run_with_more_samples_takes_the_first_try(serve, store, recwarn):
    """Else the sample would be chosen by what it says."""
    serve(in_turn(BAD, "Score: 4"))
    assert outcomes(Live("m", store), tasks()) == [("Score: 4", "")]
    assert outcomes(Live("m", store), tasks(n=2)) == [(BAD, ""), ("Score: 4", "")]


def test_token_probabilities_count_as_a_rating(serve, store):
    given = {
        "content": [
            {"token": "4", "logprob": 0.0, "top_logprobs": [{"token": "4", "logprob": 0.0}]}
        ]
    }
    server = serve(lambda *_: completion(["4 (or 2?) 3"], logprobs=given))
    list(Live("m", store).replies(tasks(logprobs=True)))
    assert len(server.requests) == 1


def test_what_was_cut_before_its_first_word_is_asked_by_a_later_run_alone(serve, store):
    """A reasoning model that used up its tokens: the same again would be cut again."""
    server = serve(
        lambda number, *_: (
            completion([""], finish="length") if number < 3 else completion(["Score: 3"])
        )
    )
    for calls in (1, 2):
        with pytest.warns(
            UserWarning, match=r"cut before they came to the point \(length\): 1; raise max_t"
        ):
            assert outcomes(Live("m", store), tasks()) == [("", "length")]
        assert len(server.requests) == calls
    with pytest.warns(UserWarning, match="of no use: 1, of use now: 1$"):
        assert outcomes(Live("m", store), tasks()) == [("Score: 3", "")]
    assert len(server.requests) == 3
    assert outcomes(Live("m", store), tasks(max_tokens=50)) == [("Score: 3", "")]  # another request


@pytest.mark.parametrize("n", [1, 3])
def test_what_was_cut_before_its_rating_says_so(serve, store, n):
    """A reason of its own, not `no_rating`; and the same again would be cut again."""
    server = serve(lambda *_: completion(["Let us look at the"] * n, finish="length"))
    with pytest.warns(
        UserWarning, match=rf"came to the point \(length\): {n}; raise max_tokens, which pays"
    ):
        found = list(Live("m", store).replies(tasks(n=n)))
    assert len(server.requests) == 1
    parsed = responses(found, form="form", scale=(1, 5))
    assert parsed["reason"].tolist() == ["length"] * n and parsed["score"].isna().all()
    assert (
        responses(ReplayStore(store, "m").replies(tasks(n=n)))["reason"].tolist() == ["length"] * n
    )
    assert main(["replies", "drop", "--reason", "length", "--store", str(store.path), "--yes"]) == 0
    assert store.totals()["replies"] == 0


def test_what_was_cut_behind_its_rating_is_as_good_as_any(serve, store, recwarn):
    """G-Eval asks for five tokens."""
    server = serve(lambda *_: completion(["4\n\nThe summary"], finish="length"))
    parsed = responses(list(Live("m", store).replies(tasks(max_tokens=5))))
    assert parsed[["score", "reason"]].values.tolist() == [[4.0, ""]]
    assert len(server.requests) == 1 and not recwarn.list


def test_a_judge_that_never_gives_a_rating_is_not_paid_three_times(serve, store):
    server = serve(in_turn(BAD))
    with pytest.warns(
        UserWarning, match=f"{IN_VAIN} replies of no use were asked for again in a row"
    ):
        list(Live("m", store, concurrency=8).replies(tasks(200)))
    assert 200 + IN_VAIN <= len(server.requests) <= 200 + IN_VAIN + 8


def test_upstreams_way_takes_the_first_reply(serve, store, recwarn):
    server = serve(in_turn(BAD, "Score: 4"))
    assert outcomes(Live("m", store), tasks()) == [("Score: 4", "")]
    assert outcomes(Live("m", store, ask_again=False), tasks(2)) == [(BAD, "")] * 2
    assert len(server.requests) == 3


def test_a_server_that_is_gone_makes_no_stored_reply_worse(store, monkeypatch, recwarn):
    for name, value in (
        ("OPENAI_API_KEY", "none"),
        ("NO_PROXY", "127.0.0.1"),
        ("no_proxy", "127.0.0.1"),
    ):
        monkeypatch.setenv(name, value)
    with Loopback(in_turn(BAD)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        list(Live("m", store).replies(tasks(2)))
    with pytest.warns(
        UserWarning, match="could not be asked for again: no server answers at http://127"
    ):
        assert outcomes(Live("m", store), tasks(2)) == [(BAD, "")] * 2


def test_a_limit_on_calls_holds_for_asking_again_too(serve, store):
    server = serve(in_turn(BAD))
    live = Live("m", store, limits=Limits(calls=4), concurrency=1)
    with pytest.warns(UserWarning, match="not asked for again: the limit of 4 calls was reached"):
        assert outcomes(live, tasks(3)) == [(BAD, "")] * 3
    assert len(server.requests) == 4 and live.stopped == ""  # the run itself is whole


FIVE = [Aspect(name, f"Is it good in {name}?") for name in ("Clarity", "Wit", "Depth")]
LISTED = "\n".join(f"{aspect.name}: {aspect.definition}" for aspect in FIVE)


def test_a_chain_whose_first_reply_names_no_aspect_goes_on(serve, store, recwarn):
    server = serve(in_turn("Certainly!", LISTED))
    assert relevant_aspects(Live("m", store), "dialogue", "overall", 3) == FIVE
    assert len(server.requests) == 2


def test_a_chain_that_named_no_aspect_works_once_the_server_is_mended(serve, store, recwarn):
    server = serve(in_turn("Certainly!", "Of course!", "Sure!", LISTED))
    with pytest.raises(ValueError, match="named no aspect, expected 3, .* got 'Certainly!'"):
        relevant_aspects(Live("m", store), "dialogue", "overall", 3)
    assert len(server.requests) == TRIES
    assert relevant_aspects(Live("m", store), "dialogue", "overall", 3) == FIVE


def test_a_chain_asks_again_where_an_aspect_has_no_score(serve, store, recwarn):
    items = pd.DataFrame(
        {"item_id": ["i"], "source": "s", "hypothesis": "h", "references": [[]], "context": "c"}
    )
    server = serve(
        in_turn(
            "Clarity: 4\nWit: 2", "Clarity: 4\nWit: 2\nDepth: 9", "Clarity: 3\nWit: 1\nDepth: 5"
        )
    )
    found = score_aspects(items, Live("m", store), "dialogue", "overall", FIVE)
    assert found.set_index("aspect")["score"].to_dict() == {"Clarity": 3, "Wit": 1, "Depth": 5}
    assert len(server.requests) == 3


def test_a_batch_asks_nothing_again_and_a_live_judge_does(serve, store, recwarn):
    server = serve(in_turn("Score: 5"))
    batch = Batch("m", store)
    request, digest, _ = batch.server.request(tasks()[0])
    store.add(
        {digest: batch.server.kept(tasks()[0], request)},
        [{"key": digest, "sample": 0, "text": BAD}],
    )
    assert outcomes(batch, tasks()) == [(BAD, "")] and batch.plan(tasks())["calls"] == 0
    live = Live("m", store)
    assert live.plan(tasks())["calls"] == 1
    assert outcomes(live, tasks()) == [("Score: 5", "")] and len(server.requests) == 1


def test_tries_survive_an_export(serve, store, tmp_path, recwarn):
    serve(in_turn(BAD, "Score: 4"))
    live = Live("m", store)
    list(live.replies(tasks(2)))
    store.export(tmp_path / "all.jsonl.gz")
    with Store(tmp_path / "other.sqlite") as other:
        other.load(tmp_path / "all.jsonl.gz")
        assert other.totals() == store.totals()
        assert [row[3] for row in other.rows()] == [row[3] for row in store.rows()]
        assert outcomes(ReplayStore(other, "m"), tasks(2)) == [("Score: 4", "")] * 2


# Forgetting.


@pytest.fixture
def spoiled(serve, store, recwarn):
    """Replies of two models: of m, one without a rating, one out of range, one filtered, one good."""
    answers = {
        "0": completion([BAD]),
        "1": completion(["Score: 9"]),
        "2": completion([None], finish="content_filter"),
        "3": completion(["Score: 4"]),
    }
    server = serve(lambda _, __, body: answers[words(body)[-2]])
    list(Live("m", store, ask_again=False).replies(tasks(4)))
    list(Live("n", store, ask_again=False).replies(tasks(4)))
    store.close()
    return server, store.path


def kept(path):
    with Store(path) as store:
        return sorted(
            (request.body["model"], tries[0]["text"]) for _, _, request, tries in store.rows()
        )


ALL = sorted((model, text) for model in "mn" for text in (BAD, "Score: 9", "", "Score: 4"))


@pytest.mark.parametrize(
    "wanted, gone",
    [
        (["--model", "m"], [("m", text) for text in (BAD, "Score: 9", "", "Score: 4")]),
        (["--model", "m", "--reason", "no_rating"], [("m", BAD)]),
        (["--reason", "out_of_range"], [("m", "Score: 9"), ("n", "Score: 9")]),
        (["--reason", "content_filter"], [("m", ""), ("n", "")]),
        (["--reason", "ambiguous"], []),
        (["--prompt", "mine/"], ALL),
        (["--prompt", "abc123", "--model", "n", "--reason", "no_rating"], [("n", BAD)]),
        (["--prompt", "yours"], []),
    ],
)
def test_replies_can_be_forgotten(spoiled, capsys, wanted, gone):
    _, path = spoiled
    call = ["replies", "drop", "--store", str(path), *wanted]
    assert main(call) == 0
    assert f"{len(gone)} replies would be dropped; add --yes to do it" in capsys.readouterr().out
    assert kept(path) == ALL
    assert main([*call, "--yes"]) == 0
    assert f"{len(gone)} replies were dropped" in capsys.readouterr().out
    assert kept(path) == sorted(set(ALL) - set(gone))


def test_what_was_forgotten_at_an_endpoint_is_asked_anew(spoiled, capsys, recwarn):
    server, path = spoiled
    before = len(server.requests)
    assert (
        main(
            [
                "replies",
                "drop",
                "--store",
                str(path),
                "--model",
                "m",
                "--reason",
                "no_rating",
                "--yes",
            ]
        )
        == 0
    )
    assert f"1 of m@{server.url}, prompt mine/coherence, no_rating" in capsys.readouterr().out
    server.answer = lambda *_: completion(["Score: 1"])
    with Store(path) as store:
        assert outcomes(Live("m", store, ask_again=False), tasks(4))[0] == ("Score: 1", "")
    assert len(server.requests) == before + 1
