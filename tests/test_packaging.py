"""The dependency lists agree with one another and with the imports, and a wheel works on its own."""

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

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


def imported(path):
    """Names of the packages that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def test_what_the_package_imports_is_declared():
    homes = packages_distributions()
    declared = {"nlgjudge", *specifiers([*MADE, *EXTRAS["neural"]])}
    names = {name for path in (root() / "src").rglob("*.py") for name in imported(path)}
    for name in names - sys.stdlib_module_names:
        assert declared & {canonicalize_name(owner) for owner in homes.get(name, [name])}, name


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
    most = {"paper_tables/ledger.csv": 2_000_000}
    sizes = {name: (root() / name).stat().st_size for name in names}
    assert not [name for name, size in sizes.items() if size > most.get(name, 1_000_000)]


# Run with the wheel and the core's packages; packages of extras are out of reach.
ALONE = """
import os
import sys
from contextlib import redirect_stderr
from importlib.abc import MetaPathFinder
from io import StringIO

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
sys.path[:0] = {path}

import nlgjudge as nj
from nlgjudge.cli import main

stories = nj.load("openmeva", "sample")
frame = stories.human().assign(length=stories.items["hypothesis"].str.len())
assert -1 < nj.correlation(frame, "length", "overall").value < 1
assert len(nj.published("chatgpt", "table6")) > 20
try:
    nj.metrics.rouge(stories.items)
except ImportError as error:
    assert "the extra metrics: pip install" in str(error), error
else:
    raise AssertionError("nltk was found")
chats = nj.load("topical_chat", "sample")
assert nj.judge_items(chats.items, "geval/dialogue/coherence", "surface")["score"].notna().all()
base = {{"judge": "surface", "prompt": "geval/dialogue/coherence"}}
assert "of 1 aspect" in nj.ablation(chats, base, {{"samples": 2}}, ["coherence"]).answer
with redirect_stderr(StringIO()) as said:
    assert main(["rerun", "geval/table2", "--judge", "surface", "--source", "sample"]) != 0
assert "the extra notebooks: pip install" in said.getvalue() and "parsed" not in said.getvalue()
assert main(["replies", "export", os.devnull]) == 0
print(nj.__file__)
"""


def test_a_wheel_alone_loads_asks_a_judge_and_correlates(tmp_path):
    """In an empty folder; replies are stored in the user's cache."""
    pytest.importorskip("hatchling", reason="needs the extra dev")
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, root()]
    subprocess.run(build, check=True, capture_output=True)
    install = [*pip, "install", "--no-deps", "--no-index", "--no-compile", "--target", site]
    subprocess.run([*install, *tmp_path.glob("*.whl")], check=True, capture_output=True)
    (tmp_path / "elsewhere").mkdir()
    extras = {name for lines in EXTRAS.values() for name in specifiers(lines)}
    absent = {
        module
        for module, owners in packages_distributions().items()
        if extras & {canonicalize_name(owner) for owner in owners}
    }
    # `-I` and `-S`: neither this folder nor `.pth` files, by which a checkout is installed.
    path = [str(site), *map(sysconfig.get_path, ("purelib", "platlib"))]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ALONE.format(absent=absent, path=path)],
        cwd=tmp_path / "elsewhere",
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "NLGJUDGE_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().rsplit("\n", 1)[-1].startswith(str(site))
    assert (tmp_path / ".cache" / "nlgjudge" / "replies.sqlite").is_file()
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_the_workflow_file_follows_the_published_schema():
    """It runs a target of make, on versions of Python that the package accepts."""
    workflow = yaml.safe_load((root() / ".github/workflows/check.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    accepted = SpecifierSet(PROJECT["requires-python"])
    assert all(f"{python}.9" in accepted for python in job["strategy"]["matrix"]["python"])
    assert "make test" in [step.get("run") for step in job["steps"]]
    home = find_spec("check_jsonschema")
    if home is None:
        pytest.skip("needs check-jsonschema: make served")
    folder = Path(home.submodule_search_locations[0]) / "builtin_schemas" / "vendor"
    schema = json.loads((folder / "github-workflows.json").read_text(encoding="utf-8"))
    workflow["on"] = workflow.pop(True)  # YAML 1.1 reads the key "on" so
    assert [error.message for error in Draft7Validator(schema).iter_errors(workflow)] == []
