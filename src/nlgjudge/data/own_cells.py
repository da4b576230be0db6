"""Cells of ratings and scores in data of your own as numbers, and the scale that says what these mean."""

import re
from itertools import combinations

import numpy as np
import pandas as pd

from nlgjudge.data.checks import unknown
from nlgjudge.data.own_columns import RATING
from nlgjudge.data.scale import EMPTY, MOST_UNREAD, NUMBERS, PREFERENCE, folded, known, scale_of
from nlgjudge.data.schema import ITEMS

# Values that stand for a missing rating if they lie outside the other ratings.
CODES = (-1, -9, -99, -999, -9999, 9, 99, 999, 9999)
FEW_RATINGS = 5  # of a rater
OPPOSED = -0.3  # correlation of two raters


def rated(ratings, labels, types, in_pairs, problems):
    """Ratings with a number in `score`, NaN where there is none; and the scale of each aspect."""
    unusable = ratings["aspect"].isin(["", *ITEMS]) | (ratings["rater"] == "")
    unusable |= (ratings["aspect"] + ratings["rater"]).str.contains(":")
    several = ratings["cell"].map(type).isin([list, dict])
    for column in ratings.loc[unusable, "column"].unique():
        problems.problem(f"expected {RATING}, and no aspect called {', '.join(ITEMS[:3])}", column)
    for column in ratings.loc[several, "column"].unique():
        message = "several ratings in one cell: give each a column, as site/guide/exports.md shows"
        problems.problem(message, column)
    if unusable.any() or several.any():
        problems.check()
    ratings["cell"] = ratings["cell"].str.strip()
    scales = {}
    for aspect, part in ratings.groupby("aspect", sort=False):
        typed = next(filter(None, map(types.get, part["column"].unique())), None)
        scales[aspect] = _scale(part["cell"], labels.get(aspect), typed, in_pairs)
        if in_pairs and scales[aspect].kind != "preference":
            better = "{'1': 'A', '2': 'B'}"
            raise ValueError(f"labels of {aspect}: expected what is better, as {better}")
    scored = ratings.assign(score=np.nan)
    for (aspect, rater), part in ratings.groupby(["aspect", "rater"], sort=False):
        column = f"human:{aspect}:{rater}".removesuffix(":mean")
        cells = part.set_index("row")["cell"]
        numbers, odd = scales[aspect].read(cells)
        if len(odd):
            _refuse(column, aspect, cells, odd, scales[aspect], problems)
        if not scales[aspect].names:
            _note_numbers(column, cells, numbers, problems)
        scored.loc[part.index, "score"] = numbers.to_numpy()
    problems.check()
    scored = _in_first_order(scored, problems) if in_pairs else scored
    for aspect, part in scored.groupby("aspect", sort=False):
        column, raters = f"human:{aspect}", part["rater"].unique()
        if part.duplicated(["place", "rater"]).any() or ("mean" in raters and len(raters) > 1):
            problems.problem("expected one column without a rater, or one for each rater", column)
            problems.check()
        if part["score"].nunique() < 2 and not in_pairs:
            problems.problem("expected different ratings; got one or none: leave it out", column)
        if scales[aspect].kind != "unordered":
            by_rater = part.pivot(index="place", columns="rater", values="score")
            _note_disagreement(column, by_rater, problems)
    return scored, scales


def _scale(cells, declared, typed, in_pairs):
    """The scale of an aspect: declared, named by a type, known by its words, or numbers."""
    if declared is not None:
        return scale_of(declared)
    if isinstance(typed, list):
        return scale_of(typed)
    scale, n = known(typed or cells, in_pairs)
    if typed:
        scale = scale if n == len(typed) else scale_of({*typed})
        if isinstance(typed, dict):  # by the numbers of a ClassLabel
            ids = {number: scale.words[folded(name)] for name, number in typed.items()}
            scale = scale._replace(words=scale.words | ids)
        return scale
    return PREFERENCE if in_pairs else scale


def _refuse(column, aspect, cells, odd, scale, problems, by_judge=False):
    """Say which cells are none of the scale, and the line to write."""
    given = cells[~cells.str.lower().isin(EMPTY)]
    words = list(dict.fromkeys(given))
    listed = str(words[:20])[1:-1]
    line = f"labels={{{aspect!r}: {{{listed}}}}} without an order, or a list from the lowest to the highest"
    if scale.kind == "preference":
        line = f"labels={{{aspect!r}: {{{words[0]!r}: 'A', {words[-1]!r}: 'B'}}}}"
    elif by_judge and scale.names:
        line = f"labels={{{aspect!r}: {[f'{name}|…' for name in scale.names]}}}"
    why = f"none of {', '.join(scale.names)}" if scale.names else "not a number"
    if scale.values and not scale.names:
        why += f" from {scale.values[0]:g} to {scale.values[1]:g}"
    for text in odd.unique()[: 5 if len(odd) <= len(given) / 2 else 1]:
        problems.problem(
            f"{text!r} is {why} ({len(odd)} of {len(given)} cells). Leave cells without a value empty, or say what the "
            f"words are: {line}",
            column,
            cells == text,
        )


def _in_first_order(ratings, problems):
    """Preferences as of the first order of each pair, one for each rater; none where both orders contradict."""
    ratings["score"] = ratings["score"].where(ratings["order"] == "1", 1 - ratings["score"])
    keys = ["place", "aspect", "rater"]
    apart = ratings.groupby(keys)["score"].transform("nunique") > 1
    message = "a rater's preferences contradict each other in the two orders, and are left out"
    problems.note(message, "other", apart.set_axis(ratings["row"]))
    joined = PREFERENCE.combine(ratings, keys).reset_index()
    return ratings.drop_duplicates(keys).drop(columns="score").merge(joined, on=keys)


def judged(scores, scales, problems):
    """Judges' scores with a number in `score`, one for each output and aspect."""
    parts = [scores.head(0).assign(score=np.nan)]
    for (column, aspect), part in scores.groupby(["column", "aspect"], sort=False):
        if aspect and aspect not in scales:
            hint = unknown("aspect", aspect, scales)
            problems.note(f"these scores are left out: {hint}, and nobody rated it", column)
            continue
        cells = part.set_index("row")["cell"].map(str).str.strip()
        read = NUMBERS.read(cells)[0]
        _note_numbers(column, cells, read, problems)
        if re.search("/2(:|$)", column):
            message = "say A (the text shown first), B or tie, and no name of a text"
            names = read.isna() & ~cells.map(folded).isin([*PREFERENCE.words, *EMPTY])
            problems.problem(message, column, names)
        for name, numbers in fitting(column, cells, scales, aspect, problems).items():
            parts.append(part.assign(aspect=name, score=numbers.to_numpy()))
    scores = pd.concat(parts, ignore_index=True)
    keys = ["place", "order", "metric", "aspect"]
    scores = scores.drop_duplicates([*keys, "score"]).dropna(subset="score")
    for column in scores.loc[scores.duplicated(keys), "column"].unique():
        problems.problem("expected one score of the judge for each output", column)
    return scores


def fitting(column, cells, scales, aspect, problems):
    """A judge's cells as scores, by the aspects on whose scale they are.

    Up to 5% of them may be none of it, and are unread; beyond, that is a problem. Numbers beside labels are graded
    scores. Without an `aspect`, scores that are equal for all aspects are those of the aspect "".
    """
    on = {aspect: scales[aspect]} if aspect else scales
    numbers = NUMBERS.read(cells)
    read = {name: one.read(cells) if one.names else numbers for name, one in on.items()}
    most = MOST_UNREAD * (~cells.str.lower().isin(EMPTY)).sum()
    fits = {name: scores for name, (scores, odd) in read.items() if len(odd) <= most}
    if not fits and numbers[1].empty:
        return {aspect: numbers[0]}
    if not fits:
        name = min(read, key=lambda name: len(read[name][1]))
        _refuse(column, name, cells, read[name][1], scales[name], problems, by_judge=True)
    for name in fits:
        odd = read[name][1]
        listed = ", ".join(map(repr, odd.unique()[:9]))
        message = f"{listed} unread, {len(odd)} of {len(cells)} cells: no label that people have for {name}"
        problems.note(message, column, cells.isin(odd))
    first = next(iter(fits.values()), None)
    if len(fits) == len(on) and all(map(first.equals, fits.values())):
        return {aspect: first}
    return fits


def _note_numbers(column, cells, numbers, problems):
    """Note decimal commas, and numbers that may stand for no rating."""
    commas = cells.str.fullmatch(r"[-+]?\d+,\d{1,2}")
    problems.note("read with decimal commas: 4,5 is 4.5", column, commas)
    codes = numbers.isin(CODES)
    low, high = numbers[~codes].min(), numbers[~codes].max()
    codes &= ~numbers.between(low, high)
    named = ", ".join(f"{code:g}" for code in sorted(numbers[codes].unique()))
    problems.note(
        f"{named} outside the other ratings ({low:g} to {high:g}), taken as ratings. If they mean that "
        "there is no rating, empty these cells: frame.replace({code: None}) in pandas",
        column,
        codes,
    )


def _note_disagreement(column, by_rater, problems):
    """Note raters who contradict each other, or would not give each other's ratings."""
    by_rater = by_rater.loc[:, by_rater.count() >= FEW_RATINGS]
    agreement = by_rater.corr(min_periods=FEW_RATINGS)
    means, lows, highs = by_rater.mean(), by_rater.min(), by_rater.max()
    for pair in map(list, combinations(by_rater, 2)):
        low, high = means[pair].idxmin(), means[pair].idxmax()
        signs = []
        if agreement.loc[low, high] < OPPOSED:
            signs.append(f"contradict each other (correlation {agreement.loc[low, high]:.2f})")
        if means[low] < lows[high] or means[high] > highs[low]:
            signs.append("differ in their range")
        if signs:
            ranges = [f"{one} ({lows[one]:g} to {highs[one]:g})" for one in pair]
            problems.note(
                f"the ratings of {' and '.join(ranges)} {' and '.join(signs)}, and all count: is it one scale, in "
                "one direction?",
                column,
            )
