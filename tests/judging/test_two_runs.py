"""Two runs on one store pay once: who asks what is claimed, and a run that was killed blocks nobody."""

import json
import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from loopback import completion, error
from nlgjudge.judging import claims
from nlgjudge.judging.claims import Claims
from nlgjudge.judging.live import Limits, Live
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task

# So many runs at once, each in a process of its own, and all of them ended when the first one ends.
RUN = """
import os, sys, warnings
from pathlib import Path
from nlgjudge.judging.live import Live
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task
warnings.simplefilter("ignore")
number, runs = int(sys.argv[2]), int(sys.argv[3])
Path(sys.argv[1]).with_name("pid").write_text(str(os.getpid()))
tasks = [Task(f"item{i}", "a", f"Rate text {i}.", {}, (1, 5), "form") for i in range(number)]
others = [os.fork()] if runs == 2 else []
with Store(sys.argv[1]) as store:
    live = Live("m", store, concurrency=16)
    right = sum(reply.text.endswith("Score: 4") for reply in live.replies(tasks))
os.write(1, f"{right}\\n".encode())  # in one piece, where several runs share a file
if others == [0]:
    os._exit(0)
for other in others:
    os.waitpid(other, 0)
"""


def tasks(number):
    return [Task(f"item{i}", "a", f"Rate text {i}.", {}, (1, 5), "form") for i in range(number)]


def words(body):
    return json.loads(body)["messages"][0]["content"]


def right(_, __, body):
    return completion([f"{words(body)} Score: 4"] * json.loads(body).get("n", 1))


def asked(server):
    """How many samples each prompt was asked for."""
    samples = Counter()
    for body in server.requests:
        samples[words(body)] += json.loads(body).get("n", 1)
    return samples


def test_two_runs_at_once_pay_once_and_both_have_all(serve, commands, tmp_path):
    server = serve(right, delay=0.05)
    both = commands.run("-c", RUN, str(tmp_path / "replies.sqlite"), "360", "2")
    assert both.stdout == "360\n" * 2, both.stderr
    assert asked(server) == {f"Rate text {i}.": 1 for i in range(360)}


def test_two_runs_ask_again_once(serve, tmp_path, recwarn):
    """A reply of no use is asked for again by one run at a time, and both use what it brings."""
    seen = Counter()

    def answer(_, __, body):
        seen[words(body)] += 1
        return completion(["It is good." if seen[words(body)] < 3 else "Score: 4"])

    server = serve(answer, delay=0.03)
    stores = [Store(tmp_path / "replies.sqlite") for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        found = list(
            pool.map(
                lambda store: [reply.text for reply in Live("m", store).replies(tasks(12))], stores
            )
        )
    assert found == [["Score: 4"] * 12] * 2 and len(server.requests) == 36
    for store in stores:
        store.close()


def test_the_other_run_is_named_once(serve, store):
    serve(right, delay=0.2)
    with Claims(store.path) as other, ThreadPoolExecutor(1) as pool:
        live = Live("m", store)
        digest = live.server.request(tasks(1)[0])[1]
        assert other.take(digest)
        with pytest.warns(
            UserWarning, match="another run on replies.sqlite was asking 1 of these items"
        ):
            waiting = pool.submit(list, live.replies(tasks(3)))
            while live.server.calls < 2:
                time.sleep(0.01)
            time.sleep(0.5)
            assert live.server.calls == 2  # the claimed one is left to the other
            other.give_back([digest])
            assert len(waiting.result(60)) == 3
    assert live.server.calls == 3  # the other gave it back without a reply


def test_a_limit_does_not_wait_for_another_run(serve, store):
    serve(right)
    with Claims(store.path) as other:
        live = Live("m", store, limits=Limits(calls=2))
        assert other.take(live.server.request(tasks(1)[0])[1])
        with pytest.warns(UserWarning, match="limit of 2 calls"):
            found = [reply.reason for reply in live.replies(tasks(5))]
    assert found == ["not asked", "", "", "not asked", "not asked"]


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="elsewhere a claim has to expire")
def test_a_killed_run_blocks_nobody(serve, commands, tmp_path):
    server = serve(right, delay=30)
    path = tmp_path / "replies.sqlite"
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(commands.run, "-c", RUN, str(path), "10", "1")
        while not server.requests:
            assert not killed.done()
            time.sleep(0.01)
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        assert killed.result(600).returncode == -signal.SIGKILL
    server.delay = 0
    began = len(server.requests)
    with Store(path) as store, Claims(path) as other:
        assert other.is_taken(Live("m", store).server.request(tasks(1)[0])[1]) is False
        assert all(reply.text for reply in Live("m", store).replies(tasks(10)))
    assert len(server.requests) == began + 10


def test_a_run_that_failed_gives_its_claims_back(serve, store):
    serve(lambda *_: error(401, "no"))
    with pytest.raises(Exception, match="401"):
        list(Live("m", store).replies(tasks(3)))
    serve(right)
    with Claims(store.path) as other:
        digests = [Live("m", store).server.request(task)[1] for task in tasks(3)]
        assert other.take_all(digests) == set(digests)


# Claims by themselves.


def test_a_claim_is_one_runs_until_it_is_given_back(store):
    with Claims(store.path) as one, Claims(store.path) as other:
        assert one.take("a") and one.is_taken("a") and other.is_taken("a")
        assert not other.take("a") and not one.take("a")
        assert other.take_all(["a", "b"]) == {"b"}
        other.give_back(["a"])  # not its own
        assert other.is_taken("a")
        one.give_back(["a"])
        assert other.take("a")
    with Claims(store.path) as third:
        assert third.take_all(["a", "b"]) == {"a", "b"}  # what ends gives all back


def test_a_claim_expires_where_nobody_renews_it(store, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(claims.time, "time", lambda: now[0])
    with Claims(store.path, seconds=60) as one, Claims(store.path, seconds=60) as other:
        assert one.take("a") and one.take("b")
        now[0] += 40
        one.renew()
        now[0] += 40
        assert other.is_taken("a") and not other.take("a")
        now[0] += 21
        assert not other.is_taken("a") and other.take("a")
        one.renew()  # too late: "a" is the other's
        one.give_back(["a"])
        assert other.is_taken("a") and one.take("a") is False


def test_what_is_not_known_of_a_process_is_left_to_the_expiry(store, monkeypatch):
    """Another machine, another container or another system: its numbers of processes mean nothing here."""
    with Claims(store.path) as one, Claims(store.path) as other:
        assert one.take("a")
        monkeypatch.setattr(
            claims, "_started", lambda number: ""
        )  # nobody lives, as far as is known here
        monkeypatch.setattr(claims, "_machine", lambda: "elsewhere")
        assert other.is_taken("a") and not other.take("a")
        monkeypatch.setattr(claims, "_machine", lambda: "")
        assert other.is_taken("a")
