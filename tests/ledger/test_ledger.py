"""Verdicts by hand, comparison with a small printed table, and the merged ledger."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.judging.surface import Surface
from nlgjudge.ledger import kept_reruns, ledger
from nlgjudge.ledger.average_audit import with_misprints
from nlgjudge.ledger.comparison import averages, compare, is_rule, side_by_side, verdict
from nlgjudge.ledger.ledger import merge, write
from nlgjudge.ledger.printed import KEY, all_published, published
from nlgjudge.ledger.verdicts import COLUMNS, EVIDENCE, MISPRINT, VERDICTS, of_others, was_run
from nlgjudge.stats.correlations import correlation_table
from nlgjudge.studies.statistics_validity import planted

CELL = ["paper", "artefact", *KEY]
NONE = (np.nan, np.nan)


@pytest.mark.parametrize(
    "printed, ours, ci, expected",
    [
        ("0.167", 0.167, NONE, "exact"),
        ("0.167", 0.1675, NONE, "exact"),  # on the rounding edge
        ("0.167", 0.1665, NONE, "exact"),
        ("0.167", 0.16751, NONE, "close"),
        ("0.167", 0.16649, NONE, "close"),
        ("0.17", 0.1749, NONE, "exact"),  # two printed digits: half a unit is 0.005
        ("0.17", 0.1751, NONE, "close"),
        ("-0.071", -0.0714, NONE, "exact"),
        ("-0.071", -0.0720, NONE, "close"),
        ("0.000", -0.0004, NONE, "exact"),
        ("0.167", 0.177, NONE, "close"),  # 0.010 above, 0.010 below: still close
        ("0.167", 0.157, NONE, "close"),
        ("0.30", 0.31, NONE, "close"),
        ("0.167", 0.1771, NONE, "differs"),
        ("0.167", 0.1569, NONE, "differs"),
        ("0.324", -0.3243, NONE, "sign_flipped"),
        ("-0.324", 0.330, NONE, "sign_flipped"),
        ("0.324", -0.335, NONE, "differs"),
        ("0.004", -0.004, NONE, "close"),  # 0.008 apart: close comes before a change of sign
        ("0.167", 0.25, (0.1, 0.4), "within_ci"),
        ("0.167", 0.25, (0.167, 0.4), "within_ci"),
        ("0.167", 0.25, (0.168, 0.4), "differs"),
        ("-0.25", -0.10, (-0.3, 0.1), "within_ci"),
        ("0.167", 0.1671, (0.1, 0.2), "exact"),
        ("", 0.5, (0.1, 0.9), "not_run"),
        ("0.167", np.nan, NONE, "not_run"),
    ],
)
def test_verdict(printed, ours, ci, expected):
    assert verdict(printed, ours, ci) == expected
    assert expected in VERDICTS


def printed_table():
    """Two rows of three cells and an average; one cell is a dash."""
    rows = [
        ("A", "d", "x", "0.100", ""),
        ("A", "d", "y", "0.200", ""),
        ("A", "d", "AVG", "0.150", ""),
        ("B", "d", "x", "-0.300", ""),
        ("B", "d", "y", "", "printed as a dash"),
        ("B", "d", "AVG", "-0.300", ""),
    ]
    table = pd.DataFrame(rows, columns=["row", "dataset", "aspect", "printed", "note"])
    table = table.assign(
        level="sample", coefficient="spearman", value=pd.to_numeric(table["printed"])
    )
    return table[[*KEY, "printed", "note", "value"]]


def ours_of(**values):
    """Our cells from A_x=0.1 and so on."""
    return pd.DataFrame(
        [(*name.split("_"), v) for name, v in values.items()], columns=["row", "aspect", "ours"]
    ).assign(dataset="d", level="sample", coefficient="spearman")


def against(ours, **options):
    options = {"evidence": "recomputed", "notebook": "test", **options}
    return compare("geval", "table9", printed_table(), ours, **options)


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
    assert found.loc[("B", "x"), "difference"] == pytest.approx(-0.01)
    assert set(rows["evidence"]) == {"recomputed"} and set(rows["paper"]) == {"geval"}
    assert (found["note"] == "").all() and found["n"].isna().all()


def test_an_empty_cell_is_not_run_with_the_tables_note():
    found = against(ours_of(B_x=-0.3, B_y=0.5)).set_index("aspect")
    assert found.loc["y", "verdict"] == "not_run"
    assert found.loc["y", "note"] == "printed as a dash"
    assert found.loc["AVG", "ours"] == pytest.approx(0.1)  # (-0.3 + 0.5) / 2


def test_qags_averages_over_its_two_parts():
    table = published("geval", "table3")
    ours = table[(table["row"] == "ROUGE-2") & (table["aspect"] != "AVG")][KEY].assign(ours=0.25)
    ours.loc[ours["dataset"] == "qags_xsum", "ours"] = 0.05
    rows = compare("geval", "table3", table, ours, evidence="recomputed", notebook="test")
    average = rows[rows["aspect"] == "AVG"]
    assert len(rows) == 9 and average["ours"].tolist() == pytest.approx([0.15] * 3)
    assert set(average["dataset"]) == {"qags"}


def test_evidence_variant_note_and_interval_of_a_row():
    ours = ours_of(A_x=0.15, B_x=-0.3).assign(
        evidence=["released_scores", None],
        variant=["recall", "f"],
        note=["why", "none"],
        ci_low=[0.05, -0.4],
        ci_high=[0.2, -0.2],
        n=[100, 99],
        n_skipped=[0, 1],
    )
    found = against(ours).set_index("row")
    assert found["evidence"].to_dict() == {"A": "released_scores", "B": "recomputed"}
    assert found["verdict"].to_dict() == {"A": "within_ci", "B": "exact"}
    assert found["variant"].to_dict() == {"A": "recall", "B": "f"}
    assert found.loc["B", ["n", "n_skipped"]].tolist() == [99, 1]


def test_averages_with_intervals_resample_the_aspects_together():
    """The second aspect is the first one with its sign changed, so their mean is 0 in every resample."""
    frame = planted(np.random.default_rng(0), documents=20, systems=6).rename(
        columns={"human": "coherence"}
    )
    frame["fluency"] = -frame["coherence"]
    cells = pd.DataFrame(
        [("sample", "coherence"), ("sample", "fluency"), ("sample", "AVG")],
        columns=["level", "aspect"],
    ).assign(row="x", dataset="d", coefficient="kendall")
    ours = correlation_table(
        frame, ["a"], ["coherence", "fluency"], coefficients=("kendall",), dataset="d"
    )
    found = averages(
        cells, ours.assign(row="x"), {"d": frame}, rng=np.random.default_rng(0), resamples=100
    )
    assert found[["aspect", "level", "coefficient"]].values.tolist() == [
        ["AVG", "sample", "kendall"]
    ]
    assert found[["ours", "ci_low", "ci_high"]].to_numpy() == pytest.approx(0, abs=1e-12)


def test_an_average_inherits_what_its_cells_share():
    ours = ours_of(A_x=0.1, A_y=0.2).assign(variant="recall", note=["one", "two"])
    found = against(ours).set_index("aspect").loc["AVG"]
    assert (found["variant"], found["note"], found["verdict"]) == ("recall", "", "exact")


@pytest.mark.parametrize(
    "ours, options, message",
    [
        (
            ours_of(A_x=0.1),
            {"evidence": "guess"},
            r"evidence \['guess'\]: expected one of \['recomputed'",
        ),
        (ours_of(A_x=0.1).assign(evidence="memory"), {}, r"evidence \['memory'\]"),
        (
            pd.concat([ours_of(A_x=0.1)] * 2),
            {},
            r"two values for \['A', 'd', 'x', 'sample', 'spearman'\]",
        ),
        (ours_of(A_x=0.1, C_x=0.1), {}, r"^geval, table9: no published row 'C'; there are A, B$"),
        (
            ours_of(A_x=0.1, A_z=0.1),
            {},
            r"1 cells that the table does not publish, first \['A', 'd', 'z'",
        ),
        (
            ours_of(A_x=0.1),
            {"evidence": "rejudged"},
            r"^evidence rejudged: name the judge that gave the replies",
        ),
        (
            ours_of(A_x=0.1),
            {"evidence": "rejudged", "judge": "surface"},
            r"^judge 'surface' is a rule, not a model",
        ),
        (
            ours_of(A_x=0.1),
            {"evidence": "rejudged", "judge": Surface()},
            r"^judge 'surface' is a rule, not a model",
        ),
        (
            ours_of(A_x=0.1).assign(evidence="substitute_judge", judge="simulated"),
            {},
            "'simulated' is a rule",
        ),
        (
            ours_of(A_x=0.1, B_x=0.1).assign(judge=["gpt-4", None]),
            {"evidence": "substitute_judge"},
            "name the judge",
        ),
        (
            ours_of(A_x=0.1),
            {"evidence": "substitute_judge", "judge": "chained:surface"},
            "is a rule, not a model",
        ),
    ],
)
def test_compare_refuses(ours, options, message):
    with pytest.raises(ValueError, match=message):
        against(ours, **options)


@pytest.mark.parametrize(
    "ours, expected",
    [
        (0.1, "close"),
        (0.104, "close"),
        (0.15, "differs"),
        (-0.1, "sign_flipped"),
    ],
)
def test_another_run_of_a_metric_is_never_exact(ours, expected):
    """It has the printed digits by chance; every other verdict is that of the value."""
    kept = against(ours_of(A_x=ours), evidence="other_run").set_index("aspect")
    assert kept.loc["x", ["verdict", "evidence"]].tolist() == [expected, "other_run"]
    own = against(ours_of(A_x=ours)).set_index("aspect").loc["x", "verdict"]
    assert own == ("exact" if ours == 0.1 else expected)


def test_the_ledger_has_no_exact_cell_of_another_run():
    kept = ledger.read(root() / "paper_tables" / "ledger.csv")
    others = kept[kept["evidence"] == "other_run"]
    assert len(others) and set(others["verdict"]) <= {"close", "within_ci", "not_run"}
    assert (
        others.loc[others["verdict"] != "not_run", "note"]
        .str.contains("another run of the metric")
        .all()
    )


def test_a_near_row_is_named():
    table = published("geval", "table2")
    ours = table[table["row"] == "G-EVAL-3.5"][KEY].assign(ours=0.3, row="G-Eval-3.5")
    message = "geval, table2: no published row 'G-Eval-3.5': did you mean 'G-EVAL-3.5'"
    with pytest.raises(ValueError, match=message):
        compare(
            "geval", "table2", table, ours, evidence="rejudged", notebook="test", judge="openai:m"
        )


def test_another_models_cells_carry_its_name():
    ours = ours_of(A_x=0.1, A_y=0.2, B_x=-0.3).assign(
        judge=["gpt-4", "gpt-4", None],
        evidence=["rejudged", "rejudged", "recomputed"],
        variant=["", "one reply", ""],
    )
    found = against(ours).set_index(["row", "aspect"])
    assert list(found.reset_index()[COLUMNS]) == COLUMNS  # the judge is no column of the ledger
    # A's cells have two variants, so that their average has none of its own; B lacks a cell for one.
    assert found["variant"].to_dict() == {
        ("A", "x"): "gpt-4",
        ("A", "y"): "one reply",
        ("A", "AVG"): "",
        ("B", "x"): "",
    }
    named = against(ours_of(A_x=0.1, A_y=0.2), evidence="rejudged", judge="openai:m")
    assert named["variant"].tolist() == ["openai:m"] * 3


@pytest.mark.parametrize(
    "judge, rule",
    [
        ("surface", True),
        (Surface(), True),
        ("simulated", True),
        ("chained:surface", True),
        ("openai:surface", False),
        ("replay:closer_look/geval", False),
        ("gpt-4-0314", False),
        ("", False),
    ],
)
def test_rules(judge, rule):
    assert is_rule(judge) == rule


def test_side_by_side():
    shown = side_by_side(against(ours_of(A_x=0.1004, A_y=0.24, B_y=0.5)))
    assert shown.loc["A"].tolist() == ["0.100 (0.100)", "0.240 (0.200)", "0.170 (0.150)"]
    assert shown.loc["B", "y"] == "0.500 (-)" and shown.loc["B", "x"] == ""


def test_write_refuses_a_silent_cell(tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    rows = against(ours_of(A_x=0.15, A_y=0.2))
    with pytest.raises(
        ValueError,
        match=r"1 cells are neither exact nor close and name no cause, first "
        r"\['A', 'd', 'x'",
    ):
        write(rows[rows["aspect"] != "AVG"])
    assert not list(tmp_path.rglob("*.csv"))
    path = write(rows.assign(note="another tokenizer, tried two"))
    assert path == tmp_path / "ledger" / "test.csv"
    assert ledger.read(path)["ours"].tolist() == [0.15, 0.2, 0.175]


def test_sample_values_are_hidden_and_kept_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    rows = against(
        ours_of(A_x=0.1, A_y=0.9).assign(n=12, n_skipped=0, ci_low=0.0, ci_high=1.0), sample=True
    )
    assert set(rows["verdict"]) == {"not_run"} and set(rows["evidence"]) == {"none"}
    assert set(rows["note"]) == {SAMPLE_NOTICE}
    path = write(rows)
    assert path.is_relative_to(tmp_path / "sample")
    kept = ledger.read(path)
    hidden = ["ours", "ci_low", "ci_high", "n", "n_skipped", "difference"]
    assert len(kept) == 3 and kept[hidden].isna().all().all()


def test_a_note_of_its_own_does_not_carry_a_samples_value_into_the_ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    rows = against(ours_of(A_x=0.1, A_y=0.9), sample=True)
    for changed in (
        rows["aspect"] == "x",
        rows["aspect"] != "none",
    ):  # some of the notes, and all of them
        rows.loc[changed, "note"] = "the paper misprints this cell"
        rows.loc[changed, ["verdict", "evidence"]] = ["exact", "recomputed"]
        path = write(rows)
        assert path.is_relative_to(tmp_path / "sample") and not (tmp_path / "build").exists()
        kept = ledger.read(path)
        assert kept["ours"].isna().all() and set(kept["note"]) == {SAMPLE_NOTICE}
        assert set(kept["verdict"]) == {"not_run"} and set(kept["evidence"]) == {"none"}


def test_real_rows_beside_rows_of_the_sample_stay_out_too(tmp_path, monkeypatch):
    """An average may hold values of both."""
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    both = [against(ours_of(A_x=0.15, A_y=0.2)), against(ours_of(A_x=0.15, A_y=0.2), sample=True)]
    assert [set(rows["sample"]) for rows in both] == [{False}, {True}]
    path = write(pd.concat(both).assign(note="another tokenizer, tried two"))
    assert path.is_relative_to(tmp_path / "sample") and ledger.read(path)["ours"].isna().all()


def test_a_note_with_the_notices_words_is_a_note(tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    path = write(against(ours_of(A_x=0.15, A_y=0.2)).assign(note=SAMPLE_NOTICE))
    assert path == tmp_path / "ledger" / "test.csv" and ledger.read(path)["ours"].notna().all()


def test_rows_that_do_not_say_whether_they_are_the_samples_are_refused():
    rows = against(ours_of(A_x=0.15, A_y=0.2))
    with pytest.raises(
        ValueError, match="no column `sample`, .* give all columns that nj.compare returned"
    ):
        write(rows[COLUMNS])


def part(folder, name, evidence, ours, rows=("ROUGE-1",), note="note of "):
    """A part of the ledger: all of a row of a real printed table, at one value."""
    table = published("geval", "table1")
    values = table[table["row"].isin(rows) & (table["aspect"] != "AVG")][KEY].assign(
        ours=ours, note=note + name
    )
    path = folder / f"{name}.csv"
    ledger.save(compare("geval", "table1", table, values, evidence=evidence, notebook=name), path)
    return path


def test_merge_without_parts_has_every_printed_cell_and_says_what_each_needs():
    rows, cells = merge([]), all_published()
    assert list(rows.columns) == COLUMNS and len(rows) == len(cells)
    assert rows[CELL].values.tolist() == cells[CELL].values.tolist()
    assert rows["published"].tolist() == cells["printed"].tolist()
    assert set(rows["verdict"]) == {"not_run", MISPRINT} and set(rows["evidence"]) == {"none"}
    assert (rows["note"].str.strip() != "").all()


def test_merge_prefers_the_better_evidence_in_any_order(tmp_path):
    assert EVIDENCE.index("recomputed") < EVIDENCE.index("released_scores") < EVIDENCE.index("none")
    # The paper's protocol, asked of a live model, before recorded replies to another prompt or model.
    assert EVIDENCE.index("rejudged") < EVIDENCE.index("substitute_judge")
    # What the paper's authors or its texts give, before somebody else's run of the metric.
    assert (
        EVIDENCE.index("released_responses")
        < EVIDENCE.index("other_run")
        < EVIDENCE.index("rejudged")
    )
    parts = [
        part(tmp_path, "released", "released_scores", 0.5, ("ROUGE-1", "ROUGE-2")),
        part(tmp_path, "recomputed", "recomputed", 0.25),
    ]
    for order in (parts, parts[::-1]):
        rows = merge(order)
        assert len(rows) == len(all_published()) and not rows.duplicated(CELL).any()
        ran = rows[was_run(rows)].groupby("row")
        assert ran["ours"].unique().explode().to_dict() == {"ROUGE-1": 0.25, "ROUGE-2": 0.5}
        assert ran["notebook"].unique().explode().to_dict() == {
            "ROUGE-1": "recomputed",
            "ROUGE-2": "released",
        }
        assert ran.size().to_dict() == {"ROUGE-1": 10, "ROUGE-2": 10}
        assert (rows.loc[~was_run(rows), "note"].str.strip() != "").all()


def test_round_trip(tmp_path):
    rows = merge([part(tmp_path, "some", "recomputed", -1 / 3)])
    path = tmp_path / "deep" / "ledger.csv"
    ledger.save(rows, path)
    again = ledger.read(path)
    assert again.loc[again["notebook"] == "some", "ours"].tolist() == [-0.333333] * 10  # six digits
    text = [
        c for c in COLUMNS if c not in ("ours", "ci_low", "ci_high", "difference", "n", "n_skipped")
    ]
    assert again[text].values.tolist() == rows[text].values.tolist()
    first = path.read_bytes()
    ledger.save(again, path)
    assert path.read_bytes() == first


def test_no_minus_zero_in_the_file(tmp_path):
    rows = merge([part(tmp_path, "tiny", "recomputed", -1e-9)])
    ledger.save(rows, tmp_path / "ledger.csv")
    assert "-0.0," not in (tmp_path / "ledger.csv").read_text(encoding="utf-8")


COMMITTED = root() / "paper_tables" / "ledger.csv"


@pytest.mark.skipif(not COMMITTED.exists(), reason="no notebook was run on real data yet")
def test_the_committed_ledger_is_complete_and_explains_itself():
    rows, cells = ledger.read(COMMITTED), all_published()
    assert rows[CELL].values.tolist() == cells[CELL].values.tolist()
    assert rows["published"].tolist() == cells["printed"].tolist()
    assert set(rows["verdict"]) <= set(VERDICTS) and set(rows["evidence"]) <= set(EVIDENCE)
    silent = ~rows["verdict"].isin(["exact", "close"]) & (rows["note"].str.strip() == "")
    assert not silent.any(), rows.loc[silent, CELL].head().values.tolist()
    judged = with_misprints(rows, cells, of_others(rows))
    assert (
        judged["verdict"].tolist() == rows["verdict"].tolist()
        and (rows["verdict"] == MISPRINT).any()
    )
    ran = rows[was_run(rows)]
    assert (ran["notebook"] != "").all() and (ran["evidence"] != "none").all()
    assert not ran["note"].str.contains(SAMPLE_NOTICE).any()
    again = pd.Series(
        [verdict(r.published, r.ours, (r.ci_low, r.ci_high)) for r in ran.itertuples()], ran.index
    )
    again = again.mask(
        ran["evidence"].isin(["other_run", "third_party"]) & (again == "exact"), "close"
    )
    stated = ran["verdict"].where(~ran["verdict"].isin(["relabelled", MISPRINT]), again)
    assert stated.tolist() == again.tolist()
    assert (ran["difference"] - (ran["ours"] - ran["published"].astype(float))).abs().max() < 2e-6


def test_a_judge_with_a_printed_row_stands_beside_the_others_with_the_ledgers_cells():
    own = kept_reruns.printed_judges(ledger.read(COMMITTED))
    kept = kept_reruns.kept_cells()
    assert set(own) == {"unieval"}
    for name, cells in own.items():
        assert (
            cells[COLUMNS]
            .reset_index(drop=True)
            .equals(kept.loc[kept["judge"] == name, COLUMNS].reset_index(drop=True))
        )
