"""No test of this room writes to the repository's cache; a code host on the loopback interface."""

import pytest

from nlgjudge.data import fetch
from upstream import Upstream


@pytest.fixture(autouse=True)
def own_checkout(isolated):
    """Every test runs in a copy of the registry and the sample."""


@pytest.fixture
def host(tree, tmp_path, monkeypatch):
    """Start a code host that serves `tmp_path / "host"`; the checkout has an empty cache."""
    started = []

    def start(**options):
        server = Upstream(tmp_path / "host", **options).__enter__()
        started.append(server)
        monkeypatch.delenv("NLGJUDGE_OFFLINE", raising=False)
        for name, value in server.environment(tree.cache).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(fetch, "_unreachable", {})  # the port may be one that was closed before
        return server

    yield start
    for server in started:
        server.__exit__()


@pytest.fixture
def publish(tree, tmp_path):
    """Register a file and put it on the code host."""

    def add(path, content, benchmark="toy", **options):
        entry = tree.add(path, content, benchmark, to=None, **options)
        place = tmp_path / "host" / entry.location
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        return entry

    return add


@pytest.fixture
def copied_sample(tree, checkout):
    (tree.root / "data" / "sample").symlink_to(checkout / "data" / "sample")
