"""What the values of an aspect mean: numbers, categories by name, or which of two texts is better.

Tables hold numbers; a `Scale` says what they stand for. It is declared once for each aspect and travels with the
benchmark, and everything that reads, joins, compares or names values asks it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

# Cells without a value; compared in lower case.
NOTHING = ("", "na", "n/a", "#n/a", "n.a.", "<na>", "nan", "null", "none", "-", "--", "\u2013", "?")
MOST_UNREAD = 0.05  # share of a judge's words or replies
# Words that are known, from the lowest to the highest category; what else is written for one stands behind a bar.
KNOWN = (
    "no|n, yes|y",
    "fail|failed, pass|passed",
    "false|f, true|t",
    "incorrect|wrong, correct|right",
    "incorrect|wrong|i|n, partial|partially correct|partly correct|p, correct|c",  # Inspect's N, no answer, is an I
    "bad, good",
    "bad, ok|okay, good",
    "unsafe, safe",
    "irrelevant, relevant",
    "hallucinated|unfaithful, faithful",
    "inconsistent, consistent",
    "low, medium, high",
    "thumbs down|👎|down, thumbs up|👍|up",
    "❌|✗|✘, ✅|✓|✔",
)
# Of pairs: A is the text in `hypothesis`, B the one in `other`.
BETTER = (
    "b|model b|model 2|[[b]]|right|second|output b|0, "
    "tie|both|neither|tie (bothbad)|tie (both bad)|both bad|[[c]]|0.5, "
    "a|model a|model 1|[[a]]|left|first|output a|1"
)
# Words that name a text whatever the order in which both were shown.
BY_TEXT = ("model a", "model b", "model 1", "model 2")
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

    def name(self, value: float) -> str:
        """What a value is called."""
        return dict(zip(self.values, self.names)).get(value, f"{value:g}")

    def holds(self, scores: pd.Series) -> bool:
        """Whether all numbers are values of the scale; any number is one of a scale of numbers."""
        return not self.names or set(scores.dropna()) <= {*self.values}

    def read(self, cells: pd.Series) -> tuple[pd.Series, pd.Series]:
        """Scores for cells of text, NaN for an empty one; and the cells that are none of the scale.

        A column that is all in another known vocabulary with the same values is read too, as yes and no beside pass and
        fail.
        """
        words = cells.map(_folded).astype(object)
        words = words.mask(words.isin({*NOTHING} - {*self.words}))
        given = words.dropna()
        spellings = self.words
        other, n = known(given, self.kind == "preference")
        if not given.isin(spellings).all() and n == len(given) and other.values == self.values:
            spellings = other.words
        scores = words.map(spellings).astype(float)
        plain = words[scores.isna()].str.replace(_NUMBERED, r"\1", regex=True)
        numbers = pd.to_numeric(plain.str.replace(_COMMA, r"\1.\2", regex=True), errors="coerce")
        numbers = numbers[np.isfinite(numbers)]
        if self.names:
            numbers = numbers[numbers.isin(self.values)]
        elif self.values:
            numbers = numbers[numbers.between(*self.values)]
        scores[numbers.index] = numbers
        return scores, cells[scores.isna() & words.notna()]

    def combine(self, frame: pd.DataFrame, keys: Sequence[str], how: str = "mean") -> pd.Series:
        """One `score` for each of the keys from several raters, judges or samples.

        Of numbers the mean (or the median), of categories the most frequent one; NaN where two are as frequent.
        """
        groups = frame.groupby(list(keys), sort=False)["score"]
        if not self.names or not self.holds(frame["score"]):
            return groups.agg(how)
        votes = frame.dropna(subset="score").groupby([*keys, "score"], sort=False).size()
        most = votes[votes == votes.groupby(level=list(keys)).transform("max")]
        most = most.reset_index("score")["score"]
        return most[~most.index.duplicated(keep=False)].reindex(groups.size().index)


def _folded(cell):
    """A cell in lower case with single blanks; 1.0 is 1."""
    return _WHOLE.sub(r"\1", " ".join(str(cell).lower().replace("_", " ").split()))


def _named(kind, names, values=None):
    """A scale from names, each with what else is written for it."""
    names = [name.split("|") for name in names]
    values = np.linspace(0, 1, len(names)).tolist() if values is None else values
    words = {_folded(word): float(value) for part, value in zip(names, values) for word in part}
    return Scale(kind, tuple(part[0] for part in names), tuple(map(float, values)), words)


NUMBERS = Scale()
PREFERENCE = _named("preference", BETTER.split(", "))._replace(names=("B", "tie", "A"))
_KNOWN = [_named("ordered", line.split(", ")) for line in KNOWN]
_KNOWN.append(_named("preference", ["b", "tie|both|neither", "a"]))  # in a table without the texts
_COUNTED = [_named("ordered", ["0", "1"]), _named("ordered", ["0", "0.5", "1"])]


def known(cells: Iterable[str], in_pairs: bool = False) -> tuple[Scale, int]:
    """The known scale that reads most of these cells, and how many; numbers where it reads fewer than half."""
    words = Counter(word for word in map(_folded, cells) if word not in NOTHING)
    n = words.total()
    best, most = NUMBERS, max(1, n / 2)
    for scale in [PREFERENCE] if in_pairs else _KNOWN:
        read = sum(words[word] for word in scale.words)
        if read > most or read == most and best is NUMBERS:
            best, most = scale, read
    for scale in () if in_pairs else _COUNTED:  # 0 and 1 are categories where nothing else occurs
        if words and best is NUMBERS and {*words} <= {*scale.words}:
            best, most = scale, n
    return best, int(most) if best.names else 0


def scale_in(scores: pd.Series) -> Scale:
    """The scale of numbers that nobody has declared: 0 and 1, perhaps with 0.5 between them, are categories."""
    return known(f"{score:g}" for score in scores.dropna().unique())[0]


def scale_of(labels: Any) -> Scale:
    """The scale that a user declares.

    Parameters
    ----------
    labels
        Two numbers, as (1, 5): numbers from 1 to 5. A list of names: ordered categories, the lowest first. A set of
        names, or in JSON ``{"unordered": [...]}``: categories without an order. A dict: what a cell's word stands for,
        a number, or a word that is known, as ``{"1": "A", "2": "B"}`` of preferences.

    Examples
    --------
    >>> scale_of({"cat", "dog"}).kind, scale_of((1, 5)).values, scale_of({"1": "A", "2": "B"}).kind
    ('unordered', (1.0, 5.0), 'preference')
    """
    if isinstance(labels, dict) and [*labels] == ["unordered"]:
        labels = {*labels["unordered"]}
    if isinstance(labels, dict) and len(labels) > 1:
        meant = {_folded(word): meaning for word, meaning in labels.items()}
        if all(isinstance(meaning, (int, float)) for meaning in meant.values()):
            values = sorted({*map(float, meant.values())})
            names = ["|".join(str(w) for w in labels if labels[w] == value) for value in values]
            return _named("ordered", names, values)
        for in_pairs in (True, False):
            scale, n = known(meant.values(), in_pairs)
            if n == len(meant):
                words = {word: scale.words[_folded(meaning)] for word, meaning in meant.items()}
                return scale._replace(words=scale.words | words)
    elif isinstance(labels, (list, tuple, set, frozenset)) and len(labels) > 1:
        if len(labels) == 2 and all(isinstance(end, (int, float)) for end in labels):
            return Scale(values=tuple(sorted(map(float, labels))))
        if isinstance(labels, (set, frozenset)):
            return _named("unordered", sorted(map(str, labels)), range(len(labels)))
        return _named("ordered", list(map(str, labels)))
    raise ValueError(
        f"labels={labels!r}: expected names from the lowest to the highest, as ['bad', 'ok', 'good']; a set of names "
        "without an order, in JSON {'unordered': [...]}; the ends of numbers, as (1, 5); or a dict by the words of "
        "your file, as {'1': 'A', '2': 'B'}"
    )
