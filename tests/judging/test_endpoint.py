"""Two servers may call different models by one name: a reply belongs to the endpoint that gave it."""

import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import openai
import pytest

from loopback import completion
from nlgjudge.judging.batch import Batch
from nlgjudge.judging.errors import JudgeError
from nlgjudge.judging.live import Live
from nlgjudge.judging.replay import ReplayStore
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.server import Server
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import DEFAULT_ENDPOINT, UNKNOWN_ENDPOINT, Task, endpoint, key

# The schema of a store before the endpoint was kept.
OLD_SCHEMA = """
CREATE TABLE requests (key TEXT PRIMARY KEY, request TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE replies (
    key TEXT NOT NULL, sample INTEGER NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL,
    logprobs TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL,
    model TEXT, fingerprint TEXT, created REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400),
    PRIMARY KEY (key, sample)) WITHOUT ROWID;
CREATE TABLE batches (id TEXT PRIMARY KEY, attempt INTEGER NOT NULL, state TEXT NOT NULL, keys TEXT NOT NULL);
"""


def says(number):
    return lambda *_: completion([f"Score: {number}"])


def tasks(number):
    return [
        Task(f"item{i}", "coherence", f"Rate text {i}.", {}, (1, 5), "form") for i in range(number)
    ]


def texts(judge, wanted):
    return [reply.text for reply in judge.replies(wanted)]


def test_one_name_at_two_servers_is_two_judges(serve, store, monkeypatch):
    one, other = serve(says(2)), serve(says(5))
    for _ in range(2):  # the second time from the store
        for server, answer in ((one, "Score: 2"), (other, "Score: 5")):
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            assert texts(Live("m", store), tasks(3)) == [answer] * 3
    assert len(one.requests) == len(other.requests) == 3
    assert store.endpoints() == {("m", one.url): 3, ("m", other.url): 3}


def test_without_an_address_the_clients_own_is_meant_and_no_others_reply_is_served(
    serve, store, monkeypatch
):
    serve(says(2))
    assert texts(Live("m", store), tasks(3)) == ["Score: 2"] * 3
    monkeypatch.delenv("OPENAI_BASE_URL")
    live = Live("m", store)
    assert live.server.endpoint == DEFAULT_ENDPOINT
    assert live.plan(tasks(3))["cached"] == 0
    assert {reply.reason for reply in live.server.stored(store, tasks(3))} == {"not answered"}
    assert endpoint(str(openai.OpenAI(api_key="none").base_url)) == DEFAULT_ENDPOINT


@pytest.mark.parametrize(
    "written, meant",
    [
        ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("HTTP://LocalHost:80/v1", "http://localhost/v1"),
        ("https://api.example.com:443/v1", "https://api.example.com/v1"),
        ("https://api.example.com/V1", "https://api.example.com/V1"),  # a path is read as it stands
        ("https://me:secret@api.example.com/v1?key=secret#secret", "https://api.example.com/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("https://gateway.example.com/sk-secret-123/v1", "https://gateway.example.com/[key]/v1"),
        ("", "https://api.openai.com/v1"),
    ],
)
def test_one_address_has_one_spelling_without_secrets(written, meant, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-123")
    assert endpoint(written) == meant and endpoint(meant) == meant


@pytest.mark.parametrize(
    "written", ["api.example.com/v1", "ftp://example.com", "http://", "http://x:port/v1"]
)
def test_what_is_no_address_is_refused_and_not_shown(written, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", written)
    with pytest.raises(
        JudgeError, match=r"\(OPENAI_BASE_URL\) is no address .* expected one as"
    ) as caught:
        Server("m")
    assert "example" not in str(caught.value)


def test_a_password_in_the_address_is_used_and_not_kept(serve, store, monkeypatch, tmp_path):
    server = serve(says(3))
    secret = server.url.replace("http://", "http://me:pass-word-1@") + "?token=pass-word-2"
    monkeypatch.setenv("OPENAI_BASE_URL", secret)
    assert texts(Live("m", store), tasks(2)) == ["Score: 3"] * 2
    store.export(tmp_path / "all.jsonl")
    assert (
        json.loads((tmp_path / "all.jsonl").read_text().splitlines()[0])["endpoint"] == server.url
    )
    store.close()
    for path in tmp_path.iterdir():
        assert b"pass-word" not in path.read_bytes()


@pytest.fixture
def old(tmp_path):
    """A store as an earlier version left it: replies to the first three of four tasks."""
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(OLD_SCHEMA)
        for task in tasks(3):
            request = task.request("m")
            database.execute(
                "INSERT INTO requests VALUES (?, ?)", (key(request), json.dumps(request))
            )
            database.execute(
                "INSERT INTO replies (key, sample, text, reason, logprobs) VALUES (?, 0, ?, '', "
                "'[]')",
                (key(request), f"Score: 4, {task.item_id}"),
            )
        database.commit()
    return path


def test_several_open_an_old_store_at_the_same_moment(old):
    barrier = threading.Barrier(4)

    def opened(_):
        barrier.wait(60)
        with Store(old) as store:
            return store.endpoints()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(opened, range(4))) == [{("m", UNKNOWN_ENDPOINT): 3}] * 4


def test_replies_of_an_old_store_are_told_of_once_and_not_used(serve, old):
    server = serve(says(2))
    with Store(old) as store:
        assert store.endpoints() == {("m", UNKNOWN_ENDPOINT): 3}
        live = Live("m", store)
        adopt = f"nlgjudge replies adopt --model m --endpoint {server.url} --store {old}"
        with pytest.warns(
            UserWarning, match="3 replies of m to these requests are stored without"
        ) as told:
            assert live.plan(tasks(4))["cached"] == 0
            assert texts(live, tasks(4)) == ["Score: 2"] * 4
        assert len(told) == 1 and adopt in str(told[0].message)
        assert len(server.requests) == 4
        assert store.endpoints() == {("m", server.url): 4, ("m", UNKNOWN_ENDPOINT): 3}


def test_what_an_endpoint_has_already_stays_in_use(serve, old):
    server = serve(says(2))
    with Store(old) as store:
        with pytest.warns(UserWarning, match="1 replies of m"):
            assert texts(Live("m", store), tasks(1)) == ["Score: 2"]
        assert store.adopt("m", server.url) == 2  # of the other two
        assert texts(Live("m", store), tasks(3)) == [
            "Score: 2",
            "Score: 4, item1",
            "Score: 4, item2",
        ]
        assert store.endpoints() == {("m", server.url): 3, ("m", UNKNOWN_ENDPOINT): 1}


def test_an_old_export_is_kept_under_an_unknown_endpoint_and_a_new_one_under_its_own(
    serve, store, tmp_path
):
    server = serve(says(2))
    texts(Live("m", store), tasks(1))
    store.export(tmp_path / "new.jsonl")
    request = tasks(2)[1].request("m")
    line = {
        "key": key(request),
        "sample": 0,
        "text": "Score: 5",
        "reason": "",
        "logprobs": [],
        "prompt_tokens": 1,
        "completion_tokens": 1,
        "cost": None,
        "model": "m",
        "fingerprint": "",
        "request": request,
    }
    (tmp_path / "old.jsonl").write_text(json.dumps(line) + "\n")
    with Store(tmp_path / "other.sqlite") as other:
        for name in ("new.jsonl", "old.jsonl"):
            other.load(tmp_path / name)
        assert other.endpoints() == {("m", server.url): 1, ("m", UNKNOWN_ENDPOINT): 1}
        assert Live("m", other).server.request(tasks(1)[0])[1] in {row[0] for row in other.rows()}


def test_a_replay_of_a_store_with_two_endpoints_must_name_one(serve, store, monkeypatch):
    one, other = serve(says(2)), serve(says(5))
    for server in (one, other):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        texts(Live("m", store), tasks(2))
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(
        ValueError, match="holds replies of m from 2 endpoints: name one of m@http"
    ) as caught:
        ReplayStore(store, "m")
    assert f"m@{one.url} (2 replies)" in str(caught.value) and f"m@{other.url} (2" in str(
        caught.value
    )
    assert texts(ReplayStore(store, f"m@{one.url}/"), tasks(2)) == ["Score: 2"] * 2
    assert texts(get_judge(f"replay:{store.path}:m@{other.url}"), tasks(2)) == ["Score: 5"] * 2
    with pytest.raises(ValueError, match="and none from http://elsewhere/v1; there are m@http"):
        ReplayStore(store, "m@http://elsewhere/v1")
    with pytest.raises(ValueError, match="and none from unknown; there are m@http"):
        ReplayStore(store, "m@unknown")


def test_a_replay_of_a_store_with_one_endpoint_needs_no_name(serve, store, old):
    serve(says(2))
    texts(Live("m@2024", store), tasks(1))  # a model's own name may hold an @
    assert texts(ReplayStore(store, "m@2024"), tasks(1)) == ["Score: 2"]
    with Store(old) as unknown:
        assert texts(ReplayStore(unknown, "m"), tasks(3)) == [
            f"Score: 4, item{i}" for i in range(3)
        ]


def test_a_batch_of_another_endpoint_is_left_alone(serve, store):
    server = serve(lambda *_: (404, {"error": {"message": "no such batch"}}))
    store.note_batch("batch_1", 1, "submitted", ["k"], "https://elsewhere.example/v1")
    assert Batch("m", store).collect() == {} and server.requests == []
    store.note_batch("batch_2", 1, "submitted", ["k"], server.url)
    with pytest.raises(JudgeError, match="could not be collected: no such batch"):
        Batch("m", store).collect()
