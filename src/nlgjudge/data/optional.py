"""Optional files: what upstream has beside a benchmark's own texts and ratings.

Lacking one, or not understanding one, costs that file alone and one line that names it. It
never stops a run, and it writes nothing to the standard error stream, so that a notebook's
output holds no warning.
"""

import math
import pickle

from nlgjudge.data import fetch

ABSENT = "not on this machine"
# What a reader meets in a file that is laid out otherwise than it expects.
ODD = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    pickle.UnpicklingError,
)


class Optional:
    """Read a benchmark's optional files and keep account of them.

    Parameters
    ----------
    name : str
        The benchmark, for messages.

    Attributes
    ----------
    files : dict of str to str
        Each file that was had, readable or not, with its git blob id: the data on this machine
        are others with it than without it.
    left_out : dict of str to str
        Each file that was not used, and why.
    """

    def __init__(self, name):
        self.name = name
        self.files = {}
        self.left_out = {}

    def read(self, entry, reader):
        """Read one file.

        Parameters
        ----------
        entry : nlgjudge.data.registry.Entry
        reader : callable
            Takes the file's content and returns rows.

        Returns
        -------
        list
            Empty where the file is left out.
        """
        try:
            content = fetch.read(entry)
        except fetch.DataUnavailable as error:
            self.left_out[entry.path] = ABSENT
            if error.kind == "failed":
                self._say(entry, error.cause)
            return []
        self.files[entry.path] = entry.blob
        try:
            return list(reader(content))
        except ODD as error:
            self._say(
                entry, f"it is laid out otherwise than expected ({type(error).__name__}: {error})"
            )
            return []

    def _say(self, entry, why):
        self.left_out[entry.path] = " ".join(why.split())
        print(
            f"{self.name}: {entry.path} of {entry.repository} is left out: {self.left_out[entry.path]}"
        )


def numbers(entry, rows):
    """Keep the rows whose score is a number; say how many are not.

    Parameters
    ----------
    entry : nlgjudge.data.registry.Entry
        The file that they are from, for the message.
    rows : iterable of tuple
        `item_id, metric, aspect, score` and more; a score may be any object.

    Returns
    -------
    list of tuple
        With the score as a float. A score that is written as text is read; none, NaN,
        infinite and unreadable ones are left out.
    """
    kept = []
    odd = []
    for row in rows:
        try:
            score = float(row[3])
        except (
            TypeError,
            ValueError,
            OverflowError,
        ):  # the last of a number with hundreds of digits
            score = math.nan
        if math.isfinite(score):
            kept.append((*row[:3], score, *row[4:]))
        else:
            odd.append(row)
    if odd:
        item, metric, aspect, score = odd[0][:4]
        what = " ".join(part for part in (metric, aspect) if part)
        example = f"{str(score)[:20]!r} for {what} of {item}"
        share = f"{len(odd)} of {len(kept) + len(odd)} scores"
        print(
            f"{entry.path} of {entry.repository}: {share} are no finite numbers and are left out, as "
            f"{example}"
        )
    return kept
