"""DHP's settings against what this code does, and its damage made visible (`dhp_table2_perturbations`)."""

import difflib
import html
import re

import pandas as pd

from nlgjudge.ledger.printed import published
from nlgjudge.papers.dhp.perturbing import DATASETS, LEVELS, perturbations

_TASKS = {
    "Summarization": "summeval",
    "Story Completion": "story_cloze",
    "Question Answering": "answer_equivalence",
    "Translation": "wmt22_de_en",
}
# Table 2 calls them "Random Deletions" at two levels.
_NAMES = {
    "deletions": "Random Deletions",
    "typos": "Random Typos",
    "word deletions": "Random Deletions",
    "fictional entities": "Fictional Named Entities",
    "grammatical errors": "Grammatical Errors",
    "reordering": "Reordering",
    "rewriting and insertion": "Rewriting and Insertion",
    "random ending": "Random Ending Sentence",
    "wrong ending": "Wrong Ending Sentence",
    "random answer": "Random Answer",
}
_STYLES = {"del": "color:#b2182b", "ins": "color:#1b7837"}


def highlight(before, after):
    """Show a change as HTML: deletions struck through, insertions underlined.

    Parameters
    ----------
    before, after : str

    Returns
    -------
    str

    Examples
    --------
    >>> highlight("a cat", "a rat")
    "a <del style='color:#b2182b'>c</del><ins style='color:#1b7837'>r</ins>at"
    """
    sentences_came = len(after) > len(before) + 25
    sentences_moved = sorted(before) == sorted(after)
    unit = r"\S+\s*" if sentences_came or sentences_moved else r"\w|\W"
    old = re.findall(unit, before)
    new = re.findall(unit, after)
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    parts = []
    for kind, old_start, old_end, new_start, new_end in changes:
        gone = html.escape("".join(old[old_start:old_end]))
        come = html.escape("".join(new[new_start:new_end]))
        if kind == "equal":
            parts.append(gone)
        else:
            parts += [_marked("del", gone), _marked("ins", come)]
    return "".join(parts)


def _marked(tag, text):
    return f"<{tag} style='{_STYLES[tag]}'>{text}</{tag}>" if text else ""


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

    Examples
    --------
    >>> rows = published("dhp", "table2")["row"].unique()
    >>> statistics = pd.DataFrame({"ours": "", "verdict": "not_run", "note": "an example"}, index=rows)
    >>> dhp_settings(statistics).loc[0, ["artefact", "column", "ours", "verdict"]].tolist()
    ['table1', 'Metrics', 'Coherence', 'same']
    """
    rows = []
    for artefact, stated in _STATED.items():
        for line in published("dhp", artefact).itertuples():
            rows.append((artefact, line.row, line.column, *stated(line, statistics)))
    return pd.DataFrame(rows, columns=["artefact", "row", "column", "ours", "verdict", "note"])


def _table1(line, _):
    """What our plan says of a task's metrics, or of its perturbations at one level of text."""
    dataset = _TASKS[line.row.split(" / ")[0]]
    if line.column == "Metrics":
        return _metric(dataset, line.printed)
    letter = line.printed[0]
    level = {"C": "character", "W": "word", "S": "sentence"}[letter]
    plan = [damage for damage in perturbations(dataset) if damage.level == level]
    names = []
    for damage in plan:
        origin = "L" if damage.origin == "stand-in" else "R"
        names.append(f"{_NAMES[damage.name]} ({origin})")
    in_degrees = " (M)" if any(damage.degree == "minor" for damage in plan) else ""
    ours = f"{letter}{in_degrees} : {' , '.join(dict.fromkeys(names))}"
    return _agrees(ours, sorted(ours.split()) == sorted(line.printed.split()))


def _metric(dataset, printed):
    """Whether there is a prompt for a printed metric."""
    from nlgjudge.judging.prompts import names

    task, *_ = DATASETS[dataset]
    name = f"dhp/{task}/{printed.lower().replace(' ', '_')}"
    if name in names():
        return printed, "same", f"prompt {name}"
    return "", "not_run", "no prompt"


def _table2(line, statistics):
    """What our plan says of a perturbation, or what its texts' statistics are."""
    if line.column != "Description":
        return tuple(statistics.loc[line.row, ["ours", "verdict", "note"]])
    task, _, rest = line.row.partition(" / ")
    made_by, name = re.fullmatch(r"\(., (.)\) (.*)", rest).groups()
    level = {"C": "character", "W": "word"}.get(rest[1], "sentence")
    sizes = _sizes(task, name, level)
    ours = "; ".join(dict.fromkeys("k=" + "/".join(of_one) for of_one in sizes.values()))
    if made_by == "L":
        return (
            ours,
            "stand_in",
            "the stand-in's sizes are ours; nj.dhp.rewrite asks any live judge instead",
        )
    if not line.printed:
        return ours, "not_run", line.note
    printed = ["".join(pair) for pair in re.findall(r"k=(\w+)|Add (\d+)", line.printed)]
    if not printed:
        return _agrees(ours, True)
    # A row that names no dataset holds for each of its task.
    datasets = list(sizes) if len(printed) > 2 else list(sizes)[:1]
    wanted = [size for dataset in datasets for size in sizes[dataset]]
    return _agrees(ours, printed == wanted)


def _sizes(task, name, level):
    """By dataset of a task, how many edits our plan makes under a printed name."""
    own_names = [
        own
        for own, printed in _NAMES.items()
        if printed == name and LEVELS.get(own, "sentence") == level
    ]
    kind, *_ = DATASETS[_TASKS[task]]
    sizes = {}
    for dataset, (of_kind, *_) in DATASETS.items():
        if of_kind == kind:
            plan = [damage for damage in perturbations(dataset) if damage.name in own_names]
            sizes[dataset] = [str(damage.k or "all") for damage in plan]
    return sizes


def _agrees(ours, same):
    if same:
        return ours, "same", ""
    return ours, "differs", "the plan here says otherwise"


def _table3(_line, _statistics):
    return "", "not_run", "a live judge: -p judge openai:MODEL; version and source are as printed"


_STATED = {"table1": _table1, "table2": _table2, "table3": _table3}
