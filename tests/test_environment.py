"""Make uses an active environment that has the packages, and says why it uses none."""

import os
import shutil
import subprocess
import sys

import pytest

from environment import lacking
from nlgjudge.data.paths import root

PROJECT = {"requires-python": ">=3.11", "dependencies": ["pytest>=1"],
           "optional-dependencies": {"more": ["no-such-package-here", "pytest>=9999"]}}


def test_what_is_missing_is_named():
    assert lacking(PROJECT) == []
    absent, old = lacking(PROJECT, ["more"])
    assert absent == "no-such-package-here"
    assert old.startswith("pytest>=9999 (it has ")
    assert lacking(PROJECT | {"requires-python": "<3"})[0].startswith("Python <3 (it has 3.")


@pytest.fixture
def checkout(tmp_path):
    """What make and the check read of a checkout, in a folder with a blank in its name."""
    home = tmp_path / "a check out"
    package = home / "src" / "nlgjudge"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (home / "tests").mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "tests/environment.py"):
        shutil.copy(root() / name, home / name)
    return home


def planned(checkout, **environment):
    """What `make lint` would do."""
    # Nor what the make sets that runs these tests.
    others = ("VIRTUAL_ENV", "CONDA_PREFIX", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    kept = {name: value for name, value in os.environ.items() if name not in others}
    found = subprocess.run(["make", "--dry-run", "lint"], cwd=checkout, env=kept | environment,
                           capture_output=True, text=True, check=True)
    return found.stdout


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_an_active_environment_with_the_packages_is_used(checkout, variable):
    said = planned(checkout, **{variable: sys.prefix}, PYTHONPATH=str(checkout / "src"))
    assert said.startswith("ruff check")


def test_an_environment_without_the_packages_is_not_used(checkout, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    said = planned(checkout, VIRTUAL_ENV=str(tmp_path / "bare"))
    assert "it lacks the packages of pyproject.toml" in said.splitlines()[0]
    assert "-m venv --clear .venv" in said


def test_an_environment_of_another_checkout_is_not_used(checkout):
    said = planned(checkout, VIRTUAL_ENV=sys.prefix, PYTHONPATH=str(root() / "src"))
    assert "it lacks this checkout" in said.splitlines()[0]
    assert "-m venv --clear .venv" in said


def test_without_an_active_environment_make_builds_its_own(checkout):
    said = planned(checkout)
    assert "cannot be used" not in said
    assert "-m venv --clear .venv" in said


def test_in_a_read_only_checkout_make_says_what_it_writes(checkout):
    unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    locked = ["sh", "-c", 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && cd "$1" && shift && "$@"',
              "sh", str(checkout)]
    if not shutil.which("unshare") or subprocess.run([*unshare, *locked, "true"], capture_output=True).returncode:
        pytest.skip("needs a mount that cannot be written: neither root nor a user's namespace may make one here")
    found = subprocess.run([*unshare, *locked, "make", "lint"], capture_output=True, text=True)
    assert found.returncode == 2
    assert "cannot be written: copy the checkout" in found.stderr
