"""The smallest detectable difference: against an analytic approximation, and with planted truth."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgjudge.stats.power_analysis import smallest_detectable


def rated(documents=60, systems=8):
    """Ratings of a quality and two judges that see it with errors of their own and in common."""
    rng = np.random.default_rng(1)
    quality, common, own_a, own_b = rng.normal(size=(4, documents, systems))
    human = quality + 0.5 * rng.normal(size=quality.shape)
    judges = quality + 0.6 * common + 0.6 * own_a, quality + 0.9 * common + 0.9 * own_b
    frame = pd.DataFrame({"h": human.ravel(), "a": judges[0].ravel(), "b": judges[1].ravel()})
    frame["doc_id"], frame["system_id"] = np.divmod(np.arange(len(frame)), systems)
    return frame


def dependent_power(n, ra, rb, rab, alpha=0.05):
    """Normal approximation to the power of the difference of two correlations that share a variable.

    Asymptotic covariance of overlapping correlations (Pearson and Filon; Steiger 1980, equation 3).
    """
    cov = rab * (1 - ra**2 - rb**2) - ra * rb * (1 - ra**2 - rb**2 - rab**2) / 2
    error = np.sqrt(((1 - ra**2) ** 2 + (1 - rb**2) ** 2 - 2 * cov) / n)
    z, tail = (ra - rb) / error, stats.norm.isf(alpha / 2)
    return stats.norm.sf(tail - z) + stats.norm.cdf(-tail - z)


@pytest.mark.parametrize("n", [200, 600])
def test_agrees_with_the_analytic_power_of_dependent_correlations(n):
    rng = np.random.default_rng(5)
    human = rng.normal(size=4000)
    a = 0.7 * human + np.sqrt(1 - 0.49) * rng.normal(size=4000)
    frame = pd.DataFrame({"doc_id": np.arange(4000), "system_id": 0, "a": a, "h": human})
    design = {"documents": n, "systems": 1, "level": "dataset", "coefficient": "pearson"}
    effect = smallest_detectable(frame, "a", None, "h", **design).effect
    ra = np.corrcoef(a, human)[0, 1]
    rb = ra - effect  # b = a + noise, so the correlation of a and b is rb / ra
    assert dependent_power(n, ra, rb, rb / ra) == pytest.approx(0.8, abs=0.07)


def test_more_documents_or_common_errors_make_a_smaller_difference_detectable():
    frame = rated()

    def effect(documents, b="b", frame=frame):
        design = {"documents": documents, "systems": 8, "coefficient": "pearson"}
        return smallest_detectable(frame, "a", b, "h", **design).effect

    few, many = effect(20), effect(60)
    assert 0 < many < few < 0.5
    assert effect(60, b=None) < many  # all errors are common
    assert effect(60, frame=frame.rename(columns={"a": "b", "b": "a"})) == many
    unlike = frame.assign(b=frame["b"].sample(frac=1, random_state=0).to_numpy())
    assert effect(60, frame=unlike) > many


def test_out_of_reach_is_nan_with_a_reason():
    effect, reason = smallest_detectable(rated(), "a", "b", "h", documents=2, systems=3)
    assert np.isnan(effect) and reason == "no effect reaches a power of 0.8"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"level": "system"}, "'system': expected one of sample, dataset"),
        ({"coefficient": "tau"}, "'tau'"),
        ({"documents": 1}, "at least 2 documents"),
        ({"systems": 2}, "3 to 8 systems"),
        ({"systems": 9}, "3 to 8 systems"),
        ({"seed": -1}, "seed=-1"),
        ({"frame": rated(10, 8).assign(h=1.0)}, "undefined"),
    ],
)
def test_errors(change, message):
    given = {"frame": rated(10, 8), "documents": 10, "systems": 4} | change
    with pytest.raises(ValueError, match=message):
        smallest_detectable(a="a", b="b", human="h", **given)
