"""Frames that no statistic accepts, given to every public function that takes one."""

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge import stats
from nlgjudge.stats.intervals import difference
from nlgjudge.stats.permutation import permutation_test

BY_ITEM = {
    "correlation": lambda f: nj.correlation(f, "a", "human"),
    "correlation_table": lambda f: nj.correlation_table(f, ["a"], ["human"]),
    "agreement": lambda f: nj.agreement(f, ["a"], ["human"]),
    "interval": lambda f: nj.interval(f, "a", "human"),
    "interval_table": lambda f: stats.interval_table(
        f,
        pd.DataFrame(
            [("a", "human", "sample", "pearson")],
            columns=["metric", "aspect", "level", "coefficient"],
        ),
    ),
    "mean": lambda f: nj.interval(f, ["a", "b"], ["human", "human"]),
    "paired_tests": lambda f: nj.paired_tests(f, [("a", "b")], ["human"], permutations=9),
    "williams_test": lambda f: stats.williams_test(f, "a", "b", "human"),
    "pairwise_accuracy": lambda f: stats.pairwise_accuracy(f, "a", "human"),
    "soft_pairwise_accuracy": lambda f: stats.pairwise_accuracy(
        f, "a", "human", level="system", soft=True, resamples=9
    ),
    "smallest_detectable": lambda f: stats.smallest_detectable(
        f, "a", "b", "human", documents=5, systems=4
    ),
}
JUDGE = pd.DataFrame({"item_id": [f"i{i}" for i in range(40)], "score": np.arange(40) % 5})
BY_RATER = {
    "ceiling": lambda f: stats.ceiling(f),
    "alpha": lambda f: stats.alpha(f),
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
    return frame.assign(doc_id=frame["item_id"], system_id="s").assign(
        doc_id=frame["item_id"].str[-1], system_id=frame["item_id"].str[:-1]
    )


@pytest.mark.parametrize("name", BY_ITEM)
def test_items_without_an_id_are_refused(name):
    BY_ITEM[name](items())
    for key, missing in (("doc_id", None), ("system_id", np.nan), ("doc_id", pd.NA)):
        frame = items().astype({key: object})
        frame.loc[[7, 9], key] = missing
        with pytest.raises(ValueError, match=f"got 2 rows without {key}, first at index 7; give"):
            BY_ITEM[name](frame)
    numbered = items().assign(doc_id=np.repeat(np.arange(12.0), 4))
    BY_ITEM[name](numbered)
    numbered.loc[5, "doc_id"] = np.nan
    with pytest.raises(ValueError, match="got 1 rows without doc_id, first at index 5"):
        BY_ITEM[name](numbered)


@pytest.mark.parametrize("name", BY_ITEM)
def test_other_unusable_frames_are_refused(name):
    with pytest.raises(ValueError, match=r"got 1 repeated, first \['a', 'x'\]; aggregate"):
        BY_ITEM[name](pd.concat([items(), items().iloc[[1]]]))
    with pytest.raises(ValueError, match="expected finite scores, got infinite ones in 'a'"):
        BY_ITEM[name](items().replace({"a": {items()["a"][3]: np.inf}}))
    with pytest.raises(
        ValueError, match="expected columns doc_id, system_id.*no column 'system_id'"
    ):
        BY_ITEM[name](items().drop(columns="system_id"))


SHORT = {name: call for name, call in BY_ITEM.items() if name != "interval_table"} | {
    "few_labels": lambda f: stats.few_labels(f, "a", "human", scale=(-9, 9), metric_scale=(-9, 9))
}


@pytest.mark.parametrize("name", SHORT)
def test_a_judge_is_named_alike_everywhere(name):
    """By its name alone, where the column has the aspect too, and also where another has the name alone."""
    named = items().rename(columns={"a": "a:human"})
    expected, *others = (repr(SHORT[name](one)) for one in (items(), named, named.assign(a=0.0)))
    for found in others:
        assert found.replace("a:human", "a").split() == expected.split()


@pytest.mark.parametrize("name", SHORT)
def test_an_unknown_judge_gets_the_columns_to_choose_from(name):
    """`agreement` and `paired_tests` too, which look for the column of each aspect."""
    other = items().rename(columns={"a": "a:fluency"})
    with pytest.raises(ValueError, match="no column 'a'; there are a:fluency$"):
        SHORT[name](other)
    near = items().rename(columns={"a": "aa:human"})
    with pytest.raises(ValueError, match="no column 'a': did you mean .*'aa'"):
        SHORT[name](near)


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
@pytest.mark.parametrize("name", ["few_labels", "smallest_detectable"])
def test_what_has_a_scale_refuses_scores_of_another_size(name, size):
    call = (SHORT | BY_ITEM)[name]
    with pytest.raises(ValueError, match="in 'a'; multiply them by a constant"):
        call(items().assign(a=items()["a"] * size))


@pytest.mark.parametrize("name", BY_RATER)
def test_ratings_without_an_id_are_refused(name):
    BY_RATER[name](ratings())
    for key in ("rater", "doc_id" if name == "ceiling" else "item_id"):
        frame = ratings().astype({key: object})
        frame.loc[3, key] = None
        with pytest.raises(ValueError, match=f"got 1 rows without {key}, first at index 3"):
            BY_RATER[name](frame)
    with pytest.raises(ValueError, match="got 1 repeated, first"):
        BY_RATER[name](pd.concat([ratings(), ratings().iloc[[1]]]))
    with pytest.raises(ValueError, match="infinite ones in 'score'"):
        BY_RATER[name](ratings().assign(score=np.inf))
    with pytest.raises(ValueError, match="no column 'rater'"):
        BY_RATER[name](ratings().drop(columns="rater"))


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


FRAME, RATINGS = items(), ratings()


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: nj.correlation(FRAME, "a", "human", level="summary"),
            "level='summary': expected one of sample, dataset",
        ),
        (
            lambda: nj.correlation(FRAME, "a", "human", coefficient="tau"),
            "coefficient='tau': expected one of pearson",
        ),
        (
            lambda: nj.correlation(FRAME, "a", "human", constant="drop"),
            "constant='drop': expected one of skip",
        ),
        (
            lambda: nj.correlation(FRAME, "a", "human", kendall="a"),
            "kendall='a': expected one of b, c",
        ),
        (
            lambda: nj.interval(FRAME, "a", "human", systems="all"),
            "systems='all': expected one of these, other",
        ),
        (
            lambda: stats.pairwise_accuracy(FRAME, "a", "human", epsilon=-0.1),
            "epsilon=-0.1: expected None",
        ),
        (
            lambda: stats.pairwise_accuracy(
                FRAME, "a", "human", level="system", soft=True, resamples=0
            ),
            "resamples=0: expected a whole number",
        ),
        (
            lambda: stats.pairwise_accuracy(FRAME, "a", "human", soft=True),
            "level='sample': expected one of system",
        ),
        (
            lambda: stats.alpha(RATINGS, "ratio"),
            "metric='ratio': expected one of nominal, ordinal, interval",
        ),
        (lambda: stats.ceiling(RATINGS, level="summary"), "level='summary': expected one of"),
        (lambda: stats.alternative_annotator_test(RATINGS, JUDGE, epsilon=2), "epsilon=2"),
        (
            lambda: stats.alternative_annotator_test(RATINGS, JUDGE, similarity="r"),
            "similarity='r'",
        ),
        (
            lambda: stats.alternative_annotator_test(RATINGS.head(60), JUDGE),
            "expected annotators with 30 instances, got at most 20",
        ),
        (lambda: stats.holm([0.1, 1.5]), "expected a list of p-values"),
    ],
)
def test_bad_options(call, message):
    with pytest.raises(ValueError, match=message):
        call()
