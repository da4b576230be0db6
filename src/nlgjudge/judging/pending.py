"""What batches of a store are under way: who asks the same live pays for it twice."""

OVER = ("completed", "failed", "expired", "cancelled", "given up")


class Pending:
    """Requests that were submitted in a batch which nobody has collected.

    Parameters
    ----------
    store : nlgjudge.judging.store.Store
    """

    def __init__(self, store):
        self._store = store
        self._states = None
        self._batches = {}

    def batch(self, digest):
        """The batch that a request waits in, as the store has it at this moment.

        Parameters
        ----------
        digest : str
            Key of the request.

        Returns
        -------
        str
            The batch's id; empty where there is none.
        """
        states = self._store.batch_states()
        if states != self._states:
            self._batches = {
                digest: batch["id"] for batch in under_way(self._store) for digest in batch["keys"]
            }
            self._states = states
        return self._batches.get(digest, "")


def under_way(store):
    """Batches that are not collected.

    Parameters
    ----------
    store : nlgjudge.judging.store.Store

    Returns
    -------
    list of dict
        As from `Store.batches`.
    """
    if all(state in OVER for _, state, _ in store.batch_states()):
        return []
    return [batch for batch in store.batches() if batch["state"] not in OVER]


def give_up(store, batch_id):
    """Wait for a batch no longer, so that its requests are asked anew.

    What it brings is not collected any more; at the server it goes on until it is cancelled there.

    Parameters
    ----------
    store : nlgjudge.judging.store.Store
    batch_id : str

    Returns
    -------
    int
        Requests that were waiting in it.

    Raises
    ------
    ValueError
        For a batch that is not under way, with those that are.
    """
    batches = {batch["id"]: batch for batch in under_way(store)}
    if batch_id not in batches:
        there = f"under way are {', '.join(batches)}" if batches else "none is under way"
        raise ValueError(f"{store.path} waits for no batch {batch_id}; {there}")
    batch = batches[batch_id]
    store.note_batch(batch_id, batch["attempt"], "given up", [], batch["endpoint"])
    return len(batch["keys"])
