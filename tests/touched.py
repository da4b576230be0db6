"""What `make check` runs: style, and the tests and notebooks that a change since the last commit can touch.

The nearest come first: tests that changed, tests that use a changed module themselves, tests that use one through
others, then notebooks whose last run used it, the shortest first. What does not fit into the seconds is named.
"""

import ast
import json
import re
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 50
STUBS = "__init__.pyi"


def changed():
    """Files that differ from the last commit, new ones too, as paths below the repository."""
    said = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    ).stdout
    return [line[3:].split(" -> ")[-1].strip('"') for line in said.splitlines()]


def public_names():
    """Module of each public name, as ``stats.holm``, from the stubs."""
    found = {}
    for stub in (ROOT / "src" / "nlgjudge").rglob(STUBS):
        space = stub.parent.name
        package = ".".join(stub.parent.relative_to(ROOT / "src").parts)
        for module, name in re.findall(
            r"^from \.(\w*) import (\w+)", stub.read_text(encoding="utf-8"), re.MULTILINE
        ):
            found[f"{space}.{name}"] = f"{package}.{module}" if module else f"{package}.{name}"
    return found


def uses(path, names):
    """Modules of the package that a file uses: by import, or by a public name behind `nj`."""
    imported, behind_nj = _named(path)
    found = set(imported)
    for space, name in behind_nj:
        room = names.get(f"nlgjudge.{space}", "").rpartition(".")[2]
        found |= {names.get(f"{space}.{name}", ""), names.get(f"{room}.{space}", "")}
    return found


@cache
def _named(path):
    """Modules and names that a file imports from the package, and what it calls behind `nj`."""
    text = path.read_text(encoding="utf-8")
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names if alias.name.startswith("nlgjudge.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nlgjudge"):
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return imported, set(re.findall(r"\bnj\.(\w+)(?:\.(\w+))?", text))


def nearest_tests(files, names):
    """Test files by their distance from the changed files, nearest first."""
    modules = {
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts): path
        for path in (ROOT / "src" / "nlgjudge").rglob("*.py")
        if path.name != "__init__.py"
    }
    needs = {name: uses(path, names) & set(modules) for name, path in modules.items()}
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    used = {test: uses(test, names) & set(modules) for test in tests}
    touched = {name for name, path in modules.items() if str(path.relative_to(ROOT)) in files}
    mirrors = {f"test_{name.rpartition('.')[2]}.py" for name in touched}
    rounds = [
        [test for test in tests if str(test.relative_to(ROOT)) in files or test.name in mirrors]
    ]
    while touched:
        rounds.append([test for test in tests if used[test] & touched])
        further = {name for name, others in needs.items() if others & touched} - touched
        if not further:
            break
        touched |= further
    return list(dict.fromkeys(test for found in rounds for test in found))


def nearest_notebooks(files):
    """Notebooks whose last run used a changed file, or that changed, shortest first."""
    found = []
    for note in (ROOT / "build" / "executed").glob("*.deps.json"):
        name = note.name.removesuffix(".deps.json")
        executed = note.with_name(f"{name}.ipynb")
        if (
            set(json.loads(note.read_text(encoding="utf-8"))) & set(files)
            or f"notebooks/{name}.ipynb" in files
        ):
            ran = json.loads(executed.read_text(encoding="utf-8"))["metadata"].get("papermill", {})
            found.append((ran.get("duration") or 0, name))
    return [name for _, name in sorted(found)]


def main():
    """Run what fits, say what does not, and return the exit status."""
    start = time.monotonic()
    files = changed()
    if not files:
        print("nothing differs from the last commit")
        return 0
    status = subprocess.run(
        ["ruff", "check", "src", "tests", "notebooks", "site", "benchmarks"], cwd=ROOT
    ).returncode
    left_out = []
    tests = nearest_tests(files, public_names())
    notebooks = nearest_notebooks(files)
    for position in range(0, len(tests), 4):
        part = [str(test.relative_to(ROOT)) for test in tests[position : position + 4]]
        if time.monotonic() - start > SECONDS:
            left_out += part
            continue
        status |= subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-x",
                "-n",
                "2",
                "--dist",
                "loadfile",
                "-p",
                "no:nbval",
                "--doctest-modules",
                *part,
            ],
            cwd=ROOT,
        ).returncode
    for name in notebooks:
        if time.monotonic() - start > SECONDS:
            left_out.append(name)
            continue
        command = [sys.executable, "-m", "nlgjudge.repo.cli", "run", f"notebooks/{name}.ipynb"]
        status |= subprocess.run(command, cwd=ROOT).returncode
    if left_out:
        print(f"left to `make test`, for {SECONDS} s are over: {', '.join(left_out)}")
    return int(bool(status))


if __name__ == "__main__":
    sys.exit(main())
