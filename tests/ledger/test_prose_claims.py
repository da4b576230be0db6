"""Claims on hand-made tables with known answers, and on the papers' own."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.paths import root

HOLDS, FAILS, UNTESTABLE = "holds", "does not hold", "cannot be tested"
VALUES = {
    ("table1", "sample"): {
        "A": (0.50, 0.60, 0.70),
        "A+": (0.40, 0.70, 0.50),
        "B": (0.45, 0.50, 0.70),
        "C": (0.10, 0.20, np.nan),
    },
    ("table2", "dataset"): {
        "A": (0.30, 0.40, 0.50),
        "A+": (0.20, 0.30, 0.30),
        "B": (0.25, 0.35, 0.40),
        "C": (0.15, 0.10, 0.20),
    },
}
CELLS = pd.DataFrame(
    [
        (artefact, row, "d", aspect, level, "spearman", value, "")
        for (artefact, level), rows in VALUES.items()
        for row, values in rows.items()
        for aspect, value in zip(("x", "y", "z", "AVG"), (*values, np.mean(values)))
    ],
    columns=["artefact", "row", "dataset", "aspect", "level", "coefficient", "printed", "note"],
)
CLAIM = {"paper": "coascore", "artefacts": "table1|table2", "section": "1", "claim": "said"}
CLAIM |= {"match": "each", "cells": "every", "scope": "artefact=table1", "scope_b": "", "note": ""}


@pytest.fixture
def judge(tmp_path, monkeypatch):
    """Returns a function that judges one claim about the two tables above."""
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    folder = tmp_path / "paper_tables"
    (folder / "published").mkdir(parents=True)

    def result(relation, a="A", b="B", printed=CELLS, margin=0.05, **claim):
        for artefact, table in printed.groupby("artefact"):
            table = table.drop(columns="artefact")
            table.to_csv(folder / "published" / f"coascore_{artefact}.csv", index=False)
        listed = pd.DataFrame([CLAIM | {"a": a, "b": b, "relation": relation} | claim])
        listed.to_csv(folder / "claims.csv", index=False)
        return nj.ledger.claims(margin=margin).iloc[0]

    return result


ELSEWHERE = {"match": "pairs", "scope_b": "artefact=table2; level=*"}


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
        ("lower", {"cells": "some"}, "0 of 3", FAILS),
        ("equal", {"b": "0.5", "scope": "artefact=table1; aspect=x"}, "1 of 1", HOLDS),
        ("lower", {"b": "0.65"}, "2 of 3", FAILS),
        ("higher", {"scope": "artefact=table1; aspect=AVG"}, "1 of 1", HOLDS),
        # A+ - B: -0.05, 0.20, -0.20; both rows each: 3 of 6; their best: 0.05, 0.20, 0.00
        ("higher", {"a": "A*"}, "3 of 6", FAILS),
        ("higher", {"a": "A*", "match": "best"}, "2 of 3", FAILS),
        ("higher", {"a": "A*", "b": "!A*", "match": "best", "scope": "level=d*"}, "3 of 3", HOLDS),
        # A with A+ and B with C, in this order; C has no z: 0.10, -0.10, 0.20, 0.35, 0.30
        ("higher", {"a": "A|B", "b": "A+|C", "match": "pairs"}, "4 of 5", FAILS),
        # A - B in table 1 against table 2: 0.05 and 0.05, 0.10 and 0.05, 0.00 and 0.10
        ("higher", {"a": "A minus B", "b": "A minus B", **ELSEWHERE}, "1 of 3", FAILS),
        # The best of A, A+ minus B in table 1: 0.05, 0.20, 0.00
        ("higher", {"a": "A* minus B", "b": "A minus B", **ELSEWHERE}, "1 of 3", FAILS),
        # (B - C) - (A - A+) in x, y; in z C is missing: 0.35 - 0.10, 0.30 + 0.10
        ("higher", {"a": "B minus C", "b": "A minus A+", "match": "pairs"}, "2 of 2", HOLDS),
    ],
)
def test_relations_matches_and_quantifiers_by_hand(judge, relation, options, in_print, verdict):
    found = judge(relation, **options)
    assert (found["in_print"], found["verdict_in_print"]) == (in_print, verdict)


def test_the_counterexample_is_the_worst_cell(judge):
    assert judge("higher", "A+", "B").counterexample == "A+ 0.500 (z), B 0.700"
    far = judge("higher", "A minus B", "A minus B", **ELSEWHERE).counterexample
    assert far == "A minus B 0.000 (table1, z, sample), A minus B 0.100 (table2, dataset)"


def test_what_cannot_be_tested(judge):
    assert (
        judge("none", "", "", match="", cells="", note="no numbers").verdict_in_print == UNTESTABLE
    )
    lost = judge("higher", "C", "A", scope="artefact=table1; aspect=z")
    assert (lost.verdict_in_print, lost.in_print) == (UNTESTABLE, "") and "lost" in lost.note
    doubtful = CELLS.assign(note=np.where(CELLS["aspect"] == "z", "UNCERTAIN: two values", ""))
    assert judge("higher", printed=doubtful).in_print == "2 of 2"


@pytest.mark.parametrize(
    "relation, claim, message",
    [
        ("higher", {"a": "D"}, "claim 'said' of coascore table1.table2: no row 'D'"),
        ("better", {}, "relation 'better', expected one of"),
        ("none", {}, "no test and no note"),
    ],
)
def test_errors_say_what_is_wrong(judge, relation, claim, message):
    with pytest.raises(ValueError, match=message):
        judge(relation, **claim)


def test_the_listed_claims_point_to_typed_tables():
    listed = all_claims()
    assert not listed.duplicated(["paper", "artefacts", "section", "claim"]).any()
    tested = listed[listed["relation"] != "none"]
    for paper, artefacts in zip(tested["paper"], tested["artefacts"]):
        for artefact in artefacts.split("|"):
            assert (root() / f"paper_tables/published/{paper}_{artefact}.csv").is_file()


@cache
def all_claims():
    return nj.ledger.claims()


# Read off the published tables, with the beginning of the strongest counterexample.
@pytest.mark.parametrize(
    "paper, claim, in_print, counterexample",
    [
        ("geval", "previous methods by a large margin", "0 of 1", "G-EVAL-4 0.514, UniEval 0.474"),
        ("geval", "UniEval predicts scores that are", "7 of 8", "UniEval 0.430 (engagingness,"),
        ("geval", "achieved much higher human", "8 of 8", ""),
        ("geval_v1", "achieved much higher human", "6 of 8", "G-EVAL-4 0.455 (fluency, spearman)"),
        ("chatgpt", "in terms of all correlations", "6 of 6", ""),
        ("coascore", "outperforms our self-designed", "61 of 72", "CoAScore(n=5) 0.295 (openmeva,"),
        ("coascore", "In most cases, CoAScore", "7 of 9", "CoAScore (AC=5) 0.295 (pearson)"),
        ("coascore", "two approaches", "7 of 10", "CoAScore(n=10) minus CoAScore_inter -0.059"),
        ("dhp", "GPT4-Turbo, which demonstrates", "", ""),
        ("closer_look", "always achieve a higher correlation", "24 of 24", ""),
        ("closer_look", "G-Eval significantly drop", "7 of 8", "auto CoT, score only 0.319"),
    ],
)
def test_the_papers_claims(paper, claim, in_print, counterexample):
    listed = all_claims().query("paper == @paper")
    (found,) = listed[listed["claim"].str.contains(claim, regex=False)].itertuples()
    assert found.in_print == in_print and found.counterexample.startswith(counterexample)
    assert (found.counterexample == "") == (counterexample == "")
