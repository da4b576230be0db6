"""Figures by the data that they plot, the words that they carry, and their bytes."""

import os
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest

from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.report.figures import COLOURS, comparison, save
from nlgjudge.report.ledger import VERDICTS

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
