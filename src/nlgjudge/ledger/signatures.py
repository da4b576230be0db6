"""The signature of a result: what it was made from, and with what."""

import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from nlgjudge.data.paths import root, used

_LIBRARIES = ("numpy", "scipy", "pandas", "rouge-score", "nltk")


def signature(*benchmarks, **settings):
    """Describe a result, as the last output of a notebook.

    Also notes, for the workflow, which files and modules the notebook used.

    Parameters
    ----------
    *benchmarks : nlgjudge.data.schema.Benchmark
    **settings
        Parameters and policies that the result depends on.

    Returns
    -------
    dict
        Data (with a digest of the blob ids, and the optional files that were not used), settings,
        and versions.
    """
    _note_dependencies()
    data = {}
    for b in benchmarks:
        data[b.name] = {"source": b.source, "files": len(b.files), "digest": b.digest}
        if b.left_out:
            data[b.name]["without"] = sorted(b.left_out)
    versions = {"nlgjudge": version("nlgjudge"), "python": platform.python_version()}
    return {"data": data, "settings": settings,
            "versions": versions | {name: version(name) for name in _LIBRARIES}}


def modules():
    """Source files of the package that this process has imported, sorted."""
    package = Path(__file__).resolve().parents[1]
    files = (getattr(module, "__file__", None) for name, module in list(sys.modules.items())
             if name.split(".")[0] == "nlgjudge")
    return sorted(path for path in (Path(f).resolve() for f in files if f) if path.is_relative_to(package))


def _note_dependencies():
    target = os.environ.get("NLGJUDGE_DEPENDENCIES")
    if not target:
        return
    # Files outside the checkout (a mirror) stay absolute: this note is never committed.
    paths = [str(p.relative_to(root())) if p.is_relative_to(root()) else str(p)
             for p in (*used(), *modules())]
    Path(target).write_text(json.dumps(paths, indent=1), encoding="utf-8")
