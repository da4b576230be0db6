"""One figure for a paper: published values against ours, and the counts of its cells."""

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd

from nlgjudge.ledger.counts import PUBLISHED
from nlgjudge.ledger.figures import COLOURS, MARKERS, STYLE, mark_empty
from nlgjudge.ledger.verdicts import of_others, was_run

GREY = "#737373"
BARS = [COLOURS["exact"], COLOURS["close"], GREY, COLOURS["misprint"], COLOURS["not_run"]]


def summary(rows, *, title):
    """Draw the ledger's cells of a paper.

    Parameters
    ----------
    rows : pandas.DataFrame
        The paper's rows of the ledger, as from `nlgjudge.ledger.ledger.read`.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Published value (x) against ours (y) with its 95% interval, a colour and a marker for each verdict. In a second
        panel, without verdicts, the values of other models, other runs of a metric and third parties. On the right,
        the published cells by `group`.
    """
    compared = rows[was_run(rows)]
    compared = compared.assign(published=pd.to_numeric(compared["published"]))
    others = of_others(compared)
    with matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, 3, figsize=(14, 5.2), layout="constrained", width_ratios=(3, 3, 2)
        )
        for verdict, cells in compared[~others].groupby("verdict", sort=False):
            label = verdict.replace("_", " ")
            _draw_cells(axes[0], cells, label, COLOURS[verdict], MARKERS[verdict])
        _draw_cells(axes[1], compared[others], "another model, run or author", GREY, "D")
        axes[0].set_ylabel("our value, with 95% interval")
        axes[1].set_ylabel("the others' value, with 95% interval")
        ends = compared[["published", "ours", "ci_low", "ci_high"]].stack()
        span = (ends.min() - 0.03, ends.max() + 0.03) if len(ends) else (-1, 1)
        for axis in axes[:2]:
            axis.axline((0, 0), slope=1, color="#555555", lw=0.8, zorder=1)
            axis.set(xlabel="published correlation", aspect="equal", xlim=span, ylim=span)
            axis.legend(*axis.get_legend_handles_labels(), loc="upper left", frameon=False)
        sizes = rows["group"].value_counts().reindex(PUBLISHED, fill_value=0)
        bars = axes[2].barh(PUBLISHED, sizes, color=BARS)
        axes[2].bar_label(bars, fmt="{:,.0f}", padding=3)
        axes[2].invert_yaxis()
        axes[2].margins(x=0.15)
        axes[2].set_xlabel(f"{sizes.sum():,} published cells")
        figure.suptitle(title)
        mark_empty(figure)
    return figure


def _draw_cells(axis, cells, label, colour, marker):
    ends = cells["published"], cells["ci_low"], cells["ci_high"]
    axis.vlines(*ends, colors=colour, lw=0.7, alpha=0.3)
    points = cells["published"], cells["ours"]
    axis.scatter(*points, s=26, color=colour, marker=marker, label=label, zorder=3)
