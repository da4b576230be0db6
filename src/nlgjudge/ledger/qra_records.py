"""A record of each paper's reproducibility that others can cite, and its badge.

A record is JSON, `paper_tables/reproducibility/<paper>.json`, described by `schema.json` beside it. It holds
what `nlgjudge.ledger.qra` finds in the ledger, nothing else, so that it is the same wherever it is made.
"""

import json
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pandas as pd

from nlgjudge.ledger.ledger import committed
from nlgjudge.ledger.printed import PAPERS
from nlgjudge.ledger.prose_claims import listed
from nlgjudge.ledger.qra import MEASURES, NONE, PRINT, SHIFT, conclusions, reproducibility
from nlgjudge.ledger.qra_defaults import DEFAULT, FILE, library_defaults, with_library_default

FOLDER = "reproducibility"
SEED = 0
RESAMPLES = 1000
CONFIDENCE = 0.95
DIGITS = 4
METHOD = {
    "name": "QRA++",
    "reference": "Belz 2025, arXiv:2505.17043; CV* after Belz, Popović and Mille 2022, ACL",
    "measurements": "two of each cell: the printed correlation and ours",
    "cv_star": "mean over cells of (1 + 1/(4n)) * 100 * s*/mean, n = 2, s* divided by c4(n)",
    "shift": SHIFT,
    "shift_reason": "correlations lie in [-1, 1]; 1 is added so that the scale starts at zero",
    "interval": "percentile bootstrap over printed rows of tables, none for fewer than three rows",
    "confidence": CONFIDENCE,
    "resamples": RESAMPLES,
    "seed": SEED,
    "types": ["I: CV*", "II: Pearson, Spearman", "IV: order of rows, sentences of the paper"],
    "without": [
        "III: labels of single items are not in the ledger",
        "II: Kendall's W, which two measurements make a function of Spearman's coefficient",
        "similarity of experiments: the kind of evidence stands for it, and is not scored",
    ],
}
CAVEATS = [
    "Kinds of evidence are never pooled. A cell counts once, under the best kind.",
    "The variant of each recomputed row was searched so that it fits the print. Its CV* is about the reproduction "
    "given that variant. What a library's default gives stands beside it for ROUGE-1, 2 and L; for other recomputed "
    "rows no default was computed.",
    "A result that several tables print counts in each of them, so that intervals of a whole paper are too short.",
    "Printed averages are not independent of their cells and are left out; they are counted.",
    "Relabelled cells equal another coefficient than the header names. They are left out and counted.",
    "Correlations are over all cells of a table or paper, with Kendall's lower values beside Spearman's.",
    "Another model's replies, and another run of a metric, are no reproduction of the printed result.",
]


def reproducibility_record(paper, rows=None, defaults=None):
    """How reproducible a paper is, as a record: by paper, by table, by kind of evidence.

    Parameters
    ----------
    paper : str
        A key of `nlgjudge.ledger.printed.PAPERS`.
    rows : pandas.DataFrame, optional
        The ledger; the committed one by default.
    defaults : pandas.DataFrame, optional
        As from `nlgjudge.ledger.qra_defaults.library_defaults`, which is the default.

    Returns
    -------
    dict
        As `paper_tables/reproducibility/schema.json` describes; a measure that is undefined is None.

    Raises
    ------
    ValueError
        For an unknown paper.

    Examples
    --------
    >>> found = reproducibility_record("dhp")
    >>> found["title"], found["coverage"]["printed"], found["conclusions"]["in_print"]["tested"]
    ('DHP', 0, 0)
    """
    if paper not in PAPERS:
        raise ValueError(f"paper {paper!r}: expected one of {', '.join(PAPERS)}")
    if rows is None:
        rows = committed()
    own = rows[rows["paper"] == paper]
    fitted, default = with_library_default(own, defaults)
    of_paper = _lines(own, ["paper"])
    of_tables = _lines(own, ["paper", "artefact"])
    tables = []
    for name, part in of_tables.groupby("artefact", sort=False):
        cells = fitted["artefact"] == name
        tables.append(
            {
                "table": name,
                "coverage": _coverage(part),
                "evidence": _by_evidence(part),
                "library_default": _beside_default(
                    fitted[cells], default[cells], ["paper", "artefact"]
                ),
            }
        )
    return {
        "schema": "schema.json",
        "paper": paper,
        "title": PAPERS[paper],
        "method": METHOD,
        "coverage": _coverage(of_paper),
        "evidence": _by_evidence(of_paper),
        "library_default": _beside_default(fitted, default, ["paper"]),
        "tables": tables,
        "conclusions": _conclusions(paper, own),
        "caveats": CAVEATS,
    }


def _lines(rows, by):
    return reproducibility(
        rows, by, rng=np.random.default_rng(SEED), resamples=RESAMPLES, confidence=CONFIDENCE
    )


def _coverage(lines):
    """Of all printed cells but averages: how many are compared, and how many nobody ran."""
    if lines.empty:
        return {"printed": 0, "compared": 0, "not_run": 0}
    first = lines.iloc[0]
    printed = int(first["printed"])
    not_run = int(first["not_run"])
    return {"printed": printed, "compared": printed - not_run, "not_run": not_run}


def _by_evidence(lines):
    found = []
    for line in lines[lines["evidence"] != NONE].to_dict("records"):
        counts = {
            name: int(line[name]) for name in ("cells", "rows", "agree", "relabelled", "averages")
        }
        tried = line["variants_tried"]
        found.append(
            {
                "evidence": line["evidence"],
                **counts,
                "variants_tried": None if pd.isna(tried) else int(tried),
                **_types(line),
            }
        )
    return found


def _types(line):
    """The measures of a line by QRA++'s types of results."""
    values = {name: _measure(line, name) for name in MEASURES}
    return {
        "type_i": {"cv_star": values["cv_star"]},
        "type_ii": {"pearson": values["pearson"], "spearman": values["spearman"]},
        "type_iv": {"pairs": int(line["pairs"]), "order_upheld": values["order"]},
    }


def _beside_default(fitted, default, by):
    """The measures of the same cells with the variant that was found and with the library's default."""
    if fitted.empty:
        return None
    (ours,) = _lines(fitted, by).to_dict("records")
    (theirs,) = _lines(default, by).to_dict("records")
    return {
        "default": DEFAULT,
        "cells": int(ours["cells"]),
        "rows": int(ours["rows"]),
        "with_found_variant": _types(ours),
        "with_default": _types(theirs),
    }


def _measure(line, name):
    ends = {"value": name, "low": f"{name}_low", "high": f"{name}_high"}
    return {end: _number(line[column]) for end, column in ends.items()}


def _number(value):
    """A rounded number that JSON can hold."""
    return None if pd.isna(value) else round(float(value), DIGITS) + 0.0


def _conclusions(paper, rows):
    """The paper's sentences that hold; none where the checkout has no list of them."""
    found = {
        "listed": 0,
        "in_print": {"tested": 0, "hold": 0, "share": None},
        "in_ours": [],
        "mixed": 0,
    }
    try:
        said = listed()
    except FileNotFoundError:
        return found
    lines = conclusions(rows, table=said[said["paper"] == paper])
    for line in lines.to_dict("records"):
        counts = {
            "tested": int(line["tested"]),
            "hold": int(line["hold"]),
            "share": _number(line["share"]),
        }
        found["listed"] = int(line["listed"])
        found["mixed"] = int(line["mixed"])
        if line["evidence"] == PRINT:
            found["in_print"] = counts
        else:
            same = int(line["as_in_print"])
            found["in_ours"].append({"evidence": line["evidence"], **counts, "as_in_print": same})
    return found


def as_text(record):
    """Write a record as JSON, the same bytes everywhere."""
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def badge(record):
    """Draw a paper's badge: how many printed cells were recomputed, and their CV*.

    Only recomputed cells are on it; other kinds of evidence would not be about the same thing.

    Parameters
    ----------
    record : dict
        From `reproducibility_record`.

    Returns
    -------
    str
        SVG, with its words as title and label for who cannot see it.

    Examples
    --------
    >>> said = badge(reproducibility_record("dhp"))
    >>> "no printed correlations" in said, said.startswith("<svg")
    (True, True)
    """
    label = "recomputed"
    value = badge_words(record)
    title = f"{record['title']}: {label} {value}. The variant of each row was searched so that it fits the print."
    left = _width(label)
    right = _width(value)
    colour = "#1b6b33" if "CV*" in value else "#5f5f5f"
    return _BADGE.format(
        label=escape(label),
        value=escape(value),
        title=escape(title),
        quoted=quoteattr(title),
        width=left + right,
        left=left,
        right=right,
        middle_left=left / 2,
        middle_right=left + right / 2,
        colour=colour,
    )


def badge_words(record):
    """Say in short what came out for the recomputed cells.

    Parameters
    ----------
    record : dict
        Of a paper.

    Returns
    -------
    str

    Examples
    --------
    >>> line = {"evidence": "recomputed", "cells": 60, "type_i": {"cv_star": {"value": 0.0234}}}
    >>> badge_words({"coverage": {"printed": 234}, "evidence": [line]})
    '60 of 234 cells · CV* 0.02, variants fitted'
    """
    printed = record["coverage"]["printed"]
    if not printed:
        return "no printed correlations"
    recomputed = [line for line in record["evidence"] if line["evidence"] == "recomputed"]
    if not recomputed:
        return f"0 of {printed} cells"
    words = f"{recomputed[0]['cells']} of {printed} cells"
    value = recomputed[0]["type_i"]["cv_star"]["value"]
    return words if value is None else f"{words} · CV* {value:.2f}, variants fitted"


def _width(text):
    """Room for a text of 11 pixels in a common sans serif, with margins."""
    return 12 + 6.4 * len(text)


_BADGE = """<svg xmlns="http://www.w3.org/2000/svg" width="{width:.1f}" height="20" role="img" aria-label={quoted}>
<title>{title}</title>
<rect width="{left:.1f}" height="20" fill="#3d3d3d"/>
<rect x="{left:.1f}" width="{right:.1f}" height="20" fill="{colour}"/>
<g fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" text-anchor="middle">
<text x="{middle_left:.1f}" y="14">{label}</text>
<text x="{middle_right:.1f}" y="14">{value}</text>
</g>
</svg>
"""


def write_records(rows, folder):
    """Write the record and the badge of every paper.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger.
    folder : pathlib.Path
        Records go to `reproducibility/` below it, badges to `figures/` below it. Where the notebook of this
        run left a library's defaults there, they are taken, and else the committed ones.

    Returns
    -------
    list of pathlib.Path
        The records.
    """
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    of_this_run = folder / FOLDER / FILE
    defaults = library_defaults(of_this_run) if of_this_run.exists() else library_defaults()
    written = []
    for paper in PAPERS:
        record = reproducibility_record(paper, rows, defaults)
        path = folder / FOLDER / f"{paper}.json"
        path.write_text(as_text(record), encoding="utf-8", newline="\n")
        (folder / "figures" / f"badge_{paper}.svg").write_text(
            badge(record), encoding="utf-8", newline="\n"
        )
        written.append(path)
    return written
