"""Imports follow the rooms (design, section 1)."""

import ast
from pathlib import Path

import pytest

import nlgjudge

PACKAGE = Path(nlgjudge.__file__).resolve().parent
ROOMS = ["data", "judging", "metaeval", "report"]  # a room may import those before it
MODULES = sorted(PACKAGE.rglob("*.py"))


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path):
    """Dotted names below nlgjudge that a module imports, also in functions and by name."""
    home = ["nlgjudge", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = home[:len(home) - node.level + 1] if node.level else []
            base = ".".join([*base, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) \
                and node.value.startswith("nlgjudge."):  # import_module("nlgjudge.data.x"), f-strings too
            yield node.value


def room_of(name):
    parts = name.split(".")
    return parts[1] if parts[0] == "nlgjudge" and len(parts) > 1 and parts[1] in ROOMS else None


def strings(path):
    """String constants of a module that are no docstrings."""
    tree = parse(path)
    documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
    docstrings = {id(n.body[0].value) for n in ast.walk(tree)
                  if isinstance(n, documented) and n.body and isinstance(n.body[0], ast.Expr)}
    return [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
            and id(n) not in docstrings]


def in_room(room):
    return [path for path in MODULES if path.relative_to(PACKAGE).parts[0] == room]


@pytest.mark.parametrize("room", ROOMS)
def test_imports_follow_the_rooms(room):
    allowed = ROOMS[:ROOMS.index(room) + 1]
    assert in_room(room)
    wrong = [(path.name, name) for path in in_room(room) for name in imported(path)
             if room_of(name) not in (None, *allowed)]
    assert not wrong


def test_the_rule_sees_imports_in_functions_and_by_name(tmp_path, monkeypatch):
    """The parser above finds what it is there to find."""
    path = tmp_path / "data" / "module.py"
    path.parent.mkdir()
    path.write_text("def f():\n    from nlgjudge.report import ledger\n    from ..metaeval import x\n"
                    "    import_module(f'nlgjudge.judging.{name}')\n", encoding="utf-8")
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    assert {room_of(name) for name in imported(path)} == {"report", "metaeval", "judging"}


def test_only_report_reads_the_printed_tables():
    readers = {path.relative_to(PACKAGE).parts[0] for path in MODULES
               if any("paper_tables" in s for s in strings(path))}
    assert "report" in readers and not readers & set(ROOMS[:3])


def test_judging_knows_no_benchmark_and_metaeval_no_judge():
    from nlgjudge.data.benchmarks import READERS

    named = [(path.name, s) for path in in_room("judging") for s in strings(path) if s in READERS]
    assert not named
    judges = [(path.name, name) for path in in_room("metaeval") for name in imported(path)
              if room_of(name) == "judging"]
    assert not judges


def test_public_names_are_importable_and_documented():
    assert len(nlgjudge.__all__) == len(set(nlgjudge.__all__)) > 10
    for name in nlgjudge.__all__:
        value = getattr(nlgjudge, name)
        assert callable(value) and value.__doc__, name
    assert set(nlgjudge.__all__) <= set(dir(nlgjudge))
    with pytest.raises(AttributeError, match="module 'nlgjudge' has no attribute 'lode'"):
        _ = nlgjudge.lode
