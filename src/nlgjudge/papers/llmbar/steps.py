"""LLMBar's strategies of several steps (section 3): metrics or a reference before the choice, a debate after it."""

from __future__ import annotations

import math
import re
from typing import Any

import pandas as pd

from nlgjudge.judging.judge import Judge
from nlgjudge.judging.prompts import Prompt, prompt
from nlgjudge.judging.rating_text import visible
from nlgjudge.judging.run import judge_items
from nlgjudge.judging.scoring import COLUMNS
from nlgjudge.judging.tasks import Tasks

# By the slot that it fills, the prompt of a text that is written once a pair, and its longest reply.
AUXILIARY = {
    "metrics": ("llmbar/auxiliary_metrics", 150),
    "generated_reference": ("llmbar/auxiliary_reference", 384),
}
DEBATE = "reasons_for_a"  # the slot that shows one side of a debate
REASONS = ("llmbar/cot", 300)  # a debate's first choice
_LETTERS = str.maketrans("ab", "ba")


def choose_in_steps(
    items: pd.DataFrame, judge: Judge, last: Prompt, stated: dict[str, Any], own: dict[str, Any]
) -> pd.DataFrame:
    """Ask for choices or ratings of pairs after the steps whose texts the last prompt shows.

    Parameters
    ----------
    items
        Of a benchmark of pairs, in both orders.
    last
        Prompt of the last step.
    stated, own
        Sampling parameters of the last step, and those that a caller sets for every step.

    Returns
    -------
    pandas.DataFrame
        As from `nlgjudge.judge_items`. Of a debate it has the last choice where the two orders' first choices are
        different outputs, else the first. An item whose metrics or reference did not come is not asked about, and
        has the reason why they did not.
    """
    shown = set(last.slots.values())
    without = []
    for field, (name, longest) in AUXILIARY.items():
        if field in shown:
            sampling = stated | {"max_tokens": longest} | own
            replies = _written(items, judge, name, sampling)
            items = items.assign(**{field: [visible(reply.text).strip() for reply in replies]})
            is_empty = items[field] == ""
            without.append(_unasked(items[is_empty], replies[is_empty], last.aspect))
            items = items[~is_empty]
    if DEBATE not in shown:
        asked = [judge_items(items, last, judge, sampling=stated | own)] if len(items) else []
        return pd.concat([*asked, *without], ignore_index=True)
    name, longest = REASONS
    first = judge_items(items, name, judge, sampling=stated | {"max_tokens": longest} | own)
    debated = _debated(items, first)
    if debated.empty:
        return first
    decided = judge_items(debated, last, judge, sampling=stated | own)
    kept = first[~first["item_id"].isin(debated["item_id"])]
    return pd.concat([kept, decided], ignore_index=True)


def _written(items, judge, name, sampling):
    """A judge's reply for each pair, beside the items."""
    of_pairs = items.drop_duplicates("doc_id")
    pairs = dict(zip(of_pairs["item_id"], of_pairs["doc_id"]))
    replies = judge.replies(Tasks(of_pairs, prompt(name), **sampling))
    by_pair = {pairs[reply.item_id]: reply for reply in replies}
    return pd.Series([by_pair[pair] for pair in items["doc_id"]], items.index, dtype=object)


def _unasked(items, replies, aspect):
    """Rows of items that lack a text from an earlier step, with the reason."""
    rows = [
        (item_id, aspect, 0, "", math.nan, reply.reason or "empty")
        for item_id, reply in zip(items["item_id"], replies)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _debated(items, first):
    """Items whose two orders chose the same place, and so different outputs, with the reasons for each."""
    first = first.assign(text=first["text"].map(visible).str.strip())
    found = items.merge(first[["item_id", "text", "score"]], on="item_id")
    choices = found.groupby("doc_id")["score"]
    same_place = (choices.transform("count") == 2) & (choices.transform("nunique") == 1)
    found = found[same_place].sort_values(["doc_id", "system_id"], kind="stable")
    others = found.groupby("doc_id")["text"].transform(lambda texts: texts.to_numpy()[::-1])
    others = others.map(_letters_exchanged)
    is_a = found["score"] == 1
    return found.drop(columns=["text", "score"]).assign(
        reasons_for_a=found["text"].where(is_a, others),
        reasons_for_b=others.where(is_a, found["text"]),
    )


def _letters_exchanged(text):
    """A reason as it reads where the outputs are shown the other way round."""
    return re.sub(r"(?<=utput \()[ab](?=\))", lambda match: match[0].translate(_LETTERS), text)
