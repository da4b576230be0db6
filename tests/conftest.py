"""Fixtures that several folders share: checkouts of their own, a code host and a judge on the loopback interface."""

import ast
import contextlib
import csv
import dataclasses
import functools
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import IPython.display
import matplotlib.pyplot as plt
import nbformat
import pytest

from loopback import Loopback
from nlgjudge.data import benchmarks, fetch, paths, registry
from nlgjudge.judging.store import Store

# A client reads the machine's certificates each time it is made; no test on the loopback needs them.
ssl.create_default_context = functools.lru_cache(ssl.create_default_context)


KEY = "sk-loopback-9f2c71d40b"
REPOSITORY = Path(__file__).resolve().parents[1]
MIRROR = REPOSITORY.parent / "shared" / "data" / "github"
# As the session starts: tests change these variables.
DATA_EXPECTED = MIRROR.is_dir() and bool(paths.mirror() or os.environ.get("NLGJUDGE_UPSTREAM"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where the mirror is, a test that skips for missing data fails, unless the mirror lacks them."""
    report = yield
    if report.skipped and DATA_EXPECTED:
        reason = str(report.longrepr[2])
        if "needs the mirror" in reason and not any(name in reason for name in not_mirrored()):
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid}: expected the data of {MIRROR}, and it skipped: {reason}"
            )
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """A test whose data cannot be had is skipped."""
    try:
        return (yield)
    except fetch.DataUnavailable as error:
        pytest.skip(f"needs the mirror or a network: {str(error).splitlines()[0]}")


pytest_runtest_setup = pytest_runtest_call


@functools.cache
def not_mirrored():
    """Registered files that the mirror lacks, as errors name them, and data that nobody can download."""
    lacking = [entry for entry in registry.entries() if not (MIRROR / entry.location).is_file()]
    return ["cannot be downloaded freely", *(f"{one.path} of {one.repository}" for one in lacking)]


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """A copy of the registry and the sample, with an empty cache."""
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(REPOSITORY / "data" / "sample", root / "data" / "sample")
    shutil.copy(REPOSITORY / "data" / "registry.csv", root / "data")
    return root


@pytest.fixture
def isolated(checkout, monkeypatch):
    """Run in that copy; without a mirror, the repository's cache is read as one (same layout)."""
    if mirror := paths.mirror():
        monkeypatch.setenv("NLGJUDGE_MIRROR", str(Path(mirror).absolute()))
    else:
        cache = Path(os.environ.get("NLGJUDGE_CACHE", REPOSITORY / "data" / "cache"))
        monkeypatch.setenv("NLGJUDGE_MIRROR", str(cache.absolute()) if cache.is_dir() else "")
    monkeypatch.setenv("NLGJUDGE_ROOT", str(checkout))
    for name in ("NLGJUDGE_STORY_CLOZE", "NLGJUDGE_HUMANMT", "NLGJUDGE_CACHE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def real():
    """Load real data, which no two tests share."""

    def load(name):
        # Another environment is another key of the cache.
        settings = sorted(pair for pair in os.environ.items() if pair[0].startswith("NLGJUDGE_"))
        data = _loaded(name, *settings)
        return dataclasses.replace(data, items=data.items.copy(), ratings=data.ratings.copy())

    return load


@functools.cache
def _loaded(name, *settings):
    """Real data, read once."""
    return benchmarks.load(name, "real")


@pytest.fixture
def content():
    """Read one registered file."""

    def read(name, **filters):
        return fetch.read(registry.entries(name, **filters)[0])

    return read


@pytest.fixture
def house(tmp_path):
    """A checkout of its own, with the sample and no other data."""
    made = tmp_path / "house"
    names = ["data/registry.csv", "data/sample", "data/README.md", "notebooks", "site"]
    tables = [f"paper_tables/{path.name}" for path in (REPOSITORY / "paper_tables").iterdir()]
    for name in [*names, *tables]:
        if name != "paper_tables/reruns":  # the tests keep reruns of their own
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).symlink_to(REPOSITORY / name)
    return made


class Commands:
    """Programs and `nlgjudge` commands in processes of their own."""

    def run(self, *arguments, **environment):
        """Run `nlgjudge`, or a program after ``-c``, with further variables in its environment."""
        start = [] if arguments[0] == "-c" else ["-m", "nlgjudge.cli"]
        return subprocess.run(
            [sys.executable, *start, *map(str, arguments)],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        )


class Cells:
    """Run a notebook's code cells in this process, which saves the start of a kernel."""

    def __init__(self):
        self.shown = []  # what the last run displayed, as text

    def display(self, *shown, **_):
        """In the place of IPython's."""
        self.shown += [one.data if hasattr(one, "data") else str(one) for one in shown]

    def run(self, cell, names):
        """Run a cell, and display the value that it ends with."""
        tree = ast.parse(cell.source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, cell.id, "exec"), names)  # noqa: S102
        value = last and eval(compile(ast.Expression(last.value), cell.id, "eval"), names)  # noqa: S307
        if value is not None:
            self.display(value)

    def __call__(self, notebook, until="", **parameters):
        """Return all names; a run ends with the cell that makes the name `until`."""
        self.shown.clear()
        names = {"display": self.display}
        path = REPOSITORY / "notebooks" / f"{notebook}.ipynb"
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and until not in names:
                self.run(cell, names)
            if "parameters" in cell.metadata.get("tags", []):
                assert set(parameters) <= set(names)
                names |= parameters
        return names


@pytest.fixture
def run_cells(monkeypatch):
    """Run a notebook's cells here (`Cells`)."""
    cells = Cells()
    monkeypatch.setattr(IPython.display, "display", cells.display)
    yield cells
    plt.close("all")


@pytest.fixture
def commands():
    """Run programs and commands (`Commands`)."""
    return Commands()


class Tree:
    """A checkout whose registry holds the files that a test adds."""

    def __init__(self, root):
        self.root, self.cache, self.mirror = root, root / "data" / "cache", root / "mirror"
        self.cache.mkdir(parents=True)
        self.mirror.mkdir()
        with open(root / "data" / "registry.csv", "w", newline="") as handle:
            csv.writer(handle).writerow(registry.Entry._fields)

    def add(
        self,
        path,
        content,
        benchmark="toy",
        *,
        role="data",
        to="cache",
        repository="owner/name",
        size=True,
        optional=False,
    ):
        """Register a file and put it into the cache, the mirror or (None) nowhere."""
        entry = registry.Entry(
            benchmark,
            role,
            repository,
            "c0ffee",
            path,
            registry.blob_id(content),
            len(content) if size else None,
            "CC0-1.0",
            "nobody2024toy",
            "yes" if optional else "",
        )
        with open(self.root / "data" / "registry.csv", "a", newline="") as handle:
            csv.writer(handle).writerow(["" if value is None else value for value in entry])
        if to:
            place = getattr(self, to) / entry.location
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return entry

    def cached(self):
        """Every file below the cache, partial ones too."""
        return sorted(str(p.relative_to(self.cache)) for p in self.cache.rglob("*") if p.is_file())


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """An empty checkout, offline and without a mirror until the test says otherwise."""
    made = Tree(tmp_path / "checkout")
    monkeypatch.setenv("NLGJUDGE_ROOT", str(made.root))
    monkeypatch.delenv("NLGJUDGE_CACHE", raising=False)
    monkeypatch.setenv("NLGJUDGE_MIRROR", "")
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    return made


@pytest.fixture
def serve(monkeypatch):
    """Start a server and point the client's environment to it."""
    with contextlib.ExitStack() as stack:

        def start(answer, **options):
            server = stack.enter_context(Loopback(answer, **options))
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", KEY)
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            monkeypatch.setenv("no_proxy", "127.0.0.1")
            return server

        yield start


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    with Store(tmp_path / "replies.sqlite") as made:
        yield made
