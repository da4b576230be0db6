"""Pairwise accuracy against loops over pairs and thresholds, and against arithmetic done by hand."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest

from nlgjudge.stats import pairwise_accuracy
from nlgjudge.stats.correlations import LEVELS


def soft_accuracy(frame, **options):
    """Soft pairwise accuracy of f: value, and pairs with and without shared documents."""
    return pairwise_accuracy(frame, "f", "h", level="system", soft=True, **options)


def frame_of(x, y):
    """A frame from two matrices of documents x systems."""
    documents, systems = np.shape(x)
    frame = pd.DataFrame({"f": np.ravel(x), "h": np.ravel(y)}, dtype=float)
    frame["doc_id"] = np.repeat([f"d{d:02d}" for d in range(documents)], systems)
    return frame.assign(system_id=[f"s{s:02d}" for s in range(systems)] * documents)


def gappy(seed, documents=8, systems=5):
    """Ties in both, missing scores and absent rows; one document keeps a single score."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, (documents, systems)).astype(float)
    x = y + rng.integers(0, 6, y.shape) / 2
    x[rng.random(x.shape) < 0.15], y[rng.random(y.shape) < 0.15], y[0, 1:] = np.nan, np.nan, np.nan
    frame = frame_of(x, y)
    return frame[rng.random(len(frame)) > 0.1].sample(frac=1, random_state=seed)


def groups_of(frame, level):
    """Lists of (metric, human), one per group."""
    full = frame.dropna()
    if level == "system":
        full = full.groupby("system_id")[["f", "h"]].mean()
    documents = full.groupby("doc_id") if level == "sample" else [(None, full)]
    groups = [list(zip(part["f"], part["h"])) for _, part in documents]
    return [group for group in groups if len(group) > 1]


def by_loop(frame, level, epsilon):
    """Mean over groups of the accuracy, the human and the metric ties."""
    rows = []
    for group in groups_of(frame, level):
        pairs = [(a[0] - b[0], a[1] - b[1]) for a, b in combinations(group, 2)]
        signs = [(0 if abs(f) <= epsilon + 1e-12 else np.sign(f), np.sign(h)) for f, h in pairs]
        rows.append(np.mean([(f == h, h == 0, f == 0) for f, h in signs], axis=0))
    return np.mean(rows, axis=0)


# Document a: pairs agree, agree, human tie with a metric difference of 0.1. Document b: all three
# reversed, by 0.7, 0.1 and 0.6.
TINY = frame_of([[0.1, 0.5, 0.4], [0.2, 0.9, 0.3]], [[1, 2, 2], [3, 1, 2]])


def test_by_hand():
    plain = pairwise_accuracy(TINY, "f", "h", epsilon=0)
    assert plain == pytest.approx((2 / 6, 2, 0, 6, 0, 1 / 6, 0, ""))
    best = pairwise_accuracy(TINY, "f", "h")  # 0.1 gains the tie in a and loses nothing in b
    assert best[:-1] == pytest.approx((3 / 6, 2, 0, 6, 0.1, 1 / 6, 2 / 6))
    means = pairwise_accuracy(TINY, "f", "h", level="system")  # f .15 .7 .35; h 2 1.5 2
    # (1,2) reversed by 0.55, (1,3) tied with 0.2, (2,3) reversed by 0.35
    assert means[:-1] == pytest.approx((1 / 3, 3, 0, 3, 0.2, 1 / 3, 1 / 3))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_a_loop_over_pairs_and_thresholds(level, seed):
    frame = gappy(seed)
    groups = groups_of(frame, level)
    steps = {abs(a[0] - b[0]) for group in groups for a, b in combinations(group, 2)}
    values = {epsilon: by_loop(frame, level, epsilon) for epsilon in sorted({0.0} | steps)}
    for epsilon, expected in values.items():
        found = pairwise_accuracy(frame, "f", "h", level=level, epsilon=epsilon)
        shares = (found.value, found.human_ties, found.metric_ties)
        assert shares == pytest.approx(tuple(expected))
    top = max(value for value, *_ in values.values())
    best = pairwise_accuracy(frame, "f", "h", level=level)
    assert best.value == pytest.approx(top)
    first = next(epsilon for epsilon, (value, *_) in values.items() if value > top - 1e-9)
    assert best.epsilon == pytest.approx(first)
    assert best.n_pairs == sum(len(group) * (len(group) - 1) // 2 for group in groups)
    if level == "sample":
        assert best.n == len(groups) == frame["doc_id"].nunique() - best.n_skipped < 8


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("epsilon", [None, 0.5, 1.5])
def test_scale_and_rounding_change_nothing(level, epsilon):
    for seed in range(4):
        frame = gappy(seed)
        scaled = frame.assign(f=frame["f"] * 0.1 + 0.7, h=frame["h"] / 3 + 0.1)
        plain = pairwise_accuracy(frame, "f", "h", level=level, epsilon=epsilon)
        smaller = epsilon and epsilon * 0.1
        other = pairwise_accuracy(scaled, "f", "h", level=level, epsilon=smaller)
        assert other[:-1] == pytest.approx(plain._replace(epsilon=plain.epsilon * 0.1)[:-1])


def test_means_that_differ_by_rounding_are_tied():
    x, y = [[1, 2], [1, 2]], [[0.1, 0.3], [0.2, 0.0]]  # 0.1 + 0.2 is not 0.3
    assert pairwise_accuracy(frame_of(x, y), "f", "h", level="system").human_ties == 1
    assert pairwise_accuracy(frame_of(y, x), "f", "h", level="system").metric_ties == 1


def test_soft_accuracy_by_hand():
    """Three documents, two systems; eight equally likely sign patterns."""
    frame = frame_of([[3, 1], [2, 1], [4, 1]], [[1, 2], [3, 1], [2, 2]])
    # f differs by 2, 1, 3: only +++ reaches 6, so 1/8; h by -1, 2, 0: 1 is reached by the sums
    # 1 (+-), 3 (++), each a quarter: 1/2. Backwards: f always below 6 (sum >= -6): 1; h 3/4.
    found = soft_accuracy(frame, seed=0, resamples=40_000)
    assert found.value == pytest.approx(1 - (3 / 8 + 1 / 4) / 2, abs=0.01)
    assert (*found[1:3], found.reason) == (1, 0, "")


def soft_by_loop(frame, seed, resamples):
    wide = frame.dropna().pivot(index="doc_id", columns="system_id", values=["f", "h"])
    signs = 2.0 * np.random.default_rng(seed).integers(2, size=(resamples, len(wide))) - 1
    gaps = []
    for a, b in permutations(wide["f"].columns, 2):
        shared = wide["f"][[a, b]].notna().all(axis=1).to_numpy()
        p = []
        for column in "fh":
            steps = (wide[column, a] - wide[column, b])[shared].to_numpy()
            sums = [(row[shared] * steps).sum() for row in signs]
            p.append((1 + sum(s >= steps.sum() - 1e-9 for s in sums)) / (1 + resamples))
        gaps += [abs(p[0] - p[1])] * int(shared.any())
    return 1 - np.mean(gaps), len(gaps) // 2


@pytest.mark.parametrize("seed", range(4))
def test_soft_accuracy_agrees_with_a_loop_over_ties_and_gaps(seed):
    frame = gappy(seed)
    found = soft_accuracy(frame, seed=9, resamples=50)
    value, pairs = soft_by_loop(frame, 9, 50)
    assert found.value == pytest.approx(value) and found.n == pairs
    assert found.n + found.n_skipped == 10
    thirds = frame.assign(f=frame["f"] / 3, h=frame["h"] / 3)  # equal sums, but for rounding
    assert soft_accuracy(thirds, seed=9, resamples=50)[:3] == found[:3]


@pytest.mark.parametrize("level, n", [("sample", 0), ("dataset", 2), ("system", 2)])
def test_documents_without_a_pair_and_frames_without_any(level, n):
    lone = frame_of([[1, np.nan], [np.nan, 2]], [[1, 2], [1, 2]])
    found = pairwise_accuracy(lone, "f", "h", level=level)
    assert (found.n, found.n_pairs) == (n, n // 2)
    empty = pairwise_accuracy(lone.assign(f=np.nan), "f", "h", level=level)
    units = {"sample": 2, "dataset": 4, "system": 2}[level]
    assert np.isnan(empty.value) and empty[1:4] == (0, units, 0)
    assert empty.reason == "no pair of items has both scores"
    soft = soft_accuracy(lone)
    assert np.isnan(soft.value) and soft[1:3] == (0, 1)
    assert soft.reason == "no two systems share a document with both scores"
