"""How many printed values a reader reaches with nothing, with a key and with weights, and what a key costs.

`paper_tables/reach.csv` holds what a rerun of each paper takes, counted from its rows on the real data; `make
refresh` writes it anew where the data are here. The README's table is made from it and from the ledger.
"""

import pandas as pd

from nlgjudge.data.benchmarks import load
from nlgjudge.data.paths import root, use
from nlgjudge.ledger import model_rows, reruns
from nlgjudge.ledger.printed import PAPERS
from nlgjudge.ledger.verdicts import ANOTHER_MODEL, ANOTHER_RUN, THIRD_PARTY, was_run

# What the README states its estimate at: a small model's usual price, and a common limit of a new account.
PRICE = (0.15, 0.60)  # of a million prompt and a million completion tokens, in US dollars
CALLS_A_MINUTE = 500
AMOUNTS = ["requests", "calls", "prompt_tokens", "completion_tokens"]


def path():
    """Where the amounts are kept.

    Returns
    -------
    pathlib.Path
    """
    return root() / "paper_tables" / "reach.csv"


def refresh():
    """Count anew what a rerun takes, where every benchmark of a paper's rows but those on request is here.

    Returns
    -------
    bool
        Whether the file was written.
    """
    if not path().exists():
        return False
    lines = []
    for paper in model_rows.PAPERS:
        tables = model_rows.tables_of(paper)
        names = {part.scope.benchmark for part in model_rows.parts_of(paper, tables)}
        try:
            on_request = [name for name in names if load(name).is_sample]
        except KeyError:  # a registry of somebody's own, without these papers' files
            return False
        if set(on_request) - {"iwslt14"}:
            return False
        amounts = reruns.plan(paper, tables)[AMOUNTS].sum()
        lines.append({"paper": paper, **amounts.to_dict(), "without": "|".join(on_request)})
    text = pd.DataFrame(lines).to_csv(index=False, lineterminator="\n")
    if path().read_text(encoding="utf-8") == text:
        return False
    path().write_text(text, encoding="utf-8")
    return True


def table(rows):
    """How many printed values can be reached, and with what.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger.

    Returns
    -------
    pandas.DataFrame
        By paper: printed values, those that have a value `here`, and of the others those that take a `key` and those
        that take `more` (weights, or data on request); what asking a model for all of its rows takes.
    """
    printed = rows[rows["published"] != ""]
    here = was_run(printed)
    of_model = pd.Series(_of_models(printed), printed.index)
    found = (
        pd.DataFrame(
            {
                "printed": printed.groupby("paper").size(),
                "here": printed[here].groupby("paper").size(),
                "key": printed[~here & of_model].groupby("paper").size(),
                "more": printed[~here & ~of_model].groupby("paper").size(),
            }
        )
        .reindex([paper for paper in PAPERS if paper in set(printed["paper"])])
        .fillna(0)
    )
    taken = pd.read_csv(use(path())).set_index("paper")
    return found.join(taken[AMOUNTS])


def _of_models(printed):
    """Tell which printed cells are of a row for which a paper's protocol says how a model is asked."""
    rows = {
        (version, protocol.row)
        for module in model_rows.PAPERS.values()
        for version in module.VERSIONS
        for protocol in module.PROTOCOLS
    }
    return [pair in rows for pair in zip(printed["paper"], printed["row"])]


def _versions():
    """Second printed versions of a paper, whose rows are asked for with the first's."""
    return [version for module in model_rows.PAPERS.values() for version in [*module.VERSIONS][1:]]


def _amounts(paper, row):
    """Calls, tokens, cost and hours of a paper's rows, as the table shows them."""
    calls = row["calls"]
    if pd.isna(calls):
        return ["as above" if paper in _versions() else "none", "", "", "", ""]
    prompt = row["prompt_tokens"] / 1e6
    reply = row["completion_tokens"] / 1e6
    cost = prompt * PRICE[0] + reply * PRICE[1]
    hours = calls / CALLS_A_MINUTE / 60
    return [
        f"{int(calls):,}",
        f"{prompt:.1f} M",
        f"{reply:.1f} M",
        f"${cost:.0f}",
        f"{hours:.1f}",
    ]


def markdown(rows):
    """The README's table.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger.

    Returns
    -------
    str
    """
    found = table(rows)
    lines = [
        "| paper | printed values | with nothing | and a key | and weights, or data on request | calls | "
        "prompt tokens | reply tokens | cost | hours |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for paper, row in found.iterrows():
        counts = [f"{int(row[name]):,}" for name in ("printed", "here", "key", "more")]
        taken = _amounts(paper, row)
        lines.append(f"| {PAPERS[paper]} | {' | '.join([*counts, *taken])} |")
    totals = found[["printed", "here", "key", "more"]].sum().astype(int)
    lines.append(f"| all | {' | '.join(f'{value:,}' for value in totals)} | | | | | |")
    printed = rows[rows["published"] != ""]
    counts = printed.loc[was_run(printed), "evidence"].value_counts()
    judges = sum(counts.get(evidence, 0) for evidence in ANOTHER_MODEL)
    runs = counts.get(ANOTHER_RUN, 0)
    lines.append("")
    others = counts.get(THIRD_PARTY, 0)
    with_nothing = (
        f"Of the {totals['here']:,} with nothing {judges} are of another model, from replies that others "
        f"recorded, {runs} of somebody else's run of the metric, and {others} were computed and published "
        "by others."
    )
    at = f"${PRICE[0]} and ${PRICE[1]:.2f} for a million prompt and reply tokens and {CALLS_A_MINUTE} calls a minute"
    lines.append(
        f"{with_nothing} Estimates at {at}, one call for all samples of an item; stored "
        "replies cost nothing."
    )
    return "\n".join(lines)
