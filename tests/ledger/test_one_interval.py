"""Over all committed files: one number has one interval, and one cell has one verdict."""

import pandas as pd
import pytest

from nlgjudge.data.paths import root
from nlgjudge.ledger import ledger

NUMBER = ["dataset", "aspect", "level", "coefficient", "n", "ours"]


@pytest.fixture(scope="module")
def cells():
    """Every cell with a value, of the ledger and of the kept reruns."""
    folder = root() / "paper_tables"
    paths = [folder / "ledger.csv", *sorted((folder / "reruns").glob("*.csv"))]
    every = pd.concat([ledger.read(path).assign(file=path.name) for path in paths])
    return every[every["ours"].notna()]


def several(cells, key, columns):
    """Groups of cells that are equal in the key and not in the columns."""
    kept = cells.groupby(key, dropna=False).filter(
        lambda equal: len(equal[columns].drop_duplicates()) > 1
    )
    return kept.sort_values(key)[list(dict.fromkeys([*key, *columns, "file", "row"]))]


def test_equal_values_have_equal_intervals(cells):
    """A share has few possible values, so that two rows may have the same one."""
    shares = cells["level"].eq("pair") | cells["coefficient"].isin(["accuracy", "advantage"])
    for part, key in ((cells[~shares], NUMBER), (cells[shares], [*NUMBER, "row"])):
        found = several(part, key, ["ci_low", "ci_high"])
        assert found.empty, found.head(8).to_string()


def test_no_cell_has_two_verdicts(cells):
    found = several(cells, [*ledger.CELL, "ours"], ["verdict"])
    assert found.empty, found.head(8).to_string()


def test_a_value_lies_in_its_interval(cells):
    bounded = cells[cells["ci_low"].notna()]
    assert len(bounded) > 500
    assert ((bounded["ci_low"] <= bounded["ours"]) & (bounded["ours"] <= bounded["ci_high"])).all()
    assert cells.loc[cells["level"] == "system", ["ci_low", "ci_high"]].isna().all(axis=None)
