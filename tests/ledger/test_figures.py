"""Figures by the data that they plot, the words that they carry, and their bytes."""

import os
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest

from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.ledger.figures import (
    ANOTHER,
    ASPECT_COLOURS,
    COLOURS,
    STYLE,
    comparison,
    curves,
    deviations,
    intervals,
    save,
    specification_curve,
)
from nlgjudge.ledger.verdicts import OF_OTHERS, VERDICTS

matplotlib.use("Agg")
ROWS = pd.DataFrame(
    [
        ("A", "x", "0.100", 0.1004, "exact"),
        ("A", "y", "0.200", 0.206, "close"),
        ("A", "AVG", "0.150", 0.1532, "close"),
        ("B", "x", "-0.300", 0.3, "sign_flipped"),
        ("B", "y", "", 0.4, "not_run"),
        ("B", "z", "0.500", 0.1, "differs"),
    ],
    columns=["row", "aspect", "published", "ours", "verdict"],
)
ROWS["difference"] = ROWS["ours"] - pd.to_numeric(ROWS["published"])
PRINTED = ROWS[(ROWS["aspect"] != "AVG") & (ROWS["published"] != "")]  # what a figure shows
SCRIPT = """
import sys
import pandas as pd
from nlgjudge.ledger.figures import comparison, save
save(comparison(pd.read_pickle(sys.argv[1]), title="t", notice="n"), "again")
"""


@pytest.fixture
def draw():
    import matplotlib.pyplot as plt

    yield lambda **options: comparison(ROWS, **{"title": "Table 9", **options})
    plt.close("all")


def test_plotted_data_are_the_ledgers_values(draw):
    left, right = draw().axes
    rings, dots = (np.asarray(c.get_offsets()) for c in left.collections)
    (away,) = (np.asarray(c.get_offsets()) for c in right.collections)
    assert rings[:, 0].tolist() == PRINTED["published"].astype(float).tolist()
    assert dots[:, 0].tolist() == PRINTED["ours"].tolist()
    assert away[:, 0].tolist() == (1000 * PRINTED["difference"]).tolist()
    assert (rings[:, 1] == dots[:, 1]).all() and (rings[:, 1] == away[:, 1]).all()


def test_every_dot_lies_at_its_row_and_none_hides_another(draw):
    left, right = draw().axes
    places = np.asarray(left.collections[0].get_offsets())[:, 1]
    assert [t.get_text() for t in left.get_yticklabels()] == ["A", "B"]
    assert np.round(places).tolist() == [0, 0, 1, 1]
    assert len(set(places)) == 4
    low, high = right.get_xlim()
    assert low < 1000 * PRINTED["difference"].min() and high > 1000 * PRINTED["difference"].max()


def test_on_the_right_colours_follow_the_verdicts(draw):
    _, right = draw().axes
    wanted = [matplotlib.colors.to_rgba(COLOURS[v]) for v in PRINTED["verdict"]]
    assert [tuple(c) for c in right.collections[0].get_facecolors()] == wanted
    assert list(COLOURS) == VERDICTS


def test_a_verdict_without_a_colour_of_its_own_is_drawn_and_named():
    rows = ROWS.assign(verdict=ROWS["verdict"].replace("differs", "unheard of"))
    figure = comparison(rows, title="Table 9")
    drawn = hexes(figure.axes[1].collections[0].get_facecolors())
    names = key(figure.legends[0])
    assert drawn[-1] == names["unheard of"]
    assert drawn[-1] not in COLOURS.values()


TWO_LEVELS = pd.DataFrame(
    [
        ("A", aspect, level, coefficient, "0.100", 0.1, "exact")
        for level in ("sample", "dataset")
        for aspect in ("fluency", "coherence")
        for coefficient in ("spearman", "kendall")
    ],
    columns=["row", "aspect", "level", "coefficient", "published", "ours", "verdict"],
).assign(difference=0.0)


def test_on_the_left_the_colour_is_the_aspect_and_the_marker_the_coefficient(closing):
    figure = comparison(TWO_LEVELS, title="Table 9")
    above, _, below, _ = figure.axes
    names = key(figure.legends[1])
    assert list(names) == ["printed (hollow)", "fluency", "coherence", "Spearman", "Kendall"]
    for axis, level in ((above, "sample level"), (below, "dataset level")):
        assert axis.get_title("left") == level
        spearman, kendall = axis.collections[1], axis.collections[3]
        for dots in (spearman, kendall):
            assert hexes(dots.get_facecolors()) == [names["fluency"], names["coherence"]]
        assert len(spearman.get_paths()[0].vertices) != len(kendall.get_paths()[0].vertices)
        places = [y for dots in (spearman, kendall) for _, y in points(dots)]
        assert len(set(places)) == 4
    assert above.get_xlim() == below.get_xlim()


def test_with_one_aspect_the_colour_is_the_coefficient_on_every_level(closing):
    """Also where the levels print other coefficients."""
    rows = TWO_LEVELS[TWO_LEVELS["aspect"] == "fluency"]
    lost = (rows["level"] == "sample") & (rows["coefficient"] == "spearman")
    figure = comparison(rows[~lost], title="Table 9")
    above, _, below, _ = figure.axes
    names = key(figure.legends[1])
    assert list(names) == ["printed (hollow)", "Kendall", "Spearman"]
    drawn = [
        hexes(dots.get_facecolors()) for axis in (above, below) for dots in axis.collections[1::2]
    ]
    assert drawn == [[names["Kendall"]], [names["Spearman"]], [names["Kendall"]]]


def test_colours_of_aspects_are_apart_from_one_another_and_from_verdicts():
    """The METEOR figure has eleven aspects."""
    assert len(set(ASPECT_COLOURS)) == len(ASPECT_COLOURS) >= 11
    assert not {*ASPECT_COLOURS} & {*COLOURS.values(), ANOTHER["color"]}


def test_a_level_shows_its_own_rows_only(closing):
    rows = TWO_LEVELS.assign(row=TWO_LEVELS["level"].map({"sample": "A", "dataset": "B"}))
    figure = comparison(rows, title="Table 9")
    above, _, below, _ = figure.axes
    assert [words(axis.get_yticklabels()) for axis in (above, below)] == [["A"], ["B"]]
    assert [{round(y) for _, y in points(axis.collections[0])} for axis in (above, below)] == [
        {0},
        {0},
    ]


def colours_of(figure):
    """Every colour of a point, a bar or an interval in a figure."""
    found = set()
    for axis in figure.axes:
        for drawn in axis.collections:
            found |= {
                matplotlib.colors.to_hex(c)
                for c in (*drawn.get_facecolors(), *drawn.get_edgecolors())
            }
        found |= {
            matplotlib.colors.to_hex(bar.get_facecolor()) for bar in axis.patches if bar.get_width()
        }
    return found


@pytest.mark.parametrize("evidence", OF_OTHERS)
def test_another_model_never_has_the_colour_of_a_verdict(evidence, draw):
    """Row B by another model or run: its cells are grey diamonds; those of row A keep their colours."""
    rows = ROWS.assign(evidence=ROWS["row"].map({"A": "recomputed", "B": evidence}))
    figure = comparison(rows, title="Table 9")
    left, right = figure.axes
    shown = PRINTED[PRINTED["row"] == "B"]
    for axis, values in ((left, shown["ours"]), (right, 1000 * shown["difference"])):
        grey = [c for c in axis.collections if c.get_label() == ANOTHER["label"]]
        assert [len(c.get_offsets()) for c in grey] == [2]
        assert np.asarray(grey[0].get_offsets())[:, 0].tolist() == values.tolist()
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["exact", "close", ANOTHER["label"]]
    assert not colours_of(figure) & {COLOURS["differs"], COLOURS["sign_flipped"]}
    assert colours_of(draw()) >= {
        COLOURS["differs"],
        COLOURS["sign_flipped"],
    }  # as the paper's own evaluator


@pytest.mark.parametrize("notice", [SAMPLE_NOTICE, ""])
def test_the_notice_is_written_on_the_figure(draw, notice):
    text = draw(notice=notice).get_suptitle()
    assert text.startswith("Table 9")
    assert (SAMPLE_NOTICE in text) == bool(notice)


def test_saved_bytes_are_the_same_in_another_process(draw, tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    save(draw(title="t", notice="n"), "first")
    save(draw(title="t", notice="n"), "second")
    environment = os.environ | {"PYTHONHASHSEED": "7", "MPLBACKEND": "Agg"}
    ROWS.to_pickle(tmp_path / "rows")
    subprocess.run([sys.executable, "-c", SCRIPT, tmp_path / "rows"], check=True, env=environment)
    for kind in ("svg", "png"):
        first, second, again = (
            (tmp_path / "figures" / f"{name}.{kind}").read_bytes()
            for name in ("first", "second", "again")
        )
        assert len(first) > 1000
        assert first == second == again
    # Text stays text, so that the notice can be searched in the file.
    assert "ours − printed" in (tmp_path / "figures" / "first.svg").read_text(encoding="utf-8")


def test_a_saved_figure_has_matplotlibs_places_and_keeps_them(draw, tmp_path):
    """Its parts are placed once; what a notebook draws next, at another resolution, moves none of them."""

    def places(figure):
        return np.array([axis.get_position().bounds for axis in figure.axes])

    ours = draw(title="t")
    save(ours, "ours", folder=tmp_path)
    kept = places(ours)
    plain = draw(title="t")
    before = places(plain)
    with matplotlib.rc_context(STYLE):
        plain.savefig(tmp_path / "plain.png")
        ours.savefig(tmp_path / "later.png", dpi=50)
    assert np.abs(kept - before).max() > 0.01  # of the figure's width or height
    assert kept == pytest.approx(
        places(plain), abs=0.015
    )  # a text is as wide as its resolution makes it
    assert (places(ours) == kept).all()


def test_a_sample_figure_goes_to_its_own_folder(draw, tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    save(draw(notice=SAMPLE_NOTICE), "nb", sample=True)
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.*")) == [
        "sample/figures/nb.png",
        "sample/figures/nb.svg",
    ]


# ---- intervals, curves, deviations and specification curves


@pytest.fixture
def closing():
    """Close what a test draws."""
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def points(collection):
    return np.asarray(collection.get_offsets()).tolist()


def words(texts):
    return [text.get_text() for text in texts]


def hexes(colours):
    return [matplotlib.colors.to_hex(colour) for colour in colours]


def key(legend):
    """Colours of a legend by their labels."""
    return dict(
        zip(
            words(legend.get_texts()), hexes(handle.get_color() for handle in legend.legend_handles)
        )
    )


INTERVALS = pd.DataFrame(
    [  # far from 0, as shares near 0.95 are
        ("kendall", 0.93, 0.91, 0.96, "documents", "new"),
        ("pearson", 0.95, 0.94, 0.97, "both", "new"),
        ("pearson", 0.90, 0.88, 0.91, "documents", "same"),
    ],
    columns=["label", "value", "ci_low", "ci_high", "group", "world"],
)


def draw_intervals(**options):
    return intervals(INTERVALS, **{"column": "world", "title": "Coverage"} | options)


@pytest.mark.parametrize("bars", [False, True])
def test_intervals_plot_values_and_ends_by_panel_and_label(closing, bars):
    figure = draw_intervals(bars=bars, lines={"new": 0.95}, notice=SAMPLE_NOTICE)
    new, same = figure.axes
    assert words(axis.title for axis in figure.axes) == ["new", "same"]
    assert words(new.get_yticklabels()) == ["kendall", "pearson"]
    assert figure.get_suptitle() == f"Coverage\n({SAMPLE_NOTICE})"
    legend = key(figure.legends[0])
    assert list(legend) == ["documents", "both"] and len(set(legend.values())) == 2
    for axis, panel in ((new, "new"), (same, "same")):
        rows = INTERVALS[INTERVALS["world"] == panel]
        places = [["kendall", "pearson"].index(label) for label in rows["label"]]
        ends, dots = axis.collections
        assert [s.tolist() for s in ends.get_segments()] == [
            [[r.ci_low, y], [r.ci_high, y]] for r, y in zip(rows.itertuples(), places)
        ]
        assert points(dots) == [[r.value, y] for r, y in zip(rows.itertuples(), places)]
        assert hexes(dots.get_facecolors()) == rows["group"].map(legend).tolist()
        assert axis.get_ylim() == (1.5, -0.5)  # the first label on top, and none at an edge
    assert [line.get_xdata() for line in new.lines] == [[0.95, 0.95]] and not same.lines


def test_intervals_are_seen_in_full_where_zero_is_far(closing):
    """An axis spans what it shows: the intervals take most of it, with nothing pulled to 0."""
    for axis, ends in zip(draw_intervals().axes, ((0.91, 0.97), (0.88, 0.91))):
        low, high = axis.get_xlim()
        assert low < ends[0] and high > ends[1] and ends[1] - ends[0] > 0.8 * (high - low)
        assert not axis.patches


def test_a_second_value_is_a_hollow_diamond_with_a_name_of_its_own(closing):
    """As by another formula; where there is none, nothing is drawn."""
    frame = INTERVALS.assign(**{"as printed": [0.94, np.nan, 0.91]})
    figure = intervals(frame, column="world", title="t", bars=True, also="as printed")
    drawn = [line for axis in figure.axes for line in axis.lines]
    assert [line.get_marker() for line in drawn] == ["D", "D"]
    assert [line.get_markerfacecolor() for line in drawn] == ["none", "none"]
    new, same = (np.asarray(line.get_xydata(), float) for line in drawn)
    assert new[0].tolist() == [0.94, 0] and np.isnan(new[1, 0]) and same.tolist() == [[0.91, 1]]
    assert words(figure.legends[0].get_texts()) == ["documents", "both", "as printed"]


def test_bars_of_intervals_start_at_zero(closing):
    figure = intervals(
        INTERVALS.assign(value=[0.93, -0.2, 0.9]), column="world", title="t", bars=True
    )
    for axis, values in zip(figure.axes, ([0.93, -0.2], [0.9])):
        assert [(bar.get_x(), bar.get_width()) for bar in axis.patches] == [
            (0, value) for value in values
        ]
        low, high = axis.get_xlim()
        assert low <= min(0, *values) and high > max(values)
        fills = hexes(bar.get_facecolor() for bar in axis.patches)
        assert not {*hexes(axis.collections[0].get_edgecolors())} & {*fills}  # seen against its bar


def test_an_interval_without_ends_is_a_point(closing):
    frame = INTERVALS.assign(ci_low=np.nan, ci_high=np.nan)
    axis = intervals(frame, column="world", title="t").axes[0]
    low, high = axis.get_xlim()
    assert (
        points(axis.collections[1]) == [[0.93, 0], [0.95, 1]]
        and 0.92 < low < 0.93
        and 0.95 < high < 0.96
    )


def test_curves_plot_means_and_two_standard_deviations_by_panel(closing):
    frame = pd.DataFrame(
        [
            (x, draw + x, judge, panel)
            for panel in ("few", "many")
            for judge in ("a", "b")
            for x in (1, 2, 4)
            for draw in ((0, 2) if judge == "a" else (10, 16))
        ],
        columns=["n", "score", "judge", "size"],
    )
    frame.loc[frame["size"] == "many", "score"] *= 2
    figure = curves(
        frame, x="n", y="score", hue="judge", column="size", title="More", notice=SAMPLE_NOTICE
    )
    assert words(axis.title for axis in figure.axes) == ["few", "many"]
    assert figure.get_suptitle() == f"More\n({SAMPLE_NOTICE})"
    assert list(key(figure.legends[0])) == ["a", "b"] and not any(
        axis.get_legend() for axis in figure.axes
    )
    for axis, times in zip(figure.axes, (1, 2)):
        drawn = [line for line in axis.lines if len(line.get_xdata())]
        assert hexes(line.get_color() for line in drawn) == [*key(figure.legends[0]).values()]
        for line, band, (mean, spread) in zip(
            drawn, axis.collections, ((1, 2**0.5), (13, 18**0.5))
        ):
            assert line.get_xdata().tolist() == [1, 2, 4]
            means = times * (mean + np.array([1, 2, 4]))
            assert line.get_ydata().tolist() == means.tolist()
            ends = band.get_paths()[0].vertices
            for x, middle in zip((1, 2, 4), means):  # of two draws at a distance d: d / sqrt(2)
                heights = ends[ends[:, 0] == x, 1]
                assert (heights.min(), heights.max()) == pytest.approx(
                    (middle - 2 * times * spread, middle + 2 * times * spread)
                )
        assert axis.get_xlabel() == "n"
    few, many = figure.axes
    assert few.get_ylabel() == "score" and few.get_ylim() == many.get_ylim()
    assert few.get_ylim()[0] < 2 * (2 - 2**1.5) and few.get_ylim()[1] > 2 * (17 + 2 * 18**0.5)


def test_deviations_plot_each_value_at_its_label_about_zero(closing):
    panels = {
        "in points": pd.DataFrame(
            [("A", 0.5, "one"), ("B", -1.0, "two"), ("A", 2.0, "two")],
            columns=["label", "value", "group"],
        ),
        "in thousandths": pd.DataFrame([("C", 7.0, "one")], columns=["label", "value", "group"]),
    }
    figure = deviations(panels, title="Off by")
    assert figure.get_suptitle() == "Off by"
    assert [axis.get_xlabel() for axis in figure.axes] == list(panels)
    assert [axis.get_ylabel() for axis in figure.axes] == ["", ""]
    for axis, frame in zip(figure.axes, panels.values()):
        labels = list(dict.fromkeys(frame["label"]))
        assert words(axis.get_yticklabels()) == labels
        assert [
            list(line.get_xdata()) for line in axis.lines if list(line.get_ydata()) == [0, 1]
        ] == [[0, 0]]
        legend = axis.get_legend()
        colours = dict(
            zip(
                words(legend.get_texts()),
                hexes(handle.get_markerfacecolor() for handle in legend.legend_handles),
            )
        )
        assert list(colours) == list(dict.fromkeys(frame["group"]))
        drawn = [
            (labels[round(y)], x, colour)
            for dots in axis.collections
            for (x, y), colour in zip(
                points(dots), hexes(np.resize(dots.get_facecolors(), (len(points(dots)), 4)))
            )
        ]
        assert sorted(drawn) == sorted(
            (r.label, r.value, colours[r.group]) for r in frame.itertuples()
        )
        low, high = axis.get_xlim()
        assert low < min(0, frame["value"].min()) and high > frame["value"].max()
    two = [points(dots) for dots in figure.axes[0].collections if len(points(dots))]
    assert (
        len({y for dots in two for _, y in dots}) == 3
    )  # the groups of one label lie side by side


def test_a_specification_curve_plots_each_universe_above_its_choices(closing):
    table = pd.DataFrame(
        [
            (-0.2, "system", "pearson"),
            (0.0, "sample", "kendall"),
            (np.nan, "system", "kendall"),
            (0.1, "sample", "pearson"),
            (0.3, "system", ""),
        ],
        columns=["difference", "level", "coefficient"],
    )
    figure = specification_curve(
        table,
        factors=["level", "coefficient"],
        title="Choices",
        ylabel="a minus b",
        notice=SAMPLE_NOTICE,
    )
    top, bottom = figure.axes
    assert figure.get_suptitle() == f"Choices\n({SAMPLE_NOTICE})"
    assert points(top.collections[0]) == [
        [0, -0.2],
        [1, 0],
        [2, 0.1],
        [3, 0.3],
    ]  # not what is undefined
    colours = hexes(top.collections[0].get_facecolors())
    assert colours[2] == colours[3] and len(set(colours)) == 3  # below, at and above zero
    assert [list(line.get_ydata()) for line in top.lines] == [
        [0, 0]
    ] and top.get_ylabel() == "a minus b"
    assert words(bottom.get_yticklabels()) == [
        "level: sample",
        "level: system",
        "coefficient: kendall",
        "coefficient: pearson",
    ]
    assert [points(marks) for marks in bottom.collections] == [
        [[1, 0], [2, 0]],
        [[0, 1], [3, 1]],
        [[1, 2]],
        [[0, 3], [2, 3]],
    ]
    assert [[colours[round(x)] for x, _ in points(marks)] for marks in bottom.collections] == [
        hexes(marks.get_edgecolors()) for marks in bottom.collections
    ]
    assert bottom.yaxis_inverted() and bottom.get_xlabel() == "universes, sorted"
    assert (
        top.get_xlim() == bottom.get_xlim() and top.get_ylim()[0] < -0.2 and top.get_ylim()[1] > 0.3
    )


def test_a_long_title_is_broken_when_saved_and_stays_inside_the_figure(tmp_path):
    row = {"label": "a", "group": "g", "column": "c", "value": 0.5, "ci_low": 0.4, "ci_high": 0.6}
    figure = intervals(
        pd.DataFrame([row]), column="column", title="Variant\n" + "judge: one against another; " * 4
    )
    figure.set_size_inches(4, 4)
    save(figure, "long", folder=tmp_path)
    assert figure.get_suptitle().startswith("Variant\njudge: one")
    figure.canvas.draw()
    box = figure._suptitle.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width
    short = intervals(pd.DataFrame([row]), column="column", title="A title that fits")
    save(short, "short", folder=tmp_path)
    assert short.get_suptitle() == "A title that fits"
