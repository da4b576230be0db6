"""Recorded replies as a judge: no network, no cost, the same answer every time.

A recording answers what it was asked, and nothing else. Another prompt, another wording, other sampling
parameters, another scale, more samples or other texts under the same keys are refused before anything is
read, because the old replies would pass for the answer to a new question.
"""

import json
import re

from nlgjudge.data.choices import unknown
from nlgjudge.data.recordings import Recorded
from nlgjudge.judging.prompts import Prompt, names, prompt
from nlgjudge.judging.tasks import UNKNOWN_ENDPOINT, Reply, endpoint, key
from nlgjudge.judging.usable import told, used

_NOTHING_KNOWN = Recorded()


def in_words(name, held):
    """Say what a recording holds.

    Parameters
    ----------
    name : str
        Of the judge.
    held : nlgjudge.data.recordings.Recorded

    Returns
    -------
    str
    """
    parts = [name, "holds", f"{held.samples} replies an item" if held.samples else "replies"]
    if held.model:
        parts.append(f"of {held.model}")
    parts.append(f"to {held.prompt}" if held.prompt else "to a prompt that is not registered")
    known = ", ".join(f"{setting}={value}" for setting, value in held.sampling.items())
    parts.append(f"at {known}" if known else "at sampling parameters that are not known")
    if held.note:
        parts.append(f"({held.note})")
    return " ".join(parts)


class _Records:
    """What answers from records: find a task's, refuse when not one is there."""

    def __init__(self, name, missing):
        if missing not in ("error", "keep"):
            raise ValueError(f"missing={missing!r}: expected error or keep")
        self.name = name
        self.missing = missing

    def replies(self, tasks):
        """Yield a recorded reply per sample.

        Parameters
        ----------
        tasks : iterable of nlgjudge.judging.tasks.Task

        Raises
        ------
        ValueError
            As `check` does.
        LookupError
            For a task or sample that was not recorded, with `missing="error"`; when not one task is recorded.
        """
        tasks = tasks if hasattr(tasks, "__len__") else list(tasks)  # read more than once
        self.check(tasks)
        for task in tasks:
            found = self._find(task)
            for sample in range(task.n):
                if sample not in found and self.missing == "error":
                    raise LookupError(
                        f"{self.name} has no sample {sample} of {task.aspect} for "
                        f"{task.item_id}; ask for fewer items or samples, or set "
                        "missing='keep'"
                    )
                yield Reply(
                    task.item_id, task.aspect, sample, *found.get(sample, ("", "not recorded"))
                )

    def _check_found(self, tasks):
        """Refuse tasks of which not one is recorded, whatever `missing` says."""
        first = None
        for task in tasks:
            if self._find(task):
                return
            first = first or task
        if first is not None:
            raise LookupError(self._nothing(first, *_asked(tasks)))


class Replay(_Records):
    """Answer tasks from a recording.

    Parameters
    ----------
    recording : pandas.DataFrame
        `item_id, aspect, sample_index, text` and perhaps `logprobs`, as
        `nlgjudge.data.recordings.recording` reads them.
    name : str
    held : nlgjudge.data.recordings.Recorded
        What was asked for. Without it nothing is known, and only tasks without a prompt's text and without
        sampling parameters are answered, as `prompt` makes them.
    texts : dict of str to dict, optional
        By item, the texts that were judged: `source, hypothesis, context`. Other texts are refused.
    missing : {"error", "keep"}
        What a task without a record does: stop, or give replies that say `not recorded`. Where not one task
        has a record, both stop.

    Raises
    ------
    ValueError
        For another value of `missing`.
    """

    def __init__(self, recording, name, *, held=_NOTHING_KNOWN, texts=None, missing="error"):
        super().__init__(f"replay:{name}", missing)
        self.held = held
        self._judged = texts or {}
        self._texts = {}
        # As lists: a row at a time takes ten times as long, and a recording has tens of thousands.
        names = ["item_id", "aspect", "sample_index", "text"]
        if "logprobs" in recording:
            names.append("logprobs")
        for item_id, aspect, sample, text, *logprobs in zip(
            *(recording[name].tolist() for name in names)
        ):
            reply = (text, "", *logprobs) if logprobs else (text,)
            self._texts.setdefault((item_id, aspect), {})[sample] = reply

    @property
    def holds(self):
        """What the recording holds, in words."""
        return in_words(self.name, self.held)

    def prompt(self, aspect):
        """The prompt that was used for an aspect.

        Returns
        -------
        nlgjudge.judging.prompts.Prompt
            One without a text, named `not registered`, where its words are not known here.

        Raises
        ------
        ValueError
            For an aspect that was not recorded.
        """
        self._check_aspect(aspect)
        if self.held.prompt:
            return prompt(self.held.prompt.format(aspect=aspect))._replace(
                form=self.held.form, pattern=self.held.pattern
            )
        scale = self.held.scales.get(aspect, (1, 5))
        return Prompt(
            name="not registered",
            aspect=aspect,
            scale=scale,
            form=self.held.form,
            pattern=self.held.pattern,
        )

    def check(self, tasks):
        """Refuse tasks that ask for anything else than what was recorded.

        Parameters
        ----------
        tasks : list or nlgjudge.judging.tasks.Tasks

        Raises
        ------
        ValueError
            Saying what the recording holds and what was asked.
        LookupError
            When not one task is recorded.
        """
        name, _ = _asked(tasks)
        expected = {}
        for task in tasks:
            if task.aspect not in expected:
                expected[task.aspect] = self.prompt(task.aspect)
            self._check_task(task, expected[task.aspect], name)
        self._check_found(tasks)

    def _find(self, task):
        """Text and, where known, reason and token probabilities, by sample."""
        return self._texts.get((task.item_id, task.aspect), {})

    def _check_aspect(self, aspect):
        known = list(self.held.scales) or sorted({of for _, of in self._texts})
        if known and aspect not in known:
            raise ValueError(f"{self.name}: {unknown('recorded aspect', aspect, known)}")

    def _check_task(self, task, expected, name):
        """Refuse a task that differs from what was recorded; `name` is of its prompt."""
        if self.held.samples is not None and task.n > self.held.samples:
            self._refuse(f"{task.n} replies", f"ask for at most {self.held.samples}")
        for setting, value in task.settings.items():
            if setting not in self.held.sampling:
                self._refuse(f"{setting}={value}", f"leave {setting} out")
            if self.held.sampling[setting] != value:
                self._refuse(f"{setting}={value}", f"leave {setting} out")
        if task.text != _sent(expected, task.fields):
            instead = f"ask {expected.name}" if expected.body else "leave the prompt empty"
            self._refuse(
                f"prompt {name}" if task.text else "no prompt", f"{instead}, take another recording"
            )
        scale = self.held.scales.get(task.aspect)
        if scale and tuple(task.scale) != tuple(scale):
            self._refuse(f"a scale of {list(task.scale)} for {task.aspect}", f"take {list(scale)}")
        judged = self._judged.get(task.item_id, {})
        for field, text in judged.items():
            if task.fields.get(field, text) != text:
                self._refuse(
                    f"another {field} of {task.item_id} than was judged, as a perturbation makes it",
                    "take the benchmark's own texts",
                )

    def _refuse(self, asked, instead):
        raise ValueError(f"{self.holds}; asked was {asked}: {instead}, or take a live judge")

    def _nothing(self, task, name, _):
        return (
            f"{self.holds}; not one item is recorded of those asked for under {name}, as "
            f"{task.item_id!r}: take the items of {self.held.benchmark or 'the recording'}, or another "
            "judge"
        )


class ReplayStore(_Records):
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
        super().__init__(f"replay:{store.path.name}:{model}", missing)
        self._store = store
        self._model, self._endpoint = _source(store, model)

    def check(self, tasks):
        """Refuse tasks of which not one is stored; a store is asked by the full request.

        Raises
        ------
        LookupError
            Saying which prompts and settings the store holds for this model.
        """
        self._check_found(tasks)

    def _find(self, task):
        found = self._store.tries(key(task.request(self._model), self._endpoint))
        chosen = {sample: used(task, task.n, tries) for sample, tries in found.items()}
        return {
            sample: (reply["text"], told(task, reply), reply["logprobs"])
            for sample, reply in chosen.items()
        }

    def _nothing(self, task, name, digest):
        stored = list(self._store.requests())
        models = sorted({request.get("model", "") for request in stored})
        if self._model not in models:
            return f"{self.name}: {unknown('model in this store', self._model, models)}"
        held = _described([request for request in stored if request.get("model") == self._model])
        settings = json.dumps(task.settings, sort_keys=True)
        return (
            f"{self.name} has no reply to {name} ({digest}) with {settings}, not for one item; it holds "
            f"{held}: ask for that, or take the live judge"
        )


def _asked(tasks):
    """Name and digest of the prompt of some tasks."""
    if hasattr(tasks, "prompt"):
        return tasks.prompt.name, tasks.prompt.digest
    return "a text of its own", "no prompt's"


def _sent(expected, fields):
    """The text that a prompt gives for these fields; None where it cannot be filled, empty without words."""
    if not expected.body:
        return ""
    if not set(expected.slots.values()) <= {*fields, *expected.constants}:
        return None
    return expected.render(fields)


def _described(requests):
    """Prompts and settings of stored requests, with how often each was asked."""
    counts = {}
    texts = {}
    for request in requests:
        text = "\n".join(message.get("content", "") for message in request.get("messages", []))
        settings = {
            name: value for name, value in request.items() if name not in ("model", "messages")
        }
        group = (text[:200], json.dumps(settings, sort_keys=True))
        counts[group] = counts.get(group, 0) + 1
        texts.setdefault(group, text)
    found = {}
    for group, count in counts.items():
        label = f"{_recognised(texts[group])} with {group[1]}"
        found[label] = found.get(label, 0) + count
    most_first = sorted(found.items(), key=lambda pair: -pair[1])
    parts = [f"{count} of {label}" for label, count in most_first[:4]]
    if len(most_first) > 4:
        parts.append(f"and {len(most_first) - 4} more")
    return "; ".join(parts)


def _recognised(text):
    """Name and digest of the registered prompt that made a text, or how the text begins."""
    for name in names():
        candidate = prompt(name)
        if candidate.body and _made_from(candidate, text):
            return f"{name} ({candidate.digest})"
    return f"a text beginning {text[:40]!r}"


def _made_from(candidate, text):
    """Whether the prompt's own words all stand in a text, in their order, from its start to its end."""
    mark = "\0"
    fields = dict.fromkeys([*candidate.slots.values(), "source", "hypothesis"], mark)
    parts = candidate.render(fields).split(mark)
    pattern = ".*".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def _source(store, given):
    """Model and endpoint of ``MODEL`` or ``MODEL@ENDPOINT``."""
    model, _, named = given.rpartition("@")
    if named != UNKNOWN_ENDPOINT and "://" not in named:  # an @ in the model's own name
        model = given
        named = ""
    held = {where: number for (_, where), number in store.endpoints(model).items()}
    if named:
        wanted = named if named == UNKNOWN_ENDPOINT else endpoint(named)
        if wanted in held:
            return model, wanted
        problem = f"and none from {wanted}; there are "
    elif len(held) < 2:
        return model, next(iter(held), UNKNOWN_ENDPOINT)
    else:
        problem = f"from {len(held)} endpoints: name one of "
    listed = [f"{model}@{where} ({number} replies)" for where, number in held.items()]
    raise ValueError(
        f"{store.path.name} holds replies of {model} {problem}{', '.join(listed) or 'none'}"
    )
