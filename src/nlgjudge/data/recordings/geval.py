"""Several replies an item under its keys, a file for each aspect (G-Eval; Chiang and Lee 2023 on SummEval)."""

import json


def read(content, part, spec, items):
    """Rows of a file of one aspect."""
    rows = []
    for row in json.loads(content):
        item_id = f"{row['doc_id']}/{row['system_id']}"
        for number, reply in enumerate(row["all_responses"]):
            rows.append((item_id, spec.aspects[part], number, str(reply)))
    return rows
