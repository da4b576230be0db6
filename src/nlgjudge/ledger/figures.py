"""Charts of the notebooks, and how they are saved."""

import textwrap
from itertools import cycle

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import Collection
from matplotlib.lines import AxLine

from nlgjudge.data.paths import out
from nlgjudge.ledger.verdicts import of_others
from nlgjudge.ledger.whole_table import SHOWN
from nlgjudge.ledger.words import titled
from nlgjudge.namespaces import optional
from nlgjudge.papers.folders import titles

sns = optional("seaborn", "notebooks")

# The tints of the tables as dots and lines need them; other verdicts are told by their marker.
SOLID = {"reproduces": "#00592d", "differs": "#e6550d", "no value": "#bbbbbb", "": "#222222"}
COLOURS = {verdict: SOLID[tint] for verdict, (_, tint, _) in SHOWN.items() if verdict}
# By verdict; nothing is shown by colour alone.
MARKERS = dict(zip(COLOURS, "os^PXv*."))
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
        One panel per coefficient: published values (large and hollow) and ours (small and filled) by
        row; marker, colour and height show the aspect. On the right: ours minus published in
        thousandths, on a scale that is linear up to one and logarithmic beyond; marker and colour show
        the verdict. Cells of another model than the paper's, or of another run of the metric, are grey
        diamonds there. Each level has its own line of panels, for the coefficients that it has.

    Examples
    --------
    >>> from nlgjudge.ledger.ledger import committed
    >>> rows = committed().query("paper == 'geval' and artefact == 'table1'")
    >>> figure = comparison(rows, title="G-Eval, Table 1")
    >>> [axis.get_xlabel().split(",")[0] for axis in figure.axes]
    ['Spearman', 'Kendall', 'ours − published']
    """
    rows = rows[(rows["aspect"] != "AVG") & (rows["published"] != "")]
    several = [name for name in ("dataset", "aspect") if rows[name].nunique() > 1]
    group = rows[several or ["aspect"]].map(titled).agg(", ".join, axis=1)
    looks = dict(zip(group.unique(), cycle(LOOKS.items())))
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
        figure, axes = plt.subplots(
            len(panels),
            max(map(len, coefficients)) + 1,
            figsize=(10, 2.2 + 0.6 * len(panels) + sum(lines) * height),
            sharex="col",
            sharey="row",
            layout="constrained",
            squeeze=False,
            gridspec_kw={"height_ratios": lines},
        )
        shared = all(names == coefficients[0] for names in coefficients)
        for line, cells, level, names in zip(axes, panels, levels, coefficients):
            _draw_cells(line, cells, names, looks)
            titles = (
                [f"{level} level"] if shared else [f"{level} level, {titled(n)}" for n in names]
            )
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
    colours, markers = [dict(zip(frame[hue].unique(), one)) for one in (LOOKS, LOOKS.values())]
    look = {"palette": colours, "style": hue, "markers": markers, "errorbar": ("sd", 2)}
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            1,
            len(values),
            figsize=(2.7 * len(values), 3.6),
            sharex=True,
            sharey=True,
            layout="constrained",
            squeeze=False,
        )
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


def intervals(frame, *, column, title, lines=(), notice=""):
    """Plot values with their intervals, one panel per value of a column.

    Parameters
    ----------
    frame : pandas.DataFrame
        `label, value, ci_low, ci_high, group` (colour and marker) and the panels' column, in the order to draw.
    column : str
    title : str
    lines : dict of str to float
        By panel, a reference value, drawn as a dashed line.
    notice : str
        Added to the title if the values come from the sample.

    Returns
    -------
    matplotlib.figure.Figure
        The panels share one scale.

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
    looks = dict(zip(groups, cycle(LOOKS.items())))
    size = (2.6 * len(panels), 1.9 + 0.27 * len(labels))
    with sns.axes_style("whitegrid"), matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            1,
            len(panels),
            figsize=size,
            sharex=True,
            sharey=True,
            layout="constrained",
            squeeze=False,
        )
        for axis, name in zip(axes.flat, panels):
            for group, part in frame[frame[column] == name].groupby("group", sort=False):
                colour, marker = looks[group]
                place = part["label"].map(labels.index)
                axis.hlines(place, part["ci_low"], part["ci_high"], colors=[colour], lw=1.5)
                axis.scatter(part["value"], place, color=colour, marker=marker, s=26, zorder=3)
            if name in lines:
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
    """Draw a judge's means beside the published ones, a panel for each table.

    Parameters
    ----------
    means : pandas.DataFrame
        Of a `nlgjudge.ledger.reruns.Rerun`.
    recorded : pandas.DataFrame
        `paper, artefact, row, dataset, judge, mean` of recorded judges over the same cells.

    Returns
    -------
    matplotlib.figure.Figure
    """
    tables = list(means.groupby(["paper", "artefact"], sort=False))
    heights = [0.7 + len(lines) for _, lines in tables]
    with matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(tables),
            figsize=(9, 1.2 + 0.36 * sum(heights) + 0.5 * len(tables)),
            layout="constrained",
            squeeze=False,
            height_ratios=heights,
        )
        for axis, ((paper, artefact), lines) in zip(axes[:, 0], tables):
            _draw_judged(axis, lines, recorded.query("paper == @paper and artefact == @artefact"))
            first = lines.iloc[0]
            what = f"{titled(first['coefficient'])}, {first['level']} level, mean over aspects"
            axis.set(title=f"{titles()[paper]}, {artefact.replace('table', 'Table ')}", xlabel=what)
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


def mark_empty(figure):
    """Write "no value" in each panel without data.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    """
    for axis in figure.axes:
        if not len(_places(axis)):
            axis.text(0.5, 0.5, "no value", transform=axis.transAxes, ha="center", va="center")


def check_drawn(figure):
    """Refuse a figure that does not show its data.

    Lines and bands across a panel (`axhline`, `axvspan`, `axline`) and texts are not data.

    Parameters
    ----------
    figure : matplotlib.figure.Figure

    Raises
    ------
    ValueError
        For a point, line, interval or bar that is not inside its axes, and for a panel that has neither data nor
        a text that says why.

    Examples
    --------
    >>> figure, axis = plt.subplots()
    >>> _ = axis.plot([0.2, 0.9])
    >>> _ = axis.set_ylim(0.5, 1)
    >>> check_drawn(figure)
    Traceback (most recent call last):
    ...
    ValueError: panel 1: expected all data inside its axes; got some outside. Widen the limits or leave them out.
    >>> plt.close(figure)
    """
    for number, axis in enumerate(figure.axes, 1):
        # Asking for limits sets those that are to fit the data.
        axis.get_xlim()
        axis.get_ylim()
        panel = " ".join(filter(None, [f"panel {number}", axis.get_title() or axis.get_xlabel()]))
        places = axis.transAxes.inverted().transform(_places(axis))
        if np.any((places < -1e-6) | (places > 1 + 1e-6)):
            raise ValueError(
                f"{panel}: expected all data inside its axes; got some outside. Widen the limits or leave them out."
            )
        if not (len(places) or axis.images or axis.texts):
            raise ValueError(
                f"{panel}: expected data or a text that says why there are none; got neither. Leave the panel out."
            )


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

    Raises
    ------
    ValueError
        As `check_drawn`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> figure, axis = plt.subplots(figsize=(1, 1))
    >>> _ = axis.plot([0, 1])
    >>> with TemporaryDirectory() as made:
    ...     save(figure, "mine", folder=Path(made))
    ...     print(sorted(path.name for path in Path(made, "figures").iterdir()))
    ['mine.png', 'mine.svg']
    >>> plt.close(figure)
    """
    check_drawn(figure)
    folder = (folder or out(sample)) / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        # Without date and versions, the files change only when the figure does.
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
