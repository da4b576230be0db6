"""Replies: as a server gives them, as the store has them, and as a judge yields them."""

import json
import math
import re
from pathlib import PurePath

from nlgjudge.judging.keys import without_key
from nlgjudge.judging.reading import are_probable
from nlgjudge.judging.tasks import NOT_ANSWERED, Reply

TOP_LOGPROBS = 20  # alternatives of a token, the most that the API gives
FALLBACK_SAMPLES = 20  # G-Eval, section 3.1: 20 samples estimate the token probabilities
FALLBACK = {"temperature": 1, "top_p": 1}  # the same
SHOWN = 200  # characters of an answer that is no reply
# Finish reasons of servers in lower case, by the reason of a reply without text. Any other is that of a failure.
_FINISHED = {
    "": "none null stop stop_sequence eos eos_token end_turn complete tool_calls tool_call tool_use function_call",
    "length": "length max_tokens model_length token_limit model_context_window_exceeded",
    "content_filter": "content_filter content_filtered guardrail_intervened sensitive safety recitation blocklist "
    "prohibited_content spii refusal",
}
_FINISHED = {word: reason for reason, words in _FINISHED.items() for word in words.split()}
MOST_TOKENS = 10**9  # of an answer; a count above it is no count
# The reply of a server that refused a prompt by its content filter.
FILTERED = {"text": "", "reason": "content_filter", "prompt_tokens": 0, "completion_tokens": 0}
# What may follow a model's name without making it another model: a date, a number of a version, a tag.
_VERSION = re.compile(r"(?:[-@]\d{4}-\d\d-\d\d|[-@]\d{3,8}|[-:]latest|:free)\Z")


class CallFailed(Exception):
    """One call failed for good; others may not."""


def replies_in(content):
    """The replies of a chat completion, as the store has them; tokens are shared among them.

    A reply without text says why in `reason`: `length`, `content_filter`, `refusal` (with the refusal's words),
    `reasoning_only` (the server put all into its reasoning), `tool_calls` (into a call of a tool) or `empty`. A text
    that was cut has the reason `length`, too. Tokens are None unless the server counts them in whole numbers, and token
    probabilities are kept only if each is a logarithm and they add up to 1 at most. A reply that the server broke off
    is `not answered`, and its text says why; so is an answer without any reply.
    """
    got = shortened(content.decode(errors="replace"), SHOWN)
    failed = {"text": f"expected a chat completion, JSON with choices; got {got!r}"}
    failed["reason"] = NOT_ANSWERED
    try:
        answer = without_key(json.loads(content))
        failed |= _tokens(answer.get("usage"), 1)
        choices = [answer] if answer.get("error") else answer["choices"]
        names = {"model": answer.get("model"), "fingerprint": answer.get("system_fingerprint")}
        shared = {name: _text(value) for name, value in names.items() if isinstance(value, str)}
        shared |= _tokens(answer.get("usage"), len(choices))
        return [shared | _reply(choice) for choice in choices] or [failed]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return [failed]


def said(error):
    """What an error, as a server's JSON has it, says."""
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return shortened(str(error))


def shortened(text, most=1000):
    """The first characters of a text, on one line and without the key."""
    text = " ".join(without_key(text).split())
    return text if len(text) <= most else f"{text[:most]}…"


def _tokens(usage, number):
    """What one of several replies in an answer takes; None where a count is no whole number."""
    usage = usage if isinstance(usage, dict) else {}
    counts = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")}
    if any(type(count) is not int or not 0 <= count < MOST_TOKENS for count in counts.values()):
        return dict.fromkeys(counts)
    return {name: count / max(number, 1) for name, count in counts.items()}


def _reply(choice):
    finish = choice.get("finish_reason")
    reason = _FINISHED.get(str(finish or None).lower().partition(":")[0])
    if choice.get("error") or reason is None:
        broken = choice.get("error") or f"the reply was broken off, finish_reason {finish!r}"
        return {"text": said(broken), "reason": NOT_ANSWERED}
    message = choice["message"]
    text = _text(message.get("content"))
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


def estimate(task):
    """The task of a server without token probabilities: samples that estimate them (G-Eval, section 3.1)."""
    settings = {name: value for name, value in task.settings.items() if name != "logprobs"}
    return task._replace(n=max(task.n, FALLBACK_SAMPLES), settings=settings | FALLBACK)


def samples_wanted(task, have, dropped=()):
    """Number of samples: the task's, or enough to estimate probabilities that the server doesn't give."""
    changes = [reply["changes"] for reply in have.values()] or [dict.fromkeys(dropped)]
    estimated = "logprobs" in task.settings and any("logprobs" in changed for changed in changes)
    return max(task.n, FALLBACK_SAMPLES) if estimated else task.n


def replies_to(task, have, missing, dropped=()):
    """Stored replies to a task, one for each sample that is wanted."""
    for sample in range(samples_wanted(task, have, dropped)):
        reply = have.get(sample, {"text": "", "reason": missing, "logprobs": []})
        content = (reply[name] for name in ("text", "reason", "logprobs"))
        yield Reply(task.item_id, task.aspect, sample, *content)


def is_same_model(asked, answered):
    """Whether a name is that of the model that was asked, perhaps with its date or version.

    Examples
    --------
    >>> is_same_model("gpt-4o", "gpt-4o-2024-08-06"), is_same_model("gpt-4o", "gpt-4o-mini")
    (True, False)
    """
    asked, answered = (name.casefold().rpartition("/")[2] for name in (asked, answered))
    asked = re.sub(r"-latest\Z|:free\Z", "", asked)
    return asked in (answered, _VERSION.sub("", answered))


def say_reply(judge, model, reply):
    """Say once, of a reply that came or was stored, which model gave it and what was sent for it."""
    answered = reply.get("model")
    if answered and not is_same_model(model, answered):
        name = PurePath(answered).name if answered.startswith("/") else answered
        judge.say(f"asked {model}, answered by {name}: the scores are that model's")
    say_changes(judge, reply.get("changes", {}))


def say_changes(judge, changes):
    """Say once for each parameter that something else is sent than what was asked."""
    judge.changes = judge.changes | changes
    for name, value in changes.items():
        if name == "top_logprobs" and value:
            judge.say(
                f"the server allows {value} alternatives of a token, not {TOP_LOGPROBS}: a rating "
                "that is not among them counts as impossible"
            )
        elif name == "logprobs":
            judge.say(
                "the server gives no token probabilities: scores are estimated from "
                f"{FALLBACK_SAMPLES} samples at temperature 1 instead"
            )
        elif name == "max_tokens" and "max_completion_tokens" in changes:
            judge.say("the server rejects max_tokens: sent as max_completion_tokens")
        elif name == "n":
            judge.say("the server gives one sample a call: samples are asked for one by one")
        elif name == "seed":
            judge.say("seed is left out: the server rejects it, or gives one sample a call")
        elif value is None:
            judge.say(f"the server rejects {name}: left out")
