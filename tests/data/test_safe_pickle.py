"""Pickles: plain data and numbers are read, everything else is refused and nothing runs."""

import collections
import io
import os
import pickle
import struct
import sys
import types
from contextlib import contextmanager

import numpy as np
import pytest

from nlgjudge.data.safe_pickle import unpickle


class Storage:
    """The elements that a tensor lies in, in torch's old format."""

    def __init__(self, elements):
        self.elements = elements

    def __reduce__(self):
        return sys.modules["torch.storage"]._load_from_bytes, (saved(self.elements),)


def saved(elements):
    """Bytes of `torch.save(storage, file, _use_new_zipfile_serialization=False)`."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, found):
            if isinstance(found, Storage):
                return (
                    "storage",
                    sys.modules["torch"].FloatStorage,
                    "93",
                    "cpu",
                    len(elements),
                    None,
                )
            return None

    out = io.BytesIO()
    sizes = {
        "protocol_version": 1001,
        "little_endian": True,
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for part in (0x1950A86A20F9469CFC6C, 1001, sizes):
        pickle.dump(part, out, 2)
    Pickler(out, 2).dump(Storage(elements))
    pickle.dump(["93"], out, 2)
    raw = b"".join(struct.pack("<f", element) for element in elements)
    return out.getvalue() + struct.pack("<q", len(elements)) + raw


@contextmanager
def torch_names():
    """Let pickle write torch's names."""
    made = {name: types.ModuleType(name) for name in ("torch", "torch._utils", "torch.storage")}
    for module, name in (
        ("torch._utils", "_rebuild_tensor_v2"),
        ("torch.storage", "_load_from_bytes"),
    ):
        setattr(made[module], name, _function(module, name))
    named = {"__module__": "torch", "__qualname__": "FloatStorage"}
    made["torch"].FloatStorage = type("FloatStorage", (), named)
    made["torch"]._utils, made["torch"].storage = made["torch._utils"], made["torch.storage"]
    before = {name: sys.modules.get(name) for name in made}
    sys.modules.update(made)
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module:
                sys.modules[name] = module


def _function(module, name):
    def stand_in(*_):
        raise AssertionError("only its name is written")

    stand_in.__module__, stand_in.__name__, stand_in.__qualname__ = module, name, name
    return stand_in


class Foreign:
    def __reduce__(self):
        return os.system, ("touch it_ran",)


@pytest.mark.parametrize(
    "foreign, message",
    [
        (Foreign(), r"the pickle names \w+\.system; expected only dicts, lists"),
        (eval, "the pickle names builtins.eval"),
        (np.zeros(2), r"the pickle names numpy[\w.]+"),
        (collections.deque(), "the pickle names collections.deque"),
        (np.str_("a"), "a numpy scalar of type <U1; expected a number"),
    ],
)
def test_other_globals_are_refused_and_nothing_runs(tmp_path, monkeypatch, foreign, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pickle.UnpicklingError, match=message):
        unpickle(pickle.dumps({"d1": foreign}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_pickles_are_read_whole_or_not_at_all(protocol):
    plain = {"d1": {"src": "text", "n": [1, 2.5, None, True], "sys": {"A": {"score": -3}}}}
    dumped = pickle.dumps(plain, protocol)
    assert unpickle(dumped) == plain
    for length in range(len(dumped)):
        with pytest.raises(pickle.UnpicklingError):
            unpickle(dumped[:length])


@pytest.mark.parametrize("module", [b"numpy._core", b"numpy.core"])  # numpy 2's name, and 1's
def test_numpy_scalars_are_python_numbers(module):
    scalars = {"a": np.float64(0.5), "b": np.float32(0.25), "c": np.int64(3), "d": np.bool_(True)}
    found = unpickle(pickle.dumps(scalars, 3).replace(b"numpy._core", module))
    assert found == {"a": 0.5, "b": 0.25, "c": 3, "d": True}
    assert list(map(type, found.values())) == [float, float, int, bool]


def tensor(content, size=()):
    """A pickle of one tensor, the first element of a storage with the given bytes."""

    class Storage:
        def __reduce__(self):
            return sys.modules["torch.storage"]._load_from_bytes, (content,)

    class Tensor:
        def __reduce__(self):
            rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
            return rebuild, (Storage(), 0, size, (), False, {})

    with torch_names():
        return pickle.dumps({"score": Tensor()})


def test_a_tensor_with_one_element_is_a_number_without_torch():
    with torch_names():
        content = saved([0.25, 0.5])
    assert unpickle(tensor(content)) == unpickle(tensor(content, (1, 1))) == {"score": 0.25}
    for broken, size, message in (
        (content, (2,), "a tensor of size .2,.; expected one number"),
        (content[:-4], (), "not a whole pickle: expected 2 elements of a tensor, got 1"),
        (content[:20], (), "not a whole pickle"),
        (pickle.dumps(1) + content, (), "expected a tensor in torch's legacy format"),
        (content.replace(b"FloatStorage", b"Event"), (), "the pickle names torch.Event"),
    ):
        with pytest.raises(pickle.UnpicklingError, match=message):
            unpickle(tensor(broken, size))
