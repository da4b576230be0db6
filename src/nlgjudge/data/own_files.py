"""A file of your own: outputs of systems and human ratings, checked before it is used.

CSV, Excel, Parquet, JSON Lines, or a folder that `datasets` wrote with `save_to_disk`; a row per output.
Columns `source`, `hypothesis` and `system` are needed; `references` (a list, or several in a cell
separated by ``|||``), `context` and `doc_id` are optional: without `doc_id`, equal sources are one document.

A rating has the column ``human:ASPECT``, or one for each rater, ``human:ASPECT:RATER``. Ratings may also
be lists with a rating for each rater, or a column `human` of dicts by aspect. There may also be a row for
each rater, named by a column `rater`, or for each aspect, named by a column `aspect`, or for both. An empty
cell, `NA`, `n/a` or `-` is a missing rating.
"""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from nlgjudge.data.choices import unknown
from nlgjudge.data.own_tables import (
    NEEDED,
    OPTIONAL,
    example_of_rating,
    files_of,
    is_rating,
    read_table,
    unfold_lists,
    unfold_rows,
    unused,
)
from nlgjudge.data.registry import blob_id
from nlgjudge.data.schema import ITEMS, LATIN_ONLY, build, loses_letters

# Cells without a rating; compared in lower case.
NOTHING = ("", "na", "n/a", "#n/a", "n.a.", "<na>", "nan", "null", "none", "-", "--", "\u2013", "?")
# Values that stand for a missing rating if they lie outside the other ratings.
CODES = (-1, -9, -99, -999, -9999, 9, 99, 999, 9999)
_FORM = "human:ASPECT or human:ASPECT:RATER"
_FEW = 10  # documents
_FEW_RATINGS = 5  # of a rater
_OPPOSED = -0.3  # correlation of two raters


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
        `kind` (`problem`, which prevents an evaluation, or `note`), `column`, `place` (as ``row 2, 9``; empty
        for a whole column or file) and `message`; problems come first. CSV and Excel have rows as a
        spreadsheet numbers them, JSON Lines has lines, Parquet and `datasets` have an index from 0 on.

    Raises
    ------
    OSError
        If there is no such file.
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
    human:fluency, row 3: 'good' is not a number; leave the cell empty where there is no rating
    human:fluency: all ratings are 4, so nothing correlates with them: leave the column out
    """
    return _examined(path, columns)[1].table()


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
        If there is no such file.
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
    table.index = [f"{findings.unit} {place}" for place in table.index]
    items = table[["doc_id", "system", "source", "hypothesis", "references", "context"]]
    scores = []
    for column, (aspect, rater) in ratings.items():
        scores += [(item_id, aspect, rater, score) for item_id, score in table[column].items()]
    files = {file.name: blob_id(file.read_bytes()) for file in files_of(path)}
    return build(Path(path).stem, items.itertuples(), scores, source="own", files=files)


def lines(findings):
    """Return a line for each finding: where it is, then the message."""
    said = []
    for finding in findings.itertuples():
        where = ", ".join(part for part in (finding.column, finding.place) if part)
        said.append(f"{where or 'file'}: {finding.message}")
    return said


def mapping(given):
    """Read a mapping of columns from text.

    Parameters
    ----------
    given : iterable of str
        Each ``NAME=COLUMN``, or several separated by commas; NAME is used here, COLUMN is the file's.

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
            parts = [text]  # the column's own name holds a comma
        for part in parts:
            name, equals, column = (piece.strip() for piece in part.partition("="))
            if not (name and equals and column):
                raise ValueError(
                    f"column mapping {part!r}: expected NAME=COLUMN, as hypothesis=summary"
                )
            columns[name] = column
    _check_mapping(columns)
    return columns


def _check_mapping(columns):
    known = (*NEEDED, *OPTIONAL, "aspect", "human")
    for name, column in columns.items():
        if name in known or is_rating(name):
            continue
        if column in known or is_rating(column):
            raise ValueError(
                f"column mapping {name}={column}: the name used here comes first, {column}={name}"
            )
        listed = [*known, *_FORM.split(" or ")]
        raise ValueError(f"column mapping {name}={column}: {unknown('name', name, listed)}")


class _Findings:
    """Problems and notes, in order."""

    def __init__(self):
        self.found = []
        self.unit = "row"

    def add(self, kind, message, column="", rows=None):
        """Add a finding; if `rows` is a mask, only if it is true somewhere."""
        place = ""
        if rows is not None:
            if not rows.any():
                return
            rows = [] if rows.all() and len(rows) > 1 else rows.index[rows]
            more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
            place = f"{self.unit} {', '.join(map(str, rows[:5]))}{more}" if len(rows) else ""
        self.found.append((kind, column, place, message))

    def table(self):
        """Findings as a table, problems first."""
        frame = pd.DataFrame(self.found, columns=["kind", "column", "place", "message"])
        return frame.sort_values("kind", ascending=False, kind="stable", ignore_index=True)


def _examined(path, columns):
    """Table with its ratings as numbers, findings, and aspect and rater of each rating's column."""
    columns = dict(columns or {})
    _check_mapping(columns)
    findings = _Findings()
    try:
        frame, findings.unit, notes = read_table(path)
    except ValueError as error:
        findings.add("problem", str(error))
        return None, findings, {}
    for note in notes:
        findings.add("note", note)
    frame, notes = unfold_lists(_renamed(frame, columns, findings))
    if not _has_columns(frame, findings):
        return None, findings, {}
    for column, note in notes:
        findings.add("note", note, column)
    frame = _with_documents(frame, findings)
    for column in unused(frame):
        findings.add("note", "not used", column)
    _check_texts(frame, findings)
    return frame, findings, _check_ratings(frame, findings)


def _renamed(frame, columns, findings):
    """Give the mapped columns the names used here; one column may serve two purposes."""
    made = {name: frame[name] for name in frame if name not in columns.values()}
    for name, column in columns.items():
        if column in frame:
            made[name] = frame[column]
        else:
            findings.add("problem", unknown("column", column, frame.columns), name)
    return pd.DataFrame(made, index=frame.index, dtype=object)


def _has_columns(frame, findings):
    """Whether the needed columns are there; the message shows how to map columns."""
    missing = [name for name in NEEDED if name not in frame]
    rated = any(map(is_rating, frame))
    if missing or not rated:
        example = [f"{name}=COLUMN" for name in missing]
        if not rated:
            example.append(example_of_rating(frame))
        wanted = [*missing, *([] if rated else [_FORM])]
        findings.add(
            "problem",
            f"missing {', '.join(wanted)}; the file has the columns {', '.join(frame)}. Rename them, or "
            f'map them with the parameter `columns`: -p columns "{",".join(example)}"',
        )
    return not missing


def _with_documents(frame, findings):
    """Fill in `doc_id`, merge ids such as 0.0 and 0, and give rows of one output one row."""
    frame = frame.copy()
    for name in ("source", "hypothesis", "system", "doc_id", "context"):
        if name in frame:
            frame[name] = frame[name].map(str)
    if "doc_id" not in frame:
        sources = frame["source"].str.split().str.join(" ")
        frame["doc_id"] = [f"document {number + 1}" for number in pd.factorize(sources)[0]]
    for name in ("doc_id", "system"):
        ids = frame[name].str.strip()
        whole = ids.str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)
        merged = (whole != ids) & whole.isin(ids)
        findings.add("note", "a number such as 0.0 is read as 0, which is there too", name, merged)
        frame[name] = whole if merged.any() else ids
    frame, notes = unfold_rows(frame)
    for column, note in notes:
        findings.add("note", note, column)
    repeated = frame.duplicated(["doc_id", "system"], keep=False) & (frame["system"] != "")
    findings.add(
        "problem",
        "several outputs of one system for one document: keep one. If each row is one rater's or one "
        "aspect's, name the column `rater` or `aspect` (or map rater=COLUMN, aspect=COLUMN), or give each "
        "rater and aspect a column human:ASPECT:RATER",
        "system",
        repeated,
    )
    return frame


def _check_texts(frame, findings):
    """Check texts and documents, and fill in the optional columns."""
    for name in (*NEEDED, "doc_id"):
        empty = frame[name].str.strip() == ""
        findings.add("problem", "an empty text: write it, or leave the row out", name, empty)
    for name in ("references", "context"):
        if name not in frame:
            frame[name] = ""
    frame["references"] = frame["references"].map(_references)
    missing = frame["references"].map(len) == 0
    consequence = "compare with the source instead" if missing.all() else "leave these items out"
    findings.add("note", f"none: lexical metrics {consequence}", "references", missing)
    for name in ("hypothesis", "source" if missing.all() else "references"):
        lost = frame[name].map(" ".join if name == "references" else str).map(loses_letters)
        findings.add("note", f"{LATIN_ONLY}: it gives these outputs no score", name, lost)
    sources = frame["source"].str.split().str.join(" ")
    several = sources.groupby(frame["doc_id"]).transform("nunique") > 1
    findings.add("problem", "documents with several sources", "doc_id", several)
    if frame["system"].nunique() == 1:
        findings.add("note", "one system: outputs of one document cannot be ranked", "system")
    documents = frame["doc_id"].nunique()
    if documents < _FEW:
        findings.add("note", f"only {documents} documents: intervals will be wide", "doc_id")


def _references(cell):
    texts = cell if isinstance(cell, list) else cell.split("|||")
    return [text.strip() for text in texts if text.strip()]


def _check_ratings(frame, findings):
    """Turn ratings into numbers; return aspect and rater of their columns."""
    columns = {}
    by_aspect = {}
    for name in filter(is_rating, list(frame)):
        _, *parts = (part.strip() for part in name.split(":"))
        if len(parts) not in (1, 2) or not all(parts) or parts[0] in ITEMS:
            findings.add(
                "problem", f"expected {_FORM}, and no aspect called {', '.join(ITEMS[:3])}", name
            )
            continue
        frame[name] = _numbers(name, frame[name], findings)
        aspect, rater = [*parts, "mean"][:2]
        columns[name] = (aspect, rater)
        raters = by_aspect.setdefault(aspect, {})
        if rater in raters or (raters and "mean" in (rater, *raters)):
            findings.add(
                "problem", "expected one column without a rater, or one for each rater", name
            )
        raters[rater] = frame[name]
    for aspect, raters in by_aspect.items():
        _check_aspect(f"human:{aspect}", pd.DataFrame(raters), findings)
    return columns


def _numbers(name, cells, findings):
    """Ratings of a column as numbers, NaN where there is none."""
    cells = cells.map(str).str.strip()
    nothing = cells.str.lower().isin(NOTHING)
    findings.add("note", "no rating", name, nothing)
    commas = cells.str.fullmatch(r"[-+]?\d+,\d{1,2}")
    findings.add("note", "read with decimal commas: 4,5 is 4.5", name, commas)
    cells = cells.where(~commas, cells.str.replace(",", "."))
    numbers = pd.to_numeric(cells.where(~nothing), errors="coerce").astype(float)
    wrong = (numbers.isna() & ~nothing) | np.isinf(numbers)
    for text in cells[wrong].unique():
        hint = "leave the cell empty where there is no rating"
        findings.add("problem", f"{text!r} is not a number; {hint}", name, wrong & (cells == text))
    numbers = numbers.where(np.isfinite(numbers))
    codes = numbers.isin(CODES)
    others = numbers[~codes]
    codes &= (numbers < others.min()) | (numbers > others.max())
    named = ", ".join(f"{code:g}" for code in sorted(numbers[codes].unique()))
    findings.add(
        "note",
        f"{named} outside the other ratings ({others.min():g} to {others.max():g}), taken as ratings. If "
        "they mean that there is no rating, empty these cells: frame.replace({code: None}) in pandas",
        name,
        codes,
    )
    return numbers


def _check_aspect(column, ratings, findings):
    """Check the ratings of an aspect; a column for each rater."""
    low = ratings.min(axis=None)
    high = ratings.max(axis=None)
    if np.isnan(low):
        findings.add("problem", "there is no rating", column)
    elif low == high:
        findings.add(
            "problem",
            f"all ratings are {low:g}, so nothing correlates with them: leave the column out",
            column,
        )
    _check_ranges(column, ratings.loc[:, ratings.count() >= _FEW_RATINGS], findings)
    agreement = ratings.corr(min_periods=_FEW_RATINGS)
    for first, second in combinations(ratings, 2):
        if agreement.loc[first, second] < _OPPOSED:
            findings.add(
                "note",
                f"raters {first} and {second} contradict each other (correlation "
                f"{agreement.loc[first, second]:.2f}), and their mean is taken: is one scale reversed?",
                column,
            )


def _check_ranges(column, ratings, findings):
    """Note the two raters furthest apart if one's mean is no rating that the other would give."""
    means = ratings.mean()
    if means.empty:
        return
    low = ratings[means.idxmin()]
    high = ratings[means.idxmax()]
    if low.mean() < high.min() or high.mean() > low.max():
        ranges = [f"{one.name} ({one.min():g} to {one.max():g})" for one in (low, high)]
        findings.add(
            "note",
            f"the ratings of {' and '.join(ranges)} differ in their range, and their mean is taken: is it "
            "one scale?",
            column,
        )
