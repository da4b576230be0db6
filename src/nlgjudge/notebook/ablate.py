"""An ablation in one call: two set-ups of a judge, what asking costs, and which agrees better with people."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from textwrap import shorten
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import t

from nlgjudge.data.checks import check_known, check_whole, first
from nlgjudge.data.paths import out
from nlgjudge.judging.scoring import reply_counts
from nlgjudge.ledger.comparison import with_interval
from nlgjudge.notebook.rerun_requests import trial
from nlgjudge.notebook.sentences import listed
from nlgjudge.notebook.setups import in_words, plan_of, setups_of
from nlgjudge.notebook.shown import Shown
from nlgjudge.stats.correlations import LEVELS, PAIR, Level
from nlgjudge.stats.intervals import interval
from nlgjudge.stats.judge_agreement import pair_agreement
from nlgjudge.stats.significance import BOUNDS, paired_tests

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nlgjudge.data.schema import Benchmark
    from nlgjudge.judging.store import Store

_BOUNDS = {name: f"difference_{name.removeprefix('ci_')}" for name in BOUNDS}
_UNITS = {"sample": "documents", "dataset": "items", "system": "systems", "pair": "documents"}


class Ablation(Shown):
    """Two set-ups on one benchmark: a notebook displays the plan, and after `ask` the result.

    Attributes
    ----------
    setups
        ``base`` and ``variant``, each with its `judge` and `prompts`.
    plan
        By set-up, calls, tokens and cost of what was not stored yet. What both ask for counts once.
    replies
        By set-up, as from `nlgjudge.judge_items`.
    scores
        As from `Benchmark.with_scores`, in the columns ``base:ASPECT`` and ``variant:ASPECT``; None before `ask`.
    stopped
        Why nothing more was asked, if most of the first replies hold no rating.
    table
        By aspect, `base`, `variant` and `difference` with `_low`, `_high`, `_reason` and `_notice` of their intervals,
        the columns of `nlgjudge.paired_tests`, and `_unread` and `_cost` of both; None before `ask`.
    """

    _between = "\n"

    def __init__(self, benchmark, setups, aspects, price, how):
        self.benchmark, self.setups, self.aspects = benchmark, setups, aspects
        self.price, self.how = price, how
        self.replies, self.scores, self.table, self.stopped = {}, None, None, ""
        self.plan = plan_of(setups)
        if not self.plan["calls"].any():
            self.ask()

    def ask(self) -> Ablation:
        """Ask both set-ups, compare them, and return itself; what is stored costs nothing.

        Each is tried on a few items first. If most replies hold no rating, nothing more is asked.
        """
        for label, setup in self.setups.items():
            replies = setup.entries["samples"] * len(setup.prompts)
            readings = [prompt.reading for prompt in setup.prompts]
            if why := trial(setup.ask, setup.texts, setup.judge, replies, readings):
                self.stopped = f"stopped: of the first replies to the {label}, {why}"
                return self
        self.replies = {label: setup.ask() for label, setup in self.setups.items()}
        columns = [
            setup.scores(self.replies[label]).add_prefix(f"{label}:")
            for label, setup in self.setups.items()
        ]
        columns = pd.concat(columns, axis=1).rename_axis("item_id").reset_index()
        self.scores = self.benchmark.with_scores(columns)
        pairs = [("variant", "base")]
        tests = paired_tests(self.scores, pairs, self.aspects, interval=True, **self.how)
        tests = tests.rename(columns=_BOUNDS).set_index("aspect")
        self.table = tests.join([self._side(label) for label in self.setups])
        return self

    def _side(self, label):
        """By aspect, a set-up's correlation where both have a score, its interval, unread replies and cost."""
        intervals = []
        for aspect in self.aspects:
            both = self.scores.dropna(subset=[f"base:{aspect}", f"variant:{aspect}", aspect])
            intervals.append(interval(both, f"{label}:{aspect}", aspect, **self._measure))
        side = pd.DataFrame(intervals, pd.Index(self.aspects, name="aspect")).drop(columns="n")
        side = side.join(self.setups[label].usage(self.replies[label], self.price))
        return side.add_prefix(f"{label}_").rename(columns={f"{label}_value": label})

    @property
    def _measure(self):
        return {name: self.how[name] for name in ("level", "coefficient")}

    @property
    def change(self) -> str:
        """What differs, in words."""
        base, variant = (setup.entries for setup in self.setups.values())
        parts = [
            f"{name} {in_words(variant[name])} in place of {in_words(old)}"
            for name, old in base.items()
            if variant[name] != old
        ]
        return listed([part.removesuffix(" in place of none") for part in parts])

    @property
    def answer(self) -> str:
        """The answer, or what asking would take; on the sample its notice comes first."""
        notice = f"{self.benchmark.notice}. " if self.benchmark.notice else ""
        change = shorten(self.change, 200)
        if self.stopped:
            return f"{notice}With {change}, {self.stopped}."
        if self.table is None:
            calls = f"{self.plan['calls'].sum():,.0f} calls"
            cost = f", cost {self.plan['cost'].sum():.4f}" if "cost" in self.plan else ""
            return f"{notice}Nothing was asked yet ({change}): {calls}{cost}. `.ask()` asks."
        table = self.table
        if table["difference"].isna().all():
            return (
                f"{notice}With {change}, no correlation can be compared: {table['reason'].iloc[0]}."
            )
        most = table.loc[[table["difference"].abs().idxmax()]]
        falls, rises = ((sign * table["difference"] > 0).sum() for sign in (-1, 1))
        size = with_interval(most, "difference").iloc[0]
        largest = f", most for {most.index[0]}: {size}" if falls or rises else ""
        level, n, aspects = self.how["level"], table["n"].min(), len(table)
        of_aspects = "1 aspect" if aspects == 1 else f"{aspects} aspects"
        measure = f"the correlation with people (Spearman, {level} level)"
        if level == PAIR:
            measure = "the accuracy in pairs (both orders)"
        return (
            f"{notice}With {change}, {measure} falls in {falls} and rises in {rises} of {of_aspects}{largest}. "
            f"{self._found()} (5%, Holm's correction over {aspects}); n is {n:,} {_UNITS[level]} or more."
        )

    def _found(self):
        """For which aspects there is a difference on these items, and for which also for systems like these."""
        table = self.table
        here = table["holm_items"] < 0.05
        both = here & (table["holm_systems"] < 0.05)
        on, general = (listed(list(table.index[found]) or ["no aspect"]) for found in (here, both))
        if self.how["level"] == PAIR:
            return f"The paired test finds a difference on these documents for {on}"
        text = f"The paired tests find a difference on these items for {on}, and for systems like these for {general}"
        least = table["p_systems"].count() * table["smallest_p_systems"].min()
        if least < 0.05:
            return text
        why = f"too few systems or permutations to find one (no p can be below {least:.2g})"
        return f"{text}: {table['reason'].iloc[0] or why}"

    @property
    def shown(self) -> pd.DataFrame:
        """The table as text."""
        table = self.table
        texts = {name: with_interval(table, name) for name in ("base", "variant", "difference")}
        systems = ("p_systems", "holm_systems") if self.how["level"] != PAIR else ()
        for name in ("p_items", "holm_items", *systems):
            texts[name] = table[name].map("{:.3g}".format)
        texts["n"] = table["n"]
        for name, digits in {"unread": "{:.1%}", "cost": "{:.3f}"}.items():
            both = table[[f"base_{name}", f"variant_{name}"]]
            if both.notna().any(axis=None):
                texts[f"{name}: base, variant"] = both.map(digits.format).agg(", ".join, axis=1)
        return pd.DataFrame(texts).join(self._in_both_orders())

    def _in_both_orders(self):
        """Of pairs, by aspect: how often both orders agree, and how often the text shown first is chosen."""
        if self.how["level"] != PAIR:
            return pd.DataFrame(index=self.table.index)
        shares = pair_agreement(self.scores, list(self.setups), self.aspects)
        bounds = shares.rename(columns={"low": "ci_low", "high": "ci_high"})
        shares["text"] = with_interval(bounds, "value")
        ratings = shares["measure"].eq("first") & shares["value"].gt(1)  # no choice of a text
        shares = shares[shares["measure"].isin(["agreement", "first"]) & ~ratings]
        names = {"agreement": "orders agree", "first": "first chosen"}
        shares["name"] = shares["measure"].map(names) + ": " + shares["judge"]
        return shares.pivot(index="aspect", columns="name", values="text").reindex(self.table.index)

    @property
    def notes(self) -> list[str]:
        """Lines below the table: replies, unstable and missing intervals, what judges could not do."""
        lines = [f"{label}: {reply_counts(replies)}" for label, replies in self.replies.items()]
        where: dict[str, list[str]] = {}
        for column in self.table.filter(regex="notice$|reason$"):
            name, _, kind = column.rpartition("_")
            start = "interval" if kind == "notice" else "no interval" if name else "no p"
            if column == "reason" and self.how["level"] == PAIR:
                continue  # pairs have no systems
            for aspect, text in self.table[column].items():
                where.setdefault(text and f"{start}: {text}", []).append(f"{aspect} {name}".strip())
        lines += [f"{text} ({', '.join(cells)})" for text, cells in where.items() if text]
        judges = dict.fromkeys(setup.judge for setup in self.setups.values())
        for judge in judges:
            lines += [f"{judge.name}: {text}" for text in [*judge.notices, judge.stopped] if text]
        spent = sum(judge.cost for judge in judges)
        return [*lines, f"spent by these judges: {spent:.4f}"] if spent else lines

    def figure(self) -> Figure:
        """Draw the differences with their intervals, a panel for each aspect."""
        from nlgjudge.notebook import figures  # an ablation without a figure draws nothing

        names = {"difference": "value", "difference_low": "ci_low", "difference_high": "ci_high"}
        drawn = self.table.reset_index().rename(columns=names)
        group = f"Spearman, {self.how['level']} level, 95% interval for these systems"
        if self.how["level"] == PAIR:
            group = "accuracy in pairs, 95% interval"
        return figures.intervals(
            drawn.assign(label="variant − base", group=group),
            column="aspect",
            lines=dict.fromkeys(self.aspects, 0),
            title=shorten(f"With {self.change}", 30 * max(3, len(self.aspects))),
            notice=self.benchmark.notice,
        )

    def write(self, name: str) -> None:
        """Save the table as `ablation/NAME.csv`, which a sweep joins, and the figure, with this run's results."""
        sample = self.benchmark.is_sample
        path = out(sample) / "ablation" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.table.to_csv(path)
        from nlgjudge.notebook import figures

        drawn = self.figure()
        figures.save(drawn, name, sample=sample)
        figures.plt.close(drawn)

    def moved(self) -> pd.DataFrame:
        """Show how far the scores moved, by aspect.

        `items`; the mean score of `base` and `variant`; `shift`, the mean difference within a document, and `rho`, the
        rank correlation of both, with 95% intervals for other documents; `changed`, the share of items whose score
        moved; `base_values` and `variant_values`, the numbers of distinct scores.
        """
        rows, scores = {}, self.scores.drop(columns=self.aspects)
        for aspect in self.aspects:
            names = {f"{label}:{aspect}": label for label in self.setups}
            both = scores.rename(columns=names).dropna(subset=["base", "variant"])
            away = both["variant"] - both["base"]
            shifts = away.groupby(both["doc_id"]).mean()
            half = t.ppf(0.975, len(shifts) - 1) * shifts.sem()
            rho = interval(both, "variant", "base", level="dataset")
            rows[aspect] = {
                "items": len(both),
                **both[["base", "variant"]].mean(),
                "shift": _span(shifts.mean(), shifts.mean() - half, shifts.mean() + half),
                "rho": _span(*rho[:3]),
                "changed": (away.abs() > 1e-9).mean(),
                **both[["base", "variant"]].round(9).nunique().add_suffix("_values"),
            }
        return pd.DataFrame.from_dict(rows, orient="index").round(2)

    @property
    def settings(self) -> dict:
        """What the result depends on, for `nlgjudge.signature`."""
        settings = {}
        for label, setup in self.setups.items():
            prompts = {prompt.aspect: f"{prompt.name} {prompt.digest}" for prompt in setup.prompts}
            judge = in_words(setup.entries["judge"])
            settings[label] = setup.entries | {"judge": judge, "prompts": prompts}
        return settings | self.how

    def _parts(self):
        if self.table is None:
            yield from (("", self.answer), self.plan)
        else:
            yield from (("Answer:", f" {self.answer}"), self.shown, ("", "\n".join(self.notes)))


def _span(value, low, high):
    return f"{value:.2f}" + ("" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]")


def ablation(
    benchmark: Benchmark,
    base: dict,
    change: dict,
    aspects: Sequence[str] | None = None,
    *,
    items: pd.DataFrame | None = None,
    level: Level | None = None,
    limit: int = 0,
    price: Sequence[float] | None = None,
    max_cost: float | None = None,
    store: str | PathLike | Store | None = None,
    permutations: int = 9999,
    seed: int = 0,
) -> Ablation:
    """Compare two set-ups of a judge in their agreement with people.

    A recording, a rule and a function are asked at once, and so is a server whose replies are all stored, because that
    costs nothing. Otherwise the plan is shown, and `ask` asks.

    Parameters
    ----------
    benchmark
    base, change
        A set-up, and what differs in the variant:

        - `judge`, as `nlgjudge.judge_items` takes it; by default ``surface``.
        - `prompt`, a name, a text, a list of messages, or a prompt of `nlgjudge.judging.as_prompt`, which also says
          the form of the replies and the options of a choice. ``{aspect}`` becomes the aspect and ``{aspect:.3}`` its
          first three letters. Empty, it is a recording's own, and a function's numbers are taken as they are.
        - `pattern`, a regular expression for ratings that are not read otherwise (`nlgjudge.judging.Reading`).
        - `words`, a dict of old to new wording of the prompt; `scale`, its worst and best rating; `system`, a
          message before it.
        - `average`, aspects whose scores are averaged in the place of each aspect's own score.
        - `perturb`, name, degree and number of edits of one of DHP's perturbations, as ``["typos", "", 5]``.
        - `examples`, items that are shown with people's ratings, and judged by neither set-up: their ids, or a number
          for the first item of so many documents.
        - `samples`, replies an item; `options`, sampling parameters, as ``{"temperature": 1}``.
        - `policy` and `estimator`, as for `nlgjudge.judge_items`; `aggregation`, ``mean``, ``median`` or ``mode``
          of the replies to an item.
    aspects
        The benchmark's by default.
    items
        Some of the benchmark's items.
    level
        As for `nlgjudge.correlation`; by default ``pair`` for a benchmark of pairs (`nlgjudge.data.pairs`), whose
        measure is the accuracy, and else ``dataset``.
    limit
        Documents, the first ones; 0 for all.
    price
        Of a million prompt and a million completion tokens.
    max_cost
        What both set-ups together may spend.
    store
        Of replies, as for `nlgjudge.get_judge`.
    permutations, seed
        As for `nlgjudge.paired_tests`.

    Raises
    ------
    ValueError, KeyError
        For a set-up, an aspect or a level that cannot be used, before anything is asked.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> chats = nj.load("topical_chat", "sample")
    >>> base = {"judge": "surface", "prompt": "geval/dialogue/{aspect}"}
    >>> result = nj.ablation(chats, base, {"perturb": ["typos", "", 5]}, ["coherence"], permutations=99)
    >>> result.change
    'perturb typos 5'
    >>> round(float(result.table.loc["coherence", "difference"]), 2)
    0.05
    """
    level = level or (PAIR if "other" in benchmark.items else "dataset")
    check_known("level", level, [*LEVELS, PAIR])
    check_whole(1, permutations=permutations)
    aspects = [aspects] if isinstance(aspects, str) else list(aspects or benchmark.aspects)
    for aspect in aspects:
        check_known("aspect", aspect, benchmark.aspects)
    benchmark.check_ordered(aspects)
    price = price or None
    items = first(benchmark.items if items is None else items, limit)
    limits = {"price": price, "max_cost": max_cost, "store": store}
    setups = setups_of(base, change, benchmark, items, aspects, limits)
    coefficient = "accuracy" if level == PAIR else "spearman"
    how = {"level": level, "coefficient": coefficient, "permutations": permutations, "seed": seed}
    return Ablation(benchmark, setups, aspects, price, how)
