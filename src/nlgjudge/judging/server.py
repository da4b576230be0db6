"""What an OpenAI-compatible server answers: replies, errors in its words, parameters it rejects."""

import os
import re
from urllib.parse import parse_qs, urlsplit, urlunsplit

from nlgjudge.judging.errors import JudgeError

TOP_LOGPROBS = 20  # alternatives of a token, the most that the API gives
# A parameter with the server's own default changes nothing, so it is the first to be left out.
_DEFAULTS = {
    "temperature": 1,
    "top_p": 1,
    "n": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
}
_AT_MOST = re.compile(
    r"(?:\b(?:most|maximum|max|allowed|than|to|and)\b|<=|≤)\D{0,12}\b(\d{1,2})\b", re.IGNORECASE
)
_TOO_LONG = re.compile(r"context.?(?:length|window)|too long|reduce the length", re.I)
_FILTERED = re.compile(r"content_?filter|content management policy|content_policy_violation", re.I)


class CallFailed(Exception):
    """One call failed for good; others may not."""


class Malformed(CallFailed):
    """An answer with status 200 holds no reply; another try may."""


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
        If the environment has no key.
    """
    import openai  # takes a second, which recordings and plans need not pay

    parts = urlsplit(base_url)
    version = parse_qs(parts.query).get("api-version")
    make = getattr(openai, f"{kind}OpenAI")
    if version:
        make = getattr(openai, f"{kind}AzureOpenAI")
        path = parts.path.rstrip("/").removesuffix("/chat/completions")
        base_url = urlunsplit(parts._replace(path=path, query=""))
        options |= {"api_version": version[0], "api_key": os.environ.get("OPENAI_API_KEY")}
    try:
        return make(base_url=base_url, **options)
    except openai.OpenAIError as error:
        raise JudgeError(
            "no key: set OPENAI_API_KEY (any word for a server without keys) and, for a server other "
            "than OpenAI's, OPENAI_BASE_URL. For Azure, OPENAI_BASE_URL is "
            "https://NAME.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=VERSION"
        ) from error


def replies_in(answer):
    """The replies of a chat completion, as the store has them; tokens are shared among them.

    Parameters
    ----------
    answer : dict
        The decoded body.

    Returns
    -------
    list of dict
        A reply without text says why in `reason`: `length`, `content_filter`, `refusal` (with the refusal's
        words), `reasoning_only` (the server put all into its reasoning) or `empty`. A text that was cut has
        the reason `length`, too.

    Raises
    ------
    Malformed
        If there is none, in the server's words if it has any.
    """
    try:
        if isinstance(answer, dict) and answer.get("error"):
            raise Malformed(words(answer["error"]))
        usage = answer.get("usage") or {}
        shared = {"model": answer.get("model"), "fingerprint": answer.get("system_fingerprint")}
        for name in ("prompt_tokens", "completion_tokens"):
            tokens = usage.get(name)
            shared[name] = None if tokens is None else tokens / len(answer["choices"])
        found = [shared | _reply(choice) for choice in answer["choices"]]
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise Malformed(f"no completion in the answer ({type(error).__name__})") from None
    if not found:
        raise Malformed("no choices in the answer")
    return found


def filtered():
    """The reply of a server that refused a prompt by its content filter."""
    return {"text": "", "reason": "content_filter", "prompt_tokens": 0, "completion_tokens": 0}


def _reply(choice):
    message = choice["message"]
    text = _text(message.get("content"))
    finish = choice.get("finish_reason")
    reason = finish if finish in ("length", "content_filter") else ""
    if text.strip():
        reason = "" if reason == "content_filter" else reason
    elif message.get("refusal"):
        text = _text(message["refusal"])
        reason = "refusal"
    elif not reason:
        thoughts = message.get("reasoning_content") or message.get("reasoning")
        reason = "reasoning_only" if thoughts else "empty"
    return {"text": text, "reason": reason, "logprobs": _logprobs(choice.get("logprobs") or {})}


def _logprobs(given):
    """Per token its alternatives with their log-probabilities."""
    found = []
    for token in given.get("content") or []:
        alternatives = [
            [_text(other["token"]), other["logprob"]] for other in token.get("top_logprobs") or []
        ]
        if alternatives:
            found.append([_text(token["token"]), alternatives])
    return found


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
    text = str(body)
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"):
        if os.environ.get(name):
            text = text.replace(os.environ[name], "[key]")
    return text


def is_filtered(error):
    """Whether an error says that the content filter refused the prompt, as Azure's do."""
    code = f"{getattr(error, 'code', '')} {words(error)}"
    return _FILTERED.search(code) is not None


def rejected(error, body):
    """The parameter of a request to leave out next, because the server's error names it.

    Parameters
    ----------
    error : openai.APIStatusError
    body : dict
        What was sent.

    Returns
    -------
    str
        Of several, one with the server's default first, then the one in the error's field `param`. Empty
        if the error names none, or says that the text is too long.
    """
    text = words(error)
    if _TOO_LONG.search(f"{getattr(error, 'code', '')} {text}"):
        return ""
    param = getattr(error, "param", None)
    named = [
        name
        for name in body
        if name not in ("model", "messages")
        and (name == param or re.search(rf"(?<![\w\\]){re.escape(name)}(?!\w)", text))
    ]
    named.sort(key=lambda name: (body[name] != _DEFAULTS.get(name, ...), name != param))
    return named[0] if named else ""


def most_alternatives(error, asked):
    """How many alternatives of a token an error allows, fewer than were asked for; 0 if it doesn't say."""
    allowed = [int(number) for number in _AT_MOST.findall(words(error))]
    return max((number for number in allowed if number < asked), default=0)


def explained(error, model, endpoint):
    """A client's error as one of ours: its meaning in words, without the key.

    Returns
    -------
    JudgeError or CallFailed
        The first for what would fail for every item.
    """
    import openai

    text = words(error)
    if isinstance(error, openai.AuthenticationError):
        return JudgeError(f"the key in OPENAI_API_KEY was refused (401): {text}")
    if isinstance(error, openai.PermissionDeniedError):
        return JudgeError(f"the key may not use this model (403): {text}")
    if isinstance(error, openai.NotFoundError):
        return JudgeError(f"no model {model!r} at {endpoint} (404): {text}")
    if "insufficient_quota" in (getattr(error, "code", None), getattr(error, "type", None)):
        return JudgeError(f"the account has no quota left: {text}")
    if isinstance(error, openai.APITimeoutError):
        return CallFailed("the server did not answer in time; a longer --timeout may help")
    if isinstance(error, openai.APIConnectionError):
        return CallFailed(f"no connection to {endpoint} ({error.__cause__ or text})")
    return CallFailed(text)
