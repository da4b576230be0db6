"""Say what the running Python lacks of the packages that make's targets use.

The Makefile calls it with an active environment's Python, as ``python tests/environment.py dev``. It prints
`complete`, or what is missing. It needs nothing but the standard library and `packaging`, for it has to run
where the packages are not.
"""

import platform
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


def lacking(project, extras=()):
    """Name the packages that are not installed, or in another version than the project takes.

    Parameters
    ----------
    project : dict
        The table `project` of pyproject.toml.
    extras : iterable of str
        Names of its optional dependencies that are needed too.

    Returns
    -------
    list of str
    """
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    python = platform.python_version()
    if not SpecifierSet(project["requires-python"]).contains(python, prereleases=True):
        return [f"Python {project['requires-python']} (it has {python})"]
    wanted = [*project["dependencies"]]
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    found = []
    for line in wanted:
        requirement = Requirement(line)
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            found.append(requirement.name)
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            found.append(f"{line} (it has {installed})")
    return found


def is_of_this_checkout():
    """Whether `import nlgjudge` takes the package from this checkout."""
    spec = find_spec("nlgjudge")
    return bool(spec and spec.origin) and Path(spec.origin).resolve().is_relative_to(HERE / "src")


def main(extras):
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if not find_spec("packaging"):
        return "it lacks the packages of pyproject.toml"
    found = lacking(project, extras)
    if not is_of_this_checkout():
        found.append("this checkout (pip install --no-deps --editable .)")
    if found:
        return f"it lacks {', '.join(found)}"
    return "complete"


if __name__ == "__main__":
    print(main(sys.argv[1:]))
