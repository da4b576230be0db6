"""From items and prompts to parsed responses, by any judge."""

from functools import partial
from inspect import signature
from pathlib import Path

import pandas as pd

from nlgjudge.data.choices import first, unknown
from nlgjudge.data.paths import cache
from nlgjudge.data.recordings import recorded, recorded_texts, recording
from nlgjudge.judging.errors import AllWaiting, Waiting
from nlgjudge.judging.heads import get_head
from nlgjudge.judging.heard import note
from nlgjudge.judging.parsing import POLICIES
from nlgjudge.judging.prompts import Prompt, as_prompt, check_fit
from nlgjudge.judging.replay import Replay, ReplayStore
from nlgjudge.judging.scoring import COLUMNS, responses
from nlgjudge.judging.store import Store
from nlgjudge.judging.surface import Surface
from nlgjudge.judging.tasks import Tasks

KINDS = "openai:MODEL, batch:MODEL, replay:RECORDING, replay:STORE.sqlite:MODEL, surface"
_KINDS = ("openai", "batch", "replay", "surface")
# Sampling parameters that have an option of their own, under the same name everywhere.
SAMPLING = ("temperature", "top_p", "max_tokens", "logprobs")
_OPTIONS = (
    "samples",
    *SAMPLING,
    "sampling",
    "policy",
    "head",
    "limit",
    "price",
    "max_cost",
    "store",
)


def get_judge(spec, *, items=None, store=None, price=None, max_cost=None, **options):
    """Make a judge from its name.

    Parameters
    ----------
    spec : str
        ``openai:MODEL`` (any compatible endpoint), ``batch:MODEL``, ``replay:RECORDING``
        (of the registry), ``replay:STORE.sqlite:MODEL`` or ``surface``.
    items : pandas.DataFrame, optional
        For recordings that name texts instead of keys.
    store : nlgjudge.judging.store.Store, optional
        Where live replies are kept; by default `data/cache/replies.sqlite`.
    price : (float, float), optional
        Of a million prompt and a million completion tokens.
    max_cost : float, optional
        What a live judge may spend, in the price's currency.
    **options
        For the judge's constructor: `limits`, `progress`, `missing` and so on.

    Raises
    ------
    ValueError
        For an unknown kind, or a limit on cost that the judge cannot keep.
    KeyError
        For an unknown recording.
    TypeError
        For an option that this kind of judge does not have.
    FileNotFoundError
        For a store that is not there.

    Examples
    --------
    >>> get_judge("surface").name
    'surface'
    """
    if not isinstance(spec, str):
        raise ValueError(f"judge={spec!r}: expected a name, one of {KINDS}")
    kind, _, name = spec.partition(":")
    if spec == "surface":
        _check_options(spec, Surface, options)
        return Surface(**options)
    path, found, model = name.partition(".sqlite:")  # a model's name may hold a colon
    if kind == "replay" and found and model:
        _check_options(spec, ReplayStore, options)
        if not Path(path + ".sqlite").is_file():
            raise FileNotFoundError(f"judge {spec!r}: no store {path}.sqlite")
        return ReplayStore(Store(path + ".sqlite"), model, **options)
    if kind == "replay" and name and ".sqlite" not in name:
        _check_options(spec, Replay, options)
        replies = recording(name, items)
        return Replay(replies, name, held=recorded(name), texts=recorded_texts(name), **options)
    if kind == "openai" and name:
        return _live(spec, name, store, price, max_cost, options)
    if kind == "batch" and name:
        from nlgjudge.judging.batch import Batch

        _check_options(spec, Batch, options)
        if max_cost is not None:
            raise ValueError(
                f"judge {spec!r}: a batch cannot stop at a cost; leave out max_cost and set a "
                "limit on items, or take openai:MODEL"
            )
        return Batch(name, store or Store(cache() / "replies.sqlite"), price=price, **options)
    hint = "" if kind in _KINDS else f"; {unknown('kind of judge', kind, _KINDS)}"
    raise ValueError(f"judge {spec!r}: expected {KINDS}{hint}")


def judge_items(
    items,
    prompts,
    judge,
    *,
    samples=1,
    temperature=None,
    top_p=None,
    max_tokens=None,
    logprobs=None,
    sampling=None,
    policy="nan",
    head="expected",
    limit=None,
    price=None,
    max_cost=None,
    **options,
):
    """Let a judge rate items under prompts.

    Everything is checked before the judge is asked: the prompts against the items, what a recording holds,
    the names of options.

    Parameters
    ----------
    items : pandas.DataFrame
        `item_id, source, hypothesis, references, context`.
    prompts : str, Prompt, or list of them
        One per aspect: names, texts with slots, or prompts, as `nlgjudge.as_prompt` takes them.
    judge : str or object
        A name for `get_judge`, or anything with a method `replies(tasks)`.
    samples : int
        Replies an item.
    temperature, top_p, max_tokens, logprobs, optional
        Sampling parameters. `logprobs=True` makes the score that of `head`, by default the expected one (G-Eval,
        equation 1), where the judge gives token probabilities; see `nlgjudge.judging.responses`.
    sampling : dict, optional
        Any other parameters of the request.
    policy : str
        What an unparsed reply counts as; see `nlgjudge.judging.parsing.parse_all`.
    head : str
        Which number token probabilities give: `expected`, `mode`, `median` or `risk_averse`.
    limit : int, optional
        Judge the first documents; None or 0 is all.
    price, max_cost, **options
        For `get_judge`.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect, sample_index, text, score, reason`.

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
    """
    items = first(items, limit)
    check_policy(policy)
    get_head(head)
    settings = sampling_settings(
        temperature=temperature,
        top_p=top_p,
        max_tokens=max_tokens,
        logprobs=logprobs,
        sampling=sampling,
    )
    tasks = requests(items, prompts, samples=samples, settings=settings)
    if isinstance(judge, str):
        judge = get_judge(judge, items=items, price=price, max_cost=max_cost, **options)
    else:
        _check_no_options(judge, options | {"price": price, "max_cost": max_cost})
    check(judge, tasks)
    if hasattr(
        judge, "submit"
    ):  # a batch stops while replies are missing, so all prompts go out first
        for part in tasks:
            judge.submit(part)
    return pd.concat(
        all_or_waiting(partial(_parsed, judge, part, policy, head) for part in tasks),
        ignore_index=True,
    )


def requests(items, prompts, *, samples=1, settings=None):
    """What a judge is asked about items, under each prompt.

    Parameters
    ----------
    items, prompts, samples
        As for `judge_items`.
    settings : dict, optional
        Sampling parameters, from `sampling_settings`.

    Returns
    -------
    list of nlgjudge.judging.tasks.Tasks
        By prompt.

    Raises
    ------
    ValueError, KeyError
        For a prompt or a number of samples that cannot be used.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> items = nj.load("summeval", "sample").items
    >>> [len(tasks) for tasks in requests(items, ["geval/summarization/fluency"])]
    [72]
    """
    check_samples(samples)
    several = isinstance(prompts, (list, tuple)) and not isinstance(prompts, Prompt)
    asked = [as_prompt(one) for one in (prompts if several else [prompts])]
    if not asked:
        raise ValueError("prompts=[]: expected at least one, as ['geval/summarization/fluency']")
    for one in asked:
        check_fit(one, items)
    return [Tasks(items, one, n=samples, **(settings or {})) for one in asked]


def all_or_waiting(steps):
    """Take several steps that ask a judge, to the last also where replies to one are still to come.

    Parameters
    ----------
    steps : iterable of callable

    Returns
    -------
    list
        What each gave.

    Raises
    ------
    Waiting
        After the last step, with the words of all that wait.
    """
    found = []
    waiting = []
    for step in steps:
        try:
            found.append(step())
        except Waiting as error:
            waiting.append(error)
    if waiting:
        raise AllWaiting(waiting)
    return found


def check(judge, tasks):
    """Let a judge that knows beforehand what it can answer refuse tasks, before any is asked.

    Parameters
    ----------
    judge : object
    tasks : list of nlgjudge.judging.tasks.Tasks
    """
    if not hasattr(judge, "replies"):
        raise ValueError(
            f"judge={judge!r}: expected a name, one of {KINDS}, or an object with replies(tasks)"
        )
    if hasattr(judge, "check"):
        for part in tasks:
            judge.check(part)


def sampling_settings(
    *, temperature=None, top_p=None, max_tokens=None, logprobs=None, sampling=None
):
    """Put sampling parameters together as a request has them.

    Parameters
    ----------
    temperature, top_p, max_tokens, logprobs, sampling
        As for `judge_items`.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        For a value of another type, or a parameter that is given twice.
    """
    if sampling is not None and not isinstance(sampling, dict):
        raise ValueError(f"sampling={sampling!r}: expected a dict, as {{'seed': 0}}")
    named = {
        "temperature": temperature,
        "top_p": top_p,
        "max_tokens": max_tokens,
        "logprobs": logprobs or None,
    }
    named = {name: value for name, value in named.items() if value is not None}
    settings = dict(sampling or {})
    for name, value in named.items():
        if settings.get(name, value) != value:
            raise ValueError(f"{name} is {value} and, in sampling, {settings[name]}: give it once")
        settings[name] = value
    for name in ("temperature", "top_p", "max_tokens"):
        value = settings.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name}={value!r}: expected a number")
    if not isinstance(settings.get("logprobs", True), bool):
        raise ValueError(f"logprobs={settings['logprobs']!r}: expected True or False")
    if not settings.get("logprobs", True):
        del settings["logprobs"]  # as if it were not given, so that the request is the same
    return settings


def check_samples(samples):
    """Refuse a number of samples that is none."""
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise ValueError(f"samples={samples!r}: expected a whole number of at least 1")


def check_policy(policy):
    """Refuse an unknown policy on unparsed replies."""
    if policy not in POLICIES:
        raise ValueError(unknown("policy", policy, POLICIES))


def _live(spec, model, store, price, max_cost, options):
    from nlgjudge.judging.live import Limits, Live

    _check_options(spec, Live, options)
    if price is not None or max_cost is not None:
        limits = options.get("limits") or Limits()
        if price:
            limits = limits._replace(price=tuple(price))
        if max_cost is not None:
            limits = limits._replace(cost=max_cost)
        options = options | {"limits": limits}
    return Live(model, store or Store(cache() / "replies.sqlite"), **options)


def _check_options(spec, kind, options):
    """Refuse options that a kind of judge does not have."""
    own = []
    if kind is not Surface:
        for name, parameter in signature(kind).parameters.items():
            of_the_registry = name in ("held", "texts")
            if parameter.kind is parameter.KEYWORD_ONLY and not of_the_registry:
                own.append(name)
    known = [*own, *_OPTIONS]
    for name in options:
        if name not in own:
            raise TypeError(f"judge {spec!r}: {unknown('option', name, known, most=len(known))}")


def _check_no_options(judge, options):
    """Refuse options that only a judge made by its name can take."""
    for name, value in options.items():
        if name not in _OPTIONS:
            raise TypeError(unknown("option", name, _OPTIONS, most=len(_OPTIONS)))
        if value is not None:
            raise TypeError(
                f"{name} is an option of a judge that is given by its name: give it where the "
                f"judge {getattr(judge, 'name', judge)} is made"
            )


def _parsed(judge, tasks, policy, head):
    """Ask a judge, and parse what it says; token probabilities make a reply's score the expected one."""
    asked = tasks.prompt
    replies = pd.DataFrame(judge.replies(tasks), columns=[*COLUMNS[:4], "reason", "logprobs"])
    scored = responses(replies, **asked.reading, policy=policy, head=head)
    if asked.form != "text":
        note(judge, scored["reason"])
    return scored
