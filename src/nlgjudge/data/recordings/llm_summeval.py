"""A line for each reply, a file for each system and aspect (Shen et al. 2023)."""

import json


def read(content, part, spec, items):
    """Rows of a file; `part` is as ``eval_M10_generations/coherence``."""
    folder, aspect = part.split("/")
    system_id = folder.split("_")[1]
    rows = []
    for line in content.decode("utf-8").splitlines():
        row = json.loads(line)
        rows.append((f"{row['id']}/{system_id}", aspect, 0, str(row["resp"])))
    return rows
