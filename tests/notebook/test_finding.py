"""A finding shows what is committed, and the check refuses a run that gives something else."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import nlgjudge as nj

QUESTION = """
What do {replies} replies
gain?"""
ANSWER = """
{gain:+.2f[]} in Spearman, most with {best way}.
Of {pairs} pairs {share:.1%} move, as Liu et al. report. No more is known:

- {best way}
"""
CONDITIONS = "Dataset level; 95% intervals for other dialogues."
VALUES = {
    "replies": 20,
    "gain": (0.18, 0.1, 0.26),
    "best way": "reasons, then rating",
    "pairs": 1600,
    "share": 0.125,
}
SETTINGS = {"seed": 0, "aspects": ("fluency", "coherence")}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A repository without findings, and the results of a run beside it."""
    (tmp_path / "paper_tables" / "findings").mkdir(parents=True)
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "out"))
    monkeypatch.delenv("NLGJUDGE_REFRESH", raising=False)
    return tmp_path


def finding(answer=ANSWER):
    return nj.Finding("mine", QUESTION, answer, CONDITIONS)


def commit(folder, values=VALUES, answer=ANSWER, **settings):
    """Write a finding for the first time and copy it, as `make refresh` does."""
    made = finding(answer)
    made.check(values, **(settings or SETTINGS))
    made.write()
    (folder / "out" / "findings" / "mine.csv").rename(
        folder / "paper_tables" / "findings" / "mine.csv"
    )


def text_of(shown):
    return shown._repr_mimebundle_()["text/markdown"]


def test_the_first_time_nothing_is_committed_and_the_check_shows_this_run(folder):
    assert "Nothing is committed for mine yet" in text_of(finding())
    assert finding().short == "… in Spearman, most with …."
    said = finding().check(VALUES, **SETTINGS).data
    assert "Nothing is committed" in said and "+0.18 [0.10, 0.26] in Spearman" in said
    with pytest.raises(ValueError, match="no finding 'mine'"):
        nj.Finding("mine")


def test_what_is_committed_is_shown_with_intervals_units_and_conditions(folder):
    commit(folder, VALUES | {"tau-a": (-0.2, float("nan"), float("nan"), 1200)})
    shown = nj.Finding("mine")
    assert shown.question == "What do 20 replies gain?"
    assert shown.short == "+0.18 [0.10, 0.26] in Spearman, most with reasons, then rating."
    assert shown.sentences[1:] == [
        "Of 1,600 pairs 12.5% move, as Liu et al. report.",
        "No more is known:",
        "- reasons, then rating",
    ]
    assert "| gain | +0.18 [0.10, 0.26] |  |\n" in text_of(shown)
    assert "| tau-a | -0.20 | 1,200 |\n\nDataset level; 95% intervals" in text_of(shown)
    assert "best way |" not in text_of(shown)
    assert text_of(shown) == text_of(finding())


def test_the_check_passes_the_same_run_and_rounding_errors(folder):
    commit(folder)
    assert finding().check(VALUES, **SETTINGS).data == "All 5 values are as committed."
    near = VALUES | {"gain": (0.18 + 1e-9, 0.1, 0.26), "share": 0.125 * (1 + 1e-8)}
    finding().check(near, **SETTINGS)


@pytest.mark.parametrize(
    "changed, message",
    [
        (
            {"gain": (0.19, 0.1, 0.26)},
            r"1 differ from .*gain is 0.19 \[0.1, 0.26\], committed 0.18",
        ),
        ({"best way": "ratings"}, "best way is 'ratings', committed 'reasons, then rating'"),
        ({"pairs": 1601, "replies": 19}, "2 differ.*replies is 19.*pairs is 1601.*make refresh"),
        ({"another": 1}, "another is 1, committed None"),
    ],
)
def test_the_check_refuses_changed_values(folder, changed, message):
    commit(folder)
    with pytest.raises(ValueError, match=message):
        finding().check(VALUES | changed, **SETTINGS)


def test_the_check_refuses_lost_values_and_changed_templates(folder):
    commit(folder, VALUES | {"another": 1})
    with pytest.raises(ValueError, match="another is None, committed 1"):
        finding().check(VALUES, **SETTINGS)
    with pytest.raises(ValueError, match="the template of the answer"):
        finding("{gain:.3f}").check(VALUES | {"another": 1}, **SETTINGS)
    with pytest.raises(ValueError, match=r"a template names \['lost'\]; values has \['replies', "):
        finding("{lost}").check(VALUES, **SETTINGS)


def test_other_settings_and_the_sample_are_not_comparable_and_show_this_run(folder):
    commit(folder)
    changed = VALUES | {"gain": (0.3, 0.2, 0.4)}
    said = finding().check(changed, **SETTINGS | {"seed": 1}).data
    assert said.startswith("**This run is not comparable with the committed one**: seed 1, com")
    assert "**Answer:** +0.30 [0.20, 0.40] in Spearman" in said and "| gain | +0.30" in said


def test_the_sample_is_not_comparable_and_has_its_own_folder(folder, monkeypatch):
    monkeypatch.delenv("NLGJUDGE_ROOT")
    sample = nj.load("summeval", "sample")
    monkeypatch.setenv("NLGJUDGE_ROOT", str(folder))
    commit(folder)
    made = finding()
    assert "sample data, not comparable with the papers" in made.check(VALUES, sample).data
    figure, axis = plt.subplots(figsize=(1, 1))
    axis.plot([0, 1])
    made.write(figure)
    assert plt.fignum_exists(figure.number)
    plt.close(figure)
    written = sorted(path.relative_to(folder / "out") for path in folder.rglob("out/**/mine.*"))
    assert list(map(str, written)) == [
        "sample/figures/mine.png",
        "sample/figures/mine.svg",
        "sample/findings/mine.csv",
    ]


def test_a_refresh_takes_what_differs(folder, monkeypatch):
    commit(folder)
    monkeypatch.setenv("NLGJUDGE_REFRESH", "1")
    said = finding().check(VALUES | {"pairs": 7}, **SETTINGS).data
    assert "as committed" in said
    commit(folder, VALUES | {"pairs": 7})
    assert nj.Finding("mine").values["pairs"].value == 7


def test_intervals_and_correlations_are_values(folder):
    """Ten documents of four systems; the judge is wrong about one pair in two of them, so rho is 0.8 there."""
    right, wrong = [1, 2, 3, 4], [1, 3, 2, 4]
    rows = [(d, s, s, (wrong if d < 2 else right)[s - 1]) for d in range(10) for s in right]
    frame = pd.DataFrame(rows, columns=["doc_id", "system_id", "human", "judge"])
    found = nj.interval(frame, "judge", "human")
    values = VALUES | {"gain": found, "share": nj.correlation(frame, "judge", "human")}
    commit(folder, values)
    shown = nj.Finding("mine")
    assert shown.values["gain"] == pytest.approx((0.96, found.low, found.high, 10))
    assert "| gain | +0.96 [0.83, 0.99] | 10 |\n" in text_of(shown)
    assert "| share | 96.0% | 10 |" in text_of(shown)
    finding().check(values, **SETTINGS)


def test_the_committed_figure_is_shown_and_an_equal_one_is_not_shown_again(folder):
    commit(folder)
    assert finding().figure is None
    made = finding()
    made.check(VALUES, **SETTINGS)
    figure, axis = plt.subplots(figsize=(1, 1))
    axis.plot([0, 1])
    made.write(figure)
    assert not plt.fignum_exists(figure.number)
    (folder / "out" / "figures").rename(folder / "figures")
    assert finding().figure.data.startswith(b"\x89PNG")
