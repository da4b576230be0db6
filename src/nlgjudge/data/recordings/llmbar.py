"""LLMBar's released replies (Zeng et al. 2024): choices and ratings, with the winner that the authors read."""

import json

from nlgjudge.data.benchmarks.llmbar import ASPECT, FOLDERS, item_id


def read(content, part, spec, items):
    """Rows of one set's file; the verdict is 1 where the text shown first won, or the rating."""
    name = FOLDERS[part.removeprefix("Dataset/").partition("/evaluators")[0]]
    rows = []
    for place, pair in enumerate(json.loads(content)):
        last = pair["results"][-1]
        for order, swap in (("1", "swap = False"), ("2", "swap = True")):
            if spec.form == "choice":
                text, winner = last[swap]["completion"][0], last[swap]["winner"]
                verdict = None if winner is None else float(winner == order)
            else:
                text = last[f"score_{order}"][0]
                verdict = _whole(text)
            rows.append((f"{item_id(name, place)}/{order}", ASPECT, 0, text, verdict))
    return rows


def _whole(text):
    """A rating as the authors read it: a reply that is a whole number, whatever the scale."""
    try:
        return float(int(text))
    except ValueError:
        return None
