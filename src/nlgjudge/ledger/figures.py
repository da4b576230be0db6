"""Figures: written by the notebooks, as SVG and PNG, the same bytes on every run."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

from nlgjudge.data.paths import out
from nlgjudge.ledger.ledger import ANOTHER_MODEL

# Colours that stay apart for colour-blind readers and in grey.
COLOURS = {"exact": "#1b7837", "close": "#7fbf7b", "within_ci": "#f1a340", "differs": "#b2182b",
           "sign_flipped": "#762a83", "relabelled": "#2166ac", "not_run": "#bbbbbb"}
# Another model's cell is neither met nor missed, so it has a colour and a marker of its own.
ANOTHER = {"color": "#737373", "marker": "D", "label": "another model"}
STYLE = {"svg.hashsalt": "nlgjudge", "svg.fonttype": "none", "font.size": 10,
          "axes.titlesize": 11, "axes.spines.top": False, "axes.spines.right": False,
          "figure.dpi": 100, "savefig.dpi": 150}


def comparison(rows, *, title, notice=""):
    """Draw a table against its reproduction: the values, and how far they are apart.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `nlgjudge.ledger.ledger.compare`; printed averages are left out.
    title : str
    notice : str
        Written across the figure when the values come from the sample.

    Returns
    -------
    matplotlib.figure.Figure
        Left, printed values (rings) and ours (dots) by row; right, ours minus printed in
        thousandths, on a scale that is linear up to one and logarithmic beyond. Dots have the colour
        of their verdict; cells of another model than the paper's are grey diamonds.
    """
    rows = rows[(rows["aspect"] != "AVG") & (rows["published"] != "")]
    labels = list(dict.fromkeys(rows["row"]))
    place = rows["row"].map(labels.index) + _spread(rows)
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(10, 1.8 + max(0.42 * len(labels), 0.05 * len(rows))), sharey=True,
            layout="constrained", gridspec_kw={"width_ratios": (3, 2)})
        left.scatter(rows["published"].astype(float), place, s=34, facecolors="none",
                     edgecolors="#555555", linewidths=0.9)
        away = 1000 * rows["difference"]
        another = of_another_model(rows)
        own = ~another
        if own.any():
            colours = rows.loc[own, "verdict"].map(COLOURS)
            left.scatter(rows.loc[own, "ours"], place[own], s=11, c=colours)
            right.scatter(away[own], place[own], s=16, c=colours)
        if another.any():
            left.scatter(rows.loc[another, "ours"], place[another], s=14, **ANOTHER)
            right.scatter(away[another], place[another], s=18, **ANOTHER)
        _finish_comparison(left, right, labels, rows)
        figure.suptitle(title + (f"\n({notice})" if notice else ""), fontsize=12)
    return figure


def of_another_model(rows):
    """Tell which rows of a ledger rest on another model than the paper's.

    Parameters
    ----------
    rows : pandas.DataFrame
        Of the ledger, or with its column `verdict` alone.

    Returns
    -------
    pandas.Series of bool
    """
    if "evidence" not in rows:
        return pd.Series(False, rows.index)
    return rows["evidence"].isin(ANOTHER_MODEL)


def _spread(rows):
    """Small vertical offsets, so that the cells of a row do not hide one another."""
    position = rows.groupby("row", sort=False).cumcount()
    size = rows.groupby("row", sort=False)["row"].transform("size")
    return 0.7 * ((position + 0.5) / size - 0.5)


def _finish_comparison(left, right, labels, rows):
    left.set_yticks(range(len(labels)), labels)
    left.invert_yaxis()
    left.set_xlabel("correlation")
    right.set_xscale("symlog", linthresh=1)
    right.axvspan(-0.5, 0.5, color="#1b7837", alpha=0.12, lw=0)
    limit = max(12, 1.5 * np.nanmax(np.abs(1000 * rows["difference"]), initial=0))
    right.set_xlim(-limit, limit)
    ticks = [t for t in (-1000, -100, -10, -1, 0, 1, 10, 100, 1000) if abs(t) <= limit]
    right.set_xticks(ticks, [f"{t:g}" for t in ticks])
    right.set_xlabel("ours − printed, in thousandths\n(band: the same digits; log scale beyond ±1)")
    for axis in (left, right):
        axis.grid(axis="y", visible=False)
    another = of_another_model(rows)
    present = [v for v in COLOURS if v in set(rows.loc[~another, "verdict"])]
    dot = {"marker": "o", "linestyle": ""}
    handles = [plt.Line2D([], [], markerfacecolor="none", color="#555555", label="printed", **dot)]
    handles += [plt.Line2D([], [], color=COLOURS[v], label=f"ours: {v.replace('_', ' ')}", **dot)
                for v in present]
    if another.any():
        handles.append(plt.Line2D([], [], linestyle="", **ANOTHER))
    left.figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


def deviations(panels, *, title):
    """Draw deviations by label and group, a panel each.

    Parameters
    ----------
    panels : dict of str to pandas.DataFrame
        By the panel's axis label, `label` (a line), `value` (deviation) and `group`
        (colour), in the order to draw.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    heights = [frame["label"].nunique() for frame in panels.values()]
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        height = 1.5 + 1.1 * len(panels) + 0.27 * sum(heights)
        figure, axes = plt.subplots(len(panels), 1, figsize=(9, height), layout="constrained",
                                    gridspec_kw={"height_ratios": heights}, squeeze=False)
        for axis, (label, frame) in zip(axes.flat, panels.items()):
            sns.stripplot(frame, x="value", y="label", hue="group", ax=axis, palette="colorblind",
                          size=5, jitter=False, dodge=frame["group"].nunique() > 1, alpha=0.7)
            axis.axvline(0, color="#555555", lw=0.8)
            axis.set(xlabel=label, ylabel="")
            sns.move_legend(axis, "upper left", bbox_to_anchor=(1.01, 1), title=None, frameon=False)
        figure.suptitle(title, fontsize=12)
    return figure


def curves(frame, *, x, y, hue, column, title, notice=""):
    """Draw curves with bands, a panel for each value of a column.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per draw; the line is the mean over rows with equal `x`, the band two
        standard deviations.
    x, y, hue, column : str
        Columns of the frame.
    title : str
    notice : str
        Written on the figure when the values come from the sample.

    Returns
    -------
    matplotlib.figure.Figure
    """
    values = list(dict.fromkeys(frame[column]))
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(values), figsize=(2.7 * len(values), 3.6), sharey=True,
                                    layout="constrained", squeeze=False)
        for axis, value in zip(axes.flat, values):
            sns.lineplot(frame[frame[column] == value], x=x, y=y, hue=hue, errorbar=("sd", 2), ax=axis,
                         palette="colorblind", marker="o", markersize=4, legend=axis is axes.flat[0])
            axis.set(title=value)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        axes.flat[0].legend_.remove()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        figure.suptitle(title + (f"\n({notice})" if notice else ""), fontsize=12)
    return figure


def intervals(frame, *, column, title, lines=(), notice="", bars=False):
    """Draw values with their intervals, a panel for each value of a column.

    Parameters
    ----------
    frame : pandas.DataFrame
        `label, value, ci_low, ci_high, group` (colour) and the panels' column, in order.
    column : str
    title : str
    lines : dict of str to float
        By panel, a reference value, drawn as a dashed line.
    notice : str
        Written on the figure when the values come from the sample.
    bars : bool
        Draw bars from zero in the place of dots; without them an axis spans its data, zero or not.

    Returns
    -------
    matplotlib.figure.Figure
    """
    panels, labels = (list(dict.fromkeys(frame[c])) for c in (column, "label"))
    groups = list(dict.fromkeys(frame["group"]))
    colours = dict(zip(groups, sns.color_palette("colorblind", len(groups))))
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(panels), figsize=(2.6 * len(panels), 1.9 + 0.27 * len(labels)),
                                    sharey=True, layout="constrained", squeeze=False)
        for axis, panel in zip(axes.flat, panels):
            part = frame[frame[column] == panel]
            place = part["label"].map(labels.index)
            colour = list(part["group"].map(colours))
            axis.hlines(place, part["ci_low"], part["ci_high"], colors="#222222" if bars else colour, lw=1.5)
            if bars:
                axis.barh(place, part["value"], color=colour, alpha=0.75)
            axis.scatter(part["value"], place, c=colour, s=5 if bars else 22, zorder=3)
            if panel in lines:
                axis.axvline(lines[panel], color="#333333", ls="--", lw=1)
            axis.set(title=panel)
            axis.grid(axis="y", visible=False)
        axes.flat[0].set_yticks(range(len(labels)), labels)
        axes.flat[0].set_ylim(len(labels) - 0.5, -0.5)
        handles = [plt.Line2D([], [], marker="s" if bars else "o", color=colours[g], label=g) for g in groups]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(groups), frameon=False)
        figure.suptitle(title + (f"\n({notice})" if notice else ""), fontsize=12)
    return figure


def specification_curve(table, *, factors, title, ylabel, notice=""):
    """Draw a difference in every universe, and below it the choices that make each universe.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per universe, in order: `difference` and the factors, from
        `nlgjudge.studies.which_choices_flip.curve`.
    factors : list of str
    title, ylabel : str
    notice : str
        Written on the figure when the values come from the sample.

    Returns
    -------
    matplotlib.figure.Figure
    """
    table = table.dropna(subset=["difference"]).reset_index(drop=True)
    options = [(f, o) for f in factors for o in dict.fromkeys(table[f].sort_values()) if o]
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, (top, bottom) = plt.subplots(
            2, 1, figsize=(10, 3.4 + 0.22 * len(options)), sharex=True, layout="constrained",
            gridspec_kw={"height_ratios": (2.6, 0.22 * len(options))})
        colours = np.select([table["difference"] > 1e-12, table["difference"] < -1e-12],
                            ["#2166ac", "#b2182b"], "#999999")
        top.scatter(table.index, table["difference"], c=colours, s=9)
        top.axhline(0, color="#555555", lw=0.8)
        top.set_ylabel(ylabel)
        for line, (factor, option) in enumerate(options):
            chosen = table.index[table[factor] == option]
            bottom.scatter(chosen, [line] * len(chosen), c=colours[chosen], marker="|", s=26, lw=0.9)
        bottom.set_yticks(range(len(options)), [f"{f}: {o}" for f, o in options], fontsize=9)
        bottom.invert_yaxis()
        bottom.set_xlabel("universes, sorted")
        for axis in (top, bottom):
            axis.grid(axis="x", visible=False)
        figure.suptitle(title + (f"\n({notice})" if notice else ""), fontsize=12)
    return figure


def save(figure, name, *, sample=False, folder=None):
    """Save a figure as `figures/<name>.svg` and `.png` in the folder of this run's results.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        The notebook's name.
    sample : bool
        Whether it shows the sample; it is then kept apart, in `sample/figures/`.
    folder : pathlib.Path, optional
        Of the results, in the place of this run's.
    """
    folder = (folder or out(sample)) / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
