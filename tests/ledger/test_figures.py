"""Figures show the values they are given, and files that do not change between runs."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.ledger.figures import ANOTHER, COLOURS, comparison, curves, intervals, save
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


def dots(axis):
    """Positions and colours of the filled markers."""
    parts = [part for part in axis.collections if len(part.get_facecolors())]
    places = np.vstack(
        [np.asarray(part.get_offsets()) for part in parts if len(part.get_offsets())]
    )
    return places, [to_hex(colour) for part in parts for colour in part.get_facecolors()]


def test_a_comparison_shows_the_values_of_the_ledger():
    left, right = comparison(ROWS, title="Table 9").axes
    values, _ = dots(left)
    away, colours = dots(right)
    assert sorted(values[:, 0]) == [0.1, 0.1004, 0.206, 0.3]
    assert sorted(away[:, 0].round(6)) == [-400, 0.4, 6, 600]
    assert len(set(values[:, 1])) == 4 and set(values[:, 1].round()) == {0, 1}
    assert [label.get_text() for label in left.get_yticklabels()] == ["A", "B"]
    assert {COLOURS["exact"], COLOURS["sign_flipped"], ANOTHER["color"]} <= set(colours)
    assert COLOURS["differs"] not in colours  # the cell of another model is grey
    assert set(COLOURS) == set(VERDICTS)


def test_each_level_has_its_panels_and_a_sample_is_named():
    rows = pd.concat([ROWS, ROWS.assign(level="dataset")])
    figure = comparison(rows, title="A title that is much too long " * 5, notice=SAMPLE_NOTICE)
    assert [axis.get_title("left") for axis in figure.axes[::2]] == [
        "sample level",
        "dataset level",
    ]
    assert SAMPLE_NOTICE in figure.get_suptitle()
    assert max(map(len, figure.get_suptitle().split("\n"))) < 110
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["published (hollow)", "x", "z", "Spearman", "Kendall"]


def test_intervals_and_curves_have_a_panel_for_each_value():
    frame = pd.DataFrame({"label": ["a", "b"], "value": [0.2, 0.3], "ci_low": [0.1, 0.2]})
    frame = frame.assign(ci_high=[0.3, 0.4], group="metric", aspect=["x", "y"])
    first, second = intervals(frame, column="aspect", title="Two", lines={"y": 0.5}).axes
    assert first.collections[1].get_offsets().tolist() == [[0.2, 0]]
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
