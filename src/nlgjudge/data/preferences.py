"""Pairs of texts of which people prefer one: preferences as they are, or made from a benchmark's ratings.

A pair is shown in both orders, and these are its two systems: item ``…/1`` has the first text as `hypothesis` and the
second as `other`, item ``…/2`` the other way round. People's rating of an item is 1 where the text shown first is the
better one, 0 where the other is, and 0.5 for a tie. A judge's choice is scored alike, so stores, intervals and paired
tests work as for ratings, at the level ``pair``.
"""

from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd

from nlgjudge.data.checks import check_whole, first
from nlgjudge.data.schema import RATINGS, Benchmark, build

PAIR: Final = "pair"  # the level of their shares
# What is exchanged in the second order.
_SWAPPED = {
    "hypothesis": "other",
    "other": "hypothesis",
    "output_id": "other_id",
    "other_id": "output_id",
}


def both_orders(
    pairs: pd.DataFrame, preferences: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items and ratings of pairs, each in both orders.

    Parameters
    ----------
    pairs
        A row for each: the columns of a benchmark's items, where `system_id` names the pair within its document, and
        `other`.
    preferences
        Columns of a benchmark's ratings: 1 for the hypothesis, 0 for the other, 0.5 for a tie.

    Examples
    --------
    >>> import pandas as pd
    >>> pair = pd.DataFrame([{"item_id": "p1", "system_id": "order", "hypothesis": "Hi.", "other": "Bye."}])
    >>> preferred = pd.DataFrame([{"item_id": "p1", "aspect": "better", "rater": "ann", "score": 1.0}])
    >>> items, ratings = both_orders(pair, preferred)
    >>> items.values.tolist(), ratings["score"].tolist()
    ([['p1/1', 'order/1', 'Hi.', 'Bye.'], ['p1/2', 'order/2', 'Bye.', 'Hi.']], [1.0, 0.0])
    """
    swapped = pairs.rename(columns=_SWAPPED)[pairs.columns]
    turned = preferences.assign(score=1 - preferences["score"])
    items = _joined(pairs, swapped, ["item_id", "system_id"])
    return items, _joined(preferences, turned, ["item_id"])


def _joined(first, second, keys):
    """Rows of both orders beside each other, with the order at the end of their keys."""
    parts = []
    for order, part in (("/1", first), ("/2", second)):
        parts.append(part.assign(**{key: part[key] + order for key in keys}))
    return pd.concat(parts).sort_index(kind="stable", ignore_index=True)


def pairs(
    benchmark: Benchmark, *, per_document: int = 1, limit: int | None = None, seed: int = 0
) -> Benchmark:
    """Ask of a rated benchmark which of two outputs is better, in both orders.

    Parameters
    ----------
    benchmark
    per_document
        Pairs of systems that are drawn in each document, without replacement; 0 for all of them.
    limit
        Documents, the first ones; None or 0 for all.
    seed
        Of the draw.

    Returns
    -------
    Benchmark
        Two items a pair, with the columns `other`, and `output_id` and `other_id`, the `item_id` of both
        outputs in `benchmark`. The preference for each aspect is that of the mean ratings, and equal
        ones are a tie, which has no accuracy. At the level ``pair`` a document counts as the mean of its pairs.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> chats = nj.data.pairs(nj.load("topical_chat", "sample"), per_document=2)
    >>> chats.items.shape[0], chats.items["doc_id"].nunique()
    (40, 10)
    """
    check_whole(0, per_document=per_document)
    benchmark.check_ordered(benchmark.aspects)
    rng = np.random.default_rng(seed)
    ratings = benchmark.human().set_index("item_id")[benchmark.aspects]
    names: dict[tuple[str, str], str] = {}
    rows = []
    for _, outputs in first(benchmark.items, limit).groupby("doc_id", sort=False):
        couples = list(combinations(outputs.to_dict("records"), 2))
        drawn = sorted(rng.permutation(len(couples))[: per_document or None])
        for one, two in (couples[place] for place in drawn):
            systems = (one["system_id"], two["system_id"])
            rows.append(
                one
                | {
                    "item_id": f"{one['doc_id']}/{' or '.join(systems)}",
                    "system_id": names.setdefault(systems, f"pair {len(names):04}"),
                    "other": two["hypothesis"],
                    "output_id": one["item_id"],
                    "other_id": two["item_id"],
                }
            )
    if not rows:
        raise ValueError(f"{benchmark.name} has one output a document: expected two or more")
    table = pd.DataFrame(rows)
    first_ratings, other_ratings = (
        ratings.loc[table[name]].to_numpy() for name in ("output_id", "other_id")
    )
    signs = [-1 if benchmark.scale(name).low_is_good else 1 for name in benchmark.aspects]
    preferred = pd.DataFrame(
        (1 + np.sign(first_ratings - other_ratings) * signs) / 2, columns=benchmark.aspects
    )
    preferred = preferred.assign(item_id=table["item_id"]).melt(
        "item_id", var_name="aspect", value_name="score"
    )
    items, rated = both_orders(table, preferred.assign(rater="mean")[RATINGS])
    return build(
        f"{benchmark.name} in pairs",
        items,
        rated,
        files=benchmark.files,
        left_out=benchmark.left_out,
        source=benchmark.source,
        notes=benchmark.notes,
    )
