"""Claims on hand-made tables with known answers, on the papers' own, and on simulated scores."""

import numpy as np
import pandas as pd
import pytest

from nlgjudge.ledger.printed import all_published
from nlgjudge.ledger.prose_claims import VERDICTS, claims, listed

HOLDS, PRINT_ONLY, FAILS, UNTESTABLE = VERDICTS
# Rows A, A+ and B in three aspects, their averages, and a second table at another level.
CELLS = pd.DataFrame(
    [
        ("p", artefact, row, "d", aspect, level, "spearman", value, "")
        for artefact, level, rows in (
            (
                "table1",
                "sample",
                {
                    "A": (0.50, 0.60, 0.70),
                    "A+": (0.40, 0.70, 0.50),
                    "B": (0.45, 0.50, 0.70),
                    "C": (0.10, 0.20, np.nan),
                },
            ),
            (
                "table2",
                "dataset",
                {
                    "A": (0.30, 0.40, 0.50),
                    "A+": (0.20, 0.30, 0.30),
                    "B": (0.25, 0.35, 0.40),
                    "C": (0.15, 0.10, 0.20),
                },
            ),
        )
        for row, values in rows.items()
        for aspect, value in zip(("x", "y", "z", "AVG"), (*values, np.mean(values)))
    ],
    columns=[
        "paper",
        "artefact",
        "row",
        "dataset",
        "aspect",
        "level",
        "coefficient",
        "value",
        "note",
    ],
)


def judge(
    relation,
    a="A",
    b="B",
    match="each",
    cells="every",
    scope="artefact=table1",
    scope_b="",
    note="",
    printed=CELLS,
    **options,
):
    table = pd.DataFrame(
        [
            {
                "paper": "p",
                "artefacts": "table1|table2",
                "section": "1",
                "claim": "said",
                "a": a,
                "b": b,
                "match": match,
                "scope": scope,
                "scope_b": scope_b,
                "relation": relation,
                "cells": cells,
                "note": note,
            }
        ]
    )
    return claims(table=table, cells=printed, **options).iloc[0]


@pytest.mark.parametrize(
    "relation, options, in_print, verdict",
    [
        # A - B: 0.05, 0.10, 0.00
        ("higher", {}, "2 of 3", FAILS),
        ("higher", {"cells": "most"}, "2 of 3", HOLDS),
        ("higher", {"cells": "some"}, "2 of 3", HOLDS),
        ("as high", {}, "3 of 3", HOLDS),
        ("much higher", {"cells": "most"}, "2 of 3", HOLDS),
        ("much higher", {"margin": 0.06}, "1 of 3", FAILS),
        ("close", {}, "2 of 3", FAILS),
        ("close", {"margin": 0.1}, "3 of 3", HOLDS),
        ("lower", {}, "0 of 3", FAILS),
        ("lower", {"cells": "some"}, "0 of 3", FAILS),
        ("equal", {"b": "0.5", "scope": "artefact=table1; aspect=x"}, "1 of 1", HOLDS),
        ("lower", {"b": "0.65"}, "2 of 3", FAILS),
        ("higher", {"scope": "artefact=table1; aspect=AVG"}, "1 of 1", HOLDS),
        # A+ - B: -0.05, 0.20, -0.20; both rows each: 3 of 6; their best: 0.05, 0.20, 0.00
        ("higher", {"a": "A*"}, "3 of 6", FAILS),
        ("higher", {"a": "A*", "match": "best"}, "2 of 3", FAILS),
        (
            "higher",
            {"a": "A*", "b": "!A*", "match": "best", "scope": "artefact=table2"},
            "3 of 3",
            HOLDS,
        ),
        # Best of A, A+ over the worst of them: 0.10, 0.10, 0.20
        ("much higher", {"a": "A*", "b": "A*", "match": "range", "margin": 0.1}, "3 of 3", HOLDS),
        # A with A+ and B with C, in this order; C has no z: 0.10, -0.10, 0.20, 0.35, 0.30
        ("higher", {"a": "A|B", "b": "A+|C", "match": "pairs"}, "4 of 5", FAILS),
        # A - B in table 1 against table 2: 0.05 and 0.05, 0.10 and 0.05, 0.00 and 0.10
        ("higher", {"match": "gap", "scope_b": "artefact=table2; level=*"}, "1 of 3", FAILS),
        # (B - C) - (A - A+) in x, y; in z C is lost: 0.35 - 0.10, 0.30 + 0.10
        ("higher", {"a": "A|B", "b": "A+|C", "match": "trend"}, "2 of 2", HOLDS),
        # The four rows' ranks in x, table 1 and 2: (4 2 3 1) and (4 2 3 1); y: (3 4 2 1) and (4 2 3 1), rho 0.4
        (
            "higher",
            {"a": "*", "b": "0.7", "match": "order", "scope_b": "artefact=table2; level=*"},
            "1 of 2",
            FAILS,
        ),
        (
            "lower",
            {
                "a": "*",
                "b": "0.7",
                "match": "order",
                "cells": "most",
                "scope_b": "artefact=table2; level=*",
            },
            "1 of 2",
            FAILS,
        ),
    ],
)
def test_relations_matches_and_quantifiers_by_hand(relation, options, in_print, verdict):
    found = judge(relation, **options)
    assert (found["in_print"], found["verdict_in_print"]) == (in_print, verdict)
    assert found["verdict"] == {HOLDS: PRINT_ONLY}.get(verdict, verdict)  # nobody handed scores
    assert found["tested"] == "" and (found["counterexample"] == "") == (
        in_print[0] == in_print[-1]
    )


def test_the_counterexample_is_the_worst_cell():
    assert judge("higher", "A+", "B").counterexample == "A+ 0.500 (z), B 0.700"
    assert (
        judge("higher", match="gap", scope_b="artefact=table2; level=*").counterexample
        == "gap 0.000 (table1, z, sample), gap 0.100 (table2, dataset)"
    )


def test_what_cannot_be_tested():
    assert judge("none", "", "", "", "", note="no numbers").verdict == UNTESTABLE
    lost = judge("higher", "C", "A", scope="artefact=table1; aspect=z")
    assert (lost.verdict_in_print, lost.in_print, lost.note) == (
        UNTESTABLE,
        "",
        "the cells that it is about are lost in the text at hand",
    )
    doubtful = CELLS.assign(note=np.where(CELLS["aspect"] == "z", "UNCERTAIN: two values", ""))
    assert judge("higher", printed=doubtful).in_print == "2 of 2"


def test_errors_say_what_is_wrong(tmp_path):
    with pytest.raises(ValueError, match="claim 'said' of p table1.table2: no row 'D'"):
        judge("higher", "D")
    with pytest.raises(ValueError, match="scores without rng"):
        claims("geval", scores={"summeval": pd.DataFrame({"a": [1]})})
    good = listed().head(1).drop(columns="paper").assign(paper="geval")
    for change, message in (
        ({"relation": "better"}, "relation 'better', expected one of"),
        ({"match": "all"}, "match 'all'"),
        ({"cells": "few"}, "cells 'few'"),
        ({"relation": "none", "note": ""}, "no test and no note"),
    ):
        good.assign(**change).to_csv(tmp_path / "claims.csv", index=False)
        with pytest.raises(ValueError, match=message):
            listed(tmp_path / "claims.csv")


@pytest.fixture(scope="module")
def simulated():
    """Ratings x, y and z of 40 documents × 8 systems; A follows all three, B none, C is A."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        [(f"d{d}", f"s{s}") for d in range(40) for s in range(8)], columns=["doc_id", "system_id"]
    )
    human = rng.normal(size=(len(frame), 3))
    frame[["x", "y", "z"]] = human
    for aspect, rating in zip("xyz", human.T):
        frame[f"A:{aspect}"] = rating + rng.normal(size=len(frame))
    return frame.assign(B=rng.normal(size=len(frame)), C=lambda f: f["A:x"])


def test_a_planted_difference_is_found_and_noise_is_not(simulated):
    def run(relation, a, b, scope="artefact=table1; aspect=x|y", **options):
        return judge(
            relation,
            a,
            b,
            scope=scope,
            scores={"d": simulated},
            rng=np.random.default_rng(0),
            resamples=499,
            **options,
        )

    planted = run("higher", "A", "B")
    assert (planted.tested, planted.verdict) == ("2 of 2 tested, 0 untested", HOLDS)
    assert run("much higher", "A", "B", margin=0.9).verdict == FAILS  # in print the lead is smaller
    noise = run("higher", "B", "C", scope="artefact=table1; aspect=y")  # neither follows y
    assert (noise.verdict_in_print, noise.verdict) == (HOLDS, PRINT_ONLY)
    assert noise.tested == "0 of 1 tested, 0 untested"
    assert run("lower", "B", "A").verdict == HOLDS
    # A+ has no scores: of the best, the best that has them; of each, half the cells stay untested.
    assert run("higher", "A*", "B", match="best").tested == "2 of 2 tested, 0 untested"
    assert run("higher", "A*", "B", cells="most").tested == "2 of 2 tested, 2 untested"
    assert run("as high", "A", "B").tested == ""  # no test of closeness


def test_holm_is_over_the_claims_tested_cells(simulated, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "nlgjudge.ledger.prose_claims.holm", lambda p: seen.append(len(p)) or np.asarray(p)
    )
    judge(
        "higher",
        "A",
        "B|C",
        "each",
        scores={"d": simulated},
        rng=np.random.default_rng(0),
        resamples=9,
    )
    assert seen == [5]  # x, y, z against B; x and y against C, whose z is lost in print


def test_the_listed_claims_point_to_typed_tables():
    table, printed = listed(), all_published()
    assert not table.duplicated(["paper", "artefacts", "section", "claim"]).any()
    assert set(table["paper"]) == {"geval", "geval_v1", "chatgpt", "dhp", "coascore", "closer_look"}
    known = set(printed["paper"] + printed["artefact"])
    tested = table[table["relation"] != "none"]
    for paper, artefacts in zip(tested["paper"], tested["artefacts"]):
        assert {paper + artefact for artefact in artefacts.split("|")} <= known


# Read off the printed tables: G-Eval EMNLP Table 1 (section 3.1), Table 2 (3.3) and Table 3 (3.6), the
# ChatGPT study's Tables 1 and 6 (4.1, 4.4), CoAScore's Tables 2 and 6 (4.1, 4.5), A Closer Look's Tables 1, 2, 5, 6.
@pytest.mark.parametrize(
    "paper, claim, in_print, verdict, counterexample",
    [
        (
            "geval",
            "outperforming all previous methods by a large margin",
            "0 of 1",
            FAILS,
            "G-EVAL-4 0.514, UniEval 0.474",
        ),
        (
            "geval",
            "UniEval predicts scores that are most consistent",
            "7 of 8",
            FAILS,
            "UniEval 0.430 (engagingness, spearman), USR 0.465",
        ),
        ("geval", "On average, G-EVAL-4 outperforms", "3 of 3", HOLDS, ""),
        (
            "geval",
            "with a large margin on QAGS-Xsum",
            "2 of 3",
            FAILS,
            "G-EVAL-4 0.537 (spearman), UniEval 0.488",
        ),
        ("geval", "G-EVAL-4 achieved much higher human", "8 of 8", HOLDS, ""),
        (
            "geval_v1",
            "G-EVAL-4 achieved much higher human",
            "6 of 8",
            FAILS,
            "G-EVAL-4 0.455 (fluency, spearman), G-EVAL-3.5 0.424",
        ),
        ("chatgpt", "best performance in terms of all correlations", "6 of 6", HOLDS, ""),
        ("chatgpt", "with the similar trends", "24 of 24", HOLDS, ""),
        (
            "chatgpt",
            "state-of-the-art correlation in most aspects of SummEval",
            "19 of 24",
            HOLDS,
            "ChatGPT (Stars w/o ref) 0.300 (table4, fluency, dataset, spearman), BARTScore+CNN+Para 0.346",
        ),
        ("chatgpt", "achieves 0.195 sample-level Spearman", "1 of 1", HOLDS, ""),
        (
            "coascore",
            "consistently outperforms our self-designed",
            "61 of 72",
            FAILS,
            "CoAScore(n=5) 0.295 (openmeva, pearson), LLMScore 0.369",
        ),
        (
            "coascore",
            "In most cases, CoAScore achieves higher",
            "7 of 9",
            HOLDS,
            "CoAScore (AC=5) 0.295 (pearson), CoAScore_average (AC=5) 0.316",
        ),
        ("dhp", "GPT4-Turbo, which demonstrates", "", UNTESTABLE, ""),
        ("closer_look", "a lower Pearson's r for fluency", "1 of 1", HOLDS, ""),
        (
            "closer_look",
            "auto CoT even drastically decreases",
            "0 of 2",
            FAILS,
            "score only (3.1) 0.582 (sample, kendall), auto CoT, score only 0.566",
        ),
        ("closer_look", "much lower than that of T = 1.0", "4 of 4", HOLDS, ""),
        (
            "closer_look",
            "always achieve a higher correlation compared with G-Eval",
            "24 of 24",
            HOLDS,
            "",
        ),
        (
            "closer_look",
            "the correlations of G-Eval significantly drop",
            "7 of 8",
            FAILS,
            "auto CoT, score only 0.319 (table1, fluency), HHH, auto CoT, score only 0.281 (table6)",
        ),
    ],
)
def test_the_papers_claims(paper, claim, in_print, verdict, counterexample):
    table = listed()
    found = claims(paper, table=table[table["claim"].str.contains(claim, regex=False)])
    assert found[["in_print", "verdict_in_print", "counterexample"]].values.tolist() == [
        [in_print, verdict, counterexample]
    ]


def test_a_claim_about_several_tables_is_listed_under_each():
    for artefact in ("table1", "table3"):
        said = claims("geval", artefact)["claim"]
        assert said.str.startswith("the consistency aspect is sensitive").sum() == 1
    assert set(claims("chatgpt", "table6")["paper"]) == {"chatgpt"}
