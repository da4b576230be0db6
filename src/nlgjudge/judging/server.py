"""What an OpenAI-compatible server answers: replies, errors in its words, parameters it rejects."""

import json
import math
import re
from urllib.parse import parse_qs, urlsplit, urlunsplit

from nlgjudge.judging.api_key import NAMES, api_key, without_key
from nlgjudge.judging.errors import JudgeError
from nlgjudge.judging.reading import are_probable

TOP_LOGPROBS = 20  # alternatives of a token, the most that the API gives
LARGEST = 2**26  # bytes of an answer
SHOWN = 200  # characters of an answer that is no reply
LONGEST = 1000  # of an error's own words
CUT = (
    "length",
    "max_tokens",
    "MAX_TOKENS",
    "model_length",
)  # finish reasons of a text that was cut
MOST_TOKENS = 10**9  # of an answer; a count above it is no count
REJECTING = (400, 422)  # status of an answer that may name a parameter to leave out
REFUSING = (*REJECTING, 403)  # of one that may say that a filter refused the prompt
# A parameter with the server's own default changes nothing, so it is the first to be left out.
_DEFAULTS = {
    "temperature": 1,
    "top_p": 1,
    "n": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
}
_AT_MOST = re.compile(
    r"(?:\b(?:most|maximum|max|allowed|than|to|and)\b|<=|≤|\[\d+,)\D{0,12}\b(\d{1,2})\b",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(r"context.?(?:length|window)|too long|reduce the length", re.I)
_FILTERED = re.compile(
    r"content_?filter|content management policy|content_policy_violation|\bmoderat(?:ed|ion)\b|\bflagged\b",
    re.IGNORECASE,
)
_NO_CHAT = re.compile(
    r"v1/responses|not a chat model|not supported in (?:the )?v1/chat", re.IGNORECASE
)
_LOADING = re.compile(r"\bloading\b|not (?:yet )?loaded", re.IGNORECASE)


class CallFailed(Exception):
    """One call failed for good; others may not."""


class Malformed(CallFailed):
    """An answer with status 200 holds no reply; another try may."""


class Loading(CallFailed):
    """The server is still loading its model."""


def client(kind, base_url, **options):
    """A client of the openai package, its Azure class if the address names an `api-version`.

    Parameters
    ----------
    kind : {"Async", ""}
    base_url : str
    **options
        For the client.

    Raises
    ------
    JudgeError
        If the environment has no key, or one that cannot be sent.
    """
    import openai  # takes a second, which recordings and plans need not pay

    parts = urlsplit(base_url)
    version = parse_qs(parts.query).get("api-version")
    make = getattr(openai, f"{kind}OpenAI")
    options["api_key"] = api_key()
    if version:
        make = getattr(openai, f"{kind}AzureOpenAI")
        path = parts.path.rstrip("/").removesuffix("/chat/completions")
        base_url = urlunsplit(parts._replace(path=path, query=""))
        options |= {"api_version": version[0], "api_key": api_key() or api_key(NAMES[1])}
    if kind:
        options["http_client"] = _bounded()
    try:
        return make(base_url=base_url, **options)
    except openai.OpenAIError as error:
        raise JudgeError(
            "no key: set OPENAI_API_KEY (any word for a server without keys) and, for a server other "
            "than OpenAI's, OPENAI_BASE_URL. For Azure, OPENAI_BASE_URL is "
            "https://NAME.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=VERSION"
        ) from error


def _bounded():
    """A connection that takes answers up to a size, unpacked, and leads a key to no other address."""
    import openai

    class Bounded(openai.DefaultAsyncHttpxClient):
        async def send(self, request, **options):
            response = await super().send(request, **options | {"stream": True})
            content = bytearray()
            async for part in response.aiter_bytes():
                content += part
                if len(content) > LARGEST:
                    too_large = {"error": f"the answer is larger than {LARGEST:,} bytes"}
                    content = json.dumps(too_large).encode()
                    break
            await response.aclose()
            headers = {
                name: value
                for name, value in response.headers.items()
                if name not in ("content-encoding", "content-length", "transfer-encoding")
            }
            return type(response)(
                response.status_code, headers=headers, content=bytes(content), request=request
            )

    return Bounded(follow_redirects=False)


def replies_in(answer):
    """The replies of a chat completion, as the store has them; tokens are shared among them.

    Parameters
    ----------
    answer : bytes, or dict
        The body of the answer, or decoded.

    Returns
    -------
    list of dict
        A reply without text says why in `reason`: `length`, `content_filter`, `refusal` (with the refusal's
        words), `reasoning_only` (the server put all into its reasoning), `tool_calls` (into a call of a tool) or
        `empty`. A text that was cut has the reason `length`, too. Tokens are None unless the server counts them in
        whole numbers, and token probabilities are kept only if each is a logarithm and they add up to 1 at most.

    Raises
    ------
    Malformed
        If there is none, in the server's words if it has any.
    """
    text = ""
    if isinstance(answer, bytes):
        text = answer.decode(errors="replace")
        answer = _decoded(answer)
    if isinstance(answer, dict) and answer.get("error"):
        raise Malformed(said(answer["error"]))
    try:
        given = {"model": answer.get("model"), "fingerprint": answer.get("system_fingerprint")}
        shared = {name: value for name, value in given.items() if isinstance(value, str)}
        shared |= _tokens(answer.get("usage"), len(answer["choices"]))
        found = [shared | _reply(choice) for choice in answer["choices"]]
    except (AttributeError, KeyError, TypeError, ValueError):
        found = []
    if not found:
        raise _unexpected(text or json.dumps(answer))
    return found


def _decoded(body):
    try:
        return without_key(json.loads(body))
    except RecursionError:
        raise Malformed("the answer is JSON that is nested too deeply") from None
    except ValueError:
        raise _unexpected(body.decode(errors="replace")) from None


def _unexpected(text):
    text = without_key(_start(text, SHOWN))
    return Malformed(f"expected a chat completion, JSON with choices; got {text!r}")


def _start(text, most):
    """The first characters of a text, on one line."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"


def _tokens(usage, number):
    """What one of several replies in an answer takes; None where a count is no whole number."""
    usage = usage if isinstance(usage, dict) else {}
    counts = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")}
    if any(type(count) is not int or not 0 <= count < MOST_TOKENS for count in counts.values()):
        return dict.fromkeys(counts)
    return {name: count / max(number, 1) for name, count in counts.items()}


def filtered():
    """The reply of a server that refused a prompt by its content filter."""
    return {"text": "", "reason": "content_filter", "prompt_tokens": 0, "completion_tokens": 0}


def _reply(choice):
    message = choice["message"]
    text = _text(message.get("content"))
    finish = choice.get("finish_reason")
    reason = "length" if finish in CUT else "content_filter" if finish == "content_filter" else ""
    if text.strip():
        reason = "" if reason == "content_filter" else reason
    elif message.get("refusal"):
        text = _text(message["refusal"])
        reason = "refusal"
    elif not reason:
        thoughts = message.get("reasoning_content") or message.get("reasoning")
        calls = message.get("tool_calls") or message.get("function_call")
        reason = "reasoning_only" if thoughts else "tool_calls" if calls else "empty"
    return {"text": text, "reason": reason, "logprobs": _logprobs(choice.get("logprobs") or {})}


def _logprobs(given):
    """Per token its alternatives with their log-probabilities; none at all where a number is no such logarithm."""
    found = []
    for token in given.get("content") or []:
        alternatives = [
            [_text(other["token"]), other["logprob"]]
            for other in token.get("top_logprobs") or []
            if other["logprob"] != -math.inf
        ]
        if alternatives:
            found.append([_text(token["token"]), alternatives])
    return found if are_probable(found) else []


def _text(content):
    """A reply's text: the text parts of a list joined; half a character, as a cut reply may end, is marked."""
    if isinstance(content, list):
        parts = [part for part in content if part.get("type", "text") in ("text", "output_text")]
        content = "".join(part.get("text") or "" for part in parts)
    return (content or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def words(error):
    """What an error says, without the key.

    Parameters
    ----------
    error : Exception, dict or str

    Returns
    -------
    str
    """
    body = getattr(error, "body", error) or str(error)
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body
    return without_key(str(body))


def said(error):
    """What an error says, without the key, on one line that is not too long: of a page its first words."""
    is_json = isinstance(getattr(error, "body", error), dict)
    return _start(words(error), LONGEST if is_json else SHOWN)


def is_filtered(error):
    """Whether an error says that the content filter or a moderator refused the prompt."""
    return _FILTERED.search(f"{_field(error, 'code')} {words(error)}") is not None


def rejected(error, body):
    """The parameter of a request to leave out next, because the server's error names it.

    Parameters
    ----------
    error : openai.APIStatusError or dict
    body : dict
        What was sent.

    Returns
    -------
    str
        Of several, one with the server's default first, then the one in the error's field `param`. Empty
        if the error names none, or says that the text is too long.
    """
    text = words(error)
    if _TOO_LONG.search(f"{_field(error, 'code')} {text}"):
        return ""
    param = _field(error, "param")
    named = [
        name
        for name in body
        if name not in ("model", "messages")
        and (name == param or re.search(rf"(?<![\w\\]){re.escape(name)}(?!\w)", text))
    ]
    named.sort(key=lambda name: (body[name] != _DEFAULTS.get(name, ...), name != param))
    return named[0] if named else ""


def _field(error, name):
    return error.get(name) if isinstance(error, dict) else getattr(error, name, None)


def most_alternatives(error, asked):
    """How many alternatives of a token an error allows, fewer than were asked for; 0 if it doesn't say."""
    allowed = [int(number) for number in _AT_MOST.findall(words(error))]
    return max((number for number in allowed if number < asked), default=0)


def explained(error, model, endpoint, answered=False):
    """A client's error as one of ours: its meaning in words, without the key.

    Parameters
    ----------
    error : openai.OpenAIError
    model, endpoint : str
    answered : bool
        Whether the model has answered other requests, so that the error is of this one alone.

    Returns
    -------
    JudgeError or CallFailed
        The first for what would fail for every item.
    """
    import openai

    text = said(error)
    status = getattr(error, "status_code", 0)
    if isinstance(error, openai.APITimeoutError):
        return CallFailed("the server did not answer in time; a longer --timeout may help")
    if isinstance(error, openai.APIConnectionError):
        cause = without_key(str(error.__cause__ or text))
        return CallFailed(f"no connection to {endpoint} ({cause})")
    if 300 <= status < 400:
        to = without_key(error.response.headers.get("location", "another address"))
        return JudgeError(
            f"{endpoint} redirects to {to} ({status}): put the address of the server into OPENAI_BASE_URL"
        )
    if status == 401:
        return JudgeError(f"the key in OPENAI_API_KEY was refused (401): {text}")
    if status in (400, 404) and _NO_CHAT.search(text):
        return JudgeError(
            f"{model} has no chat completions endpoint, which is how a judge is asked ({status}): {text}"
        )
    if status == 403 and not answered:
        return JudgeError(f"the key may not use this model (403): {text}")
    if status == 404 and not answered:
        return JudgeError(f"no model {model!r} at {endpoint} (404): {text}")
    if "insufficient_quota" in (getattr(error, "code", None), getattr(error, "type", None)):
        return JudgeError(f"the account has no quota left: {text}")
    if status == 503 and _LOADING.search(text):
        return Loading(text)
    return CallFailed(text)
