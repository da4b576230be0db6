"""Metric scores that others released with a benchmark."""

import json
import math


def finite_scores(entry, rows):
    """Rows `item_id, metric, aspect, score, ...` whose score is a finite number; prints how many are not."""
    numbers = [(*row[:3], _number(row[3]), *row[4:]) for row in rows]
    finite = [row for row in numbers if math.isfinite(row[3])]
    if len(finite) < len(numbers):
        share = f"{len(numbers) - len(finite)} of {len(numbers)} scores"
        print(f"{entry.path} of {entry.repository}: {share} are no finite numbers and are left out")
    return finite


def _number(score):
    try:
        return float(score)
    except (TypeError, ValueError):
        return math.nan


def unieval_scores(files, item_of):
    """Rows of UniEval's released predictions (optional); `item_of` gives the item of a line."""
    entry = files.find("_result.json")

    def rows(content):
        predictions = {}
        for line in json.loads(content):
            item_id = item_of(line)
            for aspect, score in line["predict_scores"].items():
                row = (item_id, "unieval", aspect, score, "", "released_scores")
                predictions[item_id, aspect] = row
        return finite_scores(entry, predictions.values())

    return files.read_optional(entry, rows)
