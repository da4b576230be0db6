"""A served model as a judge: planned, bounded, stored, resumed.

Every reply is on disk before the worker that asked for it goes on, so a killed run loses no
more than the calls under way, and the same call goes on where it stopped.
"""

import asyncio
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from tqdm import tqdm

from nlgjudge.judging.server import MALFORMED, CallFailed, JudgeError, Malformed, Server

CONCURRENCY = 64
GIVE_UP = 20  # failed items in a row


class Limits(NamedTuple):
    """What a judge may use in its lifetime; None means no limit.

    Attributes
    ----------
    calls : int
        Calls at most.
    cost : float
        In the price's currency; needs a price. The call that reaches it is the last; calls
        under way count as much as the mean of those before.
    per_minute, tokens_per_minute : float
        Calls and prompt tokens a minute at most.
    price : (float, float)
        Of a million prompt and a million completion tokens.
    """

    calls: int | None = None
    cost: float | None = None
    per_minute: float | None = None
    tokens_per_minute: float | None = None
    price: tuple | None = None


_NO_LIMITS = Limits()


class Live:
    """A model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    model : str
    store : nlgjudge.judging.store.Store
    limits : Limits
    concurrency : int
        Calls under way at once.
    timeout : float
        Seconds that one call may take.
    progress : bool
        Show a bar with rate, errors and cost.
    """

    def __init__(self, model, store, *, limits=_NO_LIMITS, concurrency=CONCURRENCY, timeout=60,
                 progress=False):
        if limits.cost is not None and not limits.price:
            raise JudgeError("a limit on cost needs a price: say what a million prompt and a million "
                             "completion tokens cost")
        self.name, self.store, self.limits = f"openai:{model}", store, limits
        self.server = Server(model, timeout=timeout)
        self.concurrency, self.progress = concurrency, progress
        self.cost, self.failures, self.stopped = 0.0, 0, ""
        self._answered = 0

    def replies(self, tasks):
        """Judge tasks, then yield their replies in order, stored ones at no cost.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task
            Read twice, as a list or a `Tasks` can be.

        Yields
        ------
        nlgjudge.judging.tasks.Reply
            A sample that could not be had says so in `reason`.

        Raises
        ------
        JudgeError
            For a wrong key, an unknown model, an empty account, or too many failures.
        """
        self._wait(tasks)
        yield from self.server.stored(self.store, tasks)

    def plan(self, tasks):
        """Say what a run would take.

        Returns
        -------
        dict
            `tasks, samples, cached, calls` (one a task where the server takes `n`),
            `prompt_tokens, completion_tokens` (estimated at four characters a token) and
            `cost` (None without a price).
        """
        plan = dict.fromkeys(("tasks", "samples", "cached", "calls", "prompt_tokens", "completion_tokens"), 0)
        for task in tasks:
            _, digest, n = self.server.request(task)
            missing = n - len(self.store.get(digest))
            plan["tasks"] += 1
            plan["samples"] += n
            plan["cached"] += n - missing
            plan["calls"] += missing > 0
            plan["prompt_tokens"] += _tokens(task) * (missing > 0)
            plan["completion_tokens"] += missing * task.settings.get("max_tokens", 256)
        return plan | {"cost": self._cost(plan["prompt_tokens"], plan["completion_tokens"])}

    def _wait(self, tasks):
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._run(tasks))
        with ThreadPoolExecutor(1) as pool:  # a notebook runs a loop already
            run = pool.submit(asyncio.run, self._run(tasks))
            try:
                return run.result()
            except KeyboardInterrupt:
                self._cancel()
                raise

    async def _run(self, tasks):
        self._cancel = partial(asyncio.get_running_loop().call_soon_threadsafe, asyncio.current_task().cancel)
        self._writes, self._turn = asyncio.Queue(), asyncio.Lock()
        self._in_a_row, self._due, self._under_way, self.stopped = 0, 0.0, 0, ""
        size = len(tasks) if hasattr(tasks, "__len__") else None
        writer = asyncio.create_task(self._write())
        try:
            with tqdm(total=size, unit="item", desc="judging", disable=not self.progress) as self._bar:
                async with self.server.client() as client:
                    await self._all(client, tasks)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            await self._writes.put(None)
            await writer
        if self.stopped:
            warnings.warn(f"{self.name} stopped before the end: {self.stopped}; what is stored stays, and "
                          "another run goes on from there", stacklevel=3)

    async def _all(self, client, tasks):
        while True:
            self._todo, self._asked_as = iter(tasks), set()
            # The first call alone: a wrong key or model shows once, and so does what the
            # server supports.
            await self._work(client, until_asked=True)
            async with asyncio.TaskGroup() as group:
                for _ in range(self.concurrency):
                    group.create_task(self._work(client))
            if self.stopped or self._asked_as <= {len(self.server.notices)}:
                return
            # A later answer showed what the server does not support: once more from the start,
            # so that all items are asked alike.
            self._bar.reset()

    async def _work(self, client, until_asked=False):
        for task in self._todo:
            before = self.server.calls
            try:
                await self._finish(client, task)
                self._in_a_row = 0
                self._asked_as.add(len(self.server.notices))
            except CallFailed as error:
                self.failures += 1
                self._in_a_row += 1
                if self._in_a_row >= GIVE_UP:
                    raise JudgeError(f"{GIVE_UP} items failed in a row, the last with: {error}; what is "
                                     "stored stays") from None
            self._bar.set_postfix(calls=self.server.calls, errors=self.failures, cost=f"{self.cost:.4f}",
                                  refresh=False)
            self._bar.update()
            if self.stopped or (until_asked and self.server.calls > before):
                return

    async def _finish(self, client, task):
        """Ask until the task has its samples or a limit is reached."""
        malformed = 0
        while True:
            request, digest, n = self.server.request(task)
            have = self.store.get(digest)
            missing = [i for i in range(n) if i not in have]
            if not missing:
                return
            async with self._turn:  # one waits for the pace, so that the others see a limit at once
                if not self._at_limit():
                    await self._pace(_tokens(task))
                if self._at_limit():
                    return
            try:
                found = await self._ask(client, request, len(missing))
            except Malformed as error:
                malformed += 1
                if malformed == MALFORMED:
                    raise CallFailed(f"{error}, {MALFORMED} times") from None
                continue
            if found is not None:
                await self._keep({digest: request}, [reply | {"key": digest, "sample": i}
                                                     for i, reply in zip(missing, found)])
                if len(found) == len(missing):
                    return

    async def _ask(self, client, request, count):
        self._under_way += 1
        try:
            found = await self.server.ask(client, request, count)
        finally:
            self._under_way -= 1
        for reply in found or []:
            reply["cost"] = self._cost(reply["prompt_tokens"], reply["completion_tokens"])
            self.cost += reply["cost"] or 0
        self._answered += found is not None
        return found

    async def _keep(self, requests, rows):
        done = asyncio.get_running_loop().create_future()
        await self._writes.put((done, requests, rows))
        await done

    async def _write(self):
        """Store replies as they come, several to a commit, and release their workers."""
        more = True
        while more and (first := await self._writes.get()) is not None:
            group = [first]
            while more and not self._writes.empty():
                part = self._writes.get_nowait()
                more = part is not None
                group += [part] if more else []
            requests = {k: r for _, part, _ in group for k, r in part.items()}
            try:
                # Not in a thread: the wait for the interpreter's lock there is longer than the write.
                self.store.add(requests, [r for *_, part in group for r in part])
            except Exception as error:  # a full disk, say: each worker gets it
                outcome = error
            else:
                outcome = None
            for done, *_ in group:
                if not done.done():  # its worker may have been cancelled
                    done.set_exception(outcome) if outcome else done.set_result(None)

    async def _pace(self, tokens):
        """Wait until one more call keeps the run below its rates."""
        waits = [60 / self.limits.per_minute if self.limits.per_minute else 0,
                 60 * tokens / self.limits.tokens_per_minute if self.limits.tokens_per_minute else 0]
        now = time.monotonic()
        due, self._due = max(self._due, now), max(self._due, now) + max(waits)
        if due > now:
            await asyncio.sleep(due - now)

    def _at_limit(self):
        calls, cost = self.limits.calls, self.limits.cost
        if calls is not None and self.server.calls >= calls:
            self.stopped = f"{calls} calls were allowed"
        elif cost is not None and self.cost * (1 + self._under_way / max(self._answered, 1)) >= cost:
            self.stopped = f"the cost reached {self.cost:.4f} of {cost}, {self._under_way} under way"
        return bool(self.stopped)

    def _cost(self, prompt, completion):
        price = self.limits.price
        return (prompt * price[0] + completion * price[1]) / 1e6 if price and prompt is not None else None


def _tokens(task):
    """Tokens of a prompt, estimated."""
    return len(task.text) // 4 + 1
