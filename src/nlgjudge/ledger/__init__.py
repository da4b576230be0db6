"""Printed tables beside ours: verdicts, variants, claims, figures, signatures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
