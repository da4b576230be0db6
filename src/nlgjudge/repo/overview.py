"""The figure that stands for a paper: all that the ledger has of it."""

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from nlgjudge.ledger.average_audit import MISPRINT
from nlgjudge.ledger.figures import ANOTHER, COLOURS, STYLE
from nlgjudge.ledger.verdicts import of_others, was_run

MARKERS = dict(zip(COLOURS, "osD^vXP."))
NAMED = 6  # rows at most whose worst cell is named
FAR = 0.1  # a cell further away than this may be named


def summary(rows, *, title, notice=""):
    """Draw all that the ledger has of a paper: printed values against ours, and how many of each verdict.

    A cell whose value comes from another model, or another run of the metric, is no reproduction: it is neither met nor
    missed: such cells have a panel and a bar of their own, and no verdict's colour.

    Parameters
    ----------
    rows : pandas.DataFrame
        The paper's rows of the ledger, as from `nlgjudge.ledger.ledger.read`.
    title : str
        The paper; the counts are added.
    notice : str
        Written on the figure when the values come from the sample.

    Returns
    -------
    matplotlib.figure.Figure
        Left, printed value (x) and ours (y) with its interval where there is one; the worst cell of up to
        six rows is named where it is more than 0.1 away. In the middle, where there are any, the same of
        other models. Right, cells by verdict.
    """
    ran = rows[was_run(rows)]
    ran = ran.assign(x=pd.to_numeric(ran["published"]))
    another = ran[of_others(ran)]
    own = ran[~of_others(ran)]
    if another.empty:
        size = (10, 5.4)
        widths = (3, 2)
    else:
        size = (14, 5.4)
        widths = (3, 3, 2)
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, len(widths), figsize=size, layout="constrained", gridspec_kw={"width_ratios": widths}
        )
        _against(axes[0], own, ran)
        axes[0].set_ylabel("ours, with 95% interval")
        if len(another):
            _of_others(axes[1], another, ran)
        _count(axes[-1], rows)
        text = f"{title}\n{_counts(rows, own, another)}"
        if notice:
            text += f"\n({notice})"
        figure.suptitle(text, fontsize=12)
    return figure


def _counts(rows, own, another):
    """How much of a paper was compared, in words."""
    same = own["verdict"].isin(["exact", "close"]).sum()
    text = f"{len(rows):,} printed cells, {len(own):,} compared, {same:,} of them exact or close"
    if len(another):
        text += f"; {len(another):,} more are another model's or another run's"
    return text


def _count(axis, rows):
    """Bars of cells by verdict, and one of the cells of another model or run; a misprint is one whoever ran it."""
    another = of_others(rows) & was_run(rows) & (rows["verdict"] != MISPRINT)
    others = int(another.sum())
    counts = rows.loc[~another, "verdict"].value_counts().reindex(COLOURS, fill_value=0)
    counts.index = [verdict.replace("_", " ") for verdict in COLOURS]
    colours = dict(zip(counts.index, COLOURS.values()))
    if others:
        unrun = counts.pop("not run")
        counts[ANOTHER["label"]] = others
        counts["not run"] = unrun
        colours[ANOTHER["label"]] = ANOTHER["color"]
    bars = axis.barh(list(counts.index), counts, color=[colours[name] for name in counts.index])
    axis.bar_label(bars, fmt="{:,.0f}", padding=3)
    axis.invert_yaxis()
    axis.margins(x=0.15)
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("printed cells")


def _frame(axis, drawn):
    """Equal axes for both panels, wide enough for everything that was compared, and the diagonal."""
    ends = drawn[["x", "ours", "ci_low", "ci_high"]].stack()
    span = (ends.min() - 0.03, ends.max() + 0.03)
    axis.set(xlabel="printed correlation", aspect="equal", xlim=span, ylim=span)
    axis.axline((0, 0), slope=1, color="#555555", lw=0.8, zorder=1)


def _against(axis, own, ran):
    """Printed against ours, a colour and a marker for each verdict, and the names of what lies far off."""
    if own.empty:
        axis.set(xlabel="printed correlation", aspect="equal", xticks=[], yticks=[])
        text = (
            "no cell compared yet"
            if ran.empty
            else "no cell of the paper's own\nevaluators compared yet"
        )
        axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center")
        return
    _frame(axis, ran)
    occurring = set(own["verdict"])
    for place, verdict in enumerate(name for name in COLOURS if name in occurring):
        part = own[own["verdict"] == verdict]
        axis.vlines(
            part["x"], part["ci_low"], part["ci_high"], colors=COLOURS[verdict], lw=0.7, alpha=0.3
        )
        axis.scatter(
            part["x"],
            part["ours"],
            s=26,
            color=COLOURS[verdict],
            marker=MARKERS[verdict],
            label=verdict.replace("_", " "),
            zorder=3 + place,
        )
    _name_the_far(axis, own)
    axis.legend(loc="upper left", frameon=True, framealpha=0.85, edgecolor="none")


def _of_others(axis, another, ran):
    """Cells of another model or run in one colour, whatever their verdict."""
    _frame(axis, ran)
    axis.vlines(
        another["x"],
        another["ci_low"],
        another["ci_high"],
        colors=ANOTHER["color"],
        lw=0.7,
        alpha=0.3,
    )
    axis.scatter(another["x"], another["ours"], s=22, alpha=0.8, zorder=3, **ANOTHER)
    axis.set_ylabel("another model's or run's, with 95% interval")
    axis.legend(loc="upper left", frameon=True, framealpha=0.85, edgecolor="none")


def _name_the_far(axis, own):
    """Name the worst cell of the rows that lie furthest away, inside the axes."""
    far = own.assign(away=own["difference"].abs())
    far = far[far["away"] > FAR].sort_values("away")
    middle = sum(axis.get_xlim()) / 2
    for case in far.drop_duplicates("row", keep="last").tail(NAMED).itertuples():
        name = f"{case.row}\n({case.evidence.replace('_', ' ')})"
        away, side = (-6, "right") if case.x > middle else (6, "left")
        axis.annotate(
            name,
            (case.x, case.ours),
            fontsize=8,
            xytext=(away, -20),
            textcoords="offset points",
            ha=side,
        )
