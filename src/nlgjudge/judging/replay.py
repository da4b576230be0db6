"""Recorded replies as a judge: no network, no cost, the same answer every time."""

from nlgjudge.judging.tasks import UNKNOWN_ENDPOINT, Reply, endpoint, key
from nlgjudge.judging.usable import used


class Replay:
    """Answer tasks from a recording.

    Parameters
    ----------
    recording : pandas.DataFrame
        `item_id, aspect, sample_index, text`, as `nlgjudge.data.recordings.recording`
        reads them.
    name : str
    missing : {"error", "keep"}
        What a task without a record does: stop, or give replies that say `not recorded`.
    """

    def __init__(self, recording, name, *, missing="error"):
        if missing not in ("error", "keep"):
            raise ValueError(f"missing={missing!r}: expected error or keep")
        self.name, self.missing = f"replay:{name}", missing
        self._texts = {}
        for row in recording.itertuples():
            self._texts.setdefault((row.item_id, row.aspect), {})[row.sample_index] = (row.text,)

    def replies(self, tasks):
        """Yield a recorded reply per sample.

        Raises
        ------
        LookupError
            For a task or sample that was not recorded, with `missing="error"`.
        """
        for task in tasks:
            found = self._find(task)
            for i in range(task.n):
                if i not in found and self.missing == "error":
                    raise LookupError(f"{self.name} has no sample {i} of {task.aspect} for {task.item_id}; "
                                      "ask for fewer items or samples, or set missing='keep'")
                yield Reply(task.item_id, task.aspect, i, *found.get(i, ("", "not recorded")))

    def _find(self, task):
        """Text and, where known, reason and token probabilities, by sample."""
        return self._texts.get((task.item_id, task.aspect), {})


class ReplayStore(Replay):
    """Answer tasks from a store, as a run with a model left it or an export filled it.

    Parameters
    ----------
    store : nlgjudge.judging.store.Store
    model : str
        The model that was asked, and after ``@`` the endpoint, which must be named where the store holds
        replies of this model from several; a task is found by its full request.
    missing : {"error", "keep"}

    Raises
    ------
    ValueError
        For an endpoint that the store does not hold, or none where there are several.
    """

    def __init__(self, store, model, *, missing="error"):
        self.name, self.missing = f"replay:{store.path.name}:{model}", missing
        self._store = store
        self._model, self._endpoint = _source(store, model)

    def _find(self, task):
        found = self._store.tries(key(task.request(self._model), self._endpoint))
        chosen = {i: used(task, task.n, tries) for i, tries in found.items()}
        return {i: (reply["text"], reply["reason"], reply["logprobs"]) for i, reply in chosen.items()}


def _source(store, given):
    """Model and endpoint of ``MODEL`` or ``MODEL@ENDPOINT``."""
    model, _, named = given.rpartition("@")
    if named != UNKNOWN_ENDPOINT and "://" not in named:  # an @ in the model's own name
        model, named = given, ""
    held = {where: number for (_, where), number in store.endpoints(model).items()}
    if named:
        wanted = named if named == UNKNOWN_ENDPOINT else endpoint(named)
    elif len(held) < 2:
        return model, next(iter(held), UNKNOWN_ENDPOINT)
    else:
        wanted = ""
    if wanted not in held:
        listed = ", ".join(f"{model}@{where} ({number} replies)" for where, number in held.items())
        raise ValueError(f"{store.path.name} holds replies of {model} "
                         + (f"from {len(held)} endpoints: name one of " if not wanted else
                            f"and none from {wanted}; there are ") + (listed or "none"))
    return model, wanted
