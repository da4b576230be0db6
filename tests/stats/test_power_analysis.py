"""Power against planted truth: size under no effect, direction, and an analytic normal approximation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgjudge.stats import simulation
from nlgjudge.stats.correlations import grouped
from nlgjudge.stats.influence import influence, paired_z
from nlgjudge.stats.power_analysis import power, smallest_detectable
from nlgjudge.stats.simulation import fitted, rejections
from normal_study import planted


def rated(documents=60, systems=8, repeats=1, noise=0.0, seed=0):
    """Two judges with correlated errors, b the worse one; `noise` is a sample's deviation."""
    rng = np.random.default_rng(seed)
    shape = documents, systems
    quality = rng.normal(size=shape) + 0.5 * rng.normal(size=(documents, 1))
    quality += 0.5 * rng.normal(size=(1, systems))
    common, own_a, own_b = rng.normal(size=(3, *shape))
    judges = quality + 0.6 * (common + own_a), quality + 0.9 * (common + own_b)
    d, s = (i.ravel() for i in np.indices(shape))
    human = (quality + 0.5 * rng.normal(size=shape)).round(1).ravel()
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "doc_id": d,
                    "system_id": s,
                    "h": human,
                    **{
                        name: (m + noise * rng.normal(size=shape)).ravel()
                        for name, m in zip("ab", judges)
                    },
                }
            )
            for _ in range(repeats)
        ],
        ignore_index=True,
    )


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("coefficient", ["pearson", "spearman", "kendall"])
def test_influence_is_the_derivative_of_the_correlation(coefficient):
    x = rng(1).integers(0, 5, (6, 9)).astype(float)
    y = x + rng(2).integers(0, 4, x.shape)
    x[0, 2], x[1] = np.nan, 3.0
    value, effect = influence(x, y, coefficient)
    np.testing.assert_allclose(value, grouped(x, y, coefficient), atol=1e-12)
    assert np.isnan(effect[1]).all() and effect[0, 2] == 0
    copies = 400  # one member more among 400 copies of all is a weight of 1 + 1 / 400
    many = [np.repeat(m, copies, axis=1) for m in (x, y)]
    for k in (0, 4):
        more = grouped(np.c_[many[0], x[:, k]], np.c_[many[1], y[:, k]], coefficient)
        np.testing.assert_allclose((more - value) * copies, effect[:, k], atol=2e-3)


def test_paired_z_has_the_bootstraps_standard_error():
    frame = rated(40, 6)
    a, b, h = (frame[c].to_numpy().reshape(40, 6) for c in "abh")
    difference, p = paired_z(a[None], b[None], h[None], coefficient="spearman", units="documents")
    delta = grouped(a, h) - grouped(b, h)
    assert difference[0] == pytest.approx(delta.mean())
    assert p[0] == pytest.approx(
        stats.ttest_1samp(delta, 0).pvalue
    )  # at sample level it is the t test
    difference, p = paired_z(a[None], a[None], h[None])
    assert difference[0] == 0 and p[0] == 1
    difference, p = paired_z(a[None], b[None], h[None], level="dataset", units="documents")
    rows = rng(3).integers(40, size=(600, 40))
    ra, rb = (grouped(m[rows].reshape(600, -1), h[rows].reshape(600, -1)) for m in (a, b))
    draws, error = ra - rb, abs(difference[0]) / stats.t.isf(p[0] / 2, 39)
    assert error == pytest.approx(np.std(draws), rel=0.15)


@pytest.mark.parametrize(
    "level, coefficient, units",
    [
        ("sample", "spearman", "both"),
        ("dataset", "pearson", "both"),
        ("sample", "kendall", "documents"),
        ("sample", "spearman", "documents"),
        ("dataset", "pearson", "documents"),
    ],
)
def test_no_effect_is_rejected_at_alpha(level, coefficient, units):
    table = power(
        rated(),
        "a",
        "b",
        "h",
        documents=60,
        systems=8,
        effect=0.0,
        rng=rng(),
        simulations=800,
        alpha=0.1,
        level=level,
        coefficient=coefficient,
        units=units,
    )
    low, high = stats.binom.ppf([0.001, 0.999], 800, 0.1) / 800  # the bounds are 0.069 and 0.134
    low = 0.04 if units == "both" else low  # conservative, as paired_z says: its size is about 0.07
    assert low <= table["power"].item() <= high
    assert abs(table["difference"].item()) < 0.01


def test_same_judge_is_never_told_apart():
    table = power(rated(), "a", None, "h", documents=20, systems=6, effect=0.0, rng=rng())
    assert table["power"].item() == 0 and table["difference"].item() == 0


def test_power_rises_with_documents_systems_samples_and_effect():
    frame = rated(repeats=4, noise=1.0)

    def found(**design):
        options = {
            "documents": 40,
            "systems": 8,
            "samples": 2,
            "effect": 0.06,
            "simulations": 300,
            **design,
        }
        return power(frame, "a", "b", "h", rng=rng(), coefficient="pearson", **options)[
            "power"
        ].to_numpy()

    for design in (
        {"documents": [10, 40, 160]},
        {"systems": [3, 8, 20]},
        {"samples": [1, 4, 30]},
        {"effect": [0.0, 0.06, 0.15]},
    ):
        values = found(**design)
        assert (np.diff(values) > 0).all(), (design, values)
        assert values[-1] - values[0] > 0.15, (design, values)


def test_difference_measured_is_the_effect_asked_for():
    table = power(
        rated(),
        "a",
        "b",
        "h",
        documents=60,
        systems=8,
        effect=[0.03, 0.1, 0.3],
        rng=rng(),
        simulations=400,
    )
    np.testing.assert_allclose(table["difference"], table["effect"], atol=0.015)


def dependent_power(n, ra, rb, rab, alpha=0.05):
    """Normal approximation to the power of the difference of two correlations that share a variable.

    Asymptotic covariance of overlapping correlations (Pearson and Filon; Steiger 1980, equation 3).
    """
    cov = rab * (1 - ra**2 - rb**2) - ra * rb * (1 - ra**2 - rb**2 - rab**2) / 2
    error = np.sqrt(((1 - ra**2) ** 2 + (1 - rb**2) ** 2 - 2 * cov) / n)
    z, tail = (ra - rb) / error, stats.norm.isf(alpha / 2)
    return stats.norm.sf(tail - z) + stats.norm.cdf(-tail - z)


@pytest.mark.parametrize("n, effect", [(200, 0.05), (200, 0.1), (600, 0.05)])
def test_agrees_with_the_analytic_power_of_dependent_correlations(n, effect):
    generator = rng(5)
    human = generator.normal(size=4000)
    a = 0.7 * human + np.sqrt(1 - 0.49) * generator.normal(size=4000)
    frame = pd.DataFrame({"doc_id": np.arange(4000), "system_id": 0, "a": a, "h": human})
    table = power(
        frame,
        "a",
        None,
        "h",
        documents=n,
        systems=1,
        effect=effect,
        rng=rng(),
        simulations=800,
        level="dataset",
        coefficient="pearson",
    )
    ra = np.corrcoef(a, human)[0, 1]
    rb = ra - effect
    # b = a + noise, so the correlation of a and b is rb / ra. Tolerance: three Monte Carlo
    # standard errors (0.05), and 0.02 for what is of order 1/n.
    assert table["power"].item() == pytest.approx(dependent_power(n, ra, rb, rb / ra), abs=0.07)


def test_smallest_detectable_inverts_power():
    frame, options = (
        rated(),
        {"documents": 40, "systems": 8, "coefficient": "pearson", "simulations": 300},
    )
    found = smallest_detectable(frame, "a", "b", "h", rng=rng(), **options).iloc[0]
    back = power(frame, "a", "b", "h", rng=rng(9), effect=found["effect"], **options).iloc[0]
    assert back["power"] == pytest.approx(0.8, abs=4 * back["mc_error"])
    assert 0 < found["mc_error"] < 0.03 and found["reason"] == "" and found["power"] == 0.8


def test_smallest_detectable_shrinks_with_documents_and_repeats_within_its_error():
    frame = rated()
    tables = [
        smallest_detectable(
            frame,
            "a",
            "b",
            "h",
            documents=[20, 80],
            systems=8,
            rng=rng(seed),
            coefficient="pearson",
            simulations=100,
        )
        for seed in range(5)
    ]
    effects = np.array([t["effect"] for t in tables])
    assert (effects[:, 0] > effects[:, 1]).all()
    ratio = effects.std(axis=0, ddof=1) / np.mean([t["mc_error"] for t in tables], axis=0)
    assert (
        (ratio > 0.25) & (ratio < 2.5)
    ).all()  # five draws: chi with 4 degrees, calibration on top


def test_out_of_reach_is_nan_with_a_reason():
    table = smallest_detectable(
        rated(), "a", "b", "h", documents=2, systems=3, rng=rng(), power=0.99
    )
    assert np.isnan(table["effect"].item()) and "at effects 0.00 to" in table["reason"].item()


def test_calls_and_designs():
    table = power(
        rated(),
        "a",
        "b",
        "h",
        documents=[10, 20],
        systems=[4, 5],
        samples=[1, 3],
        calls_per_item=2,
        coefficient="pearson",
        sampling_sd=0.5,
        effect=[0.05, 0.1],
        rng=rng(),
        simulations=5,
    )
    assert len(table) == 16
    assert table["calls"].tolist()[:2] == [2 * 10 * 4 * 1 * 2] * 2
    assert table["calls"].iloc[-1] == 2 * 20 * 5 * 3 * 2
    assert (table["mc_error"] > 0).all()


def test_sampling_variance_and_shared_errors_are_estimated():
    study = fitted(rated(200, 10, repeats=5, noise=0.8), "a", "b", "h")
    assert study.sampling == pytest.approx(0.8, rel=0.05)
    # Residual of a: 0.6 common + 0.6 own + what the noisy human ratings leave of the quality,
    # 1 - 1 / 1.25 = 0.2. Covariance 0.54 + 0.2 over sqrt((0.72 + 0.2) * (1.62 + 0.2)).
    assert study.shared == pytest.approx(0.74 / np.sqrt(0.92 * 1.82), abs=0.05)
    assert np.var(study.residual) == pytest.approx(0.92 * (1 - 1 / 200) * (1 - 1 / 10), rel=0.1)
    assert np.isnan(fitted(rated(), "a", "b", "h").sampling)
    assert fitted(rated(), "a", None, "h").shared == 1


def test_observed_difference_is_the_default_and_the_better_judge_is_a():
    tables = [
        power(rated(), *pair, "h", documents=20, systems=8, rng=rng(), simulations=20)
        for pair in ("ab", "ba")
    ]
    pd.testing.assert_frame_equal(*tables)
    frame = rated()
    a, b, h = (frame[c].to_numpy().reshape(60, 8) for c in "abh")
    assert tables[0]["effect"].item() == pytest.approx((grouped(a, h) - grouped(b, h)).mean())


def test_missing_scores_and_determinism():
    frame = rated()
    frame.loc[rng(4).random(len(frame)) < 0.1, "a"] = np.nan
    frame = frame.drop(index=range(0, 400, 37))
    tables = [
        power(
            frame, "a", "b", "h", documents=30, systems=6, effect=0.1, rng=rng(seed), simulations=50
        )
        for seed in (7, 7, 8)
    ]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    assert not tables[0].equals(tables[2]) and tables[0]["difference"].item() == pytest.approx(
        0.1, abs=0.05
    )


@pytest.mark.parametrize(
    "change, message",
    [
        ({"level": "system"}, "'system': expected one of sample, dataset"),
        ({"coefficient": "tau"}, "'tau'"),
        ({"units": "items"}, "'items'"),
        ({"alpha": 0}, "alpha=0"),
        ({"simulations": 0}, "simulations=0"),
        ({"shared": 2}, "shared=2"),
        ({"sampling_sd": -1}, "sampling_sd=-1"),
        ({"a": "x"}, r"lacks \['x'\]"),
        ({"b": None, "effect": None}, "give an effect"),
        ({"samples": 2}, "give sampling_sd"),
        ({"documents": 1}, "at least 2"),
        ({"systems": 2}, "at least 2, 3"),
        ({"effect": 2}, "effect=2.000"),
        ({"units": "documents", "systems": 9}, "at most 8"),
        ({"samples": 0}, "at least"),
    ],
)
def test_errors(change, message):
    options = {
        "a": "a",
        "b": "b",
        "effect": 0.1,
        "documents": 10,
        "systems": 4,
        "simulations": 2,
        **change,
    }
    with pytest.raises(ValueError, match=message):
        power(rated(10, 8), human="h", rng=rng(), **options)


def test_errors_of_the_data():
    options = {"documents": 10, "systems": 4, "rng": rng(), "effect": 0.1}
    frame = rated(10, 5)
    with pytest.raises(ValueError, match="undefined"):
        power(frame.assign(h=1.0), "a", "b", "h", **options)
    with pytest.raises(ValueError, match="infinite"):
        power(frame.assign(a=np.inf), "a", "b", "h", **options)
    with pytest.raises(ValueError, match="one system"):
        power(frame[frame["system_id"] == 0], "a", "b", "h", level="dataset", **options)
    with pytest.raises(ValueError, match="power=0.01"):
        smallest_detectable(frame, "a", "b", "h", documents=10, systems=4, rng=rng(), power=0.01)


@pytest.mark.parametrize(
    "coefficient, kept", [("pearson", True), ("kendall", True), ("kendall", False)]
)
def test_studies_that_are_drawn_once_give_the_same_whatever_was_asked_before(
    coefficient, kept, monkeypatch
):
    if not kept:  # as many as are drawn anew each time
        monkeypatch.setattr(simulation, "_KEPT", 0)
    study = fitted(
        planted(np.random.default_rng(4)),
        "a",
        "b",
        "human",
        coefficient=coefficient,
        simulations=30,
    )
    size = (20, 5, 1)
    studies = simulation.DrawnStudies(study, size, seed=5)
    for spread in (0.3, 1.0, 0.3):
        assert studies.rejections(spread) == rejections(
            study, size, spread, np.random.default_rng(5)
        )
