"""Names of columns in data of your own: mapped, known, or refused."""

import re

import pandas as pd

from nlgjudge.data.checks import unknown

TEXTS = ("source", "hypothesis", "references", "context", "other")
NAMES = (*TEXTS, "system", "doc_id", "rater", "aspect")
RATING = "human:ASPECT or human:ASPECT:RATER"
JUDGE = "judge:NAME or judge:NAME:ASPECT"
# Exports that also say which annotations count, by columns that only they have; before a dot stands a question.
EXPORTS = (
    ("Label Studio", {"data", "annotations"}),
    ("Label Studio", {"annotation_id", "lead_time"}),
    ("Argilla", {".responses"}),
    ("Amazon Mechanical Turk", {"AssignmentStatus"}),
    ("Prodigy", {"_input_hash", "_task_hash"}),
)


def mapping(columns):
    """The mapping of columns as a dict; refuses a name that is not used here."""
    if isinstance(columns, str):
        pairs = [part.partition("=")[::2] for part in columns.split(",")]
        columns = {name.strip(): column.strip() for name, column in pairs}
    for name, column in (columns or {}).items():
        if name not in NAMES and not is_rating(name) and not is_judge(name):
            listed = unknown("name", name, [*NAMES, *f"{RATING} or {JUDGE}".split(" or ")], most=20)
            raise ValueError(
                f"column mapping {name}={column}: {listed}. Expected a name used here, then your column's, as "
                "hypothesis=summary"
            )
    return columns or {}


def is_rating(name):
    """Whether a column holds ratings, by its name."""
    return re.match(r"\s*human\s*:", name, re.IGNORECASE) is not None


def is_judge(name):
    """Whether a column holds a judge's scores, by its name."""
    return re.fullmatch(r"\s*judge\s*:[^:]+(:[^:]+)?", name, re.IGNORECASE) is not None


def named(frame, names, problems):
    """Give the mapped columns the names used here; one column may serve two purposes."""
    signs = {*frame, *(name[name.rfind(".") :] for name in frame)}
    for tool, sign in EXPORTS:
        if sign <= signs:
            place = f"site/guide/exports.md#{tool.lower().replace(' ', '-')}"
            problems.problem(
                f"an export of {tool}, in which some annotations may not count. Make a table of those that do with the "
                f"lines of pandas in {place}",
                ", ".join(sorted(sign)),
            )
    problems.check()
    renamed = {name: frame[name] for name in frame if name not in names.values()}
    for name, column in names.items():
        if column in frame:
            renamed[name] = frame[column]
        else:
            problems.problem(unknown("column", column, frame.columns), name)
    frame = pd.DataFrame(renamed, index=frame.index, dtype=object)
    theirs = ", ".join(frame)
    missing = [name for name in ("source", "hypothesis", "system", RATING) if name not in frame]
    _with_system(frame, problems)
    if any(map(is_rating, frame)):
        missing = ["system"] * ("system" not in frame)  # agreement needs no texts
    if missing:
        example = ",".join(f"{name}=COLUMN" for name in missing).replace(RATING, "human:fluency")
        problems.problem(
            f"missing {', '.join(missing)}; the file has the columns {theirs}. Rename them, or "
            f'map them with the parameter `columns`: -p columns "{example}"'
        )
    problems.check()
    return frame


def _with_system(frame, problems):
    """Name the only system of outputs of which each has a document of its own; pairs need none."""
    document = [name for name in ("doc_id", "source") if name in frame][:1]
    shared = [name for name in ("rater", "aspect") if name in frame]
    if "other" in frame:
        frame["system"] = "pair"
    elif not document and shared:
        message = "which rows are one output's? Name it in a column `doc_id`"
        problems.problem(message, shared[0])
    elif not document:
        problems.note("neither doc_id nor source: each row is read as a document of its own")
    if "system" not in frame and not (document and frame.duplicated([*document, *shared]).any()):
        frame["system"] = "one system"
