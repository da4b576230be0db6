"""Counts of a small ledger by hand, and the READMEs' generated parts."""

import pandas as pd
import pytest

from nlgjudge.data.paths import root
from nlgjudge.ledger import ledger
from nlgjudge.ledger.verdicts import OF_OTHERS, was_run
from nlgjudge.repo.coverage import (
    BEGIN,
    END,
    by_paper_markdown,
    by_table,
    coverage,
    different,
    different_sentence,
    findings,
    markdown,
    update,
)

ROWS = pd.DataFrame(
    [
        ("dhp", "table4", "exact", "dhp_nb"),
        ("geval", "table1", "exact", "b"),
        ("geval", "table1", "exact", "a"),
        ("geval", "table1", "close", "a"),
        ("geval", "table1", "differs", "a"),
        ("geval", "table1", "not_run", ""),
        ("geval", "table2", "not_run", ""),
        ("geval", "table2", "sign_flipped", "c"),
    ],
    columns=["paper", "artefact", "verdict", "notebook"],
).assign(
    row="A",
    dataset="d",
    aspect="x",
    level="sample",
    coefficient="spearman",
    ours=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
    variant="",
    note="",
    evidence="recomputed",
)


def test_coverage_by_hand():
    found = coverage(ROWS)
    assert found.index.tolist() == ["G-Eval (EMNLP 2023)", "DHP", "all"]  # the papers' order
    assert list(found.columns) == ["cells", "exact", "close", "other", "misprint", "not run"]
    assert found.values.tolist() == [[7, 2, 1, 2, 0, 2], [1, 1, 0, 0, 0, 0], [8, 3, 1, 2, 0, 2]]


def test_by_table_by_hand():
    found = by_table(ROWS)
    assert found.loc[("geval", "table1")].tolist() == [5, 2, 1, 1, 0, 1, "a, b"]
    assert found.loc[("geval", "table2")].tolist() == [2, 0, 0, 1, 0, 1, "c"]


@pytest.mark.parametrize("evidence", OF_OTHERS)
def test_cells_of_another_model_or_run_are_neither_exact_nor_close(evidence):
    """They are no reproduction, however near they come; those that nobody ran stay so."""
    other = ROWS.assign(evidence=evidence)
    assert coverage(other).loc["all"].tolist() == [8, 0, 0, 6, 0, 2]
    assert by_table(other).loc[("geval", "table1")].tolist() == [5, 0, 0, 4, 0, 1, "a, b"]
    assert different(other) == (0, 0, 0)
    assert by_table(ROWS.assign(evidence="none")).equals(by_table(ROWS))


@pytest.mark.parametrize("evidence", [*OF_OTHERS, "recomputed", "none"])
def test_a_misprint_counts_as_one_whoever_ran_the_cell(evidence):
    found = coverage(ROWS.assign(verdict="misprint", evidence=evidence)).loc["all"]
    assert found.tolist() == [8, 0, 0, 0, 8, 0]


def test_markdown_links_the_notebooks():
    lines = markdown(ROWS).splitlines()
    assert (
        "| G-Eval (EMNLP 2023) | 1 | 5 | 2 | 1 | 1 | 0 | 1 | [a](../notebooks/a.ipynb), "
        "[b](../notebooks/b.ipynb) |"
    ) in lines
    assert lines[-1] == "| **all** | | **8** | **3** | **1** | **2** | **0** | **2** | |"


def test_by_paper_markdown():
    assert by_paper_markdown(ROWS).splitlines() == [
        "| paper | cells | exact | close | other | misprint | not run |",
        "|---|---:|---:|---:|---:|---:|---:|",
        "| G-Eval (EMNLP 2023) | 7 | 2 | 1 | 2 | 0 | 2 |",
        "| DHP | 1 | 1 | 0 | 0 | 0 | 0 |",
        "| all | 8 | 3 | 1 | 2 | 0 | 2 |",
        "",
        different_sentence(ROWS),
    ]


def test_the_same_result_in_several_tables_counts_once():
    """Nine cells: eight exact, of them two printed twice and one printed average."""
    ledger_of = pd.DataFrame(
        [
            # In both versions of a paper, and under another label in another paper: one result.
            ("geval", "ROUGE-1", "d", "x", "sample", "spearman", 0.1669, "exact"),
            ("geval_v1", "ROUGE-1", "d", "x", "sample", "spearman", 0.1669, "exact"),
            ("chatgpt", "ROUGE-1 (F)", "d", "x", "sample", "spearman", 0.1669, "exact"),
            # Another value, level, coefficient, aspect or dataset is another result, and so is an average.
            ("geval", "ROUGE-2", "d", "x", "sample", "spearman", 0.1702, "exact"),
            ("chatgpt", "ROUGE-1", "d", "x", "dataset", "spearman", 0.1669, "exact"),
            ("chatgpt", "ROUGE-1", "d", "x", "sample", "kendall", 0.1669, "exact"),
            ("chatgpt", "ROUGE-1", "e", "x", "sample", "spearman", 0.1669, "exact"),
            ("chatgpt", "ROUGE-1", "d", "AVG", "sample", "spearman", 0.1669, "exact"),
            # What is not exact does not count.
            ("chatgpt", "ROUGE-1", "d", "y", "sample", "spearman", 0.2, "close"),
        ],
        columns=["paper", "row", "dataset", "aspect", "level", "coefficient", "ours", "verdict"],
    )
    assert different(ledger_of) == (8, 6, 5)
    assert different_sentence(ledger_of).startswith(
        "The 8 exact cells are 6 different results (5 without averages): "
    )
    assert different(ledger_of[ledger_of["verdict"] == "close"]) == (0, 0, 0)


def test_the_ledgers_exact_cells_are_fewer_results():
    kept = ledger.read(root() / "paper_tables" / "ledger.csv")
    found = different(kept)
    assert found.cells == (kept["verdict"] == "exact").sum()
    # Both versions of G-Eval print the rows that were computed, so at least a version's exact cells repeat.
    versions = kept[(kept["verdict"] == "exact") & (kept["paper"] == "geval_v1")]
    assert found.without_averages < found.results <= found.cells - len(versions)


def test_update_replaces_only_what_it_generated(tmp_path):
    readme = tmp_path / "README.md"
    tables, found = ((BEGIN.format(name), END.format(name)) for name in ("tables", "findings"))
    readme.write_text(
        "before\n{}\nold\n{}\nbetween\n{}\n{}\nafter\n".format(*tables, *found), encoding="utf-8"
    )
    for _ in range(2):
        update(readme, ROWS)
        assert readme.read_text(encoding="utf-8") == (
            f"before\n{tables[0]}\n{markdown(ROWS)}\n{tables[1]}\nbetween\n"
            f"{found[0]}\n{findings(ROWS)}\n{found[1]}\nafter\n"
        )
    for text, message in (
        ("no marks", "expected marks as <!-- results"),
        (tables[0], "expected both <!-- tables: .* got one"),
    ):
        readme.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            update(readme, ROWS)
        assert readme.read_text(encoding="utf-8") == text


def rows(paper, artefact, row, verdicts, variant, note, evidence="recomputed"):
    return pd.DataFrame(
        {
            "paper": paper,
            "artefact": artefact,
            "row": row,
            "verdict": verdicts.split(),
            "variant": variant,
            "note": note,
            "evidence": evidence,
        }
    )


def test_findings_group_the_rows_that_share_a_variant():
    fits = "all 2 cells within 0.0005; {} variants tried, the next best is 0.1 away"
    found = findings(
        pd.concat(
            [
                rows(
                    "chatgpt",
                    "table1",
                    "ROUGE-1",
                    "exact close",
                    "rouge1: f, mean, porter",
                    fits.format(9),
                ),
                rows(
                    "chatgpt",
                    "table4",
                    "ROUGE-1",
                    "exact exact",
                    "rouge1: f, mean, porter",
                    fits.format(9),
                ),
                rows(
                    "chatgpt",
                    "table4",
                    "ROUGE-2",
                    "exact exact",
                    "rouge2: f, mean, porter",
                    fits.format(27),
                ),
                rows("chatgpt", "table4", "PRISM", "not_run not_run", "", "needs a model", "none"),
                rows(
                    "coascore",
                    "table2",
                    "ROUGE",
                    "exact differs",
                    "rouge1: f, mean, porter",
                    "none found.",
                ),
                rows("geval", "table2", "UniEval", "relabelled relabelled", "unieval | S, K", ""),
                rows(
                    "geval_v1", "table2", "UniEval", "relabelled relabelled", "unieval | S, K", ""
                ),
                rows(
                    "chatgpt",
                    "table6",
                    "BARTScore",
                    "exact",
                    "bartscore",
                    "one score, no variant to choose; 0.0",
                ),
                rows("chatgpt", "table6", "ROUGE-L", "exact", "rougeL-r", ""),
                rows(
                    "geval",
                    "table2",
                    "G-EVAL-4",
                    "close within_ci",
                    "gpt-4o",
                    "not the paper's judge",
                    "substitute_judge",
                ),
                rows(
                    "chatgpt",
                    "table3",
                    "MoverScore",
                    "close within_ci",
                    "Somebody 2020",
                    "not the paper's run",
                    "other_run",
                ),
            ]
        )
    ).splitlines()
    study = "- **Is ChatGPT a Good NLG Evaluator?** · "
    assert found == [
        study + "Tables 1 and 4 · ROUGE-1 and ROUGE-2: explained by *F, mean over references, "
        "NLTK's stemmer*; 6 of 6 cells agree; 9–27 variants tried.",
        "- **CoAScore** · Table 2 · ROUGE: explained by *F, mean over references, NLTK's "
        "stemmer*; 1 of 2 cells agree; 1 resist: none found.",
        "- **G-Eval (EMNLP 2023 and arXiv v1)** · Table 2 · UniEval: explained by "
        "*unieval | S, K*; 4 of 4 cells agree under other coefficients' names.",
        study + "Table 6 · BARTScore: explained by *the one score released*; 1 of 1 cells agree.",
        study + "Table 6 · ROUGE-L: explained by *recall*; 1 of 1 cells agree.",
        "- **G-Eval (EMNLP 2023)** · Table 2 · G-EVAL-4: another judge, *gpt-4o*; 1 of 2 cells agree; "
        "1 resist: not the paper's judge.",
    ]  # and none about somebody else's run


def test_findings_name_a_family_and_a_near_miss_as_such():
    note = "no variant explains the row: 33 variants tried, the nearest rounds to 1 of 4 cells"
    found = findings(
        pd.concat(
            [
                rows(
                    "chatgpt",
                    "table3",
                    "ROUGE-2",
                    "exact exact",
                    "rouge2: r, (script or porter_original)",
                    "",
                ),
                rows(
                    "chatgpt",
                    "table3",
                    "ROUGE-1",
                    "exact",
                    "rouge1: f, script (or with five decimals)",
                    "",
                ),
                rows(
                    "chatgpt",
                    "table3",
                    "ROUGE-L",
                    "exact close",
                    "nearest: rougeL: r, porter, whole",
                    note,
                ),
                # The same variant explains one row and comes near another: two sentences.
                rows("chatgpt", "table3", "ROUGE-9", "exact close", "rougeL: r, porter, whole", ""),
                rows(
                    "chatgpt",
                    "table3",
                    "BARTScore",
                    "close",
                    "nearest: bart",
                    "one score, no variant to choose",
                ),
            ]
        )
    ).splitlines()
    start = "- **Is ChatGPT a Good NLG Evaluator?** · Table 3 · "
    assert found == [
        start
        + "ROUGE-2: explained by *recall, (as ROUGE-1.5.5 gives it or Porter's own stemmer)*; 2 of 2 "
        "cells agree.",
        start
        + "ROUGE-1: explained by *F, as ROUGE-1.5.5 gives it (or with five decimals)*; 1 of 1 cells "
        "agree.",
        start
        + "ROUGE-L: not explained, nearest is *recall, NLTK's stemmer, no sentences*; 2 of 2 cells "
        "agree; 33 variants tried.",
        start + "ROUGE-9: explained by *recall, NLTK's stemmer, no sentences*; 2 of 2 cells agree.",
        start + "BARTScore: not explained, nearest is *bart*; 1 of 1 cells agree.",
    ]


def test_findings_are_few_say_each_part_of_a_cause_once_and_are_never_empty():
    many = pd.concat(
        [
            rows(
                "geval",
                "table1",
                f"R{n}",
                "differs " * (n + 1),
                f"v{n}",
                ["another judge; another prompt", *["another judge; its average is off"] * n],
            )
            for n in range(6)
        ]
    )
    lines = findings(many, most=4).splitlines()
    assert [line.split(": ")[0].rsplit(" ", 1)[1] for line in lines[:4]] == ["R2", "R3", "R4", "R5"]
    assert lines[4] == "- 2 smaller groups of rows are in the ledger alone."
    assert all(
        line.endswith("resist: another judge; another prompt; its average is off.")
        for line in lines[:4]
    )
    assert findings(many.assign(verdict="not_run")) == "Nothing has been compared yet."


def test_findings_of_the_ledger_fit_a_readme_and_miss_no_compared_table():
    kept = ledger.read(root() / "paper_tables" / "ledger.csv")
    text = findings(kept, most=10**6)
    explained = was_run(kept) & (kept["evidence"] != "other_run")
    for artefact, row in kept.loc[explained, ["artefact", "row"]].drop_duplicates().values:
        assert any(
            row in line and artefact[-1] in line.split(" · ")[1] for line in text.splitlines()
        )
    assert len(findings(kept).splitlines()) <= 41
