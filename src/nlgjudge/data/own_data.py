"""A file of your own: outputs of systems and what people think of them, checked before it is used.

CSV, a row per output. Columns `source`, `hypothesis` and `system` are needed; `references` (several in a
cell are parted by ``|||``), `context` and `doc_id` are optional: without `doc_id`, equal sources are one
document. A rating has the column ``human:ASPECT``, or one for each rater, ``human:ASPECT:RATER``; an empty
cell is a missing rating. Rows are numbered as a spreadsheet numbers them: the header is row 1.
"""

import csv
import io
import re
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd

from nlgjudge.data.paths import use
from nlgjudge.data.registry import blob_id
from nlgjudge.data.schema import ITEMS, build

NEEDED, OPTIONAL = ("source", "hypothesis", "system"), ("references", "context", "doc_id")
_FORM = "human:ASPECT or human:ASPECT:RATER"
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_DAMAGED = "[\ufffd\0]"  # what stands for bytes that are no UTF-8, here and in other programs
_MISREAD = "[\u00c3\u00c2][\u0080-\u00bf]|\u00e2\u20ac"  # UTF-8 taken for Latin-1 or Windows-1252
_FEW = 10  # documents


def check_own_data(path):
    """Find everything that is wrong with a file, or worth knowing about it.

    Parameters
    ----------
    path : path-like
        CSV as this module describes it.

    Returns
    -------
    pandas.DataFrame
        `kind` (`problem`, which prevents an evaluation, or `note`), `column`, `rows` (as ``2-4, 9``;
        empty for a whole column or file) and `message`; problems come first.

    Raises
    ------
    OSError
        When there is no such file.
    """
    return _examined(path)[1]


def own_data(path):
    """Read a file of your own as a benchmark.

    Parameters
    ----------
    path : path-like
        CSV as this module describes it.

    Returns
    -------
    nlgjudge.data.schema.Benchmark
        Named after the file; an item is called after its row; rater `mean` where no rater is named.

    Raises
    ------
    OSError
        When there is no such file.
    ValueError
        With every problem that `check_own_data` finds.
    """
    table, findings, columns = _examined(path)
    problems = lines(findings[findings["kind"] == "problem"])
    if problems:
        raise ValueError("\n".join([f"{path} cannot be used; {len(problems)} found:", *problems]))
    items = [(f"row {row.Index}", row.doc_id, row.system, row.source, row.hypothesis,
              [text.strip() for text in row.references.split("|||") if text.strip()], row.context)
             for row in table[[*NEEDED, *OPTIONAL]].itertuples()]
    ratings = [(f"row {row}", *of, score) for name, of in columns.items()
               for row, score in table[name].items()]
    return build(Path(path).stem, items, ratings, source="own",
                 files={Path(path).name: blob_id(Path(path).read_bytes())})


def lines(findings):
    """Say each finding in a line: where it is, then the message."""
    return [f"{', '.join(filter(None, [f.column, f.rows and f'row {f.rows}'])) or 'file'}: {f.message}"
            for f in findings.itertuples()]


def _examined(path):
    found, columns = [], {}

    def say(kind, message, column="", rows=None):
        """Keep a finding; where `rows` is a mask, only if it marks any."""
        rows = list(rows.index[rows]) if isinstance(rows, pd.Series) else rows
        if rows is None or rows:
            found.append((kind, column, _ranges(rows or []), message))

    table = _table(use(path).read_bytes(), say)
    if table is not None:
        _check_columns(table, say)
        _check_documents(table, say)
        columns = _check_ratings(table, say)
    findings = pd.DataFrame(found, columns=["kind", "column", "rows", "message"])
    return table, findings.sort_values("kind", ascending=False, kind="stable", ignore_index=True), columns


def _table(content, say):
    """Cells as text, indexed by row; None where there is nothing to check."""
    if content[:2] in (b"PK", b"\xff\xfe", b"\xfe\xff"):
        return say("problem", "a spreadsheet's own format or UTF-16: export the sheet as CSV UTF-8")
    text = content.decode("utf-8-sig", "replace")
    names = re.split(r"[\r\n]", text, maxsplit=1)[0]
    separator = max(_SEPARATORS, key=lambda s: len({*NEEDED} & {n.strip(' "') for n in names.split(s)}))
    if separator != ",":
        say("note", f"read with cells parted by {_SEPARATORS[separator]}")
    csv.field_size_limit(2**31 - 1)
    records = []
    try:
        records += csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    except csv.Error as error:
        say("problem", f"no cells can be made out from here on ({error}): a quote does not close, or text "
            "follows it; a quote within a quoted text is written twice", rows=[len(records) + 1])
    header = [name.strip() for name in (records or [[]])[0]]
    rows = {n: record for n, record in enumerate(records[1:], 2) if any(map(str.strip, record))}
    if not rows:
        return say("problem", "there is no row below the header" if header else "there is no header")
    for size in sorted({*map(len, rows.values())} - {len(header)}):
        say("problem", f"{size} cells where the header has {len(header)}: a text that holds "
            f"{_SEPARATORS[separator]} needs quotes", rows=[n for n, r in rows.items() if len(r) == size])
    for name in {n: 0 for n in header if not n or header.count(n) > 1}:
        say("problem", "several columns have this name" if name else "a column has no name", name)
    cells = [[*r, *[""] * len(header)][:len(header)] for r in rows.values()]
    table = pd.DataFrame(cells, index=[*rows], columns=header, dtype=object)
    return table.loc[:, ~table.columns.duplicated()]


def _check_columns(table, say):
    """Check names and texts, and fill in the optional columns."""
    others = {c.lower(): c for c in table if c and c not in (*NEEDED, *OPTIONAL) and not _rated(c)}
    for name in (n for n in NEEDED if n not in table):
        near = [others[c] for c in get_close_matches(name, others, 1)]
        say("problem", "the column is missing" + "".join(f"; is it {c!r}?" for c in near), name)
    for name in others.values():
        say("note", f"not used; known are {', '.join((*NEEDED, *OPTIONAL))} and {_FORM}", name)
    for name, cells in table.items():
        say("problem", "not UTF-8 here: save the file as CSV UTF-8", name, cells.str.contains(_DAMAGED))
        say("note", "looks like UTF-8 once read as something else", name, cells.str.contains(_MISREAD))
        if name in (*NEEDED, "doc_id"):
            say("problem", "an empty text: write it, or leave the row out", name, _words(cells) == "")
    for name in {*NEEDED, *OPTIONAL} - {*table}:
        table[name] = "" if name != "doc_id" else "document " + pd.Series(pd.factorize(
            _words(table.get("source", pd.Series("", table.index))))[0] + 1, table.index).astype(str)
    missing = _words(table["references"]) == ""
    say("note", "none: lexical metrics " + ("compare with the source instead" if missing.all() else
        "leave these items out"), "references", missing)


def _check_documents(table, say):
    table[["doc_id", "system"]] = table[["doc_id", "system"]].apply(_words)
    for (document, system), part in table.groupby(["doc_id", "system"]):
        if len(part) > 1 and system and all(_words(part["source"])):
            say("problem", f"several outputs of {system!r} for {document!r}: keep one, or name systems apart",
                "system", list(part.index))
    for document, part in _words(table["source"]).groupby(table["doc_id"]):
        if part.nunique() > 1:
            say("problem", f"{document!r} has {part.nunique()} sources", "doc_id", list(part.index))
    systems, documents = ({*table[name]} - {""} for name in ("system", "doc_id"))
    if len(systems) == 1:
        say("note", "one system: how the outputs of one document rank cannot be said", "system")
    if len(documents) < _FEW:
        say("note", f"only {len(documents)} documents: intervals will be wide", "doc_id")


def _check_ratings(table, say):
    """Turn ratings into numbers; return aspect and rater of their columns."""
    columns = {}
    for name in filter(_rated, table):
        _, *parts = (part.strip() for part in name.split(":"))
        if len(parts) not in (1, 2) or not all(parts) or parts[0] in ITEMS:
            say("problem", f"expected {_FORM}, and no aspect called {', '.join(ITEMS[:3])}", name)
            continue
        columns[name], cells = (*parts, "mean")[:2], _words(table[name])
        table[name] = pd.to_numeric(cells, errors="coerce").astype(float).where(np.isfinite)
        wrong = cells[table[name].isna() & (cells != "")]
        for text, part in wrong.groupby(wrong):
            hint = "write 4.5 for 4,5" if "," in text else "leave the cell empty where there is no rating"
            say("problem", f"{text!r} is not a finite number; {hint}", name, list(part.index))
        say("note", "no rating", name, cells == "")
    if not columns:
        say("problem", f"there are no ratings: expected one or more columns called {_FORM}")
    for aspect in dict.fromkeys(aspect for aspect, _ in columns.values()):
        raters = {rater: table[name] for name, (of, rater) in columns.items() if of == aspect}
        _check_aspect(f"human:{aspect}", pd.DataFrame(raters), say)
        if sum(of == aspect for of, _ in columns.values()) > max("mean" not in raters and len(raters), 1):
            say("problem", "expected one column without a rater, or one for each rater", f"human:{aspect}")
    return columns


def _check_aspect(column, ratings, say):
    low, high = ratings.min().dropna(), ratings.max().dropna()
    if low.empty or low.min() == high.max():
        return say("problem", "there is no rating" if low.empty else f"all ratings are {low.min():g}, so "
                   "that nothing correlates with them: leave the column out", column)
    for rater in low.index[low == high]:
        say("note", f"always {low[rater]:g}: this rater has no correlation", f"{column}:{rater}")
    if (high - low).max() > 2 * (high - low).min() > 0:
        say("note", "raters use different ranges, and their plain mean is taken: " + ", ".join(
            f"{rater} {low[rater]:g} to {high[rater]:g}" for rater in low.index), column)


def _rated(name):
    return name.split(":")[0].strip().lower() == "human"


def _words(texts):
    return texts.str.split().str.join(" ")


def _ranges(rows):
    """Row numbers as ``2-4, 9``."""
    breaks = [i for i in range(1, len(rows)) if rows[i] > rows[i - 1] + 1]
    parts = [rows[a:b] for a, b in zip([0, *breaks], [*breaks, len(rows)]) if rows]
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else f"{p[0]}" for p in parts)
