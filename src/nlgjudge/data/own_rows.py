"""Rows that belong together in data of your own: documents, outputs, pairs in both orders, and rows by rater."""

import pandas as pd

from nlgjudge.data.own_columns import NAMES, TEXTS, is_judge, is_rating
from nlgjudge.data.scale import folded
from nlgjudge.data.schema import ITEMS

OUTPUT = ["doc_id", "system"]  # what an output is known by
ORDER = "shown order"  # no column of the user
SHOWN = [*OUTPUT, ORDER]  # and of a pair, which text stands first in its row
# Winners that name a text whatever the order, and what they are in the second one.
BY_TEXT = {"model a": "B", "model 1": "B", "model b": "A", "model 2": "A"}


def with_documents(frame, problems):
    """Fill in texts, `doc_id` and `order`; an id such as 0.0 is 0."""
    frame = frame.copy()
    given = [name for name in NAMES if name in frame and name != "references"]
    frame[given] = frame[given].map(str)
    for name in [name for name in given if name not in ("context", "rater", "aspect")]:
        empty = frame[name].str.strip() == ""
        problems.problem("an empty text: write it, or leave the row out", name, empty)
    for name in [name for name in TEXTS[:4] if name not in frame]:
        frame[name] = ""
    if "doc_id" not in given:
        texts = _spaced(frame["source"]) if "source" in given else frame.index
        frame["doc_id"] = [f"document {number + 1}" for number in pd.factorize(texts)[0]]
    frame[ORDER] = "1"
    if "other" in frame:
        _in_pairs(frame, "doc_id" in given)
    for name in OUTPUT:
        frame[name] = frame[name].str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)
    several = _spaced(frame["source"]).groupby(frame["doc_id"]).transform("nunique") > 1
    problems.problem("documents with several sources", "doc_id", several)
    frame["references"] = frame["references"].map(_references)
    return frame


def _in_pairs(frame, is_named):
    """Rows with the same two texts are one pair, a document, in one order or the other."""
    texts = frame[["source", "hypothesis", "other"]].apply(_spaced)
    document = frame["doc_id"] if is_named else texts["source"]
    pair = [
        "\0".join([place, source, *sorted(shown)])
        for place, source, *shown in zip(document, *texts.values.T)
    ]
    shown_first = texts["hypothesis"].groupby(pair).transform("first")
    frame.loc[texts["hypothesis"] != shown_first, ORDER] = "2"
    first = _first_rows(frame, pair)
    if not is_named:
        frame["doc_id"] = "pair " + first.astype(str)
    number = first.groupby(frame["doc_id"]).rank("dense").astype(int)
    frame["system"] = "pair " + number.astype(str)


def _first_rows(frame, keys):
    """The row at which the keys of each row stand first."""
    return frame.index.to_series().groupby(keys).transform("first")


def _spaced(texts):
    """Texts with single blanks."""
    return texts.str.split().str.join(" ")


def _references(cell):
    texts = cell if isinstance(cell, list) else cell.split("|||")
    return [text.strip() for text in texts if text.strip()]


def outputs_of(frame, problems):
    """A row per output; and one per rating and score, with its `row` in the file and the `place` of its output."""
    ratings = _cells(frame, is_rating, ("aspect", "rater"))
    scores = _cells(frame, is_judge, ("metric", "aspect"))
    ratings["rater"] = ratings["rater"].replace("", "mean")
    alone = {
        "aspect": ratings["aspect"].nunique() == 1,
        "rater": (ratings["rater"] == "mean").all(),
    }
    by_row = [kind for kind, is_alone in alone.items() if is_alone and kind in frame]
    used = {*NAMES, ORDER, *ratings["column"], *scores["column"]} - {*alone} | {*by_row}
    further = [name for name in frame if name not in used]
    for column in further:
        problems.note(f"no rating; a prompt can show it, as {{{{{column}}}}}", column)
    _check_repeated(frame, by_row, problems)
    kept = [*OUTPUT, *ITEMS[3:], "other", *[name for name in further if name not in ITEMS]]
    outputs = frame.drop_duplicates(OUTPUT).filter(kept)
    frame["place"] = _first_rows(frame, [frame[name] for name in OUTPUT])
    for kind in by_row:
        frame[kind] = frame[kind].str.strip()
        count = f"{len(frame)} rows are read as {len(outputs)} outputs"
        problems.note(f"{count}, with {kind}s named here", kind)
    for part in (ratings, scores):
        part["order"] = part["row"].map(frame[ORDER])
        for name in ("place", *by_row):
            part[name] = part["row"].map(frame[name])
    if "other" in frame:
        second = scores["metric"].str.endswith("/2")
        scores["metric"] = scores["metric"].str.removesuffix("/2")
        scores["order"] = scores["order"].mask(second, scores["order"].map({"1": "2", "2": "1"}))
        shown = scores["cell"].map(folded).map(BY_TEXT)
        scores["cell"] = scores["cell"].mask(second & shown.notna(), shown)
    return outputs, ratings, scores


def _cells(frame, is_one, parts):
    """Row, column, the parts of the column's name, and cell, of all columns of a kind."""
    rows = [
        (row, column, *(part.strip(" :") for part in f"{column}::".split(":", 2)[1:]), cell)
        for column in filter(is_one, frame)
        for row, cell in frame[column].items()
    ]
    return pd.DataFrame(rows, columns=["row", "column", *parts, "cell"])


def _check_repeated(frame, by_row, problems):
    """Refuse rows that are one output's (and rater's, and aspect's) more than once, or with other texts."""
    first = _first_rows(frame, frame.map(str).agg("\0".join, axis=1))
    copy = first != frame.index
    for row, original in first[copy].head().items():
        message = f"repeats {problems.unit} {original}: leave it out"
        problems.problem(message, f"file, {problems.unit} {row}")
    once = frame[~copy]
    again = once.duplicated([*SHOWN, *by_row], keep=False) & (once["system"] != "")
    problems.problem(
        f"several outputs of one system for {' and '.join(['one document', *by_row])}: keep one. If each row is one "
        "rater's or one aspect's, name the column `rater` or `aspect` (or map rater=COLUMN, aspect=COLUMN), or give "
        "each rater and aspect a column human:ASPECT:RATER",
        "system",
        again,
    )
    texts = once[["source", "hypothesis", "references", "context"]].map(str)
    differ = texts.ne(texts.groupby([once[name] for name in SHOWN]).transform("first")).any(axis=1)
    message = "another text than above for this document and system"
    problems.problem(message, "system", differ & ~again)
    if copy.any() or again.any() or differ.any():
        problems.check()
