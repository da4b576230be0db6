"""The dependency lists agree with one another and with what the package imports."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from nlgjudge.data.paths import root

PROJECT = tomllib.loads((root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
IMPORTED = {
    "rocrate_validator": "roc-validator"
}  # the package of a module, where it is not installed
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


def test_the_extras_exist():
    assert {"neural", "cluster", "site", "dev"} <= set(EXTRAS)
    assert all(specifiers(lines) for lines in EXTRAS.values())
    assert "torch" not in specifiers(PROJECT["dependencies"])


def test_the_lock_pins_every_default_and_development_package():
    pins = lock()
    for name, specifier in specifiers([*PROJECT["dependencies"], *EXTRAS["dev"]]).items():
        assert name in pins, name
        assert all(specifier.contains(version) for version in pins[name]), (
            name,
            str(specifier),
            pins[name],
        )


def test_the_lock_has_no_neural_package():
    assert not {"torch", "transformers", "bert-score"} & set(lock())


def test_the_lock_has_no_model_server():
    """One test file wants it, and skips without."""
    assert "served" in EXTRAS
    assert not set(specifiers(EXTRAS["served"])) & set(lock())


def test_the_conda_environment_names_the_same_packages():
    environment = yaml.safe_load((root() / "environment.yml").read_text(encoding="utf-8"))
    plain = [d for d in environment["dependencies"] if isinstance(d, str)]
    by_pip = [
        line
        for d in environment["dependencies"]
        if isinstance(d, dict)
        for line in d["pip"]
        if not line.startswith("-")
    ]
    found = {CONDA.get(n, n): s for n, s in specifiers([*plain, *by_pip]).items()}
    python = found.pop("python")
    found.pop("pip", None)
    assert found == specifiers(PROJECT["dependencies"])
    assert python == Requirement(f"python{PROJECT['requires-python']}").specifier


def test_what_the_package_imports_is_declared():
    wanted = [*PROJECT["dependencies"], *EXTRAS["neural"], *EXTRAS["excel"]]
    declared = {"nlgjudge", *specifiers(wanted)}
    homes, undeclared = packages_distributions(), set()
    for path in (root() / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
            for name in {n.partition(".")[0] for n in names} - sys.stdlib_module_names:
                owners = {canonicalize_name(d) for d in homes.get(name, [IMPORTED.get(name, name)])}
                if not owners & declared:
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
