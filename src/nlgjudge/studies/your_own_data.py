"""Which way of judging agrees best with your own raters, and what it costs.

The papers' protocols, prompts of your own, the rule `surface` and lexical metrics, on the same documents,
with intervals, paired tests and the raters' ceiling. A best one is named only where the data can say one.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.choices import unknown
from nlgjudge.judging import surface
from nlgjudge.judging.errors import JudgeError
from nlgjudge.judging.live import Live
from nlgjudge.judging.parsing import POLICIES
from nlgjudge.judging.prompts import Prompt
from nlgjudge.judging.run import judge_items
from nlgjudge.judging.scoring import item_scores
from nlgjudge.judging.tasks import Tasks
from nlgjudge.metrics.lexical import lexical_baselines
from nlgjudge.studies.own_data_asking import (
    COSTS,
    TASKS,
    cost_of,
    is_rule,
    limited,
    method_name,
    named_judges,
    plan,
    protocols,
    submit,
)
from nlgjudge.studies.own_data_comparing import LEVEL, compared, needed, notes_on, raters
from nlgjudge.studies.own_data_report import page, shown, spent, verdicts

__all__ = [
    "TASKS",
    "Evaluation",
    "evaluate",
    "limited",
    "needed",
    "page",
    "plan",
    "protocols",
    "shown",
    "spent",
    "verdicts",
]

# What the rule is shown beside source and context: the reference, where there is one.
_RULE = Prompt(
    name="surface",
    paper="",
    source="",
    exact=False,
    aspect="",
    scale=(0, 1),
    form="number",
    slots={"[text]": "reference"},
    body="[text]",
    constants={},
)
_KEYS = ["item_id", "doc_id", "system_id"]


class Evaluation(NamedTuple):
    """Ways of judging against your raters.

    Attributes
    ----------
    table : pandas.DataFrame
        For each aspect a row per method, best first: `aspect, method, judge` (empty for a metric), `level,
        ours` (Spearman), `ci_low, ci_high` (95%), `documents` (compared), `n, n_skipped` (documents at sample
        level, outputs at dataset level; the same for all methods compared), `reason` (why a method is not
        compared), `p` and `p_systems` (against the best, after Holm, for other documents and for other
        systems; NaN for the best itself, and the second where there is one system), `calls, prompt_tokens,
        completion_tokens, cost` (NaN without a price), `estimated` (whether tokens are, at four characters
        each and the longest replies), `unparsed` (replies without a rating), `missing` (replies not given);
        and of the aspect `why` (its level), `raters, ceiling, ceiling_n` (the fewest documents, or outputs,
        that a rater's part of it rests on) and `alpha`, the last three NaN for a single rater.
    notes : list of str
        What the table alone does not say, as which method is left out and why.
    settings : dict
        What the evaluation was asked for: judges, task, level, policy, seed, prompts with their digests.
    scores : pandas.DataFrame
        A row per output: `item, doc_id, system`, the people's mean as ``human:ASPECT``, each method's score
        as ``ASPECT:METHOD``, a metric's under its name.
    """

    table: pd.DataFrame
    notes: list
    settings: dict
    scores: pd.DataFrame


def evaluate(
    benchmark,
    *,
    task="",
    judge="surface",
    prompts=None,
    scale=(1, 5),
    samples=None,
    settings=None,
    policy="nan",
    limit=None,
    price=None,
    resamples=1000,
    permutations=999,
    seed=0,
    **options,
):
    """Judge a benchmark's items in every way there is, and compare with its ratings.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
        As `nlgjudge.data.own_files.own_data` reads one.
    task : str
        Whose prompts are asked, as for `protocols`.
    judge : str, object or list of them
        As for `nlgjudge.judging.run.judge_items`. What several judges say is compared in one table. The rule
        `surface` is a method by itself; asked through a protocol it shows only what the protocol would cost.
    prompts : dict or list, optional
        Prompts beside the protocols', for aspects of your own or to try another wording: by aspect a name, a
        text with slots, a `Prompt`, or a list of these; or a list of prompts that name their aspect.
    scale : (float, float)
        Lowest and highest rating that a prompt given as text asks for.
    samples : int, optional
        Replies an item, for every prompt; without it G-Eval takes 20 and the others one.
    settings : dict, optional
        Sampling parameters in the place of the protocols' own, as `temperature, max_tokens, logprobs`.
    policy : str
        What an unparsed reply counts as, as for `nlgjudge.judging.run.judge_items`.
    limit : int, optional
        Use the first so many documents; None or 0 takes all.
    price : (float, float), optional
        Of a million prompt and a million completion tokens.
    resamples, permutations, seed : int
    **options
        For `nlgjudge.judging.run.get_judge`; where several judges are given, for live ones only.

    Returns
    -------
    Evaluation
        All methods of an aspect are compared on the same outputs, those with a rating and a score from each.
        At sample level only documents count in which people and all methods tell at least three outputs
        apart; where most documents would be lost, and where a document has fewer outputs, it is dataset
        level. Methods with scores for less than half of the outputs are not compared.

    Raises
    ------
    ValueError
        As `protocols` does.
    nlgjudge.judging.server.JudgeError
        As a live judge does, and where a judge gives no reply at all.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> found = evaluate(load("summeval", "sample"), limit=4, resamples=20, permutations=19)
    >>> verdicts(found)["relevance"].split(":")[0]
    'These data cannot name one'
    """
    if policy not in POLICIES:
        raise ValueError(unknown("policy", policy, POLICIES))
    if resamples < 1 or permutations < 1:
        raise ValueError(
            f"resamples={resamples}, permutations={permutations}: expected at least 1 of each"
        )
    benchmark = limited(benchmark, limit)
    items = benchmark.items
    task, asked = protocols(
        benchmark, task, prompts=prompts, scale=scale, samples=samples, settings=settings
    )
    judges = named_judges(judge, items, options)
    submit(judges, asked, items)
    lexical, notes = _lexical(items)
    rng = np.random.default_rng(seed)
    parts = []
    scores = [items[_KEYS].set_axis(["item", "doc_id", "system"], axis=1)]
    answered = set()
    for aspect in benchmark.aspects:
        own = {label: how for (of, label), how in asked.items() if of == aspect}
        if not own:
            notes.append(
                f"{aspect}: no prompt of {task} asks about it, so no judge was asked; give one of "
                "your own in `prompts`"
            )
        judged, costs = _judged(aspect, own, items, judges, price, policy, answered, notes)
        frame, methods = _scored(benchmark, aspect, judged, lexical)
        table, outputs = compared(frame, methods, [*lexical], resamples, permutations, rng)
        notes += _aspect_notes(aspect, table, lexical, permutations)
        agreement = raters(benchmark, aspect, outputs, table["level"].iloc[0])
        parts.append(_with_costs(table, costs).assign(aspect=aspect, **agreement))
        scores.append(_renamed(frame.drop(columns=[*_KEYS, *lexical]), aspect))
    for name, one in judges.items():
        if asked and not is_rule(name) and name not in answered:
            raise JudgeError(f"{one.name} gave no reply at all: {'; '.join(notes[-2:])}")
    scores.append(items[["item_id"]].join(lexical, on="item_id").drop(columns="item_id"))
    table = pd.concat(parts, ignore_index=True)
    asked_for = {
        "judge": ", ".join(judges),
        "task": task,
        "level": _levels(table),
        "price": price,
        "limit": limit,
        "samples": samples,
        "policy": policy,
        "seed": seed,
        "resamples": resamples,
        "permutations": permutations,
        "prompts": {found.name: found.digest for found, *_ in asked.values()},
    }
    return Evaluation(table, notes, asked_for, pd.concat(scores, axis=1))


def _scored(benchmark, aspect, judged, lexical):
    """The people's mean and every method's score for an aspect, and the methods."""
    items = benchmark.items
    rule = [surface.score(one) for one in Tasks(items, _RULE._replace(aspect=aspect))]
    columns = pd.DataFrame(judged | {"surface": pd.Series(rule, items["item_id"])}).join(lexical)
    human = benchmark.human()[aspect].to_numpy()
    return items[_KEYS].assign(human=human).join(columns, on="item_id"), [*columns]


def _renamed(frame, aspect):
    """Columns as `Evaluation.scores` names them: ``human:ASPECT``, then ``ASPECT:METHOD``."""
    names = {name: f"{aspect}:{name}" for name in frame}
    return frame.rename(columns=names | {"human": f"human:{aspect}"})


def _aspect_notes(aspect, table, lexical, permutations):
    """What is to be said of an aspect's comparison."""
    absent = [name for name in lexical if lexical[name].isna().all()]
    notes = notes_on(table, absent)
    others = table["ours"].count() - 1
    if others / (permutations + 1) >= LEVEL:
        notes.append(
            f"{permutations} permutations are too few to tell one of {others + 1} methods from the "
            f"others; it takes {round(others / LEVEL)}"
        )
    return [f"{aspect}: {note}" for note in notes]


def _levels(table):
    """The level of all aspects, or each with its own."""
    levels = table.groupby("aspect", sort=False)["level"].first()
    if levels.nunique() == 1:
        return levels.iloc[0]
    return ", ".join(f"{aspect}: {level}" for aspect, level in levels.items())


def _judged(aspect, own, items, judges, price, policy, answered, notes):
    """Scores and costs of each protocol and judge, for one aspect.

    A judge that replies is added to `answered`; what went wrong goes into the notes.
    """
    scores = {}
    costs = []
    for name, judge in judges.items():
        for label, (found, n, sampling) in own.items():
            method = method_name(label, name, judges)
            replies = {"unparsed": np.nan, "missing": np.nan}
            if not is_rule(name):
                responses = judge_items(
                    items, [found], judge, samples=n, sampling=sampling, policy=policy
                )
                absent = responses["text"] == ""
                if not absent.all():
                    answered.add(name)
                _check_replies(judge, responses, name in answered, notes)
                unparsed = responses["score"].isna() & ~absent
                replies = {"unparsed": int(unparsed.sum()), "missing": int(absent.sum())}
                if absent.any():
                    reason = _most_common(responses.loc[absent, "reason"]) or "empty"
                    notes.append(
                        f"{aspect}, {method}: {absent.sum()} of {len(responses)} replies were not "
                        f"given ({reason})"
                    )
                scores[method] = item_scores(responses).set_index("item_id")["score"]
            cost = cost_of(Tasks(items, found, n=n, **sampling), judge, price)
            costs.append({"method": method, "judge": name, **cost, **replies})
    return scores, pd.DataFrame(costs, columns=["method", "judge", *COSTS, "unparsed", "missing"])


def _most_common(values):
    value, _ = Counter(values).most_common(1)[0]
    return value


def _check_replies(judge, responses, answered, notes):
    """Stop where a live judge has given no reply so far; say where a limit stopped it."""
    stopped = getattr(judge, "stopped", "")
    if isinstance(judge, Live) and not answered:
        reason = stopped or _most_common(responses["reason"])
        raise JudgeError(f"{judge.name} gave none of {len(responses)} replies: {reason}")
    if stopped:
        note = f"{judge.name} stopped before the end: {stopped}; another run goes on from what is stored"
        if note not in notes:
            notes.append(note)


def _lexical(items):
    """Lexical metrics of the items with references, or of all against the source where none has any."""
    given = items[items["references"].map(len) > 0]
    against = "" if len(given) else " (source)"
    sources = items.assign(references=items[["source"]].to_numpy().tolist())
    scores = lexical_baselines(given if len(given) else sources)
    columns = scores.set_index("item_id").filter(regex="-f$|bleu|meteor")
    columns = columns.rename(columns=lambda name: name.upper().removesuffix("-F") + against)
    return columns, [*scores.attrs["missing"].values()]


def _with_costs(table, costs):
    """Join costs; protocols that the rule stands in for are not compared and come last."""
    joined = table.merge(costs, on="method", how="left")
    rest = costs[~costs["method"].isin(table["method"])]
    if len(rest):
        fixed = {
            name: table[name].iloc[0] for name in ("level", "why", "n", "n_skipped", "documents")
        }
        reason = "the rule `surface` stood in for a model, to show what it would cost"
        empty = dict.fromkeys(("ours", "ci_low", "ci_high", "p", "p_systems"), np.nan)
        joined = pd.concat(
            [joined, rest.assign(reason=reason, **empty, **fixed)], ignore_index=True
        )
    return joined.assign(judge=joined["judge"].fillna(""))
