"""How long all lexical baselines of all benchmarks take: cold, cached, and in a plain loop.

ROUGE, BLEU and METEOR of every hypothesis against every reference, first with an empty cache,
then with a full one. The plain loop is rouge-score's and sacrebleu's own scorers in one
process, for a sample of the items; its time is scaled to all pairs, its values are checked
against ours. ``python benchmarks/lexical_baselines.py``
"""

import os
import tempfile
import time

import numpy as np
import sacrebleu
from rouge_score import rouge_scorer
from run import options, record

import nlgjudge as nj
from nlgjudge.metrics import lexical

NAMES = ("summeval", "newsroom", "realsumm", "qags_cnn", "qags_xsum", "bagel", "openmeva", "topical_chat")


def seconds(function, *arguments):
    start = time.perf_counter()
    found = function(*arguments)
    return time.perf_counter() - start, found


def plain(items):
    """Largest ROUGE-L F over the references and BLEU, item by item."""
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeLsum"], use_stemmer=True)
    values = []
    for hypothesis, references in zip(items["hypothesis"], items["references"]):
        lines, *others = (lexical.re.sub(lexical.SPLITS["punctuation"], "\n", t)
                          for t in (hypothesis, *references))
        rouge = max(scorer.score(other, lines)["rougeLsum"].fmeasure for other in others)
        values.append((rouge, sacrebleu.sentence_bleu(hypothesis, references).score / 100))
    return np.array(values)


def measure(benchmark, sample):
    """Print the row of one benchmark; return its seconds cold, cached, in the loop and without METEOR."""
    name, items = benchmark.name, benchmark.items
    pairs = items["references"].map(len)
    steps = [nj.metrics.rouge, nj.metrics.bleu] + ([] if nj.metrics.meteor_missing() else [nj.metrics.meteor])
    with tempfile.TemporaryDirectory() as empty:
        os.environ["NLGJUDGE_ROOT"] = empty  # whose cache is empty
        cold = [seconds(step, items)[0] for step in steps]
        cached, ours = seconds(nj.metrics.lexical_baselines, items)
    few = items.sample(min(sample, len(items)), random_state=0)
    loop, values = seconds(plain, few)
    mine = ours.set_index("item_id").loc[few["item_id"], ["rougeL-f", "bleu"]].to_numpy()
    assert np.abs(mine - values).max() < 1e-9
    loop *= pairs.sum() / pairs[few.index].sum()
    print(f"{name:14}{len(items):>7}{pairs.sum():>8}" + "".join(f"{s:>8.1f}" for s in cold)
          + f"{sum(cold):>8.1f}{cached:>8.2f}{loop:>8.1f}{loop / sum(cold[:2]):>7.1f}")
    record(f"ROUGE and BLEU of {name}, {benchmark.source} data; theirs: plain loop, one process",
           sum(cold[:2]), loop)
    return sum(cold), cached, loop, sum(cold[:2])


def main():
    parser = options(__doc__)
    parser.add_argument("--sample", type=int, default=60, help="items of each benchmark for the plain loop")
    parser.add_argument("--source", default="auto", choices=("auto", "real", "sample"))
    chosen = parser.parse_args()
    names = NAMES
    if chosen.quick:
        chosen.source, chosen.sample = "sample", 2
        names = ("bagel",)
    benchmarks = [nj.load(name, chosen.source) for name in names]
    parts = ["ROUGE", "BLEU", *["METEOR"] * (not nj.metrics.meteor_missing())]
    for line in {*(b.notice for b in benchmarks), nj.metrics.meteor_missing()} - {""}:
        print(line)
    print(f"{os.cpu_count()} cores; seconds; ratio: loop / (ROUGE + BLEU)")
    print(f"{'benchmark':14}{'items':>7}{'pairs':>8}"
          + "".join(f"{part:>8}" for part in [*parts, "cold", "cached", "loop"]) + f"{'ratio':>7}")
    totals = np.sum([measure(b, chosen.sample) for b in benchmarks], axis=0)
    print(f"all: {totals[0]:.1f} s cold, {totals[1]:.2f} s cached, loop {totals[2]:.0f} s, "
          f"{totals[2] / totals[3]:.1f} times ROUGE and BLEU")


if __name__ == "__main__":
    main()
