"""Own data, answered: which of several judges and metrics agrees best with the raters, and how sure that is.

Graded ratings are correlated; pass or fail, and A or B, are compared as categories. All methods of an aspect are
compared on the same outputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.schema import Benchmark
from nlgjudge.judging.scoring import item_scores, reply_counts
from nlgjudge.ledger.comparison import with_interval
from nlgjudge.ledger.shown import Shown
from nlgjudge.metrics.lexical import lexical_baselines
from nlgjudge.stats.assisted import assisted_mean
from nlgjudge.stats.categories import category_agreement
from nlgjudge.stats.correlations import column_of, correlation_table
from nlgjudge.stats.intervals import interval_table
from nlgjudge.stats.judge_agreement import pair_agreement
from nlgjudge.stats.power_analysis import smallest_detectable
from nlgjudge.stats.rater_agreement import alpha, ceiling
from nlgjudge.stats.significance import paired_tests

CATEGORIES = {0.0, 0.5, 1.0}
LEXICAL = ("ROUGE", "BLEU", "METEOR")
LEVELS = (
    "Sample level is the mean correlation within documents. Dataset level, one correlation over all outputs, replaces "
    "it where fewer than half of the documents are ranked by people and every method. Values of different levels "
    "cannot be compared."
)


class AspectReport(NamedTuple):
    """What the data show on one aspect.

    Attributes
    ----------
    level
        ``sample``, ``dataset`` or ``categories``.
    table
        By method, the highest first: `value, low, high, n` and, of graded ratings, `p` and `p_systems` (corrected for
        the number of methods) against the highest; of categories, the measures of
        `nlgjudge.stats.categories.category_agreement`.
    answer
        The answer.
    paper
        The same for a paper, with what it rests on; empty where nothing can be compared.
    notes
        On the raters, on what could be detected, on methods that are left out.
    ceiling
        A rater's correlation with the others, in [-1, 1]; NaN with a single rater.
    confusion
        By method, numbers of items by people's category and the judge's; empty of graded ratings.
    """

    level: str
    table: pd.DataFrame
    answer: str
    paper: str = ""
    notes: list[str] = []
    ceiling: float = np.nan
    confusion: dict[str, pd.DataFrame] = {}


class Report(Shown):
    """Which method agrees best with the raters; displays itself.

    Attributes
    ----------
    scores : pandas.DataFrame
        As `Benchmark.with_scores` makes it: people's mean ratings, and all methods.
    aspects : dict of str to AspectReport
    """

    def __init__(self, benchmark, scores, methods, counts, permutations, seed):
        self.benchmark, self.scores, self.counts = benchmark, scores, counts
        self.aspects = {
            aspect: _aspect(benchmark, scores, methods, aspect, permutations, seed)
            for aspect in benchmark.aspects
        }

    @property
    def answer(self):
        """The answer."""
        first = {
            aspect: one.table.index[0]
            for aspect, one in self.aspects.items()
            if len(one.table) and one.answer.startswith(f"{one.table.index[0]} comes first")
        }
        graded = [aspect for aspect, one in self.aspects.items() if one.level != "categories"]
        others = [aspect for aspect in graded if aspect not in first]
        parts = [f"On {aspect}, {method} comes first." for aspect, method in first.items()]
        parts += [f"No single method comes first on {', '.join(others)}."] * bool(others)
        return " ".join(parts) or "How often methods agree with people:"

    def disagreements(self, method, aspect, *, most=10, texts=False):
        """List the outputs on which a method and people differ most.

        Parameters
        ----------
        method, aspect : str
        most : int
        texts : bool
            Whether to show the texts, which then are in the notebook's output.

        Returns
        -------
        pandas.DataFrame
            `item_id, people, method` and `apart`: of graded scores the difference of their ranks among the outputs, in
            [-1, 1], of categories the plain difference. Positive where the method is more generous.
        """
        columns = {aspect: "people", column_of(self.scores, method, aspect): "method"}
        both = self.scores[["item_id", *columns]].rename(columns=columns).dropna()
        graded = self.aspects[aspect].level != "categories"
        places = both[["people", "method"]].rank(pct=True) if graded else both
        both["apart"] = places["method"] - places["people"]
        both = both[both["apart"] != 0].sort_values(
            "apart", key=abs, ascending=False, kind="stable"
        )
        if texts:
            both = both.merge(self.benchmark.items[["item_id", "source", "hypothesis"]])
        return both.head(most).reset_index(drop=True)

    def figure(self):
        """Draw each method's agreement with its interval, a panel for each aspect; dashed is the ceiling.

        Returns
        -------
        matplotlib.figure.Figure
            None where no method can be compared.
        """
        from nlgjudge.ledger import figures  # a report without a figure draws nothing

        panels = {aspect: f"{aspect} ({one.level})" for aspect, one in self.aspects.items()}
        drawn = [
            one.table.rename_axis("label").reset_index().assign(aspect=panels[aspect])
            for aspect, one in self.aspects.items()
            if len(one.table)
        ]
        if not drawn:
            return None
        drawn = pd.concat(drawn).rename(columns={"low": "ci_low", "high": "ci_high"})
        return figures.intervals(
            drawn.assign(group="agreement"),
            column="aspect",
            lines={
                panels[aspect]: one.ceiling
                for aspect, one in self.aspects.items()
                if one.ceiling > -1
            },
            title=f"Agreement with the raters of {self.benchmark.name} (dashed: a rater with the others)",
            notice=self.benchmark.notice,
        )

    @property
    def summary(self):
        """The answer, and a line for each aspect."""
        lines = [f"- {aspect} ({one.level}): {one.answer}" for aspect, one in self.aspects.items()]
        levels = [LEVELS] if any(one.level != "categories" for one in self.aspects.values()) else []
        notice = f" ({self.benchmark.notice})" if self.benchmark.notice else ""
        return "\n".join([f"Answer{notice}: {self.answer}", *lines, *levels])

    def _parts(self):
        yield _strong(self.summary)
        if others := [*self.counts, *self.benchmark.notes]:
            yield _strong("\n".join(others))
        for aspect, one in self.aspects.items():
            yield _strong("\n".join([aspect, *one.notes]))
            if len(one.table):
                yield _shown(one)
            for name, table in one.confusion.items():
                yield table.rename_axis(columns=f"{name}, {aspect}")
        if named := next((one.paper for one in self.aspects.values() if one.paper), ""):
            yield f"For a paper: {named}", ""


def _strong(text):
    first, line, rest = text.partition("\n")
    return first, line + rest


def report(
    benchmark: Benchmark,
    scores: pd.DataFrame | dict[str, pd.DataFrame] | None = None,
    *,
    lexical: bool = True,
    permutations: int = 999,
    seed: int = 0,
) -> Report:
    """Report which of several judges and metrics agrees best with people.

    Parameters
    ----------
    benchmark
        Own data (`nlgjudge.data.own_data`), whose columns ``judge:NAME`` are methods, or any other benchmark.
    scores
        Of further methods: replies by name, as from `nlgjudge.judge_items`, or a frame as `nlgjudge.item_scores` makes
        it of them, with `item_id` and columns ``NAME`` or ``NAME:ASPECT``.
    lexical
        Whether to add ROUGE, BLEU and METEOR to graded ratings, against the references or, without any, the source.
    permutations, seed
        Of the paired tests.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> stories = nj.load("openmeva", "sample")
    >>> words = stories.items[["item_id"]].assign(words=stories.items["hypothesis"].str.split().map(len))
    >>> found = report(stories, words, lexical=False)
    >>> found.aspects["overall"].table[["value", "n"]].round(2).to_dict("index")
    {'words': {'value': 0.6, 'n': 12}}
    """
    counts = []
    if isinstance(scores, dict):
        counts = [
            f"{name}: {reply_counts(part)}" for name, part in scores.items() if "reason" in part
        ]
        scores = item_scores(scores) if scores else None
    frame = benchmark.human()
    tables = [scores, benchmark.released(), _lexical(benchmark) if lexical else None]
    for table in tables:
        if table is not None and len(table):
            frame = frame.merge(table, on="item_id", how="left", validate="1:1")
    columns = frame.columns.drop(["item_id", "doc_id", "system_id", *benchmark.aspects])
    endings = tuple(f":{aspect}" for aspect in benchmark.aspects)
    methods = dict.fromkeys(
        name.rpartition(":")[0] if name.endswith(endings) else name for name in columns
    )
    return Report(benchmark, frame, list(methods), counts, permutations, seed)


def _lexical(benchmark):
    """ROUGE's F values, BLEU and METEOR by item."""
    items = benchmark.items[benchmark.items["references"].map(len) > 0]
    ending = ""
    if items.empty:
        items = benchmark.items.assign(references=[[text] for text in benchmark.items["source"]])
        ending = " (source)"
    found = lexical_baselines(items).set_index("item_id").filter(regex="-f$|bleu|meteor")
    found = found.dropna(axis=1, how="all")
    return found.rename(columns=lambda name: name.upper().removesuffix("-F") + ending).reset_index()


def _aspect(benchmark, scores, methods, aspect, permutations, seed):
    """The report on one aspect."""
    rated = scores.rename(columns={aspect: "human"})[["item_id", "doc_id", "system_id", "human"]]
    for method in methods:
        column = column_of(scores, method, aspect)
        if column in scores:
            rated[method] = scores[column]
    ratings = benchmark.ratings.query("aspect == @aspect").dropna(subset="score")
    if set(ratings["score"]) <= CATEGORIES:
        known = [method for method in methods if method in rated]
        return _categories(rated, known, "other" in benchmark.items)
    every = rated
    rated = rated.dropna(subset="human")
    known, left_out = _comparable(rated, [name for name in methods if name in rated])
    level, outputs, why = _level(rated, known)
    height, agreement = _ceiling(ratings, outputs, level)
    notes = [f"{method} is not compared: {reason}." for method, reason in left_out.items()]
    if not known or outputs["human"].nunique() < 2:
        missing = "Scores are missing, or the mean ratings of all outputs are equal."
        notes = [missing, agreement, *notes]
        return AspectReport(level, pd.DataFrame(), "No method can be compared.", notes=notes)
    table = _correlated(outputs, known, level, permutations, seed)
    documents, systems = outputs["doc_id"].nunique(), outputs["system_id"].nunique()
    sentence = _verdict(table, documents, permutations)
    above = list(table.index[table["value"] > height])
    notes = [
        _detectable(table, outputs, level, seed),
        agreement + (f" Above this ceiling: {', '.join(above)}." if above else ""),
        f"{level.title()} level, {len(outputs)} outputs of {documents} documents: {why}.",
        *(
            f"Interval of {method}: {notice}."
            for method, notice in table["notice"].items()
            if notice
        ),
        *notes,
        *_few(every, table.index[0]),
    ]
    paper = (
        f"{sentence} Agreement is Spearman's correlation with the mean human rating at {level} level, over "
        f"{documents} documents of {systems} systems; 95% intervals leave out each document in turn. Differences are "
        f"tested by swapping documents (Holm's correction over {len(table) - 1} tests)."
    )
    return AspectReport(level, table, sentence, paper, notes, height)


def _ranked(outputs, methods):
    """For each document with three outputs or more: whether people and each method rank them."""
    several = outputs[outputs.groupby("doc_id")["item_id"].transform("size") >= 3]
    return several.groupby("doc_id")[["human", *methods]].nunique() > 1


def _comparable(rated, methods):
    """Methods that can be compared on the same outputs, and why the others are left out."""
    kept = list(methods)
    left_out = {}
    while kept and len(rated.dropna(subset=kept)) < max(1, len(rated) / 2):
        fewest = rated[kept].count().idxmin()
        left_out[fewest] = f"scores for {rated[fewest].count()} of {len(rated)} rated outputs"
        kept.remove(fewest)
    outputs = rated.dropna(subset=kept)
    ties = 1 - _ranked(outputs, kept).mean()
    coarse = [method for method in kept if method.startswith(LEXICAL) and ties[method] > 0.5]
    if len(coarse) < len(kept):
        left_out |= dict.fromkeys(coarse, "the same score for all outputs of most documents")
    equal = [method for method in kept if outputs[method].nunique() == 1]
    left_out |= dict.fromkeys(equal, "the same score for every output")
    return [method for method in kept if method not in left_out], left_out


def _level(rated, methods):
    """The level that the data allow, the outputs that it rests on, and why."""
    outputs = rated.dropna(subset=methods)
    documents = rated["doc_id"].nunique()
    ranks = _ranked(outputs, methods)
    usable = ranks.index[ranks.all(axis=1)]
    why = [
        f"{len(usable)} of {documents} documents can be ranked",
        f"{documents - len(ranks)} have fewer than three shared outputs",
    ]
    tied = (~ranks).sum().rename({"human": "the mean rating"})
    why += [f"{method} ties all outputs of {n}" for method, n in tied.items() if n]
    if 2 * len(usable) >= documents:
        return "sample", outputs[outputs["doc_id"].isin(usable)], "; ".join(why)
    return "dataset", outputs, "; ".join(why)


def _correlated(outputs, methods, level, permutations, seed):
    """Each method's correlation with the mean rating, highest first, and its tests against the highest."""
    cells = correlation_table(
        outputs, methods, ["human"], levels=[level], coefficients=["spearman"]
    )
    cells = interval_table(outputs, cells).sort_values("ours", ascending=False, kind="stable")
    best, *others = cells["metric"]
    how = {"level": level, "units": "documents", "permutations": permutations, "seed": seed}
    tests = paired_tests(outputs, [(best, other) for other in others], ["human"], **how)
    names = {"ours": "value"} | {f"ci_{name}": name for name in ("low", "high", "reason", "notice")}
    cells = cells.drop(columns="reason").rename(columns=names).set_index("metric").rename_axis(None)
    table = cells[["value", "low", "high", "n", "reason", "notice"]]
    return table.assign(
        p=[np.nan, *tests["holm_items"]], p_systems=[np.nan, *tests["holm_systems"]]
    )


def _verdict(table, documents, permutations):
    """Name a method as the best where the data can show it."""
    spans = _spans(table)
    best, others = table.index[0], len(table) - 1
    tied = "; ".join(f"{method} {spans[method]}" for method in table.index[~(table["p"] < 0.05)])
    smallest = others * max(2 / 2**documents, 1 / (permutations + 1))
    cannot = "These data cannot name a best method"
    if not others:
        return f"Only {tied} can be compared, so nothing comes first."
    if smallest >= 0.05:
        return (
            f"{cannot}: {documents} documents and {permutations} permutations allow no corrected p-value below "
            f"{smallest:.2f}, and {others + 1} methods take {int(np.log2(40 * others)) + 1} documents or more and "
            f"{20 * others} permutations. Highest first: {tied}."
        )
    if table["low"].iloc[0] <= 0:
        return f"{cannot}: even the highest, {best} {spans[best]}, may not agree at all."
    reason = table["reason"].iloc[0]
    if reason and table["value"].iloc[0] < 1 - 1e-9:  # a correlation of 1 needs no interval
        return f"{cannot}: the highest, {best} {spans[best]}, has no interval ({reason})."
    if not (table["p"][1:] < 0.05).all():
        return f"{cannot}. Not significantly different: {tied}."
    holds_for_others = (table["p_systems"][1:] < 0.05).all()
    where = "these systems and on others" if holds_for_others else "these systems"
    return f"{best} comes first, {spans[best]}; all others agree significantly less, on {where}."


def _spans(table):
    """Values with their intervals, as text."""
    return with_interval(table.rename(columns={"low": "ci_low", "high": "ci_high"}), "value")


def _ceiling(ratings, outputs, level):
    """How well the raters agree: the ceiling, and a sentence."""
    ratings = ratings.merge(outputs[["item_id", "doc_id", "system_id"]])
    if ratings["rater"].nunique() < 2:
        return np.nan, "There is one rating per output, so the raters' agreement is unknown."
    found = ceiling(ratings, level=level)
    krippendorff = alpha(ratings).value
    text = f"Krippendorff's α of the {ratings['rater'].nunique()} raters is {krippendorff:.2f}."
    text += " The raters contradict each other." * (krippendorff < 0)
    fewest = found.per_rater.dropna(subset="value")["n"].min()
    unit = "documents" if level == "sample" else "outputs"
    text += f" A rater reaches {found.value:.2f} with the others, on at least {fewest} {unit}."
    return found.value, text


def _detectable(table, outputs, level, seed):
    """The smallest difference that methods which share errors like the two highest would show, as a sentence."""
    pair = [*table.index, None][:2]
    size = {"documents": outputs["doc_id"].nunique(), "systems": outputs["system_id"].nunique()}
    try:
        effect, reason = smallest_detectable(
            outputs, *pair, "human", level=level, seed=seed, **size
        )
    except ValueError as error:
        reason = str(error)
    if reason:
        return f"The smallest detectable difference is undefined: {reason}."
    text = (
        f"A difference of {effect:.2f} or more would be detected in four of five studies like this"
    )
    if pair[1]:
        text += f", between methods whose errors correlate like those of {' and '.join(pair)}"
    return f"{text}."


def _few(every, method, what="Mean rating"):
    """Of half-labelled data: each system's mean with the help of a method, in a line."""
    if every["human"].notna().all():
        return []
    found = assisted_mean(every, method, "human")
    texts = _spans(found.astype({"value": float})) + found["reason"].replace(
        r"^(.)", r" (\1", regex=True
    )
    means = [f"{name} {text}" + ")" * text.count("(") for name, text in texts.items()]
    few, documents = found["labelled"].max(), found["documents"].max()
    return [
        f"{what} of all {documents} documents, from labels of {few}, if drawn at random, and {method}'s scores: "
        f"{'; '.join(means)}."
    ]


def _categories(rated, methods, in_pairs):
    """The report on pass or fail, or on A, B and a tie; of several raters the majority counts."""
    every = rated.assign(human=(1 + np.sign(rated["human"] - 0.5)) / 2)
    rated = every.dropna(subset="human")
    methods = [method for method in methods if not method.startswith(LEXICAL)]
    known = [method for method in methods if set(rated[method].dropna()) <= CATEGORIES]
    graded = [method for method in methods if method not in known]
    notes = [f"{method} is not compared: its scores are graded." for method in graded]
    if in_pairs:
        notes += [_in_both_orders(rated, method) for method in known]
    if not known:
        return AspectReport("categories", pd.DataFrame(), "No method can be compared.", notes=notes)
    agreements = {method: category_agreement(rated, method, "human") for method in known}
    rates = pd.concat({method: one.rates for method, one in agreements.items()})
    measures = dict.fromkeys(rates.index.get_level_values(1))
    table = rates.xs("accuracy", level=1)[["value", "low", "high", "n"]]
    table = table.join(_spans(rates).unstack()[list(measures)])
    table = table.sort_values("value", ascending=False, kind="stable")
    best = table.iloc[0]
    listed = ", ".join(f"{name} {best[name]}" for name in measures)
    sentence = (
        f"{best.name} agrees with people on {best['n']:,.0f} outputs by {listed}; people rate "
        f"{(rated['human'] == 1).mean():.0%} of them 1."
    )
    if not in_pairs:
        notes += _few(every, best.name, "Pass rate")
    paper = f"{sentence} 95% intervals leave out each document; a share of 0 or 1 has Wilson's."
    confusion = {method: one.confusion for method, one in agreements.items()}
    return AspectReport("categories", table, sentence, paper, notes, np.nan, confusion)


def _in_both_orders(rated, method):
    """How a judge chooses between two texts that it was shown in both orders, as a sentence."""
    shares = pair_agreement(rated, [method], ["human"])
    if shares["value"].isna().any():
        return f"{method} was not asked in both orders."
    spans = dict(zip(shares["measure"], _spans(shares)))
    return (
        f"{method}, asked in both orders: accuracy {spans['accuracy']}, the orders agree in {spans['agreement']}, the "
        f"text shown first is chosen in {spans['first']}, unread are {spans['unread']}."
    )


def _shown(one):
    """An aspect's table as text."""
    if one.level == "categories":
        return one.table.iloc[:, 3:]
    p = one.table[["p", "p_systems"]].map(lambda p: "–" if np.isnan(p) else f"{p:.3g}")
    shown = pd.DataFrame({"Spearman": _spans(one.table), "n": one.table["n"].astype(int)})
    return shown.assign(**{"p, documents": p["p"], "p, systems": p["p_systems"]})
