"""Power against planted truth: size under no effect, direction, and an analytic normal approximation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgjudge.stats import correlation, power, smallest_detectable


def rated(documents=60, systems=8, repeats=1, noise=0.0):
    """Ratings of a quality and two judges that see it with errors of their own and in common."""
    rng = np.random.default_rng(1)
    quality, common, own_a, own_b = rng.normal(size=(4, documents, systems))
    human = quality + 0.5 * rng.normal(size=quality.shape)
    judges = quality + 0.6 * common + 0.6 * own_a, quality + 0.9 * common + 0.9 * own_b
    frame = pd.DataFrame(
        {
            "doc_id": np.repeat(np.arange(documents), systems),
            "system_id": np.tile(np.arange(systems), documents),
            "h": human.ravel(),
            "a": judges[0].ravel(),
            "b": judges[1].ravel(),
        }
    )
    frame = frame.loc[frame.index.repeat(repeats)].reset_index(drop=True)
    return frame.assign(
        **{name: frame[name] + noise * rng.normal(size=len(frame)) for name in "ab"}
    )


def found(frame=None, b="b", **options):
    given = {"documents": 40, "systems": 8, "effect": 0.06} | options
    return power(rated() if frame is None else frame, "a", b, "h", **given)["power"].to_numpy()


@pytest.mark.parametrize(
    "level, coefficient, units",
    [
        ("sample", "spearman", "both"),
        ("dataset", "pearson", "both"),
        ("sample", "kendall", "documents"),
    ],
)
def test_no_effect_is_found_at_alpha(level, coefficient, units):
    how = {"level": level, "coefficient": coefficient, "units": units}
    share = found(effect=0.0, documents=60, simulations=400, alpha=0.1, **how).item()
    low, high = stats.binom.ppf([0.001, 0.999], 400, 0.1) / 400
    assert low <= share <= high


def test_the_same_judge_is_never_found_to_differ():
    assert found(b=None, effect=0.0, documents=20, systems=6) == 0


@pytest.mark.parametrize(
    "design",
    [
        {"documents": [10, 40, 160]},
        {"systems": [3, 8, 20]},
        {"samples": [1, 4, 30], "effect": 0.15},
        {"effect": [0.0, 0.06, 0.15]},
    ],
)
def test_power_rises_with_documents_systems_samples_and_effect(design):
    options = {"samples": 2, "simulations": 300, "coefficient": "pearson"} | design
    values = found(rated(repeats=4, noise=1.0), **options)
    assert (np.diff(values) > 0).all() and values[-1] - values[0] > 0.1


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
    rng = np.random.default_rng(5)
    human = rng.normal(size=4000)
    a = 0.7 * human + np.sqrt(1 - 0.49) * rng.normal(size=4000)
    frame = pd.DataFrame({"doc_id": np.arange(4000), "system_id": 0, "a": a, "h": human})
    design = {"documents": n, "systems": 1, "effect": effect, "simulations": 800}
    share = found(frame, b=None, level="dataset", coefficient="pearson", **design).item()
    ra = np.corrcoef(a, human)[0, 1]
    rb = ra - effect  # b = a + noise, so the correlation of a and b is rb / ra
    assert share == pytest.approx(dependent_power(n, ra, rb, rb / ra), abs=0.07)


def test_smallest_detectable_inverts_power():
    design = {"documents": [20, 40], "systems": 8, "coefficient": "pearson"}
    table = smallest_detectable(rated(), "a", "b", "h", **design)
    assert table["effect"].is_monotonic_decreasing and (table["reason"] == "").all()
    assert table["mc_error"].between(0, 0.03, inclusive="neither").all()
    back = found(**design | {"documents": 40}, effect=table["effect"][1], seed=3)
    assert back == pytest.approx(0.8, abs=0.1)
    effects = [
        smallest_detectable(rated(), "a", "b", "h", seed=seed, **design)["effect"][0]
        for seed in range(5)
    ]
    assert 0.2 < np.std(effects, ddof=1) / table["mc_error"][0] < 3


def test_out_of_reach_is_nan_with_a_reason():
    table = smallest_detectable(rated(), "a", "b", "h", documents=2, systems=3, power=0.99)
    assert np.isnan(table["effect"].item())
    assert table["reason"].item() == "no effect reaches a power of 0.99"


def test_calls_and_designs():
    design = {"documents": [10, 20], "systems": [4, 5], "samples": [1, 3], "effect": [0.05, 0.1]}
    table = power(rated(), "a", "b", "h", sampling_sd=0.5, simulations=5, **design)
    assert len(table) == 16
    assert table["calls"].iloc[[0, -1]].tolist() == [2 * 10 * 4 * 1, 2 * 20 * 5 * 3]


def test_the_observed_difference_is_the_default_and_the_better_judge_is_a():
    design = {"documents": 20, "systems": 8, "simulations": 20}
    tables = [power(rated(), *pair, "h", **design) for pair in ("ab", "ba")]
    pd.testing.assert_frame_equal(*tables)
    values = [correlation(rated(), judge, "h").value for judge in "ab"]
    assert tables[0]["effect"].item() == pytest.approx(values[0] - values[1])


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
        ({"b": None, "effect": None}, "give an effect"),
        ({"samples": 2}, "give sampling_sd"),
        ({"documents": 1}, "at least 2"),
        ({"systems": 2}, "at least 2, 3"),
        ({"effect": 2}, "effect=2.000"),
        ({"units": "documents", "systems": 9}, "at most 8"),
        ({"samples": 0}, "at least"),
        ({"seed": -1}, "seed=-1"),
        ({"frame": rated(10, 8).assign(h=1.0)}, "undefined"),
        ({"frame": rated(10, 1), "level": "dataset"}, "one system"),
    ],
)
def test_errors(change, message):
    given = {"frame": rated(10, 8), "a": "a", "b": "b", "effect": 0.1, "documents": 10}
    with pytest.raises(ValueError, match=message):
        power(human="h", **given | {"systems": 4, "simulations": 2} | change)
    with pytest.raises(ValueError, match="power=0.01"):
        smallest_detectable(rated(), "a", "b", "h", documents=10, systems=4, power=0.01)
