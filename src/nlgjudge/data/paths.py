"""Where files are: the checkout or the wheel's copy of it, the cache, the results.

Every file that the package reads is noted, so that a signature can name what to cite.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

SAMPLE_NOTICE = "sample data, not comparable with the papers"
# The wheel's copy of what commands read of the repository (pyproject.toml); a checkout has none.
WHEEL = Path(__file__).resolve().parents[1] / "repository"
_used: set[Path] = set()


def root() -> Path:
    """Find the folder with `data/` and `paper_tables/`: a checkout, or the copy in an installed wheel.

    `NLGJUDGE_ROOT` names it; else it is the working directory or the first folder above it with a registry, else
    the wheel's copy, else the checkout that holds the package; FileNotFoundError where there is neither.

    Examples
    --------
    >>> sorted(path.name for path in (root() / "data").glob("*.csv"))
    ['registry.csv']
    """
    return _root(os.environ.get("NLGJUDGE_ROOT"), os.getcwd())


@lru_cache(maxsize=8)
def _root(named, working):
    """The folder as that variable names it, or as it is found from that working directory."""
    if named:
        return Path(working, named).resolve()
    here = Path(working)
    for folder in (here, *here.parents, WHEEL, *WHEEL.parents):
        if (folder / "data" / "registry.csv").is_file():
            return folder
    raise FileNotFoundError(
        f"expected data/registry.csv in {working} or above it; run inside a checkout of "
        "nlgjudge or set NLGJUDGE_ROOT to one"
    )


def workplace() -> Path:
    """Return the folder that commands write to: the checkout, or for a wheel the working directory."""
    return Path.cwd() if root() == WHEEL else root()


def cache() -> Path:
    """Return the folder of downloaded and derived files, outside version control.

    `NLGJUDGE_CACHE` names it. Else it is `data/cache/` in a checkout, and for a wheel `nlgjudge/` in
    `XDG_CACHE_HOME` or `~/.cache`.
    """
    named = os.environ.get("NLGJUDGE_CACHE")
    if named:
        return Path(named)
    if root() == WHEEL:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nlgjudge"
    return root() / "data" / "cache"


def mirror() -> str:
    """Return the folder with copies of upstream files, laid out owner/repository/commit/path.

    `NLGJUDGE_MIRROR` names it; where that is not set, it is `../shared/data/github` beside the repository if that
    folder exists. Empty for none: an empty variable switches the mirror off.
    """
    named = os.environ.get("NLGJUDGE_MIRROR")
    if named is not None:
        return named
    beside = root().parent / "shared" / "data" / "github"
    return str(beside) if beside.is_dir() else ""


def results() -> Path:
    """Return the folder of what `make reproduce` computes; `make refresh` alone copies from it."""
    return workplace() / "build" / "results"


def out(sample: bool = False) -> Path:
    """Return the folder that this run's ledger, figures and settings go to; never a committed one.

    `NLGJUDGE_OUT` names it: the workflow sets it to `results`. A notebook that is run by hand writes to
    `build/scratch/`.

    Parameters
    ----------
    sample
        Whether the results come from the sample; they lie in a folder below.
    """
    named = os.environ.get("NLGJUDGE_OUT")
    base = Path(named) if named else workplace() / "build" / "scratch"
    return base / "sample" if sample else base


def use(path: str | Path) -> Path:
    """Note that a file was read and return it."""
    path = Path(path)
    _used.add(path.absolute())
    return path


def used() -> list[Path]:
    """Return the files read so far in this process, sorted, without links in their paths."""
    return sorted({path.resolve() for path in _used})
