"""Which way of judging agrees best with your own raters, and what it costs.

The papers' protocols, the rule `surface` and lexical metrics: intervals, paired tests, the raters' ceiling.
"""

from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.data.lexical import lexical_baselines
from nlgjudge.judging import surface
from nlgjudge.judging.live import Live, _tokens
from nlgjudge.judging.prompts import Prompt, names, prompt
from nlgjudge.judging.run import get_judge, judge_items
from nlgjudge.judging.scoring import item_scores
from nlgjudge.judging.tasks import Tasks
from nlgjudge.metaeval.agreement import alpha, ceiling
from nlgjudge.metaeval.bootstrap import interval_table
from nlgjudge.metaeval.correlation import correlation_table
from nlgjudge.metaeval.testing import holm, permutation_test

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
TASKS = sorted({n.split("/")[-2] for n in names() if n.startswith(("geval/", "chatgpt/", "dhp/"))
                and not n.startswith("dhp/perturb") and n.count("/") > 1 and "_no_steps" not in n})
# What the rule is shown beside source and context: the reference, where there is one.
_RULE = Prompt("surface", "", "", False, "", (0, 1), "number", {"[text]": "reference"}, "[text]", {})
_KEYS = ["item_id", "doc_id", "system_id"]
_COSTS = ["calls", "prompt_tokens", "completion_tokens", "cost", "estimated"]


class Evaluation(NamedTuple):
    """Ways of judging against your raters.

    Attributes
    ----------
    table : pandas.DataFrame
        For each aspect a row per method, best first: `aspect, method, level, ours` (Spearman), `ci_low,
        ci_high` (95%), `n, n_skipped, reason`, `p` (against the best, after Holm; NaN for the best itself),
        `calls, prompt_tokens, completion_tokens, cost` (NaN without a price), `estimated` (whether tokens
        are, at four characters each and the longest replies), `unparsed` (replies), and `raters, ceiling,
        alpha` of the aspect, the last two NaN for a single rater.
    notes : list of str
    settings : dict
    """

    table: pd.DataFrame
    notes: list
    settings: dict


def protocols(benchmark, task=""):
    """Prompts that ask about a benchmark's aspects.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
    task : str
        One of `TASKS`; empty for dialogue where an item has a context, else summarization.

    Returns
    -------
    task : str
    asked : dict
        By aspect and protocol: prompt, replies an item, sampling parameters. Prompts that show a reference
        are left out unless all items have one, upstream's where they cannot be had.

    Raises
    ------
    ValueError
        For an unknown task.
    """
    task = task or ("dialogue" if benchmark.items["context"].str.strip().any() else "summarization")
    if task not in TASKS:
        raise ValueError(f"task {task!r}: expected one of {', '.join(TASKS)}")
    referenced, asked = benchmark.items["references"].map(len).all(), {}
    for aspect, label in [(a, p) for a in benchmark.aspects for p in PROTOCOLS]:
        name, *how = PROTOCOLS[label]
        try:
            found = prompt(name.format(task=task, aspect=aspect))
        except (KeyError, DataUnavailable):
            continue
        if (referenced or "reference" not in found.slots.values()) and (
                task == "dialogue" or not name.startswith("upstream:")) and found.aspect == aspect:
            asked[aspect, label] = (found, *how)
    return task, asked


def plan(benchmark, *, task="", judge=None, price=None):
    """Say what an evaluation with these arguments of `evaluate` takes.

    Returns
    -------
    pandas.DataFrame
        `aspect, method, calls, prompt_tokens, completion_tokens, cost, estimated`; replies that a live
        `judge` has in store are counted as they were.
    """
    rows = [(*key, *_cost(Tasks(benchmark.items, found, n=n, **settings), judge, price))
            for key, (found, n, settings) in protocols(benchmark, task)[1].items()]
    return pd.DataFrame(rows, columns=["aspect", "method", *_COSTS])


def limited(benchmark, documents=None):
    """Keep the first so many documents of a benchmark; all for None."""
    items = benchmark.items[benchmark.items["doc_id"].isin(benchmark.items["doc_id"].unique()[:documents])]
    return replace(benchmark, items=items, ratings=benchmark.ratings.merge(items[["item_id"]]))


def evaluate(benchmark, *, task="", judge="surface", price=None, resamples=1000, permutations=999, seed=0,
             **options):
    """Judge a benchmark's items in every way there is, and compare with its ratings.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
        As `nlgjudge.data.own_data.own_data` reads one.
    task : str
        As for `protocols`.
    judge : str or object
        As for `nlgjudge.judging.run.judge_items`.
    price : (float, float), optional
        Of a million prompt and a million completion tokens.
    resamples, permutations, seed : int
    **options : for `nlgjudge.judging.run.get_judge`

    Returns
    -------
    Evaluation
        At sample level where two or more documents have several outputs, else at dataset level.
    """
    items, (task, asked) = benchmark.items, protocols(benchmark, task)
    judge = get_judge(judge, items=items, **options) if isinstance(judge, str) else judge
    level = "sample" if (items.groupby("doc_id").size() > 1).sum() > 1 else "dataset"
    shared = {"level": level, "units": "both" if level == "sample" else "documents",
              "rng": np.random.default_rng(seed)}
    (lexical, notes), parts = _lexical(items), []
    rule = " (by the rule)" if judge.name == "surface" else ""
    for aspect in benchmark.aspects:
        own = {label + rule: how for (of, label), how in asked.items() if of == aspect}
        notes += [] if own else [f"{aspect}: no prompt of {task} asks about it, so no judge was asked"]
        scores, costs = _judged(items, own, judge, price)
        ruled = [surface.score(task) for task in Tasks(items, _RULE._replace(aspect=aspect))]
        columns = pd.DataFrame(scores | {"surface": pd.Series(ruled, items["item_id"])}).join(lexical)
        frame = items[_KEYS].assign(human=benchmark.human()[aspect].to_numpy()).join(columns, on="item_id")
        table = _compared(frame, [*columns], resamples, permutations, **shared).join(costs, on="method")
        parts.append(table.assign(aspect=aspect, **_people(benchmark, aspect, level)))
    return Evaluation(pd.concat(parts, ignore_index=True), notes, {
        "judge": judge.name, "task": task, "level": level, "price": price, "seed": seed,
        "resamples": resamples, "permutations": permutations,
        "prompts": {found.name: found.digest for found, *_ in asked.values()}})


def verdicts(evaluation):
    """Say for each aspect (a dict) what comes first, what is not told apart from it, and what costs least."""
    said = {}
    for aspect, rows in evaluation.table.groupby("aspect", sort=False):
        best, close = rows.iloc[0], rows[rows["p"] >= 0.05]
        tokens = (rows["prompt_tokens"] + 4 * rows["completion_tokens"]).fillna(0)  # as prices mostly are
        cheap = rows.loc[tokens[[rows.index[0], *close.index]].idxmin(), "method"]
        lead = ("; not told apart from it: " + ", ".join(close["method"]) if len(close) else
                "; the others agree less, beyond chance") + "."
        said[aspect] = f"No method has a correlation: {best['reason']}." if pd.isna(best["ours"]) else (
            f"{best['method']} comes first, {shown(best)}"
            + ", which may be no agreement at all" * bool(best["ci_low"] <= 0) + lead
            + f" Of these, {cheap} costs least." * bool(len(close) and best["ci_low"] > 0))
    return said


def shown(row):
    """A correlation with its interval, and on how many units it rests where some were left out."""
    text = "none" if pd.isna(row["ours"]) else "{ours:.2f} [{ci_low:.2f}, {ci_high:.2f}]".format(**row)
    return text + (f" on {row['n']} of {row['n'] + row['n_skipped']}" if row["n_skipped"] else "")


def spent(row):
    """What a method costs, as a row of `Evaluation.table` or `plan` has it."""
    if pd.isna(row["calls"]):
        return "no call"
    tokens = (row["prompt_tokens"] + row["completion_tokens"]) / 1000
    return (f"{row['calls']:.0f} calls, {tokens:.1f} k tokens"
            + ("" if pd.isna(row["cost"]) else f", price {row['cost']:.4f}")
            + (" at most" if row["estimated"] else "")
            + (f"; {row['unparsed']:.0f} replies without a rating" if row.get("unparsed") else ""))


def page(evaluation, path, *, title="Which judge agrees with your raters?", notes=()):
    """Write an `Evaluation` as one HTML page that loads nothing.

    Parameters
    ----------
    path : path-like
    title : str
    notes : list of str
        Said before the evaluation's own, as what `check_own_data` found.

    Returns
    -------
    pathlib.Path
    """
    table, said, parts = evaluation.table, verdicts(evaluation), []
    low = min(0, np.floor(10 * table[["ci_low", "ours"]].min(axis=None)) / 10)
    for aspect, rows in table.groupby("aspect", sort=False):
        people = "There is one rating an item." if rows["raters"].iloc[0] == 1 else (
            "A rater attains {ceiling:.2f} against the mean of the others (dashed; {raters} raters, "
            "Krippendorff's alpha {alpha:.2f}).")
        parts.append(
            f"<section><h2>{escape(aspect)}</h2><p><strong>{escape(said[aspect])}</strong> "
            f"{people.format(**rows.iloc[0])}</p><table><thead><tr><th>method<th>correlation, 95% interval"
            f"<th>{low:g} to 1<th>p against the best<th>cost<tbody>"
            f"{''.join(_row(row, low) for _, row in rows.iterrows())}</table></section>")
    told = [f"<li>{escape(note)}" for note in [*notes, *evaluation.notes]] or ["<li>none"]
    template = files("nlgjudge").joinpath("report/own_data.html").read_text(encoding="utf-8")
    Path(path).write_text(Template(template).substitute(
        {k: escape(str(v)) for k, v in evaluation.settings.items()}, title=escape(title),
        sections="".join(parts), notes="".join(told)), encoding="utf-8")
    return Path(path)


def _row(row, low):
    """A method's line, with its interval as a strip from `low` to 1."""
    value, top, first, last, nil = (f"{100 * (v - low) / (1 - low):.1f}" for v in (
        *row[["ours", "ceiling", "ci_low", "ci_high"]], 0))
    marks = {"nil": f"M{nil} 0V10", "top": f"M{top} 0V10", "": f"M{first} 5H{last}", "dot": f"M{value} 1V9"}
    strip = "".join(f'<path class="{kind}" d="{d}"/>' for kind, d in marks.items() if "nan" not in d)
    p = "" if pd.isna(row["p"]) else f"{row['p']:.3f}"
    return (f'<tr><th>{escape(row["method"])}<td data-label="correlation">{shown(row)}<td><svg role="img" '
            f'viewBox="0 0 100 10" preserveAspectRatio="none" aria-label="{shown(row)}">{strip}</svg>'
            f'<td data-label="p against the best">{p}<td data-label="cost">{spent(row)}')


def _people(benchmark, aspect, level):
    """Number of raters, and how well they agree."""
    ratings = benchmark.ratings[benchmark.ratings["aspect"] == aspect].merge(benchmark.items[_KEYS])
    if (raters := ratings["rater"].nunique()) == 1:
        return {"raters": 1, "ceiling": np.nan, "alpha": np.nan}
    return {"raters": raters, "ceiling": ceiling(ratings, level=level).value, "alpha": alpha(ratings).value}


def _compared(frame, methods, resamples, permutations, *, rng, **options):
    """Correlations with intervals, best first, and tests against the best."""
    cells = correlation_table(frame, methods, ["human"], levels=[options["level"]], coefficients=["spearman"])
    cells = interval_table(frame, cells, rng=rng, resamples=resamples, units=options["units"])
    cells = cells.rename(columns={"metric": "method"}).drop(columns=["dataset", "aspect", "coefficient"])
    cells = cells.sort_values("ours", ascending=False, ignore_index=True)
    best, *others = cells["method"]
    tests = [permutation_test(frame, best, other, "human", resamples=permutations, rng=rng, **options)
             for other in others]
    return cells.assign(p=holm([np.nan, *(test.p for test in tests)]))


def _judged(items, asked, judge, price):
    """Scores and costs of each protocol, for one aspect."""
    scores, costs = {}, []
    for label, (found, n, settings) in asked.items():
        replies = item_scores(judge_items(items, [found], judge, samples=n, sampling=settings))
        scores[label] = replies.set_index("item_id")["score"]
        costs.append((*_cost(Tasks(items, found, n=n, **settings), judge, price), replies["unparsed"].sum()))
    return scores, pd.DataFrame(costs, index=[*asked], columns=[*_COSTS, "unparsed"])


def _cost(tasks, judge, price):
    """Calls, tokens, price, and whether they are estimated: where no server has counted the tokens."""
    total, estimated = np.zeros(3), False
    for task in tasks:
        _, digest, n = judge.server.request(task) if isinstance(judge, Live) else ("", "", task.n)
        replies = [*judge.store.get(digest).values()][:n] if isinstance(judge, Live) else []
        counted = len(replies) == n and all(r["prompt_tokens"] is not None for r in replies)
        total += 1, *([sum(r[k] for r in replies) for k in _COSTS[1:3]] if counted else
                      [_tokens(task), n * task.settings["max_tokens"]])
        estimated |= not counted
    return *total, total[1:] @ np.array(price) / 1e6 if price else np.nan, estimated


def _lexical(items):
    """Lexical metrics of the items that have references; of all, against the source, where none has any."""
    given = items[items["references"].map(len) > 0]
    against = "" if len(given) else " (source)"
    sources = items.assign(references=items[["source"]].to_numpy().tolist())
    scores = lexical_baselines(given if len(given) else sources)
    columns = scores.set_index("item_id").filter(regex="-f$|bleu|meteor")
    return columns.rename(columns=lambda name: name.upper().removesuffix("-F") + against), [
        *scores.attrs["missing"].values()]
