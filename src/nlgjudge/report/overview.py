"""The figure that stands for a paper: all that the ledger has of it."""

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from nlgjudge.report.figures import COLOURS, STYLE

MARKERS = dict(zip(COLOURS, "osD^vX."))


def summary(rows, *, title, notice=""):
    """Draw all that the ledger has of a paper: printed values against ours, and how many of each verdict.

    Parameters
    ----------
    rows : pandas.DataFrame
        The paper's rows of the ledger, as from `nlgjudge.report.ledger.read`.
    title : str
        The paper; the counts are added.
    notice : str
        Written on the figure when the values come from the sample.

    Returns
    -------
    matplotlib.figure.Figure
        Left, printed value (x) and ours (y) with its interval where there is one; the worst cell of up to
        six rows is named where it is more than 0.1 away. Right, cells by verdict.
    """
    drawn = rows[rows["verdict"] != "not_run"]
    same = rows["verdict"].isin(["exact", "close"]).sum()
    text = f"{title}\n{len(rows):,} printed cells, {len(drawn):,} compared, {same:,} of them exact or close"
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5.2), layout="constrained",
                                             gridspec_kw={"width_ratios": (3, 2)})
        _against(left, drawn.assign(x=pd.to_numeric(drawn["published"])))
        counts = rows["verdict"].value_counts().reindex(COLOURS, fill_value=0)
        bars = right.barh([v.replace("_", " ") for v in counts.index], counts, color=list(COLOURS.values()))
        right.bar_label(bars, fmt="{:,.0f}", padding=3)
        right.invert_yaxis()
        right.margins(x=0.15)
        right.grid(axis="y", visible=False)
        right.set_xlabel("printed cells")
        figure.suptitle(text + (f"\n({notice})" if notice else ""), fontsize=12)
    return figure


def _against(axis, drawn):
    """Printed against ours, a colour and a marker for each verdict, and the names of what lies far off."""
    axis.set(xlabel="printed correlation", ylabel="ours, with 95% interval", aspect="equal")
    if drawn.empty:
        axis.set(xticks=[], yticks=[])
        axis.text(0.5, 0.5, "no cell compared yet", transform=axis.transAxes, ha="center")
        return
    ends = drawn[["x", "ours", "ci_low", "ci_high"]].stack()
    axis.set(xlim=(ends.min() - 0.03, ends.max() + 0.03), ylim=(ends.min() - 0.03, ends.max() + 0.03))
    axis.axline((0, 0), slope=1, color="#555555", lw=0.8, zorder=1)
    for place, verdict in enumerate(v for v in COLOURS if v in set(drawn["verdict"])):
        part = drawn[drawn["verdict"] == verdict]
        axis.vlines(part["x"], part["ci_low"], part["ci_high"], colors=COLOURS[verdict], lw=0.7, alpha=0.3)
        axis.scatter(part["x"], part["ours"], s=26, color=COLOURS[verdict], marker=MARKERS[verdict],
                     label=verdict.replace("_", " "), zorder=3 + place)
    far = drawn.assign(away=drawn["difference"].abs()).query("away > 0.1").sort_values("away")
    for case in far.drop_duplicates("row", keep="last").tail(6).itertuples():
        axis.annotate(f"{case.row}\n({case.evidence.replace('_', ' ')})", (case.x, case.ours), fontsize=8,
                      xytext=(6, -20), textcoords="offset points")
    axis.legend(loc="upper left", frameon=False)
