"""An ablation: a baseline, one change, and what the change does to agreement with people.

The comparison is paired: both setups rate the same items, the interval of the difference and the test
use the items that both have scored (Deutsch, Dror and Roth 2021), with Holm's adjustment over aspects.

A setup is a dict of settings; `ablate` takes those that differ from `SETTINGS`:

- `judge`: a name for `nlgjudge.get_judge`, or a judge.
- `prompt`: a name with ``{aspect}`` in it, a text with slots, or a `Prompt`; or several, whose scores are
  averaged. Empty for a recording: the prompt that it was asked.
- `words` (old to new wording of the prompt) and `scale` (lowest and highest rating of the new wording).
- `samples`, and `estimator` of an item's samples: mean, median or mode.
- `temperature`, `top_p`, `max_tokens`, `logprobs` (G-Eval's equation 1), `sampling` (a dict of any others)
  and `policy` (of unparsed replies), as for `nlgjudge.judge_items`.
- `perturb`: name, degree and edits of one of DHP's perturbations.
- `price` (of a million prompt and a million completion tokens) and `max_cost` (what this setup may spend).
"""

from difflib import unified_diff
from textwrap import shorten
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data import sample
from nlgjudge.data.choices import first, unknown
from nlgjudge.data.paths import out
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
from nlgjudge.judging.tasks import Tasks
from nlgjudge.ledger.words import counted, in_words
from nlgjudge.papers.dhp.perturbing import Perturbation, perturb
from nlgjudge.stats.bootstrap import UNITS, column_mean, difference, interval
from nlgjudge.stats.correlations import COEFFICIENTS, LEVELS
from nlgjudge.stats.testing import holm, permutation_test

SETTINGS = {"judge": "surface", "prompt": "", "words": {}, "scale": (), "samples": 1, "estimator": "mean",
            "perturb": (), **dict.fromkeys(SAMPLING), "sampling": {}, "policy": "nan", "price": (),
            "max_cost": None}
ESTIMATORS = {"mean": "mean", "median": "median", "mode": lambda scores: scores.mode().mean()}
ARMS = ("baseline", "variant")
SIGNIFICANT = 0.05


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

    @property
    def change(self):
        """The settings that differ, in words, as ``estimator: mode against mean``."""
        parts = [f"{name}: {_brief(row['variant'])} against {_brief(row['baseline'])}"
                 for name, row in self.parameters.iterrows()]
        return "; ".join(parts)

    def findings(self):
        """Say what came out, in sentences that hold for whatever was compared.

        Returns
        -------
        list of str
            On the correlations with people, the tests, the intervals and the scores themselves.
        """
        return [_direction(self.result), _tested(self.result), _beyond_zero(self.result), _moved(self.shifts)]

    def save(self, name):
        """Write `result` to `ablation/<name>.csv` of this run, where a sweep finds it; return the path."""
        path = out(self.sample) / "ablation" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.result.to_csv(path, index=False)
        return path


class _Arm(NamedTuple):
    """A setup that is ready to be asked."""

    setup: dict
    judge: object
    items: pd.DataFrame
    asked: dict  # prompts by aspect
    sampling: dict


def ablate(benchmark, baseline, variant, *, rng, aspects=None, leave_out=(), limit=None, level="sample",
           coefficient="spearman", units="both", resamples=1000, permutations=999):
    """Compare two setups of a judge on one benchmark.

    Both setups are checked before either is asked: names, values, prompts against the benchmark, and what a
    recording holds.

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
        Judge the first so many items; None or 0 is all.
    level, coefficient, units, resamples, permutations
        As for `nlgjudge.difference` and `nlgjudge.permutation_test`.

    Returns
    -------
    Ablation

    Raises
    ------
    KeyError, ValueError, TypeError
        For a name or a value that cannot be used, equal setups, wording that cannot be changed, a prompt of
        another task, or a question that a recording was never asked.

    Examples
    --------
    >>> import nlgjudge as nj, numpy as np
    >>> chats = nj.load("topical_chat", "sample")
    >>> asked = {"prompt": "geval/dialogue/{aspect}"}
    >>> found = nj.ablate(chats, asked, asked | {"samples": 3}, rng=np.random.default_rng(0),
    ...                   aspects=["coherence"], level="dataset", resamples=99, permutations=99)
    >>> found.change, found.result["difference"].item()
    ('samples: 3 against 1', 0.0)
    """
    aspects = _aspects(benchmark, aspects)
    _check_statistics(rng, leave_out, level, coefficient, units, resamples, permutations)
    items = first(benchmark.items[~benchmark.items["system_id"].isin(leave_out)], limit)
    setups = {arm: _complete(arm, given) for arm, given in zip(ARMS, (baseline, variant))}
    changed = [k for k in SETTINGS if setups["baseline"][k] != setups["variant"][k]]
    if not changed:
        raise ValueError("the variant equals the baseline: change one of " + ", ".join(SETTINGS))
    arms = _prepared(benchmark, items, setups, aspects)
    parameters = pd.DataFrame({arm: {k: _shown(setup[k]) for k in changed} for arm, setup in setups.items()})
    scores, costs = zip(*(_run(arms[arm]) for arm in ARMS))
    columns = pd.concat([s.add_prefix(f"{arm}:") for arm, s in zip(ARMS, scores)], axis=1)
    frame = benchmark.with_scores(columns.rename_axis("item_id").reset_index())
    options = dict(level=level, coefficient=coefficient), dict(rng=rng, units=units), resamples, permutations
    result = pd.DataFrame([_compared(frame, a, *options) for a in aspects])
    shifts = [_shift(frame, a, rng=rng, units=units, resamples=resamples) for a in aspects]
    differences = {a: _prompt_diff(*(arms[arm].asked[a] for arm in ARMS)) for a in aspects}
    return Ablation(
        parameters=parameters.rename_axis("setting"),
        prompts={a: text for a, text in differences.items() if text},
        shifts=pd.DataFrame(shifts, pd.Index(aspects, name="aspect")),
        result=result.assign(holm=holm(result["p"])),
        cost=pd.DataFrame(costs, ARMS).convert_dtypes(),
        digests=_digests(arms),
        sample=benchmark.is_sample)


def _aspects(benchmark, aspects):
    if aspects is None or (isinstance(aspects, (list, tuple)) and not aspects):
        return benchmark.aspects
    if isinstance(aspects, str):
        raise ValueError(f"aspects={aspects!r}: expected a list of names, as [{aspects!r}]")
    for aspect in aspects:
        if aspect not in benchmark.aspects:
            raise ValueError(unknown("aspect", aspect, benchmark.aspects))
    return list(aspects)


def _check_statistics(rng, leave_out, level, coefficient, units, resamples, permutations):
    """Refuse what the comparison would refuse only after the judge was asked."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng={rng!r}: expected a generator, as numpy.random.default_rng(0)")
    if isinstance(leave_out, str):
        raise ValueError(f"leave_out={leave_out!r}: expected a list of systems, as [{leave_out!r}]")
    for kind, name, known in (("level", level, LEVELS), ("coefficient", coefficient, COEFFICIENTS),
                              ("units", units, UNITS)):
        if name not in known:
            raise ValueError(unknown(kind, name, known))
    for name, number in (("resamples", resamples), ("permutations", permutations)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ValueError(f"{name}={number!r}: expected a whole number of at least 1")


def _complete(arm, given):
    """A whole setup from the settings that are given, each checked."""
    if not isinstance(given, dict):
        raise ValueError(f"{arm}={given!r}: expected settings in a dict, as {{'samples': 1}}")
    for name in given:
        if name not in SETTINGS:
            raise ValueError(unknown("setting", name, SETTINGS, most=len(SETTINGS)))
    setup = SETTINGS | given
    if setup["estimator"] not in ESTIMATORS:
        raise ValueError(unknown("estimator", setup["estimator"], ESTIMATORS))
    check_samples(setup["samples"])
    check_policy(setup["policy"])
    check_scale(setup["scale"])
    sampling_settings(**{name: setup[name] for name in (*SAMPLING, "sampling")})
    if not isinstance(setup["words"], dict):
        raise ValueError(f"words={setup['words']!r}: expected a dict of old to new wording, as "
                         "{'carefully': 'with care'}")
    if not isinstance(setup["perturb"], (list, tuple)) or len(setup["perturb"]) not in (0, 3):
        raise ValueError(f"perturb={setup['perturb']!r}: expected name, degree and number of edits, as "
                         "['typos', '', 5]")
    price = setup["price"]
    if not isinstance(price, (list, tuple)) or len(price) not in (0, 2):
        raise ValueError(f"price={price!r}: expected two numbers, of a million prompt and completion tokens, "
                         "as [1.0, 4.0]")
    return setup


def _prepared(benchmark, items, setups, aspects):
    """Both arms, with their judges and prompts, refused here if they cannot be asked."""
    task = "" if benchmark.source == "own" else sample.task(benchmark.name)
    judges, arms = {}, {}
    for arm, setup in setups.items():
        damaged = _perturbed(items, setup["perturb"])
        judge = setup["judge"]
        if isinstance(judge, str):
            if judge.startswith("replay:") and ".sqlite" not in judge:  # before its files are read
                _check_unchanged(replay.in_words(judge, recorded(judge.removeprefix("replay:"))), setup)
            made = judge, setup["max_cost"], tuple(setup["price"])
            if made not in judges:
                judges[made] = _judge(judge, items, setup)
            judge = judges[made]
        if hasattr(judge, "holds"):
            _check_unchanged(judge.holds, setup)
        asked = {aspect: _prompts(setup, judge, aspect) for aspect in aspects}
        for one in {_key(p): p for found in asked.values() for p in found}.values():
            check_fit(one, damaged, task)
        sampling = sampling_settings(**{name: setup[name] for name in (*SAMPLING, "sampling")})
        arms[arm] = _Arm(setup, judge, damaged, asked, sampling)
    for arm in arms.values():
        check(arm.judge, _tasks(arm))
    for arm in arms.values():
        for tasks in _tasks(arm) if hasattr(arm.judge, "submit") else ():
            arm.judge.submit(tasks)  # a batch stops while replies are missing, so all go out first
    return arms


def _check_unchanged(holds, setup):
    """Refuse other words or texts for a recording."""
    if setup["words"] or setup["perturb"]:
        raise ValueError(f"{holds}: these are answers to what was asked then, so words and perturb cannot "
                         "change; take another recording, surface or a live judge")


def _judge(name, items, setup):
    options = {"missing": "keep"} if name.startswith("replay:") else {}
    return get_judge(name, items=items, price=setup["price"] or None, max_cost=setup["max_cost"], **options)


def _perturbed(items, wanted):
    """The items, or their damaged copies under the items' own keys."""
    if not wanted:
        return items
    versions = perturb(items, [Perturbation(*wanted)])
    made = versions.items[versions.items["perturbation"] != "original"]
    if not len(made):
        raise ValueError(f"perturb={list(wanted)}: not one text has room for it "
                         f"({versions.left_out['reason'].iloc[0]}); take fewer edits")
    return made.assign(item_id=made["original"])


def _prompts(setup, judge, aspect):
    given = setup["prompt"]
    given = [given] if isinstance(given, (str, Prompt)) else list(given)
    if given == [""] and hasattr(judge, "holds"):  # a recording knows what it was asked
        found = [judge.prompt(aspect)]
    else:
        found = [_prompt(one, aspect, setup["scale"] or (1, 5)) for one in given]
    for old, new in setup["words"].items():
        lacking = [p.name for p in found if old not in p.body]
        if lacking:
            raise ValueError(f"prompt {', '.join(lacking)} has no {old!r} to replace; `nlgjudge prompts "
                             "show` prints its words")
        found = [p._replace(body=p.body.replace(old, new), exact=False) for p in found]
    for one in found:
        check_slots(one)
    return [p._replace(scale=tuple(setup["scale"])) for p in found] if setup["scale"] else found


def _prompt(given, aspect, scale):
    """A prompt by name, as text or as it is, for an aspect."""
    if isinstance(given, str) and "{{" not in given and " " not in given:
        try:
            return as_prompt(given.format(aspect=aspect))
        except (KeyError, IndexError, ValueError) as error:
            if "{" not in given or "{aspect" in given:
                raise
            raise ValueError(f"prompt={given!r}: expected {{aspect}} as the only place to fill") from error
    if isinstance(given, str):
        given = given.replace("{aspect}", aspect)
    found = as_prompt(given, aspect=aspect, scale=scale)
    return found if found.aspect else found._replace(aspect=aspect)


def _tasks(arm):
    """What an arm asks, a prompt that serves several aspects once, by the prompt's key."""
    asked = {_key(p): p for found in arm.asked.values() for p in found}
    return [Tasks(arm.items, p, n=arm.setup["samples"], **arm.sampling) for p in asked.values()]


def _run(arm):
    """Scores, items by aspects, and what they cost."""
    setup, judge = arm.setup, arm.judge
    scores, costs = {}, []
    for tasks in _tasks(arm):
        new = judge.plan(tasks)["calls"] if hasattr(judge, "plan") else 0
        replies = judge_items(arm.items, tasks.prompt, judge, samples=setup["samples"],
                              sampling=arm.sampling, policy=setup["policy"])
        by_item = replies.groupby("item_id", sort=False)["score"]
        scores[_key(tasks.prompt)] = by_item.agg(ESTIMATORS[setup["estimator"]])
        costs.append(_cost(replies, tasks, judge.name == "surface", setup["price"]) | {"new_calls": new})
    averaged = {aspect: sum(scores[_key(p)] for p in found) / len(found)
                for aspect, found in arm.asked.items()}
    return pd.DataFrame(averaged), pd.DataFrame(costs).sum(skipna=False)


def _key(asked):
    return asked.name, asked.aspect, asked.digest


def _shown(value):
    """A setting's value for the table of those that differ: prompts and judges by their names."""
    if isinstance(value, (list, tuple)) and not isinstance(value, Prompt):
        return [getattr(part, "name", part) for part in value]
    return getattr(value, "name", value)


def _brief(value):
    """A setting's value in words, a long one cut, as a prompt's text is."""
    return shorten(in_words(value), 60, placeholder=" ...")


def _digests(arms):
    return {f"{name}: {p.name}": p.digest if p.body else "unknown"
            for name, arm in arms.items() for found in arm.asked.values() for p in found}


def _cost(replies, tasks, free, price):
    given = replies[replies["reason"] != "not recorded"]
    ids = set(given["item_id"])
    read = sum(len(t.text) // 4 + 1 for t in tasks if t.item_id in ids) if tasks.prompt.body else np.nan
    written = (given["text"].str.len() // 4 + 1).sum()
    if free:
        read, written = 0, 0
    cost = np.dot((read, written), price) / 1e6 if price else 0.0 if free else np.nan
    return {"calls": 0 if free else len(ids), "samples": len(given), "unparsed": given["score"].isna().sum(),
            "prompt_tokens": read, "completion_tokens": written, "cost": cost}


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


def _direction(result):
    """In which direction the correlation with people moved, and by how much."""
    moves = result["difference"].round(2)
    lower, higher = list(result["aspect"][moves < 0]), list(result["aspect"][moves > 0])
    known = int(moves.notna().sum())
    if not known:
        return "No aspect has a difference: the correlation is not defined."
    size = moves.abs()
    by = f"by {size.min():.2f} to {size.max():.2f}" if size.min() < size.max() else f"by {size.max():.2f}"
    aspects = list(result["aspect"][moves.notna()])
    where = f"in all {counted(known)} aspects" if known > 1 else f"for {aspects[0]}"
    if not lower and not higher:
        return f"The correlation with people is the same {where}, to two decimals."
    if len(lower) == known or len(higher) == known:
        return f"The variant's correlation with people is {'lower' if lower else 'higher'} {where}, {by}."
    moved = {"lower": lower, "higher": higher}
    parts = [f"{word} for {_listed(aspects)}" for word, aspects in moved.items() if aspects]
    return f"The variant's correlation with people is {' and '.join(parts)}, by at most {size.max():.2f}."


def _tested(result):
    found = list(result["aspect"][result["holm"] < SIGNIFICANT])
    if not found:
        return "No difference is significant at 5% after Holm's correction."
    where = "in every aspect" if len(found) == len(result) > 1 else f"for {_listed(found)}"
    return f"After Holm's correction the difference is significant at 5% {where}."


def _beyond_zero(result):
    found = list(result["aspect"][(result["ci_low"] > 0) | (result["ci_high"] < 0)])
    if not found:
        return "Every interval of a difference includes zero."
    where = "in every aspect" if len(found) == len(result) > 1 else f"for {_listed(found)}"
    return f"The interval of the difference excludes zero {where}."


def _moved(shifts):
    most = shifts["shift"].abs().max()
    if np.isnan(most):
        return "No item was scored by both setups."
    values = [f"{shifts[c].min()} to {shifts[c].max()}" if shifts[c].min() < shifts[c].max()
              else str(shifts[c].max()) for c in ("baseline_values", "variant_values")]
    return (f"Mean scores move by at most {most:.2f}. The baseline takes {values[0]} distinct scores in an "
            f"aspect, the variant {values[1]}.")


def _listed(names):
    names = list(names)
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
