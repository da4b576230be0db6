"""What an OpenAI-compatible server answers: replies, errors in its words, parameters it rejects."""

import json
import math
import os
import re
from functools import lru_cache
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

from nlgjudge.judging.judge import JudgeError
from nlgjudge.judging.reading import are_probable

TOP_LOGPROBS = 20  # alternatives of a token, the most that the API gives
LARGEST = 2**26  # bytes of an answer
SHOWN = 200  # characters of an answer that is no reply
LONGEST = 1000  # of an error's own words
# Finish reasons of a text that was cut.
CUT = ("length", "max_tokens", "MAX_TOKENS", "model_length")
MOST_TOKENS = 10**9  # of an answer; a count above it is no count
REJECTING = (400, 422)  # status of an answer that may name a parameter to leave out
REFUSING = (*REJECTING, 403)  # of one that may say that a filter refused the prompt
# A parameter with the server's own default changes nothing, so it is the first to be left out.
_DEFAULTS = {"temperature": 1, "top_p": 1, "n": 1, "presence_penalty": 0, "frequency_penalty": 0}
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
# Of a key.
NAMES = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN")
_SHORTEST = 8  # characters; a shorter key is a placeholder, as "none" for a server without keys
_PART = 12  # characters of a key that no other text has in common with it


class CallFailed(Exception):
    """One call failed for good; others may not."""


class Malformed(CallFailed):
    """An answer with status 200 holds no reply; another try may."""


class Loading(CallFailed):
    """The server is still loading its model."""


def client(kind, base_url, **options):
    """A client of the openai package, "Async" or "", its Azure class if the address names an `api-version`.

    JudgeError if the environment has no key, or one that cannot be sent.
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
    """The replies of a chat completion, in bytes or decoded, as the store has them; tokens are shared among them.

    A reply without text says why in `reason`: `length`, `content_filter`, `refusal` (with the refusal's words),
    `reasoning_only` (the server put all into its reasoning), `tool_calls` (into a call of a tool) or `empty`. A text
    that was cut has the reason `length`, too. Tokens are None unless the server counts them in whole numbers, and token
    probabilities are kept only if each is a logarithm and they add up to 1 at most. Without any reply, Malformed.
    """
    text = ""
    if isinstance(answer, bytes):
        text = answer.decode(errors="replace")
        answer = _decoded(answer)
    if isinstance(answer, dict) and answer.get("error"):
        raise Malformed(short_text(answer["error"]))
    try:
        names = {"model": answer.get("model"), "fingerprint": answer.get("system_fingerprint")}
        shared = {name: value for name, value in names.items() if isinstance(value, str)}
        shared |= _tokens(answer.get("usage"), len(answer["choices"]))
        replies = [shared | _reply(choice) for choice in answer["choices"]]
    except (AttributeError, KeyError, TypeError, ValueError):
        replies = []
    if not replies:
        raise _unexpected(text or json.dumps(answer))
    return replies


def _decoded(body):
    try:
        return without_key(json.loads(body))
    except RecursionError:
        raise Malformed("the answer is JSON that is nested too deeply") from None
    except ValueError:
        raise _unexpected(body.decode(errors="replace")) from None


def _unexpected(text):
    text = without_key(_shortened(text, SHOWN))
    return Malformed(f"expected a chat completion, JSON with choices; got {text!r}")


def _shortened(text, most):
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


def _logprobs(field):
    """Per token its alternatives with their log-probabilities; none at all where a number is no such logarithm."""
    tokens = []
    for token in field.get("content") or []:
        alternatives = [
            [_text(other["token"]), other["logprob"]]
            for other in token.get("top_logprobs") or []
            if other["logprob"] != -math.inf
        ]
        if alternatives:
            tokens.append([_text(token["token"]), alternatives])
    return tokens if are_probable(tokens) else []


def _text(content):
    """A reply's text: the text parts of a list joined; half a character, as a cut reply may end, is marked."""
    if isinstance(content, list):
        parts = [part for part in content if part.get("type", "text") in ("text", "output_text")]
        content = "".join(part.get("text") or "" for part in parts)
    return (content or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _error_text(error):
    """What an error, as an exception, dict or str, says, without the key."""
    body = getattr(error, "body", error) or str(error)
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body
    return without_key(str(body))


def short_text(error):
    """What an error says, without the key, on one line that is not too long: of a page its first words."""
    is_json = isinstance(getattr(error, "body", error), dict)
    return _shortened(_error_text(error), LONGEST if is_json else SHOWN)


def is_filtered(error):
    """Whether an error says that the content filter or a moderator refused the prompt."""
    return _FILTERED.search(f"{_field(error, 'code')} {_error_text(error)}") is not None


def rejected(error, body):
    """The parameter of a request's body to leave out next, because the server's error names it.

    Of several, one with the server's default first, then the one in the error's field `param`. Empty if the error
    names none, or says that the text is too long.
    """
    text = _error_text(error)
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
    allowed = [int(number) for number in _AT_MOST.findall(_error_text(error))]
    return max((number for number in allowed if number < asked), default=0)


def explained(error, model, endpoint, answered=False):
    """An error of the client as a JudgeError if it would fail for every item, else as a CallFailed.

    `answered` says whether the model has answered other requests, so that the error is of this one alone.
    """
    import openai

    text = short_text(error)
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


# ---- The key ------------------------------------------------------------------------------------------


def api_key(name="OPENAI_API_KEY"):
    """A key in the environment without blanks around it, None without one.

    JudgeError, which does not show it, for a key that cannot be the header of a request.
    """
    key = os.environ.get(name, "").strip()
    odd = next((character for character in key if not " " <= character <= "~"), "")
    if odd:
        kind = (
            "a line break or control character"
            if odd.isascii()
            else "a character that is not ASCII"
        )
        raise JudgeError(f"the key in {name} contains {kind}, which cannot be sent: set it again")
    return key or None


def without_key(value):
    """The same text, list or dict with ``[key]`` in the place of a key.

    A key is found whole, URL-encoded, as Python writes it, masked (``sk-ab****wxyz``), by its beginning, or by any
    twelve characters of it.

    Examples
    --------
    >>> os.environ["AZURE_OPENAI_AD_TOKEN"] = "sk-3kf9w2m5x8"
    >>> without_key({"error": "Bearer sk-3kf9w2m5x8 and sk-3k***x8 are refused"})
    {'error': 'Bearer [key] and [key] are refused'}
    >>> del os.environ["AZURE_OPENAI_AD_TOKEN"]
    """
    if isinstance(value, str):
        for name in NAMES:
            key = os.environ.get(name, "").strip()
            if len(key) >= _SHORTEST:
                value = _hidden(value, key)
        return value
    if isinstance(value, list):
        return [without_key(part) for part in value]
    if isinstance(value, dict):
        return {without_key(name): without_key(part) for name, part in value.items()}
    return value


def _hidden(text, key):
    blocks, parts, masked = _pattern(key)
    folded = text.casefold()
    if not any(block in folded for block in blocks):
        return text
    text = masked.sub("[key]", text)
    spans = [(match.start(1), match.end(1)) for match in parts.finditer(text)]
    for start, end in reversed(_joined(spans)):
        text = f"{text[:start]}[key]{text[end:]}"
    return text


@lru_cache(maxsize=8)
def _pattern(key):
    """Blocks of a key, one of which every part of it contains; a pattern of its parts, and of it masked."""
    spellings = {key, quote(key, safe=""), repr(key)[1:-1]}
    parts = {spelling[:length] for spelling in spellings for length in range(_SHORTEST, _PART)}
    parts |= {part for spelling in spellings for part in _slices(spelling, _PART, 1)}
    half = _PART // 2
    blocks = {part for spelling in spellings for part in _slices(spelling, half, half)}
    begin = "|".join(re.escape(key[:length]) for length in range(_SHORTEST, 2, -1))
    masked = rf"(?<!\w)(?:{begin})[*•.…]{{2,}}(?:[\w-]{{0,{_SHORTEST}}}(?!\w))?"
    longest_first = sorted(parts, key=len, reverse=True)
    return (
        {block.casefold() for block in blocks | {key[:3]}},
        re.compile(rf"(?=({'|'.join(map(re.escape, longest_first))}))", re.IGNORECASE),
        re.compile(masked, re.IGNORECASE),
    )


def _slices(text, length, step):
    return [text[at : at + length] for at in range(0, len(text) - length + 1, step)]


def _joined(spans):
    """Spans that do not overlap, in order."""
    joined = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined
