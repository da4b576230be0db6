"""Where things lie: the repository's root and the folders below it.

Every file that the package reads is noted, so that a signature can name what to cite.
"""

import os
from functools import lru_cache
from pathlib import Path

SAMPLE_NOTICE = "sample data, not comparable with the papers"
_used = set()


def root():
    """Find the repository: `NLGJUDGE_ROOT`, else the first folder upwards with a registry.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    FileNotFoundError
        When neither the working directory nor the installed package lies in a checkout.
    """
    return _root(os.environ.get("NLGJUDGE_ROOT"), os.getcwd())


@lru_cache(maxsize=8)
def _root(named, working):
    """The repository as that variable names it, or as it is found from that working directory."""
    if named:
        return Path(working, named).resolve()
    for start in (Path(working), Path(__file__).resolve()):
        for folder in (start, *start.parents):
            if (folder / "data" / "registry.csv").is_file():
                return folder
    raise FileNotFoundError(
        f"expected data/registry.csv in {working} or above it; run inside a checkout of "
        "nlgjudge or set NLGJUDGE_ROOT to one"
    )


def cache():
    """Return the folder of downloaded and derived files, outside version control.

    `NLGJUDGE_CACHE` names another than `data/cache/`, as one that several checkouts share.
    """
    named = os.environ.get("NLGJUDGE_CACHE")
    return Path(named) if named else root() / "data" / "cache"


def mirror():
    """Return the folder with copies of upstream files, laid out owner/repository/commit/path.

    Returns
    -------
    str
        `NLGJUDGE_MIRROR`; where it is not set, `../shared/data/github` beside the repository if that
        folder exists. Empty for none: an empty variable switches the mirror off.
    """
    named = os.environ.get("NLGJUDGE_MIRROR")
    if named is not None:
        return named
    beside = root().parent / "shared" / "data" / "github"
    return str(beside) if beside.is_dir() else ""


def results():
    """Return the folder of what `make reproduce` computes; `make refresh` alone copies from it."""
    return root() / "build" / "results"


def out(sample=False):
    """Return the folder that this run's ledger, figures and settings go to; never a committed one.

    `NLGJUDGE_OUT` names it: the workflow sets it to `results`. A notebook that is run by hand writes to
    `build/scratch/`.

    Parameters
    ----------
    sample : bool
        Whether the results come from the sample; they lie in a folder below.

    Returns
    -------
    pathlib.Path
    """
    named = os.environ.get("NLGJUDGE_OUT")
    base = Path(named) if named else root() / "build" / "scratch"
    return base / "sample" if sample else base


def use(path):
    """Note that a file was read and return it."""
    path = Path(path)
    _used.add(path.absolute())
    return path


def used():
    """Return the files read so far in this process, sorted, without links in their paths."""
    return sorted({path.resolve() for path in _used})
