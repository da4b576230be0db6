"""No test of this room writes to the repository's cache."""

import pytest


@pytest.fixture(autouse=True)
def own_checkout(isolated):
    """Every test runs in a copy of the registry and the sample."""
