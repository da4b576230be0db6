"""What the values of an aspect mean: numbers, categories by name, or which of two texts is better.

Tables hold numbers; a `Scale` says what they stand for. It is declared once for each aspect and travels with the
benchmark, and everything that reads, joins, compares or names values asks it.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

# Cells without a value; compared in lower case. Beside labels, "none" may be one.
EMPTY = ("", "na", "n/a", "#n/a", "n.a.", "<na>", "nan", "null", "-", "--", "\u2013", "?")
NOTHING = (*EMPTY, "none")
MOST_UNREAD = 0.05  # share of a judge's words or replies
# Labels that are known, from the lowest to the highest; what else is written for one stands behind a bar. Vocabularies
# in one line mean the same. In Inspect's letters, N (no answer) is an I. The last line, of a table without
# texts, has no order.
KNOWN = """
no|n, yes|y; false|f, true|t; 0, 1
fail|failed, pass|passed; incorrect|wrong, correct|right; bad, good; thumbs down|👎|down, thumbs up|👍|up; ❌|✗, ✅|✓|✔
incorrect|wrong, partial|partially correct|partly correct, correct|right
I|N, P, C
bad, ok|okay, good
unsafe, safe
irrelevant, relevant
hallucinated|unfaithful, faithful
inconsistent, consistent
low, medium, high
0, 0.5, 1
B, tie|both|neither, A
"""
# Of pairs: A is the text in `hypothesis`, B the one in `other`.
BETTER = (
    "b|model b|model 2|[[b]]|right|second|output b",
    "tie|both|neither|tie (bothbad)|tie (both bad)|both bad|[[c]]",
    "a|model a|model 1|[[a]]|left|first|output a",
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_WHOLE = re.compile(r"^(-?\d+)\.0+$")
_COMMA = re.compile(r"^([-+]?\d+),(\d{1,2})$")
_NUMBERED = re.compile(r"^([-+]?\d+(?:\.\d+)?)\s*[-–:=.)(]+\s*[^\W\d].*$")  # as "1 - poor"


class Scale(NamedTuple):
    """The values of an aspect.

    Attributes
    ----------
    kind
        ``numbers``; ``ordered`` or ``unordered`` categories; or ``preference``, of two texts.
    names
        Of the categories, the lowest first; empty for numbers.
    values
        The numbers that stand for the names; of numbers the lowest and the highest, if they are declared.
    words
        What else is written for a category, in lower case, with its value.
    low_is_good
        Whether a low value is the good one, as of toxicity.

    Examples
    --------
    >>> quality = scale_of(["bad", "ok", "good"])
    >>> quality.read(pd.Series(["OK", "good", ""]))[0].tolist(), quality.name(0.5)
    ([0.5, 1.0, nan], 'ok')
    >>> votes = pd.DataFrame({"item_id": list("aaabb"), "score": [1.0, 1, 0, 1, 0]})
    >>> quality.combine(votes, ["item_id"]).tolist()
    [1.0, nan]
    """

    kind: Literal["numbers", "ordered", "unordered", "preference"] = "numbers"
    names: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    words: dict[str, float] = {}
    low_is_good: bool = False

    @property
    def metric(self) -> Literal["ordinal", "nominal"]:
        """How Krippendorff's alpha counts differences."""
        return "ordinal" if self.kind in ("numbers", "ordered") else "nominal"

    @property
    def is_coded(self) -> bool:
        """Whether a number may be a label of the user's, and not the value that stands for one."""
        codes = {word: value for word, value in self.words.items() if _NUMBER.fullmatch(word)}
        return self.kind == "unordered" or any(float(word) != codes[word] for word in codes)

    def name(self, value: float) -> str:
        """What a value is called."""
        return dict(zip(self.values, self.names)).get(value, f"{value:g}")

    def holds(self, scores: pd.Series) -> bool:
        """Whether all numbers are values of the scale; any number is one of a scale of numbers."""
        return not self.names or set(scores.dropna()) <= {*self.values}

    def read(self, cells: pd.Series) -> tuple[pd.Series, pd.Series]:
        """Scores for cells of text, NaN for an empty one; and the cells that are none of the scale."""
        words = cells.map(folded).astype(object)
        words = words.mask(words.isin({*(EMPTY if self.names else NOTHING)} - {*self.words}))
        if self.names:
            scores = words.map(self.words).astype(float)
        else:
            plain = words.str.replace(_NUMBERED, r"\1", regex=True)
            scores = pd.to_numeric(plain, errors="coerce").astype(float)
            low, high = self.values or (-sys.float_info.max, sys.float_info.max)
            scores = scores.where(scores.between(low, high))
        return scores, cells[scores.isna() & words.notna()]

    def combine(self, frame: pd.DataFrame, keys: Sequence[str]) -> pd.Series:
        """One `score` for each of the keys from several raters, judges or samples.

        Of numbers the mean, of categories the most frequent one; NaN where two are as frequent.
        """
        groups = frame.groupby(list(keys), sort=False)["score"]
        if not self.names or not self.holds(frame["score"]):
            return groups.mean()
        votes = frame.dropna(subset="score").groupby([*keys, "score"], sort=False).size()
        most = votes[votes == votes.groupby(level=list(keys)).transform("max")]
        most = most.reset_index("score")["score"]
        return most[~most.index.duplicated(keep=False)].reindex(groups.size().index)


def folded(cell: object) -> str:
    """A cell in lower case with single blanks; 1.0 is 1, and 0,5 is 0.5."""
    text = " ".join(str(cell).lower().replace("_", " ").split())
    return _WHOLE.sub(r"\1", _COMMA.sub(r"\1.\2", text))


def _named(kind, names, values=None):
    """A scale from names, each with what else is written for it."""
    names = [name.split("|") for name in names]
    values = np.linspace(0, 1, len(names)).tolist() if values is None else values
    words = {folded(word): float(value) for part, value in zip(names, values) for word in part}
    return Scale(kind, tuple(part[0] for part in names), tuple(map(float, values)), words)


NUMBERS = Scale()
PREFERENCE = _named("preference", BETTER)._replace(names=("B", "tie", "A"))
_FAMILIES = [
    [
        _named("unordered" if line.startswith("B,") else "ordered", part.split(", "))
        for part in line.split("; ")
    ]
    for line in KNOWN.strip().split("\n")
]


def known(cells: Iterable[object], in_pairs: bool = False) -> tuple[Scale, int]:
    """The known scale that reads most of these cells, and how many; numbers where it reads fewer than half."""
    words = Counter(word for word in map(folded, cells) if word not in EMPTY)
    best, most = NUMBERS, 0
    for family in [[PREFERENCE]] if in_pairs else _FAMILIES:
        every = {word: value for scale in family for word, value in scale.words.items()}
        n = sum(words[word] for word in every)
        is_certain = 2 * n >= words.total()
        if words.keys() & {"0", "1"}:  # numbers, unless there is nothing else
            is_certain = n == words.total()
        if "i" in every:
            is_certain = is_certain and words.keys() >= {"c", "i"}
        if is_certain and n > most:
            scale = max(family, key=lambda one: sum(words[word] for word in one.words))
            best, most = scale._replace(words=every), n
    return best, most


def scale_in(scores: pd.Series) -> Scale:
    """The scale of numbers that nobody has declared: 0 and 1, perhaps with 0.5 between them, are categories."""
    return known(f"{score:g}" for score in scores.dropna().unique())[0]


def scale_of(labels: Any) -> Scale:
    """The scale that a user declares.

    Parameters
    ----------
    labels
        Two numbers, as (1, 5): numbers from 1 to 5. A list of names: ordered categories, the lowest first. A set of
        names, or in JSON ``{"unordered": [...]}``: categories without an order. What else is written for a name stands
        behind a bar: ``["fail|no", "pass|yes"]``. A dict: ordered categories by their values, or words that stand for
        known ones, as ``{"1": "A", "2": "B"}`` of preferences.

    Examples
    --------
    >>> scale_of({"cat", "dog"}).kind, scale_of((1, 5)).values, scale_of({"1": "A", "2": "B"}).kind
    ('unordered', (1.0, 5.0), 'preference')
    """
    if isinstance(labels, dict) and [*labels] == ["unordered"]:
        labels = {*labels["unordered"]}
    if isinstance(labels, dict) and len(labels) > 1:
        if all(isinstance(meaning, (int, float)) for meaning in labels.values()):
            values = sorted({*map(float, labels.values())})
            names = ["|".join(str(w) for w in labels if labels[w] == value) for value in values]
            return _named("ordered", names, values)
        for in_pairs in (True, False):
            scale, n = known(labels.values(), in_pairs)
            if n == len(labels):
                meant = {folded(word): scale.words[folded(labels[word])] for word in labels}
                words = {
                    word: at for word, at in scale.words.items() if not _NUMBER.fullmatch(word)
                }
                return scale._replace(words=words | meant)
    elif isinstance(labels, (set, frozenset)) and len(labels) > 1:
        return _named("unordered", sorted(map(str, labels)), range(len(labels)))
    elif isinstance(labels, (list, tuple)) and len(labels) > 1:
        if len(labels) == 2 and all(type(end) in (int, float) for end in labels):
            return Scale(values=tuple(sorted(map(float, labels))))
        return _named("ordered", list(map(str, labels)))
    raise ValueError(
        f"labels={labels!r}: expected names from the lowest to the highest, as ['bad', 'ok', 'good']; a set of names "
        "without an order, in JSON {'unordered': [...]}; the ends of numbers, as (1, 5); or a dict by the words of "
        "your file, as {'1': 'A', '2': 'B'}"
    )
