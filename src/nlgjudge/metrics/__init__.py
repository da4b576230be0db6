"""Metrics without a judge: ROUGE, BLEU and METEOR in their variants."""

from nlgjudge.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
