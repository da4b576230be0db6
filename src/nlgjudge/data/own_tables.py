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
from nlgjudge.data.scale import NUMBERS

KINDS = "CSV, JSON Lines (.jsonl), JSON (.json), Parquet or Excel (.xlsx)"
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
        By column, the categories that its type names: a list if they are ordered, those of a `ClassLabel` with their
        numbers, and else a set.
    """

    frame: pd.DataFrame
    name: str
    unit: str
    contents: dict[str, bytes]
    notes: list[str]
    labels: dict[str, Any]


def read_table(source: Any, config: str | None = None, split: str | None = None) -> Table:
    """Read a table; ValueError for what is no table, or one that cannot be read.

    Parameters
    ----------
    source
        A path, a DataFrame, a `datasets.Dataset`, or ``OWNER/NAME`` of the Hub where there is no such path.
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
    elif isinstance(source, dict):
        frame = _of_split(source, split)
    elif str(source).startswith("hf://"):
        raise ValueError(f"pass pandas.read_csv({str(source)!r}), or read_parquet, read_json")
    elif (path := Path(source)).is_dir() or _HUB.fullmatch(str(source)) and not path.exists():
        name = path.name
        frame = _of_split(_of_datasets(str(source), config), split)
    else:
        name = path.stem
        contents = {path.name: use(path).read_bytes()}
        reader, unit, first = _READERS.get(path.suffix.lower(), (_csv, "row", 2))
        frame = reader(contents[path.name])
    types = frame.select_dtypes("category").dtypes
    labels: dict[str, Any] = {}
    for column, kind in types.items():
        names = [*map(_plain, kind.categories)]
        if len(NUMBERS.read(pd.Series(names))[1]):
            ids = {name: str(number) for number, name in enumerate(names)}
            named = ids if column in frame.attrs.get("classes", ()) else {*names}
            labels[str(column).strip()] = names if kind.ordered else named
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


def _csv(content):
    if not content or b"\0" in content[:1000]:
        raise ValueError(f"expected {KINDS}")
    try:
        lines = list(io.StringIO(content.decode("utf-8-sig"), newline=""))
    except UnicodeDecodeError as error:
        line = 'pandas.read_csv(FILE, encoding="cp1252")'
        raise ValueError(f"not UTF-8 ({error}): save it as CSV UTF-8, or pass {line}") from error
    separator = max(",;\t", key=lines[0].count)
    csv.field_size_limit(max(csv.field_size_limit(), len(content)))  # a cell may be that long
    reader = csv.reader(lines, delimiter=separator, strict=True)
    rows = []
    marks = (
        "If quotation marks belong to the texts, pass pandas.read_csv(FILE, sep=..., quoting=csv.QUOTE_NONE). If not, "
        "write each mark of a text twice, and put its cell in quotation marks"
    )
    try:
        for number, row in enumerate(reader, 1):
            width = len(rows[0] if rows else row)
            if row and len(row) != width:
                raise ValueError(f"row {number} has {len(row)} cells; expected {width}. {marks}")
            breaks = [len(re.findall("\r\n?|\n", cell)) for cell in row]
            if any(cell.count(separator) == n * (width - 1) > 0 for cell, n in zip(row, breaks)):
                raise ValueError(
                    f"a quotation mark in row {number} joins it with the next. {marks}"
                )
            rows.append(row or [""] * width)
    except csv.Error as error:
        raise ValueError(f"row {len(rows) + 1}: {error}. {marks}") from error
    return pd.DataFrame(rows[1:], columns=rows[0], dtype=object)


def _excel(content):
    sheet = pd.read_excel(io.BytesIO(content), header=None, dtype=object, keep_default_na=False)
    header, *rows = sheet.values
    return pd.DataFrame(rows, columns=map(_plain, header), dtype=object)


def _json_lines(content):
    records = []
    for number, line in enumerate(content.decode("utf-8-sig").split("\n"), 1):
        try:
            records.append(_plain(dict(json.loads(line or "{}"))))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"line {number}: expected a JSON object ({error})") from error
    return pd.DataFrame(records)


def _json(content):
    """A list of objects."""
    records = json.loads(content.decode("utf-8-sig"))
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ValueError("expected a list of objects in JSON, one for each output")
    return pd.DataFrame(records)


def _parquet(content):
    return _with_index(pd.read_parquet(io.BytesIO(content)))


# By ending: reader, what a place is called, and the number of the first one.
_READERS = {
    ".jsonl": (_json_lines, "line", 1),
    ".json": (_json, "index", 0),
    ".parquet": (_parquet, "index", 0),
    ".xlsx": (_excel, "row", 2),
}


# Data sets


def _of_datasets(name, config):
    """A folder that `datasets` wrote, or a set of the Hub or in its layout."""
    from datasets import load_dataset, load_from_disk

    signs = ("dataset_info.json", "dataset_dict.json")
    is_written = any((Path(name) / sign).is_file() for sign in signs)
    return load_from_disk(name) if is_written else load_dataset(name, config)


def _of_split(splits, split):
    """The frame of a split, which has to be named where there are several."""
    if not isinstance(splits, dict):
        return _with_names(splits)
    if split is None and len(splits) == 1:
        (split,) = splits
    if split not in splits:
        some = next(iter(splits))
        raise ValueError(f"it has the splits {', '.join(splits)}: name one, as split={some!r}")
    return _with_names(splits[split])


def _with_names(dataset):
    """A data set as a frame, with the names of its class labels in the place of their numbers."""
    frame = dataset.to_pandas()
    frame.attrs["classes"] = []
    for column, feature in (getattr(dataset, "features", None) or {}).items():
        if hasattr(feature, "int2str"):
            names = dict(enumerate(feature.names))
            frame[column] = pd.Categorical(frame[column].map(names), categories=feature.names)
            frame.attrs["classes"].append(column)
    return frame
