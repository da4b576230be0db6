"""A server on the loopback interface and a store of its own, for every test that asks a live judge."""

import contextlib

import pytest

from loopback import Loopback
from nlgjudge.judging.store import Store

KEY = "sk-loopback-9f2c71d40b"


@pytest.fixture
def serve(monkeypatch):
    """Start a server and point the client's environment to it."""
    with contextlib.ExitStack() as stack:
        def start(answer, **options):
            server = stack.enter_context(Loopback(answer, **options))
            for name, value in (("OPENAI_BASE_URL", server.url), ("OPENAI_API_KEY", KEY),
                                ("NO_PROXY", "127.0.0.1"), ("no_proxy", "127.0.0.1")):
                monkeypatch.setenv(name, value)
            return server
        yield start


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    with Store(tmp_path / "replies.sqlite") as made:
        yield made
