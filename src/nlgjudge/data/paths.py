"""Where things lie: the repository's root and the folders below it.

Every file that the package reads is noted, so that the workflow can rerun exactly what
depends on a file that changed.
"""

import os
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
    if os.environ.get("NLGJUDGE_ROOT"):
        return Path(os.environ["NLGJUDGE_ROOT"]).resolve()
    for start in (Path.cwd(), Path(__file__).resolve()):
        for folder in (start, *start.parents):
            if (folder / "data" / "registry.csv").is_file():
                return folder
    raise FileNotFoundError(
        f"expected data/registry.csv in {Path.cwd()} or above it; run inside a checkout of "
        "nlgjudge or set NLGJUDGE_ROOT to one")


def cache():
    """Return the folder of downloaded and derived files, outside version control."""
    return root() / "data" / "cache"


def out(sample=False):
    """Return the folder that results go to: the repository, or a build folder for a sample.

    `NLGJUDGE_OUT` names another, so that a check of the notebooks leaves results alone.
    """
    base = os.environ.get("NLGJUDGE_OUT")
    if sample:
        return Path(base) / "sample" if base else root() / "build" / "sample"
    return Path(base) if base else root()


def use(path):
    """Note that a file was read and return it."""
    _used.add(Path(path).resolve())
    return Path(path)


def used():
    """Return the files read so far in this process, sorted."""
    return sorted(_used)
