"""An ablation: a baseline, one change, and what the change does to agreement with people.

The comparison is paired: both setups rate the same items, the interval of the difference and the test
use the items that both have scored (Deutsch, Dror and Roth 2021), with Holm's adjustment over aspects.

A setup has `judge` (a name for `get_judge`, or a judge), `prompt` (a name or several, whose scores are
averaged, with ``{aspect}`` in it; empty for a recording whose prompt is not registered), `words` (old to
new wording of the prompt), `scale` (of the new wording, or of the recording), `samples`, `estimator` (of
an item's samples: mean, median or mode), `perturb` (name, degree and edits of one of DHP's perturbations),
`sampling` (temperature and so on; ``"logprobs": True`` for G-Eval's equation 1) and `price` (of a million
prompt and a million completion tokens). `ablate` takes those that differ from `SETTINGS`.
"""

from difflib import unified_diff
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.paths import out
from nlgjudge.data.perturb import Perturbation, perturb
from nlgjudge.judging.prompts import Prompt, prompt
from nlgjudge.judging.run import get_judge, judge_items
from nlgjudge.judging.tasks import Tasks
from nlgjudge.metaeval.bootstrap import column_mean, difference, interval
from nlgjudge.metaeval.testing import holm, permutation_test

SETTINGS = {"judge": "surface", "prompt": "", "words": {}, "scale": (), "samples": 1, "estimator": "mean",
            "perturb": (), "sampling": {}, "price": ()}
ESTIMATORS = {"mean": "mean", "median": "median", "mode": lambda scores: scores.mode().mean()}
ARMS = ("baseline", "variant")


class Ablation(NamedTuple):
    """What a change did.

    Attributes
    ----------
    parameters : pandas.DataFrame
        Settings that differ, by setting: `baseline, variant`.
    prompts : dict of str to str
        By aspect whose prompt differs, the difference; of prompts that are not this
        repository's, and of several against one, only how many lines differ.
    shifts : pandas.DataFrame
        By aspect: `items` that both scored, mean `baseline` and `variant`, mean `shift` (in
        points of the scale, if both have one scale), share `changed`, Spearman's `rho` between the two
        over all items, and how many distinct values each has; `shift` and `rho` with `_low` and `_high`.
    result : pandas.DataFrame
        `aspect, level, coefficient, n, baseline, variant` (with `_low` and `_high`), `difference`
        (variant minus baseline), `ci_low, ci_high, p, holm`.
    cost : pandas.DataFrame
        By setup: `calls` that it takes from scratch (one an item and prompt), `new_calls` that were
        not in the store when it ran, `samples`, `unparsed` of them, `prompt_tokens` and
        `completion_tokens` (estimated at four characters a token; NaN where the prompt is not
        registered), `cost` (NaN without a price).
    digests : dict of str to str
        What stands for each prompt's words in a signature, `unknown` where it is not registered.
    sample : bool
        Whether it ran on sample data.
    """

    parameters: pd.DataFrame
    prompts: dict
    shifts: pd.DataFrame
    result: pd.DataFrame
    cost: pd.DataFrame
    digests: dict
    sample: bool

    def save(self, name):
        """Write `result` to `ablation/<name>.csv` of this run, where a sweep finds it; return the path."""
        path = out(self.sample) / "ablation" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.result.to_csv(path, index=False)
        return path


def ablate(benchmark, baseline, variant, *, rng, aspects=None, leave_out=(), limit=None, level="sample",
           coefficient="spearman", units="both", resamples=1000, permutations=999):
    """Compare two setups of a judge on one benchmark.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
    baseline, variant : dict
        Settings that differ from `SETTINGS`, which the module describes.
    rng : numpy.random.Generator
    aspects : list of str, optional
        By default all that the benchmark rates.
    leave_out : sequence of str
        Systems that are neither judged nor compared.
    limit : int, optional
        Judge the first so many items.
    level, coefficient, units, resamples, permutations
        As for `nlgjudge.difference` and `nlgjudge.permutation_test`.

    Returns
    -------
    Ablation

    Raises
    ------
    KeyError, ValueError
        For an unknown prompt or setting, equal setups, or wording that cannot be changed.
    """
    aspects = aspects or benchmark.aspects
    items = benchmark.items[~benchmark.items["system_id"].isin(leave_out)].head(limit or len(benchmark.items))
    setups = {arm: _complete(given) for arm, given in zip(ARMS, (baseline, variant))}
    if not (changed := [k for k in SETTINGS if setups["baseline"][k] != setups["variant"][k]]):
        raise ValueError("the variant equals the baseline: change one of " + ", ".join(SETTINGS))
    parameters = pd.DataFrame({arm: {k: getattr(s[k], "name", s[k]) for k in changed}
                               for arm, s in setups.items()}).rename_axis("setting")
    asked = {arm: {a: _prompts(s, a) for a in aspects} for arm, s in setups.items()}
    scores, costs = zip(*(_run(items, setups[arm], asked[arm]) for arm in ARMS))
    columns = pd.concat([s.add_prefix(f"{arm}:") for arm, s in zip(ARMS, scores)], axis=1)
    frame = benchmark.with_scores(columns.rename_axis("item_id").reset_index())
    options = dict(level=level, coefficient=coefficient), dict(rng=rng, units=units), resamples, permutations
    result = pd.DataFrame([_compared(frame, a, *options) for a in aspects])
    prompts = {a: text for a in aspects if (text := _prompt_diff(*(asked[arm][a] for arm in ARMS)))}
    return Ablation(parameters, prompts,
                    pd.DataFrame([_shift(frame, a, rng=rng, units=units, resamples=resamples)
                                  for a in aspects], pd.Index(aspects, name="aspect")),
                    result.assign(holm=holm(result["p"])), pd.DataFrame(costs, ARMS).convert_dtypes(),
                    {f"{arm}: {p.name}": p.digest if p.body else "unknown" for arm, by_aspect in asked.items()
                     for ps in by_aspect.values() for p in ps}, benchmark.is_sample)


def _complete(given):
    unknown, setup = sorted(set(given) - set(SETTINGS)), SETTINGS | given
    if unknown or setup["estimator"] not in ESTIMATORS:
        raise ValueError(f"settings {unknown}, estimator {setup['estimator']!r}: expected settings among "
                         f"{', '.join(SETTINGS)} and an estimator among {', '.join(ESTIMATORS)}")
    name = str(getattr(setup["judge"], "name", setup["judge"]))
    recorded = name.startswith("replay:") and ".sqlite" not in name  # a store is asked by the full request
    if recorded and (setup["words"] or setup["perturb"]):
        raise ValueError(f"{name} holds answers to what was asked then, so words and perturb cannot change: "
                         "take another recording, surface or a live judge")
    return setup | {"recorded": recorded}


def _prompts(setup, aspect):
    names = [setup["prompt"]] if isinstance(setup["prompt"], str) else setup["prompt"]
    if names == [""] and setup["recorded"]:
        return [Prompt("not registered", "", "", False, aspect, setup["scale"] or (1, 5), "form", {}, "", {})]
    found = [prompt(name.format(aspect=aspect)) for name in names]
    for old, new in setup["words"].items():
        if lacking := [p.name for p in found if old not in p.body]:
            raise ValueError(f"prompt {', '.join(lacking)} has no {old!r} to replace; `nlgjudge prompts "
                             "show` prints its words")
        found = [p._replace(body=p.body.replace(old, new), exact=False) for p in found]
    return [p._replace(scale=tuple(setup["scale"])) for p in found] if setup["scale"] else found


def _run(items, setup, asked):
    """Scores, items by aspects, and what they cost; a prompt that serves several aspects is asked once."""
    if setup["perturb"]:
        made = perturb(items, [Perturbation(*setup["perturb"])]).items.query("perturbation != 'original'")
        items = made.assign(item_id=made["original"])
    judge, n, sampling = setup["judge"], setup["samples"], setup["sampling"]
    if isinstance(judge, str):
        judge = get_judge(judge, items=items, **({"missing": "keep"} if judge.startswith("replay:") else {}))
    scores, costs = {}, []
    for key, p in {_key(p): p for ps in asked.values() for p in ps}.items():
        tasks = Tasks(items, p, n=n, **sampling)
        new = judge.plan(tasks)["calls"] if hasattr(judge, "plan") else 0
        replies = judge_items(items, [p], judge, n=n, settings=sampling)
        scores[key] = replies.groupby("item_id", sort=False)["score"].agg(ESTIMATORS[setup["estimator"]])
        costs.append(_cost(replies, tasks, judge.name == "surface", setup["price"]) | {"new_calls": new})
    return pd.DataFrame({a: sum(scores[_key(p)] for p in ps) / len(ps) for a, ps in asked.items()}), \
        pd.DataFrame(costs).sum(skipna=False)


def _key(asked):
    return asked.name, asked.aspect, asked.digest


def _cost(replies, tasks, free, price):
    ids = set((given := replies[replies["reason"] != "not recorded"])["item_id"])
    read = sum(len(t.text) // 4 + 1 for t in tasks if t.item_id in ids) if tasks.prompt.body else np.nan
    read, written = (0, 0) if free else (read, (given["text"].str.len() // 4 + 1).sum())
    return {"calls": 0 if free else len(ids), "samples": len(given), "unparsed": given["score"].isna().sum(),
            "prompt_tokens": read, "completion_tokens": written,
            "cost": np.dot((read, written), price) / 1e6 if price else 0.0 if free else np.nan}


def _compared(frame, aspect, options, draws, resamples, permutations):
    pair = f"variant:{aspect}", f"baseline:{aspect}", aspect
    shared = frame.dropna(subset=list(pair))
    sampled = {"resamples": resamples, "method": "bca", **options, **draws}
    arms = {arm: interval(shared, f"{arm}:{aspect}", aspect, **sampled) for arm in ARMS}
    bounds = difference(shared, *pair, **sampled)
    test = permutation_test(shared, *pair, resamples=permutations, **options, **draws)
    return {"aspect": aspect, **options, "n": test.n, **_bounded(arms), "difference": bounds.value,
            "ci_low": bounds.low, "ci_high": bounds.high, "p": test.p}


def _shift(frame, aspect, **sampled):
    both = frame[["doc_id", "system_id", *(f"{arm}:{aspect}" for arm in ARMS)]].dropna()
    was, now = (both[f"{arm}:{aspect}"] for arm in ARMS)
    moved = {"shift": column_mean(both.assign(shift=now - was), "shift", **sampled),
             "rho": interval(both, now.name, was.name, level="dataset", **sampled)}
    return {"items": len(both), "baseline": was.mean(), "variant": now.mean(), **_bounded(moved),
            "changed": ((now - was).abs() > 1e-9).mean(),
            "baseline_values": was.round(9).nunique(), "variant_values": now.round(9).nunique()}


def _bounded(found):
    return {name + end: value for name, i in found.items() for end, value in zip(("", "_low", "_high"), i)}


def _prompt_diff(old, new):
    """Empty for the same words; upstream's own words are counted, never shown."""
    names, texts = zip(*((", ".join(p.name for p in ps), "\n\n".join(p.body for p in ps).splitlines())
                         for ps in (old, new)))
    lines = list(unified_diff(*texts, *names, lineterm="", n=1))
    if len(old) == len(new) and not any(n.startswith("upstream:") or not t for n, t in zip(names, texts)):
        return "\n".join(lines)
    less, more = (sum(line.startswith(s) for line in lines[2:]) for s in "-+")
    return (" -> ".join(names) + (f": lines out {less}, in {more}" if all(texts) else "")) if lines else ""
