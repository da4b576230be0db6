"""A served model as a judge: planned, bounded, stored, resumed.

Every reply is on disk before the worker that asked for it goes on. A killed run loses no more than the calls
in flight, and the same call goes on from there. Retries, Retry-After and timeouts are the openai client's.
"""

import asyncio
import os
import re
import threading
import time
import warnings
from collections import Counter

from tqdm import tqdm

from nlgjudge.judging.judge import Budget, Judge, JudgeError, check_amounts
from nlgjudge.judging.keys import api_key, without_key
from nlgjudge.judging.planning import CHARACTERS, assumed_length, plan, prompt_tokens
from nlgjudge.judging.replies import (
    FALLBACK,
    FILTERED,
    TOP_LOGPROBS,
    CallFailed,
    estimate,
    replies_in,
    replies_to,
    said,
    samples_wanted,
    say_changes,
    say_reply,
)
from nlgjudge.judging.tasks import DEFAULT_ENDPOINT, NOT_ANSWERED, NOT_ASKED, endpoint

CONCURRENCY = 64
RETRIES = 6  # by the client, which honours Retry-After
FIRST_RETRIES = 2  # while no server has answered
TRIES = 3  # at an answer with status 200 that holds no reply
PAUSE = 1.0  # seconds before the second of them, twice that before the third
GIVE_UP = 20  # failed requests in a row
LOADING = 300  # seconds for a server to load its model
STORED = ("form", "scale", "options", "pattern")  # of a reading
# Status of an answer that may name a parameter to leave out, or say that a filter refused the prompt.
REJECTING = (400, 403, 404, 422)
# A parameter with the server's own default changes nothing, so it is the first to be left out.
_DEFAULTS = {"temperature": 1, "top_p": 1, "n": 1, "presence_penalty": 0, "frequency_penalty": 0}
_AT_MOST = re.compile(
    r"(?:\b(?:most|maximum|max|allowed|than|to|and)\b|<=|≤|\[\d+,)\D{0,12}(?<!-)\b(\d{1,2})\b", re.I
)
_TOO_LONG = re.compile(r"context.?(?:length|window)|too long|reduce the length", re.I)
_FILTERED = re.compile(
    r"content_?filter|content management policy|content_policy_violation|\bmoderat(?:ed|ion)\b|\bflagged\b",
    re.I,
)
_LOGPROBS = re.compile(r"\b(?:log|token)[\s_-]*prob(?:abilitie)?s?|logprobs?", re.I)
_NO_CHAT = re.compile(r"v1/responses|not a chat model|not supported in (?:the )?v1/chat", re.I)
_LOADING = re.compile(r"\bloading\b|not (?:yet )?loaded", re.I)


class Loading(CallFailed):
    """The server is still loading its model."""


class Live(Judge):
    """A model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    model, store
        The model's name at the server, and a `nlgjudge.judging.store.Store`.
    price
        Of a million prompt and a million completion tokens.
    budget
        A `nlgjudge.judging.judge.Budget`: stop where it ends. A call in flight counts as the mean of this judge's
        calls before. If the server reports no token usage, four characters count as a token.
    concurrency
        Calls in flight at once.
    timeout
        Seconds without an answer after which the client tries again.
    progress
        Show a bar with calls, cost, errors and the time left.

    Attributes
    ----------
    endpoint
        Where requests go, by `OPENAI_BASE_URL` when the judge is made; it contains no secret.
    dropped
        Parameters that the server rejects or ignores, and that are sent no more.
    """

    asks = True
    is_model = True

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
        self.budget = budget or Budget()
        check_amounts(price=price)
        if self.budget.max_cost is not None and price is None:
            raise JudgeError(
                "a limit on cost needs a price: pass what a million prompt and a million completion "
                "tokens cost (price=, --price)"
            )
        self.model = model
        self.store = store
        self.price = price
        self.name = f"openai:{model}"
        self.base_url = os.environ.get("OPENAI_BASE_URL") or DEFAULT_ENDPOINT
        try:
            self.endpoint = endpoint(self.base_url)
        except ValueError as error:
            raise JudgeError(str(error)) from None
        self.concurrency = concurrency
        self.timeout = timeout
        self.progress = progress
        self.notices = []
        self.dropped = set()
        self.spent = dict.fromkeys(("calls", "prompt_tokens", "completion_tokens"), 0)
        self.reasons = Counter()
        self._answered = 0
        self._in_flight = 0
        self._top_logprobs = TOP_LOGPROBS
        self._gave_logprobs = False

    def key(self, task):
        """Digest of a task's request as it is asked."""
        return self.store.key(task.request(self.model), self.endpoint)

    def missing(self, task, have):
        """Sample indices that are not stored yet; `have` is what `Store.get` gives."""
        wanted = range(samples_wanted(task, have, self.dropped))
        return [sample for sample in wanted if sample not in have]

    def stored(self, tasks, missing=NOT_ANSWERED):
        """Yield the stored reply to each sample, or one with the reason `missing`."""
        return self._stored(((self.key(task), task) for task in tasks), missing)

    def _stored(self, requests, missing):
        """The same for tasks with their keys."""
        for digest, task in requests:
            have = self.store.get(digest)
            yield from replies_to(task, have, missing, self.dropped)
            for reply in have.values():
                say_reply(self, self.model, reply)

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
        to_ask = self._to_ask(requests)
        if to_ask:
            self.stopped = ""
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
        yield from self._stored(requests, NOT_ASKED if self.stopped else NOT_ANSWERED)

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
        self._tasks = list(to_ask.values())
        shared = iter(to_ask.items())
        with tqdm(total=len(to_ask), unit="request", disable=not self.progress) as self._bar:
            async with self._client() as connected:
                # The first call alone: it shows a wrong key or model, and what the server rejects.
                await self._work(connected, shared, only_one=True)
                try:
                    async with asyncio.TaskGroup() as group:
                        for _ in range(min(self.concurrency, len(to_ask))):
                            group.create_task(self._work(connected, shared))
                except ExceptionGroup as errors:
                    raise errors.exceptions[0] from None

    def _client(self):
        """A client that leads the key to no other address."""
        import openai  # takes a second, which a plan need not pay

        options = {"max_retries": RETRIES, "timeout": self.timeout, "api_key": api_key()}
        options["http_client"] = openai.DefaultAsyncHttpxClient(follow_redirects=False)
        try:
            return openai.AsyncOpenAI(base_url=self.base_url, **options)
        except openai.OpenAIError as error:
            raise JudgeError(
                "no key: set OPENAI_API_KEY (any word for a server without keys) and, for a server other "
                "than OpenAI's, OPENAI_BASE_URL"
            ) from error

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
        failed = 0
        while missing := self.missing(task, self.store.get(digest)):
            if "logprobs" in self.dropped & {*task.settings}:
                await self._estimate(connected, digest, task)
                return
            mean_cost = self.cost / max(self.spent["calls"] - self._in_flight, 1)
            self.stopped = self.stopped or self.budget.reached(self._in_flight, mean_cost)
            if self.stopped:
                return
            body, changes = self._body(task, len(missing))
            replies = await self._call(connected, body)
            if replies is None:  # the server rejects a parameter, which the next call leaves out
                continue
            self._pay(task, replies)
            came = [reply for reply in replies if reply["reason"] != NOT_ANSWERED]
            if not came:
                failed += 1
                if failed == TRIES:
                    raise CallFailed(f"{replies[0]['text']} ({TRIES} times)")
                await asyncio.sleep(PAUSE * failed)
                continue
            self._answered += 1
            if self._as_asked(body, came):
                changed = [reply | {"changes": changes} for reply in came]
                self.store.add(digest, self._asked(task), dict(zip(missing, changed)))
            if body.get("n", 1) > len(replies) == 1:
                self._drop("n")

    async def _estimate(self, connected, digest, task):
        """Complete the samples that estimate token probabilities; another row may have asked for the same."""
        instead = estimate(task)
        place = self.key(instead)
        await self._complete(connected, place, instead)
        have = self.store.get(place)
        if self.missing(instead, have):
            return
        _, changes = self._body(task, instead.n)
        paid = dict.fromkeys(("cost", "prompt_tokens", "completion_tokens"))  # with the samples
        copies = {sample: reply | paid | {"changes": changes} for sample, reply in have.items()}
        self.store.add(digest, self._asked(task), copies)

    async def _call(self, connected, body):
        """Replies of one call; None if the server rejects a parameter."""
        self.spent["calls"] += 1
        self.budget.calls += 1
        self._in_flight += 1
        try:
            return await self._when_loaded(connected, body)
        finally:
            self._in_flight -= 1

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
        import openai

        if not self._answered:
            connected = connected.with_options(max_retries=min(FIRST_RETRIES, RETRIES))
        try:
            return replies_in(await connected.post("/chat/completions", body=body, cast_to=bytes))
        except openai.APITimeoutError:
            raise CallFailed(
                "the server did not answer in time; a longer --timeout may help"
            ) from None
        except openai.APIConnectionError as error:
            cause = without_key(str(error.__cause__ or error))
            text = f"no connection to {self.endpoint} ({cause})"
            if self._answered:
                raise CallFailed(text) from None
            raise JudgeError(f"{text}: check the network and OPENAI_BASE_URL") from None
        except openai.APIStatusError as error:
            return self._refused(error, body)

    def _refused(self, error, body):
        """What an answer with an error means: replies of a filter, None to call again without a parameter, or an error.

        A JudgeError would come for every item, a CallFailed for this one alone.
        """
        status = error.status_code
        text = said(error.body or str(error))
        named = f"{error.code} {text}"
        if status in REJECTING and _FILTERED.search(named):
            return [dict(FILTERED) for _ in range(body.get("n", 1))]
        rejects = status in REJECTING and not _TOO_LONG.search(named)
        if rejects and self._leave_out(text, error.param, body):
            return None
        if 300 <= status < 400:
            to = without_key(error.response.headers.get("location", "another address"))
            text = f"{self.endpoint} redirects to {to} ({status}): put the address of the server into OPENAI_BASE_URL"
        elif status == 401:
            text = f"the key in OPENAI_API_KEY was refused (401): {text}"
        elif status in (400, 404) and _NO_CHAT.search(text):
            text = f"{self.model} has no chat completions endpoint, which is how a judge is asked ({status}): {text}"
        elif status == 403 and not self._has_answered():
            text = f"the key may not use this model (403): {text}"
        elif status == 404 and not self._has_answered():
            text = f"no model {self.model!r} at {self.endpoint} (404): {text}"
        elif "insufficient_quota" in (error.code, error.type):
            text = f"the account has no quota left: {text}"
        else:
            is_loading = status == 503 and _LOADING.search(text)
            raise (Loading if is_loading else CallFailed)(text) from None
        raise JudgeError(text) from None

    def _leave_out(self, text, param, body):
        """Leave out what the text of an error or its field `param` names; False if they name no parameter.

        Of several, one with the server's default first, then `param`.
        """
        text = _LOGPROBS.sub(" logprobs", text)
        named = [
            name
            for name in body
            if name not in ("model", "messages")
            and (name == param or re.search(rf"(?<![\w\\]){re.escape(name)}(?!\w)", text))
        ]
        if not named:
            return False
        name = min(named, key=lambda one: (body[one] != _DEFAULTS.get(one, ...), one != param))
        if name in ("logprobs", "top_logprobs"):
            name = "logprobs"
            allowed = [int(number) for number in _AT_MOST.findall(text)]
            fewer = max((number for number in allowed if number < TOP_LOGPROBS), default=0)
            if fewer and body["top_logprobs"] == TOP_LOGPROBS:
                self._top_logprobs = fewer
                say_changes(self, {"top_logprobs": fewer})
                return True
        self._drop(name, body.get(name))
        return True

    def _drop(self, name, value=None):
        """Send a parameter no more, and say so."""
        if name in self.dropped:
            return
        self.dropped.add(name)
        renamed = {"max_completion_tokens": value} if name == "max_tokens" else {}
        say_changes(self, {name: None} | renamed)
        if name == "n":
            self._plan_again()

    def _plan_again(self):
        """Say what is left of a run that takes a call for each sample; it ends if a limit would not hold."""
        left = self.budget.left() if self.budget.left else plan(self, self._tasks)
        read, written = self.price or (0, 0)
        cost = (left["prompt_tokens"] * read + left["completion_tokens"] * written) / 1e6
        said = f"one sample a call takes {left['calls']:,.0f} more calls"
        said += f", cost {cost:.4f}" * bool(self.price)
        warnings.warn(f"{self.name}: {said}", stacklevel=2)
        budget = self.budget
        needs = (
            (budget.max_calls, budget.calls + left["calls"]),
            (budget.max_cost, budget.cost + cost),
        )
        if any(limit is not None and needed > limit for limit, needed in needs):
            error = JudgeError(f"{said}, beyond the limit: raise it, or ask for fewer samples")
            error.status = 3  # of a command that stopped at a limit
            raise error

    def _body(self, task, count):
        """A request's body for `count` samples, and what differs from what was asked, None for what is left out."""
        request = task.request(self.model)
        changes = {name: None for name in request if name in self.dropped}
        if "max_tokens" in changes and "max_completion_tokens" not in self.dropped:
            changes["max_completion_tokens"] = request["max_tokens"]
        if "logprobs" in changes:
            changes |= {name: value for name, value in FALLBACK.items() if name not in self.dropped}
        elif request.get("logprobs"):
            request["top_logprobs"] = TOP_LOGPROBS
            if self._top_logprobs < TOP_LOGPROBS:
                changes["top_logprobs"] = self._top_logprobs
        if "n" in self.dropped and task.n > 1 and "seed" in request:
            changes["seed"] = None  # else all samples would be alike
        body = {name: value for name, value in (request | changes).items() if value is not None}
        if count > 1 and "n" not in self.dropped:
            body["n"] = count
        return body, changes

    def _asked(self, task):
        """What the store keeps of a task."""
        return {
            "request": task.request(self.model),
            "endpoint": self.endpoint,
            "prompt": task.prompt,
            "digest": task.digest,
            "reading": {name: getattr(task.reading, name) for name in STORED},
        }

    def _as_asked(self, body, replies):
        """Say once what differs between a body and its replies; whether they can be used for what was asked."""
        for reply in replies:
            say_reply(self, self.model, reply)
        self._gave_logprobs |= any(reply.get("logprobs") for reply in replies)
        without = any(reply["text"] and not reply.get("logprobs") for reply in replies)
        if body.get("logprobs") and without and self._gave_logprobs:
            self.say(
                "some replies came without token probabilities: their scores are the ratings as written"
            )
        elif body.get("logprobs") and without:
            self._drop("logprobs")
            return False
        return True

    def _has_answered(self):
        """Whether the model ever answered, in this run or one before."""
        return self._answered or (self.model, self.endpoint) in self.store.endpoints(self.model)

    def _pay(self, task, replies):
        """Count what an answer costs; without usage, at four characters a token as the plan does."""
        for reply in replies:
            prompt, completion = reply.get("prompt_tokens"), reply.get("completion_tokens")
            self.spent["prompt_tokens"] += prompt or 0
            self.spent["completion_tokens"] += completion or 0
            if self.price is None:
                continue
            if prompt is None or completion is None:
                prompt = prompt_tokens(task) / len(replies)
                completion = assumed_length(task)
                if reply["reason"] != NOT_ANSWERED:
                    completion = len(reply["text"]) / CHARACTERS + 1
                    self.say(
                        "the server reports no token usage: cost counts four characters as a token"
                    )
            reply["cost"] = (prompt * self.price[0] + completion * self.price[1]) / 1e6
            self.cost += reply["cost"]
            self.budget.cost += reply["cost"]


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
