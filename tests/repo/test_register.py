"""`nlgjudge reproducibility`, and what `make reproduce` says of the records."""

import shutil

import pytest

from nlgjudge.data.paths import root
from nlgjudge.ledger import qra_records
from nlgjudge.ledger.ledger import committed
from nlgjudge.repo import cli, workflow

COMMITTED = root() / "paper_tables" / "reproducibility"


def test_the_command_shows_a_papers_measures_by_table(capsys):
    assert cli.main(["reproducibility", "geval", "--tables"]) == 0
    shown, words = capsys.readouterr().out.split("\n\n")
    rows = committed().query("paper == 'geval'")
    compared = rows[rows["ours"].notna() & (rows["published"] != "")]
    pairs = compared[["artefact", "evidence"]].drop_duplicates()
    lines = [line.split() for line in shown.splitlines()[1:]]
    assert sorted((line[1], line[2]) for line in lines) == sorted(
        pairs.itertuples(index=False, name=None)
    )
    assert {line[0] for line in lines} == {
        "geval"
    } and "searched so that it fits the print" in words


def test_the_command_writes_records_and_badges_where_it_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(qra_records, "PAPERS", {"dhp": "DHP"})
    assert cli.main(["reproducibility", "-o", str(tmp_path)]) == 0
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*"))
    assert written == ["figures/badge_dhp.svg", "reproducibility/dhp.json"]
    assert (tmp_path / "reproducibility" / "dhp.json").read_bytes() == (
        COMMITTED / "dhp.json"
    ).read_bytes()
    assert str(tmp_path / "reproducibility" / "dhp.json") in capsys.readouterr().out


def test_an_unknown_paper_is_refused(capsys):
    assert cli.main(["reproducibility", "nope"]) == 1
    assert "paper nope: expected one of geval" in capsys.readouterr().err


@pytest.fixture
def records(tmp_path):
    return [
        shutil.copy(COMMITTED / f"{paper}.json", tmp_path / f"{paper}.json")
        for paper in ("geval", "dhp")
    ]


def test_what_a_run_made_is_compared_with_what_is_committed(records, tmp_path):
    assert workflow.compare_files(records, COMMITTED, "records") == "2 records: all as committed"
    records[1].write_text("{}")
    new = shutil.copy(records[0], tmp_path / "a_new_paper.json")
    twin = shutil.copy(records[0], tmp_path / "a_new_paper.svg")
    assert (
        workflow.compare_files([*records, new, twin], COMMITTED, "records")
        == "3 records: not as committed, dhp, a_new_paper"
    )
