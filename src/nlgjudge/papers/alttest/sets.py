"""The sets, with the margin of their raters."""

from nlgjudge.data.benchmarks.alttest import SETS

__all__ = ["SETS"]
