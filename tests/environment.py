"""Print `complete`, or what the running Python lacks: make calls it with an active environment's Python.

Usage: ``python tests/environment.py EXTRA ...``
"""

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

checkout = Path(__file__).resolve().parents[1]
project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
lines = [*project["dependencies"]]
for extra in sys.argv[1:]:
    lines += project["optional-dependencies"][extra]
lacking = []
for requirement in map(Requirement, lines):
    try:
        found = version(requirement.name)
    except PackageNotFoundError:
        lacking.append(str(requirement))
    else:
        if not requirement.specifier.contains(found, prereleases=True):
            lacking.append(f"{requirement} (it has {found})")
spec = find_spec("nlgjudge")
if not (spec and spec.origin and Path(spec.origin).resolve().is_relative_to(checkout / "src")):
    lacking.append("this checkout (pip install --no-deps --editable .)")
print("it lacks " + ", ".join(lacking) if lacking else "complete")
