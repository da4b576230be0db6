"""Read a file of your own with pandas: one row per output, columns under the names used here."""

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
    except zipfile.BadZipFile as error:
        raise ValueError(f"{error}; expected {_KINDS}") from error
    if any(frame.index.names):
        frame = frame.reset_index()
    frame.index = pd.RangeIndex(first, first + len(frame))
    frame.columns = [str(name).strip() for name in frame.columns]
    unnamed = [name for name in frame if not name or name.startswith("Unnamed: ")]
    if unnamed:
        notes.append("a column without a name, as `to_csv` writes for the index, is left out")
        frame = frame.drop(columns=unnamed)
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise ValueError(f"several columns are called {repeated[0]!r}: rename or remove one")
    cells = frame.astype(object).map(plain)
    filled = cells.map(lambda cell: bool(cell.strip()) if isinstance(cell, str) else True)
    if not filled.any(axis=None):
        raise ValueError("there is no row below the header")
    return Table(cells[filled.any(axis=1)], unit, notes)


def plain(cell):
    """A cell as text; lists of texts and dicts stay; empty where nothing is given."""
    if isinstance(cell, (list, tuple, np.ndarray)):
        return [plain(part) for part in cell]
    if isinstance(cell, (str, dict)):
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
    return _with_header(pd.read_csv(io.StringIO(text), sep=separator, header=None, **options))


def _read_excel(path, notes):
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
            records.append(dict(json.loads(line or "{}")))
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
    for name in [name for name in frame if is_rating(name)]:
        if not frame[name].map(lambda cell: isinstance(cell, (list, dict))).any():
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


def unfold_rows(frame):
    """Read several rows of one output, one for each rater, as one row with a column for each rater.

    Parameters
    ----------
    frame : pandas.DataFrame
        With `system` and `doc_id`. The raters are named by the column `rater`, or by the one unknown
        column whose values tell the rows of an output apart.

    Returns
    -------
    frame : pandas.DataFrame
        As given if no output is repeated or no such column exists.
    rater : str
        The column with the raters; empty if the frame is returned as given.
    """
    key = ["doc_id", "system"]
    if not frame.duplicated(key).any():
        return frame, ""
    ratings = [name for name in frame if re.fullmatch(r"human:[^:]+", name)]
    texts = [name for name in ("source", "hypothesis", "references", "context") if name in frame]
    candidates = ["rater"] if "rater" in frame else [name for name in frame if ":" not in name]
    raters = [
        name
        for name in candidates
        if name not in (*key, *texts)
        and not frame.duplicated([*key, name]).any()
        and frame[name].duplicated().any()
    ]
    same_texts = frame.groupby(key)[texts].agg(lambda cells: len(set(map(str, cells)))) == 1
    if len(raters) != 1 or not ratings or not same_texts.all(axis=None):
        return frame, ""
    (rater,) = raters
    wide = frame.drop_duplicates(key).drop(columns=[*ratings, rater])
    columns = frame.pivot(index=key, columns=rater, values=ratings).fillna("")
    columns.columns = [":".join(names) for names in columns.columns]
    columns = columns.loc[pd.MultiIndex.from_frame(wide[key])].set_axis(wide.index)
    return pd.concat([wide, columns], axis=1), rater


def is_rating(name):
    """Whether a column holds ratings, by its name."""
    return name.split(":")[0].strip().lower() == "human"


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
