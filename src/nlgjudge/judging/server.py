"""One OpenAI-compatible endpoint: what it supports, what its answers and errors mean.

Servers differ: some ignore `n` or `logprobs`, some reject a temperature. What a server does
not support shows in its first answers; it is then served another way, with a notice, and
never by another score in silence. The key is read from the environment by the client and
kept out of every message.
"""

import json
import os
import warnings

from nlgjudge.judging.tasks import key

RETRIES = 6  # of a call that failed on the way; the client honours Retry-After
MALFORMED = 3  # tries at an answer that is no answer
FALLBACK_SAMPLES = 20  # G-Eval, section 3.1: 20 samples estimate the token probabilities
_RENAMED = {"max_tokens": "max_completion_tokens"}
_OPTIONAL = ("logprobs", "temperature", "top_p", "max_tokens", "n")


class JudgeError(Exception):
    """A judge cannot go on; the message says why and what to do."""


class CallFailed(Exception):
    """One call failed for good; others may not."""


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
        self.notices, self.calls, self._unsupported = [], 0, set()

    def client(self):
        """Open the shared asynchronous client.

        Raises
        ------
        JudgeError
            When the environment holds no key.
        """
        from openai import AsyncOpenAI, OpenAIError

        try:
            return AsyncOpenAI(max_retries=RETRIES, timeout=self.timeout)
        except OpenAIError as error:
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

    def body(self, request, count):
        """The body to send for `count` samples of a request."""
        body = dict(request)
        if count > 1 and "n" not in self._unsupported:
            body["n"] = count
        if body.pop("logprobs", False):
            body |= {"logprobs": True, "top_logprobs": 20}
        return body

    async def ask(self, client, request, count):
        """Call the server once, again while its answer is malformed.

        Returns
        -------
        list of dict or None
            Columns of `nlgjudge.judging.store`, at most `count` of them, fewer where the
            server gives fewer; None when it rejected a parameter that is now left out.

        Raises
        ------
        CallFailed
            When the client's retries are spent, or the request is refused.
        JudgeError
            For a wrong key, an unknown model or an empty account.
        """
        import openai

        body = self.body(request, count)
        for _ in range(MALFORMED):
            self.calls += 1
            try:
                answer = await client.chat.completions.create(**body)
                found = columns(answer)
            except openai.BadRequestError as error:
                if self._adapt(error, body):
                    return None
                raise CallFailed(message(error)) from None
            except openai.OpenAIError as error:
                raise self._explained(error) from None
            except (json.JSONDecodeError, AttributeError, TypeError, KeyError) as error:
                problem = f"no completion in the answer ({type(error).__name__})"
                continue
            if found:
                self._learn(body, found)
                return found[:count]
            problem = "no choices in the answer"
        raise CallFailed(f"{problem}, {MALFORMED} times")

    def _learn(self, body, found):
        if body.get("n", 1) > len(found) == 1:
            self._without("n", f"the server gave one of {body['n']} samples: the rest is asked for one by "
                          "one")
        if body.get("logprobs") and not any(f["logprobs"] for f in found):
            self._without("logprobs", "the server gives no token probabilities: scores are estimated from "
                          f"{FALLBACK_SAMPLES} samples at temperature 1 instead")

    def _adapt(self, error, body):
        """Leave out what the server rejects; False when that is not the trouble."""
        for name in _OPTIONAL:
            if name in body and name not in self._unsupported and (
                    getattr(error, "param", None) in (name, f"top_{name}") or f"'{name}'" in message(error)):
                instead = f"sent as {_RENAMED[name]}" if name in _RENAMED else "left out"
                self._without(name, f"the server rejects {name}: {instead}")
                return True
        return False

    def _without(self, name, notice):
        if name not in self._unsupported:
            self._unsupported.add(name)
            self.notices.append(notice)
            warnings.warn(f"{self.model}: {notice}", stacklevel=3)

    def _explained(self, error):
        import openai

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
    answer : openai.types.chat.ChatCompletion

    Returns
    -------
    list of dict
    """
    usage, share = answer.usage, max(len(answer.choices), 1)
    tokens = {"prompt_tokens": usage and usage.prompt_tokens / share,
              "completion_tokens": usage and usage.completion_tokens / share}
    return [tokens | {
        "text": choice.message.content or "",
        "reason": "" if choice.message.content else
        "content_filter" if choice.finish_reason == "content_filter" else "empty",
        "logprobs": [[t.token, [[a.token, a.logprob] for a in t.top_logprobs]]
                     for t in (choice.logprobs and choice.logprobs.content) or []],
        "model": answer.model, "fingerprint": answer.system_fingerprint} for choice in answer.choices]


def message(error):
    """An error's text without the key."""
    body = getattr(error, "body", None)
    text = str(body.get("message", body) if isinstance(body, dict) else error)
    secret = os.environ.get("OPENAI_API_KEY", "")
    return text.replace(secret, "[key]") if secret else text
