"""Imports follow the order of the subpackages."""

import ast
import types
from functools import cache
from pathlib import Path

import pytest

import nlgjudge

PACKAGE = Path(nlgjudge.__file__).resolve().parent
# What a package may import beside itself. Only `cli` imports `workflow.py`.
MAY_IMPORT = {
    "data": set(),
    "metrics": {"data"},
    "judging": {"data", "metrics"},
    "stats": {"data", "metrics", "judging"},
    "papers": {"data", "metrics", "judging", "stats"},
    "ledger": {"data", "metrics", "judging", "stats", "papers"},
    "cli": {"data", "metrics", "judging", "stats", "papers", "ledger"},
}
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


def room_of(name):
    parts = name.split(".")
    return (
        parts[1] if parts[0] == "nlgjudge" and len(parts) > 1 and parts[1] in MAY_IMPORT else None
    )


@cache
def strings(path):
    """String constants of a module that are no docstrings."""
    tree = parse(path)
    documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
    docstrings = {
        id(n.body[0].value)
        for n in ast.walk(tree)
        if isinstance(n, documented) and n.body and isinstance(n.body[0], ast.Expr)
    }
    return [
        n.value
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in docstrings
    ]


def in_room(room):
    return [path for path in MODULES if path.relative_to(PACKAGE).parts[0] == room]


def test_every_module_stands_in_a_room():
    assert {path.relative_to(PACKAGE).parts[0] for path in MODULES} == {
        "__init__.py",
        "namespaces.py",
        "workflow.py",
        *MAY_IMPORT,
    }


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_follow_the_rooms(room):
    assert in_room(room)
    wrong = [
        (path.name, name)
        for path in in_room(room)
        for name in imported(path)
        if room_of(name) not in (None, room, *MAY_IMPORT[room])
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


def test_the_rule_sees_imports_in_functions_and_by_name(tmp_path, monkeypatch):
    """The parser above finds what it is there to find."""
    path = tmp_path / "data" / "module.py"
    path.parent.mkdir()
    path.write_text(
        "def f():\n    from nlgjudge.ledger import _ledger\n    from ..stats import x\n"
        "    import_module(f'nlgjudge.judging.{name}')\n",
        encoding="utf-8",
    )
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    assert {room_of(name) for name in imported(path)} == {"ledger", "stats", "judging"}
    assert "nlgjudge.ledger._ledger" in set(imported(path))


def test_only_the_last_rooms_read_the_printed_tables():
    readers = {
        path.relative_to(PACKAGE).parts[0]
        for path in MODULES
        if any("paper_tables" in s for s in strings(path))
    }
    assert "ledger" in readers and readers <= {"ledger", "cli", "workflow.py"}


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
        for path in in_room("judging")
        for s in strings(path)
        if s in BENCHMARKS or s.split("/")[0] in papers
    ]
    assert not named


def test_every_public_name_is_there_and_documented():
    """Each namespace offers what its `__init__.pyi` lists, and no module hides a function of the same name."""
    spaces = [
        nlgjudge,
        *(
            getattr(nlgjudge, name)
            for name in nlgjudge.__all__
            if isinstance(getattr(nlgjudge, name), types.ModuleType)
        ),
    ]
    assert len(spaces) > 10
    for space in spaces:
        for name in getattr(space, "__all__", ()):
            value = getattr(space, name)
            module = isinstance(value, types.ModuleType)
            assert module or name.isupper() or (callable(value) and value.__doc__), (
                f"{space.__name__}.{name}"
            )
            is_file = (
                hasattr(space, "__path__") and (Path(space.__file__).parent / f"{name}.py").exists()
            )
            assert module or not is_file, f"{space.__name__}.{name} is a module and a function"
        assert set(getattr(space, "__all__", ())) <= set(dir(space))
    with pytest.raises(AttributeError, match="lode"):
        _ = nlgjudge.lode
