"""How long bootstrap intervals take, against a plain loop over scipy, and how the cost grows.

First the intervals of about 20 metrics on SummEval (ROUGE and simulated judges, every aspect and
coefficient, sample level); the loop runs for a few resamples of some, its time is scaled up, and
its quantiles are checked against ours. Then the cost of the bootstrap and of the permutation test
against resamples and documents, with the exponent of a power law; `benchmarks/scaling.png` draws
both. ``python benchmarks/bootstrap_intervals.py``
"""

import resource
import sys
import time
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
from permutation_test import SCIPY, frame_of, scores, seconds
from run import options, record

import nlgjudge as nj
from nlgjudge.data.fetch import DataUnavailable

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

RESAMPLES, JUDGES = 1_000, 20
PLOT = Path(__file__).with_name("scaling.png")
SIZES = {"resamples": (250, 500, 1_000, 2_000, 4_000), "documents": (100, 300, 1_000, 3_000, 10_000)}
FIXED = {"resamples": {"documents": 100, "systems": 16}, "documents": {"resamples": 200, "systems": 50}}
LINES = {("bootstrap", "both"): ("#2166ac", "o"), ("bootstrap", "documents"): ("#1b7837", "s"),
         ("permutation", "both"): ("#b2182b", "^")}


def row(what, units, resamples, documents, systems, time_, note=""):
    print(f"{what:24}{units:>10}{resamples:>10}{documents:>10}{systems:>8}{time_:>10}  {note}".rstrip())


def data(quick):
    """Name of the data, a frame with metrics and aspects, and their names."""
    rng = np.random.default_rng(0)
    try:
        if quick:
            raise DataUnavailable("small sizes")
        summeval = nj.load("summeval", source="real")
    except DataUnavailable:
        frame, name = frame_of(*scores(100, 16, True))[["doc_id", "system_id", "h"]], "synthetic scores"
        aspects = ["coherence", "consistency", "fluency", "relevance"]
        for aspect in aspects:
            frame[aspect] = np.clip(np.round(frame["h"] + rng.normal(size=len(frame)), 1), 1, 5)
        metrics = []
    else:
        rouge = nj.metrics.over_references(nj.metrics.rouge(summeval.items, stemmer="porter_original"), "mean")
        frame, aspects, name = summeval.with_scores(rouge), summeval.aspects, "SummEval"
        metrics = list(rouge.columns[1:])
    for judge in range(JUDGES - len(metrics)):  # noisier and noisier; every second one with ties
        rating = frame[aspects].mean(axis=1) + (0.3 + 0.1 * judge) * rng.normal(size=len(frame))
        metrics.append(f"judge {judge + 1}")
        frame[metrics[-1]] = np.clip(rating.round() if judge % 2 else rating, 1, 5)
    return name, frame, metrics[:2] if quick else metrics, aspects


def loop(frame, metric, aspect, units, coefficient, few, rng):
    """The resamples' correlations at sample level, one document at a time."""
    x, y = (frame.pivot(index="doc_id", columns="system_id", values=c).to_numpy() for c in (metric, aspect))
    documents, systems = x.shape
    rows = rng.integers(documents, size=(few, documents))
    columns = np.tile(np.arange(systems), (few, 1))
    if units == "both":
        columns = rng.integers(systems, size=(few, systems))
    values = []
    for mine, its in zip(rows, columns):
        pairs = [(x[d, its], y[d, its]) for d in mine]
        values.append(np.mean([SCIPY[coefficient](a, b).statistic for a, b in pairs
                               if np.ptp(a) and np.ptp(b)]))
    return values


def slow_seconds(frame, cells, units, coefficient, few, resamples):
    """Time of the loop for `cells`, scaled up from a few resamples of every 20th."""
    times = []
    for cell in cells.iloc[::20].itertuples():
        start = time.perf_counter()
        values = loop(frame, cell.metric, cell.aspect, units, coefficient, few, np.random.default_rng(0))
        times.append(time.perf_counter() - start)
        found = nj.interval(frame, cell.metric, cell.aspect, rng=np.random.default_rng(0), units=units,
                                  coefficient=coefficient, resamples=few)
        assert np.abs(np.quantile(values, [0.025, 0.975]) - found[1:3]).max() < 1e-9
    return np.mean(times) / few * resamples * len(cells)


def all_intervals(few, resamples, quick):
    """Print time of all intervals, by what is resampled and coefficient, and its ratio to the loop's."""
    name, frame, metrics, aspects = data(quick)
    shape = frame["doc_id"].nunique(), frame["system_id"].nunique()
    cells = nj.correlation_table(frame, metrics, aspects)
    before = peak()
    row("", "units", "resamples", "documents", "systems", "seconds", f"loop timed for {few} resamples")
    for units in ("documents", "both"):
        totals = np.zeros(2)
        for coefficient, part in cells.groupby("coefficient", sort=False):
            start = time.perf_counter()
            nj.stats.interval_table(frame, part, rng=np.random.default_rng(0), units=units,
                                    resamples=resamples)
            ours = time.perf_counter() - start
            slow = slow_seconds(frame, part, units, coefficient, few, resamples)
            totals += ours, slow
            row(f"{len(part)} intervals, {coefficient}", units, resamples, *shape, f"{ours:.2f}",
                f"loop {slow:.0f} s, {slow / ours:.0f} times")
        row(f"{len(cells)} intervals, all", units, resamples, *shape, f"{totals[0]:.2f}",
            f"loop {totals[1]:.0f} s, {totals[1] / totals[0]:.0f} times")
        record(f"{len(cells)} intervals, {name}, resampled {units}; theirs: loop over scipy", *totals)
    print(f"({name}: {len(metrics)} metrics x {len(aspects)} aspects x {len(SCIPY)} coefficients; "
          f"peak memory {peak():.0f} MB, of which {before:.0f} MB before the intervals)")


def bootstrap_seconds(best_of=3, *, documents, systems, resamples, units):
    """Time of one interval, from the frame to its ends."""
    frame = frame_of(*scores(documents, systems, False))
    times = []
    for _ in range(best_of):
        start = time.perf_counter()
        nj.interval(frame, "a", "h", rng=np.random.default_rng(0), coefficient="pearson", units=units,
                          resamples=resamples)
        times.append(time.perf_counter() - start)
    return min(times)


def scaling():
    """Print the cost against one size at a time, and draw it."""
    costs = {"bootstrap": bootstrap_seconds, "permutation": partial(seconds, coefficient="pearson")}
    with matplotlib.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
        for (name, sizes), axis in zip(SIZES.items(), axes):
            fixed, drawn = FIXED[name], []
            for (test, units), (colour, marker) in LINES.items():
                times = [costs[test](3 if name == "resamples" else 1, units=units, **fixed | {name: size})
                         for size in sizes]
                exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
                for size, spent in zip(sizes, times):
                    at = fixed | {name: size}
                    row(test, units, at["resamples"], at["documents"], at["systems"], f"{spent:.3f}",
                        f"exponent in {name} {exponent:.2f}" if size == sizes[-1] else "")
                axis.plot(sizes, times, color=colour, marker=marker, markersize=4.5, linewidth=1.4,
                          label=f"{test}, {units}: {exponent:.2f}")
                drawn.append(times)
            finish(axis, name, sizes, np.array(drawn))
        figure.savefig(PLOT, dpi=200)


def finish(axis, name, sizes, times):
    """Logarithmic axes, a line of slope 1 below the curves, and labels."""
    guide = 0.6 * (times / sizes).min() * np.array(sizes)
    axis.plot(sizes, guide, color="#777777", linestyle="--", linewidth=1, label="slope 1")
    axis.set(xscale="log", yscale="log", xlabel=name, ylabel="seconds",
             ylim=(guide.min() / 1.5, times.max() * 12))  # room for the legend
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    axis.set_title(", ".join(f"{size} {of}" for of, size in FIXED[name].items()), fontsize=9)
    axis.legend(title="resampled units: exponent", fontsize=8, title_fontsize=8, loc="upper left",
                frameon=False, labelspacing=0.3)


def peak():
    """Most memory that the process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def main():
    parser = options(__doc__)
    parser.add_argument("--few", type=int, default=3, help="resamples that the loop is timed for")
    chosen = parser.parse_args()
    if chosen.quick:
        return all_intervals(1, 100, True)
    all_intervals(chosen.few, RESAMPLES, False)
    scaling()
    print(f"peak memory {peak():.0f} MB after all; plot in {PLOT}")


if __name__ == "__main__":
    main()
