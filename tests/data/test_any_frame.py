"""Random frames: however one is written, it is read as what people and judges said, and agreement is arithmetic.

Two thousand frames of labels and numbers are read and compared by their scales alone; 200 pass through own data and
the report.
"""

import functools
import re
from collections import Counter
from fractions import Fraction
from typing import Any, NamedTuple

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import nlgjudge as nj
from nlgjudge.data.scale import known, scale_of
from nlgjudge.stats.categories import category_agreement

FRAMES = 60
# Known words from the lowest to the highest value, with other spellings; a judge may use the words of another line.
TWO = [
    "no|n, yes|y; false, true",
    "fail, pass; incorrect|wrong, correct; bad, good; thumbs down|👎, thumbs up|👍; ❌, ✅",
]
TWO += ["unsafe, safe", "irrelevant, relevant", "hallucinated, faithful"]
THREE = ["low, medium, high", "incorrect, partial, correct", "bad, ok, good"]
PREFERENCES = "b, tie, a; [[b]], [[c]], [[a]]"
CODES = ["1 A, 2 B, 0 tie", "0 A, 1 B, 2 tie", "-1 B, 0 tie, 1 A", "a B, b A, c tie"]
LABELS = "refused none partial full C B A 3 2 1 weak très_bien ok good bad yes no 1-poor 很好"
NUMBERS = ([1, 2, 3, 4, 5], [-3, -1.5, 0, 0.25, 2, 3.27], [0.1, 0.2, 0.3, 0.4])
ORDERS = ["one", "rows", "columns"]  # names of texts are refused in the last
GAPS = ("", "NA", "-", None, np.nan)


class Kind(NamedTuple):
    """What an aspect's values are; of categories, in each way of writing the spellings of each value."""

    sort: str
    values: list
    ways: Any = ()
    labels: Any = None


class Study(NamedTuple):
    """What was said of each text (of a pair, of the text that is shown first), by aspect in a column for each."""

    texts: pd.DataFrame
    kinds: dict
    people: dict
    judges: dict

    @property
    def is_of_pairs(self):
        return "other" in self.texts


def one(rng, options):
    return options[rng.integers(len(options))]


def ways_of(lines):
    return [[part.split("|") for part in line.split(", ")] for line in re.split(r";\s", lines)]


def preferences(rng, ways):
    codes = dict(code.split() for code in one(rng, CODES).split(", "))
    if rng.random() < 0.5:
        return Kind("preference", [0, 0.5, 1], ways)
    words = {meant: [code] for code, meant in codes.items()}
    return Kind("preference", [0, 0.5, 1], [[words["B"], words["tie"], words["A"]]], codes)


def a_kind(rng, sort):
    """Any values that the documentation names, or any of a sort."""
    size = int(rng.integers(2, 5))
    words = [str(word) for word in rng.permutation(LABELS.split())[:size]]
    values = sorted(rng.permutation([1, 2, 2.5, 4, 7])[:size].tolist())
    alone = [[[word] for word in words]]
    numbers = one(rng, NUMBERS)
    by_name = [[[word] for word in sorted(words)]]
    options = [
        Kind("ordered", [0, 1], ways_of(one(rng, TWO))),
        Kind("ordered", [0, 0.5, 1], ways_of(one(rng, THREE))),
        Kind("ordered", [0, 1], [[["0", 0, "0.0"], ["1", 1, 1.0]]]),
        Kind("ordered", [0, 0.5, 1], [[["0", 0], ["0.5", "0,5", 0.5], ["1", 1.0]]]),
        Kind("ordered", np.linspace(0, 1, size).tolist(), alone, words),
        Kind("ordered", values, alone, dict(zip(words, values))),
        Kind(
            "ordered", [0, 1], [[["nein", "nie"], ["ja"]]], {"ja": "yes", "nein": "no", "nie": "no"}
        ),
        Kind("unordered", [*range(size)], by_name, one(rng, [{*words}, {"unordered": words}])),
        Kind("numbers", numbers),
        Kind("numbers", numbers, (), (numbers[0], numbers[-1])),
        preferences(rng, ways_of(PREFERENCES)[:1]),
    ]
    return one(rng, [kind for kind in options if sort in (None, kind.sort)])


def a_study(seed, is_of_pairs=None, gaps=0.15, sort=None):
    """Random texts, aspects, raters and judges; the first rater gives each value."""
    rng = np.random.default_rng(seed)
    is_of_pairs = rng.random() < 0.3 if is_of_pairs is None else is_of_pairs
    documents = int(rng.integers(4, 14) if is_of_pairs else rng.integers(2, 7))
    systems = 2 if is_of_pairs else int(rng.integers(3, 5))
    rows = [(f"d{d}", f"s{s}", f"d{d} s{s}") for d in range(documents) for s in range(systems)]
    texts = pd.DataFrame(rows, [row[-1] for row in rows], ["doc_id", "system", "hypothesis"])
    if is_of_pairs:
        other = texts["hypothesis"].to_numpy().reshape(-1, 2)[:, ::-1].ravel()
        texts = texts.assign(other=other).drop(columns="system")
    raters = ["ann", "Bob", "r 3", "4"][: rng.integers(1, 5)]
    judges = ["gpt-4", "J", "x1"][: rng.integers(1, 4)]
    made = Study(texts, {}, {}, {})
    for aspect in ["style", "fluency"][: rng.integers(1, 3)]:
        kind = preferences(rng, ways_of(PREFERENCES)) if is_of_pairs else a_kind(rng, sort)
        people = _said(rng, kind, texts, raters, gaps)
        step = 1 + is_of_pairs
        people.iloc[: step * len(kind.values) : step, 0] = kind.values
        if is_of_pairs:
            people.iloc[1::2] = 1 - people.iloc[::2]
        made.kinds[aspect], made.people[aspect] = kind, people
        made.judges[aspect] = _said(rng, kind, texts, judges, gaps)
    return made


def _said(rng, kind, texts, who, gaps):
    """A column for each, of which some use a part of the values alone."""
    columns = {}
    for name in who:
        used = rng.permutation(kind.values)[: rng.integers(1, 2 * len(kind.values))]
        columns[name] = np.where(
            rng.random(len(texts)) < gaps, np.nan, rng.choice(used, len(texts))
        )
    return pd.DataFrame(columns, getattr(texts, "index", texts))


def spelled(rng, kind, values, way):
    """Cells of a column."""
    return [_cell(rng, kind, value, way) for value in values]


def _cell(rng, kind, value, way):
    if np.isnan(value):
        return one(rng, GAPS)
    if not way:
        comma = str(value).replace(".", ",") if value == round(value, 2) else value
        return one(rng, [value, str(value), f" {value} ", comma, f"{value} - fine"])
    word = one(rng, way[kind.values.index(value)])
    spellings = (
        [word, word.upper(), word.title(), f" {word.replace(' ', '_')} "]
        if isinstance(word, str)
        else [word]
    )
    return one(rng, spellings)


def written(study, rng, orders="rows", by=()):
    """A table with `raters` and aspects in columns or (`by`) in rows; rows and columns in any order."""
    texts, kinds, people, judges = study
    shown = texts.iloc[::2] if study.is_of_pairs and orders != "rows" else texts
    columns = {}
    for aspect, kind in kinds.items():
        way = one(rng, kind.ways or [None])
        for rater, said in people[aspect].loc[shown.index].items():
            columns["human", aspect, rater] = spelled(rng, kind, said, way)
        for judge, said in judges[aspect].items():
            way = one(rng, kind.ways or [None])
            columns["judge", aspect, judge] = spelled(rng, kind, said[shown.index], way)
            if study.is_of_pairs and orders == "columns":
                columns["judge", aspect, f"{judge}/2"] = spelled(rng, kind, said.iloc[1::2], way)
    parts = []
    for aspect in kinds if "aspect" in by else [""]:
        for rater in [*people.values()][0] if "rater" in by else [""]:
            part = shown.assign(
                **{name: value for name, value in (("aspect", aspect), ("rater", rater)) if value}
            )
            for (role, about, who), cells in columns.items():
                about_all = aspect or (who[0] == "J" and len(kinds) == 1)
                name = f"judge:{who}" if about_all else f"judge:{who}:{about}"
                if role == "human":
                    name = f"human:{'score' if aspect else about}" + ("" if rater else f":{who}")
                if aspect in ("", about) and (role == "judge" or rater in ("", who)):
                    part[name] = cells
            parts.append(part)
    frame = pd.concat(parts)
    return frame.iloc[rng.permutation(len(frame)), rng.permutation(frame.shape[1])]


def read(study, frame, **options):
    labels = {aspect: kind.labels for aspect, kind in study.kinds.items() if kind.labels}
    return nj.data.own_data(frame, labels=labels, **options)


def combined(kind, votes):
    """The mean of numbers; of categories the most frequent one, if it is one."""
    votes = [vote for vote in votes if not np.isnan(vote)]
    if not votes:
        return np.nan
    if kind.sort == "numbers":
        return float(sum(Fraction(str(vote)) for vote in votes) / len(votes))
    (first, n), *others = Counter(votes).most_common()
    return first if not others or others[0][1] < n else np.nan


def together(study, aspect):
    """What people say of each text."""
    kind, people = study.kinds[aspect], study.people[aspect]
    return pd.Series([combined(kind, votes) for votes in people.to_numpy().tolist()], people.index)


def each(check, seeds):
    """Check all seeds, and name all that fail."""
    failed = []
    for seed in seeds:
        try:
            check(seed)
        except Exception as error:  # one fault hides no other
            failed.append(
                f"seed {seed}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
            )
    assert not failed, "\n".join([f"{len(failed)} of {len(seeds)} fail", *failed])


def check_read(seed):
    study, rng = a_study(seed), np.random.default_rng([seed, 1])
    orders = one(rng, ORDERS[: 2 + all(kind.labels is None for kind in study.kinds.values())])
    by = one(rng, [(), ("rater",), ("aspect",), ("rater", "aspect")])
    reverse = one(rng, [[], [*study.kinds]])
    mine = read(study, written(study, rng, orders, by), reverse=reverse)
    scores = mine.with_scores(mine.released())
    scores.index = scores["item_id"].map(mine.items.set_index("item_id")["hypothesis"])
    scores = scores.loc[study.texts.index]
    unasked = study.texts.index[1::2] if study.is_of_pairs and orders == "one" else []
    for aspect in study.kinds:
        assert scores[aspect].tolist() == pytest.approx(
            together(study, aspect).tolist(), nan_ok=True
        )
        for judge, said in study.judges[aspect].items():
            given = scores.get(f"{judge}:{aspect}", scores.get(judge, np.nan * scores[aspect]))
            said = said.mask(said.index.isin(unasked))
            assert given.tolist() == pytest.approx(said.tolist(), nan_ok=True), judge


def test_what_was_said_is_read_in_any_writing():
    each(check_read, range(FRAMES))


def test_two_thousand_frames_mean_what_was_said():
    """Raters, gaps, spellings and order of rows at random; every other judge says what people say together."""
    rng = np.random.default_rng(0)
    for number in range(2000):
        kind = a_kind(rng, None)
        items = np.array([f"i{n}" for n in range(rng.integers(6, 30))])
        raters = ["ann", "Bob", "r 3"][: rng.integers(1, 4)]
        people = _said(rng, kind, items, [*raters, "judge"], 0.15)
        people.iloc[: len(kind.values), 0] = kind.values
        together = [combined(kind, row) for row in people[raters].to_numpy().tolist()]
        if number % 2 and kind.sort != "numbers":
            people["judge"] = together
        cells = [
            ("" if cell is None or cell != cell else str(cell), name, item)
            for name in people
            for cell, item in zip(
                spelled(rng, kind, people[name], one(rng, kind.ways or [None])), items
            )
        ]
        frame = pd.DataFrame(cells, columns=["cell", "rater", "item_id"])
        frame = frame.iloc[rng.permutation(len(frame))]
        by_judge = frame["rater"] == "judge"
        scale = scale_of(kind.labels) if kind.labels else known(frame["cell"][~by_judge])[0]
        frame["score"], odd = scale.read(frame["cell"])
        assert odd.empty
        human = scale.combine(frame[~by_judge], ["item_id"]).reindex(items)
        judge = frame[by_judge].set_index("item_id")["score"].reindex(items)
        assert human.tolist() == pytest.approx(together, nan_ok=True)
        assert judge.tolist() == pytest.approx(people["judge"].tolist(), nan_ok=True)
        both = pd.DataFrame(
            {"doc_id": items, "system_id": "s", "human": human, "judge": judge}
        ).dropna()
        if kind.sort == "numbers" or both.empty:
            continue
        found = category_agreement(both, "judge", "human", scale).rates["value"]
        _, accuracy, kappa, quadratic = kappas(kind, both["human"], both["judge"])
        assert found["accuracy"] == pytest.approx(1 if number % 2 else accuracy)
        assert found["kappa"] == pytest.approx(kappa, nan_ok=True)
        assert found.get("quadratic kappa", quadratic) == pytest.approx(quadratic, nan_ok=True)


def reported(mine, scores=None):
    """By aspect the report's level, table, ceiling and alpha."""
    numbers = {}
    for aspect, found in nj.report(mine, scores, lexical=False, permutations=9).aspects.items():
        table = found.table.filter(["value", "low", "high", "n"]).astype(float).to_dict("index")
        alpha = re.search(
            r"Krippendorff's α of the \d raters is (-?[\d.]+|nan)\.", " ".join(found.notes)
        )
        numbers[aspect] = found.level, table, found.ceiling, alpha and alpha[1]
    return numbers


@functools.cache
def plain(seed):
    """A study, the orders of its pairs, and its report."""
    study, rng = a_study(seed), np.random.default_rng([seed, 1])
    orders = one(rng, ORDERS[: 2 + all(kind.labels is None for kind in study.kinds.values())])
    return study, orders, reported(read(study, written(study, rng, orders)))


def check_same(before, after):
    for aspect, (level, table, height, alpha) in before.items():
        assert (level, table.keys()) == (after[aspect][0], after[aspect][1].keys())
        assert (height, alpha) == (pytest.approx(after[aspect][2], nan_ok=True), after[aspect][3])
        for method, values in table.items():
            assert values == pytest.approx(after[aspect][1][method], nan_ok=True), (aspect, method)


def renamed(study, rng):
    """The same values in other words, which are declared."""
    kinds = {}
    for aspect, kind in study.kinds.items():
        words = sorted(
            f"{word} {aspect}" for word in rng.permutation(LABELS.split())[: len(kind.values)]
        )
        meant = {"preference": dict(zip(words, ["B", "tie", "A"])), "unordered": {*words}}
        labels = meant.get(kind.sort, dict(zip(words, kind.values)))
        ways = [[[word] for word in words]]
        kinds[aspect] = kind if kind.sort == "numbers" else kind._replace(ways=ways, labels=labels)
    return study._replace(kinds=kinds)


def turned(study, _):
    """Everybody's words and numbers turned: what was the lowest is the highest."""
    kinds, people, judges = dict(study.kinds), dict(study.people), dict(study.judges)
    for aspect, kind in study.kinds.items():
        if kind.sort == "ordered":  # the same words, declared the other way round
            way = [[str(word) for word in spellings] for spellings in kind.ways[0]][::-1]
            labels = {word: value for words, value in zip(way, kind.values) for word in words}
            kinds[aspect] = kind._replace(ways=[way], labels=labels)
        places = dict(zip(kind.values, kind.values[::-1]))
        for said in (people, judges):
            if kind.sort == "numbers":
                said[aspect] = (kind.values[0] + kind.values[-1] - said[aspect]).round(2)
            elif kind.sort != "unordered":
                said[aspect] = said[aspect].apply(pd.Series.map, args=(places,))
    return Study(study.texts, kinds, people, judges)


def scores_apart(study, rng, orders):
    """The report on judges' scores that are no part of the table."""
    nobody = {aspect: said.iloc[:, :0] for aspect, said in study.judges.items()}
    mine = read(study, written(study._replace(judges=nobody), rng, orders))
    asked = mine.items["hypothesis"].isin(
        study.texts.index[:: 2 if study.is_of_pairs and orders == "one" else 1]
    )
    items = mine.items[asked].sample(frac=1, random_state=rng)
    scores = items[["item_id"]].copy()
    for aspect, kind in study.kinds.items():
        for judge, said in study.judges[aspect].items():
            numbers = said[items["hypothesis"]].set_axis(items.index)
            ways = [numbers, spelled(rng, kind, numbers, one(rng, kind.ways or [None]))]
            ways += [numbers.map(str)] * (kind.labels is None)  # else a number may be a label
            scores[f"{judge}:{aspect}"] = one(rng, ways)
    return reported(mine, scores)


def again(change=lambda study, _: study, by=(), reverse=False):
    """The report on a study that is changed, or written in another way."""

    def report(study, rng, orders):
        study = change(study, rng)
        frame = written(study, rng, orders, by)
        return reported(read(study, frame, reverse=[*study.kinds] * reverse))

    return report


CHANGES = {
    "order": again(),
    "rows by rater": again(by=["rater"]),
    "rows by aspect": again(by=["aspect"]),
    "words": again(renamed),
    "direction": again(turned),
    "reverse": again(reverse=True),
    "scores apart": scores_apart,
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_agreement_depends_on(change):
    def check(seed):
        study, orders, before = plain(seed)
        check_same(before, CHANGES[change](study, np.random.default_rng([seed, 2]), orders))

    each(check, range(3, 3 + FRAMES // 12))


def with_judges(study, rng):
    """Judges that say what people say together, the opposite, and anything; none has gaps."""
    judges = {}
    for aspect, kind in study.kinds.items():
        people = together(study, aspect)
        free = pd.Series(rng.choice(kind.values, len(people)), people.index)
        opposite = kind.values[0] + kind.values[-1] - people
        if kind.sort != "numbers":
            opposite = people.map(dict(zip(kind.values, kind.values[::-1])))
        said = {"same": people.fillna(free), "opposite": opposite.fillna(free), "any": free}
        judges[aspect] = pd.DataFrame(said)
    return study._replace(judges=judges)


def kappas(kind, people, judge):
    """The confusion by places, accuracy, kappa and quadratic kappa, in plain loops."""
    places = range(len(kind.values))
    cells = Counter((kind.values.index(h), kind.values.index(j)) for h, j in zip(people, judge))
    of_people = Counter(kind.values.index(h) for h in people)
    of_judge = Counter(kind.values.index(j) for j in judge)
    n = len(people)
    found = [cells, sum(cells[a, a] for a in places) / n]
    for cost in (lambda a, b: a != b, lambda a, b: (a - b) ** 2):
        seen = sum(cost(a, b) * cells[a, b] for a in places for b in places)
        chance = sum(cost(a, b) * of_people[a] * of_judge[b] for a in places for b in places) / n
        found.append(1 - seen / chance if chance else np.nan)
    return found


def rank_correlation(level, one_side, other_side, documents):
    """Over all texts, or the mean over documents."""
    frame = pd.DataFrame({"one": one_side, "other": other_side})
    parts = [frame] if level == "dataset" else [part for _, part in frame.groupby(documents)]
    parts = [part for part in parts if (part.nunique() > 1).all()]
    return (
        np.mean([spearmanr(part["one"], part["other"]).statistic for part in parts])
        if parts
        else np.nan
    )


def check_numbers(study, aspect, found):
    kind, people, documents = study.kinds[aspect], study.people[aspect], study.texts["doc_id"]
    mean, judges = together(study, aspect), study.judges[aspect]
    known = [*found.table.index]
    if found.level == "sample":
        ranked = (
            pd.DataFrame(judges[known].assign(mean=mean)).groupby(documents).nunique().min(axis=1)
            > 1
        )
        several = mean.groupby(documents).count() > 2
        mean = mean[documents.map(ranked & several)]
    mean = mean.dropna()
    documents, people = documents[mean.index], people.loc[mean.index]
    for judge, value in found.table["value"].items():
        expected = {"same": 1, "opposite": -1}
        expected = expected.get(
            judge, rank_correlation(found.level, mean, judges[judge][mean.index], documents)
        )
        assert value == pytest.approx(expected, abs=1e-9), judge
    if people.shape[1] > 1 and people.notna().all(axis=None):
        heights = []
        for rater, own in people.items():
            others = people.drop(columns=rater).to_numpy().tolist()
            others = pd.Series([combined(kind, votes) for votes in others], people.index)
            heights.append(rank_correlation(found.level, own, others, documents))
        assert found.ceiling == pytest.approx(pd.Series(heights).mean(), nan_ok=True)
        alpha = krippendorff.alpha(people.to_numpy().T, level_of_measurement="ordinal")
        assert f"raters is {alpha:.2f}." in found.notes[0]


def check_categories(study, aspect, found, names):
    kind, people, judges = study.kinds[aspect], study.people[aspect], study.judges[aspect]
    most = together(study, aspect).dropna()
    is_ranked = kind.sort == "ordered" and len(kind.values) > 2
    assert {*found.table.index} == {*judges}
    for judge, row in found.table.iterrows():
        cells, accuracy, kappa, quadratic = kappas(kind, most, judges[judge][most.index])
        assert row["value"] == pytest.approx(quadratic if is_ranked else accuracy, nan_ok=True)
        assert row["n"] == len(most)
        for measure, value in (("accuracy", accuracy), ("kappa", kappa)):
            said = row[measure].replace("–", "nan").split()[0]
            assert float(said) == pytest.approx(value, abs=0.0051, nan_ok=True)
        for (a, b), n in found.confusion[judge].stack().items():
            assert n == cells[names.index(a), names.index(b)]
        if judge == "same" or (judge == "opposite" and len(kind.values) == 2):
            assert accuracy == (judge == "same")
    if people.shape[1] > 1:
        people = people.iloc[:: 2 if study.is_of_pairs else 1]
        heights = []
        for rater, own in people.items():
            others = people.drop(columns=rater).to_numpy().tolist()
            others = pd.Series([combined(kind, votes) for votes in others], people.index)
            both = own.notna() & others.notna()
            found_here = kappas(kind, others[both], own[both]) if both.any() else [np.nan] * 4
            heights.append(found_here[3 if is_ranked else 1])
        assert found.ceiling == pytest.approx(pd.Series(heights).mean(), nan_ok=True)
        level = "ordinal" if kind.sort == "ordered" else "nominal"
        pairable = people[people.count(axis=1) > 1]
        if len(np.unique(pairable.stack())) > 1:
            alpha = krippendorff.alpha(people.to_numpy().T, level_of_measurement=level)
            assert f"raters is {alpha:.2f}." in found.notes[0]


def check_arithmetic(seed):
    rng = np.random.default_rng([seed, 3])
    study = a_study(seed, gaps=0.15 * (seed % 2))
    if sort := ["numbers", "ordered", None][seed % 3]:
        study = a_study(seed, is_of_pairs=False, gaps=0, sort=sort)
    study = with_judges(study, rng)
    frame = written(study, rng, "rows")
    mine = read(study, frame.loc[study.texts.index] if study.is_of_pairs else frame)  # A stays A
    for aspect, found in nj.report(mine, lexical=False, permutations=9).aspects.items():
        if study.kinds[aspect].sort == "numbers":
            check_numbers(study, aspect, found)
        else:
            check_categories(study, aspect, found, mine.scale(aspect).names)


def test_agreement_is_what_arithmetic_says():
    each(check_arithmetic, range(FRAMES // 5))


def check_pairs(seed):
    """A judge that takes the same text in both orders, in the three ways of writing these."""
    rng = np.random.default_rng([seed, 4])
    study = a_study(seed, is_of_pairs=True, gaps=0.1 * (seed % 2))
    for said in study.judges.values():
        said.iloc[1::2] = 1 - said.iloc[::2]
    reports = []
    for orders in ("one", "rows", "columns"):
        frame = written(study, rng, orders)
        frame = frame.loc[[text for text in study.texts.index if text in frame.index]]  # A stays A
        found = nj.report(read(study, frame), lexical=False, permutations=9).aspects
        reports.append({aspect: one.table["value"].to_dict() for aspect, one in found.items()})
        for aspect, one_aspect in found.items():
            judged = study.judges[aspect][one_aspect.table.index].dropna().index
            better = together(study, aspect).iloc[::2]
            better = better[better.index.isin(judged)].dropna()
            said = f"people prefer A in {(better == 1).mean():.0%} of {len(better)} pairs"
            assert said in one_aspect.answer
    for aspect in study.kinds:
        for other in reports[1:]:
            assert reports[0][aspect] == pytest.approx(other[aspect], nan_ok=True)


def check_rows_of_pairs(seed):
    """Whichever row of a pair comes first."""
    rng = np.random.default_rng([seed, 5])
    study = a_study(seed, is_of_pairs=True)
    first, second = (reported(read(study, written(study, rng))) for _ in range(2))
    for aspect, (_, table, height, _) in first.items():  # which text is called A is no matter
        assert height == pytest.approx(second[aspect][2], nan_ok=True)
        values = pd.DataFrame(table).loc["value"]
        assert values.to_dict() == pytest.approx(
            pd.DataFrame(second[aspect][1]).loc["value"].to_dict(), nan_ok=True
        )


def test_two_orders_of_a_pair_count_once():
    each(check_pairs, range(FRAMES // 20))


def test_the_order_of_the_rows_of_a_pair_changes_nothing():
    each(check_rows_of_pairs, range(FRAMES // 12))
