"""Which papers there are: every package of this folder that names its printed versions in `VERSIONS`."""

import pkgutil
from functools import cache
from importlib import import_module

_FOLDER = __name__.rpartition(".")[0]
# The order of the ledger. A paper that is not named here follows, by the name of its package.
_FIRST = ("geval", "chatgpt", "dhp", "coascore")


@cache
def modules():
    """The papers' packages.

    Returns
    -------
    dict of str to module
        By name, in the order of the ledger.

    Examples
    --------
    >>> list(modules())[:2]
    ['geval', 'chatgpt']
    """
    path = import_module(_FOLDER).__path__
    names = [found.name for found in pkgutil.iter_modules(path) if found.ispkg]
    in_order = sorted(
        names, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)
    )
    packages = {name: import_module(f"{_FOLDER}.{name}") for name in in_order}
    return {name: package for name, package in packages.items() if hasattr(package, "VERSIONS")}


def titles():
    """The papers' titles, by the key that the printed tables have; a paper printed twice has two.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> titles()["geval_v1"]
    'G-Eval (arXiv v1)'
    """
    return {key: title for package in modules().values() for key, title in package.VERSIONS.items()}
