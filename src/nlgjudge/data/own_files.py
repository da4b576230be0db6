"""Data of your own: outputs with human ratings or preferences, and perhaps judges' scores, checked before use.

A table's columns get the names used here (`own_columns`), its rows become documents and outputs (`own_rows`), and its
cells numbers on a scale (`own_cells`). What is wrong is collected, so that one error names all of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import pandas as pd

from nlgjudge.data.checks import check_known
from nlgjudge.data.own_cells import judged, rated
from nlgjudge.data.own_columns import mapping, named
from nlgjudge.data.own_rows import outputs_of, with_documents
from nlgjudge.data.own_tables import read_table
from nlgjudge.data.preferences import both_orders
from nlgjudge.data.problems import Problems
from nlgjudge.data.registry import blob_id
from nlgjudge.data.scale import Scale
from nlgjudge.data.schema import ITEMS, RATINGS, SCORES, Benchmark, build, loses_letters

if TYPE_CHECKING:
    from datasets import Dataset


def own_data(
    source: str | PathLike[str] | pd.DataFrame | Dataset,
    *,
    columns: dict[str, str] | str | None = None,
    labels: dict[str, Any] | None = None,
    reverse: Sequence[str] = (),
    config: str | None = None,
    split: str | None = None,
) -> Benchmark:
    """Read outputs, human ratings and judges' scores of your own.

    Parameters
    ----------
    source
        A row per output: a file (CSV, Excel's first sheet, Parquet, JSON Lines, or JSON), a folder that `datasets`
        wrote, a DataFrame, a `datasets.Dataset` or `DatasetDict`, or ``OWNER/NAME`` of the Hugging Face Hub.

        A rating is in ``human:ASPECT``, or one per rater in ``human:ASPECT:RATER``; an existing judge's score is in
        ``judge:NAME`` or ``judge:NAME:ASPECT``. A row per rater needs a column `rater`, a row per aspect a column
        `aspect`. A cell is a number, a known word (pass and fail, low, medium and high, …) or a word of `labels`; an
        empty cell, `NA` or `-` is a missing rating.

        `system` names what wrote the output, and is not needed where each document has one. `source`, `hypothesis`,
        `references` (a list, or several separated by ``|||``) and `context` are texts that prompts can show, as any
        further column; agreement needs none of them. Outputs with equal `doc_id`, or without that column with equal
        sources, are of one document.

        With a column `other`, a row is a pair: people and judges say A (`hypothesis`), B (`other`) or tie. Two rows of
        a pair, or the columns ``judge:NAME`` and ``judge:NAME/2``, are its two orders; in ``/2``, A is the text shown
        first, which is `other`. A `DatasetDict` as `Benchmark.datasets` makes it is read back.
    columns
        Your columns by the names used here: ``{"hypothesis": "summary"}`` or ``"hypothesis=summary,source=article"``.
    labels
        By aspect, what its values are, where they are not known: ``{"quality": ["bad", "ok", "good"]}``, lowest first;
        a set of names without an order (in JSON ``{"unordered": [...]}``); the ends of numbers, as ``(1, 5)``; or a
        dict by the words of the file, as ``{"better": {"1": "A", "2": "B"}}``. Names of a `ClassLabel` or of a
        categorical column are known.
    reverse
        Aspects of which a low rating is good, as toxicity. Ratings and scores stay as they are, and so does the
        agreement of those who rate the aspect; word overlap counts the other way round.
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
        return _of_tables(source)
    names = mapping(columns)
    problems = Problems(source if isinstance(source, (str, PathLike)) else "the table")
    try:
        table = read_table(source, config, split)
    except ValueError as error:
        problems.problem(str(error))
        problems.check()
    problems.unit = table.unit
    for note in table.notes:
        problems.note(note)
    frame = with_documents(named(table.frame, names, problems), problems)
    outputs, ratings, scores = outputs_of(frame, problems)
    for aspect in [*reverse, *(labels or {})]:
        check_known("aspect", aspect, ratings["aspect"].unique())
    aspects = ratings.groupby("column")["aspect"].nunique()
    types = {name: table.labels.get(names.get(name, name)) for name in aspects.index[aspects == 1]}
    ratings, scales = rated(ratings, labels or {}, types, "other" in outputs, problems)
    scores = judged(scores, scales, problems)
    problems.check()
    for aspect in reverse:
        scales[aspect] = scales[aspect]._replace(low_is_good=True)
    return _built(table, outputs, ratings, scores, scales, problems)


def _of_tables(tables):
    """The benchmark that `Benchmark.datasets` made tables of."""
    tables = {name: part.to_pandas() for name, part in tables.items()}
    scales = {}
    for aspect, written in tables["scales"].values if "scales" in tables else ():
        kind, names, values, *rest = json.loads(written)
        scales[aspect] = Scale(kind, tuple(names), tuple(values), *rest)
    items = tables["items"].assign(references=tables["items"]["references"].map(list))
    scores = tables.get("scores", ())
    return build("own", items, tables["ratings"], scores, source="own", scales=scales)


def _built(table, outputs, ratings, scores, scales, problems):
    """The benchmark; of pairs, with both orders."""
    place = f"{problems.unit} "
    items = outputs.rename(columns={"system": "system_id"})
    items["item_id"] = place + items.index.astype(str)
    items = items[[*ITEMS, *items.columns.drop(ITEMS)]].reset_index(drop=True)
    for part in (ratings, scores):
        part["item_id"] = place + part["place"].astype(str)
    if "other" in items:
        scores["item_id"] += "/" + scores["order"]
        items, ratings = both_orders(items, ratings[RATINGS])
    if items["hypothesis"].map(loses_letters).mean() > 0.5:
        problems.note(
            "most letters are not Latin, and the papers' prompts are English: write the prompt's text yourself",
            "hypothesis",
        )
    return build(
        table.name,
        items,
        ratings[RATINGS],
        scores.assign(variant="", evidence="own")[SCORES],
        source="own",
        files={name: blob_id(content) for name, content in table.contents.items()},
        notes=problems.notes,
        scales=scales,
    )
