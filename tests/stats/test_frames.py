"""Frames that no statistic accepts, given to every public function that takes one."""

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge import stats
from nlgjudge.stats.intervals import difference
from nlgjudge.stats.permutation import permutation_test
from nlgjudge.stats.power_analysis import smallest_detectable

SOFT = {"level": "system", "soft": True, "resamples": 9}
BY_ITEM = {
    "correlation": lambda f: nj.correlation(f, "a", "human"),
    "correlation_table": lambda f: nj.correlation_table(f, ["a"], ["human"]),
    "agreement": lambda f: nj.agreement(f, ["a"], ["human"], interval=True),
    "interval": lambda f: nj.interval(f, "a", "human"),
    "interval of a mean": lambda f: nj.interval(f, ["a", "b"], ["human", "human"]),
    "paired_tests": lambda f: nj.paired_tests(f, [("a", "b")], ["human"], permutations=9),
    "assisted_mean": lambda f: stats.assisted_mean(f, "a", "human"),
    "williams_test": lambda f: stats.williams_test(f, "a", "b", "human"),
    "pairwise_accuracy": lambda f: stats.pairwise_accuracy(f, "a", "human"),
    "soft accuracy": lambda f: stats.pairwise_accuracy(f, "a", "human", **SOFT),
    "smallest_detectable": lambda f: smallest_detectable(
        f, "a", "b", "human", documents=5, systems=4
    ),
}
JUDGE = pd.DataFrame({"item_id": [f"i{i}" for i in range(40)], "score": np.arange(40) % 5})
BY_RATER = {
    "ceiling": stats.ceiling,
    "alpha": stats.alpha,
    "alternative_annotator_test": lambda f: stats.alternative_annotator_test(f, JUDGE),
}


def items():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(48, 3)), columns=["human", "a", "b"])
    frame["doc_id"], frame["system_id"] = np.repeat(list("abcdefghijkl"), 4), [*"wxyz"] * 12
    return frame


def ratings():
    frame = pd.DataFrame([(f"i{i}", r, (i * r) % 5) for i in range(40) for r in (1, 2, 3)])
    frame.columns = ["item_id", "rater", "score"]
    return frame.assign(doc_id=frame["item_id"].str[-1], system_id=frame["item_id"].str[:-1])


@pytest.mark.parametrize("name", BY_ITEM)
def test_unusable_frames_are_refused(name):
    BY_ITEM[name](items())
    for key, missing in (("doc_id", None), ("system_id", np.nan)):
        frame = items().astype({key: object})
        frame.loc[[7, 9], key] = missing
        with pytest.raises(ValueError, match=f"got 2 rows without {key}, first at index 7; give"):
            BY_ITEM[name](frame)
    with pytest.raises(ValueError, match=r"got 1 repeated, first \['a', 'x'\]; aggregate"):
        BY_ITEM[name](pd.concat([items(), items().iloc[[1]]]))
    with pytest.raises(ValueError, match="expected finite scores, got infinite ones in 'a'"):
        BY_ITEM[name](items().replace({"a": {items()["a"][3]: np.inf}}))
    with pytest.raises(ValueError, match="columns doc_id, system_id.*no column 'system_id'"):
        BY_ITEM[name](items().drop(columns="system_id"))


@pytest.mark.parametrize("name", BY_ITEM)
def test_a_judge_is_named_alike_everywhere(name):
    """By its name alone, where the column has the aspect too, and also where another has the name alone."""
    named = items().rename(columns={"a": "a:human"})
    expected, *others = (repr(BY_ITEM[name](one)) for one in (items(), named, named.assign(a=0.0)))
    for found in others:
        assert found.replace("a:human", "a").split() == expected.split()


@pytest.mark.parametrize("name", BY_ITEM)
def test_an_unknown_judge_gets_the_columns_to_choose_from(name):
    other = items().rename(columns={"a": "a:fluency"})
    with pytest.raises(ValueError, match="no column 'a'; there are a:fluency$"):
        BY_ITEM[name](other)
    near = items().rename(columns={"a": "aa:human"})
    with pytest.raises(ValueError, match="no column 'a': did you mean .*'aa'"):
        BY_ITEM[name](near)


SIZES = [1e-310, 1e-200, 1e200, 1e305]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("level", ["sample", "dataset", "system"])
def test_the_size_of_scores_changes_nothing(level, size):
    """Sums of squares neither overflow nor vanish: of the scores, of means, and with each document left out."""
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(120, 3)), columns=["human", "a", "b"]
    )
    frame["doc_id"], frame["system_id"] = np.repeat(np.arange(10), 12), [*range(12)] * 10
    how = {"level": level, "coefficient": "pearson"}

    def found(f):
        yield from nj.correlation(f, "a", "human", **how)
        yield from nj.interval(f, "a", "human", systems="other", **how)
        yield from difference(f, "a", "b", "human", systems="other", **how)
        yield from nj.interval(f, ["a", "b"], ["human"] * 2, **how)
        yield from permutation_test(f, "a", "b", "human", units="systems", **how)
        if level != "sample":
            yield from stats.williams_test(f, "a", "b", "human", **how)

    expected = list(found(frame))
    assert not np.isnan(expected[0])
    sized = frame.assign(a=frame["a"] * size, b=frame["b"] * size)
    for one, other in zip(found(sized), expected, strict=True):
        assert one == (pytest.approx(other, nan_ok=True) if isinstance(other, float) else other)


@pytest.mark.parametrize("size", SIZES)
def test_the_size_of_ratings_changes_nothing(size):
    """Alpha's squared differences, and those of the annotator test."""
    large = ratings().assign(score=lambda frame: frame["score"] * size)
    judge = JUDGE.assign(score=JUDGE["score"] * size)
    one = stats.alpha(large, "interval").value
    assert one == pytest.approx(stats.alpha(ratings(), "interval").value)
    for similarity in ("accuracy", "rmse"):
        one = stats.alternative_annotator_test(large, judge, similarity=similarity)
        other = stats.alternative_annotator_test(ratings(), JUDGE, similarity=similarity)
        assert one[:2] == pytest.approx(other[:2])


@pytest.mark.parametrize("size", SIZES)
def test_what_has_a_scale_refuses_scores_of_another_size(size):
    with pytest.raises(ValueError, match="in 'a'; multiply them by a constant"):
        BY_ITEM["smallest_detectable"](items().assign(a=items()["a"] * size))


@pytest.mark.parametrize("name", BY_RATER)
def test_unusable_ratings_are_refused(name):
    BY_RATER[name](ratings())
    nameless = ratings().astype({"rater": object})
    nameless.loc[3, "rater"] = None
    for frame, message in (
        (nameless, "got 1 rows without rater, first at index 3"),
        (pd.concat([ratings(), ratings().iloc[[1]]]), "got 1 repeated, first"),
        (ratings().assign(score=np.inf), "infinite ones in 'score'"),
        (ratings().drop(columns="rater"), "no column 'rater'"),
        (ratings().query("rater == 1"), r"expected two or more raters, got \[1\]"),
    ):
        with pytest.raises(ValueError, match=message):
            BY_RATER[name](frame)


@pytest.mark.parametrize("name", BY_ITEM)
def test_two_items_and_one_system_have_a_clear_result(name):
    two = items().iloc[:2]
    alone = items().query("system_id == 'w'")
    for frame in (two, alone):
        if name == "smallest_detectable":
            with pytest.raises(ValueError, match="is undefined|3 to 2 systems"):
                BY_ITEM[name](frame)
        else:
            BY_ITEM[name](frame)


@pytest.mark.parametrize(
    "function, options, message",
    [
        (nj.correlation, {"level": "summary"}, "level='summary': expected one of sample, dataset"),
        (nj.correlation, {"coefficient": "tau"}, "coefficient='tau': expected one of pearson"),
        (nj.correlation, {"constant": "drop"}, "constant='drop': expected one of skip"),
        (nj.correlation, {"kendall": "a"}, "kendall='a': expected one of b, c"),
        (nj.interval, {"systems": "all"}, "systems='all': expected one of these, other"),
        (stats.pairwise_accuracy, {"epsilon": -0.1}, "epsilon=-0.1: expected None"),
        (stats.pairwise_accuracy, {"soft": True}, "level='sample': expected one of system"),
        (stats.pairwise_accuracy, SOFT | {"resamples": 0}, "resamples=0: expected a whole"),
    ],
)
def test_bad_options(function, options, message):
    with pytest.raises(ValueError, match=message):
        function(items(), "a", "human", **options)


@pytest.mark.parametrize(
    "function, options, message",
    [
        (stats.alpha, {"metric": "ratio"}, "metric='ratio': expected one of nominal, ordinal"),
        (stats.ceiling, {"level": "summary"}, "level='summary': expected one of"),
        (stats.alternative_annotator_test, {"judge": JUDGE, "epsilon": 2}, "epsilon=2"),
        (stats.alternative_annotator_test, {"judge": JUDGE, "similarity": "r"}, "similarity='r'"),
        (stats.alternative_annotator_test, {"judge": JUDGE.head(20)}, "30 instances, got at"),
    ],
)
def test_bad_options_of_raters(function, options, message):
    with pytest.raises(ValueError, match=message):
        function(ratings(), **options)


def test_p_values_are_shares():
    with pytest.raises(ValueError, match="expected a list of p-values"):
        stats.holm([0.1, 1.5])
