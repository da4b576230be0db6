"""What a run would take before it is made: calls, tokens, cost.

The length of a reply is the mean of those that are stored for the same prompt, model and
endpoint; where there are none it is assumed by the form that the prompt asks for. `max_tokens`
bounds it either way.
"""

import re
from functools import lru_cache

from nlgjudge.judging.usable import may_be_asked_again, problem, used

CHARACTERS = 4  # of a token, on average over English text
RATING = 5  # tokens of a rating: "4" has one, "- Coherence: 4" five
LIST = 40  # of a list of scores, as CoAScore's second step gives it
REASONED = 150  # of a rating with reasons
TEXT = 256  # of a text, as a list of steps or a rewritten summary
# How a prompt asks for reasons, looked for in its last words.
_REASONS = re.compile(
    r"\b(?:reasons?|explain|explanation|rationale|step by step|analy[sz]e|justify)\b", re.I
)
_LAST = 200  # characters


def prompt_tokens(task):
    """Tokens of a prompt, estimated.

    Parameters
    ----------
    task : nlgjudge.judging.tasks.Task

    Returns
    -------
    int
    """
    return len(task.text) // CHARACTERS + 1


def assumed_length(task):
    """Tokens of a reply by the form that the prompt asks for, and what that form is.

    Parameters
    ----------
    task : nlgjudge.judging.tasks.Task

    Returns
    -------
    tokens : int
    form : str
        In words.

    Examples
    --------
    >>> from nlgjudge.judging.tasks import Task
    >>> assumed_length(Task("item", "fluency", "Rate this text from 1 to 5: ...", {}, (1, 5), "form"))
    (5, 'a rating')
    >>> assumed_length(Task("item", "fluency", "Rate this text. Give your reasons.", {}, (1, 5), "form"))
    (150, 'a rating with reasons')
    """
    if task.form == "text":
        return TEXT, "a text"
    if task.form == "json":
        return LIST, "a list of scores"
    words = task.text
    for value in task.fields.values():  # an item's own words ask for nothing
        if value:
            words = words.replace(value, " ")
    if _asks_for_reasons(words[-_LAST:]):
        return REASONED, "a rating with reasons"
    return RATING, "a rating"


@lru_cache(maxsize=4096)  # the prompts of a thousand items end alike
def _asks_for_reasons(words):
    return bool(_REASONS.search(words))


def plan(server, store, tasks, price=None, *, again=True):
    """Say what a run would take.

    Parameters
    ----------
    server : nlgjudge.judging.server.Server
    store : nlgjudge.judging.store.Store
    tasks : iterable of nlgjudge.judging.tasks.Task
    price : (float, float), optional
        Of a million prompt and a million completion tokens.
    again : bool
        Whether stored replies that are of no use are asked for again.

    Returns
    -------
    dict
        `tasks, samples, cached` (samples that are stored and are not asked for again, or that another item
        with the same texts asks for), `calls`
        (one a task where the server takes `n`, as is assumed until it shows otherwise), `prompt_tokens,
        completion_tokens` and `cost` (None without a price).
    """
    found = dict.fromkeys(
        ("tasks", "samples", "cached", "calls", "prompt_tokens", "completion_tokens"), 0
    )
    lengths = {}
    seen = set()
    for task in tasks:
        _, digest, n = server.request(task)
        have = store.tries(digest)
        missing = 0
        for sample in range(n):
            if sample not in have or (again and _comes_again(task, n, have[sample])):
                missing += 1
        if digest in seen:
            missing = 0
        seen.add(digest)
        found["tasks"] += 1
        found["samples"] += n
        found["cached"] += n - missing
        if not missing:
            continue
        calls = 1 if server.takes_n else missing
        found["calls"] += calls
        found["prompt_tokens"] += calls * prompt_tokens(task)
        found["completion_tokens"] += missing * _length(server, store, task, lengths)
    found["completion_tokens"] = round(found["completion_tokens"])
    cost = None
    if price:
        cost = (found["prompt_tokens"] * price[0] + found["completion_tokens"] * price[1]) / 1e6
    return found | {"cost": cost}


def assumption(server, store, task):
    """Say how long a plan takes a reply to be, and why.

    Parameters
    ----------
    server : nlgjudge.judging.server.Server
    store : nlgjudge.judging.store.Store
    task : nlgjudge.judging.tasks.Task

    Returns
    -------
    str
    """
    mean, number = _stored_length(server, store, task)
    if number:
        said = (
            f"{mean:.1f} tokens a reply, the mean of the {number} that are stored for this prompt"
        )
    else:
        assumed, form = assumed_length(task)
        said = f"{assumed} tokens a reply, assumed for {form}"
    bound = _bound(task)
    return said if bound is None else f"{said}, at most {bound} (max_tokens)"


def _comes_again(task, n, tries):
    reason = problem(task, n, used(task, n, tries))
    return may_be_asked_again(reason, len(tries), in_this_run=False)


def _length(server, store, task, known):
    """Tokens of one reply; stored lengths are looked up once a prompt."""
    asked = (task.prompt, task.digest)
    if asked not in known:
        known[asked], _ = _stored_length(server, store, task)
    tokens = known[asked]
    if tokens is None:
        tokens, _ = assumed_length(task)
    bound = _bound(task)
    return tokens if bound is None else min(tokens, bound)


def _stored_length(server, store, task):
    if not task.prompt:
        return None, 0
    return store.reply_length(server.model, server.endpoint, task.prompt, task.digest)


def _bound(task):
    return task.settings.get("max_tokens", task.settings.get("max_completion_tokens"))
