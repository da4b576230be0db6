"""Pickles: plain data and numbers are read, everything else is refused and nothing runs."""

import collections
import os
import pickle
import sys

import numpy as np
import pytest

import realistic
from nlgjudge.data.safe_pickle import unpickle


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

    with realistic.torch_names():
        return pickle.dumps({"score": Tensor()})


def test_a_tensor_with_one_element_is_a_number_without_torch():
    with realistic.torch_names():
        content = realistic.saved([0.25, 0.5])
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
