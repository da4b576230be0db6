"""Texts are kept as in the notebooks and commands, which fill the ledger."""

import pandas as pd
import pytest


@pytest.fixture(autouse=True, scope="module")
def texts_as_in_commands():
    """Python's own strings and not Arrow's, pandas' default, with which the examples in `src/` run."""
    with pd.option_context("mode.string_storage", "python"):
        yield
