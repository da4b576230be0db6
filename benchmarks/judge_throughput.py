"""How fast the live judge is, and what limits it: the server's latency or this machine's CPU.

Serves a loopback endpoint of 200 ms latency in a process of its own, judges through it at
concurrency 64, each run in a fresh process, and prints a table. Also the speed of the parser
on replies made up here. ``python benchmarks/judge_throughput.py [--full] [--calls N]``
"""

import argparse
import contextlib
import json
import os
import random
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import options, record

from nlgjudge.judging.tasks import Task

LATENCY, CONCURRENCY = 0.2, 64
LOOPBACK = Path(__file__).resolve().parents[1] / "tests" / "loopback.py"
WORDS = ("the", "summary", "covers", "main", "points", "of", "article", "but", "leaves", "out", "when", "and")


class Stream:
    """Tasks made as they are read, each with a prompt of some 2,000 characters."""

    def __init__(self, number, n):
        self.number, self.n = number, n

    def __len__(self):
        return self.number

    def __iter__(self):
        body = " ".join(random.Random(0).choices(WORDS, k=400))
        for i in range(self.number):
            text = f"Rate summary {i} from 1 to 5.\n{body}"
            yield Task(f"item{i}", "coherence", text, {}, (1, 5), "form", self.n,
                       {"temperature": 1, "max_tokens": 20})


def serve():
    """Answer until the standard input ends."""
    helpers = runpy.run_path(str(LOOPBACK))
    server = helpers["Loopback"](None, delay=LATENCY)

    def answer(_, __, body):
        server.requests.clear()
        server.headers.clear()
        return helpers["completion"]([f"Score: {1 + i % 5}" for i in range(json.loads(body).get("n", 1))])

    server.answer = answer
    with server:
        print(server.url, flush=True)
        sys.stdin.read()


def client(number, n):
    """Judge, and print what it took as JSON."""
    from nlgjudge.judging.live import Live  # a second, which no other process here need spend
    from nlgjudge.judging.store import Store

    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "replies.sqlite") as store:
        live = Live("test-model", store, concurrency=CONCURRENCY)
        start, used = time.perf_counter(), time.process_time()
        replies = sum(1 for reply in live.replies(Stream(number, n)) if reply.text)
        wall, cpu = time.perf_counter() - start, time.process_time() - used
        assert replies == number * n and live.server.calls == number, (replies, live.server.calls)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"calls": number, "n": n, "wall": wall, "cpu": cpu, "peak": peak}))


@contextlib.contextmanager
def served():
    """Address of a server in a process of its own."""
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as server:
        yield server.stdout.readline().strip()
        server.stdin.close()


def measure(address, *runs):
    """Run `client` for each number of calls and n, one after the other in one process, against that server."""
    environment = os.environ | dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1") | {
        "OPENAI_BASE_URL": address, "OPENAI_API_KEY": "none"}
    sizes = [str(size) for run in runs for size in run]
    done = subprocess.run([sys.executable, __file__, "--client", *sizes], env=environment, check=True,
                          stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def parser_speed(number):
    """Distinct replies parsed a second: short ones, and ones with a rationale."""
    from nlgjudge.judging.parsing import parse_all

    rng = random.Random(0)
    words = [f"{WORDS[i % 12]}{chr(97 + i % 26)}{'x' * (i // 312)}" for i in range(number)]
    short = [f"- Coherence: {rng.randint(1, 5)}, {word}" for word in words]
    long = [f"{' '.join(rng.choices(WORDS, k=60))}.\nRating: {rng.randint(1, 5)}" for _ in range(number)]
    for name, texts in (("short", short), ("with a rationale", long)):
        start = time.perf_counter()
        unread = parse_all(texts)["score"].isna().sum()
        print(f"parser, {name:<16} {len(texts) / (time.perf_counter() - start):10,.0f} replies/s "
              f"({unread} unread of {len(texts):,})")


def main():
    parser = options(__doc__)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--full", action="store_true", help="100,000 tasks for the memory, not 20,000")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--client", type=int, nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
        return
    if chosen.client:
        for number, n in zip(chosen.client[::2], chosen.client[1::2]):
            client(number, n)
        return
    ideal = CONCURRENCY / LATENCY
    print(f"{'tasks':>8} {'n':>3} {'calls/s':>8} {'of ideal':>9} {'items/s':>8} {'samples/s':>10} "
          f"{'CPU ms/call':>12} {'CPU use':>8} {'peak MiB':>9}")
    first, last = (20, 100) if chosen.quick else (chosen.calls, 100_000 if chosen.full else 20_000)
    wanted = [(first, 1), (first, 20), (last, 1)]
    with served() as address:
        runs = measure(address, *wanted) if chosen.quick else [measure(address, one)[0] for one in wanted]
    for run in runs:
        rate = run["calls"] / run["wall"]
        print(f"{run['calls']:8,} {run['n']:3} {rate:8.0f} {rate / ideal:9.0%} {rate:8.0f} "
              f"{rate * run['n']:10.0f} {1000 * run['cpu'] / run['calls']:12.2f} "
              f"{run['cpu'] / run['wall']:8.0%} {run['peak']:9.0f}")
        record(f"{run['calls']:,} calls, n = {run['n']}; theirs: the ideal, {CONCURRENCY} calls every "
               f"{LATENCY * 1000:.0f} ms", rate, ideal, "calls/s")
    limit = "this machine's CPU" if runs[0]["cpu"] / runs[0]["wall"] > 0.9 else "the server's latency"
    steady = (runs[2]["calls"] - runs[0]["calls"]) / (runs[2]["wall"] - runs[0]["wall"])
    print(f"ideal {ideal:.0f} calls/s, {CONCURRENCY} at {LATENCY * 1000:.0f} ms; once started {steady:.0f} "
          f"calls/s, {steady / ideal:.0%}; limited by {limit}")
    print(f"peak memory {runs[2]['peak'] - runs[0]['peak']:+.0f} MiB from {runs[0]['calls']:,} to "
          f"{runs[2]['calls']:,} tasks")
    parser_speed(200 if chosen.quick else 20_000)


if __name__ == "__main__":
    main()
