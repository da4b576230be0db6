"""From items and prompts to scored replies, by any judge."""

from __future__ import annotations

import re
from collections.abc import Collection
from os import PathLike
from pathlib import Path

import pandas as pd

from nlgjudge.data.checks import check_known, check_whole, first, unknown
from nlgjudge.data.paths import cache
from nlgjudge.data.recordings import recording, recording_spec, recording_texts
from nlgjudge.judging.baseline import Baseline
from nlgjudge.judging.estimators import ESTIMATORS
from nlgjudge.judging.judge import Budget, Judge, Jury, adapted
from nlgjudge.judging.planning import plan as planned
from nlgjudge.judging.prompts import Prompt, as_prompt, check_fit, with_examples
from nlgjudge.judging.reading import POLICIES
from nlgjudge.judging.replay import Replay
from nlgjudge.judging.scoring import responses
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Tasks

KINDS = "openai:MODEL, replay:RECORDING, replay:STORE.sqlite:MODEL, surface"
# Sampling parameters that have an option of their own, under the same name everywhere.
SAMPLING = ("temperature", "top_p", "max_tokens", "logprobs")
# Options by kind of judge; what a served judge may spend is ignored by those that ask nobody.
OPTIONS = {
    "openai": ("concurrency", "timeout", "progress"),
    "replay": ("missing",),
    "surface": (),
}
# What a request has beside sampling parameters.
_NO_PARAMETER = {
    "system": "put the instructions at the beginning of the prompt, or pass system= to judge_items",
    "messages": "pass the text as a prompt",
    "prompt": "pass the text as a prompt",
    "model": "name it in the judge, as openai:MODEL",
    "n": "pass samples",
    "stream": "replies come as a whole",
}


def get_judge(
    spec,
    *,
    items: pd.DataFrame | None = None,
    store: str | PathLike | Store | None = None,
    price: tuple[float, float] | None = None,
    max_cost: float | None = None,
    budget: Budget | None = None,
    **options,
) -> Judge:
    """Make a judge from its name, or take one as it is.

    Parameters
    ----------
    spec
        ``openai:MODEL`` (any compatible endpoint), ``replay:RECORDING`` (of the registry),
        ``replay:STORE.sqlite:MODEL`` or ``surface``, the rule-based baseline. A list, or names joined by ``+``, is the
        mean of several judges. A function of an item, which gives a number or a reply's text, and an object with
        `replies(tasks)` take no options.
    items
        For recordings that name texts instead of keys.
    store
        Of replies; by default `data/cache/replies.sqlite`.
    price
        Of a million prompt and a million completion tokens.
    max_cost
        What live judges may spend, several of them together, in the price's currency.
    budget
        In its place, a `nlgjudge.judging.judge.Budget` that other judges share, which may also limit calls.
    **options
        `concurrency, timeout, progress` of a live judge, `missing` of a replay.

    Returns
    -------
    Judge

    Raises
    ------
    ValueError
        For an unknown kind, or a limit that the judge cannot keep.
    KeyError
        For an unknown recording.
    TypeError
        For an option that this judge does not have.
    FileNotFoundError
        For a store that does not exist.

    Examples
    --------
    >>> get_judge("surface").name
    'surface'
    """
    limits = {"price": price, "max_cost": max_cost, "store": store, "budget": budget}
    if not isinstance(spec, (str, list, tuple)):
        judge = adapted(spec)
        if given := [name for name, value in (limits | options).items() if value is not None]:
            raise TypeError(
                f"no option {given[0]!r} of judge {judge.name}, which is an object: only a judge that is given by its "
                f"name has {', '.join(limits)}"
            )
        return judge
    if isinstance(spec, str):
        spec = re.split(rf"\+(?=(?:{'|'.join(OPTIONS)})(?::|\Z|\+))", spec)
    if not all(isinstance(name, str) for name in spec):
        raise ValueError(f"judge={spec!r}: expected a list of names, each one of {KINDS}")
    kinds = [name.partition(":")[0] for name in spec]
    known = [option for kind in kinds for option in OPTIONS.get(kind, options)]
    for option in options:
        if option not in known:
            listed = [*known, *limits, "items"]
            hint = unknown("option", option, listed, most=len(listed))
            raise TypeError(f"judge {'+'.join(spec)!r}: {hint}")
    limits["budget"] = budget or Budget(max_cost)
    judges = [_judge(name, items, limits, options) for name in spec]
    return Jury(judges) if len(judges) != 1 else judges[0]


def _judge(spec, items, limits, options):
    """One judge from its name."""
    kind, _, name = spec.partition(":")
    if kind not in OPTIONS or (kind == "surface") != (not name):
        hint = "" if kind in OPTIONS else f"; {unknown('kind of judge', kind, OPTIONS)}"
        raise ValueError(f"judge {spec!r}: expected {KINDS}{hint}")
    options = {option: value for option, value in options.items() if option in OPTIONS[kind]}
    if kind == "surface":
        return Baseline()
    if kind == "replay":
        return _replay(spec, name, items, options)
    return _live(name, limits, options)


def _live(model, limits, options):
    from nlgjudge.judging.live import Live

    store = limits["store"]
    if not isinstance(store, Store):
        store = Store(store or cache() / "replies.sqlite")
    own = {name: limits[name] for name in ("price", "budget")}
    return Live(model, store, **own, **options)


def _replay(spec, name, items, options):
    path, is_store, model = name.partition(".sqlite:")  # a model's name may contain a colon
    if is_store and model:
        if not Path(path + ".sqlite").is_file():
            raise FileNotFoundError(f"judge {spec!r}: no store {path}.sqlite")
        return Replay.from_store(Store(path + ".sqlite"), model, **options)
    if ".sqlite" in name:
        raise ValueError(f"judge {spec!r}: expected {KINDS}")
    replies = recording(name, items)
    return Replay(replies, name, held=recording_spec(name), texts=recording_texts(name), **options)


def judge_items(
    items: pd.DataFrame,
    prompts,
    judge,
    *,
    aspect: str = "",
    scale: tuple[float, float] | None = None,
    system: str = "",
    examples: pd.DataFrame | None = None,
    samples: int = 1,
    temperature: float | None = None,
    top_p: float | None = None,
    max_tokens: int | None = None,
    logprobs: bool | None = None,
    sampling: dict | None = None,
    policy: str = "nan",
    estimator: str = "expected",
    limit: int | None = None,
    price: tuple[float, float] | None = None,
    max_cost: float | None = None,
    plan: bool = False,
    **options,
) -> pd.DataFrame:
    """Let a judge rate items under prompts.

    Everything is checked before the judge is asked: the prompts against the items, what a recording holds,
    the names of options.

    Parameters
    ----------
    items
        `item_id, source, hypothesis, references, context`.
    prompts
        A name, a text with slots, a list of messages, or a prompt, as `nlgjudge.judging.as_prompt` takes them; or a
        list of these, one per aspect.
    judge
        As for `nlgjudge.get_judge`: a name, several for the mean of these judges, a function of an item, or an object
        with `replies(tasks)`.
    aspect
        What a prompt given as a text asks about. Without it the scores belong to the judge alone.
    scale
        Lowest and highest rating that prompts given as texts ask for, 1 and 5 by default.
    system
        A system message before each prompt. It is part of the request, so replies with and without it are stored
        apart.
    examples
        Items that are shown with their ratings before each item, and are not judged themselves: columns as `items`
        has them, and people's rating in a column called after the prompt's aspect. Of a choice, the rating is the
        score of an option.
    samples
        Replies an item.
    temperature, top_p, max_tokens, logprobs
        Sampling parameters. `logprobs=True` makes the score that of `estimator`, by default the expected one (G-Eval,
        equation 1), where the judge gives token probabilities; see `nlgjudge.judging.responses`.
    sampling
        Any other parameters of the request.
    policy
        What an unread reply counts as; see `nlgjudge.judging.Reading.read_all`.
    estimator
        Which number token probabilities give: `expected`, `mode`, `median` or `risk_averse`.
    limit
        Judge the first documents; None or 0 is all.
    price, max_cost, **options
        For `nlgjudge.get_judge`, as `store="replies.sqlite"`.
    plan
        Ask nothing, and say what asking would take.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect, sample_index, text, score, reason`; of several judges, a row for each judge and a
        column `judge`. With `plan`, by prompt: `requests, samples, cached, calls, prompt_tokens, completion_tokens`
        and `cost` (None without a price); with `logprobs` also `tokens_without_logprobs` and `cost_without_logprobs`,
        the completion tokens and the cost if the server gives none and 20 replies estimate them.

    Raises
    ------
    ValueError, KeyError, TypeError
        For a name, an option or a prompt that cannot be used, before the judge is asked.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> items = nj.load("summeval", "sample").items
    >>> nj.judge_items(items, "geval/summarization/fluency", "surface", limit=1)["score"].tolist()[:2]
    [3.62, 3.65]
    >>> nj.judge_items(items, "geval/summarization/fluency", lambda item: 4, limit=1)["score"].tolist()[:2]
    [4.0, 4.0]
    """
    items = first(items, limit)
    check_known("policy", policy, POLICIES)
    check_known("estimator", estimator, ESTIMATORS)
    settings = sampling_settings(
        sampling, temperature=temperature, top_p=top_p, max_tokens=max_tokens, logprobs=logprobs
    )
    words = {"aspect": aspect, "scale": scale, "system": system, "examples": examples}
    tasks = requests(items, prompts, samples=samples, settings=settings, **words)
    judge = get_judge(judge, items=items, price=price, max_cost=max_cost, **options)
    for part in tasks:
        judge.check(part)
    if plan:
        lines = [{"prompt": part.prompt.name} | planned(judge, part) for part in tasks]
        return pd.DataFrame(lines).set_index("prompt")
    return _responses(judge, tasks, {"policy": policy, "estimator": estimator})


def _responses(judge, tasks, how):
    """Read replies under each prompt; of a jury, from each judge."""
    if len(judge.judges) > 1:
        return judge.each(lambda member: _responses(member, tasks, how))
    parts = [_ask(judge, part, how) for part in tasks]
    return pd.concat(parts, ignore_index=True)


def _ask(judge, tasks, how):
    tasks.prompt.reading.find("")  # refuses what cannot be read
    return responses(judge.scored(tasks), tasks.prompt.reading, **how)


def requests(
    items, prompts, *, aspect="", scale=None, system="", examples=None, samples=1, settings=None
) -> list[Tasks]:
    """What a judge is asked about items under each prompt, as for `judge_items`; `settings` are sampling parameters."""
    check_whole(1, samples=samples)
    if not isinstance(system, str):
        raise ValueError(f"system={system!r}: expected the text of a system message")
    is_list = isinstance(prompts, (list, tuple)) and not isinstance(prompts, Prompt)
    if not is_list or (prompts and isinstance(prompts[0], dict)):  # the messages of one prompt
        prompts = [prompts]
    if not prompts:
        raise ValueError("prompts=[]: expected at least one, as ['geval/summarization/fluency']")
    own = {"aspect": aspect, "scale": (1, 5) if scale is None else scale}
    prompts = [as_prompt(prompt, **own) for prompt in prompts]
    for prompt in prompts:
        check_fit(prompt, items)
        for name, value in (("aspect", aspect or None), ("scale", scale)):
            if value is not None and not prompt.name.startswith("inline:"):
                raise ValueError(
                    f"{name} is for a prompt's text; prompt {prompt.name} has its own, {getattr(prompt, name)}"
                )
    if system:
        prompts = [one._replace(before=(("system", system), *one.before)) for one in prompts]
    if examples is not None and len(examples):
        items = without(items, examples["item_id"])
        prompts = [with_examples(one, examples) for one in prompts]
    return [Tasks(items, one, n=samples, **_with_format(one, settings or {})) for one in prompts]


def without(items: pd.DataFrame, shown: Collection[str]) -> pd.DataFrame:
    """Leave out items by their ids; of a pair both orders, because one gives the other away.

    Examples
    --------
    >>> import pandas as pd
    >>> items = pd.DataFrame({"item_id": ["p/1", "p/2", "q/1", "q/2"], "other": "Hi."})
    >>> without(items, ["p/1"])["item_id"].tolist()
    ['q/1', 'q/2']
    """
    if "other" in items:
        pairs_shown = [one.removesuffix("/1").removesuffix("/2") for one in shown]
        shown = [*shown, *(pair + order for pair in pairs_shown for order in ("/1", "/2"))]
    return items[~items["item_id"].isin(shown)]


def _with_format(prompt, settings):
    """Settings of a prompt; one of our own whose form is JSON asks the server for JSON."""
    if prompt.form != "json" or prompt.exact:
        return settings
    return {"response_format": {"type": "json_object"}} | settings


def sampling_settings(sampling=None, **named) -> dict:
    """Put sampling parameters, those of `SAMPLING` by name and any others, together as a request has them."""
    if sampling is not None and not isinstance(sampling, dict):
        raise ValueError(f"sampling={sampling!r}: expected a dict, as {{'seed': 0}}")
    settings = dict(sampling or {})
    for name, instead in _NO_PARAMETER.items():
        if name in settings:
            raise ValueError(f"sampling has {name!r}, which is no sampling parameter: {instead}")
    for name, value in named.items():
        if value is None or (name == "logprobs" and not value):
            continue
        if settings.get(name, value) != value:
            raise ValueError(f"{name} is {value} and, in sampling, {settings[name]}: give it once")
        settings[name] = value
    for name in ("temperature", "top_p", "max_tokens"):
        value = settings.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value:
            raise ValueError(f"{name}={value!r}: expected a number, and a finite one")
    if not isinstance(settings.get("logprobs", True), bool):
        raise ValueError(f"logprobs={settings['logprobs']!r}: expected True or False")
    if not settings.get("logprobs", True):
        del settings["logprobs"]  # as if it were not given, so that the request is the same
    return settings
