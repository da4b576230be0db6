"""One OpenAI-compatible endpoint: what it supports, what its answers and errors mean.

Servers differ: some ignore `n` or `logprobs`, some reject a temperature. What a server does
not support shows in its first answers; it is then served another way, with a notice, and
never by another score in silence. The key is read from the environment by the client and
kept out of every message.
"""

import os
import warnings

import openai

from nlgjudge.judging.tasks import Reply, key

RETRIES = 6  # of a call that failed on the way; the client honours Retry-After
MALFORMED = 3  # tries at an answer that is no answer
FALLBACK_SAMPLES = 20  # G-Eval, section 3.1: 20 samples estimate the token probabilities
_RENAMED = {"max_tokens": "max_completion_tokens"}
_OPTIONAL = ("logprobs", "temperature", "top_p", "max_tokens", "n")
_NO_LOGPROBS = f"scores are estimated from {FALLBACK_SAMPLES} samples at temperature 1 instead"


class JudgeError(Exception):
    """A judge cannot go on; the message says why and what to do."""


class CallFailed(Exception):
    """One call failed for good; others may not."""


class Malformed(CallFailed):
    """An answer was no completion; another may be."""


class Server:
    """An endpoint and what is known of it.

    Parameters
    ----------
    model : str
    timeout : float
        Seconds that one call may take.

    Attributes
    ----------
    notices : list of str
        What was found unsupported and how it is served instead.
    calls : int
        Calls made so far, malformed answers included.
    """

    def __init__(self, model, *, timeout=60):
        self.model, self.timeout = model, timeout
        self.notices, self.calls, self._unsupported, self._gives_logprobs = [], 0, set(), False

    def client(self):
        """Open the shared asynchronous client.

        Raises
        ------
        JudgeError
            When the environment holds no key.
        """
        try:
            return openai.AsyncOpenAI(max_retries=RETRIES, timeout=self.timeout)
        except openai.OpenAIError as error:
            raise JudgeError("no key: set OPENAI_API_KEY (any word for a server without keys) and, for a "
                             "server of your own, OPENAI_BASE_URL") from error

    def request(self, task):
        """The request that this server takes for a task, its key, and the samples wanted."""
        request, n = task.request(self.model), task.n
        if "logprobs" in self._unsupported and request.pop("logprobs", False):
            request["temperature"], n = 1, max(n, FALLBACK_SAMPLES)
        for name in self._unsupported & set(request):
            value = request.pop(name)
            if name in _RENAMED:
                request[_RENAMED[name]] = value
        return request, key(request), n

    def stored(self, store, tasks):
        """Yield a reply per sample from a store; one that is not there says `not answered`."""
        for task in tasks:
            _, digest, n = self.request(task)
            have = store.get(digest)
            for i in range(n):
                found = have.get(i, {"text": "", "reason": "not answered", "logprobs": []})
                yield Reply(task.item_id, task.aspect, i, found["text"], found["reason"], found["logprobs"])

    def body(self, request, count):
        """The body to send for `count` samples of a request."""
        body = dict(request)
        if count > 1 and "n" not in self._unsupported:
            body["n"] = count
        if body.pop("logprobs", False):
            body |= {"logprobs": True, "top_logprobs": 20}
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
            For a wrong key, an unknown model or an empty account.
        """
        body = self.body(request, count)
        self.calls += 1
        try:
            # The client's typed method takes half as much time again, and checks nothing more.
            found = columns(await client.post("/chat/completions", body=body, cast_to=object))
        except openai.BadRequestError as error:
            if self._adapt(error, body):
                return None
            raise CallFailed(message(error)) from None
        except openai.OpenAIError as error:
            raise self._explained(error) from None
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            raise Malformed(f"no completion in the answer ({type(error).__name__})") from None
        if not found:
            raise Malformed("no choices in the answer")
        return None if self._learn(body, found) else found[:count]

    def _learn(self, body, found):
        """Note what the server ignores; True when the answer is of no use therefore."""
        if body.get("n", 1) > len(found) == 1:
            self._without("n", f"the server gave one of {body['n']} samples: the rest is asked for one by "
                          "one")
        if not body.get("logprobs") or not any(f["text"] for f in found):
            return False
        self._gives_logprobs |= any(f["logprobs"] for f in found)
        if not self._gives_logprobs:
            self._without("logprobs", f"the server gives no token probabilities: {_NO_LOGPROBS}")
        return not self._gives_logprobs

    def _adapt(self, error, body):
        """Leave out what the server rejects; False when that is not the trouble."""
        for name in _OPTIONAL:
            if name in body and (getattr(error, "param", None) in (name, f"top_{name}")
                                 or f"'{name}'" in message(error)):
                instead = _NO_LOGPROBS if name == "logprobs" else \
                    f"sent as {_RENAMED[name]}" if name in _RENAMED else "left out"
                self._without(name, f"the server rejects {name}: {instead}")
                return True
        return False

    def _without(self, name, notice):
        if name not in self._unsupported:
            self._unsupported.add(name)
            self.notices.append(notice)
            warnings.warn(f"{self.model}: {notice}", stacklevel=3)

    def _explained(self, error):
        text = message(error)
        for kind, meaning in ((openai.AuthenticationError, "the key in OPENAI_API_KEY was refused (401)"),
                              (openai.PermissionDeniedError, "the key may not use this model (403)"),
                              (openai.NotFoundError, f"no model {self.model!r} at this endpoint (404)")):
            if isinstance(error, kind):
                return JudgeError(f"{meaning}: {text}")
        if "insufficient_quota" in (getattr(error, "code", None), getattr(error, "type", None)):
            return JudgeError(f"the account has no quota left: {text}")
        return CallFailed(text)


def columns(answer):
    """An answer's choices as the store keeps them; tokens are shared among them.

    Parameters
    ----------
    answer : dict or openai.types.chat.ChatCompletion

    Returns
    -------
    list of dict
    """
    answer = answer if isinstance(answer, dict) else answer.model_dump()
    choices, usage = answer["choices"] or [], answer.get("usage") or {}
    shared = {name: usage[name] / len(choices) if choices and usage.get(name) is not None else None
              for name in ("prompt_tokens", "completion_tokens")}
    shared |= {"model": answer.get("model"), "fingerprint": answer.get("system_fingerprint")}
    return [shared | {"text": (text := _text(choice["message"].get("content"))), "reason": "" if text else
                      "content_filter" if choice.get("finish_reason") == "content_filter" else "empty",
                      "logprobs": _logprobs(choice)} for choice in choices]


def _logprobs(choice):
    tokens = (choice.get("logprobs") or {}).get("content") or []
    return [[_text(t["token"]), [[_text(a["token"]), a["logprob"]] for a in t["top_logprobs"]]]
            for t in tokens if t.get("top_logprobs")]


def _text(value):
    """A string that can be written to a file: half a character, as a cut reply may end, is marked."""
    return (value or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def message(error):
    """An error's text without the key."""
    body = getattr(error, "body", None)
    text = str(body.get("message", body) if isinstance(body, dict) else error)
    secret = os.environ.get("OPENAI_API_KEY", "")
    return text.replace(secret, "[key]") if secret else text
