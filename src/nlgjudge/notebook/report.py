"""Own data, answered: which of several judges and metrics agrees best with the raters, and how sure that is.

What an aspect's values are says its `Scale`: numbers are correlated, categories are compared as such. All methods of
an aspect are compared on the same outputs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.own_cells import fitting
from nlgjudge.data.problems import Problems
from nlgjudge.data.schema import Benchmark
from nlgjudge.judging.scoring import item_scores, reply_counts
from nlgjudge.ledger.comparison import with_interval
from nlgjudge.metrics.lexical import lexical_baselines
from nlgjudge.notebook.shown import Shown
from nlgjudge.stats.assisted import assisted_mean
from nlgjudge.stats.categories import (
    QUADRATIC,
    category_agreement,
    ranking,
    swapped,
    swapped_kappas,
)
from nlgjudge.stats.correlations import column_of, correlation_table, rounded
from nlgjudge.stats.intervals import interval_table
from nlgjudge.stats.judge_agreement import pair_agreement, pair_bias
from nlgjudge.stats.power_analysis import smallest_detectable
from nlgjudge.stats.rater_agreement import MINIMUM, alpha, alternative_annotator_test, ceiling
from nlgjudge.stats.significance import holm, paired_tests

LEVELS = (
    "Sample level is the mean correlation within documents. Dataset level, one correlation over all outputs, replaces "
    "it where fewer than half of the documents are ranked by people and every method. Values of different levels "
    "cannot be compared."
)

# What a judge may be worse by, for its lower cost, by who the raters are (Calderon et al. 2025, section 5).
MARGINS = {"a crowd": 0.1, "skilled": 0.15, "experts": 0.2}


class AspectReport(NamedTuple):
    """What the data show on one aspect.

    Attributes
    ----------
    level
        ``sample``, ``dataset`` or ``categories``.
    table
        By method, the highest first: `value` (Spearman's correlation, or accuracy), `low, high, n, reason, notice`,
        and `p` and `p_systems` (corrected for the number of methods) against the highest; of categories, also the
        measures of `nlgjudge.stats.categories.category_agreement`, as text.
    answer
        The answer.
    paper
        The same for a paper, with what it rests on; empty where nothing can be compared.
    notes
        On the raters, on what could be detected, on methods that are left out.
    ceiling
        A rater's agreement with the others; NaN with a single rater.
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

    def __init__(self, benchmark, scores, methods, notes, permutations, seed):
        self.benchmark, self.scores, self.notes = benchmark, scores, notes
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
        others = [aspect for aspect in self.aspects if aspect not in first]
        parts = [f"On {aspect}, {method} comes first." for aspect, method in first.items()]
        parts += [f"No single method comes first on {', '.join(others)}."] * bool(others)
        return " ".join(parts)

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
            [-1, 1], of ordered categories the plain difference, positive where the method is more generous; 1 of
            others.
        """
        columns = {aspect: "people", column_of(self.scores, method, aspect): "method"}
        both = self.scores[["item_id", *columns]].rename(columns=columns).dropna()
        scale = self.benchmark.scale(aspect)
        places = both if scale.names else both[["people", "method"]].rank(pct=True)
        both["apart"] = places["method"] - places["people"]
        if scale.kind == "unordered":
            both["apart"] = both["apart"].abs().clip(upper=1)
        if scale.low_is_good:
            both["apart"] *= -1
        both = both[both["apart"] != 0]
        both = both.sort_values("apart", key=abs, ascending=False, kind="stable")
        if scale.names:
            both[["people", "method"]] = both[["people", "method"]].map(scale.name)
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
        from nlgjudge.notebook import figures  # a report without a figure draws nothing

        panels = {f"{aspect} ({one.level})": one for aspect, one in self.aspects.items()}
        tables = {name: one.table for name, one in panels.items() if len(one.table)}
        ceilings = {name: one.ceiling for name, one in panels.items() if one.ceiling > -1}
        if not tables:
            return None
        drawn = pd.concat(tables, names=["aspect", "label"]).reset_index()
        drawn = drawn.rename(columns={"low": "ci_low", "high": "ci_high"})
        return figures.intervals(
            drawn.assign(group="agreement"),
            column="aspect",
            lines=ceilings,
            title=self.answer + " Dashed: a rater with the others." * bool(ceilings),
            notice=self.benchmark.notice,
            one_scale=len({one.level for one in self.aspects.values()}) == 1,
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
        if others := [*self.notes, *self.benchmark.notes]:
            yield _strong("\n".join(others))
        for aspect, one in self.aspects.items():
            yield aspect, ""
            if len(one.table):
                yield _shown(one)
            yield "", "\n".join([*one.notes, *[f"For a paper: {one.paper}"] * bool(one.paper)])
            for name, table in one.confusion.items():
                yield table.rename_axis(columns=f"{name}, {aspect}")


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
    notes, problems = [], Problems("scores")
    scales = {aspect: benchmark.scale(aspect) for aspect in benchmark.aspects}
    if isinstance(scores, dict):
        counted = {name: part for name, part in scores.items() if "reason" in part}
        notes = [f"{name}: {reply_counts(part)}" for name, part in counted.items()]
        scores = item_scores(scores, scales=scales) if scores else None
    elif scores is not None:
        scores = _in_numbers(scores, scales, problems)
    benchmark = replace(benchmark, scales=scales)
    frame = benchmark.human()
    graded = not all(scale.names for scale in scales.values())
    overlap = _lexical(benchmark) if lexical and graded else frame[["item_id"]]
    for table in (scores, benchmark.released(), overlap):
        if table is None or not len(table):
            continue
        if taken := ({*frame, "human"} & {*table}) - {"item_id"}:
            listed = ", ".join(taken)
            raise ValueError(f"{listed}: another method or people's ratings have this name")
        frame = frame.merge(table, on="item_id", how="left", validate="1:1")
    columns = frame.columns.drop(["item_id", "doc_id", "system_id", *benchmark.aspects])
    endings = tuple(f":{aspect}" for aspect in benchmark.aspects)
    unknown = [name for name in columns if ":" in name and not name.endswith(endings)]
    notes += problems.notes
    notes += [f"{name} is compared on every aspect: none is called as its end." for name in unknown]
    names = [name.rpartition(":")[0] if name.endswith(endings) else name for name in columns]
    methods = {name: column in overlap for name, column in zip(names, columns)}
    return Report(benchmark, frame, methods, notes, permutations, seed)


def _in_numbers(table, scales, problems):
    """A table of scores whose words and texts are read on the scale of each aspect."""
    for column in table.columns.drop("item_id"):
        name, _, aspect = column.rpartition(":")
        name, aspect = (name, aspect) if aspect in scales else (column, "")
        dtype = table[column].dtype
        if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
            if any(scales[one].is_coded for one in ([aspect] if aspect else scales)):
                problems.problem("expected labels as words: its numbers may be codes", column)
            continue
        cells = table[column].astype(object).where(table[column].notna(), "").map(str)
        fits = fitting(column, cells, scales, aspect, problems)
        named = {f"{name}:{on}".removesuffix(":"): scores for on, scores in fits.items()}
        table = table.drop(columns=column).assign(**named)
    problems.check()
    return table


def _lexical(benchmark):
    """ROUGE's F values, BLEU and METEOR by item."""
    items = benchmark.items[benchmark.items["references"].map(len) > 0]
    ending = ""
    if items.empty:
        items = benchmark.items.assign(references=[[text] for text in benchmark.items["source"]])
        ending = " (source)"
    if not any(items["hypothesis"]):
        return items[["item_id"]]
    found = lexical_baselines(items).set_index("item_id").filter(regex="-f$|bleu|meteor")
    found = found.dropna(axis=1, how="all")
    return found.rename(columns=lambda name: name.upper().removesuffix("-F") + ending).reset_index()


def _aspect(benchmark, scores, methods, aspect, permutations, seed):
    """The report on one aspect."""
    scale, items = benchmark.scale(aspect), benchmark.items
    every = scores.rename(columns={aspect: "human"})[["item_id", "doc_id", "system_id", "human"]]
    if not scale.names:
        every["human"] = rounded(every["human"].to_numpy())
    for method, is_lexical in methods.items():
        column = column_of(scores, method, aspect)
        if column in scores and not (scale.names and is_lexical):
            sign = -1 if is_lexical and scale.low_is_good else 1
            every[method] = sign * scores[column]
    ratings = benchmark.ratings.query("aspect == @aspect").dropna(subset="score")
    in_pairs = "other" in items
    if in_pairs:
        every, ratings = _asked(every, ratings)
    rated = every.dropna(subset="human")
    present = {name: is_lexical for name, is_lexical in methods.items() if name in rated}
    known, left_out = _comparable(rated, present, scale)
    level, outputs, why = _level(rated, known, scale)
    # Raters without a majority disagree: their items count for the raters, and not for the methods.
    judged = every.dropna(subset=[] if in_pairs else known) if scale.names else outputs
    height, raters = _ceiling(ratings, judged, level, scale)
    has_ratings = every["item_id"].isin(ratings["item_id"])
    split = judged["human"].isna() & has_ratings
    if split.any():
        raters += f" They have no majority on {split.sum()} outputs, which are left out."
    left = [f"{method} is not compared: {reason}." for method, reason in left_out.items()]
    if in_pairs:
        left += _of_pairs(every.merge(items[["item_id", "hypothesis", "other"]]), known)
    if not known or outputs["human"].nunique() < (1 if scale.names else 2):
        missing = "Scores are missing, or the mean ratings of all outputs are equal."
        notes = [missing, raters, *left]
        return AspectReport(level, pd.DataFrame(), "No method can be compared.", notes=notes)
    documents = outputs["doc_id"].nunique()
    what = "pairs" if in_pairs else f"documents of {outputs['system_id'].nunique()} systems"
    compare = _counted if scale.names else _correlated
    found = compare(outputs, known, scale, level, permutations, seed)
    table = found.table
    answer = _verdict(found, documents, permutations) + found.described
    basis = (
        f"Agreement is {found.measure}, over {documents} {what}; 95% intervals leave out each document in turn"
        f"{found.ends}. Differences are tested by swapping documents (Holm's correction over "
        f"{len(table) - 1} tests)."
    )
    above = list(table.index[table["value"] > height])
    notes = [
        raters + (f" Above this ceiling: {', '.join(above)}." if above else ""),
        *left,
        f"{level.title()} level, {len(outputs)} outputs of {documents} documents: {why}.",
        *(f"Interval of {method}: {said}." for method, said in table["notice"].items() if said),
        *found.notes,
        *_replacing(ratings, every, [name for name in known if not methods[name]], scale),
    ]
    if len(scale.names) in (0, 2) and not in_pairs:
        labelled, best = every[every["human"].notna() | ~has_ratings], table.index[0]
        what = "Mean rating"
        if scale.names:
            what = f"Share of {scale.names[1]}"
            both = labelled[["human", best]]
            labelled = labelled.assign(**both.eq(scale.values[1]).where(both.notna()).astype(float))
        notes += _few(labelled, best, what)
    return AspectReport(level, table, answer, f"{answer} {basis}", notes, height, found.confusion)


def _replacing(ratings, scores, judges, scale):
    """Whether each judge may replace a rater, by the alternative annotator test, or why that cannot be said."""
    able = (ratings["rater"].value_counts() >= MINIMUM).sum()
    if not judges:
        return
    if able < 3:
        needs = f"three raters with {MINIMUM} outputs each; these data have {able}"
        yield f"To say whether a judge may replace a rater takes {needs}."
        return
    similarity = "accuracy" if scale.names else "rmse"
    for name in judges:
        judge = scores[["item_id", name]].rename(columns={name: "score"})
        if not (scale.names or judge["score"].dropna().between(*_ends(ratings, scale)).all()):
            yield f"{name} is not tested against single raters: its scores are on another scale."
            continue
        tests = {
            who: alternative_annotator_test(ratings, judge, epsilon=margin, similarity=similarity)
            for who, margin in MARGINS.items()
        }
        passed = " or ".join(who for who, test in tests.items() if test.winning_rate >= 0.5)
        may = (
            f"may replace a rater if the raters are {passed}" if passed else "may replace no rater"
        )
        first = tests["a crowd"]
        raters = first.per_annotator["p"].notna().sum()
        won = ", ".join(
            f"{test.winning_rate * raters:.0f} ({who}, {MARGINS[who]:g})"
            for who, test in tests.items()
        )
        yield (
            f"{name} {may}: it is at least as close to the others as the rater left out in {first.advantage:.0%} of "
            f"the cases, and wins against {won} of {raters} raters, on {first.n} outputs."
        )
    rare = "labels: read the recall of each" if scale.names else "grades: read the correlation"
    yield (
        "The alternative annotator test asks for half of the raters, with a margin by who they are. It hides rare "
        f"{rare} beside it."
    )


def _ends(ratings, scale):
    """The lowest and the highest grade that people can give, or gave."""
    values = scale.values or ratings["score"]
    return min(values), max(values)


class _Compared(NamedTuple):
    """Methods on the same outputs: `smallest` is the lowest p-value that is possible, `first` must be above 0."""

    table: pd.DataFrame
    measure: str  # in words
    smallest: float
    first: pd.Series  # correlation or kappa of the highest
    notes: list[str] = []
    described: str = ""
    ends: str = ""
    confusion: dict[str, pd.DataFrame] = {}


def _asked(rated, ratings):
    """Pairs in the orders in which anybody was asked, and people's preferences once for each pair."""
    order = rated["item_id"].str[-2:]
    scored = rated.drop(columns=["item_id", "doc_id", "system_id", "human"]).notna().any(axis=1)
    rated = rated[scored.groupby(order).transform("any")] if scored.any() else rated
    order = order[rated.index]
    once = rated.loc[order == order.min(), "item_id"]
    return rated, ratings[ratings["item_id"].isin(once)]


def _ranked(outputs, methods):
    """For each document with three outputs or more: whether people and each method rank them."""
    several = outputs[outputs.groupby("doc_id")["item_id"].transform("size") >= 3]
    return several.groupby("doc_id")[["human", *methods]].nunique() > 1


def _comparable(rated, methods, scale):
    """Methods that can be compared on the same outputs, and why the others are left out."""
    kept = [method for method in methods if scale.holds(rated[method])]
    why = "its scores are numbers, and people give labels"
    left_out = {method: why for method in methods if method not in kept}
    while kept and len(rated.dropna(subset=kept)) < max(1, len(rated) / 2):
        fewest = rated[kept].count().idxmin()
        left_out[fewest] = f"scores for {rated[fewest].count()} of {len(rated)} rated outputs"
        kept.remove(fewest)
    if scale.names:
        return kept, left_out
    outputs = rated.dropna(subset=kept)
    ties = 1 - _ranked(outputs, kept).mean()
    coarse = [method for method in kept if methods[method] and ties[method] > 0.5]
    if len(coarse) < len(kept):
        left_out |= dict.fromkeys(coarse, "the same score for all outputs of most documents")
    equal = [method for method in kept if outputs[method].nunique() == 1]
    left_out |= dict.fromkeys(equal, "the same score for every output")
    return [method for method in kept if method not in left_out], left_out


def _level(rated, methods, scale):
    """The level that the data allow, the outputs that it rests on, and why."""
    outputs = rated.dropna(subset=methods)
    documents = rated["doc_id"].nunique()
    if scale.names:
        lacking = rated[methods].isna().sum()
        why = [f"{len(rated)} outputs have a category of people's"]
        why += [f"{method} has none for {n} of them" for method, n in lacking.items() if n]
        return "categories", outputs, "; ".join(why)
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


def _correlated(outputs, methods, scale, level, permutations, seed):
    """Each method's correlation with the mean rating, highest first, and its tests against the highest."""
    how = {"levels": [level], "coefficients": ["spearman"]}
    cells = interval_table(outputs, correlation_table(outputs, methods, ["human"], **how))
    cells = cells.sort_values("ours", ascending=False, kind="stable")
    best, *others = cells["metric"]
    how = {"level": level, "units": "documents", "permutations": permutations, "seed": seed}
    tests = paired_tests(outputs, [(best, other) for other in others], ["human"], **how)
    table = cells[["ours", "ci_low", "ci_high", "n", "ci_reason", "ci_notice"]]
    table.columns = ["value", "low", "high", "n", "reason", "notice"]
    table.index = [best, *others]
    tested = {"p": tests["holm_items"], "p_systems": tests["holm_systems"]}
    table = table.assign(**{name: [np.nan, *p] for name, p in tested.items()})
    smallest = max(2 / 2 ** outputs["doc_id"].nunique(), 1 / (permutations + 1))
    measure = f"Spearman's correlation with the mean human rating at {level} level"
    notes = [_detectable(table, outputs, level, seed)]
    return _Compared(table, measure, smallest, table.iloc[0], notes)


def _counted(outputs, methods, scale, level, permutations, seed):
    """Each method's accuracy or quadratic kappa, highest first, and its tests against the highest."""
    found = {method: category_agreement(outputs, method, "human", scale) for method in methods}
    rates = pd.concat({method: one.rates for method, one in found.items()})
    measure = ranking(scale)
    table = rates.xs(measure, level=1).assign(notice="", p_systems=np.nan)
    table = table.sort_values("value", ascending=False, kind="stable")
    best, *others = table.index
    smallest = 2 / 2 ** outputs["doc_id"].nunique()
    if measure == QUADRATIC:
        names = ["human", *methods]
        places = outputs.assign(**outputs[names].map(scale.values.index))
        how = {"permutations": permutations, "seed": seed}
        tests = [swapped_kappas(places, best, other, "human", **how) for other in others]
        smallest = max(smallest, 1 / (permutations + 1))
    else:
        right = outputs[methods].eq(outputs["human"], axis=0).groupby(outputs["doc_id"]).sum()
        tests = [swapped(right[best] - right[other]) for other in others]
    table.insert(6, "p", [np.nan, *holm(tests)])
    measures = list(dict.fromkeys([measure, *rates.index.get_level_values(1)]))
    return _Compared(
        table.join(_spans(rates).unstack()[measures]),
        f"{measure} against the category of most raters",
        smallest,
        rates.loc[(best, QUADRATIC if measure == QUADRATIC else "kappa")],
        described=f" {best} agrees with people {_described(rates.loc[best].loc[measures], outputs, scale)}",
        ends=", and a share of 0 or 1 has Wilson's",
        confusion={method: found[method].confusion for method in table.index},
    )


def _described(rates, outputs, scale):
    """All measures of the highest method, and what people say how often, as a sentence."""
    ranked, *others = [f"{name} {value}" for name, value in _spans(rates).items()]
    none = rates[(rates["reason"] != "") & rates["value"].lt(1)]["reason"]
    none = "".join(f" No interval of {name}: {reason}." for name, reason in none.items())
    people = outputs["human"]
    if scale.kind == "preference":
        order = outputs["item_id"].str.extract("/([12])$")[0].fillna("1")
        people = people.where(order == "1", 1 - people)[order == order.min()]  # A is hypothesis
        shares = f"people prefer A in {people.eq(1).mean():.0%} of {len(people)} pairs"
    else:
        good = scale.values[0] if scale.low_is_good else scale.values[-1]
        good = people.mode().iloc[0] if scale.kind == "unordered" else good
        shares = f"people call {people.eq(good).mean():.0%} of them {scale.name(good)}"
    if rates.index[0] == QUADRATIC:
        ranked += ", which ranks the methods"
    return f"on {len(outputs):,} outputs by {ranked} ({', '.join(others)}); {shares}.{none}"


def _verdict(found, documents, permutations):
    """Name a method as the best where the data can show it."""
    table = found.table
    spans = _spans(table)
    best, others = table.index[0], len(table) - 1
    tied = "; ".join(f"{method} {spans[method]}" for method in table.index[~(table["p"] < 0.05)])
    smallest = found.smallest * others
    reason = table["reason"].iloc[0]
    cannot = "These data cannot name a best method"
    if not others:
        return f"Only {tied} can be compared, so nothing comes first."
    if smallest >= 0.05:
        return (
            f"{cannot}: {documents} documents and {permutations} permutations allow no corrected p-value below "
            f"{smallest:.2f}, and {others + 1} methods take {int(np.log2(40 * others)) + 1} documents or more and "
            f"{20 * others} permutations. Highest first: {tied}."
        )
    if reason and table["value"].iloc[0] < 1 - 1e-9:  # a value of 1 needs no interval
        return f"{cannot}: the highest, {best} {spans[best]}, has no interval ({reason})."
    if not (found.first["low"] > 0 or found.first["value"] > 1 - 1e-9):
        return f"{cannot}: even the highest, {best} {spans[best]}, may not agree at all."
    if not (table["p"][1:] < 0.05).all():
        return f"{cannot}. Not significantly different: {tied}."
    holds_for_others = (table["p_systems"][1:] < 0.05).all()
    where = "these systems and on others" if holds_for_others else "these systems"
    return f"{best} comes first, {spans[best]}; all others agree significantly less, on {where}."


def _spans(table):
    """Values with their intervals, as text."""
    return with_interval(table.rename(columns={"low": "ci_low", "high": "ci_high"}), "value")


def _ceiling(ratings, outputs, level, scale):
    """How well the raters agree: the ceiling, and a sentence."""
    ratings = ratings.merge(outputs[["item_id", "doc_id", "system_id"]])
    if ratings["rater"].nunique() < 2:
        return np.nan, "There is one rating per output, so the raters' agreement is unknown."
    found = ceiling(ratings, level="sample" if scale.names else level, scale=scale)
    krippendorff = alpha(ratings, scale.metric).value
    text = f"Krippendorff's α of the {ratings['rater'].nunique()} raters is {krippendorff:.2f}."
    text += " The raters contradict each other." * (krippendorff < 0)
    fewest = found.per_rater.dropna(subset="value")["n"].min()
    unit = "documents" if level == "sample" else "outputs"
    others = f"most others by {ranking(scale)}" if scale.names else "the others by"
    text += f" A rater agrees with {others} {found.value:.2f}, on at least {fewest} {unit}."
    return found.value, text


def _detectable(table, outputs, level, seed):
    """The smallest difference that methods which share errors like the two highest would show, as a sentence."""
    pair = [*table.index, None][:2]
    how = {"level": level, "seed": seed}
    how |= {"documents": outputs["doc_id"].nunique(), "systems": outputs["system_id"].nunique()}
    try:
        effect, reason = smallest_detectable(outputs, *pair, "human", **how)
    except ValueError as error:
        reason = str(error)
    if reason:
        return f"The smallest detectable difference is undefined: {reason}."
    detected = "would be detected in four of five studies like this"
    if pair[1]:
        detected += f", between methods whose errors correlate like those of {' and '.join(pair)}"
    return f"A difference of {effect:.2f} or more {detected}."


def _few(every, method, what="Mean rating"):
    """Of half-labelled data: each system's mean with the help of a method, in a line."""
    if every["human"].notna().all():
        return []
    found = assisted_mean(every, method, "human")
    texts = found.index.astype(str) + " " + _spans(found.astype({"value": float}))
    means = (texts + " (" + found["reason"] + ")").str.removesuffix(" ()")
    few, documents = found["labelled"].max(), found["documents"].max()
    return [
        f"{what} of all {documents} documents, from labels of {few}, if drawn at random, and {method}'s scores: "
        f"{'; '.join(means)}."
    ]


def _of_pairs(every, methods):
    """How judges choose between two texts, with people's share beside each, as a sentence for each judge."""
    lines = []
    for method in methods:
        bias = pair_bias(every, method, "human").drop(columns="n")
        people = bias.filter(like="people").set_axis(["value", "low", "high"], axis=1)
        own, theirs = _spans(bias), _spans(people)
        chosen = {"first": "the text shown first", "longer": "the longer text", "tie": "a tie"}
        listed = [f"{what} in {own[name]} (people {theirs[name]})" for name, what in chosen.items()]
        lines.append(f"{method} chooses {', '.join(listed)}. {_in_both_orders(every, method)}")
    return lines


def _in_both_orders(every, method):
    """How a judge's verdicts in both orders agree, as a sentence."""
    pairs = every.groupby(every["item_id"].str[:-2])[method].count().value_counts()
    if 2 not in pairs:
        return "No pair has verdicts in both orders."
    spans = _spans(pair_agreement(every, [method], ["human"]).set_index("measure"))
    alone = f" {pairs[1]} pairs have a verdict in one order alone." if 1 in pairs else ""
    return (
        f"Asked in both orders: accuracy {spans['accuracy']}, the orders agree in {spans['agreement']}, unread are "
        f"{spans['unread']}.{alone}"
    )


def _shown(one):
    """An aspect's table as text."""
    p = one.table[["p", "p_systems"]].map(lambda p: "–" if np.isnan(p) else f"{p:.3g}")
    if one.level == "categories":
        return one.table.iloc[:, 8:].assign(n=one.table["n"], **{"p, documents": p["p"]})
    shown = pd.DataFrame({"Spearman": _spans(one.table), "n": one.table["n"].astype(int)})
    return shown.assign(**{"p, documents": p["p"], "p, systems": p["p_systems"]})
