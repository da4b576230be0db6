"""The two setups of an ablation: their settings, what they ask, and what asking them costs."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data import sample
from nlgjudge.data.choices import unknown
from nlgjudge.data.recordings import recorded
from nlgjudge.judging import replay
from nlgjudge.judging.prompts import Prompt, as_prompt, check_fit, check_scale, check_slots
from nlgjudge.judging.run import (
    SAMPLING,
    check,
    check_policy,
    check_samples,
    get_judge,
    judge_items,
    sampling_settings,
)
from nlgjudge.judging.tasks import NOT_ASKED, Tasks
from nlgjudge.papers.dhp.perturbing import Perturbation, perturb

SETTINGS = {
    "judge": "surface",
    "prompt": "",
    "words": {},
    "scale": (),
    "samples": 1,
    "estimator": "mean",
    "perturb": (),
    **dict.fromkeys(SAMPLING),
    "sampling": {},
    "policy": "nan",
    "price": (),
    "max_cost": None,
}
ESTIMATORS = {
    "mean": "mean",
    "median": "median",
    "mode": lambda scores: scores.mode().mean(),
}


class Arm(NamedTuple):
    """A setup that is ready to be asked.

    Attributes
    ----------
    setup : dict
        A value for each of `SETTINGS`.
    judge : object
    items : pandas.DataFrame
        Damaged where the setup perturbs them.
    asked : dict of str to list of Prompt
        By aspect.
    sampling : dict
        Sampling parameters.
    """

    setup: dict
    judge: object
    items: pd.DataFrame
    asked: dict
    sampling: dict


def complete(name, given):
    """Complete a setup, and check each of its settings.

    Parameters
    ----------
    name : str
        What a message calls the setup.
    given : dict
        Settings that differ from `SETTINGS`.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        For an unknown setting and a value that cannot be used.

    Examples
    --------
    >>> setup = complete("variant", {"samples": 3})
    >>> setup["samples"], setup["judge"]
    (3, 'surface')
    """
    if not isinstance(given, dict):
        raise ValueError(f"{name}={given!r}: expected settings in a dict, as {{'samples': 1}}")
    for setting in given:
        if setting not in SETTINGS:
            raise ValueError(unknown("setting", setting, SETTINGS, most=len(SETTINGS)))
    setup = SETTINGS | given
    if setup["estimator"] not in ESTIMATORS:
        raise ValueError(unknown("estimator", setup["estimator"], ESTIMATORS))
    check_samples(setup["samples"])
    check_policy(setup["policy"])
    check_scale(setup["scale"])
    _sampling(setup)
    words = setup["words"]
    damage = setup["perturb"]
    price = setup["price"]
    if not isinstance(words, dict):
        raise ValueError(
            f"words={words!r}: expected a dict of old to new wording, as "
            "{'carefully': 'with care'}"
        )
    if not isinstance(damage, (list, tuple)) or len(damage) not in (0, 3):
        raise ValueError(
            f"perturb={damage!r}: expected name, degree and number of edits, as ['typos', '', 5]"
        )
    if not isinstance(price, (list, tuple)) or len(price) not in (0, 2):
        raise ValueError(
            f"price={price!r}: expected two numbers, of a million prompt and completion tokens, "
            "as [1.0, 4.0]"
        )
    return setup


def prepared(benchmark, items, setups, aspects):
    """Make setups ready, and refuse here those that cannot be asked.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
    items : pandas.DataFrame
        Those of its items that are judged.
    setups : dict of str to dict
        From `complete`.
    aspects : list of str

    Returns
    -------
    dict of str to Arm
    """
    task = "" if benchmark.source == "own" else sample.task(benchmark.name)
    judges = {}
    arms = {}
    for name, setup in setups.items():
        damaged = _perturbed(items, setup["perturb"])
        judge = _judge(setup, items, judges)
        if hasattr(judge, "holds"):
            _check_unchanged(judge.holds, setup)
        asked = {aspect: _prompts(setup, judge, aspect) for aspect in aspects}
        arm = Arm(setup, judge, damaged, asked, _sampling(setup))
        for one in _different_prompts(arm):
            check_fit(one, damaged, task)
        arms[name] = arm
    for arm in arms.values():
        check(arm.judge, _tasks(arm))
    for arm in arms.values():
        if hasattr(arm.judge, "submit"):
            for tasks in _tasks(arm):
                arm.judge.submit(
                    tasks
                )  # a batch stops while replies are missing, so all go out first
    return arms


def run(arm):
    """Ask one arm.

    Parameters
    ----------
    arm : Arm

    Returns
    -------
    scores : pandas.DataFrame
        Items by aspects.
    cost : pandas.Series
        As a row of `Ablation.cost`.

    Raises
    ------
    ValueError
        When not one reply could be read.
    """
    setup = arm.setup
    judge = arm.judge
    by_prompt = {}
    costs = []
    reasons = Counter()
    any_score = False
    for tasks in _tasks(arm):
        new_calls = judge.plan(tasks)["calls"] if hasattr(judge, "plan") else 0
        replies = judge_items(
            arm.items,
            tasks.prompt,
            judge,
            samples=setup["samples"],
            sampling=arm.sampling,
            policy=setup["policy"],
        )
        reasons.update(replies["reason"])
        any_score |= bool(replies["score"].notna().any())
        by_item = replies.groupby("item_id", sort=False)["score"]
        by_prompt[_key(tasks.prompt)] = by_item.agg(ESTIMATORS[setup["estimator"]])
        cost = _cost(replies, tasks, free=judge.name == "surface", price=setup["price"])
        costs.append(cost | {"new_calls": new_calls})
    del reasons[NOT_ASKED]  # a limit ended the run, and the same call goes on
    if reasons and not any_score:
        often, _ = reasons.most_common(1)[0]
        raise ValueError(
            f"{judge.name}: of {reasons.total():,} replies none could be read, most often {often}: there "
            "is nothing to compare"
        )
    scores = {}
    for aspect, prompts in arm.asked.items():
        scores[aspect] = sum(by_prompt[_key(one)] for one in prompts) / len(prompts)
    return pd.DataFrame(scores), pd.DataFrame(costs).sum(skipna=False)


def digests(arms):
    """List what stands for each prompt's words in a signature.

    Parameters
    ----------
    arms : dict of str to Arm

    Returns
    -------
    dict of str to str
        By arm and prompt, `unknown` where a prompt is not registered.
    """
    found = {}
    for name, arm in arms.items():
        for one in _different_prompts(arm):
            found[f"{name}: {one.name}"] = one.digest if one.body else "unknown"
    return found


def _sampling(setup):
    return sampling_settings(**{name: setup[name] for name in (*SAMPLING, "sampling")})


def _judge(setup, items, judges):
    """The setup's judge; two setups that ask for the same one share it."""
    name = setup["judge"]
    if not isinstance(name, str):
        return name
    if name.startswith("replay:") and ".sqlite" not in name:  # before its files are read
        _check_unchanged(replay.in_words(name, recorded(name.removeprefix("replay:"))), setup)
    made_for = (name, setup["max_cost"], tuple(setup["price"]))
    if made_for not in judges:
        options = {"missing": "keep"} if name.startswith("replay:") else {}
        judges[made_for] = get_judge(
            name, items=items, price=setup["price"] or None, max_cost=setup["max_cost"], **options
        )
    return judges[made_for]


def _check_unchanged(holds, setup):
    """Refuse other words or texts for a recording."""
    if setup["words"] or setup["perturb"]:
        raise ValueError(
            f"{holds}: these are answers to what was asked then, so words and perturb cannot "
            "change; take another recording, surface or a live judge"
        )


def _perturbed(items, wanted):
    """The items, or their damaged copies under the items' own keys."""
    if not wanted:
        return items
    versions = perturb(items, [Perturbation(*wanted)])
    made = versions.items[versions.items["perturbation"] != "original"]
    if not len(made):
        raise ValueError(
            f"perturb={list(wanted)}: not one text has room for it "
            f"({versions.left_out['reason'].iloc[0]}); take fewer edits"
        )
    return made.assign(item_id=made["original"])


def _prompts(setup, judge, aspect):
    """The prompts that a setup asks about an aspect, reworded and on its scale."""
    given = setup["prompt"]
    given = [given] if isinstance(given, (str, Prompt)) else list(given)
    if given == [""] and hasattr(judge, "holds"):  # a recording knows what it was asked
        found = [judge.prompt(aspect)]
    else:
        scale = setup["scale"] or (1, 5)
        found = [_prompt(one, aspect, scale) for one in given]
    for old, new in setup["words"].items():
        found = _reworded(found, old, new)
    for one in found:
        check_slots(one)
    if setup["scale"]:
        return [one._replace(scale=tuple(setup["scale"])) for one in found]
    return found


def _reworded(prompts, old, new):
    lacking = [one.name for one in prompts if old not in one.body]
    if lacking:
        raise ValueError(
            f"prompt {', '.join(lacking)} has no {old!r} to replace; `nlgjudge prompts "
            "show` prints its words"
        )
    return [one._replace(body=one.body.replace(old, new), exact=False) for one in prompts]


def _prompt(given, aspect, scale):
    """A prompt by name, as text or as it is, for an aspect."""
    if isinstance(given, str) and "{{" not in given and " " not in given:
        try:
            return as_prompt(given.format(aspect=aspect))
        except (KeyError, IndexError, ValueError) as error:
            if "{" not in given or "{aspect" in given:
                raise
            raise ValueError(
                f"prompt={given!r}: expected {{aspect}} as the only place to fill"
            ) from error
    if isinstance(given, str):
        given = given.replace("{aspect}", aspect)
    found = as_prompt(given, aspect=aspect, scale=scale)
    return found if found.aspect else found._replace(aspect=aspect)


def _different_prompts(arm):
    """The arm's prompts, each once, also where it serves several aspects."""
    found = {}
    for prompts in arm.asked.values():
        for one in prompts:
            found[_key(one)] = one
    return list(found.values())


def _tasks(arm):
    """What an arm asks, for each of its prompts."""
    samples = arm.setup["samples"]
    return [Tasks(arm.items, one, n=samples, **arm.sampling) for one in _different_prompts(arm)]


def _key(asked):
    return asked.name, asked.aspect, asked.digest


def _cost(replies, tasks, *, free, price):
    """What the replies to one prompt cost; tokens are estimated at four characters each."""
    given = replies[replies["reason"] != "not recorded"]
    ids = set(given["item_id"])
    if free:
        calls = read = written = 0
    else:
        calls = len(ids)
        written = (given["text"].str.len() // 4 + 1).sum()
        read = np.nan
        if tasks.prompt.body:
            read = sum(len(task.text) // 4 + 1 for task in tasks if task.item_id in ids)
    if price:
        cost = np.dot((read, written), price) / 1e6
    elif free:
        cost = 0.0
    else:
        cost = np.nan
    return {
        "calls": calls,
        "samples": len(given),
        "unparsed": given["score"].isna().sum(),
        "prompt_tokens": read,
        "completion_tokens": written,
        "cost": cost,
    }
