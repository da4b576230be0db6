"""The printed tables against themselves: versions, shared rows, captions (`beyond_printed_averages`).

Source: every table of correlations in the papers, as typed in `paper_tables/published/`; G-Eval in both printed
versions (EMNLP, arXiv v1).
"""

import re

import numpy as np
import pandas as pd

from nlgjudge.ledger.average_audit import LINE, SLACK, TABLE, VERSIONS, WITHIN
from nlgjudge.ledger.printed import KEY, all_published

NAMES = {
    "MOVERSscore": "MoverScore",
    "CoAScore (AC=5)": "CoAScore(n=5)",
    "CoAScore (AC=10)": "CoAScore(n=10)",
    "CoAScore (AC=20)": "CoAScore(n=20)",
}
# CoAScore's overall quality of BAGEL is its aspect quality; USR's aspects as UniEval renames them.
ASPECTS = {
    ("bagel", "overall"): "quality",
    ("topical_chat", "interest"): "engagingness",
    ("topical_chat", "context"): "coherence",
}
UNNAMED = {"ROUGE": ["ROUGE-1", "ROUGE-2", "ROUGE-L"], "BLEU": ["BLEU-4"]}  # CoAScore names no n
STATED = {"BERTScore": "bert-base-uncased", "BARTScore": "bart-base"}  # CoAScore, section 4.3
# Kinds of statements in the notes to the printed tables, and how each begins.
NOTES = {
    "contradiction": r"caption says [^;]*",
    "uncertain": r"UNCERTAIN: [^;]*",
    "not in the table": r"(?:coefficient|aspect) from [^;]*|level not stated[^;]*|text gives [^;]*",
    "extraction": r"lost in extraction|printed as textbf[^;]*|row label recovered[^;]*|value slid [^;]*",
    "dash": r"printed as a dash",
    "caveat": r"italic: [^;]*",
}


def versions(old="geval_v1", new="geval", cells=None):
    """Compare two printed versions of a paper, averages included.

    Parameters
    ----------
    old, new : str
        Paper keys.
    cells : pandas.DataFrame, optional
        As for `printed_averages`.

    Returns
    -------
    pandas.DataFrame
        `artefact, row, dataset, aspect, level, coefficient, old, new` (as printed),
        `difference` (new - old), `change` (`value`, or `only in` a version); equal cells
        and cells that neither version prints are left out.

    Examples
    --------
    >>> versions()["change"].isin(["value", "only in geval", "only in geval_v1"]).all().item()
    True
    """
    if cells is None:
        cells = all_published()
    cells = cells[cells["value"].notna()]
    key = ["artefact", *KEY]
    before = cells.loc[cells["paper"] == old, [*key, "printed", "value"]]
    after = cells.loc[cells["paper"] == new, [*key, "printed", "value"]]
    both = before.merge(after, on=key, how="outer", suffixes=("_old", "_new"), indicator="change")
    kinds = {"both": "value", "left_only": f"only in {old}", "right_only": f"only in {new}"}
    both["change"] = both["change"].map(kinds).astype(str)
    both["difference"] = both["value_new"] - both["value_old"]
    both = both.rename(columns={"printed_old": "old", "printed_new": "new"})
    columns = [*key, "old", "new", "difference", "change"]
    return both.loc[both["difference"] != 0, columns].reset_index(drop=True)


def shared_baselines(cells=None):
    """Compare what several tables print for one metric and cell, averages left out.

    Names and aspects are matched by `NAMES` and `ASPECTS`; a metric that CoAScore names
    without n is set against each candidate of `UNNAMED`. Levels are never mixed.

    Parameters
    ----------
    cells : pandas.DataFrame, optional
        As for `printed_averages`.

    Returns
    -------
    pandas.DataFrame
        A row per cell and pair of tables: `metric` (``ROUGE-L ~ ROUGE`` for a candidate),
        `dataset, aspect, level, coefficient, paper, artefact, row, value`, the last four with
        `_other`, `difference` (other - first), `largest` (absolute, over the pairs of that
        metric and cell), `cause` (of the pair of rows; empty where all cells are equal).

    Examples
    --------
    >>> found = shared_baselines()
    >>> found.loc[found["metric"] == "BERTScore", "paper"].nunique() > 1
    True
    """
    if cells is None:
        cells = all_published()
    pairs = _pairs(cells, KEY[1:])
    first = pairs["metric"]
    other = pairs["metric_other"]
    may_be_the_same = [_may_name(one, two) or _may_name(two, one) for one, two in zip(first, other)]
    comparable = first.eq(other) | np.array(may_be_the_same)
    pairs = pairs.assign(metric=first.where(first == other, first + " ~ " + other))[comparable]
    pairs["difference"] = pairs["value_other"] - pairs["value"]
    one_cell = [pairs[name] for name in ("metric", *KEY[1:])]
    pairs["largest"] = pairs["difference"].abs().groupby(one_cell).transform("max")
    row = [*TABLE, "row"]
    other_row = [f"{name}_other" for name in row]
    equal = _equal_rows(cells)
    for line, group in pairs.groupby([*row, *other_row], sort=False):
        pairs.loc[group.index, "cause"] = _cause(line, group["difference"].abs().max(), equal)
    columns = [
        "metric",
        *KEY[1:],
        *row,
        "value",
        *other_row,
        "value_other",
        "difference",
        "largest",
        "cause",
    ]
    return pairs[columns].reset_index(drop=True)


def _may_name(short, full):
    """Whether a name without its n may stand for the metric with it."""
    return full in UNNAMED.get(short, [])


def _pairs(cells, on):
    """All pairs of printed cells that agree in `on` and stand in different tables."""
    cells = cells[(cells["aspect"] != "AVG") & cells["value"].notna()]
    aspects = [ASPECTS.get(key, key[1]) for key in zip(cells["dataset"], cells["aspect"])]
    cells = cells.assign(at=range(len(cells)), metric=cells["row"].replace(NAMES), aspect=aspects)
    pairs = cells.merge(cells, on=on, suffixes=("", "_other"))
    apart = pairs["paper"].ne(pairs["paper_other"]) | pairs["artefact"].ne(pairs["artefact_other"])
    each_once = pairs["at"] < pairs["at_other"]
    return pairs[apart & each_once].reset_index(drop=True)


def _equal_rows(cells):
    """Rows that two papers print alike in six cells or more, under other names or levels."""
    pairs = _pairs(cells, ["dataset", "aspect", "coefficient"])
    same_name = pairs["metric"].eq(pairs["metric_other"])
    same_level = pairs["level"].eq(pairs["level_other"])
    renamed = ~same_name & same_level
    moved = same_name & ~same_level
    pairs = pairs[pairs["paper"].ne(pairs["paper_other"]) & (renamed | moved)]
    both_lines = [*LINE, *(f"{name}_other" for name in LINE)]
    same_print = pairs["printed"].eq(pairs["printed_other"])
    found = same_print.groupby([pairs[name] for name in both_lines], sort=False)
    found = found.agg(all="all", cells="size").reset_index()
    return found[found["all"] & (found["cells"] >= 6)]


def _cause(line, worst, equal):
    """Why two rows of one name print different values, `worst` the largest difference."""
    paper, _, row, other, _, row_other = line
    if worst <= SLACK:
        return ""
    if worst <= WITHIN:
        return "last printed digit"
    if VERSIONS.get(paper) == other:
        return "other version of the paper"
    here = {(paper, row), (other, row_other)}
    for found in equal.itertuples():
        same_papers = {found.paper, found.paper_other} == {paper, other}
        equal_rows = {(found.paper, found.row), (found.paper_other, found.row_other)}
        if same_papers and equal_rows & here:
            what = "relabelled"
            if found.level != found.level_other:
                what = f"level {found.level} as {found.level_other}"
            return (
                f"{what}: {found.row} of {found.paper} equals {found.row_other} of {found.paper_other} "
                f"in {found.cells} cells"
            )
    cause = "other variant or subset"
    if row in STATED and "coascore" in (paper, other):
        cause += f"; coascore states {STATED[row]}"
    return cause


def captions(cells=None):
    """Count what the notes record between caption, header, text and our copy of the text.

    Parameters
    ----------
    cells : pandas.DataFrame, optional
        As for `printed_averages`.

    Returns
    -------
    pandas.DataFrame
        `paper, artefact, kind` (a key of `NOTES`; ``other`` for a note that none matches),
        `statement`, `cells` (affected), `of` (cells of the table).

    Examples
    --------
    >>> sorted(set(captions()["kind"]) - {*NOTES})
    []
    """
    if cells is None:
        cells = all_published()
    rows = []
    for paper, artefact, note in cells[[*TABLE, "note"]].itertuples(index=False):
        rows += [(paper, artefact, kind, statement) for kind, statement in _statements(note)]
    found = pd.DataFrame(rows, columns=[*TABLE, "kind", "statement"])
    found = found.groupby([*found], sort=False).size().rename("cells").reset_index()
    sizes = cells.groupby(TABLE)["note"].size()
    return found.assign(of=[sizes[table] for table in zip(found["paper"], found["artefact"])])


def _statements(note):
    """The statements of a note, each with its kind."""
    found = []
    for kind, pattern in NOTES.items():
        found += [(kind, statement) for statement in re.findall(pattern, note)]
    if note and not found:
        return [("other", note)]
    return found
