"""What notebooks show and ask: tables, findings, ablations, reports, reruns, figures."""

from nlgjudge.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
