"""Tables that people open in a spreadsheet: a text of somebody else's must not become a formula there."""

import pandas as pd

# What a spreadsheet takes for the beginning of a formula.
_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


def write(frame, path, **options):
    """Write a table as CSV in which no text is a formula.

    A text that a spreadsheet would compute gets an apostrophe in front, which a spreadsheet takes for "this
    is text". Numbers stay as they are. `plain` takes the apostrophes off again.

    Parameters
    ----------
    frame : pandas.DataFrame
        Written without its index.
    path : path-like
    **options
        For `pandas.DataFrame.to_csv`.
    """
    safe = frame.rename(columns=as_text)
    for place, kind in enumerate(safe.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            safe.isetitem(place, safe.iloc[:, place].map(as_text))
    safe.to_csv(path, index=False, **options)


def plain(value):
    """What was written, from what stands for it.

    Parameters
    ----------
    value : object
        As `as_text` gives it.

    Returns
    -------
    object

    Examples
    --------
    >>> plain("'- Fluency: 4"), plain("'tis fine"), plain(4)
    ('- Fluency: 4', "'tis fine", 4)
    """
    if isinstance(value, str) and as_text(value[1:]) == value:
        return value[1:]
    return value


def as_text(value):
    """What stands for a cell's content so that no spreadsheet computes it.

    Parameters
    ----------
    value : object

    Returns
    -------
    object
        Anything but a text stays as it is, and so does a number that is written as text.

    Examples
    --------
    >>> as_text('=HYPERLINK("http://example.com")'), as_text("- Fluency: 4"), as_text("-4"), as_text("4 = good")
    ('\\'=HYPERLINK("http://example.com")', "'- Fluency: 4", '-4', '4 = good')
    """
    if not isinstance(value, str) or not value.lstrip(" \n").startswith(_BEGINNINGS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
