"""Verdicts by hand, comparison with a small published table, and the ledger as a file."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.ledger import ledger
from nlgjudge.ledger.average_audit import with_misprints
from nlgjudge.ledger.comparison import compare, verdict
from nlgjudge.ledger.ledger import CELL, UNPUBLISHED, write
from nlgjudge.ledger.printed import KEY, published
from nlgjudge.ledger.verdicts import COLUMNS, EVIDENCE, GROUPS, MISPRINT, of_others, was_run
from nlgjudge.notebook.whole_table import SHOWN

NONE = (np.nan, np.nan)


@pytest.mark.parametrize(
    "printed, ours, ci, expected",
    [
        ("0.167", 0.1675, NONE, "exact"),  # on the rounding edge
        ("0.167", 0.1665, NONE, "exact"),
        ("0.167", 0.16751, NONE, "close"),
        ("0.17", 0.1749, NONE, "exact"),  # two published digits: half a unit is 0.005
        ("0.17", 0.1751, NONE, "close"),
        ("-0.071", -0.0714, NONE, "exact"),
        ("0.000", -0.0004, NONE, "exact"),
        ("0.167", 0.177, NONE, "close"),  # 0.010 away
        ("0.30", 0.31, NONE, "close"),
        ("0.167", 0.1771, NONE, "differs"),
        ("0.324", -0.3243, NONE, "sign_flipped"),
        ("-0.324", 0.330, NONE, "sign_flipped"),
        ("0.324", -0.335, NONE, "differs"),
        ("0.004", -0.004, NONE, "close"),  # close comes before a change of sign
        ("0.167", 0.25, (0.167, 0.4), "within_ci"),
        ("0.167", 0.25, (0.168, 0.4), "differs"),
        ("0.167", 0.1671, (0.1, 0.2), "exact"),
        ("", 0.5, (0.1, 0.9), "not_run"),
        ("0.167", np.nan, NONE, "not_run"),
    ],
)
def test_verdict(printed, ours, ci, expected):
    assert verdict(printed, ours, ci) == expected


def against(ours, **options):
    """Compare with two rows of three cells and an average; one cell is a dash."""
    rows = [
        ("A", "d", "x", "0.100", ""),
        ("A", "d", "y", "0.200", ""),
        ("A", "d", "AVG", "0.150", ""),
        ("B", "d", "x", "-0.300", ""),
        ("B", "d", "y", "", "printed as a dash"),
        ("B", "d", "AVG", "-0.300", ""),
    ]
    table = pd.DataFrame(rows, columns=["row", "dataset", "aspect", "printed", "note"])
    table = table.assign(level="sample", coefficient="spearman")
    table["value"] = pd.to_numeric(table["printed"])
    options = {"evidence": "recomputed", "notebook": "test", **options}
    return compare("geval", "table9", table, ours, **options)


def ours_of(**values):
    """Our cells from A_x=0.1 and so on."""
    rows = [(*name.split("_"), value) for name, value in values.items()]
    frame = pd.DataFrame(rows, columns=["row", "aspect", "ours"])
    return frame.assign(dataset="d", level="sample", coefficient="spearman")


def test_compare_adds_averages_and_judges_each_cell():
    rows = against(ours_of(A_x=0.1004, A_y=0.24, B_x=-0.31))
    assert list(rows.columns) == [*COLUMNS, "sample"]
    found = rows.set_index(["row", "aspect"])
    # A's average is (0.1004 + 0.24) / 2 = 0.1702, 0.0202 off; B's lacks a cell.
    assert found["verdict"].to_dict() == {
        ("A", "x"): "exact",
        ("A", "y"): "differs",
        ("A", "AVG"): "differs",
        ("B", "x"): "close",
    }
    assert found.loc[("A", "AVG"), "ours"] == pytest.approx(0.1702)
    assert found.loc[("A", "AVG"), "difference"] == pytest.approx(0.0202)


def test_a_cell_without_a_published_value_says_why_and_whose_value_a_judges_is():
    """The note of a metric is about the published digits of its row, which this cell lacks."""
    ours = ours_of(A_x=0.1, B_y=0.5).assign(note="in the place of GPT-4", judge="gpt-4o-mini")
    for evidence, note in (
        ("rejudged", "printed as a dash; in the place of GPT-4"),
        ("none", "printed as a dash; in the place of GPT-4"),
        ("recomputed", "printed as a dash"),
    ):
        notes = against(ours, evidence=evidence).set_index("row")["note"]
        assert notes.to_dict() == {"A": "in the place of GPT-4", "B": note}
        silent = against(ours.assign(note=""), evidence=evidence).set_index("row")["note"]
        assert silent.to_dict() == {"A": "", "B": "printed as a dash"}


def test_a_cell_that_differs_says_why_it_has_no_interval():
    reasons = ["", "fewer than 10 documents with a correlation"]
    ours = ours_of(A_x=0.35, B_x=0.45).assign(
        note=["why", "why"], ci_low=[0.3, None], ci_high=[0.4, None]
    )
    found = against(ours.assign(ci_reason=reasons)).set_index("row")
    assert found["verdict"].tolist() == ["differs", "differs"]
    assert found["note"].tolist() == ["why", f"why; no interval is valid here: {reasons[1]}"]
    assert found["difference"].notna().all() and "ci_reason" not in found
    equal = against(ours_of(A_x=0.15, B_x=-0.3).assign(ci_reason=reasons))
    assert (equal["note"] == "").all()


@pytest.mark.parametrize(
    "changed, options, message",
    [
        ({}, {"evidence": "guess"}, "guess"),
        ({}, {"evidence": "rejudged"}, "name the judge"),
        ({"row": ["A", "A"], "aspect": "x"}, {}, "not a one-to-one merge"),
    ],
)
def test_compare_refuses(changed, options, message):
    with pytest.raises(ValueError, match=message):
        against(ours_of(A_x=0.1, A_y=0.1).assign(**changed), **options)


def test_another_run_of_a_metric_is_never_exact():
    """It has the published digits by chance."""
    found = against(ours_of(A_x=0.1, B_x=-0.1), evidence="other_run")
    assert found["verdict"].tolist() == ["close", "differs"]


# The ledger as a file.


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    return tmp_path


def test_write_refuses_a_cell_without_a_cause(results):
    rows = against(ours_of(A_x=0.15, A_y=0.2))
    with pytest.raises(ValueError, match=r"2 cells are neither exact nor close .* 'x'"):
        write(rows)
    path = write(rows.assign(note="another tokenizer"))
    assert path == results / "ledger" / "test.csv"
    assert ledger.read(path)["ours"].tolist() == [0.15, 0.2, 0.175]


def test_values_of_the_sample_stay_out_of_the_ledger(results):
    """Also beside real rows, because an average may hold both; and whatever verdicts and notes say."""
    both = [against(ours_of(A_x=0.1, A_y=0.9), sample=sample) for sample in (False, True)]
    rows = pd.concat(both).assign(verdict="exact", evidence="recomputed", note="a misprint")
    path = write(rows)
    assert path == results / "sample" / "ledger" / "test.csv"
    kept = ledger.read(path)
    hidden = ["ours", "ci_low", "ci_high", "n", "n_skipped", "difference"]
    assert len(kept) == 6 and kept[hidden].isna().all().all()
    assert set(kept["verdict"]) == {"not_run"} and set(kept["note"]) == {SAMPLE_NOTICE}


def part(folder, name, evidence, ours, rows=("ROUGE-1",)):
    """A part of the ledger: all cells of some rows of a real table, at one value."""
    table = published("geval", "table1")
    values = table[table["row"].isin(rows) & (table["aspect"] != "AVG")][KEY]
    values = values.assign(ours=ours, note=f"note of {name}")
    rows = compare("geval", "table1", table, values, evidence=evidence, notebook=name)
    ledger.save(rows, folder / f"{name}.csv")
    return folder / f"{name}.csv"


def test_merge_without_parts_has_every_published_cell_and_says_what_each_needs():
    rows = ledger.merge([])
    cells = published()
    assert list(rows.columns) == [*COLUMNS, "group", "address"]
    assert rows[[*CELL, "published"]].values.tolist() == cells[[*CELL, "printed"]].values.tolist()
    assert set(rows["verdict"]) == {"not_run", MISPRINT} and set(rows["evidence"]) == {"none"}
    assert set(rows["group"]) == {GROUPS[4], GROUPS[2], *UNPUBLISHED}
    assert (rows["note"].str.strip() != "").all()


def test_merge_prefers_the_better_evidence_in_any_order(tmp_path):
    order = ["recomputed", "released_responses", "other_run", "rejudged", "substitute_judge"]
    assert sorted(order, key=EVIDENCE.index) == order
    parts = [
        part(tmp_path, "released", "released_scores", 0.5, ("ROUGE-1", "ROUGE-2")),
        part(tmp_path, "recomputed", "recomputed", 0.25),
    ]
    for given in (parts, parts[::-1]):
        rows = ledger.merge(given)
        assert not rows.duplicated(CELL).any()
        ran = rows[was_run(rows)].groupby("row")
        found = ran["ours"].agg(["size", "min", "max"]).values.tolist()
        assert found == [[10, 0.25, 0.25], [10, 0.5, 0.5]]


def test_a_ledger_is_read_as_it_was_saved(tmp_path):
    rows = ledger.merge([part(tmp_path, "some", "recomputed", -1 / 3)])
    path = tmp_path / "deep" / "ledger.csv"
    ledger.save(rows, path)
    again = ledger.read(path)
    assert again.loc[again["notebook"] == "some", "ours"].tolist() == [-0.333333] * 10  # six digits
    assert again["group"].tolist() == rows["group"].tolist()
    first = path.read_bytes()
    ledger.save(again, path)
    assert path.read_bytes() == first
    tiny = ledger.merge([part(tmp_path, "tiny", "recomputed", -1e-9)])
    ledger.save(tiny, path)
    assert "-0.0," not in path.read_text(encoding="utf-8")


def test_kept_reruns_accumulate_by_table_and_the_widest_live_judge_enters(tmp_path, monkeypatch):
    cells = ledger.committed().query("paper == 'geval'")[COLUMNS].assign(evidence="rejudged")
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    assert ledger.committed("reruns").empty and ledger.by_rank(ledger.committed("reruns")).empty
    first = cells.query("artefact == 'table1'").assign(ours=0.1)
    for rows in (first, cells.query("artefact == 'table2'").assign(ours=0.2), first):
        ledger.keep("wide", rows)
    ledger.keep("narrow", first.assign(ours=0.3))
    ledger.keep("recorded", cells.assign(ours=0.4, evidence="substitute_judge"))
    kept = ledger.committed("reruns")
    assert kept.groupby("judge").size().to_dict()["wide"] == kept.query("ours < 0.25").shape[0]
    entering = ledger.by_rank(kept)
    assert len(entering) == len(cells.query("artefact in ['table1', 'table2']"))
    assert set(entering["ours"]) == {0.1, 0.2}
    path = ledger.keep("twice", pd.concat([first, first]))
    with pytest.raises(ValueError, match=f"{path.name} has {len(first)} cells twice"):
        ledger.committed("reruns")


def test_the_committed_ledger_is_complete_and_explains_itself():
    rows = ledger.committed()
    cells = published()
    assert rows[[*CELL, "published"]].values.tolist() == cells[[*CELL, "printed"]].values.tolist()
    assert set(rows["verdict"]) <= set(SHOWN) and set(rows["evidence"]) <= set(EVIDENCE)
    silent = ~rows["verdict"].isin(["exact", "close"]) & (rows["note"].str.strip() == "")
    assert not silent.any(), rows.loc[silent, CELL].head().values.tolist()
    judged = with_misprints(rows, cells, of_others(rows))
    assert judged["verdict"].tolist() == rows["verdict"].tolist()
    ran = rows[was_run(rows)]
    assert (ran["notebook"] != "").all() and (ran["evidence"] != "none").all()
    assert not ran["note"].str.contains(SAMPLE_NOTICE).any()
    values = zip(ran["published"], ran["ours"], ran["ci_low"], ran["ci_high"])
    again = pd.Series([verdict(text, ours, ci) for text, ours, *ci in values], ran.index)
    others = ran["evidence"].isin(["other_run", "third_party"])
    again = again.mask(others & (again == "exact"), "close")
    checked = ~ran["verdict"].isin(["relabelled", MISPRINT])
    assert ran.loc[checked, "verdict"].tolist() == again[checked].tolist()
    assert (ran["difference"] - (ran["ours"] - ran["published"].astype(float))).abs().max() < 2e-6


def test_unieval_is_kept_as_a_judge_with_the_ledgers_cells():
    rows = ledger.committed().query("row == 'UniEval' and ours.notna()")[COLUMNS]
    kept = ledger.read(root() / "paper_tables" / "reruns" / "unieval.csv")
    assert rows.reset_index(drop=True).equals(kept)
