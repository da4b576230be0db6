"""Published tables: as typed in `paper_tables/published/`, and what others published about them."""

import re
from decimal import Decimal

import pandas as pd

from nlgjudge.data.paths import out, root
from nlgjudge.data.preferences import PAIR
from nlgjudge.papers.folders import titles

KEY = ["row", "dataset", "aspect", "level", "coefficient"]
SETTINGS_COLUMNS = [
    "paper",
    "artefact",
    "row",
    "column",
    "published",
    "ours",
    "verdict",
    "notebook",
    "note",
]
SETTINGS_VERDICTS = ("same", "within_range", "differs", "stand_in", "not_run")


def tables() -> list[tuple[str, str]]:
    """List the published tables of correlations: paper and artefact, in reading order."""
    keys = []
    for path in _folder("published").glob("*_table*.csv"):
        header = path.read_text(encoding="utf-8").partition("\n")[0]
        if "coefficient" in header:
            keys.append(tuple(path.stem.rsplit("_", 1)))
    order = list(titles())
    unknown = sorted({paper for paper, _ in keys} - {*order})
    if unknown:
        raise ValueError(
            f"published tables of {', '.join(unknown)}: expected one of {', '.join(order)}. Give a new paper a "
            "folder papers/KEY with a paper.toml"
        )
    return sorted(keys, key=lambda table: (order.index(table[0]), _number(table[1])))


def _number(artefact):
    return int(re.sub(r"\D", "", artefact))


def published(paper: str = "", artefact: str = "") -> pd.DataFrame:
    """Read one published table, as ``published("chatgpt", "table6")``, or all of correlations where none is named.

    Returns
    -------
    pandas.DataFrame
        For correlations `row, dataset, aspect, level, coefficient, printed` (text as published, empty
        for a dash or an unreadable cell), `note` and `value` (float, NaN where empty); of all tables, also
        `paper` and `artefact`. Shares of pairs, which are published in percent, are shares here: 0.935 for 93.5.
        Other tables have `row, column, printed, note`.

    Raises
    ------
    FileNotFoundError
        If the table is not in the repository; the message lists those that are.
    ValueError
        If a cell repeats.

    Examples
    --------
    >>> table = published("geval", "table1")
    >>> table.loc[0, ["row", "aspect", "coefficient", "printed"]].tolist(), float(table.loc[0, "value"])
    (['ROUGE-1', 'coherence', 'spearman', '0.167'], 0.167)
    """
    if not paper:
        parts = [published(*key).assign(paper=key[0], artefact=key[1]) for key in tables()]
        return pd.concat(parts, ignore_index=True)
    table = _read("published", paper, artefact, KEY)
    if "coefficient" in table:
        in_percent = table["level"] == PAIR
        table.loc[in_percent, "printed"] = table.loc[in_percent, "printed"].map(_share)
        table["value"] = pd.to_numeric(table["printed"])
    return table


def _share(percent):
    """A percentage as a share, with all of its digits."""
    return str(Decimal(percent).scaleb(-2)) if percent else ""


def third_party(paper, artefact):
    """Read the lines of `Table.third_party`."""
    table = _read("third_party", paper, artefact, ["source", *KEY])
    return table.assign(
        printed=table["value"],
        value=pd.to_numeric(table["value"]),
        documents=pd.to_numeric(table["documents"]),
    )


def settings(paper, ours, notebook, sample):
    """Compare and save the lines of `Table.settings`."""
    key = ["artefact", "row", "column"]
    printed = pd.concat(
        [published(paper, name).assign(artefact=name) for name in ours["artefact"].unique()]
    )
    cells = printed.drop(columns="note").rename(columns={"printed": "published"})
    cells = cells.merge(ours, on=key, how="outer", indicator=True, validate="1:1", sort=False)
    odd = cells["_merge"] != "both"
    if odd.any():
        raise ValueError(
            f"expected one row for each published cell of {paper}, "
            f"got {cells.loc[odd, [*key, '_merge']].iloc[0].tolist()}"
        )
    equal = (cells["published"] == cells["ours"]).map({True: "same", False: "differs"})
    cells["verdict"] = cells.get("verdict", equal).fillna(equal)
    unexplained = (cells["verdict"] != "same") & (cells["note"] == "")
    wrong = unexplained | ~cells["verdict"].isin(SETTINGS_VERDICTS)
    if wrong.any():
        raise ValueError(
            f"expected a verdict of {', '.join(SETTINGS_VERDICTS)}, with a note unless it is same; "
            f"got {cells.loc[wrong, [*key, 'verdict']].iloc[0].tolist()}"
        )
    cells = cells.assign(paper=paper, notebook=notebook)
    in_order = printed[key].merge(cells, on=key)[SETTINGS_COLUMNS]
    path = out(sample) / "settings" / f"{notebook}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    in_order.to_csv(path, index=False, lineterminator="\n")
    return in_order


def _folder(name):
    return root() / "paper_tables" / name


def _read(folder, paper, artefact, key):
    """A table as text; its cells must not repeat."""
    path = _folder(folder) / f"{paper}_{artefact}.csv"
    if not path.is_file():
        available = sorted(other.stem for other in path.parent.glob("*.csv"))
        raise FileNotFoundError(
            f"no table {path.stem} in {folder}; there are {', '.join(available)}"
        )
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if "coefficient" in table and table.duplicated(key).any():
        repeated = table.loc[table.duplicated(key), key].iloc[0].tolist()
        raise ValueError(f"{path.name} repeats {repeated}")
    return table
