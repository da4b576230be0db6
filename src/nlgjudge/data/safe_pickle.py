"""Read pickles without running foreign code: plain containers, numpy scalars, one-element torch tensors.

BARTScore's `score.py` stores what its metrics return, and for data with one reference some of that is
a torch tensor. A pickle stores it as `torch._utils._rebuild_tensor_v2` of a storage, and the storage
as bytes that `torch.save` wrote in its legacy format. Torch is not needed to read the one number.
"""

import io
import pickle
import struct

import numpy as np

_NUMBERS = "fiub"  # kinds of numpy scalars
_MAGIC = 0x1950A86A20F9469CFC6C


class _Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in _CALLS:
            raise pickle.UnpicklingError(
                f"the pickle names {module}.{name}; expected only dicts, lists, strings and numbers, "
                "so it was not read: loading it could run foreign code"
            )
        return _CALLS[module, name]

    def persistent_load(self, description):
        return description  # of a torch storage


def unpickle(content: bytes):
    """Read a pickle; UnpicklingError if it names a global of another kind or is truncated.

    Returns
    -------
    Containers, strings and numbers; numpy scalars and one-element tensors as Python numbers.
    """
    try:
        return _Unpickler(io.BytesIO(content)).load()
    except (EOFError, ValueError, LookupError, AttributeError, TypeError, struct.error) as error:
        raise pickle.UnpicklingError(f"not a whole pickle: {error}") from error


def _scalar(kind, content):
    """A numpy scalar."""
    if kind.kind not in _NUMBERS:
        raise pickle.UnpicklingError(f"a numpy scalar of type {kind}; expected a number")
    (number,) = np.frombuffer(content, kind)
    return number.item()


def _storage(content):
    """Elements of a torch storage in the legacy format."""
    stream = io.BytesIO(content)
    magic, _, _, (_, kind, *_), _ = (_Unpickler(stream).load() for _ in range(5))
    if magic != _MAGIC:
        raise pickle.UnpicklingError("expected a tensor in torch's legacy format")
    (length,) = struct.unpack("<q", stream.read(8))
    elements = np.frombuffer(stream.read(), kind)
    if len(elements) != length:
        raise ValueError(f"expected {length} elements of a tensor, got {len(elements)}")
    return elements


def _tensor(elements, offset, size, *_):
    """A torch tensor with one element."""
    if any(length != 1 for length in size):
        raise pickle.UnpicklingError(f"a tensor of size {size}; expected one number")
    return float(elements[offset])


_CALLS = {
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy._core.multiarray", "scalar"): _scalar,
    ("numpy", "dtype"): np.dtype,
    ("torch", "FloatStorage"): "<f4",
    ("torch", "DoubleStorage"): "<f8",
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch.storage", "_load_from_bytes"): _storage,
    ("collections", "OrderedDict"): dict,
}
