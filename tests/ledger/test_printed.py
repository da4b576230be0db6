"""Published tables, tables without correlations, and what others published."""

import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.ledger.printed import KEY, published, tables, third_party

HEADER = "row,dataset,aspect,level,coefficient,printed,note"


@pytest.fixture
def house(tmp_path, monkeypatch):
    """An empty repository; returns a function that writes a table into it."""
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))

    def write(name, *lines, header=HEADER, folder="published"):
        path = tmp_path / "paper_tables" / folder / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")

    return write


def test_values_are_numbers_and_texts_stay_texts(house):
    house("geval_table9", "NA,d,None,sample,spearman,0.100,nan", "A,d,x,sample,kendall,,a dash")
    table = published("geval", "table9")
    assert table["printed"].tolist() == ["0.100", ""] and table["note"].tolist()[0] == "nan"
    assert table["row"].tolist() == ["NA", "A"] and table["aspect"].tolist() == ["None", "x"]
    assert table["value"].fillna(9).tolist() == [0.1, 9]


def test_tables_are_in_reading_order_and_of_correlations_only(house):
    for name in ("coascore_table12", "coascore_table2", "geval_v1_table1", "geval_table3"):
        house(name, "A,d,x,sample,spearman,0.1,")
    house("dhp_table1", "A,b,c,", header="row,column,printed,note")
    names = [f"{paper} {artefact}" for paper, artefact in tables()]
    assert names == ["geval table3", "geval_v1 table1", "coascore table2", "coascore table12"]
    assert list(published().columns) == [*KEY, "printed", "note", "value", "paper", "artefact"]
    assert list(published("dhp", "table1").columns) == ["row", "column", "printed", "note"]


def test_wrong_tables_are_refused(house):
    house("geval_table1", "A,d,x,sample,spearman,0.1,", "A,d,x,sample,spearman,0.2,")
    with pytest.raises(ValueError, match="geval_table1.csv repeats .'A', 'd', 'x', 'sample', 's"):
        published("geval", "table1")
    house("geval_table2", "A,d,x,sample,spearman,0.l,")
    with pytest.raises(ValueError, match="0.l"):
        published("geval", "table2")
    with pytest.raises(FileNotFoundError, match="no table geval_table7 .*; there are geval_table1"):
        published("geval", "table7")
    line = "who,replies,A,d,x,sample,kendall,0.1,,there,"
    header = f"source,what,{','.join(KEY)},value,documents,place,note"
    house("geval_table1", line, line, header=header, folder="third_party")
    with pytest.raises(ValueError, match="geval_table1.csv repeats .'who', 'A', 'd', 'x'"):
        third_party("geval", "table1")


@pytest.fixture
def sizes(tmp_path, monkeypatch):
    """CoAScore's Table 1 (page 3) as published; the benchmark on request is not run."""
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    rows = nj.published("coascore", "table1")
    rows = rows.assign(artefact="table1", ours=rows["printed"], note="")
    rows.loc[rows["row"] == "IWSLT14", ["ours", "verdict", "note"]] = ["", "not_run", "on request"]
    return rows.drop(columns="printed")


def test_settings_are_compared_as_texts(sizes, tmp_path):
    sizes.loc[sizes["row"] == "BAGEL", ["ours", "note"]] = ["405", "one more"]
    found = nj.Table("coascore", "table1", notebook="mine").settings(sizes)
    by_row = found[found["column"] == "Size"].set_index("row")
    verdicts = by_row["verdict"].to_dict()
    same = dict.fromkeys(["SummEval", "TopicalChat", "OpenMEVA"], "same")
    assert verdicts == {**same, "BAGEL": "differs", "IWSLT14": "not_run"}
    assert by_row.loc["BAGEL", ["published", "ours"]].tolist() == ["404", "405"]
    assert pd.read_csv(tmp_path / "settings/mine.csv", keep_default_na=False).equals(found)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda t: t.iloc[1:], "expected one row for each published cell of coascore"),
        (lambda t: pd.concat([t, t.iloc[:1].assign(row="X")]), "got .*'X', 'Size', 'right_only'"),
        (lambda t: t.assign(verdict="fine"), "expected a verdict of same, within_range"),
        (lambda t: t.assign(note=""), "a note unless it is same; got .*'not_run'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(sizes, change, message):
    with pytest.raises(ValueError, match=message):
        nj.Table("coascore", "table1", notebook="mine").settings(change(sizes))
