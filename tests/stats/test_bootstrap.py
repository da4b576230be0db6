"""Intervals against a plain loop over the same draws, and their coverage of a planted correlation."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from nlgjudge.stats import resampling
from nlgjudge.stats.bootstrap import UNITS, column_mean, interval, interval_table, mean_interval
from nlgjudge.stats.correlations import LEVELS, correlation, correlation_table
from normal_study import planted
from pairwise import pairwise

COEFFICIENTS = [("pearson", "b"), ("spearman", "b"), ("kendall", "b"), ("kendall", "c")]
RESAMPLES = 20


def frame_of(x, y):
    """A frame from two matrices of documents x systems."""
    return pd.DataFrame({**keys(*x.shape), "f": x.ravel(), "h": y.ravel()})


@cache
def keys(documents, systems):
    """As the columns of a frame, which takes some time for texts."""
    frame = pd.DataFrame(
        {
            "doc_id": np.repeat([f"d{d}" for d in range(documents)], systems),
            "system_id": [f"s{s}" for s in range(systems)] * documents,
        }
    )
    return {name: column.array for name, column in frame.items()}


def gappy(seed, documents=9, systems=4):
    """Ties and constant documents, missing scores, absent rows, and a document without any pair."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, (documents, systems)).astype(float)
    x = y + rng.integers(0, 3, y.shape)
    x[rng.random(x.shape) < 0.15], y[rng.random(y.shape) < 0.15] = np.nan, np.nan
    x[0], y[1, 1:], x[2] = np.nan, np.nan, 2
    frame = frame_of(x, y)
    return frame[rng.random(len(frame)) > 0.1].sample(frac=1, random_state=seed)


def by_loop(frame, units, seed, **options):
    """Draw documents, then systems, and correlate each resample as a frame of its own."""
    full = frame.dropna()
    documents, systems = sorted(set(full["doc_id"])), sorted(set(full["system_id"]))
    x, y = (full.pivot(index="doc_id", columns="system_id", values=c).to_numpy() for c in "fh")
    rng = np.random.default_rng(seed)
    rows, columns = (
        np.tile(np.arange(len(names)), (RESAMPLES, 1)) for names in (documents, systems)
    )
    if units != "systems" or len(systems) == 1:
        rows = rng.integers(len(documents), size=(RESAMPLES, len(documents)))
    if units != "documents" and len(systems) > 1:
        columns = rng.integers(len(systems), size=(RESAMPLES, len(systems)))
    values = []
    for mine, its in zip(rows, columns):
        f, h = x[mine][:, its], y[mine][:, its]
        d, s = np.nonzero(~np.isnan(f))  # an item has both scores here, or neither
        drawn = pd.DataFrame({"doc_id": d, "system_id": s, "f": f[d, s], "h": h[d, s]})
        values.append(correlation(drawn, "f", "h", **options).value)
    values = [v for v in values if v == v]
    return (*(np.quantile(values, [0.05, 0.95]) if values else (np.nan, np.nan)), len(values))


def agree(frame, units, seed=3, **options):
    ours = interval(
        frame,
        "f",
        "h",
        rng=np.random.default_rng(seed),
        units=units,
        resamples=RESAMPLES,
        confidence=0.9,
        **options,
    )
    expected = (
        correlation(frame, "f", "h", **options).value,
        *by_loop(frame, units, seed, **options),
    )
    np.testing.assert_allclose(ours, expected, atol=1e-12)
    return ours


@pytest.mark.parametrize("level, units, rank", pairwise(LEVELS, UNITS, COEFFICIENTS))
def test_agrees_with_a_loop_on_ties_and_gaps(level, units, rank):
    coefficient, kendall = rank
    found = agree(gappy(5), units, level=level, coefficient=coefficient, kendall=kendall)
    assert found.low < found.high and 0 < found.resamples <= RESAMPLES


@pytest.mark.parametrize(
    "level, constant, units",
    pairwise(LEVELS, ["skip", "nan", "zero"], UNITS, also=[("sample", "nan", "systems")]),
)
def test_policies_are_those_of_the_correlation(level, constant, units):
    found = agree(gappy(1, 5, 3), units, level=level, constant=constant)
    if level == "sample" and constant == "nan" and units == "systems":
        assert found.resamples == 0  # the constant document is in every resample


def test_zero_by_hand():
    """Documents with correlations 1, 0 (constant) and none at all: means of two draws from 1 and 0."""
    frame = frame_of(
        np.array([[1.0, 2], [3, 3], [np.nan, np.nan]]), np.array([[1.0, 2], [1, 2], [1, 2]])
    )
    found = interval(
        frame,
        "f",
        "h",
        rng=np.random.default_rng(0),
        units="documents",
        resamples=500,
        confidence=0.8,
        constant="zero",
    )
    assert found == (
        pytest.approx(0.5),
        0,
        pytest.approx(1),
        500,
    )  # each end is a quarter of the means


@pytest.mark.parametrize("level", LEVELS)
def test_a_resample_without_any_pair_is_undefined(level):
    """Each document has one of the systems: drawing the wrong two of both leaves nothing, not even a zero."""
    frame = frame_of(*[np.array([[1, np.nan], [np.nan, 2]])] * 2)
    assert 0 < agree(frame, "both", level=level, constant="zero").resamples < RESAMPLES


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("level", LEVELS)
def test_one_system_resamples_documents(units, level):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(30, 1))
    frame = frame_of(x, x + rng.normal(size=(30, 1)))
    found = agree(frame, units, level=level)
    if level == "dataset":
        assert (
            found == agree(frame, "documents", level=level) and found.low < found.value < found.high
        )
    else:  # nothing to correlate with one system
        assert np.isnan(found[:3]).all() and found.resamples == 0


def normal_pair(rng, rho, *shape):
    x, noise = rng.normal(size=(2, *shape))
    return x, rho * x + (1 - rho**2) ** 0.5 * noise


def test_coverage_of_clustered_items():
    """Items of a document share a part, so that items drawn one by one would give too narrow an interval."""
    covered, rng = 0, np.random.default_rng(20)
    for _ in range(200):
        shared, own = normal_pair(rng, 0.6, 50, 1), normal_pair(rng, 0.6, 50, 4)
        frame = frame_of(
            *(a + b for a, b in zip(shared, own))
        )  # both parts correlate by 0.6, so the sum too
        found = interval(
            frame,
            "f",
            "h",
            rng=rng,
            level="dataset",
            coefficient="pearson",
            units="documents",
            resamples=200,
            confidence=0.9,
        )
        covered += found.low <= 0.6 <= found.high
    # 0.9 within four standard errors of 0.021; upwards less, as no interval is conservative
    assert 0.82 * 200 <= covered <= 0.96 * 200


def test_coverage_at_sample_level():
    """Kendall's tau of normal pairs is 2/pi asin(rho) in expectation, for documents of any size."""
    truth, covered, rng = 2 / np.pi * np.arcsin(0.5), 0, np.random.default_rng(21)
    for _ in range(200):
        frame = frame_of(*normal_pair(rng, 0.5, 30, 5))
        found = interval(
            frame,
            "f",
            "h",
            rng=rng,
            coefficient="kendall",
            units="documents",
            resamples=200,
            confidence=0.9,
        )
        covered += found.low <= truth <= found.high
    assert 0.82 * 200 <= covered <= 0.96 * 200


def test_the_seed_decides_and_confidence_widens():
    def of(seed, **options):
        return interval(
            gappy(2), "f", "h", rng=np.random.default_rng(seed), level="dataset", **options
        )

    assert of(1) == of(1) != of(2)
    narrow, wide = of(1, confidence=0.5), of(1, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("level", LEVELS)
def test_chunks_change_nothing(units, level, monkeypatch):
    whole, one, some = (
        monkeypatch.setattr(resampling, "_CELLS", cells)
        or interval(
            gappy(2), "f", "h", rng=np.random.default_rng(1), level=level, units=units, resamples=50
        )
        for cells in (resampling._CELLS, 1, 2000)
    )
    assert one == pytest.approx(whole, abs=1e-12) and some == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"units": "raters"}, "units='raters': expected one of documents, systems, both"),
        ({"level": "summary"}, "level='summary': expected one of sample, dataset, system"),
        ({"confidence": 95}, "confidence=95, .*a share in"),
        ({"confidence": 0}, "confidence=0, "),
        ({"resamples": 0}, "resamples=0: .*at least 1"),
        ({"coefficient": "tau"}, "coefficient='tau': expected one of pearson, spearman, kendall"),
        ({"metric": "g"}, r"the frame lacks \['g'\]"),
    ],
)
def test_unknown_options(options, message):
    arguments = {"metric": "f", "human": "h", "rng": np.random.default_rng(0)} | options
    with pytest.raises(ValueError, match=message):
        interval(gappy(1), **arguments)


def test_nothing_to_correlate_is_nan():
    frame = gappy(1).assign(f=np.nan)
    found = interval(frame, "f", "h", rng=np.random.default_rng(0))
    assert np.isnan(found[:3]).all() and found.resamples == 0


def test_table_gets_an_interval_a_line():
    frame = gappy(6).assign(g=lambda d: -d["f"])
    cells = correlation_table(frame, ["f", "g"], ["h"], levels=LEVELS, coefficients=("kendall",))
    table = interval_table(
        frame, cells, rng=np.random.default_rng(0), units="documents", resamples=100
    )
    assert list(table) == [*cells, "ci_low", "ci_high"]
    rng = np.random.default_rng(0)  # one generator for all lines, in their order
    for line in table.itertuples():
        found = interval(
            frame,
            line.metric,
            "h",
            rng=rng,
            level=line.level,
            coefficient="kendall",
            units="documents",
            resamples=100,
        )
        assert (line.ours, line.ci_low, line.ci_high) == pytest.approx(found[:3])
    assert "ci_low" not in cells


def test_bca_of_a_perfect_metric():
    """No unit moves the value, so the acceleration is 0 and the interval has no width."""
    frame = pd.DataFrame(
        [(f"d{i}", f"s{j}", (i * 7 + j * 3) % 11) for i in range(8) for j in range(5)],
        columns=["doc_id", "system_id", "human"],
    ).assign(metric=lambda f: f["human"])
    found = interval(
        frame, "metric", "human", rng=np.random.default_rng(0), method="bca", resamples=50
    )
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1), abs=1e-12)


@pytest.mark.parametrize(
    "units, method", [("documents", "percentile"), ("both", "percentile"), ("both", "bca")]
)
def test_mean_of_one_frame_is_resampled_together(units, method):
    """Twice the same column is no news; the negated column cancels in every resample, not only on average."""
    frame = planted(np.random.default_rng(0), documents=20, systems=6)
    frame["negated"] = -frame["a"]
    options = dict(units=units, method=method, resamples=200)
    once, twice, cancelled = (
        mean_interval(
            [(frame, metric, "human") for metric in metrics],
            rng=np.random.default_rng(1),
            **options,
        )
        for metrics in (["a"], ["a", "a"], ["a", "negated"])
    )
    assert twice == pytest.approx(once)
    assert cancelled[:3] == pytest.approx((0, 0, 0), abs=1e-12)
    alone = interval(
        frame,
        "a",
        "human",
        rng=np.random.default_rng(np.random.default_rng(1).integers(2**62)),
        **options,
    )
    assert once == pytest.approx(alone)


def test_mean_over_frames_of_their_own_narrows():
    """Two independent halves: the mean's interval is about 1/sqrt(2) as wide as one's."""
    frames = [
        planted(np.random.default_rng(seed), documents=60, systems=8, of_systems=0)
        for seed in (1, 2)
    ]
    one, two = (
        mean_interval(
            [(frame, "a", "human") for frame in some],
            rng=np.random.default_rng(0),
            units="documents",
            resamples=2000,
        )
        for some in (frames[:1], frames)
    )
    assert 0.6 < (two.high - two.low) / (one.high - one.low) < 0.82
    assert two.value == pytest.approx(np.mean([correlation(f, "a", "human").value for f in frames]))


def test_mean_of_nothing():
    with pytest.raises(ValueError, match="no parts"):
        mean_interval([], rng=np.random.default_rng(0))
    empty = planted(np.random.default_rng(0)).assign(a=np.nan)
    assert np.isnan(mean_interval([(empty, "a", "human")], rng=np.random.default_rng(0))[:3]).all()


def test_bias_is_not_split_by_rounding():
    """Resamples with each system once equal the value up to rounding and count half on either side."""
    frame = planted(np.random.default_rng(3), documents=8, systems=3)
    found = [
        interval(
            frame.assign(a=frame["a"] * scale),
            "a",
            "human",
            rng=np.random.default_rng(0),
            units="systems",
            method="bca",
            coefficient="pearson",
        )
        for scale in (1, 1 / 3, 7e5)
    ]
    assert found[1] == pytest.approx(found[0], abs=1e-9) and found[2] == pytest.approx(
        found[0], abs=1e-9
    )


def test_a_columns_mean_covers_the_planted_one():
    """Means of 40 documents and 12 systems with effects of both; 95% intervals over both hold 0 in 186 to
    198 of 200 studies, intervals over documents alone in far fewer."""
    rng, held = np.random.default_rng(5), {"both": 0, "documents": 0}
    for _ in range(200):
        x = rng.normal(size=(40, 1)) + rng.normal(size=(1, 12)) + rng.normal(size=(40, 12))
        frame = frame_of(x, x)
        for units in held:
            found = column_mean(frame, "f", rng=rng, units=units, resamples=300)
            held[units] += found.low <= 0 <= found.high
    assert 180 <= held["both"] <= 198 and held["documents"] < 160


def test_a_columns_mean_resamples_what_is_asked_for():
    """One system always has 0 and the other 6: documents tell nothing, and a quarter of the draws has one system."""
    frame = frame_of(np.tile([0.0, 6], (3, 1)), np.zeros((3, 2)))
    for units, low, high in (("documents", 3, 3), ("systems", 0, 6)):
        found = column_mean(frame, "f", rng=np.random.default_rng(0), units=units, resamples=500)
        assert found == (3, low, high, 500)


def test_a_columns_mean_weighs_items_and_leaves_out_missing_ones():
    """Rows 0 0, 3 and 6 6 of three documents, the second with one system: mean 15 / 5; documents alone are
    drawn with all they have, so that no mean lies outside 0 and 6."""
    frame = frame_of(np.array([[0.0, 0], [3, np.nan], [6, 6]]), np.zeros((3, 2)))
    found = column_mean(frame, "f", rng=np.random.default_rng(0), units="documents", resamples=2000)
    assert (found.value, found.low, found.high, found.resamples) == (3, 0, 6, 2000)
    none = column_mean(frame.assign(f=np.nan), "f", rng=np.random.default_rng(0))
    assert np.isnan(none.value) and none.resamples == 0
    with pytest.raises(ValueError, match="expected one row per"):
        column_mean(pd.concat([frame, frame]), "f", rng=np.random.default_rng(0))
