"""Williams' test by hand, against R's psych package, and with planted truth."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.stats import williams_test
from nlgjudge.stats.correlations import correlation
from nlgjudge.stats.williams import williams


def frame_of(**matrices):
    """A frame from matrices of documents x systems."""
    documents, systems = next(iter(matrices.values())).shape
    frame = pd.DataFrame({name: scores.ravel() for name, scores in matrices.items()})
    frame["doc_id"] = np.repeat(np.arange(documents), systems)
    return frame.assign(system_id=[f"s{s:03}" for s in range(systems)] * documents)


def noisy(seed, documents=20, systems=6):
    """Continuous human scores and two metrics that are those plus noise."""
    rng = np.random.default_rng(seed)
    h, a, b = rng.normal(size=(3, documents, systems))
    return frame_of(h=h, a=h + a, b=h + b)


def test_williams_by_hand():
    """r.test(103, .4, .5, .1) of R's psych prints t2 = -0.89 with probability = 0.37.

    The determinant is 1 - .16 - .25 - .01 + .04 = .62; t = -.1 sqrt(102 * 1.1 /
    (2 * .62 * 102 / 100 + .45^2 * .9^3)) = -.1 sqrt(112.2 / 1.4124225) = -.1 sqrt(79.43799).
    """
    t, p = williams(0.4, 0.5, 0.1, 103)
    assert t == pytest.approx(-0.1 * 79.43799**0.5, abs=1e-7) and round(p, 2) == 0.37
    assert williams(0.5, 0.4, 0.1, 103) == (-t, p)
    assert williams(0.3, 0.3, 0.2, 50) == (0, 1)
    # n = 4 leaves one degree of freedom, a Cauchy distribution: p = 1 - 2 atan(t) / pi.
    t, p = williams(0.8, 0.1, 0.2, 4)
    assert p == pytest.approx(1 - 2 * np.arctan(t) / np.pi)


def test_williams_against_psych():
    """Values of psych::r.test for these draws, as cited by nlpstats' test of its own function.

    nlpstats, like WMT's scripts, compares the correlations' sizes (here .286 and .160) where
    `williams_test` compares them with their signs (here -.286 and .160).
    """
    draw = np.random.RandomState(12).random_sample
    frames = [frame_of(**{name: draw((9, 5)).T for name in "abh"}) for _ in range(2)]
    first = williams_test(frames[0], "a", "b", "h", level="dataset", coefficient="pearson")
    assert first.n == 45 and first.difference == pytest.approx(-0.286 - 0.160, abs=1e-3)
    r = [
        correlation(frames[0], *pair, level="dataset", coefficient="pearson").value
        for pair in (("a", "h"), ("b", "h"), ("a", "b"))
    ]
    assert first[1:3] == williams(*r, 45)
    assert williams(*np.abs(r), 45)[1] == pytest.approx(0.5433956, abs=1e-6)
    second = williams_test(frames[1], "a", "b", "h", level="system", coefficient="spearman")
    assert second.p == pytest.approx(0.9317423, abs=1e-6) and second.n == 9 and second.t < 0
    swapped = williams_test(frames[1], "b", "a", "h", level="system", coefficient="spearman")
    assert swapped.t == pytest.approx(-second.t) and swapped.p == pytest.approx(second.p)
    assert swapped.difference == pytest.approx(-second.difference)


def test_williams_undefined_and_bad():
    assert np.isnan(williams(0.5, 0.5, 1, 20)).all() and np.isnan(williams(0.5, -0.5, -1, 20)).all()
    with pytest.raises(ValueError, match="level='sample': expected one of dataset, system"):
        williams_test(noisy(0), "a", "b", "h", level="sample")
    few = williams_test(noisy(0, systems=3), "a", "b", "h")
    assert np.isnan([few.t, few.p]).all() and "needs 4 observations, got 3" in few.reason
    copy = williams_test(noisy(0).assign(b=lambda f: 2 * f["a"]), "a", "b", "h")
    assert np.isnan([copy.t, copy.p]).all() and copy.reason == "a and b correlate perfectly"
    flat = williams_test(noisy(0).assign(b=1.0), "a", "b", "h")
    assert np.isnan(flat[:3]).all() and flat.reason.startswith("b with h: constant")
