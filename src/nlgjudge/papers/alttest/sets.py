"""The sets, with the margin of their raters, and a user's own judge of them."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING

import pandas as pd

from nlgjudge.data.benchmarks.alttest import SETS
from nlgjudge.data.checks import check_known

if TYPE_CHECKING:
    from nlgjudge.data.schema import Benchmark

__all__ = ["SETS", "own_answers"]
COLUMNS = ["dataset", "item_id", "aspect", "score"]


def own_answers(path: str | PathLike[str], sets: Mapping[str, Benchmark]) -> pd.DataFrame:
    """Read the answers of a judge of your own to the questions of these sets.

    Parameters
    ----------
    path
        A CSV with the columns `dataset` (a key of `SETS`), `item_id` and `aspect` (as in the ratings of that set), and
        `score`: a grade, or a label in the words of the set's scale. An empty score is a missing answer.
    sets
        The benchmarks, by the keys of `SETS`.

    Returns
    -------
    pandas.DataFrame
        These columns; a label is the number that stands for it.

    Raises
    ------
    ValueError
        For a file without these columns or without lines, for an unknown dataset, question, item or label, for a grade
        outside those that people gave, and for a dataset of which not all questions are answered.
    """
    given = pd.read_csv(path, dtype=str, keep_default_na=False)
    if given.empty or not {*COLUMNS} <= {*given}:
        got = f"{len(given)} lines of {', '.join(given)}"
        raise ValueError(f"{path}: expected lines of {', '.join(COLUMNS)}, got {got}")
    for name, part in given.groupby("dataset"):
        check_known("dataset", name, sets)
        open_ones = sorted({*sets[name].aspects} - {*part["aspect"]})
        if open_ones:
            raise ValueError(
                f"{path}: no answers to {', '.join(open_ones)} of {name}; give all or none"
            )
    parts = [
        part.assign(score=_scores(path, part, sets[name], name, aspect))
        for (name, aspect), part in given.groupby(["dataset", "aspect"])
    ]
    return pd.concat(parts)[COLUMNS]


def _scores(path, part, benchmark, name, aspect):
    """The numbers of a question's answers, which are refused where they are none of it."""
    check_known(f"question of {name}", aspect, benchmark.aspects)
    people = benchmark.ratings[benchmark.ratings["aspect"] == aspect]
    scale = benchmark.scale(aspect)
    scores, odd = scale.read(part["score"])
    expected = f"one of {', '.join(scale.names)}"
    if not scale.names:
        low, high = people["score"].min(), people["score"].max()
        odd = part["score"][~scores.between(low, high) & part["score"].ne("")]
        expected = f"{low:g} to {high:g}, as people gave"
    unknown = part["item_id"][~part["item_id"].isin(people["item_id"])]
    written = f"an item of {name}, as {people['item_id'].iloc[0]}"
    for wrong, right in ((odd, expected), (unknown, written)):
        if len(wrong):
            where = f"{path}, line {wrong.index[0] + 2}"
            raise ValueError(f"{where}: {wrong.iloc[0]!r} for {aspect}; expected {right}")
    return scores
