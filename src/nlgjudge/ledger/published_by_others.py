"""What others published about a printed table: recomputations of released replies, and runs of their own.

`paper_tables/third_party/` holds their numbers as they give them, with the place. None was computed here.
"""

import pandas as pd

from nlgjudge.data.paths import root, use
from nlgjudge.ledger.printed import KEY


def third_party(paper, artefact):
    """Read what others published about a printed table.

    Parameters
    ----------
    paper, artefact : str
        As ``"geval"`` and ``"table1"``.

    Returns
    -------
    pandas.DataFrame
        `source` (who), `what` (what the numbers rest on), `row, dataset, aspect, level, coefficient`, `value`
        (float), `printed` (as they give it), `documents` (of the level sample, how many were not left out; NaN
        where not told), `place` and `note`.

    Raises
    ------
    FileNotFoundError
        For a table that nobody is known to have computed again; the message lists the others.
    ValueError
        When a source gives a cell twice.

    Examples
    --------
    >>> found = third_party("geval", "table1")
    >>> found.loc[0, ["source", "aspect", "coefficient", "printed"]].tolist()
    ['benchclaw', 'coherence', 'spearman', '0.571']
    """
    folder = root() / "paper_tables" / "third_party"
    path = folder / f"{paper}_{artefact}.csv"
    if not path.is_file():
        known = sorted(other.stem for other in folder.glob("*.csv"))
        raise FileNotFoundError(
            f"nothing published by others on {path.stem}; there is {', '.join(known)}"
        )
    table = pd.read_csv(use(path), dtype=str, keep_default_na=False)
    repeated = table.duplicated(["source", *KEY])
    if repeated.any():
        raise ValueError(
            f"{path.name} repeats {table.loc[repeated, ['source', *KEY]].iloc[0].tolist()}"
        )
    return table.assign(
        printed=table["value"],
        value=pd.to_numeric(table["value"]),
        documents=pd.to_numeric(table["documents"]),
    )
