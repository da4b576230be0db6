"""A benchmark as a short table: what it holds, how it was rated, and under which licence."""

from html import escape

from nlgjudge.data.registry import entries

_SAMPLE = "CC0-1.0, written for this repository"
_OWN = "that of your file"


def facts(benchmark):
    """Say what a benchmark holds.

    Parameters
    ----------
    benchmark : nlgjudge.data.schema.Benchmark

    Returns
    -------
    dict of str to str
        `data` (real, sample or own), `documents`, `systems`, `items`, `aspects` with the lowest and the highest
        rating found, and `licence`, as stated upstream for the files that were read.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> facts(load("openmeva", "sample"))["aspects"]
    'overall (1 to 5)'
    """
    items = benchmark.items
    return {
        "data": benchmark.notice or benchmark.source,
        "documents": f"{items['doc_id'].nunique():,}",
        "systems": f"{items['system_id'].nunique():,}",
        "items": f"{len(items):,}",
        "aspects": _aspects(benchmark.ratings) or "none, the texts are not rated",
        "licence": _licence(benchmark),
    }


def as_text(benchmark):
    """Write the table in plain text, a line for each fact.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> as_text(load("openmeva", "sample")).splitlines()[:2]
    ['openmeva', '  data       sample data, not comparable with the papers']
    """
    lines = [f"  {name:<9}  {fact}" for name, fact in facts(benchmark).items()]
    return "\n".join([benchmark.name, *lines])


def as_html(benchmark):
    """Write the table for a notebook.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> as_html(load("openmeva", "sample"))[:40]
    '<table><caption>openmeva</caption><tbody'
    """
    rows = [
        f"<tr><th scope='row'>{name}</th><td>{escape(fact)}</td></tr>"
        for name, fact in facts(benchmark).items()
    ]
    return (
        f"<table><caption>{escape(benchmark.name)}</caption><tbody>{''.join(rows)}</tbody></table>"
    )


def _aspects(ratings):
    """Rated aspects, each with its lowest and highest rating."""
    ends = ratings.groupby("aspect", sort=False)["score"].agg(["min", "max"])
    said = []
    for aspect, low, high in ends.itertuples():
        said.append(f"{aspect} ({low:.3g} to {high:.3g})")
    return ", ".join(said)


def _licence(benchmark):
    if benchmark.source == "own":
        return _OWN
    if benchmark.is_sample:
        return _SAMPLE
    read = set(benchmark.files.values())
    stated = [entry.licence for entry in entries() if entry.blob in read]
    return "; ".join(dict.fromkeys(stated)) or "not registered"
