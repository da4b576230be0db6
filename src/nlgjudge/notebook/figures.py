"""Charts of the notebooks, and how they are saved."""

from __future__ import annotations

import textwrap
from itertools import cycle
from typing import TYPE_CHECKING, Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.collections import Collection
from matplotlib.lines import AxLine

from nlgjudge.data.paths import out
from nlgjudge.ledger.ledger import cell_counts
from nlgjudge.ledger.printed import KEY
from nlgjudge.ledger.verdicts import GROUPS, of_others, titled, was_run
from nlgjudge.namespaces import optional
from nlgjudge.notebook.whole_table import LETTERS, SHOWN
from nlgjudge.papers.folders import titles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LOOKS", "STYLE", "comparison", "counts", "curves", "intervals", "overview", "save"]
sns = optional("seaborn", "notebooks")

# The tints of the tables as dots and lines need them; other verdicts are told by their marker.
SOLID = {"reproduces": "#00592d", "differs": "#e6550d", "no value": "#bbbbbb", "": "#222222"}
COLOURS = {verdict: SOLID[tint] for verdict, (_, tint, _) in SHOWN.items() if verdict}
# By verdict; nothing is shown by colour alone.
MARKERS = dict(zip(COLOURS, "os^PXv*."))
# A cell of another model or another run neither agrees nor disagrees.
GREY = "#737373"
ANOTHER = {"color": GREY, "marker": "D", "label": "another model or run"}
OTHERS = dict(zip(LETTERS, "DXs^"))  # markers by evidence
BARS = dict(zip(GROUPS, [SOLID["reproduces"], SOLID["differs"], SOLID[""], GREY, "#dddddd"]))
TIGHT: Any = {"handlelength": 1, "columnspacing": 1, "handletextpad": 0.4}
# The salt makes the identifiers in an SVG file the same in every run.
STYLE: Any = {
    "svg.hashsalt": "nlgjudge",
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 100,
    "savefig.dpi": 150,
}
# Of aspects and other groups: colour and marker.
LOOKS = {
    "#0097a7": "o",
    "#e69f00": "s",
    "#c2528b": "^",
    "#222222": "D",
    "#56b4e9": "v",
    "#8c6d31": "P",
    "#7a7acb": "<",
    "#a6a600": "*",
    "#f2a7cd": ">",
    "#00505c": "h",
    "#d8c27a": "p",
    "#b79ad6": "d",
}
# In the order of `LOOKS`, so that an aspect looks the same in every figure.
ASPECTS = [
    "coherence",
    "consistency",
    "fluency",
    "relevance",
    "informativeness",
    "naturalness",
    "engagingness",
    "groundedness",
    "quality",
    "overall",
    "understandability",
]


def _looks(names):
    """Colour and marker of each name: an aspect has its own, others those that are free."""
    own = {name: look for name, look in zip(ASPECTS, LOOKS.items()) if name in names}
    free = cycle([look for look in LOOKS.items() if look not in own.values()])
    return {name: own.get(name) or next(free) for name in names}


def comparison(rows: pd.DataFrame, *, title: str, notice: str = "") -> Figure:
    """Plot published values against ours, and the differences.

    One panel per level and coefficient: published values (large and hollow) and ours (small and filled) by row; marker,
    colour and height show the aspect. On the right: ours minus published in thousandths, on a scale that is linear up
    to one and logarithmic beyond, by verdict; grey diamonds are cells of another model or another run of the metric.

    Parameters
    ----------
    rows
        With the ledger's columns. Averages are left out.
    title, notice
        The notice is added to the title if the values come from the sample.
    """
    rows = rows[(rows["aspect"] != "AVG") & (rows["published"] != "")]
    if rows.empty:
        figure, _ = plt.subplots(figsize=(10, 1.5), layout="constrained")
        _write_title(figure, title, notice)
        return figure
    several = [name for name in ("dataset", "aspect") if rows[name].nunique() > 1]
    group = rows[several or ["aspect"]].map(titled).agg(", ".join, axis=1)
    looks = _looks(group.unique())
    rows = rows.assign(
        published=rows["published"].astype(float),
        away=1000 * rows["difference"],
        group=group,
        other=of_others(rows),
    )
    levels = list(rows["level"].unique()) or [""]
    panels = [rows[rows["level"] == level] for level in levels]
    coefficients = [list(cells["coefficient"].unique()) or [""] for cells in panels]
    lines = [max(1, cells["row"].nunique()) for cells in panels]
    height = max(0.34, 0.11 * len(looks))
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        size = 10, 2.2 + 0.6 * len(panels) + sum(lines) * height
        how = {"sharex": "col", "sharey": "row", "height_ratios": lines}
        figure, axes = _panels(len(panels), max(map(len, coefficients)) + 1, size, **how)
        shared = all(names == coefficients[0] for names in coefficients)
        for line, cells, level, names in zip(axes, panels, levels, coefficients):
            _draw_cells(line, cells, names, looks)
            titles = [f"{level} level"]
            if not shared:
                titles = [f"{level} level, {titled(name)}" for name in names]
            for axis, text in zip(line, titles if len(levels) > 1 else []):
                axis.set_title(text, loc="left")
        *lefts, right = axes[-1]
        ends = rows[["published", "ours"]].stack()
        for axis, name in zip(lefts, coefficients[-1] if shared else lefts):
            axis.set_xlabel(titled(name) if shared else "correlation")
            axis.set_xlim(ends.min() - 0.04, ends.max() + 0.04)
        limit = max(12, 1.5 * rows["away"].abs().max())
        ticks = [tick for tick in (-1000, -100, -10, -1, 0, 1, 10, 100, 1000) if abs(tick) <= limit]
        right.set_xscale("symlog", linthresh=1)
        right.set_xlim(-limit, limit)
        right.set_xticks(ticks, [str(tick) for tick in ticks])
        right.set_xlabel("ours − published, × 1000\n(band: same digits)")
        _add_legends(figure, rows, looks)
        _write_title(figure, title, notice)
    return figure


def _panels(lines, columns, size, **how):
    return plt.subplots(lines, columns, figsize=size, layout="constrained", squeeze=False, **how)


def _draw_cells(line, cells, coefficients, looks):
    """Draw one level: the values by coefficient, then the differences; an aspect has its height."""
    labels = list(cells["row"].unique())
    nth = cells["group"].map(list(looks).index)
    places = cells["row"].map(labels.index) + 0.8 * ((nth + 0.5) / len(looks) - 0.5)
    *lefts, right = line
    for (name, group), part in cells.groupby(["coefficient", "group"], sort=False):
        left, (colour, marker) = lefts[coefficients.index(name)], looks[group]
        place = places[part.index]
        left.hlines(place, part["published"], part["ours"], color="#aaaaaa", lw=0.8, zorder=0.9)
        ring = {"facecolors": "none", "edgecolors": "#333333", "linewidths": 0.8, "zorder": 3}
        left.scatter(part["published"], place, s=52, marker=marker, **ring)
        left.scatter(part["ours"], place, s=14, marker=marker, c=colour, linewidths=0)
    for verdict, part in cells.groupby(cells["verdict"].mask(cells["other"], "other"), sort=False):
        look = dict(ANOTHER) if verdict == "other" else {"color": COLOURS[verdict]}
        look.setdefault("marker", MARKERS.get(verdict))
        right.scatter(part["away"], places[part.index], s=20, linewidths=0, **look)
    lefts[0].set_yticks(range(len(labels)), labels)
    lefts[0].set_ylim(len(labels) - 0.5, -0.5)
    right.axvspan(-0.5, 0.5, color=SOLID["reproduces"], alpha=0.12, lw=0)
    for axis in line:
        axis.grid(axis="y", visible=False)
        for edge in range(1, len(labels)):
            axis.axhline(edge - 0.5, color="#dddddd", lw=0.8, zorder=0)


def _add_legends(figure, rows, looks):
    """Left: what the values are. Right: the verdicts that occur."""
    shown = [_key("published", "#333333", markersize=8, markerfacecolor="none")]
    shown += [_key("ours", "#333333", markersize=4)]
    shown += [_key(name, *look) for name, look in looks.items() if len(looks) > 1]
    occurring = set(rows.loc[~rows["other"], "verdict"])
    verdicts = [_key(titled(v), COLOURS[v], MARKERS[v]) for v in COLOURS if v in occurring]
    if rows["other"].any():
        verdicts.append(plt.Line2D([], [], linestyle="", **ANOTHER))
    style = {"frameon": False, "fontsize": 9}
    figure.legend(handles=shown, loc="outside lower left", ncols=3, **style)
    figure.legend(handles=verdicts, loc="outside lower right", ncols=2, **style)


def _key(label, colour, marker="o", **options):
    options = {"linestyle": "", "marker": marker, "color": colour, "label": label, **options}
    return plt.Line2D([], [], **options)


def _write_title(figure, title, notice=""):
    """Write the title and the notice, broken where a line is wider than the figure."""
    lines = [*title.split("\n"), f"({notice})"] if notice else title.split("\n")
    width = int(10.5 * figure.get_figwidth())
    figure.suptitle("\n".join(textwrap.fill(line, width) for line in lines), fontsize=12)
    mark_empty(figure)


def curves(
    frame: pd.DataFrame, *, x: str, y: str, hue: str, column: str, title: str, notice: str = ""
) -> Figure:
    """Plot curves with bands, one panel per value of a column.

    Parameters
    ----------
    frame
        One row per draw. The line is the mean of the rows with equal `x`, the band two standard deviations.
    x, y, hue, column
        Columns of the frame.
    title, notice
        As for `comparison`.
    """
    values = list(frame[column].unique())
    looks = _looks(frame[hue].unique())
    colours, markers = ({name: look[which] for name, look in looks.items()} for which in (0, 1))
    look = {"palette": colours, "style": hue, "markers": markers, "errorbar": ("sd", 2)}
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        size = 2.7 * len(values), 3.6
        figure, axes = _panels(1, len(values), size, sharex=True, sharey=True)
        for axis, value in zip(axes.flat, values):
            panel = frame[frame[column] == value]
            sns.lineplot(panel, x=x, y=y, hue=hue, ax=axis, **look)
            axis.set_title(titled(value))
            handles, labels = axis.get_legend_handles_labels()
            axis.get_legend().remove()
        names = [titled(label) for label in labels]
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
        _write_title(figure, title, notice)
    return figure


def intervals(
    frame: pd.DataFrame,
    *,
    column: str,
    title: str,
    lines: dict[str, float] | None = None,
    notice: str = "",
    one_scale: bool = True,
) -> Figure:
    """Plot values with their intervals, one panel per value of a column.

    Parameters
    ----------
    frame
        `label, value, ci_low, ci_high, group` (colour and marker) and the panels' column, in the order to draw.
    column
    title, notice
        As for `comparison`.
    lines
        By panel, a reference value, drawn as a dashed line.
    one_scale
        Whether the panels share their scale.
    """
    panels = list(frame[column].unique())
    labels = list(frame["label"].unique())
    groups = list(frame["group"].unique())
    looks = _looks(groups)
    size = (max(6, 2.6 * len(panels)), 1.9 + 0.27 * len(labels))
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = _panels(1, len(panels), size, sharex=one_scale, sharey=True)
        for axis, name in zip(axes.flat, panels):
            for group, part in frame[frame[column] == name].groupby("group", sort=False):
                colour, marker = looks[group]
                place = part["label"].map(labels.index)
                axis.hlines(place, part["ci_low"], part["ci_high"], colors=[colour], lw=1.5)
                axis.scatter(part["value"], place, color=colour, marker=marker, s=26, zorder=3)
            if lines and name in lines:
                axis.axvline(lines[name], color="#333333", ls="--", lw=1)
            axis.set_title(titled(name))
            axis.grid(axis="y", visible=False)
        axes[0, 0].set_yticks(range(len(labels)), [titled(label) for label in labels])
        axes[0, 0].set_ylim(len(labels) - 0.5, -0.5)
        handles = [_key(titled(name), *looks[name], linestyle="-") for name in groups]
        figure.legend(
            handles=handles, loc="outside lower center", ncols=len(handles), frameon=False
        )
        _write_title(figure, title, notice)
    return figure


def judged(means, recorded):
    """Draw a judge's means, as of a `Rerun`, beside the published ones, a panel for each table.

    `recorded` has `paper, artefact, row, dataset, judge, mean` of recorded judges over the same cells.
    """
    tables = list(means.groupby(["paper", "artefact"], sort=False))
    heights = [0.7 + len(lines) for _, lines in tables]
    with matplotlib.rc_context(STYLE):
        size = 9, 1.2 + 0.36 * sum(heights) + 0.5 * len(tables)
        figure, axes = _panels(len(tables), 1, size, height_ratios=heights)
        for axis, ((paper, artefact), lines) in zip(axes[:, 0], tables):
            _draw_judged(axis, lines, recorded.query("paper == @paper and artefact == @artefact"))
            first = lines.iloc[0]
            what = f"{titled(first['coefficient'])}, {first['level']} level, mean over aspects"
            axis.set(title=f"{titles()[paper]}, {titled(artefact)}", xlabel=what)
        handles = {}
        for axis in axes[:, 0]:
            handles |= dict(zip(*reversed(axis.get_legend_handles_labels())))
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_judged(axis, lines, recorded):
    """One table: a line for each row, published, the judge with its interval, and what to compare it with."""
    several = lines["dataset"].nunique() > 1
    names = lines["row"] + (", " + lines["dataset"].map(titled) if several else "")
    places = dict(zip(zip(lines["row"], lines["dataset"]), range(len(lines))))
    others = [places[place] for place in zip(recorded["row"], recorded["dataset"])]
    y = np.arange(len(lines))
    ends = lines["ours"] - lines["ci_low"], lines["ci_high"] - lines["ours"]
    axis.plot(recorded["mean"], others, "|", color="#8c8c8c", ms=9, label="recorded judges")
    axis.plot(lines["rule"], y, "x", color="#8c8c8c", label="rule-based judge")
    axis.plot(lines["ceiling"], y, "^", color="#8c8c8c", mfc="none", label="a single rater")
    axis.plot(lines["published"], y, "D", color="#222222", mfc="none", ms=9, label="published")
    axis.errorbar(
        lines["ours"], y, xerr=ends, fmt="o", color="#0097a7", label="this judge, 95% interval"
    )
    axis.set(yticks=y, yticklabels=names, ylim=(len(lines) - 0.5, -0.5))
    axis.grid(axis="x", color="#dddddd")


def overview(rows: pd.DataFrame, *, title: str) -> Figure:
    """Draw the ledger's cells of a paper, given in one or several versions.

    Published value against ours with its 95% interval, by verdict; in a second panel, where there are any, the values
    of other models, other runs of a metric and third parties. The number of cells that reproduce follows the title. A
    cell that is the same in several versions is drawn once.
    """
    compared = rows[was_run(rows)]
    compared = compared.drop_duplicates(["artefact", *KEY, "published", "ours"])
    compared = compared.assign(published=pd.to_numeric(compared["published"]))
    others = of_others(compared)
    panels = 2 if others.any() else 1
    with matplotlib.rc_context(STYLE):
        figure, axes = _panels(1, panels, (5.5 * panels, 5.2))
        squares = axes[0]
        looks = dict(zip(COLOURS, zip(COLOURS.values(), MARKERS.values())))
        _draw_points(squares[0], compared[~others], "verdict", looks)
        squares[0].set(
            title="From the paper's texts, scores or replies", ylabel="our value, with 95% interval"
        )
        if panels == 2:
            looks = {evidence: (GREY, marker) for evidence, marker in OTHERS.items()}
            _draw_points(squares[1], compared[others], "evidence", looks)
            squares[1].set(
                title="From others: confirms nothing", ylabel="value of another, with 95% interval"
            )
        ends = compared[["published", "ours", "ci_low", "ci_high"]].stack()
        span = (ends.min() - 0.03, ends.max() + 0.03) if len(ends) else (-1, 1)
        for axis in squares:
            axis.axline((0, 0), slope=1, color="#555555", lw=0.8, zorder=1)
            axis.set(xlabel="published value", aspect="equal", xlim=span, ylim=span)
            axis.legend(*axis.get_legend_handles_labels(), loc="lower right", frameon=False)
        shares = [
            f"{count['reproduces']:,} of {count['cells']:,}"
            for _, count in cell_counts(rows).iterrows()
        ]
        figure.suptitle(f"{title}: {' and '.join(shares)} published cells reproduce")
        mark_empty(figure)
    return figure


def _draw_points(axis, cells, by, looks):
    """Points and intervals, by verdict or evidence."""
    for kind, part in cells.groupby(by, sort=False):
        colour, marker = looks[kind]
        ends = part["published"], part["ci_low"], part["ci_high"]
        axis.vlines(*ends, colors=colour, lw=0.7, alpha=0.3)
        label = LETTERS[kind][1] if kind in LETTERS else titled(kind)
        points = part["published"], part["ours"]
        axis.scatter(*points, s=26, color=colour, marker=marker, label=label, zorder=3)


def counts(rows: pd.DataFrame, *, title: str) -> Figure:
    """Draw the shares of each paper's published cells by group, with their numbers, as a bar a paper."""
    sizes = cell_counts(rows).rename(index=titles()).iloc[::-1]
    with matplotlib.rc_context(STYLE | {"font.size": 12}):
        figure, axis = plt.subplots(figsize=(8, 0.45 * len(sizes) + 1.4), layout="constrained")
        start = np.zeros(len(sizes))
        for name, colour in BARS.items():
            share = sizes[name] / sizes["cells"]
            numbers = [f"{one:,}" if part > 0.05 else "" for one, part in zip(sizes[name], share)]
            bars = axis.barh(sizes.index, share, left=start, color=colour, label=name)
            dark = matplotlib.colors.rgb_to_hsv(matplotlib.colors.to_rgb(colour))[2] < 0.8
            axis.bar_label(bars, numbers, label_type="center", color="white" if dark else "black")
            start += share
        axis.set(xlim=(0, 1), xticks=[])
        axis.spines[:].set_visible(False)
        axis.tick_params(length=0)
        figure.legend(loc="outside lower center", ncols=len(BARS), frameon=False, **TIGHT)
        _write_title(figure, title)
    return figure


def mark_empty(figure):
    """Write "no value" in each panel without data."""
    for axis in figure.axes:
        if not len(_places(axis)):
            axis.text(0.5, 0.5, "no value", transform=axis.transAxes, ha="center", va="center")


def _places(axis):
    """Ends of all that is drawn in a panel's units, in pixels."""
    drawn = [np.empty((0, 2))]
    for artist in [*axis.lines, *axis.patches, *axis.collections]:
        transform, ends = artist.get_transform(), _ends(artist)
        if isinstance(artist, Collection) and artist.get_offset_transform() == axis.transData:
            transform, ends = axis.transData, np.ma.filled(artist.get_offsets(), np.nan)
        if transform.contains_branch(axis.transData) and not isinstance(artist, AxLine):
            drawn.append(transform.transform(ends))
    places = np.concatenate(drawn)
    return places[np.isfinite(places).all(axis=1)]


def _ends(artist):
    """Corners of an artist's paths. The point that closes a path is none."""
    paths = artist.get_paths() if isinstance(artist, Collection) else [artist.get_path()]
    parts = [
        path.vertices if path.codes is None else path.vertices[path.codes != path.CLOSEPOLY]
        for path in paths
    ]
    return np.concatenate([np.empty((0, 2)), *parts])


def save(figure: Figure, name: str, *, sample: bool = False) -> None:
    """Save a figure as `figures/<name>.svg` and `.png` of this run's results."""
    folder = out(sample) / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        # Without date and versions, the files change only when the figure does.
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
