"""The papers, one package each: the protocol as data, then the method that is the paper's own."""

from nlgjudge.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)


def modules():
    """The papers' packages by name, in the order of the ledger."""
    from nlgjudge.papers import chatgpt, closer_look, coascore, dhp, geval

    return {
        "geval": geval,
        "chatgpt": chatgpt,
        "dhp": dhp,
        "coascore": coascore,
        "closer_look": closer_look,
    }
