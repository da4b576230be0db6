"""Read a file of your own with pandas: one row per output, columns under the names used here."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.paths import use

NEEDED = ("source", "hypothesis", "system")
OPTIONAL = ("references", "context", "doc_id", "rater")
# Names, without regard to case, of columns that tell the rows of one output apart.
_ASPECTS = "aspects?|dimensions?|criteri(on|a)"
_RATERS = (
    r"(.+[ _-])?(rater|annotator|worker|evaluator|assessor|judge|labell?er|expert|participant)s?"
    r"([ _-]?(id|name|no|number))?"
)
_NUMBER = re.compile(r"\s*-?\d+(\.\d+)?\s*")
_MOST_UNPACKED = 100_000_000  # bytes; reading them takes several times as much memory
_NESTED = "values are nested too deeply; expected texts, numbers, or lists and dicts of them"
_KINDS = "CSV, JSON Lines (.jsonl), Parquet, Excel (.xlsx) or a folder of `datasets`"


class Table(NamedTuple):
    """Contents of a file.

    Attributes
    ----------
    frame : pandas.DataFrame
        Cells as text, or lists and dicts, indexed by row, line or index.
    unit : str
        What the index counts: `row` as a spreadsheet does (the header is row 1), `line`, or `index`.
    notes : list of str
        How the file was read.
    """

    frame: pd.DataFrame
    unit: str
    notes: list


def files_of(path):
    """The file, or all files of a folder, noted as read."""
    path = Path(path)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [use(file) for file in files if not file.is_dir()]


def read_table(path):
    """Read CSV, Excel, Parquet, JSON Lines or a folder of `datasets`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Table

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        If it cannot be read; the message says what to do.
    """
    path = Path(path)
    kind = "folder" if path.is_dir() else path.suffix.lower()
    reader, unit, first = _READERS.get(kind, (_read_csv, "row", 2))
    notes = []
    try:
        frame = reader(path, notes)
        if any(frame.index.names):
            frame = frame.reset_index()
        frame = frame.astype(object).map(plain)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{error}; expected {_KINDS}") from error
    except RecursionError as error:
        raise ValueError(_NESTED) from error
    frame.index = pd.RangeIndex(first, first + len(frame))
    frame.columns = [str(name).strip() for name in frame.columns]
    unnamed = [name for name in frame if not name or name.startswith("Unnamed: ")]
    if unnamed:
        notes.append("a column without a name, as `to_csv` writes for the index, is left out")
        frame = frame.drop(columns=unnamed)
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise ValueError(f"several columns are called {repeated[0]!r}: rename or remove one")
    filled = frame.map(lambda cell: bool(cell.strip()) if isinstance(cell, str) else True)
    if not filled.any(axis=None):
        raise ValueError("there is no row below the header")
    return Table(frame[filled.any(axis=1)], unit, notes)


def plain(cell):
    """A cell as text; lists of texts and dicts stay; empty where nothing is given."""
    if isinstance(cell, (list, tuple, np.ndarray)):
        return [plain(part) for part in cell]
    if isinstance(cell, dict):
        return {name: plain(part) for name, part in cell.items()}
    if isinstance(cell, str):
        return cell
    if pd.isna(cell):
        return ""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))  # an integer that was read as float because others are missing
    return str(cell)


def _read_csv(path, notes):
    content = path.read_bytes()
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = content.decode("latin-1")
        notes.append("not UTF-8: read as Latin-1. If letters look wrong, save it as CSV UTF-8")
    header = text.split("\n", 1)[0]
    if "\0" in header:
        raise ValueError(f"expected {_KINDS}")
    separator = max(",;\t|", key=header.count)
    names = {";": "semicolons", "\t": "tabs", "|": "bars"}
    if separator in names:
        notes.append(f"cells are separated by {names[separator]}")
    options = {"dtype": str, "keep_default_na": False, "skip_blank_lines": False}
    options["quoting"] = _quoting(text, separator, notes)
    return _with_header(pd.read_csv(io.StringIO(text), sep=separator, header=None, **options))


def _quoting(text, separator, notes):
    """How quotation marks are read, so that none of them joins rows."""
    if '"' not in text:
        return csv.QUOTE_MINIMAL
    lines = list(io.StringIO(text, newline=""))
    regular = len({line.count(separator) for line in lines if line.strip("\r\n")}) == 1
    row = _row_that_joins(lines, separator, regular)
    if not row:
        return csv.QUOTE_MINIMAL
    if not regular or '"' in lines[0] or '""' in text:  # other cells are quoted
        raise ValueError(
            f"a quotation mark in row {row} is not closed at the end of its cell. Write each mark that "
            "belongs to the text twice, and put the cell in quotation marks"
        )
    notes.append(f"quotation marks are read as text, because one in row {row} is not closed")
    return csv.QUOTE_NONE


def _row_that_joins(lines, separator, regular):
    """The first row in which a quotation mark joins lines or cells; 0 if there is none."""
    # A text may be longer than a cell is by default.
    csv.field_size_limit(max(csv.field_size_limit(), sum(map(len, lines))))
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
                are_rows = any(all(map(_NUMBER.fullmatch, column)) for column in zip(*parts))
            if are_rows and len(cells) < width * len(parts):
                return row
    except csv.Error:
        return row + 1
    return 0


def _read_excel(path, notes):
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
    if unpacked > _MOST_UNPACKED:
        raise ValueError(
            f"it unpacks to {unpacked / 1e6:,.0f} MB; expected at most {_MOST_UNPACKED / 1e6:.0f} MB. "
            "Export the sheet as CSV UTF-8"
        )
    options = {"sheet_name": None, "header": None, "dtype": object, "keep_default_na": False}
    try:
        sheets = pd.read_excel(path, **options)
    except ImportError as error:
        raise ImportError(
            "reading Excel needs the package openpyxl: `pip install openpyxl` (the extra `excel`), "
            "or export the sheet as CSV UTF-8"
        ) from error
    first = next(iter(sheets))
    if len(sheets) > 1:
        notes.append(f"{len(sheets)} sheets: the first, {first!r}, is read")
    return _with_header(sheets[first])


def _with_header(frame):
    return frame.iloc[1:].set_axis([plain(name) for name in frame.iloc[0]], axis=1)


def _read_json(path, notes):
    """JSON Lines, or a list of objects."""
    text = path.read_text(encoding="utf-8-sig")
    if text.lstrip().startswith("["):
        return pd.DataFrame(json.loads(text))
    records = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            records.append(plain(dict(json.loads(line or "{}"))))
        except RecursionError as error:
            raise ValueError(f"line {number}: {_NESTED}") from error
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {number}: expected a JSON object ({error})") from error
    return pd.DataFrame(records)


def _read_folder(path, notes):
    from datasets import DatasetDict, load_from_disk

    found = load_from_disk(str(path))
    if isinstance(found, DatasetDict):
        raise ValueError(f"it has the splits {', '.join(found)}: name the folder of one")
    return found.to_pandas()


# By ending: reader, what a place is called, and the number of the first one.
_READERS = {
    "folder": (_read_folder, "index", 0),
    ".jsonl": (_read_json, "line", 1),
    ".json": (_read_json, "line", 1),
    ".parquet": (lambda path, notes: pd.read_parquet(path), "index", 0),
    ".xlsx": (_read_excel, "row", 2),
}


def unfold_lists(frame):
    """Give each rater of a list a column: ``human:ASPECT`` of numbers, or ``human`` of dicts by aspect.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    frame : pandas.DataFrame
        Without the lists.
    notes : list of (str, str)
        Column and message.
    """
    notes = []
    for name in list(frame):
        if not any(_is_unfolded(name, cell) for cell in frame[name]):
            continue
        aspect = name.partition(":")[2].strip()
        unfolded = [_by_rater(cell, aspect) for cell in frame[name]]
        columns = pd.DataFrame(unfolded, index=frame.index).map(plain)
        frame = pd.concat([frame.drop(columns=name), columns], axis=1)
        raters = {column.split(":")[2] for column in columns}
        notes.append((name, f"a list of ratings is read as {len(raters)} raters, by position"))
    return frame, notes


def _by_rater(cell, aspect):
    """Ratings of a cell by column; without an aspect each rater's are a dict by aspect."""
    found = {}
    for number, rating in enumerate(cell if isinstance(cell, list) else [cell], 1):
        ratings = rating if isinstance(rating, dict) else {aspect: rating}
        for of_aspect, score in ratings.items():
            found[f"human:{of_aspect}:{number}"] = score
    return found


def _is_unfolded(name, cell):
    """Whether a cell holds several ratings."""
    if is_rating(name):
        return isinstance(cell, (list, dict))
    parts = cell if isinstance(cell, list) else [cell]
    return name.lower() == "human" and dict in map(type, parts)


def unfold_rows(frame):
    """Read several rows of one output, one for each rater or aspect, as one row.

    Parameters
    ----------
    frame : pandas.DataFrame
        With `system` and `doc_id`. The raters are named by the column `rater`, or by the one column
        that is called like raters; the aspects by `aspect`, or by the one that is called like aspects.

    Returns
    -------
    frame : pandas.DataFrame
        As given if no such column tells the rows of an output apart.
    notes : list of (str, str)
        Column and message.
    """
    key = ["doc_id", "system"]
    ratings = [name for name in frame if is_rating(name)]
    texts = [name for name in ("source", "hypothesis", "references", "context") if name in frame]
    same_texts = frame.groupby(key)[texts].agg(lambda cells: len(set(map(str, cells)))) == 1
    rater = _called(frame, "rater", _RATERS)
    aspect = _called(frame, "aspect", _ASPECTS)
    # A word such as "dimension" has other meanings, and a name such as "human:fluency" may be an aspect.
    varies = "aspect" in frame or (frame.groupby(key)[aspect].nunique() > 1).any(axis=None)
    if not varies or len({name.split(":")[1].strip() for name in ratings}) != 1:
        aspect = []
    if not frame.duplicated([*key, *aspect]).any() or any(name.count(":") > 1 for name in ratings):
        rater = []
    named = [*aspect, *rater]
    apart = not frame.duplicated([*key, *named]).any() and same_texts.all(axis=None)
    if not (ratings and named and apart):
        return frame, []
    long = frame.melt([*key, *named], ratings, "column", "score")
    aspects, raters = zip(*([*name.split(":", 2), "mean"][1:3] for name in long["column"]))
    aspects = long[aspect[0]] if aspect else aspects
    raters = long[rater[0]] if rater else raters
    long["column"] = [f"human:{one}:{by}" for one, by in zip(aspects, raters)]
    columns = long.pivot(index=key, columns="column", values="score").fillna("")
    wide = frame.drop_duplicates(key).drop(columns=[*ratings, *named])
    columns = columns.loc[pd.MultiIndex.from_frame(wide[key]), long["column"].unique()]
    note = f"{len(frame)} rows are read as {len(wide)} outputs, with {{}} named here"
    notes = [(name, note.format("aspects")) for name in aspect]
    notes += [(name, note.format("raters")) for name in rater]
    return pd.concat([wide, columns.set_axis(wide.index)], axis=1), notes


def _called(frame, name, similar):
    """The column with a name, or the only one with a similar name, in a list; else none."""
    pattern = name if name in frame else similar
    found = [column for column in frame if re.fullmatch(pattern, column, re.IGNORECASE)]
    return found if len(found) == 1 and frame[found[0]].map(type).eq(str).all() else []


def is_rating(name):
    """Whether a column holds ratings, by its name."""
    first, colon, _ = name.partition(":")
    return bool(colon) and first.strip().lower() == "human"


def unused(frame):
    """Columns that are neither texts nor ratings, by their names."""
    return [name for name in frame if name not in (*NEEDED, *OPTIONAL) and not is_rating(name)]


def example_of_rating(frame):
    """A mapping of the unused column that looks most like ratings."""
    for name in unused(frame):
        if frame[name].map(lambda cell: isinstance(cell, list) and dict in map(type, cell)).any():
            return f"human={name}"
        if pd.to_numeric(frame[name], errors="coerce").notna().all():
            return f"human:{re.split('[^a-z]', name.lower())[0] or 'quality'}={name}"
    return "human:fluency=COLUMN"
