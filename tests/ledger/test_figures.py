"""Figures show the values they are given, and files that do not change between runs."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.ledger.figures import (
    ANOTHER,
    COLOURS,
    MARKERS,
    comparison,
    curves,
    intervals,
    save,
)
from nlgjudge.ledger.verdicts import VERDICTS

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
    assert {COLOURS["exact"], COLOURS["sign_flipped"], ANOTHER["color"]} <= set(colours)
    assert COLOURS["differs"] not in colours  # the cell of another model is grey
    assert set(COLOURS) == set(VERDICTS) == set(MARKERS)


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


def test_each_level_has_its_panels_and_a_sample_is_named():
    rows = pd.concat([ROWS, ROWS.assign(level="dataset")])
    figure = comparison(rows, title="A title that is much too long " * 5, notice=SAMPLE_NOTICE)
    assert [axis.get_title("left") for axis in figure.axes[::3]] == [
        "sample level",
        "dataset level",
    ]
    assert SAMPLE_NOTICE in figure.get_suptitle()
    assert max(map(len, figure.get_suptitle().split("\n"))) < 110
    names = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert names[:4] == ["published", "ours", "x", "z"]
    assert names[4:] == ["exact", "close", "sign flipped", "another model or run"]


def test_keys_are_shown_as_names():
    rows = ROWS.assign(dataset=["qags_cnn", "qags_xsum"] * 3, aspect="x")
    names = [text.get_text() for text in comparison(rows, title="Names").legends[0].get_texts()]
    assert names == ["published", "ours", "QAGS-CNN", "QAGS-XSum"]


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


def test_saved_files_are_the_same_in_every_run(tmp_path):
    for run in ("first", "second"):
        save(comparison(ROWS, title="Table 9"), "figure", folder=tmp_path / run)
    for name in ("figure.svg", "figure.png"):
        first, second = (tmp_path / run / "figures" / name for run in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
