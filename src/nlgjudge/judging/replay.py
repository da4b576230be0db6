"""Recorded replies as a judge: no network, no cost, the same answer every time."""

from nlgjudge.judging.tasks import Reply, key


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
        The model that was asked; a task is found by its full request.
    missing : {"error", "keep"}
    """

    def __init__(self, store, model, *, missing="error"):
        self.name, self.missing = f"replay:{store.path.name}:{model}", missing
        self._store, self._model = store, model

    def _find(self, task):
        found = self._store.get(key(task.request(self._model)))
        return {i: (reply["text"], reply["reason"], reply["logprobs"]) for i, reply in found.items()}
