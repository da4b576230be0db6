"""`nlgjudge reproducibility`: the papers' reproducibility as a table, and the records as files."""

import numpy as np

from nlgjudge.ledger import qra, qra_records
from nlgjudge.ledger.ledger import committed
from nlgjudge.ledger.printed import PAPERS

_SHOWN = [
    "evidence",
    "cells",
    "printed",
    "not_run",
    "cv_star",
    "cv_star_low",
    "cv_star_high",
    "pearson",
    "spearman",
    "order",
]

_READING = """printed and not_run are of the whole paper or table, without averages. The variant of each recomputed
row was searched so that it fits the print. help(nlgjudge.ledger.reproducibility) says what each column is."""


def show(papers=(), tables=False, output=None):
    """Print the measures by paper or table, and write the records where a folder is named.

    Parameters
    ----------
    papers : sequence of str
        Keys of papers; all by default.
    tables : bool
        By table.
    output : pathlib.Path, optional
        Records go to `reproducibility/` below it, badges to `figures/`.

    Raises
    ------
    ValueError
        For an unknown paper.
    """
    unknown = sorted(set(papers) - set(PAPERS))
    if unknown:
        raise ValueError(f"paper {', '.join(unknown)}: expected one of {', '.join(PAPERS)}")
    rows = committed()
    by = ["paper", "artefact"] if tables else ["paper"]
    rng = np.random.default_rng(qra_records.SEED)
    shown = rows[rows["paper"].isin(papers)] if papers else rows
    found = qra.reproducibility(shown, by, rng=rng, resamples=qra_records.RESAMPLES)
    print(found[[*by, *_SHOWN]].round(3).to_string(index=False, na_rep="-"))
    print(f"\n{_READING}")
    if output:
        for path in qra_records.write_records(rows, output):
            print(path)
