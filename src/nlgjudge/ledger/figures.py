"""Figures: written by the notebooks, as SVG and PNG, the same bytes on every run."""

import sys
import textwrap

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import TextPath

from nlgjudge.data.paths import out
from nlgjudge.ledger.verdicts import of_others

# Colours that stay apart for colour-blind readers and in grey.
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
# A cell of another model or another run is neither met nor missed: it has a colour and a marker of its own.
ANOTHER = {"color": "#737373", "marker": "D", "label": "another model or run"}
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


# Colours of aspects, apart from those of the verdicts and from one another, for colour-blind readers too.
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
COEFFICIENT_MARKERS = {"spearman": "o", "pearson": "s", "kendall": "^"}
_UNKNOWN_VERDICT = "#8c564b"


def comparison(rows, *, title, notice=""):
    """Draw a table against its reproduction: the values, and how far they are apart.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `nlgjudge.ledger.comparison.compare`, or the `cells` of a whole table; printed averages are left
        out.
    title : str
    notice : str
        Written across the figure when the values come from the sample.

    Returns
    -------
    matplotlib.figure.Figure
        Left, printed values (rings) and ours (filled) by row: the colour is the aspect, the marker the
        coefficient. Right, ours minus printed in thousandths, on a scale that is linear up to one and
        logarithmic beyond; the colour is the verdict. A cell has the same height left and right. Cells of another
        model than the paper's, or of another run of the metric, are diamonds, grey on the right. Where the
        rows are of several levels, each level has two panels, and all share their horizontal axes.

    Examples
    --------
    >>> from nlgjudge.data.paths import root
    >>> from nlgjudge.ledger.ledger import read
    >>> rows = read(root() / "paper_tables" / "ledger.csv").query("paper == 'geval' and artefact == 'table1'")
    >>> figure = comparison(rows, title="G-Eval, Table 1")
    >>> [axis.get_xlabel().split(",")[0] for axis in figure.axes]
    ['correlation', 'ours − printed']
    """
    rows = rows[(rows["aspect"] != "AVG") & (rows["published"] != "")]
    rows = _with_places(rows)
    panels = {level: rows[rows["level"] == level] if level else rows for level in _levels(rows)}
    lines = [max(1, cells["row"].nunique()) for cells in panels.values()]
    most_in_a_row = rows["cells in the row"].max() if len(rows) else 1
    height = 2.2 + 0.6 * len(panels) + sum(lines) * max(0.34, 0.055 * most_in_a_row)
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(panels),
            2,
            figsize=(10, height),
            sharex="col",
            sharey="row",
            layout="constrained",
            squeeze=False,
            gridspec_kw={"width_ratios": (3, 2), "height_ratios": lines},
        )
        for (left, right), (level, cells) in zip(axes, panels.items()):
            _draw_cells(left, right, cells)
            _finish_panel(left, right, list(dict.fromkeys(cells["row"])), level)
        _finish_differences(axes[-1, 1], rows)
        axes[-1, 0].set_xlabel("correlation")
        figure.legend(
            handles=_keys_of_verdicts(rows),
            loc="outside lower right",
            ncols=2,
            frameon=False,
            fontsize=9,
            title="right: verdict on ours",
            alignment="left",
        )
        shown = " and ".join(dict.fromkeys([_tint_of(rows), "coefficient"]))
        figure.legend(
            handles=_keys_of_cells(rows),
            loc="outside lower left",
            ncols=3,
            frameon=False,
            fontsize=9,
            title=f"left: {shown}",
            alignment="left",
        )
        _write_title(figure, title, notice)
    return figure


def _columns(rows, *names):
    """Those of the names that are columns of the rows."""
    return [name for name in names if name in rows]


def _levels(rows):
    """The levels where the rows have several, and otherwise one empty name."""
    if "level" in rows and rows["level"].nunique() > 1:
        return list(dict.fromkeys(rows["level"]))
    return [""]


def _with_places(rows):
    """Add the height at which each cell is drawn, its colour, its marker and its verdict's colour.

    The rows of a level lie below one another, and so do the cells of a row, so that none hides another.
    """
    rows = rows.assign(tint=rows[_tint_of(rows)], marker="o")
    rows["colour"] = rows["tint"].map(_palette(rows))
    if "coefficient" in rows:
        rows["marker"] = rows["coefficient"].map(COEFFICIENT_MARKERS).fillna("o")
    level = rows["level"] if "level" in rows else pd.Series("", rows.index)
    lines = {
        name: list(dict.fromkeys(labels)) for name, labels in rows["row"].groupby(level, sort=False)
    }
    line = [lines[name].index(row) for name, row in zip(level, rows["row"])]
    by_row = rows.groupby([level, rows["row"]], sort=False)
    rows["cells in the row"] = by_row["row"].transform("size")
    rows["place"] = line + 0.7 * ((by_row.cumcount() + 0.5) / rows["cells in the row"] - 0.5)
    rows["verdict_colour"] = [COLOURS.get(verdict, _UNKNOWN_VERDICT) for verdict in rows["verdict"]]
    return rows


def _tint_of(rows):
    """The column that the colour shows: aspects where there are several, else datasets or coefficients."""
    for name in _columns(rows, "aspect", "dataset", "coefficient"):
        if rows[name].nunique() > 1:
            return name
    return "aspect"


def _palette(rows):
    tints = list(dict.fromkeys(rows["tint"]))
    colours = [ASPECT_COLOURS[number % len(ASPECT_COLOURS)] for number in range(len(tints))]
    return dict(zip(tints, colours))


def _draw_cells(left, right, rows):
    """Draw the cells: printed values and ours on the left, what lies between them on the right."""
    another = of_others(rows)
    away = 1000 * rows["difference"]
    printed = rows["published"].astype(float)
    left.plot(
        [printed, rows["ours"]], [rows["place"], rows["place"]], color="#aaaaaa", lw=0.8, zorder=0.9
    )
    for marker, cells in rows.groupby("marker", sort=False):
        left.scatter(
            printed[cells.index],
            cells["place"],
            s=44,
            marker=marker,
            facecolors="none",
            edgecolors="#555555",
            linewidths=0.9,
        )
        own = cells[~another[cells.index]]
        if len(own):
            left.scatter(own["ours"], own["place"], s=16, marker=marker, c=own["colour"])
            right.scatter(
                away[own.index], own["place"], s=20, marker=marker, c=own["verdict_colour"]
            )
    others = rows[another]
    if len(others):
        left.scatter(
            others["ours"],
            others["place"],
            s=16,
            marker=ANOTHER["marker"],
            label=ANOTHER["label"],
            c=others["colour"],
        )
        right.scatter(away[others.index], others["place"], s=18, **ANOTHER)


def _finish_panel(left, right, labels, level):
    left.set_yticks(range(len(labels)), labels)
    left.set_ylim(len(labels) - 0.5, -0.5)
    right.axvspan(-0.5, 0.5, color="#1b7837", alpha=0.12, lw=0)
    if level:
        left.set_title(f"{level} level", loc="left")
    for axis in (left, right):
        axis.grid(axis="y", visible=False)
        for edge in range(1, len(labels)):
            axis.axhline(edge - 0.5, color="#dddddd", lw=0.8, zorder=0)


def _finish_differences(axis, rows):
    axis.set_xscale("symlog", linthresh=1)
    largest = np.nanmax(np.abs(1000 * rows["difference"]), initial=0)
    limit = max(12, 1.5 * largest)
    axis.set_xlim(-limit, limit)
    powers = [power for power in (1, 10, 100, 1000) if power <= limit]
    ticks = [*(-power for power in reversed(powers)), 0, *powers]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xlabel("ours − printed, in thousandths\n(band: the same digits; log scale beyond ±1)")


def _keys_of_verdicts(rows):
    """Entries of the legend on the right: the verdicts that occur, and another model or run where there is one."""
    another = of_others(rows)
    occurring = dict(
        rows.loc[~another, ["verdict", "verdict_colour"]].itertuples(index=False, name=None)
    )
    order = dict.fromkeys([*COLOURS, *occurring])
    handles = []
    for verdict in order:
        if verdict in occurring:
            handles.append(_key(_words(verdict), occurring[verdict]))
    if another.any():
        handles.append(plt.Line2D([], [], linestyle="", **ANOTHER))
    return handles


def _keys_of_cells(rows):
    """Entries of the legend on the left: the print, the colours, and the markers of the coefficients."""
    handles = [_key("printed (hollow)", "#555555", markerfacecolor="none")]
    shown = _tint_of(rows)
    if shown != "coefficient":
        for tint, colour in _palette(rows).items():
            handles.append(_key(_words(tint), colour))
    if "coefficient" in rows:
        cells = rows.drop_duplicates("coefficient")
        for name, marker, colour in cells[["coefficient", "marker", "colour"]].itertuples(
            index=False, name=None
        ):
            colour = colour if shown == "coefficient" else "#777777"
            handles.append(_key(name.capitalize(), colour, marker=marker))
    return handles


def _key(label, colour, marker="o", **options):
    return plt.Line2D([], [], marker=marker, linestyle="", color=colour, label=label, **options)


def _words(name):
    return str(name).replace("_", " ")


_TITLE_SIZE = 12


def _write_title(figure, title, notice=""):
    """Write the title, and below it the notice where there is one."""
    if notice:
        title = f"{title}\n({notice})"
    figure.suptitle(title, fontsize=_TITLE_SIZE)


def _fit_title(figure):
    """Break the lines of the title that are wider than the figure."""
    available = 0.98 * 72 * figure.get_figwidth()
    lines = figure.get_suptitle().split("\n")
    fitting = []
    for line in lines:
        width = 0
        if line.strip():
            drawn = TextPath((0, 0), line, size=_TITLE_SIZE)
            # Of its points, and not of the curves between them, which would take ten times as long.
            width = np.ptp(drawn.vertices[drawn.codes != drawn.CLOSEPOLY, 0])
        if width > available:
            characters = int(len(line) * available / width)
            fitting += textwrap.wrap(line, max(1, characters))
        else:
            fitting.append(line)
    if fitting != lines:
        figure.suptitle("\n".join(fitting), fontsize=_TITLE_SIZE)


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

    Examples
    --------
    >>> import pandas as pd
    >>> draws = pd.DataFrame({"samples": [1, 2, 1, 2], "rho": [0.2, 0.3, 0.4, 0.5], "judge": "a",
    ...                       "aspect": ["fluency", "fluency", "coherence", "coherence"]})
    >>> figure = curves(draws, x="samples", y="rho", hue="judge", column="aspect", title="Two panels")
    >>> [axis.get_title() for axis in figure.axes]
    ['fluency', 'coherence']
    """
    values = list(dict.fromkeys(frame[column]))
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            1,
            len(values),
            figsize=(2.7 * len(values), 3.6),
            sharey=True,
            layout="constrained",
            squeeze=False,
        )
        first = axes.flat[0]
        for axis, value in zip(axes.flat, values):
            panel = frame[frame[column] == value]
            sns.lineplot(
                panel,
                x=x,
                y=y,
                hue=hue,
                errorbar=("sd", 2),
                ax=axis,
                palette="colorblind",
                marker="o",
                markersize=4,
                legend=axis is first,
            )
            axis.set(title=value)
        handles, labels = first.get_legend_handles_labels()
        first.legend_.remove()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        _write_title(figure, title, notice)
    return figure


def intervals(frame, *, column, title, lines=(), notice="", bars=False, also=""):
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
    also : str
        A further column of values, drawn as hollow diamonds under this name; NaN for none.

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
    panels = list(dict.fromkeys(frame[column]))
    labels = list(dict.fromkeys(frame["label"]))
    groups = list(dict.fromkeys(frame["group"]))
    colours = dict(zip(groups, sns.color_palette("colorblind", len(groups))))
    size = (2.6 * len(panels), 1.9 + 0.27 * len(labels))
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, len(panels), figsize=size, sharey=True, layout="constrained", squeeze=False
        )
        for axis, panel in zip(axes.flat, panels):
            _draw_intervals(axis, frame[frame[column] == panel], labels, colours, bars)
            if also:
                _draw_diamonds(axis, frame[frame[column] == panel], labels, also)
            if panel in lines:
                axis.axvline(lines[panel], color="#333333", ls="--", lw=1)
            axis.set(title=panel)
            axis.grid(axis="y", visible=False)
        first = axes.flat[0]
        first.set_yticks(range(len(labels)), labels)
        first.set_ylim(len(labels) - 0.5, -0.5)
        marker = "s" if bars else "o"
        handles = [
            plt.Line2D([], [], marker=marker, color=colours[group], label=group) for group in groups
        ]
        if also:
            handles.append(plt.Line2D([], [], linestyle="", label=also, **_HOLLOW))
        figure.legend(
            handles=handles, loc="outside lower center", ncols=len(handles), frameon=False
        )
        _write_title(figure, title, notice)
    return figure


_HOLLOW = {"marker": "D", "color": "#222222", "markerfacecolor": "none", "markersize": 5}


def _draw_diamonds(axis, panel, labels, column):
    """Draw a second value beside each of a panel."""
    place = panel["label"].map(labels.index)
    axis.plot(panel[column], place, linestyle="", zorder=4, **_HOLLOW)


def _draw_intervals(axis, panel, labels, colours, bars):
    """Draw the values of one panel and their intervals."""
    place = panel["label"].map(labels.index)
    colour = list(panel["group"].map(colours))
    axis.hlines(
        place, panel["ci_low"], panel["ci_high"], colors="#222222" if bars else colour, lw=1.5
    )
    if bars:
        axis.barh(place, panel["value"], color=colour, alpha=0.75)
    axis.scatter(panel["value"], place, c=colour, s=5 if bars else 22, zorder=3)


def save(figure, name, *, sample=False, folder=None):
    """Save a figure as `figures/<name>.svg` and `.png` in the folder of this run's results.

    A line of its title that is wider than the figure is broken first, and its parts keep the places they have then.
    In a notebook it is shown at once, as the file that was written, and closed: it is not drawn once more for the cell.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        The notebook's name.
    sample : bool
        Whether it shows the sample; it is then kept apart, in `sample/figures/`.
    folder : pathlib.Path, optional
        Of the results, in the place of this run's.

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
        _fit_title(figure)
        _lay_out(figure)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    _show(figure, (folder / f"{name}.png").read_bytes())


def _show(figure, png):
    """Show a figure's picture in a notebook that draws figures below cells, and no longer draw it there."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if not hasattr(shell, "kernel") or "inline" not in matplotlib.get_backend():
        return
    width = int(
        STYLE["figure.dpi"] * figure.get_figwidth()
    )  # as wide as Jupyter would have drawn it
    shell.display_pub.publish(
        {"image/png": png, "text/plain": repr(figure)}, {"image/png": {"width": width}}
    )
    plt.close(figure)


def _lay_out(figure):
    """Place a figure's parts once, for both files and the notebook; each would do so anew, by drawings of its own."""
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.execute(figure)
        figure.set_layout_engine(None)
