"""Six kills in a run of 1,000 calls: nothing is lost that was stored, nothing is asked twice."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager

from loopback import Loopback, completion

CALLS, KILLS, CONCURRENCY = 1000, 6, 16
RUN = f"""
import os, sys
from nlgjudge.judging.live import Live
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task
tasks = [Task(f"item{{i}}", "coherence", f"Rate text {{i}}.", {{}}, (), "text") for i in range({CALLS})]
for line in sys.stdin:
    if child := os.fork():
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    with Store(sys.argv[1]) as store:
        for reply in Live("m", store, concurrency={CONCURRENCY}).replies(tasks):
            assert reply.text.startswith(f"Rate text {{reply.item_id[4:]}}. answer "), reply
    os._exit(0)
"""


@contextmanager
def runner(path, server):
    """A process that starts runs, each in a process of its own, without importing everything each time."""
    environment = os.environ | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none",
                                "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    with subprocess.Popen([sys.executable, "-c", RUN, path], env=environment, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.stdin.close()


def start(process):
    """Start a run; return the number of its process."""
    process.stdin.write("run\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def stored(path):
    """Rows of the store: prompt, sample, text."""
    with closing(sqlite3.connect(path)) as database:
        return [(json.loads(request)["messages"][0]["content"], sample, text) for request, sample, text in
                database.execute("SELECT request, sample, text FROM replies JOIN requests USING (key)")]


def test_kills_and_resumption(tmp_path):
    path, sent, left = tmp_path / "replies.sqlite", {}, []
    rng = random.Random(20240229)
    moments = sorted(rng.sample(range(1, CALLS - 100), KILLS))

    def answer(number, _, body):
        """Behind the last moment but some are answered late, so that no run ends before it is killed."""
        prompt = json.loads(body)["messages"][0]["content"]
        sent[number] = (prompt, 0, f"{prompt} answer {number}")
        due = len(left) == KILLS or number < moments[len(left)] + 50
        return 200, completion([sent[number][2]]), {} if due else {"delay": 60}

    with Loopback(answer, delay=0.02) as server, runner(path, server) as process:
        for moment in moments:
            child, end = start(process), time.monotonic() + 600
            while len(server.requests) < moment and time.monotonic() < end:
                time.sleep(0.001)
            assert len(server.requests) >= moment
            time.sleep(rng.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
            left.append(int(process.stdout.readline()))
        start(process)
        left.append(int(process.stdout.readline()))
    assert left == [-signal.SIGKILL] * KILLS + [0]
    rows, answers = stored(path), set(sent.values())
    assert len(rows) == CALLS == len({prompt for prompt, *_ in rows})  # nothing lost, nothing doubled
    assert set(rows) <= answers  # each text is what the server sent for that prompt
    assert len(sent) == len(server.requests) == len(answers)
    lost = answers - set(rows)  # calls under way at a kill, the only ones that are paid twice
    assert len(sent) == CALLS + len(lost) and KILLS <= len(lost) <= KILLS * CONCURRENCY
