"""Pairwise accuracy against loops over pairs and thresholds, and against arithmetic done by hand."""

from itertools import combinations, product

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
    x, y = np.asarray(x, float), np.asarray(y, float)
    documents, systems = x.shape
    return pd.DataFrame(
        {
            "doc_id": np.repeat([f"d{d:02d}" for d in range(documents)], systems),
            "system_id": [f"s{s:02d}" for s in range(systems)] * documents,
            "f": x.ravel(),
            "h": y.ravel(),
        }
    )


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
        return [
            list(full.groupby("system_id")[["f", "h"]].mean().itertuples(index=False, name=None))
        ]
    if level == "dataset":
        return [list(zip(full["f"], full["h"]))]
    found = [list(zip(g["f"], g["h"])) for _, g in full.groupby("doc_id")]
    return [g for g in found if len(g) > 1]


def by_loop(frame, level, epsilon):
    """Mean over groups of the accuracy, the human and the metric ties."""
    rows = []
    for group in groups_of(frame, level):
        pairs = [(a[0] - b[0], a[1] - b[1]) for a, b in combinations(group, 2)]
        signs = [(0 if abs(f) <= epsilon + 1e-12 else np.sign(f), np.sign(h)) for f, h in pairs]
        rows.append(
            [
                np.mean([f == h for f, h in signs]),
                np.mean([h == 0 for _, h in signs]),
                np.mean([f == 0 for f, _ in signs]),
            ]
        )
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
    thresholds = sorted(
        {0.0} | {abs(a[0] - b[0]) for g in groups_of(frame, level) for a, b in combinations(g, 2)}
    )
    every = [by_loop(frame, level, epsilon) for epsilon in thresholds]
    for epsilon, (value, human, metric) in zip(thresholds, every):
        found = pairwise_accuracy(frame, "f", "h", level=level, epsilon=epsilon)
        assert (found.value, found.human_ties, found.metric_ties) == pytest.approx(
            (value, human, metric)
        )
    top = max(value for value, *_ in every)
    found = pairwise_accuracy(frame, "f", "h", level=level)
    assert found.value == pytest.approx(top)
    assert found.epsilon == pytest.approx(
        next(e for e, (v, *_) in zip(thresholds, every) if v > top - 1e-9)
    )
    assert found.n_pairs == sum(len(g) * (len(g) - 1) // 2 for g in groups_of(frame, level))
    if level == "sample":
        assert found.n == len(groups_of(frame, level))
        assert found.n + found.n_skipped == frame["doc_id"].nunique()
    assert found.n_skipped >= (level == "sample")


@pytest.mark.parametrize("level", LEVELS)
def test_scale_and_rounding_change_nothing(level):
    for seed in range(4):
        frame = gappy(seed)
        scaled = frame.assign(f=frame["f"] * 0.1 + 0.7, h=frame["h"] / 3 + 0.1)
        for epsilon in (None, 0.5, 1.5):
            plain = pairwise_accuracy(frame, "f", "h", level=level, epsilon=epsilon)
            other = pairwise_accuracy(
                scaled, "f", "h", level=level, epsilon=None if epsilon is None else epsilon * 0.1
            )
            assert other[:4] == pytest.approx(plain[:4])
            assert other[5:7] == pytest.approx(plain[5:7])
            assert other.epsilon == pytest.approx(plain.epsilon * 0.1)


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
    documents, systems = (sorted(set(frame.dropna()[c])) for c in ("doc_id", "system_id"))
    signs = 2.0 * np.random.default_rng(seed).integers(2, size=(resamples, len(documents))) - 1
    cells = {(r.doc_id, r.system_id): r for r in frame.dropna().itertuples()}
    gaps = []
    for a, b in product(systems, systems):
        shared = [i for i, d in enumerate(documents) if (d, a) in cells and (d, b) in cells]
        if a == b or not shared:
            continue
        p = []
        for c in "fh":
            steps = np.array(
                [
                    getattr(cells[documents[i], a], c) - getattr(cells[documents[i], b], c)
                    for i in shared
                ]
            )
            sums = [(row[shared] * steps).sum() for row in signs]
            p.append((1 + sum(s >= steps.sum() - 1e-9 for s in sums)) / (1 + resamples))
        gaps.append(abs(p[0] - p[1]))
    return 1 - np.mean(gaps), len(gaps) // 2


@pytest.mark.parametrize("seed", range(4))
def test_soft_accuracy_agrees_with_a_loop_over_ties_and_gaps(seed):
    frame = gappy(seed)
    found = soft_accuracy(frame, seed=9, resamples=50)
    value, pairs = soft_by_loop(frame, 9, 50)
    assert found.value == pytest.approx(value) and found.n == pairs
    assert found.n + found.n_skipped == 10
    thirds = frame.assign(
        f=frame["f"] / 3, h=frame["h"] / 3
    )  # sums that are equal but for rounding
    assert soft_accuracy(thirds, seed=9, resamples=50)[:3] == found[:3]


def test_documents_without_a_pair_and_frames_without_any():
    lone = frame_of([[1, np.nan], [np.nan, 2]], [[1, 2], [1, 2]])
    for level, n in (("sample", 0), ("dataset", 2), ("system", 2)):
        found = pairwise_accuracy(lone, "f", "h", level=level)
        assert (found.n, found.n_pairs) == (n, 0 if level == "sample" else 1)
    assert np.isnan(pairwise_accuracy(lone, "f", "h").value)
    assert pairwise_accuracy(lone, "f", "h").reason == "no pair of items has both scores"
    soft = soft_accuracy(lone, seed=0)
    assert np.isnan(soft.value) and soft[1:3] == (0, 1)
    assert soft.reason == "no two systems share a document with both scores"
    empty = lone.assign(f=np.nan)
    for level, skipped in (("sample", 2), ("dataset", 4), ("system", 2)):
        found = pairwise_accuracy(empty, "f", "h", level=level)
        assert np.isnan(found.value) and (found.n, found.n_skipped, found.n_pairs) == (
            0,
            skipped,
            0,
        )
    assert soft_accuracy(empty, seed=0).n_skipped == 1
