"""The multiverse counted by hand, and data in which exactly one choice flips the winner."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.stats.correlations import correlation
from nlgjudge.studies.which_choices_flip import FACTORS, curve, flips, multiverse

BASE = np.array([[0], [10], [20]])


def frame_of(human, **metrics):
    """Matrices of documents x systems as a frame."""
    d, s = np.indices(np.shape(human))
    columns = {"h": human, **metrics}
    return pd.DataFrame(
        {
            "doc_id": [f"d{i}" for i in d.ravel()],
            "system_id": [f"s{i}" for i in s.ravel()],
            **{k: np.asarray(v, float).ravel() for k, v in columns.items()},
        }
    )


def level_flip():
    """a orders systems perfectly but documents backwards; b knows the documents, swaps two systems."""
    return frame_of(BASE + [1, 2, 3, 4], a=[1, 2, 3, 4] - BASE, b=BASE + [2, 1, 3, 4])


def random_frame(seed=0):
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, (8, 5)).astype(float)
    a, b = (human + rng.integers(0, most, human.shape) for most in (4, 6))
    frame = frame_of(human, a=a, b=b)
    frame.loc[[3, 17], "a"] = np.nan
    return frame


def test_counts_and_no_duplicates():
    frames = {"nan": random_frame(), "zero": random_frame().fillna(0)}
    subsets = {"all": ["s0", "s1", "s2", "s3", "s4"], "three": ["s0", "s1", "s2"]}
    universe = multiverse(frames, ["a", "b"], "h", subsets=subsets)
    # 2 parse policies x 3 constant policies x 3 levels x (pearson, spearman, tau b, tau c) x 2 subsets
    assert len(universe) == 2 * (2 * 3 * 3 * 4 * 2)
    assert not universe.duplicated([*FACTORS, "metric"]).any()
    assert (universe["kendall"].eq("") == universe["coefficient"].ne("kendall")).all()
    one = multiverse(
        {"nan": random_frame()},
        ["a"],
        "h",
        levels=["sample"],
        coefficients=["spearman"],
        constants=["skip"],
        kendalls=["b", "c"],
    )
    assert len(one) == 1 and one["subset"].item() == "all"


def test_every_row_is_the_correlation_of_its_choices():
    frame = random_frame(1)
    frame.loc[frame["doc_id"].isin(["d1", "d4"]), "a"] = 2.0  # constant input in two documents
    universe = multiverse({"p": frame}, ["a", "b"], "h")
    for row in universe.itertuples():
        expected = correlation(
            frame,
            row.metric,
            "h",
            level=row.level,
            coefficient=row.coefficient,
            constant=row.constant,
            kendall=row.kendall or "b",
        )
        np.testing.assert_equal((row.value, row.n, row.n_skipped, row.reason), tuple(expected))
    undefined = universe[universe["value"].isna()]
    assert (
        len(undefined) == 4
        and set(undefined["constant"]) == {"nan"}
        and set(undefined["metric"]) == {"a"}
    )
    assert undefined["reason"].str.contains("constant input in 2 documents").all()


def test_one_choice_flips_the_winner():
    universe = multiverse({"nan": level_flip()}, ["a", "b"], "h")
    table = flips(universe).set_index(["factor", "option"])
    # 3 constant policies x 4 coefficients at each level; b wins the dataset level only
    total = table.loc[("", "")]
    assert tuple(total[["universes", "a_beats", "b_beats", "tied", "undefined"]]) == (
        36,
        24,
        12,
        0,
        0,
    )
    assert total["flips"] and not total["decides"] and total["share_a"] == pytest.approx(2 / 3)
    assert set(table.index[table["decides"]]) == {
        ("level", o) for o in ("sample", "dataset", "system")
    }
    assert (
        table.loc[("level", "dataset"), "share_b"] == 1
        and table.loc[("level", "sample"), "share_a"] == 1
    )
    assert set(table.loc["level", "separation"]) == {1.0}
    # per combination of the others three levels: pairs (s, d), (s, y), (d, y), two of which differ
    assert table.loc[("level", "system"), "switches"] == pytest.approx(2 / 3)
    rest = table.drop(index="level", level="factor").drop(index=("", ""))
    assert set(rest.index.get_level_values("factor")) == {"constant", "coefficient", "kendall"}
    assert (rest["separation"] == 0).all() and (rest["switches"] == 0).all()
    assert rest["flips"].all()  # within each option both win, at different levels
    assert len(table.loc["kendall"]) == 2 and (table.loc["kendall", "universes"] == 9).all()


def test_parse_policy_flips_the_winner():
    """a is perfect where parsed; its one unparsed reply stored as 0 puts the best system last."""
    human = BASE * 0 + [1, 2, 3, 4]
    a = human.astype(float)
    a[:, 3] = np.nan
    b = BASE * 0 + [1, 3, 2, 4]
    strict = frame_of(human, a=a, b=b)
    universe = multiverse(
        {"nan": strict, "zero": strict.fillna(0)}, ["a", "b"], "h", levels=["sample"]
    )
    table = flips(universe)
    assert set(table.loc[table["decides"], "factor"]) == {"policy"}
    assert table.set_index(["factor", "option"]).loc[("policy", "zero"), "b_beats"] == 12
    assert set(universe.query("policy == 'nan' and metric == 'a'")["value"].round(12)) == {1.0}


def test_no_flip_decides_nothing_and_ties_are_counted():
    frame = level_flip().assign(c=lambda f: f["a"])
    table = flips(multiverse({"p": frame}, ["a", "c"], "h", constants=["skip"]))
    assert table.loc[0, "tied"] == 12 and not table["flips"].any() and not table["decides"].any()
    frame["c"] = -frame["h"]
    table = flips(multiverse({"p": frame}, ["b", "c"], "h", constants=["skip"]))
    assert table.loc[0, "a_beats"] == 12 and not table["decides"].any()


def test_undefined_universes_are_counted():
    frame = level_flip()
    frame.loc[frame["doc_id"] == "d0", "b"] = 5.0
    table = flips(
        multiverse({"p": frame}, ["a", "b"], "h", levels=["sample"], coefficients=["pearson"])
    )
    options = table.set_index(["factor", "option"])
    assert table.loc[0, "undefined"] == 1 and table.loc[0, "share_undefined"] == pytest.approx(
        1 / 3
    )
    assert options.loc[("constant", "nan"), "undefined"] == 1


def test_curve_is_sorted_with_undefined_last():
    frame = level_flip()
    frame.loc[frame["doc_id"] == "d0", "b"] = 5.0
    universe = multiverse({"p": frame}, ["a", "b"], "h")
    table = curve(universe, "a", "b")
    assert (
        list(table.columns) == [*FACTORS, "value_a", "value_b", "difference"] and len(table) == 36
    )
    known = table["difference"].dropna()
    assert (
        known.is_monotonic_increasing
        and table["difference"].isna().tolist() == [False] * 32 + [True] * 4
    )
    np.testing.assert_allclose(table["difference"], table["value_a"] - table["value_b"])
    np.testing.assert_allclose(curve(universe, "b", "a")["difference"].dropna(), -known[::-1])


def test_subsets_by_list_and_by_callable():
    frame = random_frame()
    best = lambda f: f.groupby("system_id")["h"].mean().nlargest(3).index  # noqa: E731
    universe = multiverse(
        {"p": frame},
        ["b"],
        "h",
        levels=["system"],
        coefficients=["pearson"],
        constants=["skip"],
        subsets={"best": best, "two": ["s0", "s4"]},
    )
    kept = frame[frame["system_id"].isin(best(frame))]
    found = universe.set_index("subset")
    expected = correlation(kept, "b", "h", level="system", coefficient="pearson")
    assert found.loc["best", "value"] == expected.value
    assert found["n"].to_dict() == {"best": 3, "two": 2}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"frames": {}}, "frames=.*at least one"),
        ({"metrics": []}, "metrics=.*at least one"),
        ({"metrics": "a"}, "metrics='a'"),
        ({"metrics": ["a", "a"]}, "none twice"),
        ({"levels": ()}, "levels="),
        ({"subsets": {}}, "subsets="),
        ({"levels": ["segment"]}, "levels: unknown .*segment.*sample"),
        ({"coefficients": ["tau"]}, "coefficients: unknown"),
        ({"constants": ["drop"]}, "constants: unknown"),
        ({"kendalls": ["a"]}, "kendalls: unknown"),
        ({"metrics": ["x"]}, r"lacks \['x'\]"),
        ({"human": "x"}, r"lacks \['x'\]"),
        ({"subsets": {"none": []}}, "subset 'none'"),
        ({"subsets": {"s": ["s0", "s9"]}}, "subset 's': expected some of the systems.*s9"),
    ],
)
def test_errors_name_what_is_wrong(change, message):
    with pytest.raises(ValueError, match=message):
        multiverse(**{"frames": {"p": level_flip()}, "metrics": ["a"], "human": "h", **change})


def test_infinite_scores_and_all_missing():
    frame = level_flip()
    empty = multiverse({"p": frame.assign(a=np.nan)}, ["a"], "h")
    assert empty["value"].isna().all() and set(empty["reason"]) == {"no item has both scores"}
    frame.loc[0, "a"] = np.inf
    with pytest.raises(ValueError, match="infinite"):
        multiverse({"p": frame}, ["a"], "h")


def test_flips_and_curve_errors():
    universe = multiverse({"p": level_flip()}, ["a"], "h")
    with pytest.raises(ValueError, match="at least two metrics"):
        flips(universe)
    with pytest.raises(ValueError, match=r"got \['b'\]"):
        curve(universe, "a", "b")
    with pytest.raises(ValueError, match=r"lacks \['level'\]"):
        flips(universe.drop(columns="level"))
    with pytest.raises(ValueError, match="once per metric"):
        curve(pd.concat([universe, universe]), "a", "a")
