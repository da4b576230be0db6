"""One OpenAI-compatible endpoint: what it supports, what its answers and errors mean.

Servers differ: some ignore `n` or `logprobs`, some reject a temperature. What a server does
not support shows in its first answers; it is then served another way, with a notice, and
never by another score in silence. The key is read from the environment by the client and
kept out of every message.
"""

import asyncio
import os
import re
import warnings

import openai

from nlgjudge.judging.errors import JudgeError
from nlgjudge.judging.store import Request
from nlgjudge.judging.tasks import DEFAULT_ENDPOINT, Reply, endpoint, key
from nlgjudge.judging.usable import problem, told, used

RETRIES = 6  # of a call that failed on the way; the client honours Retry-After
CONNECT_TRIES = 3  # to reach the server at all, before it has answered once
CONNECT_SECONDS = 5  # at most, of one such try
MALFORMED = 3  # tries at an answer that is no answer
LARGEST = 64_000_000  # bytes of an answer, unpacked; twenty long samples with their token probabilities are half
FALLBACK_SAMPLES = 20  # G-Eval, section 3.1: 20 samples estimate the token probabilities
_RENAMED = {"max_tokens": "max_completion_tokens"}
_OPTIONAL = ("logprobs", "temperature", "top_p", "max_tokens", "n")
# How servers refuse a parameter; 403 and 500 only for token probabilities.
_REFUSED = (
    openai.BadRequestError,
    openai.UnprocessableEntityError,
    openai.PermissionDeniedError,
    openai.InternalServerError,
)
_REFUSING = re.compile(
    r"support|not permitted|not allowed|not implemented|unknown|unrecogni[sz]ed|unexpected", re.I
)
_ONE_CHOICE = re.compile(
    r"(?:one|1|single) (?:completion )?choice", re.I
)  # how llama.cpp's server refuses n
TOP_LOGPROBS = 20  # alternatives of a token, the most that the API gives
_AT_MOST = re.compile(
    r"(?:\b(?:most|maximum|max|allowed|than|to|and)\b|<=|≤)\D{0,12}\b(\d{1,2})\b", re.I
)
_LOGPROBS = re.compile(r"log[\s_-]?prob", re.IGNORECASE)
_NO_LOGPROBS = f"scores are estimated from {FALLBACK_SAMPLES} samples at temperature 1 instead"


class CallFailed(Exception):
    """One call failed for good; others may not."""


class Malformed(CallFailed):
    """An answer was no completion; another may be."""


class _NotReached(openai.OpenAIError):
    """No server is there. The client hands on its own errors without trying again."""


class _NoWholeAnswer(openai.OpenAIError):
    """An answer that does not end, or not in time."""


class _Connections(openai.DefaultAsyncHttpxClient):
    """Connections that give up soon while no server has answered at all, and are patient afterwards.

    The client's own time-outs are of one piece of an answer; here the whole of it has an end, and a size.
    """

    reached = False
    failed = 0
    last_problem = ""  # how the last try ended that failed

    def __init__(self, seconds):
        super().__init__()
        # Where a server is silent, the client's own time-out comes first, and the client tries again.
        self.seconds = seconds + CONNECT_SECONDS

    async def send(self, request, **options):
        try:
            async with asyncio.timeout(self.seconds):
                response = await self._whole(request, options)
        except TimeoutError:
            self.last_problem = f"no whole answer within {self.seconds:g} s"
            raise _NoWholeAnswer(self.last_problem) from None
        except _NoWholeAnswer:
            raise
        except Exception as error:
            self.last_problem = str(error) or type(error).__name__
            # A server that is slow to answer is there.
            if self.reached or type(error).__name__ == "ReadTimeout":
                raise
            self.failed += 1
            if self.failed < CONNECT_TRIES:
                raise
            raise _NotReached(str(error) or type(error).__name__) from None
        self.reached = True
        if response.is_error:
            self.last_problem = f"{response.status_code} {response.reason_phrase}"
        await _keep_from_trying_again(response)
        return response

    async def _whole(self, request, options):
        """Send, and read the answer as long as it is no larger than one can be."""
        response = await super().send(request, **options | {"stream": True})
        pieces = []
        size = 0
        try:
            async for piece in response.aiter_bytes():
                size += len(piece)
                if size > LARGEST:
                    raise _NoWholeAnswer(f"the answer is larger than {LARGEST / 1e6:g} MB")
                pieces.append(piece)
        finally:
            await response.aclose()
        as_sent = (
            "content-encoding",
            "content-length",
            "transfer-encoding",
        )  # it is unpacked and whole now
        headers = {name: value for name, value in response.headers.items() if name not in as_sent}
        return type(response)(
            response.status_code,
            headers=headers,
            content=b"".join(pieces),
            request=request,
            extensions=response.extensions,
        )


async def _keep_from_trying_again(response):
    """Tell the client that a parameter that the server cannot serve will not be served at the next try."""
    if response.status_code in (500, 501):
        await response.aread()
        if _refuses_logprobs(response.text):
            response.headers["x-should-retry"] = "false"


def _refuses_logprobs(text):
    return _LOGPROBS.search(text) is not None and _REFUSING.search(text) is not None


class Server:
    """An endpoint and what is known of it.

    Parameters
    ----------
    model : str
    timeout : float
        Seconds that a server may be silent; a whole answer may take `CONNECT_SECONDS` more.

    Attributes
    ----------
    endpoint : str
        Where calls go, by `OPENAI_BASE_URL` at the time the server is made; no secret is in it.
    notices : list of str
        What was found unsupported and how it is served instead.
    calls : int
        Calls made so far, malformed answers included.

    Raises
    ------
    JudgeError
        When `OPENAI_BASE_URL` is no address.
    """

    def __init__(self, model, *, timeout=60):
        self.model = model
        self.timeout = timeout
        self.base_url = os.environ.get("OPENAI_BASE_URL") or DEFAULT_ENDPOINT
        try:
            self.endpoint = endpoint(self.base_url)
        except ValueError as error:
            raise JudgeError(str(error)) from None
        self.notices = []
        self.calls = 0
        self._unsupported = set()
        self._gives_logprobs = False
        self._top_logprobs = TOP_LOGPROBS
        self._told_of_unknown = False
        self._connections = None

    @property
    def last_problem(self):
        """How the last try of any call ended that failed, empty where none did."""
        return self._connections.last_problem if self._connections else ""

    def client(self):
        """Open the shared asynchronous client.

        Raises
        ------
        JudgeError
            When the environment holds no key.
        """
        seconds = openai.Timeout(self.timeout, connect=min(self.timeout, CONNECT_SECONDS))
        self._connections = _Connections(self.timeout)
        try:
            return openai.AsyncOpenAI(
                base_url=self.base_url,
                max_retries=RETRIES,
                timeout=seconds,
                http_client=self._connections,
            )
        except openai.OpenAIError as error:
            raise JudgeError(
                "no key: set OPENAI_API_KEY (any word for a server without keys) and, for a "
                "server of your own, OPENAI_BASE_URL"
            ) from error

    def request(self, task):
        """The request that this server takes for a task, its key, and the samples wanted."""
        request = task.request(self.model)
        n = task.n
        if "logprobs" in self._unsupported and request.pop("logprobs", False):
            request["temperature"] = 1
            n = max(n, FALLBACK_SAMPLES)
        for name in self._unsupported & set(request):
            value = request.pop(name)
            if name in _RENAMED:
                request[_RENAMED[name]] = value
        return request, key(request, self.endpoint), n

    def kept(self, task, request):
        """A request as it is stored: with its endpoint, and how its replies can be found and read."""
        form = "" if task.check is not None else task.form
        return Request(request, self.endpoint, task.prompt, task.digest, form, list(task.scale))

    @property
    def takes_n(self):
        """Whether one call may ask for several samples, as far as is known."""
        return "n" not in self._unsupported

    def stored(self, store, tasks, *, missing="not answered", first=False, noted=None):
        """Yield a reply per sample from a store.

        Parameters
        ----------
        store : nlgjudge.judging.store.Store
        tasks : iterable of nlgjudge.judging.tasks.Task
        missing : str
            Reason of a sample that is not there.
        first : bool
            Take the first try of each reply, also where a later one can be used and it cannot.
        noted : dict, optional
            Filled with the replies that were asked for again: by key and sample, why the one in use is of no
            use, or nothing.
        """
        for task in tasks:
            _, digest, n = self.request(task)
            have = store.tries(digest)
            for sample in range(n):
                if sample not in have:
                    yield Reply(task.item_id, task.aspect, sample, "", missing)
                    continue
                tries = have[sample]
                found = tries[0] if first else used(task, n, tries)
                if noted is not None and len(tries) > 1:
                    noted[digest, sample] = problem(task, n, found)
                yield Reply(
                    task.item_id,
                    task.aspect,
                    sample,
                    found["text"],
                    told(task, found),
                    found["logprobs"],
                )

    def tell_of_unknown(self, store, tasks):
        """Say once how many replies to these tasks are stored without an endpoint; none of them is used.

        Parameters
        ----------
        store : nlgjudge.judging.store.Store
        tasks : iterable of nlgjudge.judging.tasks.Task
        """
        if self._told_of_unknown or not store.has_unknown():
            return
        number = 0
        for task in tasks:
            request, digest, n = self.request(task)
            have = store.get(digest)
            without_endpoint = store.get(key(request))
            number += sum(sample < n and sample not in have for sample in without_endpoint)
        if not number:
            return
        self._told_of_unknown = True
        adopt = (
            f"nlgjudge replies adopt --model {self.model} --endpoint {self.endpoint} --store "
            f"{store.path}"
        )
        warnings.warn(
            f"{number} replies of {self.model} to these requests are stored without the endpoint "
            f"that gave them and are not used; if it was {self.endpoint}, take them over with "
            f"`{adopt}`",
            stacklevel=3,
        )

    def body(self, request, count):
        """The body to send for `count` samples of a request."""
        body = dict(request)
        if count > 1 and self.takes_n:
            body["n"] = count
        if body.pop("logprobs", False):
            body |= {"logprobs": True, "top_logprobs": self._top_logprobs}
        return body

    async def ask(self, client, request, count):
        """Call the server once.

        Returns
        -------
        list of dict or None
            Columns of `nlgjudge.judging.store`, at most `count` of them, fewer where the
            server gives fewer; None when it turned out that it does not support a parameter,
            which the next request leaves out.

        Raises
        ------
        CallFailed
            When the client's retries are spent, or the request is refused.
        JudgeError
            For a server that is not reached, a wrong key, an unknown model or an empty account.
        """
        body = self.body(request, count)
        self.calls += 1
        try:
            # The client's typed method takes half as much time again, and checks nothing more.
            found = columns(await client.post("/chat/completions", body=body, cast_to=object))
        except _REFUSED as error:
            if self._adapt(error, body):
                return None
            raise self._explained(error) from None
        except _NoWholeAnswer as error:
            raise Malformed(str(error)) from None
        except openai.OpenAIError as error:
            raise self._explained(error) from None
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            raise Malformed(f"no completion in the answer ({type(error).__name__})") from None
        if not found:
            raise Malformed("no choices in the answer")
        if self._learn(body, found):
            return None
        return found[:count]

    def _learn(self, body, found):
        """Note what the server ignores; True when the answer is of no use therefore."""
        if body.get("n", 1) > 1 and len(found) == 1:
            self._without(
                "n", f"the server gave one of {body['n']} samples: the rest is asked for one by one"
            )
        if "seed" in body and not self.takes_n:
            self._without(
                "seed",
                "asked for one by one, samples with one seed would all be alike: the seed is left "
                "out",
            )
            return True
        if not body.get("logprobs") or not any(reply["text"] for reply in found):
            return False
        self._gives_logprobs |= any(reply["logprobs"] for reply in found)
        if not self._gives_logprobs:
            self._without("logprobs", f"the server gives no token probabilities: {_NO_LOGPROBS}")
        return not self._gives_logprobs

    def _adapt(self, error, body):
        """Leave out what the server rejects; False when that is not the trouble."""
        for name in _OPTIONAL:
            if name not in body or not _rejects(error, name):
                continue
            if name == "logprobs" and self._takes_fewer_logprobs(body, message(error)):
                return True
            self._without(name, f"the server rejects {name}: {self._instead(name)}")
            return True
        return False

    def _takes_fewer_logprobs(self, body, text):
        """Whether a refusal names a lower number of alternatives, which is then asked for, once."""
        if (
            body["top_logprobs"] > self._top_logprobs
        ):  # a call that was under way found it out before
            return True
        limits = [int(number) for number in _AT_MOST.findall(text)]
        lower = [limit for limit in limits if 0 < limit < self._top_logprobs]
        if not lower or self._top_logprobs < TOP_LOGPROBS:
            return False
        self._top_logprobs = max(lower)
        self._tell(
            f"the server names {self._top_logprobs} alternatives of a token at most, not {TOP_LOGPROBS}: "
            "a rating that is not among them counts as impossible"
        )
        return True

    def _instead(self, name):
        if name == "logprobs":
            return _NO_LOGPROBS
        if name in _RENAMED:
            return f"sent as {_RENAMED[name]}"
        return "left out"

    def _without(self, name, notice):
        if name not in self._unsupported:
            self._unsupported.add(name)
            self._tell(notice)

    def _tell(self, notice):
        self.notices.append(notice)
        warnings.warn(f"{self.model}: {notice}", stacklevel=3)

    def _explained(self, error):
        """What is raised in the place of the client's error: its meaning in words, without the key."""
        text = message(error)
        if isinstance(error, _NotReached):
            return JudgeError(
                f"no server answers at {self.endpoint} ({text}): check the network and "
                "OPENAI_BASE_URL"
            )
        meanings = {
            openai.AuthenticationError: "the key in OPENAI_API_KEY was refused (401)",
            openai.PermissionDeniedError: "the key may not use this model (403)",
            openai.NotFoundError: f"no model {self.model!r} at this endpoint (404)",
        }
        for kind, meaning in meanings.items():
            if isinstance(error, kind):
                return JudgeError(f"{meaning}: {text}")
        if "insufficient_quota" in (getattr(error, "code", None), getattr(error, "type", None)):
            return JudgeError(f"the account has no quota left: {text}")
        return CallFailed(text)


def _rejects(error, name):
    """Whether a server's error refuses a parameter, by its field `param` or by its words."""
    text = message(error)
    if isinstance(error, openai.InternalServerError):
        return name == "logprobs" and _refuses_logprobs(text)
    if isinstance(error, openai.PermissionDeniedError):
        return name == "logprobs" and _names_logprobs(error, text)
    if getattr(error, "param", None) in (name, f"top_{name}") or re.search(
        f"['\"`]{name}['\"`]", text
    ):
        return True
    if name == "logprobs":
        return _names_logprobs(error, text)
    if name == "n" and _ONE_CHOICE.search(text):
        return True
    return (
        re.search(rf"(?<![\w']){name}\b", text) is not None and _REFUSING.search(text) is not None
    )


def _names_logprobs(error, text):
    return (
        getattr(error, "param", None) in ("logprobs", "top_logprobs")
        or _LOGPROBS.search(text) is not None
    )


def columns(answer):
    """An answer's choices as the store keeps them; tokens are shared among them.

    Parameters
    ----------
    answer : dict or openai.types.chat.ChatCompletion

    Returns
    -------
    list of dict
        A choice that the server cut has the reason `length`, with or without a text. One without a text
        has `content_filter` or else `empty`.
    """
    if not isinstance(answer, dict):
        answer = answer.model_dump()
    choices = answer["choices"] or []
    usage = answer.get("usage") or {}
    shared = {"model": answer.get("model"), "fingerprint": answer.get("system_fingerprint")}
    for name in ("prompt_tokens", "completion_tokens"):
        shared[name] = None
        if choices and usage.get(name) is not None:
            shared[name] = usage[name] / len(choices)
    found = []
    for choice in choices:
        text = _text(choice["message"].get("content"))
        finish = choice.get("finish_reason")
        reason = ""
        if finish == "length":
            reason = finish
        elif not text:
            reason = finish if finish == "content_filter" else "empty"
        found.append(shared | {"text": text, "reason": reason, "logprobs": _logprobs(choice)})
    return found


def _logprobs(choice):
    """Per token its alternatives with their logarithms, where the server gives any."""
    given = choice.get("logprobs") or {}
    found = []
    if given.get("tokens") and not given.get(
        "content"
    ):  # the layout of completions, as some local servers give it
        for token, alternatives in zip(given["tokens"], given.get("top_logprobs") or []):
            if alternatives:
                found.append(
                    [_text(token), [[_text(other), value] for other, value in alternatives.items()]]
                )
        return found
    for token in given.get("content") or []:
        if token.get("top_logprobs"):
            alternatives = [
                [_text(other["token"]), other["logprob"]] for other in token["top_logprobs"]
            ]
            found.append([_text(token["token"]), alternatives])
    return found


def _text(value):
    """A string that can be written to a file: half a character, as a cut reply may end, is marked."""
    return (value or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def message(error):
    """An error's text without the key.

    Parameters
    ----------
    error : Exception

    Returns
    -------
    str
    """
    body = getattr(error, "body", None)
    text = str(error)
    if isinstance(body, dict):
        text = str(body.get("message", body))
    secret = os.environ.get("OPENAI_API_KEY", "")
    if secret:
        text = text.replace(secret, "[key]")
    return text
