"""Check, cell by cell, the published numbers of papers on language models as evaluators.

The everyday names are here; the others are in the namespaces (`nj.data`, `nj.metrics`, `nj.judging`, `nj.stats`,
`nj.papers`, `nj.ledger`). `nj.paper("geval")` has what is known of a paper; `nj.geval`, `nj.dhp` and `nj.coascore` are
the methods that papers have of their own. Each `__init__.pyi` lists what its package offers. A module is imported when
one of its names is first used.
"""

from nlgjudge.namespaces import attach

_attached, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name):
    if name != "__version__":
        return _attached(name)
    from importlib.metadata import version

    return version(__name__)
