"""One figure for a paper: published values against ours, and the counts of its cells."""

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd

from nlgjudge.ledger.counts import PUBLISHED, counts
from nlgjudge.ledger.figures import COLOURS, MARKERS, STYLE, mark_empty
from nlgjudge.ledger.printed import KEY
from nlgjudge.ledger.verdicts import of_others, was_run
from nlgjudge.ledger.whole_table import LETTERS
from nlgjudge.ledger.words import titled
from nlgjudge.papers.folders import titles

GREY = "#737373"
BARS = [COLOURS["exact"], COLOURS["close"], GREY, COLOURS["misprint"], COLOURS["not_run"]]
HATCHES = ("", "///")  # of a paper's versions
# By evidence from another model, run or author: a marker.
OTHERS = dict(zip(LETTERS, "DXs^"))


def summary(rows, *, title):
    """Draw the ledger's cells of a paper.

    Parameters
    ----------
    rows : pandas.DataFrame
        The paper's rows of the ledger, as from `nlgjudge.ledger.ledger.read`, in one or several versions. A cell that
        is the same in several is drawn once.
    title : str
        Followed by the number of cells that reproduce.

    Returns
    -------
    matplotlib.figure.Figure
        Published value (x) against ours (y) with its 95% interval, a colour and a marker for each verdict. In a second
        panel, where there are any, the values of other models, other runs of a metric and third parties. On the right,
        the published cells of each version by `group`.
    """
    compared = rows[was_run(rows)]
    compared = compared.drop_duplicates(["artefact", *KEY, "published", "ours"])
    compared = compared.assign(published=pd.to_numeric(compared["published"]))
    others = of_others(compared)
    panels = 2 if others.any() else 1
    with matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            1,
            panels + 1,
            figsize=(4 + 5 * panels, 5.2),
            layout="constrained",
            width_ratios=(*[3] * panels, 2),
        )
        _draw(axes[0], compared[~others], "verdict", COLOURS, MARKERS)
        axes[0].set(
            title="From the paper's texts, scores or replies", ylabel="our value, with 95% interval"
        )
        if panels == 2:
            _draw(axes[1], compared[others], "evidence", dict.fromkeys(OTHERS, GREY), OTHERS)
            axes[1].set(
                title="From others: confirms nothing", ylabel="value of another, with 95% interval"
            )
        ends = compared[["published", "ours", "ci_low", "ci_high"]].stack()
        span = (ends.min() - 0.03, ends.max() + 0.03) if len(ends) else (-1, 1)
        for axis in axes[:-1]:
            axis.axline((0, 0), slope=1, color="#555555", lw=0.8, zorder=1)
            axis.set(xlabel="published correlation", aspect="equal", xlim=span, ylim=span)
            axis.legend(*axis.get_legend_handles_labels(), loc="lower right", frameon=False)
        figure.suptitle(f"{title}: {_draw_bars(axes[-1], rows)}")
        mark_empty(figure)
    return figure


def _draw(axis, cells, by, colours, markers):
    """Points and intervals, by verdict or evidence."""
    for kind, part in cells.groupby(by, sort=False):
        colour = colours[kind]
        ends = part["published"], part["ci_low"], part["ci_high"]
        axis.vlines(*ends, colors=colour, lw=0.7, alpha=0.3)
        label = LETTERS[kind][1] if kind in LETTERS else titled(kind)
        points = part["published"], part["ours"]
        axis.scatter(*points, s=26, color=colour, marker=markers[kind], label=label, zorder=3)


def _draw_bars(axis, rows):
    """Bars of the groups by version; returns how many cells reproduce, in words."""
    sizes = counts(rows)
    height = 0.8 / len(sizes)
    said = []
    for nth, (version, count) in enumerate(sizes.iterrows()):
        places = [place + (nth - (len(sizes) - 1) / 2) * height for place in range(len(PUBLISHED))]
        style = {"color": BARS, "hatch": HATCHES[nth], "edgecolor": "white"}
        bars = axis.barh(places, count[PUBLISHED], height, label=titles()[version], **style)
        axis.bar_label(bars, fmt="{:,.0f}", padding=3)
        of = f" ({titles()[version].split(' (')[-1]}" if len(sizes) > 1 else ""
        said.append(f"{count['exact'] + count['close']:,} of {count['cells']:,}{of}")
    axis.set_yticks(range(len(PUBLISHED)), PUBLISHED)
    axis.invert_yaxis()
    axis.margins(x=0.18)
    axis.set_xlabel("published cells")
    if len(sizes) > 1:
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    return f"{' and '.join(said)} published cells reproduce"
