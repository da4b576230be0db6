"""What a live judge sends and keeps: requests and their keys, what the server rejects, stored replies."""

import os
import re
from pathlib import PurePath

from nlgjudge.judging.judge import Judge, JudgeError
from nlgjudge.judging.server import TOP_LOGPROBS, most_alternatives, rejected
from nlgjudge.judging.tasks import DEFAULT_ENDPOINT, NOT_ANSWERED, Reply, endpoint, key

STORED = ("form", "scale", "options", "pattern")  # of a reading
FALLBACK_SAMPLES = 20  # G-Eval, section 3.1: 20 samples estimate the token probabilities
FALLBACK = {"temperature": 1, "top_p": 1}  # the same
# What may follow a model's name without making it another model: a date, a number of a version, a tag.
_VERSION = re.compile(r"(?:[-@]\d{4}-\d\d-\d\d|[-@]\d{3,8}|[-:]latest|:free)\Z")


class Served(Judge):
    """A model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    model, store
        The model's name at the server, and a `nlgjudge.judging.store.Store`.
    price
        Of a million prompt and a million completion tokens.

    Attributes
    ----------
    endpoint
        Where requests go, by `OPENAI_BASE_URL` when the judge is made; it contains no secret.
    dropped
        Parameters that the server rejects or ignores, and that are sent no more.
    """

    asks = True
    is_model = True

    def __init__(self, model, store, price=None):
        self.model = model
        self.store = store
        self.price = price
        self.base_url = os.environ.get("OPENAI_BASE_URL") or DEFAULT_ENDPOINT
        try:
            self.endpoint = endpoint(self.base_url)
        except ValueError as error:
            raise JudgeError(str(error)) from None
        self.notices = []
        self.dropped = set()
        self._top_logprobs = TOP_LOGPROBS
        self._gave_logprobs = False

    def key(self, task):
        """Digest of a task's request as it is asked."""
        return key(task.request(self.model), self.endpoint)

    def missing(self, task, have):
        """Sample indices that are not stored yet; `have` is what `Store.get` gives."""
        wanted = range(samples_wanted(task, have, self.dropped))
        return [sample for sample in wanted if sample not in have]

    def asked(self, task):
        """What the store keeps of a task."""
        return {
            "request": task.request(self.model),
            "endpoint": self.endpoint,
            "prompt": task.prompt,
            "digest": task.digest,
            "reading": {name: getattr(task.reading, name) for name in STORED},
        }

    def body(self, task, count):
        """A request's body for `count` samples, and what differs from what was asked, None for what is left out."""
        request = task.request(self.model)
        changes = {name: None for name in request if name in self.dropped}
        if "max_tokens" in changes and "max_completion_tokens" not in self.dropped:
            changes["max_completion_tokens"] = request["max_tokens"]
        if "logprobs" in changes:
            changes |= {name: value for name, value in FALLBACK.items() if name not in self.dropped}
        elif request.get("logprobs") and "logprobs" not in changes:
            request["top_logprobs"] = TOP_LOGPROBS
            if self._top_logprobs < TOP_LOGPROBS:
                changes["top_logprobs"] = self._top_logprobs
        if "n" in self.dropped and task.n > 1 and "seed" in request:
            changes["seed"] = None  # else all samples would be alike
        body = {name: value for name, value in (request | changes).items() if value is not None}
        if count > 1 and "n" not in self.dropped:
            body["n"] = count
        return body, changes

    def adapt(self, error, body):
        """Leave out what the server's error rejects; False if it names no parameter."""
        name = rejected(error, body)
        if name in ("logprobs", "top_logprobs"):
            name = "logprobs"
            fewer = most_alternatives(error, body["top_logprobs"])
            if fewer and body["top_logprobs"] == TOP_LOGPROBS:
                self._top_logprobs = fewer
                say_changes(self, {"top_logprobs": fewer})
                return True
        if name:
            self.drop(name, body.get(name))
        return bool(name)

    def drop(self, name, value=None):
        """Send a parameter no more, and say so."""
        self.dropped.add(name)
        renamed = {"max_completion_tokens": value} if name == "max_tokens" else {}
        say_changes(self, {name: None} | renamed)

    def stored(self, tasks, missing=NOT_ANSWERED):
        """Yield the stored reply to each sample, or one with the reason `missing`."""
        return self.stored_at(((self.key(task), task) for task in tasks), missing)

    def stored_at(self, requests, missing):
        """The same for tasks with their keys."""
        for digest, task in requests:
            have = self.store.get(digest)
            yield from replies_to(task, have, missing, self.dropped)
            for reply in have.values():
                say_reply(self, self.model, reply)

    def compare(self, body, replies):
        """Say once what differs between a body and its replies; whether they can be used for what was asked."""
        for reply in replies:
            say_reply(self, self.model, reply)
        if body.get("n", 1) > len(replies) == 1:
            self.drop("n")
        self._gave_logprobs |= any(reply.get("logprobs") for reply in replies)
        without = any(reply["text"] and not reply.get("logprobs") for reply in replies)
        if body.get("logprobs") and without and self._gave_logprobs:
            self.say(
                "some replies came without token probabilities: their scores are the ratings as written"
            )
        elif body.get("logprobs") and without:
            self.drop("logprobs")
            return False
        return True


def estimate(task):
    """The task of a server without token probabilities: samples that estimate them (G-Eval, section 3.1)."""
    settings = {name: value for name, value in task.settings.items() if name != "logprobs"}
    return task._replace(n=max(task.n, FALLBACK_SAMPLES), settings=settings | FALLBACK)


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
