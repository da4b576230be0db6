"""Figures show the values they are given, and files that do not change between runs."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgba

from drawn import check_drawn
from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.notebook.figures import (
    ANOTHER,
    COLOURS,
    MARKERS,
    comparison,
    curves,
    intervals,
    mark_empty,
    save,
)
from nlgjudge.notebook.whole_table import SHOWN, TINTS

COLUMNS = ["row", "aspect", "coefficient", "published", "ours", "verdict", "evidence"]
ROWS = pd.DataFrame(
    [
        ("A", "x", "spearman", "0.100", 0.1004, "exact", "recomputed"),
        ("A", "x", "kendall", "0.200", 0.206, "close", "recomputed"),
        ("A", "AVG", "spearman", "0.150", 0.1532, "close", "recomputed"),
        ("B", "x", "spearman", "-0.300", 0.3, "sign_flipped", "recomputed"),
        ("B", "y", "spearman", "", 0.4, "not_run", "recomputed"),
        ("B", "z", "spearman", "0.500", 0.1, "differs", "rejudged"),
    ],
    columns=COLUMNS,
).assign(dataset="d", level="sample")
ROWS["difference"] = ROWS["ours"] - pd.to_numeric(ROWS["published"])


@pytest.fixture(autouse=True)
def closing():
    yield
    plt.close("all")


def dots(axes, *, filled=True):
    """Positions and colours of the filled or the hollow markers."""
    parts = [part for axis in axes for part in axis.collections]
    parts = [part for part in parts if isinstance(part, PathCollection)]
    parts = [part for part in parts if bool(len(part.get_facecolors())) == filled]
    places = np.vstack([np.asarray(part.get_offsets()) for part in parts])
    return places, [to_hex(colour) for part in parts for colour in part.get_facecolors()]


def test_a_comparison_shows_the_values_of_the_ledger():
    spearman, kendall, right = comparison(ROWS, title="Table 9").axes
    assert [axis.get_xlabel() for axis in (spearman, kendall)] == ["Spearman", "Kendall"]
    assert spearman.get_xlim() == kendall.get_xlim()
    values, _ = dots([spearman])
    published, _ = dots([spearman], filled=False)
    away, colours = dots([right])
    assert sorted(values[:, 0]) == [0.1, 0.1004, 0.3]
    assert sorted(published[:, 0]) == [-0.3, 0.1, 0.5]
    assert dots([kendall])[0][:, 0].tolist() == [0.206]
    assert sorted(away[:, 0].round(6)) == [-400, 0.4, 6, 600]
    assert len(set(values[:, 1])) == 3 and set(values[:, 1].round()) == {0, 1}
    assert [label.get_text() for label in spearman.get_yticklabels()] == ["A", "B"]
    expected = [COLOURS["exact"], COLOURS["close"], COLOURS["sign_flipped"], ANOTHER["color"]]
    assert sorted(colours) == sorted(expected)  # the cell of another model is grey
    assert set(COLOURS) == set(filter(None, SHOWN)) == set(MARKERS)


def test_nothing_is_shown_by_colour_alone():
    """Shapes of the published values, and of the verdicts and groups in the legends, all differ."""
    figure = comparison(ROWS, title="Table 9")
    shapes = [part.get_paths()[0].vertices.tolist() for part in figure.axes[0].collections]
    assert shapes[1] == shapes[2] != shapes[4] == shapes[5]  # published and ours; the next aspect
    for legend in figure.legends:
        looks = [(line.get_marker(), line.get_markersize()) for line in legend.legend_handles]
        assert len(set(looks)) == len(looks)
    assert len(set(MARKERS.values()) | {ANOTHER["marker"]}) == len(MARKERS) + 1
    frame = pd.DataFrame({"label": ["a", "b"], "value": 0.2, "ci_low": 0.1, "ci_high": 0.3})
    frame = frame.assign(group=["one", "two"], aspect="x")
    (legend,) = intervals(frame, column="aspect", title="Two groups").legends
    assert len({line.get_marker() for line in legend.legend_handles}) == 2


def test_intervals_and_curves_have_a_panel_for_each_value():
    frame = pd.DataFrame({"label": ["a", "b"], "value": [0.2, 0.3], "ci_low": [0.1, 0.2]})
    frame = frame.assign(ci_high=[0.3, 0.4], group="metric", aspect=["x", "y"])
    first, second = intervals(frame, column="aspect", title="Two", lines={"y": 0.5}).axes
    assert first.collections[1].get_offsets().tolist() == [[0.2, 0]]
    assert first.get_xlim() == second.get_xlim()
    assert [line.get_xdata()[0] for line in second.lines] == [0.5]
    draws = pd.DataFrame({"x": [1, 1, 2, 2], "y": [0.0, 1.0, 0.5, 0.7], "hue": "h", "column": "c"})
    (panel,) = curves(draws, x="x", y="y", hue="hue", column="column", title="One").axes
    assert panel.lines[0].get_ydata().tolist() == pytest.approx([0.5, 0.6])


def dots_and_lines(axis):
    axis.scatter([0.1, np.nan], [1, 2])
    axis.hlines([1, 2], [0, 0.2], [0.4, 0.9])


@pytest.mark.parametrize(
    "draw",
    [
        dots_and_lines,
        lambda axis: axis.errorbar([1, 2], [0.1, 0.2], yerr=0.1),
        lambda axis: axis.bar([1, 2], [0.1, 0.9]),
        lambda axis: axis.hist([0.1, 0.2, 0.9], histtype="step"),
        lambda axis: axis.fill_between([1, 2], [0, 0.1], [0.5, 0.9]),
    ],
)
def test_a_figure_with_a_value_outside_its_axes_is_refused(draw, tmp_path, monkeypatch):
    """Limits set on one panel cut off an end of what is drawn, also in the panel that shares them."""
    figure, (first, second) = plt.subplots(1, 2, sharex=True)
    draw(first), draw(second)
    low, high = second.dataLim.intervalx
    for axis in (first, second):
        axis.axvline(99), axis.axhspan(-99, 99), axis.axline((0, 0), slope=1)
        axis.text(99, 99, "far away")
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    check_drawn(figure)
    save(figure, "good")
    first.set_xlim(low - 0.1, high - 0.01)
    with pytest.raises(ValueError, match="panel 1: expected all data inside its axes"):
        check_drawn(figure)
    assert {path.stem for path in tmp_path.rglob("*.*")} == {"good"}


def test_a_panel_without_data_is_refused_unless_it_says_why():
    figure, (first, second) = plt.subplots(1, 2)
    first.plot([1, 2])
    second.axvline(0)
    second.scatter([np.nan], [1])
    with pytest.raises(ValueError, match="panel 2: expected data or a text that says why"):
        check_drawn(figure)
    mark_empty(figure)
    assert [len(axis.texts) for axis in (first, second)] == [0, 1]
    check_drawn(figure)
    check_drawn(comparison(ROWS.assign(ours=np.nan, difference=np.nan), title="Published alone"))


def luminance(colour, page):
    """WCAG 2: relative luminance of a colour with its transparency on a page."""
    *rgb, alpha = to_rgba(colour)
    rgb = alpha * np.array(rgb) + (1 - alpha) * page
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("page, ink", [(1.0, "#222832"), (30 / 255, "#ced6dd")])
def test_texts_on_tints_are_readable(page, ink):
    """WCAG 2 asks for a contrast of 4.5; the ink is that of the site's light and dark pages."""
    for background, text in TINTS.values():
        both = [luminance(one, page) + 0.05 for one in (background, text.replace("inherit", ink))]
        assert max(both) / min(both) >= 4.5


def test_levels_have_panels_of_their_coefficients_and_a_sample_is_named():
    kendall = ROWS.assign(level="dataset", coefficient="kendall")
    rows = pd.concat([ROWS.assign(coefficient="pearson"), kendall])
    figure = comparison(rows, title="A title that is much too long " * 5, notice=SAMPLE_NOTICE)
    titles = [axis.get_title("left") for axis in figure.axes]
    assert titles == ["sample level, Pearson", "", "dataset level, Kendall", ""]
    assert SAMPLE_NOTICE in figure.get_suptitle()
    assert max(map(len, figure.get_suptitle().split("\n"))) < 110
    names = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert names[:4] == ["published", "ours", "x", "z"]
    assert names[4:] == ["exact", "close", "sign flipped", "another model or run"]


def test_saved_files_are_the_same_in_every_run(tmp_path, monkeypatch):
    for run in ("first", "second"):
        monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / run))
        save(comparison(ROWS, title="Table 9"), "figure")
    for name in ("figure.svg", "figure.png"):
        first, second = (tmp_path / run / "figures" / name for run in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
