"""Studies whose true correlations are known, for tests of intervals and simulations."""

import numpy as np
import pandas as pd


def planted(
    rng, *, documents=40, systems=10, correlations=(0.5, 0.5), of_systems=0.2, of_documents=0.2
):
    """Draw human ratings and the scores of judges a, b, ... (`beyond_statistics_validity` has the formula)."""
    of_items = 1 - of_systems - of_documents
    parts = [
        (of_systems, (1, systems)),
        (of_documents, (documents, 1)),
        (of_items, (documents, systems)),
    ]
    scores = 0
    for share, size in parts:
        human, common, *own = rng.standard_normal((2 + len(correlations), *size))
        errors = [np.sqrt(0.5) * common + np.sqrt(0.5) * error for error in own]
        judges = [r * human + np.sqrt(1 - r**2) * error for r, error in zip(correlations, errors)]
        scores = scores + np.sqrt(share) * np.array([human, *judges])
    names = ["human", *"abcdef"[: len(correlations)]]
    study = pd.DataFrame(scores.reshape(len(names), -1).T, columns=names)
    study["doc_id"] = np.repeat(np.arange(documents), systems)
    study["system_id"] = np.tile(np.arange(systems), documents)
    return study
