"""Optional files: without one, or with one in an unexpected layout, the rest of a benchmark is read."""

import math
from pickle import UnpicklingError

from nlgjudge.data import fetch

# What a reader raises for a file in an unexpected layout.
MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, UnpicklingError)


def read_optional(entry, reader, files, left_out):
    """Read rows of an optional file; print one line if it was delivered badly or is malformed.

    Parameters
    ----------
    entry : nlgjudge.data.registry.Entry
    reader : callable
        Takes the content and returns rows.
    files : dict of str to str
        Gets the file's blob id if the file is available.
    left_out : dict of str to str
        Gets the reason if the file is not used.

    Returns
    -------
    list of tuple
    """
    try:
        content = fetch.read(entry)
        files[entry.path] = entry.blob
        return list(reader(content))
    except fetch.DataUnavailable as error:
        if error.kind != "failed":
            left_out[entry.path] = "not on this machine"
            return []
        reason = error.cause
    except MALFORMED as error:
        reason = f"it is laid out otherwise than expected ({type(error).__name__}: {error})"
    left_out[entry.path] = " ".join(reason.split())
    print(
        f"{entry.benchmark}: {entry.path} of {entry.repository} is left out: {left_out[entry.path]}"
    )
    return []


def finite_scores(entry, rows):
    """Rows `item_id, metric, aspect, score, ...` whose score is a finite number; prints how many are not."""
    found = [(*row[:3], _number(row[3]), *row[4:]) for row in rows]
    kept = [row for row in found if math.isfinite(row[3])]
    if len(kept) < len(found):
        share = f"{len(found) - len(kept)} of {len(found)} scores"
        print(f"{entry.path} of {entry.repository}: {share} are no finite numbers and are left out")
    return kept


def _number(score):
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError):
        return math.nan
