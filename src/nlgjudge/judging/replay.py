"""Recorded replies as a judge: no network, no cost, the same answer every time.

A recording answers what it was asked, and nothing else. Another prompt, wording, sampling parameter, scale or
text, or more samples, are refused before anything is read, because the old replies would pass for the answer
to a new question.
"""

from collections import Counter

from nlgjudge.data.checks import check_known, unknown
from nlgjudge.data.recordings import RecordingSpec
from nlgjudge.judging.judge import Judge
from nlgjudge.judging.prompts import Prompt, prompt
from nlgjudge.judging.replies import replies_to, say_reply
from nlgjudge.judging.tasks import NOT_RECORDED, Reply, endpoint


class Replay(Judge):
    """Answer tasks from a recording, or from a store (`from_store`).

    Parameters
    ----------
    recording, name
        `item_id, aspect, sample_index, text` and perhaps `logprobs`, as `nlgjudge.recording` reads them.
    held
        What was asked for. Without it nothing is known, and only tasks without a prompt's text and without sampling
        parameters are answered, as `prompt` makes them.
    texts
        By item, the texts that were judged: `source, hypothesis, context`. Other texts are refused.
    missing
        What a task without a record does: stop ("error"), or give replies with the reason `not recorded` ("keep"). If
        no task has a record, both stop.
    """

    is_model = True
    recorded = True

    def __init__(self, recording, name, *, held=None, texts=None, missing="error"):
        check_known("way with missing records", missing, ("error", "keep"))
        self.name = f"replay:{name}"
        self.notices = []
        self.missing = missing
        self.held = held or RecordingSpec()
        self._judged = texts or {}
        self.store = None
        self._records = {}
        columns = ["item_id", "aspect", "sample_index", "text"]
        if recording is None:
            return
        if "logprobs" in recording:
            columns.append("logprobs")
        for item_id, aspect, sample, text, *logprobs in zip(
            *(recording[column].tolist() for column in columns)
        ):
            reply = Reply(item_id, aspect, sample, text, "", *logprobs)
            self._records.setdefault((item_id, aspect), {})[sample] = reply

    @classmethod
    def from_store(cls, store, model, *, missing="error"):
        """Answer tasks from a store, as a run with a model left it or an export filled it.

        The model may be followed by ``@`` and the endpoint, which must be named if the store has replies of this model
        from several.
        """
        made = cls(None, f"{store.path.name}:{model}", missing=missing)
        made.store = store
        made.recorded = False  # replies of a run of ours
        made._model, made._endpoint = _source(store, model)
        return made

    def replies(self, tasks):
        """Yield a recorded reply per sample, after `check`; LookupError for one that was not recorded."""
        tasks = list(tasks)
        self.check(tasks)
        for task in tasks:
            recorded = self._find(task)
            for sample in range(task.n):
                if sample not in recorded and self.missing == "error":
                    raise LookupError(
                        f"{self.name} has no sample {sample} of {task.aspect} for {task.item_id}; ask "
                        "for fewer items or samples, or set missing='keep'"
                    )
                nothing = Reply(task.item_id, task.aspect, sample, "", NOT_RECORDED)
                yield recorded.pop(sample, nothing)
            if self.store:
                yield from recorded.values()  # samples that estimate token probabilities

    def check(self, tasks):
        """Refuse tasks that ask for anything other than what was recorded, or of which not one is recorded.

        Raises
        ------
        ValueError, LookupError
            With what the recording holds and what was asked.
        """
        tasks = list(tasks)
        if self.store is None:
            expected = {aspect: self.prompt(aspect) for aspect in {task.aspect for task in tasks}}
            for task in tasks:
                self._check_task(task, expected[task.aspect])
        if tasks and not any(map(self._find, tasks)):
            raise LookupError(
                f"{self.holds}; none of the items asked for is recorded under {_name(tasks[0])} with "
                f"{tasks[0].settings}, as {tasks[0].item_id!r}: take the recorded items, prompt and "
                "settings, or another judge"
            )

    @property
    def holds(self):
        """What the recording holds, in words."""
        if self.store:
            return self._store_holds()
        held = self.held
        parts = [
            self.name,
            "holds",
            f"{held.samples} replies an item" if held.samples else "replies",
        ]
        if held.model:
            parts.append(f"of {held.model}")
        parts.append(f"to {held.prompt}" if held.prompt else "to a prompt that is not registered")
        known = ", ".join(f"{setting}={value}" for setting, value in held.sampling.items())
        parts.append(f"at {known}" if known else "at sampling parameters that are not known")
        if held.note:
            parts.append(f"({held.note})")
        return " ".join(parts)

    def prompt(self, aspect):
        """The prompt that was used for a recorded aspect; one without a text if its words are not known here."""
        known = list(self.held.scales) or sorted({of for _, of in self._records})
        if known and aspect not in known:
            raise ValueError(f"{self.name}: {unknown('recorded aspect', aspect, known)}")
        if self.held.prompt:
            return prompt(self.held.prompt.format(aspect=aspect))._replace(
                form=self.held.form, pattern=self.held.pattern, options=self.held.options
            )
        return Prompt(
            name="not registered",
            aspect=aspect,
            scale=self.held.scales.get(aspect, (1, 5)),
            form=self.held.form,
            pattern=self.held.pattern,
            options=self.held.options,
        )

    def _find(self, task):
        """Recorded replies to a task, by sample."""
        if self.store is None:
            return dict(self._records.get((task.item_id, task.aspect), {}))
        have = self.store.get(self.store.key(task.request(self._model), self._endpoint))
        for reply in have.values():
            say_reply(self, self._model, reply)
        return {
            one.sample_index: one for one in replies_to(task, have, "") if one.sample_index in have
        }

    def _check_task(self, task, expected):
        """Refuse a task that differs from what was recorded."""
        if self.held.samples is not None and task.n > self.held.samples:
            self._refuse(f"{task.n} replies", f"ask for at most {self.held.samples}")
        for setting, value in task.settings.items():
            if setting not in self.held.sampling or self.held.sampling[setting] != value:
                self._refuse(f"{setting}={value}", f"leave {setting} out")
        if task.text != _sent(expected, task.fields):
            instead = f"ask {expected.name}" if expected.body else "leave the prompt empty"
            self._refuse(
                f"prompt {_name(task)}" if task.text else "no prompt",
                f"{instead}, take another recording",
            )
        if task.before:
            roles = {message["role"] for message in task.before}
            self._refuse(
                "a system message" if roles == {"system"} else "other messages", "leave it out"
            )
        scale = self.held.scales.get(task.aspect)
        if scale and tuple(task.reading.scale) != tuple(scale):
            self._refuse(
                f"a scale of {list(task.reading.scale)} for {task.aspect}", f"take {list(scale)}"
            )
        for field, text in self._judged.get(task.item_id, {}).items():
            if task.fields.get(field, text) != text:
                self._refuse(
                    f"another {field} of {task.item_id} than was judged, as a perturbation makes it",
                    "take the benchmark's own texts",
                )

    def _refuse(self, asked, instead):
        raise ValueError(f"{self.holds}; asked was {asked}: {instead}, or take a live judge")

    def _store_holds(self):
        held = Counter()
        for _, _, asked, _ in self.store.rows(model=self._model):
            settings = asked["request"].copy()
            for name in ("model", "messages"):
                settings.pop(name, None)
            held[f"{asked['prompt'] or 'a text'} ({asked['digest']}) with {settings}"] += 1
        listed = [f"{number} of {what}" for what, number in held.most_common(4)]
        return f"{self.name} holds {'; '.join(listed) or 'nothing'}"


def _name(task):
    return f"{task.prompt} ({task.digest})" if task.prompt else "a text of its own"


def _sent(expected, fields):
    """The text that a prompt gives for these fields; None if it cannot be filled, empty without words."""
    if not expected.body:
        return ""
    if not set(expected.slots.values()) <= {*fields, *expected.constants}:
        return None
    return expected.render(fields)


def _source(store, source):
    """Model and endpoint of ``MODEL`` or ``MODEL@ENDPOINT``."""
    model, _, named = source.rpartition("@")
    if "://" not in named:  # an @ in the model's own name, or none
        model, named = source, ""
    held = {where: number for (_, where), number in store.endpoints(model).items()}
    listed = ", ".join(f"{model}@{where} ({number} replies)" for where, number in held.items())
    if named and endpoint(named) in held:
        return model, endpoint(named)
    if named:
        raise ValueError(
            f"{store.path.name} has no replies of {model} from {endpoint(named)}; it has {listed or 'none'}"
        )
    if not held:
        models = sorted({name for name, _ in store.endpoints()})
        raise ValueError(f"{store.path.name}: {unknown('model in this store', model, models)}")
    if len(held) > 1:
        raise ValueError(
            f"{store.path.name} has replies of {model} from {len(held)} endpoints. Name one of {listed}"
        )
    return model, *held
