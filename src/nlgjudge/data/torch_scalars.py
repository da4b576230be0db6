"""Read a tensor with one element from a pickle, without torch and without running foreign code.

BARTScore's `score.py` stores what its metrics return, and for sets with one reference some of that
is a torch tensor. Plain `pickle` writes such a tensor as a call of `torch._utils._rebuild_tensor_v2`
on a storage, and the storage as a call of `torch.storage._load_from_bytes` on bytes that `torch.save`
made in its old format: a magic number, a protocol number, facts about the machine, the storage's
description, the storages' keys, and each storage as its length and its raw elements. The
functions here do for these two calls what reading one number takes, and nothing more.
"""

import io
import pickle
import struct
from typing import NamedTuple

import numpy as np

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_TYPES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
}


class _Storage(NamedTuple):
    """Description of a storage, as its pickle names it.

    Attributes
    ----------
    type : str
        A name of `_TYPES`.
    key : str
        Under which its elements follow.
    """

    type: str
    key: str


class _Description(pickle.Unpickler):
    """Unpickle plain objects and the description of one storage."""

    def find_class(self, module, name):
        if module == "torch" and name in _TYPES:
            return name
        raise pickle.UnpicklingError(
            f"a stored tensor names {module}.{name}; expected one of "
            + ", ".join(f"torch.{known}" for known in _TYPES)
        )

    def persistent_load(self, given):
        kind, storage_type, key, _, _, view = given
        if kind != "storage" or view is not None:
            raise pickle.UnpicklingError(
                "a stored tensor is a view of another; expected its own storage"
            )
        return _Storage(storage_type, key)


def storage(content):
    """Elements of a storage that `torch.save` wrote in its old format.

    Parameters
    ----------
    content : bytes

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    pickle.UnpicklingError
        For another format, or a storage of anything but plain numbers.
    """
    stream = io.BytesIO(content)
    magic = _Description(stream).load()
    protocol = _Description(stream).load()
    if (magic, protocol) != (_MAGIC, _PROTOCOL):
        raise pickle.UnpicklingError("a stored tensor is in another format than torch's old one")
    _Description(stream).load()  # sizes of short, int and long on the machine that wrote it
    described = _Description(stream).load()
    keys = _Description(stream).load()
    if not isinstance(described, _Storage) or keys != [described.key]:
        raise pickle.UnpicklingError("a stored tensor has another layout than one storage")
    (length,) = struct.unpack("<q", stream.read(8))
    kind = np.dtype(_TYPES[described.type])
    raw = stream.read()
    if length < 0 or len(raw) != length * kind.itemsize:
        raise pickle.UnpicklingError(
            f"a stored tensor is cut: expected {length} elements of "
            f"{kind.itemsize} bytes, got {len(raw)} bytes"
        )
    return np.frombuffer(raw, kind)


def scalar(elements, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    """Do the part of `_rebuild_tensor_v2` that a tensor with one element takes.

    Parameters
    ----------
    elements : numpy.ndarray
        What `storage` gave.
    offset : int
        Where the tensor's first element lies.
    size : tuple of int
    stride, requires_grad, hooks, metadata
        Of no matter for one element.

    Returns
    -------
    float

    Raises
    ------
    pickle.UnpicklingError
        For a tensor with more elements, or none.
    """
    count = int(np.prod(size, dtype=np.int64))
    if count != 1:
        raise pickle.UnpicklingError(f"a stored tensor has {count} elements; expected one number")
    if not 0 <= offset < len(elements):
        raise pickle.UnpicklingError(
            f"a stored tensor lies at {offset} of {len(elements)} elements"
        )
    return float(elements[offset])


# By the name that a pickle calls, what is called instead.
CALLS = {
    ("torch._utils", "_rebuild_tensor_v2"): scalar,
    ("torch.storage", "_load_from_bytes"): storage,
    ("collections", "OrderedDict"): dict,
}
