"""Benchmarks, recorded replies and files of one's own, in one tidy schema."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
