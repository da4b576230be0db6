"""What a library's default would have given, beside the variants that were found to fit the print.

`paper_tables/reproducibility/library_default.csv` holds the correlations of ROUGE-1, 2 and L as rouge-score
computes them when nothing is set. The notebook `reproducibility` writes it; no score of a single item is in it.
"""

import pandas as pd

from nlgjudge.data.paths import out, root, use
from nlgjudge.ledger.ledger import DIGITS
from nlgjudge.ledger.printed import KEY

DEFAULT = "rouge-score without options: F, no stemmer, no sentence boundaries, the best reference"
FILE = "library_default.csv"


def library_defaults(path=None):
    """Read the correlations that a library's default gives.

    Parameters
    ----------
    path : pathlib.Path, optional
        The committed file by default.

    Returns
    -------
    pandas.DataFrame
        `row, dataset, aspect, level, coefficient, ours`; no line where there is no file.

    Examples
    --------
    >>> found = library_defaults()
    >>> sorted(found["row"].unique())
    ['ROUGE-1', 'ROUGE-2', 'ROUGE-L']
    """
    path = path or root() / "paper_tables" / "reproducibility" / FILE
    if not path.is_file():
        return pd.DataFrame(columns=[*KEY, "ours"])
    return pd.read_csv(use(path))


def keep_library_defaults(values):
    """Save such correlations among the results of a run, for `nlgjudge refresh` to take.

    Parameters
    ----------
    values : pandas.DataFrame
        `row, dataset, aspect, level, coefficient, ours`, of real data.

    Returns
    -------
    pandas.DataFrame
        As `library_defaults` will read them: sorted, with the digits that are kept.

    Examples
    --------
    >>> keep_library_defaults(library_defaults()).equals(library_defaults())  # the committed ones, as a run's
    True
    """
    path = out() / "reproducibility" / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    table = values[[*KEY, "ours"]].sort_values(KEY, ignore_index=True)
    table["ours"] = table["ours"].round(DIGITS) + 0.0
    table.to_csv(path, index=False, lineterminator="\n")
    return table


def with_library_default(rows, defaults=None):
    """The recomputed cells that a default is known for, with ours and with the default in its place.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger.
    defaults : pandas.DataFrame, optional
        As from `library_defaults`, which is the default.

    Returns
    -------
    fitted, default : pandas.DataFrame
        The same cells of the ledger, averages left out. In `default`, `ours` is the library's, and the
        verdict is empty.

    Examples
    --------
    >>> from nlgjudge.ledger.ledger import committed
    >>> fitted, default = with_library_default(committed())
    >>> len(fitted) == len(default) > 0, bool((fitted["ours"] != default["ours"]).any())
    (True, True)
    """
    if defaults is None:
        defaults = library_defaults()
    recomputed = rows[
        (rows["evidence"] == "recomputed")
        & (rows["aspect"] != "AVG")
        & (rows["verdict"] != "not_run")
    ]
    both = recomputed.merge(defaults.rename(columns={"ours": "default"}), on=KEY)
    fitted = both.drop(columns="default")
    default = fitted.assign(
        ours=both["default"],
        difference=both["default"] - pd.to_numeric(both["published"]),
        verdict="",
        note="",
    )
    return fitted, default
