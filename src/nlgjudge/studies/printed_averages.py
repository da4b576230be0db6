"""The printed tables against themselves: versions, shared rows, captions (`beyond_printed_averages`).

Source: every table of correlations in the papers, as typed in `paper_tables/published/`; G-Eval in both printed
versions (EMNLP, arXiv v1).
"""

import re

import numpy as np
import pandas as pd

from nlgjudge.ledger.average_audit import LINE, SLACK, TABLE, VERSIONS, WITHIN
from nlgjudge.ledger.printed import KEY, all_published

NAMES = {"MOVERSscore": "MoverScore", "CoAScore (AC=5)": "CoAScore(n=5)",
         "CoAScore (AC=10)": "CoAScore(n=10)", "CoAScore (AC=20)": "CoAScore(n=20)"}
# CoAScore's overall quality of BAGEL is its aspect quality; USR's aspects as UniEval renames them.
ASPECTS = {("bagel", "overall"): "quality", ("topical_chat", "interest"): "engagingness",
           ("topical_chat", "context"): "coherence"}
UNNAMED = {"ROUGE": ["ROUGE-1", "ROUGE-2", "ROUGE-L"], "BLEU": ["BLEU-4"]}  # CoAScore names no n
STATED = {"BERTScore": "bert-base-uncased", "BARTScore": "bart-base"}  # CoAScore, section 4.3
NOTES = {"contradiction": r"caption says [^;]*", "uncertain": r"UNCERTAIN: [^;]*",
         "not in the table": r"(?:coefficient|aspect) from [^;]*|level not stated[^;]*|text gives [^;]*",
         "extraction": r"lost in extraction|row label recovered[^;]*|value slid [^;]*",
         "dash": r"printed as a dash", "caveat": r"italic: [^;]*"}


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
    """
    cells = all_published() if cells is None else cells
    cells, by = cells[cells["value"].notna()], ["artefact", *KEY]
    both = [cells.loc[cells["paper"] == paper, [*by, "printed", "value"]] for paper in (old, new)]
    both = both[0].merge(both[1], on=by, how="outer", suffixes=("_old", "_new"), indicator="change")
    both["change"] = both["change"].map({"both": "value", "left_only": f"only in {old}",
                                         "right_only": f"only in {new}"}).astype(str)
    both["difference"] = both["value_new"] - both["value_old"]
    both = both.rename(columns={"printed_old": "old", "printed_new": "new"})
    columns = [*by, "old", "new", "difference", "change"]
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
        A row per cell and pair of tables: `metric` (``ROUGE ~ ROUGE-L`` for a candidate),
        `dataset, aspect, level, coefficient, paper, artefact, row, value`, the last four with
        `_other`, `difference` (other - first), `largest` (absolute, over the pairs of that
        metric and cell), `cause` (of the pair of rows; empty where all cells are equal).
    """
    cells = all_published() if cells is None else cells
    pairs = _pairs(cells, KEY[1:])
    one, two = pairs["metric"], pairs["metric_other"]
    loose = [b in UNNAMED.get(a, []) or a in UNNAMED.get(b, []) for a, b in zip(one, two)]
    pairs = pairs.assign(metric=one.where(one == two, one + " ~ " + two))[one.eq(two) | np.array(loose)]
    pairs["difference"] = pairs["value_other"] - pairs["value"]
    one_cell = [pairs[c] for c in ("metric", *KEY[1:])]
    pairs["largest"] = pairs["difference"].abs().groupby(one_cell).transform("max")
    lines, equal = [f"{c}{end}" for end in ("", "_other") for c in (*TABLE, "row")], _equal_rows(cells)
    for line, group in pairs.groupby(lines, sort=False):
        pairs.loc[group.index, "cause"] = _cause(line, group["difference"].abs().max(), equal)
    return pairs[["metric", *KEY[1:], *lines[:3], "value", *lines[3:], "value_other", "difference",
                  "largest", "cause"]].reset_index(drop=True)


def _pairs(cells, on):
    """All pairs of printed cells that agree in `on` and stand in different tables."""
    cells = cells[(cells["aspect"] != "AVG") & cells["value"].notna()]
    cells = cells.assign(at=range(len(cells)), metric=cells["row"].replace(NAMES), aspect=[
        ASPECTS.get(key, key[1]) for key in zip(cells["dataset"], cells["aspect"])])
    pairs = cells.merge(cells, on=on, suffixes=("", "_other"))
    apart = pairs["paper"].ne(pairs["paper_other"]) | pairs["artefact"].ne(pairs["artefact_other"])
    return pairs[apart & (pairs["at"] < pairs["at_other"])].reset_index(drop=True)


def _equal_rows(cells):
    """Rows that two papers print alike in six cells or more, under other names or levels."""
    pairs = _pairs(cells, ["dataset", "aspect", "coefficient"])
    renamed = pairs["metric"].ne(pairs["metric_other"]) & pairs["level"].eq(pairs["level_other"])
    moved = pairs["metric"].eq(pairs["metric_other"]) & pairs["level"].ne(pairs["level_other"])
    pairs = pairs[pairs["paper"].ne(pairs["paper_other"]) & (renamed | moved)]
    by = [f"{c}{end}" for end in ("", "_other") for c in LINE]
    same = pairs["printed"].eq(pairs["printed_other"]).groupby([pairs[c] for c in by], sort=False)
    found = same.agg(all="all", cells="size").reset_index()
    return found[found["all"] & (found["cells"] >= 6)]


def _cause(line, worst, equal):
    paper, _, row, other, _, row_other = line
    if worst <= SLACK:
        return ""
    if worst <= WITHIN:
        return "last printed digit"
    if VERSIONS.get(paper) == other:
        return "other version of the paper"
    for e in equal.itertuples():
        if {e.paper, e.paper_other} == {paper, other} and {
                (e.paper, e.row), (e.paper_other, e.row_other)} & {(paper, row), (other, row_other)}:
            what = "relabelled" if e.level == e.level_other else f"level {e.level} as {e.level_other}"
            return f"{what}: {e.row} of {e.paper} equals {e.row_other} of {e.paper_other} in {e.cells} cells"
    model = STATED.get(row) if "coascore" in (paper, other) else None
    return "other variant or subset" + (f"; coascore states {model}" if model else "")


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
    """
    cells = all_published() if cells is None else cells
    sizes = cells.groupby(TABLE)["note"].size()
    rows = []
    for *key, note in cells[[*TABLE, "note"]].itertuples(index=False):
        known = [(kind, text) for kind, what in NOTES.items() for text in re.findall(what, note)]
        rows += [(*key, *k) for k in known or [("other", note)] if note]
    found = pd.DataFrame(rows, columns=[*TABLE, "kind", "statement"])
    found = found.groupby([*found], sort=False).size().rename("cells").reset_index()
    return found.assign(of=[sizes[key] for key in zip(found["paper"], found["artefact"])])
