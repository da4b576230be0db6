"""Six kills in a run of 400 calls: nothing is lost that was stored, nothing is asked twice."""

import json
import os
import random
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from loopback import Loopback, completion

CALLS, KILLS, CONCURRENCY = 400, 6, 16
RUN = f"""
import os, sys
from pathlib import Path
from nlgjudge.judging.live import Live
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Task
Path(sys.argv[2]).write_text(str(os.getpid()))
tasks = [Task(f"item{{i}}", "coherence", f"Rate text {{i}}.", {{}}, (), "text") for i in range({CALLS})]
with Store(sys.argv[1]) as store:
    for reply in Live("m", store, concurrency={CONCURRENCY}).replies(tasks):
        assert reply.text.startswith(f"Rate text {{reply.item_id[4:]}}. answer "), reply
"""


def stored(path):
    """Rows of the store: prompt, sample, text."""
    with closing(sqlite3.connect(path)) as database:
        return [
            (json.loads(request)["messages"][0]["content"], sample, text)
            for request, sample, text in database.execute(
                "SELECT request, sample, text FROM replies JOIN requests USING (key)"
            )
        ]


def test_kills_and_resumption(tmp_path, commands):
    path, number, sent, left = tmp_path / "replies.sqlite", tmp_path / "pid", {}, []
    rng = random.Random(20240229)
    moments = sorted(rng.sample(range(1, CALLS - 100), KILLS))

    def answer(called, _, body):
        """Behind the last moment but some are answered late, so that no run ends before it is killed."""
        prompt = json.loads(body)["messages"][0]["content"]
        sent[called] = (prompt, 0, f"{prompt} answer {called}")
        due = len(left) == KILLS or called < moments[len(left)] + 50
        return 200, completion([sent[called][2]]), {} if due else {"delay": 60}

    def run():
        """A run in a process of its own; what it returned."""
        return commands.run(
            "-c",
            RUN,
            str(path),
            str(number),
            OPENAI_BASE_URL=server.url,
            OPENAI_API_KEY="none",
            NO_PROXY="127.0.0.1",
            no_proxy="127.0.0.1",
        ).returncode

    with Loopback(answer, delay=0.02) as server, ThreadPoolExecutor(1) as pool:
        for moment in moments:
            begun = len(server.requests)
            ended = pool.submit(run)
            while len(server.requests) <= max(moment, begun) and not ended.done():
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.03))
            os.kill(int(number.read_text()), signal.SIGKILL)
            left.append(ended.result(600))
        left.append(run())
    assert left == [-signal.SIGKILL] * KILLS + [0]
    rows, answers = stored(path), set(sent.values())
    assert (
        len(rows) == CALLS == len({prompt for prompt, *_ in rows})
    )  # nothing lost, nothing doubled
    assert set(rows) <= answers  # each text is what the server sent for that prompt
    assert len(sent) == len(server.requests) == len(answers)
    lost = answers - set(rows)  # calls under way at a kill, the only ones that are paid twice
    assert len(sent) == CALLS + len(lost) and KILLS <= len(lost) <= KILLS * CONCURRENCY
