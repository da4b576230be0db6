"""Make uses an active environment that has the packages, says why it uses none, and else builds .venv."""

import os
import shutil
import subprocess
import sys

import pytest

from nlgjudge.data.paths import root


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


def make(checkout, *options, **environment):
    """Run `make lint` with those options, as if no environment were active."""
    others = ("VIRTUAL_ENV", "CONDA_PREFIX", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    plain = {name: value for name, value in os.environ.items() if name not in others}
    command = ["make", *options, "lint"]
    environment = plain | environment
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)


def planned(checkout, **environment):
    """What `make lint` would do."""
    return make(checkout, "--dry-run", **environment).stdout


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_an_active_environment_with_the_packages_is_used(checkout, variable):
    said = planned(checkout, **{variable: sys.prefix}, PYTHONPATH=str(checkout / "src"))
    assert said.startswith("ruff format")


def test_an_environment_without_the_packages_is_not_used(checkout, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    said = planned(checkout, VIRTUAL_ENV=str(tmp_path / "bare"))
    assert "No module named 'packaging'" in said.splitlines()[0]
    assert "-m venv --clear .venv" in said


def test_what_an_environment_lacks_is_named(checkout):
    project = checkout / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    text = text.replace('"pytest>=8.4"', '"pytest>=9999"')
    text = text.replace('"ruff>=0.6"', '"no-such-package-here"')
    project.write_text(text, encoding="utf-8")
    said = planned(checkout, VIRTUAL_ENV=sys.prefix, PYTHONPATH=str(checkout / "src"))
    assert "it lacks " in said and "pytest>=9999 (it has " in said
    assert "no-such-package-here" in said.splitlines()[0]


def test_an_environment_of_another_checkout_is_not_used(checkout):
    said = planned(checkout, VIRTUAL_ENV=sys.prefix, PYTHONPATH=str(root() / "src"))
    assert "it lacks this checkout" in said.splitlines()[0]
    assert "-m venv --clear .venv" in said


def put_python(folder, name, version):
    """A Python of this name that reports this version."""
    folder.mkdir(exist_ok=True)
    script = folder / name
    said = f"import sys; sys.version_info = {version}; exec(sys.argv[2])"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{said}" "$@"\n')
    script.chmod(0o755)


def test_make_builds_an_environment_of_the_first_python_that_fits(checkout, tmp_path):
    put_python(tmp_path / "bin", "python3", (3, 10))
    put_python(tmp_path / "bin", "python3.14", (3, 14))
    path = os.pathsep.join([str(tmp_path / "bin"), "/usr/bin", "/bin"])
    said = planned(checkout, PATH=path)
    assert "cannot be used" not in said
    assert '"python3.14" -m venv --clear .venv' in said


def test_a_python_that_is_too_old_is_refused(checkout, tmp_path):
    put_python(tmp_path / "bin", "python3", (3, 10))
    done = make(checkout, f"PYTHON={tmp_path / 'bin' / 'python3'}")
    assert done.returncode == 2
    assert "Python 3.11.5 or newer with venv is needed" in done.stderr
    assert "make PYTHON=" in done.stderr


def test_a_test_that_lacks_data_fails_where_the_mirror_is(commands, tmp_path):
    """Its data are in the mirror, so that they were lost on the way; offline and without a cache."""
    if not (root().parent / "shared" / "data" / "github").is_dir():
        pytest.skip("needs the mirror")
    test = "tests/metrics/test_lexical.py::test_openmevas_released_rouge_is_rouge_of_sets"
    code = f"import pytest; pytest.main(['-q', '-p', 'no:cacheprovider', {str(root() / test)!r}])"
    lost = {"NLGJUDGE_MIRROR": "", "NLGJUDGE_OFFLINE": "1", "NLGJUDGE_CACHE": str(tmp_path)}
    said = commands.run("-c", code, **lost, NLGJUDGE_UPSTREAM="http://127.0.0.1:9").stdout
    assert "1 failed" in said and "expected the data of" in said
