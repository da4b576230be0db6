"""A file of your own: outputs of systems and what people think of them, checked before it is used.

CSV, Excel, Parquet, JSON Lines, or a folder that `datasets` wrote with `save_to_disk`; a row per output.
Columns `source`, `hypothesis` and `system` are needed; `references` (a list, or several in a cell that are
parted by ``|||``), `context` and `doc_id` are optional: without `doc_id`, equal sources are one document.
A rating has the column ``human:ASPECT``, or one for each rater, ``human:ASPECT:RATER``; an empty cell, or one
that says `NA`, `n/a` or `-`, is a missing rating. A mapping says which columns have other names.

Places are those at which a person finds them: CSV and Excel have rows as a spreadsheet numbers them (the
header is row 1), JSON Lines has lines, Parquet and `datasets` have an index from 0 on, as in pandas.
"""

import csv
import io
import json
import re
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgjudge.data.choices import unknown
from nlgjudge.data.paths import use
from nlgjudge.data.registry import blob_id
from nlgjudge.data.schema import ITEMS, build

NEEDED = ("source", "hypothesis", "system")
OPTIONAL = ("references", "context", "doc_id")
# What a cell says where there is nothing; compared without regard to case.
NOTHING = (
    "na",
    "n/a",
    "#n/a",
    "n.a.",
    "<na>",
    "nan",
    "null",
    "none",
    "-",
    "--",
    "\u2013",
    "\u2014",
    "?",
    ".",
)
_FORM = "human:ASPECT or human:ASPECT:RATER"
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_DAMAGED = "[\ufffd\0]"  # what stands for bytes that are no UTF-8, here and in other programs
_MISREAD = "[\u00c3\u00c2][\u0080-\u00bf]|\u00e2\u20ac"  # UTF-8 taken for Latin-1 or Windows-1252
_HALVES = re.compile("[\ud800-\udfff]")  # half a character, which JSON can hold and UTF-8 cannot
_FEW = 10  # documents
_KINDS = "CSV, JSON Lines (.jsonl), Parquet, Excel (.xlsx) or a folder of `datasets`"
_NO_EXCEL = (
    "reading Excel needs the package openpyxl: `pip install openpyxl` (the extra `excel`), or "
    "export the sheet as CSV UTF-8"
)


def check_own_data(path, *, columns=None):
    """Find everything that is wrong with a file, or worth knowing about it.

    Parameters
    ----------
    path : path-like
        A file or folder as this module describes it.
    columns : dict of str to str, optional
        Your columns' names by the names used here, as ``{"hypothesis": "summary"}``.

    Returns
    -------
    pandas.DataFrame
        `kind` (`problem`, which prevents an evaluation, or `note`), `column`, `place` (as ``row 2-4, 9`` or
        ``row 3 (line 5 of the file)``; empty for a whole column or file) and `message`; problems come first.

    Raises
    ------
    OSError
        When there is no such file.
    ValueError
        For a mapping of a name that is not used here.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "mine.csv"
    >>> _ = file.write_text("source,hypothesis,system,human:fluency\\nA river.,,one,4\\nA sea.,Sea.,two,good")
    >>> for line in lines(check_own_data(file).query("kind == 'problem'")):
    ...     print(line)
    hypothesis, row 2: an empty text: write it, or leave the row out
    human:fluency, row 3: 'good' is not a finite number; leave the cell empty where there is no rating
    human:fluency: all ratings are 4, so that nothing correlates with them: leave the column out
    """
    _, findings, _ = _examined(path, columns)
    return findings.table()


def own_data(path, *, columns=None):
    """Read a file of your own as a benchmark.

    Parameters
    ----------
    path : path-like
        A file or folder as this module describes it.
    columns : dict of str to str, optional
        As for `check_own_data`.

    Returns
    -------
    nlgjudge.data.schema.Benchmark
        Named after the file; an item is called after its place, as ``row 2``; rater `mean` where no rater
        is named.

    Raises
    ------
    OSError
        When there is no such file.
    ValueError
        With every problem that `check_own_data` finds.

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
    table, findings, ratings = _examined(path, columns)
    found = findings.table()
    problems = lines(found[found["kind"] == "problem"])
    if problems:
        raise ValueError("\n".join([f"{path} cannot be used; {len(problems)} found:", *problems]))
    names = {place: f"{findings.unit} {place}" for place in table.index}
    items = []
    for row in table[[*NEEDED, *OPTIONAL]].itertuples():
        items.append(
            (
                names[row.Index],
                row.doc_id,
                row.system,
                row.source,
                row.hypothesis,
                row.references,
                row.context,
            )
        )
    scores = []
    for column, (aspect, rater) in ratings.items():
        for place, score in table[column].items():
            scores.append((names[place], aspect, rater, score))
    files = {file.name: blob_id(file.read_bytes()) for file in _files(path)}
    return build(Path(path).stem, items, scores, source="own", files=files)


def lines(findings):
    """Say each finding in a line: where it is, then the message."""
    said = []
    for finding in findings.itertuples():
        where = ", ".join(part for part in (finding.column, finding.place) if part)
        said.append(f"{where or 'file'}: {finding.message}")
    return said


def mapping(given):
    """Read a mapping of columns as the command line takes it.

    Parameters
    ----------
    given : iterable of str
        Each ``NAME=COLUMN``, or several parted by commas; NAME is used here, COLUMN is the file's.

    Returns
    -------
    dict of str to str

    Raises
    ------
    ValueError
        For a name that is not used here, or without ``=``.

    Examples
    --------
    >>> mapping(["hypothesis=summary,source=article", "human:fluency=flu"])
    {'hypothesis': 'summary', 'source': 'article', 'human:fluency': 'flu'}
    """
    columns = {}
    for text in given:
        parts = text.split(",")
        if not all("=" in part for part in parts):
            parts = [text]  # a comma of the column's own name
        for part in parts:
            name, equals, column = (piece.strip() for piece in part.partition("="))
            if not (name and equals and column):
                raise ValueError(
                    f"column mapping {part!r}: expected NAME=COLUMN, as hypothesis=summary"
                )
            columns[name] = column
    _check_mapping(columns)
    return columns


class _Findings:
    """What was found, in order, and how a place of the file is called."""

    def __init__(self):
        self.found = []
        self.unit = "row"
        self.lines = {}  # line of the file on which a row begins, where that is known
        self.names = {}  # how a column is called in the file, by the name used here

    def say(self, kind, message, column="", rows=None):
        """Keep a finding; where `rows` is a mask, only if it marks any."""
        if isinstance(rows, pd.Series):
            rows = list(rows.index[rows])
        if rows is not None and not rows:
            return
        theirs = self.names.get(column, column)
        name = column if theirs == column else f"{column} ({theirs})"
        self.found.append((kind, name, self.place(rows or []), message))

    def place(self, rows):
        """Places as ``row 2-4, 9``, with the file's lines where texts hold line breaks."""
        if not rows:
            return ""
        ranges = _ranges(rows)
        named = ", ".join(
            f"{first}-{last}" if last > first else f"{first}" for first, last in ranges
        )
        text = f"{self.unit} {named}"
        firsts = [first for first, _ in ranges]
        begins = [self.lines.get(first, first) for first in firsts]
        if begins != firsts:
            word = "lines" if len(begins) > 1 else "line"
            text += f" ({word} {', '.join(map(str, begins))} of the file)"
        return text

    def table(self):
        """Findings as a table, problems first."""
        frame = pd.DataFrame(self.found, columns=["kind", "column", "place", "message"])
        return frame.sort_values("kind", ascending=False, kind="stable", ignore_index=True)


class _Raw(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    header : list of str
        Names of its columns.
    rows : dict
        Lists of cells by place, each a text or a list of texts.
    """

    header: list
    rows: dict


def _examined(path, columns):
    """Table with its ratings as numbers, findings, and aspect and rater of the ratings' columns."""
    columns = dict(columns or {})
    _check_mapping(columns)
    findings = _Findings()
    raw = _read(Path(path), findings)
    if raw is None:
        return None, findings, {}
    if not raw.rows:
        nothing = (
            f"there is no {findings.unit} below the header"
            if raw.header
            else "there is nothing in it"
        )
        findings.say("problem", nothing)
        return None, findings, {}
    table = _table(raw, findings)
    table = _renamed(table, columns, findings)
    _check_columns(table, findings)
    _check_documents(table, findings)
    ratings = _check_ratings(table, findings)
    return table, findings, ratings


# --- formats ---------------------------------------------------------------------------------------------


def _files(path):
    """The file, or all files of a folder."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file())


def _read(path, findings):
    """Read a file by its content, or a JSON Lines file by its name; None where nothing can be read."""
    for file in _files(path):
        use(file)
    if path.is_dir():
        return _from_folder(path, findings)
    content = path.read_bytes()
    if content.startswith(b"PK"):
        return _from_excel(content, findings)
    if content.startswith(b"PAR1"):
        return _from_parquet(content, findings)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        findings.say("problem", "UTF-16: export the sheet as CSV UTF-8")
        return None
    if content.startswith((b"\xd0\xcf\x11\xe0", b"\x1f\x8b", b"BZh", b"7z")):
        findings.say("problem", f"an older Excel file or a packed one: expected {_KINDS}")
        return None
    text = content.decode("utf-8-sig", "replace")
    if path.suffix.lower() in (".jsonl", ".ndjson", ".json"):
        return _from_json_lines(text, findings)
    return _from_csv(text, findings)


def _from_csv(text, findings):
    first_line = re.split(r"[\r\n]", text, maxsplit=1)[0]

    def needed_names(separator):
        names = {name.strip(' "') for name in first_line.split(separator)}
        return len(names & {*NEEDED})

    separator = max(_SEPARATORS, key=needed_names)
    if separator != ",":
        findings.say("note", f"read with cells parted by {_SEPARATORS[separator]}")
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    records = []
    while True:
        number = len(records) + 1
        findings.lines[number] = reader.line_num + 1
        try:
            records.append(next(reader))
        except StopIteration:
            break
        except csv.Error as error:
            findings.say(
                "problem",
                f"no cells can be made out from here on ({error}): a quote does not "
                "close, or text follows it; a quote within a quoted text is written twice",
                rows=[number],
            )
            break
    header = [name.strip() for name in records[0]] if records else []
    rows = {
        number: record
        for number, record in enumerate(records[1:], 2)
        if any(map(str.strip, record))
    }
    if rows:
        _check_lengths(header, rows, separator, findings)
    return _Raw(header, rows)


def _check_lengths(header, rows, separator, findings):
    sizes = {len(row) for row in rows.values()}
    for size in sorted(sizes - {len(header)}):
        numbers = [number for number, row in rows.items() if len(row) == size]
        findings.say(
            "problem",
            f"{size} cells where the header has {len(header)}: a text that holds "
            f"{_SEPARATORS[separator]} needs quotes",
            rows=numbers,
        )


def _from_json_lines(text, findings):
    findings.unit = "line"
    if text.lstrip().startswith("["):
        findings.say("problem", "a JSON list: expected JSON Lines, an object in each line")
        return None
    objects = {}
    for number, line in enumerate(
        text.split("\n"), 1
    ):  # other line separators may stand within a text
        if not line.strip():
            continue
        try:
            found = json.loads(line, object_pairs_hook=_without_repeats)
        except json.JSONDecodeError as error:
            findings.say(
                "problem", f"no JSON object ({error.msg}, column {error.colno})", rows=[number]
            )
            continue
        except ValueError as error:
            findings.say("problem", f"no JSON object ({error})", rows=[number])
            continue
        if not isinstance(found, dict):
            findings.say(
                "problem",
                'expected a JSON object, as {"source": ..., "hypothesis": ...}',
                rows=[number],
            )
            continue
        objects[number] = found
    return _from_records(objects, findings)


def _without_repeats(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {repeated!r} stands in it twice")
    return found


def _from_parquet(content, findings):
    findings.unit = "index"
    try:
        frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    except Exception as error:  # whatever a damaged file causes
        findings.say("problem", f"no Parquet file can be read ({_one_line(error)})")
        return None
    if any(frame.index.names):
        frame = frame.reset_index()
    return _from_records(dict(enumerate(frame.to_dict("records"))), findings, list(frame.columns))


def _from_folder(path, findings):
    from datasets import ClassLabel, DatasetDict, load_from_disk

    findings.unit = "index"
    try:
        found = load_from_disk(str(path))
    except Exception as error:  # whatever a damaged folder causes
        findings.say(
            "problem",
            f"no data set that `save_to_disk` of `datasets` wrote can be read ({_one_line(error)})",
        )
        return None
    if isinstance(found, DatasetDict):
        if len(found) != 1:
            folders = ", ".join(str(path / split) for split in found)
            findings.say("problem", f"{len(found)} splits: name the folder of one, as {folders}")
            return None
        (found,) = found.values()
    records = found.with_format(None).to_list()
    labels = {
        name: feature for name, feature in found.features.items() if isinstance(feature, ClassLabel)
    }
    for name, feature in labels.items():
        for record in records:
            if record[name] is not None:
                record[name] = feature.int2str(record[name])
    return _from_records(dict(enumerate(records)), findings, list(found.column_names))


def _from_excel(content, findings):
    try:
        from openpyxl import load_workbook
    except ImportError:
        findings.say("problem", _NO_EXCEL)
        return None
    try:
        book = load_workbook(io.BytesIO(content), data_only=True)
    except Exception as error:  # whatever a damaged file, or another kind of archive, causes
        findings.say(
            "problem", f"no Excel sheet can be read ({_one_line(error)}): expected {_KINDS}"
        )
        return None
    sheet = book.worksheets[0]
    if len(book.worksheets) > 1:
        findings.say("note", f"{len(book.worksheets)} sheets; the first, {sheet.title!r}, is read")
    rows = {}
    for number, values in enumerate(sheet.values, 1):
        row = [_cell(value) for value in values]
        if any(_flat(cell).strip() for cell in row):
            rows[number] = row
    if not rows:
        return _Raw([], {})
    top = min(rows)
    header = [cell.strip() for cell in rows.pop(top)]
    # A column that is empty from top to bottom is no column.
    used = [
        place
        for place, name in enumerate(header)
        if name or any(row[place] for row in rows.values())
    ]
    header = [header[place] for place in used]
    rows = {number: [row[place] for place in used] for number, row in rows.items()}
    return _Raw(header, rows)


def _from_records(records, findings, names=()):
    """Objects by place; a name that one of them lacks is a missing cell there."""
    header = dict.fromkeys(names)
    for record in records.values():
        header.update(dict.fromkeys(record))
    header = list(header)
    rows = {
        place: [_cell(record.get(name)) for name in header] for place, record in records.items()
    }
    for name in header:
        nested = [place for place, record in records.items() if isinstance(record.get(name), dict)]
        if name in (*NEEDED, *OPTIONAL) or _rated(str(name)):
            findings.say("problem", "expected a text or a number, got an object", str(name), nested)
    return _Raw([str(name).strip() for name in header], rows)


def _cell(value):
    """A cell's text, or texts; empty where there is nothing."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_flat(_cell(part)) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))  # a whole number that stood beside missing ones
    return _HALVES.sub("\ufffd", str(value))


def _flat(cell):
    return " ".join(cell) if isinstance(cell, list) else cell


def _one_line(error):
    return " ".join(str(error).split())[:200]


# --- checks ----------------------------------------------------------------------------------------------


def _table(raw, findings):
    """Cells as a table, indexed by place."""
    header, rows = raw
    for name in dict.fromkeys(header):
        if not name:
            findings.say("problem", "a column has no name")
        elif header.count(name) > 1:
            findings.say("problem", "several columns have this name", name)
    width = len(header)
    cells = []
    for row in rows.values():
        missing = [""] * (width - len(row))
        cells.append([*row[:width], *missing])
    table = pd.DataFrame(cells, index=[*rows], columns=header, dtype=object)
    return table.loc[:, ~table.columns.duplicated()]


def _check_mapping(columns):
    for name, column in columns.items():
        if name in (*NEEDED, *OPTIONAL) or _rated(name):
            continue
        known = [*NEEDED, *OPTIONAL, *_FORM.split(" or ")]
        if column in known or _rated(column):
            raise ValueError(
                f"column mapping {name}={column}: the name used here comes first, {column}={name}"
            )
        raise ValueError(f"column mapping {name}={column}: {unknown('name', name, known)}")


def _renamed(table, columns, findings):
    """Give the columns of a mapping the names used here."""
    made = {}
    for name, column in columns.items():
        if column in table:
            made[name] = table[column]
        else:
            findings.say("problem", unknown("column", column, table.columns), name)
        findings.names[name] = column
    for name in table:
        known = name in (*NEEDED, *OPTIONAL) or _rated(name)
        if name in made:
            if columns[name] != name and name not in columns.values():
                findings.say(
                    "note",
                    f"the mapping takes {name} from {columns[name]!r}; the column of this "
                    "name is not used",
                )
        elif known or name not in columns.values():
            made[name] = table[name]
    return pd.DataFrame(made, index=table.index, columns=[*made], dtype=object)


def _check_columns(table, findings):
    """Check names and texts, and fill in the optional columns."""
    others = [
        name for name in table if name and name not in (*NEEDED, *OPTIONAL) and not _rated(name)
    ]
    by_lower = {name.lower(): name for name in others}
    for name in NEEDED:
        if name not in table and name not in findings.names:
            hint = f"rename yours, or map {name}=COLUMN"
            for near in get_close_matches(name, by_lower, 1):
                hint = f"is it {by_lower[near]!r}? Then map {name}={by_lower[near]}"
            findings.say("problem", f"the column is missing: {hint}", name)
    for name in by_lower.values():
        findings.say(
            "note", f"not used; known are {', '.join((*NEEDED, *OPTIONAL))} and {_FORM}", name
        )
    for name in [name for name in table if name not in by_lower.values()]:
        _check_cells(table, name, findings)
        if not _rated(name):
            _check_texts(table, name, findings)
    _fill_in(table)
    missing = table["references"].map(len) == 0
    consequence = "compare with the source instead" if missing.all() else "leave these items out"
    findings.say("note", f"none: lexical metrics {consequence}", "references", missing)


def _check_cells(table, name, findings):
    """Refuse lists where there should be one text, and texts that were not decoded as they should be."""
    if name != "references":
        listed = table[name].map(lambda cell: isinstance(cell, list))
        findings.say("problem", "a list where one text or number is expected", name, listed)
        table[name] = table[name].map(_flat)
    cells = table[name].map(_flat)
    findings.say(
        "problem", "not UTF-8 here: save the file as UTF-8", name, cells.str.contains(_DAMAGED)
    )
    findings.say(
        "note", "looks like UTF-8 once read as something else", name, cells.str.contains(_MISREAD)
    )


def _check_texts(table, name, findings):
    """Refuse, or take note of, texts that are missing."""
    cells = _words(table[name].map(_flat))
    nothing = cells.str.lower().isin(NOTHING)
    if name in (*NEEDED, "doc_id"):
        findings.say("problem", "an empty text: write it, or leave the row out", name, cells == "")
    for text, rows in _by_text(cells[nothing]):
        if name == "hypothesis":
            findings.say(
                "note",
                f"an output that says {text!r} is judged as such: leave the row out where "
                "there is no output",
                name,
                rows,
            )
        elif name in NEEDED or name == "doc_id":
            findings.say(
                "problem",
                f"{text!r} stands for nothing: write the text, or leave the row out",
                name,
                rows,
            )
        elif name in OPTIONAL:
            findings.say("note", f"{text!r} is read as no text", name, rows)
    if name in ("references", "context"):
        table.loc[nothing, name] = ""


def _fill_in(table):
    """Add the optional columns, and turn references into lists."""
    for name in ("references", "context"):
        if name not in table:
            table[name] = ""
    if "doc_id" not in table:
        sources = _sources(table)
        numbers = pd.Series(pd.factorize(sources)[0] + 1, table.index)
        table["doc_id"] = "document " + numbers.astype(str)
    table["references"] = [_references(cell) for cell in table["references"]]


def _sources(table):
    if "source" not in table:
        return pd.Series("", table.index)
    return _words(table["source"])


def _references(cell):
    texts = cell if isinstance(cell, list) else cell.split("|||")
    return [text.strip() for text in texts if text.strip()]


def _check_documents(table, findings):
    for name in ("doc_id", "system"):
        table[name] = _words(table[name]) if name in table else ""
    sources = _sources(table)
    repeated = table[table.duplicated(["doc_id", "system"], keep=False)]
    for (document, system), part in repeated.groupby(["doc_id", "system"]) if len(repeated) else ():
        if system and all(sources[part.index]):
            findings.say(
                "problem",
                f"several outputs of {system!r} for {document!r}: keep one, or name systems apart",
                "system",
                list(part.index),
            )
    number = sources.groupby(table["doc_id"]).nunique()
    for document in number.index[number > 1]:
        rows = list(table.index[table["doc_id"] == document])
        findings.say("problem", f"{document!r} has {number[document]} sources", "doc_id", rows)
    systems = {*table["system"]} - {""}
    documents = {*table["doc_id"]} - {""}
    if len(systems) == 1:
        findings.say(
            "note", "one system: how the outputs of one document rank cannot be said", "system"
        )
    if len(documents) < _FEW:
        findings.say("note", f"only {len(documents)} documents: intervals will be wide", "doc_id")


def _check_ratings(table, findings):
    """Turn ratings into numbers; return aspect and rater of their columns."""
    columns = {}
    for name in [name for name in table if _rated(name)]:
        _, *parts = [part.strip() for part in name.split(":")]
        if len(parts) not in (1, 2) or not all(parts) or parts[0] in ITEMS:
            findings.say(
                "problem", f"expected {_FORM}, and no aspect called {', '.join(ITEMS[:3])}", name
            )
            continue
        aspect = parts[0]
        rater = parts[1] if len(parts) == 2 else "mean"
        columns[name] = (aspect, rater)
        table[name] = _numbers(name, table[name], findings)
    if not columns:
        findings.say(
            "problem", f"there are no ratings: expected one or more columns called {_FORM}"
        )
    by_aspect = {}
    for name, (aspect, rater) in columns.items():
        by_aspect.setdefault(aspect, []).append((rater, table[name]))
    for aspect, of_raters in by_aspect.items():
        ratings = dict(of_raters)
        _check_aspect(f"human:{aspect}", pd.DataFrame(ratings), findings)
        repeated = len(ratings) < len(of_raters)
        if repeated or ("mean" in ratings and len(ratings) > 1):
            findings.say(
                "problem",
                "expected one column without a rater, or one for each rater",
                f"human:{aspect}",
            )
    return columns


def _numbers(name, cells, findings):
    """Ratings of a column as numbers, NaN where there is none."""
    cells = _words(cells)
    findings.say("note", "no rating", name, cells == "")
    nothing = cells.str.lower().isin(NOTHING)
    for text, rows in _by_text(cells[nothing]):
        findings.say("note", f"{text!r} is read as no rating", name, rows)
    cells = cells.mask(nothing, "")
    commas = cells.str.fullmatch(r"[-+]?\d+,\d+")
    ambiguous = _ambiguity(cells, commas) if commas.any() else ""
    if commas.any() and not ambiguous:
        example = cells[commas].iloc[0]
        findings.say(
            "note",
            f"read with decimal commas: {example!r} is {example.replace(',', '.')}",
            name,
            commas,
        )
        cells = cells.where(~commas, cells.str.replace(",", "."))
    # Of what Python calls a number, 1_0 and infinity are none here.
    plain = cells.where(cells.str.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"), "")
    numbers = pd.to_numeric(plain, errors="coerce").astype(float)
    numbers = numbers.where(np.isfinite(numbers))
    wrong = cells[numbers.isna() & (cells != "")]
    for text, rows in _by_text(wrong):
        hint = "leave the cell empty where there is no rating"
        if ambiguous and commas[rows[0]]:
            hint = ambiguous
        findings.say("problem", f"{text!r} is not a finite number; {hint}", name, rows)
    return numbers


def _ambiguity(cells, commas):
    """Why a comma cannot be read as a decimal comma throughout a column; empty where it can."""
    given = cells[commas]
    example = given.iloc[0]
    pointed = example.replace(",", ".")
    if cells.str.contains(".", regex=False).any():
        return f"the column has decimal points too, so write {pointed} for {example}"
    if given.str.fullmatch(r"[-+]?[1-9]\d{0,2},\d{3}").all():
        return f"it may mean {pointed} or {example.replace(',', '')}: write the one meant, without a comma"
    return ""


def _check_aspect(column, ratings, findings):
    """Check what raters gave for an aspect; `ratings` has a column for each."""
    low = ratings.min().dropna()
    high = ratings.max().dropna()
    if low.empty:
        findings.say("problem", "there is no rating", column)
        return
    if low.min() == high.max():
        findings.say(
            "problem",
            f"all ratings are {low.min():g}, so that nothing correlates with "
            "them: leave the column out",
            column,
        )
        return
    for rater in low.index[low == high]:
        findings.say(
            "note", f"always {low[rater]:g}: this rater has no correlation", f"{column}:{rater}"
        )
    width = high - low
    if width.max() > 2 * width.min() > 0:
        ranges = [f"{rater} {low[rater]:g} to {high[rater]:g}" for rater in low.index]
        findings.say(
            "note",
            f"raters use different ranges, and their plain mean is taken: {', '.join(ranges)}",
            column,
        )


def _rated(name):
    """Whether a column holds ratings, by its name."""
    return name.split(":")[0].strip().lower() == "human"


def _by_text(cells):
    """Yield each different text of some cells and the rows that have it."""
    if len(cells):  # most columns have none, and to group nothing takes as long as to group a few
        for text, part in cells.groupby(cells):
            yield text, list(part.index)


def _words(texts):
    """Texts with one blank between words and none around them."""
    return texts.str.split().str.join(" ")


def _ranges(rows):
    """First and last of each run of numbers."""
    found = []
    for row in rows:
        if found and row == found[-1][1] + 1:
            found[-1][1] = row
        else:
            found.append([row, row])
    return found
