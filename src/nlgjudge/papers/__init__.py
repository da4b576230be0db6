"""The papers, one folder each: `paper.toml` and the prompts, and code where a paper has a method of its own."""

from nlgjudge.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
