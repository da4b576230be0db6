"""The alternative annotator test."""

from nlgjudge.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
