"""The papers' printed tables, as typed into `paper_tables/published/`."""

import re
from functools import lru_cache

import pandas as pd

from nlgjudge.data.paths import root, use
from nlgjudge.papers import modules

_asked = set()
KEY = ["row", "dataset", "aspect", "level", "coefficient"]
# Titles by the key of the printed tables; G-Eval was printed twice.
PAPERS = {key: title for paper in modules().values() for key, title in paper.VERSIONS.items()}


def tables():
    """List the printed tables of correlations.

    Returns
    -------
    list of (str, str)
        Paper key and artefact key, as ``("geval_v1", "table2")``, in reading order.

    Raises
    ------
    ValueError
        For a table of a paper that no package in `nlgjudge.papers` names.

    Examples
    --------
    >>> tables()[:2]
    [('geval', 'table1'), ('geval', 'table2')]
    """
    found = []
    for path in _folder().glob("*_table*.csv"):
        head = path.read_text(encoding="utf-8").partition("\n")[0]
        if "coefficient" in head:
            found.append(tuple(path.stem.rsplit("_", 1)))
    unknown = sorted({paper for paper, _ in found} - {*PAPERS})
    if unknown:
        raise ValueError(
            f"printed tables of {', '.join(unknown)}: expected one of {', '.join(PAPERS)}; give "
            "a new paper a package in nlgjudge/papers/ with VERSIONS = {KEY: TITLE}"
        )
    return sorted(found, key=_reading_order)


def _reading_order(table):
    paper, artefact = table
    return list(PAPERS).index(paper), int(re.sub(r"\D", "", artefact))


def published(paper, artefact):
    """Read one printed table.

    Parameters
    ----------
    paper, artefact : str
        As ``"chatgpt"`` and ``"table6"``.

    Returns
    -------
    pandas.DataFrame
        For correlations `row, dataset, aspect, level, coefficient, printed` (as printed,
        empty where the paper has a dash or the text at hand lost the cell), `note`, and
        `value` (float, NaN where empty); other tables have `row, column, printed, note`.

    Raises
    ------
    FileNotFoundError
        For a table that was not typed; the message lists those that were.
    ValueError
        When a key repeats.

    Examples
    --------
    >>> table = published("geval", "table1")
    >>> table.loc[0, ["row", "aspect", "coefficient", "printed"]].tolist(), float(table.loc[0, "value"])
    (['ROUGE-1', 'coherence', 'spearman', '0.167'], 0.167)
    """
    table = _read(paper, artefact)
    _asked.add(paper)
    return table


def asked_papers():
    """Papers of which a printed table was asked for by name in this process.

    Returns
    -------
    list of str
        Their keys, in the order of `PAPERS`.

    Examples
    --------
    >>> table = published("dhp", "table2")
    >>> "dhp" in asked_papers()
    True
    """
    return [paper for paper in PAPERS if paper in _asked]


def _read(paper, artefact):
    path = _folder() / f"{paper}_{artefact}.csv"
    if not path.is_file():
        known = sorted(other.stem for other in _folder().glob("*.csv"))
        raise FileNotFoundError(f"no printed table {path.stem}; there are {', '.join(known)}")
    known = use(path).stat()
    # Its own for each caller: pandas copies what one of them changes.
    return _table(path, known.st_mtime_ns, known.st_size).copy(deep=False)


@lru_cache(maxsize=64)
def _table(path, changed, size):
    """A printed table, read again when its file has changed."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if "coefficient" not in table:
        return table
    repeated = table.duplicated(KEY)
    if repeated.any():
        raise ValueError(f"{path.name} repeats {table.loc[repeated, KEY].iloc[0].tolist()}")
    return table.assign(value=pd.to_numeric(table["printed"]))


def all_published():
    """Stack every printed correlation.

    Returns
    -------
    pandas.DataFrame
        As `published`, with `paper` and `artefact` behind.

    Examples
    --------
    >>> all_published().loc[0, ["paper", "artefact", "row", "printed"]].tolist()
    ['geval', 'table1', 'ROUGE-1', '0.167']
    """
    parts = []
    for paper, artefact in tables():
        parts.append(_read(paper, artefact).assign(paper=paper, artefact=artefact))
    return pd.concat(parts, ignore_index=True)


def _folder():
    return root() / "paper_tables" / "published"
