"""The store of replies from the command line: opening it, and what the `replies` commands do."""

from nlgjudge.data.choices import unknown
from nlgjudge.data.paths import cache
from nlgjudge.judging import pending
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import UNKNOWN_ENDPOINT
from nlgjudge.judging.tasks import endpoint as written_endpoint


def open_store(path=None):
    """Open the store of replies that a command names, or the usual one.

    Parameters
    ----------
    path : path-like, optional

    Returns
    -------
    nlgjudge.judging.store.Store
    """
    return Store(path or cache() / "replies.sqlite")


def export(store, file):
    """Write all replies to a file.

    Parameters
    ----------
    store : path-like or None
        As for `open_store`; so in the other functions.
    file : path-like
        Ends in `.jsonl` or `.jsonl.gz`.
    """
    with open_store(store) as opened:
        opened.export(file)
        print(f"{opened.totals()['replies']} replies in {file}")


def load(store, file):
    """Add the replies of an exported file."""
    with open_store(store) as opened:
        opened.load(file)
        print(f"{opened.totals()['replies']} replies in {opened.path}")


def totals(store):
    """Print the number of replies, tokens and cost, and the replies of each model and endpoint."""
    with open_store(store) as opened:
        print(", ".join(f"{name} {value}" for name, value in opened.totals().items()))
        for (model, endpoint), number in opened.endpoints().items():
            print(f"{model}@{endpoint}: {number} replies")


def batches(store, give_up):
    """Print the batches that are under way, or give one up.

    Raises
    ------
    ValueError
        For a batch that is not under way.
    """
    with open_store(store) as opened:
        if give_up:
            number = pending.give_up(opened, give_up)
            print(
                f"{give_up} is waited for no longer: its {number} requests are asked anew; cancel it at the server "
                "too, where it may still be paid for"
            )
            return
        found = pending.under_way(opened)
        for batch in found:
            print(
                f"{batch['id']} at {batch['endpoint']}: {len(batch['keys'])} requests, attempt {batch['attempt']}"
            )
        print(f"{len(found)} batches under way in {opened.path}")


def adopt(store, model, endpoint):
    """Note the endpoint of the replies of a model that are stored without one.

    Raises
    ------
    ValueError
        When there is no such reply, with the models that have some.
    """
    where = written_endpoint(endpoint)
    with open_store(store) as opened:
        models = [held for held, at in opened.endpoints() if at == UNKNOWN_ENDPOINT]
        if model not in models:
            raise ValueError(
                f"{opened.path} holds no replies without an endpoint of this model: "
                f"{unknown('model', model, models)}"
            )
        number = opened.adopt(model, where)
    print(f"{number} replies of {model} are now those of {where}")


def forget(store, model, endpoint, prompt, reason, yes):
    """Count the replies that fit all that is given, and drop them where `yes` says so.

    Raises
    ------
    ValueError
        When nothing is given, or for an unknown reason.
    """
    from nlgjudge.judging.forget import matching
    from nlgjudge.judging.usable import REASONS

    if not any((model, endpoint, prompt, reason)):
        raise ValueError("say which replies: give --model, --endpoint, --prompt or --reason")
    if reason and reason not in REASONS:
        raise ValueError(unknown("reason", reason, REASONS))
    if endpoint and endpoint != UNKNOWN_ENDPOINT:
        endpoint = written_endpoint(endpoint)
    with open_store(store) as opened:
        chosen, counts = matching(
            opened, model=model, endpoint=endpoint, prompt=prompt, reason=reason
        )
        for (of_model, at, of_prompt, why), number in counts.most_common():
            because = f", {why}" if why else ""
            print(f"{number} of {of_model}@{at}, prompt {of_prompt or 'not noted'}{because}")
        if yes:
            opened.drop(chosen)
    done = "are dropped" if yes else "would be dropped; add --yes to do it"
    print(f"{len(chosen)} replies {done}")
