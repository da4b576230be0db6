"""Metrics without a judge: ROUGE, BLEU and METEOR in their variants, and neural metrics."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
