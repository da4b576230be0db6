"""The dependency lists agree with one another and with the imports, and a wheel works on its own."""

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import packages_distributions
from pathlib import Path
from threading import Thread

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from loopback import completion
from nlgjudge.data import paths, registry
from nlgjudge.data.paths import root

PROJECT = tomllib.loads((root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CORE = PROJECT["dependencies"]
EXTRAS = PROJECT["optional-dependencies"]
MADE = [*CORE, *EXTRAS["notebooks"], *EXTRAS["metrics"], *EXTRAS["excel"]]  # by make
CONDA = {"snakemake-minimal": "snakemake"}  # conda's name, PyPI's name


def specifiers(lines):
    """{package: specifier}; the lines must name no package twice."""
    found = [Requirement(line) for line in lines]
    names = [canonicalize_name(r.name) for r in found]
    assert len(names) == len(set(names))
    return {name: r.specifier for name, r in zip(names, found)}


def lock():
    """{package: [pinned versions]}, one a line; a marker may give a package several."""
    pins = {}
    for line in (root() / "requirements.lock").read_text(encoding="utf-8").splitlines():
        line = line.partition("#")[0].strip()
        if line:
            pinned = Requirement(line)
            (pin,) = pinned.specifier
            assert pin.operator == "==" and "*" not in pin.version, line
            pins.setdefault(canonicalize_name(pinned.name), []).append(Version(pin.version))
    return pins


def test_the_lock_pins_what_make_installs_and_nothing_large():
    pins = lock()
    wanted = [*MADE, *EXTRAS["site"], *EXTRAS["dev"]]
    for name, specifier in specifiers(wanted).items():
        assert name in pins, name
        assert all(map(specifier.contains, pins[name])), (name, str(specifier), pins[name])
    assert not {"torch", "transformers", "xllamacpp"} & set(pins)


def test_the_conda_environment_names_the_same_packages():
    environment = yaml.safe_load((root() / "environment.yml").read_text(encoding="utf-8"))
    lines = []
    for line in environment["dependencies"]:
        lines += line["pip"] if isinstance(line, dict) else [line]
    lines = [line for line in lines if not line.startswith("-")]
    found = {CONDA.get(name, name): specifier for name, specifier in specifiers(lines).items()}
    del found["pip"]
    assert found.pop("python") == Requirement(f"python{PROJECT['requires-python']}").specifier
    assert found == specifiers(MADE)
    always = {
        "jupyterlab",
        "papermill",
        "openai",
        "pandas",
        "scipy",
        "seaborn",
        "datasets",
        "nbval",
    }
    assert always <= set(found)


def test_what_the_package_imports_is_declared():
    """The core imports its own packages at the top of a module; those of extras inside functions."""
    homes = packages_distributions()
    core, all_of_them = (
        {"nlgjudge", *specifiers(lines)} for lines in (CORE, [*MADE, *EXTRAS["neural"]])
    )
    undeclared = set()
    for path in (root() / "src").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names:
                owners = {canonicalize_name(owner) for owner in homes.get(name, [name])}
                if not owners & (core if node in tree.body else all_of_them):
                    undeclared.add((path.name, name))
    assert not undeclared


def git_files(*options):
    """Names of files that are in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *options], cwd=root(), capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [n for n in listed.stdout.split("\0") if n and (root() / n).is_file()]


def test_no_registry_host_and_no_path_of_one_machine():
    # Each begins with a sign that is seldom, and what has to stand before it is looked at there alone.
    hosts = "|".join(
        f"(?<={name}....)"
        for name in ("py" + "pi", "python" + "hosted", "ana" + "conda", "npm" + "js")
    )
    registry = re.compile(rf"\.(?:org|com)(?:{hosts})", re.I)
    local = re.compile(r"/(?<![\w.:/~}$*)-]/)(?:work|home|root|Users|mnt)/\w")
    assert registry.search("from PyPi" + ".org") and not registry.search("from python.org")
    assert local.search("/" + "work/x") and local.search(" /" + "home/x")
    assert not local.search("a/" + "work/x")
    # What the next commit would add counts too.
    names = git_files("--cached", "--others", "--exclude-standard")
    files = {
        n: (root() / n).read_text(encoding="utf-8")
        for n in names
        if not n.endswith((".png", ".pdf"))
    }
    assert {"pyproject.toml", "Makefile"} <= set(files)
    wrong = [
        (name, match.group())
        for name, text in files.items()
        for pattern in (registry, local)
        for match in pattern.finditer(text)
    ]
    assert not wrong


def test_nothing_ignored_or_bulky_is_tracked():
    names = git_files()
    assert not [n for n in names if n.startswith(("build/", "data/cache/", ".venv/"))]
    assert not [(n, size) for n in names if (size := (root() / n).stat().st_size) > 1_000_000]


# Run in an environment that holds the wheel, with the packages of extras out of reach.
ALONE = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
{script}
"""
LOAD = """
import nlgjudge as nj
from nlgjudge.ledger.comparison import compare
stories = nj.load("openmeva", "{source}")
frame = stories.human().assign(length=stories.items["hypothesis"].str.len())
table = nj.correlation_table(frame, ["length"], ["overall"], levels=["dataset"], dataset="openmeva")
assert table["ours"].notna().all()
printed = nj.published("chatgpt", "table6")
cells = compare("chatgpt", "table6", printed, table.assign(row="ROUGE-1"), evidence="recomputed",
                notebook="none", sample=stories.is_sample)
assert len(cells) == len(table) and cells["published"].notna().all()
assert len(nj.ledger.committed()) > 2000
try:
    nj.metrics.rouge(stories.items)
except ImportError as error:
    assert "the extra metrics: pip install" in str(error), error
else:
    raise AssertionError("nltk was found")
print(stories.source, nj.__file__)
"""
COMMAND = "import sys\nfrom nlgjudge.cli import main\nsys.exit(main({arguments}))"


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Run a script, or a command, in an environment with nothing but the wheel and the core's packages."""
    pytest.importorskip("hatchling", reason="needs the extra dev")
    home = tmp_path_factory.mktemp("alone")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", home, root()]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = home.glob("*.whl")
    install = [*pip, "install", "--no-deps", "--no-index", "--target", home / "site", wheel]
    subprocess.run(install, check=True, capture_output=True)
    (home / "elsewhere").mkdir()
    extras = {name for lines in EXTRAS.values() for name in specifiers(lines)}
    homes = packages_distributions()
    absent = {
        module for module, owners in homes.items() if extras & set(map(canonicalize_name, owners))
    }

    def run(*arguments, script="", **environment):
        script = script or COMMAND.format(arguments=[str(argument) for argument in arguments])
        # `-I` and `-S`: neither this folder nor `.pth` files, by which a checkout is installed.
        before = [str(home / "site"), *map(sysconfig.get_path, ("purelib", "platlib"))]
        script = f"import sys\nsys.path[:0] = {before}\n" + ALONE.format(
            absent=absent, script=script
        )
        kept = {"PATH": os.environ["PATH"], "HOME": str(home), "NO_PROXY": "127.0.0.1"}
        return subprocess.run(
            [sys.executable, "-I", "-S", "-c", script],
            cwd=home / "elsewhere",
            env=kept | environment,
            capture_output=True,
            text=True,
        )

    run.home = home
    return run


def test_a_wheel_alone_loads_correlates_and_compares(alone):
    found = alone(script=LOAD.format(source="sample"), NLGJUDGE_OFFLINE="1")
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(f"sample {alone.home / 'site'}")


def test_a_wheel_alone_fetches_to_the_users_cache(alone, pytestconfig):
    (file,) = registry.entries("openmeva")
    folder = Path(paths.mirror() or paths.cache())
    if not (folder / file.location).exists():
        pytest.skip("needs copies of the upstream files to serve")
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    handler.log_message = lambda *_: None
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        upstream = f"http://127.0.0.1:{server.server_port}"
        found = alone("data", "fetch", "openmeva", NLGJUDGE_UPSTREAM=upstream)
        server.shutdown()
    assert found.returncode == 0, found.stderr
    (file,) = (alone.home / ".cache" / "nlgjudge").rglob("openmeva.json")
    elsewhere = alone.home / "another"
    for variable in ("NLGJUDGE_CACHE", "XDG_CACHE_HOME"):
        again = alone("data", "verify", "openmeva", **{variable: str(elsewhere)})
        assert again.stdout == "0 files verified, 0 bad, 1 not here\n"
    assert alone("data", "verify", "openmeva").stdout == "1 files verified, 0 bad, 0 not here\n"
    found = alone(script=LOAD.format(source="real"), NLGJUDGE_OFFLINE="1")
    assert found.stdout.startswith("real "), found.stderr


def test_a_wheel_alone_asks_a_judge(alone, serve):
    server = serve(lambda *_: completion(["Rating: 3"]))
    found = alone(
        *("judge", "topical_chat", "openai:m", "--source", "sample", "--limit", 2),
        *("--prompts", "geval/dialogue/coherence", "--output", "replies.csv"),
        OPENAI_BASE_URL=server.url,
        OPENAI_API_KEY="sk-none",
    )
    assert found.returncode == 0, found.stderr
    assert len(server.requests) == 10  # five responses in each of two dialogues
    written = Path(alone.home, "elsewhere", "replies.csv").read_text(encoding="utf-8")
    assert written.count("Rating: 3") == 10
    assert (alone.home / ".cache" / "nlgjudge" / "replies.sqlite").is_file()
