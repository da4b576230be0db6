"""Make uses an active environment that has the packages, says why it uses none, and makes one of the best Python."""

import os
import shutil
import subprocess
import sys

import pytest

from environment import lacking
from nlgjudge.data.paths import root

PROJECT = {
    "requires-python": ">=3.11",
    "dependencies": ["pytest>=1"],
    "optional-dependencies": {"more": ["no-such-package-here", "pytest>=9999"]},
}


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
    found = subprocess.run(
        ["make", "--dry-run", "lint"],
        cwd=checkout,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_an_active_environment_with_the_packages_is_used(checkout, variable):
    said = planned(checkout, **{variable: sys.prefix}, PYTHONPATH=str(checkout / "src"))
    assert said.startswith("ruff format")


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


@pytest.fixture
def folder(tmp_path):
    """A path with nothing on it but bash, in a folder with a blank in its name."""
    folder = tmp_path / "a place"
    folder.mkdir()
    (folder / "bash").symlink_to(shutil.which("bash"))
    return folder


def put_python(folder, name, version=(3, 12)):
    """A Python of this name that reports this version."""
    script = folder / name
    said = f"import sys; sys.version_info = {version}; exec(sys.argv[2])"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{said}" "$@"\n')
    script.chmod(0o755)
    return script


def chosen(folder, *names):
    """The choice among the Pythons of a folder, or among the named ones: what is taken, and what is said of it."""
    found = subprocess.run(
        ["bash", str(root() / "tests" / "interpreter.sh"), *names],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert found.returncode == (not found.stdout)
    return found.stdout.removesuffix("\n"), found.stderr


def test_the_first_python_that_can_make_an_environment_is_taken(folder):
    put_python(folder, "python3", version=(3, 14))
    put_python(folder, "python3.11")
    first = put_python(folder, "python3.12")
    assert chosen(folder) == (str(first), "")


def test_without_a_python_that_fits_it_is_said_what_is_needed(folder):
    put_python(folder, "python3", version=(3, 10))
    taken, said = chosen(folder)
    assert not taken and said.startswith("Python 3.11 to 3.13 with venv is needed")
    assert "make PYTHON=" in said


def test_in_a_read_only_checkout_make_says_what_it_writes(checkout):
    unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    locked = [
        "sh",
        "-c",
        'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && cd "$1" && shift && "$@"',
        "sh",
        str(checkout),
    ]
    if (
        not shutil.which("unshare")
        or subprocess.run([*unshare, *locked, "true"], capture_output=True).returncode
    ):
        pytest.skip(
            "needs a mount that cannot be written: neither root nor a user's namespace may make one here"
        )
    found = subprocess.run([*unshare, *locked, "make", "lint"], capture_output=True, text=True)
    assert found.returncode == 2
    assert "cannot be written: copy the checkout" in found.stderr
