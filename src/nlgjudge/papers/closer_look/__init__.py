"""A Closer Look into Automatic Evaluation (Chiang and Lee 2023): the protocol; the prompts are in `prompts/`."""

from nlgjudge.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
