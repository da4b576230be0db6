"""A Closer Look into Automatic Evaluation (Chiang and Lee 2023): the protocol; the prompts are in `prompts/`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
