"""Reading printed tables, and the errors for tables that are missing or wrong."""

import pandas as pd
import pytest

from nlgjudge.ledger.printed import KEY, all_published, published, tables


@pytest.fixture
def house(tmp_path, monkeypatch):
    """An empty repository; returns a function that types a table into it."""
    folder = tmp_path / "paper_tables" / "published"
    folder.mkdir(parents=True)
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))

    def type_in(name, *lines, header="row,dataset,aspect,level,coefficient,printed,note"):
        (folder / f"{name}.csv").write_text("\n".join([header, *lines, ""]), encoding="utf-8")

    return type_in


def test_values_are_numbers_and_printed_stays_text(house):
    house(
        "chatgpt_table9",
        "A,d,x,sample,spearman,0.100,",
        "A,d,x,sample,pearson,,a dash",
        "A,d,x,sample,kendall,-0.050,",
    )
    table = published("chatgpt", "table9")
    assert table["printed"].tolist() == ["0.100", "", "-0.050"]
    assert table["value"].fillna(9).tolist() == [0.1, 9, -0.05]
    assert table["note"].tolist() == ["", "a dash", ""]


def test_tables_are_in_reading_order_and_of_correlations_only(house):
    for name in ("coascore_table12", "coascore_table2", "geval_v1_table1", "geval_table3"):
        house(name, "A,d,x,sample,spearman,0.1,")
    house("dhp_table1", "A,b,c,", header="row,column,printed,note")
    assert tables() == [
        ("geval", "table3"),
        ("geval_v1", "table1"),
        ("coascore", "table2"),
        ("coascore", "table12"),
    ]
    assert list(all_published().columns) == [*KEY, "printed", "note", "value", "paper", "artefact"]
    assert list(published("dhp", "table1").columns) == ["row", "column", "printed", "note"]


def test_an_unknown_table_names_the_known(house):
    house("geval_table1", "A,d,x,sample,spearman,0.1,")
    house("dhp_table1", "A,b,c,", header="row,column,printed,note")
    with pytest.raises(
        FileNotFoundError, match="no printed table geval_table7; there are dhp_table1, geval_table1"
    ):
        published("geval", "table7")


def test_a_repeated_key_is_named(house):
    house("geval_table1", "A,d,x,sample,spearman,0.1,", "A,d,x,sample,spearman,0.2,")
    with pytest.raises(
        ValueError,
        match=r"geval_table1.csv repeats \['A', 'd', 'x', 'sample', "
        r"'spearman'\]",
    ):
        published("geval", "table1")


def test_a_print_that_is_no_number_is_an_error(house):
    house("geval_table1", "A,d,x,sample,spearman,0.l,")
    with pytest.raises(ValueError, match="0.l"):
        published("geval", "table1")


def test_reading_does_not_turn_text_into_missing_values(house):
    house("geval_table1", "NA,d,None,sample,spearman,0.1,nan")
    (row,) = published("geval", "table1").itertuples(index=False)
    assert (row.row, row.aspect, row.note) == ("NA", "None", "nan")
    assert not pd.isna(row.value)
