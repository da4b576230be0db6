"""DHP's full offline matrix: six datasets of 100 texts, every perturbation, a judge, discernment.

Where a dataset's upstream file is not here, its sample is repeated to 100 texts. The judge is `surface`; the
ratio is against rating each version's prompts one at a time through `judge_items`, as a loop would.
``python benchmarks/dhp_matrix.py [--quick]``
"""

import time

import numpy as np
import pandas as pd
from run import options, record

import nlgjudge as nj

TASKS = {"summeval": "summarization", "sumpubmed": "summarization", "story_cloze": "story",
         "answer_equivalence": "question_answering", "wmt22_de_en": "translation",
         "wmt22_zh_en": "translation"}
ASPECTS = {"summarization": ["coherence", "consistency", "fluency", "relevance"],
           "story": ["coherence", "consistency", "fluency"],
           "question_answering": ["answer_quality"], "translation": ["accuracy", "fluency"]}


def texts(name, size, source):
    """So many good texts, a short list repeated under names of its own."""
    found = nj.dhp.originals(nj.load(name, source), size)
    copies = [found.assign(item_id=found["item_id"] + f"/{n}", doc_id=found["doc_id"] + f"/{n}")
              for n in range(-(-size // len(found)))]
    return pd.concat(copies, ignore_index=True).head(size)


def main():
    quick = options(__doc__).parse_args().quick
    size, loop, source, resamples = (3, 5, "sample", 10) if quick else (100, 200, "auto", 200)
    names = [*TASKS][::5] if quick else [*TASKS]
    start, parts = time.perf_counter(), []
    for name in names:
        task = TASKS[name]
        clock = [time.perf_counter()]
        items, _ = nj.dhp.perturb(texts(name, size, source), nj.dhp.perturbations(name))
        clock.append(time.perf_counter())
        prompts = [f"dhp/{task}/{aspect}" for aspect in ASPECTS[task]]
        rated = nj.item_scores(nj.judge_items(items, prompts, "surface"))
        clock.append(time.perf_counter())
        keys = ["item_id", "original", "perturbation", "level"]
        found = nj.dhp.discernment_interval(rated.merge(items[keys], on="item_id"), rng=np.random.default_rng(0),
                                        resamples=resamples)
        clock.append(time.perf_counter())
        parts.append((name, len(items), *np.diff(clock), found.loc["D_avg", "value"]))
    whole = time.perf_counter() - start
    table = pd.DataFrame(parts, columns=["dataset", "versions", "perturb", "judge", "discern", "D_avg"])
    print(table.set_index("dataset").round(2).to_string())
    print(f"\n{len(names)} datasets of {size} texts: {whole:.1f} s")
    start = time.perf_counter()  # the last dataset's judging, a version at a time
    for i in range(loop):
        nj.judge_items(items.iloc[i:i + 1], prompts, "surface")
    alone = (time.perf_counter() - start) / loop * len(items)
    record(f"DHP, judging {len(items)} versions together against one by one", parts[-1][3], alone)


if __name__ == "__main__":
    main()
