"""One file with the scores of several judges (Calderon et al. 2025)."""

import json


def read(content, part, spec, items):
    """Rows of one judge."""
    rows = []
    for key, score in json.loads(content)[spec.model].items():
        doc_id, system_id, aspect = key.split("__")
        rows.append((f"{doc_id}/{system_id}", aspect, 0, str(score)))
    return rows
