"""Benchmarks: a file of this folder for each, or for each family that shares a layout.

A file registers a reader with the decorator `benchmark`; all files of the folder are found. A reader takes the
registered `nlgjudge.data.files.Files` and returns rows of items, ratings and released scores, in the order of
`nlgjudge.data.schema`, and perhaps the scales of its aspects.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal, NamedTuple

from nlgjudge.data import fetch, sample
from nlgjudge.data.checks import check_known
from nlgjudge.data.files import Files
from nlgjudge.data.paths import SAMPLE_NOTICE
from nlgjudge.data.registry import Entry, entries
from nlgjudge.data.schema import Benchmark, build

SOURCES = ("auto", "real", "sample")


class BenchmarkSpec(NamedTuple):
    """How a benchmark is read.

    Attributes
    ----------
    about
        One line: what the texts are, and who rated what.
    read
        Takes `Files` and returns rows of items, ratings and released scores, and perhaps scales by aspect.
    expect
        Documents and items that the paper states.
    registered_as
        Its name in the registry, where that is another benchmark's.
    roles, paths
        It is read from the registry's rows of these roles, and from those whose path ends so.
    variable
        Names a user's own copy, which is read in the place of registered files.
    """

    about: str
    read: Callable
    expect: tuple[int, int] | None = None
    registered_as: str = ""
    roles: tuple[str, ...] = ("data", "scores")
    paths: tuple[str, ...] = ()
    variable: str = ""


BENCHMARKS: dict[str, BenchmarkSpec] = {}


def benchmark(name: str, about: str, **fields):
    """Register a reader under a name, with further fields of its `BenchmarkSpec`."""

    def register(read):
        BENCHMARKS[name] = BenchmarkSpec(about, read, **fields)
        return read

    return register


def load(name: str, source: Literal["auto", "real", "sample"] = "auto") -> Benchmark:
    """Load a benchmark in the tidy schema.

    Parameters
    ----------
    name
        One of these:

        BENCHMARKS
    source
        Real data, the repository's sample, or by default real data and, if they are unavailable
        offline, the sample.

    Returns
    -------
    Benchmark
        Its `notice` is empty for real data and must be shown with everything made from a sample.

    Raises
    ------
    ValueError
        For an unknown name or source.
    nlgjudge.data.fetch.DataUnavailable
        With `source="real"`, naming the routes that were tried; by default, where a code host
        answered and still did not give the file (too many requests, a server's error). Where it
        says that it has no such file, the sample is returned and a line is printed.

    Examples
    --------
    >>> load("openmeva", "sample")
    openmeva
      data       sample data, not comparable with the papers
      documents  12
      systems    4
      items      48
      aspects    overall (1 to 5)
      licence    CC0-1.0, written for this repository
    """
    check_known("benchmark", name, BENCHMARKS, most=len(BENCHMARKS))
    check_known("source", source, SOURCES)
    if source == "sample":
        return sample.read(name)
    try:
        return read_real(name)
    except fetch.DataUnavailable as error:
        if source == "real":
            raise
        if error.kind == "failed":  # it can be had, only not now: nobody asked for the sample
            raise fetch.DataUnavailable(
                f"{error}\nThe code host answered, so the sample does not stand in: run it again later, or "
                "ask for it with source='sample'.",
                kind=error.kind,
                cause=error.cause,
            ) from error
        substitute = sample.read(name)
        if error.kind == "offline":
            return substitute
        print(f"{name} is the sample: {error.cause}")
        return replace(substitute, left_out={name: error.cause})


def read_real(name):
    """Read a benchmark from its registered files."""
    spec = BENCHMARKS[name]
    files = Files(spec.registered_as or name, benchmark_files(name))
    missing = [entry for entry in files.entries if fetch.local(entry) is None]
    if len(missing) > fetch.WORKERS:  # the reader asks for one after the other
        fetch.read_all(missing, label=name)
    items, ratings, scores, *scales = spec.read(files)
    kept = {"files": files.used, "left_out": files.left_out, "expect": spec.expect}
    return build(name, items, ratings, scores, scales=dict(*scales), **kept)


def load_together(
    names: Iterable[str], source: Literal["auto", "real", "sample"] = "auto"
) -> dict[str, Benchmark]:
    """Load several benchmarks, all of them real or all from the sample.

    Parameters
    ----------
    names
        As for `load`.
    source
        By default the sample replaces all if one of them is unavailable; a printed line
        then names the one.

    Returns
    -------
    dict
        The benchmarks by name, in the given order.

    Raises
    ------
    ValueError, nlgjudge.data.fetch.DataUnavailable
        As `load`.
    """
    loaded = {name: load(name, source) for name in names}
    lacking = [name for name, benchmark in loaded.items() if benchmark.is_sample]
    if not lacking or len(lacking) == len(loaded):
        return loaded
    print(
        f"{', '.join(lacking)} is unavailable here, so all of {', '.join(loaded)} are {SAMPLE_NOTICE}"
    )
    return {name: load(name, "sample") for name in loaded}


def benchmark_files(name: str) -> list[Entry]:
    """Return the registered files that a benchmark is read from, the optional ones too.

    Examples
    --------
    >>> [entry.path for entry in benchmark_files("openmeva")]
    ['data/openmeva.json']
    """
    spec = BENCHMARKS[name]
    if spec.variable:
        return []
    return [
        entry
        for entry in entries(spec.registered_as or name)
        if entry.role in spec.roles or entry.path.endswith(spec.paths)
    ]


def descriptions() -> dict[str, str]:
    """Describe each benchmark in a line."""
    return {
        name: f"{spec.about}; name your copy in {spec.variable}" if spec.variable else spec.about
        for name, spec in BENCHMARKS.items()
    }


for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
BENCHMARKS = dict(sorted(BENCHMARKS.items()))
_LIST = [f"- ``{name}``: {line}" for name, line in descriptions().items()]
load.__doc__ = inspect.cleandoc(load.__doc__ or "").replace("BENCHMARKS", "\n    ".join(_LIST))
