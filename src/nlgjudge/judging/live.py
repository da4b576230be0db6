"""A served model as a judge: planned, bounded, stored, resumed.

Every reply is on disk before the worker that asked for it goes on. A killed run loses no more than the calls
in flight, and the same call goes on from there. Retries, Retry-After and timeouts are the openai client's.
"""

import asyncio
import threading
import time
import warnings
from collections import Counter

from tqdm import tqdm

from nlgjudge.judging.judge import Budget, JudgeError
from nlgjudge.judging.planning import CHARACTERS, prompt_tokens
from nlgjudge.judging.served import Served, estimate
from nlgjudge.judging.server import (
    REFUSING,
    REJECTING,
    CallFailed,
    Loading,
    Malformed,
    client,
    explained,
    filtered,
    is_filtered,
    replies_in,
)
from nlgjudge.judging.tasks import NOT_ANSWERED, NOT_ASKED

CONCURRENCY = 64
RETRIES = 6  # by the client, which honours Retry-After
FIRST_RETRIES = 2  # while no server has answered
TRIES = 3  # at an answer with status 200 that holds no reply
PAUSE = 1.0  # seconds before the second of them, twice that before the third
GIVE_UP = 20  # failed requests in a row
LOADING = 300  # seconds for a server to load its model


class Live(Served):
    """A model that is asked through an OpenAI-compatible endpoint.

    Parameters
    ----------
    model, store, price
        As for `nlgjudge.judging.served.Served`.
    budget
        A `nlgjudge.judging.judge.Budget`: stop where it ends. A call in flight counts as the mean of this judge's
        calls before. If the server reports no token usage, four characters count as a token.
    concurrency
        Calls in flight at once.
    timeout
        Seconds without an answer after which the client tries again.
    progress
        Show a bar with calls, cost, errors and the time left.
    """

    def __init__(
        self,
        model,
        store,
        *,
        price=None,
        budget=None,
        concurrency=CONCURRENCY,
        timeout=60,
        progress=False,
    ):
        super().__init__(model, store, price)
        self.budget = budget or Budget()
        if self.budget.max_cost is not None and price is None:
            raise JudgeError(
                "a limit on cost needs a price: pass what a million prompt and a million completion "
                "tokens cost (price=, --price)"
            )
        self.name = f"openai:{model}"
        self.concurrency = concurrency
        self.timeout = timeout
        self.progress = progress
        self.spent = dict.fromkeys(("calls", "prompt_tokens", "completion_tokens"), 0)
        self.reasons = Counter()
        self._answered = 0
        self._in_flight = 0

    def replies(self, tasks):
        """Ask for what is not stored, then yield all replies in order.

        A sample without a reply says why in `reason`: `not answered` if its call failed, `not asked` if the run
        stopped at a limit before.

        Raises
        ------
        JudgeError
            If the server cannot be reached, refuses the key or the model, or answers no request.
        """
        requests = [(self.key(task), task) for task in tasks]
        self.stopped = ""
        to_ask = self._to_ask(requests)
        if to_ask:
            with self.store.asking():
                to_ask = self._to_ask(to_ask.items())  # without what another run stored meanwhile
                failed = self.failures, self.reasons.copy()
                _run(self._ask_all(to_ask))
            self._say_failures(len(to_ask), *failed)
        if self.stopped:
            warnings.warn(
                f"{self.name} stopped before the end: {self.stopped}; what is stored stays, and "
                "another run goes on from there",
                stacklevel=2,
            )
        yield from self.stored_at(requests, NOT_ASKED if self.stopped else NOT_ANSWERED)

    def _to_ask(self, requests):
        """By key, the tasks that lack samples; equal requests are asked once."""
        to_ask = {}
        for digest, task in requests:
            is_asked = digest in to_ask and to_ask[digest].n >= task.n
            if not is_asked and self.missing(task, self.store.get(digest)):
                to_ask[digest] = task
        return to_ask

    def _say_failures(self, asked, before, reasons):
        failed = self.failures - before
        if not failed:
            return
        (most, _), *_ = (self.reasons - reasons).most_common(1)
        if not self._has_answered() and not self.stopped:
            raise JudgeError(f"no request was answered: {failed} failed, most often with: {most}")
        warnings.warn(
            f"{self.name}: {failed} of {asked} requests failed, most often with: {most}; another run "
            "asks for them again",
            stacklevel=3,
        )

    async def _ask_all(self, to_ask):
        self._in_a_row = 0
        shared = iter(to_ask.items())
        options = {"max_retries": RETRIES, "timeout": self.timeout}
        with tqdm(total=len(to_ask), unit="request", disable=not self.progress) as self._bar:
            async with client("Async", self.base_url, **options) as connected:
                # The first call alone: it shows a wrong key or model, and what the server rejects.
                await self._work(connected, shared, only_one=True)
                try:
                    async with asyncio.TaskGroup() as group:
                        for _ in range(min(self.concurrency, len(to_ask))):
                            group.create_task(self._work(connected, shared))
                except ExceptionGroup as errors:
                    raise errors.exceptions[0] from None

    async def _work(self, connected, shared, only_one=False):
        """Complete one request after the other; all workers share the iterator."""
        for digest, task in shared:
            try:
                await self._complete(connected, digest, task)
                self._in_a_row = 0
            except CallFailed as error:
                self.failures += 1
                self.reasons[str(error)] += 1
                self._in_a_row += 1
                if self._in_a_row >= GIVE_UP:
                    raise JudgeError(
                        f"{GIVE_UP} requests failed in a row, the last with: {error}; what is stored stays"
                    ) from None
            self._bar.update()
            state = {"calls": self.spent["calls"], "cost": f"{self.cost:.4f}"}
            self._bar.set_postfix(state | {"errors": self.failures}, refresh=False)
            if self.stopped or only_one:
                return

    async def _complete(self, connected, digest, task):
        """Call the server until a request has its samples, or a limit is reached."""
        malformed = 0
        while missing := self.missing(task, self.store.get(digest)):
            if "logprobs" in self.dropped & {*task.settings}:
                await self._estimate(connected, digest, task)
                return
            if not await self._may_call():
                return
            body, changes = self.body(task, len(missing))
            try:
                replies = await self._call(connected, body)
            except Malformed as error:
                malformed += 1
                if malformed == TRIES:
                    raise CallFailed(f"{error} ({TRIES} times)") from None
                await asyncio.sleep(PAUSE * malformed)
                continue
            if replies is None:  # the server rejects a parameter, which the next call leaves out
                continue
            self._pay(task, replies)
            if self.compare(body, replies):
                changed = [reply | {"changes": changes} for reply in replies]
                self.store.add(digest, self.asked(task), dict(zip(missing, changed)))

    async def _estimate(self, connected, digest, task):
        """Complete the samples that estimate token probabilities; another row may have asked for the same."""
        instead = estimate(task)
        place = self.key(instead)
        await self._complete(connected, place, instead)
        have = self.store.get(place)
        if self.missing(instead, have):
            return
        _, changes = self.body(task, instead.n)
        paid = dict.fromkeys(("cost", "prompt_tokens", "completion_tokens"))  # with the samples
        copies = {sample: reply | paid | {"changes": changes} for sample, reply in have.items()}
        self.store.add(digest, self.asked(task), copies)

    async def _call(self, connected, body):
        """Replies of one call; None if the server rejects a parameter."""
        self.spent["calls"] += 1
        self.budget.calls += 1
        self._in_flight += 1
        try:
            replies = await self._when_loaded(connected, body)
        finally:
            self._in_flight -= 1
        self._answered += replies is not None
        return replies

    async def _when_loaded(self, connected, body):
        """Send a body as long as the server says that it is still loading its model."""
        began = time.monotonic()
        while True:
            try:
                return await self._post(connected, body)
            except Loading as error:
                if time.monotonic() - began > LOADING:
                    raise JudgeError(f"the server is still loading its model: {error}") from None
            minutes = LOADING // 60
            self.say(f"the server is loading its model: waiting, {minutes} minutes at most")
            await asyncio.sleep(5 * PAUSE)

    async def _post(self, connected, body):
        import openai  # takes a second, which a plan need not pay

        if not self._answered:
            connected = connected.with_options(max_retries=min(FIRST_RETRIES, RETRIES))
        try:
            return replies_in(await connected.post("/chat/completions", body=body, cast_to=bytes))
        except openai.APIConnectionError as error:
            failed = explained(error, self.model, self.endpoint)
            if self._answered or isinstance(error, openai.APITimeoutError):
                raise failed from None
            raise JudgeError(f"{failed}: check the network and OPENAI_BASE_URL") from None
        except openai.APIStatusError as error:
            if error.status_code in REFUSING and is_filtered(error):
                return [filtered() for _ in range(body.get("n", 1))]
            if error.status_code in REJECTING and self.adapt(error, body):
                return None
            raise explained(error, self.model, self.endpoint, self._has_answered()) from None

    def _has_answered(self):
        """Whether the model ever answered, in this run or one before."""
        return self._answered or (self.model, self.endpoint) in self.store.endpoints(self.model)

    def _pay(self, task, replies):
        """Count what replies cost; without usage, at four characters a token as the plan does."""
        for reply in replies:
            prompt, completion = reply.get("prompt_tokens"), reply.get("completion_tokens")
            self.spent["prompt_tokens"] += prompt or 0
            self.spent["completion_tokens"] += completion or 0
            if self.price is None:
                continue
            if prompt is None or completion is None:
                prompt = prompt_tokens(task) / len(replies)
                completion = len(reply["text"]) / CHARACTERS + 1
                self.say(
                    "the server reports no token usage: cost counts four characters as a token"
                )
            reply["cost"] = (prompt * self.price[0] + completion * self.price[1]) / 1e6
            self.cost += reply["cost"]
            self.budget.cost += reply["cost"]

    async def _may_call(self):
        """False if a limit is reached, which ends the run."""
        self.stopped = self.stopped or self._limit()
        return not self.stopped

    def _limit(self):
        """Which limit is reached, in words; empty if none is."""
        return self.budget.reached(self._in_flight, self.cost / max(self._answered, 1))


def _run(coroutine):
    """Run a coroutine in a thread of its own: a notebook's loop is busy, and Ctrl-C reaches the caller."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_all():
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
