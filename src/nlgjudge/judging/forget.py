"""Choose stored replies by what they are, so that they can be asked for anew."""

from collections import Counter

from nlgjudge.judging.usable import unread


def matching(store, *, model=None, endpoint=None, prompt=None, reason=None):
    """Find the replies that fit all that is given.

    Parameters
    ----------
    store : nlgjudge.judging.store.Store
    model : str, optional
        That was asked.
    endpoint : str, optional
        As `nlgjudge.judging.tasks.endpoint` gives it, or ``"unknown"``.
    prompt : str, optional
        A prompt's name, the beginning of one, or its digest.
    reason : str, optional
        What a server said (`empty`, `length`, `content_filter`), or why no rating can be read in the text,
        as `nlgjudge.judging.parsing.parse` says it. Of several tries it counts the last.

    Returns
    -------
    chosen : list of (str, int)
        Keys and samples, for `Store.drop`.
    counts : collections.Counter
        Replies by model, endpoint, prompt and reason.
    """
    chosen = []
    counts = Counter()
    for key, sample, request, tries in store.rows(model=model, endpoint=endpoint):
        if prompt is not None and not _is_of(request, prompt):
            continue
        found = unread(request.form, request.scale, tries[-1])
        if reason is not None and found != reason:
            continue
        chosen.append((key, sample))
        counts[request.body.get("model", ""), request.endpoint, request.prompt, found] += 1
    return chosen, counts


def _is_of(request, prompt):
    if not request.prompt:
        return False
    return request.digest == prompt or request.prompt.startswith(prompt)
