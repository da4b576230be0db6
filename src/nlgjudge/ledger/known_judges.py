"""Every judge whose agreement with people is known here, in one table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from nlgjudge.data.checks import check_known
from nlgjudge.data.paths import root, use
from nlgjudge.data.recordings import RECORDINGS, RecordingSpec
from nlgjudge.ledger.ledger import addresses, committed
from nlgjudge.ledger.verdicts import OWN, THIRD_PARTY
from nlgjudge.papers.folders import averages, paper, titles

COLUMNS = ["judge", "prompt", "benchmark", "aspect", "level", "coefficient", "replies", "value"]
COLUMNS += ["ci_low", "ci_high", "people", "prompt_tokens", "completion_tokens", "cost", "kind"]
COLUMNS += ["date", "source", "note", "address"]
# By the evidence for a value: whose judge it is.
KINDS = {
    "released_responses": "the paper's own",
    "released_scores": "the paper's own",
    "rejudged": "kept rerun",
    "substitute_judge": "recorded by others",
    "published": "published, not checkable",
    THIRD_PARTY: "computed by others",
}
_PLACE = ["dataset", "aspect", "level", "coefficient"]
_ASKED = ["dataset", "prompt", "replies"]


def judges(prices: Mapping[str, Sequence[float]] = {}) -> pd.DataFrame:
    """List what agreement with people is known of each judge, prompt and benchmark.

    Parameters
    ----------
    prices
        By judge, of a million prompt and completion tokens: ``{"gpt-4-0613": (30, 60)}``. Others have no cost.

    Returns
    -------
    pandas.DataFrame
        `judge` (the model), `prompt` (a name for `nlgjudge.prompt`; empty where it is not registered), `benchmark`,
        `aspect` (``AVG`` for a mean), `level`, `coefficient`, `replies` per item, `value` with its 95% interval
        (`ci_low, ci_high`; NaN without one), `people` (a single rater's agreement with the others, NaN if unknown),
        `prompt_tokens, completion_tokens` of a rating with this prompt (an estimate, as of a rerun's plan; NaN for a
        prompt that no published row uses), `cost` of 1,000 ratings, both orders of a pair being two,
        `kind` (the paper's own judge, recorded by others, a kept rerun, computed by others, or published and not
        checked), `date` (the year), `source`, the ledger's `note`, and the `address` of the
        published row on the site.

    Examples
    --------
    >>> found = judges().query("benchmark == 'topical_chat' and source == 'A Closer Look'")
    >>> found["judge"].unique().tolist()
    ['gpt-3.5-turbo-0613']
    """
    found = pd.concat([_of_papers(), _of_reruns()], ignore_index=True)
    found = found.drop_duplicates(["judge", "prompt", "kind", *_PLACE])
    path = use(root() / "paper_tables" / "reproducibility" / "ceilings.csv")
    found = found.merge(pd.read_csv(path), on=_PLACE, how="left")
    found = found.merge(_tokens(), on=_ASKED, how="left")
    for name in prices:
        check_known("judge", name, found["judge"].unique())
    read, written = (
        found["judge"].map({name: one[n] for name, one in prices.items()}) for n in (0, 1)
    )
    found["cost"] = (found["prompt_tokens"] * read + found["completion_tokens"] * written) / 1e3
    return found.rename(columns={"dataset": "benchmark"})[COLUMNS]


def _tokens():
    """Tokens of a rating by dataset, prompt and replies; of an average of datasets, their mean."""
    tokens = pd.read_csv(use(root() / "paper_tables" / "reproducibility" / "tokens.csv"))
    parts = [tokens]
    for name, datasets in averages().items():
        parts.append(tokens[tokens["dataset"].isin(datasets)].assign(dataset=name))
    return pd.concat(parts).groupby(_ASKED, as_index=False).mean(numeric_only=True)


def _of_papers():
    """Rows of a model in the papers' tables: with our value from its own replies, or as published."""
    cells = committed()
    protocols = [paper(key).rows.get(row) for key, row in zip(cells["paper"], cells["row"])]
    cells = cells.assign(protocol=protocols)[[protocol is not None for protocol in protocols]]
    cells = cells[cells["published"] != ""]
    own = cells["evidence"].isin([*OWN, THIRD_PARTY])
    value = cells["ours"].where(own, pd.to_numeric(cells["published"]))
    bounds = {name: cells[name].where(own) for name in ("ci_low", "ci_high")}
    return cells.assign(
        judge=[protocol.model for protocol in cells["protocol"]],
        prompt=[protocol.prompt for protocol in cells["protocol"]],
        replies=[protocol.samples for protocol in cells["protocol"]],
        value=value,
        **bounds,
        kind=cells["evidence"].where(own, "published").map(KINDS),
        date=cells["paper"].map(_year),
        source=cells["paper"].map(titles()),
    )


def _of_reruns():
    """Kept reruns, and other people's recorded replies in the place of a row."""
    cells = committed("reruns").dropna(subset="ours")
    cells = cells[cells["evidence"].isin(["rejudged", "substitute_judge"])]
    specs = [RECORDINGS.get(text.rpartition(", ")[2], RecordingSpec()) for text in cells["variant"]]
    note = cells["note"].str.rpartition("(")[2].str.partition(")")[0]
    return cells.assign(
        prompt=[spec.prompt or "" for spec in specs],
        replies=[spec.samples for spec in specs],
        value=cells["ours"],
        kind=cells["evidence"].map(KINDS),
        date=note.str.extract(r"(\d{4})$")[0].fillna(""),
        source=note.where(cells["evidence"] == "substitute_judge", "your run"),
        address=addresses(cells),
    )


def _year(key: str) -> Any:
    """The year of a paper's first named place of publication, or of an arXiv number, as 23 of 2303.04048."""
    published = paper(key).versions[key].addresses
    places = " ".join([*published, *published.values()])
    ((named, of_number), *_) = re.findall(r"\b20(\d\d)\b|/(\d\d)\d\d\.\d", places)
    return f"20{named or of_number}"
