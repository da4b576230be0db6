"""The papers, one package each: the protocol as data, then the method that is the paper's own."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
