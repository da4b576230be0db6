"""Tables of your own, from wherever they are: a file, a DataFrame, a `datasets.Dataset`, or the Hugging Face Hub."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.paths import use

KINDS = "CSV, JSON Lines (.jsonl), JSON (.json), Parquet, Excel (.xlsx) or a folder of `datasets`"
NUMBER = re.compile(r"\s*-?\d+(\.\d+)?\s*")
_HUB = re.compile(r"[\w.-]+/[\w.-]+")


class Table(NamedTuple):
    """Cells as text, or lists and dicts, by row, line or index.

    Attributes
    ----------
    frame
    name
        Of the file, or of the data set.
    unit
        What a place is called: `row` as a spreadsheet numbers it, `line`, or `index`.
    contents
        By name, the content of each file that was read.
    notes
        What is worth knowing about the file.
    labels
        By column, the categories that its type names: a list if they are ordered, and else a set.
    """

    frame: pd.DataFrame
    name: str
    unit: str
    contents: dict[str, bytes]
    notes: list[str]
    labels: dict[str, list | set]


def read_table(source: Any, config: str | None = None, split: str | None = None) -> Table:
    """Read a table; ValueError for what is no table, or one that cannot be read.

    Parameters
    ----------
    source
        A path, a DataFrame, a `datasets.Dataset`, an address ``hf://datasets/OWNER/NAME/FILE``, or ``OWNER/NAME`` of
        the Hub where there is no such path.
    config, split
        Of a data set of the Hub, or of a folder in the layout of one.
    """
    notes: list[str] = []
    contents: dict[str, bytes] = {}
    unit, first = "index", 0
    name = "table"
    if isinstance(source, pd.DataFrame):
        frame = _with_index(source)
    elif hasattr(source, "to_pandas"):
        frame = _with_names(source)
    elif str(source).startswith("hf://"):
        name = Path(str(source)).stem
        frame, unit, first = _from_file(str(source), _of_hub(str(source)), notes)
    elif _HUB.fullmatch(str(source)) and not Path(source).exists():
        name = str(source).rpartition("/")[2]
        frame = _of_datasets(str(source), config, split)
    else:
        path = Path(source)
        name = path.stem
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        contents = {file.name: use(file).read_bytes() for file in files if not file.is_dir()}
        if path.is_dir():
            frame = _from_folder(path, config, split)
        else:
            frame, unit, first = _from_file(path.name, contents[path.name], notes)
    types = frame.select_dtypes("category").dtypes
    labels: dict[str, list | set] = {
        str(name).strip(): [*map(_plain, kind.categories)]
        if kind.ordered
        else {*map(_plain, kind.categories)}
        for name, kind in types.items()
        if not all(NUMBER.fullmatch(_plain(label)) for label in kind.categories)
    }
    frame = frame.astype(dict.fromkeys(types.index, object))
    return Table(_cells(frame.map(_plain), first, notes), name, unit, contents, notes, labels)


def _cells(frame, first, notes):
    """Rows that are not blank, by their place."""
    frame.index = pd.RangeIndex(first, first + len(frame))
    frame.columns = [str(name).strip() for name in frame.columns]
    if "" in frame.columns:
        notes.append("a column without a name, as `to_csv` writes for the index, is left out")
        frame = frame.drop(columns="")
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise ValueError(f"several columns are called {repeated[0]!r}: rename or remove one")
    blank = frame.map(lambda cell: isinstance(cell, str) and not cell.strip())
    frame = frame[~blank.all(axis=1)]
    if frame.empty:
        raise ValueError("there is no row below the header")
    return frame


def _plain(cell):
    """A cell as text; lists of texts and dicts stay; empty where nothing is given."""
    if isinstance(cell, (list, tuple, np.ndarray)):
        return [_plain(part) for part in cell]
    if isinstance(cell, dict):
        return {name: _plain(part) for name, part in cell.items()}
    if not isinstance(cell, str) and pd.isna(cell):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # an integer that was read as float because others are missing
    return str(cell)


def _with_index(frame):
    return frame.reset_index(drop=not any(frame.index.names))


# Files


def _from_file(name, content, notes):
    """A file's table, what a place is called, and the number of the first one."""
    reader, unit, first = _READERS.get(Path(name).suffix.lower(), (_csv, "row", 2))
    return reader(content, notes), unit, first


def _csv(content, notes):
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
        notes.append("not UTF-8: read as Latin-1. If letters look wrong, save it as CSV UTF-8")
    lines = list(io.StringIO(text, newline=""))
    if not lines or "\0" in lines[0]:
        raise ValueError(f"expected {KINDS}")
    separator = max(",;\t", key=lines[0].count)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a cell may be that long
    quoting = _quoting(lines, separator, notes)
    header, *rows = csv.reader(lines, delimiter=separator, quoting=quoting)
    for number, row in enumerate(rows, 2):
        if len(row) > len(header):
            raise ValueError(f"row {number} has {len(row)} cells; expected {len(header)}")
        row += [""] * (len(header) - len(row))
    return pd.DataFrame(rows, columns=header, dtype=object)


def _quoting(lines, separator, notes):
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
    notes.append(f"quotation marks are read as text, because one in row {row} is not closed")
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


def _excel(content, notes):
    sheet = pd.read_excel(io.BytesIO(content), header=None, dtype=object, keep_default_na=False)
    header, *rows = sheet.values
    return pd.DataFrame(rows, columns=map(_plain, header), dtype=object)


def _json_lines(content, notes):
    records = []
    for number, line in enumerate(content.decode("utf-8-sig").split("\n"), 1):
        try:
            records.append(_plain(dict(json.loads(line or "{}"))))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"line {number}: expected a JSON object ({error})") from error
    return pd.DataFrame(records)


def _json(content, notes):
    """A list of objects."""
    records = json.loads(content.decode("utf-8-sig"))
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ValueError("expected a list of objects in JSON, one for each output")
    return pd.DataFrame(records)


def _parquet(content, notes):
    return _with_index(pd.read_parquet(io.BytesIO(content)))


# By ending: reader, what a place is called, and the number of the first one.
_READERS = {
    ".jsonl": (_json_lines, "line", 1),
    ".json": (_json, "index", 0),
    ".parquet": (_parquet, "index", 0),
    ".xlsx": (_excel, "row", 2),
}


# Data sets


def _from_folder(path, config, split):
    """A folder that `datasets` wrote, or one in the layout of the Hub."""
    if not any((path / name).is_file() for name in ("dataset_info.json", "dataset_dict.json")):
        return _of_datasets(str(path), config, split)
    from datasets import load_from_disk

    return _one_split(load_from_disk(str(path)), split)


def _of_datasets(name, config, split):
    from datasets import load_dataset

    return _one_split(load_dataset(name, config), split)


def _one_split(dataset, split):
    if not isinstance(dataset, dict):
        return _with_names(dataset)
    if split is None and len(dataset) == 1:
        (split,) = dataset
    if split not in dataset:
        raise ValueError(
            f"it has the splits {', '.join(dataset)}: name one, as split={next(iter(dataset))!r}"
        )
    return _with_names(dataset[split])


def _with_names(dataset):
    """A data set as a frame, with the names of its class labels in the place of their numbers."""
    frame = dataset.to_pandas()
    for column, feature in (getattr(dataset, "features", None) or {}).items():
        if hasattr(feature, "int2str"):
            names = dict(enumerate(feature.names))
            frame[column] = pd.Categorical(frame[column].map(names), categories=feature.names)
    return frame


def _of_hub(address):
    """The content of a file on the Hub."""
    from huggingface_hub import HfFileSystem

    return HfFileSystem().read_bytes(address)
