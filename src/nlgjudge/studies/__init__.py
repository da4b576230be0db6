"""Questions of our own: ablations, files of one's own, and what one notebook needs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
