"""The papers, one package each: the protocol as data, then the method that is the paper's own."""

from importlib import import_module

from nlgjudge.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)


def modules():
    """The papers' protocols by name, in the order of the ledger."""
    names = ("geval", "chatgpt", "dhp", "coascore", "closer_look")
    return {name: import_module(f"{__name__}.{name}.protocols") for name in names}
