"""G-Eval (Liu et al. 2023)."""

from nlgjudge.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
