"""Replies on Topical-Chat whose rows name texts instead of keys (Chiang and Lee 2023)."""

import json


def read(content, part, spec, items):
    """Rows of a file of one aspect."""
    texts = zip(items["source"], items["context"], items["system_id"])
    item_ids = dict(zip(texts, items["item_id"]))
    rows = []
    for row in json.loads(content):
        item_id = item_ids.get((row["source"], row["context"], row["system_id"]))
        if item_id:
            for number, reply in enumerate(row["all_responses"]):
                rows.append((item_id, spec.aspects[part], number, str(reply)))
    return rows
