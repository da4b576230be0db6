"""A file of your own: outputs of systems and human ratings, checked before it is used.

From top to bottom: read the file, give its columns the names used here, find documents and outputs, collect the
ratings, build the benchmark. A `_Report` collects what is wrong, so that one error names all of it.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from itertools import combinations
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from nlgjudge.data.checks import unknown
from nlgjudge.data.paths import use
from nlgjudge.data.registry import blob_id
from nlgjudge.data.schema import ITEMS, RATINGS, Benchmark, build

NEEDED = ("source", "hypothesis", "system")
OPTIONAL = ("references", "context", "doc_id", "rater")
OUTPUT = ["doc_id", "system"]  # what an output is known by
# Names, without regard to case, of columns that tell the rows of one output apart.
ASPECTS = "aspects?|dimensions?|criteri(on|a)"
RATERS = (
    r"(.+[ _-])?(rater|annotator|worker|evaluator|assessor|judge|labell?er|expert|participant)s?"
    r"([ _-]?(id|name|no|number))?"
)
# Cells without a rating; compared in lower case.
NOTHING = ("", "na", "n/a", "#n/a", "n.a.", "<na>", "nan", "null", "none", "-", "--", "\u2013", "?")
# Values that stand for a missing rating if they lie outside the other ratings.
CODES = (-1, -9, -99, -999, -9999, 9, 99, 999, 9999)
NUMBER = re.compile(r"\s*-?\d+(\.\d+)?\s*")
FEW_RATINGS = 5  # of a rater
OPPOSED = -0.3  # correlation of two raters
MOST_UNPACKED = 100_000_000  # bytes; reading them takes several times as much memory
RATING = "human:ASPECT or human:ASPECT:RATER"


def own_data(
    path: str | PathLike[str], *, columns: dict[str, str] | str | None = None
) -> Benchmark:
    """Read outputs and human ratings of your own from a file.

    Parameters
    ----------
    path
        CSV, Excel (first sheet), Parquet, JSON Lines, or a folder that `datasets` wrote with `save_to_disk`: a row per
        output. Columns `source, hypothesis, system` are needed; `references` (a list, or several separated by ``|||``),
        `context` and `doc_id` are optional, and without `doc_id` equal sources are one document. A rating is in
        ``human:ASPECT``, or one per rater in ``human:ASPECT:RATER``. Lists with a rating per rater, and a column
        `human` of dicts by aspect, are read too. A row per rater needs a column `rater`, a row per aspect a column
        `aspect`. An empty cell, `NA` or `-` is a missing rating.
    columns
        Your columns by the names used here: ``{"hypothesis": "summary"}`` or ``"hypothesis=summary,source=article"``.

    Returns
    -------
    Benchmark
        Named after the file. An item is called after its place, as ``row 2``; the rater is `mean` where none is named;
        `notes` are what to know about the file.

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        With every problem of the file and its place, or for a mapping of a name that is not used here.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "mine.csv"
    >>> _ = file.write_text("source,summary,system,human:fluency\\nA river.,River.,one,4\\nA sea.,Sea.,one,2")
    >>> mine = own_data(file, columns={"hypothesis": "summary"})
    >>> mine.aspects, mine.items["item_id"].tolist()
    (['fluency'], ['row 2', 'row 3'])
    """
    path = Path(path)
    names = _mapping(columns)
    report = _Report(path)
    frame = _renamed(_read(path, report), names, report)
    frame = _with_documents(frame, report)
    outputs, ratings = _outputs_and_ratings(frame, report)
    ratings = _with_scores(ratings, report)
    report.check()
    outputs.index = report.unit + " " + outputs.index.astype(str)
    ratings["item_id"] = report.unit + " " + ratings["place"].astype(str)
    return build(
        path.stem,
        outputs[["doc_id", "system", *ITEMS[3:]]].itertuples(),
        ratings[RATINGS].itertuples(index=False),
        source="own",
        files={file.name: blob_id(file.read_bytes()) for file in _files(path)},
        notes=report.notes,
    )


class _Report:
    """Problems and notes of a file, in order, each with its column and rows."""

    def __init__(self, path):
        self.path = path
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
            first = f"{self.path} cannot be used; {len(self.problems)} found:"
            raise ValueError("\n".join([first, *self.problems]))


# Read the file


def _files(path):
    """The file, or all files of a folder, noted as read."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [use(file) for file in files if not file.is_dir()]


def _read(path, report):
    """Cells as text, or lists and dicts, by row, line or index."""
    kind = "folder" if path.is_dir() else path.suffix.lower()
    reader, report.unit, first = _READERS.get(kind, (_read_csv, "row", 2))
    try:
        frame = reader(path, report).map(_plain)
    except ValueError as error:
        report.problem(str(error))
        report.check()
    frame.index = pd.RangeIndex(first, first + len(frame))
    frame.columns = [str(name).strip() for name in frame.columns]
    if "" in frame.columns:
        report.note("a column without a name, as `to_csv` writes for the index, is left out")
        frame = frame.drop(columns="")
    for name in frame.columns[frame.columns.duplicated()]:
        report.problem(f"several columns are called {name!r}: rename or remove one")
    blank = frame.map(lambda cell: isinstance(cell, str) and not cell.strip())
    frame = frame[~blank.all(axis=1)]
    if frame.empty:
        report.problem("there is no row below the header")
    report.check()
    return frame


def _plain(cell):
    """A cell as text; lists of texts and dicts stay; empty where nothing is given."""
    if isinstance(cell, (list, np.ndarray)):
        return [_plain(part) for part in cell]
    if isinstance(cell, dict):
        return {name: _plain(part) for name, part in cell.items()}
    if not isinstance(cell, str) and pd.isna(cell):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # an integer that was read as float because others are missing
    return str(cell)


def _read_csv(path, report):
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
        report.note("not UTF-8: read as Latin-1. If letters look wrong, save it as CSV UTF-8")
    lines = list(io.StringIO(text, newline=""))
    if not lines or "\0" in lines[0]:
        raise ValueError(
            "expected CSV, JSON Lines (.jsonl), Parquet, Excel (.xlsx) or a folder of `datasets`"
        )
    separator = max(",;\t", key=lines[0].count)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a cell may be that long
    quoting = _quoting(lines, separator, report)
    header, *rows = csv.reader(lines, delimiter=separator, quoting=quoting)
    for number, row in enumerate(rows, 2):
        if len(row) > len(header):
            raise ValueError(f"row {number} has {len(row)} cells; expected {len(header)}")
        row += [""] * (len(header) - len(row))
    return pd.DataFrame(rows, columns=header, dtype=object)


def _quoting(lines, separator, report):
    """How quotation marks are read, so that none of them joins rows."""
    text = "".join(lines)
    regular = len({line.count(separator) for line in lines if line.strip("\r\n")}) == 1
    row = _row_that_joins(lines, separator, regular) if '"' in text else 0
    if not row:
        return csv.QUOTE_MINIMAL
    if not regular or '"' in lines[0] or '""' in text:  # other cells are quoted
        raise ValueError(
            f"a quotation mark in row {row} is not closed at the end of its cell. Write each mark that "
            "belongs to the text twice, and put the cell in quotation marks"
        )
    report.note(f"quotation marks are read as text, because one in row {row} is not closed")
    return csv.QUOTE_NONE


def _row_that_joins(lines, separator, regular):
    """The first row in which a quotation mark joins lines or cells; 0 if there is none."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    width = len(lines[0].split(separator))
    row = start = 0
    try:
        for row, cells in enumerate(reader, 1):
            taken = [line for line in lines[start : reader.line_num] if line.strip("\r\n")]
            parts = [line.split(separator) for line in taken]
            start = reader.line_num
            are_rows = {len(line) for line in parts} == {width}
            if are_rows and not regular:  # by chance? The lines of a text have no column of numbers
                are_rows = any(all(map(NUMBER.fullmatch, column)) for column in zip(*parts))
            if are_rows and len(cells) < width * len(parts):
                return row
    except csv.Error:
        return row + 1
    return 0


def _read_excel(path, report):
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
    if unpacked > MOST_UNPACKED:
        raise ValueError(
            f"it unpacks to {unpacked / 1e6:,.0f} MB; expected at most {MOST_UNPACKED / 1e6:.0f} MB. "
            "Export the sheet as CSV UTF-8"
        )
    header, *rows = pd.read_excel(path, header=None, dtype=object, keep_default_na=False).values
    return pd.DataFrame(rows, columns=map(_plain, header), dtype=object)


def _read_json(path, report):
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        try:
            records.append(_plain(dict(json.loads(line or "{}"))))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"line {number}: expected a JSON object ({error})") from error
    return pd.DataFrame(records)


def _read_parquet(path, report):
    frame = pd.read_parquet(path)
    return frame.reset_index() if any(frame.index.names) else frame


def _read_folder(path, report):
    from datasets import DatasetDict, load_from_disk

    dataset = load_from_disk(str(path))
    if isinstance(dataset, DatasetDict):
        raise ValueError(f"it has the splits {', '.join(dataset)}: name the folder of one")
    return dataset.to_pandas()


# By ending: reader, what a place is called, and the number of the first one.
_READERS = {
    "folder": (_read_folder, "index", 0),
    ".jsonl": (_read_json, "line", 1),
    ".parquet": (_read_parquet, "index", 0),
    ".xlsx": (_read_excel, "row", 2),
}


# Give the columns the names used here


def _mapping(columns):
    """The mapping of columns as a dict; refuses a name that is not used here."""
    if isinstance(columns, str):
        pairs = [part.partition("=")[::2] for part in columns.split(",")]
        columns = {name.strip(): column.strip() for name, column in pairs}
    names = [*NEEDED, *OPTIONAL, "aspect", "human"]
    for name, column in (columns or {}).items():
        if name not in names and not _is_rating(name):
            listed = unknown("name", name, [*names, *RATING.split(" or ")])
            raise ValueError(
                f"column mapping {name}={column}: {listed}. Expected a name used here, then your column's, as "
                "hypothesis=summary"
            )
    return columns or {}


def _is_rating(name):
    """Whether a column holds ratings, by its name."""
    return re.match(r"\s*human\s*:", name, re.IGNORECASE) is not None


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
    missing = [name for name in NEEDED if name not in renamed]
    example = [f"{name}=COLUMN" for name in missing]
    if not _rating_columns(renamed):
        missing.append(RATING)
        nested = [f"human={name}" for name in renamed if any(map(_has_dict, renamed[name]))]
        example += nested[:1] or ["human:fluency=COLUMN"]
    if missing:
        report.problem(
            f"missing {', '.join(missing)}; the file has the columns {', '.join(renamed)}. Rename them, or "
            f'map them with the parameter `columns`: -p columns "{",".join(example)}"'
        )
    report.check()
    return renamed


# Documents and outputs


def _with_documents(frame, report):
    """Fill in `doc_id`; an id such as 0.0 is 0."""
    frame = frame.copy()
    texts = [name for name in (*NEEDED, "doc_id", "context") if name in frame]
    frame[texts] = frame[texts].map(str)
    if "doc_id" not in frame:
        numbers = pd.factorize(_spaced(frame["source"]))[0]
        frame["doc_id"] = [f"document {number + 1}" for number in numbers]
    for name in OUTPUT:
        frame[name] = frame[name].str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)
    for name in (*NEEDED, "doc_id"):
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
    """A row per output; and one per rating, with its `row` in the file and the `place` of its output."""
    rated = _rating_columns(frame)
    cells = [rating for column in rated for rating in _unfolded(frame[column], report)]
    ratings = pd.DataFrame(cells, columns=["row", "column", "aspect", "rater", "cell"])
    named = _columns_that_name(frame, ratings)
    for column in frame:
        if column not in (*NEEDED, *OPTIONAL, *rated, *named.values()):
            report.note("not used", column)
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
    outputs = frame.drop_duplicates(OUTPUT)
    places = frame.index.to_series().groupby([frame[name] for name in OUTPUT]).transform("first")
    ratings["place"] = ratings["row"].map(places)
    for kind, column in named.items():
        ratings[kind] = ratings["row"].map(frame[column]).str.strip()
        count = f"{len(frame)} rows are read as {len(outputs)} outputs"
        report.note(f"{count}, with {kind}s named here", column)
    return outputs, ratings


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
            for of_aspect, score in by_aspect.items():
                yield row, cells.name, of_aspect, named, score


def _with_scores(ratings, report):
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


def _numbers(column, cells, report):
    """Ratings of a column as numbers, NaN where there is none."""
    cells = cells.map(str).str.strip()
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
