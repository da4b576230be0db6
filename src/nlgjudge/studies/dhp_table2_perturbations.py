"""DHP's settings against what this code does, and its damage made visible (`dhp_table2_perturbations`)."""

import difflib
import html
import re

import pandas as pd

from nlgjudge.ledger.printed import published
from nlgjudge.papers.dhp.perturbing import DATASETS, LEVELS, perturbations

_TASKS = {"Summarization": "summeval", "Story Completion": "story_cloze",
          "Question Answering": "answer_equivalence", "Translation": "wmt22_de_en"}
# Table 2 calls them "Random Deletions" at two levels.
_NAMES = {"deletions": "Random Deletions", "typos": "Random Typos", "word deletions": "Random Deletions",
          "fictional entities": "Fictional Named Entities", "grammatical errors": "Grammatical Errors",
          "reordering": "Reordering", "rewriting and insertion": "Rewriting and Insertion",
          "random ending": "Random Ending Sentence", "wrong ending": "Wrong Ending Sentence",
          "random answer": "Random Answer"}


def highlight(before, after):
    """Show a change as HTML: deletions struck through, insertions underlined.

    Parameters
    ----------
    before, after : str

    Returns
    -------
    str
    """
    parts, pieces = [], [re.findall(r"\w|\W", text) for text in (before, after)]
    if len(after) > len(before) + 25 or sorted(before) == sorted(after):  # whole sentences came or moved
        pieces = [re.findall(r"\S+\s*", text) for text in (before, after)]
    for kind, a, b, c, d in difflib.SequenceMatcher(None, *pieces, autojunk=False).get_opcodes():
        old, new = html.escape("".join(pieces[0][a:b])), html.escape("".join(pieces[1][c:d]))
        parts += [old] if kind == "equal" else [f"<del style='color:#b2182b'>{old}</del>" * bool(old),
                                                f"<ins style='color:#1b7837'>{new}</ins>" * bool(new)]
    return "".join(parts)


def dhp_settings(statistics):
    """State ours for each printed line of DHP's tables 1 to 3.

    Parameters
    ----------
    statistics : pandas.DataFrame
        By row label of Table 2's statistics: `ours` (as printed, or empty), `verdict`, `note`.

    Returns
    -------
    pandas.DataFrame
        `artefact, row, column, ours, verdict, note`, for `nlgjudge.ledger.printed_settings.settings`.
        `same`: our plan says what is printed.
    """
    rows = [(artefact, line.row, line.column, *_STATED[artefact](line, statistics))
            for artefact in _STATED for line in published("dhp", artefact).itertuples()]
    return pd.DataFrame(rows, columns=["artefact", "row", "column", "ours", "verdict", "note"])


def _table1(line, _):
    dataset = _TASKS[line.row.split(" / ")[0]]
    if line.column == "Metrics":
        from nlgjudge.judging.prompts import names

        name = f"dhp/{DATASETS[dataset][0]}/{line.printed.lower().replace(' ', '_')}"
        return (line.printed, "same", f"prompt {name}") if name in names() else ("", "not_run", "no prompt")
    level = {"C": "character", "W": "word", "S": "sentence"}[line.printed[0]]
    plan = [w for w in perturbations(dataset) if w.level == level]
    names = dict.fromkeys(f"{_NAMES[w.name]} ({'L' if w.origin == 'stand-in' else 'R'})" for w in plan)
    double = " (M)" if any(w.degree == "minor" for w in plan) else ""
    ours = f"{line.printed[0]}{double} : {' , '.join(names)}"
    return _agrees(ours, sorted(ours.split()) == sorted(line.printed.split()))


def _table2(line, statistics):
    if line.column != "Description":
        return tuple(statistics.loc[line.row, ["ours", "verdict", "note"]])
    task, _, rest = line.row.partition(" / ")
    kind, name = re.fullmatch(r"\(., (.)\) (.*)", rest).groups()
    level = {"C": "character", "W": "word"}.get(rest[1], "sentence")
    names = [ours for ours, printed in _NAMES.items()
             if printed == name and LEVELS.get(ours, "sentence") == level]
    tasks = [d for d in DATASETS if DATASETS[d][0] == DATASETS[_TASKS[task]][0]]
    sizes = {d: [w.k for w in perturbations(d) if w.name in names] for d in tasks}
    ours = "; ".join(dict.fromkeys("k=" + "/".join(str(k or "all") for k in ks) for ks in sizes.values()))
    if kind == "L":
        return ours, "stand_in", "the stand-in's sizes are ours; nj.dhp.rewrite asks any live judge instead"
    if not line.printed:
        return ours, "not_run", line.note
    printed = re.findall(r"k=(\w+)|Add (\d+)", line.printed)
    ks = ["".join(pair) for pair in printed]
    # A row that names no dataset holds for each of its task.
    wanted = [str(k or "all") for d in (tasks if len(ks) > 2 else tasks[:1]) for k in sizes[d]]
    return _agrees(ours, ks in ([], wanted) and wanted)


def _agrees(ours, same):
    return (ours, "same", "") if same else (ours, "differs", "the plan here says otherwise")


_LIVE = "", "not_run", "a live judge: -p judge openai:MODEL; version and source are as printed"
_STATED = {"table1": _table1, "table2": _table2, "table3": lambda *_: _LIVE}
