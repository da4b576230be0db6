"""What stands for numpy in a pickle of its scalars: single and double precision, as plain floats.

REALSumm's files name two globals of numpy, `scalar` and `dtype`. Both are this module's own here, so that
reading such a file calls nothing of numpy's.
"""

import pickle
import struct

_FORMATS = {"f4": "f", "f8": "d"}
_ORDERS = {"<": "<", ">": ">", "=": "="}


class NumberType:
    """In the place of numpy.dtype: a floating number of four or eight bytes.

    Parameters
    ----------
    name : str
        ``f4`` or ``f8``.
    *_ : object
        Whether it is aligned and copied, which changes nothing.
    """

    def __init__(self, name, *_):
        if name not in _FORMATS:
            raise pickle.UnpicklingError(f"a numpy scalar of type {name!r}; expected f4 or f8")
        self.format = _FORMATS[name]
        self.order = "="

    def __setstate__(self, state):
        """Take the order of the bytes, the second of the values that numpy keeps."""
        self.order = _ORDERS[state[1]]


def scalar(kind, content):
    """In the place of numpy's function of that name: the number itself.

    Parameters
    ----------
    kind : NumberType
    content : bytes

    Returns
    -------
    float
    """
    if not isinstance(kind, NumberType):
        raise pickle.UnpicklingError(
            f"a numpy scalar of {type(kind).__name__}; expected one of a number type"
        )
    (number,) = struct.unpack(kind.order + kind.format, content)
    return number


CALLS = {
    ("numpy.core.multiarray", "scalar"): scalar,
    ("numpy", "dtype"): NumberType,
}
