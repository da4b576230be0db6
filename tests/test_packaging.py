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
    requirements = [Requirement(line) for line in lines]
    by_name = {canonicalize_name(one.name): one.specifier for one in requirements}
    assert len(by_name) == len(requirements)
    return by_name


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
    named = {CONDA.get(name, name): specifier for name, specifier in specifiers(lines).items()}
    del named["pip"]
    assert named.pop("python") == Requirement(f"python{PROJECT['requires-python']}").specifier
    assert named == specifiers(MADE)


def imported(tree):
    """Names of the packages that nodes import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def test_what_the_package_imports_is_declared():
    homes = packages_distributions()
    declared = {"nlgjudge", *specifiers([*MADE, *EXTRAS["neural"]])}
    undeclared = set()
    for path in (root() / "src").rglob("*.py"):
        for name in {*imported(ast.parse(path.read_text(encoding="utf-8")))}:
            owners = {canonicalize_name(owner) for owner in homes.get(name, [name])}
            if name not in sys.stdlib_module_names and not owners & declared:
                undeclared.add((path.name, name))
    assert not undeclared


def git_files(*options):
    """Names of files that are in the repository."""
    command = ["git", "ls-files", "-z", *options]
    listed = subprocess.run(command, cwd=root(), capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.split("\0") if name and (root() / name).is_file()]


def test_no_registry_host_and_no_path_of_one_machine():
    names = ("py" + "pi", "python" + "hosted", "ana" + "conda", "npm" + "js")
    registry = re.compile(rf"({'|'.join(names)})\.(org|com)", re.I)
    local = re.compile(r"(?<![\w.:/~}$*)-])/(work|home|root|Users|mnt)/\w")
    # What the next commit would add counts too.
    for name in git_files("--cached", "--others", "--exclude-standard"):
        if not name.endswith((".png", ".pdf")):
            content = (root() / name).read_text(encoding="utf-8")
            assert not registry.search(content) and not local.search(content), name


def test_nothing_ignored_or_bulky_is_tracked():
    names = git_files()
    assert not [name for name in names if name.startswith(("build/", "data/cache/", ".venv/"))]
    assert not [name for name in names if (root() / name).stat().st_size > 1_000_000]


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
stories = nj.load("openmeva", "{source}")
frame = stories.human().assign(length=stories.items["hypothesis"].str.len())
assert -1 < nj.correlation(frame, "length", "overall").value < 1
assert len(nj.published("chatgpt", "table6")) > 20
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


def test_a_wheel_alone_loads_correlates_and_shows_a_table(alone):
    done = alone(script=LOAD.format(source="sample"), NLGJUDGE_OFFLINE="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"sample {alone.home / 'site'}")


def test_a_wheel_alone_fetches_to_the_users_cache(alone):
    (file,) = registry.entries("openmeva")
    folder = Path(paths.mirror() or paths.cache())
    if not (folder / file.location).exists():
        pytest.skip("needs copies of the upstream files to serve")
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    handler.log_message = lambda *_: None
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        upstream = f"http://127.0.0.1:{server.server_port}"
        done = alone("data", "fetch", "openmeva", NLGJUDGE_UPSTREAM=upstream)
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert [*(alone.home / ".cache" / "nlgjudge").rglob("openmeva.json")]
    for variable in ("NLGJUDGE_CACHE", "XDG_CACHE_HOME"):
        elsewhere = {variable: str(alone.home / "another")}
        again = alone("data", "verify", "openmeva", **elsewhere)
        assert again.stdout == "0 files verified, 0 bad, 1 not here\n"
    assert alone("data", "verify", "openmeva").stdout == "1 files verified, 0 bad, 0 not here\n"
    done = alone(script=LOAD.format(source="real"), NLGJUDGE_OFFLINE="1")
    assert done.stdout.startswith("real "), done.stderr


def test_a_wheel_alone_asks_a_judge(alone, serve):
    server = serve(lambda *_: completion(["Rating: 3"]))
    done = alone(
        *("judge", "topical_chat", "openai:m", "--source", "sample", "--limit", 2),
        *("--prompts", "geval/dialogue/coherence", "--output", "replies.csv"),
        OPENAI_BASE_URL=server.url,
        OPENAI_API_KEY="sk-none",
    )
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 10  # five responses in each of two dialogues
    written = (alone.home / "elsewhere" / "replies.csv").read_text(encoding="utf-8")
    assert written.count("Rating: 3") == 10
    assert (alone.home / ".cache" / "nlgjudge" / "replies.sqlite").is_file()
