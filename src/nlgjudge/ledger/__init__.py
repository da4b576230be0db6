"""The published cells beside ours: verdicts, averages, variants, claims, the ledger."""

from nlgjudge.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
