"""The ledger's columns, what a cell is and rests on, and the titles of its keys."""

import re

import pandas as pd

from nlgjudge.ledger.printed import KEY

COLUMNS = [
    "paper",
    "artefact",
    *KEY,
    "published",
    "ours",
    "ci_low",
    "ci_high",
    "n",
    "n_skipped",
    "difference",
    "verdict",
    "evidence",
    "variant",
    "notebook",
    "note",
]
MISPRINT = "misprint"  # seen in the print alone
# What a published cell is, in the same words on every page: of the first, `exact` and `close` are grades.
GROUPS = ["reproduces", "differs", "contradicts itself", "by others", "not checkable"]
_CONSTANT = "a constant of the table"  # how the note of such a cell begins
OWN = ["recomputed", "released_scores", "released_responses"]  # from the paper's own material
EVIDENCE = [
    *OWN,
    "other_run",
    "rejudged",
    "substitute_judge",
    "third_party",
    "none",
]
# Evidence from another model than the paper's.
ANOTHER_MODEL = ["substitute_judge", "rejudged"]
# The same metric, run by somebody else.
ANOTHER_RUN = "other_run"
# What somebody else computed from the paper's own scores or replies, and published.
THIRD_PARTY = "third_party"
# A cell with one of these is no reproduction, and none that failed.
OF_OTHERS = [ANOTHER_RUN, *ANOTHER_MODEL, THIRD_PARTY]


# Of keys in titles and legends; the others are written without underscores.
TITLES = {
    "qags": "QAGS",
    "qags_cnn": "QAGS-CNN",
    "qags_xsum": "QAGS-XSum",
    "summeval": "SummEval",
    "newsroom": "NewsRoom",
    "realsumm": "RealSumm",
    "topical_chat": "Topical-Chat",
    "openmeva": "OpenMEVA-ROC",
    "bagel": "BAGEL",
    "sumpubmed": "SumPubMed",
    "wmt22_de_en": "WMT-22 de-en",
    "wmt22_zh_en": "WMT-22 zh-en",
    "wax": "WAX",
    "lgbteen": "LGBTeen",
    "mt_bench": "MT-Bench",
    "framing": "Framing",
    "cebab_aspects": "CEBaB-A",
    "cebab_stars": "CEBaB-S",
    "10k_prompts": "10k Prompts",
    "lesion": "Lesion",
    "kilogram": "KiloGram",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "kendall": "Kendall",
    "within_ci": "within our interval",
}


def titled(key: object) -> str:
    """Write the key of a table, dataset, coefficient, aspect or verdict as a title or legend has it.

    Examples
    --------
    >>> titled("qags_cnn"), titled("table2"), titled("pyramid_recall"), titled("ROUGE-1")
    ('QAGS-CNN', 'Table 2', 'pyramid recall', 'ROUGE-1')
    """
    if artefact := re.fullmatch(r"(table|figure)(\d+)", str(key)):
        return f"{artefact[1].capitalize()} {artefact[2]}"
    return TITLES.get(str(key), str(key).replace("_", " "))


def of_others(rows: pd.DataFrame) -> pd.Series:
    """Which rows of a ledger rest on another model than the paper's, or on another run of the metric."""
    return rows["evidence"].isin(OF_OTHERS)


def is_constant(rows: pd.DataFrame) -> pd.Series:
    """Which rows of a ledger print what no model gave, as a random guess."""
    return rows["note"].str.startswith(_CONSTANT)


def was_run(rows: pd.DataFrame) -> pd.Series:
    """Which rows of a ledger have a value beside the published one.

    A `misprint` contradicts its own row, so that its cell need not have been run.
    """
    unseen = rows["verdict"].eq(MISPRINT) & rows["evidence"].eq("none")
    return rows["verdict"].ne("not_run") & ~unseen
