"""An ablation: a baseline, one change, and what the change does to agreement with people.

The comparison is paired: both setups rate the same items, the interval of the difference and the test
use the items that both have scored (Deutsch, Dror and Roth 2021), with Holm's adjustment over aspects. The test is
asked twice, with items swapped (other items of these systems) and with systems swapped (other systems).

A setup is a dict of settings; `ablate` takes those that differ from `nlgjudge.studies.ablation_setups.SETTINGS`:

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

from nlgjudge.data import spreadsheets
from nlgjudge.data.choices import first, unknown
from nlgjudge.data.paths import out
from nlgjudge.judging.prompts import Prompt
from nlgjudge.ledger.words import in_words
from nlgjudge.stats.bootstrap import UNITS, column_mean, difference, interval
from nlgjudge.stats.correlations import COEFFICIENTS, LEVELS
from nlgjudge.stats.judge_pairs import paired_tests
from nlgjudge.studies.ablation_findings import beyond_zero, direction, moved, significance
from nlgjudge.studies.ablation_setups import SETTINGS, complete, digests, prepared, run


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
        (variant minus baseline), `ci_low, ci_high`; `p` and `holm` with items swapped, `p_systems` and
        `holm_systems` with systems swapped, as `nlgjudge.paired_tests` gives them.
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
        parts = [
            f"{name}: {_brief(row['variant'])} against {_brief(row['baseline'])}"
            for name, row in self.parameters.iterrows()
        ]
        return "; ".join(parts)

    def findings(self):
        """Say what came out, in sentences that hold for whatever was compared.

        Returns
        -------
        list of str
            On the correlations with people, the tests, the intervals and the scores themselves.
        """
        of_result = [say(self.result) for say in (direction, significance, beyond_zero)]
        return [*of_result, moved(self.shifts)]

    def save(self, name):
        """Write `result` to `ablation/<name>.csv` of this run, where a sweep finds it; return the path."""
        path = out(self.sample) / "ablation" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        spreadsheets.write(self.result, path)
        return path


def ablate(
    benchmark,
    baseline,
    variant,
    *,
    rng,
    aspects=None,
    leave_out=(),
    limit=None,
    level="sample",
    coefficient="spearman",
    units="both",
    resamples=1000,
    permutations=999,
):
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
        As for `nlgjudge.stats.difference` and `nlgjudge.paired_tests`; `units` are those of the intervals.

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
    setups = {"baseline": complete("baseline", baseline), "variant": complete("variant", variant)}
    changed = [name for name in SETTINGS if setups["baseline"][name] != setups["variant"][name]]
    if not changed:
        raise ValueError("the variant equals the baseline: change one of " + ", ".join(SETTINGS))
    arms = prepared(benchmark, items, setups, aspects)
    scores = {}
    costs = {}
    for name, arm in arms.items():
        scores[name], costs[name] = run(arm)
    frame = _with_both_scores(benchmark, scores)
    draws = {"rng": rng, "units": units}
    kind = {"level": level, "coefficient": coefficient}
    tests = paired_tests(
        frame, [("variant", "baseline")], aspects, permutations=permutations, **kind
    )
    result = [_compared(frame, test, kind, resamples, **draws) for test in tests.to_dict("records")]
    result = pd.DataFrame(result)
    shifts = [_shift(frame, aspect, resamples=resamples, **draws) for aspect in aspects]
    return Ablation(
        parameters=_parameters(setups, changed),
        prompts=_prompt_differences(arms),
        shifts=pd.DataFrame(shifts, pd.Index(aspects, name="aspect")),
        result=result,
        cost=pd.DataFrame(costs.values(), costs.keys()).convert_dtypes(),
        digests=digests(arms),
        sample=benchmark.is_sample,
    )


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
    choices = {
        "level": (level, LEVELS),
        "coefficient": (coefficient, COEFFICIENTS),
        "units": (units, UNITS),
    }
    for kind, (chosen, known) in choices.items():
        if chosen not in known:
            raise ValueError(unknown(kind, chosen, known))
    for name, number in {"resamples": resamples, "permutations": permutations}.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ValueError(f"{name}={number!r}: expected a whole number of at least 1")


def _with_both_scores(benchmark, scores):
    """The benchmark's ratings with the scores of both setups, as ``baseline:ASPECT``."""
    columns = [frame.add_prefix(f"{name}:") for name, frame in scores.items()]
    joined = pd.concat(columns, axis=1).rename_axis("item_id").reset_index()
    return benchmark.with_scores(joined)


def _parameters(setups, changed):
    """The settings that differ, by setup."""
    columns = {}
    for name, setup in setups.items():
        columns[name] = {setting: _shown(setup[setting]) for setting in changed}
    return pd.DataFrame(columns).rename_axis("setting")


def _shown(value):
    """A setting's value for the table of those that differ: prompts and judges by their names."""
    if isinstance(value, (list, tuple)) and not isinstance(value, Prompt):
        return [getattr(part, "name", part) for part in value]
    return getattr(value, "name", value)


def _brief(value):
    """A setting's value in words, a long one cut, as a prompt's text is."""
    return shorten(in_words(value), 60, placeholder=" ...")


def _compared(frame, test, kind, resamples, **draws):
    """Both setups' correlations with people for one aspect, their difference and its tests."""
    aspect = test["aspect"]
    pair = (f"variant:{aspect}", f"baseline:{aspect}", aspect)
    shared = frame.dropna(subset=list(pair))
    bootstrap = {"resamples": resamples, "method": "bca", **kind, **draws}
    row = {"aspect": aspect, **kind}
    baseline = interval(shared, f"baseline:{aspect}", aspect, **bootstrap)
    variant = interval(shared, f"variant:{aspect}", aspect, **bootstrap)
    apart = difference(shared, *pair, **bootstrap)
    return row | {
        "n": test["n"],
        **_bounded("baseline", baseline),
        **_bounded("variant", variant),
        "difference": apart.value,
        "ci_low": apart.low,
        "ci_high": apart.high,
        "p": test["p_items"],
        "holm": test["holm_items"],
        "p_systems": test["p_systems"],
        "holm_systems": test["holm_systems"],
    }


def _shift(frame, aspect, **bootstrap):
    """How the scores of one aspect moved from baseline to variant."""
    both = frame[["doc_id", "system_id", f"baseline:{aspect}", f"variant:{aspect}"]].dropna()
    baseline = both[f"baseline:{aspect}"]
    variant = both[f"variant:{aspect}"]
    shift = column_mean(both.assign(shift=variant - baseline), "shift", **bootstrap)
    rho = interval(both, variant.name, baseline.name, level="dataset", **bootstrap)
    return {
        "items": len(both),
        "baseline": baseline.mean(),
        "variant": variant.mean(),
        **_bounded("shift", shift),
        **_bounded("rho", rho),
        "changed": ((variant - baseline).abs() > 1e-9).mean(),
        "baseline_values": baseline.round(9).nunique(),
        "variant_values": variant.round(9).nunique(),
    }


def _bounded(name, found):
    """An interval as three columns."""
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _prompt_differences(arms):
    """By aspect whose prompts differ, how."""
    found = {}
    for aspect, old in arms["baseline"].asked.items():
        text = _prompt_difference(old, arms["variant"].asked[aspect])
        if text:
            found[aspect] = text
    return found


def _prompt_difference(old, new):
    """Empty for the same words; upstream's own words are counted, never shown."""
    old_name, old_lines = _joined(old)
    new_name, new_lines = _joined(new)
    lines = list(unified_diff(old_lines, new_lines, old_name, new_name, lineterm="", n=1))
    if not lines:
        return ""
    upstream = old_name.startswith("upstream:") or new_name.startswith("upstream:")
    both_known = bool(old_lines and new_lines)
    if len(old) == len(new) and both_known and not upstream:
        return "\n".join(lines)
    text = f"{old_name} -> {new_name}"
    if both_known:
        gone = sum(line.startswith("-") for line in lines[2:])
        come = sum(line.startswith("+") for line in lines[2:])
        text += f": lines out {gone}, in {come}"
    return text


def _joined(prompts):
    """The names of several prompts as one, and the lines of them all."""
    name = ", ".join(one.name for one in prompts)
    return name, "\n\n".join(one.body for one in prompts).splitlines()
