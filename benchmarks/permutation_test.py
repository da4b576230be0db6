"""How fast the permutation test of two metrics is, against a plain loop over scipy.

The loop does what nlpstats does: swap, correlate each document with scipy, average; it runs for a
few resamples, its time is scaled up, and its differences are checked against ours. Then the cost
against resamples, documents, systems and level. ``python benchmarks/permutation_test.py``
"""

import resource
import sys
import time

import numpy as np
import pandas as pd
from run import options, record
from scipy import stats

from nlgjudge.stats.permutation import differences, standardised, swaps
from nlgjudge.stats.testing import permutation_test

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
RESAMPLES, DOCUMENTS, SYSTEMS = 9_999, 100, 16


def scores(documents, systems, tied):
    """Human scores and two noisy metrics, with ratings from 1 to 5 where `tied`."""
    rng = np.random.default_rng(0)
    h = rng.normal(size=(documents, systems))
    found = h + rng.normal(size=h.shape), h + 1.3 * rng.normal(size=h.shape), h
    return [np.clip(np.round(3 + 1.2 * m), 1, 5) if tied else m for m in found]


def frame_of(a, b, h):
    documents, systems = h.shape
    return pd.DataFrame({"doc_id": np.repeat(np.arange(documents), systems),
                         "system_id": np.tile(np.arange(systems), documents),
                         "a": a.ravel(), "b": b.ravel(), "h": h.ravel()})


def loop(a, b, h, bits, coefficient):
    """The differences at sample level, one swap and one document at a time."""
    def mean(x):
        pairs = [(m, n) for m, n in zip(x, h) if np.ptp(m) and np.ptp(n)]
        return np.mean([SCIPY[coefficient](m, n).statistic for m, n in pairs])
    return np.array([mean(np.where(s, b, a)) - mean(np.where(s, a, b)) for s in bits])


def seconds(best_of=3, **options):
    """Time of the whole test, from the frame to p."""
    size = options.pop("documents", DOCUMENTS), options.pop("systems", SYSTEMS)
    frame = frame_of(*scores(*size, options.pop("tied", False)))
    options = {"resamples": RESAMPLES} | options
    times = []
    for _ in range(best_of):
        start = time.perf_counter()
        permutation_test(frame, "a", "b", "h", rng=np.random.default_rng(0), **options)
        times.append(time.perf_counter() - start)
    return min(times)


def against_loop(few, resamples):
    """Print our time, the loop's and their ratio."""
    print(f"{DOCUMENTS} documents x {SYSTEMS} systems, {resamples} resamples, units both, level sample; "
          f"the loop is timed for {few}")
    print(f"{'':18}{'ours':>9}{'loop':>11}{'ratio':>9}")
    for coefficient in SCIPY:
        for tied in (False, True):
            a, b, h = scores(DOCUMENTS, SYSTEMS, tied)
            a, b = standardised(a), standardised(b)
            packed = swaps(h.shape, "both", few, np.random.default_rng(0))
            bits = np.moveaxis(np.unpackbits(packed, axis=-1), -1, 0)[:few].astype(bool)
            start = time.perf_counter()
            expected = loop(a, b, h, bits, coefficient)
            slow = (time.perf_counter() - start) / few * resamples
            found = differences(a, b, h, packed, level="sample", coefficient=coefficient, constant="skip",
                                kendall="b")[:few]
            assert np.abs(found - expected).max() < 1e-9
            ours = seconds(coefficient=coefficient, tied=tied, resamples=resamples)
            label = coefficient + (", tied" if tied else "")
            print(f"{label:18}{ours:8.3f}s{slow:10.0f}s{slow / ours:9.0f}")
            record(f"{label}, {resamples:,} resamples; theirs: loop over scipy", ours, slow)


def scaling():
    """Print the cost against one size at a time."""
    for name, sizes in (("resamples", (999, 9_999, 99_999)), ("documents", (10, 100, 1_000)),
                        ("systems", (4, 16, 64)), ("level", ("sample", "system", "dataset")),
                        ("units", ("documents", "systems", "both"))):
        print(f"\n{name:18}" + "".join(f"{size:>11}" for size in sizes))
        for coefficient in SCIPY:
            times = [seconds(1, coefficient=coefficient, tied=True, **{name: size}) for size in sizes]
            print(f"{coefficient:18}" + "".join(f"{t:10.3f}s" for t in times))


def main():
    parser = options(__doc__)
    parser.add_argument("--few", type=int, default=5, help="resamples that the loop is timed for")
    chosen = parser.parse_args()
    if chosen.quick:
        return against_loop(1, 99)
    against_loop(chosen.few, RESAMPLES)
    scaling()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    print(f"\npeak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
