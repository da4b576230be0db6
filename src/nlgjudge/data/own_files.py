"""Data of your own: outputs with human ratings or preferences, and perhaps judges' scores, checked before use.

From top to bottom: give the table's columns the names used here, find documents and outputs, collect ratings and
scores, build the benchmark. A `_Report` collects what is wrong, so that one error names all of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nlgjudge.data.checks import check_known, unknown
from nlgjudge.data.own_tables import read_table
from nlgjudge.data.preferences import both_orders
from nlgjudge.data.registry import blob_id
from nlgjudge.data.schema import ITEMS, RATINGS, SCORES, Benchmark, build, loses_letters

if TYPE_CHECKING:
    from datasets import Dataset

NEEDED = ("source", "hypothesis", "system")
OPTIONAL = ("references", "context", "doc_id", "rater", "other")
OUTPUT = ["doc_id", "system"]  # what an output is known by
# Names, without regard to case, of columns that tell the rows of one output apart.
ASPECTS = "aspects?|dimensions?|criteri(on|a)"
RATERS = (
    r"(.+[ _-])?(rater|annotator|worker|evaluator|assessor|judge|labell?er|expert|participant)s?"
    r"([ _-]?(id|name|no|number))?"
)
# Cells without a rating; compared in lower case.
NOTHING = ("", "na", "n/a", "#n/a", "n.a.", "<na>", "nan", "null", "none", "-", "--", "\u2013", "?")
# Words for two categories, or for the better of two texts, with their scores.
CATEGORIES = (
    {"pass": 1, "passed": 1, "fail": 0, "failed": 0},
    {"yes": 1, "no": 0},
    {"true": 1, "false": 0},
    {"correct": 1, "incorrect": 0, "wrong": 0},
    {"good": 1, "bad": 0},
    {"a": 1, "b": 0, "tie": 0.5, "both": 0.5, "neither": 0.5},
)
# Values that stand for a missing rating if they lie outside the other ratings.
CODES = (-1, -9, -99, -999, -9999, 9, 99, 999, 9999)
FEW_RATINGS = 5  # of a rater
OPPOSED = -0.3  # correlation of two raters
RATING = "human:ASPECT or human:ASPECT:RATER"
JUDGE = "judge:NAME or judge:NAME:ASPECT"


def own_data(
    source: str | PathLike[str] | pd.DataFrame | Dataset,
    *,
    columns: dict[str, str] | str | None = None,
    reverse: Sequence[str] = (),
    config: str | None = None,
    split: str | None = None,
) -> Benchmark:
    """Read outputs, human ratings and judges' scores of your own.

    Parameters
    ----------
    source
        A row per output: a file (CSV, Excel's first sheet, Parquet, JSON Lines, or JSON as Label Studio exports it), a
        folder that `datasets` wrote, a DataFrame, a `datasets.Dataset`, ``OWNER/NAME`` of the Hugging Face Hub, or a
        file there (``hf://datasets/OWNER/NAME/FILE``).

        Columns `source, hypothesis, system` are needed; `references` (a list, or several separated by ``|||``),
        `context` and `doc_id` are optional, and without `doc_id` equal sources are one document. With a column
        `other`, a row is a pair, and no `system` is needed. A table of scores alone needs no texts: each row is a
        document. Prompts can show any further column. A `DatasetDict` as `Benchmark.datasets` makes it is read back.

        A rating is in ``human:ASPECT``, or one per rater in ``human:ASPECT:RATER``, an existing judge's score in
        ``judge:NAME`` or ``judge:NAME:ASPECT``: a number, a word (pass and fail, yes and no, …), or of a pair A, B or
        tie. Lists with a rating per rater, and a column `human` of dicts by aspect, are read too. A row per rater
        needs a column `rater`, a row per aspect a column `aspect`. An empty cell, `NA` or `-` is a missing rating.
    columns
        Your columns by the names used here: ``{"hypothesis": "summary"}`` or ``"hypothesis=summary,source=article"``.
    reverse
        Aspects of which a high rating is bad: their ratings and scores are turned round.
    config, split
        Of a data set on the Hub.

    Returns
    -------
    Benchmark
        Named after the file. An item is called after its place, as ``row 2``, of a pair ``row 2/1`` and ``row 2/2`` in
        its two orders; the rater is `mean` where none is named; `released` gives the judges' scores; `notes` are what
        to know about the file.

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        With every problem of the table and its place, or for a mapping of a name that is not used here.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"source": ["A river.", "A sea."], "summary": ["River.", "Sea."], "system": "one",
    ...                       "human:fluency": [4, 2], "judge:mine": [5, 3]})
    >>> mine = own_data(table, columns={"hypothesis": "summary"})
    >>> mine.aspects, mine.released()["mine"].tolist()
    (['fluency'], [5.0, 3.0])
    """
    if isinstance(source, dict) and {"items", "ratings"} <= set(source):
        return _of_tables({name: part.to_pandas() for name, part in source.items()})
    names = _mapping(columns)
    report = _Report(source if isinstance(source, (str, PathLike)) else "the table")
    try:
        table = read_table(source, config, split)
    except ValueError as error:
        report.problem(str(error))
        report.check()
    report.unit = table.unit
    for note in table.notes:
        report.note(note)
    frame = _renamed(_without_texts(table.frame, names), names, report)
    frame = _with_documents(frame, report)
    outputs, ratings, scores = _outputs_and_ratings(frame, report)
    ratings = _with_numbers(ratings, report)
    scores = _judged(scores, report)
    for aspect in reverse:
        check_known("aspect", aspect, ratings["aspect"].unique())
        for part in (ratings, scores):
            is_turned = part["aspect"] == aspect
            part.loc[is_turned, "score"] = _turned(part.loc[is_turned, "score"])
    report.check()
    return _built(table, outputs, ratings, scores, report)


def _of_tables(tables):
    """The benchmark that `Benchmark.datasets` made tables of."""
    items = tables["items"].assign(references=tables["items"]["references"].map(list))
    scores = tables.get("scores", pd.DataFrame(columns=SCORES))
    return build("own", items, tables["ratings"], scores, source="own")


def _turned(scores):
    return scores.max() + scores.min() - scores


def _built(table, outputs, ratings, scores, report):
    """The benchmark; of pairs, with both orders."""
    place = f"{report.unit} "
    items = outputs.rename(columns={"system": "system_id"})
    items.insert(0, "item_id", place + items.index.astype(str))
    items = items[[*ITEMS, *items.columns.drop(ITEMS)]].reset_index(drop=True)
    for part in (ratings, scores):
        part["item_id"] = place + part["place"].astype(str)
    scores = scores.assign(variant="", evidence="own")[SCORES]
    ratings = ratings[RATINGS]
    if "other" in items:
        scores["item_id"] += "/1"
        items, ratings = both_orders(items, ratings)
    if items["hypothesis"].map(loses_letters).mean() > 0.5:
        report.note(
            "most letters are not Latin, and the papers' prompts are English: write the prompt's text yourself",
            "hypothesis",
        )
    files = {name: blob_id(content) for name, content in table.contents.items()}
    return build(table.name, items, ratings, scores, source="own", files=files, notes=report.notes)


class _Report:
    """Problems and notes of a file, in order, each with its column and rows."""

    def __init__(self, source):
        self.source = source
        self.unit = "row"  # as a spreadsheet numbers it; `line` or `index` in other files
        self.problems = []
        self.notes = []

    def problem(self, message, column="file", rows=None):
        """Add what prevents an evaluation; if `rows` is a mask, only if it is true somewhere."""
        self.problems += self._lines(message, column, rows)

    def note(self, message, column="file", rows=None):
        """Add what is worth knowing."""
        self.notes += self._lines(message, column, rows)

    def _lines(self, message, column, rows):
        if rows is None:
            return [f"{column}: {message}"]
        places = rows.index[rows].unique()
        more = f" and {len(places) - 5} more" if len(places) > 5 else ""
        listed = ", ".join(map(str, places[:5]))
        return [f"{column}, {self.unit} {listed}{more}: {message}"] if len(places) else []

    def check(self):
        """Raise all problems found so far."""
        if self.problems:
            first = f"{self.source} cannot be used; {len(self.problems)} found:"
            raise ValueError("\n".join([first, *self.problems]))


# Give the columns the names used here


def _mapping(columns):
    """The mapping of columns as a dict; refuses a name that is not used here."""
    if isinstance(columns, str):
        pairs = [part.partition("=")[::2] for part in columns.split(",")]
        columns = {name.strip(): column.strip() for name, column in pairs}
    names = [*NEEDED, *OPTIONAL, "aspect", "human"]
    for name, column in (columns or {}).items():
        if name not in names and not _is_rating(name) and not _is_judge(name):
            listed = unknown("name", name, [*names, *f"{RATING} or {JUDGE}".split(" or ")], most=20)
            raise ValueError(
                f"column mapping {name}={column}: {listed}. Expected a name used here, then your column's, as "
                "hypothesis=summary"
            )
    return columns or {}


def _is_rating(name):
    """Whether a column holds ratings, by its name."""
    return re.match(r"\s*human\s*:", name, re.IGNORECASE) is not None


def _is_judge(name):
    """Whether a column holds a judge's scores, by its name."""
    return re.fullmatch(r"\s*judge\s*:[^:]+(:[^:]+)?", name, re.IGNORECASE) is not None


def _without_texts(frame, names):
    """A table of scores alone: each row is a document, and its place stands for its texts."""
    named = {*frame, *names}
    if any(map(_is_judge, named)) and not named & {*NEEDED, "other"}:
        frame = frame.assign(source=[f"place {place}" for place in frame.index], system="all")
        frame = frame.assign(hypothesis=frame["source"], doc_id=frame["source"])
    return frame


def _rating_columns(frame):
    """Columns with ratings: by their name, or called `human` and with dicts by aspect."""
    nested = [name for name in frame if name.lower() == "human"]
    nested = [name for name in nested if any(map(_has_dict, frame[name]))]
    return [name for name in frame if _is_rating(name) or name in nested]


def _has_dict(cell):
    return any(isinstance(part, dict) for part in _as_list(cell))


def _as_list(cell):
    return cell if isinstance(cell, list) else [cell]


def _renamed(frame, names, report):
    """Give the mapped columns the names used here; one column may serve two purposes."""
    renamed = {name: frame[name] for name in frame if name not in names.values()}
    for name, column in names.items():
        if column in frame:
            renamed[name] = frame[column]
        else:
            report.problem(unknown("column", column, frame.columns), name)
    renamed = pd.DataFrame(renamed, index=frame.index, dtype=object)
    if "system" not in renamed and ("other" in renamed or _is_single_system(renamed)):
        renamed["system"] = "pair" if "other" in renamed else "one system"
    missing = [name for name in NEEDED if name not in renamed]
    example = [f"{name}=COLUMN" for name in missing]
    if not _rating_columns(renamed):
        missing.append(RATING)
        nested = [f"human={name}" for name in renamed if any(map(_has_dict, renamed[name]))]
        answers = [
            f"human:{name.split('.')[0]}={name}" for name in renamed if name.endswith(".responses")
        ]
        example += answers or nested[:1] or ["human:fluency=COLUMN"]
    if missing:
        report.problem(
            f"missing {', '.join(missing)}; the file has the columns {', '.join(renamed)}. Rename them, or "
            f'map them with the parameter `columns`: -p columns "{",".join(example)}"'
        )
    report.check()
    return renamed


def _is_single_system(frame):
    """Whether each source has a single output, so that nobody needs to name the system."""
    return {"source", "hypothesis"} <= set(frame) and not frame["source"].duplicated().any()


# Documents and outputs


def _with_documents(frame, report):
    """Fill in `doc_id`; an id such as 0.0 is 0."""
    frame = frame.copy()
    texts = [name for name in (*NEEDED, "doc_id", "context", "other") if name in frame]
    frame[texts] = frame[texts].map(str)
    if "other" in frame and "doc_id" not in frame:
        frame["doc_id"] = [f"pair {place}" for place in frame.index]
    if "doc_id" not in frame:
        numbers = pd.factorize(_spaced(frame["source"]))[0]
        frame["doc_id"] = [f"document {number + 1}" for number in numbers]
    for name in OUTPUT:
        frame[name] = frame[name].str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)
    for name in [name for name in (*NEEDED, "doc_id", "other") if name in frame]:
        empty = frame[name].str.strip() == ""
        report.problem("an empty text: write it, or leave the row out", name, empty)
    several = _spaced(frame["source"]).groupby(frame["doc_id"]).transform("nunique") > 1
    report.problem("documents with several sources", "doc_id", several)
    for name in ("references", "context"):
        if name not in frame:
            frame[name] = ""
    frame["references"] = frame["references"].map(_references)
    return frame


def _spaced(texts):
    """Texts with single blanks."""
    return texts.str.split().str.join(" ")


def _references(cell):
    texts = cell if isinstance(cell, list) else cell.split("|||")
    return [text.strip() for text in texts if text.strip()]


def _outputs_and_ratings(frame, report):
    """A row per output; and one per rating and score, with its `row` in the file and the `place` of its output."""
    rated = _rating_columns(frame)
    cells = [rating for column in rated for rating in _unfolded(frame[column], report)]
    ratings = pd.DataFrame(cells, columns=["row", "column", "aspect", "rater", "cell"])
    named = _columns_that_name(frame, ratings)
    by_judges = [column for column in frame if _is_judge(column)]
    further = frame.columns.difference(
        [*NEEDED, *OPTIONAL, *rated, *named.values(), *by_judges], sort=False
    )
    for column in further:
        report.note(f"no rating; a prompt can show it, as {{{{{column}}}}}", column)
    repeated = frame.duplicated([*OUTPUT, *named.values()], keep=False) & (frame["system"] != "")
    report.problem(
        "several outputs of one system for one document: keep one. If each row is one rater's or one "
        "aspect's, name the column `rater` or `aspect` (or map rater=COLUMN, aspect=COLUMN), or give "
        "each rater and aspect a column human:ASPECT:RATER",
        "system",
        repeated,
    )
    if repeated.any():
        report.check()
    used = [*OUTPUT, *ITEMS[3:], *[name for name in ("other",) if name in frame]]
    outputs = frame.drop_duplicates(OUTPUT)[[*used, *further.difference(ITEMS, sort=False)]]
    places = frame.index.to_series().groupby([frame[name] for name in OUTPUT]).transform("first")
    ratings["place"] = ratings["row"].map(places)
    for kind, column in named.items():
        ratings[kind] = ratings["row"].map(frame[column]).str.strip()
        count = f"{len(frame)} rows are read as {len(outputs)} outputs"
        report.note(f"{count}, with {kind}s named here", column)
    aspects = frame[named["aspect"]].str.strip() if "aspect" in named else {}
    scores = [
        (row, places[row], column, judge.strip(), aspects.get(row, aspect.strip()), cell)
        for column in by_judges
        for _, judge, aspect in [f"{column}:".split(":")[:3]]
        for row, cell in frame[column].items()
    ]
    scores = pd.DataFrame(scores, columns=["row", "place", "column", "metric", "aspect", "cell"])
    return outputs, ratings, scores


def _columns_that_name(frame, ratings):
    """The columns that name aspect and rater of each row, if they tell the rows of each output apart."""
    outputs = frame.groupby(OUTPUT)
    named = {}
    aspect = _column_called(frame, "aspect", ASPECTS)
    # A word such as "dimension" has other meanings.
    varies = aspect == "aspect" or (aspect and outputs[aspect].nunique().gt(1).any())
    if varies and ratings["aspect"].nunique() == 1:
        named["aspect"] = aspect
    rater = _column_called(frame, "rater", RATERS)
    repeated = frame.duplicated([*OUTPUT, *named.values()]).any()
    if rater and repeated and ratings["rater"].eq("mean").all():
        named["rater"] = rater
    texts = frame[["source", "hypothesis", "references", "context"]].map(str)
    same_texts = texts.groupby([frame[name] for name in OUTPUT]).nunique().eq(1).all(axis=None)
    apart = not frame.duplicated([*OUTPUT, *named.values()]).any()
    return named if same_texts and apart else {}


def _column_called(frame, name, similar):
    """The column with a name, or the only one with a similar name; else none."""
    pattern = name if name in frame else similar
    called = [column for column in frame if re.fullmatch(pattern, column, re.IGNORECASE)]
    is_text = len(called) == 1 and frame[called[0]].map(type).eq(str).all()
    return called[0] if is_text else ""


# Ratings


def _unfolded(cells, report):
    """Row, column, aspect, rater and cell of each rating; a cell may have a list by rater or a dict by aspect."""
    _, aspect, rater = (part.strip() for part in f"{cells.name}::".split(":", 2))
    in_lists = cells.map(type).eq(list).any()
    if in_lists:
        raters = cells.map(_as_list).map(len).max()
        report.note(f"a list of ratings is read as {raters} raters, by position", cells.name)
    for row, cell in cells.items():
        for number, rating in enumerate(_as_list(cell), 1):
            named = str(number) if in_lists else rater.rstrip(":") or "mean"
            by_aspect = rating if isinstance(rating, dict) else {aspect: rating}
            if {"user_id", "value"} <= set(by_aspect):  # a response, as Argilla exports it
                named, by_aspect = by_aspect["user_id"], {aspect: by_aspect["value"]}
            for of_aspect, score in by_aspect.items():
                yield row, cells.name, of_aspect, named, score


def _with_numbers(ratings, report):
    """Ratings with a number in `score`, NaN where there is none."""
    names = ratings["aspect"] + ratings["rater"]
    unusable = ratings["aspect"].isin(["", *ITEMS]) | (ratings["rater"] == "")
    for column in ratings.loc[unusable | names.str.contains(":"), "column"].unique():
        known = ", ".join(ITEMS[:3])
        report.problem(f"expected {RATING}, and no aspect called {known}", column)
    scores = ratings.assign(score=np.nan)
    for (aspect, rater), part in ratings.groupby(["aspect", "rater"], sort=False):
        column = f"human:{aspect}" if rater == "mean" else f"human:{aspect}:{rater}"
        numbers = _numbers(column, part.set_index("row")["cell"], report)
        scores.loc[part.index, "score"] = numbers.to_numpy()
    for aspect, part in scores.groupby("aspect", sort=False):
        column, raters = f"human:{aspect}", part["rater"].unique()
        if part.duplicated(["place", "rater"]).any() or ("mean" in raters and len(raters) > 1):
            report.problem("expected one column without a rater, or one for each rater", column)
            report.check()
        if part["score"].nunique() < 2:
            report.problem("expected different ratings; got one or none: leave it out", column)
        _note_disagreement(
            column, part.pivot(index="place", columns="rater", values="score"), report
        )
    return scores


def _judged(scores, report):
    """Judges' scores with a number in `score`, one for each output and aspect."""
    scores = scores.assign(score=np.nan)
    for column, part in scores.groupby("column", sort=False):
        numbers = _numbers(column, part.set_index("row")["cell"], report)
        scores.loc[part.index, "score"] = numbers.to_numpy()
    scores = scores.drop_duplicates(["place", "metric", "aspect", "score"]).dropna(subset="score")
    several = scores.duplicated(["place", "metric", "aspect"])
    for column in scores.loc[several, "column"].unique():
        report.problem("expected one score of the judge for each output", column)
    return scores


def _numbers(column, cells, report):
    """Ratings of a column as numbers, NaN where there is none."""
    cells = cells.map(str).str.strip()
    words = cells[~cells.str.lower().isin(NOTHING)].str.lower()
    for scores in CATEGORIES:
        if len(words) and words.isin(scores).all():
            listed = ", ".join(f"{word} is {scores[word]:g}" for word in words.unique())
            report.note(f"read as categories: {listed}", column)
            return cells.str.lower().map(scores).astype(float)
    commas = cells.str.fullmatch(r"[-+]?\d+,\d{1,2}")
    report.note("read with decimal commas: 4,5 is 4.5", column, commas)
    cells = cells.where(~commas, cells.str.replace(",", "."))
    cells = cells.mask(cells.str.lower().isin(NOTHING))
    numbers = pd.to_numeric(cells, errors="coerce").astype(float)
    wrong = cells.notna() & ~np.isfinite(numbers)
    for text in cells[wrong].unique():
        message = f"{text!r} is not a number; leave the cell empty where there is no rating"
        report.problem(message, column, cells == text)
    codes = numbers.isin(CODES)
    low = numbers[~codes].min()
    high = numbers[~codes].max()
    codes &= (numbers < low) | (numbers > high)
    named = ", ".join(f"{code:g}" for code in sorted(numbers[codes].unique()))
    report.note(
        f"{named} outside the other ratings ({low:g} to {high:g}), taken as ratings. If they mean that "
        "there is no rating, empty these cells: frame.replace({code: None}) in pandas",
        column,
        codes,
    )
    return numbers


def _note_disagreement(column, by_rater, report):
    """Note raters who contradict each other, and the two furthest apart if they seem to use different scales."""
    by_rater = by_rater.loc[:, by_rater.count() >= FEW_RATINGS]
    agreement = by_rater.corr(min_periods=FEW_RATINGS)
    for first, second in combinations(by_rater, 2):
        if agreement.loc[first, second] < OPPOSED:
            report.note(
                f"raters {first} and {second} contradict each other (correlation "
                f"{agreement.loc[first, second]:.2f}), and their mean is taken: is one scale reversed?",
                column,
            )
    if by_rater.empty:
        return
    means = by_rater.mean()
    low = by_rater[means.idxmin()]
    high = by_rater[means.idxmax()]
    if low.mean() < high.min() or high.mean() > low.max():  # a rating that the other would not give
        ranges = [f"{one.name} ({one.min():g} to {one.max():g})" for one in (low, high)]
        report.note(
            f"the ratings of {' and '.join(ranges)} differ in their range, and their mean is taken: is it "
            "one scale?",
            column,
        )
