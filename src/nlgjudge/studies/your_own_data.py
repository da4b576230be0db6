"""Which way of judging agrees best with your own raters, and what it costs.

The papers' protocols, prompts of your own, the rule `surface` and lexical metrics, on the same documents,
with intervals, paired tests and the raters' ceiling. A best one is named only where the data can say one.
"""

from collections import Counter
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.choices import first, unknown
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.judging import surface
from nlgjudge.judging.live import Live
from nlgjudge.judging.parsing import POLICIES
from nlgjudge.judging.planning import assumed_length, prompt_tokens
from nlgjudge.judging.prompts import Prompt, as_prompt, names, prompt
from nlgjudge.judging.run import get_judge, judge_items
from nlgjudge.judging.scoring import item_scores
from nlgjudge.judging.server import JudgeError
from nlgjudge.judging.tasks import Tasks
from nlgjudge.metrics.lexical import lexical_baselines
from nlgjudge.stats.agreement import alpha, ceiling
from nlgjudge.stats.bootstrap import interval_table
from nlgjudge.stats.correlations import correlation_table, grouped, matrices
from nlgjudge.stats.testing import holm, permutation_test

# Prompt, replies an item and sampling: G-Eval's as in its section 3.1, one greedy reply for the others.
# Replies are cut where a rating must have come, and a plan reckons with that length.
_ONE = (1, {"temperature": 0, "max_tokens": 64})
PROTOCOLS = {
    "G-Eval": ("geval/{task}/{aspect}", 20, {"temperature": 1, "top_p": 1, "max_tokens": 16}),
    "DHP's form": ("dhp/{task}/{aspect}", *_ONE),
    "DA": ("chatgpt/da/{task}/{aspect}", *_ONE),
    "DA with reference": ("chatgpt/da_ref/{task}/{aspect}", *_ONE),
    "stars": ("chatgpt/stars/{task}/{aspect}", *_ONE),
    "stars with reference": ("chatgpt/stars_ref/{task}/{aspect}", *_ONE),
    "reason, then score": ("upstream:d223302/{aspect:.3}_analyze_rate", 1,
                           {"temperature": 0, "max_tokens": 512}),
}
# Of a prompt of one's own: it may reason before it rates.
_OWN = (1, {"temperature": 0, "max_tokens": 512})
TASKS = sorted({n.split("/")[-2] for n in names() if n.startswith(("geval/", "chatgpt/", "dhp/"))
                and not n.startswith("dhp/perturb") and n.count("/") > 1 and "_no_steps" not in n})

# The ranks of two outputs agree or disagree: a correlation of 1 or -1, which is a coin's information. Three
# take four values when nothing is tied, and the variance by chance, 1 / (k - 1), falls from 1 to one half.
RANKED = 3
# Below this share of the documents (of the outputs, at dataset level) a result would be about the rest.
COVERAGE = 0.5
LEVEL = 0.05  # of the tests, after Holm

# What the rule is shown beside source and context: the reference, where there is one.
_RULE = Prompt("surface", "", "", False, "", (0, 1), "number", {"[text]": "reference"}, "[text]", {})
_KEYS = ["item_id", "doc_id", "system_id"]
_COSTS = ["calls", "prompt_tokens", "completion_tokens", "cost", "estimated"]


class Evaluation(NamedTuple):
    """Ways of judging against your raters.

    Attributes
    ----------
    table : pandas.DataFrame
        For each aspect a row per method, best first: `aspect, method, judge` (empty for a metric), `level,
        ours` (Spearman), `ci_low, ci_high` (95%), `documents` (compared), `n, n_skipped` (documents at sample
        level, outputs at dataset level; the same for all methods compared), `reason` (why a method is not
        compared), `p` (against the best, after Holm; NaN for the best itself), `calls, prompt_tokens,
        completion_tokens, cost` (NaN without a price), `estimated` (whether tokens are, at four characters
        each and the longest replies), `unparsed` (replies without a rating), `missing` (replies not given);
        and of the aspect `why` (its level), `raters, ceiling, ceiling_n` (the fewest documents, or outputs,
        that a rater's part of it rests on) and `alpha`, the last three NaN for a single rater.
    notes : list of str
    settings : dict
    scores : pandas.DataFrame
        A row per output: `item, doc_id, system`, the people's mean as ``human:ASPECT``, each method's score
        as ``ASPECT:METHOD``, a metric's under its name.
    """

    table: pd.DataFrame
    notes: list
    settings: dict
    scores: pd.DataFrame


def protocols(benchmark, task="", *, prompts=None, scale=(1, 5), samples=None, settings=None):
    """Prompts that ask about a benchmark's aspects.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
    task : str
        One of `TASKS`; empty for dialogue where an item has a context, else summarization.
    prompts, scale, samples, settings
        As for `evaluate`.

    Returns
    -------
    task : str
    asked : dict
        By aspect and protocol: prompt, replies an item, sampling parameters. Protocols that show a reference
        are left out unless all items have one, upstream's where they cannot be had.

    Raises
    ------
    KeyError
        For an unknown prompt.
    ValueError
        For an unknown task or aspect, and a prompt that cannot be filled.
    """
    task = task or ("dialogue" if benchmark.items["context"].str.strip().any() else "summarization")
    if task not in TASKS:
        raise ValueError(unknown("task", task, TASKS))
    if samples is not None and (isinstance(samples, bool) or not isinstance(samples, int) or samples < 1):
        raise ValueError(f"samples={samples!r}: expected a whole number of at least 1")
    asked = {}
    for aspect in benchmark.aspects:
        for label, (name, *how) in PROTOCOLS.items():
            found = _protocol(benchmark, task, aspect, name)
            if found is not None:
                asked[aspect, label] = (found, *how)
    for aspect, label, found in _own_prompts(benchmark, prompts, scale):
        asked[aspect, label] = (found, *_OWN)
    return task, {key: (found, samples or n, own | (settings or {}))
                  for key, (found, n, own) in asked.items()}


def plan(benchmark, *, task="", judge=None, price=None, limit=None, prompts=None, scale=(1, 5), samples=None,
         settings=None, **options):
    """Say what an evaluation with these arguments of `evaluate` takes.

    Returns
    -------
    pandas.DataFrame
        `aspect, method, judge, calls, prompt_tokens, completion_tokens, cost, estimated`: what the method
        costs, whoever asks; replies that a live judge has in store are counted as they were. `calls_left,
        cost_left`: what a live judge has yet to be asked, NaN for others.
    """
    benchmark = limited(benchmark, limit)
    _, asked = protocols(benchmark, task, prompts=prompts, scale=scale, samples=samples, settings=settings)
    judges = _judges(judge, benchmark.items, options) if judge is not None else {"": None}
    rows = []
    for name, one in judges.items():
        for (aspect, label), (found, n, sampling) in asked.items():
            tasks = Tasks(benchmark.items, found, n=n, **sampling)
            calls_left, cost_left = np.nan, np.nan
            if isinstance(one, Live):
                left = one.plan(tasks)
                calls_left = left["calls"]
                if price:
                    prompted, completed = left["prompt_tokens"], left["completion_tokens"]
                    cost_left = (prompted * price[0] + completed * price[1]) / 1e6
            rows.append((aspect, _label(label, name, judges), name, *_cost(tasks, one, price), calls_left,
                         cost_left))
    return pd.DataFrame(rows, columns=["aspect", "method", "judge", *_COSTS, "calls_left", "cost_left"])


def limited(benchmark, documents=None):
    """Keep the first so many documents of a benchmark; all for None or 0."""
    kept = first(benchmark.items[["doc_id"]].drop_duplicates(), documents)
    items = benchmark.items[benchmark.items["doc_id"].isin(kept["doc_id"])]
    return replace(benchmark, items=items, ratings=benchmark.ratings.merge(items[["item_id"]]))


def evaluate(benchmark, *, task="", judge="surface", prompts=None, scale=(1, 5), samples=None, settings=None,
             policy="nan", limit=None, price=None, resamples=1000, permutations=999, seed=0, **options):
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
        raise ValueError(f"resamples={resamples}, permutations={permutations}: expected at least 1 of each")
    benchmark = limited(benchmark, limit)
    items = benchmark.items
    task, asked = protocols(benchmark, task, prompts=prompts, scale=scale, samples=samples, settings=settings)
    judges = _judges(judge, items, options)
    _submit(judges, asked, items)
    lexical, notes = _lexical(items)
    absent = [name for name in lexical if lexical[name].isna().all()]
    rng = np.random.default_rng(seed)
    scores = items[_KEYS].set_axis(["item", "doc_id", "system"], axis=1)
    parts, answered = [], set()
    for aspect in benchmark.aspects:
        own = {label: how for (of, label), how in asked.items() if of == aspect}
        if not own:
            notes.append(f"{aspect}: no prompt of {task} asks about it, so no judge was asked; give one of "
                         "your own in `prompts`")
        judged, costs = _judged(aspect, own, items, judges, price, policy, answered, notes)
        rule = [surface.score(one) for one in Tasks(items, _RULE._replace(aspect=aspect))]
        columns = pd.DataFrame(judged | {"surface": pd.Series(rule, items["item_id"])}).join(lexical)
        human = benchmark.human()[aspect].to_numpy()
        frame = items[_KEYS].assign(human=human).join(columns, on="item_id")
        table, outputs = _compared(frame, [*columns], [*lexical], resamples, permutations, rng)
        notes += [f"{aspect}: {note}" for note in _said_of(table, absent)]
        others = table["ours"].count() - 1
        if others / (permutations + 1) >= LEVEL:
            notes.append(f"{aspect}: {permutations} permutations are too few to tell one of {others + 1} "
                         f"methods from the others; it takes {round(others / LEVEL)}")
        people = _people(benchmark, aspect, outputs, table["level"].iloc[0])
        parts.append(_with_costs(table, costs).assign(aspect=aspect, **people))
        mine = frame.drop(columns=[*_KEYS, *lexical]).rename(
            columns=lambda name, of=aspect: f"{name}:{of}" if name == "human" else f"{of}:{name}")
        scores = pd.concat([scores, mine], axis=1)
    for name, one in judges.items():
        if asked and not _is_rule(name) and name not in answered:
            raise JudgeError(f"{one.name} gave no reply at all: {'; '.join(notes[-2:])}")
    table = pd.concat(parts, ignore_index=True)
    metrics = items[["item_id"]].join(lexical, on="item_id").drop(columns="item_id")
    levels = table.groupby("aspect", sort=False)["level"].first()
    level = levels.iloc[0] if levels.nunique() == 1 else ", ".join(f"{a}: {one}" for a, one in levels.items())
    return Evaluation(table, notes, {
        "judge": ", ".join(judges), "task": task, "level": level, "price": price, "limit": limit,
        "samples": samples, "policy": policy, "seed": seed, "resamples": resamples,
        "permutations": permutations,
        "prompts": {found.name: found.digest for found, *_ in asked.values()},
    }, pd.concat([scores, metrics], axis=1))


def verdicts(evaluation):
    """Say for each aspect whether the data can name a best method, and if not, what ties.

    One is named where its interval lies above zero, and every other method agrees less beyond chance (5%,
    paired permutations of documents, after Holm). Fewer documents than `needed` never name one.

    Parameters
    ----------
    evaluation : Evaluation

    Returns
    -------
    dict of str to str
    """
    return {aspect: _verdict(rows) for aspect, rows in evaluation.table.groupby("aspect", sort=False)}


def needed(methods):
    """Documents that it takes to tell the best of so many methods from all others.

    Swapping k documents gives 2^k arrangements, so that no two-sided p is below 2 / 2^k, and Holm multiplies
    the smallest by the number of the others: for two methods 5 documents give 0.06, and 6 give 0.03.

    Parameters
    ----------
    methods : int
        At least 2.

    Returns
    -------
    int

    Examples
    --------
    >>> needed(2), needed(12)
    (6, 9)
    """
    documents = 1
    while (methods - 1) * 2 / 2**documents >= LEVEL:
        documents += 1
    return documents


def shown(row):
    """A correlation with its interval, and on how many units it rests where some were left out."""
    if pd.isna(row["ours"]):
        return f"not compared: {row['reason']}"
    text = f"{row['ours']:.2f} {_interval(row)}"
    return text + (f" on {row['n']} of {row['n'] + row['n_skipped']}" if row["n_skipped"] else "")


def spent(row):
    """What a method costs, as a row of `Evaluation.table` or `plan` has it."""
    if pd.isna(row["calls"]):
        return "no call"
    tokens = (row["prompt_tokens"] + row["completion_tokens"]) / 1000
    text = f"{row['calls']:.0f} calls, {tokens:.1f} k tokens"
    if not pd.isna(row["cost"]):
        text += f", price {row['cost']:.4f}"
    if row["estimated"]:
        text += " at most"
    if row.get("unparsed", 0) > 0:
        text += f"; {row['unparsed']:.0f} replies without a rating"
    if row.get("missing", 0) > 0:
        text += f"; {row['missing']:.0f} replies not given"
    return text


def page(evaluation, path, *, title="Which judge agrees with your raters?", notes=()):
    """Write an `Evaluation` as one HTML page that loads nothing.

    Parameters
    ----------
    evaluation : Evaluation
    path : path-like
    title : str
    notes : list of str
        Said before the evaluation's own, as what `check_own_data` found.

    Returns
    -------
    pathlib.Path
    """
    table = evaluation.table
    said = verdicts(evaluation)
    lowest = table[["ci_low", "ours"]].min(axis=None)
    low = 0 if pd.isna(lowest) else min(0, np.floor(10 * lowest) / 10)
    sections = []
    for aspect, rows in table.groupby("aspect", sort=False):
        lines = "".join(_row(row, low) for _, row in rows.iterrows())
        sections.append(
            f"<section><h2>{escape(aspect)}</h2><p><strong>{escape(said[aspect])}</strong> "
            f"{escape(_ceiling(rows.iloc[0]))}</p><p>{escape(_basis(rows.iloc[0]))}</p>"
            f"<table><thead><tr><th>method<th>correlation, 95% interval<th>{low:g} to 1<th>p against the best"
            f"<th>cost<tbody>{lines}</table></section>")
    told = [f"<li>{escape(note)}" for note in [*notes, *evaluation.notes]] or ["<li>none"]
    template = Template(files("nlgjudge").joinpath("studies/your_own_data.html").read_text(encoding="utf-8"))
    settings = {name: escape(str(value)) for name, value in evaluation.settings.items()}
    text = template.substitute(settings, title=escape(title), sections="".join(sections),
                               notes="".join(told), ranked=RANKED)
    Path(path).write_text(text, encoding="utf-8")
    return Path(path)


# --- what is asked ---------------------------------------------------------------------------------------

def _protocol(benchmark, task, aspect, name):
    """The prompt of a protocol for an aspect; None where there is none, or its slots cannot be filled."""
    if name.startswith("upstream:") and task != "dialogue":  # upstream's words are about a dialogue
        return None
    try:
        found = prompt(name.format(task=task, aspect=aspect))
    except (KeyError, DataUnavailable):
        return None
    needs_reference = "reference" in found.slots.values()
    if needs_reference and not benchmark.items["references"].map(len).all():
        return None
    return found if found.aspect == aspect else None


def _own_prompts(benchmark, prompts, scale):
    """Aspect, label and prompt of each prompt that the user gave."""
    low, high = scale
    if not low < high:
        raise ValueError(f"scale={scale!r}: expected the lowest rating, then the highest")
    if isinstance(prompts, (str, Prompt)):
        prompts = [prompts]
    if not isinstance(prompts, dict):
        prompts = {"": list(prompts or [])}
    found = []
    for aspect, given in prompts.items():
        for one in [given] if isinstance(given, (str, Prompt)) else given:
            asked = as_prompt(one, aspect=aspect, scale=scale)
            about = aspect or asked.aspect
            if not about:
                raise ValueError(f"prompt {asked.name}: which aspect does it ask about? Name one of "
                                 f"{', '.join(benchmark.aspects)}, as {benchmark.aspects[0]}=...")
            if about not in benchmark.aspects:
                raise ValueError(f"prompt {asked.name}: {unknown('aspect', about, benchmark.aspects)}")
            _check_fields(asked, benchmark.items)
            label = "your prompt" if asked.name.startswith("inline:") else asked.name
            taken = [name for of, name, _ in found if of == about and name.split(" (")[0] == label]
            label += f" ({len(taken) + 1})" if taken else ""
            found.append((about, label, asked._replace(aspect=about)))
    return found


def _check_fields(asked, items):
    """Refuse a prompt that shows what some items lack."""
    for field, column in (("reference", "references"), ("context", "context")):
        empty = int((items[column].map(len) == 0).sum())
        if empty and field in asked.slots.values():
            raise ValueError(f"prompt {asked.name} shows a {field}, and {empty} of {len(items)} outputs have "
                             f"none: fill the column {column}, or leave the slot out")


def _judges(judge, items, options):
    """Judges by name."""
    several = isinstance(judge, (list, tuple))
    found = {}
    for one in judge if several else [judge]:
        if isinstance(one, str):
            takes = not several or one.startswith(("openai:", "batch:"))
            one = get_judge(one, items=items, **(options if takes else {}))
        name = one.name
        while name in found:  # the same model at two endpoints, say
            name += "'"
        found[name] = one
    if not found:
        raise ValueError("no judge: expected a name, as openai:MODEL, or several")
    return found


def _is_rule(name):
    return name == "surface"


def _label(label, name, judges):
    """A protocol's name in the table, with its judge where there are several."""
    if _is_rule(name):
        return f"{label} (by the rule)"
    return label if len(judges) < 2 else f"{label}, {name}"


def _submit(judges, asked, items):
    """Send a batch judge everything at once: it stops while replies are missing."""
    for judge in judges.values():
        if hasattr(judge, "submit"):
            for found, n, settings in asked.values():
                judge.submit(Tasks(items, found, n=n, **settings))


def _judged(aspect, own, items, judges, price, policy, answered, notes):
    """Scores and costs of each protocol and judge, for one aspect; what went wrong goes into the notes."""
    scores, costs = {}, []
    for name, judge in judges.items():
        for label, (found, n, settings) in own.items():
            method = _label(label, name, judges)
            tasks = Tasks(items, found, n=n, **settings)
            unparsed, missing = np.nan, np.nan
            if not _is_rule(name):
                responses = judge_items(items, [found], judge, samples=n, sampling=settings, policy=policy)
                absent = responses["text"] == ""
                if not absent.all():
                    answered.add(name)
                _check_replies(judge, responses, name in answered, notes)
                unparsed = int((responses["score"].isna() & ~absent).sum())
                missing = int(absent.sum())
                if missing:
                    reasons = Counter(responses.loc[absent, "reason"])
                    notes.append(f"{aspect}, {method}: {missing} of {len(responses)} replies were not given "
                                 f"({reasons.most_common(1)[0][0] or 'empty'})")
                scores[method] = item_scores(responses).set_index("item_id")["score"]
            costs.append((method, name, *_cost(tasks, judge, price), unparsed, missing))
    return scores, pd.DataFrame(costs, columns=["method", "judge", *_COSTS, "unparsed", "missing"])


def _check_replies(judge, responses, answered, notes):
    """Stop where a live judge has given no reply so far; say where a limit stopped it."""
    stopped = getattr(judge, "stopped", "")
    if isinstance(judge, Live) and not answered:
        reason = stopped or Counter(responses["reason"]).most_common(1)[0][0]
        raise JudgeError(f"{judge.name} gave none of {len(responses)} replies: {reason}")
    if stopped:
        note = f"{judge.name} stopped before the end: {stopped}; another run goes on from what is stored"
        if note not in notes:
            notes.append(note)


def _cost(tasks, judge, price):
    """Calls, tokens, price, and whether they are estimated: where no server has counted the tokens."""
    calls, prompted, completed, estimated = 0, 0, 0, False
    for task in tasks:
        calls += 1
        replies = []
        n = task.n
        if isinstance(judge, Live):
            _, digest, n = judge.server.request(task)
            replies = [*judge.store.get(digest).values()][:n]
        if replies and len(replies) == n and all(r["prompt_tokens"] is not None for r in replies):
            prompted += sum(r["prompt_tokens"] for r in replies)
            completed += sum(r["completion_tokens"] for r in replies)
        else:
            length, _ = assumed_length(task)
            prompted += prompt_tokens(task)
            completed += n * min(length, task.settings.get("max_tokens", length))
            estimated = True
    cost = (prompted * price[0] + completed * price[1]) / 1e6 if price else np.nan
    return calls, prompted, completed, cost, estimated


def _lexical(items):
    """Lexical metrics of the items with references, or of all against the source where none has any."""
    given = items[items["references"].map(len) > 0]
    against = "" if len(given) else " (source)"
    sources = items.assign(references=items[["source"]].to_numpy().tolist())
    scores = lexical_baselines(given if len(given) else sources)
    columns = scores.set_index("item_id").filter(regex="-f$|bleu|meteor")
    columns = columns.rename(columns=lambda name: name.upper().removesuffix("-F") + against)
    return columns, [*scores.attrs["missing"].values()]


# --- what is compared ------------------------------------------------------------------------------------

class _Shared(NamedTuple):
    """Outputs on which methods are compared, and how they were chosen."""

    frame: pd.DataFrame
    methods: list
    left_out: dict  # method to reason
    level: str
    why: str  # of the level; empty where sample level loses nothing
    n: int
    n_skipped: int


def _shared(frame, methods, metrics):
    """Choose methods, outputs and level, so that all methods compared rest on the same outputs.

    A judge that ties most documents takes all to the dataset level; a metric that does so is left out.
    """
    rated = frame.dropna(subset="human")
    compared, left_out = _scored(rated, methods)
    outputs = rated.dropna(subset=compared)
    if not compared or outputs["human"].nunique() < 2:
        equal = compared and len(outputs)
        reason = "the ratings of all shared outputs are equal" if equal else "no shared output"
        left_out = {method: left_out.get(method, reason) for method in methods}
        return _Shared(outputs.head(0), [], left_out, "dataset", "", 0, len(rated))
    documents = rated["doc_id"].nunique()
    sizes = outputs.groupby("doc_id").size()
    _, _, ties = _ranking(outputs, compared)
    ranked = len(sizes)
    coarse = [method for method in metrics if ties.get(method, 0) > (1 - COVERAGE) * ranked]
    if coarse and len(coarse) < len(compared):
        left_out |= {method: f"the same score for all outputs in {ties[method]} of {ranked} documents"
                     for method in coarse}
        compared = [method for method in compared if method not in coarse]
        outputs = rated.dropna(subset=compared)
        sizes = outputs.groupby("doc_id").size()
    kept, causes, _ = _ranking(outputs, compared)
    lost = documents - len(kept)
    if len(kept) >= COVERAGE * documents:
        part = outputs[outputs["doc_id"].isin(kept)]
        why = f"{lost} of {documents} documents are left out: {causes}" if lost else ""
        return _Shared(part, compared, left_out, "sample", why, len(kept), lost)
    if rated.groupby("doc_id").size().max() == 1:
        why = "each document has one rated output"
    elif sizes.max() < RANKED:
        why = (f"no document has {RANKED} shared outputs, and the ranks of two can only agree or disagree: "
               "every correlation would be 1 or -1")
    else:
        why = f"sample level would leave {lost} of {documents} documents out: {causes}"
    return _Shared(outputs, compared, left_out, "dataset", why, len(outputs), len(rated) - len(outputs))


def _scored(rated, methods):
    """Methods with scores for enough of the outputs, alone and together, and why the others are left out."""
    counts = rated[methods].notna().sum()
    enough = COVERAGE * len(rated)
    left_out = {}
    for method in methods:
        if counts[method] < max(enough, 1):
            left_out[method] = f"scores for {counts[method]} of {len(rated)} rated outputs"
    compared = [method for method in methods if method not in left_out]
    while compared:
        outputs = rated.dropna(subset=compared)
        if len(outputs) < enough:
            fewest = min(compared, key=lambda method: counts[method])
            left_out[fewest] = (f"scores for {counts[fewest]} of {len(rated)} rated outputs, too few of them "
                                "shared with the others")
        else:
            constant = [method for method in compared if outputs[method].nunique() < 2]
            if not constant:
                break
            left_out |= dict.fromkeys(constant, "the same score for every output")
        compared = [method for method in compared if method not in left_out]
    return compared, left_out


def _ranking(outputs, compared):
    """Documents in which people and all methods rank at least three outputs, why the others do not, and in
    how many each method ties all outputs.
    """
    sizes = outputs.groupby("doc_id").size()
    large = sizes.index[sizes >= RANKED]
    causes = []
    if len(large) < len(sizes):
        causes.append(f"{len(sizes) - len(large)} have fewer than {RANKED} shared outputs")
    part = outputs[outputs["doc_id"].isin(large)]
    if part.empty:
        return [], "; ".join(causes), {}
    documents = np.array(sorted(large))  # as `matrices` has them
    human, *scores = matrices(part, ["human", *compared])
    told = ~np.isnan(grouped(human, human))
    if not told.all():
        causes.append(f"in {(~told).sum()} all ratings are equal")
    tied = {method: told & np.isnan(grouped(column, human)) for method, column in zip(compared, scores)}
    ties = {method: int(mask.sum()) for method, mask in tied.items() if mask.any()}
    if ties:
        causes.append("all outputs get the same score " + ", ".join(
            f"in {count} from {method}" for method, count in sorted(ties.items(), key=lambda pair: -pair[1])))
    defined = told & ~np.any([*tied.values()], axis=0)
    return list(documents[defined]), "; ".join(causes), ties


def _compared(frame, methods, metrics, resamples, permutations, rng):
    """Correlations with intervals, best first, and tests against the best; the outputs they rest on."""
    shared = _shared(frame, methods, metrics)
    left_out = pd.DataFrame({"method": list(shared.left_out), "reason": list(shared.left_out.values())})
    fixed = {"level": shared.level, "why": shared.why, "n": shared.n, "n_skipped": shared.n_skipped,
             "documents": shared.frame["doc_id"].nunique()}
    if not shared.methods:
        table = left_out.assign(ours=np.nan, ci_low=np.nan, ci_high=np.nan, p=np.nan, **fixed)
        return table, shared.frame
    cells = correlation_table(shared.frame, shared.methods, ["human"], levels=[shared.level],
                              coefficients=["spearman"])
    units = "both" if shared.level == "sample" else "documents"
    cells = interval_table(shared.frame, cells, rng=rng, resamples=resamples, units=units)
    cells = cells.rename(columns={"metric": "method"})[["method", "ours", "ci_low", "ci_high", "reason"]]
    cells = cells.sort_values("ours", ascending=False, ignore_index=True, kind="stable")
    best, *others = cells["method"]
    # All scores of a document are swapped together: the claim is about other documents of these systems.
    tests = [permutation_test(shared.frame, best, other, "human", resamples=permutations, rng=rng,
                              level=shared.level, units="documents") for other in others]
    cells["p"] = holm([np.nan, *(test.p for test in tests)])
    return pd.concat([cells, left_out], ignore_index=True).assign(**fixed), shared.frame


def _said_of(table, absent):
    """Notes on an aspect's comparison: its level, and who is left out of it but for the metrics `absent`."""
    row = table.iloc[0]
    said = []
    if row["level"] == "dataset" and row["why"]:
        said.append(f"dataset level, because {row['why']}")
    elif row["why"]:
        said.append(row["why"])
    if row["level"] == "dataset" and row["n_skipped"]:
        said.append(f"{row['n_skipped']} rated outputs lack a score of some method and are left out for all")
    left_out = table[table["ours"].isna()]
    for _, row in left_out.iterrows():
        if row["method"] not in absent:  # why a metric cannot be had here is said once, for all aspects
            said.append(f"{row['method']} is not compared: {row['reason']}")
    return said


def _with_costs(table, costs):
    """Join costs; protocols that the rule stands in for are not compared and come last."""
    joined = table.merge(costs, on="method", how="left")
    rest = costs[~costs["method"].isin(table["method"])]
    if len(rest):
        fixed = {name: table[name].iloc[0] for name in ("level", "why", "n", "n_skipped", "documents")}
        reason = "the rule `surface` stood in for a model, to show what it would cost"
        empty = dict.fromkeys(("ours", "ci_low", "ci_high", "p"), np.nan)
        joined = pd.concat([joined, rest.assign(reason=reason, **empty, **fixed)], ignore_index=True)
    return joined.assign(judge=joined["judge"].fillna(""))


def _people(benchmark, aspect, compared, level):
    """Number of raters, and how well they agree, on the outputs that are compared."""
    ratings = benchmark.ratings[benchmark.ratings["aspect"] == aspect]
    raters = ratings["rater"].nunique()
    shared = ratings.merge(compared[_KEYS], on="item_id")
    if raters == 1 or shared["rater"].nunique() < 2:
        return {"raters": raters, "ceiling": np.nan, "ceiling_n": np.nan, "alpha": np.nan}
    found = ceiling(shared, level=level)
    counted = found.per_rater.loc[found.per_rater["value"].notna(), "n"]
    return {"raters": raters, "ceiling": found.value, "ceiling_n": counted.min() if len(counted) else np.nan,
            "alpha": alpha(shared).value}


# --- what is said ----------------------------------------------------------------------------------------

def _verdict(rows):
    compared = rows[rows["ours"].notna()]
    if compared.empty:
        return f"No method can be compared: {rows.iloc[0]['reason']}."
    best = compared.iloc[0]
    tied = compared[~(compared["p"] < LEVEL)]  # the best itself has no p
    listed = "; ".join(f"{row['method']} {row['ours']:.2f} {_interval(row)}" for _, row in tied.iterrows())
    told = len(compared) - len(tied)
    beyond = " The others agree less, beyond chance." if told else ""
    if len(compared) == 1:
        said = f"Only {listed} can be compared, so that nothing comes first."
    elif best["documents"] < needed(len(compared)):
        said = (f"These data cannot name one: to tell one of {len(compared)} methods from the others takes "
                f"{needed(len(compared))} documents or more, and {best['documents']} are compared. Highest "
                f"first: {listed}.")
    elif pd.isna(best["ci_low"]):
        said = f"These data cannot name one: the interval of the highest, {best['method']}, is undefined."
    elif best["ci_low"] <= 0:
        said = (f"These data cannot name one: even the highest, {best['method']} {shown(best)}, may be no "
                "agreement at all.")
        if len(tied) > 1:
            said += f" Not told apart from it: {', '.join(tied['method'].iloc[1:])}."
    elif len(tied) > 1:
        said = f"These data cannot name one. Not told apart: {listed}.{beyond}{_cheapest(tied)}"
    else:
        said = f"{best['method']} comes first, {shown(best)}; the others agree less, beyond chance."
    return said + _above_the_raters(compared)


def _cheapest(tied):
    """Which of several methods costs least; empty where nothing costs, or two models' prices are unknown."""
    asked = tied[tied["calls"].notna()]
    free = tied.loc[tied["calls"].isna(), "method"]
    if asked.empty:
        return ""
    if len(free):
        return f" Of these, {_listed(free)} cost{'s' * (len(free) == 1)} nothing."
    if asked["judge"].nunique() > 1:
        return ""
    cost = asked["cost"]
    if cost.isna().any():
        cost = asked["prompt_tokens"] + 4 * asked["completion_tokens"]  # as prices mostly are
    return f" Of these, {asked.loc[cost.idxmin(), 'method']} costs least."


def _above_the_raters(compared):
    """The caution that a ceiling needs where a method lies above it."""
    limit = compared["ceiling"].iloc[0]
    above = compared.loc[compared["ours"] > limit, "method"]
    if pd.isna(limit) or above.empty:
        return ""
    verb = "agrees" if len(above) == 1 else "agree"
    return (f" {_listed(above)} {verb} with the raters' mean more than a rater does with the mean of the "
            f"others ({limit:.2f}): that mean is of one rater fewer and so less exact, and this does not "
            "show that a method is better than a person.")


def _ceiling(row):
    """The raters among themselves, in a sentence."""
    if row["raters"] == 1:
        return "There is one rating an item, so that the raters' agreement is not known."
    if pd.isna(row["ceiling"]):
        return "The raters have too little in common for a correlation with each other."
    units = "documents" if row["level"] == "sample" else "outputs"
    return (f"A rater attains {row['ceiling']:.2f} against the mean of the others (dashed; {row['raters']} "
            f"raters, each on at least {row['ceiling_n']:.0f} of {row['n']} {units}; Krippendorff's alpha "
            f"{row['alpha']:.2f}).")


def _basis(row):
    """On what an aspect's numbers rest, in a sentence."""
    if row["level"] == "sample":
        text = f"Sample level, all methods on the same {row['n']} documents"
    else:
        text = f"Dataset level, all methods on the same {row['n']} outputs of {row['documents']} documents"
    return f"{text}: {row['why']}." if row["why"] else f"{text}."


def _interval(row):
    return "without an interval" if pd.isna(row["ci_low"]) else f"[{row['ci_low']:.2f}, {row['ci_high']:.2f}]"


def _listed(given):
    given = list(given)
    return given[0] if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]}"


def _row(row, low):
    """A method's line, with its interval as a strip from `low` to 1."""
    def place(value):
        return f"{100 * (value - low) / (1 - low):.1f}"

    marks = {"nil": f"M{place(0)} 0V10"}
    if not pd.isna(row["ceiling"]):
        marks["top"] = f"M{place(row['ceiling'])} 0V10"
    if not pd.isna(row["ci_low"]):
        marks[""] = f"M{place(row['ci_low'])} 5H{place(row['ci_high'])}"
    if not pd.isna(row["ours"]):
        marks["dot"] = f"M{place(row['ours'])} 1V9"
    strip = "".join(f'<path class="{kind}" d="{drawn}"/>' for kind, drawn in marks.items())
    p = "" if pd.isna(row["p"]) else f"{row['p']:.3f}"
    label = escape(shown(row))
    return (f'<tr><th>{escape(row["method"])}<td data-label="correlation">{label}<td><svg role="img" '
            f'viewBox="0 0 100 10" preserveAspectRatio="none" aria-label="{label}">{strip}</svg>'
            f'<td data-label="p against the best">{p}<td data-label="cost">{spent(row)}')
