"""How ways of judging are compared with raters: on which outputs, at which level, with which tests."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.stats.bootstrap import interval_table
from nlgjudge.stats.correlations import correlation_table, grouped, matrices
from nlgjudge.stats.judge_pairs import paired_tests
from nlgjudge.stats.rater_agreement import alpha, ceiling

# The ranks of two outputs agree or disagree: a correlation of 1 or -1, which is a coin's information. Three
# take four values when nothing is tied, and the variance by chance, 1 / (k - 1), falls from 1 to one half.
RANKED = 3
# Below this share of the documents (of the outputs, at dataset level) a result would be about the rest.
COVERAGE = 0.5
LEVEL = 0.05  # of the tests, after Holm


class Shared(NamedTuple):
    """Outputs on which methods are compared, and how they were chosen.

    Attributes
    ----------
    frame : pandas.DataFrame
    methods : list of str
        Those that are compared.
    left_out : dict of str to str
        By method that is not, the reason.
    level : str
        `sample` or `dataset`.
    why : str
        Why this level; empty where sample level loses nothing.
    n, n_skipped : int
        Documents at sample level, outputs at dataset level: compared, and left out.
    """

    frame: pd.DataFrame
    methods: list
    left_out: dict
    level: str
    why: str
    n: int
    n_skipped: int


class _Ranking(NamedTuple):
    """Which documents can be ranked.

    Attributes
    ----------
    documents : list
        Those in which people and all methods rank at least three outputs.
    causes : str
        Why the others cannot be.
    ties : dict of str to int
        In how many documents a method ties all outputs.
    """

    documents: list
    causes: str
    ties: dict


def shared_outputs(frame, methods, metrics):
    """Choose methods, outputs and level, so that all methods compared rest on the same outputs.

    A judge that ties most documents takes all to the dataset level; a metric that does so is left out.

    Parameters
    ----------
    frame : pandas.DataFrame
        `doc_id, system_id, human` and the methods' scores.
    methods : list of str
    metrics : list of str
        Those of the methods that are lexical metrics.

    Returns
    -------
    Shared
    """
    rated = frame.dropna(subset="human")
    compared, left_out = _scored(rated, methods)
    outputs = rated.dropna(subset=compared)
    if not compared or outputs["human"].nunique() < 2:
        return _nothing_shared(rated, outputs, methods, compared, left_out)
    documents = outputs["doc_id"].nunique()
    ties = _ranking(outputs, compared).ties
    coarse = [method for method in metrics if ties.get(method, 0) > (1 - COVERAGE) * documents]
    if coarse and len(coarse) < len(compared):
        for method in coarse:
            left_out[method] = (
                f"the same score for all outputs in {ties[method]} of {documents} documents"
            )
        compared = [method for method in compared if method not in coarse]
        outputs = rated.dropna(subset=compared)
    return _at_a_level(rated, outputs, compared, left_out)


def _nothing_shared(rated, outputs, methods, compared, left_out):
    """No method is compared: each has its own reason, or that of the outputs."""
    reason = "no shared output"
    if compared and len(outputs):
        reason = "the ratings of all shared outputs are equal"
    left_out = {method: left_out.get(method, reason) for method in methods}
    return Shared(outputs.head(0), [], left_out, "dataset", "", 0, len(rated))


def _at_a_level(rated, outputs, compared, left_out):
    """Take the sample level where enough documents can be ranked, else the dataset level."""
    documents = rated["doc_id"].nunique()
    ranking = _ranking(outputs, compared)
    kept = len(ranking.documents)
    lost = documents - kept
    if kept >= COVERAGE * documents:
        part = outputs[outputs["doc_id"].isin(ranking.documents)]
        why = f"{lost} of {documents} documents are left out: {ranking.causes}" if lost else ""
        return Shared(part, compared, left_out, "sample", why, kept, lost)
    if rated.groupby("doc_id").size().max() == 1:
        why = "each document has one rated output"
    elif outputs.groupby("doc_id").size().max() < RANKED:
        why = (
            f"no document has {RANKED} shared outputs, and the ranks of two can only agree or disagree: "
            "every correlation would be 1 or -1"
        )
    else:
        why = f"sample level would leave {lost} of {documents} documents out: {ranking.causes}"
    return Shared(
        outputs, compared, left_out, "dataset", why, len(outputs), len(rated) - len(outputs)
    )


def _scored(rated, methods):
    """Methods with scores for enough of the outputs, alone and together, and why the others are left out."""
    counts = rated[methods].notna().sum()
    enough = COVERAGE * len(rated)
    left_out = {}
    for method in methods:
        if counts[method] < max(enough, 1):
            left_out[method] = f"scores for {counts[method]} of {len(rated)} rated outputs"
    compared = [method for method in methods if method not in left_out]
    while compared:
        outputs = rated.dropna(subset=compared)
        if len(outputs) < enough:
            fewest = min(compared, key=lambda method: counts[method])
            left_out[fewest] = (
                f"scores for {counts[fewest]} of {len(rated)} rated outputs, too few of them "
                "shared with the others"
            )
        else:
            constant = [method for method in compared if outputs[method].nunique() < 2]
            if not constant:
                break
            left_out |= dict.fromkeys(constant, "the same score for every output")
        compared = [method for method in compared if method not in left_out]
    return compared, left_out


def _ranking(outputs, compared):
    """Find the documents in which people and all methods rank at least three outputs."""
    sizes = outputs.groupby("doc_id").size()
    large = sizes.index[sizes >= RANKED]
    causes = []
    if len(large) < len(sizes):
        causes.append(f"{len(sizes) - len(large)} have fewer than {RANKED} shared outputs")
    part = outputs[outputs["doc_id"].isin(large)]
    if part.empty:
        return _Ranking([], "; ".join(causes), {})
    documents = np.array(sorted(large))  # as `matrices` has them
    human, *scores = matrices(part, ["human", *compared])
    told_by_people = ~np.isnan(grouped(human, human))
    if not told_by_people.all():
        causes.append(f"in {(~told_by_people).sum()} all ratings are equal")
    told_by_all = told_by_people
    ties = {}
    for method, column in zip(compared, scores):
        tied = told_by_people & np.isnan(grouped(column, human))
        told_by_all = told_by_all & ~tied
        if tied.any():
            ties[method] = int(tied.sum())
    if ties:
        most_first = sorted(ties.items(), key=lambda pair: -pair[1])
        listed = ", ".join(f"in {count} from {method}" for method, count in most_first)
        causes.append(f"all outputs get the same score {listed}")
    return _Ranking(list(documents[told_by_all]), "; ".join(causes), ties)


def compared(frame, methods, metrics, resamples, permutations, rng):
    """Correlate methods with people, and test each against the best.

    Parameters
    ----------
    frame, methods, metrics
        As for `shared_outputs`.
    resamples, permutations : int
    rng : numpy.random.Generator

    Returns
    -------
    table : pandas.DataFrame
        Best first: `method, ours, ci_low, ci_high, reason, p, p_systems, level, why, n, n_skipped,
        documents`.
    outputs : pandas.DataFrame
        The rows of the frame that it rests on.
    """
    shared = shared_outputs(frame, methods, metrics)
    left_out = pd.DataFrame(
        {"method": list(shared.left_out), "reason": list(shared.left_out.values())}
    )
    fixed = {
        "level": shared.level,
        "why": shared.why,
        "n": shared.n,
        "n_skipped": shared.n_skipped,
        "documents": shared.frame["doc_id"].nunique(),
    }
    if not shared.methods:
        table = left_out.assign(
            ours=np.nan, ci_low=np.nan, ci_high=np.nan, p=np.nan, p_systems=np.nan, **fixed
        )
        return table, shared.frame
    cells = correlation_table(
        shared.frame, shared.methods, ["human"], levels=[shared.level], coefficients=["spearman"]
    )
    units = "both" if shared.level == "sample" else "documents"
    cells = interval_table(shared.frame, cells, rng=rng, resamples=resamples, units=units)
    cells = cells.rename(columns={"metric": "method"})[
        ["method", "ours", "ci_low", "ci_high", "reason"]
    ]
    cells = cells.sort_values("ours", ascending=False, ignore_index=True, kind="stable")
    best, *others = cells["method"]
    # All scores of a document are swapped together: the claim is about other documents of these systems. Swapped
    # systems are the other question.
    tests = paired_tests(
        shared.frame,
        [(best, other) for other in others],
        ["human"],
        level=shared.level,
        permutations=permutations,
        seed=int(rng.integers(2**31)),
        items="documents",
    )
    cells["p"] = [np.nan, *tests["holm_items"]]
    cells["p_systems"] = [np.nan, *tests["holm_systems"]]
    return pd.concat([cells, left_out], ignore_index=True).assign(**fixed), shared.frame


def notes_on(table, absent):
    """Say at which level an aspect was compared, and who is left out.

    Parameters
    ----------
    table : pandas.DataFrame
        From `compared`.
    absent : list of str
        Metrics that cannot be had here; that is said once, for all aspects.

    Returns
    -------
    list of str
    """
    first = table.iloc[0]
    at_dataset_level = first["level"] == "dataset"
    notes = []
    if first["why"]:
        notes.append(f"dataset level, because {first['why']}" if at_dataset_level else first["why"])
    if at_dataset_level and first["n_skipped"]:
        notes.append(
            f"{first['n_skipped']} rated outputs lack a score of some method and are left out for "
            "all"
        )
    for _, row in table[table["ours"].isna()].iterrows():
        if row["method"] not in absent:
            notes.append(f"{row['method']} is not compared: {row['reason']}")
    return notes


def raters(benchmark, aspect, outputs, level):
    """Count the raters, and measure how well they agree, on the outputs that are compared.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark
    aspect : str
    outputs : pandas.DataFrame
        From `compared`.
    level : str

    Returns
    -------
    dict
        `raters, ceiling, ceiling_n, alpha`, as columns of `Evaluation.table`.
    """
    ratings = benchmark.ratings[benchmark.ratings["aspect"] == aspect]
    found = {
        "raters": ratings["rater"].nunique(),
        "ceiling": np.nan,
        "ceiling_n": np.nan,
        "alpha": np.nan,
    }
    shared = ratings.merge(outputs[["item_id", "doc_id", "system_id"]], on="item_id")
    if shared["rater"].nunique() < 2:
        return found
    limit = ceiling(shared, level=level)
    counted = limit.per_rater.loc[limit.per_rater["value"].notna(), "n"]
    if len(counted):
        found["ceiling_n"] = counted.min()
    return found | {"ceiling": limit.value, "alpha": alpha(shared).value}


def needed(methods):
    """Documents that it takes to tell the best of so many methods from all others.

    Swapping k documents gives 2^k arrangements, so that no two-sided p is below 2 / 2^k, and Holm multiplies
    the smallest by the number of the others: for two methods 5 documents give 0.06, and 6 give 0.03.

    Parameters
    ----------
    methods : int
        At least 2.

    Returns
    -------
    int

    Examples
    --------
    >>> needed(2), needed(12)
    (6, 9)
    """
    documents = 1
    while (methods - 1) * 2 / 2**documents >= LEVEL:
        documents += 1
    return documents
