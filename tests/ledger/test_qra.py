"""CV*, correlations, order and conclusions of a ledger, against published values and hand arithmetic."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgjudge.ledger import qra
from nlgjudge.ledger.printed import published
from nlgjudge.ledger.qra import conclusions, cv_star, reproducibility
from nlgjudge.ledger.verdicts import COLUMNS

# ---- CV*


@pytest.mark.parametrize(
    "measured, expected",
    [
        ([84.51, 84.50, 87.46, 85.60, 84.20, 86.61, 86.20], 1.562),
        ([30.65, 30.65, 29.13, 30.65, 29.96], 2.487),
        ([87.50, 80.75, 89.36, 88.10, 89.64, 88.80], 4.176),
        ([31.11, 30.28, 31.11, 29.12], 3.572),
    ],
)
def test_cv_star_of_the_paper_of_2022(measured, expected):
    """Belz, Popović and Mille 2022, Table 4: BLEU and SARI; the values are checked in asbelz/coeff-var too."""
    assert round(cv_star(measured), 3) == expected


def test_cv_star_of_two_correlations_in_a_published_reproduction():
    """MoJa-Ardestani/ReproNLP-2026, qra_type_i_by_qc.csv, two of its 24 pairs; it does not shift."""
    assert cv_star([0.887, 0.81]) == pytest.approx(9.047661451661178)
    assert cv_star([0.672, 0.863]) == pytest.approx(24.811467180021012)


@pytest.mark.parametrize(
    "measured, expected",
    [
        ([4.946280991735537, 4.7053941908713695, 4.384297520661157, 4.049586776859504], 12.01),
        ([4.079166666666667, 4.170833333333333, 3.1375, 3.5625], 19.09),
        ([4.7112970711297075, 4.520833333333333, 3.8451882845188283, 3.8833333333333333], 14.78),
    ],
)
def test_shifted_ratings_as_the_tool_of_qra_plus_plus_gives_them(measured, expected):
    """SamsungLabs/ReproNLP2026, readability in four studies: a scale from 1, without the factor of 2022."""
    assert round(cv_star(measured, shift=-1, over_correction=False), 2) == expected
    assert cv_star(measured, shift=-1) == pytest.approx(expected * (1 + 1 / 16), abs=0.01)


def test_cv_star_of_two_by_hand():
    """s = |x - y|/√2, c4(2) = √(2/π), and 1 + 1/8: together 112.5 √π |x - y|/(x + y)."""
    by_hand = 112.5 * np.sqrt(np.pi) * 0.1 / (1.3 + 1.4)
    assert cv_star([0.3, 0.4], shift=1) == pytest.approx(by_hand)
    assert np.allclose(cv_star([[0.3, 0.4], [0.4, 0.4]], shift=1), [by_hand, 0])


def test_a_scale_below_zero_has_no_cv_star():
    assert np.isnan(cv_star([-0.2, 0.1]))
    assert np.isnan(cv_star([0.2, np.nan]))
    with pytest.raises(ValueError, match="at least two measurements of an object, got 1"):
        cv_star([0.2])


# ---- groups of a ledger


def line(row, printed, ours, aspect="fluency", evidence="recomputed", **more):
    verdict = "exact" if ours is not None else "not_run"
    cell = {
        "paper": "p",
        "artefact": "table1",
        "row": row,
        "dataset": "d",
        "aspect": aspect,
        "level": "sample",
        "coefficient": "spearman",
        "published": printed,
        "ours": ours,
        "verdict": verdict,
        "evidence": evidence if ours is not None else "none",
        "note": "",
    }
    return {**cell, **more}


def planted(*lines):
    frame = pd.DataFrame(lines, columns=COLUMNS)
    return frame.assign(ours=pd.to_numeric(frame["ours"]))


def measured(rows, **options):
    found = reproducibility(rows, rng=np.random.default_rng(0), **options)
    return found.set_index("evidence")


LEDGER = planted(
    line("A", "0.10", 0.10),
    line("A", "0.20", 0.30, "coherence"),
    line("A", "0.15", 0.20, "AVG"),
    line("B", "0.30", 0.30),
    line("B", "0.40", 0.20, "coherence", verdict="differs", note="30 variants tried"),
    line("C", "0.20", 0.50, verdict="relabelled"),
    line("C", "0.50", None, "coherence"),
    line("D", "0.30", 0.60, evidence="substitute_judge", verdict="differs"),
    line("E", "", 0.60),
    line("F", "0.10", 0.10, "AVG", verdict="misprint"),
)


def test_kinds_of_evidence_are_apart_and_every_printed_cell_is_counted_once():
    found = measured(LEDGER, resamples=0)
    own, other = found.loc["recomputed"], found.loc["substitute_judge"]
    assert (
        own["cells"] == 4 and own["rows"] == 2 and own["agree"] == 3 and own["variants_tried"] == 30
    )
    assert own["relabelled"] == 1 and own["averages"] == 2 and other["averages"] == 0
    assert (found["printed"] == 7).all() and (found["not_run"] == 1).all()
    assert found["cells"].sum() + found["relabelled"].sum() + 1 == 7
    factor = 112.5 * np.sqrt(np.pi)
    assert own["cv_star"] == pytest.approx(factor * (0.1 / 2.5 + 0.2 / 2.6) / 4)
    assert other["cv_star"] == pytest.approx(factor * 0.3 / 2.9)


def test_order_of_rows_counts_a_tie_of_ours_as_not_upheld():
    """Fluency has A < B in print and ours; in coherence A < B in print and A > B in ours."""
    own = measured(LEDGER, resamples=0).loc["recomputed"]
    assert own["pairs"] == 2 and own["order"] == 0.5
    with_tie = planted(line("A", "0.1", 0.2), line("B", "0.3", 0.2), line("C", "0.1", 0.1))
    own = measured(with_tie, resamples=0).loc["recomputed"]
    assert own["pairs"] == 2 and own["order"] == 0.5  # A and C are equal in print and say nothing


def test_order_of_three_systems_as_in_a_published_table():
    """SamsungLabs/ReproNLP2026, answer relevancy of GT, QAG and PAQ in the original and in one reproduction.

    Each of the two reproductions upholds two of three pairs, and the table has P = 0.667.
    """
    original = ["4.834", "3.987", "3.904"]
    for again in ([4.4606, 3.2, 3.2], [4.5661, 3.6917, 3.7833]):
        rows = planted(*(line(*cell) for cell in zip(("GT", "QAG", "PAQ"), original, again)))
        assert measured(rows, resamples=0)["order"].item() == pytest.approx(2 / 3)


def test_relabelled_cells_enter_when_asked_for():
    own = measured(LEDGER, resamples=0, relabelled=True).loc["recomputed"]
    assert own["cells"] == 5 and own["relabelled"] == 0


def test_correlations_are_those_of_scipy_and_need_three_cells():
    own = measured(LEDGER, resamples=0).loc["recomputed"]
    printed, ours = [0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.3, 0.2]
    assert own["pearson"] == pytest.approx(stats.pearsonr(printed, ours)[0])
    assert own["spearman"] == pytest.approx(stats.spearmanr(printed, ours)[0])
    assert np.isnan(measured(LEDGER).loc["substitute_judge", "pearson"])


def test_a_paper_that_nobody_ran_has_a_line():
    found = reproducibility(planted(line("A", "0.1", None)), rng=np.random.default_rng(0))
    assert found[["evidence", "cells", "printed", "not_run"]].values.tolist() == [["none", 0, 1, 1]]
    assert found[["cv_star", "pearson", "order"]].isna().all(axis=None)


def test_resampled_values_are_those_of_the_cells_written_out():
    """A resample drawn as weights gives what repeating its cells gives."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5, 9) / 10, rng.integers(0, 5, 9) / 10
    weights = rng.integers(0, 4, (20, 9)).astype(float)
    for often, pearson, spearman in zip(
        weights, qra._pearson(x, y, weights), qra._spearman(x, y, weights)
    ):
        xs, ys = np.repeat(x, often.astype(int)), np.repeat(y, often.astype(int))
        assert pearson == pytest.approx(stats.pearsonr(xs, ys)[0])
        assert spearman == pytest.approx(stats.spearmanr(xs, ys)[0])


def many_rows(seed, evidence="recomputed"):
    """Twelve rows of three cells; a row is off by an amount of its own, so that cells of a row go together."""
    rng = np.random.default_rng(seed)
    return [
        line(f"row {number}", f"{value:.3f}", value + off, aspect, evidence)
        for number, off in enumerate(rng.normal(0, 0.05, 12))
        for aspect, value in zip("abc", rng.uniform(0.1, 0.6, 3))
    ]


def test_intervals_are_over_rows_and_do_not_depend_on_other_groups():
    alone = measured(planted(*many_rows(0))).loc["recomputed"]
    beside = measured(planted(*many_rows(1, "other_run"), *many_rows(0))).loc["recomputed"]
    pd.testing.assert_series_equal(alone.drop(["printed"]), beside.drop(["printed"]))
    for measure in qra.MEASURES:
        assert alone[f"{measure}_low"] <= alone[measure] <= alone[f"{measure}_high"], measure
    # The standard error of a mean of twelve independent rows, not that of 36 cells.
    rows = planted(*many_rows(0))
    spread = cv_star(np.stack([rows["published"].astype(float), rows["ours"]], axis=-1), shift=1)
    of_rows = pd.Series(spread).groupby(rows["row"]).mean()
    half = (alone["cv_star_high"] - alone["cv_star_low"]) / 2
    assert half == pytest.approx(1.96 * of_rows.std(ddof=0) / np.sqrt(12), rel=0.15)


def test_few_rows_have_no_interval():
    few = planted(*(cell for cell in many_rows(0) if cell["row"] in ("row 0", "row 1")))
    assert measured(few).loc["recomputed", ["cv_star_low", "order_high"]].isna().all()


@pytest.mark.parametrize(
    "options, said",
    [
        ({"by": []}, "expected columns of the ledger"),
        ({"by": ["evidence"]}, "evidence"),
        ({"by": ["table"]}, r"\['table'\]"),
        ({"confidence": 1}, "between 0 and 1"),
    ],
)
def test_what_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        reproducibility(LEDGER, rng=np.random.default_rng(0), **options)


# ---- conclusions


def claim(a, b, scope="coefficient=spearman; aspect=coherence"):
    return {
        "paper": "geval",
        "artefacts": "table1",
        "section": "1",
        "claim": f"{a} over {b}",
        "a": a,
        "b": b,
        "match": "each",
        "scope": scope,
        "scope_b": "",
        "relation": "higher",
        "cells": "every",
        "note": "",
    }


@pytest.fixture(scope="module")
def tested():
    """Conclusions about coherence in G-Eval's Table 1, and a ledger that has ours for four of its rows."""
    table = published("geval", "table1")
    cells = table[table["row"].isin(["ROUGE-1", "ROUGE-2", "ROUGE-L", "BERTScore", "MOVERSscore"])]
    rows = cells.assign(
        paper="geval",
        artefact="table1",
        published=cells["printed"],
        ours=cells["value"],
        verdict="exact",
        evidence="recomputed",
        note="",
    )
    # As the others but for one that is far off, one that somebody else ran and one under another name.
    rows.loc[rows["row"] == "ROUGE-2", "ours"] = 0.9
    rows.loc[rows["row"] == "BERTScore", "evidence"] = "other_run"
    rows.loc[rows["row"] == "MOVERSscore", "verdict"] = "relabelled"
    said = pd.DataFrame(
        [
            claim("ROUGE-1", "ROUGE-2"),
            claim("ROUGE-1", "ROUGE-L"),
            claim("ROUGE-2", "ROUGE-1"),
            claim("BERTScore", "ROUGE-1"),
            claim("G-EVAL-4", "ROUGE-1"),
            claim("MOVERSscore", "0.01"),
            claim("BERTScore", "0.01"),
            {**claim("G-EVAL-4", "ROUGE-1"), "relation": "none", "match": "", "note": "why"},
        ]
    )
    return conclusions(rows, table=said).set_index("evidence")


def test_conclusions_are_tested_in_print(tested):
    """Coherence in print: ROUGE-1 .167, ROUGE-2 .184, ROUGE-L .128, BERTScore .284, MOVERSscore .159, G-EVAL-4 .582."""
    assert tested.loc["print", ["listed", "tested", "hold"]].tolist() == [8, 7, 6]
    assert tested.loc["print", "share"] == pytest.approx(6 / 7)


def test_conclusions_are_tested_in_ours_where_one_kind_of_evidence_has_all_their_cells(tested):
    """Recomputed: the first three, of which the second holds, and the third, by the planted 0.9."""
    assert tested.loc["recomputed", ["tested", "hold"]].tolist() == [3, 2]
    assert tested.loc["other_run", ["tested", "hold"]].tolist() == [1, 1]
    # The first fails in both and the second holds in both; the third changes from one that holds.
    assert tested["as_in_print"].to_dict() == {"print": 7, "recomputed": 3, "other_run": 1}
    assert (tested["mixed"] == 1).all()  # BERTScore of others over a recomputed ROUGE-1
    assert set(tested.index) == {"print", "recomputed", "other_run"}
