"""What a run would take before it is made: calls, tokens, cost.

The length of a reply is the mean of those stored for the same prompt, model and endpoint; without any it is
assumed by the form that the prompt asks for. `max_tokens` bounds it either way.
"""

import re

CHARACTERS = 4  # of a token, on average over English text
RATING = 5  # tokens of a rating: "4" has one, "- Coherence: 4" five
LIST = 40  # of a list of scores, as CoAScore's second step gives it
REASONED = 150  # of a rating with reasons
TEXT = 256  # of a text, as a list of steps or a rewritten summary
# How a prompt asks for reasons in its last words.
_REASONS = re.compile(r"\b(?:reasons?|expla\w+|rationale|step by step|analy[sz]e|justify)\b", re.I)
_LAST = 200  # characters
COUNTS = ("tasks", "samples", "cached", "calls", "prompt_tokens", "completion_tokens")


def prompt_tokens(task):
    """Tokens of a prompt, estimated."""
    return len(task.text) // CHARACTERS + 1


def assumed_length(task):
    """Tokens of a reply by the form that the prompt asks for, and that form in words.

    Examples
    --------
    >>> from nlgjudge.judging.tasks import Task
    >>> assumed_length(Task("item", "fluency", "Rate this text from 1 to 5: ...", {}, (1, 5), "form"))
    (5, 'a rating')
    """
    if task.form == "text":
        return TEXT, "a text"
    if task.form == "json":
        return LIST, "a list of scores"
    words = task.text
    for value in filter(None, task.fields.values()):  # an item's own words ask for nothing
        words = words.replace(value, " ")
    if _REASONS.search(words[-_LAST:]):
        return REASONED, "a rating with reasons"
    return RATING, "a rating"


def plan(judge, tasks):
    """Say what a run would take.

    Parameters
    ----------
    judge : nlgjudge.judging.served.Served
    tasks : iterable of nlgjudge.judging.tasks.Task

    Returns
    -------
    dict
        `tasks, samples, cached` (samples that are stored, or that an equal request asks for), `calls`,
        `prompt_tokens, completion_tokens` and `cost` (None without a price).
    """
    found = dict.fromkeys(COUNTS, 0)
    lengths = {}
    seen = set()
    for task in tasks:
        digest = judge.key(task)
        have = judge.store.get(digest)
        missing = [] if digest in seen else judge.missing(task, have)
        seen.add(digest)
        samples = max(task.n, len(missing))
        found["tasks"] += 1
        found["samples"] += samples
        found["cached"] += samples - len(missing)
        if not missing:
            continue
        if task.digest not in lengths:
            lengths[task.digest] = _stored_length(judge, task)[0]
        calls = 1 if "n" not in judge.dropped else len(missing)
        found["calls"] += calls
        found["prompt_tokens"] += calls * prompt_tokens(task)
        found["completion_tokens"] += len(missing) * _length(task, lengths[task.digest])
    found["completion_tokens"] = round(found["completion_tokens"])
    cost = None
    if judge.price is not None:
        into, out = judge.price
        cost = (found["prompt_tokens"] * into + found["completion_tokens"] * out) / 1e6
    return found | {"cost": cost}


def assumption(judge, task):
    """Say how long a plan takes a reply to be, and why.

    Parameters
    ----------
    judge : nlgjudge.judging.served.Served
    task : nlgjudge.judging.tasks.Task

    Returns
    -------
    str
    """
    mean, number = _stored_length(judge, task)
    said = "{} tokens a reply, assumed for {}".format(*assumed_length(task))
    if number:
        said = (
            f"{mean:.1f} tokens a reply, the mean of the {number} that are stored for this prompt"
        )
    bound = _bound(task)
    return said if bound is None else f"{said}, at most {bound} (max_tokens)"


def _stored_length(judge, task):
    return (
        judge.store.reply_length(judge.model, judge.endpoint, task.digest)
        if task.digest
        else (None, 0)
    )


def _length(task, mean):
    """Tokens of one reply."""
    tokens = assumed_length(task)[0] if mean is None else mean
    bound = _bound(task)
    return tokens if bound is None else min(tokens, bound)


def _bound(task):
    return task.settings.get("max_tokens", task.settings.get("max_completion_tokens"))
