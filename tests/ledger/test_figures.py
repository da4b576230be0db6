"""Figures by the data that they plot, the words that they carry, and their bytes."""

import os
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest

from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.ledger.figures import ANOTHER, COLOURS, comparison, save
from nlgjudge.ledger.ledger import ANOTHER_MODEL, VERDICTS
from nlgjudge.repo.overview import MARKERS, summary

matplotlib.use("Agg")
ROWS = pd.DataFrame([
    ("A", "x", "0.100", 0.1004, "exact"), ("A", "y", "0.200", 0.206, "close"),
    ("A", "AVG", "0.150", 0.1532, "close"), ("B", "x", "-0.300", 0.3, "sign_flipped"),
    ("B", "y", "", 0.4, "not_run"), ("B", "z", "0.500", 0.1, "differs"),
], columns=["row", "aspect", "published", "ours", "verdict"])
ROWS["difference"] = ROWS["ours"] - pd.to_numeric(ROWS["published"])
PRINTED = ROWS[(ROWS["aspect"] != "AVG") & (ROWS["published"] != "")]  # what a figure shows
SCRIPT = """
import runpy, sys
module = runpy.run_path(sys.argv[1])
module["save"](module["comparison"](module["ROWS"], title="t", notice="n"), "again")
"""


@pytest.fixture
def draw():
    import matplotlib.pyplot as plt

    yield lambda **options: comparison(ROWS, **{"title": "Table 9", **options})
    plt.close("all")


def test_plotted_data_are_the_ledgers_values(draw):
    left, right = draw().axes
    rings, dots = (np.asarray(c.get_offsets()) for c in left.collections)
    away, = (np.asarray(c.get_offsets()) for c in right.collections)
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


def test_colours_follow_the_verdicts(draw):
    left, right = draw().axes
    wanted = [matplotlib.colors.to_rgba(COLOURS[v]) for v in PRINTED["verdict"]]
    for dots in (left.collections[1], right.collections[0]):
        assert [tuple(c) for c in dots.get_facecolors()] == wanted
    assert list(COLOURS) == VERDICTS


def colours_of(figure):
    """Every colour of a point, a bar or an interval in a figure."""
    found = set()
    for axis in figure.axes:
        for drawn in axis.collections:
            found |= {matplotlib.colors.to_hex(c) for c in (*drawn.get_facecolors(), *drawn.get_edgecolors())}
        found |= {matplotlib.colors.to_hex(bar.get_facecolor()) for bar in axis.patches if bar.get_width()}
    return found


@pytest.mark.parametrize("evidence", ANOTHER_MODEL)
def test_another_model_never_has_the_colour_of_a_verdict(evidence, draw):
    """Row B by another model: its cells are grey diamonds; those of row A keep their colours."""
    rows = ROWS.assign(evidence=ROWS["row"].map({"A": "recomputed", "B": evidence}))
    figure = comparison(rows, title="Table 9")
    left, right = figure.axes
    shown = PRINTED[PRINTED["row"] == "B"]
    for axis, values in ((left, shown["ours"]), (right, 1000 * shown["difference"])):
        grey = [c for c in axis.collections if c.get_label() == ANOTHER["label"]]
        assert [len(c.get_offsets()) for c in grey] == [2]
        assert np.asarray(grey[0].get_offsets())[:, 0].tolist() == values.tolist()
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["printed", "ours: exact", "ours: close", ANOTHER["label"]]
    assert not colours_of(figure) & {COLOURS["differs"], COLOURS["sign_flipped"]}
    assert colours_of(draw()) >= {COLOURS["differs"], COLOURS["sign_flipped"]}  # as the paper's own evaluator


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
    subprocess.run([sys.executable, "-c", SCRIPT, __file__], check=True, env=environment)
    for kind in ("svg", "png"):
        first, second, again = ((tmp_path / "figures" / f"{name}.{kind}").read_bytes()
                                for name in ("first", "second", "again"))
        assert len(first) > 1000
        assert first == second == again
    # Text stays text, so that the notice can be searched in the file.
    assert "ours − printed" in (tmp_path / "figures" / "first.svg").read_text(encoding="utf-8")


def test_a_sample_figure_goes_to_its_own_folder(draw, tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    save(draw(notice=SAMPLE_NOTICE), "nb", sample=True)
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.*")) == [
        "sample/figures/nb.png", "sample/figures/nb.svg"]


LEDGER = pd.DataFrame([
    ("A", "0.100", 0.1004, 0.0, 0.2, "exact"), ("A", "0.200", 0.206, 0.1, 0.3, "close"),
    ("B", "-0.300", 0.3, 0.2, 0.4, "sign_flipped"), ("B", "", np.nan, np.nan, np.nan, "not_run"),
    ("B", "0.500", 0.1, np.nan, np.nan, "differs"), ("C", "0.900", np.nan, np.nan, np.nan, "not_run"),
], columns=["row", "published", "ours", "ci_low", "ci_high", "verdict"]).assign(evidence="recomputed")
LEDGER["difference"] = LEDGER["ours"] - pd.to_numeric(LEDGER["published"])


@pytest.fixture
def summarised():
    import matplotlib.pyplot as plt

    yield lambda rows=LEDGER, **options: summary(rows, title="Paper", **options)
    plt.close("all")


def test_a_summary_plots_what_was_compared_by_verdict(summarised):
    left, right = summarised().axes
    drawn = {c.get_label(): (np.asarray(c.get_offsets()).tolist(), tuple(c.get_facecolor()[0]))
             for c in left.collections if len(c.get_offsets()) and not c.get_label().startswith("_")}
    ran = LEDGER[LEDGER["verdict"] != "not_run"]
    assert drawn == {r.verdict.replace("_", " "): ([[float(r.published), r.ours]],
                                                  matplotlib.colors.to_rgba(COLOURS[r.verdict]))
                     for r in ran.itertuples()}
    assert len(set(MARKERS.values())) == len(MARKERS) == len(VERDICTS)  # not by colour alone
    bars = {t.get_text(): b.get_width() for t, b in zip(right.get_yticklabels(), right.patches)}
    assert bars == {"exact": 1, "close": 1, "within ci": 0, "differs": 1, "sign flipped": 1, "relabelled": 0,
                    "not run": 2}


def test_a_summary_shows_intervals_in_full_and_names_what_lies_far_off(summarised):
    left, _ = summarised().axes
    ends = [segment[:, 1].tolist() for c in left.collections if hasattr(c, "get_segments")
            for segment in c.get_segments() if len(segment)]
    assert sorted(ends) == [[0.0, 0.2], [0.1, 0.3], [0.2, 0.4]]
    assert left.get_xlim() == left.get_ylim() and left.get_xlim()[0] < -0.3 and left.get_xlim()[1] > 0.5
    named, = left.texts  # of row B the cell 0.6 away, not the one 0.4 away; row A is within 0.1
    assert named.get_text() == "B\n(recomputed)" and named.xy == (-0.3, 0.3)


def by_another(rows):
    """The ledger with row B's cells by another model."""
    return rows.assign(evidence=rows["row"].map({"A": "recomputed", "B": "rejudged", "C": "none"}))


def test_a_summary_draws_another_model_apart_and_in_no_verdicts_colour(summarised):
    figure = summarised(by_another(LEDGER))
    own, others, bars = figure.axes
    assert not colours_of(figure) & {COLOURS["differs"], COLOURS["sign_flipped"]}
    points = [np.asarray(c.get_offsets()).tolist() for c in others.collections
              if c.get_label() == ANOTHER["label"]]
    assert points == [[[-0.3, 0.3], [0.5, 0.1]]]
    assert others.get_legend() and not own.texts  # what lies far off is no failure, so it is not named
    assert [t.get_text() for t in own.get_legend().get_texts()] == ["exact", "close"]
    widths = {t.get_text(): b.get_width() for t, b in zip(bars.get_yticklabels(), bars.patches)}
    assert widths == {"exact": 1, "close": 1, "within ci": 0, "differs": 0, "sign flipped": 0,
                      "relabelled": 0, ANOTHER["label"]: 2, "not run": 2}
    assert own.get_xlim() == others.get_xlim()
    assert figure.get_suptitle() == (
        "Paper\n6 printed cells, 2 compared, 2 of them exact or close; 2 more are another model's")


def test_a_cell_that_another_model_meets_is_not_counted_as_reproduced(summarised):
    rows = LEDGER.assign(evidence="substitute_judge")
    figure = summarised(rows)
    assert "6 printed cells, 0 compared, 0 of them exact or close; 4 more are" in figure.get_suptitle()
    assert not colours_of(figure) & (set(COLOURS.values()) - {COLOURS["not_run"]})


@pytest.mark.parametrize("change", [lambda rows: rows, by_another])
def test_nothing_of_a_summary_is_cut(change, summarised):
    figure = summarised(change(LEDGER), notice=SAMPLE_NOTICE)
    figure.draw_without_rendering()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()  # of all that is visible
    assert drawn.x0 >= 0 and drawn.y0 >= 0 and drawn.x1 <= width and drawn.y1 <= height
