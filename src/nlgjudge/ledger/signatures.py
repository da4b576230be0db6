"""The signature of a result: what it was made from, and with what."""

import ast
import platform
from importlib.metadata import version

from nlgjudge.judging.heard import refuse_silence
from nlgjudge.ledger.cited import cited

_LIBRARIES = ("numpy", "scipy", "pandas", "rouge-score", "nltk")


def signature(*benchmarks, **settings):
    """Describe a result, as the last output of a notebook.

    Parameters
    ----------
    *benchmarks : nlgjudge.data.schema.Benchmark
    **settings
        Parameters and policies that the result depends on.

    Returns
    -------
    dict
        Data (with a digest of the blob ids, and the optional files that were not used), settings,
        versions, and in one line the keys of what to cite, in `data/citations.bib`.

    Raises
    ------
    JudgeError
        Where a served model was asked in this process and not one of its replies could be read.

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> found = signature(load("summeval", "sample"), level="sample")
    >>> found["data"]["summeval"]["source"], found["settings"]
    ('sample', {'level': 'sample'})
    """
    refuse_silence()
    data = {}
    for benchmark in benchmarks:
        entry = {
            "source": benchmark.source,
            "files": len(benchmark.files),
            "digest": benchmark.digest,
        }
        if benchmark.left_out:
            entry["without"] = sorted(benchmark.left_out)
        data[benchmark.name] = entry
    versions = {"nlgjudge": version("nlgjudge"), "python": platform.python_version()}
    for library in _LIBRARIES:
        versions[library] = version(library)
    return {
        "data": data,
        "settings": settings,
        "versions": versions,
        "cite": ", ".join(cited(benchmarks, settings)),
    }


def recorded(book):
    """Read the signature that a notebook's last run left in its outputs.

    Parameters
    ----------
    book : dict
        The notebook, as its file has it.

    Returns
    -------
    dict or None
        As `signature` gave it; None where the notebook holds none.

    Examples
    --------
    >>> output = {"data": {"text/plain": ["{'data': {}, 'settings': {'seed': 0}, ", "'versions': {}}"]}}
    >>> recorded({"cells": [{"cell_type": "code", "outputs": [output]}]})["settings"]
    {'seed': 0}
    """
    outputs = [
        output
        for cell in book["cells"]
        if cell["cell_type"] == "code"
        for output in cell["outputs"]
    ]
    for output in reversed(outputs):
        text = "".join(output.get("data", {}).get("text/plain", ""))
        if not text.startswith("{'data': "):
            continue
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
        if {"data", "settings", "versions"} <= found.keys():
            return found
    return None
