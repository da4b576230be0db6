"""The provenance record at the end of each notebook."""

import platform
from importlib.metadata import version

_LIBRARIES = ("numpy", "scipy", "pandas", "rouge-score", "nltk")


def signature(*benchmarks, **settings):
    """Record what a result was computed from.

    Parameters
    ----------
    *benchmarks : nlgjudge.data.schema.Benchmark
    **settings
        Parameters and policies that the result depends on.

    Returns
    -------
    dict
        `data` (by benchmark its source, number of files, a digest of their git blob ids, and the
        optional files that were not used), `settings` and `versions`.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> found = signature(load("summeval", "sample"), level="sample")
    >>> found["data"]["summeval"]["source"], found["settings"]
    ('sample', {'level': 'sample'})
    """
    data = {}
    for benchmark in benchmarks:
        data[benchmark.name] = {
            "source": benchmark.source,
            "files": len(benchmark.files),
            "digest": benchmark.digest,
        }
        if benchmark.left_out:
            data[benchmark.name]["without"] = sorted(benchmark.left_out)
    versions = {"nlgjudge": version("nlgjudge"), "python": platform.python_version()}
    for library in _LIBRARIES:
        versions[library] = version(library)
    return {"data": data, "settings": settings, "versions": versions}
