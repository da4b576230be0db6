"""A served model as a judge: planned, bounded, stored, resumed.

Every reply is on disk before the worker that asked for it goes on, so a killed run loses no
more than the calls under way, and the same call goes on where it stopped. A run first asks
for what is missing, leaves out what another run on the same store is asking at this moment, and
waits for that at the end. What a batch on the same store was submitted for is left to the
batch. Then it asks once more for the replies that the protocol cannot use.
"""

import asyncio
import sqlite3
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import NamedTuple

from tqdm import tqdm

from nlgjudge.judging import planning
from nlgjudge.judging.batch import Batch
from nlgjudge.judging.claims import Claims
from nlgjudge.judging.errors import JudgeError, Waiting
from nlgjudge.judging.pending import Pending
from nlgjudge.judging.planning import prompt_tokens
from nlgjudge.judging.server import MALFORMED, CallFailed, Malformed, Server
from nlgjudge.judging.tasks import NOT_ANSWERED, NOT_ASKED
from nlgjudge.judging.usable import IN_VAIN, may_be_asked_again, problem, told, used

CONCURRENCY = 64
GIVE_UP = 20  # failed items in a row
DEADLINE = 900  # seconds; six tries after the first and their pauses fit in
LOOK_AGAIN = 0.2  # seconds after which a request that another run is asking is looked for again
# What to do where requests are left to a batch.
_LEFT = (
    "batch:{model} submitted them to the same store, so they are not asked and paid for again; all else is asked "
    "and stored. Run the same call again later: what a batch has brought is collected then. To pay for them now, "
    "give --despite-batches (despite_batches=True); `nlgjudge replies batches` gives a batch up"
)


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

    Examples
    --------
    >>> Limits(cost=5.0, price=(0.15, 0.6)).cost
    5.0
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
        Seconds that a server may be silent; one try of a call ends at most five later, however it answers.
    deadline : float
        Seconds that a call may take in all, with its further tries and the pauses before them, also those that
        the server asks for. Then its item counts as failed.
    progress : bool
        Show a bar with rate, errors and cost.
    ask_again : bool
        Ask again for replies that the protocol cannot use, by the rule of
        `nlgjudge.judging.usable`. Without it the first reply counts, as it did in upstream's
        scripts.
    despite_batches : bool
        Ask, and pay, also for what waits in a batch on the same store. Without it a run asks for all else and
        then says which batch has the rest.

    Attributes
    ----------
    failures : int
        Items whose calls failed for good.
    reasons : collections.Counter
        Why they failed.
    stopped : str
        Which limit ended the last run; empty where none did.
    cost : float
        Spent so far, in the price's currency.
    spent : dict
        `calls, prompt_tokens, completion_tokens` so far.
    asked_again : dict
        By key and sample, the replies in use that were asked for again, in this run or an earlier one: why
        they are still of no use, or nothing where they can be used now.
    """

    def __init__(
        self,
        model,
        store,
        *,
        limits=_NO_LIMITS,
        concurrency=CONCURRENCY,
        timeout=60,
        deadline=DEADLINE,
        progress=False,
        ask_again=True,
        despite_batches=False,
    ):
        if limits.cost is not None and not limits.price:
            raise JudgeError(
                "a limit on cost needs a price: say what a million prompt and a million "
                "completion tokens cost"
            )
        self.name = f"openai:{model}"
        self.store = store
        self.limits = limits
        self.server = Server(model, timeout=timeout)
        self.deadline = deadline
        self.concurrency = concurrency
        self.progress = progress
        self.ask_again = ask_again
        self.despite_batches = despite_batches
        self._pending = Pending(store)
        self.cost = 0.0
        self.failures = 0
        self.reasons = Counter()
        self.stopped = ""
        self.asked_again = {}
        self._answered = 0  # calls that brought replies
        self._prompt_tokens = 0
        self._completion_tokens = 0

    @property
    def spent(self):
        """Calls and tokens so far, as the server counted them."""
        return {
            "calls": self.server.calls,
            "prompt_tokens": round(self._prompt_tokens),
            "completion_tokens": round(self._completion_tokens),
        }

    def replies(self, tasks):
        """Judge tasks, then yield their replies in order, stored ones at no cost.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task
            Read several times, as a list or a `Tasks` can be.

        Yields
        ------
        nlgjudge.judging.tasks.Reply
            A sample that could not be had says so in `reason`: `not answered` where its call failed, `not
            asked` where the run stopped at a limit before.

        Raises
        ------
        JudgeError
            For a server that is not reached, a wrong key, an unknown model, an empty account, too many
            failures, or a run of which no call was answered.
        Waiting
            When all is asked but what waits in a batch on the same store.
        """
        self.server.tell_of_unknown(self.store, tasks)
        self._collect(tasks)
        self._wait(tasks)
        self._say_how_it_ended()
        missing = NOT_ASKED if self.stopped else NOT_ANSWERED
        yield from self.server.stored(
            self.store, tasks, missing=missing, first=not self.ask_again, noted=self.asked_again
        )

    def plan(self, tasks):
        """Say what a run would take.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task

        Returns
        -------
        dict
            As from `nlgjudge.judging.planning.plan`.
        """
        self.server.tell_of_unknown(self.store, tasks)
        waiting = self._in_batches(tasks)
        if waiting and not self.despite_batches:
            warnings.warn(
                f"{self.name}: {waiting.total()} of the planned requests wait in {', '.join(waiting)}: a run "
                "leaves them to it",
                stacklevel=2,
            )
        return planning.plan(
            self.server, self.store, tasks, self.limits.price, again=self.ask_again
        )

    def _in_batches(self, tasks):
        """How many requests of these tasks that lack a sample wait in which batch."""
        found = {}
        for task in tasks:
            _, digest, n = self.server.request(task)
            batch = self._pending.batch(digest)
            if batch and any(sample not in self.store.get(digest) for sample in range(n)):
                found[digest] = batch
        return Counter(found.values())

    def _collect(self, tasks):
        """Fetch what batches on this store have ready, where these tasks wait for one."""
        if not self._in_batches(tasks):
            return
        try:
            Batch(self.server.model, self.store, timeout=self.server.timeout).collect(
                submit_again=False
            )
        except JudgeError as error:
            warnings.warn(str(error), stacklevel=3)

    def _wait(self, tasks):
        """Run to the end, also where an event loop is running already."""
        self._interrupted = False
        self._cancel = None
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._run(tasks))
        with ThreadPoolExecutor(1) as pool:  # a notebook runs a loop already
            try:
                return pool.submit(asyncio.run, self._run(tasks)).result()
            except KeyboardInterrupt:
                self._interrupted = True  # for a run that begins only now
                if self._cancel:
                    with suppress(RuntimeError):  # it has just ended
                        self._cancel()
                raise

    def _begin(self):
        """Set what is counted and shared within one run."""
        self.stopped = ""
        self._writes = asyncio.Queue()
        self._turn = asyncio.Lock()  # to wait for the pace
        self._busy = {}  # by key of a request under way, what its end sets
        self._due = 0.0  # when the next call may go out
        self._under_way = 0
        self._whole = 0  # items that have all their samples
        self._failed = Counter()  # items that have not, by reason
        self._elsewhere = set()  # places of the items that another run is asking
        self._left = {}  # by key of a request that is left to a batch, which one
        self._in_a_row = 0
        self._answered_before = self._answered
        # Of replies, by key and sample:
        self._of_no_use = {}  # why
        self._cut = (
            set()
        )  # of them, and of the others, which ran out of tokens before they said anything
        self._fresh = set()  # which came in this run
        self._repeated = {}  # why they are of no use after they were asked for again, or nothing
        self._in_vain = 0  # repetitions of no use in a row
        self._not_again = ""  # why no more is asked for again

    async def _run(self, tasks):
        self._cancel = partial(
            asyncio.get_running_loop().call_soon_threadsafe, asyncio.current_task().cancel
        )
        if self._interrupted:
            return
        self._begin()
        size = len(tasks) if hasattr(tasks, "__len__") else None
        bar = tqdm(total=size, unit="item", desc="judging", disable=not self.progress)
        with Claims(self.store.path) as self._claims, bar as self._bar:
            writer = asyncio.create_task(self._write())
            renewing = asyncio.create_task(self._renew())
            try:
                async with self.server.client() as client:
                    await self._all(client, tasks)
                    if self.ask_again:
                        await self._all_again(client, tasks)
            except ExceptionGroup as group:
                raise group.exceptions[0] from None
            finally:
                renewing.cancel()
                await self._writes.put(None)
                await writer

    def _say_how_it_ended(self):
        self._say_what_came()
        if self._left:
            where = {}
            for digest, batch in self._left.items():
                where.setdefault(batch, set()).add(digest)
            raise Waiting(self.name, where, _LEFT.format(model=self.server.model))

    def _say_what_came(self):
        failed = sum(self._failed.values())
        nothing_came = not self._whole and self._answered == self._answered_before
        if failed and nothing_came and not self.stopped:
            raise JudgeError(f"no item was answered: {failed} failed, {_commonest(self._failed)}")
        if failed:
            warnings.warn(
                f"{self.name}: {failed} of {failed + self._whole} items failed, "
                f"{_commonest(self._failed)}; another run asks for them again",
                stacklevel=4,
            )
        if self.stopped:
            warnings.warn(
                f"{self.name} stopped before the end: {self.stopped}; what is stored stays, and "
                "another run goes on from there",
                stacklevel=4,
            )
        if self._elsewhere:
            warnings.warn(
                f"{self.name}: another run on {self.store.path.name} was asking {len(self._elsewhere)} "
                "of these items at the same time; its replies are used, and none is paid twice",
                stacklevel=4,
            )
        if self._repeated:
            warnings.warn(f"{self.name}: {told_again(self._repeated)}", stacklevel=4)
        if self._not_again:
            warnings.warn(f"{self.name}: {self._not_again}", stacklevel=4)
        if self._cut:
            warnings.warn(
                f"{self.name}: replies that were cut before they came to the point (length): "
                f"{len(self._cut)}; raise max_tokens, which pays for a reasoning model's thoughts too",
                stacklevel=4,
            )

    async def _all(self, client, tasks):
        """Ask for all that is missing."""
        while True:
            self._asked_as = set()  # how many notices the server had given when an item was asked
            self._whole = 0
            self._failed = Counter()
            self._elsewhere = set()
            self._left = {}
            self._todo = enumerate(tasks)
            # The first call alone: a wrong key or model shows once, and so does what the
            # server supports.
            await self._work(client, until_asked=True)
            await self._side_by_side(self._work, client)
            if self._elsewhere and not self.stopped:
                self._bar.set_description("waiting for another run")
                self._todo = (
                    (place, task) for place, task in enumerate(tasks) if place in self._elsewhere
                )
                await self._side_by_side(partial(self._work, wait=True), client)
            if self.stopped or self._asked_as <= {len(self.server.notices)}:
                break
            # A later answer showed what the server does not support: once more from the start,
            # so that all items are asked alike.
            self._bar.reset()
        self.failures += sum(self._failed.values())
        self.reasons += self._failed

    async def _side_by_side(self, work, client):
        """Let so many workers share what is to do."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self.concurrency):
                group.create_task(work(client))

    async def _work(self, client, *, until_asked=False, wait=False):
        """Take one item after the other, to the last or, if so wanted, until one was asked."""
        for place, task in self._todo:
            before = self.server.calls
            try:
                whole = await self._finish(client, task, wait)
                if whole is None:
                    self._elsewhere.add(place)
                    continue
                self._whole += whole  # not in one line, for others count while this one waits
                self._in_a_row = 0
                self._asked_as.add(len(self.server.notices))
            except CallFailed as error:
                self._failed[str(error)] += 1
                self._in_a_row += 1
                if self._in_a_row >= GIVE_UP:
                    raise JudgeError(
                        f"{GIVE_UP} items failed in a row, the last with: {error}; what is "
                        "stored stays"
                    ) from None
            errors = self.failures + sum(self._failed.values())
            self._bar.set_postfix(
                calls=self.server.calls, errors=errors, cost=f"{self.cost:.4f}", refresh=False
            )
            self._bar.update()
            if self.stopped or (until_asked and self.server.calls > before):
                return

    async def _finish(self, client, task, wait):
        """Ask until the task has its samples, which is True, or a limit is reached.

        None where another run is asking the same and is not waited for.
        """
        while True:
            _, digest, _ = self.server.request(task)
            async with self._alone(digest):
                whole = await self._complete(client, task)
            if whole is not None or not wait:
                return whole
            if self.stopped:
                return False
            await asyncio.sleep(LOOK_AGAIN)

    @asynccontextmanager
    async def _alone(self, digest):
        """Items with the same texts make the same request: one asks, the others wait for its replies."""
        while digest in self._busy:
            await self._busy[digest].wait()
        self._busy[digest] = asyncio.Event()
        try:
            yield
        finally:
            self._busy.pop(digest).set()

    @contextmanager
    def _claimed(self, digest):
        """Claim a request in the store; None where another run has."""
        mine = self._claims.take(digest)
        try:
            yield mine
        finally:
            if mine:
                self._claims.give_back([digest])

    async def _renew(self):
        """Keep the claims of this run while it lives."""
        while True:
            await asyncio.sleep(self._claims.seconds / 3)
            with suppress(sqlite3.Error):  # a store that is busy now is not at the next time
                self._claims.renew()

    async def _complete(self, client, task):
        """Ask until the task has its samples; None where another run is asking the same."""
        malformed = 0
        ends = self._end()
        while True:
            _, digest, n = self.server.request(task)
            have = self.store.tries(digest)
            if all(sample in have for sample in range(n)):
                self._note(
                    task, n, digest, {sample: used(task, n, have[sample]) for sample in range(n)}
                )
                return True
            if self._claims.is_taken(digest):
                return None
            if self._is_left(digest):
                return False
            if not await self._may_go_on(task):
                return False
            try:
                if not await self._ask_for_missing(client, task, ends):
                    return None
                ends = self._end()
            except Malformed as error:
                malformed += 1
                if malformed == MALFORMED:
                    raise CallFailed(f"{error}, {MALFORMED} times") from None

    def _is_left(self, digest):
        """Whether a request waits in a batch, and is left to it."""
        batch = "" if self.despite_batches else self._pending.batch(digest)
        if batch:
            self._left[digest] = batch
        return bool(batch)

    def _end(self):
        """When a call that begins now has to be over."""
        return asyncio.get_running_loop().time() + self.deadline

    async def _ask_for_missing(self, client, task, ends):
        """Ask once for the samples of a task that are not stored; False where another run is asking."""
        request, digest, n = self.server.request(task)
        with self._claimed(digest) as mine:
            if not mine:
                return False
            if self._is_left(digest):  # a batch that was submitted before the claim
                return True
            have = self.store.tries(digest)  # what another run stored before the claim
            missing = [sample for sample in range(n) if sample not in have]
            found = await self._ask(client, request, len(missing), ends) if missing else None
            if found:  # else the request must change
                new = dict(zip(missing, found))
                rows = [reply | {"key": digest, "sample": sample} for sample, reply in new.items()]
                await self._keep(task, request, rows)
                self._fresh |= self._note(task, n, digest, new)
        return True

    async def _may_go_on(self, task):
        """Wait for the pace; False where a limit is reached."""
        async with self._turn:  # one waits, so that the others see a limit at once
            if not self._at_limit():
                await self._pace(prompt_tokens(task))
            return not self._at_limit()

    def _note(self, task, n, digest, replies):
        """Remember, and return, which of these replies, by sample, are of no use."""
        found = {}
        for sample, reply in replies.items():
            reason = problem(task, n, reply)
            if reason:
                found[digest, sample] = reason
            self._note_cut(task, digest, sample, reply)
        self._of_no_use |= found
        return set(found)

    def _note_cut(self, task, digest, sample, reply):
        """Remember whether a reply in use was cut before anything could be read in it."""
        if told(task, reply) == "length":
            self._cut.add((digest, sample))
        else:
            self._cut.discard((digest, sample))

    async def _all_again(self, client, tasks):
        """Ask again for the replies that are of no use, now that all others are there."""
        if self.stopped or not self._of_no_use:
            return
        self._todo = iter(tasks)
        await self._side_by_side(self._work_again, client)

    async def _work_again(self, client):
        for task in self._todo:
            if self._not_again:
                return
            _, digest, _ = self.server.request(task)
            try:
                async with self._alone(digest):
                    await self._repeat(client, task)
            except (CallFailed, JudgeError) as error:
                # What is stored stays, so that no reply is worse for it.
                self._not_again = f"replies of no use could not be asked for again: {error}"

    async def _repeat(self, client, task):
        """Ask again until the task's replies can be used, or were asked for often enough."""
        request, digest, n = self.server.request(task)
        if not any((digest, sample) in self._of_no_use for sample in range(n)):
            return
        while not self._not_again:
            with self._claimed(digest) as mine:
                if mine and not await self._repeat_once(client, task):
                    return
            if not mine:
                await asyncio.sleep(LOOK_AGAIN)

    async def _repeat_once(self, client, task):
        """Ask again for the replies of a task that may be asked again; False where that is the end of it."""
        request, digest, n = self.server.request(task)
        tries = self.store.tries(digest)
        wanted = [
            sample
            for sample in range(n)
            if sample in tries and self._may_be_asked_again(task, n, digest, sample, tries[sample])
        ]
        if not wanted:
            return False
        async with self._turn:
            if not self._limit():
                await self._pace(prompt_tokens(task))
            if self._limit():
                self._not_again = f"replies of no use were not asked for again: {self._limit()}"
                return False
        found = await self._ask(client, request, len(wanted), self._end())
        if found is None:  # the request must change, and is asked as a whole in another run
            return False
        new = dict(zip(wanted, found))
        rows = [
            reply | {"key": digest, "sample": sample, "attempt": len(tries[sample])}
            for sample, reply in new.items()
        ]
        await self._keep(task, request, rows)
        for sample, reply in new.items():
            reason = problem(task, n, reply)
            self._fresh.add((digest, sample))
            self._repeated[digest, sample] = reason
            self._note_cut(task, digest, sample, reply)
            self._in_vain = self._in_vain + 1 if reason else 0
        if self._in_vain >= IN_VAIN:
            self._not_again = (
                f"{IN_VAIN} replies of no use were asked for again in a row and in vain: "
                "no more is asked again in this run"
            )
        return True

    def _may_be_asked_again(self, task, n, digest, sample, tries):
        reason = problem(task, n, used(task, n, tries))
        return may_be_asked_again(reason, len(tries), in_this_run=(digest, sample) in self._fresh)

    async def _ask(self, client, request, count, ends):
        """Call the server, and count what its replies cost."""
        self._under_way += 1
        try:
            async with asyncio.timeout_at(ends):
                found = await self.server.ask(client, request, count)
        except TimeoutError:
            last = (
                f"; the last that failed: {self.server.last_problem}"
                if self.server.last_problem
                else ""
            )
            raise CallFailed(
                f"no answer within {self.deadline:g} s in all, with further tries{last}"
            ) from None
        finally:
            self._under_way -= 1
        for reply in found or []:
            reply["cost"] = self._cost(reply["prompt_tokens"], reply["completion_tokens"])
            self.cost += reply["cost"] or 0
            self._prompt_tokens += reply["prompt_tokens"] or 0
            self._completion_tokens += reply["completion_tokens"] or 0
        self._answered += found is not None
        return found

    async def _keep(self, task, request, rows):
        """Hand replies to the writer, and wait until they are on disk."""
        done = asyncio.get_running_loop().create_future()
        requests = {row["key"]: self.server.kept(task, request) for row in rows}
        await self._writes.put((done, requests, rows))
        await done

    async def _write(self):
        """Store replies as they come, several to a commit, and release their workers."""
        at_end = False
        while not at_end:
            group = [await self._writes.get()]
            while group[-1] is not None and not self._writes.empty():
                group.append(self._writes.get_nowait())
            at_end = group[-1] is None
            if at_end:
                group.pop()
            if group:
                self._write_together(group)

    def _write_together(self, group):
        """Store the replies of several workers in one commit, and release the workers."""
        requests = {}
        rows = []
        for _, of_worker, from_worker in group:
            requests |= of_worker
            rows += from_worker
        failure = None
        try:
            # Not in a thread: the wait for the interpreter's lock there is longer than the write.
            self.store.add(requests, rows)
        except Exception as error:  # a full disk, say: each worker gets it
            failure = error
        for done, *_ in group:
            if done.done():  # its worker was cancelled
                continue
            if failure is not None:
                done.set_exception(failure)
            else:
                done.set_result(None)

    async def _pace(self, tokens):
        """Wait until one more call keeps the run below its rates."""
        wait = 0
        if self.limits.per_minute:
            wait = 60 / self.limits.per_minute
        if self.limits.tokens_per_minute:
            wait = max(wait, 60 * tokens / self.limits.tokens_per_minute)
        now = time.monotonic()
        due = max(self._due, now)
        self._due = due + wait
        if due > now:
            await asyncio.sleep(due - now)

    def _at_limit(self):
        """Whether a limit is reached, which then ends the run."""
        self.stopped = self.stopped or self._limit()
        return bool(self.stopped)

    def _limit(self):
        """Which limit is reached, in words; empty where none is."""
        calls = self.limits.calls
        if calls is not None and self.server.calls >= calls:
            return f"the limit of {calls} calls was reached"
        cost = self.limits.cost
        # A call under way will cost as much as the mean of those before.
        expected = self.cost * (1 + self._under_way / max(self._answered, 1))
        if cost is not None and expected >= cost:
            return (
                f"the limit on cost was reached: {self.cost:.4g} of {cost:.4g}, {self._under_way} under "
                "way"
            )
        return ""

    def _cost(self, prompt, completion):
        price = self.limits.price
        if not price or prompt is None or completion is None:
            return None
        return (prompt * price[0] + completion * price[1]) / 1e6


def told_again(asked_again):
    """Say what came of asking again.

    Parameters
    ----------
    asked_again : dict
        As `Live.asked_again` is.

    Returns
    -------
    str

    Examples
    --------
    >>> told_again({("k", 0): "", ("k", 1): "no_rating"})
    'replies asked for again because they were of no use: 2, of use now: 1, not yet: 1 (no_rating 1)'
    """
    left = Counter(reason for reason in asked_again.values() if reason)
    said = (
        f"replies asked for again because they were of no use: {len(asked_again)}, "
        f"of use now: {len(asked_again) - left.total()}"
    )
    if left:
        counted = ", ".join(f"{reason} {number}" for reason, number in left.most_common())
        said += f", not yet: {left.total()} ({counted})"
    return said


def _commonest(reasons):
    """Say the commonest reason of failures, and whether it is the only one."""
    (reason, number), *others = reasons.most_common()
    if number == 1:
        return f"with: {reason}"
    how_often = "most often" if others else "all"
    return f"{how_often} with: {reason}"
