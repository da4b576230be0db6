"""Imports follow the order of the subpackages, and no package grows unnoticed."""

import ast
import types
from functools import cache
from pathlib import Path

import pytest

import nlgjudge
from sizes import size_of, sizes

PACKAGE = Path(nlgjudge.__file__).resolve().parent
# What a package may import beside itself. Only `cli` imports `workflow.py`.
MAY_IMPORT = {
    "data": set(),
    "metrics": {"data"},
    "judging": {"data", "metrics"},
    "stats": {"data", "metrics", "judging"},
    "papers": {"data", "metrics", "judging", "stats"},
    "ledger": {"data", "metrics", "judging", "stats", "papers"},
    "notebook": {"data", "metrics", "judging", "stats", "papers", "ledger"},
    "cli": {"data", "metrics", "judging", "stats", "papers", "ledger", "notebook"},
}
# Statements, code lines and public names at most (`make sizes` prints them). A package may gain what another gives;
# the sum rises only where an issue says by how much.
BOUNDS = {
    "site": (247, 350, 0),
    "top": (325, 353, 21),
    "cli": (297, 443, 0),
    "data": (2_116, 2_689, 7),
    "judging": (2_208, 2_824, 5),
    "ledger": (703, 900, 7),
    "metrics": (484, 543, 8),
    "notebook": (2_510, 3_018, 0),
    "papers": (877, 1_055, 10),
    "stats": (1_229, 1_599, 14),
    "toml": (0, 1_987, 0),
}
SUM = (10_996, 15_761, 72)
MODULES = sorted(PACKAGE.rglob("*.py"))


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path):
    """Dotted names below nlgjudge that a module imports, also in functions and by name."""
    return list(_imported(path))


def _imported(path):
    home = ["nlgjudge", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = home[: len(home) - node.level + 1] if node.level else []
            base = ".".join([*base, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.startswith("nlgjudge.")
        ):  # import_module("nlgjudge.data.x"), f-strings too
            yield node.value


def folder_of(name):
    parts = name.split(".")
    return (
        parts[1] if parts[0] == "nlgjudge" and len(parts) > 1 and parts[1] in MAY_IMPORT else None
    )


@cache
def strings(path):
    """String constants of a module that are no docstrings."""
    documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
    nodes = [*ast.walk(parse(path))]
    docstrings = {
        ast.get_docstring(node, clean=False) for node in nodes if isinstance(node, documented)
    }
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [text for text in constants if isinstance(text, str) and text not in docstrings]


def in_folder(folder):
    return [path for path in MODULES if path.relative_to(PACKAGE).parts[0] == folder]


def test_every_module_is_in_a_folder():
    assert {path.relative_to(PACKAGE).parts[0] for path in MODULES} == {
        "__init__.py",
        "namespaces.py",
        "workflow.py",
        *MAY_IMPORT,
    }


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_imports_follow_the_folders(folder):
    assert in_folder(folder)
    wrong = [
        (path.name, name)
        for path in in_folder(folder)
        for name in imported(path)
        if folder_of(name) not in (None, folder, *MAY_IMPORT[folder])
    ]
    assert not wrong


def test_no_private_name_is_imported():
    """A leading underscore says that a name is its module's own."""
    private = [
        (path.name, name)
        for path in MODULES
        for name in imported(path)
        if name.startswith("nlgjudge") and any(part.startswith("_") for part in name.split("."))
    ]
    assert not private


def test_no_circle_among_modules():
    """Modules can be put in an order in which each imports only those before it."""
    named = {
        ".".join(["nlgjudge", *path.relative_to(PACKAGE).with_suffix("").parts]): path
        for path in MODULES
        if path.name != "__init__.py"
    }
    needs = {
        name: {other for other in imported(path) if other in named and other != name}
        for name, path in named.items()
    }
    while needs:
        free = [name for name, others in needs.items() if not others & set(needs)]
        assert free, f"a circle among {', '.join(sorted(needs))}"
        for name in free:
            del needs[name]


def test_only_the_last_folders_read_the_printed_tables():
    readers = {
        path.relative_to(PACKAGE).parts[0]
        for path in MODULES
        if any("paper_tables" in s for s in strings(path))
    }
    assert "ledger" in readers and readers <= {"ledger", "notebook", "cli", "workflow.py"}


def test_judging_names_no_benchmark_and_no_paper():
    from nlgjudge.data.benchmarks import BENCHMARKS

    papers = [
        path.name
        for path in (PACKAGE / "papers").iterdir()
        if path.is_dir() and path.name != "__pycache__"
    ]
    assert {"geval", "chatgpt", "dhp", "coascore"} <= set(papers)
    named = [
        (path.name, s)
        for path in in_folder("judging")
        for s in strings(path)
        if s in BENCHMARKS or s.split("/")[0] in papers
    ]
    assert not named


def test_every_public_name_is_there_and_documented():
    """Each namespace offers what its `__init__.pyi` lists, and no module hides a function of the same name."""
    exported = [getattr(nlgjudge, name) for name in nlgjudge.__all__]
    spaces = [nlgjudge, *(value for value in exported if isinstance(value, types.ModuleType))]
    assert len(spaces) > 5
    for space in spaces:
        names = getattr(space, "__all__", ())
        assert set(names) <= set(dir(space))
        for name in names:
            value = getattr(space, name)
            if isinstance(value, types.ModuleType):
                continue
            assert name.isupper() or (callable(value) and value.__doc__), (space, name)
            folder = Path(space.__file__).parent if hasattr(space, "__path__") else Path()
            assert not (folder / f"{name}.py").exists(), (space, name)
    with pytest.raises(AttributeError, match="lode"):
        _ = nlgjudge.lode


def test_no_package_grows():
    found = sizes()
    assert found.keys() == BOUNDS.keys()
    larger = {
        name: row
        for name, row in found.items()
        if any(now > bound for now, bound in zip(row, BOUNDS[name], strict=True))
    }
    assert not larger
    assert all(sum(column) <= most for column, most in zip(zip(*BOUNDS.values()), SUM))


def test_docstrings_and_comments_are_no_code():
    code = '"""Two\nlines."""\n# Why.\nx = f(\n    1,\n\n    """a\nb""",\n)\n'
    assert size_of(code) == (1, 5)
