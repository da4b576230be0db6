"""One tidy schema for every benchmark: items, ratings and metric scores, joined by key."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import pandas as pd

from nlgjudge.data.checks import first
from nlgjudge.data.markup import shown
from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.data.registry import entries
from nlgjudge.data.scale import PREFERENCE, Scale, scale_in

if TYPE_CHECKING:
    from datasets import DatasetDict

ITEMS = ["item_id", "doc_id", "system_id", "source", "hypothesis", "references", "context"]
RATINGS = ["item_id", "aspect", "rater", "score"]
SCORES = ["item_id", "metric", "aspect", "score", "variant", "evidence"]
LATIN_ONLY = "ROUGE reads Latin letters and digits only"


@dataclass(frozen=True)
class Benchmark:
    """A benchmark in the tidy schema.

    Attributes
    ----------
    items
        Columns `item_id, doc_id, system_id, source, hypothesis, references (list),
        context`, one row per item.
    ratings
        Columns `item_id, aspect, rater, score`; rater `mean` where only a mean is
        published. NaN marks a missing rating.
    scores
        Released metric scores: `item_id, metric, aspect, score, variant, evidence`; may
        be empty.
    source
        Whether the texts are the published ones, the repository's sample or the user's.
    files
        Each file read, with its git blob id.
    left_out
        Each optional file that was not used, and why.
    notes
        What to know about a file of your own.
    scales
        By aspect, what its values are, where somebody has declared it; see `scale`.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> chats = nj.load("topical_chat", "sample")
    >>> chats.is_sample, chats.aspects[:3], chats.items.columns.tolist()[:3]
    (True, ['naturalness', 'coherence', 'engagingness'], ['item_id', 'doc_id', 'system_id'])
    """

    name: str
    items: pd.DataFrame
    ratings: pd.DataFrame
    scores: pd.DataFrame
    source: Literal["real", "sample", "own"] = "real"
    files: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    scales: dict[str, Scale] = field(default_factory=dict)

    def __repr__(self):
        lines = [f"  {name:<9}  {fact}" for name, fact in self._facts().items()]
        return shown("\n".join([self.name, *lines]))

    def _repr_html_(self):
        rows = [
            f"<tr><th scope='row'>{name}</th><td>{shown(fact, 'html')}</td></tr>"
            for name, fact in self._facts().items()
        ]
        body = f"<caption>{shown(self.name, 'html')}</caption><tbody>{''.join(rows)}</tbody>"
        return f"<table>{body}</table>"

    def _facts(self):
        """Contents, scales found, and the licence stated upstream."""
        ends = self.ratings.groupby("aspect", sort=False)["score"].agg(["min", "max"])
        names = {aspect: ", ".join(scale.names) for aspect, scale in self.scales.items()}
        aspects = [
            f"{aspect} ({names.get(aspect) or f'{low:.3g} to {high:.3g}'})"
            for aspect, low, high in ends.itertuples()
        ]
        blobs = set(self.files.values())
        licences = dict.fromkeys(entry.licence for entry in entries() if entry.blob in blobs)
        licence = {"own": "that of your file", "sample": "CC0-1.0, written for this repository"}
        facts = {
            "data": self.notice or self.source,
            "documents": f"{self.items['doc_id'].nunique():,}",
            "systems": f"{self.items['system_id'].nunique():,}",
            "items": f"{len(self.items):,}",
            "aspects": ", ".join(aspects) or "none, the texts are not rated",
            "licence": licence.get(self.source) or "; ".join(licences) or "not registered",
        }
        return facts | ({"notes": "; ".join(self.notes)} if self.notes else {})

    @property
    def aspects(self) -> list[str]:
        """Rated aspects, in the benchmark's order."""
        return self.ratings["aspect"].unique().tolist()

    def scale(self, aspect: str) -> Scale:
        """What an aspect's values are; 0 and 1 are categories unless it is declared otherwise."""
        ratings = self.ratings.loc[self.ratings["aspect"] == aspect, "score"]
        return self.scales.get(aspect) or scale_in(ratings)

    def check_ordered(self, aspects: Iterable[str]) -> None:
        """Raise a ValueError where labels have no order, so that none is better and nothing correlates."""
        for aspect in aspects:
            if self.scale(aspect).kind == "unordered":
                raise ValueError(f"the labels of {aspect} have no order: take nlgjudge.report")

    @property
    def is_sample(self) -> bool:
        """Whether the texts are the repository's own sample."""
        return self.source == "sample"

    @property
    def notice(self) -> str:
        """Label for everything computed from this benchmark; empty for real data."""
        return SAMPLE_NOTICE if self.is_sample else ""

    @property
    def digest(self) -> str:
        """Short digest of the files read, by their blob ids; of the name for a sample."""
        parts: list = sorted(self.files.items())
        if self.is_sample:
            parts = [self.name, *sorted(self.left_out)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]

    def human(self) -> pd.DataFrame:
        """Mean rating of each item over raters: `item_id, doc_id, system_id` and one column per aspect.

        Where the scale is declared to be categories, the one that most raters chose, and NaN without a majority.

        Examples
        --------
        >>> import nlgjudge as nj
        >>> nj.load("openmeva", "sample").human().head(2)
               item_id doc_id system_id   overall
        0  s01/plotter    s01   plotter  5.000000
        1  s01/drifter    s01   drifter  2.166667
        """
        return self._human.copy()

    @cached_property
    def _human(self):
        """Mean ratings, computed once."""
        means = self.ratings.pivot_table(
            index="item_id", columns="aspect", values="score", aggfunc="mean", dropna=False
        )
        for aspect, scale in self.scales.items():
            if scale.names:
                votes = self.ratings[self.ratings["aspect"] == aspect]
                means[aspect] = scale.combine(votes, ["item_id"])
        means = means[self.aspects].reset_index()
        keys = self.items[["item_id", "doc_id", "system_id"]]
        return keys.merge(means, on="item_id", how="left", validate="1:1")

    def head(self, documents: int) -> Benchmark:
        """Keep the first documents; 0 keeps all.

        Examples
        --------
        >>> import nlgjudge as nj
        >>> len(nj.load("openmeva", "sample").head(2).items)
        8
        """
        items = first(self.items, documents)
        ratings, scores = (
            table[table["item_id"].isin(items["item_id"])] for table in (self.ratings, self.scores)
        )
        return replace(self, items=items, ratings=ratings, scores=scores)

    def with_scores(self, scores: pd.DataFrame) -> pd.DataFrame:
        """Join metric columns to the human means.

        Parameters
        ----------
        scores
            `item_id` and one column per metric.

        Returns
        -------
        pandas.DataFrame
            As `human`, with the metric columns; items without a score have NaN.

        Raises
        ------
        ValueError
            For repeated or unknown items, or a metric named like an aspect.

        Examples
        --------
        >>> import nlgjudge as nj
        >>> stories = nj.load("openmeva", "sample")
        >>> lengths = stories.items["hypothesis"].str.len()
        >>> scores = stories.with_scores(stories.items[["item_id"]].assign(length=lengths))
        >>> list(scores)
        ['item_id', 'doc_id', 'system_id', 'overall', 'length']
        >>> nj.correlation(scores, "length", "overall", level="sample", coefficient="spearman").n
        12
        """
        repeated = scores["item_id"].duplicated().sum()
        unknown = (~scores["item_id"].isin(self.items["item_id"])).sum()
        clash = set(self.aspects) & set(scores.columns)
        if repeated or unknown or clash:
            raise ValueError(
                f"scores for {self.name}: expected one row per known item and metric names that are no "
                f"aspects, got {repeated} repeated and {unknown} unknown items, clashing columns "
                f"{sorted(clash)}"
            )
        return self.human().merge(scores, on="item_id", how="left", validate="1:1")

    def released(self) -> pd.DataFrame:
        """Released scores: `item_id` and a column per metric (and aspect, where it has one).

        No row where nothing was released, as with a sample.

        Examples
        --------
        >>> item = ("d1/A", "d1", "A", "a source", "a text", [], "")
        >>> toy = build("toy", [item], [], [("d1/A", "bleu", "", 0.25, "", "released_scores")])
        >>> toy.released().to_dict("records")
        [{'item_id': 'd1/A', 'bleu': 0.25}]
        """
        endings = self.scores["aspect"].map(lambda aspect: f":{aspect}" if aspect else "")
        named = self.scores.assign(name=self.scores["metric"] + endings)
        wide = named.pivot(index="item_id", columns="name", values="score")
        return wide[named["name"].unique()].reset_index()

    def datasets(self) -> DatasetDict:
        """Return the tables, and scales that are declared, as a `datasets.DatasetDict` with typed features.

        Examples
        --------
        >>> import nlgjudge as nj
        >>> {name: table.num_rows for name, table in nj.load("openmeva", "sample").datasets().items()}
        {'items': 48, 'ratings': 144, 'scores': 0}
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of progress bars, in a notebook without widgets
            from datasets import Dataset, DatasetDict, Features, List, Value

        text = Value("string")
        types = {"score": Value("float64"), "references": List(text)}

        tables = {"items": self.items, "ratings": self.ratings, "scores": self.scores}
        if self.scales:
            written = map(json.dumps, self.scales.values())
            tables["scales"] = pd.DataFrame({"aspect": [*self.scales], "scale": [*written]})
        for name, table in tables.items():
            features = Features({column: types.get(column, text) for column in table})
            tables[name] = Dataset.from_dict(table.to_dict("list"), features=features)
        return DatasetDict(tables)


def build(
    name: str,
    items: Iterable[tuple] | pd.DataFrame,
    ratings: Iterable[tuple] | pd.DataFrame,
    scores: Iterable[tuple] | pd.DataFrame = (),
    *,
    files: dict[str, str] | None = None,
    left_out: dict[str, str] | None = None,
    source: Literal["real", "sample", "own"] = "real",
    expect: tuple[int, int] | None = None,
    notes: Iterable[str] = (),
    scales: dict[str, Scale] | None = None,
) -> Benchmark:
    """Assemble and check a benchmark.

    Parameters
    ----------
    items, ratings, scores
        Rows in the schema's order; an item without `item_id` (None) gets
        ``doc_id/system_id``, and ratings and scores refer to that. Each may be a frame; further columns
        of items can be shown in prompts.
    files, left_out, source
        As the benchmark has them.
    expect
        Documents and items that the paper states.
    notes
        What to know about a file of your own.
    scales
        What the values of an aspect are; those of pairs are preferences.

    Raises
    ------
    ValueError
        When keys repeat or dangle, or counts are not the paper's.
    """
    tables = {
        "items": _table(items, ITEMS),
        "ratings": _table(ratings, RATINGS).astype({"score": float}),
        "scores": _table(scores, SCORES).astype({"score": float}),
    }
    item_table = tables["items"]
    keys = item_table["doc_id"] + "/" + item_table["system_id"]
    item_table["item_id"] = item_table["item_id"].fillna(keys)
    for (label, table), key in zip(tables.items(), (ITEMS[:1], RATINGS[:3], SCORES[:3])):
        repeated = table.loc[table.duplicated(key), key]
        if len(repeated):
            raise ValueError(f"{name}: {label} repeat {repeated.iloc[0].tolist()}")
        dangling = sorted({*table["item_id"]} - {*item_table["item_id"]})
        if dangling:
            named = f"{len(dangling)} unknown items, as {dangling[0]!r}"
            raise ValueError(f"{name}: {label} name {named}")
    counts = (item_table["doc_id"].nunique(), len(item_table))
    if expect and counts != expect:
        raise ValueError(
            f"{name}: expected {expect[0]} documents and {expect[1]} items as in the "
            f"paper, got {counts[0]} and {counts[1]}"
        )
    if not scales and "other" in item_table:
        scales = dict.fromkeys(tables["ratings"]["aspect"], PREFERENCE)
    return Benchmark(
        name,
        item_table,
        tables["ratings"],
        tables["scores"],
        source,
        dict(files or {}),
        dict(left_out or {}),
        list(notes),
        scales or {},
    )


def _table(rows, columns):
    """A table of rows; one that is a table already may have further columns."""
    if isinstance(rows, pd.DataFrame):
        return rows.copy()
    return pd.DataFrame(list(rows), columns=columns)


def loses_letters(text: str) -> bool:
    """Whether ROUGE, which reads a to z and digits, loses most letters of a text.

    Examples
    --------
    >>> loses_letters("图书馆九点开门。"), loses_letters("Ein Café öffnet."), loses_letters("...")
    (True, False, False)
    """
    if text.isascii():
        return False
    return 2 * len(re.findall("[a-z]", text.lower())) < sum(map(str.isalpha, text))
