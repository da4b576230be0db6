"""Intervals against plain loops over scipy's coefficients, and by hand."""

from hashlib import blake2b

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import exact
import nlgjudge as nj
from nlgjudge.stats import intervals
from nlgjudge.stats.intervals import difference, mean_interval

FUNCTIONS = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
COEFFICIENTS = list(FUNCTIONS)


def study(seed=0, documents=14, systems=13, gaps=0.1):
    """Ratings 1 to 5 and two judges, with ties, missing scores and two constant documents."""
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, (documents, systems)).astype(float)
    a = np.clip(human + rng.integers(-2, 3, human.shape), 1, 5)
    b = human + rng.normal(size=human.shape).round(1)
    a[0], human[1] = 3, 2
    for scores in (human, a, b):
        scores[rng.random(scores.shape) < gaps] = np.nan
    frame = pd.DataFrame({"human": human.ravel(), "a": a.ravel(), "b": b.ravel()})
    frame["doc_id"] = np.repeat([f"d{d}" for d in range(documents)], systems)
    frame["system_id"] = [f"s{s}" for s in range(systems)] * documents
    return frame.sample(frac=1, random_state=seed)


def one(x, y, coefficient):
    if len(x) < 2 or x.nunique() < 2 or y.nunique() < 2:
        return np.nan
    return FUNCTIONS[coefficient](x, y).statistic


def plain(frame, metric, level, coefficient):
    """A correlation over the rows that have both scores; at sample level one for each document."""
    full = frame.dropna(subset=[metric, "human"])
    if level == "dataset":
        return one(full[metric], full["human"], coefficient)
    if level == "system":
        means = full.groupby("system_id")[[metric, "human"]].mean().round(12)
        return one(means[metric], means["human"], coefficient)
    values = {
        d: one(rows[metric], rows["human"], coefficient) for d, rows in full.groupby("doc_id")
    }
    return pd.Series(values).dropna()


def without_each(frame, key, metric, level, coefficient):
    names = frame[key].unique()
    if level == "sample" and key == "doc_id":
        names = plain(frame, metric, level, coefficient).index
    values = [
        np.mean(plain(frame[frame[key] != name], metric, level, coefficient)) for name in names
    ]
    return pd.Series(values, names)


def variance(left_out):
    return (len(left_out) - 1) / len(left_out) * ((left_out - left_out.mean()) ** 2).sum()


def freedom(*lists):
    variances = [variance(values) for values in lists]
    return sum(variances) ** 2 / sum(
        v**2 / (len(values) - 1) for v, values in zip(variances, lists)
    )


def on_z(value, half):
    return np.tanh(np.arctanh(value) + np.array([-half, half]) / (1 - value**2))


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize("level, systems", [("sample", 5), ("dataset", 13), ("dataset", 1)])
def test_these_systems_equal_a_loop(level, coefficient, systems):
    frame = study(systems, documents=14 if systems > 1 else 30, systems=systems)
    value = np.mean(plain(frame, "a", level, coefficient))
    left_out = without_each(frame.dropna(subset=["a", "human"]), "doc_id", "a", level, coefficient)
    half = stats.t.ppf(0.975, len(left_out) - 1) * variance(left_out) ** 0.5
    found = nj.interval(frame, "a", "human", level=level, coefficient=coefficient)
    np.testing.assert_allclose(found[:3], [value, *on_z(value, half)], rtol=0, atol=1e-12)
    assert found[3:5] == (len(left_out), "")


def without_groups(frame, groups, metric, coefficient):
    """The correlation at dataset level without each group of documents, in the order of the digest of their ids."""
    documents = sorted(
        frame["doc_id"].unique(), key=lambda one: blake2b(str(one).encode(), digest_size=8).digest()
    )
    documents = np.array_split(documents, groups)
    return pd.Series(
        plain(frame[~frame["doc_id"].isin(group)], metric, "dataset", coefficient)
        for group in documents
    )


@pytest.mark.parametrize("coefficient, systems", [("spearman", 1), ("pearson", 3)])
def test_many_documents_are_left_out_in_groups(coefficient, systems, monkeypatch):
    """Documents with a score, in 12 groups of nearly equal size; sample level has none."""
    monkeypatch.setattr(intervals, "GROUPS", 12)
    how = {"level": "dataset", "coefficient": coefficient}
    frame = study(1, documents=33, systems=systems)
    full = frame.dropna(subset=["a", "human"])
    left_out = without_groups(full, 12, "a", coefficient)
    half = stats.t.ppf(0.975, 11) * (11 / 12 * ((left_out - left_out.mean()) ** 2).sum()) ** 0.5
    found = nj.interval(frame, "a", "human", **how)
    value = plain(frame, "a", "dataset", coefficient)
    np.testing.assert_allclose(found[:3], [value, *on_z(value, half)], rtol=0, atol=1e-12)
    assert found.n == full["doc_id"].nunique() > 12
    of_b = without_groups(frame.dropna(), 12, "b", coefficient)
    of_a = without_groups(frame.dropna(), 12, "a", coefficient)
    half = stats.t.ppf(0.975, 11) * variance(of_a - of_b) ** 0.5
    found = difference(frame, "a", "b", "human", **how)
    assert found.high - found.value == pytest.approx(half, abs=1e-12)


def test_groups_depend_on_the_ids_of_documents_alone(monkeypatch):
    """Neither on the order of the frame, nor on whether ids are numbers or texts, which sort otherwise."""
    monkeypatch.setattr(intervals, "GROUPS", 12)
    frame = study(1, documents=33, systems=3)
    frame["doc_id"] = frame["doc_id"].str[1:].astype(int)
    found = nj.interval(frame, "a", "human", level="dataset")
    as_text = frame.assign(doc_id=frame["doc_id"].astype(str)).sample(frac=1, random_state=2)
    again = nj.interval(as_text, "a", "human", level="dataset")
    np.testing.assert_allclose(again[:3], found[:3], rtol=1e-12)
    others = frame.assign(doc_id=frame["doc_id"] + 100)
    renamed = nj.interval(others, "a", "human", level="dataset")
    assert renamed.low != pytest.approx(found.low, rel=1e-6)


@pytest.mark.parametrize("level", exact.LEVELS)
@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_other_systems_equal_a_loop(level, coefficient):
    frame = study(3)
    how = {"level": level, "coefficient": coefficient}
    value = np.mean(plain(frame, "a", **how))
    by_system = without_each(frame, "system_id", "a", **how)
    found = nj.interval(frame, "a", "human", systems="other", **how)
    if level == "system":
        half = stats.t.ppf(0.975, len(by_system) - 1) * variance(by_system) ** 0.5
        expected = on_z(value, half)
    else:
        lists = without_each(frame.dropna(subset=["a", "human"]), "doc_id", "a", **how), by_system
        half = stats.t.ppf(0.975, freedom(*lists)) * sum(map(variance, lists)) ** 0.5
        expected = np.clip([value - half, value + half], -1, 1)
        these = nj.interval(frame, "a", "human", **how)
        assert found.high - found.low > these.high - these.low
    np.testing.assert_allclose(found[:3], [value, *expected], rtol=0, atol=1e-12)


def test_a_difference_is_the_t_interval_of_the_documents_differences():
    frame = study(4).dropna()
    a, b = (plain(frame, metric, "sample", "spearman") for metric in ("a", "b"))
    both = pd.concat([a - a.mean(), b - b.mean()], axis=1).fillna(0)  # constant for one judge alone
    left_out = (a.mean() - b.mean()) + (both[1] / (len(b) - 1) - both[0] / (len(a) - 1))
    half = stats.t.ppf(0.975, len(both) - 1) * variance(left_out) ** 0.5
    found = difference(frame, "a", "b", "human")
    middle = a.mean() - b.mean()
    expected = [middle, middle - half, middle + half]
    np.testing.assert_allclose(found[:3], expected, rtol=0, atol=1e-12)
    turned = difference(frame, "b", "a", "human")
    np.testing.assert_allclose(turned[:3], [-found[0], -found[2], -found[1]], rtol=0, atol=1e-12)
    even = frame[frame["doc_id"].isin(set(a.index) & set(b.index))]
    tested = stats.ttest_1samp((a - b).dropna(), 0).confidence_interval()
    np.testing.assert_allclose(difference(even, "a", "b", "human")[1:3], tested, atol=1e-12)


def test_a_difference_for_other_systems_takes_the_larger_variance():
    frame = study(5).dropna()
    how = ("dataset", "pearson")
    lists = [
        without_each(frame, key, "a", *how) - without_each(frame, key, "b", *how)
        for key in ("doc_id", "system_id")
    ]
    half = stats.t.ppf(0.975, freedom(*lists)) * max(map(variance, lists)) ** 0.5
    options = {"level": "dataset", "coefficient": "pearson", "systems": "other"}
    found = difference(frame, "a", "b", "human", **options)
    np.testing.assert_allclose([found.value - found.low, found.high - found.value], half)


def test_a_mean_leaves_a_document_out_of_all_parts_of_its_frame():
    first, second = study(6), study(7, documents=20, systems=1)
    how = ("dataset", "kendall")
    parts = [(first, "a", "human"), (first, "b", "human"), (second, "a", "human")]
    lists = []
    for frame, metrics in ((first, "ab"), (second, "a")):
        values = [
            without_each(frame.dropna(subset=[m, "human"]), "doc_id", m, *how) for m in metrics
        ]
        lists.append(sum(values) / 3)
    value = np.mean([plain(frame, metric, *how) for frame, metric, _ in parts])
    half = stats.t.ppf(0.975, freedom(*lists)) * sum(map(variance, lists)) ** 0.5
    found = mean_interval(parts, level="dataset", coefficient="kendall")
    np.testing.assert_allclose(found[:3], [value, *on_z(value, half)], rtol=0, atol=1e-12)
    assert found.n == sum(map(len, lists))
    alone = mean_interval(parts[:1], level="dataset", coefficient="kendall")
    assert alone == nj.interval(first, "a", "human", level="dataset", coefficient="kendall")


def test_lists_of_columns_give_a_mean_or_a_difference():
    frame = study(8).dropna()
    parts = [(frame, "a", "human"), (frame, "b", "human")]
    assert nj.interval(frame, ["a", "b"], ["human"] * 2) == mean_interval(parts)
    found = nj.interval(frame, ["a", "b"], ["human"] * 2, weights=[1, -1])
    np.testing.assert_allclose(found[:3], difference(frame, "a", "b", "human")[:3], atol=1e-12)
    with pytest.raises(ValueError, match="shorter"):
        nj.interval(frame, ["a", "b"], ["human"])


def small(documents=12, systems=13):
    return study(9, documents, systems, gaps=0)


@pytest.mark.parametrize(
    "frame, options, reason",
    [
        (small(documents=11), {}, "fewer than 10 documents with a correlation"),
        (small(documents=9), {"level": "dataset"}, "fewer than 10 documents with a correlation"),
        (small(), {"metric": "human"}, "the correlation is exactly 1 or -1"),
        (small().eval("a = -human"), {}, "the correlation is exactly 1 or -1"),
        (small().assign(a=1.0), {}, "constant input in every document"),
        (small().assign(a=np.nan), {}, "no item has both scores"),
        (small(), {"constant": "nan"}, "constant input in 2 documents"),
        (small(), {"level": "system"}, "none is valid at system level for these systems"),
        (small(20, systems=3), {"systems": "other"}, "fewer than 4 systems"),
        (small(systems=5), {"systems": "other", "level": "dataset"}, "fewer than 6 systems"),
        (small(systems=11), {"systems": "other", "level": "system"}, "fewer than 12 systems"),
        (small().query("doc_id == 'd3'"), {"level": "dataset"}, "fewer than 10 documents"),
    ],
)
def test_no_interval_is_given_where_none_is_valid(frame, options, reason):
    options = {"metric": "a"} | options
    found = nj.interval(frame, human="human", **options)
    assert np.isnan([found.low, found.high]).all() and found.reason.startswith(reason)
    options.pop("systems", None)
    np.testing.assert_equal(found.value, nj.correlation(frame, human="human", **options).value)


def test_equal_and_undefined_left_out_values():
    copies = pd.concat([study(1, 2, 5, 0).query("doc_id == 'd1'").assign(human=range(5))] * 12)
    copies["doc_id"] = np.repeat(range(12), 5)
    assert nj.interval(copies, "a", "human").reason == "all left-out values are equal"
    twins = small().assign(b=lambda frame: frame["a"])
    assert difference(twins, "a", "b", "human")[0] == 0
    assert difference(twins, "a", "b", "human").reason == "all left-out values are equal"
    lone = small().assign(a=lambda frame: (frame["doc_id"] == "d5") * frame["human"])
    found = nj.interval(lone, "a", "human", level="dataset")
    assert found.reason == "undefined without one of the documents"


def spread_out(times, documents=20, systems=6):
    """Judges that follow people's normal ratings, with one document of `times` the spread."""
    human, *errors = np.random.default_rng(5).normal(size=(3, documents, systems))
    scores = np.array([human, *(0.5 * human + 0.9 * error for error in errors)])
    scores[:, 3] *= times
    frame = pd.DataFrame(scores.reshape(3, -1).T, columns=["human", "a", "b"])
    frame["doc_id"], frame["system_id"] = np.divmod(range(len(frame)), systems)
    return frame


@pytest.mark.parametrize("times, given", [(8, True), (1, False)])
def test_one_document_with_a_large_part_of_the_variance_gives_a_notice(times, given):
    frame, how = spread_out(times), {"level": "dataset", "coefficient": "pearson"}
    squares = without_each(frame, "doc_id", "a", *how.values()).pipe(lambda v: (v - v.mean()) ** 2)
    share = squares[3] / squares.sum()
    assert (share > 3 / 20**0.5) == given
    agreed = nj.agreement(frame, ["a"], ["human"], coefficients=["pearson"], interval=True)
    notices = [
        nj.interval(frame, "a", "human", **how).notice,
        nj.interval(frame, "a", "human", systems="other", **how).notice,
        *agreed["ci_notice"],
    ]
    for notice in notices:
        assert notice.startswith(f"one of 20 documents has {share:.0%} of the variance") == given
        assert given or notice == ""
    assert bool(nj.interval(frame, ["a", "b"], ["human"] * 2, **how).notice) == given
    # A correlation within the document does not depend on its spread.
    assert nj.interval(frame, "a", "human", coefficient="pearson").notice == ""


@pytest.mark.parametrize(
    "documents, turned, given",
    [(10, 1, True), (10, 2, False), (30, 2, False), (50, 2, True), (50, 3, False), (100, 3, True)],
)
def test_the_part_that_gives_a_notice_depends_on_the_number_of_documents(documents, turned, given):
    """Documents' correlations are 1 or -1; one of k that are -1 has (n - k) / (k n) of the variance."""
    frame = pd.DataFrame(
        [(d, s, s, -s if d < turned else s) for d in range(documents) for s in range(4)],
        columns=["doc_id", "system_id", "human", "a"],
    )
    share = (documents - turned) / (turned * documents)
    found = nj.interval(frame, "a", "human")
    assert bool(found.notice) == given == (share > min(0.8, 3 / documents**0.5))
    assert f"{share:.0%}" in found.notice or not given


def test_a_mean_needs_twelve_other_systems():
    frame = small(systems=11)
    found = mean_interval([(frame, "a", "human"), (frame, "b", "human")], systems="other")
    assert found.reason.startswith("fewer than 12 systems")
    assert mean_interval([(frame, "a", "human"), (frame, "b", "human")]).reason == ""
