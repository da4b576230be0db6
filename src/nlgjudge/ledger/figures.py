"""Charts of the notebooks, and how they are saved."""

import textwrap
from itertools import cycle

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from nlgjudge.data.paths import out
from nlgjudge.ledger.verdicts import of_others
from nlgjudge.namespaces import optional

sns = optional("seaborn", "notebooks")

# Distinguishable for colour-blind readers and in grey.
COLOURS = {
    "exact": "#1b7837",
    "close": "#7fbf7b",
    "within_ci": "#f1a340",
    "differs": "#b2182b",
    "sign_flipped": "#762a83",
    "relabelled": "#2166ac",
    "misprint": "#8c510a",
    "not_run": "#bbbbbb",
}
# A cell of another model or another run neither agrees nor disagrees.
ANOTHER = {"color": "#737373", "marker": "D", "label": "another model or run"}
# The salt makes the identifiers in an SVG file the same in every run.
STYLE = {
    "svg.hashsalt": "nlgjudge",
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 100,
    "savefig.dpi": 150,
}
ASPECT_COLOURS = [
    "#0097a7",
    "#e69f00",
    "#c2528b",
    "#222222",
    "#56b4e9",
    "#8c6d31",
    "#7a7acb",
    "#a6a600",
    "#f2a7cd",
    "#00505c",
    "#d8c27a",
    "#b79ad6",
]
MARKERS = {"spearman": "o", "pearson": "s", "kendall": "^"}


def comparison(rows, *, title, notice=""):
    """Plot published values against ours, and the differences.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `nlgjudge.ledger.comparison.compare`, or the `cells` of a `PaperTable`. Averages are left
        out.
    title : str
    notice : str
        Added to the title if the values come from the sample.

    Returns
    -------
    matplotlib.figure.Figure
        Left: published values (hollow) and ours (filled) by row; the colour is the aspect, the marker
        the coefficient. Right: ours minus published in thousandths, on a scale that is linear up to
        one and logarithmic beyond; the colour is the verdict. Cells of another model than the
        paper's, or of another run of the metric, are diamonds, grey on the right. Each level has its
        own pair of panels.

    Examples
    --------
    >>> from nlgjudge.ledger.ledger import committed
    >>> rows = committed().query("paper == 'geval' and artefact == 'table1'")
    >>> figure = comparison(rows, title="G-Eval, Table 1")
    >>> [axis.get_xlabel().split(",")[0] for axis in figure.axes]
    ['correlation', 'ours − published']
    """
    rows = rows[(rows["aspect"] != "AVG") & (rows["published"] != "")]
    several = [name for name in ("aspect", "dataset", "coefficient") if rows[name].nunique() > 1]
    tint = (several or ["aspect"])[0]
    colours = dict(zip(rows[tint].unique(), cycle(ASPECT_COLOURS)))
    others = of_others(rows)
    rows = rows.assign(
        published=rows["published"].astype(float),
        away=1000 * rows["difference"],
        colour=rows[tint].map(colours),
        marker=rows["coefficient"].map(MARKERS),
        ours_marker=rows["coefficient"].map(MARKERS).mask(others, ANOTHER["marker"]),
        verdict_colour=rows["verdict"].map(COLOURS).mask(others, ANOTHER["color"]),
    )
    levels = list(rows["level"].unique()) or [""]
    panels = [rows[rows["level"] == level] for level in levels]
    lines = [max(1, cells["row"].nunique()) for cells in panels]
    cells_per_line = len(rows) / sum(lines)
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(panels),
            2,
            figsize=(10, 2.2 + 0.6 * len(panels) + sum(lines) * max(0.34, 0.055 * cells_per_line)),
            sharex="col",
            sharey="row",
            layout="constrained",
            squeeze=False,
            gridspec_kw={"width_ratios": (3, 2), "height_ratios": lines},
        )
        for (left, right), cells, level in zip(axes, panels, levels):
            _draw_cells(left, right, cells)
            if len(levels) > 1:
                left.set_title(f"{level} level", loc="left")
        limit = max(12, 1.5 * np.nanmax(rows["away"].abs(), initial=0))
        ticks = [tick for tick in (-1000, -100, -10, -1, 0, 1, 10, 100, 1000) if abs(tick) <= limit]
        right.set_xscale("symlog", linthresh=1)
        right.set_xlim(-limit, limit)
        right.set_xticks(ticks, [str(tick) for tick in ticks])
        left.set_xlabel("correlation")
        right.set_xlabel(
            "ours − published, in thousandths\n(band: same digits; log scale beyond ±1)"
        )
        _add_legends(figure, rows, tint, colours, others)
        _write_title(figure, title, notice)
    return figure


def _draw_cells(left, right, cells):
    """Draw one level: the values on the left, the differences on the right, each cell at one height."""
    labels = list(cells["row"].unique())
    # The cells of a row are spread over the height of its line.
    in_row = cells.groupby("row")["row"]
    spread = (in_row.cumcount() + 0.5) / in_row.transform("size") - 0.5
    places = cells["row"].map(labels.index) + 0.7 * spread
    left.hlines(places, cells["published"], cells["ours"], color="#aaaaaa", lw=0.8, zorder=0.9)
    for marker, part in cells.groupby("marker", sort=False):
        height = places[part.index]
        ring = {"facecolors": "none", "edgecolors": "#555555", "linewidths": 0.9}
        left.scatter(part["published"], height, s=44, marker=marker, **ring)
    for marker, part in cells.groupby("ours_marker", sort=False):
        height = places[part.index]
        left.scatter(part["ours"], height, s=16, marker=marker, c=part["colour"])
        right.scatter(part["away"], height, s=20, marker=marker, c=part["verdict_colour"])
    left.set_yticks(range(len(labels)), labels)
    left.set_ylim(len(labels) - 0.5, -0.5)
    right.axvspan(-0.5, 0.5, color="#1b7837", alpha=0.12, lw=0)
    for axis in (left, right):
        axis.grid(axis="y", visible=False)
        for edge in range(1, len(labels)):
            axis.axhline(edge - 0.5, color="#dddddd", lw=0.8, zorder=0)


def _add_legends(figure, rows, tint, colours, others):
    """Left: colours and markers of the values. Right: the verdicts that occur."""
    shown = [_key("published (hollow)", "#555555", markerfacecolor="none")]
    if tint != "coefficient":
        shown += [_key(name, colour) for name, colour in colours.items()]
    for name in rows["coefficient"].unique():
        colour = colours[name] if tint == "coefficient" else "#777777"
        shown.append(_key(name.capitalize(), colour, marker=MARKERS[name]))
    occurring = set(rows.loc[~others, "verdict"])
    verdicts = [_key(name, colour) for name, colour in COLOURS.items() if name in occurring]
    if others.any():
        verdicts.append(plt.Line2D([], [], linestyle="", **ANOTHER))
    style = {"frameon": False, "fontsize": 9, "alignment": "left"}
    left = " and ".join(dict.fromkeys([tint, "coefficient"]))
    figure.legend(handles=shown, loc="outside lower left", ncols=3, title=f"left: {left}", **style)
    figure.legend(
        handles=verdicts, loc="outside lower right", ncols=2, title="right: verdict", **style
    )


def _key(label, colour, marker="o", **options):
    label = label.replace("_", " ")
    return plt.Line2D([], [], marker=marker, linestyle="", color=colour, label=label, **options)


def _write_title(figure, title, notice=""):
    """Write the title and the notice, broken where a line is wider than the figure."""
    lines = [*title.split("\n"), f"({notice})"] if notice else title.split("\n")
    width = int(10.5 * figure.get_figwidth())
    figure.suptitle("\n".join(textwrap.fill(line, width) for line in lines), fontsize=12)


def curves(frame, *, x, y, hue, column, title, notice=""):
    """Plot curves with bands, one panel per value of a column.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per draw. The line is the mean of the rows with equal `x`, the band two standard
        deviations.
    x, y, hue, column : str
        Columns of the frame.
    title : str
    notice : str
        Added to the title if the values come from the sample.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import pandas as pd
    >>> draws = pd.DataFrame({"samples": [1, 2, 1, 2], "rho": [0.2, 0.3, 0.4, 0.5], "judge": "a",
    ...                       "aspect": ["fluency", "fluency", "coherence", "coherence"]})
    >>> figure = curves(draws, x="samples", y="rho", hue="judge", column="aspect", title="Two panels")
    >>> [axis.get_title() for axis in figure.axes]
    ['fluency', 'coherence']
    """
    values = list(frame[column].unique())
    look = {"palette": "colorblind", "marker": "o", "markersize": 4, "errorbar": ("sd", 2)}
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            1,
            len(values),
            figsize=(2.7 * len(values), 3.6),
            sharey=True,
            layout="constrained",
            squeeze=False,
        )
        for axis, value in zip(axes.flat, values):
            panel = frame[frame[column] == value]
            sns.lineplot(panel, x=x, y=y, hue=hue, ax=axis, **look)
            axis.set_title(value)
            handles, labels = axis.get_legend_handles_labels()
            axis.get_legend().remove()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        _write_title(figure, title, notice)
    return figure


def intervals(frame, *, column, title, lines=(), notice=""):
    """Plot values with their intervals, one panel per value of a column.

    Parameters
    ----------
    frame : pandas.DataFrame
        `label, value, ci_low, ci_high, group` (colour) and the panels' column, in the order to draw.
    column : str
    title : str
    lines : dict of str to float
        By panel, a reference value, drawn as a dashed line.
    notice : str
        Added to the title if the values come from the sample.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"label": ["BLEU", "METEOR"], "value": [0.2, 0.3], "ci_low": [0.1, 0.2],
    ...                       "ci_high": [0.3, 0.4], "group": "metric", "aspect": "fluency"})
    >>> figure = intervals(frame, column="aspect", title="Two metrics")
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['BLEU', 'METEOR']
    """
    panels = list(frame[column].unique())
    labels = list(frame["label"].unique())
    groups = list(frame["group"].unique())
    colours = dict(zip(groups, sns.color_palette("colorblind", len(groups))))
    size = (2.6 * len(panels), 1.9 + 0.27 * len(labels))
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, len(panels), figsize=size, sharey=True, layout="constrained", squeeze=False
        )
        for axis, name in zip(axes.flat, panels):
            panel = frame[frame[column] == name]
            place = panel["label"].map(labels.index)
            colour = list(panel["group"].map(colours))
            axis.hlines(place, panel["ci_low"], panel["ci_high"], colors=colour, lw=1.5)
            axis.scatter(panel["value"], place, c=colour, s=22, zorder=3)
            if name in lines:
                axis.axvline(lines[name], color="#333333", ls="--", lw=1)
            axis.set_title(name)
            axis.grid(axis="y", visible=False)
        axes[0, 0].set_yticks(range(len(labels)), labels)
        axes[0, 0].set_ylim(len(labels) - 0.5, -0.5)
        handles = [
            plt.Line2D([], [], marker="o", color=colours[name], label=name) for name in groups
        ]
        figure.legend(
            handles=handles, loc="outside lower center", ncols=len(handles), frameon=False
        )
        _write_title(figure, title, notice)
    return figure


def save(figure, name, *, sample=False, folder=None):
    """Save a figure as `figures/<name>.svg` and `.png` in the folder of this run's results.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        The notebook's name.
    sample : bool
        Whether it shows the sample; it is then stored separately, in `sample/figures/`.
    folder : pathlib.Path, optional
        Replaces the folder of this run's results.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> figure, _ = plt.subplots(figsize=(1, 1))
    >>> with TemporaryDirectory() as made:
    ...     save(figure, "mine", folder=Path(made))
    ...     print(sorted(path.name for path in Path(made, "figures").iterdir()))
    ['mine.png', 'mine.svg']
    >>> plt.close(figure)
    """
    folder = (folder or out(sample)) / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        # Without date and versions, the files change only when the figure does.
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
